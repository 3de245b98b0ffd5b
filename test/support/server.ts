// The real server as a child process on a data directory of its own and a free port, for tests that stop, kill and starve
// it, and a small HTTP client for it. Whatever a test started is killed and removed when the test ends, also when this
// process ends first.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { atEnd, type Owner } from './endings.ts';
import { muster } from './muster.ts';
import { testNumber } from './random.ts';
import { pause, until, withTimeout } from './waiting.ts';

/** Wide, since tests run on busy machines; long runs do so for hours, and say by `MUSTER_PATIENCE` how many times wider. */
const PATIENCE = testNumber('MUSTER_PATIENCE', 1);
const START_MAX_MS = 120_000 * PATIENCE;
const STOP_MAX_MS = 45_000 * PATIENCE;
const REQUEST_MAX_MS = 60_000 * PATIENCE;
const DRAINED_MAX_MS = 60_000 * PATIENCE;

export interface ServerOptions {
  /** Data directory; default: a new one that is removed with the test. */
  readonly dir?: string;
  /** Further arguments of `muster start`. */
  readonly args?: readonly string[];
  /** Arguments of node itself. */
  readonly nodeArgs?: readonly string[];
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Milliseconds until the request counts as hung. */
  readonly timeout?: number;
  readonly agent?: Agent | false;
}

/** A command as clients submit it; perf/lib/fleet.ts makes such, and test/support/commands.ts. */
export interface ClientCommand {
  readonly command: string;
  readonly version: number;
  readonly certname: string;
  readonly producerTimestamp?: string;
  /** JSON text. */
  readonly payload: string;
}

export interface SubmitOptions {
  readonly gzip?: boolean;
  /** Seconds to wait until the command has been processed. */
  readonly wait?: number;
  readonly agent?: Agent | false;
}

/** What `submit` gets back: status 200 is an acknowledgement. */
export interface Submitted extends Answer {
  readonly acknowledged: boolean;
}

export interface LogLine {
  readonly level: string;
  readonly area: string;
  readonly msg: string;
  readonly [key: string]: unknown;
}

/** The server answered with a status that the caller did not expect. */
class UnexpectedAnswer extends Error {
  readonly answer: Answer;
  constructor(what: string, answer: Answer) {
    super(`${what}: ${answer.status} ${answer.text.slice(0, 500)}`);
    this.answer = answer;
  }
}

const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

export class TestServer {
  readonly dir: string;
  readonly #home: string;
  readonly #options: ServerOptions;
  #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  #child: ChildProcess | null = null;
  #port = 0;
  #httpsPort = 0;
  #output = '';
  /** Set while the process is expected to live. */
  #unexpected: ((error: Error) => void) | null = null;

  private constructor(options: ServerOptions) {
    this.#options = options;
    this.#home = mkdtempSync(join(tmpdir(), 'muster-test-'));
    this.dir = options.dir ?? join(this.#home, 'data');
  }

  /** Resolves when the server is ready. */
  static async start(owner: Owner, options: ServerOptions = {}): Promise<TestServer> {
    const server = TestServer.prepare(owner, options);
    await server.start();
    return server;
  }

  /** The same without starting it yet. */
  static prepare(owner: Owner, options: ServerOptions = {}): TestServer {
    const server = new TestServer(options);
    atEnd(owner, () => server.dispose());
    return server;
  }

  get port(): number {
    return this.#port;
  }

  /** 0 without the `args` that HTTPS needs. */
  get httpsPort(): number {
    return this.#httpsPort;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('the server does not run');
    return pid;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  /** Everything the server wrote to standard error since the first start. */
  get output(): string {
    return this.#output;
  }

  /** The log, of all starts. Lines that were cut by a kill are left out. */
  logLines(): LogLine[] {
    const lines: LogLine[] = [];
    for (const text of this.#output.split('\n')) {
      if (!text.startsWith('{')) continue;
      try {
        lines.push(JSON.parse(text) as LogLine);
      } catch {
        // The process was killed in the middle of it.
      }
    }
    return lines;
  }

  /** Starts the process and waits until it says that it runs. `args` are for this time only. */
  async start(args: readonly string[] = []): Promise<void> {
    if (this.#child !== null) throw new Error('the server runs already');
    const portFile = join(this.#home, 'port');
    rmSync(portFile, { force: true });
    const child = this.#spawn([...args, '--port-file', portFile]);
    const died = new Promise<never>((_, reject) => {
      this.#unexpected = reject;
    });
    died.catch(() => {});
    child.once('exit', (code, signal) => {
      this.#unexpected?.(new Error(`the server ended (${signal ?? `status ${code}`}): ${this.#output.slice(-2000)}`));
      this.#unexpected = null;
    });
    await Promise.race([this.#untilReady(portFile), died]);
  }

  /** Runs the program to its end, which must come by itself; for starts that are to be refused. */
  async startToFail(args: readonly string[] = []): Promise<{ readonly status: number | null; readonly text: string }> {
    const before = this.#output.length;
    const child = this.#spawn(args);
    const [status] = await withTimeout(once(child, 'close'), START_MAX_MS, 'the end of a refused start');
    return { status: status as number | null, text: this.#output.slice(before) };
  }

  #spawn(args: readonly string[]): ChildProcess {
    const environment: Record<string, string | undefined> = {};
    for (const [name, value] of Object.entries(process.env)) {
      if (!name.startsWith('MUSTER_') && name !== 'NODE_OPTIONS') environment[name] = value;
    }
    const { nodeArgs = [], args: fixed = [] } = this.#options;
    const child = spawn(
      process.execPath,
      [...nodeArgs, muster, 'start', '--data', this.dir, '--http', '127.0.0.1:0', ...fixed, ...args],
      { cwd: this.#home, env: environment, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#output += chunk.toString();
    });
    alive.add(child);
    this.#child = child;
    child.once('exit', () => {
      alive.delete(child);
      if (this.#child === child) this.#child = null;
    });
    return child;
  }

  async #untilReady(portFile: string): Promise<void> {
    const deadline = performance.now() + START_MAX_MS;
    // Once it has ended nobody waits for this any more.
    while (this.#child !== null) {
      if (existsSync(portFile)) {
        const [port, httpsPort] = readFileSync(portFile, 'utf8').split('\n').map(Number);
        this.#port = port ?? 0;
        this.#httpsPort = httpsPort ?? 0;
        const answer = await this.ask('/status/v1/simple').catch(() => null);
        if (answer?.text === 'running') return;
      }
      if (performance.now() > deadline) throw new Error(`the server did not get ready: ${this.#output.slice(-2000)}`);
      await pause(10);
    }
  }

  /** SIGTERM; resolves with the exit status. */
  async stop(): Promise<number | null> {
    const child = this.#child;
    if (child === null) return null;
    this.#unexpected = null;
    const ended = once(child, 'exit');
    this.#agent.destroy();
    child.kill('SIGTERM');
    const [status] = await withTimeout(ended, STOP_MAX_MS, `the server's end: ${this.#output.slice(-500)}`);
    this.#renewAgent();
    return status as number | null;
  }

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#unexpected = null;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    this.#renewAgent();
  }

  /** Kills it if it still runs, and starts it again on the same directory. */
  async restart(args: readonly string[] = []): Promise<void> {
    await this.kill();
    await this.start(args);
  }

  async dispose(): Promise<void> {
    await this.kill();
    this.#agent.destroy();
    rmSync(this.#home, { recursive: true, force: true, maxRetries: 3 });
  }

  #renewAgent(): void {
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64 });
  }

  // ------------------------------------------------------------------ talking to it

  /** One request. Rejects when the connection fails before the answer is complete. */
  ask(path: string, options: Ask = {}): Promise<Answer> {
    return askPort(this.#port, path, { agent: this.#agent, ...options });
  }

  async submit(command: ClientCommand, options: SubmitOptions = {}): Promise<Submitted> {
    const { gzip = false, wait = 0 } = options;
    const answer = await this.ask(commandTarget(command, wait), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(gzip ? { 'Content-Encoding': 'gzip' } : {}) },
      body: gzip ? gzipSync(command.payload, { level: 1 }) : command.payload,
      ...(options.agent === undefined ? {} : { agent: options.agent }),
    });
    return { ...answer, acknowledged: answer.status === 200 };
  }

  /** Submits, waits until it has been processed, and fails if that is not what happened. */
  async apply(command: ClientCommand): Promise<void> {
    const answer = await this.submit(command, { wait: 30 });
    if (!answer.acknowledged) throw new UnexpectedAnswer(`${command.command} of ${command.certname}`, answer);
  }

  /** Rows of an entity or route below /pdb/query/v4, for example `query('resources', ['=', 'type', 'File'])`. */
  async query<Row = Record<string, unknown>>(
    route: string,
    query: unknown = null,
    parameters: Readonly<Record<string, unknown>> = {},
  ): Promise<Row[]> {
    const body = JSON.stringify({ ...(query === null ? {} : { query }), ...parameters });
    const answer = await this.ask(`/pdb/query/v4${route === '' ? '' : `/${route}`}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });
    if (answer.status !== 200) throw new UnexpectedAnswer(`query ${route} ${body}`, answer);
    return JSON.parse(answer.text) as Row[];
  }

  /** Value of an attribute of a metric, `puppetlabs.puppetdb.mq:name=global.depth` for example. */
  async metric(name: string, attribute = 'Count'): Promise<number> {
    const answer = await this.ask(`/metrics/v2/read/${encodeURIComponent(name)}/${attribute}`);
    const { value } = JSON.parse(answer.text) as { value?: unknown };
    if (typeof value !== 'number') throw new UnexpectedAnswer(`metric ${name}`, answer);
    return value;
  }

  /** Commands that were accepted and are not processed yet. */
  depth(): Promise<number> {
    return this.metric('puppetlabs.puppetdb.mq:name=global.depth');
  }

  /** Resolves when everything that was accepted has been processed. */
  async drained(maxMs = DRAINED_MAX_MS): Promise<void> {
    await until('the queue is empty', async () => (await this.depth()) === 0, maxMs);
  }

  // ------------------------------------------------------------------ what the system knows of it (Linux)

  /** Resident memory in MiB, now or at its highest. */
  residentMiB(highest = false): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const match = (highest ? /^VmHWM:\s+(\d+) kB/m : /^VmRSS:\s+(\d+) kB/m).exec(status);
    if (match === null) throw new Error('the system tells nothing about memory');
    return Number(match[1]) / 1024;
  }

  /** Resident memory that belongs to the process alone, MiB: without the mapped pages of its files. */
  privateMiB(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const match = /^RssAnon:\s+(\d+) kB/m.exec(status);
    if (match === null) throw new Error('the system tells nothing about memory');
    return Number(match[1]) / 1024;
  }

  /** Processor time used so far, milliseconds. */
  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }
}

/** Where a command is submitted. `wait`: seconds until it has been processed; 0 does not wait. */
export function commandTarget(command: ClientCommand, wait: number): string {
  const parameters = new URLSearchParams({
    command: command.command.replaceAll(' ', '_'),
    version: String(command.version),
    certname: command.certname,
  });
  if (command.producerTimestamp !== undefined) parameters.set('producer-timestamp', command.producerTimestamp);
  if (wait > 0) parameters.set('secondsToWaitForCompletion', String(wait));
  return `/pdb/cmd/v1?${parameters}`;
}

export function askPort(port: number, path: string, options: Ask = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, agent = false, timeout = REQUEST_MAX_MS } = options;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    const outgoing = request(
      { host: '127.0.0.1', port, path, method, headers: { ...length, ...headers }, agent },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('close', () => {
          clearTimeout(timer);
          if (!incoming.complete) reject(new Error('the answer was cut'));
        });
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
        });
      },
    );
    const timer = setTimeout(
      () => outgoing.destroy(new Error(`no answer to ${method} ${path.slice(0, 200)} within ${timeout} ms`)),
      timeout,
    );
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.end(body);
  });
}
