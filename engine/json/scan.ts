// Finds its way in JSON as it is stored (UTF-8, compact, valid: stored.ts), without making values of it. What is passed over
// costs a look at each byte.

import { copyOf } from '../bytes.ts';
import { BACKSLASH, CLOSE_LIST, CLOSE_MAP, COMMA, OPEN_LIST, OPEN_MAP, QUOTE } from './ascii.ts';
import { parseJson } from './parse.ts';
import type { JsonValue } from './value.ts';

/** Place behind the string that begins at `start`; `end` when it does not end. */
export function endOfString(bytes: Uint8Array, start: number, end: number): number {
  const near = Math.min(end, start + NEAR);
  let at = start + 1;
  while (at < near) {
    const unit = bytes[at]!;
    if (unit === QUOTE) return at + 1;
    at += unit === BACKSLASH ? 2 : 1;
  }
  return at < end ? endOfLongString(bytes, at, end) : end;
}

/** Bytes that are looked at one by one. */
const NEAR = 64;

/** From a place in the string on: from quote to quote, until one is not escaped. */
function endOfLongString(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; ; ) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0 || quote >= end) return end;
    let first = quote;
    while (first > at && bytes[first - 1] === BACKSLASH) first--;
    at = quote + 1;
    if ((quote - first) % 2 === 0) return at;
  }
}

/** Place behind the value that begins at `start`. */
export function endOfValue(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start]!;
  if (first === QUOTE) return endOfString(bytes, start, end);
  let at = start;
  if (first !== OPEN_MAP && first !== OPEN_LIST) {
    while (at < end) {
      const unit = bytes[at]!;
      if (unit === COMMA || unit === CLOSE_MAP || unit === CLOSE_LIST) break;
      at++;
    }
    return at;
  }
  let depth = 0;
  while (at < end) {
    const unit = bytes[at]!;
    if (unit === QUOTE) {
      at = endOfString(bytes, at, end);
      continue;
    }
    at++;
    if (unit === OPEN_MAP || unit === OPEN_LIST) depth++;
    else if ((unit === CLOSE_MAP || unit === CLOSE_LIST) && --depth === 0) break;
  }
  return at;
}

/** The value of the text from `start` to `end`. */
export function parseAt(bytes: Buffer, start: number, end: number): JsonValue {
  const isText = bytes[start] === QUOTE && !hasEscape(bytes, start, end);
  return isText ? bytes.toString('utf8', start + 1, end - 1) : parseJson(bytes.toString('utf8', start, end));
}

/** Whether the string from `start` to `end` has an escape. */
export function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/** A key to look for: its text, and that as UTF-8. */
export interface Key {
  readonly text: string;
  readonly bytes: Uint8Array;
}

export const keyOf = (text: string): Key => ({ text, bytes: Buffer.from(text, 'utf8') });

/** Keys come again and again: the last one that was read of each hash is kept. */
const KNOWN_KEYS = 256;
const KNOWN_KEY_MAX = 40;
const knownKeys: (Key | undefined)[] = Array.from({ length: KNOWN_KEYS }, () => undefined);

/** The text of the key from `start` to `end`, quotes included. */
export function keyAt(bytes: Buffer, start: number, end: number): string {
  const size = end - start;
  if (size > KNOWN_KEY_MAX) return parseAt(bytes, start, end) as string;
  const place = (bytes[start + (size >>> 1)]! * 7 + bytes[end - 2]! * 31 + size) & (KNOWN_KEYS - 1);
  const known = knownKeys[place];
  if (known !== undefined && known.bytes.length === size) {
    let at = 0;
    while (at < size && known.bytes[at] === bytes[start + at]) at++;
    if (at === size) return known.text;
  }
  const text = parseAt(bytes, start, end) as string;
  knownKeys[place] = { text, bytes: copyOf(bytes, start, end) };
  return text;
}

/** Where the value of that key begins in the object at `start`; -1 when it has none, or when there is no object. */
export function memberAt(bytes: Buffer, start: number, end: number, key: Key): number {
  if (bytes[start] !== OPEN_MAP) return -1;
  let at = start + 1;
  while (at < end && bytes[at] === QUOTE) {
    const behind = endOfString(bytes, at, end);
    if (isKey(bytes, at, behind, key)) return behind + 1;
    if (isBehind(bytes, at, behind, key)) return -1;
    at = endOfValue(bytes, behind + 1, end) + 1;
  }
  return -1;
}

/**
 * Whether `test` is true for a member of the object at `start`, if there is an object. `test` is told where the member's key begins (it ends
 * before the colon), and where the value begins and ends.
 */
export function someMember(
  bytes: Buffer,
  start: number,
  end: number,
  test: (key: number, value: number, valueEnd: number) => boolean,
): boolean {
  if (bytes[start] !== OPEN_MAP) return false;
  for (let at = start + 1; bytes[at] === QUOTE; at++) {
    const value = endOfString(bytes, at, end) + 1;
    const valueEnd = endOfValue(bytes, value, end);
    if (test(at, value, valueEnd)) return true;
    at = valueEnd;
  }
  return false;
}

/** Where the element begins in the list at `start`; -1 when it has none, or when there is no list. */
export function elementAt(bytes: Uint8Array, start: number, end: number, index: number): number {
  if (!(Number.isInteger(index) && index >= 0)) return -1;
  if (bytes[start] !== OPEN_LIST || bytes[start + 1] === CLOSE_LIST) return -1;
  let at = start + 1;
  for (let i = 0; i < index; i++) {
    at = endOfValue(bytes, at, end);
    if (bytes[at] !== COMMA) return -1;
    at++;
  }
  return at;
}

/**
 * Whether the key there, and so all that are stored behind it, are longer than the key that is looked for. False also for one with escapes, or
 * beyond ASCII, whose bytes do not tell.
 */
function isBehind(bytes: Buffer, start: number, end: number, key: Key): boolean {
  if (end - start - 2 <= key.bytes.length) return false;
  for (let at = start + 1; at < end - 1; at++) {
    const unit = bytes[at]!;
    if (unit >= 0x80 || unit === BACKSLASH) return false;
  }
  return true;
}

/** Whether the string from `start` to `end`, quotes included, is the key. */
function isKey(bytes: Buffer, start: number, end: number, key: Key): boolean {
  const count = end - start - 2;
  const wanted = key.bytes;
  let isPlain = true;
  let isEqual = count === wanted.length;
  for (let i = 0; i < count; i++) {
    const unit = bytes[start + 1 + i];
    if (unit === BACKSLASH) {
      isPlain = false;
      break;
    }
    if (isEqual && unit !== wanted[i]) isEqual = false;
  }
  return isPlain ? isEqual : JSON.parse(bytes.toString('utf8', start, end)) === key.text;
}
