// What ends the plain part of a string of JSON text: its end, an escape, a control character. Looked for four bytes at a time.

import { BACKSLASH, BLANK, QUOTE } from './ascii.ts';

/** By byte: 1 for what does not simply stand in a string. */
export const STOPS = new Uint8Array(256);
STOPS.fill(1, 0, BLANK);
STOPS[QUOTE] = 1;
STOPS[BACKSLASH] = 1;

/** A byte in each of the four of a word. */
const inEach = (byte: number): number => byte * 0x01010101;
const ONES = inEach(1);
const QUOTES = inEach(QUOTE);
const BACKSLASHES = inEach(BACKSLASH);
const BLANKS = inEach(BLANK);
const HIGHEST = inEach(0x80) | 0;

/**
 * Whether one of a word's four bytes is a stop, all looked at at once. In `word - n & ~word`, with n in each byte, a byte's highest
 * bit tells whether it is below n; a borrow makes that wrong only above a byte that is.
 */
export function hasStop(word: number): boolean {
  const quotes = word ^ QUOTES;
  const backslashes = word ^ BACKSLASHES;
  const found = ((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes) | ((word - BLANKS) & ~word);
  return (found & HIGHEST) !== 0;
}
