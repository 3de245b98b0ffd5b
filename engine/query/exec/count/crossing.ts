// Groups of rows of items by what their nodes and what their items are: a row is a pair of sides (aggregate.ts). A node's side
// is found once, an item's once for all nodes that have it, and what remains to be done for a row is to count its item's side.
//
//   lists      nodes that are equal in what is read of them are taken together: their lists are read through, each item is weighted
//              with those of them that have it, and each side of items with its items
//   postings   few items are asked for: the nodes of each are looked at
//   total      nothing of the items is asked for: the numbers of list entries are enough

import type { DictionaryView, RecordReader } from '../../../store/items/dictionary-view.ts';
import { Ids } from '../../../store/items/ids.ts';
import type { ItemClasses } from '../../../store/items/item-classes.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import type { Fields } from '../../../store/records/fields.ts';
import type { ItemId, NodeId } from '../../../store/records/records.ts';
import { withRoom } from '../filter/coded.ts';
import { readsLists } from '../plan/item-plan.ts';
import type { FoldPlan } from '../plan/selection.ts';
import type { Step } from '../plan/trace.ts';
import type { Access } from '../row/access.ts';
import { Row } from '../row/row.ts';
import type { ItemMatcher } from '../sources/item-matcher.ts';
import type { Source } from '../sources/source.ts';
import type { Grouping } from './aggregate.ts';
import { keepsWeights, readsOfClasses } from './fold.ts';
import type { Side, Sides } from './sides.ts';

/** More sides of items are not remembered: those of items that come again are found again. */
const SIDES_MAX = 1 << 16;

/** What is known of an item: nothing, that it has no row, the number of its row's side, or where the numbers of its rows' sides are. */
const UNKNOWN = 0;
const FAILS = 1;
const FIRST = 2;
const LISTS = 0x80000000;

/** How often an item's rows have a side. */
interface Share {
  readonly side: number;
  times: number;
}

/** Whether rows of the selection can be grouped by sides. */
export const isCrossable = (grouping: Grouping, source: Source): boolean =>
  grouping.isSided && source.countable && keepsWeights(source);

/** How rows of one selection are grouped, over its partitions. */
export class Crossing {
  readonly source: Source;
  readonly grouping: Grouping;
  readonly nodes: Sides;
  readonly items: Sides;
  /** What is read of items, where those are fields that take few values (fold.ts); else null. */
  readonly classed: readonly Access[] | null;
  /** Counted up whenever the sides of items were forgotten. */
  #age = 0;
  /** By side of an item: the rows that are not yet added. */
  #counts = new Uint32Array(256);
  #counted: number[] = [];

  constructor(source: Source, grouping: Grouping) {
    this.source = source;
    this.grouping = grouping;
    this.nodes = grouping.sides(true);
    this.items = grouping.sides(false);
    this.classed = readsOfClasses(source, this.items.reads);
  }

  get age(): number {
    return this.#age;
  }

  /** Rows of the present node's side whose items are of that side. */
  count(side: number, weight: number): void {
    if (side >= this.#counts.length) this.#counts = withRoom(this.#counts, side + 1);
    if (this.#counts[side] === 0) this.#counted.push(side);
    this.#counts[side]! += weight;
  }

  /** Adds what was counted to the groups: how many rows. */
  flush(node: Side): number {
    const counted = this.#counted;
    let rows = 0;
    for (let i = 0; i < counted.length; i++) {
      const side = counted[i]!;
      const weight = this.#counts[side]!;
      this.grouping.addSides(node, this.items.at(side), weight);
      this.#counts[side] = 0;
      rows += weight;
    }
    counted.length = 0;
    return rows;
  }

  /** Forgets the sides of items if they are too many; call after a flush. */
  bound(): void {
    if (this.items.size <= SIDES_MAX) return;
    this.items.forget();
    this.#age++;
  }

  get isFull(): boolean {
    return this.items.size > SIDES_MAX;
  }
}

/** The rows of one partition. */
export class PartCrossing {
  readonly #crossing: Crossing;
  readonly #row: Row;
  readonly dictionary: DictionaryView<unknown>;
  readonly #matcher: ItemMatcher;
  readonly #reader: RecordReader<Fields>;
  readonly #classes: ItemClasses | null;
  readonly #codes: Uint32Array;
  /** The items that pass; null: any may. */
  #passing: Uint32Array | null = null;
  #codeOfClass = new Map<number, number>();
  #shares: (readonly Share[])[] = [];
  #age: number;
  readonly #list = new Ids();

  constructor(crossing: Crossing, row: Row) {
    const { source, classed } = crossing;
    this.#crossing = crossing;
    this.#row = row;
    this.dictionary = source.items.dictionary(row.view);
    this.#matcher = source.items.matcher(row);
    this.#reader = this.dictionary.reader();
    this.#classes = classed === null ? null : this.dictionary.classes();
    this.#codes = new Uint32Array(this.dictionary.end);
    this.#age = crossing.age;
  }

  /** Finds out which of these items pass; no others do. */
  *pass(items: Uint32Array): Generator<undefined, Uint32Array> {
    const { source } = this.#crossing;
    const passing = new Ids();
    for (let i = 0; i < items.length; i++) {
      const item = items[i]!;
      if (this.#codeOf(item) !== FAILS) passing.push(item);
      this.#bound();
      if (source.ctx.tickRow()) yield;
    }
    this.#passing = passing.list;
    const codes = this.#passing.map((item) => this.#codes[item]!);
    this.#begin(codes);
    return this.#passing;
  }

  side(node: NodeId): Side {
    this.#row.nodeId = node;
    return this.#crossing.nodes.of(this.#row);
  }

  /** Adds the rows of a node: how many. */
  addNode(node: NodeId): number {
    const crossing = this.#crossing;
    const side = this.side(node);
    this.#readList(node);
    const { values, length } = this.#list;
    const { stride } = this.dictionary;
    for (let at = stride - 1; at < length; at += stride) this.#expand(values[at]!, 1);
    const rows = crossing.flush(side);
    this.#bound();
    return rows;
  }

  /** Adds the rows of nodes that all have that side. `weights` and `met`: for each item of the partition, of 0. */
  *addNodes(
    side: Side,
    nodes: readonly NodeId[],
    weights: Uint32Array,
    met: Uint32Array,
  ): Generator<undefined, number> {
    const crossing = this.#crossing;
    const { ctx } = crossing.source;
    const { stride } = this.dictionary;
    let end = 0;
    for (let i = 0; i < nodes.length; i++) {
      if (ctx.tickRow()) yield;
      this.#readList(nodes[i]!);
      const { values, length } = this.#list;
      for (let at = stride - 1; at < length; at += stride) {
        const item = values[at]!;
        if (weights[item]!++ === 0) met[end++] = item;
      }
    }
    let rows = 0;
    for (let i = 0; i < end; i++) {
      const item = met[i]!;
      this.#expand(item, weights[item]!);
      weights[item] = 0;
      if (crossing.isFull) {
        rows += crossing.flush(side);
        this.#bound();
      }
      if (ctx.tickRow()) yield;
    }
    return rows + crossing.flush(side);
  }

  #readList(node: NodeId): void {
    this.#renew();
    this.dictionary.readList(node, this.#list);
  }

  #bound(): void {
    this.#crossing.bound();
    this.#renew();
  }

  /** Numbers of sides that were forgotten are not used any more: another partition may have met too many. */
  #renew(): void {
    if (this.#age === this.#crossing.age) return;
    this.#age = this.#crossing.age;
    this.#codeOfClass = new Map();
    this.#shares = [];
    this.#begin(null);
  }

  /** `codes`: of the items that pass. */
  #begin(codes: Uint32Array | null): void {
    const passing = this.#passing;
    this.#codes.fill(passing === null ? UNKNOWN : FAILS);
    if (passing === null) return;
    for (let i = 0; i < passing.length; i++) this.#codes[passing[i]!] = codes === null ? UNKNOWN : codes[i]!;
  }

  #codeOf(item: ItemId): number {
    let code = this.#codes[item]!;
    if (code === UNKNOWN) this.#codes[item] = code = this.#find(item);
    return code;
  }

  #expand(item: ItemId, weight: number): void {
    const code = this.#codeOf(item);
    if (code === FAILS) return;
    if (code < LISTS) {
      this.#crossing.count(code - FIRST, weight);
      return;
    }
    for (const { side, times } of this.#shares[code - LISTS]!) this.#crossing.count(side, weight * times);
  }

  #find(item: ItemId): number {
    const classes = this.#classes;
    if (classes === null) return this.#judge(item);
    const number = classes.of(item, this.#reader);
    let code = this.#codeOfClass.get(number);
    if (code === undefined) this.#codeOfClass.set(number, (code = this.#judge(item)));
    return code;
  }

  /** The sides that the item's rows have; until the next call. */
  sharesOf(item: ItemId): readonly Share[] {
    this.#bound();
    const code = this.#codeOf(item);
    if (code >= LISTS) return this.#shares[code - LISTS]!;
    return code === FAILS ? [] : [{ side: code - FIRST, times: 1 }];
  }

  #judge(item: ItemId): number {
    const shares = this.#found(item);
    const [only] = shares;
    if (only === undefined) return FAILS;
    if (shares.length === 1 && only.times === 1) return FIRST + only.side;
    return LISTS + this.#shares.push(shares) - 1;
  }

  #found(item: ItemId): readonly Share[] {
    const shares = new Map<number, Share>();
    for (const { sub } of this.#matcher.matchOnce(item, false)) {
      this.#row.sub = sub;
      const side = this.#crossing.items.of(this.#row).number;
      const known = shares.get(side);
      if (known === undefined) shares.set(side, { side, times: 1 });
      else known.times++;
    }
    return [...shares.values()];
  }
}

/** Gives the groups away that there are, and returns whether more are wanted. */
type LetGo = () => Generator<undefined, boolean>;

/**
 * Adds all rows of a selection that `isCrossable` to the groups. `letGo`: where each group is of one node, and may go before the next node's
 * come; else null.
 */
export function* crossRows(grouping: Grouping, source: Source, letGo: LetGo | null): Generator<undefined, void> {
  const { ctx } = source;
  const crossing = new Crossing(source, grouping);
  const isTotal = crossing.classed?.length === 0 && source.item === null;
  const by = crossing.classed === null ? 'item' : 'class';
  for (const part of source.parts) {
    const row = new Row(ctx.view(part), part);
    const { scan } = source.trace.partition(part);
    ctx.trace.enter(scan);
    const nodes = yield* source.nodes(row);
    const plan = source.items.plan(row, nodes);
    const planned = (weights: FoldPlan['weights']): void => {
      source.plans[part] = { nodes: plan.nodes, items: plan, reports: null, fold: { weights, by } };
    };
    if (isTotal) {
      planned('total');
      scan.rows += yield* byLengths(crossing, row, nodes);
    } else {
      const found = new PartCrossing(crossing, row);
      const passing = plan.drive === 'items' ? yield* found.pass(source.items.ids(row, plan)) : null;
      const isFew = passing !== null && !readsLists(source.entity, row.view, nodes.count(), passing.length);
      planned(isFew ? 'postings' : 'lists');
      if (isFew) scan.rows += yield* byPostings(crossing, found, nodes, passing);
      else if (!(yield* byLists(crossing, found, nodes, scan, letGo))) return;
    }
    if (crossing.nodes.size > SIDES_MAX) crossing.nodes.forget();
  }
}

function* byLengths(crossing: Crossing, row: Row, nodes: NodeSet): Generator<undefined, number> {
  const { source, grouping } = crossing;
  const dictionary = source.items.dictionary(row.view);
  const rest = crossing.items.of(row);
  const ids = nodes.toArray();
  let rows = 0;
  for (let i = 0; i < ids.length; i++) {
    if (source.ctx.tickRow()) yield;
    const length = dictionary.listLength(ids[i]!);
    if (length === 0) continue;
    row.nodeId = ids[i]!;
    grouping.addSides(crossing.nodes.of(row), rest, length);
    rows += length;
  }
  return rows;
}

/** So many pairs of sides are as much work as a row. */
const PAIRS_PER_ROW = 16;

function* byPostings(
  { source, grouping, items }: Crossing,
  found: PartCrossing,
  nodes: NodeSet,
  passing: Uint32Array,
): Generator<undefined, number> {
  const sides: (Side | undefined)[] = [];
  const ids = new Ids();
  let rows = 0;
  for (let at = 0; at < passing.length; at++) {
    const item = passing[at]!;
    found.dictionary.readNodes(item, nodes, ids);
    const shares = found.sharesOf(item);
    source.ctx.foundSubs(Math.floor((ids.length * shares.length) / PAIRS_PER_ROW));
    for (const { side, times } of shares) {
      const rest = items.at(side);
      for (let i = 0; i < ids.length; i++) {
        const node = ids.values[i]!;
        grouping.addSides((sides[node] ??= found.side(node)), rest, times);
      }
      rows += ids.length * times;
    }
    if (source.ctx.tickRow()) yield;
  }
  return rows;
}

/** Returns whether more groups are wanted. */
function* byLists(
  crossing: Crossing,
  found: PartCrossing,
  nodes: NodeSet,
  scan: Step,
  letGo: LetGo | null,
): Generator<undefined, boolean> {
  const { ctx } = crossing.source;
  const alike = new Map<Side, NodeId[]>();
  const ids = nodes.toArray();
  for (let i = 0; i < ids.length; i++) {
    if (ctx.tickRow()) yield;
    const side = found.side(ids[i]!);
    const known = alike.get(side);
    if (known === undefined) alike.set(side, [ids[i]!]);
    else known.push(ids[i]!);
  }
  const isShared = alike.size < ids.length;
  const weights = new Uint32Array(isShared ? found.dictionary.end : 0);
  const met = new Uint32Array(weights.length);
  for (const [side, same] of alike) {
    scan.rows += same.length === 1 ? found.addNode(same[0]!) : yield* found.addNodes(side, same, weights, met);
    if (letGo !== null && !(yield* letGo())) return false;
    if (ctx.tick()) yield;
  }
  return true;
}
