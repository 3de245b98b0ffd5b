// Field references: plain names and dotted paths such as `facts.os."a.b"[2]`, `facts.match("regex").x`
// (spec/query.md 3.2). A parsed reference always begins with a plain name; an index binds to the name before it.

import { badQuery } from '../errors.ts';
import type { PathPart } from '../tree.ts';
import { printClojure } from './clojure.ts';

export interface FieldPath {
  /** First component, before the first dot. */
  readonly top: string;
  /** What follows; empty for a plain field. */
  readonly parts: readonly PathPart[];
}

const TOP = /[a-zA-Z][_0-9a-zA-Z]*\??(?=\.|$)/y;
const MATCH = /match\("(.*[^\\])"\)(?=\.|$)/sy;
const QUOTED = /"(.*?[^\\])"(?=\.|$)/sy;
const BARE = /[^.]+(?=\.|$)/y;
const INDEXED = /^(.+)\[(\d+)\]$/s;
const INDEX_MAX = 2_147_483_647;

function at(pattern: RegExp, text: string, start: number): RegExpExecArray | null {
  pattern.lastIndex = start;
  return pattern.exec(text);
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
  const head = at(TOP, text, 0);
  if (!head) throw badQuery(`First component of AST field is invalid: ${printClojure(text)}`);
  const parts: PathPart[] = [];
  let position = head[0].length;
  while (position < text.length) {
    position += 1;
    if (text.startsWith('""', position)) {
      throw badQuery(`Empty AST field component at character ${position}: ${printClojure(text)}`);
    }
    const match = options.matches ? at(MATCH, text, position) : null;
    const quoted = match ? null : at(QUOTED, text, position);
    const found = match ?? quoted ?? at(BARE, text, position);
    if (!found) {
      throw badQuery(`Don't recognize AST field component at character ${position}: ${printClojure(text)}`);
    }
    if (match) parts.push({ kind: 'match', pattern: match[1] as string });
    else parts.push(namePart(quoted ? (quoted[1] as string) : found[0], quoted !== null));
    position += found[0].length;
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

/**
 * The regular expression over encoded fact paths that a path with `match()` stands for: names count as patterns too
 * (spec/query.md 3.9). Unanchored.
 */
export function pathPattern(parts: readonly PathPart[]): string {
  const segments: string[] = [];
  for (const part of parts) {
    if (part.kind === 'match') segments.push(part.pattern);
    else {
      segments.push(part.name);
      if (part.kind === 'indexed') segments.push(String(part.index));
    }
  }
  return segments.join('#~');
}

/** The same path with indexes dropped: what `null?` looks at. */
export const withoutIndexes = (parts: readonly PathPart[]): readonly PathPart[] =>
  parts.map((part) => (part.kind === 'indexed' ? { kind: 'name', name: part.name, quoted: false } : part));
