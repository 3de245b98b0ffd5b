// Numbers for pairs of numbers: equal pairs get the same number, from 0 on in the order in which they come. Like those of
// texts (byte-numbers.ts), for loops that meet the same pairs again and again: nothing is made for a pair that is known.

const SLOTS_FIRST = 256;
/** With one pair in so many slots, clearing them takes longer than making a few anew. */
const SPARSE = 16;

export class PairNumbers {
  /** Open addressing: number + 1, or 0 for free. Its size is a power of two. */
  #slots = new Uint32Array(SLOTS_FIRST);
  /** Both numbers of each pair. */
  #pairs = new Uint32Array(SLOTS_FIRST);
  #count = 0;

  /** How many pairs there are: the numbers are below it. */
  get size(): number {
    return this.#count;
  }

  /** Bytes that they take. */
  get byteLength(): number {
    return this.#slots.byteLength + this.#pairs.byteLength;
  }

  /** Forgets all pairs. */
  clear(): void {
    if (this.#count === 0) return;
    if (this.#slots.length > SLOTS_FIRST && this.#count * SPARSE < this.#slots.length) {
      this.#slots = new Uint32Array(SLOTS_FIRST);
      this.#pairs = new Uint32Array(SLOTS_FIRST);
    } else this.#slots.fill(0);
    this.#count = 0;
  }

  /** The number of a pair of integers of 32 bits. */
  of(first: number, second: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = mixed(first, second) & mask; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot]!;
      if (found === 0) return this.#add(first, second, slot);
      const at = (found - 1) * 2;
      if (this.#pairs[at] === first && this.#pairs[at + 1] === second) return found - 1;
    }
  }

  #add(first: number, second: number, slot: number): number {
    const number = this.#count++;
    this.#slots[slot] = number + 1;
    this.#pairs[number * 2] = first;
    this.#pairs[number * 2 + 1] = second;
    if (this.#count * 2 >= this.#slots.length) this.#grow();
    return number;
  }

  #grow(): void {
    const size = this.#slots.length * 2;
    const pairs = new Uint32Array(size);
    pairs.set(this.#pairs);
    const slots = new Uint32Array(size);
    for (let number = 0; number < this.#count; number++) {
      let slot = mixed(pairs[number * 2]!, pairs[number * 2 + 1]!) & (size - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
      slots[slot] = number + 1;
    }
    this.#slots = slots;
    this.#pairs = pairs;
  }
}

/** Each bit of both reaches the lowest bits. */
function mixed(first: number, second: number): number {
  let hash = Math.imul(Math.imul(first, 0xcc9e2d51) ^ second, 0x1b873593);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
