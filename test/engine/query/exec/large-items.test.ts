// Items that take long to look at, each as long as many others: a slice of work ends behind one of them, not behind as many as of small ones.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ask, type Fleet, facts, newFleet } from '../request/fleet.ts';

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
function stepsOf(path: string, query: unknown): number {
  let steps = 0;
  const asked = { path, query: { query: JSON.stringify(query) }, store: { slice: 0 } };
  const { head, text } = ask(fleet, { ...asked, after: () => steps++ });
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
