import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Placed, RunningQueries } from '../../../workers/queries/running-queries.ts';

const query = (): Placed => ({ id: 0, flag: -1 });

test('running queries: each is found by its id as long as it has its place, and by no other id', () => {
  const running = new RunningQueries<Placed>(3);
  const queries = [query(), query(), query()];
  for (const one of queries) {
    assert.equal(running.isFull, false);
    running.add(one);
  }
  assert.equal(running.isFull, true);
  assert.throws(() => running.add(query()), /all places are taken/);
  assert.equal(new Set(queries.map(({ id }) => id)).size, 3);
  assert.deepEqual(queries.map(({ flag }) => flag).sort(), [0, 1, 2]);
  for (const one of queries) assert.equal(running.get(one.id), one);
  assert.equal(running.get(0), undefined);

  const [first, second, third] = queries as [Placed, Placed, Placed];
  const { id, flag } = second;
  assert.equal(running.delete(second), true);
  assert.equal(running.delete(second), false);
  assert.deepEqual([running.size, running.get(id), second.flag], [2, undefined, -1]);
  assert.deepEqual(running.all(), [first, third]);
  const next = query();
  running.add(next);
  assert.equal(next.flag, flag);
  assert.notEqual(next.id, id, 'what is said of the one before is not said of the next one');
  assert.equal(running.get(id), undefined);
  assert.equal(running.get(next.id), next);
});
