// Answers made of groups: the rows of a selection are added to a grouping (aggregate.ts) in the way that costs least, and the groups go out,
// in order and cut to a page. Where groups are of one node each, and lists are read node by node, those of a node go out before the next
// node's are made.

import type { ExecuteOptions, RowSink } from '../sink.ts';
import { pageEnd, type QueryTree } from '../tree.ts';
import { Grouping } from './count/aggregate.ts';
import { crossRows, isCrossable } from './count/crossing.ts';
import { foldRows } from './count/fold.ts';
import { foldTogether } from './count/told-together.ts';
import { typeOf } from './filter/filter.ts';
import { type CompareValues, compareIn, inOrder, ORDER_BYTES, orderOf, TopEntries } from './order/order.ts';
import type { Step } from './plan/trace.ts';
import { END, ROW } from './sources/cursor.ts';
import { TreeRows } from './sources/rows.ts';
import type { Source } from './sources/source.ts';
import { groupedByName, walksNames } from './walk.ts';

/** Gives the groups of the tree's rows to the sink. */
export function* grouped(
  tree: QueryTree,
  source: Source,
  sink: RowSink,
  options: ExecuteOptions,
): Generator<undefined, void> {
  const { ctx } = source;
  const grouping = new Grouping(tree, source.scope, (bytes) => ctx.hold(bytes, 'groups'));
  const out = new GroupsOut(tree, grouping, source, sink);
  const isInOrder = tree.orderBy.length > 0;
  const goEarly = !isInOrder && !options.onTotal && areOfOneNode(tree);
  if (grouping.itemOnly && source.countable) yield* foldItems(grouping, source);
  else if (tree.limit !== null && !options.onTotal && walksNames(tree.orderBy, source))
    yield* groupedByName(tree, grouping, source);
  else if (isCrossable(grouping, source)) yield* crossRows(grouping, source, goEarly ? () => out.letGo() : null);
  else if (!(yield* groupReports(grouping, source))) yield* groupRows(grouping, source);
  options.onTotal?.(grouping.size);
  if (isInOrder) yield* out.emitInOrder();
  else yield* out.emit();
}

/** Whether the rows of a group are all of one node. */
const areOfOneNode = ({ groupBy, columns }: QueryTree): boolean =>
  groupBy?.some((key) => {
    const shown = key.kind === 'ref' ? key : columns[key.column]!;
    const isRef = shown.kind === 'ref' || shown.kind === 'field';
    return isRef && shown.ref.kind === 'field' && shown.ref.field === 'certname';
  }) === true;

/** By what is known of many reports together, where that is all that is asked for. */
const groupReports = (grouping: Grouping, source: Source): Generator<undefined, boolean> =>
  foldTogether(source, grouping.others, (row, weight) => grouping.add(row, weight), grouping.moments);

/** Row by row. */
function* groupRows(grouping: Grouping, source: Source): Generator<undefined, void> {
  const { ctx } = source;
  const group = source.trace.step('group');
  const rows = new TreeRows(source, { isGlance: grouping.isKept });
  for (let step = rows.next(); step !== END; step = rows.next()) {
    if (step === ROW) {
      ctx.trace.turn(group);
      grouping.add(rows.row, 1);
      ctx.trace.turn(rows.scan);
    }
    if (ctx.tickStep(step === ROW)) yield;
  }
}

/** Folds each shared item once, weighted with the nodes that have it. */
function* foldItems(grouping: Grouping, source: Source): Generator<undefined, void> {
  const { trace } = source.ctx;
  const group = source.trace.step('group');
  yield* foldRows(source, grouping.reads, (row, weight) => {
    const { scan } = source.trace.partition(row.part);
    scan.rows += weight;
    trace.turn(group);
    grouping.add(row, weight);
    trace.turn(scan);
  });
}

/** Groups on their way to the sink. */
class GroupsOut {
  readonly #tree: QueryTree;
  readonly #grouping: Grouping;
  readonly #source: Source;
  readonly #sink: RowSink;
  /** Group: how many there were. */
  readonly #group: Step;
  readonly #output: Step;
  /** The first group of the page, and the one behind its last, counted from the present groups' first one. */
  #from: number;
  #end: number;

  constructor(tree: QueryTree, grouping: Grouping, source: Source, sink: RowSink) {
    this.#tree = tree;
    this.#grouping = grouping;
    this.#source = source;
    this.#sink = sink;
    this.#group = source.trace.step('group');
    this.#output = source.trace.step('output');
    this.#from = tree.offset;
    this.#end = pageEnd(tree);
  }

  /** The groups that there are, as they came. */
  *emit(): Generator<undefined, void> {
    const { size } = this.#grouping;
    this.#group.rows += size;
    yield* this.#write(range(this.#from, Math.min(size, this.#end)));
    this.#from = Math.max(0, this.#from - size);
    this.#end = Math.max(0, this.#end - size);
  }

  /** The same before others come: they are forgotten. Returns whether more are wanted. */
  *letGo(): Generator<undefined, boolean> {
    const before = this.#source.ctx.trace.enter(this.#output);
    yield* this.emit();
    this.#grouping.forget();
    this.#source.ctx.trace.enter(before);
    return this.#end > 0;
  }

  /** All groups, in order. */
  *emitInOrder(): Generator<undefined, void> {
    this.#group.rows = this.#grouping.size;
    this.#source.ctx.trace.enter(this.#output);
    const isWhole = this.#end === Number.POSITIVE_INFINITY;
    yield* this.#write(isWhole ? (yield* this.#inOrder()).subarray(this.#from) : yield* this.#first());
  }

  *#write(groups: Iterable<number>): Generator<undefined, void> {
    const { ctx } = this.#source;
    ctx.trace.enter(this.#output);
    for (const group of groups) {
      this.#sink.row(this.#grouping.json(group));
      this.#output.rows++;
      if (this.#sink.full || ctx.tickRow()) yield;
    }
  }

  /** The numbers of the groups on the page. */
  *#first(): Generator<undefined, number[]> {
    const { ctx } = this.#source;
    const orders = this.#orders();
    const top = new TopEntries<number>(compareIn(orders), this.#from, this.#end);
    for (let group = 0; group < this.#grouping.size; group++) {
      top.add(this.#grouping.orderKeys(group), () => group);
      if (ctx.tickRow()) yield;
    }
    return (yield* top.sorted(() => ctx.tick())).map(({ place }) => place);
  }

  /** Those of all groups. */
  *#inOrder(): Generator<undefined, Uint32Array> {
    const { ctx } = this.#source;
    const tick = (): boolean => ctx.tick();
    const compare = yield* this.#grouping.ranked(this.#orders(), tick);
    const { size } = this.#grouping;
    ctx.hold(size * ORDER_BYTES, 'groups');
    return yield* inOrder(size, compare, tick);
  }

  #orders(): readonly CompareValues[] {
    const { entity, orderBy } = this.#tree;
    return orderBy.map(({ field, descending }) => orderOf(typeOf(entity, field), descending));
  }
}

function* range(from: number, end: number): Generator<number> {
  for (let at = from; at < end; at++) yield at;
}
