// What a dictionary holds at one snapshot: bodies, the lists of nodes, and which items an index leads to.

import { digest16, INDEX_TEXT_MAX, idIn, indexPrefix, prefixEnd } from '../file/keys.ts';
import { fast, present, type ReadOptions, raw, Scratch } from '../file/lmdb.ts';
import type { Copies } from '../records/copies.ts';
import type { Fields } from '../records/fields.ts';
import type { ItemId, NodeId } from '../records/records.ts';
import { chunkCount, chunkIds, firstOfChunk } from './chunk.ts';
import { type Dictionary, listIn } from './dictionary.ts';
import { Ids } from './ids.ts';
import type { ItemClasses } from './item-classes.ts';
import type { ItemSignatures } from './item-signatures.ts';
import { BroughtIn, type KeptBytes } from './kept-bytes.ts';
import { NodeSet } from './node-set.ts';
import { PostingsReader } from './postings.ts';
import type { RecordCache } from './record-cache.ts';

/** Looks at bodies one after the other: a record lives until the next call. */
export class RecordReader<R extends Fields> {
  readonly #record: R;
  readonly #kept: () => RecordCache<R> | null;
  readonly #bodies: () => KeptBytes | null;
  readonly #raw: (id: ItemId) => Buffer;
  readonly #scratch = new Scratch();
  readonly #broughtIn = new BroughtIn();

  /** `kept`, `bodies`: those that are kept and may be used, at the time. */
  constructor(
    record: R,
    kept: () => RecordCache<R> | null,
    bodies: () => KeptBytes | null,
    raw: (id: ItemId) => Buffer,
  ) {
    this.#record = record;
    this.#kept = kept;
    this.#bodies = bodies;
    this.#raw = raw;
  }

  read(id: ItemId): R {
    const kept = this.#kept()?.get(id);
    if (kept !== undefined) return kept;
    const bodies = this.#bodies();
    if (bodies?.load(id, this.#record) === true) return this.#record;
    const bytes = this.#raw(id);
    if (bodies === null || !this.#broughtIn.add(bodies, id, bytes, this.#record)) {
      this.#record.load(this.#scratch.copy(bytes));
    }
    return this.#record;
  }

  /** The same for an item that is hardly asked for again: the record lives until anything else is read of the store. */
  glance(id: ItemId): R {
    if (this.#bodies()?.load(id, this.#record) !== true) this.#record.load(this.#raw(id));
    return this.#record;
  }

  /** The body's bytes, as `raw` gives them. */
  bytes(id: ItemId): Buffer {
    return this.#raw(id);
  }

  /** The body that begins there: the record lives until the next call. */
  at(bytes: Buffer, start: number): R {
    this.#record.load(bytes, start);
    return this.#record;
  }
}

/** What a snapshot bounds. */
export interface ViewBounds {
  readonly maxNodeId: NodeId;
  /** Item ids of the dictionary of that name are below it. */
  itemsEnd(name: string): ItemId;
  /** In which round they are. */
  itemRound(name: string): number;
  /** Whether what the thread keeps of nodes is as the snapshot has it: not within a transaction that writes, nor of an old snapshot. */
  seesKept(kind: 'node'): boolean;
}

/** Reads at one snapshot. Arrays and bodies that it returns are made for the caller. */
export class DictionaryView<B, R extends Fields = Fields> {
  readonly #dictionary: Dictionary<B, R>;
  readonly #options: ReadOptions;
  readonly #bounds: ViewBounds;
  readonly #round: number;
  readonly #postings: PostingsReader;
  readonly #broughtIn = new BroughtIn();

  constructor(dictionary: Dictionary<B, R>, options: ReadOptions, bounds: ViewBounds) {
    this.#dictionary = dictionary;
    this.#options = options;
    this.#bounds = bounds;
    this.#round = bounds.itemRound(dictionary.spec.name);
    this.#postings = new PostingsReader(dictionary.tables.post, () => bounds.maxNodeId, options);
  }

  /** The same for all views of a thread in which an item's id is of the same body. */
  get identity(): object {
    return this.#dictionary.identity(this.#round);
  }

  /** Whether what the thread keeps by item ids is of the snapshot's round: not any more, once one of a later round has begun. */
  get #seesItems(): boolean {
    return this.#dictionary.round === this.#round;
  }

  /** Item ids are below it. */
  get end(): ItemId {
    return this.#bounds.itemsEnd(this.#dictionary.spec.name);
  }

  get stride(): 1 | 2 {
    return this.#dictionary.spec.stride;
  }

  body(id: ItemId): B {
    return this.#dictionary.spec.decode(this.#raw(id));
  }

  /** Places of fields that take few values over many items. */
  get shared(): readonly number[] {
    return this.#dictionary.spec.shared;
  }

  /** Classes of the items by all of them. */
  classes(): ItemClasses {
    return this.#dictionary.classes(this.#round);
  }

  /** Signatures of the items, where they have such. */
  signatures(): ItemSignatures | null {
    return this.#dictionary.signatures(this.#round);
  }

  /** For looking at bodies one after the other. */
  reader(): RecordReader<R> {
    const { records, bodies, spec } = this.#dictionary;
    const kept = (): RecordCache<R> | null => (this.#seesItems ? records : null);
    const keptBodies = (): KeptBytes | null => (this.#seesItems && this.#bounds.seesKept('node') ? bodies : null);
    return new RecordReader(spec.record(), kept, keptBodies, (id) => this.#raw(id));
  }

  /** The body as a record that stays as it is, and is kept for a while: for items that are looked at again. */
  record(id: ItemId): R {
    const { records, spec } = this.#dictionary;
    const kept = this.#seesItems ? records.get(id) : undefined;
    if (kept !== undefined) return kept;
    const bytes = this.#raw(id);
    const record = spec.record();
    record.load(Buffer.from(bytes.subarray(0, bytes.length)));
    if (this.#seesItems) records.set(id, record);
    return record;
  }

  #raw(id: ItemId): Buffer {
    const { spec, tables } = this.#dictionary;
    const bytes = raw(tables.body, id, this.#options);
    if (bytes === undefined) throw new Error(`${spec.name} item ${id} is in a list but has no body`);
    return bytes;
  }

  hasBody(id: ItemId): boolean {
    return present(this.#dictionary.tables.body, id, this.#options);
  }

  /** The node's list (entries of `stride` numbers), empty when it has none. */
  list(node: NodeId): Uint32Array {
    return listIn(fast(this.#dictionary.tables.list, node, this.#options));
  }

  /** The same list, read into `into`. */
  readList(node: NodeId, into: Ids): void {
    const { lists, tables } = this.#dictionary;
    const sees = this.#bounds.seesKept('node');
    if (sees && lists.load(node, into)) return;
    const bytes = raw(tables.list, node, this.#options);
    if (bytes === undefined) into.length = 0;
    else if (!(sees && this.#broughtIn.add(lists, node, bytes, into))) into.load(bytes, 0, bytes.length);
  }

  /** Copies of the node's own bodies; `scratch` holds them. */
  readCopies(node: NodeId, into: Copies, scratch: Scratch): void {
    const { copy } = this.#dictionary.tables;
    const bytes = copy === null ? undefined : raw(copy, node, this.#options);
    if (bytes === undefined) into.load(null, 0);
    else into.load(scratch.copy(bytes), bytes.length);
  }

  /** How many entries the node's list has. */
  listLength(node: NodeId): number {
    const bytes = raw(this.#dictionary.tables.list, node, this.#options);
    return bytes === undefined ? 0 : bytes.length / (4 * this.stride);
  }

  /** Item id of an equal body, 0 when there is none. */
  find(body: B): ItemId {
    return idIn(fast(this.#dictionary.tables.digest, digest16(this.#dictionary.spec.text(body)), this.#options));
  }

  /** Items with these index texts, ascending. */
  lookup(tag: number, texts: readonly string[]): Uint32Array {
    const prefix = indexPrefix(tag, texts);
    const out = new Ids();
    const range = { start: prefix, end: prefixEnd(prefix), ...this.#options };
    for (const { key, value } of this.#dictionary.tables.index.getRange(range)) {
      chunkIds(value, firstOfChunk(key), out);
    }
    return out.list;
  }

  /**
   * Items whose index texts begin with these and go on with one more that is accepted, ascending. Of long texts the index
   * does not have the end: their items are given in any case.
   */
  lookupNext(tag: number, texts: readonly string[], accept: (text: string) => boolean): Uint32Array {
    const prefix = indexPrefix(tag, texts);
    const table = this.#dictionary.tables.index;
    const out = new Ids();
    for (const key of table.getKeys({ start: prefix, end: prefixEnd(prefix), ...this.#options })) {
      const end = key.length - CHUNK_BYTES;
      if (end - prefix.length < INDEX_TEXT_MAX && !accept(key.toString('utf8', prefix.length, end))) continue;
      const value = fast(table, key, this.#options);
      if (value !== undefined) chunkIds(value, firstOfChunk(key), out);
    }
    return out.list.sort();
  }

  /** The texts that an index of one text has, in the order of its keys; `textOf` an item where its key has not all of it. */
  indexTexts(tag: number, textOf: (body: B) => string): string[] {
    const out: string[] = [];
    let before: Buffer | null = null;
    const range = { start: Buffer.from([tag]), end: Buffer.from([tag + 1]), ...this.#options };
    for (const key of this.#dictionary.tables.index.getKeys(range)) {
      const end = key.length - CHUNK_BYTES;
      if (before !== null && before.length === key.length && before.compare(key, 0, end, 0, end) === 0) continue;
      before = key;
      if (end - 1 < INDEX_TEXT_MAX) out.push(key.toString('utf8', 1, end));
      else out.push(textOf(this.body(this.#first(key.subarray(0, key.length - 4))[0]!)));
    }
    return out;
  }

  /** Items of the first chunk of an index entry, given the entry's prefix. */
  #first(prefix: Uint8Array): number[] {
    const out: number[] = [];
    const range = { start: Buffer.from(prefix), end: prefixEnd(prefix), limit: 1, ...this.#options };
    for (const { key, value } of this.#dictionary.tables.index.getRange(range)) {
      chunkIds(value, firstOfChunk(key), out);
    }
    return out;
  }

  /** How many items have these index texts; stops counting above `max`. */
  estimate(tag: number, texts: readonly string[], max: number): number {
    const prefix = indexPrefix(tag, texts);
    let count = 0;
    for (const { value } of this.#dictionary.tables.index.getRange({
      start: prefix,
      end: prefixEnd(prefix),
      ...this.#options,
    })) {
      count += chunkCount(value);
      if (count > max) break;
    }
    return count;
  }

  /** All item ids, ascending. */
  ids(): Uint32Array {
    const out: number[] = [];
    for (const id of this.#dictionary.tables.body.getKeys({ ...this.#options })) out.push(id);
    return Uint32Array.from(out);
  }

  addNodes(item: ItemId, into: NodeSet): void {
    this.#postings.add(item, into);
  }

  nodes(item: ItemId): NodeSet {
    const set = new NodeSet(this.#bounds.maxNodeId + 1);
    this.#postings.add(item, set);
    return set;
  }

  /** The item's nodes that are in `within`, ascending, read into `into`. */
  readNodes(item: ItemId, within: NodeSet, into: Ids): void {
    this.#postings.ids(item, within, into);
  }

  /** How many of the item's nodes are in `within`. */
  countNodes(item: ItemId, within: NodeSet): number {
    return this.#postings.count(item, within);
  }
}

/** What follows the last text in a key: NUL and the number of the chunk. */
const CHUNK_BYTES = 5;
