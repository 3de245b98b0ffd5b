// What exact arithmetic with doubles takes (Dekker's: what an operation on doubles loses is a double itself).

/** Where the host keeps the powers of ten that doubles hold exactly, and how many there are. */
const TENS: usize = 64;
export const TENS_COUNT: usize = 23;
/** Splits a double into halves whose products are exact. */
const SPLIT: f64 = 134217729;

/** `exponent` must not be a difference: the compiler takes sums of addresses not to wrap. */
export function tenTo(exponent: usize): f64 {
  return load<f64>(TENS + (exponent << 3));
}

export function highHalf(value: f64): f64 {
  const scaled = SPLIT * value;
  return scaled - (scaled - value);
}
