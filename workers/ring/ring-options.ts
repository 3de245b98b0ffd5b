// What can be chosen about the ring.

import type { ActorTimes } from '../actor/actor-times.ts';
import type { EngineSettings } from '../actor/engine-host.ts';
import type { Log } from '../log.ts';
import type { MetricsRegistry } from '../metrics.ts';
import type { Priority } from '../system/priority.ts';
import type { ThreadScript } from '../system/thread-script.ts';

export interface RingOptions {
  /** Data directory; created when missing. One process at a time. */
  readonly dir: string;
  /** Partitions of a directory that is created now; an existing one keeps its number. */
  readonly partitions?: number;
  /** Actor threads: at least one, at most one per partition. */
  readonly threads: number;
  /** What the engine needs to know to apply commands and run retention. */
  readonly engine: EngineSettings;
  readonly limits?: Partial<RingLimits>;
  readonly metrics?: MetricsRegistry;
  readonly log?: Log;
  readonly times?: Partial<ActorTimes>;
  /** Of the actor threads. Default: low. */
  readonly priority?: Priority;
  /** Told how many commands wait or are being applied, whenever that changes. */
  readonly onWaiting?: (count: number) => void;
  /** A node has expired. */
  readonly onExpired?: (certname: string) => void;
  /**
   * An actor hangs while something holds it (activity.ts) and cannot be ended, or a partition is of no use to this process any more: only a new one
   * can go on. What an actor that hangs was doing is noted for that. Default: throws where nobody catches, which ends the process.
   */
  readonly onFatal?: (error: Error) => void;
  /** The actors start when it is fulfilled. Until then commands are taken, and wait. Default: at once. */
  readonly actorsAfter?: Promise<void>;
  /** Tests only: another thread entry. */
  readonly script?: ThreadScript;
}

/** Everything that can grow, and how far. */
export interface RingLimits {
  /** Commands that may wait to be processed. A waiting command costs about half a kilobyte of memory. */
  readonly waitingMax: number;
  /** Commands that may wait of one certname: a node gone wild must not use up the room of all others. */
  readonly waitingPerCertnameMax: number;
  /** Bytes of the bodies of waiting commands, which are on disk. */
  readonly waitingSizeMax: number;
  /** Bytes of bodies on their way to the log. */
  readonly writingSizeMax: number;
  /** Commands and bytes of a batch, and milliseconds of work for its actor. Each partition has at most one batch at its actor. */
  readonly batchMax: number;
  readonly batchSizeMax: number;
  readonly batchWorkMax: number;
  /** Milliseconds from one batch of a partition to the next one, unless that is full or somebody waits for it. */
  readonly batchPause: number;
  /** Milliseconds one batch or maintenance step may take before its actor counts as hung. */
  readonly hangMax: number;
  /** Milliseconds a partition may take to open for the first time before that counts as trouble. */
  readonly openMax: number;
}

export const ringLimits: RingLimits = {
  waitingMax: 200_000,
  waitingPerCertnameMax: 20_000,
  waitingSizeMax: 8 * 2 ** 30,
  writingSizeMax: 128 << 20,
  batchMax: 256,
  batchSizeMax: 4 << 20,
  batchWorkMax: 100,
  batchPause: 100,
  hangMax: 300_000,
  openMax: 30_000,
};
