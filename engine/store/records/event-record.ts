// The events of a report as they are stored: what is filtered, counted and grouped by lies in columns over a dictionary of
// texts, so that it is looked at without making objects. What is only shown lies in the report's packed resources, where it is
// anyway, or in a value of its own, compressed: where the resources could not be packed, some events were dropped, or the
// store is of an older format.
//
//   columns   u8 1 if codes are u32, else u16 | u32 events | u32 texts
//             8 bytes per event: timestamp (see fields.ts)
//             per coded column: a code per event
//             u32 per text: its end | the texts, JSON, UTF-8
//             per event and text that is only shown: size, place (readPlaces); nothing when there are values
//   values    u32 per event: where its record starts | the records (fields.ts)
//
// Ingest and retention have events whole (`encodeEvents`, `decodeEvents`); queries read columns (`StoredEvents`).

import { type ByteWriter, bytesOf, wordsOf } from '../../bytes.ts';
import { Scratch } from '../file/lmdb.ts';
import {
  encodeFields,
  fieldsShape,
  isTextAt,
  quoted,
  readNumber,
  TextRecord,
  type WantedText,
  writeNumber,
} from './fields.ts';
import type { EventRecord, ReportRecord } from './records.ts';
import { packedStart } from './report-lists.ts';

/** Coded columns. */
export const EVENT_CODE = {
  status: 0,
  resourceType: 1,
  resourceTitle: 2,
  property: 3,
  name: 4,
  containingClass: 5,
  correctiveChange: 6,
} as const;
/** How many coded columns there are. */
export const EVENT_CODES = 7;

/** Places of the texts that are only shown. */
export const EVENT_VALUE = { newValue: 0, oldValue: 1, message: 2, file: 3, line: 4, containmentPath: 5 } as const;
/** How many texts a record has. */
const EVENT_VALUES = 6;
export const EVENT_VALUE_SHAPE = fieldsShape(0, ['', '', '', '', '', '']);

const NOTHING: Buffer = Buffer.alloc(0);
const NULL = bytesOf('null');
const HEAD = 9;
const NARROW_MAX = 0xffff;
/** What is before columns in memory, so that their codes lie at multiples of their width. */
const CODES_OFFSET = 7;

export interface EncodedEvents {
  readonly columns: Buffer;
  /** null: the columns say where in the packed resources they lie. */
  readonly values: Buffer | null;
}

export function encodeEvents(events: readonly EventRecord[]): EncodedEvents {
  return { columns: encodeColumns(events), values: encodeValues(events) };
}

/** What a report's record says of its events. */
export type EventRange = Pick<ReportRecord, 'eventCount' | 'eventTimeMin' | 'eventTimeMax'>;

/** Of these events; both times are 0 when there are none. */
export function eventRange(events: readonly EventRecord[]): EventRange {
  let eventTimeMin = events[0]?.timestamp ?? 0;
  let eventTimeMax = eventTimeMin;
  for (const { timestamp } of events) {
    if (timestamp < eventTimeMin) eventTimeMin = timestamp;
    if (timestamp > eventTimeMax) eventTimeMax = timestamp;
  }
  return { eventCount: events.length, eventTimeMin, eventTimeMax };
}

function encodeColumns(events: readonly EventRecord[]): Buffer {
  const codes = new Map<string, number>();
  const codeOf = (text: string): number => {
    let code = codes.get(text);
    if (code === undefined) codes.set(text, (code = codes.size));
    return code;
  };
  const coded: number[] = [];
  for (const event of events) {
    coded.push(
      codeOf(quoted(event.status)),
      codeOf(quoted(event.resourceType)),
      codeOf(quoted(event.resourceTitle)),
      codeOf(quoted(event.property)),
      codeOf(quoted(event.name)),
      codeOf(quoted(event.containingClass)),
      codeOf(String(event.correctiveChange)),
    );
  }
  const texts = [...codes.keys()];
  let end = 0;
  const ends = texts.map((text) => (end += Buffer.byteLength(text, 'utf8')));
  return packColumns(
    events.map(({ timestamp }) => timestamp),
    coded,
    ends,
    Buffer.from(texts.join(''), 'utf8'),
  );
}

/** The columns of events from their times, their codes (an event behind the other) and the texts that these number. */
function packColumns(
  times: readonly number[],
  coded: ArrayLike<number>,
  ends: ArrayLike<number>,
  texts: Uint8Array,
): Buffer {
  const count = times.length;
  const isWide = ends.length > NARROW_MAX;
  const head = HEAD + count * 8 + coded.length * (isWide ? 4 : 2) + ends.length * 4;
  const out = Buffer.allocUnsafe(head + texts.length);
  out[0] = isWide ? 1 : 0;
  out.writeUInt32LE(count, 1);
  let at = out.writeUInt32LE(ends.length, 5);
  for (let i = 0; i < count; i++) at = writeNumber(out, at, times[i]!);
  for (let column = 0; column < EVENT_CODES; column++) {
    for (let i = column; i < coded.length; i += EVENT_CODES) {
      at = isWide ? out.writeUInt32LE(coded[i]!, at) : out.writeUInt16LE(coded[i]!, at);
    }
  }
  for (let i = 0; i < ends.length; i++) at = out.writeUInt32LE(ends[i]!, at);
  out.set(texts, at);
  return out;
}

/**
 * The places of that many texts as start and end each, from the bytes that begin at `from`: in the order of the events, for each its
 * size in bytes, then, unless that is 0 (for `null`), how far its start is from the end of the one before, as 2n or, n backwards,
 * 2n - 1. Both as integers of 7 bits a byte, low ones first, bit 7: more follow. The first one is counted from the start of the packed
 * resources. Ingest puts them down in WebAssembly (wasm/lists/events.ts).
 */
function readPlaces(bytes: Buffer, from: number, count: number, resources: number, nullText: number): Uint32Array {
  const out = new Uint32Array(count * 2);
  let at = from;
  let end = resources;
  const next = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      value |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) return value >>> 0; // also behind the end of what is damaged
    }
  };
  for (let i = 0; i < count; i++) {
    const size = next();
    if (size === 0) {
      out[i * 2] = nullText;
      out[i * 2 + 1] = nullText + NULL.length;
      continue;
    }
    const gap = next();
    const start = end + (gap % 2 === 0 ? gap / 2 : -(gap + 1) / 2);
    end = start + size;
    out[i * 2] = start;
    out[i * 2 + 1] = end;
  }
  return out;
}

function encodeValues(events: readonly EventRecord[]): Buffer {
  const records = events.map((event) =>
    encodeFields(
      EVENT_VALUE_SHAPE,
      0,
      [],
      [
        event.newValue,
        event.oldValue,
        quoted(event.message),
        quoted(event.file),
        String(event.line),
        JSON.stringify(event.containmentPath),
      ],
    ),
  );
  let at = 0;
  const starts = records.map((record) => (at += record.length) - record.length);
  return packValues(starts, Buffer.concat(records));
}

/** The values of events: their records, one behind the other, and where each starts. */
function packValues(starts: readonly number[], records: Uint8Array): Buffer {
  const base = starts.length * 4;
  const out = Buffer.allocUnsafe(base + records.length);
  for (let i = 0; i < starts.length; i++) out.writeUInt32LE(base + starts[i]!, i * 4);
  out.set(records, base);
  return out;
}

/** Where things lie in the columns of so many events, and how many bytes a code has. */
function layoutOf(columns: Buffer) {
  const width = columns[0] === 1 ? 4 : 2;
  const length = columns.readUInt32LE(1);
  const textCount = columns.readUInt32LE(5);
  const codes = HEAD + length * 8;
  const ends = codes + EVENT_CODES * length * width;
  return { width, length, textCount, codes, ends, texts: ends + textCount * 4 };
}

/** Where the text of a code ends, counted from the first text; -1 is before the first one. */
const endOfText = (columns: Buffer, ends: number, code: number): number =>
  code < 0 ? 0 : columns.readUInt32LE(ends + code * 4);

/**
 * Gives each text that the events have in a coded column once, column by column, as its bytes in `columns`: JSON, `null` among them.
 */
export function eachCodedText(columns: Buffer, take: (column: number, start: number, end: number) => void): void {
  const { width, length: count, textCount, codes, ends, texts } = layoutOf(columns);
  /** By code, the column in which it was met last + 1. */
  const met = new Uint8Array(textCount);
  let at = codes;
  for (let column = 0; column < EVENT_CODES; column++) {
    for (let i = 0; i < count; i++, at += width) {
      const code = width === 4 ? columns.readUInt32LE(at) : columns[at]! | (columns[at + 1]! << 8);
      if (met[code] === column + 1) continue;
      met[code] = column + 1;
      take(column, texts + endOfText(columns, ends, code - 1), texts + endOfText(columns, ends, code));
    }
  }
}

/** Each text that events have in a coded column, as JSON, and how many of them have it. */
export function textCounts(columns: Buffer, column: number): { readonly text: string; readonly count: number }[] {
  const { width, length, codes, ends, texts } = layoutOf(columns);
  const counts = new Map<number, number>();
  const from = codes + column * length * width;
  for (let at = from; at < from + length * width; at += width) {
    const code = columns.readUIntLE(at, width);
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return [...counts].map(([code, count]) => {
    const [start, end] = [code - 1, code].map((at) => texts + endOfText(columns, ends, at));
    return { text: columns.toString('utf8', start, end), count };
  });
}

/**
 * How many events the columns hold, and whether what is only shown of these lies in the report's lists. Throws when the columns do not fit
 * together, or their texts are no JSON: who trusts them may take any time.
 */
export function inspectColumns(columns: Buffer): { readonly length: number; readonly isPlaced: boolean } {
  const { width, length, textCount, codes, ends, texts } = layoutOf(columns);
  if (texts > columns.length) throw new Error('its columns have no end');
  for (let at = codes; at < ends; at += width)
    if (columns.readUIntLE(at, width) >= textCount) throw new Error('an event has a text that is not there');
  let start = texts;
  for (let at = ends; at < texts; at += 4) {
    const end = texts + columns.readUInt32LE(at);
    if (end < start || end > columns.length) throw new Error('a text has no end');
    JSON.parse(columns.toString('utf8', start, end));
    start = end;
  }
  return { length, isPlaced: columns.length > start };
}

/** Gives equal texts the same number. */
interface TextNumbers {
  of(bytes: Uint8Array, start: number, end: number, guess?: number): number;
}

/** Where the bytes of a report's events come from, as `raw` gives them (lmdb.ts). */
export interface EventSource {
  /** Undefined: the report has no events. */
  eventColumns(report: number): Buffer | undefined;
  eventValues(report: number): Buffer | undefined;
  /** The lists of the report; undefined: it has none, or not in one value. */
  reportLists(report: number): Buffer | undefined;
}

/** The events of one report at a time, and one of them as the present one (`index`). */
export class StoredEvents {
  readonly #source: EventSource;
  readonly #scratch = new Scratch(CODES_OFFSET);
  readonly #valueScratch = new Scratch();
  #bytes = NOTHING;
  /** The report whose events these are; 0 at first. */
  report = 0;
  #length = 0;
  #words = new DataView(NOTHING.buffer);
  /** Its memory as codes of either width, and where the first code is there. */
  #narrow: Uint16Array = new Uint16Array(0);
  #wide: Uint32Array | null = null;
  #codes = 0;
  #ends = 0;
  #texts = 0;
  /** Values of the dictionary's texts, as far as they were asked for. */
  #strings: (string | boolean | null | undefined)[] = [];
  readonly #values = new TextRecord(EVENT_VALUE_SHAPE);
  #valueBytes = NOTHING;
  #hasValues = false;
  #valuesOf = -1;
  /** Bytes of the columns. */
  #size = 0;
  /** Where the texts of the events lie in the lists of the report; null: the values are records. */
  #places: Uint32Array | null = null;
  readonly #spread = new TextRecord(EVENT_VALUE_SHAPE);
  index = 0;

  constructor(source: EventSource) {
    this.#source = source;
  }

  /** The events of that report, none if it has none. */
  open(report: number): void {
    this.report = report;
    this.#hasValues = false;
    this.#valuesOf = -1;
    this.#strings = [];
    this.index = 0;
    const found = this.#source.eventColumns(report);
    if (found === undefined) {
      this.#length = 0;
      return;
    }
    this.#size = found.length;
    const bytes = this.#scratch.copy(found);
    if (bytes !== this.#bytes) this.#turnTo(bytes);
    const length = this.#words.getUint32(1, true);
    this.#length = length;
    const codes = HEAD + length * 8;
    const width = bytes[0] === 1 ? 4 : 2;
    this.#codes = (CODES_OFFSET + codes) / width;
    this.#wide = width === 4 ? new Uint32Array(bytes.buffer, 0, this.#codes + EVENT_CODES * length) : null;
    this.#ends = codes + EVENT_CODES * length * width;
    this.#texts = this.#ends + this.textCount * 4;
  }

  /** Columns are in other memory than those before. */
  #turnTo(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#words = wordsOf(bytes);
    this.#narrow = new Uint16Array(bytes.buffer, 0, (CODES_OFFSET + bytes.length) >>> 1);
  }

  get length(): number {
    return this.#length;
  }

  /** The report's columns begin in it, `size` bytes of them; it lasts until the next report. */
  get columns(): Buffer {
    return this.#bytes;
  }

  get size(): number {
    return this.#size;
  }

  /** How many different texts the coded columns have. */
  get textCount(): number {
    return this.#words.getUint32(5, true);
  }

  /** Makes that event the present one. */
  at(index: number): this {
    this.index = index;
    return this;
  }

  get timestamp(): number {
    return readNumber(this.#bytes, HEAD + this.index * 8) as number;
  }

  /** Code of the present event's text in a coded column: equal texts of the report have equal codes. */
  code(column: number): number {
    return this.codeAt(column, this.index);
  }

  /** The code of any event's text. */
  codeAt(column: number, index: number): number {
    const place = this.#codes + column * this.#length + index;
    return this.#wide === null ? this.#narrow[place]! : this.#wide[place]!;
  }

  /** JSON text that a code stands for. */
  textOf(code: number): string {
    return this.#bytes.toString('utf8', this.#startOf(code), this.#endOf(code));
  }

  /** What a code stands for. */
  valueOf(code: number): string | boolean | null {
    let value = this.#strings[code];
    if (value === undefined) {
      value = JSON.parse(this.textOf(code)) as string | null;
      this.#strings[code] = value;
    }
    return value;
  }

  /** Whether a code stands for that text, which its bytes tell; null: it stands for none. */
  equals(code: number, wanted: WantedText): boolean | null {
    return isTextAt(this.#bytes, this.#startOf(code), this.#endOf(code), wanted);
  }

  /** The number of a code's text among those of all reports; `guess`: the number it may well have. */
  numberOf(code: number, among: TextNumbers, guess?: number): number {
    return among.of(this.#bytes, this.#startOf(code), this.#endOf(code), guess);
  }

  /** The present event's value in a coded column. */
  coded(column: number): string | boolean | null {
    return this.valueOf(this.code(column));
  }

  writeCoded(column: number, out: ByteWriter): void {
    const code = this.code(column);
    out.part(this.#bytes, this.#startOf(code), this.#endOf(code));
  }

  /** What is only shown, of the present event. */
  get values(): TextRecord {
    if (!this.#hasValues) this.#loadValues();
    const places = this.#places;
    if (this.#valuesOf !== this.index) {
      this.#valuesOf = this.index;
      if (places === null) this.#values.load(this.#valueBytes, this.#valueBytes.readUInt32LE(this.index * 4));
      else this.#spread.spread(this.#valueBytes, places, this.index * EVENT_VALUES * 2);
    }
    return places === null ? this.#values : this.#spread;
  }

  #loadValues(): void {
    const end = this.#ends + this.textCount * 4 + this.#lastEnd;
    const isPlaced = this.#size > end;
    const found = isPlaced ? this.#source.reportLists(this.report) : this.#source.eventValues(this.report);
    if (found === undefined) throw new Error(`report ${this.report} has events without values`);
    const size = found.length;
    const bytes = this.#valueScratch.copy(found, NULL.length);
    bytes.set(NULL, size);
    this.#places = null;
    if (isPlaced) {
      const resources = packedStart(bytes, 'resources');
      if (resources === null) throw new Error(`the resources of report ${this.report} are not packed`);
      this.#places = readPlaces(this.#bytes, end, this.#length * EVENT_VALUES, resources, size);
    }
    this.#valueBytes = bytes;
    this.#hasValues = true;
  }

  /** Bytes of all texts. */
  get #lastEnd(): number {
    return this.#words.getUint32(this.#ends + (this.textCount - 1) * 4, true);
  }

  #startOf(code: number): number {
    return code === 0 ? this.#texts : this.#endOf(code - 1);
  }

  #endOf(code: number): number {
    return this.#texts + this.#words.getUint32(this.#ends + code * 4, true);
  }
}

export function decodeEvents(source: EventSource, report: number): EventRecord[] {
  const stored = new StoredEvents(source);
  stored.open(report);
  const out: EventRecord[] = [];
  for (let index = 0; index < stored.length; index++) {
    stored.at(index);
    const { values } = stored;
    out.push({
      status: stored.coded(EVENT_CODE.status) as string,
      timestamp: stored.timestamp,
      resourceType: stored.coded(EVENT_CODE.resourceType) as string,
      resourceTitle: stored.coded(EVENT_CODE.resourceTitle) as string,
      property: stored.coded(EVENT_CODE.property) as string | null,
      name: stored.coded(EVENT_CODE.name) as string | null,
      newValue: values.text(EVENT_VALUE.newValue),
      oldValue: values.text(EVENT_VALUE.oldValue),
      message: values.string(EVENT_VALUE.message),
      file: values.string(EVENT_VALUE.file),
      line: JSON.parse(values.text(EVENT_VALUE.line)) as number | null,
      containmentPath: JSON.parse(values.text(EVENT_VALUE.containmentPath)) as string[] | null,
      containingClass: stored.coded(EVENT_CODE.containingClass) as string | null,
      correctiveChange: stored.coded(EVENT_CODE.correctiveChange) as boolean | null,
    });
  }
  return out;
}
