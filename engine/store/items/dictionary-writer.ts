// Changes of a dictionary in one write transaction: bodies that are new, lists of nodes, and what follows from them.

import type { Database } from 'lmdb';
import { digest16, idIn, idValue } from '../file/keys.ts';
import { fast, present, raw } from '../file/lmdb.ts';
import { copiesFor } from '../records/copies.ts';
import type { DictionaryName, ItemId, NodeId } from '../records/records.ts';
import { type Dictionary, listIn } from './dictionary.ts';
import { Ids } from './ids.ts';
import { IndexChunks } from './index-chunks.ts';
import { PostingsWriter } from './postings.ts';
import type { BodyRef, ListRef } from './refs.ts';

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
    return listIn(fast(this.#dictionary.tables.list, node));
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
    const { spec, tables, refs } = this.#dictionary;
    for (const id of this.#post.flush()) {
      const bytes = tables.body.get(id);
      if (bytes === undefined) continue;
      const body = spec.decode(bytes);
      tables.digest.removeSync(digest16(spec.text(body)));
      for (const [tag, texts] of spec.indexes(body)) this.#index.remove(tag, texts, id);
      tables.body.removeSync(id);
      this.#ids.changed(spec.name);
      refs.drop(id);
    }
    this.#index.flush();
  }
}

/** Whether the first `count` of `a` are all of `b`. */
function sameNumbers(a: Uint32Array, count: number, b: Uint32Array): boolean {
  if (count !== b.length) return false;
  for (let i = 0; i < count; i++) if (a[i] !== b[i]) return false;
  return true;
}
