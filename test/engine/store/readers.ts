// Which snapshots of a partition are held: pages that they see cannot be used again.

import { setTimeout as delay } from 'node:timers/promises';
import type { Partition } from '../../../engine/store/partition.ts';

/** Read transactions on the partition, of all threads and processes. lmdb lists one a line: process, thread, transaction. */
export function heldSnapshots({ env }: Partition): number {
  const list = (env as unknown as { readerList(): string }).readerList();
  return list.split('\n').filter((line) => /^\s*\d+\s+\S+\s+\d+\s*$/.test(line)).length;
}

/** lmdb lets go of a thread's shared read transaction with a timer of 0 ms. */
export const nextTurn = (): Promise<void> => delay(20);
