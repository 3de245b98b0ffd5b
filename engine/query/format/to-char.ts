// The query function `to_string`: a time or an integer as text after a mask (spec: 3.11 of the query document).

import { compileNumberMask } from './number-mask.ts';
import { compileTimeMask } from './time-mask.ts';

const CACHE_MAX = 256;
const compiled = new Map<string, (value: number) => string>();

/**
 * `value`: epoch milliseconds or an integer, as `kind` says. null: the mask is empty. Throws QueryError 400 for a numeric
 * mask whose patterns contradict each other.
 */
export function toChar(value: number, mask: string, kind: 'time' | 'number'): string | null {
  if (mask === '') return null;
  const key = `${kind} ${mask}`;
  let format = compiled.get(key);
  if (format === undefined) {
    format = kind === 'time' ? compileTimeMask(mask) : compileNumberMask(mask);
    if (compiled.size >= CACHE_MAX) compiled.clear();
    compiled.set(key, format);
  }
  return format(value);
}
