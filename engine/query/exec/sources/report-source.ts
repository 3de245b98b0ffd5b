// Rows that are reports or what reports have several of: which reports are looked at in each partition, in what order, and the cursors over
// them. A part of `Source` (source.ts), for entities of the shape `report` only.

import type { NodeSet } from '../../../store/items/node-set.ts';
import type { NodeId, ReportId } from '../../../store/records/records.ts';
import { REPORTS_WITH_EVENTS } from '../../../store/records/tables.ts';
import { BLOCK_REPORTS } from '../../../store/reports/report-blocks.ts';
import { KIND_PLACES } from '../../../store/reports/report-kinds.ts';
import { CLOCK_OF } from '../../../store/reports/report-times.ts';
import type { KnownZones } from '../../../store/reports/report-zones.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';
import { isClassed } from '../filter/classed.ts';
import { accessFor, type Predicate } from '../filter/filter.ts';
import { fieldsReadByAll } from '../filter/reads.ts';
import { TRUE } from '../filter/truth.ts';
import type { Behind } from '../order/behind.ts';
import type { CompiledSelection } from '../plan/compiled-selection.ts';
import {
  asksForLatest,
  orderOfPath,
  type PageOrder,
  type ReportPath,
  reportPath,
  type TimeOrder,
} from '../plan/report-plan.ts';
import { isKept } from '../row/access.ts';
import { Row } from '../row/row.ts';
import { BlocksInOrder, idsInOrder } from './blocks-in-order.ts';
import type { Cursor } from './cursor.ts';
import { type FirstTimes, firstTimes, type SiftedBlocks, type TimesWanted } from './first-times.ts';
import { ReportCursor } from './report-cursor.ts';
import {
  areFew,
  areFewWithin,
  areMany,
  COST_FOUND,
  COST_ORDERED,
  COST_SIFTED,
  latestOf,
  notBehind,
  reportIds,
  skipByTime,
  usefulTimes,
  withEvents,
} from './report-ids.ts';
import { ReportSieve, type SieveTests, sieveTests } from './report-sieve.ts';

/** What is known of the reports that a cursor looks at. */
interface Known {
  /** A glance at one has all that is read of it. */
  readonly isGlance: boolean;
  /** They are of kinds that pass the conditions that kinds decide. */
  readonly areOfKind: boolean;
}

/** Fewer blocks are not put in order. */
const BLOCKS_MIN = 8;
/** More of the reports, one in so many, are not walked in an order. */
const MOST_WALKED = 2;
/** Blocks that are read beside those that are full of reports in their order. */
const BLOCKS_BESIDE = 1.5;
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
    const clock = this.#order?.by === 'time' ? CLOCK_OF[this.#order.moment] : null;
    if (clock === null) return this.#order !== null;
    return this.#selected.parts.every((part) => usefulTimes(this.#selected.ctx.view(part), clock) !== null);
  }

  /** `behind`: rows that it tells need not come. `isGlance`: what reads the rows reads no more of reports than a glance has. */
  *open(row: Row, behind: Behind | null, isGlance: boolean): Generator<undefined, Cursor> {
    const { view } = row;
    const nodes = yield* this.#nodesOf(row);
    const order = behind === null ? null : this.#order;
    let path = this.#path(row, nodes, order, null);
    const isSifted = !isNarrow(nodes, view) && areMany(path);
    const sieve = isSifted ? ReportSieve.of(row, nodes, this.tests) : null;
    const inOrder = orderOfPath(path);
    const zones = isSifted && this.#areZonesOfUse(sieve, inOrder) ? yield* this.#zones(row) : null;
    if (zones !== null) sieve?.know(zones);
    // Blocks tell better than the span of all times how many reports are within those that are asked for.
    if (inOrder === null && zones !== null) path = this.#path(row, nodes, null, sieve);
    const byZones =
      zones !== null && inOrder?.by === 'time' && this.#areSoonerByBlocks(view, inOrder.rows, sieve) ? zones : null;
    if (byZones === null && inOrder !== null && sieve?.leavesFew(inOrder.rows, view) === true)
      path = this.#path(row, nodes, null, sieve);
    this.#selected.plans[row.part] = { nodes: nodes?.count() ?? null, items: null, reports: path };
    const all =
      byZones === null
        ? reportIds(path, nodes, row, behind)
        : idsInOrder(view.reports.idRange, byZones, inOrder as TimeOrder, sieve, behind!);
    const having = this.#selected.isWithinReports ? withEvents(all, path, row) : all;
    const ids = behind?.isByPlace === true ? notBehind(having, path, row, behind) : having;
    const open = this.#reportCursors(row, path, {
      isGlance: isGlance && areMany(path) && this.#areTestsKept,
      // The sieve passes no other kinds.
      areOfKind: isSifted && view.reports.areToldApart,
    });
    return open(sieve === null || byZones !== null ? ids : sieve.filter(ids), nodes, behind);
  }

  /**
   * Whether blocks in an order of times lead to as many rows as that sooner than the index of these times does: where few reports pass, most of a
   * block are not opened, where most do, all of it.
   */
  #areSoonerByBlocks({ reports }: View, rows: number, sieve: ReportSieve | null): boolean {
    const { idRange } = reports;
    const all = idRange.end - idRange.first;
    if (all < BLOCKS_MIN * BLOCK_REPORTS) return false;
    const most = this.#selected.isWithinReports ? reports.set(REPORTS_WITH_EVENTS).length : all;
    const share = Math.min(most, sieve?.among(idRange) ?? all) / all;
    const walked = rows / share;
    // Where most are walked, no order helps.
    if (walked * MOST_WALKED > all) return false;
    const costOfBlock = BLOCK_REPORTS * (COST_SIFTED + share * COST_ORDERED);
    return (BLOCKS_BESIDE + walked / BLOCK_REPORTS) * costOfBlock < walked * COST_FOUND;
  }

  /** The nodes whose reports are wanted; null: all. */
  *#nodesOf(row: Row): Generator<undefined, NodeSet | null> {
    return this.#selected.split.node.length > 0 || this.#isByNode ? yield* this.#selected.nodes(row) : null;
  }

  get #isByNode(): boolean {
    return this.#selected.selection.byNode !== undefined;
  }

  /** `sieve`: tells how many reports are in blocks of the times that are asked for; null: that is not known. */
  #path({ view }: Row, nodes: NodeSet | null, order: PageOrder | null, sieve: ReportSieve | null): ReportPath {
    return reportPath(this.#selected.entity, [...this.#selected.split.item, ...this.#selected.split.sub], {
      narrow: isNarrow(nodes, view),
      isByNode: this.#isByNode,
      order,
      times: (clock) => usefulTimes(view, clock),
      areFew: (times) =>
        areFewWithin(times, this.#selected.entity, view, sieve?.countWithin(view.reports.idRange) ?? null),
    });
  }

  /** How many reports there are, whatever is asked of them. */
  get all(): number {
    const { ctx, parts } = this.#selected;
    return parts.reduce((sum, part) => sum + ctx.view(part).counts.reports, 0);
  }

  /** Whether it tells something of the reports that are looked for between which times blocks of them are, and which statuses these have. */
  #areZonesOfUse(sieve: ReportSieve | null, order: PageOrder | null): boolean {
    if (this.tests.times.length > 0 || this.tests.status !== null) return true;
    // What nearly all reports are on comes from the index of times.
    return order?.by === 'time' && (sieve !== null || this.#selected.isWithinReports);
  }

  /** Between which times blocks of the row's partition are; null: that is not known. */
  #zones({ view }: Row): Generator<undefined, KnownZones | null> {
    return view.reports.zones(() => this.#selected.ctx.tick());
  }

  /**
   * That time of the rows, which are reports: of all of them, or of those that come first and some more. The memory is held until the caller gives
   * it back. null: times are not told side by side of all, or few are looked at anyway.
   */
  *times(order: TimesWanted): Generator<undefined, FirstTimes | null> {
    const { ctx, parts } = this.#selected;
    const turns = { tick: () => ctx.tick(), hold: (bytes: number) => ctx.hold(bytes, 'order') };
    const blocks: SiftedBlocks[] = [];
    for (const part of parts) {
      const row = new Row(ctx.view(part), part);
      const nodes = yield* this.#nodesOf(row);
      const { kind } = this.#path(row, nodes, null, null);
      if (kind !== 'all' && kind !== 'time') return null;
      const sieve = this.exactSieve(row, nodes);
      if (sieve === null || (order.areFew && sieve.passesMost(row.view))) return null;
      const zones = yield* this.#zones(row);
      if (zones === null) return null;
      sieve.know(zones);
      blocks.push({ blocks: new BlocksInOrder(row.view.reports.idRange, zones, order), sieve });
    }
    return yield* firstTimes(blocks, order, turns);
  }

  /** Whether so many reports are within the times that are asked for that all are looked at, whatever else is asked. */
  areManyWithin(row: Row, nodes: NodeSet | null): boolean {
    return this.#path(row, nodes, null, null).kind === 'all';
  }

  /** As `ReportSieve.exact`; null also where something is asked of node and report together. */
  exactSieve(row: Row, nodes: NodeSet | null): ReportSieve | null {
    return this.#selected.mixed === null ? ReportSieve.exact(row, nodes, this.tests) : null;
  }

  /** What is told side by side of the conditions on reports and on their events. */
  get tests(): SieveTests {
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
      return ReportSieve.of(new Row(view, part), null, this.tests)?.leavesFew(rows, view) === true;
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
      if (++opened === UNSIFTED_NODES) sieve = ReportSieve.of(row, null, this.tests);
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
