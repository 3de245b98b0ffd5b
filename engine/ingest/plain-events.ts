// The events of a report from the bytes of its `resources`, without values in between: while stored-list.ts reads the list, it
// shows each map that it has read, and the events are put down as the store keeps them (store/event-record.ts). They are those
// of events.ts.
//
// Only what is stored as it was sent is taken: one value that is not (a list, a decimal, a string with unusual escapes), and
// `finish` gives null; then events.ts makes them from values. What is only shown of an event is not stored once more: it is
// whole in the packed resources, and the events say where.

import { ByteNumbers } from '../byte-numbers.ts';
import {
  type EncodedEvents,
  EVENT_CODE,
  EVENT_CODES,
  EVENT_VALUE,
  EVENT_VALUES,
  packColumns,
  TextPlaces,
} from '../store/event-record.ts';
import { Ids } from '../store/ids.ts';
import { REPORT_LIST_SHAPES } from '../store/report-lists.ts';
import { isAbsent, type MapSink, type ReadMap, wasSent } from './stored-list.ts';
import { strictTimeAt } from './validate.ts';

const { resources: RESOURCES } = REPORT_LIST_SHAPES;
const placesIn = <K extends string>(keys: readonly K[]) =>
  Object.fromEntries(keys.map((key, place) => [key, place])) as Readonly<Record<K, number>>;
const RESOURCE = placesIn(RESOURCES.keys);
const EVENT = placesIn(RESOURCES.lists.events.keys);
const RESOURCE_KEYS = RESOURCES.keys.length;
const EVENT_KEYS = RESOURCES.lists.events.keys.length;
/** What the record of an event holds, and where it comes from: from the event, from its resource. */
const EVENT_PLACES = [
  [EVENT_VALUE.newValue, EVENT.new_value],
  [EVENT_VALUE.oldValue, EVENT.old_value],
  [EVENT_VALUE.message, EVENT.message],
] as const;
const OWN_PLACES = [
  [EVENT_VALUE.file, RESOURCE.file],
  [EVENT_VALUE.line, RESOURCE.line],
  [EVENT_VALUE.containmentPath, RESOURCE.containment_path],
] as const;
/** Coded columns, and where they come from, as far as they tell events apart and are there in each of them. */
const OWN_CODES = [
  [EVENT_CODE.resourceType, RESOURCE.resource_type],
  [EVENT_CODE.resourceTitle, RESOURCE.resource_title],
] as const;
const EVENT_CODES_SHOWN = [
  [EVENT_CODE.property, EVENT.property],
  [EVENT_CODE.name, EVENT.name],
] as const;
/** Texts that the packed list must have whole; together they are what is shown of an event, in the order of EVENT_VALUE. */
const WHOLE_EVENT: readonly number[] = EVENT_PLACES.map(([, key]) => key);
const WHOLE_RESOURCE: readonly number[] = OWN_PLACES.map(([, key]) => key);
/** What the event of a skipped resource has of it in the place of an event's own. */
const SKIPPED_VALUES = [
  [EVENT.timestamp, RESOURCE.timestamp],
  [EVENT.corrective_change, RESOURCE.corrective_change],
] as const;
/** Coded columns that tell events apart: the first ones. */
const SHOWN_CODES = EVENT_CODE.name + 1;

const TRUE_START = 0x74;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const NULL_START = 0x6e;
/** Longer integers may not fit into the column. */
const LINE_SIZE_MAX = 9;
const SKIPPED = Buffer.from('"skipped"');

/** Events ready for the store. */
export interface PlainEvents {
  readonly count: number;
  /** Epoch ms, 0 without events. */
  readonly timeMin: number;
  readonly timeMax: number;
  /** null: there are none. */
  readonly encoded: EncodedEvents | null;
}

const NULL = Buffer.from('null');

/** Collects the events of one report at a time. Where a value is, is told by its start and end in the payload: 0 and 0 for null. */
export class EventCollector {
  /** To be shown the maps of `resources`, and before each of them those of its `events`. */
  readonly resources: MapSink = {
    begin: () => this.#begin(),
    map: (map) => this.#resource(map),
    packed: (places) => this.#resourcePacked(places),
    whole: WHOLE_RESOURCE,
    when: { flag: RESOURCE.skipped, list: RESOURCE.events },
  };
  readonly events: MapSink = {
    begin: () => {},
    map: (map) => this.#event(map),
    packed: (places) => this.#eventPacked(places),
    whole: WHOLE_EVENT,
  };
  #isPlain = true;
  /** Places of the values of the present resource's events. */
  readonly #pending: number[] = [];
  /** Where the texts of those events that are only shown have been packed, and where that is counted from. */
  readonly #pendingPlaces: number[] = [];
  #listStart = 0;
  // The present resource: places of its values, and its containing class.
  readonly #own = new Uint32Array(RESOURCE_KEYS * 2);
  #classStart = 0;
  #classEnd = 0;
  readonly #texts = new ByteNumbers();
  /** The number of the text `null`; below 0: it has none yet. */
  #null = -1;
  #times: number[] = [];
  /** Per event the numbers of its coded texts. */
  readonly #codes = new Ids();
  /** Per event the places in the payload of what is only shown of it. */
  readonly #places = new Ids();
  /** Of those of the present resource: which of the pending ones. */
  readonly #sources: number[] = [];
  readonly #textPlaces = new TextPlaces();
  /**
   * Events by a hash of what tells most of them apart. A new one for each report: V8 links the tables of a map that is cleared, and one
   * that has come to its old generation keeps all later ones alive until the whole heap is collected.
   */
  #alike = new Map<number, number[]>();
  // Of the event that is being put down. Its codes are at first those of the one before: mostly some of them are the same.
  readonly #code = new Int32Array(EVENT_CODES);
  readonly #place = new Uint32Array(EVENT_VALUES * 2);

  /** The events of the list that was read last; null when they cannot be made this way. */
  finish(): PlainEvents | null {
    if (!this.#isPlain) return null;
    const times = this.#times;
    if (times.length === 0) return { count: 0, timeMin: 0, timeMax: 0, encoded: null };
    const texts = this.#texts;
    return {
      count: times.length,
      timeMin: times.reduce((min, time) => Math.min(min, time)),
      timeMax: times.reduce((max, time) => Math.max(max, time)),
      encoded: {
        columns: packColumns(times, this.#codes.list, texts.ends, texts.bytes, this.#textPlaces.bytes),
        values: null,
      },
    };
  }

  #begin(): void {
    this.#isPlain = true;
    this.#pending.length = 0;
    this.#pendingPlaces.length = 0;
    this.#sources.length = 0;
    this.#texts.clear();
    this.#null = -1;
    this.#code.fill(-1);
    this.#times = [];
    this.#codes.length = 0;
    this.#places.length = 0;
    this.#textPlaces.clear();
    if (this.#alike.size > 0) this.#alike = new Map();
  }

  #event(map: ReadMap): boolean {
    if (!this.#isPlain) return false;
    const pending = this.#pending;
    for (let key = 0; key < EVENT_KEYS; key++) {
      const isThere = this.#isThere(map, key);
      pending.push(isThere ? map.starts[key]! : 0, isThere ? map.ends[key]! : 0);
    }
    return true;
  }

  #eventPacked(places: Int32Array): void {
    for (let i = 0; i < WHOLE_EVENT.length; i++) this.#pendingPlaces.push(places[WHOLE_EVENT[i]!]!);
  }

  /** Whether the map has a value that is not null. */
  #isThere(map: ReadMap, key: number): boolean {
    if (isAbsent(map, key)) return false;
    if (wasSent(map, key)) return map.bytes[map.starts[key]!] !== NULL_START;
    this.#isPlain = false;
    return false;
  }

  #resource(map: ReadMap): boolean {
    const { bytes, starts, ends } = map;
    const pending = this.#pending;
    const isSkipped = bytes[starts[RESOURCE.skipped]!] === TRUE_START;
    if (!this.#isPlain || (!isSkipped && pending.length === 0)) return false;
    const own = this.#own;
    for (let key = 0; key < RESOURCE_KEYS; key++) {
      const isThere = key !== RESOURCE.events && this.#isThere(map, key);
      own[key * 2] = isThere ? starts[key]! : 0;
      own[key * 2 + 1] = isThere ? ends[key]! : 0;
    }
    if (own[RESOURCE.line * 2 + 1]! - own[RESOURCE.line * 2]! > LINE_SIZE_MAX) this.#isPlain = false;
    if (!this.#isPlain) return false;
    this.#listStart = starts[RESOURCE.events]!;
    this.#findClass(bytes);
    if (isSkipped) {
      const event = Array.from({ length: EVENT_KEYS * 2 }, () => 0);
      for (const [of, from] of SKIPPED_VALUES) {
        event[of * 2] = own[from * 2]!;
        event[of * 2 + 1] = own[from * 2 + 1]!;
      }
      this.#add(bytes, event, 0, true);
    } else {
      for (let at = 0; at < pending.length; at += EVENT_KEYS * 2) this.#add(bytes, pending, at, false);
    }
    pending.length = 0;
    return true;
  }

  /** Notes where the texts of the events that the resource brought lie. */
  #resourcePacked(places: Int32Array): void {
    const sources = this.#sources;
    const first = this.#times.length - sources.length;
    const shift = places[RESOURCE.events]! - this.#listStart;
    for (let i = 0; i < sources.length; i++) {
      const own = (first + i) * EVENT_VALUES * 2;
      for (let value = 0; value < EVENT_VALUES; value++) {
        const at = own + value * 2;
        const size = this.#places.values[at + 1]! - this.#places.values[at]!;
        const place =
          value < EVENT_PLACES.length
            ? this.#pendingPlaces[sources[i]! * EVENT_PLACES.length + value]! + shift
            : places[WHOLE_RESOURCE[value - EVENT_PLACES.length]!]!;
        this.#textPlaces.add(place, size);
      }
    }
    sources.length = 0;
    this.#pendingPlaces.length = 0;
  }

  /** The last element of the containment path that is not empty and names no resource. */
  #findClass(bytes: Buffer): void {
    this.#classStart = 0;
    this.#classEnd = 0;
    const end = this.#own[RESOURCE.containment_path * 2 + 1]!;
    let at = this.#own[RESOURCE.containment_path * 2]! + 1;
    while (at < end && bytes[at] === QUOTE) {
      const start = at++;
      let isClass = bytes[at] !== QUOTE;
      for (; bytes[at] !== QUOTE; at++) {
        if (bytes[at] === OPEN_BRACKET) isClass = false;
        else if (bytes[at] === BACKSLASH) at++;
      }
      at++;
      if (isClass) {
        this.#classStart = start;
        this.#classEnd = at;
      }
      at++;
    }
  }

  /** Puts an event down unless there is one that agrees in all fields that tell events apart. */
  #add(bytes: Buffer, event: readonly number[], at: number, isSkipped: boolean): void {
    const own = this.#own;
    if (isSkipped) this.#setCode(EVENT_CODE.status, SKIPPED, 0, SKIPPED.length);
    else this.#setCodeFrom(event, at, EVENT_CODE.status, EVENT.status, bytes);
    for (const [column, key] of OWN_CODES) this.#setCodeFrom(own, 0, column, key, bytes);
    for (const [column, key] of EVENT_CODES_SHOWN) this.#setCodeFrom(event, at, column, key, bytes);
    const place = this.#place;
    for (const [value, key] of EVENT_PLACES) {
      place[value * 2] = event[at + key * 2]!;
      place[value * 2 + 1] = event[at + key * 2 + 1]!;
    }
    for (const [value, key] of OWN_PLACES) {
      place[value * 2] = own[key * 2]!;
      place[value * 2 + 1] = own[key * 2 + 1]!;
    }
    const timeStart = event[at + EVENT.timestamp * 2]!;
    const time = strictTimeAt(bytes, timeStart + 1, event[at + EVENT.timestamp * 2 + 1]! - 1) as number;
    if (this.#isKnown(bytes, time)) return;
    this.#setCode(EVENT_CODE.containingClass, bytes, this.#classStart, this.#classEnd);
    this.#setCodeFrom(event, at, EVENT_CODE.correctiveChange, EVENT.corrective_change, bytes);
    this.#times.push(time);
    for (let column = 0; column < EVENT_CODES; column++) this.#codes.push(this.#code[column]!);
    for (let value = 0; value < place.length; value++) this.#places.push(place[value]!);
    this.#sources.push(at / (EVENT_KEYS * 2));
  }

  /** The same for the value of a key, of which `places` has start and end from `first` on. */
  #setCodeFrom(places: ArrayLike<number>, first: number, column: number, key: number, bytes: Buffer): void {
    this.#setCode(column, bytes, places[first + key * 2]!, places[first + key * 2 + 1]!);
  }

  /** The present event's code in that column is that of the text from `start` to `end`, or of `null` when that is nothing. */
  #setCode(column: number, source: Uint8Array, start: number, end: number): void {
    const code = this.#code;
    if (start < end) code[column] = this.#texts.of(source, start, end, code[column]!);
    else {
      if (this.#null < 0) this.#null = this.#texts.of(NULL, 0, NULL.length);
      code[column] = this.#null;
    }
  }

  /** Looks for the present event among those before, and remembers it. */
  #isKnown(bytes: Buffer, time: number): boolean {
    const code = this.#code;
    let hash = time | 0;
    for (let column = 0; column < SHOWN_CODES; column++) hash = Math.imul(hash ^ code[column]!, 0x01000193);
    const alike = this.#alike.get(hash);
    if (alike === undefined) {
      this.#alike.set(hash, [this.#times.length]);
      return false;
    }
    for (const other of alike) if (this.#times[other] === time && this.#agrees(bytes, other)) return true;
    alike.push(this.#times.length);
    return false;
  }

  #agrees(bytes: Buffer, other: number): boolean {
    for (let column = 0; column < SHOWN_CODES; column++) {
      if (this.#codes.values[other * EVENT_CODES + column] !== this.#code[column]) return false;
    }
    const first = other * EVENT_VALUES * 2;
    for (let value = 0; value < EVENT_VALUES; value++) {
      if (value === EVENT_VALUE.containmentPath) continue;
      const from = this.#places.values[first + value * 2]!;
      const start = this.#place[value * 2]!;
      const size = this.#place[value * 2 + 1]! - start;
      if (this.#places.values[first + value * 2 + 1]! - from !== size) return false;
      for (let at = 0; at < size; at++) if (bytes[from + at] !== bytes[start + at]) return false;
    }
    return true;
  }
}
