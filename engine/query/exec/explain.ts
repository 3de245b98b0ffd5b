// `explain=analyze`: runs the tree and tells what was decided and what it cost, per partition.

import type { QueryTree } from '../tree.ts';
import type { ExecContext } from './context.ts';
import { END, ROW } from './cursor.ts';
import { Source, TreeRows } from './source.ts';
import { prepareFilter } from './subquery.ts';

/** JSON text of the plan object. Executes the whole query and throws its rows away. */
export function* explain(tree: QueryTree, ctx: ExecContext): Generator<undefined, string> {
  const { clock } = ctx.options;
  const started = clock();
  const filter = yield* prepareFilter(tree.filter, tree, ctx);
  const prepared = clock();
  const source = new Source({ entity: tree.entity, filter }, ctx);
  const rows = new TreeRows(source);
  let count = 0;
  for (let step = rows.next(); step !== END; step = rows.next()) {
    if (step === ROW) count++;
    else if (ctx.tick()) yield;
  }
  const finished = clock();
  const { split } = source;
  return JSON.stringify({
    Plan: {
      'Node Type': { node: 'Node Scan', item: 'Item Scan', report: 'Report Scan', global: 'Record Scan' }[source.shape],
      'Relation Name': tree.entity,
      Conditions: {
        node: split.node.length,
        item: split.item.length,
        'sub-row': split.sub.length,
        mixed: split.mixed.length,
      },
      'Order By': tree.orderBy,
      Limit: tree.limit,
      'Actual Rows': count,
      Partitions: source.plans.map((plan, partition) => ({
        partition,
        nodes: plan.nodes,
        ...(plan.items === null
          ? {}
          : {
              drive: plan.items.drive,
              index: plan.items.path?.index ?? null,
              'estimated items': plan.items.path?.estimate ?? null,
              'estimated µs by items': plan.items.costItems,
              'estimated µs by nodes': plan.items.costNodes,
            }),
        ...(plan.reports === null ? {} : { reports: plan.reports.kind }),
      })),
    },
    'Planning Time': prepared - started,
    'Execution Time': finished - prepared,
    Subqueries: ctx.subqueries.size,
  });
}
