// Sets of characters of a regular expression. A character is a Unicode code point. Classes ([:alpha:], \w, ...) follow the
// C library's Unicode tables as PostgreSQL uses them, which are not JavaScript's: \s has no no-break blanks, \w counts
// letters and digits of every script, \d ASCII digits only. Blanks and control characters PostgreSQL lists itself.

// Members of each class, written to stand inside a bracket expression of a JavaScript pattern with the flag `u`.
const BLANKS = String.raw`\u{20}\u{1680}\u{2000}-\u{2006}\u{2008}-\u{200a}\u{205f}\u{3000}`;
const NO_BREAK_BLANKS = String.raw`\u{a0}\u{2007}\u{202f}`;
const ALNUM = String.raw`\p{Alphabetic}\p{Nd}`;
const GRAPH = String.raw`\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}${NO_BREAK_BLANKS}`;
const CLASS_SOURCES = {
  alnum: ALNUM,
  alpha: null,
  ascii: String.raw`\u{0}-\u{7f}`,
  blank: String.raw`\t\u{20}`,
  cntrl: String.raw`\p{Cc}`,
  digit: '0-9',
  graph: GRAPH,
  // Of the letters in title case, those that are digraphs are both lower and upper.
  lower: String.raw`\p{Lowercase}\u{1c5}\u{1c8}\u{1cb}\u{1f2}`,
  print: `${GRAPH}${BLANKS}`,
  punct: null,
  space: String.raw`\t-\r\p{Zl}\p{Zp}${BLANKS}`,
  upper: String.raw`\p{Uppercase}\p{Lt}`,
  word: `${ALNUM}_`,
  xdigit: '0-9A-Fa-f',
} as const;

/** Classes that are one class without another; JavaScript's patterns cannot say so without the flag `v`. */
const DIFFERENCES = {
  alpha: { of: ALNUM, without: '0-9' },
  punct: { of: GRAPH, without: ALNUM },
} as const;

export type ClassName = keyof typeof CLASS_SOURCES;

export const isClassName = (name: string): name is ClassName => Object.hasOwn(CLASS_SOURCES, name);

/** A class or what is outside it, as a part of a set. */
export interface ClassTerm {
  readonly name: ClassName;
  readonly complement: boolean;
}

const ASCII_SIZE = 128;
/** The last character that a text can have. Patterns may name later ones, which are in no text. */
const CODE_POINT_MAX = 0x10ffff;
export const NEWLINE = 10;

const codePointSource = (code: number): string => {
  const isAlphanumeric = (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
  return isAlphanumeric ? String.fromCharCode(code) : `\\u{${code.toString(16)}}`;
};

/** Blocks of characters, inclusive. A pair of surrogates would be one character: their two halves are apart. */
const BLOCKS: readonly (readonly [number, number])[] = [
  [0, 0xdbff],
  [0xdc00, 0xffff],
  [0x10000, 0x3ffff],
  [0xe0000, 0xe0fff],
];

/** Whole blocks of characters that are all alike: unassigned or for private use. */
const UNIFORM_BLOCKS: readonly (readonly [number, number])[] = [
  [0x40000, 0xdffff],
  [0xe1000, 0xeffff],
  [0xf0000, 0xffffd],
  [0xffffe, 0xfffff],
  [0x100000, 0x10fffd],
  [0x10fffe, CODE_POINT_MAX],
];

/** Characters of a block that are looked at together. */
const PIECE = 0x1000;

/**
 * Source of the characters that a pattern for one character (flag `u`) matches, as ranges. It looks at a quarter
 * million of them, run by run: a character at a time takes nine times as long.
 */
function scan(pattern: string): string {
  const runs = new RegExp(`(?:${pattern})+`, 'gu');
  const ranges: number[] = [];
  for (const [low, high] of BLOCKS) {
    const units = low > 0xffff ? 2 : 1;
    for (let start = low; start <= high; start += PIECE) {
      const size = Math.min(PIECE, high + 1 - start);
      const piece = String.fromCodePoint(...Array.from({ length: size }, (_, i) => start + i));
      for (const { 0: run, index } of piece.matchAll(runs)) {
        ranges.push(start + index / units, start + (index + run.length) / units - 1);
      }
    }
  }
  const one = new RegExp(pattern, 'u');
  for (const [low, high] of UNIFORM_BLOCKS) if (one.test(String.fromCodePoint(low))) ranges.push(low, high);
  return rangesSource(mergeRanges(ranges));
}

/** Members of a class, or what is outside it, to stand inside a bracket expression. */
function termSource({ name, complement }: ClassTerm): string {
  const source = CLASS_SOURCES[name];
  if (source !== null && !complement) return source;
  const members = memberPattern(name);
  return scan(complement ? `(?!${members})[^]` : members);
}

/** Pattern (flag `u`) of one member of a class. */
function memberPattern(name: ClassName): string {
  if (name !== 'alpha' && name !== 'punct') return `[${CLASS_SOURCES[name]}]`;
  const { of, without } = DIFFERENCES[name];
  return `(?![${without}])[${of}]`;
}

/** Whether a character, as a text, belongs to a class. */
export function memberTest(name: ClassName): (character: string) => boolean {
  const member = new RegExp(`^${memberPattern(name)}$`, 'u');
  return (character) => member.test(character);
}

function rangesSource(ranges: readonly number[]): string {
  let source = '';
  for (let i = 0; i < ranges.length; i += 2) {
    const low = ranges[i] as number;
    const high = ranges[i + 1] as number;
    source += low === high ? codePointSource(low) : `${codePointSource(low)}-${codePointSource(high)}`;
  }
  return source;
}

/** The characters of a term. */
class Members {
  readonly source: string;
  readonly #test: RegExp;
  readonly #ascii: Uint8Array;

  constructor(source: string) {
    this.source = source;
    this.#test = new RegExp(`[${source}]`, 'u');
    this.#ascii = Uint8Array.from({ length: ASCII_SIZE }, (_, code) => (this.#isMember(code) ? 1 : 0));
  }

  has(code: number): boolean {
    return code < ASCII_SIZE ? this.#ascii[code] === 1 : this.#isMember(code);
  }

  #isMember(code: number): boolean {
    return this.#test.test(String.fromCodePoint(code));
  }
}

/** By name and complement, as far as they were asked for: of some it takes long to find out. */
const knownMembers = new Map<string, Members>();

function membersOf(term: ClassTerm): Members {
  const key = `${term.complement ? '^' : ''}${term.name}`;
  let members = knownMembers.get(key);
  if (members === undefined) knownMembers.set(key, (members = new Members(termSource(term))));
  return members;
}

/** Immutable set of code points: the union of ranges and classes, or the complement of that union. */
export class CharSet {
  /** Inclusive bounds, pair by pair, ascending and apart from each other. */
  readonly ranges: readonly number[];
  readonly terms: readonly ClassTerm[];
  readonly negated: boolean;
  /** JavaScript source of the set (flags `u` and `s`), equal for equal sets: their identity. */
  readonly source: string;
  /** Membership of the ASCII characters. */
  readonly ascii: Uint8Array;
  readonly #members: readonly Members[];

  constructor(ranges: readonly number[], terms: readonly ClassTerm[] = [], negated = false) {
    const [only] = terms;
    // What is outside one class is simpler said of the set than of the class.
    const isOutside = only?.complement === true && terms.length === 1 && ranges.length === 0;
    this.ranges = mergeRanges(ranges);
    this.terms = isOutside ? [{ name: only.name, complement: false }] : terms;
    this.negated = negated !== isOutside;
    // The same class may be named thousands of times.
    this.#members = [...new Set(this.terms.map(membersOf))];
    this.source = this.#print(this.#members.map(({ source }) => source).join(''));
    this.ascii = new Uint8Array(ASCII_SIZE);
    for (let code = 0; code < ASCII_SIZE; code++) this.ascii[code] = this.#decide(code) ? 1 : 0;
  }

  has(code: number): boolean {
    return code < ASCII_SIZE ? this.ascii[code] === 1 : this.#decide(code);
  }

  /** The one member, or null if there are more or none. */
  get single(): number | null {
    const [low, high] = this.ranges;
    const isSingle = !this.negated && this.terms.length === 0 && this.ranges.length === 2 && low === high;
    return isSingle ? (low as number) : null;
  }

  /** Has every character. */
  get isAny(): boolean {
    return this.negated && this.ranges.length === 0 && this.terms.length === 0;
  }

  /** Has no member in common with the other; false also when that would take a search to find out. */
  isDisjointWith(other: CharSet): boolean {
    for (let code = 0; code < ASCII_SIZE; code++) if (this.ascii[code] === 1 && other.ascii[code] === 1) return false;
    if (!this.#reachesBeyondAscii || !other.#reachesBeyondAscii) return true;
    if (this.negated || other.negated || this.terms.length > 0 || other.terms.length > 0) return false;
    for (let i = 0; i < this.ranges.length; i += 2) {
      for (let j = 0; j < other.ranges.length; j += 2) {
        const low = Math.max(this.ranges[i] as number, other.ranges[j] as number);
        if (low <= Math.min(this.ranges[i + 1] as number, other.ranges[j + 1] as number)) return false;
      }
    }
    return true;
  }

  get #reachesBeyondAscii(): boolean {
    if (this.negated) return true;
    const isAsciiTerm = ({ name, complement }: ClassTerm): boolean =>
      !complement && (name === 'digit' || name === 'xdigit' || name === 'ascii');
    return (this.ranges.at(-1) ?? 0) >= ASCII_SIZE || !this.terms.every(isAsciiTerm);
  }

  #decide(code: number): boolean {
    return this.#hasMember(code) !== this.negated;
  }

  #hasMember(code: number): boolean {
    return isWithin(this.ranges, code) || this.#members.some((members) => members.has(code));
  }

  #print(members: string): string {
    if (this.isAny) return '.';
    const { single } = this;
    if (single !== null) return codePointSource(single);
    return `[${this.negated ? '^' : ''}${rangesSource(this.ranges)}${members}]`;
  }
}

/** Whether one of the ranges, which are ascending and apart from each other, has the code. There may be thousands. */
function isWithin(ranges: readonly number[], code: number): boolean {
  let first = 0;
  let end = ranges.length >> 1;
  while (first < end) {
    const middle = (first + end) >> 1;
    if (code > (ranges[middle * 2 + 1] as number)) first = middle + 1;
    else end = middle;
  }
  return first * 2 < ranges.length && code >= (ranges[first * 2] as number);
}

function mergeRanges(all: readonly number[]): readonly number[] {
  const ranges = all.some((code) => code > CODE_POINT_MAX) ? withinTexts(all) : all;
  if (ranges.length <= 2) return ranges;
  const pairs: [number, number][] = [];
  for (let i = 0; i < ranges.length; i += 2) pairs.push([ranges[i] as number, ranges[i + 1] as number]);
  pairs.sort((a, b) => a[0] - b[0]);
  const merged: number[] = [];
  for (const [low, high] of pairs) {
    const last = merged.length - 1;
    if (last > 0 && low <= (merged[last] as number) + 1) merged[last] = Math.max(merged[last] as number, high);
    else merged.push(low, high);
  }
  return merged;
}

/** The parts of ranges that texts can have. */
function withinTexts(ranges: readonly number[]): readonly number[] {
  const within: number[] = [];
  for (let i = 0; i < ranges.length; i += 2) {
    const low = ranges[i] as number;
    if (low <= CODE_POINT_MAX) within.push(low, Math.min(ranges[i + 1] as number, CODE_POINT_MAX));
  }
  return within;
}

export const ANY = new CharSet([], [], true);
export const NOT_NEWLINE = new CharSet([NEWLINE, NEWLINE], [], true);
export const WORD = new CharSet([], [{ name: 'word', complement: false }]);

// ---- case ----

/** Everything that has an upper and a lower case lies in these blocks. */
const CASED_BLOCKS = [
  [0x41, 0x5a],
  [0x61, 0x7a],
  [0xb5, 0x587],
  [0x10a0, 0x1fff],
  [0x2100, 0x2dff],
  [0xa640, 0xabbf],
  [0xff21, 0xff5a],
  [0x10400, 0x10cff],
  [0x118a0, 0x118df],
  [0x16e40, 0x16e7f],
  [0x1e900, 0x1e943],
] as const;

/** The other case of a character where it is one character; the character itself otherwise. */
function simpleCase(code: number, convert: (text: string) => string): number {
  const text = convert(String.fromCodePoint(code));
  const other = text.codePointAt(0) as number;
  return text.length === (other > 0xffff ? 2 : 1) ? other : code;
}

// Other cases that JavaScript writes as several characters, and the C library's tables have one for.
const ONE_LOWER: ReadonlyMap<number, number> = new Map([[0x130, 0x69]]);
/** Greek letters with an iota below: the upper case is the one with an iota beside. */
const ONE_UPPER: ReadonlyMap<number, number> = new Map(
  Array.from({ length: 0x80 }, (_, i) => 0x1f80 + i)
    .filter((code) => /\p{Lt}/u.test(String.fromCodePoint(code)))
    .map((code) => [simpleCase(code, (text) => text.toLowerCase()), code]),
);

const toLower = (code: number): number => ONE_LOWER.get(code) ?? simpleCase(code, (text) => text.toLowerCase());
const toUpper = (code: number): number => ONE_UPPER.get(code) ?? simpleCase(code, (text) => text.toUpperCase());

/** The ranges, and those of the upper and lower case forms of their members. */
export function foldRanges(ranges: readonly number[]): readonly number[] {
  // Merged first: ranges that overlap would have their members looked at again and again.
  const merged = mergeRanges(ranges);
  const folded = [...merged];
  for (let i = 0; i < merged.length; i += 2) addCases(merged[i] as number, merged[i + 1] as number, folded);
  return folded;
}

/** Adds the forms of a range's members that are outside of it. */
function addCases(low: number, high: number, ranges: number[]): void {
  for (const [blockLow, blockHigh] of CASED_BLOCKS) {
    const end = Math.min(high, blockHigh);
    for (let code = Math.max(low, blockLow); code <= end; code++) {
      const lower = toLower(code);
      const upper = toUpper(code);
      if (lower < low || lower > high) ranges.push(lower, lower);
      if (upper < low || upper > high) ranges.push(upper, upper);
    }
  }
}

/** Characters that differ in case only count as equal. */
export const equalFolded = (a: number, b: number): boolean => a === b || toLower(a) === toLower(b);
