// Resource graphs of the enterprise edition: each node's catalog together with what its latest run reported about every resource
// (spec/interface.md "Resource graph"). A graph is a catalog joined with the node's latest report, which may be of a run that used it from a
// cache (spec/operations.md 6); filters and order on the report's side (`status`, `noop`) become subqueries and a sort of narrow rows. Graphs
// are built one at a time.

import { parseJson } from '../../json/parse.ts';
import { printJson } from '../../json/print.ts';
import { isArray, type JsonObject, type JsonValue } from '../../json/value.ts';
import { badQuery } from '../errors.ts';
import { execute } from '../exec/execute.ts';
import { ACTIVE_FILTER, mentionsNodeState } from '../resolve/defaults.ts';
import { checkNames } from '../resolve/names.ts';
import { type OrderColumns, parameterOrder } from '../resolve/order-by.ts';
import { resolveEntity } from '../resolve/resolve.ts';
import { scopeOf, scopeWith } from '../resolve/scope.ts';
import type { OrderTerm } from '../tree.ts';
import { type Answer, type AnswerInput, openList, resolveOptions, totalTo, type Work } from './answer-input.ts';
import { RowList } from './body.ts';
import { reportPart } from './lookups.ts';

const CATALOG_FIELDS = [
  'certname',
  'environment',
  'catalog_uuid',
  'transaction_uuid',
  'code_id',
  'producer_timestamp',
] as const;
const REPORT_FIELDS = ['status', 'noop'] as const;
const FIELDS: readonly string[] = [...CATALOG_FIELDS, ...REPORT_FIELDS];
const COLUMNS: OrderColumns = { names: FIELDS, find: (name) => (FIELDS.includes(name) ? name : null) };

/** What a filter may name. */
const SCOPE = scopeWith('resource-graphs', [
  [scopeOf('catalogs'), CATALOG_FIELDS],
  [scopeOf('reports'), REPORT_FIELDS],
]);

type Narrow = Record<(typeof CATALOG_FIELDS)[number], string | null>;
interface Report {
  readonly hash: string;
  readonly status: string | null;
  readonly noop: boolean | null;
}
interface Joined {
  readonly catalog: Narrow;
  readonly report: Report | null;
}

export function* resourceGraphs(input: AnswerInput): Answer {
  const { params, header } = input;
  const order = parameterOrder(COLUMNS, params.orderBy);
  const orderedByReport = order.some((term) => isReportField(term.field));
  const body = openList(input, 'objects');
  if (!orderedByReport) {
    const catalogs = yield* catalogRows(input, { paged: true });
    for (const catalog of catalogs) {
      body.row(yield* graph(input, { catalog, report: yield* reportOf(input, catalog) }));
      yield;
    }
  } else {
    const joined: Joined[] = [];
    for (const catalog of yield* catalogRows(input, { paged: false })) {
      joined.push({ catalog, report: yield* reportOf(input, catalog) });
      if (input.ctx.tick()) yield;
    }
    if (params.includeTotal) header('X-Records', String(joined.length));
    joined.sort((a, b) => compare(a, b, order));
    const start = params.offset ?? 0;
    for (const item of joined.slice(start, params.limit === null ? undefined : start + params.limit)) {
      body.row(yield* graph(input, item));
      yield;
    }
  }
  body.end();
  return null;
}

// ---- selection ----

const isReportField = (name: JsonValue | undefined): boolean => name === 'status' || name === 'noop';

function* catalogRows(input: AnswerInput, options: { readonly paged: boolean }): Work<Narrow[]> {
  const { params, settings, ctx } = input;
  const filter = params.query === null || (isArray(params.query) && params.query.length === 0) ? null : params.query;
  if (isArray(filter) && filter[0] === 'extract') throw badQuery("an 'extract' is not possible on resource graphs");
  if (filter !== null) checkNames(SCOPE, filter, { vocabulary: settings.vocabulary });
  const query: JsonValue[] = ['extract', [...CATALOG_FIELDS]];
  if (filter !== null) query.push(onCatalogs(filter));
  const paging = options.paged ? {} : { orderBy: null, limit: null, offset: null };
  const tree = resolveEntity('catalogs', query, {
    ...resolveOptions({ ...params, ...paging }, settings),
    routeFilters: mentionsNodeState(filter) ? [] : [ACTIVE_FILTER],
  });
  const found = new RowList();
  yield* execute(tree, ctx, found, options.paged ? totalTo(input) : {});
  return found.rows.map((row) => JSON.parse(row) as Narrow);
}

const OPPOSITE = { and: 'or', or: 'and' } as const;

/**
 * Conditions on the report become conditions on the node. `not` moves inwards to them: like any comparison with null, one
 * with what a catalog without a report does not have holds neither way.
 */
function onCatalogs(clause: JsonValue, isNegated = false): JsonValue {
  const asItIs: JsonValue = isNegated ? ['not', clause] : clause;
  if (!isArray(clause)) return asItIs;
  const [op, field, value] = clause;
  if (op === 'not' && clause.length === 2) return onCatalogs(clause[1] as JsonValue, !isNegated);
  if ((op === 'and' || op === 'or') && clause.length > 1) {
    return [isNegated ? OPPOSITE[op] : op, ...clause.slice(1).map((arg) => onCatalogs(arg, isNegated))];
  }
  if (!isReportField(field)) return asItIs;
  const isNullTest = op === 'null?' || (op === '=' && value === null);
  if (!isNullTest) return reported(asItIs);
  const isNull = op === '=' || (value !== false && value !== null);
  const isThere = reported(['null?', field as JsonValue, false]);
  return isNull === isNegated ? isThere : ['not', isThere];
}

const IS_LATEST: JsonValue = ['=', 'latest_report?', true];

/** The node has a report, and of the latest one that is so. */
const reported = (condition: JsonValue): JsonValue => [
  'in',
  'certname',
  ['extract', 'certname', ['select_reports', ['and', IS_LATEST, condition]]],
];

function* reportOf(input: AnswerInput, catalog: Narrow): Work<Report | null> {
  const filter = ['and', ['=', 'certname', catalog.certname], IS_LATEST];
  const tree = resolveEntity('reports', ['extract', ['hash', ...REPORT_FIELDS], filter], {
    ...resolveOptions(input.params, input.settings),
    orderBy: null,
    limit: null,
    offset: null,
  });
  const found = new RowList();
  yield* execute(tree, input.ctx, found);
  return found.rows[0] === undefined ? null : (JSON.parse(found.rows[0]) as Report);
}

/** Nulls last ascending, first descending, like everywhere. */
function compare(a: Joined, b: Joined, order: readonly OrderTerm[]): number {
  for (const { field, descending } of order) {
    const x = sortKey(a, field);
    const y = sortKey(b, field);
    if (x === y) continue;
    const sign = descending ? -1 : 1;
    if (x === null) return sign;
    if (y === null) return -sign;
    return x < y ? -sign : sign;
  }
  return 0;
}

function sortKey({ catalog, report }: Joined, field: string): string | null {
  if (field === 'status') return report?.status ?? null;
  if (field === 'noop') return report?.noop == null ? null : String(report.noop);
  return catalog[field as keyof Narrow];
}

// ---- one graph ----

function* graph(input: AnswerInput, { catalog, report }: Joined): Work<string> {
  const tree = resolveEntity('catalogs', ['extract', ['resources', 'edges'], ['=', 'certname', catalog.certname]], {
    ...resolveOptions(input.params, input.settings),
    orderBy: null,
    limit: null,
    offset: null,
  });
  const found = new RowList();
  yield* execute(tree, input.ctx, found);
  const [resources = '[]', edges = '[]'] = expandedData(found.rows[0] ?? '');
  const outcomes = outcomesOf(report === null ? null : reportPart(report.hash, 'resources', input.ctx));
  const shown = elementsOf(resources).map((text) => {
    const { type, title } = JSON.parse(text) as { type: string; title: string };
    const outcome = outcomes.get(`${type}\0${title}`) ?? NO_OUTCOME;
    return `${text.slice(0, text.lastIndexOf('}'))},"skipped":${outcome.skipped},"events":${outcome.events}}`;
  });
  const head = JSON.stringify({ ...catalog, status: report?.status ?? null, noop: report?.noop ?? null });
  return `${head.slice(0, -1)},"resources":[${shown.join(',')}],"edges":${edges}}`;
}

/** The texts of `data` of both expanded columns, which follow each other in the row; absent data is an empty list. */
function expandedData(row: string): string[] {
  // A parameter may look like the other column: that one is looked for behind the first.
  let end = 0;
  return ['"resources":{"data":', '"edges":{"data":'].map((key) => {
    const start = row.indexOf(key, end);
    if (start < 0) return '[]';
    end = endOfValue(row, start + key.length);
    const text = row.slice(start + key.length, end);
    return text === 'null' ? '[]' : text;
  });
}

/** The elements of a JSON list as texts: numbers keep their spelling. */
function elementsOf(list: string): string[] {
  const elements: string[] = [];
  let at = list.indexOf('[') + 1;
  while (at < list.length) {
    const unit = list.charCodeAt(at);
    if (unit === 0x5d) break;
    if (unit === 0x7b) {
      const end = endOfValue(list, at);
      elements.push(list.slice(at, end));
      at = end;
    } else {
      at++;
    }
  }
  return elements;
}

/** Behind the JSON value that starts at `start`. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) {
      for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++;
    } else if (unit === 0x7b || unit === 0x5b) depth++;
    else if (unit === 0x7d || unit === 0x5d) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (unit === 0x2c && depth === 0) return at;
  }
  return text.length;
}

interface Outcome {
  readonly skipped: boolean;
  /** JSON text of a list. */
  readonly events: string;
}
const NO_OUTCOME: Outcome = { skipped: false, events: '[]' };
const EVENT_FIELDS = ['timestamp', 'property', 'new_value', 'old_value', 'status', 'message'] as const;

/** What a report says about each resource, by type and title. */
function outcomesOf(text: string | null): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  const list = text === null ? null : parseJson(text);
  if (!isArray(list)) return outcomes;
  for (const resource of list as readonly JsonObject[]) {
    const events = ((resource['events'] ?? []) as readonly JsonObject[]).map((event) =>
      printJson(Object.fromEntries(EVENT_FIELDS.map((field) => [field, event[field] ?? null]))),
    );
    outcomes.set(`${resource['resource_type']}\0${resource['resource_title']}`, {
      skipped: resource['skipped'] === true,
      events: `[${events.join(',')}]`,
    });
  }
  return outcomes;
}
