// Rows that are reports or what reports have several of: which reports are looked at in each partition, in what order, and the cursors over
// them. A part of `Source` (source.ts), for entities of the shape `report` only.

import type { NodeSet } from '../../../store/items/node-set.ts';
import type { NodeId, ReportId } from '../../../store/records/records.ts';
import { KIND_PLACES } from '../../../store/reports/report-kinds.ts';
import { BETWEEN, type Moment } from '../../../store/reports/report-moments.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';
import { isClassed } from '../filter/classed.ts';
import { accessFor, type Predicate } from '../filter/filter.ts';
import { fieldsReadByAll } from '../filter/reads.ts';
import { TRUE } from '../filter/truth.ts';
import type { Behind } from '../order/behind.ts';
import type { CompiledSelection } from '../plan/compiled-selection.ts';
import { asksForLatest, orderOfPath, type PageOrder, type ReportPath, reportPath } from '../plan/report-plan.ts';
import { isKept } from '../row/access.ts';
import { Row } from '../row/row.ts';
import type { Cursor } from './cursor.ts';
import { ReportCursor } from './report-cursor.ts';
import {
  areFew,
  areFewWithin,
  areMany,
  latestOf,
  notBehind,
  reportIds,
  skipByTime,
  usefulTimes,
  withEvents,
} from './report-ids.ts';
import { ReportSieve, type SieveTests, sieveTests, type TakeReport } from './report-sieve.ts';

/** What is known of the reports that a cursor looks at. */
interface Known {
  /** A glance at one has all that is read of it. */
  readonly isGlance: boolean;
  /** They are of kinds that pass the conditions that kinds decide. */
  readonly areOfKind: boolean;
}

/** The reports of so few nodes are read sooner than it is found out what their marks tell. */
const UNSIFTED_NODES = 8;

const isNarrow = (nodes: NodeSet | null, view: View): boolean => nodes !== null && areFew(nodes, view);

/** The reports of a selection's rows; the same for all partitions. */
export class ReportSource {
  readonly #selected: CompiledSelection;
  readonly #order: PageOrder | null;
  #sieveTests: SieveTests | null = null;
  /** By partition, as far as it was asked, whether all reports pass. */
  readonly #passing: boolean[] = [];

  constructor(selected: CompiledSelection) {
    this.#selected = selected;
    this.#order = selected.selection.order ?? null;
  }

  /** Whether a page of the rows is found by an index of reports, so that those behind it are not looked at. */
  get areFoundInOrder(): boolean {
    const clock = this.#order?.by === 'time' ? this.#order.clock : null;
    if (clock === null) return this.#order !== null;
    return this.#selected.parts.every((part) => usefulTimes(this.#selected.ctx.view(part), clock) !== null);
  }

  /** `behind`: rows that it tells need not come. `isGlance`: what reads the rows reads no more of reports than a glance has. */
  *open(row: Row, behind: Behind | null, isGlance: boolean): Generator<undefined, Cursor> {
    const { view } = row;
    const nodes = yield* this.#nodesOf(row);
    const order = behind === null ? null : this.#order;
    let path = this.#path(row, nodes, order);
    const isSifted = !isNarrow(nodes, view) && areMany(path);
    const sieve = isSifted ? ReportSieve.of(row, nodes, this.#tests) : null;
    const inOrder = orderOfPath(path);
    if (inOrder !== null && sieve?.leavesFew(inOrder.rows, view) === true) path = this.#path(row, nodes, null);
    this.#selected.plans[row.part] = { nodes: nodes?.count() ?? null, items: null, reports: path };
    const all = reportIds(path, nodes, row, behind);
    const having = this.#selected.isWithinReports ? withEvents(all, path, row) : all;
    const ids = behind?.isByPlace === true ? notBehind(having, path, row, behind) : having;
    const open = this.#reportCursors(row, path, {
      isGlance: isGlance && areMany(path) && this.#areTestsKept,
      // The sieve passes no other kinds.
      areOfKind: isSifted && view.reports.areToldApart,
    });
    return open(sieve === null ? ids : sieve.filter(ids), nodes, behind);
  }

  /** The nodes whose reports are wanted; null: all. */
  *#nodesOf(row: Row): Generator<undefined, NodeSet | null> {
    return this.#selected.split.node.length > 0 || this.#isByNode ? yield* this.#selected.nodes(row) : null;
  }

  get #isByNode(): boolean {
    return this.#selected.selection.byNode !== undefined;
  }

  #path({ view }: Row, nodes: NodeSet | null, order: PageOrder | null): ReportPath {
    return reportPath(this.#selected.entity, [...this.#selected.split.item, ...this.#selected.split.sub], {
      narrow: isNarrow(nodes, view),
      isByNode: this.#isByNode,
      order,
      times: (clock) => usefulTimes(view, clock),
      areFew: (times) => areFewWithin(times, this.#selected.entity, view),
    });
  }

  /** How many reports there are, whatever is asked of them. */
  get all(): number {
    const { ctx, parts } = this.#selected;
    return parts.reduce((sum, part) => sum + ctx.view(part).counts.reports, 0);
  }

  /**
   * Puts that time of all rows, which are reports, into `times`, in no order, where there is room for all reports: how many. null: not all of
   * them are told side by side, or few are looked at anyway.
   */
  *times(moment: Moment, times: Float64Array): Generator<undefined, number | null> {
    const { ctx, parts } = this.#selected;
    const { least: timeOf } = BETWEEN[moment];
    let length = 0;
    let areTold = true;
    for (const part of parts) {
      const row = new Row(ctx.view(part), part);
      const nodes = yield* this.#nodesOf(row);
      const { kind } = this.#path(row, nodes, null);
      const sieve = kind === 'all' || kind === 'time' ? this.exactSieve(row, nodes) : null;
      if (sieve === null) return null;
      const take: TakeReport = (_, moments, place) => {
        if (moments.has(place)) times[length++] = timeOf(moments, place);
        else areTold = false;
      };
      yield* sieve.each(row.view.reports.ids(), take, () => ctx.tick());
      if (!areTold) return null;
    }
    return length;
  }

  /** Whether so many reports are within the times that are asked for that all are looked at, whatever else is asked. */
  areManyWithin(row: Row, nodes: NodeSet | null): boolean {
    return this.#path(row, nodes, null).kind === 'all';
  }

  /** One that passes the rows, which are reports, and none but those beside them whose times are not told. null: there is none. `nodes`: null: any. */
  exactSieve(row: Row, nodes: NodeSet | null): ReportSieve | null {
    return this.#selected.mixed === null ? ReportSieve.exact(row, nodes, this.#tests) : null;
  }

  /** What is told side by side of the conditions on reports and on their events. */
  get #tests(): SieveTests {
    this.#sieveTests ??= sieveTests([...this.#selected.split.item, ...this.#selected.split.sub], this.#selected.scope);
    return this.#sieveTests;
  }

  /** Opens rows of such reports. What their conditions ask is made once for all cursors. */
  #reportCursors(
    row: Row,
    path: ReportPath,
    { isGlance, areOfKind }: Known,
  ): (ids: Iterable<ReportId>, nodes: NodeSet | null, behind: Behind | null) => ReportCursor {
    const report = this.#reportTest(path, areOfKind);
    const sub = this.#subTest();
    const skip = this.#selected.isWithinReports ? skipByTime(this.#selected.split.sub, path) : null;
    const { subs } = this.#selected;
    return (ids, nodes, behind) => new ReportCursor({ row, ids, nodes, isGlance, report, sub, subs, skip, behind });
  }

  /** Of reports and events: whether no condition leads to the reports sooner than their nodes do. */
  get areReadByNode(): boolean {
    const { kind } = this.#pathByNode;
    return kind === 'nodes' || kind === 'latest';
  }

  get #pathByNode(): ReportPath {
    return reportPath(this.#selected.entity, this.#selected.split.item, {
      narrow: true,
      isByNode: false,
      order: null,
      times: () => null,
      areFew: () => false,
    });
  }

  /** Whether so few reports are left by their marks that they are found sooner among all than, node by node, as many of them as that. */
  areFewerThan(rows: number): boolean {
    const { ctx, parts } = this.#selected;
    return parts.every((part) => {
      const view = ctx.view(part);
      return ReportSieve.of(new Row(view, part), null, this.#tests)?.leavesFew(rows, view) === true;
    });
  }

  /** Opens the rows of a node's reports, as they came. */
  ofNodes(row: Row): (node: NodeId) => ReportCursor {
    const path = this.#pathByNode;
    const open = this.#reportCursors(row, path, { isGlance: false, areOfKind: false });
    let sieve: ReportSieve | null = null;
    let opened = 0;
    const idsOf = (node: NodeId): Iterable<ReportId> => {
      if (path.kind === 'latest') return latestOf(node, row);
      const ids = row.view.reports.ofNode(node);
      if (++opened === UNSIFTED_NODES) sieve = ReportSieve.of(row, null, this.#tests);
      return sieve === null ? ids : sieve.filter(ids);
    };
    return (node) => open(idsOf(node), null, null);
  }

  /** How many rows the node's reports have; null where they have to be looked at. */
  countOfNode(row: Row, node: NodeId): number | null {
    if (this.#selected.split.sub.length + this.#selected.split.mixed.length > 0 || !this.#allPass(row)) return null;
    const ids = row.view.reports.ofNode(node);
    if (this.#selected.subs === null) return ids.length;
    let count = 0;
    for (const id of ids) if (row.openReport(id)) count += row.report.eventCount;
    return count;
  }

  /** Whether the rows are reports, and a glance at one tells whether it passes the conditions. */
  get #areTestsKept(): boolean {
    const { split, scope, isWithinReports } = this.#selected;
    const fields = isWithinReports ? null : fieldsReadByAll([...split.item, ...split.mixed]);
    return fields?.every((field) => isKept(accessFor(scope, field), false)) === true;
  }

  /** Whether all reports of the row's partition are of kinds that pass the conditions on them: decided once. */
  #allPass({ view, part }: Row): boolean {
    return (this.#passing[part] ??= this.#kindsPass(new Row(view, part)));
  }

  #kindsPass(row: Row): boolean {
    const { split, scope, item } = this.#selected;
    if (item === null) return true;
    if (!split.item.every((filter) => isClassed(filter, scope, KIND_PLACES))) return false;
    const kinds = row.view.reports.kinds();
    if (kinds === null) return false;
    return kinds.every(({ report }) => {
      row.body = report;
      return item.test(row) === TRUE;
    });
  }

  /** What the path, and the sieve, do not say of the reports. */
  #reportTest(path: ReportPath, areOfKind: boolean): Predicate | null {
    const { split, scope, item } = this.#selected;
    const isSaid = (filter: Filter): boolean =>
      (path.kind === 'latest' && asksForLatest(filter)) || (areOfKind && isClassed(filter, scope, KIND_PLACES));
    const rest = split.item.filter((filter) => !isSaid(filter));
    return rest.length === split.item.length ? item : this.#selected.compiled(rest);
  }

  #subTest(): Predicate | null {
    return this.#selected.compiled([...this.#selected.split.sub, ...this.#selected.split.mixed]);
  }
}
