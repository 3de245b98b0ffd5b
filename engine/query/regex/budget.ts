// What matching may cost in one query. Counted are steps, not milliseconds, so that a query is not refused because the
// machine was busy; only the ways of matching that can be costly count them.

import { badQuery, type QueryError } from '../errors.ts';

/** Steps that are left to a query, shared by all its patterns. */
export interface StepBudget {
  left: number;
}

/** About half of what a processor of today does. */
const STEPS_PER_MS = 50_000;

/** `ms`: the setting `regex-budget`. */
export const budgetOf = (ms: number): StepBudget => ({ left: ms * STEPS_PER_MS });

/** Nothing is counted: for patterns outside of queries. */
export const unlimited = (): StepBudget => ({ left: Number.POSITIVE_INFINITY });

/** Throws QueryError 400 when that was more than is left. */
export function spend(budget: StepBudget, steps: number): void {
  budget.left -= steps;
  if (budget.left < 0) throw usedUp();
}

const usedUp = (): QueryError =>
  badQuery(
    'The regular expressions of this query take too long: they have used up the regex-budget of the server. ' +
      'Patterns without back references and look-around cost least.',
  );
