// The naive evaluator: every row of the entity is made, every condition is tested on every row, everything is sorted. No
// index, no set of nodes, no plan, nothing done once for many rows but subqueries. Written from the rules of the query
// language (three-valued logic, JSON order and containment, path semantics), not from the executor.

import { canonicalK } from '../../../../engine/json/canonical.ts';
import { compareJson, compareText, containsJson, equalJson, textForm } from '../../../../engine/json/compare.ts';
import { parseJson } from '../../../../engine/json/parse.ts';
import { isArray, isNumber, isObject, type JsonObject, type JsonValue, kindOf } from '../../../../engine/json/value.ts';
import { DecimalSum } from '../../../../engine/query/format/decimal.ts';
import { toChar } from '../../../../engine/query/format/to-char.ts';
import { compileRegex, type Matcher } from '../../../../engine/query/regex/regex.ts';
import { isOddValue } from '../../../../engine/query/resolve/clause.ts';
import type {
  Column,
  CompareOp,
  FieldRef,
  Filter,
  OrderTerm,
  PathPart,
  QueryTree,
} from '../../../../engine/query/tree.ts';
import { type EntityName, type Field, type FieldType, fieldOf } from '../../../../schemas/entities.ts';
import { type Cell, encoded, type ModelRow, type Path, type World } from './world.ts';

/** null is unknown. */
export type Truth = boolean | null;

/** An error that the query ends with. */
export class ModelError extends Error {}

export interface Moment {
  readonly now: number;
  readonly purgeTtl: number;
}

/** One row of an answer. */
export interface ResultRow {
  /** Its JSON object. */
  readonly shown: JsonObject;
  /** What it is ordered by. */
  readonly keys: readonly Cell[];
}

export interface Result {
  /** All rows without limit and offset, ordered as far as the tree says. */
  readonly rows: readonly ResultRow[];
  /** How many rows of the entity pass the filter. */
  readonly selected: number;
  /** Whether two neighbours may change places. */
  readonly tied: (a: ResultRow, b: ResultRow) => boolean;
}

export function evaluate(tree: QueryTree, world: World, moment: Moment): Result {
  const model = new Evaluation(world, moment);
  const selected = model.select(tree);
  const grouped = tree.groupBy !== null || tree.columns.some((c) => c.kind === 'aggregate');
  const rows = grouped ? model.groups(tree, selected) : selected.map((row) => model.show(tree, row));
  const compare = comparator(tree.entity, tree.orderBy);
  return {
    rows: rows.sort((a, b) => compare(a.keys, b.keys)),
    selected: selected.length,
    tied: (a, b) => compare(a.keys, b.keys) === 0,
  };
}

/** The rows that a tree selects, in no order. */
export const select = (tree: QueryTree, world: World, moment: Moment): ModelRow[] =>
  new Evaluation(world, moment).select(tree);

// ---- fields ----

/** Fields of pseudo entities have no row in the tables' types that matters here. */
const typeOf = (entity: EntityName, field: string): FieldType => fieldOf(entity, field)?.type ?? 'S';

const cellOf = (row: ModelRow, field: string): Cell => {
  const cell = row.cells[field];
  if (cell === undefined) throw new Error(`the model has no ${field}`);
  return cell;
};

/** Elements of a text array: pairs count as their members. */
const elements = (cell: Cell): readonly string[] => (cell as readonly JsonValue[]).flat() as string[];

const sameList = (a: Cell, b: Cell): boolean => JSON.stringify(a) === JSON.stringify(b);

const matchers = new Map<string, Matcher>();

function matcherOf(pattern: string): Matcher {
  let matcher = matchers.get(pattern);
  if (matcher === undefined) matchers.set(pattern, (matcher = compileRegex(pattern)));
  return matcher;
}

// ---- order ----

function comparePaths(a: Path, b: Path): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareText(String(a[i]), String(b[i]));
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Order of two values of a field that are both there. */
function compareCells(type: FieldType, a: Cell, b: Cell): number {
  switch (type) {
    case 'V':
    case 'J':
    case 'X':
      return compareJson(a, b);
    case 'A':
      return comparePaths(elements(a), elements(b));
    case 'PA':
      return comparePaths(a as Path, b as Path);
    default:
      return typeof a === 'string' && typeof b === 'string' ? compareText(a, b) : Number(a) - Number(b);
  }
}

/** Nulls come last, or first when descending. The null of a fact value is a value. */
export function comparator(
  entity: EntityName,
  terms: readonly OrderTerm[],
): (a: readonly Cell[], b: readonly Cell[]) => number {
  return (a, b) => {
    for (const [i, { field, descending }] of terms.entries()) {
      const type = typeOf(entity, field);
      const x = a[i]!;
      const y = b[i]!;
      let order: number;
      if (type === 'V' || (x !== null && y !== null)) order = compareCells(type, x, y);
      else order = Number(x === null) - Number(y === null);
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  };
}

const ACCEPTS: Record<CompareOp, (order: number) => boolean> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

// ---- paths into documents ----

type Found = JsonValue | undefined;
const DIGITS = /^\d+$/;

interface Walk {
  /** A name of digits is an index where it meets an array. */
  readonly digitsAreIndexes: boolean;
}

function step(at: Found, part: PathPart, { digitsAreIndexes }: Walk): Found {
  if (at === undefined || part.kind === 'match') return undefined;
  let found: Found;
  if (isObject(at)) found = Object.hasOwn(at, part.name) ? at[part.name] : undefined;
  else if (isArray(at) && digitsAreIndexes && DIGITS.test(part.name)) found = at[Number(part.name)];
  if (part.kind === 'name' || found === undefined) return found;
  // A scalar is a list of itself.
  if (isArray(found)) return found[part.index];
  return isObject(found) || part.index !== 0 ? undefined : found;
}

const walk = (document: JsonValue, parts: readonly PathPart[], how: Walk): Found =>
  parts.reduce((at: Found, part) => step(at, part, how), document);

const name = (text: string): PathPart => ({ kind: 'name', name: text, quoted: false });
const nameOf = (part: PathPart): string => (part.kind === 'match' ? '' : part.name);

/** `trusted` is one of the facts, and its name counts as the first key. */
function located(root: 'facts' | 'trusted' | 'parameters', parts: readonly PathPart[]) {
  return root === 'trusted' && parts.length > 0
    ? { field: 'facts', parts: [name('trusted'), ...parts] }
    : { field: root, parts };
}

// ---- evaluation ----

type Kind<K extends Filter['kind']> = Extract<Filter, { kind: K }>;
/** What the right side of an `in` holds: rows of cells with their types. */
interface Tuples {
  readonly rows: readonly (readonly Cell[])[];
  readonly types: readonly FieldType[];
}

class Evaluation {
  readonly #world: World;
  readonly #moment: Moment;
  readonly #tuples = new Map<Filter, Tuples>();
  #entity: EntityName = 'nodes';

  constructor(world: World, moment: Moment) {
    this.#world = world;
    this.#moment = moment;
  }

  /** Rows that pass the filter, in no order. */
  select(tree: QueryTree): ModelRow[] {
    let rows: readonly ModelRow[] = this.#world.rows(tree.entity);
    if (tree.entity === 'inactive_nodes') rows = rows.filter((row) => this.#isInactive(row));
    if (tree.distinct !== null) rows = this.#newest(rows, tree.distinct);
    const { filter } = tree;
    return filter === null ? [...rows] : rows.filter((row) => this.#holds(tree.entity, filter, row) === true);
  }

  /** Of each resource property of a node the events of the latest time within the bounds. */
  #newest(rows: readonly ModelRow[], distinct: NonNullable<QueryTree['distinct']>): ModelRow[] {
    const { start, end, before } = distinct;
    const within = rows.filter((row) => {
      const at = cellOf(row, 'timestamp') as number;
      return at >= start && at <= end && (before === null || this.#holds('events', before, row) === true);
    });
    const fields = ['certname', 'resource_type', 'resource_title', 'property', 'name'];
    const isSame = (a: ModelRow, b: ModelRow): boolean =>
      fields.every((field) => cellOf(a, field) === cellOf(b, field));
    return within.filter((row) =>
      within.every(
        (other) => !isSame(row, other) || Number(cellOf(other, 'timestamp')) <= Number(cellOf(row, 'timestamp')),
      ),
    );
  }

  #holds(entity: EntityName, filter: Filter, row: ModelRow): Truth {
    const outer = this.#entity;
    this.#entity = entity;
    const truth = this.#test(filter, row);
    this.#entity = outer;
    return truth;
  }

  #test(filter: Filter, row: ModelRow): Truth {
    switch (filter.kind) {
      case 'and': {
        const truths = filter.args.map((arg) => this.#test(arg, row));
        return truths.includes(false) ? false : truths.includes(null) ? null : true;
      }
      case 'or': {
        const truths = filter.args.map((arg) => this.#test(arg, row));
        return truths.includes(true) ? true : truths.includes(null) ? null : false;
      }
      case 'not': {
        const truth = this.#test(filter.arg, row);
        return truth === null ? null : !truth;
      }
      case 'const':
        return filter.value;
      case 'eq': {
        const cell = cellOf(row, filter.field);
        return cell === null ? (filter.nullSafe ? false : null) : cell === filter.value;
      }
      case 'order': {
        const cell = cellOf(row, filter.field);
        return cell === null ? null : ACCEPTS[filter.op]((cell as number) - filter.value);
      }
      case 'regex':
        return this.#regex(filter, cellOf(row, filter.field));
      case 'member': {
        const cell = cellOf(row, filter.field);
        return cell === null ? null : elements(cell).includes(filter.value);
      }
      case 'path-eq':
        return filter.paths.some((path) => sameList(path, cellOf(row, filter.field)));
      case 'path-match':
        return matchesPath(filter.pattern, cellOf(row, filter.field) as Path);
      case 'in': {
        const cell = cellOf(row, filter.field);
        if (filter.values.length === 0) return false;
        return cell === null ? null : filter.values.includes(cell as string | number);
      }
      case 'null':
        return cellOf(row, filter.field) === null;
      case 'value-in':
        return filter.values.some((value) => equalJson(value, cellOf(row, filter.field)));
      case 'value-order': {
        const cell = cellOf(row, filter.field);
        return isNumber(cell) && ACCEPTS[filter.op](compareJson(cell, filter.value));
      }
      case 'json':
        return this.#json(filter, row);
      case 'parameter':
        return hasParameter(filter, cellOf(row, 'parameters') as JsonObject);
      case 'jsonb-typeof':
        return kindOf(cellOf(row, filter.field)) === filter.type;
      case 'in-query':
        return this.#inQuery(filter, row);
      case 'node-state': {
        const { deactivated, expired } = row.node!;
        return filter.state === 'active' ? deactivated === null && expired === null : this.#isInactive(row);
      }
    }
  }

  /** Inactive nodes are forgotten after a while. */
  #isInactive({ node }: ModelRow): boolean {
    const horizon = this.#moment.now - this.#moment.purgeTtl;
    const { deactivated, expired } = node!;
    return (deactivated !== null && deactivated > horizon) || (expired !== null && expired > horizon);
  }

  #regex({ field, pattern, nullIsFalse }: Kind<'regex'>, cell: Cell): Truth {
    const matcher = matcherOf(pattern);
    const type = typeOf(this.#entity, field);
    if (type === 'A') return cell !== null && elements(cell).some((element) => matcher.test(element));
    const text = type === 'V' ? textForm(cell) : (cell as string | null);
    return text === null ? (nullIsFalse ? false : null) : matcher.test(text);
  }

  // ---- dotted fields ----

  #json(filter: Kind<'json'>, row: ModelRow): Truth {
    const { field, parts } = located(filter.root, filter.parts);
    const document = row.cells[field] ?? null;
    if (parts.some((part) => part.kind === 'match')) return this.#anyMatch(filter, parts, row);
    if (parts.length === 0) return onDocument(filter, document);
    if (filter.op === 'null?') {
      const wantsNull = filter.value !== false && filter.value !== null;
      const at = walk(document, parts.map(withoutIndex), { digitsAreIndexes: false });
      return at === undefined ? null : (at === null) === wantsNull;
    }
    const isIndexed = parts.some((part) => part.kind === 'indexed');
    const hasDigits = parts.some((part) => part.kind === 'name' && DIGITS.test(part.name));
    if (filter.op === '=' && !isIndexed && !hasDigits) {
      const wanted = inside(parts, filter.value);
      return containsJson(document, wanted);
    }
    const isFirstMissing = !isObject(document) || !Object.hasOwn(document, nameOf(parts[0]!));
    // With digits (and no index) `=` is open when the path is not there; else a missing first key decides.
    if (isFirstMissing && (filter.op !== '=' || isIndexed)) return false;
    const at = walk(document, parts, { digitsAreIndexes: filter.op === '=' && !isIndexed });
    return at === undefined ? null : compareFound(filter, at);
  }

  /** One of the stored paths that the regular expressions of a `match()` find. */
  #anyMatch(filter: Kind<'json'>, parts: readonly PathPart[], row: ModelRow): Truth {
    const pattern = parts.map((part) => (part.kind === 'match' ? part.pattern : patternOf(part))).join('#~');
    const matcher = matcherOf(pattern);
    const paths = this.#world.pathsForMatch().filter((path) => matcher.test(encoded(path)));
    if (paths.length === 0) throw new ModelError('no path matches');
    if (paths.length === 1 && filter.op !== '=' && isOddValue(filter.value))
      throw new ModelError('no value of a field');
    const literal = (path: Path): Filter => ({ ...filter, root: 'facts', parts: path.map((e) => name(String(e))) });
    return this.#test({ kind: 'or', args: paths.map(literal) }, row);
  }

  // ---- subqueries ----

  #inQuery(filter: Kind<'in-query'>, row: ModelRow): Truth {
    const entity = this.#entity;
    const { rows, types } = this.#tuplesOf(filter);
    const cells = filter.fields.map((field) => cellOf(row, field));
    const fieldTypes = filter.fields.map((field) => typeOf(entity, field));
    let truth: Truth = false;
    for (const tuple of rows) {
      const same = cells.map((cell, i) => equalCells(cell, fieldTypes[i]!, tuple[i]!, types[i]!));
      if (same.every((t) => t === true)) return true;
      if (!same.includes(false)) truth = null;
    }
    return truth;
  }

  #tuplesOf(filter: Kind<'in-query'>): Tuples {
    let tuples = this.#tuples.get(filter);
    if (tuples === undefined) {
      const { query } = filter;
      const columns = filter.columns.slice(0, filter.fields.length);
      const keysOf = (row: ModelRow): Cell[] => query.orderBy.map(({ field }) => cellOf(row, field));
      const compare = comparator(query.entity, query.orderBy);
      const selected = this.select(query).map((row) => ({ row, keys: keysOf(row) }));
      selected.sort((a, b) => compare(a.keys, b.keys));
      const paged = selected.slice(query.offset, query.limit === null ? undefined : query.offset + query.limit);
      const rows = new Map<string, Cell[]>();
      for (const { row } of paged) {
        const cells = columns.map((column) => cellOf(row, column));
        rows.set(canonicalK(cells), cells);
      }
      tuples = { rows: [...rows.values()], types: columns.map((column) => typeOf(query.entity, column)) };
      this.#tuples.set(filter, tuples);
    }
    return tuples;
  }

  // ---- answers ----

  show(tree: QueryTree, row: ModelRow): ResultRow {
    const shown: Record<string, JsonValue> = {};
    for (const column of tree.columns) shown[column.key] = columnValue(tree.entity, column, row);
    return { shown, keys: tree.orderBy.map(({ field }) => cellOf(row, field)) };
  }

  /** One row for each group: rows whose keys are equal. Without a grouping clause all rows are one group. */
  groups(tree: QueryTree, rows: readonly ModelRow[]): ResultRow[] {
    const { entity, columns, groupBy, orderBy } = tree;
    const keysOf = (row: ModelRow): JsonValue[] =>
      (groupBy ?? []).map((key) =>
        key.kind === 'ref' ? groupedValue(key.ref, row) : columnValue(entity, columns[key.column]!, row),
      );
    const groups: { keys: JsonValue[]; rows: ModelRow[] }[] = groupBy === null ? [{ keys: [], rows: [] }] : [];
    for (const row of rows) {
      const keys = keysOf(row);
      const group = groups.find((other) => equalJson(other.keys, keys));
      if (group === undefined) groups.push({ keys, rows: [row] });
      else group.rows.push(row);
    }
    return groups.map((group) => {
      const shown: Record<string, JsonValue> = {};
      for (const column of columns) {
        shown[column.key] =
          column.kind === 'aggregate'
            ? aggregate(entity, column, group.rows)
            : columnValue(entity, column, group.rows[0]!);
      }
      return { shown, keys: orderBy.map(({ field }) => cellOf(group.rows[0]!, field)) };
    });
  }
}

// ---- operators ----

/** `{a: {b: value}}` for the path a, b. */
function inside(parts: readonly PathPart[], value: JsonValue): JsonValue {
  let whole = value;
  for (const part of [...parts].reverse()) whole = { [nameOf(part)]: whole };
  return whole;
}

const withoutIndex = (part: PathPart): PathPart => (part.kind === 'indexed' ? name(part.name) : part);
const patternOf = (part: PathPart): string => (part.kind === 'indexed' ? `${part.name}#~${part.index}` : nameOf(part));

/** The whole document: one that is not there leaves everything open. */
function onDocument(filter: Kind<'json'>, document: JsonValue): Truth {
  if (document === null) return null;
  if (filter.op === '=') return containsJson(document, filter.value);
  if (filter.op === 'null?') return filter.value === false || filter.value === null;
  return compareFound(filter, document);
}

function compareFound({ op, value }: Kind<'json'>, found: JsonValue): Truth {
  switch (op) {
    case '=':
      return equalJson(found, value);
    case '~': {
      const text = textForm(found);
      return text === null ? null : matcherOf(value as string).test(text);
    }
    case 'null?':
      throw new Error('tested elsewhere');
    default:
      return ACCEPTS[op](compareJson(found, value));
  }
}

function hasParameter({ op, name: wanted, text }: Kind<'parameter'>, parameters: JsonObject): boolean {
  const entries = Object.entries(parameters).map(([key, value]) => [key, canonicalK(value)] as const);
  if (op === '=') return entries.some(([key, value]) => key === wanted && value === text);
  const names = matcherOf(wanted);
  const texts = matcherOf(text);
  return entries.some(([key, value]) => names.test(key) && texts.test(value));
}

/** Numbers of a pattern are found anywhere in the digits of an index; texts are patterns of one element, of digits only those of keys. */
function matchesPath(pattern: Path, path: Path): boolean {
  if (pattern.length !== path.length) return false;
  return pattern.every((wanted, i) => {
    const element = path[i]!;
    if (typeof wanted === 'number')
      return typeof element === 'number' && matcherOf(String(wanted)).test(String(element));
    if (DIGITS.test(wanted) && typeof element === 'number') return false;
    return matcherOf(wanted).test(String(element));
  });
}

/** Equality across the two sides of an `in`, with their types. */
function equalCells(outer: Cell, outerType: FieldType, inner: Cell, innerType: FieldType): Truth {
  if (innerType === 'V' && outerType !== 'V') {
    const text = textForm(inner);
    if (text === null || outer === null) return null;
    return outerType === 'N' ? Number(text) === outer && text.trim() !== '' : text === outer;
  }
  if (outerType === 'V') return innerType !== 'V' && inner === null ? null : equalJson(outer, inner);
  if (outer === null || inner === null) return null;
  if (outerType !== innerType && innerType === 'PA') return outer === encoded(inner as Path);
  if (outerType !== innerType && outerType === 'PA') return encoded(outer as Path) === inner;
  return equalJson(outer, inner);
}

// ---- columns ----

/** undefined: a path that leads nowhere. */
function found(ref: FieldRef, row: ModelRow): JsonValue | undefined {
  if (ref.kind === 'field') return cellOf(row, ref.field);
  const { field, parts } = located(ref.root, ref.parts);
  return walk(row.cells[field] ?? null, parts, { digitsAreIndexes: false });
}

const rawValue = (ref: FieldRef, row: ModelRow): JsonValue => found(ref, row) ?? null;

/** As a list, which is empty where a path leads nowhere: that is another group than null. */
function groupedValue(ref: FieldRef, row: ModelRow): JsonValue {
  const value = found(ref, row);
  return value === undefined ? [] : [value];
}

const refValue = (entity: EntityName, ref: FieldRef, row: ModelRow): JsonValue =>
  ref.kind === 'field' ? shownCell(entity, ref.field, cellOf(row, ref.field)) : rawValue(ref, row);

const isTime = (field: Field | undefined): boolean => field?.store === 'timestamp';

/** Times as texts, values of events as JSON, encoded paths as lists. */
function shownCell(entity: EntityName, field: string, cell: Cell): JsonValue {
  if (cell === null) return null;
  if (isTime(fieldOf(entity, field))) return new Date(cell as number).toISOString();
  if (entity === 'events' && (field === 'new_value' || field === 'old_value')) return parseJson(cell as string);
  if (entity === 'fact_paths' && field === 'path') return decoded(cell as string);
  return cell;
}

/** Digits become indexes, quoted digits keys; the empty key keeps its quotes. */
const decoded = (text: string): Path =>
  text.split('#~').map((e) => (/^\d+$/.test(e) ? Number(e) : e.replace(/^"(\d+)"$/, '$1')));

function columnValue(entity: EntityName, column: Column, row: ModelRow): JsonValue {
  switch (column.kind) {
    case 'field':
      return refValue(entity, column.ref, row);
    case 'to_string': {
      const field = (column.ref as { field: string }).field;
      const cell = cellOf(row, field);
      const kind = isTime(fieldOf(entity, field)) ? 'time' : 'number';
      return cell === null ? null : toChar(cell as number, column.mask, kind);
    }
    case 'jsonb_typeof':
      return typeofValue(column.ref, row);
    case 'null':
      return null;
    case 'aggregate':
      throw new Error('an aggregate has no value per row');
  }
}

function typeofValue(ref: FieldRef, row: ModelRow): JsonValue {
  if (ref.kind === 'field') {
    const cell = cellOf(row, ref.field);
    return cell === null ? null : kindOf(cell);
  }
  const { field, parts } = located(ref.root, ref.parts);
  const found = walk(row.cells[field] ?? null, parts, { digitsAreIndexes: false });
  return found === undefined ? null : kindOf(found);
}

/** The number that a fact value is or spells, as a list; an empty one for other values. */
function spelledNumber(value: JsonValue): JsonValue[] {
  if (isNumber(value)) return [value];
  const found = typeof value === 'string' ? /^\s*\+?(-?)0*(\d+(\.\d+)?(e[+-]?\d+)?)\s*$/i.exec(value) : null;
  return found === null ? [] : [parseJson(`${found[1]}${found[2]}`)];
}

function aggregate(
  entity: EntityName,
  column: Extract<Column, { kind: 'aggregate' }>,
  rows: readonly ModelRow[],
): JsonValue {
  const { fn, ref } = column;
  if (column.absent) return fn === 'count' ? 0 : null;
  if (ref === null) return rows.length;
  const field = (ref as { field: string }).field;
  const type = typeOf(entity, field);
  const cells = rows.map((row) => cellOf(row, field)).filter((cell) => cell !== null);
  if (fn === 'count') return cells.length;
  const counted = type === 'V' ? cells.flatMap((cell) => spelledNumber(cell as JsonValue)) : cells;
  if (counted.length === 0) return null;
  if (fn === 'sum' || fn === 'avg') {
    const sum = new DecimalSum();
    for (const cell of counted) sum.add(cell as number);
    return parseJson(fn === 'sum' ? sum.sum() : sum.avg(counted.length));
  }
  const sign = fn === 'max' ? -1 : 1;
  const best = counted.reduce((a, b) => (sign * compareCells(type, b, a) < 0 ? b : a));
  if (type === 'PA') return (best as Path).map(String);
  return typeof best === 'string' ? best : shownCell(entity, field, best);
}
