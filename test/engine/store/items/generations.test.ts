// What a thread keeps for later has a bound, however often it is asked for, and what is asked for again and again stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Recent } from '../../../../engine/store/items/generations.ts';
import { RecordBudget, RecordCache } from '../../../../engine/store/items/record-cache.ts';
import { encodeFact, StoredFact } from '../../../../engine/store/records/bodies.ts';

test('recent: no more values are kept than may be, though all of them are asked for again and again', () => {
  const recent = new Recent<string>(100);
  const kept = (): number[] => Array.from({ length: 1000 }, (_, id) => id).filter((id) => recent.get(id) !== undefined);
  for (let id = 0; id < 1000; id++) {
    recent.set(id, String(id));
    if (id % 10 === 0) kept();
  }
  const left = kept();
  assert.ok(left.length <= 100, `${left.length} are kept`);
  assert.deepEqual(
    left.map((id) => recent.get(id)),
    left.map(String),
  );
});

test('recent: what is asked for now and then stays, whatever comes', () => {
  const recent = new Recent<string>(100);
  recent.set(0, 'first');
  for (let id = 1; id < 1000; id++) {
    recent.set(id, String(id));
    assert.equal(recent.get(0), 'first');
  }
  assert.equal(recent.get(1), undefined);
});

test('record cache: its records take no more than the budget, though all of them are looked at again and again', () => {
  const budget = new RecordBudget(1 << 20);
  const cache = new RecordCache<StoredFact>(budget);
  const recordOf = (id: number): StoredFact => {
    const record = new StoredFact();
    record.load(encodeFact({ name: String(id), value: `"${'x'.repeat(1000)}"` }));
    return record;
  };
  const kept = (): StoredFact[] =>
    Array.from({ length: 5000 }, (_, id) => cache.get(id)).filter((record) => record !== undefined);
  for (let id = 0; id < 5000; id++) {
    cache.set(id, recordOf(id));
    if (id % 50 === 0) kept();
  }
  const bytes = kept().reduce((sum, { record }) => sum + record.size, 0);
  assert.ok(bytes > (1 << 20) / 4 && bytes <= 1 << 20, `${bytes} bytes are kept`);
  assert.equal(cache.get(4999)?.name, '4999');
  assert.ok(budget.forget() <= 1 << 20);
  assert.deepEqual(kept(), []);
});
