// Which reports are looked at for rows of reports and of their events, and in what order, by the path that was planned to them.

import { placeAmong } from '../../store/ids.ts';
import { NODE_NUMBER } from '../../store/node-record.ts';
import type { NodeSet } from '../../store/node-set.ts';
import type { NodeId, ReportId } from '../../store/records.ts';
import { REPORT_NUMBER, type StoredReport } from '../../store/report-record.ts';
import { REPORTS_LATEST, REPORTS_WITH_EVENTS } from '../../store/tables.ts';
import type { View } from '../../store/view.ts';
import type { Filter } from '../tree.ts';
import type { ReportPath } from './plan.ts';
import type { Row } from './row.ts';

/** One node of so many is few. */
const FEW_NODES = 4;

export const areFew = (nodes: NodeSet, view: View): boolean => nodes.count() * FEW_NODES < view.counts.nodes;

/** Whether `withEvents` leaves only reports that have some. */
const hasEvents = (path: ReportPath): boolean =>
  path.kind === 'all' || path.kind === 'latest' || (path.kind === 'nodes' && path.isLastFirst === true);

/** Those of the reports that have events, where there are many to be spared. */
export function withEvents(ids: Iterable<ReportId>, path: ReportPath, { view }: Row): Iterable<ReportId> {
  if (!hasEvents(path)) return ids;
  const having = view.reportSet(REPORTS_WITH_EVENTS);
  return path.kind === 'all' ? having : common(ids, having);
}

function* common(ids: Iterable<ReportId>, sorted: Uint32Array): Generator<ReportId> {
  let last = 0;
  let at = 0;
  for (const id of ids) {
    at = placeAmong(sorted, id, id < last ? 0 : at);
    last = id;
    if (sorted[at] === id) yield id;
  }
}

export function latestOf(node: NodeId, row: Row): readonly ReportId[] {
  row.nodeId = node;
  const id = row.node.number(NODE_NUMBER.reportId);
  return id === null ? [] : [id];
}

function* idsOfHashes(hashes: readonly string[], view: View): Generator<ReportId> {
  for (const hash of new Set(hashes)) {
    const id = view.reportId(hash);
    if (id !== 0) yield id;
  }
}

function* eachOf(nodes: NodeSet, reportsOf: (node: NodeId) => Iterable<ReportId>): Generator<ReportId> {
  for (const id of nodes.toArray()) yield* reportsOf(id);
}

function* idsByTime({ from, to, order }: Extract<ReportPath, { kind: 'time' }>, view: View): Generator<ReportId> {
  const range: { from?: number; to?: number; reverse: boolean } = { reverse: order === 'descending' };
  if (from !== null) range.from = from;
  if (to !== null) range.to = to;
  for (const { id } of view.reportsByTime(range)) yield id;
}

/** The reports that the path leads to; numbers without a report may be among them. */
export function reportIds(path: ReportPath, nodes: NodeSet | null, row: Row): Iterable<ReportId> {
  const { view } = row;
  switch (path.kind) {
    case 'hash':
      return idsOfHashes(path.hashes, view);
    case 'latest':
      // Reports say whose they are: unless few nodes are wanted, those need not be looked at.
      if (nodes === null || !areFew(nodes, view)) return view.reportSet(REPORTS_LATEST);
      return eachOf(nodes, (id) => latestOf(id, row));
    case 'nodes':
      return eachOf(nodes!, (id) => {
        const reports = view.reportIdsOfNode(id);
        return path.isLastFirst === true ? reports.reverse() : reports;
      });
    case 'time':
      return idsByTime(path, view);
    case 'all':
      return view.reportIds();
  }
}

/** Reports whose events all lie outside the times asked for need not be opened; null: each report may have some within. */
export function skipByTime(filters: readonly Filter[], path: ReportPath): ((report: StoredReport) => boolean) | null {
  let from = Number.NEGATIVE_INFINITY;
  let to = Number.POSITIVE_INFINITY;
  for (const f of filters) {
    if (f.kind !== 'order' || f.field !== 'timestamp') continue;
    if (f.op === '>' || f.op === '>=') from = Math.max(from, f.value);
    else to = Math.min(to, f.value);
  }
  if (from === Number.NEGATIVE_INFINITY && to === Number.POSITIVE_INFINITY && hasEvents(path)) return null;
  return (report) =>
    report.eventCount === 0 ||
    report.number(REPORT_NUMBER.eventTimeMax)! < from ||
    report.number(REPORT_NUMBER.eventTimeMin)! > to;
}
