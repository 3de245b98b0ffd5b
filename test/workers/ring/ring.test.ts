import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Envelope } from '../../../engine/inbox/envelope.ts';
import { CommandLog } from '../../../engine/inbox/log.ts';
import { partitionDir } from '../../../engine/store/file/layout.ts';
import { slotOf } from '../../../engine/store/file/store-info.ts';
import { openPartition, Partition } from '../../../engine/store/partition.ts';
import type { Log } from '../../../workers/log.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import type { Ring } from '../../../workers/ring/ring.ts';
import type { RingOptions } from '../../../workers/ring/ring-options.ts';
import { startRing } from '../../../workers/ring/start-ring.ts';
import { threadScript } from '../../../workers/system/thread-script.ts';
import { MaintenanceUnavailable, type Submission, SubmissionRefused } from '../../../workers/types.ts';
import { collect } from '../../support/collect.ts';
import { submissionOf } from '../../support/commands.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { atEnd } from '../../support/endings.ts';
import { engineSettings } from '../../support/engine-settings.ts';
import { allOpen, ofPartitions } from '../../support/partitions.ts';
import { pause, until } from '../../support/waiting.ts';
import { applications } from './applications.ts';

const PARTITIONS = 4;
/** While it exists in the data directory, partitions cannot be written; see stub-actor.ts. */
const FAULT_FILE = 'fault';
const UNREADABLE_FILE = 'unreadable';
const ROOM_FILE = 'room';
const script = threadScript('stub-actor', import.meta.url);
const times = { retryDelay: 30, flushDelay: 20, stallMin: 10, stallMax: 50 };

interface TestRing {
  readonly ring: Ring;
  readonly metrics: MetricsRegistry;
  readonly lines: string[];
}

async function start(t: TestContext, dir: string, rest: Partial<RingOptions> = {}): Promise<TestRing> {
  const metrics = new MetricsRegistry();
  const lines: string[] = [];
  const write =
    (level: string) =>
    (...line: readonly [...object[], string]) =>
      void lines.push(`${level} ${line.at(-1)}`);
  const log: Log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    isLevelEnabled: () => true,
  };
  const ring = await startRing({
    dir,
    engine: engineSettings,
    partitions: PARTITIONS,
    threads: 2,
    script,
    times,
    metrics,
    log,
    ...rest,
  });
  atEnd(t, () => ring.stop());
  return { ring, metrics, lines };
}

function submission(certname: string, what: object = { do: 'store' }, rest: Partial<Envelope> = {}): Submission {
  return submissionOf({ command: 'replace facts', version: 5, certname, payload: JSON.stringify(what) }, rest);
}

const sameSlot = (other: string, slot = slotOf(other, PARTITIONS)): string => {
  for (let i = 0; ; i++) if (slotOf(`${other}-${i}`, PARTITIONS) === slot) return `${other}-${i}`;
};

test('ring: an accepted command is processed and its waiter told', async (t) => {
  const { ring, metrics, lines } = await start(t, temporaryDirectory(), { times: { ...times, retryDelay: 1000 } });
  const { seq, outcome } = await ring.submit(submission('a', {}, { producerTimestamp: 3 }), true);
  assert.deepEqual(await outcome, {
    kind: 'processed',
    seq,
    detail: 'stored',
    certname: 'a',
    hash: 'abcdef0123456789',
  });
  const silent = await ring.submit(submission('b'), false);
  assert.equal(silent.outcome, null);
  await until('depth 0', () => ring.depth === 0);
  assert.equal(metrics.meter('mq', 'global.processed').count, 2);
  assert.equal(metrics.meter('mq', 'replace facts.5.seen').count, 2);
  assert.equal(metrics.timer('mq', 'global.command-parse-time').count, 2);
  assert.equal(metrics.timer('storage', 'replace-facts-time').count, 2);
  assert.equal(metrics.timer('mq', 'global.message-persistence-time').count, 2);
  assert.match(lines.join('\n'), /info \[1-\d+-3\] \[\d+ ms\] 'replace facts' command \(abcdef01\) processed for a/);
  assert.equal(ring.healthy, true);
  // What waits for its next attempt keeps no writer busy, nor does it wait for one.
  const held = await ring.submit(submission('c', { do: 'retry', times: 1 }), true);
  await until('tried', () => metrics.histogram('database', 'PDBWritePool.pool.Usage').snapshot().count === 3);
  assert.deepEqual([ring.depth, ring.busyPartitions], [1, 0]);
  await held.outcome;
  await until('told', () => metrics.histogram('database', 'PDBWritePool.pool.Usage').snapshot().count === 4);
  assert.equal(metrics.timer('database', 'PDBWritePool.pool.Wait').snapshot().count, 3);
});

test('ring: before its actors start it takes commands, which wait for them', async (t) => {
  const dir = temporaryDirectory();
  let begin = (): void => {};
  const actorsAfter = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const told: number[] = [];
  const { ring } = await start(t, dir, { actorsAfter, onWaiting: (count) => told.push(count) });
  let isOpen = false;
  const opened = allOpen(ring).then(() => {
    isOpen = true;
  });
  const accepted = await Promise.all(['a', 'b', 'c'].map((certname) => ring.submit(submission(certname), true)));
  assert.deepEqual([ring.healthy, isOpen, ring.depth], [true, false, 3]);
  begin();
  for (const { outcome } of accepted) assert.equal((await outcome)?.kind, 'processed');
  assert.deepEqual(told, [1, 2, 3, 2, 1, 0]);
  await opened;
  await ring.stop();
});

test('ring: stopped before its actors start, it starts none, and what it has taken waits for the next start', async (t) => {
  const dir = temporaryDirectory();
  let begin = (): void => {};
  const actorsAfter = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const started = join(dir, 'started');
  const telling = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(started)}, '');`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(telling)}`);
  const first = await start(t, dir, { actorsAfter, script: { url } });
  const { uuid } = submission('a').envelope;
  await first.ring.submit(submission('a', undefined, { uuid }), false);
  await first.ring.stop();
  begin();
  const second = await start(t, dir);
  await until('it is applied', () => second.ring.depth === 0);
  assert.equal(existsSync(started), false);
  await second.ring.stop();
  assert.equal((await applications(dir)).get(uuid), 1);
});

test('ring: partitions that do not open in time are told of', async (t) => {
  const idle = `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ kind }) => {
      if (kind === 'stop') parentPort.close();
    });`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(idle)}`);
  const limits = { openMax: 1000, hangMax: 400 };
  const { ring, lines } = await start(t, temporaryDirectory(), { script: { url }, limits });
  assert.equal(ring.healthy, true);
  await until('it is told', () => !ring.healthy);
  assert.match(lines.join('\n'), /error partition 0 is still not open/);
});

test('ring: commands of a certname are applied in the order they were acknowledged, each once', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir);
  const accepted = await Promise.all(Array.from({ length: 300 }, (_, i) => ring.submit(submission(`n${i % 7}`), true)));
  await Promise.all(accepted.map(({ outcome }) => outcome));
  await ring.stop();
  const counts = await applications(dir);
  assert.equal(counts.size, 300);
  assert.deepEqual(new Set(counts.values()), new Set([1]));
  const last = new Map<string, number>();
  for (const line of readFileSync(join(dir, 'applied.txt'), 'utf8').trim().split('\n')) {
    const [slot, seq] = line.split(' ') as [string, string];
    assert.ok(Number(seq) > (last.get(slot) ?? 0), line);
    last.set(slot, Number(seq));
  }
});

test('ring: what was not applied before a stop is applied after the next start, and the log shrinks to nothing', async (t) => {
  const dir = temporaryDirectory();
  const first = await start(t, dir);
  writeFileSync(join(dir, FAULT_FILE), 'ENOSPC');
  const uuids: string[] = [];
  for (let i = 0; i < 20; i++) {
    const one = submission(`n${i}`);
    uuids.push(one.envelope.uuid);
    await first.ring.submit(one, false);
  }
  await first.ring.stop();
  rmSync(join(dir, FAULT_FILE));
  assert.equal((await applications(dir)).size, 0);
  const told: number[] = [];
  const second = await start(t, dir, { onWaiting: (count) => told.push(count) });
  await until('all applied', () => second.ring.depth === 0);
  await until('none waits', () => told.at(-1) === 0);
  const next = await second.ring.submit(submission('x'), true);
  assert.ok(next.seq > 20);
  await next.outcome;
  await second.ring.stop();
  const counts = await applications(dir);
  assert.deepEqual(
    uuids.map((uuid) => counts.get(uuid)),
    uuids.map(() => 1),
  );
});

test('ring: what comes soon after a batch waits for more, until a batch is full or somebody waits', async (t) => {
  const limits = { batchMax: 3, batchPause: 60_000 };
  const { ring } = await start(t, temporaryDirectory(), { limits });
  const send = async (what: string, wait = false) => (await ring.submit(submission(sameSlot(what, 0)), wait)).outcome;
  await send('first');
  await until('the first one is applied at once', () => ring.depth === 0);
  await send('a');
  await send('b');
  // Time enough for both, did they not wait.
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(ring.depth, 2);
  await send('c');
  await until('a full batch is applied', () => ring.depth === 0);
  await send('d');
  const awaited = submission(sameSlot('e', 0));
  const { outcome } = await ring.submit(awaited, true);
  assert.equal((await outcome)?.kind, 'processed');
  await until('with the awaited one, what waited before it', () => ring.depth === 0);
  // Who waited for it waits for no other.
  await ring.submit(submission(sameSlot('f', 0), undefined, { uuid: awaited.envelope.uuid }), false);
  await pause(50);
  assert.equal(ring.depth, 1);
});

test('ring: what waits for more is applied before a stop ends', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir, { limits: { batchPause: 60_000 } });
  await (await ring.submit(submission(sameSlot('first', 0)), true)).outcome;
  const later = submission(sameSlot('later', 0));
  await ring.submit(later, false);
  await ring.stop();
  assert.equal((await applications(dir)).get(later.envelope.uuid), 1);
});

test('ring: a batch that waits for more goes when its time has come', async (t) => {
  const { ring } = await start(t, temporaryDirectory(), { limits: { batchPause: 30 } });
  for (let i = 0; i < 5; i++) {
    await ring.submit(submission(sameSlot(`n${i}`, 0)), false);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await until('all applied', () => ring.depth === 0);
});

test('ring: while commands keep coming, the log lets go of what is flushed and sweeps go on', async (t) => {
  const { ring } = await start(t, temporaryDirectory(), { threads: 1, limits: { batchMax: 1 } });
  const release = t.mock.method(CommandLog.prototype, 'release');
  const count = 400;
  await Promise.all(
    Array.from({ length: count }, (_, i) => ring.submit(submission(`n${i}`, { do: 'store slowly' }), false)),
  );
  let waitingWhenSwept = 0;
  const swept = ring.maintain({ kind: 'gc_packages' }).then(() => {
    waitingWhenSwept = ring.depth;
  });
  await until('some are let go', () => release.mock.callCount() > 0);
  assert.ok(ring.depth > count / 2, `only when ${ring.depth} were left`);
  await swept;
  assert.ok(waitingWhenSwept > count / 2, `swept only when ${waitingWhenSwept} were left`);
  await until('all are let go', () => release.mock.callCount() === count);
  assert.equal(ring.depth, 0);
});

test('ring: seqs go on above the positions of the partitions when the log is lost', async (t) => {
  const dir = temporaryDirectory();
  const first = await start(t, dir);
  const { seq, outcome } = await first.ring.submit(submission('a'), true);
  await outcome;
  await first.ring.stop();
  rmSync(join(dir, 'inbox'), { recursive: true });
  const second = await start(t, dir);
  const again = await second.ring.submit(submission('a'), true);
  assert.ok(again.seq > seq);
  assert.equal((await again.outcome)?.kind, 'processed');
});

test('ring: a second ring on the directory is refused', async (t) => {
  const dir = temporaryDirectory();
  await start(t, dir);
  await assert.rejects(startRing({ dir, engine: engineSettings, threads: 2, script }), /is used by another process/);
});

test('ring: a start that is given up closes the log that it has opened', async (t) => {
  const dir = temporaryDirectory();
  const subscribe = t.mock.method(CommandLog.prototype, 'subscribe', () => {
    throw new Error('injected into subscribe');
  });
  const close = t.mock.method(CommandLog.prototype, 'close');
  await assert.rejects(start(t, dir), /injected into subscribe/);
  assert.equal(close.mock.callCount(), 1);
  subscribe.mock.restore();
  close.mock.restore();
});

test('ring: a command refused by the engine goes to the dead letters, whole', async (t) => {
  const dir = temporaryDirectory();
  const { ring, metrics } = await start(t, dir);
  const { outcome, seq } = await ring.submit(submission('a/../b', { do: 'refuse' }), true);
  const result = await outcome;
  assert.equal(result?.kind, 'failed');
  await until('discarded', () => ring.depth === 0);
  const folder = join(dir, 'discarded', 'replace_facts');
  const names = readdirSync(folder).sort();
  assert.equal(names.length, 2);
  assert.match(names[0]!, new RegExp(`^${seq}-\\d+_facts_5_a-..-b_[0-9a-f]{40}.json$`));
  assert.equal(readFileSync(join(folder, names[0]!), 'utf8'), '{"do":"refuse"}');
  assert.match(readFileSync(join(folder, names[1]!), 'utf8'), /^Attempt 1 @ .*Z\nrefused on request\n$/);
  assert.equal(metrics.meter('mq', 'global.discarded').count, 1);
  assert.equal(metrics.meter('mq', 'global.fatal').count, 1);
  assert.equal(metrics.meter('mq', 'global.seen').count, 0, 'refused by validation: never seen');
  assert.equal(metrics.counter('dlo', 'replace facts.messages').count, 1);
});

test('ring: that dead letters cannot be written is told once, and that they can be once more', async (t) => {
  const dir = temporaryDirectory();
  const { ring, lines } = await start(t, dir);
  const folder = join(dir, 'discarded', 'replace_facts');
  writeFileSync(folder, 'in the way');
  await (await ring.submit(submission('a', { do: 'refuse' }), true)).outcome;
  const told = (): string[] => lines.filter((line) => /dead letters cannot be written|works again/.test(line));
  await until('it is told', () => told().length > 0);
  // Some more attempts; commands go on meanwhile, and pass.
  for (let i = 0; i < 10; i++) {
    await (await ring.submit(submission('a'), true)).outcome;
    await pause(20);
  }
  assert.equal(ring.healthy, false);
  assert.equal(told().length, 1, told().join('\n'));
  rmSync(folder);
  await until('it is written', () => ring.depth === 0 && ring.healthy);
  assert.equal(readdirSync(folder).length, 2);
  assert.match(
    told().join('\n'),
    /^error partition \d: dead letters cannot be written: .*\ninfo partition \d: works again$/,
  );
});

test('ring: a dead letter counts once its partition has let go of the command, also in the next run', async (t) => {
  const dir = temporaryDirectory();
  const first = await start(t, dir);
  const folder = join(dir, 'discarded', 'replace_facts');
  writeFileSync(folder, 'in the way');
  await (await first.ring.submit(submission('a', { do: 'refuse' }), true)).outcome;
  await until('it is told', () => !first.ring.healthy);
  writeFileSync(join(dir, FAULT_FILE), 'EIO');
  rmSync(folder);
  await until('it is written', () => first.lines.some((line) => /^error partition \d: EIO/.test(line)));
  assert.equal(readdirSync(folder).length, 2);
  await first.ring.stop();
  const discarded = ({ metrics }: TestRing): number => metrics.meter('mq', 'global.discarded').count;
  assert.equal(discarded(first), 0);
  rmSync(join(dir, FAULT_FILE));
  const second = await start(t, dir);
  await allOpen(second.ring);
  await until('it is let go', () => second.ring.depth === 0);
  assert.equal(discarded(second), 1);
});

test('ring: a retryable failure is told at once, tried again later, and passes when it may', async (t) => {
  const dir = temporaryDirectory();
  const { ring, metrics } = await start(t, dir);
  const { outcome } = await ring.submit(submission('a', { do: 'retry', times: 3 }), true);
  const result = await outcome;
  assert.ok(result?.kind === 'failed' && result.retryable);
  await until('processed', () => ring.depth === 0);
  assert.equal(metrics.meter('mq', 'global.retried').count, 3);
  assert.equal(metrics.meter('mq', 'global.processed').count, 1);
  assert.equal(metrics.counter('mq', 'global.awaiting-retry').count, 0);
  assert.equal(existsSync(join(dir, 'discarded', 'replace_facts')), false);
});

test('ring: after five delayed attempts a command is given up, with all its reasons', async (t) => {
  const dir = temporaryDirectory();
  const { ring, metrics } = await start(t, dir);
  await ring.submit(submission('a', { do: 'retry', times: 100 }), false);
  await until('given up', () => ring.depth === 0);
  const folder = join(dir, 'discarded', 'replace_facts');
  const cause = readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith('_err.txt'))!), 'utf8');
  assert.equal(cause.match(/^Attempt \d+ @/gm)?.length, 6);
  assert.match(cause, /^Attempt 6 @ .*\nattempt 5 fails on request\n\nAttempt 5 @/);
  assert.equal(metrics.meter('mq', 'global.retried').count, 6);
  assert.equal(metrics.counter('mq', 'global.awaiting-retry').count, 0);
  assert.equal(metrics.meter('mq', 'global.discarded').count, 1);
});

test('ring: a command that waits for its next attempt survives a restart and is tried at once', async (t) => {
  const dir = temporaryDirectory();
  const slow = { ...times, retryDelay: 3_600_000 };
  const first = await start(t, dir, { times: slow });
  const { outcome } = await first.ring.submit(submission('a', { do: 'retry', times: 1 }), true);
  await outcome;
  assert.equal(first.ring.depth, 1);
  assert.equal(first.metrics.counter('mq', 'global.awaiting-retry').count, 1);
  await first.ring.stop();
  const second = await start(t, dir, { times: { ...slow, retryDelay: 20 } });
  await until('processed', () => second.metrics.meter('mq', 'global.processed').count === 1);
  await until('left the queue', () => second.ring.depth === 0);
});

test('ring: a partition whose waiting commands cannot be taken over is told of, and takes no other with it', async (t) => {
  const dir = temporaryDirectory();
  const first = await start(t, dir);
  await allOpen(first.ring);
  await first.ring.stop();
  const slot = slotOf('a', PARTITIONS);
  const partition = openPartition(partitionDir(dir, slot));
  partition.write((batch) => batch.putRetry(1, Buffer.from('no command')));
  await partition.close();
  const { ring, lines } = await start(t, dir);
  // Another one of the same actor.
  const { outcome } = await ring.submit(submission(sameSlot('b', (slot + 2) % PARTITIONS)), true);
  assert.equal((await outcome)?.kind, 'processed');
  assert.equal(ring.healthy, false);
  assert.ok(lines.some((line) => line.startsWith(`error partition ${slot}: cannot be opened: `)));
  assert.ok(!lines.some((line) => line.includes('died')), lines.join('\n'));
  const mended = openPartition(partitionDir(dir, slot));
  mended.write((batch) => batch.removeRetry(1));
  await mended.close();
  await until('it has been opened', () => ring.healthy);
  assert.ok(lines.includes(`info partition ${slot}: works again`), lines.join('\n'));
});

test('ring: commands that are feared go batch by batch, also when that cannot be noted, and what is held after them', async (t) => {
  const dir = temporaryDirectory();
  const first = await start(t, dir);
  await allOpen(first.ring);
  const held = await first.ring.submit(submission('held', { do: 'retry', times: 1 }), true);
  assert.equal((await held.outcome)?.kind, 'failed');
  writeFileSync(join(dir, FAULT_FILE), 'EIO');
  for (let i = 0; i < 12; i++) await first.ring.submit(submission(`n${i}`), false);
  await first.ring.stop();
  rmSync(join(dir, FAULT_FILE));
  // As after two ends in a row.
  writeFileSync(join(dir, 'running'), '2\n');
  const { ring, lines } = await start(t, dir, { times: { ...times, retryDelay: 3000 } });
  mkdirSync(join(dir, 'inbox', 'suspects.json'));
  // What partitions hold is known when they are open.
  await allOpen(ring);
  await until('all are applied', () => ring.depth === 0);
  await ring.stop();
  assert.ok(lines.some((line) => /warn .*commands that wait are tried batch by batch/.test(line)));
  const done = lines.filter((line) => line.includes(' processed for '));
  assert.equal(done.length, 13, done.join('\n'));
  assert.match(done.at(-1)!, /for held$/);
});

test('ring: what is held is tried, too, when all that is feared of the log is given up', async (t) => {
  const dir = temporaryDirectory();
  const first = await start(t, dir, { times: { ...times, retryDelay: 3_600_000 } });
  await allOpen(first.ring);
  const held = await first.ring.submit(submission(sameSlot('held', 0), { do: 'retry', times: 1 }), true);
  assert.equal((await held.outcome)?.kind, 'failed');
  writeFileSync(join(dir, FAULT_FILE), 'EIO');
  // While the first one is applied, leave is asked for what is held.
  await first.ring.submit(submission(sameSlot('slow', 3), { do: 'store slowly' }), false);
  const { seq } = await first.ring.submit(submission(sameSlot('deadly', 3)), false);
  await first.ring.stop();
  rmSync(join(dir, FAULT_FILE));
  // As after two ends in a row, and others that the command was the end of.
  writeFileSync(join(dir, 'running'), '2\n');
  writeFileSync(join(dir, 'inbox', 'suspects.json'), JSON.stringify([{ slot: 3, seq, crashes: 3 }]));
  const { ring, metrics } = await start(t, dir);
  // What partitions hold is known when they are open.
  await allOpen(ring);
  await until('nothing waits', () => ring.depth === 0);
  assert.equal(metrics.meter('mq', 'global.discarded').count, 1);
  assert.equal(metrics.meter('mq', 'global.processed').count, 2);
});

test('ring: that the log can be read again says nothing of what else is wrong with a partition', async (t) => {
  const dir = temporaryDirectory();
  const { ring, lines } = await start(t, dir);
  const folder = join(dir, 'discarded', 'replace_facts');
  writeFileSync(folder, 'in the way');
  await (await ring.submit(submission('a', { do: 'refuse' }), true)).outcome;
  await until('it is told', () => !ring.healthy);
  writeFileSync(join(dir, UNREADABLE_FILE), 'EIO');
  const { outcome } = await ring.submit(submission('a'), true);
  await pause(50);
  rmSync(join(dir, UNREADABLE_FILE));
  assert.equal((await outcome)?.kind, 'processed');
  assert.equal(ring.healthy, false);
  assert.ok(!lines.some((line) => line.includes('works again')), lines.join('\n'));
  rmSync(folder);
  await until('it is well', () => ring.healthy && ring.depth === 0);
});

test('ring: a superseded command is not executed, and its waiter gets success', async (t) => {
  const dir = temporaryDirectory();
  const { ring, metrics, lines } = await start(t, dir);
  await (await ring.submit(submission('warm'), true)).outcome;
  writeFileSync(join(dir, FAULT_FILE), 'EIO');
  const certname = 'a';
  const first = await ring.submit(submission(sameSlot(certname)), true);
  await until('the partition is stalled', () => !ring.healthy);
  const older = await ring.submit(submission(certname, { do: 'throw' }, { producerTimestamp: 10 }), true);
  const newer = await ring.submit(submission(certname, {}, { producerTimestamp: 20 }), true);
  const latecomer = await ring.submit(submission(certname, { do: 'throw' }, { producerTimestamp: 15 }), true);
  assert.equal(metrics.counter('mq', 'global.invalidated').count, 2);
  assert.equal(metrics.counter('mq', 'global.ignored').count, 1);
  rmSync(join(dir, FAULT_FILE));
  assert.equal((await first.outcome)?.kind, 'processed');
  for (const [accepted, detail] of [
    [older, 'obsolete'],
    [newer, 'stored'],
    [latecomer, 'obsolete'],
  ] as const) {
    const outcome = await accepted.outcome;
    assert.equal(outcome?.kind === 'processed' && outcome.detail, detail);
  }
  assert.equal(metrics.counter('mq', 'global.invalidated').count, 0);
  assert.match(lines.join('\n'), /'replace facts' command ignored \(obsolete\) for a$/m);
  await until('depth 0', () => ring.depth === 0);
  await ring.stop();
  const again = await start(t, dir);
  assert.equal(again.ring.depth, 0, 'the partition is past the last one, too');
});

test('ring: what was applied before a start neither counts again nor supersedes what was not', async (t) => {
  const dir = temporaryDirectory();
  // Nothing is flushed before the stop, so the log keeps everything.
  const slow = { ...times, flushDelay: 60_000 };
  const first = await start(t, dir, { times: slow });
  await allOpen(first.ring);
  const certname = 'a';
  for (const producerTimestamp of [10, 30]) {
    await (await first.ring.submit(submission(certname, {}, { producerTimestamp }), true)).outcome;
  }
  writeFileSync(join(dir, FAULT_FILE), 'EIO');
  await first.ring.submit(submission(sameSlot(certname)), false);
  await until('the partition is stalled', () => !first.ring.healthy);
  // The one with time 30 is not in the queue any more: this one is to be executed, and decided by its payload.
  const waiting = submission(certname, {}, { producerTimestamp: 20 });
  await first.ring.submit(waiting, false);
  assert.equal(first.metrics.counter('mq', 'global.invalidated').count, 0);
  await first.ring.stop();
  rmSync(join(dir, FAULT_FILE));

  const second = await start(t, dir, { times: slow });
  await until('depth 0', () => second.ring.depth === 0);
  for (const name of ['ignored', 'invalidated']) {
    assert.equal(second.metrics.counter('mq', `global.${name}`).count, 0, name);
  }
  assert.equal(second.metrics.meter('mq', 'global.processed').count, 2);
  await second.ring.stop();
  assert.equal((await applications(dir)).get(waiting.envelope.uuid), 1);

  // The log need not wait for other commands to let go of these.
  const release = t.mock.method(CommandLog.prototype, 'release');
  await start(t, dir, { times: slow });
  await until('all are let go', () => release.mock.callCount() === 4);
});

test('ring: superseded commands whose batch was committed by a dying actor are counted off', async (t) => {
  const dir = temporaryDirectory();
  const told: number[] = [];
  const { ring, metrics } = await start(t, dir, { onWaiting: (count) => told.push(count) });
  await (await ring.submit(submission('warm'), true)).outcome;
  writeFileSync(join(dir, FAULT_FILE), 'EIO');
  await ring.submit(submission(sameSlot('a')), false);
  await until('the partition is stalled', () => !ring.healthy);
  const older = await ring.submit(submission('a', {}, { producerTimestamp: 10 }), true);
  await ring.submit(submission('a', { do: 'die committed' }, { producerTimestamp: 20 }), false);
  rmSync(join(dir, FAULT_FILE));
  const outcome = await older.outcome;
  assert.equal(outcome?.kind === 'processed' && outcome.detail, 'obsolete');
  await until('depth 0', () => ring.depth === 0);
  assert.equal(metrics.counter('mq', 'global.invalidated').count, 0);
  assert.equal(metrics.counter('mq', 'global.ignored').count, 1);
  assert.equal(told.at(-1), 0, 'none waits');
  await ring.stop();
});

test('ring: while a partition cannot be written nothing is lost, and it goes on by itself unless it is of no use to this process any more', async (t) => {
  const dir = temporaryDirectory();
  // Runs that ended soon: what is tried is noted.
  writeFileSync(join(dir, 'running'), '2\n');
  const fatal: Error[] = [];
  const { ring, lines } = await start(t, dir, { onFatal: (error) => fatal.push(error) });
  await (await ring.submit(submission('a'), true)).outcome;
  writeFileSync(join(dir, FAULT_FILE), 'ENOSPC');
  const waiting = await ring.submit(submission('a'), true);
  await until('it is told', () => lines.some((line) => /^error partition \d: ENOSPC/.test(line)));
  assert.equal(ring.healthy, false);
  rmSync(join(dir, FAULT_FILE));
  assert.equal((await waiting.outcome)?.kind, 'processed');
  assert.equal(ring.healthy, true);
  assert.match(lines.join('\n'), /works again/);

  writeFileSync(join(dir, FAULT_FILE), 'MDB_PANIC');
  await ring.submit(submission('a'), false);
  await until('fatal', () => fatal.length > 0);
  assert.match(
    fatal[0]!.message,
    /^partition \d is of no use to this process any more; the process must be started again$/,
  );
  // Neither a file nor a command is to blame.
  assert.equal(readFileSync(join(dir, 'running'), 'utf8'), '2\n');
  assert.equal(existsSync(join(dir, 'inbox', 'suspects.json')), false);
});

test('ring: where a batch has no room, what fits of it is applied', async (t) => {
  const dir = temporaryDirectory();
  const { ring, lines } = await start(t, dir);
  await (await ring.submit(submission('a'), true)).outcome;
  const applied = (): number => readFileSync(join(dir, 'applied.txt'), 'utf8').trim().split('\n').length;
  const before = applied();
  writeFileSync(join(dir, ROOM_FILE), '2');
  const other = sameSlot('a');
  const accepted = await Promise.all([
    ...Array.from({ length: 5 }, () => ring.submit(submission(other), true)),
    ring.submit(submission('a', { do: 'large' }), true),
    ring.submit(submission(other), true),
  ]);
  await until('it is told', () => lines.some((line) => /^error partition \d: ENOSPC/.test(line)));
  assert.equal(applied(), before + 5);
  await assert.rejects(ring.maintain({ kind: 'delete', certname: 'a' }), MaintenanceUnavailable);
  rmSync(join(dir, ROOM_FILE));
  const outcomes = await Promise.all(accepted.map(({ outcome }) => outcome));
  assert.ok(outcomes.every((outcome) => outcome?.kind === 'processed'));
  assert.equal(applied(), before + 7);
});

test('ring: a command that makes the engine throw hurts no other of its batch', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir, { times: { ...times, retryDelay: 3_600_000 } });
  await (await ring.submit(submission('a'), true)).outcome;
  const others = sameSlot('a');
  const accepted = await Promise.all([
    ring.submit(submission(others), true),
    ring.submit(submission('a', { do: 'throw' }), true),
    ring.submit(submission(others), true),
  ]);
  const outcomes = await Promise.all(accepted.map(({ outcome }) => outcome));
  assert.deepEqual(
    outcomes.map((outcome) => outcome?.kind),
    ['processed', 'failed', 'processed'],
  );
  const failed = outcomes[1]!;
  assert.ok(failed.kind === 'failed' && failed.exception === 'TypeError' && failed.stack.length > 0);
  assert.equal(ring.depth, 1, 'it is tried again later');
  await ring.stop();
  assert.deepEqual([...(await applications(dir)).values()], [1, 1, 1]);
});

test('ring: killed actors come back and lose nothing', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir);
  const uuids: string[] = [];
  const outcomes: Promise<unknown>[] = [];
  for (let i = 0; i < 400; i++) {
    const one = submission(`n${i % 23}`);
    uuids.push(one.envelope.uuid);
    outcomes.push(ring.submit(one, true).then(({ outcome }) => outcome));
    if (i % 50 === 25) ring.killActor((i / 50) % 2 < 1 ? 0 : 1);
    if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  for (const outcome of await Promise.all(outcomes)) assert.equal((outcome as { kind: string }).kind, 'processed');
  await until('depth 0', () => ring.depth === 0);
  await ring.stop();
  const counts = await applications(dir);
  assert.deepEqual(
    uuids.map((uuid) => counts.get(uuid)),
    uuids.map(() => 1),
  );
});

test('ring: a command that kills its actor three times is given up; its neighbours are applied', async (t) => {
  const dir = temporaryDirectory();
  const { ring, lines } = await start(t, dir);
  await (await ring.submit(submission('a'), true)).outcome;
  const others = sameSlot('a');
  const accepted = await Promise.all([
    ring.submit(submission(others), true),
    ring.submit(submission('a', { do: 'die' }), true),
    ring.submit(submission(others), true),
    ring.submit(submission(others), true),
  ]);
  const outcomes = await Promise.all(accepted.map(({ outcome }) => outcome));
  assert.deepEqual(
    outcomes.map((outcome) => outcome?.kind),
    ['processed', 'failed', 'processed', 'processed'],
  );
  await until('discarded', () => ring.depth === 0);
  assert.equal(lines.filter((line) => /actor \d died while doing batch/.test(line)).length, 3);
  const folder = join(dir, 'discarded', 'replace_facts');
  assert.match(
    readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith('_err.txt'))!), 'utf8'),
    /it was being applied 3 times when its thread died/,
  );
  await ring.stop();
  assert.deepEqual([...(await applications(dir)).values()], [1, 1, 1, 1]);
});

test('ring: an actor that hangs is ended and its command given up in the end, and no stop waits for it', async (t) => {
  const { ring, lines } = await start(t, temporaryDirectory(), { limits: { hangMax: 200 } });
  const { outcome } = await ring.submit(submission('a', { do: 'hang' }), true);
  const result = await outcome;
  assert.ok(result?.kind === 'failed' && /thread died/.test(result.error));
  await (await ring.submit(submission('a'), true)).outcome;
  const ended = () => lines.filter((line) => /busy with one batch for \d+ ms/.test(line)).length;
  const before = ended();
  await ring.submit(submission('a', { do: 'hang' }), false);
  await new Promise(setImmediate);
  await ring.stop();
  assert.equal(ended(), before + 1);
  const told = lines.filter((line) => /^warn the stop waits for batch \d+ of partition \d$/.test(line));
  assert.equal(told.length, 1, lines.join('\n'));
});

test('ring: a stop that begins before a partition is known to be stalled comes to its end', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir);
  await (await ring.submit(submission('warm'), true)).outcome;
  writeFileSync(join(dir, FAULT_FILE), 'EIO');
  await ring.submit(submission('a'), false);
  await new Promise(setImmediate);
  await ring.stop();
  rmSync(join(dir, FAULT_FILE));
});

test('ring: beyond its limits it refuses with a time to come back, and takes again when there is room', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir, { limits: { waitingMax: 5 } });
  await (await ring.submit(submission('a'), true)).outcome;
  writeFileSync(join(dir, FAULT_FILE), 'ENOSPC');
  for (let i = 0; i < 5; i++) await ring.submit(submission('a'), false);
  await assert.rejects(ring.submit(submission('a'), false), (error) => {
    assert.ok(error instanceof SubmissionRefused);
    assert.equal(error.reason, 'full');
    assert.ok(error.retryAfter >= 1 && error.retryAfter <= 60);
    return true;
  });
  rmSync(join(dir, FAULT_FILE));
  await until('room', () => ring.depth === 0);
  await ring.submit(submission('a'), false);
});

test('ring: one certname cannot use up the room of the others', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir, { limits: { waitingPerCertnameMax: 3 } });
  await (await ring.submit(submission('a'), true)).outcome;
  writeFileSync(join(dir, FAULT_FILE), 'ENOSPC');
  for (let i = 0; i < 3; i++) await ring.submit(submission('a'), false);
  await assert.rejects(ring.submit(submission('a'), false), /3 commands of a are waiting/);
  await ring.submit(submission('b'), false);
  rmSync(join(dir, FAULT_FILE));
  await until('room', () => ring.depth === 0);
  await ring.submit(submission('a'), false);
});

test('ring: superseded commands take no room', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir, { limits: { waitingSizeMax: 5000 } });
  await (await ring.submit(submission('a'), true)).outcome;
  writeFileSync(join(dir, FAULT_FILE), 'ENOSPC');
  const large = (producerTimestamp: number): Submission =>
    submission('a', { do: 'store', room: 'x'.repeat(1000) }, { producerTimestamp });
  for (let i = 1; i <= 10; i++) await ring.submit(large(i), false);
  assert.equal(ring.depth, 10);
  rmSync(join(dir, FAULT_FILE));
  await until('room', () => ring.depth === 0);
});

test('ring: nothing is kept of submissions that are refused', async (t) => {
  const { ring } = await start(t, temporaryDirectory());
  const taken = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const wrong = submission('a', {}, { version: Number.NaN });
  await assert.rejects(ring.submit(wrong, true), RangeError);
  const before = taken();
  for (let i = 0; i < 20_000; i++) {
    const { body, envelope } = wrong;
    await assert.rejects(ring.submit({ body, envelope: { ...envelope, uuid: `${i}` } }, true), RangeError);
  }
  await until('the memory is free', () => taken() - before < 2 << 20);
});

test('ring: many waiting commands are all read from the log', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir, { limits: { waitingSizeMax: 1e6 } });
  writeFileSync(join(dir, FAULT_FILE), 'ENOSPC');
  const outcomes: Promise<unknown>[] = [];
  for (let i = 0; i < 200; i++) outcomes.push((await ring.submit(submission(`n${i}`), true)).outcome!);
  rmSync(join(dir, FAULT_FILE));
  for (const outcome of await Promise.all(outcomes)) assert.equal((outcome as { kind: string }).kind, 'processed');
});

test('ring: while the log cannot be read commands wait, a line says why, and then they are applied', async (t) => {
  const dir = temporaryDirectory();
  const { ring, lines } = await start(t, dir);
  await (await ring.submit(submission('a'), true)).outcome;
  writeFileSync(join(dir, UNREADABLE_FILE), 'EIO');
  const accepted = [];
  for (let i = 0; i < 3; i++) accepted.push(await ring.submit(submission('a'), true));
  await until('it is told', () => !ring.healthy);
  const reason = /^error partition \d: commands cannot be read from the log: EIO: injected into read$/;
  assert.match(lines.at(-1)!, reason);
  rmSync(join(dir, UNREADABLE_FILE));
  for (const { outcome } of accepted) assert.equal((await outcome)?.kind, 'processed');
  assert.equal(ring.healthy, true);
  assert.match(lines.join('\n'), /partition \d: works again/);
  await ring.stop();
  assert.deepEqual([...(await applications(dir)).values()], [1, 1, 1, 1]);
});

test('ring: a stop does not wait for commands that cannot be read, and the next start applies them', async (t) => {
  const dir = temporaryDirectory();
  const first = await start(t, dir);
  await (await first.ring.submit(submission('a'), true)).outcome;
  writeFileSync(join(dir, UNREADABLE_FILE), 'EIO');
  await first.ring.submit(submission('a'), false);
  await first.ring.stop();
  rmSync(join(dir, UNREADABLE_FILE));
  const { ring } = await start(t, dir);
  await until('it is applied', () => ring.depth === 0);
  await ring.stop();
  assert.deepEqual([...(await applications(dir)).values()], [1, 1]);
});

/** Changes a byte of the log's only segment, where the text begins. */
function damageStored(dir: string, text: string): void {
  const [name] = readdirSync(join(dir, 'inbox')).filter((file) => file.endsWith('.commands'));
  const segment = join(dir, 'inbox', name!);
  const log = openSync(segment, 'r+');
  writeSync(log, '?', readFileSync(segment).indexOf(text));
  closeSync(log);
}

/** A ring whose partition of `a` cannot be written, with a command that it tries again and again, and what is to be removed to mend that. */
async function startStalled(t: TestContext) {
  const dir = temporaryDirectory();
  const { ring, lines } = await start(t, dir);
  await (await ring.submit(submission('a'), true)).outcome;
  const fault = join(dir, FAULT_FILE);
  writeFileSync(fault, 'ENOSPC');
  const { outcome } = await ring.submit(submission('a'), true);
  await until('stalled', () => !ring.healthy);
  return { dir, ring, lines, blocked: outcome!, fault };
}

for (const damaged of [1, 2]) {
  test(`ring: a stored command whose bytes are damaged is given up alone; the others are applied (${damaged})`, async (t) => {
    const { dir, ring, blocked, fault } = await startStalled(t);
    const accepted = [];
    for (let i = 0; i < 5; i++) {
      accepted.push(await ring.submit(submission('a', { do: 'store', mark: `<${i}>` }), true));
    }
    damageStored(dir, `<${damaged}>`);
    rmSync(fault);
    assert.equal((await blocked)?.kind, 'processed');
    for (const [i, { outcome }] of accepted.entries()) {
      assert.equal((await outcome)?.kind, i === damaged ? 'failed' : 'processed');
    }
  });
}

test('ring: a damaged command behind one that it supersedes is given up, too', async (t) => {
  const { dir, ring, blocked, fault } = await startStalled(t);
  const waiting = [
    await ring.submit(submission('a', { do: 'store', mark: '<1>' }, { producerTimestamp: 1 }), true),
    await ring.submit(submission('a', { do: 'store', mark: '<2>' }, { producerTimestamp: 2 }), true),
    await ring.submit(submission('a', { do: 'store', mark: '<3>' }), true),
  ];
  damageStored(dir, '<2>');
  rmSync(fault);
  await blocked;
  await until('all are processed', () => ring.depth === 0);
  const kinds: (string | undefined)[] = [];
  for (const { outcome } of waiting) kinds.push((await outcome)?.kind);
  assert.deepEqual(kinds, ['processed', 'failed', 'processed']);
});

test('ring: damage of the log behind the positions of all partitions, and flushed, keeps no start from going on', async (t) => {
  const dir = temporaryDirectory();
  const inSlots = (mark: string) =>
    Array.from({ length: PARTITIONS }, (_, slot) => submission(sameSlot('n', slot), { do: 'store', mark }));
  const first = await start(t, dir);
  for (const mark of ['<first>', '<second>', '<third>'])
    for (const one of inSlots(mark)) await (await first.ring.submit(one, true)).outcome;
  await first.ring.stop();
  const applied = await applications(dir);
  damageStored(dir, '<first>');

  const flush = t.mock.method(Partition.prototype, 'flush', () =>
    Promise.reject(new Error('EIO: injected into flush')),
  );
  await assert.rejects(start(t, dir), /EIO: injected into flush/);
  flush.mock.restore();
  const { ring, lines } = await start(t, dir);
  assert.match(
    lines.join('\n'),
    /^warn .*0000000001\.commands: offset 48: checksum of the record, .*; passed over: nothing is lost, as all commands of seq 1 to 1 are applied$/m,
  );
  await (await ring.submit(submission('later'), true)).outcome;
  await ring.stop();
  const counts = await applications(dir);
  assert.equal(counts.size, applied.size + 1);
  assert.deepEqual(new Set(counts.values()), new Set([1]));
});

test('ring: damage of the log that a partition is not known to be past refuses the start, and says what to do', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir);
  for (const mark of ['<1>', '<2>', '<3>']) {
    await (await ring.submit(submission('a', { do: 'store', mark }), true)).outcome;
  }
  await ring.stop();
  damageStored(dir, '<2>');
  await assert.rejects(
    start(t, dir),
    /0000000001\.commands: offset \d+: checksum .*; commands of seq 2 to 2 stood there, and not every partition is known to have them: restore a backup/,
  );
});

test('ring: a process that cannot go on notes what it hung on, and the next one gives that up', async (t) => {
  const dir = temporaryDirectory();
  const file = join(dir, 'inbox', 'suspects.json');
  const noted = (): number => JSON.parse(readFileSync(file, 'utf8'))[0]?.crashes ?? 0;
  // On a busy machine the opening of a partition may count as hung, too: that process notes no more than it knew.
  for (let starts = 0, crashes = 0; crashes < 3; starts++) {
    assert.ok(starts < 20, `${starts} starts, and ${crashes} crashes noted`);
    const fatal: Error[] = [];
    const { ring } = await start(t, dir, {
      limits: { hangMax: 100 },
      onFatal: (error) => fatal.push(error),
    });
    if (starts === 0) await ring.submit(submission('a', { do: 'hang inside' }), false);
    await until('fatal', () => fatal.length > 0);
    assert.match(fatal[0]!.message, /must be started again/);
    const now = noted();
    assert.ok(now === crashes || now === crashes + 1, `${now} crashes after ${crashes}`);
    crashes = now;
    writeFileSync(join(dir, 'release'), '');
    await ring.stop();
    rmSync(join(dir, 'release'));
  }
  const { ring } = await start(t, dir);
  await until('given up', () => ring.healthy && ring.depth === 0);
  assert.equal(readdirSync(join(dir, 'discarded', 'replace_facts')).length, 2);
  assert.equal(existsSync(file), false);
});

test('ring: a command that was applied, or has failed, when its actor died is suspected of nothing any more', async (t) => {
  const dir = temporaryDirectory();
  // Runs that ended soon: what is suspected is noted, also at a stop.
  writeFileSync(join(dir, 'running'), '2\n');
  const { ring } = await start(t, dir, { times: { ...times, retryDelay: 60_000 } });
  const sent = await Promise.all([
    ring.submit(submission('a', { do: 'die committed' }), true),
    ring.submit(submission('a', { do: 'retry', times: 1 }), true),
  ]);
  const outcomes = await Promise.all(sent.map(({ outcome }) => outcome));
  assert.deepEqual(
    outcomes.map((outcome) => outcome?.kind),
    ['processed', 'failed'],
  );
  await ring.stop();
  assert.equal(existsSync(join(dir, 'inbox', 'suspects.json')), false);
});

test('ring: maintenance runs in steps on every partition between the batches', async (t) => {
  const { ring } = await start(t, temporaryDirectory());
  const [changed] = await Promise.all([
    ring.maintain({ kind: 'gc_packages' }),
    ...Array.from({ length: 20 }, async (_, i) => (await ring.submit(submission(`n${i}`), true)).outcome),
  ]);
  assert.equal(changed, 3 * PARTITIONS);
  assert.equal(await ring.maintain({ kind: 'delete', certname: 'a' }), 3);
  assert.equal(await ring.maintain({ kind: 'purge_nodes', batchLimit: 4 }), 6, 'two partitions were asked, not all');
});

test('ring: of reports and events the oldest expired day goes, in every partition', async (t) => {
  const { ring } = await start(t, temporaryDirectory());
  // The stub's searches count three changes each, which must not show.
  assert.equal(await ring.maintain({ kind: 'purge_reports' }), 3 * PARTITIONS);
  assert.equal(await ring.maintain({ kind: 'purge_resource_events' }), 3 * PARTITIONS);
});

test('ring: a command whose payload belongs to another partition is applied there, once, and its waiter told', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir);
  const to = sameSlot('b', (slotOf('a', PARTITIONS) + 1) % PARTITIONS);
  const accepted = await Promise.all(
    Array.from({ length: 30 }, () => ring.submit(submission('a', { do: 'move', to }), true)),
  );
  const outcomes = await Promise.all(accepted.map(({ outcome }) => outcome));
  for (const outcome of outcomes) assert.ok(outcome?.kind === 'processed' && outcome.certname === to);
  await until('depth 0', () => ring.depth === 0);
  await ring.stop();
  assert.deepEqual(await ofPartitions(dir, (partition) => partition.retrySeqs()), Array(PARTITIONS).fill([]));
  assert.deepEqual([...(await applications(dir)).values()], Array(30).fill(1));
});

test('ring: a moving command survives the death of actors and restarts', async (t) => {
  const dir = temporaryDirectory();
  const first = await start(t, dir);
  const to = sameSlot('b', (slotOf('a', PARTITIONS) + 1) % PARTITIONS);
  const accepted: Promise<unknown>[] = [];
  for (let i = 0; i < 40; i++) {
    accepted.push(first.ring.submit(submission('a', { do: 'move', to }), false));
    if (i % 10 === 5) first.ring.killActor((i / 10) % 2 < 1 ? 0 : 1);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  await Promise.all(accepted);
  await first.ring.stop();
  const second = await start(t, dir);
  await allOpen(second.ring);
  await until('all processed', () => second.ring.depth === 0);
  await second.ring.stop();
  const counts = await applications(dir);
  assert.equal(counts.size, 40, 'none is lost; one may be applied again when an actor dies in between');
});

test('ring: maintenance survives the death of its actor', async (t) => {
  const { ring } = await start(t, temporaryDirectory());
  const done = ring.maintain({ kind: 'gc_packages' });
  ring.killActor(0);
  ring.killActor(1);
  assert.ok((await done) >= 3 * PARTITIONS);
});

test('ring: after stop submissions are refused and those who still wait are told', async (t) => {
  const { ring, lines, blocked } = await startStalled(t);
  const behind = await ring.submit(submission('a'), true);
  await ring.stop();
  assert.ok(!lines.some((line) => line.includes('did not stop in time')), lines.join('\n'));
  await assert.rejects(blocked, SubmissionRefused);
  await assert.rejects(behind.outcome!, SubmissionRefused);
  await assert.rejects(
    ring.submit(submission('a'), false),
    (error) => (error as SubmissionRefused).reason === 'stopping',
  );
});
