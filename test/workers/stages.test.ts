import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStages, Stage, stageBounds, stageNames } from '../../workers/stages.ts';

test('stage: an observation is in the first bucket whose bound it does not exceed', () => {
  const stage = new Stage();
  const bucketOf = (ms: number): number => {
    const before = [...stage.counts];
    stage.observe(ms);
    return stage.counts.findIndex((count, bucket) => count !== before[bucket]);
  };
  stageBounds.forEach((bound, bucket) => {
    assert.equal(bucketOf(bound), bucket);
    assert.equal(bucketOf(bound * 1.0001), bucket + 1);
  });
  assert.equal(bucketOf(0), 0);
  assert.equal(bucketOf(1e9), stageBounds.length);
});

test('stage: counts and sums are those of all observations', () => {
  const stages = createStages();
  assert.deepEqual(Object.keys(stages), stageNames);
  for (const ms of [1, 20, 300]) stages.apply.observe(ms);
  assert.deepEqual([stages.apply.count, stages.apply.sum], [3, 321]);
  assert.equal(
    stages.apply.counts.reduce((total, count) => total + count, 0),
    3,
  );
  assert.equal(stages.queue.count, 0);
});
