// Groups by fields of the node and of the item: whichever way they are counted they are those of all rows, and pages of groups in the
// order of certnames end the visit of nodes.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ask, catalog, type Fleet, facts, newFleet, planOf } from '../../request/fleet.ts';

const NODES = 60;
const TYPES = ['File', 'Package', 'Service', 'User', 'Exec'];
const OWN = 'own of ';

type Row = Readonly<Record<string, string | number | boolean | null>>;

let fleet: Fleet;

const nameOf = (node: number): string => `n${String(node).padStart(2, '0')}.example.com`;
const environmentOf = (node: number): string => (node % 7 === 0 ? 'staging' : 'production');

/** Resources that the nodes share, one of each node's own, and one that few have. */
function resourcesOf(node: number) {
  const shared = Array.from({ length: 30 }, (_, n) => ({
    type: TYPES[n % TYPES.length]!,
    title: `t${n}`,
    exported: n % 9 === 0,
    tags: [`tag${n % 3}`],
    file: n % 11 === 0 ? null : `/site/${n % 4}.pp`,
    line: n % 11 === 0 ? null : (n * 13) % 17,
    parameters: { mode: String(n % 2) },
  }));
  const own = { ...shared[1]!, title: `${OWN}${node}`, line: 1000 + node };
  const rare = node % 20 === 0 ? [{ ...shared[2]!, title: 'rare' }] : [];
  return [...shared, own, ...rare];
}

before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES; i++) {
    const certname = nameOf(i);
    const packages = Array.from({ length: 40 }, (_, n) => [
      `p${n}`,
      `${1 + ((n + i) % 3)}.0`,
      n % 5 < 2 ? 'gem' : 'apt',
    ]);
    const values = {
      ...Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`fact${n}`, n % 5 === 0 ? i : n % 7])),
      size: i % 2 === 0 ? 1.5 : i % 3,
      os: { family: i % 4 === 0 ? 'RedHat' : 'Debian', release: { major: String(i % 3), minor: String(i % 2) } },
    };
    fleet.apply('replace facts', 5, { ...facts(certname, values, environmentOf(i)), package_inventory: packages });
    const edges = [0, 1, 2, 3].map((n) => ({
      source: { type: TYPES[0], title: 't0' },
      target: { type: TYPES[n + 1], title: `t${n + 1}` },
      relationship: (n + i) % 2 === 0 ? 'before' : 'notifies',
    }));
    const environment = environmentOf(i);
    fleet.apply('replace catalog', 9, { ...catalog(certname), environment, edges, resources: resourcesOf(i) });
  }
  // Of which there are no rows.
  const nothing = { ...catalog('nothing'), environment: 'empty', edges: [], resources: [] };
  fleet.apply('replace catalog', 9, nothing);
});
after(() => fleet.close());

interface Case {
  readonly path: string;
  readonly by: readonly string[];
  readonly query?: unknown;
}

function answer(path: string, query: unknown, parameters: Record<string, string> = {}): Row[] {
  const { head, text } = ask(fleet, { path, query: { query: JSON.stringify(query), ...parameters } });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as Row[];
}

const extract = (columns: readonly unknown[], query: unknown, by: readonly string[] = []) => [
  'extract',
  columns,
  ...(query === undefined ? [] : [query]),
  ...(by.length === 0 ? [] : [['group_by', ...by]]),
];

/** The groups and how many rows they have, found in the rows themselves. */
function counted({ path, by, query }: Case): Map<string, number> {
  const groups = new Map<string, number>();
  // Without a condition a projection is asked for as `extract` wants it.
  for (const row of answer(path, extract(by, query ?? ['~', 'certname', '.']))) {
    const key = JSON.stringify(by.map((field) => row[field]));
    groups.set(key, (groups.get(key) ?? 0) + 1);
  }
  return groups;
}

const resources = (by: readonly string[], query?: unknown): Case => ({
  path: '/resources',
  by,
  ...(query !== undefined && { query }),
});
const cases: readonly Case[] = [
  resources(['certname']),
  resources(['environment']),
  resources(['certname', 'environment']),
  resources(['certname', 'type']),
  resources(['type', 'environment', 'exported']),
  resources(['environment', 'title', 'line']),
  resources(['certname', 'title']),
  resources(['certname'], ['=', 'type', 'Exec']),
  resources(['certname'], ['~', 'title', 't1']),
  resources(['certname', 'type'], ['=', 'title', 'rare']),
  resources(['environment', 'line'], ['=', 'title', 'rare']),
  resources(['certname', 'file'], ['and', ['=', 'environment', 'staging'], ['=', 'exported', false]]),
  resources(['environment', 'type'], ['~', 'file', '[12]']),
  resources(['environment', 'title'], ['=', 'tag', 'tag1']),
  { path: '/package-inventory', by: ['certname', 'provider'] },
  { path: '/package-inventory', by: ['certname', 'version'], query: ['~', 'package_name', '1$'] },
  { path: '/facts', by: ['environment', 'name'] },
  { path: '/facts', by: ['certname', 'value'], query: ['~', 'name', '^fact1'] },
  { path: '/facts', by: ['environment', 'value'], query: ['=', 'name', 'fact5'] },
  { path: '/fact-contents', by: ['certname', 'name'], query: ['=', 'name', 'os'] },
  { path: '/fact-contents', by: ['environment', 'path', 'value'] },
  { path: '/edges', by: ['certname', 'relationship'] },
  { path: '/edges', by: ['relationship', 'certname', 'target_type'], query: ['=', 'source_type', 'File'] },
];

it('groups by the node and the item have the rows that all rows show', () => {
  for (const one of cases) {
    const { path, by, query } = one;
    const groups = answer(path, extract([...by, ['function', 'count']], query, by));
    const found = new Map(groups.map((row) => [JSON.stringify(by.map((field) => row[field])), row['count'] as number]));
    const told = JSON.stringify(one);
    assert.equal(found.size, groups.length, told);
    assert.deepEqual([...found].sort(), [...counted(one)].sort(), told);
  }
});

it('functions of both sides are those of the rows', () => {
  const fn = (name: string, field: string) => ['function', name, field];
  const by = ['environment', 'type'];
  const columns = [
    fn('max', 'certname'),
    fn('min', 'title'),
    fn('sum', 'line'),
    fn('max', 'line'),
    fn('count', 'file'),
  ];
  const rows = answer('/resources', extract([...by, 'certname', 'title', 'line', 'file'], ['~', 'certname', '.']));
  for (const group of answer('/resources', extract([...by, ...columns], undefined, by))) {
    const own = rows.filter((row) => by.every((field) => row[field] === group[field]));
    const texts = (field: string) => own.map((row) => row[field] as string).sort();
    const lines = own.flatMap(({ line }) => (line === null ? [] : [line as number]));
    assert.equal(group['max'], texts('certname').at(-1));
    assert.equal(group['min'], texts('title')[0]);
    assert.equal(
      group['sum'],
      lines.reduce((sum, line) => sum + line, 0),
    );
    assert.equal(group['max_2'], Math.max(...lines));
    assert.equal(group['count'], own.filter(({ file }) => file !== null).length);
  }
});

it('functions see decimals of equal values as they are written', () => {
  const query = extract(
    [['function', 'sum', 'value'], ['function', 'max', 'certname'], 'environment'],
    ['=', 'name', 'size'],
    ['environment'],
  );
  const sizes = Array.from({ length: NODES }, (_, i) => ({ i, size: i % 2 === 0 ? 1.5 : i % 3 }));
  for (const { sum, environment } of answer('/facts', query)) {
    const own = sizes.filter(({ i }) => environmentOf(i) === environment);
    assert.equal(
      sum,
      own.reduce((total, { size }) => total + size, 0),
    );
  }
});

it('pages of groups are those of all groups, and no more nodes are looked at than they need', () => {
  for (const { path, by, query } of [
    ...cases.filter((one) => one.by[0] === 'certname'),
    // Rows that are no items.
    { path: '/inventory', by: ['certname', 'environment'] },
    { path: '/resources', by: ['certname', 'tags'], query: ['=', 'type', 'User'] },
  ]) {
    for (const direction of ['asc', 'desc']) {
      const columns = [...by, ['function', 'count']];
      const terms = by.map((field, i) => ({ field, order: i === 0 ? direction : 'asc' }));
      const ordered = { order_by: JSON.stringify(by.includes('tags') ? terms.slice(0, 1) : terms) };
      const all = answer(path, extract(columns, query, by), ordered);
      for (const [limit, offset] of [
        [1, 0],
        [5, 3],
        [10, 50],
        [10, all.length - 3],
        [10, all.length + 1],
      ] as const) {
        const page = answer(path, extract(columns, query, by), { ...ordered, limit: `${limit}`, offset: `${offset}` });
        const told = `${path} ${by.join()} ${direction} ${limit} ${offset}`;
        assert.deepEqual(page, all.slice(offset, offset + limit), told);
      }
    }
  }
  const scanned = (path: string, by: readonly string[], query?: unknown): number => {
    const page = { order_by: JSON.stringify([{ field: 'certname' }]), limit: '5' };
    const asked = JSON.stringify(extract([...by, ['function', 'count']], query, by));
    return planOf(fleet, { path, query: { query: asked, ...page } })
      .Plan!.Steps.filter(({ step }) => step === 'scan')
      .reduce((sum, step) => sum + step['actual rows']!, 0);
  };
  // Each of the five nodes has one group of six rows, or of one.
  assert.equal(scanned('/resources', ['certname', 'type'], ['=', 'type', 'Exec']), 5 * 6);
  assert.equal(scanned('/inventory', ['certname']), 5);
});

it('the cheapest way to count is taken', () => {
  const ways = (query: string): (string | undefined)[] =>
    planOf(fleet, { query: { query } }).Plan!.Partitions.map(({ counted: way }) => way?.weights);
  const both = (way: string) => [way, way];
  assert.deepEqual(ways('resources[certname, count()] { group by certname }'), both('total'));
  assert.deepEqual(ways('resources[certname, type, count()] { group by certname, type }'), both('lists'));
  assert.deepEqual(ways('resources[certname, count()] { title = "rare" group by certname }'), both('postings'));
  // Each of its rows is told, where an item has several.
  const leaves = 'fact_contents[certname, count()] { name = "os" group by certname }';
  assert.deepEqual(ways(leaves), both('postings'));
  const { Steps: steps } = planOf(fleet, { query: { query: leaves } }).Plan!;
  assert.equal(
    steps.filter(({ step }) => step === 'scan').reduce((sum, step) => sum + step['actual rows'], 0),
    NODES * 3,
  );
});

it('more different items than are remembered are counted all the same', async () => {
  const ITEMS = 66_000;
  // In one partition, where what is known of an item must not outlast it.
  const many = newFleet(undefined, 1);
  const values = Object.fromEntries(Array.from({ length: ITEMS }, (_, i) => [`f${i}`, i]));
  for (const certname of ['one', 'two']) many.apply('replace facts', 5, facts(certname, values, 'many'));
  const sum = (ITEMS * (ITEMS - 1)) / 2;
  const asked = (by: string, ...columns: readonly string[]): readonly Row[] => {
    const query = `facts[${[by, ...columns].join()}] { group by ${by} }`;
    const { text } = ask(many, { path: '', query: { query } });
    return (JSON.parse(text) as Row[]).sort((a, b) => (a['certname']! < b['certname']! ? -1 : 1));
  };
  const both = { environment: 'many', count: 2 * ITEMS, sum: 2 * sum };
  assert.deepEqual(asked('environment', 'count()', 'sum(value)'), [both]);
  const ofEach = (row: Row): readonly Row[] => [
    { certname: 'one', ...row },
    { certname: 'two', ...row },
  ];
  assert.deepEqual(asked('certname', 'count()', 'sum(value)'), ofEach({ count: ITEMS, sum }));
  // Names take few values mostly: of each of them one item is looked at.
  assert.deepEqual(asked('certname', 'count()', 'max(name)'), ofEach({ count: ITEMS, max: 'f9999' }));
  await many.close();
});
