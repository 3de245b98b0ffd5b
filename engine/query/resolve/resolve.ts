// From a parsed query to the checked tree that the planner works on (spec/query.md 2.5, 3, 5, 6, 7). Everything a client can
// get wrong in a query is found here, and only here; what comes out needs no second look at the AST.
//
//   AST -> form of `from` -> route and default filters -> order -> names -> clauses -> filters, columns -> tree

import { type EntityName, findEntity } from '../../../schemas/entities.ts';
import { isAtom } from '../../clojure.ts';
import { isArray, type JsonValue } from '../../json/value.ts';
import { badQuery } from '../errors.ts';
import { type CheckRegex, checkRegex } from '../regex/regex.ts';
import { countFields, type EventCountsTree, type QueryTree } from '../tree.ts';
import { type BodyOptions, resolveBody } from './body.ts';
import { expand } from './clause.ts';
import { ACTIVE_FILTER, ANY_STATE, addFilter, mentionsNodeState } from './defaults.ts';
import { distinctColumns, distinctFilter } from './distinct.ts';
import { rulesOf } from './entities.ts';
import {
  countColumns,
  type EventCountsParameters,
  parseCountBy,
  parseCountsFilter,
  parseSummaries,
  parseSummarizeBy,
} from './event-counts.ts';
import { deferIn, deferred, type FilterContext, filterOf, settle } from './filter.ts';
import { checkLimits } from './limits.ts';
import { fromBody, fromForm, invalidEntity, noSequence } from './messages.ts';
import { checkNames } from './names.ts';
import { isPaging } from './operators.ts';
import {
  clausePaging,
  type OrderColumns,
  type Paging,
  pagingArguments,
  parameterOrder,
  scopeColumns,
} from './order-by.ts';
import { allColumns } from './projection.ts';
import { type Scope, scopeOf } from './scope.ts';

export interface ResolveOptions {
  /** The parsed `order_by` parameter; absent or null: none. */
  readonly orderBy?: JsonValue | undefined;
  readonly limit?: number | null | undefined;
  readonly offset?: number | null | undefined;
  readonly includeFactsExpiration?: boolean | undefined;
  readonly includePackageInventory?: boolean | undefined;
  /** Events only. Inclusive epoch ms. */
  readonly distinct?: { readonly start: number; readonly end: number } | null | undefined;
  /** Default true. */
  readonly addAgentReportFilter?: boolean | undefined;
  readonly edition?: 'community' | 'enterprise' | undefined;
  readonly vocabulary?: 'neutral' | 'puppetdb' | undefined;
  /** Levels of nesting a query may have; absent: any. */
  readonly depthMax?: number | undefined;
  /** Absent: the one without a bound. */
  readonly checkRegex?: CheckRegex | undefined;
}

export interface RootOptions extends ResolveOptions {
  /** The query is only asked for as AST: no default filters. */
  readonly astOnly?: boolean | undefined;
}

export interface EntityOptions extends ResolveOptions {
  /** Clauses that the route adds, such as `["=", "certname", "x"]`; the first is the innermost. */
  readonly routeFilters?: readonly JsonValue[] | undefined;
}

function bodyOptions(options: RootOptions): BodyOptions {
  return {
    includeFactsExpiration: options.includeFactsExpiration === true,
    includePackageInventory: options.includePackageInventory === true,
    vocabulary: options.vocabulary ?? 'puppetdb',
    edition: options.edition ?? 'community',
    addAgentReportFilter: options.addAgentReportFilter !== false,
    refusal: { late: null, store: null },
    checkRegex: options.checkRegex ?? checkRegex,
    astOnly: options.astOnly === true,
  };
}

// ---- root ----

/** These have no nodes to be active, by name and spelling. */
const NEVER_ACTIVE: ReadonlySet<string> = new Set(['fact_paths', 'environments', 'packages']);

function entityNamed(text: string): EntityName | null {
  const entity = findEntity(text.replaceAll('-', '_'));
  return entity && !entity.pseudo ? entity.name : null;
}

function withActiveNodes(ast: JsonValue): JsonValue {
  const text = isArray(ast) && ast[0] === 'from' && typeof ast[1] === 'string' ? ast[1] : null;
  if ((text !== null && NEVER_ACTIVE.has(text)) || mentionsNodeState(ast)) return ast;
  const entity = text === null ? null : entityNamed(text);
  // Of entities without nodes, too, PuppetDB asks for active ones, and fails where nothing else is wrong; what is wrong it sees as within an `and`.
  const hasNodes = entity === null || findEntity(entity)?.hasCertname === true;
  return addFilter(ast, hasNodes ? ACTIVE_FILTER : ANY_STATE);
}

interface FromParts {
  readonly entity: string;
  readonly body: JsonValue;
  readonly paging: readonly JsonValue[];
}

/** `["from", entity, body?, paging…]` taken apart. Throws the two texts of spec/query.md 7.5. */
function fromParts(query: JsonValue): FromParts {
  if (!isArray(query) || query[0] !== 'from' || typeof query[1] !== 'string') throw fromForm();
  const rest = query.slice(2);
  const atom = rest.find(isAtom);
  if (atom !== undefined) throw noSequence(atom);
  const first = rest[0];
  if (first === undefined) return { entity: query[1], body: [], paging: [] };
  if (isPaging(first)) {
    if (!rest.every(isPaging)) throw fromForm();
    return { entity: query[1], body: [], paging: rest };
  }
  if (!isArray(first)) throw fromBody();
  const paging = rest.slice(1);
  if (!paging.every(isPaging)) throw fromForm();
  return { entity: query[1], body: first, paging };
}

/** A query of the root endpoint, `["from", entity, …]`. Throws QueryError. */
export function resolveRoot(ast: JsonValue, options: RootOptions = {}): QueryTree {
  checkLimits(ast, options);
  const query = options.astOnly ? ast : withActiveNodes(ast);
  const { entity, body, paging } = fromParts(query);
  const name = entityNamed(entity);
  if (name === null) throw invalidEntity(entity.replaceAll('-', '_'));
  return resolveLevel(name, body, paging, options);
}

// ---- entities ----

/** A query of one of the entity routes; null is no query. Throws QueryError. */
export function resolveEntity(entity: EntityName, ast: JsonValue | null, options: EntityOptions = {}): QueryTree {
  checkLimits(ast, options);
  if (ast !== null && !isArray(ast)) throw fromBody();
  let query: JsonValue = ast;
  for (const filter of options.routeFilters ?? []) query = addFilter(query, filter);
  // PuppetDB reads ["from", entity, query], so a query that is nothing but a paging clause pages the rows.
  if (isPaging(query)) return resolveLevel(entity, [], [query], options);
  return resolveLevel(entity, query ?? [], [], options);
}

function resolveLevel(
  entity: EntityName,
  body: JsonValue,
  clauses: readonly JsonValue[],
  options: RootOptions,
): QueryTree {
  if (entity === 'events' && options.distinct) return resolveDistinct(body, clauses, options);
  const resolved = bodyOptions(options);
  const scope = scopeOf(entity, resolved);
  const paging = pagingOf(scope, scopeColumns(scope), clauses, options, resolved);
  return {
    entity,
    ...resolveBody(scope, body, paging, resolved),
    ...paging,
    distinct: null,
  };
}

/**
 * Parameters win over clauses, item by item: what such a clause says is not looked at. Rows of some entities come in an order of their own
 * unless asked for otherwise.
 */
function pagingOf(
  scope: Scope,
  columns: OrderColumns,
  clauses: readonly JsonValue[],
  options: ResolveOptions,
  context: FilterContext,
): Paging {
  const { limit = null, offset = null, orderBy = null } = options;
  const isOrdered = orderBy !== null && orderBy !== '';
  const said = pagingArguments(clauses);
  const counting = {
    limit: limit === null ? said.limit : null,
    offset: offset === null ? said.offset : null,
    orderBy: isOrdered ? null : said.orderBy,
  };
  const defer = deferIn(context);
  const fromClauses = clausePaging(scope, counting, { isInner: false, defer });
  const asked = isOrdered ? defer(() => parameterOrder(columns, orderBy), []) : fromClauses.orderBy;
  return {
    orderBy: asked.length === 0 && scope.entity !== null ? rulesOf(scope.entity.name).orderBy : asked,
    limit: limit ?? fromClauses.limit,
    offset: offset ?? fromClauses.offset,
  };
}

// ---- events ----

function resolveDistinct(body: JsonValue, clauses: readonly JsonValue[], options: ResolveOptions): QueryTree {
  const { start, end } = options.distinct as { start: number; end: number };
  const resolved = bodyOptions(options);
  const scope = scopeOf('events', resolved);
  const paging = pagingOf(scope, distinctColumns, clauses, options, resolved);
  const { filter, before } = distinctFilter(body, resolved);
  settle(resolved);
  return {
    entity: 'events',
    ...allColumns(scope),
    filter,
    ...paging,
    distinct: { start, end, before },
  };
}

const NO_PAGING: Paging = { orderBy: [], limit: null, offset: 0 };

/** The events that are counted. Unlike elsewhere an unknown operator standing alone is no filter, as in PuppetDB. */
function countedEvents(query: JsonValue, options: ResolveOptions): QueryTree {
  const pageless: ResolveOptions = { ...options, orderBy: undefined, limit: undefined, offset: undefined };
  if (options.distinct) return resolveDistinct(query ?? [], [], pageless);
  const resolved = bodyOptions(options);
  const scope = scopeOf('events', resolved);
  if (isArray(query) && query[0] === 'extract') throw badQuery("an 'extract' is not possible on event counts");
  // With an entity alone it has nothing that could count.
  if (isArray(query) && query[0] === 'from' && query.length > 2) {
    throw badQuery("a 'from' is not possible on event counts");
  }
  checkNames(scope, query, resolved);
  const filter = filterOf(scope, expand(scope, query, resolved), resolved);
  settle(resolved);
  return {
    entity: 'events',
    ...allColumns(scope),
    filter,
    ...NO_PAGING,
    distinct: null,
  };
}

/** Throws the errors of spec/query.md 6.2. */
export function resolveEventCounts(parameters: EventCountsParameters, options: ResolveOptions = {}): EventCountsTree {
  checkLimits(parameters.query ?? null, options);
  const fields = countFields(options.edition);
  const summarizeBy = parseSummarizeBy(parameters.summarizeBy);
  const orderBy = parameterOrder(countColumns(fields, summarizeBy), options.orderBy);
  const countsFilter = parseCountsFilter(parameters.countsFilter, fields);
  const events = countedEvents(parameters.query ?? null, options);
  const countBy = parseCountBy(parameters.countBy);
  return {
    events,
    summarizeBy,
    countBy,
    countsFilter,
    orderBy,
    limit: options.limit ?? null,
    offset: options.offset ?? 0,
  };
}

/** One tree for each item of `summarize_by`, in that order. Throws the errors of spec/query.md 6.3. */
export function resolveAggregateEventCounts(
  parameters: EventCountsParameters,
  options: ResolveOptions = {},
): readonly EventCountsTree[] {
  const resolve = (): EventCountsTree[] => {
    const summaries = parseSummaries(parameters.summarizeBy);
    // Each once: the list may name the same ones very often.
    const trees = new Map<string, EventCountsTree>();
    for (const summarizeBy of new Set(summaries)) {
      trees.set(summarizeBy, resolveEventCounts({ ...parameters, summarizeBy }, options));
    }
    return summaries.map((summarizeBy) => trees.get(summarizeBy)!);
  };
  if (options.distinct) return resolve();
  // The query must be one of the older language too, also where that language is not used; what the database would refuse comes last.
  const resolved = bodyOptions(options);
  const trees = deferred(resolved, resolve, []);
  distinctFilter(parameters.query ?? null, resolved);
  settle(resolved);
  return trees;
}
