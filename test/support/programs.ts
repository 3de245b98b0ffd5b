// Runs programs of others: each in a process group of its own, with an end that does not depend on it. A group that is still
// there when its time is up, or when this process ends, is killed as a whole.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { threadScript } from '../../workers/system/thread-script.ts';

/** A user's numbers, for programs that refuse to run as root. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface ServiceOptions {
  readonly env?: Readonly<NodeJS.ProcessEnv>;
  readonly cwd?: string;
  /** Only root can run programs as somebody else; null: as this process. */
  readonly user?: User | null;
}

export interface ProgramOptions extends ServiceOptions {
  /** Milliseconds until it counts as hung. */
  readonly maxMs: number;
  readonly input?: string;
}

export interface Ended {
  /** null: killed by a signal, `signal` says which. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
  readonly timedOut: boolean;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) killGroup(child);
});

/** Arguments of a Node that runs `name`, a script beside the module whose `import.meta.url` is `base`. */
export function nodeArgs(name: string, base: string): string[] {
  const { url, execArgv = [] } = threadScript(name, base);
  return [...execArgv, fileURLToPath(url)];
}

/** Runs it to its end. Rejects when it cannot be started at all; everything else is in the answer. */
export function run(command: string, args: readonly string[], options: ProgramOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const { maxMs, input } = options;
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...spawnOptions(options) });
    running.add(child);
    const texts = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      texts.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      texts.err += text;
    });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child);
    }, maxMs);
    const settled = () => {
      clearTimeout(timer);
      running.delete(child);
    };
    child.once('error', (error) => {
      settled();
      reject(error);
    });
    child.once('close', (status, signal) => {
      settled();
      resolve({ status, signal, ...texts, timedOut });
    });
    // A program may end without having read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
  });
}

/** The same for a program whose success is taken for granted: its standard output. */
export async function outputOf(command: string, args: readonly string[], options: ProgramOptions): Promise<string> {
  const ended = await run(command, args, options);
  if (ended.status === 0) return ended.out;
  const how = ended.timedOut ? `hung for ${options.maxMs} ms` : `ended with ${ended.status ?? ended.signal}`;
  throw new Error(`${command} ${args.join(' ')} ${how}: ${ended.err.slice(-2000)}${ended.out.slice(-2000)}`);
}

/** A program that runs until it is stopped. */
export class Service {
  readonly #command: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = '';
  #isOver = false;

  constructor(command: string, args: readonly string[], options: ServiceOptions = {}) {
    this.#command = command;
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...spawnOptions(options) });
    running.add(this.#child);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-20_000);
      });
    }
    const over = () => {
      this.#isOver = true;
      running.delete(this.#child);
    };
    this.#ended = once(this.#child, 'exit').then(over, over);
  }

  /** The end of what it has written. */
  get output(): string {
    return this.#output;
  }

  /** Waits until the condition holds. Rejects when the program ends before, or does not get there in time. */
  async until(condition: () => Promise<boolean>, maxMs: number): Promise<void> {
    const deadline = performance.now() + maxMs;
    while (!(await condition())) {
      if (this.#isOver) throw new Error(`${this.#command} has ended: ${this.#output.slice(-3000)}`);
      if (performance.now() > deadline)
        throw new Error(`${this.#command} did not get ready: ${this.#output.slice(-3000)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Asks it to end, and kills the whole group when it does not. */
  async stop(signal: NodeJS.Signals, maxMs: number): Promise<void> {
    if (this.#isOver) return;
    this.#child.kill(signal);
    const timer = setTimeout(() => killGroup(this.#child), maxMs);
    await this.#ended;
    clearTimeout(timer);
  }
}

/** A port that nothing listens on just now, for programs that cannot choose one themselves and tell it. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

function spawnOptions({ env, cwd, user }: ServiceOptions) {
  return {
    detached: true,
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(user === undefined || user === null ? {} : user),
  };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended just now.
  }
}
