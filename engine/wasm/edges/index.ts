// AssemblyScript, not TypeScript: compiled to WebAssembly by build.mjs. Reads the edges of a catalog as pairs of its resources, and writes
// their canonical text (ingest/read/catalog/edge-kernel.ts).
//
//   relationships   a slot each, in the order of their names: what an edge's text begins with up to the name of its source, its bytes
//   window          a part of the list as it was sent, zeros
//   codes           f64 for each edge: (place of its source * resources + place of its target) * 8 + relationship
//   text            of the edges, each behind a comma

import { CLOSE_BRACE, COLON, COMMA, OPEN_BRACE } from '../common/characters';
import { areEqual, copy, SLACK } from '../common/memory';
import { skipAllBlanks, stringEnd } from '../common/tokens';
import { count, NONE, placeOf, textAt, textSizeAt } from './names';

export { beginNames, indexNames, orderStart, readNames, sortNames } from './names';

const RELATIONSHIP: usize = 64;
const RELATIONSHIP_SIZE: usize = 60;
/** `{"relationship":` and `,"source":` stand around the name of one. */
const BEFORE_NAME: usize = 16;
const BEHIND_NAME: usize = 10;
const CODE: usize = 8;
const CODE_BITS: u64 = 3;
/** `,"target":` by its first eight bytes and what follows them. */
const TARGET_HEAD: u64 = (u64(0x74656772) << 32) | 0x6174222c;
const TARGET_TAIL: u16 = 0x3a22;
const TARGET_SIZE: usize = 10;

// Keys, with their quotes: eight bytes, the long one also by its last eight, the short one by seven.
const SOURCE_KEY: u64 = (u64(0x22656372) << 32) | 0x756f7322;
const TARGET_KEY: u64 = (u64(0x22746567) << 32) | 0x72617422;
const RELATIONSHIP_KEY: u64 = (u64(0x6f697461) << 32) | 0x6c657222;
const RELATIONSHIP_END: u64 = (u64(0x22706968) << 32) | 0x736e6f69;
const RELATIONSHIP_KEY_SIZE: usize = 14;
const TITLE_KEY: u64 = (u64(0x22656c) << 32) | 0x74697422;
const TYPE_KEY: u64 = (u64(0x2265) << 32) | 0x70797422;
const TITLE_KEY_SIZE: usize = 7;
const TYPE_KEY_SIZE: usize = 6;
const LONG_KEY_SIZE: usize = 8;

const HAS_SOURCE: u32 = 1;
const HAS_TARGET: u32 = 2;
const HAS_RELATIONSHIP: u32 = 4;
const HAS_ALL: u32 = 7;

let relationships: usize = 0;
let relationshipCount: u32 = 0;
let window: usize = 0;
let codes: usize = 0;
let codesMax: u32 = 0;
let text: usize = 0;
let textLimit: usize = 0;

export function begin(
  relationshipsStart: usize,
  relationshipsCount: u32,
  windowStart: usize,
  codesStart: usize,
  codesCount: u32,
  textStart: usize,
  textEnd: usize,
): void {
  relationships = relationshipsStart;
  relationshipCount = relationshipsCount;
  window = windowStart;
  codes = codesStart;
  codesMax = codesCount;
  text = textStart;
  textLimit = textEnd - SLACK;
}

/** Bytes of the window that `readEdges` has read; one more than there are once the list has been read. */
export let place: usize = 0;

/**
 * Reads the edges in the window's first `size` bytes, as many as there is room for: how many. Where `place` is not `size` behind the last one,
 * the next one does not end in the window, or is unusual: has further keys, or names no resource. `isLast`: the list ends there, too.
 */
export function readEdges(size: usize, isLast: bool): u32 {
  const last = window + size;
  let read: u32 = 0;
  place = 0;
  while (read < codesMax) {
    const end = edgeEnd(skipAllBlanks(window + place));
    if (end === 0 || end > last) return read;
    const next = skipAllBlanks(end);
    if (next < last ? load<u8>(next) !== COMMA : !isLast) return read;
    store<f64>(codes + usize(read++) * CODE, f64(code));
    place = next + 1 - window;
    if (next === last) return read;
  }
  return read;
}

/** Of the edge that was read last. */
let code: u64 = 0;

/** Behind the edge there; 0: it is unusual. */
function edgeEnd(start: usize): usize {
  if (load<u8>(start) !== OPEN_BRACE) return 0;
  let seen: u32 = 0;
  let source: u32 = 0;
  let target: u32 = 0;
  let at = start;
  do {
    const key = skipAllBlanks(at + 1);
    const head = load<u64>(key);
    let has: u32;
    if (head === SOURCE_KEY) {
      has = HAS_SOURCE;
      at = nameEnd(valueStart(key + LONG_KEY_SIZE));
      source = named;
    } else if (head === TARGET_KEY) {
      has = HAS_TARGET;
      at = nameEnd(valueStart(key + LONG_KEY_SIZE));
      target = named;
    } else if (head === RELATIONSHIP_KEY && load<u64>(key + RELATIONSHIP_KEY_SIZE - 8) === RELATIONSHIP_END) {
      has = HAS_RELATIONSHIP;
      at = relationshipEnd(valueStart(key + RELATIONSHIP_KEY_SIZE));
    } else return 0;
    if (at === 0 || (seen & has) !== 0) return 0;
    seen |= has;
    at = skipAllBlanks(at);
  } while (load<u8>(at) === COMMA);
  if (load<u8>(at) !== CLOSE_BRACE || seen !== HAS_ALL) return 0;
  code = ((u64(source) * u64(count) + u64(target)) << CODE_BITS) | u64(relationship);
  return at + 1;
}

/** Where the value begins behind a key; NO_VALUE: there is no colon. */
function valueStart(keyEnd: usize): usize {
  const at = skipAllBlanks(keyEnd);
  return load<u8>(at) === COLON ? skipAllBlanks(at + 1) : NO_VALUE;
}
/** At the beginning of the memory there are zeros. */
const NO_VALUE: usize = 0;

/** The relationship that was read last, as a number. */
let relationship: u32 = 0;

function relationshipEnd(at: usize): usize {
  for (relationship = 0; relationship < relationshipCount; relationship++) {
    const slot = relationships + usize(relationship) * RELATIONSHIP;
    const size = usize(load<u32>(slot + RELATIONSHIP_SIZE)) - BEFORE_NAME - BEHIND_NAME;
    if (areEqual(at, slot + BEFORE_NAME, size)) return at + size;
  }
  return 0;
}

/** The place of the resource that was named last. */
let named: u32 = 0;

/** Behind the name of a resource, and nothing but that. */
function nameEnd(start: usize): usize {
  if (load<u8>(start) !== OPEN_BRACE) return 0;
  let title: usize = 0;
  let titleEnd: usize = 0;
  let type: usize = 0;
  let typeEnd: usize = 0;
  let at = start;
  for (let part = 0; part < 2; part++) {
    const key = skipAllBlanks(at + 1);
    const head = load<u64>(key);
    if ((head & (u64.MAX_VALUE >> 8)) === TITLE_KEY) {
      title = valueStart(key + TITLE_KEY_SIZE);
      at = titleEnd = stringEnd(title);
    } else if ((head & (u64.MAX_VALUE >> 16)) === TYPE_KEY) {
      type = valueStart(key + TYPE_KEY_SIZE);
      at = typeEnd = stringEnd(type);
    } else return 0;
    if (at === 0) return 0;
    at = skipAllBlanks(at);
    if (load<u8>(at) !== (part === 0 ? COMMA : CLOSE_BRACE)) return 0;
  }
  if (titleEnd === 0 || typeEnd === 0) return 0;
  named = placeOf(title + 1, titleEnd - title - 2, type + 1, typeEnd - type - 2);
  return named === NONE ? 0 : at + 1;
}

/** Bytes of what `writeTexts` has written. */
export let textSize: usize = 0;

/** Writes the texts of edges from the given one on, of so many codes: before which of them it ends, as there is no more room. */
export function writeTexts(from: u32, codeCount: u32): u32 {
  let to = text;
  let index = from;
  for (; index < codeCount; index++) {
    const code = u64(load<f64>(codes + usize(index) * CODE));
    const pair = code >> CODE_BITS;
    const source = u32(pair / count);
    const target = u32(pair % count);
    const slot = relationships + usize(code & ((1 << CODE_BITS) - 1)) * RELATIONSHIP;
    const headSize = usize(load<u32>(slot + RELATIONSHIP_SIZE));
    const sourceSize = textSizeAt(source);
    const targetSize = textSizeAt(target);
    if (to + headSize + sourceSize + TARGET_SIZE + targetSize + 2 > textLimit) break;
    store<u8>(to++, COMMA);
    copy(to, slot, headSize);
    to += headSize;
    copy(to, textAt(source), sourceSize);
    to += sourceSize;
    store<u64>(to, TARGET_HEAD);
    store<u16>(to + 8, TARGET_TAIL);
    to += TARGET_SIZE;
    copy(to, textAt(target), targetSize);
    to += targetSize;
    store<u8>(to++, CLOSE_BRACE);
  }
  textSize = to - text;
  return index;
}
