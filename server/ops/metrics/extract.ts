// From an attribute's value to what the answer shows of it: inner paths (a missing step gives null, a wildcard collects over
// a level) and the limits that a client may set on depth, collections and the number of values.

import type { Json } from '../../json.ts';
import type { PathStep } from './request.ts';

/** 0: no limit. */
export interface Limits {
  readonly depth: number;
  readonly collection: number;
  readonly objects: number;
}

/** No value at the end of the path: the branch is left out of what a wildcard collects. */
const missing = Symbol('missing');
type Found = Json | typeof missing;

export function extract(value: Json, path: readonly PathStep[], limits: Limits): Json {
  let seen = 0;

  const found = walk(value, 0, 0);
  return found === missing ? null : found;

  /** `step`: how much of the path is behind us; `depth`: how many collections are around the value. */
  function walk(current: Json, step: number, depth: number): Found {
    if (current !== null && limits.depth !== 0 && depth >= limits.depth) return javaText(current);
    if (limits.objects !== 0 && seen > limits.objects) return '[Object limit exceeded]';
    seen++;
    const wanted = path[step];
    if (Array.isArray(current)) return walkList(current, wanted, step, depth + 1);
    if (current !== null && typeof current === 'object') {
      return walkMap(current as Readonly<Record<string, Json>>, wanted, step, depth + 1);
    }
    return step < path.length ? missing : current;
  }

  function walkMap(
    map: Readonly<Record<string, Json>>,
    wanted: PathStep | undefined,
    step: number,
    depth: number,
  ): Found {
    if (typeof wanted === 'string') {
      return Object.hasOwn(map, wanted) ? walk(map[wanted]!, step + 1, depth) : missing;
    }
    const next = wanted === null ? step + 1 : step;
    const shown: Record<string, Json> = {};
    let left = limits.collection === 0 ? Number.POSITIVE_INFINITY : limits.collection;
    let empty = true;
    for (const key of Object.keys(map)) {
      if (left-- <= 0) break;
      const inner = walk(map[key]!, next, depth);
      if (inner === missing) continue;
      shown[key] = inner;
      empty = false;
    }
    return empty && Object.keys(map).length > 0 ? missing : shown;
  }

  function walkList(list: readonly Json[], wanted: PathStep | undefined, step: number, depth: number): Found {
    if (typeof wanted === 'string') {
      const index = /^\d+$/.test(wanted) ? Number(wanted) : -1;
      return index >= 0 && index < list.length ? walk(list[index]!, step + 1, depth) : missing;
    }
    const next = wanted === null ? step + 1 : step;
    const length = limits.collection === 0 ? list.length : Math.min(list.length, limits.collection);
    const shown: Json[] = [];
    for (let index = 0; index < length; index++) {
      const inner = walk(list[index]!, next, depth);
      if (inner !== missing) shown.push(inner);
    }
    return shown.length === 0 && length > 0 ? missing : shown;
  }
}

/** What stands for a value below the depth limit. */
function javaText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(javaText).join(', ')}]`;
  if (value !== null && typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, inner]) => `${key}=${javaText(inner)}`)
      .join(', ')}}`;
  }
  return String(value);
}
