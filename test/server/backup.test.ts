// The copy of a command log from which the server removes segments meanwhile: whatever is held of it leads on from there.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openPartition } from '../../engine/store/partition.ts';
import { openStoreInfo, partitionDir } from '../../engine/store/store-info.ts';
import { backup } from '../../server/backup.ts';
import { body, delivered, envelope, openTestLog } from '../engine/inbox/support.ts';

test('backup: segments that go while the first ones are held leave no gap', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'backup-'));
  const { link } = files;
  t.after(() => {
    Object.assign(files, { link });
    syncBuiltinESMExports();
    rmSync(dir, { recursive: true });
  });
  const data = join(dir, 'data');
  openStoreInfo(data, { partitions: 1 });
  await openPartition(partitionDir(data, 0)).close();
  const inbox = join(data, 'inbox');
  const log = await openTestLog(inbox, { segmentSizeMax: 1000 });
  for (let i = 0; i < 12; i++) await log.append(envelope(`n${i}`), body(`${i}`.repeat(300)));
  const names = readdirSync(inbox).sort();
  assert.ok(names.length > 3);
  // Behind the first link the server removes the oldest two, in its order.
  let isFirst = true;
  Object.assign(files, {
    link: async (from: string, to: string) => {
      await link(from, to);
      if (isFirst) for (const name of names.slice(0, 2)) rmSync(join(inbox, name));
      isFirst = false;
    },
  });
  syncBuiltinESMExports();
  const target = join(dir, 'copy');
  await backup({ data, target, now: Date.now, onProgress: () => {} });
  await log.close();
  const copy = await openTestLog(join(target, 'inbox'));
  assert.equal(delivered(copy).at(-1)?.envelope.certname, 'n11');
  await copy.close();
});
