import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DeadLetters } from '../../../engine/inbox/dead-letters.ts';
import type { Ring } from '../../../workers/ring/ring.ts';
import { startRing } from '../../../workers/ring/start-ring.ts';
import { threadScript } from '../../../workers/system/thread-script.ts';
import { type Submission, SubmissionRefused } from '../../../workers/types.ts';
import { submissionOf } from '../../support/commands.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { atEnd } from '../../support/endings.ts';
import { engineSettings } from '../../support/engine-settings.ts';
import { allOpen } from '../../support/partitions.ts';
import { nodeArgs, run } from '../../support/programs.ts';
import { testNumber, testSeed } from '../../support/random.ts';
import { smallVolume } from '../../support/volume.ts';
import { pause, until } from '../../support/waiting.ts';
import { applications } from './applications.ts';

const PARTITIONS = 3;
const script = threadScript('stub-actor', import.meta.url);
/** Kills in the short mode; MUSTER_KILLS for more. */
const KILLS = testNumber('MUSTER_KILLS', 4);

/** Runs the child until it has acknowledged something and `ms` more have passed; returns what it acknowledged. */
async function runAndKill(dir: string, ms: number): Promise<string[]> {
  const child = spawn(process.execPath, [...nodeArgs('crash-child', import.meta.url), dir, String(PARTITIONS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    output += text;
  });
  await until('the child acknowledges', () => output.includes('\n'), 30_000);
  await pause(ms);
  child.kill('SIGKILL');
  await once(child.stdout, 'end');
  return output.split('\n').slice(0, -1);
}

test('crash: after SIGKILL at any moment every acknowledged command is applied exactly once', async (t) => {
  const seed = testSeed('crash of the ring');
  const dir = temporaryDirectory();
  const acknowledged: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const life = (Math.imul(seed + kill, 2654435761) >>> 0) % 300;
    acknowledged.push(...(await runAndKill(dir, life)));
  }
  const ring = await startRing({
    dir,
    engine: engineSettings,
    threads: 2,
    script,
    times: { flushDelay: 20, retryDelay: 50 },
  });
  atEnd(t, () => ring.stop());
  await allOpen(ring);
  await until('everything is applied', () => ring.depth === 0);
  await ring.stop();
  const counts = await applications(dir);
  t.diagnostic(`${acknowledged.length} acknowledged, ${counts.size} applied, ${KILLS} kills`);
  for (const uuid of acknowledged) assert.equal(counts.get(uuid), 1, uuid);
  for (const [uuid, count] of counts) assert.equal(count, 1, uuid);
});

/** The stub's part in a command, and who sends it. */
interface Sent {
  readonly certname: string;
  readonly uuid: string;
  readonly do: string;
  readonly [more: string]: unknown;
}

const sent = (certname: string, what: string, more: object = {}): Sent => ({
  certname,
  uuid: randomUUID(),
  do: what,
  ...more,
});

/** Of each thread: soon full, if somebody fills it. */
const HEAP_MB = 150;

/** Submits the commands, and starts the process again until nothing waits any more; returns how many starts that took. */
async function drain(dir: string, commands: readonly Sent[]): Promise<number> {
  const args = [`--max-old-space-size=${HEAP_MB}`, ...nodeArgs('drain-child', import.meta.url), dir];
  const start = (...more: string[]) => run(process.execPath, [...args, ...more], { maxMs: 60_000 });
  let ended = await start(...commands.map((command) => JSON.stringify(command)));
  let starts = 1;
  for (; ended.signal === 'SIGKILL' && !ended.timedOut; starts++) {
    assert.ok(starts < 12, 'it kills for ever');
    ended = await start();
  }
  assert.equal(ended.status, 0, ended.err);
  return starts;
}

for (const [which, deadly] of [
  ['that', sent('n7', 'kill')],
  ['that takes all memory of its thread, which then keeps its partition for ever, and so', sent('n7', 'fill memory')],
  ['that is tried again and', sent('n7', 'kill held')],
  ['that belongs to another partition and', sent('n7', 'kill there', { to: 'n8' })],
] as const) {
  test(`crash: a command ${which} kills the process becomes a dead letter, and those beside it are applied once`, async (t) => {
    const dir = temporaryDirectory();
    // Those that are tried again are held in every partition.
    const others = Array.from({ length: 30 }, (_, i) => sent(`n${i}`, i % 5 === 0 ? 'retry' : 'store', { times: 1 }));
    t.diagnostic(`${await drain(dir, [...others.slice(0, 15), deadly, ...others.slice(15)])} starts`);
    const counts = await applications(dir);
    assert.equal(counts.has(deadly.uuid), false);
    for (const { uuid } of others) assert.equal(counts.get(uuid), 1, uuid);
    const letters = await new DeadLetters(join(dir, 'discarded')).list();
    assert.equal(letters.length, 1);
    assert.match(letters[0]!.certId, /^n[78]$/);
    assert.equal(existsSync(join(dir, 'inbox', 'suspects.json')), false);
  });
}

// ------------------------------------------------------------------ a full disk

function submission(certname: string, size: number): Submission {
  const payload = JSON.stringify({ do: 'store', padding: 'x'.repeat(size) });
  return submissionOf({ command: 'store report', version: 8, certname, payload });
}

async function fill(ring: Ring): Promise<{ accepted: string[]; refused: SubmissionRefused | null }> {
  const accepted: string[] = [];
  for (let i = 0; i < 500; i++) {
    const one = submission(`n${i % 5}`, 100_000);
    try {
      await ring.submit(one, false);
      accepted.push(one.envelope.uuid);
    } catch (error) {
      assert.ok(error instanceof SubmissionRefused, String(error));
      return { accepted, refused: error };
    }
  }
  return { accepted, refused: null };
}

test('full disk: submissions are refused with the reason, and taken again when there is room', async (t) => {
  const volume = smallVolume(t, 24);
  if (volume === null) return t.skip('needs a small file system');
  const { dir } = volume;
  const ring = await startRing({
    engine: engineSettings,
    dir: join(dir, 'data'),
    partitions: PARTITIONS,
    threads: 2,
    script,
    times: { flushDelay: 20 },
  });
  atEnd(t, () => ring.stop());
  await allOpen(ring);
  const ballast = join(dir, 'ballast');
  for (let size = 20 << 20; size >= 4096; size >>= 1) {
    try {
      writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' });
    } catch {
      // As much as fits.
    }
  }
  const { accepted, refused } = await fill(ring);
  assert.equal(refused?.reason, 'unavailable');
  assert.match(refused?.message ?? '', /ENOSPC/);
  assert.ok((refused?.retryAfter ?? 0) > 0);
  assert.equal(ring.healthy, false);
  rmSync(ballast);
  const after = submission('n1', 1000);
  const { outcome } = await ring.submit(after, true);
  assert.equal((await outcome)?.kind, 'processed');
  await until('everything is applied', () => ring.depth === 0);
  await ring.stop();
  const counts = await applications(join(dir, 'data'));
  for (const uuid of [...accepted, after.envelope.uuid]) assert.equal(counts.get(uuid), 1);
});
