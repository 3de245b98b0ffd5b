// Elements of large lists by their text. Catalogs of a role, and runs of a node, repeat most of their resources, edges, facts
// and packages to the byte; an element seen before needs no parse, no canonical text and no check.
//
// Where an element ends is found by a scan for brackets and quotes, which does not judge: what it cuts wrongly (the text is no
// JSON) fails to parse as an element, or was never remembered, and the caller falls back to parsing the whole.

import { JSON_LIMITS, JsonError, type JsonLimits, parseJsonDocument } from '../json/parse.ts';
import type { JsonValue } from '../json/value.ts';
import { Sighted } from './sighted.ts';

/** What an element's text says. */
export interface ReadElement<T> {
  readonly value: T;
  /** What remembering the value takes beside the text, in bytes; 0: it is not to be remembered. */
  readonly bytes: number;
}

/** `isKept`: the value may be remembered. Null: the text is no element. */
export type ElementReader<T> = (element: string, isKept: boolean) => ReadElement<T> | null;

/** What is known of an element elsewhere; null: nothing. */
type Recall<T> = ((element: string) => T | null) | null;

/** Where a list has been read up to. */
interface Walk<T> {
  readonly values: T[];
  before: Entry<T> | null;
  expected: Entry<T> | null;
  /** Behind something new the list may go on as expected, or with what would have come one further. */
  further: Entry<T> | null;
}

interface Entry<T> {
  readonly text: string;
  readonly value: T;
  readonly bytes: number;
  /** When it was last used. */
  generation: number;
  /** What came behind it the last time it was there. */
  next: Entry<T> | null;
}

/**
 * Values of elements by their text, the least recently used half dropped when what they take exceeds a number of bytes.
 *
 * Lists of one role repeat not only elements but their order, so an element remembers what came behind it: where the text
 * goes on with that, one comparison finds the element, without a scan for its end and without hashing its text.
 *
 * An element is remembered when it comes for the second time: a part of every list is of one node only, and would take the
 * place of what others have in common.
 */
export class ElementMemo<T> {
  readonly #bytesMax: number;
  readonly #sighted: Sighted;
  readonly #head: Entry<T>;
  #young = new Map<string, Entry<T>>();
  #old = new Map<string, Entry<T>>();
  #generation = 1;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#sighted = new Sighted(bytesMax / SIGHTED_PER_BYTES);
    this.#head = { text: '', value: undefined as T, bytes: 0, generation: 0, next: null };
  }

  /**
   * The values of the elements of a JSON list or map (given with its brackets). `read` is asked for elements that are not
   * remembered, and told whether they may be: only then their text is in memory of its own. Null when the text has not that
   * form, or when `read` gives null. `recall` is asked before: what it knows (null: nothing) never is remembered.
   */
  values(text: string, read: ElementReader<T>, recall: Recall<T> = null): T[] | null {
    const last = text.length - 1;
    const open = text.charCodeAt(0);
    if (last < 1 || text.charCodeAt(last) !== open + 2) return null;
    const walk = this.#begin();
    const first = skipBlanks(text, 1, last);
    return first === last || this.#walk(walk, text, first, last, read, recall) ? walk.values : null;
  }

  /** The same of a list in pieces, each of which has some of the elements with commas between them; one alone may have none. */
  valuesOf(pieces: readonly string[], read: ElementReader<T>, recall: Recall<T> = null): T[] | null {
    const walk = this.#begin();
    for (const piece of pieces) {
      const first = skipBlanks(piece, 0, piece.length);
      if (first === piece.length && pieces.length === 1) break;
      if (!this.#walk(walk, piece, first, piece.length, read, recall)) return null;
    }
    return walk.values;
  }

  #begin(): Walk<T> {
    return { values: [], before: this.#head, expected: this.#head.next, further: null };
  }

  /** Reads the elements from `first` up to `last`. */
  #walk(walk: Walk<T>, text: string, first: number, last: number, read: ElementReader<T>, recall: Recall<T>): boolean {
    const { values } = walk;
    let { before, expected, further } = walk;
    for (let at = first; ; ) {
      let entry: Entry<T> | null = null;
      if (further !== null && this.#isHere(further, text, at, last)) entry = further;
      else if (expected !== null && this.#isHere(expected, text, at, last)) entry = expected;
      let end: number;
      if (entry !== null) {
        end = at + entry.text.length;
        if (entry.generation !== this.#generation) this.#keep(entry);
        values.push(entry.value);
        expected = entry.next;
        further = null;
      } else {
        end = elementEnd(text, at, last);
        const element = text.slice(at, end).trimEnd();
        if (element === '') return false;
        const recalled = recall === null ? null : recall(element);
        entry = recalled === null ? this.#find(element) : null;
        if (entry !== null) {
          values.push(entry.value);
          if (before !== null) before.next = entry;
          expected = entry.next;
          further = null;
        } else {
          if (recalled !== null) values.push(recalled);
          else {
            const isKept = this.#sighted.again(element);
            const own = isKept ? ownText(element) : element;
            const made = read(own, isKept);
            if (made === null) return false;
            values.push(made.value);
            entry = isKept && made.bytes > 0 ? this.#add(own, made) : null;
            if (before !== null && entry !== null) before.next ??= entry;
          }
          further = (further ?? expected)?.next ?? null;
        }
      }
      before = entry;
      if (end >= last) break;
      at = skipBlanks(text, end + 1, last);
    }
    walk.before = before;
    walk.expected = expected;
    walk.further = further;
    return true;
  }

  #isHere(entry: Entry<T>, text: string, at: number, last: number): boolean {
    const end = at + entry.text.length;
    return (
      entry.generation >= this.#generation - 1 &&
      (end === last || (end < last && text.charCodeAt(end) === COMMA)) &&
      text.slice(at, end) === entry.text
    );
  }

  #find(element: string): Entry<T> | null {
    const young = this.#young.get(element);
    if (young !== undefined) return young;
    const old = this.#old.get(element);
    if (old === undefined) return null;
    this.#keep(old);
    return old;
  }

  #add(text: string, { value, bytes }: ReadElement<T>): Entry<T> {
    // A whole number: V8 keeps others in an object of their own.
    const taken = Math.ceil(bytes) + text.length + ENTRY_BYTES;
    const entry = { text, value, bytes: taken, generation: 0, next: null };
    this.#keep(entry);
    return entry;
  }

  #keep(entry: Entry<T>): void {
    this.#bytes += entry.bytes;
    if (this.#bytes > this.#bytesMax / 2) {
      // Those that go must not hold on to one another.
      for (const gone of this.#old.values()) if (gone.generation < this.#generation) gone.next = null;
      this.#old = this.#young;
      this.#young = new Map();
      this.#generation++;
      this.#bytes = entry.bytes;
    }
    entry.generation = this.#generation;
    this.#young.set(entry.text, entry);
  }
}

/** What an entry costs beside its text and value. */
const ENTRY_BYTES = 150;
/** About as many sighted texts as there can be entries. */
const SIGHTED_PER_BYTES = 1024;

/**
 * What V8 takes from the system each time, page by page, and gives back: strings beyond 128 KB. Of a list of 170 KB, taking it to
 * text and the certname out of it costs 350 microseconds as a whole and 90 in pieces.
 */
const PIECE_SIZE = 48 << 10;
/** So many bytes of the first element are what each begins with. */
const BEGINNING_SIZE = 8;

/**
 * The bytes of a list of maps, without its brackets and the commas at the cuts, in pieces of whole elements: a cut is where a map ends
 * and one follows that begins like the first. Where that is inside an element, what is cut is none, which whoever reads it finds.
 */
export function piecesOf(list: Buffer): Buffer[] {
  const last = list.length - 1;
  const cut = Buffer.concat([CUT, list.subarray(1, Math.min(1 + BEGINNING_SIZE, last))]);
  const pieces: Buffer[] = [];
  let from = 1;
  while (last - from > PIECE_SIZE * 2) {
    const at = list.indexOf(cut, from + PIECE_SIZE);
    if (at < 0) break;
    pieces.push(list.subarray(from, at + 1));
    from = at + CUT.length;
  }
  pieces.push(list.subarray(from, last));
  return pieces;
}
const CUT = Buffer.from('},');

/** The text in memory of its own: a slice keeps the whole payload it was cut from. */
const ownText = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');

/**
 * A text that was put together, as one piece: V8 keeps it as a tree of its parts, several times as large, until somebody reads it as
 * a whole. For what is remembered.
 */
export function inOnePiece(text: string): string {
  START.test(text);
  return text;
}
const START = /^/;

function skipBlanks(text: string, from: number, last: number): number {
  let at = from;
  while (at < last && text.charCodeAt(at) <= SPACE) at++;
  return at;
}

/** Where the element that begins at `from` ends: at its comma, or at `last` (also when brackets and quotes do not match). */
function elementEnd(text: string, from: number, last: number): number {
  let depth = 0;
  for (let i = from; i < last; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = stringEnd(text, i);
      if (i < 0) return last;
    } else if (code === COMMA) {
      if (depth === 0) return i;
    } else if ((code | 0x20) === OPEN_BRACE) depth++;
    else if ((code | 0x20) === CLOSE_BRACE) depth--;
  }
  return last;
}

/** Where the string that begins at `start` has its closing quote, -1 when it has none. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if ((slashes & 1) === 0) return at;
  }
  return -1;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SPACE = 0x20;
/** `{` and, with the case bit set, `[`; likewise for the closing ones. */
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Stands for the node's own certname as a whole string in texts that are compared between nodes. */
export const OWN_NAME = '"\u0001"';

/** The text with the certname, where it stands alone as a string, replaced; null when the mark occurs in the text itself. */
export function withoutOwnName(text: string, certname: string): string | null {
  if (text.includes('\u0001')) return null;
  // Of a catalog's hundreds of places, half the time of replaceAll.
  const parts = text.split(JSON.stringify(certname));
  return parts.length === 1 ? text : parts.join(OWN_NAME);
}

export const withOwnName = (text: string, certname: string): string =>
  text.replaceAll(OWN_NAME, JSON.stringify(certname));

/** Depth is bounded by those who walk the values, from the payload on. */
const ELEMENT_LIMITS: JsonLimits = { ...JSON_LIMITS, depth: Number.POSITIVE_INFINITY };

/** The value of one element's text; undefined when it is no JSON. */
export function parseElement(text: string): JsonValue | undefined {
  try {
    return parseJsonDocument(text, ELEMENT_LIMITS);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}
