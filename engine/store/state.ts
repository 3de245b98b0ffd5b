// A partition's state: one record (msgpack) that each transaction reads and writes.

import { Packr } from 'msgpackr';
import { FORMAT_VERSION } from './file/store-info.ts';
import type { ItemId, Registered, ReportId } from './records/records.ts';
import { type KnownTimes, noTimes, widest } from './reports/report-times.ts';
import type { RewrittenKind } from './rewritten.ts';

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

/** Ids of all kinds are below it. */
export const ID_END = 0xffff_ffff;

/** What gets ids that are given out once and never again, and how many are left. */
export type Numbered = 'node' | 'report' | 'name';
const NEXT = { node: 'nextNode', report: 'nextReport', name: 'nextName' } as const;
const PLURAL = { node: 'nodes', report: 'reports', name: 'fact names' } as const;
export const idsLeft = (state: Readonly<State>, kind: Numbered): number => ID_END - state[NEXT[kind]];

/** Why no more of the kind can be stored. */
export const noIdsLeft = (kind: Numbered): string =>
  `The partition can take no more ${PLURAL[kind]}: it numbers them up to ${ID_END - 1}, and gives no number twice.`;

/** Gives out the next id. Throws, and changes nothing, when there is none. */
export function takeId(state: State, kind: Numbered): number {
  if (idsLeft(state, kind) < 1) throw new Error(noIdsLeft(kind));
  return state[NEXT[kind]]++;
}

/** Where a dictionary's item ids stand (item-ids.ts). */
export interface ItemRound {
  /** Rounds before this one. */
  readonly number: number;
  /** Ids of items from before are below it. */
  readonly end: ItemId;
  /** Where the range of the round ends. */
  readonly limit: ItemId;
}

export interface State {
  format: number;
  /** Stream position: every command with a smaller or equal seq has been applied (or is in `retry`, or in the dead letters). */
  position: number;
  nextNode: number;
  nextReport: number;
  nextName: number;
  nextItem: Record<string, ItemId>;
  /** By dictionary; absent in its first round as long as that has its first range. */
  rounds: Record<string, ItemRound>;
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
  rounds: {},
  counts: { nodes: 0, catalogs: 0, factsets: 0, resources: 0, facts: 0, packages: 0, reports: 0, events: 0 },
  changes: {},
  rewritten: {},
  reportTimes: noTimes(1),
  marksSince: 1,
});

/** Where it lies in its table. */
export const STATE = Buffer.from('state');

const packr = new Packr({ useRecords: false, int64AsType: 'number' });

/** In stores of older formats times of reports that lost events could lie further away than was known. */
const FORMAT_TIMES_ALL = 8;

/** `wrapped`: in older stores only. */
type StoredState = Omit<State, 'changes' | 'rewritten' | 'rounds' | 'reportTimes' | 'marksSince'> & {
  readonly reportTimes?: KnownTimes;
  readonly wrapped?: boolean;
};

export const encodeState = (state: State): Buffer => packr.pack(state);
export function decodeState(bytes: Uint8Array): State {
  const { wrapped, ...stored } = packr.unpack(bytes) as StoredState;
  const { format, nextReport, nextItem, reportTimes } = stored;
  return {
    changes: {},
    rewritten: {},
    rounds: {},
    reportTimes: noTimes(nextReport),
    marksSince: nextReport,
    ...stored,
    ...(format < FORMAT_TIMES_ALL && reportTimes !== undefined && { reportTimes: widest(reportTimes) }),
    // Before rounds were known, ids began anew behind the last one; which were free when they did is not known.
    ...(wrapped === true && { nextItem: Object.fromEntries(Object.keys(nextItem).map((name) => [name, ID_END])) }),
  };
}
