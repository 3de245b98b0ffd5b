// Pages of rows that are ordered by a field of a shared item, such as a resource's type: first every item is looked at once, weighted with
// the number of its nodes, to find how far the page reaches in the order of that field. What lies behind is then a condition like any
// other, which an index may answer, so that only rows that may be on the page are looked at one by one.

import type { FieldType } from '../../../schemas/entities.ts';
import type { Filter, OrderTerm, QueryTree } from '../tree.ts';
import type { Value } from './access.ts';
import { accessFor, typeOf } from './filter.ts';
import { foldRows } from './fold.ts';
import { compareByTypes } from './order.ts';
import { rowsPerItem } from './plan.ts';
import { Row } from './row.ts';
import type { Source } from './source.ts';

/** Fewer rows than that are put in order as they are. */
const ROWS_MIN = 5000;
/** So many times fewer rows have to be on the page, and before it, than there are. */
const ROWS_EACH = 4;
/** And so many at most. */
const WANTED_MAX = 50_000;
/** Values of the field that a condition may list. */
const VALUES_MAX = 5000;

/** Whether a value, which is not null, is one of those up to the last, as a condition. */
type Reach = (term: OrderTerm, values: readonly Value[], last: Value) => Filter;

const among: Reach = ({ field }, values) => ({ kind: 'in', field, values: values as string[] });
const upTo: Reach = ({ field, descending }, _, last) => ({
  kind: 'order',
  field,
  op: descending ? '>=' : '<=',
  value: last as number,
});
const equalToAny: Reach = ({ field }, values) => ({
  kind: 'or',
  args: values.map((value) => ({ kind: 'eq', field, value: value as boolean, nullSafe: false })),
});

const REACH: Partial<Record<FieldType, Reach>> = { S: among, N: upTo, B: equalToAny };

/** How often each value comes, as long as it is among the first so many rows in order. Holds no more values than twice that. */
class Reached {
  readonly #compare: (a: Value, b: Value) => number;
  readonly #wanted: number;
  #weights = new Map<Value, number>();
  /** The last value that still is among the first rows; undefined while all are. */
  #last: Value | undefined;
  total = 0;

  constructor({ descending }: OrderTerm, type: FieldType, wanted: number) {
    const compare = compareByTypes([type], [descending]);
    this.#compare = (a, b) => compare([a], [b]);
    this.#wanted = wanted;
  }

  add(value: Value, weight: number): void {
    this.total += weight;
    const known = this.#weights.get(value);
    if (known !== undefined) this.#weights.set(value, known + weight);
    else if (this.#last === undefined || this.#compare(value, this.#last) < 0) {
      this.#weights.set(value, weight);
      if (this.#weights.size > 2 * this.#wanted + ROOM) this.cut();
    }
  }

  /** Forgets what is behind the last value that is needed; returns those up to it, in order. */
  cut(): readonly Value[] {
    const sorted = [...this.#weights].sort(([a], [b]) => this.#compare(a, b));
    let rows = 0;
    let count = 0;
    while (count < sorted.length && rows < this.#wanted) rows += sorted[count++]![1];
    const kept = sorted.slice(0, count);
    if (rows >= this.#wanted) this.#last = kept.at(-1)?.[0];
    this.#weights = new Map(kept);
    return kept.map(([value]) => value);
  }
}
const ROOM = 64;

export interface Narrowed {
  /** What is left to look at. */
  readonly source: Source;
  /** Rows of the whole selection. */
  readonly total: number;
}

/** The rows that may be on the tree's page; null: there is no way to tell that is worth it. */
export function* narrowed(tree: QueryTree, source: Source): Generator<undefined, Narrowed | null> {
  const [term] = tree.orderBy;
  if (tree.limit === null || term === undefined || !source.countable) return null;
  const access = accessFor(source.scope, term.field);
  const type = typeOf(source.entity, term.field);
  const reach = REACH[type];
  const wanted = tree.offset + tree.limit;
  if (access.level !== 'item' || reach === undefined || wanted === 0 || wanted > WANTED_MAX) return null;
  if ((yield* rowsOf(source)) < Math.max(ROWS_MIN, wanted * ROWS_EACH)) return null;
  const reached = new Reached(term, type, wanted);
  yield* foldRows(source, [access], (row, weight) => reached.add(access.value(row), weight));
  source.trace.rewind();
  const values = reached.cut();
  const { total } = reached;
  // Nulls are behind all values, or before them: then the page may be nothing else.
  const known = values.filter((value) => value !== null);
  const isAll = values.length === 0 || (values.at(-1) === null && !term.descending);
  if (isAll || values.length > VALUES_MAX) return { source, total };
  const within = known.length === 0 ? [] : [reach(term, known, known.at(-1)!)];
  const nulls: readonly Filter[] = known.length === values.length ? [] : [{ kind: 'null', field: term.field }];
  const reachable = [...nulls, ...within];
  return { source: source.where(reachable.length === 1 ? reachable[0]! : { kind: 'or', args: reachable }), total };
}

/** Rows of the selection, by what the plan takes its items for. */
function* rowsOf(source: Source): Generator<undefined, number> {
  let sum = 0;
  for (const part of source.parts) {
    const row = new Row(source.ctx.view(part), part);
    const plan = source.itemPlan(row, yield* source.nodes(row));
    const { items, perItem, having } = rowsPerItem(source.entity, row.view);
    const ofNodes = (items * perItem * plan.nodes) / Math.max(1, having);
    sum += Math.min(ofNodes, (plan.path?.estimate ?? items) * perItem);
  }
  return sum;
}
