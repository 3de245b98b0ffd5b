// The JSON value domain of the whole program. PuppetDB keeps what plain JSON.parse loses (1.0 is not 1, integers of any
// size, -0.0), so a value read from a command or a query is one of the types below and nothing else.
//
//   integer, |n| <= 2^53-1   -> number (integral; never -0: the integer -0 is 0)
//   integer beyond that      -> bigint
//   double, not integral     -> number (non-integral)
//   double, integral or inf  -> Float  (1.0, 1e20, -0.0, 1e400)
//   string, boolean, null, arrays -> themselves
//   object                   -> JsonObject: an object whose keys are own properties ("__proto__" included, as data)

/** A double whose value is integral (`1.0`, `1e20`, `-0.0`) or infinite: the integer/float distinction survives in it. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

export type JsonScalar = null | boolean | string | number | bigint | Float;
export type JsonValue = JsonScalar | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export type JsonKind = 'null' | 'boolean' | 'string' | 'number' | 'array' | 'object';

/** What PostgreSQL's jsonb_typeof says of a value. */
export function kindOf(value: JsonValue): JsonKind {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'number':
    case 'bigint':
      return 'number';
    default:
      return Array.isArray(value) ? 'array' : value instanceof Float ? 'number' : 'object';
  }
}

export const isObject = (value: JsonValue): value is JsonObject => kindOf(value) === 'object';
export const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
export const isNumber = (value: JsonValue): value is number | bigint | Float => kindOf(value) === 'number';
/** An integer of any size: a Float is none, however integral. */
export const isInteger = (value: JsonValue): value is number | bigint =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));

/** Sets a member of an object that is being made, whatever its name: by plain assignment `__proto__` would set the prototype. */
export function setMember(object: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  } else object[name] = value;
}

/** The nearest double. */
export const doubleOfNumber = (value: number | bigint | Float): number =>
  value instanceof Float ? value.value : Number(value);
