// What an actor's thread is made with.

import { MessageChannel, Worker } from 'node:worker_threads';
import { type ThreadScript, threadScript } from '../system/thread-script.ts';
import { setV8 } from '../system/v8.ts';
import type { ActorData } from './actor.ts';

/** A decoded command is garbage a moment later: with this much room it hardly ever leaves the young generation. */
const YOUNG_GENERATION_MB = 40;

/** The one that the program runs. */
export const actorScript = (): ThreadScript => threadScript('actor-thread', import.meta.url);

/** `onEnding` is called when the thread is being taken apart: nothing of its program runs any more, and `exit` may never come. */
export function startActorWorker(
  { url, execArgv }: ThreadScript,
  index: number,
  data: Omit<ActorData, 'lifeline'>,
  onEnding: () => void,
): Worker {
  setV8();
  const { port1, port2: lifeline } = new MessageChannel();
  // Node closes a thread's ports before it waits for anything.
  port1.once('close', onEnding);
  const workerData: ActorData = { ...data, lifeline };
  return new Worker(url, {
    name: `muster-actor-${index}`,
    workerData,
    transferList: [lifeline],
    ...(execArgv === undefined ? {} : { execArgv }),
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
}
