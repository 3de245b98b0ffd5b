// Does anything get slower as the store grows? One server is filled to each size in turn. At each size the same number of
// nodes sends a changed and an unchanged run, and the queries about one thing (lib/query-list.ts, `flat`) are timed. Commands a
// second, processor time per command, query times and memory should stay flat; disk should grow in proportion.

import { join } from 'node:path';
import { Client } from './lib/client.ts';
import { digestOfParts } from './lib/digest.ts';
import { storeBytes } from './lib/disk.ts';
import { geometricMean, median, show, table } from './lib/figures.ts';
import { describeFleet, fleetFor, manyNodesOptions } from './lib/fleet-options.ts';
import { fill, History, prepareRun } from './lib/load.ts';
import { measureRun, type RunPlan, type RunResult } from './lib/measured-run.ts';
import { commonOptions, type Given, type Program, UsageError } from './lib/options.ts';
import { printProfiles } from './lib/profile.ts';
import { timedQueries } from './lib/query-list.ts';
import { resultsDir, writeResult, writeText } from './lib/result.ts';
import { describeRun, type Server, serverFor, serverOptions } from './lib/server.ts';
import { drawCharts } from './lib/svg.ts';
import { nodeCount, type QueryResult, timeQuery, variablesOf } from './lib/timed-query.ts';

interface GrowthResult {
  readonly nodes: number;
  readonly changed: RunResult;
  readonly unchanged: RunResult;
  readonly queries: readonly QueryResult[];
  /** Bytes of the store, without the command log. */
  readonly disk: number;
  /** MiB that are no mapped file, after everything. */
  readonly anonymous: number;
}

const flatQueries = timedQueries.filter(({ cost, dump }) => cost === 'flat' && dump !== true);
/** How many of them a small run asks. */
const SMALL_QUERIES = 8;

async function measureSize(server: Server, history: History, given: Given, nodes: number): Promise<GrowthResult> {
  const small = given.flag('small');
  const senders = given.count('senders', 1, nodes);
  const plan: RunPlan = {
    nodes,
    connections: 8,
    floorSample: Math.min(senders, small ? 1 : 10),
    floorRounds: 1,
    settle: small ? 50 : 1500,
  };
  // The nodes that came last have not sent these runs at a smaller size.
  const first = nodes - senders;
  const changed = await measureRun(server, 'changed', await prepareRun(history, 'changed', first, senders), plan);
  const unchanged = await measureRun(server, 'unchanged', await prepareRun(history, 'unchanged', first, senders), plan);
  const client = new Client(server, 1);
  const variables = await variablesOf(client);
  const queries: QueryResult[] = [];
  for (const query of small ? flatQueries.slice(0, SMALL_QUERIES) : flatQueries)
    queries.push(await timeQuery(server, client, query, variables, small ? 1 : 9));
  client.close();
  const disk = storeBytes(server);
  return { nodes, changed, unchanged, queries, disk, anonymous: server.processes.memory().anonymous };
}

function sizesTable(results: readonly GrowthResult[]): string {
  const head = [
    'nodes',
    'changed/s',
    'CPU ms',
    'unchanged/s',
    'CPU ms',
    'queries ms, geometric mean',
    'median',
    'slowest',
    'MiB anonymous',
    'disk KB per node',
    'others %',
  ];
  const rows = results.map(({ nodes, changed, unchanged, queries, anonymous, disk }) => {
    const times = queries.map((q) => q.median);
    const slowest = queries.reduce((a, b) => (b.median > a.median ? b : a));
    return [
      String(nodes),
      show(changed.processedPerSecond),
      show(changed.cpu),
      show(unchanged.processedPerSecond),
      show(unchanged.cpu),
      show(geometricMean(times)),
      show(median(times)),
      `${slowest.name} ${show(slowest.median)}`,
      show(anonymous),
      show(disk / nodes / 1000),
      show(Math.max(changed.others, unchanged.others) * 100),
    ];
  });
  return table(head, rows);
}

function queriesTable(results: readonly GrowthResult[]): string {
  const head = ['query', ...results.map(({ nodes }) => `ms at ${nodes}`)];
  return table(
    head,
    results[0]!.queries.map(({ name }, i) => [name, ...results.map(({ queries }) => show(queries[i]!.median))]),
  );
}

function charts(results: readonly GrowthResult[]): string {
  const nodes = results.map((result) => result.nodes);
  const of = (title: string, pick: (result: GrowthResult) => number) => ({ title, x: nodes, y: results.map(pick) });
  const all = [
    of('changed run: CPU ms per command', ({ changed }) => changed.cpu),
    of('unchanged run: CPU ms per command', ({ unchanged }) => unchanged.cpu),
    of('queries about one thing: ms, geometric mean', ({ queries }) => geometricMean(queries.map((q) => q.median))),
    of('disk: KB per node', ({ disk, nodes: count }) => disk / count / 1000),
    of('memory that is no mapped file: MiB', ({ anonymous }) => anonymous),
  ];
  return drawCharts(
    'nodes in the store',
    all.filter(({ y }) => y.every(Number.isFinite)),
  );
}

async function run(given: Given): Promise<void> {
  const sizes = given.counts('sizes', 10, 1_000_000).sort((a, b) => a - b);
  const senders = given.count('senders', 1, 1_000_000);
  if (sizes.some((nodes, i) => nodes - (sizes[i - 1] ?? 0) < senders)) {
    throw new UsageError(`--sizes takes numbers that lie ${senders} (--senders) apart at least, the first one from 0`);
  }
  const fleet = fleetFor(given);
  const history = new History(fleet);
  const machine = describeRun(given);
  const shape = `${describeFleet(fleet)}; ${senders} nodes send the measured runs`;
  console.log(`${machine}\n${shape}`);
  const server = await serverFor(given);
  const results: GrowthResult[] = [];
  try {
    const client = new Client(server, 8);
    let stored = await nodeCount(client);
    if (stored > 0) throw new UsageError('growth needs an empty store');
    for (const nodes of sizes) {
      await fill(client, { history, first: stored, end: nodes, runs: ['first'] });
      stored = nodes;
      results.push(await measureSize(server, history, given, nodes));
      console.error(`${nodes} nodes: done`);
    }
    client.close();
  } finally {
    await server.stop();
  }
  const digest = digestOfParts(
    results.flatMap(({ queries, changed, unchanged }) => [
      changed.digest,
      unchanged.digest,
      ...queries.map((q) => `${q.digest}`),
    ]),
  );
  const text = `${sizesTable(results)}\n\n${queriesTable(results)}\n\ndigest of the answers ${digest}`;
  console.log(`\n${text}`);
  if (!given.flag('small')) {
    const base = join(resultsDir, `growth-${sizes.join('-')}`);
    writeText(`${base}.md`, `# Growth\n\n${machine}\n\n${shape}\n\n${text}\n`);
    writeText(`${base}.svg`, charts(results));
  }
  printProfiles(given);
  writeResult(given, { machine, fleet: describeFleet(fleet), sizes: results, digest, svg: charts(results) });
}

export const program: Program = {
  name: 'growth',
  summary: 'Does a command, a point query, a node on disk cost more in a larger store?',
  options: {
    sizes: {
      value: 'N,N',
      default: '1000,10000,50000',
      small: '10,20',
      doc: 'numbers of nodes; the store is filled up to each in turn',
    },
    senders: { value: 'N', default: '150', small: '4', doc: 'nodes that send the measured runs at each size' },
    ...manyNodesOptions,
    ...serverOptions,
    ...commonOptions,
  },
  run,
};
