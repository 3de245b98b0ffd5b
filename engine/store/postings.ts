// Postings: for an id, the set of nodes it belongs to. Stored in chunks of 2048 node ids so that adding a node rewrites at
// most 257 bytes, and shared by many commands of a batch through `PostingsWriter`, which touches each chunk once a batch.
//
//   key    u32 id, u32 chunk (node id >>> 11), big-endian
//   value  0x01 + u16 LE offsets, ascending   (up to 64 nodes)
//          0x02 + bitmap, trailing zero bytes cut

import type { Database } from 'lmdb';
import type { Ids } from './ids.ts';
import { pairKey } from './keys.ts';
import { fast, type ReadOptions, raw } from './lmdb.ts';
import { NodeSet } from './node-set.ts';
import type { NodeId } from './records.ts';

export const CHUNK_BITS = 11;
const CHUNK_SIZE = 1 << CHUNK_BITS;
export const CHUNK_MASK = CHUNK_SIZE - 1;
const BITMAP_BYTES = CHUNK_SIZE >>> 3;
const LIST_MAX = 64;
const LIST = 1;
const BITMAP = 2;
/** Up to this many chunks direct gets are cheaper than opening a cursor. */
const DIRECT_CHUNKS = 8;

export type PostingsTable = Database<Buffer, Buffer>;

const scratchKey = Buffer.alloc(8);

/** How many bits of a byte are set. */
const BITS = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) count++;
  return count;
});

/** Reads postings of nodes at one snapshot. */
export class PostingsReader {
  readonly #table: PostingsTable;
  readonly #maxNodeId: () => NodeId;
  readonly #options: ReadOptions;

  constructor(table: PostingsTable, maxNodeId: () => NodeId, options: ReadOptions) {
    this.#table = table;
    this.#maxNodeId = maxNodeId;
    this.#options = options;
  }

  /** Adds the nodes of `id` to `into`. */
  add(id: number, into: NodeSet): void {
    const chunks = this.#chunks(id);
    for (let chunk = 0; chunk < chunks.length; chunk++) {
      const value = this.#chunk(id, chunks[chunk]!);
      if (value !== undefined) addChunk(value, value.length, chunks[chunk]! << CHUNK_BITS, into);
    }
  }

  /** The nodes of `id` that are in `within`, ascending. */
  ids(id: number, within: NodeSet, into: Ids): void {
    into.length = 0;
    const chunks = this.#chunks(id);
    for (let chunk = 0; chunk < chunks.length; chunk++) {
      const value = this.#chunk(id, chunks[chunk]!);
      if (value !== undefined) idsWithin(value, value.length, chunks[chunk]! << CHUNK_BITS, within, into);
    }
  }

  /** How many nodes of `id` are in `within`. */
  count(id: number, within: NodeSet): number {
    let count = 0;
    const chunks = this.#chunks(id);
    for (let chunk = 0; chunk < chunks.length; chunk++) {
      const value = this.#chunk(id, chunks[chunk]!);
      if (value !== undefined) count += countWithin(value, value.length, chunks[chunk]! << CHUNK_BITS, within);
    }
    return count;
  }

  #chunk(id: number, chunk: number): Buffer | undefined {
    scratchKey.writeUInt32BE(id, 0);
    scratchKey.writeUInt32BE(chunk, 4);
    return raw(this.#table, scratchKey, this.#options);
  }

  /** The chunks to ask for. */
  #chunks(id: number): readonly number[] {
    const count = (this.#maxNodeId() >>> CHUNK_BITS) + 1;
    if (count <= DIRECT_CHUNKS) return FIRST_CHUNKS[count]!;
    const chunks: number[] = [];
    const range = { start: pairKey(id, 0), end: pairKey(id + 1, 0), ...this.#options };
    for (const key of this.#table.getKeys(range)) chunks.push(key.readUInt32BE(4));
    return chunks;
  }
}
const FIRST_CHUNKS = Array.from({ length: DIRECT_CHUNKS + 1 }, (_, count) =>
  Array.from({ length: count }, (_, n) => n),
);

function idsWithin(value: Uint8Array, size: number, base: number, within: NodeSet, into: Ids): void {
  if (value[0] === LIST) {
    for (let i = 1; i < size; i += 2) {
      const id = base + value[i]! + (value[i + 1]! << 8);
      if (within.has(id)) into.push(id);
    }
    return;
  }
  const bytes = within.bytes;
  const first = base >>> 3;
  for (let i = 1; i < size; i++) {
    let byte = value[i]! & (bytes[first + i - 1] ?? 0);
    while (byte !== 0) {
      into.push(base + ((i - 1) << 3) + (31 - Math.clz32(byte & -byte)));
      byte &= byte - 1;
    }
  }
}

function countWithin(value: Uint8Array, size: number, base: number, within: NodeSet): number {
  let count = 0;
  if (value[0] === LIST) {
    for (let i = 1; i < size; i += 2) if (within.has(base + value[i]! + (value[i + 1]! << 8))) count++;
    return count;
  }
  const bytes = within.bytes;
  const first = base >>> 3;
  for (let i = 1; i < size; i++) count += BITS[value[i]! & (bytes[first + i - 1] ?? 0)]!;
  return count;
}

/** All ids of the postings, ascending: for those whose ids are no nodes. */
export function postingIds(table: PostingsTable, id: number, options: ReadOptions): Uint32Array {
  const ids: number[] = [];
  for (const { key, value } of table.getRange({ start: pairKey(id, 0), end: pairKey(id + 1, 0), ...options })) {
    chunkIds(value, key.readUInt32BE(4) << CHUNK_BITS, ids);
  }
  return Uint32Array.from(ids);
}

/** Ids of a chunk, appended in ascending order. */
export function chunkIds(value: Uint8Array, base: number, into: number[]): void {
  if (value[0] === LIST) {
    for (let i = 1; i < value.length; i += 2) into.push(base + value[i]! + (value[i + 1]! << 8));
    return;
  }
  for (let i = 1; i < value.length; i++) {
    let byte = value[i]!;
    while (byte !== 0) {
      into.push(base + ((i - 1) << 3) + (31 - Math.clz32(byte & -byte)));
      byte &= byte - 1;
    }
  }
}

/** How many ids a chunk has. */
export function chunkCount(value: Uint8Array): number {
  if (value[0] === LIST) return (value.length - 1) >>> 1;
  let count = 0;
  for (let i = 1; i < value.length; i++) count += BITS[value[i]!]!;
  return count;
}

function addChunk(value: Uint8Array, size: number, base: number, into: NodeSet): void {
  if (value[0] === LIST) {
    for (let i = 1; i < size; i += 2) into.add(base + value[i]! + (value[i + 1]! << 8));
    return;
  }
  for (let i = 1; i < size; i++) {
    let byte = value[i]!;
    while (byte !== 0) {
      into.add(base + ((i - 1) << 3) + (31 - Math.clz32(byte & -byte)));
      byte &= byte - 1;
    }
  }
}

export function toBitmap(value: Uint8Array | undefined): Uint8Array {
  const bitmap = new Uint8Array(BITMAP_BYTES);
  if (value === undefined) return bitmap;
  if (value[0] === BITMAP) {
    bitmap.set(value.subarray(1));
    return bitmap;
  }
  for (let i = 1; i < value.length; i += 2) {
    const offset = value[i]! + (value[i + 1]! << 8);
    bitmap[offset >>> 3]! |= 1 << (offset & 7);
  }
  return bitmap;
}

/** null: nothing left. */
export function encodeChunk(bitmap: Uint8Array): Buffer | null {
  let count = 0;
  let last = -1;
  for (let i = 0; i < bitmap.length; i++) {
    let byte = bitmap[i]!;
    if (byte !== 0) last = i;
    while (byte !== 0) {
      count++;
      byte &= byte - 1;
    }
  }
  if (count === 0) return null;
  if (count > LIST_MAX || last + 1 <= count * 2) {
    const out = Buffer.allocUnsafe(last + 2);
    out[0] = BITMAP;
    out.set(bitmap.subarray(0, last + 1), 1);
    return out;
  }
  const out = Buffer.allocUnsafe(1 + count * 2);
  out[0] = LIST;
  let n = 1;
  for (let i = 0; i <= last; i++) {
    let byte = bitmap[i]!;
    while (byte !== 0) {
      const offset = (i << 3) + (31 - Math.clz32(byte & -byte));
      out[n++] = offset & 0xff;
      out[n++] = offset >>> 8;
      byte &= byte - 1;
    }
  }
  return out;
}

/** Collects changes of one write transaction; `flush` writes every touched chunk once. */
export class PostingsWriter {
  #table: PostingsTable;
  #dirty = new Map<number, Map<number, Uint8Array>>();
  #shrunk = new Set<number>();

  constructor(table: PostingsTable) {
    this.#table = table;
  }

  #chunk(id: number, chunk: number): Uint8Array {
    let chunks = this.#dirty.get(id);
    if (chunks === undefined) this.#dirty.set(id, (chunks = new Map()));
    let bitmap = chunks.get(chunk);
    if (bitmap === undefined) chunks.set(chunk, (bitmap = toBitmap(fast(this.#table, pairKey(id, chunk)))));
    return bitmap;
  }

  add(id: number, node: NodeId): void {
    const offset = node & CHUNK_MASK;
    this.#chunk(id, node >>> CHUNK_BITS)[offset >>> 3]! |= 1 << (offset & 7);
  }

  remove(id: number, node: NodeId): void {
    const offset = node & CHUNK_MASK;
    this.#chunk(id, node >>> CHUNK_BITS)[offset >>> 3]! &= ~(1 << (offset & 7));
    this.#shrunk.add(id);
  }

  /** Whether this transaction changed the id's nodes. */
  touches(id: number): boolean {
    return this.#dirty.has(id);
  }

  /** Whether the id has the node, changes of this transaction included. */
  has(id: number, node: NodeId): boolean {
    const offset = node & CHUNK_MASK;
    return (this.#chunk(id, node >>> CHUNK_BITS)[offset >>> 3]! & (1 << (offset & 7))) !== 0;
  }

  /** Writes the changes; returns the ids that lost nodes and have none left. */
  flush(): number[] {
    for (const [id, chunks] of this.#dirty) {
      for (const [chunk, bitmap] of chunks) {
        const value = encodeChunk(bitmap);
        const key = pairKey(id, chunk);
        if (value) this.#table.putSync(key, value);
        else this.#table.removeSync(key);
      }
    }
    const empty: number[] = [];
    for (const id of this.#shrunk) {
      let any = false;
      for (const _ of this.#table.getKeys({ start: pairKey(id, 0), end: pairKey(id + 1, 0), limit: 1 })) any = true;
      if (!any) empty.push(id);
    }
    this.#dirty.clear();
    this.#shrunk.clear();
    return empty;
  }
}

/** Reads the postings of an id into a fresh set. */
export function postingsOf(table: PostingsTable, id: number, maxNodeId: NodeId, options: ReadOptions): NodeSet {
  const set = new NodeSet(maxNodeId + 1);
  new PostingsReader(table, () => maxNodeId, options).add(id, set);
  return set;
}
