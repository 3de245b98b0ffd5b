// The indented form of JSON answers (spec/query.md 1.4): two spaces per object level, ` : ` between key and value, arrays
// on one line with inner spaces, objects of an array on its bracket line. Works on text, token by token, so numbers keep
// their spelling; the input must be JSON. All that matters is ASCII, so the text is looked at as UTF-8, as it goes out.

import { ByteWriter, wordsOf } from '../bytes.ts';
import { BACKSLASH, BLANK, CLOSE_LIST, CLOSE_MAP, COLON, COMMA, NEWLINE, OPEN_LIST, OPEN_MAP, QUOTE } from './ascii.ts';
import { printJson } from './print.ts';
import { hasStop, STOPS } from './stops.ts';
import type { JsonValue } from './value.ts';

/** Pretty form of a value. */
export function prettyJson(value: JsonValue): string {
  return prettyText(printJson(value));
}

/** Pretty form of a JSON text. Linear in the length of the text. */
export const prettyText = (text: string): string => written(text).toString();

/**
 * Pretty form of a value, as UTF-8, or its compact form where the pretty one has more than `max` bytes: what nests deeply is hundreds of times
 * as long.
 */
export function prettyBytes(value: JsonValue, max: number): Uint8Array {
  const source = Buffer.from(printJson(value), 'utf8');
  const out = new ByteWriter(Math.min(source.length * 2, max));
  return new PrettyText(source).write(out, max) && out.length <= max ? out.bytes.subarray(0, out.length) : source;
}

function written(text: string): ByteWriter {
  const out = new ByteWriter(text.length * 2);
  new PrettyText(Buffer.from(text, 'utf8')).write(out);
  return out;
}

/** By byte: 1 for what stands between tokens. */
const IS_PUNCTUATION = new Uint8Array(256);
for (const unit of [QUOTE, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP]) IS_PUNCTUATION[unit] = 1;

/** Of the text between two tokens, beside the indentation. */
const BETWEEN_MAX = 4;

/** Bytes of the text for which room is made at a time, where what is written is bounded. */
const PART = 16 << 10;
/** So that also what is somewhat more is a small integer. */
const NO_MAX = 2 ** 31 - 1 - PART;

/** The pretty form of a JSON text that is given as UTF-8, written in parts. */
export class PrettyText {
  readonly #source: Uint8Array;
  readonly #end: number;
  #at: number;
  #depth = 0;
  /** One entry per open container: true for an object. */
  readonly #objects: boolean[] = [];
  #inObject = false;
  /** The last part ended in the middle of one. */
  #inString = false;

  /** The text that lies from `start` to `end`. */
  constructor(source: Uint8Array, start = 0, end = source.length) {
    this.#source = source;
    this.#end = end;
    this.#at = start;
  }

  /**
   * Appends what comes next. True when that is all of it; false when `out` has `max` bytes or somewhat more. One loop without calls: it is
   * compiled while the first long document passes through it.
   */
  write(out: ByteWriter, max = NO_MAX): boolean {
    const source = this.#source;
    const end = this.#end;
    const objects = this.#objects;
    let at = this.#at;
    let depth = this.#depth;
    let inObject = this.#inObject;
    let inString = this.#inString;
    const part = max === NO_MAX ? end : PART;
    let until = at;
    let { bytes } = out;
    let bound = Math.min(bytes.length, max + PART);
    let words = wordsOf(bytes);
    const sourceWords = wordsOf(source);
    let word = 0;
    let to = out.length;
    text: while (at < end) {
      if (at >= until) until = Math.min(end, at + part);
      // What is left of the part fits as it is, so that tokens are copied while they are read.
      const room = until - at + BETWEEN_MAX + depth * 2;
      if (to + room > bound) {
        out.length = to;
        if (to >= max) {
          this.#at = at;
          this.#depth = depth;
          this.#inObject = inObject;
          this.#inString = inString;
          return false;
        }
        if (to + room > bytes.length) {
          bytes = out.room(room);
          words = wordsOf(bytes);
          bound = Math.min(bytes.length, max + PART);
        }
      }
      let unit = source[at]!;
      if (inString || unit === QUOTE) {
        if (!inString) {
          bytes[to++] = QUOTE;
          at++;
        }
        while (at < until) {
          for (; at + 4 <= until && !hasStop((word = sourceWords.getInt32(at, true))); at += 4, to += 4) {
            words.setInt32(to, word, true);
          }
          while (at < until && STOPS[source[at]!] === 0) bytes[to++] = source[at++]!;
          if (at === until) break;
          unit = source[at++]!;
          bytes[to++] = unit;
          if (unit === QUOTE) {
            inString = false;
            continue text;
          }
          if (unit === BACKSLASH && at < end) bytes[to++] = source[at++]!;
        }
        // It goes on in the next part.
        inString = true;
        continue;
      }
      at++;
      if (unit > BLANK && !IS_PUNCTUATION[unit]) {
        // A number or a bare word ends where punctuation, white space or the text does; what is left of it at the end of a part is as good as
        // another one.
        bytes[to++] = unit;
        for (; at < until && (unit = source[at]!) > BLANK && !IS_PUNCTUATION[unit]; at++) bytes[to++] = unit;
        continue;
      }
      let indent = -1;
      switch (unit) {
        case OPEN_MAP:
        case OPEN_LIST: {
          while (at < end && source[at]! <= BLANK) at++;
          const closing = source[at];
          bytes[to++] = unit;
          if (closing === CLOSE_MAP || closing === CLOSE_LIST) {
            bytes[to++] = BLANK;
            bytes[to++] = closing;
            at++;
            break;
          }
          objects.push(inObject);
          inObject = unit === OPEN_MAP;
          if (inObject) indent = ++depth;
          else bytes[to++] = BLANK;
          break;
        }
        case CLOSE_MAP:
        case CLOSE_LIST: {
          inObject = objects.pop() === true;
          if (unit === CLOSE_MAP) {
            depth--;
            bytes[to++] = NEWLINE;
            for (let i = 0; i < depth; i++) {
              bytes[to++] = BLANK;
              bytes[to++] = BLANK;
            }
          } else bytes[to++] = BLANK;
          bytes[to++] = unit;
          break;
        }
        case COMMA:
          bytes[to++] = COMMA;
          if (inObject) indent = depth;
          else bytes[to++] = BLANK;
          break;
        case COLON:
          bytes[to++] = BLANK;
          bytes[to++] = COLON;
          bytes[to++] = BLANK;
          break;
      }
      if (indent < 0) continue;
      bytes[to++] = NEWLINE;
      for (let i = 0; i < indent; i++) {
        bytes[to++] = BLANK;
        bytes[to++] = BLANK;
      }
    }
    this.#at = at;
    out.length = to;
    return true;
  }
}
