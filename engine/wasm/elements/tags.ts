// The tags of a resource: distinct ones in the order of PuppetDB's set (ingest/command/hashes.ts, tagOrder), from a list of strings without escapes.

import { CLOSE_BRACKET, COMMA, OPEN_BRACKET, QUOTE } from '../common/characters';
import { areEqual, copy } from '../common/memory';
import { plainStringEnd, skipAllBlanks } from '../common/tokens';
import { isMark, MARK_SIZE } from './mark';

/** As a word. */
export const TAGS_KEY: u32 = 0x73676174;

// A tag: its rank in the set (store/records/tag-rank.ts), its literal.
const TAG_RANK: usize = 0;
const TAG_START: usize = 8;
const TAG_BYTES: usize = 12;
const TAG_SIZE: usize = 16;
const TAGS_MAX: usize = 128;
export const TAGS_SIZE: usize = (TAGS_MAX + 1) * TAG_SIZE;

let tags: usize = 0;
let tagsEnd: usize = 0;
/** The literal that takes the place of marks. */
let name: usize = 0;
let nameSize: usize = 0;
let leavesNameOut: bool = false;
let isNamed: bool = false;

/** A region of TAGS_SIZE; where the name's literal lies. */
export function layOutTags(start: usize, literal: usize): void {
  tags = start;
  name = literal;
}

/** For the tags of another resource. `literalSize`: of the name, 0: marks are unusual. */
export function beginTags(literalSize: usize, leavesOut: bool): void {
  nameSize = literalSize;
  leavesNameOut = leavesOut;
  isNamed = false;
  tagsEnd = tags;
}

/** Whether the name was among the tags that were read, also where it is left out. */
export function isNameTag(): bool {
  return isNamed;
}

/** Behind the list that begins there; 0 when something in it is unusual, or it is none. */
export function readTags(start: usize): usize {
  if (load<u8>(start) !== OPEN_BRACKET) return 0;
  let at = skipAllBlanks(start + 1);
  if (load<u8>(at) === CLOSE_BRACKET) return at + 1;
  while (true) {
    if (tagsEnd === tags + TAGS_MAX * TAG_SIZE || load<u8>(at) !== QUOTE) return 0;
    const isName = isMark(at);
    const tag = isName ? name : at;
    at = isName ? at + MARK_SIZE : plainStringEnd(at);
    const size = isName ? nameSize : at - tag;
    if (at === 0 || size === 0) return 0;
    if (isName) isNamed = true;
    if (!isName || !leavesNameOut) addTag(tag, size);
    at = skipAllBlanks(at);
    const code = load<u8>(at);
    if (code === CLOSE_BRACKET) return at + 1;
    if (code !== COMMA) return 0;
    at = skipAllBlanks(at + 1);
  }
}

/** Writes the list: the place behind it. */
export function putTags(start: usize): usize {
  let to = start;
  store<u8>(to++, OPEN_BRACKET);
  for (let tag = tags; tag < tagsEnd; tag += TAG_SIZE) {
    if (tag > tags) store<u8>(to++, COMMA);
    const size: usize = load<u32>(tag + TAG_BYTES);
    copy(to, load<u32>(tag + TAG_START), size);
    to += size;
  }
  store<u8>(to, CLOSE_BRACKET);
  return to + 1;
}

/** Puts a tag at its place, unless it is there. */
function addTag(start: usize, size: usize): void {
  const rank = rankOf(start + 1, size - 2);
  let place = tagsEnd;
  while (place > tags && load<u64>(place - TAG_SIZE + TAG_RANK) > rank) place -= TAG_SIZE;
  for (let same = place; same > tags && load<u64>(same - TAG_SIZE + TAG_RANK) === rank; same -= TAG_SIZE) {
    const other: usize = load<u32>(same - TAG_SIZE + TAG_START);
    if (load<u32>(same - TAG_SIZE + TAG_BYTES) === u32(size) && areEqual(other, start, size)) return;
  }
  for (let tag = tagsEnd; tag > place; tag -= TAG_SIZE) v128.store(tag, v128.load(tag - TAG_SIZE));
  store<u64>(place + TAG_RANK, rank);
  store<u32>(place + TAG_START, u32(start));
  store<u32>(place + TAG_BYTES, u32(size));
  tagsEnd += TAG_SIZE;
}

/** `setRank` of engine/clojure.ts. */
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
