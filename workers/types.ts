// The contract between the edge and the threads. The edge sees `CommandRing` and `QueryPool` and nothing behind them.

import type { Envelope } from '../engine/inbox/envelope.ts';
import type { CommandOutcome } from '../engine/ingest/command/types.ts';
import type { QueryPlan } from '../engine/query/exec/explain.ts';
import type { QueryHead, QueryRequest, QuerySettings } from '../engine/query/request.ts';

export interface Submission {
  readonly envelope: Envelope;
  /** Exactly the received bytes. The ring writes them from where they lie: nobody may change them before `submit` is settled; it keeps none. */
  readonly body: Uint8Array;
}

/** Why a submission was not taken. Nothing was stored. */
export class SubmissionRefused extends Error {
  readonly reason: 'full' | 'unavailable' | 'stopping';
  /** Seconds after which trying again makes sense. */
  readonly retryAfter: number;
  constructor(reason: SubmissionRefused['reason'], message: string, retryAfter: number) {
    super(message);
    this.name = 'SubmissionRefused';
    this.reason = reason;
    this.retryAfter = retryAfter;
  }
}

export interface Accepted {
  readonly seq: number;
  /** Settles when the command has been processed (successfully or not). Present only when `wait` was asked for. */
  readonly outcome: Promise<CommandOutcome> | null;
}

/** One maintenance step (spec/commands.md 8.2) or the deletion of a node, run by the actors in bounded steps. */
export type Maintenance =
  | { readonly kind: 'expire_nodes' }
  | { readonly kind: 'purge_nodes' /** 0: no limit */; readonly batchLimit: number }
  | { readonly kind: 'purge_reports' }
  | { readonly kind: 'purge_resource_events' }
  | { readonly kind: 'gc_packages' }
  | { readonly kind: 'gc_catalogs' }
  | { readonly kind: 'gc_fact_paths' }
  | { readonly kind: 'delete'; readonly certname: string };

/** Maintenance was broken off, or not begun, as the server is stopping. */
export class MaintenanceStopped extends Error {
  constructor() {
    super('stopping');
    this.name = 'MaintenanceStopped';
  }
}

/** The store cannot be written now, as on a full disk. What was done so far stays. */
export class MaintenanceUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MaintenanceUnavailable';
  }
}

export interface CommandRing {
  /** Resolves once the command is durable (then the client may get its 200). Rejects with SubmissionRefused. */
  submit(submission: Submission, wait: boolean): Promise<Accepted>;
  /** Runs one step on every partition that needs it; resolves with the number of things changed. */
  maintain(step: Maintenance): Promise<number>;
  /** Steps that run end with `MaintenanceStopped`, as do all that are asked for from now on. What they have done so far stays. */
  endMaintenance(): void;
  /** Commands accepted and not yet processed (retries waiting included). */
  readonly depth: number;
  /** Partitions that have commands to apply now; what waits for another attempt later does not count. */
  readonly busyPartitions: number;
  /** Nothing is known to keep commands from being taken and applied. */
  readonly healthy: boolean;
  /** Stops taking submissions, waits until running batches are committed. What is not applied stays in the inbox. */
  stop(): Promise<void>;
}

/** What an answer begins with. */
export type AnswerHead = QueryHead & {
  /** Bytes of the body that comes in chunks, when they are known. */
  readonly size?: number;
};

/**
 * In order: head, chunks unless the head has the body, then either end or abort; none of them after `cancel`. Then, in any
 * case, `onLeft`. Never from inside `run`.
 */
export interface QueryHandlers {
  onHead(head: AnswerHead): void;
  /**
   * A part of the body. The pool sends at most `credit` bytes ahead; give back with `QueryHandle.grant`. With `free` the bytes lie in
   * memory that is used again: it is to be called, once, when nobody reads them any more. Without it they are the receiver's. `isScarce`:
   * little of that memory is free, so what is not read soon is to be copied.
   */
  onChunk(chunk: Uint8Array, free?: () => void, isScarce?: boolean): void;
  onEnd(): void;
  /** After the head: the answer cannot be completed (time-out, killed). `text` is appended to the truncated body. */
  onAbort(text: string): void;
  /** Nothing is left of the query, cancelled or not. `plan`: what it did, of slow queries (`planAfter` of the settings). */
  onLeft?(plan: QueryPlan | null): void;
}

export interface QueryHandle {
  /** The client has taken `bytes` bytes: more may be sent. */
  grant(bytes: number): void;
  /** The client is gone: the work stops promptly. */
  cancel(): void;
}

/** Who asks, for the log. */
export interface QueryClient {
  /** Common name of the verified client certificate; null: there is none. */
  readonly clientName: string | null;
  /** Empty: not known. */
  readonly remoteAddress: string;
}

export interface QueryPool {
  run(request: QueryRequest, settings: QuerySettings, handlers: QueryHandlers, client?: QueryClient): QueryHandle;
}
