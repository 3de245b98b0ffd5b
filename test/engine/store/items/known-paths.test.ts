import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownPaths } from '../../../../engine/store/items/known-paths.ts';

test('known paths: each once with each type; elements of lists are not members of maps', () => {
  const known = new KnownPaths();
  const paths = [
    ['a'],
    ['a', 'b'],
    ['a', 0],
    ['a', '0'],
    ['a', 'b', 'c'],
    [''],
    ['', ''],
    ['__proto__', 'constructor'],
  ];
  for (const path of paths) {
    for (const type of ['string', 'json']) {
      assert.equal(known.add(type, path), true, JSON.stringify([type, path]));
      assert.equal(known.add(type, [...path]), false, JSON.stringify([type, path]));
    }
  }
  known.clear();
  for (const path of paths) assert.equal(known.add('string', path), true);
});

test('known paths: forgotten at some number, never taken for known that are not', () => {
  const known = new KnownPaths();
  for (let i = 0; i < 120_000; i++) assert.equal(known.add('string', ['fact', `member ${i}`]), true);
});

test('known paths: fewer are kept of long ones and of long names', () => {
  for (const [path, kept] of [
    [['a', 'b'], 1200],
    [Array.from({ length: 900 }, () => 0), 0],
    [['x'.repeat(100_000)], 0],
  ] as const) {
    const known = new KnownPaths();
    for (let i = 0; i < 1200; i++) known.add('string', [i, ...path]);
    let still = 0;
    for (let i = 0; i < 300; i++) if (!known.add('string', [i, ...path])) still++;
    assert.equal(still, Math.min(kept, 300));
  }
});
