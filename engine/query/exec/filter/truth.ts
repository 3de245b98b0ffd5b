// Three-valued logic as small integers: what a filter says of a row; and what its operators say of numbers.

import type { CompareOp } from '../../tree.ts';

export type Truth = 0 | 1 | 2;
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;

export const truthOf = (value: boolean): Truth => (value ? TRUE : FALSE);
export const negate = (truth: Truth): Truth => (truth === UNKNOWN ? UNKNOWN : truth === TRUE ? FALSE : TRUE);

/** Whether the operator holds between two numbers. Between other values: between what their comparison gave (negative, zero or positive) and 0. */
export const HOLDS: Readonly<Record<'=' | CompareOp, (a: number, b: number) => boolean>> = {
  '=': (a, b) => a === b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};
