// How many nodes and rows a selection is expected to have on a partition: counts of the store and of its indexes where they
// tell, a fixed share where nothing does. For people who read plans; the choice between plans needs less (item-plan.ts, report-plan.ts).

import type { EntityName } from '../../../../schemas/entities.ts';
import { storedText } from '../../../json/stored.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import { NODES_ALL, NODES_INACTIVE, NODES_WITH_FACTS, REPORTS_LATEST } from '../../../store/records/tables.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';
import { firstKeyTest } from '../filter/json-filter.ts';
import { dictionaryOf, REPORT_TIMES, type SubRow, traitsOf } from '../row/entities.ts';
import type { ExecContext } from './context.ts';
import { covers, itemsOf } from './item-paths.ts';
import { type ItemPlan, rowsPerItem } from './item-plan.ts';
import type { ReportPath } from './report-plan.ts';

/** Share of the rows for which a condition holds that no count tells anything about. */
const SHARE: Readonly<Record<Exclude<Filter['kind'], 'and' | 'or' | 'not' | 'const'>, number>> = {
  eq: 0.1,
  order: 0.33,
  regex: 0.2,
  member: 0.1,
  'path-eq': 0.05,
  'path-match': 0.1,
  in: 0.2,
  null: 0.1,
  'value-in': 0.1,
  'value-order': 0.33,
  json: 0.1,
  parameter: 0.1,
  'jsonb-typeof': 0.2,
  'in-query': 0.5,
  'node-state': 0.9,
};

/** Items whose nodes are counted for an estimate. */
const SAMPLE = 256;

/** Sub-rows of a row, where nothing is counted. */
const SUB_ROWS: Readonly<Record<Exclude<SubRow, 'event'>, number>> = { leaf: 2, target: 2, input: 4 };

function subRowsOf(entity: EntityName): number {
  const { sub } = traitsOf(entity);
  return sub === null || sub === 'event' ? 1 : SUB_ROWS[sub];
}

const knownOf =
  (entity: EntityName) =>
  (filter: Filter): number | null =>
    filter.kind === 'eq' ? (traitsOf(entity).shares[filter.field] ?? null) : null;

const clamp = (share: number): number => Math.min(1, Math.max(0, share));

/** Share of rows that pass a filter, `known` answering for conditions that something is counted for. */
function shareOf(filter: Filter, known: (filter: Filter) => number | null): number {
  switch (filter.kind) {
    case 'and':
      return filter.args.reduce((share, arg) => share * shareOf(arg, known), 1);
    case 'or':
      return 1 - filter.args.reduce((share, arg) => share * (1 - shareOf(arg, known)), 1);
    case 'not':
      return 1 - shareOf(filter.arg, known);
    case 'const':
      return filter.value === true ? 1 : 0;
    case 'in':
      return filter.implied === true ? 1 : clamp(known(filter) ?? SHARE.in);
    default:
      return clamp(known(filter) ?? SHARE[filter.kind]);
  }
}

const shareOfAll = (filters: readonly Filter[], known: (filter: Filter) => number | null): number =>
  filters.reduce((share, filter) => share * shareOf(filter, known), 1);

/** Nodes among `base` that pass the conditions on nodes. */
export function estimateNodes(filters: readonly Filter[], base: NodeSet, part: number, ctx: ExecContext): number {
  const view = ctx.view(part);
  const all = base.count();
  if (all === 0) return 0;
  const known = (filter: Filter): number | null => {
    const nodes = knownNodes(filter, view, part, ctx);
    return nodes === null ? null : nodes / all;
  };
  return Math.ceil(all * shareOfAll(filters, known));
}

/** Nodes of the partition that the condition holds for, where that is counted or bounded. */
function knownNodes(filter: Filter, view: View, part: number, ctx: ExecContext): number | null {
  switch (filter.kind) {
    case 'eq':
      return filter.field === 'certname' ? Number(view.nodeId(String(filter.value)) !== 0) : null;
    case 'in': {
      if (filter.field !== 'certname') return null;
      return filter.values.reduce((count: number, name) => count + Number(view.nodeId(String(name)) !== 0), 0);
    }
    case 'in-query':
      return ctx.subqueries.get(filter)?.nodes?.[part]?.count() ?? null;
    case 'node-state': {
      const inactive = view.set(NODES_INACTIVE).count();
      return filter.state === 'inactive' ? inactive : view.counts.nodes - inactive;
    }
    case 'json': {
      if (filter.root === 'parameters' || filter.parts.length === 0) return null;
      const { first, equals } = firstKeyTest(filter, ctx.regex);
      if (equals === null) return null;
      const item = view.facts.find({ name: first, value: storedText(equals) });
      return item === 0 ? 0 : view.facts.countNodes(item, view.set(NODES_WITH_FACTS));
    }
    default:
      return null;
  }
}

/** Rows that a scan of items gives, for `nodes` nodes. */
export function estimateItemRows(
  entity: EntityName,
  filters: readonly Filter[],
  plan: ItemPlan,
  nodes: number,
  view: View,
): number {
  const { items, having } = rowsPerItem(entity, view);
  const { path } = plan;
  const open = path === null ? filters : filters.filter((f) => !covers(path, f));
  const from = path?.estimate ?? items;
  const part = having === 0 ? 0 : clamp(nodes / having);
  const share = shareOfAll(open, knownOf(entity));
  return Math.ceil(from * nodesPerItem(entity, plan, view) * part * subRowsOf(entity) * share);
}

/** Over all nodes: the average of all items, or of some that the index names. */
function nodesPerItem(entity: EntityName, { path }: ItemPlan, view: View): number {
  if (path === null) return rowsPerItem(entity, view).perItem;
  const items = itemsOf(path, entity, view);
  const dictionary = dictionaryOf(entity, view);
  const every = view.set(NODES_ALL);
  const stride = Math.max(1, Math.ceil(items.length / SAMPLE));
  let nodes = 0;
  let looked = 0;
  for (let i = 0; i < items.length; i += stride) {
    nodes += dictionary.countNodes(items[i]!, every);
    looked++;
  }
  return looked === 0 ? 0 : nodes / looked;
}

/** Rows that a walk over reports gives. */
export function estimateReportRows(
  entity: EntityName,
  filters: readonly Filter[],
  path: ReportPath,
  nodes: number | null,
  view: View,
): number {
  const { reports, events } = view.counts;
  const ofNodes = nodes === null ? 1 : clamp(nodes / Math.max(1, view.counts.nodes));
  const covered: ReadonlySet<string> = new Set(COVERED[path.kind]);
  const open = filters.filter((f) => !('field' in f && covered.has(f.field)));
  const perReport = traitsOf(entity).sub === 'event' ? events / Math.max(1, reports) : 1;
  const from = {
    hash: () => (path.kind === 'hash' ? path.hashes.filter((hash) => view.reports.idOf(hash) !== 0).length : 0),
    latest: () => view.reports.set(REPORTS_LATEST).length * ofNodes,
    nodes: () => reports * ofNodes,
    time: () => reports * (path.kind === 'time' && isBounded(path) ? SHARE.order : 1) * ofNodes,
    hashes: () => reports * ofNodes,
    counted: () => reports * ofNodes,
    all: () => reports * ofNodes,
  }[path.kind]();
  return Math.ceil(from * perReport * shareOfAll(open, knownOf(entity)));
}

const isBounded = ({ from, to }: { readonly from: number | null; readonly to: number | null }): boolean =>
  from !== null || to !== null;

const COVERED: Readonly<Record<ReportPath['kind'], readonly string[]>> = {
  hash: ['hash', 'report'],
  latest: ['latest_report?'],
  nodes: [],
  time: REPORT_TIMES,
  hashes: [],
  counted: ['type'],
  all: [],
};

/** Rows of an entity with one row per node, or several sub-rows of it. */
export const estimateNodeRows = (entity: EntityName, filters: readonly Filter[], nodes: number): number =>
  Math.ceil(nodes * subRowsOf(entity) * shareOfAll(filters, knownOf(entity)));
