// One actor thread: the partitions it owns, and the messages in and out. The thread entry (actor-thread.ts) gives it the
// port and the engine; a partition that cannot be opened is tried again while the others work.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { DeadLetters } from '../../engine/inbox/dead-letters.ts';
import { messageOf } from '../../engine/reason.ts';
import { discardedDir } from '../../engine/store/file/layout.ts';
import { buffersAtRest, collectAtRest } from '../system/heap-at-rest.ts';
import { giveWay, type Priority } from '../system/priority.ts';
import { ownThread } from '../system/schedule.ts';
import { ActivityMark } from './activity.ts';
import type { ActorTimes } from './actor-times.ts';
import { type WarmUp, warmUpActor } from './actor-warm-up.ts';
import type { EngineSettings } from './engine-host.ts';
import { openGuarded } from './guarded-host.ts';
import type { FromActor, ToActor } from './messages.ts';
import { PartitionActor } from './partition-actor.ts';
import type { Guard, PartitionHost } from './partition-host.ts';

/** A held command that is not to be tried any more. */
export interface GivenUp {
  readonly slot: number;
  readonly seq: number;
  readonly reason: string;
}

/** What the supervisor hands to the thread (structured clone). */
export interface ActorData {
  /** Data directory. */
  readonly dir: string;
  readonly slots: readonly number[];
  readonly activity: SharedArrayBuffer;
  /** Nothing goes over it: it closes when the thread ends. */
  readonly lifeline: MessagePort;
  readonly times: ActorTimes;
  readonly priority: Priority;
  readonly givenUp: readonly GivenUp[];
  /** What waits may end the process: the main thread says when a held command is tried. */
  readonly isFeared: boolean;
  readonly engine: EngineSettings;
}

/** Opens a partition. Transactions that `apply` begins must run inside the guard. */
type OpenHost = (slot: number, guard: Guard) => PartitionHost;

interface ActorOptions {
  readonly data: ActorData;
  readonly open: OpenHost;
  /** null: the thread does not warm up. */
  readonly warmUp: WarmUp | null;
  readonly post: (message: FromActor) => void;
  readonly exit: () => void;
}

const OPEN_AGAIN_MS = 5000;

class Actor {
  readonly #options: ActorOptions;
  readonly #activity: ActivityMark;
  readonly #deadLetters: DeadLetters;
  readonly #partitions = new Map<number, PartitionActor>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopping = false;
  /** Commands have come, or the thread is to end. */
  readonly #warmUpEnd = new AbortController();
  readonly #warmedUp: Promise<unknown>;

  constructor(options: ActorOptions) {
    this.#options = options;
    this.#activity = new ActivityMark(options.data.activity);
    this.#activity.setThread(ownThread() ?? 0);
    this.#deadLetters = new DeadLetters(discardedDir(options.data.dir));
    for (const slot of options.data.slots) this.#open(slot);
    this.#warmedUp = options.warmUp === null ? Promise.resolve() : this.#warmUp(options.warmUp);
    this.#collectAtRest();
  }

  #collectAtRest(): void {
    const { gc } = globalThis;
    if (gc === undefined) return;
    collectAtRest({
      work: () => this.#activity.read().count,
      ...buffersAtRest(() => this.#activity.holding(gc)),
    });
  }

  #warmUp(warmUp: WarmUp): Promise<number> {
    return warmUpActor({
      ...warmUp,
      guard: (work) => this.#activity.holding(work),
      over: this.#warmUpEnd.signal,
      now: Date.now,
    });
  }

  receive(message: ToActor): void {
    switch (message.kind) {
      case 'stop':
        void this.#stop();
        break;
      default:
        this.#forPartition(message);
    }
  }

  /** The main thread sends work to a partition only after its `ready`. */
  #forPartition(message: Exclude<ToActor, { kind: 'stop' }>): void {
    const partition = this.#partitions.get(message.slot);
    if (partition === undefined) throw new Error(`${message.kind} for partition ${message.slot}, which is not open`);
    switch (message.kind) {
      case 'batch':
        this.#warmUpEnd.abort();
        partition.batch(message);
        break;
      case 'sweep':
        partition.sweep(message.id, message.sweep);
        break;
      case 'fetch':
        partition.fetch(message.id, message.seq);
        break;
      case 'adopt':
        partition.adopt(message);
        break;
      case 'retry':
        partition.retry(message.seq);
        break;
      case 'forget':
        partition.forget(message.seq);
        break;
    }
  }

  #open(slot: number): void {
    if (this.#stopping) return;
    const { open, post } = this.#options;
    let partition: PartitionActor;
    this.#activity.begin('open', slot, 0);
    try {
      const guard: Guard = (work) => this.#activity.holding(work);
      partition = this.#actorOf(
        slot,
        openGuarded(() => open(slot, guard), guard),
      );
    } catch (error) {
      post({
        kind: 'trouble',
        slot,
        text: `cannot be opened: ${messageOf(error)}`,
      });
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#open(slot);
      }, OPEN_AGAIN_MS);
      this.#timers.add(timer);
      return;
    } finally {
      this.#activity.end();
    }
    this.#partitions.set(slot, partition);
    partition.begin();
  }

  /** Throws when what the partition holds cannot be taken over; it is closed then. */
  #actorOf(slot: number, host: PartitionHost): PartitionActor {
    const { data, post } = this.#options;
    const givenUp = new Map<number, string>();
    for (const one of data.givenUp) if (one.slot === slot) givenUp.set(one.seq, one.reason);
    try {
      return new PartitionActor({
        slot,
        host,
        deadLetters: this.#deadLetters,
        times: data.times,
        activity: this.#activity,
        post,
        now: Date.now,
        givenUp,
        isFeared: data.isFeared,
      });
    } catch (error) {
      host.close().catch(() => {});
      throw error;
    }
  }

  async #stop(): Promise<void> {
    this.#stopping = true;
    this.#warmUpEnd.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([this.#warmedUp, ...[...this.#partitions.values()].map((partition) => partition.stop())]);
    this.#options.post({ kind: 'stopped' });
    this.#options.exit();
  }
}

/** Makes this thread an actor: to be called once by a thread entry. Both functions get what the supervisor handed to the thread. */
export function serveActor(
  openWith: (data: ActorData) => OpenHost,
  warmUpWith: (data: ActorData) => WarmUp | null = () => null,
): void {
  const port = parentPort;
  if (port === null) throw new Error('an actor runs in a thread of its own');
  const data = workerData as ActorData;
  giveWay(data.priority);
  const actor = new Actor({
    data,
    open: openWith(data),
    warmUp: warmUpWith(data),
    post: (message) => port.postMessage(message),
    exit: () => port.close(),
  });
  port.on('message', (message: ToActor) => actor.receive(message));
}
