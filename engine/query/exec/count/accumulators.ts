// What functions make of the rows of each group: counts, sums, averages, the least and the greatest.

import type { FieldType } from '../../../../schemas/entities.ts';
import { compareNumbers } from '../../../json/compare.ts';
import { type Float, isNumber, type JsonValue } from '../../../json/value.ts';
import { quotedTime } from '../../../store/records/fields.ts';
import { DecimalSum } from '../../format/decimal.ts';
import { Decimal } from '../../format/decimal-value.ts';
import type { Column } from '../../tree.ts';
import { type CompileScope, typeOf } from '../filter/filter.ts';
import { comparisonOf } from '../order/order.ts';
import { accessRef } from '../plan/columns.ts';
import { type Access, textOf, type Value } from '../row/access.ts';
import type { Row } from '../row/row.ts';

/** What a function makes of the rows of each group. Groups are numbered from 0 on. */
export interface Accumulator {
  add(group: number, row: Row, weight: number): void;
  /** Adds so many times what another one of the same column has of its group `from`. */
  absorb(group: number, other: this, from: number, weight: number): void;
  /** JSON text. */
  result(group: number): string;
}

type Aggregate = Extract<Column, { kind: 'aggregate' }>;

export function accumulatorOf(column: Aggregate, scope: CompileScope): Accumulator {
  const access = column.ref === null ? null : accessRef(column.ref, scope);
  const type = column.ref?.kind === 'field' ? typeOf(scope.entity, column.ref.field) : 'J';
  if (column.absent === true) return column.fn === 'count' ? NOTHING_COUNTED : NOTHING_FOUND;
  switch (column.fn) {
    case 'count':
      return new Count(access);
    case 'sum':
    case 'avg':
      return new Sum(access!, column.fn);
    case 'min':
    case 'max':
      return type === 'V'
        ? new Extreme(countables(access!), column.fn === 'max')
        : new Extreme(values(access!, type), column.fn === 'max');
  }
}

const NOTHING_COUNTED: Accumulator = { add: () => {}, absorb: () => {}, result: () => '0' };
const NOTHING_FOUND: Accumulator = { add: () => {}, absorb: () => {}, result: () => 'null' };

class Count implements Accumulator {
  readonly #access: Access | null;
  readonly #counts: number[] = [];
  constructor(access: Access | null) {
    this.#access = access;
  }
  add(group: number, row: Row, weight: number): void {
    this.#add(group, this.#access === null || this.#access.value(row) !== null ? weight : 0);
  }
  absorb(group: number, other: Count, from: number, weight: number): void {
    this.#add(group, other.#counts[from]! * weight);
  }
  result(group: number): string {
    return String(this.#counts[group] ?? 0);
  }
  #add(group: number, count: number): void {
    this.#counts[group] = (this.#counts[group] ?? 0) + count;
  }
}

/** What a value counts as where numbers are wanted: a number, or the number that a text spells. Else null. */
function numberOf(value: JsonValue): Countable | null {
  if (isNumber(value)) return value;
  return typeof value === 'string' ? Decimal.parse(value) : null;
}
type Countable = number | bigint | Float | Decimal;

function compareCountable(a: Countable, b: Countable): number {
  const isPlain = !(a instanceof Decimal || b instanceof Decimal);
  return isPlain ? compareNumbers(a, b) : decimalOf(a).compare(decimalOf(b));
}
const decimalOf = (value: Countable): Decimal => (value instanceof Decimal ? value : Decimal.of(value));

class Sum implements Accumulator {
  readonly #access: Access;
  readonly #fn: 'sum' | 'avg';
  readonly #sums: (DecimalSum | undefined)[] = [];
  readonly #counts: number[] = [];
  constructor(access: Access, fn: 'sum' | 'avg') {
    this.#access = access;
    this.#fn = fn;
  }
  add(group: number, row: Row, weight: number): void {
    const number = numberOf(this.#access.value(row) as JsonValue);
    if (number === null) return;
    (this.#sums[group] ??= new DecimalSum()).add(number, weight);
    this.#counts[group] = (this.#counts[group] ?? 0) + weight;
  }
  absorb(group: number, other: Sum, from: number, weight: number): void {
    const sum = other.#sums[from];
    if (sum === undefined) return;
    (this.#sums[group] ??= new DecimalSum()).addSum(sum, weight);
    this.#counts[group] = (this.#counts[group] ?? 0) + other.#counts[from]! * weight;
  }
  result(group: number): string {
    const sum = this.#sums[group];
    if (sum === undefined) return 'null';
    return this.#fn === 'sum' ? sum.sum() : sum.avg(this.#counts[group]!);
  }
}

/** Among what the least or the greatest is sought. */
interface Candidates<T> {
  /** null: the row has none. */
  of(row: Row): T | null;
  compare(a: T, b: T): number;
  /** JSON text of the one that the row has; null: it is made of the one that is left in the end. */
  shown(value: T, row: Row): string | null;
}

const countables = (access: Access): Candidates<Countable> => ({
  of: (row) => numberOf(access.value(row) as JsonValue),
  compare: compareCountable,
  shown: (value, row) => (value instanceof Decimal ? value.text : textOf(access, row)),
});

const values = (access: Access, type: FieldType): Candidates<NonNullable<Value>> => ({
  of: (row) => access.value(row),
  compare: comparisonOf(type),
  /** Values of events and paths are shown as they are stored, not as what a column of their own name makes of them. */
  shown(value, row) {
    if (typeof value === 'string') return JSON.stringify(value);
    if (type === 'T') return null;
    if (type === 'PA') return JSON.stringify((value as readonly (string | number)[]).map(String));
    return textOf(access, row);
  },
});

class Extreme<T> implements Accumulator {
  readonly #candidates: Candidates<T>;
  readonly #max: boolean;
  readonly #best: (T | undefined)[] = [];
  readonly #json: (string | null)[] = [];
  constructor(candidates: Candidates<T>, max: boolean) {
    this.#candidates = candidates;
    this.#max = max;
  }
  add(group: number, row: Row): void {
    const value = this.#candidates.of(row);
    if (value === null || !this.#isBetter(value, group)) return;
    this.#best[group] = value;
    this.#json[group] = this.#candidates.shown(value, row);
  }
  absorb(group: number, other: Extreme<T>, from: number): void {
    const value = other.#best[from];
    if (value === undefined || !this.#isBetter(value, group)) return;
    this.#best[group] = value;
    this.#json[group] = other.#json[from]!;
  }
  #isBetter(value: T, group: number): boolean {
    const best = this.#best[group];
    if (best === undefined) return true;
    const c = this.#candidates.compare(value, best);
    return this.#max ? c > 0 : c < 0;
  }
  result(group: number): string {
    const best = this.#best[group];
    return best === undefined ? 'null' : (this.#json[group] ?? quotedTime(best as number));
  }
}
