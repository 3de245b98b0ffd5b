// Notices a thread that hangs. What counts is the time that it could use: waiting for a processor, which can last where other
// programs want all of them, is no hanging.

import type { Activity } from './activity.ts';

export class HangWatch {
  #count = -1;
  #since = 0;
  #waited = 0;

  /**
   * Milliseconds that the thread has been busy with what it does now, as far as was seen; to be called now and then. `now`:
   * monotonic ms; `waited`: ms that it has waited for a processor since it began.
   */
  busy(now: number, { kind, count }: Activity, waited: number): number {
    if (kind === 'idle' || count !== this.#count) {
      this.#count = count;
      this.#since = now;
      this.#waited = waited;
    }
    return now - this.#since - (waited - this.#waited);
  }
}
