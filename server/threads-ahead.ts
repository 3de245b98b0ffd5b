// What a start begins before it loads most of the server: a query thread takes as long to come up as the rest of the process, and the server
// answers nothing before.

import type { Settings } from '../schemas/config.ts';
import { MetricsRegistry } from '../workers/metrics.ts';
import { ThreadQueryPool } from '../workers/queries/query-pool.ts';
import type { Logs } from './log.ts';

export interface ThreadsAhead {
  readonly registry: MetricsRegistry;
  /** Not open yet. */
  readonly pool: ThreadQueryPool;
}

/** Nothing is done to the data directory. Whoever takes the pool must stop it. */
export function beginThreads(settings: Settings, logs: Logs): ThreadsAhead {
  const registry = new MetricsRegistry();
  const pool = new ThreadQueryPool({
    dir: settings.data,
    threads: settings.queryThreads,
    limits: { waitingMax: settings.waitingQueriesMax },
    metrics: registry,
    log: logs.area('query'),
  });
  return { registry, pool };
}
