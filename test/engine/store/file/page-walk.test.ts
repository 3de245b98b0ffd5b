// A partition's file with all kinds of damage: what is damaged is told with its place, by reading alone; what is sound is not
// called damaged, whatever state LMDB left it in.

import assert from 'node:assert/strict';
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Batch } from '../../../../engine/store/batch.ts';
import { DataFile, DataFileDamaged } from '../../../../engine/store/file/data-file.ts';
import { dataFileOf } from '../../../../engine/store/file/layout.ts';
import { tellsOfDamage } from '../../../../engine/store/file/lmdb.ts';
import { checkDataFile, walkDataFile } from '../../../../engine/store/file/page-walk.ts';
import { openPartition } from '../../../../engine/store/partition.ts';
import { Random, testSeed } from '../../../support/random.ts';

const PAGE = 4096;
const home = mkdtempSync(join(tmpdir(), 'muster-pages-'));
after(() => rmSync(home, { recursive: true, force: true }));
let next = 0;

/** Inputs of a node: a value of its own, of any size. */
const put = (batch: Batch, certname: string, size: number): void => {
  const id = batch.view.nodeId(certname) || batch.createNode(certname);
  batch.setInputs(id, `"${'x'.repeat(size)}"`);
  const items = ['kernel', 'os', certname].map((name) => {
    return [batch.nameId(name), batch.facts.intern({ name, value: `"${name}"` }).id];
  });
  batch.setFacts(id, Uint32Array.from(items.flat()));
};

/** A partition with branches, leaves, values of many pages and a list of free pages. */
async function fill(): Promise<string> {
  const dir = join(home, String(next++));
  const partition = openPartition(dir);
  for (let round = 0; round < 8; round++) {
    partition.write((batch) => {
      for (let i = 0; i < 400; i++) put(batch, `node-${i}.example.com`, i % 40 === 0 ? 20_000 + round : 100 + round);
    });
  }
  await partition.flush();
  await partition.close();
  return dir;
}

const source = await fill();

function copy(): string {
  const dir = join(home, String(next++));
  cpSync(source, dir, { recursive: true });
  return dir;
}

function overwrite(dir: string, offset: number, bytes: Uint8Array): void {
  const fd = openSync(dataFileOf(dir), 'r+');
  writeSync(fd, bytes, 0, bytes.length, offset);
  closeSync(fd);
}

const refused = (dir: string, what: RegExp): void => {
  assert.throws(
    () => openPartition(dir),
    (error) => {
      assert.ok(error instanceof DataFileDamaged, String(error));
      assert.equal(error.file, dataFileOf(dir));
      assert.match(error.message, what);
      assert.ok(error.message.startsWith(`${error.file} is damaged: `));
      assert.match(error.message, /restore a backup/);
      return true;
    },
  );
};

test('pages: a sound file has no problems, in whatever state LMDB left it', async () => {
  assert.deepEqual(walkDataFile(source), []);
  const dir = join(home, String(next++));
  assert.deepEqual(walkDataFile(dir), [], 'a file that is not there yet');
  const partition = openPartition(dir);
  assert.deepEqual(walkDataFile(dir), [], 'an empty partition');
  for (let round = 0; round < 60; round++) {
    partition.write((batch) => {
      for (let i = 0; i < 30; i++) put(batch, `node-${(round * 7 + i) % 90}`, (round * 977 + i * 131) % 9000);
    });
    if (round % 3 === 0) assert.throws(() => partition.write(putAndAbort), /aborted/);
    checkDataFile(dir);
    assert.deepEqual(walkDataFile(dir), [], `after ${round + 1} transactions`);
  }
  await partition.close();
});

function putAndAbort(batch: Batch): never {
  put(batch, 'x', 30_000);
  throw new Error('aborted');
}

test('pages: a file that was cut is refused with its size, wherever it was cut', () => {
  const { size } = statSync(dataFileOf(source));
  const pages = size / PAGE;
  for (const kept of [2, 3, Math.floor(pages / 4), Math.floor(pages / 2), pages - 20]) {
    for (const part of [0, 1000]) {
      const dir = copy();
      truncateSync(dataFileOf(dir), kept * PAGE + part);
      refused(dir, new RegExp(`it has ${kept * PAGE + part} bytes and should have ${size}`));
    }
  }
  for (const bytes of [1, 30, 100, PAGE, PAGE + 100]) {
    const dir = copy();
    truncateSync(dataFileOf(dir), bytes);
    refused(dir, new RegExp(`it ends at ${bytes}, in the middle of a page`));
  }
});

test('pages: a file that lacks only pages which are free is not damaged', async () => {
  const dir = join(home, String(next++));
  const partition = openPartition(dir);
  partition.write((batch) => put(batch, 'a', 100));
  partition.write((batch) => put(batch, 'a', 2_000_000));
  // The large value's pages are free from here on, and at the end of the file.
  for (let i = 0; i < 4; i++) partition.write((batch) => put(batch, 'a', 100 + i));
  await partition.flush();
  await partition.close();
  const file = dataFileOf(dir);
  const { size } = statSync(file);
  truncateSync(file, size - 100 * PAGE);
  checkDataFile(dir);
  assert.deepEqual(walkDataFile(dir), []);
  const again = openPartition(dir);
  const view = again.snapshot();
  assert.equal(view.inputs(view.nodeId('a'))?.length, 105);
  view.close();
  again.write((batch) => put(batch, 'b', 1_000_000));
  await again.close();
  assert.deepEqual(walkDataFile(dir), []);
});

test('pages: a page that was zeroed, or holds another page, is told with its number', () => {
  const whole = readFileSync(dataFileOf(source));
  const file = new DataFile(dataFileOf(source));
  const { main, free } = file.meta();
  file.close();
  const dir = copy();
  let told = 0;
  for (let page = 2; page < whole.length / PAGE; page++) {
    const original = whole.subarray(page * PAGE, (page + 1) * PAGE);
    for (const bytes of [Buffer.alloc(PAGE), whole.subarray((page === 2 ? 3 : page - 1) * PAGE).subarray(0, PAGE)]) {
      if (bytes.equals(original)) continue;
      overwrite(dir, page * PAGE, bytes);
      const problems = walkDataFile(dir);
      if (problems.length > 0) told++;
      if (problems.length > 0) assert.match(problems.join('\n'), new RegExp(`page ${page} says that it is page`));
      if (BigInt(page) === main.root || BigInt(page) === free.root) refused(dir, new RegExp(`page ${page} says`));
    }
    overwrite(dir, page * PAGE, original);
  }
  // Both kinds of damage, of every page that has a header and is in use.
  assert.ok(told >= 2 * (Number(main.leafPages) + 100), `${told} told`);
  assert.deepEqual(walkDataFile(dir), []);
});

test('pages: metas that are none are refused', () => {
  const cases: readonly [offset: number, bytes: number[], what: RegExp][] = [
    [0, Array(PAGE).fill(0), /its meta page 0 is none/],
    [PAGE, Array(PAGE).fill(0), /its meta page 1 is none/],
    [24, [0xdf], /its meta page 0 is none/],
    [28, [9, 0], /its meta page 0 is of version 9/],
    [48, [0x11, 0x11], /says that pages have 4369 bytes/],
    [48, [0, 0x20], /is none|page sizes/],
    [PAGE + 48, [0, 0x20], /pages have|page sizes/],
  ];
  for (const [offset, bytes, what] of cases) {
    const dir = copy();
    overwrite(dir, offset, Uint8Array.from(bytes));
    refused(dir, what);
  }
  const dir = copy();
  overwrite(dir, 0, Buffer.from('this was a text file once\n'.repeat(400)));
  refused(dir, /its meta page 0 is none/);
});

test('pages: after a restart of the machine the flushed state counts, and a file that is too short for the other one is sound', () => {
  const dir = copy();
  const path = dataFileOf(dir);
  // As after a power failure: the newest meta is there, marked as not flushed, but the file ends before what it says.
  const read = (boot?: bigint) => {
    const file = new DataFile(path, boot);
    try {
      return file.meta();
    } finally {
      file.close();
    }
  };
  const flushed = read();
  const newest = Number(flushed.transaction + 1n) % 2 === 0 ? 0 : PAGE;
  const bytes = Buffer.alloc(24);
  bytes.writeBigUInt64LE(flushed.lastPage + 1000n, 0);
  bytes.writeBigUInt64LE(flushed.transaction + 1n, 8);
  bytes.writeBigInt64LE(4711n, 16);
  overwrite(dir, newest + 24 + 120, bytes);
  const flags = readFileSync(path).readUInt16LE(newest + 24 + 28) | 0x1000;
  overwrite(dir, newest + 24 + 28, Uint8Array.from([flags & 0xff, flags >> 8]));
  assert.equal(read(4711n).transaction, flushed.transaction + 1n);
  assert.equal(read(4712n).transaction, flushed.transaction);
  assert.equal(read(0n).transaction, flushed.transaction);
  checkDataFile(dir);
});

test('pages: random damage is told or harmless, and reading it never throws', () => {
  const random = new Random(testSeed('pages'));
  const whole = readFileSync(dataFileOf(source));
  const dir = copy();
  let told = 0;
  const runs = 400;
  for (let run = 0; run < runs; run++) {
    const places: [offset: number, size: number][] = [];
    for (let i = random.between(1, 4); i > 0; i--) {
      const size = random.between(1, 64);
      const offset = random.below(whole.length - size);
      overwrite(
        dir,
        offset,
        Uint8Array.from({ length: size }, () => random.below(256)),
      );
      places.push([offset, size]);
    }
    if (walkDataFile(dir).length > 0) told++;
    for (const [offset, size] of places) overwrite(dir, offset, whole.subarray(offset, offset + size));
  }
  assert.ok(told > runs / 10, `${told} of ${runs} told`);
  assert.deepEqual(walkDataFile(dir), []);
});

test('page walk: damage while it is open is told as such by reads and by writes', async () => {
  const dir = copy();
  const partition = openPartition(dir);
  const bytes = readFileSync(dataFileOf(dir));
  for (let page = 2; page * PAGE < bytes.length; page++) {
    const isBranch = (bytes.readUInt16LE(page * PAGE + 18) & 0x6f) === 1;
    if (isBranch) overwrite(dir, page * PAGE, Buffer.alloc(PAGE));
  }
  const isTold = (error: unknown): boolean => tellsOfDamage(error);
  assert.throws(() => {
    const view = partition.snapshot();
    try {
      for (let i = 0; i < 400; i++) view.nodeId(`node-${i}.example.com`);
      for (const _ of partition.tables.inputs.getRange({}));
    } finally {
      view.close();
    }
  }, isTold);
  assert.throws(() => {
    partition.write((batch) => {
      for (let i = 0; i < 400; i++) put(batch, `node-${i}.example.com`, 200);
    });
  }, isTold);
  await partition.close();
});
