// From the bytes of a list of maps, as they came, to what is stored of it (engine/store/packed-list.ts) in one pass, without
// making values: for the lists of a report, which are seldom looked at. The wire table says which keys the maps have; whether
// they conform to it is found on the way. Unpacked it is the stored text (engine/json/stored.ts).
//
// Only the plain form is read: no white space but blanks between tokens, no \u escapes, no key twice. Everything else, and
// everything that is wrong, gives null, and the caller takes the way over values, which decides.

import type { WireTable, WireType } from '../../schemas/commands/format.ts';
import { ByteWriter, bytesOf, isSameAt, wordsOf } from '../bytes.ts';
import { doubleOf } from '../json/double-of.ts';
import { JsonError, parseJsonDocument } from '../json/parse.ts';
import { hasStop, STOPS } from '../json/stops.ts';
import { compareStored, storedText } from '../json/stored.ts';
import {
  ABSENT,
  appendSize,
  DOUBLE,
  END,
  LIST,
  type ListShape,
  NULL_LIST,
  SAME,
  SHARED_MAX,
  TEXT,
} from '../store/packed-list.ts';
import { strictTimeAt } from './validate.ts';

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const BLANK = 0x20;
const LETTER_D = 0x64;
const LETTER_E = 0x65;
const LETTER_U = 0x75;

/** Digits that a double holds exactly. */
const DIGITS_MAX = 15;
/** Longer strings are left to the way over values, which has limits. */
const STRING_MAX = 1 << 20;
const TEXT_SIZE = 64 << 10;

/** Where a value's text lies: in the payload, or in what was made of it. */
const IN_PAYLOAD = 1;
const IN_MADE = 2;
/** It has none, it is a double. */
const IS_DOUBLE = 3;

type Kind = WireType['kind'];

interface Field {
  readonly kind: Kind;
  /** Of a list: of what; for maps their reader. */
  readonly of: Kind | null;
  readonly maps: MapReader | null;
  readonly required: boolean;
  readonly nullable: boolean;
  /** `"key"` */
  readonly key: DataView;
  /** Its bytes: Node 20 takes long to tell those of a DataView. */
  readonly keySize: number;
}

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
export interface ReadMap {
  readonly bytes: Buffer;
  readonly state: Uint8Array;
  /** Places of what is stored as it was sent. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

export const isAbsent = ({ state }: ReadMap, key: number): boolean => state[key] === ABSENT;
/** Whether the value is stored as it was sent. */
export const wasSent = ({ state }: ReadMap, key: number): boolean => state[key] === IN_PAYLOAD;

/** Is shown the maps of a list while it is read. What it makes of them counts only when the whole list could be read. */
export interface MapSink {
  /** A list begins: of lists inside maps, the one around them all. */
  begin(): void;
  /** Whether its texts are wanted whole in the packed list, so that they share all with the map before or nothing. */
  map(map: ReadMap): boolean;
  /** Keys of those texts. */
  readonly whole: readonly number[];
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

/** Reads lists of one wire table's maps. */
export class StoredList {
  readonly #maps: MapReader;
  readonly #out = new ByteWriter(TEXT_SIZE);

  /** `depth`: how many containers enclose the list. */
  constructor(table: WireTable, depth: number, sinks: MapSinks | null = null) {
    this.#maps = new MapReader(table, depth + 1, sinks?.own ?? null, sinks?.lists ?? {});
  }

  /** The packed list, or null: see above. It lasts until the next one is read. `bytes` are valid UTF-8 and are not kept. */
  read(bytes: Buffer): Buffer | null {
    const out = this.#out;
    out.length = 0;
    this.#maps.begin(wordsOf(bytes));
    const end = readMaps(this.#maps, bytes, 0, out);
    return end === bytes.length ? out.bytes.subarray(0, out.length) : null;
  }
}

/** Appends a list of maps; the place behind it, or -1. */
function readMaps(maps: MapReader, bytes: Buffer, start: number, out: ByteWriter): number {
  if (bytes[start] !== OPEN_BRACKET) return -1;
  let at = skipBlanks(bytes, start + 1);
  if (bytes[at] !== CLOSE_BRACKET) {
    for (;;) {
      at = maps.read(bytes, at, out);
      if (at < 0) return -1;
      at = skipBlanks(bytes, at);
      if (bytes[at] === CLOSE_BRACKET) break;
      if (bytes[at] !== COMMA) return -1;
      at = skipBlanks(bytes, at + 1);
    }
  }
  out.byte(END);
  return at + 1;
}

class MapReader {
  /** In the order in which they are stored. */
  readonly #fields: readonly Field[];
  readonly #depth: number;
  /** The field that came at that place the last time: senders keep to one order. */
  readonly #order: number[] = [];
  // Per field of the map being read: where its text is (ABSENT: the key has not been there).
  readonly #state: Uint8Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  readonly #doubles: Float64Array;
  // Per field the text that it had last; of no length when there is none.
  readonly #lastState: Uint8Array;
  readonly #lastStarts: Uint32Array;
  readonly #lastEnds: Uint32Array;
  /** Where in the output that text lies whole; -1: nowhere. */
  readonly #lastPlaces: Int32Array;
  /** Where the texts of the map being written lie whole, as far as they do. */
  readonly #places: Int32Array;
  /** Per field 1 when its text may be wanted whole. */
  readonly #whole: Uint8Array;
  /** Texts of the present list that are not as they were sent, and lists inside. */
  readonly #made = new ByteWriter(1024);
  readonly #double = Buffer.alloc(8);
  readonly #sink: MapSink | null;
  /** The payload. */
  #words: DataView = NO_WORDS;
  readonly #map: { bytes: Buffer } & Omit<ReadMap, 'bytes'>;

  constructor(table: WireTable, depth: number, sink: MapSink | null, sinks: MapSinks['lists']) {
    this.#sink = sink;
    const fields = [...table.fields].sort((a, b) => compareStored(a.name, b.name));
    this.#depth = depth;
    this.#fields = fields.map(({ name, type, required, nullable }) => {
      const key = bytesOf(JSON.stringify(name));
      const of = type.kind === 'list' ? type.of : null;
      const maps = of?.kind === 'object' ? new MapReader(of.table, depth + 2, sinks[name] ?? null, {}) : null;
      return {
        kind: type.kind,
        of: of?.kind ?? null,
        maps,
        required,
        nullable,
        key: new DataView(key.buffer),
        keySize: key.length,
      };
    });
    this.#state = new Uint8Array(fields.length);
    this.#starts = new Uint32Array(fields.length);
    this.#ends = new Uint32Array(fields.length);
    this.#doubles = new Float64Array(fields.length);
    this.#lastState = new Uint8Array(fields.length);
    this.#lastStarts = new Uint32Array(fields.length);
    this.#lastEnds = new Uint32Array(fields.length);
    this.#lastPlaces = new Int32Array(fields.length);
    this.#places = new Int32Array(fields.length);
    this.#whole = new Uint8Array(fields.length);
    for (const key of sink?.whole ?? []) this.#whole[key] = 1;
    this.#map = { bytes: NOTHING, state: this.#state, starts: this.#starts, ends: this.#ends };
  }

  /** Forgets the list before; `words`: the bytes that are going to be read. */
  begin(words: DataView): void {
    this.#words = words;
    this.#sink?.begin();
    this.#made.length = 0;
    this.#lastState.fill(IN_PAYLOAD);
    this.#lastStarts.fill(0);
    this.#lastEnds.fill(0);
    this.#lastPlaces.fill(-1);
    for (const { maps } of this.#fields) maps?.begin(words);
  }

  /** Another list inside a map: what the ones before it hold lies elsewhere in the packed list than where it was put together. */
  beginInside(): void {
    this.#lastPlaces.fill(-1);
  }

  /** Appends the map that begins at `start`; the place behind it, or -1. */
  read(bytes: Buffer, start: number, out: ByteWriter): number {
    if (bytes[start] !== OPEN_BRACE) return -1;
    const state = this.#state;
    for (let index = 0; index < state.length; index++) state[index] = ABSENT; // `fill` costs more
    let at = skipBlanks(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACE) return this.#write(bytes, at + 1, out);
    for (let place = 0; ; place++) {
      const index = this.#fieldAt(at, bytes.length, place);
      if (index < 0 || state[index] !== ABSENT) return -1;
      const field = this.#fields[index] as Field;
      at = skipBlanks(bytes, at + field.keySize);
      if (bytes[at] !== COLON) return -1;
      at = skipBlanks(bytes, at + 1);
      this.#starts[index] = at;
      state[index] = IN_PAYLOAD;
      at = this.#value(field, index, bytes, at);
      if (at < 0) return -1;
      if (state[index] === IN_PAYLOAD) this.#ends[index] = at;
      at = skipBlanks(bytes, at);
      const code = bytes[at];
      if (code === CLOSE_BRACE) return this.#write(bytes, at + 1, out);
      if (code !== COMMA) return -1;
      at = skipBlanks(bytes, at + 1);
    }
  }

  /** The field whose key is at this place of the `size` bytes; -1: none of the table's. */
  #fieldAt(at: number, size: number, place: number): number {
    const last = this.#order[place];
    if (last !== undefined && isKeyAt(this.#fields[last]!, this.#words, at, size)) return last;
    const index = this.#fields.findIndex((field) => isKeyAt(field, this.#words, at, size));
    if (index >= 0) this.#order[place] = index;
    return index;
  }

  /** What was read, in stored order; `end` when nothing is missing, or -1. */
  #write(bytes: Buffer, end: number, out: ByteWriter): number {
    const isWhole = this.#isWanted(bytes);
    const places = this.#places;
    for (let index = 0; index < this.#fields.length; index++) {
      const { maps, required } = this.#fields[index] as Field;
      const state = this.#state[index] as number;
      if (state === ABSENT) {
        if (required) return -1;
        out.byte(ABSENT);
      } else if (state === IS_DOUBLE) this.#packDouble(index, out);
      else if (maps === null) this.#packText(index, state, isWhole && this.#whole[index] === 1, bytes, out);
      else if (state === IN_PAYLOAD) out.byte(NULL_LIST);
      else {
        out.byte(LIST);
        places[index] = out.length;
        out.part(this.#made.bytes, this.#starts[index] as number, this.#ends[index] as number);
      }
    }
    if (isWhole) this.#sink!.packed(places);
    return end;
  }

  /** Shows the map to the sink: whether it wants texts whole. */
  #isWanted(bytes: Buffer): boolean {
    if (this.#sink === null) return false;
    this.#map.bytes = bytes;
    const isWhole = this.#sink.map(this.#map);
    this.#map.bytes = NOTHING;
    return isWhole;
  }

  #packText(index: number, state: number, isWhole: boolean, bytes: Buffer, out: ByteWriter): void {
    const made = this.#made.bytes;
    const source = state === IN_PAYLOAD ? bytes : made;
    const start = this.#starts[index] as number;
    const end = this.#ends[index] as number;
    const last = this.#lastState[index] === IN_PAYLOAD ? bytes : made;
    const lastStart = this.#lastStarts[index] as number;
    const lastSize = (this.#lastEnds[index] as number) - lastStart;
    const sharedMax = Math.min(end - start, lastSize, SHARED_MAX);
    let shared = 0;
    if (source === last && source === bytes) {
      const words = this.#words;
      const wordsMax = sharedMax - 3;
      while (shared < wordsMax && words.getInt32(start + shared, true) === words.getInt32(lastStart + shared, true)) {
        shared += 4;
      }
    }
    while (shared < sharedMax && source[start + shared] === last[lastStart + shared]) shared++;
    const lastPlaces = this.#lastPlaces;
    if (shared === lastSize && shared === end - start && (!isWhole || lastPlaces[index]! >= 0)) {
      out.byte(SAME);
      this.#places[index] = lastPlaces[index]!;
      return;
    }
    if (isWhole) shared = 0;
    out.byte(TEXT + shared);
    appendSize(out, end - start - shared);
    this.#places[index] = lastPlaces[index] = shared === 0 ? out.length : -1;
    out.part(source, start + shared, end);
    this.#lastState[index] = state;
    this.#lastStarts[index] = start;
    this.#lastEnds[index] = end;
  }

  #packDouble(index: number, out: ByteWriter): void {
    this.#double.writeDoubleLE(this.#doubles[index] as number, 0);
    out.byte(DOUBLE);
    out.put(this.#double);
    this.#lastEnds[index] = this.#lastStarts[index] as number;
    this.#lastPlaces[index] = -1;
  }

  /** Reads the value at `at`: the place behind it, or -1. */
  #value(field: Field, index: number, bytes: Buffer, at: number): number {
    if (bytes[at] === NULL[0]) return field.nullable ? literalEnd(NULL, bytes, at) : -1;
    switch (field.kind) {
      case 'string':
        return this.#string(index, bytes, at);
      case 'time': {
        const end = this.#string(index, bytes, at);
        if (end < 0 || this.#state[index] !== IN_PAYLOAD) return -1;
        return strictTimeAt(bytes, at + 1, end - 1) === null ? -1 : end;
      }
      case 'boolean':
        return booleanEnd(bytes, at);
      case 'integer':
        return integerEnd(bytes, at);
      case 'number':
        return this.#number(index, bytes, at);
      case 'any':
        return this.#any(index, bytes, at);
      case 'list':
        return this.#list(field, index, bytes, at);
      default:
        return -1;
    }
  }

  #string(index: number, bytes: Buffer, at: number): number {
    const end = stringEnd(bytes, this.#words, at);
    return end >= 0 ? end : this.#over(index, bytes, at, escapedStringEnd(bytes, at));
  }

  #number(index: number, bytes: Buffer, at: number): number {
    const integer = integerEnd(bytes, at);
    if (integer >= 0) return integer;
    const end = decimalEnd(bytes, at);
    if (end < 0) return this.#over(index, bytes, at, numberEnd(bytes, at));
    const value = doubleOf(bytes, at, end);
    // Integral ones are spelt as doubles, which the other way knows.
    if (Number.isInteger(value)) return this.#over(index, bytes, at, end);
    this.#state[index] = IS_DOUBLE;
    this.#doubles[index] = value;
    return end;
  }

  #any(index: number, bytes: Buffer, at: number): number {
    const code = bytes[at] as number;
    if (code === QUOTE) return this.#string(index, bytes, at);
    if (code === MINUS || (code >= ZERO && code <= NINE)) return this.#number(index, bytes, at);
    if (code === OPEN_BRACE || code === OPEN_BRACKET) return this.#over(index, bytes, at, containerEnd(bytes, at));
    return booleanEnd(bytes, at);
  }

  #list(field: Field, index: number, bytes: Buffer, at: number): number {
    const made = this.#made;
    const start = made.length;
    if (field.maps !== null) {
      field.maps.beginInside();
      const end = readMaps(field.maps, bytes, at, made);
      this.#madeFrom(index, start);
      return end;
    }
    return field.of === 'string' ? stringsEnd(bytes, this.#words, at) : -1;
  }

  /** The value between these places by way of values. */
  #over(index: number, bytes: Buffer, start: number, end: number): number {
    if (end < 0) return -1;
    try {
      this.#make(index, storedText(parseJsonDocument(bytes.toString('utf8', start, end)), this.#depth + 1));
      return end;
    } catch (error) {
      if (error instanceof JsonError) return -1;
      throw error;
    }
  }

  #make(index: number, text: string): void {
    const start = this.#made.length;
    this.#made.text(text);
    this.#madeFrom(index, start);
  }

  #madeFrom(index: number, start: number): void {
    this.#state[index] = IN_MADE;
    this.#starts[index] = start;
    this.#ends[index] = this.#made.length;
  }
}

const NOTHING = Buffer.alloc(0);
const NO_WORDS: DataView = new DataView(NOTHING.buffer, 0, 0);
const NULL = bytesOf('null');
const TRUE = bytesOf('true');
const FALSE = bytesOf('false');

function isAt(token: Uint8Array, bytes: Buffer, at: number): boolean {
  for (let index = 0; index < token.length; index++) if (bytes[at + index] !== token[index]) return false;
  return true;
}

const isKeyAt = ({ key, keySize }: Field, source: DataView, at: number, size: number): boolean =>
  at + keySize <= size && isSameAt(key, 0, source, at, keySize);

const literalEnd = (token: Uint8Array, bytes: Buffer, at: number): number =>
  isAt(token, bytes, at) ? at + token.length : -1;

const booleanEnd = (bytes: Buffer, at: number): number => literalEnd(bytes[at] === TRUE[0] ? TRUE : FALSE, bytes, at);

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === BLANK) at++;
  return at;
}

/** What stands behind the backslash of an escape that is stored as it stands. */
const SHORT_ESCAPES = new Uint8Array(256);
for (const letter of Buffer.from('"\\\\bfnrt')) SHORT_ESCAPES[letter] = 1;

/** Behind a string that is stored as it stands; -1 also for one with other escapes than those. `words`: the same bytes. */
function stringEnd(bytes: Buffer, words: DataView, start: number): number {
  if (bytes[start] !== QUOTE) return -1;
  const size = bytes.length;
  for (let at = start + 1; ; at++) {
    while (at + 4 <= size && !hasStop(words.getInt32(at, true))) at += 4;
    while (at < size && STOPS[bytes[at]!] === 0) at++;
    const code = bytes[at];
    if (code === QUOTE) return at - start > STRING_MAX ? -1 : at + 1;
    if (code !== BACKSLASH || SHORT_ESCAPES[bytes[++at] as number] !== 1) return -1;
  }
}

/** Behind a string with escapes; none of them names half a pair of characters by number. */
function escapedStringEnd(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE) return -1;
  for (let at = start + 1; ; at++) {
    const code = bytes[at];
    if (code === QUOTE) return at - start > STRING_MAX ? -1 : at + 1;
    if (code === undefined || code < BLANK) return -1;
    if (code === BACKSLASH && bytes[++at] === LETTER_U && ((bytes[at + 1] as number) | BLANK) === LETTER_D) return -1;
  }
}

/** Behind a list of strings that is stored as it stands. */
function stringsEnd(bytes: Buffer, words: DataView, start: number): number {
  if (bytes[start] !== OPEN_BRACKET) return -1;
  if (bytes[start + 1] === CLOSE_BRACKET) return start + 2;
  for (let at = start + 1; ; at++) {
    at = stringEnd(bytes, words, at);
    if (at < 0) return -1;
    if (bytes[at] === CLOSE_BRACKET) return at + 1;
    if (bytes[at] !== COMMA) return -1;
  }
}

/** Behind a list or map, by its brackets. */
function containerEnd(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    const code = bytes[at];
    if (code === undefined) return -1;
    if (code === QUOTE) {
      const end = escapedStringEnd(bytes, at);
      if (end < 0) return -1;
      at = end - 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at + 1;
  }
}

const isDigit = (code: number | undefined): boolean => code !== undefined && code >= ZERO && code <= NINE;

/** Behind the digits of a number without leading zero; -1 when they are too many, or none. */
function digitsEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at++;
  const count = at - start;
  return count === 0 || count > DIGITS_MAX || (count > 1 && bytes[start] === ZERO) ? -1 : at;
}

/** Behind an integer that is stored as it stands. */
function integerEnd(bytes: Buffer, start: number): number {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  const end = digitsEnd(bytes, first);
  if (end < 0 || (isNegative && bytes[first] === ZERO)) return -1;
  return bytes[end] === DOT || ((bytes[end] as number) | BLANK) === LETTER_E ? -1 : end;
}

/** Behind what looks like a number. */
function numberEnd(bytes: Buffer, start: number): number {
  let at = start;
  for (let code = bytes[at]; isDigit(code) || isNumberMark(code); code = bytes[++at]);
  return at === start ? -1 : at;
}

const isNumberMark = (code: number | undefined): boolean =>
  code === MINUS || code === PLUS || code === DOT || ((code as number) | BLANK) === LETTER_E;

/** Behind a number with a point and without an exponent. */
function decimalEnd(bytes: Buffer, start: number): number {
  const point = digitsEnd(bytes, bytes[start] === MINUS ? start + 1 : start);
  if (point < 0 || bytes[point] !== DOT) return -1;
  let end = point + 1;
  while (isDigit(bytes[end])) end++;
  if (end === point + 1 || end - start > 40) return -1;
  return ((bytes[end] as number) | BLANK) === LETTER_E ? -1 : end;
}
