// A partition: one LMDB environment with everything that belongs to its certnames. One writer (the actor that owns it), any
// number of readers in any thread. Reads go through a View (one snapshot), writes through a Batch (one transaction).

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RootDatabase, TransactionFlags } from 'lmdb';
import { makeDirectory } from '../directories.ts';
import { Batch } from './batch.ts';
import type { StoredEdge, StoredFact, StoredPackage, StoredResource } from './bodies.ts';
import { dataFileOf, writeAgain } from './data-file.ts';
import { EDGES, FACTS, PACKAGES, RESOURCES } from './dictionaries.ts';
import { Dictionary } from './dictionary.ts';
import { Generations } from './generations.ts';
import { KeptBytes } from './kept-bytes.ts';
import type { KeptLists } from './kept-lists.ts';
import { seqKey } from './keys.ts';
import { KnownPaths } from './known-paths.ts';
import {
  allocateLock,
  checkAccess,
  fast,
  inOneTransaction,
  isFailedSync,
  isOnReadOnlyFileSystem,
  openEnvironment,
  type ReadOptions,
  requireRoom,
  writeTransaction,
} from './lmdb.ts';
import { NameIds } from './name-ids.ts';
import { NumbersById } from './numbers-by-id.ts';
import { checkDataFile } from './page-walk.ts';
import { RecordBudget } from './record-cache.ts';
import type { EdgeBody, FactBody, PackageBody, ResourceBody } from './records.ts';
import { KindCounts } from './report-kinds.ts';
import { MarkWriter } from './report-marks.ts';
import { PeriodCounts } from './report-periods.ts';
import { Rewritten, type RewrittenKind } from './rewritten.ts';
import { decodeState, freshState, type PartitionCounts, STATE, type State } from './state.ts';
import { FORMAT_VERSION } from './store-info.ts';
import { openTables, type Tables } from './tables.ts';
import { View } from './view.ts';

export interface PartitionOptions {
  /** Never writes and never creates. */
  readonly readOnly?: boolean;
  /** Shared with the other partitions that the same thread reads. */
  readonly budget?: RecordBudget;
}

/** Address space reserved per partition; LMDB grows the file as needed, and lmdb grows the map beyond this by itself. */
const MAP_SIZE = 64 * 1024 ** 3;
const READERS_MAX = 2000;
/** Certnames kept by a thread. */
const NAMES_MAX = 32_768;
/** Abortable, synchronous commit that readers see before it is flushed (lmdb's overlapping sync, which flushes it within the
 *  call): after a power failure LMDB opens the last flushed transaction, and the command log replays what came after its
 *  stream position. */
const COMMIT_WITHOUT_FLUSH = 0x10003 as TransactionFlags;

/** Opens (and unless read only creates) the partition in `dir`. Throws when it holds a newer format; DataFileDamaged. */
export function openPartition(dir: string, options: PartitionOptions = {}): Partition {
  return new Partition(dir, options);
}

export class Partition {
  readonly dir: string;
  readonly readOnly: boolean;
  readonly env: RootDatabase;
  readonly tables: Tables;
  readonly resources: Dictionary<ResourceBody, StoredResource>;
  readonly facts: Dictionary<FactBody, StoredFact>;
  readonly edges: Dictionary<EdgeBody, StoredEdge>;
  readonly packages: Dictionary<PackageBody, StoredPackage>;
  /** Certnames of committed nodes: a node never gets another one, and its id is never given to another. */
  readonly names = new Generations<string>(NAMES_MAX);
  /** Where these stand among tags (tag-rank.ts). */
  readonly ranks = new NumbersById();
  #nameIds = new NameIds(0);

  /** Records that the thread keeps for its next snapshots, and what is to be forgotten of them. */
  readonly kept: Readonly<Record<RewrittenKind, KeptBytes>>;
  readonly rewritten: Readonly<Record<RewrittenKind, Rewritten>>;

  /** What the thread keeps for later, of all partitions that it reads together. */
  readonly budget: RecordBudget;
  /** Of all partitions that the thread reads together. */
  readonly lists: KeptLists;

  /** The state that was read last, and its bytes. */
  #seen: { readonly bytes: Buffer; readonly state: State } | null = null;

  /** Fact paths that are in the registry: spares the writer a look for each leaf of a new fact. */
  readonly knownPaths = new KnownPaths();

  /** Of the one writer. */
  readonly kindCounts = new KindCounts();
  readonly markWriter = new MarkWriter();
  readonly periodCounts = new PeriodCounts();

  /** A sync has failed: pages that the system takes for written may not be. */
  #isUnsynced = false;

  readonly #atWork = new Set<Promise<void>>();

  constructor(dir: string, options: PartitionOptions) {
    this.dir = dir;
    this.readOnly = options.readOnly ?? false;
    if (!this.readOnly) makeDirectory(dir);
    checkDataFile(dir);
    if (!this.readOnly && existsSync(this.#unsyncedMark)) {
      for (const _ of writeAgain(dataFileOf(dir)));
      rmSync(this.#unsyncedMark);
    }
    const isFixed = this.readOnly && isOnReadOnlyFileSystem(dir);
    if (!isFixed) {
      checkAccess(dir);
      allocateLock(dir, READERS_MAX);
    }
    this.env = openEnvironment({
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
    const budget = options.budget ?? new RecordBudget();
    this.budget = budget;
    this.lists = budget.lists;
    this.kept = { node: new KeptBytes(budget), report: new KeptBytes(budget) };
    const openAll = () => ({
      tables: openTables(this.env),
      resources: new Dictionary(this.env, RESOURCES, budget),
      facts: new Dictionary(this.env, FACTS, budget),
      edges: new Dictionary(this.env, EDGES, budget),
      packages: new Dictionary(this.env, PACKAGES, budget),
    });
    const opened = isFixed ? openAll() : inOneTransaction(this.env, dir, openAll);
    this.tables = opened.tables;
    this.resources = opened.resources;
    this.facts = opened.facts;
    this.edges = opened.edges;
    this.packages = opened.packages;
    const lists = this.#dictionaries.map((dictionary) => dictionary.lists);
    this.rewritten = { node: new Rewritten([this.kept.node, ...lists]), report: new Rewritten([this.kept.report]) };
    const state = this.readState({});
    if (state.format > FORMAT_VERSION) {
      throw new Error(
        `${dir} was written by a newer version (format ${state.format}, this program knows ${FORMAT_VERSION})`,
      );
    }
  }

  readState(options: ReadOptions): State {
    const bytes = fast(this.tables.state, STATE, options);
    return bytes === undefined ? freshState() : decodeState(bytes);
  }

  /** The state at a snapshot, not to be changed: most snapshots see what the one before saw. */
  stateAt(options: ReadOptions): Readonly<State> {
    const bytes = fast(this.tables.state, STATE, options);
    if (bytes === undefined) return freshState();
    if (this.#seen === null || !bytes.equals(this.#seen.bytes)) {
      this.#seen = { bytes: Buffer.from(bytes), state: decodeState(bytes) };
    }
    return this.#seen.state;
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
    rmSync(this.#unsyncedMark, { force: true });
  }

  #syncFailed(): void {
    this.#isUnsynced = true;
    try {
      writeFileSync(this.#unsyncedMark, '');
    } catch {
      // The next process will believe a sync, as this one would have.
    }
  }

  /** A file that is there while `#isUnsynced`, also for the next process: the system's memory outlives this one. */
  get #unsyncedMark(): string {
    return join(this.dir, 'unsynced');
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
    return new View(this, this.env.useReadTransaction());
  }

  /**
   * Runs `change` in one write transaction: all of it is committed, or (when it throws) nothing. Synchronous. `bytes`: about how
   * much it writes, where that may be much. Throws ENOSPC before anything is tried when there is no room for it.
   */
  write<T>(change: (batch: Batch) => T, bytes = 0): T {
    if (this.readOnly) throw new Error(`${this.dir} is open for reading only`);
    requireRoom(this.dir, bytes);
    if (this.#isUnsynced) {
      const text = `${dataFileOf(this.dir)} could not be flushed; nothing is written until it could`;
      throw Object.assign(new Error(text), { code: 'EAGAIN' });
    }
    try {
      const run = (): T => {
        const batch = new Batch(this);
        const result = change(batch);
        batch.finish();
        return result;
      };
      return writeTransaction(this.env, this.dir, run, COMMIT_WITHOUT_FLUSH);
    } catch (error) {
      if (isFailedSync(error)) this.#syncFailed();
      // Ids given out by the aborted transaction will be given out again: forget what was read under them.
      this.#nameIds = new NameIds(-1);
      this.knownPaths.clear();
      for (const dictionary of this.#dictionaries) dictionary.forget();
      throw error;
    }
  }

  /** Ids of fact names as they are after names went so many times: kept for whoever sees the same, or later, snapshots. */
  nameIds(removals: number): NameIds {
    if (removals === this.#nameIds.removals) return this.#nameIds;
    const ids = new NameIds(removals);
    if (removals > this.#nameIds.removals) this.#nameIds = ids;
    return ids;
  }

  get #dictionaries(): readonly Pick<Dictionary<unknown>, 'spec' | 'lists' | 'forget' | 'forgetReused'>[] {
    return [this.resources, this.facts, this.edges, this.packages];
  }

  /** A snapshot of that state begins: what is kept by item ids that were given to others is forgotten. */
  forgetReused({ wrapped, nextItem }: Readonly<State>): void {
    if (!wrapped) return;
    for (const dictionary of this.#dictionaries) dictionary.forgetReused(nextItem[dictionary.spec.name] ?? 1);
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
  async close(): Promise<void> {
    await Promise.allSettled(this.#atWork);
    await this.env.close();
  }
}
