// Plans as people and the log get them: plain data that says, for a query and each of its subqueries, which way was taken,
// how many rows each step was expected to give, how many it gave and how long it took. Made from the trace of an execution,
// complete or not, while its snapshots are open.

import { type Filter, type OrderTerm, pageEnd, type QueryTree } from '../tree.ts';
import { isAggregated } from './count/aggregate.ts';
import type { ExecContext } from './plan/context.ts';
import { estimateItemRows, estimateNodeRows, estimateNodes, estimateReportRows } from './plan/estimate.ts';
import type { PartitionTrace, Selected, SelectionTrace, Step, Trace } from './plan/trace.ts';

/** What a step was expected to do and did. `ms`: milliseconds spent in it and in nothing below it. */
interface StepPlan {
  readonly step: string;
  /** null: nothing can be said. */
  readonly 'estimated rows': number | null;
  readonly 'actual rows': number;
  readonly ms: number;
}

/** A partition's part. Present is what applies to the entity. */
interface PartitionPlanText {
  readonly partition: number;
  readonly nodes?: StepPlan;
  readonly scan: StepPlan;
  readonly drive?: 'items' | 'nodes';
  readonly index?: string | null;
  readonly 'estimated items'?: number | null;
  readonly 'estimated µs by items'?: number;
  readonly 'estimated µs by nodes'?: number;
  readonly reports?: string;
  /** How rows are counted by item: what weighs items, and what is looked at once. */
  readonly counted?: { readonly weights: string; readonly by: string };
  /** The nodes are visited in this order, until the page is full. */
  readonly walk?: string;
}

/** A query or a subquery. */
export interface SelectionPlan {
  readonly 'Node Type': string;
  readonly 'Relation Name': string;
  /** The fields that a subquery is compared with. */
  readonly Compared?: readonly string[];
  /** How many conditions read what; null before the subqueries have been evaluated. */
  readonly Conditions: Readonly<Record<string, number>> | null;
  readonly 'Order By': readonly OrderTerm[];
  readonly Limit: number | null;
  readonly Offset: number;
  readonly 'Estimated Rows': number | null;
  readonly 'Actual Rows': number;
  /** All partitions together, in the order of execution. */
  readonly Steps: readonly StepPlan[];
  readonly Partitions: readonly PartitionPlanText[];
  readonly Subqueries: readonly SelectionPlan[];
}

export interface QueryPlan {
  /** null: nothing was selected. Of several selections, one after the other, the last. */
  readonly Plan: SelectionPlan | null;
  /** Selections that were made before it. */
  readonly Before?: readonly SelectionPlan[];
  /** Milliseconds for parameters, parsing and names. */
  readonly 'Planning Time': number;
  /** Milliseconds of work in all selections. */
  readonly 'Execution Time': number;
  /** Subqueries that are left out because there are so many. */
  readonly 'Subqueries Omitted'?: number;
}

/** Selections that one plan shows. */
const SHOWN_MAX = 100;

/** The plan of everything the context has executed so far. */
export function planOf(ctx: ExecContext): QueryPlan {
  const { trace } = ctx;
  trace.pause();
  const drawn = new Drawing(ctx);
  const plans = trace.selections.slice(-SHOWN_MAX).map((selection) => drawn.selection(selection));
  return {
    Plan: plans.at(-1) ?? null,
    ...(plans.length > 1 ? { Before: plans.slice(0, -1) } : {}),
    'Planning Time': shownMs(trace.planning.ms),
    'Execution Time': shownMs(executionTime(trace)),
    ...(drawn.omitted === 0 ? {} : { 'Subqueries Omitted': drawn.omitted }),
  };
}

/** Microseconds are the last digit. */
const shownMs = (ms: number): number => Math.round(ms * 1000) / 1000;

const executionTime = (trace: Trace): number => trace.selections.reduce((sum, s) => sum + timeOf(s), 0);

/** With the subqueries. */
function timeOf(selection: SelectionTrace): number {
  let ms = selection.prepare.ms;
  selection.partitions.forEach(({ nodes, scan }) => {
    ms += (nodes?.ms ?? 0) + scan.ms;
  });
  for (const step of selection.late.values()) ms += step.ms;
  return selection.subqueries.reduce((sum, inner) => sum + timeOf(inner), ms);
}

/** Without those that others imply. */
const askedCount = (filters: readonly Filter[]): number =>
  filters.filter((filter) => !(filter.kind === 'in' && filter.implied === true)).length;

const NODE_TYPE = { node: 'Node Scan', item: 'Item Scan', report: 'Report Scan', global: 'Record Scan' } as const;

class Drawing {
  readonly #ctx: ExecContext;
  #shown = 0;
  omitted = 0;

  constructor(ctx: ExecContext) {
    this.#ctx = ctx;
  }

  selection(selection: SelectionTrace): SelectionPlan {
    this.#shown++;
    const { tree, selected, fields } = selection;
    const split = selected?.split;
    // Partitions that were not looked at are holes.
    const partitions = selection.partitions.flatMap((trace, part) => this.#partition(trace, part, selected));
    const steps = stepsOf(selection, partitions);
    const last = steps.at(-1);
    return {
      'Node Type': selected === null ? 'Subqueries' : NODE_TYPE[selected.shape],
      'Relation Name': tree.entity,
      ...(fields === null ? {} : { Compared: fields }),
      Conditions:
        split === undefined
          ? null
          : {
              node: askedCount(split.node),
              item: askedCount(split.item),
              'sub-row': askedCount(split.sub),
              mixed: askedCount(split.mixed),
            },
      'Order By': tree.orderBy,
      Limit: tree.limit,
      Offset: tree.offset,
      'Estimated Rows': last?.['estimated rows'] ?? null,
      'Actual Rows': last?.['actual rows'] ?? 0,
      Steps: steps,
      Partitions: partitions,
      Subqueries: this.#subqueries(selection.subqueries),
    };
  }

  #subqueries(selections: readonly SelectionTrace[]): SelectionPlan[] {
    const shown: SelectionPlan[] = [];
    for (const inner of selections) {
      if (this.#shown < SHOWN_MAX) shown.push(this.selection(inner));
      else this.omitted++;
    }
    return shown;
  }

  #partition(trace: PartitionTrace, part: number, selected: Selected | null): PartitionPlanText {
    const plan = selected?.plans[part];
    const nodes = selected === null || selected.shape === 'global' ? null : this.#nodes(selected, part);
    const rows = selected === null ? null : this.#rows(selected, part, nodes);
    return {
      partition: part,
      ...(trace.nodes === null ? {} : { nodes: stepPlan('nodes', trace.nodes, nodes) }),
      scan: stepPlan('scan', trace.scan, rows),
      ...(plan?.items
        ? {
            drive: plan.items.drive,
            index: plan.items.path?.index ?? null,
            'estimated items': plan.items.path?.estimate ?? null,
            'estimated µs by items': plan.items.costItems,
            'estimated µs by nodes': plan.items.costNodes,
          }
        : {}),
      ...(plan?.reports ? { reports: plan.reports.kind } : {}),
      ...(plan?.fold ? { counted: plan.fold } : {}),
      ...(plan?.walk ? { walk: plan.walk } : {}),
    };
  }

  #nodes(selected: Selected, part: number): number {
    return estimateNodes(selected.split.node, selected.base(this.#ctx.view(part)), part, this.#ctx);
  }

  /** Rows that the scan was expected to give; null where it has not been planned. */
  #rows(selected: Selected, part: number, nodes: number | null): number | null {
    const { entity, split } = selected;
    const view = this.#ctx.view(part);
    const plan = selected.plans[part];
    const others = [...split.item, ...split.sub, ...split.mixed];
    switch (selected.shape) {
      case 'node':
        return estimateNodeRows(entity, others, nodes ?? 0);
      case 'item':
        return plan?.items ? estimateItemRows(entity, others, plan.items, nodes ?? 0, view) : null;
      case 'report':
        return plan?.reports ? estimateReportRows(entity, others, plan.reports, nodes, view) : null;
      case 'global':
        return null;
    }
  }
}

const stepPlan = (step: string, { rows, ms }: Step, estimate: number | null): StepPlan => ({
  step,
  'estimated rows': estimate,
  'actual rows': rows,
  ms: shownMs(ms),
});

/** The partitions' steps added up, and what comes after them. */
function stepsOf(selection: SelectionTrace, partitions: readonly PartitionPlanText[]): StepPlan[] {
  const steps: StepPlan[] = [];
  const { tree, subqueries, prepare } = selection;
  if (subqueries.length > 0) {
    const whole = { rows: subqueries.length, ms: prepare.ms };
    steps.push(stepPlan('subqueries', whole, subqueries.length));
  }
  if (selection.selected === null) return steps;
  const nodes = partitions.flatMap((p) => p.nodes ?? []);
  if (nodes.length > 0) steps.push(sumOf('nodes', nodes));
  // A query about nodes that there are not reads no partition.
  steps.push(
    sumOf(
      'scan',
      partitions.map((p) => p.scan),
    ),
  );
  for (const [name, step] of outputLast(selection)) {
    steps.push(stepPlan(name, step, expectedAfter(name, tree, steps.at(-1)!['estimated rows'])));
  }
  return steps;
}

/** The steps after the partitions. A page that is put together of others may have begun its output before their order. */
const outputLast = ({ late }: SelectionTrace) =>
  [...late].sort(([a], [b]) => Number(a === 'output') - Number(b === 'output'));

function sumOf(step: string, parts: readonly StepPlan[]): StepPlan {
  let estimate: number | null = 0;
  let rows = 0;
  let ms = 0;
  for (const part of parts) {
    estimate = estimate === null || part['estimated rows'] === null ? null : estimate + part['estimated rows'];
    rows += part['actual rows'];
    ms += part.ms;
  }
  return stepPlan(step, { rows, ms }, estimate);
}

/** Rows behind a step that gets `before` rows. */
function expectedAfter(name: string, tree: QueryTree, before: number | null): number | null {
  if (name === 'group') return tree.groupBy === null && isAggregated(tree) ? 1 : null;
  if (name === 'distinct' || before === null || tree.limit === null) return before;
  if (name === 'order') return Math.min(before, pageEnd(tree));
  return Math.min(Math.max(0, before - tree.offset), tree.limit);
}
