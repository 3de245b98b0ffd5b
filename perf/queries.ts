// How long do queries take, and how does that grow with the store? One server is filled step by step to each size, and at
// each size every query of lib/query-list.ts is asked (lib/timed-query.ts).

import { join } from 'node:path';
import { Client } from './lib/client.ts';
import { digestOfParts } from './lib/digest.ts';
import { geometricMean, show, table } from './lib/figures.ts';
import { describeFleet, fleetFor, manyNodesOptions } from './lib/fleet-options.ts';
import { fill, History } from './lib/load.ts';
import { OthersWatch } from './lib/machine.ts';
import { commonOptions, type Given, type Program, UsageError } from './lib/options.ts';
import { printProfiles } from './lib/profile.ts';
import { type TimedQuery, timedQueries } from './lib/query-list.ts';
import { resultsDir, writeResult, writeText } from './lib/result.ts';
import { describeRun, type Server, serverFor, serverOptions } from './lib/server.ts';
import { nodeCount, type QueryResult, type SizeResult, timeQuery, variablesOf } from './lib/timed-query.ts';

const count = (value: number | null): string => (value === null ? '-' : String(value));

function sizeTable({ queries }: SizeResult): string {
  const head = ['query', 'median ms', 'p95', 'first byte', 'rows', 'KB', 'MB/s', 'CPU ms', 'way', 'digest'];
  const rows = queries.map((q) => [
    q.name,
    show(q.median),
    show(q.p95),
    show(q.firstByte),
    count(q.rows),
    show(q.bytes / 1000),
    show(q.megabytesPerSecond),
    show(q.cpu),
    q.way,
    q.digest ?? '-',
  ]);
  return table(head, rows);
}

/** How times and rows grow from the smallest to the largest size. */
function growthTable(small: SizeResult, large: SizeResult): string {
  const known = new Map(small.queries.map((q) => [q.name, q]));
  const rows: string[][] = [];
  for (const q of large.queries) {
    const before = known.get(q.name);
    if (before === undefined) continue;
    const rowsGrow = q.rows === null || before.rows === null || before.rows === 0 ? Number.NaN : q.rows / before.rows;
    rows.push([
      q.name,
      q.cost,
      show(before.median),
      show(q.median),
      show(q.median / before.median),
      count(before.rows),
      count(q.rows),
      show(rowsGrow),
    ]);
  }
  const [a, b] = [`at ${small.nodes}`, `at ${large.nodes}`];
  return table(
    ['query', 'follows', `ms ${a}`, `ms ${b}`, 'time grows ×', `rows ${a}`, `rows ${b}`, 'rows grow ×'],
    rows,
  );
}

/** Geometric mean of the times' growth for each kind of cost. */
function growthSummary(small: SizeResult, large: SizeResult): string {
  const known = new Map(small.queries.map((q) => [q.name, q.median]));
  const parts: string[] = [];
  for (const cost of ['flat', 'rows', 'scan']) {
    const growths = large.queries
      .filter((q) => q.cost === cost && known.has(q.name))
      .map((q) => q.median / known.get(q.name)!);
    if (growths.length === 0) continue;
    parts.push(`${cost} ${show(geometricMean(growths))} (largest ${show(Math.max(...growths))})`);
  }
  return `time grows, geometric mean by what it follows, for ${show(large.nodes / small.nodes)} times the nodes: ${parts.join(', ')}`;
}

interface Asking {
  readonly queries: readonly TimedQuery[];
  readonly repeat: number;
}

function queriesOf(given: Given): readonly TimedQuery[] {
  const only = given.text('only') ?? '';
  const pattern = patternOf(only);
  const isAsked = ({ name, dump }: TimedQuery): boolean =>
    pattern.test(name) && !(dump === true && given.flag('no-dumps'));
  const queries = timedQueries.filter(isAsked);
  if (queries.length === 0)
    throw new UsageError(`--only takes what a query's name matches, and none matches '${only}'`);
  return queries;
}

function patternOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new UsageError(`--only: ${(error as Error).message}`);
  }
}

async function measureSize(server: Server, { queries: asked, repeat }: Asking, nodes: number): Promise<SizeResult> {
  const client = new Client(server, 1);
  const variables = await variablesOf(client);
  const others = new OthersWatch();
  const cpu = server.processes.cpuMs();
  const queries: QueryResult[] = [];
  for (const query of asked) queries.push(await timeQuery(server, client, query, variables, repeat));
  client.close();
  return { nodes, others: others.share(server.processes.cpuMs() - cpu), queries };
}

async function run(given: Given): Promise<void> {
  const sizes = given.counts('sizes', 10, 1_000_000).sort((a, b) => a - b);
  const fleet = fleetFor(given);
  const history = new History(fleet);
  const asking: Asking = {
    queries: queriesOf(given),
    repeat: given.count('repeat', 1, 10_000),
  };
  const server = await serverFor(given);
  const results: SizeResult[] = [];
  const head = [describeRun(given), `${describeFleet(fleet)}; runs: first, reports only`];
  try {
    const client = new Client(server, 8);
    let stored = await nodeCount(client);
    if (stored > 0) head.push(`start to running with ${stored} nodes stored: ${show(server.startMs)} ms`);
    console.log(head.join('\n'));
    for (const nodes of sizes) {
      if (stored > nodes) {
        console.error(`the store has ${stored} nodes already; ${nodes} is left out`);
        continue;
      }
      if (stored < nodes) await fill(client, { history, first: stored, end: nodes, runs: ['first', 'reports'] });
      stored = nodes;
      const result = await measureSize(server, asking, nodes);
      results.push(result);
      console.log(
        `\n${nodes} nodes (others used ${show(result.others * 100)} % of the machine)\n\n${sizeTable(result)}`,
      );
    }
    client.close();
  } finally {
    await server.stop();
  }
  printProfiles(given);
  const digest = digestOfParts(
    results.flatMap(({ queries }) => queries.map((q) => `${q.name} ${q.rows} ${q.digest}\n`)),
  );
  const growth = growthOf(results);
  if (growth !== null) console.log(`\n${growth}`);
  console.log(`\ndigest of all answers: ${digest}`);
  const file = given.text('markdown') ?? join(resultsDir, `queries-${sizes.join('-')}.md`);
  if (!given.flag('small') || given.text('markdown') !== null) writeText(file, page({ head, growth, results, digest }));
  writeResult(given, {
    machine: head[0],
    fleet: describeFleet(fleet),
    startMs: server.startMs,
    sizes: results,
    digest,
  });
}

/** Of the smallest and the largest number of nodes; null: there was one only. */
function growthOf(results: readonly SizeResult[]): string | null {
  const [small, large] = [results[0], results.at(-1)];
  if (small === undefined || large === undefined || small === large) return null;
  return `${growthTable(small, large)}\n\n${growthSummary(small, large)}`;
}

interface Page {
  readonly head: readonly string[];
  readonly growth: string | null;
  readonly results: readonly SizeResult[];
  readonly digest: string;
}

/** The result as Markdown. */
function page({ head, growth, results, digest }: Page): string {
  const parts = [...head];
  if (growth !== null) parts.push('', '## Growth', '', growth);
  for (const result of results) {
    const others = `Others used ${show(result.others * 100)} % of the machine meanwhile.`;
    parts.push('', `## ${result.nodes} nodes`, '', others, '', sizeTable(result));
  }
  parts.push('', `Digest of all answers: ${digest}`);
  return `# Queries\n\n${parts.join('\n')}\n`;
}

export const program: Program = {
  name: 'queries',
  summary: 'How long do queries of every entity take, which way do they go, and how does that grow with the nodes?',
  options: {
    sizes: {
      value: 'N,N',
      default: '2000,20000',
      small: '10,30',
      doc: 'numbers of nodes; the store is filled up to each in turn',
    },
    repeat: { value: 'N', default: '9', small: '1', doc: 'timed repetitions of a query; at most 3 of a dump' },
    only: { value: 'REGEXP', doc: 'just the queries whose name matches' },
    'no-dumps': { value: null, doc: 'leave out what reads the whole store' },
    markdown: { value: 'FILE', doc: 'where the tables go (perf/results/queries-SIZES.md; nowhere with --small)' },
    ...manyNodesOptions,
    ...serverOptions,
    ...commonOptions,
  },
  run,
};
