// The plan: plain data that says how a tree is executed on a partition. Conditions are split by what they depend on; the
// cheapest access path is chosen per partition from the store's own counts. Tests compare plans; `explain` prints them.

import type { EntityName } from '../../../schemas/entities.ts';
import { storedText } from '../../json/stored.ts';
import {
  FACT_BY_NAME,
  PACKAGE_BY_NAME,
  RESOURCE_BY_TAG,
  RESOURCE_BY_TITLE,
  RESOURCE_BY_TYPE,
  RESOURCE_BY_TYPE_TITLE,
  RESOURCE_EXPORTED,
} from '../../store/dictionaries.ts';
import type { Clock, TimeSpan } from '../../store/report-times.ts';
import type { View } from '../../store/view.ts';
import type { CompileRegex } from '../regex/regex.ts';
import type { CompareOp, Filter, QueryTree } from '../tree.ts';
import { gathered } from './alternatives.ts';
import { type DictionaryName, dictionaryOf, traitsOf } from './entities.ts';
import { type CompileScope, compileFilter, NODE, SUB } from './filter.ts';

/** The filter's conjuncts by what they read. */
export interface SplitFilter {
  /** Read the node only. */
  readonly node: readonly Filter[];
  /** Read the item (or report) only. */
  readonly item: readonly Filter[];
  /** Read the item and its sub-row. */
  readonly sub: readonly Filter[];
  /** Read the node together with the rest. */
  readonly mixed: readonly Filter[];
}

export function splitFilter(filter: Filter | null, scope: CompileScope): SplitFilter {
  const split = { node: [] as Filter[], item: [] as Filter[], sub: [] as Filter[], mixed: [] as Filter[] };
  for (const part of conditionsOf(filter)) {
    const { deps } = compileFilter(part, scope);
    const group =
      (deps & ~NODE) === 0
        ? split.node
        : (deps & NODE) !== 0
          ? split.mixed
          : (deps & SUB) !== 0
            ? split.sub
            : split.item;
    group.push(part);
  }
  return split;
}

/** The filter's conjuncts, once alternatives are put together and what is negated is taken apart. */
export const conditionsOf = (filter: Filter | null): readonly Filter[] =>
  conjuncts(filter === null ? null : gathered(filter));

export function conjuncts(filter: Filter | null): readonly Filter[] {
  if (filter === null) return [];
  return filter.kind === 'and' ? filter.args.flatMap(conjuncts) : [filter];
}

export const all = (filters: readonly Filter[]): Filter | null =>
  filters.length === 0 ? null : filters.length === 1 ? filters[0]! : { kind: 'and', args: filters };

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

const equalTo = (filters: readonly Filter[], field: string): readonly string[] | null => {
  for (const f of filters) {
    if (f.kind === 'eq' && f.field === field && typeof f.value === 'string') return [f.value];
    if (f.kind === 'in' && f.field === field) return f.values.map(String);
  }
  return null;
};

/** More keys than that are not worth looking up: those of a long list, or of the pairs of two, of types and titles or of names and values. */
const KEYS_MAX = 10_000;

type PathMaker = (filters: readonly Filter[], view: View, regex: CompileRegex) => IndexPath[];

const resourcePaths: PathMaker = (filters) => {
  const paths: IndexPath[] = [];
  const types = equalTo(filters, 'type');
  const titles = equalTo(filters, 'title');
  if (types && titles && types.length * titles.length <= KEYS_MAX) {
    const keys = types.flatMap((type) => titles.map((title) => [type, title]));
    paths.push({ kind: 'keys', index: 'type and title', tag: RESOURCE_BY_TYPE_TITLE, keys, fields: ['type', 'title'] });
  } else {
    if (types)
      paths.push({
        kind: 'keys',
        index: 'type',
        tag: RESOURCE_BY_TYPE,
        keys: types.map((type) => [type]),
        fields: ['type'],
      });
    if (titles)
      paths.push({
        kind: 'keys',
        index: 'title',
        tag: RESOURCE_BY_TITLE,
        keys: titles.map((title) => [title]),
        fields: ['title'],
      });
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
    paths.push({
      kind: 'keys',
      index: 'name',
      tag: FACT_BY_NAME,
      keys: [...new Set(names)].map((name) => [name]),
      fields: ['name'],
    });
  };
  const names = equalTo(filters, 'name');
  if (names) byNames(names);
  for (const f of filters) {
    if (f.kind === 'path-eq') byNames(f.paths.filter((p) => p.length > 0).map((p) => String(p[0])));
    else if (f.kind === 'path-match' && typeof f.pattern[0] === 'string') {
      const matcher = regex(f.pattern[0]);
      byNames(view.factNames().filter((name) => matcher.test(name)));
    } else if (f.kind === 'regex' && f.field === 'name') {
      const matcher = regex(f.pattern);
      byNames(view.factNames().filter((name) => matcher.test(name)));
    }
  }
  return paths;
};

const packagePaths: PathMaker = (filters) => {
  const names = equalTo(filters, 'package_name');
  return names
    ? [
        {
          kind: 'keys',
          index: 'package_name',
          tag: PACKAGE_BY_NAME,
          keys: names.map((name) => [name]),
          fields: ['package_name'],
        },
      ]
    : [];
};

const PATHS: Readonly<Record<DictionaryName, PathMaker>> = {
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

/** The smallest index range that covers the conditions, null when no index helps. */
export function itemAccessPath(
  entity: EntityName,
  filters: readonly Filter[],
  view: View,
  regex: CompileRegex,
): ItemAccessPath | null {
  const exact = exactFacts(entity, filters, view);
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

/** Facts with certain names and text values are found by their digests. Null when the conditions are not of that kind. */
function exactFacts(entity: EntityName, filters: readonly Filter[], view: View): ItemAccessPath | null {
  const { dictionary, sub } = traitsOf(entity);
  // Leaves have values of their own.
  if (dictionary !== 'facts' || sub !== null) return null;
  const names = equalTo(filters, 'name');
  const values = filters.find((f) => f.kind === 'value-in' && f.values.every((v) => typeof v === 'string'));
  if (names === null || values === undefined || values.kind !== 'value-in') return null;
  if (names.length * values.values.length > KEYS_MAX) return null;
  const found = new Set<number>();
  for (const name of names) {
    for (const value of values.values) found.add(view.facts.find({ name, value: storedText(value) }));
  }
  found.delete(0);
  const items = Uint32Array.from(found).sort();
  return { kind: 'found', index: 'name and value', items, fields: ['name', 'value'], estimate: items.length };
}

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

/** How the rows of an item entity are produced on one partition. */
export interface ItemPlan {
  readonly drive: 'items' | 'nodes';
  /** null: every item. */
  readonly path: ItemAccessPath | null;
  readonly nodes: number;
  readonly costItems: number;
  readonly costNodes: number;
}

/** Costs in microseconds, from measurements of the store: a body read and tested, an entry of a node's list looked at. */
const COST_BODY = 3;
const COST_POSTINGS = 1.5;
const COST_ENTRY = 0.08;
const COST_NODE = 2;

/** Rows of an item entity on a partition (those of edges are not counted: as many as there are resources), and its items. */
export function sizeOf(entity: EntityName, view: View): { readonly rows: number; readonly bodies: number } {
  const kind = traitsOf(entity).dictionary!;
  const rows = {
    resources: view.counts.resources,
    facts: view.counts.facts,
    packages: view.counts.packages,
    edges: view.counts.resources,
  }[kind];
  return { rows, bodies: Math.min(rows, view.state.nextItem[DICTIONARY_NAME[kind]] ?? 1) };
}

/** Microseconds, measured: a node's list read, and an entry of it looked up in an array over all items. */
const COST_LIST = 1;
const COST_LOOKED_UP = 0.01;

/** Whether reading the lists of so many nodes is cheaper than finding the nodes of so many items. `perEntry`: what an entry costs then. */
export function readsLists(
  entity: EntityName,
  view: View,
  nodes: number,
  items: number,
  perEntry = COST_LOOKED_UP,
): boolean {
  const perNode = sizeOf(entity, view).rows / Math.max(1, view.counts.nodes);
  return nodes * (COST_LIST + perNode * perEntry) <= items * COST_POSTINGS;
}

/** Items of an entity, how many rows one has over all nodes, and how many nodes there are. */
export function rowsPerItem(
  entity: EntityName,
  view: View,
): { readonly items: number; readonly perItem: number; readonly having: number } {
  const { rows, bodies } = sizeOf(entity, view);
  return { items: bodies, perItem: bodies === 0 ? 0 : rows / bodies, having: view.counts.nodes };
}

/** Rows that the plan's items have on its nodes. */
export function rowsOfPlan(entity: EntityName, plan: ItemPlan, view: View): number {
  const { items, perItem, having } = rowsPerItem(entity, view);
  const ofNodes = (items * perItem * plan.nodes) / Math.max(1, having);
  return Math.min(ofNodes, (plan.path?.estimate ?? items) * perItem);
}

/** Items that the order of a page was found to reach (narrowing.ts). */
export const foundItems = (items: Uint32Array): ItemAccessPath => ({
  kind: 'found',
  index: 'order',
  items,
  fields: [],
  estimate: items.length,
});

/** `found`: where the items are known already. */
export function planItems(
  entity: EntityName,
  filters: readonly Filter[],
  nodes: number,
  view: View,
  regex: CompileRegex,
  found: ItemAccessPath | null = null,
): ItemPlan {
  const { rows, bodies } = sizeOf(entity, view);
  const perNode = rows / Math.max(1, view.counts.nodes);
  const path = found ?? itemAccessPath(entity, filters, view, regex);
  const items = path?.estimate ?? bodies;
  const costItems = items * (COST_BODY + COST_POSTINGS);
  const costNodes = nodes * (COST_NODE + perNode * COST_ENTRY) + Math.min(bodies, nodes * perNode) * COST_BODY;
  const isSelective = filters.length > 0 || found !== null;
  const drive = isSelective && costItems < costNodes ? 'items' : 'nodes';
  return { drive, path, nodes, costItems: Math.round(costItems), costNodes: Math.round(costNodes) };
}

const DICTIONARY_NAME = { resources: 'resource', facts: 'fact', edges: 'edge', packages: 'package' } as const;

/** An order in which a page of rows is found soonest by the producer times of reports. */
export interface TimeOrder {
  readonly descending: boolean;
  /** How many of them lead to the end of the page. */
  readonly rows: number;
  /** Of a time of that clock, which lies near it: rows come in that order but for as much. null: of the producer's. */
  readonly clock: Clock | null;
}

/** null: it is no time that the index of producer times narrows. */
const clockOf = (entity: EntityName, field: string): Clock | 'producer' | null => traitsOf(entity).times[field] ?? null;

/** null: no such order helps. */
export function timeOrderOf({ entity, limit, offset, orderBy: [first] }: QueryTree): TimeOrder | null {
  if (limit === null || first === undefined) return null;
  const { field, descending } = first;
  const clock = clockOf(entity, field);
  return clock === null ? null : { descending, rows: offset + limit, clock: clock === 'producer' ? null : clock };
}

/** What narrows the reports to look at, or puts them in order. */
export type ReportPath =
  | { readonly kind: 'hash'; readonly hashes: readonly string[] }
  | { readonly kind: 'latest' }
  /** `isLastFirst`: of each node what arrived last comes first. */
  | { readonly kind: 'nodes'; readonly isLastFirst?: true }
  | TimePath
  /** They are counted by their kinds. */
  | { readonly kind: 'counted' }
  | { readonly kind: 'all' };

export type NearTimes = Partial<Record<Clock, TimeSpan>>;

/** From the index of producer times. */
export interface TimePath {
  readonly kind: 'time';
  readonly from: number | null;
  readonly to: number | null;
  /** What the rows have to come in. */
  readonly order?: TimeOrder;
  /** By the clocks whose times are asked for, how far they lie from the producer's. Reports for which that is not so are wanted, too. */
  readonly near?: NearTimes;
}

/** Whether only nodes' latest reports pass the condition. */
export const asksForLatest = (filter: Filter): boolean =>
  filter.kind === 'eq' && filter.field === 'latest_report?' && filter.value === true;

export interface ReportsWanted {
  /** The node conditions leave few nodes. */
  readonly narrow: boolean;
  /** They have to come node by node. */
  readonly isByNode: boolean;
  /** What the rows should come in, if they are not few. */
  readonly order: TimeOrder | null;
  /** How far the clock's times of the reports lie from their producers'; null: that does not help. */
  times(clock: Clock): TimeSpan | null;
  /** Whether so few reports are within those times that they are better found by the index than by looking at all. */
  areFew(path: TimePath): boolean;
}

export function reportPath(entity: EntityName, filters: readonly Filter[], wanted: ReportsWanted): ReportPath {
  const { narrow, isByNode } = wanted;
  const { implied, hash } = traitsOf(entity);
  if (implied !== null && asksForLatest(implied)) return { kind: 'latest' };
  const hashes = hash === null ? null : equalTo(filters, hash);
  if (hashes && !isByNode) return { kind: 'hash', hashes };
  if (filters.some(asksForLatest)) return { kind: 'latest' };
  if (isByNode) return { kind: 'nodes', isLastFirst: true };
  if (narrow) return { kind: 'nodes' };
  const path = timePath(entity, filters, wanted);
  return path !== null && (path.order !== undefined || wanted.areFew(path)) ? path : { kind: 'all' };
}

/** The path through producer times that the conditions and the order leave; null: it would lead to all. */
function timePath(entity: EntityName, filters: readonly Filter[], wanted: ReportsWanted): TimePath | null {
  const near: NearTimes = {};
  const spanOf = (clock: Clock): TimeSpan | null => {
    const span = near[clock] ?? wanted.times(clock);
    if (span !== null) near[clock] = span;
    return span;
  };
  const ranges = filters.flatMap((filter) => nearRangeOf(entity, filter, spanOf) ?? []);
  const { from, to } = producerTimes(ranges);
  const inOrder = wanted.order;
  const order = inOrder !== null && inOrder.clock !== null && spanOf(inOrder.clock) === null ? null : inOrder;
  if (from === null && to === null && order === null) return null;
  const isNear = Object.keys(near).length > 0;
  return { kind: 'time', from, to, ...(order === null ? {} : { order }), ...(isNear ? { near } : {}) };
}

/** How far a time lies from itself. */
const EXACT: TimeSpan = { earliest: 0, latest: 0 };

interface TimeRange {
  readonly field: string;
  readonly from: number | null;
  readonly to: number | null;
}

/** By operator, the least, or the greatest, integer that passes. */
const BOUND: Readonly<Record<CompareOp, (value: number) => number>> = {
  '>': (value) => Math.floor(value) + 1,
  '>=': Math.ceil,
  '<': (value) => Math.ceil(value) - 1,
  '<=': Math.floor,
};

/** Milliseconds, both ends included: what passes, exactly. null: it is no condition on a time, nor on another number. */
export function rangeOf(filter: Filter): TimeRange | null {
  if (filter.kind === 'order') {
    const { field, op, value } = filter;
    const bound = BOUND[op](value);
    return op === '>' || op === '>=' ? { field, from: bound, to: null } : { field, from: null, to: bound };
  }
  if (filter.kind !== 'eq' || typeof filter.value !== 'number') return null;
  return { field: filter.field, from: filter.value, to: filter.value };
}

/** What is asked of a time of reports that is the producer's (clock null), or lies near it unless the report is far. */
export interface NearRange extends Omit<TimeRange, 'field'> {
  readonly clock: Clock | null;
  readonly span: TimeSpan;
}

/** null: the condition is not on such a time, or on one of which `spanOf` does not tell how far it lies. */
export function nearRangeOf(
  entity: EntityName,
  filter: Filter,
  spanOf: (clock: Clock) => TimeSpan | null,
): NearRange | null {
  const range = rangeOf(filter);
  if (range === null) return null;
  const { field, from, to } = range;
  const clock = clockOf(entity, field);
  if (clock === 'producer') return { clock: null, span: EXACT, from, to };
  const span = clock === null ? null : spanOf(clock);
  return span === null ? null : { clock, span, from, to };
}

/** Between which producers' times the reports lie that are within all of these; null: there is no bound. */
export function producerTimes(ranges: readonly NearRange[]): {
  readonly from: number | null;
  readonly to: number | null;
} {
  let from: number | null = null;
  let to: number | null = null;
  for (const { span, ...range } of ranges) {
    if (range.from !== null) from = Math.max(from ?? Number.NEGATIVE_INFINITY, range.from - span.latest);
    if (range.to !== null) to = Math.min(to ?? Number.POSITIVE_INFINITY, range.to - span.earliest);
  }
  return { from, to };
}
