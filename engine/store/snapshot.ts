// What a view reads at, and what ends with it: a snapshot of a partition, or what the write transaction sees.

import { fast, type ReadOptions, raw, type Scratch } from './file/lmdb.ts';
import { BroughtIn } from './items/kept-bytes.ts';
import type { PartitionStore } from './partition-store.ts';
import type { Fields } from './records/fields.ts';
import { REWRITTEN, REWRITTEN_KINDS, type RewrittenKind } from './rewritten.ts';
import type { State } from './state.ts';

/** Not for use after `close`. */
export class Snapshot {
  readonly partition: PartitionStore;
  readonly options: ReadOptions;
  readonly state: Readonly<State>;
  readonly #broughtIn = new BroughtIn();
  /** Ranges that were begun. One that is left before its end holds the snapshot, so `close` ends them. */
  readonly #ranges: Generator[] = [];

  /** `transaction`: a read transaction; undefined: the write transaction that runs. */
  // biome-ignore lint/suspicious/noExplicitAny: lmdb's transaction handle has no exported type
  constructor(partition: PartitionStore, transaction: any) {
    this.partition = partition;
    this.options = transaction === undefined ? {} : { transaction };
    this.state = transaction === undefined ? partition.readState({}) : partition.stateAt(this.options);
    if (transaction !== undefined) this.#begin();
  }

  /** What the thread keeps of earlier snapshots becomes what this one sees. */
  #begin(): void {
    const { partition, options, state } = this;
    partition.turnTo(state);
    for (const kind of REWRITTEN_KINDS) {
      partition.rewritten[kind].begin(state.rewritten[kind] ?? 0, () =>
        fast(partition.tables.state, REWRITTEN[kind], options),
      );
    }
  }

  /** Whether what the thread keeps of such records is as the snapshot has it: not within a transaction that writes, nor of an old snapshot. */
  seesKept(kind: RewrittenKind): boolean {
    if (this.options.transaction === undefined) return false;
    return this.partition.rewritten[kind].isAt(this.state.rewritten[kind] ?? 0);
  }

  /** Puts the record of that id into `into`, which then reads it in `scratch` or among those that are kept; false when there is none. */
  read(kind: RewrittenKind, id: number, into: Fields, scratch: Scratch): boolean {
    const kept = this.partition.kept[kind];
    const sees = this.seesKept(kind);
    if (sees && kept.load(id, into)) return true;
    const bytes = raw(this.partition.tables[kind], id, this.options);
    if (bytes === undefined) return false;
    if (!(sees && this.#broughtIn.add(kept, id, bytes, into))) into.load(scratch.copy(bytes));
    return true;
  }

  /** Rows that are read one by one, until `close` at the latest. */
  range<Row>(rows: Generator<Row, void, undefined>): Generator<Row, void, undefined> {
    this.#ranges.push(rows);
    return rows;
  }

  close(): void {
    for (const range of this.#ranges.splice(0)) range.return(undefined);
    this.options.transaction?.done();
    delete this.options.transaction;
  }
}
