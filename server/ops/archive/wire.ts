// From rows of query answers to the payloads of commands (spec/commands.md 7.1): what an export holds, and what an import
// submits again. Tables say where each kind comes from and goes to; the functions only rearrange.
//
// As in PuppetDB, package inventories are not exported, and a report's resources are put together from its events.

import { createHash } from 'node:crypto';
import { canonicalS } from '../../../engine/json/canonical.ts';
import { isArray, isObject, type JsonObject, type JsonValue, setMember } from '../../../engine/json/value.ts';
import type { Question } from '../questions/internal-query.ts';

export type ArchiveKind = 'configure_expiration' | 'catalogs' | 'reports' | 'facts' | 'catalog_inputs';

export interface ArchiveRow {
  /** Folder of the archive. */
  readonly kind: ArchiveKind;
  /** Member of `command_versions`, and the command's name with underscores. */
  readonly command: string;
  /** Version of the payloads that an export holds. */
  readonly version: number;
  /** Whether file names end with a hash of the producer's time: there may be several of a node. */
  readonly hashed: boolean;
  readonly question: Pick<Question, 'path' | 'parameters'>;
  /** What has to hold beside the nodes' names; null: nothing. */
  readonly filter: readonly (string | boolean | readonly string[])[] | null;
  readonly payload: (row: JsonObject) => JsonObject;
}

/** In the order of the archive: settings that protect nodes come before what they protect. */
export const archiveRows: readonly ArchiveRow[] = [
  {
    kind: 'configure_expiration',
    command: 'configure_expiration',
    version: 1,
    hashed: true,
    question: { path: '/nodes', parameters: { include_facts_expiration: true } },
    filter: ['null?', 'expires_facts_updated', false],
    payload: (row) => ({
      certname: row['certname']!,
      expire: { facts: row['expires_facts']! },
      producer_timestamp: row['expires_facts_updated']!,
    }),
  },
  {
    kind: 'catalogs',
    command: 'replace_catalog',
    version: 9,
    hashed: true,
    question: { path: '/catalogs' },
    filter: null,
    payload: catalogPayload,
  },
  {
    kind: 'reports',
    command: 'store_report',
    version: 8,
    hashed: true,
    question: { path: '/reports' },
    // Naming the type is what brings the reports of plans as well.
    filter: ['null?', 'type', false],
    payload: reportPayload,
  },
  {
    kind: 'facts',
    command: 'replace_facts',
    version: 5,
    hashed: false,
    question: { path: '/factsets' },
    filter: null,
    payload: factsPayload,
  },
  {
    kind: 'catalog_inputs',
    command: 'replace_catalog_inputs',
    version: 1,
    hashed: true,
    question: { path: '/catalog-inputs' },
    filter: null,
    payload: (row) => row,
  },
];

/** Every entry of an archive is in it. */
export const ROOT_FOLDER = 'puppetdb-bak';
export const METADATA_NAME = `${ROOT_FOLDER}/export-metadata.json`;

/** Header of an import's answer: the number of commands that were queued. PuppetDB does not send it. */
export const COUNT_HEADER = 'X-Muster-Commands';

/** Path of a payload in the archive. */
export function entryName({ kind, hashed }: ArchiveRow, payload: JsonObject): string {
  const certname = String(payload['certname']);
  return `${ROOT_FOLDER}/${kind}/${certname}${hashed ? `-${timeHash(payload['producer_timestamp'] ?? null)}` : ''}.json`;
}

/** Which command an entry is, and of which node; null for entries that are none. */
export function entryOf(name: string): { readonly row: ArchiveRow; readonly certname: string } | null {
  for (const row of archiveRows) {
    const folder = `${ROOT_FOLDER}/${row.kind}/`;
    if (!name.startsWith(folder)) continue;
    const match = (row.hashed ? /^(.*)-[0-9a-fA-F]{40}\.json$/s : /^(.*)\.json$/s).exec(name.slice(folder.length));
    return match === null ? null : { row, certname: match[1]! };
  }
  return null;
}

/** SHA-1 of the JSON text of a time, quotes included. */
function timeHash(time: JsonValue): string {
  return createHash('sha1').update(JSON.stringify(time)).digest('hex');
}

function catalogPayload(row: JsonObject): JsonObject {
  const { hash: _hash, resources, edges, ...rest } = row;
  return { ...rest, edges: dataOf(edges).map(edgePayload), resources: dataOf(resources).map(resourcePayload) };
}

function edgePayload(edge: JsonObject): JsonObject {
  return {
    source: { type: edge['source_type']!, title: edge['source_title']! },
    target: { type: edge['target_type']!, title: edge['target_title']! },
    relationship: edge['relationship']!,
  };
}

/** `file` and `line` that are null were not there: present ones make another catalog of it. */
function resourcePayload(resource: JsonObject): JsonObject {
  const { resource: _hash, certname: _certname, environment: _environment, ...rest } = resource;
  const payload: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(rest)) {
    if (value !== null || (key !== 'file' && key !== 'line')) payload[key] = value;
  }
  return payload;
}

function factsPayload(row: JsonObject): JsonObject {
  const values: Record<string, JsonValue> = {};
  for (const { name, value } of dataOf(row['facts'])) setMember(values, String(name), value!);
  return {
    certname: row['certname']!,
    environment: row['environment']!,
    producer_timestamp: row['producer_timestamp']!,
    producer: row['producer']!,
    values,
  };
}

/** Resources come with reports of the enterprise edition; else those that had events are put together from these. */
function reportPayload(row: JsonObject): JsonObject {
  const { hash: _hash, receive_time: _received, resources, resource_events: events, ...rest } = row;
  return {
    ...rest,
    metrics: dataIn(row['metrics']),
    logs: dataIn(row['logs']),
    resources: dataIn(resources) ?? resourcesOf(dataOf(events)),
  };
}

/** What events say about their resource; events that agree on it are one resource's. */
const GROUP_KEYS = ['file', 'line', 'timestamp', 'resource_type', 'resource_title', 'containment_path'] as const;
/** What a stored event knows from its report, or has of its resource. */
const SURPLUS_KEYS = new Set<string>([
  'file',
  'line',
  'resource_type',
  'resource_title',
  'containment_path',
  'containing_class',
  'report',
  'certname',
  'configuration_version',
  'run_start_time',
  'run_end_time',
  'report_receive_time',
  'environment',
]);

function resourcesOf(events: readonly JsonObject[]): JsonObject[] {
  const groups = new Map<string, { readonly head: JsonObject; readonly events: JsonObject[] }>();
  for (const event of events) {
    const skipped = event['status'] === 'skipped';
    const identity = canonicalS([...GROUP_KEYS.map((key) => event[key] ?? null), skipped]);
    let group = groups.get(identity);
    if (group === undefined) {
      const head: Record<string, JsonValue> = {};
      for (const key of GROUP_KEYS) head[key] = event[key] ?? null;
      group = { head: { ...head, skipped, corrective_change: null }, events: [] };
      groups.set(identity, group);
    }
    group.events.push(eventPayload(event));
  }
  return [...groups.values()].map(({ head, events: members }) => ({ ...head, events: members }));
}

function eventPayload(event: JsonObject): JsonObject {
  const payload: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(event)) if (!SURPLUS_KEYS.has(key)) payload[key] = value;
  payload['corrective_change'] ??= null;
  return payload;
}

/** What an expanded field holds (`{"data": [...], "href": "..."}`). */
const dataIn = (expanded: JsonValue | undefined): JsonValue =>
  expanded !== undefined && isObject(expanded) ? (expanded['data'] ?? null) : (expanded ?? null);

/** Its members; none when there is nothing. */
function dataOf(expanded: JsonValue | undefined): readonly JsonObject[] {
  const data = dataIn(expanded);
  return isArray(data) ? (data as readonly JsonObject[]) : [];
}
