// Reads of a partition at one snapshot, which later commits do not change.

import type { Database } from 'lmdb';
import { ByteWriter } from '../bytes.ts';
import {
  FIRST_TIME_KEY,
  idIn,
  idOfTimeKey,
  KEY_TEXT_MAX,
  LAST_TIME_KEY,
  pairKey,
  textKey,
  textKeyRange,
  timeKey,
  timeOfKey,
} from './file/keys.ts';
import { fast, present, type ReadOptions, raw, type Scratch } from './file/lmdb.ts';
import { itemRound, itemsEnd } from './item-ids.ts';
import { FACT_BY_NAME } from './items/dictionaries.ts';
import { DictionaryView, type ViewBounds } from './items/dictionary-view.ts';
import { BroughtIn } from './items/kept-bytes.ts';
import type { NameIds } from './items/name-ids.ts';
import type { NodeSet } from './items/node-set.ts';
import { postingIds, postingsOf } from './items/postings.ts';
import type { PartitionStore } from './partition-store.ts';
import type { StoredEdge, StoredFact, StoredPackage, StoredResource } from './records/bodies.ts';
import { decodeEvents, type EventSource } from './records/event-record.ts';
import type { Fields } from './records/fields.ts';
import { decodeNode, type StoredNode } from './records/node-record.ts';
import type {
  Counted,
  EdgeBody,
  EventRecord,
  FactBody,
  ItemId,
  NodeId,
  NodeRecord,
  PackageBody,
  ReportId,
  ReportRecord,
  ResourceBody,
} from './records/records.ts';
import { type ReportListName, storedSize, writeReportList } from './records/report-lists.ts';
import { decodeReport, type StoredReport } from './records/report-record.ts';
import { type ReportKind, readKinds } from './reports/report-kinds.ts';
import { ReportMarks } from './reports/report-marks.ts';
import { type ReportPeriod, readPeriods } from './reports/report-periods.ts';
import type { KnownTimes } from './reports/report-times.ts';
import { REWRITTEN, REWRITTEN_KINDS, type RewrittenKind } from './rewritten.ts';
import type { PartitionCounts, State } from './state.ts';

export interface NamedNode {
  /** The certname as UTF-8. */
  readonly name: Buffer;
  readonly node: NodeId;
}

/** Epoch ms, inclusive. */
interface TimeRange {
  readonly from?: number;
  /** Of the reports of the time `from`, those from this id on. */
  readonly fromId?: ReportId;
  readonly to?: number;
  readonly reverse?: boolean;
}

interface FactPath {
  readonly type: string;
  readonly path: (string | number)[];
}

/** Reads at one snapshot. Not for use after `close`. */
export class View implements EventSource, ViewBounds {
  readonly partition: PartitionStore;
  readonly options: ReadOptions;
  readonly resources: DictionaryView<ResourceBody, StoredResource>;
  readonly facts: DictionaryView<FactBody, StoredFact>;
  readonly edges: DictionaryView<EdgeBody, StoredEdge>;
  readonly packages: DictionaryView<PackageBody, StoredPackage>;
  readonly maxNodeId: NodeId;
  readonly state: Readonly<State>;
  readonly #broughtIn = new BroughtIn();
  #nameIds: NameIds | null = null;
  #marks: ReportMarks | null = null;
  /** Ranges that were begun. One that is left before its end holds the snapshot, so `close` ends them. */
  readonly #ranges: Generator[] = [];

  // biome-ignore lint/suspicious/noExplicitAny: lmdb's transaction handle has no exported type
  constructor(partition: PartitionStore, transaction: any) {
    this.partition = partition;
    this.options = transaction === undefined ? {} : { transaction };
    this.state = transaction === undefined ? partition.readState({}) : partition.stateAt(this.options);
    if (transaction !== undefined) this.#begin();
    this.maxNodeId = this.state.nextNode - 1;
    this.resources = new DictionaryView(partition.resources, this.options, this);
    this.facts = new DictionaryView(partition.facts, this.options, this);
    this.edges = new DictionaryView(partition.edges, this.options, this);
    this.packages = new DictionaryView(partition.packages, this.options, this);
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

  /** Puts the record of that id into `into`, which then reads it in `scratch` or among those that are kept; false when there is none. */
  #read(kind: RewrittenKind, id: number, into: Fields, scratch: Scratch): boolean {
    const kept = this.partition.kept[kind];
    const sees = this.seesKept(kind);
    if (sees && kept.load(id, into)) return true;
    const bytes = raw(this.partition.tables[kind], id, this.options);
    if (bytes === undefined) return false;
    if (!(sees && this.#broughtIn.add(kept, id, bytes, into))) into.load(scratch.copy(bytes));
    return true;
  }

  seesKept(kind: RewrittenKind): boolean {
    if (this.options.transaction === undefined) return false;
    return this.partition.rewritten[kind].isAt(this.state.rewritten[kind] ?? 0);
  }

  itemsEnd(name: string): ItemId {
    return itemsEnd(this.state, name);
  }

  itemRound(name: string): number {
    return itemRound(this.state, name);
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
    return idIn(fast(this.partition.tables.node_id, textKey(certname), this.options));
  }

  /** All nodes in the order of their certnames, which come as UTF-8. */
  nodesByName(descending: boolean): Generator<NamedNode, void, undefined> {
    return this.#range(this.#nodesByName({ reverse: descending }));
  }

  /** Nodes whose certnames begin with a text that is not empty, in their order; some others, where it has more than KEY_TEXT_MAX bytes. */
  nodesByPrefix(prefix: string): Generator<NamedNode, void, undefined> {
    return this.#range(this.#nodesByName({ reverse: false, ...textKeyRange(prefix) }));
  }

  /** How many certnames `nodesByPrefix` would give. */
  countByPrefix(prefix: string): number {
    return this.partition.tables.node_id.getKeysCount({ ...textKeyRange(prefix), ...this.options });
  }

  *#nodesByName(range: { reverse: boolean; start?: Buffer; end?: Buffer }): Generator<NamedNode, void, undefined> {
    // Keys of long names end in a digest: those that begin alike are put in order here.
    let alike: { name: Buffer; node: NodeId }[] = [];
    const sign = range.reverse ? -1 : 1;
    for (const { key, value } of this.partition.tables.node_id.getRange({ ...range, ...this.options })) {
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
    return this.#read('node', id, into, scratch);
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

  /** 0 when no factset has the name. */
  nameId(name: string): number {
    const ids = (this.#nameIds ??= this.partition.nameIds(this.changes('fact_name')));
    const known = ids.get(name);
    if (known !== undefined) return known;
    const bytes = fast(this.partition.tables.fact_name, textKey(name), this.options);
    if (bytes === undefined) return 0;
    const id = bytes.readUInt32BE(0);
    ids.keep(name, id);
    return id;
  }

  /** Keys of so many fact names that have ids, from that one on. */
  factNameKeys(from: Buffer, limit: number): Buffer[] {
    const keys = this.partition.tables.fact_name.getKeys({ start: from, limit, ...this.options });
    return [...keys].map((key) => Buffer.from(key));
  }

  report(id: ReportId): ReportRecord | undefined {
    const bytes = fast(this.partition.tables.report, id, this.options);
    return bytes === undefined ? undefined : decodeReport(bytes);
  }

  /** Puts the report's record into `into`, which then reads it in `scratch`; false when there is no such report. */
  readReport(id: ReportId, into: StoredReport, scratch: Scratch): boolean {
    return this.#read('report', id, into, scratch);
  }

  /** One of the REPORTS_ sets, ascending. */
  reportSet(which: number): Uint32Array {
    return postingIds(this.partition.tables.node_set, which, this.options);
  }

  /** 0 when there is no report of that hash here. */
  reportId(hash: string): ReportId {
    if (!/^[0-9a-f]{40}$/.test(hash)) return 0;
    return idIn(fast(this.partition.tables.report_digest, Buffer.from(hash, 'hex'), this.options));
  }

  /** How far the times of reports that are not far lie from their producers'; null: of some that is not known. */
  get reportTimes(): KnownTimes | null {
    return this.#knowsReports ? this.state.reportTimes : null;
  }

  /** What is kept of the reports side by side. */
  get reportMarks(): ReportMarks {
    this.#marks ??= new ReportMarks(this.partition.tables.report_marks, this.state.marksSince, this.options);
    return this.#marks;
  }

  /** Whether there are marks of all reports, and all of them are counted in periods. */
  get areReportsMarked(): boolean {
    return this.#firstReport >= this.state.marksSince;
  }

  /** Periods of producers' times that have reports within the bounds (epoch ms, inclusive; null: there is none), in their order. */
  reportPeriods(from: number | null, to: number | null): Generator<ReportPeriod, void, undefined> {
    return this.#range(readPeriods(this.partition.tables.report_period, from, to, this.options));
  }

  /** The kinds of reports, and how many there are of each; null: some are not counted there. */
  reportKinds(): ReportKind[] | null {
    return this.#knowsReports ? this.kindsOfMarked() : null;
  }

  /** All kinds that reports with marks are of. */
  kindsOfMarked(): ReportKind[] {
    return readKinds(this.partition.tables.report_kind, this.options);
  }

  /** Whether there are none of those that had come before it was kept. */
  get #knowsReports(): boolean {
    return this.#firstReport >= this.state.reportTimes.since;
  }

  /** The least id; infinite when there are none. */
  get #firstReport(): ReportId {
    return this.#reportKeys(0, 1)[0] ?? Number.POSITIVE_INFINITY;
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

  /** Bytes that one of the report's lists takes (its text, before format 2); null when the report has none. */
  reportListSize(id: ReportId, name: ReportListName): number | null {
    const { tables } = this.partition;
    const bytes = fast(tables.report_lists, id, this.options);
    if (bytes !== undefined) return storedSize(bytes, name);
    return fast(tables[`report_${name}`], id, this.options)?.length ?? null;
  }

  /**
   * All report ids, ascending (order of arrival). Numbers without a report may be among them: where most have one, they are counted
   * through, as the keys lie among the records, which take longer to be gone through than to be found.
   */
  reportIds(): Iterable<ReportId> {
    const { first, end } = this.reportIdRange;
    return end - first <= this.counts.reports * COUNTED_EACH ? numbers(first, end) : this.#idsOfReports();
  }

  /** Where the ids of all reports lie. */
  get reportIdRange(): { readonly first: ReportId; readonly end: ReportId } {
    const { nextReport: end } = this.state;
    return { first: Math.min(this.#firstReport, end), end };
  }

  *#idsOfReports(): Generator<ReportId, void, undefined> {
    let ids: ReportId[];
    let start = 0;
    do {
      ids = this.#reportKeys(start, IDS_AT_ONCE);
      yield* ids;
      start = (ids.at(-1) ?? 0) + 1;
    } while (ids.length === IDS_AT_ONCE);
  }

  #reportKeys(start: ReportId, limit: number): ReportId[] {
    return [...this.partition.tables.report.getKeys({ start, limit, ...this.options })];
  }

  reportIdsOfNode(node: NodeId, limit = Number.POSITIVE_INFINITY): Uint32Array {
    const out: number[] = [];
    const range = { start: pairKey(node, 0), end: pairKey(node + 1, 0), limit, ...this.options };
    for (const key of this.partition.tables.report_node.getKeys(range)) out.push(key.readUInt32BE(4));
    return Uint32Array.from(out);
  }

  /** Reports by producer time, `from` and `to` inclusive epoch ms. */
  reportsByTime(range: TimeRange): Generator<{ time: number; id: ReportId }, void, undefined> {
    return this.#range(this.#reportsByTime(range));
  }

  *#reportsByTime(range: TimeRange): Generator<{ time: number; id: ReportId }, void, undefined> {
    const low = range.from === undefined ? FIRST_TIME_KEY : timeKey(range.from, range.fromId ?? 0);
    const high = range.to === undefined ? LAST_TIME_KEY : timeKey(range.to + 1, 0);
    const bounds = range.reverse ? { start: high, end: low, reverse: true } : { start: low, end: high };
    for (const key of this.partition.tables.report_time.getKeys({ ...bounds, ...this.options })) {
      yield { time: timeOfKey(key), id: idOfTimeKey(key) };
    }
  }

  /** The least and the greatest of the reports' producer times; null: there are no reports. */
  reportTimeSpan(): { readonly first: number; readonly last: number } | null {
    const [first] = this.reportsByTime({ reverse: false });
    const [last] = this.reportsByTime({ reverse: true });
    return first === undefined || last === undefined ? null : { first: first.time, last: last.time };
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

const IDS_AT_ONCE = 256;
/** So many numbers are looked at for each report at most. */
const COUNTED_EACH = 2;

function* numbers(from: number, end: number): Generator<number, void, undefined> {
  for (let number = from; number < end; number++) yield number;
}

const beginsAlike = (a: Buffer, b: Buffer): boolean => a.subarray(0, KEY_TEXT_MAX).equals(b.subarray(0, KEY_TEXT_MAX));
