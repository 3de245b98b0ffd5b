// JSON values as sample documents have them.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Neither null, a list nor an object. */
export const isScalar = (value: Json): value is string | number | boolean =>
  value !== null && typeof value !== 'object';

/** The objects of a list; none where there is no list. */
export const objectsOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
