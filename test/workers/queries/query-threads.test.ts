// Which thread a query goes to.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { leastBusy } from '../../../workers/queries/query-threads.ts';

const threads = (...usages: readonly number[]) => usages.map((currentUsage, id) => ({ id, currentUsage }));
const chosen = (usages: readonly number[], stuck: readonly number[] = []): number | undefined =>
  leastBusy(threads(...usages), 4, (id) => stuck.includes(id))?.id;

it('queries go to the thread with the fewest, of equal ones to the first', () => {
  assert.equal(chosen([1, 0, 0]), 1);
  assert.equal(chosen([0, 0, 0]), 0);
  assert.equal(chosen([4, 3, 4]), 1);
  assert.equal(chosen([4, 4]), undefined);
});

it('not to one that has been at a slice for long, unless all have, or the others are full', () => {
  assert.equal(chosen([0, 2, 3], [0]), 1);
  assert.equal(chosen([1, 2], [0, 1]), 0);
  assert.equal(chosen([1, 4], [0]), 0);
  assert.equal(chosen([0], [0]), 0);
});
