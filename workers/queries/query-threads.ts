// The threads that answer queries: a piscina pool whose first thread comes up alone, and what becomes of a thread that dies or hangs.

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { stackOf } from '../../engine/reason.ts';
import type { Log } from '../log.ts';
import { monotonicMs } from '../system/clock.ts';
import { type ThreadScript, threadScript } from '../system/thread-script.ts';
import { setV8 } from '../system/v8.ts';
import { SlotReader } from './answer-slots.ts';
import type { QueryActivity } from './query-activity.ts';
import {
  type AboutQuery,
  type FromQueryThread,
  OPENING,
  type QueryResult,
  type QueryTask,
  type QueryThreadData,
  type QueryThreadHello,
  type ToQueryThread,
} from './query-messages.ts';

interface QueryThreadsOptions {
  /** At least one. */
  readonly count: number;
  /** Queries that one thread has begun and not ended, whatever they wait for. */
  readonly openMax: number;
  readonly data: QueryThreadData;
  readonly activity: QueryActivity;
  /** Milliseconds one slice of work may take before its thread counts as hung. */
  readonly hangMax: number;
  /** MiB of a thread's heap; 0: Node's default. */
  readonly heapMax: number;
  /** Tests only: another thread entry. */
  readonly script: ThreadScript | undefined;
  readonly log: Log;
  onMessage(thread: QueryThread, message: AboutQuery): void;
  /** The thread is gone. Its tasks are rejected. */
  onLost(thread: QueryThread): void;
  /** A thread has warmed up: not before the store has some nodes. */
  onWarm(): void;
}

export interface QueryThread {
  readonly id: number;
  readonly port: MessagePort;
  readonly slots: SlotReader;
  /** Monotonic ms since when it has been at a slice of work, or 0, or `OPENING`; and whether it is to begin no further one. */
  readonly busySince: Float64Array;
}

const OPEN: ToQueryThread = { kind: 'open' };
/** Half of Node's default: 8 MB a thread less at the peak, and queries as fast. */
const YOUNG_GENERATION_MB = 24;
/** A slice of work is over after some milliseconds. */
const STUCK_MS = 100;
/** How long a thread may take to come up, or to come to a pause, before it is ended. */
const COME_UP_MS = 30_000;
const PAUSE_MS = 5000;
/** Milliseconds that ended threads have to be gone. */
const END_MS = 5000;

/** The first thread comes up at once, the others once `open` has been called and the first one has opened the store. */
export class QueryThreads {
  readonly #options: QueryThreadsOptions;
  readonly #threads = new Map<number, QueryThread>();
  #pool: Piscina;
  #isOpen = false;
  #isStopping = false;
  #onReady = (): void => {};
  /** Resolves when a thread has come up and, after `open`, has opened the store. */
  readonly ready = new Promise<void>((resolve) => {
    this.#onReady = resolve;
  });

  constructor(options: QueryThreadsOptions) {
    this.#options = options;
    this.#pool = this.#start();
  }

  /** Threads that have been started. */
  get count(): number {
    return this.#pool.threads.length;
  }

  /** Of these: those that have come up. */
  get up(): number {
    return this.#threads.size;
  }

  /** The store is there. */
  open(): void {
    this.#isOpen = true;
    for (const { port } of this.#threads.values()) port.postMessage(OPEN);
  }

  /** What the task's thread gives in the end; rejects when the thread dies. */
  run(task: QueryTask): Promise<QueryResult> {
    return this.#pool.run(task) as Promise<QueryResult>;
  }

  /** Whether the thread has been at one slice of work for so long that a query given to it would wait. */
  #isStuck(id: number): boolean {
    const since = this.#threads.get(id)?.busySince[0] ?? 0;
    return since !== 0 && since !== OPENING && monotonicMs() - since > STUCK_MS;
  }

  /** Starts what is missing, and ends threads that have been at one slice of work for too long. To be called now and then. */
  check(): void {
    if (this.#pool.threads.length === 0) this.#startAnew();
    this.#complete();
    const now = monotonicMs();
    for (const { id, busySince } of this.#threads.values()) {
      const since = busySince[0]!;
      if (since === 0 || since === OPENING || now - since < this.#options.hangMax) continue;
      this.#options.log.error(
        `query thread ${id} has been busy with one slice for ${Math.round(now - since)} ms and is ended`,
      );
      this.#end(id);
    }
  }

  /** Ends a thread as a crash would, any one, as soon as it is not in the middle of a slice. For tests and fault drills. */
  async kill(): Promise<void> {
    const [thread] = this.#threads.values();
    if (thread === undefined) return;
    await this.#resting(() => [thread]);
    if (!isOpening(thread)) this.#end(thread.id);
  }

  /** No thread is started any more. */
  beginStop(): void {
    this.#isStopping = true;
  }

  /**
   * Ends all threads, each when it is not in the middle of a slice, or after some time. One that was ended in the middle may never be gone. If
   * one is still opening the store after a long wait, all are left as they are: the process is about to end.
   */
  async stop(): Promise<void> {
    this.beginStop();
    await this.#resting(() => (this.up >= this.count ? [...this.#threads.values()] : null));
    if ([...this.#threads.values()].some(isOpening)) {
      this.#options.log.error('a query thread cannot open the store; it is not waited for any more');
      for (const worker of this.#pool.threads) worker.unref();
      return;
    }
    const gone = new AbortController();
    const waited = sleep(END_MS, undefined, { signal: gone.signal }).catch(() => {});
    await Promise.race([this.#pool.destroy(), waited]);
    gone.abort();
    for (const { port } of this.#threads.values()) port.close();
  }

  #start(): Piscina {
    const {
      data,
      openMax,
      count,
      heapMax,
      log,
      script = threadScript('query-thread', import.meta.url),
    } = this.#options;
    setV8();
    const pool = new Piscina({
      filename: fileURLToPath(script.url),
      minThreads: 1,
      maxThreads: count,
      concurrentTasksPerWorker: openMax,
      loadBalancer: (task, workers) =>
        task.isAbortable ? null : leastBusy(workers, openMax, (id) => this.#isStuck(id)),
      idleTimeout: Number.POSITIVE_INFINITY,
      // A thread that blocks while it is idle runs no timers: lmdb would never let go of its last read transaction, the next
      // query would get that old snapshot, and its pages could not be used again.
      atomics: 'disabled',
      workerData: data,
      ...(script.execArgv === undefined ? {} : { execArgv: script.execArgv }),
      resourceLimits: {
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
        ...(heapMax === 0 ? {} : { maxOldGenerationSizeMb: heapMax }),
      },
    });
    pool.on('message', (message: QueryThreadHello) => {
      if (message?.kind === 'query-thread') this.#met(message);
    });
    pool.on('error', (error: Error) => log.error(`query thread: ${stackOf(error)}`));
    return pool;
  }

  #met({ thread: id, port, busySince, slots }: QueryThreadHello): void {
    const thread: QueryThread = { id, port, busySince: new Float64Array(busySince), slots: new SlotReader(slots) };
    this.#threads.set(id, thread);
    this.#tellFirst();
    port.on('message', (message: FromQueryThread) => {
      if (message.kind === 'ready') this.#readied();
      else if (message.kind === 'warm') this.#options.onWarm();
      else this.#options.onMessage(thread, message);
    });
    port.on('close', () => this.#lost(thread));
    // The pool decides how long the process lives, not the ports of its idle threads.
    port.unref();
    if (this.#isOpen) port.postMessage(OPEN);
  }

  #readied(): void {
    this.#onReady();
    this.#complete();
  }

  /**
   * Starts the threads that are missing, once one has come up: on few cores the others would keep it from that, and so the
   * first query from its answer. A pool starts a thread for a task that finds no place, so tasks are given to it that find none
   * and are taken back.
   */
  #complete(): void {
    if (!this.#isOpen || this.#threads.size === 0 || this.#isStopping) return;
    for (let count = this.count; count < this.#options.count; count++) {
      const task = new AbortController();
      this.#pool.run(null, { signal: task.signal }).catch(() => {});
      task.abort();
    }
  }

  #lost(thread: QueryThread): void {
    this.#threads.delete(thread.id);
    this.#tellFirst();
    this.#options.onLost(thread);
  }

  #tellFirst(): void {
    this.#options.activity.first = this.#threads.size === 0 ? 0 : Math.min(...this.#threads.keys());
  }

  #end(id: number): void {
    for (const worker of this.#pool.threads) if (worker.threadId === id) void worker.terminate();
  }

  /** A pool whose threads died while they started does not start others. */
  #startAnew(): void {
    this.#options.log.error('all query threads are gone; starting new ones');
    const old = this.#pool;
    this.#pool = this.#start();
    void old.destroy();
  }

  /**
   * Resolves when the threads are there (`null`: not yet), are at no slice and will begin none, or when that takes too long. They
   * see within a few milliseconds that they are to begin none.
   */
  async #resting(threadsWanted: () => readonly QueryThread[] | null): Promise<void> {
    const began = performance.now();
    for (;;) {
      const threads = threadsWanted();
      for (const { busySince } of threads ?? this.#threads.values()) busySince[1] = 1;
      await sleep(5);
      if (threads?.every(({ busySince }) => busySince[0] === 0)) return;
      const isComing = threads === null || threads.some(isOpening);
      if (performance.now() - began > (isComing ? COME_UP_MS : PAUSE_MS)) return;
    }
  }
}

const isOpening = ({ busySince }: QueryThread): boolean => busySince[0] === OPENING;

interface Busy {
  readonly id: number;
  readonly currentUsage: number;
}

/**
 * The thread with the fewest queries; null: all have `usageMax`. Those that have been at one slice for long come last. Of several with as
 * few, the one with the lowest number: it warms up before the others (warming-up.ts).
 */
export function leastBusy<Worker extends Busy>(
  workers: readonly Worker[],
  usageMax: number,
  isStuck: (id: number) => boolean,
): Worker | null {
  const able = workers.filter(({ currentUsage }) => currentUsage < usageMax);
  const free = able.length > 1 ? able.filter(({ id }) => !isStuck(id)) : able;
  let found: Worker | null = null;
  for (const worker of free.length > 0 ? free : able) {
    const { currentUsage, id } = worker;
    const isBetter =
      found === null || currentUsage < found.currentUsage || (currentUsage === found.currentUsage && id < found.id);
    if (isBetter) found = worker;
  }
  return found;
}
