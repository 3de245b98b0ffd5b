// Rows of reports and of what they have: events, logs, metrics.

import type { NodeSet } from '../../../store/items/node-set.ts';
import type { StoredEvents } from '../../../store/records/event-record.ts';
import type { ReportId } from '../../../store/records/records.ts';
import type { StoredReport } from '../../../store/records/report-record.ts';
import { type Seek, seekAll } from '../filter/coded.ts';
import type { Predicate } from '../filter/filter.ts';
import { TRUE } from '../filter/truth.ts';
import type { Behind } from '../order/behind.ts';
import type { Value } from '../row/access.ts';
import type { Row, SubList, SubRows } from '../row/row.ts';
import { type Cursor, END, NO_SUBS, PAUSE, ROW, type Step, WORK_PER_STEP } from './cursor.ts';
import { NO_REPORT } from './report-ids.ts';

/** So many events are sought through at a time, which is so much of that work. */
const SOUGHT_MAX = 64;
const WORK_OF_SEEK = 8;
/** So many reports are put in order at a time. */
const BATCH_FIRST = 256;
const BATCH_MAX = 1 << 13;

/** A report with what is known of its rows. */
interface Bounded {
  readonly id: ReportId;
  readonly keys: readonly Value[];
}

interface ReportOptions {
  readonly row: Row;
  /** The reports to look at; NO_REPORT among them where none was found yet. */
  readonly ids: Iterable<ReportId>;
  /** The nodes whose reports are wanted; null: all. */
  readonly nodes: NodeSet | null;
  /** Whether a glance at a report tells enough of it (row/report-glance.ts). */
  readonly isGlance: boolean;
  /** What reports have to pass by themselves, and what rows have to pass beside that. */
  readonly report: Predicate | null;
  readonly sub: Predicate | null;
  readonly subs: SubRows;
  /** true for reports that need not be looked at any further. */
  readonly skip: ((report: StoredReport) => boolean) | null;
  /** Rows that it tells need not come. */
  readonly behind: Behind | null;
}

/** Rows of reports, or of their sub-rows. */
export class ReportCursor implements Cursor {
  readonly #row: Row;
  readonly #ids: Iterator<ReportId>;
  readonly #nodes: NodeSet | null;
  readonly #isGlance: boolean;
  readonly #report: Predicate | null;
  readonly #subs: SubRows;
  /** What `#seek` does not tell of sub-rows. */
  readonly #sub: Predicate | null;
  readonly #skip: ((report: StoredReport) => boolean) | null;
  /** Of events: where the codes tell which of them can be rows. */
  readonly #seek: Seek | null;
  /** Whether nothing is asked of reports, so that the codes of their events are looked at before them. */
  readonly #isSubFirst: boolean;
  #list: SubList = NO_SUBS;
  #subAt = 0;

  constructor({ row, ids, nodes, isGlance, report, sub, subs, skip, behind }: ReportOptions) {
    this.#row = row;
    this.#ids = behind?.bounds ? this.#inOrder(ids, behind) : ids[Symbol.iterator]();
    this.#nodes = nodes;
    this.#isGlance = isGlance;
    this.#report = report;
    this.#subs = subs;
    this.#sub = sub?.isExact === true ? null : sub;
    this.#skip = skip;
    const seeks = [sub?.seek, behind?.seek].filter((seek) => seek !== undefined && seek !== null);
    this.#seek = seeks.length === 0 ? null : seekAll(seeks);
    this.#isSubFirst = this.#seek !== null && nodes === null && report === null && skip === null;
  }

  next(): Step {
    const row = this.#row;
    const cost = this.#seek === null ? 1 : WORK_OF_SEEK;
    for (let work = 0; work < WORK_PER_STEP; work += cost) {
      if (this.#subAt < this.#list.length) {
        if (!this.#seekOn()) continue;
        row.subIndex = this.#subAt;
        row.sub = this.#list.at(this.#subAt++);
        if (this.#sub === null || this.#sub.test(row) === TRUE) return ROW;
        continue;
      }
      const { done, value } = this.#ids.next();
      if (done) return END;
      if (value === NO_REPORT) return PAUSE;
      if (!this.#open(value)) continue;
      if (this.#subs === null) {
        if (this.#sub === null || this.#sub.test(row) === TRUE) return ROW;
        continue;
      }
      this.#list = this.#subs(row);
      this.#subAt = 0;
    }
    return PAUSE;
  }

  takeRest(max: number): number {
    if (this.#sub !== null) return 0;
    const first = this.#subAt;
    const end = Math.min(first + max, this.#list.length);
    if (this.#seek === null) this.#subAt = end;
    else while (this.#subAt < end && this.#isSought(this.#subAt)) this.#subAt++;
    return this.#subAt - first;
  }

  leaveItem(): void {
    this.#subAt = this.#list.length;
  }

  #open(id: ReportId): boolean {
    return !(this.#isSubFirst && !this.#canHaveRows(id)) && this.#openRecord(id);
  }

  #openRecord(id: ReportId): boolean {
    const row = this.#row;
    if (!(this.#isGlance ? row.glanceReport(id) : row.openReport(id))) return false;
    if (this.#nodes !== null && !this.#nodes.has(row.nodeId)) return false;
    if (this.#skip?.(row.report)) return false;
    return this.#report === null || this.#report.test(row) === TRUE;
  }

  /**
   * The reports that can have rows, in the order of what is known of their rows together, without those that are behind the page: some
   * at a time, first few of them, as most of the others are behind a page that is full. Between them NO_REPORT.
   */
  *#inOrder(ids: Iterable<ReportId>, behind: Behind): Generator<ReportId, void, undefined> {
    const { compare, keys } = behind.bounds!;
    const byKeys = (a: Bounded, b: Bounded): number => compare(a.keys, b.keys);
    let batch: Bounded[] = [];
    let size = BATCH_FIRST;
    let looked = 0;
    const sorted = function* () {
      // Equal ones stay in the order in which they lie.
      for (const bounded of batch.sort(byKeys)) {
        if (behind.hasReport(bounded.keys)) return;
        yield bounded.id;
      }
    };
    for (const id of ids) {
      if (id === NO_REPORT || ++looked % WORK_PER_STEP === 0) yield NO_REPORT;
      if (id !== NO_REPORT && this.#openRecord(id)) {
        const known = keys(this.#row);
        if (behind.hasReport(known)) continue;
        batch.push({ id, keys: known });
      }
      // Those that are few may fill the page nevertheless.
      const isFull = batch.length === size;
      if (!isFull && id !== NO_REPORT) continue;
      yield* sorted();
      batch = [];
      if (isFull) size = Math.min(size * 2, BATCH_MAX);
    }
    yield* sorted();
  }

  #canHaveRows(id: ReportId): boolean {
    this.#row.itemId = id;
    const events = this.#subs!(this.#row) as StoredEvents;
    const to = Math.min(events.length, SOUGHT_MAX);
    return this.#seek!(events, 0, to) < to || to < events.length;
  }

  /** Goes to the next sub-row that can be a row; false when it was not found yet. */
  #seekOn(): boolean {
    if (this.#seek === null) return true;
    const to = Math.min(this.#list.length, this.#subAt + SOUGHT_MAX);
    this.#subAt = this.#seek(this.#list as StoredEvents, this.#subAt, to);
    return this.#subAt < to;
  }

  #isSought(index: number): boolean {
    return this.#seek!(this.#list as StoredEvents, index, index + 1) === index;
  }
}
