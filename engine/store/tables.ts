// The tables of a partition, with their keys. What is in the dictionaries' tables (bodies, lists, postings) is told in
// dictionary.ts.
//
//   state          'state'           -> counters, ids, stream position (msgpack)
//                  'rewritten_nodes', 'rewritten_reports' -> those whose records changed last (rewritten.ts)
//   node_id        certname          -> u32 node
//   node           u32 node          -> node record
//   node_set       postings of the sets below: of nodes, and of reports
//   inputs         u32 node          -> JSON text [[type, name], ...]
//   catalog_memo, factset_memo   u32 node -> what is remembered of the payload it came with (ingest/spans.ts), as text
//   resource_known u32 node          -> by what some of its resources are known when they are sent again (known-items.ts)
//   fact_name      fact name         -> u32 name id
//   fact_path      digest            -> JSON text [type, path...]: the registry behind fact_paths
//   report         u32 report        -> report record;  by the same id: report_event / _event_value (event-record.ts),
//                                       report_lists (report-lists.ts); before format 2 report_logs / _metrics / _resources
//   report_digest  20-byte hash      -> u32 report
//   report_node    u32 node u32 report -> empty
//   report_time    producer time, u32 report -> empty
//   report_kind    digest            -> how many reports are equal in the fields that take few values, and these (report-kinds.ts)
//   report_marks   u32 report >> 7   -> a few bytes of each report, side by side (report-marks.ts)
//   report_period  start of a period -> how many reports of each kind have their producer's time in it (report-periods.ts)
//   environment, producer   name     -> the name
//   retry          u64 seq           -> a command that waits for another attempt
//   dictionaries   see dictionary.ts

import type { Database, RootDatabase } from 'lmdb';
import { openTable } from './lmdb.ts';

/** Sets of nodes kept as postings. */
export const NODES_ALL = 1;
/** `deactivated` or `expired` is set. */
export const NODES_INACTIVE = 2;
export const NODES_WITH_CATALOG = 3;
export const NODES_WITH_FACTS = 4;
export const NODES_WITH_REPORT = 5;
export const NODES_WITH_INPUTS = 6;
export const NODES_WITH_PACKAGES = 7;
/** Sets of reports kept the same way: those that are the latest of their nodes, those with events, those of which a time is far away (report-times.ts): one of the run, or that of the receipt. */
export const REPORTS_LATEST = 8;
export const REPORTS_WITH_EVENTS = 9;
export const REPORTS_FAR = 10;
export const REPORTS_FAR_RECEIPT = 11;

/** Of what a payload is remembered, so that it is known when it comes again. */
export type MemoKind = 'catalog' | 'factset';
export const MEMO_TABLES = { catalog: 'catalog_memo', factset: 'factset_memo' } as const satisfies Record<
  MemoKind,
  keyof Tables
>;

export interface Tables {
  state: Database<Buffer, Buffer>;
  node_id: Database<Buffer, Buffer>;
  node: Database<Buffer, number>;
  node_set: Database<Buffer, Buffer>;
  inputs: Database<Buffer, number>;
  catalog_memo: Database<Buffer, number>;
  factset_memo: Database<Buffer, number>;
  resource_known: Database<Buffer, number>;
  fact_name: Database<Buffer, Buffer>;
  fact_path: Database<Buffer, Buffer>;
  report: Database<Buffer, number>;
  report_event: Database<Buffer, number>;
  report_event_value: Database<Buffer, number>;
  report_lists: Database<Buffer, number>;
  report_logs: Database<Buffer, number>;
  report_metrics: Database<Buffer, number>;
  report_resources: Database<Buffer, number>;
  report_digest: Database<Buffer, Buffer>;
  report_node: Database<Buffer, Buffer>;
  report_time: Database<Buffer, Buffer>;
  report_kind: Database<Buffer, Buffer>;
  report_marks: Database<Buffer, number>;
  report_period: Database<Buffer, Buffer>;
  environment: Database<Buffer, Buffer>;
  producer: Database<Buffer, Buffer>;
  retry: Database<Buffer, Buffer>;
}

export function openTables(env: RootDatabase): Tables {
  const bytes = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
  const byId = { encoding: 'binary', keyEncoding: 'uint32', cache: false } as const;
  const packed = { ...byId, compression: true } as const;
  return {
    state: openTable<Buffer>(env, 'state', bytes),
    node_id: openTable<Buffer>(env, 'node_id', bytes),
    node: openTable<number>(env, 'node', byId),
    node_set: openTable<Buffer>(env, 'node_set', bytes),
    inputs: openTable<number>(env, 'inputs', byId),
    catalog_memo: openTable<number>(env, 'catalog_memo', byId),
    factset_memo: openTable<number>(env, 'factset_memo', byId),
    resource_known: openTable<number>(env, 'resource_known', byId),
    fact_name: openTable<Buffer>(env, 'fact_name', bytes),
    fact_path: openTable<Buffer>(env, 'fact_path', bytes),
    report: openTable<number>(env, 'report', byId),
    report_event: openTable<number>(env, 'report_event', byId),
    report_event_value: openTable<number>(env, 'report_event_value', packed),
    report_lists: openTable<number>(env, 'report_lists', byId),
    report_logs: openTable<number>(env, 'report_logs', packed),
    report_metrics: openTable<number>(env, 'report_metrics', packed),
    report_resources: openTable<number>(env, 'report_resources', packed),
    report_digest: openTable<Buffer>(env, 'report_digest', bytes),
    report_node: openTable<Buffer>(env, 'report_node', bytes),
    report_time: openTable<Buffer>(env, 'report_time', bytes),
    report_kind: openTable<Buffer>(env, 'report_kind', bytes),
    report_marks: openTable<number>(env, 'report_marks', byId),
    report_period: openTable<Buffer>(env, 'report_period', bytes),
    environment: openTable<Buffer>(env, 'environment', bytes),
    producer: openTable<Buffer>(env, 'producer', bytes),
    retry: openTable<Buffer>(env, 'retry', bytes),
  };
}
