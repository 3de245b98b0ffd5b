// Query thread for the tests of the pool: the path says what happens. An answer is the thread's number, or that of the first.

import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel, parentPort, threadId, workerData } from 'node:worker_threads';
import { newSlots } from '../../workers/answer-slots.ts';
import { monotonicMs } from '../../workers/clock.ts';
import { QueryActivity } from '../../workers/query-activity.ts';
import type { QueryResult, QueryTask, QueryThreadData } from '../../workers/query-messages.ts';

const { port2: port } = new MessageChannel();
const activity = new QueryActivity((workerData as QueryThreadData).activity);
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
  const thread = request.path === '/first' ? activity.first : threadId;
  return {
    answer: { head: { status: 200, contentType: null, headers: [], body: String(thread) }, failure: null },
    plan: null,
    times,
  };
}

parentPort?.postMessage(
  { kind: 'query-thread', thread: threadId, port, busySince: busySince.buffer, slots: newSlots() },
  [port],
);
