// Which index leads to the items that the conditions can be true for: of those that fit the one with the fewest entries, by the partition's
// own counts; of alternatives one each. Plain data, so that tests compare it and `explain` prints it.

import type { EntityName } from '../../../../schemas/entities.ts';
import { storedText } from '../../../json/stored.ts';
import {
  FACT_BY_NAME,
  PACKAGE_BY_NAME,
  RESOURCE_BY_TAG,
  RESOURCE_BY_TITLE,
  RESOURCE_BY_TYPE,
  RESOURCE_BY_TYPE_TITLE,
  RESOURCE_EXPORTED,
} from '../../../store/items/dictionaries.ts';
import type { View } from '../../../store/view.ts';
import type { CompileRegex } from '../../regex/regex.ts';
import type { Filter } from '../../tree.ts';
import { conjuncts } from '../filter/alternatives.ts';
import { equalTo } from '../filter/conditions.ts';
import { dictionaryOf, traitsOf, type ViewDictionary } from '../row/entities.ts';

/** What holds every item the conditions can be true for. */
export type ItemAccessPath = (IndexKeys | FoundItems | AnyOf) & {
  /** Name of the index, or of several. */
  readonly index: string;
  /** Estimated number of items. */
  readonly estimate: number;
};

/** Index entries. */
interface IndexKeys {
  readonly kind: 'keys';
  readonly tag: number;
  readonly keys: readonly (readonly string[])[];
  /** Fields whose conditions it covers. */
  readonly fields: readonly string[];
  /** A condition on the text that follows in the index: what fails it is not read. */
  readonly next?: (text: string) => boolean;
}

/** Items that were found by themselves. */
interface FoundItems {
  readonly kind: 'found';
  readonly items: Uint32Array;
  readonly fields: readonly string[];
}

/** One path for each alternative of a condition. */
interface AnyOf {
  readonly kind: 'any';
  readonly paths: readonly ItemAccessPath[];
  readonly filter: Filter;
}

type IndexPath = IndexKeys & { readonly index: string };

const ESTIMATE_MAX = 20_000;

/** Fewer entries of nodes' lists are looked at sooner than a value is looked up under all names. */
const UNNAMED_MIN = 4096;

/** More keys than that are not worth looking up: those of a long list, or of the pairs of two, of types and titles or of names and values. */
const KEYS_MAX = 10_000;

type PathMaker = (filters: readonly Filter[], view: View, regex: CompileRegex) => IndexPath[];

/** By the texts of one field, which the index is called by. */
const byField = (field: string, tag: number, texts: readonly string[]): IndexPath => ({
  kind: 'keys',
  index: field,
  tag,
  keys: texts.map((text) => [text]),
  fields: [field],
});

const resourcePaths: PathMaker = (filters) => {
  const paths: IndexPath[] = [];
  const types = equalTo(filters, 'type');
  const titles = equalTo(filters, 'title');
  if (types && titles && types.length * titles.length <= KEYS_MAX) {
    const keys = types.flatMap((type) => titles.map((title) => [type, title]));
    paths.push({ kind: 'keys', index: 'type and title', tag: RESOURCE_BY_TYPE_TITLE, keys, fields: ['type', 'title'] });
  } else {
    if (types) paths.push(byField('type', RESOURCE_BY_TYPE, types));
    if (titles) paths.push(byField('title', RESOURCE_BY_TITLE, titles));
  }
  for (const f of filters) {
    if (f.kind === 'member' && (f.field === 'tag' || f.field === 'tags'))
      paths.push({ kind: 'keys', index: 'tag', tag: RESOURCE_BY_TAG, keys: [[f.value]], fields: ['tag', 'tags'] });
    if (f.kind === 'eq' && f.field === 'exported' && f.value === true)
      paths.push({ kind: 'keys', index: 'exported', tag: RESOURCE_EXPORTED, keys: [[]], fields: ['exported'] });
  }
  return paths;
};

const factPaths: PathMaker = (filters, view, regex) => {
  const paths: IndexPath[] = [];
  const byNames = (names: readonly string[]): void => {
    paths.push(byField('name', FACT_BY_NAME, [...new Set(names)]));
  };
  const names = equalTo(filters, 'name');
  if (names) byNames(names);
  for (const f of filters) {
    if (f.kind === 'path-eq') byNames(f.paths.filter((p) => p.length > 0).map((p) => String(p[0])));
    else if (f.kind === 'path-match' && typeof f.pattern[0] === 'string') byNames(namesLike(f.pattern[0], view, regex));
    else if (f.kind === 'regex' && f.field === 'name') byNames(namesLike(f.pattern, view, regex));
  }
  return paths;
};

const packagePaths: PathMaker = (filters) => {
  const names = equalTo(filters, 'package_name');
  return names ? [byField('package_name', PACKAGE_BY_NAME, names)] : [];
};

const PATHS: Readonly<Record<ViewDictionary, PathMaker>> = {
  resources: resourcePaths,
  facts: factPaths,
  edges: () => [],
  packages: packagePaths,
};

/** Texts up to this many characters stand whole in an index key, which holds 480 bytes of each. */
const WHOLE_TEXT_MAX = 120;

/**
 * Whether the index tells exactly which items pass: every condition is one that the path was made from, and none of its
 * texts is so long that another one may share its key.
 */
export function isExact(path: ItemAccessPath, filters: readonly Filter[]): boolean {
  if (path.kind !== 'keys') return false;
  const { fields, keys } = path;
  if (filters.length !== fields.length) return false;
  for (const f of filters) {
    if ((f.kind !== 'eq' && f.kind !== 'in') || !fields.includes(f.field)) return false;
  }
  return keys.every((texts) => texts.every((text) => text.length <= WHOLE_TEXT_MAX));
}

/** Whether the path takes the condition into account: its estimate needs no share for it. */
export const covers = (path: ItemAccessPath, filter: Filter): boolean =>
  path.kind === 'any' ? filter === path.filter : 'field' in filter && path.fields.includes(filter.field);

/** The smallest index range that covers the conditions, null when no index helps. `entries`: of the nodes' lists that are looked at then. */
export function itemAccessPath(
  entity: EntityName,
  filters: readonly Filter[],
  view: View,
  regex: CompileRegex,
  entries = 0,
): ItemAccessPath | null {
  const exact = exactFacts(entity, filters, view, regex, entries);
  if (exact !== null) return exact;
  const dictionary = dictionaryOf(entity, view);
  let best: ItemAccessPath | null = null;
  for (const path of PATHS[traitsOf(entity).dictionary!](filters, view, regex)) {
    if (path.keys.length > KEYS_MAX) continue;
    let estimate = 0;
    for (const key of path.keys) {
      estimate += dictionary.estimate(path.tag, key, ESTIMATE_MAX);
      if (best !== null && estimate >= best.estimate) break;
    }
    if (best === null || estimate < best.estimate) best = { ...path, estimate };
  }
  for (const filter of filters) {
    if (filter.kind === 'or') best = anyOfPaths(entity, filter, view, regex, best?.estimate) ?? best;
  }
  return best === null ? null : byNextText(best, filters, regex);
}

/** One path for each alternative; null when one has none, when they are too many, or when they hold no fewer items than `below`. */
function anyOfPaths(
  entity: EntityName,
  filter: Extract<Filter, { kind: 'and' | 'or' }>,
  view: View,
  regex: CompileRegex,
  below = Number.POSITIVE_INFINITY,
): ItemAccessPath | null {
  const paths: ItemAccessPath[] = [];
  let keys = 0;
  let estimate = 0;
  for (const alternative of filter.args) {
    const path = itemAccessPath(entity, conjuncts(alternative), view, regex);
    if (path === null) return null;
    keys += Math.max(1, keyCount(path));
    estimate += path.estimate;
    if (keys > KEYS_MAX || estimate >= below) return null;
    paths.push(path);
  }
  if (paths.length === 0) return null;
  const index = [...new Set(paths.map((path) => path.index))].join(' or ');
  return { kind: 'any', index, paths, filter, estimate };
}

/** Entries of indexes to read. */
function keyCount(path: ItemAccessPath): number {
  if (path.kind === 'any') return path.paths.reduce((sum, alternative) => sum + Math.max(1, keyCount(alternative)), 0);
  return path.kind === 'keys' ? path.keys.length : path.items.length;
}

/** Patterns for titles are looked for in the index of types and titles, which is smaller than the resources. */
function byNextText(path: ItemAccessPath, filters: readonly Filter[], regex: CompileRegex): ItemAccessPath {
  if (path.kind !== 'keys' || path.tag !== RESOURCE_BY_TYPE) return path;
  for (const f of filters) {
    if (f.kind !== 'regex' || f.field !== 'title') continue;
    const matcher = regex(f.pattern);
    return { ...path, index: 'type and title', tag: RESOURCE_BY_TYPE_TITLE, next: (title) => matcher.test(title) };
  }
  return path;
}

/**
 * Facts with text values are found by their digests, under the names that are asked for or under all that there are. Null when the conditions
 * are not of that kind.
 */
function exactFacts(
  entity: EntityName,
  filters: readonly Filter[],
  view: View,
  regex: CompileRegex,
  entries: number,
): ItemAccessPath | null {
  const { dictionary, sub } = traitsOf(entity);
  // Leaves have values of their own.
  if (dictionary !== 'facts' || sub !== null) return null;
  const values = filters.find((f) => f.kind === 'value-in' && f.values.every((v) => typeof v === 'string'));
  if (values === undefined || values.kind !== 'value-in') return null;
  const names = equalTo(filters, 'name') ?? (entries < UNNAMED_MIN ? null : namesOf(filters, view, regex));
  if (names === null || names.length * values.values.length > KEYS_MAX) return null;
  const found = new Set<number>();
  for (const name of names) {
    for (const value of values.values) found.add(view.facts.find({ name, value: storedText(value) }));
  }
  found.delete(0);
  const items = Uint32Array.from(found).sort();
  return { kind: 'found', index: 'name and value', items, fields: ['name', 'value'], estimate: items.length };
}

/** Names of the facts that there are, as far as a pattern does not leave them out. */
function namesOf(filters: readonly Filter[], view: View, regex: CompileRegex): readonly string[] {
  const pattern = filters.find((f) => f.kind === 'regex' && f.field === 'name');
  return pattern?.kind === 'regex' ? namesLike(pattern.pattern, view, regex) : view.factNames();
}

function namesLike(pattern: string, view: View, regex: CompileRegex): readonly string[] {
  const matcher = regex(pattern);
  return view.factNames().filter((name) => matcher.test(name));
}

/** The path's items, ascending. */
export function itemsOf(path: ItemAccessPath, entity: EntityName, view: View): Uint32Array {
  if (path.kind === 'found') return path.items;
  if (path.kind === 'any') return union(path.paths.map((alternative) => itemsOf(alternative, entity, view)));
  const dictionary = dictionaryOf(entity, view);
  const { next } = path;
  const lookup = (key: readonly string[]): Uint32Array =>
    next === undefined ? dictionary.lookup(path.tag, key) : dictionary.lookupNext(path.tag, key, next);
  const [only] = path.keys;
  if (path.keys.length === 1 && only) return lookup(only);
  return union(path.keys.map(lookup));
}

function union(lists: readonly Uint32Array[]): Uint32Array {
  const items = new Set<number>();
  for (const list of lists) for (const id of list) items.add(id);
  return Uint32Array.from(items).sort();
}

/** Items that the order of a page was found to reach (narrowing.ts). */
export const foundItems = (items: Uint32Array): ItemAccessPath => ({
  kind: 'found',
  index: 'order',
  items,
  fields: [],
  estimate: items.length,
});
