// The canonical JSON text that all identity hashes are taken from (spec/commands.md 4.1): no white space, Java spelling
// of doubles, keys sorted in one of two orders:
//
//   K  keys without a slash first, then by the part before the first slash, then by the part after it
//      (resources, catalogs, reports, events)
//   S  plain UTF-16 code unit order (facts)
//
// Hashing is byte for byte: any change here gives every stored node a new hash.

import { JSON_LIMITS, tooDeep } from './parse.ts';
import { Float, type JsonObject, type JsonValue } from './value.ts';

/** Canonical text with keys in order K. `depth` is how many containers already enclose the value. Throws JsonError. */
export function canonicalK(value: JsonValue, depth = 0): string {
  return compactText(value, sortedKeysK, JSON_LIMITS.depth - depth, refuseDeep);
}

/** Canonical text with keys in order S. `depth` is how many containers already enclose the value. Throws JsonError. */
export function canonicalS(value: JsonValue, depth = 0): string {
  return compactText(value, sortedKeysS, JSON_LIMITS.depth - depth, refuseDeep);
}

function refuseDeep(): never {
  throw tooDeep();
}

/** The text without white space. `left`: how deep containers may be nested; `deep` gives what stands for those that are nested deeper. */
export function compactText(
  value: JsonValue,
  keysOf: (object: JsonObject) => readonly string[],
  left: number,
  deep: () => string,
): string {
  switch (typeof value) {
    case 'string':
      return quote(value);
    case 'number':
      return numberText(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      return value.toString();
    default:
  }
  if (value === null) return 'null';
  if (value instanceof Float) return javaDouble(value.value);
  if (left <= 0) return deep();
  if (Array.isArray(value)) {
    const length = value.length;
    if (length === 0) return '[]';
    let text = `[${compactText(value[0] as JsonValue, keysOf, left - 1, deep)}`;
    for (let index = 1; index < length; index++) {
      text += `,${compactText(value[index] as JsonValue, keysOf, left - 1, deep)}`;
    }
    return `${text}]`;
  }
  const object = value as JsonObject;
  const keys = keysOf(object);
  const length = keys.length;
  if (length === 0) return '{}';
  let text = '{';
  for (let index = 0; index < length; index++) {
    const key = keys[index] as string;
    if (index > 0) text += ',';
    text += `${quote(key)}:${compactText(object[key] as JsonValue, keysOf, left - 1, deep)}`;
  }
  return `${text}}`;
}

/** Keys in UTF-16 code unit order. */
export function sortedKeysS(object: JsonObject): string[] {
  const keys = Object.keys(object);
  sortUnits(keys);
  return keys;
}

/** Keys in order K. */
function sortedKeysK(object: JsonObject): string[] {
  const keys = Object.keys(object);
  sortUnits(keys);
  for (let index = 0; index < keys.length; index++) {
    if ((keys[index] as string).includes('/')) return keys.sort(compareK);
  }
  return keys;
}

/** Order K of two keys: negative, zero or positive. */
export function compareK(a: string, b: string): number {
  const slashA = a.length === 1 ? -1 : a.indexOf('/');
  const slashB = b.length === 1 ? -1 : b.indexOf('/');
  if (slashA < 0 || slashB < 0) {
    if (slashA >= 0) return 1;
    if (slashB >= 0) return -1;
    return compareUnits(a, b);
  }
  return compareUnits(a.slice(0, slashA), b.slice(0, slashB)) || compareUnits(a.slice(slashA + 1), b.slice(slashB + 1));
}

export const compareUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

// Most objects have few keys and many arrive sorted: insertion sort beats a call into the general sort.
function sortUnits(keys: string[]): void {
  const length = keys.length;
  if (length > 24) {
    keys.sort();
    return;
  }
  for (let index = 1; index < length; index++) {
    const key = keys[index] as string;
    let at = index - 1;
    while (at >= 0 && (keys[at] as string) > key) {
      keys[at + 1] = keys[at] as string;
      at--;
    }
    keys[at + 1] = key;
  }
}

const NEEDS_ESCAPE = /["\\\u0000-\u001f]/;
const LONG_ESCAPES = /\\u00([01][\da-f])/g;

/** A JSON string literal: short escapes where there are any, other control characters with upper-case hex, the rest raw. */
export function quote(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return `"${text}"`;
  const escaped = JSON.stringify(text);
  if (!escaped.includes('\\u00')) return escaped;
  return escaped.replace(LONG_ESCAPES, longEscape);
}

// A literal backslash is written as two: a match whose backslash is itself escaped is text, not an escape.
function longEscape(match: string, hex: string, offset: number, whole: string): string {
  let backslashes = 0;
  while (whole.charCodeAt(offset - 1 - backslashes) === 0x5c) backslashes++;
  return backslashes % 2 === 0 ? `\\u00${hex.toUpperCase()}` : match;
}

/** An integer or a double that is not integral, as a JSON.parse number holds them. */
function numberText(value: number): string {
  return Number.isInteger(value) ? integerText(value) : javaDouble(value);
}

/** Decimal digits of an integral number, never in exponent form. */
export function integerText(value: number): string {
  return Math.abs(value) < 1e21 ? String(value) : BigInt(value).toString();
}

/**
 * The spelling of a double that Java (19 and later) prints: plain decimals from 0.001 up to 10^7, otherwise one digit,
 * a point, digits and `E`. Infinities become strings, as in the original.
 */
export function javaDouble(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '"Infinity"' : '"-Infinity"';
  const magnitude = Math.abs(value);
  if (magnitude >= 1e-3 && magnitude < 1e7) {
    const text = String(value);
    return Number.isInteger(value) ? `${text}.0` : text;
  }
  if (magnitude === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const { sign, digits, exponent } = decimalDigits(value);
  return `${sign}${digits.charAt(0)}.${digits.slice(1)}E${exponent}`;
}

/** Shortest digits that read back as the same double, at least two of them: value = sign d.ddd * 10^exponent. */
export function decimalDigits(value: number): { sign: string; digits: string; exponent: number } {
  let text = value.toExponential();
  // With one digit Java looks again among those with two, and takes the nearest: 5e-324 is 4.9E-324.
  if (!text.includes('.')) text = value.toExponential(1);
  const sign = value < 0 ? '-' : '';
  const mark = text.indexOf('e');
  const mantissa = text.slice(sign.length, mark);
  return { sign, digits: mantissa.charAt(0) + mantissa.slice(2), exponent: Number(text.slice(mark + 1)) };
}
