// Conditions that look at a node and an item together, such as a node's name or a resource's type, or a tag that may be a node's own: which
// rows they can be true for. These are all rows of some nodes and, of the others, those of some items. Only such rows are looked at.

import { NodeSet } from '../../store/node-set.ts';
import type { Filter } from '../tree.ts';
import type { Either } from './cursor.ts';
import { compileFilter, ITEM, isCertname, NODE } from './filter.ts';
import { type ItemAccessPath, itemAccessPath, itemsOf } from './item-paths.ts';
import { rowsOfPlan, sizeOf } from './item-plan.ts';
import { ItemStates } from './item-states.ts';
import { evaluateNodes } from './node-filter.ts';
import type { Row } from './row.ts';
import type { Source } from './source.ts';
import { TRUE } from './truth.ts';

const TICK_ITEMS = 63;

/** Rows of `nodes` that all of the conditions can be true for, as one of them tells; null: none does. */
export function* eitherOf(
  filters: readonly Filter[],
  nodes: NodeSet,
  row: Row,
  source: Source,
): Generator<undefined, Either | null> {
  const rows = rowsOfPlan(source.entity, source.items.plan(row, nodes), row.view);
  for (const filter of filters) {
    if (!isTold(filter, source) || itemsToRead(filter, row, source) > rows) continue;
    const either = {
      nodes: new NodeSet(row.view.maxNodeId + 1),
      items: new ItemStates(source.items.dictionary(row.view).end),
    };
    yield* add(filter, nodes, row, source, either);
    return either;
  }
  return null;
}

const depsOf = (filter: Filter, source: Source): number => compileFilter(filter, source.scope).deps;

/** Whether nodes and items tell which rows the condition can be true for. */
function isTold(filter: Filter, source: Source): boolean {
  if (filter.kind === 'or') return filter.args.every((arg) => isTold(arg, source));
  const deps = depsOf(filter, source);
  if (deps === NODE || deps === ITEM || isOwnTag(filter, source)) return true;
  return filter.kind === 'and' && filter.args.some((arg) => isTold(arg, source));
}

/** Whether it asks for a tag that is a certname: only that node has it as its own. */
const isOwnTag = (filter: Filter, { traits, ctx }: Source): filter is Extract<Filter, { kind: 'member' }> =>
  filter.kind === 'member' && traits.dictionary === 'resources' && isCertname(filter.value, ctx);

function* add(filter: Filter, nodes: NodeSet, row: Row, source: Source, into: Either): Generator<undefined, void> {
  if (isOwnTag(filter, source)) {
    const own = row.view.nodeId(filter.value);
    if (own !== 0 && nodes.has(own)) into.nodes.add(own);
    yield* addItems(filter, row, source, into);
  } else if (depsOf(filter, source) === NODE) {
    into.nodes.union((yield* evaluateNodes(filter, nodes, row, source.scope)).yes);
  } else if (depsOf(filter, source) === ITEM) yield* addItems(filter, row, source, into);
  else if (filter.kind === 'or') for (const arg of filter.args) yield* add(arg, nodes, row, source, into);
  else if (filter.kind === 'and') yield* add(tellingOf(filter.args, source), nodes, row, source, into);
}

/** Of conditions that all have to be true the one that is gone by: of few nodes all rows are fewer than of some items all nodes. */
function tellingOf(args: readonly Filter[], source: Source): Filter {
  const told = args.filter((arg) => isTold(arg, source));
  return told.find((arg) => depsOf(arg, source) === NODE) ?? told[0]!;
}

const pathOf = (filter: Filter, { view }: Row, { entity, ctx }: Source): ItemAccessPath | null =>
  itemAccessPath(entity, filter.kind === 'and' ? filter.args : [filter], view, ctx.regex);

/** How many items `add` looks at. */
function itemsToRead(filter: Filter, row: Row, source: Source): number {
  const deps = depsOf(filter, source);
  if (deps === NODE) return 0;
  if (deps === ITEM || isOwnTag(filter, source)) {
    return pathOf(filter, row, source)?.estimate ?? sizeOf(source.entity, row.view).bodies;
  }
  if (filter.kind === 'and') return itemsToRead(tellingOf(filter.args, source), row, source);
  return filter.kind === 'or' ? filter.args.reduce((sum, arg) => sum + itemsToRead(arg, row, source), 0) : 0;
}

/** Items that the condition can be true for: those of an index, or those that pass. */
function* addItems(filter: Filter, row: Row, source: Source, into: Either): Generator<undefined, void> {
  const path = pathOf(filter, row, source);
  if (path !== null) {
    for (const item of itemsOf(path, source.entity, row.view)) into.items.set(item, 1);
    return;
  }
  const dictionary = source.items.dictionary(row.view);
  const reader = dictionary.reader();
  const { test } = compileFilter(filter, source.scope);
  const items = dictionary.ids();
  for (let i = 0; i < items.length; i++) {
    if ((i & TICK_ITEMS) === TICK_ITEMS && source.ctx.tick()) yield;
    row.itemId = items[i]!;
    row.body = reader.read(row.itemId);
    if (test(row) === TRUE) into.items.set(row.itemId, 1);
  }
}
