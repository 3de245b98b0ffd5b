// The WebAssembly that tells elements apart and knows them again (engine/wasm/elements) and its memory.

import { textOf } from '../../bytes.ts';
import { digestText } from '../../store/file/keys.ts';
import { ELEMENTS } from '../../wasm/elements.bytes.ts';
import { instanceOf, memoryOf, newSeed, type WasmExports } from '../../wasm/instance.ts';

/** The first bytes of the memory are its own. */
const NAME_START = 1024;
const NAME_SIZE = 1024;
/** As in engine/wasm/elements. */
const BUCKETS_SIZE = 2 * 4 * (1 << 14);
const FOUND_WORDS = 8;
const START = 0;
const SIZE = 1;
const NUMBER = 2;
const BEFORE = 3;
const NAMES = 4;
/** The high half. */
const HASH = 7;
/** A list is read so many bytes at a time. */
const WINDOW_SIZE = 128 << 10;
const FOUND_MAX = 4096;
/** For one resource. */
const RESOURCES_SIZE = 384 << 10;
const RESOURCE_WORDS = 17;
const TEXT_SIZE = 0;
const STORED_SIZE = 15;
const IS_TAGGED = 16;
/** Of a fact. */
const FACT_NAME_SIZE = 1;
const FACT_STORED_SIZE = 2;
/** In `resourcePlaces`: where the start of that value stands, which its end follows. */
export const RESOURCE_PLACES = { exported: 1, file: 3, line: 5, parameters: 7, tags: 9, title: 11, type: 13 } as const;
/** Zeros behind what is read, and room behind what is written: more than is touched at a time. */
const SLACK = 64;

const NO_NAME = Buffer.alloc(0);

interface Exports extends WasmExports {
  begin(
    seedLow: number,
    seedHigh: number,
    name: number,
    buckets: number,
    texts: number,
    textsLimit: number,
    window: number,
    elements: number,
    found: number,
    foundLimit: number,
    resources: number,
    resourcesLimit: number,
  ): void;
  setName(size: number): void;
  cost(): number;
  age(): void;
  beginList(): void;
  walk(size: number, isLast: number): number;
  lookedFor(): number;
  place(): number;
  add(index: number, cost: number): number;
  numberOf(index: number): number;
  resource(index: number, isTagLeftOut: number): number;
  resourceResult(): number;
  textStart(): number;
  otherStart(): number;
  writeParameters(): number;
  fact(index: number): number;
}

/**
 * One instance, with memory of its own for the texts of remembered elements. A remembered element has a number, among the young ones or among
 * the old ones; below 0: it has none. What is asked of an element is asked of the present one (`select`) of the last walk.
 */
export class ElementKernel {
  readonly #exports: Exports;
  readonly #bytes: Buffer;
  readonly #found: Int32Array;
  readonly #resource: Int32Array;
  /** Where texts are written that are asked for. */
  readonly #text: number;
  readonly #other: number;
  readonly #window: number;
  #name: string | null = null;
  #index = 0;

  /** `textsSize`: bytes for the texts. Throws RangeError where there is no WebAssembly, or no memory for it. */
  constructor(textsSize: number) {
    this.#exports = instanceOf<Exports>(ELEMENTS, {});
    const buckets = NAME_START + NAME_SIZE;
    const texts = buckets + BUCKETS_SIZE;
    const found = texts + Math.ceil(textsSize / 8) * 8;
    const foundLimit = found + FOUND_MAX * FOUND_WORDS * 4;
    this.#window = foundLimit;
    const elements = this.#window + WINDOW_SIZE + SLACK;
    const resources = elements + WINDOW_SIZE + SLACK;
    const limit = resources + RESOURCES_SIZE;
    this.#bytes = memoryOf(this.#exports, limit + SLACK);
    this.#found = new Int32Array(this.#bytes.buffer, found, FOUND_MAX * FOUND_WORDS);
    const window = this.#window;
    this.#exports.begin(
      ...newSeed(),
      NAME_START,
      buckets,
      texts,
      found,
      window,
      elements,
      found,
      foundLimit,
      resources,
      limit,
    );
    this.#resource = new Int32Array(this.#bytes.buffer, this.#exports.resourceResult(), RESOURCE_WORDS);
    this.#text = this.#exports.textStart();
    this.#other = this.#exports.otherStart();
  }

  /** A list begins. In the texts of its elements a mark stands for the literal of the certname (null: nothing does). False: that is too long. */
  begin(certname: string | null): boolean {
    this.#exports.beginList();
    if (certname === this.#name) return true;
    const literal = certname === null ? NO_NAME : Buffer.from(JSON.stringify(certname));
    if (literal.length > NAME_SIZE - SLACK) return false;
    this.#name = certname;
    this.#bytes.fill(0, NAME_START, NAME_START + NAME_SIZE);
    this.#bytes.set(literal, NAME_START);
    this.#exports.setName(literal.length);
    return true;
  }

  /** What the young elements take, as `add` was told. */
  get cost(): number {
    return this.#exports.cost();
  }

  /** Forgets the old elements, and makes the young ones old. */
  age(): void {
    this.#exports.age();
  }

  /**
   * Reads elements of a list, of which `from` to `last` are left, and tells how many; 0: the next one is too long; below 0: what is there is none.
   * `place` says where reading goes on: behind `last` when the list has been read.
   */
  walk(list: Uint8Array, from: number, last: number): number {
    const size = Math.min(last - from, WINDOW_SIZE);
    this.#bytes.set(list.subarray(from, from + size), this.#window);
    this.#bytes.fill(0, this.#window + size, this.#window + size + SLACK);
    return this.#exports.walk(size, from + size === last ? 1 : 0);
  }

  /** From where the last walk began, in bytes. */
  get place(): number {
    return this.#exports.place();
  }

  /** How many elements the last walk looked for. Old ones that it found are young again, also where the walk came to nothing. */
  get lookedFor(): number {
    return this.#exports.lookedFor();
  }

  /** Makes that element of the last walk the present one. */
  select(index: number): void {
    this.#index = index;
  }

  #word(word: number): number {
    return this.#found[this.#index * FOUND_WORDS + word]!;
  }

  /** Its number among the young ones. */
  get number(): number {
    return this.#word(NUMBER);
  }

  /** The number that it had among the old ones until now. */
  get before(): number {
    return this.#word(BEFORE);
  }

  /** Its text as it stands in the list, with marks for the name. */
  text(): string {
    return textOf(this.#element);
  }

  /** Digest of the text (store/file/keys.ts). */
  digest(): string {
    return digestText(this.#element);
  }

  get #element(): Buffer {
    const start = this.#word(START);
    return this.#bytes.subarray(start, start + this.#word(SIZE));
  }

  /** Bytes of the text. */
  get size(): number {
    return this.#word(SIZE);
  }

  /** How many marks there are in it. */
  get names(): number {
    return this.#word(NAMES);
  }

  /** Of the text, 32 bits. */
  get hash(): number {
    return this.#word(HASH) >>> 0;
  }

  /** Remembers the element, which has no number: its number, below 0 where there is no room for it. */
  add(cost: number): number {
    return this.#exports.add(this.#index, cost);
  }

  /** The number that the element, which had none, has by now, as another of the same text was added. */
  numberNow(): number {
    return this.#exports.numberOf(this.#index);
  }

  /**
   * The canonical text of the element, if that is a resource (with tags that are taken) and plain: ASCII only, no unusual escapes, no
   * unusual numbers, no keys with slashes. Else null, also for what is no JSON. `resourcePlaces` says where in it values are.
   * `isTagLeftOut`: without the certname among the tags.
   */
  resource(isTagLeftOut = false): string | null {
    if (this.#exports.resource(this.#index, isTagLeftOut ? 1 : 0) === 0) return null;
    return this.#textAt(this.#text, this.#resource[TEXT_SIZE]!);
  }

  /** Of the last `resource`, until the next one: its characters, then start and end of values (RESOURCE_PLACES; 0 and 0: there is none). */
  get resourcePlaces(): Int32Array {
    return this.#resource;
  }

  /** Whether the certname is among its tags, or was left out. */
  get isTagged(): boolean {
    return this.#resource[IS_TAGGED] !== 0;
  }

  /** The text in which its parameters are stored, empty without any; null: another of its fields is not what it should be. */
  parameters(): string | null {
    if (this.#exports.writeParameters() === 0) return null;
    return this.#textAt(this.#other, this.#resource[STORED_SIZE]!);
  }

  /**
   * The canonical text of the element, if that is a fact (a name, a colon, a value) and plain, as a resource is. Else null, also for what is
   * no JSON.
   */
  fact(): string | null {
    return this.#exports.fact(this.#index) === 0 ? null : this.#textAt(this.#text, this.#resource[TEXT_SIZE]!);
  }

  /** Name of the last `fact`. It is a text of its own, as the value is: for a part of a text V8 keeps the whole. */
  get factName(): string {
    return this.#textAt(this.#text + 1, this.#resource[FACT_NAME_SIZE]! - 2);
  }

  /** Its value as it is stored. */
  get factValue(): string {
    const storedSize = this.#resource[FACT_STORED_SIZE]!;
    if (storedSize !== 0) return this.#textAt(this.#other, storedSize);
    const nameSize = this.#resource[FACT_NAME_SIZE]!;
    return this.#textAt(this.#text + nameSize + 1, this.#resource[TEXT_SIZE]! - nameSize - 1);
  }

  #textAt(start: number, size: number): string {
    return this.#bytes.toString('latin1', start, start + size);
  }
}
