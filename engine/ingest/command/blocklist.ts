// Facts that a site does not want stored (setting `facts-blocklist`): removed before hashing and storing. An entry removes
// the top-level fact of that name; with dots in it, also the value at that path (`networking.interfaces`). Patterns must
// match a whole name; those that ask for a dot (`\.` or `[.]`), a whole name or a whole dotted path.

import { type JavaPattern, javaPattern } from '../../java-pattern.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json/value.ts';

/** Removes blocked facts; the same object when nothing is blocked. */
export type FactsFilter = (values: JsonObject) => JsonObject;

/** The filter of an empty list. */
export const keepAll: FactsFilter = (values) => values;

const compiled = new WeakMap<readonly string[], FactsFilter>();

/** Filter for a blocklist, compiled once per list. Throws when a pattern cannot be compiled. */
export function factsFilter(entries: readonly string[], type: 'literal' | 'regex'): FactsFilter {
  let filter = compiled.get(entries);
  if (filter === undefined) {
    filter = entries.length === 0 ? keepAll : type === 'regex' ? byPattern(entries) : byName(entries);
    compiled.set(entries, filter);
  }
  return filter;
}

function byName(entries: readonly string[]): FactsFilter {
  const names = new Set(entries);
  const paths = entries.filter((entry) => entry.includes('.')).map((entry) => entry.split('.'));
  return (values) => {
    let kept = without(values, (key) => names.has(key));
    for (const path of paths) kept = withoutPath(kept, path, 0);
    return kept;
  };
}

function withoutPath(object: JsonObject, path: readonly string[], at: number): JsonObject {
  const key = path[at] as string;
  if (!Object.hasOwn(object, key)) return object;
  if (at === path.length - 1) return without(object, (name) => name === key);
  const child = object[key] as JsonValue;
  if (!isObject(child)) return object;
  const kept = withoutPath(child, path, at + 1);
  return kept === child ? object : replacing(object, key, kept);
}

function byPattern(entries: readonly string[]): FactsFilter {
  const names = entries.map(javaPattern);
  const paths = names.filter((_, i) => /\\\.|\[\.\]/.test(entries[i] as string));
  const prune = (object: JsonObject, patterns: readonly JavaPattern[], prefix: string): JsonObject => {
    const members = Object.entries(object);
    const kept: [string, JsonValue][] = [];
    let isChanged = false;
    for (const [key, value] of members) {
      if (patterns.some((pattern) => pattern.matches(prefix + key))) continue;
      const within = paths.length > 0 && isObject(value) ? prune(value, paths, `${prefix}${key}.`) : value;
      isChanged ||= within !== value;
      kept.push([key, within]);
    }
    return isChanged || kept.length < members.length ? Object.fromEntries(kept) : object;
  };
  return (values) => prune(values, names, '');
}

// Object.fromEntries defines properties, so a key `__proto__` stays data.
function without(object: JsonObject, isDropped: (key: string) => boolean): JsonObject {
  if (!Object.keys(object).some(isDropped)) return object;
  return Object.fromEntries(Object.entries(object).filter(([key]) => !isDropped(key)));
}

const replacing = (object: JsonObject, key: string, value: JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([name, old]) => [name, name === key ? value : old]));
