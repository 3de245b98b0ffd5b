// Paths of fact values: lists of object keys (strings) and array indexes (numbers), beginning with the fact's name. Here
// are their encoded text (what `fact_paths.path` is as a text), the two meanings of `~>`, the paths that a `match()` field
// stands for, and the leaves of a value. spec/query.md 3.8, 3.9.

import { OPEN_LIST, OPEN_MAP } from '../json/ascii.ts';
import { elementAt, endOfString, endOfValue, type Key, keyAt, keyOf, memberAt } from '../json/scan.ts';
import { type CompileRegex, compileRegex } from './regex/regex.ts';
import type { PathPart } from './tree.ts';

export type Path = readonly (string | number)[];

const DELIMITER = '#~';
/** Names that may also be indexes of lists. */
export const DIGITS = /^[0-9]+$/;
/** Keys of digits, and the empty key: quoted, so that they differ from indexes. */
const NEEDS_QUOTES = /^[0-9]*$/;
const QUOTED = /^"[0-9]+"$/;

// ---- encoded text ----

/** A delimiter inside a key gets backslashes before both of its characters. */
const escapeDelimiter = (text: string): string =>
  text.includes('#') ? text.replace(/(\\?#)(\\*~)/g, '\\$1\\$2') : text;
const unescapeDelimiter = (text: string): string => text.replace(/\\#(\\*)\\~/g, '#$1~');

function encodeElement(element: string | number): string {
  if (typeof element === 'number') return String(element);
  return escapeDelimiter(NEEDS_QUOTES.test(element) ? `"${element}"` : element);
}

/** The path as one text: `os#~release#~major`, `disks#~0`, `h#~"5"`. */
export function encodePath(path: Path): string {
  let text = '';
  for (let i = 0; i < path.length; i++) text += (i === 0 ? '' : DELIMITER) + encodeElement(path[i] as string | number);
  return text;
}

/** The path of an encoded text. A key that itself is quoted digits comes back without its quotes, the empty key as a pair of quotes. */
export function decodePath(text: string): (string | number)[] {
  return text.split(DELIMITER).map((element) => {
    if (DIGITS.test(element)) return Number(element);
    return QUOTED.test(element) ? element.slice(1, -1) : unescapeDelimiter(element);
  });
}

// ---- ~> ----

/** Tests of the elements of a path, one behind the other. */
export type ElementTests = readonly ElementTest[];
interface ElementTest {
  /** The only element that passes, where that is known. */
  readonly only: Key | number | null;
  test(element: string | number): boolean;
}

/** The tests of a pattern in mode `elements`. Throws QueryError 400 for an invalid regular expression. */
export const elementTests = (pattern: Path, regex: CompileRegex = compileRegex): ElementTests =>
  pattern.map((wanted) => {
    if (typeof wanted === 'number') return indexTest(String(wanted));
    const matcher = regex(wanted);
    const keysOnly = DIGITS.test(wanted);
    return {
      only: null,
      test: (element) => (keysOnly && typeof element === 'number' ? false : matcher.test(String(element))),
    };
  });

/** Digits as a regular expression: found anywhere in the index. */
const indexTest = (digits: string): ElementTest => ({
  only: null,
  test: (element) => typeof element === 'number' && String(element).includes(digits),
});

/** The tests of a path that is that one. */
export const exactTests = (path: Path): ElementTests => path.map(exactTest);

const exactTest = (wanted: string | number): ElementTest => ({
  only: typeof wanted === 'number' ? wanted : keyOf(wanted),
  test: (element) => element === wanted,
});

/**
 * The operator `~>` on paths (fact_contents): as many elements as the pattern has, each matched by itself and unanchored (1
 * finds the indexes 1, 10 and 21); numbers match indexes only, patterns of digits keys only. Throws QueryError 400 for an
 * invalid regular expression.
 */
export function pathMatcher(pattern: Path, regex: CompileRegex = compileRegex): (path: Path) => boolean {
  const tests = elementTests(pattern, regex);
  return (path) => {
    if (path.length !== tests.length || path.length === 0) return false;
    for (let i = 0; i < tests.length; i++) {
      if (!tests[i]!.test(path[i]!)) return false;
    }
    return true;
  };
}

/** Wildcards of one element must not run over the delimiter. */
const confineWildcards = (pattern: string): string =>
  pattern.replace(/\.\*/g, `(?:(?:(?!${DELIMITER}).)+|.?)`).split(LINE_END).map(confineRepeats).join('');

/** Lines, and what ends them. */
const LINE_END = /([\n\r\u2028\u2029])/;

/** The same of `.+` and `.{…}` in a line. The latter reaches to the last brace, behind which none is looked for. */
function confineRepeats(line: string): string {
  const end = line.lastIndexOf('}') + 1;
  const confined = (_: string, quantifier: string): string => `(?:(?!${DELIMITER}).)${quantifier}`;
  return line.slice(0, end).replace(/\.(\+|\{.+\})/g, confined) + line.slice(end).replace(/\.(\+)/g, confined);
}

/** The operator `~>` on encoded paths (fact_paths): one regular expression over the whole text. */
export function encodedPattern(pattern: Path): string {
  return `^${pattern.map(encodeElement).map(confineWildcards).join(DELIMITER)}$`;
}

// ---- match() ----

/**
 * The regular expression, unanchored, that finds the encoded texts of the paths that a field with `match()` parts stands for. Names
 * count as regular expressions too (spec/query.md 3.9).
 */
export const matchPattern = (parts: readonly PathPart[]): string =>
  parts
    .map((part) => {
      if (part.kind === 'match') return part.pattern;
      return part.kind === 'indexed' ? `${part.name}${DELIMITER}${part.index}` : part.name;
    })
    .join(DELIMITER);

// ---- leaves ----

/**
 * Calls `visit` with the place of each leaf of a value that is given as its stored text, from `start` to `end`. `tests`: of
 * those whose paths pass them, element by element; what a test refuses is passed over. null: of all. The path is only valid
 * during the call.
 */
export function leavesAlong(tests: ElementTests | null, name: string, text: StoredValue, visit: VisitPlace): void {
  if (tests !== null && !tests[0]?.test(name)) return;
  visitAlong(tests, [name], text.bytes, text.start, text.end, visit);
}

interface StoredValue {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}
type VisitPlace = (path: Path, start: number, end: number) => void;

function visitAlong(
  tests: ElementTests | null,
  path: (string | number)[],
  bytes: Buffer,
  start: number,
  end: number,
  visit: VisitPlace,
): void {
  const depth = path.length;
  const isObject = bytes[start] === OPEN_MAP;
  if (!isObject && bytes[start] !== OPEN_LIST) {
    if (tests === null || depth === tests.length) visit(path, start, end);
    return;
  }
  if (depth === tests?.length) return;
  const test = tests?.[depth] ?? null;
  const only = test?.only ?? null;
  if (only !== null) {
    const from = typeof only === 'number' ? elementAt(bytes, start, end, only) : memberAt(bytes, start, end, only);
    if (from < 0) return;
    path[depth] = typeof only === 'number' ? only : only.text;
    visitAlong(tests, path, bytes, from, endOfValue(bytes, from, end), visit);
    path.length = depth;
    return;
  }
  const last = end - 1;
  let at = start + 1;
  for (let index = 0; at < last; index++) {
    const from = isObject ? endOfString(bytes, at, end) + 1 : at;
    const to = endOfValue(bytes, from, end);
    const element = isObject ? keyAt(bytes, at, from - 1) : index;
    if (test === null || test.test(element)) {
      path[depth] = element;
      visitAlong(tests, path, bytes, from, to, visit);
      path.length = depth;
    }
    at = to + 1;
  }
}
