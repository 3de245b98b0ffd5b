// Rows that are had node by node: in the order of fields of the nodes, and those of reports and events in the order of certnames. The pages
// are those that sorting all rows would give, and only rows of nodes that are on the page are looked at.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Random, testSeed } from '../../../support/random.ts';
import { ask, type Fleet, facts, NOW, newFleet, planOf, report } from '../request/fleet.ts';
import { openedBy } from './opened-reports.ts';

const NODES = 40;
const random = new Random(testSeed('walk'));

type Row = Readonly<Record<string, string | number>>;

let fleet: Fleet;

before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES; i++) {
    const certname = `n${(i * 7) % NODES}.example.com`;
    fleet.apply('replace facts', 5, facts(certname, { a: i, b: 'x', c: i % 3 }, `env${i % 3}`));
    // Some nodes have no report.
    for (let n = i % 4; n > 0; n--) {
      const producer_timestamp = new Date(NOW - random.below(1000) * 60_000).toISOString();
      const status = random.pick(['changed', 'failed']);
      fleet.apply(
        'store report',
        8,
        report(certname, { producer_timestamp, status, configuration_version: `${i} ${n}` }),
      );
    }
  }
});
after(() => fleet.close());

function rows(query: string, more: Record<string, string> = {}): { rows: Row[]; total: string | undefined } {
  const { head, text } = ask(fleet, { query: { query, ...more } });
  assert.equal(head.status, 200, text);
  return { rows: JSON.parse(text), total: head.headers.find(([name]) => name === 'X-Records')?.[1] };
}

function scanned(query: string): number {
  return planOf(fleet, { query: { query } })
    .Plan!.Steps.filter(({ step }) => step === 'scan')
    .reduce((sum, step) => sum + step['actual rows']!, 0);
}

const cases: readonly (readonly [select: string, ...terms: readonly string[]])[] = [
  ['facts{}', 'environment', 'certname', 'name'],
  ['facts{ name in ["a", "c"] }', 'environment desc', 'certname desc', 'name desc'],
  ['facts{ name in ["a", "c"] and value > 1 }', 'environment', 'certname', 'name'],
  ['factsets[certname, environment]{}', 'environment', 'certname'],
  ['reports[certname, status, hash, configuration_version]{}', 'certname', 'configuration_version'],
  ['reports[certname, status, hash, configuration_version]{}', 'certname desc', 'status', 'configuration_version desc'],
  ['reports[certname, hash]{ status = "failed" }', 'certname', 'hash'],
  ['reports[certname, hash]{ latest_report? = true }', 'certname desc'],
  ['reports[certname, hash]{ certname ~ "^n[1-3]" }', 'certname', 'hash'],
  [
    `reports[certname, hash]{ producer_timestamp > "${new Date(NOW - 500 * 60_000).toISOString()}" }`,
    'certname',
    'hash',
  ],
  ['events[certname, report, status]{}', 'certname', 'report'],
  ['events[certname, report, status]{ latest_report? = true }', 'certname', 'report desc'],
  ['events[certname, report, status]{ status = "failure" }', 'certname', 'report'],
];

it('pages are those of all rows sorted', () => {
  for (const [select, ...terms] of cases) {
    const all = rows(select).rows;
    const sorted = all.toSorted((a, b) => {
      for (const term of terms) {
        const [field, direction] = term.split(' ') as [string, string | undefined];
        const [x, y] = [a[field]!, b[field]!];
        if (x !== y) return (x < y ? -1 : 1) * (direction === undefined ? 1 : -1);
      }
      return 0;
    });
    const query = select.replace(/\}$/, ` order by ${terms.join(', ')} }`);
    assert.deepEqual(rows(query).rows, sorted, query);
    for (const [limit, offset] of [
      [1, 0],
      [7, 3],
      [10, Math.max(0, all.length - 5)],
      [10, all.length],
    ] as const) {
      const page = query.replace(/\}$/, ` limit ${limit} offset ${offset} }`);
      assert.deepEqual(rows(page).rows, sorted.slice(offset, offset + limit), page);
      assert.equal(rows(page, { include_total: 'true' }).total, `${all.length}`, page);
    }
  }
});

it('rows of nodes behind the page are not looked at, and those before it are counted', () => {
  assert.equal(scanned('facts{ order by environment, certname limit 4 }'), 6, 'of two nodes');
  assert.equal(scanned('facts{ order by certname, name limit 4 }'), 6);
  assert.equal(scanned('facts[name]{ order by environment limit 4 offset 60 }'), 66);
  const reports = rows('reports[certname]{}').rows.length;
  const events = rows('events[certname]{}').rows.length;
  assert.equal(scanned('reports[hash]{ order by certname limit 1 }'), 3, 'of n1');
  assert.ok(scanned('reports[hash]{ order by certname limit 1 offset 20 }') < reports / 2);
  assert.ok(scanned('events[report]{ order by certname limit 1 offset 20 }') < events / 2);
});

it('reports before a page are counted where all kinds of them pass: those of the page are looked at', () => {
  const query = 'reports[certname, hash]{ order by certname, hash limit 4 offset 30 }';
  const all = rows('reports[certname, hash]{ order by certname, hash }').rows;
  const { rows: page, total } = rows(query, { include_total: 'true' });
  assert.equal(total, `${all.length}`);
  assert.deepEqual(page, all.slice(30, 34));
  // The nodes of the page have up to three each, and what is shown is opened once more.
  const opened = openedBy(() => assert.deepEqual(rows(query).rows, page));
  assert.ok(opened <= 4 * 3 + 4, `${opened}`);
  // A kind that does not pass: each is looked at.
  const failed = 'reports[certname, hash]{ status = "failed" order by certname, hash limit 4 offset 10 }';
  const each = openedBy(() => rows(failed));
  assert.ok(each > 10, `${each}`);
});

it('of nodes that have one of few items none are visited but those that are asked for', async () => {
  const few = newFleet();
  try {
    for (let i = 0; i < NODES; i++) {
      const own: Record<string, unknown> = i < 4 ? { rare: i } : { kernel: 'x' };
      few.apply('replace facts', 5, facts(`n${i}`, own, i % 2 === 0 ? 'even' : 'odd'));
    }
    const { text } = ask(few, {
      query: { query: 'facts[certname, value]{ name = "rare" and environment = "odd" order by certname desc }' },
    });
    assert.deepEqual(JSON.parse(text), [
      { certname: 'n3', value: 3 },
      { certname: 'n1', value: 1 },
    ]);
  } finally {
    await few.close();
  }
});
