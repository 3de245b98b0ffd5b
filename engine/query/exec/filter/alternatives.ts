// Alternatives that ask one thing for one value each, put together: `a = 1 or a = 2` is `a in [1, 2]`. Clients write long lists
// like that. As one condition they are looked up in an index, and tested at once instead of one after the other. What is
// negated is taken apart: of `not (a or b)` each part is a condition of its own, which an index or the node may decide.

import type { Filter } from '../../tree.ts';

type ListFilter = Extract<Filter, { kind: 'in' | 'value-in' | 'parameter' }>;

/** The same filter: true, false and unknown for the same rows. Conditions that stay as they are stay the same objects. */
export function gathered(filter: Filter): Filter {
  switch (filter.kind) {
    case 'and':
      return { kind: 'and', args: filter.args.map(gathered) };
    case 'or':
      return anyOf(filter.args.map(gathered).flatMap(alternatives));
    case 'not':
      return negated(gathered(filter.arg));
    default:
      return filter;
  }
}

/** The opposite of a filter: only what has no parts is negated in it. */
function negated(filter: Filter): Filter {
  if (filter.kind === 'not') return filter.arg;
  if (filter.kind === 'order') return { ...filter, op: OPPOSITE[filter.op] };
  if (filter.kind === 'and') return { kind: 'or', args: filter.args.map(negated) };
  if (filter.kind === 'or') return { kind: 'and', args: filter.args.map(negated) };
  return { kind: 'not', arg: filter };
}

const OPPOSITE = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' } as const;

/** Fewer alternatives are gone through as they are. */
export const ALTERNATIVES_MIN = 20;

/** Of what one has to hold, as it is written. */
export const alternatives = (filter: Filter): readonly Filter[] =>
  filter.kind === 'or' ? filter.args.flatMap(alternatives) : [filter];

/** What has to hold, all of it, as it is written. */
export const conjuncts = (filter: Filter): readonly Filter[] =>
  filter.kind === 'and' ? filter.args.flatMap(conjuncts) : [filter];

/** Of a conjunction: by field, the texts that it may be. Where it is another text the conjunction is false. */
export function textsByField(filter: Filter): ReadonlyMap<string, readonly string[]> {
  const texts = new Map<string, readonly string[]>();
  for (const part of conjuncts(filter)) {
    const list = listOf(part);
    if (list?.kind === 'in' && !texts.has(list.field)) texts.set(list.field, list.values as readonly string[]);
  }
  return texts;
}

/** By field of which every alternative says which texts it may be: all these texts together. `isServed`: whether the field is wanted. */
export function commonTexts(
  args: readonly Filter[],
  isServed: (field: string) => boolean,
): ReadonlyMap<string, ReadonlySet<string>> {
  const [first] = args;
  const fields = first === undefined ? [] : [...textsByField(first).keys()].filter(isServed);
  const common = new Map(fields.map((field) => [field, new Set<string>()]));
  for (const arg of args) {
    if (common.size === 0) break;
    const texts = textsByField(arg);
    for (const [field, all] of common) {
      const own = texts.get(field);
      if (own === undefined) common.delete(field);
      else for (const text of own) all.add(text);
    }
  }
  return common;
}

/** Alternatives that can become one, and where they are. */
interface Group {
  readonly place: number;
  readonly filters: Filter[];
}

function anyOf(args: readonly Filter[]): Filter {
  const groups = new Map<string, Group>();
  const all: Filter[] = [];
  for (const arg of args) {
    const key = keyOf(arg);
    const group = key === null ? undefined : groups.get(key);
    if (group !== undefined) {
      group.filters.push(arg);
      continue;
    }
    if (key !== null) groups.set(key, { place: all.length, filters: [arg] });
    all.push(arg);
  }
  for (const { place, filters } of groups.values()) if (filters.length > 1) all[place] = oneOf(filters);
  return all.length === 1 ? (all[0] as Filter) : { kind: 'or', args: all };
}

/** Equal for alternatives that can become one; null: this one cannot. Times stay as they are: they have an index of their own. */
function keyOf(filter: Filter): string | null {
  const list = listOf(filter);
  if (list === null) return null;
  return `${list.kind} ${list.kind === 'parameter' ? list.name : list.field}`;
}

function listOf(filter: Filter): ListFilter | null {
  switch (filter.kind) {
    case 'eq':
      if (filter.nullSafe || typeof filter.value !== 'string') return null;
      return { kind: 'in', field: filter.field, values: [filter.value] };
    case 'in':
      // An empty one is false where others are unknown.
      return filter.values.length > 0 && filter.values.every((value) => typeof value === 'string') ? filter : null;
    case 'value-in':
      return filter;
    case 'parameter':
      return filter.op === '=' ? filter : null;
    default:
      return null;
  }
}

/** Alternatives of one key. */
function oneOf(filters: readonly Filter[]): ListFilter {
  const lists = filters.map((filter) => listOf(filter) as ListFilter);
  const first = lists[0] as ListFilter;
  if (first.kind === 'parameter') {
    const [text, ...others] = lists.flatMap((list) =>
      list.kind === 'parameter' ? [list.text, ...(list.others ?? [])] : [],
    );
    return { ...first, text: text as string, others };
  }
  return { ...first, values: lists.flatMap<unknown>((list) => ('values' in list ? list.values : [])) } as ListFilter;
}
