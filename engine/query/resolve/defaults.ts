// What is added to a query before it is checked: the filters of its route, the active-node filter and the report-type filter
// (spec/query.md 1.7, 3.12). All work on the AST as it was sent, because that is what decides whether a default applies; the
// walk for the report type also finds the clauses that have none of the known shapes (7.4).

import { AGENT_REPORT } from '../../../schemas/entities.ts';
import { textOf } from '../../clojure.ts';
import { isArray, type JsonValue } from '../../json/value.ts';
import { isComparison, isGroupBy, isPaging } from './operators.ts';
import { type Scope, type ScopeOptions, scopeOfSelect } from './scope.ts';

type Clause = readonly JsonValue[];

export const ACTIVE_FILTER = ['=', 'node_state', 'active'] as const;
/** A condition that is none. */
export const ANY_STATE = ['=', 'node_state', 'any'] as const;

/** The query restricted by one more filter; `extract` and `from` keep their place around it. */
export function addFilter(query: JsonValue, filter: JsonValue): JsonValue {
  // To Clojure both are no query.
  if (query === null || query === false) return filter;
  if (!isArray(query)) return ['and', query, filter];
  const [op, first, second, third] = query;
  if (op === 'extract') {
    if (query.length === 2 || (query.length === 3 && second === null)) return [op, first as JsonValue, filter];
    if (query.length === 3) {
      return isGroupBy(second)
        ? [op, first as JsonValue, filter, second as JsonValue]
        : [op, first as JsonValue, ['and', second as JsonValue, filter]];
    }
    if (query.length === 4) return [op, first as JsonValue, addFilter(second as JsonValue, filter), third as JsonValue];
  }
  if (op === 'from' && query.length >= 2) {
    const rest = query.slice(2);
    if (rest.every(isPaging)) return [op, first as JsonValue, filter, ...rest];
    if (rest.slice(1).every(isPaging)) {
      return [op, first as JsonValue, addFilter(second as JsonValue, filter), ...rest.slice(1)];
    }
  }
  return ['and', query, filter];
}

/** The query decides on active and inactive nodes itself, anywhere, subqueries included. */
export function mentionsNodeState(query: JsonValue): boolean {
  const extract = isArray(query) && query[0] === 'extract' && query.length === 3;
  return mentions(extract ? ((query as Clause)[2] as JsonValue) : query);
}

function mentions(node: JsonValue): boolean {
  if (!isArray(node)) return false;
  if (node.length === 3 && node[0] === '=') {
    const field = node[1] as JsonValue;
    if (field === 'node_state') return true;
    if (isArray(field) && field.length === 2 && field[0] === 'node' && field[1] === 'active') return true;
  }
  for (let index = 1; index < node.length; index += 1) if (mentions(node[index] as JsonValue)) return true;
  return false;
}

const AGENT_FILTER: JsonValue = ['=', 'type', AGENT_REPORT];

export class UnknownShape extends Error {
  readonly clause: JsonValue;
  constructor(clause: JsonValue) {
    super('unknown clause');
    this.clause = clause;
  }
}

/**
 * The query with `["=", "type", "agent"]` added wherever reports are asked for without a word about their type.
 * `restrict: false` leaves the query alone and only looks at its shape. Throws `UnknownShape`.
 */
export function addReportTypes(scope: Scope, query: JsonValue, options: ScopeOptions, restrict: boolean): JsonValue {
  const walker = new ReportTypes(options, restrict);
  if (isArray(query) && query[0] === 'extract' && query.length >= 2) {
    const rest = query.slice(2);
    if (rest.every((clause) => isPaging(clause) || isGroupBy(clause))) {
      const filter = walker.level(scope, null);
      return filter === null ? query : [...query.slice(0, 2), filter, ...rest];
    }
    return [...query.slice(0, 2), walker.level(scope, rest[0] as JsonValue), ...rest.slice(1)];
  }
  return walker.level(scope, query);
}

class ReportTypes {
  readonly #options: ScopeOptions;
  readonly #restrict: boolean;

  constructor(options: ScopeOptions, restrict: boolean) {
    this.#options = options;
    this.#restrict = restrict;
  }

  /** One level: its subqueries first, then its own filter (null: none). */
  level(scope: Scope, filter: JsonValue): JsonValue {
    const inner = this.#subqueries(filter);
    if (!this.#restrict || scope.entity?.name !== 'reports' || mentionsType(inner)) return inner;
    return inner === null || (inner as Clause).length === 0 ? AGENT_FILTER : ['and', inner, AGENT_FILTER];
  }

  #scope(name: JsonValue | undefined): Scope {
    return scopeOfSelect(textOf(name ?? null), this.#options);
  }

  #subqueries(node: JsonValue): JsonValue {
    if (node === null) return node;
    if (!isArray(node)) throw new UnknownShape(node);
    if (node.length === 0) return node;
    const op = node[0];
    if (op === 'and' || op === 'or') return [op, ...node.slice(1).map((clause) => this.#subqueries(clause))];
    if (op === 'not' && node.length === 2) return [op, this.#subqueries(node[1] as JsonValue)];
    if (node.length === 3) {
      if (isComparison(op) || op === 'null?') return node;
      if (op === 'subquery') {
        const entity = node[1] as JsonValue;
        return [op, entity, this.level(this.#scope(`select_${textOf(entity)}`), node[2] as JsonValue)];
      }
      if (op === 'in') return [op, node[1] as JsonValue, this.#source(node, node[2] as JsonValue)];
    }
    throw new UnknownShape(node);
  }

  #source(node: Clause, source: JsonValue): JsonValue {
    if (isArray(source)) {
      const [op, first, second] = source;
      if (op === 'array') return source;
      if (op === 'from' && isArray(second as JsonValue)) {
        const body = second as Clause;
        const clauses = source.slice(3);
        const isBody = body[0] === 'extract' && (body.length === 2 || body.length === 3);
        if (isBody && clauses.every((clause) => isPaging(clause) || isGroupBy(clause))) {
          const filter = this.level(this.#scope(`select_${textOf(first as JsonValue)}`), body[2] ?? null);
          const extract = filter === null ? body.slice(0, 2) : ['extract', body[1] as JsonValue, filter];
          return [op, first as JsonValue, extract, ...clauses];
        }
      }
      if (op === 'extract' && source.length === 3 && isArray(second as JsonValue) && (second as Clause).length > 0) {
        const [select, ...rest] = second as Clause;
        const bare = rest.every((clause) => isPaging(clause) || isGroupBy(clause));
        const filter = this.level(this.#scope(select), bare ? null : (rest[0] as JsonValue));
        if (filter === null) return source;
        return [op, first as JsonValue, [select as JsonValue, filter, ...(bare ? rest : rest.slice(1))]];
      }
    }
    throw new UnknownShape(node);
  }
}

/** A clause of this level, subqueries left out, is about the field `type`. All shapes are known here. */
function mentionsType(node: JsonValue): boolean {
  if (!isArray(node) || node.length === 0) return false;
  const op = node[0];
  if (op === 'and' || op === 'or' || op === 'not') return node.slice(1).some(mentionsType);
  if (isComparison(op) || op === 'null?') return node[1] === 'type';
  return op === 'in' && node[1] === 'type' && isArray(node[2] as JsonValue) && (node[2] as Clause)[0] === 'array';
}
