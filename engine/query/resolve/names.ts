// First pass over a query: every field name is checked against the scope it stands in, before anything else about the query
// is looked at. The errors of one level are reported together, one a line; a subquery's errors end the check at once
// (spec/query.md 7.1). Operators are compared as written here; only the later passes know them in other letter cases.

import { isAtom, printAlone, printClojure, textOf } from '../../clojure.ts';
import { isArray, type JsonValue } from '../../json/value.ts';
import { badQuery } from '../errors.ts';
import { invalidExtractClause, noSequence, notQueryable, unknownFields, unsupportedSubquery } from './messages.ts';
import { FUNCTIONS, isComparison, isOperator } from './operators.ts';
import { parseField } from './path.ts';
import { fieldNamed, isSelect, type Scope, type ScopeOptions, scopeOfNothing, scopeOfSelect } from './scope.ts';

/** Throws the name errors of the query and of its subqueries. */
export function checkNames(scope: Scope, query: JsonValue, options: ScopeOptions): void {
  const errors: string[] = [];
  walk(scope, query, options, errors);
  if (errors.length > 0) throw badQuery(errors.join('\n'));
}

const NO_SUBQUERY: ReadonlySet<JsonValue | undefined> = new Set(['not', 'group_by', 'or', 'and']);

function walk(scope: Scope, node: JsonValue, options: ScopeOptions, errors: string[]): void {
  if (!isArray(node) || node.length === 0) return;
  const op = node[0] as JsonValue;
  if (op === 'from' && node.length >= 3) {
    checkNames(scopeOfSelect(`select_${textOf(node[1] as JsonValue)}`, options), node[2] as JsonValue, options);
    return;
  }
  if (op === 'subquery' && node.length === 3) {
    checkNames(scopeOfSelect(`select_${textOf(node[1] as JsonValue)}`, options), node[2] as JsonValue, options);
    return;
  }
  if (op === 'extract' && node.length >= 2) {
    if (checkSelect(node, options, errors)) return;
    const message = columnsError(scope, node[1] as JsonValue, PROJECTION) ?? extractError(node.slice(2));
    if (message !== null) errors.push(message);
  } else if (isComparison(op) && node.length === 3) {
    // `~>` names its field in an error of its own.
    if (op !== '~>' && node[1] !== 'node_state') checkQueryable(scope, node[1] as JsonValue, errors);
    return;
  } else if (op === 'in' && node.length >= 2) {
    const source = node[2];
    if (node.length === 3 && isArray(source as JsonValue) && isValueList(source as readonly JsonValue[])) {
      const field = node[1] as JsonValue;
      checkQueryable(scope, isArray(field) && field.length === 1 ? (field[0] as JsonValue) : field, errors);
      return;
    }
    const message = columnsError(scope, node[1] as JsonValue, OUTER);
    if (message !== null) errors.push(message);
  }
  for (const child of node) walk(scope, child, options, errors);
}

const isValueList = (source: readonly JsonValue[]): boolean => source[0] === 'array' && source.length === 2;

/**
 * `["extract", columns, [select_E, filter]]`: columns and filter belong to E, or to no entity where the filter is no clause. True when it
 * was one (or failed as one). With more behind the filter it is none: all in it is read as if it stood in the query around it.
 */
function checkSelect(node: readonly JsonValue[], options: ScopeOptions, errors: string[]): boolean {
  const source = node[2];
  if (node.length !== 3 || source === undefined || !isArray(source)) return false;
  const name = source[0];
  if (isSelect(name)) {
    if (source.length > 2) return false;
    const filter = source[1];
    if (filter !== undefined && isAtom(filter)) throw noSequence(filter);
    const scope = filter === undefined || isArray(filter) ? scopeOfSelect(name, options) : scopeOfNothing;
    if (filter !== undefined) checkNames(scope, filter, options);
    const message = columnsError(scope, node[1] as JsonValue, INNER);
    if (message !== null) errors.push(message);
    return true;
  }
  if (source.length !== 2 || NO_SUBQUERY.has(name)) return false;
  const text = textOf(name as JsonValue);
  const known = text.replaceAll('-', '_');
  errors.push(unsupportedSubquery(text, isSelect(known) ? known : null));
  return true;
}

function checkQueryable(scope: Scope, field: JsonValue, errors: string[]): void {
  if (isArray(field)) return;
  if (typeof field === 'string') {
    if (fieldNamed(scope, field)?.queryable) return;
    const dot = field.indexOf('.');
    if (dot > 0 && isRoot(scope, field.slice(0, dot)) && !LINE_END.test(field)) return;
  }
  errors.push(notQueryable(printAlone(field), scope.alias, scope.queryableSorted));
}

/** A place where columns are listed: what the message says, and which fields it takes. */
interface ColumnPlace {
  readonly action: "Can't extract" | "Can't match on";
  readonly takes: 'projectable' | 'queryable';
}
const PROJECTION: ColumnPlace = { action: "Can't extract", takes: 'projectable' };
const INNER: ColumnPlace = { action: "Can't extract", takes: 'queryable' };
const OUTER: ColumnPlace = { action: "Can't match on", takes: 'queryable' };

/** The error about a column list (one field or several), or null. Functions are columns too. */
function columnsError(scope: Scope, columns: JsonValue, place: ColumnPlace): string | null {
  const unknown: string[] = [];
  for (const column of isArray(columns) ? columns : [columns]) {
    if (typeof column === 'string') {
      if (fieldNamed(scope, column)?.[place.takes]) continue;
      const { top, parts } = parseField(column);
      if (place === PROJECTION && parts.length > 0 && isRoot(scope, top)) continue;
      unknown.push(column);
    } else if (isArray(column)) {
      checkFunction(column);
    } else if (isAtom(column)) {
      throw noSequence(column);
    } else {
      unknown.push(textOf(column));
    }
  }
  if (unknown.length === 0) return null;
  const accepted = place.takes === 'projectable' ? scope.projectable : scope.queryableSorted;
  return unknownFields(place.action, scope.alias, unknown, accepted);
}

const isRoot = (scope: Scope, name: string): boolean => (scope.roots as readonly string[]).includes(name);

/** Line ends, which a dotted field in a condition must not have. */
const LINE_END = /[\n\r\u0085\u2028\u2029]/;

function checkFunction(column: readonly JsonValue[]): void {
  const name = column[1];
  if (column[0] === 'function' && typeof name === 'string' && FUNCTIONS.has(name)) return;
  if (column[0] === 'function' && name !== undefined) throw badQuery(`${printClojure(name)} is not a valid function`);
  throw badQuery(`${printClojure(column)} is not a valid column`);
}

/** The first clause inside an `extract`, also inside its `and` and `or`, whose operator is unknown. */
function extractError(clauses: readonly JsonValue[]): string | null {
  for (const clause of clauses) {
    if (!isArray(clause)) continue;
    const op = clause[0];
    if (op === 'and' || op === 'or') {
      const message = extractError(clause.slice(1));
      if (message !== null) return message;
    } else if (!isOperator(op)) {
      return invalidExtractClause(clause);
    }
  }
  return null;
}
