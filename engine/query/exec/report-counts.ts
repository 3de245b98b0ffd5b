// Reports counted without a look at them: by how many there are, or how many their nodes have, less those of another type than is asked for.

import { AGENT_REPORT } from '../../../schemas/entities.ts';
import { NodeSet } from '../../store/node-set.ts';
import type { NodeId, ReportId } from '../../store/records.ts';
import { NODES_ALL } from '../../store/tables.ts';
import type { View } from '../../store/view.ts';
import type { Filter } from '../tree.ts';
import { Row } from './row.ts';
import type { Source } from './source.ts';

/** What is asked of reports unless the client asks for others (resolve/defaults.ts). */
const isOfAgents = (filter: Filter): boolean =>
  filter.kind === 'eq' && filter.field === 'type' && filter.value === AGENT_REPORT;

/** How many rows the selection has; null: they have to be looked at. */
export function* countReports(source: Source): Generator<undefined, number | null> {
  const { ctx, split } = source;
  if (source.entity !== 'reports' || split.sub.length + split.mixed.length > 0) return null;
  if (!split.item.every(isOfAgents)) return null;
  const ofAgents = split.item.length > 0;
  const others = source.parts.map((part) => (ofAgents ? ctx.view(part).otherReports() : NO_REPORTS));
  if (others.includes(null)) return null;
  let total = 0;
  for (const [i, part] of source.parts.entries()) {
    const view = ctx.view(part);
    const { scan } = source.trace.partition(part);
    ctx.trace.enter(scan);
    const nodes = split.node.length === 0 ? null : yield* source.nodes(new Row(view, part));
    source.plans[part] = { nodes: nodes?.count() ?? null, items: null, reports: { kind: 'counted' } };
    const count = yield* countOf(view, nodes, new Set(others[i]), () => ctx.tick());
    scan.rows += count;
    total += count;
  }
  return total;
}

const NO_REPORTS: readonly ReportId[] = [];

/** Of these nodes, or of all, those that are not among the others. Counted are those of the nodes that are fewer: these, or the rest. */
function* countOf(
  view: View,
  nodes: NodeSet | null,
  others: ReadonlySet<ReportId>,
  tick: () => boolean,
): Generator<undefined, number> {
  const every = view.set(NODES_ALL);
  const rest = nodes === null ? new NodeSet(0) : every.copy().subtract(nodes);
  const all = view.counts.reports - others.size;
  if (nodes !== null && nodes.count() < rest.count()) return yield* reportsOf(nodes, view, others, tick);
  return all - (yield* reportsOf(rest, view, others, tick));
}

function* reportsOf(
  nodes: NodeSet,
  view: View,
  others: ReadonlySet<ReportId>,
  tick: () => boolean,
): Generator<undefined, number> {
  let count = 0;
  for (const node of nodes.toArray()) {
    count += countOfNode(view, node, others);
    if (tick()) yield;
  }
  return count;
}

function countOfNode(view: View, node: NodeId, others: ReadonlySet<ReportId>): number {
  const ids = view.reportIdsOfNode(node);
  if (others.size === 0) return ids.length;
  let count = 0;
  for (const id of ids) if (!others.has(id)) count++;
  return count;
}
