// Gauges whose figures are computed when somebody looks: the population (asked of the store through queries, kept for a
// while), the share of duplicate catalogs, and the two pools that stand for PuppetDB's database connections.

import { ACTIVE_FILTER, ANY_STATE } from '../../../engine/query/resolve/defaults.ts';
import type { MetricsRegistry } from '../../../workers/metrics.ts';
import type { CommandRing } from '../../../workers/types.ts';
import type { Json } from '../../json.ts';
import { type Asker, askNumber, askTotal, countOf, inactiveOf } from '../questions/internal-query.ts';

interface GaugeDeps {
  readonly registry: MetricsRegistry;
  readonly asker: Asker;
  readonly ring: CommandRing;
  /** Queries that are at work or wait for a place. */
  readonly busyQueries: () => number;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  /** Threads that answer queries, threads that apply commands. */
  readonly settings: { readonly queryThreads: number; readonly actorThreads: number };
}

const NODES_KEPT_MS = 5_000;
/** Counting resources and distinct ones reads an index over everything. */
const RESOURCES_KEPT_MS = 60_000;
const FAILURE_KEPT_MS = 5_000;

export function registerGauges(deps: GaugeDeps): void {
  registerPopulation(deps);
  registerPools(deps);
  const { registry } = deps;
  registry.gauge('storage', 'duplicate-pct', () => {
    const fresh = registry.counter('storage', 'new-catalogs').count;
    const duplicates = registry.counter('storage', 'duplicate-catalogs').count;
    return fresh + duplicates === 0 ? 0 : duplicates / (fresh + duplicates);
  });
}

function registerPopulation({ registry, asker, clock }: GaugeDeps): void {
  const nodes = (filter: Json): (() => Promise<number | null>) =>
    kept(clock, NODES_KEPT_MS, () => askNumber(asker, { path: '/nodes', query: countOf(filter) }));
  const active = nodes(ACTIVE_FILTER);
  const all = nodes(ANY_STATE);
  const inactive = async (): Promise<number | null> => {
    const [known, found] = [await active(), await all()];
    return known === null || found === null ? null : inactiveOf(found, known);
  };
  const resources = kept(clock, RESOURCES_KEPT_MS, () =>
    askNumber(asker, { path: '/resources', query: countOf(ANY_STATE) }),
  );
  const distinct = kept(clock, RESOURCES_KEPT_MS, () =>
    askTotal(asker, {
      path: '/resources',
      query: ['extract', ['resource', ['function', 'count']], ANY_STATE, ['group_by', 'resource']],
    }),
  );
  const gauge = (name: string, read: () => Promise<number | null>): void => {
    registry.gauge('population', name, read);
  };
  gauge('num-nodes', active);
  gauge('num-active-nodes', active);
  gauge('num-inactive-nodes', inactive);
  gauge('num-resources', resources);
  gauge('avg-resources-per-node', async () => ratio(await resources(), await all()));
  gauge('pct-resource-dupes', async () => {
    const [total, different] = [await resources(), await distinct()];
    // The two are counted one after the other: a resource may have come between.
    return total === null || different === null ? null : ratio(Math.max(0, total - different), total);
  });
}

/** Names and meaning of a connection pool; a thread here is what a connection is there. */
function registerPools({ registry, ring, busyQueries, settings }: GaugeDeps): void {
  const pools: readonly (readonly [name: string, size: number, wanted: () => number])[] = [
    ['PDBReadPool', settings.queryThreads, busyQueries],
    ['PDBWritePool', settings.actorThreads, () => ring.busyPartitions],
  ];
  for (const [pool, size, wanted] of pools) {
    const gauge = (item: string, read: () => number): void => {
      registry.gauge('database', `${pool}.pool.${item}`, read);
    };
    const active = (): number => Math.min(size, wanted());
    gauge('MaxConnections', () => size);
    gauge('MinConnections', () => size);
    gauge('TotalConnections', () => size);
    gauge('ActiveConnections', active);
    gauge('IdleConnections', () => size - active());
    gauge('PendingConnections', () => Math.max(0, wanted() - size));
  }
}

const ratio = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null ? null : whole === 0 ? 0 : part / whole;

/**
 * Keeps a figure for `keptMs` from when it was had, and lets everyone who asks meanwhile wait for the same question. A
 * figure that cannot be had is null, and is not asked for again at once.
 */
function kept(clock: () => number, keptMs: number, load: () => Promise<number>): () => Promise<number | null> {
  let value: Promise<number | null> | null = null;
  let until = Number.POSITIVE_INFINITY;
  return () => {
    if (value !== null && clock() < until) return value;
    until = Number.POSITIVE_INFINITY;
    value = load().then(
      (figure) => {
        until = clock() + keptMs;
        return figure;
      },
      () => {
        until = clock() + FAILURE_KEPT_MS;
        return null;
      },
    );
    return value;
  };
}
