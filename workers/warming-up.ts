// When a query thread warms up (engine/query/warm-up.ts): soon after a start with data; in a store that was empty, once it has data
// and few commands come. There the pool's first thread, which gets the queries of clients that ask one after the other, warms up in
// the first pause, and the others after a longer one: what their heaps grow by comes on top of what a burst of commands takes.
// Clients' queries in any thread and commands go first.

import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Sample, WarmUp } from '../engine/query/warm-up.ts';
import type { QueryActivity } from './query-activity.ts';

/** Milliseconds, but for the number of commands a second that count as few. Tests make them small. */
export interface WarmingUpTimes {
  /** Work in all. */
  readonly budget: number;
  /** From the start to the first look. */
  readonly after: number;
  /** Without many commands in a store that was empty: for the first thread, and for the others. */
  readonly pause: number;
  readonly rest: number;
  /** Between two looks whether clients still ask. */
  readonly again: number;
  /** Between two looks at how many commands are applied meanwhile, and how many a second may be. */
  readonly look: number;
  readonly commandsMax: number;
  /** While some wait and none has been applied for so long, large ones are being worked on: more than a batch waits for the next one. */
  readonly slow: number;
}

const warmingUpTimes: WarmingUpTimes = {
  budget: 3000,
  after: 300,
  pause: 2000,
  rest: 10_000,
  again: 20,
  look: 50,
  commandsMax: 20,
  slow: 300,
};

export interface WarmingUpOptions {
  /** Queries of clients, and commands that wait. */
  readonly activity: Pick<QueryActivity, 'running' | 'begun' | 'commandsWaiting'>;
  /** Whether the thread is the pool's first. */
  readonly isFirst: () => boolean;
  /** What there is to ask for; null while there is too little. */
  readonly sample: () => Sample | null;
  readonly begin: (sample: Sample, budgetMs: number) => Pick<WarmUp, 'step' | 'rest'>;
  /** Commands that have been applied so far, about. */
  readonly commands: () => number;
  readonly isEnding: () => boolean;
  readonly times?: WarmingUpTimes;
}

/** Resolves when the thread is warm (true) or about to be ended. Rejects with what the store throws. */
export async function warmUp(options: WarmingUpOptions): Promise<boolean> {
  const { activity, isFirst, isEnding, times = warmingUpTimes } = options;
  await pause(times.after);
  const large = new LargeCommands(options);
  let sample = options.sample();
  const wasEmpty = sample === null;
  while (sample === null && !isEnding()) {
    await fewCommands(options, large, times.pause);
    sample = options.sample();
  }
  if (wasEmpty && !isFirst()) await fewCommands(options, large, times.rest);
  if (sample === null || isEnding()) return false;
  const work = options.begin(sample, times.budget);
  let rate = new CommandRate(options);
  let begun = activity.begun;
  while (!isEnding()) {
    const isLooking = rate.milliseconds >= times.look;
    const isBusy = isLooking && (rate.isHigh || large.areWorkedOn);
    if (isLooking) rate = new CommandRate(options);
    if (isBusy || activity.running > 0 || activity.begun !== begun) {
      work.rest();
      await (isBusy ? fewCommands(options, large, times.pause) : pause(times.again));
      begun = activity.begun;
    } else {
      if (!work.step()) return true;
      await nextTurn();
    }
  }
  return false;
}

const pause = (ms: number): Promise<void> => delay(ms, undefined, { ref: false });

/** Resolves when few commands have been applied for so many milliseconds and no large ones, or when the thread is about to be ended. */
async function fewCommands(options: WarmingUpOptions, large: LargeCommands, ms: number): Promise<void> {
  for (;;) {
    const rate = new CommandRate(options);
    await pause(ms);
    if (options.isEnding() || !(rate.isHigh || large.areWorkedOn)) return;
  }
}

/** Notices commands of which one takes longer than many others. */
class LargeCommands {
  readonly #options: WarmingUpOptions;
  /** Commands that had been applied when some were seen to be, or none to wait; and when that was. */
  #applied: number;
  #since = performance.now();

  constructor(options: WarmingUpOptions) {
    this.#options = options;
    this.#applied = options.commands();
  }

  get areWorkedOn(): boolean {
    const { activity, commands, times = warmingUpTimes } = this.#options;
    const now = performance.now();
    const applied = commands();
    if (applied !== this.#applied || activity.commandsWaiting === 0) {
      this.#applied = applied;
      this.#since = now;
    }
    return now - this.#since > times.slow;
  }
}

/** How many commands are applied from its making on. */
class CommandRate {
  readonly #began = performance.now();
  readonly #options: WarmingUpOptions;
  readonly #before: number;

  constructor(options: WarmingUpOptions) {
    this.#options = options;
    this.#before = options.commands();
  }

  /** Since it was made. */
  get milliseconds(): number {
    return performance.now() - this.#began;
  }

  /** Whether there were more than a fleet at rest sends. */
  get isHigh(): boolean {
    const { commands, times = warmingUpTimes } = this.#options;
    return commands() - this.#before > 1 + (this.milliseconds / 1000) * times.commandsMax;
  }
}
