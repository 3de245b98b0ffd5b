// The normalised text in which JSON values are kept and given out again (spec/commands.md 3.0.4, 3.0.5): object keys
// by UTF-8 length and then bytes, numbers as plain decimals, NUL characters inside strings and keys as U+FFFD. Two values that
// print the same here are the same stored value.

import { decimalDigits, integerText, quote } from './canonical.ts';
import { JSON_LIMITS, type JsonError, tooDeep, valueError } from './parse.ts';
import { Float, type JsonObject, type JsonValue } from './value.ts';

/** UTF-16 units that the stored text of one value may have: as many as PostgreSQL gives a value bytes. */
const STORED_LENGTH_MAX = 1 << 28;

/**
 * Stored text of a value. `depth` is how many containers already enclose it. Throws JsonError when nested too deeply, or when the
 * text would be too long: decimals are spelled out, 1e308 takes 309 digits.
 */
export function storedText(value: JsonValue, depth = 0): string {
  switch (typeof value) {
    case 'string':
      return storedString(value);
    case 'number':
      return Number.isInteger(value) ? integerText(value) : decimalText(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      return value.toString();
    default:
  }
  if (value === null) return 'null';
  if (value instanceof Float) return decimalText(value.value);
  if (depth >= JSON_LIMITS.depth) throw tooDeep();
  if (Array.isArray(value)) {
    const length = value.length;
    if (length === 0) return '[]';
    let text = `[${storedText(value[0] as JsonValue, depth + 1)}`;
    for (let index = 1; index < length; index++) {
      text += `,${storedText(value[index] as JsonValue, depth + 1)}`;
      if (text.length > STORED_LENGTH_MAX) throw tooLong();
    }
    return `${text}]`;
  }
  const object = value as JsonObject;
  const keys = storedKeys(object);
  const length = keys.length;
  if (length === 0) return '{}';
  // Before anything is written, as what is nested would be written again at every level.
  if (keys.some(hasNul)) return storedText(withoutNul(object), depth);
  let text = '{';
  for (let index = 0; index < length; index++) {
    const key = keys[index] as string;
    if (index > 0) text += ',';
    text += `${quote(key)}:${storedText(object[key] as JsonValue, depth + 1)}`;
    if (text.length > STORED_LENGTH_MAX) throw tooLong();
  }
  return `${text}}`;
}

const tooLong = (): JsonError =>
  valueError('text-too-long', `a value takes more than ${STORED_LENGTH_MAX} characters as it is stored`);

/** A string literal with NUL replaced. */
function storedString(text: string): string {
  return quote(hasNul(text) ? replaced(text) : text);
}

const hasNul = (text: string): boolean => text.includes('\u0000');
const replaced = (text: string): string => text.replaceAll('\u0000', '\ufffd');

/** The object with NUL replaced in its keys. Of those that become the same the last in the order of code units counts. */
const withoutNul = (object: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.keys(object)
      .sort()
      .map((key) => [replaced(key), object[key] as JsonValue]),
  );

/** Keys of an object in stored order: shorter (in UTF-8 bytes) first, then byte order. */
export function storedKeys(object: JsonObject): string[] {
  const keys = Object.keys(object);
  const length = keys.length;
  if (length > 24) return keys.sort(compareStored);
  for (let index = 1; index < length; index++) {
    const key = keys[index] as string;
    let at = index - 1;
    while (at >= 0 && compareStored(keys[at] as string, key) > 0) {
      keys[at + 1] = keys[at] as string;
      at--;
    }
    keys[at + 1] = key;
  }
  return keys;
}

/** Stored order of two keys: negative, zero or positive. */
export function compareStored(a: string, b: string): number {
  const difference = utf8Length(a) - utf8Length(b);
  if (difference !== 0) return difference;
  return a === b ? 0 : compareCodePoints(a, b);
}

/** Order of the UTF-8 bytes: that of code points, which UTF-16 units miss only where surrogates are involved. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA === unitB) continue;
    const highA = unitA >= 0xd800 && unitA <= 0xdfff;
    const highB = unitB >= 0xd800 && unitB <= 0xdfff;
    if (highA === highB) return unitA - unitB;
    return highA ? 1 : -1;
  }
  return a.length - b.length;
}

function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // A surrogate pair is four bytes: two for each half.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

/**
 * The decimal spelling of a double. Its scale is that of the Java spelling with the exponent taken off: 1e10 has none and
 * reads back as an integer, 1e3 is `1000.0`, 1e-7 is `0.00000010`. Minus zero loses its sign.
 */
export function decimalText(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '"Infinity"' : '"-Infinity"';
  const magnitude = Math.abs(value);
  if (magnitude === 0) return '0.0';
  if (magnitude >= 1e-3 && magnitude < 1e7) return Number.isInteger(value) ? `${value}.0` : String(value);
  const { sign, digits, exponent } = decimalDigits(value);
  const scale = digits.length - 1 - exponent;
  if (scale <= 0) return sign + digits + '0'.repeat(-scale);
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}
