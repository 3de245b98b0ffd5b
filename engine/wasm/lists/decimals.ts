// The double that is nearest to a decimal text: `Number` of a text of 17 digits, which is what a clock's fraction has, costs ten times as
// much. Dekker's arithmetic: what an operation on doubles loses is a double itself.

import { DOT, MINUS, ZERO } from '../common/characters';
import { highHalf, TENS_COUNT, tenTo } from '../common/exact';

/** Digits of each of the two parts that a text's digits are read as. */
const FIRST_DIGITS: usize = 9;
const REST_DIGITS: usize = 8;
/** Of what is missing to the nearest double: nearer than that to the middle between two of them nothing is decided. */
const NEAR_MIDDLE: f64 = 1.000000001;

/** The double of a text of digits with a point in them, and perhaps a minus before them; NaN: not decided. */
export function doubleOf(start: usize, end: usize): f64 {
  const isNegative = load<u8>(start) === MINUS;
  let first: u32 = 0;
  let rest: u32 = 0;
  let count: usize = 0;
  let point: usize = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const code = load<u8>(at);
    if (code === DOT) {
      point = at;
      continue;
    }
    const digit: u32 = code - ZERO;
    if (count < FIRST_DIGITS) first = first * 10 + digit;
    else if (count >= FIRST_DIGITS + REST_DIGITS) return NaN;
    else rest = rest * 10 + digit;
    // Zeros before all others are none.
    if (first > 0) count++;
  }
  const tens: usize = point === 0 ? 0 : end - point - 1;
  if (tens >= TENS_COUNT) return NaN;
  const restCount: usize = count > FIRST_DIGITS ? count - FIRST_DIGITS : 0;
  const value = quotient(f64(first) * tenTo(restCount), f64(rest), tenTo(tens));
  return isNegative ? -value : value;
}

/** `(large + small) / divisor` rounded once, NaN where it lies too near to the middle between two doubles. */
function quotient(large: f64, small: f64, divisor: f64): f64 {
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
  return value + lost * NEAR_MIDDLE === value ? value : NaN;
}
