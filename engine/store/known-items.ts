// By what a node's items are known when they are sent again: digests of the texts they came as, beside the node's list. Each is
// of an item in that list, and says how to make of its body what the text says (`flags`, of whoever stores it).
//
//   16 bytes digest  u32 item  u8 flags      for each, by digest

import type { ItemId } from './records.ts';

export interface KnownItem {
  /** A character for each byte. */
  readonly digest: string;
  readonly item: ItemId;
  /** One byte. */
  readonly flags: number;
}

export const DIGEST_SIZE = 16;
const FLAGS_AT = DIGEST_SIZE + 4;
export const KNOWN_SIZE = FLAGS_AT + 1;

export function encodeKnown(known: readonly KnownItem[]): Buffer {
  const places = inOrder(known);
  const bytes = Buffer.allocUnsafe(known.length * KNOWN_SIZE);
  for (let index = 0, at = 0; index < known.length; index++, at += KNOWN_SIZE) {
    const { digest, item, flags } = known[places[index] as number] as KnownItem;
    for (let i = 0; i < DIGEST_SIZE; i++) bytes[at + i] = digest.charCodeAt(i);
    bytes.writeUInt32LE(item, at + DIGEST_SIZE);
    bytes[at + FLAGS_AT] = flags;
  }
  return bytes;
}

/** Places of the items by digest: sorted as numbers of its first bytes with the place behind them, which is much faster than by texts. */
function inOrder(known: readonly KnownItem[]): Float64Array {
  const places = new Float64Array(known.length);
  for (let index = 0; index < known.length; index++) {
    const { digest } = known[index] as KnownItem;
    let head = 0;
    for (let i = 0; i < HEAD_SIZE; i++) head = head * 256 + digest.charCodeAt(i);
    places[index] = head * PLACES_MAX + index;
  }
  places.sort();
  for (let index = 0; index < places.length; index++) {
    const place = (places[index] as number) % PLACES_MAX;
    const { digest } = known[place] as KnownItem;
    // Few begin alike.
    let at = index;
    for (; at > 0 && digest < (known[places[at - 1] as number] as KnownItem).digest; at--) {
      places[at] = places[at - 1] as number;
    }
    places[at] = place;
  }
  return places;
}
const HEAD_SIZE = 3;
/** A double holds both exactly; a list has fewer items, as that of a payload of 2 GB has. */
const PLACES_MAX = 2 ** 29;

/** Reads them. The bytes must stay as they are. */
export class KnownItems {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Place of that digest, -1 when it is not there. */
  find(digest: string): number {
    const bytes = this.#bytes;
    let low = 0;
    let high = Math.trunc(bytes.length / KNOWN_SIZE);
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = this.#order(middle * KNOWN_SIZE, digest);
      if (order === 0) return middle * KNOWN_SIZE;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return -1;
  }

  /** Negative: the digest there comes before that one. */
  #order(place: number, digest: string): number {
    const bytes = this.#bytes;
    for (let i = 0; i < DIGEST_SIZE; i++) {
      const difference = (bytes[place + i] as number) - digest.charCodeAt(i);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  item(place: number): ItemId {
    return this.#bytes.readUInt32LE(place + DIGEST_SIZE);
  }

  flags(place: number): number {
    return this.#bytes[place + FLAGS_AT] as number;
  }
}
