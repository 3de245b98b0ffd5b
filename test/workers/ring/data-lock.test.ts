import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { lockDataDirectory } from '../../../workers/ring/data-lock.ts';
import { temporaryDirectory } from '../../support/directories.ts';

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

test('data lock: what is no socket is not removed', async () => {
  const dir = temporaryDirectory();
  writeFileSync(join(dir, 'lock'), 'mine');
  await assert.rejects(lockDataDirectory(dir), /lock is no socket/);
  assert.equal(readFileSync(join(dir, 'lock'), 'utf8'), 'mine');
  rmSync(join(dir, 'lock'));
  symlinkSync('elsewhere', join(dir, 'lock'));
  await assert.rejects(lockDataDirectory(dir), /lock is no socket/);
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
  assert.equal(why, `the data directory ${dir} cannot be written: listen EACCES: permission denied ${dir}/lock`);
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
