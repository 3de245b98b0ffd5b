// What is selected, with its conditions compiled: what all partitions have in common, and the nodes of each. Rows are made of it by
// source.ts and its parts.

import type { EntityName } from '../../../../schemas/entities.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';
import { all, equalTo, type SplitFilter, splitFilter } from '../filter/conditions.ts';
import { type CompileScope, compileFilter, type Predicate, scopeOf } from '../filter/filter.ts';
import { evaluateNodes } from '../filter/node-filter.ts';
import type { Shape, Traits } from '../row/entities.ts';
import type { Row, SubRows } from '../row/row.ts';
import { SUB_KINDS, type SubKind } from '../row/sub-rows.ts';
import type { ExecContext } from './context.ts';
import { both, reachTest } from './reach.ts';
import type { PartitionPlan, Selection } from './selection.ts';
import type { SelectionTrace } from './trace.ts';

type Slots = Pick<ExecContext, 'parts' | 'partOf'>;

/** Partitions of the certnames that the conditions leave; all of them when they name none. */
export function partsOf(filters: readonly Filter[], ctx: Slots): readonly number[] {
  const all = Array.from({ length: ctx.parts }, (_, part) => part);
  return filters.reduce((parts, filter) => {
    const named = equalTo([filter], 'certname');
    if (named === null) return parts;
    const wanted = partsNamed(named, ctx);
    return parts.filter((part) => wanted.has(part));
  }, all);
}

/** Of very many certnames only the first ones are looked at: until they are in all partitions. */
function partsNamed(certnames: readonly string[], ctx: Slots): ReadonlySet<number> {
  const parts = new Set<number>();
  for (const certname of certnames) {
    parts.add(ctx.partOf(certname));
    if (parts.size === ctx.parts) break;
  }
  return parts;
}

/** A selection, ready to be looked for in each partition. */
export class CompiledSelection {
  readonly selection: Selection;
  readonly entity: EntityName;
  readonly ctx: ExecContext;
  readonly scope: CompileScope;
  readonly split: SplitFilter;
  /** Conditions on the item or report, and on its sub-rows, what the page reaches included. */
  readonly item: Predicate | null;
  readonly sub: Predicate | null;
  /** Conditions on node and item together. */
  readonly mixed: Predicate | null;
  /** All but those on the node alone. */
  readonly residual: Predicate | null;
  /** How rows are made that items, reports or nodes have several of; null: these are rows themselves. */
  readonly subKind: SubKind | null;
  readonly subs: SubRows;
  /** Partitions that can have rows, ascending. */
  readonly parts: readonly number[];
  /** By partition, as far as cursors were opened. */
  readonly plans: PartitionPlan[] = [];
  readonly trace: SelectionTrace;
  /** By partition, as far as they were determined. Not to be changed. */
  readonly #nodes: NodeSet[];

  /** `trace`: where the work on the selection is written down. `nodes`: by partition, those that are known already. */
  constructor(selection: Selection, ctx: ExecContext, trace: SelectionTrace, nodes: readonly NodeSet[]) {
    this.selection = selection;
    this.entity = selection.entity;
    this.ctx = ctx;
    this.trace = trace;
    trace.selected = this;
    this.#nodes = [...nodes];
    this.scope = scopeOf(ctx, selection.entity);
    const { implied, sub: kind } = this.scope.traits;
    this.subKind = kind === null ? null : SUB_KINDS[kind];
    const filters = [implied, selection.filter].filter((f) => f !== null);
    this.split = splitFilter(all(filters), this.scope);
    const item = this.compiled(this.split.item);
    const sub = this.compiled(this.split.sub);
    const reaches = reachTest(selection.reach ?? null);
    const hasSubs = kind !== null;
    this.item = hasSubs ? item : both(item, reaches);
    this.sub = hasSubs ? both(sub, reaches) : sub;
    this.mixed = this.compiled(this.split.mixed);
    this.residual = this.compiled([...this.split.item, ...this.split.sub, ...this.split.mixed]);
    this.subs = this.subKind?.make(this.split.sub, ctx.regex) ?? null;
    this.parts = partsOf(this.split.node, ctx);
    // Snapshots that are needed are taken together.
    for (const part of this.parts) ctx.view(part);
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

  /** The nodes that are known so far, by partition. */
  get knownNodes(): readonly NodeSet[] {
    return this.#nodes;
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

  /** The conditions as one; null: there is none. */
  compiled(parts: readonly Filter[]): Predicate | null {
    const filter = all(parts);
    return filter === null ? null : compileFilter(filter, this.scope);
  }
}
