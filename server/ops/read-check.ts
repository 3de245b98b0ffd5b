// Whether the store can be read, as the status tells it: one small question is asked of it, at most once a second however many want to
// know. Why it cannot be read is logged once.

import { monotonicMs } from '../../workers/system/clock.ts';
import type { Logger } from '../log.ts';
import { type Asker, ask, type Question } from './questions/internal-query.ts';
import type { Phase } from './status.ts';

const KEPT_MS = 1000;
const QUESTION: Question = {
  path: '/environments',
  parameters: { limit: 1 },
  settings: { timeoutDefault: 20_000 },
};

interface ReadCheckDeps {
  readonly asker: Asker;
  readonly phase: () => Phase;
  readonly log: Logger;
}

export class ReadCheck {
  readonly #deps: ReadCheckDeps;
  #answer: Promise<boolean> = Promise.resolve(false);
  /** Monotonic ms until which the answer is kept. */
  #until = Number.NEGATIVE_INFINITY;
  #isTold = false;

  constructor(deps: ReadCheckDeps) {
    this.#deps = deps;
  }

  isReadable(): Promise<boolean> {
    // Before queries are taken the question would fail, and its answer be kept beyond the start.
    if (this.#deps.phase() !== 'starting' && monotonicMs() >= this.#until) this.#ask();
    return this.#answer;
  }

  #ask(): void {
    // One question at a time, however long it takes.
    this.#until = Number.POSITIVE_INFINITY;
    this.#answer = ask(this.#deps.asker, QUESTION)
      .then(
        () => this.#told(null),
        // At a stop nothing is answered any more.
        (error: Error) => (this.#deps.phase() === 'stopping' ? false : this.#told(error)),
      )
      .finally(() => {
        this.#until = monotonicMs() + KEPT_MS;
      });
  }

  #told(failure: Error | null): boolean {
    const { log } = this.#deps;
    if (failure === null && this.#isTold) log.info('the store can be read again');
    if (failure !== null && !this.#isTold)
      log.error(`the store cannot be read, the status is error: ${failure.message}`);
    this.#isTold = failure !== null;
    return failure === null;
  }
}
