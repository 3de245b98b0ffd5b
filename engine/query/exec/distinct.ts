// Events with distinct_resources: of each resource property of a node only the most recent event within the times
// (spec/query.md 6.1). The filter runs after that, except for what `before` says.

import { EVENT_CODE, type StoredEvents } from '../../store/event-record.ts';
import type { ExecuteOptions, RowSink } from '../sink.ts';
import type { Filter, QueryTree } from '../tree.ts';
import type { ExecContext } from './context.ts';
import { END, ROW } from './cursor.ts';
import { compileFilter, scopeOf } from './filter.ts';
import { orderingOf, TopEntries } from './order.ts';
import { RowWriter } from './output.ts';
import type { Locator, Row } from './row.ts';
import { Source, TreeRows } from './source.ts';
import { Places, prepareFilter } from './subquery.ts';
import type { SelectionTrace } from './trace.ts';
import { TRUE } from './truth.ts';

interface Newest {
  timestamp: number;
  places: Locator[];
}

/** Calls back with a row at each distinct event that passes the filter. */
export function* eachDistinct(
  tree: QueryTree,
  ctx: ExecContext,
  trace: SelectionTrace,
  visit: (row: Row, place: Locator) => void,
): Generator<undefined, Source> {
  const { start, end, before } = tree.distinct!;
  const within: Filter[] = [
    { kind: 'order', field: 'timestamp', op: '>=', value: start },
    { kind: 'order', field: 'timestamp', op: '<=', value: end },
  ];
  const early = yield* prepareFilter(before, tree, ctx);
  if (early !== null) within.push(early);
  const source = new Source({ entity: 'events', filter: { kind: 'and', args: within } }, ctx, trace);
  const distinct = trace.step('distinct');
  const newest = new Map<string, Newest>();
  const rows = new TreeRows(source);
  for (let step = rows.next(); step !== END; step = rows.next()) {
    if (step !== ROW) {
      if (ctx.tick()) yield;
      continue;
    }
    ctx.trace.turn(distinct);
    const event = rows.row.sub as StoredEvents;
    const { timestamp } = event;
    const key = JSON.stringify([
      rows.row.part,
      rows.row.nodeId,
      event.coded(EVENT_CODE.resourceType),
      event.coded(EVENT_CODE.resourceTitle),
      event.coded(EVENT_CODE.property),
      event.coded(EVENT_CODE.name),
    ]);
    const known = newest.get(key);
    if (known === undefined || timestamp > known.timestamp) {
      newest.set(key, { timestamp, places: [rows.locator()] });
    } else if (timestamp === known.timestamp) known.places.push(rows.locator());
    ctx.trace.turn(rows.scan);
    if (ctx.tickRow()) yield;
  }
  ctx.trace.enter(distinct);
  const test = tree.filter === null ? null : compileFilter(tree.filter, scopeOf(ctx, 'events'));
  const places = new Places(source);
  for (const { places: kept } of newest.values()) {
    for (const place of kept) {
      const row = places.at(place);
      if (test !== null && test.test(row) !== TRUE) continue;
      distinct.rows++;
      visit(row, place);
    }
    if (ctx.tick()) yield;
  }
  return source;
}

export function* distinctRows(
  tree: QueryTree,
  ctx: ExecContext,
  trace: SelectionTrace,
  sink: RowSink,
  options: ExecuteOptions,
): Generator<undefined, void> {
  const scope = scopeOf(ctx, 'events');
  const ordering = orderingOf(tree.orderBy, scope);
  const end = tree.limit === null ? null : tree.offset + tree.limit;
  const top = new TopEntries<Locator>(ordering.compare, tree.offset, end);
  let total = 0;
  const source = yield* eachDistinct(tree, ctx, trace, (row, place) => {
    total++;
    top.add(ordering.keys(row), () => place);
  });
  options.onTotal?.(total);
  const writer = new RowWriter(tree, scope);
  const places = new Places(source);
  const order = trace.step('order');
  ctx.trace.enter(order);
  order.rows = top.size;
  const entries = yield* top.sorted(() => ctx.tick());
  const output = trace.step('output');
  ctx.trace.enter(output);
  for (const { place } of entries) {
    writer.emit(places.at(place), sink);
    output.rows++;
    if (sink.full || ctx.tick()) yield;
  }
}
