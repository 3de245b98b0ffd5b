// What the host lays out in memory: readers and fields, as offsets, and what is common to all who work on addresses.

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

/** Copied too much at the end of a text, and looked at behind it. */
export const SLACK: usize = 16;

/** Where the host keeps the powers of ten that doubles hold exactly, and how many there are. */
export const TENS: usize = 64;
export const TENS_COUNT: usize = 23;
/** Where the text of the known minute lies (times.ts): before all that the host lays out. */
export const KEPT_MINUTE: usize = 32;

/** How many bytes two texts begin with alike, at most `most`. */
export function sharedSize(a: usize, b: usize, most: usize): usize {
  let size: usize = 0;
  for (; size < most; size += 8) {
    const differing = load<u64>(a + size) ^ load<u64>(b + size);
    if (differing !== 0) {
      size += usize(ctz(differing)) >> 3;
      break;
    }
  }
  return min(size, most);
}

/** Copies sixteen bytes at a time, the last ones too. */
export function copy(to: usize, from: usize, size: usize): void {
  for (let i: usize = 0; i < size; i += SLACK) v128.store(to + i, v128.load(from + i));
}

/** Appends an integer of 7 bits a byte, low ones first, bit 7: more follow; the place behind it. */
export function appendSize(to: usize, size: usize): usize {
  let left = size;
  for (; left > 0x7f; left >>= 7) store<u8>(to++, u8((left & 0x7f) | 0x80));
  store<u8>(to, u8(left));
  return to + 1;
}
