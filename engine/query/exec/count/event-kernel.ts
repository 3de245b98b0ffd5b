// The WebAssembly that counts events by their own texts (engine/wasm/tally) and its memory, which it lays out itself.

import { Memory } from '../../../bytes.ts';
import { EVENT_CODE, type StoredEvents } from '../../../store/records/event-record.ts';
import { quoted } from '../../../store/records/fields.ts';
import { instanceOf, memoryOf, newSeed, type WasmExports } from '../../../wasm/instance.ts';
import { KernelPool } from '../../../wasm/kernel-pool.ts';
import { TALLY } from '../../../wasm/tally.bytes.ts';
import type { EventCountsTree } from '../../tree.ts';
import type { Row } from '../row/row.ts';
import { COUNTS, type EventTally, STATUS, SUBJECT_CODES, type Subjects } from './event-tally.ts';

const NUMBER = Uint32Array.BYTES_PER_ELEMENT;
/** For what is numbered before any report. */
const WORD_SIZE = 64;
/** As in engine/wasm/tally: there is one column only. */
const NONE = 0xffffffff;
/** The text of a corrective change in its column. */
const CORRECTIVE = 'true';
const KERNELS_KEPT = 2;

interface Place {
  readonly value: number;
}

interface Exports extends WasmExports {
  readonly textCount: Place;
  readonly textEnds: Place;
  readonly textBytes: Place;
  readonly subjectCount: Place;
  readonly subjectTexts: Place;
  readonly subjectCounts: Place;
  setSeed(low: number, high: number): void;
  begin(first: number, last: number, status: number, change: number, kinds: number): void;
  numberOfText(start: number, size: number): number;
  take(size: number): number;
  setKinds(table: number): void;
  roomFor(size: number): number;
  open(size: number): void;
  count(from: number, to: number): void;
}

const kernels = new KernelPool(() => new EventKernel(), KERNELS_KEPT);

/** One for events that are counted each; null: there is no WebAssembly here, or the subject is not among the events' own texts. */
export function eventKernel(summarizeBy: EventCountsTree['summarizeBy']): EventTally | null {
  const columns = SUBJECT_CODES[summarizeBy];
  return columns.length === 0 ? null : kernels.take((kernel) => kernel.begin(columns));
}

class EventKernel implements EventTally {
  readonly #exports = instanceOf<Exports>(TALLY, {
    noRoom: (size: number) => {
      throw new RangeError(`there is no memory of ${size} bytes to count events with`);
    },
  });
  #bytes = memoryOf(this.#exports, 0);
  readonly #source = new Memory();
  readonly #word = this.#exports.take(WORD_SIZE);
  readonly #kinds = this.#layOutKinds();
  #report = 0;
  #part = -1;
  #hasFirst = false;

  constructor() {
    this.#exports.setSeed(...newSeed());
  }

  #layOutKinds(): number {
    const kinds = [...STATUS.values()].flatMap(({ whole, intentional, corrective }) => [
      whole,
      intentional,
      corrective,
    ]);
    const at = this.#exports.take(kinds.length * NUMBER);
    for (const [i, kind] of kinds.entries()) this.#memory().writeUInt32LE(kind, at + i * NUMBER);
    return at;
  }

  /** Forgets what was counted. */
  begin(columns: readonly number[]): this {
    const exports = this.#exports;
    this.#report = 0;
    this.#part = -1;
    this.#hasFirst = columns.length > 1;
    const [first, last] = columns.length > 1 ? columns : [NONE, ...columns];
    exports.begin(first!, last!, EVENT_CODE.status, EVENT_CODE.correctiveChange, COUNTS);
    for (const text of [...[...STATUS.keys()].map(quoted), CORRECTIVE]) {
      exports.numberOfText(this.#word, this.#memory().write(text, this.#word, WORD_SIZE, 'latin1'));
    }
    exports.setKinds(this.#kinds);
    return this;
  }

  /** It is other memory whenever the kernel took more. */
  #memory(): Buffer {
    if (this.#bytes.length === 0) this.#bytes = memoryOf(this.#exports, 0);
    return this.#bytes;
  }

  add(row: Row, rest: number): void {
    if (row.itemId !== this.#report || row.part !== this.#part) this.#open(row);
    this.#exports.count(row.subIndex, row.subIndex + rest + 1);
  }

  #open(row: Row): void {
    const { columns, size } = row.sub as StoredEvents;
    const at = this.#exports.roomFor(size);
    this.#memory().set(this.#source.of(columns, 0, size), at);
    this.#exports.open(size);
    this.#report = row.itemId;
    this.#part = row.part;
  }

  get bytes(): number {
    return this.#memory().length;
  }

  take(): Subjects {
    const { textCount, textEnds, textBytes, subjectCount, subjectTexts, subjectCounts } = this.#exports;
    const bytes = this.#memory();
    const numbers = (place: Place, count: number): Uint32Array =>
      new Uint32Array(bytes.buffer.slice(place.value, place.value + count * NUMBER));
    const ends = numbers(textEnds, textCount.value);
    const texts = Buffer.from(bytes.buffer.slice(textBytes.value, textBytes.value + (ends.at(-1) ?? 0)));
    const length = subjectCount.value;
    const pairs = numbers(subjectTexts, length * 2);
    const counts = numbers(subjectCounts, length * COUNTS);
    const hasFirst = this.#hasFirst;
    kernels.give(this, bytes.length);
    const textOf = (number: number): string =>
      texts.toString('utf8', number === 0 ? 0 : ends[number - 1], ends[number]);
    return {
      length,
      texts: (subject) => {
        const last = textOf(pairs[subject * 2 + 1]!);
        return hasFirst ? [textOf(pairs[subject * 2]!), last] : [last];
      },
      count: (subject, kind) => counts[subject * COUNTS + kind]!,
    };
  }
}
