// The decimal text of a double as bytes. V8 makes a string of it first, which takes nearly twice as long and is garbage.

import { decimalText } from './stored.ts';

/** Powers of ten that doubles hold exactly. */
export const TENS = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
/** Splits a double into halves whose products are exact. */
const SPLIT = 2 ** 27 + 1;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;

/** Digits that tell every double from its neighbours, and the two parts that they are written in. */
const DIGITS = 17;
const HIGH_DIGITS = 9;
const LOW_DIGITS = 8;
const HIGH_MAX = 10 ** HIGH_DIGITS;
const LOW_MAX = 10 ** LOW_DIGITS;
/** Between these, the second one left out, a power of ten that is a double itself puts 17 digits before the point. */
const LEAST = 1e-3;
const LIMIT = 1e7;
const LEAST_EXPONENT = -3;
/** Nearer than that to the middle between two candidates none of them is chosen here. */
const NEAR_MIDDLE = 1e-6;

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);
const MANTISSA_HIGH = 0xf_ffff;
const EXPONENT_BIAS = 1023;
/** The exponent of two of `LEAST`, and half of the last place of doubles from that one on. */
const LEAST_TWO = -10;
const HALF_PLACES = Array.from({ length: 34 }, (_, i) => 2 ** (LEAST_TWO + i - 53));

/** Both digits of the numbers below a hundred. */
const PAIR_TENS = Uint8Array.from({ length: 100 }, (_, i) => ZERO + Math.floor(i / 10));
const PAIR_ONES = Uint8Array.from({ length: 100 }, (_, i) => ZERO + (i % 10));

/** The two parts of the digits that `shortest` found: filled up with zeros behind them. */
let first = 0;
let rest = 0;

/**
 * Writes the text that `decimalText` gives of the double: the place behind it. `target` has room for it from `at` on, which is 400
 * bytes at the most.
 */
export function writeDouble(value: number, target: Uint8Array, at: number): number {
  const magnitude = Math.abs(value);
  let to = at;
  if (magnitude >= LEAST && magnitude < LIMIT && !Number.isInteger(value)) {
    const exponent = exponentOf(magnitude);
    if (shortest(magnitude, exponent)) {
      if (value < 0) target[to++] = MINUS;
      return writeDigits(exponent, target, to);
    }
  }
  const text = decimalText(value);
  for (let i = 0; i < text.length; i++) target[to++] = text.charCodeAt(i);
  return to;
}

/** The decimal exponent of the first digit. */
function exponentOf(value: number): number {
  if (value < 1) return value >= 0.1 ? -1 : value >= 0.01 ? -2 : LEAST_EXPONENT;
  let exponent = 0;
  while (value >= TENS[exponent + 1]!) exponent++;
  return exponent;
}

/**
 * Finds the fewest digits that lead back to the double, of those the nearest to it; false where that is not easily told.
 *
 * With 17 digits before its point the double is `product + lost`, exactly (Dekker's arithmetic: the power of ten is a double, and
 * what the product loses is one). What lies within half of a last place of it leads back to it. Differences from it are
 * multiples of 2^-44 below 2^7, so they are exact too.
 */
function shortest(value: number, exponent: number): boolean {
  double[0] = value;
  const low = halves[0]!;
  const high = halves[1]!;
  // The neighbour below a power of two is nearer than the one above.
  if (low === 0 && (high & MANTISSA_HIGH) === 0) return false;
  const tens = TENS[DIGITS - 1 - exponent]!;
  const reach = HALF_PLACES[(high >>> 20) - EXPONENT_BIAS - LEAST_TWO]! * tens;
  const product = value * tens;
  const valueHigh = highHalf(value);
  const tensHigh = highHalf(tens);
  const valueLow = value - valueHigh;
  const tensLow = tens - tensHigh;
  const lost = valueLow * tensLow - (product - valueHigh * tensHigh - valueLow * tensHigh - valueHigh * tensLow);

  let upper = Math.floor(product / LOW_MAX);
  const lower = product - upper * LOW_MAX;
  const about = lower + lost;
  let last = Math.round(about / 100) * 100;
  if (Math.abs(last - lower - lost) >= reach) {
    last = Math.round(about / 10) * 10;
    let missed = Math.abs(last - lower - lost);
    let middle = 5;
    if (missed >= reach) {
      last = Math.round(about);
      missed = Math.abs(last - lower - lost);
      middle = 0.5;
    }
    if (missed > middle - NEAR_MIDDLE) return false;
  }
  if (last < 0) {
    upper--;
    last += LOW_MAX;
  } else if (last >= LOW_MAX) {
    upper++;
    last -= LOW_MAX;
  }
  if (upper >= HIGH_MAX || upper * 10 < HIGH_MAX) return false;
  first = upper | 0;
  rest = last | 0;
  return true;
}

function writeDigits(exponent: number, target: Uint8Array, at: number): number {
  if (exponent < 0) {
    target[at] = ZERO;
    target[at + 1] = DOT;
    let to = at + 2;
    for (let zeros = -1 - exponent; zeros > 0; zeros--) target[to++] = ZERO;
    return writeParts(target, to);
  }
  const end = writeParts(target, at + 1);
  for (let i = 0; i <= exponent; i++) target[at + i] = target[at + i + 1]!;
  target[at + exponent + 1] = DOT;
  return end;
}

/** All digits but the zeros at their end. */
function writeParts(target: Uint8Array, at: number): number {
  let end = at + HIGH_DIGITS;
  writePairs(first, HIGH_DIGITS, target, at);
  if (rest !== 0) {
    writePairs(rest, LOW_DIGITS, target, end);
    end += LOW_DIGITS;
  }
  while (target[end - 1] === ZERO) end--;
  return end;
}

function writePairs(number: number, count: number, target: Uint8Array, at: number): void {
  let left = number;
  let i = at + count - 2;
  for (; i >= at; i -= 2) {
    const above = (left / 100) | 0;
    const pair = left - above * 100;
    target[i] = PAIR_TENS[pair]!;
    target[i + 1] = PAIR_ONES[pair]!;
    left = above;
  }
  if (i + 1 === at) target[at] = ZERO + left;
}

/** The high half of a double's digits: products of halves are exact. */
function highHalf(value: number): number {
  const scaled = SPLIT * value;
  return scaled - (scaled - value);
}
