// How the rows of an item entity are produced on a partition: from the items through their postings, or from the nodes through their lists,
// whichever costs less by the store's own counts.

import type { EntityName } from '../../../../schemas/entities.ts';
import type { View } from '../../../store/view.ts';
import type { CompileRegex } from '../../regex/regex.ts';
import type { Filter } from '../../tree.ts';
import { dictionaryOf, traitsOf } from '../row/entities.ts';
import { type ItemAccessPath, itemAccessPath } from './item-paths.ts';

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
  return { rows, bodies: Math.min(rows, dictionaryOf(entity, view).end) };
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

/** The cheaper of both ways to the rows of so many nodes. `found`: where the items are known already. */
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
  const path = found ?? itemAccessPath(entity, filters, view, regex, nodes * perNode);
  const items = path?.estimate ?? bodies;
  const costItems = items * (COST_BODY + COST_POSTINGS);
  const costNodes = nodes * (COST_NODE + perNode * COST_ENTRY) + Math.min(bodies, nodes * perNode) * COST_BODY;
  const isSelective = filters.length > 0 || found !== null;
  const drive = isSelective && costItems < costNodes ? 'items' : 'nodes';
  return { drive, path, nodes, costItems: Math.round(costItems), costNodes: Math.round(costNodes) };
}
