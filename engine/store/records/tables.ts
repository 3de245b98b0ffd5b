// The tables of a partition: each is a row of `openTables`, with its keys and values. Those of the dictionaries (bodies, lists, postings) are
// in dictionary.ts.

import type { Key, RootDatabase } from 'lmdb';
import { openTable } from '../file/lmdb.ts';
import { isInactive, type NodeRecord } from './records.ts';

/** Sets of nodes kept as postings. */
export const NODES_ALL = 1;
/** `deactivated` or `expired` is set. */
export const NODES_INACTIVE = 2;
export const NODES_WITH_CATALOG = 3;
export const NODES_WITH_FACTS = 4;
const NODES_WITH_REPORT = 5;
export const NODES_WITH_INPUTS = 6;
export const NODES_WITH_PACKAGES = 7;
/** Sets of reports kept the same way: those that are the latest of their nodes, */
export const REPORTS_LATEST = 8;
/** those with events, */
export const REPORTS_WITH_EVENTS = 9;
/** those that are far away by a time of the run, and by that of the receipt (report-times.ts). */
export const REPORTS_FAR = 10;
export const REPORTS_FAR_RECEIPT = 11;

/** The sets of nodes that follow from the nodes' records. */
export const SETS_OF_RECORDS: readonly {
  readonly set: number;
  /** For people: what the nodes in it are, or have. */
  readonly title: string;
  readonly has: (record: NodeRecord) => boolean;
}[] = [
  { set: NODES_INACTIVE, title: 'inactive', has: isInactive },
  { set: NODES_WITH_CATALOG, title: 'with catalog', has: ({ catalog }) => catalog !== null },
  { set: NODES_WITH_FACTS, title: 'with facts', has: ({ factset }) => factset !== null },
  { set: NODES_WITH_REPORT, title: 'with report', has: ({ latestReport }) => latestReport !== null },
  { set: NODES_WITH_INPUTS, title: 'with inputs', has: ({ inputs }) => inputs !== null },
];

/** Of what a payload is remembered, so that it is known when it comes again. */
export type MemoKind = 'catalog' | 'factset';
export const MEMO_TABLES = { catalog: 'catalog_memo', factset: 'factset_memo' } as const satisfies Record<
  MemoKind,
  keyof Tables
>;

export type Tables = ReturnType<typeof openTables>;

export function openTables(env: RootDatabase) {
  const table = <K extends Key>(name: string, options: object) =>
    openTable<K>(env, name, { encoding: 'binary', cache: false, ...options });
  const byBytes = (name: string) => table<Buffer>(name, { keyEncoding: 'binary' });
  /** Keys are u32: of a node, a report, or what is said. */
  const byId = (name: string) => table<number>(name, { keyEncoding: 'uint32' });
  const packed = (name: string) => table<number>(name, { keyEncoding: 'uint32', compression: true });
  return {
    /**
     * `STATE`: counters, ids, stream position (msgpack). Of `REWRITTEN`: nodes and reports whose records changed last (rewritten.ts). Of each
     * dictionary: which item ids were taken when its round began (item-ids.ts).
     */
    state: byBytes('state'),
    /** certname: u32 node. */
    node_id: byBytes('node_id'),
    node: byId('node'),
    /** Postings of the sets above: of nodes, and of reports. */
    node_set: byBytes('node_set'),
    /** Of a node: JSON text [[type, name], ...]. */
    inputs: byId('inputs'),
    /** Of a node: what is remembered of the payload it came with (ingest/known/spans.ts), as text. */
    catalog_memo: byId('catalog_memo'),
    factset_memo: byId('factset_memo'),
    /** Of a node: by what some of its resources are known when they are sent again (known-items.ts). */
    resource_known: byId('resource_known'),
    /** Fact name: u32 name id. */
    fact_name: byBytes('fact_name'),
    /** Digest: JSON text [type, path...], the registry behind fact_paths. */
    fact_path: byBytes('fact_path'),
    report: byId('report'),
    /** Of a report: its events (event-record.ts). */
    report_event: byId('report_event'),
    report_event_value: packed('report_event_value'),
    /** Of a report: its logs, metrics and resources (report-lists.ts); the next three held them before format 2. */
    report_lists: byId('report_lists'),
    report_logs: packed('report_logs'),
    report_metrics: packed('report_metrics'),
    report_resources: packed('report_resources'),
    /** 20-byte hash: u32 report. */
    report_digest: byBytes('report_digest'),
    /** u32 node, u32 report: empty. */
    report_node: byBytes('report_node'),
    /** Producer's time, u32 report: empty. */
    report_time: byBytes('report_time'),
    /** Digest: how many reports are equal in the fields that take few values, and these (report-kinds.ts). */
    report_kind: byBytes('report_kind'),
    /** u32 report >> 7: a few bytes of each of these reports, side by side (report-marks.ts). */
    report_marks: byId('report_marks'),
    /** u32 report >> 7: the times of these reports (report-moments.ts). */
    report_moments: byId('report_moments'),
    /** u32 report >> 7: how many events of each status these reports have (report-statuses.ts). */
    report_statuses: byId('report_statuses'),
    /** Start of a period: how many reports of each kind have their producer's time in it (report-periods.ts). */
    report_period: byBytes('report_period'),
    /** Name: the name. */
    environment: byBytes('environment'),
    producer: byBytes('producer'),
    /** u64 seq: a command that waits for another attempt. */
    retry: byBytes('retry'),
  };
}
