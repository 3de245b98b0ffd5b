// Content-addressed bodies shared by all nodes of a partition: resource bodies, facts, edge groups, packages. A body is
// stored once; a node has a list of item ids; postings lead from an item back to its nodes. Most rows of most fleets are
// equal, so filters run once a body instead of once a row, and a changed node rewrites its list and its own bodies only.

import type { Database, RootDatabase } from 'lmdb';
import { digest16, INDEX_TEXT_MAX, idIn, idValue, indexPrefix, prefixEnd } from '../file/keys.ts';
import { fast, openTable, present, type ReadOptions, raw, Scratch } from '../file/lmdb.ts';
import { type Copies, copiesFor } from '../records/copies.ts';
import type { Fields } from '../records/fields.ts';
import type { DictionaryName, ItemId, NodeId } from '../records/records.ts';
import type { DictionarySpec } from './dictionaries.ts';
import { Generations } from './generations.ts';
import { Ids } from './ids.ts';
import { IndexChunks } from './index-chunks.ts';
import type { ItemClasses } from './item-classes.ts';
import type { ItemSignatures } from './item-signatures.ts';
import { BroughtIn, KeptBytes } from './kept-bytes.ts';
import { NodeSet } from './node-set.ts';
import { chunkCount, chunkIds, firstOfChunk, PostingsReader, PostingsWriter } from './postings.ts';
import { type RecordBudget, RecordCache } from './record-cache.ts';
import { type BodyRef, type ListRef, Refs } from './refs.ts';

const EMPTY_LIST = new Uint32Array(0);
/** Decoded bodies kept per dictionary and thread, counted in stored bytes. */
const CACHE_BYTES_MAX = 2 * 1024 * 1024;

type DictionaryTables = ReturnType<typeof openDictionaryTables>;

function openDictionaryTables(env: RootDatabase, { name, copies }: Pick<DictionarySpec<unknown>, 'name' | 'copies'>) {
  const byId = { encoding: 'binary', keyEncoding: 'uint32', cache: false } as const;
  const byBytes = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
  return {
    /** Of a u32 item: the encoded body (bodies.ts). */
    body: openTable<number>(env, `${name}_body`, byId),
    /** Digest of 16 bytes of the text that determines the body: u32 item. */
    digest: openTable<Buffer>(env, `${name}_digest`, byBytes),
    /** Which nodes have an item: see postings.ts. */
    post: openTable<Buffer>(env, `${name}_post`, byBytes),
    /** Of a u32 node: u32 LE items (facts: name id, item id pairs). */
    list: openTable<number>(env, `${name}_list`, byId),
    /** Of a u32 node: copies of its own bodies (copies.ts); null: bodies of this kind are not copied. */
    copy: copies ? openTable<number>(env, `${name}_copy`, byId) : null,
    /** Tag, texts, chunk (item id >>> 11): which items, as in postings.ts. */
    index: openTable<Buffer>(env, `${name}_index`, byBytes),
  };
}

/** Shared by all views of a thread. What it keeps by item ids is of one round of these (item-ids.ts). */
export class Dictionary<B, R extends Fields = Fields> {
  readonly spec: DictionarySpec<B, R>;
  readonly tables: DictionaryTables;
  readonly cache = new Generations<B>(CACHE_BYTES_MAX);
  readonly records: RecordCache<R>;
  /** Bodies as they are stored. */
  readonly bodies: KeptBytes;
  /** Lists of nodes: they change no more often than the nodes' records. */
  readonly lists: KeptBytes;
  /** Of the one writer. */
  readonly refs: Refs;
  readonly #budget: RecordBudget;
  #classes: ItemClasses | null = null;
  #signatures: ItemSignatures | null = null;
  /** Stands for the dictionary in the round. */
  #identity: object = {};
  #round = 0;

  constructor(env: RootDatabase, spec: DictionarySpec<B, R>, budget: RecordBudget) {
    this.spec = spec;
    this.tables = openDictionaryTables(env, spec);
    this.records = new RecordCache(budget);
    this.bodies = new KeptBytes(budget);
    this.lists = new KeptBytes(budget);
    this.refs = new Refs(spec.name);
    this.#budget = budget;
  }

  /** Of what round the things are that are kept by item ids. */
  get round(): number {
    return this.#round;
  }

  /** The same object as long as that round lasts. `round`: of the snapshot that asks. */
  identity(round: number): object {
    return round === this.#round ? this.#identity : {};
  }

  /** Classes of the items by all fields that take few values. */
  classes(round: number): ItemClasses {
    const { name, shared } = this.spec;
    if (round !== this.#round) return this.#budget.classes.apart(name, shared);
    this.#classes ??= this.#budget.classes.open(name, shared);
    return this.#classes;
  }

  /** Signatures of the items; null: of such there are none, or none are kept of that round. */
  signatures(round: number): ItemSignatures | null {
    const { sign } = this.spec;
    if (sign === null || round !== this.#round) return null;
    this.#signatures ??= this.#budget.classes.sign(sign);
    return this.#signatures;
  }

  /** A snapshot of that round begins. Those of other rounds that are open read for themselves from now on. */
  turnTo(round: number): void {
    if (round === this.#round) return;
    this.#round = round;
    this.#identity = {};
    this.#forgetBodies();
    // Open snapshots may go on with theirs.
    this.#budget.classes.close(this.#classes, this.#signatures);
    this.#classes = null;
    this.#signatures = null;
  }

  /** After an aborted transaction: ids it gave out will be given out again. */
  forget(): void {
    this.refs.clear();
    this.#forgetBodies();
  }

  #forgetBodies(): void {
    this.cache.clear();
    this.records.clear();
    this.bodies.clear();
    this.#classes?.forget();
    this.#signatures?.forget();
  }
}

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

/** Reads at one snapshot. Returned arrays are fresh; bodies are shared and must not be changed. */
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
    const { cache, spec } = this.#dictionary;
    if (!this.#seesItems) return spec.decode(this.#raw(id));
    const cached = cache.get(id);
    if (cached !== undefined) return cached;
    const bytes = this.#raw(id);
    const body = spec.decode(bytes);
    cache.set(id, body, bytes.length + 200);
    return body;
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
    if (this.#seesItems) records.set(id, record, bytes.length);
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
    const bytes = fast(this.#dictionary.tables.list, node, this.#options);
    return bytes === undefined ? EMPTY_LIST : decodeList(bytes);
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

function decodeList(bytes: Buffer): Uint32Array {
  const list = new Uint32Array(bytes.length >>> 2);
  new Uint8Array(list.buffer).set(bytes.subarray(0, list.length * 4));
  return list;
}

interface IdSource {
  /** The largest node id so far. */
  maxNode(): NodeId;
  /** A new item id. */
  nextItem(dictionary: Pick<Dictionary<unknown>, 'spec' | 'tables' | 'turnTo'>): ItemId;
  /** An item of that dictionary came or went. */
  changed(name: DictionaryName): void;
}

/** Changes of one write transaction. Reads through it see them. */
export class DictionaryWriter<B> {
  readonly #dictionary: Dictionary<B>;
  readonly #ids: IdSource;
  readonly #post: PostingsWriter;
  readonly #index: IndexChunks;
  /** The list that is replaced. */
  readonly #before = new Ids();
  /** Bodies stored since a list was set, where they are to be copied beside it. */
  readonly #fresh = new Map<ItemId, Buffer>();

  constructor(dictionary: Dictionary<B>, ids: IdSource) {
    this.#dictionary = dictionary;
    this.#ids = ids;
    this.#post = new PostingsWriter(dictionary.tables.post, () => ids.maxNode());
    this.#index = new IndexChunks(dictionary.tables.index);
  }

  /** Item id of the body, stored if it is new (`isNew` tells). `ref` remembers the item. */
  intern(body: B, ref?: BodyRef): { id: ItemId; isNew: boolean } {
    const { spec, refs } = this.#dictionary;
    const known = ref === undefined ? 0 : refs.get(ref);
    if (known !== 0) return { id: known, isNew: false };
    const stored = this.#store(body, spec.text(body));
    if (ref !== undefined) refs.set(ref, stored.id);
    return stored;
  }

  /** Item ids of the bodies, stored if they are new. `ref` stands for the list and remembers them. */
  internAll(bodies: readonly (B & { readonly ref?: BodyRef })[], ref: ListRef): Uint32Array {
    const { refs } = this.#dictionary;
    const known = refs.list(ref);
    if (known !== null) return known;
    const items = new Uint32Array(bodies.length);
    for (let index = 0; index < items.length; index++) {
      const body = bodies[index]!;
      items[index] = this.intern(body, body.ref).id;
    }
    refs.setList(ref, items);
    return items;
  }

  /** The item that the ref remembers, 0 when it does not. */
  recall(ref: BodyRef): ItemId {
    return this.#dictionary.refs.get(ref);
  }

  #store(body: B, text: string): { id: ItemId; isNew: boolean } {
    const { spec, tables } = this.#dictionary;
    const digest = digest16(text);
    const stored = fast(tables.digest, digest);
    if (stored !== undefined) return { id: idIn(stored), isNew: false };
    const id = this.#ids.nextItem(this.#dictionary);
    this.#ids.changed(spec.name);
    this.#dictionary.refs.renew(id);
    const bytes = spec.encode(body);
    tables.body.putSync(id, bytes);
    if (spec.copies) this.#fresh.set(id, bytes);
    tables.digest.putSync(digest, idValue(id));
    for (const [tag, texts] of spec.indexes(body)) this.#index.add(tag, texts, id);
    this.#post.begin(id);
    return { id, isNew: true };
  }

  list(node: NodeId): Uint32Array {
    const bytes = fast(this.#dictionary.tables.list, node);
    return bytes === undefined ? EMPTY_LIST : decodeList(bytes);
  }

  /** Whether the node has anything of this kind. */
  hasList(node: NodeId): boolean {
    return present(this.#dictionary.tables.list, node);
  }

  /** Replaces the node's list and keeps the postings equal to it. Returns entries now minus entries before. */
  setList(node: NodeId, list: Uint32Array): number {
    const { spec, tables } = this.#dictionary;
    const had = this.#before;
    const stored = raw(tables.list, node);
    if (stored === undefined) had.length = 0;
    else had.load(stored, 0, stored.length);
    const before = had.values;
    const { length } = had;
    if (sameNumbers(before, length, list)) return 0;
    const { stride } = spec;
    if (tables.copy !== null) this.#setCopies(tables.copy, node, list);
    // Lists of two runs are alike: only what stands elsewhere, or is not there any more, is looked at as a set. No list has
    // an item twice.
    const shift = list.length - length;
    let end = list.length;
    while (end > 0 && end > shift && list[end - 1] === before[end - 1 - shift]) end -= stride;
    const old = new Set<ItemId>();
    for (let i = stride - 1; i < end - shift; i += stride) if (i >= end || before[i] !== list[i]) old.add(before[i]!);
    for (let i = stride - 1; i < end; i += stride) {
      const id = list[i]!;
      if ((i >= end - shift || before[i] !== id) && !old.delete(id)) this.#post.add(id, node);
    }
    for (const id of old) this.#post.remove(id, node);
    if (list.length === 0) tables.list.removeSync(node);
    else tables.list.putSync(node, Buffer.from(list.buffer, list.byteOffset, list.byteLength));
    return (list.length - length) / stride;
  }

  #setCopies(table: Database<Buffer, number>, node: NodeId, list: Uint32Array): void {
    const before = fast(table, node);
    const copies = copiesFor(list, this.#dictionary.spec.stride, before, this.#fresh);
    this.#fresh.clear();
    if (copies.length === 0) {
      if (before !== undefined) table.removeSync(node);
    } else if (before === undefined || !copies.equals(before)) table.putSync(node, copies);
  }

  /** Writes postings and indexes, and deletes bodies that no node has any more. Call once, at the end of the transaction. */
  flush(): void {
    const { spec, tables, cache, refs } = this.#dictionary;
    for (const id of this.#post.flush()) {
      const bytes = tables.body.get(id);
      if (bytes === undefined) continue;
      const body = spec.decode(bytes);
      tables.digest.removeSync(digest16(spec.text(body)));
      for (const [tag, texts] of spec.indexes(body)) this.#index.remove(tag, texts, id);
      tables.body.removeSync(id);
      this.#ids.changed(spec.name);
      cache.delete(id);
      refs.drop(id);
    }
    this.#index.flush();
  }
}

/** What follows the last text in a key: NUL and the number of the chunk. */
const CHUNK_BYTES = 5;

/** Whether the first `count` of `a` are all of `b`. */
function sameNumbers(a: Uint32Array, count: number, b: Uint32Array): boolean {
  if (count !== b.length) return false;
  for (let i = 0; i < count; i++) if (a[i] !== b[i]) return false;
  return true;
}
