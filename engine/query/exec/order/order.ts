// Ordering: nulls last ascending and first descending, text by code points, JSON by PostgreSQL's total order. With a limit
// only the best limit + offset places are kept, and some more (without one all rows are: all-rows.ts).

import type { FieldType } from '../../../../schemas/entities.ts';
import { compareJson, compareText } from '../../../json/compare.ts';
import { type Compared, comparedWith } from '../../../json/compare-stored.ts';
import type { JsonValue } from '../../../json/value.ts';
import type { OrderTerm } from '../../tree.ts';
import { accessFor, type CompileScope, typeOf } from '../filter/filter.ts';
import { type Access, isKept, type Value } from '../row/access.ts';
import type { Shape } from '../row/entities.ts';
import type { Row } from '../row/row.ts';

export type Compare = (a: readonly Value[], b: readonly Value[]) => number;

export type CompareValues = (a: Value, b: Value) => number;
const byText: CompareValues = (a, b) => compareText(a as string, b as string);
const byNumber: CompareValues = (a, b) => Number(a) - Number(b);
const byJson: CompareValues = (a, b) => compareJson(a as JsonValue, b as JsonValue);
const byList: CompareValues = (a, b) => {
  const x = a as readonly (string | number)[];
  const y = b as readonly (string | number)[];
  for (let i = 0; i < x.length && i < y.length; i++) {
    const c = compareText(String(x[i]), String(y[i]));
    if (c !== 0) return c;
  }
  return x.length - y.length;
};

const BY_TYPE: Record<FieldType, CompareValues> = {
  S: (a, b) => (typeof a === 'string' ? byText(a, b) : byNumber(a, b)),
  B: byNumber,
  N: byNumber,
  T: byNumber,
  A: byList,
  PA: byList,
  PE: byText,
  V: byJson,
  J: byJson,
  X: byText,
};

/** Order of two values of the type that are both there. */
export const comparisonOf = (type: FieldType): CompareValues => BY_TYPE[type];

/** Order of two values of a term, either of which may be null. */
export function orderOf(type: FieldType, isDescending: boolean): CompareValues {
  const compare = BY_TYPE[type];
  const sign = isDescending ? -1 : 1;
  return (a, b) => {
    // A JSON null is a value of the total order; a missing one is null too and sorts as PostgreSQL's null.
    if (a === null || b === null) return sign * (a === b ? 0 : type === 'V' ? byJson(a, b) : a === null ? 1 : -1);
    return sign * compare(a, b);
  };
}

/** Tells how rows compare in a term with a value that stays the same for many of them, mostly without making theirs. */
export class TermOrder {
  readonly #access: Access;
  readonly #isNullLast: boolean;
  readonly #isStored: boolean;
  readonly #sign: number;
  readonly #order: CompareValues;
  #wanted: Value = null;
  #compared: Compared = comparedWith(null, false);

  constructor({ field, descending }: OrderTerm, scope: CompileScope) {
    const type = typeOf(scope.entity, field);
    this.#access = accessFor(scope, field);
    // A JSON null has its place in the total order.
    this.#isNullLast = type !== 'V';
    this.#isStored = STORED_TYPES.has(type) && this.#access.compare !== undefined;
    this.#sign = descending ? -1 : 1;
    this.#order = orderOf(type, descending);
  }

  /** What rows are compared with from now on. */
  set wanted(value: Value) {
    this.#wanted = value;
    if (this.#isStored) this.#compared = comparedWith(value as JsonValue, this.#isNullLast);
  }

  /** Negative, zero or positive. */
  compare(row: Row): number {
    const told = this.#isStored ? this.#access.compare!(row, this.#compared) : Number.NaN;
    return Number.isNaN(told) ? this.#order(this.#access.value(row), this.#wanted) : this.#sign * told;
  }
}
/** Types of which the texts that are stored tell something. */
const STORED_TYPES: ReadonlySet<FieldType> = new Set(['S', 'V', 'J']);

/** By the first of them that tells two apart. */
export const compareIn =
  (orders: readonly CompareValues[]): Compare =>
  (a, b) => {
    for (let i = 0; i < orders.length; i++) {
      const c = orders[i]!(a[i]!, b[i]!);
      if (c !== 0) return c;
    }
    return 0;
  };

export interface Ordering {
  readonly compare: Compare;
  keys(row: Row): Value[];
  /** How a value of the first term compares with that of these keys. */
  compareFirst(first: Value, keys: readonly Value[]): number;
  /** How the row compares with these keys, the first of which it has. */
  compareRest(row: Row, keys: readonly Value[]): number;
  /** What is known of all rows of a report before they are looked at; null where that is nothing. */
  readonly bounds: Bounds | null;
}

/** Whether a glance at a report has what it is put in order by. */
export const isOrderKept = (terms: readonly OrderTerm[], scope: CompileScope): boolean =>
  terms.every(({ field }) => isKept(accessFor(scope, field), false));

/** Of a report, the first keys of a row that none of its rows is before: as many as are known. */
export interface Bounds {
  /** With bounds of another report, or with keys of a row. */
  readonly compare: Compare;
  keys(row: Row): Value[];
  /** They are what all of its rows have, in all terms. */
  readonly isWhole: boolean;
}

/** Of the fields of the terms. */
export const typesOf = (terms: readonly OrderTerm[], { entity }: CompileScope): readonly FieldType[] =>
  terms.map(({ field }) => typeOf(entity, field));

export function orderingOf(terms: readonly OrderTerm[], scope: CompileScope): Ordering {
  const access = terms.map((t) => accessFor(scope, t.field));
  const orders = terms.map(({ field, descending }) => orderOf(typeOf(scope.entity, field), descending));
  return {
    compare: compareIn(orders),
    keys: (row) => access.map((a) => a.value(row)),
    compareFirst: (first, keys) => orders[0]!(first, keys[0]!),
    compareRest(row, keys) {
      for (let i = 1; i < access.length; i++) {
        const c = orders[i]!(access[i]!.value(row), keys[i]!);
        if (c !== 0) return c;
      }
      return 0;
    },
    bounds: boundsOf(terms, access, orders),
  };
}

/** Of the first terms that ask for fields of reports, and of one behind them of which reports tell how far it reaches. */
function boundsOf(
  terms: readonly OrderTerm[],
  access: readonly Access[],
  orders: readonly CompareValues[],
): Bounds | null {
  const known: ((row: Row) => Value)[] = [];
  for (const { level, value } of access) {
    if (level === 'sub') break;
    known.push(value);
  }
  const { length } = known;
  const bound = access[length]?.bound;
  if (bound !== undefined) known.push(terms[length]!.descending ? bound.greatest : bound.least);
  if (known.length === 0) return null;
  return {
    compare: compareIn(orders.slice(0, known.length)),
    keys: (row) => known.map((of) => of(row)),
    isWhole: length === terms.length,
  };
}

/**
 * Rows that are equal in all terms come in the order of their nodes and items, or of their reports, whichever way they were found: so that
 * one page goes on where the other ended.
 */
export function withPlaces(ordering: Ordering, shape: Shape = 'item'): Ordering {
  const { bounds } = ordering;
  const nodeOf = (row: Row): number => (shape === 'report' ? 0 : row.nodeId);
  return {
    ...ordering,
    compare: (a, b) => ordering.compare(a, b) || byPlace(a, b),
    keys(row) {
      const keys = ordering.keys(row);
      keys.push(row.part, nodeOf(row), row.itemId, row.subIndex);
      return keys;
    },
    compareRest(row, keys) {
      const at = keys.length - PLACE_KEYS;
      return (
        ordering.compareRest(row, keys) ||
        row.part - (keys[at] as number) ||
        nodeOf(row) - (keys[at + 1] as number) ||
        row.itemId - (keys[at + 2] as number) ||
        row.subIndex - (keys[at + 3] as number)
      );
    },
    bounds:
      bounds?.isWhole === true
        ? {
            compare: (a, b) => bounds.compare(a, b) || byPlace(a, b),
            keys: (row) => [...bounds.keys(row), row.part, nodeOf(row), row.itemId, 0],
            isWhole: true,
          }
        : bounds,
  };
}
const PLACE_KEYS = 4;

/** By what `withPlaces` puts behind the keys. */
function byPlace(a: readonly Value[], b: readonly Value[]): number {
  for (let i = a.length - PLACE_KEYS; i < a.length; i++) {
    const c = (a[i] as number) - (b[i] as number);
    if (c !== 0) return c;
  }
  return 0;
}

interface Entry<P> {
  readonly keys: readonly Value[];
  readonly place: P;
  /** Arrival, so that equal keys keep their order. */
  readonly serial: number;
}

/** So many entries are sorted at once; longer lists are merged from such runs. A power of two. */
export const RUN = 4096;
/** Bytes that `inOrder` takes for each number, and `ranksOf` for each value. */
export const ORDER_BYTES = 2 * Uint32Array.BYTES_PER_ELEMENT;
export const RANK_BYTES = ORDER_BYTES + Uint32Array.BYTES_PER_ELEMENT;

/** The numbers below `length` in order, equal ones by themselves: runs that are sorted at once, and merged. `tick` says when to yield. */
export function* inOrder(
  length: number,
  compare: (a: number, b: number) => number,
  tick: () => boolean,
): Generator<undefined, Uint32Array> {
  const order = (a: number, b: number): number => compare(a, b) || a - b;
  let from = new Uint32Array(length);
  for (let at = 0; at < length; at += RUN) {
    const end = Math.min(at + RUN, length);
    for (let i = at; i < end; i++) from[i] = i;
    from.subarray(at, end).sort(order);
    if (tick()) yield;
  }
  if (length <= RUN) return from;
  let into = new Uint32Array(length);
  for (let width = RUN; width < length; width *= 2) {
    for (let at = 0; at < length; at += 2 * width) {
      const middle = Math.min(at + width, length);
      const end = Math.min(middle + width, length);
      let left = at;
      let right = middle;
      for (let i = at; i < end; i++) {
        const isLeft = right === end || (left < middle && order(from[left]!, from[right]!) <= 0);
        into[i] = from[isLeft ? left++ : right++]!;
        if ((i & (RUN - 1)) === 0 && tick()) yield;
      }
    }
    [from, into] = [into, from];
  }
  return from;
}

/** For each of the values its place among them all, that of the first that is equal in the order counted by one. `tick` says when to yield. */
export function* ranksOf(
  values: readonly Value[],
  compare: CompareValues,
  tick: () => boolean,
): Generator<undefined, Uint32Array> {
  const order = yield* inOrder(values.length, (a, b) => compare(values[a]!, values[b]!), tick);
  const ranks = new Uint32Array(values.length);
  let rank = 0;
  for (let i = 0; i < order.length; i++) {
    // Values that are equal in the order need not be the same.
    if (i > 0 && compare(values[order[i - 1]!]!, values[order[i]!]!) !== 0) rank++;
    ranks[order[i]!] = rank;
    if ((i & (RUN - 1)) === 0 && tick()) yield;
  }
  return ranks;
}

/** How many more than are wanted are taken in before those that are too many are found: so many, or that share of what is wanted if it is more. */
const ROOM_MIN = 64;
const ROOM_SHARE = 0.5;

/**
 * Keeps the smallest `end` entries (all for null), of which those from `from` on are asked for. What is too much is found now and then by
 * selection: for pages that lie deep that is a few comparisons an entry, where a heap would take some for each of its levels.
 */
export class TopEntries<P> {
  readonly #compare: Compare;
  readonly #from: number;
  readonly #end: number;
  readonly #room: number;
  #entries: Entry<P>[] = [];
  /** The last one of as many as are kept, once there are so many; what comes behind it is not taken in. */
  #last: Entry<P> | null = null;
  #serial = 0;

  constructor(compare: Compare, from: number, end: number | null) {
    this.#compare = compare;
    this.#from = from;
    this.#end = end ?? Number.POSITIVE_INFINITY;
    this.#room = Math.max(ROOM_MIN, Math.ceil(this.#end * ROOM_SHARE));
  }

  add(keys: readonly Value[], place: () => P): void {
    const entries = this.#entries;
    const serial = this.#serial++;
    if (this.#end === 0) return;
    if (this.#last !== null && this.#compare(keys, this.#last.keys) >= 0) return; // a later equal one loses
    entries.push({ keys, place: place(), serial });
    const over = entries.length - this.#end;
    if (over === 0) this.#last = this.#largest();
    else if (over === this.#room) this.#cut();
  }

  /** Keys of the last one of as many as are kept, or of one behind it; null while there is room. */
  get last(): readonly Value[] | null {
    return this.#last?.keys ?? null;
  }

  /** How many are kept, those before the ones that are asked for included. */
  get size(): number {
    return Math.min(this.#entries.length, this.#end);
  }

  /** The entries that were asked for in order; this has none afterwards. Very many take long: `tick` says when to yield. */
  *sorted(tick: () => boolean): Generator<undefined, Entry<P>[]> {
    if (this.#entries.length > this.#end) this.#cut();
    const from = this.#entries;
    this.#entries = [];
    if (this.#from >= from.length) return [];
    if (this.#from > 0) this.#select(from, this.#from);
    if (tick()) yield;
    const entries = this.#from === 0 ? from : from.slice(this.#from);
    if (entries.length <= RUN) return entries.sort((a, b) => this.#order(a, b));
    const order = yield* inOrder(entries.length, (a, b) => this.#order(entries[a]!, entries[b]!), tick);
    return Array.from(order, (place) => entries[place]!);
  }

  #order(a: Entry<P>, b: Entry<P>): number {
    return this.#compare(a.keys, b.keys) || a.serial - b.serial;
  }

  #largest(): Entry<P> {
    return this.#entries.reduce((last, entry) => (this.#order(entry, last) > 0 ? entry : last));
  }

  /** Lets those go that are too many. */
  #cut(): void {
    this.#select(this.#entries, this.#end - 1);
    this.#entries.length = this.#end;
    this.#last = this.#entries[this.#end - 1]!;
  }

  /** Puts the entry there that belongs at that place in order, with those before it before it. No two are equal, as they have serials. */
  #select(entries: Entry<P>[], place: number): void {
    let low = 0;
    let high = entries.length - 1;
    while (low < high) {
      const pivot = this.#middle(entries[low]!, entries[(low + high) >>> 1]!, entries[high]!);
      let left = low;
      let right = high;
      while (left <= right) {
        while (this.#order(entries[left]!, pivot) < 0) left++;
        while (this.#order(entries[right]!, pivot) > 0) right--;
        if (left > right) break;
        [entries[left], entries[right]] = [entries[right]!, entries[left]!];
        left++;
        right--;
      }
      if (place <= right) high = right;
      else if (place >= left) low = left;
      else return;
    }
  }

  /** The second in order of three. */
  #middle(a: Entry<P>, b: Entry<P>, c: Entry<P>): Entry<P> {
    const [first, second] = this.#order(a, b) <= 0 ? [a, b] : [b, a];
    if (this.#order(c, first) <= 0) return first;
    return this.#order(c, second) <= 0 ? c : second;
  }
}
