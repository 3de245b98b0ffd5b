// Gives back what a query thread keeps for its next queries and what its heap has grown by, once the thread rests. V8 decides about a
// heap's size when it collects, and a thread that has nothing to do does not collect: after a burst of queries it would keep several
// times what it uses.

import { getHeapStatistics } from 'node:v8';

/** Milliseconds without work before the heap is collected. V8 makes it small only where little was allocated in the last five seconds. */
const REST_MS = 10_000;
/** Bytes beyond what is used that make it worth while. */
const SPARE_MIN = 8 << 20;

export interface HeapAtRest {
  /** How much the thread has done so far, in any unit: it rests while that stays the same. */
  readonly work: () => number;
  /** Collects the whole heap. */
  readonly collect: () => void;
  /** Bytes that the heap takes beyond what is used. */
  readonly spare?: () => number;
  /** Gives up what is kept for later work. Returns its bytes. */
  readonly giveUp?: () => number;
  readonly restMs?: number;
}

const spareOfHeap = (): number => {
  const { total_heap_size: total, used_heap_size: used } = getHeapStatistics();
  return total - used;
};

/** Starts watching. Returns what ends it. */
export function collectAtRest(options: HeapAtRest): () => void {
  const { work, collect, spare = spareOfHeap, giveUp = () => 0, restMs = REST_MS } = options;
  let seen = work();
  let isDone = false;
  const timer = setInterval(() => {
    const now = work();
    if (now !== seen) {
      seen = now;
      isDone = false;
    } else if (!isDone) {
      isDone = true;
      if (spare() + giveUp() >= SPARE_MIN) collect();
      seen = work();
    }
  }, restMs);
  timer.unref();
  return () => clearInterval(timer);
}
