// Elements of large lists by their text. Catalogs of a role, and runs of a node, repeat most of their resources, edges, facts
// and packages to the byte; an element seen before needs no parse, no canonical text and no check. A list's text is cut into
// its elements by one scan for brackets and quotes, each is looked up by its text, and only unknown ones are parsed.
//
// The scan does not judge: what it cuts wrongly (the text is no JSON) fails to parse as an element, or was never remembered,
// and the caller falls back to parsing the whole.

import { JSON_LIMITS, JsonError, type JsonLimits, parseJsonDocument } from '../json/parse.ts';
import type { JsonValue } from '../json/value.ts';

/** Calls `visit` for each element of a JSON list or map (with its brackets) and returns whether the text had that form. */
export function eachElement(text: string, visit: (start: number, end: number) => boolean): boolean {
  const last = text.length - 1;
  const open = text.charCodeAt(0);
  if (last < 1 || text.charCodeAt(last) !== open + 2) return false;
  if (text.slice(1, last).trim() === '') return true;
  let depth = 0;
  let start = 1;
  for (let i = 1; i < last; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      for (;;) {
        i = text.indexOf('"', i + 1);
        if (i < 0 || i >= last) return false;
        let slashes = 0;
        while (text.charCodeAt(i - 1 - slashes) === BACKSLASH) slashes++;
        if ((slashes & 1) === 0) break;
      }
    } else if (code === COMMA) {
      if (depth === 0) {
        if (!visitTrimmed(text, start, i, visit)) return false;
        start = i + 1;
      }
    } else if ((code | 0x20) === OPEN_BRACE) depth++;
    else if ((code | 0x20) === CLOSE_BRACE) {
      if (--depth < 0) return false;
    }
  }
  return depth === 0 && visitTrimmed(text, start, last, visit);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SPACE = 0x20;
/** `{` and, with the case bit set, `[`; likewise for the closing ones. */
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function visitTrimmed(text: string, from: number, to: number, visit: (start: number, end: number) => boolean): boolean {
  let start = from;
  let end = to;
  while (start < end && text.charCodeAt(start) <= SPACE) start++;
  while (end > start && text.charCodeAt(end - 1) <= SPACE) end--;
  return start < end && visit(start, end);
}

interface Entry<T> {
  readonly text: string;
  readonly value: T;
  readonly bytes: number;
}

/** Values by text, the least recently used half dropped when what they take exceeds a number of bytes. */
export class TextMemo<T> {
  readonly #bytesMax: number;
  #young = new Map<string, Entry<T>>();
  #old = new Map<string, Entry<T>>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(text: string): T | undefined {
    let entry = this.#young.get(text);
    if (entry !== undefined) return entry.value;
    entry = this.#old.get(text);
    if (entry === undefined) return undefined;
    this.#keep(entry);
    return entry.value;
  }

  /** `text` in memory of its own, `bytes`: what the value takes beside it. */
  set(text: string, value: T, bytes: number): void {
    this.#keep({ text, value, bytes: bytes + text.length + ENTRY_BYTES });
  }

  #keep(entry: Entry<T>): void {
    this.#bytes += entry.bytes;
    if (this.#bytes > this.#bytesMax / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = entry.bytes;
    }
    this.#young.set(entry.text, entry);
  }
}

/** What an entry costs beside its text and value. */
const ENTRY_BYTES = 150;

/** The text in memory of its own: a slice keeps the whole payload it was cut from. */
export const ownText = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');

/** Stands for the node's own certname as a whole string in texts that are compared between nodes. */
export const OWN_NAME = '"\u0001"';

/** The text with the certname, where it stands alone as a string, replaced; null when the mark occurs in the text itself. */
export function withoutOwnName(text: string, certname: string): string | null {
  if (text.includes('\u0001')) return null;
  return text.replaceAll(JSON.stringify(certname), OWN_NAME);
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
