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
//
// Texts are written in WebAssembly (engine/wasm/unpack), or here where there is none.

import { type ByteWriter, type Piece, pieceOf } from '../../bytes.ts';
import { CLOSE_LIST, CLOSE_MAP, COMMA, OPEN_LIST, OPEN_MAP } from '../../json/ascii.ts';
import { decimalText } from '../../json/stored.ts';
import type { ListShape } from './list-shape.ts';
import { unpackInKernel } from './unpack-kernel.ts';

// What engine/wasm/lists writes, as in engine/wasm/common/packed.ts.
const ABSENT = 0;
const SAME = 1;
const DOUBLE = 2;
const LIST = 2;
const END = 3;
const TEXT = 4;

const NULL = pieceOf('null');

/** Writes the JSON texts of packed lists of one shape. */
export class ListUnpacker {
  readonly #shape: ListShape;
  #plain: PlainUnpacker | null = null;

  constructor(shape: ListShape) {
    this.#shape = shape;
  }

  /** Appends the text of the list that begins at `start`; the place behind it. Throws when it does not end before `end`. */
  write(bytes: Buffer, start: number, end: number, out: ByteWriter): number {
    const place = unpackInKernel(this.#shape, bytes, start, end, out);
    if (place !== null) {
      if (place < 0) throw endless();
      return place;
    }
    this.#plain ??= new PlainUnpacker(this.#shape);
    return this.#plain.write(bytes, start, end, out);
  }
}

const endless = (): Error => new Error('a packed list has no end');

/** The same without WebAssembly. */
export class PlainUnpacker {
  /** Per field what stands before its value: as the first of its map, and behind others. */
  readonly #first: readonly Piece[];
  readonly #further: readonly Piece[];
  readonly #lists: readonly (PlainUnpacker | null)[];
  /** Per field where its last text lies in the output. */
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;

  constructor({ keys, lists }: ListShape) {
    this.#first = keys.map((key) => pieceOf(`{${JSON.stringify(key)}:`));
    this.#further = keys.map((key) => pieceOf(`,${JSON.stringify(key)}:`));
    this.#lists = keys.map((key) => {
      const shape = lists[key];
      return shape === undefined ? null : new PlainUnpacker(shape);
    });
    this.#starts = new Uint32Array(keys.length);
    this.#ends = new Uint32Array(keys.length);
  }

  /** As that of ListUnpacker. */
  write(bytes: Buffer, start: number, end: number, out: ByteWriter): number {
    this.#forget();
    return this.#list(bytes, start, end, out);
  }

  #forget(): void {
    this.#starts.fill(0);
    this.#ends.fill(0);
    for (const list of this.#lists) if (list !== null) list.#forget();
  }

  #list(bytes: Buffer, start: number, end: number, out: ByteWriter): number {
    let at = start;
    out.byte(OPEN_LIST);
    for (let isFirst = true; ; isFirst = false) {
      if (at >= end) throw endless();
      if (bytes[at] === END) break;
      if (!isFirst) out.byte(COMMA);
      let leads = this.#first;
      for (let field = 0; field < this.#first.length; field++) {
        const tag = bytes[at++]!;
        if (tag === ABSENT) continue;
        out.piece(leads[field]!);
        leads = this.#further;
        at = this.#value(field, tag, bytes, at, end, out);
      }
      if (leads === this.#first) out.byte(OPEN_MAP);
      out.byte(CLOSE_MAP);
    }
    out.byte(CLOSE_LIST);
    return at + 1;
  }

  #value(field: number, tag: number, bytes: Buffer, from: number, end: number, out: ByteWriter): number {
    const list = this.#lists[field]!;
    if (list !== null) {
      if (tag === LIST) return list.#list(bytes, from, end, out);
      out.piece(NULL);
      return from;
    }
    const lastStart = this.#starts[field]!;
    let at = from;
    this.#starts[field] = out.length;
    if (tag === SAME) repeat(lastStart, this.#ends[field]!, out);
    else if (tag === DOUBLE) {
      if (at + 8 > end) throw endless();
      out.text(decimalText(bytes.readDoubleLE(at)));
      at += 8;
    } else {
      let size = 0;
      for (let scale = 1; ; scale *= 0x80) {
        if (at >= end) throw endless();
        const byte = bytes[at++]!;
        size += (byte & 0x7f) * scale;
        if (byte < 0x80) break;
      }
      if (tag < TEXT || at + size > end) throw endless();
      repeat(lastStart, lastStart + tag - TEXT, out);
      out.part(bytes, at, at + size);
      at += size;
    }
    this.#ends[field] = out.length;
    return at;
  }
}

/** Appends what stands between these places of what was written before. */
function repeat(start: number, end: number, out: ByteWriter): void {
  const size = end - start;
  out.room(size).copyWithin(out.length, start, end);
  out.length += size;
}
