// A list of maps with known keys, packed: no key is written, and of a value only what differs from the same field of the
// map before. About half the size of the JSON text, at the price of one pass over it; unpacking gives that text again.
//
//   list     map ... 3
//   map      a field for each key of the shape, in its order
//   field    0                       the map does not have it
//            1                       the text that this field had last
//            2  f64                  the decimal text of a double (engine/json/stored.ts)
//            4 + shared, size, text  JSON text: `shared` bytes of what this field had last, then `size` more
//            2  list                 where the shape has a list of maps: such a list;  1 null,  0 as above
//   size     7 bits a byte, low ones first, bit 7: more follow
//
// "Last" is in the map before, or the last one that had the field; lists inside maps go on where that of the map before ended.

import { type ByteWriter, bytesOf, copyWords, type Piece, pieceOf, WORD, wordsOf } from '../bytes.ts';
import { writeDouble } from '../json/double-text.ts';

/** Keys in stored order, with the shape of those that hold lists of maps. What lies on disk depends on all of it. */
export interface ListShape {
  readonly keys: readonly string[];
  readonly lists: Readonly<Record<string, ListShape>>;
}

// What engine/wasm/lists writes.
const ABSENT = 0;
const SAME = 1;
const DOUBLE = 2;
const LIST = 2;
const END = 3;
const TEXT = 4;

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;
const NULL = bytesOf('null');

/** Up to this many bytes a loop is cheaper than a call. */
const SHORT = 80;
/** Characters of the longest decimal text of a double; more than what is copied too much when four bytes are copied at a time. */
const DECIMAL_MAX = 400;
const NO_WORDS = new DataView(new ArrayBuffer(0));

/** Writes the JSON texts of packed lists of one shape. */
export class ListUnpacker {
  readonly #count: number;
  /** Per field what stands before its value: as the first of its map, and behind others. */
  readonly #first: readonly Piece[];
  readonly #further: readonly Piece[];
  readonly #lists: readonly (ListUnpacker | null)[];
  // Per field where its last text lies in the output, and where what stands before it begins.
  readonly #begins: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  // What is read, and its words.
  #source: Uint8Array = NULL;
  #sourceWords: DataView = NO_WORDS;

  constructor({ keys, lists }: ListShape) {
    this.#count = keys.length;
    this.#first = keys.map((key) => pieceOf(`{${JSON.stringify(key)}:`));
    this.#further = keys.map((key) => pieceOf(`,${JSON.stringify(key)}:`));
    this.#lists = keys.map((key) => {
      const shape = lists[key];
      return shape === undefined ? null : new ListUnpacker(shape);
    });
    this.#begins = new Uint32Array(keys.length);
    this.#starts = new Uint32Array(keys.length);
    this.#ends = new Uint32Array(keys.length);
  }

  /** Appends the text of the list that begins at `start`; the place behind it. Throws when it does not end before `end`. */
  write(bytes: Buffer, start: number, end: number, out: ByteWriter): number {
    this.#forget();
    return this.#list(bytes, start, end, out);
  }

  #forget(): void {
    this.#begins.fill(0);
    this.#starts.fill(0);
    this.#ends.fill(0);
    for (const list of this.#lists) if (list !== null) list.#forget();
  }

  #list(bytes: Buffer, start: number, end: number, out: ByteWriter): number {
    let at = start;
    out.byte(OPEN_BRACKET);
    for (let isFirst = true; ; isFirst = false) {
      if (at >= end) throw new Error('a packed list has no end');
      if (bytes[at] === END) break;
      if (!isFirst) out.byte(COMMA);
      let leads = this.#first;
      for (let field = 0; field < this.#count; field++) {
        const tag = bytes[at++]!;
        if (tag === ABSENT) continue;
        if (tag === SAME && this.#lists[field] === null) {
          const last = this.#lastSame(field, bytes, at);
          this.#same(field, last, leads[field]!, out);
          at += last - field;
          field = last;
        } else at = this.#field(field, leads[field]!, tag, bytes, at, end, out);
        leads = this.#further;
      }
      if (leads === this.#first) out.byte(OPEN_BRACE);
      out.byte(CLOSE_BRACE);
    }
    out.byte(CLOSE_BRACKET);
    return at + 1;
  }

  /** The last of the fields from `field` on that are what they were last, and stood one behind the other there. */
  #lastSame(field: number, bytes: Buffer, at: number): number {
    let last = field;
    for (let i = at; bytes[i] === SAME && this.#begins[last + 1] === this.#ends[last]; i++) {
      if (this.#lists[last + 1] !== null) break;
      last++;
    }
    return last;
  }

  /** Appends these fields as they were last. */
  #same(field: number, last: number, lead: Piece, out: ByteWriter): void {
    const end = this.#ends[last]!;
    const target = out.room(lead.size + end - this.#starts[field]! + DECIMAL_MAX);
    const { words } = out;
    let from = this.#begins[field]!;
    let to = out.length;
    if (target[from] !== lead.bytes[0]) {
      // It was the first of its map and is not now, or the other way round.
      this.#begins[field] = to;
      copyWords(words, to, lead.words, 0, lead.size);
      to += lead.size;
      from = this.#starts[field]!;
    } else this.#begins[field] = to;
    const size = end - from;
    if (size > SHORT) target.copyWithin(to, from, end);
    else copyWords(words, to, words, from, size);
    const moved = to - from;
    this.#starts[field]! += moved;
    this.#ends[field]! += moved;
    for (let i = field + 1; i <= last; i++) {
      this.#begins[i]! += moved;
      this.#starts[i]! += moved;
      this.#ends[i]! += moved;
    }
    out.length = to + size;
  }

  #field(field: number, lead: Piece, tag: number, bytes: Buffer, from: number, end: number, out: ByteWriter): number {
    const list = this.#lists[field]!;
    if (list !== null) {
      out.piece(lead);
      if (tag === LIST) return list.#list(bytes, from, end, out);
      out.put(NULL);
      return from;
    }
    const lastStart = this.#starts[field]!;
    let at = from;
    let shared = 0;
    let size = 0;
    if (tag !== DOUBLE) {
      shared = tag - TEXT;
      size = bytes[at++]!;
      if (size > 0x7f) {
        size &= 0x7f;
        for (let scale = 0x80; ; scale *= 0x80) {
          const byte = bytes[at++]!;
          size += (byte & 0x7f) * scale;
          if (!(byte >= 0x80)) break; // also behind the end of what is damaged
        }
      }
      if (!(at + size <= end)) throw new Error('a packed list has no end');
    }
    const leadSize = lead.size;
    const target = out.room(leadSize + shared + size + DECIMAL_MAX);
    if (bytes !== this.#source) {
      this.#source = bytes;
      this.#sourceWords = wordsOf(bytes);
    }
    const { words } = out;
    let to = out.length;
    this.#begins[field] = to;
    copyWords(words, to, lead.words, 0, leadSize);
    to += leadSize;
    this.#starts[field] = to;
    if (tag === DOUBLE) {
      to = writeDouble(this.#sourceWords.getFloat64(at, true), target, to);
      at += 8;
    } else {
      if (shared > SHORT) target.copyWithin(to, lastStart, lastStart + shared);
      else copyWords(words, to, words, lastStart, shared);
      to += shared;
      if (size > SHORT || at + size + WORD > end) target.set(bytes.subarray(at, at + size), to);
      else copyWords(words, to, this.#sourceWords, at, size);
      to += size;
      at += size;
    }
    this.#ends[field] = to;
    out.length = to;
    return at;
  }
}
