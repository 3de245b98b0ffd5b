// Times, of which nothing is made where they are of a minute whose seconds are known to be times: the next ones mostly are.

import { DOT, UPPER_Z, ZERO } from '../common/characters';
import { areEqual, copy } from '../common/memory';
import { isDigit } from '../common/tokens';
import { minute, time } from './host';
import { KEPT_MINUTE } from './layout';

/** Up to the seconds: `2026-11-20T10:00:` */
const MINUTE_SIZE: usize = 17;
/** Of a fraction of seconds. */
const FRACTION_MAX: usize = 9;

/** When the known minute begins, whose text outlives the list; NaN: none is known. */
let minuteStart: f64 = NaN;

/** Epoch ms of the text, NaN when it is no time. */
export function timeAt(start: usize, end: usize): f64 {
  const known = inMinute(start, end);
  if (!F64.isNaN(known)) return known;
  const found = time(start, end);
  if (F64.isNaN(found)) return found;
  const begin = minute(start, end);
  if (!F64.isNaN(begin)) {
    minuteStart = begin;
    copy(KEPT_MINUTE, start, MINUTE_SIZE);
  }
  return found;
}

/** The same of the known minute's text, two digits for seconds below 60, perhaps a fraction, and a Z; NaN for others. */
function inMinute(start: usize, end: usize): f64 {
  const last = end - 1;
  const second = start + MINUTE_SIZE;
  if (last < second + 2 || load<u8>(last) !== UPPER_Z) return NaN;
  if (!areEqual(start, KEPT_MINUTE, MINUTE_SIZE)) return NaN;
  const tens: u32 = u32(load<u8>(second)) - ZERO;
  const ones: u32 = u32(load<u8>(second + 1)) - ZERO;
  if (tens > 5 || ones > 9) return NaN;
  const whole = minuteStart + f64((tens * 10 + ones) * 1000);
  if (last === second + 2) return whole;
  if (load<u8>(second + 2) !== DOT || last === second + 3 || last > second + 3 + FRACTION_MAX) return NaN;
  let millis: u32 = 0;
  let place: u32 = 100;
  for (let at = second + 3; at < last; at++) {
    const code = load<u8>(at);
    if (!isDigit(code)) return NaN;
    millis += (code - ZERO) * place;
    place /= 10;
  }
  return whole + f64(millis);
}
