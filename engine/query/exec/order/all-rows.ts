// Rows that are put in order all together: without a limit, or for a page that ends very far behind. They may be very many, so of each there
// are numbers only, some thirty bytes: where it is, and by term a number or which of the values it has. Each value is kept once, and put in
// order among themselves once all are there.

import type { FieldType } from '../../../../schemas/entities.ts';
import { identityText } from '../../../json/compare.ts';
import type { JsonValue } from '../../../json/value.ts';
import type { OrderTerm } from '../../tree.ts';
import type { ExecContext } from '../plan/context.ts';
import type { Value } from '../row/access.ts';
import type { Shape } from '../row/entities.ts';
import type { Hold } from '../row/room.ts';
import type { Locator } from '../row/row.ts';
import { type CompareValues, inOrder, ORDER_BYTES, type Ordering, orderOf, RANK_BYTES, RUN, ranksOf } from './order.ts';

/** Few rows with short keys are kept as they are, which is faster: so many, with so many characters. */
const FEW = 4096;
const FEW_LENGTH = 1 << 20;
/** Entries of a column that are allocated together. A power of two. */
const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK - 1;
/** Bytes that a value takes in memory and in the map that finds it, beside those of its text. */
const VALUE_BYTES = 100;

type Numbers = Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** Numbers, one a row, in chunks: they grow without being copied. */
class Column {
  readonly #hold: Hold;
  readonly #make: (size: number) => Numbers;
  readonly #chunks: Numbers[] = [];
  length = 0;

  constructor(hold: Hold, make: (size: number) => Numbers) {
    this.#hold = hold;
    this.#make = make;
  }

  push(value: number): void {
    const place = this.length & CHUNK_MASK;
    if (place === 0) {
      const chunk = this.#make(CHUNK);
      this.#hold(chunk.byteLength);
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

  constructor(hold: Hold, { descending }: OrderTerm) {
    this.column = new Column(hold, fractions);
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
  readonly #hold: Hold;
  readonly #compare: CompareValues;
  readonly #numbers = new Map<unknown, number>();
  #values: Value[] = [];

  constructor(hold: Hold, compare: CompareValues) {
    this.#hold = hold;
    this.column = new Column(hold, whole);
    this.#compare = compare;
  }

  add(value: Value): void {
    const isObject = typeof value === 'object' && value !== null;
    // No text begins so.
    const identity = isObject ? `\u0000${identityText(value as JsonValue)}` : value;
    let number = this.#numbers.get(identity);
    if (number === undefined) {
      this.#hold(VALUE_BYTES + (typeof identity === 'string' ? (isObject ? 3 : 1) * identity.length : 0));
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
    this.#hold(values.length * RANK_BYTES);
    const ranks = yield* ranksOf(values, this.#compare, tick);
    const { column } = this;
    for (let row = 0; row < column.length; row++) {
      column.set(row, ranks[column.at(row)]!);
      if ((row & (RUN - 1)) === 0 && tick()) yield;
    }
  }
}

const isNumeric = (type: FieldType): boolean => type === 'N' || type === 'T' || type === 'B';
/** Whether it is known how much a value of the type takes. */
const isPlain = (type: FieldType): boolean => type === 'S' || isNumeric(type);

interface AllRowsOptions {
  readonly terms: readonly OrderTerm[];
  /** Of the fields of the terms. */
  readonly types: readonly FieldType[];
  /** The same order; rows are added with its keys. */
  readonly ordering: Pick<Ordering, 'compare'>;
  /** Whether rows that are equal in all terms come by their places, as the ordering has it (`withPlaces`), and of which shape they are; null: as they came. */
  readonly placed: Shape | null;
  /** The first row that is asked for, and the one behind the last. */
  readonly from: number;
  readonly end: number;
}

/** Takes rows in and gives their places out, in order. Throws QueryError when they are more than there is room for. */
export class AllRows {
  readonly #options: AllRowsOptions;
  readonly #ctx: ExecContext;
  /** Bytes of the rows' keys, given back once they are in order. */
  #keyBytes = 0;
  #few: { readonly keys: readonly Value[]; readonly place: Locator }[] | null;
  /** Characters of their keys. */
  #fewLength = 0;
  #keys: readonly Key[];
  readonly #part: Column;
  readonly #node: Column;
  readonly #item: Column;
  readonly #sub: Column;
  /** Empty as long as no place has one. */
  readonly #spots: unknown[] = [];

  readonly #hold: Hold = (bytes) => this.#ctx.hold(bytes, 'order');
  readonly #holdKeys: Hold = (bytes) => {
    this.#hold(bytes);
    this.#keyBytes += bytes;
  };

  constructor(options: AllRowsOptions, ctx: ExecContext) {
    this.#options = options;
    this.#ctx = ctx;
    const { terms, types } = options;
    this.#few = types.every(isPlain) ? [] : null;
    this.#keys = terms.map((term, i) =>
      isNumeric(types[i]!)
        ? new NumberKey(this.#holdKeys, term)
        : new ValueKey(this.#holdKeys, orderOf(types[i]!, term.descending)),
    );
    this.#part = new Column(this.#hold, whole);
    this.#node = new Column(this.#hold, whole);
    this.#item = new Column(this.#hold, whole);
    this.#sub = new Column(this.#hold, whole);
  }

  /** Nothing is ever behind the last row. */
  readonly last = null;

  get size(): number {
    return this.#few?.length ?? this.#part.length;
  }

  /** Keys as the ordering makes them. */
  add(keys: readonly Value[], place: () => Locator): void {
    if (this.#few === null) {
      this.#add(keys, place());
      return;
    }
    this.#few.push({ keys, place: place() });
    for (const key of keys) if (typeof key === 'string') this.#fewLength += key.length;
    if (this.#few.length <= FEW && this.#fewLength <= FEW_LENGTH) return;
    const few = this.#few;
    this.#few = null;
    for (const row of few) this.#add(row.keys, row.place);
  }

  #add(keys: readonly Value[], { part, node, item, sub, spot }: Locator): void {
    for (let i = 0; i < this.#keys.length; i++) this.#keys[i]!.add(keys[i]!);
    if (spot !== null) {
      this.#hold(VALUE_BYTES);
      this.#spots[this.size] = spot;
    }
    this.#part.push(part);
    this.#node.push(node);
    this.#item.push(item);
    this.#sub.push(sub);
  }

  /** The places that were asked for in order; this has no rows afterwards. Very many take long: `tick` says when to yield. */
  *sorted(tick: () => boolean): Generator<undefined, Iterable<Locator>> {
    const { ordering, placed, from, end } = this.#options;
    const few = this.#few;
    if (few !== null) {
      this.#few = [];
      const order = yield* inOrder(few.length, (a, b) => ordering.compare(few[a]!.keys, few[b]!.keys), tick);
      return Array.from(order.subarray(from, end), (row) => few[row]!.place);
    }
    for (const key of this.#keys) yield* key.finish(tick);
    const places = [this.#part, ...(placed === 'report' ? [] : [this.#node]), this.#item, this.#sub];
    const columns = [...this.#keys.map(({ column }) => column), ...(placed === null ? [] : places)];
    this.#holdKeys(this.size * ORDER_BYTES);
    const order = yield* inOrder(this.size, (a, b) => byColumns(columns, a, b), tick);
    this.#keys = [];
    this.#hold(-this.#keyBytes);
    this.#hold(order.byteLength);
    return this.#places(order.subarray(from, end));
  }

  *#places(order: Uint32Array): Generator<Locator> {
    for (const row of order) {
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

function byColumns(columns: readonly Column[], a: number, b: number): number {
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]!;
    const x = column.at(a);
    const y = column.at(b);
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}
