// What an actor's thread is made with.

import { Worker } from 'node:worker_threads';
import { type ThreadScript, threadScript } from '../system/thread-script.ts';
import { setV8 } from '../system/v8.ts';
import type { ActorData } from './actor.ts';

/** A decoded command is garbage a moment later: with this much room it hardly ever leaves the young generation. */
const YOUNG_GENERATION_MB = 40;

/** The one that the program runs. */
export const actorScript = (): ThreadScript => threadScript('actor-thread', import.meta.url);

export function startActorWorker({ url, execArgv }: ThreadScript, index: number, data: ActorData): Worker {
  setV8();
  return new Worker(url, {
    name: `muster-actor-${index}`,
    workerData: data,
    ...(execArgv === undefined ? {} : { execArgv }),
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
}
