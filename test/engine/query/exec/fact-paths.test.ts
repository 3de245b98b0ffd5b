// Paths of facts in fact_paths: texts, in which keys and indexes can be told apart, but not every key from every other.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ask, type Fleet, facts, newFleet } from '../request/fleet.ts';

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  const values = { '': 1, ü: { '': 2 }, k: { '1': 'a', '"1"': 'b', '-1': 'c', '#~': 'd' }, list: [1] };
  fleet.apply('replace facts', 5, facts('a.example.com', values));
  fleet.apply('replace facts', 5, facts('b.example.com', { k: { '"1"': 5 } }));
});
after(() => fleet.close());

const found = (query?: unknown): string[] => {
  const { text } = ask(fleet, {
    path: '/fact-paths',
    query: query === undefined ? {} : { query: JSON.stringify(query) },
  });
  const rows = JSON.parse(text) as { path: unknown; type: string }[];
  return rows.map(({ path, type }) => `${JSON.stringify(path)} ${type}`).sort();
};
const BOTH = ['["k","1"] integer', '["k","1"] string'];

it('a path is found as it is shown', () => {
  assert.deepEqual(found(), [
    '["\\"\\""] integer',
    '["k","#~"] string',
    '["k","-1"] string',
    ...BOTH,
    '["list",0] integer',
    '["ü","\\"\\""] integer',
  ]);
  for (const path of [['""'], ['k', '#~'], ['k', '-1'], ['list', 0], ['ü', '""']]) {
    assert.equal(found(['=', 'path', path]).length, 1, JSON.stringify(path));
    assert.equal(found(['in', 'path', ['array', [path]]]).length, 1, JSON.stringify(path));
  }
});

it('paths that are the same text are one', () => {
  for (const path of [
    ['k', '1'],
    ['k', '"1"'],
  ]) {
    assert.deepEqual(found(['=', 'path', path]), BOTH);
    assert.deepEqual(found(['in', 'path', ['array', [path]]]), BOTH);
    assert.deepEqual(found(['~>', 'path', path]), BOTH);
  }
  assert.deepEqual(found(['=', 'path', ['']]), ['["\\"\\""] integer']);
  assert.deepEqual(found(['=', 'path', ['k', -1]]), ['["k","-1"] string']);
  assert.deepEqual(found(['=', 'path', ['k', 1]]), []);
});
