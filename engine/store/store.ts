// A store: all partitions of a data directory.

import { partitionDir } from './file/layout.ts';
import type { StoreInfo } from './file/store-info.ts';
import { RecordBudget } from './items/record-cache.ts';
import { openPartition, type Partition, type PartitionOptions } from './partition.ts';

/** All partitions of a store, by slot. */
export function openPartitions(dir: string, info: StoreInfo, options: PartitionOptions = {}): Partition[] {
  const shared = { budget: new RecordBudget(), ...options };
  return Array.from({ length: info.partitions }, (_, slot) => openPartition(partitionDir(dir, slot), shared));
}
