// Reports counted, and grouped, without a look at them. A partition knows how many it has of each kind (store/reports/report-kinds.ts); where nodes
// matter too, reports are counted by node and kind, both of which lie side by side (store/reports/report-marks.ts). Of reports within given times only
// those at the bounds are looked at: of the others it is known how many of each kind there are in each period (store/reports/report-periods.ts).
// So they are counted by the day or the hour of a time (report-hours.ts).

import { PairNumbers } from '../../../pair-numbers.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import type { NodeId, ReportId } from '../../../store/records/records.ts';
import { REPORT_NUMBER, REPORT_TEXT } from '../../../store/records/report-record.ts';
import { NODES_ALL } from '../../../store/records/tables.ts';
import { BLOCK_REPORTS, blockOf, placeIn } from '../../../store/reports/report-blocks.ts';
import {
  KIND_PLACES,
  KindMarks,
  type ReportKind,
  type ReportTimes,
  reportsOf,
} from '../../../store/reports/report-kinds.ts';
import type { MarkBlock } from '../../../store/reports/report-marks.ts';
import { PERIOD_MS, periodOf } from '../../../store/reports/report-periods.ts';
import { CLOCKS, type Clock, FAR_SETS, type TimeSpan } from '../../../store/reports/report-times.ts';
import type { View } from '../../../store/view.ts';
import { areShared, isClassed } from '../filter/classed.ts';
import { all } from '../filter/conditions.ts';
import { compileFilter } from '../filter/filter.ts';
import { TRUE } from '../filter/truth.ts';
import { type NearRange, nearRangeOf, producerTimes } from '../plan/report-plan.ts';
import type { Access, Hourly } from '../row/access.ts';
import { Row } from '../row/row.ts';
import { usefulTimes } from '../sources/report-ids.ts';
import type { Source } from '../sources/source.ts';
import { ReportHours, type SameHours } from './report-hours.ts';

/** What is counted in one partition. */
interface Part {
  readonly row: Row;
  /** Times that the reports have to be within, all of them. */
  readonly times: readonly NearRange[];
  /** The text of a time that they are told apart by; null: there is none. */
  readonly hours: ReportHours | null;
  /** Kinds that pass the selection's conditions. */
  readonly kinds: readonly ReportKind[];
  /** Nodes whose reports are counted, and the others. null: all are. */
  readonly nodes: { readonly wanted: NodeSet; readonly others: NodeSet } | null;
}

/** More nodes that are left out are not looked at by themselves: one in so many. */
const FEW_NODES = 8;
/** Reports of fewer nodes are looked at sooner than the marks of all: one in so many. */
const FEW_WANTED = 64;
/** Where periods tell the times of fewer, all are looked at: one in so many. */
const FEW_TOLD = 3;
/** Groups told between two looks at the time. */
const TICK_GROUPS = 1024;

/** How many rows the selection has; null: they have to be looked at. */
export function* countReports(source: Source): Generator<undefined, number | null> {
  let total = 0;
  const isCounted = yield* foldReports(source, [], (_, weight) => {
    total += weight;
  });
  return isCounted ? total : null;
}

/**
 * Gives rows with what `reads` read, and how many rows each of them stands for. false, and nothing: the rows have to be looked at.
 */
export function* foldReports(
  source: Source,
  reads: readonly Access[],
  visit: (row: Row, weight: number) => void,
): Generator<undefined, boolean> {
  const ofNode = reads.filter(isOfNode);
  // The column and the key of the one text of a time that rows can be grouped by.
  const [hourly = null, ...same] = reads.flatMap((read) => read.hourly ?? []);
  const ofKind = reads.filter((read) => !isOfNode(read) && read.hourly === undefined);
  if (source.shape !== 'report' || source.isWithinReports || !areShared(ofKind, KIND_PLACES)) return false;
  if (same.some(({ field, mask }) => field !== hourly?.field || mask !== hourly.mask)) return false;
  const parts = yield* partsOf(source, hourly);
  if (parts === null) return false;
  const ways = parts.map((part) => wayOf(part, ofNode.length > 0, reads.length > 0));
  if (ways.includes(null)) return false;
  for (const [i, part] of parts.entries()) {
    begin(source, part);
    const tell = (count: number): void => {
      source.trace.partition(part.row.part).scan.rows += count;
      visit(part.row, count);
    };
    if (ways[i] === 'kinds') byKinds(part, tell);
    else if (ways[i] === 'marks') yield* byMarks(source, part, ofNode.length > 0, tell);
    else if (ways[i] === 'periods') yield* byPeriods(source, part, tell);
    else tell(yield* countWithout(source, part));
  }
  return true;
}

/** Whether the reports of a node have it in common. */
const isOfNode = ({ level, stored }: Access): boolean => level === 'node' || stored?.place === REPORT_TEXT.certname;

type Way = 'kinds' | 'without' | 'marks' | 'periods';

/**
 * How a partition's reports are counted: by kind, all but those of the nodes that are left out, by their marks, or by periods. null: they have
 * to be looked at. `byNode`, `byKind`: what is to be told apart.
 */
function wayOf({ row, times, hours, nodes }: Part, byNode: boolean, byKind: boolean): Way | null {
  const { view } = row;
  const isNearlyAll = nodes === null || nodes.others.count() * FEW_NODES <= view.counts.nodes;
  if (times.length > 0 || hours !== null) return !byNode && isNearlyAll && view.reports.areToldApart ? 'periods' : null;
  if (!byNode && nodes === null) return 'kinds';
  if (!byNode && !byKind && isNearlyAll) return 'without';
  if (nodes !== null && nodes.wanted.count() * FEW_WANTED <= view.counts.nodes) return null;
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
  const asked = all(ofKind);
  const test = asked === null ? null : compileFilter(asked, scope);
  const parts: Part[] = [];
  for (const number of source.parts) {
    const view = ctx.view(number);
    const spanOf = (clock: Clock): TimeSpan | null => usefulTimes(view, clock);
    const times = others.map((filter) => nearRangeOf(entity, filter, spanOf));
    if (!times.every((range) => range !== null)) return null;
    const hours = hourly === null ? null : ReportHours.of(hourly, entity, spanOf);
    if (hourly !== null && hours === null) return null;
    const every = view.reports.kinds();
    if (every === null) return null;
    if (hours !== null && !(yield* periodsTell(source, view, times, hours))) return null;
    const row = new Row(view, number);
    const wanted = split.node.length === 0 ? null : yield* source.nodes(row);
    const rest = wanted === null ? null : view.set(NODES_ALL).copy().subtract(wanted);
    const nodes = wanted === null || rest!.count() === 0 ? null : { wanted, others: rest! };
    const kinds = every.filter(({ report }) => {
      row.body = report;
      return test === null || test.test(row) === TRUE;
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
      if (row.openReport(id) && passes(source, row)) take(id);
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
  const { row, times, hours, kinds } = part;
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
    if (row.openReport(id) && passes(source, row)) addKindOf(id, ofReport(), 1);
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

const passes = ({ item }: Source, row: Row): boolean => item === null || item.test(row) === TRUE;

/** Whether all reports of the period that are not far are within these times. */
const isWithin = (start: number, times: readonly NearRange[]): boolean =>
  times.every(
    ({ from, to, span }) =>
      (from === null || start + span.earliest >= from) && (to === null || start + PERIOD_MS - 1 + span.latest <= to),
  );

/** Tells counts when the row has the node and the kind that each is of; the node only where that is asked for. */
function* byMarks(
  { ctx }: Source,
  part: Part,
  byNode: boolean,
  tell: (count: number) => void,
): Generator<undefined, void> {
  const { row, kinds, nodes } = part;
  const marks = row.view.reports.marks;
  const places = new KindMarks(kinds.map(({ mark }) => mark));
  const pairs = new PairNumbers();
  /** By number of a pair: where it was met first, and how many there are. */
  const firsts: { readonly node: NodeId; readonly place: number }[] = [];
  const counts: number[] = [];
  const take = (block: MarkBlock, at: number): void => {
    const node = block.node(at);
    if (node === 0 || nodes?.wanted.has(node) === false) return;
    const place = places.indexOf(block.kind(at));
    if (place < 0) return;
    const number = pairs.of(byNode ? node : 0, place);
    if (number === counts.length) {
      firsts.push({ node, place });
      counts.push(0);
    }
    counts[number]!++;
  };
  for (const { first, end } of row.view.reports.ids().ranges()) {
    for (let id = first; id < end; ) {
      const block = marks.blocks.at(blockOf(id));
      const next = Math.min(end, (blockOf(id) + 1) * BLOCK_REPORTS);
      for (; id < next; id++) take(block, placeIn(id));
      if (ctx.tick()) yield;
    }
  }
  const named = byNode ? kinds.map(({ report }) => reportsOf(report)) : null;
  for (const [number, { node, place }] of firsts.entries()) {
    row.nodeId = node;
    row.body = named === null ? kinds[place]!.report : named[place]!({ certname: row.certname });
    tell(counts[number]!);
    if (number % TICK_GROUPS === 0 && ctx.tick()) yield;
  }
}
