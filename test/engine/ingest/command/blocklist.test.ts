import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { factsFilter } from '../../../../engine/ingest/command/blocklist.ts';
import { processorTime } from '../../../support/processor-time.ts';

const facts = {
  'db1-secret': 'x',
  instance_id: 'i',
  'a.b': 1,
  a: { b: 2, c: { b: 3 } },
  trusted: { extensions: { pp_id: 'z' } },
};

describe('facts that are not stored', () => {
  test('a literal entry is a name, with dots also a path', () => {
    assert.deepEqual(factsFilter(['instance_id', 'pp_id', 'a.b'], 'literal')(facts), {
      'db1-secret': 'x',
      a: { c: { b: 3 } },
      trusted: facts.trusted,
    });
  });

  test('a pattern matches whole names at the top, and nothing within values', () => {
    const { instance_id: _, ...others } = facts;
    assert.deepEqual(factsFilter(['.*_id', 'b', 'secret'], 'regex')(facts), others);
  });

  test('a pattern that asks for a dot matches paths, too', () => {
    for (const pattern of ['a\\.(.*\\.)?b', 'a[.](.*[.])?b'])
      assert.deepEqual(factsFilter([pattern, '.*_id'], 'regex')(facts), {
        'db1-secret': 'x',
        a: { c: {} },
        trusted: facts.trusted,
      });
  });

  test('a pattern is read as Java reads it', () => {
    const { 'db1-secret': _, ...others } = facts;
    assert.deepEqual(factsFilter(['\\p{Alnum}+-secret'], 'regex')(facts), others);
  });

  test('many values of one map go in time that grows with their number', () => {
    const packages = Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`p${i}`, { arch: 'x', version: i }]));
    const spent = processorTime();
    const kept = factsFilter(['packages\\..*\\.arch'], 'regex')({ packages }) as { packages: object };
    assert.ok(spent() < 3000);
    assert.deepEqual(Object.values(kept.packages)[7], { version: 7 });
    assert.equal(Object.keys(kept.packages).length, 8000);
  });

  test('nothing blocked: the same object', () => {
    assert.equal(factsFilter([], 'literal')(facts), facts);
    assert.equal(factsFilter(['x.y', 'b'], 'literal')(facts), facts);
    assert.equal(factsFilter(['x\\.y', 'b'], 'regex')(facts), facts);
  });
});
