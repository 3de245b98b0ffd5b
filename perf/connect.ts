// What does a connection cost? The same request from several clients at once, over connections that they keep, and over a new
// one each time; with --tls each of those is a handshake, with the server's signature. The kept ones also tell what a request of that
// kind costs, compressed or not.

import { gunzipSync } from 'node:zlib';
import { type Asked, Client } from './lib/client.ts';
import { digestOfParts } from './lib/digest.ts';
import { quantile, show, table } from './lib/figures.ts';
import { commonOptions, type Given, type Program } from './lib/options.ts';
import { printProfiles } from './lib/profile.ts';
import { writeResult } from './lib/result.ts';
import { describeRun, type Server, serverFor, serverOptions } from './lib/server.ts';

interface ConnectResult {
  readonly connections: 'kept' | 'new';
  readonly requests: number;
  readonly perSecond: number;
  /** Milliseconds of the server's processor time a request. */
  readonly cpuMs: number;
  /** Milliseconds from the request, or the beginning of its connection, to the end of the answer. */
  readonly p50: number;
  readonly p99: number;
}

interface Load {
  readonly server: Server;
  readonly asked: Asked;
  readonly clients: number;
}

async function measure({ server, asked, clients }: Load, seconds: number, isKept: boolean): Promise<ConnectResult> {
  const client = new Client(server, clients, isKept);
  const times: number[] = [];
  const cpu = server.processes.cpuMs();
  const start = performance.now();
  const end = start + seconds * 1000;
  const ask = async (): Promise<void> => {
    while (performance.now() < end) {
      const { status, total } = await client.read(asked, () => {});
      if (status !== 200) throw new Error(`${asked.path} got ${status}`);
      times.push(total);
    }
  };
  await Promise.all(Array.from({ length: clients }, ask));
  const took = performance.now() - start;
  client.close();
  return {
    connections: isKept ? 'kept' : 'new',
    requests: times.length,
    perSecond: (times.length / took) * 1000,
    cpuMs: (server.processes.cpuMs() - cpu) / times.length,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
  };
}

/** Of the answer's bytes, once uncompressed. Throws where a client that takes compressed ones gets another answer. */
async function digestOfAnswer({ server, asked }: Load): Promise<string> {
  const client = new Client(server, 1);
  const [plain, taken] = [await client.ask({ path: asked.path }), await client.ask(asked)];
  client.close();
  const isCompressed = taken.headers['content-encoding'] === 'gzip';
  if (!plain.body.equals(isCompressed ? gunzipSync(taken.body) : taken.body)) {
    throw new Error(`${asked.path} is another answer when it may be compressed`);
  }
  return digestOfParts([plain.body]);
}

async function run(given: Given): Promise<void> {
  const clients = given.count('clients', 1, 1000);
  const seconds = given.number('seconds', 0.1, 3600);
  const machine = describeRun(given);
  const path = given.text('path') ?? '/';
  const asked: Asked = { path, headers: given.flag('gzip') ? { 'Accept-Encoding': 'gzip' } : {} };
  console.log(`${machine}\n${clients} clients at once, GET ${path}${given.flag('gzip') ? ', compressed' : ''}`);
  const server = await serverFor(given);
  try {
    const load: Load = { server, asked, clients };
    const digest = await digestOfAnswer(load);
    const results: ConnectResult[] = [];
    for (const isKept of [true, false]) {
      // What is compiled meanwhile is no part of the figures.
      await measure(load, seconds / 4, isKept);
      results.push(await measure(load, seconds, isKept));
    }
    const rows = results.map((r) => [
      r.connections,
      String(r.requests),
      show(r.perSecond),
      show(r.cpuMs),
      show(r.p50),
      show(r.p99),
    ]);
    console.log(`\n${table(['connections', 'requests', 'a second', 'CPU ms each', 'p50 ms', 'p99 ms'], rows)}`);
    console.log(`\ndigest of the answer ${digest}`);
    writeResult(given, { machine, clients, path, results, digest });
  } finally {
    await server.stop();
  }
  printProfiles(given);
}

export const program: Program = {
  name: 'connect',
  summary: 'What does a new connection cost, beside one that is kept?',
  options: {
    clients: { value: 'N', default: '8', small: '2', doc: 'clients that ask at the same time' },
    seconds: { value: 'S', default: '10', small: '0.5', doc: 'how long each kind of connection is measured' },
    path: { value: 'PATH', default: '/status/v1/simple', doc: 'what they ask for' },
    gzip: { value: null, doc: 'they take compressed answers, as compile servers do' },
    ...serverOptions,
    ...commonOptions,
  },
  run,
};
