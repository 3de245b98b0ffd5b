// The events of a report, put down as the store keeps them (store/records/event-record.ts) while index.ts reads its `resources`: they are those
// of ingest/read/report/events.ts. Only what is stored as it was sent is taken; one value that is not, and they are not plain.
//
// The host says where each column comes from. In memory:
//
//   layout    8 bytes `null` | 8 bytes `false` | 16 bytes `"skipped"` | u8 place of `skipped` | u8 place of `events` | per row u8 place in an event,
//             u8 place in a resource; rows: the coded columns, the texts that are only shown, the time; places: of the readers'
//             fields, NO_PLACE: none
//   region    codes | the resource | hash tables | pending events | events | texts | places | the result

import { BACKSLASH, LETTER_N, LETTER_T, OPEN_BRACKET, QUOTE } from '../common/characters';
import { appendSize, areEqual, copy, hashOf, mixed, SLACK } from '../common/memory';
import { ABSENT, ENDS, IN_PAYLOAD, PLACES, STARTS, STATES } from './layout';
import { timeAt } from './times';

const NULL_TEXT: usize = 0;
const NULL_SIZE: usize = 4;
const FALSE_TEXT: usize = 8;
const FALSE_SIZE: usize = 5;
const SKIPPED_TEXT: usize = 16;
const SKIPPED_SIZE: usize = 9;
const SKIPPED_PLACE: usize = 32;
const LIST_PLACE: usize = 33;
const ROWS_PLACE: usize = 34;
const NO_PLACE: u8 = 0xff;

/** Coded columns; the first ones tell events apart. */
const CODES: u32 = 7;
const TOLD_APART: u32 = 5;
const STATUS: u32 = 0;
const CONTAINING_CLASS: u32 = 5;
const CORRECTIVE_CHANGE: u32 = 6;
/** Texts that are only shown. */
const VALUES: u32 = 6;
const LINE: u32 = 4;
const CONTAINMENT_PATH: u32 = 5;
const TIME_ROW: u32 = CODES + VALUES;
const ROWS: u32 = TIME_ROW + 1;
const ROW_SIZE: u32 = 8;
/** Longer integers may not fit into the column. */
const LINE_SIZE_MAX: usize = 9;

/** An event of the present resource: start and end of each row's text, and where in the packed list the texts that are only shown begin. */
const PENDING_PLACES: usize = ROWS * ROW_SIZE;
const PENDING_SIZE: u32 = ROWS * ROW_SIZE + VALUES * 4;

// An event: time, codes, start and end of the texts that are only shown, the next one of the same hash.
const EVENT_CODES: usize = 8;
const EVENT_VALUES: usize = EVENT_CODES + CODES * 4;
const EVENT_NEXT: usize = EVENT_VALUES + VALUES * ROW_SIZE;
const EVENT_SIZE: u32 = 88;

// A text: where it begins and ends, its hash, the next one of its bucket.
const TEXT_END: usize = 4;
const TEXT_HASH: usize = 8;
const TEXT_NEXT: usize = 12;
const TEXT_SIZE: u32 = 16;

/** No event takes less of a payload. */
const SENT_MIN: usize = 100;
/** What a text's place takes at most. */
const PLACE_SIZE_MAX: u32 = 10;
/** One bucket for so many bytes. */
const BYTES_PER_BUCKET: usize = 128;
const BUCKETS_MIN: u32 = 64;
const HEAD: usize = 9;
/** More texts have codes of four bytes. */
const NARROW_MAX: u32 = 0xffff;

/** What no client can foresee. */
let seed: u64 = 0;
let layout: usize = 0;
let isPlain: bool = false;
/** Codes of the present event, at first those of the one before: mostly some of them are the same. */
let codes: usize = 0;
/** The present resource: start and end of each row's text. */
let own: usize = 0;
let classStart: usize = 0;
let classEnd: usize = 0;
/** The code of `null`; below 0: it has none yet. */
let nullCode: i32 = -1;

let bucketMask: u32 = 0;
let eventBuckets: usize = 0;
let textBuckets: usize = 0;
let pendings: usize = 0;
let pendingCount: u32 = 0;
let events: usize = 0;
let eventCount: u32 = 0;
let eventsMax: u32 = 0;
let texts: usize = 0;
let textCount: u32 = 0;
let textBytes: usize = 0;
let textBytesEnd: usize = 0;
let places: usize = 0;
let placesEnd: usize = 0;
/** Where the text ends whose place was put down last. */
let lastPlaceEnd: i32 = 0;
let result: usize = 0;

export function setSeed(low: u32, high: u32): void {
  seed = u64(low) | (u64(high) << 32);
}

/** A list of that many bytes begins. They are not plain when they do not fit between these addresses. */
export function beginEvents(at: usize, size: usize, start: usize, limit: usize): void {
  layout = at;
  eventsMax = u32(size / SENT_MIN) + 8;
  let buckets = BUCKETS_MIN;
  while (usize(buckets) * BYTES_PER_BUCKET < size) buckets <<= 1;
  bucketMask = buckets - 1;
  codes = start;
  own = codes + CODES * 4 + 4;
  eventBuckets = own + ROWS * ROW_SIZE;
  textBuckets = eventBuckets + buckets * 4;
  pendings = textBuckets + buckets * 4;
  events = pendings + eventsMax * PENDING_SIZE;
  texts = events + eventsMax * EVENT_SIZE;
  textBytes = texts + eventsMax * CODES * TEXT_SIZE;
  places = textBytes + size + 4 * SLACK;
  result = places + eventsMax * VALUES * PLACE_SIZE_MAX;
  const end = result + HEAD + eventsMax * (8 + CODES * 8 + VALUES * PLACE_SIZE_MAX) + size + 5 * SLACK;
  isPlain = end <= limit;
  if (!isPlain) return;
  for (let column: u32 = 0; column < CODES; column++) store<i32>(codes + column * 4, -1);
  memory.fill(eventBuckets, 0, buckets * 8);
  nullCode = -1;
  pendingCount = 0;
  eventCount = 0;
  textCount = 0;
  textBytesEnd = textBytes;
  placesEnd = places;
  lastPlaceEnd = 0;
}

/** Whether what is only shown of a map's events must be whole in the packed list: of an event, of a resource that has some. */
export function isShown(reader: usize, isInside: bool): bool {
  return isPlain && (isInside || isSkipped(reader) || pendingCount > 0);
}

function isSkipped(reader: usize): bool {
  const key: usize = load<u8>(layout, SKIPPED_PLACE);
  if (load<u8>(load<u32>(reader, STATES) + key) !== IN_PAYLOAD) return false;
  return load<u8>(load<u32>(load<u32>(reader, STARTS) + (key << 2))) === LETTER_T;
}

function eventPlace(row: u32): u8 {
  return load<u8>(layout + ROWS_PLACE + row * 2);
}

function resourcePlace(row: u32): u8 {
  return load<u8>(layout + ROWS_PLACE + row * 2 + 1);
}

/** Puts start and end of the field's text to `to`, the same twice where it is null or not there. */
function putText(reader: usize, key: u8, to: usize): void {
  let start: u32 = 0;
  let end: u32 = 0;
  if (key !== NO_PLACE) {
    const state = load<u8>(load<u32>(reader, STATES) + key);
    if (state === IN_PAYLOAD) {
      start = load<u32>(load<u32>(reader, STARTS) + (usize(key) << 2));
      end = load<u8>(start) === LETTER_N ? start : load<u32>(load<u32>(reader, ENDS) + (usize(key) << 2));
    } else if (state !== ABSENT) isPlain = false;
  }
  store<u32>(to, start);
  store<u32>(to + 4, end);
}

/** An event has been packed. */
export function addPending(reader: usize): void {
  if (pendingCount === eventsMax) {
    isPlain = false;
    return;
  }
  const at = pendings + pendingCount++ * PENDING_SIZE;
  const packed: usize = load<u32>(reader, PLACES);
  for (let row: u32 = 0; row < ROWS; row++) putText(reader, eventPlace(row), at + row * ROW_SIZE);
  for (let value: u32 = 0; value < VALUES; value++) {
    const key = eventPlace(CODES + value);
    if (key !== NO_PLACE) store<i32>(at + PENDING_PLACES + value * 4, load<i32>(packed + (usize(key) << 2)));
  }
}

/** A resource that has events has been packed. */
export function addEvents(reader: usize): void {
  for (let row: u32 = 0; row < ROWS; row++) putText(reader, resourcePlace(row), own + row * ROW_SIZE);
  const line = own + (CODES + LINE) * ROW_SIZE;
  if (load<u32>(line + 4) - load<u32>(line) > LINE_SIZE_MAX) isPlain = false;
  if (isPlain) {
    findClass();
    if (isSkipped(reader)) addEvent(reader, 0);
    else for (let i: u32 = 0; i < pendingCount; i++) addEvent(reader, pendings + i * PENDING_SIZE);
  }
  pendingCount = 0;
}

/** The last element of the containment path that is not empty and names no resource. */
function findClass(): void {
  classStart = 0;
  classEnd = 0;
  const path = own + (CODES + CONTAINMENT_PATH) * ROW_SIZE;
  const end: usize = load<u32>(path + 4);
  let at: usize = load<u32>(path) + 1;
  while (at < end && load<u8>(at) === QUOTE) {
    const start = at++;
    let isClass = load<u8>(at) !== QUOTE;
    for (let code = load<u8>(at); code !== QUOTE; code = load<u8>(++at)) {
      if (code === OPEN_BRACKET) isClass = false;
      else if (code === BACKSLASH) at++;
    }
    at++;
    if (isClass) {
      classStart = start;
      classEnd = at;
    }
    at++;
  }
}

/** Where the text of a row lies: an event's own, or its resource's. `pending` 0: the event of a skipped resource. */
function textOf(pending: usize, row: u32): usize {
  return pending !== 0 && eventPlace(row) !== NO_PLACE ? pending + row * ROW_SIZE : own + row * ROW_SIZE;
}

/** Puts an event down unless there is one that agrees in all fields that tell events apart. */
function addEvent(reader: usize, pending: usize): void {
  if (eventCount === eventsMax) {
    isPlain = false;
    return;
  }
  for (let column: u32 = 0; column < TOLD_APART; column++) {
    if (column === STATUS && pending === 0) setCode(column, layout + SKIPPED_TEXT, SKIPPED_SIZE);
    else setCodeFrom(column, textOf(pending, column));
  }
  const event = events + eventCount * EVENT_SIZE;
  const timeText = textOf(pending, TIME_ROW);
  const time = timeAt(load<u32>(timeText) + 1, load<u32>(timeText + 4) - 1);
  store<f64>(event, time);
  copyCodes(event);
  for (let value: u32 = 0; value < VALUES; value++) {
    store<u64>(event + EVENT_VALUES + value * ROW_SIZE, load<u64>(textOf(pending, CODES + value)));
  }
  const bucket = bucketOf(event);
  if (isKnown(event, bucket)) return;
  setCode(CONTAINING_CLASS, classStart, classEnd - classStart);
  if (pending === 0) setCode(CORRECTIVE_CHANGE, layout + FALSE_TEXT, FALSE_SIZE);
  else setCodeFrom(CORRECTIVE_CHANGE, textOf(pending, CORRECTIVE_CHANGE));
  copyCodes(event);
  store<u32>(event + EVENT_NEXT, load<u32>(bucket));
  store<u32>(bucket, u32(event));
  eventCount++;
  addPlaces(reader, pending, event);
}

function copyCodes(event: usize): void {
  for (let column: u32 = 0; column < CODES; column++) {
    store<u32>(event + EVENT_CODES + column * 4, load<u32>(codes + column * 4));
  }
}

function bucketOf(event: usize): usize {
  let hash = load<u64>(event) ^ seed;
  for (let column: u32 = 0; column < TOLD_APART; column++) {
    hash = mixed(hash, load<u32>(event + EVENT_CODES + column * 4));
  }
  for (let value: u32 = 0; value < CONTAINMENT_PATH; value++) {
    const text = event + EVENT_VALUES + value * ROW_SIZE;
    hash = mixedText(hash, load<u32>(text), load<u32>(text + 4));
  }
  return eventBuckets + ((u32(mixed(hash, 0)) & bucketMask) << 2);
}

function mixedText(hash: u64, start: usize, end: usize): u64 {
  hash = mixed(hash, end - start);
  for (; start + 8 <= end; start += 8) hash = mixed(hash, load<u64>(start));
  for (; start < end; start++) hash = mixed(hash, load<u8>(start));
  return hash;
}

function isKnown(event: usize, bucket: usize): bool {
  for (let other: usize = load<u32>(bucket); other !== 0; other = load<u32>(other + EVENT_NEXT)) {
    if (agree(event, other)) return true;
  }
  return false;
}

function agree(a: usize, b: usize): bool {
  if (load<u64>(a) !== load<u64>(b)) return false;
  for (let column: u32 = 0; column < TOLD_APART; column++) {
    const at = EVENT_CODES + column * 4;
    if (load<u32>(a + at) !== load<u32>(b + at)) return false;
  }
  for (let value: u32 = 0; value < CONTAINMENT_PATH; value++) {
    const at = EVENT_VALUES + value * ROW_SIZE;
    const start: usize = load<u32>(a + at);
    const size: usize = load<u32>(a + at + 4) - u32(start);
    const from: usize = load<u32>(b + at);
    if (load<u32>(b + at + 4) - u32(from) !== u32(size) || !areEqual(start, from, size)) return false;
  }
  return true;
}

/** Puts down where what is only shown of an event lies in the packed list. */
function addPlaces(reader: usize, pending: usize, event: usize): void {
  const packed: usize = load<u32>(reader, PLACES);
  const list = usize(load<u8>(layout, LIST_PLACE)) << 2;
  // Places in events are addresses where their list was put together.
  const shift = load<i32>(packed + list) - load<i32>(load<u32>(reader, STARTS) + list);
  for (let value: u32 = 0; value < VALUES; value++) {
    const text = event + EVENT_VALUES + value * ROW_SIZE;
    const size = load<u32>(text + 4) - load<u32>(text);
    placesEnd = appendSize(placesEnd, size);
    if (size === 0) continue;
    const row = CODES + value;
    const place =
      pending !== 0 && eventPlace(row) !== NO_PLACE
        ? load<i32>(pending + PENDING_PLACES + value * 4) + shift
        : load<i32>(packed + (usize(resourcePlace(row)) << 2));
    const gap = place - lastPlaceEnd;
    placesEnd = appendSize(placesEnd, gap < 0 ? -2 * gap - 1 : 2 * gap);
    lastPlaceEnd = place + i32(size);
  }
}

// ------------------------------------------------------------------ texts

function setCodeFrom(column: u32, text: usize): void {
  const start: usize = load<u32>(text);
  setCode(column, start, load<u32>(text + 4) - u32(start));
}

/** The present event's code in that column is that of the text, or of `null` when that is empty. */
function setCode(column: u32, start: usize, size: usize): void {
  const code = codes + column * 4;
  if (size !== 0) store<i32>(code, numberOf(start, size, load<i32>(code)));
  else {
    if (nullCode < 0) nullCode = numberOf(layout + NULL_TEXT, NULL_SIZE, -1);
    store<i32>(code, nullCode);
  }
}

/** The number of a text: equal ones have the same. `guess`: looked at first; below 0: none. */
function numberOf(start: usize, size: usize, guess: i32): i32 {
  if (guess >= 0 && isText(texts + guess * TEXT_SIZE, start, size)) return guess;
  const hash = u32(hashOf(start, size, seed));
  const bucket = textBuckets + ((hash & bucketMask) << 2);
  for (let text: usize = load<u32>(bucket); text !== 0; text = load<u32>(text + TEXT_NEXT)) {
    if (load<u32>(text + TEXT_HASH) === hash && isText(text, start, size)) return i32((text - texts) / TEXT_SIZE);
  }
  const text = texts + textCount * TEXT_SIZE;
  store<u32>(text, u32(textBytesEnd));
  copy(textBytesEnd, start, size);
  textBytesEnd += size;
  store<u32>(text + TEXT_END, u32(textBytesEnd));
  store<u32>(text + TEXT_HASH, hash);
  store<u32>(text + TEXT_NEXT, load<u32>(bucket));
  store<u32>(bucket, u32(text));
  return textCount++;
}

function isText(text: usize, start: usize, size: usize): bool {
  const from: usize = load<u32>(text);
  return load<u32>(text + TEXT_END) - u32(from) === u32(size) && areEqual(from, start, size);
}

// ------------------------------------------------------------------ the result

/** How many there are; below 0: they are not plain. */
export function countOfEvents(): i32 {
  return isPlain ? i32(eventCount) : -1;
}

/** Epoch ms; there must be events. */
export function earliestEvent(): f64 {
  let time = load<f64>(events);
  for (let i: u32 = 1; i < eventCount; i++) time = min(time, load<f64>(events + i * EVENT_SIZE));
  return time;
}

/** Epoch ms; there must be events. */
export function latestEvent(): f64 {
  let time = load<f64>(events);
  for (let i: u32 = 1; i < eventCount; i++) time = max(time, load<f64>(events + i * EVENT_SIZE));
  return time;
}

/** Where the columns of the events begin once they are packed. */
export function eventColumns(): usize {
  return result;
}

/** Packs the columns of the events; their size. */
export function packEvents(): usize {
  const isWide = textCount > NARROW_MAX;
  store<u8>(result, isWide ? 1 : 0);
  store<u32>(result + 1, eventCount);
  store<u32>(result + 5, textCount);
  let to = result + HEAD;
  for (let i: u32 = 0; i < eventCount; i++, to += 8) store<i64>(to, i64(load<f64>(events + i * EVENT_SIZE)));
  for (let column: u32 = 0; column < CODES; column++) {
    let code = events + EVENT_CODES + column * 4;
    for (let i: u32 = 0; i < eventCount; i++, code += EVENT_SIZE) {
      if (isWide) store<u32>(to, load<u32>(code));
      else store<u16>(to, load<u16>(code));
      to += isWide ? 4 : 2;
    }
  }
  for (let i: u32 = 0; i < textCount; i++, to += 4) {
    store<u32>(to, load<u32>(texts + i * TEXT_SIZE + TEXT_END) - u32(textBytes));
  }
  to = append(to, textBytes, textBytesEnd);
  return append(to, places, placesEnd) - result;
}

function append(to: usize, start: usize, end: usize): usize {
  copy(to, start, end - start);
  return to + end - start;
}
