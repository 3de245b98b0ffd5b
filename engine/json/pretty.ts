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

/** Pretty form of a value, as UTF-8, or its compact form where the pretty one has more than `max` bytes: what nests deeply is hundreds of times as long. */
export function prettyBytes(value: JsonValue, max: number): Uint8Array {
  const source = Buffer.from(printJson(value), 'utf8');
  const out = new ByteWriter(Math.min(source.length * 2, max));
  return writePretty(source, 0, source.length, out, max) ? out.bytes.subarray(0, out.length) : source;
}

function written(text: string): ByteWriter {
  const out = new ByteWriter(text.length * 2);
  const source = Buffer.from(text, 'utf8');
  writePretty(source, 0, source.length, out);
  return out;
}

/** By byte: 1 for what stands between tokens. */
const IS_PUNCTUATION = new Uint8Array(256);
for (const unit of [QUOTE, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP]) IS_PUNCTUATION[unit] = 1;

/** Of the text between two tokens, beside the indentation. */
const BETWEEN_MAX = 4;

/**
 * The same for UTF-8: appends the pretty form of the JSON text that lies from `start` to `end`. One loop without calls: it
 * is compiled while the first long document passes through it. False when `out` would become longer than `max`: then what was
 * appended is a part, or too long.
 */
export function writePretty(
  source: Uint8Array,
  start: number,
  end: number,
  out: ByteWriter,
  max = Number.POSITIVE_INFINITY,
): boolean {
  let depth = 0;
  // One entry per open container: true for an object.
  const objects: boolean[] = [];
  let inObject = false;
  let { bytes } = out;
  let words = wordsOf(bytes);
  const sourceWords = wordsOf(source);
  let word = 0;
  let to = out.length;
  let at = start;
  while (at < end) {
    // What is left fits as it is, so that tokens are copied while they are read.
    const room = end - at + BETWEEN_MAX + depth * 2;
    if (to + room > bytes.length) {
      out.length = to;
      if (to > max) return false;
      bytes = out.room(room);
      words = wordsOf(bytes);
    }
    let unit = source[at++]!;
    if (unit === QUOTE) {
      bytes[to++] = QUOTE;
      while (at < end) {
        for (; at + 4 <= end && !hasStop((word = sourceWords.getInt32(at, true))); at += 4, to += 4) {
          words.setInt32(to, word, true);
        }
        while (at < end && STOPS[source[at]!] === 0) bytes[to++] = source[at++]!;
        if (at === end) break;
        unit = source[at++]!;
        bytes[to++] = unit;
        if (unit === QUOTE) break;
        if (unit === BACKSLASH && at < end) bytes[to++] = source[at++]!;
      }
      continue;
    }
    if (unit > BLANK && !IS_PUNCTUATION[unit]) {
      // A number or a bare word ends where punctuation, white space or the text does.
      bytes[to++] = unit;
      for (; at < end && (unit = source[at]!) > BLANK && !IS_PUNCTUATION[unit]; at++) bytes[to++] = unit;
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
  out.length = to;
  return to <= max;
}
