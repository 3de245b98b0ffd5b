// Directories are as lasting as what is written below them.

import assert from 'node:assert/strict';
import fs, { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeDirectory } from '../../engine/directories.ts';

/** An empty folder, and which folders were synced; those that `unreadable` names cannot be opened. */
function watched(t: TestContext, unreadable: (path: string) => boolean = () => false) {
  const dir = mkdtempSync(join(tmpdir(), 'directories-'));
  const { openSync, fsyncSync } = fs;
  const paths = new Map<number, string>();
  const synced: string[] = [];
  const replace = (others: Partial<typeof fs>): void => {
    Object.assign(fs, others);
    syncBuiltinESMExports();
  };
  replace({
    openSync: (path, flags, mode) => {
      if (unreadable(String(path))) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
      const fd = openSync(path, flags, mode);
      paths.set(fd, String(path));
      return fd;
    },
    fsyncSync: (fd) => {
      fsyncSync(fd);
      synced.push(paths.get(fd)!);
    },
  });
  t.after(() => {
    replace({ openSync, fsyncSync });
    rmSync(dir, { recursive: true });
  });
  return { dir, synced };
}

test('directories: the name of each one that is made is durable', (t) => {
  const { dir, synced } = watched(t);
  makeDirectory(join(dir, 'a', 'b'));
  assert.deepEqual(synced, [dir, join(dir, 'a')]);
  makeDirectory(join(dir, 'a', 'b'));
  assert.equal(synced.length, 2);
});

test('directories: one is made all the same where the one above it cannot be read', (t) => {
  const { dir, synced } = watched(t, (path) => path.endsWith('directories-x'));
  makeDirectory(join(dir, 'directories-x', 'inner'));
  assert.ok(existsSync(join(dir, 'directories-x', 'inner')));
  assert.deepEqual(synced, [dir]);
});
