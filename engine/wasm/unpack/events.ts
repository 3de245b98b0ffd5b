// The events of a report as the text of a list of maps, from their columns (engine/store/records/event-record.ts says what these are) and from the
// report's lists, where what is only shown of them lies.

import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  LETTER_A,
  LETTER_Z,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  ZERO,
} from '../common/characters';
import { copy, SLACK, sizeAt, sizeEnd } from '../common/memory';
import { NULL_WORD } from '../common/tokens';
import { date, eventValue } from './host';
import { DAMAGED, FULL, writePiece } from './output';

// The columns.
const COUNT: usize = 1;
const TEXTS: usize = 5;
const HEAD: usize = 9;
const TIME_SIZE: usize = 8;
const CODES: usize = 7;
const STATUS: usize = 0;
const RESOURCE_TYPE: usize = 1;
const NAME: usize = 4;
const CONTAINING_CLASS: usize = 5;
const CORRECTIVE_CHANGE: usize = 6;
/** Texts that are only shown, and how many of them are values. */
const SHOWN: usize = 6;
const VALUES: usize = 2;

// The texts before each member, as address and size, in the order of the text.
const LEAD: usize = 8;
const BEFORE_STATUS: usize = 0;
const BEFORE_TIME: usize = 1;
const BEFORE_TYPE: usize = 2;
const BEFORE_CORRECTIVE: usize = 5;
const BEFORE_VALUES: usize = 6;
const BEFORE_CLASS: usize = 12;
const BEFORE_NAME: usize = 13;
/** All of them have less, with the time. */
const LEADS_MAX: usize = 512;

const DAY_MS: i64 = 86400000;
const NO_DAY: i64 = i64.MIN_VALUE;

let leads: usize = 0;
let columns: usize = 0;
let count: usize = 0;
let isWide: bool = false;
/** Where the codes, the ends of the texts, and the texts begin, and where these end. */
let codes: usize = 0;
let ends: usize = 0;
let texts: usize = 0;
let textsEnd: usize = 0;
/** The next place. */
let place: usize = 0;
/** The day whose date's text was asked for last, and that text. */
let day: i64 = NO_DAY;
let dateText: usize = 0;
let dateSize: usize = 0;

let to: usize = 0;
let limit: usize = 0;

/** `leadsStart`: of the texts before the members; `dateStart`: room for a date. */
export function setEventForm(leadsStart: usize, dateStart: usize): void {
  leads = leadsStart;
  dateText = dateStart;
}

/**
 * Writes the events to `out`: the place behind the text, FULL without room, or DAMAGED, also when what is shown of them does not lie in the
 * lists. `resources`: where the packed resources begin among the lists. `correctives`: whether corrective changes are shown.
 */
export function writeEvents(
  start: usize,
  end: usize,
  lists: usize,
  listsEnd: usize,
  resources: usize,
  correctives: bool,
  out: usize,
  outLimit: usize,
): usize {
  if (!readHead(start, end)) return DAMAGED;
  to = out;
  limit = outLimit;
  let last = resources;
  if (to + SLACK > limit) return FULL;
  store<u8>(to++, OPEN_BRACKET);
  for (let event: usize = 0; event < count; event++) {
    if (to + LEADS_MAX > limit) return FULL;
    if (event > 0) store<u8>(to++, COMMA);
    writeLead(BEFORE_STATUS);
    let state = writeCoded(STATUS, event);
    if (state <= FULL) return state;
    writeLead(BEFORE_TIME);
    writeTime(load<i64>(columns + HEAD + event * TIME_SIZE));
    for (let column: usize = 0; column < 3; column++) {
      writeLead(BEFORE_TYPE + column);
      state = writeCoded(RESOURCE_TYPE + column, event);
      if (state <= FULL) return state;
    }
    writeLead(BEFORE_CORRECTIVE);
    if (correctives) {
      state = writeCoded(CORRECTIVE_CHANGE, event);
      if (state <= FULL) return state;
    } else writeNull();
    for (let text: usize = 0; text < SHOWN; text++) {
      writeLead(BEFORE_VALUES + text);
      const size = sizeAt(place, end);
      place = sizeEnd;
      if (place === 0) return DAMAGED;
      if (size === 0) {
        writeNull();
        continue;
      }
      const gap = sizeAt(place, end);
      place = sizeEnd;
      if (place === 0) return DAMAGED;
      const from = (gap & 1) === 0 ? last + (gap >> 1) : last - ((gap >> 1) + 1);
      if (from < lists || from > listsEnd || size > listsEnd - from) return DAMAGED;
      last = from + size;
      if (to + size + LEADS_MAX > limit) return FULL;
      if (text < VALUES && !isPlain(load<u8>(from))) {
        to = eventValue(from, last, to, limit - LEADS_MAX);
        if (to === 0) return FULL;
      } else {
        copy(to, from, size);
        to += size;
      }
    }
    writeLead(BEFORE_CLASS);
    state = writeCoded(CONTAINING_CLASS, event);
    if (state <= FULL) return state;
    writeLead(BEFORE_NAME);
    state = writeCoded(NAME, event);
    if (state <= FULL) return state;
    store<u8>(to++, CLOSE_BRACE);
  }
  store<u8>(to++, CLOSE_BRACKET);
  return to;
}

/** False: there are no such columns, or no places of what is shown behind them. */
function readHead(start: usize, end: usize): bool {
  const size = end - start;
  if (size < HEAD) return false;
  columns = start;
  isWide = load<u8>(start) === 1;
  count = load<u32>(start + COUNT);
  const textCount: usize = load<u32>(start + TEXTS);
  if (count > size || textCount === 0 || textCount > size) return false;
  codes = start + HEAD + count * TIME_SIZE;
  ends = codes + count * CODES * (isWide ? 4 : 2);
  texts = ends + textCount * 4;
  if (texts > end) return false;
  const textsSize: usize = load<u32>(texts - 4);
  if (textsSize >= end - texts) return false;
  textsEnd = texts + textsSize;
  place = textsEnd;
  return true;
}

/** Strings and words are spelt here as elsewhere. */
function isPlain(first: u8): bool {
  return first === QUOTE || (first >= LETTER_A && first <= LETTER_Z);
}

function writeLead(index: usize): void {
  to = writePiece(leads + index * LEAD, to);
}

function writeNull(): void {
  store<u32>(to, NULL_WORD);
  to += 4;
}

/** Appends an event's text of a coded column; the place behind it, FULL or DAMAGED. */
function writeCoded(column: usize, event: usize): usize {
  const index = column * count + event;
  const code: usize = isWide ? load<u32>(codes + (index << 2)) : u32(load<u16>(codes + (index << 1)));
  const entry = ends + (code << 2);
  if (entry >= texts) return DAMAGED;
  const from = code === 0 ? texts : texts + load<u32>(entry - 4);
  const end = texts + load<u32>(entry);
  if (from > end || end > textsEnd) return DAMAGED;
  if (to + (end - from) + LEADS_MAX > limit) return FULL;
  copy(to, from, end - from);
  to += end - from;
  return to;
}

/** `YYYY-MM-DDTHH:MM:SS[.f]+00:00`, with the shortest fraction. */
function writeTime(ms: i64): void {
  let ofDay = ms % DAY_MS;
  if (ofDay < 0) ofDay += DAY_MS;
  const today = (ms - ofDay) / DAY_MS;
  if (today !== day) {
    dateSize = date(f64(today), dateText) - dateText;
    day = today;
  }
  copy(to, dateText, dateSize);
  to += dateSize;
  const rest = u32(ofDay);
  const seconds = rest / 1000;
  const minutes = seconds / 60;
  writePair(minutes / 60);
  store<u8>(to++, COLON);
  writePair(minutes % 60);
  store<u8>(to++, COLON);
  writePair(seconds % 60);
  const fraction = rest % 1000;
  if (fraction > 0) {
    store<u8>(to++, DOT);
    writePair(fraction / 10);
    store<u8>(to++, u8(ZERO + (fraction % 10)));
    while (load<u8>(to - 1) === ZERO) to--;
  }
  // +00:00
  store<u8>(to, PLUS);
  writePairAt(to + 1, 0);
  store<u8>(to + 3, COLON);
  writePairAt(to + 4, 0);
  to += 6;
}

function writePair(value: u32): void {
  writePairAt(to, value);
  to += 2;
}

function writePairAt(at: usize, value: u32): void {
  store<u8>(at, u8(ZERO + value / 10));
  store<u8>(at + 1, u8(ZERO + (value % 10)));
}
