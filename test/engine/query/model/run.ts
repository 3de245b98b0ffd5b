// Asks the engine and the model the same, and says how their answers differ.

import { parseJson } from '../../../../engine/json/parse.ts';
import { storedText } from '../../../../engine/json/stored.ts';
import { Float, isArray, isObject, type JsonObject, type JsonValue } from '../../../../engine/json/value.ts';
import { QueryError } from '../../../../engine/query/errors.ts';
import { execute } from '../../../../engine/query/exec/execute.ts';
import { planOf, type SelectionPlan } from '../../../../engine/query/exec/explain.ts';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { ACTIVE_FILTER, mentionsNodeState } from '../../../../engine/query/resolve/defaults.ts';
import { resolveEntity, resolveEventCounts, resolveRoot } from '../../../../engine/query/resolve/resolve.ts';
import type { ExecuteOptions, RowSink } from '../../../../engine/query/sink.ts';
import type { EventCountsTree, QueryTree } from '../../../../engine/query/tree.ts';
import { evaluate, ModelError, type Result, type ResultRow } from './evaluate.ts';
import { type Fleet, NOW, PURGE_TTL } from './fleet.ts';
import type { Asked, AskedCounts } from './queries.ts';

/** The checked tree, or null when the resolver refuses the query. */
export function resolved(asked: Asked, edition: 'community' | 'enterprise'): QueryTree | null {
  const { entity, body, limit, offset, orderBy } = asked;
  const { includeFactsExpiration, includePackageInventory } = asked;
  const options = { includeFactsExpiration, includePackageInventory, edition, limit, offset, distinct: asked.distinct };
  const terms = orderBy.map(({ field, order }): JsonValue => ({ field, order }));
  try {
    if (asked.form === 'root') return resolveRoot(['from', entity, body ?? []], { ...options, orderBy: terms });
    const isActiveOnly = asked.activeFilter && (body === null || !mentionsNodeState(body));
    const routeFilters = isActiveOnly ? [ACTIVE_FILTER] : [];
    return resolveEntity(entity, body, { ...options, orderBy: terms, routeFilters });
  } catch (error) {
    if (error instanceof QueryError) return null;
    throw error;
  }
}

/** The same for event counts. */
export function resolvedCounts(asked: AskedCounts, edition: 'community' | 'enterprise'): EventCountsTree | null {
  const { orderBy, limit, offset, distinct, ...parameters } = asked;
  const terms = orderBy.map(({ field, order }): JsonValue => ({ field, order }));
  try {
    return resolveEventCounts(parameters, { orderBy: terms, limit, offset, distinct, edition });
  } catch (error) {
    if (error instanceof QueryError) return null;
    throw error;
  }
}

export interface EngineAnswer {
  /** JSON texts. */
  readonly rows: readonly string[];
  readonly total: number;
}

export interface Pace {
  /** Gives up the thread whenever it may. */
  readonly restless: boolean;
}

/** A context at the fleet's moment. */
function contextOf(fleet: Fleet, { restless }: Pace): ExecContext {
  return new ExecContext(fleet.partitions, {
    now: NOW,
    clock: () => NOW,
    deadline: () => Number.POSITIVE_INFINITY,
    nodePurgeTtl: PURGE_TTL,
    regexBudget: Number.POSITIVE_INFINITY,
    edition: fleet.world.edition,
    cancelled: () => false,
    slice: restless ? 0 : 1,
  });
}

/** Runs a generator of the executor to its end. */
function drive<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

type Work = (ctx: ExecContext, sink: RowSink, options: ExecuteOptions) => Generator<undefined, void>;

/** What the executor answers; null when it ends with a client error. */
export const askEngine = (tree: QueryTree, fleet: Fleet, pace: Pace): EngineAnswer | null =>
  answerOf((ctx, sink, options) => execute(tree, ctx, sink, options), fleet, pace);

export function answerOf(work: Work, fleet: Fleet, pace: Pace): EngineAnswer | null {
  const ctx = contextOf(fleet, pace);
  const rows: string[] = [];
  let total = -1;
  const onTotal = (n: number): void => {
    total = n;
  };
  const sink = { row: (text: string) => void rows.push(text), full: pace.restless };
  try {
    drive(work(ctx, sink, { onTotal }));
    return { rows, total };
  } catch (error) {
    if (error instanceof QueryError) return null;
    throw error;
  } finally {
    ctx.close();
  }
}

/** What `explain=analyze` says. */
export function explained(tree: QueryTree, fleet: Fleet): SelectionPlan {
  const ctx = contextOf(fleet, { restless: false });
  ctx.trace.fine = true;
  try {
    drive(execute(tree, ctx, { row: () => {}, full: false }));
    return planOf(ctx).Plan!;
  } finally {
    ctx.close();
  }
}

/** What the model answers; null for an error. */
/** What the model says; null where a query is an error while it is answered. */
export function modelAnswer<T>(evaluated: () => T): T | null {
  try {
    return evaluated();
  } catch (error) {
    if (error instanceof ModelError) return null;
    throw error;
  }
}

export const askModel = (tree: QueryTree, { world }: Fleet): Result | null =>
  modelAnswer(() => evaluate(tree, world, { now: NOW, purgeTtl: PURGE_TTL }));

/** null: the same. Otherwise what is wrong. */
export function difference(tree: QueryTree, answer: EngineAnswer, expected: Result): string | null {
  const isGrouped = tree.groupBy !== null || tree.columns.some((c) => c.kind === 'aggregate');
  const columns = tree.columns.map(({ key }) => key);
  return differenceOfRows({ ...tree, columns, isGrouped }, answer, expected);
}

interface AnswerShape {
  readonly columns: readonly string[];
  readonly isGrouped: boolean;
  readonly limit: number | null;
  readonly offset: number;
}

export function differenceOfRows(shape: AnswerShape, answer: EngineAnswer, { rows, tied }: Result): string | null {
  const { isGrouped } = shape;
  if (answer.total !== rows.length) return `total: expected ${rows.length}, got ${answer.total}`;
  const end = shape.limit === null ? rows.length : shape.offset + shape.limit;
  const wanted = rows.slice(shape.offset, end);
  if (answer.rows.length !== wanted.length) return `rows: expected ${wanted.length}, got ${answer.rows.length}`;
  const got: string[] = [];
  for (const text of answer.rows) {
    const row = parseJson(text) as JsonObject;
    const keys = shape.columns.join();
    if (Object.keys(row).join() !== keys) return `keys: expected ${keys}, got ${Object.keys(row).join()}`;
    got.push(comparable(row, isGrouped));
  }
  return differenceOfRuns(rows, wanted, got, { tied, isGrouped, offset: shape.offset });
}

interface Runs {
  readonly tied: Result['tied'];
  readonly isGrouped: boolean;
  readonly offset: number;
}

/** Rows that are equal in what they are ordered by may come in any order, and any of them when a limit cuts through them. */
function differenceOfRuns(
  all: readonly ResultRow[],
  wanted: readonly ResultRow[],
  got: readonly string[],
  { tied, isGrouped, offset }: Runs,
): string | null {
  for (let start = 0; start < wanted.length; ) {
    let end = start + 1;
    while (end < wanted.length && tied(wanted[start]!, wanted[end]!)) end++;
    let first = offset + start;
    while (first > 0 && tied(all[first - 1]!, all[first]!)) first--;
    let last = offset + end;
    while (last < all.length && tied(all[last - 1]!, all[last]!)) last++;
    const possible = new Map<string, number>();
    for (const { shown } of all.slice(first, last)) {
      const text = comparable(shown, isGrouped);
      possible.set(text, (possible.get(text) ?? 0) + 1);
    }
    for (let i = start; i < end; i++) {
      const left = possible.get(got[i]!) ?? 0;
      if (left === 0) {
        const missing = [...possible].find(([text, count]) => count > 0 && !got.includes(text))?.[0];
        return `row ${i}: unexpected ${got[i]}${missing === undefined ? '' : `\n  instead of ${missing}`}`;
      }
      possible.set(got[i]!, left - 1);
    }
    start = end;
  }
  return null;
}

/** A row as text without what nobody may rely on: the order of keys, tags and expanded lists. */
function comparable(row: JsonObject, isGrouped: boolean): string {
  return storedText(settled(row, '', isGrouped));
}

function settled(value: JsonValue, key: string, isGrouped: boolean): JsonValue {
  if (isArray(value)) {
    const list = value.map((element) => settled(element, '', isGrouped));
    return key === 'tags' || key === 'package_inventory' || key === 'data' ? [...list].sort(byText) : list;
  }
  if (isObject(value)) {
    const keepsOrder = !('href' in value);
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        name,
        settled(inner, keepsOrder && name === 'data' ? '' : name, isGrouped),
      ]),
    );
  }
  // Which of the equal values of a group is shown, 1 or 1.0, is open.
  return isGrouped && value instanceof Float && Number.isSafeInteger(value.value) ? value.value : value;
}

const byText = (a: JsonValue, b: JsonValue): number => {
  const x = storedText(a);
  const y = storedText(b);
  return x < y ? -1 : x > y ? 1 : 0;
};
