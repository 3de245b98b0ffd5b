// Puts the threads to work: the ring of partition actors, then the query pool, and what watches over their memory.

import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import type { Settings } from '../schemas/config.ts';
import type { EngineSettings } from '../workers/actor/engine-host.ts';
import { startRing } from '../workers/ring/start-ring.ts';
import { returnFreedMemory } from '../workers/system/freed-memory.ts';
import { buffersAtRest, collectAtRest } from '../workers/system/heap-at-rest.ts';
import { boundMappedMemory } from '../workers/system/mapped-memory.ts';
import { knowsIdle } from '../workers/system/priority.ts';
import type { CommandRing } from '../workers/types.ts';
import type { Logs } from './log.ts';
import type { ThreadsAhead } from './threads-ahead.ts';

interface ThreadsOptions {
  readonly settings: Settings;
  readonly ahead: ThreadsAhead;
  readonly logs: Logs;
}

export interface Threads {
  readonly ring: CommandRing;
  /** Ends what watches over their memory. */
  readonly stop: () => void;
}

/** Milliseconds that actors wait for the first query thread at most. */
const READY_MS = 2000;

/**
 * Resolves when commands and queries are taken. Queries wait until the first query thread has opened the store; commands wait for the
 * actors, which start after that thread. A partition that does not open keeps no other from working: the status says what is wrong.
 * Rejects when the data directory is in use or damaged; nothing is left running then.
 */
export async function startThreads(options: ThreadsOptions): Promise<Threads> {
  const { settings, ahead } = options;
  let waiting = 0;
  let changes = 0;
  const ring = await startOwnRing(options, (count) => {
    waiting = count;
    changes++;
    ahead.pool.commandsWait(count);
  });
  try {
    ahead.pool.open();
    const { data, mappedMemory, residentMemory } = settings;
    const isApplying = (): boolean => waiting > 0;
    const watches = [
      boundMappedMemory({ dir: data, max: mappedMemory, total: residentMemory, isBusy: isApplying }),
      returnFreedMemory(() => isApplying() || ahead.pool.stats().running > 0),
      collectAtRest({ work: () => changes, ...buffersAtRest(collect) }),
    ];
    const stop = (): void => {
      for (const end of watches) end?.();
    };
    return { ring, stop };
  } catch (error) {
    await ring.stop();
    throw error;
  }
}

/** This context was made before V8 was told to show `gc` (workers/system/v8.ts); a new one has it. */
const collect = (): void => (runInNewContext('gc') as () => void)();

function startOwnRing(
  { settings, ahead, logs }: ThreadsOptions,
  onWaiting: (count: number) => void,
): Promise<CommandRing> {
  const maintenanceLog = logs.area('maintenance');
  const commandLog = logs.area('command');
  if (settings.commandPriority === 'idle' && !knowsIdle()) {
    commandLog.warn('command-priority idle takes Linux and the package koffi: the threads that apply commands get low');
  }
  return startRing({
    dir: settings.data,
    partitions: settings.partitions,
    threads: settings.actorThreads,
    priority: settings.commandPriority,
    actorsAfter: Promise.race([ahead.pool.ready, sleep(READY_MS, undefined, { ref: false })]),
    limits: { waitingMax: settings.enqueuedMax },
    metrics: ahead.registry,
    log: commandLog,
    onWaiting,
    onExpired: (certname) => maintenanceLog.info(`Auto-expired node ${certname}`),
    engine: engineSettings(settings),
  });
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
