// What an actor needs of the engine: the operations of one open partition. The real one is in engine-host.ts; tests of the
// threads may put a smaller one in its place.

import type { ApplyOutcome, QueuedCommand } from '../../engine/ingest/command/types.ts';
import type { Sweep } from '../../engine/retention/sweep.ts';
import type { SweepKind, Timing } from './messages.ts';

/** A change of the table of held commands; null removes the entry. */
export interface HeldChange {
  readonly seq: number;
  readonly bytes: Uint8Array | null;
}

export interface ApplyContext {
  /** Epoch ms. */
  readonly now: number;
  /** Where the stream stands after these commands; smaller than the stored position (retries) leaves that alone. */
  readonly position: number;
  /** Called inside the transaction with all outcomes; what it returns is written by the same transaction. */
  readonly held: (outcomes: readonly ApplyOutcome[]) => readonly HeldChange[];
}

export interface Applied {
  /** One for each command, in their order. */
  readonly outcomes: readonly ApplyOutcome[];
  /** Milliseconds that each took, and how many of them its decoding did. */
  readonly durations: readonly number[];
  readonly parses: readonly number[];
  readonly timings: readonly Timing[];
}

/** Runs a piece of work that uses the store, uninterrupted; may be nested. See ActivityMark. */
export type Guard = <T>(work: () => T) => T;

export interface PartitionHost {
  /** Stream position of the last commit. */
  readonly position: number;
  /** Applies and commits in one transaction. Throws when nothing was committed. Synchronous. */
  apply(commands: readonly QueuedCommand[], context: ApplyContext): Applied;
  /** Changes held commands, and the position when it is larger than the stored one, in one transaction. */
  writeHeld(changes: readonly HeldChange[], position: number): void;
  heldSeqs(): number[];
  /** Valid until the next call of the host; null when there is no such entry. */
  readHeld(seq: number): Uint8Array | null;
  /** Resolves when everything committed before the call would survive a power failure. */
  flush(): Promise<void>;
  sweep(kind: SweepKind, now: number): Sweep;
  close(): Promise<void>;
}
