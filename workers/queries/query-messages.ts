// What the main thread and a query thread say to each other. A short answer is the result of the pool's task and nothing
// else; any other goes over one port per thread, where its messages keep their order.

import type { MessagePort } from 'node:worker_threads';
import type { QueryPlan } from '../../engine/query/exec/explain.ts';
import type { QueryTimes } from '../../engine/query/request/run.ts';
import type { QueryHead, QueryRequest, QuerySettings } from '../../engine/query/request.ts';
import type { AnswerHead } from '../types.ts';
import type { Slot } from './answer-slots.ts';

/** Given to every query thread when it starts. */
export interface QueryThreadData {
  readonly dir: string;
  /** Int32 per running query: 1 when its client is gone. */
  readonly cancelled: SharedArrayBuffer;
  /** What the pool does (query-activity.ts). */
  readonly activity: SharedArrayBuffer;
  readonly chunkSize: number;
  /** Milliseconds a client may take nothing before its query is ended. */
  readonly stallMax: number;
  /** Bytes the store may grow by while a query waits for its client; if it was larger before, so much as it was. */
  readonly growthMax: number;
  /** Bytes of records that the thread may keep for its next queries. */
  readonly keptMax: number;
}

/** One query: the task of the pool. */
export interface QueryTask {
  readonly id: number;
  /** Index into `cancelled`. */
  readonly flag: number;
  /** Bytes it may send beyond what its client has taken. */
  readonly window: number;
  readonly request: QueryRequest;
  readonly settings: QuerySettings;
  /** Epoch ms at 0 of the monotonic clock, as it was when the query came: the machine's clock may have been set since. */
  readonly timeOrigin: number;
}

/** A task's result. */
export interface QueryResult {
  /** The whole answer; null when it went over the port, or when nobody waits for it any more. */
  readonly answer: { readonly head: QueryHead; readonly failure: string | null } | null;
  /** What a slow query did. */
  readonly plan: QueryPlan | null;
  readonly times: QueryTimes;
}

/**
 * `busySince` of a thread that is opening the store. It must not be ended: the tables are opened in a write transaction, and if its thread went away
 * with the lock, no partition could be written or opened in this process any more.
 */
export const OPENING = Number.POSITIVE_INFINITY;

/** The first message of a thread, over the pool's own channel. */
export interface QueryThreadHello {
  readonly kind: 'query-thread';
  readonly thread: number;
  readonly port: MessagePort;
  /** Float64s: monotonic ms at which the slice of work at hand began, 0 between slices, or `OPENING`; not 0: the pool stops. */
  readonly busySince: SharedArrayBuffer;
  /** What bytes of answers go through (answer-slots.ts). */
  readonly slots: SharedArrayBuffer;
}

/** Bytes in the thread's slots, or as they are when too few were free. */
export type AnswerBytes = readonly Slot[] | Uint8Array;

export type FromQueryThread =
  | AboutQuery
  /** The thread has been told to open the store, and has. */
  | { readonly kind: 'ready' }
  /** The thread's own queries are over: clients' find its code compiled. */
  | { readonly kind: 'warm' };

export type AboutQuery =
  | { readonly kind: 'head'; readonly id: number; readonly head: AnswerHead }
  /** A whole answer that is too long for a text: the body comes beside its head. */
  | {
      readonly kind: 'whole';
      readonly id: number;
      readonly head: AnswerHead;
      readonly bytes: AnswerBytes;
      readonly failure: string | null;
    }
  | { readonly kind: 'chunk'; readonly id: number; readonly bytes: AnswerBytes }
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'abort'; readonly id: number; readonly text: string; readonly failure: string | null };

export type ToQueryThread =
  /** The store is there: to be opened now, so that the first query need not. */
  | { readonly kind: 'open' }
  | { readonly kind: 'grant'; readonly id: number; readonly bytes: number }
  /** The flag is set; this wakes a query that waits for its client. */
  | { readonly kind: 'cancel'; readonly id: number };
