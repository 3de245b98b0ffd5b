// Weights of few lists are counted one by one, those of many by WebAssembly: both must give the same.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemWeights } from '../../../../../engine/query/exec/count/item-weights.ts';
import { Ids } from '../../../../../engine/store/items/ids.ts';
import { Random } from '../../../../support/random.ts';

const listOf = (numbers: readonly number[]): Ids => {
  const list = new Ids(1);
  for (const number of numbers) list.push(number);
  return list;
};

/** What both ways of counting make of these lists. */
function bothWays(items: number, stride: number, lists: readonly Ids[]): readonly Uint32Array[] {
  return [false, true].map((isWorth) => {
    const weights = itemWeights(items, stride, isWorth);
    for (const list of lists) weights.add(list);
    return weights.take();
  });
}

test('each item counts as often as lists have it', () => {
  assert.deepEqual(bothWays(5, 1, [listOf([1, 2, 4]), listOf([4]), listOf([])]), [
    Uint32Array.of(0, 1, 1, 0, 2),
    Uint32Array.of(0, 1, 1, 0, 2),
  ]);
});

test('of entries with two numbers the last one is the item', () => {
  assert.deepEqual(bothWays(4, 2, [listOf([3, 1, 3, 2]), listOf([2, 1])]), [
    Uint32Array.of(0, 2, 1, 0),
    Uint32Array.of(0, 2, 1, 0),
  ]);
});

test('items that there are none of in the snapshot are passed over', () => {
  assert.deepEqual(bothWays(2, 1, [listOf([1, 2, 0xffffffff, 1])]), [Uint32Array.of(0, 2), Uint32Array.of(0, 2)]);
});

test('both ways of counting agree, also on long lists, and start from nothing each time', () => {
  const rnd = new Random(20_261_129);
  for (let round = 0; round < 30; round++) {
    const items = 1 + rnd.below(round % 10 === 0 ? 300_000 : 3_000);
    const stride = 1 + rnd.below(2);
    const lists = Array.from({ length: rnd.below(40) }, () =>
      listOf(Array.from({ length: stride * rnd.below(rnd.below(20) === 0 ? 60_000 : 500) }, () => rnd.below(items))),
    );
    const [plain, kernel] = bothWays(items, stride, lists);
    assert.deepEqual(kernel, plain, `round ${round}`);
  }
});

test('several that count at once do not meet', () => {
  const one = itemWeights(3, 1, true);
  const other = itemWeights(3, 1, true);
  one.add(listOf([1]));
  other.add(listOf([2, 2]));
  one.add(listOf([1]));
  assert.deepEqual([one.take(), other.take()], [Uint32Array.of(0, 2, 0), Uint32Array.of(0, 0, 2)]);
});
