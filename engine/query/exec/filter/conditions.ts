// A filter as a list of conditions that all have to hold, told apart by what they read: the node, the item (or report), its sub-row, or the node
// together with the rest. What follows from them for items is in item-paths.ts, for reports in report-plan.ts.

import type { Filter } from '../../tree.ts';
import { conjuncts, gathered } from './alternatives.ts';
import { type CompileScope, depsOf, NODE, SUB } from './filter.ts';

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

/** Takes a filter apart. null: no condition. */
export function splitFilter(filter: Filter | null, scope: CompileScope): SplitFilter {
  const split = { node: [] as Filter[], item: [] as Filter[], sub: [] as Filter[], mixed: [] as Filter[] };
  for (const part of conditionsOf(filter)) {
    const deps = depsOf(part, scope);
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
  filter === null ? [] : conjuncts(gathered(filter));

/** The other way round: several conditions as one filter; null: there is none. */
export const all = (filters: readonly Filter[]): Filter | null =>
  filters.length === 0 ? null : filters.length === 1 ? filters[0]! : { kind: 'and', args: filters };

/** Texts one of which the field has to be; null: no condition says so. */
export const equalTo = (filters: readonly Filter[], field: string): readonly string[] | null => {
  for (const f of filters) {
    if (f.kind === 'eq' && f.field === field && typeof f.value === 'string') return [f.value];
    if (f.kind === 'in' && f.field === field) return f.values.map(String);
  }
  return null;
};
