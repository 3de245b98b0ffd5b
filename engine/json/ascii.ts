// The bytes (and UTF-16 units) that JSON is made of.

export const NEWLINE = 0x0a;
export const BLANK = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const POINT = 0x2e;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_LIST = 0x5d;
/** What literals begin with. */
export const FALSE = 0x66;
export const NULL = 0x6e;
export const TRUE = 0x74;
export const OPEN_MAP = 0x7b;
export const CLOSE_MAP = 0x7d;
