// One run of a fleet, sent to a server and processed to the end: how fast, and at which cost. Beside it stands the floor of its own
// bytes (floor.ts), measured just before it.

import { Client } from './client.ts';
import { digestOf, digestOfParts } from './digest.ts';
import { storeBytes } from './disk.ts';
import { digestOfDump } from './dump-digest.ts';
import { median, quantile, sum } from './figures.ts';
import type { Kind } from './fleet.ts';
import { meanFloor, measureRunFloor } from './floor.ts';
import { drained, type Prepared, type RunName, type Submission, submitAll } from './load.ts';
import { OthersWatch } from './machine.ts';
import { MemoryWatch, type Processes } from './processes.ts';
import type { Server } from './server.ts';

export interface RunResult {
  readonly run: RunName;
  readonly commands: number;
  readonly plainBytes: number;
  readonly sentBytes: number;
  readonly acceptedPerSecond: number;
  readonly processedPerSecond: number;
  readonly submitP50: number;
  readonly submitP99: number;
  /** Processor time of the server per command, ms, and by thread: main, the busiest other, the rest. */
  readonly cpu: number;
  readonly threads: readonly [main: number, busiest: number, rest: number];
  readonly floor: number;
  readonly floorByKind: Readonly<Record<string, number>>;
  /** Fraction of the machine that neither the server nor this program used. */
  readonly others: number;
  /** Highest while it ran, MiB: all of it, and what is no mapped file. */
  readonly peakPss: number;
  readonly peakAnonymous: number;
  /** Bytes. The command log is not in it: it takes two or three segments, however many commands come. */
  readonly diskPerNode: number;
  readonly stages: Readonly<Record<string, number>>;
  /** Of what the server answers afterwards. */
  readonly digest: string;
}

/** Timers of the server, mean milliseconds of the last thousand or so. */
export const STAGES: Readonly<Record<string, string>> = {
  'durable append': 'message-persistence-time',
  decode: 'command-parse-time',
  'whole command': 'processing-time',
};

/** Asked after each run: what there is of all nodes, and how many. */
const COUNTS: readonly (readonly [path: string, params: Readonly<Record<string, unknown>>])[] = [
  ['nodes', { query: ['extract', ['certname', 'facts_environment', 'latest_report_status'], ['~', 'certname', '.']] }],
  ['resources', { query: ['extract', [['function', 'count'], 'type'], ['~', 'certname', '.'], ['group_by', 'type']] }],
  ['facts', { query: ['extract', [['function', 'count'], 'name'], ['~', 'certname', '.'], ['group_by', 'name']] }],
  ['reports', { query: ['extract', ['certname', 'hash', 'status'], ['~', 'certname', '.']] }],
  [
    'events',
    { query: ['extract', [['function', 'count'], 'certname'], ['~', 'certname', '.'], ['group_by', 'certname']] },
  ],
  ['package-inventory', { query: ['extract', [['function', 'count']], ['~', 'certname', '.']] }],
];

/** Asked of some nodes that sent the run: together they show everything that was stored. */
const DOCUMENTS = ['resources', 'edges', 'catalogs', 'factsets', 'package-inventory', 'reports'] as const;
const NODES_SHOWN = 30;

async function digestOfStore(client: Client, requests: readonly Prepared[]): Promise<string> {
  const certnames = [...new Set(requests.map(({ certname }) => certname))].slice(0, NODES_SHOWN);
  const params = { query: ['in', 'certname', ['array', certnames]] };
  const digests: string[] = [];
  for (const [path, asked] of COUNTS) digests.push(digestOf(await client.json(`/pdb/query/v4/${path}`, asked)).digest);
  for (const path of DOCUMENTS) {
    digests.push((await digestOfDump(client, { path: `/pdb/query/v4/${path}`, params })).digest);
  }
  return digestOfParts(digests);
}

async function stageMeans(client: Client): Promise<Record<string, number>> {
  const out: Record<string, number> = {};
  for (const [name, metric] of Object.entries(STAGES)) {
    const mean = await client.metric(`puppetlabs.puppetdb.mq:name=global.${metric}`, 'Mean');
    if (mean !== undefined) out[name] = mean;
  }
  return out;
}

function threadsSince(processes: Processes, before: ReadonlyMap<number, number>): [number, number, number] {
  if (!processes.known) return [Number.NaN, Number.NaN, Number.NaN];
  let main = 0;
  const others: number[] = [];
  let first = true;
  for (const [thread, cpu] of [...processes.threadCpuMs()].sort(([a], [b]) => a - b)) {
    const used = cpu - (before.get(thread) ?? 0);
    if (first) main = used;
    else others.push(used);
    first = false;
  }
  const busiest = others.length === 0 ? 0 : Math.max(...others);
  return [main, busiest, sum(others) - busiest];
}

export interface RunPlan {
  readonly nodes: number;
  readonly connections: number;
  readonly floorSample: number;
  readonly floorRounds: number;
  /** Milliseconds after a run in which flushes and the removal of log segments come to their end. */
  readonly settle: number;
}

/** Sends a prepared run and waits until it is processed. */
export async function measureRun(
  server: Server,
  run: RunName,
  requests: readonly Prepared[],
  plan: RunPlan,
): Promise<RunResult> {
  const { nodes, connections } = plan;
  const floors = measureRunFloor(requests, { sample: plan.floorSample, rounds: plan.floorRounds, group: connections });
  const client = new Client(server, connections);
  const control = new Client(server, 1);
  const { processes } = server;
  await drained(control);
  const memory = new MemoryWatch(processes, 250);
  const threads = processes.threadCpuMs();
  const cpuBefore = processes.cpuMs();
  const others = new OthersWatch();
  const { latencies, seconds, elapsed } = await sendAll(client, control, requests, connections);
  const cpu = processes.cpuMs() - cpuBefore;
  const othersShare = others.share(cpu);
  const perThread = threadsSince(processes, threads);
  const peak = memory.stop();
  const stages = await stageMeans(control);
  const digest = await digestOfStore(control, requests);
  await new Promise((resolve) => setTimeout(resolve, plan.settle));
  client.close();
  control.close();
  const counts = countsOf(requests);
  return {
    run,
    commands: requests.length,
    plainBytes: sum(requests.map(({ plainBytes }) => plainBytes)),
    sentBytes: sum(requests.map(({ body }) => body.length)),
    acceptedPerSecond: requests.length / seconds,
    processedPerSecond: requests.length / elapsed,
    submitP50: median(latencies),
    submitP99: quantile(latencies, 0.99),
    cpu: cpu / requests.length,
    threads: [perThread[0] / requests.length, perThread[1] / requests.length, perThread[2] / requests.length],
    floor: meanFloor(floors, counts),
    floorByKind: Object.fromEntries(
      [...floors].map(([kind, result]) => [kind, meanFloor(floors, new Map([[kind, result.commands]]))]),
    ),
    others: othersShare,
    peakPss: peak.pss,
    peakAnonymous: peak.anonymous,
    diskPerNode: storeBytes(server) / nodes,
    stages,
    digest,
  };
}

/** Sends everything and waits until it is processed. `elapsed`: seconds until then. */
export async function sendAll(
  client: Client,
  control: Client,
  requests: readonly Prepared[],
  connections: number,
): Promise<Submission & { readonly elapsed: number }> {
  const start = performance.now();
  const submission = await submitAll(client, requests, connections);
  await drained(control);
  return { ...submission, elapsed: (performance.now() - start) / 1000 };
}

function countsOf(requests: readonly Prepared[]): Map<Kind, number> {
  const counts = new Map<Kind, number>();
  for (const { kind } of requests) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
