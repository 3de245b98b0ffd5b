// What stub-actor.ts has counted in its partitions.

import { ofPartitions } from '../../support/partitions.ts';

/** How often each command was applied, by uuid, over all partitions. Only while no ring runs. */
export async function applications(dir: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  await ofPartitions(dir, ({ tables }) => {
    for (const { key, value } of tables.environment.getRange({})) {
      counts.set(key.toString().replace('applied ', ''), Number(value.toString()));
    }
  });
  return counts;
}
