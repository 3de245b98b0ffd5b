// The start of the command side: what the data directory needs before commands can be taken, in that order.

import { DeadLetters } from '../../engine/inbox/dead-letters.ts';
import { type CommandLog, openLog } from '../../engine/inbox/log.ts';
import { discardedDir, inboxDir, partitionDir } from '../../engine/store/file/layout.ts';
import { markComplete, openStoreInfo, removeScratch, type StoreInfo } from '../../engine/store/file/store-info.ts';
import { openPartition } from '../../engine/store/partition.ts';
import { silentLog } from '../log.ts';
import { lockDataDirectory } from './data-lock.ts';
import { requireOwnFolder } from './own-folder.ts';
import { Ring } from './ring.ts';
import type { RingOptions } from './ring-options.ts';
import { checkAllPages, QUICK_ENDS_MAX, RunMarker } from './run-marker.ts';

/**
 * Opens the inbox and starts the actors. Resolves as soon as submissions can be taken: partitions open and replay in the
 * background. Throws when another process has the directory, when it is somebody else's (own-folder.ts), when it was written by a newer
 * version, when a partition's file (DataFileDamaged) or the log is damaged (StreamCorrupt, with file and offset).
 */
export async function startRing(options: RingOptions): Promise<Ring> {
  requireOwnFolder(options.dir);
  const lock = await lockDataDirectory(options.dir);
  const marker = new RunMarker(options.dir);
  let log: CommandLog | null = null;
  try {
    const info = openStoreInfo(options.dir, options.partitions === undefined ? {} : { partitions: options.partitions });
    removeScratch(options.dir);
    if (marker.quickEnds >= QUICK_ENDS_MAX) {
      options.log?.warn(
        `the last ${marker.quickEnds} runs ended soon and not in order; reading all pages of the store first`,
      );
      await checkAllPages(options.dir, info);
    }
    const positions = await storedPositions(options.dir, info);
    markComplete(options.dir, info);
    const deadLetters = new DeadLetters(discardedDir(options.dir));
    await deadLetters.open();
    log = await openLog({
      dir: inboxDir(options.dir),
      // What the log gives out must come after everything that was applied, whatever became of the log.
      seqAfter: Math.max(...positions),
      flushedPositions: () => storedPositions(options.dir, info, true),
      log: options.log ?? silentLog,
      random: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    });
    const ring = new Ring(options, { lock, marker, log, positions, deadLetters });
    await ring.deadLetters.start();
    return ring;
  } catch (error) {
    await log?.close();
    marker.leave();
    await lock.release();
    throw error;
  }
}

/** Stream positions of all partitions, by slot; as they would survive a power failure, if that is wanted. */
async function storedPositions(dir: string, info: StoreInfo, isFlushed = false): Promise<number[]> {
  const positions: number[] = [];
  for (let slot = 0; slot < info.partitions; slot++) {
    const partition = openPartition(partitionDir(dir, slot));
    try {
      positions.push(partition.position);
      if (isFlushed) await partition.flush();
    } finally {
      await partition.close();
    }
  }
  return positions;
}
