// By what a node's items are known when they are sent again: digests of the texts they came as, beside the node's list. Each is
// of an item in that list, and says how to make of its body what the text says (`flags`, of whoever stores it).
//
//   16 bytes digest  u32 item  u8 flags      for each, by digest

import type { ItemId } from '../records/records.ts';

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
  const size = known.length * KNOWN_SIZE;
  // First as they come: then nothing but bytes that lie together is looked at in another order.
  const sent = Buffer.allocUnsafe(size);
  for (let index = 0, at = 0; index < known.length; index++, at += KNOWN_SIZE) {
    const { digest, item, flags } = known[index] as KnownItem;
    for (let i = 0; i < DIGEST_SIZE; i++) sent[at + i] = digest.charCodeAt(i);
    sent.writeUInt32LE(item, at + DIGEST_SIZE);
    sent[at + FLAGS_AT] = flags;
  }
  const places = inOrder(sent);
  const bytes = Buffer.allocUnsafe(size);
  for (let index = 0, at = 0; index < places.length; index++) {
    const start = (places[index] as number) * KNOWN_SIZE;
    for (let from = start; from < start + KNOWN_SIZE; from++) bytes[at++] = sent[from] as number;
  }
  return bytes;
}

/** Places of the items by digest: sorted as numbers of its first bytes with the place behind them, which is much faster than by all bytes. */
function inOrder(sent: Buffer): Float64Array {
  const places = new Float64Array(sent.length / KNOWN_SIZE);
  for (let index = 0; index < places.length; index++) {
    places[index] = sent.readUIntBE(index * KNOWN_SIZE, HEAD_SIZE) * PLACES_MAX + index;
  }
  places.sort();
  let headBefore = -1;
  for (let index = 0; index < places.length; index++) {
    const headAndPlace = places[index] as number;
    const head = Math.floor(headAndPlace / PLACES_MAX);
    const place = headAndPlace - head * PLACES_MAX;
    let at = index;
    if (head === headBefore) {
      // Few begin alike.
      for (; at > 0 && compareAt(sent, place, places[at - 1] as number) < 0; at--)
        places[at] = places[at - 1] as number;
    }
    places[at] = place;
    headBefore = head;
  }
  return places;
}
const HEAD_SIZE = 3;
/** A double holds both exactly; a list has fewer items, as that of a payload of 2 GB has. */
const PLACES_MAX = 2 ** 29;

/** Of two items by their places: below 0 when the digest of the first one comes first. */
function compareAt(sent: Buffer, a: number, b: number): number {
  const first = a * KNOWN_SIZE;
  const second = b * KNOWN_SIZE;
  return sent.compare(sent, second, second + DIGEST_SIZE, first, first + DIGEST_SIZE);
}

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
