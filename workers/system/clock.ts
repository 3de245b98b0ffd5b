// Time that goes on whatever is done to the machine's clock: for deadlines and for noticing what hangs. A clock that is set
// must neither end a running query nor make a busy thread look as if it hung.

/** Milliseconds that a timer can wait at most. */
export const TIMER_MAX = 2 ** 31 - 1;

/** Milliseconds since some moment, the same in all threads of the process. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** The same with fractions, for what takes little, in the thread that asks: others may count from another moment. */
export const stopwatch = (): number => performance.now();

/** A clock that says `start` now, epoch milliseconds, and goes on from there. */
export function clockFrom(start: number): () => number {
  const began = performance.now();
  return () => start + performance.now() - began;
}
