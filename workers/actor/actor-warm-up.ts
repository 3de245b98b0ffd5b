// What an actor does between its start and the first commands: it applies some that nobody sent, to a partition that nobody sees, so that V8
// has compiled most of the code when a fleet comes. Without it the first commands cost more (perf/history.md). It ends for good when commands come:
// they do the same.

import { dirname } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { QueuedCommand } from '../../engine/ingest/command/types.ts';
import { requireRoom } from '../../engine/store/file/lmdb.ts';
import { removeFolder } from '../../engine/store/file/store-info.ts';
import { openGuarded } from './guarded-host.ts';
import type { Guard, PartitionHost } from './partition-host.ts';

/** Milliseconds from the start: other threads come up meanwhile, and clients that wait for the server may have commands. */
const AFTER_MS = 250;
/** Milliseconds of work in all. */
const BUDGET_MS = 2500;

/** What there is to warm up with. */
export interface WarmUp {
  /** Folder of its partition: nothing else is in it, and it goes afterwards. */
  readonly dir: string;
  readonly open: (guard: Guard) => PartitionHost;
  /** The commands of a batch each. */
  readonly batches: (now: number) => Iterable<readonly QueuedCommand[]>;
}

export interface ActorWarmUpOptions extends WarmUp {
  readonly guard: Guard;
  /** Commands have come, or the thread is to end. */
  readonly over: AbortSignal;
  readonly now: () => number;
  readonly afterMs?: number;
  readonly budgetMs?: number;
}

/** Resolves with the number of commands that were applied. What goes wrong ends it, and nothing else: without it all works as well. */
export async function warmUpActor(options: ActorWarmUpOptions): Promise<number> {
  const { dir, open, batches, guard, over, now, afterMs = AFTER_MS, budgetMs = BUDGET_MS } = options;
  await delay(afterMs, undefined, { signal: over }).catch(() => {});
  if (over.aborted) return 0;
  let host: PartitionHost | null = null;
  let applied = 0;
  try {
    removeFolder(dir);
    requireRoom(dirname(dir), 0);
    host = openGuarded(() => open(guard), guard);
    const begun = performance.now();
    for (const commands of batches(now())) {
      host.apply(commands, { now: now(), position: commands.at(-1)!.seq, held: () => [] });
      applied += commands.length;
      await nextTurn();
      if (over.aborted || performance.now() - begun > budgetMs) break;
    }
  } catch {
    // A full disk, no room for another mapping.
  }
  await host?.close().catch(() => {});
  removeFolder(dir);
  return applied;
}
