// What a wire format is made of: a field table per map, and one small step per version that turns a payload into the next
// version's form. The tables are interpreted in engine/ingest/command/validate.ts; nothing here knows how a payload is stored.
// Values on the wire are `unknown`: integers, doubles and bigints are told apart by the engine.

/** A JSON object as it was parsed; upgrade steps change it in place. */
export type WireObject = Record<string, unknown>;

/** What a field may hold. `null` and absence are separate questions (`nullable`, `required`). */
export type WireType =
  | { readonly kind: 'string' }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'integer' }
  | { readonly kind: 'number' }
  /** Any JSON value. */
  | { readonly kind: 'any' }
  /** An object with any keys. */
  | { readonly kind: 'map' }
  /** ISO-8601 with zone (spec/commands.md 3.0.3, strict). */
  | { readonly kind: 'time' }
  /** Any of the spellings of 3.0.3, lenient. */
  | { readonly kind: 'lenient-time' }
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  | { readonly kind: 'list'; readonly of: WireType }
  /** A list of exactly `length` texts. */
  | { readonly kind: 'texts'; readonly length: number }
  | { readonly kind: 'object'; readonly table: WireTable };

export interface WireField {
  readonly name: string;
  readonly type: WireType;
  /** The key must be there. */
  readonly required: boolean;
  /** The value may be null. */
  readonly nullable: boolean;
}

export interface WireTable {
  /** A closed map refuses keys that are not in the table; an open one drops them. */
  readonly closed: boolean;
  readonly fields: readonly WireField[];
}

interface UpgradeContext {
  /** Server time of receipt as ISO text: stands in for the producer timestamp of versions that had none. */
  readonly received: string;
}

/** Turns a payload of one version into the next one's form. What is not of the expected shape is left for validation. */
export type UpgradeStep = (payload: unknown, context: UpgradeContext) => unknown;

export interface CommandFormat {
  /** Command name with spaces. */
  readonly command: string;
  /** In the names of its files (spec/commands.md 2.2). */
  readonly shortName: string;
  readonly latest: number;
  /** The oldest version that is accepted. There is no newest: too new ones fail when they are processed. */
  readonly versionMin: number;
  /** Upgrade steps by the version they start from; the smallest key is the oldest version that can be processed. */
  readonly upgrades: Readonly<Record<number, UpgradeStep>>;
  /** Beginning of a refusal's text (3.0.2, missing spaces included). */
  readonly refusal: string;
  /** Of two that wait, of one certname and both with a producer-timestamp, the newer one makes the older one obsolete (2.3). */
  readonly supersedes: boolean;
  /** null: the payload is not checked as a whole before it is carried out. */
  readonly table: WireTable | null;
}

export const STRING: WireType = { kind: 'string' };
export const BOOLEAN: WireType = { kind: 'boolean' };
export const INTEGER: WireType = { kind: 'integer' };
export const NUMBER: WireType = { kind: 'number' };
export const ANY: WireType = { kind: 'any' };
export const MAP: WireType = { kind: 'map' };
export const TIME: WireType = { kind: 'time' };
export const LENIENT_TIME: WireType = { kind: 'lenient-time' };
export const listOf = (of: WireType): WireType => ({ kind: 'list', of });
export const objectOf = (table: WireTable): WireType => ({ kind: 'object', table });

/** Must be there, must not be null. */
export const required = (name: string, type: WireType): WireField => ({ name, type, required: true, nullable: false });
/** Must be there, may be null. */
export const nullable = (name: string, type: WireType): WireField => ({ name, type, required: true, nullable: true });
/** May be missing, may be null. */
export const optional = (name: string, type: WireType): WireField => ({ name, type, required: false, nullable: true });
/** May be missing, must not be null. */
export const omittable = (name: string, type: WireType): WireField => ({
  name,
  type,
  required: false,
  nullable: false,
});

export const isWireObject = (value: unknown): value is WireObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.getPrototypeOf(value) === OBJECT;
const OBJECT = Object.prototype;

/** What PuppetDB takes for a list without elements: null, and an empty list, map or text. */
export const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (Array.isArray(value) ? value.length === 0 : isWireObject(value) && Object.keys(value).length === 0);

/** A list, an empty one for what is taken for one; anything else is left for validation. */
export const elementsOf = (value: unknown): unknown => (isEmpty(value) ? [] : value);

/** A step that only looks at objects; anything else goes on unchanged. */
export function onObject(change: (payload: WireObject, context: UpgradeContext) => void): UpgradeStep {
  return (payload, context) => {
    if (isWireObject(payload)) change(payload, context);
    return payload;
  };
}

/** Moves a value to another key, if it is there. */
export function rename(object: WireObject, from: string, to: string): void {
  if (!Object.hasOwn(object, from)) return;
  const value = object[from];
  delete object[from];
  object[to] = value;
}

/** Sets a key only when it is missing. */
export function setDefault(object: WireObject, key: string, value: unknown): void {
  if (!Object.hasOwn(object, key)) object[key] = value;
}

/** Dashes in the names of an object's own keys become underscores. */
export function underscoreKeys(object: WireObject): void {
  for (const key of Object.keys(object)) if (key.includes('-')) rename(object, key, key.replaceAll('-', '_'));
}
