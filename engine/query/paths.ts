// Fact paths: their encoded text, the leaves of a value, and the path operators. A path is a list of object keys (strings)
// and array indexes (numbers), as clients write it (spec/query.md 3.8, 3.9).

import { isArray, isObject, type JsonValue } from '../json/value.ts';
import { compileRegex } from './regex/regex.ts';
import type { PathPart } from './tree.ts';

export type FactPath = readonly (string | number)[];

const DIGITS = /^[0-9]+$/;
const SEPARATOR = '#~';

/** Elements joined by `#~`: an index as digits, a key of digits in quotes, `#~` inside a key escaped. */
export function encodePath(path: FactPath): string {
  let out = '';
  for (let i = 0; i < path.length; i++) out += (i === 0 ? '' : SEPARATOR) + encodeElement(path[i]!);
  return out;
}

function encodeElement(element: string | number): string {
  if (typeof element === 'number') return String(element);
  if (DIGITS.test(element)) return `"${element}"`;
  return element.includes(SEPARATOR) ? element.replaceAll(SEPARATOR, '\\#\\~') : element;
}

/**
 * Visits every leaf (string, number, Boolean, null) below a fact. The path array is reused: copy what is kept. Empty arrays
 * and objects have no leaf. Iterative in memory, recursive in depth (bounded by the parser's depth limit).
 */
export function leaves(name: string, value: JsonValue, visit: (path: FactPath, leaf: JsonValue) => void): void {
  const path: (string | number)[] = [name];
  descend(value, path, visit);
}

function descend(value: JsonValue, path: (string | number)[], visit: (path: FactPath, leaf: JsonValue) => void): void {
  if (isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      path.push(i);
      descend(value[i]!, path, visit);
      path.pop();
    }
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      path.push(key);
      descend(value[key]!, path, visit);
      path.pop();
    }
  } else visit(path, value);
}

/**
 * `~>`: `elements` for fact_contents (as many elements as the pattern, each regex unanchored), `encoded` for fact_paths (one
 * regex over the encoded path, anchored at both ends).
 */
export function pathMatcher(pattern: FactPath, mode: 'elements' | 'encoded'): (path: FactPath) => boolean {
  if (pattern.length === 0) return () => false;
  return mode === 'elements' ? elementMatcher(pattern) : encodedMatcher(pattern);
}

function elementMatcher(pattern: FactPath): (path: FactPath) => boolean {
  const tests = pattern.map((wanted): ((element: string | number) => boolean) => {
    if (typeof wanted === 'number') return (element) => element === wanted;
    const matcher = compileRegex(wanted);
    if (DIGITS.test(wanted)) return (element) => typeof element === 'string' && matcher.test(element);
    return (element) => matcher.test(String(element));
  });
  return (path) => {
    if (path.length !== tests.length) return false;
    for (let i = 0; i < tests.length; i++) if (!tests[i]!(path[i]!)) return false;
    return true;
  };
}

function encodedMatcher(pattern: FactPath): (path: FactPath) => boolean {
  const text = pattern
    .map((element) => {
      if (typeof element === 'number') return String(element);
      if (DIGITS.test(element)) return `"${element}"`;
      // A wildcard stays within its element.
      return element.replace(/\.(\*|\+|\{\d*,?\d*\})/g, '(?:(?!#~).)$1');
    })
    .join(SEPARATOR);
  const matcher = compileRegex(`^${text}$`);
  return (path) => matcher.test(encodePath(path));
}

/** The stored paths that a dotted path with `match()` parts stands for (spec/query.md 3.9). `paths`: encoded text -> path. */
export function matchPaths(parts: readonly PathPart[], paths: ReadonlyMap<string, FactPath>): FactPath[] {
  const text = parts
    .map((part) =>
      part.kind === 'match'
        ? part.pattern
        : part.kind === 'indexed'
          ? `${part.name}${SEPARATOR}${part.index}`
          : part.name,
    )
    .join(SEPARATOR);
  const matcher = compileRegex(text);
  const out: FactPath[] = [];
  for (const [encoded, path] of paths) if (matcher.test(encoded)) out.push(path);
  return out;
}
