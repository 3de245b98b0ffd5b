// What Linux tells of a thread and its processors. Elsewhere nothing is known.

import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { procFile } from './proc-file.ts';

/** Milliseconds since the thread began: those it ran, and those it could have run while others did. */
export interface Schedule {
  readonly ran: number;
  readonly waited: number;
}

/** The system's number of the thread that calls this; null where threads have none of their own. */
export function ownThread(): number | null {
  try {
    return Number(basename(readlinkSync('/proc/thread-self')));
  } catch {
    return null;
  }
}

/** Of the thread that makes it, to be asked again and again; null where nothing is known. */
export function ownSchedule(): (() => Schedule) | null {
  try {
    const read = procFile('/proc/thread-self/schedstat');
    return () => parse(read());
  } catch {
    return null;
  }
}

/** Of a thread of this process, by its number; null where nothing is known, or the thread is gone. */
export function scheduleOf(thread: number): Schedule | null {
  try {
    return parse(readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1'));
  } catch {
    return null;
  }
}

/** Nanoseconds run, nanoseconds waited, turns. */
function parse(text: string): Schedule {
  const [ran = 0, waited = 0] = text.split(' ', 2).map(Number);
  return { ran: ran / 1e6, waited: waited / 1e6 };
}
