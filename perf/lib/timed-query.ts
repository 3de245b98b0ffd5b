// A query of the list, asked one at a time over one kept connection. The answer's digest and rows come from a request that is not
// timed; `explain=analyze` tells which way the server took.

import type { Client } from './client.ts';
import { digestOf } from './digest.ts';
import { digestOfDump } from './dump-digest.ts';
import { median, quantile } from './figures.ts';
import { certnameOf } from './fleet.ts';
import { summarizePlan } from './plan-text.ts';
import type { TimedQuery } from './query-list.ts';
import { RowCounter } from './row-counter.ts';
import type { Server } from './server.ts';

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

/** Answers up to this size are parsed and digested; of larger ones, but for dumps, the rows are counted. */
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

/** What stands for the names in braces of the list: the same node at every size. */
export async function variablesOf(client: Client): Promise<Variables> {
  const certname = certnameOf(7);
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
  const { rows, bytes, digest, status, text } = query.dump
    ? { ...(await digestOfDump(client, asked)), status: 200, text: '' }
    : await examine(client, asked);
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

export async function nodeCount(client: Client): Promise<number> {
  const query = ['extract', [['function', 'count']], ['~', 'certname', '.']];
  const rows = (await client.json('/pdb/query/v4/nodes', { query })) as { count: number }[];
  return rows[0]?.count ?? 0;
}
