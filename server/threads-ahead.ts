// Threads that a start begins before it loads most of the server: they take as long to come up as the rest of the process.

import type { Settings } from '../schemas/config.ts';
import { ActorThreads } from '../workers/actor-threads.ts';
import { MetricsRegistry } from '../workers/metrics.ts';
import { ThreadQueryPool } from '../workers/query-pool.ts';
import type { Logs } from './log.ts';

export interface ThreadsAhead {
  readonly registry: MetricsRegistry;
  readonly actorThreads: ActorThreads;
  /** Not open yet. */
  readonly pool: ThreadQueryPool;
}

/** `partitions`: of the data directory, which nothing is done to. Whoever takes the threads must stop the pool and let the rest go. */
export function beginThreads(settings: Settings, partitions: number, logs: Logs): ThreadsAhead {
  const registry = new MetricsRegistry();
  const actorThreads = new ActorThreads();
  actorThreads.begin(Math.min(settings.actorThreads, partitions));
  const pool = new ThreadQueryPool({
    dir: settings.data,
    threads: settings.queryThreads,
    limits: { waitingMax: settings.waitingQueriesMax },
    metrics: registry,
    log: logs.area('query'),
  });
  return { registry, actorThreads, pool };
}
