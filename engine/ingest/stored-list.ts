// From the bytes of a list of maps, as they came, to what is stored of it (engine/store/packed-list.ts) in one pass, without
// making values: for the lists of a report, which are seldom looked at. The wire table says which keys the maps have; whether
// they conform to it is found on the way. Unpacked it is the stored text (engine/json/stored.ts). The pass itself is WebAssembly.
//
// Only the plain form is read: no white space but blanks between tokens, no key twice. Everything else, and everything that is
// wrong, gives null, and the caller takes the way over values, which decides.

import type { WireTable } from '../../schemas/commands/format.ts';
import { bytesOf } from '../bytes.ts';
import { compareStored } from '../json/stored.ts';
import type { ListShape } from '../store/packed-list.ts';
import { type KernelMap, type KernelMaps, type KernelSink, KINDS, ListKernel } from './list-kernel.ts';

/** Larger lists are read with memory of their own, which goes with them. */
const KEPT_MAX = 1 << 20;
/** Seven times as much is within the addresses that are told as 32-bit integers. */
const SIZE_MAX = 256 << 20;

/** The key has not been there. */
const ABSENT = 0;
/** The value's text lies in the payload; otherwise in what was made of it, or there is none. */
const IN_PAYLOAD = 1;

/** The shape in which lists of a wire table's maps are packed. */
export function shapeOf(table: WireTable): ListShape {
  const fields = [...table.fields].sort((a, b) => compareStored(a.name, b.name));
  const lists: Record<string, ListShape> = {};
  for (const { name, type } of fields) {
    if (type.kind === 'list' && type.of.kind === 'object') lists[name] = shapeOf(type.of.table);
  }
  return { keys: fields.map(({ name }) => name), lists };
}

/** A map that has been read, as long as nothing more is: what its keys (in the order of the shape) hold. */
export type ReadMap = KernelMap;

export const isAbsent = ({ states }: ReadMap, key: number): boolean => states[key] === ABSENT;
/** Whether the value is stored as it was sent. */
export const wasSent = ({ states }: ReadMap, key: number): boolean => states[key] === IN_PAYLOAD;

/** Is shown the maps of a list while it is read. What it makes of them counts only when the whole list could be read. */
export interface MapSink {
  /** A list begins: of lists inside maps, the one around them all. */
  begin(): void;
  /** Whether its texts are wanted whole in the packed list, so that they share all with the map before or nothing. */
  map(map: ReadMap): boolean;
  /** Keys of those texts. */
  readonly whole: readonly number[];
  /** Only maps whose Boolean under `flag` is true, or whose list of maps under `list` is not empty, are shown. Keys; absent: all. */
  readonly when?: { readonly flag: number; readonly list: number };
  /**
   * A map whose texts were wanted has been packed. `places`: by key, where its text begins in the packed list, or where the list
   * that it holds begins. For maps of a list inside a map it is not known yet where that list comes to lie: theirs are counted
   * as `starts` of that list is.
   */
  packed(places: Int32Array): void;
}

/** Who is shown maps: those of the list, and those of lists inside them by their keys. */
export interface MapSinks {
  readonly own: MapSink;
  readonly lists: Readonly<Record<string, MapSink>>;
}

/** Of this thread. */
let kernel: ListKernel | null = null;

/** A payload whose lists are read, as long as no other is. */
export class ListSource {
  /** Null: nothing can be read of so much, or there is no memory for it. */
  readonly #kernel: ListKernel | null;

  /** `bytes` are valid UTF-8 and are not kept. */
  constructor(bytes: Uint8Array) {
    this.#kernel = bytes.length > SIZE_MAX ? null : kernelWith(bytes);
  }

  /** Reads the list that begins at a place of the payload: the place behind it, or -1 when there is none in the plain form. */
  read(list: StoredList, place: number): number {
    return this.#kernel === null ? -1 : list.readFrom(this.#kernel, place);
  }
}

function kernelWith(bytes: Uint8Array): ListKernel | null {
  try {
    const used = bytes.length > KEPT_MAX ? new ListKernel() : (kernel ??= new ListKernel());
    used.put(bytes);
    return used;
  } catch (error) {
    // Lists are then read by way of values.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Reads lists of one wire table's maps. */
export class StoredList {
  readonly #maps: KernelMaps;
  readonly #sinks: readonly MapSink[];
  #packed = Buffer.alloc(0);
  #size = 0;

  /** `depth`: how many containers enclose the list. */
  constructor(table: WireTable, depth: number, sinks: MapSinks | null = null) {
    this.#maps = mapsOf(table, depth + 1, sinks?.own ?? null, sinks?.lists ?? {});
    this.#sinks = sinks === null ? [] : [sinks.own, ...Object.values(sinks.lists)];
  }

  /** The list that was read last, packed. It lasts until the next one is read. */
  get packed(): Buffer {
    return this.#packed.subarray(0, this.#size);
  }

  /** The packed list, or null when that is not all that the bytes are. */
  read(bytes: Buffer): Buffer | null {
    return new ListSource(bytes).read(this, 0) === bytes.length ? this.packed : null;
  }

  /** For ListSource. */
  readFrom(source: ListKernel, place: number): number {
    for (const sink of this.#sinks) sink.begin();
    const found = source.read(this.#maps, place);
    if (found === null) return -1;
    const { packed, end } = found;
    this.#size = packed.length;
    if (packed.length > this.#packed.length) this.#packed = Buffer.allocUnsafeSlow(packed.length * 2);
    this.#packed.set(packed);
    return end;
  }
}

function mapsOf(table: WireTable, depth: number, sink: MapSink | null, inner: MapSinks['lists']): KernelMaps {
  const fields = [...table.fields].sort((a, b) => compareStored(a.name, b.name));
  return {
    depth,
    sink: sink === null ? null : kernelSink(sink),
    fields: fields.map(({ name, type, required, nullable }, index) => {
      const of = type.kind === 'list' ? type.of : null;
      return {
        kind: type.kind in KINDS ? KINDS[type.kind as keyof typeof KINDS] : 0,
        required,
        nullable,
        whole: sink?.whole.includes(index) ?? false,
        key: bytesOf(JSON.stringify(name)),
        of:
          of?.kind === 'object'
            ? mapsOf(of.table, depth + 2, inner[name] ?? null, {})
            : of?.kind === 'string'
              ? of.kind
              : null,
      };
    }),
  };
}

const kernelSink = (sink: MapSink): KernelSink => ({
  when: sink.when ?? null,
  show: (map) => sink.map(map),
  shown: (places) => sink.packed(places),
});
