// Events counted, and grouped, without a look at them, where no more of an event than its status is asked for: how many of each status a report has is
// kept side by side with its node, its kind and its times (store/reports/report-statuses.ts). Opened are reports of which that is not told, and those
// whose events are partly within the times that are asked for.

import { PairNumbers } from '../../../pair-numbers.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import { EVENT_CODE, type StoredEvents } from '../../../store/records/event-record.ts';
import type { NodeId, ReportId } from '../../../store/records/records.ts';
import { blockOf } from '../../../store/reports/report-blocks.ts';
import { KIND_PLACES, KindMarks, reportsOf } from '../../../store/reports/report-kinds.ts';
import { BETWEEN } from '../../../store/reports/report-moments.ts';
import { eventsOfStatus, STATUSES } from '../../../store/reports/report-statuses.ts';
import { areShared } from '../filter/classed.ts';
import { passes } from '../filter/filter.ts';
import type { Access } from '../row/access.ts';
import { Row } from '../row/row.ts';
import type { ReportSieve, TakeReport } from '../sources/report-sieve.ts';
import type { Source } from '../sources/source.ts';
import { areFewWanted, isOfNode } from './report-counts.ts';

interface Part {
  readonly row: Row;
  /** The nodes whose events are counted; null: all. */
  readonly nodes: NodeSet | null;
  readonly sieve: ReportSieve;
}

/** What events are to be told apart by, beside their status. */
interface Told {
  readonly byNode: boolean;
  readonly byKind: boolean;
}

/** Events of one node and kind, as far as these are told apart. */
interface Tally {
  readonly node: NodeId;
  /** Of the kind. */
  readonly place: number;
  /** By status. */
  readonly counts: number[];
}

/**
 * Gives rows that have what `reads` read, in no order, and how many events each of them stands for. false, and nothing: the events have to be looked
 * at.
 */
export function* foldEvents(
  source: Source,
  reads: readonly Access[],
  visit: (row: Row, weight: number) => void,
): Generator<undefined, boolean> {
  const ofNode = reads.filter(isOfNode);
  const ofKind = reads.filter((read) => !ofNode.includes(read) && read.column !== EVENT_CODE.status);
  if (source.traits.sub !== 'event' || !areShared(ofKind, KIND_PLACES)) return false;
  const parts = yield* partsOf(source);
  if (parts === null) return false;
  const told = { byNode: ofNode.length > 0, byKind: ofKind.length > 0 };
  for (const part of parts) yield* foldPart(source, part, told, visit);
  return true;
}

/** By partition; null: something is asked for that is not told side by side, or of few nodes. */
function* partsOf(source: Source): Generator<undefined, readonly Part[] | null> {
  const { ctx, split } = source;
  const parts: Part[] = [];
  for (const number of source.parts) {
    const view = ctx.view(number);
    const row = new Row(view, number);
    const wanted = split.node.length === 0 ? null : yield* source.nodes(row);
    const nodes = wanted === null || wanted.count() === view.counts.nodes ? null : wanted;
    if (nodes !== null && areFewWanted(nodes, view)) return null;
    const sieve = view.reports.areCounted ? source.reports.exactSieve(row, nodes) : null;
    if (sieve === null) return null;
    const zones = yield* view.reports.zones(() => ctx.tick());
    if (zones !== null) sieve.know(zones);
    parts.push({ row, nodes, sieve });
    if (ctx.tick()) yield;
  }
  return parts;
}

function* foldPart(
  source: Source,
  { row, nodes, sieve }: Part,
  { byNode, byKind }: Told,
  visit: (row: Row, weight: number) => void,
): Generator<undefined, void> {
  const { ctx, trace, plans } = source;
  const { reports } = row.view;
  const { scan } = trace.partition(row.part);
  ctx.trace.enter(scan);
  plans[row.part] = { nodes: nodes?.count() ?? null, items: null, reports: { kind: 'counted' } };
  const { times } = source.reports.tests;
  const isTimed = times.length > 0;
  const ofEvents = times.filter(({ moment }) => moment === 'event');
  const statuses = sieve.statuses ?? STATUSES.map((_, number) => number);
  const kinds = reports.kindsOfMarked();
  const places = new KindMarks(kinds.map(({ mark }) => mark));
  const numbers = new PairNumbers();
  const tallies: Tally[] = [];
  const { least, greatest } = BETWEEN.event;
  const tell = (weight: number): void => {
    scan.rows += weight;
    visit(row, weight);
  };
  /** Those of the block that are looked at. */
  const untold: ReportId[] = [];
  const take: TakeReport = (marks, moments, at, id) => {
    const counted = reports.statuses.at(blockOf(id));
    let isTold = counted.has(at) && (!isTimed || moments.has(at));
    for (let i = 0; isTold && i < ofEvents.length; i++) {
      const { from, to } = ofEvents[i]!;
      isTold = least(moments, at) >= from && greatest(moments, at) <= to;
    }
    if (!isTold) {
      untold.push(id);
      return;
    }
    const node = byNode ? marks.node(at) : 0;
    const place = byKind ? places.indexOf(marks.kind(at)) : 0;
    const number = numbers.of(node, place);
    if (number === tallies.length) tallies.push({ node, place, counts: STATUSES.map(() => 0) });
    const { counts } = tallies[number]!;
    for (let i = 0; i < statuses.length; i++) {
      const of = statuses[i]!;
      counts[of]! += counted.count(of, at);
    }
  };
  for (const _ of sieve.each(reports.ids(), take)) {
    for (const id of untold) yield* eachEvent(source, row, id, () => tell(1));
    untold.length = 0;
    if (ctx.tick()) yield;
  }
  const reportOf = kinds.map(({ report }) => reportsOf(report));
  const eventsOf = eventsOfStatus();
  for (const { node, place, counts } of tallies) {
    row.nodeId = node;
    row.body = reportOf[place]!(byNode ? { certname: row.certname } : {});
    for (const [of, count] of counts.entries()) {
      if (count === 0) continue;
      standAt(row, eventsOf(of));
      tell(count);
    }
    if (ctx.tickRow()) yield;
  }
}

/** Makes the row one of the events, of a report that there is not. */
function standAt(row: Row, events: StoredEvents): void {
  row.itemId = events.report;
  row.sub = events;
  row.subIndex = 0;
}

/** Calls at each of the report's events that is a row. */
function* eachEvent(source: Source, row: Row, id: ReportId, take: () => void): Generator<undefined, void> {
  if (!row.openReport(id) || !passes(source.item, row)) return;
  const events = source.subs!(row);
  for (let index = 0; index < events.length; index++) {
    row.subIndex = index;
    row.sub = events.at(index);
    if (passes(source.sub, row)) take();
    if (source.ctx.tickRow()) yield;
  }
}
