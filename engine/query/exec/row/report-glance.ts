// What a partition keeps of its reports side by side (node, kind and times: store/reports/) in the form of a report's record, so that queries that read
// nothing else do not read the records. The other fields of such a record mean nothing.

import { bytesOf } from '../../../bytes.ts';
import { quoted } from '../../../store/records/fields.ts';
import type { NodeId, ReportId } from '../../../store/records/records.ts';
import { REPORT_NUMBER, REPORT_SHAPE, REPORT_TEXT, StoredReport } from '../../../store/records/report-record.ts';
import { blockOf, placeIn } from '../../../store/reports/report-blocks.ts';
import { KIND_PLACES } from '../../../store/reports/report-kinds.ts';
import type { ReportMarks } from '../../../store/reports/report-marks.ts';
import type { ReportMoments } from '../../../store/reports/report-moments.ts';
import type { View } from '../../../store/view.ts';

/** Only its record tells about the report. */
export const NOT_KEPT = -1;

/** The record begins so that its numbers, behind a byte of flags, lie where words of 32 bits do. */
const START = 7;
const NUMBERS = START + 1;
const NUMBERS_BYTES = NUMBERS + REPORT_SHAPE.numbers * 8;
const FIRST_BYTES = 1 << 12;
/** Words of a number. */
const WORDS = 2;
const wordOf = (number: number): number => NUMBERS / 4 + number * WORDS;
const NODE = wordOf(REPORT_NUMBER.nodeId);
const PRODUCER = wordOf(REPORT_NUMBER.producerTimestamp);
const RECEIVE = wordOf(REPORT_NUMBER.receiveTime);
const START_TIME = wordOf(REPORT_NUMBER.startTime);
const END_TIME = wordOf(REPORT_NUMBER.endTime);
const TWO_32 = 2 ** 32;

/** Where a text lies in the glance's bytes. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The reports of one partition, one at a time. */
export class ReportGlance {
  /** Has what is kept of the one that was opened. */
  readonly report = new StoredReport();
  readonly #marks: ReportMarks;
  readonly #moments: ReportMoments;
  readonly #nameOf: (node: NodeId) => string;
  /** Numbers, then texts, each of them once. */
  #bytes = Buffer.from(new ArrayBuffer(FIRST_BYTES));
  #words = wordsOf(this.#bytes);
  #length = NUMBERS_BYTES;
  /** Of each text of the report: where it begins and ends. */
  readonly #places = new Uint32Array(REPORT_SHAPE.keys.length * 2);
  readonly #kinds = new Map<number, readonly Span[]>();
  readonly #names = new Map<NodeId, Span>();
  #kind = Number.NaN;
  #node: NodeId = 0;

  /** `nameOf`: a node's certname; empty for one that is gone. */
  private constructor(view: View, nameOf: (node: NodeId) => string) {
    const { reports } = view;
    this.#marks = reports.marks;
    this.#moments = reports.moments;
    this.#nameOf = nameOf;
    for (const { mark, report } of reports.kindsOfMarked())
      this.#kinds.set(
        mark,
        KIND_PLACES.map((place) => this.#keep(bytesOf(report.text(place)))),
      );
    this.report.record.start = START;
    this.report.record.spread(this.#bytes, this.#places, 0);
  }

  /** null: kinds cannot be told apart. */
  static of(view: View, nameOf: (node: NodeId) => string): ReportGlance | null {
    return view.reports.areKindsMarked ? new ReportGlance(view, nameOf) : null;
  }

  /** Makes that report the present one. Returns its node, 0 where there is no such report, or NOT_KEPT. */
  open(id: ReportId): NodeId {
    if (id < this.#marks.since) return NOT_KEPT;
    const node = this.#marks.open(id);
    if (node === 0) return 0;
    const moments = this.#moments.at(blockOf(id));
    const place = placeIn(id);
    if (!moments.has(place)) return NOT_KEPT;
    if (this.#marks.kind !== this.#kind && !this.#setKind(this.#marks.kind)) return NOT_KEPT;
    if (node !== this.#node && !this.#setNode(node)) return NOT_KEPT;
    this.#set(PRODUCER, moments.producer(place));
    this.#set(RECEIVE, moments.receive(place));
    this.#set(START_TIME, moments.start(place));
    this.#set(END_TIME, moments.end(place));
    return node;
  }

  #setKind(mark: number): boolean {
    const spans = this.#kinds.get(mark);
    if (spans === undefined) return false;
    this.#kind = mark;
    for (let i = 0; i < spans.length; i++) this.#place(KIND_PLACES[i]!, spans[i]!);
    return true;
  }

  #setNode(node: NodeId): boolean {
    let span = this.#names.get(node);
    if (span === undefined) {
      const name = this.#nameOf(node);
      if (name === '') return false;
      this.#names.set(node, (span = this.#keep(bytesOf(quoted(name)))));
    }
    this.#node = node;
    this.#place(REPORT_TEXT.certname, span);
    this.#set(NODE, node);
    return true;
  }

  /** As records hold numbers (store/records/fields.ts). */
  #set(word: number, value: number): void {
    const words = this.#words;
    words[word] = value;
    words[word + 1] = Math.floor(value / TWO_32);
  }

  #place(text: number, { start, end }: Span): void {
    this.#places[text * 2] = start;
    this.#places[text * 2 + 1] = end;
  }

  #keep(text: Uint8Array): Span {
    const start = this.#length;
    const end = start + text.length;
    if (end > this.#bytes.length) {
      const longer = Buffer.from(new ArrayBuffer((Math.max(end, this.#bytes.length * 2) + 3) & ~3));
      longer.set(this.#bytes);
      this.#bytes = longer;
      this.#words = wordsOf(longer);
      this.report.record.spread(longer, this.#places, 0);
    }
    this.#bytes.set(text, start);
    this.#length = end;
    return { start, end };
  }
}

/** Of memory of its own. */
const wordsOf = ({ buffer }: Buffer): Int32Array => new Int32Array(buffer);
