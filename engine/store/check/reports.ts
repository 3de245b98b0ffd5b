// Reports, and what lies beside them: events, lists, sets, indexes, counters and what is kept of all of them side by side.

import { idOfTimeKey, pairKey, timeOfKey } from '../file/keys.ts';
import { fast, present } from '../file/lmdb.ts';
import { inspectColumns } from '../records/event-record.ts';
import type { NodeId, ReportId, ReportRecord } from '../records/records.ts';
import { decodeReport } from '../records/report-record.ts';
import { REPORTS_LATEST, REPORTS_WITH_EVENTS } from '../records/tables.ts';
import { kindText, markOfKind } from '../reports/report-kinds.ts';
import { periodOf } from '../reports/report-periods.ts';
import { CLOCKS, FAR_SETS, withTimesOf } from '../reports/report-times.ts';
import type { View } from '../view.ts';
import { count, type Findings, shown } from './findings.ts';
import type { CheckedNodes } from './nodes.ts';

/** Tables of which a report's row goes with the report. */
const OF_REPORTS = [
  'report_event',
  'report_event_value',
  'report_lists',
  'report_logs',
  'report_metrics',
  'report_resources',
] as const;

export class ReportsCheck {
  readonly #view: View;
  readonly #nodes: CheckedNodes;
  readonly #findings: Findings;

  constructor(view: View, nodes: CheckedNodes, findings: Findings) {
    this.#view = view;
    this.#nodes = nodes;
    this.#findings = findings;
  }

  check(): void {
    this.#findings.walk('the reports', () => this.#reports());
  }

  #reports(): void {
    const view = this.#view;
    const seen = new SeenReports(view);
    for (const { key: id, value } of this.#view.partition.tables.report.getRange({ ...view.options })) {
      seen.reports++;
      const bytes = Buffer.from(value);
      const record = this.#findings.read('report', id, this.#ownerOfReport(id), () => decodeReport(bytes));
      const isRead =
        record !== undefined &&
        this.#findings.read(
          'report',
          id,
          () => record.certname,
          () => this.#report(id, record, seen),
        );
      if (isRead !== true) seen.unread.add(id);
    }
    for (const table of OF_REPORTS) this.#findings.walk(table, () => this.#ofReports(table));
    this.#findings.walk('what leads to reports', () => this.#reportTables(seen));
    this.#findings.walk("the nodes' latest reports", () => this.#latestReports(seen));
    if (seen.unread.size > 0) return;
    this.#findings.equal("set 'reports with events': further ones", seen.withEvents.size, 0);
    for (const { clock, ids } of seen.far)
      this.#findings.equal(`set 'reports far away by ${clock}': further ones`, ids.size, 0);
    this.#findings.walk('the kinds of reports', () => this.#reportKinds(seen));
    this.#findings.walk('the periods of reports', () => this.#reportPeriods(seen));
  }

  /** Rows whose report is not there. */
  #ofReports(table: (typeof OF_REPORTS)[number]): void {
    const { tables } = this.#view.partition;
    const { options } = this.#view;
    for (const id of tables[table].getKeys({ ...options }))
      if (!present(tables.report, id, options)) this.#findings.say(`${table} ${id} is of no report`);
      else if (table === 'report_event_value' && !present(tables.report_event, id, options))
        this.#findings.say(`${table} ${id} is of no events`);
  }

  #report(id: number, record: ReportRecord, seen: SeenReports): true {
    const view = this.#view;
    const { nodeId, certname, hash, producerTimestamp } = record;
    const node = this.#nodes.records.get(nodeId);
    if (node?.certname !== certname && !this.#nodes.unread.has(nodeId))
      this.#findings.say(`report ${id} of ${shown(certname)}: its node is ${node && shown(node.certname)}`);
    if (view.reports.idOf(hash) !== id)
      this.#findings.say(`report ${id}: its hash leads to ${view.reports.idOf(hash)}`);
    if (!present(this.#view.partition.tables.report_node, pairKey(nodeId, id), view.options))
      this.#findings.say(`report ${id} is not among its node's`);
    if (id >= view.state.reportTimes.since) countOne(seen.kinds, kindText(record));
    if (record.type !== 'plan')
      seen.latest.set(nodeId, Math.max(seen.latest.get(nodeId) ?? producerTimestamp, producerTimestamp));
    const columns = fast(this.#view.partition.tables.report_event, id, view.options);
    const events = columns === undefined ? null : Buffer.from(columns);
    const areRead = this.#eventsOf(id, record, events, seen);
    this.#timesOf(id, record, seen);
    if (id >= view.state.marksSince) this.#markOf(id, record, areRead ? events : null, seen);
    this.#momentsOf(id, record, seen);
    this.#statusesOf(id, areRead ? events : undefined, seen);
    return true;
  }

  /** Whether the columns of the report's events could be read, and are of as many as it counts. */
  #eventsOf(id: number, record: ReportRecord, columns: Buffer | null, seen: SeenReports): boolean {
    const { certname, eventCount } = record;
    const whose = () => certname;
    seen.events += eventCount;
    const found =
      columns === null ? NO_EVENTS : this.#findings.read('report_event', id, whose, () => inspectColumns(columns));
    if (found === undefined) {
      seen.withEvents.delete(id);
      return false;
    }
    const { length, isPlaced } = found;
    seen.events += length - eventCount;
    if (length !== eventCount) this.#findings.say(`report ${id}: ${length} events, header ${eventCount}`);
    if (seen.withEvents.delete(id) !== length > 0) this.#findings.say(`set 'reports with events' is wrong about ${id}`);
    this.#findings.read(isPlaced ? 'report_lists' : 'report_event_value', id, whose, () =>
      this.#view.reports.events(id),
    );
    return length === eventCount;
  }

  #timesOf(id: number, record: ReportRecord, { far }: SeenReports): void {
    const { reportTimes } = this.#view.state;
    for (const { clock, ids } of far) {
      const times = id < reportTimes.since ? reportTimes : withTimesOf(reportTimes, clock, record);
      if (ids.delete(id) !== (times === null))
        this.#findings.say(`set 'reports far away by ${clock}' is wrong about ${id}`);
      if (times !== null && times !== reportTimes)
        this.#findings.say(`report ${id}: its times lie further away than is known`);
    }
  }

  /** `events`: their columns; null: there are none, or they cannot be read. */
  #markOf(id: number, record: ReportRecord, events: Buffer | null, seen: SeenReports): void {
    const mark = markOfKind(record);
    seen.marked++;
    countOne(seen.periods, `${periodOf(record.producerTimestamp)} ${mark}`);
    for (const problem of this.#view.reports.marks.problems(id, record, mark, events))
      this.#findings.say(`report ${id}: its mark is wrong about its ${problem}`);
  }

  #momentsOf(id: number, record: ReportRecord, seen: SeenReports): void {
    const { moments } = this.#view.reports;
    if (moments.has(id)) seen.timed++;
    if (!moments.isRight(id, record)) this.#findings.say(`report ${id}: report_moments is wrong about its times`);
  }

  /** `events`: their columns; null: there are none; undefined: they cannot be read. */
  #statusesOf(id: number, events: Buffer | null | undefined, seen: SeenReports): void {
    const { statuses } = this.#view.reports;
    if (statuses.has(id)) seen.counted++;
    if (events !== undefined && !statuses.isRight(id, events))
      this.#findings.say(`report ${id}: report_statuses is wrong about its events`);
  }

  /** What leads to reports, and the counters. */
  #reportTables({ reports, events, marked, timed, counted, unread }: SeenReports): void {
    const { report_time, report_node, report_digest } = this.#view.partition.tables;
    const view = this.#view;
    let keys = 0;
    for (const key of report_time.getKeys({ ...view.options })) {
      keys++;
      if (unread.has(idOfTimeKey(key))) continue;
      const record = view.reports.get(idOfTimeKey(key));
      if (record?.producerTimestamp !== timeOfKey(key))
        this.#findings.say(`report_time of ${idOfTimeKey(key)} is wrong`);
    }
    this.#findings.equal('report_time', keys, reports);
    if (unread.size === 0) {
      this.#findings.equal('marks of reports', view.reports.marks.count(), marked);
      this.#findings.equal('report_moments', view.reports.moments.count(), timed);
      this.#findings.equal('report_statuses', view.reports.statuses.count(), counted);
      this.#findings.equal('counter of events', view.counts.events, events);
    }
    this.#findings.equal('report_node', count(report_node.getKeys({ ...view.options })), reports);
    this.#findings.equal('report_digest', count(report_digest.getKeys({ ...view.options })), reports);
    this.#findings.equal('counter of reports', view.counts.reports, reports);
  }

  #latestReports({ latest, unread }: SeenReports): void {
    const stored = new Set(this.#view.reports.set(REPORTS_LATEST));
    for (const [id, { certname, latestReport: named }] of this.#nodes.records) {
      const name = shown(certname);
      if (named === null) {
        if (latest.has(id)) this.#findings.say(`${name}: none of its reports is its latest`);
        continue;
      }
      if (!unread.has(named.reportId) && this.#view.reports.get(named.reportId)?.hash !== named.hash)
        this.#findings.say(`${name}: its latest report is not there`);
      if (!stored.delete(named.reportId)) this.#findings.say(`${name}: its latest report is in no set`);
      if (unread.size === 0 && named.producerTimestamp !== latest.get(id))
        this.#findings.say(`${name}: its latest report is not the latest`);
    }
    this.#nodes.total("set 'latest reports': further ones", stored.size, 0);
  }

  #reportKinds({ kinds }: SeenReports): void {
    for (const { count: counted, report } of this.#view.reports.kindsOfMarked()) {
      const kind = kindText(decodeReport(report.record.bytes));
      this.#findings.equal(`reports of the kind ${kind}`, counted, kinds.get(kind) ?? 0);
      kinds.delete(kind);
    }
    this.#findings.equal('kinds of reports that are not counted', kinds.size, 0);
  }

  #reportPeriods({ periods }: SeenReports): void {
    for (const { start, counts } of this.#view.reports.periods(null, null)) {
      for (const [mark, counted] of counts) {
        const period = `${start} ${mark}`;
        this.#findings.equal(`reports of the period and kind ${period}`, counted, periods.get(period) ?? 0);
        periods.delete(period);
      }
    }
    this.#findings.equal('periods and kinds of reports that are not counted', periods.size, 0);
  }

  /** Certname of the report's node, by the list that leads from nodes to reports. */
  #ownerOfReport(id: ReportId): () => string | null {
    return () => {
      for (const key of this.#view.partition.tables.report_node.getKeys({ ...this.#view.options }))
        if (key.length === 8 && key.readUInt32BE(4) === id) return this.#nodes.owner(key.readUInt32BE(0))();
      return null;
    };
  }
}

/** What the reports themselves say that their indexes, sets and counters should hold. */
class SeenReports {
  reports = 0;
  events = 0;
  marked = 0;
  /** Those of which times are told side by side. */
  timed = 0;
  /** Those whose events are counted by status. */
  counted = 0;
  /** Those whose records cannot be read. */
  readonly unread = new Set<ReportId>();
  /** When each node's latest report was made. */
  readonly latest = new Map<NodeId, number>();
  readonly kinds = new Map<string, number>();
  readonly periods = new Map<string, number>();
  /** Sets as they are stored; each report is taken out when it is seen. */
  readonly withEvents: Set<number>;
  readonly far: readonly { readonly clock: (typeof CLOCKS)[number]; readonly ids: Set<number> }[];

  constructor(view: View) {
    this.withEvents = new Set(view.reports.set(REPORTS_WITH_EVENTS));
    this.far = CLOCKS.map((clock) => ({ clock, ids: new Set(view.reports.set(FAR_SETS[clock])) }));
  }
}

const NO_EVENTS = { length: 0, isPlaced: false };

function countOne(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
