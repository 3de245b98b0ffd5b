// The indented form of JSON answers (query document 1.4): two spaces per object level, ` : ` between key and value, arrays
// on one line with inner spaces, objects of an array on its bracket line. Works on text, token by token, so numbers keep
// their spelling; the input must be JSON.

import { printJson } from './print.ts';
import type { JsonValue } from './value.ts';

/** Pretty form of a value. */
export function prettyJson(value: JsonValue): string {
  return prettyText(printJson(value));
}

/**
 * Pretty form of a JSON text. `level` is the number of objects that already enclose it, for pretty printing a part of a
 * larger answer. Linear in the length of the text.
 */
export function prettyText(text: string, level = 0): string {
  let out = '';
  let depth = level;
  // One entry per open container: true for an object.
  const objects: boolean[] = [];
  let at = 0;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    switch (unit) {
      case 0x22: {
        const end = endOfString(text, at);
        out += text.slice(at, end);
        at = end;
        break;
      }
      case 0x7b:
      case 0x5b: {
        const isObject = unit === 0x7b;
        const next = skipWhite(text, at + 1);
        const closing = text.charCodeAt(next);
        if (closing === 0x7d || closing === 0x5d) {
          out += isObject ? '{ }' : '[ ]';
          at = next + 1;
          break;
        }
        objects.push(isObject);
        if (isObject) depth++;
        out += isObject ? `{\n${'  '.repeat(depth)}` : '[ ';
        at = next;
        break;
      }
      case 0x7d:
      case 0x5d:
        objects.pop();
        if (unit === 0x7d) depth--;
        out += unit === 0x7d ? `\n${'  '.repeat(depth)}}` : ' ]';
        at++;
        break;
      case 0x2c:
        out += objects[objects.length - 1] === true ? `,\n${'  '.repeat(depth)}` : ', ';
        at++;
        break;
      case 0x3a:
        out += ' : ';
        at++;
        break;
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        at++;
        break;
      default: {
        const end = endOfWord(text, at);
        out += text.slice(at, end);
        at = end;
      }
    }
  }
  return out;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) return at + 1;
    at += unit === 0x5c ? 2 : 1;
  }
  return text.length;
}

// A number or a bare word ends where punctuation, white space or the text does.
function endOfWord(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit <= 0x20 || unit === 0x2c || unit === 0x5d || unit === 0x7d || unit === 0x3a) break;
    at++;
  }
  return at;
}

function skipWhite(text: string, start: number): number {
  let at = start;
  let unit = text.charCodeAt(at);
  while (unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d) unit = text.charCodeAt(++at);
  return at;
}
