// /status/v1: what load balancers, container health checks and dashboards ask. Two services are listed: the store
// (`puppetdb-status`) and the process (`status-service`, with figures of the process at level debug). The JSON is compact:
// health checks look for the text `"state":"running"`.
//
// `maintenance` can be asked for by name: what the scheduled clean-up did and will do. It is not listed, because clients
// take every listed service for a part of the reference server.

import { type FormValue, parseForm } from '../../engine/form.ts';
import { JSON_TYPE } from '../../engine/query/request.ts';
import type { Exchange, Mount } from '../http/exchange.ts';
import { isRead, textReply, unknownPath } from '../http/replies.ts';
import type { Json } from '../json.ts';
import type { ProcessFigures } from './metrics/process-figures.ts';

type ServiceState = 'running' | 'starting' | 'stopping' | 'error' | 'unknown';
type DetailLevel = 'critical' | 'info' | 'debug';

/** Where the process stands. */
export type Phase = 'starting' | 'running' | 'stopping';

export interface StoreHealth {
  /** Start-up is not complete. */
  readonly starting: boolean;
  readonly stopping: boolean;
  /** null: not known. */
  readonly queueDepth: number | null;
  readonly readable: boolean;
  readonly writable: boolean;
}

export interface StatusDeps {
  /** Version as clients of PuppetDB expect it (8.x). */
  readonly version: string;
  readonly health: () => Promise<StoreHealth>;
  readonly figures: ProcessFigures;
  /** State of the scheduled clean-up. */
  readonly maintenance: () => Json;
}

interface Report {
  readonly state: ServiceState;
  readonly status: Json;
}

interface Service {
  readonly name: string;
  readonly listed: boolean;
  report(level: DetailLevel): Promise<Report> | Report;
}

interface Query {
  readonly level: DetailLevel;
  readonly timeoutMs: number;
}

const STATUS_VERSION = 1;
const LEVELS: readonly string[] = ['critical', 'info', 'debug'];
/** Worst first: the state of the whole is the first of these that any service is in. */
const SEVERITY: readonly ServiceState[] = ['error', 'unknown', 'stopping', 'starting', 'running'];

/** A refused parameter: status 400 with `kind` and `msg`. */
class BadStatusQuery extends Error {
  readonly kind: string;
  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

const PREFIX = '/status/v1';

export function createStatusMounts(deps: StatusDeps): Mount[] {
  const pages = new StatusPages(deps);
  return [{ prefix: PREFIX, handler: (exchange) => pages.answer(exchange) }];
}

class StatusPages {
  readonly #services: readonly Service[];
  readonly #version: string;

  constructor(deps: StatusDeps) {
    this.#services = createServices(deps);
    this.#version = deps.version;
  }

  async answer(exchange: Exchange): Promise<void> {
    // Compared as sent: an escape is no part of a service's name here.
    const [, kind, name, ...rest] = exchange.path.slice(PREFIX.length).split('/');
    const isForm = kind === 'services' || kind === 'simple';
    if (!isRead(exchange) || !isForm || name === '' || rest.length > 0) return exchange.reply(unknownPath(exchange));
    const parameters = parseForm(exchange.queryString);
    try {
      if (kind === 'simple') await this.#simple(exchange, name, parameters);
      else if (name === undefined) await this.#all(exchange, parseQuery(parameters));
      else await this.#one(exchange, name, parameters);
    } catch (error) {
      if (!(error instanceof BadStatusQuery)) throw error;
      if (kind === 'simple') exchange.reply(textReply(400, error.message));
      else replyCompact(exchange, 400, { kind: error.kind, msg: error.message });
    }
  }

  async #all(exchange: Exchange, query: Query): Promise<void> {
    const listed = this.#services.filter((service) => service.listed);
    const reports = await Promise.all(listed.map((service) => ask(service, query)));
    const body: Record<string, Json> = {};
    for (const [index, service] of listed.entries()) body[service.name] = this.#entry(reports[index]!, query.level);
    replyCompact(exchange, httpStatus(worst(reports)), body);
  }

  async #one(exchange: Exchange, name: string, parameters: Parameters): Promise<void> {
    const service = this.#services.find((candidate) => candidate.name === name);
    if (service === undefined) {
      const msg = `No status information found for service ${name}`;
      return replyCompact(exchange, 404, { kind: 'service-not-found', msg });
    }
    const query = parseQuery(parameters);
    requireStatusVersion(parameters, name);
    const report = await ask(service, query);
    replyCompact(exchange, httpStatus(report.state), { ...this.#entry(report, query.level), service_name: name });
  }

  async #simple(exchange: Exchange, name: string | undefined, parameters: Parameters): Promise<void> {
    const wanted = this.#services.filter((service) => (name === undefined ? service.listed : service.name === name));
    if (wanted.length === 0) return exchange.reply(textReply(404, `not found: ${name}`));
    // It always asks at the level critical, whatever the client names.
    const query: Query = { level: 'critical', timeoutMs: timeoutOf(parameters, 'critical') };
    const state = worst(await Promise.all(wanted.map((service) => ask(service, query))));
    exchange.reply(textReply(httpStatus(state), state));
  }

  #entry({ state, status }: Report, level: DetailLevel): Record<string, Json> {
    return {
      service_version: this.#version,
      service_status_version: STATUS_VERSION,
      detail_level: level,
      state,
      status,
      active_alerts: [],
    };
  }
}

/** Throws BadStatusQuery when the client wants another version of a service's status than there is. */
function requireStatusVersion(parameters: Parameters, name: string): void {
  const wanted = single(parameters, 'service_status_version');
  if (wanted === null || (isInteger(wanted) && Number(wanted) === STATUS_VERSION)) return;
  if (!isInteger(wanted)) {
    throw new BadStatusQuery('data-invalid', `Invalid service_status_version. Should be an integer but was ${wanted}`);
  }
  const message = `No status function with version ${Number(wanted)} found for service ${name}`;
  throw new BadStatusQuery('service-status-version-not-found', message);
}

/** The whole status at level debug, for the periodic status log. */
export async function fullStatus(deps: StatusDeps): Promise<Json> {
  const query: Query = { level: 'debug', timeoutMs: 30_000 };
  const body: Record<string, Json> = {};
  for (const service of createServices(deps)) {
    const { state, status } = await ask(service, query);
    body[service.name] = { service_version: deps.version, detail_level: 'debug', state, status };
  }
  return body;
}

function createServices(deps: StatusDeps): readonly Service[] {
  return [
    { name: 'puppetdb-status', listed: true, report: async () => storeReport(await deps.health()) },
    {
      name: 'status-service',
      listed: true,
      report: (level) => ({
        state: 'running',
        status: level === 'debug' ? { experimental: { 'jvm-metrics': processReport(deps.figures) } } : {},
      }),
    },
    { name: 'maintenance', listed: false, report: () => ({ state: 'running', status: deps.maintenance() }) },
  ];
}

function storeReport(health: StoreHealth): Report {
  const { starting, stopping, queueDepth, readable, writable } = health;
  const up = readable && writable;
  return {
    state: starting ? 'starting' : stopping ? 'stopping' : up ? 'running' : 'error',
    status: {
      'maintenance_mode?': starting,
      queue_depth: queueDepth,
      'read_db_up?': readable,
      'write_db_up?': writable,
      'write_dbs_up?': writable,
      write_db: { default: { 'up?': writable } },
    },
  };
}

function processReport(figures: ProcessFigures): Json {
  const { usage: cpuUsage, collection: gcUsage } = figures.processor();
  const { count, peak } = figures.threads();
  const { used, max } = figures.descriptors();
  const buffers = figures.buffers();
  const pools: Record<string, Json> = {};
  for (const { name, usage } of figures.pools()) pools[name] = { type: 'HEAP', usage: { ...usage } };
  const collectors: Record<string, Json> = {};
  for (const { name, count: runs, totalMs, lastMs } of figures.collectors()) {
    collectors[name] = {
      count: runs,
      'total-time-ms': Math.round(totalMs),
      'last-gc-info': { 'duration-ms': Math.round(lastMs ?? 0) },
    };
  }
  return {
    'cpu-usage': cpuUsage,
    'up-time-ms': figures.uptimeMs(),
    'memory-pools': pools,
    'gc-cpu-usage': gcUsage,
    threading: { 'thread-count': count, 'peak-thread-count': peak },
    'heap-memory': { ...figures.heap() },
    'gc-stats': collectors,
    'start-time-ms': figures.startTimeMs(),
    'file-descriptors': { used, max },
    'non-heap-memory': { ...figures.nonHeap() },
    'nio-buffer-pools': {
      direct: { count: buffers.count, 'memory-used': buffers.used, 'total-capacity': buffers.used },
    },
  };
}

/** A service that fails or takes too long is in state unknown, with the reason as its status. */
async function ask(service: Service, query: Query): Promise<Report> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Report>((resolve) => {
    timer = setTimeout(() => {
      resolve({
        state: 'unknown',
        status: `Status check timed out after ${query.timeoutMs / 1000} seconds`,
      });
    }, query.timeoutMs);
  });
  try {
    return await Promise.race([service.report(query.level), late]);
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { state: 'unknown', status: `Status check for ${service.name} threw an exception: ${reason}` };
  } finally {
    clearTimeout(timer);
  }
}

type Parameters = ReadonlyMap<string, FormValue>;

/** A parameter that was sent once; null: it was not, or several times. */
function single(parameters: Parameters, name: string): string | null {
  const value = parameters.get(name);
  return typeof value === 'string' ? value : null;
}

function parseQuery(parameters: Parameters): Query {
  const level = single(parameters, 'level') ?? 'info';
  if (!LEVELS.includes(level)) throw new BadStatusQuery('data-invalid', `Invalid level: :${level}`);
  return { level: level as DetailLevel, timeoutMs: timeoutOf(parameters, level as DetailLevel) };
}

/** Milliseconds. */
function timeoutOf(parameters: Parameters, level: DetailLevel): number {
  const timeout = single(parameters, 'timeout');
  if (timeout !== null && !isInteger(timeout)) {
    throw new BadStatusQuery('data-invalid', `Invalid timeout. Should be an integer but was ${timeout}`);
  }
  if (timeout !== null && Number(timeout) <= 0) {
    throw new BadStatusQuery(
      'data-invalid',
      `Invalid timeout. Timeout must be greater than zero but was ${Number(timeout)}`,
    );
  }
  const seconds = timeout === null ? (level === 'critical' ? 30 : 60) : Math.min(Number(timeout), 86_400);
  return seconds * 1000;
}

/** One of 32 bits. */
const isInteger = (text: string): boolean => /^[+-]?\d{1,18}$/.test(text) && Math.abs(Number(text)) < 2 ** 31;
const httpStatus = (state: ServiceState): number => (state === 'running' ? 200 : 503);

function worst(reports: readonly Report[]): ServiceState {
  return SEVERITY.find((state) => reports.some((report) => report.state === state)) ?? 'running';
}

function replyCompact(exchange: Exchange, status: number, body: Json): void {
  exchange.reply({ status, contentType: JSON_TYPE, body: JSON.stringify(body) });
}
