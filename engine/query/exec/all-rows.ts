// Rows that are put in order without a limit. They may be very many, so of each there are numbers only, some thirty bytes: where it is, and
// by term a number or which of the values it has. Each value is kept once, and put in order among themselves once all are there.

import type { FieldType } from '../../../schemas/entities.ts';
import { identityText } from '../../json/compare.ts';
import type { JsonValue } from '../../json/value.ts';
import type { OrderTerm } from '../tree.ts';
import type { Value } from './access.ts';
import type { ExecContext } from './context.ts';
import { type CompareValues, orderOf } from './order.ts';
import type { Locator } from './row.ts';

/** Entries of a column that are allocated together. A power of two. */
const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK - 1;
/** So many numbers are sorted at once; more are merged from such runs. A power of two. */
const RUN = 4096;
/** Bytes that a value takes in memory and in the map that finds it, beside those of its text. */
const VALUE_BYTES = 100;

type Numbers = Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** Numbers, one a row, in chunks: they grow without being copied. */
class Column {
  readonly #ctx: ExecContext;
  readonly #make: (size: number) => Numbers;
  readonly #chunks: Numbers[] = [];
  length = 0;

  constructor(ctx: ExecContext, make: (size: number) => Numbers) {
    this.#ctx = ctx;
    this.#make = make;
  }

  push(value: number): void {
    const place = this.length & CHUNK_MASK;
    if (place === 0) {
      const chunk = this.#make(CHUNK);
      this.#ctx.holdForOrder(chunk.byteLength);
      this.#chunks.push(chunk);
    }
    this.#chunks[this.length >>> CHUNK_BITS]![place] = value;
    this.length++;
  }

  at(row: number): number {
    return this.#chunks[row >>> CHUNK_BITS]![row & CHUNK_MASK]!;
  }

  set(row: number, value: number): void {
    this.#chunks[row >>> CHUNK_BITS]![row & CHUNK_MASK] = value;
  }
}

const whole = (size: number): Numbers => new Uint32Array(size);
const fractions = (size: number): Numbers => new Float64Array(size);

/** What a row has for one term. In the end smaller numbers come first. */
interface Key {
  readonly column: Column;
  add(value: Value): void;
  finish(tick: () => boolean): Generator<undefined, void>;
}

/** Numbers are compared as they are; null comes behind all, or, descending, before. */
class NumberKey implements Key {
  readonly column: Column;
  readonly #sign: number;

  constructor(ctx: ExecContext, { descending }: OrderTerm) {
    this.column = new Column(ctx, fractions);
    this.#sign = descending ? -1 : 1;
  }

  add(value: Value): void {
    this.column.push(this.#sign * (value === null ? Number.POSITIVE_INFINITY : Number(value)));
  }

  *finish(): Generator<undefined, void> {}
}

/** Of other values their numbers, and in the end their places among all of them. */
class ValueKey implements Key {
  readonly column: Column;
  readonly #ctx: ExecContext;
  readonly #compare: CompareValues;
  readonly #numbers = new Map<unknown, number>();
  #values: Value[] = [];

  constructor(ctx: ExecContext, compare: CompareValues) {
    this.#ctx = ctx;
    this.column = new Column(ctx, whole);
    this.#compare = compare;
  }

  add(value: Value): void {
    const isObject = typeof value === 'object' && value !== null;
    // No text begins so.
    const identity = isObject ? `\u0000${identityText(value as JsonValue)}` : value;
    let number = this.#numbers.get(identity);
    if (number === undefined) {
      this.#ctx.holdForOrder(VALUE_BYTES + (typeof identity === 'string' ? (isObject ? 3 : 1) * identity.length : 0));
      number = this.#values.length;
      this.#numbers.set(identity, number);
      this.#values.push(value);
    }
    this.column.push(number);
  }

  *finish(tick: () => boolean): Generator<undefined, void> {
    this.#numbers.clear();
    const values = this.#values;
    this.#values = [];
    const order = yield* inOrder(values.length, (a, b) => this.#compare(values[a]!, values[b]!), this.#ctx, tick);
    const ranks = new Uint32Array(values.length);
    let rank = 0;
    for (let i = 0; i < order.length; i++) {
      // Values that are equal in the order need not be the same.
      if (i > 0 && this.#compare(values[order[i - 1]!]!, values[order[i]!]!) !== 0) rank++;
      ranks[order[i]!] = rank;
      if ((i & (RUN - 1)) === 0 && tick()) yield;
    }
    const { column } = this;
    for (let row = 0; row < column.length; row++) {
      column.set(row, ranks[column.at(row)]!);
      if ((row & (RUN - 1)) === 0 && tick()) yield;
    }
  }
}

const isNumeric = (type: FieldType): boolean => type === 'N' || type === 'T' || type === 'B';

/** Takes rows in and gives their places out, in order. Equal ones come as they came. Throws QueryError when they are more than there is room for. */
export class AllRows {
  readonly #ctx: ExecContext;
  readonly #keys: readonly Key[];
  readonly #part: Column;
  readonly #node: Column;
  readonly #item: Column;
  readonly #sub: Column;
  /** Empty as long as no place has one. */
  readonly #spots: unknown[] = [];

  /** `types`: of the fields of the terms. */
  constructor(terms: readonly OrderTerm[], types: readonly FieldType[], ctx: ExecContext) {
    this.#ctx = ctx;
    this.#keys = terms.map((term, i) =>
      isNumeric(types[i]!) ? new NumberKey(ctx, term) : new ValueKey(ctx, orderOf(types[i]!, term.descending)),
    );
    this.#part = new Column(ctx, whole);
    this.#node = new Column(ctx, whole);
    this.#item = new Column(ctx, whole);
    this.#sub = new Column(ctx, whole);
  }

  /** Nothing is ever behind the last row. */
  readonly last = null;

  get size(): number {
    return this.#part.length;
  }

  /** Keys by term. */
  add(keys: readonly Value[], place: () => Locator): void {
    for (let i = 0; i < this.#keys.length; i++) this.#keys[i]!.add(keys[i]!);
    const { part, node, item, sub, spot } = place();
    if (spot !== null) {
      this.#ctx.holdForOrder(VALUE_BYTES);
      this.#spots[this.size] = spot;
    }
    this.#part.push(part);
    this.#node.push(node);
    this.#item.push(item);
    this.#sub.push(sub);
  }

  /** The places in order from that one on. Very many take long: `tick` says when to yield. */
  *sorted(from: number, tick: () => boolean): Generator<undefined, Iterable<Locator>> {
    const columns: Column[] = [];
    for (const key of this.#keys) {
      yield* key.finish(tick);
      columns.push(key.column);
    }
    const compare = (a: number, b: number): number => {
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!;
        const x = column.at(a);
        const y = column.at(b);
        if (x !== y) return x < y ? -1 : 1;
      }
      return 0;
    };
    return this.#places(yield* inOrder(this.size, compare, this.#ctx, tick), from);
  }

  *#places(order: Uint32Array, from: number): Generator<Locator> {
    for (let i = from; i < order.length; i++) {
      const row = order[i]!;
      yield {
        part: this.#part.at(row),
        node: this.#node.at(row),
        item: this.#item.at(row),
        sub: this.#sub.at(row),
        spot: this.#spots[row] ?? null,
      };
    }
  }
}

/** The numbers below `length` in order, equal ones by themselves: runs that are sorted at once, and merged. */
function* inOrder(
  length: number,
  compare: (a: number, b: number) => number,
  ctx: ExecContext,
  tick: () => boolean,
): Generator<undefined, Uint32Array> {
  const order = (a: number, b: number): number => compare(a, b) || a - b;
  ctx.holdForOrder(length * 2 * Uint32Array.BYTES_PER_ELEMENT);
  let from = Uint32Array.from({ length }, (_, i) => i);
  for (let at = 0; at < length; at += RUN) {
    from.subarray(at, at + RUN).sort(order);
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
