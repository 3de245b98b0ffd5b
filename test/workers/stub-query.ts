// Query thread for the tests of the pool: the path says what happens. An answer is the thread's number.

import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel, parentPort, threadId } from 'node:worker_threads';
import { newSlots } from '../../workers/answer-slots.ts';
import { monotonicMs } from '../../workers/clock.ts';
import type { QueryResult, QueryTask } from '../../workers/query-messages.ts';

const { port2: port } = new MessageChannel();
const times = { plan: 1, execute: null };
const busySince = new Float64Array(new SharedArrayBuffer(16));

export default async function answer({ request }: QueryTask): Promise<QueryResult> {
  if (request.path === '/exit') process.exit(3);
  if (request.path === '/throw') throw new Error('thrown on request');
  if (request.path === '/hang') {
    busySince[0] = monotonicMs();
    for (;;);
  }
  if (request.path === '/wait') await sleep(50);
  return {
    answer: { head: { status: 200, contentType: null, headers: [], body: String(threadId) }, failure: null },
    plan: null,
    times,
  };
}

parentPort?.postMessage(
  { kind: 'query-thread', thread: threadId, port, busySince: busySince.buffer, slots: newSlots() },
  [port],
);
