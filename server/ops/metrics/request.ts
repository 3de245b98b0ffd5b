// Requests of the metrics gateway (Jolokia protocol 7.2): from a GET path, from a POST object or a list of them, to one
// checked form. Says what was understood (`echo`), never what it means: carrying requests out is gateway.ts.

import { isJsonMap, type Json } from '../../json.ts';
import { MalformedName, type ObjectName, parseObjectName } from './object-name.ts';

/** A failure as clients of the JVM see it: class, message and a status that lives in the body. */
export class GatewayFailure extends Error {
  readonly className: string;
  readonly status: number;
  /** null: the class alone is shown. */
  readonly text: string | null;
  constructor(status: number, className: string, text: string | null) {
    super(text ?? className);
    this.name = 'GatewayFailure';
    this.status = status;
    this.className = className;
    this.text = text;
  }
}

export const illegalArgument = (text: string): GatewayFailure =>
  new GatewayFailure(400, 'java.lang.IllegalArgumentException', text);

/** A step of an inner path; null is the wildcard. */
export type PathStep = string | null;

export type GatewayRequest = {
  /** What the answer repeats. */
  readonly echo: Json;
  readonly options: GatewayOptions;
} & (
  | { readonly type: 'version' }
  | {
      readonly type: 'read';
      readonly name: ObjectName;
      /** null: all of them. */
      readonly attributes: readonly string[] | null;
      /** The answer is a map even for one attribute. */
      readonly several: boolean;
      readonly path: readonly PathStep[] | null;
    }
  | { readonly type: 'search'; readonly name: ObjectName }
  | { readonly type: 'list'; readonly path: readonly PathStep[] | null }
  | { readonly type: 'write'; readonly name: ObjectName; readonly attribute: string | null }
  | { readonly type: 'exec'; readonly name: ObjectName; readonly operation: string | null }
);

/** Processing options as sent. Numbers are read when they are needed: a bad one is a failure of an understood request. */
export type GatewayOptions = ReadonlyMap<string, string>;

/** Attributes that one request may name: they are looked for in each bean that it finds. */
const ATTRIBUTES_MAX = 100;
/** Steps of a path. */
const STEPS_MAX = 1000;

const OPTION_NAMES = new Set([
  'maxDepth',
  'maxCollectionSize',
  'maxObjects',
  'ignoreErrors',
  'includeStackTrace',
  'serializeException',
  'canonicalNaming',
  'callback',
  'mimeType',
  'ifModifiedSince',
]);

const TYPES = new Set(['read', 'list', 'write', 'exec', 'version', 'search']);
const UNSUPPORTED_TYPES = new Set(['regnotif', 'remnotif']);

export function optionsOf(parameters: Iterable<readonly [string, string]>): GatewayOptions {
  const options = new Map<string, string>();
  for (const [name, value] of parameters) if (OPTION_NAMES.has(name) && !options.has(name)) options.set(name, value);
  return options;
}

/** `true` unless switched off: bean names are shown with sorted properties. */
export const canonicalNaming = (options: GatewayOptions): boolean =>
  (options.get('canonicalNaming') ?? 'true').toLowerCase() === 'true';

export function numberOption(options: GatewayOptions, name: string): number {
  const text = options.get(name);
  if (text === undefined) return 0;
  if (!/^[+-]?\d+$/.test(text) || Math.abs(Number(text)) > 2 ** 31 - 1) {
    throw new GatewayFailure(400, 'java.lang.NumberFormatException', `For input string: "${text}"`);
  }
  return Number(text);
}

/** `path`: what follows `/metrics/v2`, percent-decoded. `alternative`: the `p` parameter, used when the path is empty. */
export function parseGet(path: string, alternative: string | null, options: GatewayOptions): GatewayRequest {
  const info = /^\/*$/.test(path) ? (alternative ?? '') : path;
  const steps = (splitPath(info.startsWith('/') ? info.slice(1) : info) ?? []).map(wildcard);
  if (steps.length === 0) return { type: 'version', echo: { type: 'version' }, options };
  const type = typeOf(steps.shift() ?? null);
  const required = (): PathStep => {
    if (steps.length === 0) {
      throw illegalArgument(`Invalid arguments in pathinfo ${path} for command ${type.toUpperCase()}`);
    }
    return steps.shift() ?? null;
  };
  const rest = (): PathStep[] | null => (steps.length === 0 ? null : steps.splice(0));
  switch (type) {
    case 'read': {
      const mbean = required();
      const attribute = steps.shift() ?? null;
      return readRequest(mbean, attribute, rest(), options);
    }
    case 'search':
      return searchRequest(required(), null, options);
    case 'list':
      return listRequest(rest(), options);
    case 'write': {
      const [mbean, attribute, value] = [required(), required(), required()];
      return writeRequest(mbean, attribute, specialText(value), rest(), options);
    }
    case 'exec': {
      const [mbean, operation] = [required(), required()];
      return execRequest(mbean, operation, rest()?.map(specialText) ?? null, null, options);
    }
    default:
      return { type: 'version', echo: { type: 'version' }, options };
  }
}

/** One member of a POST. `options` of the URL hold unless its `config` says otherwise. */
export function parsePost(body: Readonly<Record<string, Json>>, options: GatewayOptions): GatewayRequest {
  const merged = new Map(options);
  const given = body['config'] ?? null;
  if (given !== null) {
    if (!isJsonMap(given)) throw classCast(given, 'java.util.Map');
    const config = Object.entries(given).map(([name, value]) => [name, String(value)] as const);
    for (const [name, value] of optionsOf(config)) merged.set(name, value);
  }
  const type = typeOf(textOf(body['type']));
  if (body['target'] !== undefined && body['target'] !== null) {
    throw illegalArgument('No JSR-160 proxy is enabled');
  }
  const path = parsePath(textOf(body['path']));
  switch (type) {
    case 'read':
      return readRequest(textOf(body['mbean']), body['attribute'] ?? null, path, merged);
    case 'search':
      return searchRequest(textOf(body['mbean']), path, merged);
    case 'list':
      return listRequest(path, merged);
    case 'write':
      return writeRequest(textOf(body['mbean']), textOf(body['attribute']), body['value'] ?? null, path, merged);
    case 'exec': {
      const list = body['arguments'] ?? null;
      if (list !== null && !Array.isArray(list)) throw classCast(list, 'java.util.List');
      return execRequest(textOf(body['mbean']), textOf(body['operation']), list, path, merged);
    }
    default:
      return { type: 'version', echo: echo({ path: joinPath(path), type: 'version' }), options: merged };
  }
}

/** Splits at unescaped slashes and resolves `!x` to `x`. null: no path. A trailing slash adds nothing. */
function splitPath(path: string | null): string[] | null {
  if (path === null || path === '' || path === '/') return null;
  return bounded(splitEscaped(path, '!', '/'), STEPS_MAX, 'steps in its path');
}

function parsePath(path: string | null): PathStep[] | null {
  return splitPath(path)?.map(wildcard) ?? null;
}

export function joinPath(path: readonly PathStep[] | null): string | undefined {
  if (path === null || path.length === 0) return undefined;
  return path.map((step) => (step ?? '*').replaceAll('!', '!!').replaceAll('/', '!/')).join('/');
}

function readRequest(
  mbean: string | null,
  attribute: Json,
  path: PathStep[] | null,
  options: GatewayOptions,
): GatewayRequest {
  checkPath(path);
  const name = objectName(mbean);
  const { attributes, several } = attributeNames(attribute);
  return {
    type: 'read',
    name,
    attributes,
    several,
    path,
    options,
    echo: echo({
      path: joinPath(path),
      mbean: shownName(name, options),
      attribute:
        attributes === null || attributes.length === 0 ? undefined : attributes.length > 1 ? attributes : attributes[0],
      type: 'read',
    }),
  };
}

function searchRequest(mbean: string | null, path: PathStep[] | null, options: GatewayOptions): GatewayRequest {
  checkPath(path);
  const name = objectName(mbean);
  const shown = echo({ path: joinPath(path), mbean: shownName(name, options), type: 'search' });
  return { type: 'search', name, options, echo: shown };
}

function listRequest(path: PathStep[] | null, options: GatewayOptions): GatewayRequest {
  checkPath(path);
  return { type: 'list', path, options, echo: echo({ path: joinPath(path), type: 'list' }) };
}

function writeRequest(
  mbean: string | null,
  attribute: string | null,
  value: Json,
  path: PathStep[] | null,
  options: GatewayOptions,
): GatewayRequest {
  checkPath(path);
  const name = objectName(mbean);
  return {
    type: 'write',
    name,
    attribute,
    options,
    echo: echo({
      path: joinPath(path),
      mbean: shownName(name, options),
      attribute: attribute ?? undefined,
      type: 'write',
      value: value ?? undefined,
    }),
  };
}

function execRequest(
  mbean: string | null,
  operation: string | null,
  list: readonly Json[] | null,
  path: PathStep[] | null,
  options: GatewayOptions,
): GatewayRequest {
  checkPath(path);
  const name = objectName(mbean);
  return {
    type: 'exec',
    name,
    operation,
    options,
    echo: echo({
      path: joinPath(path),
      mbean: shownName(name, options),
      arguments: list === null || list.length === 0 ? undefined : list,
      type: 'exec',
      operation,
    }),
  };
}

/** Bean name as answers show it: patterns always canonical, others by the client's choice. */
export function shownName(name: ObjectName, options: GatewayOptions): string {
  return name.pattern || canonicalNaming(options) ? name.canonical : name.text;
}

function typeOf(text: string | null): string {
  if (text === null) throw illegalArgument('No type given');
  const type = text.toLowerCase();
  if (TYPES.has(type)) return type;
  if (UNSUPPORTED_TYPES.has(type)) {
    const shown = `Type ${type.toUpperCase()} is not supported (yet)`;
    throw new GatewayFailure(500, 'java.lang.UnsupportedOperationException', shown);
  }
  throw illegalArgument(`No type with name '${text}' exists`);
}

function objectName(text: string | null): ObjectName {
  if (text === null) throw illegalArgument('Objectname can not be null');
  try {
    return parseObjectName(text);
  } catch (error) {
    if (error instanceof MalformedName) throw illegalArgument(`Invalid object name. ${error.message}`);
    throw error;
  }
}

function attributeNames(attribute: Json): { attributes: readonly string[] | null; several: boolean } {
  if (attribute === null) return { attributes: null, several: false };
  if (typeof attribute === 'string') {
    const names = bounded(splitEscaped(attribute, '\\', ','), ATTRIBUTES_MAX, 'attributes');
    return { attributes: names, several: names.length > 1 };
  }
  if (Array.isArray(attribute)) {
    if (attribute.length === 1 && attribute[0] === null) return { attributes: null, several: false };
    return {
      attributes: bounded(attribute, ATTRIBUTES_MAX, 'attributes').map((name) => textOf(name) ?? 'null'),
      several: true,
    };
  }
  throw illegalArgument(
    `Attribute names must be either a String, Collection or null (and not class ${javaClass(attribute)})`,
  );
}

function bounded<T>(parts: T[], most: number, what: string): T[] {
  if (parts.length > most) throw illegalArgument(`A request may name ${most} ${what} at most`);
  return parts;
}

function checkPath(path: readonly PathStep[] | null): void {
  if (path !== null && path.length > 0 && path.at(-1) === null) {
    throw illegalArgument(`Path '${joinPath(path)}' must not end with a wildcard`);
  }
}

/** Leaves out what was not said. The order of keys is the one that clients have always seen. */
function echo(parts: Readonly<Record<string, Json | undefined>>): Json {
  const shown: Record<string, Json> = {};
  for (const [key, value] of Object.entries(parts)) if (value !== undefined) shown[key] = value;
  return shown;
}

function splitEscaped(text: string, escapeChar: string, delimiter: string): string[] {
  const parts: string[] = [];
  let part = '';
  for (let index = 0; index < text.length; index++) {
    const char = text[index]!;
    if (char === escapeChar && index + 1 < text.length) part += text[++index];
    else if (char === delimiter) {
      parts.push(part);
      part = '';
    } else part += char;
  }
  if (part !== '') parts.push(part);
  return parts;
}

const wildcard = (step: string): PathStep => (step === '*' ? null : step);

/** In a path, `[null]` stands for null and `""` for the empty text. */
function specialText(step: PathStep): PathStep {
  if (step === '[null]') return null;
  return step === '""' ? '' : step;
}

function textOf(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  throw classCast(value, 'java.lang.String');
}

function classCast(value: Json, target: string): GatewayFailure {
  return new GatewayFailure(
    500,
    'java.lang.ClassCastException',
    `class ${javaClass(value)} cannot be cast to class ${target} (${javaModules(javaClass(value), target)})`,
  );
}

/** Where Java finds the two classes; `target` is always one of its own. */
function javaModules(actual: string, target: string): string {
  const base = "in module java.base of loader 'bootstrap'";
  if (actual.startsWith('java.')) return `${actual} and ${target} are ${base}`;
  return `${actual} is in unnamed module of loader 'app'; ${target} is ${base}`;
}

function javaClass(value: Json): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'java.lang.Long' : 'java.lang.Double';
  if (typeof value === 'boolean') return 'java.lang.Boolean';
  if (typeof value === 'string') return 'java.lang.String';
  return Array.isArray(value) ? 'org.json.simple.JSONArray' : 'org.json.simple.JSONObject';
}
