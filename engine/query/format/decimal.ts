// Exact sums and averages of JSON numbers, with the digits PostgreSQL's numeric gives them (spec/query.md 3.11):
// integers of any size stay integers, decimals keep the longest fraction that went in, an average has at
// least 16 significant digits. Doubles count as their decimal spelling, which is what is stored of them.

import { storedText } from '../../json/stored.ts';
import type { Float } from '../../json/value.ts';
import { Decimal, quotient } from './decimal-value.ts';

/** Digits of a quotient that count at least. */
const SIGNIFICANT_DIGITS_MIN = 16;
/** numeric computes in groups of four decimal digits; the scale of a quotient follows from where its groups begin. */
const GROUP_DIGITS = 4;
const SCALE_MAX = 1000;

export class DecimalSum {
  /** What fits a double exactly is added here first; the rest of the sum is `#units / 10 ** #scale`. */
  #small = 0;
  #units = 0n;
  #scale = 0;

  /** Adds `value` as often as `weight` (an integer) says. */
  add(value: number | bigint | Float | Decimal, weight = 1): void {
    if (typeof value === 'number' && Number.isInteger(value)) {
      const sum = this.#small + value * weight;
      if (Number.isSafeInteger(sum) && Number.isSafeInteger(value * weight)) {
        this.#small = sum;
        return;
      }
    }
    const [whole = '', fraction = ''] = (value instanceof Decimal ? value.text : storedText(value)).split('.');
    this.#addUnits(BigInt(whole + fraction) * BigInt(weight), fraction.length);
  }

  /** Adds another sum as often as `weight` says. */
  addSum(other: DecimalSum, weight: number): void {
    this.add(other.#small, weight);
    if (other.#scale > 0 || other.#units !== 0n) this.#addUnits(other.#units * BigInt(weight), other.#scale);
  }

  #addUnits(units: bigint, scale: number): void {
    if (scale > this.#scale) {
      this.#units *= 10n ** BigInt(scale - this.#scale);
      this.#scale = scale;
    }
    this.#units += units * 10n ** BigInt(this.#scale - scale);
  }

  /** The sum in units of its scale. */
  #total(): bigint {
    return this.#units + BigInt(this.#small) * 10n ** BigInt(this.#scale);
  }

  /** JSON number text of the sum; 0 if nothing was added. */
  sum(): string {
    return new Decimal(this.#total(), this.#scale).text;
  }

  /** JSON number text of the sum divided by `count` (a positive integer), rounded half away from zero. */
  avg(count: number): string {
    const total = this.#total();
    const divisor = BigInt(count);
    const scale = quotientScale(total, this.#scale, divisor);
    return new Decimal(quotient(total * 10n ** BigInt(scale - this.#scale), divisor, false), scale).text;
  }
}

/** Digits after the point of `units / 10 ** scale` divided by an integer. */
function quotientScale(units: bigint, scale: number, divisor: bigint): number {
  const dividendLead = leadingGroup(units < 0n ? -units : units, scale);
  const divisorLead = leadingGroup(divisor, 0);
  const weight = dividendLead.weight - divisorLead.weight - (dividendLead.group <= divisorLead.group ? 1 : 0);
  return Math.min(Math.max(SIGNIFICANT_DIGITS_MIN - weight * GROUP_DIGITS, scale), Math.max(SCALE_MAX, scale));
}

/** First group of four digits that is not zero, and how many groups it stands left of the point (0: next to it). */
function leadingGroup(units: bigint, scale: number): { group: number; weight: number } {
  if (units === 0n) return { group: 0, weight: 0 };
  const digits = units.toString();
  // Place of the first digit as a power of ten, then of its group.
  const weight = Math.floor((digits.length - 1 - scale) / GROUP_DIGITS);
  const groupEnd = digits.length - scale - weight * GROUP_DIGITS;
  return { group: Number(digits.slice(0, groupEnd).padEnd(groupEnd, '0')), weight };
}
