// What events are counted by, what they count for (spec/query.md 6.2), and what counting them gives: event-counting.ts and event-kernel.ts do.

import { EVENT_CODE } from '../../../store/records/event-record.ts';
import type { CountField, EventCountsTree } from '../../tree.ts';
import type { Row } from '../row/row.ts';

/** Where each count is. */
export const COUNT: Readonly<Record<CountField, number>> = {
  failures: 0,
  successes: 1,
  noops: 2,
  skips: 3,
  intentional_successes: 4,
  corrective_successes: 5,
  intentional_noops: 6,
  corrective_noops: 7,
};
/** How many counts a subject has. */
export const COUNTS = Object.keys(COUNT).length;

/** The counts that an event adds to: to the first, and to one of the others where changes are told apart. */
export interface Added {
  readonly whole: number;
  readonly intentional: number;
  readonly corrective: number;
}
const added = (whole: CountField, intentional = whole, corrective = whole): Added => ({
  whole: COUNT[whole],
  intentional: COUNT[intentional],
  corrective: COUNT[corrective],
});

/** By an event's status, which may be any text. */
export const STATUS: ReadonlyMap<string, Added> = new Map([
  ['failure', added('failures')],
  ['skipped', added('skips')],
  ['success', added('successes', 'intentional_successes', 'corrective_successes')],
  ['noop', added('noops', 'intentional_noops', 'corrective_noops')],
]);

type SummarizeBy = EventCountsTree['summarizeBy'];

/** Coded columns that make a subject; none where it is the node. */
export const SUBJECT_CODES: Readonly<Record<SummarizeBy, readonly number[]>> = {
  certname: [],
  resource: [EVENT_CODE.resourceType, EVENT_CODE.resourceTitle],
  containing_class: [EVENT_CODE.containingClass],
};

/** What was counted. Subjects have numbers from 0 on, in the order in which they were met. */
export interface Subjects {
  readonly length: number;
  /** JSON texts of what a subject is, in the order of its fields. */
  texts(subject: number): readonly string[];
  /** `kind`: a place of COUNT. */
  count(subject: number, kind: number): number;
}

/** Counts events. */
export interface EventTally {
  /** Counts the row's event and so many behind it, which are of the same report. */
  add(row: Row, rest: number): void;
  /** How many bytes that takes which was counted so far, about. */
  readonly bytes: number;
  /** What was counted. It is the last that is asked for. */
  take(): Subjects;
}
