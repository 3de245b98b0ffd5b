// Records that a thread keeps as they are stored, by their ids, for its next queries: a node's takes 0.16 us here and 0.73 from
// LMDB. In two generations like everything within the budget of `record-cache.ts`.

import { BytesById, PAGE_BYTES } from '../../bytes-by-id.ts';
import type { RecordBudget } from './record-cache.ts';

/** Reads one record at a time. */
interface Reader {
  load(bytes: Buffer, start: number, size: number): void;
}

/** So many bytes of a kind and partition one query may bring in: a look at everything leaves what others come back to. */
export const QUERY_ROOM = 1 << 20;

/** Reading a longer record takes longer than finding it, and there is room for few of them. */
const RECORD_MAX = 2 << 10;

/** What one query brings in. */
export class BroughtIn {
  #room = QUERY_ROOM;

  /** Keeps a record and puts it into `into`. False: neither, as it is long, or the query has brought in enough. */
  add(kept: KeptBytes, id: number, record: Buffer, into: Reader): boolean {
    const { length } = record;
    if (length > RECORD_MAX || length > this.#room) return false;
    this.#room -= length;
    kept.keep(id, record, into);
    return true;
  }
}

export class KeptBytes {
  readonly #budget: RecordBudget;
  #young = new BytesById();
  #old = new BytesById();

  constructor(budget: RecordBudget) {
    this.#budget = budget;
    budget.join(this);
  }

  /** Puts the record into `into`, where it stays as it is. False: it is not kept. */
  load(id: number, into: Reader): boolean {
    let from = this.#young;
    let start = from.startOf(id);
    if (start === 0) {
      from = this.#old;
      start = from.startOf(id);
      if (start === 0) return false;
      if (this.#budget.move(this.#room(id, from.endOf(id) - start))) this.#young.keepOf(id, from);
    }
    into.load(from.bytes, start, from.endOf(id) - start);
    return true;
  }

  /** Keeps a record, given as by `raw` of lmdb.ts, and puts it into `into`. */
  keep(id: number, record: Buffer, into: Reader): void {
    const size = record.length;
    this.#budget.use(this.#room(id, size));
    // It may have been the turn of the next generation.
    const young = this.#young;
    young.keep(id, record, 0, size);
    into.load(young.bytes, young.startOf(id), size);
  }

  /** What a record takes in the younger generation. */
  #room(id: number, size: number): number {
    return size + (this.#young.hasPage(id) ? 0 : PAGE_BYTES);
  }

  turn(): void {
    this.#old = this.#young;
    this.#young = new BytesById();
  }

  delete(id: number): void {
    this.#young.delete(id);
    this.#old.delete(id);
  }

  clear(): void {
    this.turn();
    this.turn();
  }
}
