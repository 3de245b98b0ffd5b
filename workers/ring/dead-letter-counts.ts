// The figures of the dead letter office (spec/operations.md 8.7). Actors put letters there, people take them away with other programs:
// so the folders are looked at now and then, and their letters counted when they have changed.

import { setTimeout as delay } from 'node:timers/promises';
import type { DeadLetterCount, DeadLetters } from '../../engine/inbox/dead-letters.ts';
import { messageOf } from '../../engine/reason.ts';
import type { Log } from '../log.ts';
import type { CommandMetrics } from './command-metrics.ts';

const LOOK_MS = 5000;
/** Counting takes at most that share of the time: a letter is a file or two to ask for. */
const SHARE = 1 / 50;
/** How long a start waits for the first count: of a hundred thousand letters it takes longer than all else. */
const FIRST_MAX_MS = 1000;

interface DeadLetterCountsOptions {
  readonly letters: Pick<DeadLetters, 'count' | 'state'>;
  readonly metrics: Pick<CommandMetrics, 'addDeadLetters' | 'setDeadLetters'>;
  readonly log: Log;
  /** Milliseconds between two looks. Default: 5000. */
  readonly lookMs?: number;
}

export class DeadLetterCounts {
  readonly #options: DeadLetterCountsOptions;
  readonly #stop = new AbortController();
  /** Of the folders when they were counted; null: count them in any case. */
  #state: string | null = null;

  constructor(options: DeadLetterCountsOptions) {
    this.#options = options;
  }

  /** Counts, and goes on to look. Never rejects; what cannot be counted is logged. */
  async start(): Promise<void> {
    const first = this.#look();
    void first.then((took) => this.#watch(took));
    await Promise.race([
      first,
      delay(FIRST_MAX_MS, undefined, { ref: false, signal: this.#stop.signal }).catch(() => {}),
    ]);
  }

  stop(): void {
    this.#stop.abort();
  }

  /** A letter was put there: told at once. */
  added(command: string, count: Readonly<DeadLetterCount>): void {
    // Whether a count that is being made has seen it nobody knows.
    this.#state = null;
    this.#options.metrics.addDeadLetters(command, count);
  }

  async #count(): Promise<void> {
    const { letters, metrics } = this.#options;
    const state = await letters.state(Date.now());
    if (state !== null && state === this.#state) return;
    this.#state = state;
    try {
      metrics.setDeadLetters(await letters.count());
    } catch (error) {
      this.#state = null;
      throw error;
    }
  }

  /** Milliseconds that a count took, where one was made. */
  async #look(): Promise<number> {
    const began = performance.now();
    try {
      await this.#count();
    } catch (error) {
      this.#options.log.warn(`the dead letters cannot be counted: ${messageOf(error)}`);
    }
    return performance.now() - began;
  }

  async #watch(first: number): Promise<void> {
    const { lookMs = LOOK_MS } = this.#options;
    for (let took = first; ; took = await this.#look()) {
      try {
        await delay(Math.max(lookMs, took / SHARE), undefined, { ref: false, signal: this.#stop.signal });
      } catch {
        return; // stopped
      }
    }
  }
}
