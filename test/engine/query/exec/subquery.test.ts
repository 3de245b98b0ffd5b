// Nodes of subqueries about items: the same whether the items' nodes are looked up or the nodes' lists are read until the first of
// them, which is done where the items may be very many.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ask, catalog, type Fleet, facts, newFleet, planOf } from '../request/fleet.ts';

const NODES = 30;
const OWN = 40;

let fleet: Fleet;

const nameOf = (node: number): string => `n${String(node).padStart(2, '0')}.example.com`;

/** Resources of one node only, but for one: those of every third node have a tag and a file that others have not. */
function resourcesOf(node: number) {
  const isTagged = node % 3 === 0;
  const own = Array.from({ length: OWN }, (_, n) => ({
    type: n % 2 === 0 ? 'File' : 'Exec',
    title: `${node} ${n}`,
    exported: false,
    tags: isTagged && n % 10 === 9 ? ['tagged'] : [],
    file: isTagged ? '/site/tagged.pp' : '/site/other.pp',
    line: n,
    parameters: {},
  }));
  return [...own, { ...own[0]!, title: 'shared', tags: [], file: null, line: null }];
}

before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES; i++) {
    const certname = nameOf(i);
    fleet.apply('replace catalog', 9, { ...catalog(certname), edges: [], resources: resourcesOf(i) });
  }
});
after(() => fleet.close());

const subquery = (filter: unknown): unknown => [
  'in',
  'certname',
  ['extract', 'certname', ['select_resources', filter]],
];

function nodesWith(query: unknown): string[] {
  const { head, text } = ask(fleet, { path: '/nodes', query: { query: JSON.stringify(query) } });
  assert.equal(head.status, 200, text);
  return (JSON.parse(text) as { certname: string }[]).map(({ certname }) => certname).sort();
}

/** What the subquery's items were found by, in each partition. */
const drives = (filter: unknown): (string | undefined)[] =>
  planOf(fleet, {
    path: '/nodes',
    query: { query: JSON.stringify(subquery(filter)) },
  }).Plan!.Subqueries[0]!.Partitions.map(({ drive }) => drive);

it('of nodes that have any item the first one is looked at', () => {
  fleet.apply('replace catalog', 9, { ...catalog('nothing'), edges: [], resources: [] });
  const any = (selected: string): unknown => ['in', 'certname', ['extract', 'certname', [selected]]];
  assert.equal(nodesWith(any('select_resources')).length, NODES);
  assert.deepEqual(nodesWith(any('select_edges')), []);
  const query = JSON.stringify(any('select_resources'));
  const { Steps: steps } = planOf(fleet, { path: '/nodes', query: { query } }).Plan!.Subqueries[0]!;
  const scanned = steps.filter(({ step }) => step === 'scan').reduce((sum, step) => sum + step['actual rows'], 0);
  assert.equal(scanned, NODES);
  fleet.apply('deactivate node', 3, { certname: 'nothing', producer_timestamp: '2026-11-20T01:00:00.000Z' });
});

it('nodes are those that have one of the items, however the items are found', () => {
  const names = Array.from({ length: NODES }, (_, i) => nameOf(i));
  const tagged = names.filter((_, i) => i % 3 === 0);
  const cases: readonly (readonly [unknown, readonly string[], string])[] = [
    [['=', 'tag', 'tagged'], tagged, 'nodes'],
    [['~', 'file', 'tagged'], tagged, 'nodes'],
    [['=', 'type', 'Exec'], names, 'nodes'],
    [['and', ['=', 'type', 'Exec'], ['~', 'file', 'tagged']], tagged, 'nodes'],
    [['and', ['=', 'type', 'File'], ['=', 'tag', 'tagged']], [], 'nodes'],
    [
      ['and', ['~', 'certname', '^n[01]'], ['~', 'file', 'tagged']],
      tagged.filter((name) => /^n[01]/.test(name)),
      'nodes',
    ],
    [['=', 'title', 'shared'], names, 'items'],
    [['=', 'title', '3 9'], [nameOf(3)], 'items'],
  ];
  for (const [filter, wanted, drive] of cases) {
    const told = JSON.stringify(filter);
    assert.deepEqual(nodesWith(subquery(filter)), wanted, told);
    assert.deepEqual(
      nodesWith(['not', subquery(filter)]),
      names.filter((name) => !wanted.includes(name)),
      told,
    );
    assert.deepEqual(drives(filter), [drive, drive], told);
  }
});

it('nodes of a page are those of its rows', () => {
  const names = Array.from({ length: NODES }, (_, i) => nameOf(i));
  const page = (...paging: readonly unknown[]): unknown => [
    'in',
    'certname',
    ['from', 'inventory', ['extract', ['certname']], ['order_by', ['certname']], ...paging],
  ];
  for (let i = 0; i < NODES; i++) fleet.apply('replace facts', 5, facts(nameOf(i), {}));
  assert.deepEqual(nodesWith(page()), names);
  assert.deepEqual(nodesWith(page(['limit', 3])), names.slice(0, 3));
  assert.deepEqual(nodesWith(page(['offset', 25])), names.slice(25));
  assert.deepEqual(nodesWith(page(['limit', 3], ['offset', 7])), names.slice(7, 10));
});

it('nodes that have no rows of their own are no rows', () => {
  fleet.apply('replace catalog', 9, catalog('bare'));
  const titled = ['in', 'certname', ['extract', 'certname', ['select_resources', ['=', 'title', '/etc/motd']]]];
  const found = (path: string): unknown => {
    const query = JSON.stringify(['extract', 'certname', ['and', ['=', 'node_state', 'any'], titled]]);
    return JSON.parse(ask(fleet, { path, query: { query } }).text);
  };
  assert.deepEqual(found('/nodes'), [{ certname: 'bare' }]);
  assert.deepEqual(found('/inventory'), []);
});

it('certnames that stand elsewhere are names of nodes, too', () => {
  const certname = nameOf(4);
  const titled = { type: 'Node', title: nameOf(7), exported: false, tags: [], file: null, line: null, parameters: {} };
  fleet.apply('replace catalog', 9, { ...catalog(certname), edges: [], resources: [...resourcesOf(4), titled] });
  const titles = (filter: unknown): unknown => ['in', 'certname', ['extract', 'title', ['select_resources', filter]]];
  assert.deepEqual(nodesWith(titles(['=', 'type', 'Node'])), [nameOf(7)]);
  assert.deepEqual(nodesWith(titles(['=', 'type', 'File'])), []);
});

it('what is null everywhere is among nothing, and nothing is known not to be among it', () => {
  const files = (filter: unknown): unknown => ['in', 'file', ['extract', 'file', ['select_resources', filter]]];
  const rows = (filter: unknown): number => {
    const query = JSON.stringify(['and', ['=', 'certname', nameOf(1)], filter]);
    return (JSON.parse(ask(fleet, { path: '/resources', query: { query } }).text) as unknown[]).length;
  };
  const [none, other] = [files(['=', 'title', 'shared']), files(['=', 'title', '1 0'])];
  assert.deepEqual([rows(none), rows(['not', none])], [0, 0]);
  assert.deepEqual([rows(other), rows(['not', other])], [OWN, 0]);
});

it('of a page without an order no more rows are looked at than lead to its end', () => {
  const page = ['from', 'resources', ['extract', 'certname'], ['limit', 5], ['offset', 2]];
  const query = ['in', 'certname', page];
  assert.ok(nodesWith(query).length > 0);
  const { Steps: steps } = planOf(fleet, { path: '/nodes', query: { query: JSON.stringify(query) } }).Plan!
    .Subqueries[0]!;
  const scanned = steps.find(({ step }) => step === 'scan')!;
  assert.equal(scanned['actual rows'], 7);
});
