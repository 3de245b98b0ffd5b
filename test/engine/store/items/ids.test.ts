import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeAmong } from '../../../../engine/store/items/ids.ts';
import { Random, testSeed } from '../../../support/random.ts';

test('ids: the place of an id among sorted ones, from any place before it on', () => {
  const random = new Random(testSeed('place-among'));
  for (let round = 0; round < 300; round++) {
    const ids = new Set(Array.from({ length: random.below(60) }, () => random.below(200)));
    const sorted = Uint32Array.from(ids).sort();
    for (let wanted = 0; wanted <= 200; wanted += 1 + random.below(7)) {
      const expected = sorted.filter((id) => id < wanted).length;
      for (const from of [0, random.below(expected + 1), expected]) {
        assert.equal(placeAmong(sorted, wanted, from), expected, `${wanted} in [${sorted}] from ${from}`);
      }
    }
  }
  assert.equal(placeAmong(new Uint32Array(0), 5), 0);
});
