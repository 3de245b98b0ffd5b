// Numbers through a mask, like PostgreSQL's to_char: digits and blanks position by position, signs anchored to the
// number. The state below is that of the original's walk over the mask, since its results are defined by nothing else.

import type { Decimal } from './decimal-value.ts';
import { type MaskNode, ordinalEnding, parseMask } from './mask.ts';
import { type Key, type Layout, layoutOf, masked, SYNTAX } from './number-layout.ts';

/**
 * What a mask makes of numbers. `isInteger`: of a column of integers, which differ from other numbers where a digit before a
 * final 5 is rounded, and where `V` makes them too large. Throws QueryError for a mask whose patterns contradict each other.
 */
export function compileNumberMask(mask: string, isInteger: boolean): (value: Decimal) => string {
  const nodes = parseMask(mask, SYNTAX);
  const layout = layoutOf(nodes);
  return (value) => {
    if (layout.exponent) return `${value.isNegative ? '' : ' '}${value.exponentText(layout.after, isInteger)}`;
    const shifted = isInteger ? value.shiftedInteger(layout.shift) : value.shifted(layout.shift);
    return new Walk(nodes, layout, value, shifted).print();
  };
}

const ROMAN: readonly (readonly [number, string])[] = [
  [1000, 'M'],
  [900, 'CM'],
  [500, 'D'],
  [400, 'CD'],
  [100, 'C'],
  [90, 'XC'],
  [50, 'L'],
  [40, 'XL'],
  [10, 'X'],
  [9, 'IX'],
  [5, 'V'],
  [4, 'IV'],
  [1, 'I'],
];
const ROMAN_MAX = 3999;
const ROMAN_WIDTH = 15;

function romanText(value: number): string {
  if (value < 1 || value > ROMAN_MAX) return '#'.repeat(ROMAN_WIDTH);
  let rest = value;
  let out = '';
  for (const [size, letters] of ROMAN) {
    for (; rest >= size; rest -= size) out += letters;
  }
  return out;
}

class Walk {
  readonly #nodes: readonly MaskNode<string>[];
  readonly #layout: Layout;
  readonly #value: Decimal;
  /** Digits, and a point if the mask has digits after one; `#` in place of what does not fit. */
  readonly #digits: string;
  readonly #isNegative: boolean;
  /** Mask positions before the number's first digit. */
  readonly #blanks: number;
  /** Index into the digits of the last one that FM keeps; null: all. */
  readonly #lastKept: number | null;
  readonly #positionCount: number;
  readonly #brackets: boolean;
  #signWritten: boolean;
  /** Whether the last digit position wrote a digit. */
  #isInNumber = false;
  #position = 0;
  #next = 0;
  #out = '';
  /** A position behind the last digit was written: the original ends its text there. */
  #isCut = false;

  /** `shifted`: the value with the extra digits of `V`. */
  constructor(nodes: readonly MaskNode<string>[], layout: Layout, value: Decimal, shifted: Decimal) {
    this.#nodes = nodes;
    this.#layout = layout;
    this.#value = value;
    const rounded = shifted.rounded(layout.after);
    this.#isNegative = rounded.isNegative;
    const before = layout.before + layout.shift;
    const { whole, fraction } = rounded;
    if (whole.length > before) this.#digits = `${'#'.repeat(before)}.${'#'.repeat(layout.after)}`;
    else this.#digits = layout.after > 0 ? `${whole}.${fraction}` : whole;
    this.#blanks = Math.max(before - whole.length, 0);
    this.#lastKept = this.#lastDigitKept();
    const { anchored, brackets, minus, plus, isFilled } = layout;
    const isBare = isFilled && !minus && !plus && !this.#isNegative;
    this.#brackets = brackets && !isBare;
    this.#signWritten = minus || (isBare && anchored === null);
    const count = before + layout.after - 1;
    this.#positionCount = !this.#signWritten && this.#blanks === 0 ? count + 1 : count;
  }

  #lastDigitKept(): number | null {
    const { isFilled, hasPoint, zeroEnd } = this.#layout;
    const point = this.#digits.indexOf('.');
    if (!isFilled || !hasPoint || point < 0) return null;
    let last = point;
    for (let i = point + 1; i < this.#digits.length; i++) if (this.#digits[i] !== '0') last = i;
    if (zeroEnd <= this.#blanks) return last;
    return Math.max(last, Math.min(this.#digits.length - 1, zeroEnd - this.#blanks));
  }

  print(): string {
    const { isFilled, roman } = this.#layout;
    for (const node of this.#nodes) {
      if (this.#isCut) break;
      if (node.kind === 'text') {
        this.#out += node.text;
        continue;
      }
      switch (node.key.toUpperCase() as Key) {
        case '9':
        case '0':
        case '.':
        case 'D':
          if (!roman) this.#digitPosition(node.key === '0');
          break;
        case ',':
        case 'G':
          this.#out += this.#isInNumber ? ',' : isFilled ? '' : ' ';
          break;
        case 'L':
          this.#out += ' ';
          break;
        case 'RN':
          this.#roman(node.key === 'rn');
          break;
        case 'TH':
          if (!roman && !this.#digits.startsWith('#') && !this.#isNegative && !this.#layout.hasPoint) {
            if (!/\d$/.test(this.#digits)) throw masked(`"${this.#digits}" is not a number`);
            this.#out += ordinalEnding(this.#digits, node.key === 'TH');
          }
          break;
        case 'MI':
          this.#out += this.#isNegative && !roman ? '-' : isFilled ? '' : ' ';
          break;
        case 'PL':
          this.#out += this.#isNegative || roman ? (isFilled ? '' : ' ') : '+';
          break;
        case 'SG':
          // Roman numbers have no sign, and the original ends its text with one that is not there.
          if (roman) this.#isCut = true;
          else this.#out += this.#isNegative ? '-' : '+';
          break;
        default:
          break;
      }
    }
    return this.#out;
  }

  #roman(isLower: boolean): void {
    const letters = romanText(Number(this.#value.rounded(0).text));
    this.#out += (isLower ? letters.toLowerCase() : letters).padStart(this.#layout.isFilled ? 0 : ROMAN_WIDTH);
  }

  /** `0.x` under a mask without forced digits: the zero before the point is not written. */
  get #isUnwrittenZero(): boolean {
    return this.#layout.zeroStart === null && this.#next === 0 && this.#digits[0] === '0' && this.#layout.after > 0;
  }

  #digitPosition(isForced: boolean): void {
    const { zeroStart, isFilled, hasPoint } = this.#layout;
    const keepsPointOnly = this.#lastKept !== null && this.#digits[this.#lastKept] === '.';
    this.#isInNumber = false;
    const begins = this.#position >= this.#blanks || zeroStart === this.#position;
    if (!this.#signWritten && begins && (!this.#isUnwrittenZero || keepsPointOnly)) this.#leadingSign();
    if (this.#position < this.#blanks) {
      if (zeroStart !== null && zeroStart <= this.#position) {
        this.#out += '0';
        this.#isInNumber = true;
      } else if (!isFilled) this.#out += ' ';
    } else this.#digit(isForced, keepsPointOnly);
    let end = this.#positionCount + (this.#blanks > 0 ? 1 : 0) + (hasPoint ? 1 : 0);
    if (this.#lastKept !== null && this.#lastKept === this.#next) end = this.#position;
    if (this.#position + 1 === end && !this.#isCut) this.#trailingSign();
    this.#position++;
  }

  #digit(isForced: boolean, keepsPointOnly: boolean): void {
    const digit = this.#digits[this.#next];
    if (digit === '.') this.#out += '.';
    else if (this.#lastKept !== null && this.#next > this.#lastKept && !isForced) {
      // dropped by FM
    } else if (this.#isUnwrittenZero) {
      if (!this.#layout.isFilled) this.#out += ' ';
      else if (keepsPointOnly) this.#out += '0';
    } else if (digit === undefined) this.#isCut = true;
    else {
      this.#out += digit;
      this.#isInNumber = true;
    }
    if (this.#next < this.#digits.length) this.#next++;
  }

  #leadingSign(): void {
    const { anchored, isFilled } = this.#layout;
    if (anchored !== null) {
      if (anchored === 'after') return;
      this.#out += this.#isNegative ? '-' : '+';
    } else if (this.#brackets) this.#out += this.#isNegative ? '<' : ' ';
    else if (this.#isNegative) this.#out += '-';
    else if (!isFilled) this.#out += ' ';
    this.#signWritten = true;
  }

  #trailingSign(): void {
    if (this.#signWritten && this.#brackets) this.#out += this.#isNegative ? '>' : ' ';
    else if (this.#layout.anchored === 'after') this.#out += this.#isNegative ? '-' : '+';
  }
}
