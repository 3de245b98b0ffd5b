// A thread that ends while lmdb works for it must end alone. When this goes wrong the whole process dies of a signal.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { openPartition } from '../../../engine/store/partition.ts';
import { ActivityMark } from '../../../workers/actor/activity.ts';
import { threadScript } from '../../../workers/system/thread-script.ts';
import { temporaryDirectory } from '../../support/directories.ts';

const { url, ...options } = threadScript('ending-thread', import.meta.url);

for (const how of ['throw', 'exit'] as const) {
  test(`thread end: one that dies by ${how} in the middle of a flush takes nobody with it`, async () => {
    const dir = temporaryDirectory();
    for (let after = 0; after < 6; after++) {
      const worker = new Worker(url, { ...options, workerData: { dir, how, after } });
      const errors: Error[] = [];
      worker.on('error', (error) => errors.push(error));
      const code = await new Promise((resolve) => worker.once('exit', resolve));
      assert.equal(code, how === 'exit' ? 3 : 1);
      assert.deepEqual(
        errors.map(({ message }) => message),
        how === 'exit' ? [] : ['thrown on request'],
      );
    }
    const partition = openPartition(dir);
    assert.equal([...partition.tables.environment.getKeys({})].length, 50);
    await partition.close();
  });
}

test('thread end: a partition that is closed waits for its flush', async () => {
  const dir = temporaryDirectory();
  for (let i = 0; i < 10; i++) {
    const partition = openPartition(dir);
    partition.write(() => partition.tables.environment.putSync(Buffer.from('key'), Buffer.alloc(100_000, i)));
    const flushed = partition.flush();
    await partition.close();
    await flushed;
  }
});

test('thread end: no one asks a thread to end while it is held, nested work included', () => {
  const mark = new ActivityMark();
  const other = new ActivityMark(mark.buffer);
  mark.holding(() => {
    mark.holding(() => {});
    assert.equal(other.askToEnd(), false);
  });
  assert.equal(other.askToEnd(), true);
});
