// What the main thread and an actor thread say to each other. Plain data; the bodies of a batch's commands are read by the actor. A batch is
// answered by exactly one `applied`, however long its partition is stalled, or by one `unread`, unless the actor dies.

import type { DeadLetterCount } from '../../engine/inbox/dead-letters.ts';
import type { Envelope } from '../../engine/inbox/envelope.ts';
import type { StoredBody } from '../../engine/inbox/stream.ts';
import type { Part } from '../../engine/ingest/command/meter.ts';
import type { ApplyOutcome, QueuedCommand } from '../../engine/ingest/command/types.ts';
import type { Maintenance } from '../types.ts';

/** A command without its body. */
export type StoredCommand = Omit<QueuedCommand, 'body'>;

/** Work of one partition. `position`: the stream position its commit brings the partition to. */
export interface BatchMessage {
  readonly kind: 'batch';
  readonly slot: number;
  readonly id: number;
  readonly position: number;
  readonly commands: readonly StoredCommand[];
  /** Where their bodies are, by index of `commands`; null: it has none any more, and is given up. */
  readonly bodies: readonly (StoredBody | null)[];
  /** Not null: give the one command up without trying it, for this reason. */
  readonly giveUp: string | null;
}

export type ToActor =
  | BatchMessage
  | { readonly kind: 'sweep'; readonly slot: number; readonly id: number; readonly sweep: SweepKind }
  /** Asks for a command that is to move to another partition; answered by `fetched`. */
  | { readonly kind: 'fetch'; readonly slot: number; readonly id: number; readonly seq: number }
  /** A command from another partition: to be applied without moving the stream position; answered by `adopted`. */
  | {
      readonly kind: 'adopt';
      readonly slot: number;
      readonly id: number;
      readonly command: QueuedCommand;
      readonly giveUp: string | null;
    }
  /** The command that it asked for with `retrying` may be tried. */
  | { readonly kind: 'retry'; readonly slot: number; readonly seq: number }
  /** The command was adopted: it need not be kept here any more. */
  | { readonly kind: 'forget'; readonly slot: number; readonly seq: number }
  /** Finish what is running, make it durable, leave. */
  | { readonly kind: 'stop' };

/** What one partition is asked to do, or to find out, in bounded steps. Days count from 1970-01-01, UTC. */
export type SweepKind =
  | Exclude<Maintenance, { kind: 'purge_reports' | 'purge_resource_events' }>
  /** The oldest day with expired reports (or events) that may go; purged is the oldest over all partitions. */
  | { readonly kind: 'find_report_day' }
  | { readonly kind: 'find_event_day' }
  | { readonly kind: 'purge_report_day'; readonly day: number }
  | { readonly kind: 'purge_event_day'; readonly day: number };

/** A command that a partition keeps although the stream position is past it. */
export interface Held {
  readonly seq: number;
  readonly command: string;
  readonly version: number;
  /** waiting: for another attempt. dead: for its dead letter to be written. moving: to the partition of `certname`. */
  readonly state: 'waiting' | 'dead' | 'moving';
  readonly certname: string;
}

/** How a command that was not processed goes on; also the state it is held in. */
export type Decision = Held['state'];

export interface Handled {
  readonly outcome: ApplyOutcome;
  /** null when it was processed. */
  readonly decision: Decision | null;
  /** Milliseconds its execution took; 0 when it was given up without one. */
  readonly duration: number;
  /** Milliseconds of it that decoding took; null when it was given up. */
  readonly parse: number | null;
}

export type FromActor =
  /** The partition is open: batches may come. */
  | {
      readonly kind: 'ready';
      readonly slot: number;
      readonly position: number;
      /** Commands it keeps from earlier. */
      readonly held: readonly Held[];
    }
  | {
      readonly kind: 'applied';
      readonly slot: number;
      readonly id: number;
      readonly handled: readonly Handled[];
      readonly timings: readonly Timing[];
    }
  /** The body of the command of that index cannot be read: nothing of the batch was applied. */
  | {
      readonly kind: 'unread';
      readonly slot: number;
      readonly id: number;
      readonly index: number;
      /** It never can be: its bytes are damaged. */
      readonly isDamaged: boolean;
      readonly text: string;
    }
  /** A command is due for another attempt, and may end the process: waits for `retry`. */
  | { readonly kind: 'retrying'; readonly slot: number; readonly seq: number }
  /** A command that was waiting for another attempt was tried again; without results: it did not wait any more. */
  | {
      readonly kind: 'retried';
      readonly slot: number;
      readonly seq: number;
      readonly results: readonly (Handled & { readonly envelope: Envelope; readonly attempts: number })[];
      readonly timings: readonly Timing[];
    }
  /** Everything up to the position would survive a power failure. */
  | { readonly kind: 'flushed'; readonly slot: number; readonly position: number }
  | { readonly kind: 'discarded'; readonly slot: number; readonly letters: readonly Discarded[] }
  /** The partition cannot be written now (null: it can again). Its batch is kept and tried again. */
  | { readonly kind: 'trouble'; readonly slot: number; readonly text: string | null }
  /** Nobody in this process can use the partition any more. */
  | { readonly kind: 'lost'; readonly slot: number }
  | {
      readonly kind: 'swept';
      readonly id: number;
      readonly changed: number;
      /** Of the searches for a day. */
      readonly day: number | null;
      readonly error: string | null;
      /** The error is one of the disk or the system, not of what was asked for. */
      readonly mayPass: boolean;
    }
  /** A step of a sweep let these nodes expire. */
  | { readonly kind: 'expired'; readonly certnames: readonly string[] }
  /** null: the command is not here any more. */
  | { readonly kind: 'fetched'; readonly id: number; readonly command: QueuedCommand | null }
  | { readonly kind: 'adopted'; readonly slot: number; readonly id: number; readonly handled: Handled }
  | { readonly kind: 'stopped' };

/**
 * Something that was measured beside single commands: `commit`, the milliseconds of a transaction's end; else a value for the
 * metric of that name in the storage group (spec/operations.md 8.4).
 */
export interface Timing {
  readonly name: 'commit' | Part;
  readonly value: number;
}

export interface Discarded {
  readonly seq: number;
  readonly certname: string;
  readonly command: string;
  readonly version: number;
  /** What it adds to the dead letter office. */
  readonly added: DeadLetterCount;
}
