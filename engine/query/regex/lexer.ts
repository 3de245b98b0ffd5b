// Tokens of PostgreSQL's regular expressions: the advanced dialect, and the extended, basic and literal ones that its
// options select. The context (inside brackets, inside bounds) decides what a character is, so the parser asks for one
// token at a time and never looks further ahead. Unknown or unfinished constructs throw the 400 of errors.ts.

import type { Place } from './ast.ts';
import { type ClassName, memberTest } from './char-set.ts';
import { invalidRegex } from './errors.ts';

export type Token =
  | { readonly type: 'end' }
  /** A character that stands for itself. */
  | { readonly type: 'char'; readonly code: number }
  | { readonly type: 'class'; readonly name: ClassName; readonly complement: boolean }
  | { readonly type: 'any' | 'or' | 'close' | 'comma' | 'range' }
  | { readonly type: 'place'; readonly place: Place }
  | { readonly type: 'star' | 'plus' | 'question' | 'bound-open' | 'bound-close' }
  | { readonly type: 'digit'; readonly digit: number }
  | { readonly type: 'open'; readonly captures: boolean }
  | { readonly type: 'look'; readonly ahead: boolean; readonly negative: boolean }
  | { readonly type: 'bracket-open'; readonly negated: boolean }
  | { readonly type: 'bracket-close' }
  /** `[:name:]`, `[.name.]`, `[=name=]` with the text between the marks; null: they are not closed. */
  | { readonly type: 'bracket-name'; readonly mark: ':' | '.' | '='; readonly name: string | null }
  | { readonly type: 'back-reference'; readonly group: number };

type Context = 'advanced' | 'basic' | 'literal' | 'bracket' | 'bound';

interface LexerOptions {
  readonly dialect: 'advanced' | 'extended' | 'basic' | 'literal';
  readonly ignoreCase: boolean;
  /** White space and comments are skipped. */
  readonly expanded: boolean;
  /** `.` and negated brackets stop at newlines. */
  readonly newlineStops: boolean;
  /** `^` and `$` match at lines. */
  readonly newlineAnchors: boolean;
}

const END: Token = { type: 'end' };
const char = (code: number): Token => ({ type: 'char', code });

const SIMPLE_ESCAPES: Readonly<Record<string, Token>> = {
  a: char(7),
  b: char(8),
  B: char(92),
  e: char(27),
  f: char(12),
  n: char(10),
  r: char(13),
  t: char(9),
  v: char(11),
  A: { type: 'place', place: 'text-start' },
  Z: { type: 'place', place: 'text-end' },
  m: { type: 'place', place: 'word-start' },
  M: { type: 'place', place: 'word-end' },
  y: { type: 'place', place: 'word-edge' },
  Y: { type: 'place', place: 'not-word-edge' },
  d: { type: 'class', name: 'digit', complement: false },
  D: { type: 'class', name: 'digit', complement: true },
  s: { type: 'class', name: 'space', complement: false },
  S: { type: 'class', name: 'space', complement: true },
  w: { type: 'class', name: 'word', complement: false },
  W: { type: 'class', name: 'word', complement: true },
};

const isDigit = (c: string | undefined): boolean => c !== undefined && c >= '0' && c <= '9';
const isAsciiAlphanumeric = (c: string): boolean => /^[A-Za-z0-9]$/.test(c);
const isAlpha = memberTest('alpha');
const isLetter = (c: string | undefined): boolean => c !== undefined && isAlpha(c);
const isSpace = memberTest('space');
/** White space of the expanded syntax. */
const isBlank = (c: string | undefined): boolean => c !== undefined && isSpace(c);

/** The last character that a pattern can name: far beyond Unicode's last. */
const CODE_MAX = 0x7ffffffe;

export class Lexer {
  readonly options: LexerOptions;
  readonly #chars: readonly string[];
  readonly #home: Context;
  #context: Context;
  #position: number;
  /** The token handed out before; null at the start. */
  #last: Token | null = null;

  constructor(pattern: string) {
    this.#chars = Array.from(pattern);
    const { options, position } = readOptions(this.#chars);
    this.options = options;
    this.#position = position;
    this.#home = options.dialect === 'extended' ? 'advanced' : options.dialect;
    this.#context = this.#home;
  }

  /** `groupCount`: capturing groups opened so far; it tells a back reference of several digits from an octal code. */
  next(groupCount: number): Token {
    const token = this.#read(groupCount);
    this.#last = token;
    return token;
  }

  get #isAdvanced(): boolean {
    return this.options.dialect === 'advanced';
  }

  #read(groupCount: number): Token {
    for (;;) {
      if (this.options.expanded && this.#context !== 'bracket') this.#skipBlank();
      const c = this.#chars[this.#position];
      if (c === undefined) return this.#end();
      this.#position++;
      switch (this.#context) {
        case 'literal':
          return char(c.codePointAt(0) as number);
        case 'bracket':
          return this.#bracket(c);
        case 'bound':
          return this.#bound(c);
        case 'basic':
          return this.#basic(c);
        case 'advanced': {
          const token = this.#advanced(c, groupCount);
          if (token !== null) return token;
        }
      }
    }
  }

  #end(): Token {
    if (this.#context === 'bracket') throw invalidRegex('brackets');
    if (this.#context === 'bound') throw invalidRegex('braces');
    return END;
  }

  #skipBlank(): void {
    for (;;) {
      while (isBlank(this.#chars[this.#position])) this.#position++;
      if (this.#chars[this.#position] !== '#') return;
      while (this.#position < this.#chars.length && this.#chars[this.#position] !== '\n') this.#position++;
    }
  }

  /** Takes the character if it is next. */
  #eat(c: string): boolean {
    if (this.#chars[this.#position] !== c) return false;
    this.#position++;
    return true;
  }

  /** null: a comment, which is no token. */
  #advanced(c: string, groupCount: number): Token | null {
    switch (c) {
      case '|':
        return { type: 'or' };
      case '*':
        return this.#quantifier('star');
      case '+':
        return this.#quantifier('plus');
      case '?':
        return this.#quantifier('question');
      case '{':
        if (this.options.expanded) this.#skipBlank();
        if (!isDigit(this.#chars[this.#position])) return char(123);
        this.#context = 'bound';
        return { type: 'bound-open' };
      case '(':
        return this.#isAdvanced && this.#eat('?') ? this.#extension() : { type: 'open', captures: true };
      case ')':
        return { type: 'close' };
      case '[':
        return this.#openBracket();
      case '.':
        return { type: 'any' };
      case '^':
        return { type: 'place', place: this.options.newlineAnchors ? 'line-start' : 'text-start' };
      case '$':
        return { type: 'place', place: this.options.newlineAnchors ? 'line-end' : 'text-end' };
      case '\\': {
        if (this.#isAdvanced) return this.#escape(groupCount);
        const escaped = this.#chars[this.#position++];
        if (escaped === undefined) throw invalidRegex('escape');
        return char(escaped.codePointAt(0) as number);
      }
      default:
        return char(c.codePointAt(0) as number);
    }
  }

  #quantifier(type: 'star' | 'plus' | 'question'): Token {
    if (this.#isAdvanced) this.#eat('?'); // the non-greedy form matches the same texts
    return { type };
  }

  /** After `(?`. */
  #extension(): Token | null {
    if (this.#eat(':')) return { type: 'open', captures: false };
    if (this.#eat('#')) {
      while (this.#position < this.#chars.length && this.#chars[this.#position] !== ')') this.#position++;
      this.#position++;
      return null;
    }
    const ahead = !this.#eat('<');
    if (this.#eat('=')) return { type: 'look', ahead, negative: false };
    if (this.#eat('!')) return { type: 'look', ahead, negative: true };
    throw invalidRegex('quantifier');
  }

  #openBracket(): Token {
    const mark = this.#chars.slice(this.#position, this.#position + 6).join('');
    if (mark === '[:<:]]' || mark === '[:>:]]') {
      this.#position += 6;
      return { type: 'place', place: mark === '[:<:]]' ? 'word-start' : 'word-end' };
    }
    this.#context = 'bracket';
    return { type: 'bracket-open', negated: this.#eat('^') };
  }

  #bracket(c: string): Token {
    const isFirst = this.#last?.type === 'bracket-open';
    switch (c) {
      case ']':
        if (isFirst) return char(93);
        this.#context = this.#home;
        return { type: 'bracket-close' };
      case '-':
        return isFirst || this.#chars[this.#position] === ']' ? char(45) : { type: 'range' };
      case '\\': {
        if (!this.#isAdvanced) return char(92);
        const token = this.#escape(0);
        if (token.type !== 'char' && token.type !== 'class') throw invalidRegex('escape');
        return token;
      }
      case '[': {
        const mark = this.#chars[this.#position];
        if (mark === undefined) throw invalidRegex('brackets');
        if (mark !== ':' && mark !== '.' && mark !== '=') return char(91);
        this.#position++;
        return { type: 'bracket-name', mark, name: this.#nameUpTo(mark) };
      }
      default:
        return char(c.codePointAt(0) as number);
    }
  }

  /** Text up to the mark and a closing bracket, which are taken too; null: there are none. */
  #nameUpTo(mark: string): string | null {
    const start = this.#position;
    for (let i = start; i + 1 < this.#chars.length; i++) {
      if (this.#chars[i] !== mark || this.#chars[i + 1] !== ']') continue;
      this.#position = i + 2;
      return this.#chars.slice(start, i).join('');
    }
    // What stands before it is wrong first.
    this.#position = this.#chars.length;
    return null;
  }

  #bound(c: string): Token {
    if (isDigit(c)) return { type: 'digit', digit: Number(c) };
    if (c === ',') return { type: 'comma' };
    if (this.#home === 'basic' ? c === '\\' && this.#eat('}') : c === '}') {
      this.#context = this.#home;
      if (this.#isAdvanced) this.#eat('?');
      return { type: 'bound-close' };
    }
    throw invalidRegex('repetition');
  }

  #basic(c: string): Token {
    const last = this.#last?.type;
    switch (c) {
      case '*':
        return last === undefined || last === 'open' || this.#isBehindStart ? char(42) : { type: 'star' };
      case '[':
        return this.#openBracket();
      case '.':
        return { type: 'any' };
      case '^':
        if (last !== undefined && last !== 'open') return char(94);
        return { type: 'place', place: this.options.newlineAnchors ? 'line-start' : 'text-start' };
      case '$': {
        if (this.options.expanded) this.#skipBlank();
        const isLast = this.#position >= this.#chars.length;
        const closes = this.#chars[this.#position] === '\\' && this.#chars[this.#position + 1] === ')';
        if (!isLast && !closes) return char(36);
        return { type: 'place', place: this.options.newlineAnchors ? 'line-end' : 'text-end' };
      }
      case '\\':
        return this.#basicEscape();
      default:
        return char(c.codePointAt(0) as number);
    }
  }

  /** Behind a `^` that is an anchor. */
  get #isBehindStart(): boolean {
    return this.#last?.type === 'place' && (this.#last.place === 'text-start' || this.#last.place === 'line-start');
  }

  #basicEscape(): Token {
    const c = this.#chars[this.#position++];
    switch (c) {
      case undefined:
        throw invalidRegex('escape');
      case '{':
        this.#context = 'bound';
        return { type: 'bound-open' };
      case '(':
        return { type: 'open', captures: true };
      case ')':
        return { type: 'close' };
      case '<':
        return { type: 'place', place: 'word-start' };
      case '>':
        return { type: 'place', place: 'word-end' };
      default:
        if (c >= '1' && c <= '9') return { type: 'back-reference', group: Number(c) };
        return char(c.codePointAt(0) as number);
    }
  }

  /** After a backslash, in the advanced dialect. */
  #escape(groupCount: number): Token {
    const c = this.#chars[this.#position++];
    if (c === undefined) throw invalidRegex('escape');
    if (!isAsciiAlphanumeric(c)) return char(c.codePointAt(0) as number);
    const simple = Object.hasOwn(SIMPLE_ESCAPES, c) ? SIMPLE_ESCAPES[c] : undefined;
    if (simple !== undefined) return simple;
    switch (c) {
      case 'c': {
        const control = this.#chars[this.#position++];
        if (control === undefined) throw invalidRegex('escape');
        return char((control.codePointAt(0) as number) & 0x1f);
      }
      case 'u':
        return this.#codePoint(4, 4);
      case 'U':
        return this.#codePoint(8, 8);
      case 'x':
        return this.#codePoint(1, 255);
      default:
        if (isDigit(c)) return this.#number(c, groupCount);
        throw invalidRegex('escape');
    }
  }

  #digits(base: 8 | 10 | 16, countMax: number): string {
    const start = this.#position;
    while (this.#position - start < countMax) {
      const c = this.#chars[this.#position];
      if (c === undefined || !/^[0-9a-f]$/i.test(c) || Number.parseInt(c, 16) >= base) break;
      this.#position++;
    }
    return this.#chars.slice(start, this.#position).join('');
  }

  #codePoint(countMin: number, countMax: number): Token {
    const digits = this.#digits(16, countMax);
    const code = Number.parseInt(digits, 16);
    if (digits.length < countMin || !(code <= CODE_MAX)) throw invalidRegex('escape');
    return char(code);
  }

  /** `\0`, `\ooo` or a back reference; the first digit is taken already. */
  #number(first: string, groupCount: number): Token {
    const start = this.#position - 1;
    this.#position = start;
    if (first !== '0') {
      const digits = this.#digits(10, 255);
      const group = Number(digits);
      if (digits.length === 1 || group <= groupCount) return { type: 'back-reference', group };
      this.#position = start;
    }
    const digits = this.#digits(8, 3);
    if (digits === '') throw invalidRegex('escape');
    let code = Number.parseInt(digits, 8);
    if (code > 0xff) {
      this.#position--;
      code >>= 3;
    }
    return char(code);
  }
}

/** The `***` and `(?letters)` prefixes of the whole pattern. */
function readOptions(chars: readonly string[]): { options: LexerOptions; position: number } {
  const options = {
    dialect: 'advanced' as LexerOptions['dialect'],
    ignoreCase: false,
    expanded: false,
    newlineStops: false,
    newlineAnchors: false,
  };
  let position = 0;
  if (chars[0] === '*' && chars[1] === '*' && chars[2] === '*') {
    if (chars[3] === '=') return { options: { ...options, dialect: 'literal' }, position: 4 };
    if (chars[3] !== ':') throw invalidRegex(chars[3] === '?' ? 'pattern' : 'quantifier');
    position = 4;
  }
  if (chars[position] !== '(' || chars[position + 1] !== '?' || !isLetter(chars[position + 2])) {
    return { options, position };
  }
  for (position += 2; isLetter(chars[position]); position++) {
    const apply = OPTION_LETTERS[chars[position] as string];
    if (apply === undefined) throw invalidRegex('option');
    Object.assign(options, apply);
  }
  if (chars[position] !== ')') throw invalidRegex('option');
  if (options.dialect === 'literal') {
    Object.assign(options, { expanded: false, newlineStops: false, newlineAnchors: false });
  }
  return { options, position: position + 1 };
}

const OPTION_LETTERS: Readonly<Record<string, Partial<LexerOptions>>> = {
  b: { dialect: 'basic' },
  c: { ignoreCase: false },
  e: { dialect: 'extended' },
  i: { ignoreCase: true },
  m: { newlineStops: true, newlineAnchors: true },
  n: { newlineStops: true, newlineAnchors: true },
  p: { newlineStops: true, newlineAnchors: false },
  q: { dialect: 'literal' },
  s: { newlineStops: false, newlineAnchors: false },
  t: { expanded: false },
  w: { newlineStops: false, newlineAnchors: true },
  x: { expanded: true },
};
