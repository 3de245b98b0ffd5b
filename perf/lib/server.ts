// The server that is measured: the real program on a data directory of its own and a free port, or one that runs already,
// Muster or PuppetDB, given by its address and the processes that make it up.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { atExit } from './at-exit.ts';
import { type Certificates, type Identity, identityOf, keyKinds, makeCertificates } from './certificates.ts';
import { Client, type Target } from './client.ts';
import { describeMachine } from './machine.ts';
import { type Given, type OptionTable, UsageError } from './options.ts';
import { Processes } from './processes.ts';

/**
 * The generated fleets report at fixed times, so nothing may expire by the clock: no maintenance runs, and events are
 * stored whatever their age.
 */
const STEADY = ['--gc-interval', '0', '--report-ttl', '36500d', '--slow-query', '0s'];
const START_MAX_MS = 120_000;

/** The project's folder, from the sources and from dist alike. */
export const projectDir: string = (() => {
  let dir = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(dir, 'package.json'))) dir = dirname(dir);
  return dir;
})();

export interface Server extends Target {
  readonly processes: Processes;
  /** Where it keeps what it has stored, and what it has only accepted; empty when that is not known. */
  readonly dirs: readonly string[];
  readonly logDirs: readonly string[];
  /** Milliseconds from the start of the program until its status is `running`, which takes the answer to a query; NaN when it ran already. */
  readonly startMs: number;
  stop(): Promise<void>;
}

interface StartOptions {
  /** Data directory to keep; default: one that goes away with the server. */
  readonly data?: string | null;
  /** Arguments of node itself. */
  readonly nodeArgs?: readonly string[];
  /** Further arguments of `muster start`. */
  readonly args?: readonly string[];
  /** The kind of keys (certificates.ts) where it is asked over TLS; null: over plain HTTP. */
  readonly tls?: readonly string[] | null;
}

/** Options of programs that can measure a server that runs already. */
export const serverOptions = {
  url: { value: 'URL', doc: 'measure the server there instead of starting one; it should be empty' },
  pid: {
    value: 'PID',
    multiple: true,
    doc: 'process (with its children) that is part of that server; may be repeated',
  },
  disk: { value: 'DIR', multiple: true, doc: 'folder where that server keeps its data; may be repeated' },
  tls: {
    value: null,
    doc: 'ask the started server over HTTPS, with a certificate, as compile servers do (needs openssl)',
  },
  'tls-key': {
    value: 'KIND',
    default: 'rsa:4096',
    doc: `keys of the certificates: ${Object.keys(keyKinds).join(', ')}`,
  },
  ca: { value: 'FILE', doc: 'authority of the certificates, where --url is https' },
  cert: { value: 'FILE', doc: 'certificate to come with there' },
  key: { value: 'FILE', doc: 'its key' },
  data: { value: 'DIR', doc: 'data directory of the started server, which is kept (default: a temporary one)' },
  profile: {
    value: 'DIR',
    doc: 'CPU profiles of all its threads go there, and a table of where the time goes is printed',
  },
  'server-arg': { value: 'ARG', multiple: true, doc: 'further argument of `muster start`; may be repeated' },
} as const satisfies OptionTable;

/** The machine, and over what the server is asked, in a line. */
export const describeRun = (given: Given): string => [describeMachine(), ...overTls(given)].join(', ');

function overTls(given: Given): string[] {
  if (given.flag('tls')) return [`over HTTPS (keys ${given.text('tls-key')})`];
  return given.text('url')?.startsWith('https:') ? ['over HTTPS'] : [];
}

/** The server that the arguments ask for. */
export async function serverFor(given: Given): Promise<Server> {
  const url = given.text('url');
  if (url === null) {
    const profile = given.text('profile');
    const nodeArgs = profile === null ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
    const args = given.list('server-arg');
    return startServer({ data: given.text('data'), nodeArgs, args, tls: keysFor(given) });
  }
  if (given.flag('tls'))
    throw new UsageError('--tls is for a server that is started; --url says how another one is asked');
  const { protocol } = URL.canParse(url) ? new URL(url) : { protocol: '' };
  if (!/^https?:$/.test(protocol)) throw new UsageError(`--url takes the address of a server, not '${url}'`);
  for (const [name, kept] of [
    ['pid', given.list('pid').map((pid) => `/proc/${Number(pid)}`)],
    ['disk', given.list('disk')],
  ] as const) {
    const missing = kept.find((path) => !existsSync(path));
    if (missing !== undefined) throw new UsageError(`--${name}: there is no ${missing}`);
  }
  const pids = given.list('pid').map(Number);
  return {
    url,
    identity: url.startsWith('https:') ? givenIdentity(given) : null,
    processes: new Processes(pids),
    dirs: given.list('disk'),
    logDirs: [],
    startMs: Number.NaN,
    stop: () => Promise.resolve(),
  };
}

function keysFor(given: Given): readonly string[] | null {
  const name = given.text('tls-key') ?? '';
  const keys = Object.hasOwn(keyKinds, name) ? keyKinds[name] : undefined;
  if (keys === undefined) {
    throw new UsageError(`--tls-key takes ${Object.keys(keyKinds).join(', ')}, not '${name}'`);
  }
  return given.flag('tls') ? keys : null;
}

function givenIdentity(given: Given): Identity {
  const [ca, cert, key] = [given.text('ca'), given.text('cert'), given.text('key')];
  if (ca === null || cert === null || key === null) throw new UsageError('--url https:… takes --ca, --cert and --key');
  try {
    return identityOf(ca, cert, key);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function startServer(options: StartOptions = {}): Promise<Server> {
  const server = new Muster(options);
  await server.untilReady();
  return server;
}

class Muster implements Server {
  readonly dirs: readonly string[];
  readonly logDirs: readonly string[];
  readonly processes: Processes;
  readonly identity: Identity | null;
  url = '';
  startMs = 0;
  readonly #home = mkdtempSync(join(tmpdir(), 'muster-perf-'));
  readonly #child: ChildProcess;
  readonly #forget: () => void;
  readonly #started: number;

  constructor({ data, nodeArgs = [], args = [], tls = null }: StartOptions) {
    const certificates = tls === null ? null : this.#certificates(tls);
    this.identity = certificates?.client ?? null;
    const dir = data ?? join(this.#home, 'data');
    this.dirs = [dir];
    this.logDirs = [join(dir, 'inbox')];
    const environment: Record<string, string | undefined> = {};
    for (const [name, value] of Object.entries(process.env)) {
      if (!name.startsWith('MUSTER_') && name !== 'NODE_OPTIONS') environment[name] = value;
    }
    const log = openSync(join(this.#home, 'log'), 'w');
    const program = join(projectDir, 'bin', 'muster');
    const where = ['--data', dir, '--http', '127.0.0.1:0', '--port-file', join(this.#home, 'port')];
    const secure = certificates?.serverArgs ?? [];
    this.#started = performance.now();
    this.#child = spawn(process.execPath, [...nodeArgs, program, 'start', ...where, ...secure, ...STEADY, ...args], {
      env: environment,
      stdio: ['ignore', 'ignore', log],
      // A signal that a terminal sends to its whole group is for this program, which ends the server when it has done with it.
      detached: true,
    });
    closeSync(log);
    this.#forget = atExit(() => this.abandon());
    this.processes = new Processes([this.#child.pid!]);
  }

  async untilReady(): Promise<void> {
    const portFile = join(this.#home, 'port');
    while (performance.now() - this.#started < START_MAX_MS) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) break;
      if (existsSync(portFile)) {
        this.url = this.#urlOf(readFileSync(portFile, 'utf8').split('\n'));
        const client = new Client(this, 1);
        const answer = await client.ask({ path: '/status/v1/simple' }).catch(() => null);
        client.close();
        if (answer?.status === 200) {
          this.startMs = performance.now() - this.#started;
          return;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const log = this.#lastOfLog();
    this.abandon();
    throw new Error(`the server did not get ready: ${log}`);
  }

  #lastOfLog(): string {
    return readFileSync(join(this.#home, 'log'), 'utf8').slice(-2000);
  }

  #certificates(keys: readonly string[]): Certificates {
    try {
      return makeCertificates(this.#home, keys);
    } catch (error) {
      rmSync(this.#home, { recursive: true, force: true });
      throw new Error(`no certificates could be made: ${(error as Error).message}`);
    }
  }

  #urlOf([plain, secure]: readonly (string | undefined)[]): string {
    return this.identity === null ? `http://127.0.0.1:${plain}` : `https://127.0.0.1:${secure}`;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await ended;
    }
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== 0) {
      console.error(`the server has ended by itself (${signalCode ?? `status ${exitCode}`}): ${this.#lastOfLog()}`);
    }
    this.abandon();
  }

  /** Kills what still runs and removes what is temporary. */
  abandon(): void {
    this.#forget();
    this.#child.kill('SIGKILL');
    rmSync(this.#home, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Starts `perf -- floor-server` on a free port. */
export async function startFloorServer(): Promise<Server> {
  const started = performance.now();
  const main = join(projectDir, 'dist', 'perf', 'main.js');
  const child = spawn(process.execPath, [main, 'floor-server'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  // Told, not killed: it removes its file itself.
  const forget = atExit(() => void child.kill('SIGTERM'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { value: url, done } = await lines.next();
  if (done === true) throw new Error('the floor server did not get ready');
  return {
    url,
    identity: null,
    processes: new Processes([child.pid!]),
    dirs: [],
    logDirs: [],
    startMs: performance.now() - started,
    stop: async () => {
      if (child.kill('SIGTERM')) await ended;
      forget();
    },
  };
}
