// A chunk of ids as it is stored: 2048 numbers, as a list while they are few, else as a bitmap.
//
//   0x01 + u16 LE offsets, ascending   (up to 64 of them)
//   0x02 + bitmap, trailing zero bytes cut

import type { Ids } from './ids.ts';
import type { NodeSet } from './node-set.ts';

export const CHUNK_BITS = 11;
const CHUNK_SIZE = 1 << CHUNK_BITS;
export const CHUNK_MASK = CHUNK_SIZE - 1;
export const BITMAP_BYTES = CHUNK_SIZE >>> 3;
export const LIST_MAX = 64;
export const LIST = 1;
export const BITMAP = 2;

/** How many bits of a byte are set. */
export const BITS = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) count++;
  return count;
});

/** `Ids`, or an array where they are few. */
interface IdSink {
  push(id: number): unknown;
}

/** First id of the chunk that a key ends in. */
export const firstOfChunk = (key: Buffer): number => key.readUInt32BE(key.length - 4) * CHUNK_SIZE;

/** Ids of a chunk, appended in ascending order. */
export function chunkIds(value: Uint8Array, base: number, into: IdSink): void {
  if (value[0] === LIST) {
    for (let i = 1; i < value.length; i += 2) into.push(base + value[i]! + (value[i + 1]! << 8));
    return;
  }
  collectBits(value, 1, base, into);
}

/** The bits that are set from byte `start` on, as numbers from `base` on. */
export function collectBits(bytes: Uint8Array, start: number, base: number, into: IdSink): void {
  for (let i = start; i < bytes.length; i++) {
    let byte = bytes[i]!;
    while (byte !== 0) {
      into.push(base + ((i - start) << 3) + (31 - Math.clz32(byte & -byte)));
      byte &= byte - 1;
    }
  }
}

/** How many ids a chunk has. */
export function chunkCount(value: Uint8Array): number {
  if (value[0] === LIST) return (value.length - 1) >>> 1;
  let count = 0;
  for (let i = 1; i < value.length; i++) count += BITS[value[i]!]!;
  return count;
}

/** Adds the ids of a chunk, of which the first `size` bytes of `value` are. */
export function addChunk(value: Uint8Array, size: number, base: number, into: NodeSet): void {
  if (value[0] === LIST) {
    for (let i = 1; i < size; i += 2) into.add(base + value[i]! + (value[i + 1]! << 8));
    return;
  }
  for (let i = 1; i < size; i++) {
    let byte = value[i]!;
    while (byte !== 0) {
      into.add(base + ((i - 1) << 3) + (31 - Math.clz32(byte & -byte)));
      byte &= byte - 1;
    }
  }
}

/** The same of those in `within`, appended in ascending order. */
export function idsWithin(value: Uint8Array, size: number, base: number, within: NodeSet, into: Ids): void {
  if (value[0] === LIST) {
    for (let i = 1; i < size; i += 2) {
      const id = base + value[i]! + (value[i + 1]! << 8);
      if (within.has(id)) into.push(id);
    }
    return;
  }
  const bytes = within.bytes;
  const first = base >>> 3;
  for (let i = 1; i < size; i++) {
    let byte = value[i]! & (bytes[first + i - 1] ?? 0);
    while (byte !== 0) {
      into.push(base + ((i - 1) << 3) + (31 - Math.clz32(byte & -byte)));
      byte &= byte - 1;
    }
  }
}

/** How many they are. */
export function countWithin(value: Uint8Array, size: number, base: number, within: NodeSet): number {
  let count = 0;
  if (value[0] === LIST) {
    for (let i = 1; i < size; i += 2) if (within.has(base + value[i]! + (value[i + 1]! << 8))) count++;
    return count;
  }
  const bytes = within.bytes;
  const first = base >>> 3;
  for (let i = 1; i < size; i++) count += BITS[value[i]! & (bytes[first + i - 1] ?? 0)]!;
  return count;
}

/** Whether a bitmap up to that byte takes no more room than a list. */
export const isBitmap = (count: number, lastByte: number): boolean => count > LIST_MAX || lastByte + 1 <= count * 2;

/** At most `LIST_MAX` ascending ids as they are stored, in memory that lasts until the next ones; null: there are none. */
export function encodeFew(ids: readonly number[]): Buffer | null {
  const count = ids.length;
  if (count === 0) return null;
  const out = encoded;
  const lastByte = ids[count - 1]! >>> 3;
  if (isBitmap(count, lastByte)) {
    const size = lastByte + 2;
    out.fill(0, 1, size);
    out[0] = BITMAP;
    for (let i = 0; i < count; i++) out[1 + (ids[i]! >>> 3)]! |= 1 << (ids[i]! & 7);
    return out.subarray(0, size);
  }
  out[0] = LIST;
  for (let i = 0; i < count; i++) {
    out[1 + i * 2] = ids[i]! & 0xff;
    out[2 + i * 2] = ids[i]! >>> 8;
  }
  return out.subarray(0, 1 + count * 2);
}
const encoded = Buffer.allocUnsafeSlow(1 + Math.max(BITMAP_BYTES, LIST_MAX * 2));

export function encodeOne(id: number): Buffer {
  one[0] = id;
  return encodeFew(one)!;
}
const one = [0];
