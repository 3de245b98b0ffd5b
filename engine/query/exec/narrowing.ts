// Pages of rows whose order begins with fields of a shared item, or of its sub-rows, such as a resource's type: first every item is looked at
// once, weighted with the number of its nodes, to find which of them the page reaches in the order of these fields. What lies before the page
// is counted, and what lies behind is left, so that only rows that may be on it are put in order one by one.

import type { FieldType } from '../../../schemas/entities.ts';
import { type Filter, type OrderTerm, pageEnd, type QueryTree } from '../tree.ts';
import { foldRows } from './count/fold.ts';
import { accessFor, typeOf } from './filter/filter.ts';
import { type Compare, compareByTypes } from './order/order.ts';
import { rowsOfPlan, sizeOf } from './plan/item-plan.ts';
import type { Access, Value } from './row/access.ts';
import { Row } from './row/row.ts';
import type { Source } from './sources/source.ts';

/** Fewer rows than that are put in order as they are. */
const ROWS_MIN = 5000;
/** So many times fewer rows have to be on the page than there are. */
const ROWS_EACH = 4;
/** Pages that lie deeper are not narrowed where there are more items, too: those before the page are held, and sorted in one go. */
const SHARES_MAX = 250_000;
/** Values of the first field that a condition may list. */
const VALUES_MAX = 5000;

/** Whether a value, which is not null, is one of those, of which these are the first and the last, as a condition. */
type Range = (term: OrderTerm, values: readonly Value[]) => Filter;

const among: Range = ({ field }, values) => ({ kind: 'in', field, values: values as string[] });
const between: Range = ({ field, descending }, values) => {
  const [first, last] = [values[0] as number, values.at(-1) as number];
  const [least, most] = descending ? [last, first] : [first, last];
  return {
    kind: 'and',
    args: [
      { kind: 'order', field, op: '>=', value: least },
      { kind: 'order', field, op: '<=', value: most },
    ],
  };
};
const equalToAny: Range = ({ field }, values) => ({
  kind: 'or',
  args: values.map((value) => ({ kind: 'eq', field, value: value as boolean, nullSafe: false })),
});

/** Types of the fields of which items have a class. */
const RANGE: Partial<Record<FieldType, Range>> = { S: among, N: between, B: equalToAny };

/** Rows that are equal in the terms, by one item or class of items. */
interface Share {
  readonly keys: readonly Value[];
  readonly weight: number;
  readonly part: number;
  /** null: it stands for a class of items. */
  readonly item: number | null;
}

/** The shares that hold the first so many rows in order, and those that are equal to the last of them. */
class Shares {
  readonly #compare: Compare;
  readonly #wanted: number;
  #shares: Share[] = [];
  /** Of what is behind them nothing is needed; null while all are. */
  #last: readonly Value[] | null = null;
  #max: number;
  total = 0;

  constructor(compare: Compare, wanted: number) {
    this.#compare = compare;
    this.#wanted = wanted;
    this.#max = 2 * wanted + ROOM;
  }

  /** Whether those with these keys are needed, which `add` takes. */
  counts(keys: readonly Value[], weight: number): boolean {
    this.total += weight;
    return this.#last === null || this.#compare(keys, this.#last) <= 0;
  }

  add(share: Share): void {
    if (this.#shares.push(share) > this.#max) this.cut();
  }

  /** Forgets what is not needed; returns what is, in order. */
  cut(): readonly Share[] {
    const compare = this.#compare;
    const shares = this.#shares.sort((a, b) => compare(a.keys, b.keys));
    let rows = 0;
    let count = 0;
    while (count < shares.length && rows < this.#wanted) rows += shares[count++]!.weight;
    if (rows >= this.#wanted) {
      this.#last = shares[count - 1]!.keys;
      while (count < shares.length && compare(shares[count]!.keys, this.#last) === 0) count++;
      shares.length = count;
    }
    // Where many are equal to the last one they stay; they are not sorted each time again.
    this.#max = Math.max(this.#max, 2 * shares.length);
    return shares;
  }
}
const ROOM = 64;

interface Narrowed {
  /** What is left to look at. */
  readonly source: Source;
  /** Rows of the whole selection. */
  readonly total: number;
  /** What is left to do there: the offset without the rows that were passed over, and where `isDecided` the terms without those that the rows are all equal in. */
  readonly rest: QueryTree;
  readonly isDecided: boolean;
}

/** The rows that may be on the tree's page; null: there is no way to tell that is worth it. */
export function* narrowed(tree: QueryTree, source: Source): Generator<undefined, Narrowed | null> {
  const { limit, offset, orderBy } = tree;
  if (limit === null || limit === 0 || !source.countable) return null;
  const access = leading(orderBy, source);
  const wanted = pageEnd(tree);
  if (access.length === 0 || Math.min(wanted, itemsIn(source)) > SHARES_MAX) return null;
  if ((yield* rowsOf(source)) < Math.max(ROWS_MIN, limit * ROWS_EACH)) return null;
  const terms = orderBy.slice(0, access.length);
  const compare = compareByTypes(
    terms.map(({ field }) => typeOf(source.entity, field)),
    terms.map(({ descending }) => descending),
  );
  const shares = new Shares(compare, wanted);
  yield* foldRows(source, access, (row, weight, isOne) => {
    const keys = access.map((a) => a.value(row));
    if (shares.counts(keys, weight)) shares.add({ keys, weight, part: row.part, item: isOne ? row.itemId : null });
  });
  source.trace.rewind();
  const { total } = shares;
  const { before, reached } = reachedBy(shares.cut(), compare, offset);
  const first = reached[0]?.keys;
  const last = reached.at(-1)?.keys;
  const isDecided = first !== undefined && compare(first, last!) === 0;
  const rest = { ...tree, offset: offset - before, orderBy: isDecided ? orderBy.slice(terms.length) : orderBy };
  const isWithin = (row: Row): boolean => {
    if (first === undefined) return false;
    const keys = access.map((a) => a.value(row));
    return compare(keys, first) >= 0 && compare(keys, last!) <= 0;
  };
  return { source: restricted(source, terms, access, reached, isWithin), total, rest, isDecided };
}

/** How to read the terms that the order begins with and that do not look at the node. */
function leading(orderBy: readonly OrderTerm[], source: Source): readonly Access[] {
  const all = orderBy.map(({ field }) => accessFor(source.scope, field));
  const end = all.findIndex(({ level }) => level !== 'item' && level !== 'sub');
  return end < 0 ? all : all.slice(0, end);
}

/** Those of the shares in order that do not lie before the page, and how many rows do. */
function reachedBy(
  shares: readonly Share[],
  compare: Compare,
  offset: number,
): { readonly before: number; readonly reached: readonly Share[] } {
  let before = 0;
  let at = 0;
  while (at < shares.length) {
    // Those that are equal are passed over together.
    let next = at;
    let rows = 0;
    do rows += shares[next++]!.weight;
    while (next < shares.length && compare(shares[next]!.keys, shares[at]!.keys) === 0);
    if (before + rows > offset) break;
    before += rows;
    at = next;
  }
  return { before, reached: shares.slice(at) };
}

/** The rows of the shares. */
function restricted(
  source: Source,
  terms: readonly OrderTerm[],
  access: readonly Access[],
  reached: readonly Share[],
  isWithin: (row: Row) => boolean,
): Source {
  if (reached.every(({ item }) => item !== null)) {
    const items: Uint32Array[] = [];
    for (const part of source.parts) items[part] = itemsOfPart(reached, part);
    return source.within(null, { items, test: access.some(({ level }) => level === 'sub') ? isWithin : null });
  }
  // An index leads to the items of classes, if there is one for the first field.
  const [term] = terms;
  const values = [...new Set(reached.map(({ keys }) => keys[0] as Value))];
  const range = RANGE[typeOf(source.entity, term!.field)];
  const test = terms.length > 1 ? isWithin : null;
  if (range === undefined || values.length > VALUES_MAX) return source.within(null, { items: null, test: isWithin });
  const known = values.filter((value) => value !== null);
  const reachable = [
    ...(known.length < values.length ? [{ kind: 'null', field: term!.field } as const] : []),
    ...(known.length > 0 ? [range(term!, known)] : []),
  ];
  const filter: Filter = reachable.length === 1 ? reachable[0]! : { kind: 'or', args: reachable };
  return source.within(filter, test === null ? null : { items: null, test });
}

function itemsOfPart(shares: readonly Share[], part: number): Uint32Array {
  const items = new Set<number>();
  for (const share of shares) if (share.part === part && share.item !== null) items.add(share.item);
  return Uint32Array.from(items).sort();
}

const itemsIn = ({ entity, ctx, parts }: Source): number =>
  parts.reduce((sum, part) => sum + sizeOf(entity, ctx.view(part)).bodies, 0);

/** Rows of the selection, by what the plan takes its items for. */
function* rowsOf(source: Source): Generator<undefined, number> {
  let sum = 0;
  for (const part of source.parts) {
    const row = new Row(source.ctx.view(part), part);
    sum += rowsOfPlan(source.entity, source.items.plan(row, yield* source.nodes(row)), row.view);
  }
  return sum;
}
