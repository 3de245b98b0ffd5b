// From a tree to rows: for each partition the plan is made, the nodes are determined, and the matching cursor is opened. What differs
// between shapes of rows is in item-source.ts and report-source.ts. `TreeRows` (rows.ts) strings the partitions together.

import type { EntityName } from '../../../schemas/entities.ts';
import type { NodeSet } from '../../store/node-set.ts';
import type { View } from '../../store/view.ts';
import type { Filter } from '../tree.ts';
import type { GlobalRecord } from './access.ts';
import type { Behind } from './behind.ts';
import { all, type SplitFilter, splitFilter } from './conditions.ts';
import type { ExecContext } from './context.ts';
import { type Cursor, type Either, NodeCursor, RecordCursor, type SubRows } from './cursor.ts';
import { eitherOf } from './either.ts';
import type { Shape, Traits } from './entities.ts';
import { type CompileScope, compileFilter, type Predicate, scopeOf } from './filter.ts';
import { recordsOf } from './global-records.ts';
import { ItemSource } from './item-source.ts';
import { evaluateNodes } from './node-filter.ts';
import { both, reachTest } from './reach.ts';
import { ReportSource } from './report-source.ts';
import type { Locator, Row } from './row.ts';
import type { PartitionPlan, Reach, Selection } from './selection.ts';
import { SUB_KINDS, type SubKind } from './sub-rows.ts';
import { SelectionTrace } from './trace.ts';

/** Partitions of the certnames that the conditions leave; all of them when they name none. */
function partsOf(filters: readonly Filter[], ctx: ExecContext): readonly number[] {
  const all = Array.from({ length: ctx.parts }, (_, part) => part);
  return filters.reduce((parts, filter) => {
    const named = certnamesOf(filter);
    if (named === null) return parts;
    const wanted = new Set(named.map((certname) => ctx.partOf(certname)));
    return parts.filter((part) => wanted.has(part));
  }, all);
}

function certnamesOf(filter: Filter): readonly string[] | null {
  if (filter.kind === 'eq' && filter.field === 'certname') return [String(filter.value)];
  if (filter.kind === 'in' && filter.field === 'certname') return filter.values.map(String);
  return null;
}

/** Everything needed to open cursors for a selection; the same for all partitions. */
export class Source {
  readonly selection: Selection;
  readonly entity: EntityName;
  readonly scope: CompileScope;
  readonly split: SplitFilter;
  /** Conditions on the item or report, and on its sub-rows, what the page reaches included. */
  readonly item: Predicate | null;
  readonly sub: Predicate | null;
  /** Conditions on node and item together. */
  readonly mixed: Predicate | null;
  /** All but those on the node alone. */
  readonly residual: Predicate | null;
  readonly subs: SubRows;
  /** Partitions that can have rows, ascending. */
  readonly parts: readonly number[];
  /** By partition, as far as cursors were opened. */
  readonly plans: PartitionPlan[] = [];
  readonly trace: SelectionTrace;
  /** Where rows are pairs of a node and an item. */
  readonly items: ItemSource;
  /** Where rows are reports, or what these have several of. */
  readonly reports: ReportSource;
  readonly #subKind: SubKind | null;
  /** Of a global entity: those that were rows since the last cursor was opened. */
  #records: GlobalRecord[] = [];
  readonly #nodes: NodeSet[] = [];
  readonly #eithers: (Either | null)[] = [];

  /** `trace`: where the work on the selection is written down. */
  constructor(selection: Selection, ctx: ExecContext, trace = new SelectionTrace(null, null, null)) {
    this.selection = selection;
    this.entity = selection.entity;
    const { order = null, reach = null } = selection;
    this.items = new ItemSource(this, reach);
    this.reports = new ReportSource(this, order);
    this.trace = trace;
    trace.source = this;
    this.scope = scopeOf(ctx, selection.entity);
    const { implied, sub: kind } = this.scope.traits;
    this.#subKind = kind === null ? null : SUB_KINDS[kind];
    const filters = [implied, selection.filter].filter((f) => f !== null);
    this.split = splitFilter(all(filters), this.scope);
    const item = this.compiled(this.split.item);
    const sub = this.compiled(this.split.sub);
    const reaches = reachTest(reach);
    const hasSubs = kind !== null;
    this.item = hasSubs ? item : both(item, reaches);
    this.sub = hasSubs ? both(sub, reaches) : sub;
    this.mixed = this.compiled(this.split.mixed);
    this.residual = this.compiled([...this.split.item, ...this.split.sub, ...this.split.mixed]);
    this.subs = this.#subKind?.make(this.split.sub, ctx.regex) ?? null;
    this.parts = partsOf(this.split.node, ctx);
    // Snapshots that are needed are taken together.
    if (this.parts.length === ctx.parts) void ctx.views;
  }

  /** Those of the rows that pass one more condition, which does not look at the node, and are within reach. null: no more than that. */
  within(filter: Filter | null, reach: Reach | null): Source {
    const { selection, ctx, trace } = this;
    const filters = [selection.filter, filter].filter((f) => f !== null);
    const source = new Source({ ...selection, filter: all(filters), reach }, ctx, trace);
    this.#nodes.forEach((nodes, part) => {
      source.#nodes[part] = nodes;
    });
    return source;
  }

  get ctx(): ExecContext {
    return this.scope.ctx;
  }

  get shape(): Shape {
    return this.traits.shape;
  }

  get traits(): Traits {
    return this.scope.traits;
  }

  /** true when rows are decided by the item alone, so that they can be counted item by item. */
  get countable(): boolean {
    return this.shape === 'item' && this.mixed === null;
  }

  /** Whether rows are what reports have several of. */
  get isWithinReports(): boolean {
    return this.shape === 'report' && this.subs !== null;
  }

  /** true when each node of the set is a row, and there are no others. */
  get isPlainNodes(): boolean {
    return this.shape === 'node' && this.residual === null && this.subs === null;
  }

  /** Nodes the selection can have rows of: determined once a partition, not to be changed. */
  *nodes(row: Row): Generator<undefined, NodeSet> {
    const known = this.#nodes[row.part] ?? this.selection.byNode?.among?.[row.part];
    if (known !== undefined) return known;
    const step = this.trace.nodes(row.part);
    const before = this.ctx.trace.enter(step);
    const base = this.base(row.view);
    const filter = all(this.split.node);
    const nodes = filter === null ? base : (yield* evaluateNodes(filter, base, row, this.scope)).yes;
    step.rows = nodes.count();
    this.ctx.trace.enter(before);
    this.#nodes[row.part] = nodes;
    return nodes;
  }

  /** Nodes that have rows of the entity when nothing is asked of them. */
  base(view: View): NodeSet {
    return view.set(this.traits.base);
  }

  /** `behind`: rows that it tells need not come. */
  *open(row: Row, behind: Behind | null = null): Generator<undefined, Cursor> {
    switch (this.shape) {
      case 'node':
        return new NodeCursor(row, (yield* this.nodes(row)).toArray(), this.subs, this.residual);
      case 'item':
        return this.items.open(row, yield* this.nodes(row), yield* this.either(row));
      case 'report':
        return yield* this.reports.open(row, behind);
      case 'global':
        return this.#openRecords(row);
    }
  }

  #whole(): Predicate | null {
    return this.compiled([...this.split.node, ...this.split.item, ...this.split.sub, ...this.split.mixed]);
  }

  /** The conditions as one; null: there is none. */
  compiled(parts: readonly Filter[]): Predicate | null {
    const filter = all(parts);
    return filter === null ? null : compileFilter(filter, this.scope);
  }

  /** Which rows the conditions on node and item together leave to be looked at: determined once a partition. null: all. */
  *either(row: Row): Generator<undefined, Either | null> {
    const { mixed } = this.split;
    if (mixed.length === 0) return null;
    const known = this.#eithers[row.part];
    if (known !== undefined) return known;
    const either = yield* eitherOf(mixed, yield* this.nodes(row), row, this);
    this.#eithers[row.part] = either;
    return either;
  }

  /** Over all partitions. */
  #openRecords(row: Row): Cursor {
    this.#records = [];
    const all = row.part === 0 ? recordsOf(this.entity, this.ctx.views) : [];
    return new RecordCursor(row, all, this.#whole(), this.#records);
  }

  /** Where the row is. */
  locator(row: Row): Locator {
    const spot = this.#subKind?.spots?.of(row) ?? null;
    return { part: row.part, node: row.nodeId, item: row.itemId, sub: row.subIndex, spot };
  }

  /** Puts a row that nothing else moves at a place that one was at before (same snapshot). */
  seek(row: Row, at: Locator): void {
    if (row.body === null || row.itemId !== at.item) this.#seekItem(row, at.item);
    row.nodeId = at.node;
    row.matched = null;
    row.subIndex = at.sub;
    row.sub = this.#subAt(row, at);
  }

  #seekItem(row: Row, item: number): void {
    row.itemId = item;
    switch (this.shape) {
      case 'item':
        row.body = this.items.dictionary(row.view).record(item);
        break;
      case 'report':
        row.openReport(item);
        break;
      case 'global':
        row.body = this.#records[item];
        break;
      case 'node':
        break;
    }
  }

  #subAt(row: Row, { sub, spot }: Locator): unknown {
    const spots = this.#subKind?.spots;
    if (spots !== undefined) return spots.at(row, spot);
    return this.subs === null ? null : this.subs(row).at(sub);
  }
}
