import assert from 'node:assert/strict';
import { closeSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DataFile, DataFileDamaged } from '../../../engine/store/file/data-file.ts';
import { dataFileOf, partitionDir } from '../../../engine/store/file/layout.ts';
import { openStoreInfo } from '../../../engine/store/file/store-info.ts';
import { openPartition } from '../../../engine/store/partition.ts';
import { checkAllPages, RunMarker, SETTLED_MS } from '../../../workers/ring/run-marker.ts';
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

test('run marker: runs in a row that ended soon and not in order are counted', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const dir = temporaryDirectory();
  const ends: Readonly<Record<string, (marker: RunMarker) => void>> = {
    killed: () => {},
    'in order': (marker) => marker.end(),
    // Nobody used the files.
    refused: (marker) => marker.leave(),
    'killed later': () => t.mock.timers.tick(SETTLED_MS),
  };
  const runs = ['killed', 'killed', 'refused', 'killed', 'in order', 'killed', 'killed later', 'in order', 'refused'];
  const counted = runs.map((end) => {
    const marker = new RunMarker(dir);
    ends[end]!(marker);
    // What a process that is gone would not do any more.
    t.mock.timers.reset();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    return marker.quickEnds;
  });
  assert.deepEqual(counted, [0, 1, 2, 2, 3, 0, 1, 0, 0]);
  for (const text of ['', 'x', '-3\n']) {
    writeFileSync(join(dir, 'running'), text);
    const marker = new RunMarker(dir);
    marker.end();
    assert.equal(marker.quickEnds, 0, text);
  }
});

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
