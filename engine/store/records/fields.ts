// Records whose fields are kept as the JSON texts that answers show, so that an answer copies them and a filter looks at one
// field without decoding the others. A kind of record has a fixed number of numbers and texts; a field is its place. Texts
// that answers show side by side lie so, with their keys between them: an answer copies them at once.
//
//   u8        flags; bit 7: ends are u32, else u16
//   8 bytes   per number: integer of 54 bits, little-endian, or null
//   u16/u32   per text: its end, counted from the first text
//   UTF-8     the texts, each behind its lead: `,"key":` or nothing
//
// `TextRecord` reads such a record in bytes that it is given; it holds on to them and never copies.

import { type ByteWriter, bytesOf } from '../../bytes.ts';
import { BACKSLASH, FALSE, QUOTE, TRUE } from '../../json/ascii.ts';
import { type Compared, compareStoredValue } from '../../json/compare-stored.ts';
import { formatTime } from '../../time.ts';

const WIDE = 0x80;
const NARROW_MAX = 0xffff;
/** High half of the number that stands for null: no safe integer has it. */
const NULL_HIGH = -0x8000_0000;
const TWO_32 = 0x1_0000_0000;
const BACKSLASH_TEXT = '\\';

/** What a kind of record consists of. */
export interface FieldsShape {
  readonly numbers: number;
  /** Per text the key that stands before it, empty for none. */
  readonly keys: readonly string[];
  /** What stands before each text, and its size in bytes. */
  readonly leads: readonly string[];
  readonly leadSizes: readonly number[];
}

export function fieldsShape(numbers: number, keys: readonly string[]): FieldsShape {
  const leads = keys.map((key) => (key === '' ? '' : `,${JSON.stringify(key)}:`));
  return { numbers, keys, leads, leadSizes: leads.map((lead) => Buffer.byteLength(lead, 'utf8')) };
}

const lengthOf = (text: string): number => text.length;

/** Where the texts end when each is as long as `sizeOf` says. */
function endsOf(shape: FieldsShape, texts: readonly string[], sizeOf: (text: string) => number): number[] {
  const ends = new Array<number>(texts.length);
  let end = 0;
  for (let i = 0; i < texts.length; i++) ends[i] = end += shape.leadSizes[i]! + sizeOf(texts[i]!);
  return ends;
}

/** `flags` is below 128. Numbers are safe integers or null; texts are JSON texts. */
export function encodeFields(
  shape: FieldsShape,
  flags: number,
  numbers: readonly (number | null)[],
  texts: readonly string[],
): Buffer {
  let joined = '';
  for (let i = 0; i < texts.length; i++) joined += shape.leads[i]! + texts[i]!;
  const total = Buffer.byteLength(joined, 'utf8');
  const isAscii = total === joined.length;
  const ends = endsOf(shape, texts, isAscii ? lengthOf : Buffer.byteLength);
  const isWide = total > NARROW_MAX;
  const base = 1 + numbers.length * 8 + texts.length * (isWide ? 4 : 2);
  const out = Buffer.allocUnsafe(base + total);
  let at = 0;
  out[at++] = isWide ? flags | WIDE : flags;
  for (let i = 0; i < numbers.length; i++) at = writeNumber(out, at, numbers[i]!);
  for (let i = 0; i < ends.length; i++) {
    at = isWide ? out.writeUInt32LE(ends[i]!, at) : out.writeUInt16LE(ends[i]!, at);
  }
  out.write(joined, base, isAscii ? 'latin1' : 'utf8');
  return out;
}

/** Writes a safe integer or null; returns the place behind it. */
export function writeNumber(out: Buffer, at: number, number: number | null): number {
  if (number === null) {
    out.writeUInt32LE(0, at);
    return out.writeInt32LE(NULL_HIGH, at + 4);
  }
  if (!Number.isSafeInteger(number)) throw new Error(`${number} is no integer that a record can hold`);
  const high = Math.floor(number / TWO_32);
  out.writeUInt32LE(number - high * TWO_32, at);
  return out.writeInt32LE(high, at + 4);
}

export function readNumber(bytes: Uint8Array, at: number): number | null {
  const high = bytes[at + 4]! | (bytes[at + 5]! << 8) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 24);
  if (high === NULL_HIGH) return null;
  const low = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  return high * TWO_32 + (low >>> 0);
}

const NOTHING = Buffer.alloc(0);

/** A text that fields are compared with. */
export interface WantedText {
  readonly text: string;
  /** Its bytes as they stand between the quotes of a JSON string; null when some of it must be, or may be, written otherwise. */
  readonly plain: Uint8Array | null;
}

/** Whether the text can be written in UTF-8: half a surrogate pair cannot. */
export const isUtf8 = (text: string): boolean => Buffer.from(text, 'utf8').toString('utf8') === text;

export function wantedText(text: string): WantedText {
  const written = JSON.stringify(text);
  return { text, plain: written.length === text.length + 2 ? bytesOf(text) : null };
}

/** Whether the JSON string from `start` to `end` is that text; null: there is `null`, or another literal. */
export function isTextAt(bytes: Buffer, start: number, end: number, { text, plain }: WantedText): boolean | null {
  if (bytes[start] !== QUOTE) return null;
  if (plain === null) return isSpelled(bytes, start, end, text);
  const size = end - start - 2;
  if (size < plain.length) return false; // escapes are longer than what they stand for
  if (size > plain.length) return isEscapedFrom(bytes, start + 1, plain) && isSpelled(bytes, start, end, text);
  for (let i = size - 1; i >= 0; i--) if (bytes[start + 1 + i] !== plain[i]) return false;
  return true;
}

/** Whether the bytes differ from the text where they have an escape, which may stand for what it has there. */
function isEscapedFrom(bytes: Buffer, start: number, plain: Uint8Array): boolean {
  let i = 0;
  while (i < plain.length && bytes[start + i] === plain[i]) i++;
  return i < plain.length && bytes[start + i] === BACKSLASH;
}

const isSpelled = (bytes: Buffer, start: number, end: number, text: string): boolean =>
  JSON.parse(bytes.toString('utf8', start, end)) === text;

/**
 * A record of any kind. Final: who looks into records of several kinds has one hidden class before it, which V8 reads at once;
 * with a subclass for each kind every property would be looked up.
 */
export class TextRecord {
  /** Holds the record from `start` on. */
  bytes: Buffer = NOTHING;
  start = 0;
  readonly #numbers: number;
  readonly #leads: readonly number[];
  #base = 0;
  #isWide = false;
  /** Of a record that is spread over its bytes: start and end of each text. */
  #places: Uint32Array | null = null;
  #first = 0;

  constructor(shape: FieldsShape) {
    this.#numbers = shape.numbers;
    this.#leads = shape.leadSizes;
  }

  /** From here on the record that begins at `start`. The bytes must not change while it is read. */
  load(bytes: Buffer, start = 0): void {
    this.bytes = bytes;
    this.start = start;
    const isWide = (bytes[start]! & WIDE) !== 0;
    this.#isWide = isWide;
    this.#base = start + 1 + this.#numbers * 8 + this.#leads.length * (isWide ? 4 : 2);
  }

  /** From here on the record whose texts lie in these bytes, start and end of each in `places` from `first` on. Its numbers, if they
   *  are asked for, lie where `start` says. */
  spread(bytes: Buffer, places: Uint32Array, first: number): void {
    this.bytes = bytes;
    this.#places = places;
    this.#first = first;
  }

  get flags(): number {
    return this.bytes[this.start]! & ~WIDE;
  }

  number(index: number): number | null {
    return readNumber(this.bytes, this.start + 1 + index * 8);
  }

  /** Where the text begins. */
  startOf(index: number): number {
    if (this.#places !== null) return this.#places[this.#first + index * 2]!;
    return (index === 0 ? this.#base : this.endOf(index - 1)) + this.#leads[index]!;
  }

  /** Where it ends. */
  endOf(index: number): number {
    if (this.#places !== null) return this.#places[this.#first + index * 2 + 1]!;
    const { bytes } = this;
    const ends = this.start + 1 + this.#numbers * 8;
    if (!this.#isWide) {
      const at = ends + index * 2;
      return this.#base + (bytes[at]! | (bytes[at + 1]! << 8));
    }
    const at = ends + index * 4;
    return this.#base + ((bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0);
  }

  /** Bytes of the record. */
  get size(): number {
    return this.endOf(this.#leads.length - 1) - this.start;
  }

  /** The field's JSON text. */
  text(index: number): string {
    return this.bytes.toString('utf8', this.startOf(index), this.endOf(index));
  }

  /** Of a field that is a JSON string or null. */
  string(index: number): string | null {
    const start = this.startOf(index);
    if (this.bytes[start] !== QUOTE) return null;
    const end = this.endOf(index);
    const inner = this.bytes.toString('utf8', start + 1, end - 1);
    return inner.includes(BACKSLASH_TEXT) ? (JSON.parse(this.bytes.toString('utf8', start, end)) as string) : inner;
  }

  /** Of a field that is true, false or null. */
  boolean(index: number): boolean | null {
    const first = this.bytes[this.startOf(index)];
    return first === TRUE ? true : first === FALSE ? false : null;
  }

  /** All texts, one behind the other: equal for equal records without numbers. */
  get whole(): string {
    return this.bytes.toString('utf8', this.#base, this.endOf(this.#leads.length - 1));
  }

  /** Whether a field that is a JSON string is that text; null: it is null. */
  equals(index: number, wanted: WantedText): boolean | null {
    return isTextAt(this.bytes, this.startOf(index), this.endOf(index), wanted);
  }

  /** How the field's value compares with that one, as far as its JSON text tells (json/compare-stored.ts). */
  compare(index: number, wanted: Compared): number {
    return compareStoredValue(this.bytes, this.startOf(index), this.endOf(index), wanted);
  }

  /** Appends the field's JSON text to an answer. */
  write(index: number, out: ByteWriter): void {
    out.part(this.bytes, this.startOf(index), this.endOf(index));
  }

  /** Appends the texts from `first` to `last`, with the keys between them. */
  writeSpan(first: number, last: number, out: ByteWriter): void {
    out.part(this.bytes, this.startOf(first), this.endOf(last));
  }
}

/** A record of one kind; subclasses say what its fields are. */
export class Fields {
  readonly record: TextRecord;

  constructor(shape: FieldsShape) {
    this.record = new TextRecord(shape);
  }

  load(bytes: Buffer, start = 0): void {
    this.record.load(bytes, start);
  }

  get flags(): number {
    return this.record.flags;
  }

  number(index: number): number | null {
    return this.record.number(index);
  }

  text(index: number): string {
    return this.record.text(index);
  }

  string(index: number): string | null {
    return this.record.string(index);
  }

  boolean(index: number): boolean | null {
    return this.record.boolean(index);
  }

  write(index: number, out: ByteWriter): void {
    this.record.write(index, out);
  }
}

/** JSON text of a string or null, as fields hold it. */
export const quoted = (text: string | null): string => (text === null ? 'null' : JSON.stringify(text));

/** JSON text of a time, or null. */
export const quotedTime = (ms: number | null): string => (ms === null ? 'null' : `"${formatTime(ms)}"`);

/** The place of each name of a record whose fields are written down in their order. */
export function placesOf<T extends object>(names: T): { readonly [K in keyof T]: number } {
  return Object.fromEntries(Object.keys(names).map((name, place) => [name, place])) as { [K in keyof T]: number };
}
