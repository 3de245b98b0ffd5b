// What a thread keeps by id, or by another key, for the next ones who ask, in two generations: the older one goes when the younger
// one has used up its half of the room. A hit in the old generation moves to the young one.

export class Generations<V, K = number> {
  readonly #max: number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();
  #used = 0;

  /** `max`: the room for both, in what `set` is told. */
  constructor(max: number) {
    this.#max = max;
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.#young.set(key, old);
    return old;
  }

  /** `size`: how much room it takes. */
  set(key: K, value: V, size: number): void {
    this.#used += size;
    if (this.#used > this.#max / 2) {
      this.turn();
      this.#used = size;
    }
    this.#young.set(key, value);
  }

  /** The older generation goes, the younger one becomes the older. */
  turn(): void {
    this.#old = this.#young;
    this.#young = new Map();
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#used = 0;
  }

  delete(key: K): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
