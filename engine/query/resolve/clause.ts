// Second pass: the AST, names checked, becomes clauses of a smaller language. Special fields and short forms are expanded,
// removed conditions disappear, and the number and shape of arguments are checked, innermost clauses first (spec/query.md
// 3.5-3.8, 3.12, 3.13). Types of fields only matter here as far as they decide which operators exist at all.

import { isAtom, javaClass, textOf } from '../../clojure.ts';
import { isArray, isInteger, isNumber, isObject, type JsonValue } from '../../json/value.ts';
import type { QueryError } from '../errors.ts';
import { matchPattern } from '../paths.ts';
import type { CheckRegex } from '../regex/regex.ts';
import type { CompareOp } from '../tree.ts';
import { relationBetween } from './entities.ts';
import { valueText } from './limits.ts';
import {
  arity,
  arrayOfOneType,
  badMatchPart,
  emptyClause,
  invalidArrayClause,
  invalidClause,
  noArguments,
  noInequality,
  noMatchingClause,
  noPathRegex,
  noRelationship,
  noSequence,
  notAllowedOnValue,
  notArity,
  notNumeric,
  tooFewColumns,
} from './messages.ts';
import { type ComparisonOp, isComparison, isGroupBy, isInequality, isTruthy, normalOperator } from './operators.ts';
import { hasMatch, parseField, tryParseField } from './path.ts';
import { fieldNamed, innerScopeOf, isSelect, type Scope, type ScopeOptions, scopeOfSelect } from './scope.ts';

interface ExpandOptions extends ScopeOptions {
  readonly checkRegex: CheckRegex;
}

export type Clause =
  /** A condition that is removed from its parent (`type any`, `node_state any`). */
  | { readonly kind: 'elided' }
  /** Nothing the compiler knows: an error inside a logical operator, else no condition (its shape is reported later). */
  | { readonly kind: 'unknown' }
  /** A clause that only the compiler refuses, after the whole query has been expanded. */
  | { readonly kind: 'refused'; readonly error: QueryError }
  | { readonly kind: 'const'; readonly value: boolean | null }
  | { readonly kind: 'and' | 'or'; readonly args: readonly Clause[] }
  | { readonly kind: 'not'; readonly arg: Clause }
  | { readonly kind: 'compare'; readonly op: ComparisonOp; readonly field: string; readonly value: JsonValue }
  | { readonly kind: 'null'; readonly field: string; readonly isNull: boolean }
  | { readonly kind: 'in-array'; readonly field: string; readonly values: JsonValue }
  | { readonly kind: 'in'; readonly fields: readonly string[]; readonly source: Source | null }
  | {
      readonly kind: 'function';
      readonly op: '=' | CompareOp | '~';
      /** As it was written: one that is no text is none. */
      readonly fn: JsonValue;
      readonly args: readonly JsonValue[];
      readonly value: JsonValue;
    }
  | { readonly kind: 'parameter'; readonly op: '=' | '~'; readonly name: JsonValue; readonly text: string }
  | { readonly kind: 'node-state'; readonly state: 'active' | 'inactive' };

/** The right side of an `in`: columns of the rows of a subquery. */
export interface Source {
  readonly scope: Scope;
  readonly columns: readonly JsonValue[];
  readonly filter: Clause;
  /** Clauses behind the filter: of them `limit`, `offset` and `order_by` count. */
  readonly paging: readonly JsonValue[];
}

const ELIDED: Clause = { kind: 'elided' };
const UNKNOWN: Clause = { kind: 'unknown' };
const FALSE: Clause = { kind: 'const', value: false };

export const NO_CLAUSE: Clause = ELIDED;

/** Throws the first error in the order in which PuppetDB finds them: children before parents, left to right. */
export function expand(scope: Scope, node: JsonValue, options: ExpandOptions): Clause {
  if (!isArray(node) || node.length === 0) return UNKNOWN;
  const op = normalOperator(node[0]);
  switch (op) {
    case 'and':
    case 'or':
      return expandLogic(scope, op, node, options);
    case 'not': {
      const args = node.slice(1).map((child) => expand(scope, child, options));
      checkArity(node);
      const arg = args[0] as Clause;
      return arg.kind === 'elided' ? ELIDED : { kind: 'not', arg };
    }
    case 'null?':
      checkLists(node);
      return node.length === 3 ? expandNull(node[1] as JsonValue, node[2] as JsonValue) : UNKNOWN;
    case 'in':
      return node.length === 3 ? expandIn(scope, node[1] as JsonValue, node[2] as JsonValue, options) : UNKNOWN;
    case 'subquery':
      return node.length === 3 ? expandSubquery(scope, node[1] as JsonValue, node[2] as JsonValue, options) : UNKNOWN;
    default:
  }
  if (isComparison(op)) return expandComparison(scope, op, node, options);
  for (const child of node) if (isArray(child)) expand(scope, child, options);
  return UNKNOWN;
}

/** Checks the number of arguments of operators that take a fixed number, or at least one. */
function checkArity(node: readonly JsonValue[]): void {
  const op = normalOperator(node[0]);
  const count = node.length - 1;
  if (op === 'not' && count !== 1) throw notArity(count);
  if ((op === 'and' || op === 'or') && count === 0) throw noArguments(op);
  if (isComparison(op) && count !== 2) throw arity(op);
}

/** The same for all lists in a value, innermost first: PuppetDB takes each that begins like a clause for one. */
function checkLists(value: JsonValue): void {
  if (isArray(value)) {
    for (const item of value) checkLists(item);
    checkArity(value);
  } else if (isObject(value)) {
    for (const item of Object.values(value)) checkLists(item);
  }
}

/** A term of `and` must have something in it, which a number cannot be asked. */
function checkTerm(node: JsonValue): void {
  if (isAtom(node)) throw noSequence(node);
  const isEmpty =
    node === null ||
    node === '' ||
    (isArray(node) ? node.length === 0 : isObject(node) && Object.keys(node).length === 0);
  if (isEmpty) throw emptyClause();
}

function expandLogic(scope: Scope, op: 'and' | 'or', node: readonly JsonValue[], options: ExpandOptions): Clause {
  const args: Clause[] = [];
  for (let index = 1; index < node.length; index += 1) {
    const arg = expand(scope, node[index] as JsonValue, options);
    if (arg.kind !== 'elided') args.push(arg);
  }
  checkArity(node);
  if (op === 'and') for (const arg of node.slice(1)) checkTerm(arg);
  return args.length === 0 ? ELIDED : { kind: op, args };
}

/** x of a two-element list `[name, x]`, else undefined. */
export function pairOf(field: JsonValue, name: string): JsonValue | undefined {
  return isArray(field) && field.length === 2 && field[0] === name ? field[1] : undefined;
}

// ---- comparisons ----

/** What PuppetDB's check of operand shapes refuses: objects, and lists of anything but texts and integers. */
export function isOddValue(value: JsonValue): boolean {
  if (isArray(value)) return !value.every((item) => typeof item === 'string' || isInteger(item));
  return isObject(value);
}

function expandComparison(scope: Scope, op: ComparisonOp, node: readonly JsonValue[], options: ExpandOptions): Clause {
  checkLists(node);
  const field = node[1] as JsonValue;
  const value = node[2] as JsonValue;
  if (isArray(field)) return expandListField(op, field, value, options);
  if (typeof field !== 'string') throw op === '~>' ? noPathRegex(field) : invalidClause(op);
  if (op === '=') {
    if (field === 'type' && value === 'any') return ELIDED;
    if (field === 'node_state') return expandNodeState(value);
  }
  if (field === 'new_value' || field === 'old_value') return plainComparison(scope, op, field, valueText(value));
  if (field === 'tag') return tagComparison(scope, op, value);
  if (op === '~>') return plainComparison(scope, op, field, value);
  const path = parseField(field);
  if (path.top === 'trusted') return dottedComparison(op, `facts.${field}`, value, options);
  if (path.top === 'facts' && (path.parts.length > 0 || op === '=')) return dottedComparison(op, field, value, options);
  if (op === '=' && value === null) return { kind: 'null', field, isNull: true };
  if (path.parts.length > 0) return dottedComparison(op, field, value, options);
  return plainComparison(scope, op, field, value);
}

function dottedComparison(op: ComparisonOp, field: string, value: JsonValue, { checkRegex }: ExpandOptions): Clause {
  const { top, parts } = parseField(field);
  // PuppetDB asks its database at once what `match()` stands for.
  if (hasMatch(parts)) {
    if (top !== 'parameters') checkRegex(matchPattern(parts));
  } else if (op !== '=' && isOddValue(value)) throw invalidClause(op);
  return { kind: 'compare', op, field, value };
}

function plainComparison(scope: Scope, op: ComparisonOp, field: string, value: JsonValue): Clause {
  const type = fieldNamed(scope, field)?.type;
  if (op === '=' && type === 'N' && typeof value === 'string') throw notNumeric(value, field);
  if (isInequality(op) && type !== 'N' && type !== 'T' && type !== 'V') throw noInequality(field);
  if (op === '~>' && type !== 'PE' && type !== 'PA') throw noPathRegex(field);
  if (op === '~' && isOddValue(value)) throw invalidClause(op);
  return { kind: 'compare', op, field, value };
}

/** Tags are stored in lower case, so the value is folded, patterns included. */
function tagComparison(scope: Scope, op: ComparisonOp, value: JsonValue): Clause {
  if (value === null) throw invalidClause(op);
  return plainComparison(scope, op, 'tags', textOf(value).toLowerCase());
}

function expandNodeState(value: JsonValue): Clause {
  const state = textOf(value).toLowerCase();
  if (state === 'any') return ELIDED;
  if (state === 'active' || state === 'inactive') return { kind: 'node-state', state };
  throw noMatchingClause(state);
}

/** The only lists that may be matched with a pattern. */
const isPairOfTexts = (field: readonly JsonValue[]): boolean =>
  field.length === 2 && field.every((part) => typeof part === 'string');

function expandListField(
  op: ComparisonOp,
  field: readonly JsonValue[],
  value: JsonValue,
  options: ExpandOptions,
): Clause {
  if (op === '~>') throw noPathRegex(field);
  const isShaped = isPairOfTexts(field) && !isOddValue(value);
  if (field[0] === 'function') {
    if (op !== '=' && (isInequality(op) || !isShaped)) return refused(invalidClause(op));
    return { kind: 'function', op, fn: field[1] ?? null, args: field.slice(2), value };
  }
  if (op === '=' && pairOf(field, 'node') === 'active') return expandNodeState(isTruthy(value) ? 'active' : 'inactive');
  const parameter = pairOf(field, 'parameter');
  if (parameter !== undefined && (op === '=' || op === '~')) {
    return { kind: 'parameter', op, name: parameter, text: valueText(value) };
  }
  const fact = pairOf(field, 'fact');
  if (fact !== undefined) {
    const isText = typeof value === 'string' || typeof value === 'boolean';
    const allowed = isText ? op === '=' || op === '~' : op !== '~' && isNumber(value);
    if (!allowed && op === '~') {
      if (!isShaped) throw invalidClause(op);
      return refused(notAllowedOnValue(op, value));
    }
    if (!allowed) throw notAllowedOnValue(op, value);
    const condition = (name: string): Clause => withoutMatch({ kind: 'compare', op, field: name, value });
    return inInventory('certname', textOf(fact), condition, options);
  }
  if (op === '~') throw invalidClause(op);
  return refused(invalidClause(op));
}

/** `match()` in the name of one fact is not expanded, though the name is a path: PuppetDB finds nothing with `=`, and refuses the rest. */
function withoutMatch(condition: Extract<Clause, { kind: 'compare' }>): Clause {
  if (!hasMatch(tryParseField(condition.field)?.parts ?? [])) return condition;
  return condition.op === '=' ? FALSE : refused(badMatchPart('match'));
}

const refused = (error: QueryError): Clause => ({ kind: 'refused', error });

/**
 * Certname (or environment) is among those of the inventory for which a condition on one fact holds. The fact's name is
 * read as a dotted path here, and the condition has the meaning it has on JSON documents (spec/query.md 3.13 R1).
 */
function inInventory(
  column: string,
  fact: string,
  condition: (field: string) => Clause,
  options: ExpandOptions,
): Clause {
  return { kind: 'in', fields: [column], source: inventorySource(column, condition(`facts.${fact}`), options) };
}

const inventorySource = (column: string, filter: Clause, options: ExpandOptions): Source => ({
  scope: innerScopeOf('inventory', options),
  columns: [column],
  filter,
  paging: [],
});

function expandNull(field: JsonValue, flag: JsonValue): Clause {
  if (typeof field !== 'string') return refused(invalidClause('null?'));
  // Their flag became a text, which is true, and what is stored is never null.
  if (field === 'new_value' || field === 'old_value' || field === 'tag') return FALSE;
  return { kind: 'null', field, isNull: isTruthy(flag) };
}

// ---- in and subquery ----

function expandIn(scope: Scope, field: JsonValue, source: JsonValue, options: ExpandOptions): Clause {
  const isList = isArray(source) && source[0] === 'array';
  if (isList) {
    checkLists(source);
    if (source.length !== 2) return { kind: 'in', fields: [], source: null };
    const values = source[1] as JsonValue;
    const fact = pairOf(field, 'fact');
    if (fact !== undefined) return factInArray(fact, values, options);
    const single = isArray(field) && field.length === 1 ? (field[0] as JsonValue) : field;
    if (single === 'new_value' || single === 'old_value' || single === 'tag') {
      return { kind: 'in', fields: [], source: null };
    }
    if (typeof single !== 'string') return refused(invalidArrayClause());
    return { kind: 'in-array', field: single, values };
  }
  const expanded = expandSource(source, options, scope);
  const fields = isArray(field) ? field : [field];
  if (fields.length === 0 || !fields.every((name) => typeof name === 'string')) throw invalidClause('in');
  if (expanded === 'no-columns') return refused(tooFewColumns());
  const names = fields as readonly string[];
  if (field === 'new_value' || field === 'old_value' || names.includes('tag')) {
    return { kind: 'in', fields: [], source: null };
  }
  return { kind: 'in', fields: names, source: expanded };
}

/** Class of a value in lists for `["fact", n]`: all values must be of one. */
const valueClass = (value: JsonValue): string =>
  value === null || typeof value === 'string' ? typeof value : javaClass(value);

function factInArray(fact: JsonValue, values: JsonValue, options: ExpandOptions): Clause {
  if (isArray(values) && new Set(values.map(valueClass)).size !== 1) throw arrayOfOneType();
  const scope = innerScopeOf('facts', options);
  const isNamed = expand(scope, ['=', 'name', fact], options);
  const filter: Clause = { kind: 'and', args: [isNamed, { kind: 'in-array', field: 'value', values }] };
  return { kind: 'in', fields: ['certname'], source: { scope, columns: ['certname'], filter, paging: [] } };
}

/**
 * The right side of an `in`; null for what is no query at all. `no-columns` are queries, and conditions, that have rows but name no columns
 * of them: the check of the whole query's shape (`addReportTypes`) tells of those.
 */
function expandSource(source: JsonValue, options: ExpandOptions, outer: Scope): Source | 'no-columns' | null {
  if (!isArray(source)) return null;
  const op = normalOperator(source[0]);
  if (op === 'extract') return expandExtract(source, options, outer);
  if (op === 'from') return expandFrom(source, options);
  return expand(outer, source, options) === UNKNOWN ? null : 'no-columns';
}

function expandExtract(
  source: readonly JsonValue[],
  options: ExpandOptions,
  outer: Scope,
): Source | 'no-columns' | null {
  const columns = source[1] as JsonValue;
  if (source.length === 3 && isArray(source[2] as JsonValue)) {
    const [select, filter] = source[2] as readonly JsonValue[];
    if (isSelect(select)) {
      const scope = scopeOfSelect(select, options);
      const clause = filter === undefined ? NO_CLAUSE : expand(scope, filter, options);
      return rewriteFacts(columns, { scope, columns: columnList(columns), filter: clause, paging: [] }, options);
    }
  }
  for (const child of source) if (isArray(child)) expand(outer, child, options);
  const isKnown = source.length === 2 || source.length === 3 || (source.length === 4 && isGroupBy(source[3]));
  return isKnown ? 'no-columns' : null;
}

function expandFrom(source: readonly JsonValue[], options: ExpandOptions): Source | 'no-columns' | null {
  const body = source[2];
  if (body === undefined) return null;
  const scope = scopeOfSelect(`select_${textOf(source[1] as JsonValue)}`, options);
  if (isArray(body) && normalOperator(body[0]) === 'extract') {
    const filter = body[2] === undefined || body[2] === null ? NO_CLAUSE : expand(scope, body[2], options);
    return { scope, columns: columnList(body[1] ?? null), filter, paging: source.slice(3) };
  }
  const atom = source.slice(2).find(isAtom);
  if (atom !== undefined) throw noSequence(atom);
  for (const child of source.slice(2)) if (isArray(child)) expand(scope, child, options);
  return 'no-columns';
}

const columnList = (columns: JsonValue): readonly JsonValue[] => (isArray(columns) ? columns : [columns]);

/**
 * `["extract", "certname", ["select_facts", ["and", ["=", "name", N], [op, "value", V]]]]` is answered from the inventory
 * if the column is a plain text: rule R1 of spec/query.md 3.13, which changes what the condition means.
 */
function rewriteFacts(columns: JsonValue, source: Source, options: ExpandOptions): Source {
  if (source.scope.entity?.name !== 'facts' || (columns !== 'certname' && columns !== 'environment')) return source;
  const { filter } = source;
  if (filter.kind !== 'and' || filter.args.length !== 2) return source;
  const [name, condition] = filter.args as [Clause, Clause];
  if (name.kind !== 'compare' || name.op !== '=' || name.field !== 'name') return source;
  const onFact = onInventory(`facts.${textOf(name.value)}`, condition);
  return onFact ? inventorySource(columns, onFact, options) : source;
}

function onInventory(field: string, condition: Clause): Clause | null {
  if (condition.kind === 'null' && condition.field === 'value') return { ...condition, field };
  if (condition.kind === 'compare' && condition.field === 'value') {
    return isArray(condition.value) ? null : withoutMatch({ ...condition, field });
  }
  if (condition.kind === 'and' && condition.args.length === 2) {
    const [type, inner] = condition.args as [Clause, Clause];
    const isTypeTest =
      type.kind === 'function' && type.op === '=' && type.fn === 'jsonb_typeof' && type.args[0] === 'value';
    if (isTypeTest && (inner.kind === 'compare' || inner.kind === 'null')) return onInventory(field, inner);
  }
  return null;
}

function expandSubquery(scope: Scope, entity: JsonValue, filter: JsonValue, options: ExpandOptions): Clause {
  const name = textOf(entity);
  const inner = scopeOfSelect(`select_${name}`, options);
  const clause = expand(inner, filter, options);
  const relation = scope.entity ? relationBetween(scope.entity.name, name) : undefined;
  if (!relation) throw noRelationship(entity);
  return {
    kind: 'in',
    fields: relation.local,
    source: { scope: inner, columns: relation.foreign, filter: clause, paging: [] },
  };
}
