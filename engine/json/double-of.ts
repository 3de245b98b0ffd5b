// The double that is nearest to a decimal text, from its bytes: `Number` of a text of 17 digits, which is what a clock's fraction has,
// costs ten times as much.

const DOT = 0x2e;
const MINUS = 0x2d;
const ZERO = 0x30;

/** Digits of each of the two parts that a text's digits are read as. */
const FIRST_DIGITS = 9;
const REST_DIGITS = 8;
/** Powers of ten that doubles hold exactly. */
export const TENS = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
/** Splits a double into halves whose products are exact. */
const SPLIT = 2 ** 27 + 1;
/** Of what is missing to the nearest double: nearer than that to the middle between two of them nothing is decided. */
const NEAR_MIDDLE = 1 + 1e-9;

/** The double of the text from `start` to `end`: digits, with a point in them and perhaps a minus before them. */
export function doubleOf(bytes: Buffer, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let first = 0;
  let rest = 0;
  let count = 0;
  let point = -1;
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const code = bytes[at]!;
    if (code === DOT) {
      point = at;
      continue;
    }
    if (count < FIRST_DIGITS) first = first * 10 + code - ZERO;
    else rest = rest * 10 + code - ZERO;
    // Zeros before all others are none.
    if (first > 0) count++;
  }
  const tens = point < 0 ? 0 : end - point - 1;
  const restCount = Math.max(count - FIRST_DIGITS, 0);
  const value =
    restCount > REST_DIGITS || tens >= TENS.length ? null : quotient(first * TENS[restCount]!, rest, TENS[tens]!);
  if (value === null) return Number(bytes.toString('latin1', start, end));
  return isNegative ? -value : value;
}

/** The high half of a double's digits: products of halves are exact. */
export function highHalf(value: number): number {
  const scaled = SPLIT * value;
  return scaled - (scaled - value);
}

/**
 * `(large + small) / divisor` rounded once, all of them exact; null where it lies too near to the middle between two doubles. Dekker's
 * arithmetic: what an operation loses is a double itself.
 */
function quotient(large: number, small: number, divisor: number): number | null {
  const sum = large + small;
  const lostOfSum = small - (sum - large);
  const rough = sum / divisor;
  const product = rough * divisor;
  const roughHigh = highHalf(rough);
  const divisorHigh = highHalf(divisor);
  const roughLow = rough - roughHigh;
  const divisorLow = divisor - divisorHigh;
  const lostOfProduct =
    roughLow * divisorLow - (product - roughHigh * divisorHigh - roughLow * divisorHigh - roughHigh * divisorLow);
  const missing = (sum - product - lostOfProduct + lostOfSum) / divisor;
  const value = rough + missing;
  const lost = missing - (value - rough);
  return value + lost * NEAR_MIDDLE === value ? value : null;
}
