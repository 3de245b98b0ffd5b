// Mappings of the data are given back, and what is in them is read again as if nothing had happened.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from 'lmdb';
import {
  boundMappedMemory,
  dataMappings,
  KnownMappings,
  type MappedMemoryOptions,
  madvise,
  releaseProgram,
} from '../../../workers/system/mapped-memory.ts';
import { pageSize, residentMemory } from '../../../workers/system/process-memory.ts';
import { atEnd, type Owner } from '../../support/endings.ts';

const page = pageSize();
const skip = page === null ? 'no /proc here' : madvise() === null ? 'koffi is not installed for this platform' : false;
const MiB = 1 << 20;
const isBusy = (): boolean => true;
const residentFiles = (): number => residentMemory(page as number).files;

/** Bytes that are resident of each mapping of the data. */
function residentData(dir: string): number[] {
  const mapped = /^[\da-f]+-[\da-f]+ \S+ \S+ \S+ \d+ +(\/.*)\n(?:[A-Z].*\n)*?Rss: +(\d+) kB$/gm;
  const found: number[] = [];
  for (const [, path = '', size] of readFileSync('/proc/self/smaps', 'utf8').matchAll(mapped)) {
    if (path.startsWith(join(dir, 'partition-'))) found.push(Number(size) * 1024);
  }
  return found;
}

const added = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0);

/** Partitions with 40 MB each, and what looks at all of them. */
function filled(t: Owner, partitions = 1) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-mapped-'));
  const envs = Array.from({ length: partitions }, (_, slot) =>
    open<Buffer, number>({
      path: join(dir, `partition-00${slot}`),
      noSubdir: false,
      encoding: 'binary',
      keyEncoding: 'uint32',
    }),
  );
  atEnd(t, async () => {
    for (const env of envs) await env.close();
    rmSync(dir, { recursive: true, force: true });
  });
  for (const env of envs) {
    env.transactionSync(() => {
      for (let key = 0; key < 40_000; key++) env.putSync(key, Buffer.alloc(1000, key));
    });
  }
  const sum = (): number => {
    let total = 0;
    for (const env of envs) for (const { value } of env.getRange({})) total += value[999]!;
    return total;
  };
  return { dir, sum };
}

/** A file that is resident, and a bound that it is 20 MiB beyond. */
async function tooMuch(t: Owner, partitions = 1) {
  const { dir, sum } = filled(t, partitions);
  const release = madvise();
  assert.ok(release !== null);
  await releaseProgram(release);
  sum();
  return { dir, sum, max: residentFiles() - 20 * MiB };
}

async function comesBelow(max: number): Promise<void> {
  for (let tries = 0; residentFiles() > max && tries < 50; tries++) await sleep(100);
  const { files, own } = residentMemory(page as number);
  assert.ok(files <= max, `${files} bytes, ${max} at most, beside ${own} of the process's own`);
}

test('mapped memory: given back, and read again', { skip }, (t) => {
  const { dir, sum } = filled(t);
  const total = sum();
  const before = residentFiles();
  const release = madvise();
  assert.ok(release !== null);
  const mappings = dataMappings(dir);
  assert.ok(mappings.length > 0);
  for (const { start, size } of mappings) release(start, size);
  const after = residentFiles();
  assert.ok(before - after > 30 * MiB, `${before} bytes before, ${after} after`);
  assert.equal(sum(), total);
  // Only what lies below the folder, in partitions: others may be unmapped at any time.
  assert.deepEqual(dataMappings(`${dir}-other`), []);
  assert.deepEqual(dataMappings(join(dir, 'partition-000')), []);
});

test('mapped memory: mappings are known while they are there, and no longer', { skip }, async (t) => {
  const { dir } = filled(t);
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const known = new KnownMappings(dir);
  const first = known.now();
  assert.deepEqual(first, dataMappings(dir));
  assert.equal(known.now(), first, 'all of them are where they were');
  const other = open({ path: join(dir, 'partition-001'), noSubdir: false });
  assert.equal(known.now(), first, 'not looked for yet');
  now = 1000;
  const both = known.now();
  assert.deepEqual(both, dataMappings(dir));
  assert.ok(both.length > first.length);
  await other.close();
  assert.deepEqual(known.now(), first, 'at once');
});

test('mapped memory: of the program, what it does not use again stays away', { skip }, async () => {
  const before = residentFiles();
  const release = madvise();
  assert.ok(release !== null);
  assert.ok((await releaseProgram(release)) > 20 * MiB);
  const after = residentFiles();
  assert.ok(before - after > 10 * MiB, `${before} bytes before, ${after} after`);
  // What was not in memory any more comes back.
  assert.equal(await import('node:zlib').then(({ gunzipSync, gzipSync }) => `${gunzipSync(gzipSync('text'))}`), 'text');
});

test('mapped memory: bounded while it is watched, and not afterwards', { skip }, async (t) => {
  const { dir, sum, max } = await tooMuch(t);
  const stop = boundMappedMemory({ dir, max, total: 0, isBusy });
  assert.ok(stop !== null);
  sum();
  await comesBelow(max);
  stop();
  sum();
  await sleep(400);
  assert.ok(residentFiles() > max);
  assert.equal(boundMappedMemory({ dir, max: 0, total: 0, isBusy }), null);
});

async function givesBackInTime(t: Owner, options: Pick<MappedMemoryOptions, 'isBusy' | 'rate' | 'rateAtRest'>) {
  const { dir, sum } = await tooMuch(t, 2);
  // Less than both partitions have, more than one of them and what is given back of the program at once.
  const max = residentFiles() - 75 * MiB;
  /** Bytes that have gone a moment after `begin`: the rate at once, what it allows in the time that has passed, and a mapping that had more. */
  const given = async (begin: () => void): Promise<number> => {
    const begun = performance.now();
    begin();
    const before = residentData(dir);
    await sleep(400);
    const gone = added(before) - added(residentData(dir));
    const seconds = (performance.now() - begun) / 1000;
    const most = SLOW * (1 + seconds) + Math.max(...before);
    assert.ok(gone <= most, `${gone} bytes within ${seconds} s, ${most} at most`);
    return gone;
  };
  const gone = await given(() => {
    const stop = boundMappedMemory({ dir, max, total: 0, ...options });
    atEnd(t, () => stop?.());
  });
  assert.ok(gone > 0);
  await comesBelow(max);
  await given(() => {
    sum();
    assert.ok(residentFiles() > max, 'it has come back');
  });
}
const SLOW = 20 * MiB;
const FAST = 1024 * MiB;

test('mapped memory: much of it is given back no faster than the rate, but all in time', { skip }, (t) =>
  givesBackInTime(t, { isBusy, rate: SLOW, rateAtRest: FAST }),
);

test('mapped memory: while no commands are applied, the rate is another one', { skip }, (t) =>
  givesBackInTime(t, { isBusy: () => false, rate: FAST, rateAtRest: SLOW }),
);

test('mapped memory: stays while the process as a whole is small enough', { skip }, async (t) => {
  const { dir, max } = await tooMuch(t);
  // The heap grows and shrinks meanwhile by what earlier tests have left.
  const total = residentMemory(page as number).all + 100 * MiB;
  const stop = boundMappedMemory({ dir, max, total, isBusy });
  atEnd(t, () => stop?.());
  await sleep(400);
  assert.ok(residentFiles() > max, 'nothing given back yet');
  const more = Buffer.alloc(256 * MiB, 1);
  await comesBelow(max);
  assert.equal(more[MiB], 1);
});

test('mapped memory: where the program alone is too much, what grows beside it is given back all the same', {
  skip,
}, async (t) => {
  const { dir, sum } = await tooMuch(t);
  const stop = boundMappedMemory({ dir, max: 1, total: 0, isBusy });
  atEnd(t, () => stop?.());
  await sleep(400);
  const base = residentFiles();
  for (let round = 0; round < 3; round++) {
    sum();
    await comesBelow(base + 20 * MiB);
  }
});
