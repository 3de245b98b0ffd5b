// From the bytes of a list of maps, as they came, to what is stored of it (engine/store/records/packed-list.ts) in one pass, without
// making values: for the lists of a report, which are seldom looked at. The wire table says which keys the maps have; whether
// they conform to it is found on the way. Unpacked it is the stored text (engine/json/stored.ts). The pass itself is WebAssembly.
//
// Only the plain form is read: no white space but blanks between tokens, no key twice. Everything else, and everything that is
// wrong, gives null, and the caller takes the way over values, which decides.

import type { WireField, WireTable, WireType } from '../../../../schemas/commands/format.ts';
import { bytesOf } from '../../../bytes.ts';
import { compareStored } from '../../../json/stored.ts';
import { EVENT_CODE, EVENT_VALUE } from '../../../store/records/event-record.ts';
import type { ListShape } from '../../../store/records/list-shape.ts';
import { whereThereIsRoom } from '../../../wasm/instance.ts';
import type { PlainEvents } from '../../command/commands.ts';
import { type KernelEvents, type KernelMaps, KINDS, ListKernel } from './list-kernel.ts';
import type { EventSource, EventSources } from './plain-events.ts';

/** Larger lists are read with memory of their own, which goes with them. */
const KEPT_MAX = 1 << 20;
/** Fifteen times as much is within the addresses that are told as 32-bit integers. */
const SIZE_MAX = 128 << 20;

/** The shape in which lists of a wire table's maps are packed. */
export function shapeOf(table: WireTable): ListShape {
  const fields = inStoredOrder(table);
  const lists: Record<string, ListShape> = {};
  for (const { name, type } of fields) {
    if (type.kind === 'list' && type.of.kind === 'object') lists[name] = shapeOf(type.of.table);
  }
  return { keys: fields.map(({ name }) => name), lists };
}

/** Of this thread. */
let kernel: ListKernel | null = null;

/** A payload whose lists are read. It is good until another one is made. */
export class ListSource {
  /** Null: nothing can be read of so much, or there is no memory for it. */
  readonly #kernel: ListKernel | null;

  /** `bytes` are valid UTF-8 and are not kept. */
  constructor(bytes: Uint8Array) {
    this.#kernel = bytes.length > SIZE_MAX ? null : whereThereIsRoom(() => kernelWith(bytes));
  }

  /** Reads the list that begins at a place of the payload: the place behind it, or -1 when there is none in the plain form. */
  read(list: StoredList, place: number): number {
    return this.#kernel === null ? -1 : list.readFrom(this.#kernel, place);
  }
}

function kernelWith(bytes: Uint8Array): ListKernel {
  const used = bytes.length > KEPT_MAX ? new ListKernel() : (kernel ??= new ListKernel());
  used.put(bytes);
  return used;
}

/** Reads lists of one wire table's maps. */
export class StoredList {
  readonly #maps: KernelMaps;
  #packed = Buffer.alloc(0);
  #size = 0;
  #events: PlainEvents | null = null;

  /** `depth`: how many containers enclose the list. `sources`: how the events of a report come from it. */
  constructor(table: WireTable, depth: number, sources: EventSources | null = null) {
    this.#maps = mapsOf(table, depth + 1, sources, 'resource');
  }

  /** The list that was read last, packed. It lasts until the next one is read. */
  get packed(): Buffer {
    return this.#packed.subarray(0, this.#size);
  }

  /** The events of the list that was read last; null where they must be made from values. */
  get events(): PlainEvents | null {
    return this.#events;
  }

  /** The packed list, or null when that is not all that the bytes are. */
  read(bytes: Buffer): Buffer | null {
    return new ListSource(bytes).read(this, 0) === bytes.length ? this.packed : null;
  }

  /** For ListSource. */
  readFrom(source: ListKernel, place: number): number {
    this.#events = null;
    const found = source.read(this.#maps, place);
    if (found === null) return -1;
    const { packed, end } = found;
    this.#size = packed.length;
    // What was made for a large one goes with the next that is not.
    if (packed.length > KEPT_MAX) this.#packed = Buffer.allocUnsafeSlow(packed.length);
    else if (packed.length > this.#packed.length || this.#packed.length > 2 * KEPT_MAX)
      this.#packed = Buffer.allocUnsafeSlow(packed.length * 2);
    this.#packed.set(packed);
    if (this.#maps.events !== null) this.#events = eventsOf(source);
    return end;
  }
}

function eventsOf(source: ListKernel): PlainEvents | null {
  const events = source.events();
  if (events === null) return null;
  const { count, timeMin, timeMax, columns } = events;
  return { count, timeMin, timeMax, encoded: count === 0 ? null : { columns: Buffer.from(columns), values: null } };
}

/** `side`: which maps they are for `sources`. */
function mapsOf(table: WireTable, depth: number, sources: EventSources | null, side: keyof EventSource): KernelMaps {
  const shown = new Set(Object.values<EventSource>(sources?.values ?? {}).map((source) => source[side]));
  return {
    depth,
    events: sources === null || side === 'event' ? null : kernelEvents(table, sources),
    fields: inStoredOrder(table).map(({ name, type, required, nullable }) => {
      const of = type.kind === 'list' ? type.of : null;
      const inside = name === sources?.list ? sources : null;
      return {
        kind: type.kind in KINDS ? KINDS[type.kind as keyof typeof KINDS] : 0,
        required,
        nullable,
        whole: shown.has(name),
        key: bytesOf(JSON.stringify(name)),
        of:
          of?.kind === 'object' ? mapsOf(of.table, depth + 2, inside, 'event') : of?.kind === 'string' ? of.kind : null,
      };
    }),
  };
}

function kernelEvents(table: WireTable, { skipped, list, codes, values, time }: EventSources): KernelEvents {
  const fields = inStoredOrder(table);
  const ofList = fields.find(({ name }) => name === list)?.type as WireType & { kind: 'list' };
  const { table: eventTable } = ofList.of as WireType & { kind: 'object' };
  const placesIn = (of: readonly WireField[]) => new Map(of.map(({ name }, place) => [name, place]));
  const places = { event: placesIn(inStoredOrder(eventTable)), resource: placesIn(fields) };
  const placeOf = (side: keyof EventSource, name: string): number => places[side].get(name) as number;
  const row = ({ event, resource }: EventSource) => ({
    event: event === null ? null : placeOf('event', event),
    resource: resource === null ? null : placeOf('resource', resource),
  });
  const inOrder = <K extends string>(columns: Readonly<Record<K, number>>, sources: Readonly<Record<K, EventSource>>) =>
    (Object.keys(columns) as K[]).sort((a, b) => columns[a] - columns[b]).map((column) => row(sources[column]));
  return {
    skipped: placeOf('resource', skipped),
    list: placeOf('resource', list),
    rows: [...inOrder(EVENT_CODE, codes), ...inOrder(EVENT_VALUE, values), row(time)],
  };
}

const inStoredOrder = (table: WireTable): readonly WireField[] =>
  [...table.fields].sort((a, b) => compareStored(a.name, b.name));
