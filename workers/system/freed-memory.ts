// Gives memory back that nobody uses any more. The C library keeps what was freed, for each thread apart, in case that thread
// wants it again; bodies of commands come and go in bursts, of all sizes, and leave much of it behind. Once the process has
// grown and rests, the library is told to return what it can (malloc_trim), and again as long as the process stays as large:
// what a burst took may be freed later. The call takes up to a tenth of a second, threads that want memory wait for it, and
// what they get then comes page by page from the system: at work it is left out unless the process has grown by much.
// Only glibc on Linux knows it; elsewhere nothing is done.

import { nativeFunction } from './native.ts';
import { pageSize, residentMemory } from './process-memory.ts';

const CHECK_MS = 1000;
/** Bytes of growth that make it worth while at rest, and at work. */
const GROWTH = 16 << 20;
const GROWTH_BUSY = 128 << 20;
/** Looks without work that make it rest. */
const RESTING = 2;
/** Looks between one time and the next, doubled each time, after which what the process still takes counts as what it needs. */
const PAUSE_MAX = 32;

/** Starts watching; `isBusy` tells whether there is work at present. Returns what ends it, or null where it is not possible. */
export function returnFreedMemory(isBusy: () => boolean): (() => void) | null {
  const page = pageSize();
  if (page === null) return null;
  let trim: ReturnType<typeof nativeFunction> = null;
  /** Bytes of the process's own that it needs, and that it had after the last time. */
  let base = residentMemory(page).own;
  let left = base;
  let pause = 1;
  let looks = 0;
  let resting = 0;
  let isAtWork = false;
  const timer = setInterval(() => {
    if (isAtWork) return;
    const now = residentMemory(page).own;
    base = Math.min(base, now);
    left = Math.min(left, now);
    resting = isBusy() ? 0 : resting + 1;
    const growth = resting < RESTING ? GROWTH_BUSY : GROWTH;
    if (now - left >= growth) pause = 1;
    else if (now - base < growth || --looks > 0) return;
    trim ??= nativeFunction('int malloc_trim(size_t pad)');
    if (trim === null) {
      clearInterval(timer);
      return;
    }
    isAtWork = true;
    trim.async(0, () => {
      isAtWork = false;
      left = residentMemory(page).own;
      if (pause > PAUSE_MAX) base = left;
      looks = pause;
      pause *= 2;
    });
  }, CHECK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
