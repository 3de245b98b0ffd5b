// Small commands whose contents follow from the certname and a version number, so that a test that knows which version a
// node has knows every row that queries must show. Some resources and facts are equal between nodes: the store keeps
// those once, and a test that counts them sees whether that goes right.

import { randomUUID } from 'node:crypto';
import type { Envelope } from '../../engine/inbox/envelope.ts';
import type { Submission } from '../../workers/types.ts';
import type { ClientCommand } from './server.ts';

/** The command as the ring takes it. */
export const submissionOf = (
  { command, version, certname, payload }: Pick<ClientCommand, 'command' | 'version' | 'certname' | 'payload'>,
  rest: Partial<Envelope> = {},
): Submission => ({
  envelope: {
    uuid: randomUUID(),
    command,
    version,
    certname,
    received: Date.now(),
    producerTimestamp: null,
    gzip: false,
    size: null,
    ...rest,
  },
  body: new Uint8Array(Buffer.from(payload)),
});

/** Resources that nodes may share; which of them a version has is a matter of arithmetic. */
const SHARED = 12;

export const timeText = (ms: number): string => new Date(ms).toISOString();

/** Facts `version`, `own`, `shape` and some that other nodes have with the same value. */
export function factsOf(certname: string, version: number): Record<string, unknown> {
  const facts: Record<string, unknown> = {
    version,
    own: `${certname}/${version}`,
    kernel: version % 3 === 0 ? 'Linux' : 'FreeBSD',
    shape: { version, list: [version, 'x', { deep: version % 5 }] },
  };
  for (let i = 0; i < 8; i++) if ((version + i) % 3 !== 0) facts[`shared_${i}`] = `value-${(version + i) % 4}`;
  return facts;
}

export function replaceFacts(certname: string, version: number, time: number): ClientCommand {
  return {
    command: 'replace facts',
    version: 5,
    certname,
    producerTimestamp: timeText(time),
    payload: JSON.stringify({
      certname,
      environment: `env${version % 3}`,
      producer: 'compiler.example.com',
      producer_timestamp: timeText(time),
      values: factsOf(certname, version),
    }),
  };
}

export interface ModelResource {
  readonly type: string;
  readonly title: string;
  readonly exported: boolean;
  readonly tags: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Titles of the shared resources a version of a catalog has. */
export function sharedTitles(version: number): string[] {
  const titles: string[] = [];
  for (let i = 0; i < SHARED; i++) if ((version * 7 + i) % 3 === 0) titles.push(`shared-${i}`);
  return titles;
}

/** The node's own resources all carry the version and how many resources the catalog has. */
export function resourcesOf(certname: string, version: number, size = 5 + (version % 17)): ModelResource[] {
  const shared = sharedTitles(version);
  const count = size + shared.length;
  const resources: ModelResource[] = shared.map((title) => ({
    type: 'Package',
    title,
    exported: false,
    tags: ['package', title],
    parameters: { ensure: 'installed', provider: 'apt' },
  }));
  for (let i = 0; i < size; i++) {
    resources.push({
      type: 'File',
      title: `/srv/${certname}/${i}`,
      exported: i === 0,
      tags: ['file', `v${version}`, `own-${i % 4}`],
      parameters: { version, count, content: `${certname} ${version} ${i}` },
    });
  }
  return resources;
}

export function replaceCatalog(certname: string, version: number, time: number, size?: number): ClientCommand {
  const resources = resourcesOf(certname, version, size);
  const first = resources[0]!;
  const source = { type: first.type, title: first.title };
  return {
    command: 'replace catalog',
    version: 9,
    certname,
    producerTimestamp: timeText(time),
    payload: JSON.stringify({
      certname,
      version: String(version),
      environment: `env${version % 3}`,
      transaction_uuid: null,
      catalog_uuid: null,
      code_id: null,
      job_id: null,
      producer: 'compiler.example.com',
      producer_timestamp: timeText(time),
      // A star: one edge less than there are resources.
      edges: resources.slice(1).map(({ type, title }) => ({
        source,
        target: { type, title },
        relationship: 'contains',
      })),
      resources: resources.map((resource) => ({ ...resource, file: '/etc/site.pp', line: 7 })),
    }),
  };
}

/** A report whose configuration_version is the version; it has `version % 4` events. */
export function storeReport(certname: string, version: number, time: number): ClientCommand {
  const at = timeText(time);
  const resources = Array.from({ length: eventsOf(version) }, (_, i) => ({
    skipped: false,
    timestamp: at,
    resource_type: 'File',
    resource_title: `/srv/${certname}/${i}`,
    file: '/etc/site.pp',
    line: 7,
    containment_path: ['Stage[main]', `File[/srv/${certname}/${i}]`],
    corrective_change: false,
    events: [
      {
        status: 'success',
        timestamp: at,
        property: 'content',
        name: 'content_changed',
        new_value: `new ${version}`,
        old_value: `old ${version}`,
        message: `changed to ${version}`,
        corrective_change: false,
      },
    ],
  }));
  return {
    command: 'store report',
    version: 8,
    certname,
    producerTimestamp: at,
    payload: JSON.stringify({
      certname,
      puppet_version: '8.10.0',
      report_format: 12,
      configuration_version: String(version),
      start_time: at,
      end_time: at,
      producer: 'compiler.example.com',
      producer_timestamp: at,
      environment: `env${version % 3}`,
      status: resources.length > 0 ? 'changed' : 'unchanged',
      noop: false,
      noop_pending: false,
      corrective_change: false,
      transaction_uuid: null,
      catalog_uuid: null,
      code_id: null,
      job_id: null,
      cached_catalog_status: 'not_used',
      resources,
      metrics: [{ category: 'resources', name: 'total', value: version }],
      logs: [
        {
          file: null,
          line: null,
          level: 'info',
          message: `run ${version}`,
          source: 'Puppet',
          tags: ['info'],
          time: at,
        },
      ],
    }),
  };
}

/** How many events a report of that version has. */
export const eventsOf = (version: number): number => version % 4;

export function deactivateNode(certname: string, time: number): ClientCommand {
  return {
    command: 'deactivate node',
    version: 3,
    certname,
    producerTimestamp: timeText(time),
    payload: JSON.stringify({ certname, producer_timestamp: timeText(time) }),
  };
}

/** The same command as other compilers would write it: with its keys the other way round, or with blanks. */
export function respelled(command: ClientCommand, style: 'reversed' | 'indented'): ClientCommand {
  const payload = JSON.parse(command.payload) as unknown;
  const text = style === 'reversed' ? JSON.stringify(reversed(payload)) : JSON.stringify(payload, null, 1);
  return { ...command, payload: text };
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  );
}
