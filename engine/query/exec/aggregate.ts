// Aggregates and groups. Rows fold into one accumulator set per group; where nothing reads the node, a shared item is folded
// once with the number of its nodes as weight. Where fields of the node and fields of the item are read, but none that is of both,
// a row is a pair of sides: what the groups read of each is found once for all rows that are equal in it.

import type { FieldType } from '../../../schemas/entities.ts';
import { compareNumbers } from '../../json/compare.ts';
import { type Float, isNumber, type JsonValue } from '../../json/value.ts';
import { PairNumbers } from '../../pair-numbers.ts';
import { DecimalSum } from '../format/decimal.ts';
import { Decimal } from '../format/decimal-value.ts';
import type { Column, QueryTree } from '../tree.ts';
import { type Access, textOf, type Value } from './access.ts';
import { type CompileScope, typeOf } from './filter.ts';
import { argumentOf, type Key, keyOf, numberOfKeys, pairNumbersFor } from './group-keys.ts';
import { comparisonOf } from './order.ts';
import { accessRef, shownAccess } from './output.ts';
import type { Row } from './row.ts';

interface Accumulator {
  add(row: Row, weight: number): void;
  /** Adds so many times what another one of the same column has. */
  absorb(other: this, weight: number): void;
  /** JSON text. */
  result(): string;
}

export interface GroupedRow {
  readonly json: string;
  /** For ordering: values of the fields that are grouped by and ordered by, by name. */
  readonly values: ReadonlyMap<string, Value>;
}

/** A field that groups are ordered by. */
interface Field {
  readonly name: string;
  readonly access: Access;
}

interface Group {
  readonly texts: readonly (string | null)[];
  readonly values: ReadonlyMap<string, Value>;
  readonly accumulators: readonly (Accumulator | null)[];
}

/** Rows' node, or the rest of them, as far as groups read it. By column: null where the other side has it. */
export interface Side extends Group {
  /** Equal for those that groups do not tell apart by. */
  readonly key: number;
  /** Equal for those that are equal in all that is read, counted from 0. */
  readonly number: number;
}

export const isAggregated = (tree: QueryTree): boolean =>
  tree.groupBy !== null || tree.columns.some((c) => c.kind === 'aggregate');

export class Grouping {
  readonly #tree: QueryTree;
  readonly #columns: readonly (Access | null)[];
  /** Which columns are the node's. */
  readonly #ofNode: readonly boolean[];
  /** What stands before the value of each column. */
  readonly #heads: readonly string[];
  readonly #keys: readonly Key[];
  /** What the functions read. */
  readonly #args: readonly Access[];
  readonly #fields: readonly Field[];
  readonly #scope: CompileScope;
  /** For each key but the first: the numbers of what the keys up to it are together. */
  readonly #combined: readonly PairNumbers[];
  /** The numbers of pairs of sides, by their keys. */
  readonly #pairs = new PairNumbers();
  /** By the number of what the keys of its rows are, which is that of their first ones. */
  readonly #groups: Group[] = [];
  /** What columns, keys and arguments read of a row. */
  readonly reads: readonly Access[];
  /** true when none of them reads the node. */
  readonly itemOnly: boolean;
  /** true when none of them reads node and item together: then rows can be added as pairs of sides. */
  readonly isSided: boolean;

  constructor(tree: QueryTree, scope: CompileScope) {
    this.#tree = tree;
    this.#scope = scope;
    this.#columns = tree.columns.map((c) => (c.kind === 'aggregate' ? null : shownAccess(c, scope)));
    this.#heads = tree.columns.map(({ key }, i) => `${i === 0 ? '{' : ','}${JSON.stringify(key)}:`);
    this.#keys = (tree.groupBy ?? []).map((key) => keyOf(key, tree.columns, scope));
    const grouped = (tree.groupBy ?? []).flatMap((k) =>
      k.kind === 'ref' && k.ref.kind === 'field' ? [k.ref.field] : [],
    );
    const ordered = new Set(tree.orderBy.map(({ field }) => field).filter((name) => grouped.includes(name)));
    this.#fields = [...ordered].map((name) => ({
      name,
      access: accessRef({ kind: 'field', field: name }, scope),
    }));
    const args = tree.columns.map((c) => (c.kind === 'aggregate' && c.ref !== null ? accessRef(c.ref, scope) : null));
    this.#ofNode = tree.columns.map((_, i) => (this.#columns[i] ?? args[i])?.level === 'node');
    this.#args = args.filter((access) => access !== null);
    const shown = this.#columns.filter((access) => access !== null);
    this.reads = [...shown, ...this.#keys.map((key) => key.access), ...this.#args];
    this.itemOnly = this.reads.every((a) => a.level !== 'node' && a.level !== 'row');
    this.isSided = this.reads.every((a) => a.level !== 'row');
    this.#combined = pairNumbersFor(this.#keys);
    if (tree.groupBy === null) this.#groups.push(this.#fresh(null));
  }

  add(row: Row, weight: number): void {
    const number = numberOfKeys(this.#keys, this.#combined, row);
    const { accumulators } = (this.#groups[number] ??= this.#fresh(row));
    for (let i = 0; i < accumulators.length; i++) accumulators[i]?.add(row, weight);
  }

  /** The sides that are nodes, or the other ones. */
  sides(areNodes: boolean): Sides {
    const isOfSide = ({ level }: Access): boolean => (level === 'node') === areNodes;
    const keys = this.#keys.filter(({ access }) => isOfSide(access));
    const fields = this.#fields.filter(({ access }) => isOfSide(access));
    const make = (row: Row): Group => {
      const side = this.#made(row, fields, (i) => this.#ofNode[i] === areNodes);
      for (const accumulator of side.accumulators) accumulator?.add(row, 1);
      return side;
    };
    return new Sides(keys, this.#args.filter(isOfSide), make);
  }

  /** The same as `add` for so many rows that have this node's side and this other one. One grouping takes rows or sides. */
  addSides(node: Side, rest: Side, weight: number): void {
    const number = this.#pairs.of(node.key, rest.key);
    const { accumulators } = (this.#groups[number] ??= this.#joined(node, rest));
    for (let i = 0; i < accumulators.length; i++) {
      const accumulator = accumulators[i]!;
      if (accumulator === null) continue;
      const side = this.#ofNode[i] ? node : rest;
      accumulator.absorb(side.accumulators[i]!, weight);
    }
  }

  get size(): number {
    return this.#groups.length;
  }

  *rows(): Generator<GroupedRow> {
    const heads = this.#heads;
    for (const { accumulators, texts, values } of this.#groups) {
      let json = '';
      for (let i = 0; i < heads.length; i++) json += heads[i]! + (accumulators[i]?.result() ?? texts[i] ?? 'null');
      yield { json: `${json === '' ? '{' : json}}`, values };
    }
  }

  #fresh(row: Row | null): Group {
    return this.#made(row, this.#fields, () => true);
  }

  #made(row: Row | null, fields: readonly Field[], has: (column: number) => boolean): Group {
    const isShown = (access: Access | null, i: number): access is Access => access !== null && row !== null && has(i);
    return {
      texts: this.#columns.map((access, i) => (isShown(access, i) ? textOf(access, row!) : null)),
      values: row === null ? NO_VALUES : valuesOf(fields, row),
      accumulators: this.#accumulators(has),
    };
  }

  #accumulators(has: (column: number) => boolean): (Accumulator | null)[] {
    return this.#tree.columns.map((c, i) => (c.kind === 'aggregate' && has(i) ? accumulatorOf(c, this.#scope) : null));
  }

  #joined(node: Side, rest: Side): Group {
    return {
      texts: this.#ofNode.map((isOfNode, i) => (isOfNode ? node : rest).texts[i] ?? null),
      values: this.#fields.length === 0 ? NO_VALUES : new Map([...node.values, ...rest.values]),
      accumulators: this.#accumulators(() => true),
    };
  }
}

const NO_VALUES: ReadonlyMap<string, Value> = new Map();

const valuesOf = (fields: readonly Field[], row: Row): ReadonlyMap<string, Value> =>
  fields.length === 0 ? NO_VALUES : new Map(fields.map(({ name, access }) => [name, access.value(row)]));

/** Sides of one kind, as many as are remembered. */
export class Sides {
  readonly #keys: readonly Key[];
  readonly #combined: readonly PairNumbers[];
  readonly #reads: readonly Access[];
  readonly #make: (row: Row) => Group;
  #args: readonly Key[] = [];
  #withArgs: readonly PairNumbers[] = [];
  #all: Side[] = [];
  #byNumber: (Side | undefined)[] = [];

  constructor(keys: readonly Key[], args: readonly Access[], make: (row: Row) => Group) {
    this.#keys = keys;
    this.#combined = pairNumbersFor(keys);
    this.#reads = args;
    this.#make = make;
    this.forget();
  }

  /** What is read of the rows. */
  get reads(): readonly Access[] {
    return [...this.#keys.map(({ access }) => access), ...this.#reads];
  }

  /** How many are remembered: their numbers are below it. */
  get size(): number {
    return this.#all.length;
  }

  at(number: number): Side {
    return this.#all[number]!;
  }

  of(row: Row): Side {
    const key = numberOfKeys(this.#keys, this.#combined, row);
    let number = key;
    for (let i = 0; i < this.#args.length; i++) number = this.#withArgs[i]!.of(number, this.#args[i]!.of(row));
    let side = this.#byNumber[number];
    if (side === undefined) {
      side = { ...this.#make(row), key, number: this.#all.length };
      this.#all.push(side);
      this.#byNumber[number] = side;
    }
    return side;
  }

  /** Remembers none of them any more: numbers begin again, keys stay what they were. */
  forget(): void {
    this.#args = this.#reads.map(argumentOf);
    this.#withArgs = this.#reads.map(() => new PairNumbers());
    this.#all = [];
    this.#byNumber = [];
  }
}

type Aggregate = Extract<Column, { kind: 'aggregate' }>;

function accumulatorOf(column: Aggregate, scope: CompileScope): Accumulator {
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
  #count = 0;
  constructor(access: Access | null) {
    this.#access = access;
  }
  add(row: Row, weight: number): void {
    if (this.#access === null || this.#access.value(row) !== null) this.#count += weight;
  }
  absorb(other: Count, weight: number): void {
    this.#count += other.#count * weight;
  }
  result(): string {
    return String(this.#count);
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
  readonly #sum = new DecimalSum();
  #count = 0;
  constructor(access: Access, fn: 'sum' | 'avg') {
    this.#access = access;
    this.#fn = fn;
  }
  add(row: Row, weight: number): void {
    const number = numberOf(this.#access.value(row) as JsonValue);
    if (number === null) return;
    this.#sum.add(number, weight);
    this.#count += weight;
  }
  absorb(other: Sum, weight: number): void {
    this.#sum.addSum(other.#sum, weight);
    this.#count += other.#count * weight;
  }
  result(): string {
    if (this.#count === 0) return 'null';
    return this.#fn === 'sum' ? this.#sum.sum() : this.#sum.avg(this.#count);
  }
}

/** Among what the least or the greatest is sought. */
interface Candidates<T> {
  /** null: the row has none. */
  of(row: Row): T | null;
  compare(a: T, b: T): number;
  /** JSON text of the one that the row has. */
  shown(value: T, row: Row): string;
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
    if (type === 'PA') return JSON.stringify((value as readonly (string | number)[]).map(String));
    return textOf(access, row);
  },
});

class Extreme<T> implements Accumulator {
  readonly #candidates: Candidates<T>;
  readonly #max: boolean;
  #best: T | null = null;
  #json = 'null';
  constructor(candidates: Candidates<T>, max: boolean) {
    this.#candidates = candidates;
    this.#max = max;
  }
  add(row: Row): void {
    const value = this.#candidates.of(row);
    if (value === null || !this.#isBetter(value)) return;
    this.#best = value;
    this.#json = this.#candidates.shown(value, row);
  }
  absorb(other: Extreme<T>): void {
    if (other.#best === null || !this.#isBetter(other.#best)) return;
    this.#best = other.#best;
    this.#json = other.#json;
  }
  #isBetter(value: T): boolean {
    if (this.#best === null) return true;
    const c = this.#candidates.compare(value, this.#best);
    return this.#max ? c > 0 : c < 0;
  }
  result(): string {
    return this.#json;
  }
}
