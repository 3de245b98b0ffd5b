// The WebAssembly that writes the texts of packed lists and of events (engine/wasm/unpack), and its memory.
//
//   memory   powers of ten | shapes, texts before members | a packed list, or columns of events and the lists that they look at | the text
//
// A thread has one instance. Its memory grows to what the largest list needs; one that has grown large is given up.

import { type ByteWriter, Memory } from '../../bytes.ts';
import { decimalText } from '../../json/stored.ts';
import { instanceOf, memoryOf, putTens, type WasmExports, whereThereIsRoom } from '../../wasm/instance.ts';
import { UNPACK } from '../../wasm/unpack.bytes.ts';
import type { ListShape } from './list-shape.ts';

/** The first bytes of the memory are its own. */
const LAYOUT_START = 256;
const LAYOUT_SIZE = 8 << 10;
const SOURCE_START = LAYOUT_START + LAYOUT_SIZE;
/** More than is touched behind a list or a text. */
const SLACK = 256;
const DATE_SIZE = 32;
/** Bytes of text that there is room for at first, for each packed one and at least. */
const TEXT_RATIO = 8;
const TEXT_MIN = 64 << 10;
/** Beyond that a list's text is not made here. */
const MEMORY_MAX = 256 << 20;
/** Larger memory is not kept. */
const KEPT_MAX = 4 << 20;
/** As in engine/wasm/unpack: a shape and its fields, and how it ends. */
const FIELDS = 4;
const FIELD_SIZE = 32;
const MAPS = 16;
const DAMAGED = 0;
const FULL = 1;

interface Exports extends WasmExports {
  unpack(shape: number, start: number, end: number, out: number, outLimit: number): number;
  textEnd(): number;
  setEventForm(leads: number, date: number): void;
  writeEvents(
    columns: number,
    columnsEnd: number,
    lists: number,
    listsEnd: number,
    resources: number,
    correctives: boolean,
    out: number,
    outLimit: number,
  ): number;
}

/** How events are written. The kernel knows one form, the first that it is given. */
export interface EventForm {
  /** What stands before each member's value, in ASCII: status, timestamp (which ends in the one after it), type, title, property, corrective change, both values, message, file, line, path, class, name. */
  readonly leads: readonly string[];
  /** What a time of that day since 1970 begins with, up to its hours, in ASCII. */
  date(day: number): string;
  /** The text of a value that is neither a string nor a word, from the one that is stored. */
  value(text: string): string;
}

/** That of this thread; null: there is no WebAssembly here, or no memory for it. */
let kernel: UnpackKernel | null | undefined;

/** What `work` gives; null where it cannot be done here. */
function inKernel<T>(work: (kernel: UnpackKernel) => T | null): T | null {
  if (kernel === undefined) kernel = whereThereIsRoom(() => new UnpackKernel());
  if (kernel === null) return null;
  const present = kernel;
  const result = whereThereIsRoom(() => work(present));
  if (!present.isSmall) kernel = undefined;
  return result;
}

/**
 * Appends the text of the list that begins at `start`; the place behind it, or -1, and nothing: it does not end before `end`. Null, and
 * nothing: it cannot be done here.
 */
export const unpackInKernel = (
  shape: ListShape,
  bytes: Buffer,
  start: number,
  end: number,
  out: ByteWriter,
): number | null => inKernel((present) => present.unpack(shape, bytes, start, end, out));

/**
 * Appends the events of these columns (event-record.ts) as a list of maps. `lists`: those of the report; `resources`: where the packed resources
 * begin in them; `corrective`: corrective changes are shown, else null. False, and nothing: it cannot be done here, also when the lists do
 * not hold what is shown of the events.
 */
export const eventsInKernel = (
  form: EventForm,
  columns: Buffer,
  lists: Buffer,
  resources: number,
  corrective: boolean,
  out: ByteWriter,
): boolean => inKernel((present) => present.writeEvents(form, columns, lists, resources, corrective, out)) === true;

class UnpackKernel {
  readonly #exports = instanceOf<Exports>(UNPACK, {
    double: (value: number, to: number) => to + this.#bytes.write(decimalText(value), to, 'latin1'),
    date: (day: number, to: number) => to + this.#bytes.write(this.#eventForm!.date(day), to, DATE_SIZE, 'latin1'),
    eventValue: (start: number, end: number, to: number, limit: number) => this.#eventValue(start, end, to, limit),
  });
  readonly #shapes = new Map<ListShape, number>();
  #laidOut = LAYOUT_START;
  #bytes = memoryOf(this.#exports, SOURCE_START);
  #eventForm: EventForm | null = null;
  readonly #source = new Memory();
  readonly #text = new Memory();

  constructor() {
    putTens(this.#bytes);
  }

  get isSmall(): boolean {
    return this.#bytes.length <= KEPT_MAX;
  }

  unpack(shape: ListShape, bytes: Buffer, start: number, end: number, out: ByteWriter): number | null {
    const reader = this.#shapes.get(shape) ?? this.#layOut(shape);
    const size = end - start;
    const sourceEnd = SOURCE_START + size;
    let place = 0;
    const isWritten = this.#write(sourceEnd + SLACK, size * TEXT_RATIO, out, (text, limit) => {
      this.#put(bytes, start, size, SOURCE_START);
      place = this.#exports.unpack(reader, SOURCE_START, sourceEnd, text, limit);
      return place <= FULL ? place : this.#exports.textEnd();
    });
    if (isWritten === null) return null;
    return isWritten ? start + place - SOURCE_START : -1;
  }

  writeEvents(
    form: EventForm,
    columns: Buffer,
    lists: Buffer,
    resources: number,
    corrective: boolean,
    out: ByteWriter,
  ): boolean | null {
    if (form !== this.#eventForm) this.#layOutEvents(form);
    const columnsSize = columns.length;
    const listsSize = lists.length;
    const columnsEnd = SOURCE_START + columnsSize;
    const listsStart = columnsEnd + SLACK;
    const listsEnd = listsStart + listsSize;
    return this.#write(listsEnd + SLACK, (columnsSize + listsSize) * TEXT_RATIO, out, (text, limit) => {
      this.#put(columns, 0, columnsSize, SOURCE_START);
      this.#put(lists, 0, listsSize, listsStart);
      return this.#exports.writeEvents(
        SOURCE_START,
        columnsEnd,
        listsStart,
        listsEnd,
        listsStart + resources,
        corrective,
        text,
        limit,
      );
    });
  }

  #put(bytes: Buffer, start: number, size: number, at: number): void {
    this.#bytes.set(this.#source.of(bytes, start, size), at);
  }

  /**
   * Appends a text that `write` makes at `text`, with as much room as it takes. `write` gives the place behind it, FULL or DAMAGED. False: it
   * was damaged; null: there is not so much memory.
   */
  #write(text: number, room: number, out: ByteWriter, write: (text: number, limit: number) => number): boolean | null {
    for (let size = Math.max(room, TEXT_MIN); ; size *= 2) {
      const limit = text + size;
      if (limit > MEMORY_MAX) return null;
      if (limit + SLACK > this.#bytes.length) this.#bytes = memoryOf(this.#exports, limit + SLACK);
      const end = write(text, limit);
      if (end === FULL) continue;
      if (end === DAMAGED) return false;
      out.room(end - text).set(this.#text.of(this.#bytes, text, end - text), out.length);
      out.length += end - text;
      return true;
    }
  }

  #take(size: number): number {
    const at = this.#laidOut;
    this.#laidOut += Math.ceil(size / 8) * 8;
    if (this.#laidOut > SOURCE_START) throw new Error('too many kinds of lists for the memory of their shapes');
    return at;
  }

  #layOut(shape: ListShape): number {
    const reader = this.#layOutMaps(shape);
    this.#shapes.set(shape, reader);
    return reader;
  }

  #layOutMaps({ keys, lists }: ListShape): number {
    const reader = this.#take(FIELDS + keys.length * FIELD_SIZE);
    this.#bytes.writeUInt32LE(keys.length, reader);
    for (const [index, key] of keys.entries()) {
      const field = reader + FIELDS + index * FIELD_SIZE;
      this.#layOutText(leadOf('{', key), field);
      this.#layOutText(leadOf(',', key), field + 8);
      const maps = lists[key];
      this.#bytes.writeUInt32LE(maps === undefined ? 0 : this.#layOutMaps(maps), field + MAPS);
    }
    return reader;
  }

  #layOutEvents(form: EventForm): void {
    if (this.#eventForm !== null) throw new Error('events are written in one form');
    this.#eventForm = form;
    const { leads } = form;
    const table = this.#take(leads.length * 8);
    for (const [index, text] of leads.entries()) this.#layOutText(Buffer.from(text, 'latin1'), table + index * 8);
    this.#exports.setEventForm(table, this.#take(DATE_SIZE));
  }

  /** Puts down a text, and at `entry` its address and size. */
  #layOutText(text: Buffer, entry: number): void {
    const at = this.#take(text.length);
    this.#bytes.set(text, at);
    this.#bytes.writeUInt32LE(at, entry);
    this.#bytes.writeUInt32LE(text.length, entry + 4);
  }

  #eventValue(start: number, end: number, to: number, limit: number): number {
    const text = this.#eventForm!.value(this.#bytes.toString('utf8', start, end));
    const size = Buffer.byteLength(text);
    return to + size > limit ? 0 : to + this.#bytes.write(text, to, size, 'utf8');
  }
}

const leadOf = (before: string, key: string): Buffer => Buffer.from(`${before}${JSON.stringify(key)}:`, 'utf8');
