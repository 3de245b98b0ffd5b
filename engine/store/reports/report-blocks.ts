// What a partition keeps of its reports side by side lies in blocks, a record for those whose ids differ in their last bits only. So a report that
// comes changes the last one of a table, and who looks at many reads a record for all of a block.

import type { Database } from 'lmdb';
import { fast, type ReadOptions } from '../file/lmdb.ts';
import type { ReportId } from '../records/records.ts';

/** So that a block's record is one page of LMDB. */
const BLOCK_BITS = 7;
export const BLOCK_REPORTS = 1 << BLOCK_BITS;

/** The number of the block that a report is in, and its place there. */
export const blockOf = (id: ReportId): number => id >>> BLOCK_BITS;
export const placeIn = (id: ReportId): number => id & (BLOCK_REPORTS - 1);

/** A block as it is stored. All bytes are 0 where the table has no record of it. */
export abstract class ReportBlock {
  abstract readonly bytes: Buffer;

  /** Whether something is kept of the report there. */
  abstract has(place: number): boolean;

  /** Nothing is kept of it any more. */
  abstract clear(place: number): void;

  get isEmpty(): boolean {
    for (let place = 0; place < BLOCK_REPORTS; place++) if (this.has(place)) return false;
    return true;
  }
}

export type BlockTable = Database<Buffer, number>;

function load(block: ReportBlock, stored: Uint8Array | undefined): void {
  if (stored === undefined) block.bytes.fill(0);
  else block.bytes.set(stored);
}

/** Blocks whose memory is used again. */
const SPARE_MAX = 4;

/** The blocks of one table, for the partition's writer. */
export class BlockWriter<B extends ReportBlock> {
  readonly #make: () => B;
  /** By number, those that the transaction changes. */
  readonly #changed = new Map<number, B>();
  readonly #spare: B[] = [];

  constructor(make: () => B) {
    this.#make = make;
  }

  /** What an earlier transaction changed, and took back, is forgotten. */
  begin(): void {
    for (const block of this.#changed.values()) if (this.#spare.length < SPARE_MAX) this.#spare.push(block);
    this.#changed.clear();
  }

  /** The report's block, to be changed. */
  of(table: BlockTable, id: ReportId): B {
    const number = blockOf(id);
    let block = this.#changed.get(number);
    if (block === undefined) {
      block = this.#spare.pop() ?? this.#make();
      load(block, fast(table, number));
      this.#changed.set(number, block);
    }
    return block;
  }

  remove(table: BlockTable, id: ReportId): void {
    this.of(table, id).clear(placeIn(id));
  }

  flush(table: BlockTable): void {
    for (const [number, block] of this.#changed) {
      if (block.isEmpty) table.removeSync(number);
      else table.putSync(number, block.bytes);
    }
  }
}

/** Blocks that a reader has at a time: who reads ids in the order of their producers' times goes back and forth between few. */
const READ_BITS = 2;
const READ_MASK = (1 << READ_BITS) - 1;

/** The blocks of one table at a snapshot. */
export class BlockReader<B extends ReportBlock> {
  readonly #make: () => B;
  readonly #table: BlockTable;
  readonly #options: ReadOptions;
  readonly #blocks: B[];
  readonly #numbers = new Float64Array(READ_MASK + 1).fill(-1);

  constructor(make: () => B, table: BlockTable, options: ReadOptions) {
    this.#make = make;
    this.#table = table;
    this.#options = options;
    this.#blocks = Array.from({ length: READ_MASK + 1 }, make);
  }

  /** The block of that number, until a few others have been read. */
  at(number: number): B {
    const at = number & READ_MASK;
    const block = this.#blocks[at]!;
    if (this.#numbers[at] !== number) {
      load(block, fast(this.#table, number, this.#options));
      this.#numbers[at] = number;
    }
    return block;
  }

  /** Whether something is kept of the report. */
  has(id: ReportId): boolean {
    return this.at(blockOf(id)).has(placeIn(id));
  }

  /** Of how many reports something is kept. */
  count(): number {
    const block = this.#make();
    let count = 0;
    for (const { value } of this.#table.getRange({ ...this.#options })) {
      load(block, value);
      for (let place = 0; place < BLOCK_REPORTS; place++) if (block.has(place)) count++;
    }
    return count;
  }
}
