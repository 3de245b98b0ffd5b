// `muster start` as a process of its own, for tests: started, watched, talked to, and gone at the end.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import '../../support/endings.ts';
import { muster } from '../../support/muster.ts';

export interface Launched {
  readonly child: ChildProcess;
  /** Exit status, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  err(): string;
  /** Resolves with the first match in what the process writes. */
  seen(stream: 'out' | 'err', pattern: RegExp): Promise<RegExpExecArray>;
}

export interface Started extends Launched {
  readonly url: string;
  readonly ready: string;
}

/** Wide, since tests run on busy machines. */
const limitMs = 60_000;
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Ends what a failed test left running. */
export async function cleanUp(): Promise<void> {
  for (const child of children) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

export function launch(argv: readonly string[], environment: Record<string, string> = {}): Launched {
  const child = spawn(process.execPath, [muster, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  children.add(child);
  let out = '';
  let err = '';
  const waiting: (() => void)[] = [];
  const changed = () => {
    for (const wake of waiting.splice(0)) wake();
  };
  child.stdout!.on('data', (chunk) => {
    out += chunk;
    changed();
  });
  child.stderr!.on('data', (chunk) => {
    err += chunk;
    changed();
  });
  const ended = once(child, 'exit').then(([code, signal]) => {
    children.delete(child);
    changed();
    return (code ?? signal) as number | string;
  });
  async function seen(stream: 'out' | 'err', pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const match = pattern.exec(stream === 'out' ? out : err);
      if (match !== null) return match;
      if (child.exitCode !== null || performance.now() > deadline) assert.fail(`no ${pattern} in\n${out}\n${err}`);
      await Promise.race([new Promise<void>((resolve) => waiting.push(resolve)), ended, pause(1000)]);
    }
  }
  return { child, ended, seen, err: () => err };
}

/** A server on a free port, once it is ready. */
export async function start(argv: readonly string[], environment: Record<string, string> = {}): Promise<Started> {
  const launched = launch(['start', '--http', '127.0.0.1:0', ...argv], environment);
  const match = await launched.seen('out', /^muster: ready on (http:\/\/[^ ]+).*$/m);
  return { ...launched, url: match[1]!, ready: match[0] };
}

/** Posts facts of a node. With `wait` the answer comes when they are processed. */
export function submit(url: string, certname: string, wait = true): Promise<Response> {
  const facts = {
    certname,
    environment: 'production',
    values: { os: 'Debian' },
    producer_timestamp: new Date().toISOString(),
    producer: 'p',
  };
  return submitText(url, certname, JSON.stringify(facts), wait);
}

export function submitText(url: string, certname: string, body: string, wait = true): Promise<Response> {
  const query = new URLSearchParams({ command: 'replace_facts', version: '5', certname });
  if (wait) query.set('secondsToWaitForCompletion', '10');
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/pdb/cmd/v1?${query}`, { method: 'POST', headers, body });
}

/** Certnames of all nodes, asked for until they are what is waited for (or too much time has passed). */
export async function nodes(url: string, isEnough: (names: readonly string[]) => boolean): Promise<string[]> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const rows = (await (await fetch(`${url}/pdb/query/v4/nodes`)).json()) as { certname: string }[];
    const names = rows.map(({ certname }) => certname);
    if (isEnough(names) || performance.now() > deadline) return names.sort();
  }
}
