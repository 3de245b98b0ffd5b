// Memory that grows. What was there before is not used again: together it is at most as much as what is.

import { noRoom } from './host';

export const NUMBER: usize = 4;
const PAGE: usize = 64 << 10;
/** Addresses are multiples of it. */
const STEP: usize = 16;
/** Memory does not grow beyond it. Twice a number below it still has 32 bits. */
const MEMORY_MAX: usize = 1 << 30;

let next: usize = __heap_base;

/** Enters a number at the first free slot from the one of its hash on. `table`: number + 1 by slot, or 0 for free; `mask + 1` slots. */
export function enter(table: usize, mask: u32, hash: u32, number: u32): void {
  let slot = hash & mask;
  while (load<u32>(table + usize(slot) * NUMBER) !== 0) slot = (slot + 1) & mask;
  store<u32>(table + usize(slot) * NUMBER, number + 1);
}

/** Memory of that size, for good: zeros, but for the first bytes, which are the `used` ones at `from`. */
export function grown(from: usize, used: usize, size: usize): usize {
  const to = (next + STEP - 1) & ~(STEP - 1);
  if (size > MEMORY_MAX - to) noRoom(size);
  next = to + size;
  const missing = i32((next + PAGE - 1) / PAGE) - memory.size();
  if (missing > 0 && memory.grow(missing) < 0) noRoom(size);
  // Never given out before, so it is as it was made: of zeros.
  if (used > 0) memory.copy(to, from, used);
  return to;
}
