// A sweep: maintenance of one partition in bounded steps, each its own transaction, so that commands go in between. A sweep
// is a plan that remembers where it is; it holds no snapshot and no transaction from one step to the next.

import { DAY_MS } from '../time.ts';

export interface StepResult {
  /** Things changed by this step: nodes, reports, events, rows. */
  readonly changed: number;
  /** false: call again. */
  readonly done: boolean;
  /** Certnames of nodes that expired in this step. */
  readonly expired?: readonly string[];
  /** Of searches for a day: its number once `done`; null: there is none. */
  readonly day?: number | null;
}

export interface Sweep {
  /** One bounded piece of work. Synchronous. Must not be called after it has said `done`. */
  step(): StepResult;
}

/** Bounds of one step. Looking at a record costs microseconds, deleting a report some hundred, a node with its data some milliseconds. */
export const LOOKED_AT_MAX = 5000;
export const REPORTS_MAX = 100;
export const NODES_MAX = 200;
export const PURGED_MAX = 10;

/** Day number (days since 1970-01-01, UTC) of an instant. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** First day that is kept: whole days before the day of `now - ttl` have expired. */
export const firstKeptDay = (now: number, ttl: number): number => dayOf(now - ttl);
