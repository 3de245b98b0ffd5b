// Starts the threads: the ring of partition actors and the query pool, with what they need of settings, metrics and log.

import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import type { Settings } from '../schemas/config.ts';
import type { EngineSettings } from '../workers/engine-host.ts';
import { returnFreedMemory } from '../workers/freed-memory.ts';
import { boundMappedMemory } from '../workers/mapped-memory.ts';
import type { MetricsRegistry } from '../workers/metrics.ts';
import type { QueryPoolOptions, ThreadQueryPool } from '../workers/query-pool.ts';
import { startRing } from '../workers/ring.ts';
import type { CommandRing } from '../workers/types.ts';
import type { Logs } from './log.ts';

/**
 * How much a heap may grow between two full collections, in percent. V8 alone lets it more than double, in each thread. Measured
 * with four loads of 1,500 nodes: 40 took 30 MB less memory and 5 % more processor time, 200 took 60 MB more and saved nothing.
 */
const HEAP_GROWTH_PERCENT = 100;

export interface ThreadsOptions {
  readonly settings: Settings;
  readonly registry: MetricsRegistry;
  readonly logs: Logs;
}

export interface Threads {
  readonly ring: CommandRing;
  readonly pool: ThreadQueryPool;
  /** Ends what runs beside them. */
  readonly stop: () => void;
}

/** How long the server waits for its partitions before it goes on without some of them. */
const openMs = 30_000;
const openPollMs = 5;

/**
 * Resolves when all partitions are open; queries that are asked at once wait until the first query thread has come up. A
 * partition that does not open is no reason to keep the others from working: the server then starts, and its status says what is
 * wrong. Rejects when the data directory is in use or damaged; nothing is left running then.
 */
export async function startThreads(options: ThreadsOptions): Promise<Threads> {
  // Of the whole process, and read by each heap when it is made.
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // Lists that outlived a young collection once would be made in the old generation from then on, and, dead there, keep alive all
  // that they refer to until the next full collection.
  setFlagsFromString('--no-allocation-site-pretenuring');
  const ring = await startOwnRing(options);
  try {
    // Loaded while the actors come up; its threads start afterwards: on few cores they would keep each other from coming up.
    const [{ startQueryPool }] = await Promise.all([
      import('../workers/query-pool.ts'),
      untilHealthy(ring, options.logs),
    ]);
    const pool = await startQueryPool(poolOptions(options));
    const { data, mappedMemory, residentMemory } = options.settings;
    const mapped = { dir: data, max: mappedMemory, total: residentMemory };
    const watches = [boundMappedMemory(mapped), returnFreedMemory()];
    const stop = (): void => {
      for (const end of watches) end?.();
    };
    return { ring, pool, stop };
  } catch (error) {
    await ring.stop();
    throw error;
  }
}

function poolOptions({ settings, registry, logs }: ThreadsOptions): QueryPoolOptions {
  const log = logs.area('query');
  const limits = { waitingMax: settings.waitingQueriesMax };
  return { dir: settings.data, threads: settings.queryThreads, limits, metrics: registry, log };
}

function startOwnRing({ settings, registry, logs }: ThreadsOptions): Promise<CommandRing> {
  const maintenanceLog = logs.area('maintenance');
  return startRing({
    dir: settings.data,
    partitions: settings.partitions,
    threads: settings.actorThreads,
    limits: { waitingMax: settings.enqueuedMax },
    metrics: registry,
    log: logs.area('command'),
    onExpired: (certname) => maintenanceLog.info(`Auto-expired node ${certname}`),
    engine: engineSettings(settings),
  });
}

async function untilHealthy(ring: CommandRing, logs: Logs): Promise<void> {
  const deadline = performance.now() + openMs;
  while (!ring.healthy) {
    if (performance.now() > deadline) {
      logs.area('store').error('some partitions are still not open; the server starts without them');
      return;
    }
    await sleep(openPollMs);
  }
}

function engineSettings(settings: Settings): EngineSettings {
  return {
    nodeTtl: settings.nodeTtl,
    nodePurgeTtl: settings.nodePurgeTtl,
    reportTtl: settings.reportTtl,
    resourceEventsTtl: settings.resourceEventsTtl,
    factsBlocklist: settings.factsBlocklist,
    factsBlocklistType: settings.factsBlocklistType,
    decompressedMax: settings.decompressedMax,
  };
}
