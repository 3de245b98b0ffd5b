// Lines in the log about clients that are turned away. Each client may cause as many as it likes, so only some of them are written.

/** Lines of one kind that are written within SPAN_MS. */
const LINES_MAX = 20;
const SPAN_MS = 60_000;

/** Fields of a line that say how many before it were left out; empty: none. */
export type Untold = { readonly untold?: number };

/** Of one kind: so many of them in a minute are written. */
export class BoundedLines {
  /** Monotonic ms of the first line of those that count. */
  #began = Number.NEGATIVE_INFINITY;
  #lines = 0;
  /** Since the last line. */
  #untold = 0;

  /** Calls `write` where there may be a line. */
  tell(write: (untold: Untold) => void): void {
    const now = performance.now();
    if (now - this.#began >= SPAN_MS) {
      this.#began = now;
      this.#lines = 0;
    }
    if (this.#lines >= LINES_MAX) {
      this.#untold += 1;
      return;
    }
    this.#lines += 1;
    const untold = this.#untold === 0 ? {} : { untold: this.#untold };
    this.#untold = 0;
    write(untold);
  }
}
