// Disks that are full, directories that belong to somebody else or to a later version: what cannot be done is refused with
// the reason, the rest goes on, and nothing that was acknowledged is lost.

import assert from 'node:assert/strict';
import {
  appendFileSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FORMAT_VERSION, slotOf } from '../../engine/store/file/store-info.ts';
import { run } from '../server/cli/support.ts';
import { checkStore } from '../support/check-store.ts';
import { replaceCatalog, replaceFacts, timeText } from '../support/commands.ts';
import { Random, testSeed } from '../support/random.ts';
import { type ClientCommand, TestServer } from '../support/server.ts';
import { smallVolume, type Volume } from '../support/volume.ts';
import { pause, until } from '../support/waiting.ts';
import { checkAppliedOnce } from './checks.ts';

const DAY = 86_400_000;

/** Facts of some size that nothing makes smaller. */
function largeFacts(certname: string, version: number, time: number, random: Random, count = 60): ClientCommand {
  const noise = Array.from({ length: count }, () => {
    return Array.from({ length: 60 }, () => random.below(2 ** 32).toString(36)).join('');
  });
  const payload = {
    certname,
    environment: 'production',
    producer: 'compiler',
    producer_timestamp: timeText(time),
    values: Object.fromEntries([['version', version], ...noise.map((value, i) => [`noise_${i}`, value])]),
  };
  return {
    command: 'replace facts',
    version: 5,
    certname,
    producerTimestamp: timeText(time),
    payload: JSON.stringify(payload),
  };
}

test('disk: when it is full submissions are refused with the reason and queries go on, until there is room', async (t) => {
  const volume = smallVolume(t, 24);
  if (volume === null) return t.skip('needs a small file system');
  const random = new Random(testSeed('disk'));
  const server = await TestServer.start(t, { dir: join(volume.dir, 'data'), args: ['--partitions', '2'] });
  const start = Date.now() - DAY;
  const acknowledged = new Map<string, number>();
  let version = 0;
  /** Submits until it is refused; returns the refusal. Every command is a node's first or next. */
  const fill = async (
    count: number,
  ): Promise<{ status: number; text: string; retryAfter: string | undefined } | null> => {
    for (let i = 0; i < count; i++) {
      const next = ++version;
      const certname = `node-${next % 40}`;
      const answer = await server.submit(largeFacts(certname, next, start + next, random));
      if (!answer.acknowledged) {
        return { status: answer.status, text: answer.text, retryAfter: answer.headers['retry-after'] };
      }
      acknowledged.set(certname, next);
    }
    return null;
  };
  const refusal = await fill(1000);
  assert.ok(refusal !== null, 'the disk did not get full');
  assert.equal(refusal.status, 503, refusal.text);
  assert.match(refusal.text, /ENOSPC|no space/i);
  assert.match(refusal.retryAfter ?? '', /^\d+$/);
  t.diagnostic(`full after ${acknowledged.size} nodes and ${version} commands: ${refusal.text.replace(/\s+/g, ' ')}`);

  // Whatever is full now, reading works: also of what is not applied yet, when it will be.
  const rows = await server.query<{ certname: string }>('nodes');
  assert.ok(rows.length > 0);
  for (let i = 0; i < 5; i++) {
    await pause(100);
    const [row] = await server.query<{ count: number }>('facts', [
      'extract',
      [['function', 'count']],
      ['~', 'name', '.'],
    ]);
    assert.ok(row!.count > 0);
    assert.equal((await server.ask('/pdb/meta/v1/version')).status, 200);
    // A little may fit from time to time; what does not is refused the same way.
    const again = await fill(1);
    if (again !== null) assert.equal(again.status, 503, again.text);
  }

  volume.resize(96);
  await until('submissions are taken again', async () => (await fill(1)) === null, 20_000);
  assert.equal(await fill(20), null);
  await server.drained();
  await compare(server, acknowledged);

  // Full again, and killed while it is: still nothing is lost, once there is room.
  const { bavail, bsize } = statfsSync(volume.dir);
  const ballast = join(volume.dir, 'ballast');
  writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - (1 << 20)), 1));
  assert.equal((await fill(200))?.status, 503);
  await server.kill();
  writeFileSync(ballast, '');
  await server.start();
  await server.drained();
  await compare(server, acknowledged);
  checkAppliedOnce(server);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await checkStore(server.dir), []);
});

test('disk: a start on a full one answers queries, refuses commands and goes on', async (t) => {
  const volume = smallVolume(t, 24);
  if (volume === null) return t.skip('needs a small file system');
  const random = new Random(testSeed('full start'));
  const server = await TestServer.start(t, { dir: join(volume.dir, 'data'), args: ['--partitions', '2'] });
  const submit = (version: number) => server.submit(largeFacts('node', version, Date.now() - DAY + version, random));
  assert.ok((await submit(1)).acknowledged);
  await server.drained();
  assert.equal(await server.stop(), 0);
  const ballast = join(volume.dir, 'ballast');
  const fillUp = (): void => {
    assert.throws(() => {
      for (;;) appendFileSync(ballast, Buffer.alloc(4096, 1));
    }, /ENOSPC/);
  };
  fillUp();
  await server.start();
  // Long enough for all that a start does behind the first answer.
  await pause(3000);
  await compare(server, new Map([['node', 1]]));
  const refused = await submit(2);
  assert.equal(refused.status, 503, refused.text);
  assert.equal(await server.stop(), 0);

  // As after a backup was put back: what LMDB makes anew has no room.
  for (const name of ['partition-000', 'partition-001']) rmSync(join(server.dir, name, 'lock.mdb'));
  fillUp();
  const { status, text } = await server.startToFail();
  assert.equal(status, 1);
  assert.match(text, /lock\.mdb cannot be made: ENOSPC/);

  rmSync(ballast);
  await server.start();
  assert.ok((await submit(3)).acknowledged);
  await server.drained();
  await compare(server, new Map([['node', 3]]));
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await checkStore(server.dir), []);
});

async function compare(server: TestServer, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  const facts = await server.query<{ certname: string; value: number }>('facts', ['=', 'name', 'version']);
  const found = new Map(facts.map(({ certname, value }) => [certname, value]));
  for (const [certname, version] of acknowledged) assert.equal(found.get(certname), version, `facts of ${certname}`);
}

/** A server whose log has room and whose store, one partition, lies on the volume. */
async function serverWithStoreOn(t: TestContext, volume: Volume): Promise<TestServer> {
  const server = TestServer.prepare(t, { args: ['--partitions', '1'] });
  mkdirSync(server.dir);
  symlinkSync(volume.dir, join(server.dir, 'partition-000'));
  await server.start();
  return server;
}

/** Submits facts of the nodes `first` to `last`, which are acknowledged whether the store has room or not. */
async function submitNodes(
  server: TestServer,
  first: number,
  last: number,
  random: Random,
): Promise<Map<string, number>> {
  const start = Date.now() - DAY;
  const acknowledged = new Map<string, number>();
  for (let version = first; version <= last; version++) {
    const answer = await server.submit(largeFacts(`node-${version}`, version, start + version, random));
    assert.equal(answer.status, 200, answer.text);
    acknowledged.set(`node-${version}`, version);
  }
  return acknowledged;
}

test('disk: when only the store has no room acknowledged commands wait for it, and queries go on', async (t) => {
  const volume = smallVolume(t, 6);
  if (volume === null) return t.skip('needs a small file system');
  const server = await serverWithStoreOn(t, volume);
  const acknowledged = await submitNodes(server, 1, 400, new Random(testSeed('disk of the store')));
  const isTold = (): boolean =>
    server.logLines().some(({ level, msg }) => level === 'error' && /^partition 0: .* \d MB left/.test(msg));
  await until('the trouble is told', isTold).catch((error) => {
    throw new Error(`${error.message}; the server said: ${server.output}`);
  });
  const waiting = await server.depth();
  assert.ok(waiting > 0, 'everything found room');
  t.diagnostic(
    `${waiting} commands wait; the log says: ${server.logLines().find(({ level }) => level === 'error')?.msg}`,
  );
  const rows = await server.query<{ certname: string }>('nodes');
  assert.ok(rows.length > 0 && rows.length < 400, `${rows.length} nodes`);
  const status = await server.ask('/status/v1/services');
  assert.equal(JSON.parse(status.text)['puppetdb-status'].state === 'running', false, 'it does not call itself well');
  volume.resize(64);
  await server.drained();
  await compare(server, acknowledged);
  checkAppliedOnce(server);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await checkStore(server.dir), []);
});

test('disk: the line that tells of a full store is whole, and says what is wanted', async (t) => {
  const volume = smallVolume(t, 16);
  if (volume === null) return t.skip('needs a small file system');
  const random = new Random(testSeed('disk that takes not a byte'));
  const server = await serverWithStoreOn(t, volume);
  await submitNodes(server, 1, 5, random);
  await server.drained();
  // Not a byte is left: writing beyond the end of the file fails at once, where a short write would be another error.
  const ballast = join(volume.dir, 'ballast');
  const { bavail, bsize } = statfsSync(volume.dir);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize, 1));
  const acknowledged = await submitNodes(server, 6, 40, random);
  const troubles = (): string[] => {
    return server.logLines().flatMap(({ level, msg }) => (level === 'error' ? [msg] : []));
  };
  await until('the trouble is told', () => troubles().length > 0);
  assert.match(
    troubles()[0]!,
    /^partition 0: No space left on device \(.*partition-000: .* has 0 MB left, \d+ MB are wanted\)$/,
  );
  rmSync(ballast);
  await server.drained();
  await compare(server, acknowledged);
  assert.equal(await server.stop(), 0);
});

test('disk: a command that is larger than the room waits for room, and hurts nothing', async (t) => {
  const volume = smallVolume(t, 48);
  if (volume === null) return t.skip('needs a small file system');
  const random = new Random(testSeed('command beyond the room'));
  // Takes long on a busy machine, longer than a server keeps idle connections.
  const large = largeFacts('node-6', 6, Date.now() - DAY, random, 70_000);
  const server = await serverWithStoreOn(t, volume);
  const acknowledged = await submitNodes(server, 1, 5, random);
  await server.drained();
  const answer = await server.submit(large);
  assert.equal(answer.status, 200, answer.text);
  const wanted = (): string | undefined =>
    server.logLines().flatMap(({ msg }) => /^partition 0: .* (\d+) MB are wanted/.exec(msg)?.[1] ?? [])[0];
  await until('the trouble is told', () => wanted() !== undefined).catch((error) => {
    throw new Error(`${error.message}; the server said: ${server.output}`);
  });
  assert.ok(Number(wanted()) > 48, `${wanted()} MB`);
  assert.equal(await server.depth(), 1);
  await compare(server, acknowledged);
  volume.resize(512);
  await server.drained();
  await compare(server, acknowledged.set('node-6', 6));
  checkAppliedOnce(server);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await checkStore(server.dir), []);
});

test('disk: a command that claims to be larger than the room, and is none, becomes a dead letter', async (t) => {
  const volume = smallVolume(t, 96);
  if (volume === null) return t.skip('needs a small file system');
  const server = await serverWithStoreOn(t, volume);
  const facts = (certname: string, payload: string): ClientCommand => ({
    command: 'replace facts',
    version: 5,
    certname,
    producerTimestamp: timeText(Date.now() - DAY),
    payload,
  });
  // 100 KB on their way, 100 MB of blanks when they are unpacked.
  for (const payload of [' '.repeat(100 << 20), `${' '.repeat(100 << 20)}{`])
    assert.ok((await server.submit(facts('blanks', payload), { gzip: true })).acknowledged);
  const good = replaceFacts('good', 1, Date.now() - DAY);
  assert.ok((await server.submit(good, { wait: 50 })).acknowledged);
  await server.drained();
  assert.equal((await server.query('nodes', ['=', 'certname', 'good'])).length, 1);
  const status = await server.ask('/status/v1/simple');
  assert.deepEqual([status.status, status.text.trim()], [200, 'running']);
  assert.equal(await server.stop(), 0);
});

test('disk: a command that is none, and has no room to be kept either, waits for it', async (t) => {
  const volume = smallVolume(t, 48);
  if (volume === null) return t.skip('needs a small file system');
  const server = await serverWithStoreOn(t, volume);
  const facts = {
    command: 'replace facts',
    version: 5,
    certname: 'none',
    producerTimestamp: timeText(Date.now() - DAY),
  };
  assert.ok((await server.submit({ ...facts, payload: '{'.repeat(60 << 20) })).acknowledged);
  const isTold = (): boolean => server.logLines().some(({ msg }) => /^partition 0: .* MB are wanted/.test(msg));
  await until('the trouble is told', isTold);
  const { bavail, blocks } = statfsSync(volume.dir);
  assert.ok(bavail > blocks / 2, `${bavail} of ${blocks} blocks are free`);
  assert.equal(await server.depth(), 1);
  volume.resize(512);
  assert.ok((await server.submit(replaceFacts('good', 1, Date.now() - DAY), { wait: 50 })).acknowledged);
  await server.drained();
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await checkStore(server.dir), []);
});

test('disk: a directory that cannot be written is refused with the reason', async (t) => {
  const volume = smallVolume(t, 16);
  if (volume === null) return t.skip('needs a file system that can be read only');
  const data = join(volume.dir, 'data');
  mkdirSync(data);
  const server = TestServer.prepare(t, { dir: volume.readOnlySight(data) });
  const { status, text } = await server.startToFail();
  assert.equal(status, 1, text);
  assert.match(text, /EROFS|read-only/i);
});

test('disk: a directory that nobody can write can be checked', async (t) => {
  const volume = smallVolume(t, 16);
  if (volume === null) return t.skip('needs a file system that can be read only');
  const server = await TestServer.start(t, { dir: join(volume.dir, 'data'), args: ['--partitions', '2'] });
  for (let i = 0; i < 20; i++) await server.apply(replaceCatalog(`node-${i}`, i + 1, Date.now() - DAY, 20));
  assert.equal(await server.stop(), 0);
  rmSync(join(server.dir, 'partition-001', 'lock.mdb'));
  const sight = volume.readOnlySight(server.dir);
  assert.deepEqual(await checkStore(sight), []);
  assert.equal(existsSync(join(server.dir, 'partition-001', 'lock.mdb')), false);
  // A certname that is not the one its index entry and its partition are for.
  const file = join(server.dir, 'partition-001', 'data.mdb');
  const bytes = readFileSync(file);
  const name = Buffer.from('node-1');
  for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) bytes.write('node_1', at);
  writeFileSync(file, bytes);
  const problems = await checkStore(sight);
  assert.ok(
    problems.length > 0 && problems.every((problem) => problem.startsWith('partition 1: ')),
    problems.join('\n'),
  );
});

test('disk: a second process on a data directory is refused and the first one goes on', async (t) => {
  const first = await TestServer.start(t);
  await first.apply(replaceFacts('a', 1, Date.now() - DAY));
  const second = TestServer.prepare(t, { dir: first.dir });
  const { status, text } = await second.startToFail();
  assert.equal(status, 1);
  assert.match(text, /used by another process/);
  await first.apply(replaceFacts('b', 2, Date.now() - DAY));
  assert.equal((await first.query('nodes')).length, 2);
  // After a kill the directory is free at once, whatever the first one left behind.
  await first.kill();
  await second.start();
  assert.equal((await second.query('nodes')).length, 2);
});

test('disk: data without their description are refused, and so is a description that is none', async (t) => {
  const server = await TestServer.start(t, { args: ['--partitions', '2'] });
  await server.apply(replaceCatalog('a', 1, Date.now() - DAY));
  assert.equal(await server.stop(), 0);
  const file = join(server.dir, 'store.json');
  const description = readFileSync(file);
  const refused = async (reason: RegExp): Promise<void> => {
    const { status, text } = await server.startToFail();
    assert.equal(status, 1);
    assert.match(text, reason);
  };
  for (const text of ['', '{', 'null', '{"format":"x","partitions":2}', '{"format":5}']) {
    writeFileSync(file, text);
    await refused(/store\.json is damaged/);
  }
  writeFileSync(file, description.toString().replace('"partitions":2', '"partitions":1'));
  await refused(/store\.json tells of 1 partitions, but partition-001 has data/);
  const { status, out } = await run(['check', '--data', server.dir]);
  assert.match(out, /^store\.json tells of 1 partitions, but partition-001 has data/m);
  assert.equal(status, 1);
  rmSync(file);
  await refused(/store\.json is missing, but partition-00\d has data/);
  writeFileSync(file, description);
  await server.start();
  assert.equal((await server.query('nodes')).length, 1);
  assert.equal(await server.stop(), 0);
});

test('disk: data of a later version are refused and left as they are', async (t) => {
  const server = await TestServer.start(t, { args: ['--partitions', '2'] });
  await server.apply(replaceCatalog('a', 1, Date.now() - DAY));
  await server.stop();
  const file = join(server.dir, 'store.json');
  const info = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  assert.equal(info['format'], FORMAT_VERSION);
  const copy = `${server.dir}-copy`;
  cpSync(server.dir, copy, { recursive: true, filter: (path) => !statSync(path).isSocket() });
  writeFileSync(file, JSON.stringify({ ...info, format: FORMAT_VERSION + 1 }));
  const { status, text } = await server.startToFail();
  assert.equal(status, 1);
  assert.match(
    text,
    new RegExp(`newer version \\(format ${FORMAT_VERSION + 1}, this program knows ${FORMAT_VERSION}\\)`),
  );
  for (const name of ['partition-000/data.mdb', 'partition-001/data.mdb']) {
    assert.deepEqual(readFileSync(join(server.dir, name)), readFileSync(join(copy, name)), name);
  }
  writeFileSync(file, JSON.stringify(info));
  await server.start();
  assert.equal((await server.query('nodes')).length, 1);
});

test('disk: a partition whose file is damaged is refused with its name, and left as it is', async (t) => {
  const server = await TestServer.start(t, { args: ['--partitions', '2'] });
  for (let i = 0; i < 40; i++) await server.apply(replaceCatalog(`node-${i}`, i + 1, Date.now() - DAY, 40));
  assert.equal(await server.stop(), 0);
  const file = join(server.dir, 'partition-001', 'data.mdb');
  const whole = readFileSync(file);
  const cases: readonly [name: string, content: Uint8Array, what: RegExp][] = [
    ['cut', whole.subarray(0, 40 * 4096), /it has 163840 bytes and should have \d+/],
    ['cut within its metas', whole.subarray(0, 4200), /it ends at 4200, in the middle of a page/],
    ['empty', new Uint8Array(0), /it is empty/],
    ['zeroes', Buffer.alloc(whole.length), /its meta page 0 is none/],
    ['text', Buffer.from('certname,fact,value\n'.repeat(2000)), /its meta page 0 is none/],
  ];
  for (const [name, content, what] of cases) {
    writeFileSync(file, content);
    const { status, text } = await server.startToFail();
    assert.equal(status, 1, `${name}: ${text}`);
    assert.ok(text.includes(`${file} is damaged: `), `${name}: ${text}`);
    assert.match(text, what, name);
    assert.match(text, /`muster check` tells more; restore a backup/, name);
    assert.deepEqual(readFileSync(file), Buffer.from(content), `${name}: the file`);
    const problems = await checkStore(server.dir);
    assert.ok(problems.length > 0 && problems.every((problem) => problem.startsWith(`partition 1: ${file}: `)), name);
  }
  rmSync(file);
  const { status, text } = await server.startToFail();
  assert.equal(status, 1, text);
  assert.ok(text.includes(`${file} is damaged: it is not there`), text);
  assert.deepEqual(await checkStore(server.dir), [`partition 1: ${file}: it is not there`]);
  writeFileSync(file, whole);
  await server.start();
  assert.equal((await server.query('nodes')).length, 40);
});

test('disk: a page that keeps ending the process is found at the third start, which is refused with its name', async (t) => {
  const server = await TestServer.start(t, { args: ['--partitions', '2'] });
  for (let i = 0; i < 40; i++) await server.apply(replaceCatalog(`node-${i}`, i + 1, Date.now() - DAY, 40));
  assert.equal(await server.stop(), 0);
  const file = join(server.dir, 'partition-001', 'data.mdb');
  const whole = readFileSync(file);
  const leaf = deepLeafOf(whole);
  for (let ends = 0; ends < 2; ends++) {
    await server.start();
    await server.kill();
  }
  writeFileSync(
    file,
    Buffer.concat([whole.subarray(0, leaf * PAGE), Buffer.alloc(PAGE), whole.subarray((leaf + 1) * PAGE)]),
  );
  const { status, text } = await server.startToFail();
  assert.equal(status, 1, text);
  assert.ok(text.includes(`${file} is damaged: `), text);
  assert.match(text, new RegExp(`page ${leaf}\\b`));
  writeFileSync(file, whole);
  await server.start();
  assert.equal(server.logLines().filter(({ msg }) => msg.includes('reading all pages')).length, 2);
  assert.equal(await server.stop(), 0);
  // Those that end in order are forgotten.
  await server.start();
  assert.equal(server.logLines().filter(({ msg }) => msg.includes('reading all pages')).length, 2);
});

test('disk: damage that is noticed while it runs holds back its partition alone, and is told', async (t) => {
  const server = await TestServer.start(t, { args: ['--partitions', '2'] });
  const names = Array.from({ length: 120 }, (_, i) => `node-${i}`);
  const time = Date.now() - DAY;
  await Promise.all(names.map((name, i) => server.apply(replaceCatalog(name, i + 1, time, 40))));
  assert.equal(await server.stop(), 0);
  const file = join(server.dir, 'partition-001', 'data.mdb');
  await server.start();
  // Applied, so both partitions are open.
  await Promise.all(names.map((name, i) => server.apply(replaceCatalog(name, i + 1, time, 40))));
  const bytes = readFileSync(file);
  const fd = openSync(file, 'r+');
  for (let page = 2; page * PAGE < bytes.length; page++) {
    if (kindOf(bytes, page) === BRANCH) writeSync(fd, Buffer.alloc(PAGE), 0, PAGE, page * PAGE);
  }
  closeSync(fd);
  const query = encodeURIComponent('["~", "title", "."]');
  const answer = await server.ask(`/pdb/query/v4/resources?query=${query}`).catch(() => null);
  assert.ok(answer === null || answer.status === 500, 'an answer that breaks off, or none');
  const [well, hurt] = [0, 1].map((slot) => names.filter((name) => slotOf(name, 2) === slot)) as [string[], string[]];
  const waiting = await Promise.all(
    hurt.slice(0, 5).map((name, i) => server.submit(replaceFacts(name, i, Date.now()), { wait: 1 })),
  );
  for (const { status, text } of waiting) assert.match(`${status} ${text}`, /^503 .*"timed_out" ?: ?true/s);
  for (const name of well.slice(0, 5)) await server.apply(replaceFacts(name, 1, Date.now()));
  const told = server.logLines().filter(({ level }) => level === 'error');
  assert.ok(told.some(({ msg }) => /^partition 1: MDB_.* its file is damaged: `muster check`/.test(msg)));
  assert.ok(told.some(({ msg }) => /^query failed: .*a file of the store is damaged: `muster check`/.test(msg)));
  assert.match((await server.ask('/status/v1/services')).text, /"state" ?: ?"error"/);
  // What waits is in the log, and is applied to what a backup brings back.
  await server.kill();
  writeFileSync(file, bytes);
  await server.start();
  await server.drained();
  assert.equal((await server.query('factsets')).length, 10);
});

const PAGE = 4096;
const BRANCH = 1;
const LEAF = 2;

/** A leaf of resources, which no start looks at: the first one that has a resource's text. */
function deepLeafOf(file: Buffer): number {
  for (let page = 2; page * PAGE < file.length; page++) {
    const bytes = file.subarray(page * PAGE, (page + 1) * PAGE);
    if (kindOf(file, page) === LEAF && bytes.includes('"File"')) return page;
  }
  throw new Error('no leaf of resources');
}

/** 0 for what is in the middle of a value, or was a page once. */
function kindOf(file: Buffer, page: number): number {
  const at = page * PAGE;
  return Number(file.readBigUInt64LE(at)) === page ? file.readUInt16LE(at + 18) & 0x6f : 0;
}

test('disk: files are for their owner only', async (t) => {
  const server = await TestServer.start(t, { args: ['--partitions', '2'] });
  await server.apply(replaceFacts('a', 1, Date.now() - DAY));
  await server.submit(
    { command: 'replace facts', version: 5, certname: 'b', payload: '{"certname": "b"' },
    { wait: 10 },
  );
  const open: string[] = [];
  const look = (path: string): void => {
    const stat = statSync(path);
    if ((stat.mode & 0o077) !== 0) open.push(`${path} ${(stat.mode & 0o777).toString(8)}`);
  };
  for (const name of ['', 'inbox', 'discarded', 'store.json', 'lock', 'partition-000', 'partition-000/data.mdb']) {
    look(join(server.dir, name));
  }
  await until('the dead letter is there', () => {
    try {
      look(join(server.dir, 'discarded', 'replace_facts'));
      return true;
    } catch {
      return false;
    }
  });
  assert.deepEqual(open, []);
});
