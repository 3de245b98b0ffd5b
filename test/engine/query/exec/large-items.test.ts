// Items that take long to look at, each as long as many others: a slice of work ends behind one of them, not behind as many as of small ones.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { ask, contextOptions, type Fleet, facts, NOW, newFleet } from '../request/fleet.ts';

const FACTS = 24;
/** More than are looked at one by one. */
const NODES = 40;
const LEAVES = 500;
/** Bytes of a long text. */
const LENGTH = 160_000;

let fleet: Fleet;
before(() => {
  fleet = newFleet(undefined, 1);
  const valuesOf = (make: (fact: number) => unknown) =>
    Object.fromEntries(Array.from({ length: FACTS }, (_, fact) => [`fact${fact}`, make(fact)]));
  fleet.apply(
    'replace facts',
    5,
    facts(
      'long',
      valuesOf((fact) => 'x'.repeat(LENGTH + fact)),
    ),
  );
  for (let node = 0; node < NODES; node++) {
    fleet.apply('replace facts', 5, facts(`node${node}`, { own: 'x'.repeat(LENGTH + node) }));
  }
  const manyLeaves = (fact: number) => Array.from({ length: LEAVES }, (_, leaf) => leaf * FACTS + fact);
  fleet.apply('replace facts', 5, facts('wide', valuesOf(manyLeaves)));
});
after(() => fleet.close());

/** Steps that the answer takes when each ends as soon as it may. */
function stepsOf(path: string, query: unknown, asked = fleet, more: Record<string, string> = {}): number {
  let steps = 0;
  const request = { path, query: { query: JSON.stringify(query), ...more }, store: { slice: 0 } };
  const { head, text } = ask(asked, { ...request, after: () => steps++ });
  assert.equal(head.status, 200, text);
  return steps;
}

const FEW_NODES = Array.from({ length: FACTS }, (_, node) => `node${node}`);
const of = (certname: string) => ['=', 'certname', certname];
const fails = ['~', 'value', 'x+y'];
const passes = ['~', 'value', '^x+$'];

const QUERIES: readonly [string, string, unknown][] = [
  ['long values of a node, none of which passes', '/facts', ['and', of('long'), fails]],
  ['long values of all nodes, none of which passes', '/facts', fails],
  ['long values, none of which passes, or those of a node', '/facts', ['or', of('none'), fails]],
  ['long values that are counted', '/facts', ['extract', [['function', 'count']], ['and', of('long'), passes]]],
  ['long values in groups', '/facts', ['extract', [['function', 'count'], 'name'], passes, ['group_by', 'name']]],
  ['long values within a subquery', '/nodes', ['in', 'certname', ['extract', 'certname', ['select_facts', fails]]]],
  [
    'long values of a node within a subquery',
    '/nodes',
    ['in', 'certname', ['extract', 'certname', ['select_facts', ['and', of('long'), fails]]]],
  ],
  ['long values of the fact of a name', '/nodes', ['~', ['fact', 'own'], 'x+y']],
  ['those of few nodes', '/nodes', ['and', ['in', 'certname', ['array', FEW_NODES]], ['~', ['fact', 'own'], 'x+y']]],
  [
    'long values that a path leads into',
    '/inventory',
    ['extract', ['certname', 'facts.own.none'], ['~', 'certname', '^n']],
  ],
  [
    'the same in groups',
    '/inventory',
    ['extract', [['function', 'count'], 'facts.own.none'], ['~', 'certname', '^n'], ['group_by', 'facts.own.none']],
  ],
  ['leaves that are counted', '/fact-contents', ['extract', [['function', 'count']], of('wide')]],
  [
    'leaves in groups',
    '/fact-contents',
    ['extract', [['function', 'count'], 'name'], of('wide'), ['group_by', 'name']],
  ],
  [
    'leaves of all nodes in groups',
    '/fact-contents',
    ['extract', [['function', 'count'], 'name'], ['>', 'value', 1], ['group_by', 'name']],
  ],
  ['leaves, none of which passes', '/fact-contents', ['and', of('wide'), ['~', 'value', 'y']]],
];

describe('large items: slices', () => {
  for (const [what, path, query] of QUERIES) {
    it(what, () => {
      const steps = stepsOf(path, query);
      assert.ok(steps >= FACTS, `${steps} steps`);
    });
  }
});

it('items of many nodes each, in groups by node: slices end behind one of them', async () => {
  const nodes = 320;
  const names = Array.from({ length: 40 }, (_, name) => `shared${name}`);
  const many = newFleet(undefined, 1);
  try {
    for (let node = 0; node < nodes; node++) {
      many.apply('replace facts', 5, facts(`node${node}`, Object.fromEntries(names.map((name) => [name, name]))));
    }
    const groups = ['extract', [['function', 'count'], 'certname', 'name'], ['in', 'name', ['array', names]]];
    const steps = stepsOf('/facts', [...groups, ['group_by', 'certname', 'name']], many, { limit: '1' });
    assert.ok(steps >= names.length / 4, `${steps} steps`);
  } finally {
    await many.close();
  }
});

it('patterns that are compiled: a slice that is over ends with the next row', () => {
  let now = NOW;
  const ctx = new ExecContext(fleet.partitions, { ...contextOptions, clock: () => now, slice: 5 });
  try {
    now += 6;
    // As many short ones as are compiled between two looks at the clock.
    for (let i = 0; i <= 250; i++) ctx.regex(`x${i}`);
    assert.equal(ctx.tickRow(), true);
  } finally {
    ctx.close();
  }
});
