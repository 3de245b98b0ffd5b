// What an actor's thread is made with.

import { Worker } from 'node:worker_threads';
import type { ActorData } from './actor.ts';
import type { ThreadScript } from './thread-script.ts';
import { setV8 } from './v8.ts';

/** A decoded command is garbage a moment later: with this much room it hardly ever leaves the young generation. */
const YOUNG_GENERATION_MB = 40;

export function startActorWorker({ url, execArgv }: ThreadScript, index: number, data: ActorData): Worker {
  setV8();
  return new Worker(url, {
    name: `muster-actor-${index}`,
    workerData: data,
    ...(execArgv === undefined ? {} : { execArgv }),
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
}
