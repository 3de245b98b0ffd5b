// Tags of packed lists, which lists/ writes and unpack/ reads (engine/store/records/packed-list.ts has them, too).

export const TAG_ABSENT: u8 = 0;
export const TAG_SAME: u8 = 1;
/** Of a value. */
export const TAG_DOUBLE: u8 = 2;
/** In the place of a list. */
export const TAG_NULL_LIST: u8 = 1;
export const TAG_LIST: u8 = 2;
export const TAG_END: u8 = 3;
/** A text of so many bytes less this. */
export const TAG_TEXT: usize = 4;
