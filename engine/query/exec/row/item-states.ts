// A small state per item of a dictionary, for the time of a query. Few are kept in a map, so that a query about little costs the
// same in a store of any size; many in an array over all items. Item ids are dense unless a store has lived long enough to use
// very many of them; then a map takes less room than an array.

import type { ItemId } from '../../../store/records/records.ts';

const DENSE_BYTES_MAX = 1 << 24;
/** The map holds so many in any case, and one for each so many bytes of the array: a new one costs a page fault for each page that is touched. */
const SPARSE_MIN = 64;
const BYTES_EACH = 256;
/** It is looked into so often at most when it holds more than the fewest: some items of many nodes are found sooner in an array. */
const LOOKS_MAX = 16_384;

/** Numbers by item, 0 at first. */
export class ItemStates {
  readonly #end: number;
  readonly #Numbers: Uint8ArrayConstructor | Uint32ArrayConstructor;
  #dense: Uint8Array | Uint32Array | null = null;
  readonly #sparse = new Map<ItemId, number>();
  /** How many the map may hold before they are spread. */
  readonly #sparseMax: number;
  /** How often the map is looked into before more than a few are spread. */
  #looksLeft: number;

  /** `end`: item ids are below it. `Numbers`: which of them hold the numbers. */
  constructor(end: number, Numbers: Uint8ArrayConstructor | Uint32ArrayConstructor = Uint8Array) {
    this.#end = end;
    this.#Numbers = Numbers;
    const bytes = end * Numbers.BYTES_PER_ELEMENT;
    const isSpread = bytes <= DENSE_BYTES_MAX;
    this.#sparseMax = isSpread ? Math.max(SPARSE_MIN, bytes / BYTES_EACH) : Number.POSITIVE_INFINITY;
    this.#looksLeft = isSpread ? LOOKS_MAX : Number.POSITIVE_INFINITY;
  }

  get(id: ItemId): number {
    if (this.#dense !== null) return this.#dense[id]!;
    const state = this.#sparse.get(id) ?? 0;
    if (--this.#looksLeft < 0 && this.#sparse.size > SPARSE_MIN) this.#spread();
    return state;
  }

  set(id: ItemId, state: number): void {
    if (this.#dense !== null) this.#dense[id] = state;
    else {
      this.#sparse.set(id, state);
      if (this.#sparse.size > this.#sparseMax) this.#spread();
    }
  }

  #spread(): void {
    const dense = new this.#Numbers(this.#end);
    for (const [id, state] of this.#sparse) dense[id] = state;
    this.#sparse.clear();
    this.#dense = dense;
  }
}

/** State of an item that was met once. Above it: the number of what is kept of it. */
const MET = 1;

/** What is kept of items from their second use on: most are shared by many nodes, the others come once. */
export class KeptItems<T> {
  readonly #states: ItemStates;
  readonly #kept: T[] = [];

  /** `end`: item ids are below it. */
  constructor(end: number) {
    this.#states = new ItemStates(end, Uint32Array);
  }

  get(id: ItemId): T | undefined {
    const state = this.#states.get(id);
    return state > MET ? this.#kept[state - MET - 1] : undefined;
  }

  /** Whether the item, of which nothing is kept, was met before. */
  meets(id: ItemId): boolean {
    if (this.#states.get(id) === MET) return true;
    this.#states.set(id, MET);
    return false;
  }

  keep(id: ItemId, value: T): void {
    this.#states.set(id, MET + this.#kept.push(value));
  }
}
