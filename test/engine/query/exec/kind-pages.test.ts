// Pages of reports whose order begins with fields that take few values, or with their hash: they are those that sorting all rows would give, they
// fit together, and few of the other reports are read.

import assert from 'node:assert/strict';
import { after, before, it, mock } from 'node:test';
import { TextRecord } from '../../../../engine/store/records/fields.ts';
import { ReportView } from '../../../../engine/store/report-view.ts';
import { View } from '../../../../engine/store/view.ts';
import { Random, testSeed } from '../../../support/random.ts';
import { ask, type Fleet, NOW, newFleet, planOf, report } from '../request/fleet.ts';

const REPORTS = 1400;
const NODES = 40;
const MINUTE = 60_000;
const random = new Random(testSeed('kind-pages'));

type Row = Readonly<Record<string, string | number | boolean | null>>;
type Clause = readonly unknown[];

let fleet: Fleet;

before(() => {
  fleet = newFleet(() => NOW);
  for (let i = 0; i < REPORTS; i++) {
    const at = new Date(NOW - random.below(REPORTS / 3) * MINUTE).toISOString();
    const changes = {
      // One kind is rare.
      status: i % 200 === 7 ? 'failed' : random.pick(['changed', 'unchanged', 'unchanged', null]),
      environment: random.pick(['production', 'staging']),
      producer: random.pick(['ps1.example.com', null]),
      noop: random.chance(0.3),
      puppet_version: random.pick(['8.9.0', '8.10.0']),
      configuration_version: `${i}`,
      producer_timestamp: at,
      start_time: at,
      end_time: at,
      resources: [],
    };
    fleet.apply('store report', 8, report(`n${random.below(NODES)}.example.com`, changes));
  }
});
after(() => fleet.close());

/** As AST and as a test of a row; some tell more than kinds do. */
const since = new Date(NOW - 100 * MINUTE).toISOString();
const conditions: readonly (readonly [clause: Clause | null, test: (row: Row) => boolean])[] = [
  [null, () => true],
  [['=', 'environment', 'staging'], ({ environment }) => environment === 'staging'],
  [['not', ['=', 'status', 'changed']], ({ status }) => status !== 'changed' && status !== null],
  [['~', 'certname', '^n[1-3]'], ({ certname }) => /^n[1-3]/.test(certname as string)],
  [['~', 'certname', '^n1\\.'], ({ certname }) => certname === 'n1.example.com'],
  [['>', 'producer_timestamp', since], (row) => Date.parse(row['producer_timestamp'] as string) > Date.parse(since)],
  [['=', 'puppet_version', '8.9.0'], (row) => row['puppet_version'] === '8.9.0'],
];

const ORDERS: readonly (readonly string[])[] = [
  ['status'],
  ['-status'],
  ['environment', '-status'],
  ['-status', '-producer_timestamp'],
  ['status', 'noop', 'producer_timestamp', 'certname'],
  ['-producer', 'certname'],
  ['noop', '-certname', 'producer_timestamp'],
  ['-status', 'configuration_version'],
];

const PAGES = [
  [1, 0],
  [10, 0],
  [40, 130],
  [300, 5],
  [7, 600],
  [10, 2000],
] as const;

/** So many of them are asked for. */
const SHARE = 0.3;

const orderBy = (order: readonly string[]): string =>
  JSON.stringify(
    order.map((field) => (field.startsWith('-') ? { field: field.slice(1), order: 'desc' } : { field, order: 'asc' })),
  );

function shown(clause: Clause | null, parameters: Record<string, string>): { rows: Row[]; total: number | null } {
  const query = { ...(clause === null ? {} : { query: JSON.stringify(clause) }), ...parameters };
  const { head, text } = ask(fleet, { path: '/reports', query });
  assert.equal(head.status, 200, text);
  const total = head.headers.find(([name]) => name === 'X-Records')?.[1];
  return { rows: JSON.parse(text) as Row[], total: total === undefined ? null : Number(total) };
}

function compare(a: Row, b: Row, order: readonly string[]): number {
  for (const term of order) {
    const isDescending = term.startsWith('-');
    const field = isDescending ? term.slice(1) : term;
    const [x, y] = [a[field] ?? null, b[field] ?? null];
    // Nulls are last, and first where the order is turned.
    if (x !== y) return (isDescending ? -1 : 1) * (x === null ? 1 : y === null ? -1 : x < y ? -1 : 1);
  }
  return 0;
}

/** All pages are those of the rows sorted; equal ones come as they came. */
function comparePages(): void {
  const all = shown(null, {}).rows;
  for (const [clause, test] of conditions) {
    const passing = all.filter(test);
    for (const order of ORDERS) {
      const sorted = passing.toSorted((a, b) => compare(a, b, order));
      for (const [limit, offset] of PAGES.filter(() => random.chance(SHARE))) {
        const page = { order_by: orderBy(order), limit: `${limit}`, offset: `${offset}` };
        const told = `${JSON.stringify(clause)} ${page.order_by} ${limit} ${offset}`;
        const wanted = sorted.slice(offset, offset + limit);
        assert.deepEqual(shown(clause, page), { rows: wanted, total: null }, told);
        assert.deepEqual(
          shown(clause, { ...page, include_total: 'true' }),
          { rows: wanted, total: passing.length },
          told,
        );
      }
    }
  }
}

it('pages are those of all rows sorted, whatever the order, the condition and the total', comparePages);

/** How many records of reports a query reads that answers so many rows. */
function reads(rows: number, clause: Clause | null, parameters: Record<string, string>): number {
  const read = mock.method(ReportView.prototype, 'read');
  try {
    assert.equal(shown(clause, parameters).rows.length, rows);
    return read.mock.callCount();
  } finally {
    read.mock.restore();
  }
}

it('few of the reports are read that are not on the page', () => {
  const page = (...order: string[]) => ({ order_by: orderBy(order), limit: '10' });
  for (const [most, clause, parameters] of [
    [100, null, page('status')],
    [100, null, page('-status')],
    [100, ['=', 'environment', 'staging'], { ...page('status'), include_total: 'true' }],
    [200, null, page('-noop', '-producer_timestamp')],
    [200, null, { ...page('producer', 'certname'), offset: '10' }],
    [100, ['=', 'status', 'failed'], { ...page('certname'), limit: '6' }],
  ] as const) {
    const count = reads(Number(parameters.limit), clause, parameters);
    assert.ok(count <= most, `${JSON.stringify([clause, parameters])}: ${count} read`);
  }
});

it('pages in the order of hashes are those of all rows sorted, and few other reports are read', () => {
  const all = shown(null, {}).rows;
  for (const order of [['hash'], ['-hash', 'certname']]) {
    const sorted = all.toSorted((a, b) => compare(a, b, order));
    for (const [limit, offset] of PAGES) {
      const page = { order_by: orderBy(order), limit: `${limit}`, offset: `${offset}` };
      for (const [clause, test] of conditions) {
        const passing = sorted.filter(test);
        const wanted = { rows: passing.slice(offset, offset + limit), total: passing.length };
        assert.deepEqual(shown(clause, { ...page, include_total: 'true' }), wanted);
        assert.deepEqual(shown(clause, page).rows, wanted.rows);
      }
    }
    assert.ok(reads(10, null, { order_by: orderBy(order), limit: '10' }) <= 100);
  }
});

it('explain tells the rows of the whole page, also where its parts are found in different ways', () => {
  const page = (limit: number, offset: number) => ({
    order_by: orderBy(['-status', 'certname']),
    limit: `${limit}`,
    offset: `${offset}`,
  });
  const statuses = shown(null, page(REPORTS, 0)).rows.map(({ status }) => status);
  // Nodes are gone through for those that are many, and all reports for those that are few.
  const query = page(20, statuses.indexOf('failed') - 10);
  const { Plan } = planOf(fleet, { path: '/reports', query });
  assert.equal(Plan!['Actual Rows'], 20);
  assert.equal(Plan!.Steps.at(-1)!.step, 'output');
});

it('kinds are read of one partition at a time', () => {
  const read = mock.method(ReportView.prototype, 'kinds');
  let now = NOW;
  const parts: number[] = [];
  try {
    ask(fleet, {
      path: '/reports',
      query: { order_by: orderBy(['status']), limit: '10' },
      store: { clock: () => (now += 10) },
      after: () => {
        parts.push(new Set(read.mock.calls.map((call) => call.this)).size);
        read.mock.resetCalls();
      },
    });
  } finally {
    read.mock.restore();
  }
  assert.deepEqual([...new Set(parts)].toSorted(), [0, 1], parts.join());
});

it('of reports behind the page no texts are made', () => {
  const made = mock.method(TextRecord.prototype, 'string');
  try {
    assert.equal(shown(null, { order_by: orderBy(['configuration_version']), limit: '5' }).rows.length, 5);
    assert.ok(made.mock.callCount() < REPORTS / 2, `${made.mock.callCount()} made`);
  } finally {
    made.mock.restore();
  }
});

it('also when nodes are not active any more, and reports have gone', () => {
  for (let i = 0; i < NODES; i += 4) {
    const certname = `n${i}.example.com`;
    fleet.apply('deactivate node', 3, { certname, producer_timestamp: new Date(NOW).toISOString() });
  }
  for (const partition of fleet.partitions) {
    const ids = [...new View(partition, undefined).reports.ids()].filter(() => random.chance(0.3));
    partition.write((batch) => {
      for (const id of ids) batch.reports.delete(id);
    });
  }
  comparePages();
  const active = ['=', 'node_state', 'active'];
  const all = shown(active, {}).rows;
  for (const order of ORDERS) {
    const sorted = all.toSorted((a, b) => compare(a, b, order));
    const page = { order_by: orderBy(order), limit: '30', offset: '100', include_total: 'true' };
    assert.deepEqual(shown(active, page), { rows: sorted.slice(100, 130), total: all.length });
  }
});
