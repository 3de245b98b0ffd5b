// The copy of a command log that the server writes to, and removes segments from, meanwhile: whatever is held of it leads on from there.

import assert from 'node:assert/strict';
import fs, {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isBackedUp, backup as make } from '../../../engine/backup/make.ts';
import { problemsOfBackup } from '../../../engine/backup/manifest.ts';
import { restore } from '../../../engine/backup/restore.ts';
import { filesBelow } from '../../../engine/backup/tree.ts';
import { crc32 } from '../../../engine/crc32.ts';
import type { CommandLog } from '../../../engine/inbox/log.ts';
import { SEGMENT_HEADER_SIZE } from '../../../engine/inbox/record.ts';
import { StreamCorrupt } from '../../../engine/inbox/stream.ts';
import { holdDir, partitionDir } from '../../../engine/store/file/layout.ts';
import { openStoreInfo } from '../../../engine/store/file/store-info.ts';
import { openPartition } from '../../../engine/store/partition.ts';
import { withoutLeftovers } from '../../../server/leftovers.ts';
import { body, delivered, envelope, openTestLog } from '../inbox/support.ts';

const backup = (options: { readonly data: string; readonly target: string }) =>
  make({ ...options, now: Date.now, withoutLeftovers, onProgress: () => {} });

/** An empty folder, and functions of `node:fs/promises` that are others for the time of the test. */
function prepare(t: TestContext): { dir: string; replace(others: Partial<typeof files>): void } {
  const dir = mkdtempSync(join(tmpdir(), 'backup-'));
  const { copyFile, link, open, rename, utimes } = files;
  const replace = (others: Partial<typeof files>): void => {
    Object.assign(files, others);
    syncBuiltinESMExports();
  };
  t.after(() => {
    replace({ copyFile, link, open, rename, utimes });
    rmSync(dir, { recursive: true });
  });
  return { dir, replace };
}

/** A data directory with a partition that has applied nothing, and its log, open. */
async function dataWithLog(data: string, segmentSizeMax: number): Promise<{ inbox: string; log: CommandLog }> {
  openStoreInfo(data, { partitions: 1 });
  await openPartition(partitionDir(data, 0)).close();
  const inbox = join(data, 'inbox');
  return { inbox, log: await openTestLog(inbox, { segmentSizeMax }) };
}

test('backup: one may be on its way while its folder of links is looked after, or where that cannot be told', (t) => {
  const { dir: data } = prepare(t);
  const now = Date.now();
  assert.equal(isBackedUp(data, now), false);
  const held = holdDir(data, '0123abcd');
  mkdirSync(held);
  for (const [age, expected] of [
    [0, true],
    [59_000, true],
    [61_000, false],
    [-61_000, false],
  ] as const) {
    utimesSync(held, (now - age) / 1000, (now - age) / 1000);
    assert.equal(isBackedUp(data, now), expected, `${age}`);
  }
  assert.equal(isBackedUp(join(data, 'nowhere'), now), true);
});

test('backup: what is copied, or put back, is durable before it gets its name', async (t) => {
  const { dir, replace } = prepare(t);
  const [data, target, back] = ['data', 'target', 'back'].map((name) => join(dir, name)) as [string, string, string];
  const { log } = await dataWithLog(data, 1000);
  await log.append(envelope('a'), body('x'));
  const { open, rename } = files;
  const synced = new Set<unknown>();
  const unsynced: string[] = [];
  replace({
    open: async (path, ...rest) => {
      const file = await open(path, ...rest);
      const sync = file.sync.bind(file);
      file.sync = async () => {
        await sync();
        synced.add(path);
      };
      return file;
    },
    rename: async (from, to) => {
      const folder = String(from);
      for (const name of Object.keys(await filesBelow(folder)))
        if (!synced.has(join(folder, name))) unsynced.push(name);
      await rename(from, to);
    },
  });
  await backup({ data, target });
  await restore({ source: target, data: back, withoutLeftovers });
  assert.deepEqual(unsynced, []);
  assert.ok(synced.size > 4);
  await log.close();
});

/** Counts the looks for segments, each of which sets a time. `onLook` is called with the number of each before it does. */
function lookingFor(
  replace: ReturnType<typeof prepare>['replace'],
  onLook: (look: number) => void = () => {},
): { readonly count: number } {
  const { utimes } = files;
  const looks = { count: 0 };
  replace({
    utimes: async (...given) => {
      onLook(++looks.count);
      await utimes(...given);
    },
  });
  return looks;
}

test('backup: one whose segments were not held all the time fails', async (t) => {
  const { dir, replace } = prepare(t);
  const data = join(dir, 'data');
  const { log } = await dataWithLog(data, 1000);
  const looks = lookingFor(replace, (look) => {
    if (look === 2) throw Object.assign(new Error('EIO: injected into utimes'), { code: 'EIO' });
  });
  const onProgress = (): void => {
    for (const end = performance.now() + 300; performance.now() < end; );
  };
  await assert.rejects(make({ data, target: join(dir, 'copy'), now: Date.now, withoutLeftovers, onProgress }), /EIO/);
  assert.ok(looks.count > 1);
  await log.close();
});

test('backup: segments are looked for once at a time, however slow the disk is', async (t) => {
  const { dir, replace } = prepare(t);
  const data = join(dir, 'data');
  const { log } = await dataWithLog(data, 1000);
  const looks = lookingFor(replace);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const onProgress = (done: number): void => {
    if (done === 0) t.mock.timers.tick(10_000);
  };
  await make({ data, target: join(dir, 'copy'), now: Date.now, withoutLeftovers, onProgress });
  // Before the work, during it, and after it.
  assert.equal(looks.count, 3);
  await log.close();
});

test('backup: one that fails says why, also when segments cannot be held any more', async (t) => {
  const { dir, replace } = prepare(t);
  const data = join(dir, 'data');
  const { log } = await dataWithLog(data, 1000);
  const onProgress = (): void => {
    replace({ utimes: () => Promise.reject(new Error('cannot be held')) });
    throw new Error('no room for the copy');
  };
  const target = join(dir, 'copy');
  await assert.rejects(make({ data, target, now: Date.now, withoutLeftovers, onProgress }), /no room for the copy/);
  await log.close();
});

test('backup: of a file that cannot be looked at it is said why', async (t) => {
  const { dir } = prepare(t);
  const [data, target] = ['data', 'target'].map((name) => join(dir, name)) as [string, string];
  const { log } = await dataWithLog(data, 1000);
  await log.close();
  await backup({ data, target });
  assert.deepEqual(await problemsOfBackup(target), []);
  rmSync(join(target, 'store.json'));
  symlinkSync('store.json', join(target, 'store.json'));
  assert.deepEqual(await problemsOfBackup(target), ['store.json: too many symbolic links encountered']);
  rmSync(join(target, 'store.json'));
  assert.deepEqual(await problemsOfBackup(target), ['store.json is missing']);
});

test('backup: nothing is left out where the system cannot tell whether it is there', async (t) => {
  const { dir } = prepare(t);
  const [data, target, back] = ['data', 'target', 'back'].map((name) => join(dir, name)) as [string, string, string];
  const { inbox, log } = await dataWithLog(data, 1000);
  await log.close();
  const { statSync } = fs;
  const replace = (other: unknown): void => {
    Object.assign(fs, { statSync: other });
    syncBuiltinESMExports();
  };
  const untold = (path: string | null): void =>
    replace((...given: Parameters<typeof statSync>) => {
      if (given[0] === path) throw Object.assign(new Error('EIO: i/o error, stat'), { code: 'EIO' });
      return statSync(...given);
    });
  t.after(() => replace(statSync));
  for (const path of [partitionDir(data, 0), inbox]) {
    untold(path);
    await assert.rejects(backup({ data, target }), /EIO/);
  }
  untold(null);
  await backup({ data, target });
  untold(partitionDir(target, 0));
  await assert.rejects(restore({ source: target, data: back, withoutLeftovers }), /EIO/);
  assert.deepEqual(readdirSync(dir).sort(), ['data', 'target']);
});

test('backup: one whose name cannot be made to last has none, nor has what is put back', async (t) => {
  const { dir, replace } = prepare(t);
  const [data, target, back] = ['data', 'target', 'back'].map((name) => join(dir, name)) as [string, string, string];
  const { log } = await dataWithLog(data, 1000);
  await log.close();
  const { open } = files;
  const failing = new Set<unknown>();
  replace({
    open: async (path, ...rest) => {
      const file = await open(path, ...rest);
      if (failing.has(path)) file.sync = () => Promise.reject(new Error('EIO'));
      return file;
    },
  });
  failing.add(dir);
  await assert.rejects(backup({ data, target }), /EIO/);
  failing.clear();
  await backup({ data, target });
  failing.add(dir).add(back);
  await assert.rejects(restore({ source: target, data: back, withoutLeftovers }), /EIO/);
  assert.deepEqual(readdirSync(dir).sort(), ['data', 'target']);
  mkdirSync(back);
  await assert.rejects(restore({ source: target, data: back, withoutLeftovers }), /EIO/);
  assert.deepEqual(readdirSync(back), []);
});

test('backup: what is put back into a folder gets its description last', async (t) => {
  const { dir } = prepare(t);
  const [data, target, back] = ['data', 'target', 'back'].map((name) => join(dir, name)) as [string, string, string];
  const { log } = await dataWithLog(data, 1000);
  await log.close();
  await backup({ data, target });
  mkdirSync(back);
  const named: string[] = [];
  const { renameSync } = fs;
  t.after(() => {
    fs.renameSync = renameSync;
    syncBuiltinESMExports();
  });
  fs.renameSync = (from, to) => {
    named.push(basename(String(to)));
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  await restore({ source: target, data: back, withoutLeftovers });
  assert.equal(named.at(-1), 'store.json');
  assert.deepEqual(named.sort(), readdirSync(back).sort());
});

test('backup: segments that go while the first ones are held leave no gap', async (t) => {
  const { dir, replace } = prepare(t);
  const { link } = files;
  const data = join(dir, 'data');
  const { inbox, log } = await dataWithLog(data, 1000);
  for (let i = 0; i < 12; i++) await log.append(envelope(`n${i}`), body(`${i}`.repeat(300)));
  const names = readdirSync(inbox).sort();
  assert.ok(names.length > 3);
  // Behind the first link the server removes the oldest two, in its order.
  let isFirst = true;
  replace({
    link: async (from: string, to: string) => {
      await link(from, to);
      if (isFirst) for (const name of names.slice(0, 2)) rmSync(join(inbox, name));
      isFirst = false;
    },
  } as Partial<typeof files>);
  const target = join(dir, 'copy');
  await backup({ data, target });
  await log.close();
  const copy = await openTestLog(join(target, 'inbox'));
  assert.equal(delivered(copy).at(-1)?.envelope.certname, 'n11');
  await copy.close();
});

test('backup: a log that looks damaged because it was written to while it was copied is copied again, one that is damaged stays so', async (t) => {
  const { dir, replace } = prepare(t);
  const { copyFile } = files;
  const data = join(dir, 'data');
  const { inbox, log } = await dataWithLog(data, 1 << 20);
  for (let i = 0; i < 9; i++) await log.append(envelope(`n${i}`), body(`${i}`.repeat(300)));
  const places = delivered(log).map((record) => log.locate(record));
  const [name] = readdirSync(inbox) as [string];
  // The first copies passed here before it was written, and further on when more was: 4 and, the second time, 6.
  const torn = [places[4]!, places[6]!];
  let copies = 0;
  replace({
    copyFile: async (from: string, to: string) => {
      await copyFile(from, to);
      const place = basename(to) === name ? torn[copies++] : undefined;
      if (place === undefined) return;
      const bytes = readFileSync(to);
      writeFileSync(to, bytes.fill(0, place.offset, place.offset + place.headSize + 100));
    },
  } as Partial<typeof files>);
  const target = join(dir, 'copy');
  await backup({ data, target });
  const copy = await openTestLog(join(target, 'inbox'));
  assert.deepEqual(
    delivered(copy).map(({ envelope: { certname } }) => certname),
    places.map((_, i) => `n${i}`),
  );
  assert.equal(copies, 3);
  await copy.close();
  await log.close();

  const damaged = readFileSync(join(inbox, name));
  damaged[places[5]!.offset + 50]! ^= 1;
  writeFileSync(join(inbox, name), damaged);
  copies = torn.length;
  const second = join(dir, 'second');
  await backup({ data, target: second });
  assert.equal(copies, torn.length + 2);
  assert.deepEqual(readFileSync(join(second, 'inbox', name)), damaged);
  await assert.rejects(openTestLog(join(second, 'inbox')), (error) => {
    return error instanceof StreamCorrupt && error.offset === places[5]!.offset;
  });
  // What such a copy lacks behind the damage comes all the same.
  torn.splice(0, torn.length, places[7]!);
  copies = 0;
  const third = join(dir, 'third');
  await backup({ data, target: third });
  assert.equal(copies, 3);
  assert.deepEqual(readFileSync(join(third, 'inbox', name)), damaged);
});

test('backup: a log that a newer version has gone on with is left to that one', async (t) => {
  const { dir } = prepare(t);
  const data = join(dir, 'data');
  const { inbox, log } = await dataWithLog(data, 1 << 20);
  await log.append(envelope('a'), body('a'));
  await log.close();
  const segment = join(inbox, readdirSync(inbox)[0]!);
  const bytes = readFileSync(segment);
  bytes.writeUInt32LE(2, 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(8, SEGMENT_HEADER_SIZE)), 4);
  writeFileSync(segment, bytes);
  const target = join(dir, 'copy');
  await assert.rejects(backup({ data, target }), /: install the newer version$/);
  assert.deepEqual(readdirSync(dir), ['data']);
  assert.deepEqual(readdirSync(data).sort(), ['inbox', 'partition-000', 'store.json']);
});
