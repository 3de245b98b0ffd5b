// How a partition is written: one piece of work after the other, again and again while the store is what fails, and made durable soon
// after. What is wrong with it the main thread is told, once.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../engine/reason.ts';
import { DAMAGE_ADVICE } from '../../engine/store/file/data-file.ts';
import { tellsOfDamage, tellsOfTheEnd } from '../../engine/store/file/lmdb.ts';
import type { ActorTimes } from './actor-times.ts';
import type { FromActor } from './messages.ts';
import type { PartitionHost } from './partition-host.ts';
import { isOutOfRoom, isSystemError } from './store-failures.ts';

/** What can be wrong with a partition, the first that is told first. */
type TroubleKind = 'write' | 'flush' | 'letters';

interface PartitionWriterOptions {
  readonly slot: number;
  readonly host: PartitionHost;
  readonly times: ActorTimes;
  readonly post: (message: FromActor) => void;
}

export class PartitionWriter {
  readonly #slot: number;
  readonly #host: PartitionHost;
  readonly #times: ActorTimes;
  readonly #post: (message: FromActor) => void;
  #tail: Promise<void> = Promise.resolve();
  readonly #troubles: Record<TroubleKind, string | null> = { write: null, flush: null, letters: null };
  /** What the main thread was told last. */
  #told: string | null = null;
  #isStopping = false;
  #flushTimer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  /** The one that is under way may have begun too early for what was committed since. */
  #isBehind = false;
  /** Ends the pause of whoever waits for better times. */
  readonly #wake = new Set<() => void>();

  constructor({ slot, host, times, post }: PartitionWriterOptions) {
    this.#slot = slot;
    this.#host = host;
    this.#times = times;
    this.#post = post;
  }

  /** Whether nothing is to be begun any more, as `beginStop` was called. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Nothing is tried again from now on. Resolves when the work that was begun or waits is over. */
  beginStop(): Promise<void> {
    this.#isStopping = true;
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    for (const wake of this.#wake) wake();
    return this.#tail;
  }

  /** Makes durable what there is, after `beginStop`. */
  async stop(): Promise<void> {
    await this.#flushing;
    await this.#flush();
  }

  /**
   * One after the other, each in a turn of the event loop of its own: a port gives out messages as long as there are any, and
   * while commands keep coming neither timers nor finished flushes would have their turn.
   */
  exclusive(work: () => Promise<void>): Promise<void> {
    this.#tail = this.#tail.then(nextTurn).then(work);
    return this.#tail;
  }

  /**
   * Runs `write`; while the store is what fails, pauses and runs it again. Throws what is not the store's fault, and a want of room where
   * less can be written first.
   */
  async whileWritable<T>(write: () => T, isDivisible = false): Promise<T | null> {
    for (let pause = this.#times.stallMin; ; pause = Math.min(pause * 2, this.#times.stallMax)) {
      try {
        const result = write();
        this.setTrouble('write', null);
        return result;
      } catch (error) {
        if (isDivisible && isOutOfRoom(error)) throw error;
        const isDamaged = tellsOfDamage(error);
        if (!isDamaged && !isSystemError(error) && this.#canWrite()) throw error;
        // A sync that failed is made up for by a flush.
        if (!isOutOfRoom(error)) this.flushSoon(0);
        this.failed(
          'write',
          error,
          isDamaged ? `${error.message}; its file is damaged: ${DAMAGE_ADVICE}` : messageOf(error),
        );
      }
      if (this.#isStopping) return null;
      await this.pause(pause);
    }
  }

  /** Whether the partition takes an empty commit: tells a failing store from a failing command. */
  #canWrite(): boolean {
    try {
      this.#host.writeHeld([], 0);
      return true;
    } catch {
      return false;
    }
  }

  /** Makes durable what is committed then. */
  flushSoon(delay = this.#times.flushDelay): void {
    if (this.#flushTimer !== null || this.#isStopping) return;
    this.#flushTimer = setTimeout(() => {
      this.#flushTimer = null;
      this.#beginFlush();
    }, delay);
  }

  /** One at a time. */
  #beginFlush(): void {
    this.#isBehind = this.#flushing !== null;
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null;
      if (this.#isBehind) this.flushSoon();
    });
  }

  async #flush(): Promise<void> {
    try {
      const { position } = this.#host;
      await this.#host.flush();
      this.#post({ kind: 'flushed', slot: this.#slot, position });
    } catch (error) {
      // Nothing was lost: the log keeps the commands until a later flush succeeds.
      this.failed('flush', error, `flush failed: ${messageOf(error)}`);
      this.flushSoon(this.#times.stallMax);
      return;
    }
    this.setTrouble('flush', null);
  }

  /** Why the store cannot be changed now. */
  get trouble(): string | null {
    const { write, flush } = this.#troubles;
    return write ?? flush;
  }

  /** `text`: what the main thread is told of the error, and also when this process can do nothing more with the partition. */
  failed(kind: TroubleKind, error: unknown, text: string): void {
    this.setTrouble(kind, text);
    if (tellsOfTheEnd(error) && !this.#isStopping) this.#post({ kind: 'lost', slot: this.#slot });
  }

  /** The main thread is told once, and that all is well when it is. */
  setTrouble(kind: TroubleKind, text: string | null): void {
    this.#troubles[kind] = text;
    const told = this.trouble ?? this.#troubles.letters;
    if (told === this.#told) return;
    this.#told = told;
    this.#post({ kind: 'trouble', slot: this.#slot, text: told });
  }

  /** Resolves when the time is over, or the writer is to stop. */
  pause(ms: number): Promise<void> {
    if (this.#isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wake.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wake.add(wake);
    });
  }
}
