// A partition: one LMDB environment with everything that belongs to its certnames. One writer (the actor that owns it), any
// number of readers in any thread. Reads go through a View (one snapshot), writes through a Batch (one transaction).

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TransactionFlags } from 'lmdb';
import { isThere, makeDirectory } from '../directories.ts';
import { Batch } from './batch.ts';
import { writeAgain } from './file/data-file.ts';
import { seqKey } from './file/keys.ts';
import { dataFileOf, MAP_SIZE } from './file/layout.ts';
import {
  allocateLock,
  checkAccess,
  hasNoFreeList,
  isFailedSync,
  isOnReadOnlyFileSystem,
  openEnvironment,
  requireFiles,
  requireRoom,
  writeTransaction,
} from './file/lmdb.ts';
import { checkDataFile } from './file/page-walk.ts';
import { RecordBudget } from './items/record-cache.ts';
import { PartitionStore } from './partition-store.ts';
import type { PartitionCounts } from './state.ts';
import { View } from './view.ts';

export interface PartitionOptions {
  /** Never writes and never creates. */
  readonly readOnly?: boolean;
  /** With `readOnly`: the file stays as it is to the byte. A table that it lacks, as it is older than the table, is not made. */
  readonly asIs?: boolean | undefined;
  /** Shared with the other partitions that the same thread reads. */
  readonly budget?: RecordBudget;
  /** How many item ids a round of them has at least; default: some million (item-ids.ts). */
  readonly itemRange?: number | undefined;
}

const READERS_MAX = 2000;
/** Each takes a call to the system for every other process that reads. */
const WRITES_BETWEEN_LOOKS = 64;
/** Abortable, synchronous commit that readers see before it is flushed (lmdb's overlapping sync, which flushes it within the
 *  call): after a power failure LMDB opens the last flushed transaction, and the command log replays what came after its
 *  stream position. */
const COMMIT_WITHOUT_FLUSH = 0x10003 as TransactionFlags;

/** Opens (and unless read only creates) the partition in `dir`. Throws when it holds a newer format; DataFileDamaged. */
export function openPartition(dir: string, options: PartitionOptions = {}): Partition {
  const partition = new Partition(dir, options);
  try {
    partition.requireKnownFormat();
  } catch (error) {
    partition.close().catch(() => {});
    throw error;
  }
  return partition;
}

/** A file that is there while a sync has failed, also for the next process: the system's memory outlives this one. */
const unsyncedMark = (dir: string): string => join(dir, 'unsynced');

export class Partition extends PartitionStore {
  readonly readOnly: boolean;

  /** A sync has failed: pages that the system takes for written may not be. */
  #isUnsynced = false;
  #writes = 0;
  #hasFreeList = false;

  readonly #atWork = new Set<Promise<void>>();
  #closing: Promise<void> | null = null;

  constructor(dir: string, options: PartitionOptions) {
    const readOnly = options.readOnly ?? false;
    if (!readOnly) makeDirectory(dir);
    checkDataFile(dir);
    if (!readOnly && isThere(unsyncedMark(dir))) {
      for (const _ of writeAgain(dataFileOf(dir)));
      rmSync(unsyncedMark(dir));
    }
    const isOutOfReach = readOnly && isOnReadOnlyFileSystem(dir);
    const isFixed = isOutOfReach || options.asIs === true;
    if (!isOutOfReach) {
      checkAccess(dir);
      allocateLock(dir, READERS_MAX);
    }
    requireFiles(dir);
    const env = openEnvironment({
      path: dir,
      noSubdir: false,
      maxDbs: 64,
      maxReaders: READERS_MAX,
      mapSize: MAP_SIZE,
      cache: false,
      // Readers open in the same process as the writer; read-only opens never write through this handle. Where nobody can write,
      // such as on a snapshot of the file system, LMDB must not want to either.
      readOnly: isFixed,
    });
    const { budget = new RecordBudget(), itemRange } = options;
    super(dir, env, { budget, isFixed, itemRange });
    this.readOnly = readOnly;
  }

  /** Stream position of the last commit. */
  get position(): number {
    return this.readState({}).position;
  }

  counts(): PartitionCounts {
    return this.readState({}).counts;
  }

  /**
   * Resolves when everything committed before the call would survive a power failure. After a sync that failed the next one would be believed
   * though it writes nothing, so everything is written again first; until that is done, nothing else is written.
   */
  flush(): Promise<void> {
    return this.#whileOpen(this.#isUnsynced ? this.#writeAgain().then(() => this.#sync()) : this.#sync());
  }

  #sync(): Promise<void> {
    const env = this.env as unknown as { sync(done: (error?: Error) => void): void };
    return new Promise((resolve, reject) =>
      env.sync((error) => {
        if (!error) return resolve();
        this.#syncFailed();
        reject(error);
      }),
    );
  }

  async #writeAgain(): Promise<void> {
    await Promise.allSettled(this.#atWork);
    for (const _ of writeAgain(dataFileOf(this.dir))) await nextTurn();
    this.#isUnsynced = false;
    rmSync(unsyncedMark(this.dir), { force: true });
  }

  #syncFailed(): void {
    this.#isUnsynced = true;
    try {
      writeFileSync(unsyncedMark(this.dir), '');
    } catch {
      // The next process will believe a sync, as this one would have.
    }
  }

  /** What runs on a thread of its own: the environment must not be closed before it is done. */
  #whileOpen(work: Promise<void>): Promise<void> {
    this.#atWork.add(work);
    return work.finally(() => this.#atWork.delete(work));
  }

  /** A view of the present state. The caller closes it; until then it sees nothing of later commits. */
  snapshot(): View {
    // lmdb lets everybody share one read transaction until a timer lets go of it: a snapshot taken in the same turn of the
    // event loop as an earlier one would be as old as that, and miss commands that were acknowledged in between.
    (this.env as unknown as { resetReadTxn(): void }).resetReadTxn();
    const transaction = this.env.useReadTransaction();
    try {
      return new View(this, transaction);
    } catch (error) {
      transaction.done();
      throw error;
    }
  }

  /**
   * Runs `change` in one write transaction: all of it is committed, or (when it throws) nothing. Synchronous. `bytes`: about how
   * much it writes, where that may be much. Throws ENOSPC before anything is tried when there is no room for it.
   */
  write<T>(change: (batch: Batch) => T, bytes = 0): T {
    if (this.readOnly) throw new Error(`${this.dir} is open for reading only`);
    this.requireRoom(bytes);
    this.#forgetDeadReaders();
    if (this.#isUnsynced) {
      const text = `${dataFileOf(this.dir)} could not be flushed; nothing is written until it could`;
      throw Object.assign(new Error(text), { code: 'EAGAIN' });
    }
    try {
      this.#beginFreeList();
      return this.#transact(change);
    } catch (error) {
      if (isFailedSync(error)) this.#syncFailed();
      this.forgetUncommitted();
      throw error;
    }
  }

  #transact<T>(change: (batch: Batch) => T): T {
    const run = (): T => {
      const batch = new Batch(this);
      const result = change(batch);
      batch.finish();
      return result;
    };
    return writeTransaction(this.env, this.dir, run, COMMIT_WITHOUT_FLUSH);
  }

  /**
   * A copy has no list of free pages yet. LMDB ends the process where the first transaction that makes one frees more pages than go into a record of
   * one page (an assertion in mdb_page_alloc): one that frees few comes first.
   */
  #beginFreeList(): void {
    if (this.#hasFreeList) return;
    if (hasNoFreeList(this.env)) this.#transact(() => {});
    this.#hasFreeList = true;
  }

  /** Throws ENOSPC when there may be no room for so many bytes of content. A transaction that turns out to write as much asks before it does. */
  requireRoom(bytes: number): void {
    requireRoom(this.dir, bytes);
  }

  /**
   * A process that was killed while it looked at the partition (a backup, a check) stays in LMDB's table of readers, and no page that was free
   * since then would be used again. LMDB itself looks for such ones only when somebody opens the partition.
   */
  #forgetDeadReaders(): void {
    if (this.#writes++ % WRITES_BETWEEN_LOOKS !== 0) return;
    try {
      this.env.readerCheck();
    } catch {
      // The next look may tell; nothing else depends on it.
    }
  }

  /** Commands that wait for another attempt, in stream order. */
  retrySeqs(): number[] {
    const seqs: number[] = [];
    for (const key of this.tables.retry.getKeys({})) seqs.push(Number(key.readBigUInt64BE(0)));
    return seqs;
  }

  /** What `Batch.putRetry` stored; null when there is no such entry. */
  retry(seq: number): Uint8Array | null {
    return this.tables.retry.get(seqKey(seq)) ?? null;
  }

  /** Writes a consistent copy of the environment into `dir` while reads and writes go on. */
  async backupTo(dir: string): Promise<void> {
    makeDirectory(dir);
    await this.#whileOpen(this.env.backup(dir, true));
  }

  /** Waits for flushes and copies that run. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#atWork);
    this.leave();
    await this.env.close();
  }
}
