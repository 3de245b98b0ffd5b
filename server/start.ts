// The composition root: puts the server together and takes it apart. Starting: the listener (which answers 503 below /pdb,
// and the status) beside ring (which locks the data directory) and query pool; timers; then `running`. Stopping goes the
// other way: for a while requests are served as before, but the status says it and each answer ends its connection, where load
// balancers are to see that; then no new connections, running requests finish, timers, queries; the ring commits what it holds
// and gives the lock back.
//
//   listener --mounts--> routes ----> ring  (commands)        workers/ring/ring.ts
//                        ops   \----> pool  (queries)         workers/queries/query-pool.ts
//   TLS gate --accept--> listener

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { QuerySettings } from '../engine/query/request.ts';
import { type Settings, settingEntries, settingRows } from '../schemas/config.ts';
import type { MetricsRegistry } from '../workers/metrics.ts';
import type { ThreadQueryPool } from '../workers/queries/query-pool.ts';
import type { QueryPool } from '../workers/types.ts';
import { Access, type AccessOptions } from './access/access.ts';
import { allowlistOf } from './access/allowlist.ts';
import type { AccessLog } from './access-log.ts';
import { logLevelsOf, wantsTls } from './config/check.ts';
import type { Configuration } from './config/load.ts';
import { DeferredRing } from './deferred.ts';
import type { Mount, RequestRecord } from './http/exchange.ts';
import { warmUpFrontEnd } from './http/warm-up.ts';
import { Listeners, limitsOf } from './listeners.ts';
import type { Logger, Logs } from './log.ts';
import { createHttpRecorder } from './ops/metrics/http-recorder.ts';
import { createOps, type Ops } from './ops/ops.ts';
import type { Phase } from './ops/status.ts';
import { withQueryLog } from './query-log.ts';
import { countRestart, removePorts, writePorts } from './ready-files.ts';
import { createMounts } from './routes/mounts.ts';
import { startThreads } from './threads.ts';
import type { ThreadsAhead } from './threads-ahead.ts';

/** What clients are told: they refuse to work with a PuppetDB that is too old for them. */
const PUPPETDB_VERSION = '8.8.1';

export interface Server {
  /** Addresses as clients write them; null: no such listener. */
  readonly httpUrl: string | null;
  readonly httpsUrl: string | null;
  /** Opens the log files by their names again: they may have been renamed. */
  reopenLogs(): void;
  /** Writes the full status to the log. */
  tellStatus(): void;
  /**
   * Takes over what can change while running: log levels, certificates, allowlist, rules. Throws and keeps
   * everything as it was when something in the new configuration is of no use.
   */
  reload(configuration: Configuration): void;
  /** Stops in order; running requests get the configured time. Safe to call twice. */
  stop(): Promise<void>;
}

/** Rejects when it cannot start; nothing is left running then. */
export async function startServer(
  configuration: Configuration,
  logs: Logs,
  accessLog: AccessLog | null,
  ahead: ThreadsAhead,
): Promise<Server> {
  let server: RunningServer | null = null;
  try {
    server = new RunningServer(configuration, logs, accessLog, ahead);
    await server.start();
    return server;
  } catch (error) {
    logs.area('main').error({ err: error }, 'the server could not start');
    await (server?.undo() ?? ahead.pool.stop());
    throw error;
  }
}

/** Milliseconds without a request after which the server may work for itself. Clients that poll ask more often. */
const QUIET_MS = 2000;

class RunningServer implements Server {
  #configuration: Configuration;
  readonly #logs: Logs;
  readonly #log: Logger;
  readonly #ahead: ThreadsAhead;
  readonly #registry: MetricsRegistry;
  readonly #ring = new DeferredRing();
  readonly #pool: ThreadQueryPool;
  readonly #access: Access;
  readonly #accessLog: AccessLog | null;
  readonly #ops: Ops;
  readonly #recordHttp: (record: RequestRecord) => void;
  readonly #listeners: Listeners;
  #phase: Phase = 'starting';
  #stopThreads: (() => void) | null = null;
  #ownsPortFile = false;
  /** Monotonic ms of the end of the last request. */
  #lastRequest = Number.NEGATIVE_INFINITY;
  readonly #warmUpEnd = new AbortController();
  #stopped: Promise<void> | null = null;

  constructor(configuration: Configuration, logs: Logs, accessLog: AccessLog | null, ahead: ThreadsAhead) {
    const { settings } = configuration;
    this.#configuration = configuration;
    this.#logs = logs;
    this.#ahead = ahead;
    this.#registry = ahead.registry;
    this.#pool = ahead.pool;
    this.#log = logs.area('main');
    this.#access = new Access(accessOptions(configuration, logs));
    this.#accessLog = accessLog;
    this.#listeners = new Listeners(settings, logs);
    this.#recordHttp = createHttpRecorder(this.#registry);
    this.#ops = createOps({
      ring: this.#ring,
      // Its questions are no clients' queries, so not for the query log.
      pool: this.#pool,
      ownPool: this.#pool.own,
      busyQueries: () => this.#pool.busyQueries,
      registry: this.#registry,
      settings,
      querySettings: () => ({ ...querySettingsOf(settings), now: Date.now() }),
      clock: Date.now,
      random: Math.random,
      uuid: randomUUID,
      log: logs.area('maintenance'),
      storeLog: logs.area('store'),
      version: PUPPETDB_VERSION,
      phase: () => this.#phase,
    });
  }

  get httpUrl(): string | null {
    return this.#listeners.httpUrl;
  }

  get httpsUrl(): string | null {
    return this.#listeners.httpsUrl;
  }

  async start(): Promise<void> {
    const { settings } = this.#configuration;
    // These, and the one at the stop, are what scripts look for in PuppetDB's log: they keep its name.
    this.#log.info(`PuppetDB version ${PUPPETDB_VERSION}`);
    this.#log.info('Starting PuppetDB, entering maintenance mode');
    this.#log.info('Ensuring default database is up to date');
    const threads = startThreads({ settings, ahead: this.#ahead, logs: this.#logs }).then(({ ring, stop }) => {
      this.#ring.attach(ring);
      this.#stopThreads = stop;
      // No other process has the directory now: the file is of one that was killed, and from here on this one's.
      this.#ownsPortFile = true;
      removePorts(settings.portFile);
      void this.#pool.warmedUp.then(() => this.#warmUp(this.#pool.uncounted));
    });
    // All or nothing: what one of them has started is stopped when the other fails, so both are waited for.
    const results = await Promise.allSettled([threads, this.#startListeners()]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    this.#ops.start();
    this.#phase = 'running';
    this.#log.info('PuppetDB finished starting, disabling maintenance mode');
    writePorts(settings.portFile, this.#listeners.ports);
    countRestart(settings.restartFile);
  }

  async #startListeners(): Promise<void> {
    await this.#listeners.start({
      mounts: this.#mounts(this.#configuration.settings),
      access: this.#access,
      isStarting: () => this.#phase === 'starting',
      onRequest: (record) => this.#onRequest(record),
    });
  }

  /** Warms the front end up, and ends by itself. Not before the server is running. */
  async #warmUp(pool: QueryPool): Promise<void> {
    const { settings } = this.#configuration;
    const answered = await warmUpFrontEnd({
      mounts: this.#routes(settings, pool),
      limits: limitsOf(settings),
      isQuiet: () => this.#isQuiet(),
      signal: this.#warmUpEnd.signal,
    });
    this.#log.debug({ requests: answered }, 'warmed up');
  }

  #isQuiet(): boolean {
    return (
      this.#listeners.requestCount === 0 && this.#ring.depth === 0 && performance.now() - this.#lastRequest >= QUIET_MS
    );
  }

  #mounts(settings: Settings): Mount[] {
    return [...this.#routes(settings, this.#queryPool()), ...this.#ops.mounts];
  }

  #routes(settings: Settings, pool: QueryPool): Mount[] {
    return createMounts({
      ring: this.#ring,
      pool,
      querySettings: () => querySettingsOf(settings),
      queryBodyMax: settings.queryBodyMax,
      commands: {
        rejectLarge: settings.rejectLargeCommands,
        sizeMax: settings.commandMax,
        bodyMax: settings.bodyMax,
        verifyChecksum: settings.verifyChecksum,
        decompressedMax: settings.decompressedMax,
      },
      version: PUPPETDB_VERSION,
      isStarting: () => this.#phase === 'starting',
      now: Date.now,
      uuid: randomUUID,
    });
  }

  #queryPool(): QueryPool {
    const { logQueries, slowQuery } = this.#configuration.settings;
    const log = this.#logs.area('query');
    return withQueryLog(this.#pool, { log, all: logQueries, slowMs: slowQuery, uuid: randomUUID });
  }

  #onRequest(record: RequestRecord): void {
    this.#lastRequest = performance.now();
    this.#recordHttp(record);
    this.#accessLog?.write(record);
    const log = this.#logs.area('http');
    if (!log.isLevelEnabled('debug')) return;
    const { method, path, status, bytes, elapsedMs, remoteAddress, clientName } = record;
    log.debug(
      { method, path, status, bytes, ms: Math.round(elapsedMs), address: remoteAddress, clientName },
      'request',
    );
  }

  tellStatus(): void {
    this.#ops.tellStatus();
  }

  reopenLogs(): void {
    for (const log of [this.#logs, this.#accessLog]) {
      try {
        log?.reopen();
      } catch (error) {
        this.#log.error(`a log file cannot be opened again, what it was before goes on: ${(error as Error).message}`);
      }
    }
  }

  reload(configuration: Configuration): void {
    const access = accessOptions(configuration, this.#logs);
    const keepsTls = wantsTls(configuration.settings) === this.#listeners.hasTls;
    if (keepsTls) this.#listeners.reloadTls(configuration.settings);
    this.#access.replace(access);
    this.#logs.setLevels(logLevelsOf(configuration.settings));
    const fixed = fixedChanges(this.#configuration.settings, configuration.settings);
    if (!keepsTls) fixed.push(...TLS_NAMES);
    if (fixed.length > 0) this.#log.warn({ settings: fixed }, 'these settings take effect after a restart');
    try {
      countRestart(this.#configuration.settings.restartFile);
    } catch (error) {
      // What was taken over stays in force; only whoever waits for the counter does not hear of it.
      this.#log.error({ err: error }, 'the restart file cannot be written');
    }
    this.#log.info('configuration read again');
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { stopDelay } = this.#configuration.settings;
    this.#beginStop();
    this.#log.info('Shutdown request received; puppetdb exiting.');
    if (stopDelay > 0) {
      this.#log.info({ ms: stopDelay }, 'requests are served before that, with the status stopping');
      this.#listeners.endConnections();
      await pause(stopDelay);
    }
    await this.undo();
  }

  #beginStop(): void {
    this.#phase = 'stopping';
    if (this.#ownsPortFile) removePorts(this.#configuration.settings.portFile);
  }

  /** Takes apart what the start has put together, as far as it got: all of a stop but the delay that is for clients. */
  async undo(): Promise<void> {
    const { stopTimeout: graceMs } = this.#configuration.settings;
    if (this.#phase !== 'stopping') this.#beginStop();
    this.#stopThreads?.();
    this.#warmUpEnd.abort();
    const steps: readonly (readonly [what: string, stop: () => Promise<unknown>])[] = [
      // First: who asked for it can still be answered.
      ['maintenance', () => this.#ops.stop()],
      ['listeners', () => this.#listeners.stop(graceMs)],
      ['query pool', () => this.#pool.stop()],
      ['ring', () => this.#ring.stop()],
    ];
    for (const [what, stop] of steps) {
      const began = performance.now();
      await stop();
      this.#log.debug({ ms: Math.round(performance.now() - began) }, `stopped: ${what}`);
    }
    await this.#accessLog?.end();
    this.#log.info('stopped');
    await this.#logs.end();
  }
}

function querySettingsOf(settings: Settings): Omit<QuerySettings, 'now'> {
  return {
    nodePurgeTtl: settings.nodePurgeTtl,
    addAgentReportFilter: settings.addAgentReportFilter,
    edition: settings.edition,
    vocabulary: settings.vocabulary,
    prettyPrint: settings.prettyPrint,
    timeoutDefault: settings.queryTimeoutDefault,
    timeoutMax: settings.queryTimeoutMax,
    queryDepthMax: settings.queryDepthMax,
    regexBudget: settings.regexBudget,
    // The thread's clock and the log's begin at different moments: a plan too many costs less than one missing.
    planAfter: Math.ceil(settings.slowQuery / 2),
  };
}

function accessOptions({ settings, rules }: Configuration, logs: Logs): AccessOptions {
  return { allowlist: allowlistOf(settings), rules, log: logs.area('tls') };
}

/** What makes an HTTPS listener, which only a start does. */
const TLS_NAMES = [settingRows.sslCert.name, settingRows.sslKey.name, settingRows.sslCaCert.name];

/** Names of the settings that differ and that a reload does not take over. */
function fixedChanges(before: Settings, after: Settings): string[] {
  return settingEntries
    .filter(([key, { reloaded }]) => !reloaded && JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    .map(([, { name }]) => name);
}
