// A set of node ids of one partition as a bitmap: the currency of joins on certname. Dense, mutable while it is built.

import type { NodeId } from '../records/records.ts';

export class NodeSet {
  words: Uint32Array;

  /** Room for ids below `size`; grows on demand. */
  constructor(size: number) {
    this.words = new Uint32Array((size + 31) >>> 5);
  }

  /** The words as bytes: ids 0 to 7 in the first. Lives until the set grows. */
  get bytes(): Uint8Array {
    return new Uint8Array(this.words.buffer);
  }

  add(id: NodeId): void {
    const word = id >>> 5;
    if (word >= this.words.length) this.#grow(word + 1);
    this.words[word]! |= 1 << (id & 31);
  }

  has(id: NodeId): boolean {
    const word = this.words[id >>> 5];
    return word !== undefined && (word & (1 << (id & 31))) !== 0;
  }

  /** this := this AND other. */
  intersect(other: NodeSet): this {
    const { words } = this;
    const theirs = other.words;
    for (let i = 0; i < words.length; i++) words[i]! &= theirs[i] ?? 0;
    return this;
  }

  /** this := this OR other. */
  union(other: NodeSet): this {
    const theirs = other.words;
    if (theirs.length > this.words.length) this.#grow(theirs.length);
    for (let i = 0; i < theirs.length; i++) this.words[i]! |= theirs[i]!;
    return this;
  }

  /** this := this AND NOT other. */
  subtract(other: NodeSet): this {
    const { words } = this;
    const theirs = other.words;
    const n = Math.min(words.length, theirs.length);
    for (let i = 0; i < n; i++) words[i]! &= ~theirs[i]!;
    return this;
  }

  copy(): NodeSet {
    const set = new NodeSet(0);
    set.words = this.words.slice();
    return set;
  }

  count(): number {
    let n = 0;
    for (let i = 0; i < this.words.length; i++) {
      let w = this.words[i]!;
      w -= (w >>> 1) & 0x55555555;
      w = (w & 0x33333333) + ((w >>> 2) & 0x33333333);
      n += Math.imul((w + (w >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
    }
    return n;
  }

  /** Ids in ascending order. */
  toArray(): Uint32Array {
    const out = new Uint32Array(this.count());
    let n = 0;
    for (let i = 0; i < this.words.length; i++) {
      let w = this.words[i]!;
      while (w !== 0) {
        const bit = 31 - Math.clz32(w & -w);
        out[n++] = (i << 5) + bit;
        w &= w - 1;
      }
    }
    return out;
  }

  #grow(length: number): void {
    const bigger = new Uint32Array(Math.max(length, this.words.length * 2));
    bigger.set(this.words);
    this.words = bigger;
  }
}
