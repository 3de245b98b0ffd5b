// Where tokens end. The zeros behind a payload end each of them, so that none of these looks for the end of the payload.

import {
  BACKSLASH,
  BLANK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  DOT,
  LETTER_B,
  LETTER_D,
  LETTER_E,
  LETTER_F,
  LETTER_N,
  LETTER_R,
  LETTER_T,
  LETTER_U,
  MINUS,
  NEW_LINE,
  NINE,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  RETURN,
  TAB,
  ZERO,
} from './characters';

/** `null`, `true`, and `false` without its first letter, as words. */
export const NULL_WORD: u32 = 0x6c6c756e;
const TRUE_WORD: u32 = 0x65757274;
const FALSE_WORD: u32 = 0x65736c61;

/** Digits that a double holds exactly. */
const DIGITS_MAX: usize = 15;
const DECIMAL_MAX: usize = 40;
/** Doubles of more digits before the point, or more zeros behind it, are written with an exponent. */
const LARGE_DIGITS: usize = 7;
const SMALL_DIGITS: usize = 3;
/** Longer strings are left to the way over values, which has limits. */
const STRING_MAX: usize = 1 << 20;

/** Which of sixteen bytes of a string do not go on with it: quotes, backslashes, control characters; a bit for each. */
function stopsIn(bytes: v128): i32 {
  const ends = v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH)));
  return i8x16.bitmask(v128.or(ends, i8x16.lt_u(bytes, i8x16.splat(BLANK))));
}

/** Where a string from here on does not go on. */
function stopAt(from: usize): usize {
  let at = from;
  while (true) {
    const stops = stopsIn(v128.load(at));
    if (stops !== 0) return at + ctz(stops);
    at += 16;
  }
}

/** Copies a string up to where it does not go on, and what of sixteen bytes comes behind that: how many bytes that is. */
export function copyToStop(to: usize, from: usize): usize {
  let size: usize = 0;
  while (true) {
    const bytes = v128.load(from + size);
    v128.store(to + size, bytes);
    const stops = stopsIn(bytes);
    if (stops !== 0) return size + ctz(stops);
    size += 16;
  }
}

export function skipBlanks(from: usize): usize {
  let at = from;
  while (load<u8>(at) === BLANK) at++;
  return at;
}

/** Of all kinds that JSON has. */
export function skipAllBlanks(from: usize): usize {
  let at = from;
  while (isBlank(load<u8>(at))) at++;
  return at;
}

export function isBlank(code: u8): bool {
  return code === BLANK || code === NEW_LINE || code === RETURN || code === TAB;
}

/** Behind a string that is stored as it stands; 0 also for one with other escapes than the short ones. */
export function stringEnd(start: usize): usize {
  if (load<u8>(start) !== QUOTE) return 0;
  let at = start + 1;
  while (true) {
    at = stopAt(at);
    const code = load<u8>(at);
    if (code === QUOTE) return at - start > STRING_MAX ? 0 : at + 1;
    if (code !== BACKSLASH || !isShortEscape(load<u8>(at + 1))) return 0;
    at += 2;
  }
}

/** Behind a string without escapes; 0 for another. */
export function plainStringEnd(start: usize): usize {
  const end = stopAt(start + 1);
  return load<u8>(end) === QUOTE ? end + 1 : 0;
}

/** Whether that stands behind the backslash of an escape that is stored as it stands. */
export function isShortEscape(code: u8): bool {
  return (
    code === QUOTE ||
    code === BACKSLASH ||
    code === LETTER_N ||
    code === LETTER_T ||
    code === LETTER_R ||
    code === LETTER_B ||
    code === LETTER_F
  );
}

/** Behind a string with any escapes but those that name half a pair of characters by number; 0 for another. */
export function escapedStringEnd(start: usize): usize {
  if (load<u8>(start) !== QUOTE) return 0;
  let at = start + 1;
  while (true) {
    const code = load<u8>(at);
    if (code === QUOTE) return at - start > STRING_MAX ? 0 : at + 1;
    if (code < BLANK) return 0;
    if (code === BACKSLASH && load<u8>(++at) === LETTER_U && (load<u8>(at + 1) | BLANK) === LETTER_D) return 0;
    at++;
  }
}

/** Behind a list of strings that is stored as it stands. */
export function stringsEnd(start: usize): usize {
  if (load<u8>(start) !== OPEN_BRACKET) return 0;
  if (load<u8>(start + 1) === CLOSE_BRACKET) return start + 2;
  let at = start + 1;
  while (true) {
    at = stringEnd(at);
    if (at === 0) return 0;
    const code = load<u8>(at++);
    if (code === CLOSE_BRACKET) return at;
    if (code !== COMMA) return 0;
  }
}

/** Behind a list or map, by its brackets; 0 when they do not close before `limit`. */
export function containerEnd(start: usize, limit: usize): usize {
  let depth = 0;
  for (let at = start; at < limit; at++) {
    const code = load<u8>(at);
    if (code === QUOTE) {
      const end = escapedStringEnd(at);
      if (end === 0) return 0;
      at = end - 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at + 1;
  }
  return 0;
}

export function booleanEnd(at: usize): usize {
  if (load<u32>(at) === TRUE_WORD) return at + 4;
  return load<u8>(at) === LETTER_F && load<u32>(at + 1) === FALSE_WORD ? at + 5 : 0;
}

export function isDigit(code: u8): bool {
  return code >= ZERO && code <= NINE;
}

/** Behind the digits of a number without leading zero; 0 when they are too many, or none. */
function digitsEnd(start: usize): usize {
  let at = start;
  while (isDigit(load<u8>(at))) at++;
  const count = at - start;
  return count === 0 || count > DIGITS_MAX || (count > 1 && load<u8>(start) === ZERO) ? 0 : at;
}

/** Behind an integer that is stored as it stands. */
export function integerEnd(start: usize): usize {
  const isNegative = load<u8>(start) === MINUS;
  const first = isNegative ? start + 1 : start;
  const end = digitsEnd(first);
  if (end === 0 || (isNegative && load<u8>(first) === ZERO)) return 0;
  const code = load<u8>(end);
  return code === DOT || (code | BLANK) === LETTER_E ? 0 : end;
}

/** Behind a number with a point and without an exponent. */
export function decimalEnd(start: usize): usize {
  const point = digitsEnd(load<u8>(start) === MINUS ? start + 1 : start);
  if (point === 0 || load<u8>(point) !== DOT) return 0;
  let end = point + 1;
  while (isDigit(load<u8>(end))) end++;
  if (end === point + 1 || end - start > DECIMAL_MAX) return 0;
  return (load<u8>(end) | BLANK) === LETTER_E ? 0 : end;
}

/**
 * Behind a decimal that canonical and stored text spell as it stands: of up to 15 digits, of which no shorter ones mean the same, and of a size
 * for which nobody writes an exponent.
 */
export function plainDecimalEnd(start: usize): usize {
  const first = load<u8>(start) === MINUS ? start + 1 : start;
  const end = decimalEnd(start);
  if (end === 0 || end - first > DIGITS_MAX + 1) return 0;
  let point = first;
  while (load<u8>(point) !== DOT) point++;
  if (point - first > LARGE_DIGITS || (load<u8>(end - 1) === ZERO && end !== point + 2)) return 0;
  if (load<u8>(first) !== ZERO) return end;
  // 0.0 has no minus; from 0.001 on there is no exponent.
  for (let at = point + 1; at < end && at <= point + SMALL_DIGITS; at++) if (load<u8>(at) !== ZERO) return end;
  return end === point + 2 && first === start ? end : 0;
}

/** Behind what looks like a number. */
export function numberEnd(start: usize): usize {
  let at = start;
  for (let code = load<u8>(at); isDigit(code) || isNumberMark(code); code = load<u8>(++at));
  return at === start ? 0 : at;
}

function isNumberMark(code: u8): bool {
  return code === MINUS || code === PLUS || code === DOT || (code | BLANK) === LETTER_E;
}
