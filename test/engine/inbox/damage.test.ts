// Damaged files of the command log: what every partition has applied need not be readable, and nothing else is passed over.

import assert from 'node:assert/strict';
import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32 } from '../../../engine/crc32.ts';
import { checkLog, foundTwice } from '../../../engine/inbox/damage.ts';
import type { CommandLog, LogOptions } from '../../../engine/inbox/log.ts';
import { RECORD_HEADER_SIZE, SEGMENT_HEADER_SIZE } from '../../../engine/inbox/record.ts';
import { StreamCorrupt, type StreamRecord } from '../../../engine/inbox/stream.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { Random, testNumber, testSeed } from '../../support/random.ts';
import { until } from '../../support/waiting.ts';
import { body, bodyText, copyAtRest, delivered, envelope, faultyFiles, openTestLog } from './support.ts';

/** Damages tried in the short mode; MUSTER_DAMAGES for more. */
const DAMAGES = testNumber('MUSTER_DAMAGES', 150);

interface Written {
  readonly seq: number;
  readonly file: string;
  readonly offset: number;
  readonly size: number;
  readonly text: string;
  /** Number of the group it was written with. */
  readonly group: number;
}

/**
 * A closed log of such groups of records, and where each record is. `isKilled`: as it is when the process was killed, and written to files that were
 * used before.
 */
async function writtenLog(
  groups: readonly (readonly string[])[],
  segmentSizeMax: number,
  isKilled = false,
): Promise<{ dir: string; records: Written[] }> {
  const dir = temporaryDirectory();
  const log = await openTestLog(dir, { segmentSizeMax });
  const stored = delivered(log);
  if (isKilled) await useFiles(dir, log, stored, segmentSizeMax);
  const groupOf: number[] = [];
  for (const [group, texts] of groups.entries()) {
    await Promise.all(texts.map((text, i) => log.append(envelope(`n${group}-${i}`), body(text))));
    groupOf.push(...texts.map(() => group));
  }
  const records = stored.map((record, i) => {
    const { file, offset, headSize, bytes } = log.locate(record);
    const text = bodyText(log, record);
    return { seq: record.seq, file: file.path, offset, size: headSize + bytes, text, group: groupOf[i]! };
  });
  const killed = isKilled ? await copyAtRest(dir) : null;
  await log.close();
  if (killed === null) return { dir, records };
  return { dir: killed, records: records.map((record) => ({ ...record, file: record.file.replace(dir, killed) })) };
}

/** Fills segments whose files are those of the next ones. */
async function useFiles(dir: string, log: CommandLog, stored: StreamRecord[], size: number): Promise<void> {
  for (let i = 0; i < 3; i++) await log.append(envelope('gone'), body('gone '.repeat(size / 5)));
  for (const record of stored.splice(0)) log.release(record);
  await until('the segments have gone', () => readdirSync(dir).length <= 2);
  assert.ok(filesOf(dir).some((path) => path.endsWith('.spare')));
}

function flip(file: string, offset: number, bit = 0): void {
  const bytes = readFileSync(file);
  bytes[offset]! ^= 1 << bit;
  writeFileSync(file, bytes);
}

const contents = (dir: string): string =>
  readdirSync(dir)
    .sort()
    .map((name) => `${name} ${readFileSync(join(dir, name), 'latin1')}`)
    .join('\n');

const filesOf = (dir: string): string[] =>
  readdirSync(dir)
    .sort()
    .map((name) => join(dir, name));

interface Opened {
  readonly log: CommandLog;
  readonly seqs: number[];
  readonly lines: string[];
}

/** Opens a log whose partitions are at these positions. What becomes of its damage a check has told. */
async function openAt(dir: string, positions: readonly number[], rest: Partial<LogOptions> = {}): Promise<Opened> {
  const told = await checkLog(dir, positions);
  const lines: string[] = [];
  const log = await openTestLog(dir, {
    seqAfter: Math.max(...positions),
    flushedPositions: async () => positions,
    log: { info: (line) => lines.push(`info ${line}`), warn: (line) => lines.push(`warn ${line}`) },
    ...rest,
  }).catch((error: Error) => {
    assert.equal(
      error.message,
      told.find((line) => !line.includes('; a start passes it over: ')),
    );
    throw error;
  });
  assert.deepEqual(
    told.map((line) => `warn ${line.replace('; a start passes it over: ', '; passed over: ')}`),
    lines.filter((line) => line.startsWith('warn ')),
  );
  return { log, seqs: delivered(log).map(({ seq }) => seq), lines };
}

/** Opening is refused, naming file, offset and what to do, and changes nothing. */
async function refuses(dir: string, positions: readonly number[], file: string, offset: number): Promise<void> {
  const before = contents(dir);
  await assert.rejects(openAt(dir, positions), (error) => {
    assert.ok(error instanceof StreamCorrupt, String(error));
    assert.deepEqual([error.file, error.offset], [file, offset]);
    assert.match(error.message, /not every partition is known to have them: restore a backup; .*docs\/backup\.md/);
    return true;
  });
  assert.equal(contents(dir), before, 'nothing was changed');
}

/** Bytes of a record's parts, by where they begin in it. */
const PARTS: Readonly<Record<string, number>> = {
  salt: 0,
  checksum: 4,
  'length of the envelope': 8,
  'length of the body': 13,
  'seq, low': 16,
  'seq, high': 20,
  durable: 24,
  envelope: RECORD_HEADER_SIZE + 5,
  body: -1,
};

const groups = [['one', 'two'], ['three'], ['four', 'five', 'six'], ['seven'], ['eight']].map((texts) =>
  texts.map((text) => text.repeat(20)),
);

for (const [part, at] of Object.entries(PARTS)) {
  for (const segmentSizeMax of [400, 1 << 20]) {
    test(`log damage: ${part} of a record, segments of ${segmentSizeMax} bytes`, async () => {
      const { dir, records } = await writtenLog(groups, segmentSizeMax);
      const newest = records.at(-1)!.seq;
      for (const { seq, file, offset, size } of records) {
        const others = records.map((record) => record.seq).filter((one) => one !== seq);
        const damaged = temporaryDirectory();
        cpSync(dir, damaged, { recursive: true });
        const path = file.replace(dir, damaged);
        flip(path, offset + ((at + size) % size));
        // Some partition may not have it; that it was acknowledged the others tell, or a record behind it.
        if (seq < newest) await refuses(damaged, [newest, seq - 1], path, offset);
        // What is known to be applied need not be readable, whatever else there is to do.
        const { log, seqs, lines } = await openAt(damaged, seq < newest ? [seq, newest] : [seq, seq - 1, 0]);
        assert.deepEqual(seqs, others);
        assert.equal(lines.length, 1);
        assert.ok(lines[0]!.startsWith(`warn ${path}: offset ${offset}: `), lines[0]);
        assert.match(lines[0]!, new RegExp(`nothing is lost, as all commands of seq ${seq} to ${seq} are applied$`));
        assert.equal(await log.append(envelope('later'), body('later')), newest + 1);
        await log.close();
        // It is the same after the next start, when only what was behind has gone on.
        const again = await openAt(damaged, [seq, newest + 1]);
        assert.deepEqual(again.seqs, [...others, newest + 1]);
        await again.log.close();
      }
    });
  }
}

test('log damage: what is found once in a log that is being written, and not again, is none', async () => {
  const finding = async (...found: string[][]): Promise<unknown> => {
    const result = await foundTwice(async () => found.shift()!);
    return [result, found.length];
  };
  assert.deepEqual(await finding([]), [[], 0]);
  assert.deepEqual(await finding(['a'], []), [[], 0]);
  assert.deepEqual(await finding(['a'], ['a', 'b'], ['a', 'b'], []), [['a', 'b'], 1]);
});

test('log damage: a segment that has some goes with the last of its other records', async () => {
  const { dir, records } = await writtenLog(groups, 1 << 20);
  flip(records[1]!.file, records[1]!.offset + 40);
  const lines: string[] = [];
  const log = await openTestLog(dir, {
    seqAfter: 8,
    flushedPositions: async () => [2, 8],
    log: { info: (line) => lines.push(line), warn: (line) => lines.push(line) },
  });
  for (const record of delivered(log)) log.release(record);
  await log.append(envelope('later'), body('later'));
  await log.close();
  assert.equal(lines.length, 1);
  assert.equal(filesOf(dir).includes(records[1]!.file), false);
  // Without asking anybody.
  const again = await openTestLog(dir);
  assert.deepEqual(
    delivered(again).map(({ seq }) => seq),
    [9],
  );
  await again.close();
});

test('log damage: on a full disk a log that has some delivers what it has, and takes commands when there is room', async () => {
  const { dir, records } = await writtenLog(groups, 250);
  const { file, offset } = records[1]!;
  flip(file, offset + 40);
  const files = faultyFiles();
  files.failing.set('open', 'ENOSPC');
  const { log, seqs } = await openAt(dir, [2, 5], { files });
  const others = records.map(({ seq }) => seq).filter((seq) => seq !== 2);
  assert.deepEqual(seqs, others);
  await assert.rejects(log.append(envelope('early'), body('early')), { name: 'StreamUnavailable', message: /ENOSPC/ });
  assert.equal(await log.recover(), false);
  files.failing.clear();
  assert.equal(await log.recover(), true);
  assert.equal(await log.append(envelope('later'), body('later')), 9);
  await log.close();
  const again = await openAt(dir, [2, 5]);
  assert.deepEqual(again.seqs, [...others, 9]);
  await again.log.close();
  // Without a segment there is nothing to deliver.
  files.failing.set('open', 'ENOSPC');
  await assert.rejects(openTestLog(temporaryDirectory(), { files }), /ENOSPC/);
});

test('log damage: the header of a segment, one that is short and one that is missing', async () => {
  const { dir, records } = await writtenLog(groups, 250);
  const files = [...new Set(records.map(({ file }) => file))];
  assert.ok(files.length > 3, 'the test wants several segments');
  const seqsIn = (file: string): number[] => records.filter((record) => record.file === file).map(({ seq }) => seq);
  const newest = records.at(-1)!.seq;
  const damages: Readonly<Record<string, (file: string) => unknown>> = {
    'flipped header': (file) => flip(file, 20),
    'header of nothing': (file) => writeFileSync(file, Buffer.alloc(readFileSync(file).length)),
    'cut short': (file) => truncateSync(file, readFileSync(file).length - 5),
    'cut to its header': (file) => truncateSync(file, SEGMENT_HEADER_SIZE),
    missing: (file) => rmSync(file),
  };
  for (const [what, damage] of Object.entries(damages)) {
    for (const file of files.slice(1, -1)) {
      const damaged = temporaryDirectory();
      cpSync(dir, damaged, { recursive: true });
      damage(file.replace(dir, damaged));
      const last = seqsIn(file).at(-1)!;
      const before = contents(damaged);
      await assert.rejects(openAt(damaged, [last - 1, newest]), /not every partition is known to have them/, what);
      assert.equal(contents(damaged), before);
      const { log, seqs, lines } = await openAt(damaged, [last, newest]);
      const lost = what === 'cut short' ? [last] : seqsIn(file);
      assert.deepEqual(
        seqs,
        records.map(({ seq }) => seq).filter((seq) => !lost.includes(seq)),
        what,
      );
      assert.equal(lines.length, 1, what);
      await log.append(envelope('later'), body('later'));
      await log.close();
      const again = await openAt(damaged, [last, newest + 1]);
      assert.deepEqual(again.seqs, [...seqs, newest + 1], what);
      await again.log.close();
    }
  }
  // What stands behind the records of the one before, as in a file that is used again, is not the damage.
  for (const [what, [at, offset]] of Object.entries({ 'flipped header': [2, 0], missing: [3, 28] } as const)) {
    const damaged = temporaryDirectory();
    cpSync(dir, damaged, { recursive: true });
    const [before, file] = files.slice(1).map((path) => path.replace(dir, damaged)) as [string, string];
    appendFileSync(before, 'of an earlier segment '.repeat(40));
    damages[what]!(file);
    const last = seqsIn(files[2]!).at(-1)!;
    await refuses(damaged, [last - 1, newest], files[at]!.replace(dir, damaged), offset);
    const { log } = await openAt(damaged, [last, newest]);
    // The others, and the new one.
    const counting = files.filter((path) => path !== files[2]).map((path) => readFileSync(path).length);
    assert.equal(
      log.stats().size,
      counting.reduce((sum, length) => sum + length, SEGMENT_HEADER_SIZE),
      what,
    );
    await log.close();
  }
  // Nothing tells what the last one held.
  flip(files.at(-1)!, 20);
  await refuses(dir, [newest, newest], files.at(-1)!, 0);
});

test('log damage: a segment that a newer version wrote is none: it is refused whatever is applied, and nothing changes', async () => {
  const { dir, records } = await writtenLog(groups, 250);
  const newest = records.at(-1)!.seq;
  writeFileSync(join(dir, '0000000000.commands.spare'), 'x');
  for (const file of new Set(records.map((record) => record.file))) {
    const copy = temporaryDirectory();
    cpSync(dir, copy, { recursive: true });
    const path = file.replace(dir, copy);
    const bytes = readFileSync(path);
    bytes.writeUInt32LE(2, 8);
    bytes.writeUInt32LE(crc32(bytes.subarray(8, SEGMENT_HEADER_SIZE)), 4);
    writeFileSync(path, bytes);
    const before = contents(copy);
    const message = `${path} was written by a newer version (format 2, this program knows 1): install the newer version`;
    await assert.rejects(openAt(copy, [newest, newest]), { message });
    assert.deepEqual(await checkLog(copy, [newest, newest]), [message]);
    assert.equal(contents(copy), before);
  }
});

test('log damage: a log that ends before what was applied is told, and refused where more may have been there', async () => {
  const { dir, records } = await writtenLog(groups, 1 << 20);
  const { file, offset } = records.at(-2)!;
  truncateSync(file, offset);
  assert.deepEqual(await checkLog(dir, [6, 5]), [], 'nobody knows that there was more');
  await refuses(dir, [8, 6], file, offset);
  const { log, seqs, lines } = await openAt(dir, [8, 7, 2]);
  assert.deepEqual(seqs, [1, 2, 3, 4, 5, 6]);
  assert.match(lines.join('\n'), /seq 8 was applied and is not there; passed over: .* seq 7 to 8 are applied$/);
  await log.close();
  const again = await openAt(dir, [8, 7, 2]);
  assert.deepEqual([again.seqs, again.lines], [seqs, []]);
  await again.log.close();
});

test('log damage: in the last group, which nothing behind it proves, what is cut off is told', async () => {
  const { dir, records } = await writtenLog(groups, 1 << 20);
  const { file, offset } = records.at(-1)!;
  const damages: Readonly<Record<string, (path: string) => void>> = {
    'checksum of the record': (path) => flip(path, offset + 40),
    'salt of the record': (path) => flip(path, offset),
    'header of the record': (path) => flip(path, offset + 11),
    'record is cut short': (path) => truncateSync(path, offset + 50),
    'record header is cut short': (path) => truncateSync(path, offset + 3),
  };
  for (const [what, damage] of Object.entries(damages)) {
    const damaged = temporaryDirectory();
    cpSync(dir, damaged, { recursive: true });
    const path = file.replace(dir, damaged);
    damage(path);
    const files = faultyFiles();
    const { log, seqs, lines } = await openAt(damaged, [7, 7], { files });
    assert.deepEqual(seqs, [1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(lines, [
      `info ${path}: offset ${offset}: ${what}; cut off: nothing tells that it was acknowledged`,
    ]);
    assert.equal(readFileSync(path).length, offset);
    assert.equal(files.calls.get('datasync'), 1, 'it is cut off for good');
    await log.close();
  }
});

test('log damage: of a last file without a whole header it is told that it goes', async () => {
  const { dir, records } = await writtenLog(groups, 250);
  const { file } = records.at(-1)!;
  const others = records.filter((record) => record.file !== file).map(({ seq }) => seq);
  const damages: Readonly<Record<string, (path: string) => void>> = {
    'segment header is cut short': (path) => truncateSync(path, 0),
    'checksum of the segment header': (path) => {
      truncateSync(path, SEGMENT_HEADER_SIZE);
      flip(path, 20);
    },
  };
  for (const [what, damage] of Object.entries(damages)) {
    const damaged = temporaryDirectory();
    cpSync(dir, damaged, { recursive: true });
    const path = file.replace(dir, damaged);
    damage(path);
    const { log, seqs, lines } = await openAt(damaged, [0, 1]);
    assert.deepEqual(seqs, others);
    assert.deepEqual(lines, [`info ${path}: offset 0: ${what}; removed: nothing tells that there was more in it`]);
    assert.equal(filesOf(damaged).includes(path), false);
    await log.close();
  }
});

test('log damage: whatever is damaged, what was acknowledged and not applied is delivered, or opening is refused', async (t) => {
  const seed = testSeed('damaged log');
  const random = new Random(seed);
  let opened = 0;
  let passed = 0;
  let cut = 0;
  for (let round = 0; round < DAMAGES; round++) {
    const where = `seed ${seed} round ${round}`;
    const texts = Array.from({ length: random.between(2, 8) }, (_, group) =>
      Array.from({ length: random.between(1, 4) }, (_, i) => `${group}.${i} `.repeat(random.between(1, 60))),
    );
    const segmentSizeMax = random.pick([300, 900, 1 << 20]);
    const { dir, records } = await writtenLog(texts, segmentSizeMax, segmentSizeMax < 1000 && random.chance(0.4));
    // Each partition has applied its commands up to one of them.
    const owners = records.map(() => random.below(3));
    const positions = [0, 1, 2].map((partition) => {
      const own = records.filter((_, i) => owners[i] === partition);
      return own[random.chance(0.5) ? own.length - 1 : random.below(own.length)]?.seq ?? records[0]!.seq - 1;
    });
    const owed = records.filter(({ seq }, i) => seq > positions[owners[i]!]!);
    const files = filesOf(dir).filter((path) => path.endsWith('.commands'));
    const lastFile = files.at(-1)!;
    // Where a record ends nothing tells that there were more.
    const ends = [SEGMENT_HEADER_SIZE, ...records.map(({ offset, size }) => offset + size)];
    let isLastCut = false;
    for (let i = random.between(1, 2); i > 0; i--) {
      const file = random.pick(files);
      // Of the last segment a second damage could hide that there was a first.
      if (file === lastFile) i = 0;
      const { length } = readFileSync(file);
      if (random.chance(0.2)) {
        const end = random.below(length);
        truncateSync(file, file === lastFile && ends.includes(end) ? end - 1 : end);
        isLastCut ||= file === lastFile;
      } else flip(file, random.below(length), random.below(8));
    }
    let result: Opened;
    try {
      result = await openAt(dir, positions);
    } catch (error) {
      assert.ok(error instanceof StreamCorrupt, `${where}: ${error}`);
      continue;
    }
    const { log, seqs, lines } = result;
    opened++;
    if (lines.some((line) => line.startsWith('warn'))) passed++;
    const lost = owed.filter(({ seq }) => !seqs.includes(seq));
    if (lost.length > 0) {
      cut++;
      if (isLastCut) {
        assert.ok(
          lines.some((line) => line.includes(`${lastFile}: `)),
          where,
        );
      } else {
        for (const { group, seq } of lost) assert.equal(group, records.at(-1)!.group, `${where}: seq ${seq} is lost`);
        assert.match(lines.join('\n'), /^info .*; cut off: nothing tells that it was acknowledged$/m, where);
      }
    }
    const next = await log.append(envelope('later'), body('later'));
    assert.ok(next > records.at(-1)!.seq || lost.length > 0, where);
    await log.close();
    // What has been passed over once does not keep it from being opened later.
    positions[random.below(3)] = next;
    const again = await openAt(dir, positions);
    assert.deepEqual(again.seqs, [...seqs, next], where);
    await again.log.close();
  }
  t.diagnostic(`${opened} of ${DAMAGES} opened, ${passed} of them passed something over, ${cut} lost the last group`);
});
