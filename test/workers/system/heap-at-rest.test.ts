// The heap of a thread that has worked is collected when it rests, once, where that is worth while.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buffersAtRest, collectAtRest } from '../../../workers/system/heap-at-rest.ts';
import { collect as collectAll } from '../../support/collect.ts';
import { until } from '../../support/waiting.ts';

const MiB = 1 << 20;
const REST_MS = 40;

test('heap at rest: collected once, after the work and not while it goes on', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let work = 0;
  let collected = 0;
  let spare = 0;
  const stop = collectAtRest({
    work: () => work,
    collect: () => {
      collected++;
      spare = 2 * MiB;
    },
    spare: () => spare,
    restMs: REST_MS,
  });
  for (let round = 0; round < 2; round++) {
    spare = 60 * MiB;
    for (let step = 0; step < 10; step++) {
      work++;
      t.mock.timers.tick(REST_MS);
      assert.equal(collected, round);
    }
    t.mock.timers.tick(REST_MS);
    assert.equal(collected, round + 1);
    spare = 60 * MiB;
    t.mock.timers.tick(10 * REST_MS);
    assert.equal(collected, round + 1, 'collected again without any work');
  }
  work++;
  spare = 2 * MiB;
  t.mock.timers.tick(10 * REST_MS);
  assert.equal(collected, 2, 'collected for nothing');
  stop();
  work++;
  spare = 60 * MiB;
  t.mock.timers.tick(10 * REST_MS);
  assert.equal(collected, 2, 'collected after the end');
});

test('heap at rest: what is collecting itself counts as no work', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let work = 1;
  let collected = 0;
  const stop = collectAtRest({
    work: () => work,
    collect: () => {
      collected++;
      work++;
    },
    spare: () => 60 * MiB,
    restMs: REST_MS,
  });
  t.after(stop);
  t.mock.timers.tick(10 * REST_MS);
  assert.equal(collected, 1);
});

test('heap at rest: what was kept for later work is given up later, once, and collected where it is much; sooner where that presses', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let work = 1;
  let kept = 0;
  let isPressing = false;
  const events: string[] = [];
  const stop = collectAtRest({
    work: () => work,
    collect: () => events.push('collected'),
    spare: () => 2 * MiB,
    giveUp() {
      events.push(`gave up ${kept / MiB}`);
      return kept;
    },
    isPressing: () => isPressing,
    restMs: REST_MS,
    keepMs: 5 * REST_MS,
  });
  for (const bytes of [1 * MiB, 7 * MiB]) {
    for (const presses of [false, true]) {
      kept = bytes;
      isPressing = presses;
      work++;
      t.mock.timers.tick(REST_MS);
      assert.deepEqual(events.splice(0), []);
      const given = [`gave up ${bytes / MiB}`, ...(bytes > 2 * MiB ? ['collected'] : [])];
      t.mock.timers.tick(4 * REST_MS);
      assert.deepEqual(events.splice(0), presses ? given : []);
      t.mock.timers.tick(5 * REST_MS);
      assert.deepEqual(events.splice(0), presses ? [] : given);
    }
  }
  work++;
  isPressing = false;
  t.mock.timers.tick(3 * REST_MS);
  assert.deepEqual(events.splice(0), []);
  isPressing = true;
  t.mock.timers.tick(REST_MS);
  assert.deepEqual(events.splice(0), ['gave up 7', 'collected'], 'also when that comes to press later');
  stop();
});

test('heap at rest: buffers that nobody needs are collected where they are many', () => {
  const NEEDED = 20 * MiB;
  let taken = 5 * MiB;
  const { spare, collect } = buffersAtRest(
    () => {
      taken = 5 * MiB + NEEDED;
    },
    () => taken,
  );
  taken += NEEDED;
  assert.equal(spare(), 0, 'too few');
  taken += 40 * MiB;
  assert.equal(spare(), NEEDED + 40 * MiB);
  collect();
  assert.equal(spare(), 0);
});

test('heap at rest: buffers are those of the process, and a collection frees them', async () => {
  const { spare, collect } = buffersAtRest(collectAll);
  // What was there before may go meanwhile: it is little beside this.
  const LARGE = 500 * MiB;
  let large: Uint8Array | null = new Uint8Array(LARGE);
  assert.ok(spare() > LARGE - 200 * MiB, `${spare()} bytes`);
  assert.equal(large.length, LARGE);
  large = null;
  await until('it is gone', () => {
    collect();
    return spare() < 200 * MiB;
  });
});

test('heap at rest: buffers that were needed when it was collected count until another collection leaves them, too', () => {
  let taken = 5 * MiB;
  let collections = 0;
  const { spare, collect } = buffersAtRest(
    () => collections++,
    () => taken,
  );
  taken = 45 * MiB;
  collect();
  assert.equal(spare(), 40 * MiB);
  collect();
  assert.equal(spare(), 0);
  taken = 6 * MiB;
  assert.equal(spare(), 0);
  taken = 50 * MiB;
  assert.equal(spare(), 44 * MiB);
  assert.equal(collections, 2);
});

test('heap at rest: a thread whose buffers nobody can tell of goes on', (t) => {
  t.mock.method(process, 'memoryUsage', () => {
    throw new Error('EMFILE: too many open files, uv_resident_set_memory');
  });
  const { spare, collect } = buffersAtRest(() => {});
  collect();
  assert.equal(spare(), 0);
});
