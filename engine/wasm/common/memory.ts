// Texts by their addresses. A few bytes more than they have may be read and written.

/** Copied too much at the end of a text, and looked at behind it. */
export const SLACK: usize = 16;

/** How many bytes two texts begin with alike, at most `most`. */
export function sharedSize(a: usize, b: usize, most: usize): usize {
  let size: usize = 0;
  for (; size < most; size += 8) {
    const differing = load<u64>(a + size) ^ load<u64>(b + size);
    if (differing !== 0) {
      size += usize(ctz(differing)) >> 3;
      break;
    }
  }
  return min(size, most);
}

export function areEqual(a: usize, b: usize, size: usize): bool {
  if (size < 16) return sharedSize(a, b, size) === size;
  const last = size - 16;
  for (let i: usize = 0; i < last; i += 16) if (differ(a + i, b + i)) return false;
  return !differ(a + last, b + last);
}

/** Whether sixteen bytes do. */
function differ(a: usize, b: usize): bool {
  return v128.any_true(v128.xor(v128.load(a), v128.load(b)));
}

/** Copies sixteen bytes at a time, the last ones too. */
export function copy(to: usize, from: usize, size: usize): void {
  for (let i: usize = 0; i < size; i += SLACK) v128.store(to + i, v128.load(from + i));
}

/** Appends an integer of 7 bits a byte, low ones first, bit 7: more follow; the place behind it. */
export function appendSize(to: usize, size: usize): usize {
  let left = size;
  for (; left > 0x7f; left >>= 7) store<u8>(to++, u8((left & 0x7f) | 0x80));
  store<u8>(to, u8(left));
  return to + 1;
}

/** An integer of `appendSize` has no more bits before its last byte. */
const SHIFT_MAX: usize = 28;

/** The place behind the integer that `sizeAt` read last; 0: there was none. */
export let sizeEnd: usize = 0;

/** The integer at `at` that `appendSize` wrote, if it ends before `end`. */
export function sizeAt(at: usize, end: usize): usize {
  let size: usize = 0;
  let next = at;
  for (let shift: usize = 0; shift <= SHIFT_MAX && next < end; shift += 7) {
    const byte: usize = load<u8>(next++);
    size |= (byte & 0x7f) << shift;
    if (byte <= 0x7f) {
      sizeEnd = next;
      return size;
    }
  }
  sizeEnd = 0;
  return 0;
}

/** A hash of a text: each of its bits has a share in all bits. */
export function hashOf(start: usize, size: usize, seed: u64): u64 {
  let hash: u64 = seed ^ size;
  let other: u64 = ~seed;
  let at: usize = 0;
  // Two at a time: each waits for the product before it.
  for (; at + 16 <= size; at += 16) {
    hash = mixed(hash, load<u64>(start + at));
    other = mixed(other, load<u64>(start + at + 8));
  }
  for (; at + 8 <= size; at += 8) hash = mixed(hash, load<u64>(start + at));
  if (at < size) hash = mixed(hash, load<u64>(start + at) << ((8 - (size - at)) << 3));
  return mixed(mixed(hash, other), 0);
}

/** One number of two: low bits reach the high ones by the product, high ones the low ones by the shift. */
export function mixed(hash: u64, value: u64): u64 {
  const product = (hash ^ value) * 0x1e3779b97f4a7d;
  return product ^ (product >> 32);
}
