// A store: all partitions of a data directory.

import { partitionDir } from './file/layout.ts';
import type { StoreInfo } from './file/store-info.ts';
import { RecordBudget } from './items/record-cache.ts';
import { openPartition, type Partition, type PartitionOptions } from './partition.ts';

/** All partitions of a store, by slot. Throws as `openPartition` does: then none is open. */
export function openPartitions(dir: string, info: StoreInfo, options: PartitionOptions = {}): Partition[] {
  const shared = { budget: new RecordBudget(), ...options };
  const partitions: Partition[] = [];
  try {
    for (let slot = 0; slot < info.partitions; slot++) partitions.push(openPartition(partitionDir(dir, slot), shared));
  } catch (error) {
    for (const partition of partitions) partition.close().catch(() => {});
    throw error;
  }
  return partitions;
}
