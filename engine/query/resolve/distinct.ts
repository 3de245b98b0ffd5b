// The older filter language of events in `distinct_resources` mode, also demanded of every aggregate-event-counts query
// (spec/query.md 6.1, 6.3). Operators in any letter case, fewer fields, comparisons that never leave a null open.

import { printAlone, printClojure, textOf } from '../../clojure.ts';
import { doubleOfNumber, type Float, isArray, isNumber, type JsonValue } from '../../json/value.ts';
import { badQuery } from '../errors.ts';
import type { CompareOp, Filter } from '../tree.ts';
import { type Clause, expand, pairOf } from './clause.ts';
import { comparisonOf, deferred, type FilterContext, filterOf, matchesNull, timeOf } from './filter.ts';
import { valueText } from './limits.ts';
import { storageMismatch } from './messages.ts';
import { isTruthy } from './operators.ts';
import { columnsNamed, type OrderColumns } from './order-by.ts';
import { fieldNamed, type Scope, scopeOf } from './scope.ts';
import { resolveSource } from './subquery.ts';

type Kind = 'event' | 'resource' | 'fact';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** `=` and `~` on these are false on null, so that their negation keeps rows without a value. */
const NULLABLE = words('property message file line containing_class corrective_change');
const NOT_NULL = words('certname report environment resource_type resource_title status');
const VALUES = words('old_value new_value');
const TIMES = words('timestamp run_start_time run_end_time report_receive_time');
const NO_REGEX = words('corrective_change');

const IN_FIELDS: Record<Kind, ReadonlySet<string>> = {
  event: words(
    'certname configuration_version start_time end_time receive_time hash status timestamp resource_type resource_title property new_value old_value message file line containment_path containing_class name environment',
  ),
  resource: words('certname environment catalog resource type title tags exported file line'),
  fact: words('certname name value environment'),
};

/** Columns of the reports table behind fields of events. */
const EVENT_FIELDS: Readonly<Record<string, string>> = {
  hash: 'report',
  start_time: 'run_start_time',
  end_time: 'run_end_time',
  receive_time: 'report_receive_time',
};

const SCOPES: Record<Kind, () => Scope> = {
  event: () => scopeOf('events'),
  resource: () => scopeOf('resources'),
  fact: () => scopeOf('facts'),
};

interface DistinctFilter {
  /** Applied to the newest events. */
  readonly filter: Filter | null;
  /** Applied before the newest events are looked for: a query that is nothing but a test of `latest_report?`. */
  readonly before: Filter | null;
}

/** Throws the errors of spec/query.md 6.1. */
export function distinctFilter(query: JsonValue, context: FilterContext): DistinctFilter {
  if (query === null || (isArray(query) && query.length === 0)) return { filter: null, before: null };
  return { filter: term('event', query, context), before: latestTest(query) };
}

/** Only a bare test, also under `not` (which does not negate it here), narrows the events beforehand. */
function latestTest(query: JsonValue): Filter | null {
  if (!isArray(query)) return null;
  const op = textOf(query[0] ?? null).toLowerCase();
  if (op === 'not') return latestTest(query[1] as JsonValue);
  if (op !== '=' || textOf(query[1] ?? null).replaceAll('-', '_') !== 'latest_report?') return null;
  return latestReport(query[2] as JsonValue);
}

const latestReport = (value: JsonValue): Filter => ({
  kind: 'eq',
  field: 'latest_report?',
  value: isTruthy(value),
  nullSafe: false,
});

const UNKNOWN: Filter = { kind: 'const', value: null };

const notWellFormed = (clause: JsonValue, problem: string): Error =>
  badQuery(`${printClojure(clause)} is not well-formed: ${problem}`);

const twoArguments = (op: string, count: number): Error =>
  badQuery(`${op} requires exactly two arguments, but ${count} were supplied`);

/** PuppetDB's error for a function of its own that gets another number of arguments than it takes. `count`: how many it got. */
const wrongArguments = (count: number, called: string): Error =>
  badQuery(`Wrong number of args (${count}) passed to: puppetlabs.puppetdb.query/${called}`);

function term(kind: Kind, node: JsonValue, context: FilterContext): Filter {
  if (!isArray(node)) throw notWellFormed(node, 'queries must contain at least one operator');
  if (node.length === 0) return UNKNOWN;
  const written = node[0] as JsonValue;
  if (written === null || written === false) throw notWellFormed(node, 'queries must contain at least one operator');
  const op = textOf(written).toLowerCase();
  const args = node.slice(1);
  switch (op) {
    case 'and':
    case 'or':
      if (args.length === 0) throw badQuery(`${op} requires at least one term`);
      return { kind: op, args: args.map((arg) => term(kind, arg, context)) };
    case 'not':
      if (args.length !== 1) throw badQuery(`'not' takes exactly one argument, but ${args.length} were supplied`);
      return { kind: 'not', arg: term(kind, args[0] as JsonValue, context) };
    case 'in':
      return inSubquery(kind, node, context);
    case 'extract':
      // Not a filter; what is wrong inside is reported first.
      throw extractProblem(kind, node, context);
    case '=':
    case '~':
    case '<':
    case '>':
    case '<=':
    case '>=':
      if (kind === 'event') return deferred(context, () => eventComparison(op, args, context), UNKNOWN);
      if (op === '=' || op === '~') {
        return kind === 'fact' ? factComparison(op, args, context) : resourceComparison(op, args, context);
      }
      if (kind === 'fact') return factOrder(op, args, context);
      break;
    default:
  }
  throw notWellFormed(node, `query operator '${textOf(written)}' is unknown`);
}

// ---- comparisons of events ----

/** Names may be written with dashes: they are told with underscores. */
const eventName = (field: JsonValue): JsonValue => (typeof field === 'string' ? field.replaceAll('-', '_') : field);

const notAnEventField = (field: JsonValue): Error =>
  badQuery(`'${printAlone(eventName(field))}' is not a queryable object for version 4 of the resource events API`);

function eventComparison(op: '=' | '~' | CompareOp, args: readonly JsonValue[], context: FilterContext): Filter {
  if (args.length !== 2) throw twoArguments(op, args.length);
  const [field, value] = args as [JsonValue, JsonValue];
  if (op === '=' || op === '~') {
    const name = textOf(eventName(field));
    return op === '=' ? eventEquality(name, field, value) : eventRegex(name, field, value, context);
  }
  if (typeof field !== 'string' || !TIMES.has(field)) {
    throw badQuery(`${op} operator does not support object '${printAlone(field)}' for resource events`);
  }
  return { kind: 'order', field, op, value: timeOf(value) };
}

function eventEquality(name: string, field: JsonValue, value: JsonValue): Filter {
  if (name === 'latest_report?') return latestReport(value);
  if (VALUES.has(name)) return { kind: 'eq', field: name, value: valueText(value), nullSafe: true };
  const nullable = NULLABLE.has(name);
  if (!nullable && !NOT_NULL.has(name)) throw notAnEventField(field);
  if (value === null) return nullable ? { kind: 'null', field: name } : UNKNOWN;
  const column = fieldNamed(scopeOf('events'), name);
  if (column?.type === 'N') {
    if (!isNumber(value)) throw storageMismatch(column, '=', value);
    return { kind: 'eq', field: name, value: doubleOfNumber(value), nullSafe: nullable };
  }
  const wanted = column?.type === 'B' ? 'boolean' : 'string';
  if (column && typeof value !== wanted) throw storageMismatch(column, '=', value);
  return { kind: 'eq', field: name, value: value as string, nullSafe: nullable };
}

function eventRegex(name: string, field: JsonValue, value: JsonValue, { checkRegex }: FilterContext): Filter {
  const nullable = NULLABLE.has(name);
  if ((!nullable && !NOT_NULL.has(name)) || NO_REGEX.has(name)) throw notAnEventField(field);
  const column = fieldNamed(scopeOf('events'), name);
  if (column && column.type !== 'S') throw storageMismatch(column, '~', value);
  if (value === null) return nullable && column ? matchesNull(column) : UNKNOWN;
  if (column && typeof value !== 'string') throw storageMismatch(column, '~', value);
  checkRegex(value as string);
  return { kind: 'regex', field: name, pattern: value as string, nullIsFalse: nullable };
}

// ---- subqueries ----

const unknownInField = (kind: Kind, field: JsonValue): Error =>
  badQuery(
    `Can't match on unknown ${kind} field '${printAlone(field)}' for 'in'. Acceptable fields are: ${sorted(kind)}`,
  );

const sorted = (kind: Kind): string => [...IN_FIELDS[kind]].sort().join(', ');

const SELECTS: ReadonlyMap<string, Kind> = new Map([
  ['select_resources', 'resource'],
  ['select_facts', 'fact'],
]);

function inSubquery(kind: Kind, node: readonly JsonValue[], context: FilterContext): Filter {
  if (node.length !== 3) throw wrongArguments(node.length + 2, 'compile-in');
  const [, field, source] = node as [JsonValue, JsonValue, JsonValue];
  if (typeof field !== 'string' || !IN_FIELDS[kind].has(field)) throw unknownInField(kind, field);
  if (!isArray(source) || source[0] !== 'extract') {
    const found = isArray(source) ? (source[0] ?? null) : source;
    throw badQuery(`The subquery argument of 'in' must be an 'extract', not '${printAlone(found)}'`);
  }
  const { column, inner, filter } = extracted(kind, source, context);
  const name = kind === 'event' ? (EVENT_FIELDS[field] ?? field) : field;
  return resolveSource(SCOPES[kind](), [name], { scope: SCOPES[inner](), columns: [column], paging: [] }, filter);
}

interface Extracted {
  readonly column: string;
  readonly inner: Kind;
  readonly filter: Filter;
}

/** PuppetDB's message loses its values on the way to the client: an apostrophe of its own quotes them. */
const CANNOT_EXTRACT = "Cant extract unknown {0} field '{1}'. Acceptable fields are: {2}";

function extracted(kind: Kind, node: readonly JsonValue[], context: FilterContext): Extracted {
  if (node.length !== 3) throw wrongArguments(node.length + 1, 'compile-extract');
  const [, column, source] = node as [JsonValue, JsonValue, JsonValue];
  const [select, query] = isArray(source) ? source : [];
  const inner = typeof select === 'string' ? SELECTS.get(select) : undefined;
  if (!inner) {
    term(kind, source, context);
    throw badQuery(`The argument to extract must be a select operator, not '${printAlone(select ?? null)}'`);
  }
  const { length } = source as readonly JsonValue[];
  if (length !== 2) throw wrongArguments(length, `${inner}-query->sql`);
  const filter = term(inner, query ?? [], context);
  if (typeof column !== 'string' || !IN_FIELDS[inner].has(column)) {
    throw badQuery(CANNOT_EXTRACT);
  }
  return { column, inner, filter };
}

function extractProblem(kind: Kind, node: readonly JsonValue[], context: FilterContext): Error {
  extracted(kind, node, context);
  return notWellFormed(node, "an 'extract' is only allowed inside 'in'");
}

// ---- comparisons of resources and facts ----

const RESOURCE_FIELDS: ReadonlySet<string> = new Set(['tag', ...IN_FIELDS.resource]);
const RESOURCE_REGEX = words('tag certname environment type title file');

const isState = (field: JsonValue): boolean => pairOf(field, 'node') === 'active';

/** States of nodes and parameters, which are named by lists, mean what they mean everywhere. */
function listComparison(kind: Kind, field: JsonValue, value: JsonValue, context: FilterContext): Filter {
  const scope = SCOPES[kind]();
  return filterOf(scope, expand(scope, ['=', field, value], { checkRegex: context.checkRegex }), context) ?? UNKNOWN;
}

/** A comparison with what is stored: no value stands for anything else, and nothing is equal to null. */
function storedComparison(
  kind: Kind,
  op: '=' | '~' | CompareOp,
  field: string,
  value: JsonValue,
  context: FilterContext,
): Filter {
  if (op === '=' && value === null) return UNKNOWN;
  return comparisonOf(SCOPES[kind](), op, field, value, context);
}

function resourceComparison(op: '=' | '~', args: readonly JsonValue[], context: FilterContext): Filter {
  if (args.length !== 2) {
    throw op === '=' ? twoArguments(op, args.length) : wrongArguments(args.length + 1, 'compile-resource-regexp');
  }
  const [field, value] = args as [JsonValue, JsonValue];
  if (op === '=' && (isState(field) || typeof pairOf(field, 'parameter') === 'string')) {
    return listComparison('resource', field, value, context);
  }
  if (typeof field !== 'string' || !(op === '=' ? RESOURCE_FIELDS : RESOURCE_REGEX).has(field)) {
    const shown = printAlone(field);
    throw badQuery(
      op === '='
        ? `'${shown}' is not a queryable object for resources in the version 4 API`
        : `'${shown}' cannot be the target of a regexp match for version 4 of the resources API`,
    );
  }
  if (field === 'catalog') return ofCatalog(value, context);
  if (field !== 'tag') return storedComparison('resource', op, field, value, context);
  // Tags are stored in lower case; patterns are left as they are.
  const tag = op === '=' && value !== null ? textOf(value).toLowerCase() : value;
  return storedComparison('resource', op, 'tags', tag, context);
}

/** Resources do not know their catalog's hash, but a node has one catalog. */
function ofCatalog(hash: JsonValue, context: FilterContext): Filter {
  if (hash === null) return UNKNOWN;
  const filter: Clause = { kind: 'compare', op: '=', field: 'hash', value: hash };
  const scope = scopeOf('catalogs');
  const source = { scope, columns: ['certname'], paging: [] };
  return resolveSource(SCOPES.resource(), ['certname'], source, filterOf(scope, filter, context));
}

function factComparison(op: '=' | '~', args: readonly JsonValue[], context: FilterContext): Filter {
  if (args.length !== 2) throw twoArguments(op, args.length);
  const [field, value] = args as [JsonValue, JsonValue];
  if (op === '=' && isState(field)) return listComparison('fact', field, value, context);
  if (typeof field !== 'string' || !IN_FIELDS.fact.has(field)) {
    const problem =
      op === '='
        ? 'is not a queryable object for version 4 of the facts query api'
        : 'is not a valid version 4 operand for regexp comparison';
    throw badQuery(`${printAlone(field)} ${problem}`);
  }
  return storedComparison('fact', op, field, value, context);
}

function factOrder(op: CompareOp, args: readonly JsonValue[], context: FilterContext): Filter {
  if (args.length !== 2) throw wrongArguments(args.length + 1, 'compile-fact-inequality');
  const [field, value] = args as [JsonValue, JsonValue];
  const number = numberOf(value);
  if (number === null) throw badQuery(`Value ${printAlone(value)} must be a number for ${op} comparison.`);
  if (field !== 'value') throw badQuery(`${printAlone(field)} is not a queryable object for facts`);
  return storedComparison('fact', op, field, number, context);
}

/** Numbers may be spelled as texts. */
function numberOf(value: JsonValue): number | bigint | Float | null {
  if (typeof value !== 'string') return isNumber(value) ? value : null;
  const number = value.trim() === '' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
}

// ---- order ----

const COLUMNS = columnsNamed(
  'certname configuration_version run_start_time run_end_time report_receive_time report status corrective_change timestamp resource_type resource_title property name new_value old_value message file line containment_path containing_class environment'.split(
    ' ',
  ),
);

/** Columns that distinct events can be ordered by; `hash` is another name of `report`. */
export const distinctColumns: OrderColumns = {
  names: COLUMNS.names,
  find: (name) => COLUMNS.find(name === 'hash' ? 'report' : name),
};
