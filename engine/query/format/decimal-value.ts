// One decimal number with all its digits, to be rounded, compared and taken apart: what masks work on, and what a text counts as.

import { storedText } from '../../json/stored.ts';
import type { Float } from '../../json/value.ts';

const NUMERIC = /^\s*(?<sign>[+-]?)(?=\.?\d)(?<whole>\d*)(?:\.(?<fraction>\d*))?(?:[eE](?<exponent>[+-]?\d{1,6}))?\s*$/;
/** Texts with more digits than that, before the point and after it, are no numbers. */
const WHOLE_MAX = 131_072;
const SCALE_MAX = 16_383;

export class Decimal {
  readonly #units: bigint;
  readonly #scale: number;

  /** `units`: the number times ten to the power of `scale`, which is not below zero: so many digits are after the point. */
  constructor(units: bigint, scale: number) {
    this.#units = units;
    this.#scale = scale;
  }

  static of(value: number | bigint | Float): Decimal {
    const [whole = '', fraction = ''] = storedText(value).split('.');
    return new Decimal(BigInt(whole + fraction), fraction.length);
  }

  /** What PostgreSQL reads as a number with an end; null for other texts. */
  static parse(text: string): Decimal | null {
    const found = NUMERIC.exec(text);
    if (found === null) return null;
    const { sign = '', whole = '', fraction = '', exponent = '0' } = found.groups!;
    const scale = fraction.length - Number(exponent);
    if (Math.abs(scale) > SCALE_MAX || whole.length > WHOLE_MAX) return null;
    const digits = BigInt(`${whole}${fraction}`);
    const units = sign === '-' ? -digits : digits;
    return scale >= 0 ? new Decimal(units, scale) : new Decimal(units * 10n ** BigInt(-scale), 0);
  }

  /** Below zero when this number is the smaller one, zero when they are equal. */
  compare(other: Decimal): number {
    const scale = Math.max(this.#scale, other.#scale);
    const [a, b] = [this.rounded(scale).#units, other.rounded(scale).#units];
    return a < b ? -1 : a > b ? 1 : 0;
  }

  /** Zero has no sign. */
  get isNegative(): boolean {
    return this.#units < 0n;
  }

  /** All digits, padded so that there is one before the point. */
  get #digits(): string {
    return (this.isNegative ? -this.#units : this.#units).toString().padStart(this.#scale + 1, '0');
  }

  /** Digits before the point, without sign. */
  get whole(): string {
    return this.#digits.slice(0, this.#digits.length - this.#scale);
  }

  /** Digits after the point. */
  get fraction(): string {
    return this.#digits.slice(this.#digits.length - this.#scale);
  }

  get text(): string {
    const digits = this.#digits;
    const point = digits.length - this.#scale;
    const fraction = this.#scale === 0 ? '' : `.${digits.slice(point)}`;
    return `${this.isNegative ? '-' : ''}${digits.slice(0, point)}${fraction}`;
  }

  /** Times ten to the power of `places`. */
  shifted(places: number): Decimal {
    return new Decimal(this.#units * 10n ** BigInt(places), this.#scale);
  }

  /** The same of an integer of 32 bits, and wrapped around as one: what is no such power of ten is the lowest of them. */
  shiftedInteger(places: number): Decimal {
    const power = places < 10 ? 10n ** BigInt(places) : -(2n ** 31n);
    return new Decimal(BigInt.asIntN(32, this.#units * power), 0);
  }

  /** With exactly `scale` digits after the point; halves go away from zero. */
  rounded(scale: number): Decimal {
    if (scale >= this.#scale) return new Decimal(this.#units * 10n ** BigInt(scale - this.#scale), scale);
    return new Decimal(quotient(this.#units, 10n ** BigInt(this.#scale - scale), false), scale);
  }

  /**
   * `d.ddde+NN` with `places` digits after the point. `asDouble`: as a double prints itself, halves to the even digit; else
   * as a numeric does, halves away from zero, and what is rounded up to ten stays ten.
   */
  exponentText(places: number, asDouble: boolean): string {
    const digits = (this.isNegative ? -this.#units : this.#units).toString();
    let exponent = this.#units === 0n ? 0 : digits.length - 1 - this.#scale;
    let mantissa: string;
    let leading = 1;
    if (this.#units === 0n) mantissa = '0'.padEnd(places + 1, '0');
    else if (digits.length <= places + 1) mantissa = digits.padEnd(places + 1, '0');
    else {
      mantissa = quotient(BigInt(digits), 10n ** BigInt(digits.length - places - 1), asDouble).toString();
      if (mantissa.length > places + 1) {
        if (asDouble) {
          mantissa = mantissa.slice(0, -1);
          exponent++;
        } else leading = 2;
      }
    }
    const point = places === 0 ? '' : `.${mantissa.slice(leading)}`;
    const power = `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
    return `${this.isNegative ? '-' : ''}${mantissa.slice(0, leading)}${point}e${power}`;
  }
}

/** Rounded to the nearest integer, halves away from zero or to the even one. */
export function quotient(dividend: bigint, divisor: bigint, toEven: boolean): bigint {
  const size = dividend < 0n ? -dividend : dividend;
  let rounded = (size * 2n + divisor) / (divisor * 2n);
  if (toEven && (size * 2n) % divisor === 0n && ((size * 2n) / divisor) % 2n === 1n && rounded % 2n === 1n)
    rounded -= 1n;
  return dividend < 0n ? -rounded : rounded;
}
