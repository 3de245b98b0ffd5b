// The copy of a command log that the server writes to, and removes segments from, meanwhile: whatever is held of it leads on from there.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { backup as make } from '../../../engine/backup/make.ts';
import { crc32 } from '../../../engine/crc32.ts';
import type { CommandLog } from '../../../engine/inbox/log.ts';
import { SEGMENT_HEADER_SIZE } from '../../../engine/inbox/record.ts';
import { StreamCorrupt } from '../../../engine/inbox/stream.ts';
import { partitionDir } from '../../../engine/store/file/layout.ts';
import { openStoreInfo } from '../../../engine/store/file/store-info.ts';
import { openPartition } from '../../../engine/store/partition.ts';
import { withoutLeftovers } from '../../../server/leftovers.ts';
import { body, delivered, envelope, openTestLog } from '../inbox/support.ts';

const backup = (options: { readonly data: string; readonly target: string }) =>
  make({ ...options, now: Date.now, withoutLeftovers, onProgress: () => {} });

/** An empty folder, and functions of `node:fs/promises` that are others for the time of the test. */
function prepare(t: TestContext): { dir: string; replace(others: Partial<typeof files>): void } {
  const dir = mkdtempSync(join(tmpdir(), 'backup-'));
  const { copyFile, link } = files;
  const replace = (others: Partial<typeof files>): void => {
    Object.assign(files, others);
    syncBuiltinESMExports();
  };
  t.after(() => {
    replace({ copyFile, link });
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
