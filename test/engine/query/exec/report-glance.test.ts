// Who reads no more of reports than their nodes, kinds and times is not kept waiting for their records: whatever is asked, the answer is the one
// that all reports together give, also of reports whose times are not kept side by side, and few records are read.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rowProblems } from '../../../../engine/store/check/check.ts';
import { View } from '../../../../engine/store/view.ts';
import { Random, testSeed } from '../../../support/random.ts';
import { ask, type Fleet, NOW, newFleet, report } from '../request/fleet.ts';
import { openedBy } from './opened-reports.ts';

const REPORTS = 800;
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const random = new Random(testSeed('report-glance'));

type Shown = Readonly<Record<string, string | boolean | number | null>>;

const TIMES = ['start_time', 'end_time', 'producer_timestamp', 'receive_time'] as const;
const KINDS = ['status', 'environment', 'noop', 'producer', 'cached_catalog_status'] as const;

let fleet: Fleet;
let everything: readonly Shown[];
/** How many have times that are not kept. */
let untold = 0;

const iso = (ms: number): string => new Date(ms).toISOString();

function addReport(i: number): void {
  const producer = random.chance(0.01) ? Date.parse('8900-01-01T00:00:00Z') : NOW - random.below(20 * 1440) * MINUTE;
  const start = random.chance(0.02) ? producer - 40 * DAY : producer - random.below(90) * MINUTE;
  if (producer > NOW || start < producer - 30 * DAY) untold++;
  const [resource] = report('a').resources;
  const titles = random.chance(0.8) ? [] : ['a', 'b', 'c'].slice(random.below(3));
  fleet.apply(
    'store report',
    8,
    report(`n${random.below(40)}"ü.example.com`, {
      configuration_version: `${i}`,
      // Read by `received`.
      code_id: `${NOW - random.below(30 * 1440) * MINUTE}`,
      environment: random.pick(['production', 'Grüße']),
      producer: random.pick(['ps1.example.com', 'ps2.example.com']),
      status: random.pick(['changed', 'failed', 'unchanged']),
      cached_catalog_status: random.pick(['not_used', 'on_failure', null]),
      noop: random.chance(0.3),
      start_time: iso(start),
      end_time: iso(start + random.below(50) * 1000),
      producer_timestamp: iso(producer),
      resources: titles.map((title) => ({ ...resource, resource_title: title })),
    }),
  );
}

function shown(
  path: string,
  query: Record<string, string>,
): { readonly rows: readonly Shown[]; readonly total: number } {
  const { head, text } = ask(fleet, { path, query });
  assert.equal(head.status, 200, text);
  return { rows: JSON.parse(text) as Shown[], total: Number(new Map(head.headers).get('X-Records')) };
}

const inQuery = (value: unknown): Record<string, string> => ({ query: JSON.stringify(value) });

interface Asked {
  readonly clause: readonly unknown[];
  readonly test: (row: Shown) => boolean;
}

const ALL: Asked = { clause: ['~', 'certname', '.'], test: () => true };

function condition(): Asked {
  if (random.chance(0.2))
    return { clause: ['~', 'certname', '^n1'], test: ({ certname }) => `${certname}`.startsWith('n1') };
  if (random.chance(0.1)) {
    const latest = new Set(shown('/nodes', {}).rows.map((node) => node['latest_report_hash']));
    return { clause: ['=', 'latest_report?', true], test: ({ hash }) => latest.has(hash!) };
  }
  const field = random.pick([...TIMES, 'status', 'environment', 'producer']);
  const value = random.pick(everything)[field] ?? 'production';
  if (random.chance(0.3)) {
    const [low, high] = [condition(), condition()];
    return { clause: ['or', low.clause, high.clause], test: (row) => low.test(row) || high.test(row) };
  }
  if (!(TIMES as readonly string[]).includes(field))
    return { clause: ['=', field, value], test: (row) => row[field] === value };
  const isLater = random.chance(0.5);
  return {
    clause: [isLater ? '>=' : '<', field, value],
    test: (row) => isLater === `${row[field]}` >= `${value}`,
  };
}

/** Times of years beyond 9999 are not among these. */
const inOrder = (rows: readonly Shown[], field: string, isDescending: boolean): readonly Shown[] =>
  rows.toSorted(
    (a, b) => (isDescending ? -1 : 1) * (`${a[field]}` < `${b[field]}` ? -1 : `${a[field]}` > `${b[field]}` ? 1 : 0),
  );

/** Pages in the order of a time, wherever they begin. */
function comparePages(count: number): void {
  for (let i = 0; i < count; i++) {
    const asked = i % 2 === 0 ? ALL : condition();
    const wanted = everything.filter(asked.test);
    const [field, order] = [random.pick(TIMES), random.pick(['asc', 'desc'])];
    const [offset, limit] = [random.pick([0, random.below(wanted.length + 20)]), random.between(1, 30)];
    const page = {
      ...inQuery(asked.clause),
      order_by: JSON.stringify([{ field, order }, ...(random.chance(0.5) ? [{ field: 'hash', order: 'asc' }] : [])]),
      limit: `${limit}`,
      offset: `${offset}`,
      ...(random.chance(0.5) ? { include_total: 'true' } : {}),
    };
    const found = shown('/reports', page);
    const times = inOrder(wanted, field, order === 'desc').map((row) => row[field]);
    const said = JSON.stringify(page);
    assert.deepEqual(
      found.rows.map((row) => row[field]),
      times.slice(offset, offset + limit),
      said,
    );
    assert.equal(new Set(found.rows.map(({ hash }) => hash)).size, found.rows.length, said);
    assert.ok(found.rows.every(asked.test), said);
    if ('include_total' in page) assert.equal(found.total, wanted.length, said);
  }
}

/** Of rows that have the fields in common: how many there are, and the first and the last of a time. */
function groupsOf(rows: readonly Shown[], fields: readonly string[], time: string): readonly string[] {
  const groups = new Map<string, Shown[]>();
  for (const row of rows) {
    const key = JSON.stringify(fields.map((field) => row[field]));
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups].map(([key, some]) => {
    const times = inOrder(some, time, false).map((row) => row[time]);
    return JSON.stringify([key, some.length, times[0], times.at(-1)]);
  });
}

function compareGroups(count: number): void {
  for (let i = 0; i < count; i++) {
    const asked = i % 3 === 0 ? ALL : condition();
    const [time, minute] = [random.pick(TIMES), random.pick(TIMES)];
    const fields = [...KINDS, 'certname'].filter(() => random.chance(0.2));
    const text = ['function', 'to_string', minute, 'MI'];
    const isByMinute = random.chance(0.3);
    const keys = [...fields, ...(isByMinute ? [text] : [])];
    const functions = ['count', ['min', time], ['max', time]].map((one) => ['function', ...[one].flat()]);
    const query = [
      'extract',
      [...keys, ...functions],
      asked.clause,
      ...(keys.length === 0 ? [] : [['group_by', ...keys]]),
    ];
    const wanted = everything
      .filter(asked.test)
      .map((row): Shown => ({ ...row, to_string: `${row[minute]}`.slice(14, 16) }));
    const names = isByMinute ? [...fields, 'to_string'] : fields;
    const { rows } = shown('/reports', inQuery(query));
    const found = rows.map((row) =>
      JSON.stringify([JSON.stringify(names.map((name) => row[name])), row['count'], row['min'], row['max']]),
    );
    if (wanted.length > 0)
      assert.deepEqual(found.toSorted(), groupsOf(wanted, names, time).toSorted(), JSON.stringify(query));
  }
}

function compareSubqueries(count: number): void {
  for (let i = 0; i < count; i++) {
    const { clause, test } = condition();
    const fields = [random.pick([...TIMES, 'status']), random.pick(['certname', 'producer'])];
    const tupleOf = (row: Shown): string => JSON.stringify(fields.map((field) => row[field]));
    const found = everything.filter(test);
    const tuples = new Set(found.map(tupleOf));
    const query = ['in', fields, ['extract', fields, ['select_reports', clause]]];
    const { rows } = shown('/reports', inQuery(query));
    assert.equal(rows.length, everything.filter((row) => tuples.has(tupleOf(row))).length, JSON.stringify(query));
    const ofNodes = ['in', 'certname', ['extract', 'certname', ['select_reports', clause]]];
    assert.deepEqual(
      shown('/nodes', inQuery(ofNodes))
        .rows.map(({ certname }) => certname)
        .toSorted(),
      [...new Set(found.map(({ certname }) => certname))].toSorted(),
      JSON.stringify(ofNodes),
    );
  }
}

function compareAll(): void {
  everything = shown('/reports', {}).rows;
  comparePages(30);
  compareGroups(30);
  compareSubqueries(8);
  for (const partition of fleet.partitions)
    assert.deepEqual(
      rowProblems(partition, () => true),
      [],
    );
}

describe('reports at a glance', () => {
  before(() => {
    fleet = newFleet(({ code_id: received }) => (typeof received === 'string' ? Number(received) : NOW));
    for (let i = 0; i < REPORTS; i++) addReport(i);
  });
  after(() => fleet.close());

  it('give the answers that all of them together give', () => {
    compareAll();
    assert.equal(everything.length, REPORTS);
  });

  it('are not read, but for those whose times are not kept', () => {
    const asked = [
      { query: ['extract', ['certname', ['function', 'max', 'end_time']], ['group_by', 'certname']], reads: untold },
      {
        query: ['extract', [['function', 'count']], ['and', ['=', 'latest_report?', false], ['=', 'noop', true]]],
        reads: untold,
      },
      {
        query: [
          'extract',
          [
            ['function', 'to_string', 'end_time', 'MI'],
            ['function', 'count'],
          ],
          ['group_by', ['function', 'to_string', 'end_time', 'MI']],
        ],
        reads: untold,
      },
      {
        query: [
          'extract',
          ['status', ['function', 'count']],
          ['>', 'receive_time', iso(NOW - 20 * DAY)],
          ['group_by', 'status'],
        ],
        reads: untold,
      },
    ];
    for (const { query, reads } of asked) {
      const read = openedBy(() => shown('/reports', inQuery(query)));
      assert.ok(read <= reads, `${JSON.stringify(query)}: ${read} of ${REPORTS} read, ${reads} expected`);
    }
    // What a time that is kept does tell is not asked of a record.
    const untimed = ['extract', ['certname', ['function', 'max', 'configuration_version']], ['group_by', 'certname']];
    assert.equal(
      openedBy(() => shown('/reports', inQuery(untimed))),
      REPORTS,
    );
  });

  it('also when reports and events have gone, and more have come', () => {
    const latest = new Set(shown('/nodes', {}).rows.map((node) => node['latest_report_hash']));
    for (const partition of fleet.partitions)
      partition.write((batch) => {
        const view = new View(partition, undefined);
        for (const { hash } of everything) {
          const id = latest.has(hash!) ? 0 : view.reports.idOf(`${hash}`);
          if (id === 0) continue;
          if (random.chance(0.2)) batch.reports.delete(id);
          else if (random.chance(0.3)) batch.reports.setEvents(id, view.reports.events(id).slice(1));
        }
      });
    for (let i = 0; i < 50; i++) addReport(REPORTS + i);
    compareAll();
  });

  it('also where all times are kept: a deep page reads what it shows', () => {
    const kept = newFleet(() => NOW);
    const whole = fleet;
    fleet = kept;
    try {
      for (let i = 0; i < REPORTS; i++) {
        const at = iso(NOW - i * MINUTE);
        kept.apply(
          'store report',
          8,
          report(`n${i % 30}`, { configuration_version: `${i}`, producer_timestamp: at, start_time: at, end_time: at }),
        );
      }
      for (const field of TIMES.slice(0, 3)) {
        const page = { order_by: JSON.stringify([{ field, order: 'desc' }]), limit: '10', offset: '500' };
        let versions: unknown;
        const read = openedBy(() => {
          versions = shown('/reports', page).rows.map((row) => row['configuration_version']);
        });
        assert.deepEqual(
          versions,
          Array.from({ length: 10 }, (_, i) => `${500 + i}`),
        );
        assert.ok(read <= 20, `${read} read for a page of 10 by ${field}`);
      }
      compareAll();
    } finally {
      fleet = whole;
      kept.close();
    }
  });

  it('also reports that came before times were kept', () => {
    for (const partition of fleet.partitions) {
      const { report_moments: moments } = partition.tables;
      for (const [i, number] of [...moments.getKeys({})].entries()) if (i % 2 === 0) moments.removeSync(number);
    }
    compareAll();
  });
});
