// Reads of reports at one snapshot: their records, what lies beside them, and what leads to them.

import { ByteWriter } from '../bytes.ts';
import { FIRST_TIME_KEY, idIn, idOfTimeKey, LAST_TIME_KEY, pairKey, timeKey, timeOfKey } from './file/keys.ts';
import { fast, raw, type Scratch } from './file/lmdb.ts';
import { postingIds } from './items/postings.ts';
import { decodeEvents, type EventSource } from './records/event-record.ts';
import type { EventRecord, NodeId, ReportId, ReportRecord } from './records/records.ts';
import { type ReportListName, storedSize, writeReportList } from './records/report-lists.ts';
import { decodeReport, type StoredReport } from './records/report-record.ts';
import { blockOf } from './reports/report-blocks.ts';
import { type ReportKind, readKinds } from './reports/report-kinds.ts';
import { ReportMarks } from './reports/report-marks.ts';
import { ReportMoments } from './reports/report-moments.ts';
import { type ReportPeriod, readPeriods } from './reports/report-periods.ts';
import { ReportStatuses } from './reports/report-statuses.ts';
import type { KnownTimes } from './reports/report-times.ts';
import type { KnownZones } from './reports/report-zones.ts';
import type { Snapshot } from './snapshot.ts';

/** Epoch ms, inclusive. */
interface TimeRange {
  readonly from?: number;
  /** Of the reports of the time `from`, those from this id on. */
  readonly fromId?: ReportId;
  readonly to?: number;
  readonly reverse?: boolean;
}

export class ReportView implements EventSource {
  readonly #snapshot: Snapshot;
  #marks: ReportMarks | null = null;
  #moments: ReportMoments | null = null;
  #statuses: ReportStatuses | null = null;
  #kinds: readonly ReportKind[] | null = null;
  #least: ReportId | null = null;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  get(id: ReportId): ReportRecord | undefined {
    const bytes = fast(this.#snapshot.partition.tables.report, id, this.#snapshot.options);
    return bytes === undefined ? undefined : decodeReport(bytes);
  }

  /** Puts the report's record into `into`, which then reads it in `scratch`; false when there is no such report. */
  read(id: ReportId, into: StoredReport, scratch: Scratch): boolean {
    return this.#snapshot.read('report', id, into, scratch);
  }

  /** One of the REPORTS_ sets, ascending. */
  set(which: number): Uint32Array {
    return postingIds(this.#snapshot.partition.tables.node_set, which, this.#snapshot.options);
  }

  /** 0 when there is no report of that hash here. */
  idOf(hash: string): ReportId {
    if (!/^[0-9a-f]{40}$/.test(hash)) return 0;
    return idIn(fast(this.#snapshot.partition.tables.report_digest, Buffer.from(hash, 'hex'), this.#snapshot.options));
  }

  /** How far the times of reports that are not far lie from their producers'; null: of some that is not known. */
  get times(): KnownTimes | null {
    return this.#areKnown ? this.#snapshot.state.reportTimes : null;
  }

  /** What is kept of the reports side by side. */
  get marks(): ReportMarks {
    this.#marks ??= new ReportMarks(
      this.#snapshot.partition.tables.report_marks,
      this.#snapshot.state.marksSince,
      this.#snapshot.options,
    );
    return this.#marks;
  }

  /** The times that are kept of the reports side by side. */
  get moments(): ReportMoments {
    this.#moments ??= new ReportMoments(this.#snapshot.partition.tables.report_moments, this.#snapshot.options);
    return this.#moments;
  }

  /** How many events of each status the reports have, as far as that is kept. */
  get statuses(): ReportStatuses {
    this.#statuses ??= new ReportStatuses(this.#snapshot.partition.tables.report_statuses, this.#snapshot.options);
    return this.#statuses;
  }

  /** Whether `statuses` tells of nearly all reports, as it does where it tells of some of the first block. */
  get areCounted(): boolean {
    return !this.statuses.at(blockOf(this.idRange.first)).isEmpty;
  }

  /** Between which times blocks of reports are; null: it is not known of this snapshot. `tick` says when to yield. */
  *zones(tick: () => boolean): Generator<undefined, KnownZones | null> {
    // Ids that lie far apart would be many blocks.
    if (!this.#areDense) return null;
    const { partition, state } = this.#snapshot;
    return yield* partition.reportZones.catchUp(this, state.rewritten.report ?? 0, tick);
  }

  /** Whether there are marks of all reports, and all of them are counted in periods. */
  get areMarked(): boolean {
    return this.#first >= this.#snapshot.state.marksSince;
  }

  /** Whether all reports have marks that tell which kinds they are of. */
  get areToldApart(): boolean {
    return this.areMarked && this.areKindsMarked;
  }

  /** Whether no two kinds have the same mark. */
  get areKindsMarked(): boolean {
    const kinds = this.kindsOfMarked();
    return new Set(kinds.map(({ mark }) => mark)).size === kinds.length;
  }

  /** Periods of producers' times that have reports within the bounds (epoch ms, inclusive; null: there is none), in their order. */
  periods(from: number | null, to: number | null): Generator<ReportPeriod, void, undefined> {
    return this.#snapshot.range(
      readPeriods(this.#snapshot.partition.tables.report_period, from, to, this.#snapshot.options),
    );
  }

  /** The kinds of reports, and how many there are of each; null: some are not counted there. */
  kinds(): readonly ReportKind[] | null {
    return this.#areKnown ? this.kindsOfMarked() : null;
  }

  /** All kinds that reports with marks are of. */
  kindsOfMarked(): readonly ReportKind[] {
    this.#kinds ??= readKinds(this.#snapshot.partition.tables.report_kind, this.#snapshot.options);
    return this.#kinds;
  }

  /** Whether there are none of those that had come before it was kept. */
  get #areKnown(): boolean {
    return this.#first >= this.#snapshot.state.reportTimes.since;
  }

  /** The least id; infinite when there are none. */
  get #first(): ReportId {
    this.#least ??= this.#keys(0, 1)[0] ?? null;
    return this.#least ?? Number.POSITIVE_INFINITY;
  }

  events(id: ReportId): EventRecord[] {
    return decodeEvents(this, id);
  }

  eventColumns(id: ReportId): Buffer | undefined {
    return raw(this.#snapshot.partition.tables.report_event, id, this.#snapshot.options);
  }

  eventValues(id: ReportId): Buffer | undefined {
    return raw(this.#snapshot.partition.tables.report_event_value, id, this.#snapshot.options);
  }

  reportLists(id: ReportId): Buffer | undefined {
    return raw(this.#snapshot.partition.tables.report_lists, id, this.#snapshot.options);
  }

  /** Appends the stored JSON text of one of the report's lists; false, and nothing, when the report has none. */
  writeList(id: ReportId, name: ReportListName, out: ByteWriter): boolean {
    const { tables } = this.#snapshot.partition;
    const bytes = fast(tables.report_lists, id, this.#snapshot.options);
    if (bytes !== undefined) return writeReportList(bytes, name, out);
    const text = fast(tables[`report_${name}`], id, this.#snapshot.options);
    if (text === undefined) return false;
    out.put(text);
    return true;
  }

  /** The same as a text; null when the report has none. */
  list(id: ReportId, name: ReportListName): string | null {
    const out = new ByteWriter(0);
    return this.writeList(id, name, out) ? out.toString() : null;
  }

  /** Bytes that one of the report's lists takes (its text, before format 2); null when the report has none. */
  listSize(id: ReportId, name: ReportListName): number | null {
    const { tables } = this.#snapshot.partition;
    const bytes = fast(tables.report_lists, id, this.#snapshot.options);
    if (bytes !== undefined) return storedSize(bytes, name);
    return fast(tables[`report_${name}`], id, this.#snapshot.options)?.length ?? null;
  }

  /**
   * All report ids, ascending (order of arrival). Numbers without a report may be among them: where most have one, they are counted
   * through, as the keys lie among the records, which take longer to be gone through than to be found.
   */
  ids(): ReportIds {
    return new ReportIds(() => (this.#areDense ? [this.idRange] : this.#rangesOfKeys()));
  }

  /** Whether most numbers between the first and the last id have a report. */
  get #areDense(): boolean {
    const { first, end } = this.idRange;
    return end - first <= this.#snapshot.state.counts.reports * COUNTED_EACH;
  }

  /** Where the ids of all reports lie. */
  get idRange(): IdRange {
    const { nextReport: end } = this.#snapshot.state;
    return { first: Math.min(this.#first, end), end };
  }

  *#rangesOfKeys(): Generator<IdRange, void, undefined> {
    let ids: ReportId[];
    let start = 0;
    do {
      ids = this.#keys(start, IDS_AT_ONCE);
      for (let i = 0; i < ids.length; i++) {
        const first = ids[i]!;
        while (ids[i + 1] === ids[i]! + 1) i++;
        yield { first, end: ids[i]! + 1 };
      }
      start = (ids.at(-1) ?? 0) + 1;
    } while (ids.length === IDS_AT_ONCE);
  }

  #keys(start: ReportId, limit: number): ReportId[] {
    return [...this.#snapshot.partition.tables.report.getKeys({ start, limit, ...this.#snapshot.options })];
  }

  ofNode(node: NodeId, limit = Number.POSITIVE_INFINITY): Uint32Array {
    const out: number[] = [];
    const range = { start: pairKey(node, 0), end: pairKey(node + 1, 0), limit, ...this.#snapshot.options };
    for (const key of this.#snapshot.partition.tables.report_node.getKeys(range)) out.push(key.readUInt32BE(4));
    return Uint32Array.from(out);
  }

  /** Reports by producer time, `from` and `to` inclusive epoch ms. */
  byTime(range: TimeRange): Generator<{ time: number; id: ReportId }, void, undefined> {
    return this.#snapshot.range(this.#byTime(range));
  }

  *#byTime(range: TimeRange): Generator<{ time: number; id: ReportId }, void, undefined> {
    const low = range.from === undefined ? FIRST_TIME_KEY : timeKey(range.from, range.fromId ?? 0);
    const high = range.to === undefined ? LAST_TIME_KEY : timeKey(range.to + 1, 0);
    const bounds = range.reverse ? { start: high, end: low, reverse: true } : { start: low, end: high };
    for (const key of this.#snapshot.partition.tables.report_time.getKeys({ ...bounds, ...this.#snapshot.options })) {
      yield { time: timeOfKey(key), id: idOfTimeKey(key) };
    }
  }

  /** All reports in the order of their hashes. */
  byHash(reverse: boolean): Generator<{ hash: string; id: ReportId }, void, undefined> {
    return this.#snapshot.range(this.#byHash(reverse));
  }

  *#byHash(reverse: boolean): Generator<{ hash: string; id: ReportId }, void, undefined> {
    const range = { reverse, ...this.#snapshot.options };
    for (const { key, value } of this.#snapshot.partition.tables.report_digest.getRange(range)) {
      yield { hash: key.toString('hex'), id: idIn(value) };
    }
  }

  /** The least and the greatest of the reports' producer times; null: there are no reports. */
  timeSpan(): { readonly first: number; readonly last: number } | null {
    const [first] = this.byTime({ reverse: false });
    const [last] = this.byTime({ reverse: true });
    return first === undefined || last === undefined ? null : { first: first.time, last: last.time };
  }
}

const IDS_AT_ONCE = 256;
/** So many numbers are looked at for each report at most. */
const COUNTED_EACH = 2;

/** Numbers from `first` on that are below `end`. */
export interface IdRange {
  readonly first: ReportId;
  readonly end: ReportId;
}

/** Ids of reports, one at a time or by ranges. */
export class ReportIds implements Iterable<ReportId> {
  readonly ranges: () => Iterable<IdRange>;

  constructor(ranges: () => Iterable<IdRange>) {
    this.ranges = ranges;
  }

  *[Symbol.iterator](): Generator<ReportId, void, undefined> {
    for (const { first, end } of this.ranges()) for (let id = first; id < end; id++) yield id;
  }
}
