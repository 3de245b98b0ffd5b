// One level of a query from its AST to its tree: defaults, names, clauses, filters, projection, in PuppetDB's order, which
// decides the error that a query with several mistakes gets.

import { isArray, type JsonValue } from '../../json/value.ts';
import type { Filter, QueryTree } from '../tree.ts';
import { expand, NO_CLAUSE } from './clause.ts';
import { addReportTypes, UnknownShape } from './defaults.ts';
import { deferIn, type FilterContext, filterOf, settle, settleLate } from './filter.ts';
import { astValidation } from './messages.ts';
import { checkNames } from './names.ts';
import { isGroupBy, normalOperator } from './operators.ts';
import type { Paging } from './order-by.ts';
import { allColumns, checkGroupOrder, isOfNumbers, type Projection, projectionOf } from './projection.ts';
import type { Scope, ScopeOptions } from './scope.ts';

export interface BodyOptions extends ScopeOptions, FilterContext {
  readonly addAgentReportFilter: boolean;
  /** The query will not be run. */
  readonly astOnly: boolean;
}

type Body = Pick<QueryTree, 'columns' | 'filter' | 'groupBy'>;

interface Parts {
  readonly columns: JsonValue;
  readonly filter: JsonValue;
  readonly groupBy: readonly JsonValue[] | null;
}

/** `["extract", columns, filter?, group_by?]` taken apart; null for anything else. */
function extractParts(body: JsonValue): Parts | null {
  if (!isArray(body) || normalOperator(body[0]) !== 'extract' || body.length < 2) return null;
  const [, columns, second, third] = body;
  if (body.length === 3 && isGroupBy(second))
    return { columns: columns as JsonValue, filter: null, groupBy: second.slice(1) };
  if (body.length <= 3) return { columns: columns as JsonValue, filter: second ?? null, groupBy: null };
  if (body.length === 4 && isGroupBy(third)) {
    return { columns: columns as JsonValue, filter: second ?? null, groupBy: third.slice(1) };
  }
  return null;
}

/** The checked body of a query: a filter, an `extract`, an empty list or null. Throws QueryError. */
export function resolveBody(scope: Scope, ast: JsonValue, paging: Paging, options: BodyOptions): Body {
  let query = ast;
  let oddity: UnknownShape | null = null;
  try {
    query = addReportTypes(scope, ast, options, options.addAgentReportFilter);
  } catch (error) {
    if (!(error instanceof UnknownShape)) throw error;
    oddity = error;
  }
  checkNames(scope, query, options);
  const parts = extractParts(query);
  const condition = parts ? parts.filter : query;
  const clause = condition === null ? NO_CLAUSE : expand(scope, condition, options);
  const every = allColumns(scope);
  const defer = deferIn(options);
  const projection = parts ? projectionOf(scope, parts.columns, parts.groupBy, defer) : every;
  const filter = filterOf(scope, clause, options);
  defer(() => checkGroupOrder(projection, paging.orderBy), undefined);
  settleLate(options);
  if (oddity) throw astValidation(oddity.clause, ast);
  if (!parts && isArray(query) && normalOperator(query[0]) === 'extract') throw astValidation(query, ast);
  if (!options.astOnly) settle(options);
  return {
    columns: projection.columns,
    groupBy: projection.groupBy,
    filter: onlyNumbers(scope, projection, filter),
  };
}

const NUMBERS: Filter = { kind: 'jsonb-typeof', field: 'value', type: 'number' };

function onlyNumbers(scope: Scope, projection: Projection, filter: Filter | null): Filter | null {
  if (scope.entity?.name !== 'facts' || !isOfNumbers(projection)) return filter;
  return filter === null ? NUMBERS : { kind: 'and', args: [NUMBERS, filter] };
}
