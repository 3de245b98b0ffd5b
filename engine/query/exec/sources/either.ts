// Conditions that look at a node and an item together, such as a node's name or a resource's type, or a tag that may be a node's own: which
// rows they can be true for. These are all rows of some nodes and, of the others, those of some items. Only such rows are looked at.

import { NodeSet } from '../../../store/items/node-set.ts';
import type { Filter } from '../../tree.ts';
import { compileFilter, depsOf, ITEM, isCertname, NODE } from '../filter/filter.ts';
import { evaluateNodes } from '../filter/node-filter.ts';
import { TRUE } from '../filter/truth.ts';
import type { CompiledSelection } from '../plan/compiled-selection.ts';
import { type ItemAccessPath, itemAccessPath, itemsOf } from '../plan/item-paths.ts';
import { rowsOfPlan, sizeOf } from '../plan/item-plan.ts';
import { dictionaryOf } from '../row/entities.ts';
import { ItemStates } from '../row/item-states.ts';
import type { Row } from '../row/row.ts';
import type { Either } from './item-cursors.ts';
import type { ItemSource } from './item-source.ts';

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
    const telling = new Telling(row, selected);
    const { isTold, items: read } = yield* telling.of(filter);
    if (!isTold || read > rows) continue;
    const either = {
      nodes: new NodeSet(row.view.maxNodeId + 1),
      items: new ItemStates(items.dictionary(row.view).end),
    };
    yield* telling.add(filter, nodes, either);
    return either;
  }
  return null;
}

/** What there is to know of a condition. */
interface Told {
  /** Nodes and items tell which rows it can be true for. */
  readonly isTold: boolean;
  /** Items that `add` looks at then. */
  readonly items: number;
  /** Of several that all have to be true the one that is gone by. */
  readonly by: Filter | null;
  /** Of a condition on items the index that leads to them; null: none does. */
  readonly path: ItemAccessPath | null;
}

const NOTHING: Told = { isTold: false, items: 0, by: null, path: null };
const BY_NODES: Told = { ...NOTHING, isTold: true };

/** Finds out about a condition and its parts, each of them once. */
class Telling {
  readonly #row: Row;
  readonly #selected: CompiledSelection;
  readonly #known = new Map<Filter, Told>();

  constructor(row: Row, selected: CompiledSelection) {
    this.#row = row;
    this.#selected = selected;
  }

  *of(filter: Filter): Generator<undefined, Told> {
    const { ctx, entity, scope } = this.#selected;
    let told = this.#known.get(filter);
    if (told !== undefined) return told;
    if (ctx.tickRow()) yield;
    const deps = depsOf(filter, scope);
    if (deps === NODE) told = BY_NODES;
    else if (deps === ITEM || this.#isOwnTag(filter)) {
      const path = this.#pathOf(filter);
      const items = path?.estimate ?? sizeOf(entity, this.#row.view).bodies;
      told = { isTold: true, items, by: null, path };
    } else if (filter.kind === 'or') told = yield* this.#anyOf(filter.args);
    else told = filter.kind === 'and' ? yield* this.#allOf(filter.args) : NOTHING;
    this.#known.set(filter, told);
    return told;
  }

  *#anyOf(args: readonly Filter[]): Generator<undefined, Told> {
    let items = 0;
    for (const arg of args) {
      const told = yield* this.of(arg);
      if (!told.isTold) return NOTHING;
      items += told.items;
    }
    return { isTold: true, items, by: null, path: null };
  }

  /** Of few nodes all rows are fewer than of some items all nodes. */
  *#allOf(args: readonly Filter[]): Generator<undefined, Told> {
    let by: Filter | null = null;
    for (const arg of args) {
      if (!(yield* this.of(arg)).isTold) continue;
      const isNode = depsOf(arg, this.#selected.scope) === NODE;
      if (by === null || isNode) by = arg;
      if (isNode) break;
    }
    return by === null ? NOTHING : { ...this.#known.get(by)!, by };
  }

  /** `filter` has to be told of. */
  *add(filter: Filter, nodes: NodeSet, into: Either): Generator<undefined, void> {
    const row = this.#row;
    const selected = this.#selected;
    const deps = depsOf(filter, selected.scope);
    if (this.#isOwnTag(filter)) {
      const own = row.view.nodeId(filter.value);
      if (own !== 0 && nodes.has(own)) into.nodes.add(own);
      yield* this.#addItems(filter, into);
    } else if (deps === NODE) {
      into.nodes.union((yield* evaluateNodes(filter, nodes, row, selected.scope)).yes);
    } else if (deps === ITEM) yield* this.#addItems(filter, into);
    else if (filter.kind === 'or') for (const arg of filter.args) yield* this.add(arg, nodes, into);
    else if (filter.kind === 'and') yield* this.add((yield* this.of(filter)).by!, nodes, into);
  }

  /** Items that the condition can be true for: those of an index, or those that pass. */
  *#addItems(filter: Filter, into: Either): Generator<undefined, void> {
    const row = this.#row;
    const { entity, scope, ctx } = this.#selected;
    const { path } = yield* this.of(filter);
    if (path !== null) {
      for (const item of itemsOf(path, entity, row.view)) into.items.set(item, 1);
      return;
    }
    const dictionary = dictionaryOf(entity, row.view);
    const reader = dictionary.reader();
    const { test } = compileFilter(filter, scope);
    for (const item of dictionary.ids()) {
      if (ctx.tickRow()) yield;
      row.itemId = item;
      const body = reader.read(item);
      ctx.lookedAt(body.record.size);
      row.body = body;
      if (test(row) === TRUE) into.items.set(item, 1);
    }
  }

  #pathOf(filter: Filter): ItemAccessPath | null {
    const { entity, ctx } = this.#selected;
    return itemAccessPath(entity, filter.kind === 'and' ? filter.args : [filter], this.#row.view, ctx.regex);
  }

  /** Whether it asks for a tag that is a certname: only that node has it as its own. */
  #isOwnTag(filter: Filter): filter is Extract<Filter, { kind: 'member' }> {
    const { traits, ctx } = this.#selected;
    return filter.kind === 'member' && traits.dictionary === 'resources' && isCertname(filter.value, ctx);
  }
}
