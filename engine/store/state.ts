// A partition's state: one record (msgpack) that each transaction reads and writes.

import { Packr } from 'msgpackr';
import type { Registered, ReportId } from './records.ts';
import { type KnownTimes, noTimes } from './report-times.ts';
import type { RewrittenKind } from './rewritten.ts';
import { FORMAT_VERSION } from './store-info.ts';

/** Counters of rows, kept by the writer. */
export interface PartitionCounts {
  nodes: number;
  catalogs: number;
  factsets: number;
  resources: number;
  facts: number;
  packages: number;
  reports: number;
  events: number;
}

export interface State {
  format: number;
  /** Stream position: every command with a smaller or equal seq has been applied (or is in `retry`, or in the dead letters). */
  position: number;
  nextNode: number;
  nextReport: number;
  nextName: number;
  nextItem: Record<string, number>;
  /** Item ids went past 2^32 once: new ones must be checked for being free. */
  wrapped: boolean;
  counts: PartitionCounts;
  /** How often things of a kind came or went: while it is the same, there are the same ones. Absent in older stores. */
  changes: Partial<Record<Registered, number>>;
  /** How often records were written anew or removed (rewritten.ts). Absent in older stores. */
  rewritten: Partial<Record<RewrittenKind, number>>;
  /** Absent in older stores: nothing is known of the reports in them. */
  reportTimes: KnownTimes;
  /** Reports with smaller ids have no marks (report-marks.ts) and are not counted in periods: they came before these were kept. */
  marksSince: ReportId;
}

export const freshState = (): State => ({
  format: FORMAT_VERSION,
  position: 0,
  nextNode: 1,
  nextReport: 1,
  nextName: 1,
  nextItem: { resource: 1, fact: 1, edge: 1, package: 1 },
  wrapped: false,
  counts: { nodes: 0, catalogs: 0, factsets: 0, resources: 0, facts: 0, packages: 0, reports: 0, events: 0 },
  changes: {},
  rewritten: {},
  reportTimes: noTimes(1),
  marksSince: 1,
});

/** Where it lies in its table. */
export const STATE = Buffer.from('state');

const packr = new Packr({ useRecords: false, int64AsType: 'number' });

export const encodeState = (state: State): Buffer => packr.pack(state);
export function decodeState(bytes: Uint8Array): State {
  const stored = packr.unpack(bytes) as Omit<State, 'changes' | 'rewritten' | 'reportTimes' | 'marksSince'>;
  const { nextReport } = stored;
  return { changes: {}, rewritten: {}, reportTimes: noTimes(nextReport), marksSince: nextReport, ...stored };
}
