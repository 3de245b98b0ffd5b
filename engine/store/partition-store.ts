// What is open of a partition, and what a thread keeps of it: the environment with its tables, dictionaries and caches. Views read it,
// batches write it; partition.ts gives both out.

import type { RootDatabase } from 'lmdb';
import { fast, inOneTransaction, type ReadOptions } from './file/lmdb.ts';
import { FORMAT_VERSION } from './file/store-info.ts';
import { ItemIds, itemRound } from './item-ids.ts';
import { EDGES, FACTS, PACKAGES, RESOURCES } from './items/dictionaries.ts';
import { Dictionary } from './items/dictionary.ts';
import { Recent } from './items/generations.ts';
import { KeptBytes } from './items/kept-bytes.ts';
import type { KeptLists } from './items/kept-lists.ts';
import { KnownPaths } from './items/known-paths.ts';
import { NameIds } from './items/name-ids.ts';
import { NumbersById } from './items/numbers-by-id.ts';
import type { RecordBudget } from './items/record-cache.ts';
import type { StoredEdge, StoredFact, StoredPackage, StoredResource } from './records/bodies.ts';
import type { EdgeBody, FactBody, PackageBody, ResourceBody } from './records/records.ts';
import { openTables, type Tables } from './records/tables.ts';
import { KindCounts } from './reports/report-kinds.ts';
import { MarkWriter } from './reports/report-marks.ts';
import { MomentWriter } from './reports/report-moments.ts';
import { PeriodCounts } from './reports/report-periods.ts';
import { StatusWriter } from './reports/report-statuses.ts';
import { ReportZones } from './reports/report-zones.ts';
import { Rewritten, type RewrittenKind } from './rewritten.ts';
import { decodeState, freshState, STATE, type State } from './state.ts';

/** Certnames kept by a thread: all of a partition of up to 33,000 nodes. */
const NAMES_MAX = 40_000;

interface StoreOptions {
  readonly budget: RecordBudget;
  /** Nothing of it can be written, so that tables which it lacks cannot be made. */
  readonly isFixed: boolean;
  /** As `rangeMin` of item-ids.ts. */
  readonly itemRange: number | undefined;
}

/** What `open` gives of the environment, which is closed where it throws: nobody would have it then. */
function orClosed<T>(env: RootDatabase, open: () => T): T {
  try {
    return open();
  } catch (error) {
    env.close().catch(() => {});
    throw error;
  }
}

/** An open partition without the ways to read and change it. One thread's own. */
export class PartitionStore {
  readonly dir: string;
  readonly env: RootDatabase;
  readonly tables: Tables;
  readonly resources: Dictionary<ResourceBody, StoredResource>;
  readonly facts: Dictionary<FactBody, StoredFact>;
  readonly edges: Dictionary<EdgeBody, StoredEdge>;
  readonly packages: Dictionary<PackageBody, StoredPackage>;
  /** Certnames of committed nodes: a node never gets another one, and its id is never given to another. */
  readonly names = new Recent<string>(NAMES_MAX);
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

  /** What the thread knows of the times of blocks of reports. */
  readonly reportZones = new ReportZones();

  /** Fact paths that are in the registry: spares the writer a look for each leaf of a new fact. */
  readonly knownPaths = new KnownPaths();

  /** Of the one writer. */
  readonly itemIds: ItemIds;
  readonly kindCounts = new KindCounts();
  readonly markWriter = new MarkWriter();
  readonly momentWriter = new MomentWriter();
  readonly statusWriter = new StatusWriter();
  readonly periodCounts = new PeriodCounts();

  constructor(dir: string, env: RootDatabase, { budget, isFixed, itemRange }: StoreOptions) {
    this.dir = dir;
    this.env = env;
    this.budget = budget;
    this.lists = budget.lists;
    this.kept = { node: new KeptBytes(budget), report: new KeptBytes(budget) };
    const openAll = () => ({
      tables: openTables(env),
      resources: new Dictionary(env, RESOURCES, budget),
      facts: new Dictionary(env, FACTS, budget),
      edges: new Dictionary(env, EDGES, budget),
      packages: new Dictionary(env, PACKAGES, budget),
    });
    const opened = orClosed(env, () => (isFixed ? openAll() : inOneTransaction(env, dir, openAll)));
    this.tables = opened.tables;
    this.itemIds = new ItemIds(opened.tables.state, itemRange);
    this.resources = opened.resources;
    this.facts = opened.facts;
    this.edges = opened.edges;
    this.packages = opened.packages;
    const lists = this.#dictionaries.map((dictionary) => dictionary.lists);
    this.rewritten = { node: new Rewritten([this.kept.node, ...lists]), report: new Rewritten([this.kept.report]) };
  }

  /** Throws when it holds a newer format, or its state cannot be read. */
  requireKnownFormat(): void {
    const { format } = this.readState({});
    if (format > FORMAT_VERSION) {
      throw new Error(
        `${this.dir} was written by a newer version (format ${format}, this program knows ${FORMAT_VERSION})`,
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

  /** Ids of fact names as they are after names went so many times: kept for whoever sees the same, or later, snapshots. */
  nameIds(removals: number): NameIds {
    if (removals === this.#nameIds.removals) return this.#nameIds;
    const ids = new NameIds(removals);
    if (removals > this.#nameIds.removals) this.#nameIds = ids;
    return ids;
  }

  get #dictionaries(): readonly Pick<Dictionary<unknown>, 'spec' | 'lists' | 'refs' | 'forget' | 'turnTo'>[] {
    return [this.resources, this.facts, this.edges, this.packages];
  }

  /** A snapshot of that state begins, or a transaction: what is kept by item ids is of the same round from now on. */
  turnTo(state: Readonly<State>): void {
    for (const dictionary of this.#dictionaries) dictionary.turnTo(itemRound(state, dictionary.spec.name));
  }

  /** After a transaction that was given up: the ids that it gave out will be given out again, and what was read under them is forgotten. */
  forgetUncommitted(): void {
    this.#nameIds = new NameIds(-1);
    this.knownPaths.clear();
    this.itemIds.forget();
    for (const dictionary of this.#dictionaries) dictionary.forget();
  }

  /** Gives back what the thread keeps elsewhere for it. To be called once, when nothing is written any more. */
  protected leave(): void {
    for (const { refs } of this.#dictionaries) refs.close();
  }
}
