// Bytes of an answer while it is being put together (`ByteWriter`): texts and stored bytes are written one behind the other into
// one buffer, from which they are taken when it is full enough. Nothing is encoded twice and nothing is joined. And what else is
// done with bytes everywhere: kept memory, copies, comparisons, texts of them.

import { isAscii } from 'node:buffer';

/** Room beyond the wanted size, so that the row that fills a chunk seldom needs a bigger buffer. */
const SLACK = 16 << 10;
/** The first buffer is small: most answers are. */
const FIRST = 8 << 10;
/** Up to this many characters a loop is cheaper than a call. */
const SHORT = 16;
/** Up to this many bytes, four at a time, a loop is cheaper than a call, or than a view of them and a call. */
const SHORT_WORDS = 32;
const SHORT_PART = 96;
const WORD = 4;
const NOTHING = new Uint8Array(0);
const NO_MEMORY = Buffer.alloc(0);

/** Memory that is lent again and again: new memory costs a page fault for every 4 KB that is written to it, and collections. */
export class SpareMemory {
  readonly #idle: Buffer[] = [];
  readonly #countMax: number;
  readonly #sizeMax: number;

  /** `countMax`: pieces kept while nobody uses them, each of at most `sizeMax` bytes. */
  constructor(countMax: number, sizeMax: number) {
    this.#countMax = countMax;
    this.#sizeMax = sizeMax;
  }

  /** At least so many bytes, with anything in them. */
  take(size: number): Buffer {
    const place = this.#idle.findLastIndex(({ length }) => length >= size);
    return place < 0 ? Buffer.allocUnsafeSlow(size) : this.#idle.splice(place, 1)[0]!;
  }

  /** Whether the memory is not too large to be kept. */
  keeps(memory: Buffer): boolean {
    return memory.length <= this.#sizeMax;
  }

  /** Nobody looks at the memory any more. The smallest piece goes when there are too many. */
  give(memory: Buffer): void {
    if (memory.length === 0 || !this.keeps(memory)) return;
    this.#idle.push(memory);
    if (this.#idle.length <= this.#countMax) return;
    const sizes = this.#idle.map(({ length }) => length);
    this.#idle.splice(sizes.indexOf(Math.min(...sizes)), 1);
  }
}

/** A text that is written again and again. */
export interface Piece {
  readonly bytes: Uint8Array;
  /** Its memory, which goes on to the end of a word. */
  readonly words: DataView;
  /** Bytes. */
  readonly size: number;
}

export function pieceOf(text: string): Piece {
  const exact = Buffer.from(text, 'utf8');
  const size = exact.length;
  const padded = new Uint8Array(Math.ceil(size / WORD) * WORD);
  padded.set(exact);
  return { bytes: padded.subarray(0, size), words: wordsOf(padded), size };
}

/** Thrown where something has more bytes than it may have. */
export class TooLong extends Error {
  constructor(lengthMax: number) {
    super(`longer than ${lengthMax} bytes`);
    this.name = 'TooLong';
  }
}

export class ByteWriter {
  bytes: Buffer;
  length = 0;
  #size: number;
  readonly #spare: SpareMemory | null;
  readonly #lengthMax: number;
  /** The memory of `bytes`. */
  #words: DataView;
  // What was written from, the last two: an answer takes turns with them.
  #source = new Source(NOTHING);
  #other = new Source(NOTHING);

  /**
   * `size`: bytes wanted before they are taken; the buffer grows beyond that when something does not fit. `spare`: where its memory
   * comes from, to which it goes back with `release`. `lengthMax`: bytes beyond which it does not grow; what needs more throws TooLong.
   */
  constructor(size: number, spare: SpareMemory | null = null, lengthMax = Number.POSITIVE_INFINITY) {
    this.#size = size + SLACK;
    this.#spare = spare;
    this.#lengthMax = lengthMax;
    this.bytes = this.#memory(Math.min(this.#size, FIRST));
    this.#words = wordsOf(this.bytes);
  }

  #memory(size: number): Buffer {
    return this.#spare === null ? Buffer.allocUnsafeSlow(size) : this.#spare.take(size);
  }

  /** Makes room for `count` more bytes. */
  #reserve(count: number): void {
    const wanted = this.length + count;
    if (wanted <= this.bytes.length) return;
    if (wanted > this.#lengthMax) throw new TooLong(this.#lengthMax);
    const bigger = this.#memory(Math.max(wanted, this.bytes.length * 2));
    bigger.set(this.bytes.subarray(0, this.length));
    this.#spare?.give(this.bytes);
    this.#hold(bigger);
  }

  #hold(memory: Buffer): void {
    this.bytes = memory;
    this.#words = wordsOf(memory);
  }

  /** Its memory goes to others: what was taken from it must not be looked at any more. What is written from now on gets other memory. */
  release(): void {
    this.#spare?.give(this.bytes);
    this.#hold(NO_MEMORY);
    this.length = 0;
  }

  /** Makes room for `count` more bytes, for a caller that writes them to `bytes` and adds them to `length` itself. */
  room(count: number): Buffer {
    if (this.length + count > this.bytes.length) this.#reserve(count);
    return this.bytes;
  }

  byte(value: number): void {
    if (this.length >= this.bytes.length) this.#reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Text of any characters. */
  text(text: string): void {
    const count = text.length;
    this.#reserve(count * 3);
    const { bytes } = this;
    let at = this.length;
    if (count <= SHORT) {
      let i = 0;
      for (; i < count; i++) {
        const unit = text.charCodeAt(i);
        if (unit > 0x7f) break;
        bytes[at++] = unit;
      }
      if (i === count) {
        this.length = at;
        return;
      }
      at = this.length;
    }
    this.length = at + bytes.write(text, at, 'utf8');
  }

  /** All of `source`. */
  put(source: Uint8Array): void {
    const count = source.length;
    if (this.length + count > this.bytes.length) this.#reserve(count);
    if (count <= SHORT) {
      const { bytes } = this;
      let at = this.length;
      for (let i = 0; i < count; i++) bytes[at++] = source[i]!;
    } else this.bytes.set(source, this.length);
    this.length += count;
  }

  /** All of a piece. */
  piece({ bytes, words, size }: Piece): void {
    const at = this.length;
    if (at + size + WORD > this.bytes.length) this.#reserve(size + WORD);
    if (size <= SHORT_WORDS) copyWords(this.#words, at, words, 0, size);
    else this.bytes.set(bytes, at);
    this.length = at + size;
  }

  /** `source` from `start` to `end`. */
  part(source: Uint8Array, start: number, end: number): void {
    const count = end - start;
    const at = this.length;
    if (at + count + WORD > this.bytes.length) this.#reserve(count + WORD);
    if (source !== this.#source.array) this.#turnTo(source);
    const { words, size } = this.#source;
    if (count <= SHORT_PART && end + WORD <= size) copyWords(this.#words, at, words, start, count);
    else this.bytes.set(this.#source.part(start, count), at);
    this.length = at + count;
  }

  /** What was written to another one from `start` to `end`. It is not held on to. */
  written(other: ByteWriter, start: number, end: number): void {
    const count = end - start;
    if (count > SHORT_PART || end + WORD > other.bytes.length) {
      this.put(other.bytes.subarray(start, end));
      return;
    }
    this.#reserve(count + WORD);
    copyWords(this.#words, this.length, other.#words, start, count);
    this.length += count;
  }

  #turnTo(source: Uint8Array): void {
    const other = source === this.#other.array ? this.#other : new Source(source);
    this.#other = this.#source;
    this.#source = other;
  }

  /** A copy of what was written from `start` on. */
  copyFrom(start: number): Uint8Array {
    return copyOf(this.bytes, start, this.length);
  }

  toString(): string {
    return this.bytes.toString('utf8', 0, this.length);
  }

  /** What was written since the last call. It lasts until something is written again. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.length);
    // One large row is no reason to keep so much memory.
    if (this.bytes.length > this.#size * 2 && this.#spare?.keeps(this.bytes) !== true) {
      this.#hold(Buffer.allocUnsafeSlow(this.#size));
    }
    this.length = 0;
    return taken;
  }
}

/** An array that is written from, and what V8 takes long to tell of it. */
class Source {
  readonly array: Uint8Array;
  readonly words: DataView;
  /** Bytes; those of lmdb say less in their `length`. */
  readonly size: number;
  readonly #buffer: ArrayBufferLike;
  readonly #offset: number;

  constructor(array: Uint8Array) {
    this.array = array;
    this.#buffer = array.buffer;
    this.#offset = array.byteOffset;
    this.size = array.byteLength;
    this.words = new DataView(this.#buffer, this.#offset, this.size);
  }

  part(start: number, count: number): Uint8Array {
    return new Uint8Array(this.#buffer, this.#offset + start, count);
  }
}

/**
 * Makes views of parts of memory. A view needs the memory behind the array that it is a part of, which V8 takes 20 ns to tell: the last
 * one is kept, as several parts of one are asked for in a row.
 */
export class Memory {
  #source = new Source(NOTHING);

  /** `count` bytes of `array`, from `start` on. */
  of(array: Uint8Array, start: number, count: number): Uint8Array {
    if (array !== this.#source.array) this.#source = new Source(array);
    return this.#source.part(start, count);
  }
}

/** `source` from `start` to `end` in memory of its own. A slice of a Buffer would be a Buffer, which takes longer to make. */
export function copyOf(source: Uint8Array, start: number, end: number): Uint8Array {
  const count = end - start;
  const copy = new Uint8Array(count);
  copy.set(new Uint8Array(source.buffer, source.byteOffset + start, count));
  return copy;
}

/**
 * The parts, one behind the other, in memory of their own. Copied with `fill`, which is memcpy also for shared memory; `set` copies
 * that word by word.
 */
export function joined(parts: readonly Uint8Array[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    // Nothing to fill with is an error.
    if (part.length > 0) whole.fill(part, at, at + part.length);
    at += part.length;
  }
  return whole;
}

/** The same memory, for who looks at four bytes at a time. */
export const wordsOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** Copies four bytes at a time, the last ones too: up to three more than `size`. */
function copyWords(target: DataView, to: number, source: DataView, from: number, size: number): void {
  for (let i = 0; i < size; i += WORD) target.setInt32(to + i, source.getInt32(from + i, true), true);
}

/** Whether `size` bytes of two sources are equal, from these places on; four are looked at at a time. Both must have so many. */
export function isSameAt(a: DataView, atA: number, b: DataView, atB: number, size: number): boolean {
  let i = 0;
  for (; i + 4 <= size; i += 4) if (a.getInt32(atA + i, true) !== b.getInt32(atB + i, true)) return false;
  for (; i < size; i++) if (a.getUint8(atA + i) !== b.getUint8(atB + i)) return false;
  return true;
}

/** The text of UTF-8 bytes. What is in ASCII, as nearly all is, needs no decoding. */
export const textOf = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');

/** The text of what a client sent. A byte order mark stays in it, and no JSON begins with one. */
export const sentText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

/** Shorter parts of texts V8 copies. */
const SLICED_MIN = 13;

/** The same text in memory of its own, to be kept: of a part of a larger text V8 keeps the whole. */
export const ownText = (text: string): string =>
  text.length < SLICED_MIN ? text : Buffer.from(text, 'utf8').toString('utf8');

/** Bytes of a text that is written often. */
export const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'utf8'));
