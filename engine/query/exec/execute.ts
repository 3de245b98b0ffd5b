// Execution: tree in, row texts out. A generator: it yields whenever the sink is full or its time slice is used up, and is
// resumed by the caller when there is room. All state of a running query is in it and in its context.

import { fieldOf } from '../../../schemas/entities.ts';
import type { ExecuteOptions, RowSink } from '../sink.ts';
import type { QueryTree } from '../tree.ts';
import { Grouping, isAggregated } from './aggregate.ts';
import { AllRows } from './all-rows.ts';
import { Behind } from './behind.ts';
import type { ExecContext } from './context.ts';
import { crossRows, isCrossable } from './crossing.ts';
import { END, ROW } from './cursor.ts';
import { openDistinct } from './distinct.ts';
import type { Shape } from './entities.ts';
import { countRows, foldRows } from './fold.ts';
import { narrowed } from './narrowing.ts';
import { compareByTypes, type Ordering, orderingOf, TopEntries, typesOf, withPlaces } from './order.ts';
import { RowWriter } from './output.ts';
import { foldReports } from './report-counts.ts';
import { timeOrderOf } from './report-plan.ts';
import type { Locator } from './row.ts';
import { type Rows, TreeRows } from './rows.ts';
import { Source } from './source.ts';
import { Places, prepareFilter } from './subquery.ts';
import type { SelectionTrace, Step } from './trace.ts';
import { groupedByName, walked, walksNames, walksNodes } from './walk.ts';

/** Runs the tree. With `onTotal` the number of rows without limit and offset is told before the first row. */
export function* execute(
  tree: QueryTree,
  ctx: ExecContext,
  sink: RowSink,
  options: ExecuteOptions = {},
): Generator<undefined, void> {
  const trace = ctx.trace.begin(tree);
  const filter = yield* prepareFilter(tree.filter, tree, ctx);
  if (tree.distinct !== null) yield* distinct({ ...tree, filter }, ctx, trace, sink, options);
  else {
    const order = isAggregated(tree) ? null : timeOrderOf(tree);
    const source = new Source({ entity: tree.entity, filter, order }, ctx, trace);
    yield* wayOf(tree, source)(tree, source, sink, options);
  }
  ctx.trace.end(trace);
}

type Way = (tree: QueryTree, source: Source, sink: RowSink, options: ExecuteOptions) => Generator<undefined, void>;

function wayOf(tree: QueryTree, source: Source): Way {
  if (isAggregated(tree)) return grouped;
  if (tree.orderBy.length === 0) return streamed;
  return walksNodes(tree.orderBy, source) ? walked : ordered;
}

/** Rows as they come. */
function* streamed(
  tree: QueryTree,
  source: Source,
  sink: RowSink,
  options: ExecuteOptions,
): Generator<undefined, void> {
  if (options.onTotal) {
    options.onTotal(yield* countRows(source));
    source.trace.rewind();
  }
  yield* asTheyCome(tree, new TreeRows(source), sink);
}

function* asTheyCome(tree: QueryTree, rows: Rows, sink: RowSink): Generator<undefined, void> {
  const { source } = rows;
  const { ctx } = source;
  const writer = new RowWriter(tree, source.scope);
  const end = tree.limit === null ? Number.POSITIVE_INFINITY : tree.offset + tree.limit;
  const output = source.trace.step('output');
  let seen = 0;
  while (seen < end) {
    const step = rows.next();
    if (step === END) return;
    if (step === ROW) {
      if (seen++ >= tree.offset) {
        ctx.trace.turn(output);
        writer.emit(rows.row, sink);
        output.rows++;
        ctx.trace.turn(rows.scan);
        if (sink.full) yield;
      }
    }
    if (ctx.tickStep(step === ROW)) yield;
  }
}

/** Rows in order: places first, then texts. Those that cannot be on the page are not looked at, where that is known of them together. */
function* ordered(tree: QueryTree, whole: Source, sink: RowSink, options: ExecuteOptions): Generator<undefined, void> {
  const reached = yield* narrowed(tree, whole);
  if (reached !== null) {
    const { rest, isDecided } = reached;
    if (isDecided && (rest.orderBy.length === 0 || walksNodes(rest.orderBy, reached.source))) {
      options.onTotal?.(reached.total);
      yield* walked(rest, reached.source, sink, {});
      return;
    }
  }
  const source = reached?.source ?? whole;
  const offset = reached?.rest.offset ?? tree.offset;
  let total = reached?.total ?? null;
  if (options.onTotal && total === null && tree.limit !== null && (source.isWithinReports || source.reports.isTimed)) {
    // So that those behind the page need not be looked at.
    total = yield* countRows(source);
    source.trace.rewind();
  }
  const byTerms = orderingOf(tree.orderBy, source.scope);
  const isPlaced =
    tree.limit !== null &&
    (source.shape === 'item' || (source.shape === 'report' && (!source.isWithinReports || byTerms.bounds !== null)));
  const page = new Page(tree, offset, source, byTerms, isPlaced ? source.shape : null);
  const isWhole = tree.limit === null || (options.onTotal !== undefined && total === null);
  yield* onPage(page, new TreeRows(source, isWhole ? null : page.behind), total, sink, options);
}

/** Pages that end further behind are made of numbers of all rows, which mostly are smaller than the keys of so many. */
const KEPT_MAX = 500_000;

/** What is kept of rows that are put in order. */
class Page {
  readonly tree: QueryTree;
  readonly ordering: Ordering;
  readonly top: TopEntries<Locator> | AllRows;
  readonly behind: Behind;

  /** `offset`: how many of the rows that come lie before the page. `placed`: as which shape rows that are equal in all terms come by their places; null: they come as they are found. */
  constructor(tree: QueryTree, offset: number, source: Source, byTerms: Ordering, placed: Shape | null) {
    const ordering = placed === null ? byTerms : withPlaces(byTerms, placed);
    this.tree = tree;
    this.ordering = ordering;
    const end = tree.limit === null ? Number.POSITIVE_INFINITY : offset + tree.limit;
    this.top =
      end > (source.ctx.options.keptMax ?? KEPT_MAX)
        ? new AllRows(
            { terms: tree.orderBy, types: typesOf(tree.orderBy, source.scope), ordering, placed, from: offset, end },
            source.ctx,
          )
        : new TopEntries(ordering.compare, offset, end);
    this.behind = new Behind(ordering, tree, source, this.top);
  }

  /** Where the rows of the page are, in order. */
  *places(tick: () => boolean): Generator<undefined, Iterable<Locator>> {
    if (this.top instanceof TopEntries) return (yield* this.top.sorted(tick)).map(({ place }) => place);
    return yield* this.top.sorted(tick);
  }
}

/** `total`: the number of all rows, where it is known; else they are counted, if it is asked for. */
function* onPage(
  page: Page,
  rows: Rows,
  total: number | null,
  sink: RowSink,
  options: ExecuteOptions,
): Generator<undefined, void> {
  const { tree, ordering, top, behind } = page;
  const { source } = rows;
  const { ctx } = source;
  const order = source.trace.step('order');
  let count = 0;
  for (let step = rows.next(); step !== END; step = rows.next()) {
    if (step === ROW) {
      count++;
      ctx.trace.turn(order);
      if (!behind.has(rows.row)) top.add(ordering.keys(rows.row), () => rows.locator());
      ctx.trace.turn(rows.scan);
    }
    if (ctx.tickStep(step === ROW)) yield;
  }
  options.onTotal?.(total ?? count);
  ctx.trace.enter(order);
  const writer = new RowWriter(tree, source.scope);
  const rowsAt = new Places(source);
  order.rows = top.size;
  const places = yield* page.places(() => ctx.tick());
  const output = source.trace.step('output');
  ctx.trace.enter(output);
  for (const place of places) {
    writer.emit(rowsAt.at(place), sink);
    output.rows++;
    if (sink.full || ctx.tickRow()) yield;
  }
}

/** Distinct events. They are counted while they are put in order; without either they go out as they come. */
function* distinct(
  tree: QueryTree,
  ctx: ExecContext,
  trace: SelectionTrace,
  sink: RowSink,
  options: ExecuteOptions,
): Generator<undefined, void> {
  const rows = yield* openDistinct(tree, ctx, trace);
  if (tree.orderBy.length === 0 && !options.onTotal) yield* asTheyCome(tree, rows, sink);
  else
    yield* onPage(
      new Page(tree, tree.offset, rows.source, orderingOf(tree.orderBy, rows.source.scope), null),
      rows,
      null,
      sink,
      options,
    );
}

function* grouped(tree: QueryTree, source: Source, sink: RowSink, options: ExecuteOptions): Generator<undefined, void> {
  const { ctx } = source;
  const grouping = new Grouping(tree, source.scope);
  const group = source.trace.step('group');
  if (grouping.itemOnly && source.countable) yield* foldItems(grouping, source);
  else if (tree.limit !== null && !options.onTotal && walksNames(tree.orderBy, source))
    yield* groupedByName(tree, grouping, source);
  else if (isCrossable(grouping, source)) yield* crossRows(grouping, source);
  // By kind of report, where that is all that is asked for.
  else if (!(yield* foldReports(source, grouping.reads, (row, weight) => grouping.add(row, weight))))
    yield* groupRows(grouping, source);
  options.onTotal?.(grouping.size);
  group.rows = grouping.size;
  const output = source.trace.step('output');
  ctx.trace.enter(output);
  yield* emitGroups(tree, grouping, sink, ctx, output);
}

/** Row by row. */
function* groupRows(grouping: Grouping, source: Source): Generator<undefined, void> {
  const { ctx } = source;
  const group = source.trace.step('group');
  const rows = new TreeRows(source);
  for (let step = rows.next(); step !== END; step = rows.next()) {
    if (step === ROW) {
      ctx.trace.turn(group);
      grouping.add(rows.row, 1);
      ctx.trace.turn(rows.scan);
    }
    if (ctx.tickStep(step === ROW)) yield;
  }
}

/** Folds each shared item once, weighted with the nodes that have it. */
function* foldItems(grouping: Grouping, source: Source): Generator<undefined, void> {
  const { trace } = source.ctx;
  const group = source.trace.step('group');
  yield* foldRows(source, grouping.reads, (row, weight) => {
    const { scan } = source.trace.partition(row.part);
    scan.rows += weight;
    trace.turn(group);
    grouping.add(row, weight);
    trace.turn(scan);
  });
}

function* emitGroups(
  tree: QueryTree,
  grouping: Grouping,
  sink: RowSink,
  ctx: ExecContext,
  output: Step,
): Generator<undefined, void> {
  const all = tree.limit === null ? grouping.size : Math.min(grouping.size, tree.offset + tree.limit);
  const page = tree.orderBy.length === 0 ? range(tree.offset, all) : yield* orderedGroups(tree, grouping, ctx);
  for (const group of page) {
    sink.row(grouping.json(group));
    output.rows++;
    if (sink.full || ctx.tickRow()) yield;
  }
}

function* range(from: number, end: number): Generator<number> {
  for (let at = from; at < end; at++) yield at;
}

/** The numbers of the groups on the page. */
function* orderedGroups(tree: QueryTree, grouping: Grouping, ctx: ExecContext): Generator<undefined, number[]> {
  const types = tree.orderBy.map((t) => fieldOf(tree.entity, t.field)?.type ?? 'S');
  const compare = compareByTypes(
    types,
    tree.orderBy.map((t) => t.descending),
  );
  const top = new TopEntries<number>(compare, tree.offset, tree.limit === null ? null : tree.offset + tree.limit);
  for (let group = 0; group < grouping.size; group++) {
    top.add(grouping.orderKeys(group), () => group);
    if (ctx.tickRow()) yield;
  }
  return (yield* top.sorted(() => ctx.tick())).map(({ place }) => place);
}
