// A small fleet in real partitions, and a way to ask it: what the tests of whole answers share.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueryPlan } from '../../../../engine/query/exec/explain.ts';
import type { ContextOptions } from '../../../../engine/query/exec/plan/context.ts';
import { type OpenRequest, openRequest, type QueryStore } from '../../../../engine/query/request/run.ts';
import type { QueryHead, QueryRequest, QuerySettings } from '../../../../engine/query/request.ts';
import { slotOf } from '../../../../engine/store/file/store-info.ts';
import { openPartition, type Partition } from '../../../../engine/store/partition.ts';
import { applyBatch, queuedOf } from '../../../support/apply.ts';
import { querySettings } from '../../../support/query-settings.ts';

export const NOW = Date.UTC(2026, 10, 21);
const PARTITIONS = 2;
const TRANSACTION = '8aa0ab9a-6e11-4bd0-aa7d-e07af3ae37ac';

/** Of a query that is run without a request. */
export const contextOptions: ContextOptions = {
  now: NOW,
  clock: () => NOW,
  deadline: () => Number.POSITIVE_INFINITY,
  nodePurgeTtl: 0,
  regexBudget: Number.POSITIVE_INFINITY,
  edition: 'community',
  cancelled: () => false,
  slice: 1,
};

export const settings: QuerySettings = { ...querySettings, now: NOW };

export interface Fleet {
  readonly partitions: readonly Partition[];
  /** `written`: the payload's text, where its spelling matters. */
  apply(
    command: string,
    version: number,
    payload: { readonly certname: string } & Record<string, unknown>,
    written?: string,
  ): string | null;
  close(): Promise<void>;
}

/** `received`: when a command came, which has this payload. */
export function newFleet(
  received: (payload: Record<string, unknown>) => number = () => NOW - 1000,
  count = PARTITIONS,
): Fleet {
  const dir = mkdtempSync(join(tmpdir(), 'muster-request-'));
  const partitions = Array.from({ length: count }, (_, slot) => openPartition(join(dir, String(slot))));
  let seq = 0;
  return {
    partitions,
    apply(command, version, payload, written = JSON.stringify(payload)) {
      const { certname } = payload;
      const partition = partitions[slotOf(certname, count)]!;
      const envelope = { command, version, certname, received: received(payload) };
      const queued = queuedOf(++seq, Buffer.from(written), envelope);
      const [outcome] = applyBatch(partition, [queued], {
        now: NOW,
        resourceEventsTtl: 3650 * 86_400_000,
        factsBlocklist: [],
        factsBlocklistType: 'literal',
        decompressedMax: 1e8,
      });
      if (outcome?.kind !== 'processed') throw new Error(JSON.stringify(outcome));
      return outcome.hash;
    },
    async close() {
      for (const partition of partitions) await partition.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const facts = (certname: string, values: Record<string, unknown>, environment = 'production') => ({
  certname,
  environment,
  producer_timestamp: '2026-11-20T00:00:00.000Z',
  producer: 'ps1.example.com',
  values,
});

export const catalog = (certname: string) => ({
  certname,
  version: 'v1',
  environment: 'production',
  transaction_uuid: TRANSACTION,
  catalog_uuid: null,
  code_id: null,
  job_id: null,
  producer: 'ps1.example.com',
  producer_timestamp: '2026-11-20T00:00:00.000Z',
  resources: ['/etc/hosts', '/etc/motd'].map((title) => ({
    type: 'File',
    title,
    exported: false,
    tags: ['file'],
    file: null,
    line: null,
    parameters: { mode: '0644' },
  })),
  edges: [
    {
      source: { type: 'File', title: '/etc/hosts' },
      target: { type: 'File', title: '/etc/motd' },
      relationship: 'before',
    },
  ],
});

export const report = (certname: string, changes: Record<string, unknown> = {}) => ({
  certname,
  puppet_version: '8.10.0',
  report_format: 12,
  configuration_version: 'cv',
  start_time: '2026-11-20T00:00:00.000Z',
  end_time: '2026-11-20T00:01:00.000Z',
  producer_timestamp: '2026-11-20T00:02:00.000Z',
  producer: 'ps1.example.com',
  environment: 'production',
  status: 'changed',
  noop: false,
  noop_pending: false,
  corrective_change: true,
  transaction_uuid: TRANSACTION,
  catalog_uuid: null,
  code_id: null,
  cached_catalog_status: 'not_used',
  job_id: null,
  metrics: [{ category: 'resources', name: 'total', value: 2 }],
  logs: [],
  resources: [
    {
      skipped: false,
      timestamp: '2026-11-20T00:00:30.000Z',
      resource_type: 'File',
      resource_title: '/etc/hosts',
      file: null,
      line: null,
      containment_path: null,
      corrective_change: true,
      events: [
        {
          status: 'success',
          timestamp: '2026-11-20T00:00:30.000Z',
          property: 'mode',
          name: 'mode_changed',
          new_value: '0644',
          old_value: '0600',
          message: 'changed',
          corrective_change: true,
        },
      ],
    },
  ],
  ...changes,
});

export interface Reply {
  readonly head: QueryHead;
  /** The whole body. */
  readonly text: string;
  /** Sizes of the parts behind the head. */
  readonly chunks: readonly number[];
  readonly run: OpenRequest;
}

export interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly query?: Record<string, string>;
  readonly body?: unknown;
  readonly api?: QueryRequest['api'];
  readonly bytesMax?: number;
  readonly settings?: Partial<QuerySettings>;
  readonly store?: Partial<QueryStore>;
  /** Called after every step. */
  readonly after?: (run: OpenRequest) => void;
}

/** Asks and drives the answer to its end. */
export function ask(fleet: Fleet, asked: Asked): Reply {
  const { method = asked.body === undefined ? 'GET' : 'POST', path = '', query = {}, api = 'query' } = asked;
  const run = openRequest(
    {
      method,
      path,
      api,
      queryString: new URLSearchParams(query).toString(),
      body: asked.body === undefined ? null : JSON.stringify(asked.body),
    },
    { partitions: fleet.partitions, clock: () => NOW, ...asked.store },
    { ...settings, ...asked.settings },
  );
  const parts: Uint8Array[] = [];
  for (let steps = 0; !run.done; steps++) {
    if (steps > 100_000) throw new Error('no end');
    const chunk = run.step(asked.bytesMax);
    if (chunk !== null) {
      if (run.head === null) throw new Error('a chunk before the head');
      parts.push(Uint8Array.from(chunk));
    }
    asked.after?.(run);
  }
  if (run.head === null) throw new Error('done without a head');
  const { body } = run.head;
  const text = typeof body === 'string' ? body : Buffer.concat(body === null ? parts : [body]).toString();
  return { head: run.head, text, chunks: parts.map((p) => p.length), run };
}

/** Runs the query with `explain=analyze`: the plan that is answered. */
export function planOf(fleet: Fleet, asked: Asked): QueryPlan {
  const { text, head } = ask(fleet, { ...asked, query: { ...asked.query, explain: 'analyze' } });
  assert.equal(head.status, 200, text);
  const [{ 'query plan': plans }] = JSON.parse(text) as [{ 'query plan': [QueryPlan] }];
  assert.equal(plans.length, 1);
  return plans[0];
}
