// The query side of the process: threads (query-threads.ts), each answering several queries side by side, and a bounded line of
// queries that wait for a place.
//
//   run --> waiting line --> piscina task --> query thread --> whole answer as the task's result, or
//                       |                                      head, chunks, end over the thread's port (credit back)
//                       +--> small-queries.ts, in this thread, when it is known to be small
//
// A query that has sent all it may and waits for its client gives its place to the next one, so clients that read slowly do not
// keep others out. When its client takes something it goes on, whether there is a place or not. Only so many are open at once:
// while others wait for that, the slowest clients' are ended.
//
// Handlers are never called from inside `run`, and never again after `cancel`. A thread that dies takes its queries with
// it (500, or an abort behind the head) and is replaced.

import type { QueryRequest, QuerySettings } from '../../engine/query/request.ts';
import { stackOf } from '../../engine/reason.ts';
import { openStoreInfo } from '../../engine/store/file/store-info.ts';
import { type Log, silentLog } from '../log.ts';
import { MetricsRegistry } from '../metrics.ts';
import type { QueryHandle, QueryHandlers, QueryPool } from '../types.ts';
import { lengthOf, PooledQuery } from './pooled-query.ts';
import { QueryActivity } from './query-activity.ts';
import type { AboutQuery, QueryResult, QueryTask, QueryThreadData, ToQueryThread } from './query-messages.ts';
import { type QueryPoolLimits, type QueryPoolOptions, queryPoolLimits } from './query-pool-options.ts';
import { type QueryThread, QueryThreads } from './query-threads.ts';
import { RunningQueries } from './running-queries.ts';
import type { QueryShape, SmallQueries } from './small-queries.ts';

interface QueryPoolStats {
  readonly threads: number;
  /** Of these: those that have come up. */
  readonly up: number;
  readonly running: number;
  /** Of the running ones: those that wait for their clients. */
  readonly parked: number;
  readonly waiting: number;
}

/** The part of its window that a client must have taken before the thread is told. */
const GRANT_SHARE = 1 / 4;
/**
 * Bytes of records that all threads together may keep for their next queries, and each may in any case. The facts' lists and the records
 * of 20,000 nodes are 38 MB; a thread at rest keeps nothing.
 */
const KEPT_MAX = 96 << 20;
const KEPT_MIN = 16 << 20;
const WATCH_MS = 1000;
/** How long running answers get to finish when the pool stops. */
const STOP_MS = 10_000;
/** What clients are told then, and where a thread is gone. */
const SHUTTING_DOWN = 'The server is shutting down';
const UNEXPECTED = 'An unexpected error occurred';

/**
 * The first thread comes up at once; the others once `open` has been called, which needs the data directory (startRing makes it), and the
 * first one has opened the store. Until `open` queries get 503.
 */
export class ThreadQueryPool implements QueryPool {
  readonly #limits: QueryPoolLimits;
  readonly #log: Log;
  readonly #metrics: MetricsRegistry;
  /** Of the queries that are not clients': nobody reads these. */
  readonly #unread = new MetricsRegistry();
  readonly #options: QueryPoolOptions;
  readonly #threadCount: number;
  readonly #places: number;
  readonly #openMax: number;
  readonly #cancelled: Int32Array;
  readonly #activity = new QueryActivity();
  readonly #running: RunningQueries<PooledQuery>;
  /** Of the running ones: those that wait for their clients. */
  #parked = 0;
  /** Queries that wait for a place, in turn. */
  readonly #waiting = new Set<PooledQuery>();
  /** The server's own ones that wait until one more may be open. */
  readonly #ownWaiting = new Set<PooledQuery>();
  readonly #threads: QueryThreads;
  readonly #watch: NodeJS.Timeout;
  /** Null until a query thread has warmed up, which it does in a pause. */
  #small: SmallQueries | null = null;
  /** Queries in query threads that seemed to be small. */
  #smallOnes = 0;
  #onWarm = (): void => {};
  /** Resolves when a query thread has warmed up: not before the store has some nodes. */
  readonly warmedUp = new Promise<void>((resolve) => {
    this.#onWarm = resolve;
  });
  /** The same pool for queries that are not clients': metrics leave them out. */
  readonly uncounted: QueryPool = {
    run: (request, settings, handlers) => this.#run(request, settings, handlers, { metrics: this.#unread }),
  };
  /**
   * The same pool for the few small questions by which the server tells how it is doing: they begin whether there is a place or not,
   * and stand in no line with clients, unless as many queries are open as can be.
   */
  readonly own: QueryPool = {
    run: (request, settings, handlers) => this.#run(request, settings, handlers, { isOwn: true }),
  };
  #isOpen = false;
  #stopping: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;

  constructor(options: QueryPoolOptions) {
    this.#options = options;
    this.#limits = { ...queryPoolLimits, ...options.limits };
    this.#log = options.log ?? silentLog;
    this.#metrics = options.metrics ?? new MetricsRegistry();
    this.#threadCount = Math.max(1, options.threads);
    this.#places = this.#threadCount * this.#limits.perThread;
    this.#openMax = Math.max(this.#places, this.#limits.openMax);
    this.#cancelled = new Int32Array(new SharedArrayBuffer(this.#openMax * 4));
    this.#running = new RunningQueries(this.#openMax);
    this.#threads = this.#startThreads();
    this.#watch = setInterval(
      () => {
        this.#threads.check();
        this.#endSlowest();
      },
      Math.min(WATCH_MS, this.#limits.hangMax / 2),
    );
    this.#watch.unref();
  }

  /** To be called once, when the data directory has been created. Throws when it is of no use. */
  open(): void {
    openStoreInfo(this.#options.dir);
    this.#isOpen = true;
    this.#threads.open();
  }

  /** Resolves when a query thread has come up and, after `open`, has opened the store. */
  get ready(): Promise<void> {
    return this.#threads.ready;
  }

  /** Tells the threads how many commands wait or are being applied. */
  commandsWait(count: number): void {
    this.#activity.commandsWaiting = count;
  }

  stats(): QueryPoolStats {
    return {
      threads: this.#threads.count,
      up: this.#threads.up,
      running: this.#running.size,
      parked: this.#parked,
      waiting: this.#waiting.size + this.#ownWaiting.size,
    };
  }

  /** Queries that are at work or wait for a place; those that wait for their clients do not count. */
  get busyQueries(): number {
    const { running, parked, waiting } = this.stats();
    return running - parked + waiting;
  }

  get #hasPlace(): boolean {
    return this.#running.size - this.#parked < this.#places && !this.#running.isFull;
  }

  run(request: QueryRequest, settings: QuerySettings, handlers: QueryHandlers): QueryHandle {
    return this.#run(request, settings, handlers);
  }

  #run(
    request: QueryRequest,
    settings: QuerySettings,
    handlers: QueryHandlers,
    { metrics = this.#metrics, isOwn = false }: { readonly metrics?: MetricsRegistry; readonly isOwn?: boolean } = {},
  ): QueryHandle {
    const query = new PooledQuery(request, settings, handlers, metrics);
    if (this.#stopping !== null) this.#refuseSoon(query, SHUTTING_DOWN);
    else if (!this.#isOpen) this.#refuseSoon(query, 'the server is starting');
    else if (isOwn ? !this.#running.isFull : this.#hasPlace) this.#begin(query);
    else if (isOwn) this.#ownWaiting.add(query);
    else if (this.#waiting.size < this.#limits.waitingMax) this.#waiting.add(query);
    else this.#refuseSoon(query, 'Too many queries are waiting. Try again later.');
    return {
      grant: (bytes) => this.#grant(query, bytes),
      cancel: () => this.#cancel(query),
    };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  // ------------------------------------------------------------------ a query's life

  #begin(query: PooledQuery): void {
    this.#running.add(query);
    query.began = performance.now();
    query.metrics.timer('database', 'PDBReadPool.pool.Wait').update(query.began - query.came);
    Atomics.store(this.#cancelled, query.flag, 0);
    this.#activity.began();
    query.window = this.#nextWindow();
    query.credit = query.window;
    // Neither idle threads nor their ports keep the process alive; a query does, also one whose thread has just gone.
    this.#watch.ref();
    const small = this.#small;
    const shape = small?.shapeOf(query.request) ?? null;
    query.shape = shape;
    if (small !== null && shape?.isSmall && small.takes(this.#smallOnes)) {
      queueMicrotask(() => this.#answerHere(query, small, shape));
    } else this.#handOver(query);
  }

  #answerHere(query: PooledQuery, small: SmallQueries, shape: QueryShape): void {
    if (query.over) {
      // It was cancelled before its turn.
      this.#leave(query);
      return;
    }
    const result = small.answer(query.request, shape, query.settings);
    if (result === null) this.#handOver(query);
    else this.#resolved(query, result);
  }

  /** To a query thread. */
  #handOver(query: PooledQuery): void {
    query.isSmall = query.shape?.isSmall ?? false;
    if (query.isSmall) this.#smallOnes++;
    const { id, flag, window, request, settings, timeOrigin } = query;
    const task: QueryTask = { id, flag, window, request, settings, timeOrigin };
    this.#threads.run(task).then(
      (result) => {
        const { plan, execute } = result.times;
        query.worked = plan + (execute ?? 0);
        this.#resolved(query, result);
      },
      (error: unknown) => this.#rejected(query, error),
    );
  }

  #nextWindow(): number {
    const { windowSize, windowsMax, chunkSize } = this.#limits;
    return Math.max(Math.min(windowSize, Math.floor(windowsMax / this.#running.size)), chunkSize);
  }

  #resolved(query: PooledQuery, result: QueryResult): void {
    query.settled = true;
    const { answer, plan, times } = result;
    query.plan = plan;
    const { stages } = query.metrics;
    stages.plan.observe(times.plan);
    if (times.execute !== null) stages.execute.observe(times.execute);
    if (answer !== null && !query.over) {
      this.#logFailure(answer.failure);
      query.answer(answer.head);
    }
    // Without one the answer went over the port, and its end may arrive later than this; or it was cancelled.
    if (query.over) this.#leave(query);
  }

  #rejected(query: PooledQuery, error: unknown): void {
    query.settled = true;
    this.#log.error(`query thread: ${stackOf(error)}`);
    if (!query.over) query.fail(UNEXPECTED);
    this.#leave(query);
  }

  #received(thread: QueryThread, message: AboutQuery): void {
    const query = this.#running.get(message.id);
    if (query === undefined || query.over) {
      // Nobody waits for it any more, but the thread has no other way to learn that there is room.
      if ('bytes' in message && !(message.bytes instanceof Uint8Array)) thread.slots.freeAll(message.bytes);
    } else this.#tell(query, thread, message);
    if (query?.over && query.settled) this.#leave(query);
  }

  #tell(query: PooledQuery, { port, slots }: QueryThread, message: AboutQuery): void {
    switch (message.kind) {
      case 'head':
        query.port = port;
        query.headSent = true;
        query.streamed = performance.now();
        query.handlers.onHead(message.head);
        break;
      case 'whole': {
        query.port = port;
        this.#logFailure(message.failure);
        const { bytes } = message;
        if (bytes instanceof Uint8Array) query.answer({ ...message.head, body: bytes });
        else query.answerFrom(slots, message.head, bytes);
        break;
      }
      case 'chunk': {
        const { bytes } = message;
        const isOwn = bytes instanceof Uint8Array;
        const size = isOwn ? bytes.byteLength : lengthOf(bytes);
        query.sent += size;
        this.#addCredit(query, -size);
        if (isOwn) query.handlers.onChunk(bytes);
        else query.chunks(slots, bytes);
        break;
      }
      case 'end':
        query.over = true;
        query.handlers.onEnd();
        break;
      case 'abort':
        this.#logFailure(message.failure);
        query.over = true;
        query.handlers.onAbort(message.text);
        break;
    }
  }

  /** null: it did not fail, or as queries may. */
  #logFailure(failure: string | null): void {
    if (failure !== null) this.#log.error(`query failed: ${failure}`);
  }

  #refuseSoon(query: PooledQuery, text: string): void {
    setImmediate(() => {
      if (query.over) return;
      query.fail(text, 503);
      query.handlers.onLeft?.(null);
    });
  }

  #cancel(query: PooledQuery): void {
    if (query.over) return;
    query.over = true;
    this.#giveUp(query);
    if (query.flag < 0) {
      this.#waiting.delete(query);
      this.#ownWaiting.delete(query);
      query.handlers.onLeft?.(null);
    } else if (query.settled) this.#leave(query);
  }

  /** Tells its thread that it need not go on. */
  #giveUp(query: PooledQuery): void {
    // What it takes will not be known.
    query.shape = null;
    if (query.flag >= 0) Atomics.store(this.#cancelled, query.flag, 1);
    this.#send(query, { kind: 'cancel', id: query.id });
  }

  /** Told when it is worth waking the thread for: it has the rest of its window meanwhile. */
  #grant(query: PooledQuery, bytes: number): void {
    if (query.over) return;
    query.taken += bytes;
    if (query.taken < query.window * GRANT_SHARE) return;
    this.#send(query, { kind: 'grant', id: query.id, bytes: query.taken });
    this.#addCredit(query, query.taken);
    query.taken = 0;
  }

  /** Counts as the query's thread does. */
  #addCredit(query: PooledQuery, bytes: number): void {
    const wasParked = query.credit <= 0;
    query.credit += bytes;
    const isParked = query.credit <= 0;
    if (isParked === wasParked) return;
    if (!isParked) {
      this.#parked--;
      this.#activity.resumed();
      return;
    }
    this.#parked++;
    this.#activity.rested();
    this.#beginWaiting();
  }

  #send(query: PooledQuery, message: ToQueryThread): void {
    if (query.flag >= 0) query.port?.postMessage(message);
  }

  /** Gives the place to the next one. */
  #leave(query: PooledQuery): void {
    if (!this.#running.delete(query)) return;
    if (query.credit <= 0) this.#parked--;
    else this.#activity.rested();
    if (query.isSmall) this.#smallOnes--;
    const now = performance.now();
    query.metrics.histogram('database', 'PDBReadPool.pool.Usage').update(now - query.began);
    if (query.streamed > 0) query.metrics.stages.stream.observe(now - query.streamed);
    if (query.worked !== null) query.shape?.took(query.worked, query.streamed === 0);
    query.handlers.onLeft?.(query.plan);
    this.#beginWaiting();
    if (this.#running.size > 0) return;
    this.#watch.unref();
    this.#onIdle?.();
  }

  /** While queries wait and no more may be open: as many as wait are ended of those that wait for the slowest clients. */
  #endSlowest(): void {
    const wanted = this.#waiting.size + this.#ownWaiting.size;
    if (wanted === 0 || !this.#running.isFull) return;
    const now = performance.now();
    const rate = (query: PooledQuery): number => (query.sent - query.window) / (now - query.streamed);
    const slow = this.#running
      .all()
      .filter((query) => !query.over && query.credit <= 0 && now - query.streamed >= this.#limits.slowMin);
    slow.sort((a, b) => rate(a) - rate(b));
    for (const query of slow.slice(0, wanted)) {
      query.fail('The client is too slow: other queries wait for this one to end');
      this.#giveUp(query);
    }
  }

  #beginWaiting(): void {
    for (const next of this.#ownWaiting) {
      if (this.#running.isFull) return;
      this.#ownWaiting.delete(next);
      this.#begin(next);
    }
    for (const next of this.#waiting) {
      if (!this.#hasPlace) return;
      this.#waiting.delete(next);
      this.#begin(next);
    }
  }

  // ------------------------------------------------------------------ threads

  #startThreads(): QueryThreads {
    const { dir, script } = this.#options;
    const { heapMax, hangMax, chunkSize, stallMax, growthMax } = this.#limits;
    const data: QueryThreadData = {
      dir,
      cancelled: this.#cancelled.buffer as SharedArrayBuffer,
      activity: this.#activity.shared,
      chunkSize,
      stallMax,
      growthMax,
      keptMax: Math.max(KEPT_MIN, KEPT_MAX / this.#threadCount),
    };
    return new QueryThreads({
      count: this.#threadCount,
      openMax: Math.ceil(this.#openMax / this.#threadCount),
      data,
      activity: this.#activity,
      hangMax,
      heapMax,
      script,
      log: this.#log,
      onMessage: (thread, message) => this.#received(thread, message),
      onLost: (thread) => this.#lost(thread),
      onWarm: () => this.#warmed(),
    });
  }

  #warmed(): void {
    this.#onWarm();
    const { dir, script } = this.#options;
    // Other threads do not answer as this one would.
    if (this.#small !== null || script !== undefined) return;
    this.#loadSmall(dir).catch((error: unknown) => this.#log.error(`small queries: ${stackOf(error)}`));
  }

  async #loadSmall(dir: string): Promise<void> {
    const { SmallQueries } = await import('./small-queries.ts');
    if (this.#small !== null || this.#stopping !== null) return;
    this.#small = new SmallQueries({
      dir,
      chunkSize: this.#limits.chunkSize,
      isPressing: () => this.#activity.commandsWaiting > 0,
      log: this.#log,
    });
    await this.#small.warmUp(this.#activity);
  }

  /** Queries that had settled but not told their end end here. */
  #lost({ port }: QueryThread): void {
    for (const query of this.#running.all()) {
      if (query.port !== port || !query.settled) continue;
      if (!query.over) query.fail(UNEXPECTED);
      this.#leave(query);
    }
  }

  /** Ends a thread as a crash would, any one, as soon as it is not in the middle of a slice. For tests and fault drills. */
  killThread(): Promise<void> {
    return this.#threads.kill();
  }

  async #stop(): Promise<void> {
    clearInterval(this.#watch);
    this.#threads.beginStop();
    for (const query of [...this.#ownWaiting, ...this.#waiting]) {
      this.#ownWaiting.delete(query);
      this.#waiting.delete(query);
      query.fail(SHUTTING_DOWN, 503);
      query.handlers.onLeft?.(null);
    }
    await this.#idle();
    for (const query of this.#running.all()) {
      if (!query.over) query.fail(SHUTTING_DOWN, 503);
    }
    await this.#threads.stop();
    await this.#small?.close();
  }

  #idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, STOP_MS);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
