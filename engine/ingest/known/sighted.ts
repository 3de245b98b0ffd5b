// Which texts came lately: what comes for the first time is not worth remembering, most of it never comes again.

/** Hashes that share a place: texts of one list must not drive out one another for good. */
const WAYS = 4;

/** Texts by a hash, the last few of each place. Two texts may be taken for one. */
export class Sighted {
  readonly #hashes: Uint32Array;

  /** `count` is rounded up to a power of two. */
  constructor(count: number) {
    this.#hashes = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(count, WAYS))));
  }

  /** Whether the text came lately; from now on it did. */
  again(text: string): boolean {
    let hash = text.length;
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x0100_0193);
    return this.againOf((hash ^ (hash >>> 15)) >>> 0);
  }

  /** The same of the text's hash, 32 bits. */
  againOf(hash: number): boolean {
    const hashes = this.#hashes;
    const first = hash & (hashes.length - 1) & ~(WAYS - 1);
    let way = 0;
    while (way < WAYS - 1 && hashes[first + way] !== hash) way++;
    const isAgain = hashes[first + way] === hash;
    for (; way > 0; way--) hashes[first + way] = hashes[first + way - 1] as number;
    hashes[first] = hash;
    return isAgain;
  }
}
