// Postings: for an id, the set of nodes it belongs to. Stored in chunks of 2048 node ids so that adding a node rewrites at
// most 257 bytes, and shared by many commands of a batch through `PostingsWriter`, which touches each chunk once a batch.
//
//   key    u32 id, u32 chunk (node id >>> 11), big-endian
//   value  0x01 + u16 LE offsets, ascending   (up to 64 nodes)
//          0x02 + bitmap, trailing zero bytes cut

import type { Database } from 'lmdb';
import { pairKey } from '../file/keys.ts';
import { fast, present, type ReadOptions, raw } from '../file/lmdb.ts';
import type { NodeId } from '../records/records.ts';
import { Ids } from './ids.ts';
import { NodeSet } from './node-set.ts';

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

/** A key that lasts until the next one. */
function keyOf(id: number, chunk: number): Buffer {
  scratchKey.writeUInt32BE(id, 0);
  scratchKey.writeUInt32BE(chunk, 4);
  return scratchKey;
}

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
  const ids = new Ids();
  for (const { key, value } of table.getRange({ start: pairKey(id, 0), end: pairKey(id + 1, 0), ...options })) {
    chunkIds(value, firstOfChunk(key), ids);
  }
  return ids.list;
}

/** `Ids`, or an array where they are few. */
interface IdSink {
  push(id: number): unknown;
}

/** First id of the chunk that a key ends in. */
export const firstOfChunk = (key: Buffer): number => key.readUInt32BE(key.length - 4) * CHUNK_SIZE;

/** Ids of a chunk, appended in ascending order. */
export function chunkIds(value: Uint8Array, base: number, into: IdSink): void {
  if (value[0] === LIST) {
    for (let i = 1; i < value.length; i += 2) into.push(base + value[i]! + (value[i + 1]! << 8));
    return;
  }
  collectBits(value, 1, base, into);
}

/** The bits that are set from byte `start` on, as numbers from `base` on. */
function collectBits(bytes: Uint8Array, start: number, base: number, into: IdSink): void {
  for (let i = start; i < bytes.length; i++) {
    let byte = bytes[i]!;
    while (byte !== 0) {
      into.push(base + ((i - start) << 3) + (31 - Math.clz32(byte & -byte)));
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

/**
 * Memory for bitmaps of chunks that are being changed, in pages that are used again and again: an array buffer for each of the
 * thousands of a batch costs more than what is done with it, and lmdb looks up where each one lies.
 *
 * A place holds the tag of a stored bitmap in its fourth byte, then the bitmap: what is stored can be cut out of it.
 */
class BitmapPage {
  readonly bytes = Buffer.allocUnsafeSlow(PAGE_PLACES * PLACE_BYTES);
  readonly words = new Uint32Array(this.bytes.buffer);
}
const PLACE_BYTES = BITMAP_BYTES + 4;
const PAGE_PLACES = 64;
/** Pages kept for the next one who asks: 1 MB. */
const SPARE_PAGES_MAX = 64;
const sparePages: BitmapPage[] = [];

/** The places that one user has taken. One that does not come to give them back leaves them to the garbage collector. */
export class Bitmaps {
  #pages: BitmapPage[] = [];
  #used = PAGE_PLACES;

  /** A bitmap of the chunk stored as `value`; empty without one. */
  take(value: Uint8Array | null): Bitmap {
    if (this.#used === PAGE_PLACES) {
      this.#pages.push(sparePages.pop() ?? new BitmapPage());
      this.#used = 0;
    }
    const page = this.#pages[this.#pages.length - 1]!;
    const place = this.#used++ * PLACE_BYTES;
    const start = place + 4;
    if (value === null) page.bytes.fill(0, start, start + BITMAP_BYTES);
    else {
      if (value.length > 1 + BITMAP_BYTES) throw new RangeError(`a chunk of postings has ${value.length} bytes`);
      page.bytes.set(value, start - 1);
      page.bytes.fill(0, start - 1 + value.length, start + BITMAP_BYTES);
    }
    page.bytes[start - 1] = BITMAP;
    return new Bitmap(page, start);
  }

  /** Gives all of them back: their bitmaps must not be used any more. */
  clear(): void {
    for (const page of this.#pages) if (sparePages.length < SPARE_PAGES_MAX) sparePages.push(page);
    this.#pages = [];
    this.#used = PAGE_PLACES;
  }
}

class Bitmap {
  readonly #bytes: Buffer;
  readonly #words: Uint32Array;
  /** Of the first byte. */
  readonly #start: number;

  constructor({ bytes, words }: BitmapPage, start: number) {
    this.#bytes = bytes;
    this.#words = words;
    this.#start = start;
  }

  add(offset: number): void {
    this.#bytes[this.#start + (offset >>> 3)]! |= 1 << (offset & 7);
  }

  remove(offset: number): void {
    this.#bytes[this.#start + (offset >>> 3)]! &= ~(1 << (offset & 7));
  }

  /** As it is stored, in the memory of the bitmap; null: nothing left. */
  encode(): Buffer | null {
    const words = this.#words;
    const first = this.#start >>> 2;
    let lastWord = BITMAP_BYTES / 4 - 1;
    while (lastWord >= 0 && words[first + lastWord] === 0) lastWord--;
    if (lastWord < 0) return null;
    let count = 0;
    for (let i = 0; i <= lastWord && count <= LIST_MAX; i++) count += bitsOf(words[first + i]!);
    const last = lastWord * 4 + ((31 - Math.clz32(words[first + lastWord]!)) >>> 3);
    if (isBitmap(count, last)) return this.#bytes.subarray(this.#start - 1, this.#start + last + 1);
    const ids: number[] = [];
    collectBits(this.#bytes.subarray(this.#start, this.#start + last + 1), 0, 0, ids);
    return encodeFew(ids);
  }
}

/** How many bits of a word are set. */
const bitsOf = (word: number): number =>
  BITS[word & 0xff]! + BITS[(word >>> 8) & 0xff]! + BITS[(word >>> 16) & 0xff]! + BITS[word >>> 24]!;

/** The ids of one chunk while they are changed: ascending while they are few, as most are, a bitmap when they are many. */
export class ChunkSet {
  readonly #bitmaps: Bitmaps;
  #few: number[] | null = null;
  #bitmap: Bitmap | null = null;

  /** `value` as it is stored; undefined: none yet. */
  constructor(value: Uint8Array | undefined, bitmaps: Bitmaps) {
    this.#bitmaps = bitmaps;
    if (value === undefined) this.#few = NONE;
    else if (value[0] === LIST || value.length - 1 <= FEW_BYTES) chunkIds(value, 0, (this.#few = []));
    else this.#bitmap = bitmaps.take(value);
  }

  add(offset: number): void {
    const few = this.#few;
    if (few === null) {
      this.#bitmap!.add(offset);
      return;
    }
    // V8 makes room for 17 where one is appended to none.
    if (few.length === 0) {
      this.#few = [offset];
      return;
    }
    const at = placeIn(few, offset);
    if (few[at] === offset) return;
    if (few.length < LIST_MAX) {
      if (at === few.length) few.push(offset);
      else few.splice(at, 0, offset);
      return;
    }
    const bitmap = this.#bitmaps.take(null);
    for (const one of few) bitmap.add(one);
    bitmap.add(offset);
    this.#bitmap = bitmap;
    this.#few = null;
  }

  remove(offset: number): void {
    const few = this.#few;
    if (few === null) {
      this.#bitmap!.remove(offset);
      return;
    }
    const at = placeIn(few, offset);
    if (few[at] === offset) few.splice(at, 1);
  }

  /** As it is stored, until the next one is encoded; null: nothing left. */
  encode(): Buffer | null {
    return this.#few === null ? this.#bitmap!.encode() : encodeFew(this.#few);
  }
}

const NONE: number[] = [];

/** A bitmap of so many bytes has no more ids than are kept one by one. */
const FEW_BYTES = LIST_MAX >>> 3;

/** The place of the first number that is not smaller. */
function placeIn(ascending: readonly number[], number: number): number {
  let low = 0;
  let high = ascending.length;
  if (high > 0 && ascending[high - 1]! < number) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether a bitmap up to that byte takes no more room than a list. */
const isBitmap = (count: number, lastByte: number): boolean => count > LIST_MAX || lastByte + 1 <= count * 2;

function encodeFew(ids: readonly number[]): Buffer | null {
  const count = ids.length;
  if (count === 0) return null;
  const out = encoded;
  const lastByte = ids[count - 1]! >>> 3;
  if (isBitmap(count, lastByte)) {
    const size = lastByte + 2;
    out.fill(0, 1, size);
    out[0] = BITMAP;
    for (let i = 0; i < count; i++) out[1 + (ids[i]! >>> 3)]! |= 1 << (ids[i]! & 7);
    return out.subarray(0, size);
  }
  out[0] = LIST;
  for (let i = 0; i < count; i++) {
    out[1 + i * 2] = ids[i]! & 0xff;
    out[2 + i * 2] = ids[i]! >>> 8;
  }
  return out.subarray(0, 1 + count * 2);
}
const encoded = Buffer.allocUnsafeSlow(1 + Math.max(BITMAP_BYTES, LIST_MAX * 2));

function encodeOne(id: number): Buffer {
  one[0] = id;
  return encodeFew(one)!;
}
const one = [0];

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
