// Commands that work on a data directory beside a running server: backup, restore, dead letters.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { digestOf, filesBelow } from '../../../engine/backup/tree.ts';
import { DeadLetters } from '../../../engine/inbox/dead-letters.ts';
import { DataFile } from '../../../engine/store/file/data-file.ts';
import { openEnvironment } from '../../../engine/store/file/lmdb.ts';
import { FORMAT_VERSION, openStoreInfo } from '../../../engine/store/file/store-info.ts';
import { body, envelope } from '../../engine/inbox/support.ts';
import { muster } from '../../support/muster.ts';
import { Random, testSeed } from '../../support/random.ts';
import { until } from '../../support/waiting.ts';
import { cleanUp, launch, nodes, start, submit, submitText } from './server-process.ts';
import { fakeServer, run } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-data-'));
after(async () => {
  await cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

const certnames = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}.example.com`);

describe('backup and restore', () => {
  test('a backup taken while commands come in holds all that was acknowledged before it', async () => {
    const data = join(folder, 'data');
    const copy = join(folder, 'copy');
    const server = await start(['--data', data, '--partitions', '3']);
    const before = certnames('before', 30);
    for (const name of before) assert.equal((await submit(server.url, name, false)).status, 200);

    let isDone = false;
    const meanwhile: string[] = [];
    const stream = (async () => {
      while (!isDone) {
        const name = `during${meanwhile.length}.example.com`;
        meanwhile.push(name);
        assert.equal((await submit(server.url, name, false)).status, 200);
      }
    })();
    const made = await run(['backup', '--data', data, copy]);
    isDone = true;
    await stream;
    assert.equal(made.status, 0, made.err);
    assert.match(made.out, /3 partitions/);
    assert.deepEqual(
      readdirSync(data).filter((name) => name.startsWith('backup-')),
      [],
    );
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);

    const again = join(folder, 'again');
    const put = await run(['restore', '--data', again, copy]);
    assert.equal(put.status, 0, put.err);
    assert.equal(statSync(again).mode & 0o777, 0o700);
    assert.equal(existsSync(join(again, 'backup.json')), false);
    const restored = await start(['--data', again]);
    const found = await nodes(restored.url, (names) => before.every((name) => names.includes(name)));
    assert.deepEqual(
      before.filter((name) => !found.includes(name)),
      [],
    );
    // What comes after a restore is newer than all that is in it.
    assert.equal((await submit(restored.url, 'later.example.com')).status, 200);
    assert.ok(
      (await nodes(restored.url, (names) => names.includes('later.example.com'))).includes('later.example.com'),
    );
    restored.child.kill('SIGTERM');
    assert.equal(await restored.ended, 0);
  });

  test('dead letters that come and go meanwhile do not matter', async () => {
    const data = join(folder, 'coming');
    const server = await start(['--data', data, '--partitions', '1']);
    assert.equal((await submit(server.url, 'a')).status, 200);
    const letters = join(data, 'discarded', 'replace_facts');
    mkdirSync(letters, { recursive: true });
    writeFileSync(join(letters, '.tmp-7'), 'half');
    writeFileSync(join(letters, '7-1700000000000_facts_5_a.json'), '{}');
    // Listed and gone when it is its turn.
    symlinkSync(join(letters, 'removed'), join(letters, '8-1700000000000_facts_5_a.json'));
    const copy = join(folder, 'coming-copy');
    const made = await run(['backup', '--data', data, copy]);
    assert.equal(made.status, 0, made.err);
    assert.deepEqual(readdirSync(join(copy, 'discarded', 'replace_facts')), ['7-1700000000000_facts_5_a.json']);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test('a signal in the middle leaves nothing behind', async (t) => {
    const data = join(folder, 'signalled');
    const server = await start(['--data', data, '--partitions', '1']);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    // Who opens it waits for a writer that never comes.
    const pipe = join(data, 'discarded', 'pipe');
    mkdirSync(join(data, 'discarded'), { recursive: true });
    if (spawnSync('mkfifo', [pipe]).status !== 0) return t.skip('no mkfifo here');
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const copying = launch(['backup', '--data', data, join(folder, 'signalled-copy')]);
      const parts = () => readdirSync(folder).filter((name) => name.startsWith('signalled-copy'));
      const links = () => readdirSync(data).filter((name) => name.startsWith('backup-'));
      const isCopying = () => parts().some((part) => existsSync(join(folder, part, 'discarded')));
      await until('the backup comes to the pipe', isCopying, 60_000);
      assert.equal(links().length, 1);
      copying.child.kill(signal);
      assert.equal(await copying.ended, signal);
      assert.deepEqual([...parts(), ...links()], []);
    }
  });

  test('a partition that does not fit is named, and where its copy was to go', async (t) => {
    const data = join(folder, 'fitting');
    const server = await start(['--data', data, '--partitions', '1']);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    const target = join(folder, 'small');
    // A limit for files stands for the end of the disk.
    const script = 'ulimit -f 8 && exec "$0" "$@"';
    const limited = spawnSync('sh', ['-c', script, process.execPath, muster, 'backup', '--data', data, target]);
    const told = limited.stderr.toString();
    if (!told.startsWith('muster: ')) return t.skip('no such limit here');
    assert.equal(limited.status, 1);
    const failed = `muster: the backup failed: ${join(data, 'partition-000')} to ${target}.part-`;
    assert.equal(told.replace(/\.part-.*/s, '.part-'), failed);
    assert.match(told, /\/partition-000: File too large\n$/);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('small')),
      [],
    );
  });

  test('an empty folder that is there is filled, also behind a link: it is not replaced', async () => {
    const copy = join(folder, 'copy');
    const place = join(folder, 'place');
    const link = join(folder, 'link');
    mkdirSync(place);
    symlinkSync(place, link);
    const { ino } = statSync(place);
    const put = await run(['restore', '--data', link, copy]);
    assert.equal(put.status, 0, put.err);
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.equal(statSync(place).ino, ino);
    assert.deepEqual(
      readdirSync(place).sort(),
      readdirSync(copy)
        .filter((name) => name !== 'backup.json')
        .sort(),
    );
    assert.equal((await run(['check', '--data', place])).status, 0);
  });

  test('what a read-only backup is put back as can be written', async () => {
    const copy = join(folder, 'copy');
    const files = (root: string) =>
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
    for (const file of files(copy)) chmodSync(file, 0o400);
    const data = join(folder, 'writable');
    const put = await run(['restore', '--data', data, copy]);
    assert.equal(put.status, 0, put.err);
    assert.deepEqual(
      files(data).filter((file) => (statSync(file).mode & 0o777) !== 0o600),
      [],
    );
  });

  test('nothing is copied into itself', async () => {
    const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
    const before = readdirSync(data, { recursive: true }).sort();
    const linked = join(folder, 'linked-data');
    symlinkSync(data, linked);
    for (const target of [join(data, 'discarded', 'copy'), join(data, 'copy'), join(linked, 'a', 'b')]) {
      const made = await run(['backup', '--data', data, target]);
      assert.equal(made.status, 2);
      assert.match(made.err, /lies in the data directory .*; name a folder elsewhere/);
    }
    assert.deepEqual(readdirSync(data, { recursive: true }).sort(), before);
    const put = await run(['restore', '--data', join(copy, 'data'), copy]);
    assert.equal(put.status, 2);
    assert.match(put.err, /lies in .*copy, which is to be copied/);
  });

  test('nothing is overwritten, and half a backup is refused', async () => {
    const copy = join(folder, 'copy');
    const full = join(folder, 'full');
    mkdirSync(full);
    writeFileSync(join(full, 'x'), '');
    const onto = await run(['restore', '--data', full, copy]);
    assert.equal(onto.status, 2);
    assert.match(onto.err, /is not empty; nothing is overwritten/);
    assert.equal((await run(['backup', '--data', join(folder, 'data'), copy])).status, 2);
    assert.equal((await run(['backup', '--data', full, join(folder, 'no')])).status, 2);
    const broken = async (name: string, change: (dir: string) => void, told: RegExp): Promise<void> => {
      const dir = join(folder, `broken-${name}`);
      cpSync(copy, dir, { recursive: true });
      change(dir);
      const put = await run(['restore', '--data', join(folder, `put-${name}`), dir]);
      assert.equal(put.status, 2, name);
      assert.match(put.err, told);
      assert.equal(existsSync(join(folder, `put-${name}`)), false);
      const checked = await run(['check', '--data', dir]);
      assert.equal(checked.status, 1, name);
      assert.match(checked.out + checked.err, told);
    };
    assert.equal((await run(['check', '--data', copy])).status, 0);
    await broken(
      'short',
      (dir) => truncateSync(join(dir, 'partition-001', 'data.mdb'), 5000),
      /data\.mdb has 5000 bytes, not \d+/,
    );
    await broken('log', (dir) => rmSync(join(dir, 'inbox'), { recursive: true }), /inbox\/\d+\.commands is missing/);
    const flipped = (dir: string, ...path: string[]): void => {
      const file = join(dir, ...path);
      const bytes = readFileSync(file);
      bytes[bytes.length - 100]! ^= 1;
      writeFileSync(file, bytes);
    };
    const [segment] = readdirSync(join(copy, 'inbox'));
    await broken(
      'page',
      (dir) => flipped(dir, 'partition-001', 'data.mdb'),
      /partition-001\/data\.mdb is not as it was written: its SHA-256/,
    );
    await broken('record', (dir) => flipped(dir, 'inbox', segment!), /\.commands is not as it was written/);
    await broken(
      'newer',
      (dir) => {
        const info = join(dir, 'store.json');
        const stored = readFileSync(info, 'utf8');
        const newer = stored.replace(/("format":)\d+/, `$1${FORMAT_VERSION + 1}`);
        // As long as it was: what is in it counts, not its size.
        writeFileSync(info, newer.replace(/("key":"\w{31})\w/, newer.length > stored.length ? '$1' : '$&'));
      },
      new RegExp(`newer version \\(format ${FORMAT_VERSION + 1}`),
    );
    await broken(
      'of another version',
      (dir) => {
        const file = join(dir, 'backup.json');
        writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), format: 2 }));
      },
      /was made by another version \(format 2\)/,
    );
    for (const [name, manifest] of Object.entries({ none: null, part: { format: 1, positions: [] } })) {
      await broken(
        name,
        (dir) => writeFileSync(join(dir, 'backup.json'), JSON.stringify(manifest)),
        /is damaged: backup\.json does not tell what is in the backup/,
      );
    }
    // Backups of before there were digests, and of before there were sizes.
    const { sha256, files, ...first } = JSON.parse(readFileSync(join(copy, 'backup.json'), 'utf8'));
    assert.deepEqual(Object.keys(sha256).sort(), Object.keys(files).sort());
    assert.ok(Object.keys(files).every((name) => !name.endsWith('lock.mdb')));
    for (const [name, manifest] of Object.entries({ sized: { ...first, files }, first })) {
      const dir = join(folder, `earlier-${name}`);
      cpSync(copy, dir, { recursive: true });
      writeFileSync(join(dir, 'backup.json'), JSON.stringify(manifest));
      assert.equal((await run(['check', '--data', dir])).status, 0, name);
      assert.equal((await run(['restore', '--data', join(folder, `put-earlier-${name}`), dir])).status, 0, name);
    }
    const mount = join(folder, 'mount');
    for (const name of ['lost+found', '.snapshot']) mkdirSync(join(mount, name), { recursive: true });
    assert.equal((await run(['restore', '--data', mount, copy])).status, 0);
    symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
    const onLink = await run(['backup', '--data', join(folder, 'data'), join(folder, 'dangling')]);
    assert.match(onLink.err, /dangling is there already/);
    rmSync(join(copy, 'backup.json'));
    const half = await run(['restore', '--data', join(folder, 'half'), copy]);
    assert.equal(half.status, 2);
    assert.match(half.err, /no complete backup: it has no backup\.json/);
    assert.match(
      (await run(['restore', '--data', join(folder, 'half'), join(folder, 'nowhere')])).err,
      /there is no .*nowhere/,
    );
    // A file that there is and that cannot be read says nothing of whether the backup is complete.
    mkdirSync(join(copy, 'backup.json'));
    const unread = await run(['restore', '--data', join(folder, 'half'), copy]);
    assert.equal(unread.status, 1);
    assert.match(unread.err, /not restored: .*copy\/backup\.json: illegal operation/);
    assert.equal(existsSync(join(folder, 'half')), false);
  });
});

describe('check', () => {
  test('leaves a backup as it was written, also by a version that did not have all tables', async () => {
    const data = join(folder, 'of-earlier');
    const copy = join(folder, 'earlier-copy');
    const server = await start(['--data', data, '--partitions', '1']);
    assert.equal((await submit(server.url, 'web1.example.com')).status, 200);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    const partition = join(data, 'partition-000');
    const env = openEnvironment({ path: partition, noSubdir: false, maxDbs: 64 });
    await env.openDB({ name: 'report_period', keyEncoding: 'binary' }).drop();
    await env.close();
    // As that version made it: this one makes the table where it may write.
    cpSync(data, copy, { recursive: true });
    rmSync(join(copy, 'lock'), { force: true });
    rmSync(join(copy, 'partition-000', 'lock.mdb'));
    const files = await filesBelow(copy);
    const sha256 = Object.fromEntries(
      await Promise.all(Object.keys(files).map(async (path) => [path, await digestOf(join(copy, path))])),
    );
    const manifest = { format: 1, time: new Date().toISOString(), partitions: 1, positions: [1], files, sha256 };
    writeFileSync(join(copy, 'backup.json'), JSON.stringify(manifest));
    for (let time = 0; time < 2; time++) {
      const { status, out } = await run(['check', '--data', copy]);
      assert.deepEqual([status, out], [0, `${copy}: sound\n`]);
    }
    assert.deepEqual(Object.keys(await filesBelow(copy)).sort(), [...Object.keys(files), 'backup.json'].sort());
    const put = await run(['restore', '--data', join(folder, 'earlier-put'), copy]);
    assert.equal(put.status, 0, put.err);
  });

  test('names the files that are damaged, and survives all that damage does to who reads them', async () => {
    const data = join(folder, 'checked');
    const server = await start(['--data', data, '--partitions', '2']);
    for (const name of certnames('checked', 40)) assert.equal((await submit(server.url, name)).status, 200);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    const sound = await run(['check', '--data', data]);
    assert.deepEqual([sound.status, sound.out], [0, `${data}: sound\n`]);

    const file = join(data, 'partition-001', 'data.mdb');
    const whole = readFileSync(file);
    const random = new Random(testSeed('check'));
    const pages = new DataFile(file);
    const root = Number(pages.meta().main.root);
    pages.close();
    let told = 0;
    for (let round = 0; round < 12; round++) {
      const bytes = Buffer.from(whole);
      // The last one is in use; others may be free.
      const from = (round === 11 ? root : random.between(2, whole.length / 4096 - 2)) * 4096;
      // Only values in the first rounds, then whole pages.
      const size = round < 4 ? random.between(1, 200) : 4096;
      for (let i = 0; i < size; i++)
        bytes[from + (round < 4 ? 4096 - size : 0) + i] = round % 2 === 0 ? 0 : random.below(256);
      writeFileSync(file, bytes);
      const { status, out, err } = await run(['check', '--data', data]);
      assert.equal(err, '');
      if (status === 0) continue;
      told++;
      assert.equal(status, 1);
      for (const line of out.trimEnd().split('\n')) assert.match(line, /^partition 1: /);
    }
    assert.ok(told > 0, 'no damage was told');
    writeFileSync(file, whole.subarray(0, 20_000));
    const cut = await run(['check', '--data', data]);
    assert.equal(cut.status, 1);
    assert.ok(
      cut.out.startsWith(`partition 1: ${file}: it has 20000 bytes and should have ${whole.length}\n`),
      cut.out,
    );

    writeFileSync(file, whole);
    const [name] = readdirSync(join(data, 'inbox')).filter((one) => one.endsWith('.commands'));
    const segment = join(data, 'inbox', name as string);
    const records = readFileSync(segment);
    const damaged = Buffer.from(records);
    damaged[100]! ^= 1;
    writeFileSync(segment, damaged);
    const behind = await run(['check', '--data', data]);
    const place = `command log: ${segment}: offset 48: checksum of the record, before the intact record at offset `;
    assert.equal(behind.status, 1);
    assert.ok(behind.out.startsWith(place), behind.out);
    assert.match(behind.out, /; a start passes it over: nothing is lost, as all commands of seq 1 to 1 are applied\n$/);
    // What a partition has that cannot be read is not known.
    writeFileSync(file, whole.subarray(0, 20_000));
    const unknown = await run(['check', '--data', data]);
    const lost = 'commands of seq 1 to 1 stood there, and not every partition is known to have them: restore a backup';
    assert.ok(unknown.out.startsWith(place) && unknown.out.includes(`; ${lost}; `), unknown.out);
    assert.match(unknown.out, /\npartition 1: /);
    writeFileSync(file, whole);
    writeFileSync(segment, Buffer.concat([Buffer.from('XXXX'), records.subarray(4), Buffer.alloc(100)]));
    const log = await run(['check', '--data', data]);
    assert.equal(log.status, 1);
    assert.ok(
      log.out.startsWith(
        `command log: ${segment}: offset 0: not a segment of the command log; commands of seq 1 and later `,
      ),
      log.out,
    );
    assert.match(log.out, /: restore a backup; without one move the folder inbox away, .*\(docs\/backup\.md\)\n$/);
  });
});

describe('dead letters', () => {
  test('are listed, shown, sent again and removed', async () => {
    const data = join(folder, 'letters');
    const server = await start(['--data', data]);
    for (const name of ['a', 'b']) await submitText(server.url, name, '{"certname": 5}');
    const list = async () =>
      JSON.parse((await run(['dead-letters', '--data', data])).out) as { number: string; certname: string }[];
    // A client may be told a moment before the letter is written.
    let letters = await list();
    while (letters.length < 2) letters = await list();
    assert.deepEqual(
      letters.map(({ certname }) => certname),
      ['a', 'b'],
    );
    const table = await run(['dead-letters', '--data', data, 'list'], { terminal: true });
    assert.match(table.out, /^number +command +version +certname/);
    assert.match(table.err, /2 dead letters/);

    const number = letters[0]!.number;
    const shown = await run(['dead-letters', 'show', number, '--data', data]);
    assert.match(shown.out, /discarded\/replace_facts\//);
    assert.match(shown.out, /Attempt 1 @/);
    assert.match(shown.out, /\{"certname": 5\}\n$/);
    assert.equal((await run(['dead-letters', 'show', number, '--body', '--data', data])).out, '{"certname": 5}\n');
    assert.equal((await run(['dead-letters', 'show', '4711', '--data', data])).status, 2);
    assert.equal((await run(['dead-letters', 'shw', '--data', data])).status, 2);
    assert.equal((await run(['dead-letters', 'list', 'x', '--data', data])).status, 2);

    await submitText(server.url, 'c', '\u001b[2J');
    while (letters.length < 3) letters = await list();
    const hostile = letters.at(-1)!.number;
    const inPipe = await run(['dead-letters', 'show', hostile, '--body', '--data', data]);
    assert.equal(inPipe.out, '\u001b[2J\n');
    const onTerminal = await run(['dead-letters', 'show', hostile, '--data', data], { terminal: true });
    assert.match(onTerminal.out, /^\\u001b\[2J\n$/m);
    assert.doesNotMatch(onTerminal.out, /\u001b/);
    const twice = await run(['dead-letters', 'remove', hostile, hostile, '--data', data]);
    assert.deepEqual([twice.status, twice.out], [0, '1 removed\n']);

    // Nothing names the server but the configuration.
    const config = join(folder, 'letters.ini');
    writeFileSync(config, `[jetty]\nport = ${new URL(server.url).port}\n`);
    const sent = await run(['dead-letters', 'send', '--all', '--data', data, '--config', config]);
    assert.equal(sent.status, 0, sent.err);
    assert.match(sent.out, /2 sent/);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    // They were no better the second time.
    assert.equal((await run(['dead-letters', 'remove', '--all', '--data', data])).status, 0);
    assert.deepEqual(await list(), []);
    assert.equal((await run(['dead-letters', 'send', '--all', '--data', join(folder, 'none')])).status, 2);
  });
});

test('dead letters: many names cost one look at the directory, not one each', async (t) => {
  const data = join(folder, 'many-letters');
  mkdirSync(data);
  openStoreInfo(data, { partitions: 1 });
  const seqs = Array.from({ length: 60 }, (_, index) => index + 1);
  const attempts = [{ time: 0, text: 'why' }];
  const office = new DeadLetters(join(data, 'discarded'));
  await office.put(seqs.map((seq) => ({ seq, envelope: envelope(`node-${seq}`), body: body('{}'), attempts })));
  const lists = t.mock.method(DeadLetters.prototype, 'list');
  const unknown = await run(['dead-letters', 'remove', '1', '61', '62', '--data', data]);
  assert.deepEqual([unknown.status, unknown.err], [2, 'muster: there is no dead letter `61`\n']);
  assert.equal(lists.mock.callCount(), 1);
  const removed = await run(['dead-letters', 'remove', ...seqs.slice(1).map(String), '--data', data]);
  assert.deepEqual([removed.status, removed.out], [0, '59 removed\n']);
  assert.equal(lists.mock.callCount(), 2);
  assert.deepEqual(
    (await office.list()).map(({ seq }) => seq),
    [1],
  );
});

test('dead letters: of one that cannot be unpacked the reason is shown, and the status says that there is more', async () => {
  const data = join(folder, 'packed-letter');
  mkdirSync(data);
  openStoreInfo(data, { partitions: 1 });
  const attempts = [{ time: 0, text: 'no gzip' }];
  const packed = { ...envelope('node-1'), gzip: true };
  await new DeadLetters(join(data, 'discarded')).put([{ seq: 1, envelope: packed, body: body('{}'), attempts }]);
  const whole = await run(['dead-letters', 'show', '1', '--data', data]);
  assert.match(whole.out, /no gzip\n$/);
  assert.match(whole.err, /^muster: 1-.* cannot be unpacked: incorrect header check\n$/);
  assert.equal(whole.status, 1);
  const reason = await run(['dead-letters', 'show', '1', '--cause', '--data', data]);
  assert.match(reason.out, /no gzip\n$/);
  assert.deepEqual([reason.status, reason.err], [0, '']);
});

test('dead letters: what the system refuses is told with its file, and no letter passes for gone', async () => {
  const data = join(folder, 'unreadable-letters');
  openStoreInfo(data, { partitions: 1 });
  const letters = join(data, 'discarded', 'replace_facts');
  mkdirSync(letters, { recursive: true });
  const loop = join(letters, '7-1796097304000_facts_5_a.json');
  symlinkSync(loop, loop);
  const failure = { status: 1, out: '', err: `muster: ${loop}: too many symbolic links encountered\n` };
  for (const action of [['list'], ['show', '7']])
    assert.deepEqual(await run(['dead-letters', '--data', data, ...action]), failure);
});

test('dead letters: in a pipe a command has the bytes that were received', async () => {
  const data = join(folder, 'no-text-letter');
  mkdirSync(data);
  openStoreInfo(data, { partitions: 1 });
  const attempts = [{ time: 0, text: 'no JSON' }];
  const received = Buffer.from([0xff, 0x00, 0xfe]);
  const office = new DeadLetters(join(data, 'discarded'));
  await office.put([{ seq: 1, envelope: envelope('node-1'), body: received, attempts }]);
  const written: Buffer[] = [];
  const { status } = await run(['dead-letters', 'show', '1', '--body', '--data', data], { written });
  assert.deepEqual([status, Buffer.concat(written)], [0, Buffer.concat([received, Buffer.from('\n')])]);
});

test('dead letters: what the server refuses stays and is told, what nobody takes ends the sending', async () => {
  const data = join(folder, 'sent-letters');
  mkdirSync(data);
  openStoreInfo(data, { partitions: 1 });
  const attempts = [{ time: 0, text: 'why' }];
  const office = new DeadLetters(join(data, 'discarded'));
  await office.put([1, 2, 3].map((seq) => ({ seq, envelope: envelope(`n${seq}`), body: body('{}'), attempts })));
  const left = async (): Promise<number[]> => (await office.list()).map(({ seq }) => seq);
  const server = await fakeServer(({ url }) => (url.includes('certname=n2') ? [400, 'not this one'] : '{"uuid":"x"}'));
  const sent = await run(['dead-letters', 'send', '1', '2', '--data', data, '--url', server.url]);
  await server.close();
  assert.deepEqual([sent.status, sent.out], [1, '1 sent, 1 not\n']);
  assert.match(sent.err, /^2-.*\.json: \/pdb\/cmd\/v1: 400 not this one\n$/);
  assert.deepEqual(await left(), [2, 3]);
  const nobody = await run(['dead-letters', 'send', '--all', '--data', data, '--url', server.url]);
  assert.deepEqual([nobody.status, nobody.out], [3, '']);
  assert.match(nobody.err, /^muster: no answer from /);
  assert.deepEqual(await left(), [2, 3]);
  const all = await run(['dead-letters', 'show', '--all', '--data', data]);
  assert.deepEqual([all.status, all.out, all.err], [2, '', 'muster: give one NAME\n']);
});

test('a directory that holds no store, and one that cannot be looked into, are told apart', async () => {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const none = await run(['check', '--data', empty]);
  assert.deepEqual([none.status, none.err], [2, `muster: ${empty} is no data directory of Muster; give --data DIR\n`]);
  const headless = join(folder, 'headless');
  mkdirSync(join(headless, 'partition-000'), { recursive: true });
  writeFileSync(join(headless, 'partition-000', 'data.mdb'), 'x');
  const left = await run(['check', '--data', headless]);
  assert.equal(left.status, 1);
  assert.match(left.err, /store\.json is missing, but partition-000 has data/);
  const later = join(folder, 'later');
  mkdirSync(later);
  writeFileSync(join(later, 'store.json'), '{"format": 99, "partitions": 4}');
  const newer = await run(['check', '--data', later]);
  assert.equal(newer.status, 1);
  assert.match(newer.err, /^muster: [^\n]* was written by a newer version [^\n]*\n$/);
  // Looking fails for everybody here, as it does elsewhere for who may not look.
  const closed = join(folder, 'closed');
  symlinkSync('closed', closed);
  for (const command of ['check', 'dead-letters']) {
    const { status, err } = await run([command, '--data', closed]);
    assert.deepEqual([status, err], [1, `muster: ${closed} cannot be read: too many symbolic links encountered\n`]);
  }
});
