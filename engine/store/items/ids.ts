// A list of ids whose memory is used again and again: what loops over nodes' lists and items' postings read into.

import { endianness } from 'node:os';
import { Memory } from '../../bytes.ts';

/** Lists and bitmaps are little-endian on disk and are read as this machine's own. */
if (endianness() !== 'LE') throw new Error('the store needs a little-endian machine');

/** What lists are read from. */
const source = new Memory();

export class Ids {
  values: Uint32Array;
  length = 0;
  #bytes: Uint8Array;

  constructor(size = 64) {
    this.values = new Uint32Array(size);
    this.#bytes = new Uint8Array(this.values.buffer);
  }

  /** Room for `count` ids; what was there is lost unless `keep`. */
  reserve(count: number, keep = false): void {
    if (count <= this.values.length) return;
    const bigger = new Uint32Array(Math.max(count, this.values.length * 2));
    if (keep) bigger.set(this.values.subarray(0, this.length));
    this.values = bigger;
    this.#bytes = new Uint8Array(bigger.buffer);
  }

  /** So many ids, to be filled in; they last until something is done to this. */
  sized(count: number): Uint32Array {
    this.reserve(count);
    this.length = count;
    return this.list;
  }

  /** The ids; they last until something is done to this. */
  get list(): Uint32Array {
    return this.values.subarray(0, this.length);
  }

  /** The memory of the ids; it lasts as long as `values`. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  push(id: number): void {
    if (this.length === this.values.length) this.reserve(this.length + 1, true);
    this.values[this.length++] = id;
  }

  /** The ids that `size` stored bytes hold, from `start` on. */
  load(bytes: Uint8Array, start: number, size: number): void {
    this.length = size >>> 2;
    this.reserve(this.length);
    this.#bytes.set(source.of(bytes, start, size));
  }
}

/** The first place from `from` on whose id is not below `wanted`: near `from` it is found in few steps. */
export function placeAmong(sorted: Uint32Array, wanted: number, from = 0): number {
  let step = 1;
  while (from + step < sorted.length && sorted[from + step]! < wanted) step *= 2;
  let low = from + (step >>> 1);
  let high = Math.min(from + step, sorted.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const isAmong = (sorted: Uint32Array, id: number): boolean => sorted[placeAmong(sorted, id)] === id;
