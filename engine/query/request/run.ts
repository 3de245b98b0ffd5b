// One query from request to answer, driven from outside in slices: match the route, make its checks, read and resolve the
// query, execute it, frame and encode the rows. Nothing is handed out before it is known that the answer begins well: until
// the first chunk is taken every error is a proper error answer; after it the answer can only be broken off.
//
//   request -> route -> checks (parameters, parents) -> resolve -> execute -> chunks

import type { Check } from '../../../schemas/query-routes.ts';
import { ByteWriter, SpareMemory, TooLong } from '../../bytes.ts';
import { DAMAGE_ADVICE } from '../../store/file/data-file.ts';
import { tellsOfDamage } from '../../store/file/lmdb.ts';
import type { Partition } from '../../store/partition.ts';
import { badQuery, QueryError } from '../errors.ts';
import { planOf, type QueryPlan } from '../exec/explain.ts';
import { Cancelled, ExecContext } from '../exec/plan/context.ts';
import { JSON_TYPE, type QueryHead, type QueryRequest, type QuerySettings, TEXT_TYPE } from '../request.ts';
import { answer } from './answer.ts';
import { type AnswerInput, notFound } from './answer-input.ts';
import { ListBody, OneBody, type StreamedBody } from './body.ts';
import { exists } from './lookups.ts';
import { type QueryParams, readParams } from './params.ts';
import { matchRoute, type RouteMatch } from './route.ts';

/** Where a query reads and how it learns about time and its client. */
export interface QueryStore {
  readonly partitions: readonly Partition[];
  /** Epoch ms. */
  readonly clock: () => number;
  /** Monotonic milliseconds with fractions, for the times in plans. Default: `clock`. */
  readonly stopwatch?: () => number;
  /** Milliseconds of work per step: how long a short query waits, at most, for each long one in its thread. Default: 5. */
  readonly slice?: number;
  /** true once nobody waits for the answer; looked at between slices of work. Default: never. */
  readonly cancelled?: () => boolean;
  /** Bytes for what all queries of the thread keep that grows with their rows. Default: any. */
  readonly room?: { left: number };
  /** Of what is done without a pause: a query that needs more ends with an error. Default: any. */
  readonly undivided?: UndividedBounds;
}

/** Bytes. */
export interface UndividedBounds {
  /** Of one item that is looked at. */
  readonly itemMax: number;
  /** Of what is written in one go, as one row is. */
  readonly writtenMax: number;
}

/** What takes some milliseconds. `writtenMax` is the size of a part where the answer is one thing (`OneBody`). */
export const SHORT_PIECES: UndividedBounds = { itemMax: 128 << 10, writtenMax: 1 << 20 };

/** Milliseconds of work, pauses left out. */
export interface QueryTimes {
  /** Reading the request, up to a tree whose names and values are known to be good. */
  readonly plan: number;
  /** What came after that; null: nothing did. */
  readonly execute: number | null;
}

export interface OpenRequest {
  /**
   * Does one bounded slice of work and returns the next part of the body, or null when there is none yet. Never throws. The part is
   * valid until the next step. `bytesMax` is a wish: a part may be larger by one row, and has a megabyte where the answer is one thing.
   */
  step(bytesMax?: number): Uint8Array | null;
  /** Null until it is settled; settled before the first chunk is returned and at the latest when `done`. */
  readonly head: QueryHead | null;
  /** Nothing more will come: after an answer that is complete, or after `aborted`. */
  readonly done: boolean;
  /** Set when the answer broke off behind its head: text for the end of the truncated body. */
  readonly aborted: string | null;
  /** Epoch ms after which the next step ends the answer; lets the owner give up on a client that takes nothing. */
  readonly deadline: number;
  /** What went wrong inside, for the log; null for mistakes of the client. */
  readonly failure: unknown;
  /** What a slow query did, once it is done; null for others (`planAfter` of the settings). */
  readonly plan: QueryPlan | null;
  /** Of all steps so far. */
  readonly times: QueryTimes;
  /** Gives up memory that the next step can do without, also that of the last part: for a query that will wait. */
  rest(): void;
  /** Gives up what the query holds, also the bytes of its answer. Idempotent; `done` afterwards. */
  close(): void;
}

/** Body bytes per chunk unless the caller says otherwise. */
const CHUNK_BYTES = 128 * 1024;
const SLICE_MS = 5;
/** What a thread's answers are put together in. */
const spareMemory = new SpareMemory(4, 1 << 20);

/** Opens a query. Nothing has happened when this returns: every step does its share. */
export function openRequest(request: QueryRequest, store: QueryStore, settings: QuerySettings): OpenRequest {
  return new RunningRequest(request, store, settings);
}

const SYNC_ORIGINS = new Set(['puppet:puppetdb-sync-batch', 'puppet:puppetdb-sync-summary']);

class RunningRequest implements OpenRequest {
  readonly #request: QueryRequest;
  readonly #store: QueryStore;
  readonly #settings: QuerySettings;
  readonly #work: Generator<undefined, QueryHead | null>;
  readonly #headers: [string, string][] = [];
  readonly #stopwatch: () => number;
  /** Milliseconds of the steps that are over; when the present one began. */
  #worked = 0;
  #stepBegan = 0;
  /** Milliseconds of work after which the query was resolved; null: it is not. */
  #planned: number | null = null;
  #ctx: ExecContext | null = null;
  #body: StreamedBody | null = null;
  /** Of the answer. */
  readonly #writers: ByteWriter[] = [];
  #sizeMax = CHUNK_BYTES;
  /** Epoch ms; none before the parameters have been read. */
  #deadline = Number.POSITIVE_INFINITY;
  #origin: string | null = null;
  head: QueryHead | null = null;
  done = false;
  aborted: string | null = null;
  failure: unknown = null;
  plan: QueryPlan | null = null;

  constructor(request: QueryRequest, store: QueryStore, settings: QuerySettings) {
    this.#request = request;
    this.#store = store;
    this.#settings = settings;
    this.#stopwatch = store.stopwatch ?? store.clock;
    this.#work = this.#run();
  }

  get deadline(): number {
    return this.#deadline;
  }

  get times(): QueryTimes {
    if (this.#planned === null) return { plan: this.#worked, execute: null };
    return { plan: this.#planned, execute: this.#worked - this.#planned };
  }

  step(bytesMax = CHUNK_BYTES): Uint8Array | null {
    if (this.done) return null;
    this.#stepBegan = this.#stopwatch();
    try {
      return this.#step(bytesMax);
    } finally {
      this.#worked += this.#stopwatch() - this.#stepBegan;
    }
  }

  #step(bytesMax: number): Uint8Array | null {
    this.#sizeMax = bytesMax;
    if (this.#body !== null) this.#body.sizeMax = bytesMax;
    this.#ctx?.resume();
    try {
      // A slow client may have let the time pass, and short queries end before the executor looks at the clock.
      this.#checkDeadline();
      const { done, value } = this.#work.next();
      this.#ctx?.pause();
      if (done) return this.#finish(value);
    } catch (error) {
      this.#fail(error);
      return null;
    }
    if (this.#body === null || !this.#body.full) return null;
    this.head ??= this.#streamHead(null);
    return this.#body.take();
  }

  rest(): void {
    for (const writer of this.#writers) if (writer.length === 0) writer.release();
  }

  close(): void {
    this.#end();
    for (const writer of this.#writers) writer.release();
    this.#writers.length = 0;
  }

  /** What was written of the answer is still there. */
  #end(): void {
    this.done = true;
    this.#keepPlan();
    this.#ctx?.close();
    this.#ctx = null;
    this.#body = null;
  }

  /** Plans need the snapshots that are about to be closed. */
  #keepPlan(): void {
    const { now, planAfter } = this.#settings;
    if (this.#ctx === null || planAfter === 0 || this.#store.clock() - now < planAfter) return;
    try {
      this.plan = planOf(this.#ctx);
    } catch (error) {
      // A query that failed because its store does cannot be described from that store.
      this.failure ??= error;
    }
  }

  /** The last step: a short answer goes out whole with its head. */
  #finish(head: QueryHead | null): Uint8Array | null {
    const body = this.#body;
    this.#end();
    if (this.head !== null) return body?.take() ?? null;
    this.head = head === null ? this.#streamHead(body?.finish() ?? '') : { ...head, headers: this.#headers };
    return null;
  }

  #streamHead(body: QueryHead['body']): QueryHead {
    return { status: 200, contentType: JSON_TYPE, headers: this.#headers, body };
  }

  #fail(thrown: unknown): void {
    this.#end();
    const error = this.#queryError(thrown);
    if (this.head !== null) {
      this.aborted = error.message;
      return;
    }
    const contentType = error.form === 'json' ? JSON_TYPE : TEXT_TYPE;
    this.head = { status: error.status, contentType, headers: [], body: error.message };
  }

  #queryError(thrown: unknown): QueryError {
    if (thrown instanceof QueryError) {
      return thrown.status === 500 && this.#isLate() ? this.#timeout() : thrown;
    }
    if (thrown instanceof Cancelled) return new QueryError(500, 'Query was cancelled');
    if (thrown instanceof TooLong) return new QueryError(500, `An item or a row of the answer is ${thrown.message}`);
    if (thrown instanceof RangeError && /call stack/.test(thrown.message)) {
      return badQuery('The query is nested too deeply');
    }
    this.failure = tellsOfDamage(thrown)
      ? new Error(`${thrown.message}; a file of the store is damaged: ${DAMAGE_ADVICE}`, { cause: thrown })
      : thrown;
    return new QueryError(500, 'An unexpected error occurred');
  }

  #isLate(): boolean {
    return this.#store.clock() >= this.#deadline;
  }

  #checkDeadline(): void {
    if (this.#isLate()) throw this.#timeout();
  }

  #timeout(): QueryError {
    const from = this.#origin === null ? '' : ` from ${JSON.stringify(this.#origin)}`;
    return new QueryError(500, `Query${from} exceeded timeout`);
  }

  // ---- the work ----

  *#run(): Generator<undefined, QueryHead | null> {
    const match = matchRoute(this.#request.api, this.#request.path, this.#settings.edition);
    if (match === null) return { status: 404, contentType: 'text/html;charset=utf-8', headers: [], body: 'Not Found' };
    const ctx = this.#openContext();
    let params: QueryParams | null = null;
    for (const check of match.route.checks) {
      if (check.kind === 'params') {
        params = this.#readParams(match, check);
      } else {
        const id = match.params[check.param] ?? '';
        if (!exists(check.of, id, ctx)) return notFound(check.of, id);
      }
    }
    if (params === null) throw new Error(`route ${match.route.path} reads no parameters`);
    const input: AnswerInput = {
      route: match.route,
      path: match.params,
      params,
      settings: this.#settings,
      ctx,
      stream: (options) => this.#streams(new ListBody(options, this.#sizeMax, this.#writer(this.#sizeMax))),
      streamOne: () => this.#streams(new OneBody((size) => this.#writer(size))),
      writer: (size) => this.#writer(size),
      header: (name, value) => {
        this.#headers.push([name, value]);
      },
    };
    const answered = answer(input);
    this.#planned = this.#worked + this.#stopwatch() - this.#stepBegan;
    return 'status' in answered ? answered : yield* answered;
  }

  #streams<B extends StreamedBody>(body: B): B {
    this.#body = body;
    return body;
  }

  #writer(size: number): ByteWriter {
    const writer = new ByteWriter(size, spareMemory, this.#store.undivided?.writtenMax);
    this.#writers.push(writer);
    return writer;
  }

  #readParams(match: RouteMatch, check: Check & { kind: 'params' }): QueryParams {
    const { kind } = match.route.answer;
    const params = readParams(this.#request, check.set, {
      depthMax: this.#settings.queryDepthMax,
      pql: kind === 'root',
      urlOfPost: kind !== 'single',
    });
    this.#origin = params.origin;
    this.#deadline = this.#deadlineFor(params.timeout, params.origin);
    this.#checkDeadline();
    return params;
  }

  /** The client's wish or the default, cut to the server's maximum; 0 in the settings is none. */
  #deadlineFor(seconds: number | null, origin: string | null): number {
    const { now, timeoutDefault, timeoutMax } = this.#settings;
    const wanted = seconds === null ? timeoutDefault || Number.POSITIVE_INFINITY : seconds * 1000;
    const capped = timeoutMax === 0 || (origin !== null && SYNC_ORIGINS.has(origin));
    return now + (capped ? wanted : Math.min(wanted, timeoutMax));
  }

  #openContext(): ExecContext {
    const { now, nodePurgeTtl, edition, regexBudget } = this.#settings;
    const { partitions, clock, stopwatch, cancelled, room, undivided, slice = SLICE_MS } = this.#store;
    this.#ctx = new ExecContext(partitions, {
      now,
      clock,
      stopwatch,
      deadline: () => this.#deadline,
      nodePurgeTtl,
      regexBudget,
      edition,
      cancelled: cancelled ?? (() => false),
      slice,
      room,
      itemMax: undivided?.itemMax,
    });
    return this.#ctx;
  }
}
