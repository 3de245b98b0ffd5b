// Which reports are looked at for rows of reports and of their events, and in what order, as plain data: by hash, by node, the latest ones,
// or by an index, of hashes or of producer times, which conditions on other times that lie near them narrow as well. report-ids.ts follows it.

import type { EntityName } from '../../../../schemas/entities.ts';
import type { Moment } from '../../../store/reports/report-moments.ts';
import { CLOCK_OF, type Clock, type TimeSpan } from '../../../store/reports/report-times.ts';
import { type CompareOp, type Filter, pageEnd, type QueryTree } from '../../tree.ts';
import { equalTo } from '../filter/conditions.ts';
import { traitsOf } from '../row/entities.ts';

/** An order in which a page of rows is found soonest by the producer times of reports. */
export interface TimeOrder {
  readonly by: 'time';
  readonly descending: boolean;
  /** How many of them lead to the end of the page. */
  readonly rows: number;
  /** The time. One that is not the producer's lies near it, so that the rows come nearly in its order. */
  readonly moment: Moment;
}

/** The same by their hashes, for rows that are reports. */
export interface HashOrder {
  readonly by: 'hash';
  readonly descending: boolean;
  readonly rows: number;
}

export type PageOrder = TimeOrder | HashOrder;

/** The order in which the page of the tree comes, if that is one; null: no such order helps. */
export function pageOrderOf(tree: QueryTree): PageOrder | null {
  const { entity, limit, orderBy } = tree;
  const [first] = orderBy;
  if (limit === null || first === undefined) return null;
  const { field, descending } = first;
  const rows = pageEnd(tree);
  const { hash, sub } = traitsOf(entity);
  // Few reports have events: those are found sooner by themselves.
  if (field === hash && sub === null) return { by: 'hash', descending, rows };
  const moment = traitsOf(entity).times[field];
  return moment === undefined ? null : { by: 'time', descending, rows, moment };
}

/** What narrows the reports to look at, or puts them in order. */
export type ReportPath =
  | { readonly kind: 'hash'; readonly hashes: readonly string[] }
  | { readonly kind: 'latest' }
  /** `isLastFirst`: of each node what arrived last comes first. */
  | { readonly kind: 'nodes'; readonly isLastFirst?: true }
  | TimePath
  /** From the index of hashes, in their order. */
  | { readonly kind: 'hashes'; readonly order: HashOrder }
  /** They are counted by their kinds. */
  | { readonly kind: 'counted' }
  | { readonly kind: 'all' };

/** The order in which the reports come on that path; null: they come in none of these. */
export const orderOfPath = (path: ReportPath): PageOrder | null =>
  path.kind === 'time' || path.kind === 'hashes' ? (path.order ?? null) : null;

/** By clock: how far its times lie from the producer's. */
type NearTimes = Partial<Record<Clock, TimeSpan>>;

/** From the index of producer times. */
export interface TimePath {
  readonly kind: 'time';
  readonly from: number | null;
  readonly to: number | null;
  /** What the rows have to come in. */
  readonly order?: TimeOrder;
  /** By the clocks whose times are asked for, how far they lie from the producer's. Reports for which that is not so are wanted, too. */
  readonly near?: NearTimes;
}

/** Whether only nodes' latest reports pass the condition. */
export const asksForLatest = (filter: Filter): boolean =>
  filter.kind === 'eq' && filter.field === 'latest_report?' && filter.value === true;

/** What is known of the reports that are looked for. */
interface ReportsWanted {
  /** The node conditions leave few nodes. */
  readonly narrow: boolean;
  /** They have to come node by node. */
  readonly isByNode: boolean;
  /** What the rows should come in, if they are not few. */
  readonly order: PageOrder | null;
  /** How far the clock's times of the reports lie from their producers'; null: that does not help. */
  times(clock: Clock): TimeSpan | null;
  /** Whether so few reports are within those times that they are better found by the index than by looking at all. */
  areFew(path: TimePath): boolean;
}

/** How the reports are found that rows can come from. */
export function reportPath(entity: EntityName, filters: readonly Filter[], wanted: ReportsWanted): ReportPath {
  const { narrow, isByNode } = wanted;
  const { implied, hash } = traitsOf(entity);
  if (implied !== null && asksForLatest(implied)) return { kind: 'latest' };
  const hashes = hash === null ? null : equalTo(filters, hash);
  if (hashes && !isByNode) return { kind: 'hash', hashes };
  if (filters.some(asksForLatest)) return { kind: 'latest' };
  if (isByNode) return { kind: 'nodes', isLastFirst: true };
  if (narrow) return { kind: 'nodes' };
  const path = timePath(entity, filters, wanted);
  if (path !== null && (path.order !== undefined || wanted.areFew(path))) return path;
  return wanted.order?.by === 'hash' ? { kind: 'hashes', order: wanted.order } : { kind: 'all' };
}

/** The path through producer times that the conditions and the order leave; null: it would lead to all. */
function timePath(entity: EntityName, filters: readonly Filter[], wanted: ReportsWanted): TimePath | null {
  const near: NearTimes = {};
  const spanOf = (clock: Clock): TimeSpan | null => {
    const span = near[clock] ?? wanted.times(clock);
    if (span !== null) near[clock] = span;
    return span;
  };
  const ranges = filters.flatMap((filter) => nearRangeOf(entity, filter, spanOf) ?? []);
  const { from, to } = producerTimes(ranges);
  const inOrder = wanted.order?.by === 'time' ? wanted.order : null;
  const clock = inOrder === null ? null : CLOCK_OF[inOrder.moment];
  const order = clock !== null && spanOf(clock) === null ? null : inOrder;
  if (from === null && to === null && order === null) return null;
  const isNear = Object.keys(near).length > 0;
  return { kind: 'time', from, to, ...(order === null ? {} : { order }), ...(isNear ? { near } : {}) };
}

/** How far a time lies from itself. */
const EXACT: TimeSpan = { earliest: 0, latest: 0 };

interface TimeRange {
  readonly field: string;
  readonly from: number | null;
  readonly to: number | null;
}

/** By operator, the least, or the greatest, integer that passes. */
const BOUND: Readonly<Record<CompareOp, (value: number) => number>> = {
  '>': (value) => Math.floor(value) + 1,
  '>=': Math.ceil,
  '<': (value) => Math.ceil(value) - 1,
  '<=': Math.floor,
};

/** Exactly the values that pass, both ends included; of times epoch ms. null: it does not compare a field with a number. */
export function rangeOf(filter: Filter): TimeRange | null {
  if (filter.kind === 'order') {
    const { field, op, value } = filter;
    const bound = BOUND[op](value);
    return op === '>' || op === '>=' ? { field, from: bound, to: null } : { field, from: null, to: bound };
  }
  if (filter.kind !== 'eq' || typeof filter.value !== 'number') return null;
  return { field: filter.field, from: filter.value, to: filter.value };
}

/** A time of reports that is the producer's (clock null), or lies near it unless the report is far. */
export interface NearTime {
  readonly clock: Clock | null;
  readonly span: TimeSpan;
}

/** null: the field is no such time, or one of which `spanOf` does not tell how far it lies. */
export function nearTimeOf(
  entity: EntityName,
  field: string,
  spanOf: (clock: Clock) => TimeSpan | null,
): NearTime | null {
  const moment = traitsOf(entity).times[field];
  if (moment === undefined) return null;
  const clock = CLOCK_OF[moment];
  const span = clock === null ? EXACT : spanOf(clock);
  return span === null ? null : { clock, span };
}

/** What is asked of such a time. */
export interface NearRange extends NearTime, Omit<TimeRange, 'field'> {}

/** null: the condition is not on such a time. */
export function nearRangeOf(
  entity: EntityName,
  filter: Filter,
  spanOf: (clock: Clock) => TimeSpan | null,
): NearRange | null {
  const range = rangeOf(filter);
  if (range === null) return null;
  const { field, from, to } = range;
  const near = nearTimeOf(entity, field, spanOf);
  return near === null ? null : { ...near, from, to };
}

/** Between which producers' times the reports lie that are within all of these; null: there is no bound. */
export function producerTimes(ranges: readonly NearRange[]): {
  readonly from: number | null;
  readonly to: number | null;
} {
  let from: number | null = null;
  let to: number | null = null;
  for (const { span, ...range } of ranges) {
    if (range.from !== null) from = Math.max(from ?? Number.NEGATIVE_INFINITY, range.from - span.latest);
    if (range.to !== null) to = Math.min(to ?? Number.POSITIVE_INFINITY, range.to - span.earliest);
  }
  return { from, to };
}
