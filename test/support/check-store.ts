// What a data directory has to be after whatever a test did to it.

import { checkPartition } from '../../engine/store/check/check.ts';
import { readStoreInfo } from '../../engine/store/file/store-info.ts';

/** What does not fit together in any partition, one after the other and in this process. Only while no server runs. */
export async function checkStore(dir: string): Promise<string[]> {
  const problems: string[] = [];
  for (let slot = 0; slot < readStoreInfo(dir).partitions; slot++) {
    problems.push(...(await checkPartition(dir, slot)).problems);
  }
  return problems;
}
