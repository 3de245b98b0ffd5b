// Aggregates and groups. Rows fold into numbered groups; where nothing reads the node, a shared item is folded
// once with the number of its nodes as weight. Where fields of the node and fields of the item are read, but none that is of both,
// a row is a pair of sides: what the groups read of each is found once for all rows that are equal in it.

import { PairNumbers } from '../../../pair-numbers.ts';
import type { OwnMoment } from '../../../store/reports/report-kinds.ts';
import { type Column, type GroupKey, nameOfRef, type QueryTree } from '../../tree.ts';
import type { CompileScope } from '../filter/filter.ts';
import { type CompareValues, RANK_BYTES, ranksOf } from '../order/order.ts';
import { accessRef, shownAccess } from '../plan/columns.ts';
import { type Access, isKept, textOf, type Value } from '../row/access.ts';
import type { Hold } from '../row/room.ts';
import type { Row } from '../row/row.ts';
import { type Accumulator, accumulatorOf } from './accumulators.ts';
import { type Key, keyOf, numberOfKeys, pairNumbersFor, TEXT_BYTES } from './group-keys.ts';
import { type Numbers, type Side, Sides } from './sides.ts';

/** A field that groups are ordered by. */
interface Field {
  readonly key: Key;
  /** By number of the key. */
  readonly values: Value[];
}

export const isAggregated = (tree: QueryTree): boolean =>
  tree.groupBy !== null || tree.columns.some((c) => c.kind === 'aggregate');

const GROUPS_FIRST = 64;
/** Bytes that a group takes for each of its numbers, arrays that are about to grow included; for each pair of keys; for each function. */
const NUMBER_BYTES = 2 * Uint32Array.BYTES_PER_ELEMENT;
const PAIR_BYTES = 24;
const FUNCTION_BYTES = 100;

/** There may be as many groups as rows: what is kept of one are numbers, in arrays over all of them. */
export class Grouping {
  readonly #tree: QueryTree;
  /** Columns that show what is grouped by; null: functions. */
  readonly #columns: readonly (ColumnTexts | null)[];
  /** Which columns are the node's. */
  readonly #ofNode: readonly boolean[];
  /** What stands before the value of each column. */
  readonly #heads: readonly string[];
  readonly #keys: readonly Key[];
  /** What the functions read. */
  readonly #args: readonly Access[];
  readonly #fields: readonly Field[];
  /** By term of the order: which of the fields it asks for. */
  readonly #terms: readonly number[];
  readonly #scope: CompileScope;
  readonly #hold: Hold;
  /** For each key but the first: the numbers of what the keys up to it are together. */
  readonly #combined: readonly PairNumbers[];
  /** The numbers of pairs of sides, by their keys. */
  readonly #pairs = new PairNumbers();
  /** Bytes that a group takes, and how many there were at most. */
  readonly #groupBytes: number;
  #held = 0;
  /** Groups have the numbers of what the keys of their rows are. */
  #size = 0;
  /** By group and column, and by group and field, as in `Numbers`. */
  #texts = new Uint32Array(0);
  #values = new Uint32Array(0);
  #accumulators: readonly (Accumulator | null)[];
  /** What columns, keys and arguments read of a row. */
  readonly reads: readonly Access[];
  /** Of reports: times of which the least, the greatest or the number is wanted. */
  readonly moments: readonly OwnMoment[];
  /** What else is read. */
  readonly others: readonly Access[];
  /** true when none of them reads the node. */
  readonly itemOnly: boolean;
  /** true when a glance at a report has all that they read. */
  readonly isKept: boolean;
  /** true when none of them reads node and item together: then rows can be added as pairs of sides. */
  readonly isSided: boolean;

  /** `hold`: takes room for what is kept of the groups. */
  constructor(tree: QueryTree, scope: CompileScope, hold: Hold) {
    this.#tree = tree;
    this.#scope = scope;
    this.#hold = hold;
    const groupBy = tree.groupBy ?? [];
    this.#keys = groupBy.map((key) => keyOf(key, tree.columns, scope, hold));
    // The first key of a kind is the one that is shown.
    const keyOfShown = new Map(groupBy.map((key, i) => [shownBy(key), this.#keys[i]!] as const).reverse());
    this.#columns = tree.columns.map((column, i) => {
      if (column.kind === 'aggregate') return null;
      const ofColumn = keyOfShown.get(i);
      const key = ofColumn ?? (column.kind === 'field' ? keyOfShown.get(nameOfRef(column.ref)) : undefined);
      return new ColumnTexts(shownAccess(column, scope), key, hold);
    });
    this.#heads = tree.columns.map(({ key }, i) => `${i === 0 ? '{' : ','}${JSON.stringify(key)}:`);
    const named = groupBy.map((key) => (key.kind === 'ref' && key.ref.kind === 'field' ? key.ref.field : null));
    const ordered = [...new Set(tree.orderBy.map(({ field }) => field))].filter((name) => named.includes(name));
    this.#fields = ordered.map((name) => ({ key: this.#keys[named.indexOf(name)]!, values: [] }));
    this.#terms = tree.orderBy.map(({ field }) => ordered.indexOf(field));
    const momentsOf = tree.columns.map((c) => momentOf(c, scope));
    this.moments = [...new Set(momentsOf.filter((moment) => moment !== null))];
    const args = tree.columns.map((c) => (c.kind === 'aggregate' && c.ref !== null ? accessRef(c.ref, scope) : null));
    this.#ofNode = tree.columns.map((_, i) => (this.#columns[i]?.access ?? args[i])?.level === 'node');
    this.#args = args.filter((access) => access !== null);
    const shown = this.#columns.flatMap((column) => column?.access ?? []);
    const keyed = [...shown, ...this.#keys.map((key) => key.access)];
    this.reads = [...keyed, ...this.#args];
    const others = args.filter((_, i) => momentsOf[i] === null);
    this.others = [...keyed, ...others.filter((access) => access !== null)];
    this.isKept = keyed.every((a) => isKept(a, true)) && this.#args.every((a) => isKept(a, false));
    this.itemOnly = this.reads.every((a) => a.level !== 'node' && a.level !== 'row');
    this.isSided = this.reads.every((a) => a.level !== 'row');
    this.#combined = pairNumbersFor(this.#keys);
    this.#accumulators = this.#accumulatorsOf(() => true);
    const numbers = this.#columns.length + this.#fields.length;
    const functions = this.#accumulators.filter((accumulator) => accumulator !== null);
    this.#groupBytes = numbers * NUMBER_BYTES + this.#keys.length * PAIR_BYTES + functions.length * FUNCTION_BYTES;
    if (tree.groupBy === null) this.#begin(NOTHING_SHOWN, NOTHING_SHOWN);
  }

  add(row: Row, weight: number): void {
    const group = numberOfKeys(this.#keys, this.#combined, row);
    if (group === this.#size)
      this.#begin(
        this.#numbersOf(row, () => true),
        NOTHING_SHOWN,
      );
    for (let i = 0; i < this.#accumulators.length; i++) this.#accumulators[i]?.add(group, row, weight);
  }

  /** The sides that are nodes, or the other ones. */
  sides(areNodes: boolean): Sides {
    const isOfSide = ({ level }: Access): boolean => (level === 'node') === areNodes;
    return new Sides({
      keys: this.#keys.filter(({ access }) => isOfSide(access)),
      args: [...this.#args, ...this.#columns.flatMap((column) => column?.spelled ?? [])].filter(isOfSide),
      numbersOf: (row) => this.#numbersOf(row, isOfSide),
      hold: this.#hold,
      accumulators: () => this.#accumulatorsOf((column) => this.#ofNode[column] === areNodes),
    });
  }

  /** The same as `add` for so many rows that have this node's side and this other one. One grouping takes rows or sides. */
  addSides(node: Side, rest: Side, weight: number): void {
    const group = this.#pairs.of(node.key, rest.key);
    if (group === this.#size) this.#begin(node, rest);
    for (let i = 0; i < this.#accumulators.length; i++) {
      const accumulator = this.#accumulators[i]!;
      if (accumulator === null) continue;
      const side = this.#ofNode[i] ? node : rest;
      accumulator.absorb(group, side.accumulators[i]!, side.number, weight);
    }
  }

  /** How many groups there are: their numbers are below it. */
  get size(): number {
    return this.#size;
  }

  /** There are no groups of sides any more: those that come are counted from 0 on. Of keys and texts the numbers stay. */
  forget(): void {
    this.#size = 0;
    this.#pairs.clear();
    this.#accumulators = this.#accumulatorsOf(() => true);
  }

  /** The group's JSON text. */
  json(group: number): string {
    const columns = this.#columns;
    let json = '';
    for (let i = 0; i < columns.length; i++) {
      json += this.#heads[i]! + (columns[i]?.at(this.#texts[group * columns.length + i]!) ?? this.#result(group, i));
    }
    return `${json}}`;
  }

  /** What the group is ordered by. */
  orderKeys(group: number): Value[] {
    const fields = this.#fields;
    return this.#terms.map((at) => fields[at]!.values[this.#values[group * fields.length + at]! - 1]!);
  }

  /** How two groups compare, when values do so in these orders, one a term. `tick` says when to yield. */
  *ranked(
    orders: readonly CompareValues[],
    tick: () => boolean,
  ): Generator<undefined, (a: number, b: number) => number> {
    const terms = this.#terms;
    const ranks: Uint32Array[] = [];
    for (let term = 0; term < terms.length; term++) {
      const { values } = this.#fields[terms[term]!]!;
      this.#hold(values.length * RANK_BYTES);
      ranks.push(yield* ranksOf(values, orders[term]!, tick));
    }
    const { length: fields } = this.#fields;
    return (a, b) => {
      for (let term = 0; term < terms.length; term++) {
        const at = terms[term]!;
        const rank = ranks[term]!;
        const c = rank[this.#values[a * fields + at]! - 1]! - rank[this.#values[b * fields + at]! - 1]!;
        if (c !== 0) return c;
      }
      return 0;
    };
  }

  #result(group: number, column: number): string {
    return this.#accumulators[column]?.result(group) ?? 'null';
  }

  /** A group begins, that shows and is ordered by what the two have together. */
  #begin(a: Numbers, b: Numbers): void {
    const { length: columns } = this.#columns;
    const { length: fields } = this.#fields;
    const group = this.#size++;
    if (this.#size > this.#held) {
      this.#held = this.#size;
      this.#hold(this.#groupBytes);
    }
    if (this.#texts.length < this.#size * columns) this.#texts = extended(this.#texts, this.#size, columns);
    if (this.#values.length < this.#size * fields) this.#values = extended(this.#values, this.#size, fields);
    for (let i = 0; i < columns; i++) this.#texts[group * columns + i] = (a.texts[i] ?? 0) + (b.texts[i] ?? 0);
    for (let i = 0; i < fields; i++) this.#values[group * fields + i] = (a.values[i] ?? 0) + (b.values[i] ?? 0);
  }

  /** Of a row whose keys, as far as the accesses that pass are theirs, have been looked at right before. */
  #numbersOf(row: Row, has: (access: Access) => boolean): Numbers {
    return {
      texts: this.#columns.map((column) => (column !== null && has(column.access) ? column.numberOf(row) + 1 : 0)),
      values: this.#fields.map(({ key, values }) => {
        if (!has(key.access)) return 0;
        values[key.last] ??= key.access.value(row);
        return key.last + 1;
      }),
    };
  }

  #accumulatorsOf(has: (column: number) => boolean): readonly (Accumulator | null)[] {
    return this.#tree.columns.map((c, i) => (c.kind === 'aggregate' && has(i) ? accumulatorOf(c, this.#scope) : null));
  }
}

/** The report's own time of which the column is the least, the greatest or the number; null: it is something else. */
function momentOf(column: Column, { traits }: CompileScope): OwnMoment | null {
  if (column.kind !== 'aggregate' || column.ref?.kind !== 'field' || column.fn === 'sum' || column.fn === 'avg')
    return null;
  const moment = traits.times[column.ref.field];
  return moment === undefined || moment === 'event' ? null : moment;
}

const NOTHING_SHOWN: Numbers = { texts: [], values: [] };

/** The same with room for so many groups and as many again. */
function extended(numbers: Uint32Array, groups: number, each: number): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(Math.max(GROUPS_FIRST, groups * 2) * each);
  longer.set(numbers);
  return longer;
}

/** What shows the key: the column of that number, or each one of that text (`nameOfRef`). */
const shownBy = (key: GroupKey): number | string => (key.kind === 'column' ? key.column : nameOfRef(key.ref));

/** JSON texts of a column that is grouped by, each once. */
class ColumnTexts {
  readonly access: Access;
  readonly #key: Key | null;
  readonly #hold: Hold;
  readonly #texts: string[] = [];
  /** Where the key does not number them. */
  readonly #numbers = new Map<string, number>();

  /** `key`: what rows are grouped by, if that is what the column shows. */
  constructor(access: Access, key: Key | undefined, hold: Hold) {
    this.access = access;
    this.#key = key ?? null;
    this.#hold = hold;
  }

  /** What is read where equal keys may have several texts, such as 1 and 1.0; else nothing. */
  get spelled(): readonly Access[] {
    return this.#key?.isExact === true ? [] : [this.access];
  }

  /** Number of the row's text; the row's keys have been looked at right before. */
  numberOf(row: Row): number {
    const known = this.#key?.lastText ?? -1;
    if (known >= 0) {
      this.#texts[known] ??= this.#kept(textOf(this.access, row));
      return known;
    }
    const text = textOf(this.access, row);
    let number = this.#numbers.get(text);
    if (number === undefined) this.#numbers.set(text, (number = this.#texts.push(this.#kept(text)) - 1));
    return number;
  }

  #kept(text: string): string {
    this.#hold(TEXT_BYTES + text.length);
    return text;
  }

  /** The text with that number + 1; null without one. */
  at(number: number): string | null {
    return number === 0 ? null : this.#texts[number - 1]!;
  }
}
