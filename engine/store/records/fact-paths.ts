// Fact paths: a registry of a partition has the path and the type of every leaf of its facts, which are read off the facts here.

import { parseJson } from '../../json/parse.ts';
import { Float, isObject, type JsonScalar, type JsonValue } from '../../json/value.ts';
import type { FactBody } from './records.ts';

/** What the paths of a factset may take, in bytes as `sizeOfPaths` counts them: about half a minute of the partition's time. */
const PATHS_SIZE_MAX = 256 << 20;

/** A fact, with the value that its text is of where there is one. */
interface TypedFact extends FactBody {
  readonly json?: JsonValue;
}

/**
 * Name of the fact with which the paths of these facts become more than is stored; null: they do not. Each leaf has its path, so leaves that
 * are very many, or nested very deeply, would take hundreds or thousands of times the bytes that came.
 */
export function factBeyondPaths(facts: readonly TypedFact[]): string | null {
  let atMost = 0;
  for (const { name, value } of facts) atMost += sizeOfPathsAtMost(name.length + value.length);
  if (atMost <= PATHS_SIZE_MAX) return null;
  let size = 0;
  for (const fact of facts) {
    const { name, value } = fact;
    size += isNested(value) ? sizeOfPaths(fact.json ?? parseJson(value), PATH_SIZE + name.length) : 0;
    if (size > PATHS_SIZE_MAX) return name;
  }
  return null;
}

/** Of a fact whose name and value have that length: at worst one half opens and closes the lists in which the other half, leaves of one character, lies. */
const sizeOfPathsAtMost = (length: number): number => (PATH_SIZE * length) / 2 + (ELEMENT_SIZE * length * length) / 16;

/** What a path takes beside its elements, and an element beside its text. */
const PATH_SIZE = 100;
const ELEMENT_SIZE = 4;

export const isNested = (value: string): boolean => value.startsWith('{') || value.startsWith('[');

/** Bytes of the paths of all leaves of a value; `before`: of the path that leads to it. */
function sizeOfPaths(value: JsonValue, before: number): number {
  let size = 0;
  if (Array.isArray(value)) {
    const inner = before + ELEMENT_SIZE;
    for (let index = 0; index < value.length; index++) size += sizeOfPaths(value[index] as JsonValue, inner);
    return size;
  }
  if (!isObject(value)) return before;
  for (const key in value) size += sizeOfPaths(value[key] as JsonValue, before + ELEMENT_SIZE + key.length);
  return size;
}

/** JSON text of the path that the registry holds as `["type",...path]`; type names have no comma. */
export const pathText = (registered: string): string => `[${registered.slice(registered.indexOf(',') + 1)}`;

/**
 * Calls `visit` for every leaf of a fact, with the type name that the fact paths show, and for a structure that is not empty
 * with type `json` and its name alone (it makes the name known, and is not shown). Empty lists and maps have no leaf.
 * The path is reused: copy what is kept.
 */
export function factPaths(
  name: string,
  value: JsonValue,
  visit: (type: string, path: readonly (string | number)[]) => void,
): void {
  const isStructure = typeof value === 'object' && value !== null && !(value instanceof Float);
  if (isStructure && Object.keys(value).length > 0) visit('json', [name]);
  walkPaths(value, [name], visit);
}

function walkPaths(
  value: JsonValue,
  path: (string | number)[],
  visit: (type: string, path: readonly (string | number)[]) => void,
): void {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      walkPaths(value[index] as JsonValue, path, visit);
      path.pop();
    }
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      path.push(key);
      walkPaths(value[key] as JsonValue, path, visit);
      path.pop();
    }
  } else {
    visit(leafType(value as JsonScalar), path);
  }
}

function leafType(value: JsonScalar): string {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'bigint':
      return 'integer';
    default:
      return Number.isInteger(value) ? 'integer' : 'float';
  }
}
