// Does a huge answer hurt anybody? `GET /pdb/query/v4/resources` of the whole fleet is read as fast as it comes, a second
// client reads the same at a crawl, and a third asks point queries all the while. What to look for: the memory of the
// server does not grow with the answer, the crawling reader costs nothing, and the point queries hardly notice.

import type { IncomingMessage } from 'node:http';
import { Client } from './lib/client.ts';
import { digestOfParts } from './lib/digest.ts';
import { digestOfDump } from './lib/dump-digest.ts';
import { readOnce } from './lib/dump-reader.ts';
import { show, table, type Waits, waitsOf } from './lib/figures.ts';
import { describeFleet, fleetFor, manyNodesOptions } from './lib/fleet-options.ts';
import { fill, History } from './lib/load.ts';
import { OthersWatch } from './lib/machine.ts';
import { commonOptions, type Given, type Program } from './lib/options.ts';
import { askPoints, digestOfPoints } from './lib/points.ts';
import { MemoryWatch } from './lib/processes.ts';
import { printProfiles } from './lib/profile.ts';
import { writeResult } from './lib/result.ts';
import { describeRun, type Server, serverFor, serverOptions } from './lib/server.ts';
import { nodeCount } from './lib/timed-query.ts';

const DUMP = '/pdb/query/v4/resources';
/** The crawling reader takes its bytes ten times a second. */
const SIPS_PER_SECOND = 10;

interface StreamResult {
  readonly nodes: number;
  readonly rows: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly firstByteMs: number;
  readonly crawledBytes: number;
  readonly idle: Waits;
  readonly during: Waits;
  /** MiB: before, highest, and ten seconds later; all of it and what is no mapped file. */
  readonly memory: Readonly<Record<'before' | 'peak' | 'after', { readonly pss: number; readonly anonymous: number }>>;
  readonly cpuSeconds: number;
  /** Milliseconds of processor time in the second after all readers are gone. */
  readonly cpuAfter: number;
  readonly others: number;
  readonly digest: string;
}

/** Reads at a fixed rate, whatever the server would send, until it is stopped. */
class Crawler {
  bytes = 0;
  readonly #response: IncomingMessage;
  readonly #timer: NodeJS.Timeout;

  constructor(response: IncomingMessage, bytesPerSecond: number) {
    this.#response = response;
    response.on('error', () => {});
    let budget = 0;
    this.#timer = setInterval(() => {
      budget += bytesPerSecond / SIPS_PER_SECOND;
      while (budget > 0) {
        const chunk = response.read() as Buffer | null;
        if (chunk === null) break;
        budget -= chunk.length;
        this.bytes += chunk.length;
      }
    }, 1000 / SIPS_PER_SECOND);
    this.#timer.unref();
    // Reading only on the clock: without a listener for data the stream stays paused.
    response.on('readable', () => {});
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#response.destroy();
  }
}

interface Setting {
  readonly nodes: number;
  readonly quick: boolean;
  /** Bytes a second. */
  readonly crawl: number;
}

async function measure(
  server: Server,
  { nodes, quick, crawl }: Setting,
): Promise<{ result: StreamResult; memory: MemoryWatch }> {
  const client = new Client(server, 2);
  const idleEnd = performance.now() + (quick ? 300 : 5000);
  const asking = { target: server, nodes, everyMs: 12 };
  const idle = await askPoints({ ...asking, done: () => performance.now() > idleEnd });

  const before = server.processes.memory();
  const watch = new MemoryWatch(server.processes, quick ? 20 : 250);
  const others = new OthersWatch();
  const cpu = server.processes.cpuMs();
  const crawler = new Crawler(await client.open({ path: DUMP }), crawl);
  let done = false;
  const finish = (): void => {
    done = true;
  };
  const [{ first, total, bytes }, during] = await Promise.all([
    readOnce(server, DUMP).finally(finish),
    askPoints({ ...asking, done: () => done }),
  ]);
  const cpuUsed = server.processes.cpuMs() - cpu;
  const othersShare = others.share(cpuUsed);
  const peak = watch.stop();
  crawler.stop();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const cpuQuiet = server.processes.cpuMs();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const cpuAfter = server.processes.cpuMs() - cpuQuiet;
  await new Promise((resolve) => setTimeout(resolve, quick ? 0 : 9000));
  const after = server.processes.memory();
  // Counting rows takes longer than reading them, so the measured answer is not looked into.
  const dump = await digestOfDump(client, { path: DUMP });
  if (dump.bytes !== bytes) throw new Error(`${DUMP} had ${bytes} bytes, then ${dump.bytes}`);
  const digest = digestOfParts([dump.digest, await digestOfPoints(client, nodes)]);
  client.close();
  const result: StreamResult = {
    nodes,
    rows: dump.rows,
    bytes,
    seconds: total / 1000,
    firstByteMs: first,
    crawledBytes: crawler.bytes,
    idle: waitsOf(idle),
    during: waitsOf(during),
    memory: { before, peak, after },
    cpuSeconds: cpuUsed / 1000,
    cpuAfter,
    others: othersShare,
    digest,
  };
  return { result, memory: watch };
}

function latencyRow(name: string, { count, p50, p95, p99, worst }: Waits): string[] {
  return [name, String(count), show(p50), show(p95), show(p99), show(worst)];
}

/** Memory over time, thinned to a few rows. */
function memoryTable({ samples }: MemoryWatch): string {
  const step = Math.max(1, Math.ceil(samples.length / 20));
  const rows = samples
    .filter((_, i) => i % step === 0 || i === samples.length - 1)
    .map(({ at, pss, anonymous }) => [show(at / 1000), show(pss), show(anonymous)]);
  return table(['second', 'MiB, all', 'MiB, anonymous'], rows);
}

async function run(given: Given): Promise<void> {
  const nodes = given.count('nodes', 1, 1_000_000);
  const crawl = given.number('crawl', 1, 1e6) * 1000;
  const fleet = fleetFor(given);
  const machine = describeRun(given);
  console.log(`${machine}\n${nodes} nodes, ${describeFleet(fleet)}`);
  const server = await serverFor(given);
  try {
    const client = new Client(server, 8);
    const stored = await nodeCount(client);
    if (stored > 0) console.log(`start to running with ${stored} nodes stored: ${show(server.startMs)} ms`);
    if (stored < nodes) await fill(client, { history: new History(fleet), first: stored, end: nodes, runs: ['first'] });
    client.close();

    const { result, memory } = await measure(server, { nodes, quick: given.flag('small'), crawl });
    const { before, peak, after } = result.memory;
    console.log(
      `\nGET ${DUMP}: ${result.rows} rows, ${show(result.bytes / 1e6)} MB in ${show(result.seconds)} s ` +
        `(${show(result.bytes / 1e6 / result.seconds)} MB/s), first byte after ${show(result.firstByteMs)} ms; ` +
        `digest of its rows and of the points ${result.digest}`,
    );
    console.log(
      `beside it a reader that took ${show(result.crawledBytes / 1000)} KB; server ${show(result.cpuSeconds)} s of processor time, ` +
        `${show(result.cpuAfter)} ms in the second after the readers were gone; others used ${show(result.others * 100)} % of the machine`,
    );
    console.log('\nPoint queries, ms:\n');
    const head = ['when', 'asked', 'p50', 'p95', 'p99', 'worst'];
    console.log(table(head, [latencyRow('alone', result.idle), latencyRow('during the streams', result.during)]));
    const memoryRow = (name: string, of: typeof before): string[] => [name, show(of.pss), show(of.anonymous)];
    console.log(
      '\nMemory of the server, MiB (mapped pages of the store count in all, and the system takes them back at will):\n',
    );
    const rows = [memoryRow('before', before), memoryRow('highest', peak), memoryRow('ten seconds after', after)];
    console.log(table(['when', 'all', 'anonymous'], rows));
    console.log(`\n${memoryTable(memory)}`);
    writeResult(given, { machine, fleet: describeFleet(fleet), ...result, samples: memory.samples });
  } finally {
    await server.stop();
  }
  printProfiles(given);
}

export const program: Program = {
  name: 'stream',
  summary: 'Does the dump of all resources cost memory, or other clients their answers?',
  options: {
    nodes: { value: 'N', default: '20000', small: '60', doc: 'nodes; the store is filled up to this number' },
    crawl: { value: 'KB', default: '100', doc: 'kilobytes a second that the slow reader takes' },
    ...manyNodesOptions,
    ...serverOptions,
    ...commonOptions,
  },
  run,
};
