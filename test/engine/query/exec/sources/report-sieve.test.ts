// Reports that cannot have rows are told from their marks: whatever is asked, the rows are those that looking at every report gives, also
// when reports and events have gone, and few of the others are read.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rowProblems } from '../../../../../engine/store/check/check.ts';
import { BLOCK_REPORTS } from '../../../../../engine/store/reports/report-blocks.ts';
import { encodeState, STATE } from '../../../../../engine/store/state.ts';
import { View } from '../../../../../engine/store/view.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { ask, type Fleet, NOW, newFleet, report } from '../../request/fleet.ts';
import { readsOf } from '../opened-reports.ts';

const REPORTS = 12 * BLOCK_REPORTS;
const MINUTE = 60_000;
const random = new Random(testSeed('report-sieve'));

type Shown = Readonly<Record<string, unknown>>;
type Entity = 'reports' | 'events';

const NODES = Array.from({ length: 40 }, (_, i) => `n${i}.example.com`);
/** Also some that are written with escapes. */
const TITLES = ['/etc/motd', 'a "quoted" one', 'back\\slash', 'tab\tbed', 'Grüße', '\u2028', 'null', 'x'.repeat(300)];
const JOBS = ['1', '2', '77', null];
const uuid = (i: number): string => `00000000-1111-4222-8333-${i.toString().padStart(12, '0')}`;

/** Spelled with escapes that are not needed. */
const escaped = (json: string): string =>
  json.replace(/[\u007f-\uffff/]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

let fleet: Fleet;
let hashes: string[] = [];

function addReports(count: number): void {
  const [resource] = report('a').resources;
  const [event] = resource!.events;
  for (let i = 0; i < count; i++) {
    const at = NOW - (REPORTS * 2 - hashes.length) * MINUTE;
    const iso = (ms: number): string => new Date(ms).toISOString();
    const titles = random.chance(0.5) ? [] : TITLES.filter(() => random.chance(0.2));
    const payload = report(random.pick(NODES), {
      configuration_version: random.pick(['1', '2', '3', 'null']),
      transaction_uuid: uuid(hashes.length),
      catalog_uuid: random.chance(0.2) ? null : uuid(random.below(50)),
      code_id: random.pick([null, 'abc', '"']),
      job_id: random.pick(JOBS),
      environment: random.pick(['production', 'staging']),
      status: random.pick(['changed', 'failed', 'unchanged', null]),
      noop: random.chance(0.3),
      producer: random.pick(['ps1.example.com', 'ps2.example.com']),
      start_time: iso(at - 3 * MINUTE),
      end_time: iso(at - MINUTE),
      producer_timestamp: iso(at),
      resources: titles.map((title) => ({
        ...resource,
        resource_type: random.pick(['File', 'Service']),
        resource_title: title,
        containment_path: ['Stage[main]', random.pick(['Ntp', 'Role::Web', 'Grüße']), `File[${title}]`],
        events: [
          {
            ...event,
            timestamp: iso(at - 2 * MINUTE),
            status: random.pick(['success', 'failure', 'noop', 'skipped']),
            property: random.pick(['ensure', 'mode', null]),
            name: random.pick(['changed', null]),
          },
        ],
      })),
    });
    const written = JSON.stringify(payload);
    const hash = fleet.apply('store report', 8, payload, random.chance(0.5) ? written : escaped(written));
    hashes.push(hash!);
  }
}

function shown(entity: Entity, query: Record<string, string>): readonly Shown[] {
  const { head, text } = ask(fleet, { path: `/${entity}`, query });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as Shown[];
}

const FIELDS: Readonly<Record<Entity, readonly string[]>> = {
  reports: [
    'configuration_version',
    'transaction_uuid',
    'catalog_uuid',
    'code_id',
    'job_id',
    'environment',
    'status',
    'producer',
  ],
  events: [
    'configuration_version',
    'environment',
    'status',
    'resource_type',
    'resource_title',
    'property',
    'name',
    'containing_class',
  ],
};

interface Asked {
  readonly clause: readonly unknown[];
  /** null: unknown. */
  readonly test: (row: Shown) => boolean | null;
}

function condition(entity: Entity, rows: readonly Shown[]): Asked {
  if (random.chance(0.15)) {
    const [low, high] = [random.below(4), random.below(10)];
    const pattern = new RegExp(`^n${low}?[0-${high}]\\.`);
    return { clause: ['~', 'certname', pattern.source], test: (row) => pattern.test(row['certname'] as string) };
  }
  const field = random.pick(FIELDS[entity]);
  const held = (row: Shown): unknown => row[field];
  const values = [0, 1].map(() => held(random.pick(rows))).map((value) => value ?? 'nothing');
  const among = (row: Shown, wanted: readonly unknown[]): boolean | null =>
    held(row) === null ? null : wanted.includes(held(row));
  if (random.chance(0.3)) {
    return { clause: ['in', field, ['array', values]], test: (row) => among(row, values) };
  }
  const asked: Asked = { clause: ['=', field, values[0]], test: (row) => among(row, [values[0]]) };
  if (!random.chance(0.2)) return asked;
  const opposite = (is: boolean | null): boolean | null => (is === null ? null : !is);
  return { clause: ['not', asked.clause], test: (row) => opposite(asked.test(row)) };
}

const identity = (row: Shown): string => JSON.stringify([row['hash'] ?? row['report'], row['resource_title']]);

/** Rows of random conditions, all, counted, and in pages, against those that looking at each gives. */
function compareSome(count: number): void {
  for (const entity of ['reports', 'events'] as const) {
    const rows = shown(entity, {});
    for (let i = 0; i < count; i++) {
      const asked = Array.from({ length: random.between(1, 3) }, () => condition(entity, rows));
      const clause = ['and', ...asked.map(({ clause }) => clause)];
      const query = JSON.stringify(clause);
      const wanted = rows.filter((row) => asked.every(({ test }) => test(row) === true));
      assert.deepEqual(shown(entity, { query }).map(identity).sort(), wanted.map(identity).sort(), query);
      const counted = shown(entity, { query: JSON.stringify(['extract', [['function', 'count']], clause]) });
      assert.deepEqual(counted, [{ count: wanted.length }], query);

      const field = entity === 'reports' ? 'producer_timestamp' : 'timestamp';
      const order = random.pick(['asc', 'desc']);
      const [offset, limit] = [random.pick([0, 0, 5]), random.between(1, 20)];
      const times = wanted.map((row) => row[field] as string).sort();
      if (order === 'desc') times.reverse();
      const page = { query, order_by: JSON.stringify([{ field, order }]), limit: `${limit}`, offset: `${offset}` };
      const found = shown(entity, page).map((row) => row[field]);
      assert.deepEqual(found, times.slice(offset, offset + limit), JSON.stringify(page));
    }
  }
}

function areSound(): void {
  for (const partition of fleet.partitions)
    assert.deepEqual(
      rowProblems(partition, () => true),
      [],
    );
}

function removeReport(hash: string): void {
  for (const partition of fleet.partitions) {
    const id = new View(partition, undefined).reports.idOf(hash);
    if (id !== 0) partition.write((batch) => batch.reports.delete(id));
  }
}

function keepFirstEvent(hash: string): void {
  for (const partition of fleet.partitions) {
    const view = new View(partition, undefined);
    const id = view.reports.idOf(hash);
    if (id !== 0 && view.reports.events(id).length > 0)
      partition.write((batch) => batch.reports.setEvents(id, view.reports.events(id).slice(1)));
  }
}

function begin(): void {
  fleet = newFleet(() => NOW);
  hashes = [];
}

describe('reports told from their marks', () => {
  before(() => {
    begin();
    addReports(REPORTS);
  });
  after(() => fleet.close());

  it('are those that looking at every report gives', () => {
    compareSome(80);
    areSound();
  });

  it('are read, and few others', () => {
    const asked = [
      ['reports', ['=', 'transaction_uuid', uuid(500)], 2],
      ['reports', ['=', 'transaction_uuid', uuid(REPORTS)], 3],
      ['reports', ['and', ['=', 'catalog_uuid', uuid(7)], ['=', 'status', 'failed']], REPORTS / 100],
      [
        'reports',
        ['and', ['=', 'noop', true], ['=', 'status', 'failed'], ['=', 'environment', 'staging']],
        REPORTS / 100,
      ],
      ['reports', ['and', ['~', 'certname', '^n[1-3]?[5-9]'], ['=', 'job_id', '77']], REPORTS / 100],
      ['events', ['=', 'resource_title', 'nowhere'], REPORTS / 20],
      ['events', ['and', ['=', 'resource_title', TITLES[1]], ['=', 'status', 'failure']], REPORTS / 10],
    ] as const;
    for (const [entity, clause, others] of asked) {
      const query = JSON.stringify(clause);
      const wanted = shown(entity, { query }).length;
      const reads = readsOf(() => shown(entity, { query }));
      assert.ok(reads >= wanted && reads <= wanted + others, `${query}: ${reads} read for ${wanted}`);
    }
  });

  it('are read for a page in order, and few others, however many pass', () => {
    const latest = { order_by: '[{"field":"producer_timestamp","order":"desc"}]', limit: '10' };
    for (const [clause, most] of [
      [['=', 'transaction_uuid', uuid(5)], 3],
      [['=', 'catalog_uuid', uuid(7)], 100],
      [['=', 'configuration_version', '2'], 150],
      [['=', 'noop', false], 150],
    ] as const) {
      const query = { ...latest, query: JSON.stringify(clause) };
      const reads = readsOf(() => shown('reports', query));
      assert.ok(reads <= most, `${query.query}: ${reads} read`);
    }
  });

  it('also when reports and events have gone', () => {
    const latest = new Set(shown('reports', { query: '["=","latest_report?",true]' }).map(({ hash }) => hash));
    for (const hash of hashes) {
      if (random.chance(0.3) && !latest.has(hash)) removeReport(hash);
      else if (random.chance(0.2)) keepFirstEvent(hash);
    }
    // A block of which nothing is left.
    for (const hash of hashes.slice(0, REPORTS / 2)) removeReport(hash);
    addReports(50);
    areSound();
    compareSome(30);
  });
});

describe('reports that came before there were marks', () => {
  before(() => {
    begin();
    addReports(REPORTS / 2);
    for (const partition of fleet.partitions) {
      const { marksSince: _, ...older } = partition.readState({});
      partition.tables.state.putSync(STATE, encodeState(older as never));
      partition.tables.report_marks.clearSync();
      partition.tables.report_period.clearSync();
    }
  });
  after(() => fleet.close());

  it('are looked at, with those that come, until they have gone', () => {
    const query = JSON.stringify(['=', 'transaction_uuid', uuid(REPORTS * 2)]);
    const reads = (): number => readsOf(() => shown('reports', { query }));
    assert.equal(reads(), REPORTS / 2);
    const older = [...hashes];
    addReports(REPORTS / 2);
    assert.equal(reads(), REPORTS / 2);
    compareSome(20);
    for (const hash of older) removeReport(hash);
    assert.ok(reads() < 3);
    compareSome(20);
  });
});
