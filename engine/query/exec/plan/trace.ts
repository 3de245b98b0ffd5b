// What a query has done so far: its steps with the rows they gave and the time they took. A trace is always kept; it costs
// some looks at the clock per partition. Only `explain=analyze` asks for the time of single rows' work (`fine`).
//
// Time is told apart like in a profiler: it belongs to the step that was entered last, so the steps add up to the whole and
// nothing is counted twice. While the query waits for its next slice of work the watch stands still.

import type { EntityName } from '../../../../schemas/entities.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import type { View } from '../../../store/view.ts';
import type { QueryTree } from '../../tree.ts';
import type { SplitFilter } from '../filter/conditions.ts';
import type { Shape } from '../row/entities.ts';
import type { PartitionPlan } from './selection.ts';

/** Rows that came out of a step, and the milliseconds spent in it and in nothing below it. */
export interface Step {
  rows: number;
  ms: number;
}

/** Steps of a whole selection, after its partitions. */
type LateStep = 'distinct' | 'order' | 'group' | 'output';

/** Steps that every partition has: determine the nodes, then move over the rows. */
export interface PartitionTrace {
  /** null: the selection needs no set of nodes. */
  nodes: Step | null;
  readonly scan: Step;
}

const newStep = (): Step => ({ rows: 0, ms: 0 });

/** What a plan tells of a selection beside its steps (explain.ts). */
export interface Selected {
  readonly entity: EntityName;
  readonly shape: Shape;
  readonly split: SplitFilter;
  readonly plans: readonly PartitionPlan[];
  /** Nodes that have rows of the entity when nothing is asked of them. */
  base(view: View): NodeSet;
}

/** One selection: a query, or a subquery of it. */
export class SelectionTrace {
  readonly tree: QueryTree;
  readonly parent: SelectionTrace | null;
  /** The fields that a subquery is compared with; null for queries themselves. */
  readonly fields: readonly string[] | null;
  readonly subqueries: SelectionTrace[] = [];
  readonly prepare = newStep();
  /** By partition; those that were not looked at are holes. */
  readonly partitions: PartitionTrace[] = [];
  readonly late = new Map<LateStep, Step>();
  /** Known once the subqueries have been evaluated. */
  selected: Selected | null = null;

  constructor(tree: QueryTree, parent: SelectionTrace | null, fields: readonly string[] | null) {
    this.tree = tree;
    this.parent = parent;
    this.fields = fields;
  }

  partition(part: number): PartitionTrace {
    return (this.partitions[part] ??= { nodes: null, scan: newStep() });
  }

  /** The same rows come again: they are not counted twice. */
  rewind(): void {
    this.partitions.forEach(({ scan }) => {
      scan.rows = 0;
    });
  }

  nodes(part: number): Step {
    return (this.partition(part).nodes ??= newStep());
  }

  step(name: LateStep): Step {
    let step = this.late.get(name);
    if (step === undefined) this.late.set(name, (step = newStep()));
    return step;
  }
}

export class Trace {
  /** In the order in which they began; subqueries are within their selection. */
  readonly selections: SelectionTrace[] = [];
  /** Everything before the first selection: parameters, parsing, names and values. */
  readonly planning = newStep();
  /** true: the work on single rows is timed by step too, at two looks at the clock a row. */
  fine = false;
  readonly #watch: () => number;
  #open: SelectionTrace | null = null;
  #step: Step = this.planning;
  #since: number;
  #isPaused = false;

  /** `watch`: monotonic milliseconds. Runs from here on. */
  constructor(watch: () => number) {
    this.#watch = watch;
    this.#since = watch();
  }

  /** A selection begins, within the one that is open. */
  begin(tree: QueryTree, fields: readonly string[] | null = null): SelectionTrace {
    const selection = new SelectionTrace(tree, this.#open, fields);
    (this.#open?.subqueries ?? this.selections).push(selection);
    this.#open = selection;
    this.enter(selection.prepare);
    return selection;
  }

  /** It is over; the one around it goes on with its preparation. */
  end(selection: SelectionTrace): void {
    this.#open = selection.parent;
    this.enter(this.#open?.prepare ?? this.planning);
  }

  /** From now on time belongs to this step. Returns the step it belonged to. */
  enter(step: Step): Step {
    const before = this.#step;
    const now = this.#watch();
    before.ms += now - this.#since;
    this.#since = now;
    this.#step = step;
    return before;
  }

  /** The same for a step that is entered and left for every row: only where that is wanted. */
  turn(step: Step): void {
    if (this.fine) this.enter(step);
  }

  /** The query gives up its thread for a while. */
  pause(): void {
    if (this.#isPaused) return;
    this.enter(this.#step);
    this.#isPaused = true;
  }

  /** It goes on. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#since = this.#watch();
  }
}
