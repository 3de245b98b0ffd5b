// A process that keeps the write lock of a partition for some time. Arguments: its directory, milliseconds. Tells `locked` when it has it.

import { writeSync } from 'node:fs';
import { openPartition } from '../../../engine/store/partition.ts';

const [dir, ms] = process.argv.slice(2) as [string, string];
const partition = openPartition(dir);
partition.write(() => {
  writeSync(1, 'locked\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms));
});
await partition.close();
