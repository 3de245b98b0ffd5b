// What a path leads to in facts is kept for items that several nodes have: it must be what the node's own facts say.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Random, testSeed } from '../../../../support/random.ts';
import { ask, type Fleet, facts, newFleet } from '../../request/fleet.ts';

let fleet: Fleet;
const values = new Map<string, Record<string, unknown>>();

before(() => {
  fleet = newFleet();
  const random = new Random(testSeed('fact-member'));
  const inner = [undefined, null, 'a', 'b', 7, true, ['x', 'y'], { deep: 1 }, { deep: 'a' }];
  for (let number = 0; number < 120; number++) {
    const certname = `n${number}.example.com`;
    const own: Record<string, unknown> = {};
    // Other facts before it, so that it is not always at the same place.
    for (const name of ['aaa', 'bbb', 'zzz']) if (random.below(2) === 0) own[name] = random.below(3);
    const value = inner[random.below(inner.length)];
    const shape = random.below(5);
    if (shape === 0) own['os'] = value ?? 'text';
    else if (shape < 4) own['os'] = { ...(value === undefined ? {} : { family: value }), name: shape };
    values.set(certname, own);
    fleet.apply('replace facts', 5, facts(certname, own));
  }
});
after(() => fleet.close());

const rows = (query: string): Record<string, unknown>[] =>
  JSON.parse(ask(fleet, { path: '', query: { query } }).text) as Record<string, unknown>[];

const familyOf = (certname: string): unknown => {
  const os = values.get(certname)!['os'];
  return typeof os === 'object' && os !== null && !Array.isArray(os)
    ? (os as Record<string, unknown>)['family']
    : undefined;
};
const names = [...Array(120).keys()].map((number) => `n${number}.example.com`);

it('as a column', () => {
  const found = rows('inventory[certname, facts.os.family]{ order by certname }');
  assert.equal(found.length, 120);
  for (const row of found) {
    assert.deepEqual(row['facts.os.family'], familyOf(row['certname'] as string) ?? null, row['certname'] as string);
  }
});

it('in conditions that look at each node', () => {
  for (const wanted of ['a', 'b']) {
    const found = rows(`inventory[certname]{ facts.os.family = "${wanted}" or certname = "none" }`);
    assert.deepEqual(
      found.map(({ certname }) => certname).sort(),
      names.filter((name) => familyOf(name) === wanted).sort(),
    );
  }
});

it('as what rows are grouped by', () => {
  const expected = new Map<string, number>();
  for (const name of names) {
    const family = familyOf(name);
    // Nothing there is another group than null.
    const key = family === undefined ? 'nothing' : JSON.stringify(family);
    expected.set(key, (expected.get(key) ?? 0) + 1);
  }
  const found = rows('inventory[facts.os.family, count()]{ group by facts.os.family }');
  assert.equal(found.length, expected.size);
  const counts = (list: Iterable<number>): number[] => [...list].sort((a, b) => a - b);
  assert.deepEqual(counts(found.map(({ count }) => count as number)), counts(expected.values()));
  for (const row of found) {
    const key = JSON.stringify(row['facts.os.family']);
    if (key !== 'null') assert.equal(row['count'], expected.get(key), key);
  }
});
