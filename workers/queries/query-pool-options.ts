// What the query pool is given, and the bounds it keeps.

import type { Log } from '../log.ts';
import type { MetricsRegistry } from '../metrics.ts';
import type { ThreadScript } from '../system/thread-script.ts';

export interface QueryPoolOptions {
  /** Data directory. */
  readonly dir: string;
  /** At least one. */
  readonly threads: number;
  readonly limits?: Partial<QueryPoolLimits>;
  readonly metrics?: MetricsRegistry;
  readonly log?: Log;
  /** Tests only: another thread entry. */
  readonly script?: ThreadScript;
}

export interface QueryPoolLimits {
  /** Queries that one thread answers side by side, those that wait for their clients apart. */
  readonly perThread: number;
  /** Queries that all threads together have begun and not ended, whatever they wait for. At least as many as have places. */
  readonly openMax: number;
  /** Queries that may wait for a place; beyond it they get 503. */
  readonly waitingMax: number;
  /** Bytes a query may be ahead of its client. */
  readonly windowSize: number;
  /** Bytes all queries may be ahead together: with many, each gets less, but one chunk. */
  readonly windowsMax: number;
  readonly chunkSize: number;
  /** Milliseconds a client may take nothing before its query is ended: it holds a snapshot of the store. */
  readonly stallMax: number;
  /** Milliseconds a client may take for an answer, however slowly, though `openMax` queries are open and others wait. */
  readonly slowMin: number;
  /** Bytes the store may grow by while a query waits for its client; if it was larger before, so much as it was. */
  readonly growthMax: number;
  /** Milliseconds one slice of work may take before its thread counts as hung. */
  readonly hangMax: number;
  /** MiB of a thread's heap; 0: Node's default. */
  readonly heapMax: number;
}

export const queryPoolLimits: QueryPoolLimits = {
  perThread: 32,
  openMax: 256,
  waitingMax: 1000,
  windowSize: 1 << 20,
  windowsMax: 32 << 20,
  chunkSize: 128 << 10,
  stallMax: 120_000,
  slowMin: 10_000,
  growthMax: 1 << 30,
  hangMax: 60_000,
  heapMax: 0,
};
