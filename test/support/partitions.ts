// What lies in the partitions of a data directory, and when a ring has them open.

import { partitionDir } from '../../engine/store/file/layout.ts';
import { readStoreInfo } from '../../engine/store/file/store-info.ts';
import { openPartition, type Partition } from '../../engine/store/partition.ts';
import type { CommandRing } from '../../workers/types.ts';
import { withTimeout } from './waiting.ts';

/** What `look` gives of each partition as its last commit left it, by slot. A ring of this process may run. */
export async function ofPartitions<T>(dir: string, look: (partition: Partition) => T): Promise<T[]> {
  const found: T[] = [];
  for (let slot = 0; slot < readStoreInfo(dir).partitions; slot++) {
    const partition = openPartition(partitionDir(dir, slot), { readOnly: true });
    found.push(look(partition));
    await partition.close();
  }
  return found;
}

/** Resolves when every partition is open: each has then done a step of maintenance that changes nothing of these stores. */
export async function allOpen(ring: CommandRing, maxMs = 10_000): Promise<void> {
  await withTimeout(ring.maintain({ kind: 'gc_packages' }), maxMs, 'all partitions are open');
}
