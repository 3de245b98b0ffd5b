// Rows counted by what they have in the first terms of an order: what is equal is put together.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Share } from '../../../../../engine/query/exec/order/shares.ts';

it('rows of items that are known, with some of which that is not known, are of items that are not', () => {
  const joined = (...places: readonly (number[] | null)[]): readonly unknown[] => {
    const [first, ...others] = places.map((of, i) => new Share(['File'], i + 1, of));
    for (const other of others) first!.join(other);
    return [first!.weight, first!.places];
  };
  assert.deepEqual(joined([0, 5], [1, 5], [0, 7]), [6, [0, 5, 1, 5, 0, 7]]);
  assert.deepEqual(joined([0, 5], null), [3, null]);
  assert.deepEqual(joined(null, [0, 5]), [3, null]);
  assert.deepEqual(joined([0, 5], null, [0, 7]), [6, null]);
});
