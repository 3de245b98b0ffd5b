// The canonical text of a resource (ingest/catalog-resources.ts, json/canonical.ts in order K) from the text of its element, where that
// needs no values: strings without escapes by number, integers, no decimals, keys without slashes, ASCII only. The element has been parsed,
// now or when it came before: what is no JSON need not be told from what is unusual.
//
//   memory    what is told of the result | tags | members | the text | room to put members in order

import {
  BACKSLASH,
  BLANK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  LETTER_A,
  LETTER_E,
  LETTER_I,
  LETTER_U,
  LETTER_Z,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
} from '../common/characters';
import { areEqual, copy, SLACK, sharedSize } from '../common/memory';
import { copyToStop, integerEnd, isDigit } from '../common/tokens';
import { isMark, MARK_CODE, MARK_SIZE } from './mark';

// What is told: bytes of the text, where in it values begin and end, by key; 0 and 0: it has none.
const SIZE: usize = 0;
const PARAMETERS: usize = 4;
const TAGS: usize = 12;
const TITLE: usize = 20;
const TYPE: usize = 28;
const RESULT_SIZE: usize = 40;

// A tag: its rank in the set (store/tag-rank.ts), its literal.
const TAG_RANK: usize = 0;
const TAG_START: usize = 8;
const TAG_BYTES: usize = 12;
const TAG_SIZE: usize = 16;
const TAGS_MAX: usize = 128;

// A member of a map: its key in the element, key and value in the text.
const KEY_START: usize = 0;
const KEY_BYTES: usize = 4;
const MEMBER_START: usize = 8;
const MEMBER_END: usize = 12;
const MEMBER_SIZE: usize = 16;
/** More are not put in order here. */
const MEMBERS_MAX: usize = 256;

const DEPTH_MAX: i32 = 32;

/** Keys, and parts of such, as words. */
const FILE_KEY: u32 = 0x656c6966;
const LINE_KEY: u32 = 0x656e696c;
const TAGS_KEY: u32 = 0x73676174;
const TYPE_KEY: u32 = 0x65707974;
const TITL: u32 = 0x6c746974;
const EXPO: u32 = 0x6f707865;
const RTED: u32 = 0x64657472;
const PARA: u32 = 0x61726170;
const METE: u32 = 0x6574656d;
const RS: u16 = 0x7372;

let result: usize = 0;
let tags: usize = 0;
let members: usize = 0;
let membersLimit: usize = 0;
let text: usize = 0;
let spare: usize = 0;
let room: usize = 0;
/** The literal that takes the place of marks. */
let name: usize = 0;
let nameSize: usize = 0;
/** Where the next value is read and written. */
let at: usize = 0;
let to: usize = 0;
let memberEnd: usize = 0;
let leavesTagOut: bool = false;

/** The region between these addresses is for resources from now on; `literal`: where the certname's lies. */
export function beginResources(start: usize, limit: usize, literal: usize): void {
  name = literal;
  result = start;
  tags = result + RESULT_SIZE;
  members = tags + (TAGS_MAX + 1) * TAG_SIZE;
  const third = (((limit - members) / 3) >> 4) << 4;
  membersLimit = members + third;
  text = membersLimit;
  spare = text + third;
  room = third;
}

/** Where it is told what the resource says that was written last. */
export function resourceResult(): usize {
  return result;
}

/** Where its text begins. */
export function resourceText(): usize {
  return text;
}

/**
 * Writes the canonical text of an element, perhaps without the name among its tags; false when something in it is unusual, or there is no
 * room.
 */
export function writeResource(start: usize, size: usize, literalSize: usize, isTagLeftOut: bool): bool {
  nameSize = literalSize;
  leavesTagOut = isTagLeftOut;
  // Each mark may become a name.
  if ((size / MARK_SIZE + 1) * max(MARK_SIZE, literalSize) + SLACK * 4 > room || load<u8>(start) !== OPEN_BRACE)
    return false;
  at = start;
  to = text;
  memberEnd = members;
  for (let i: usize = 0; i < RESULT_SIZE; i += 8) store<u64>(result + i, 0);
  if (!writeMap(0) || !isAscii(text, to)) return false;
  store<u32>(result + SIZE, u32(to - text));
  for (let member = members; member < memberEnd; member += MEMBER_SIZE) {
    if (!tell(member)) return false;
  }
  return load<u32>(result + TAGS) !== 0 && isText(TITLE) && isText(TYPE);
}

function isAscii(start: usize, end: usize): bool {
  let at = start;
  for (; at + 16 <= end; at += 16) if (i8x16.bitmask(v128.load(at)) !== 0) return false;
  for (; at < end; at++) if (load<u8>(at) >= 0x80) return false;
  return true;
}

/** Tells where the value of a field is; false for a key that is none of a resource's. */
function tell(member: usize): bool {
  const key: usize = load<u32>(member + KEY_START);
  const size = load<u32>(member + KEY_BYTES);
  // "exported", "file", "line", "parameters", "tags", "title", "type", by size and letters.
  const second = load<u8>(key + 1);
  if (size === 8 || (size === 4 && second === LETTER_I)) return isKey(key, size);
  let field: usize = PARAMETERS;
  if (size === 4) field = second === LETTER_A ? TAGS : TYPE;
  else if (size === 5) field = TITLE;
  if (!isKey(key, size)) return false;
  // The value stands behind the key in quotes and a colon.
  store<u32>(result + field, load<u32>(member + MEMBER_START) + size + 3 - u32(text));
  store<u32>(result + field + 4, load<u32>(member + MEMBER_END) - u32(text));
  return true;
}

function isKey(key: usize, size: u32): bool {
  const head = load<u32>(key);
  const next = load<u32>(key + 4);
  if (size === 4) return head === FILE_KEY || head === LINE_KEY || head === TAGS_KEY || head === TYPE_KEY;
  if (size === 5) return head === TITL && load<u8>(key + 4) === LETTER_E;
  if (size === 8) return head === EXPO && next === RTED;
  return size === 10 && head === PARA && next === METE && load<u16>(key + 8) === RS;
}

/** Whether that field is a string without escapes. */
function isText(field: usize): bool {
  const start = text + load<u32>(result + field);
  const end = text + load<u32>(result + field + 4);
  if (load<u8>(start) !== QUOTE) return false;
  for (let i = start; i < end; i++) if (load<u8>(i) === BACKSLASH) return false;
  return true;
}

function skipBlanks(): void {
  while (load<u8>(at) <= BLANK) at++;
}

function put(code: u8): void {
  store<u8>(to++, code);
}

function writeValue(depth: i32): bool {
  const code = load<u8>(at);
  if (code === QUOTE) return writeString();
  if (code === OPEN_BRACE) return writeMap(depth + 1);
  if (code === OPEN_BRACKET) return writeList(depth + 1);
  if (code === MINUS || isDigit(code)) return writeInteger();
  while (load<u8>(at) >= LETTER_A && load<u8>(at) <= LETTER_Z) put(load<u8>(at++));
  return true;
}

function writeInteger(): bool {
  const end = integerEnd(at);
  if (end === 0) return false;
  copy(to, at, end - at);
  to += end - at;
  at = end;
  return true;
}

function writeString(): bool {
  if (isMark(at)) {
    if (nameSize === 0) return false;
    copy(to, name, nameSize);
    to += nameSize;
    at += MARK_SIZE;
    return true;
  }
  put(load<u8>(at++));
  while (true) {
    const size = copyToStop(to, at);
    at += size;
    to += size;
    const code = load<u8>(at);
    if (code === QUOTE) {
      at++;
      to++;
      return true;
    }
    if (code !== BACKSLASH) return false;
    const escaped = load<u8>(at + 1);
    if (escaped === LETTER_U || escaped === SLASH) return false;
    store<u8>(to + 1, escaped);
    at += 2;
    to += 2;
  }
}

function writeList(depth: i32): bool {
  if (depth > DEPTH_MAX) return false;
  put(load<u8>(at++));
  skipBlanks();
  while (load<u8>(at) !== CLOSE_BRACKET) {
    if (!writeValue(depth)) return false;
    skipBlanks();
    if (load<u8>(at) === COMMA) {
      put(load<u8>(at++));
      skipBlanks();
    } else if (load<u8>(at) !== CLOSE_BRACKET) return false;
  }
  put(load<u8>(at++));
  return true;
}

/** At depth 0 the members stay where they are noted. */
function writeMap(depth: i32): bool {
  if (depth > DEPTH_MAX) return false;
  const first = memberEnd;
  let isInOrder = true;
  put(load<u8>(at++));
  const body = to;
  skipBlanks();
  while (load<u8>(at) !== CLOSE_BRACE) {
    if (memberEnd + MEMBER_SIZE > membersLimit) return false;
    const member = memberEnd;
    memberEnd += MEMBER_SIZE;
    store<u32>(member + MEMBER_START, u32(to));
    store<u32>(member + KEY_START, u32(at + 1));
    if (!writeString()) return false;
    store<u32>(member + KEY_BYTES, u32(at - 1) - load<u32>(member + KEY_START));
    if (!isPlainKey(member)) return false;
    if (member > first) {
      const order = compare(member - MEMBER_SIZE, member);
      if (order === 0) return false;
      if (order > 0) isInOrder = false;
    }
    skipBlanks();
    if (load<u8>(at) !== COLON) return false;
    put(load<u8>(at++));
    skipBlanks();
    if (!(depth === 0 && isTags(member) ? writeTags() : writeValue(depth))) return false;
    store<u32>(member + MEMBER_END, u32(to));
    skipBlanks();
    if (load<u8>(at) === COMMA) {
      put(load<u8>(at++));
      skipBlanks();
    } else if (load<u8>(at) !== CLOSE_BRACE) return false;
  }
  if (!isInOrder && !sortMembers(first, body)) return false;
  put(load<u8>(at++));
  if (depth > 0) memberEnd = first;
  return true;
}

/** Keys with slashes have an order of their own, marks none. */
function isPlainKey(member: usize): bool {
  const start: usize = load<u32>(member + KEY_START);
  const end = start + load<u32>(member + KEY_BYTES);
  for (let i = start; i < end; i++) {
    const code = load<u8>(i);
    if (code === SLASH || code === BACKSLASH || code === MARK_CODE) return false;
  }
  return true;
}

function isTags(member: usize): bool {
  return load<u32>(member + KEY_BYTES) === 4 && load<u32>(load<u32>(member + KEY_START)) === TAGS_KEY;
}

/** Order of two keys: negative, zero or positive. */
function compare(a: usize, b: usize): i32 {
  const start: usize = load<u32>(a + KEY_START);
  const other: usize = load<u32>(b + KEY_START);
  const size: usize = load<u32>(a + KEY_BYTES);
  const otherSize: usize = load<u32>(b + KEY_BYTES);
  const most = min(size, otherSize);
  const shared = sharedSize(start, other, most);
  if (shared < most) return i32(load<u8>(start + shared)) - i32(load<u8>(other + shared));
  return i32(size) - i32(otherSize);
}

/** Puts the members from `first` on in order, whose texts begin at `body`; false when a key is there twice. */
function sortMembers(first: usize, body: usize): bool {
  if (memberEnd - first > MEMBERS_MAX * MEMBER_SIZE) return false;
  for (let member = first + MEMBER_SIZE; member < memberEnd; member += MEMBER_SIZE) {
    const head = v128.load(member);
    let place = member;
    while (place > first) {
      v128.store(place, head);
      const order = compare(place - MEMBER_SIZE, place);
      if (order === 0) return false;
      if (order < 0) break;
      v128.store(place, v128.load(place - MEMBER_SIZE));
      place -= MEMBER_SIZE;
    }
    v128.store(place, head);
  }
  let end = spare;
  for (let member = first; member < memberEnd; member += MEMBER_SIZE) {
    if (member > first) store<u8>(end++, COMMA);
    const start: usize = load<u32>(member + MEMBER_START);
    const size = load<u32>(member + MEMBER_END) - u32(start);
    copy(end, start, size);
    store<u32>(member + MEMBER_START, u32(body + end - spare));
    end += size;
    store<u32>(member + MEMBER_END, u32(body + end - spare));
  }
  copy(body, spare, end - spare);
  return true;
}

/** Distinct tags in the order of PuppetDB's set (ingest/hashes.ts, tagOrder). */
function writeTags(): bool {
  if (load<u8>(at) !== OPEN_BRACKET) return false;
  put(load<u8>(at++));
  let end = tags;
  skipBlanks();
  while (load<u8>(at) !== CLOSE_BRACKET) {
    if (end === tags + TAGS_MAX * TAG_SIZE || load<u8>(at) !== QUOTE) return false;
    const isName = isMark(at);
    const start = isName ? name : at;
    let size = nameSize;
    if (isName) at += MARK_SIZE;
    else {
      at++;
      for (let code = load<u8>(at); code !== QUOTE; code = load<u8>(++at)) {
        if (code === BACKSLASH || code < BLANK) return false;
      }
      size = ++at - start;
    }
    if (size === 0) return false;
    if (!isName || !leavesTagOut) end = addTag(start, size, end);
    skipBlanks();
    if (load<u8>(at) === COMMA) {
      at++;
      skipBlanks();
    } else if (load<u8>(at) !== CLOSE_BRACKET) return false;
  }
  at++;
  for (let tag = tags; tag < end; tag += TAG_SIZE) {
    if (tag > tags) put(COMMA);
    const size: usize = load<u32>(tag + TAG_BYTES);
    copy(to, load<u32>(tag + TAG_START), size);
    to += size;
  }
  put(CLOSE_BRACKET);
  return true;
}

/** Puts a tag at its place among those that end at `end`, unless it is there: where they end then. */
function addTag(start: usize, size: usize, end: usize): usize {
  const rank = rankOf(start + 1, size - 2);
  let place = end;
  while (place > tags && load<u64>(place - TAG_SIZE + TAG_RANK) > rank) place -= TAG_SIZE;
  for (let same = place; same > tags && load<u64>(same - TAG_SIZE + TAG_RANK) === rank; same -= TAG_SIZE) {
    const other: usize = load<u32>(same - TAG_SIZE + TAG_START);
    if (load<u32>(same - TAG_SIZE + TAG_BYTES) === u32(size) && areEqual(other, start, size)) return end;
  }
  for (let tag = end; tag > place; tag -= TAG_SIZE) v128.store(tag, v128.load(tag - TAG_SIZE));
  store<u64>(place + TAG_RANK, rank);
  store<u32>(place + TAG_START, u32(start));
  store<u32>(place + TAG_BYTES, u32(size));
  return end + TAG_SIZE;
}

/** store/tag-rank.ts. */
function rankOf(start: usize, size: usize): u64 {
  let code: u32 = 0;
  for (let i = start; i < start + size; i++) code = code * 31 + load<u8>(i);
  let mixed = code === 0 ? 0 : murmur3(code);
  let rank: u64 = 0;
  for (let group = 0; group < 7; group++) {
    rank = rank * 32 + (mixed & 31);
    mixed >>= 5;
  }
  return rank;
}

function murmur3(input: u32): u32 {
  const k = rotl<u32>(input * 0xcc9e2d51, 15) * 0x1b873593;
  let h = rotl<u32>(k, 13) * 5 + 0xe6546b64;
  h ^= 4;
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  return h ^ (h >> 16);
}
