// JSON that clients send in queries and bodies, and what they read when it is none: the place, the line with a caret, and
// a reason in the words of the JSON library PuppetDB uses (spec/query.md 7.2). Columns follow that library's read position:
// behind the offending character or word, one past the end for a text that stops too early.

import { printRead } from '../../clojure.ts';
import { JSON_LIMITS, JsonError, type JsonLimits, parseJson, parseJsonPrefix } from '../../json/parse.ts';
import type { JsonValue } from '../../json/value.ts';
import { badQuery, type QueryError } from '../errors.ts';

const grouped = new Intl.NumberFormat('en-US');

/** Depth is checked where the tree is; the parser itself stops before its stack does. */
const limits = (depthMax: number): JsonLimits => ({ ...JSON_LIMITS, depth: Math.max(depthMax, JSON_LIMITS.depth) });

/**
 * The one query of a text; undefined for a blank text. Throws QueryError 400 for malformed JSON (`Json parse error at ...`)
 * and for more than one value (`Only one query may be sent in a request. ...`).
 */
export function parseJsonQuery(text: string, depthMax: number): JsonValue | undefined {
  const values: JsonValue[] = [];
  try {
    for (let at = skipWhite(text, 0); at < text.length; ) {
      const { value, end } = parseJsonPrefix(text, at, limits(depthMax));
      values.push(value);
      at = skipWhite(text, end);
    }
  } catch (error) {
    throw error instanceof JsonError ? jsonFailure(text, error) : error;
  }
  if (values.length > 1) {
    const [first = null, ...others] = values;
    throw badQuery(
      `Only one query may be sent in a request. Found JSON (${others.map(printRead).join(' ')}) after the query ` +
        `${first === null ? 'null' : printRead(first)}`,
    );
  }
  return values[0];
}

/** The first JSON value of a body; undefined for a blank one. What follows the value is ignored. */
export function parseJsonBody(text: string, depthMax: number): JsonValue | undefined {
  if (skipWhite(text, 0) >= text.length) return undefined;
  try {
    return parseJson(text, limits(depthMax));
  } catch (error) {
    throw error instanceof JsonError ? jsonFailure(text, error) : error;
  }
}

/** Other control characters are an error of the parser's. */
const WHITE = new Set([' ', '\t', '\n', '\r']);

function skipWhite(text: string, start: number): number {
  let at = start;
  while (WHITE.has(text.charAt(at))) at++;
  return at;
}

/** The 400 for a text that is not JSON. */
function jsonFailure(text: string, error: JsonError): QueryError {
  const offset = readPosition(error);
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    lineStart = at + 1;
  }
  const column = offset - lineStart + 1;
  const end = text.indexOf('\n', lineStart);
  const shown = text.slice(lineStart, end < 0 ? text.length : end).replace(/\r$/, '');
  return badQuery(
    `Json parse error at line ${grouped.format(line)}, column ${grouped.format(column)}:\n\n` +
      `${shown}\n${' '.repeat(Math.max(column - 2, 0))}^\n\n${reason(text, error)}`,
  );
}

/** How far the library has read when it gives up. */
function readPosition(error: JsonError): number {
  switch (error.problem) {
    case 'unexpected-character':
    case 'bad-escape':
    case 'bad-number':
      return error.offset + 1;
    case 'unknown-token':
      return error.offset + error.found.length;
    default:
      return error.offset;
  }
}

const VALUE = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')";

function reason(text: string, error: JsonError): string {
  const { problem, expected, container, found } = error;
  const kind = container?.kind === 'object' ? 'Object' : 'Array';
  const character = `Unexpected character (${described(found)})`;
  switch (problem) {
    case 'end-of-input':
      if (expected === 'quote') return 'Unexpected end-of-input: was expecting closing quote for a string value';
      if (expected === 'key-quote') return 'Unexpected end-of-input in field name';
      if (expected === 'escape') return 'Unexpected end-of-input in character escape sequence';
      if (container === null) return 'Unexpected end-of-input';
      if (IN_ENTRY.has(expected)) return `Unexpected end-of-input within/between ${kind} entries`;
      return `Unexpected end-of-input: expected close marker for ${kind} (start marker at ${source(text, container)})`;
    case 'unknown-token':
      if (NON_NUMERIC.has(found)) {
        return `Non-standard token '${found}': enable JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS to allow`;
      }
      return `Unrecognized token '${found}': was expecting ${VALUE}`;
    case 'bad-number':
      if (found === '0') return 'Invalid numeric value: Leading zeroes not allowed';
      return `${character} in numeric value: digit expected`;
    case 'bad-escape':
      if (text.charAt(error.offset - 1) === '\\') {
        return `Unrecognized character escape ${described(found)}`;
      }
      return `${character}: expected a hex-digit for character escape sequence`;
    case 'unexpected-character':
      if (found < ' ') {
        return `Illegal character (${described(found)}): only regular white space (\\r, \\n, \\t) is allowed between tokens`;
      }
      if ((found === ']' || found === '}') && (container === null || MAY_CLOSE.has(expected))) {
        const wanted = found === ']' ? '}' : ']';
        const where = `${container === null ? 'root' : kind} starting at ${source(text, container)}`;
        return `Unexpected close marker '${found}': expected '${wanted}' (for ${where})`;
      }
      if (found === '}' && expected === 'value') return `${character}: expected a value`;
      return `${character}: ${WANTED[expected]?.(kind) ?? `expected a valid value ${VALUE}`}`;
    default:
      return error.message;
  }
}

/** What is open when a text ends behind a key, its colon, or a comma. */
const IN_ENTRY: ReadonlySet<JsonError['expected']> = new Set(['colon', 'value', 'key']);

/** Where what is open may end. */
const MAY_CLOSE: ReadonlySet<JsonError['expected']> = new Set(['comma-or-close', 'key-or-close', 'value-or-close']);

/** One unit of a text: what is beyond 16 bits is met half by half, and a half is shown as a question mark. */
function described(found: string): string {
  const code = found.charCodeAt(0);
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return `(CTRL-CHAR, code ${code})`;
  const shown = code >= 0xd800 && code <= 0xdfff ? '?' : found;
  return `'${shown}' (code ${code}${code > 0xff ? ` / 0x${code.toString(16)}` : ''})`;
}

const NON_NUMERIC = new Set(['NaN', 'Infinity', 'INF']);

const WANTED: Partial<Record<JsonError['expected'], (kind: string) => string>> = {
  'comma-or-close': (kind) => `was expecting comma to separate ${kind} entries`,
  colon: () => 'was expecting a colon to separate field name and value',
  key: () => 'was expecting double-quote to start field name',
  'key-or-close': () => 'was expecting double-quote to start field name',
};

/** Where a list or object begins, or for null the text. */
function source(text: string, container: JsonError['container']): string {
  if (container === null) return '[Source: (StringReader); line: 1, column: 0]';
  const before = text.slice(0, container.offset);
  const column = container.offset - before.lastIndexOf('\n');
  return `[Source: (StringReader); line: ${before.split('\n').length}, column: ${column}]`;
}
