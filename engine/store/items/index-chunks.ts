// Index chunks that a write transaction changes: each is read once and written once, however many items come and go in it.

import { chunkKey, indexPrefix } from '../file/keys.ts';
import { fast } from '../file/lmdb.ts';
import type { ItemId } from '../records/records.ts';
import { CHUNK_BITS, CHUNK_MASK } from './chunk.ts';
import { Bitmaps, ChunkSet } from './chunk-set.ts';
import type { PostingsTable } from './postings.ts';

interface IndexChunk {
  readonly key: Buffer;
  readonly set: ChunkSet;
}

/**
 * What is changed, by text: the item, as long as one is added and nothing else is changed there, or the chunks. Most texts that come with a new
 * resource are of that resource only, and until they are written they take no more memory than this.
 */
interface Further extends Map<string, Further | Chunks | ItemId> {}

export class IndexChunks {
  readonly #table: PostingsTable;
  readonly #bitmaps = new Bitmaps();
  readonly #chunks: IndexChunk[] = [];
  /** By index tag, then text by text: no key is put together for one that is there. Entries of a tag have equally many texts. */
  readonly #tags: Further[] = [];
  /** Of keys that several texts may have, by key. */
  readonly #ambiguous = new Map<string, ChunkSet>();

  constructor(table: PostingsTable) {
    this.#table = table;
  }

  add(tag: number, texts: readonly string[], item: ItemId): void {
    const place = this.#placeOf(tag, texts);
    const text = texts[texts.length - 1] ?? WITHOUT;
    const known = place.get(text) as Chunks | ItemId | undefined;
    if (known === item) return;
    if (known === undefined && haveTheirOwnKey(texts)) place.set(text, item);
    else this.#setOf(this.#chunksOf(place, text, known, tag, texts), tag, texts, item).add(item & CHUNK_MASK);
  }

  remove(tag: number, texts: readonly string[], item: ItemId): void {
    const place = this.#placeOf(tag, texts);
    const text = texts[texts.length - 1] ?? WITHOUT;
    const chunks = this.#chunksOf(place, text, place.get(text) as Chunks | ItemId | undefined, tag, texts);
    this.#setOf(chunks, tag, texts, item).remove(item & CHUNK_MASK);
  }

  /** Where the last of the texts stands. */
  #placeOf(tag: number, texts: readonly string[]): Further {
    let place = (this.#tags[tag] ??= new Map());
    for (let i = 0; i < texts.length - 1; i++) {
      let next = place.get(texts[i]!) as Further | undefined;
      if (next === undefined) place.set(texts[i]!, (next = new Map()));
      place = next;
    }
    return place;
  }

  /** The chunks there, of which `known` is what is known so far. */
  #chunksOf(
    place: Further,
    text: string,
    known: Chunks | ItemId | undefined,
    tag: number,
    texts: readonly string[],
  ): Chunks {
    if (known instanceof Chunks) return known;
    const chunks = new Chunks();
    place.set(text, chunks);
    if (known !== undefined) this.#setOf(chunks, tag, texts, known).add(known & CHUNK_MASK);
    return chunks;
  }

  #setOf(chunks: Chunks, tag: number, texts: readonly string[], item: ItemId): ChunkSet {
    const chunk = item >>> CHUNK_BITS;
    const known = chunks.get(chunk);
    if (known !== null) return known;
    const set = this.#open(chunkKey(indexPrefix(tag, texts), chunk), texts);
    chunks.set(chunk, set);
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
    this.#tags.forEach((place, tag) => {
      this.#writeOnly(place, tag, []);
    });
    for (const { key, set } of this.#chunks) this.#write(key, set);
    this.#chunks.length = 0;
    this.#tags.length = 0;
    this.#ambiguous.clear();
    this.#bitmaps.clear();
  }

  /** Writes items that are the only ones of their texts, which begin with `before`. */
  #writeOnly(place: Further, tag: number, before: readonly string[]): void {
    for (const [text, known] of place) {
      if (known instanceof Chunks) continue;
      const texts = [...before, text];
      if (typeof known === 'number') this.#writeItem(chunkKey(indexPrefix(tag, texts), known >>> CHUNK_BITS), known);
      else this.#writeOnly(known, tag, texts);
    }
  }

  #writeItem(key: Buffer, item: ItemId): void {
    const set = new ChunkSet(fast(this.#table, key), this.#bitmaps);
    set.add(item & CHUNK_MASK);
    this.#write(key, set);
  }

  #write(key: Buffer, set: ChunkSet): void {
    const value = set.encode();
    if (value !== null) this.#table.putSync(key, value);
    else this.#table.removeSync(key);
  }
}

/** Where entries without texts have theirs, which are chunks in any case. */
const WITHOUT = '';

/** Whether there are texts, and no others have the same key: those must share what is changed. */
const haveTheirOwnKey = (texts: readonly string[]): boolean =>
  texts.length > 0 && texts.every((text) => IN_ASCII.test(text));
const IN_ASCII = /^[\0-\x7f]*$/;

/** Bytes of a key if each character of the texts is one. */
function sizeInAscii(texts: readonly string[]): number {
  let size = KEY_BYTES;
  for (const text of texts) size += text.length + 1;
  return size;
}
/** Of the tag and the chunk. */
const KEY_BYTES = 5;

/** The chunks with the same texts. */
class Chunks {
  /** The one that was asked for first, if any; most have no other. */
  #chunk = -1;
  #set: ChunkSet | null = null;
  #others: Map<number, ChunkSet> | null = null;

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
