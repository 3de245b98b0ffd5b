// What is selected, and what was decided for each partition of it: plain data (source.ts makes rows of it).

import type { EntityName } from '../../../../schemas/entities.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import type { Filter } from '../../tree.ts';
import type { Row } from '../row/row.ts';
import type { ItemPlan } from './item-plan.ts';
import type { PageOrder, ReportPath } from './report-plan.ts';

/** What is selected: the part of a tree that decides which rows there are. */
export interface Selection {
  readonly entity: EntityName;
  readonly filter: Filter | null;
  /** Of reports: what they should come in, as far as that is no more work. */
  readonly order?: PageOrder | null;
  readonly reach?: Reach | null;
  /** Of reports: they come node by node, of each node the last one first. `among`: by partition, the nodes that pass, where they are known. */
  readonly byNode?: { readonly among: readonly NodeSet[] | null };
}

/** Items of one partition, ascending, and how many rows each node of one has of it. */
export interface ReachedItems {
  readonly ids: Uint32Array;
  readonly rows: Uint32Array;
}

/** Which of the rows that pass the filter may be on a page (narrowing.ts). */
export interface Reach {
  /** By partition: the items of these rows. All of them pass the conditions on items. null: any. */
  readonly items: readonly ReachedItems[] | null;
  /** Of the items, or of their sub-rows where they have some: those that it is true for. null: all. */
  readonly test: ((row: Row) => boolean) | null;
}

/** In what order nodes are visited (walk.ts): by their names, by other fields, or as they lie. */
export type WalkOrder = 'certname' | 'terms' | 'place';

/** How rows are counted on a partition. */
export interface FoldPlan {
  readonly weights: 'total' | 'lists' | 'postings';
  readonly by: 'class' | 'item';
}

/** What was decided for one partition. */
export interface PartitionPlan {
  readonly nodes: number | null;
  readonly items: ItemPlan | null;
  readonly reports: ReportPath | null;
  /** How rows are counted, where they are counted by item. */
  readonly fold?: FoldPlan;
  /** Rows come in order because the nodes are visited in order. */
  readonly walk?: WalkOrder;
}
