// The main thread's side of one actor thread: starts it, starts it again with growing pauses when it dies, and kills it when
// it hangs. What the messages mean is the ring's business.

import type { Worker } from 'node:worker_threads';
import { stackOf } from '../../engine/reason.ts';
import { type Activity, ActivityMark } from '../actor/activity.ts';
import type { ActorData } from '../actor/actor.ts';
import { startActorWorker } from '../actor/actor-worker.ts';
import type { FromActor, ToActor } from '../actor/messages.ts';
import type { Log } from '../log.ts';
import { scheduleOf } from '../system/schedule.ts';
import type { ThreadScript } from '../system/thread-script.ts';
import { HangWatch } from './hang-watch.ts';

interface ActorHandleOptions {
  readonly index: number;
  readonly slots: readonly number[];
  readonly script: ThreadScript;
  /** Asked for at each start. */
  readonly data: (activity: SharedArrayBuffer) => Omit<ActorData, 'lifeline'>;
  /** Milliseconds one piece of work may take before the thread counts as hung. */
  readonly hangMax: number;
  readonly onMessage: (message: FromActor) => void;
  /**
   * The thread is gone. `activity` is what it was doing. It is started again unless the handle was stopped. `requested`: it was
   * ended from outside, whatever it was doing.
   */
  readonly onDown: (activity: Activity, reason: string, requested: boolean) => void;
  /** The thread cannot be ended: it hangs while something holds it, and only the end of the process frees the partition. */
  readonly onStuck: (activity: Activity, reason: string) => void;
  readonly log: Log;
}

const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 10_000;
/** A thread that lived this long starts again without a pause. */
const SETTLED_MS = 30_000;
const STOP_MAX_MS = 30_000;
/** Longest time that a thread with a full heap takes to be gone, when nothing is in its way. */
const END_MAX_MS = 5000;

export class ActorHandle {
  readonly index: number;
  readonly slots: readonly number[];
  readonly #options: ActorHandleOptions;
  #worker: Worker | null = null;
  #mark = new ActivityMark();
  #failures = 0;
  #startedAt = 0;
  #restart: NodeJS.Timeout | null = null;
  #stopping = false;
  /** Why it is being ended, and whether what it is doing has nothing to do with it. */
  #killed: { readonly reason: string; readonly requested: boolean } | null = null;
  #onGone: (() => void)[] = [];
  #watch = new HangWatch();

  constructor(options: ActorHandleOptions) {
    this.index = options.index;
    this.slots = options.slots;
    this.#options = options;
  }

  /** To be called once. A handle that was stopped before stays as it is. */
  start(): void {
    if (!this.#stopping) this.#start();
  }

  post(message: ToActor): void {
    this.#worker?.postMessage(message);
  }

  /**
   * Ends the thread as soon as nothing holds it (activity.ts), as a crash would; it is started again. `requested`: from
   * outside, so that no command is to blame.
   */
  kill(reason: string, requested = false): void {
    const worker = this.#worker;
    if (worker === null || this.#killed !== null) return;
    this.#killed = { reason, requested };
    const mark = this.#mark;
    const deadline = performance.now() + this.#options.hangMax;
    const attempt = (): void => {
      if (this.#worker !== worker) return;
      if (mark.askToEnd()) void worker.terminate();
      else if (performance.now() < deadline) setTimeout(attempt, 1);
      else this.#options.onStuck(mark.read(), reason);
    };
    attempt();
  }

  /**
   * Kills the thread if it has been busy with one thing for too long, waiting for a processor apart. To be called now and then with
   * a monotonic time.
   */
  checkHang(now: number): void {
    const activity = this.#mark.read();
    const busy = this.#watch.busy(now, activity, () => scheduleOf(this.#mark.thread)?.waited ?? null);
    if (busy > this.#options.hangMax) this.kill(`busy with one ${activity.kind} for ${Math.round(busy)} ms`);
  }

  /** Asks the thread to finish and leave; ends it after a while if it does not. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    const worker = this.#worker;
    if (worker === null) return;
    const gone = new Promise<void>((resolve) => this.#onGone.push(resolve));
    this.post({ kind: 'stop' });
    const timer = setTimeout(() => {
      this.#options.log.error(`actor ${this.index} did not stop in time`);
      if (this.#mark.askToEnd()) void worker.terminate();
      // Left behind while something holds it: it goes with the process, and what it did not commit is in the log.
      else this.#worker = null;
      for (const resolve of this.#onGone.splice(0)) resolve();
    }, STOP_MAX_MS);
    await gone;
    clearTimeout(timer);
  }

  #start(): void {
    const { script, data, onMessage } = this.#options;
    this.#mark = new ActivityMark();
    this.#watch = new HangWatch();
    this.#killed = null;
    this.#startedAt = performance.now();
    const mark = this.#mark;
    const worker = startActorWorker(script, this.index, data(mark.buffer), () => this.#ending(worker, mark));
    this.#worker = worker;
    let reason: string | null = null;
    worker.on('message', onMessage);
    worker.on('messageerror', (error) => worker.emit('error', error));
    worker.on('error', (error) => {
      reason ??= stackOf(error);
    });
    worker.on('exit', (code) => this.#gone(this.#killed?.reason ?? reason ?? `exit code ${code}`));
  }

  /**
   * The thread is being taken apart. V8 ends one that has no memory left wherever it is. Within a transaction that is for ever: lmdb closes
   * the partition then, and waits for the lock of its writers, which this thread has.
   */
  #ending(worker: Worker, mark: ActivityMark): void {
    if (!mark.isHeld) return;
    const attempt = (): void => {
      if (this.#worker !== worker) return;
      this.#options.onStuck(mark.read(), 'it ended in the middle of a change, as for want of memory, and is not gone');
    };
    setTimeout(attempt, Math.min(END_MAX_MS, this.#options.hangMax)).unref();
  }

  #gone(reason: string): void {
    this.#worker = null;
    const activity = this.#mark.read();
    for (const resolve of this.#onGone.splice(0)) resolve();
    if (this.#stopping) return;
    const lived = performance.now() - this.#startedAt;
    this.#failures = lived > SETTLED_MS ? 1 : this.#failures + 1;
    const pause = this.#failures === 1 ? 0 : Math.min(PAUSE_MIN_MS * 2 ** (this.#failures - 2), PAUSE_MAX_MS);
    this.#options.log.error(`actor ${this.index} died while ${describe(activity)}; starting it again: ${reason}`);
    this.#options.onDown(activity, reason, this.#killed?.requested ?? false);
    this.#restart = setTimeout(() => {
      this.#restart = null;
      this.#start();
    }, pause);
  }
}

const describe = ({ kind, slot, id }: Activity): string =>
  kind === 'idle' ? 'idle' : `doing ${kind} ${id} of partition ${slot}`;
