// Shorthands of the resolve tests: a query in, the filter or the error text out.

import assert from 'node:assert/strict';
import { parseJson } from '../../../../engine/json/parse.ts';
import type { JsonValue } from '../../../../engine/json/value.ts';
import { QueryError } from '../../../../engine/query/errors.ts';
import {
  type EntityOptions,
  type RootOptions,
  resolveEntity,
  resolveRoot,
} from '../../../../engine/query/resolve/resolve.ts';
import type { Filter, QueryTree } from '../../../../engine/query/tree.ts';
import type { EntityName } from '../../../../schemas/entities.ts';

/** A query as clients send it: JSON text, so that `5` and `5.0` stay different. */
export const json = (text: string): JsonValue => parseJson(text);

export const entity = (name: EntityName, query: string, options: EntityOptions = {}): QueryTree =>
  resolveEntity(name, json(query), options);

export const root = (query: string, options: RootOptions = {}): QueryTree => resolveRoot(json(query), options);

export const filter = (name: EntityName, query: string): Filter | null => entity(name, query).filter;

/** The text of the client error that `run` ends with. */
export function errorOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof QueryError, String((error as Error).stack));
    assert.equal(error.status, 400);
    return error.message;
  }
  assert.fail('no error');
}

export const entityError = (name: EntityName, query: string, options: EntityOptions = {}): string =>
  errorOf(() => entity(name, query, options));

export const keys = (tree: QueryTree): string => tree.columns.map((column) => column.key).join(' ');
