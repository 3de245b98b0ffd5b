// Runs programs of others: each in a process group of its own, with an end that does not depend on it. A group that is still
// there when its time is up, or when this process ends, is killed as a whole.

import { type ChildProcess, spawn } from 'node:child_process';

export interface ProgramOptions {
  /** Milliseconds until it counts as hung. */
  readonly maxMs: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
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

/** Runs it to its end. Rejects when it cannot be started at all; everything else is in the answer. */
export function run(command: string, args: readonly string[], options: ProgramOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const { maxMs, env, cwd, input } = options;
    const child = spawn(command, args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(env === undefined ? {} : { env }),
      ...(cwd === undefined ? {} : { cwd }),
    });
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

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended just now.
  }
}
