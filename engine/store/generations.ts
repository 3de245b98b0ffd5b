// What a thread keeps by id for the next ones who ask, in two generations: the older one goes when the younger one has used up its
// half of the room. A hit in the old generation moves to the young one.

export class Generations<V> {
  readonly #max: number;
  #young = new Map<number, V>();
  #old = new Map<number, V>();
  #used = 0;

  /** `max`: the room for both, in what `set` is told. */
  constructor(max: number) {
    this.#max = max;
  }

  get(id: number): V | undefined {
    const young = this.#young.get(id);
    if (young !== undefined) return young;
    const old = this.#old.get(id);
    if (old !== undefined) this.#young.set(id, old);
    return old;
  }

  /** `size`: how much room it takes. */
  set(id: number, value: V, size: number): void {
    this.#used += size;
    if (this.#used > this.#max / 2) {
      this.turn();
      this.#used = size;
    }
    this.#young.set(id, value);
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

  delete(id: number): void {
    this.#young.delete(id);
    this.#old.delete(id);
  }
}
