// What stub-actor.ts has counted in its partitions.

import { openPartition } from '../../engine/store/partition.ts';
import { partitionDir, readStoreInfo } from '../../engine/store/store-info.ts';

/** How often each command was applied, by uuid, over all partitions. Only while no ring runs. */
export async function applications(dir: string): Promise<Map<string, number>> {
  const { partitions } = readStoreInfo(dir);
  const counts = new Map<string, number>();
  for (let slot = 0; slot < partitions; slot++) {
    const partition = openPartition(partitionDir(dir, slot));
    for (const { key, value } of partition.tables.environment.getRange({})) {
      counts.set(key.toString().replace('applied ', ''), Number(value.toString()));
    }
    await partition.close();
  }
  return counts;
}
