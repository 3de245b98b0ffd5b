// Runs of a generated fleet as HTTP requests, sent as compile servers send them: gzip, parameters in the URL, a few
// connections that each wait for their answer. For measurements all requests of a run are made before its clock starts,
// so that making them takes nothing of the machine while the server works.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Asked, Client } from './client.ts';
import { type Command, Fleet, type Kind, RUN_EVERY_MS } from './fleet.ts';

const compress = promisify(gzip);

export type RunName = 'first' | 'changed' | 'unchanged' | 'reports';
export const runNames: readonly RunName[] = ['first', 'changed', 'unchanged', 'reports'];

export const runTexts: Readonly<Record<RunName, string>> = {
  first: 'the first run of every node',
  changed: 'the next run: a fraction of each document is new',
  unchanged: 'the next run: facts and catalog as before, with new times and ids',
  reports: 'only the reports of the next run',
};

/** The four runs of one history, in their order. */
export class History {
  readonly fleet: Fleet;
  /** Makes the same content a run later. */
  readonly #later: Fleet;

  constructor(fleet: Fleet) {
    this.fleet = fleet;
    this.#later = new Fleet({ ...fleet.options, start: fleet.options.start + RUN_EVERY_MS });
  }

  commands(run: RunName, node: number): Command[] {
    switch (run) {
      case 'first':
        return [...this.fleet.run(node, 0)];
      case 'changed':
        return [...this.fleet.run(node, 1)];
      case 'unchanged':
        return this.#unchanged(node);
      case 'reports':
        return [...this.fleet.run(node, 3)].filter(({ kind }) => kind === 'report');
    }
  }

  /** What run 1 reported, with the times of run 2 and the ids of its report. */
  #unchanged(node: number): Command[] {
    const report = [...this.fleet.run(node, 2)].filter(({ kind }) => kind === 'report');
    const id = idOf(report[0]!);
    const same = [...this.#later.run(node, 1)].filter(({ kind }) => kind !== 'report');
    return [...same.map((command) => withId(command, id)), ...report];
  }
}

const idOf = (command: Command): string => /"transaction_uuid":"([^"]+)"/.exec(command.payload)?.[1] ?? '';

function withId(command: Command, id: string): Command {
  const old = idOf(command);
  return old === '' ? command : { ...command, payload: command.payload.replaceAll(old, id) };
}

export interface Prepared extends Asked {
  readonly kind: Kind;
  readonly certname: string;
  /** What it is, for who reads that it was refused. */
  readonly what: string;
  readonly body: Buffer;
  /** Bytes of JSON. */
  readonly plainBytes: number;
}

export async function prepare(command: Command, level = 6): Promise<Prepared> {
  const plain = Buffer.from(command.payload);
  const body = await compress(plain, { level });
  return {
    kind: command.kind,
    certname: command.certname,
    what: `${command.command} for ${command.certname}`,
    method: 'POST',
    path:
      `/pdb/cmd/v1?command=${command.command}&version=${command.version}&certname=${command.certname}` +
      `&producer-timestamp=${encodeURIComponent(command.producerTimestamp)}`,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Encoding': 'gzip',
      'Content-Length': body.length,
      'X-Uncompressed-Length': plain.length,
    },
    body,
    plainBytes: plain.length,
  };
}

/** Every command of a run of nodes [first, first + count), ready to be sent. */
export async function prepareRun(history: History, run: RunName, first: number, count: number): Promise<Prepared[]> {
  const all: Prepared[] = [];
  for (let node = first; node < first + count; node++) {
    all.push(...(await Promise.all(history.commands(run, node).map((command) => prepare(command)))));
  }
  return all;
}

export interface Submission {
  /** Milliseconds of each accepted command. */
  readonly latencies: number[];
  readonly seconds: number;
}

/** Sends everything over the client's connections. Throws when a command is refused. */
export async function submitAll(
  client: Client,
  requests: readonly Prepared[],
  connections: number,
): Promise<Submission> {
  const latencies: number[] = [];
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < requests.length) {
      const request = requests[next++]!;
      const start = performance.now();
      await submit(client, request);
      latencies.push(performance.now() - start);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, sender));
  return { latencies, seconds: (performance.now() - start) / 1000 };
}

const textOf = (body: Buffer): string => body.toString('utf8').slice(0, 300);

let isWaitTold = false;

/** Sends one command; waits and repeats while the server asks for it, and says so once. Throws when it is refused. */
export async function submit(client: Client, request: Prepared): Promise<void> {
  for (;;) {
    const { status, headers, body } = await client.ask(request);
    if (status === 200) return;
    const after = headers['retry-after'];
    if (status !== 503 || after === undefined) {
      throw new Error(`${request.what}: ${status} ${textOf(body)}`);
    }
    // It may be a date.
    const seconds = Math.max(0.1, Number.isFinite(Number(after)) ? Number(after) : 1);
    if (!isWaitTold) console.error(`${request.what}: ${status} ${textOf(body)}; sent again every ${seconds} s`);
    isWaitTold = true;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

/** Resolves when nothing waits in the server's queue. */
export async function emptied(client: Client): Promise<void> {
  // Servers raise the depth a moment after they accept, so one zero is not enough.
  for (let zeros = 0; zeros < 3; ) {
    const depth = await client.queue('depth');
    if (depth === undefined) throw new Error('the server does not tell the depth of its queue');
    zeros = depth === 0 ? zeros + 1 : 0;
    if (zeros < 3) await new Promise((resolve) => setTimeout(resolve, zeros > 0 ? 5 : 20));
  }
}

/** Resolves when the server has processed everything; throws when it threw something away. */
export async function drained(client: Client): Promise<void> {
  await emptied(client);
  const discarded = (await client.queue('discarded')) ?? 0;
  if (discarded > 0) throw new Error(`the server has discarded ${discarded} commands`);
}

interface FillOptions {
  readonly history: History;
  /** Nodes [first, end). */
  readonly first: number;
  readonly end: number;
  readonly runs: readonly RunName[];
}

/** Nodes between two lines that tell how far the filling has come. */
const TOLD_NODES = 1000;

/** Brings a server to a state, as fast as it goes, and tells how far it is; nothing is measured. */
export async function fill(client: Client, { history, first, end, runs }: FillOptions): Promise<void> {
  let next = first;
  let done = 0;
  const sender = async (): Promise<void> => {
    while (next < end) {
      const node = next++;
      for (const run of runs) {
        for (const command of history.commands(run, node)) await submit(client, await prepare(command, 1));
      }
      if (++done % TOLD_NODES === 0) console.error(`${done} of ${end - first} nodes stored`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, sender));
  await drained(client);
}
