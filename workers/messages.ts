// What the main thread and an actor thread say to each other. Plain data; bodies of commands travel as transferred memory.
// A batch is answered by exactly one `applied`, however long its partition is stalled, unless the actor dies.

import type { Envelope } from '../engine/inbox/stream.ts';
import type { CommandOutcome, QueuedCommand } from '../engine/ingest/types.ts';
import type { PartitionCounts } from '../engine/store/partition.ts';
import type { Maintenance } from './types.ts';

/** Work of one partition. `position`: the stream position its commit brings the partition to. */
export interface BatchMessage {
  readonly kind: 'batch';
  readonly slot: number;
  readonly id: number;
  readonly position: number;
  readonly commands: readonly QueuedCommand[];
  /** Declared sizes by index of `commands`: kept with commands that must wait or be given up. */
  readonly sizes: readonly (number | null)[];
  /** Not null: give the one command up without trying it, for this reason. */
  readonly giveUp: string | null;
}

export type ToActor =
  | BatchMessage
  | {
      readonly kind: 'maintain';
      readonly slot: number;
      readonly id: number;
      readonly step: Maintenance;
    }
  | { readonly kind: 'counts'; readonly id: number }
  /** Finish what is running, make it durable, leave. */
  | { readonly kind: 'stop' };

export interface Held {
  readonly seq: number;
  readonly command: string;
  readonly version: number;
  readonly dead: boolean;
}

/** How a command that failed goes on. */
export type Decision = 'wait' | 'discard';

export interface Handled {
  readonly outcome: CommandOutcome;
  /** null when it was processed. */
  readonly decision: Decision | null;
  /** Milliseconds its execution took (a share of the batch's where nothing finer is known). */
  readonly duration: number;
}

export type FromActor =
  /** The partition is open: batches may come. */
  | {
      readonly kind: 'ready';
      readonly slot: number;
      readonly position: number;
      /** Commands it keeps from earlier: to be tried again, or on their way to the dead letter office. */
      readonly held: readonly Held[];
    }
  | {
      readonly kind: 'applied';
      readonly slot: number;
      readonly id: number;
      readonly handled: readonly Handled[];
      readonly timings: readonly Timing[];
    }
  /** Commands that were waiting for another attempt were tried again. */
  | {
      readonly kind: 'retried';
      readonly slot: number;
      readonly results: readonly (Handled & { readonly envelope: Envelope; readonly attempts: number })[];
      readonly timings: readonly Timing[];
    }
  /** Everything up to the position would survive a power failure. */
  | { readonly kind: 'flushed'; readonly slot: number; readonly position: number }
  | { readonly kind: 'discarded'; readonly slot: number; readonly letters: readonly Discarded[] }
  /** The partition cannot be written now (null: it can again). Its batch is kept and tried again. */
  | { readonly kind: 'trouble'; readonly slot: number; readonly text: string | null }
  | { readonly kind: 'maintained'; readonly id: number; readonly changed: number; readonly error: string | null }
  | { readonly kind: 'counts'; readonly id: number; readonly counts: readonly SlotCounts[] }
  | { readonly kind: 'stopped' };

/** Something the engine measured: milliseconds for the timer of that name in the storage group (spec/operations.md 8.4). */
export interface Timing {
  readonly name: string;
  readonly value: number;
}

export interface Discarded {
  readonly seq: number;
  readonly certname: string;
  readonly command: string;
  readonly version: number;
  /** Bytes in the dead letter office. */
  readonly size: number;
}

export interface SlotCounts extends PartitionCounts {
  readonly slot: number;
}
