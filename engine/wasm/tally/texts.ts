// Numbers for texts, as engine/byte-numbers.ts gives them: equal texts get the same number, from 0 on in the order in which they are met.

import { areEqual, copy, hashOf, SLACK } from '../common/memory';
import { enter, grown, NUMBER } from './room';

const SLOTS_FIRST: u32 = 1024;
const BYTES_FIRST: usize = 64 << 10;
const NO_GUESS: u32 = 0xffffffff;

/** What no client can foresee. */
let seed: u64 = 0;
/** How many there are. */
export let textCount: u32 = 0;
/** By number: where its text ends; they lie one behind the other. */
export let textEnds: usize = 0;
export let textBytes: usize = 0;
let bytesRoom: usize = 0;
/** Open addressing: number + 1, or 0 for free. `slots` is a power of two, and there is room for half as many texts. */
let slots: u32 = 0;
let table: usize = 0;
/** By number: the hash of its text, and the number that came next when it was last met + 1, or 0: reports are much alike. */
let hashes: usize = 0;
let following: usize = 0;
let before: u32 = NO_GUESS;

export function setSeed(low: u32, high: u32): void {
  seed = u64(low) | (u64(high) << 32);
}

export function forgetTexts(): void {
  if (slots === 0) {
    slots = SLOTS_FIRST;
    table = grown(0, 0, usize(slots) * NUMBER);
    growColumns(0);
    bytesRoom = BYTES_FIRST;
    textBytes = grown(0, 0, bytesRoom);
  } else {
    memory.fill(table, 0, usize(slots) * NUMBER);
    memory.fill(following, 0, usize(textCount) * NUMBER);
  }
  textCount = 0;
  before = NO_GUESS;
}

/** Room for half as many texts as there are slots. */
function growColumns(used: u32): void {
  const from = usize(used) * NUMBER;
  const size = usize(slots >> 1) * NUMBER;
  textEnds = grown(textEnds, from, size);
  hashes = grown(hashes, from, size);
  following = grown(following, from, size);
}

/** The number of a text. The one that came behind the last text is looked at first. */
export function numberOfText(start: usize, size: usize): u32 {
  let number = before === NO_GUESS ? NO_GUESS : load<u32>(following + usize(before) * NUMBER) - 1;
  if (number === NO_GUESS || !isText(number, start, size)) {
    number = found(start, size);
    if (before !== NO_GUESS) store<u32>(following + usize(before) * NUMBER, number + 1);
  }
  before = number;
  return number;
}

function startOfText(number: u32): usize {
  return number === 0 ? 0 : usize(load<u32>(textEnds + usize(number - 1) * NUMBER));
}

function isText(number: u32, start: usize, size: usize): bool {
  const from = startOfText(number);
  const known = usize(load<u32>(textEnds + usize(number) * NUMBER)) - from;
  return known === size && areEqual(textBytes + from, start, size);
}

function found(start: usize, size: usize): u32 {
  const hash = u32(hashOf(start, size, seed));
  const mask = slots - 1;
  let slot = hash & mask;
  for (; ; slot = (slot + 1) & mask) {
    const entry = load<u32>(table + usize(slot) * NUMBER);
    if (entry === 0) break;
    if (load<u32>(hashes + usize(entry - 1) * NUMBER) === hash && isText(entry - 1, start, size)) return entry - 1;
  }
  return added(start, size, hash, slot);
}

function added(start: usize, size: usize, hash: u32, slot: u32): u32 {
  const number = textCount++;
  const from = startOfText(number);
  const to = from + size;
  if (to + SLACK > bytesRoom) {
    bytesRoom = max(bytesRoom * 2, to + SLACK);
    textBytes = grown(textBytes, from, bytesRoom);
  }
  copy(textBytes + from, start, size);
  store<u32>(table + usize(slot) * NUMBER, number + 1);
  store<u32>(hashes + usize(number) * NUMBER, hash);
  store<u32>(textEnds + usize(number) * NUMBER, u32(to));
  if (textCount * 2 >= slots) growTable();
  return number;
}

function growTable(): void {
  slots *= 2;
  growColumns(textCount);
  table = grown(0, 0, usize(slots) * NUMBER);
  for (let number: u32 = 0; number < textCount; number++) {
    enter(table, slots - 1, load<u32>(hashes + usize(number) * NUMBER), number);
  }
}
