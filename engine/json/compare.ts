// Equality, order, containment and text of JSON values, as the original's normalised JSON store (PostgreSQL jsonb) has
// them. Pure functions over JsonValue; nothing here parses or stores. Numbers compare by their decimal value, so 1 equals
// 1.0 and a big integer next to a double is not rounded; objects are walked in stored order, whatever order a JavaScript
// object gives its keys in.

import { compareCodePoints, decimalText, storedKeys, storedText } from './stored.ts';
import { Float, type JsonKind, type JsonObject, type JsonValue, kindOf } from './value.ts';

// ---- text ----

/** Order of the UTF-8 bytes, negative, zero or positive: PostgreSQL's order of texts in the collation C. */
export const compareText = (a: string, b: string): number => (a === b ? 0 : compareCodePoints(a, b));

// ---- numbers ----

/** By decimal value. A double stands for its shortest decimal spelling, which is what is stored of it. */
export function compareNumbers(a: number | bigint | Float, b: number | bigint | Float): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === 'bigint') return compareBigWithDouble(a, b instanceof Float ? b.value : (b as number));
  if (typeof b === 'bigint') return -compareBigWithDouble(b, a instanceof Float ? a.value : a);
  const x = a instanceof Float ? a.value : a;
  const y = b instanceof Float ? b.value : b;
  return x < y ? -1 : x > y ? 1 : 0;
}

function compareBigWithDouble(big: bigint, d: number): number {
  // A bigint lies outside the integers a double counts exactly, so a smaller double is settled by its sign.
  if (Math.abs(d) < 2 ** 53) return big < 0n ? -1 : 1;
  if (!Number.isFinite(d)) return d > 0 ? -1 : 1;
  const other = BigInt(decimalText(d));
  return big < other ? -1 : big > other ? 1 : 0;
}

// ---- order and equality ----

/** jsonb's type order. The empty array below everything is a special case of the outermost level. */
export const RANK: Readonly<Record<JsonKind, number>> = {
  null: 0,
  string: 1,
  number: 2,
  boolean: 3,
  array: 4,
  object: 5,
};

/**
 * Total order of JSON values: empty array, null, strings, numbers, Booleans, arrays by length and elements, objects by
 * size and pairs. Negative, zero or positive.
 */
export function compareJson(a: JsonValue, b: JsonValue): number {
  const aIsEmpty = Array.isArray(a) && a.length === 0;
  const bIsEmpty = Array.isArray(b) && b.length === 0;
  if (aIsEmpty || bIsEmpty) return aIsEmpty === bIsEmpty ? 0 : aIsEmpty ? -1 : 1;
  return compareInside(a, b);
}

/** The same below the outermost level, where an empty array is an array. */
function compareInside(a: JsonValue, b: JsonValue): number {
  const kind = kindOf(a);
  const otherKind = kindOf(b);
  if (kind !== otherKind) return RANK[kind] - RANK[otherKind];
  switch (kind) {
    case 'null':
      return 0;
    case 'string':
      return compareText(a as string, b as string);
    case 'number':
      return compareNumbers(a as number, b as number);
    case 'boolean':
      return Number(a) - Number(b);
    case 'array':
      return compareArrays(a as readonly JsonValue[], b as readonly JsonValue[]);
    case 'object':
      return compareObjects(a as JsonObject, b as JsonObject);
  }
}

function compareArrays(a: readonly JsonValue[], b: readonly JsonValue[]): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let i = 0; i < a.length; i++) {
    const order = compareInside(a[i] as JsonValue, b[i] as JsonValue);
    if (order !== 0) return order;
  }
  return 0;
}

function compareObjects(a: JsonObject, b: JsonObject): number {
  const aKeys = storedKeys(a);
  const bKeys = storedKeys(b);
  if (aKeys.length !== bKeys.length) return aKeys.length - bKeys.length;
  for (let i = 0; i < aKeys.length; i++) {
    const aKey = aKeys[i] as string;
    const bKey = bKeys[i] as string;
    const order = compareText(aKey, bKey) || compareInside(a[aKey] as JsonValue, b[bKey] as JsonValue);
    if (order !== 0) return order;
  }
  return 0;
}

/** Same JSON value: numbers by value (1 and 1.0 are equal), objects whatever the order of their keys. */
export function equalJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a === 'string' || typeof b === 'string') return false;
  const kind = kindOf(a);
  if (kind !== kindOf(b)) return false;
  switch (kind) {
    case 'number':
      return compareNumbers(a as number, b as number) === 0;
    case 'array':
      return equalArrays(a as readonly JsonValue[], b as readonly JsonValue[]);
    case 'object':
      return equalObjects(a as JsonObject, b as JsonObject);
    default:
      return false;
  }
}

function equalArrays(a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!equalJson(a[i] as JsonValue, b[i] as JsonValue)) return false;
  return true;
}

function equalObjects(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !equalJson(a[key] as JsonValue, b[key] as JsonValue)) return false;
  }
  return true;
}

/**
 * `left` contains `right`: equal scalars; an object whose value under each of right's keys contains right's; an array that
 * has, for each of right's elements, some element containing it. Different kinds never, so an array does not contain a
 * bare scalar.
 */
export function containsJson(left: JsonValue, right: JsonValue): boolean {
  const kind = kindOf(right);
  if (kind === 'object') {
    return kindOf(left) === 'object' && containsObject(left as JsonObject, right as JsonObject);
  }
  if (kind !== 'array') return equalJson(left, right);
  if (!Array.isArray(left)) return false;
  const elements = left as readonly JsonValue[];
  return (right as readonly JsonValue[]).every((wanted) => elements.some((element) => containsJson(element, wanted)));
}

function containsObject(left: JsonObject, right: JsonObject): boolean {
  for (const key of Object.keys(right)) {
    if (!Object.hasOwn(left, key) || !containsJson(left[key] as JsonValue, right[key] as JsonValue)) return false;
  }
  return true;
}

// ---- texts of values ----

const NEEDS_ESCAPE = /["\\\u0000-\u001f]/;
const ESCAPED = /["\\\u0000-\u001f]/g;
/** Of what stands in a text as a backslash and a character, also in Clojure's. */
export const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

const quote = (text: string): string =>
  NEEDS_ESCAPE.test(text)
    ? `"${text.replace(ESCAPED, (c) => SHORT_ESCAPES[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
    : `"${text}"`;

function print(value: JsonValue): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object' || value instanceof Float) return storedText(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const element of value as readonly JsonValue[]) text += `${text === '' ? '' : ', '}${print(element)}`;
    return `[${text}]`;
  }
  const object = value as JsonObject;
  for (const key of storedKeys(object)) {
    text += `${text === '' ? '' : ', '}${quote(key)}: ${print(object[key] as JsonValue)}`;
  }
  return `{${text}}`;
}

/**
 * The text a regular expression sees of a value: the characters of a string, the stored decimal spelling of a number,
 * `true` and `false`, structures with one blank after each comma and colon and keys in stored order. JSON null has no
 * text: null.
 */
export function textForm(value: JsonValue): string | null {
  return value === null ? null : typeof value === 'string' ? value : print(value);
}

/**
 * A text that two values share exactly if they are equal: for grouping and for sets of values. It begins with a letter for
 * the kind and is not meant for people.
 */
export function identityText(value: JsonValue): string {
  switch (kindOf(value)) {
    case 'null':
      return 'z';
    case 'string':
      return `s${value as string}`;
    case 'boolean':
      return value === true ? 't' : 'f';
    case 'number':
      return `n${identityNumber(value as number)}`;
    default:
      return `j${identityPrint(value)}`;
  }
}

function identityNumber(value: number | bigint | Float): string {
  return withoutScale(storedText(value));
}

/** Decimal text without zeros that only tell a scale: 1 for 1.0, 0.0000001 for 0.00000010. */
export function withoutScale(text: string): string {
  if (!text.includes('.')) return text;
  let end = text.length;
  while (text[end - 1] === '0') end--;
  if (text[end - 1] === '.') end--;
  return text.slice(0, end);
}

function identityPrint(value: JsonValue): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object' || value instanceof Float) return identityNumber(value);
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(identityPrint).join()}]`;
  const object = value as JsonObject;
  return `{${storedKeys(object)
    .map((key) => `${quote(key)}:${identityPrint(object[key] as JsonValue)}`)
    .join()}}`;
}
