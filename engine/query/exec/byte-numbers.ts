// Numbers for texts that lie in bytes: equal texts get the same number, and none of them becomes a string. For loops that
// meet the same few thousand texts in millions of places.

const SLOTS_FIRST = 1024;
const BYTES_FIRST = 1 << 14;

export class ByteNumbers {
  /** Open addressing: number + 1, or 0 for free. Its size is a power of two. */
  #slots = new Int32Array(SLOTS_FIRST);
  #hashes = new Int32Array(SLOTS_FIRST);
  /** Where each number's text ends; the texts lie one behind the other. */
  #ends = new Uint32Array(SLOTS_FIRST);
  #bytes = new Uint8Array(BYTES_FIRST);
  #count = 0;

  /** How many texts there are: the numbers are below it. */
  get size(): number {
    return this.#count;
  }

  /** The number of the text from `start` to `end`. */
  of(source: Uint8Array, start: number, end: number): number {
    let hash = end - start;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ source[i]!, 0x01000193);
    hash ^= hash >>> 15;
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot]!;
      if (found === 0) return this.#add(source, start, end, hash, slot);
      if (this.#hashes[found - 1] === hash && this.#equals(found - 1, source, start, end)) return found - 1;
    }
  }

  #equals(number: number, source: Uint8Array, start: number, end: number): boolean {
    const from = number === 0 ? 0 : this.#ends[number - 1]!;
    if (this.#ends[number]! - from !== end - start) return false;
    const bytes = this.#bytes;
    for (let i = start, at = from; i < end; i++, at++) if (bytes[at] !== source[i]) return false;
    return true;
  }

  #add(source: Uint8Array, start: number, end: number, hash: number, slot: number): number {
    const number = this.#count++;
    const from = number === 0 ? 0 : this.#ends[number - 1]!;
    const to = from + end - start;
    if (to > this.#bytes.length) {
      const bigger = new Uint8Array(Math.max(to, this.#bytes.length * 2));
      bigger.set(this.#bytes.subarray(0, from));
      this.#bytes = bigger;
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
