// Content-addressed bodies shared by all nodes of a partition: resource bodies, facts, edge groups, packages. A body is
// stored once; a node has a list of item ids; postings lead from an item back to its nodes. Most rows of most fleets are
// equal, so filters run once a body instead of once a row, and a changed node rewrites its list and its own bodies only.

import type { RootDatabase } from 'lmdb';
import { openTable } from '../file/lmdb.ts';
import type { Fields } from '../records/fields.ts';
import type { DictionarySpec } from './dictionaries.ts';
import type { ItemClasses } from './item-classes.ts';
import type { ItemSignatures } from './item-signatures.ts';
import { KeptBytes } from './kept-bytes.ts';
import { type RecordBudget, RecordCache } from './record-cache.ts';
import { openRefs, type Refs } from './refs.ts';

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
    this.refs = openRefs(spec.name);
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
    this.records.clear();
    this.bodies.clear();
    this.#classes?.forget();
    this.#signatures?.forget();
  }
}

/** The list that is stored as these bytes; undefined: none. */
export function listIn(bytes: Buffer | undefined): Uint32Array {
  if (bytes === undefined) return EMPTY_LIST;
  const list = new Uint32Array(bytes.length >>> 2);
  new Uint8Array(list.buffer).set(bytes.subarray(0, list.length * 4));
  return list;
}
const EMPTY_LIST = new Uint32Array(0);
