// The heap of a thread that has worked is collected when it rests, once, and then takes little more than it uses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { collectAtRest } from '../../workers/heap-at-rest.ts';

const MiB = 1 << 20;
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const spare = (): number => {
  const { total_heap_size: total, used_heap_size: used } = getHeapStatistics();
  return total - used;
};

/** Leaves a heap behind that is larger than what is used. */
function burst(): void {
  let kept: object[][] = [];
  for (let round = 0; round < 60; round++) kept.push(Array.from({ length: 20_000 }, (_, index) => ({ index, round })));
  assert.ok(kept.length > 0);
  kept = [];
}

test('heap at rest: collected once, after the work and not while it goes on', async (t) => {
  let work = 0;
  let collected = 0;
  const stop = collectAtRest({
    work: () => work,
    collect: () => {
      collected++;
      gc();
    },
    restMs: 40,
  });
  t.after(stop);
  for (let round = 0; round < 2; round++) {
    burst();
    assert.ok(spare() > 20 * MiB || getHeapStatistics().used_heap_size > 60 * MiB);
    for (let step = 0; step < 10; step++) {
      work++;
      await sleep(25);
      assert.equal(collected, round);
    }
    for (let tries = 0; collected === round && tries < 100; tries++) await sleep(20);
    assert.equal(collected, round + 1);
    await sleep(200);
    assert.equal(collected, round + 1);
  }
  stop();
  work++;
  burst();
  await sleep(200);
  assert.equal(collected, 2);
});
