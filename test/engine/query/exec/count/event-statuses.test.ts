// Events are counted, and grouped by their status and by what their reports have in common, from what is kept of all reports side by side. Whatever is
// asked, the counts are those of the rows, also where some reports have statuses that are not told, or events that are partly within the times.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rowProblems } from '../../../../../engine/store/check/check.ts';
import { BLOCK_REPORTS } from '../../../../../engine/store/reports/report-blocks.ts';
import { View } from '../../../../../engine/store/view.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { ask, type Fleet, NOW, newFleet, report } from '../../request/fleet.ts';
import { openedBy } from '../opened-reports.ts';

const REPORTS = 5 * BLOCK_REPORTS;
const MINUTE = 60_000;
const NODES = Array.from({ length: 30 }, (_, i) => `n${i}.example.com`);
const STATUSES = ['success', 'success', 'failure', 'noop', 'skipped'];
const FIELDS = ['certname', 'status', 'environment'] as const;
const COUNT_OF: Readonly<Record<string, string>> = {
  failure: 'failures',
  success: 'successes',
  noop: 'noops',
  skipped: 'skips',
};

type Shown = Readonly<Record<string, unknown>>;

const random = new Random(testSeed('event-statuses'));
const iso = (ms: number): string => new Date(ms).toISOString();
let fleet: Fleet;
let hashes: string[] = [];

/** `odd`: some have other statuses, or events at other times, than can be told. */
function addReports(count: number, odd = false): void {
  const [resource] = report('a').resources;
  for (let i = 0; i < count; i++) {
    const at = NOW - (REPORTS * 2 - hashes.length) * MINUTE;
    const events = random.chance(0.4) ? 0 : random.between(1, 5);
    const payload = report(random.pick(NODES), {
      configuration_version: `${hashes.length}`,
      environment: random.pick(['production', 'staging']),
      status: random.pick(['changed', 'failed', null]),
      start_time: iso(at - 3 * MINUTE),
      end_time: iso(at - MINUTE),
      producer_timestamp: iso(at),
      resources: Array.from({ length: events }, (_, n) => ({
        ...resource,
        resource_title: `t${n}`,
        events: [
          {
            ...resource!.events[0],
            timestamp: iso(odd && random.chance(0.1) ? at - 2 ** 32 : at - random.between(1, 40) * MINUTE),
            status: odd && random.chance(0.1) ? 'strange' : random.pick(STATUSES),
          },
        ],
      })),
    });
    hashes.push(fleet.apply('store report', 8, payload)!);
  }
}

function shown(path: string, query: Readonly<Record<string, string>>): readonly Shown[] {
  const { head, text } = ask(fleet, { path, query });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as Shown[];
}

interface Asked {
  readonly clause: readonly unknown[];
  readonly test: (row: Shown) => boolean;
}

function condition(rows: readonly Shown[]): Asked {
  const field = random.pick(['certname', 'status', 'environment', 'timestamp', 'run_start_time', 'status']);
  const value = random.pick(rows)[field] as string;
  if (field === 'timestamp' || field === 'run_start_time') {
    const op = random.pick(['<', '<=', '>', '>=']);
    const test = (row: Shown): boolean => {
      const [a, b] = [row[field] as string, value];
      return op === '<' ? a < b : op === '<=' ? a <= b : op === '>' ? a > b : a >= b;
    };
    return { clause: [op, field, value], test };
  }
  if (field === 'certname') {
    const pattern = new RegExp(`[0-${random.below(10)}]\\.`);
    return { clause: ['~', field, pattern.source], test: (row) => pattern.test(row[field] as string) };
  }
  const values = [value, random.pick(['failure', 'staging', 'none'])];
  const way = random.below(4);
  if (way === 0)
    return { clause: ['in', field, ['array', values]], test: (row) => values.includes(row[field] as string) };
  if (way === 1) return { clause: ['not', ['=', field, value]], test: (row) => row[field] !== value };
  if (way === 2) return { clause: ['~', field, 's'], test: (row) => (row[field] as string).includes('s') };
  return { clause: ['=', field, value], test: (row) => row[field] === value };
}

function countsBy(rows: readonly Shown[], fields: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) {
    const key = JSON.stringify(fields.map((field) => row[field]));
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** Random conditions and groups, against the rows. */
function compareSome(count: number): void {
  const rows = shown('/events', {});
  for (let i = 0; i < count; i++) {
    const asked = Array.from({ length: random.below(4) }, () => condition(rows));
    const clause = asked.length === 0 ? ['~', 'certname', '.'] : ['and', ...asked.map((one) => one.clause)];
    const wanted = rows.filter((row) => asked.every(({ test }) => test(row)));
    const fields = FIELDS.filter(() => random.chance(0.4));
    const columns = [['function', 'count'], ...fields];
    const query = JSON.stringify([
      'extract',
      columns,
      clause,
      ...(fields.length === 0 ? [] : [['group_by', ...fields]]),
    ]);
    const groups = shown('/events', { query });
    const found = groups.map((row) => [JSON.stringify(fields.map((field) => row[field])), row['count']]);
    const expected = fields.length === 0 ? { '[]': wanted.length } : countsBy(wanted, fields);
    assert.deepEqual(Object.fromEntries(found), expected, query);
    assert.equal(groups.length, Object.keys(expected).length, query);

    const page = ask(fleet, {
      path: '/events',
      query: { query: JSON.stringify(clause), limit: '3', include_total: 'true' },
    });
    assert.deepEqual(
      page.head.headers.filter(([name]) => name === 'X-Records'),
      [['X-Records', `${wanted.length}`]],
      query,
    );
    const summary = shown('/event-counts', { query: JSON.stringify(clause), summarize_by: 'certname' });
    for (const row of summary) {
      const { title } = row['subject'] as { title: string };
      const of = wanted.filter(({ certname }) => certname === title);
      assert.ok(of.length > 0, `${title} of ${JSON.stringify(clause)}`);
      for (const [status, name] of Object.entries(COUNT_OF))
        assert.equal(row[name], of.filter((one) => one['status'] === status).length, `${name} of ${title}`);
    }
    assert.equal(summary.length, new Set(wanted.map(({ certname }) => certname)).size);
  }
}

function areSound(): void {
  for (const partition of fleet.partitions)
    assert.deepEqual(
      rowProblems(partition, () => true),
      [],
    );
}

function begin(): void {
  fleet = newFleet(() => NOW);
  hashes = [];
}

describe('events counted by status', () => {
  before(() => {
    begin();
    addReports(REPORTS);
  });
  after(() => fleet.close());

  it('have the counts of the rows', () => {
    compareSome(30);
    areSound();
  });

  it('are not looked at', () => {
    const grouped = (clause: readonly unknown[], ...fields: string[]): readonly [string, Record<string, string>] => [
      '/events',
      { query: JSON.stringify(['extract', [['function', 'count'], ...fields], clause, ['group_by', ...fields]]) },
    ];
    const asked = [
      grouped(['~', 'certname', '.'], 'status'),
      grouped(['=', 'environment', 'staging'], 'certname', 'status'),
      grouped(['not', ['=', 'status', 'success']], 'environment'),
      grouped(['>', 'run_start_time', iso(NOW - REPORTS * MINUTE)], 'status'),
      ['/event-counts', { query: '["~","certname","[1-9]"]', summarize_by: 'certname' }],
      ['/aggregate-event-counts', { query: '["~","certname","[1-9]"]', summarize_by: 'certname' }],
    ] as const;
    for (const [path, query] of asked) {
      assert.equal(
        openedBy(() => shown(path, query)),
        0,
        JSON.stringify(query),
      );
    }
  });

  it('are looked at where a report has some within the times and some outside', () => {
    const from = iso(NOW - (REPORTS * 2 - 200) * MINUTE);
    const query = { query: JSON.stringify(['extract', [['function', 'count']], ['>', 'timestamp', from]]) };
    const opened = openedBy(() => shown('/events', query));
    assert.ok(opened > 0 && opened < 50, `${opened}`);
  });

  it('reports without one of a status are passed over', () => {
    const [status, order_by] = ['["=","status","nothing"]', '[{"field":"timestamp","order":"desc"}]'];
    const query = { query: status, order_by, limit: '10' };
    assert.equal(
      openedBy(() => assert.deepEqual(shown('/events', query), [])),
      0,
    );
  });

  it('also when reports and events have gone', () => {
    const latest = new Set(shown('/reports', { query: '["=","latest_report?",true]' }).map(({ hash }) => hash));
    for (const partition of fleet.partitions) {
      for (const hash of hashes) {
        const { reports } = new View(partition, undefined);
        const id = reports.idOf(hash);
        if (id === 0) continue;
        const events = reports.events(id);
        if (!latest.has(hash) && random.chance(0.2)) partition.write((batch) => batch.reports.delete(id));
        else if (events.length > 0 && random.chance(0.3))
          partition.write((batch) => batch.reports.setEvents(id, events.slice(random.below(2) + 1)));
      }
    }
    areSound();
    compareSome(15);
  });
});

describe('events of which not all is told', () => {
  before(() => {
    begin();
    addReports(REPORTS, true);
    for (const { tables } of fleet.partitions) {
      for (const number of tables.report_statuses.getKeys())
        if (number % 3 === 1) tables.report_statuses.removeSync(number);
      for (const number of tables.report_moments.getKeys())
        if (number % 3 === 2) tables.report_moments.removeSync(number);
    }
  });
  after(() => fleet.close());

  it('have the counts of the rows', () => {
    compareSome(30);
    areSound();
  });

  it('are read with no reports that have none, where it is not told of any', () => {
    for (const { tables } of fleet.partitions) tables.report_statuses.clearSync();
    const having = new Set(shown('/events', {}).map(({ report: hash }) => hash)).size;
    const query = { query: '["extract",[["function","count"],"status"],["group_by","status"]]' };
    assert.equal(
      openedBy(() => shown('/events', query)),
      having,
    );
    compareSome(5);
  });
});
