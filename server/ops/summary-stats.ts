// /pdb/admin/v1/summary-stats: figures about what is stored, for support. Computed when asked, through the query path, and
// slow on a large store. Members that describe PostgreSQL's own statistics hold the closest there is: row counts by table,
// no indexes, one line about the database. A figure that cannot be had is left empty and logged.

import { ACTIVE_FILTER, ANY_STATE } from '../../engine/query/resolve/defaults.ts';
import type { Exchange } from '../http/exchange.ts';
import { prettyReply } from '../http/replies.ts';
import { isJsonMap, type Json } from '../json.ts';
import type { Logger } from '../log.ts';
import { type Asker, askNumber, askRows, askTotal, countOf, inactiveOf } from './questions/internal-query.ts';

export interface SummaryDeps {
  readonly asker: Asker;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly log: Logger;
  /** Product version as clients of PuppetDB expect it. */
  readonly version: string;
}

type Figure = (asker: Asker) => Promise<readonly Json[]>;

const all = (...clauses: readonly Json[]): Json => ['and', ANY_STATE, ...clauses];
const COUNT: Json = ['function', 'count'];
const allReports = all(['null?', 'type', false]);

/** Table of the reference server, and what of ours is counted for it. */
const tables: readonly (readonly [name: string, path: string, filter: Json])[] = [
  ['certnames', '/nodes', ANY_STATE],
  ['catalogs', '/catalogs', ANY_STATE],
  ['catalog_resources', '/resources', ANY_STATE],
  ['factsets', '/factsets', ANY_STATE],
  ['reports', '/reports', allReports],
];

const figures: Readonly<Record<string, Figure>> = {
  table_usage: async (asker) => {
    const rows: Json[] = [];
    for (const [relname, path, filter] of tables) {
      const live = await askNumber(asker, { path, query: countOf(filter) });
      rows.push({ schemaname: 'public', relname, n_live_tup: live });
    }
    return rows;
  },
  index_usage: async () => [],
  node_activity: async (asker) => {
    const active = await askNumber(asker, { path: '/nodes', query: countOf(ACTIVE_FILTER) });
    const all = await askNumber(asker, { path: '/nodes', query: countOf(ANY_STATE) });
    const rows = [
      { count: active, active: true },
      { count: inactiveOf(all, active), active: false },
    ];
    return rows.filter(({ count }) => count > 0);
  },
  fact_path_counts_by_depth: async (asker) => {
    const counts = new Map<number, number>();
    for await (const text of askRows(asker, { path: '/fact-paths' })) {
      const row = JSON.parse(text) as Json;
      const path = isJsonMap(row) ? row['path'] : undefined;
      const depth = Array.isArray(path) ? path.length - 1 : 0;
      counts.set(depth, (counts.get(depth) ?? 0) + 1);
    }
    return [...counts].sort(([a], [b]) => a - b).map(([depth, found]) => ({ depth, count: found }));
  },
  report_metric_size_dist: (asker) => sizeQuantiles(asker, 'metrics'),
  report_log_size_dist: (asker) => sizeQuantiles(asker, 'logs'),
  num_resources_per_node: (asker) => countQuantiles(asker, 'certname', ANY_STATE),
  num_resources_per_file: (asker) => countQuantiles(asker, 'file', all(['null?', 'file', false])),
  file_resources_per_catalog: (asker) => countQuantiles(asker, 'certname', all(['=', 'type', 'File'])),
  file_resources_per_catalog_with_source: (asker) =>
    countQuantiles(asker, 'certname', all(['=', 'type', 'File'], ['null?', 'parameters.source', false])),
  num_distinct_edges_source_target: async (asker) => {
    const ends = ['source_type', 'source_title', 'target_type', 'target_title'];
    const query: Json = ['extract', [...ends, COUNT], ANY_STATE, ['group_by', ...ends]];
    return [{ count: await askTotal(asker, { path: '/edges', query }) }];
  },
};

export async function answerSummaryStats(exchange: Exchange, deps: SummaryDeps): Promise<void> {
  const stats: Record<string, Json> = {};
  for (const [name, figure] of Object.entries(figures)) {
    if (exchange.aborted) return;
    try {
      stats[name] = await figure(deps.asker);
    } catch (error) {
      deps.log.warn({ err: error }, `summary-stats: no ${name}`);
      stats[name] = [];
    }
  }
  stats['database_usage'] = [{ current_time: new Date(deps.clock()).toISOString(), datname: 'muster' }];
  stats['version'] = deps.version;
  exchange.reply(prettyReply(200, stats as { [name: string]: Json }));
}

async function countQuantiles(asker: Asker, group: string, filter: Json): Promise<readonly Json[]> {
  const query: Json = ['extract', [COUNT, group], filter, ['group_by', group]];
  const counts: number[] = [];
  for await (const text of askRows(asker, { path: '/resources', query })) {
    counts.push((JSON.parse(text) as { readonly count: number }).count);
  }
  return [{ quantiles: quantiles(counts) }];
}

/** What a part of each report takes in the store. */
async function sizeQuantiles(asker: Asker, part: 'metrics' | 'logs'): Promise<readonly Json[]> {
  const sizes: number[] = [];
  for await (const size of askRows(asker, { api: 'internal', path: `/report-sizes/${part}` })) {
    if (size !== 'null') sizes.push(Number(size));
  }
  return [{ quantiles: quantiles(sizes) }];
}

/** 0 %, 5 %, … 100 %, interpolated between neighbours; null without data. */
function quantiles(values: number[]): number[] | null {
  if (values.length === 0) return null;
  values.sort((a, b) => a - b);
  return Array.from({ length: 21 }, (_, step) => {
    const place = (step / 20) * (values.length - 1);
    const below = Math.floor(place);
    const low = values[below]!;
    const high = values[Math.min(below + 1, values.length - 1)]!;
    return low + (high - low) * (place - below);
  });
}
