// Copies of bodies beside a node's list: of those that came with the node, which most probably no other node has. Who reads
// all of many nodes' lists finds them there together, instead of one by one under their ids.
//
//   u32 item  u16 size  body      for each copy, in the order of the list
//
// A copy is never more than that: the body stands under its id too, and a node may have copies of all, some or none of its items.

import type { ItemId } from './records.ts';

/** Longer bodies are worth a read of their own. */
export const COPY_MAX = 512;
const HEAD = 6;

const NOTHING = Buffer.alloc(0);

/** Goes through a node's copies along its list. */
export class Copies {
  #bytes: Buffer = NOTHING;
  #end = 0;
  #at = 0;
  #next: ItemId = 0;

  /** The bytes must stay as they are while they are read; null for a node without copies. */
  load(bytes: Buffer | null, size: number): void {
    this.#bytes = bytes ?? NOTHING;
    this.#end = bytes === null ? 0 : size;
    this.#at = 0;
    this.#look();
  }

  /** Bytes of all of them. */
  get size(): number {
    return this.#end;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Where the copy of that item begins, 0 for none. Items must be asked for in the order of the list. */
  find(item: ItemId): number {
    if (item !== this.#next) return 0;
    const start = this.#at + HEAD;
    this.#at = start + this.#bytes.readUInt16LE(this.#at + 4);
    this.#look();
    return start;
  }

  #look(): void {
    this.#next = this.#at < this.#end ? this.#bytes.readUInt32LE(this.#at) : 0;
  }
}

/** Each copy that these bytes hold: its item, and where it begins and ends. Throws a RangeError when the bytes end before a copy. */
export function* copiesIn(bytes: Buffer): Generator<{ item: ItemId; start: number; end: number }, void, undefined> {
  for (let at = 0; at < bytes.length; ) {
    const start = at + HEAD;
    const end = start + bytes.readUInt16LE(at + 4);
    if (end > bytes.length) throw new RangeError('a copy has no end');
    yield { item: bytes.readUInt32LE(at), start, end };
    at = end;
  }
}

/** The copies of a node whose list becomes `list`: of what it had copies of, and of what is `fresh`, as far as it is in the list. */
export function copiesFor(
  list: Uint32Array,
  stride: number,
  before: Buffer | undefined,
  fresh: ReadonlyMap<ItemId, Buffer>,
): Buffer {
  const had = new Map<ItemId, Buffer>();
  if (before !== undefined) {
    for (const { item, start, end } of copiesIn(before)) had.set(item, before.subarray(start - HEAD, end));
  }
  if (had.size === 0 && fresh.size === 0) return NOTHING;
  const parts: Buffer[] = [];
  for (let i = stride - 1; i < list.length; i += stride) {
    const item = list[i]!;
    const kept = had.get(item);
    if (kept !== undefined) {
      parts.push(kept);
      continue;
    }
    const body = fresh.get(item);
    if (body === undefined || body.length > COPY_MAX) continue;
    const head = Buffer.allocUnsafe(HEAD);
    head.writeUInt32LE(item, 0);
    head.writeUInt16LE(body.length, 4);
    parts.push(head, body);
  }
  return Buffer.concat(parts);
}
