// Postings: for an id, the set of nodes it belongs to. Stored in chunks of 2048 node ids so that adding a node rewrites at
// most 257 bytes, and shared by many commands of a batch through `PostingsWriter`, which touches each chunk once a batch.
//
//   key    u32 id, u32 chunk (node id >>> 11), big-endian
//   value  the ids of that chunk (chunk.ts)

import type { Database } from 'lmdb';
import { pairKey } from '../file/keys.ts';
import { fast, present, type ReadOptions, raw } from '../file/lmdb.ts';
import type { NodeId } from '../records/records.ts';
import {
  addChunk,
  CHUNK_BITS,
  CHUNK_MASK,
  chunkIds,
  countWithin,
  encodeOne,
  firstOfChunk,
  idsWithin,
} from './chunk.ts';
import { Bitmaps, ChunkSet } from './chunk-set.ts';
import { Ids } from './ids.ts';
import { NodeSet } from './node-set.ts';

/** Up to this many chunks direct gets are cheaper than opening a cursor. */
const DIRECT_CHUNKS = 8;

export type PostingsTable = Database<Buffer, Buffer>;

const scratchKey = Buffer.alloc(8);

/** A key that lasts until the next one. */
function keyOf(id: number, chunk: number): Buffer {
  scratchKey.writeUInt32BE(id, 0);
  scratchKey.writeUInt32BE(chunk, 4);
  return scratchKey;
}

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
    return raw(this.#table, keyOf(id, chunk), this.#options);
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

/** All ids of the postings, ascending: for those whose ids are no nodes. */
export function postingIds(table: PostingsTable, id: number, options: ReadOptions): Uint32Array {
  const ids = new Ids();
  for (const { key, value } of table.getRange({ start: pairKey(id, 0), end: pairKey(id + 1, 0), ...options })) {
    chunkIds(value, firstOfChunk(key), ids);
  }
  return ids.list;
}

/** Of a new id that has no node yet. */
const NO_NODE = -1;
/** Of one whose nodes are in chunks. */
const CHUNKS = -2;

/** Up to this many chunks are looked for one by one. */
const ASKED_CHUNKS = 4;

/** Collects changes of one write transaction; `flush` writes every touched chunk once. */
export class PostingsWriter {
  readonly #table: PostingsTable;
  readonly #largest: () => NodeId;
  /** By chunk, then by id. */
  readonly #dirty = new Map<number, Map<number, ChunkSet>>();
  readonly #shrunk = new Set<number>();
  /** Ids that are new in this transaction: the only node that they have so far, or NO_NODE, or CHUNKS. Most stay with one. */
  readonly #fresh = new Map<number, NodeId | typeof NO_NODE | typeof CHUNKS>();
  readonly #bitmaps = new Bitmaps();

  /** `largest`: no id has a larger node. */
  constructor(table: PostingsTable, largest: () => NodeId) {
    this.#table = table;
    this.#largest = largest;
  }

  /** The id is new: nothing is stored of it. */
  begin(id: number): void {
    this.#fresh.set(id, NO_NODE);
  }

  add(id: number, node: NodeId): void {
    const known = this.#dirty.get(node >>> CHUNK_BITS)?.get(id);
    if (known !== undefined) known.add(node & CHUNK_MASK);
    else if (this.#fresh.get(id) === NO_NODE) this.#fresh.set(id, node);
    else this.#open(id, node >>> CHUNK_BITS).add(node & CHUNK_MASK);
  }

  remove(id: number, node: NodeId): void {
    const chunk = node >>> CHUNK_BITS;
    (this.#dirty.get(chunk)?.get(id) ?? this.#open(id, chunk)).remove(node & CHUNK_MASK);
    this.#shrunk.add(id);
  }

  /** The chunk of an id that is not changed yet. */
  #open(id: number, chunk: number): ChunkSet {
    const only = this.#fresh.get(id);
    if (only !== undefined && only !== CHUNKS) {
      this.#fresh.set(id, CHUNKS);
      if (only !== NO_NODE) {
        const set = this.#new(id, only >>> CHUNK_BITS, undefined);
        set.add(only & CHUNK_MASK);
        if (only >>> CHUNK_BITS === chunk) return set;
      }
    }
    return this.#new(id, chunk, only === undefined ? fast(this.#table, keyOf(id, chunk)) : undefined);
  }

  #new(id: number, chunk: number, stored: Buffer | undefined): ChunkSet {
    const set = new ChunkSet(stored, this.#bitmaps);
    const sets = this.#dirty.get(chunk);
    if (sets === undefined) this.#dirty.set(chunk, new Map([[id, set]]));
    else sets.set(id, set);
    return set;
  }

  /** Writes the changes; returns the ids that lost nodes and have none left, and the new ones that never got any. */
  flush(): number[] {
    this.#dirty.forEach((sets, chunk) => {
      for (const [id, set] of sets) {
        const value = set.encode();
        const key = keyOf(id, chunk);
        if (value !== null) {
          this.#table.putSync(key, value);
          this.#shrunk.delete(id);
        } else if (!this.#fresh.has(id)) this.#table.removeSync(key);
      }
    });
    const gone: number[] = [];
    for (const [id, only] of this.#fresh) {
      if (only === NO_NODE) gone.push(id);
      else if (only !== CHUNKS) this.#table.putSync(keyOf(id, only >>> CHUNK_BITS), encodeOne(only & CHUNK_MASK));
    }
    for (const id of this.#shrunk) if (!this.#isStored(id)) gone.push(id);
    this.#dirty.clear();
    this.#shrunk.clear();
    this.#fresh.clear();
    this.#bitmaps.clear();
    return gone;
  }

  #isStored(id: number): boolean {
    const chunks = (this.#largest() >>> CHUNK_BITS) + 1;
    if (chunks <= ASKED_CHUNKS) {
      for (let chunk = 0; chunk < chunks; chunk++) if (present(this.#table, keyOf(id, chunk))) return true;
      return false;
    }
    for (const _ of this.#table.getKeys({ start: pairKey(id, 0), end: pairKey(id + 1, 0), limit: 1 })) return true;
    return false;
  }
}

/** Reads the postings of an id into a fresh set. */
export function postingsOf(table: PostingsTable, id: number, maxNodeId: NodeId, options: ReadOptions): NodeSet {
  const set = new NodeSet(maxNodeId + 1);
  new PostingsReader(table, () => maxNodeId, options).add(id, set);
  return set;
}
