// Reports counted, and grouped, without a look at them: a partition knows how many it has of each kind (store/report-kinds.ts).

import { NodeSet } from '../../store/node-set.ts';
import { KIND_PLACES, type ReportKind } from '../../store/report-kinds.ts';
import { NODES_ALL } from '../../store/tables.ts';
import type { Access } from './access.ts';
import { areShared, isClassed } from './classed.ts';
import { Row } from './row.ts';
import type { Source } from './source.ts';
import { TRUE } from './truth.ts';

/** Kinds that pass the selection's conditions, in one partition. */
interface PartKinds {
  readonly row: Row;
  readonly kinds: readonly ReportKind[];
  /** Nodes whose reports are no rows. */
  readonly rest: NodeSet;
}

/** More nodes that are left out are not looked at by themselves: one in so many. */
const FEW_NODES = 8;

/** How many rows the selection has; null: they have to be looked at. */
export function* countReports(source: Source): Generator<undefined, number | null> {
  let total = 0;
  const isCounted = yield* foldReports(source, [], (_, weight) => {
    total += weight;
  });
  return isCounted ? total : null;
}

/**
 * Gives rows with what `reads` read, and how many rows each of them stands for. false, and nothing: the rows have to be looked at.
 */
export function* foldReports(
  source: Source,
  reads: readonly Access[],
  visit: (row: Row, weight: number) => void,
): Generator<undefined, boolean> {
  if (source.entity !== 'reports' || !areShared(reads, KIND_PLACES)) return false;
  const parts = yield* kindsOf(source);
  if (parts === null || (reads.length > 0 && parts.some(({ rest }) => rest.count() > 0))) return false;
  for (const part of parts) {
    begin(source, part);
    if (reads.length === 0) visit(part.row, tell(source, part, yield* countOf(source, part)));
    else
      for (const { count, report } of part.kinds) {
        part.row.body = report;
        visit(part.row, tell(source, part, count));
      }
  }
  return true;
}

function begin(source: Source, { row, rest }: PartKinds): void {
  const { ctx, trace, plans } = source;
  ctx.trace.enter(trace.partition(row.part).scan);
  const nodes = source.split.node.length === 0 ? null : row.view.set(NODES_ALL).count() - rest.count();
  plans[row.part] = { nodes, items: null, reports: { kind: 'counted' } };
}

function tell(source: Source, { row }: PartKinds, count: number): number {
  source.trace.partition(row.part).scan.rows += count;
  return count;
}

/** By partition; null: something is asked for that kinds do not tell, or there are reports that are not in them. */
function* kindsOf(source: Source): Generator<undefined, readonly PartKinds[] | null> {
  const { ctx, split, scope, item } = source;
  if (split.sub.length + split.mixed.length > 0) return null;
  if (!split.item.every((filter) => isClassed(filter, scope, KIND_PLACES))) return null;
  const parts: PartKinds[] = [];
  for (const part of source.parts) {
    const view = ctx.view(part);
    const all = view.reportKinds();
    if (all === null) return null;
    const row = new Row(view, part);
    let rest = new NodeSet(0);
    if (split.node.length > 0) {
      const every = view.set(NODES_ALL);
      const nodes = yield* source.nodes(row);
      rest = every.copy().subtract(nodes);
      if (rest.count() * FEW_NODES > every.count()) return null;
    }
    const kinds = all.filter(({ report }) => {
      row.body = report;
      return item === null || item.test(row) === TRUE;
    });
    parts.push({ row, kinds, rest });
  }
  return parts;
}

/** Reports of these kinds, but for those of the nodes that are left out, which are looked at. */
function* countOf({ ctx, item }: Source, { row, kinds, rest }: PartKinds): Generator<undefined, number> {
  let count = 0;
  for (const kind of kinds) count += kind.count;
  for (const node of rest.toArray()) {
    for (const id of row.view.reportIdsOfNode(node)) {
      if (row.openReport(id) && (item === null || item.test(row) === TRUE)) count--;
    }
    if (ctx.tick()) yield;
  }
  return count;
}
