// Conditions that look at a node and an item together, such as a node's name or a resource's type, or a tag that may be a node's own: which
// rows they can be true for. These are all rows of some nodes and, of the others, those of some items. Only such rows are looked at.

import { NodeSet } from '../../store/node-set.ts';
import type { Filter } from '../tree.ts';
import type { CompiledSelection } from './compiled-selection.ts';
import type { Either } from './cursor.ts';
import { dictionaryOf } from './entities.ts';
import { compileFilter, ITEM, isCertname, NODE } from './filter.ts';
import { type ItemAccessPath, itemAccessPath, itemsOf } from './item-paths.ts';
import { rowsOfPlan, sizeOf } from './item-plan.ts';
import type { ItemSource } from './item-source.ts';
import { ItemStates } from './item-states.ts';
import { evaluateNodes } from './node-filter.ts';
import type { Row } from './row.ts';
import { TRUE } from './truth.ts';

const TICK_ITEMS = 63;

/** Rows of `nodes` that all of the conditions can be true for, as one of them tells; null: none does. */
export function* eitherOf(
  filters: readonly Filter[],
  nodes: NodeSet,
  row: Row,
  items: ItemSource,
): Generator<undefined, Either | null> {
  const { selected } = items;
  const rows = rowsOfPlan(selected.entity, items.plan(row, nodes), row.view);
  for (const filter of filters) {
    if (!isTold(filter, selected) || itemsToRead(filter, row, selected) > rows) continue;
    const either = {
      nodes: new NodeSet(row.view.maxNodeId + 1),
      items: new ItemStates(items.dictionary(row.view).end),
    };
    yield* add(filter, nodes, row, selected, either);
    return either;
  }
  return null;
}

const depsOf = (filter: Filter, selected: CompiledSelection): number => compileFilter(filter, selected.scope).deps;

/** Whether nodes and items tell which rows the condition can be true for. */
function isTold(filter: Filter, selected: CompiledSelection): boolean {
  if (filter.kind === 'or') return filter.args.every((arg) => isTold(arg, selected));
  const deps = depsOf(filter, selected);
  if (deps === NODE || deps === ITEM || isOwnTag(filter, selected)) return true;
  return filter.kind === 'and' && filter.args.some((arg) => isTold(arg, selected));
}

/** Whether it asks for a tag that is a certname: only that node has it as its own. */
const isOwnTag = (filter: Filter, { traits, ctx }: CompiledSelection): filter is Extract<Filter, { kind: 'member' }> =>
  filter.kind === 'member' && traits.dictionary === 'resources' && isCertname(filter.value, ctx);

function* add(
  filter: Filter,
  nodes: NodeSet,
  row: Row,
  selected: CompiledSelection,
  into: Either,
): Generator<undefined, void> {
  if (isOwnTag(filter, selected)) {
    const own = row.view.nodeId(filter.value);
    if (own !== 0 && nodes.has(own)) into.nodes.add(own);
    yield* addItems(filter, row, selected, into);
  } else if (depsOf(filter, selected) === NODE) {
    into.nodes.union((yield* evaluateNodes(filter, nodes, row, selected.scope)).yes);
  } else if (depsOf(filter, selected) === ITEM) yield* addItems(filter, row, selected, into);
  else if (filter.kind === 'or') for (const arg of filter.args) yield* add(arg, nodes, row, selected, into);
  else if (filter.kind === 'and') yield* add(tellingOf(filter.args, selected), nodes, row, selected, into);
}

/** Of conditions that all have to be true the one that is gone by: of few nodes all rows are fewer than of some items all nodes. */
function tellingOf(args: readonly Filter[], selected: CompiledSelection): Filter {
  const told = args.filter((arg) => isTold(arg, selected));
  return told.find((arg) => depsOf(arg, selected) === NODE) ?? told[0]!;
}

const pathOf = (filter: Filter, { view }: Row, { entity, ctx }: CompiledSelection): ItemAccessPath | null =>
  itemAccessPath(entity, filter.kind === 'and' ? filter.args : [filter], view, ctx.regex);

/** How many items `add` looks at. */
function itemsToRead(filter: Filter, row: Row, selected: CompiledSelection): number {
  const deps = depsOf(filter, selected);
  if (deps === NODE) return 0;
  if (deps === ITEM || isOwnTag(filter, selected)) {
    return pathOf(filter, row, selected)?.estimate ?? sizeOf(selected.entity, row.view).bodies;
  }
  if (filter.kind === 'and') return itemsToRead(tellingOf(filter.args, selected), row, selected);
  return filter.kind === 'or' ? filter.args.reduce((sum, arg) => sum + itemsToRead(arg, row, selected), 0) : 0;
}

/** Items that the condition can be true for: those of an index, or those that pass. */
function* addItems(filter: Filter, row: Row, selected: CompiledSelection, into: Either): Generator<undefined, void> {
  const path = pathOf(filter, row, selected);
  if (path !== null) {
    for (const item of itemsOf(path, selected.entity, row.view)) into.items.set(item, 1);
    return;
  }
  const dictionary = dictionaryOf(selected.entity, row.view);
  const reader = dictionary.reader();
  const { test } = compileFilter(filter, selected.scope);
  const items = dictionary.ids();
  for (let i = 0; i < items.length; i++) {
    if ((i & TICK_ITEMS) === TICK_ITEMS && selected.ctx.tick()) yield;
    row.itemId = items[i]!;
    row.body = reader.read(row.itemId);
    if (test(row) === TRUE) into.items.set(row.itemId, 1);
  }
}
