// Rows ordered by certname first, or by other fields of the node before it: the nodes are visited in that order, one node's rows are sorted
// by the other terms, and the visit ends when the page is full. Nothing is kept but the rows of one node. Nodes whose rows all lie before
// the page are counted and passed over. Rows of reports and events are those of the node's reports. A page of groups by certname ends the
// visit in the same way. The nodes are visited in the order of
//
//   certname   the partitions' certname indexes are merged, unless the order is kept from earlier queries; of few nodes among many the
//              names are read and sorted
//   terms      other fields, certname after them or not at all: these are read of all nodes and sorted
//   place      where they lie: nothing puts the rows in order any more

import { compareText } from '../../json/compare.ts';
import { Scratch } from '../../store/file/lmdb.ts';
import { Ids } from '../../store/items/ids.ts';
import { KEPT_LENGTH_MAX } from '../../store/items/kept-lists.ts';
import type { NodeSet } from '../../store/items/node-set.ts';
import { StoredNode } from '../../store/records/node-record.ts';
import type { NodeId } from '../../store/records/records.ts';
import type { NamedNode, View } from '../../store/view.ts';
import type { ExecuteOptions, RowSink } from '../sink.ts';
import { type OrderTerm, pageEnd, type QueryTree } from '../tree.ts';
import type { Grouping } from './count/aggregate.ts';
import { Crossing, isCrossable, PartCrossing } from './count/crossing.ts';
import { countRows } from './count/fold.ts';
import { accessFor } from './filter/filter.ts';
import { type Ordering, orderingOf, TopEntries, withPlaces } from './order/order.ts';
import { RowWriter } from './output.ts';
import type { WalkOrder } from './plan/selection.ts';
import type { Step } from './plan/trace.ts';
import type { ItemStates } from './row/item-states.ts';
import { type Locator, Row } from './row/row.ts';
import { type Cursor, END, NodeCursor, ROW } from './sources/cursor.ts';
import type { Either } from './sources/item-cursors.ts';
import type { ItemMatcher } from './sources/item-matcher.ts';
import { Places } from './sources/rows.ts';
import type { Source } from './sources/source.ts';

/** Sorting is cheaper than walking an index when one node in so many is wanted. */
const SORT_SHARE = 4;
const SORT_ALWAYS = 32;
/** Finding the nodes of so many times fewer items than there are nodes is cheaper than visiting all nodes. */
const FEW_ITEMS = 4;

/** Whether rows in this order can be had node by node. */
export function walksNodes(orderBy: readonly OrderTerm[], source: Source): boolean {
  switch (source.shape) {
    case 'node':
      return orderBy[0]?.field === 'certname';
    case 'item':
      return orderBy.length === 0 || nodeTerms(orderBy, source).length > 0;
    case 'report':
      return orderBy[0]?.field === 'certname' && source.reports.areReadByNode;
    case 'global':
      return false;
  }
}

/** Whether they can be had node by node in the order of certnames. */
export const walksNames = (orderBy: readonly OrderTerm[], source: Source): boolean =>
  orderBy[0]?.field === 'certname' && walksNodes(orderBy, source);

/** The terms that put the nodes in order, so that only one node's rows are equal in them, or no term is left: else none. */
function nodeTerms(orderBy: readonly OrderTerm[], source: Source): readonly OrderTerm[] {
  const name = orderBy.findIndex(({ field }) => field === 'certname');
  const terms = name < 0 ? orderBy : orderBy.slice(0, name + 1);
  return terms.every(({ field }) => accessFor(source.scope, field).level === 'node') ? terms : [];
}

/** The rows of one partition's nodes, a node at a time. */
class PartitionWalk {
  readonly row: Row;
  /** Nodes that may have rows. */
  readonly nodes: NodeSet;
  readonly #source: Source;
  readonly #matcher: ItemMatcher | null;
  /** How many rows a node has of each item, where it is known which pass; null: every item passes, or each is to be looked at. */
  readonly #passing: ItemStates | null;
  /** Where rows can be; null: anywhere. */
  readonly #either: Either | null;
  /** Of reports and events. */
  readonly #openReports: ((node: NodeId) => Cursor) | null;
  readonly #list = new Ids();

  constructor(source: Source, row: Row, nodes: NodeSet, passing: ItemStates | null, either: Either | null) {
    this.row = row;
    this.nodes = nodes;
    this.#source = source;
    this.#matcher = source.shape === 'item' ? source.items.matcher(row, passing) : null;
    this.#passing = passing;
    this.#either = either;
    this.#openReports = source.shape === 'report' ? source.reports.ofNodes(row) : null;
  }

  /** How many rows the node has, null when that would have to be found out row by row. */
  count(node: NodeId): number | null {
    const source = this.#source;
    if (source.isPlainNodes) return 1;
    if (source.shape === 'report') return source.reports.countOfNode(this.row, node);
    if (this.#matcher === null || !source.countable) return null;
    const dictionary = source.items.dictionary(this.row.view);
    if (this.#matcher.isOpen) return dictionary.listLength(node);
    const passing = this.#passing;
    if (passing === null) return null;
    dictionary.readList(node, this.#list);
    const { values, length } = this.#list;
    let count = 0;
    for (let at = dictionary.stride - 1; at < length; at += dictionary.stride) count += passing.get(values[at]!);
    return count;
  }

  open(node: NodeId): Cursor {
    const ids = Uint32Array.of(node);
    if (this.#matcher !== null) return this.#source.items.openList(this.row, ids, this.#matcher, this.#either);
    if (this.#openReports !== null) return this.#openReports(node);
    return new NodeCursor(this.row, ids, this.#source.subs, this.#source.residual);
  }
}

function* openWalk(source: Source, part: number, order: WalkOrder): Generator<undefined, PartitionWalk> {
  const { ctx } = source;
  const row = new Row(ctx.view(part), part);
  ctx.trace.enter(source.trace.partition(part).scan);
  const nodes = yield* source.nodes(row);
  if (source.shape !== 'item') {
    source.plans[part] = { nodes: nodes.count(), items: null, reports: null, walk: order };
    return new PartitionWalk(source, row, nodes, null, null);
  }
  const either = yield* source.either(row);
  const plan = source.items.plan(row, nodes);
  source.plans[part] = { nodes: plan.nodes, items: plan, reports: null, walk: order };
  const { path } = plan;
  if (path === null) return new PartitionWalk(source, row, nodes, null, either);
  const passing = source.countable && source.items.areKnown(plan) ? source.items.rowsOf(row, plan) : null;
  if (path.estimate * FEW_ITEMS > nodes.count()) return new PartitionWalk(source, row, nodes, passing, either);
  // The items are few: only nodes that have one of them are visited.
  const having = yield* source.items.nodesWith(row, plan);
  return new PartitionWalk(source, row, having.intersect(nodes), passing, either);
}

function* openWalks(source: Source, order: WalkOrder): Generator<undefined, PartitionWalk[]> {
  const walks: PartitionWalk[] = [];
  for (const part of source.parts) walks.push(yield* openWalk(source, part, order));
  return walks;
}

/** The rows that are asked for, and how far the walk has come with them. */
class WalkedPage {
  readonly offset: number;
  readonly #end: number;
  /** Rows that lie before the page or are given out. */
  seen = 0;
  readonly #source: Source;
  readonly #sink: RowSink;
  readonly #writer: RowWriter;
  readonly #output: Step;

  constructor(tree: QueryTree, source: Source, sink: RowSink) {
    this.offset = tree.offset;
    this.#end = pageEnd(tree);
    this.#source = source;
    this.#sink = sink;
    this.#writer = new RowWriter(tree, source.scope);
    this.#output = source.trace.step('output');
  }

  get isFull(): boolean {
    return this.seen >= this.#end;
  }

  /** Whether all rows of the node are known to lie before the page: then they are counted. */
  passesOver(walk: PartitionWalk, node: NodeId, scan: Step): boolean {
    if (this.seen >= this.offset) return false;
    const count = walk.count(node);
    if (count === null || this.seen + count > this.offset) return false;
    this.seen += count;
    scan.rows += count;
    return true;
  }

  /** For the rows of one node: those of them that are in the page. */
  top({ compare }: Ordering): TopEntries<Locator> {
    return new TopEntries(compare, Math.max(0, this.offset - this.seen), this.#end - this.seen);
  }

  /** Gives out a row of that scan. Returns whether to yield. */
  emit(row: Row, scan: Step): boolean {
    const { ctx } = this.#source;
    ctx.trace.turn(this.#output);
    this.#writer.emit(row, this.#sink);
    this.#output.rows++;
    ctx.trace.turn(scan);
    return this.#sink.full || ctx.tickRow();
  }
}

/** Gives the rows to the sink in order. */
export function* walked(
  tree: QueryTree,
  source: Source,
  sink: RowSink,
  options: ExecuteOptions,
): Generator<undefined, void> {
  const { ctx } = source;
  if (options.onTotal) {
    const total = yield* countRows(source);
    options.onTotal(total);
    source.trace.rewind();
    if (total <= tree.offset) return;
  }
  const terms = source.shape === 'item' ? nodeTerms(tree.orderBy, source) : tree.orderBy.slice(0, 1);
  const order = terms.length === 0 ? 'place' : terms[0]!.field === 'certname' ? 'certname' : 'terms';
  const walks = yield* openWalks(source, order);
  const rest = tree.orderBy.slice(terms.length);
  const ordering = rest.length === 0 && source.shape === 'node' ? null : withPlaces(orderingOf(rest, source.scope));
  const page = new WalkedPage(tree, source, sink);
  const places = new Places(source);
  for (const { walk, node } of yield* inOrder(order, source, walks, terms)) {
    if (page.isFull) return;
    if (ctx.tickRow()) yield;
    const { row } = walk;
    const { scan } = source.trace.partition(row.part);
    if (page.passesOver(walk, node, scan)) continue;
    const cursor = walk.open(node);
    if (ordering === null) {
      for (let step = cursor.next(); step !== END && !page.isFull; step = cursor.next()) {
        if (step !== ROW) {
          if (ctx.tick()) yield;
          continue;
        }
        scan.rows++;
        if (page.seen++ >= page.offset && page.emit(row, scan)) yield;
      }
      continue;
    }
    const top = page.top(ordering);
    let count = 0;
    for (let step = cursor.next(); step !== END; step = cursor.next()) {
      if (step === ROW) {
        count++;
        top.add(ordering.keys(row), () => source.locator(row));
      }
      if (ctx.tickStep(step === ROW)) yield;
    }
    scan.rows += count;
    for (const { place } of yield* top.sorted(() => ctx.tick())) {
      if (page.emit(places.at(place), scan)) yield;
    }
    page.seen += count;
  }
}

/** Adds the rows of nodes in the order of their names, as far as a page of groups reaches: each group is of one node. */
export function* groupedByName(tree: QueryTree, grouping: Grouping, source: Source): Generator<undefined, void> {
  const { ctx } = source;
  const end = pageEnd(tree);
  const walks = yield* openWalks(source, 'certname');
  const crossing = isCrossable(grouping, source) ? new Crossing(source, grouping) : null;
  const crossed = new Map<PartitionWalk, PartCrossing>();
  for (const { walk, node } of yield* nodesByName(source, walks, tree.orderBy[0]!.descending)) {
    if (grouping.size >= end) return;
    if (ctx.tickRow()) yield;
    const { row } = walk;
    const { scan } = source.trace.partition(row.part);
    if (crossing !== null) {
      let part = crossed.get(walk);
      if (part === undefined) crossed.set(walk, (part = new PartCrossing(crossing, row)));
      scan.rows += part.addNode(node);
      continue;
    }
    const cursor = walk.open(node);
    for (let step = cursor.next(); step !== END; step = cursor.next()) {
      if (step === ROW) {
        scan.rows++;
        grouping.add(row, 1);
      }
      if (ctx.tickStep(step === ROW)) yield;
    }
  }
}

interface Named {
  readonly walk: PartitionWalk;
  readonly node: NodeId;
}

/** The nodes of all partitions in order. */
function* inOrder(
  order: WalkOrder,
  source: Source,
  walks: readonly PartitionWalk[],
  terms: readonly OrderTerm[],
): Generator<undefined, Iterable<Named>> {
  switch (order) {
    case 'certname':
      return yield* nodesByName(source, walks, terms[0]!.descending);
    case 'terms':
      return yield* nodesByTerms(source, walks, terms);
    case 'place':
      return nodesByPlace(walks);
  }
}

function* nodesByPlace(walks: readonly PartitionWalk[]): Generator<Named> {
  for (const walk of walks) for (const node of walk.nodes.toArray()) yield { walk, node };
}

/** In the order of these terms. */
function* nodesByTerms(
  { scope, ctx }: Source,
  walks: readonly PartitionWalk[],
  terms: readonly OrderTerm[],
): Generator<undefined, Iterable<Named>> {
  const { compare, keys } = orderingOf(terms, scope);
  const all = new TopEntries<Named>(compare, 0, null);
  for (const walk of walks) {
    for (const node of walk.nodes.toArray()) {
      walk.row.nodeId = node;
      all.add(keys(walk.row), () => ({ walk, node }));
      if (ctx.tickRow()) yield;
    }
  }
  return (yield* all.sorted(() => ctx.tick())).map(({ place }) => place);
}

function* nodesByName(
  source: Source,
  walks: readonly PartitionWalk[],
  descending: boolean,
): Generator<undefined, Iterable<Named>> {
  if (!wantsMany(walks)) return sortedNames(walks, descending);
  const order = yield* keptOrder(source, walks);
  if (order !== null) return among(walks, descending ? backwards(order) : order);
  const views = walks.map(({ row }) => row.view);
  return among(walks, mergedNames(views, descending));
}

/** Those of the places whose nodes are wanted. */
function* among(walks: readonly PartitionWalk[], places: Iterable<Place>): Generator<Named> {
  for (const place of places) {
    const walk = walks[partOf(place)]!;
    const node = nodeOf(place);
    if (walk.nodes.has(node)) yield { walk, node };
  }
}

function wantsMany(walks: readonly PartitionWalk[]): boolean {
  let wanted = 0;
  let all = 0;
  for (const { nodes, row } of walks) {
    wanted += nodes.count();
    all += row.view.counts.nodes;
  }
  return wanted > SORT_ALWAYS && wanted * SORT_SHARE >= all;
}

function* backwards<T>(list: readonly T[]): Generator<T> {
  for (let at = list.length - 1; at >= 0; at--) yield list[at]!;
}

/** A node and the place of its partition among the walks, in one number. */
type Place = number;
const PART = 2 ** 32;
const partOf = (place: Place): number => Math.floor(place / PART);
const nodeOf = (place: Place): NodeId => place >>> 0;

const ORDER = 'nodes by certname';
const ASKED = 'nodes by certname, asked for';

/**
 * The order of all nodes, kept until one comes or goes. It is not made for the first query after that: a page needs only the
 * beginning, and while a fleet is loaded no order would last.
 */
function* keptOrder({ ctx }: Source, walks: readonly PartitionWalk[]): Generator<undefined, readonly Place[] | null> {
  if (walks.length < ctx.parts) return null;
  const { views } = ctx;
  const { lists } = views[0]!.partition;
  const kept = lists.get<Place>(ORDER, 'node', views);
  if (kept !== null) return kept;
  if (views.reduce((sum, { counts }) => sum + counts.nodes, 0) > KEPT_LENGTH_MAX) return null;
  if (lists.get(ASKED, 'node', views) === null) {
    lists.keep(ASKED, 'node', views, []);
    return null;
  }
  const order: Place[] = [];
  for (const place of mergedNames(views, false)) {
    order.push(place);
    if (ctx.tickRow()) yield;
  }
  lists.keep(ORDER, 'node', views, order);
  return order;
}

function sortedNames(walks: readonly PartitionWalk[], descending: boolean): Named[] {
  const named: (Named & { readonly certname: string })[] = [];
  const record = new StoredNode();
  const scratch = new Scratch();
  for (const walk of walks) {
    for (const node of walk.nodes.toArray()) {
      const certname = walk.row.view.readNode(node, record, scratch) ? record.certname : '';
      named.push({ walk, node, certname });
    }
  }
  const sign = descending ? -1 : 1;
  return named.sort((a, b) => sign * compareText(a.certname, b.certname));
}

interface Head {
  readonly place: Place;
  readonly name: Uint8Array;
  readonly rest: Iterator<NamedNode>;
}

/** Merges the certname indexes. A few partitions: looking at all heads is cheaper than keeping them in a heap. */
function* mergedNames(views: readonly View[], descending: boolean): Generator<Place> {
  const heads: Head[] = [];
  const put = (part: number, rest: Head['rest'], at: number): void => {
    const { done, value } = rest.next();
    if (!done) heads[at] = { place: part * PART + value.node, name: value.name, rest };
    else if (at < heads.length) heads.splice(at, 1);
  };
  views.forEach((view, part) => {
    put(part, view.nodesByName(descending), heads.length);
  });
  const sign = descending ? -1 : 1;
  while (heads.length > 0) {
    let first = 0;
    for (let i = 1; i < heads.length; i++) {
      if (sign * Buffer.compare(heads[i]!.name, heads[first]!.name) < 0) first = i;
    }
    const { place, rest } = heads[first]!;
    yield place;
    put(partOf(place), rest, first);
  }
}
