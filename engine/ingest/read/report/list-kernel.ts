// The WebAssembly that reads lists (engine/wasm/lists) and its memory: what it is told of the shape of maps, and what it asks.
//
//   memory   readers and fields | payload, zeros | texts made here | lists inside maps | the packed list | events
//
// A payload is copied into it. Everything inside is told by its address.

import { JsonError, parseJsonDocument } from '../../../json/parse.ts';
import { storedText } from '../../../json/stored.ts';
import { instanceOf, memoryOf, newSeed, putTens, type WasmExports } from '../../../wasm/instance.ts';
import { LISTS } from '../../../wasm/lists.bytes.ts';
import { minuteAt, strictTimeAt } from '../../command/validate.ts';

/** As in engine/wasm/lists/layout.ts. */
export const KINDS = { string: 1, time: 2, boolean: 3, integer: 4, number: 5, any: 6, list: 7 } as const;
const OF_STRINGS = 1;
const OF_MAPS = 2;
const READER_WORDS = 14;
const FIELD_SIZE = 24;
/** The first bytes of the memory are its own. */
const LAYOUT_START = 256;
const LAYOUT_SIZE = 16 << 10;
const PAYLOAD_START = LAYOUT_START + LAYOUT_SIZE;
/** Zeros behind a payload: more than are looked at at a time. */
const ZEROS = 64;
/** What each region may hold beside twice the payload. */
const ROOM = 4096;
/** Events take more room: as many such regions. */
const EVENT_REGIONS = 4;
/** In the layout of events (engine/wasm/lists/events.ts). */
const NULL_AT = 0;
const FALSE_AT = 8;
const SKIPPED_AT = 16;
const PLACES_AT = 32;
const NO_PLACE = 0xff;

/** A field of the maps that are read, in the order in which they are stored. */
interface KernelField {
  /** 0: nothing but null can be read of it. */
  readonly kind: number;
  readonly required: boolean;
  readonly nullable: boolean;
  /** The text may be wanted whole. */
  readonly whole: boolean;
  /** `"key"` */
  readonly key: Uint8Array;
  /** Of a list: its elements are strings, or such maps. */
  readonly of: 'string' | KernelMaps | null;
}

/** Maps of one kind. */
export interface KernelMaps {
  readonly fields: readonly KernelField[];
  /** How many containers enclose a map. */
  readonly depth: number;
  /** How the events of a report come from the maps. */
  readonly events: KernelEvents | null;
}

/** Places are those of fields: of the maps (resources), and of those in their list of events. */
export interface KernelEvents {
  readonly skipped: number;
  readonly list: number;
  /** Where the columns of an event come from: the coded ones, the texts that are only shown, the time; null: not from there. */
  readonly rows: readonly { readonly event: number | null; readonly resource: number | null }[];
}

/** Events that were put down while their list was read; good until more is read. */
interface ReadEvents {
  readonly count: number;
  /** Epoch ms, 0 without events. */
  readonly timeMin: number;
  readonly timeMax: number;
  /** Empty without events. */
  readonly columns: Buffer;
}

/** A list that was read; good until more is read. */
interface ReadList {
  readonly packed: Buffer;
  /** The place behind it. */
  readonly end: number;
}

interface Exports extends WasmExports {
  setSeed(low: number, high: number): void;
  read(
    reader: number,
    start: number,
    end: number,
    texts: number,
    made: number,
    result: number,
    limit: number,
    eventsLimit: number,
  ): number;
  size(): number;
  countOfEvents(): number;
  earliestEvent(): number;
  latestEvent(): number;
  eventColumns(): number;
  packEvents(): number;
}

const NOTHING = Buffer.alloc(0);

/**
 * One instance. It reads one list after the other; its memory grows to what the largest needs. The constructor and `put` throw
 * RangeError where there is no WebAssembly, or no memory for it.
 */
export class ListKernel {
  readonly #exports: Exports;
  readonly #readers = new Map<KernelMaps, number>();
  #laidOut = LAYOUT_START;
  /** Where the payload ends, and the regions behind it begin, all of one size. */
  #end = PAYLOAD_START;
  #texts = PAYLOAD_START;
  #region = 0;
  #bytes: Buffer = NOTHING;

  constructor() {
    this.#exports = instanceOf<Exports>(LISTS, {
      over: (start: number, end: number, depth: number, to: number, limit: number) =>
        this.#over(start, end, depth, to, limit),
      decimal: (start: number, end: number) => Number(this.#bytes.toString('latin1', start, end)),
      time: (start: number, end: number) => strictTimeAt(this.#bytes, start, end) ?? Number.NaN,
      minute: (start: number, end: number) => minuteAt(this.#bytes, start, end) ?? Number.NaN,
    });
    this.#exports.setSeed(...newSeed());
    this.#bytes = memoryOf(this.#exports, PAYLOAD_START);
    putTens(this.#bytes);
  }

  /** The payload whose lists are read from now on. */
  put(bytes: Uint8Array): void {
    const size = bytes.length;
    const end = PAYLOAD_START + size;
    this.#texts = end + ZEROS;
    this.#region = size * 2 + ROOM;
    const limit = this.#texts + this.#region * (3 + EVENT_REGIONS) + ZEROS;
    if (limit > this.#bytes.length) this.#bytes = memoryOf(this.#exports, limit);
    this.#bytes.set(bytes, PAYLOAD_START);
    this.#bytes.fill(0, end, this.#texts);
    this.#end = end;
  }

  /** The list that begins at that place of the payload, good until another is read; null when there is none in the plain form. */
  read(maps: KernelMaps, place: number): ReadList | null {
    const reader = this.#readers.get(maps) ?? this.#layOutList(maps);
    const made = this.#texts + this.#region;
    const result = made + this.#region;
    const limit = result + this.#region;
    const start = PAYLOAD_START + place;
    const eventsLimit = limit + this.#region * EVENT_REGIONS;
    const end = this.#exports.read(reader, start, this.#end, this.#texts, made, result, limit, eventsLimit);
    if (end === 0) return null;
    return { packed: this.#bytes.subarray(result, result + this.#exports.size()), end: end - PAYLOAD_START };
  }

  /** The events of the list that was read last, of maps that have some; null when they cannot be made from bytes. */
  events(): ReadEvents | null {
    const exports = this.#exports;
    const count = exports.countOfEvents();
    if (count < 0) return null;
    if (count === 0) return { count, timeMin: 0, timeMax: 0, columns: NOTHING };
    const size = exports.packEvents();
    const start = exports.eventColumns();
    const columns = this.#bytes.subarray(start, start + size);
    return { count, timeMin: exports.earliestEvent(), timeMax: exports.latestEvent(), columns };
  }

  #take(size: number): number {
    const at = this.#laidOut;
    this.#laidOut += Math.ceil(size / 8) * 8;
    if (this.#laidOut > LAYOUT_START + LAYOUT_SIZE)
      throw new Error('too many kinds of lists for the memory of their layouts');
    return at;
  }

  #layOutList(maps: KernelMaps): number {
    const { events } = maps;
    const reader = this.#layOut(maps, events === null ? 0 : this.#layOutEvents(events), false);
    this.#readers.set(maps, reader);
    return reader;
  }

  #layOutEvents({ skipped, list, rows }: KernelEvents): number {
    const places = [skipped, list, ...rows.flatMap(({ event, resource }) => [event ?? NO_PLACE, resource ?? NO_PLACE])];
    const at = this.#take(PLACES_AT + places.length);
    this.#bytes.write('null', at + NULL_AT, 'latin1');
    this.#bytes.write('false', at + FALSE_AT, 'latin1');
    this.#bytes.write('"skipped"', at + SKIPPED_AT, 'latin1');
    this.#bytes.set(places, at + PLACES_AT);
    return at;
  }

  /** `events`: where the layout of events lies that come from these maps; 0: none do. */
  #layOut(maps: KernelMaps, events: number, isInside: boolean): number {
    const { fields, depth } = maps;
    const count = fields.length;
    const reader = this.#take(READER_WORDS * 4);
    const array = (size: number): number => this.#take(count * size);
    const fieldsAt = array(FIELD_SIZE);
    const order = array(1);
    const states = array(1);
    // Starts, ends and places of the values, doubles; the same without the doubles of the map before.
    const others = [4, 4, 4, 8, 4, 4, 4].map(array);
    for (const [index, field] of fields.entries()) {
      const at = fieldsAt + index * FIELD_SIZE;
      const key = this.#take(field.key.length + 8);
      this.#bytes.set(field.key, key);
      const { of } = field;
      if (of !== null && of !== 'string' && isInside) throw new Error('lists of maps inside lists of maps inside maps');
      const eventsInside = index === maps.events?.list ? events : 0;
      const inner = of === null || of === 'string' ? 0 : this.#layOut(of, eventsInside, true);
      const flags = [
        field.kind,
        of === 'string' ? OF_STRINGS : inner === 0 ? 0 : OF_MAPS,
        field.required ? 1 : 0,
        field.nullable ? 1 : 0,
        field.whole ? 1 : 0,
      ];
      this.#bytes.set(flags, at);
      for (const [word, value] of [key, field.key.length, inner].entries())
        this.#bytes.writeInt32LE(value, at + 8 + word * 4);
    }
    this.#bytes.fill(0xff, order, order + count);
    const words = [count, depth, events, isInside ? 1 : 0, fieldsAt, order, states, ...others];
    for (const [word, value] of words.entries()) this.#bytes.writeInt32LE(value, reader + word * 4);
    return reader;
  }

  #over(start: number, end: number, depth: number, to: number, limit: number): number {
    let text: string;
    try {
      text = storedText(parseJsonDocument(this.#bytes.toString('utf8', start, end)), depth);
    } catch (error) {
      if (error instanceof JsonError) return 0;
      throw error;
    }
    const size = Buffer.byteLength(text);
    return to + size > limit ? 0 : to + this.#bytes.write(text, to, size, 'utf8');
  }
}
