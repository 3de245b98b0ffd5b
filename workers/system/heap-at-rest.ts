// Gives back what the heap of a thread has grown by, or its buffers, once the thread rests: V8 decides about a heap's size when it collects, and a
// thread that has nothing to do does not collect, so after a burst of queries it would keep several times what it uses. What the thread
// keeps for its next queries goes later, unless commands want the memory: dashboards ask again within a minute.

import { getHeapStatistics } from 'node:v8';
import { memoryUsage } from './process-memory.ts';

/** Milliseconds without work before the heap is collected. V8 makes it small only where little was allocated in the last five seconds. */
const REST_MS = 10_000;
/** And before what is kept is given up, while nobody needs its memory. */
const KEEP_MS = 120_000;
/** Bytes beyond what is used that make it worth while. */
const SPARE_MIN = 8 << 20;

interface HeapAtRest {
  /** How much the thread has done so far, in any unit: it rests while that stays the same. */
  readonly work: () => number;
  /** Collects the whole heap. */
  readonly collect: () => void;
  /** Bytes that the heap takes beyond what is used. */
  readonly spare?: () => number;
  /** Gives up what is kept for later work. Returns its bytes. */
  readonly giveUp?: () => number;
  /** Whether that should be soon: commands are applied. */
  readonly isPressing?: () => boolean;
  readonly restMs?: number;
  readonly keepMs?: number;
}

const spareOfHeap = (): number => {
  const { total_heap_size: total, used_heap_size: used } = getHeapStatistics();
  return total - used;
};

/** Bytes of this thread's buffers; those that it had, while nothing is told of them. */
const buffersOfThread = (): number => {
  buffersTold = memoryUsage()?.arrayBuffers ?? buffersTold;
  return buffersTold;
};
let buffersTold = 0;

/** Bytes of buffers that make a collection worth while. */
const BUFFERS_MIN = 32 << 20;

/**
 * For a thread that has large buffers now and then, such as bodies of commands: V8 looks at those that nobody needs when more are made, so the
 * last ones stay as long as nothing comes.
 */
export function buffersAtRest(
  gc: () => void,
  taken = buffersOfThread,
): Required<Pick<HeapAtRest, 'spare' | 'collect'>> {
  /** What stays: of what one collection leaves, a body that is still being received may be a part. */
  let left = taken();
  let leftLast = left;
  return {
    spare: () => {
      const now = taken();
      left = Math.min(left, now);
      return now - left >= BUFFERS_MIN ? now - left : 0;
    },
    collect: () => {
      gc();
      const now = taken();
      left = Math.max(left, Math.min(now, leftLast));
      leftLast = now;
    },
  };
}

/** Starts watching. Returns what ends it. */
export function collectAtRest(options: HeapAtRest): () => void {
  const { work, collect, spare = spareOfHeap, giveUp = () => 0, isPressing = () => false } = options;
  const { restMs = REST_MS, keepMs = KEEP_MS } = options;
  let seen = work();
  let restedMs = 0;
  let hasGivenUp = false;
  const timer = setInterval(() => {
    const now = work();
    if (now !== seen) {
      seen = now;
      restedMs = 0;
      hasGivenUp = false;
      return;
    }
    const isFirst = restedMs === 0;
    restedMs += restMs;
    const givesUp = !hasGivenUp && (restedMs >= keepMs || isPressing());
    if (!isFirst && !givesUp) return;
    const given = givesUp ? giveUp() : 0;
    hasGivenUp ||= givesUp;
    if (spare() + given >= SPARE_MIN) collect();
    seen = work();
  }, restMs);
  timer.unref();
  return () => clearInterval(timer);
}
