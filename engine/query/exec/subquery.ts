// Subqueries are evaluated before the query that uses them, innermost first: to sets of nodes where certname is compared with
// certname (most of them), else to sets of tuples. `match()` in a dotted path is expanded here too: it asks for paths that
// are stored now.

import type { NodeSet } from '../../store/items/node-set.ts';
import { encodePath, matchPattern } from '../paths.ts';
import { isOddValue } from '../resolve/clause.ts';
import { invalidClause, noImplementation } from '../resolve/messages.ts';
import { hasMatch, partsOfPath } from '../resolve/path.ts';
import { type Filter, pageEnd, type QueryTree } from '../tree.ts';
import { alternatives } from './filter/alternatives.ts';
import { conditionsOf } from './filter/conditions.ts';
import { accessFor, typeOf } from './filter/filter.ts';
import { impliedBy, impliedByAlternatives } from './filter/implied.ts';
import { keyOf, ValueSet } from './filter/value-set.ts';
import { isOrderKept, orderingOf } from './order/order.ts';
import { Page } from './page.ts';
import { partsOf } from './plan/compiled-selection.ts';
import type { ExecContext } from './plan/context.ts';
import { isKept } from './row/access.ts';
import { pathsOf } from './row/global-records.ts';
import type { Row } from './row/row.ts';
import { END, ROW } from './sources/cursor.ts';
import { nodesOf, noNodes } from './sources/nodes-of.ts';
import { Places, TreeRows } from './sources/rows.ts';
import { Source } from './sources/source.ts';

type InQuery = Extract<Filter, { kind: 'in-query' }>;
type Json = Extract<Filter, { kind: 'json' }>;

/** Evaluates every subquery of the filter and expands what depends on the data. Returns the filter to run. */
export function* prepareFilter(
  filter: Filter | null,
  tree: QueryTree,
  ctx: ExecContext,
): Generator<undefined, Filter | null> {
  if (filter === null) return null;
  if (lookupsOf(filter).length > 0) takeSnapshots(filter, ctx);
  return yield* prepare(filter, tree, ctx, true);
}

/** For a query that will not be run: throws where `prepareFilter` would, because `match()` finds no path or one that cannot be asked so. */
export function* checkMatches(filter: Filter | null, ctx: ExecContext): Generator<undefined, void> {
  for (const lookup of filter === null ? [] : lookupsOf(filter)) {
    if (lookup.kind === 'in-query') yield* checkMatches(lookup.query.filter, ctx);
    else yield* expandMatch(lookup, ctx);
  }
}

/** What is looked up in the store before rows are looked for, on this level. */
function lookupsOf(filter: Filter): readonly (InQuery | Json)[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.args.flatMap(lookupsOf);
    case 'not':
      return lookupsOf(filter.arg);
    case 'in-query':
      return [filter];
    case 'json':
      return hasMatch(filter.parts) ? [filter] : [];
    default:
      return [];
  }
}

/**
 * Takes the snapshots that the filter and its subqueries need before the first of them runs, so that all are of one moment. What they
 * find may show that fewer would have done.
 */
function takeSnapshots(filter: Filter | null, ctx: ExecContext): void {
  for (const part of partsOf(conditionsOf(filter), ctx)) ctx.view(part);
  for (const lookup of filter === null ? [] : lookupsOf(filter)) {
    if (lookup.kind === 'in-query') takeSnapshots(lookup.query.filter, ctx);
    else void ctx.views;
  }
}

/** `selects`: rows for which the filter is unknown are treated as if it was false. */
function* prepare(filter: Filter, tree: QueryTree, ctx: ExecContext, selects: boolean): Generator<undefined, Filter> {
  switch (filter.kind) {
    case 'and': {
      const args: Filter[] = [];
      for (const arg of filter.args) args.push(yield* prepare(arg, tree, ctx, selects));
      return { kind: 'and', args };
    }
    case 'or': {
      const args: Filter[] = [];
      for (const arg of alternatives(filter)) args.push(yield* prepare(arg, tree, ctx, selects));
      return withImplied(selects ? impliedByAlternatives(args, tree.entity) : [], { kind: 'or', args });
    }
    case 'not':
      return { kind: 'not', arg: yield* prepare(filter.arg, tree, ctx, false) };
    case 'in-query': {
      let set = ctx.subqueries.get(filter);
      if (set === undefined) ctx.subqueries.set(filter, (set = yield* evaluate(filter, tree, ctx)));
      return withImplied(selects ? impliedBy(filter, set, tree.entity) : [], filter);
    }
    case 'json':
      return hasMatch(filter.parts) ? yield* expandMatch(filter, ctx) : filter;
    default:
      return filter;
  }
}

/** What is implied is tested first: it costs less. */
const withImplied = (implied: readonly Filter[], filter: Filter): Filter =>
  implied.length === 0 ? filter : { kind: 'and', args: [...implied, filter] };

function* evaluate(filter: InQuery, outer: QueryTree, ctx: ExecContext): Generator<undefined, ValueSet> {
  const trace = ctx.trace.begin(filter.query, filter.fields);
  const { filter: within } = filter.query;
  const inner = within === null ? null : yield* prepare(within, filter.query, ctx, true);
  const source = new Source({ entity: filter.query.entity, filter: inner }, ctx, trace);
  const set = yield* valuesOf(filter, outer, source);
  ctx.trace.end(trace);
  return set;
}

/** What the subquery's rows have in the fields that are compared. */
function* valuesOf(filter: InQuery, outer: QueryTree, source: Source): Generator<undefined, ValueSet> {
  const { query, columns, fields } = filter;
  const { ctx } = source;
  const onNodes = fields.length === 1 && fields[0] === 'certname' && columns[0] === 'certname';
  const set = new ValueSet((bytes) => ctx.hold(bytes, 'subquery'));
  const plain = query.limit === null && query.offset === 0;
  if (onNodes && plain) {
    set.nodes = yield* nodesOf(source);
    return set;
  }
  const names = columns.slice(0, fields.length);
  const access = names.map((name) => accessFor(source.scope, name));
  const innerTypes = names.map((name) => typeOf(query.entity, name));
  const outerTypes = fields.map((name) => typeOf(outer.entity, name));
  const take = (row: Row): void => set.add(access.map((a, i) => keyOf(a.value(row), innerTypes[i]!, outerTypes[i]!)));
  if (plain) {
    const rows = new TreeRows(source, { isGlance: access.every((a) => isKept(a, false)) });
    for (let step = rows.next(); step !== END; step = rows.next()) {
      if (step === ROW) take(rows.row);
      if (ctx.tickStep(step === ROW)) yield;
    }
  } else yield* paged(query, source, take);
  if (onNodes) set.nodes = namesToNodes(set, ctx);
  return set;
}

/** The rows of a subquery with order, offset and limit. */
function* paged(query: QueryTree, source: Source, take: (row: Row) => void): Generator<undefined, void> {
  const { ctx } = source;
  const byTerms = orderingOf(query.orderBy, source.scope);
  const page = new Page(query, byTerms, source, { offset: query.offset, placed: null });
  const rows = new TreeRows(source, { isGlance: isOrderKept(query.orderBy, source.scope) });
  // Without an order the page is the rows that come first.
  yield* page.take(rows, query.orderBy.length === 0 ? pageEnd(query) : Number.POSITIVE_INFINITY);
  const rowsAt = new Places(source);
  for (const place of yield* page.places(() => ctx.tick())) {
    take(rowsAt.at(place));
    if (ctx.tickRow()) yield;
  }
}

function namesToNodes(set: ValueSet, ctx: ExecContext): NodeSet[] {
  const sets = noNodes(ctx);
  for (const certname of set.keys) {
    const part = ctx.partOf(certname);
    const id = ctx.view(part).nodeId(certname);
    if (id !== 0) sets[part]!.add(id);
  }
  return sets;
}

/** `facts.match("…")`: the `or` of the operator over every stored path that matches. */
function* expandMatch(filter: Json, ctx: ExecContext): Generator<undefined, Filter> {
  const { parts } = filter;
  const matcher = ctx.regex(matchPattern(parts));
  const found = new Map<string, readonly (string | number)[]>();
  for (const known of pathsOf(ctx.views)) {
    if (ctx.tickRow()) yield;
    if (known === null) continue;
    const text = encodePath(known.path);
    if (matcher.test(text)) found.set(text, known.path);
  }
  const matching = [...found.values()];
  if (matching.length === 0) throw noImplementation();
  // One path is a field like any other; the parts of an `or` are not looked at again.
  if (matching.length === 1 && filter.op !== '=' && isOddValue(filter.value)) throw invalidClause(filter.op);
  return {
    kind: 'or',
    args: matching.map((path) => ({ ...filter, root: 'facts', parts: partsOfPath(path) })),
  };
}
