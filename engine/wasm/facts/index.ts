// All facts of one node after the other as JSON texts: each behind a comma, in the order of the node's list. The texts of items that come
// again are kept; those of bodies that lie beside the list are made from there. What to do about an item that is neither is asked.
//
//   list    u32 name, u32 item                 for each fact
//   copies  u32 item, u16 size, body           as in store/records/copies.ts, in the order of the list
//   body    u8 flags, ends of name and value, the texts, `,"value":` between them (store/records/fields.ts)
//   table   u32 for each item: 0, MET, or where its text lies
//   text    u32 size, bytes

import { copy, SLACK } from '../common/memory';

const MET: u32 = 1;
const TEXT_HEAD: usize = 4;
const ENTRY: usize = 8;
const ITEM: usize = 4;
const COPY_SIZE: usize = 4;
const COPY_HEAD: usize = 6;
const WIDE: u8 = 0x80;
const LEAD_SIZE: usize = 9;
const COLON: u8 = 0x3a;

/** What `write` and `put` end with. */
const DONE: usize = 0;
const FULL: usize = 1;
const UNKNOWN: usize = 2;
const DAMAGED: usize = 3;

let table: usize = 0;
let items: u32 = 0;
let texts: usize = 0;
let textsLimit: usize = 0;
let out: usize = 0;
let outLimit: usize = 0;
/** What stands before a name, and behind a value. */
let before: usize = 0;
let beforeSize: usize = 0;
let after: usize = 0;
let afterSize: usize = 0;
/** Whether `,"value":` stands between them, else a colon. */
let isRow: bool = false;

/** The next fact, and the next copy. */
let entry: usize = 0;
let listEnd: usize = 0;
let next: usize = 0;
let copiesEnd: usize = 0;
let to: usize = 0;

/** The table and the regions behind it are empty, the table is of zeros. */
export function begin(
  tableStart: usize,
  itemsEnd: u32,
  textsStart: usize,
  textsEnd: usize,
  outStart: usize,
  outEnd: usize,
): void {
  table = tableStart;
  items = itemsEnd;
  texts = textsStart;
  textsLimit = textsEnd;
  out = outStart;
  outLimit = outEnd;
  to = outStart;
}

/** Where the next text will be kept. */
export function nextText(): usize {
  return texts;
}

export function setForm(start: usize, startSize: usize, end: usize, endSize: usize, rows: bool): void {
  before = start;
  beforeSize = startSize;
  after = end;
  afterSize = endSize;
  isRow = rows;
}

/** Another node begins: what was written of the one before and not taken is forgotten. */
export function setNode(list: usize, end: usize, copies: usize, lastCopy: usize): void {
  to = out;
  entry = list;
  listEnd = end;
  next = copies;
  copiesEnd = lastCopy;
}

/** Goes on with the node's facts. */
export function write(): usize {
  for (; entry < listEnd; entry += ENTRY) {
    const id = load<u32>(entry + ITEM);
    if (next < copiesEnd && load<u32>(next) === id) {
      const size: usize = load<u16>(next + COPY_SIZE);
      const end = render(next + COPY_HEAD, size);
      if (end <= DAMAGED) return end;
      to = end;
      next += COPY_HEAD + size;
      continue;
    }
    const text: usize = usize(id < items ? load<u32>(table + (usize(id) << 2)) : 0);
    if (text <= usize(MET)) return UNKNOWN;
    const size: usize = load<u32>(text);
    if (to + size + SLACK > outLimit) return FULL;
    copy(to, text + TEXT_HEAD, size);
    to += size;
  }
  return DONE;
}

/** The item that is unknown. */
export function item(): u32 {
  return load<u32>(entry + ITEM);
}

/** Its body. The text is kept when the item was met before, or may be shared and is short. */
export function put(body: usize, size: usize, sharedMax: usize): usize {
  const end = render(body, size);
  if (end <= DAMAGED) return end;
  const id = item();
  const textSize = end - to;
  if (id < items) {
    const state = table + (usize(id) << 2);
    const isKept = load<u32>(state) === MET || textSize <= sharedMax;
    if (!isKept) store<u32>(state, MET);
    else if (texts + TEXT_HEAD + textSize + SLACK <= textsLimit) {
      store<u32>(state, u32(texts));
      store<u32>(texts, u32(textSize));
      copy(texts + TEXT_HEAD, to, textSize);
      texts += TEXT_HEAD + textSize;
    }
  }
  to = end;
  entry += ENTRY;
  return DONE;
}

/** Bytes that were written since the last call. */
export function take(): usize {
  const size = to - out;
  to = out;
  return size;
}

/** Writes a body's text: the place behind it, or FULL or DAMAGED. */
function render(body: usize, size: usize): usize {
  if (to + size + beforeSize + afterSize + 2 * SLACK > outLimit) return FULL;
  const isWide = (load<u8>(body) & WIDE) !== 0;
  const base: usize = isWide ? 9 : 5;
  if (size < base) return DAMAGED;
  const name = body + base;
  const nameEnd = name + usize(isWide ? load<u32>(body + 1) : u32(load<u16>(body + 1)));
  const end = name + usize(isWide ? load<u32>(body + 5) : u32(load<u16>(body + 3)));
  if (nameEnd + LEAD_SIZE > end || end > body + size) return DAMAGED;
  let at = to;
  copy(at, before, beforeSize);
  at += beforeSize;
  if (isRow) {
    copy(at, name, end - name);
    at += end - name;
  } else {
    copy(at, name, nameEnd - name);
    at += nameEnd - name;
    store<u8>(at++, COLON);
    const value = nameEnd + LEAD_SIZE;
    copy(at, value, end - value);
    at += end - value;
  }
  copy(at, after, afterSize);
  return at + afterSize;
}
