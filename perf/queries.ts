// How long do queries take, and how does that grow with the store? One server is filled step by step to each size, and at
// each size every query of lib/query-list.ts is asked, one at a time over one kept connection. The answer's digest and rows
// come from a request that is not timed; `explain=analyze` tells which way the server took.

import { join } from 'node:path';
import { Client } from './lib/client.ts';
import { digestOf, digestOfParts } from './lib/digest.ts';
import { median, quantile, show, table } from './lib/figures.ts';
import { describeFleet, fleetFor, manyNodesOptions } from './lib/fleet-options.ts';
import { fill, History } from './lib/load.ts';
import { OthersWatch } from './lib/machine.ts';
import { commonOptions, type Given, type Program, UsageError } from './lib/options.ts';
import { summarizePlan } from './lib/plan-text.ts';
import { printProfiles } from './lib/profile.ts';
import { type TimedQuery, timedQueries } from './lib/query-list.ts';
import { resultsDir, writeResult, writeText } from './lib/result.ts';
import { RowCounter } from './lib/row-counter.ts';
import { describeRun, type Server, serverFor, serverOptions } from './lib/server.ts';

export interface QueryResult {
  readonly name: string;
  readonly cost: string;
  readonly status: number;
  /** Milliseconds. */
  readonly median: number;
  readonly fastest: number;
  readonly p95: number;
  readonly firstByte: number;
  /** null where the answer is one object. */
  readonly rows: number | null;
  readonly bytes: number;
  readonly megabytesPerSecond: number;
  /** Processor time of the server per query, ms. */
  readonly cpu: number;
  readonly way: string;
  /** null for answers too large to be kept. */
  readonly digest: string | null;
}

export interface SizeResult {
  readonly nodes: number;
  readonly others: number;
  readonly queries: readonly QueryResult[];
}

/** Answers up to this size are parsed and digested; of larger ones the rows are counted. */
const DIGEST_MAX_BYTES = 100e6;
/** Answers beyond this are timed once, and their plans not asked for. */
const REPEAT_MAX_BYTES = 200e6;
const WARM_UP = 2;

type Variables = Readonly<Record<string, string>>;

function filled(value: unknown, variables: Variables): unknown {
  if (typeof value === 'string') return value.replace(/\{(\w+)\}/g, (whole, name: string) => variables[name] ?? whole);
  if (Array.isArray(value)) return value.map((item) => filled(item, variables));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, variables)]));
}

export async function variablesOf(client: Client, certname: string): Promise<Variables> {
  const query = ['extract', ['hash'], ['and', ['=', 'certname', certname], ['=', 'status', 'changed']]];
  const params = { query, order_by: [{ field: 'end_time' }], limit: '1' };
  const rows = (await client.json('/pdb/query/v4/reports', params)) as { hash?: string }[];
  const report = rows[0]?.hash;
  if (report === undefined) throw new Error(`there is no report of ${certname}`);
  return { certname, report };
}

/** Rows and digest of an answer, as far as its size allows. */
async function examine(
  client: Client,
  asked: { path: string; params: Record<string, unknown> },
): Promise<{ rows: number | null; bytes: number; digest: string | null; status: number; text: string }> {
  const counter = new RowCounter();
  let kept: Buffer[] | null = [];
  let size = 0;
  const { status, bytes } = await client.read(asked, (chunk) => {
    counter.push(chunk);
    size += chunk.length;
    if (size > DIGEST_MAX_BYTES) kept = null;
    kept?.push(chunk);
  });
  if (!counter.complete) throw new Error(`${asked.path}: the answer is cut`);
  const text = kept === null ? '' : Buffer.concat(kept).toString('utf8');
  if (status !== 200 || text === '') return { status, bytes, rows: counter.rows, digest: null, text };
  const answer = JSON.parse(text) as unknown;
  const rows = Array.isArray(answer) ? answer.length : null;
  return { status, bytes, text, rows, digest: digestOf(answer).digest };
}

export async function timeQuery(
  server: Server,
  client: Client,
  query: TimedQuery,
  variables: Variables,
  repeat: number,
): Promise<QueryResult> {
  const asked = {
    path: filled(query.path, variables) as string,
    params: filled(query.params ?? {}, variables) as Record<string, unknown>,
  };
  const { rows, bytes, digest, status, text } = await examine(client, asked);
  if (status !== 200) throw new Error(`${query.name}: ${status} ${text.slice(0, 300)}`);
  const huge = bytes > REPEAT_MAX_BYTES;
  const explained =
    asked.path.startsWith('/pdb/query/') && !huge
      ? await client.ask({ path: asked.path, params: { ...asked.params, explain: 'analyze' } })
      : null;
  const times = huge ? 1 : query.dump ? Math.min(repeat, 3) : repeat;
  const warmUp = query.dump ? 0 : Math.min(WARM_UP, repeat - 1);
  for (let i = 0; i < warmUp; i++) await client.read(asked, () => {});
  const totals: number[] = [];
  const firsts: number[] = [];
  const cpu = server.processes.cpuMs();
  for (let i = 0; i < times; i++) {
    const { first, total } = await client.read(asked, () => {});
    totals.push(total);
    firsts.push(first);
  }
  return {
    name: query.name,
    cost: query.cost,
    status,
    median: median(totals),
    fastest: Math.min(...totals),
    p95: quantile(totals, 0.95),
    firstByte: median(firsts),
    rows,
    bytes,
    megabytesPerSecond: bytes / 1000 / median(totals),
    cpu: (server.processes.cpuMs() - cpu) / times,
    way: explained?.status === 200 ? summarizePlan(explained.body.toString('utf8')) : '-',
    digest,
  };
}

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
    const logs = large.queries
      .filter((q) => q.cost === cost && known.has(q.name))
      .map((q) => Math.log(q.median / known.get(q.name)!));
    if (logs.length === 0) continue;
    const mean = Math.exp(logs.reduce((a, b) => a + b, 0) / logs.length);
    parts.push(`${cost} ${show(mean)} (largest ${show(Math.exp(Math.max(...logs)))})`);
  }
  return `time grows, geometric mean by what it follows, for ${show(large.nodes / small.nodes)} times the nodes: ${parts.join(', ')}`;
}

async function measureSize(server: Server, given: Given, nodes: number, certname: string): Promise<SizeResult> {
  const client = new Client(server, 1);
  const only = new RegExp(given.text('only') ?? '');
  const repeat = given.number('repeat', 1, 10_000);
  const variables = await variablesOf(client, certname);
  const others = new OthersWatch();
  const cpu = server.processes.cpuMs();
  const queries: QueryResult[] = [];
  for (const query of timedQueries) {
    if (!only.test(query.name) || (query.dump && given.flag('no-dumps'))) continue;
    queries.push(await timeQuery(server, client, query, variables, repeat));
  }
  client.close();
  return { nodes, others: others.share(server.processes.cpuMs() - cpu), queries };
}

export async function nodeCount(client: Client): Promise<number> {
  const query = ['extract', [['function', 'count']], ['~', 'certname', '.']];
  const rows = (await client.json('/pdb/query/v4/nodes', { query })) as { count: number }[];
  return rows[0]?.count ?? 0;
}

async function run(given: Given): Promise<void> {
  const sizes = given.numbers('sizes', 10, 1_000_000).sort((a, b) => a - b);
  if (sizes.length === 0) throw new UsageError('--sizes takes numbers of nodes');
  const fleet = fleetFor(given);
  const history = new History(fleet);
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
      const onNode = (done: number): void => {
        if (done % 1000 === 0) console.error(`${done} of ${nodes - stored} nodes stored`);
      };
      if (stored < nodes)
        await fill(client, { history, first: stored, end: nodes, runs: ['first', 'reports'], onNode });
      stored = nodes;
      const result = await measureSize(server, given, nodes, fleet.certname(7));
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
  const parts = [...head];
  const [small, large] = [results[0], results.at(-1)];
  if (small !== undefined && large !== undefined && small !== large) {
    const growth = `${growthTable(small, large)}\n\n${growthSummary(small, large)}`;
    console.log(`\n${growth}`);
    parts.push('', '## Growth', '', growth);
  }
  for (const result of results) {
    const others = `Others used ${show(result.others * 100)} % of the machine meanwhile.`;
    parts.push('', `## ${result.nodes} nodes`, '', others, '', sizeTable(result));
  }
  const digest = digestOfParts(
    results.flatMap(({ queries }) => queries.map((q) => `${q.name} ${q.rows} ${q.digest}\n`)),
  );
  console.log(`\ndigest of all answers: ${digest}`);
  parts.push('', `Digest of all answers: ${digest}`);
  const file = given.text('markdown') ?? join(resultsDir, `queries-${sizes.join('-')}.md`);
  if (!given.flag('small') || given.text('markdown') !== null) writeText(file, `# Queries\n\n${parts.join('\n')}\n`);
  writeResult(given, {
    machine: head[0],
    fleet: describeFleet(fleet),
    startMs: server.startMs,
    sizes: results,
    digest,
  });
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
