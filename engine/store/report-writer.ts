// Changes of reports within one transaction (batch.ts): their records, lists and events, the sets they are in, and what is kept of many of
// them together (reports/).

import { idValue, pairKey, timeKey } from './file/keys.ts';
import { present } from './file/lmdb.ts';
import type { PostingsWriter } from './items/postings.ts';
import type { PartitionStore } from './partition-store.ts';
import { type EncodedEvents, encodeEvents, eventRange } from './records/event-record.ts';
import type { EventRecord, ReportId, ReportRecord } from './records/records.ts';
import { encodeReportLists, REPORT_LISTS, type ReportLists } from './records/report-lists.ts';
import { encodeReport } from './records/report-record.ts';
import { REPORTS_WITH_EVENTS } from './records/tables.ts';
import { CLOCKS, FAR_SETS, isFar, withTimesOf } from './reports/report-times.ts';
import { type State, takeId } from './state.ts';
import type { View } from './view.ts';

const EMPTY = Buffer.alloc(0);

/** What a batch shares with it. */
interface ReportWriterOptions {
  readonly partition: PartitionStore;
  /** Reads inside the transaction. */
  readonly view: View;
  readonly state: State;
  readonly sets: PostingsWriter;
  /** Takes the ids of reports that were stored and are not any more what they were. */
  readonly rewritten: Set<ReportId>;
}

/** Only valid as long as its batch. */
export class ReportWriter {
  readonly #partition: PartitionStore;
  readonly #view: View;
  readonly #state: State;
  readonly #sets: PostingsWriter;
  readonly #rewritten: Set<ReportId>;

  constructor({ partition, view, state, sets, rewritten }: ReportWriterOptions) {
    this.#partition = partition;
    this.#view = view;
    this.#state = state;
    this.#sets = sets;
    this.#rewritten = rewritten;
    partition.kindCounts.begin();
    partition.markWriter.begin();
    partition.momentWriter.begin();
    partition.statusWriter.begin();
    partition.periodCounts.begin();
  }

  /** Stores a report with its lists and events (null for none; the record counts them); the caller has checked that its hash is new. */
  add(record: ReportRecord, events: EncodedEvents | null, lists: ReportLists): ReportId {
    const { tables } = this.#partition;
    const id = takeId(this.#state, 'report');
    tables.report.putSync(id, encodeReport(record));
    tables.report_digest.putSync(Buffer.from(record.hash, 'hex'), idValue(id));
    tables.report_node.putSync(pairKey(record.nodeId, id), EMPTY);
    tables.report_time.putSync(timeKey(record.producerTimestamp, id), EMPTY);
    if (events !== null) this.#putEvents(id, events);
    tables.report_lists.putSync(id, encodeReportLists(lists));
    const kind = this.#partition.kindCounts.add(record, 1);
    this.#partition.markWriter.add(tables.report_marks, id, record, kind, events?.columns ?? null);
    this.#partition.momentWriter.set(tables.report_moments, id, record);
    this.#partition.statusWriter.set(tables.report_statuses, id, events?.columns ?? null);
    this.#partition.periodCounts.add(record.producerTimestamp, kind, 1);
    this.#keepTimes(id, record);
    this.#state.counts.reports++;
    this.#state.counts.events += record.eventCount;
    return id;
  }

  #keepTimes(id: ReportId, record: ReportRecord): void {
    for (const clock of CLOCKS) {
      const known = withTimesOf(this.#state.reportTimes, clock, record);
      if (known === null) this.#sets.add(FAR_SETS[clock], id);
      else this.#state.reportTimes = known;
    }
  }

  /** `now`: what becomes of the report; null: it goes. */
  #nearer(id: ReportId, record: ReportRecord, now: ReportRecord | null): void {
    if (id < this.#state.reportTimes.since) return;
    for (const clock of CLOCKS) {
      if (!isFar(clock, record)) continue;
      const known = now === null ? null : withTimesOf(this.#state.reportTimes, clock, now);
      if (now !== null && known === null) continue;
      this.#sets.remove(FAR_SETS[clock], id);
      if (known !== null) this.#state.reportTimes = known;
    }
  }

  /** Replaces a stored report's events (retention); header counts follow. */
  setEvents(id: ReportId, events: readonly EventRecord[]): void {
    const record = this.#view.reports.get(id);
    if (record === undefined) return;
    this.#state.counts.events += events.length - record.eventCount;
    this.#rewritten.add(id);
    const { tables } = this.#partition;
    const now = { ...record, ...eventRange(events) };
    tables.report.putSync(id, encodeReport(now));
    this.#nearer(id, record, now);
    const encoded = events.length > 0 ? encodeEvents(events) : null;
    if (encoded === null) this.#removeEvents(id);
    else this.#putEvents(id, encoded);
    if (id >= this.#state.marksSince)
      this.#partition.markWriter.setEvents(tables.report_marks, id, encoded?.columns ?? null);
    this.#partition.momentWriter.set(tables.report_moments, id, now);
    this.#partition.statusWriter.set(tables.report_statuses, id, encoded?.columns ?? null);
  }

  #putEvents(id: ReportId, { columns, values }: EncodedEvents): void {
    const { tables } = this.#partition;
    tables.report_event.putSync(id, columns);
    if (values !== null) tables.report_event_value.putSync(id, values);
    this.#sets.add(REPORTS_WITH_EVENTS, id);
  }

  #removeEvents(id: ReportId): void {
    const { tables } = this.#partition;
    tables.report_event.removeSync(id);
    tables.report_event_value.removeSync(id);
    this.#sets.remove(REPORTS_WITH_EVENTS, id);
  }

  /** Removes the report with all that belongs to it. A node's latest one is to be taken from the node's record as well. */
  delete(id: ReportId): void {
    const record = this.#view.reports.get(id);
    if (record === undefined) return;
    const { tables } = this.#partition;
    this.#rewritten.add(id);
    tables.report_digest.removeSync(Buffer.from(record.hash, 'hex'));
    tables.report_node.removeSync(pairKey(record.nodeId, id));
    tables.report_time.removeSync(timeKey(record.producerTimestamp, id));
    if (record.eventCount > 0) this.#removeEvents(id);
    this.#nearer(id, record, null);
    if (id >= this.#state.reportTimes.since) {
      const kind = this.#partition.kindCounts.add(record, -1);
      if (id >= this.#state.marksSince) {
        this.#partition.markWriter.remove(tables.report_marks, id);
        this.#partition.periodCounts.add(record.producerTimestamp, kind, -1);
      }
    }
    this.#partition.momentWriter.remove(tables.report_moments, id);
    this.#partition.statusWriter.remove(tables.report_statuses, id);
    tables.report.removeSync(id);
    if (present(tables.report_lists, id)) tables.report_lists.removeSync(id);
    else for (const name of REPORT_LISTS) tables[`report_${name}`].removeSync(id);
    this.#state.counts.reports--;
    this.#state.counts.events -= record.eventCount;
  }

  /** Writes what was collected. Called by the batch when it ends. */
  flush(): void {
    const { kindCounts, markWriter, momentWriter, periodCounts, statusWriter, tables } = this.#partition;
    kindCounts.flush(tables.report_kind);
    markWriter.flush(tables.report_marks);
    momentWriter.flush(tables.report_moments);
    statusWriter.flush(tables.report_statuses);
    periodCounts.flush(tables.report_period);
  }
}
