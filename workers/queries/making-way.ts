// Long answers make way: while more threads want to run than there are processors, and among them are some for commands or
// for other queries, a thread pauses between the parts of a long answer. Whoever reads a dump waits longer then; agents and
// short queries do not.

import { ownSchedule, type Schedule } from '../system/schedule.ts';

/** Milliseconds between two looks. */
const LOOK_MS = 4;
/** The part of the time in which the thread waited for a processor that is too much. */
const CROWDED = 0.2;
/** Milliseconds for which others count after they were seen last. */
const OTHERS_MS = 200;
/** How long a pause is: so many times what the answer took since the last one, and at most that many milliseconds. */
const PAUSE_FACTOR = 2;
const PAUSE_MAX_MS = 30;

/** Since it was asked last. */
type Spent = () => Schedule;

interface MakingWayOptions {
  /** A number that grows while commands are applied. */
  readonly positions: () => number;
  /** Default: what the system says of the thread that calls this. */
  readonly spent?: Spent;
  /** Monotonic milliseconds. */
  readonly clock?: () => number;
}

/** Says to a query thread when its long answers should pause, and how long. Spent time is of the thread that makes it. */
export class MakingWay {
  readonly #positions: () => number;
  readonly #spent: Spent;
  readonly #clock: () => number;
  #position: number | null = null;
  #lookedAt = 0;
  #others = Number.NEGATIVE_INFINITY;
  #hasServed = false;

  constructor({ positions, spent = spentOfThread(), clock = () => performance.now() }: MakingWayOptions) {
    this.#positions = positions;
    this.#spent = spent;
    this.#clock = clock;
  }

  /** A query was answered that is not long. */
  served(): void {
    this.#hasServed = true;
  }

  /** Milliseconds that a long answer should pause before it goes on. To be called between its parts. */
  pause(): number {
    const now = this.#clock();
    if (now - this.#lookedAt < LOOK_MS) return 0;
    this.#lookedAt = now;
    const { ran, waited } = this.#spent();
    const took = ran + waited;
    if (waited <= took * CROWDED) return 0;
    const position = this.#positions();
    if (this.#hasServed || (this.#position !== null && position !== this.#position)) this.#others = now;
    this.#position = position;
    this.#hasServed = false;
    return now - this.#others < OTHERS_MS ? Math.min(PAUSE_MAX_MS, took * PAUSE_FACTOR) : 0;
  }
}

/** Linux counts for each thread how long it waited for a processor; elsewhere nobody ever waits. */
function spentOfThread(): Spent {
  const schedule = ownSchedule();
  let before: Schedule = { ran: 0, waited: 0 };
  return () => {
    const now = schedule?.() ?? before;
    const since = { ran: now.ran - before.ran, waited: now.waited - before.waited };
    before = now;
    return since;
  };
}
