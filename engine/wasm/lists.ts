// AssemblyScript, not TypeScript: compiled to WebAssembly by build.mjs. The inner loop of ingest/stored-list.ts, which says what it
// does: a list of maps goes from its JSON bytes to the packed list (store/packed-list.ts) in one pass. What is rare (values that are
// stored otherwise than they were sent, times, decimals) is asked of the host.
//
// Everything is an address. The host lays out readers and fields as the offsets below say, puts the payload behind them, and as many
// zeros behind it as are read at a time: they end every token, so that nothing but the outermost loops looks for the end.

/** Appends to `to` the stored text of the value between these places; where it ends, or 0 when it is no value or has no room. */
declare function over(start: usize, end: usize, depth: u32, to: usize, limit: usize): usize;
/** The double of a decimal text that is not decided here. */
declare function decimal(start: usize, end: usize): f64;
/** Of the text of a time: NO_TIME, A_TIME, or KNOWN_MINUTE when each second of its minute is one. */
declare function time(start: usize, end: usize): i32;
/** Shows a map to its sink: 1 when that wants texts whole. */
declare function show(reader: usize): i32;
/** Such a map has been packed. */
declare function shown(reader: usize): void;

const NO_TIME: i32 = 0;
const KNOWN_MINUTE: i32 = 2;

// A reader, in words.
const COUNT: usize = 0;
const DEPTH: usize = 4;
const HAS_SINK: usize = 8;
/** The Boolean and the list of which a map must have one (true, not empty) to be shown; NONE: each map is. */
const SHOWN_FLAG: usize = 12;
const SHOWN_LIST: usize = 16;
const IS_INSIDE: usize = 20;
const FIELDS: usize = 24;
const ORDER: usize = 28;
// Addresses of arrays with an element for each field.
const STATES: usize = 32;
const STARTS: usize = 36;
const ENDS: usize = 40;
const PLACES: usize = 44;
const DOUBLES: usize = 48;
const LAST_STARTS: usize = 52;
const LAST_ENDS: usize = 56;
const LAST_PLACES: usize = 60;

// A field.
const FIELD_SIZE: u32 = 24;
const KIND: usize = 0;
const OF: usize = 1;
const REQUIRED: usize = 2;
const NULLABLE: usize = 3;
const WHOLE: usize = 4;
const KEY: usize = 8;
const KEY_SIZE: usize = 12;
const MAPS: usize = 16;

const STRING: u8 = 1;
const TIME: u8 = 2;
const BOOLEAN: u8 = 3;
const INTEGER: u8 = 4;
const NUMBER: u8 = 5;
const ANY: u8 = 6;
const LIST: u8 = 7;

const OF_STRINGS: u8 = 1;
const OF_MAPS: u8 = 2;

// States of a field, as in the host.
const ABSENT: u8 = 0;
const IN_PAYLOAD: u8 = 1;
const IN_MADE: u8 = 2;
const IS_DOUBLE: u8 = 3;

// Tags of the packed list.
const TAG_ABSENT: u8 = 0;
const TAG_SAME: u8 = 1;
const TAG_DOUBLE: u8 = 2;
const TAG_NULL_LIST: u8 = 1;
const TAG_LIST: u8 = 2;
const TAG_END: u8 = 3;
const TAG_TEXT: usize = 4;
const SHARED_MAX: usize = 0xff - TAG_TEXT;

const NONE: u32 = 0xffffffff;
const NOWHERE: i32 = -1;

/** Digits that a double holds exactly. */
const DIGITS_MAX: usize = 15;
const DECIMAL_MAX: usize = 40;
/** Longer strings are left to the way over values, which has limits. */
const STRING_MAX: usize = 1 << 20;
/** Copied too much at the end of a text. */
const SLACK: usize = 16;

const QUOTE: u8 = 0x22;
const PLUS: u8 = 0x2b;
const COMMA: u8 = 0x2c;
const MINUS: u8 = 0x2d;
const DOT: u8 = 0x2e;
const ZERO: u8 = 0x30;
const NINE: u8 = 0x39;
const COLON: u8 = 0x3a;
const OPEN_BRACKET: u8 = 0x5b;
const BACKSLASH: u8 = 0x5c;
const CLOSE_BRACKET: u8 = 0x5d;
const OPEN_BRACE: u8 = 0x7b;
const CLOSE_BRACE: u8 = 0x7d;
const BLANK: u8 = 0x20;
const UPPER_Z: u8 = 0x5a;
const LETTER_B: u8 = 0x62;
const LETTER_D: u8 = 0x64;
const LETTER_E: u8 = 0x65;
const LETTER_F: u8 = 0x66;
const LETTER_N: u8 = 0x6e;
const LETTER_R: u8 = 0x72;
const LETTER_T: u8 = 0x74;
const LETTER_U: u8 = 0x75;

/** `null`, `true`, `alse` and what stands before it, as words. */
const NULL_WORD: u32 = 0x6c6c756e;
const TRUE_WORD: u32 = 0x65757274;
const FALSE_WORD: u32 = 0x65736c61;

/** Up to the seconds: `2026-11-20T10:00:` */
const MINUTE_SIZE: usize = 17;

// Of the list that is read: where the payload ends; texts that the host made, packed lists of maps inside maps, and the packed list,
// each with its limit.
let payloadEnd: usize = 0;
let texts: usize = 0;
let textsLimit: usize = 0;
let made: usize = 0;
let madeLimit: usize = 0;
let out: usize = 0;
let outStart: usize = 0;
let outLimit: usize = 0;

/** A minute of which each second is a time, as text; 0: none is known. */
let minute: usize = 0;

/**
 * The place behind the list that begins at `start`, or 0 when there is no such list, or no room. `end`: of the payload. The regions for
 * texts, for lists inside maps and for the result lie one behind the other.
 */
export function read(
  reader: usize,
  start: usize,
  end: usize,
  textsStart: usize,
  madeStart: usize,
  resultStart: usize,
  limit: usize,
): usize {
  payloadEnd = end;
  texts = textsStart;
  textsLimit = madeStart;
  made = madeStart;
  madeLimit = resultStart;
  out = resultStart;
  outStart = resultStart;
  outLimit = limit;
  begin(reader);
  return readMaps(reader, start);
}

/** Of the packed list that was read last. */
export function size(): usize {
  return out - outStart;
}

/** Forgets the list before. */
function begin(reader: usize): void {
  const count = load<u32>(reader, COUNT);
  const starts = load<u32>(reader, LAST_STARTS);
  const ends = load<u32>(reader, LAST_ENDS);
  for (let index: u32 = 0; index < count; index++) {
    store<u32>(starts + (index << 2), 0);
    store<u32>(ends + (index << 2), 0);
    const maps = load<u32>(load<u32>(reader, FIELDS) + index * FIELD_SIZE, MAPS);
    if (maps !== 0) begin(maps);
  }
  beginInside(reader);
}

/** Another list inside a map: what the ones before it hold lies elsewhere in the packed list than where it was put together. */
function beginInside(reader: usize): void {
  const count = load<u32>(reader, COUNT);
  const places = load<u32>(reader, LAST_PLACES);
  for (let index: u32 = 0; index < count; index++) store<i32>(places + (index << 2), NOWHERE);
}

/** Appends a list of maps; the place behind it, or 0. */
function readMaps(reader: usize, start: usize): usize {
  if (load<u8>(start) !== OPEN_BRACKET) return 0;
  let at = skipBlanks(start + 1);
  if (load<u8>(at) !== CLOSE_BRACKET) {
    while (true) {
      at = readMap(reader, at);
      if (at === 0) return 0;
      at = skipBlanks(at);
      const code = load<u8>(at);
      if (code === CLOSE_BRACKET) break;
      if (code !== COMMA) return 0;
      at = skipBlanks(at + 1);
    }
  }
  if (load<u32>(reader, IS_INSIDE) !== 0) {
    if (made >= madeLimit) return 0;
    store<u8>(made++, TAG_END);
  } else {
    if (out >= outLimit) return 0;
    store<u8>(out++, TAG_END);
  }
  return at + 1;
}

/** Appends the map that begins at `start`; the place behind it, or 0. */
function readMap(reader: usize, start: usize): usize {
  if (load<u8>(start) !== OPEN_BRACE) return 0;
  const count = load<u32>(reader, COUNT);
  const states = load<u32>(reader, STATES);
  const starts = load<u32>(reader, STARTS);
  const ends = load<u32>(reader, ENDS);
  const fields = load<u32>(reader, FIELDS);
  for (let index: u32 = 0; index < count; index++) store<u8>(states + index, ABSENT);
  let at = skipBlanks(start + 1);
  if (load<u8>(at) === CLOSE_BRACE) return write(reader) ? at + 1 : 0;
  let place: u32 = 0;
  while (true) {
    const index = fieldAt(reader, at, place++);
    if (index === NONE || load<u8>(states + index) !== ABSENT) return 0;
    const field: usize = fields + index * FIELD_SIZE;
    at = skipBlanks(at + load<u32>(field, KEY_SIZE));
    if (load<u8>(at) !== COLON) return 0;
    at = skipBlanks(at + 1);
    store<u32>(starts + (index << 2), u32(at));
    store<u8>(states + index, IN_PAYLOAD);
    at = readValue(reader, field, index, at);
    if (at === 0) return 0;
    if (load<u8>(states + index) === IN_PAYLOAD) store<u32>(ends + (index << 2), u32(at));
    at = skipBlanks(at);
    const code = load<u8>(at);
    if (code === CLOSE_BRACE) return write(reader) ? at + 1 : 0;
    if (code !== COMMA) return 0;
    at = skipBlanks(at + 1);
  }
}

/** The field whose key is at this place; NONE: none of the table's. Senders keep to one order. */
function fieldAt(reader: usize, at: usize, place: u32): u32 {
  const count = load<u32>(reader, COUNT);
  const fields = load<u32>(reader, FIELDS);
  const order = load<u32>(reader, ORDER);
  if (place < count) {
    const last: u32 = load<u8>(order + place);
    if (last < count && isKeyAt(fields + last * FIELD_SIZE, at)) return last;
  }
  for (let index: u32 = 0; index < count; index++) {
    if (!isKeyAt(fields + index * FIELD_SIZE, at)) continue;
    if (place < count) store<u8>(order + place, u8(index));
    return index;
  }
  return NONE;
}

/** The first byte, which both have, is looked at with the others: keys have at least two. */
function isKeyAt(field: usize, at: usize): bool {
  const key: usize = load<u32>(field, KEY);
  const size: usize = load<u32>(field, KEY_SIZE);
  let i: usize = 0;
  for (; i + 8 <= size; i += 8) if (load<u64>(key + i) !== load<u64>(at + i)) return false;
  if (i === size) return true;
  return (load<u64>(key + i) ^ load<u64>(at + i)) << ((8 - (size - i)) << 3) === 0;
}

/** Reads the value at `at`: the place behind it, or 0. */
function readValue(reader: usize, field: usize, index: u32, at: usize): usize {
  if (load<u8>(at) === LETTER_N) return load<u8>(field, NULLABLE) !== 0 && load<u32>(at) === NULL_WORD ? at + 4 : 0;
  switch (load<u8>(field, KIND)) {
    case STRING:
      return readString(reader, index, at);
    case TIME: {
      const end = stringEnd(at);
      return end !== 0 && isTime(at + 1, end - 1) ? end : 0;
    }
    case BOOLEAN:
      return booleanEnd(at);
    case INTEGER:
      return integerEnd(at);
    case NUMBER:
      return readNumber(reader, index, at);
    case ANY:
      return readAny(reader, index, at);
    case LIST:
      return readList(reader, field, index, at);
    default:
      return 0;
  }
}

function readString(reader: usize, index: u32, at: usize): usize {
  const end = stringEnd(at);
  return end !== 0 ? end : overHost(reader, index, at, escapedStringEnd(at));
}

function readNumber(reader: usize, index: u32, at: usize): usize {
  const integer = integerEnd(at);
  if (integer !== 0) return integer;
  const end = decimalEnd(at);
  if (end === 0) return overHost(reader, index, at, numberEnd(at));
  let value = doubleOf(at, end);
  if (F64.isNaN(value)) value = decimal(at, end);
  // Integral ones are spelt as doubles, which the host knows.
  if (value === Math.trunc(value)) return overHost(reader, index, at, end);
  store<u8>(load<u32>(reader, STATES) + index, IS_DOUBLE);
  store<f64>(load<u32>(reader, DOUBLES) + (index << 3), value);
  return end;
}

function readAny(reader: usize, index: u32, at: usize): usize {
  const code = load<u8>(at);
  if (code === QUOTE) return readString(reader, index, at);
  if (code === MINUS || isDigit(code)) return readNumber(reader, index, at);
  if (code === OPEN_BRACE || code === OPEN_BRACKET) return overHost(reader, index, at, containerEnd(at));
  return booleanEnd(at);
}

function readList(reader: usize, field: usize, index: u32, at: usize): usize {
  const elements = load<u8>(field, OF);
  if (elements === OF_STRINGS) return stringsEnd(at);
  if (elements !== OF_MAPS) return 0;
  const maps: usize = load<u32>(field, MAPS);
  const start = made;
  beginInside(maps);
  const end = readMaps(maps, at);
  setMade(reader, index, start, made);
  return end;
}

/** The value between these places by way of the host. */
function overHost(reader: usize, index: u32, start: usize, end: usize): usize {
  if (end === 0) return 0;
  const to = over(start, end, load<u32>(reader, DEPTH) + 1, texts, textsLimit);
  if (to === 0) return 0;
  setMade(reader, index, texts, to);
  texts = to;
  return end;
}

function setMade(reader: usize, index: u32, start: usize, end: usize): void {
  store<u8>(load<u32>(reader, STATES) + index, IN_MADE);
  store<u32>(load<u32>(reader, STARTS) + (index << 2), u32(start));
  store<u32>(load<u32>(reader, ENDS) + (index << 2), u32(end));
}

// ------------------------------------------------------------------ packing

/** What was read, in stored order; false when something is missing or there is no room. */
function write(reader: usize): bool {
  const isWhole = isWanted(reader);
  const count = load<u32>(reader, COUNT);
  const states = load<u32>(reader, STATES);
  const starts = load<u32>(reader, STARTS);
  const ends = load<u32>(reader, ENDS);
  const places = load<u32>(reader, PLACES);
  const isInside = load<u32>(reader, IS_INSIDE) !== 0;
  // Places inside maps are addresses, as starts and ends are.
  const from: usize = isInside ? 0 : outStart;
  const limit = isInside ? madeLimit : outLimit;
  let to = isInside ? made : out;
  let field: usize = load<u32>(reader, FIELDS);
  for (let index: u32 = 0; index < count; index++, field += FIELD_SIZE) {
    const state = load<u8>(states + index);
    const start: usize = load<u32>(starts + (index << 2));
    const size: usize = load<u32>(ends + (index << 2)) - u32(start);
    if (to + SLACK > limit) return false;
    if (state === ABSENT) {
      if (load<u8>(field, REQUIRED) !== 0) return false;
      store<u8>(to++, TAG_ABSENT);
    } else if (state === IS_DOUBLE) to = packDouble(reader, index, to);
    else if (load<u32>(field, MAPS) === 0) {
      if (to + size + SLACK * 2 > limit) return false;
      to = packText(reader, index, start, size, isWhole && load<u8>(field, WHOLE) !== 0, to, from);
    } else if (state === IN_PAYLOAD) store<u8>(to++, TAG_NULL_LIST);
    else {
      if (to + size + SLACK * 2 > limit) return false;
      store<u8>(to++, TAG_LIST);
      store<i32>(places + (index << 2), i32(to - from));
      copy(to, start, size);
      to += size;
    }
  }
  if (isInside) made = to;
  else out = to;
  if (isWhole) shown(reader);
  return true;
}

function isWanted(reader: usize): bool {
  if (load<u32>(reader, HAS_SINK) === 0) return false;
  const flag = load<u32>(reader, SHOWN_FLAG);
  if (flag !== NONE && !isTrue(reader, flag) && !hasMaps(reader, load<u32>(reader, SHOWN_LIST))) return false;
  return show(reader) !== 0;
}

function isTrue(reader: usize, index: u32): bool {
  if (load<u8>(load<u32>(reader, STATES) + index) !== IN_PAYLOAD) return false;
  return load<u8>(load<u32>(load<u32>(reader, STARTS) + (index << 2))) === LETTER_T;
}

/** A list without maps is its end alone. */
function hasMaps(reader: usize, index: u32): bool {
  if (load<u8>(load<u32>(reader, STATES) + index) !== IN_MADE) return false;
  return load<u32>(load<u32>(reader, ENDS) + (index << 2)) - load<u32>(load<u32>(reader, STARTS) + (index << 2)) > 1;
}

/** Packs a field's text; the place behind it. */
function packText(reader: usize, index: u32, start: usize, size: usize, isWhole: bool, to: usize, from: usize): usize {
  const lastStarts = load<u32>(reader, LAST_STARTS) + (index << 2);
  const lastEnds = load<u32>(reader, LAST_ENDS) + (index << 2);
  const lastPlaces = load<u32>(reader, LAST_PLACES) + (index << 2);
  const places = load<u32>(reader, PLACES) + (index << 2);
  const lastStart: usize = load<u32>(lastStarts);
  const lastSize: usize = load<u32>(lastEnds) - u32(lastStart);
  let shared = sharedSize(start, lastStart, min(min(size, lastSize), SHARED_MAX));
  const lastPlace = load<i32>(lastPlaces);
  if (shared === lastSize && shared === size && (!isWhole || lastPlace >= 0)) {
    store<u8>(to, TAG_SAME);
    store<i32>(places, lastPlace);
    return to + 1;
  }
  if (isWhole) shared = 0;
  store<u8>(to++, u8(TAG_TEXT + shared));
  const rest = size - shared;
  let left = rest;
  for (; left > 0x7f; left >>= 7) store<u8>(to++, u8((left & 0x7f) | 0x80));
  store<u8>(to++, u8(left));
  const place = shared === 0 ? i32(to - from) : NOWHERE;
  store<i32>(places, place);
  store<i32>(lastPlaces, place);
  copy(to, start + shared, rest);
  store<u32>(lastStarts, u32(start));
  store<u32>(lastEnds, u32(start + size));
  return to + rest;
}

function packDouble(reader: usize, index: u32, to: usize): usize {
  store<u8>(to, TAG_DOUBLE);
  store<f64>(to + 1, load<f64>(load<u32>(reader, DOUBLES) + (index << 3)));
  store<u32>(load<u32>(reader, LAST_ENDS) + (index << 2), load<u32>(load<u32>(reader, LAST_STARTS) + (index << 2)));
  store<i32>(load<u32>(reader, LAST_PLACES) + (index << 2), NOWHERE);
  return to + 9;
}

/** How many bytes two texts begin with alike, at most `most`. */
function sharedSize(a: usize, b: usize, most: usize): usize {
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
function copy(to: usize, from: usize, size: usize): void {
  for (let i: usize = 0; i < size; i += SLACK) v128.store(to + i, v128.load(from + i));
}

// ------------------------------------------------------------------ tokens

function skipBlanks(from: usize): usize {
  let at = from;
  while (load<u8>(at) === BLANK) at++;
  return at;
}

/** Behind a string that is stored as it stands; 0 also for one with other escapes than the short ones. */
function stringEnd(start: usize): usize {
  if (load<u8>(start) !== QUOTE) return 0;
  const quotes = i8x16.splat(QUOTE);
  const backslashes = i8x16.splat(BACKSLASH);
  const blanks = i8x16.splat(BLANK);
  let at = start + 1;
  while (true) {
    while (true) {
      const bytes = v128.load(at);
      const stops = v128.or(v128.or(i8x16.eq(bytes, quotes), i8x16.eq(bytes, backslashes)), i8x16.lt_u(bytes, blanks));
      const mask = i8x16.bitmask(stops);
      if (mask !== 0) {
        at += ctz(mask);
        break;
      }
      at += 16;
    }
    const code = load<u8>(at);
    if (code === QUOTE) return at - start > STRING_MAX ? 0 : at + 1;
    if (code !== BACKSLASH || !isShortEscape(load<u8>(at + 1))) return 0;
    at += 2;
  }
}

/** What stands behind the backslash of an escape that is stored as it stands. */
function isShortEscape(code: u8): bool {
  return (
    code === QUOTE ||
    code === BACKSLASH ||
    code === LETTER_N ||
    code === LETTER_T ||
    code === LETTER_R ||
    code === LETTER_B ||
    code === LETTER_F
  );
}

/** Behind a string with escapes; none of them names half a pair of characters by number. */
function escapedStringEnd(start: usize): usize {
  if (load<u8>(start) !== QUOTE) return 0;
  let at = start + 1;
  while (true) {
    const code = load<u8>(at);
    if (code === QUOTE) return at - start > STRING_MAX ? 0 : at + 1;
    if (code < BLANK) return 0;
    if (code === BACKSLASH && load<u8>(++at) === LETTER_U && (load<u8>(at + 1) | BLANK) === LETTER_D) return 0;
    at++;
  }
}

/** Behind a list of strings that is stored as it stands. */
function stringsEnd(start: usize): usize {
  if (load<u8>(start) !== OPEN_BRACKET) return 0;
  if (load<u8>(start + 1) === CLOSE_BRACKET) return start + 2;
  let at = start + 1;
  while (true) {
    at = stringEnd(at);
    if (at === 0) return 0;
    const code = load<u8>(at++);
    if (code === CLOSE_BRACKET) return at;
    if (code !== COMMA) return 0;
  }
}

/** Behind a list or map, by its brackets. */
function containerEnd(start: usize): usize {
  let depth = 0;
  for (let at = start; at < payloadEnd; at++) {
    const code = load<u8>(at);
    if (code === QUOTE) {
      const end = escapedStringEnd(at);
      if (end === 0) return 0;
      at = end - 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at + 1;
  }
  return 0;
}

function booleanEnd(at: usize): usize {
  if (load<u32>(at) === TRUE_WORD) return at + 4;
  return load<u8>(at) === LETTER_F && load<u32>(at + 1) === FALSE_WORD ? at + 5 : 0;
}

function isDigit(code: u8): bool {
  return code >= ZERO && code <= NINE;
}

/** Behind the digits of a number without leading zero; 0 when they are too many, or none. */
function digitsEnd(start: usize): usize {
  let at = start;
  while (isDigit(load<u8>(at))) at++;
  const count = at - start;
  return count === 0 || count > DIGITS_MAX || (count > 1 && load<u8>(start) === ZERO) ? 0 : at;
}

/** Behind an integer that is stored as it stands. */
function integerEnd(start: usize): usize {
  const isNegative = load<u8>(start) === MINUS;
  const first = isNegative ? start + 1 : start;
  const end = digitsEnd(first);
  if (end === 0 || (isNegative && load<u8>(first) === ZERO)) return 0;
  const code = load<u8>(end);
  return code === DOT || (code | BLANK) === LETTER_E ? 0 : end;
}

/** Behind a number with a point and without an exponent. */
function decimalEnd(start: usize): usize {
  const point = digitsEnd(load<u8>(start) === MINUS ? start + 1 : start);
  if (point === 0 || load<u8>(point) !== DOT) return 0;
  let end = point + 1;
  while (isDigit(load<u8>(end))) end++;
  if (end === point + 1 || end - start > DECIMAL_MAX) return 0;
  return (load<u8>(end) | BLANK) === LETTER_E ? 0 : end;
}

/** Behind what looks like a number. */
function numberEnd(start: usize): usize {
  let at = start;
  for (let code = load<u8>(at); isDigit(code) || isNumberMark(code); code = load<u8>(++at));
  return at === start ? 0 : at;
}

function isNumberMark(code: u8): bool {
  return code === MINUS || code === PLUS || code === DOT || (code | BLANK) === LETTER_E;
}

// ------------------------------------------------------------------ decimals

// The double that is nearest to a decimal text: `Number` of a text of 17 digits, which is what a clock's fraction has, costs ten times as
// much. Dekker's arithmetic: what an operation on doubles loses is a double itself.

/** Where the powers of ten lie that doubles hold exactly, and how many there are. */
const TENS: usize = 64;
const TENS_COUNT: usize = 23;
/** Digits of each of the two parts that a text's digits are read as. */
const FIRST_DIGITS: usize = 9;
const REST_DIGITS: usize = 8;
/** Splits a double into halves whose products are exact. */
const SPLIT: f64 = 134217729;
/** Of what is missing to the nearest double: nearer than that to the middle between two of them nothing is decided. */
const NEAR_MIDDLE: f64 = 1.000000001;

/** The double of a text of digits with a point in them, and perhaps a minus before them; NaN: not decided. */
function doubleOf(start: usize, end: usize): f64 {
  const isNegative = load<u8>(start) === MINUS;
  let first: u32 = 0;
  let rest: u32 = 0;
  let count: usize = 0;
  let point: usize = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const code = load<u8>(at);
    if (code === DOT) {
      point = at;
      continue;
    }
    const digit: u32 = code - ZERO;
    if (count < FIRST_DIGITS) first = first * 10 + digit;
    else if (count >= FIRST_DIGITS + REST_DIGITS) return NaN;
    else rest = rest * 10 + digit;
    // Zeros before all others are none.
    if (first > 0) count++;
  }
  const tens: usize = point === 0 ? 0 : end - point - 1;
  if (tens >= TENS_COUNT) return NaN;
  const restCount: usize = count > FIRST_DIGITS ? count - FIRST_DIGITS : 0;
  const value = quotient(f64(first) * tenTo(restCount), f64(rest), tenTo(tens));
  return isNegative ? -value : value;
}

function tenTo(exponent: usize): f64 {
  return load<f64>(TENS + (exponent << 3));
}

function highHalf(value: f64): f64 {
  const scaled = SPLIT * value;
  return scaled - (scaled - value);
}

/** `(large + small) / divisor` rounded once, NaN where it lies too near to the middle between two doubles. */
function quotient(large: f64, small: f64, divisor: f64): f64 {
  const sum = large + small;
  const lostOfSum = small - (sum - large);
  const rough = sum / divisor;
  const product = rough * divisor;
  const roughHigh = highHalf(rough);
  const divisorHigh = highHalf(divisor);
  const roughLow = rough - roughHigh;
  const divisorLow = divisor - divisorHigh;
  const lostOfProduct =
    roughLow * divisorLow - (product - roughHigh * divisorHigh - roughLow * divisorHigh - roughHigh * divisorLow);
  const missing = (sum - product - lostOfProduct + lostOfSum) / divisor;
  const value = rough + missing;
  const lost = missing - (value - rough);
  return value + lost * NEAR_MIDDLE === value ? value : NaN;
}

// ------------------------------------------------------------------ times

function isTime(start: usize, end: usize): bool {
  if (minute !== 0 && isInMinute(start, end)) return true;
  const found = time(start, end);
  if (found === NO_TIME) return false;
  // The text outlives the list: the next one is mostly of the same minutes.
  if (found === KNOWN_MINUTE) {
    minute = KEPT_MINUTE;
    copy(minute, start, MINUTE_SIZE);
  }
  return true;
}

/** Where the known minute's text lies: before all that the host lays out. */
const KEPT_MINUTE: usize = 32;

/** Whether the text is the known minute, two digits for seconds below 60, perhaps a fraction, and a Z. */
function isInMinute(start: usize, end: usize): bool {
  const last = end - 1;
  const second = start + MINUTE_SIZE;
  if (last < second + 2 || load<u8>(last) !== UPPER_Z) return false;
  if (sharedSize(start, minute, MINUTE_SIZE) !== MINUTE_SIZE) return false;
  if (load<u8>(second) - ZERO > 5 || load<u8>(second + 1) - ZERO > 9) return false;
  if (last === second + 2) return true;
  if (load<u8>(second + 2) !== DOT || last === second + 3 || last > second + 12) return false;
  for (let at = second + 3; at < last; at++) if (!isDigit(load<u8>(at))) return false;
  return true;
}
