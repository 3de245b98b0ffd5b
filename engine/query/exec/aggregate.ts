// Aggregates and groups. Rows fold into one accumulator set per group; where nothing reads the node, a shared item is folded
// once with the number of its nodes as weight.

import type { FieldType } from '../../../schemas/entities.ts';
import { ByteNumbers } from '../../byte-numbers.ts';
import { compareNumbers, identityText } from '../../json/compare.ts';
import { type Float, isNumber, type JsonValue } from '../../json/value.ts';
import { PairNumbers } from '../../pair-numbers.ts';
import { DecimalSum } from '../format/decimal.ts';
import { Decimal } from '../format/decimal-value.ts';
import type { Column, GroupKey, QueryTree } from '../tree.ts';
import { type Access, type StoredPlace, textOf, type Value } from './access.ts';
import { type CompileScope, typeOf } from './filter.ts';
import { comparisonOf } from './order.ts';
import { accessRef, memberOf, shownAccess, shownRef } from './output.ts';
import type { Row } from './row.ts';

interface Accumulator {
  add(row: Row, weight: number): void;
  /** JSON text. */
  result(): string;
}

export interface GroupedRow {
  readonly json: string;
  /** For ordering: values of the fields that are grouped by and ordered by, by name. */
  readonly values: ReadonlyMap<string, Value>;
}

interface Group {
  readonly texts: readonly (string | null)[];
  readonly values: ReadonlyMap<string, Value>;
  readonly accumulators: readonly (Accumulator | null)[];
}

export const isAggregated = (tree: QueryTree): boolean =>
  tree.groupBy !== null || tree.columns.some((c) => c.kind === 'aggregate');

export class Grouping {
  readonly #tree: QueryTree;
  readonly #columns: readonly (Access | null)[];
  /** What stands before the value of each column. */
  readonly #heads: readonly string[];
  readonly #keys: readonly Key[];
  readonly #fields: readonly { readonly name: string; readonly access: Access }[];
  readonly #scope: CompileScope;
  /** For each key but the first: the numbers of what the keys up to it are together. */
  readonly #combined: readonly PairNumbers[];
  /** By the number of what the keys of its rows are, which is that of their first ones. */
  readonly #groups: Group[] = [];
  /** What columns, keys and arguments read of a row. */
  readonly reads: readonly Access[];
  /** true when none of them reads the node. */
  readonly itemOnly: boolean;

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
    const reads = [...this.#columns.filter((access) => access !== null), ...this.#keys.map((key) => key.access)];
    for (const c of tree.columns) if (c.kind === 'aggregate' && c.ref !== null) reads.push(accessRef(c.ref, scope));
    this.reads = reads;
    this.itemOnly = reads.every((a) => a.level !== 'node' && a.level !== 'row');
    this.#combined = this.#keys.slice(1).map(() => new PairNumbers());
    if (tree.groupBy === null) this.#groups.push(this.#fresh(null));
  }

  add(row: Row, weight: number): void {
    const keys = this.#keys;
    let number = keys.length === 0 ? ONLY : keys[0]!.of(row);
    for (let i = 1; i < keys.length; i++) number = this.#combined[i - 1]!.of(number, keys[i]!.of(row));
    const { accumulators } = (this.#groups[number] ??= this.#fresh(row));
    for (let i = 0; i < accumulators.length; i++) accumulators[i]?.add(row, weight);
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
    return {
      texts: this.#columns.map((access) => (access === null || row === null ? null : textOf(access, row))),
      values: new Map(row === null ? [] : this.#fields.map(({ name, access }) => [name, access.value(row)])),
      accumulators: this.#tree.columns.map((c) => (c.kind === 'aggregate' ? accumulatorOf(c, this.#scope) : null)),
    };
  }
}

/** The one group of all rows. */
const ONLY = 0;

/** What a row is grouped by. */
interface Key {
  readonly access: Access;
  /** Equal for rows of one group; each new one is the next, from 0 on. */
  of(row: Row): number;
}

/** A key that is a value: numbered by its text. */
class ValueKey implements Key {
  readonly access: Access;
  readonly #identity: (row: Row) => string;
  readonly #numbers = new Map<string, number>();

  constructor(access: Access, identity: (row: Row) => string) {
    this.access = access;
    this.#identity = identity;
  }

  of(row: Row): number {
    const text = this.#identity(row);
    let number = this.#numbers.get(text);
    if (number === undefined) this.#numbers.set(text, (number = this.#numbers.size));
    return number;
  }
}

/** A key whose equal values are stored as equal texts: no value is made. */
class TextKey implements Key {
  readonly access: Access;
  readonly #stored: StoredPlace;
  readonly #numbers = new ByteNumbers();
  #last = -1;

  constructor(access: Access, stored: StoredPlace) {
    this.access = access;
    this.#stored = stored;
  }

  of(row: Row): number {
    const { place } = this.#stored;
    const record = this.#stored.of(row);
    this.#last = this.#numbers.of(record.bytes, record.startOf(place), record.endOf(place), this.#last);
    return this.#last;
  }
}

/** Where a path leads nowhere: another group than null. */
const NOWHERE = '';

function keyOf(key: GroupKey, columns: readonly Column[], scope: CompileScope): Key {
  const access = key.kind === 'ref' ? shownRef(key.ref, scope) : shownAccess(columns[key.column]!, scope);
  if (key.kind === 'ref' && key.ref.kind === 'path' && key.ref.parts.length > 0) {
    const { find } = memberOf(key.ref);
    return new ValueKey(access, (row) => {
      const found = find(row);
      return found === undefined ? NOWHERE : identityText(found);
    });
  }
  if (access.stored !== undefined && access.isPlain === true) return new TextKey(access, access.stored);
  return new ValueKey(access, (row) => identityText(access.value(row) as JsonValue));
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

const NOTHING_COUNTED: Accumulator = { add: () => {}, result: () => '0' };
const NOTHING_FOUND: Accumulator = { add: () => {}, result: () => 'null' };

class Count implements Accumulator {
  readonly #access: Access | null;
  #count = 0;
  constructor(access: Access | null) {
    this.#access = access;
  }
  add(row: Row, weight: number): void {
    if (this.#access === null || this.#access.value(row) !== null) this.#count += weight;
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
    if (value === null) return;
    if (this.#best !== null) {
      const c = this.#candidates.compare(value, this.#best);
      if (this.#max ? c <= 0 : c >= 0) return;
    }
    this.#best = value;
    this.#json = this.#candidates.shown(value, row);
  }
  result(): string {
    return this.#json;
  }
}
