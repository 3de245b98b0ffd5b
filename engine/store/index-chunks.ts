// Index chunks that a write transaction changes: each is read once and written once, however many items come and go in it.

import { chunkKey, indexPrefix } from './keys.ts';
import { fast } from './lmdb.ts';
import { Bitmaps, CHUNK_BITS, CHUNK_MASK, ChunkSet, type PostingsTable } from './postings.ts';
import type { ItemId } from './records.ts';

interface IndexChunk {
  readonly key: Buffer;
  readonly set: ChunkSet;
}

export class IndexChunks {
  readonly #table: PostingsTable;
  readonly #bitmaps = new Bitmaps();
  readonly #chunks: IndexChunk[] = [];
  /** By index tag, then text by text: no key is put together for one that is there. */
  readonly #tags: Texts[] = [];
  /** Of keys that several texts may have, by key. */
  readonly #ambiguous = new Map<string, ChunkSet>();

  constructor(table: PostingsTable) {
    this.#table = table;
  }

  add(tag: number, texts: readonly string[], item: ItemId): void {
    this.#chunkOf(tag, texts, item >>> CHUNK_BITS).add(item & CHUNK_MASK);
  }

  remove(tag: number, texts: readonly string[], item: ItemId): void {
    this.#chunkOf(tag, texts, item >>> CHUNK_BITS).remove(item & CHUNK_MASK);
  }

  #chunkOf(tag: number, texts: readonly string[], chunk: number): ChunkSet {
    let place = (this.#tags[tag] ??= new Texts());
    for (let i = 0; i < texts.length; i++) place = place.next(texts[i]!);
    const known = place.get(chunk);
    if (known !== null) return known;
    const set = this.#open(chunkKey(indexPrefix(tag, texts), chunk), texts);
    place.set(chunk, set);
    return set;
  }

  #open(key: Buffer, texts: readonly string[]): ChunkSet {
    // Half characters have no UTF-8: those that differ in nothing else have one key.
    const isAmbiguous = key.length !== sizeInAscii(texts);
    const name = isAmbiguous ? key.toString('latin1') : '';
    const known = isAmbiguous ? this.#ambiguous.get(name) : undefined;
    if (known !== undefined) return known;
    const set = new ChunkSet(fast(this.#table, key), this.#bitmaps);
    this.#chunks.push({ key, set });
    if (isAmbiguous) this.#ambiguous.set(name, set);
    return set;
  }

  /** Writes all of them. */
  flush(): void {
    for (const { key, set } of this.#chunks) {
      const value = set.encode();
      if (value !== null) this.#table.putSync(key, value);
      else this.#table.removeSync(key);
    }
    this.#chunks.length = 0;
    this.#tags.length = 0;
    this.#ambiguous.clear();
    this.#bitmaps.clear();
  }
}

/** Bytes of a key if each character of the texts is one. */
function sizeInAscii(texts: readonly string[]): number {
  let size = KEY_BYTES;
  for (const text of texts) size += text.length + 1;
  return size;
}
/** Of the tag and the chunk. */
const KEY_BYTES = 5;

/** Texts that index keys go on with. */
class Texts {
  #further: Map<string, Texts> | null = null;
  /** The chunk that was asked for first, if any; most have no other. */
  #chunk = -1;
  #set: ChunkSet | null = null;
  #others: Map<number, ChunkSet> | null = null;

  next(text: string): Texts {
    this.#further ??= new Map();
    let next = this.#further.get(text);
    if (next === undefined) this.#further.set(text, (next = new Texts()));
    return next;
  }

  get(chunk: number): ChunkSet | null {
    if (chunk === this.#chunk) return this.#set;
    return this.#others?.get(chunk) ?? null;
  }

  set(chunk: number, set: ChunkSet): void {
    if (this.#set === null) {
      this.#chunk = chunk;
      this.#set = set;
    } else (this.#others ??= new Map()).set(chunk, set);
  }
}
