// AssemblyScript, not TypeScript: compiled to WebAssembly by build.mjs. The inner loop of store/records/packed-list.ts, which says what a packed list
// is: its JSON text, with what stood before copied from where it was written. Everything is an address; the host lays out shapes as the
// offsets below say.
//
//   shape   u32 how many fields | fields
//   field   what stands before the value, as the first of its map and behind others: address and size of each
//           the shape of a list of maps, or 0
//           where what stands before its last value begins, that value, and its end

import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET } from '../common/characters';
import { copy, SLACK, sizeAt, sizeEnd } from '../common/memory';
import { TAG_ABSENT, TAG_DOUBLE, TAG_END, TAG_LIST, TAG_SAME, TAG_TEXT } from '../common/packed';
import { NULL_WORD } from '../common/tokens';
import { DOUBLE_MAX, writeDouble } from './doubles';
import { DAMAGED, FULL, pieceSize, writePiece } from './output';

export { setEventForm, writeEvents } from './events';

const FIELDS: usize = 4;
const FIELD_SIZE: usize = 32;
const FIRST: usize = 0;
const FURTHER: usize = 8;
const MAPS: usize = 16;
const BEGIN: usize = 20;
const START: usize = 24;
const END: usize = 28;

let sourceEnd: usize = 0;
let to: usize = 0;
let limit: usize = 0;

/** Writes the text of the list between these places to `out`: the place behind the list, FULL without room, or DAMAGED. */
export function unpack(shape: usize, start: usize, end: usize, out: usize, outLimit: usize): usize {
  sourceEnd = end;
  to = out;
  limit = outLimit;
  forget(shape);
  return writeList(shape, start);
}

/** The place behind the text. */
export function textEnd(): usize {
  return to;
}

function forget(shape: usize): void {
  const end = fieldsEnd(shape);
  for (let field = shape + FIELDS; field < end; field += FIELD_SIZE) {
    store<u32>(field, 0, BEGIN);
    store<u32>(field, 0, START);
    store<u32>(field, 0, END);
    const maps = load<u32>(field, MAPS);
    if (maps !== 0) forget(maps);
  }
}

function fieldsEnd(shape: usize): usize {
  return shape + FIELDS + usize(load<u32>(shape)) * FIELD_SIZE;
}

function writeList(shape: usize, start: usize): usize {
  const fields = shape + FIELDS;
  const end = fieldsEnd(shape);
  let at = start;
  if (to + SLACK > limit) return FULL;
  store<u8>(to++, OPEN_BRACKET);
  for (let isFirst = true; ; isFirst = false) {
    if (at >= sourceEnd) return DAMAGED;
    if (load<u8>(at) === TAG_END) break;
    if (to + SLACK > limit) return FULL;
    if (!isFirst) store<u8>(to++, COMMA);
    let lead = FIRST;
    for (let field = fields; field < end; field += FIELD_SIZE) {
      const tag = load<u8>(at++);
      if (tag === TAG_ABSENT) continue;
      if (load<u32>(field, MAPS) !== 0) at = writeMaps(field, field + lead, tag, at);
      else if (tag === TAG_SAME) {
        const last = lastSame(field, end, at);
        if (!repeat(field, last, field + lead)) return FULL;
        at += (last - field) / FIELD_SIZE;
        field = last;
      } else at = tag === TAG_DOUBLE ? writeNumber(field, field + lead, at) : writeText(field, field + lead, tag, at);
      if (at <= FULL) return at;
      lead = FURTHER;
    }
    if (to + SLACK > limit) return FULL;
    if (lead === FIRST) store<u8>(to++, OPEN_BRACE);
    store<u8>(to++, CLOSE_BRACE);
  }
  if (to + SLACK > limit) return FULL;
  store<u8>(to++, CLOSE_BRACKET);
  return at + 1;
}

function writeMaps(field: usize, lead: usize, tag: u8, at: usize): usize {
  if (to + pieceSize(lead) + SLACK * 2 > limit) return FULL;
  to = writePiece(lead, to);
  if (tag === TAG_LIST) return writeList(load<u32>(field, MAPS), at);
  store<u32>(to, NULL_WORD);
  to += 4;
  return at;
}

/** The last of the fields from `field` on that are what they were last, and stood one behind the other there. */
function lastSame(field: usize, end: usize, at: usize): usize {
  let last = field;
  for (let next = at; load<u8>(next) === TAG_SAME; next++) {
    const further = last + FIELD_SIZE;
    if (further >= end || load<u32>(further, MAPS) !== 0 || load<u32>(further, BEGIN) !== load<u32>(last, END)) break;
    last = further;
  }
  return last;
}

/** Appends these fields as they were last; false without room. */
function repeat(field: usize, last: usize, lead: usize): bool {
  let from: usize = load<u32>(field, BEGIN);
  const end: usize = load<u32>(last, END);
  if (to + pieceSize(lead) + (end - from) + SLACK * 2 > limit) return false;
  store<u32>(field, u32(to), BEGIN);
  if (load<u8>(from) !== load<u8>(load<u32>(lead))) {
    // It was the first of its map and is not now, or the other way round.
    to = writePiece(lead, to);
    from = load<u32>(field, START);
  }
  const moved = u32(to) - u32(from);
  copy(to, from, end - from);
  to += end - from;
  store<u32>(field, load<u32>(field, START) + moved, START);
  store<u32>(field, load<u32>(field, END) + moved, END);
  for (let next = field + FIELD_SIZE; next <= last; next += FIELD_SIZE) {
    store<u32>(next, load<u32>(next, BEGIN) + moved, BEGIN);
    store<u32>(next, load<u32>(next, START) + moved, START);
    store<u32>(next, load<u32>(next, END) + moved, END);
  }
  return true;
}

function writeText(field: usize, lead: usize, tag: u8, start: usize): usize {
  if (tag < TAG_TEXT) return DAMAGED;
  const shared: usize = tag - TAG_TEXT;
  const size = sizeAt(start, sourceEnd);
  const at = sizeEnd;
  if (at === 0 || size > sourceEnd - at) return DAMAGED;
  if (to + pieceSize(lead) + shared + size + SLACK * 2 > limit) return FULL;
  const from: usize = load<u32>(field, START);
  store<u32>(field, u32(to), BEGIN);
  to = writePiece(lead, to);
  store<u32>(field, u32(to), START);
  copy(to, from, shared);
  to += shared;
  copy(to, at, size);
  to += size;
  store<u32>(field, u32(to), END);
  return at + size;
}

function writeNumber(field: usize, lead: usize, at: usize): usize {
  if (at + 8 > sourceEnd) return DAMAGED;
  if (to + pieceSize(lead) + DOUBLE_MAX + SLACK > limit) return FULL;
  store<u32>(field, u32(to), BEGIN);
  to = writePiece(lead, to);
  store<u32>(field, u32(to), START);
  to = writeDouble(load<f64>(at), to);
  store<u32>(field, u32(to), END);
  return at + 8;
}
