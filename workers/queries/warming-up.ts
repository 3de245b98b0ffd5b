// When a query thread warms up (engine/query/warm-up.ts), and the main thread for small queries: soon after a start with data; in a
// store that was empty, once it has data and few commands come. There the pool's first thread, which gets the queries of clients that
// ask one after the other, warms up in the first pause, and the others after a longer one: what their heaps grow by comes on top of
// what a burst of commands takes. Clients' queries in any thread and commands go first.

import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Sample, WarmUp } from '../../engine/query/warm-up.ts';
import type { Partition } from '../../engine/store/partition.ts';
import { inlineForCommands, inlineForQueries } from '../system/v8.ts';
import type { QueryActivity } from './query-activity.ts';

/** Milliseconds, but for the number of commands a second that count as few. Tests make them small. */
interface WarmingUpTimes {
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

export const warmingUpTimes: WarmingUpTimes = {
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
  let commands = new Commands(options);
  let sample = options.sample();
  const wasEmpty = sample === null;
  while (sample === null && !isEnding()) {
    commands = await fewCommands(commands, isEnding, times.pause);
    sample = options.sample();
  }
  if (wasEmpty && !isFirst()) commands = await fewCommands(commands, isEnding, times.rest);
  if (sample === null || isEnding()) return false;
  const work = options.begin(sample, times.budget);
  let begun = activity.begun;
  while (!isEnding()) {
    const isLooking = commands.milliseconds >= times.look;
    const isBusy = isLooking && commands.areMany;
    if (isLooking) commands = commands.next();
    if (isBusy || activity.running > 0 || activity.begun !== begun) {
      work.rest();
      if (isBusy) commands = await fewCommands(commands, isEnding, times.pause);
      else await pause(times.again);
      begun = activity.begun;
    } else {
      if (!work.step()) return true;
      await nextTurn();
    }
  }
  return false;
}

/** Commands that have been applied to a store so far, about: one moves the positions by as many as there are partitions, on average. 0: none is open. */
export const commandsApplied = (partitions: readonly Partition[]): number =>
  partitions.reduce((sum, { position }) => sum + position, 0) / Math.max(1, partitions.length);

/** The work, compiled as queries are. `within` runs each piece of it. */
export function compiledForQueries(
  work: WarmUp,
  within: <T>(piece: () => T) => T = (piece) => piece(),
): Pick<WarmUp, 'step' | 'rest'> {
  const step = (): boolean => {
    // Anew each time: other threads that warm up may rest meanwhile.
    inlineForQueries();
    const goesOn = within(() => work.step());
    if (!goesOn) inlineForCommands();
    return goesOn;
  };
  const rest = (): void => {
    inlineForCommands();
    within(() => work.rest());
  };
  return { step, rest };
}

const pause = (ms: number): Promise<void> => delay(ms, undefined, { ref: false });

/** Resolves when there have not been many commands for so many milliseconds, or when the thread is about to be ended: with those from then on. */
async function fewCommands(commands: Commands, isEnding: () => boolean, ms: number): Promise<Commands> {
  for (let seen = commands.next(); ; seen = seen.next()) {
    await pause(ms);
    if (isEnding() || !seen.areMany) return seen.next();
  }
}

/** Commands from its making on. */
class Commands {
  readonly #began = performance.now();
  readonly #options: WarmingUpOptions;
  readonly #appliedBefore: number;
  readonly #wereWaiting: boolean;

  constructor(options: WarmingUpOptions) {
    this.#options = options;
    this.#appliedBefore = options.commands();
    this.#wereWaiting = options.activity.commandsWaiting > 0;
  }

  /** Since it was made. */
  get milliseconds(): number {
    return performance.now() - this.#began;
  }

  /** Whether more were applied than a fleet at rest sends, or those that wait are so large that none has been for long. */
  get areMany(): boolean {
    const { times = warmingUpTimes } = this.#options;
    const { milliseconds } = this;
    return (
      this.#applied > 1 + (milliseconds / 1000) * times.commandsMax || (milliseconds > times.slow && this.#stillWait)
    );
  }

  get #applied(): number {
    return this.#options.commands() - this.#appliedBefore;
  }

  /** Some waited all the time, and none was applied. */
  get #stillWait(): boolean {
    return this.#wereWaiting && this.#options.activity.commandsWaiting > 0 && this.#applied === 0;
  }

  /** Those from now on, but for those that still wait: how long they do is told by who saw them first. */
  next(): Commands {
    return this.#stillWait ? this : new Commands(this.#options);
  }
}
