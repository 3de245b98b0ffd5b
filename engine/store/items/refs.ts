// What is kept in memory and stands for a body (the text of an element that many commands repeat) remembers by a ref which
// item the body is, in each dictionary of its thread: finding the item again then takes neither hashing nor looking up.

import type { ItemId } from '../records/records.ts';

/** One per thing that stands for a body; equal things may have refs of their own. */
export class BodyRef {
  /** By place of the dictionary: era (a multiple of 2^32) + item id, 0 when it is not known. Made with the first that is. */
  items: number[] = NONE;
}
const NONE: number[] = [];

/** Stands for a whole list of bodies that does not change. */
export class ListRef {
  /** By place of the dictionary: its items, and the state of the dictionary's refs at which they were known. */
  readonly items: ({ readonly state: number; readonly list: Uint32Array } | undefined)[] = [];
}

const TWO_32 = 0x1_0000_0000;
/** Items that went, remembered one by one up to this number; then all refs are forgotten at once. */
const GONE_MAX = 20_000;
/** So many bits of an id say where it is remembered: two that differ in others count as gone together, which costs looking one up. */
const GONE_MASK = (1 << 25) - 1;
/** Places in refs that this thread's dictionaries have, by their name, and the refs of dictionaries that were closed. */
const places = new Map<string, number>();
const closed = new Map<string, Refs[]>();
/**
 * What `items` begin as: as long as they will be, since an array that grows gets room for 16 more, and with -0, which V8 keeps as a
 * double from the start.
 */
let unknown: readonly number[] = [];

/** The refs of a dictionary that is opened: in the place of one that was closed, if there is such a place. */
export const openRefs = (name: string): Refs => closed.get(name)?.pop() ?? new Refs(name);

/** The refs of one dictionary. What they say holds while their era lasts and their item is there. */
export class Refs {
  readonly #name: string;
  readonly #place: number;
  /** A bit for each item: it is asked for with every ref, and a set would be in nobody's cache. */
  #gone = new Uint32Array(0);
  /** The largest id that was seen here: a larger one is given out for the first time. */
  #last: ItemId = 0;
  #goneCount = 0;
  #era = TWO_32;
  /** Another one whenever an item went. */
  #state = 0;

  /** Use `openRefs`. */
  constructor(name: string) {
    this.#name = name;
    this.#place = places.get(name) ?? 0;
    places.set(name, this.#place + 1);
    if (this.#place >= unknown.length) unknown = Array.from({ length: this.#place + 1 }, () => -0);
  }

  /** The item, 0 when it is not known. */
  get(ref: BodyRef): ItemId {
    const id = (ref.items[this.#place] ?? 0) - this.#era;
    return id > 0 && id < TWO_32 && !this.#isGone(id) ? id : 0;
  }

  set(ref: BodyRef, id: ItemId): void {
    if (ref.items === NONE) ref.items = unknown.slice();
    while (ref.items.length < this.#place) ref.items.push(-0);
    ref.items[this.#place] = this.#era + id;
  }

  /** The items of the list, null when they are not known; not to be changed. */
  list(ref: ListRef): Uint32Array | null {
    const known = ref.items[this.#place];
    return known?.state === this.#state ? known.list : null;
  }

  setList(ref: ListRef, list: Uint32Array): void {
    ref.items[this.#place] = { state: this.#state, list };
  }

  #isGone(id: ItemId): boolean {
    const word = (id & GONE_MASK) >>> 5;
    return word < this.#gone.length && (this.#gone[word]! & (1 << (id & 31))) !== 0;
  }

  /** The item has been deleted. */
  drop(id: ItemId): void {
    this.#state++;
    this.#goneCount++;
    if (this.#goneCount > GONE_MAX) {
      this.clear();
      return;
    }
    this.#last = Math.max(this.#last, id);
    const word = (id & GONE_MASK) >>> 5;
    if (word >= this.#gone.length) {
      const more = new Uint32Array(Math.min(word * 2 + 32, (GONE_MASK + 1) >>> 5));
      more.set(this.#gone);
      this.#gone = more;
    }
    this.#gone[word]! |= 1 << (id & 31);
  }

  /** The id stands for a new body from here on. */
  renew(id: ItemId): void {
    if (id <= this.#last && this.#isGone(id)) this.clear();
    this.#last = Math.max(this.#last, id);
  }

  /** Nothing that refs say holds any more. */
  clear(): void {
    this.#state++;
    this.#era += TWO_32;
    this.#gone.fill(0);
    this.#goneCount = 0;
  }

  /** The dictionary is closed, and its place free for another one: each place takes room in every ref. To be called once. */
  close(): void {
    this.clear();
    const others = closed.get(this.#name);
    if (others === undefined) closed.set(this.#name, [this]);
    else others.push(this);
  }
}
