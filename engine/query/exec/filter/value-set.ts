// The result of an `in` subquery: the set of its tuples, ready for membership tests with SQL's rules for null.

import type { FieldType } from '../../../../schemas/entities.ts';
import { identityText, textForm, withoutScale } from '../../../json/compare.ts';
import { Float, isNumber, type JsonValue } from '../../../json/value.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import { formatEventTime } from '../../../time.ts';
import { Decimal } from '../../format/decimal-value.ts';
import { encodePath, type Path } from '../../paths.ts';
import type { Value } from '../row/access.ts';
import type { Hold } from '../row/room.ts';
import { FALSE, TRUE, type Truth, UNKNOWN } from './truth.ts';

/** A comparable key of a value seen as the outer field's type; null for null. Values the type cannot hold give a key that nothing has. */
export function keyOf(value: Value, inner: FieldType, outer: FieldType): string | null {
  if (value === null && inner !== 'V') return null;
  if (outer === 'V') return identityText(inner === 'V' ? (value as JsonValue) : jsonOf(value));
  if (inner === 'V') return outer === 'N' ? numberKey(value as JsonValue) : textForm(value as JsonValue);
  // The paths of fact_paths come as encoded texts already.
  if (inner === 'PA') return encodePath(value as unknown as Path);
  if (inner === 'J' || inner === 'X' || inner === 'A') return identityText(value as JsonValue);
  return value instanceof Float ? String(value.value) : String(value);
}

/** What counts as a text, as JSON: truth values stay such, and times are written as PostgreSQL writes them there. */
function jsonOf(value: Value): JsonValue {
  if (typeof value === 'number') return formatEventTime(value);
  return typeof value === 'boolean' ? value : String(value);
}

/** A fact value as a number column would hold it: 10.0 and "10" are 10. What neither is nor spells a number equals nothing. */
function numberKey(value: JsonValue): string | null {
  const number = typeof value === 'string' ? Decimal.parse(value) : isNumber(value) ? Decimal.of(value) : null;
  if (number === null) return textForm(value);
  return withoutScale(number.text);
}

type Tuple = readonly (string | null)[];

/** The tuples of a set that have their nulls in the same columns. */
class Shape {
  /** Columns that are not null. */
  readonly columns: readonly number[];
  /** Texts of these columns, as `keyAt` makes them. */
  readonly #keys: Iterable<string>;
  /** By columns, which are some of these: the texts of those alone. Made when they are first asked for. */
  readonly #parts = new Map<string, ReadonlySet<string>>();

  constructor(columns: readonly number[], keys: Iterable<string>) {
    this.columns = columns;
    this.#keys = keys;
  }

  /** Whether one of the tuples is equal in the columns that are null on neither side. */
  couldBe(tuple: Tuple): boolean {
    const common = this.columns.filter((column) => tuple[column] !== null);
    const name = common.join();
    let part = this.#parts.get(name);
    if (part === undefined) this.#parts.set(name, (part = this.#partOf(common)));
    return part.has(keyAt(tuple, common));
  }

  #partOf(common: readonly number[]): ReadonlySet<string> {
    const part = new Set<string>();
    for (const key of this.#keys) {
      const tuple: string[] = [];
      textsOf(key, this.columns.length).forEach((text, i) => {
        tuple[this.columns[i]!] = text;
      });
      part.add(keyAt(tuple, common));
    }
    return part;
  }
}

/** One text for the texts of these columns, none of which is null; that of a single one is the text itself. */
function keyAt(tuple: Tuple, columns: readonly number[]): string {
  if (columns.length === 1) return tuple[columns[0]!]!;
  let key = '';
  for (let i = 0; i < columns.length; i++) key += withLength(tuple[columns[i]!]!);
  return key;
}
/** The same for all of its columns. */
function wholeKey(tuple: Tuple): string {
  if (tuple.length === 1) return tuple[0]!;
  let key = '';
  for (let i = 0; i < tuple.length; i++) key += withLength(tuple[i]!);
  return key;
}
/** Tells where it ends. */
const withLength = (text: string): string => `${text.length}:${text}`;

/** The texts of so many columns. */
function textsOf(key: string, count: number): readonly string[] {
  if (count === 1) return [key];
  const texts: string[] = [];
  for (let at = 0; texts.length < count; ) {
    const start = key.indexOf(':', at) + 1;
    at = start + Number(key.slice(at, start - 1));
    texts.push(key.slice(start, at));
  }
  return texts;
}

/** Bytes that a key takes beside its characters. */
const KEY_BYTES = 60;

interface Shapes {
  readonly whole: Shape;
  readonly withNull: readonly Shape[];
}

export class ValueSet {
  /** Certnames as nodes, per partition; null when the tuple is not the certname alone. */
  nodes: NodeSet[] | null = null;
  /** Tuples without a null: of one column its text, else one text of theirs all. */
  readonly keys = new Set<string>();
  /** Tuples with a null in them, by the columns that are not: the same texts of those. */
  readonly #withNull = new Map<string, { readonly columns: readonly number[]; readonly keys: Set<string> }>();
  /** What a tuple could be equal to if nulls were values; made when it is first asked for. */
  #shapes: Shapes | null = null;
  #rows = 0;
  readonly #hold: Hold;

  /** `hold`: takes room for tuples. */
  constructor(hold: Hold) {
    this.#hold = hold;
  }

  add(tuple: Tuple): void {
    this.#rows++;
    if (!tuple.includes(null)) {
      this.#put(this.keys, wholeKey(tuple));
      return;
    }
    const columns = [...tuple.keys()].filter((column) => tuple[column] !== null);
    const name = columns.join();
    let alike = this.#withNull.get(name);
    if (alike === undefined) this.#withNull.set(name, (alike = { columns, keys: new Set() }));
    this.#put(alike.keys, keyAt(tuple, columns));
  }

  #put(keys: Set<string>, key: string): void {
    const { size } = keys;
    keys.add(key);
    if (keys.size > size) this.#hold(KEY_BYTES + key.length);
  }

  /** Texts of one column in the tuples without a null; `length`: that of a tuple. */
  textsAt(column: number, length: number): ReadonlySet<string> {
    if (length === 1) return this.keys;
    const texts = new Set<string>();
    for (const key of this.keys) texts.add(textsOf(key, length)[column]!);
    return texts;
  }

  has(tuple: Tuple): Truth {
    if (this.#rows === 0) return FALSE;
    const isWhole = !tuple.includes(null);
    if (isWhole && this.keys.has(wholeKey(tuple))) return TRUE;
    if (isWhole && this.#withNull.size === 0) return FALSE;
    const { whole, withNull } = this.#shapesOf(tuple.length);
    const couldMatch = withNull.some((shape) => shape.couldBe(tuple)) || (!isWhole && whole.couldBe(tuple));
    return couldMatch ? UNKNOWN : FALSE;
  }

  #shapesOf(length: number): Shapes {
    this.#shapes ??= {
      whole: new Shape([...Array(length).keys()], this.keys),
      withNull: [...this.#withNull.values()].map(({ columns, keys }) => new Shape(columns, keys)),
    };
    return this.#shapes;
  }
}
