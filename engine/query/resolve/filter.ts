// Third pass: expanded clauses become the filters of the query tree. Here the type of each field decides what an operator
// means and which values it takes (spec/query.md 3.3, 3.4, 3.9).

import type { Field } from '../../../schemas/entities.ts';
import { isAtom, printClojure, textOf } from '../../clojure.ts';
import { textForm } from '../../json/compare.ts';
import { doubleOfNumber, isArray, isNumber, isObject, type JsonValue } from '../../json/value.ts';
import { parseLenient } from '../../time.ts';
import { badQuery, type Defer, LateRefusal, type QueryError, StoreRefusal } from '../errors.ts';
import { encodedPattern, encodePath } from '../paths.ts';
import type { CheckRegex } from '../regex/regex.ts';
import type { CompareOp, Filter, PathPart } from '../tree.ts';
import type { Clause } from './clause.ts';
import {
  arrayMismatch,
  arrayNeedsVector,
  arrayOnArray,
  BAD_PATH_ELEMENT,
  badMatchPart,
  columnType,
  incompatible,
  invalidArrayClause,
  invalidClause,
  lateNoSequence,
  noImplementation,
  noOperator,
  notQueryable,
  notTimestamp,
  storageMismatch,
} from './messages.ts';
import { AGGREGATES, type ComparisonOp, FUNCTIONS } from './operators.ts';
import { type DocumentRef, documentRef, hasMatch, parseField, withoutIndexes } from './path.ts';
import { fieldNamed, type Scope, scopeOf } from './scope.ts';
import { checkSource, resolveSource } from './subquery.ts';

export interface FilterContext {
  /** What is told only when everything else has been checked. */
  readonly refusal: Refusal;
  readonly checkRegex: CheckRegex;
}

/** The one of each kind that is told. */
interface Refusal {
  late: LateRefusal | null;
  store: StoreRefusal | null;
}

/** Throws what the writing of the SQL would find. */
export function settleLate({ refusal }: FilterContext): void {
  if (refusal.late !== null) throw refusal.late;
}

/** Throws what was kept. */
export function settle(context: FilterContext): void {
  settleLate(context);
  if (context.refusal.store !== null) throw context.refusal.store;
}

/** Adds what was found after it. */
function tell(refusal: Refusal, { late, store }: Refusal): void {
  refusal.late ??= late;
  if (store !== null) refusal.store = refusal.store?.orEarlier(store) ?? store;
}

/** Runs a check; what is told later of it is kept, and stands for `instead`. */
export function deferred<T>(context: FilterContext, check: () => T, instead: T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof LateRefusal) tell(context.refusal, { late: error, store: null });
    else if (error instanceof StoreRefusal) tell(context.refusal, { late: null, store: error });
    else throw error;
    return instead;
  }
}

/** The same as a function, for code that does not know the context. */
export const deferIn =
  (context: FilterContext): Defer =>
  (check, instead) =>
    deferred(context, check, instead);

const FALSE: Filter = { kind: 'const', value: false };
const UNKNOWN: Filter = { kind: 'const', value: null };
const constant = (value: boolean): Filter => ({ kind: 'const', value });
const not = (arg: Filter): Filter => ({ kind: 'not', arg });

/** The filter of a whole level; null when there is no condition. Unknown clauses standing alone are no condition either. */
export const filterOf = (scope: Scope, clause: Clause, context: FilterContext): Filter | null =>
  begunLevel(scope, clause, context)();

/** The filter of one comparison whose value means itself. */
export const comparisonOf = (
  scope: Scope,
  op: ComparisonOp,
  field: string,
  value: JsonValue,
  context: FilterContext,
): Filter => begun(scope, { kind: 'compare', op, field, value }, context)();

type Condition = Exclude<Clause, { readonly kind: 'and' | 'or' | 'not' | 'in' }>;

/** Begins with the filter of a whole level. */
function begunLevel(scope: Scope, clause: Clause, context: FilterContext): () => Filter | null {
  return clause.kind === 'elided' || clause.kind === 'unknown' ? () => null : begun(scope, clause, context);
}

/**
 * Begins with a clause as far as PuppetDB makes it at once, and gives what makes the rest. That decides which of several errors is told:
 * those of a condition are found before those within the logic beside it.
 */
function begun(scope: Scope, clause: Clause, context: FilterContext): () => Filter {
  switch (clause.kind) {
    case 'and':
    case 'or':
      return () => ({ kind: clause.kind, args: logicArgs(scope, clause.args, context) });
    case 'not': {
      const rest = begun(scope, clause.arg, context);
      return () => not(rest());
    }
    case 'in': {
      const { fields, source } = clause;
      if (source === null) return condition(scope, { kind: 'unknown' }, context);
      checkSource(source);
      const rest = begunLevel(source.scope, source.filter, context);
      return () => deferred(context, () => resolveSource(scope, fields, source, rest()), UNKNOWN);
    }
    default:
      return condition(scope, clause, context);
  }
}

/** What is told only later is told in the order of the query. */
function condition(scope: Scope, clause: Condition, context: FilterContext): () => Filter {
  const own: FilterContext = { refusal: { late: null, store: null }, checkRegex: context.checkRegex };
  const filter = deferred(own, () => conditionOf(scope, clause, own), UNKNOWN);
  return () => {
    tell(context.refusal, own.refusal);
    return filter;
  };
}

/** Two arguments are begun with; all the others once the first one is made. */
function logicArgs(scope: Scope, args: readonly Clause[], context: FilterContext): readonly Filter[] {
  const begin = (arg: Clause): (() => Filter) => begun(scope, arg, context);
  const [first, ...others] = args.slice(0, 2).map(begin);
  const made = first === undefined ? [] : [first()];
  others.push(...args.slice(2).map(begin));
  for (const rest of others) made.push(rest());
  return made;
}

/** A clause that has no logic in it. */
function conditionOf(scope: Scope, clause: Condition, context: FilterContext): Filter {
  switch (clause.kind) {
    case 'const':
      return { kind: 'const', value: clause.value };
    case 'refused':
      throw clause.error;
    case 'compare':
      if (clause.op === '=') return equality(scope, clause.field, clause.value);
      if (clause.op === '~') return regex(scope, clause.field, clause.value, context);
      if (clause.op === '~>') return pathRegex(scope, clause.field, clause.value, context);
      return inequality(scope, clause.op, clause.field, clause.value);
    case 'null':
      return nullTest(scope, clause.field, clause.isNull);
    case 'in-array':
      return inArray(scope, clause.field, clause.values);
    case 'function':
      return functionTest(scope, clause);
    case 'parameter':
      if (!scope.roots.includes('parameters')) throw unknownField(scope, 'parameter');
      // No resource has a parameter without a name.
      if (clause.name === null) return FALSE;
      if (typeof clause.name !== 'string') throw storageMismatch(PARAMETER_NAME, clause.op, clause.name);
      if (clause.op === '~') {
        context.checkRegex(clause.name);
        context.checkRegex(clause.text);
      }
      return { kind: 'parameter', op: clause.op, name: clause.name, text: clause.text };
    case 'node-state':
      if (!scope.entity?.hasCertname) throw unknownField(scope, 'node_state');
      return { kind: 'node-state', state: clause.state };
    case 'elided':
    case 'unknown':
      throw noImplementation();
  }
}

const PARAMETER_NAME = fieldNamed(scopeOf('resource_params'), 'res_param_name') as Field;

const unknownField = (scope: Scope, field: string): Error =>
  badQuery(notQueryable(field, scope.alias, scope.queryableSorted));

// ---- fields ----

interface Target {
  readonly field: Field;
  /** Set for a member of a JSON document, or for the document itself where documents have operators. */
  readonly document: DocumentRef | null;
  readonly dotted: boolean;
}

interface TargetOptions {
  readonly matches?: boolean;
  /** PuppetDB misses the field only later. */
  readonly late?: boolean;
}

function target(scope: Scope, text: string, { matches = true, late = false }: TargetOptions = {}): Target {
  const { top, parts } = parseField(text, { matches });
  const field = fieldNamed(scope, top);
  if (!field) {
    const error = unknownField(scope, text);
    throw late ? new LateRefusal(error.message) : error;
  }
  const isRoot = (scope.roots as readonly string[]).includes(top);
  return { field, document: isRoot ? documentRef(top, parts) : null, dotted: parts.length > 0 };
}

/** NUL cannot be in a stored text. */
function checkText(value: string): string {
  if (value.includes('\u0000'))
    throw new StoreRefusal('ERROR: invalid byte sequence for encoding "UTF8": 0x00', 'values');
  return value;
}

/** JSON documents hold U+FFFD where NUL was sent, so it is looked for in that form. */
function withoutNul(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.includes('\u0000') ? value.replaceAll('\u0000', '\ufffd') : value;
  if (isArray(value)) return value.map(withoutNul);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [withoutNul(key) as string, withoutNul(item)]));
}

// ---- equality ----

function equality(scope: Scope, name: string, value: JsonValue): Filter {
  const { field, document: doc } = target(scope, name, { matches: !name.startsWith('parameters') });
  if (doc) {
    checkMatch(doc.parts, field);
    return inTrusted({ kind: 'json', op: '=', ...doc, value: withoutNul(value) });
  }
  switch (field.type) {
    case 'S':
    case 'B':
      return textEquality(field, value);
    case 'N':
      if (!isNumber(value)) throw storageMismatch(field, '=', value);
      return { kind: 'eq', field: field.name, value: doubleOfNumber(value), nullSafe: false };
    case 'T':
      return { kind: 'eq', field: field.name, value: timeOf(value), nullSafe: false };
    case 'A':
      if (isArray(value) || isObject(value)) throw storageMismatch(field, '=', value);
      return { kind: 'member', field: field.name, value: checkText(memberText(value)) };
    case 'PA':
      return { kind: 'path-eq', field: field.name, paths: [comparedPath(field, value)] };
    case 'PE':
      return { kind: 'eq', field: field.name, value: encodedText(field, value), nullSafe: false };
    case 'V':
      return { kind: 'value-in', field: field.name, values: [withoutNul(value)] };
    default:
      throw storageMismatch(field, '=', value);
  }
}

/** Stored texts are compared with texts, stored Booleans with Booleans; the one text that is stored as a time with nothing. */
function textEquality(field: Field, value: JsonValue): Filter {
  const wanted = field.store === 'text' ? 'string' : field.store === 'boolean' ? 'boolean' : 'nothing';
  if (typeof value !== wanted) throw storageMismatch(field, '=', value);
  if (typeof value === 'string') checkText(value);
  return { kind: 'eq', field: field.name, value: value as string | boolean, nullSafe: false };
}

export function timeOf(value: JsonValue): number {
  const time = parseLenient(value);
  if (time === null) throw notTimestamp(value);
  return time;
}

/** A value compared with the elements of a text array becomes text as PostgreSQL writes it. */
const memberText = (value: JsonValue): string => (isNumber(value) ? String(doubleOfNumber(value)) : textOf(value));

/** A fact path: texts are object keys, integers array indexes. Encoded paths take fractions too (1.0 is one): as the texts that they are there. */
function pathOf(field: Field, value: JsonValue): readonly (string | number)[] {
  // Of paths that are lists only the writing of the SQL looks at the elements.
  const refusal = (): QueryError =>
    field.type === 'PA' ? new LateRefusal(BAD_PATH_ELEMENT) : badQuery(BAD_PATH_ELEMENT);
  if (!isArray(value)) throw refusal();
  return value.map((element) => {
    if (typeof element === 'string') return element;
    if (typeof element === 'number' && Number.isInteger(element)) return element;
    if (typeof element === 'bigint') return doubleOfNumber(element);
    if (field.type !== 'PE' || !isNumber(element)) throw refusal();
    return textOf(element);
  });
}

/** A path that a list of elements is compared with. */
function comparedPath(field: Field, value: JsonValue): readonly (string | number)[] {
  if (isAtom(value)) throw lateNoSequence(value);
  return pathOf(field, value);
}

/** Encoded paths are compared as texts, where several paths may be one: the key `"1"` and the key `1`. */
const encodedText = (field: Field, value: JsonValue): string => checkText(encodePath(pathOf(field, value)));

// ---- inequality ----

function inequality(scope: Scope, op: CompareOp, name: string, value: JsonValue): Filter {
  const { field, document: doc, dotted } = target(scope, name);
  if (doc && (dotted || doc.parts.length > 0)) {
    checkMatch(doc.parts, field);
    return inTrusted({ kind: 'json', op, ...doc, value: withoutNul(value) });
  }
  if (field.type === 'T') return { kind: 'order', field: field.name, op, value: timeOf(value) };
  if (!isNumber(value)) throw incompatible(value, op);
  if (field.type === 'N') return { kind: 'order', field: field.name, op, value: doubleOfNumber(value) };
  if (field.type === 'V') return { kind: 'value-order', field: field.name, op, value };
  throw incompatible(value, op);
}

/** `match()` is only for facts. */
function checkMatch(parts: readonly PathPart[], field: Field): void {
  if (hasMatch(parts) && field.name === 'parameters') throw badMatchPart('match');
}

/**
 * Paths found by `match()` below `trusted` are looked up in that document alone, which leaves the answer open for nodes
 * that have none: one side of `trusted is null and is not null` is unknown exactly for them, and false for the others.
 */
function inTrusted(filter: Extract<Filter, { kind: 'json' }>): Filter {
  const [first] = filter.parts;
  if (filter.root !== 'facts' || first?.kind !== 'name' || first.name !== 'trusted') return filter;
  if (!hasMatch(filter.parts)) return filter;
  const absent: Filter = { kind: 'json', op: 'null?', ...documentRef('trusted', []), value: true };
  return { kind: 'or', args: [filter, { kind: 'and', args: [absent, not(absent)] }] };
}

// ---- regular expressions ----

function regex(scope: Scope, name: string, value: JsonValue, { checkRegex }: FilterContext): Filter {
  const { field, document: doc, dotted } = target(scope, name);
  if (doc && (dotted || doc.parts.length > 0)) {
    checkMatch(doc.parts, field);
    const pattern = textForm(value);
    if (pattern === null) return UNKNOWN;
    checkRegex(pattern);
    return inTrusted({ kind: 'json', op: '~', ...doc, value });
  }
  const isText = field.type === 'A' || field.type === 'V' || field.type === 'PE';
  if (!isText && (field.type !== 'S' || field.store !== 'text')) throw storageMismatch(field, '~', value);
  if (value === null) return matchesNull(field);
  if (typeof value !== 'string') throw storageMismatch(field, '~', value);
  checkText(value);
  checkRegex(value);
  return { kind: 'regex', field: field.name, pattern: value, nullIsFalse: field.type !== 'V' };
}

/** A pattern that is null: unknown where there is a value, but what is false without one stays false. */
export function matchesNull(field: Field): Filter {
  if (field.type === 'A') return FALSE;
  if (field.type === 'V') return UNKNOWN;
  return { kind: 'and', args: [UNKNOWN, not({ kind: 'null', field: field.name })] };
}

function pathRegex(scope: Scope, name: string, value: JsonValue, { checkRegex }: FilterContext): Filter {
  const field = fieldNamed(scope, name) as Field;
  if (value === null) return FALSE;
  const pattern = pathOf(field, value);
  if (field.type === 'PE') {
    const whole = encodedPattern(pattern);
    checkRegex(whole);
    return { kind: 'regex', field: field.name, pattern: whole, nullIsFalse: true };
  }
  for (const element of pattern) if (typeof element === 'string') checkRegex(element);
  return pattern.length === 0 ? FALSE : { kind: 'path-match', field: field.name, pattern };
}

// ---- null ----

function nullTest(scope: Scope, name: string, isNull: boolean): Filter {
  const { field, document: doc } = target(scope, name, { matches: false, late: true });
  if (doc) {
    return { kind: 'json', op: 'null?', root: doc.root, parts: withoutIndexes(doc.parts), value: isNull };
  }
  if (field.type === 'J') throw noOperator('json', '=', 'unknown');
  // Expanded lists and the latest-report flag always have a value.
  if (field.type === 'X' || field.name === 'latest_report?') return constant(!isNull);
  const test: Filter = { kind: 'null', field: field.name };
  return isNull ? test : not(test);
}

// ---- in array ----

function inArray(scope: Scope, name: string, values: JsonValue): Filter {
  const field = fieldNamed(scope, name);
  if (!isArray(values) && !isObject(values)) throw arrayNeedsVector();
  if (!field) throw invalidArrayClause();
  const list = isArray(values) ? values : Object.entries(values).map(([key, value]): JsonValue => [`:${key}`, value]);
  switch (field.type) {
    case 'A':
      throw arrayOnArray();
    case 'T':
      return inTimes(field, list);
    case 'PA':
      return { kind: 'path-eq', field: field.name, paths: list.map((path) => comparedPath(field, path)) };
    case 'PE':
      return { kind: 'in', field: field.name, values: list.map((path) => encodedText(field, path)) };
    case 'V':
      return { kind: 'value-in', field: field.name, values: list.map(withoutNul) };
    case 'S':
      if (field.store !== 'text') throw arrayMismatch(field);
      return { kind: 'in', field: field.name, values: list.map((value) => checkText(textOf(value))) };
    default:
      throw arrayMismatch(field);
  }
}

/** Texts that are no time stand for null: they equal nothing, and leave the answer open where nothing else is equal. */
function inTimes(field: Field, list: readonly JsonValue[]): Filter {
  const times: number[] = [];
  let open = false;
  for (const value of list) {
    const time = parseLenient(value);
    if (time !== null) times.push(time);
    else if (typeof value === 'string' || value === null) open = true;
    else throw notTimestamp(value);
  }
  const filter: Filter = { kind: 'in', field: field.name, values: times };
  return open ? { kind: 'or', args: [filter, UNKNOWN] } : filter;
}

// ---- functions ----

function functionTest(scope: Scope, clause: Extract<Clause, { kind: 'function' }>): Filter {
  const { fn, args, value } = clause;
  if (typeof fn !== 'string' || !FUNCTIONS.has(fn)) throw invalidFunction(fn);
  const isNumeric = fn !== 'count' && AGGREGATES.has(fn);
  const allowed = fn === 'count' ? [0, 1] : fn === 'to_string' ? [2] : [1];
  if (!allowed.includes(args.length)) {
    throw badQuery(`wrong number of arguments (${args.length}) provided for function ${fn}`);
  }
  const name = args[0];
  const field = typeof name === 'string' ? fieldNamed(scope, name) : undefined;
  if (name !== undefined && !field?.queryable) {
    throw badQuery(`field ${printClojure(name)} is not a valid queryable field`);
  }
  if (isNumeric && field?.type !== 'N')
    throw badQuery(`field ${printClojure(name as JsonValue)} must be a numeric type`);
  if (fn === 'to_string') throw invalidFunction(fn);
  if (AGGREGATES.has(fn)) throw new StoreRefusal('ERROR: aggregate functions are not allowed in WHERE');
  if (clause.op !== '=') throw invalidClause(clause.op);
  const column = field as Field;
  if (column.type !== 'V' && column.name !== 'parameters') {
    throw new StoreRefusal(`ERROR: function jsonb_typeof(${columnType(column)}) does not exist`);
  }
  if (typeof value !== 'string') throw storageMismatch({ ...column, store: 'text' }, '=', value);
  return { kind: 'jsonb-typeof', field: column.name, type: value };
}

const invalidFunction = (fn: JsonValue): Error => badQuery(`${printClojure(fn)} is not a valid function`);
