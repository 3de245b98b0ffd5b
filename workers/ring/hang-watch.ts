// Notices a thread that hangs. What counts is the time that it could use: waiting for a processor, which can last where other
// programs want all of them, is no hanging.

import type { Activity } from '../actor/activity.ts';

export class HangWatch {
  #count = -1;
  #since = 0;
  #waited: number | null = null;

  /**
   * Milliseconds that the thread has been busy with what it does now, as far as was seen; to be called now and then. `now`:
   * monotonic ms; `waited`: ms that it has waited for a processor since it began, asked for while it is busy; null: not known, as if
   * it had not.
   */
  busy(now: number, { kind, count }: Activity, waited: () => number | null): number {
    if (kind === 'idle') {
      this.#count = -1;
      return 0;
    }
    const waitedNow = waited();
    if (count !== this.#count) {
      this.#count = count;
      this.#since = now;
      this.#waited = waitedNow;
    }
    return now - this.#since - (waitedNow === null || this.#waited === null ? 0 : waitedNow - this.#waited);
  }
}
