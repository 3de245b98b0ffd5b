// Names of resources: told apart, put in order, and found by their texts.
//
//   name     where it lies, bytes of its title, bytes of its type: u32 each; the texts as canonical JSON spells them
//   order    u32 for each place: the name that stands there, by title, then type
//   heads    u64 for each name: the first bytes of its title, as a number that grows with them
//   table    for each slot the place + 1 of a name (u32; 0: none), and half of its hash

import { areEqual, hashOf, mixed, sharedSize } from '../common/memory';
import { plainStringEnd, stringEnd } from '../common/tokens';

const NUMBER: usize = 4;
const NAME: usize = 12;
const TITLE_SIZE: usize = 4;
const TYPE_SIZE: usize = 8;
const HEAD: usize = 8;
const SLOT: usize = 8;
const SLOT_HASH: usize = 4;

// What stands before the title, and between it and the type: eight bytes, and two.
const TITLE_KEY: u64 = (u64(0x22656c74) << 32) | 0x6974227b;
const TYPE_KEY: u64 = (u64(0x22657079) << 32) | 0x74222c22;
const KEY_END: u16 = 0x223a;
const KEY_SIZE: usize = 10;
/** What stands behind the type. */
const TAIL_SIZE: usize = 2;
/** Longer ones are left to the way over values. */
const NAME_MAX: usize = 16 << 10;

/** What names are: not of that form, in it with escapes, without. */
const UNUSUAL: i32 = 0;
const ESCAPED: i32 = 1;
const PLAIN: i32 = 2;

export let count: u32 = 0;
/** What no client can foresee. */
let seed: u64 = 0;
let names: usize = 0;
let order: usize = 0;
let spare: usize = 0;
let heads: usize = 0;
let table: usize = 0;
let slotMask: u32 = 0;
let form: i32 = UNUSUAL;

/** Where the host laid out the regions, of which the table's slots, a power of two, are more than the names. */
export function beginNames(
  seedLow: u32,
  seedHigh: u32,
  nameCount: u32,
  namesStart: usize,
  orderStart: usize,
  spareStart: usize,
  headsStart: usize,
  tableStart: usize,
  slots: u32,
): void {
  seed = u64(seedLow) | (u64(seedHigh) << 32);
  count = nameCount;
  names = namesStart;
  order = orderStart;
  spare = spareStart;
  heads = headsStart;
  table = tableStart;
  slotMask = slots - 1;
}

/** Tells the names apart, whose texts lie one behind the other: what all of them are. */
export function readNames(start: usize, end: usize): i32 {
  form = PLAIN;
  let at = start;
  for (let i: u32 = 0; i < count; i++) {
    const titleEnd = valueEnd(at, TITLE_KEY);
    if (titleEnd === 0) return UNUSUAL;
    const typeEnd = valueEnd(titleEnd, TYPE_KEY);
    if (typeEnd === 0) return UNUSUAL;
    const next = typeEnd + TAIL_SIZE;
    if (next > end || next - at > NAME_MAX) return UNUSUAL;
    const name = nameAt(i);
    store<u32>(name, u32(at));
    store<u32>(name + TITLE_SIZE, u32(titleEnd - at - KEY_SIZE));
    store<u32>(name + TYPE_SIZE, u32(typeEnd - titleEnd - KEY_SIZE));
    at = next;
  }
  return at === end ? form : UNUSUAL;
}

/** Where the string ends that stands behind the key; 0: it is another, or no string. */
function valueEnd(at: usize, key: u64): usize {
  if (load<u64>(at) !== key || load<u16>(at + 8) !== KEY_END) return 0;
  const start = at + KEY_SIZE - 1;
  const end = plainStringEnd(start);
  if (end !== 0) return end - 1;
  form = ESCAPED;
  const other = stringEnd(start);
  return other === 0 ? 0 : other - 1;
}

function nameAt(number: u32): usize {
  return names + usize(number) * NAME;
}
function titleSize(name: usize): usize {
  return load<u32>(name + TITLE_SIZE);
}
function titleOf(name: usize): usize {
  return usize(load<u32>(name)) + KEY_SIZE;
}
function typeSize(name: usize): usize {
  return load<u32>(name + TYPE_SIZE);
}
function typeOf(name: usize): usize {
  return titleOf(name) + titleSize(name) + KEY_SIZE;
}

/** The name at a place of the order. */
function placed(place: u32): usize {
  return nameAt(numberAt(order, place));
}

/** Text of the name at a place, and its bytes. */
export function textAt(place: u32): usize {
  return load<u32>(placed(place));
}
export function textSizeAt(place: u32): usize {
  const name = placed(place);
  return typeOf(name) + typeSize(name) + TAIL_SIZE - load<u32>(name);
}

/** Puts the names in order: ASCII only, without escapes. Merges runs that are twice as long each time. */
export function sortNames(): void {
  for (let i: u32 = 0; i < count; i++) {
    store<u32>(order + usize(i) * NUMBER, i);
    store<u64>(heads + usize(i) * HEAD, headOf(nameAt(i)));
  }
  let from = order;
  let to = spare;
  for (let run: u32 = 1; run < count; run <<= 1) {
    for (let start: u32 = 0; start < count; start += run << 1) {
      merge(from, to, start, min(start + run, count), min(start + (run << 1), count));
    }
    const turned = from;
    from = to;
    to = turned;
  }
  order = from;
  spare = to;
}

function headOf(name: usize): u64 {
  const size = titleSize(name);
  if (size === 0) return 0;
  const head = bswap(load<u64>(titleOf(name)));
  return size >= HEAD ? head : head & ~(u64.MAX_VALUE >> (u64(size) << 3));
}

function merge(from: usize, to: usize, start: u32, middle: u32, end: u32): void {
  let a = start;
  let b = middle;
  for (let i = start; i < end; i++) {
    const takesA = b >= end || (a < middle && compare(numberAt(from, a), numberAt(from, b)) <= 0);
    store<u32>(to + usize(i) * NUMBER, takesA ? numberAt(from, a++) : numberAt(from, b++));
  }
}

function numberAt(list: usize, index: u32): u32 {
  return load<u32>(list + usize(index) * NUMBER);
}

function compare(a: u32, b: u32): i32 {
  const headA = load<u64>(heads + usize(a) * HEAD);
  const headB = load<u64>(heads + usize(b) * HEAD);
  if (headA !== headB) return headA < headB ? -1 : 1;
  const nameA = nameAt(a);
  const nameB = nameAt(b);
  const titles = compareTexts(titleOf(nameA), titleSize(nameA), titleOf(nameB), titleSize(nameB));
  return titles !== 0 ? titles : compareTexts(typeOf(nameA), typeSize(nameA), typeOf(nameB), typeSize(nameB));
}

function compareTexts(a: usize, aSize: usize, b: usize, bSize: usize): i32 {
  const most = min(aSize, bSize);
  const shared = sharedSize(a, b, most);
  return shared < most ? i32(load<u8>(a + shared)) - i32(load<u8>(b + shared)) : i32(aSize) - i32(bSize);
}

/** Where the order lies; a host that sorts writes it there. */
export function orderStart(): usize {
  return order;
}

/** From now on names are found by their texts; false: two are the same. */
export function indexNames(): bool {
  memory.fill(table, 0, (usize(slotMask) + 1) * SLOT);
  for (let place: u32 = 0; place < count; place++) {
    const name = placed(place);
    if (placeOf(titleOf(name), titleSize(name), typeOf(name), typeSize(name)) !== NONE) return false;
    store<u32>(slot, place + 1);
    store<u32>(slot + SLOT_HASH, slotHash);
  }
  return true;
}

/** For a place: there is none. */
export const NONE: u32 = 0xffffffff;
/** Of the name that was looked for last: where it stands, or would. */
let slot: usize = 0;
let slotHash: u32 = 0;

/** The place of the name of those texts. */
export function placeOf(title: usize, titleBytes: usize, type: usize, typeBytes: usize): u32 {
  const hash = mixed(hashOf(title, titleBytes, seed), hashOf(type, typeBytes, seed));
  slotHash = u32(hash >> 32);
  let index = u32(hash) & slotMask;
  while (true) {
    slot = table + usize(index) * SLOT;
    const found = load<u32>(slot);
    if (found === 0) return NONE;
    if (load<u32>(slot + SLOT_HASH) === slotHash && isNamed(placed(found - 1), title, titleBytes, type, typeBytes))
      return found - 1;
    index = (index + 1) & slotMask;
  }
}

function isNamed(name: usize, title: usize, titleBytes: usize, type: usize, typeBytes: usize): bool {
  if (titleSize(name) !== titleBytes || typeSize(name) !== typeBytes) return false;
  return areEqual(titleOf(name), title, titleBytes) && areEqual(typeOf(name), type, typeBytes);
}
