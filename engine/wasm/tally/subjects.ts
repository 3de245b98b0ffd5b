// What events are counted by, and their counts: subjects are pairs of numbers of texts, in the order in which they are met.

import { mixed } from '../common/memory';
import { enter, grown, NUMBER } from './room';

const SLOTS_FIRST: u32 = 1024;

/** How many there are. */
export let subjectCount: u32 = 0;
/** By subject: both numbers, and its counts, `kinds` of them. */
export let subjectTexts: usize = 0;
export let subjectCounts: usize = 0;
let kinds: u32 = 0;
/** Open addressing, as for texts. */
let slots: u32 = 0;
let table: usize = 0;

/** `kindCount`: how many counts a subject has, always as many. */
export function forgetSubjects(kindCount: u32): void {
  if (slots === 0) {
    slots = SLOTS_FIRST;
    kinds = kindCount;
    table = grown(0, 0, usize(slots) * NUMBER);
    growColumns(0);
  } else {
    memory.fill(table, 0, usize(slots) * NUMBER);
    memory.fill(subjectCounts, 0, usize(subjectCount * kinds) * NUMBER);
  }
  subjectCount = 0;
}

function growColumns(used: u32): void {
  const room = slots >> 1;
  subjectTexts = grown(subjectTexts, usize(used * 2) * NUMBER, usize(room * 2) * NUMBER);
  subjectCounts = grown(subjectCounts, usize(used * kinds) * NUMBER, usize(room * kinds) * NUMBER);
}

function hashOf(first: u32, last: u32): u32 {
  return u32(mixed(u64(first) << 32, last));
}

/** Where the counts of the subject with these texts are. */
export function countsOf(first: u32, last: u32): usize {
  const mask = slots - 1;
  let slot = hashOf(first, last) & mask;
  for (; ; slot = (slot + 1) & mask) {
    const entry = load<u32>(table + usize(slot) * NUMBER);
    if (entry === 0) break;
    const texts = subjectTexts + usize((entry - 1) * 2) * NUMBER;
    if (load<u32>(texts) === first && load<u32>(texts, NUMBER) === last) return countsAt(entry - 1);
  }
  const subject = subjectCount++;
  store<u32>(table + usize(slot) * NUMBER, subject + 1);
  const texts = subjectTexts + usize(subject * 2) * NUMBER;
  store<u32>(texts, first);
  store<u32>(texts, last, NUMBER);
  if (subjectCount * 2 >= slots) growTable();
  return countsAt(subject);
}

function countsAt(subject: u32): usize {
  return subjectCounts + usize(subject * kinds) * NUMBER;
}

function growTable(): void {
  slots *= 2;
  growColumns(subjectCount);
  table = grown(0, 0, usize(slots) * NUMBER);
  for (let subject: u32 = 0; subject < subjectCount; subject++) {
    const texts = subjectTexts + usize(subject * 2) * NUMBER;
    enter(table, slots - 1, hashOf(load<u32>(texts), load<u32>(texts, NUMBER)), subject);
  }
}
