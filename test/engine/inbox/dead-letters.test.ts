import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { causeFileName, commandFileName, parseCommandFileName } from '../../../engine/inbox/command-file.ts';
import { causeText, certnameOf, type DeadLetter, DeadLetters } from '../../../engine/inbox/dead-letters.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { body, envelope } from './support.ts';

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex');

test('command file: the name says seq, times, command, version and certname', () => {
  const plain = envelope('k1.k', { received: 1795221444342, producerTimestamp: 1795221444342 - 88634342 });
  assert.equal(commandFileName(644, plain), '644-1795221444342-88634342_facts_5_k1.k.json');
  assert.equal(
    commandFileName(1, envelope('a', { command: 'replace catalog inputs', version: 1, gzip: true })),
    '1-1700000000000_inputs_1_a.json.gz',
  );
  assert.equal(
    commandFileName(2, envelope('a', { producerTimestamp: 1_700_000_000_000 })),
    '2-1700000000000+0_facts_5_a.json',
  );
});

test('command file: a certname that could do harm gets a stand-in with its digest', () => {
  for (const [certname, safe] of [
    ['foo_bar/baz', 'foo-bar-baz'],
    ['../../etc/passwd', '..-..-etc-passwd'],
    ['a\u0000b\\c:d', 'a-b-c-d'],
  ] as const) {
    const name = commandFileName(3, envelope(certname));
    assert.equal(name, `3-1700000000000_facts_5_${safe}_${sha1(certname)}.json`);
    assert.ok(!/[/\\\u0000]/.test(name));
  }
});

test('command file: long certnames are cut between characters, and every name fits a directory', () => {
  for (const certname of ['x'.repeat(5000), 'é'.repeat(300), '\u{1F600}'.repeat(200), 'ab'.repeat(101)]) {
    for (const gzip of [true, false]) {
      const name = commandFileName(Number.MAX_SAFE_INTEGER, envelope(certname, { gzip, producerTimestamp: 0 }));
      assert.ok(Buffer.byteLength(name.slice(name.indexOf('-') + 1)) <= 235, name);
      assert.ok(!name.includes('\ufffd'));
      assert.ok(Buffer.byteLength(causeFileName(name)) <= 255);
      assert.ok(causeFileName(name).endsWith('_err.txt'));
    }
  }
});

test('command file: names are read back', () => {
  const source = envelope('k1.k', { command: 'deactivate node', version: 3, gzip: true, producerTimestamp: 5 });
  assert.deepEqual(parseCommandFileName(commandFileName(7, source)), {
    seq: 7,
    command: 'deactivate node',
    version: 3,
    received: source.received,
    producerTimestamp: 5,
    gzip: true,
    certId: 'k1.k',
    certname: 'k1.k',
  });
  assert.equal(parseCommandFileName(commandFileName(7, envelope('a_b')))?.certname, null);
  assert.equal(parseCommandFileName('README'), null);
});

test('dead letters: body and cause are written as documented', async () => {
  const office = new DeadLetters(join(temporaryDirectory(), 'discarded'));
  await office.open();
  const attempts = [
    { time: Date.UTC(2026, 10, 21, 0, 21, 9, 784), text: 'first reason' },
    { time: Date.UTC(2026, 10, 21, 1, 21, 11, 900), text: 'second reason' },
  ];
  const zipped = new Uint8Array(gzipSync('{"certname":"a"}'));
  const added = await office.put([
    { seq: 4, envelope: envelope('a'), body: body('not json'), attempts: attempts.slice(0, 1) },
    { seq: 3, envelope: envelope('a', { gzip: true }), body: zipped, attempts },
  ]);
  const folder = join(office.dir, 'replace_facts');
  assert.deepEqual(readdirSync(folder).sort(), [
    '3-1700000000000_facts_5_a.json.gz',
    '3-1700000000000_facts_5_a.json.gz_err.txt',
    '4-1700000000000_facts_5_a.json',
    '4-1700000000000_facts_5_a_err.txt',
  ]);
  assert.equal(readFileSync(join(folder, '4-1700000000000_facts_5_a.json'), 'utf8'), 'not json');
  assert.equal(
    readFileSync(join(folder, '3-1700000000000_facts_5_a.json.gz_err.txt'), 'utf8'),
    'Attempt 2 @ 2026-11-21T01:21:11.900Z\nsecond reason\n\nAttempt 1 @ 2026-11-21T00:21:09.784Z\nfirst reason\n',
  );
  assert.equal(statSync(join(folder, '4-1700000000000_facts_5_a.json')).mode & 0o777, 0o600);
  // As PuppetDB counts them: what was sent, not why it was given up.
  assert.deepEqual(
    added.map(({ filesize }) => filesize),
    ['not json'.length, zipped.length],
  );
  assert.deepEqual(
    await office.count(),
    new Map([['replace facts', { messages: 2, filesize: added[0]!.filesize + added[1]!.filesize }]]),
  );
});

test('dead letters: listed in order, shown, sent again and thrown away', async () => {
  const office = new DeadLetters(join(temporaryDirectory(), 'discarded'));
  await office.open();
  assert.deepEqual(await office.list(), []);
  await office.put([
    {
      seq: 12,
      envelope: envelope('a_b', { command: 'store report', version: 8 }),
      body: body('{"certname":"a_b"}'),
      attempts: [{ time: 0, text: 'why' }],
    },
    { seq: 5, envelope: envelope('c'), body: body('x'), attempts: [{ time: 0, text: 'because' }] },
  ]);
  const letters = await office.list();
  assert.deepEqual(
    letters.map((letter) => [letter.seq, letter.command, letter.version]),
    [
      [5, 'replace facts', 5],
      [12, 'store report', 8],
    ],
  );
  const [report] = await office.find(['12']);
  assert.ok(report);
  const found = await office.find([report.name, '7', '5', '12']);
  assert.deepEqual(
    found.map((letter) => letter?.seq),
    [12, undefined, 5, 12],
  );
  assert.match(await office.cause(report), /^Attempt 1 @ 1970-01-01T00:00:00.000Z\nwhy\n$/);
  assert.equal(certnameOf(report, await office.body(report), 1e6), 'a_b');
  await office.remove(report);
  assert.deepEqual(await office.find(['12']), [null]);
  assert.equal(existsSync(report.causePath), false);
});

test('dead letters: a certname is only taken from a payload that tells it, zip bombs included', () => {
  const file = parseCommandFileName(commandFileName(1, envelope('a_b', { gzip: true })))!;
  assert.equal(certnameOf(file, gzipSync('{"certname":"a_b"}'), 1e6), 'a_b');
  assert.equal(certnameOf(file, gzipSync(`{"certname":"${' '.repeat(1e6)}"}`), 1000), null);
  assert.equal(certnameOf(file, body('not gzip'), 1000), null);
  assert.equal(certnameOf(file, gzipSync('["certname"]'), 1000), null);
});

test('dead letters: writing one again changes nothing, and leftovers of an interrupted write go at the next start', async () => {
  const office = new DeadLetters(join(temporaryDirectory(), 'discarded'));
  await office.open();
  const letter = { seq: 1, envelope: envelope('a'), body: body('x'), attempts: [{ time: 0, text: 'why' }] };
  assert.equal((await office.put([letter]))[0]!.messages, 1);
  assert.deepEqual(await office.put([letter]), [{ messages: 0, filesize: 0 }]);
  // Ended between the two files: its cause is what was missing.
  const [{ causePath }] = (await office.list()) as [DeadLetter];
  unlinkSync(causePath);
  assert.deepEqual(await office.put([letter]), [{ messages: 0, filesize: 0 }]);
  assert.equal(existsSync(causePath), true);
  writeFileSync(join(office.dir, 'replace_facts', '.tmp-9'), 'half');
  mkdirSync(join(office.dir, 'replace_facts', 'somebody-made-this'));
  await office.open();
  assert.equal(existsSync(join(office.dir, 'replace_facts', '.tmp-9')), false);
  assert.equal((await office.list()).length, 1);
});

test('dead letters: texts of any length and content stay in their file', () => {
  assert.equal(causeText([]), '');
  assert.equal(causeText([{ time: 1, text: 'a\nb' }]), 'Attempt 1 @ 1970-01-01T00:00:00.001Z\na\nb\n');
});
