// The listeners of the server: one for cleartext, one behind the TLS gate, or both. They answer alike, and share how many connections there
// may be.

import type { Settings } from '../schemas/config.ts';
import type { Access } from './access/access.ts';
import { wantsTls } from './config/check.ts';
import { boundHost, shownHost } from './hosts.ts';
import type { Mount, RequestRecord } from './http/exchange.ts';
import type { HttpLimits } from './http/limits.ts';
import { type Listener, type ListenerOptions, startListener } from './http/listener.ts';
import { startTlsGate, type TlsGate } from './http/tls-gate.ts';
import type { Logger, Logs } from './log.ts';
import { connectionsAllowed } from './system-limits.ts';

/** Milliseconds between two lines in the log about too many connections. */
const FULL_TOLD_MS = 60_000;
/** Milliseconds of a stop after which the log says what it waits for. */
const WAIT_TOLD_MS = 1000;

interface Served {
  readonly mounts: readonly Mount[];
  /** Who may ask what of them. */
  readonly access: Access;
  /** true until the server can serve. */
  readonly isStarting: () => boolean;
  /** Each request once, when it is over. */
  readonly onRequest: (record: RequestRecord) => void;
}

export class Listeners {
  readonly #settings: Settings;
  readonly #logs: Logs;
  readonly #log: Logger;
  #http: Listener | null = null;
  #https: Listener | null = null;
  #gate: TlsGate | null = null;
  /** Monotonic ms of the last line about too many connections. */
  #toldFull = Number.NEGATIVE_INFINITY;

  constructor(settings: Settings, logs: Logs) {
    this.#settings = settings;
    this.#logs = logs;
    this.#log = logs.area('main');
  }

  /** All or none: rejects when an address cannot be had, and `stop` ends what has begun. */
  async start({ mounts, access, isStarting, onRequest }: Served): Promise<void> {
    const settings = this.#settings;
    const count = (settings.http ? 1 : 0) + (wantsTls(settings) ? 1 : 0);
    const connectionsMax = Math.ceil(connectionsAllowed(settings) / count);
    const onFull = () => this.#tellFull(connectionsMax);
    const shared = {
      mounts: mounts.map((mount) => access.guard(mount)),
      isStarting,
      limits: { ...limitsOf(settings), connectionsMax },
      onFull,
      onRequest,
      onError: (error: unknown, method: string, path: string) => {
        this.#logs.area('http').error({ err: error, method, path }, 'a request failed unexpectedly');
      },
    } satisfies Partial<ListenerOptions>;
    if (settings.http) {
      const at = { host: boundHost(settings.httpHost), port: settings.httpPort };
      const start = () => startListener({ at, kind: 'http', ...shared });
      this.#http = await listening(at, 'http-host and http-port', start);
    }
    if (wantsTls(settings)) {
      const { refuseClient } = access;
      this.#https = await startListener({ at: 'accept', kind: 'https', refuseClient, ...shared });
      const gate = { ...settings, httpsHost: boundHost(settings.httpsHost) };
      const at = { host: gate.httpsHost, port: gate.httpsPort };
      const options = { settings: gate, listener: this.#https, log: this.#logs.area('tls'), connectionsMax, onFull };
      this.#gate = await listening(at, 'https-host and https-port', () => startTlsGate(options));
    }
  }

  #tellFull(max: number): void {
    if (performance.now() - this.#toldFull < FULL_TOLD_MS) return;
    this.#toldFull = performance.now();
    this.#log.warn(
      `a connection was closed: there are ${max}, as many as the system's limit of open files (ulimit -n, LimitNOFILE) has room for`,
    );
  }

  /** Addresses as clients write them; null: no such listener. */
  get httpUrl(): string | null {
    return this.#http === null ? null : `http://${shownHost(this.#settings.httpHost)}:${this.#http.port}`;
  }

  get httpsUrl(): string | null {
    return this.#gate === null ? null : `https://${shownHost(this.#settings.httpsHost)}:${this.#gate.port}`;
  }

  /** Real ports, of cleartext and HTTPS; undefined: no such listener. */
  get ports(): readonly [http: number | undefined, https: number | undefined] {
    return [this.#http?.port, this.#gate?.port];
  }

  /** Requests that are being answered. */
  get requestCount(): number {
    return (this.#http?.requestCount ?? 0) + (this.#https?.requestCount ?? 0);
  }

  get hasTls(): boolean {
    return this.#gate !== null;
  }

  /** Reads certificates anew, for new connections. Throws and keeps the old ones when they are of no use. */
  reloadTls(settings: Settings): void {
    this.#gate?.reload(settings);
  }

  /** From now on every answer is the last one of its connection. */
  endConnections(): void {
    for (const listener of [this.#http, this.#https]) listener?.endConnections();
  }

  /** No new connections; those that are answered get `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    const toTell = setTimeout(() => {
      const requests = this.requestCount;
      if (requests > 0) this.#log.info({ requests, ms: graceMs }, 'waiting for requests that are being answered');
    }, WAIT_TOLD_MS);
    try {
      const stops = [this.#gate?.stop(), this.#http?.stop(graceMs), this.#https?.stop(graceMs)] as const;
      const [, http = 0, https = 0] = await Promise.all(stops);
      const requests = http + https;
      if (requests > 0) this.#log.warn({ requests }, 'requests that had not ended are broken off');
    } finally {
      clearTimeout(toTell);
    }
  }
}

export function limitsOf({ headerMax, idleTimeout, gzip }: Settings): Partial<HttpLimits> {
  return { headBytesMax: headerMax, idleMs: idleTimeout, gzip };
}

const addressFailures: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is in use already',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'it may not be used without privileges',
  ENOTFOUND: 'there is no such host',
};

/** Starts a listener; a failure says which address and which settings it is about. */
async function listening<T>(
  { host, port }: { readonly host: string; readonly port: number },
  settings: string,
  start: () => Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const why = addressFailures[code] ?? message;
    throw new Error(`cannot listen on ${shownHost(host)}:${port} (${settings}): ${why}`, { cause: error });
  }
}
