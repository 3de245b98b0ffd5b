// A number at a place is the one that sorting all of them would put there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nthInTurns } from '../../engine/nth.ts';
import { Random, testSeed } from '../support/random.ts';

function nth(
  numbers: readonly number[],
  place: number,
  isDue = false,
): { readonly found: number; readonly pauses: number } {
  const work = nthInTurns(Float64Array.from(numbers), place, () => isDue);
  for (let pauses = 0; ; pauses++) {
    const { done, value } = work.next();
    if (done) return { found: value, pauses };
  }
}

test('nth: every place of random numbers, of equal ones, and of those that are in order or in the opposite one', () => {
  const random = new Random(testSeed('nth'));
  const inOrder = Array.from({ length: 60 }, (_, i) => i * 1.5 - 7);
  const several = Array.from({ length: 30 }, () => {
    const values = random.between(1, 50);
    return Array.from({ length: random.between(1, 80) }, () => random.below(values) - 10);
  });
  for (const numbers of [...several, inOrder, inOrder.toReversed(), [5], [2, 1]]) {
    const sorted = numbers.toSorted((a, b) => a - b);
    for (const [place, wanted] of sorted.entries())
      assert.equal(nth(numbers, place).found, wanted, `${place} of ${numbers}`);
  }
});

test('nth: many numbers are gone through several times, between which others get their turn', () => {
  const numbers = Array.from({ length: 10_000 }, (_, i) => (i * 7919) % 10_007);
  const { found, pauses } = nth(numbers, 5000, true);
  assert.equal(found, numbers.toSorted((a, b) => a - b)[5000]);
  assert.ok(pauses > 3, `${pauses} pauses`);
});
