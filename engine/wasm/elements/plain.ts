// JSON values written again without blanks and with the keys of maps in order, from a text that needs no values for that: strings without
// escapes by number, integers and decimals that are spelled alike everywhere, ASCII keys. What is no JSON is told from what is.
//
//   memory    members of maps | a text | another one | room to put members in order

import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  LETTER_N,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
} from '../common/characters';
import { copy, SLACK, sharedSize } from '../common/memory';
import {
  booleanEnd,
  copyToStop,
  integerEnd,
  isDigit,
  isShortEscape,
  NULL_WORD,
  plainDecimalEnd,
  skipAllBlanks,
} from '../common/tokens';
import { isMark, MARK_CODE, MARK_SIZE } from './mark';
import { putTags, readTags, TAGS_KEY } from './tags';

// Orders of keys: that of their bytes, where keys with a slash, which order K puts elsewhere, are unusual; that of their bytes; shorter ones
// first, then that of their bytes (json/canonical.ts, json/stored.ts).
export const ORDER_K: i32 = 0;
export const ORDER_S: i32 = 1;
export const ORDER_STORED: i32 = 2;

// A member of a map: its key where it is read, key and value where they are written.
export const KEY_START: usize = 0;
export const KEY_BYTES: usize = 4;
export const MEMBER_START: usize = 8;
export const MEMBER_END: usize = 12;
export const MEMBER_SIZE: usize = 16;
/** More are not put in order here. */
const MEMBERS_MAX: usize = 256;

const DEPTH_MAX: i32 = 32;

let members: usize = 0;
let text: usize = 0;
let other: usize = 0;
let spare: usize = 0;
/** Of each of them. */
let room: usize = 0;
let memberEnd: usize = 0;
/** The literal that takes the place of marks. */
let name: usize = 0;
let nameSize: usize = 0;
let order: i32 = 0;
/** Where the next value is read and written. */
let at: usize = 0;
let to: usize = 0;

/** The region between these addresses is for what is written from now on; `literal`: where the name's lies. */
export function layOut(start: usize, limit: usize, literal: usize): void {
  room = (((limit - start) >> 2) >> 4) << 4;
  members = start;
  text = members + room;
  other = text + room;
  spare = other + room;
  name = literal;
}

/** Where the text of an element is to be written. */
export function textStart(): usize {
  return text;
}

/** Where another text of the same size can be. */
export function otherStart(): usize {
  return other;
}

/** Whether there is room for the text of an element of so many bytes, in which each mark may become a name. */
export function isRoomFor(size: usize, literalSize: usize): bool {
  return (size / MARK_SIZE + 1) * max(MARK_SIZE, literalSize) + SLACK * 4 <= room;
}

/** Reading begins at `from` and writing at `target`; `literalSize`: of the name, 0: marks are unusual. */
export function begin(from: usize, target: usize, keyOrder: i32, literalSize: usize): void {
  at = from;
  to = target;
  order = keyOrder;
  nameSize = literalSize;
  memberEnd = members;
}

/** Behind what was read. */
export function readTo(): usize {
  return at;
}

/** Behind what was written. */
export function writtenTo(): usize {
  return to;
}

/** Of the map that was written with its members left where they are noted: the first one, and behind the last one. */
export function firstMember(): usize {
  return members;
}

export function lastMember(): usize {
  return memberEnd;
}

export function isAscii(start: usize, end: usize): bool {
  let at = start;
  for (; at + 16 <= end; at += 16) if (i8x16.bitmask(v128.load(at)) !== 0) return false;
  for (; at < end; at++) if (load<u8>(at) >= 0x80) return false;
  return true;
}

function skipBlanks(): void {
  at = skipAllBlanks(at);
}

/** Copies what comes next, if it is that. */
function pass(code: u8): bool {
  if (load<u8>(at) !== code) return false;
  at++;
  store<u8>(to++, code);
  return true;
}

/** Each of these: false when what is there is unusual or no JSON. `depth`: how many containers enclose it. */
export function writeValue(depth: i32): bool {
  const code = load<u8>(at);
  if (code === QUOTE) return writeString();
  if (code === OPEN_BRACE) return writeMap(depth, false);
  if (code === OPEN_BRACKET) return writeList(depth);
  if (code === MINUS || isDigit(code)) {
    const end = integerEnd(at);
    return writeToken(end !== 0 ? end : plainDecimalEnd(at));
  }
  if (code === LETTER_N) return writeToken(load<u32>(at) === NULL_WORD ? at + 4 : 0);
  return writeToken(booleanEnd(at));
}

function writeToken(end: usize): bool {
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
  if (!pass(QUOTE)) return false;
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
    if (!isShortEscape(escaped)) return false;
    store<u8>(to + 1, escaped);
    at += 2;
    to += 2;
  }
}

function writeList(depth: i32): bool {
  if (depth > DEPTH_MAX) return false;
  pass(OPEN_BRACKET);
  skipBlanks();
  if (pass(CLOSE_BRACKET)) return true;
  while (true) {
    skipBlanks();
    if (!writeValue(depth + 1)) return false;
    skipBlanks();
    if (pass(COMMA)) continue;
    return pass(CLOSE_BRACKET);
  }
}

/** `isResource`: its tags are put in order, and its members stay where they are noted. */
export function writeMap(depth: i32, isResource: bool): bool {
  if (depth > DEPTH_MAX) return false;
  const first = memberEnd;
  let isInOrder = true;
  if (!pass(OPEN_BRACE)) return false;
  const body = to;
  skipBlanks();
  if (pass(CLOSE_BRACE)) return true;
  while (true) {
    if (memberEnd + MEMBER_SIZE > text) return false;
    const member = memberEnd;
    memberEnd += MEMBER_SIZE;
    skipBlanks();
    if (!writeMember(member, depth, isResource)) return false;
    if (member > first) {
      const order = compare(member - MEMBER_SIZE, member);
      if (order === 0) return false;
      if (order > 0) isInOrder = false;
    }
    skipBlanks();
    if (load<u8>(at) !== COMMA) break;
    pass(COMMA);
  }
  if (!isInOrder && !sortMembers(first, body)) return false;
  if (!isResource) memberEnd = first;
  return pass(CLOSE_BRACE);
}

function writeMember(member: usize, depth: i32, isResource: bool): bool {
  store<u32>(member + MEMBER_START, u32(to));
  if (!noteKey(member)) return false;
  if (isResource && isTags(member)) {
    at = readTags(at);
    if (at === 0) return false;
    to = putTags(to);
  } else if (!writeValue(depth + 1)) return false;
  store<u32>(member + MEMBER_END, u32(to));
  return true;
}

/** Writes a key with its colon and notes it. */
function noteKey(member: usize): bool {
  const start = at + 1;
  store<u32>(member + KEY_START, u32(start));
  if (!writeKey()) return false;
  // It is written as it stands.
  store<u32>(member + KEY_BYTES, u32(to - 3 - load<u32>(member + MEMBER_START)));
  return true;
}

/** Writes a key with its colon, if it has no escapes, and no slash where that has a place of its own. */
export function writeKey(): bool {
  const start = at + 1;
  if (!writeString()) return false;
  for (let i = start; i < at; i++) {
    const code = load<u8>(i);
    if (code === BACKSLASH || code === MARK_CODE || (code === SLASH && order === ORDER_K)) return false;
  }
  skipBlanks();
  if (!pass(COLON)) return false;
  skipBlanks();
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
  const sizes = i32(size) - i32(otherSize);
  if (order === ORDER_STORED && sizes !== 0) return sizes;
  const most = min(size, otherSize);
  const shared = sharedSize(start, other, most);
  return shared < most ? i32(load<u8>(start + shared)) - i32(load<u8>(other + shared)) : sizes;
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
