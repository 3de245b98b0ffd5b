// Reports counted, and grouped, without a look at them. A partition knows how many it has of each kind (store/reports/report-kinds.ts). Of reports
// within given times only those at the bounds are looked at: of the others it is known how many of each kind there are in each period
// (store/reports/report-periods.ts). So they are counted by the day or the hour of a time (report-hours.ts). Where nodes matter too, or the first or
// the last of their times, nodes, kinds and times of all reports are read side by side (store/reports/report-marks.ts, report-moments.ts).

import { PairNumbers } from '../../../pair-numbers.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import type { NodeId, ReportId } from '../../../store/records/records.ts';
import { REPORT_NUMBER, REPORT_TEXT } from '../../../store/records/report-record.ts';
import { NODES_ALL } from '../../../store/records/tables.ts';
import {
  KIND_PLACES,
  KindMarks,
  type OwnMoment,
  type ReportKind,
  type ReportTimes,
  reportsOf,
  TIME_NAMES,
} from '../../../store/reports/report-kinds.ts';
import { BETWEEN } from '../../../store/reports/report-moments.ts';
import { PERIOD_MS, periodOf } from '../../../store/reports/report-periods.ts';
import { CLOCKS, type Clock, FAR_SETS, type TimeSpan } from '../../../store/reports/report-times.ts';
import type { View } from '../../../store/view.ts';
import { areShared, isClassed } from '../filter/classed.ts';
import { all } from '../filter/conditions.ts';
import { compileFilter, passes } from '../filter/filter.ts';
import { type NearRange, nearRangeOf, producerTimes } from '../plan/report-plan.ts';
import type { Access, Hourly } from '../row/access.ts';
import { Row } from '../row/row.ts';
import { usefulTimes } from '../sources/report-ids.ts';
import { type TakeReport, timeTestOf } from '../sources/report-sieve.ts';
import type { Source } from '../sources/source.ts';
import { ReportHours, type SameHours } from './report-hours.ts';

/** What is counted in one partition. */
interface Part {
  readonly row: Row;
  /** Times that the reports have to be within, all of them. null: some do not lie near the producer's. */
  readonly times: readonly NearRange[] | null;
  /** The text of a time that they are told apart by; null: there is none. */
  readonly hours: ReportHours | null;
  /** Kinds that pass the selection's conditions. */
  readonly kinds: readonly ReportKind[];
  /** Nodes whose reports are counted, and the others. null: all are. */
  readonly nodes: { readonly wanted: NodeSet; readonly others: NodeSet } | null;
}

/** More nodes that are left out are not looked at by themselves: one in so many. */
const FEW_NODES = 8;
/** Reports of fewer nodes are looked at sooner than what is kept of all: one in so many. */
const FEW_WANTED = 64;
/** Where periods tell the times of fewer, all are looked at: one in so many. */
const FEW_TOLD = 3;

/**
 * Gives rows that have what `reads` read, and how many reports each of them stands for. Where `moments` are asked for, the row has the last of each
 * that these reports have; one more row, which stands for none, has the first of each. false, and nothing: the reports have to be looked at.
 */
export function* foldReports(
  source: Source,
  reads: readonly Access[],
  visit: (row: Row, weight: number) => void,
  moments: readonly OwnMoment[] = [],
): Generator<undefined, boolean> {
  const ofNode = reads.filter(isOfNode);
  // The column and the key of the one text of a time that rows can be grouped by.
  const [hourly = null, ...same] = reads.flatMap((read) => read.hourly ?? []);
  const ofKind = reads.filter((read) => !isOfNode(read) && read.hourly === undefined);
  if (source.shape !== 'report' || source.isWithinReports || !areShared(ofKind, KIND_PLACES)) return false;
  if (same.some(({ field, mask }) => field !== hourly?.field || mask !== hourly.mask)) return false;
  const parts = yield* partsOf(source, hourly);
  if (parts === null) return false;
  const told: Told = { byNode: ofNode.length > 0, byKind: reads.length > 0, moments };
  const ways = parts.map((part) => wayOf(source, part, told));
  if (ways.includes(null)) return false;
  for (const [i, part] of parts.entries()) {
    begin(source, part);
    const tell = (count: number): void => {
      source.trace.partition(part.row.part).scan.rows += count;
      visit(part.row, count);
    };
    if (ways[i] === 'kinds') byKinds(part, tell);
    else if (ways[i] === 'marks') yield* byMarks(source, part, told, tell);
    else if (ways[i] === 'periods') yield* byPeriods(source, part, tell);
    else tell(yield* countWithout(source, part));
  }
  return true;
}

/** Whether all reports of a node have the same there. */
export const isOfNode = ({ level, stored }: Access): boolean =>
  level === 'node' || stored?.place === REPORT_TEXT.certname;

/** Whether the reports of these nodes are looked at sooner, node by node, than what is kept side by side of all. */
export const areFewWanted = (wanted: NodeSet, { counts }: View): boolean => wanted.count() * FEW_WANTED <= counts.nodes;

type Way = 'kinds' | 'without' | 'marks' | 'periods';

/** What rows are to be told apart by, and what is to be told of them beside their number. */
interface Told {
  readonly byNode: boolean;
  readonly byKind: boolean;
  readonly moments: readonly OwnMoment[];
}

/**
 * How a partition's reports are counted: by kind, all but those of the nodes that are left out, by their marks, or by periods. null: they have
 * to be looked at.
 */
function wayOf(source: Source, { row, times, hours, nodes }: Part, { byNode, byKind, moments }: Told): Way | null {
  const { view } = row;
  const isTimed = times === null || times.length > 0;
  const isNearlyAll = nodes === null || nodes.others.count() * FEW_NODES <= view.counts.nodes;
  const arePlain = !byNode && moments.length === 0;
  const areInPeriods = arePlain && times !== null && isNearlyAll;
  if (hours !== null || (isTimed && areInPeriods)) return areInPeriods && view.reports.areToldApart ? 'periods' : null;
  if (!isTimed && arePlain && nodes === null) return 'kinds';
  if (!isTimed && arePlain && !byKind && isNearlyAll) return 'without';
  if (nodes !== null && areFewWanted(nodes.wanted, view)) return null;
  if (isTimed && !source.reports.areManyWithin(row, nodes?.wanted ?? null)) return null;
  return view.reports.areToldApart ? 'marks' : null;
}

function begin({ ctx, split, trace, plans }: Source, { row, nodes }: Part): void {
  ctx.trace.enter(trace.partition(row.part).scan);
  const count = split.node.length === 0 ? null : (nodes?.wanted ?? row.view.set(NODES_ALL)).count();
  plans[row.part] = { nodes: count, items: null, reports: { kind: 'counted' } };
}

/** By partition; null: something is asked for that kinds do not tell, or there are reports that are not in them. */
function* partsOf(source: Source, hourly: Hourly | null): Generator<undefined, readonly Part[] | null> {
  const { ctx, entity, split, scope } = source;
  if (split.sub.length + split.mixed.length > 0) return null;
  const ofKind = split.item.filter((filter) => isClassed(filter, scope, KIND_PLACES));
  const others = split.item.filter((filter) => !ofKind.includes(filter));
  if (!others.every((filter) => timeTestOf(filter, scope) !== null)) return null;
  const asked = all(ofKind);
  const test = asked === null ? null : compileFilter(asked, scope);
  const parts: Part[] = [];
  for (const number of source.parts) {
    const view = ctx.view(number);
    const spanOf = (clock: Clock): TimeSpan | null => usefulTimes(view, clock);
    const near = others.map((filter) => nearRangeOf(entity, filter, spanOf));
    const times = near.every((range) => range !== null) ? near : null;
    const hours = hourly === null ? null : ReportHours.of(hourly, entity, spanOf);
    if (hourly !== null && hours === null) return null;
    const every = view.reports.kinds();
    if (every === null) return null;
    if (hours !== null && (times === null || !(yield* periodsTell(source, view, times, hours)))) return null;
    const row = new Row(view, number);
    const wanted = split.node.length === 0 ? null : yield* source.nodes(row);
    const rest = wanted === null ? null : view.set(NODES_ALL).copy().subtract(wanted);
    const nodes = wanted === null || rest!.count() === 0 ? null : { wanted, others: rest! };
    const kinds = every.filter(({ report }) => {
      row.body = report;
      return passes(test, row);
    });
    parts.push({ row, times, hours, kinds, nodes });
    if (ctx.tick()) yield;
  }
  return parts;
}

/** Whether periods tell the texts of enough reports. */
function* periodsTell(
  { ctx }: Source,
  view: View,
  times: readonly NearRange[],
  hours: ReportHours,
): Generator<undefined, boolean> {
  const { from, to } = producerTimes(times);
  let all = 0;
  let told = 0;
  for (const { start, counts } of view.reports.periods(from, to)) {
    let count = 0;
    for (const some of counts.values()) count += some;
    all += count;
    if (hours.ofPeriod(start) !== null) told += count;
    if (ctx.tickRow()) yield;
  }
  return told * FEW_TOLD >= all;
}

function byKinds({ row, kinds }: Part, tell: (count: number) => void): void {
  for (const { count, report } of kinds) {
    row.body = report;
    tell(count);
  }
}

/** All reports of these kinds, but for those of the nodes that are left out. */
function* countWithout(source: Source, part: Part): Generator<undefined, number> {
  let count = 0;
  for (const kind of part.kinds) count += kind.count;
  yield* eachOfOthers(source, part, () => count--);
  return count;
}

/** Opens the reports of the nodes that are left out, and calls with those that would pass. */
function* eachOfOthers(source: Source, { row, nodes }: Part, take: (id: ReportId) => void): Generator<undefined, void> {
  for (const node of nodes?.others.toArray() ?? []) {
    for (const id of row.view.reports.ofNode(node)) {
      if (row.openReport(id) && passes(source.item, row)) take(id);
    }
    if (source.ctx.tick()) yield;
  }
}

/** What reports have in common where no text is asked for. */
const ANY_HOURS: SameHours = { text: null, times: {} };

/** Reports whose times have the same text. */
interface Tally {
  readonly times: Partial<ReportTimes>;
  /** By place of a kind. */
  readonly counts: number[];
}

/** Tells counts when the row has the kind that each is of, and a time with the text that is asked for. */
function* byPeriods(source: Source, part: Part, tell: (count: number) => void): Generator<undefined, void> {
  const { row, hours, kinds } = part;
  const times = part.times!;
  const { view } = row;
  const marks = view.reports.marks;
  const places = new Map(kinds.map(({ mark }, place) => [mark, place]));
  /** By text. */
  const tallies = new Map<string | null, Tally>();
  const add = (same: SameHours, mark: number, count: number): void => {
    const place = places.get(mark);
    if (place === undefined) return;
    let tally = tallies.get(same.text);
    if (tally === undefined)
      tallies.set(same.text, (tally = { times: same.times, counts: new Array<number>(kinds.length).fill(0) }));
    tally.counts[place]! += count;
  };
  const addKindOf = (id: ReportId, same: SameHours, by: 1 | -1): void => {
    marks.open(id);
    add(same, marks.kind, by);
  };
  const ofReport = (): SameHours => (hours === null ? ANY_HOURS : hours.ofReport(row));
  const look = (id: ReportId): void => {
    if (row.openReport(id) && passes(source.item, row)) addKindOf(id, ofReport(), 1);
  };
  /** What periods tell of the reports of this one; null: they are looked at. */
  const toldOf = (start: number): SameHours | null =>
    isWithin(start, times) ? (hours === null ? ANY_HOURS : hours.ofPeriod(start)) : null;
  const clocks = [...times, ...(hours === null ? [] : [hours.near])].map(({ clock }) => clock);
  const far = new Set(
    CLOCKS.flatMap((clock) => (clocks.includes(clock) ? [...view.reports.set(FAR_SETS[clock])] : [])),
  );
  const { from, to } = producerTimes(times);
  // What lies at the bounds is looked at when the periods have been read.
  const atBounds: number[] = [];
  for (const period of view.reports.periods(from, to)) {
    const same = toldOf(period.start);
    if (same === null) atBounds.push(period.start);
    else for (const [mark, count] of period.counts) add(same, mark, count);
    if (source.ctx.tickRow()) yield;
  }
  for (const start of atBounds) {
    for (const { id } of view.reports.byTime({ from: start, to: start + PERIOD_MS - 1 })) {
      if (!far.has(id)) look(id);
      if (source.ctx.tickRow()) yield;
    }
  }
  for (const id of far) {
    const same = row.openReport(id) ? toldOf(periodOf(row.report.number(REPORT_NUMBER.producerTimestamp)!)) : null;
    if (same !== null) addKindOf(id, same, -1);
    look(id);
    if (source.ctx.tickRow()) yield;
  }
  yield* eachOfOthers(source, part, (id) => addKindOf(id, ofReport(), -1));
  const reports = kinds.map(({ report }) => (hours === null ? () => report : reportsOf(report)));
  for (const { times: some, counts } of tallies.values()) {
    for (const [place, count] of counts.entries()) {
      if (count === 0) continue;
      row.body = reports[place]!(some);
      tell(count);
    }
    if (source.ctx.tickRow()) yield;
  }
}

/** Whether all reports of the period that are not far are within these times. */
const isWithin = (start: number, times: readonly NearRange[]): boolean =>
  times.every(
    ({ from, to, span }) =>
      (from === null || start + span.earliest >= from) && (to === null || start + PERIOD_MS - 1 + span.latest <= to),
  );

/** Reports of a kind, and of a node where that is asked for. */
interface Pair {
  readonly node: NodeId;
  /** Of the kind. */
  readonly place: number;
  count: number;
  /** By moment. */
  readonly first: number[];
  readonly last: number[];
}

/** Tells counts when the row has the node and the kind that each is of, the node only where that is asked for, and the last times; then the first ones. */
function* byMarks(
  source: Source,
  { row, times, kinds, nodes }: Part,
  { byNode, moments }: Told,
  tell: (count: number) => void,
): Generator<undefined, void> {
  const { ctx } = source;
  const isTimed = times === null || times.length > 0 || moments.length > 0;
  const timesOf = moments.map((moment) => ({
    kept: BETWEEN[moment].least,
    read: () => row.report.number(REPORT_NUMBER[TIME_NAMES[moment]])!,
  }));
  const places = new KindMarks(kinds.map(({ mark }) => mark));
  const numbers = new PairNumbers();
  const pairs: Pair[] = [];
  const take: TakeReport = (marks, kept, at, id) => {
    const isTold = !isTimed || kept.has(at);
    if (!isTold && !(row.openReport(id) && passes(source.item, row))) return;
    const place = places.indexOf(marks.kind(at));
    const node = byNode ? marks.node(at) : 0;
    const number = numbers.of(node, place);
    if (number === pairs.length) pairs.push({ node, place, count: 0, first: [], last: [] });
    const pair = pairs[number]!;
    pair.count++;
    for (let i = 0; i < timesOf.length; i++) {
      const time = isTold ? timesOf[i]!.kept(kept, at) : timesOf[i]!.read();
      if (pair.count === 1 || time < pair.first[i]!) pair.first[i] = time;
      if (pair.count === 1 || time > pair.last[i]!) pair.last[i] = time;
    }
  };
  const sieve = source.reports.exactSieve(row, nodes?.wanted ?? null)!;
  const zones = isTimed ? yield* row.view.reports.zones(() => ctx.tick()) : null;
  if (zones !== null) sieve.know(zones);
  for (const _ of sieve.each(row.view.reports.ids(), take)) if (ctx.tick()) yield;
  const isBare = !byNode && moments.length === 0;
  const reports = kinds.map(({ report }) => (isBare ? () => report : reportsOf(report)));
  const withTimes = (ms: readonly number[]): Partial<ReportTimes> =>
    Object.fromEntries(moments.map((moment, i) => [TIME_NAMES[moment], ms[i]]));
  for (const { node, place, count, first, last } of pairs) {
    row.nodeId = node;
    const named = byNode ? { certname: row.certname } : {};
    row.body = reports[place]!({ ...named, ...withTimes(last) });
    tell(count);
    if (moments.length > 0) {
      row.body = reports[place]!({ ...named, ...withTimes(first) });
      tell(0);
    }
    if (ctx.tickRow()) yield;
  }
}
