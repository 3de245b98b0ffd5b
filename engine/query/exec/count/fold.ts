// Rows counted by item: what many nodes share is looked at once and weighted with the number of its nodes.
//
//   weights   'total'     nothing of the items is asked for: the number of list entries is enough
//             'lists'     the nodes' lists are read through, and each entry counts for its item
//             'postings'  each item's nodes are counted, where there are few items
//   by        'class'     only fields are asked for that take few values (item-classes.ts): one look per combination of them
//             'item'      one look per item

import { Ids } from '../../../store/items/ids.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import type { ItemId } from '../../../store/records/records.ts';
import type { View } from '../../../store/view.ts';
import { areShared } from '../filter/classed.ts';
import { accessFor, passes } from '../filter/filter.ts';
import { fieldsReadByAll } from '../filter/reads.ts';
import { type ItemPlan, readsLists, sizeOf } from '../plan/item-plan.ts';
import type { FoldPlan } from '../plan/selection.ts';
import type { Access } from '../row/access.ts';
import { Row } from '../row/row.ts';
import { END, ROW } from '../sources/cursor.ts';
import type { ItemTest } from '../sources/item-matcher.ts';
import { TreeRows } from '../sources/rows.ts';
import type { Source } from '../sources/source.ts';
import { itemWeights } from './item-weights.ts';
import { countTogether } from './told-together.ts';

/**
 * Takes a row that stands for `weight` rows: its item (and sub-row) are set, its node is not. `isOne`: they are all of that item; else of
 * all items of its class. Returns work that is to be done before the next row.
 */
type Visit = (row: Row, weight: number, isOne: boolean) => Generator<undefined, void> | undefined;

/** Counts are kept in an array over all items up to this many. */
const WEIGHTS_MAX = 1 << 22;
/** From so many on a kernel saves more (4 ns an entry) than it takes to give it weights and to take them away. */
const ENTRIES_PER_ITEM = 0.25;
/** Sub-rows of a report that are counted at once. */
const TICK_SUBS = 256;
/** Microseconds, measured: an entry of a node's list counted. */
const COST_COUNTED = 0.003;

/** How many rows a class of items has, with the item of it that was met first. */
interface ClassWeight {
  readonly part: number;
  readonly item: ItemId;
  weight: number;
}

const PAGE_BITS = 8;
const PAGE_MASK = (1 << PAGE_BITS) - 1;

/** By the number of the class. Numbers may be large, but those that one query meets lie close together. */
class ClassWeights {
  readonly #pages = new Map<number, (ClassWeight | undefined)[]>();
  /** The page that was looked at last. */
  #at = -1;
  #page: (ClassWeight | undefined)[] = [];

  get(number: number): ClassWeight | undefined {
    return this.#pageOf(number)[number & PAGE_MASK];
  }

  set(number: number, weight: ClassWeight): void {
    this.#pageOf(number)[number & PAGE_MASK] = weight;
  }

  #pageOf(number: number): (ClassWeight | undefined)[] {
    const at = number >>> PAGE_BITS;
    if (at === this.#at) return this.#page;
    let page = this.#pages.get(at);
    if (page === undefined) {
      page = Array.from({ length: 1 << PAGE_BITS }, () => undefined);
      this.#pages.set(at, page);
    }
    this.#at = at;
    this.#page = page;
    return page;
  }
}

/**
 * All rows of a selection whose rows are decided by the item (`source.countable`). `reads`: what `visit` reads of a row.
 * Order: by partition, then ascending item; a class stands where its first item stands. `isWanted`: of items whose rows need not all be
 * counted those that it is true for.
 */
export function* foldRows(
  source: Source,
  reads: readonly Access[],
  visit: Visit,
  isWanted: ItemTest | null = null,
): Generator<undefined, void> {
  const { ctx } = source;
  const classed = readsOfClasses(source, reads);
  const classes: ClassWeight[] = [];
  const known = new ClassWeights();
  for (const part of source.parts) {
    const view = ctx.view(part);
    const row = new Row(view, part);
    ctx.trace.enter(source.trace.partition(part).scan);
    const nodes = yield* source.nodes(row);
    const items = source.items.plan(row, nodes);
    const fold = planFold(source, classed, nodes, row);
    source.plans[part] = { nodes: items.nodes, items, reports: null, fold };
    if (fold.weights === 'total') {
      const total = yield* countEntries(source, nodes, view);
      const work = total > 0 ? visit(row, total, false) : undefined;
      if (work !== undefined) yield* work;
    } else if (fold.weights === 'postings') yield* byPostings(source, row, nodes, visit, isWanted);
    else {
      const weights = yield* listWeights(source, nodes, view);
      if (fold.by === 'item') yield* byItem(source, row, items, weights, visit, isWanted);
      else yield* byClass(source, row, weights, classes, known);
    }
  }
  yield* visitClasses(source, classes, visit);
}

/** Whether the partitions have so few items that counts are kept for each of them. */
export const keepsWeights = (source: Source): boolean =>
  source.parts.every((part) => source.items.dictionary(source.ctx.view(part)).end <= WEIGHTS_MAX);

function planFold(source: Source, classed: readonly Access[] | null, nodes: NodeSet, row: Row): FoldPlan {
  const { view } = row;
  if (classed?.length === 0 && source.item === null) return { weights: 'total', by: 'class' };
  const dictionary = source.items.dictionary(view);
  const items = source.items.plan(row, nodes).path?.estimate ?? sizeOf(source.entity, view).bodies;
  const few = !readsLists(source.entity, view, nodes.count(), items, COST_COUNTED) || dictionary.end > WEIGHTS_MAX;
  if (few) return { weights: 'postings', by: 'item' };
  return { weights: 'lists', by: classed === null ? 'item' : 'class' };
}

/** All that is read, also by the source's conditions on items, when those are fields that take few values; else null. */
export function readsOfClasses(source: Source, reads: readonly Access[]): readonly Access[] | null {
  if (source.subs !== null) return null;
  const fields = fieldsReadByAll(source.split.item);
  if (fields === null) return null;
  const all = [...fields.map((field) => accessFor(source.scope, field)), ...reads];
  return areShared(all, source.items.shared) ? all : null;
}

/** How many entries the nodes' lists have. */
function* countEntries(source: Source, nodes: NodeSet, view: View): Generator<undefined, number> {
  const count = nodes.count();
  // The writer counts all of them.
  if (count === source.base(view).count()) return sizeOf(source.entity, view).rows;
  const dictionary = source.items.dictionary(view);
  let total = 0;
  const ids = nodes.toArray();
  for (let i = 0; i < ids.length; i++) {
    if (source.ctx.tickRow()) yield;
    total += dictionary.listLength(ids[i]!);
  }
  return total;
}

/** By item, how many of the nodes have it. */
function* listWeights(source: Source, nodes: NodeSet, view: View): Generator<undefined, Uint32Array> {
  const dictionary = source.items.dictionary(view);
  const list = new Ids();
  const ids = nodes.toArray();
  const entries = (ids.length * sizeOf(source.entity, view).rows) / Math.max(1, view.counts.nodes);
  const weights = itemWeights(dictionary.end, dictionary.stride, entries > dictionary.end * ENTRIES_PER_ITEM);
  for (let i = 0; i < ids.length; i++) {
    if (source.ctx.tickRow()) yield;
    dictionary.readList(ids[i]!, list);
    weights.add(list);
  }
  return weights.take();
}

function* byPostings(
  source: Source,
  row: Row,
  nodes: NodeSet,
  visit: Visit,
  isWanted: ItemTest | null,
): Generator<undefined, void> {
  const cursor = source.items.openPostings(row, nodes, isWanted);
  for (let hit = cursor.nextItem(); hit !== null; hit = cursor.nextItem()) {
    if (hit.nodes > 0) {
      for (const matched of hit.matched) {
        row.sub = matched.sub;
        const work = visit(row, hit.nodes, true);
        if (work !== undefined) yield* work;
        if (source.ctx.tickRow()) yield;
      }
    }
    if (source.ctx.tick()) yield;
  }
}

function* byItem(
  source: Source,
  row: Row,
  plan: ItemPlan,
  weights: Uint32Array,
  visit: Visit,
  isWanted: ItemTest | null,
): Generator<undefined, void> {
  const matcher = source.items.matcher(row, null, isWanted);
  const items = plan.path === null ? null : source.items.ids(row, plan);
  const end = items === null ? weights.length : items.length;
  for (let i = 0; i < end; i++) {
    const item = items === null ? i : items[i]!;
    const weight = weights[item]!;
    if (weight === 0) continue;
    for (const matched of matcher.matchOnce(item, false)) {
      row.sub = matched.sub;
      const work = visit(row, weight, true);
      if (work !== undefined) yield* work;
      if (source.ctx.tickRow()) yield;
    }
    if (source.ctx.tickRow()) yield;
  }
}

function* byClass(
  source: Source,
  row: Row,
  weights: Uint32Array,
  met: ClassWeight[],
  known: ClassWeights,
): Generator<undefined, void> {
  const dictionary = source.items.dictionary(row.view);
  const classes = dictionary.classes();
  const reader = dictionary.reader();
  for (let item = 0; item < weights.length; item++) {
    const weight = weights[item]!;
    if (weight === 0) continue;
    let number = classes.get(item);
    if (number === 0) {
      number = classes.add(item, reader.glance(item));
      if (source.ctx.tick()) yield;
    }
    const ofClass = known.get(number);
    if (ofClass !== undefined) ofClass.weight += weight;
    else {
      const first: ClassWeight = { part: row.part, item, weight };
      known.set(number, first);
      met.push(first);
    }
  }
}

function* visitClasses(source: Source, classes: readonly ClassWeight[], visit: Visit): Generator<undefined, void> {
  let row: Row | null = null;
  let reader = null;
  for (let i = 0; i < classes.length; i++) {
    const { part, item, weight } = classes[i]!;
    if (row === null || row.part !== part) {
      const view = source.ctx.view(part);
      row = new Row(view, part);
      reader = source.items.dictionary(view).reader();
    }
    row.itemId = item;
    row.body = reader!.read(item);
    const work = passes(source.item, row) ? visit(row, weight, false) : undefined;
    if (work !== undefined) yield* work;
    if (source.ctx.tickRow()) yield;
  }
}

/** Number of rows of a selection: by item or by node where that is possible, else row by row. */
export function* countRows(source: Source): Generator<undefined, number> {
  const { ctx } = source;
  let total = 0;
  if (source.countable) {
    yield* foldRows(source, [], (_, weight) => {
      total += weight;
    });
    return total;
  }
  if (source.isPlainNodes) {
    for (const part of source.parts) total += (yield* source.nodes(new Row(ctx.view(part), part))).count();
    return total;
  }
  const together = yield* countTogether(source);
  if (together !== null) return together;
  const rows = new TreeRows(source, { isGlance: true });
  for (let step = rows.next(); step !== END; step = rows.next()) {
    if (step === ROW) total += 1 + rows.takeRest(TICK_SUBS);
    if (ctx.tickStep(step === ROW)) yield;
  }
  return total;
}
