// Events folded into counts per subject, one by one: where nodes count, and where there is no WebAssembly (event-kernel.ts).

import { ByteNumbers } from '../../../byte-numbers.ts';
import { PairNumbers } from '../../../pair-numbers.ts';
import { EVENT_CODE, type StoredEvents } from '../../../store/records/event-record.ts';
import type { TextRecord } from '../../../store/records/fields.ts';
import { REPORT_TEXT } from '../../../store/records/report-record.ts';
import type { EventCountsTree } from '../../tree.ts';
import { CodedNumbers, withRoom } from '../filter/coded.ts';
import type { Row } from '../row/row.ts';
import { type Added, COUNTS, type EventTally, STATUS, SUBJECT_CODES, type Subjects } from './event-tally.ts';
import { TEXT_BYTES } from './group-keys.ts';

const { certname: CERTNAME } = REPORT_TEXT;

/** What is told apart of an event's change where events count once per kind of it. */
const CHANGES: readonly (boolean | null)[] = [null, false, true];

/** So many subjects there is room for at first. */
const SUBJECTS_FIRST = 256;

/**
 * What events are counted by, and their counts: in arrays over all subjects, as loops that look at thousands of them by turns wait for
 * memory more than for anything else.
 */
class CountedSubjects implements Subjects {
  readonly #texts: (readonly string[])[] = [];
  /** By subject, COUNTS of them by the places of COUNT. */
  counts = new Uint32Array(COUNTS * SUBJECTS_FIRST);
  /** By subject: the number of its first text, where it has two. */
  #firsts = new Uint32Array(SUBJECTS_FIRST);
  /** By subject: the one before it with the same last text, + 1, or 0. Few titles have several types. */
  #others = new Uint32Array(SUBJECTS_FIRST);
  /** By the number of the last text: the latest subject that has it, + 1, or 0. */
  #latest = new Uint32Array(SUBJECTS_FIRST);

  /** Bytes of their texts, which are also kept to be found by. */
  #textBytes = 0;

  get length(): number {
    return this.#texts.length;
  }

  get bytes(): number {
    const numbers = [this.counts, this.#firsts, this.#others, this.#latest];
    return numbers.reduce((sum, { byteLength }) => sum + byteLength, this.#textBytes);
  }

  texts(subject: number): readonly string[] {
    return this.#texts[subject]!;
  }

  /** The one of these texts' numbers; below 0: there is none yet. `first`: 0 where there is one text only. */
  find(first: number, last: number): number {
    if (last >= this.#latest.length) return -1;
    let found = this.#latest[last]!;
    while (found !== 0 && this.#firsts[found - 1] !== first) found = this.#others[found - 1]!;
    return found - 1;
  }

  add(first: number, last: number, texts: readonly string[]): number {
    const subject = this.#texts.length;
    if (subject === this.#firsts.length) {
      this.counts = withRoom(this.counts, this.counts.length + 1);
      this.#firsts = withRoom(this.#firsts, subject + 1);
      this.#others = withRoom(this.#others, subject + 1);
    }
    if (last >= this.#latest.length) this.#latest = withRoom(this.#latest, last + 1);
    this.#texts.push(texts);
    for (const text of texts) this.#textBytes += TEXT_BYTES + text.length * 2;
    this.#firsts[subject] = first;
    this.#others[subject] = this.#latest[last]!;
    this.#latest[last] = subject + 1;
    return subject;
  }

  count(subject: number, kind: number): number {
    return this.counts[subject * COUNTS + kind]!;
  }
}

/** What was counted of subjects and nodes: a bit for each status and kind of change, which are few. */
class Counted {
  readonly #pairs = new PairNumbers();
  /** By the number of a pair. */
  #bits = new Uint16Array(256);

  get bytes(): number {
    return this.#pairs.byteLength + this.#bits.byteLength;
  }

  /** Whether the events of that node, status and change are the first of the subject's. */
  isFirst(subject: number, node: number, { whole }: Added, change: number): boolean {
    const pair = this.#pairs.of(subject, node);
    if (pair >= this.#bits.length) {
      const bits = new Uint16Array(this.#bits.length * 2);
      bits.set(this.#bits);
      this.#bits = bits;
    }
    const bit = 1 << (whole * CHANGES.length + change);
    if ((this.#bits[pair]! & bit) !== 0) return false;
    this.#bits[pair]! |= bit;
    return true;
  }
}

/**
 * Folds events into the counts of their subjects, report by report. Within a report equal texts have equal codes, so that a
 * text's number and a status are looked up once per report and code.
 */
export class Counting implements EventTally {
  readonly #tree: EventCountsTree;
  readonly #enterprise: boolean;
  readonly #columns: readonly number[];
  readonly #subjects = new CountedSubjects();
  readonly #numbers = new CodedNumbers();
  /** count_by certname: what each node has counted for already; null: each event counts. */
  readonly #counted: Counted | null;
  readonly #nodes = new ByteNumbers();
  /** The report whose events are counted, and its partition. */
  #report = 0;
  #part = -1;
  #record: TextRecord | null = null;
  /** Number of its node's certname. */
  #node = 0;
  #status: (Added | null | undefined)[] = [];
  /** By code of a status, of the events being counted: how many, and how many of them are corrective changes. */
  #events = new Uint32Array(256);
  #corrective = new Uint32Array(256);
  readonly #met: number[] = [];

  constructor(tree: EventCountsTree, enterprise: boolean) {
    this.#tree = tree;
    this.#enterprise = enterprise;
    this.#columns = SUBJECT_CODES[tree.summarizeBy];
    this.#counted = tree.countBy === 'certname' ? new Counted() : null;
  }

  get bytes(): number {
    return this.#subjects.bytes + (this.#counted?.bytes ?? 0);
  }

  take(): Subjects {
    return this.#subjects;
  }

  add(row: Row, rest: number): void {
    const events = row.sub as StoredEvents;
    if (row.itemId !== this.#report || row.part !== this.#part) this.#begin(row);
    const from = row.subIndex;
    const to = from + rest + 1;
    if (this.#columns.length === 0 && this.#counted === null) {
      this.#addAll(events, from, to);
      return;
    }
    const [column, other] = this.#columns;
    let subject = -1;
    // The events of a resource lie side by side: they have its codes.
    let code = -1;
    let otherCode = -1;
    for (let index = from; index < to; index++) {
      const next = column === undefined ? 0 : events.codeAt(column, index);
      const otherNext = other === undefined ? 0 : events.codeAt(other, index);
      if (subject < 0 || next !== code || otherNext !== otherCode) subject = this.#subject(events, next, otherNext);
      code = next;
      otherCode = otherNext;
      this.#addOne(subject, events, index);
    }
  }

  /** Counts so many events of the row's node that are equal to the row's in their status, and no corrective changes. Only where nodes are the subjects. */
  addEqual(row: Row, count: number): void {
    const events = row.sub as StoredEvents;
    if (row.itemId !== this.#report || row.part !== this.#part) this.#begin(row);
    const at = this.#subject(events, 0, 0) * COUNTS;
    const fields = this.#addedBy(events.code(EVENT_CODE.status), events);
    if (fields === null) return;
    const { counts } = this.#subjects;
    counts[at + fields.whole]! += count;
    if (fields.intentional !== fields.whole) counts[at + fields.intentional]! += count;
  }

  #begin(row: Row): void {
    const events = row.sub as StoredEvents;
    this.#report = row.itemId;
    this.#part = row.part;
    this.#record = row.report.record;
    this.#node = this.#nodes.of(this.#record.bytes, this.#record.startOf(CERTNAME), this.#record.endOf(CERTNAME));
    const { textCount } = events;
    if (textCount > this.#events.length) {
      this.#events = new Uint32Array(textCount * 2);
      this.#corrective = new Uint32Array(textCount * 2);
    }
    this.#status = [];
  }

  #addOne(subject: number, events: StoredEvents, index: number): void {
    const fields = this.#addedBy(events.codeAt(EVENT_CODE.status, index), events);
    if (fields === null) return;
    const change = events.codeAt(EVENT_CODE.correctiveChange, index);
    if (this.#counted?.isFirst(subject, this.#node, fields, this.#changeOf(change, events)) === false) return;
    const { counts } = this.#subjects;
    const at = subject * COUNTS;
    counts[at + fields.whole]!++;
    if (fields.intentional === fields.whole) return;
    counts[at + (events.valueOf(change) === true ? fields.corrective : fields.intentional)]!++;
  }

  /** Events of one subject, which is the report's node. */
  #addAll(events: StoredEvents, from: number, to: number): void {
    const at = this.#subject(events, 0, 0) * COUNTS;
    const { counts } = this.#subjects;
    const met = this.#met;
    let change = -1;
    let isCorrective = false;
    for (let index = from; index < to; index++) {
      const status = events.codeAt(EVENT_CODE.status, index);
      if (this.#events[status]!++ === 0) met.push(status);
      const code = events.codeAt(EVENT_CODE.correctiveChange, index);
      if (code !== change) {
        change = code;
        isCorrective = events.valueOf(code) === true;
      }
      if (isCorrective) this.#corrective[status]!++;
    }
    for (let i = 0; i < met.length; i++) {
      const status = met[i]!;
      const count = this.#events[status]!;
      const corrective = this.#corrective[status]!;
      this.#events[status] = 0;
      this.#corrective[status] = 0;
      const fields = this.#addedBy(status, events);
      if (fields === null) continue;
      counts[at + fields.whole]! += count;
      if (fields.intentional === fields.whole) continue;
      counts[at + fields.corrective]! += corrective;
      counts[at + fields.intentional]! += count - corrective;
    }
    met.length = 0;
  }

  /** Of each node an event counts once per status, and kind of change, where that is told apart. */
  #changeOf(code: number, events: StoredEvents): number {
    return this.#enterprise ? CHANGES.indexOf(events.valueOf(code) as boolean | null) : 0;
  }

  /** What events with a status of that code add to; null: to nothing. */
  #addedBy(status: number, events: StoredEvents): Added | null {
    let fields = this.#status[status];
    if (fields === undefined) {
      fields = STATUS.get(events.valueOf(status) as string) ?? null;
      this.#status[status] = fields;
    }
    return fields;
  }

  /** That of an event with these codes in the first two of the columns, as far as there are so many. */
  #subject(events: StoredEvents, code: number, otherCode: number): number {
    const subjects = this.#subjects;
    const count = this.#columns.length;
    const number = count === 0 ? this.#node : this.#numbers.of(events, count === 1 ? code : otherCode);
    const first = count === 2 ? this.#numbers.of(events, code) : 0;
    const found = subjects.find(first, number);
    return found < 0 ? subjects.add(first, number, this.#texts(events, code, otherCode)) : found;
  }

  #texts(events: StoredEvents, code: number, otherCode: number): readonly string[] {
    if (this.#tree.summarizeBy === 'certname') return [this.#record!.text(CERTNAME)];
    return this.#columns.map((_, place) => events.textOf(place === 0 ? code : otherCode));
  }
}
