// Execution: tree in, row texts out. A generator: it yields whenever the sink is full or its time slice is used up, and is
// resumed by the caller when there is room. All state of a running query is in it and in its context.

import type { ExecuteOptions, RowSink } from '../sink.ts';
import { pageEnd, type QueryTree } from '../tree.ts';
import { isAggregated } from './count/aggregate.ts';
import { countRows } from './count/fold.ts';
import { openDistinct } from './distinct.ts';
import { grouped } from './grouped.ts';
import { kindPages } from './kind-pages.ts';
import { narrowed } from './narrowing.ts';
import { isOrderKept, orderingOf } from './order/order.ts';
import { RowWriter } from './output.ts';
import { Page } from './page.ts';
import type { ExecContext } from './plan/context.ts';
import { pageOrderOf } from './plan/report-plan.ts';
import type { SelectionTrace } from './plan/trace.ts';
import { END, ROW } from './sources/cursor.ts';
import { Places, type Rows, TreeRows } from './sources/rows.ts';
import { Source } from './sources/source.ts';
import { prepareFilter } from './subquery.ts';
import { timePage } from './time-pages.ts';
import { walked, walksNodes } from './walk.ts';

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
    const order = isAggregated(tree) ? null : pageOrderOf(tree);
    const source = new Source({ entity: tree.entity, filter, order }, ctx, trace);
    yield* wayOf(tree, source)(tree, source, sink, options);
  }
  ctx.trace.end(trace);
}

type Way = (tree: QueryTree, source: Source, sink: RowSink, options: ExecuteOptions) => Generator<undefined, void>;

function wayOf(tree: QueryTree, source: Source): Way {
  if (isAggregated(tree)) return grouped;
  if (tree.orderBy.length === 0) return streamed;
  if (!walksNodes(tree.orderBy, source)) return ordered;
  const isSought = source.shape === 'report' && tree.limit !== null && source.reports.areFewerThan(pageEnd(tree));
  return isSought ? ordered : walked;
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
  const end = pageEnd(tree);
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
  const pages = yield* kindPages(tree, whole);
  if (pages !== null) {
    options.onTotal?.(pages.total);
    for (const piece of pages.pieces) {
      // Equal ones come by their places, not as they are found.
      const way = piece.tree.orderBy.length === 0 ? ordered : wayOf(piece.tree, piece.source);
      yield* way(piece.tree, piece.source, sink, {});
    }
    return;
  }
  const reached = (yield* timePage(tree, whole)) ?? (yield* narrowed(tree, whole, options.onTotal !== undefined));
  if (reached?.isDecided === true && walksNodes(reached.rest.orderBy, reached.source)) {
    if (reached.total !== null) options.onTotal?.(reached.total);
    yield* walked(reached.rest, reached.source, sink, {});
    return;
  }
  const source = reached?.source ?? whole;
  const offset = reached?.rest.offset ?? tree.offset;
  let total = reached?.total ?? null;
  if (
    options.onTotal &&
    total === null &&
    tree.limit !== null &&
    (reached !== null || source.isWithinReports || source.reports.areFoundInOrder)
  ) {
    // So that those behind the page need not be looked at.
    total = yield* countRows(whole);
    whole.trace.rewind();
    if (total <= tree.offset) {
      options.onTotal(total);
      return;
    }
  }
  const byTerms = orderingOf(tree.orderBy, source.scope);
  const isPlaced =
    tree.limit !== null &&
    (source.shape === 'item' || (source.shape === 'report' && (!source.isWithinReports || byTerms.bounds !== null)));
  const page = new Page(tree, byTerms, source, { offset, placed: isPlaced ? source.shape : null });
  const isWhole = tree.limit === null || (options.onTotal !== undefined && total === null);
  yield* onPage(
    page,
    new TreeRows(source, { behind: isWhole ? null : page.behind, isGlance: isOrderKept(tree.orderBy, source.scope) }),
    total,
    sink,
    options,
  );
}

/** `total`: the number of all rows, where it is known, and no more are looked for; else they are counted, if it is asked for. */
function* onPage(
  page: Page,
  rows: Rows,
  total: number | null,
  sink: RowSink,
  options: ExecuteOptions,
): Generator<undefined, void> {
  const { source } = rows;
  const { ctx } = source;
  const count = yield* page.take(rows, total ?? Number.POSITIVE_INFINITY);
  options.onTotal?.(total ?? count);
  const writer = new RowWriter(page.tree, source.scope);
  const rowsAt = new Places(source);
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
  else {
    const { source } = rows;
    const page = new Page(tree, orderingOf(tree.orderBy, source.scope), source, { offset: tree.offset, placed: null });
    yield* onPage(page, rows, null, sink, options);
  }
}
