// The query function `to_string`: a time or a number as text after a mask (spec/query.md 3.11).

import type { Float } from '../../json/value.ts';
import { Decimal } from './decimal-value.ts';
import { compileNumberMask } from './number-mask.ts';
import { compileTimeMask } from './time-mask.ts';

const CACHE_MAX = 256;
const compiled = new Map<string, (value: Maskable) => string | null>();

/** Texts that spell a number count as that number. */
export type Maskable = number | bigint | Float | string;

/** Epoch milliseconds; a value of a column of integers; a number of any kind. */
export type MaskedKind = 'time' | 'integer' | 'number';

/**
 * null: the mask for a time is empty, or the value is a text that is no number. Throws QueryError 400 for a numeric mask whose patterns contradict each other.
 */
export function toChar(value: Maskable, mask: string, kind: MaskedKind): string | null {
  if (mask === '' && kind === 'time') return null;
  const key = `${kind} ${mask}`;
  let format = compiled.get(key);
  if (format === undefined) {
    format = compile(mask, kind);
    if (compiled.size >= CACHE_MAX) compiled.clear();
    compiled.set(key, format);
  }
  return format(value);
}

function compile(mask: string, kind: MaskedKind): (value: Maskable) => string | null {
  if (kind === 'time') {
    const format = compileTimeMask(mask);
    return (value) => format(value as number);
  }
  const format = mask === '' ? () => '' : compileNumberMask(mask, kind === 'integer');
  return (value) => {
    const decimal = typeof value === 'string' ? Decimal.parse(value) : Decimal.of(value);
    return decimal === null ? null : format(decimal);
  };
}
