// The WebAssembly that puts the names of a catalog's resources in order and reads its edges (engine/wasm/edges), and its memory.
//
//   memory   relationships | window, zeros | codes | texts of edges | texts of names, zeros | names, their order, what finds them

import { EDGES } from '../../../wasm/edges.bytes.ts';
import { instanceOf, memoryOf, newSeed, type WasmExports } from '../../../wasm/instance.ts';
import { behindBlanks } from '../../known/elements.ts';

/** The first bytes of the memory are its own. */
const RELATIONSHIPS_START = 256;
/** As in engine/wasm/edges. */
const RELATIONSHIP_SLOT = 64;
const RELATIONSHIP_SIZE_AT = 60;
/** Zeros behind what is read: more than are looked at at a time. */
const SLACK = 64;
const WINDOW_SIZE = 128 << 10;
const CODE_SIZE = Float64Array.BYTES_PER_ELEMENT;
const CODES_MAX = 4096;
const TEXT_SIZE = 128 << 10;
/** For each name: what is known of it, its place in two orders, the head of its title. */
const NAME_SIZE = 12;
const PLACE_SIZE = Uint32Array.BYTES_PER_ELEMENT;
const HEAD_SIZE = 8;
const SLOT_SIZE = 8;
/** Before each text. */
const COMMA_SIZE = 1;
/** No edge is shorter. */
const EDGE_MIN = 64;
/** Names are put together up to this length before they are encoded. */
const CHUNK_LENGTH = 64 << 10;
/** What a UTF-16 code unit takes in UTF-8 at most. */
const UNIT_BYTES_MAX = 3;
/** What UTF-8 has no bytes for, and what then stands for it. */
const NO_CHARACTER = /[\p{Surrogate}\ufffd]/u;

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const UNUSUAL = 0;
const PLAIN = 2;

interface Exports extends WasmExports {
  readonly place: { readonly value: number };
  readonly textSize: { readonly value: number };
  begin(
    relationships: number,
    relationshipCount: number,
    window: number,
    codes: number,
    codesMax: number,
    text: number,
    textEnd: number,
  ): void;
  beginNames(
    seedLow: number,
    seedHigh: number,
    count: number,
    names: number,
    order: number,
    spare: number,
    heads: number,
    table: number,
    slots: number,
  ): void;
  readNames(start: number, end: number): number;
  sortNames(): void;
  orderStart(): number;
  indexNames(): number;
  readEdges(size: number, isLast: number): number;
  writeTexts(from: number, count: number): number;
}

/** A name is the canonical text of `{title, type}`; its place is that in the order of all names of a catalog, by title, then type. */
export class EdgeKernel {
  readonly #exports = instanceOf<Exports>(EDGES, {});
  readonly #seed = newSeed();
  readonly #window: number;
  readonly #codes: number;
  readonly #text: number;
  readonly #names: number;
  #bytes: Buffer;
  #count = 0;
  #isSortable = false;

  /**
   * `relationships`: texts that edges of the first, the second, ... kind begin with, up to the name of the source. Throws RangeError where there
   * is no WebAssembly, or no memory for it.
   */
  constructor(relationships: readonly string[]) {
    this.#window = RELATIONSHIPS_START + relationships.length * RELATIONSHIP_SLOT;
    this.#codes = this.#window + WINDOW_SIZE + SLACK;
    this.#text = this.#codes + CODES_MAX * CODE_SIZE;
    this.#names = this.#text + TEXT_SIZE + SLACK;
    this.#bytes = memoryOf(this.#exports, this.#names);
    relationships.forEach((text, index) => {
      const slot = RELATIONSHIPS_START + index * RELATIONSHIP_SLOT;
      this.#bytes.writeUInt32LE(this.#bytes.write(text, slot, 'latin1'), slot + RELATIONSHIP_SIZE_AT);
    });
    this.#exports.begin(
      RELATIONSHIPS_START,
      relationships.length,
      this.#window,
      this.#codes,
      CODES_MAX,
      this.#text,
      this.#text + TEXT_SIZE,
    );
  }

  /** Bytes of its memory. */
  get size(): number {
    return this.#bytes.length;
  }

  /**
   * Takes the names of a catalog instead of those before; false: one is unusual (not two strings; with control characters beyond the common ones,
   * halves of characters or what stands for such; longer than 16 KB). Throws RangeError where there is no memory for them.
   */
  begin(names: readonly string[], isAscii: boolean): boolean {
    const chunks = chunksOf(names);
    if (!isAscii && chunks.some((chunk) => NO_CHARACTER.test(chunk))) return false;
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const encoding = isAscii ? 'latin1' : 'utf8';
    const count = names.length;
    const slots = 2 ** Math.ceil(Math.log2(count * 2 + 1));
    const table = aligned(this.#names + length * (isAscii ? 1 : UNIT_BYTES_MAX) + SLACK);
    const heads = table + slots * SLOT_SIZE;
    const known = heads + count * HEAD_SIZE;
    const order = known + count * NAME_SIZE;
    const spare = order + count * PLACE_SIZE;
    const size = spare + count * PLACE_SIZE + SLACK;
    if (size > this.#bytes.length) this.#bytes = memoryOf(this.#exports, size);
    let end = this.#names;
    for (const chunk of chunks) end += this.#bytes.write(chunk, end, encoding);
    this.#bytes.fill(0, end, end + SLACK);
    this.#exports.beginNames(...this.#seed, count, known, order, spare, heads, table, slots);
    const form = this.#exports.readNames(this.#names, end);
    this.#count = count;
    this.#isSortable = isAscii && form === PLAIN;
    return form !== UNUSUAL;
  }

  /** By place, which of the names stands there; null: they have other characters than ASCII, or escapes, and the caller has to sort them. */
  order(): Uint32Array | null {
    if (!this.#isSortable) return null;
    this.#exports.sortNames();
    return this.#order.slice();
  }

  get #order(): Uint32Array {
    return new Uint32Array(this.#bytes.buffer, this.#exports.orderStart(), this.#count);
  }

  /** Places are those of this order from now on. False: two names are the same. */
  index(order: Uint32Array): boolean {
    this.#order.set(order);
    return this.#exports.indexNames() !== 0;
  }

  /**
   * The edges of a JSON list, as they come: (place of the source * names + place of the target) * 8 + relationship. Null when one is unusual
   * (no map of just two names and a relationship), names nothing that there is, or is spelled in another way.
   */
  edges(list: Uint8Array): Float64Array | null {
    const last = list.length - 1;
    if (list[0] !== OPEN_BRACKET || list[last] !== CLOSE_BRACKET) return null;
    const codes = new Float64Array(Math.floor(list.length / EDGE_MIN));
    let count = 0;
    if (behindBlanks(list, 1, last) === last) return codes;
    for (let at = 1; at <= last; at += this.#exports.place.value) {
      const size = Math.min(last - at, WINDOW_SIZE);
      this.#bytes.set(list.subarray(at, at + size), this.#window);
      this.#bytes.fill(0, this.#window + size, this.#window + size + SLACK);
      const read = this.#exports.readEdges(size, at + size === last ? 1 : 0);
      if (read === 0) return null;
      codes.set(new Float64Array(this.#bytes.buffer, this.#codes, read), count);
      count += read;
    }
    return codes.subarray(0, count);
  }

  /** The canonical texts of edges with commas between them, some at a time; the bytes are good until the next ones come. */
  writeTexts(edges: Float64Array, take: (bytes: Uint8Array) => void): void {
    const codes = new Float64Array(this.#bytes.buffer, this.#codes, CODES_MAX);
    let start = this.#text + COMMA_SIZE;
    for (let from = 0; from < edges.length; from += CODES_MAX) {
      const some = edges.subarray(from, from + CODES_MAX);
      codes.set(some);
      for (let done = 0; done < some.length; ) {
        done = this.#exports.writeTexts(done, some.length);
        take(this.#bytes.subarray(start, this.#text + this.#exports.textSize.value));
        start = this.#text;
      }
    }
  }
}

const aligned = (address: number): number => Math.ceil(address / HEAD_SIZE) * HEAD_SIZE;

function chunksOf(texts: readonly string[]): string[] {
  const chunks: string[] = [];
  let chunk = '';
  for (let index = 0; index < texts.length; index++) {
    chunk += texts[index];
    if (chunk.length < CHUNK_LENGTH) continue;
    chunks.push(chunk);
    chunk = '';
  }
  chunks.push(chunk);
  return chunks;
}
