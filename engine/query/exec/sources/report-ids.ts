// Which reports are looked at for rows of reports and of their events, and in what order, by the path that was planned to them.

import type { EntityName } from '../../../../schemas/entities.ts';
import { placeAmong } from '../../../store/items/ids.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import { NODE_NUMBER } from '../../../store/records/node-record.ts';
import type { NodeId, ReportId } from '../../../store/records/records.ts';
import { REPORT_NUMBER, type StoredReport } from '../../../store/records/report-record.ts';
import { REPORTS_LATEST, REPORTS_WITH_EVENTS } from '../../../store/records/tables.ts';
import { CLOCK_OF, CLOCKS, type Clock, FAR_SETS, type TimeSpan } from '../../../store/reports/report-times.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';
import type { Behind } from '../order/behind.ts';
import { type HashOrder, type ReportPath, rangeOf, type TimePath } from '../plan/report-plan.ts';
import { traitsOf } from '../row/entities.ts';
import type { Row } from '../row/row.ts';

/** One node of so many is few. */
const FEW_NODES = 4;

export const areFew = (nodes: NodeSet, view: View): boolean => nodes.count() * FEW_NODES < view.counts.nodes;

/** Whether `withEvents` leaves only reports that have some. */
const hasEvents = (path: ReportPath): boolean =>
  path.kind === 'all' ||
  path.kind === 'latest' ||
  path.kind === 'time' ||
  (path.kind === 'nodes' && path.isLastFirst === true);

/** Whether the path may lead to many reports. */
export const areMany = ({ kind }: ReportPath): boolean =>
  kind === 'all' || kind === 'latest' || kind === 'time' || kind === 'hashes';

/** What reports come as where none was found yet. */
export const NO_REPORT: ReportId = 0;
/** So many that are passed over take as long as some that are looked at. */
const PASSED_PER_STEP = 1024;

/** Those of the reports that pass. Between them NO_REPORT now and then. */
export function* passing(
  ids: Iterable<ReportId>,
  passes: (id: ReportId) => boolean,
): Generator<ReportId, void, undefined> {
  let passed = 0;
  for (const id of ids) {
    if (id === NO_REPORT || passes(id)) yield id;
    else if (++passed % PASSED_PER_STEP === 0) yield NO_REPORT;
  }
}

/** Those of the reports that have events, where there are many to be spared. */
export function withEvents(ids: Iterable<ReportId>, path: ReportPath, { view }: Row): Iterable<ReportId> {
  if (!hasEvents(path)) return ids;
  const having = view.reports.set(REPORTS_WITH_EVENTS);
  return path.kind === 'all' ? having : passing(ids, amongSorted(having));
}

/** Tells which ids are among these. Mostly they are asked for in order, too. */
function amongSorted(sorted: Uint32Array): (id: ReportId) => boolean {
  let last = 0;
  let at = 0;
  return (id) => {
    at = placeAmong(sorted, id, id < last ? 0 : at);
    last = id;
    return sorted[at] === id;
  };
}

export function latestOf(node: NodeId, row: Row): readonly ReportId[] {
  row.nodeId = node;
  const id = row.node.number(NODE_NUMBER.reportId);
  return id === null ? [] : [id];
}

/** Of a hash that no report has it is 0, which is NO_REPORT. */
function* idsOfHashes(hashes: readonly string[], view: View): Generator<ReportId> {
  for (const hash of new Set(hashes)) yield view.reports.idOf(hash);
}

/** So many nodes without reports take as long as some reports that are looked at. */
const NODES_PER_STEP = 64;

/** The reports of the nodes; NO_REPORT now and then where nodes have none. */
function* eachOf(
  nodes: NodeSet,
  reportsOf: (node: NodeId) => ArrayLike<ReportId> & Iterable<ReportId>,
): Generator<ReportId> {
  let passed = 0;
  for (const id of nodes.toArray()) {
    const reports = reportsOf(id);
    if (reports.length > 0) yield* reports;
    else if (++passed % NODES_PER_STEP === 0) yield NO_REPORT;
  }
}

/** More of the reports that are far are looked at one after the other with all others. */
const FAR_SHARE = 1 / 4;

/** How far the clock's times of the partition's reports lie from their producers', where that tells enough of them. */
export function usefulTimes(view: View, clock: Clock): TimeSpan | null {
  const times = view.reports.times;
  if (times === null || view.reports.set(FAR_SETS[clock]).length > view.counts.reports * FAR_SHARE) return null;
  return times[clock];
}

/** Microseconds a report, measured: found in the index of times. */
export const COST_FOUND = 1;
/** Opened, and put in order. */
export const COST_ORDERED = 3;
/** Told to be outside of given times by what is kept side by side, by its record, and by the times of its events. */
export const COST_SIFTED = 0.015;
const COST_OPENED = 1;
const COST_SKIPPED = 0.4;

/**
 * Whether so few reports are within those times that they are better found by the index than by looking at all, or at those with events.
 * `sifted`: how many are in blocks of such times; null: that is not known.
 */
export function areFewWithin({ from, to }: TimePath, entity: EntityName, view: View, sifted: number | null): boolean {
  const { reports } = view.counts;
  const span = view.reports.timeSpan();
  if (span === null) return true;
  const { first, last } = span;
  const within = Math.min(to ?? last, last) - Math.max(from ?? first, first);
  const share = Math.min(1, Math.max(0, within) / Math.max(1, last - first));
  const blocked = sifted === null ? 1 : Math.min(1, sifted / Math.max(1, reports));
  const costAll =
    traitsOf(entity).sub === 'event'
      ? blocked * view.reports.set(REPORTS_WITH_EVENTS).length * COST_SKIPPED
      : blocked * reports * (view.reports.areMarked ? COST_SIFTED : COST_OPENED);
  return share * (reports * COST_FOUND + costAll) < costAll;
}

/** Those that are far come first: whether what follows is behind the page depends on the page only then. */
function* idsByTime(path: TimePath, view: View, behind: Behind | null): Generator<ReportId> {
  const { from, to, order, near = {} } = path;
  const range: { from?: number; to?: number; reverse: boolean } = { reverse: order?.descending === true };
  if (from !== null) range.from = from;
  if (to !== null) range.to = to;
  const far = new Set<ReportId>();
  for (const clock of CLOCKS)
    if (near[clock] !== undefined) for (const id of view.reports.set(FAR_SETS[clock])) far.add(id);
  yield* far;
  const isBehind = behind === null ? null : endOf(path, behind);
  for (const { time, id } of view.reports.byTime(range)) {
    if (isBehind?.(time)) return;
    if (!far.has(id)) yield id;
  }
}

/** Whether what comes from that producer's time on, in the order, is behind the page; null: that is not known. */
function endOf({ order, near = {} }: TimePath, behind: Behind): ((time: number) => boolean) | null {
  if (order === undefined) return null;
  const clock = CLOCK_OF[order.moment];
  const span = clock === null ? null : near[clock];
  const reached = span == null ? 0 : order.descending ? span.latest : span.earliest;
  return (time) => behind.hasValue(time + reached);
}

function* idsByHash({ descending }: HashOrder, view: View, behind: Behind | null): Generator<ReportId> {
  for (const { hash, id } of view.reports.byHash(descending)) {
    if (behind?.hasValue(hash) === true) return;
    yield id;
  }
}

/** The reports that the path leads to; numbers without a report may be among them. `behind`: what it tells need not be among them. */
export function reportIds(
  path: ReportPath,
  nodes: NodeSet | null,
  row: Row,
  behind: Behind | null,
): Iterable<ReportId> {
  const { view } = row;
  switch (path.kind) {
    case 'hash':
      return idsOfHashes(path.hashes, view);
    case 'latest':
      // Reports say whose they are: unless few nodes are wanted, those need not be looked at.
      if (nodes === null || !areFew(nodes, view)) return view.reports.set(REPORTS_LATEST);
      return eachOf(nodes, (id) => latestOf(id, row));
    case 'nodes':
      return eachOf(nodes!, (id) => {
        const reports = view.reports.ofNode(id);
        return path.isLastFirst === true ? reports.reverse() : reports;
      });
    case 'time':
      return idsByTime(path, view, behind);
    case 'hashes':
      return idsByHash(path.order, view, behind);
    case 'counted':
    case 'all':
      return view.reports.ids();
  }
}

/** Those of the reports that are not behind the page by their places alone. Between them NO_REPORT now and then. */
export function notBehind(
  ids: Iterable<ReportId>,
  { kind }: ReportPath,
  { part }: Row,
  behind: Behind,
): Iterable<ReportId> {
  const isBefore = (id: ReportId): boolean => !behind.hasPlace(part, id);
  // These come in the order of their places.
  return kind === 'all' ? asLongAs(ids, isBefore) : passing(ids, isBefore);
}

/** Those of the reports before the first that does not pass. */
function* asLongAs(ids: Iterable<ReportId>, passes: (id: ReportId) => boolean): Generator<ReportId, void, undefined> {
  for (const id of ids) {
    if (!passes(id)) return;
    yield id;
  }
}

/** Reports whose events all lie outside the times asked for need not be opened; null: each report may have some within. */
export function skipByTime(filters: readonly Filter[], path: ReportPath): ((report: StoredReport) => boolean) | null {
  let from = Number.NEGATIVE_INFINITY;
  let to = Number.POSITIVE_INFINITY;
  for (const f of filters) {
    const range = rangeOf(f);
    if (range?.field !== 'timestamp') continue;
    from = Math.max(from, range.from ?? from);
    to = Math.min(to, range.to ?? to);
  }
  if (from === Number.NEGATIVE_INFINITY && to === Number.POSITIVE_INFINITY && hasEvents(path)) return null;
  return (report) =>
    report.eventCount === 0 ||
    report.number(REPORT_NUMBER.eventTimeMax)! < from ||
    report.number(REPORT_NUMBER.eventTimeMin)! > to;
}
