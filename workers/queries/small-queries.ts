// Small queries are answered where they came, in the main thread: a query thread would have to be woken for them, and the main
// thread for their answers, which takes longer than they do (perf/history.md).
//
// Which ones are small is learned from the query threads, by shape: texts that differ in nothing but names with digits are of one shape. A
// query of a shape that was small is tried for one slice of work. One that turns out to be larger begins again in a query thread, as
// do the next ones of its shape, more of them each time. The first one of a shape is never tried.

import { openRequest, SHORT_PIECES } from '../../engine/query/request/run.ts';
import type { QueryRequest, QuerySettings } from '../../engine/query/request.ts';
import { sampleOf, WarmUp } from '../../engine/query/warm-up.ts';
import { failureText, reasonOf } from '../../engine/reason.ts';
import { openStoreInfo } from '../../engine/store/file/store-info.ts';
import { Recent } from '../../engine/store/items/generations.ts';
import { RecordBudget } from '../../engine/store/items/record-cache.ts';
import type { Partition } from '../../engine/store/partition.ts';
import { openPartitions } from '../../engine/store/store.ts';
import type { Log } from '../log.ts';
import { clockFrom, stopwatch } from '../system/clock.ts';
import { collectAtRest } from '../system/heap-at-rest.ts';
import type { QueryActivity } from './query-activity.ts';
import type { QueryResult } from './query-messages.ts';
import { commandsApplied, compiledForQueries, warmingUpTimes, warmUp } from './warming-up.ts';

export interface SmallQueriesOptions {
  /** Data directory. */
  readonly dir: string;
  /** Bytes of the longest answer that is given whole. */
  readonly chunkSize: number;
  /** Whether commands wait: while they are applied, opening the store would wait for actors. */
  readonly isPressing: () => boolean;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly clock?: () => number;
}

/** What queries of one shape take. */
export class QueryShape {
  /**
   * Milliseconds of work in a query thread, the least of late: what is measured includes what other threads take of the processors. It
   * may grow by a tenth with each query.
   */
  #ms = Number.POSITIVE_INFINITY;
  /** So many are left to query threads before one is tried again. */
  #toWait = 0;
  /** So many will be after the next one that fails. */
  #nextWait = 1;

  get isSmall(): boolean {
    return this.#toWait === 0 && this.#ms <= SMALL_MS;
  }

  /** A query thread has answered one: whole or not, after so many milliseconds of work. */
  took(ms: number, isWhole: boolean): void {
    if (this.#toWait > 0) this.#toWait--;
    this.#ms = isWhole ? Math.min(ms, this.#ms * FORGETS) : Number.POSITIVE_INFINITY;
  }

  /** One was tried here, and took no longer than one may, or did. */
  tried(wasSmall: boolean): void {
    if (wasSmall) {
      this.#nextWait = Math.max(1, this.#nextWait / 2);
      return;
    }
    this.#toWait = this.#nextWait;
    this.#nextWait = Math.min(this.#nextWait * 2, WAIT_MAX);
  }
}

const FORGETS = 1.1;
/** Milliseconds of work that a small query takes at most, in a query thread. */
const SMALL_MS = 3;
/** Milliseconds that one may take here before it is left to a query thread. */
const SLICE_MS = 4;
/** Milliseconds after which work ends here that does not come to the end of its slice, such as that of a regular expression. */
const LONG_MS = 16;
const WAIT_MAX = 64;
const CROWDED_MS = 100;
const WARM_UP_MS = 2000;
/** Characters of a request that can be small. */
const LENGTH_MAX = 1000;
/** Shapes that are remembered. */
const SHAPES_MAX = 2000;
/** Bytes of records that the main thread keeps for its next queries, and of what it knows of items by class. */
const KEPT_MAX = 4 << 20;

/** What makes no shape of its own: hashes, times, numbers, most certnames. */
const NAME = /(?<![\w.:+-])[\w.:+-]*\d[\w.:+-]*/g;

/** Null: such a query is none for the main thread. */
export function shapeTextOf({ method, path, queryString, body }: QueryRequest): string | null {
  if (path.length + queryString.length + (body?.length ?? 0) > LENGTH_MAX) return null;
  try {
    const query = decodeURIComponent(queryString.replaceAll('+', ' '));
    return `${method} ${decodeURIComponent(path)} ${query} ${body ?? ''}`.replace(NAME, '#');
  } catch {
    return null;
  }
}

export class SmallQueries {
  readonly #options: SmallQueriesOptions;
  readonly #shapes = new Recent<QueryShape, string>(SHAPES_MAX);
  /** Null: not open yet. Empty: they cannot be opened, or are closed. */
  #partitions: readonly Partition[] | null = null;
  /** One was tried in this turn of the event loop. */
  #hadTurn = false;
  /** Monotonic ms when several last came at a time. */
  #crowded = Number.NEGATIVE_INFINITY;
  #tried = 0;
  #warmingUp: WarmUp | null = null;
  readonly #endRest: () => void;
  readonly #clock: () => number;

  constructor(options: SmallQueriesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? stopwatch;
    this.#endRest = collectAtRest({
      work: () => this.#tried,
      collect: () => {},
      spare: () => 0,
      giveUp: () => this.#partitions?.[0]?.budget.forget() ?? 0,
      isPressing: options.isPressing,
    });
  }

  /** Null: a query of this kind is always left to the query threads. */
  shapeOf(request: QueryRequest): QueryShape | null {
    const text = shapeTextOf(request);
    if (text === null) return null;
    const known = this.#shapes.get(text);
    if (known !== undefined) return known;
    const shape = new QueryShape();
    this.#shapes.set(text, shape);
    return shape;
  }

  /**
   * Whether one is to be tried here, in this turn of the event loop. `others`: so many small ones are in query threads. As long as several
   * come at a time all are left to these, which have processors of their own.
   */
  takes(others: number): boolean {
    if (this.#hadTurn || others > 0) this.#crowded = this.#clock();
    else if (this.#clock() - this.#crowded >= CROWDED_MS && this.#store().length > 0) {
      this.#hadTurn = true;
      setImmediate(() => {
        this.#hadTurn = false;
      });
      return true;
    }
    return false;
  }

  /** The whole answer; null when the query is not as small as it seemed, or wrong: nothing has happened then. */
  answer(request: QueryRequest, shape: QueryShape, settings: QuerySettings): QueryResult | null {
    this.#tried++;
    const end = this.#clock() + LONG_MS;
    const store = {
      partitions: this.#store(),
      clock: clockFrom(Date.now()),
      stopwatch,
      cancelled: () => this.#clock() > end,
      slice: SLICE_MS,
      undivided: SHORT_PIECES,
    };
    const query = openRequest(request, store, { ...settings, regexBudget: Math.min(settings.regexBudget, SLICE_MS) });
    try {
      query.step(this.#options.chunkSize);
      const { head, done, failure, plan, times } = query;
      // Where pages have to come from a disk first, that is the query threads' to wait for.
      shape.tried(done && times.plan + (times.execute ?? 0) <= SLICE_MS);
      // Errors are told by query threads: one may be due to this one's bounds.
      if (!done || head === null || head.body === null || head.status !== 200) return null;
      // Bytes are the query's own, until it is closed.
      const body = typeof head.body === 'string' ? head.body : Uint8Array.from(head.body);
      return { answer: { head: { ...head, body }, failure: failureText(failure) }, plan, times };
    } finally {
      query.close();
    }
  }

  /**
   * Asks itself until its code is compiled, when neither clients nor many commands are there: code that is not takes longer than a small
   * query may. Rejects with what the store throws.
   */
  async warmUp(activity: QueryActivity): Promise<void> {
    await warmUp({
      activity,
      isFirst: () => false,
      sample: () => sampleOf(this.#store()),
      begin: (sample, budget) => {
        const work = new WarmUp({ partitions: this.#store(), clock: Date.now, stopwatch }, sample, budget);
        this.#warmingUp = work;
        return compiledForQueries(work);
      },
      commands: () => commandsApplied(this.#store()),
      isEnding: () => this.#partitions?.length === 0,
      times: { ...warmingUpTimes, budget: WARM_UP_MS },
    });
    this.#warmingUp = null;
  }

  async close(): Promise<void> {
    this.#endRest();
    this.#warmingUp?.rest();
    const open = this.#partitions ?? [];
    this.#partitions = [];
    await Promise.all(open.map((partition) => partition.close()));
  }

  /** Empty: the store is not open, or cannot be opened. */
  #store(): readonly Partition[] {
    if (this.#partitions !== null) return this.#partitions;
    const { dir, isPressing, log } = this.#options;
    if (isPressing()) return [];
    try {
      this.#partitions = openPartitions(dir, openStoreInfo(dir), {
        readOnly: true,
        budget: new RecordBudget(KEPT_MAX, KEPT_MAX),
      });
    } catch (error) {
      log.warn(`the main thread leaves small queries to the query threads: ${reasonOf(error)}`);
      this.#partitions = [];
    }
    return this.#partitions;
  }
}
