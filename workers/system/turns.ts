// Work on a thread that others use, cut into parts: between them whoever else waits has a turn of the event loop.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** What the work gives; others have their turns whenever it yields. */
export async function inTurns<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await nextTurn();
  }
}
