// Rows in order: the first of them, or all of them, without holding the thread while very many are sorted.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareByTypes, TopEntries } from '../../../../engine/query/exec/order.ts';
import { Random, testSeed } from '../../../support/random.ts';

const compare = compareByTypes(['N', 'S'], [false, true]);

/** From where, up to where. */
const PAGES: readonly (readonly [number, number | null])[] = [
  [0, null],
  [7, null],
  [0, 0],
  [0, 1],
  [0, 5000],
  [1, 65],
  [4990, 5000],
  [20_000, 29_000],
  [40_000, 40_001],
];

describe('entries in order', () => {
  it('are the same however many there are: equal ones as they came', () => {
    const random = new Random(testSeed('order'));
    for (const length of [0, 1, 4096, 4097, 8192, 30_001]) {
      for (const [from, max] of PAGES) {
        const top = new TopEntries<number>(compare, from, max);
        const all = Array.from({ length }, (_, place) => ({
          place,
          keys: [random.pick([1, 2, 3, null]), random.pick(['a', 'b', null])],
        }));
        for (const { keys, place } of all) top.add(keys, () => place);
        const work = top.sorted(() => true);
        let pauses = 0;
        let step = work.next();
        for (; !step.done; step = work.next()) pauses++;
        const expected = all
          .sort((a, b) => compare(a.keys, b.keys) || a.place - b.place)
          .slice(from, max ?? length)
          .map(({ place }) => place);
        assert.deepEqual(
          step.value.map(({ place }) => place),
          expected,
        );
        if (expected.length > 8192) assert.ok(pauses > expected.length / 4096, `${pauses} pauses`);
      }
    }
  });
});
