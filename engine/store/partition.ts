// A partition: one LMDB environment with everything that belongs to its certnames. One writer (the actor that owns it), any
// number of readers in any thread. Reads go through a View (one snapshot), writes through a Batch (one transaction).
//
//   state          'state'           -> counters, ids, stream position (msgpack)
//   node_id        certname          -> u32 node
//   node           u32 node          -> node record
//   node_set       postings of the sets below: of nodes, and of reports
//   inputs         u32 node          -> JSON text [[type, name], ...]
//   catalog_memo, factset_memo   u32 node -> what is remembered of the payload it came with (ingest/spans.ts), as text
//   resource_known u32 node          -> by what some of its resources are known when they are sent again (known-items.ts)
//   fact_name      fact name         -> u32 name id
//   fact_path      digest            -> JSON text [type, path...]: the registry behind fact_paths
//   report         u32 report        -> report record;  by the same id: report_event / _event_value (event-record.ts),
//                                       report_lists (report-lists.ts); before format 2 report_logs / _metrics / _resources
//   report_digest  20-byte hash      -> u32 report
//   report_node    u32 node u32 report -> empty
//   report_time    producer time, u32 report -> empty
//   environment, producer   name     -> the name
//   retry          u64 seq           -> a command that waits for another attempt
//   dictionaries   see dictionary.ts

import type { Database, RootDatabase, TransactionFlags } from 'lmdb';
import { ByteWriter } from '../bytes.ts';
import { makeDirectory } from '../directories.ts';
import type { StoredEdge, StoredFact, StoredPackage, StoredResource } from './bodies.ts';
import { decodeState, encodeState } from './codecs.ts';
import {
  Dictionary,
  DictionaryView,
  DictionaryWriter,
  EDGES,
  FACT_BY_NAME,
  FACTS,
  PACKAGES,
  RESOURCES,
  RecordBudget,
  type ViewBounds,
} from './dictionary.ts';
import { decodeEvents, type EncodedEvents, type EventSource, encodeEvents } from './event-record.ts';
import { Generations } from './generations.ts';
import type { KeptLists } from './kept-lists.ts';
import { digest16, idOfTimeKey, KEY_TEXT_MAX, pairKey, seqKey, textKey, timeKey, timeOfKey } from './keys.ts';
import { encodeKnown, type KnownItem, KnownItems } from './known-items.ts';
import { KnownPaths } from './known-paths.ts';
import {
  fast,
  inOneTransaction,
  isOnReadOnlyFileSystem,
  openEnvironment,
  present,
  type ReadOptions,
  raw,
  requireRoom,
  type Scratch,
  writeTransaction,
} from './lmdb.ts';
import { decodeNode, encodeNode, type StoredNode } from './node-record.ts';
import type { NodeSet } from './node-set.ts';
import { checkDataFile } from './page-walk.ts';
import { PostingsWriter, postingIds, postingsOf } from './postings.ts';
import {
  type Counted,
  type EdgeBody,
  type EventRecord,
  emptyNode,
  type FactBody,
  type ItemId,
  type NodeId,
  type NodeRecord,
  type PackageBody,
  type Registered,
  type ReportId,
  type ReportRecord,
  type ResourceBody,
} from './records.ts';
import {
  encodeReportLists,
  REPORT_LISTS,
  type ReportListName,
  type ReportLists,
  writeReportList,
} from './report-lists.ts';
import { decodeReport, encodeReport, type StoredReport } from './report-record.ts';
import { FORMAT_VERSION } from './store-info.ts';

/** Sets of nodes kept as postings. */
export const NODES_ALL = 1;
/** `deactivated` or `expired` is set. */
export const NODES_INACTIVE = 2;
export const NODES_WITH_CATALOG = 3;
export const NODES_WITH_FACTS = 4;
export const NODES_WITH_REPORT = 5;
export const NODES_WITH_INPUTS = 6;
export const NODES_WITH_PACKAGES = 7;
/** Sets of reports kept the same way: those that are the latest of their nodes, those with events. */
export const REPORTS_LATEST = 8;
export const REPORTS_WITH_EVENTS = 9;

/** Of what a payload is remembered, so that it is known when it comes again. */
export type MemoKind = 'catalog' | 'factset';
export const MEMO_TABLES = { catalog: 'catalog_memo', factset: 'factset_memo' } as const satisfies Record<
  MemoKind,
  keyof Tables
>;

/** Counters of rows, kept by the writer. */
export interface PartitionCounts {
  nodes: number;
  catalogs: number;
  factsets: number;
  resources: number;
  facts: number;
  packages: number;
  reports: number;
  events: number;
}

interface State {
  format: number;
  /** Stream position: every command with a smaller or equal seq has been applied (or is in `retry`, or in the dead letters). */
  position: number;
  nextNode: number;
  nextReport: number;
  nextName: number;
  nextItem: Record<string, number>;
  /** Item ids went past 2^32 once: new ones must be checked for being free. */
  wrapped: boolean;
  counts: PartitionCounts;
  /** How often things of a kind came or went: while it is the same, there are the same ones. Absent in older stores. */
  changes: Partial<Record<Registered, number>>;
}

const freshState = (): State => ({
  format: FORMAT_VERSION,
  position: 0,
  nextNode: 1,
  nextReport: 1,
  nextName: 1,
  nextItem: { resource: 1, fact: 1, edge: 1, package: 1 },
  wrapped: false,
  counts: { nodes: 0, catalogs: 0, factsets: 0, resources: 0, facts: 0, packages: 0, reports: 0, events: 0 },
  changes: {},
});

const stateOf = (bytes: Buffer): State => ({ changes: {}, ...decodeState(bytes) }) as State;

export interface PartitionOptions {
  /** Never writes and never creates. */
  readonly readOnly?: boolean;
  /** Shared with the other partitions that the same thread reads. */
  readonly budget?: RecordBudget;
}

const STATE = Buffer.from('state');
const EMPTY = Buffer.alloc(0);
/** Address space reserved per partition; LMDB grows the file as needed, and lmdb grows the map beyond this by itself. */
const MAP_SIZE = 64 * 1024 ** 3;
const READERS_MAX = 2000;
/** Certnames kept by a thread. */
const NAMES_MAX = 32_768;
/** Abortable, synchronous commit that readers see before it is flushed (lmdb's overlapping sync, which flushes it within the
 *  call): after a power failure LMDB opens the last flushed transaction, and the command log replays what came after its
 *  stream position. */
const COMMIT_WITHOUT_FLUSH = 0x10003 as TransactionFlags;

export interface Tables {
  state: Database<Buffer, Buffer>;
  node_id: Database<Buffer, Buffer>;
  node: Database<Buffer, number>;
  node_set: Database<Buffer, Buffer>;
  inputs: Database<Buffer, number>;
  catalog_memo: Database<Buffer, number>;
  factset_memo: Database<Buffer, number>;
  resource_known: Database<Buffer, number>;
  fact_name: Database<Buffer, Buffer>;
  fact_path: Database<Buffer, Buffer>;
  report: Database<Buffer, number>;
  report_event: Database<Buffer, number>;
  report_event_value: Database<Buffer, number>;
  report_lists: Database<Buffer, number>;
  report_logs: Database<Buffer, number>;
  report_metrics: Database<Buffer, number>;
  report_resources: Database<Buffer, number>;
  report_digest: Database<Buffer, Buffer>;
  report_node: Database<Buffer, Buffer>;
  report_time: Database<Buffer, Buffer>;
  environment: Database<Buffer, Buffer>;
  producer: Database<Buffer, Buffer>;
  retry: Database<Buffer, Buffer>;
}

function openTables(env: RootDatabase): Tables {
  const bytes = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
  const byId = { encoding: 'binary', keyEncoding: 'uint32', cache: false } as const;
  const packed = { ...byId, compression: true } as const;
  return {
    state: env.openDB<Buffer, Buffer>('state', bytes),
    node_id: env.openDB<Buffer, Buffer>('node_id', bytes),
    node: env.openDB<Buffer, number>('node', byId),
    node_set: env.openDB<Buffer, Buffer>('node_set', bytes),
    inputs: env.openDB<Buffer, number>('inputs', byId),
    catalog_memo: env.openDB<Buffer, number>('catalog_memo', byId),
    factset_memo: env.openDB<Buffer, number>('factset_memo', byId),
    resource_known: env.openDB<Buffer, number>('resource_known', byId),
    fact_name: env.openDB<Buffer, Buffer>('fact_name', bytes),
    fact_path: env.openDB<Buffer, Buffer>('fact_path', bytes),
    report: env.openDB<Buffer, number>('report', byId),
    report_event: env.openDB<Buffer, number>('report_event', byId),
    report_event_value: env.openDB<Buffer, number>('report_event_value', packed),
    report_lists: env.openDB<Buffer, number>('report_lists', byId),
    report_logs: env.openDB<Buffer, number>('report_logs', packed),
    report_metrics: env.openDB<Buffer, number>('report_metrics', packed),
    report_resources: env.openDB<Buffer, number>('report_resources', packed),
    report_digest: env.openDB<Buffer, Buffer>('report_digest', bytes),
    report_node: env.openDB<Buffer, Buffer>('report_node', bytes),
    report_time: env.openDB<Buffer, Buffer>('report_time', bytes),
    environment: env.openDB<Buffer, Buffer>('environment', bytes),
    producer: env.openDB<Buffer, Buffer>('producer', bytes),
    retry: env.openDB<Buffer, Buffer>('retry', bytes),
  };
}

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
  /** fact name -> name id; names are never removed, so the cache is right in every snapshot that has the name. */
  readonly nameIds = new Map<string, number>();

  /** Of all partitions that the thread reads together. */
  readonly lists: KeptLists;

  /** The state that was read last, and its bytes. */
  #seen: { readonly bytes: Buffer; readonly state: State } | null = null;

  /** Fact paths that are in the registry: spares the writer a look for each leaf of a new fact. */
  readonly knownPaths = new KnownPaths();

  readonly #atWork = new Set<Promise<void>>();

  constructor(dir: string, options: PartitionOptions) {
    this.dir = dir;
    this.readOnly = options.readOnly ?? false;
    if (!this.readOnly) makeDirectory(dir);
    checkDataFile(dir);
    const isFixed = this.readOnly && isOnReadOnlyFileSystem(dir);
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
    this.lists = budget.lists;
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
    const state = this.readState({});
    if (state.format > FORMAT_VERSION) {
      throw new Error(
        `${dir} was written by a newer version (format ${state.format}, this program knows ${FORMAT_VERSION})`,
      );
    }
  }

  readState(options: ReadOptions): State {
    const bytes = fast(this.tables.state, STATE, options);
    return bytes === undefined ? freshState() : stateOf(bytes);
  }

  /** The state at a snapshot, not to be changed: most snapshots see what the one before saw. */
  stateAt(options: ReadOptions): Readonly<State> {
    const bytes = fast(this.tables.state, STATE, options);
    if (bytes === undefined) return freshState();
    if (this.#seen === null || !bytes.equals(this.#seen.bytes)) {
      this.#seen = { bytes: Buffer.from(bytes), state: stateOf(bytes) };
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

  /** Resolves when everything committed before the call would survive a power failure. */
  flush(): Promise<void> {
    const env = this.env as unknown as { sync(done: (error?: Error) => void): void };
    return this.#whileOpen(new Promise((resolve, reject) => env.sync((error) => (error ? reject(error) : resolve()))));
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
    try {
      const run = (): T => {
        const batch = new Batch(this);
        const result = change(batch);
        batch.finish();
        return result;
      };
      return writeTransaction(this.env, this.dir, run, COMMIT_WITHOUT_FLUSH);
    } catch (error) {
      // Ids given out by the aborted transaction will be given out again: forget what was read under them.
      this.nameIds.clear();
      this.knownPaths.clear();
      for (const dictionary of this.#dictionaries) dictionary.forget();
      throw error;
    }
  }

  get #dictionaries(): readonly Pick<Dictionary<unknown>, 'spec' | 'forget' | 'forgetReused'>[] {
    return [this.resources, this.facts, this.edges, this.packages];
  }

  /** A snapshot of that state begins: what is kept by item ids that were given to others is forgotten. */
  forgetReused({ wrapped, nextItem }: Readonly<State>): void {
    if (!wrapped) return;
    for (const dictionary of this.#dictionaries) dictionary.forgetReused(nextItem[dictionary.spec.name] ?? 1);
  }

  /** Commands waiting for another attempt, in stream order. */
  retries(): { seq: number; bytes: Buffer }[] {
    const out: { seq: number; bytes: Buffer }[] = [];
    for (const { key, value } of this.tables.retry.getRange({})) {
      out.push({ seq: Number(key.readBigUInt64BE(0)), bytes: Buffer.from(value) });
    }
    return out;
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

export interface NamedNode {
  /** The certname as UTF-8. */
  readonly name: Uint8Array;
  readonly node: NodeId;
}

/** Epoch ms, inclusive. */
interface TimeRange {
  readonly from?: number;
  readonly to?: number;
  readonly reverse?: boolean;
}

interface FactPath {
  readonly type: string;
  readonly path: (string | number)[];
}

/** Reads at one snapshot. Not for use after `close`. */
export class View implements EventSource, ViewBounds {
  readonly partition: Partition;
  readonly options: ReadOptions;
  readonly resources: DictionaryView<ResourceBody, StoredResource>;
  readonly facts: DictionaryView<FactBody, StoredFact>;
  readonly edges: DictionaryView<EdgeBody, StoredEdge>;
  readonly packages: DictionaryView<PackageBody, StoredPackage>;
  readonly maxNodeId: NodeId;
  readonly state: Readonly<State>;
  /** Ranges that were begun. One that is left before its end holds the snapshot, so `close` ends them. */
  readonly #ranges: Generator[] = [];

  // biome-ignore lint/suspicious/noExplicitAny: lmdb's transaction handle has no exported type
  constructor(partition: Partition, transaction: any) {
    this.partition = partition;
    this.options = transaction === undefined ? {} : { transaction };
    this.state = transaction === undefined ? partition.readState({}) : partition.stateAt(this.options);
    if (transaction !== undefined) partition.forgetReused(this.state);
    this.maxNodeId = this.state.nextNode - 1;
    this.resources = new DictionaryView(partition.resources, this.options, this);
    this.facts = new DictionaryView(partition.facts, this.options, this);
    this.edges = new DictionaryView(partition.edges, this.options, this);
    this.packages = new DictionaryView(partition.packages, this.options, this);
  }

  itemsEnd(name: string): ItemId {
    return this.state.wrapped ? 0xffff_ffff : (this.state.nextItem[name] ?? 1);
  }

  close(): void {
    for (const range of this.#ranges.splice(0)) range.return(undefined);
    this.options.transaction?.done();
    delete this.options.transaction;
  }

  #range<Row>(rows: Generator<Row, void, undefined>): Generator<Row, void, undefined> {
    this.#ranges.push(rows);
    return rows;
  }

  get counts(): PartitionCounts {
    return this.state.counts;
  }

  /** How often things of that kind came or went before this snapshot. */
  changes(kind: Counted): number {
    // A node that comes takes the next number, which is not given again: those that are not there have gone.
    if (kind === 'node') return this.maxNodeId + (this.maxNodeId - this.counts.nodes);
    return this.state.changes[kind] ?? 0;
  }

  /** 0 when the certname is not known. */
  nodeId(certname: string): NodeId {
    const bytes = fast(this.partition.tables.node_id, textKey(certname), this.options);
    return bytes === undefined ? 0 : bytes.readUInt32BE(0);
  }

  /** All nodes in the order of their certnames, which come as UTF-8. */
  nodesByName(descending: boolean): Generator<NamedNode, void, undefined> {
    return this.#range(this.#nodesByName(descending));
  }

  *#nodesByName(descending: boolean): Generator<NamedNode, void, undefined> {
    // Keys of long names end in a digest: those that begin alike are put in order here.
    let alike: { name: Buffer; node: NodeId }[] = [];
    const sign = descending ? -1 : 1;
    for (const { key, value } of this.partition.tables.node_id.getRange({ reverse: descending, ...this.options })) {
      const node = value.readUInt32BE(0);
      const isLong = key.length > KEY_TEXT_MAX;
      if (alike.length > 0 && !(isLong && beginsAlike(key, alike[0]!.name))) {
        yield* alike.sort((a, b) => sign * Buffer.compare(a.name, b.name));
        alike = [];
      }
      if (isLong) alike.push({ name: Buffer.from(this.node(node)!.certname, 'utf8'), node });
      else yield { name: key, node };
    }
    yield* alike.sort((a, b) => sign * Buffer.compare(a.name, b.name));
  }

  node(id: NodeId): NodeRecord | undefined {
    const bytes = fast(this.partition.tables.node, id, this.options);
    return bytes === undefined ? undefined : decodeNode(bytes);
  }

  /** Puts the node's record into `into`, which then reads it in `scratch`; false when there is no such node. */
  readNode(id: NodeId, into: StoredNode, scratch: Scratch): boolean {
    const bytes = raw(this.partition.tables.node, id, this.options);
    if (bytes === undefined) return false;
    into.load(scratch.copy(bytes));
    return true;
  }

  /** One of the NODES_ sets. */
  set(which: number): NodeSet {
    return postingsOf(this.partition.tables.node_set, which, this.maxNodeId, this.options);
  }

  inputs(id: NodeId): string | null {
    return this.text(this.partition.tables.inputs, id);
  }

  text(table: Database<Buffer, number>, id: number): string | null {
    const bytes = fast(table, id, this.options);
    return bytes === undefined ? null : bytes.toString('utf8', 0, bytes.length);
  }

  /** 0 when no factset ever had the name. */
  nameId(name: string): number {
    const { nameIds, tables } = this.partition;
    const known = nameIds.get(name);
    if (known !== undefined) return known;
    const bytes = fast(tables.fact_name, textKey(name), this.options);
    if (bytes === undefined) return 0;
    const id = bytes.readUInt32BE(0);
    if (nameIds.size < 100_000) nameIds.set(name, id);
    return id;
  }

  report(id: ReportId): ReportRecord | undefined {
    const bytes = fast(this.partition.tables.report, id, this.options);
    return bytes === undefined ? undefined : decodeReport(bytes);
  }

  /** Puts the report's record into `into`, which then reads it in `scratch`; false when there is no such report. */
  readReport(id: ReportId, into: StoredReport, scratch: Scratch): boolean {
    const bytes = raw(this.partition.tables.report, id, this.options);
    if (bytes === undefined) return false;
    into.load(scratch.copy(bytes));
    return true;
  }

  /** One of the REPORTS_ sets, ascending. */
  reportSet(which: number): Uint32Array {
    return postingIds(this.partition.tables.node_set, which, this.options);
  }

  /** 0 when there is no report of that hash here. */
  reportId(hash: string): ReportId {
    if (!/^[0-9a-f]{40}$/.test(hash)) return 0;
    const bytes = fast(this.partition.tables.report_digest, Buffer.from(hash, 'hex'), this.options);
    return bytes === undefined ? 0 : bytes.readUInt32BE(0);
  }

  events(id: ReportId): EventRecord[] {
    return decodeEvents(this, id);
  }

  eventColumns(id: ReportId): Buffer | undefined {
    return raw(this.partition.tables.report_event, id, this.options);
  }

  eventValues(id: ReportId): Buffer | undefined {
    return raw(this.partition.tables.report_event_value, id, this.options);
  }

  reportLists(id: ReportId): Buffer | undefined {
    return raw(this.partition.tables.report_lists, id, this.options);
  }

  /** Appends the stored JSON text of one of the report's lists; false, and nothing, when the report has none. */
  writeReportList(id: ReportId, name: ReportListName, out: ByteWriter): boolean {
    const { tables } = this.partition;
    const bytes = fast(tables.report_lists, id, this.options);
    if (bytes !== undefined) return writeReportList(bytes, name, out);
    const text = fast(tables[`report_${name}`], id, this.options);
    if (text === undefined) return false;
    out.put(text);
    return true;
  }

  /** The same as a text; null when the report has none. */
  reportList(id: ReportId, name: ReportListName): string | null {
    const out = new ByteWriter(0);
    return this.writeReportList(id, name, out) ? out.toString() : null;
  }

  /** All report ids, ascending (order of arrival). */
  reportIds(): Uint32Array {
    const out: number[] = [];
    for (const id of this.partition.tables.report.getKeys({ ...this.options })) out.push(id);
    return Uint32Array.from(out);
  }

  reportIdsOfNode(node: NodeId): Uint32Array {
    const out: number[] = [];
    const range = { start: pairKey(node, 0), end: pairKey(node + 1, 0), ...this.options };
    for (const key of this.partition.tables.report_node.getKeys(range)) out.push(key.readUInt32BE(4));
    return Uint32Array.from(out);
  }

  /** Reports by producer time, `from` and `to` inclusive epoch ms. */
  reportsByTime(range: TimeRange): Generator<{ time: number; id: ReportId }, void, undefined> {
    return this.#range(this.#reportsByTime(range));
  }

  *#reportsByTime(range: TimeRange): Generator<{ time: number; id: ReportId }, void, undefined> {
    const low = range.from === undefined ? Buffer.alloc(12) : timeKey(range.from, 0);
    const high = range.to === undefined ? Buffer.alloc(13, 0xff) : timeKey(range.to + 1, 0);
    const bounds = range.reverse ? { start: high, end: low, reverse: true } : { start: low, end: high };
    for (const key of this.partition.tables.report_time.getKeys({ ...bounds, ...this.options })) {
      yield { time: timeOfKey(key), id: idOfTimeKey(key) };
    }
  }

  environments(): string[] {
    return this.#names(this.partition.tables.environment);
  }

  producers(): string[] {
    return this.#names(this.partition.tables.producer);
  }

  hasName(table: 'environment' | 'producer', name: string): boolean {
    return present(this.partition.tables[table], textKey(name), this.options);
  }

  #names(table: Database<Buffer, Buffer>): string[] {
    const out: string[] = [];
    for (const { value } of table.getRange({ ...this.options })) out.push(value.toString('utf8'));
    return out;
  }

  /**
   * Registered fact paths: type name and path. Those whose digests are in `seen` are passed over, the others added to it:
   * for the paths of several partitions, which have most of them in common.
   */
  factPaths(seen = new Set<string>()): Generator<FactPath, void, undefined> {
    return this.#range(this.#factPaths(seen));
  }

  *#factPaths(seen: Set<string>): Generator<FactPath, void, undefined> {
    const { fact_path: table } = this.partition.tables;
    for (const key of table.getKeys({ ...this.options })) {
      const digest = key.toString('latin1');
      if (seen.has(digest)) continue;
      seen.add(digest);
      const text = fast(table, key, this.options)!.toString('utf8');
      const [type, ...path] = JSON.parse(text) as [string, ...(string | number)[]];
      yield { type, path };
    }
  }

  /** Fact names that some stored factset has. */
  factNames(): string[] {
    return this.facts.indexTexts(FACT_BY_NAME, ({ name }) => name);
  }
}

/** Everything one transaction changes. Only valid inside `Partition.write`. Reads see the changes made so far. */
export class Batch {
  readonly partition: Partition;
  readonly resources: DictionaryWriter<ResourceBody>;
  readonly facts: DictionaryWriter<FactBody>;
  readonly edges: DictionaryWriter<EdgeBody>;
  readonly packages: DictionaryWriter<PackageBody>;
  /** Reads inside the transaction (bodies, lists, reports); node records go through `node`. */
  readonly view: View;
  readonly #sets: PostingsWriter;
  readonly #state: State;
  readonly #nodes = new Map<NodeId, NodeRecord>();
  readonly #dirtyNodes = new Set<NodeId>();
  readonly #seenNames = new Set<string>();

  constructor(partition: Partition) {
    this.partition = partition;
    this.#state = partition.readState({});
    const ids = {
      maxNode: () => this.#state.nextNode - 1,
      nextItem: (name: string, taken: (id: number) => boolean) => this.#nextItem(name, taken),
      changed: (name: Registered) => this.#changed(name),
    };
    this.resources = new DictionaryWriter(partition.resources, ids);
    this.facts = new DictionaryWriter(partition.facts, ids);
    this.edges = new DictionaryWriter(partition.edges, ids);
    this.packages = new DictionaryWriter(partition.packages, ids);
    // Some are sets of reports.
    this.#sets = new PostingsWriter(partition.tables.node_set, () =>
      Math.max(this.#state.nextNode, this.#state.nextReport),
    );
    this.view = new View(partition, undefined);
  }

  get position(): number {
    return this.#state.position;
  }
  set position(seq: number) {
    if (seq < this.#state.position) throw new Error(`stream position ${seq} is before ${this.#state.position}`);
    this.#state.position = seq;
  }

  get counts(): PartitionCounts {
    return this.#state.counts;
  }

  nodeId(certname: string): NodeId {
    const bytes = fast(this.partition.tables.node_id, textKey(certname));
    return bytes === undefined ? 0 : bytes.readUInt32BE(0);
  }

  /** The node's record; change it only through `putNode`. */
  node(id: NodeId): NodeRecord | undefined {
    const cached = this.#nodes.get(id);
    if (cached !== undefined) return cached;
    const bytes = fast(this.partition.tables.node, id);
    if (bytes === undefined) return undefined;
    const record = decodeNode(bytes);
    this.#nodes.set(id, record);
    return record;
  }

  createNode(certname: string): NodeId {
    const id = this.#state.nextNode++;
    const value = Buffer.allocUnsafe(4);
    value.writeUInt32BE(id, 0);
    this.partition.tables.node_id.putSync(textKey(certname), value);
    this.#sets.add(NODES_ALL, id);
    this.#state.counts.nodes++;
    this.putNode(id, emptyNode(certname));
    return id;
  }

  /** Replaces the node's record; the node sets follow from it. */
  putNode(id: NodeId, record: NodeRecord): void {
    const before = this.node(id);
    this.#member(NODES_INACTIVE, id, before ? isInactive(before) : false, isInactive(record));
    this.#member(NODES_WITH_CATALOG, id, !!before?.catalog, record.catalog !== null);
    this.#member(NODES_WITH_FACTS, id, !!before?.factset, record.factset !== null);
    this.#member(NODES_WITH_REPORT, id, !!before?.latestReport, record.latestReport !== null);
    this.#member(NODES_WITH_INPUTS, id, !!before?.inputs, record.inputs !== null);
    this.#latest(before?.latestReport?.reportId ?? 0, record.latestReport?.reportId ?? 0);
    this.#state.counts.catalogs += Number(record.catalog !== null) - Number(!!before?.catalog);
    this.#state.counts.factsets += Number(record.factset !== null) - Number(!!before?.factset);
    this.#nodes.set(id, record);
    this.#dirtyNodes.add(id);
  }

  #latest(was: ReportId, is: ReportId): void {
    if (was === is) return;
    if (was !== 0) this.#sets.remove(REPORTS_LATEST, was);
    if (is !== 0) this.#sets.add(REPORTS_LATEST, is);
  }

  #member(set: number, id: NodeId, was: boolean, is: boolean): void {
    if (is && !was) this.#sets.add(set, id);
    else if (was && !is) this.#sets.remove(set, id);
  }

  /** Removes the node itself; its data must have been removed before (lists emptied, reports deleted). */
  deleteNode(id: NodeId): void {
    const record = this.node(id);
    if (record === undefined) return;
    this.putNode(id, {
      ...record,
      deactivated: null,
      expired: null,
      factset: null,
      catalog: null,
      latestReport: null,
      inputs: null,
    });
    this.#sets.remove(NODES_ALL, id);
    this.#state.counts.nodes--;
    this.partition.tables.node_id.removeSync(textKey(record.certname));
    this.partition.tables.node.removeSync(id);
    this.partition.tables.inputs.removeSync(id);
    for (const table of Object.values(MEMO_TABLES)) this.partition.tables[table].removeSync(id);
    this.#nodes.delete(id);
    this.#dirtyNodes.delete(id);
  }

  /** Replaces the node's resources: item ids in catalog order. `known`: by what some of them are known again. */
  setResources(node: NodeId, items: Uint32Array, known: KnownItem[] = []): void {
    this.#state.counts.resources += this.resources.setList(node, items);
    const table = this.partition.tables.resource_known;
    if (known.length > 0) table.putSync(node, encodeKnown(known));
    else table.removeSync(node);
  }

  /** By what resources of the certname's catalog are known; null: none of them is. */
  knownResources(certname: string): KnownItems | null {
    const bytes = fast(this.partition.tables.resource_known, this.nodeId(certname));
    return bytes === undefined ? null : new KnownItems(Buffer.from(bytes));
  }

  /** See `setMemo`; undefined for nothing. */
  memo(kind: MemoKind, certname: string): string | undefined {
    return fast(this.partition.tables[MEMO_TABLES[kind]], this.nodeId(certname))?.toString('latin1');
  }
  setEdges(node: NodeId, items: Uint32Array): void {
    this.edges.setList(node, items);
  }
  /** Replaces the node's facts: name id, item id pairs. */
  setFacts(node: NodeId, pairs: Uint32Array): void {
    this.#state.counts.facts += this.facts.setList(node, pairs);
  }
  setPackages(node: NodeId, items: Uint32Array): void {
    const had = this.packages.hasList(node);
    this.#state.counts.packages += this.packages.setList(node, items);
    this.#member(NODES_WITH_PACKAGES, node, had, items.length > 0);
  }

  /** What is remembered of the payload that the node's catalog or factset came with: ASCII text. */
  setMemo(kind: MemoKind, node: NodeId, text: string): void {
    this.partition.tables[MEMO_TABLES[kind]].putSync(node, Buffer.from(text, 'latin1'));
  }

  /** Stored JSON text `[[type, name], ...]`, or null for none. */
  setInputs(node: NodeId, text: string | null): void {
    if (text === null) this.partition.tables.inputs.removeSync(node);
    else this.partition.tables.inputs.putSync(node, Buffer.from(text, 'utf8'));
  }

  /** Id of a fact name, new if need be. */
  nameId(name: string): number {
    const { nameIds, tables } = this.partition;
    const known = nameIds.get(name);
    if (known !== undefined) return known;
    const key = textKey(name);
    const bytes = fast(tables.fact_name, key);
    let id: number;
    if (bytes !== undefined) id = bytes.readUInt32BE(0);
    else {
      id = this.#state.nextName++;
      const value = Buffer.allocUnsafe(4);
      value.writeUInt32BE(id, 0);
      tables.fact_name.putSync(key, value);
      return id; // not cached before the commit
    }
    if (nameIds.size < 100_000) nameIds.set(name, id);
    return id;
  }

  /** Registers a fact path with its type name (`string`, `integer`, ...; `json` is not shown but may be registered). */
  addFactPath(type: string, path: readonly (string | number)[]): void {
    if (!this.partition.knownPaths.add(type, path)) return;
    const text = JSON.stringify([type, ...path]);
    const key = digest16(text);
    if (!present(this.partition.tables.fact_path, key)) {
      this.partition.tables.fact_path.putSync(key, Buffer.from(text, 'utf8'));
      this.#changed('fact_path');
    }
  }

  /** Takes paths out of the registry, by their keys. */
  removeFactPaths(keys: readonly Buffer[]): void {
    const { knownPaths, tables } = this.partition;
    for (const key of keys) tables.fact_path.removeSync(key);
    knownPaths.clear();
    this.#changed('fact_path');
  }

  addEnvironment(name: string | null): void {
    this.#addName('environment', name);
  }
  addProducer(name: string | null): void {
    this.#addName('producer', name);
  }
  #addName(table: 'environment' | 'producer', name: string | null): void {
    if (name === null) return;
    const mark = `${table}\n${name}`;
    if (this.#seenNames.has(mark)) return;
    this.#seenNames.add(mark);
    const key = textKey(name);
    const names = this.partition.tables[table];
    if (present(names, key)) return;
    names.putSync(key, Buffer.from(name, 'utf8'));
    this.#changed(table);
  }

  removeEnvironments(names: readonly string[]): void {
    for (const name of names) this.partition.tables.environment.removeSync(textKey(name));
    this.#changed('environment');
  }

  #changed(kind: Registered): void {
    const { changes } = this.#state;
    changes[kind] = (changes[kind] ?? 0) + 1;
  }

  /** Stores a report with its lists and events (null for none; the record counts them); the caller has checked that its hash is new. */
  addReport(record: ReportRecord, events: EncodedEvents | null, lists: ReportLists): ReportId {
    const { tables } = this.partition;
    const id = this.#state.nextReport++;
    tables.report.putSync(id, encodeReport(record));
    const value = Buffer.allocUnsafe(4);
    value.writeUInt32BE(id, 0);
    tables.report_digest.putSync(Buffer.from(record.hash, 'hex'), value);
    tables.report_node.putSync(pairKey(record.nodeId, id), EMPTY);
    tables.report_time.putSync(timeKey(record.producerTimestamp, id), EMPTY);
    if (events !== null) this.#putEvents(id, events);
    tables.report_lists.putSync(id, encodeReportLists(lists));
    this.#state.counts.reports++;
    this.#state.counts.events += record.eventCount;
    return id;
  }

  report(id: ReportId): ReportRecord | undefined {
    const bytes = fast(this.partition.tables.report, id);
    return bytes === undefined ? undefined : decodeReport(bytes);
  }

  reportId(hash: string): ReportId {
    const bytes = fast(this.partition.tables.report_digest, Buffer.from(hash, 'hex'));
    return bytes === undefined ? 0 : bytes.readUInt32BE(0);
  }

  /** Replaces a stored report's events (retention); header counts follow. */
  setEvents(id: ReportId, events: readonly EventRecord[]): void {
    const record = this.report(id);
    if (record === undefined) return;
    this.#state.counts.events += events.length - record.eventCount;
    let min = 0;
    let max = 0;
    for (const { timestamp } of events) {
      min = min === 0 ? timestamp : Math.min(min, timestamp);
      max = Math.max(max, timestamp);
    }
    const { tables } = this.partition;
    tables.report.putSync(
      id,
      encodeReport({ ...record, eventCount: events.length, eventTimeMin: min, eventTimeMax: max }),
    );
    if (events.length > 0) this.#putEvents(id, encodeEvents(events));
    else this.#removeEvents(id);
  }

  #putEvents(id: ReportId, { columns, values }: EncodedEvents): void {
    const { tables } = this.partition;
    tables.report_event.putSync(id, columns);
    if (values !== null) tables.report_event_value.putSync(id, values);
    this.#sets.add(REPORTS_WITH_EVENTS, id);
  }

  #removeEvents(id: ReportId): void {
    const { tables } = this.partition;
    tables.report_event.removeSync(id);
    tables.report_event_value.removeSync(id);
    this.#sets.remove(REPORTS_WITH_EVENTS, id);
  }

  deleteReport(id: ReportId): void {
    const record = this.report(id);
    if (record === undefined) return;
    const { tables } = this.partition;
    tables.report_digest.removeSync(Buffer.from(record.hash, 'hex'));
    tables.report_node.removeSync(pairKey(record.nodeId, id));
    tables.report_time.removeSync(timeKey(record.producerTimestamp, id));
    if (record.eventCount > 0) this.#removeEvents(id);
    tables.report.removeSync(id);
    if (present(tables.report_lists, id)) tables.report_lists.removeSync(id);
    else for (const name of REPORT_LISTS) tables[`report_${name}`].removeSync(id);
    this.#state.counts.reports--;
    this.#state.counts.events -= record.eventCount;
  }

  putRetry(seq: number, bytes: Uint8Array): void {
    this.partition.tables.retry.putSync(seqKey(seq), Buffer.from(bytes));
  }
  removeRetry(seq: number): void {
    this.partition.tables.retry.removeSync(seqKey(seq));
  }

  #nextItem(name: string, taken: (id: number) => boolean): number {
    const state = this.#state;
    let id = state.nextItem[name] ?? 1;
    if (id > 0xffff_fffe) {
      state.wrapped = true;
      id = 1;
    }
    if (state.wrapped) while (taken(id)) id++;
    state.nextItem[name] = id + 1;
    return id;
  }

  /** Writes what was collected. Called by `Partition.write`. */
  finish(): void {
    const { tables } = this.partition;
    for (const id of this.#dirtyNodes) tables.node.putSync(id, encodeNode(this.#nodes.get(id) as NodeRecord));
    this.resources.flush();
    this.facts.flush();
    this.edges.flush();
    this.packages.flush();
    this.#sets.flush();
    // From now on there may be what an older version does not know.
    this.#state.format = FORMAT_VERSION;
    tables.state.putSync(STATE, encodeState(this.#state));
  }
}

const beginsAlike = (a: Buffer, b: Buffer): boolean => a.subarray(0, KEY_TEXT_MAX).equals(b.subarray(0, KEY_TEXT_MAX));

export const isInactive = (node: NodeRecord): boolean => node.deactivated !== null || node.expired !== null;
