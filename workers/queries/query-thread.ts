// Entry of a query thread (a piscina worker): runs up to some dozens of queries side by side, a slice of work each in turn.
// Every partition is open for reading, so a query is answered by one thread, whatever nodes it is about.

import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { MessageChannel, parentPort, threadId, workerData } from 'node:worker_threads';
import { type OpenRequest, openRequest, type QueryStore } from '../../engine/query/request/run.ts';
import type { QueryHead } from '../../engine/query/request.ts';
import { sampleOf, WarmUp } from '../../engine/query/warm-up.ts';
import { failureText } from '../../engine/reason.ts';
import { dataFileOf } from '../../engine/store/file/layout.ts';
import { openStoreInfo } from '../../engine/store/file/store-info.ts';
import { RecordBudget } from '../../engine/store/items/record-cache.ts';
import type { Partition } from '../../engine/store/partition.ts';
import { openPartitions } from '../../engine/store/store.ts';
import { clockFrom, monotonicMs, stopwatch } from '../system/clock.ts';
import { collectAtRest } from '../system/heap-at-rest.ts';
import { newSlots, SlotWriter } from './answer-slots.ts';
import { MakingWay } from './making-way.ts';
import { QueryActivity } from './query-activity.ts';
import {
  type AnswerBytes,
  type FromQueryThread,
  OPENING,
  type QueryResult,
  type QueryTask,
  type QueryThreadData,
  type QueryThreadHello,
  type ToQueryThread,
} from './query-messages.ts';
import { commandsApplied, compiledForQueries, type WarmingUpOptions, warmUp } from './warming-up.ts';

const data = workerData as QueryThreadData;
const cancelled = new Int32Array(data.cancelled);
const activity = new QueryActivity(data.activity);
/** Since when it works without a pause, in monotonic ms, or 0; and whether it is about to be ended. */
const busySince = new Float64Array(new SharedArrayBuffer(16));
const { port1: port, port2: remote } = new MessageChannel();
const sharedSlots = newSlots();
const slots = new SlotWriter(sharedSlots);
const streams = new Map<number, Stream>();
let partitions: readonly Partition[] | null = null;

/** What a streaming query may still send, and how it sleeps when that is used up. */
class Stream {
  readonly #id: number;
  #credit: number;
  /** Bytes so far. */
  sent = 0;
  #wake: (() => void) | null = null;
  #granted = 0;

  constructor({ id, window }: QueryTask) {
    this.#id = id;
    this.#credit = window;
  }

  get open(): boolean {
    return this.#credit > 0;
  }

  send(bytes: Uint8Array): void {
    this.sent += bytes.byteLength;
    this.#credit -= bytes.byteLength;
    post({ kind: 'chunk', id: this.#id, bytes: carried(bytes) });
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    this.#granted++;
    this.wake();
  }

  wake(): void {
    this.#wake?.();
    this.#wake = null;
  }

  /** Resolves when there is room, or after `ms`; true when the client took something meanwhile. */
  room(ms: number): Promise<boolean> {
    const before = this.#granted;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.wake(), ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(this.#granted > before);
      };
    });
  }
}

const post = (message: FromQueryThread): void => port.postMessage(message);

/** A copy of the bytes on their way to the main thread: in slots, or with their message when too few are free. */
const carried = (bytes: Uint8Array): AnswerBytes => slots.put(bytes) ?? Uint8Array.from(bytes);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Does a slice of work, unless the thread is about to be ended. The pool does not end a thread in here: one that is ended while
 * it is inside lmdb takes the process with it.
 */
function slice<T>(work: () => T): T {
  slices++;
  return look(work);
}

/** The same for what does not count as work: a thread that does nothing else is at rest. */
function look<T>(work: () => T): T {
  busySince[0] = monotonicMs();
  try {
    if (isEnding()) throw new Error('the query thread is being ended');
    return work();
  } finally {
    busySince[0] = 0;
  }
}

const isEnding = (): boolean => busySince[1] !== 0;

/** Only within a slice. */
function openStore(): readonly Partition[] {
  if (partitions !== null) return partitions;
  busySince[0] = OPENING;
  try {
    partitions = openPartitions(data.dir, openStoreInfo(data.dir), {
      readOnly: true,
      budget: new RecordBudget(data.keptMax),
    });
    return partitions;
  } finally {
    busySince[0] = monotonicMs();
  }
}

const step = (query: OpenRequest): Uint8Array | null => slice(() => query.step(data.chunkSize));

/** What a thread that is about to be ended holds goes with it. */
function close(query: OpenRequest): void {
  if (!isEnding()) slice(() => query.close());
}

/** Ends a query whose answer has gone out, or is not wanted. */
function withoutAnswer(query: OpenRequest): QueryResult {
  close(query);
  return { answer: null, plan: query.plan, times: query.times };
}

/** Slices of work so far. */
let slices = 0;

const commands = (): number => look(() => commandsApplied(openStore()));

const beginWarmUp: WarmingUpOptions['begin'] = (sample, budgetMs) =>
  compiledForQueries(new WarmUp({ partitions: slice(openStore), clock: Date.now, stopwatch }, sample, budgetMs), slice);

/** Bytes beyond which an answer is long. */
const LONG_ANSWER = 2 << 20;
const makingWay = new MakingWay({ positions: commands });

/** Share of the heap, as large as it may become, for what queries keep that grows with their rows. */
const ROOM_SHARE = 0.25;
const room = { left: getHeapStatistics().heap_size_limit * ROOM_SHARE };

/** Answers one query. */
export default async function answer(task: QueryTask): Promise<QueryResult> {
  const { id, flag, request, settings, timeOrigin } = task;
  const isCancelled = (): boolean => Atomics.load(cancelled, flag) === 1;
  const clock = clockFrom(timeOrigin + monotonicMs());
  const store: QueryStore = { partitions: slice(openStore), clock, stopwatch, cancelled: isCancelled, room };
  const query = openRequest(request, store, settings);
  let stream: Stream | null = null;
  try {
    let chunk = step(query);
    while (!query.done && query.head === null && !isCancelled()) {
      await nextTurn();
      chunk = step(query);
    }
    if (isCancelled()) return withoutAnswer(query);
    const { head } = query;
    if (head === null) throw new Error('a query ended without a head');
    if (query.done && head.body !== null) {
      if (typeof head.body !== 'string') {
        postWhole(id, head, head.body, failureText(query.failure));
        return withoutAnswer(query);
      }
      return { answer: { head, failure: failureText(query.failure) }, plan: query.plan, times: query.times };
    }
    stream = new Stream(task);
    streams.set(id, stream);
    post({ kind: 'head', id, head });
    const left = await sendBody(query, stream, chunk, { clock, isCancelled });
    if (query.aborted !== null) post({ kind: 'abort', id, text: query.aborted, failure: failureText(query.failure) });
    else if (left !== null) post({ kind: 'abort', id, text: left, failure: null });
    else post({ kind: 'end', id });
    return withoutAnswer(query);
  } finally {
    if (stream === null || stream.sent < LONG_ANSWER) makingWay.served();
    streams.delete(id);
    close(query);
  }
}

function postWhole(id: number, head: QueryHead, body: Uint8Array, failure: string | null): void {
  post({ kind: 'whole', id, head: { ...head, body: null }, bytes: carried(body), failure });
}

/** Milliseconds between two looks at what a waiting query costs. */
const LOOK_MS = 2000;

interface Sending {
  readonly clock: () => number;
  readonly isCancelled: () => boolean;
}

/**
 * Sends chunks as the client takes them, until the query is done or cancelled: null. Otherwise why it is left undone: the client
 * takes nothing, or so slowly that the store has grown by too much, which cannot use pages again that this query still sees.
 */
async function sendBody(
  query: OpenRequest,
  stream: Stream,
  first: Uint8Array | null,
  { clock, isCancelled }: Sending,
): Promise<string | null> {
  let chunk = first;
  let lastTaken = clock();
  /** Bytes of the store when the client first was too slow. */
  let sizeBefore: number | null = null;
  for (;;) {
    if (chunk !== null && chunk.byteLength > 0) stream.send(chunk);
    if (query.done || isCancelled()) return null;
    if (!stream.open) query.rest();
    while (!stream.open) {
      const now = clock();
      // At the deadline the query itself says what there is to say.
      if (now >= query.deadline) break;
      if (now - lastTaken >= data.stallMax) return 'The client took nothing for too long';
      const size = storeSize();
      sizeBefore ??= size;
      if (size - sizeBefore > Math.max(data.growthMax, sizeBefore)) {
        return `The client is too slow: the store has grown by ${size - sizeBefore} bytes meanwhile`;
      }
      const wait = Math.min(query.deadline - now, lastTaken + data.stallMax - now, LOOK_MS);
      if (await stream.room(wait)) lastTaken = clock();
      if (isCancelled()) return null;
    }
    await turnOf(stream);
    chunk = step(query);
  }
}

/** The next slice's turn. */
function turnOf(stream: Stream): Promise<void> {
  const pause = stream.sent < LONG_ANSWER ? 0 : makingWay.pause();
  return pause > 0 ? delay(pause) : nextTurn();
}

/** Bytes of the partitions' files. */
function storeSize(): number {
  let size = 0;
  for (const { dir } of openStore()) size += statSync(dataFileOf(dir)).size;
  return size;
}

function receive(message: ToQueryThread): void {
  if (message.kind === 'open') {
    begin();
    return;
  }
  const stream = streams.get(message.id);
  if (message.kind === 'grant') stream?.grant(message.bytes);
  else stream?.wake();
}

port.on('message', receive);
const hello: QueryThreadHello = {
  kind: 'query-thread',
  thread: threadId,
  port: remote,
  busySince: busySince.buffer as SharedArrayBuffer,
  slots: sharedSlots,
};
// The pool sees to it that threads can ask for a collection.
const { gc } = globalThis;
const collect = (): void => {
  if (gc !== undefined && !isEnding()) slice(gc);
};
const isPressing = (): boolean => activity.commandsWaiting > 0;
const giveUp = (): number => partitions?.[0]?.budget.forget() ?? 0;
if (gc !== undefined) collectAtRest({ work: () => slices, collect, giveUp, isPressing });
// Not from within this module: a thread that has said hello may be ended, and while it loads modules it would take the process with it.
setImmediate(() => parentPort?.postMessage(hello, [remote]));

/** What the thread does of itself, once there is a store. */
function begin(): void {
  try {
    slice(openStore);
  } catch {
    // The first query tries again and tells its client.
  }
  post({ kind: 'ready' });
  const warmingUp = warmUp({
    activity,
    isFirst: () => activity.first === threadId,
    sample: () => (isEnding() ? null : slice(() => sampleOf(openStore()))),
    begin: beginWarmUp,
    commands,
    isEnding,
  });
  warmingUp
    .then((isWarm) => {
      if (!isWarm) return;
      // What it leaves is garbage, and the next burst of commands may come before the thread has been at rest for long.
      collect();
      post({ kind: 'warm' });
    })
    // Nobody waits for it, and what it meets it leaves to the queries of clients, which tell of it.
    .catch(() => {});
}
