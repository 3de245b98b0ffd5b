import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { crc32 } from '../../../engine/crc32.ts';
import { checkLog } from '../../../engine/inbox/damage.ts';
import { diskFiles, type LogFileSystem } from '../../../engine/inbox/files.ts';
import type { CommandLog } from '../../../engine/inbox/log.ts';
import { damagesOfSegment } from '../../../engine/inbox/segments.ts';
import { StreamCorrupt, type StreamRecord, StreamUnavailable } from '../../../engine/inbox/stream.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { testSeed } from '../../support/random.ts';
import { until } from '../../support/waiting.ts';
import { body, bodyText, copyAtRest, delivered, envelope, faultyFiles, nextRandom, openTestLog } from './support.ts';

const segments = (dir: string): string[] => readdirSync(dir).filter((name) => name.endsWith('.commands'));

const texts = (log: CommandLog, records: readonly StreamRecord[]): string[] =>
  records.map((record) => bodyText(log, record));

test('log: what was acknowledged is delivered again after reopening, in order, envelope and body intact', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir);
  const seqs: number[] = [];
  seqs.push(await log.append(envelope('a/../é\u0000', { gzip: true, size: 12, producerTimestamp: -5 }), body('one')));
  seqs.push(await log.append(envelope('b'), body('')));
  seqs.push(await log.append(envelope('c', { command: 'store report', version: 8 }), body('three')));
  await log.close();
  assert.deepEqual(seqs, [1, 2, 3]);

  const again = await openTestLog(dir);
  const records = delivered(again);
  assert.deepEqual(
    records.map((record) => record.seq),
    seqs,
  );
  assert.deepEqual(records[0]!.envelope, envelope('a/../é\u0000', { gzip: true, size: 12, producerTimestamp: -5 }));
  assert.equal(records[2]!.envelope.command, 'store report');
  assert.deepEqual(texts(again, records), ['one', '', 'three']);
  assert.equal(await again.append(envelope('d'), body('four')), 4);
  await again.close();
});

test('log: a subscriber gets stored records first and then each append', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir);
  await log.append(envelope('a'), body('one'));
  const seen: [number, string][] = [];
  log.subscribe((record) => {
    seen.push([record.seq, bodyText(log, record)]);
  });
  await log.append(envelope('b'), body('two'));
  assert.deepEqual(seen, [
    [1, 'one'],
    [2, 'two'],
  ]);
  await log.close();
});

test('log: submissions that arrive during one write share the next', async () => {
  const files = faultyFiles();
  const log = await openTestLog(temporaryDirectory(), { files });
  const before = files.calls.get('writev')!;
  const all: Promise<number>[] = [];
  for (let i = 0; i < 400; i++) all.push(log.append(envelope(`n${i}`), body(`body ${i}`)));
  const seqs = await Promise.all(all);
  assert.deepEqual(
    seqs,
    seqs.map((_, i) => i + 1),
  );
  assert.ok(files.calls.get('writev')! - before <= 2, `${files.calls.get('writev')! - before} writes`);
  await log.close();
});

test('log: a group takes no more once it has so many bytes', async () => {
  const dir = temporaryDirectory();
  const files = faultyFiles();
  const log = await openTestLog(dir, { files, groupSizeMax: 1000 });
  const before = files.calls.get('writev')!;
  await Promise.all([400, 400, 5000, 10, 10].map((size) => log.append(envelope('n'), body('x'.repeat(size)))));
  assert.equal(files.calls.get('writev')! - before, 3);
  await log.close();
});

test('log: a file of zeros looks like no segment, whatever the random numbers are', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir, { random: () => 0 });
  await log.append(envelope('a'), body('kept'));
  await log.close();
  const path = join(dir, segments(dir)[0]!);
  writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.alloc(100)]));
  const lines: string[] = [];
  const again = await openTestLog(dir, { log: { info: (line) => lines.push(line), warn: (line) => lines.push(line) } });
  assert.deepEqual([texts(again, delivered(again)), lines], [['kept'], []]);
  await again.close();
});

test('log: writes the system cuts short are continued', async () => {
  const dir = temporaryDirectory();
  const files = faultyFiles();
  const log = await openTestLog(dir, { files });
  files.shortWrite = 7;
  await Promise.all([log.append(envelope('a'), body('first body')), log.append(envelope('b'), body('second body'))]);
  await log.close();
  const again = await openTestLog(dir);
  assert.deepEqual(texts(again, delivered(again)), ['first body', 'second body']);
  await again.close();
});

test('log: cut anywhere, the last segment opens with a prefix of the records and takes new ones', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir);
  const ends: number[] = [];
  for (let i = 0; i < 4; i++) {
    await log.append(envelope(`n${i}`), body(`body number ${i}`));
    ends.push(log.stats().size);
  }
  await log.close();
  const [name] = segments(dir);
  for (let size = 0; size <= ends[3]!; size++) {
    const copy = join(dir, `cut-${size}`);
    mkdirSync(copy);
    copyFileSync(join(dir, name!), join(copy, name!));
    truncateSync(join(copy, name!), size);
    const cut = await openTestLog(copy);
    const whole = ends.filter((end) => end <= size).length;
    const records = delivered(cut);
    assert.equal(records.length, whole, `cut at ${size}`);
    const seq = await cut.append(envelope('new'), body('new'));
    assert.ok(seq > whole);
    assert.equal(bodyText(cut, records.at(-1)!), 'new');
    await cut.close();
  }
});

test('log: garbage after the last acknowledged record is cut, whatever it looks like', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir);
  await log.append(envelope('a'), body('kept'));
  await log.close();
  const path = join(dir, segments(dir)[0]!);
  const good = readFileSync(path);
  // A head that says that all before it was durable, and whose checksum is wrong.
  const durable = Buffer.from(good.subarray(48, 90));
  durable.writeBigUInt64LE(1_000_000n, 24);
  // The beginning of a record again (right salt, wrong place), zeros as after a lost page, and noise.
  for (const tail of [
    good.subarray(48, 90),
    Buffer.concat([Buffer.alloc(10, 1), durable, Buffer.alloc(100, 1)]),
    Buffer.alloc(9000),
    Buffer.from(crypto.getRandomValues(new Uint8Array(5000))),
  ]) {
    writeFileSync(path, Buffer.concat([good, tail]));
    const again = await openTestLog(dir);
    assert.deepEqual(texts(again, delivered(again)), ['kept']);
    await again.close();
    assert.equal(statSync(path).size, good.length);
  }
});

test('log: damage before an acknowledged record refuses to open and names file and offset', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir);
  await log.append(envelope('a'), body('first'));
  const second = log.stats().size;
  await log.append(envelope('b'), body('second'));
  await log.append(envelope('c'), body('third'));
  await log.close();
  const path = join(dir, segments(dir)[0]!);
  const good = readFileSync(path);
  const bad = Buffer.from(good);
  bad[second + 40]! ^= 1;
  writeFileSync(path, bad);
  await assert.rejects(openTestLog(dir), (error) => {
    assert.ok(error instanceof StreamCorrupt);
    assert.equal(error.file, path);
    assert.equal(error.offset, second);
    assert.match(error.message, /not a torn tail/);
    return true;
  });
  assert.deepEqual(readFileSync(path), bad, 'nothing was cut');
});

test('log: a record body that imitates records does not turn a torn tail into damage', async () => {
  const dir = temporaryDirectory();
  const other = temporaryDirectory();
  const forger = await openTestLog(other);
  await forger.append(envelope('x'), body('x'.repeat(3000)));
  await forger.append(envelope('y'), body('y'));
  await forger.close();
  const forged = readFileSync(join(other, segments(other)[0]!));
  const log = await openTestLog(dir);
  await log.append(envelope('a'), body('kept'));
  const end = log.stats().size;
  await Promise.all([log.append(envelope('b'), body('torn')), log.append(envelope('c'), new Uint8Array(forged))]);
  await log.close();
  const path = join(dir, segments(dir)[0]!);
  const bytes = readFileSync(path);
  bytes.fill(0, end, end + 20);
  writeFileSync(path, bytes);
  const again = await openTestLog(dir);
  assert.deepEqual(texts(again, delivered(again)), ['kept']);
  await again.close();
});

test('log: a damaged or missing earlier segment refuses to open', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir, { segmentSizeMax: 200 });
  for (let i = 0; i < 8; i++) await log.append(envelope(`n${i}`), body('x'.repeat(100)));
  await log.close();
  const names = segments(dir);
  assert.ok(names.length >= 4);
  const path = join(dir, names[1]!);
  const good = readFileSync(path);
  const bad = Buffer.from(good);
  bad[bad.length - 1]! ^= 1;
  writeFileSync(path, bad);
  await assert.rejects(openTestLog(dir), (error) => error instanceof StreamCorrupt && error.file === path);
  writeFileSync(path, good.subarray(0, good.length - 5));
  await assert.rejects(openTestLog(dir), /file is shorter than/);
  writeFileSync(path, Buffer.concat([Buffer.from('XXXX'), good.subarray(4)]));
  await assert.rejects(openTestLog(dir), /not a segment of the command log/);
  writeFileSync(path, good);
  const whole = await openTestLog(dir);
  assert.equal(delivered(whole).length, 8);
  await whole.close();
  const lost = temporaryDirectory();
  for (const name of names) if (name !== names[2]) copyFileSync(join(dir, name), join(lost, name));
  await assert.rejects(openTestLog(lost), new RegExp(`segment ${names[2]} is missing`));
});

test('log: a check says what would keep it from being opened, and changes nothing', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir, { segmentSizeMax: 200 });
  for (let i = 0; i < 6; i++) await log.append(envelope(`n${i}`), body('x'.repeat(100)));
  assert.deepEqual(await checkLog(dir, [0]), [], 'while it is open');
  await log.close();
  const files = segments(dir).map((name) => join(dir, name));
  const contents = (): string => files.map((file) => readFileSync(file, 'latin1')).join('|');
  const [first, , third] = files as [string, string, string];
  const last = files.at(-1) as string;
  const whole = readFileSync(third);
  const damages: [Buffer, string][] = [
    [whole.subarray(0, whole.length - 5), 'file is shorter than its'],
    [Buffer.concat([whole.subarray(0, -3), Buffer.from('???')]), 'checksum of the record'],
    [Buffer.concat([Buffer.from('XXXX'), whole.subarray(4)]), 'not a segment of the command log'],
  ];
  for (const [bytes, text] of damages) {
    writeFileSync(third, bytes);
    const before = contents();
    const found = await checkLog(dir, [0]);
    await assert.rejects(openTestLog(dir, { flushedPositions: async () => [0] }), ({ message }: Error) => {
      return message === found.join() && message.includes(text);
    });
    assert.ok(found[0]?.startsWith(`${third}: offset `));
    assert.equal(contents(), before);
  }
  writeFileSync(third, whole);
  // A group that was cut short is no damage, and a start cuts it off; a check leaves it.
  writeFileSync(last, Buffer.concat([readFileSync(last), whole.subarray(-40)]));
  const torn = contents();
  assert.deepEqual(await checkLog(dir, [0]), []);
  assert.equal(contents(), torn);
  renameSync(third, `${first}.away`);
  assert.match((await checkLog(dir, [0])).join(), new RegExp(`segment ${basename(third)} is missing`));
});

test('log: segments go when their records are released, oldest first, the last one stays', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir, { segmentSizeMax: 200 });
  const records = delivered(log);
  for (let i = 0; i < 6; i++) await log.append(envelope(`n${i}`), body('x'.repeat(100)));
  const names = segments(dir);
  assert.equal(names.length, 6);
  for (const record of records.slice(2)) log.release(record);
  await log.append(envelope('more'), body('y'));
  assert.equal(log.stats().live, 3);
  log.release(records[1]!);
  log.release(records[0]!);
  assert.throws(() => log.release(records[0]!), /released twice/);
  await until('the segments have gone', () => segments(dir).length === 1);
  // Its file may be another one's by now.
  assert.throws(() => log.locate(records[0]!), /was released/);
  assert.throws(() => log.subscribe(() => {}), /has a subscriber/);
  await log.close();
  assert.equal(segments(dir).length, 1);
  const again = await openTestLog(dir);
  assert.deepEqual(
    delivered(again).map((record) => record.envelope.certname),
    ['more'],
  );
  assert.ok((await again.append(envelope('next'), body('z'))) > 7, 'seqs go on');
  await again.close();
});

/** A log of which one segment has gone and is kept, and its only record, `left`. */
async function withSpare(files = diskFiles): Promise<{ dir: string; log: CommandLog; spare: string }> {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir, { segmentSizeMax: 1000, files });
  const records = delivered(log);
  for (let i = 0; i < 9; i++) await log.append(envelope('gone'), body(`${i}`.repeat(300)));
  await log.append(envelope('left'), body('left'));
  for (const record of records.slice(0, 9)) log.release(record);
  await until('the segments have gone', () => segments(dir).length <= 1);
  const [spare] = readdirSync(dir).filter((name) => name.endsWith('.spare'));
  assert.ok(spare !== undefined);
  return { dir, log, spare: join(dir, spare) };
}

const certnames = (log: CommandLog): string[] => delivered(log).map(({ envelope }) => envelope.certname);

test('log: the file of a segment that goes is that of the next one, and nothing of what was in it comes back', async () => {
  const files = faultyFiles();
  const { dir, log, spare } = await withSpare(files);
  const { ino, size } = statSync(spare);
  for (let i = 0; i < 4; i++) await log.append(envelope(`new${i}`), body('y'.repeat(400)));
  const [name] = segments(dir).filter((one) => statSync(join(dir, one)).ino === ino);
  assert.ok(name !== undefined);
  assert.ok(statSync(join(dir, name)).size >= size);
  // As after a kill, and after an end.
  const killed = temporaryDirectory();
  cpSync(dir, killed, { recursive: true });
  const syncs = files.calls.get('datasync') ?? 0;
  await log.close();
  assert.equal(existsSync(spare), false);
  assert.ok(statSync(join(dir, name)).size < size, 'it ends with its records');
  assert.equal(files.calls.get('datasync'), syncs + 1, 'after a power failure, too');
  for (const folder of [killed, dir]) {
    const lines: string[] = [];
    const tell = (line: string): unknown => lines.push(line);
    const again = await openTestLog(folder, { log: { info: tell, warn: tell } });
    assert.deepEqual(certnames(again), ['left', 'new0', 'new1', 'new2', 'new3']);
    assert.deepEqual(lines, [], 'nothing of it was cut off');
    await again.close();
  }
});

test('log: a file that is kept has the header of the next segment before it has its name', async () => {
  const named: [string, number][] = [];
  const files: LogFileSystem = {
    ...diskFiles,
    rename: async (from, to) => {
      if (to.endsWith('.commands')) named.push([basename(to), readFileSync(from).readUInt32LE(12)]);
      await diskFiles.rename(from, to);
    },
  };
  const { log } = await withSpare(files);
  for (let i = 0; i < 4; i++) await log.append(envelope('new'), body('y'.repeat(900)));
  await log.close();
  assert.ok(named.length > 0);
  for (const [name, number] of named) assert.equal(number, Number.parseInt(name, 10));
});

test('log: the file of a segment that one large command made long is not kept', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir, { segmentSizeMax: 1000 });
  const records = delivered(log);
  await log.append(envelope('large'), body('x'.repeat(50_000)));
  await log.append(envelope('left'), body('left'));
  log.release(records[0]!);
  await until('the segments have gone', () => segments(dir).length <= 1);
  assert.deepEqual(
    readdirSync(dir),
    segments(dir).map((name) => basename(name)),
  );
  await log.close();
});

test('log: a segment that a backup holds by a link is not written to', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir, { segmentSizeMax: 1000 });
  const records = delivered(log);
  for (let i = 0; i < 10; i++) await log.append(envelope('gone'), body(`${i}`.repeat(300)));
  const held = temporaryDirectory();
  for (const name of segments(dir)) linkSync(join(dir, name), join(held, name));
  const before = segments(held).map((name) => readFileSync(join(held, name)));
  for (const record of records.splice(0)) log.release(record);
  for (let i = 0; i < 10; i++) await log.append(envelope('new'), body('y'.repeat(400)));
  await log.close();
  assert.deepEqual(
    segments(held).map((name, index) => readFileSync(join(held, name)).subarray(0, before[index]!.length)),
    before,
  );
  const restored = await openTestLog(held);
  assert.equal(certnames(restored).length >= 10, true);
  await restored.close();
});

test('log: a file is not written to for the next segment before it has lost its name for good', async () => {
  const dir = temporaryDirectory();
  // What a power failure leaves of it: the file under the name that it had.
  let held: Promise<void> | null = null;
  let letGo = (): void => {};
  let gone: { readonly name: string; readonly path: string; readonly before: Buffer } | null = null;
  const files: LogFileSystem = {
    ...diskFiles,
    rename: async (from, to) => {
      await diskFiles.rename(from, to);
      if (!to.endsWith('.spare')) return;
      gone = { name: basename(from), path: to, before: readFileSync(to) };
      held = new Promise((resolve) => (letGo = resolve));
    },
    syncDirectory: async (path) => {
      const wait = held;
      held = null;
      await wait;
      await diskFiles.syncDirectory(path);
    },
  };
  const log = await openTestLog(dir, { segmentSizeMax: 1000, files });
  const records = delivered(log);
  for (let i = 0; i < 8; i++) await log.append(envelope(`n${i}`), body(`${i}`.repeat(300)));
  for (const record of records.slice(0, 3)) log.release(record);
  await until('a segment has gone', () => gone !== null);
  const { name, path, before } = gone as unknown as { name: string; path: string; before: Buffer };
  // Begins segments while the removal is on its way to disk.
  for (let i = 0; i < 6; i++) await log.append(envelope(`more${i}`), body('y'.repeat(400)));
  assert.deepEqual(readFileSync(path).subarray(0, before.length), before);
  const failed = await copyAtRest(dir);
  renameSync(join(failed, basename(path)), join(failed, name));
  const again = await openTestLog(failed);
  assert.equal(certnames(again).length, 14);
  await again.close();
  letGo();
  await log.close();
});

test('log: a file that is kept goes when the log is opened, and a segment that was just begun in one is empty', async () => {
  const { dir, log, spare } = await withSpare();
  const kept = await copyAtRest(dir);
  const ino = statSync(spare).ino;
  // Fills the segment, and begins the next one.
  await log.append(envelope('more'), body('y'.repeat(900)));
  await log.append(envelope('other'), body('z'));
  const [name] = segments(dir).filter((one) => statSync(join(dir, one)).ino === ino);
  const begun = await copyAtRest(dir);
  await log.close();
  // Killed between its header and its first record: what follows is of an earlier segment.
  const path = join(begun, name as string);
  writeFileSync(
    path,
    Buffer.concat([readFileSync(path).subarray(0, 48), readFileSync(join(kept, basename(spare))).subarray(48)]),
  );
  for (const [folder, expected] of [
    [kept, ['left']],
    [begun, ['left', 'more']],
  ] as const) {
    const again = await openTestLog(folder);
    assert.deepEqual(certnames(again), expected);
    await again.append(envelope('after'), body('z'));
    await again.close();
    assert.deepEqual(
      readdirSync(folder).filter((one) => one.endsWith('.spare')),
      [],
    );
    const last = await openTestLog(folder);
    assert.deepEqual(certnames(last), [...expected, 'after']);
    await last.close();
  }
});

test('log: seqs stay above the given position even when the directory was emptied', async () => {
  const log = await openTestLog(temporaryDirectory(), { seqAfter: 41 });
  assert.equal(await log.append(envelope('a'), body('')), 42);
  await log.close();
});

for (const [code, segmentsThen] of [
  ['ENOSPC', 1],
  ['EDQUOT', 1],
  ['EIO', 2],
] as const) {
  test(`log: a write that fails with ${code} refuses its group and nothing of it comes back`, async () => {
    const dir = temporaryDirectory();
    const files = faultyFiles();
    const log = await openTestLog(dir, { files });
    await log.append(envelope('a'), body('before'));
    files.failing.set('writev', code);
    const results = await Promise.allSettled([
      log.append(envelope('b'), body('refused')),
      log.append(envelope('c'), body('refused too')),
    ]);
    for (const result of results) {
      assert.equal(result.status, 'rejected');
      assert.ok((result as PromiseRejectedResult).reason instanceof StreamUnavailable);
      assert.match((result as PromiseRejectedResult).reason.message, new RegExp(`${code}: .* '${dir}/.*\\.commands'$`));
    }
    files.failing.clear();
    assert.equal(files.calls.get('datasync') ?? 0, segmentsThen === 1 ? 1 : 0, 'what is cut off is so for good');
    assert.equal(await log.recover(), true);
    await log.append(envelope('d'), body('after'));
    await log.close();
    assert.equal(segments(dir).length, segmentsThen, 'a segment is used on where only room was missing');
    const again = await openTestLog(dir);
    assert.deepEqual(texts(again, delivered(again)), ['before', 'after']);
    await again.close();
  });
}

test('log: seqs go on behind those of what was refused, also when the log was opened in between', async () => {
  const dir = temporaryDirectory();
  const files = faultyFiles();
  const log = await openTestLog(dir, { files });
  await log.append(envelope('a'), body('before'));
  files.failing.set('writev', 'EIO');
  await assert.rejects(log.append(envelope('b'), body('refused')), StreamUnavailable);
  files.failing.clear();
  assert.equal(await log.recover(), true);
  await log.close();
  const next = await openTestLog(dir);
  assert.equal(await next.append(envelope('c'), body('after')), 3);
  await next.close();
  const again = await openTestLog(dir);
  assert.deepEqual(texts(again, delivered(again)), ['before', 'after']);
  await again.close();
});

test('log: when even cutting fails, the next segment disowns the tail', async () => {
  const dir = temporaryDirectory();
  const files = faultyFiles();
  const log = await openTestLog(dir, { files });
  await log.append(envelope('a'), body('before'));
  files.failing.set('writev', 'ENOSPC');
  for (const operation of ['truncate', 'open'] as const) files.failing.set(operation, 'EIO');
  await assert.rejects(log.append(envelope('b'), body('never')), StreamUnavailable);
  assert.match(log.trouble!.message, /EIO/);
  await assert.rejects(log.append(envelope('c'), body('never')), /cannot be written: EIO/);
  assert.equal(await log.recover(), false);
  files.failing.clear();
  files.failing.set('syncDirectory', 'EIO');
  files.failing.set('remove', 'EIO');
  assert.equal(await log.recover(), false);
  files.failing.clear();
  assert.equal(await log.recover(), true);
  assert.equal(log.trouble, null);
  await log.append(envelope('d'), body('after'));
  await log.close();
  assert.equal(segments(dir).length, 2);
  const again = await openTestLog(dir);
  assert.deepEqual(texts(again, delivered(again)), ['before', 'after']);
  await again.close();
});

test('log: a segment that cannot be removed now is removed later and leaves no gap', async () => {
  const dir = temporaryDirectory();
  const files = faultyFiles();
  const log = await openTestLog(dir, { files, segmentSizeMax: 100 });
  const records = delivered(log);
  for (let i = 0; i < 3; i++) await log.append(envelope(`n${i}`), body('x'.repeat(100)));
  files.failing.set('remove', 'EPERM');
  for (const record of records) log.release(record);
  await log.append(envelope('n3'), body('x'));
  assert.ok(segments(dir).length > 1);
  files.failing.clear();
  await log.append(envelope('n4'), body('x'.repeat(100)));
  await log.append(envelope('n5'), body('x'));
  await log.close();
  const again = await openTestLog(dir);
  assert.deepEqual(
    delivered(again).map((record) => record.envelope.certname),
    ['n3', 'n4', 'n5'],
  );
  await again.close();
});

test('log: reading notices bytes that changed behind its back', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir);
  const records = delivered(log);
  await log.append(envelope('a'), body('truth'));
  const path = join(dir, segments(dir)[0]!);
  const bytes = readFileSync(path);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(path, bytes);
  assert.throws(() => bodyText(log, records[0]!), { cause: new StreamCorrupt(path, 48, 'checksum of the record') });
  await log.close();
});

test('log: after close nothing is taken', async () => {
  const log = await openTestLog(temporaryDirectory());
  const last = log.append(envelope('a'), body('x'));
  const closing = log.close();
  await assert.rejects(log.append(envelope('b'), body('y')), StreamUnavailable);
  assert.equal(await last, 1, 'what was given before is still written');
  await closing;
  assert.equal(await log.recover(), false, 'nor is a segment begun');
});

test('log: no file stays open, of a log that was closed, could not be opened, or was only looked at', async (t) => {
  let opened = 0;
  const { open } = diskFiles;
  t.mock.method(diskFiles, 'open', async (...parameters: Parameters<typeof open>) => {
    const file = await open(...parameters);
    const close = file.close.bind(file);
    opened++;
    file.close = async () => {
      await close();
      opened--;
    };
    return file;
  });
  const { dir, log } = await withSpare();
  for (let i = 0; i < 4; i++) await log.append(envelope('more'), body('y'.repeat(900)));
  await log.close();
  assert.equal(opened, 0, 'closed');
  await (await withSpare()).log.close();
  assert.equal(opened, 0, 'closed, with a file that was kept');

  const names = segments(dir);
  const [first, second] = names as [string, string];
  const bytes = readFileSync(join(dir, first));
  const damaged = (offset: number): Buffer => {
    const copy = Buffer.from(bytes);
    copy[offset]! ^= 1;
    return copy;
  };
  const newer = Buffer.from(bytes);
  newer.writeUInt32LE(2, 8);
  newer.writeUInt32LE(crc32(newer.subarray(8, 48)), 4);
  for (const [what, content] of Object.entries({ record: damaged(60), header: damaged(20), newer, gap: null })) {
    const copy = temporaryDirectory();
    cpSync(dir, copy, { recursive: true });
    // Of some it matters that a good one stands before it.
    const path = join(copy, content === newer || content === null ? second : first);
    if (content === null) rmSync(path);
    else writeFileSync(path, content);
    await assert.rejects(openTestLog(copy), what);
    await checkLog(copy, [0]);
    if (what === 'record' || what === 'header') assert.equal((await damagesOfSegment(path)).length, 1);
    assert.equal(opened, 0, what);
  }

  const files = faultyFiles();
  files.failing.set('syncDirectory', 'EIO');
  await assert.rejects(openTestLog(temporaryDirectory(), { files }), /EIO/);
  assert.equal(opened, 0, 'a segment that could not be begun');
});

test('log: random sequences of appends, releases, faults and reopenings lose no acknowledged record', async () => {
  const seed = testSeed('log');
  let state = seed >>> 0;
  const pick = (n: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const dir = temporaryDirectory();
  const files = faultyFiles();
  const options = { files, segmentSizeMax: 3000, groupSizeMax: 2000, random: nextRandom };
  let log = await openTestLog(dir, options);
  let live = new Map<number, StreamRecord>();
  const owed = new Map<number, string>();
  log.subscribe((record) => live.set(record.seq, record));
  for (let step = 0; step < 400; step++) {
    const action = pick(20);
    if (action < 12) {
      const wanted = Array.from({ length: 1 + pick(5) }, (_, i) => `${step}.${i}.${'z'.repeat(pick(900))}`);
      const results = await Promise.allSettled(wanted.map((text) => log.append(envelope('n'), body(text))));
      results.forEach((result, i) => {
        if (result.status === 'fulfilled') owed.set(result.value, wanted[i]!);
      });
    } else if (action < 16) {
      for (const [seq, record] of live) {
        if (pick(2) === 0) continue;
        live.delete(seq);
        owed.delete(seq);
        log.release(record);
      }
    } else if (action === 16) {
      files.failing.set(
        (['writev', 'datasync', 'truncate', 'open', 'remove', 'rename', 'syncDirectory'] as const)[pick(7)]!,
        'EIO',
      );
    } else if (action === 17) {
      files.failing.clear();
      assert.equal(await log.recover(), true);
    } else if (action === 18) {
      // As after a kill: what stands behind the records is of earlier segments.
      const copy = await copyAtRest(dir);
      const killed = await openTestLog(copy, { ...options, files: diskFiles });
      const found = new Map(delivered(killed).map((record) => [record.seq, record]));
      for (const [seq, text] of owed) {
        assert.equal(bodyText(killed, found.get(seq)!), text, `seed ${seed} step ${step}`);
      }
      await killed.close();
    } else {
      files.failing.clear();
      await log.close();
      log = await openTestLog(dir, options);
      live = new Map();
      let replaying = true;
      log.subscribe((record) => {
        if (!replaying || owed.has(record.seq)) live.set(record.seq, record);
        else log.release(record);
      });
      replaying = false;
      assert.deepEqual(
        [...live.keys()],
        [...owed.keys()].sort((a, b) => a - b),
        `seed ${seed} step ${step}`,
      );
      for (const [seq, record] of live) {
        assert.equal(bodyText(log, record), owed.get(seq), `seed ${seed} step ${step}`);
      }
    }
  }
  await log.close();
});

test('command log: an envelope that could not be read back is refused, and the log opens as before', async () => {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir);
  for (const version of [Number.POSITIVE_INFINITY, Number.NaN]) {
    await assert.rejects(log.append(envelope('a', { version }), body('x')), /cannot stand in the envelope/);
  }
  await assert.rejects(log.append(envelope('a'.repeat(2 << 20)), body('x')), /too large/);
  const huge = { length: 2 ** 31 + 1 } as Uint8Array;
  await assert.rejects(log.append(envelope('a'), huge), /a body of 2147483649 bytes is too large/);
  await log.append(envelope('b'), body('y'));
  await log.close();
  const again = await openTestLog(dir);
  assert.deepEqual(
    delivered(again).map((record) => record.envelope.certname),
    ['b'],
  );
  await again.close();
});
