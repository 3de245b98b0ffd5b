// Paging: the `order_by` parameter (spec/query.md 5.2) and the clauses `limit`, `offset` and `order_by` of a query (5.3).

import type { Field } from '../../../schemas/entities.ts';
import { isAtom, printAlone, printClojure, textOf } from '../../clojure.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../json/value.ts';
import { badQuery, type Defer, QueryError, StoreRefusal } from '../errors.ts';
import type { OrderTerm } from '../tree.ts';
import { lateNoSequence, noSequence } from './messages.ts';
import { fieldNamed, type Scope } from './scope.ts';

/** Columns that rows can be ordered by: names as clients know them, in the order of messages, with the field behind each. */
export interface OrderColumns {
  readonly names: readonly string[];
  /** The internal name, or null for an unknown column. */
  find(name: string): string | null;
}

/** Columns that are known by the names of their fields. */
export const columnsNamed = (names: readonly string[]): OrderColumns => ({
  names,
  find: (name) => (names.includes(name) ? name : null),
});

export function scopeColumns(scope: Scope): OrderColumns {
  return {
    names: scope.queryable,
    find: (name) => {
      const field = fieldNamed(scope, name);
      return field?.queryable ? orderable(field).name : null;
    },
  };
}

/** Listed as columns to order by, but PuppetDB's database cannot do it. */
function orderable(field: Field): Field {
  if (field.name === 'tag') throw new StoreRefusal('ERROR: cannot order by tag', 'grouping');
  return field;
}

function termFor(columns: OrderColumns, name: string, descending: boolean): OrderTerm {
  const field = columns.find(name);
  if (field === null) {
    const names = columns.names.map((column) => `'${column}'`).join(', ');
    throw badQuery(`Unrecognized column '${name}' specified in :order_by; Supported columns are ${names}`);
  }
  return { field, descending };
}

/** The first mention of a column counts. */
function distinctTerms(terms: readonly OrderTerm[]): readonly OrderTerm[] {
  const seen = new Set<string>();
  return terms.filter((term) => !seen.has(term.field) && seen.add(term.field));
}

const illegal = (value: JsonValue, where: 'for' | 'in', problem: string): Error =>
  badQuery(`Illegal value '${printAlone(value)}' ${where} :order_by; ${problem}`);

function isDirection(order: JsonValue | undefined): boolean {
  if (order === undefined || order === null) return true;
  const text = textOf(order).toLowerCase();
  return text === 'asc' || text === 'desc';
}

/** Taken for no order at all. */
const isNoOrder = (value: JsonValue): boolean => value === '' || (isObject(value) && Object.keys(value).length === 0);

/**
 * The parameter form: a list of `{field, order}`. Blank values (null, empty list, map or text) are no order. Throws the
 * errors of spec/query.md 5.2, each check over the whole list before the next.
 */
export function parameterOrder(columns: OrderColumns, value: JsonValue | undefined): readonly OrderTerm[] {
  if (value === undefined || value === null || isNoOrder(value)) return [];
  if (isAtom(value)) throw noSequence(value);
  if (!isArray(value) || !value.every(isObject)) throw illegal(value, 'for', 'expected an array of maps.');
  const maps = value as readonly JsonObject[];
  for (const map of maps) {
    const extra = Object.keys(map).find((key) => key !== 'field' && key !== 'order');
    if (extra !== undefined) throw illegal(map, 'in', `unknown key '${extra}'.`);
  }
  for (const map of maps) if (!Object.hasOwn(map, 'field')) throw illegal(map, 'in', 'missing required key field.');
  for (const map of maps) {
    if (!isDirection(map['order'])) throw illegal(map, 'in', "'order' must be either 'asc' or 'desc'");
  }
  return distinctTerms(
    maps.map((map) =>
      termFor(columns, textOf(map['field'] as JsonValue), textOf(map['order'] ?? null).toLowerCase() === 'desc'),
    ),
  );
}

export interface Paging {
  readonly orderBy: readonly OrderTerm[];
  readonly limit: number | null;
  readonly offset: number;
}

function argument(clauses: readonly JsonValue[], name: string): JsonValue | null {
  const found = clauses.filter((clause) => isArray(clause) && clause[0] === name) as readonly (readonly JsonValue[])[];
  if (found.length > 1) throw badQuery(`Multiple '${name}' clauses are not permitted`);
  const clause = found[0];
  if (!clause) return null;
  const value = clause[1];
  if (value === undefined || value === null || value === false) {
    throw badQuery(`Received '${name}' clause without an argument`);
  }
  return value;
}

/** What the paging clauses of one `from` have behind their names; null: there is no such clause. */
interface PagingArguments {
  readonly limit: JsonValue | null;
  readonly offset: JsonValue | null;
  readonly orderBy: JsonValue | null;
}

/** Throws the errors of spec/query.md 5.3. */
export const pagingArguments = (clauses: readonly JsonValue[]): PagingArguments => ({
  limit: argument(clauses, 'limit'),
  offset: argument(clauses, 'offset'),
  orderBy: argument(clauses, 'order_by'),
});

interface ClauseOptions {
  /** Of a subquery. The database reads its clauses: a limit of 0 gives no rows, a text that spells an integer is one, and the rest it refuses. */
  readonly isInner: boolean;
  /** Runs checks whose refusals are told last; without it they are told at once, as those of a subquery are. */
  readonly defer?: Defer;
}

const atOnce: Defer = (check) => check();

/** What paging clauses mean. Throws QueryError. */
export function clausePaging(
  scope: Scope,
  { limit, offset, orderBy }: PagingArguments,
  options: ClauseOptions,
): Paging {
  const { defer = atOnce } = options;
  return {
    orderBy: defer(() => clauseOrder(scope, orderBy, options), []),
    limit: defer(() => clauseCount('limit', limit, options), null),
    offset: defer(() => clauseCount('offset', offset, options), null) ?? 0,
  };
}

function clauseCount(name: 'limit' | 'offset', value: JsonValue | null, { isInner }: ClauseOptions): number | null {
  if (value === null) return null;
  const count = isInner ? storedCount(value) : plainCount(value);
  if (count !== null && (count > 0 || name === 'offset' || isInner)) return count;
  const expected = name === 'limit' ? 'a positive non-zero integer' : 'a non-negative integer';
  const message = `Illegal value '${printAlone(value)}' for :${name}; expected ${expected}.`;
  // Only the database finds that an integer is too large for it.
  const isStored = isInner || (typeof value === 'bigint' && value > 0n);
  throw isStored ? new StoreRefusal(message) : badQuery(message);
}

/** null: the value is no count of rows. The database's integers end at 2^63; no answer has more rows than fit in a number. */
export function plainCount(value: JsonValue): number | null {
  if (typeof value === 'bigint')
    return value >= 0n && value <= BIGINT_MAX ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : null;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null;
}
const BIGINT_MAX = 2n ** 63n - 1n;

/** A text that spells an integer, without the zeros before it. More digits are too large in any case, and may be millions. */
const SPELLED_COUNT = /^\s*\+?0*(\d{1,19})\s*$/;

/** What the database reads as a count: texts of digits, too. */
function storedCount(value: JsonValue): number | null {
  if (typeof value !== 'string') return plainCount(value);
  const [, digits] = SPELLED_COUNT.exec(value) ?? [];
  return digits === undefined ? null : plainCount(BigInt(digits));
}

function clauseOrder(scope: Scope, value: JsonValue | null, { isInner }: ClauseOptions): readonly OrderTerm[] {
  if (value === null || isNoOrder(value)) return [];
  if (isAtom(value)) throw isInner ? lateNoSequence(value) : noSequence(value);
  try {
    return clauseTerms(scopeColumns(scope), value);
  } catch (error) {
    throw isInner && error instanceof QueryError ? new StoreRefusal(error.message) : error;
  }
}

function clauseTerms(columns: OrderColumns, value: JsonValue): readonly OrderTerm[] {
  if (!isArray(value)) throw badClause(value);
  return distinctTerms(
    value.map((term) => {
      if (typeof term === 'string') return termFor(columns, term, false);
      if (!isArray(term) || typeof term[0] !== 'string' || (term[1] !== 'asc' && term[1] !== 'desc')) {
        throw badClause(term);
      }
      return termFor(columns, term[0], term[1] === 'desc');
    }),
  );
}

const badClause = (value: JsonValue): Error =>
  badQuery(
    `Illegal value ${printClojure(value)} in an 'order_by' clause; expected a list of fields and [field, "asc" | "desc"] pairs`,
  );
