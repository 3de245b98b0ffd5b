// AssemblyScript, not TypeScript: compiled to WebAssembly by build.mjs. The inner loop of ingest/read/report/stored-list.ts, which says what it
// does: a list of maps goes from its JSON bytes to the packed list (store/records/packed-list.ts) in one pass. What is rare (values that are
// stored otherwise than they were sent, times, decimals) is asked of the host.
//
// Everything is an address. The host lays out readers and fields as the offsets below say, puts the payload behind them, and as many
// zeros behind it as are read at a time: they end every token, so that nothing but the outermost loops looks for the end.

import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  LETTER_N,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../common/characters';
import { appendSize, copy, SLACK, sharedSize } from '../common/memory';
import { TAG_ABSENT, TAG_DOUBLE, TAG_END, TAG_LIST, TAG_NULL_LIST, TAG_SAME, TAG_TEXT } from '../common/packed';
import {
  booleanEnd,
  containerEnd,
  decimalEnd,
  escapedStringEnd,
  integerEnd,
  isDigit,
  NULL_WORD,
  numberEnd,
  skipBlanks,
  stringEnd,
  stringsEnd,
} from '../common/tokens';
import { doubleOf } from './decimals';
import { addEvents, addPending, beginEvents, isShown } from './events';
import { decimal, over } from './host';
import {
  ABSENT,
  ANY,
  BOOLEAN,
  COUNT,
  DEPTH,
  DOUBLES,
  ENDS,
  EVENTS,
  FIELD_SIZE,
  FIELDS,
  IN_MADE,
  IN_PAYLOAD,
  INTEGER,
  IS_DOUBLE,
  IS_INSIDE,
  KEY,
  KEY_SIZE,
  KIND,
  LAST_ENDS,
  LAST_PLACES,
  LAST_STARTS,
  LIST,
  MAPS,
  NONE,
  NOWHERE,
  NULLABLE,
  NUMBER,
  OF,
  OF_MAPS,
  OF_STRINGS,
  ORDER,
  PLACES,
  REQUIRED,
  STARTS,
  STATES,
  STRING,
  TIME,
  WHOLE,
} from './layout';
import { timeAt } from './times';

export { countOfEvents, earliestEvent, eventColumns, latestEvent, packEvents, setSeed } from './events';

const SHARED_MAX: usize = 0xff - TAG_TEXT;

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

/**
 * The place behind the list that begins at `start`, or 0 when there is no such list, or no room. `end`: of the payload. The regions for
 * texts, for lists inside maps, for the result and for events lie one behind the other.
 */
export function read(
  reader: usize,
  start: usize,
  end: usize,
  textsStart: usize,
  madeStart: usize,
  resultStart: usize,
  limit: usize,
  eventsLimit: usize,
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
  const events: usize = load<u32>(reader, EVENTS);
  if (events !== 0) beginEvents(events, end - start, limit + SLACK, eventsLimit);
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
      return end !== 0 && !F64.isNaN(timeAt(at + 1, end - 1)) ? end : 0;
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
  if (code === OPEN_BRACE || code === OPEN_BRACKET) return overHost(reader, index, at, containerEnd(at, payloadEnd));
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

/** What was read, in stored order; false when something is missing or there is no room. */
function write(reader: usize): bool {
  const isInside = load<u32>(reader, IS_INSIDE) !== 0;
  const isWhole = load<u32>(reader, EVENTS) !== 0 && isShown(reader, isInside);
  const count = load<u32>(reader, COUNT);
  const states = load<u32>(reader, STATES);
  const starts = load<u32>(reader, STARTS);
  const ends = load<u32>(reader, ENDS);
  const places = load<u32>(reader, PLACES);
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
  if (isWhole) {
    if (isInside) addPending(reader);
    else addEvents(reader);
  }
  return true;
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
  to = appendSize(to, rest);
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
