// From a tree to rows: for each partition the plan is made, the nodes are determined, and the matching cursor is opened. What differs
// between shapes of rows is in item-source.ts and report-source.ts. `TreeRows` (rows.ts) strings the partitions together.

import type { NodeSet } from '../../../store/items/node-set.ts';
import type { Filter } from '../../tree.ts';
import { all } from '../filter/conditions.ts';
import type { Predicate } from '../filter/filter.ts';
import type { Behind } from '../order/behind.ts';
import { CompiledSelection } from '../plan/compiled-selection.ts';
import type { ExecContext } from '../plan/context.ts';
import type { PageOrder } from '../plan/report-plan.ts';
import type { Reach, Selection } from '../plan/selection.ts';
import type { SelectionTrace } from '../plan/trace.ts';
import { recordsOf } from '../row/global-records.ts';
import type { Locator, Row } from '../row/row.ts';
import { type Cursor, NodeCursor, RecordCursor } from './cursor.ts';
import { eitherOf } from './either.ts';
import type { Either } from './item-cursors.ts';
import { ItemSource } from './item-source.ts';
import { ReportSource } from './report-source.ts';

/** What is wanted of rows. */
export interface RowsWanted {
  /** Rows that it tells need not come. */
  readonly behind?: Behind | null;
  /** Of reports: no more is read of them than what a glance has (row/report-glance.ts), beside what the selection's conditions read. */
  readonly isGlance?: boolean;
}

/** The rows of a selection, and how they are found again. */
export class Source extends CompiledSelection {
  /** Where rows are pairs of a node and an item. */
  readonly items: ItemSource;
  /** Where rows are reports, or what these have several of. */
  readonly reports: ReportSource;
  readonly #eithers: (Either | null)[] = [];

  constructor(selection: Selection, ctx: ExecContext, trace: SelectionTrace, nodes: readonly NodeSet[] = []) {
    super(selection, ctx, trace, nodes);
    this.items = new ItemSource(this);
    this.reports = new ReportSource(this);
  }

  /**
   * Those of the rows that pass one more condition, which does not look at the node, and are within reach. null: no more than that.
   * `order`: what they should come in.
   */
  within(filter: Filter | null, reach: Reach | null, order: PageOrder | null = this.selection.order ?? null): Source {
    const { selection, ctx, trace } = this;
    const filters = [selection.filter, filter].filter((f) => f !== null);
    return new Source({ ...selection, filter: all(filters), reach, order }, ctx, trace, this.knownNodes);
  }

  /** Cursor over the rows of the row's partition. */
  *open(row: Row, { behind = null, isGlance = false }: RowsWanted = {}): Generator<undefined, Cursor> {
    switch (this.shape) {
      case 'node':
        return new NodeCursor(row, (yield* this.nodes(row)).toArray(), this.subs, this.residual);
      case 'item':
        return this.items.open(row, yield* this.nodes(row), yield* this.either(row));
      case 'report':
        return yield* this.reports.open(row, behind, isGlance);
      case 'global':
        return this.#openRecords(row);
    }
  }

  #whole(): Predicate | null {
    return this.compiled([...this.split.node, ...this.split.item, ...this.split.sub, ...this.split.mixed]);
  }

  /** Which rows the conditions on node and item together leave to be looked at: determined once a partition. null: all. */
  *either(row: Row): Generator<undefined, Either | null> {
    const { mixed } = this.split;
    if (mixed.length === 0) return null;
    const known = this.#eithers[row.part];
    if (known !== undefined) return known;
    const either = yield* eitherOf(mixed, yield* this.nodes(row), row, this.items);
    this.#eithers[row.part] = either;
    return either;
  }

  /** Over all partitions. */
  #openRecords(row: Row): Cursor {
    const { ctx } = this;
    // Those of which much is kept are only asked for in subqueries.
    const all = row.part === 0 ? recordsOf(this.entity, ctx.views, (bytes) => ctx.hold(bytes, 'subquery')) : [];
    return new RecordCursor(row, all, this.#whole());
  }

  /** Where the row is. */
  locator(row: Row): Locator {
    // A record is not found again by its number.
    const spot = this.shape === 'global' ? row.body : (this.subKind?.spots?.of(row) ?? null);
    return { part: row.part, node: row.nodeId, item: row.itemId, sub: row.subIndex, spot };
  }

  /** Puts a row that nothing else moves at a place that one was at before (same snapshot). */
  seek(row: Row, at: Locator): void {
    if (row.body === null || row.itemId !== at.item) this.#seekItem(row, at);
    row.nodeId = at.node;
    row.matched = null;
    row.subIndex = at.sub;
    row.sub = this.#subAt(row, at);
  }

  #seekItem(row: Row, { item, spot }: Locator): void {
    row.itemId = item;
    switch (this.shape) {
      case 'item':
        row.body = this.items.dictionary(row.view).record(item);
        break;
      case 'report':
        row.openReport(item);
        break;
      case 'global':
        row.body = spot;
        break;
      case 'node':
        break;
    }
  }

  #subAt(row: Row, { sub, spot }: Locator): unknown {
    const spots = this.subKind?.spots;
    if (spots !== undefined) return spots.at(row, spot);
    return this.subs === null ? null : this.subs(row).at(sub);
  }
}
