// The canonical text of a resource (ingest/read/catalog/catalog-resources.ts, json/canonical.ts in order K) from the text of its element, and the text in
// which its parameters are stored, where that needs no values (plain.ts).
//
//   memory    what is told of the result | tags | for plain.ts

import { BACKSLASH, DOT, LETTER_E, LETTER_F, LETTER_N, LETTER_T, NINE, OPEN_BRACE, QUOTE } from '../common/characters';
import {
  begin,
  firstMember,
  isAscii,
  isRoomFor,
  KEY_BYTES,
  KEY_START,
  lastMember,
  layOut,
  MEMBER_END,
  MEMBER_SIZE,
  MEMBER_START,
  ORDER_K,
  ORDER_STORED,
  otherStart,
  readTo,
  textStart,
  writeMap,
  writtenTo,
} from './plain';
import { beginTags, isNameTag, layOutTags, TAGS_KEY, TAGS_SIZE } from './tags';

// What is told: bytes of the text, where in it values begin and end (0 and 0: it has none), bytes of the parameters as they are stored,
// whether the name is among the tags, or was.
const SIZE: usize = 0;
const EXPORTED: usize = 4;
const FILE: usize = 12;
const LINE: usize = 20;
const PARAMETERS: usize = 28;
const TAGS: usize = 36;
const TITLE: usize = 44;
const TYPE: usize = 52;
const STORED_SIZE: usize = 60;
const IS_TAGGED: usize = 64;
const RESULT_SIZE: usize = 72;

/** Keys, and parts of such, as words. */
const FILE_KEY: u32 = 0x656c6966;
const LINE_KEY: u32 = 0x656e696c;
const TYPE_KEY: u32 = 0x65707974;
const TITL: u32 = 0x6c746974;
const EXPO: u32 = 0x6f707865;
const RTED: u32 = 0x64657472;
const PARA: u32 = 0x61726170;
const METE: u32 = 0x6574656d;
const RS: u16 = 0x7372;

let result: usize = 0;

/** The region between these addresses is for resources from now on; `literal`: where the certname's lies. */
export function beginResources(start: usize, limit: usize, literal: usize): void {
  result = start;
  layOutTags(result + RESULT_SIZE, literal);
  layOut(result + RESULT_SIZE + TAGS_SIZE, limit, literal);
}

/** Where it is told what the resource says that was written last. */
export function resourceResult(): usize {
  return result;
}

/**
 * Writes the canonical text of an element, perhaps without the name among its tags; false when it is no JSON, when something in it is
 * unusual, or there is no room.
 */
export function writeResource(start: usize, size: usize, literalSize: usize, isTagLeftOut: bool): bool {
  if (!isRoomFor(size, literalSize)) return false;
  const text = textStart();
  for (let i: usize = 0; i < RESULT_SIZE; i += 8) store<u64>(result + i, 0);
  beginTags(literalSize, isTagLeftOut);
  begin(start, text, ORDER_K, literalSize);
  if (!writeMap(0, true) || readTo() !== start + size) return false;
  const end = writtenTo();
  if (!isAscii(text, end)) return false;
  store<u32>(result + SIZE, u32(end - text));
  const last = lastMember();
  for (let member = firstMember(); member < last; member += MEMBER_SIZE) if (!tell(member, text)) return false;
  store<u32>(result + IS_TAGGED, u32(isNameTag()));
  return load<u32>(result + TAGS) !== 0 && isText(TITLE) && isText(TYPE);
}

/** Tells where the value of a field is; false for a key that is none of a resource's. */
function tell(member: usize, text: usize): bool {
  const key: usize = load<u32>(member + KEY_START);
  const size = load<u32>(member + KEY_BYTES);
  const field = fieldOf(key, size);
  if (field === 0) return false;
  // The value stands behind the key in quotes and a colon.
  store<u32>(result + field, load<u32>(member + MEMBER_START) + size + 3 - u32(text));
  store<u32>(result + field + 4, load<u32>(member + MEMBER_END) - u32(text));
  return true;
}

function fieldOf(key: usize, size: u32): usize {
  const head = load<u32>(key);
  const next = load<u32>(key + 4);
  if (size === 4) {
    if (head === FILE_KEY) return FILE;
    if (head === LINE_KEY) return LINE;
    if (head === TAGS_KEY) return TAGS;
    return head === TYPE_KEY ? TYPE : 0;
  }
  if (size === 5) return head === TITL && load<u8>(key + 4) === LETTER_E ? TITLE : 0;
  if (size === 8) return head === EXPO && next === RTED ? EXPORTED : 0;
  return size === 10 && head === PARA && next === METE && load<u16>(key + 8) === RS ? PARAMETERS : 0;
}

/** The first character of that field, 0 without it. */
function firstOf(field: usize): u8 {
  const start: usize = load<u32>(result + field);
  return start === 0 ? 0 : load<u8>(textStart() + start);
}

function has(field: usize, code: u8): bool {
  const end = textStart() + load<u32>(result + field + 4);
  for (let at = textStart() + load<u32>(result + field); at < end; at++) if (load<u8>(at) === code) return true;
  return false;
}

/** Whether that field is a string without escapes. */
function isText(field: usize): bool {
  return firstOf(field) === QUOTE && !has(field, BACKSLASH);
}

/**
 * Writes the parameters of the resource that was written last as they are stored, if it has any; false when another field cannot be stored as it
 * stands.
 */
export function writeParameters(): bool {
  const exported = firstOf(EXPORTED);
  if (exported !== LETTER_T && exported !== LETTER_F) return false;
  const file = firstOf(FILE);
  if (file !== 0 && file !== QUOTE && file !== LETTER_N) return false;
  const line = firstOf(LINE);
  if (line !== 0 && line !== LETTER_N && (line === QUOTE || line > NINE || has(LINE, DOT))) return false;
  const parameters = firstOf(PARAMETERS);
  if (parameters === 0) return true;
  if (parameters !== OPEN_BRACE) return false;
  begin(textStart() + load<u32>(result + PARAMETERS), otherStart(), ORDER_STORED, 0);
  if (!writeMap(1, false)) return false;
  store<u32>(result + STORED_SIZE, u32(writtenTo() - otherStart()));
  return true;
}
