import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, Server } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { lockDataDirectory } from '../../../workers/ring/data-lock.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { until } from '../../support/waiting.ts';

const script = new URL('../../../workers/ring/data-lock.ts', import.meta.url).href;
/** For threads, which take what was built. */
const built = new URL('../../../dist/workers/ring/data-lock.js', import.meta.url).href;

test('data lock: a second holder is refused until the first lets go', async () => {
  const dir = join(temporaryDirectory(), 'data');
  const lock = await lockDataDirectory(dir);
  assert.equal(statSync(dir).mode & 0o777, 0o700);
  await assert.rejects(lockDataDirectory(dir), /is used by another process/);
  await lock.release();
  const again = await lockDataDirectory(dir);
  await again.release();
});

test('data lock: connections that cannot be accepted do its holder no harm', async (t) => {
  const servers: Server[] = [];
  const { listen } = Server.prototype;
  t.mock.method(Server.prototype, 'listen', function (this: Server, ...args: [string, () => void]) {
    servers.push(this);
    return listen.apply(this, args);
  });
  const lock = await lockDataDirectory(temporaryDirectory());
  const [server] = servers;
  // As many as there may be.
  for (let i = 0; i < 3; i++) server!.emit('error', new Error('accept EMFILE'));
  await lock.release();
});

test('data lock: a killed holder leaves nothing that stands in the way', async () => {
  const dir = temporaryDirectory();
  const code = `const { lockDataDirectory } = await import(${JSON.stringify(script)});
    await lockDataDirectory(${JSON.stringify(dir)}); setInterval(() => {}, 1000); console.log('locked');`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: new URL('../../..', import.meta.url),
  });
  await once(child.stdout, 'data');
  await assert.rejects(lockDataDirectory(dir), /is used by another process/);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const results = await Promise.allSettled([1, 2, 3, 4].map(() => lockDataDirectory(dir)));
  const holders = results.filter((result) => result.status === 'fulfilled');
  assert.equal(holders.length, 1, 'exactly one of several takes it over');
  assert.deepEqual(readdirSync(dir), ['lock']);
  await holders[0]!.value.release();
});

test('data lock: of several threads that start at once, on a lock that is left of a dead process, one has it', async () => {
  const dir = temporaryDirectory();
  const lock = join(dir, 'lock');
  const stale = join(temporaryDirectory(), 'stale');
  // A socket without anybody who listens stays under its second name.
  const server = createServer().listen(stale);
  await once(server, 'listening');
  linkSync(stale, `${stale}.kept`);
  server.close();
  await once(server, 'close');
  const code = `const { parentPort, workerData } = require('node:worker_threads');
    import(workerData.built).then(({ lockDataDirectory }) => {
      const begun = new Int32Array(workerData.begun);
      let held = null;
      parentPort.on('message', async (round) => {
        if (round < 0) { await held?.release(); held = null; parentPort.postMessage('released'); return; }
        Atomics.wait(begun, 0, round - 1);
        try { held = await lockDataDirectory(workerData.dir); } catch (error) { held = null; }
        parentPort.postMessage(held === null ? 'refused' : 'held');
      });
      parentPort.postMessage('ready');
    });`;
  const begun = new SharedArrayBuffer(4);
  const workers = [1, 2, 3, 4].map(() => new Worker(code, { eval: true, workerData: { built, dir, begun } }));
  const answers = (): Promise<string[]> =>
    Promise.all(workers.map(async (worker) => String((await once(worker, 'message'))[0])));
  try {
    assert.deepEqual(await answers(), ['ready', 'ready', 'ready', 'ready']);
    for (let round = 1; round <= 250; round++) {
      linkSync(`${stale}.kept`, lock);
      const told = answers();
      for (const worker of workers) worker.postMessage(round);
      Atomics.store(new Int32Array(begun), 0, round);
      Atomics.notify(new Int32Array(begun), 0);
      assert.equal((await told).filter((answer) => answer === 'held').length, 1, `round ${round}`);
      const released = answers();
      for (const worker of workers) worker.postMessage(-1);
      await released;
      assert.deepEqual(readdirSync(dir), [], `round ${round}`);
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
});

test('data lock: of processes that start all the time and are killed at any moment, one at a time has it', async (t) => {
  const dir = temporaryDirectory();
  const mark = join(temporaryDirectory(), 'holder');
  // Whoever has the lock writes a mark; one that is there already is of a dead process, or else of a second holder, who removes it.
  const code = `const fs = require('node:fs');
    const [built, dir, mark] = process.argv.slice(1);
    const own = String(process.pid);
    const read = () => { try { return fs.readFileSync(mark, 'utf8'); } catch { return ''; } };
    const isThere = (pid) => {
      try { process.kill(Number(pid), 0); } catch { return false; }
      try { return !/\\) [ZX] /.test(fs.readFileSync('/proc/' + pid + '/stat', 'utf8')); } catch { return !fs.existsSync('/proc/self/stat'); }
    };
    const pause = (ms) => new Promise((done) => setTimeout(done, ms));
    import(built).then(async ({ lockDataDirectory }) => {
      for (;;) {
        let lock;
        try { lock = await lockDataDirectory(dir); } catch (error) {
          if (!/is used by another process/.test(error.message)) { console.log('failed: ' + error.message); return; }
          await pause(Math.random() * 2);
          continue;
        }
        const before = read();
        for (let i = 0; before !== '' && before !== own && isThere(before); i++) {
          if (i === 1000 || read() !== before) { console.log('two hold it'); return; }
          await pause(1);
        }
        fs.writeFileSync(mark, own);
        await pause(Math.random() * 3);
        if (read() !== own) { console.log('two hold it'); return; }
        fs.rmSync(mark);
        console.log('held');
        await lock.release();
      }
    });`;
  const children = new Set<ChildProcess>();
  let told = '';
  let killed = 0;
  let isOver = false;
  const begin = (): void => {
    const child = spawn(process.execPath, ['-e', code, built, dir, mark], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.add(child);
    child.stdout.on('data', (text) => {
      told += text;
    });
    child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), Math.random() * 30));
    child.once('exit', () => {
      killed++;
      children.delete(child);
      if (!isOver) begin();
    });
  };
  t.after(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  for (let i = 0; i < 6; i++) begin();
  await pause(4000);
  await until('some have had it and were killed', () => killed > 6);
  isOver = true;
  const ends = [...children].map((child) => once(child, 'close'));
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(ends);
  assert.deepEqual(new Set(told.trim().split('\n')), new Set(['held']));
  const lock = await lockDataDirectory(dir);
  assert.deepEqual(readdirSync(dir), ['lock']);
  await lock.release();
  assert.deepEqual(readdirSync(dir), []);
});

test('data lock: what is left of those who were killed while they tried goes with the next one', async (t) => {
  const dir = temporaryDirectory();
  const server = createServer().listen(join(dir, 'lock.00000001'));
  t.after(() => server.close());
  await once(server, 'listening');
  for (const name of ['lock', 'lock.00000002', 'lock.00000003', 'lock.mine', 'lock.00000004'])
    mkdirSync(join(dir, name));
  linkSync(join(dir, 'lock.00000001'), join(dir, 'lock', '1'.repeat(16)));
  linkSync(join(dir, 'lock.00000001'), join(dir, 'lock.00000002', '2'.repeat(16)));
  writeFileSync(join(dir, 'lock.00000004', 'letter'), 'mine');
  await assert.rejects(lockDataDirectory(dir), /is used by another process/);
  linkSync(join(dir, 'lock.00000001'), join(dir, 'kept'));
  server.close();
  await once(server, 'close');
  linkSync(join(dir, 'kept'), join(dir, 'lock.00000001'));
  const lock = await lockDataDirectory(dir);
  assert.deepEqual(readdirSync(dir).sort(), ['kept', 'lock', 'lock.00000004', 'lock.mine']);
  await lock.release();
});

test('data lock: a living holder stays in its place whatever others find out about it', async (t) => {
  const dir = temporaryDirectory();
  const lock = await lockDataDirectory(dir);
  t.after(() => lock.release());
  const held = readdirSync(join(dir, 'lock'));
  assert.equal(held.length, 1);
  // Its folder cannot be taken away, nor replaced, by what others do to those of the dead.
  const other = join(dir, 'other');
  mkdirSync(other);
  assert.throws(() => renameSync(other, join(dir, 'lock')), { code: 'ENOTEMPTY' });
  assert.throws(() => unlinkSync(join(dir, 'lock')));
  for (let i = 0; i < 20; i++) await assert.rejects(lockDataDirectory(dir), /is used by another process/);
  assert.deepEqual(readdirSync(join(dir, 'lock')), held);
  await lock.release();
  assert.equal(existsSync(join(dir, 'lock')), false);
});

test('data lock: what is no socket is not removed', async () => {
  const dir = temporaryDirectory();
  writeFileSync(join(dir, 'lock'), 'mine');
  await assert.rejects(lockDataDirectory(dir), /lock is no socket/);
  assert.equal(readFileSync(join(dir, 'lock'), 'utf8'), 'mine');
  rmSync(join(dir, 'lock'));
  symlinkSync('elsewhere', join(dir, 'lock'));
  await assert.rejects(lockDataDirectory(dir), /lock is no socket/);
  rmSync(join(dir, 'lock'));
  mkdirSync(join(dir, 'lock'));
  writeFileSync(join(dir, 'lock', 'letter'), 'mine');
  await assert.rejects(lockDataDirectory(dir), /lock is no socket/);
  assert.equal(readFileSync(join(dir, 'lock', 'letter'), 'utf8'), 'mine');
});

test('data lock: directories with long names are locked, whatever the path and the temporary folder', async (t) => {
  if (!existsSync('/proc/self/fd')) return t.skip('only short paths can be locked here');
  const dir = join(temporaryDirectory(), 'x'.repeat(120), 'y'.repeat(120));
  const short = join(temporaryDirectory(), 'short');
  const lock = await lockDataDirectory(dir);
  assert.deepEqual(readdirSync(dir), ['lock']);
  symlinkSync(dir, short);
  for (const path of [dir, short]) {
    await assert.rejects(lockDataDirectory(path), /is used by another process/);
    await assert.rejects(lockElsewhere(path), /is used by another process/);
  }
  await lock.release();
  assert.deepEqual(readdirSync(dir), []);
  await (await lockDataDirectory(short)).release();
});

test('data lock: a directory that may not be written is told by its name', async (t) => {
  if (process.getuid === undefined) return t.skip('there are no users here');
  const base = temporaryDirectory();
  const dir = join(base, 'data');
  mkdirSync(dir, { mode: 0o500 });
  chmodSync(base, 0o755);
  const code = `const { lockDataDirectory } = await import(${JSON.stringify(script)});
    if (process.getuid() === 0) process.seteuid(65534);
    await lockDataDirectory(${JSON.stringify(dir)}).catch(({ message }) => console.log(message));`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: new URL('../../..', import.meta.url),
  });
  const [told] = await once(child.stdout, 'data');
  await once(child, 'exit');
  const why = String(told).trim();
  assert.equal(why, `the data directory ${dir} cannot be written: permission denied`);
});

/** Tries the lock as another process with another temporary folder does. */
async function lockElsewhere(dir: string): Promise<void> {
  const code = `const { lockDataDirectory } = await import(${JSON.stringify(script)});
    await (await lockDataDirectory(${JSON.stringify(dir)})).release();`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: new URL('../../..', import.meta.url),
    env: { ...process.env, TMPDIR: temporaryDirectory() },
  });
  let text = '';
  child.stderr.on('data', (chunk) => {
    text += chunk;
  });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(text);
}
