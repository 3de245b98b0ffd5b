// Paths of facts as texts. In fact_paths keys and indexes can be told apart, but not every key from every other; what match()
// finds is a dotted field.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { recordsOf } from '../../../../engine/query/exec/row/global-records.ts';
import { ask, contextOptions, type Fleet, facts, newFleet } from '../request/fleet.ts';

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  const values = { '': 1, ü: { '': 2 }, k: { '1': 'a', '"1"': 'b', '-1': 'c', '#~': 'd' }, list: [1] };
  fleet.apply('replace facts', 5, facts('a.example.com', values));
  fleet.apply('replace facts', 5, facts('b.example.com', { k: { '"1"': 5 } }));
  fleet.apply('replace facts', 5, facts('c.example.com', { 'arr[0]': 'literal', 'arr[1]': 1, 'd.e[0]': ['in'] }));
  fleet.apply(
    'replace facts',
    5,
    facts('d.example.com', {
      arr: ['in', 2],
      'd.e': ['in'],
      'x\\y.z\\': 3,
      w: { '': 4 },
      deep: { map: { leaf: 'x' } },
    }),
  );
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
  assert.deepEqual(found(['~', 'path', '^(""|k#~|list|ü)']), [
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

const nodes = (query: unknown): string => {
  const asked = { path: '/inventory', query: { query: JSON.stringify(['extract', 'certname', query]) } };
  const rows = JSON.parse(ask(fleet, asked).text) as { certname: string }[];
  return rows.map(({ certname }) => certname[0]).join('');
};

it('what match() finds is read as a dotted field', () => {
  assert.equal(nodes(['=', 'facts.match("^arr")', 'literal']), '');
  assert.equal(nodes(['=', 'facts.match("^arr.0.$")', 'in']), 'd');
  assert.equal(nodes(['>=', 'facts.match("^arr.1.$")', 2]), 'd');
  assert.equal(nodes(['<', 'facts.match("^arr.1.$")', 2]), '');
  assert.equal(nodes(['~', 'facts.match("^arr.0.$")', 'in|literal']), 'd');
  assert.equal(nodes(['=', 'facts.match("^d.e.0.$")', 'in']), 'd');
  // What is no field is taken as it is.
  assert.equal(nodes(['=', 'facts.match("^x")', 3]), 'd');
  assert.equal(nodes(['=', 'facts.match("^w")', 4]), 'd');
});

it('what match() finds are leaves, and whole facts', () => {
  assert.equal(nodes(['=', 'facts.match("^k$")', { '"1"': 5 }]), 'b');
  assert.equal(nodes(['=', 'facts.match("^arr$")', ['in', 2]]), 'd');
  const map = JSON.stringify(['=', 'facts.match("^deep#~map$")', { leaf: 'x' }]);
  const { head, text } = ask(fleet, { path: '/inventory', query: { query: map } });
  assert.equal(head.status, 400);
  assert.match(text, /^No implementation of method/);
});

it('leaves are found by their own values, and by patterns for each part of their paths', () => {
  const contents = (query: unknown): string[] => {
    const { text } = ask(fleet, { path: '/fact-contents', query: { query: JSON.stringify(query) } });
    return (JSON.parse(text) as { path: unknown }[]).map(({ path }) => JSON.stringify(path)).sort();
  };
  const deep = JSON.stringify(['deep', 'map', 'leaf']);
  assert.deepEqual(contents(['and', ['=', 'name', 'deep'], ['in', 'value', ['array', ['x', 'y']]]]), [deep]);
  assert.deepEqual(contents(['~>', 'path', ['d..p', 'm.p', '.*']]), [deep]);
  assert.deepEqual(contents(['~>', 'path', ['^d', '.*', 'l[aeiou]af']]), [deep]);
  assert.deepEqual(contents(['~>', 'path', ['eep', '.*', 'leaf']]), [deep]);
});

for (const entity of ['fact_names', 'fact_paths'] as const)
  it(`${entity}: a query pauses among paths that it has met in another partition`, async () => {
    const alike = newFleet();
    const values = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, i]));
    for (let i = 0; i < 8; i++) alike.apply('replace facts', 5, facts(`n${i}.example.com`, values));
    const ctx = new ExecContext(alike.partitions, contextOptions);
    try {
      assert.ok(ctx.views.every(({ counts }) => counts.nodes > 0));
      const records = [...recordsOf(entity, ctx.views, () => {})];
      assert.equal(records.filter((record) => record !== null).length, 100);
      assert.equal(records.length, 200);
    } finally {
      ctx.close();
      await alike.close();
    }
  });
