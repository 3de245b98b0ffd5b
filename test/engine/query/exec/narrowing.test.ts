// Pages of rows in the order of a field of the shared item: they are those that sorting all rows would give, they fit together, and rows
// that cannot be on the page are not looked at.

import assert from 'node:assert/strict';
import { after, before, it, mock } from 'node:test';
import { SUB_KINDS } from '../../../../engine/query/exec/row/sub-rows.ts';
import { RecordReader } from '../../../../engine/store/items/dictionary-view.ts';
import { TextRecord } from '../../../../engine/store/records/fields.ts';
import { ask, catalog, type Fleet, facts, newFleet, planOf } from '../request/fleet.ts';

const NODES = 130;
const TYPES = ['File', 'Package', 'Service', 'User', 'Exec'];

type Row = Readonly<Record<string, string | number | boolean | null>>;

let fleet: Fleet;

/** 50 resources that the nodes share, and one of each node's own; some without a file, some exported. */
function resourcesOf(node: number) {
  const shared = Array.from({ length: 50 }, (_, n) => ({
    type: TYPES[n % TYPES.length]!,
    title: `t${(n * 7) % 50}`,
    exported: n % 9 === 0,
    tags: [],
    file: n % 11 === 0 ? null : `/site/${n % 4}.pp`,
    line: n % 11 === 0 ? null : (n * 13) % 40,
    parameters: {},
  }));
  return [...shared, { ...shared[1]!, title: `own ${node}`, exported: false, line: 1000 + node }];
}

before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES; i++) {
    const certname = `n${i}.example.com`;
    const packages = Array.from({ length: 45 }, (_, n) => [`p${n % 40}`, `${1 + ((n + i) % 3)}.0`, 'apt']);
    const values = Object.fromEntries(Array.from({ length: 45 }, (_, n) => [`fact${n}`, n % 5 === 0 ? i : n % 7]));
    fleet.apply('replace facts', 5, { ...facts(certname, values), package_inventory: packages });
    const edges = [0, 1].map((n) => ({
      source: { type: TYPES[n], title: `t${n * 7}` },
      target: { type: TYPES[n + 1], title: `t${n * 7 + 7}` },
      relationship: 'before',
    }));
    fleet.apply('replace catalog', 9, { ...catalog(certname), edges, resources: resourcesOf(i) });
  }
});
after(() => fleet.close());

interface Case {
  readonly path: string;
  /** Fields that tell the rows apart; the first of a case's order goes before them. */
  readonly rest: readonly string[];
  readonly by: string;
  readonly query?: string;
}

const RESOURCE = ['certname', 'type', 'title'];
const cases: readonly Case[] = [
  ...['type', 'title', 'file', 'line', 'exported'].map((by) => ({ path: '/resources', by, rest: RESOURCE })),
  { path: '/resources', by: 'title', rest: RESOURCE, query: '["=", "type", "Package"]' },
  { path: '/resources', by: 'file', rest: RESOURCE, query: '["~", "certname", "^n[1-9]"]' },
  { path: '/resources', by: 'line', rest: RESOURCE, query: '["or", ["=", "exported", true], ["null?", "file", true]]' },
  ...['package_name', 'version', 'provider'].map((by) => ({
    path: '/package-inventory',
    by,
    rest: ['certname', 'package_name', 'version'],
  })),
  { path: '/facts', by: 'name', rest: ['certname', 'name'] },
  { path: '/facts', by: 'value', rest: ['certname', 'name'] },
  { path: '/edges', by: 'source_type', rest: ['certname', 'source_title'] },
  // More than one field of the item, or of its sub-rows, in front.
  { path: '/resources', by: 'type', rest: ['title', 'certname'] },
  { path: '/resources', by: 'exported', rest: ['type', 'title', 'certname'] },
  { path: '/package-inventory', by: 'provider', rest: ['package_name', 'version', 'certname'] },
  { path: '/facts', by: 'name', rest: ['value', 'certname'] },
  { path: '/facts', by: 'value', rest: ['name', 'certname'], query: '["~", "name", "[37]$"]' },
  { path: '/edges', by: 'target_type', rest: ['certname', 'target_title'] },
  { path: '/edges', by: 'target_title', rest: ['source_title', 'certname'] },
  { path: '/fact-contents', by: 'name', rest: ['certname', 'value'] },
  { path: '/fact-contents', by: 'value', rest: ['certname', 'name'] },
  { path: '/fact-contents', by: 'value', rest: ['name', 'certname'], query: '[">", "value", 3]' },
];

function rows({ path, query }: Case, parameters: Record<string, string>): { rows: Row[]; total: number | null } {
  const { head, text } = ask(fleet, { path, query: { ...(query === undefined ? {} : { query }), ...parameters } });
  assert.equal(head.status, 200, text);
  const total = head.headers.find(([name]) => name === 'X-Records')?.[1];
  return { rows: JSON.parse(text) as Row[], total: total === undefined ? null : Number(total) };
}

const orderBy = (fields: readonly string[], order: string): string =>
  JSON.stringify(fields.map((field, index) => ({ field, order: index === 0 ? order : 'asc' })));

function compare(a: Row, b: Row, fields: readonly string[], sign: number): number {
  for (const [index, field] of fields.entries()) {
    const [x, y] = [a[field] ?? null, b[field] ?? null];
    if (x === y) continue;
    // Nulls are last, and first where the order is turned.
    const c = x === null ? 1 : y === null ? -1 : x < y ? -1 : 1;
    return index === 0 ? sign * c : c;
  }
  return 0;
}

it('pages are those of all rows sorted, whatever the field, the direction, the condition and the total', () => {
  for (const one of cases) {
    const fields = [one.by, ...one.rest];
    const all = rows(one, {}).rows;
    for (const [order, sign] of [
      ['asc', 1],
      ['desc', -1],
    ] as const) {
      const sorted = all.toSorted((a, b) => compare(a, b, fields, sign));
      for (const [limit, offset] of [
        [1, 0],
        [40, 130],
        [7, 1100],
        [3, 2600],
        [10, all.length - 5],
        [10, all.length + 5],
      ] as const) {
        const page = { order_by: orderBy(fields, order), limit: `${limit}`, offset: `${offset}` };
        const told = `${one.path} ${one.query ?? ''} ${page.order_by} ${limit} ${offset}`;
        const wanted = sorted.slice(offset, offset + limit);
        assert.deepEqual(rows(one, page), { rows: wanted, total: null }, told);
        const counted = rows(one, { ...page, include_total: 'true' });
        assert.deepEqual(counted, { rows: wanted, total: all.length }, told);
      }
    }
  }
});

it('pages of rows that are equal in all terms go on where the one before ended, also where the way to them changes', () => {
  for (const [path, field] of [
    ['/resources', 'type'],
    ['/package-inventory', 'provider'],
    ['/fact-contents', 'value'],
    ['/edges', 'relationship'],
  ] as const) {
    const one: Case = { path, by: field, rest: [] };
    const size = 1000;
    const seen = new Set<string>();
    let count = 0;
    for (let offset = 0; ; offset += size) {
      const page = rows(one, { order_by: orderBy([field], 'desc'), limit: `${size}`, offset: `${offset}` }).rows;
      for (const row of page) seen.add(JSON.stringify(row));
      count += page.length;
      if (page.length < size) break;
    }
    assert.equal(count, rows(one, {}).rows.length);
    assert.equal(seen.size, count, `${path}: none comes twice`);
  }
});

it('rows before the page and behind it are not looked at, unless there are few', () => {
  const scanned = (query: string): number =>
    planOf(fleet, { query: { query } })
      .Plan!.Steps.filter(({ step }) => step === 'scan')
      .reduce((sum, step) => sum + step['actual rows']!, 0);
  assert.equal(scanned('resources[title] { order by title limit 5 }'), 5, 'titles of one node each');
  assert.equal(scanned('resources[title] { order by type limit 5 }'), 10, 'those of the first type, of a node');
  assert.equal(scanned('resources[title] { order by line desc limit 5 }'), 5, 'those without a line, of a node');
  assert.equal(scanned('resources[title] { order by type, title limit 5 }'), 5, 'those of the first type and title');
  assert.equal(scanned('resources[title] { order by type, title limit 5 offset 3000 }'), 15, 'its first ten counted');
  assert.equal(
    scanned('resources[title] { order by type, title, certname limit 5 offset 3119 }'),
    2 * NODES,
    'of two titles',
  );
  assert.equal(scanned('package_inventory[version] { order by package_name, version limit 5 offset 4000 }'), 19);
  assert.equal(scanned('facts[name] { order by name, certname limit 5 offset 3898 }'), 2 * NODES, 'of two names');
  assert.equal(scanned('edges[target_type] { order by target_title limit 5 offset 130 }'), 5, 'of five nodes');
  const few = 'type = "Exec" and title = "t18"';
  assert.equal(scanned(`resources[title] { ${few} order by title limit 5 }`), NODES, 'they are sorted at once');
});

const FACTS = { path: '/fact-contents', by: 'name', rest: [] };
const FIRST = { order_by: orderBy(['name'], 'asc'), limit: '5' };

const factsStored = (): number =>
  fleet.partitions.reduce((sum, partition) => {
    const view = partition.snapshot();
    const { length } = view.facts.ids();
    view.close();
    return sum + length;
  }, 0);

it('items are read once to find which of them a page reaches, however many those are', () => {
  const read = mock.method(RecordReader.prototype, 'read');
  try {
    assert.equal(rows(FACTS, FIRST).rows.length, 5);
    assert.ok(read.mock.callCount() < factsStored() + NODES / 2, `${read.mock.callCount()} read`);
  } finally {
    read.mock.restore();
  }
});

it('of items behind the page no sub-rows are made, unless all rows are to be counted', () => {
  let made = 0;
  const { make } = SUB_KINDS.leaf;
  const making = mock.method(SUB_KINDS.leaf, 'make', (...asked: Parameters<typeof make>) => {
    const subsOf = make(...asked);
    return (row: Parameters<typeof subsOf>[0]) => {
      made++;
      return subsOf(row);
    };
  });
  try {
    assert.equal(rows(FACTS, FIRST).rows.length, 5);
    assert.ok(made < factsStored() / 2, `${made} made`);
    made = 0;
    assert.equal(rows(FACTS, { ...FIRST, include_total: 'true' }).total, NODES * 45);
    assert.ok(made >= factsStored(), `${made} made`);
  } finally {
    making.mock.restore();
  }
});

it('texts of rows behind the page are not made', () => {
  const made = mock.method(TextRecord.prototype, 'string');
  try {
    assert.equal(rows(FACTS, { ...FIRST, include_total: 'true' }).rows.length, 5);
    assert.ok(made.mock.callCount() < factsStored() * 1.5, `${made.mock.callCount()} made`);
  } finally {
    made.mock.restore();
  }
});
