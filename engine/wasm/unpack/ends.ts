// How texts end that are not written to their end.

/** What is read is not what it should be. */
export const DAMAGED: usize = 0;
/** There is no room for the text. */
export const FULL: usize = 1;

/** An integer of 7 bits a byte has no more bits before its last byte. */
export const SHIFT_MAX: usize = 28;
