// Thread entry for thread-end.test.ts: a thread that has a flush under way, or is reading, when its end comes.

import { workerData } from 'node:worker_threads';
import { openPartition } from '../../../engine/store/partition.ts';

const { dir, how, after } = workerData as { dir: string; how: 'throw' | 'exit'; after: number };
const partition = openPartition(dir);
for (let round = 0; ; round++) {
  partition.write(() => {
    for (let i = 0; i < 50; i++) partition.tables.environment.putSync(Buffer.from(`${i}`), Buffer.alloc(200, round));
  });
  void partition.flush();
  if (round === after) {
    if (how === 'exit') process.exit(3);
    throw new Error('thrown on request');
  }
  await new Promise(setImmediate);
}
