// Times of runs and events lie near the producer's time of their report, by which reports are indexed: whatever is asked of them, the
// rows are those that looking at every report gives, though some lie far away, and what is asked for the latest looks at few. Reports are
// counted without a look at them.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rowProblems } from '../../../../engine/store/check/check.ts';
import { REPORTS_LATEST } from '../../../../engine/store/records/tables.ts';
import { type Clock, FAR_SETS } from '../../../../engine/store/reports/report-times.ts';
import { encodeState, STATE } from '../../../../engine/store/state.ts';
import { View } from '../../../../engine/store/view.ts';
import { Random, testSeed } from '../../../support/random.ts';
import { ask, type Fleet, NOW, newFleet, planOf, report } from '../request/fleet.ts';
import { openedBy } from './opened-reports.ts';

const REPORTS = 600;
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
/** What the reports lie within. */
const SPAN = 20 * DAY;
const random = new Random(testSeed('near-times'));

type Shown = Readonly<Record<string, unknown>>;
type Entity = 'reports' | 'events';

const TIMES: Readonly<Record<Entity, readonly string[]>> = {
  reports: ['start_time', 'end_time', 'producer_timestamp', 'receive_time'],
  events: ['timestamp', 'run_start_time', 'run_end_time', 'report_receive_time'],
};
const OTHERS: readonly (readonly [clause: readonly unknown[], test: (row: Shown) => boolean])[] = [
  [['=', 'environment', 'staging'], ({ environment }) => environment === 'staging'],
  [['~', 'certname', '^n1'], ({ certname }) => (certname as string).startsWith('n1')],
  [['=', 'latest_report?', true], () => false],
];

let fleet: Fleet;
let hashes: string[] = [];
/** By what is far: a time of the run, or that of the receipt. */
const far = { run: 0, receipt: 0 };

/** How far a clock was wrong. */
const skew = (): number => random.pick([-400 * DAY, -DAY, -2 * 60 * MINUTE, 90 * MINUTE, DAY, 3000 * DAY]);

function addReport(i: number, farShare: number): void {
  const isFar = random.chance(farShare);
  const isLate = random.chance(farShare);
  far.run += Number(isFar);
  far.receipt += Number(isLate);
  const [resource] = report('a').resources;
  const producer = NOW - random.below(SPAN / MINUTE) * MINUTE;
  const start = producer - random.below(30) * MINUTE;
  const end = start + random.below(40) * MINUTE;
  const count = random.below(3);
  const within = Array.from({ length: count }, () => start + random.below(30) * MINUTE);
  const which = isFar ? random.pick(count > 0 ? [0, 1, 2] : [0, 1]) : -1;
  if (which === 2) within[0] = within[0]! + skew();
  const iso = (ms: number): string => new Date(ms).toISOString();
  const hash = fleet.apply(
    'store report',
    8,
    report(`n${random.below(60)}.example.com`, {
      configuration_version: `${i}`,
      environment: random.pick(['production', 'staging']),
      // Read by `received`.
      code_id: `${producer + (isLate ? random.pick([2, 30]) * 60 * MINUTE : random.between(-5, 300) * 1000)}`,
      type: random.chance(0.1) ? 'plan' : 'agent',
      status: random.pick(['changed', 'failed', 'unchanged']),
      noop: random.chance(0.3),
      start_time: iso(which === 0 ? start + skew() : start),
      end_time: iso(which === 1 ? end + skew() : end),
      producer_timestamp: iso(producer),
      resources: within.map((time, n) => ({
        ...resource,
        resource_title: `${n}`,
        events: [{ ...resource!.events[0], timestamp: iso(time), new_value: `${i}.${n}` }],
      })),
    }),
  );
  hashes.push(hash!);
}

function addReports(farShare: number): void {
  fleet = newFleet(({ code_id: received }) => (typeof received === 'string' ? Number(received) : NOW));
  hashes = [];
  Object.assign(far, { run: 0, receipt: 0 });
  for (let i = 0; i < REPORTS; i++) addReport(i, farShare);
}

function shown(entity: Entity, query: Record<string, string>): { readonly rows: Shown[]; readonly total: number } {
  const { head, text } = ask(fleet, { path: `/${entity}`, query });
  assert.equal(head.status, 200, text);
  const total = Number(new Map(head.headers).get('X-Records'));
  return { rows: JSON.parse(text) as Shown[], total };
}

const BOTH_TYPES = '["or",["=","type","agent"],["=","type","plan"]]';
const all = (entity: Entity): readonly Shown[] => shown(entity, entity === 'reports' ? { query: BOTH_TYPES } : {}).rows;
const scanned = (entity: Entity, query: Record<string, string>): number =>
  planOf(fleet, { path: `/${entity}`, query }).Plan!.Steps.find(({ step }) => step === 'scan')!['actual rows']!;

const COMPARE = {
  '<': (a: number, b: number) => a < b,
  '<=': (a: number, b: number) => a <= b,
  '>': (a: number, b: number) => a > b,
  '>=': (a: number, b: number) => a >= b,
  '=': (a: number, b: number) => a === b,
} as const;

interface Asked {
  readonly clause: readonly unknown[];
  readonly test: (row: Shown) => boolean;
}

function condition(entity: Entity, rows: readonly Shown[], latest: ReadonlySet<unknown>): Asked {
  if (random.chance(0.25)) {
    const [clause, test] = random.pick(OTHERS);
    const isLatest = (row: Shown): boolean => latest.has(row[entity === 'reports' ? 'hash' : 'report']);
    return { clause, test: clause[1] === 'latest_report?' ? isLatest : test };
  }
  const field = random.pick(TIMES[entity]);
  const op = random.pick(['<', '<=', '>', '>=', '='] as const);
  const value = Date.parse(random.pick(rows)[field] as string) + random.pick([0, 0, MINUTE, -MINUTE]);
  return {
    clause: [op, field, new Date(value).toISOString()],
    test: (row) => COMPARE[op](Date.parse(row[field] as string), value),
  };
}

const identity = (row: Shown): string => `${row['hash'] ?? row['report']} ${row['new_value']}`;

/** Rows of random conditions, all and in pages, against those that looking at each gives. */
function compareSome(count: number): void {
  const latest = new Set(shown('reports', { query: '["=","latest_report?",true]' }).rows.map(({ hash }) => hash));
  for (const entity of ['reports', 'events'] as const) {
    const everything = all(entity);
    const ofAgents = everything.filter(({ type }) => type !== 'plan');
    for (let i = 0; i < count; i++) {
      const isAnyType = random.chance(0.3);
      const rows = isAnyType ? everything : ofAgents;
      const asked = Array.from({ length: random.below(4) }, () => condition(entity, rows, latest));
      const type = isAnyType && entity === 'reports' ? [JSON.parse(BOTH_TYPES)] : [];
      const clauses = [...type, ...asked.map(({ clause }) => clause)];
      const clause = ['and', ['~', 'certname', ''], ...clauses];
      const query = JSON.stringify(clause);
      const wanted = rows.filter((row) => asked.every(({ test }) => test(row)));
      const filter: Record<string, string> = clauses.length === 0 && random.chance(0.5) ? {} : { query };
      assert.deepEqual(shown(entity, filter).rows.map(identity).sort(), wanted.map(identity).sort(), query);
      const counted = shown(entity, { query: JSON.stringify(['extract', [['function', 'count']], clause]) });
      assert.deepEqual(counted.rows, [{ count: wanted.length }], query);

      const field = random.pick(TIMES[entity]);
      const isDescending = random.chance(0.5);
      const offset = random.pick([0, 0, 3, 40]);
      const limit = random.between(1, 30);
      const times = wanted
        .map((row) => Date.parse(row[field] as string))
        .sort((a, b) => (isDescending ? b - a : a - b));
      const page = {
        ...filter,
        order_by: JSON.stringify([{ field, order: isDescending ? 'desc' : 'asc' }]),
        limit: `${limit}`,
        offset: `${offset}`,
      };
      for (const total of [{}, { include_total: 'true' }]) {
        const answer = shown(entity, { ...page, ...total });
        const found = answer.rows.map((row) => Date.parse(row[field] as string));
        assert.deepEqual(found, times.slice(offset, offset + limit), JSON.stringify(page));
        assert.equal(new Set(answer.rows.map(identity)).size, found.length, JSON.stringify(page));
        if ('include_total' in total) assert.equal(answer.total, wanted.length, JSON.stringify(page));
      }
    }
  }
}

/** How many are in the sets of those that are far. */
const inFarSets = (): Record<Clock, number> => {
  const views = fleet.partitions.map((partition) => new View(partition, undefined));
  const count = (clock: Clock): number =>
    views.reduce((sum, view) => sum + view.reports.set(FAR_SETS[clock]).length, 0);
  return { run: count('run'), receipt: count('receipt') };
};

function isSound(): void {
  for (const partition of fleet.partitions)
    assert.deepEqual(
      rowProblems(partition, () => true),
      [],
    );
}

describe('reports of which few lie far', () => {
  // So many that of any half of them some do.
  before(() => addReports(0.08));
  after(() => fleet.close());

  it('rows and pages are those that looking at every report gives', () => compareSome(60));

  it('what is asked for the latest looks at few', () => {
    const recent = new Date(NOW - SPAN / 100).toISOString();
    // Half an hour before and after, of twenty days, and all that are far.
    const most = Math.max(far.run, far.receipt) * 3 + REPORTS / 10;
    for (const [entity, field] of [
      ['reports', 'start_time'],
      ['reports', 'end_time'],
      ['reports', 'receive_time'],
      ['events', 'timestamp'],
      ['events', 'report_receive_time'],
      ['events', 'run_end_time'],
    ] as const) {
      for (const order of ['asc', 'desc']) {
        const looked = scanned(entity, { order_by: JSON.stringify([{ field, order }]), limit: '5' });
        assert.ok(looked <= most, `${field} ${order}: ${looked}`);
      }
      const plan = planOf(fleet, { path: `/${entity}`, query: { query: JSON.stringify(['>', field, recent]) } });
      assert.match(JSON.stringify(plan), /"reports":"time"/);
    }
  });

  it('what was counted is looked for no further than to the last of them', () => {
    const producers = new Map(all('reports').map((row) => [row['configuration_version'], row['producer_timestamp']]));
    const at = [...producers].toSorted((a, b) => ((a[1] as string) < (b[1] as string) ? 1 : -1))[20]![0];
    for (const [pattern, found] of [
      ['^none$', 0],
      [`^${at}$`, 1],
    ] as const) {
      const query = JSON.stringify(['and', ['~', 'configuration_version', pattern], JSON.parse(BOTH_TYPES)]);
      const order = JSON.stringify([{ field: 'producer_timestamp', order: 'desc' }]);
      const opened = openedBy(() => {
        const { rows, total } = shown('reports', { query, order_by: order, limit: '5', include_total: 'true' });
        assert.deepEqual([rows.length, total], [found, found]);
      });
      // Each is counted, and of both partitions the first twenty or so are opened once more, or all of one.
      assert.ok(opened >= REPORTS && opened < REPORTS * 1.8, `${pattern}: ${opened}`);
      if (found === 0) assert.equal(opened, REPORTS);
    }
  });

  it('those that are far are known, until they go', async () => {
    assert.deepEqual(inFarSets(), far);
    isSound();
    for (const hash of hashes.slice(0, REPORTS / 2)) {
      for (const partition of fleet.partitions) {
        const view = new View(partition, undefined);
        const id = view.reports.idOf(hash);
        if (id === 0 || view.reports.set(REPORTS_LATEST).includes(id)) continue;
        // Some lose their events first, as they do after a while.
        partition.write((batch) => {
          if (random.chance(0.5)) batch.reports.setEvents(id, []);
          if (random.chance(0.8)) batch.reports.delete(id);
        });
      }
    }
    isSound();
    const left = inFarSets();
    assert.ok(left.run < far.run && left.receipt < far.receipt);
    compareSome(20);
  });
});

describe('reports are counted', () => {
  const DEACTIVATED = ['n1', 'n7', 'n30'];
  let latest = new Set<unknown>();
  before(() => {
    addReports(0.04);
    for (const name of DEACTIVATED) {
      const payload = { certname: `${name}.example.com`, producer_timestamp: new Date(NOW).toISOString() };
      fleet.apply('deactivate node', 3, payload);
    }
    latest = new Set(shown('reports', { query: '["=","latest_report?",true]' }).rows.map(({ hash }) => hash));
  });
  after(() => fleet.close());

  const NODES = ['n1', 'n30', 'n31', 'n7', 'n59'].map((name) => `${name}.example.com`);
  const isActive = ({ certname }: Shown): boolean => !DEACTIVATED.includes((certname as string).split('.')[0]!);
  /** With whether the kinds of reports, and whose they are, tell it. */
  const FILTERS: readonly (readonly [clause: readonly unknown[], test: (row: Shown) => boolean, isKnown: boolean])[] = [
    [['~', 'certname', ''], () => true, true],
    [['=', 'certname', 'n7.example.com'], ({ certname }) => certname === 'n7.example.com', true],
    [['in', 'certname', ['array', NODES]], ({ certname }) => NODES.includes(certname as string), true],
    [['not', ['in', 'certname', ['array', NODES]]], ({ certname }) => !NODES.includes(certname as string), true],
    [['=', 'node_state', 'active'], isActive, true],
    [['=', 'environment', 'staging'], ({ environment }) => environment === 'staging', true],
    [
      ['and', ['=', 'node_state', 'active'], ['not', ['=', 'status', 'failed']], ['=', 'noop', true]],
      (row) => isActive(row) && row['status'] !== 'failed' && row['noop'] === true,
      true,
    ],
    [['=', 'configuration_version', '7'], (row) => row['configuration_version'] === '7', false],
    [['=', 'latest_report?', true], ({ hash }) => latest.has(hash), false],
  ];

  it('without a look at them, where kinds and nodes tell that', () => {
    const everything = all('reports');
    for (const [clause, test, isKnown] of FILTERS) {
      for (const type of ['agent', 'plan', null]) {
        const filter = type === 'plan' ? ['and', clause, ['=', 'type', 'plan']] : clause;
        const both = type === null ? ['and', clause, JSON.parse(BOTH_TYPES)] : filter;
        const wanted = everything.filter((row) => test(row) && (type === null || row['type'] === type)).length;
        const query = JSON.stringify(['extract', [['function', 'count']], both]);
        assert.deepEqual(shown('reports', { query }).rows, [{ count: wanted }], query);
        const paged = shown('reports', { query: JSON.stringify(both), limit: '1', include_total: 'true' });
        assert.equal(paged.total, wanted, query);
        assert.equal(areCounted(query), isKnown, query);
      }
    }
  });

  const groups = (rows: readonly Shown[], fields: readonly string[]): string[] => {
    const counts = new Map<string, number>();
    for (const row of rows) {
      const key = JSON.stringify(fields.map((field) => row[field]));
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].map(([key, count]) => `${key} ${count}`).sort();
  };
  const found = (rows: readonly Shown[], fields: readonly string[]): string[] =>
    rows.map((row) => `${JSON.stringify(fields.map((field) => row[field]))} ${row['count']}`).sort();

  type Selected = readonly [clause: readonly unknown[], test: (row: Shown) => boolean, isTimed: boolean];
  const within = (field: string, first: number, last: number): Selected => {
    const [from, to] = [NOW - first * DAY - 12_345, NOW - last * DAY];
    const clause = ['and', ['>=', field, new Date(from).toISOString()], ['<', field, new Date(to).toISOString()]];
    return [clause, (row) => Date.parse(row[field] as string) >= from && Date.parse(row[field] as string) < to, true];
  };
  const SELECTED: readonly Selected[] = [
    within('start_time', 9, 3),
    within('producer_timestamp', 9.1, 8.7),
    within('receive_time', 20, 0),
    [
      ['and', ['>', 'end_time', new Date(NOW - 5 * DAY).toISOString()], ['=', 'node_state', 'active']],
      (row) => isActive(row) && Date.parse(row['end_time'] as string) > NOW - 5 * DAY,
      true,
    ],
    [['~', 'certname', ''], () => true, false],
    [['=', 'status', 'failed'], ({ status }) => status === 'failed', false],
    [['=', 'node_state', 'active'], isActive, false],
  ];

  it('in groups', () => {
    const everything = all('reports');
    for (const fields of [
      ['status'],
      ['environment', 'noop'],
      ['type', 'status', 'producer'],
      ['certname'],
      ['certname', 'status', 'type'],
      ['configuration_version'],
    ]) {
      for (const [filter, test, isTimed] of SELECTED) {
        const clause = ['and', filter, JSON.parse(BOTH_TYPES)];
        const query = JSON.stringify(['extract', [...fields, ['function', 'count']], clause, ['group_by', ...fields]]);
        const { rows } = shown('reports', { query });
        assert.deepEqual(found(rows, fields), groups(everything.filter(test), fields), query);
        // Of nodes, those within few hours are found by the index of times.
        if (isTimed && fields.includes('certname')) continue;
        assert.equal(areCounted(query), fields[0] !== 'configuration_version', query);
      }
    }
  });

  it('by the day or the hour of their times', () => {
    const everything = all('reports');
    const DAILY = ['YYYY-MM-DD', (time: string) => time.slice(0, 10)] as const;
    const HOURLY = ['"in" DD HH24', (time: string) => `in ${time.slice(8, 10)} ${time.slice(11, 13)}`] as const;
    const BY_THE_MINUTE = ['HH24:MI', (time: string) => time.slice(11, 16)] as const;
    const ASKED = [
      // Runs begin and end within an hour of the producer's time, so that few periods are of one hour of theirs.
      ['start_time', DAILY, true],
      ['start_time', HOURLY, false],
      ['end_time', DAILY, true],
      ['producer_timestamp', DAILY, true],
      ['producer_timestamp', HOURLY, true],
      ['producer_timestamp', BY_THE_MINUTE, false],
      ['receive_time', DAILY, true],
    ] as const;
    for (const [at, [field, [mask, text], isTold]] of ASKED.entries()) {
      for (const others of [[], ['status', 'noop'], ['certname']]) {
        for (const [filter, test, isTimed] of SELECTED.filter((_, i) => others.length === 0 || i % 3 === at % 3)) {
          const clause = ['and', filter, JSON.parse(BOTH_TYPES)];
          const day = ['function', 'to_string', field, mask];
          const asked = ['extract', [...others, day, ['function', 'count']], clause, ['group_by', ...others, day]];
          const query = JSON.stringify(asked);
          const rows = everything.filter(test).map((row) => ({ ...row, to_string: text(row[field] as string) }));
          const fields = [...others, 'to_string'];
          assert.deepEqual(found(shown('reports', { query }).rows, fields), groups(rows, fields), query);
          // Of a few hours most may be near midnight.
          if (!isTimed) assert.equal(areCounted(query), isTold && others[0] !== 'certname', query);
        }
      }
    }
  });

  const areCounted = (query: string): boolean =>
    JSON.stringify(planOf(fleet, { path: '/reports', query: { query } })).includes('"reports":"counted"');
});

describe('reports of which many lie far', () => {
  before(() => addReports(0.7));
  after(() => fleet.close());

  it('are looked at one after the other', () => {
    compareSome(20);
    const query = { query: BOTH_TYPES, order_by: '[{"field":"end_time","order":"desc"}]', limit: '5' };
    assert.equal(scanned('reports', query), REPORTS);
  });
});

describe('reports that came before it was known how far they lie', () => {
  before(() => {
    addReports(0.04);
    for (const partition of fleet.partitions) {
      const { reportTimes: _, marksSince: __, ...older } = partition.readState({});
      partition.tables.state.putSync(STATE, encodeState(older as never));
      const { node_set: sets } = partition.tables;
      const keys = [...sets.getKeys({})].filter((key) => Object.values(FAR_SETS).includes(key.readUInt32BE(0)));
      for (const key of keys) sets.removeSync(key);
      partition.tables.report_kind.clearSync();
      partition.tables.report_marks.clearSync();
      partition.tables.report_period.clearSync();
    }
  });
  after(() => fleet.close());

  it('are looked at one after the other, with those that come, until they have gone', () => {
    const query = { query: BOTH_TYPES, order_by: '[{"field":"end_time","order":"desc"}]', limit: '5' };
    assert.equal(scanned('reports', query), REPORTS);
    const older = hashes;
    for (let i = 0; i < REPORTS; i++) addReport(REPORTS + i, 0.04);
    compareSome(10);
    assert.equal(scanned('reports', query), 2 * REPORTS);
    isSound();
    // Latest ones among them, too: what their nodes say of them is not asked here.
    for (const hash of older.slice(0, REPORTS)) {
      for (const partition of fleet.partitions) {
        const id = new View(partition, undefined).reports.idOf(hash);
        if (id !== 0) partition.write((batch) => batch.reports.delete(id));
      }
    }
    compareSome(10);
    assert.ok(scanned('reports', query) < REPORTS / 4);
  });
});
