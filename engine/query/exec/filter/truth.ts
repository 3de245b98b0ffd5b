// Three-valued logic as small integers: what a filter says of a row.

export type Truth = 0 | 1 | 2;
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;

export const truthOf = (value: boolean): Truth => (value ? TRUE : FALSE);
export const negate = (truth: Truth): Truth => (truth === UNKNOWN ? UNKNOWN : truth === TRUE ? FALSE : TRUE);
