// Query thread for the tests of the pool: the path says what happens. An answer is the thread's number, or what threads are told.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel, parentPort, threadId, workerData } from 'node:worker_threads';
import { newSlots } from '../../../workers/queries/answer-slots.ts';
import { QueryActivity } from '../../../workers/queries/query-activity.ts';
import type { QueryResult, QueryTask, QueryThreadData } from '../../../workers/queries/query-messages.ts';
import { monotonicMs } from '../../../workers/system/clock.ts';

const { port1: port, port2: remote } = new MessageChannel();
const activity = new QueryActivity((workerData as QueryThreadData).activity);
const times = { plan: 1, execute: null };
const busySince = new Float64Array(new SharedArrayBuffer(16));

export default async function answer({ id, request, window }: QueryTask): Promise<QueryResult> {
  if (request.path === '/exit') process.exit(3);
  if (request.path === '/throw') throw new Error('thrown on request');
  if (request.path === '/hang') {
    busySince[0] = monotonicMs();
    for (;;);
  }
  if (request.path === '/wait') await sleep(50);
  if (request.path === '/long') await sleep(700);
  const head = { status: 200, contentType: null, headers: [], body: null };
  if (request.path === '/window') {
    port.postMessage({ kind: 'head', id, head });
    port.postMessage({ kind: 'chunk', id, bytes: new Uint8Array(window) });
    await once(port, 'message');
    port.postMessage({ kind: 'end', id });
    return { answer: null, plan: null, times };
  }
  const told: Record<string, number> = { '/first': activity.first, '/running': activity.running };
  const body = String(told[request.path] ?? threadId);
  return { answer: { head: { ...head, body }, failure: null }, plan: null, times };
}

// It has no store to open.
port.on('message', () => {}).unref();
parentPort?.postMessage(
  { kind: 'query-thread', thread: threadId, port: remote, busySince: busySince.buffer, slots: newSlots() },
  [remote],
);
