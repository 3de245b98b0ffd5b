// The decimal text of a double, as `decimalText` (engine/json/stored.ts) spells it. V8 makes a string of it, which takes several times as long
// and is garbage.

import { DOT, MINUS, ZERO } from '../common/characters';
import { highHalf, tenTo } from '../common/exact';
import { double } from './host';

/** More bytes than the text of a double has. */
export const DOUBLE_MAX: usize = 400;

/** Digits that tell every double from its neighbours, and the two parts that they are written in. */
const HIGH_DIGITS: usize = 9;
const LOW_DIGITS: usize = 8;
const HIGH_UNIT: u32 = 100000000;
const HIGH_MAX: f64 = 1000000000;
const LOW_MAX: f64 = 100000000;
/** Between these, the second one left out, a power of ten that is a double itself puts 17 digits before the point. */
const LEAST: f64 = 0.000001;
const LIMIT: f64 = 10000000;
/** What is smaller has two digits at least. */
const SMALL: f64 = 0.001;
/** The power of ten that does so for the doubles from 1 to below 10. */
const SCALE: usize = 16;
/** Nearer than that to the middle between two candidates, or to where one leads to another double, none is chosen here. */
const NEAR: f64 = 0.000001;

const MANTISSA: u64 = 0xf_ffff_ffff_ffff;
const MANTISSA_BITS: u64 = 52;
/** Of the exponent of half of a double's last place. */
const HALF_PLACE: u64 = 53;

/** The two parts of the digits that `shortest` found: filled up with zeros behind them. */
let first: u32 = 0;
let rest: u32 = 0;

/** Writes the text to `at`; the place behind it. */
export function writeDouble(value: f64, at: usize): usize {
  const magnitude = Math.abs(value);
  if (magnitude >= LEAST && magnitude < LIMIT && magnitude !== Math.trunc(magnitude)) {
    const scale = scaleOf(magnitude);
    if (shortest(magnitude, scale)) {
      let to = at;
      if (value < 0) store<u8>(to++, MINUS);
      const end = writeDigits(scale, to);
      if (magnitude >= SMALL || rest !== 0 || first % HIGH_UNIT !== 0) return end;
      store<u8>(end, ZERO);
      return end + 1;
    }
  }
  return double(value, at);
}

/** Which power of ten puts 17 digits before the point. */
function scaleOf(value: f64): usize {
  let scale = SCALE;
  if (value < 1) {
    scale++;
    for (let limit = 0.1; value < limit; limit /= 10) scale++;
    return scale;
  }
  for (let limit: usize = 1; value >= tenTo(limit); limit++) scale--;
  return scale;
}

/**
 * Finds the fewest digits that lead back to the double, of those the nearest to it; false where that is not easily told.
 *
 * With 17 digits before its point the double is `product + lost`, exactly (Dekker's arithmetic: the power of ten is a double, and
 * what the product loses is one). What lies within half of a last place of it leads back to it. Differences from it lose less than
 * 2^-44 when they are rounded.
 */
function shortest(value: f64, scale: usize): bool {
  const bits = reinterpret<u64>(value);
  // The neighbour below a power of two is nearer than the one above.
  if ((bits & MANTISSA) === 0) return false;
  const tens = tenTo(scale);
  const reach = reinterpret<f64>(((bits >> MANTISSA_BITS) - HALF_PLACE) << MANTISSA_BITS) * tens;
  const product = value * tens;
  const valueHigh = highHalf(value);
  const tensHigh = highHalf(tens);
  const valueLow = value - valueHigh;
  const tensLow = tens - tensHigh;
  const lost = valueLow * tensLow - (product - valueHigh * tensHigh - valueLow * tensHigh - valueHigh * tensLow);

  let upper = Math.floor(product / LOW_MAX);
  const lower = product - upper * LOW_MAX;
  const about = lower + lost;
  let last: f64 = 0;
  for (let unit: f64 = 100; ; unit /= 10) {
    last = Math.floor(about / unit + 0.5) * unit;
    const missed = Math.abs(last - lower - lost);
    if (missed > unit / 2 - NEAR || Math.abs(missed - reach) < NEAR) return false;
    if (missed < reach || unit === 1) break;
  }
  if (last < 0) {
    upper -= 1;
    last += LOW_MAX;
  } else if (last >= LOW_MAX) {
    upper += 1;
    last -= LOW_MAX;
  }
  if (upper >= HIGH_MAX || upper * 10 < HIGH_MAX) return false;
  first = u32(upper);
  rest = u32(last);
  return true;
}

function writeDigits(scale: usize, at: usize): usize {
  if (scale > SCALE) {
    store<u8>(at, ZERO);
    store<u8>(at + 1, DOT);
    let to = at + 2;
    for (let zeros = scale - SCALE; zeros > 1; zeros--) store<u8>(to++, ZERO);
    return writeParts(to);
  }
  const end = writeParts(at + 1);
  const point = at + 1 + SCALE - scale;
  for (let to = at; to < point; to++) store<u8>(to, load<u8>(to + 1));
  store<u8>(point, DOT);
  return end;
}

/** All digits but the zeros at their end. */
function writeParts(at: usize): usize {
  let end = at + HIGH_DIGITS;
  writeInteger(first, at, HIGH_DIGITS);
  if (rest !== 0) {
    writeInteger(rest, end, LOW_DIGITS);
    end += LOW_DIGITS;
  }
  while (load<u8>(end - 1) === ZERO) end--;
  return end;
}

function writeInteger(value: u32, at: usize, count: usize): void {
  let left = value;
  for (let to = at + count; to > at; ) {
    const tenth = left / 10;
    store<u8>(--to, u8(ZERO + u8(left - tenth * 10)));
    left = tenth;
  }
}
