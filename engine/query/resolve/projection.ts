// `extract`: the columns of the answer, functions among them, and `group_by` (spec/query.md 3.10, 3.11). Names have been
// checked; here columns get their keys and their order, and columns that could have no single value are refused.

import { type Field, globalKeyOrder } from '../../../schemas/entities.ts';
import { isAtom, printClojure, textOf } from '../../clojure.ts';
import { isArray, type JsonValue } from '../../json/value.ts';
import { badQuery, type Defer, StoreRefusal } from '../errors.ts';
import { MASK_MAX } from '../format/mask.ts';
import { type AggregateName, type Column, type FieldRef, type GroupKey, nameOfRef, type OrderTerm } from '../tree.ts';
import { ambiguousFunction, badMatchPart, noFunction, noSequence } from './messages.ts';
import { FUNCTIONS } from './operators.ts';
import { documentRef, parseField, tryParseField } from './path.ts';
import { fieldNamed, type Scope } from './scope.ts';

export interface Projection {
  readonly columns: readonly Column[];
  readonly groupBy: readonly GroupKey[] | null;
}

/** Characters of a field's name. */
const NAME_LENGTH_MAX = 63;
/** PostgreSQL cuts off the rest of a column's name. */
const NAME_BYTES_MAX = 63;
/** Rows with more columns list them in one fixed order, whatever was asked for. */
const REQUEST_ORDER_MAX = 8;

const KEY_RANK: ReadonlyMap<string, number> = new Map(globalKeyOrder.map((key, index) => [key, index]));

/** The columns of `["extract", columns, …]`; an empty list means the entity's default columns. */
export function projectionOf(
  scope: Scope,
  columns: JsonValue,
  groupBy: readonly JsonValue[] | null,
  defer: Defer,
): Projection {
  const list = isArray(columns) ? columns : [columns];
  const functions = list.filter(isArray);
  const fields = list.filter((column) => !isArray(column));
  const drafts =
    list.length > 0
      ? [
          ...withMasks(functions.map((call) => defer(() => functionColumn(scope, call), refusedColumn(call)))),
          ...fields.map((name) => fieldColumn(scope, name)),
        ]
      : defaultColumns(scope);
  const named = withKeys(drafts);
  const keyed = inOrder(scope, visible(named));
  const shown = new Set(named.flatMap((column) => (column.kind === 'field' ? [nameOfRef(column.ref)] : [])));
  const names = groupBy === null ? null : groupNames(scope, groupBy);
  const keys =
    names === null
      ? null
      : names.flatMap((name) => defer<GroupKey | never[]>(() => groupKey(scope, name, { keyed, shown }), []));
  if (names?.length === 0) defer(refuseNoGroups, undefined);
  if (keys !== null || keyed.some(isAggregate)) {
    const grouped = groupedBy(keyed, keys ?? []);
    for (const column of named) defer(() => checkGrouped(column, grouped), undefined);
  }
  return { columns: keyed, groupBy: keys };
}

/** A mistake that only the database finds. */
function refuseNoGroups(): never {
  throw new StoreRefusal("'group_by' takes at least one argument, but none were supplied");
}

/** The entity's rows as they come without a projection. */
export const allColumns = (scope: Scope): Projection => ({
  columns: inOrder(scope, defaultColumns(scope)),
  groupBy: null,
});

function defaultColumns(scope: Scope): Column[] {
  const columns: Column[] = [];
  for (const name of scope.entity?.defaultColumns ?? []) {
    if (fieldNamed(scope, name))
      columns.push({ kind: 'field', key: scope.shown(name), ref: { kind: 'field', field: name } });
  }
  return columns;
}

/** PuppetDB hands the masks of several `to_string` calls out in reverse, which clients see in the answers. */
function withMasks(columns: readonly Column[]): readonly Column[] {
  const masks = columns.flatMap((column) => (column.kind === 'to_string' ? [column.mask] : []));
  return columns.map((column) => (column.kind === 'to_string' ? { ...column, mask: masks.pop() as string } : column));
}

/** As PuppetDB's database library gives them: repeated names are numbered, and keys are names in lower case (seen in `facts.KERNEL`). */
function withKeys(columns: readonly Column[]): Column[] {
  const counts = new Map<string, number>();
  return columns.map((column) => {
    const name = storedName(column.key);
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return { ...column, key: (count === 1 ? name : `${name}_${count}`).toLowerCase() };
  });
}

/** As many whole characters as there is room for. */
const storedName = (name: string): string => name.slice(0, utf8.encodeInto(name, nameBytes).read);
const utf8 = new TextEncoder();
const nameBytes = new Uint8Array(NAME_BYTES_MAX);

/** A row has each key once: the last column's value, in the place of the first. */
const visible = (columns: readonly Column[]): Column[] => [
  ...new Map(columns.map((column) => [column.key, column])).values(),
];

function inOrder(scope: Scope, columns: readonly Column[]): readonly Column[] {
  if (columns.length <= REQUEST_ORDER_MAX) return columns;
  const rank = (column: Column): number =>
    KEY_RANK.get(column.key) ?? KEY_RANK.get(fieldNamed(scope, column.key)?.name ?? '') ?? KEY_RANK.size;
  return [...columns].sort((a, b) => rank(a) - rank(b));
}

// ---- columns ----

function fieldRef(scope: Scope, text: string): FieldRef {
  const field = fieldNamed(scope, text);
  if (field) return { kind: 'field', field: field.name };
  const { top, parts } = parseField(text);
  for (const part of parts) if (part.kind !== 'name') throw badMatchPart(part.kind);
  return { kind: 'path', ...documentRef(top, parts) };
}

function fieldColumn(scope: Scope, name: JsonValue): Column {
  const key = textOf(name);
  if (key.length > NAME_LENGTH_MAX) {
    throw badQuery(
      `Projected field name '${key.length}' exceeds current maximum length of ${NAME_LENGTH_MAX} characters`,
    );
  }
  return { kind: 'field', key, ref: fieldRef(scope, key) };
}

const isNumberField = (field: Field): boolean => field.type === 'N' || field.type === 'V';

/** Whether the function has an answer for the field's values. Fact values count as numbers, PuppetDB converts them. */
function accepts(fn: string, field: Field): boolean {
  switch (fn) {
    case 'count':
      return true;
    case 'sum':
    case 'avg':
      return isNumberField(field);
    case 'min':
    case 'max':
      return isNumberField(field) || field.store === 'text' || field.store === 'timestamp' || field.store === 'text[]';
    case 'to_string':
      return isNumberField(field) || field.store === 'timestamp';
    default:
      return field.type === 'J';
  }
}

/** Stands for a function that will be refused. */
const refusedColumn = (call: readonly JsonValue[]): Column => ({ kind: 'null', key: textOf(call[1] ?? null) });

function functionColumn(scope: Scope, call: readonly JsonValue[]): Column {
  const fn = textOf(call[1] ?? null);
  const [name, ...parameters] = call.slice(2);
  const mask = parameters[0];
  if (name === undefined) {
    if (fn !== 'count') throw noFunction(fn, null, []);
    return { kind: 'aggregate', key: fn, fn, ref: null };
  }
  const field = typeof name === 'string' ? columnField(scope, name) : undefined;
  if (parameters.length !== (fn === 'to_string' ? 1 : 0)) throw noFunction(fn, field, parameters);
  if (!field) {
    // PuppetDB takes what it does not know for a column of nulls, members of documents too. Functions of numbers fail on it.
    if (fn === 'count' || fn === 'min' || fn === 'max') {
      return { kind: 'aggregate', key: fn, fn, ref: null, absent: true };
    }
    if (fn === 'jsonb_typeof') return { kind: 'null', key: fn };
    throw fn === 'to_string' && typeof mask !== 'string'
      ? noFunction(fn, field, parameters)
      : ambiguousFunction(fn, parameters);
  }
  if (!accepts(fn, field)) throw noFunction(fn, field, parameters);
  const ref: FieldRef = { kind: 'field', field: field.name };
  if (fn === 'to_string') {
    if (typeof mask !== 'string') throw noFunction(fn, field, parameters);
    if (mask.length > MASK_MAX) throw badQuery(`The mask of a to_string is longer than ${MASK_MAX} characters`);
    return { kind: 'to_string', key: fn, ref, mask };
  }
  if (fn === 'jsonb_typeof') return { kind: 'jsonb_typeof', key: fn, ref };
  return { kind: 'aggregate', key: fn, fn: fn as AggregateName, ref };
}

function isDocumentMember(scope: Scope, name: string): boolean {
  const path = tryParseField(name);
  return path !== null && (scope.roots as readonly string[]).includes(path.top);
}

// ---- grouping ----

const isAggregate = (column: Column): boolean => column.kind === 'aggregate';

/** What a grouping clause may name beside fields. */
interface Groupable {
  /** The columns, their keys given. */
  readonly keyed: readonly Column[];
  /** What those of them that are fields, or members of documents, refer to. */
  readonly shown: ReadonlySet<string>;
}

/**
 * What the keys of a grouping clause name, each name once: a repeated one divides no group. Refuses what is no name, and of the names
 * that mean nothing the alphabetically first: PuppetDB looks at them in order.
 */
function groupNames(scope: Scope, keys: readonly JsonValue[]): readonly string[] {
  for (const key of keys) if (isAtom(key)) throw noSequence(key);
  const names = new Set<string>();
  for (const key of keys) {
    const name = groupName(key);
    if (name === null) throw badQuery(`${printClojure(key)} is not a valid group_by argument`);
    names.add(name);
  }
  const [first] = [...names].filter((name) => !isGroupable(scope, name)).sort();
  if (first !== undefined) throw badQuery(`${printClojure(first)} is niether a valid column name nor function name`);
  return [...names];
}

const isGroupable = (scope: Scope, name: string): boolean =>
  FUNCTIONS.has(name) || columnField(scope, name) !== undefined || isDocumentMember(scope, name);

/** What a key of a grouping clause names: a call of a function is its name, whatever that means, and its parameters are not looked at. */
function groupName(key: JsonValue): string | null {
  const name = isArray(key) && key[0] === 'function' ? (key[1] ?? null) : key;
  return typeof name === 'string' ? name : null;
}

function columnField(scope: Scope, name: string): Field | undefined {
  const field = fieldNamed(scope, name);
  return field?.name === 'tag' ? undefined : field;
}

/** What a name that `groupNames` has let pass refers to. */
function groupKey(scope: Scope, name: string, { keyed, shown }: Groupable): GroupKey {
  const field = columnField(scope, name);
  if (field) {
    if (field.type === 'X' || (field.type === 'J' && !(scope.roots as readonly string[]).includes(field.name))) {
      throw new StoreRefusal('ERROR: could not identify an equality operator for type json', 'grouping');
    }
    return { kind: 'ref', ref: { kind: 'field', field: field.name } };
  }
  return isDocumentMember(scope, name) ? memberKey(scope, name, shown) : functionKey(name, keyed);
}

/** A member of a document can be grouped by when it is a column. */
function memberKey(scope: Scope, name: string, shown: Groupable['shown']): GroupKey {
  const ref = fieldRef(scope, name);
  if (!shown.has(nameOfRef(ref))) throw noColumn(name);
  return { kind: 'ref', ref };
}

function functionKey(name: string, columns: readonly Column[]): GroupKey {
  const index = columns.findIndex((column) => column.kind !== 'field' && column.key === name);
  const column = columns[index];
  if (!column) throw noColumn(name);
  if (isAggregate(column)) throw new StoreRefusal('ERROR: aggregate functions are not allowed in GROUP BY', 'grouping');
  return { kind: 'column', column: index };
}

const noColumn = (name: string): Error => new StoreRefusal(`ERROR: column "${name}" does not exist`, 'grouping');

const notGrouped = (name: string): Error =>
  new StoreRefusal(
    `ERROR: column "${name}" must appear in the GROUP BY clause or be used in an aggregate function`,
    'grouping',
  );

/** The document that a column is a part of: rows that are grouped by the whole have the part in common. */
function documentOf(ref: FieldRef): FieldRef | null {
  if (ref.kind === 'path') return { kind: 'field', field: ref.root };
  return ref.field === 'trusted' ? { kind: 'field', field: 'facts' } : null;
}

/** What rows of a group have in common. */
interface Grouped {
  readonly refs: ReadonlySet<string>;
  readonly columns: ReadonlySet<Column>;
}

function groupedBy(columns: readonly Column[], keys: readonly GroupKey[]): Grouped {
  const grouped = { refs: new Set<string>(), columns: new Set<Column>() };
  for (const key of keys) {
    if (key.kind === 'ref') grouped.refs.add(nameOfRef(key.ref));
    else grouped.columns.add(columns[key.column] as Column);
  }
  return grouped;
}

function checkGrouped(column: Column, { refs, columns }: Grouped): void {
  if (column.kind === 'aggregate' || column.kind === 'null') return;
  const { ref } = column;
  const whole = documentOf(ref);
  const isKey = refs.has(nameOfRef(ref)) || (whole !== null && refs.has(nameOfRef(whole))) || columns.has(column);
  if (!isKey) throw notGrouped(column.key);
}

/** Groups can only be ordered by what they are grouped by. */
export function checkGroupOrder(projection: Projection, orderBy: readonly OrderTerm[]): void {
  const { columns, groupBy } = projection;
  if (groupBy === null && !columns.some(isAggregate)) return;
  const { refs } = groupedBy(columns, groupBy ?? []);
  for (const term of orderBy) {
    if (!refs.has(nameOfRef({ kind: 'field', field: term.field }))) throw notGrouped(term.field);
  }
}

/**
 * Whether a facts query leaves out values that are no numbers, also those that spell one. PuppetDB does so for these functions, whatever
 * they are of, unless there are groups.
 */
export const isOfNumbers = ({ columns, groupBy }: Projection): boolean =>
  groupBy === null && columns.some((column) => column.kind === 'aggregate' && column.fn !== 'count');
