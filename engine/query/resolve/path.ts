// Field references: plain names and dotted paths such as `facts.os."a.b"[2]`, `facts.match("regex").x`
// (spec/query.md 3.2). A parsed reference always begins with a plain name; an index binds to the name before it.

import { printClojure } from '../../clojure.ts';
import { badQuery } from '../errors.ts';
import type { PathPart, PathRoot } from '../tree.ts';

interface FieldPath {
  /** First component, before the first dot. */
  readonly top: string;
  /** What follows; empty for a plain field. */
  readonly parts: readonly PathPart[];
}

/** JSON documents whose members queries name. */
export type DocumentName = PathRoot | 'trusted';

/** Where a member is looked up. */
export interface DocumentRef {
  readonly root: PathRoot;
  readonly parts: readonly PathPart[];
}

/** Where a component ends: to Java a text's end is also before the line end that is its last. */
const END = '(?=\\.|(?:\\r\\n|[\\n\\r\\u0085\\u2028\\u2029])?$)';
const TOP = new RegExp(`[a-zA-Z][_0-9a-zA-Z]*\\??${END}`, 'y');
const MATCH = 'match("';
/** What a `match("…")` ends with: the last of these in the text ends it. */
const MATCH_END = new RegExp(`[^\\\\]"\\)${END}`, 'g');
/** What a name in quotes ends with: the first of these behind its beginning ends it. */
const QUOTED_END = new RegExp(`[^\\\\]"${END}`, 'g');
const BARE = /[^.]+(?=\.|$)/y;
const INDEXED = /^(.+)\[(\d+)\]$/s;
const INDEX_MAX = 2_147_483_647;

function at(pattern: RegExp, text: string, start: number): RegExpExecArray | null {
  pattern.lastIndex = start;
  return pattern.exec(text);
}

/** Finds the ends of components that begin further and further behind, in one look at the text. */
class Ends {
  readonly #text: string;
  #matchEnd: number | null = null;
  #quotedEnd = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The quote that ends a `match("` whose pattern begins there; -1: none. */
  ofMatch(start: number): number {
    if (this.#matchEnd === null) {
      this.#matchEnd = -1;
      for (const { index } of this.#text.matchAll(MATCH_END)) this.#matchEnd = index + 1;
    }
    return this.#matchEnd > start ? this.#matchEnd : -1;
  }

  /** The quote that ends a name in quotes that begins there; -1: none. */
  ofQuoted(start: number): number {
    if (this.#quotedEnd >= 0 && this.#quotedEnd <= start) this.#quotedEnd = this.#nextQuoted(start);
    return this.#quotedEnd;
  }

  #nextQuoted(start: number): number {
    QUOTED_END.lastIndex = start;
    const end = QUOTED_END.exec(this.#text);
    return end === null ? -1 : end.index + 1;
  }
}

function namePart(name: string, quoted: boolean): PathPart {
  const indexed = INDEXED.exec(name);
  if (!indexed) return { kind: 'name', name, quoted };
  const index = Number(indexed[2]);
  if (index > INDEX_MAX) throw badQuery(`For input string: "${indexed[2]}"`);
  return { kind: 'indexed', name: indexed[1] as string, index };
}

/**
 * Parses a field text. With `matches: false` a `match("…")` component is an ordinary name.
 * Throws the syntax errors of spec/query.md 3.2; positions count from zero.
 */
export function parseField(text: string, options: { readonly matches: boolean } = { matches: true }): FieldPath {
  if (text === '') throw badQuery('Empty AST field');
  const head = at(TOP, text, 0);
  if (!head) throw badQuery(`First component of AST field is invalid: ${printClojure(text)}`);
  const parts: PathPart[] = [];
  const ends = new Ends(text);
  let position = head[0].length;
  while (position < text.length) {
    if (text[position] !== '.') {
      throw badQuery(`AST field component at character ${position} does not begin with a dot: ${printClojure(text)}`);
    }
    position += 1;
    if (text.startsWith('""', position)) {
      throw badQuery(`Empty AST field component at character ${position}: ${printClojure(text)}`);
    }
    const pattern = position + MATCH.length;
    const matchEnd = options.matches && text.startsWith(MATCH, position) ? ends.ofMatch(pattern) : -1;
    if (matchEnd > 0) {
      parts.push({ kind: 'match', pattern: text.slice(pattern, matchEnd) });
      position = matchEnd + 2;
      continue;
    }
    const quotedEnd = text[position] === '"' ? ends.ofQuoted(position + 1) : -1;
    if (quotedEnd > 0) {
      parts.push(namePart(text.slice(position + 1, quotedEnd), true));
      position = quotedEnd + 1;
      continue;
    }
    const bare = at(BARE, text, position);
    if (!bare) {
      throw badQuery(`Don't recognize AST field component at character ${position}: ${printClojure(text)}`);
    }
    parts.push(namePart(bare[0], false));
    position += bare[0].length;
  }
  return { top: head[0], parts };
}

/** The same, or null where the text is no field reference at all. */
export function tryParseField(text: string, options?: { readonly matches: boolean }): FieldPath | null {
  try {
    return parseField(text, options);
  } catch {
    return null;
  }
}

/** Members of `trusted` are those of the fact with that name. `top`: one of `DocumentName`. */
export function documentRef(top: string, parts: readonly PathPart[]): DocumentRef {
  if (top === 'trusted') return { root: 'facts', parts: [{ kind: 'name', name: top, quoted: false }, ...parts] };
  return { root: top as PathRoot, parts };
}

/** A name with a dot has to be quoted, which cannot be done when it ends in a backslash. */
const UNQUOTABLE = /\..*\\$/s;

/**
 * What a stored fact path is as a dotted field. Only names with a dot get quotes, so other names may be read otherwise than
 * they are stored: the fact `arr[0]` becomes an element of `arr`. A path that is no field then is taken literally.
 */
export function partsOfPath(path: readonly (string | number)[]): readonly PathPart[] {
  const names = path.map(String);
  const text = names.map((name) => (name.includes('.') ? `."${name}"` : `.${name}`)).join('');
  const field = names.some((name) => UNQUOTABLE.test(name)) ? null : tryParseField(`facts${text}`, { matches: false });
  return field?.parts ?? names.map((name) => ({ kind: 'name', name, quoted: false }));
}

export const hasMatch = (parts: readonly PathPart[]): boolean => parts.some((part) => part.kind === 'match');

/** The same path with indexes dropped: what `null?` looks at. */
export const withoutIndexes = (parts: readonly PathPart[]): readonly PathPart[] =>
  parts.map((part) => (part.kind === 'indexed' ? { kind: 'name', name: part.name, quoted: false } : part));
