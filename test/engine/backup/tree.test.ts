// What a backup has written lasts: every file below a folder is synced, few of them at the same time.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import files, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { syncTree } from '../../../engine/backup/tree.ts';

/** A folder with a hundred files in it and in one below it, and what is synced of them; `bad` cannot be. */
function watched(t: TestContext, bad: string | null = null) {
  const dir = mkdtempSync(join(tmpdir(), 'tree-'));
  mkdirSync(join(dir, 'inner'));
  const names = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? `${i}` : join('inner', `${i}`)));
  for (const name of names) writeFileSync(join(dir, name), name);
  const { open } = files;
  const seen = { synced: new Set<string>(), open: 0, openMost: 0 };
  const replace = (other: typeof open): void => {
    Object.assign(files, { open: other });
    syncBuiltinESMExports();
  };
  replace(async (path, ...rest): Promise<FileHandle> => {
    const file = await open(path, ...rest);
    const name = basename(String(path));
    if (!/^\d+$/.test(name)) return file;
    seen.openMost = Math.max(seen.openMost, ++seen.open);
    const { sync, close } = file;
    return Object.assign(file, {
      sync: async () => {
        if (name === bad) throw new Error('no sync');
        await sync.call(file);
        seen.synced.add(name);
      },
      close: async () => {
        await close.call(file);
        seen.open--;
      },
    });
  });
  t.after(() => {
    replace(open);
    rmSync(dir, { recursive: true });
  });
  return { dir, seen };
}

test('backup: all that is below a folder is synced, four files at the same time', async (t) => {
  const { dir, seen } = watched(t);
  await syncTree(dir);
  assert.deepEqual([seen.synced.size, seen.openMost, seen.open], [100, 4, 0]);
});

test('backup: a file that cannot be synced ends it, and none stays open', async (t) => {
  const { dir, seen } = watched(t, '50');
  await assert.rejects(syncTree(dir), /no sync/);
  assert.ok(!seen.synced.has('98'));
  assert.equal(seen.open, 0);
});
