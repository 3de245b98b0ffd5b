// Resource graphs of the enterprise edition: each node's catalog together with what its latest run reported about every resource
// (spec/interface.md "Resource graph"). A graph is a catalog joined with the node's latest report, which may be of a run that used it from a
// cache (spec/operations.md 6); filters and order on the report's side (`status`, `noop`) become subqueries and a sort of narrow rows. Graphs
// are built one at a time.

import { OPEN_MAP } from '../../json/ascii.ts';
import { parseJson } from '../../json/parse.ts';
import { printJson } from '../../json/print.ts';
import { endOfValue, keyAt, keyOf, memberAt, someMember } from '../../json/scan.ts';
import { isArray, type JsonObject, type JsonValue } from '../../json/value.ts';
import { badQuery } from '../errors.ts';
import type { ExecContext } from '../exec/plan/context.ts';
import { ACTIVE_FILTER, mentionsNodeState } from '../resolve/defaults.ts';
import { checkNames } from '../resolve/names.ts';
import { columnsNamed, parameterOrder } from '../resolve/order-by.ts';
import { scopeOf, scopeWith } from '../resolve/scope.ts';
import type { OrderTerm } from '../tree.ts';
import { type Answer, type AnswerInput, listed, rowsOf, totalTo, type Work } from './answer-input.ts';
import type { ListBody } from './body.ts';
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
const COLUMNS = columnsNamed([...CATALOG_FIELDS, ...REPORT_FIELDS]);

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

export const resourceGraphs = (input: AnswerInput): Answer => listed(input, 'objects', (body) => graphs(input, body));

function* graphs(input: AnswerInput, body: ListBody): Work<void> {
  const { params, header } = input;
  const order = parameterOrder(COLUMNS, params.orderBy);
  const orderedByReport = order.some((term) => isReportField(term.field));
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
}

// ---- selection ----

const isReportField = (name: JsonValue | undefined): boolean => name === 'status' || name === 'noop';

function* catalogRows(input: AnswerInput, options: { readonly paged: boolean }): Work<Narrow[]> {
  const { params, settings } = input;
  const { orderBy, limit, offset } = params;
  const filter = params.query === null || (isArray(params.query) && params.query.length === 0) ? null : params.query;
  if (isArray(filter) && filter[0] === 'extract') throw badQuery("an 'extract' is not possible on resource graphs");
  if (filter !== null) checkNames(SCOPE, filter, { vocabulary: settings.vocabulary });
  const query: JsonValue[] = ['extract', [...CATALOG_FIELDS]];
  if (filter !== null) query.push(onCatalogs(filter));
  const rows = yield* rowsOf(input, 'catalogs', query, {
    ...(options.paged && { orderBy, limit, offset, ...totalTo(input) }),
    routeFilters: mentionsNodeState(filter) ? [] : [ACTIVE_FILTER],
  });
  return rows.map((row) => JSON.parse(row) as Narrow);
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
  const [row] = yield* rowsOf(input, 'reports', ['extract', ['hash', ...REPORT_FIELDS], filter]);
  return row === undefined ? null : (JSON.parse(row) as Report);
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
  const { ctx } = input;
  const query: JsonValue = ['extract', ['resources', 'edges'], ['=', 'certname', catalog.certname]];
  const [text = ''] = yield* rowsOf(input, 'catalogs', query);
  const row = Buffer.from(text, 'utf8');
  const outcomes = yield* outcomesOf(report === null ? null : reportPart(report.hash, 'resources', ctx), ctx);
  const resources: string[] = [];
  for (const resource of elementsOf(row, 'resources')) {
    const { type, title } = JSON.parse(resource) as { type: string; title: string };
    const { skipped, events } = outcomes.get(`${type}\0${title}`) ?? NO_OUTCOME;
    resources.push(`${resource.slice(0, -1)},"skipped":${skipped},"events":${events}}`);
    if (ctx.tickRow()) yield;
  }
  const edges: string[] = [];
  for (const edge of elementsOf(row, 'edges')) {
    edges.push(edge);
    if (ctx.tickRow()) yield;
  }
  const head = JSON.stringify({ ...catalog, status: report?.status ?? null, noop: report?.noop ?? null });
  return `${head.slice(0, -1)},"resources":[${resources.join(',')}],"edges":[${edges.join(',')}]}`;
}

const DATA = keyOf('data');

/** The objects in the `data` of an expanded column as texts, in which numbers keep their spelling; absent data has none. */
function* elementsOf(row: Buffer, column: string): Generator<string, void> {
  let list = -1;
  someMember(row, 0, row.length, (key, value, end) => {
    if (keyAt(row, key, value - 1) !== column) return false;
    list = memberAt(row, value, end, DATA);
    return true;
  });
  for (let at = list + 1; list >= 0 && row[at] === OPEN_MAP; at++) {
    const start = at;
    at = endOfValue(row, start, row.length);
    yield row.toString('utf8', start, at);
  }
}

interface Outcome {
  readonly skipped: boolean;
  /** JSON text of a list. */
  readonly events: string;
}
const NO_OUTCOME: Outcome = { skipped: false, events: '[]' };
const EVENT_FIELDS = ['timestamp', 'property', 'new_value', 'old_value', 'status', 'message'] as const;

/** What a report says about each resource, by type and title. */
function* outcomesOf(text: string | null, ctx: ExecContext): Work<Map<string, Outcome>> {
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
    if (ctx.tickRow()) yield;
  }
  return outcomes;
}
