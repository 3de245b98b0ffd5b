// What a client asked for besides the path: parameters of a URL or of a JSON body, checked and coerced in PuppetDB's order,
// because the order decides which of several mistakes is reported (spec/query.md 1.5). The query itself is parsed here and
// checked nowhere here; names of columns are the resolver's business.

import { type ParamSet, paramSets } from '../../../schemas/query-routes.ts';
import { firstOfSet, printAlone } from '../../clojure.ts';
import { parseForm } from '../../form.ts';
import { javaInteger } from '../../java-integer.ts';
import { doubleOfNumber, isArray, isNumber, isObject, type JsonObject, type JsonValue } from '../../json/value.ts';
import { parseLenient } from '../../time.ts';
import { badQuery, type QueryError } from '../errors.ts';
import { parseJsonBody, parseJsonQuery, parseJsonValue } from '../json-text.ts';
import { parsePql } from '../pql/parse.ts';
import type { QueryRequest } from '../request.ts';
import { type OrderColumns, parameterOrder, plainCount } from '../resolve/order-by.ts';

export interface QueryParams {
  /** The AST, or null when none was sent. */
  readonly query: JsonValue;
  /** It was sent as PQL. */
  readonly isPql: boolean;
  /** As sent; its form is right, its columns are unchecked. */
  readonly orderBy: JsonValue;
  readonly limit: number | null;
  readonly offset: number | null;
  readonly includeTotal: boolean;
  /** null: not said. */
  readonly pretty: boolean | null;
  readonly astOnly: boolean;
  readonly explain: boolean;
  readonly includeFactsExpiration: boolean;
  readonly includePackageInventory: boolean;
  /** Seconds, possibly Infinity; null: not said. */
  readonly timeout: number | null;
  readonly origin: string | null;
  /** Distinct mode of events: inclusive epoch ms. */
  readonly distinct: { readonly start: number; readonly end: number } | null;
  readonly summarizeBy: string | null;
  readonly countBy: string | null;
  /** null: not sent. */
  readonly countsFilter: JsonValue;
  readonly unresponsiveThreshold: number | null;
}

interface ReadOptions {
  readonly depthMax: number;
  /** The query may be PQL. */
  readonly pql: boolean;
  /** The URL of a POST is looked at, too. */
  readonly urlOfPost: boolean;
}

/** Values by name. GET: text. POST: what the body holds. */
type Values = Map<string, JsonValue>;

/** Lists that stand for a name that came more than once in a URL. */
const repeated = new WeakSet<object>();
/** Queries that were sent as PQL. */
const fromPql = new WeakSet<object>();

/**
 * Reads the parameters of a route. Throws QueryError 400; texts are those of spec/query.md 1.5, 5.2 and 7, and where
 * PuppetDB fails inside on a value of the wrong type, a sentence of the same kind.
 */
export function readParams(request: QueryRequest, set: ParamSet, options: ReadOptions): QueryParams {
  const rule = paramSets[set];
  let values: Values;
  if (!rule.query) {
    values = readUrl(request);
  } else if (request.method === 'GET') {
    values = readUrl(request);
    parseUrlValues(values, options);
  } else if (request.method === 'POST') {
    values = readBody(request, options);
    if (options.urlOfPost) addUrlOfPost(request, rule.optional, values);
  } else {
    throw badQuery('PuppetDB queries must be made via GET/POST');
  }
  for (const name of rule.required) {
    if (!values.has(name)) throw badQuery(`Missing required query parameter '${name}'`);
  }
  const unsupported = [...values.keys()].filter(
    (name) => !rule.required.includes(name) && !rule.optional.includes(name),
  );
  if (unsupported.length > 0) throw badQuery(`Unsupported query parameter '${firstOfSet(unsupported)}'`);
  for (const [name, value] of values) {
    if (isArray(value) && repeated.has(value)) throw badQuery(`Query parameter '${name}' was sent more than once`);
  }
  // Where a query is no parameter there is nothing to explain, however it is asked for.
  if (!rule.query) values.delete('explain');
  return coerce(values);
}

// ---- sources ----

function readUrl(request: QueryRequest): Values {
  const values: Values = new Map();
  readForm(request.queryString, values);
  if (request.method !== 'GET' || request.body === null) return values;
  // A form in the body of a GET counts too, for what the URL does not name.
  const all: Values = new Map();
  readForm(request.body, all);
  for (const [name, value] of values) all.set(name, value);
  return all;
}

function readForm(text: string, values: Values): void {
  for (const [name, value] of parseForm(text)) {
    if (Array.isArray(value)) repeated.add(value);
    values.set(name, value);
  }
}

/** Texts that hold JSON or PQL; parsed before any name is checked. */
function parseUrlValues(values: Values, options: ReadOptions): void {
  const query = values.get('query');
  if (query !== undefined) values.set('query', parseQueryText(query, options));
  const orderBy = values.get('order_by');
  if (typeof orderBy === 'string') {
    values.set(
      'order_by',
      orRefuse(
        () => parseJsonBody(orderBy, options.depthMax) ?? null,
        () => badQuery(`Illegal value '${orderBy}' for :order_by; expected a JSON array of maps.`),
      ),
    );
  }
  const countsFilter = values.get('counts_filter');
  if (typeof countsFilter === 'string') {
    values.set('counts_filter', parseJsonValue(countsFilter, options.depthMax) ?? null);
  }
}

function orRefuse<T>(parse: () => T, refusal: () => QueryError): T {
  try {
    return parse();
  } catch {
    throw refusal();
  }
}

const AST_START = /^[ \t\n\v\f\r]*\[/;

function parseQueryText(query: JsonValue, options: ReadOptions): JsonValue {
  if (query === null) return null;
  if (typeof query !== 'string') throw illegal('query', query, 'expected a JSON array.');
  if (options.pql && !AST_START.test(query)) {
    const ast = parsePql(query, options.depthMax);
    if (isArray(ast)) fromPql.add(ast);
    return ast;
  }
  return parseJsonQuery(query, options.depthMax) ?? null;
}

function readBody(request: QueryRequest, options: ReadOptions): Values {
  const body = parseJsonBody(request.body ?? '', options.depthMax) ?? null;
  if (body !== null && !isObject(body)) throw badQuery('The body of a query must be a JSON object');
  const values: Values = new Map(Object.entries((body ?? {}) as JsonObject));
  const query = values.get('query') ?? null;
  if (query === false) values.set('query', null);
  else if (!isArray(query)) values.set('query', parseQueryText(query, options));
  return values;
}

/** What of the URL of a POST counts where the body lacks it: any text, even `false`, asks for the first ones. */
const URL_OF_POST: Readonly<Record<string, (text: string) => JsonValue>> = {
  include_total: () => true,
  include_facts_expiration: () => true,
  include_package_inventory: () => true,
  count_by: (text) => text,
};

function addUrlOfPost({ queryString }: QueryRequest, known: readonly string[], values: Values): void {
  if (queryString === '') return;
  const url: Values = new Map();
  readForm(queryString, url);
  for (const [name, read] of Object.entries(URL_OF_POST)) {
    const text = url.get(name);
    if (typeof text === 'string' && known.includes(name) && !values.has(name)) values.set(name, read(text));
  }
}

// ---- coercions, in the order that decides which mistake is named ----

function coerce(values: Values): QueryParams {
  const value = (name: string): JsonValue => values.get(name) ?? null;
  const query = value('query');
  const astOnly = toBoolean(values, 'ast_only');
  const orderBy = toOrder(value('order_by'));
  const limit = toCount('limit', value('limit'), 1, 'expected a positive non-zero integer.');
  const offset = toCount('offset', value('offset'), 0, 'expected a non-negative integer.');
  const includeTotal = toBoolean(values, 'include_total');
  toBoolean(values, 'optimize_drop_unused_joins');
  const pretty = values.has('pretty') ? toBoolean(values, 'pretty') : null;
  const explain = toExplain(value('explain'));
  const includeFactsExpiration = toBoolean(values, 'include_facts_expiration');
  const includePackageInventory = toBoolean(values, 'include_package_inventory');
  const distinctResources = toBoolean(values, 'distinct_resources');
  const timeout = values.has('timeout') ? toTimeout(value('timeout')) : null;
  if (query !== null && !isArray(query)) throw illegal('query', query, 'expected a JSON array.');
  return {
    query,
    isPql: query !== null && fromPql.has(query),
    orderBy,
    limit,
    offset,
    includeTotal,
    pretty,
    astOnly,
    explain,
    includeFactsExpiration,
    includePackageInventory,
    timeout,
    origin: toText('origin', value('origin')),
    distinct: toDistinct(values, distinctResources),
    summarizeBy: toText('summarize_by', value('summarize_by')),
    countBy: toText('count_by', value('count_by')),
    countsFilter: value('counts_filter'),
    unresponsiveThreshold: values.has('unresponsive_threshold') ? toThreshold(value('unresponsive_threshold')) : null,
  };
}

function illegal(name: string, value: JsonValue, expected: string): QueryError {
  return badQuery(`Illegal value '${printAlone(value)}' for :${name}; ${expected}`);
}

function toBoolean(values: Values, name: string): boolean {
  const value = values.get(name) ?? null;
  if (typeof value === 'boolean') return value;
  if (value === null) return false;
  if (typeof value === 'string') return value.toLowerCase() === 'true';
  throw illegal(name, value, 'expected a Boolean.');
}

function toText(name: string, value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value;
  throw illegal(name, value, 'expected a string.');
}

const INT_MAX = 2 ** 31 - 1;

/** Texts end where Java's integers do, numbers of a body where the database's do. */
function spelledCount(text: string): number | null {
  const count = javaInteger(text);
  return count >= 0 && count <= INT_MAX ? count : null;
}

function toCount(name: 'limit' | 'offset', value: JsonValue, min: number, expected: string): number | null {
  if (value === null) return null;
  const count = typeof value === 'string' ? spelledCount(value) : plainCount(value);
  if (count === null || count < min) throw illegal(name, value, expected);
  return count;
}

function toExplain(value: JsonValue): boolean {
  if (value === null) return false;
  if (value === 'analyze') return true;
  throw illegal('explain', value, 'expected `analyze`.');
}

function toTimeout(value: JsonValue): number {
  if (typeof value === 'string' && /^(?:[0-9]+|[0-9]*\.[0-9]+)$/.test(value)) {
    return Number(value) || Number.POSITIVE_INFINITY;
  }
  const seconds = isNumber(value) ? doubleOfNumber(value) : Number.NaN;
  if (seconds >= 0) return seconds;
  throw badQuery(`Query timeout must be non-negative number, not ${printAlone(value)}`);
}

function toThreshold(value: JsonValue): number {
  const threshold = typeof value === 'string' ? javaInteger(value) : Number.NaN;
  if (threshold >= 0) return threshold;
  throw illegal('unresponsive_threshold', value, 'expected a non-negative integer.');
}

/** Any name is a column here: the entity is not known yet. */
const ANY_COLUMN: OrderColumns = { names: [], find: (name) => name };

/** Checks the form; the value is passed on as it is. */
function toOrder(value: JsonValue): JsonValue {
  if (value === false) return null;
  parameterOrder(ANY_COLUMN, value);
  return value;
}

function toDistinct(values: Values, resources: boolean): QueryParams['distinct'] {
  const names = ['distinct_resources', 'distinct_start_time', 'distinct_end_time'] as const;
  const [hasResources, hasStart, hasEnd] = names.map((name) => values.has(name));
  if (!hasResources && !hasStart && !hasEnd) return null;
  if (!hasResources && hasStart && hasEnd) {
    throw badQuery(
      "'distinct_resources' query parameter must accompany parameters 'distinct_start_time' and 'distinct_end_time'",
    );
  }
  if (!(hasResources && hasStart && hasEnd)) {
    throw badQuery(
      "'distinct_resources' query parameter requires accompanying parameters 'distinct_start_time' and 'distinct_end_time'",
    );
  }
  const [first, last] = [values.get('distinct_start_time') ?? null, values.get('distinct_end_time') ?? null];
  const start = parseLenient(first);
  const end = parseLenient(last);
  if (start === null || end === null) {
    throw badQuery(
      "query parameters 'distinct_start_time' and 'distinct_end_time' must be valid datetime strings: " +
        `${printAlone(first)} ${printAlone(last)}`,
    );
  }
  return resources ? { start, end } : null;
}
