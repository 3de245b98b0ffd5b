// What the host lays out in memory: readers and fields, as offsets.

// A reader, in words.
export const COUNT: usize = 0;
export const DEPTH: usize = 4;
/** How the events of a report come from the maps (events.ts); 0: they do not. */
export const EVENTS: usize = 8;
export const IS_INSIDE: usize = 12;
export const FIELDS: usize = 16;
export const ORDER: usize = 20;
// Addresses of arrays with an element for each field.
export const STATES: usize = 24;
export const STARTS: usize = 28;
export const ENDS: usize = 32;
export const PLACES: usize = 36;
export const DOUBLES: usize = 40;
export const LAST_STARTS: usize = 44;
export const LAST_ENDS: usize = 48;
export const LAST_PLACES: usize = 52;

// A field.
export const FIELD_SIZE: u32 = 24;
export const KIND: usize = 0;
export const OF: usize = 1;
export const REQUIRED: usize = 2;
export const NULLABLE: usize = 3;
export const WHOLE: usize = 4;
export const KEY: usize = 8;
export const KEY_SIZE: usize = 12;
export const MAPS: usize = 16;

// Kinds of fields.
export const STRING: u8 = 1;
export const TIME: u8 = 2;
export const BOOLEAN: u8 = 3;
export const INTEGER: u8 = 4;
export const NUMBER: u8 = 5;
export const ANY: u8 = 6;
export const LIST: u8 = 7;

export const OF_STRINGS: u8 = 1;
export const OF_MAPS: u8 = 2;

// States of a field.
export const ABSENT: u8 = 0;
export const IN_PAYLOAD: u8 = 1;
export const IN_MADE: u8 = 2;
export const IS_DOUBLE: u8 = 3;

export const NONE: u32 = 0xffffffff;
export const NOWHERE: i32 = -1;

/** Where the text of the known minute lies (times.ts): before all that the host lays out. */
export const KEPT_MINUTE: usize = 32;
