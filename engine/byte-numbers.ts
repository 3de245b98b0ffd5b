// Numbers for texts that lie in bytes: equal texts get the same number, and none of them becomes a string. For loops that
// meet the same few thousand texts in millions of places.

import { isSameAt, wordsOf } from './bytes.ts';
import { newSeed } from './wasm/instance.ts';

const SLOTS_FIRST = 1024;
/** A larger table is given up when the texts are forgotten. */
const SLOTS_KEPT = 1 << 14;
const BYTES_FIRST = 1 << 14;

const NOTHING = new Uint8Array(0);

/** Where hashes begin: else texts could be chosen that have the same. */
const [SEED] = newSeed();

export class ByteNumbers {
  /** Open addressing: number + 1, or 0 for free. Its size is a power of two. */
  #slots = new Int32Array(SLOTS_FIRST);
  #hashes = new Int32Array(SLOTS_FIRST);
  /** Where each number's text ends; the texts lie one behind the other. */
  #ends = new Uint32Array(SLOTS_FIRST);
  #bytes = new Uint8Array(BYTES_FIRST);
  #words = new DataView(this.#bytes.buffer);
  /** Where the last text came from: the next one is mostly there too. */
  #source: Uint8Array = NOTHING;
  #sourceWords: DataView = new DataView(NOTHING.buffer);
  #count = 0;

  /** How many texts there are: the numbers are below it. */
  get size(): number {
    return this.#count;
  }

  /** How many bytes they have. */
  get byteCount(): number {
    return this.#count === 0 ? 0 : this.#ends[this.#count - 1]!;
  }

  /** Forgets all texts. */
  clear(): void {
    if (this.#slots.length > SLOTS_KEPT) {
      this.#slots = new Int32Array(SLOTS_FIRST);
      this.#hashes = new Int32Array(SLOTS_FIRST);
      this.#ends = new Uint32Array(SLOTS_FIRST);
    } else this.#slots.fill(0);
    this.#count = 0;
  }

  /**
   * The number of the text from `start` to `end`. `guess`: a number that there is and that the text may well have: it is looked at first;
   * below 0: none is known.
   */
  of(source: Uint8Array, start: number, end: number, guess = -1): number {
    if (source !== this.#source) {
      this.#source = source;
      this.#sourceWords = wordsOf(source);
    }
    if (guess >= 0 && this.#equals(guess, start, end)) return guess;
    const hash = this.#hash(start, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot]!;
      if (found === 0) return this.#add(source, start, end, hash, slot);
      if (this.#hashes[found - 1] === hash && this.#equals(found - 1, start, end)) return found - 1;
    }
  }

  /** Four bytes at a time; each bit of them reaches the lowest bits, in a way that depends on those before. */
  #hash(start: number, end: number): number {
    const words = this.#sourceWords;
    let hash = SEED ^ (end - start);
    let i = start;
    for (; i + 4 <= end; i += 4) {
      hash = Math.imul(hash ^ words.getInt32(i, true), 0x1b873593);
      hash ^= hash >>> 15;
    }
    for (; i < end; i++) hash = Math.imul(hash ^ words.getUint8(i), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  #equals(number: number, start: number, end: number): boolean {
    const from = number === 0 ? 0 : this.#ends[number - 1]!;
    const length = end - start;
    return this.#ends[number]! - from === length && isSameAt(this.#words, from, this.#sourceWords, start, length);
  }

  #add(source: Uint8Array, start: number, end: number, hash: number, slot: number): number {
    const number = this.#count++;
    const from = number === 0 ? 0 : this.#ends[number - 1]!;
    const to = from + end - start;
    if (to > this.#bytes.length) {
      const bigger = new Uint8Array(Math.max(to, this.#bytes.length * 2));
      bigger.set(this.#bytes.subarray(0, from));
      this.#bytes = bigger;
      this.#words = new DataView(bigger.buffer);
    }
    for (let i = start, at = from; i < end; i++, at++) this.#bytes[at] = source[i]!;
    this.#slots[slot] = number + 1;
    this.#hashes[number] = hash;
    this.#ends[number] = to;
    if (this.#count * 2 >= this.#slots.length) this.#grow();
    return number;
  }

  #grow(): void {
    const size = this.#slots.length * 2;
    const hashes = new Int32Array(size);
    hashes.set(this.#hashes);
    const ends = new Uint32Array(size);
    ends.set(this.#ends);
    const slots = new Int32Array(size);
    for (let number = 0; number < this.#count; number++) {
      let slot = hashes[number]! & (size - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
      slots[slot] = number + 1;
    }
    this.#slots = slots;
    this.#hashes = hashes;
    this.#ends = ends;
  }
}
