// Pages of reports in the order of their producer times, which the index of these times has: what lies behind a page is not
// looked at, and the pages are those that sorting all of them would give.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { execute } from '../../../../engine/query/exec/execute.ts';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { resolveEntity } from '../../../../engine/query/resolve/resolve.ts';
import { Random, testSeed } from '../../../support/random.ts';
import { ask, contextOptions, type Fleet, NOW, newFleet, planOf, report } from '../request/fleet.ts';

const REPORTS = 240;
const random = new Random(testSeed('time-order'));

interface Shown {
  readonly hash: string;
  readonly certname: string;
  readonly status: string;
  readonly producer_timestamp: string;
}

let fleet: Fleet;
let all: readonly Shown[];

before(() => {
  fleet = newFleet();
  for (let i = 0; i < REPORTS; i++) {
    // Many have the same time, and they do not come in the order of their times.
    const time = new Date(NOW - random.below(40) * 60_000).toISOString();
    const status = random.pick(['changed', 'unchanged', 'failed']);
    const certname = `n${random.below(30)}.example.com`;
    fleet.apply(
      'store report',
      8,
      report(certname, { producer_timestamp: time, status, configuration_version: `${i}` }),
    );
  }
  all = shown('reports{}');
  assert.equal(all.length, REPORTS);
});
after(() => fleet.close());

function shown(query: string, more: Record<string, string> = {}): Shown[] {
  const { head, text } = ask(fleet, { query: { query, ...more } });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as Shown[];
}

function scanned(query: string): number {
  return planOf(fleet, { query: { query } }).Plan!.Steps.find(({ step }) => step === 'scan')!['actual rows']!;
}

/** As PQL and as a test of a report. */
const conditions: readonly (readonly [pql: string, test: (report: Shown) => boolean])[] = [
  ['', () => true],
  ['status = "failed"', ({ status }) => status === 'failed'],
  ['certname ~ "^n1"', ({ certname }) => certname.startsWith('n1')],
  ['certname = "n3.example.com"', ({ certname }) => certname === 'n3.example.com'],
  [
    `producer_timestamp > "${new Date(NOW - 1_200_000).toISOString()}"`,
    (it) => Date.parse(it.producer_timestamp) > NOW - 1_200_000,
  ],
  [
    `producer_timestamp <= "${new Date(NOW - 600_000).toISOString()}" and status != "changed"`,
    (it) => Date.parse(it.producer_timestamp) <= NOW - 600_000 && it.status !== 'changed',
  ],
];

it('pages are those of all reports sorted, whatever the direction, the condition and the total', () => {
  for (const [pql, test] of conditions) {
    for (const sign of [1, -1]) {
      const sorted = all
        .filter(test)
        .sort(
          (a, b) =>
            sign * (Date.parse(a.producer_timestamp) - Date.parse(b.producer_timestamp)) || (a.hash < b.hash ? -1 : 1),
        );
      for (const [limit, offset] of [
        [5, 0],
        [7, 20],
        [1000, 3],
      ] as const) {
        const order = `order by producer_timestamp ${sign === 1 ? 'asc' : 'desc'}, hash limit ${limit} offset ${offset}`;
        const wanted = sorted.slice(offset, offset + limit).map(({ hash }) => hash);
        for (const total of [{}, { include_total: 'true' }]) {
          const page = shown(`reports{ ${pql} ${order} }`, total).map(({ hash }) => hash);
          assert.deepEqual(page, wanted, `${pql} ${order}`);
        }
      }
    }
  }
});

it('pages one after the other have every report once, also of the same time and with a total now and then', () => {
  for (const direction of ['asc', 'desc']) {
    const seen: string[] = [];
    for (let offset = 0; offset < REPORTS; offset += 7) {
      const query = `reports{ order by producer_timestamp ${direction} limit 7 offset ${offset} }`;
      seen.push(...shown(query, offset % 2 === 0 ? { include_total: 'true' } : {}).map(({ hash }) => hash));
    }
    assert.equal(seen.length, REPORTS);
    assert.equal(new Set(seen).size, REPORTS);
  }
});

it('what lies behind a page is not looked at', () => {
  // As many of a page's last time as there are, in both partitions, and one behind it in each.
  const ofTime = new Map<string, number>();
  for (const { producer_timestamp: time } of all) ofTime.set(time, (ofTime.get(time) ?? 0) + 1);
  const most = 10 + 2 * Math.max(...ofTime.values());
  for (const direction of ['asc', 'desc']) {
    const looked = scanned(`reports{ order by producer_timestamp ${direction} limit 5 }`);
    assert.ok(looked <= most, `${looked} of ${REPORTS}`);
  }
  assert.equal(scanned('reports{ order by configuration_version limit 5 }'), REPORTS);
  assert.equal(scanned('reports{ order by producer_timestamp }'), REPORTS);
});

it('pages go on where the one before ended also where they are found another way as they lie deeper', () => {
  const many = newFleet();
  try {
    // A tenth is asked for, of which so many have the same time that no page ends with them.
    for (let i = 0; i < 1500; i++) {
      const time = new Date(NOW - Math.floor(i / 330) * 60_000).toISOString();
      const changes = { producer_timestamp: time, start_time: time, status: i % 10 === 0 ? 'failed' : 'changed' };
      many.apply('store report', 8, report(`n${i % 97}`, { ...changes, configuration_version: `${i}` }));
    }
    for (const order of ['producer_timestamp desc', 'start_time desc']) {
      for (const limit of [5, 20]) {
        const seen: string[] = [];
        for (let offset = 0; offset < 150; offset += limit) {
          const query = `reports[hash] { status = "failed" order by ${order} limit ${limit} offset ${offset} }`;
          seen.push(
            ...(JSON.parse(ask(many, { query: { query } }).text) as { hash: string }[]).map(({ hash }) => hash),
          );
        }
        assert.deepEqual([seen.length, new Set(seen).size], [150, 150], `${order}, ${limit} at a time`);
      }
    }
  } finally {
    many.close();
  }
});

it('pages go on beyond the place from which on they are made of all rows', () => {
  const page = (field: string, offset: number): string[] => {
    const ctx = new ExecContext(fleet.partitions, { ...contextOptions, keptMax: 60 });
    const rows: string[] = [];
    const tree = resolveEntity('reports', ['extract', ['hash'], ['~', 'certname', '.']], {
      edition: 'community',
      orderBy: [{ field, order: 'desc' }],
      limit: 20,
      offset,
    });
    for (const _ of execute(tree, ctx, { row: (text) => rows.push(String(text)), full: false }));
    ctx.close();
    return rows;
  };
  for (const field of ['status', 'producer_timestamp']) {
    const seen: string[] = [];
    for (let offset = 0; offset < REPORTS; offset += 20) seen.push(...page(field, offset));
    assert.deepEqual([seen.length, new Set(seen).size], [REPORTS, REPORTS], field);
  }
});
