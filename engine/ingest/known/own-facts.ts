// Facts of a node's last factset that it has copies of (store/records/copies.ts). Most of them no other node has, so they are not remembered by
// their texts; and most of them come again.

import type { Batch } from '../../store/batch.ts';
import { Scratch } from '../../store/file/lmdb.ts';
import { Ids } from '../../store/items/ids.ts';
import { FACT, StoredFact } from '../../store/records/bodies.ts';
import { Copies } from '../../store/records/copies.ts';
import type { ItemId, NodeId } from '../../store/records/records.ts';

/** So many name ids are passed over to find one: factsets of a node are alike, and a name that is new is not there at all. */
const SKIPPED_MAX = 64;

/** For one node after the other. Its facts are to be asked for in the order of its list. */
export class OwnFacts {
  readonly #pairs = new Ids();
  readonly #copies = new Copies();
  readonly #scratch = new Scratch();
  readonly #fact = new StoredFact();
  #batch: Batch | null = null;
  #node: NodeId = 0;
  #isRead = false;
  #at = 0;

  /** The node's facts as they are before its list changes. */
  of(batch: Batch, node: NodeId): void {
    this.#batch = batch;
    this.#node = node;
    this.#isRead = false;
  }

  /** The item of that name and stored value, 0 when the node is not known to have it. */
  find(nameId: number, value: string): ItemId {
    this.#read();
    const { values: pairs, length } = this.#pairs;
    const last = Math.min(length, this.#at + SKIPPED_MAX * 2);
    let found = this.#at;
    while (found < last && pairs[found] !== nameId) found += 2;
    if (found >= last) return 0;
    let start = 0;
    for (; this.#at <= found; this.#at += 2) start = this.#copies.find(pairs[this.#at + 1]!);
    if (start === 0) return 0;
    this.#fact.load(this.#copies.bytes, start);
    return this.#fact.text(FACT.value) === value ? pairs[found + 1]! : 0;
  }

  #read(): void {
    if (this.#isRead) return;
    this.#isRead = true;
    this.#at = 0;
    const { facts } = (this.#batch as Batch).view;
    facts.readList(this.#node, this.#pairs);
    facts.readCopies(this.#node, this.#copies, this.#scratch);
  }
}
