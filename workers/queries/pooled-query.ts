// A query from when it comes until nobody is to be told anything of it any more: what the pool knows of it, and how its client is answered.

import type { MessagePort } from 'node:worker_threads';
import type { QueryPlan } from '../../engine/query/exec/explain.ts';
import { type QueryRequest, type QuerySettings, TEXT_TYPE } from '../../engine/query/request.ts';
import type { MetricsRegistry } from '../metrics.ts';
import { monotonicMs } from '../system/clock.ts';
import type { AnswerHead, QueryHandlers } from '../types.ts';
import type { Slot, SlotReader } from './answer-slots.ts';
import type { Placed } from './running-queries.ts';
import type { QueryShape } from './small-queries.ts';

/** Up to this many bytes an answer is copied sooner than it is sent from where it lies. */
const COPY_MAX = 64 << 10;

/** Bytes in the slots. */
export const lengthOf = (slots: readonly Slot[]): number => slots.reduce((sum, { length }) => sum + length, 0);

export class PooledQuery implements Placed {
  id = 0;
  flag = -1;
  /** Where it is counted. */
  readonly metrics: MetricsRegistry;
  readonly request: QueryRequest;
  readonly settings: QuerySettings;
  readonly handlers: QueryHandlers;
  /** Monotonic ms when it came, and when it got its place. */
  readonly came = performance.now();
  began = 0;
  /** What the machine's clock said when it came, less what `monotonicMs` did, which is the same in all threads. */
  readonly timeOrigin = Date.now() - monotonicMs();
  /** Known from the head on, when the answer streams. */
  port: MessagePort | null = null;
  headSent = false;
  /** Monotonic ms of the head of an answer that streams; 0: there is none. */
  streamed = 0;
  /** Bytes it may be ahead of its client. */
  window = 0;
  /** Of these, bytes its thread may still send; 0 and less: the query waits for its client and has no place. */
  credit = 0;
  /** Bytes that its thread has sent. */
  sent = 0;
  /** Bytes that the client has taken and the thread has not been told of. */
  taken = 0;
  /** What a slow one did, known when the task has settled. */
  plan: QueryPlan | null = null;
  /** What is known of its kind; null: it is for a query thread, whatever it takes. */
  shape: QueryShape | null = null;
  /** It seemed to be small when a query thread got it. */
  isSmall = false;
  /** Milliseconds that a query thread worked for it, once that is known. */
  worked: number | null = null;
  /** The task has settled; with a stream, the end may still be on its way. */
  settled = false;
  /** Nobody is to be told anything any more. */
  over = false;

  constructor(request: QueryRequest, settings: QuerySettings, handlers: QueryHandlers, metrics: MetricsRegistry) {
    this.request = request;
    this.settings = settings;
    this.handlers = handlers;
    this.metrics = metrics;
  }

  /** The whole answer at once; `sendBody` where the head has none. */
  answer(head: AnswerHead, sendBody?: () => void): void {
    this.over = true;
    this.headSent = true;
    this.handlers.onHead(head);
    sendBody?.();
    this.handlers.onEnd();
  }

  /** The same for one that lies in slots, where it is read from unless a copy takes less. */
  answerFrom(slots: SlotReader, head: AnswerHead, bytes: readonly Slot[]): void {
    const size = lengthOf(bytes);
    if (size < COPY_MAX) {
      this.answer({ ...head, body: slots.take(bytes) });
      return;
    }
    this.answer({ ...head, size }, () => this.chunks(slots, bytes));
  }

  /** The next part of the answer, from where it lies: each slot is free when its bytes have been taken. */
  chunks(slots: SlotReader, bytes: readonly Slot[]): void {
    const { areScarce } = slots;
    const { handlers } = this;
    for (const slot of bytes) handlers.onChunk(slots.view(slot), () => slots.free(slot), areScarce);
  }

  /** An error instead of the answer, or in the middle of it. */
  fail(text: string, status = 500): void {
    if (!this.headSent) {
      this.answer({ status, contentType: TEXT_TYPE, headers: [], body: text });
      return;
    }
    this.over = true;
    this.handlers.onAbort(text);
  }
}
