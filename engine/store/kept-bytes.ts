// Records that a thread keeps as they are stored, by their ids, for its next queries: a node's takes 0.16 us here and 0.73 from
// LMDB. In two generations like everything within the budget of `record-cache.ts`.

import { Memory } from '../bytes.ts';
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

const PAGE_BITS = 8;
const PAGE_MASK = (1 << PAGE_BITS) - 1;
const PAGE_BYTES = 4 << PAGE_BITS;
const BYTES_MIN = 16 << 10;
/** Behind their sizes. */
const SIZE = 4;
/** No record begins there. */
const NONE = 0;
const NOTHING = Buffer.alloc(0);

class Generation {
  /** Each record behind its size, u32. Only appended to: who reads a record in it may do so for long. */
  bytes = NOTHING;
  #end = 0;
  /** By id, in pages: where the record begins. */
  readonly #pages: (Uint32Array | undefined)[] = [];

  find(id: number): number {
    const page = this.#pages[id >>> PAGE_BITS];
    return page === undefined ? NONE : page[id & PAGE_MASK]!;
  }

  sizeAt(start: number): number {
    return this.bytes.readUInt32LE(start - SIZE);
  }

  /** Where it begins. */
  add(id: number, record: Uint8Array, size: number): number {
    const start = this.#end + SIZE;
    const end = start + size;
    if (end > this.bytes.length) {
      const bytes = Buffer.allocUnsafeSlow(Math.max(BYTES_MIN, end, this.bytes.length * 2));
      bytes.set(this.bytes);
      this.bytes = bytes;
    }
    this.bytes.writeUInt32LE(size, this.#end);
    this.bytes.set(record, start);
    this.#end = end;
    this.#pageOf(id)[id & PAGE_MASK] = start;
    return start;
  }

  hasPage(id: number): boolean {
    return this.#pages[id >>> PAGE_BITS] !== undefined;
  }

  #pageOf(id: number): Uint32Array {
    return (this.#pages[id >>> PAGE_BITS] ??= new Uint32Array(1 << PAGE_BITS));
  }

  delete(id: number): void {
    const page = this.#pages[id >>> PAGE_BITS];
    if (page !== undefined) page[id & PAGE_MASK] = NONE;
  }
}

export class KeptBytes {
  readonly #budget: RecordBudget;
  readonly #source = new Memory();
  #young = new Generation();
  #old = new Generation();

  constructor(budget: RecordBudget) {
    this.#budget = budget;
    budget.join(this);
  }

  /** Puts the record into `into`, where it stays as it is. False: it is not kept. */
  load(id: number, into: Reader): boolean {
    let from = this.#young;
    let start = from.find(id);
    if (start === NONE) {
      from = this.#old;
      start = from.find(id);
      if (start === NONE) return false;
      const size = from.sizeAt(start);
      if (this.#budget.move(this.#room(id, size))) this.#young.add(id, from.bytes.subarray(start, start + size), size);
    }
    into.load(from.bytes, start, from.sizeAt(start));
    return true;
  }

  /** Keeps a record, given as by `raw` of lmdb.ts, and puts it into `into`. */
  keep(id: number, record: Buffer, into: Reader): void {
    const size = record.length;
    this.#budget.use(this.#room(id, size));
    // It may have been the turn of the next generation.
    const young = this.#young;
    const start = young.add(id, this.#source.of(record, 0, size), size);
    into.load(young.bytes, start, size);
  }

  /** What a record takes in the younger generation. */
  #room(id: number, size: number): number {
    return SIZE + size + (this.#young.hasPage(id) ? 0 : PAGE_BYTES);
  }

  turn(): void {
    this.#old = this.#young;
    this.#young = new Generation();
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
