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

export function encodeKnown(known: KnownItem[]): Buffer {
  known.sort((a, b) => (a.digest < b.digest ? -1 : 1));
  const bytes = Buffer.allocUnsafe(known.length * KNOWN_SIZE);
  for (let index = 0, at = 0; index < known.length; index++, at += KNOWN_SIZE) {
    const { digest, item, flags } = known[index] as KnownItem;
    for (let i = 0; i < DIGEST_SIZE; i++) bytes[at + i] = digest.charCodeAt(i);
    bytes.writeUInt32LE(item, at + DIGEST_SIZE);
    bytes[at + FLAGS_AT] = flags;
  }
  return bytes;
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
