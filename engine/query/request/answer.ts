// What each kind of route answers. An answer that takes work is a generator: it yields while work is left or the body is
// full, and ends with the head of the answer. Mistakes of the client are thrown as QueryError.

import type { RouteAnswer, RouteFilter } from '../../../schemas/query-routes.ts';
import { ByteWriter } from '../../bytes.ts';
import { prettyText } from '../../json/pretty.ts';
import { printJson } from '../../json/print.ts';
import type { JsonValue } from '../../json/value.ts';
import { QueryError } from '../errors.ts';
import { executeAggregate, executeEventCounts } from '../exec/event-counts.ts';
import { execute } from '../exec/execute.ts';
import { planOf } from '../exec/explain.ts';
import { checkMatches } from '../exec/subquery.ts';
import type { QueryHead } from '../request.ts';
import { ACTIVE_FILTER, mentionsNodeState } from '../resolve/defaults.ts';
import {
  type EntityOptions,
  resolveAggregateEventCounts,
  resolveEntity,
  resolveEventCounts,
  resolveRoot,
} from '../resolve/resolve.ts';
import type { ExecuteOptions, RowSink } from '../sink.ts';
import type { QueryTree } from '../tree.ts';
import {
  type Answer,
  type AnswerInput,
  jsonHead,
  listed,
  notFound,
  prettyWanted,
  resolveOptions,
  totalTo,
  UNPAGED,
  type Work,
} from './answer-input.ts';
import { type RowShape, wholeBody } from './body.ts';
import { writeReportPart } from './lookups.ts';
import type { QueryParams } from './params.ts';
import { reportSizes } from './report-sizes.ts';
import { resourceGraphs } from './resource-graphs.ts';
import { stateOverview } from './state-overview.ts';

/** Answers a request whose checks have passed: at once, or with work to be done. */
export function answer(input: AnswerInput): Answer | QueryHead {
  const { answer: kind } = input.route;
  switch (kind.kind) {
    case 'root':
      return rootAnswer(input);
    case 'rows':
      return listAnswer(input, entityTree(input, kind), 'objects');
    case 'names':
      return listAnswer(input, entityTree(input, { ...kind, filters: [] }), 'names');
    case 'single':
      return singleAnswer(input, kind);
    case 'report-part':
      return reportPartAnswer(input, kind);
    case 'event-counts':
      return eventCountsAnswer(input);
    case 'aggregate-event-counts':
      return aggregateAnswer(input);
    case 'resource-graphs':
      return resourceGraphs(input);
    case 'state-overview':
      return stateOverview(input);
    case 'report-sizes':
      return reportSizes(input, kind.part);
  }
}

// ---- lists ----

function rootAnswer(input: AnswerInput): Answer | QueryHead {
  const { params } = input;
  const options = resolveOptions(input);
  const tree = readable(params, () => resolveRoot(params.query, { ...options, astOnly: params.astOnly }));
  if (params.astOnly) return astAnswer(input, tree);
  return listAnswer(input, tree, tree.entity === 'fact_names' ? 'names' : 'objects');
}

/** Refusals that tell of integers are others for PQL. */
function readable<T>({ isPql }: QueryParams, resolve: () => T): T {
  try {
    return resolve();
  } catch (error) {
    throw isPql && error instanceof QueryError ? new QueryError(error.status, error.inPql, error.form) : error;
  }
}

function entityTree(input: AnswerInput, rows: Pick<RouteAnswer & { kind: 'rows' }, 'entity' | 'filters'>): QueryTree {
  const { params, path } = input;
  const active = params.query === null || !mentionsNodeState(params.query);
  const routeFilters: JsonValue[] = [];
  for (const filter of rows.filters) {
    if (filter !== 'active') routeFilters.push(routeFilter(filter, path));
    else if (active) routeFilters.push(ACTIVE_FILTER);
  }
  const options: EntityOptions = { ...resolveOptions(input), routeFilters };
  return resolveEntity(rows.entity, params.query, options);
}

const routeFilter = (filter: Exclude<RouteFilter, 'active'>, path: AnswerInput['path']): JsonValue => [
  '=',
  filter.field,
  path[filter.param] ?? '',
];

function* listAnswer(input: AnswerInput, tree: QueryTree, shape: RowShape): Answer {
  const { ctx, params } = input;
  if (params.explain) return yield* explainAnswer(input, (sink, options) => execute(tree, ctx, sink, options));
  return yield* listed(input, shape, (body) => execute(tree, ctx, body, totalTo(input)));
}

/** Takes rows like a body does and drops them. */
class NoBody implements RowSink {
  readonly full = false;
  readonly #out = new ByteWriter(0);
  row(): void {}
  begin(): ByteWriter {
    this.#out.length = 0;
    return this.#out;
  }
}

/** Executes the query with each step timed, and answers with its plan instead of its rows. */
function* explainAnswer(input: AnswerInput, run: (sink: RowSink, options: ExecuteOptions) => Work<void>): Answer {
  const text = `[${yield* explained(input, run, totalTo(input))}]`;
  return jsonHead(200, prettyWanted(input) ? prettyText(text) : text);
}

/** The plan in its envelope. */
function* explained(
  { ctx }: AnswerInput,
  run: (sink: RowSink, options: ExecuteOptions) => Work<void>,
  options: ExecuteOptions,
): Work<string> {
  ctx.trace.fine = true;
  yield* run(new NoBody(), options);
  return `{"query plan":[${JSON.stringify(planOf(ctx))}]}`;
}

// ---- one thing ----

function* singleAnswer(input: AnswerInput, single: RouteAnswer & { kind: 'single' }): Answer {
  const { ctx, params, path } = input;
  const id = path[single.param] ?? '';
  const tree = resolveEntity(single.entity, ['=', single.field, id], {
    ...resolveOptions(input),
    ...UNPAGED,
    includePackageInventory: false,
  });
  if (params.explain) {
    return jsonHead(200, prettyText(yield* explained(input, (sink) => execute(tree, ctx, sink), {})));
  }
  const body = input.streamOne();
  yield* execute(tree, ctx, body);
  return (yield* body.indented()) ? null : notFound(single.of, id);
}

/** The query itself, checked like one that runs. */
function* astAnswer(input: AnswerInput, tree: QueryTree): Answer {
  yield* checkMatches(tree.filter, input.ctx);
  const body = input.streamOne();
  body.row(printJson(input.params.query));
  yield* body.indented();
  return null;
}

function reportPartAnswer(input: AnswerInput, part: RouteAnswer & { kind: 'report-part' }): QueryHead {
  const out = input.writer(0);
  const found = writeReportPart(input.path[part.param] ?? '', part.part, input.ctx, out);
  return jsonHead(200, found ? wholeBody(out) : 'null');
}

// ---- counts ----

function* eventCountsAnswer(input: AnswerInput): Answer {
  const { ctx, params } = input;
  const tree = resolveEventCounts(countsOf(params), resolveOptions(input));
  if (params.explain)
    return yield* explainAnswer(input, (sink, options) => executeEventCounts(tree, ctx, sink, options));
  return yield* listed(input, 'objects', (body) => executeEventCounts(tree, ctx, body, totalTo(input)));
}

function* aggregateAnswer(input: AnswerInput): Answer {
  const { ctx, params } = input;
  const trees = resolveAggregateEventCounts(countsOf(params), resolveOptions(input));
  return yield* listed(input, 'objects', (body) => executeAggregate(trees, ctx, body));
}

const countsOf = (params: QueryParams) => ({
  summarizeBy: params.summarizeBy ?? 'null',
  countBy: params.countBy,
  countsFilter: params.countsFilter,
  query: params.query,
});
