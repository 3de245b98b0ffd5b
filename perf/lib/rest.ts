// A server that has been loaded is not at rest when its queue is empty: it gives memory back, compiles, makes ready for queries, some of it
// after a pause. What is measured meanwhile is of both.

import { setTimeout as delay } from 'node:timers/promises';
import type { Processes } from './processes.ts';

/** Of one processor: more is work. */
const REST_SHARE = 0.05;
const LOOK_MS = 250;

interface RestOptions {
  /** How long it has to do nothing. */
  readonly restMs: number;
  /** How long that is waited for. */
  readonly mostMs?: number;
  readonly pause?: (ms: number) => Promise<unknown>;
  /** Monotonic milliseconds. */
  readonly clock?: () => number;
}

/**
 * Resolves when the server has done nothing for so long, or that did not come about in time: with the seconds it took, or null in the
 * latter case. NaN, at once, where its processes are not known.
 */
export async function atRest(
  processes: Pick<Processes, 'known' | 'cpuMs'>,
  { restMs, mostMs = 120_000, pause = delay, clock = () => performance.now() }: RestOptions,
): Promise<number | null> {
  if (!processes.known) return Number.NaN;
  const start = clock();
  let last = { at: start, cpu: processes.cpuMs() };
  for (let since = start; last.at - since < restMs; ) {
    if (last.at - start >= mostMs) return null;
    await pause(LOOK_MS);
    const now = { at: clock(), cpu: processes.cpuMs() };
    if (now.cpu - last.cpu > (now.at - last.at) * REST_SHARE) since = now.at;
    last = now;
  }
  return (last.at - start) / 1000;
}
