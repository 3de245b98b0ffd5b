// The nodes that have a row of a selection: all that a subquery on certnames is asked for. Rows themselves are looked at only where
// neither the index of items nor the nodes' lists tell.

import { Ids } from '../../../store/items/ids.ts';
import { NodeSet } from '../../../store/items/node-set.ts';
import type { ExecContext } from '../plan/context.ts';
import { type ItemPlan, readsLists, sizeOf } from '../plan/item-plan.ts';
import { Row } from '../row/row.ts';
import { END, ROW } from './cursor.ts';
import type { Source } from './source.ts';

/** An empty set for each partition. */
export const noNodes = (ctx: ExecContext): NodeSet[] => Array.from({ length: ctx.parts }, () => new NodeSet(0));

/** Those of each partition. */
export function* nodesOf(source: Source): Generator<undefined, NodeSet[]> {
  const sets = noNodes(source.ctx);
  for (const part of source.parts) {
    const view = source.ctx.view(part);
    const { scan } = source.trace.partition(part);
    source.ctx.trace.enter(scan);
    const row = new Row(view, part);
    const nodes = yield* source.nodes(row);
    if (source.isPlainNodes) {
      sets[part] = nodes;
      scan.rows += nodes.count();
      continue;
    }
    if (source.countable) {
      const found = yield* nodesOfItems(source, row, nodes);
      sets[part] = found.intersect(nodes);
      scan.rows += found.count();
      continue;
    }
    sets[part] = yield* nodesOfRows(source, row);
  }
  return sets;
}

/**
 * The nodes of all items that pass. Where the index tells which those are, their bodies are not read; where they may be very many, each
 * node's list is read as far as the first of them.
 */
function* nodesOfItems(source: Source, row: Row, nodes: NodeSet): Generator<undefined, NodeSet> {
  const plan = source.items.plan(row, nodes);
  const items = plan.path?.estimate ?? sizeOf(source.entity, row.view).bodies;
  if (readsLists(source.entity, row.view, nodes.count(), items)) return yield* nodesOfLists(source, row, nodes, plan);
  source.plans[row.part] = { nodes: plan.nodes, items: { ...plan, drive: 'items' }, reports: null };
  return yield* source.items.nodesWith(row, plan);
}

function* nodesOfLists(source: Source, row: Row, nodes: NodeSet, plan: ItemPlan): Generator<undefined, NodeSet> {
  source.plans[row.part] = { nodes: plan.nodes, items: { ...plan, drive: 'nodes' }, reports: null };
  const found = new NodeSet(row.view.maxNodeId + 1);
  const dictionary = source.items.dictionary(row.view);
  const matcher = source.items.matcherWithin(row, plan);
  const list = new Ids();
  for (const node of nodes.toArray()) {
    dictionary.readList(node, list);
    const { values, length } = list;
    for (let at = dictionary.stride - 1; at < length; at += dictionary.stride) {
      const isFound = matcher.match(values[at]!).length > 0;
      if (source.ctx.isTickDue && source.ctx.tick()) yield;
      if (!isFound) continue;
      found.add(node);
      break;
    }
    if (source.ctx.tick()) yield;
  }
  return found;
}

function* nodesOfRows(source: Source, row: Row): Generator<undefined, NodeSet> {
  const found = new NodeSet(row.view.maxNodeId + 1);
  const { scan } = source.trace.partition(row.part);
  const cursor = yield* source.open(row, { isGlance: true });
  for (let step = cursor.next(); step !== END; step = cursor.next()) {
    if (step === ROW) {
      found.add(row.nodeId);
      scan.rows++;
      cursor.leaveItem?.();
    }
    if (source.ctx.tickStep(step === ROW)) yield;
  }
  return found;
}
