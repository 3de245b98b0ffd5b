// What matching may cost in one query. Counted are steps, not milliseconds, so that a query is not refused because the
// machine was busy; only the ways of matching that can be costly count them.

import { badQuery, type QueryError } from '../errors.ts';

/** So many steps are taken between two looks whether the query is still wanted: some milliseconds. */
const STEPS_PER_LOOK = 500_000;
/** So many texts are left to the JavaScript engine between two looks, where it may take some milliseconds for one. */
const TEXTS_PER_LOOK = 16;

/** Reading or compiling a pattern takes so many steps a character, and as many as so many characters at least. */
const STEPS_A_CHARACTER = 200;
const CHARACTERS_MIN = 10;

/** Steps that are left to a query, shared by all its patterns. */
export class StepBudget {
  readonly #look: () => void;
  #left: number;
  /** Until the next look. */
  #steps = STEPS_PER_LOOK;
  #texts = TEXTS_PER_LOOK;

  /** `look`: called now and then while patterns are at work; throws what ends the query. */
  constructor(steps: number, look: () => void = () => {}) {
    this.#left = steps;
    this.#look = look;
  }

  get left(): number {
    return this.#left;
  }

  /** Throws QueryError 400 when that was more than is left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw usedUp();
    this.#steps -= steps;
    if (this.#steps < 0) {
      this.#steps = STEPS_PER_LOOK;
      this.#look();
    }
  }

  /** A pattern is about to be read or compiled, which is done without a pause. Throws like `spend`. */
  reads(pattern: string): void {
    this.spend(Math.max(pattern.length, CHARACTERS_MIN) * STEPS_A_CHARACTER);
  }

  /** A text is decided by an engine that counts no steps, with a bound on what that takes. */
  passes(): void {
    if (--this.#texts > 0) return;
    this.#texts = TEXTS_PER_LOOK;
    this.#look();
  }
}

/** About half of what a processor of today does. */
const STEPS_PER_MS = 50_000;

/** `ms`: the setting `regex-budget`. */
export const budgetOf = (ms: number, look?: () => void): StepBudget => new StepBudget(ms * STEPS_PER_MS, look);

/** Nothing is counted: for patterns outside of queries. */
export const unlimited = (): StepBudget => new StepBudget(Number.POSITIVE_INFINITY);

const usedUp = (): QueryError =>
  badQuery(
    'The regular expressions of this query take too long: they have used up the regex-budget of the server. ' +
      'Patterns without back references and look-around cost least.',
  );
