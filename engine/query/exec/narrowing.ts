// Pages of rows whose order begins with fields of a shared item, or of its sub-rows, such as a resource's type: first every item is looked at
// once, weighted with the number of its nodes, to find which of them the page reaches in the order of these fields. What lies before the page
// is counted, and what lies behind is left, so that only rows that may be on it are put in order one by one.

import type { FieldType } from '../../../schemas/entities.ts';
import { type Filter, type OrderTerm, pageEnd, type QueryTree } from '../tree.ts';
import { foldRows } from './count/fold.ts';
import { typeOf } from './filter/filter.ts';
import { leadingTerms, reachedBy, Share, Shares } from './order/shares.ts';
import { rowsOfPlan, sizeOf } from './plan/item-plan.ts';
import type { ReachedItems } from './plan/selection.ts';
import type { Access, Value } from './row/access.ts';
import { Row } from './row/row.ts';
import type { Source } from './sources/source.ts';

/** Fewer rows than that are put in order as they are. */
const ROWS_MIN = 5000;
/** So many times fewer rows have to be on the page than there are. */
const ROWS_EACH = 4;
/** Pages that lie deeper are not narrowed where there are more items, too: those before the page are held. */
const SHARES_MAX = 250_000;
/** Values of the first field that a condition may list. */
const VALUES_MAX = 5000;

/** The condition that the field has one of these values, none of which is null; they come in the order of the term. */
type Range = (term: OrderTerm, values: readonly Value[]) => Filter;

const among: Range = ({ field }, values) => ({ kind: 'in', field, values: values as string[] });
const between: Range = ({ field, descending }, values) => {
  const [first, last] = [values[0] as number, values.at(-1) as number];
  const [least, most] = descending ? [last, first] : [first, last];
  return {
    kind: 'and',
    args: [
      { kind: 'order', field, op: '>=', value: least },
      { kind: 'order', field, op: '<=', value: most },
    ],
  };
};
const equalToAny: Range = ({ field }, values) => ({
  kind: 'or',
  args: values.map((value) => ({ kind: 'eq', field, value: value as boolean, nullSafe: false })),
});

/** Types of the fields of which items have a class. */
const RANGE: Partial<Record<FieldType, Range>> = { S: among, N: between, B: equalToAny };

/** The rows that may be on a page. */
export interface Narrowed {
  /** What is left to look at. */
  readonly source: Source;
  /** Rows of the whole selection; null: they were not counted. */
  readonly total: number | null;
  /** What is left to do there: the offset is that behind the rows that were passed over. */
  readonly rest: QueryTree;
  /** Whether the rows are all equal in the first terms, which `rest` lacks then. */
  readonly isDecided: boolean;
}

/** The rows that may be on the tree's page; null: there is no way to tell that is worth it. `isCounted`: whether all rows are to be counted. */
export function* narrowed(tree: QueryTree, source: Source, isCounted: boolean): Generator<undefined, Narrowed | null> {
  const { limit, offset, orderBy } = tree;
  if (limit === null || limit === 0 || !source.countable) return null;
  // Those that do not look at the node.
  const access = leadingTerms(orderBy, source.scope, ({ level }) => level === 'item' || level === 'sub');
  const wanted = pageEnd(tree);
  if (access.length === 0 || Math.min(wanted, itemsIn(source)) > SHARES_MAX) return null;
  if ((yield* rowsOf(source)) < Math.max(ROWS_MIN, limit * ROWS_EACH)) return null;
  const terms = orderBy.slice(0, access.length);
  const shares = new Shares(terms, source.scope, wanted, () => source.ctx.tick());
  const { compare } = shares;
  let all = 0;
  const visit = (row: Row, weight: number, isOne: boolean): Generator<undefined, void> | undefined => {
    all += weight;
    if (shares.isBehind(row)) return undefined;
    const keys = access.map((a) => a.value(row));
    if (!shares.needs(keys)) return undefined;
    return shares.add(new Share(keys, weight, isOne ? [row.part, row.itemId] : null));
  };
  const isReached = (row: Row): boolean => !shares.isBehind(row);
  yield* foldRows(source, access, visit, isCounted || access[0]!.level !== 'item' ? null : isReached);
  source.trace.rewind();
  const total = isCounted ? all : null;
  const { before, reached } = reachedBy(yield* shares.inOrder(), offset);
  const isDecided = reached.length === 1;
  const rest = { ...tree, offset: offset - before, orderBy: isDecided ? orderBy.slice(terms.length) : orderBy };
  const [least, most] = [reached[0]?.keys, reached.at(-1)?.keys];
  const isWithin = (row: Row): boolean => {
    if (least === undefined) return false;
    const keys = access.map((a) => a.value(row));
    return compare(keys, least) >= 0 && compare(keys, most!) <= 0;
  };
  return { source: restricted(source, terms, access, reached, isWithin), total, rest, isDecided };
}

/** The rows of the shares. */
function restricted(
  source: Source,
  terms: readonly OrderTerm[],
  access: readonly Access[],
  reached: readonly Share[],
  isWithin: (row: Row) => boolean,
): Source {
  const items = itemsOf(reached, source.parts);
  if (items !== null) {
    return source.within(null, { items, test: access.some(({ level }) => level === 'sub') ? isWithin : null });
  }
  // An index leads to the items of classes, if there is one for the first field.
  const [term] = terms;
  const values = [...new Set(reached.map(({ keys }) => keys[0] as Value))];
  const range = RANGE[typeOf(source.entity, term!.field)];
  const test = terms.length > 1 ? isWithin : null;
  if (range === undefined || values.length > VALUES_MAX) return source.within(null, { items: null, test: isWithin });
  const known = values.filter((value) => value !== null);
  const reachable = [
    ...(known.length < values.length ? [{ kind: 'null', field: term!.field } as const] : []),
    ...(known.length > 0 ? [range(term!, known)] : []),
  ];
  const filter: Filter = reachable.length === 1 ? reachable[0]! : { kind: 'or', args: reachable };
  return source.within(filter, test === null ? null : { items: null, test });
}

/** By partition the items of the shares; null: some are of classes. */
function itemsOf(shares: readonly Share[], parts: readonly number[]): readonly ReachedItems[] | null {
  const found: number[][] = [];
  for (const part of parts) found[part] = [];
  for (const { places } of shares) {
    if (places === null) return null;
    for (let i = 0; i < places.length; i += 2) found[places[i]!]!.push(places[i + 1]!);
  }
  const items: ReachedItems[] = [];
  for (const part of parts) items[part] = counted(Uint32Array.from(found[part]!).sort());
  return items;
}

/** Numbers in order, of which each comes as often as it counts. */
function counted(sorted: Uint32Array): ReachedItems {
  const ids = new Uint32Array(sorted.length);
  const rows = new Uint32Array(sorted.length);
  let length = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) ids[length++] = sorted[i]!;
    rows[length - 1]!++;
  }
  return { ids: ids.slice(0, length), rows: rows.slice(0, length) };
}

const itemsIn = ({ entity, ctx, parts }: Source): number =>
  parts.reduce((sum, part) => sum + sizeOf(entity, ctx.view(part)).bodies, 0);

/** Rows of the selection, by what the plan takes its items for. */
function* rowsOf(source: Source): Generator<undefined, number> {
  let sum = 0;
  for (const part of source.parts) {
    const row = new Row(source.ctx.view(part), part);
    sum += rowsOfPlan(source.entity, source.items.plan(row, yield* source.nodes(row)), row.view);
  }
  return sum;
}
