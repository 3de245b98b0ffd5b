// Bounds on a query as text became a tree: how deep it nests and how many values it holds. Checked without recursion,
// before any recursive pass sees it.

import { canonicalK } from '../../json/canonical.ts';
import { JSON_LIMITS, JsonError } from '../../json/parse.ts';
import { isArray, isObject, type JsonValue } from '../../json/value.ts';
import { badQuery } from '../errors.ts';

const QUERY_VALUES_MAX = 2_000_000;

interface Limits {
  /** Levels of nesting; absent: any. */
  readonly depthMax?: number | undefined;
  /** Set: the query is one of the older filter language, which has an error of its own for a list that begins with null. */
  readonly distinct?: object | null | undefined;
}

/** Throws 400 for a tree beyond the bounds, and for a list that begins with null (PuppetDB fails on these). */
export function checkLimits(query: JsonValue, limits: Limits): void {
  const depthMax = limits.depthMax ?? Number.POSITIVE_INFINITY;
  const takesNull = (limits.distinct ?? null) !== null;
  let level: readonly JsonValue[] = [query];
  let count = 1;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > depthMax) throw badQuery(`The query is nested too deeply: the limit is ${depthMax} levels`);
    const next: JsonValue[] = [];
    for (const node of level) {
      if (isArray(node)) {
        if (node[0] === null && !takesNull) throw badQuery('A list in a query cannot begin with null');
        for (const child of node) next.push(child);
      } else if (isObject(node)) {
        for (const key of Object.keys(node)) next.push(node[key] as JsonValue);
      }
    }
    count += next.length;
    if (count > QUERY_VALUES_MAX) throw badQuery(`The query is too large: the limit is ${QUERY_VALUES_MAX} values`);
    level = next;
  }
}

/** The canonical text of a value that stored ones are compared with. Throws 400 for one that nests deeper than any of them can. */
export function valueText(value: JsonValue): string {
  try {
    return canonicalK(value);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw badQuery(`A value in the query is nested too deeply: the limit is ${JSON_LIMITS.depth} levels`);
  }
}
