import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { Activity } from '../../../workers/actor/activity.ts';
import { HangWatch } from '../../../workers/ring/hang-watch.ts';
import { ownSchedule, ownThread, scheduleOf } from '../../../workers/system/schedule.ts';
import { until } from '../../support/waiting.ts';

const doing = (kind: Activity['kind'], count: number): Activity => ({ kind, slot: 0, id: 0, count });

test('hang watch: what counts is the time since something began, waiting for a processor apart', () => {
  const watch = new HangWatch();
  assert.equal(
    watch.busy(1000, doing('batch', 1), () => 50),
    0,
    'begun, as far as was seen',
  );
  assert.equal(
    watch.busy(2000, doing('batch', 1), () => 50),
    1000,
  );
  assert.equal(
    watch.busy(9000, doing('batch', 1), () => 7050),
    1000,
    'it waited for seven seconds',
  );
  assert.equal(
    watch.busy(9500, doing('batch', 2), () => 7050),
    0,
    'another one',
  );
  assert.equal(
    watch.busy(9600, doing('batch', 2), () => 7060),
    90,
  );
  assert.equal(
    watch.busy(9900, doing('idle', 2), () => 7060),
    0,
  );
  assert.equal(
    watch.busy(99_000, doing('idle', 2), () => 7060),
    0,
    'idle, however long',
  );
  assert.equal(
    watch.busy(99_100, doing('sweep', 3), () => 7060),
    0,
  );
  assert.equal(
    watch.busy(99_200, doing('sweep', 3), () => null),
    100,
    'not known now: as if it had not waited',
  );
  assert.equal(
    watch.busy(99_300, doing('batch', 4), () => null),
    0,
  );
  assert.equal(
    watch.busy(99_400, doing('batch', 4), () => 7100),
    100,
    'not known when it began',
  );
});

const skip = ownThread() === null ? 'threads have no numbers here' : false;

test('schedule: a thread is told by its number until it is gone', { skip }, async () => {
  const spin = 'const end = Date.now() + 200; while (Date.now() < end);';
  const number = "Number(require('node:path').basename(require('node:fs').readlinkSync('/proc/thread-self')))";
  const code = `const { parentPort } = require('node:worker_threads'); ${spin} parentPort.postMessage(${number}); parentPort.on('message', () => {});`;
  const worker = new Worker(code, { eval: true });
  const thread = await new Promise<number>((resolve) => worker.once('message', resolve));
  assert.notEqual(thread, ownThread());
  const told = scheduleOf(thread);
  assert.ok(told !== null && told.ran + told.waited > 150, `${told?.ran} ms run, ${told?.waited} ms waited`);
  await worker.terminate();
  // The system takes it off its list a moment later.
  await until('it is gone', () => scheduleOf(thread) === null);
  const own = ownSchedule();
  assert.ok(own !== null && own().ran > 0);
});
