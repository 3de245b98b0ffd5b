// How a value that is stored as JSON text compares with another one, as far as the bytes tell without a value being made of them: by the kinds,
// and for texts by the bytes, as the order of UTF-8 is that of the characters (compare.ts).

import { bytesOf } from '../bytes.ts';
import { BACKSLASH, CLOSE_LIST, FALSE, NULL, OPEN_LIST, OPEN_MAP, QUOTE, TRUE } from './ascii.ts';
import { RANK } from './compare.ts';
import { isArray, type JsonKind, type JsonValue, kindOf } from './value.ts';

/** What the bytes do not tell. */
const UNKNOWN = Number.NaN;

/** Places in the order: those of kinds are twice their ranks, so that true has one behind false. `NULL_LAST`: of a null that comes behind all. */
const EMPTY_LIST = -1;
const placeOfKind = (kind: JsonKind): number => 2 * RANK[kind];
const NULL_FIRST = placeOfKind('null');
const TEXT = placeOfKind('string');
const NUMBER = placeOfKind('number');
const NO = placeOfKind('boolean');
const YES = NO + 1;
const LIST = placeOfKind('array');
const MAP = placeOfKind('object');
const NULL_LAST = MAP + 1;

/** A value that others are compared with. */
export interface Compared {
  readonly place: number;
  /** Its bytes as they stand between the quotes of a JSON string; null: it is no text, or some of it must be written otherwise. */
  readonly plain: Uint8Array | null;
  readonly placeOfNull: number;
}

/** `isNullLast`: whether null comes behind all other values; else it has its place among them. */
export function comparedWith(value: JsonValue, isNullLast: boolean): Compared {
  const placeOfNull = isNullLast ? NULL_LAST : NULL_FIRST;
  const written = typeof value === 'string' ? JSON.stringify(value) : null;
  const isPlain = written !== null && written.length === (value as string).length + 2;
  return {
    place: placeOf(value, placeOfNull),
    plain: isPlain ? bytesOf(value as string) : null,
    placeOfNull,
  };
}

function placeOf(value: JsonValue, placeOfNull: number): number {
  if (value === null) return placeOfNull;
  if (value === true) return YES;
  return isArray(value) && value.length === 0 ? EMPTY_LIST : placeOfKind(kindOf(value));
}

/** Negative, zero or positive; not a number where the bytes from `start` to `end` do not tell. */
export function compareStoredValue(bytes: Uint8Array, start: number, end: number, wanted: Compared): number {
  const place = placeAt(bytes, start, wanted.placeOfNull);
  if (place !== wanted.place) return place - wanted.place;
  if (place === TEXT) return wanted.plain === null ? UNKNOWN : compareTexts(bytes, start + 1, end - 1, wanted.plain);
  return place === NUMBER || place === LIST || place === MAP ? UNKNOWN : 0;
}

function placeAt(bytes: Uint8Array, start: number, placeOfNull: number): number {
  switch (bytes[start]) {
    case QUOTE:
      return TEXT;
    case NULL:
      return placeOfNull;
    case FALSE:
      return NO;
    case TRUE:
      return YES;
    case OPEN_LIST:
      return bytes[start + 1] === CLOSE_LIST ? EMPTY_LIST : LIST;
    case OPEN_MAP:
      return MAP;
    default:
      return NUMBER;
  }
}

/** Byte by byte. An escape stands for another character than its own: where one differs, the bytes do not tell. */
function compareTexts(bytes: Uint8Array, start: number, end: number, plain: Uint8Array): number {
  const size = end - start;
  const length = Math.min(size, plain.length);
  for (let i = 0; i < length; i++) {
    const byte = bytes[start + i]!;
    if (byte !== plain[i]) return byte === BACKSLASH ? UNKNOWN : byte - plain[i]!;
  }
  return size - plain.length;
}
