// Signatures of items: 63 bits, a few of which stand for each of the things that an item has and of which there are very many
// (a resource's parameters, with their values). What has such a thing has its bits, most of what has not lacks one of them, and
// is not read then. A thread keeps them as long as an item id is of the same body.

import type { Fields } from '../records/fields.ts';
import type { ItemId } from '../records/records.ts';

const PAGE_BITS = 10;
const PAGE_ITEMS = 1 << PAGE_BITS;
const PAGE_MASK = PAGE_ITEMS - 1;
/** Two words an item. */
const PAGE_BYTES = 8 * PAGE_ITEMS;

/** Bits, of a thing or of all that an item has. */
export class Mark {
  low = 0;
  high = 0;

  clear(): void {
    this.low = 0;
    this.high = 0;
  }

  /** Sets a bit that the lowest six bits of `hash` choose, but never the first one. */
  add(hash: number): void {
    const bit = hash & 63;
    if (bit >= 32) this.high |= 1 << (bit - 32);
    else this.low |= bit === 0 ? 2 : 1 << bit;
  }

  /** Whether it has all bits of the other one. */
  covers({ low, high }: Mark): boolean {
    return (this.low & low) === low && (this.high & high) === high;
  }
}

/** The first bit: the item's signature is known. */
const KNOWN = 1;

/** Those of the items of one partition. */
export class ItemSignatures {
  readonly #sign: (record: Fields, mark: Mark) => void;
  readonly #use: (bytes: number) => void;
  readonly #mark = new Mark();
  #pages: (Uint32Array | undefined)[] = [];

  /** `sign`: adds the bits of what an item has. `use`: told what they take before it is taken; it may forget them. */
  constructor(sign: (record: Fields, mark: Mark) => void, use: (bytes: number) => void) {
    this.#sign = sign;
    this.#use = use;
  }

  /** The item's signature, until the next call. */
  of(id: ItemId, reader: { glance(id: ItemId): Fields }): Mark {
    const mark = this.#mark;
    const at = (id & PAGE_MASK) << 1;
    const page = this.#pages[id >>> PAGE_BITS];
    if (page !== undefined && page[at] !== 0) {
      mark.low = page[at]!;
      mark.high = page[at + 1]!;
      return mark;
    }
    mark.clear();
    this.#sign(reader.glance(id), mark);
    mark.low |= KNOWN;
    const to = page ?? this.#open(id);
    to[at] = mark.low;
    to[at + 1] = mark.high;
    return mark;
  }

  #open(id: ItemId): Uint32Array {
    this.#use(PAGE_BYTES);
    const page = new Uint32Array(2 * PAGE_ITEMS);
    this.#pages[id >>> PAGE_BITS] = page;
    return page;
  }

  forget(): void {
    this.#pages = [];
  }
}
