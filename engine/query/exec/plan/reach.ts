// What a page reaches (narrowing.ts), as a condition on items or on their sub-rows.

import { conjunction, type Predicate, SUB } from '../filter/filter.ts';
import { truthOf } from '../filter/truth.ts';
import type { Reach } from './selection.ts';

/** null: it is true for all of them. */
export function reachTest(reach: Reach | null): Predicate | null {
  const test = reach?.test ?? null;
  return test === null ? null : { deps: SUB, test: (row) => truthOf(test(row)) };
}

/** Both conditions, as far as there are any. */
export const both = (a: Predicate | null, b: Predicate | null): Predicate | null =>
  a === null || b === null ? (a ?? b) : conjunction([a, b]);
