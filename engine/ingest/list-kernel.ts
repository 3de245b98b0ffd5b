// The WebAssembly that reads lists (engine/wasm/lists.ts) and its memory: what it is told of the shape of maps, and what it asks.
//
//   memory   readers and fields | payload, zeros | texts made here | lists inside maps | the packed list
//
// A payload is copied into it. Everything inside is told by its address.

import { TENS } from '../json/double-text.ts';
import { JsonError, parseJsonDocument } from '../json/parse.ts';
import { storedText } from '../json/stored.ts';
import { LISTS } from '../wasm/lists.bytes.ts';
import { isOfLastMinute, strictTimeAt } from './validate.ts';

/** As in engine/wasm/lists.ts. */
export const KINDS = { string: 1, time: 2, boolean: 3, integer: 4, number: 5, any: 6, list: 7 } as const;
const OF_STRINGS = 1;
const OF_MAPS = 2;
const NONE = -1;
const NO_TIME = 0;
const A_TIME = 1;
const KNOWN_MINUTE = 2;
const READER_WORDS = 16;
const FIELD_SIZE = 24;
/** The first bytes of the memory are its own. */
const LAYOUT_START = 256;
const LAYOUT_SIZE = 16 << 10;
const PAYLOAD_START = LAYOUT_START + LAYOUT_SIZE;
const TENS_AT = 64;
/** Zeros behind a payload: more than are looked at at a time. */
const ZEROS = 64;
const PAGE = 64 << 10;
/** What each region may hold beside twice the payload. */
const ROOM = 4096;

/** A field of the maps that are read, in the order in which they are stored. */
export interface KernelField {
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
  readonly sink: KernelSink | null;
}

export interface KernelSink {
  /** Only maps in which that Boolean is true or that list is not empty are shown; null: all. Places of fields. */
  readonly when: { readonly flag: number; readonly list: number } | null;
  show(map: KernelMap): boolean;
  shown(places: Int32Array): void;
}

/** A map that has been read, as long as nothing more is. Starts and ends are places in `bytes`, the whole memory. */
export interface KernelMap {
  readonly bytes: Buffer;
  readonly states: Uint8Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  read(reader: number, start: number, end: number, texts: number, made: number, result: number, limit: number): number;
  size(): number;
}

interface Compiled {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}
// Not among the types of Node 20; undefined where V8 is told to make no code.
const { WebAssembly } = globalThis as unknown as { readonly WebAssembly?: Compiled };
/** The module, which the instances of a thread share; null: this machine cannot run it; undefined: not asked for yet. */
let compiled: object | null | undefined;

function moduleHere(): object | null {
  if (compiled !== undefined) return compiled;
  try {
    compiled = WebAssembly === undefined ? null : new WebAssembly.Module(Buffer.from(LISTS, 'base64'));
  } catch {
    // A processor without the instructions for sixteen bytes at a time.
    compiled = null;
  }
  return compiled;
}

/** Where the parts of a reader lie that change with each map. */
interface Placed {
  readonly maps: KernelMaps;
  readonly count: number;
  readonly states: number;
  readonly starts: number;
  readonly ends: number;
  readonly places: number;
  map: KernelMap;
  packed: Int32Array;
}

const NOTHING = Buffer.alloc(0);

/**
 * One instance. It reads one list after the other; its memory grows to what the largest needs. The constructor and `put` throw
 * RangeError where there is no WebAssembly, or no memory for it.
 */
export class ListKernel {
  readonly #exports: Exports;
  readonly #readers = new Map<KernelMaps, number>();
  readonly #placed = new Map<number, Placed>();
  #laidOut = LAYOUT_START;
  /** Where the payload ends, and the regions behind it begin, all of one size. */
  #end = PAYLOAD_START;
  #texts = PAYLOAD_START;
  #region = 0;
  #bytes: Buffer = NOTHING;

  constructor() {
    const module = moduleHere();
    if (module === null || WebAssembly === undefined) throw new RangeError('there is no WebAssembly here');
    const instance = new WebAssembly.Instance(module, {
      lists: {
        over: (start: number, end: number, depth: number, to: number, limit: number) =>
          this.#over(start, end, depth, to, limit),
        decimal: (start: number, end: number) => Number(this.#bytes.toString('latin1', start, end)),
        time: (start: number, end: number) => this.#time(start, end),
        show: (reader: number) => {
          const { maps, map } = this.#placed.get(reader)!;
          return maps.sink!.show(map) ? 1 : 0;
        },
        shown: (reader: number) => {
          const { maps, packed } = this.#placed.get(reader)!;
          maps.sink!.shown(packed);
        },
      },
    });
    this.#exports = instance.exports as Exports;
    this.#grow(PAYLOAD_START);
    for (const [exponent, ten] of TENS.entries()) this.#bytes.writeDoubleLE(ten, TENS_AT + exponent * 8);
  }

  /** The payload whose lists are read from now on. */
  put(bytes: Uint8Array): void {
    const size = bytes.length;
    const end = PAYLOAD_START + size;
    this.#texts = end + ZEROS;
    this.#region = size * 2 + ROOM;
    const limit = this.#texts + this.#region * 3 + ZEROS;
    if (limit > this.#bytes.length) this.#grow(limit);
    this.#bytes.set(bytes, PAYLOAD_START);
    this.#bytes.fill(0, end, this.#texts);
    this.#end = end;
  }

  /** The list that begins at that place of the payload, as long as no other is read; null when there is none in the plain form. */
  read(maps: KernelMaps, place: number): { packed: Buffer; end: number } | null {
    const reader = this.#readers.get(maps) ?? this.#layOut(maps, false);
    const made = this.#texts + this.#region;
    const result = made + this.#region;
    const limit = result + this.#region;
    const end = this.#exports.read(reader, PAYLOAD_START + place, this.#end, this.#texts, made, result, limit);
    if (end === 0) return null;
    return { packed: this.#bytes.subarray(result, result + this.#exports.size()), end: end - PAYLOAD_START };
  }

  #grow(size: number): void {
    const { memory } = this.#exports;
    memory.grow(Math.ceil((size - memory.buffer.byteLength) / PAGE) + 1);
    this.#bytes = Buffer.from(memory.buffer);
    for (const placed of this.#placed.values()) this.#look(placed);
  }

  /** Views of what a reader says of its map. */
  #look(placed: Placed): void {
    const { buffer } = this.#bytes;
    const { count } = placed;
    placed.map = {
      bytes: this.#bytes,
      states: new Uint8Array(buffer, placed.states, count),
      starts: new Uint32Array(buffer, placed.starts, count),
      ends: new Uint32Array(buffer, placed.ends, count),
    };
    placed.packed = new Int32Array(buffer, placed.places, count);
  }

  #take(size: number): number {
    const at = this.#laidOut;
    this.#laidOut += Math.ceil(size / 8) * 8;
    if (this.#laidOut > LAYOUT_START + LAYOUT_SIZE)
      throw new Error('too many kinds of lists for the memory of their layouts');
    return at;
  }

  #layOut(maps: KernelMaps, isInside: boolean): number {
    const { fields, depth, sink } = maps;
    const count = fields.length;
    const reader = this.#take(READER_WORDS * 4);
    const array = (size: number): number => this.#take(count * size);
    const [fieldsAt, order, states, starts, ends, places, doubles, lastStarts, lastEnds, lastPlaces] = [
      array(FIELD_SIZE),
      array(1),
      array(1),
      array(4),
      array(4),
      array(4),
      array(8),
      array(4),
      array(4),
      array(4),
    ];
    for (const [index, field] of fields.entries()) {
      const at = fieldsAt + index * FIELD_SIZE;
      const key = this.#take(field.key.length + 8);
      this.#bytes.set(field.key, key);
      const { of } = field;
      if (of !== null && of !== 'string' && isInside) throw new Error('lists of maps inside lists of maps inside maps');
      const inner = of === null || of === 'string' ? 0 : this.#layOut(of, true);
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
    const when = sink?.when ?? { flag: NONE, list: NONE };
    const words = [
      count,
      depth,
      sink === null ? 0 : 1,
      when.flag,
      when.list,
      isInside ? 1 : 0,
      fieldsAt,
      order,
      states,
      starts,
      ends,
      places,
      doubles,
      lastStarts,
      lastEnds,
      lastPlaces,
    ];
    for (const [word, value] of words.entries()) this.#bytes.writeInt32LE(value, reader + word * 4);
    const placed: Placed = {
      maps,
      count,
      states,
      starts,
      ends,
      places,
      map: { bytes: NOTHING, states: NOTHING, starts: new Uint32Array(), ends: new Uint32Array() },
      packed: new Int32Array(),
    };
    this.#look(placed);
    this.#placed.set(reader, placed);
    this.#readers.set(maps, reader);
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

  #time(start: number, end: number): number {
    if (strictTimeAt(this.#bytes, start, end) === null) return NO_TIME;
    return isOfLastMinute(this.#bytes, start, end) ? KNOWN_MINUTE : A_TIME;
  }
}
