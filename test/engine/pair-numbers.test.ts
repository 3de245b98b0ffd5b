// Numbers for pairs of numbers: the same for equal pairs, others for others, in the order in which they come; a Map says what is equal.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PairNumbers } from '../../engine/pair-numbers.ts';
import { Random, testSeed } from '../support/random.ts';

it('pairs of numbers: numbered as a map of strings numbers them', () => {
  const random = new Random(testSeed('pair-numbers'));
  const numbers = new PairNumbers();
  const expected = new Map<string, number>();
  for (let round = 0; round < 20_000; round++) {
    // Of two ranges, so that pairs come again and large numbers are among them.
    const [first, second] = [0, 1].map(() => random.below(100) + (random.below(4) === 0 ? 0xffff_ff00 : 0)) as [
      number,
      number,
    ];
    const key = `${first} ${second}`;
    if (!expected.has(key)) expected.set(key, expected.size);
    assert.equal(numbers.of(first, second), expected.get(key), key);
  }
  assert.equal(numbers.size, expected.size);
});
