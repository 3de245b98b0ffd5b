// Carries out requests of the metrics gateway on the bean server: read, search, list, version. Writing and executing are
// refused by policy, whatever the bean. Every answer is an object with a status of its own; nothing here throws.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../../engine/reason.ts';
import { isJsonMap, type Json } from '../../json.ts';
import type { Bean, BeanServer } from './bean-server.ts';
import { extract, type Limits } from './extract.ts';
import { type ObjectName, parseObjectName } from './object-name.ts';
import {
  canonicalNaming,
  GatewayFailure,
  type GatewayOptions,
  type GatewayRequest,
  illegalArgument,
  joinPath,
  numberOption,
  type PathStep,
  parseGet,
  parsePost,
  shownName,
} from './request.ts';

export interface GatewayDeps {
  readonly beans: BeanServer;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** What `version` tells about the agent and its server. */
  readonly version: { readonly [key: string]: Json };
}

/**
 * What one list of requests may ask for: requests, and beans that they look at. The answer is made on the main thread and
 * held whole.
 */
export const REQUESTS_MAX = 1000;
const VISITS_MAX = 5000;
/** Beans that are looked at in one turn of the event loop: some milliseconds. */
const VISITS_A_TURN = 50;
/** To compare so many names with a pattern takes as long as to look at one bean. */
const NAMES_A_VISIT = 10;

const tooMuch = (): GatewayFailure => illegalArgument(`The list of requests looks at more than ${VISITS_MAX} MBeans`);

type ReadRequest = Extract<GatewayRequest, { type: 'read' }>;

/** The list is unchanged since the time the client named. */
const unchanged = Symbol('unchanged');

export class Gateway {
  readonly #deps: GatewayDeps;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
  }

  /** `path`: what follows `/metrics/v2`, percent-decoded; `alternative`: the `p` parameter. */
  async get(path: string, alternative: string | null, options: GatewayOptions): Promise<Json> {
    try {
      return await this.#execute(parseGet(path, alternative, options));
    } catch (error) {
      return failure(error, null);
    }
  }

  async post(text: string, options: GatewayOptions): Promise<Json> {
    try {
      const body = parseBody(text);
      if (Array.isArray(body)) return await this.#executeAll(parseAll(body, options));
      if (isJsonMap(body)) return await this.#execute(parsePost(body, options));
      throw illegalArgument(`Invalid JSON Request ${body}`);
    } catch (error) {
      return failure(error, null);
    }
  }

  async #executeAll(requests: readonly GatewayRequest[]): Promise<Json> {
    const answers: Json[] = [];
    const giveTurn = turnsByVisits();
    let visits = 0;
    for (const request of requests) {
      // Beyond the bound all that follow are refused: nothing is counted any more.
      const found = visits > VISITS_MAX ? [] : this.#foundBy(request);
      const more = visits > VISITS_MAX ? 0 : this.#visitsOf(request, found);
      visits += more;
      answers.push(visits > VISITS_MAX ? failure(tooMuch(), request.echo) : await this.#execute(request, found));
      await giveTurn(more);
    }
    return answers;
  }

  async #execute(request: GatewayRequest, found: readonly Bean[] = this.#foundBy(request)): Promise<Json> {
    try {
      const value = await this.#valueFor(request, found);
      const timestamp = Math.floor(this.#deps.clock() / 1000);
      if (value === unchanged) return { request: request.echo, timestamp, status: 304 };
      return { request: request.echo, value, timestamp, status: 200 };
    } catch (error) {
      return failure(error, request.echo);
    }
  }

  async #valueFor(request: GatewayRequest, found: readonly Bean[]): Promise<Json | typeof unchanged> {
    switch (request.type) {
      case 'version':
        return extract(this.#deps.version, [], limitsOf(request.options));
      case 'read':
        return this.#read(request, found);
      case 'search': {
        if (this.#isUnchanged(request.options)) return unchanged;
        const names = found.map((bean) => shownName(bean.name, request.options));
        return extract(names, [], limitsOf(request.options));
      }
      case 'list':
        return this.#isUnchanged(request.options) ? unchanged : this.#list(request.path, request.options);
      case 'write':
        throw forbidden(`Writing attribute ${request.attribute} forbidden for MBean ${request.name.canonical}`);
      case 'exec':
        throw forbidden(`Operation ${request.operation} forbidden for MBean ${request.name.canonical}`);
    }
  }

  /** Beans that a search, or a pattern, stands for. */
  #foundBy(request: GatewayRequest): readonly Bean[] {
    const isSought = request.type === 'search' || ('name' in request && request.name.pattern);
    return isSought ? this.#deps.beans.query(request.name) : [];
  }

  /** Beans that are looked at, and what finding them takes. */
  #visitsOf(request: GatewayRequest, found: readonly Bean[]): number {
    const { beans } = this.#deps;
    if (request.type === 'list') return beans.size;
    if (!('name' in request && request.name.pattern)) return 1;
    return found.length + Math.ceil(beans.size / NAMES_A_VISIT);
  }

  #isUnchanged(options: GatewayOptions): boolean {
    return !this.#deps.beans.changedSince(numberOption(options, 'ifModifiedSince'));
  }

  async #read(request: ReadRequest, found: readonly Bean[]): Promise<Json> {
    return extract(await this.#readValue(request, found), request.path ?? [], limitsOf(request.options));
  }

  async #readValue(request: ReadRequest, found: readonly Bean[]): Promise<Json> {
    if (request.name.pattern) return this.#readPattern(request, found);
    const bean = this.#deps.beans.find(request.name);
    if (bean === undefined) throw notFound(request.name.text);
    const [only] = request.attributes ?? [];
    if (only !== undefined && !request.several) return readAttribute(bean, only);
    return readAttributes(bean, request.attributes, request.options);
  }

  async #readPattern(request: ReadRequest, found: readonly Bean[]): Promise<Json> {
    if (found.length === 0) {
      throw notFound(`No MBean with pattern ${request.name.text} found for reading attributes`);
    }
    const result: Record<string, Json> = {};
    for (const bean of found) {
      const wanted = request.attributes?.filter((name) => bean.info.attributes.some((row) => row.name === name));
      if (wanted?.length === 0 && request.attributes!.length > 0) continue;
      const values = await readAttributes(bean, wanted ?? null, request.options);
      if (Object.keys(values).length > 0) result[shownName(bean.name, request.options)] = values;
    }
    if (Object.keys(result).length === 0) {
      const names = request.attributes === null ? 'null' : `[${request.attributes.join(', ')}]`;
      const where = found.map((bean) => bean.name.text).join(', ');
      throw illegalArgument(`No matching attributes ${names} found on MBeans [${where}]`);
    }
    return result;
  }

  #list(path: readonly PathStep[] | null, options: GatewayOptions): Json {
    const depth = numberOption(options, 'maxDepth');
    const value = path === null ? this.#listAll(options) : this.#listPath(path, options);
    return depth === 0 || !isJsonMap(value) ? value : truncated(value, depth);
  }

  #listAll(options: GatewayOptions): Json {
    const domains: Record<string, Record<string, Json>> = {};
    for (const bean of this.#deps.beans.all()) {
      (domains[bean.name.domain] ??= {})[propertiesOf(bean.name, options)] = describe(bean);
    }
    return domains;
  }

  #listPath(path: readonly PathStep[], options: GatewayOptions): Json {
    const [domain, properties, what, filter, ...surplus] = path;
    if (properties === undefined) {
      const pattern = listName(`${domain}:*`, path);
      const found: Record<string, Json> = {};
      for (const bean of this.#deps.beans.query(pattern)) found[propertiesOf(bean.name, options)] = describe(bean);
      return found;
    }
    const name = listName(`${domain}:${properties}`, path);
    if (name.pattern) throw illegalArgument(`Cannot use an MBean pattern as path (given MBean: ${name.text})`);
    const bean = this.#deps.beans.find(name);
    if (bean === undefined) throw illegalArgument(`No MBean '${name.text}' found`);
    if (what === undefined) return describe(bean);
    if (surplus.length > 0 || (filter !== undefined && (what === 'class' || what === 'desc'))) {
      const extra = (what === 'class' || what === 'desc' ? [filter, ...surplus] : surplus).reverse().join(', ');
      throw illegalArgument(`Path contains extra elements not usable for a list request: [${extra}]`);
    }
    if (what === null || !['attr', 'op', 'class', 'desc', 'not'].includes(what)) {
      throw illegalArgument(`Illegal path element ${what}`);
    }
    const part = describe(bean)[what];
    if (filter === undefined) return part ?? {};
    const one = isJsonMap(part) && filter !== null && Object.hasOwn(part, filter) ? part[filter] : undefined;
    if (one === undefined) throw illegalArgument('Path given but extracted value is empty');
    return one;
  }
}

/** To be awaited between requests of a list, with the beans that were looked at: others have their turns now and then. */
export function turnsByVisits(): (visits: number) => Promise<void> | undefined {
  let left = VISITS_A_TURN;
  return (visits) => {
    left -= visits;
    if (left > 0) return;
    left = VISITS_A_TURN;
    return nextTurn();
  };
}

/** Bean map of one bean's attributes; null reads all of them. */
async function readAttributes(
  bean: Bean,
  names: readonly string[] | null,
  options: GatewayOptions,
): Promise<Record<string, Json>> {
  const wanted = names === null || names.length === 0 ? bean.info.attributes.map((row) => row.name) : names;
  const reader = bean.reader();
  const values: Record<string, Json> = {};
  for (const name of wanted) {
    try {
      const value = await reader(name);
      if (value === undefined) throw noAttribute(name);
      values[name] = value;
    } catch (error) {
      if (!ignoresErrors(options)) throw error;
      const { className, text } = asFailure(error);
      values[name] = `ERROR: ${text} (class ${className})`;
    }
  }
  return values;
}

async function readAttribute(bean: Bean, name: string): Promise<Json> {
  const value = await bean.reader()(name);
  if (value === undefined) throw noAttribute(name);
  return value;
}

function describe(bean: Bean): Record<string, Json> {
  const op: Record<string, Json> = {};
  for (const { name, returns, description } of bean.info.operations) {
    op[name] = { args: [], ret: returns, desc: description };
  }
  const attr: Record<string, Json> = {};
  for (const { name, type, description } of bean.info.attributes) attr[name] = { rw: false, type, desc: description };
  return {
    ...(bean.info.operations.length > 0 && { op }),
    ...(bean.info.attributes.length > 0 && { attr }),
    class: bean.info.className,
    desc: bean.info.description,
  };
}

function listName(text: string, path: readonly PathStep[]): ObjectName {
  try {
    return parseObjectName(text);
  } catch {
    throw illegalArgument(`Invalid path within the MBean part given. (Path: ${joinPath(path)})`);
  }
}

function propertiesOf(name: ObjectName, options: GatewayOptions): string {
  return canonicalNaming(options) ? name.canonicalProperties : name.text.slice(name.domain.length + 1);
}

const limitsOf = (options: GatewayOptions): Limits => ({
  depth: numberOption(options, 'maxDepth'),
  collection: numberOption(options, 'maxCollectionSize'),
  objects: numberOption(options, 'maxObjects'),
});

/** Maps below the given depth become the text 1. */
function truncated(value: Json, depth: number): Json {
  if (!isJsonMap(value)) return value;
  if (depth === 0) return '1';
  const shown: Record<string, Json> = {};
  for (const [key, inner] of Object.entries(value)) shown[key] = truncated(inner, depth - 1);
  return shown;
}

function parseBody(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // The reference shows its reader's identity here; clients only look at what is in front of it.
    throw illegalArgument('Invalid JSON request java.io.InputStreamReader@0');
  }
}

function parseAll(list: readonly Json[], options: GatewayOptions): GatewayRequest[] {
  if (list.length > REQUESTS_MAX) throw illegalArgument(`A list may have ${REQUESTS_MAX} requests at most`);
  return list.map((member) => {
    if (isJsonMap(member)) return parsePost(member, options);
    const shown = JSON.stringify(list);
    const found = typeof member === 'string' ? member : JSON.stringify(member);
    throw illegalArgument(`Not a request within the list of requests ${shown}. Expected map, but found: ${found}`);
  });
}

function failure(error: unknown, echo: Json | null): Json {
  const { className, text, status } = asFailure(error);
  return {
    ...(echo !== null && { request: echo }),
    error_type: className,
    error: text === null ? className : `${className} : ${text}`,
    status,
  };
}

/** Anything that is not ours comes from an attribute that could not be read. */
function asFailure(error: unknown): GatewayFailure {
  if (error instanceof GatewayFailure) return error;
  return new GatewayFailure(500, 'java.lang.RuntimeException', messageOf(error));
}

const ignoresErrors = (options: GatewayOptions): boolean => /^(true|yes|on|1)$/.test(options.get('ignoreErrors') ?? '');
const forbidden = (text: string): GatewayFailure => new GatewayFailure(403, 'java.lang.Exception', text);
const notFound = (text: string): GatewayFailure =>
  new GatewayFailure(404, 'javax.management.InstanceNotFoundException', text);
const noAttribute = (name: string): GatewayFailure =>
  new GatewayFailure(404, 'javax.management.AttributeNotFoundException', `No such attribute: ${name}`);
