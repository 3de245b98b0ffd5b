// JSON that clients send in queries, parameters and bodies, and what they read when it is none: the place, the line with a caret, and
// a reason in the words of the JSON library PuppetDB uses (spec/query.md 7.2). Columns follow that library's read position:
// behind the offending character or word, one past the end for a text that stops too early. It counts lines between values only, not
// those that a text holds as they are, and has not read all of a number yet when it finds it to be wrong.

import { printAlone, printRead } from '../clojure.ts';
import {
  JSON_LIMITS,
  JsonError,
  type JsonLimits,
  type JsonProblem,
  parseJson,
  parseJsonPrefix,
} from '../json/parse.ts';
import { isNumber, type JsonValue } from '../json/value.ts';
import { badQuery, type QueryError } from './errors.ts';

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
      if (isNumber(value)) checkSeparated(text, end);
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
        `${first === null || typeof first === 'string' ? printAlone(first) : printRead(first)}`,
    );
  }
  return values[0];
}

/** Where a number that stands by itself ends is only told by what follows it. */
function checkSeparated(text: string, end: number): void {
  if (end >= text.length || WHITE.has(text.charAt(end))) return;
  const at = { offset: end, expected: 'end', found: text.charAt(end), container: null } as const;
  throw new JsonError('unexpected-character', 'no space behind a number', at);
}

/** The first JSON value of a body; undefined for a blank one. What follows the value is ignored. */
export const parseJsonBody = (text: string, depthMax: number): JsonValue | undefined =>
  firstValue(text, depthMax, jsonFailure);

/** As `parseJsonBody`, where PuppetDB passes on what its JSON library says: of some parameters, and of texts in PQL. */
export const parseJsonValue = (text: string, depthMax: number): JsonValue | undefined =>
  firstValue(text, depthMax, (_, error) => {
    const { line, column, reason } = faultOf(text, error);
    return badQuery(`${reason}\n at [Source: (StringReader); line: ${line}, column: ${column}]`);
  });

function firstValue(
  text: string,
  depthMax: number,
  failure: (text: string, error: JsonError) => QueryError,
): JsonValue | undefined {
  if (skipWhite(text, 0) >= text.length) return undefined;
  try {
    return parseJson(text, limits(depthMax));
  } catch (error) {
    throw error instanceof JsonError ? failure(text, error) : error;
  }
}

/** Other control characters are an error of the parser's. */
const WHITE = new Set([' ', '\t', '\n', '\r']);

function skipWhite(text: string, start: number): number {
  let at = start;
  while (WHITE.has(text.charAt(at))) at++;
  return at;
}

/** Of these bounds it is no help to be shown the text, which may be megabytes. */
const BEYOND_BOUNDS: ReadonlySet<JsonProblem> = new Set([
  'too-deep',
  'string-too-long',
  'number-too-long',
  'too-many-values',
]);

/** The 400 for a text that is not JSON. */
function jsonFailure(text: string, error: JsonError): QueryError {
  const { line, column, reason } = faultOf(text, error);
  if (BEYOND_BOUNDS.has(error.problem))
    return badQuery(`Json parse error at line ${grouped.format(line)}, column ${grouped.format(column)}: ${reason}`);
  const shown = text.split('\n')[line - 1]?.replace(/\r$/, '') ?? '';
  return badQuery(
    `Json parse error at line ${grouped.format(line)}, column ${grouped.format(column)}:\n\n` +
      `${shown}\n${' '.repeat(Math.max(column - 2, 0))}^\n\n${reason}`,
  );
}

/** What is wrong with a text, and where. */
function faultOf(text: string, error: JsonError): { line: number; column: number; reason: string } {
  const { read, reason } = numberFault(text, error) ?? { read: readPosition(error), reason: reasonOf(text, error) };
  return { ...placeOf(text, read, Math.min(read, error.offset)), reason };
}

/** Line and column of an offset, both from 1. Line ends count up to `end`, where they are not in a string. */
function placeOf(text: string, offset: number, end: number): { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  let inString = false;
  for (let at = 0; at < end; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) inString = !inString;
    else if (unit === 0x5c && inString) at++;
    else if (unit === 0x0a && !inString) {
      line++;
      lineStart = at + 1;
    }
  }
  return { line, column: offset - lineStart + 1 };
}

interface Fault {
  /** How far the library has read when it gives up. */
  readonly read: number;
  readonly reason: string;
}

/** What is wrong with the digits of a number, or with its sign; null for everything else. */
function numberFault(text: string, { problem, expected, found, offset }: JsonError): Fault | null {
  if (problem === 'number-too-long') return null;
  const character = `Unexpected character (${described(found)})`;
  switch (expected) {
    case 'digit':
      return found === '0' ? null : signFault(text, offset);
    case 'value':
    case 'value-or-close':
      return found === '+' ? signFault(text, offset + 1) : null;
    case 'fraction-digit': {
      const reason = 'in numeric value: Decimal point not followed by a digit';
      if (found === '') return { read: offset, reason: `Unexpected character (${described('.')}) ${reason}` };
      return { read: readOfNumber(text, offset), reason: `${character} ${reason}` };
    }
    case 'exponent-digit':
      if (found === '') return { read: offset, reason: 'Unexpected end-of-inputexpected a digit for number exponent' };
      return {
        read: readOfNumber(text, offset),
        reason: `${character} in numeric value: Exponent indicator not followed by a digit`,
      };
    default:
      return null;
  }
}

/** The words that would be numbers, were they allowed, begin like this. */
const SIGNED_WORD = /[-+]I\w+/y;

/** No digit at `offset`, behind a sign. */
function signFault(text: string, offset: number): Fault {
  SIGNED_WORD.lastIndex = offset - 1;
  const [word] = SIGNED_WORD.exec(text) ?? [];
  if (word !== undefined) return { read: offset - 1 + Math.min(word.length, WORD_MAX), reason: unknownToken(word) };
  const isPlus = text.charAt(offset - 1) === '+';
  if (offset >= text.length) {
    const missing = isPlus ? ' in a Number value' : 'No digit following minus sign';
    return { read: offset, reason: `Unexpected end-of-input${missing}` };
  }
  const character = `Unexpected character (${described(text.charAt(isPlus ? offset - 1 : offset))})`;
  const read = offset + 1;
  if (isPlus) {
    return {
      read,
      reason:
        `${character} in numeric value: JSON spec does not allow numbers to have plus signs: ` +
        'enable `JsonReadFeature.ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS` to allow',
    };
  }
  if (text.charAt(offset) === '.') return { read, reason: `${character}: expected a valid value ${VALUE}` };
  return {
    read,
    reason: `${character} in numeric value: expected digit (0-9) to follow minus sign, for valid numeric value`,
  };
}

/** How far a number with a bad character at `offset` has been read: in one piece, behind its integer, unless that is 0. */
function readOfNumber(text: string, offset: number): number {
  let start = offset;
  while (start > 0 && isOfNumber(text.charAt(start - 1))) start--;
  if (text.charAt(start) === '-') start++;
  if (text.charAt(start) === '0') return offset + 1;
  let end = start;
  while (isDigit(text.charAt(end))) end++;
  return end + 1;
}

const isDigit = (character: string): boolean => character >= '0' && character <= '9';
const isOfNumber = (character: string): boolean => isDigit(character) || '-+.eE'.includes(character);

function readPosition(error: JsonError): number {
  switch (error.problem) {
    case 'unexpected-character':
    case 'bad-escape':
    case 'bad-number':
      return error.offset + 1;
    case 'unknown-token':
      return error.offset + Math.min(error.found.length, WORD_MAX);
    default:
      return error.offset;
  }
}

const VALUE = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')";

function reasonOf(text: string, error: JsonError): string {
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
      return unknownToken(found);
    case 'bad-number':
      return 'Invalid numeric value: Leading zeroes not allowed';
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
      if (found === '/' && expected !== 'end') return `${character}: ${COMMENT}`;
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

const COMMENT =
  "maybe a (non-standard) comment? (not recognized as one since Feature 'ALLOW_COMMENTS' not enabled for parser)";

const NON_NUMERIC = new Set(['NaN', 'Infinity', '-Infinity', '+Infinity', '-INF', '+INF']);

/** The library reads no more of a word. */
const WORD_MAX = 256;

function unknownToken(word: string): string {
  if (NON_NUMERIC.has(word)) {
    return `Non-standard token '${word}': enable \`JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS\` to allow`;
  }
  const shown = word.length < WORD_MAX ? word : `${word.slice(0, WORD_MAX)}...`;
  return `Unrecognized token '${shown}': was expecting ${VALUE}`;
}

const WANTED: Partial<Record<JsonError['expected'], (kind: string) => string>> = {
  end: () => 'Expected space separating root-level values',
  'comma-or-close': (kind) => `was expecting comma to separate ${kind} entries`,
  colon: () => 'was expecting a colon to separate field name and value',
  key: () => 'was expecting double-quote to start field name',
  'key-or-close': () => 'was expecting double-quote to start field name',
};

/** Where a list or object begins, or for null the text. */
function source(text: string, container: JsonError['container']): string {
  const { line, column } =
    container === null ? { line: 1, column: 0 } : placeOf(text, container.offset, container.offset);
  return `[Source: (StringReader); line: ${line}, column: ${column}]`;
}
