// What a partition keeps of its reports side by side, a few bytes of each, so that those that a query does not want are told without
// reading their records:
//
//   node     whose the report is; 0: there is none of that id
//   kind     which kind it is of (report-kinds.ts)
//   events   two bits for each text that its events have in a coded column, but for null
//   texts    16 bits of each of its fields that take very many values
//
// The node tells exactly; so does the kind, unless two kinds have the same mark. The others may take a report for one that is wanted.

import { bytesOf } from '../../bytes.ts';
import { QUOTE } from '../../json/ascii.ts';
import { hasEscape } from '../../json/scan.ts';
import type { ReadOptions } from '../file/lmdb.ts';
import { HASH_START, hashOfBytes, hashOfText, mixed } from '../items/mark-hash.ts';
import { EVENT_CODES, eachCodedText } from '../records/event-record.ts';
import { quoted } from '../records/fields.ts';
import type { NodeId, ReportId, ReportRecord } from '../records/records.ts';
import { REPORT_TEXT } from '../records/report-record.ts';
import {
  BLOCK_REPORTS,
  BlockReader,
  type BlockTable,
  BlockWriter,
  blockOf,
  placeIn,
  ReportBlock,
} from './report-blocks.ts';

const TEXT_FIELDS = ['transactionUuid', 'catalogUuid', 'codeId', 'jobId', 'configurationVersion'] as const;

type Marked = Pick<ReportRecord, 'nodeId' | (typeof TEXT_FIELDS)[number]>;

/** Places in a report's record of the fields of which 16 bits are kept, in that order. */
export const MARKED_TEXTS: readonly number[] = TEXT_FIELDS.map((field) => REPORT_TEXT[field]);

/** Words of events' bits. */
const EVENT_WORDS = 3;
const EVENT_BITS = EVENT_WORDS * 32;
/** Words a report before its texts. */
const WORDS = 2 + EVENT_WORDS;
const BLOCK_BYTES = BLOCK_REPORTS * (WORDS * 4 + TEXT_FIELDS.length * 2);

/** What stands for a text of a field with very many values. */
export const markOfText = (text: string | null): number => (text === null ? 0 : mixed(hashOfText(text)) & 0xffff);

/** Bits for texts of events. */
export class EventMark {
  readonly words = new Uint32Array(EVENT_WORDS);

  add(hash: number): void {
    const bits = mixed(hash);
    this.#set((bits & 0xffff) % EVENT_BITS);
    this.#set((bits >>> 16) % EVENT_BITS);
  }

  addAll({ words }: EventMark): void {
    for (let i = 0; i < EVENT_WORDS; i++) this.words[i]! |= words[i]!;
  }

  #set(bit: number): void {
    this.words[bit >>> 5]! |= 1 << (bit & 31);
  }
}

/** Apart for each column, as none has the same texts as another. */
const startOf = (column: number): number => Math.imul(HASH_START, 2 * column + 1);
const STARTS = Array.from({ length: EVENT_CODES }, (_, column) => startOf(column));

/** What reports have whose events have that text in that coded column. */
export function markOfEventText(column: number, text: string): EventMark {
  const mark = new EventMark();
  const bytes = bytesOf(quoted(text));
  mark.add(hashOfBytes(bytes, 0, bytes.length, STARTS[column]!));
  return mark;
}

/** Of all texts of these events; null: there are none. */
function markOfEvents(columns: Buffer | null): EventMark {
  const mark = new EventMark();
  if (columns === null) return mark;
  eachCodedText(columns, (column, start, end) => {
    if (columns[start] !== QUOTE) return;
    // The same text can be escaped in several ways.
    if (!hasEscape(columns, start, end)) mark.add(hashOfBytes(columns, start, end, STARTS[column]!));
    else mark.addAll(markOfEventText(column, JSON.parse(columns.toString('utf8', start, end)) as string));
  });
  return mark;
}

/** Marks of the reports of a block. */
export class MarkBlock extends ReportBlock {
  readonly bytes = Buffer.alloc(BLOCK_BYTES);
  /** By place: the node, by place: the kind, by place: the words of the events. */
  readonly #words = new Uint32Array(this.bytes.buffer, this.bytes.byteOffset, BLOCK_REPORTS * WORDS);
  /** By field: by place. */
  readonly #texts = new Uint16Array(
    this.bytes.buffer,
    this.bytes.byteOffset + this.#words.byteLength,
    BLOCK_REPORTS * TEXT_FIELDS.length,
  );

  has(place: number): boolean {
    return this.#words[place] !== 0;
  }

  /** 0: there is no such report. */
  node(place: number): NodeId {
    return this.#words[place]!;
  }

  kind(place: number): number {
    return this.#words[BLOCK_REPORTS + place]!;
  }

  /** `field`: a place in MARKED_TEXTS. */
  text(field: number, place: number): number {
    return this.#texts[field * BLOCK_REPORTS + place]!;
  }

  /** Of so many of the places, puts those first of which that text has one of these marks: how many there are. */
  siftByText(field: number, wanted: readonly number[], places: Uint8Array, count: number): number {
    const texts = this.#texts;
    const from = field * BLOCK_REPORTS;
    const [first] = wanted;
    let left = 0;
    for (let i = 0; i < count; i++) {
      const place = places[i]!;
      const mark = texts[from + place]!;
      if (mark === first || (wanted.length > 1 && wanted.includes(mark))) places[left++] = place;
    }
    return left;
  }

  /** Whether the report's events may have all that has those bits. */
  hasEvents(place: number, { words }: EventMark): boolean {
    const at = BLOCK_REPORTS * 2 + place * EVENT_WORDS;
    for (let i = 0; i < EVENT_WORDS; i++) {
      const wanted = words[i]!;
      if ((this.#words[at + i]! & wanted) >>> 0 !== wanted) return false;
    }
    return true;
  }

  set(place: number, report: Marked, kind: number): void {
    this.#words[place] = report.nodeId;
    this.#words[BLOCK_REPORTS + place] = kind;
    for (let field = 0; field < TEXT_FIELDS.length; field++)
      this.#texts[field * BLOCK_REPORTS + place] = markOfText(report[TEXT_FIELDS[field]!]);
  }

  setEvents(place: number, { words }: EventMark): void {
    this.#words.set(words, BLOCK_REPORTS * 2 + place * EVENT_WORDS);
  }

  /** What else there was of the report is not asked for without a node. */
  clear(place: number): void {
    this.#words[place] = 0;
  }
}

const newBlock = (): MarkBlock => new MarkBlock();

/** The marks of one partition, for its writer. */
export class MarkWriter extends BlockWriter<MarkBlock> {
  constructor() {
    super(newBlock);
  }

  /** `columns`: of its events, null where there are none. */
  add(table: BlockTable, id: ReportId, report: Marked, kind: number, columns: Buffer | null): void {
    const block = this.of(table, id);
    block.set(placeIn(id), report, kind);
    block.setEvents(placeIn(id), markOfEvents(columns));
  }

  setEvents(table: BlockTable, id: ReportId, columns: Buffer | null): void {
    this.of(table, id).setEvents(placeIn(id), markOfEvents(columns));
  }
}

/** The marks of one partition at a snapshot, of one report at a time. */
export class ReportMarks extends BlockReader<MarkBlock> {
  /** Nothing is known of reports with smaller ids. */
  readonly since: ReportId;
  #block = newBlock();
  #place = 0;

  constructor(table: BlockTable, since: ReportId, options: ReadOptions) {
    super(newBlock, table, options);
    this.since = since;
  }

  /** Makes that report the present one. Returns its node; 0: there is no such report. */
  open(id: ReportId): NodeId {
    this.#block = this.at(blockOf(id));
    this.#place = placeIn(id);
    return this.#block.node(this.#place);
  }

  get kind(): number {
    return this.#block.kind(this.#place);
  }

  /** What is wrong about a report that is there. */
  *problems(id: ReportId, report: Marked, kind: number, columns: Buffer | null): Generator<string> {
    if (this.open(id) !== report.nodeId) yield 'node';
    if (this.kind !== kind) yield 'kind';
    for (const [field, name] of TEXT_FIELDS.entries())
      if (this.#block.text(field, this.#place) !== markOfText(report[name])) yield name;
    if (!this.#block.hasEvents(this.#place, markOfEvents(columns))) yield 'events';
  }
}
