// What is kept in memory and stands for a body (the text of an element that many commands repeat) remembers by a ref which
// item the body is, in each dictionary of its thread: finding the item again then takes neither hashing nor looking up.

import type { ItemId } from './records.ts';

/** One per thing that stands for a body; equal things may have refs of their own. */
export class BodyRef {
  /** By place of the dictionary: era * 2^32 + item id, 0 when it is not known. Made with the first that is. */
  items: number[] = NONE;
}
const NONE: number[] = [];

const TWO_32 = 0x1_0000_0000;
/** Items that went, remembered one by one up to this number; then all refs are forgotten at once. */
const GONE_MAX = 20_000;
/** Dictionaries opened so far in this thread, by name. */
const opened = new Map<string, number>();
/**
 * What `items` begin as: as long as they will be, since an array that grows gets room for 16 more, and with -0, which V8 keeps as a
 * double from the start.
 */
let unknown: readonly number[] = [];

/** The refs of one dictionary. What they say holds while their era lasts and their item is there. */
export class Refs {
  readonly #place: number;
  readonly #gone = new Set<ItemId>();
  #era = 1;

  constructor(name: string) {
    this.#place = opened.get(name) ?? 0;
    opened.set(name, this.#place + 1);
    if (this.#place >= unknown.length) unknown = Array.from({ length: this.#place + 1 }, () => -0);
  }

  /** The item, 0 when it is not known. */
  get(ref: BodyRef): ItemId {
    const known = ref.items[this.#place] ?? 0;
    const id = known % TWO_32;
    return (known - id) / TWO_32 === this.#era && !this.#gone.has(id) ? id : 0;
  }

  set(ref: BodyRef, id: ItemId): void {
    if (ref.items === NONE) ref.items = unknown.slice();
    while (ref.items.length < this.#place) ref.items.push(-0);
    ref.items[this.#place] = this.#era * TWO_32 + id;
  }

  /** The item has been deleted. */
  drop(id: ItemId): void {
    this.#gone.add(id);
    if (this.#gone.size > GONE_MAX) this.clear();
  }

  /** The id stands for a new body from here on. */
  renew(id: ItemId): void {
    if (this.#gone.has(id)) this.clear();
  }

  /** Nothing that refs say holds any more. */
  clear(): void {
    this.#era++;
    this.#gone.clear();
  }
}
