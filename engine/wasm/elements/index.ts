// AssemblyScript, not TypeScript: compiled to WebAssembly by build.mjs. The inner loop of ingest/known/elements.ts, which says what it does:
// the elements of a list or map are told apart and looked for among those that are remembered.
//
//   memory    the name | buckets of two generations | their texts | what was found | a window of the list, zeros | its elements |
//             resources
//
// Everything is an address; the host lays out the regions.

import { BACKSLASH, COMMA, QUOTE } from '../common/characters';
import { areEqual, copy, hashOf, SLACK } from '../common/memory';
import { copyToStop, isBlank, skipAllBlanks } from '../common/tokens';
import { writeFact } from './fact';
import { MARK_SIZE, putMark } from './mark';
import { beginResources, resourceResult, writeResource } from './resource';

export { otherStart, textStart } from './plain';
export { resourceResult, writeParameters } from './resource';

// A remembered element: its hash, what remembering it takes, its number in the host, the next one of its bucket, the one that came behind
// it last time (0: none; both of the same generation), how often it names the node and where in the text first, its strings, its text.
const HASH: usize = 0;
const COST: usize = 8;
const NUMBER: usize = 12;
const NEXT: usize = 16;
const FOLLOWER: usize = 20;
const NAMED: usize = 24;
const NAME_AT: usize = 28;
const SIZE: usize = 32;
/** Which strings it has, once somebody asked: a bit for each, by its hash. */
const IS_NOTED: usize = 36;
const STRINGS: usize = 40;
const STRING_BITS: u32 = 512;
const TEXT: usize = STRINGS + STRING_BITS / 8;

/** What is found of an element: where its text lies, its bytes, its number, the number it had before, how often it names the
 * node, where first, its hash. */
const FOUND_SIZE: i32 = 32;
const FOUND_START: usize = 0;
const FOUND_BYTES: usize = 4;
const FOUND_NUMBER: usize = 8;
const FOUND_BEFORE: usize = 12;
const FOUND_NAMES: usize = 16;
const FOUND_NAME_AT: usize = 20;
const FOUND_HASH: usize = 24;
/** For a number: there is none. */
const NONE: i32 = -1;

const BUCKETS: u32 = 1 << 14;

/** `{` and, with the case bit set, `[`; likewise for the closing ones. */
const OPEN: u8 = 0x7b;
const CLOSE: u8 = 0x7d;
const CASE: u8 = 0x20;

// A generation: its buckets, where its elements begin, end, and must end, how many there are, what they take.
const FIRST_GENERATION: usize = 64;
const SECOND_GENERATION: usize = 96;
const G_BUCKETS: usize = 0;
const G_START: usize = 4;
const G_END: usize = 8;
const G_LIMIT: usize = 12;
const G_COUNT: usize = 16;
const G_COST: usize = 20;

/** What no client can foresee. */
let seed: u64 = 0;
/** Those that were used lately, and those before. */
let young: usize = FIRST_GENERATION;
let old: usize = SECOND_GENERATION;

let window: usize = 0;
let elements: usize = 0;
let found: usize = 0;
let foundMax: i32 = 0;
/** What stands for the certname in JSON; empty: nothing does. */
let name: usize = 0;
let nameSize: usize = 0;
/** The first eight of its bytes, as far as there are so many. */
let nameHead: u64 = 0;
let headMask: u64 = 0;
/** Its bit among the strings of an element. */
let nameBit: u32 = 0;
/** It is of ASCII characters without escapes. */
let isPlainName: bool = false;

/** Where reading goes on, where the text of the element that was read last begins and ends, and where the next one goes. */
let next: usize = 0;
let start: usize = 0;
let textEnd: usize = 0;
let written: usize = 0;
/** How often the element that was read last names the node, and where in its text first. */
let names: u32 = 0;
let nameAt: u32 = 0;

// Lists of one role repeat not only elements but their order, so an element remembers what came behind it: where the list goes on with
// that, one comparison finds the element, without a scan for its end and a hash of its text.

/** The young element that was read last, 0 if it was none; what followed the first element of lists last time is its follower. */
let before: usize = 0;
const HEAD: usize = 128;
/** What may come next; behind something new what would have come one further, too. */
let expected: usize = 0;
let further: usize = 0;
/** No bytes behind the window could make it an element. */
let isBroken: bool = false;
/** How many elements the last walk has looked for. */
let noted: i32 = 0;

/** Takes over the regions that the host laid out; each generation gets half of the one for texts. */
export function begin(
  seedLow: u32,
  seedHigh: u32,
  nameStart: usize,
  buckets: usize,
  texts: usize,
  textsLimit: usize,
  windowStart: usize,
  elementsStart: usize,
  foundStart: usize,
  foundLimit: usize,
  resources: usize,
  resourcesLimit: usize,
): void {
  seed = u64(seedLow) | (u64(seedHigh) << 32);
  name = nameStart;
  const half = texts + ((((textsLimit - texts) >> 1) >> 3) << 3);
  layOut(young, buckets, texts, half);
  layOut(old, buckets + BUCKETS * 4, half, textsLimit);
  window = windowStart;
  elements = elementsStart;
  found = foundStart;
  beginResources(resources, resourcesLimit, name);
  foundMax = i32((foundLimit - foundStart) / usize(FOUND_SIZE));
}

function layOut(generation: usize, buckets: usize, start: usize, limit: usize): void {
  store<u32>(generation + G_BUCKETS, u32(buckets));
  store<u32>(generation + G_START, u32(start));
  store<u32>(generation + G_LIMIT, u32(limit));
  clear(generation);
}

function clear(generation: usize): void {
  store<u32>(generation + G_END, load<u32>(generation + G_START));
  store<u32>(generation + G_COUNT, 0);
  store<u32>(generation + G_COST, 0);
  memory.fill(load<u32>(generation + G_BUCKETS), 0, BUCKETS * 4);
}

/** The name, so many bytes, lies where the host said. One that is shorter than the mark, `""`, has none: texts would be longer than the list. */
export function setName(literalSize: usize): void {
  const size: usize = literalSize < MARK_SIZE ? 0 : literalSize;
  nameSize = size;
  headMask = size >= 8 ? u64.MAX_VALUE : (u64(1) << (u64(size) << 3)) - 1;
  nameHead = load<u64>(name) & headMask;
  nameBit = bitOf(name, size);
  isPlainName = true;
  for (let i: usize = 0; i < size; i++) {
    if (load<u8>(name + i) === BACKSLASH || load<u8>(name + i) >= 0x80) isPlainName = false;
  }
}

/** What the young elements take, as the host counts it. */
export function cost(): u32 {
  return load<u32>(young + G_COST);
}

/** Forgets the old elements; the young ones are the old ones from now on. */
export function age(): void {
  const gone = old;
  old = young;
  young = gone;
  clear(young);
  store<u32>(HEAD + FOLLOWER, 0);
}

/** A list begins. */
export function beginList(): void {
  before = HEAD;
  expected = load<u32>(HEAD + FOLLOWER);
  further = 0;
}

/**
 * Reads the elements of the window's first `size` bytes that end in them, as many as there is room for: how many, or NONE where
 * brackets or quotes do not match, or one is empty. `isLast`: the list ends there, too.
 */
export function walk(size: usize, isLast: bool): i32 {
  const last = window + size;
  next = window;
  written = elements;
  noted = 0;
  while (noted < foundMax) {
    const known = elementAt(next, last, isLast);
    const end = known !== 0 ? next + sizeHere(known) : readElement(next, last);
    if (end === 0) return isLast || isBroken ? NONE : noted;
    if (end === last && !isLast) return noted;
    const to = found + noted * FOUND_SIZE;
    if (known !== 0) noteKnown(to, known, NONE);
    else if (!noteRead(to)) return NONE;
    noted++;
    next = end + 1;
    if (end === last) break;
  }
  return noted;
}

/** The expected element that is here, 0 when it is another. */
function elementAt(at: usize, last: usize, isLast: bool): usize {
  if (further !== 0 && isHere(further, at, last, isLast)) return further;
  return expected !== 0 && isHere(expected, at, last, isLast) ? expected : 0;
}

/** Bytes of a remembered element in this list. */
function sizeHere(entry: usize): usize {
  const size: usize = load<u32>(entry + SIZE);
  return load<u32>(entry + NAMED) === 0 ? size : size - MARK_SIZE + nameSize;
}

function isHere(entry: usize, at: usize, last: usize, isLast: bool): bool {
  const named = load<u32>(entry + NAMED);
  if (named > 1) return false;
  const end = at + sizeHere(entry);
  if (end < last ? load<u8>(end) !== COMMA : end !== last || !isLast) return false;
  const text = entry + TEXT;
  if (named === 0) {
    if (!areEqual(text, at, load<u32>(entry + SIZE))) return false;
  } else {
    const head: usize = load<u32>(entry + NAME_AT);
    const behind = head + MARK_SIZE;
    if (!areEqual(text, at, head) || !isName(at + head, last)) return false;
    if (!areEqual(text + behind, at + head + nameSize, usize(load<u32>(entry + SIZE)) - behind)) return false;
  }
  // What another node sends as any string may be the name here.
  return nameSize === 0 || !mayHave(entry, nameBit);
}

/** How many elements were looked for, also where the walk has come to nothing: some may have another number. */
export function lookedFor(): i32 {
  return noted;
}

/** How far into the window reading goes on: one behind what was there when the list has been read. */
export function place(): usize {
  return next - window;
}

/**
 * Copies the element at `from` to `written`, with marks for the name: where it ends (at its comma, or at `last`), or 0 when it does not.
 */
function readElement(from: usize, last: usize): usize {
  names = 0;
  nameAt = 0;
  isBroken = false;
  // What comes behind the window is none.
  let at = skipAllBlanks(from);
  let to = written;
  let depth = 0;
  while (at < last) {
    const code = load<u8>(at);
    if (code === QUOTE) {
      if (isName(at, last)) {
        if (names++ === 0) nameAt = u32(to - written);
        putMark(to);
        to += MARK_SIZE;
        at += nameSize;
        continue;
      }
      const end = copyString(at, last, to);
      if (end === 0) return 0;
      to += end - at;
      at = end;
      continue;
    }
    if (code === COMMA && depth === 0) break;
    if ((code | CASE) === OPEN) depth++;
    else if ((code | CASE) === CLOSE && --depth < 0) {
      isBroken = true;
      return 0;
    }
    store<u8>(to++, code);
    at++;
  }
  if (depth !== 0) return 0;
  start = written;
  textEnd = to;
  // Ends a number.
  store<u8>(to, 0);
  written = to + 1;
  return at;
}

function isName(at: usize, last: usize): bool {
  if (nameSize === 0 || (load<u64>(at) & headMask) !== nameHead) return false;
  return at + nameSize <= last && areEqual(at, name, nameSize);
}

/** Copies the string at `start`: where it ends, or 0. */
function copyString(start: usize, last: usize, target: usize): usize {
  store<u8>(target, QUOTE);
  let at = start + 1;
  let to = target + 1;
  while (true) {
    const size = copyToStop(to, at);
    at += size;
    to += size;
    if (at >= last) return 0;
    const code = load<u8>(at);
    if (code === QUOTE) return at + 1;
    if (code !== BACKSLASH) {
      isBroken = true;
      return 0;
    }
    store<u8>(to + 1, load<u8>(at + 1));
    at += 2;
    to += 2;
  }
}

/** Looks for the element that was read last and notes what was found; false: it is empty. */
function noteRead(to: usize): bool {
  let size = textEnd - start;
  while (size > 0 && isBlank(load<u8>(start + size - 1))) size--;
  if (size === 0) return false;
  const hash = hashOf(start, size, seed);
  store<u32>(to + FOUND_START, u32(start));
  store<u32>(to + FOUND_BYTES, u32(size));
  store<u32>(to + FOUND_NAMES, names);
  store<u64>(to + FOUND_HASH, hash);
  store<u32>(to + FOUND_NAME_AT, nameAt);
  const known = find(young, start, size, hash);
  if (known !== 0) {
    if (before !== 0) store<u32>(before + FOLLOWER, u32(known));
    noteKnown(to, known, NONE);
    return true;
  }
  const forgotten = find(old, start, size, hash);
  const number = forgotten === 0 ? NONE : load<i32>(forgotten + NUMBER);
  const again: usize = forgotten === 0 ? 0 : put(start, size, hash, load<u32>(forgotten + COST), names, nameAt);
  if (again !== 0) {
    if (before !== 0) store<u32>(before + FOLLOWER, u32(again));
    noteKnown(to, again, number);
    return true;
  }
  store<i32>(to + FOUND_NUMBER, NONE);
  store<i32>(to + FOUND_BEFORE, number);
  const passed = further !== 0 ? further : expected;
  further = passed === 0 ? 0 : load<u32>(passed + FOLLOWER);
  before = 0;
  return true;
}

/** `oldNumber`: of an old element that is young again. */
function noteKnown(to: usize, entry: usize, oldNumber: i32): void {
  store<i32>(to + FOUND_NUMBER, load<i32>(entry + NUMBER));
  store<i32>(to + FOUND_BEFORE, oldNumber);
  before = entry;
  expected = load<u32>(entry + FOLLOWER);
  further = 0;
}

function find(generation: usize, start: usize, size: usize, hash: u64): usize {
  let entry: usize = load<u32>(bucketOf(generation, hash));
  for (; entry !== 0; entry = load<u32>(entry + NEXT)) {
    if (load<u64>(entry + HASH) === hash && load<u32>(entry + SIZE) === u32(size)) {
      if (areEqual(entry + TEXT, start, size)) return entry;
    }
  }
  return 0;
}

function bucketOf(generation: usize, hash: u64): usize {
  return load<u32>(generation + G_BUCKETS) + ((u32(hash) & (BUCKETS - 1)) << 2);
}

/** Adds an element to the young ones; 0 where there is no room. */
function put(start: usize, size: usize, hash: u64, cost: u32, named: u32, namedAt: u32): usize {
  const entry: usize = load<u32>(young + G_END);
  const end = (entry + TEXT + size + 7) & ~7;
  if (end + SLACK > load<u32>(young + G_LIMIT)) return 0;
  const number = load<i32>(young + G_COUNT);
  const bucket = bucketOf(young, hash);
  store<u64>(entry + HASH, hash);
  store<u32>(entry + COST, cost);
  store<i32>(entry + NUMBER, number);
  store<u32>(entry + NEXT, load<u32>(bucket));
  store<u32>(entry + FOLLOWER, 0);
  store<u32>(entry + NAMED, named);
  store<u32>(entry + NAME_AT, namedAt);
  store<u32>(entry + SIZE, u32(size));
  store<u32>(entry + IS_NOTED, 0);
  copy(entry + TEXT, start, size);
  store<u32>(bucket, u32(entry));
  store<u32>(young + G_END, u32(end));
  store<i32>(young + G_COUNT, number + 1);
  store<u32>(young + G_COST, load<u32>(young + G_COST) + cost);
  return entry;
}

function bitOf(start: usize, size: usize): u32 {
  return u32(hashOf(start, size, seed)) & (STRING_BITS - 1);
}

/** Whether one of its strings has that bit. */
function mayHave(entry: usize, bit: u32): bool {
  if (load<u32>(entry + IS_NOTED) === 0) noteStrings(entry);
  return ((load<u8>(entry + STRINGS + (bit >> 3)) >> u8(bit & 7)) & 1) !== 0;
}

function noteStrings(entry: usize): void {
  store<u32>(entry + IS_NOTED, 1);
  for (let i: usize = 0; i < STRING_BITS / 8; i += 8) store<u64>(entry + STRINGS + i, 0);
  const end = entry + TEXT + load<u32>(entry + SIZE);
  for (let at = entry + TEXT; at < end; at++) {
    if (load<u8>(at) !== QUOTE) continue;
    const start = at++;
    while (at < end && load<u8>(at) !== QUOTE) at += load<u8>(at) === BACKSLASH ? 2 : 1;
    const bit = bitOf(start, at + 1 - start);
    const to = entry + STRINGS + (bit >> 3);
    store<u8>(to, load<u8>(to) | (u8(1) << u8(bit & 7)));
  }
}

/** Remembers an element of the last walk, of which nothing was found: its number, or NONE where there is no room. */
export function add(index: i32, cost: u32): i32 {
  const at = found + index * FOUND_SIZE;
  const start: usize = load<u32>(at + FOUND_START);
  const size: usize = load<u32>(at + FOUND_BYTES);
  const hash = load<u64>(at + FOUND_HASH);
  const entry = put(start, size, hash, cost, load<u32>(at + FOUND_NAMES), load<u32>(at + FOUND_NAME_AT));
  return entry === 0 ? NONE : load<i32>(entry + NUMBER);
}

/** The number that an element of the last walk has by now, NONE when it has none. */
export function numberOf(index: i32): i32 {
  const at = found + index * FOUND_SIZE;
  const start: usize = load<u32>(at + FOUND_START);
  const size: usize = load<u32>(at + FOUND_BYTES);
  const known = find(young, start, size, load<u64>(at + FOUND_HASH));
  return known === 0 ? NONE : load<i32>(known + NUMBER);
}

/**
 * Writes the canonical text of an element of the last walk that is a resource (resource.ts), perhaps without the name among its tags; false
 * where that is not plain.
 */
export function resource(index: i32, isTagLeftOut: bool): bool {
  const at = found + index * FOUND_SIZE;
  const literalSize = isPlainName ? nameSize : 0;
  return writeResource(load<u32>(at + FOUND_START), load<u32>(at + FOUND_BYTES), literalSize, isTagLeftOut);
}

/** The same of an element that is a fact (fact.ts); what is told stands where that of a resource would. */
export function fact(index: i32): bool {
  const at = found + index * FOUND_SIZE;
  return writeFact(load<u32>(at + FOUND_START), load<u32>(at + FOUND_BYTES), resourceResult());
}
