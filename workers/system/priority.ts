// How far the threads that apply commands give way to those that clients wait for, where there are fewer processors than busy threads.

import { setPriority } from 'node:os';
import { type NativeFunction, nativeFunction } from './native.ts';
import { ownThread } from './schedule.ts';

/**
 * low: less of the time when others want it, too. idle: what others leave. A thread that wakes up takes the processor from an
 * idle one at once, and takes one on which an idle one runs for free, which a nice one has to itself until its slice is over. Others
 * are all programs that share a control group, or a session where the system groups by these.
 */
export type Priority = 'low' | 'idle';

/** What `low` is. */
const NICENESS = 5;
/** Linux's number of the policy. */
const SCHED_IDLE = 5;
/** `struct sched_param` with the only priority that the policy knows. */
const IDLE_PARAMETERS = new Uint8Array(4);

function scheduler(): NativeFunction | null {
  if (process.platform !== 'linux') return null;
  return nativeFunction('int sched_setscheduler(int thread, int policy, const void *parameters)');
}

/** Whether `idle` can be had here: it takes Linux and the optional package that calls it. */
export const knowsIdle = (): boolean => scheduler() !== null;

/**
 * Sets the priority of the thread that calls it, on Linux: elsewhere threads have none of their own. `idle` is for good, as the
 * system lets nobody without a privilege go back; where it cannot be had the thread's priority is low.
 */
export function giveWay(priority: Priority): void {
  const thread = ownThread();
  if (thread === null) return;
  try {
    setPriority(thread, NICENESS);
  } catch {
    // It may not be set.
  }
  // 0: the calling thread.
  if (priority === 'idle') scheduler()?.(0, SCHED_IDLE, IDLE_PARAMETERS);
}
