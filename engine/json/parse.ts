// From JSON text to the value domain of value.ts, exactly (spec/commands.md 3.0.1): 1.0 is not 1, integers
// keep all digits, raw control characters inside strings are accepted, what follows the first value is ignored.
//
// JSON.parse does the work when one cheap search over the text shows that it would lose nothing. Otherwise, and whenever
// JSON.parse refuses, the parser below decides: it is the definition of what is accepted, and the only source of errors.

import { Float, type JsonValue, setMember } from './value.ts';

export interface JsonLimits {
  /** Deepest nesting of arrays and objects; Infinity leaves the check to whoever walks the value, up to what recursion allows. */
  readonly depth: number;
  /** UTF-16 units in one string. */
  readonly stringLength: number;
  /** Characters in one number. */
  readonly numberLength: number;
  /** Elements and members of all containers together. They are not counted in texts of up to `stringLength` units: half as many values fit. */
  readonly values: number;
}

export const JSON_LIMITS: JsonLimits = {
  depth: 1000,
  stringLength: 20_000_000,
  numberLength: 1000,
  values: 10_000_000,
};

/** What went wrong, for callers that phrase their own messages. */
export type JsonProblem =
  | 'end-of-input' // the text ends before the value does
  | 'unexpected-character' // `found` stands where `expected` should
  | 'unknown-token' // a word other than true, false, null: `found` is the word
  | 'bad-number' // digits missing, leading zero
  | 'bad-escape' // a backslash and something that is no escape
  | 'too-deep'
  | 'string-too-long'
  | 'number-too-long'
  | 'too-many-values'
  | 'text-too-long'; // of a value that is stored, not of what is read

type JsonExpected =
  | 'value'
  | 'value-or-close'
  | 'key'
  | 'key-or-close'
  | 'colon'
  | 'comma-or-close'
  | 'digit'
  | 'fraction-digit'
  | 'exponent-digit'
  | 'quote'
  | 'key-quote'
  | 'escape'
  | 'end';

/** A text that is not JSON. `offset` counts UTF-16 units from the start of the text; -1 when only the value is known. */
export class JsonError extends Error {
  readonly problem: JsonProblem;
  readonly offset: number;
  readonly expected: JsonExpected;
  /** The offending character or word; empty at the end of the text. */
  readonly found: string;
  /** Innermost open container and where it starts; null at top level. */
  readonly container: { readonly kind: 'array' | 'object'; readonly offset: number } | null;

  constructor(
    problem: JsonProblem,
    message: string,
    at: { offset: number; expected: JsonExpected; found: string; container: JsonError['container'] },
  ) {
    super(at.offset < 0 ? message : `${message} at offset ${at.offset}`);
    this.name = 'JsonError';
    this.problem = problem;
    this.offset = at.offset;
    this.expected = at.expected;
    this.found = at.found;
    this.container = at.container;
  }
}

/** An error that is about a value as a whole. */
export const valueError = (problem: JsonProblem, message: string): JsonError =>
  new JsonError(problem, message, { offset: -1, expected: 'value', found: '', container: null });

export const tooDeep = (): JsonError => valueError('too-deep', `nesting deeper than ${JSON_LIMITS.depth}`);

/**
 * The first JSON value of a text; the rest is ignored. `text` comes from decoded UTF-8 (or is otherwise well-formed).
 * Linear in the length of the text. Throws JsonError.
 */
export function parseJson(text: string, limits: JsonLimits = JSON_LIMITS): JsonValue {
  const plain = parsePlain(text, limits);
  return plain === undefined ? new ExactParser(text, 0, limits).value() : plain;
}

/** Like `parseJson`, but nothing except white space may follow the value. */
export function parseJsonDocument(text: string, limits: JsonLimits = JSON_LIMITS): JsonValue {
  const plain = parsePlain(text, limits);
  if (plain !== undefined) return plain;
  const parser = new ExactParser(text, 0, limits);
  const value = parser.value();
  parser.expectEnd();
  return value;
}

/** What JSON.parse makes of a text, as far as it would lose nothing; undefined: the exact parser decides. */
function parsePlain(text: string, limits: JsonLimits): JsonValue | undefined {
  if (text.length > limits.stringLength || needsExactParser(text) || mayExceedDepth(text, limits.depth))
    return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // Raw control characters are fine, and trailing text may be; for the rest the exact parser words the error.
    return undefined;
  }
}

/** One JSON value that starts at or after `start` (white space skipped); `end` is the offset behind its last character. */
export function parseJsonPrefix(
  text: string,
  start = 0,
  limits: JsonLimits = JSON_LIMITS,
): { value: JsonValue; end: number } {
  const parser = new ExactParser(text, start, limits);
  const value = parser.value();
  return { value, end: parser.offset };
}

/**
 * Called for each member with the offset of its value. Returns the offset behind the value if it has read that itself, or a walk that
 * returns it; 0: the value is to be checked and passed over.
 */
export type MemberVisitor = (name: string, start: number) => number | Generator<void, number>;

/**
 * Goes through the members of the object that is the JSON value at or after `start`, without making anything of their
 * values: for texts of any size of which only a little matters. Everything is checked as `parseJson` would. Yields every 64 K
 * units of text, so that others may have a turn. Returns the offset behind the object, or -1 when the value there is no
 * object. Throws JsonError.
 */
export function* walkMembers(text: string, start: number, visit: MemberVisitor): Generator<void, number> {
  const parser = new ExactParser(text, start, JSON_LIMITS);
  return (yield* parser.walk(visit)) ? parser.offset : -1;
}

/** The offset behind the JSON value that starts at or after `start`, which is checked and passed over like those of a walk. Throws JsonError. */
export function* passValue(text: string, start: number): Generator<void, number> {
  const parser = new ExactParser(text, start, JSON_LIMITS);
  yield* parser.pass();
  return parser.offset;
}

// Candidates for what JSON.parse would lose: integral doubles, exponents, integers and fractions of many digits, minus
// zero. Strings are not told apart here; a candidate is looked at more closely below. Every alternative begins with a digit
// or a minus sign: that is what lets the engine skip quickly.
const CANDIDATE = /\d(?:\.(?:0+[,}\]\s]|0{6}|9{6})|[eE][+-]?\d+[,}\]\s]|\d{9}(?:\d{6}|\.\d))|-0[,}\]\s]/g;
// Most texts have none, which is seen sooner by looking for where numbers begin: behind one of three characters.
const POSSIBLE = /[:[,]\s*(?:-0|-?\d(?:\d*[.eE]|\d{15}))/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Of D800 to DFFF, the digit behind the D. */
const SURROGATE_DIGIT = /[89a-fA-F]/;
const SURROGATE_PAIR = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}/y;

/** False: JSON.parse, where it accepts the text, gives exactly the right value. True: it may not. */
function needsExactParser(text: string): boolean {
  const first = firstCharacter(text);
  // A document that is one scalar has no delimiter behind its number.
  if (first !== 0x5b && first !== 0x7b) return true;
  const backslash = text.indexOf('\\');
  if (backslash >= 0) {
    if (CONFUSES_KEYS && hasEscapedKey(text, backslash)) return true;
    if (hasLoneSurrogate(text, '\\ud') || hasLoneSurrogate(text, '\\uD')) return true;
  }
  if (!POSSIBLE.test(text)) return false;
  CANDIDATE.lastIndex = 0;
  for (let match = CANDIDATE.exec(text); match !== null; match = CANDIDATE.exec(text)) {
    let start = match.index;
    while (start > 0 && isNumberUnit(text.charCodeAt(start - 1))) start--;
    let end = match.index + 1;
    while (end < text.length && isNumberUnit(text.charCodeAt(end))) end++;
    CANDIDATE.lastIndex = end;
    if (start > 0 && isBeforeNumber(text.charCodeAt(start - 1)) && losesPrecision(text.slice(start, end))) return true;
  }
  return false;
}

/**
 * From 12.8 on (Node 24) JSON.parse of V8 may give a key that is written with an escape another one's name, of an object that it
 * read before: https://github.com/nodejs/node/issues/63785.
 */
const CONFUSES_KEYS = Number.parseFloat(process.versions.v8) >= 12.8;

/** Whether a key is written with an escape. `backslash` is where the first one is. */
function hasEscapedKey(text: string, backslash: number): boolean {
  for (let at = backslash; at >= 0; at = text.indexOf('\\', at)) {
    // Of JSON a backslash is in a string: what stands behind the string tells what it is.
    at = behindString(text, at);
    if (at < 0) return true;
    while (isWhite(text.charCodeAt(at))) at++;
    if (text.charCodeAt(at) === 0x3a) return true;
  }
  return false;
}

/** Place behind the string that `inside` is in, at its beginning or its first escape; -1 when it does not end. */
export function behindString(text: string, inside: number): number {
  for (let quote = text.indexOf('"', inside); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if ((backslashes & 1) === 0) return quote + 1;
  }
  return -1;
}

/** Whether an escape that begins like this (`\\ud`, `\\uD`) may be half of a surrogate pair without the other half. */
function hasLoneSurrogate(text: string, prefix: string): boolean {
  let at = text.indexOf(prefix);
  while (at >= 0) {
    let next = at + 6;
    if (SURROGATE_DIGIT.test(text.charAt(at + 3))) {
      // Behind another backslash it is no escape, and what looks like its second half stands alone.
      if (text.charCodeAt(at - 1) === 0x5c) return true;
      SURROGATE_PAIR.lastIndex = at;
      if (!SURROGATE_PAIR.test(text)) return true;
      next = at + 12;
    }
    at = text.indexOf(prefix, next);
  }
  return false;
}

function losesPrecision(token: string): boolean {
  if (!NUMBER.test(token)) return false;
  const value = Number(token);
  if (Number.isInteger(value)) {
    const integer = !/[.eE]/.test(token);
    return !(integer && Number.isSafeInteger(value) && !Object.is(value, -0));
  }
  // Not finite, or so long that the exact parser has to refuse it.
  return !Number.isFinite(value) || token.length > JSON_LIMITS.numberLength;
}

const isNumberUnit = (unit: number): boolean =>
  (unit >= 0x30 && unit <= 0x39) || unit === 0x2e || unit === 0x2d || unit === 0x2b || unit === 0x65 || unit === 0x45;

const isBeforeNumber = (unit: number): boolean =>
  unit === 0x3a || unit === 0x2c || unit === 0x5b || unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;

function firstCharacter(text: string): number {
  let index = 0;
  while (isWhite(text.charCodeAt(index))) index++;
  return text.charCodeAt(index);
}

/** Counts opening brackets, also those in strings: an upper bound of the depth that costs a search, not a parse. */
function mayExceedDepth(text: string, depth: number): boolean {
  if (text.length <= depth) return false;
  if (depth === Number.POSITIVE_INFINITY) return false;
  let count = 0;
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) if (++count > depth) return true;
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) if (++count > depth) return true;
  return false;
}

const isWhite = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;

const ESCAPES: Readonly<Record<number, string>> = {
  34: '"',
  92: '\\',
  47: '/',
  98: '\b',
  102: '\f',
  110: '\n',
  114: '\r',
  116: '\t',
};

/** What an identifier of Java begins with, and what it goes on with. Characters beyond 16 bits are no part of one. */
const WORD_START = /[\p{L}\p{Nl}\p{Sc}\p{Pc}]/u;
const WORD_PART = /[\p{L}\p{Nl}\p{Sc}\p{Pc}\p{Nd}\p{Mn}\p{Mc}\p{Cf}\x80-\x9f]/u;

/** What a bare word is made of, so that an error can name the whole word as PuppetDB does. */
const isWordUnit = (unit: number): boolean =>
  (unit >= 0x61 && unit <= 0x7a) ||
  (unit >= 0x41 && unit <= 0x5a) ||
  (unit >= 0x30 && unit <= 0x39) ||
  unit === 0x5f ||
  unit === 0x24 ||
  (unit > 0x7f && WORD_PART.test(String.fromCharCode(unit)));

/** What a thread's stack has room for, and more than any value may have that is kept. */
const RECURSION_MAX = 2000;

/** UTF-16 units that a walk passes over in one turn. */
const TURN = 1 << 16;

/** Pieces that a text is put together of one by one, and that are joined at a time beyond. */
const PIECES_MAX = 1000;

/**
 * A text put together of parts of another one and of what stands for its escapes, of which there may be millions: one by one they would make
 * of it a tree with as many nodes. `isKept` false: only its length matters.
 */
class Pieces {
  readonly #source: string;
  readonly #isKept: boolean;
  #text = '';
  #count = 0;
  /** Once there are many: those that are joined, and those that are not yet. */
  #many: { readonly joined: string[]; pieces: string[] } | null = null;
  length = 0;

  constructor(source: string, isKept: boolean) {
    this.#source = source;
    this.#isKept = isKept;
  }

  addPart(from: number, to: number): void {
    if (this.#isKept) this.add(this.#source.slice(from, to));
    else this.length += to - from;
  }

  add(piece: string): void {
    this.length += piece.length;
    if (!this.#isKept) return;
    if (this.#count++ < PIECES_MAX) this.#text += piece;
    else this.#addToMany(piece);
  }

  #addToMany(piece: string): void {
    this.#many ??= { joined: [this.#text], pieces: [] };
    const { joined, pieces } = this.#many;
    if (pieces.push(piece) < PIECES_MAX) return;
    joined.push(pieces.join(''));
    this.#many.pieces = [];
  }

  text(): string {
    if (this.#many === null) return this.#text;
    const { joined, pieces } = this.#many;
    return joined.concat(pieces).join('');
  }
}

class ExactParser {
  readonly #text: string;
  readonly #limits: JsonLimits;
  readonly #depthMax: number;
  #at: number;
  /** Where a walk gives others a turn. */
  #turnEnd: number;
  #depth = 0;
  /** How many values there may still be. */
  #left: number;
  #container: JsonError['container'] = null;

  constructor(text: string, start: number, limits: JsonLimits) {
    this.#text = text;
    this.#at = start;
    this.#turnEnd = start + TURN;
    this.#limits = limits;
    this.#left = limits.values;
    this.#depthMax = Math.min(limits.depth, RECURSION_MAX);
  }

  /** Behind the last character that was read. */
  get offset(): number {
    return this.#at;
  }

  value(): JsonValue {
    this.#skipWhite();
    return this.#value('value');
  }

  /** Passes over a value, in turns. */
  *pass(): Generator<void, void> {
    this.#skipWhite();
    yield* this.#skip();
  }

  /** The same; false: it is no object, whose members could be visited. */
  *walk(visit: MemberVisitor): Generator<void, boolean> {
    this.#skipWhite();
    if (this.#text.charCodeAt(this.#at) !== 0x7b) {
      yield* this.#skip();
      return false;
    }
    const outer = this.#enter('object');
    let isOpen = !this.#closesAtOnce(0x7d);
    for (let expected: JsonExpected = 'key-or-close'; isOpen; expected = 'key') {
      const key = this.#key(expected);
      const visited = visit(key, this.#at);
      const end = typeof visited === 'number' ? visited : yield* visited;
      if (end > 0) this.#at = end;
      else if (this.#atContainer()) yield* this.#skip();
      else this.#skipScalar('value');
      if (this.#isTurnOver()) yield;
      isOpen = !this.#separator(0x7d);
    }
    this.#leave(outer);
    return true;
  }

  /** Throws unless only white space is left. */
  expectEnd(): void {
    this.#skipWhite();
    if (this.#at < this.#text.length) this.#unexpected('end');
  }

  #value(expected: JsonExpected): JsonValue {
    const unit = this.#text.charCodeAt(this.#at);
    switch (unit) {
      case 0x22:
        return this.#string('quote');
      case 0x7b:
        return this.#object();
      case 0x5b:
        return this.#array();
      case 0x74:
        return this.#word('true', true);
      case 0x66:
        return this.#word('false', false);
      case 0x6e:
        return this.#word('null', null);
      default:
        if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) return this.#number();
        return this.#unexpected(expected);
    }
  }

  #object(): JsonValue {
    const outer = this.#enter('object');
    const object: Record<string, JsonValue> = {};
    let isOpen = !this.#closesAtOnce(0x7d);
    for (let expected: JsonExpected = 'key-or-close'; isOpen; expected = 'key') {
      const key = this.#key(expected);
      const value = this.#contained('value');
      setMember(object, key, value);
      isOpen = !this.#separator(0x7d);
    }
    this.#leave(outer);
    return object;
  }

  #array(): JsonValue {
    const outer = this.#enter('array');
    const array: JsonValue[] = [];
    let isOpen = !this.#closesAtOnce(0x5d);
    for (let expected: JsonExpected = 'value-or-close'; isOpen; expected = 'value') {
      array.push(this.#contained(expected));
      isOpen = !this.#separator(0x5d);
    }
    this.#leave(outer);
    return array;
  }

  /** A value in a container. */
  #contained(expected: JsonExpected): JsonValue {
    if (--this.#left < 0)
      this.#fail('too-many-values', `more than ${this.#limits.values} values`, expected, this.#at, '');
    return this.#value(expected);
  }

  /** Passes over a value, in turns and without recursion. */
  *#skip(): Generator<void, void> {
    /** For each container that was opened here, what contains it. */
    const outers: JsonError['container'][] = [];
    let expected: JsonExpected = 'value';
    for (;;) {
      if (this.#isTurnOver()) yield;
      if (this.#atContainer()) {
        const isObject = this.#text.charCodeAt(this.#at) === 0x7b;
        const outer = this.#enter(isObject ? 'object' : 'array');
        if (!this.#closesAtOnce(isObject ? 0x7d : 0x5d)) {
          outers.push(outer);
          if (isObject) this.#key('key-or-close', false);
          expected = isObject ? 'value' : 'value-or-close';
          continue;
        }
        this.#leave(outer);
      } else {
        this.#skipScalar(expected);
      }
      // Behind a value, which may be the last one of several containers.
      while (outers.length > 0 && this.#separator(this.#container?.kind === 'object' ? 0x7d : 0x5d)) {
        this.#leave(outers.pop() ?? null);
      }
      if (outers.length === 0) return;
      if (this.#container?.kind === 'object') this.#key('key', false);
      expected = 'value';
    }
  }

  #atContainer(): boolean {
    const unit = this.#text.charCodeAt(this.#at);
    return unit === 0x7b || unit === 0x5b;
  }

  /** Reads the bracket that opens a container, and the one that closes it if nothing is between: then true. */
  #closesAtOnce(close: number): boolean {
    this.#at++;
    this.#skipWhite();
    const isEmpty = this.#text.charCodeAt(this.#at) === close;
    if (isEmpty) this.#at++;
    return isEmpty;
  }

  /** Reads a key and its colon. */
  #key(expected: JsonExpected, isKept = true): string {
    if (this.#text.charCodeAt(this.#at) !== 0x22) this.#unexpected(expected);
    const key = this.#string('key-quote', isKept);
    this.#skipWhite();
    if (this.#text.charCodeAt(this.#at) !== 0x3a) this.#unexpected('colon');
    this.#at++;
    this.#skipWhite();
    return key;
  }

  /** Whether so much has been passed over since the last time that others may have a turn. */
  #isTurnOver(): boolean {
    if (this.#at < this.#turnEnd) return false;
    this.#turnEnd = this.#at + TURN;
    return true;
  }

  #skipScalar(expected: JsonExpected): void {
    const unit = this.#text.charCodeAt(this.#at);
    if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) this.#passNumber();
    else if (unit === 0x22) this.#string('quote', false);
    else this.#value(expected);
  }

  /** Reads the comma behind an element, or the bracket that ends the container: then true. */
  #separator(close: number): boolean {
    this.#skipWhite();
    const unit = this.#text.charCodeAt(this.#at);
    if (unit === 0x2c) {
      this.#at++;
      this.#skipWhite();
      return false;
    }
    if (unit !== close) this.#unexpected('comma-or-close');
    this.#at++;
    return true;
  }

  #enter(kind: 'array' | 'object'): JsonError['container'] {
    if (++this.#depth > this.#depthMax) {
      this.#fail('too-deep', `nesting deeper than ${this.#depthMax}`, 'value', this.#at, '');
    }
    const outer = this.#container;
    this.#container = { kind, offset: this.#at };
    return outer;
  }

  #leave(outer: JsonError['container']): void {
    this.#depth--;
    this.#container = outer;
  }

  /** `isKept` false: the string is checked, and nothing is made of it; empty. */
  #string(quote: 'quote' | 'key-quote', isKept = true): string {
    const text = this.#text;
    const start = this.#at + 1;
    const stop = Math.min(text.length, start + this.#limits.stringLength + 1);
    let at = start;
    for (;;) {
      if (at >= stop) return at >= text.length ? this.#end(quote, at) : this.#tooLong(start);
      const unit = text.charCodeAt(at);
      if (unit === 0x22) {
        this.#at = at + 1;
        return isKept ? text.slice(start, at) : '';
      }
      if (unit === 0x5c || (unit >= 0xd800 && unit <= 0xdfff)) return this.#escapedString(start, at, quote, isKept);
      at++;
    }
  }

  // From `at` on there are escapes or surrogates; lone surrogates become `?`, as the encoder of the original does.
  #escapedString(start: number, at: number, quote: JsonExpected, isKept: boolean): string {
    const text = this.#text;
    const lengthMax = this.#limits.stringLength;
    const pieces = new Pieces(text, isKept);
    let from = start;
    for (;;) {
      const unit = text.charCodeAt(at);
      if (unit === 0x22) {
        pieces.addPart(from, at);
        this.#at = at + 1;
        if (pieces.length > lengthMax) this.#tooLong(start);
        return pieces.text();
      }
      if (unit === 0x5c) {
        pieces.addPart(from, at);
        // Not at its end only: what is made of it takes far more memory than it does.
        if (pieces.length > lengthMax) this.#tooLong(start);
        const code = text.charCodeAt(at + 1);
        if (code === 0x75) {
          const high = this.#hex(at + 2);
          at += 6;
          if (high >= 0xd800 && high <= 0xdfff) {
            const low =
              high < 0xdc00 && text.charCodeAt(at) === 0x5c && text.charCodeAt(at + 1) === 0x75 ? this.#hex(at + 2) : 0;
            if (low >= 0xdc00 && low <= 0xdfff) {
              pieces.add(String.fromCharCode(high, low));
              at += 6;
            } else {
              pieces.add('?');
            }
          } else {
            pieces.add(String.fromCharCode(high));
          }
        } else {
          const plain = ESCAPES[code];
          if (plain === undefined) {
            if (at + 1 >= text.length) return this.#end('escape', at + 1);
            return this.#fail('bad-escape', 'unknown escape', 'escape', at + 1, String.fromCharCode(code));
          }
          pieces.add(plain);
          at += 2;
        }
        from = at;
        continue;
      }
      if (at >= text.length) return this.#end(quote, at);
      if (unit >= 0xd800 && unit <= 0xdfff) {
        const next = text.charCodeAt(at + 1);
        if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
          at += 2;
        } else {
          pieces.addPart(from, at);
          pieces.add('?');
          from = ++at;
        }
        continue;
      }
      at++;
    }
  }

  #hex(at: number): number {
    let code = 0;
    for (let index = at; index < at + 4; index++) {
      const unit = this.#text.charCodeAt(index);
      const lower = unit | 0x20;
      if (unit >= 0x30 && unit <= 0x39) code = code * 16 + unit - 0x30;
      else if (lower >= 0x61 && lower <= 0x66) code = code * 16 + lower - 0x57;
      else if (index >= this.#text.length) this.#end('escape', index);
      else this.#fail('bad-escape', 'four hex digits expected', 'escape', index, String.fromCharCode(unit));
    }
    return code;
  }

  #number(): JsonValue {
    const start = this.#at;
    const integer = this.#passNumber();
    const token = this.#text.slice(start, this.#at);
    const value = Number(token);
    if (integer) return Number.isSafeInteger(value) ? value + 0 : BigInt(token);
    return Number.isInteger(value) || !Number.isFinite(value) ? new Float(value) : value;
  }

  /** Checks a number and stops behind it; true: it has neither fraction nor exponent. */
  #passNumber(): boolean {
    const text = this.#text;
    const start = this.#at;
    let at = start;
    const negative = text.charCodeAt(at) === 0x2d;
    if (negative) at++;
    const first = text.charCodeAt(at);
    at = this.#digits(at, 'digit');
    if (first === 0x30 && at > start + (negative ? 2 : 1)) {
      this.#fail('bad-number', 'leading zeroes not allowed', 'digit', start + (negative ? 1 : 0), '0');
    }
    let integer = true;
    if (text.charCodeAt(at) === 0x2e) {
      integer = false;
      at = this.#digits(at + 1, 'fraction-digit');
    }
    const exponent = text.charCodeAt(at);
    if (exponent === 0x65 || exponent === 0x45) {
      integer = false;
      const sign = text.charCodeAt(at + 1);
      at = this.#digits(sign === 0x2b || sign === 0x2d ? at + 2 : at + 1, 'exponent-digit');
    }
    if (isWordUnit(text.charCodeAt(at))) {
      this.#at = at;
      this.#unexpected(this.#container === null ? 'end' : 'comma-or-close');
    }
    if (at - start > this.#limits.numberLength) {
      this.#fail('number-too-long', `number longer than ${this.#limits.numberLength} characters`, 'digit', start, '');
    }
    this.#at = at;
    return integer;
  }

  #digits(at: number, expected: JsonExpected): number {
    const text = this.#text;
    const first = text.charCodeAt(at);
    if (!(first >= 0x30 && first <= 0x39)) {
      if (at >= text.length) this.#end(expected, at);
      this.#fail('bad-number', 'digit expected', expected, at, String.fromCharCode(first));
    }
    let unit = first;
    while (unit >= 0x30 && unit <= 0x39) unit = text.charCodeAt(++at);
    return at;
  }

  #word(word: string, value: true | false | null): JsonValue {
    const end = this.#at + word.length;
    if (!this.#text.startsWith(word, this.#at) || isWordUnit(this.#text.charCodeAt(end))) return this.#unknownToken();
    this.#at = end;
    return value;
  }

  #skipWhite(): void {
    const text = this.#text;
    let unit = text.charCodeAt(this.#at);
    while (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) unit = text.charCodeAt(++this.#at);
  }

  #unknownToken(): never {
    let end = this.#at;
    while (isWordUnit(this.#text.charCodeAt(end))) end++;
    const word = this.#text.slice(this.#at, end);
    return this.#fail('unknown-token', `unknown word '${word.slice(0, 40)}'`, 'value', this.#at, word);
  }

  #unexpected(expected: JsonExpected): never {
    const unit = this.#text.charCodeAt(this.#at);
    if (this.#at >= this.#text.length) return this.#end(expected, this.#at);
    const wantsValue = expected === 'value' || expected === 'value-or-close';
    if (wantsValue && WORD_START.test(String.fromCharCode(unit))) return this.#unknownToken();
    const found = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? unit);
    return this.#fail('unexpected-character', `unexpected character '${found}'`, expected, this.#at, found);
  }

  #end(expected: JsonExpected, offset: number): never {
    return this.#fail('end-of-input', 'unexpected end', expected, offset, '');
  }

  #tooLong(offset: number): never {
    const message = `string longer than ${this.#limits.stringLength} characters`;
    return this.#fail('string-too-long', message, 'quote', offset, '');
  }

  #fail(problem: JsonProblem, message: string, expected: JsonExpected, offset: number, found: string): never {
    throw new JsonError(problem, message, { offset, expected, found, container: this.#container });
  }
}
