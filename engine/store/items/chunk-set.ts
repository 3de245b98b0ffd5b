// A chunk of ids while it is changed.

import { BITMAP, BITMAP_BYTES, BITS, chunkIds, collectBits, encodeFew, isBitmap, LIST, LIST_MAX } from './chunk.ts';

/**
 * Memory for bitmaps of chunks that are being changed, in pages that are used again and again: an array buffer for each of the
 * thousands of a batch costs more than what is done with it, and lmdb looks up where each one lies.
 *
 * A place holds the tag of a stored bitmap in its fourth byte, then the bitmap: what is stored can be cut out of it.
 */
class BitmapPage {
  readonly bytes = Buffer.allocUnsafeSlow(PAGE_PLACES * PLACE_BYTES);
  readonly words = new Uint32Array(this.bytes.buffer);
}
const PLACE_BYTES = BITMAP_BYTES + 4;
const PAGE_PLACES = 64;
/** Pages kept for the next one who asks: 1 MB. */
const SPARE_PAGES_MAX = 64;
const sparePages: BitmapPage[] = [];

/** The places that one user has taken. One that does not come to give them back leaves them to the garbage collector. */
export class Bitmaps {
  #pages: BitmapPage[] = [];
  #used = PAGE_PLACES;

  /** A bitmap of the chunk stored as `value`; empty without one. */
  take(value: Uint8Array | null): Bitmap {
    if (this.#used === PAGE_PLACES) {
      this.#pages.push(sparePages.pop() ?? new BitmapPage());
      this.#used = 0;
    }
    const page = this.#pages[this.#pages.length - 1]!;
    const place = this.#used++ * PLACE_BYTES;
    const start = place + 4;
    if (value === null) page.bytes.fill(0, start, start + BITMAP_BYTES);
    else {
      if (value.length > 1 + BITMAP_BYTES) throw new RangeError(`a chunk of postings has ${value.length} bytes`);
      page.bytes.set(value, start - 1);
      page.bytes.fill(0, start - 1 + value.length, start + BITMAP_BYTES);
    }
    page.bytes[start - 1] = BITMAP;
    return new Bitmap(page, start);
  }

  /** Gives all of them back: their bitmaps must not be used any more. */
  clear(): void {
    for (const page of this.#pages) if (sparePages.length < SPARE_PAGES_MAX) sparePages.push(page);
    this.#pages = [];
    this.#used = PAGE_PLACES;
  }
}

class Bitmap {
  readonly #bytes: Buffer;
  readonly #words: Uint32Array;
  /** Of the first byte. */
  readonly #start: number;

  constructor({ bytes, words }: BitmapPage, start: number) {
    this.#bytes = bytes;
    this.#words = words;
    this.#start = start;
  }

  add(offset: number): void {
    this.#bytes[this.#start + (offset >>> 3)]! |= 1 << (offset & 7);
  }

  remove(offset: number): void {
    this.#bytes[this.#start + (offset >>> 3)]! &= ~(1 << (offset & 7));
  }

  /** As it is stored, in the memory of the bitmap; null: nothing left. */
  encode(): Buffer | null {
    const words = this.#words;
    const first = this.#start >>> 2;
    let lastWord = BITMAP_BYTES / 4 - 1;
    while (lastWord >= 0 && words[first + lastWord] === 0) lastWord--;
    if (lastWord < 0) return null;
    let count = 0;
    for (let i = 0; i <= lastWord && count <= LIST_MAX; i++) count += bitsOf(words[first + i]!);
    const last = lastWord * 4 + ((31 - Math.clz32(words[first + lastWord]!)) >>> 3);
    if (isBitmap(count, last)) return this.#bytes.subarray(this.#start - 1, this.#start + last + 1);
    const ids: number[] = [];
    collectBits(this.#bytes.subarray(this.#start, this.#start + last + 1), 0, 0, ids);
    return encodeFew(ids);
  }
}

/** How many bits of a word are set. */
const bitsOf = (word: number): number =>
  BITS[word & 0xff]! + BITS[(word >>> 8) & 0xff]! + BITS[(word >>> 16) & 0xff]! + BITS[word >>> 24]!;

/** The ids of one chunk while they are changed: ascending while they are few, as most are, a bitmap when they are many. */
export class ChunkSet {
  readonly #bitmaps: Bitmaps;
  #few: number[] | null = null;
  #bitmap: Bitmap | null = null;

  /** `value` as it is stored; undefined: none yet. */
  constructor(value: Uint8Array | undefined, bitmaps: Bitmaps) {
    this.#bitmaps = bitmaps;
    if (value === undefined) this.#few = NONE;
    else if (value[0] === LIST || value.length - 1 <= FEW_BYTES) chunkIds(value, 0, (this.#few = []));
    else this.#bitmap = bitmaps.take(value);
  }

  add(offset: number): void {
    const few = this.#few;
    if (few === null) {
      this.#bitmap!.add(offset);
      return;
    }
    // V8 makes room for 17 where one is appended to none.
    if (few.length === 0) {
      this.#few = [offset];
      return;
    }
    const at = placeIn(few, offset);
    if (few[at] === offset) return;
    if (few.length < LIST_MAX) {
      if (at === few.length) few.push(offset);
      else few.splice(at, 0, offset);
      return;
    }
    const bitmap = this.#bitmaps.take(null);
    for (const one of few) bitmap.add(one);
    bitmap.add(offset);
    this.#bitmap = bitmap;
    this.#few = null;
  }

  remove(offset: number): void {
    const few = this.#few;
    if (few === null) {
      this.#bitmap!.remove(offset);
      return;
    }
    const at = placeIn(few, offset);
    if (few[at] === offset) few.splice(at, 1);
  }

  /** As it is stored, until the next one is encoded; null: nothing left. */
  encode(): Buffer | null {
    return this.#few === null ? this.#bitmap!.encode() : encodeFew(this.#few);
  }
}

const NONE: number[] = [];

/** A bitmap of so many bytes has no more ids than are kept one by one. */
const FEW_BYTES = LIST_MAX >>> 3;

/** The place of the first number that is not smaller. */
function placeIn(ascending: readonly number[], number: number): number {
  let low = 0;
  let high = ascending.length;
  if (high > 0 && ascending[high - 1]! < number) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
