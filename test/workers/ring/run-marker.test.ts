import assert from 'node:assert/strict';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { DataFile, DataFileDamaged } from '../../../engine/store/file/data-file.ts';
import { dataFileOf, partitionDir } from '../../../engine/store/file/layout.ts';
import { openStoreInfo } from '../../../engine/store/file/store-info.ts';
import { openPartition } from '../../../engine/store/partition.ts';
import { checkAllPages } from '../../../workers/ring/run-marker.ts';
import { temporaryDirectory } from '../../support/directories.ts';

/** Turns of the event loop that others have until the work is done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  await work.finally(() => clearImmediate(next));
  return turns;
}

test('run marker: all pages are read in turns, and the damaged one is told', async () => {
  const dir = temporaryDirectory();
  const info = openStoreInfo(dir, { partitions: 1 });
  const path = partitionDir(dir, 0);
  const partition = openPartition(path);
  partition.write((batch) => {
    for (let i = 0; i < 4000; i++) batch.setInputs(batch.createNode(`node-${i}.example.com`), `"${'x'.repeat(1000)}"`);
  });
  await partition.flush();
  await partition.close();
  const pages = statSync(dataFileOf(path)).size / 4096;
  assert.ok(pages > 1000, `${pages} pages`);
  const turns = await turnsDuring(checkAllPages(dir, info));
  assert.ok(turns >= 10, `${turns} turns in ${pages} pages`);

  const file = new DataFile(dataFileOf(path));
  const { free } = file.meta();
  file.close();
  const fd = openSync(dataFileOf(path), 'r+');
  writeSync(fd, Buffer.alloc(4096), 0, 4096, Number(free.root) * 4096);
  closeSync(fd);
  await assert.rejects(checkAllPages(dir, info), (error) => {
    assert.ok(error instanceof DataFileDamaged);
    assert.match(error.message, new RegExp(`page ${free.root} says that it is page 0`));
    return true;
  });
});
