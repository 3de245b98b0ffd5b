import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { QueuedCommand } from '../../../engine/ingest/command/types.ts';
import { deleteNode, expireNodes, purgeNodes } from '../../../engine/retention/nodes.ts';
import { oldestEventDay, oldestReportDay, purgeEventDay, purgeReportDay } from '../../../engine/retention/reports.ts';
import { dayOf, firstKeptDay, LOOKED_AT_MAX, type Sweep } from '../../../engine/retention/sweep.ts';
import { gcCatalogs, gcFactPaths } from '../../../engine/retention/unused.ts';
import { rowProblems } from '../../../engine/store/check/check.ts';
import { openPartition, type Partition, type PartitionOptions } from '../../../engine/store/partition.ts';
import type { TimeSpan } from '../../../engine/store/reports/report-times.ts';
import { encodeState, STATE } from '../../../engine/store/state.ts';
import type { View } from '../../../engine/store/view.ts';
import { applyBatch } from '../../support/apply.ts';
import {
  at,
  catalogPayload,
  event,
  type Fields,
  factsPayload,
  reportPayload,
  reportResource,
  SETTINGS,
  submit,
} from '../ingest/support.ts';

const DAY = 86_400_000;
const NOW = Date.parse('2036-06-01T00:00:00.000Z');

const dir = mkdtempSync(join(tmpdir(), 'retention-'));
const opened: Partition[] = [];
after(async () => {
  for (const partition of opened) await partition.close();
  rmSync(dir, { recursive: true });
});

function newPartition(...commands: QueuedCommand[]): Partition {
  const partition = newPartitionOf({});
  apply(partition, ...commands);
  return partition;
}

function newPartitionOf(options: PartitionOptions): Partition {
  const partition = openPartition(join(dir, `p${opened.length}`), options);
  opened.push(partition);
  return partition;
}

function apply(partition: Partition, ...commands: QueuedCommand[]): void {
  const settings = { ...SETTINGS, resourceEventsTtl: 50_000 * DAY };
  for (const outcome of applyBatch(partition, commands, settings)) assert.equal(outcome.kind, 'processed');
}

function run(sweep: Sweep): { changed: number; steps: number } {
  let changed = 0;
  for (let steps = 1; ; steps++) {
    const result = sweep.step();
    changed += result.changed;
    if (result.done) return { changed, steps };
    assert.ok(steps < 1000, 'the sweep does not end');
  }
}

/** What a search for a day finds. */
function dayFoundBy(search: Sweep): number | null | undefined {
  for (;;) {
    const { done, day } = search.step();
    if (done) return day;
  }
}

function read<T>(partition: Partition, look: (view: View) => T): T {
  const view = partition.snapshot();
  try {
    return look(view);
  } finally {
    view.close();
  }
}

const daysAgo = (days: number): string => new Date(NOW - days * DAY).toISOString();
const facts = (certname: string, time: string, fields: Fields = {}): QueuedCommand =>
  submit('replace facts', factsPayload({ certname, producer_timestamp: time, ...fields }));
const report = (certname: string, time: string, fields: Fields = {}): QueuedCommand =>
  submit('store report', reportPayload({ certname, producer_timestamp: time, ...fields }));
const deactivate = (certname: string, time: string): QueuedCommand =>
  submit('deactivate node', { certname, producer_timestamp: time });
const certnames = (partition: Partition, which: 'active' | 'expired' | 'all'): string[] =>
  read(partition, (view) => {
    const names: string[] = [];
    for (const id of view.set(1).toArray()) {
      const node = view.node(id);
      if (node === undefined) continue;
      const isActive = node.deactivated === null && node.expired === null;
      if (which === 'all' || (which === 'active' ? isActive : node.expired !== null)) names.push(node.certname);
    }
    return names.sort();
  });

// ---- nodes

test('retention: nodes expire when all their data is old', () => {
  const old = daysAgo(8);
  const young = daysAgo(6);
  const catalog = (certname: string, time: string): QueuedCommand =>
    submit('replace catalog', catalogPayload({ certname, producer_timestamp: time }));
  const setting = (certname: string, time: string, expire: boolean): QueuedCommand =>
    submit('configure expiration', { certname, producer_timestamp: time, expire: { facts: expire } });
  const inputs = (certname: string, time: string): QueuedCommand =>
    submit('replace catalog inputs', {
      certname,
      producer_timestamp: time,
      catalog_uuid: '11111111-1111-1111-1111-111111111111',
      inputs: [['h', 'x']],
    });
  const partition = newPartition(
    facts('old', old),
    facts('just-young', daysAgo(7)),
    facts('young', young),
    facts('young-catalog', old),
    catalog('young-catalog', young),
    facts('young-report', old),
    report('young-report', young),
    facts('young-plan', old),
    report('young-plan', young, { type: 'plan' }),
    facts('young-inputs', old),
    inputs('young-inputs', young),
    facts('never', old),
    setting('never', old, false),
    facts('may', old),
    setting('may', old, true),
    facts('may-lately', old),
    setting('may-lately', young, true),
    facts('deactivated', old),
    deactivate('deactivated', old),
  );
  const { changed } = run(expireNodes(partition, { now: NOW, ttl: 7 * DAY }));
  assert.deepEqual(certnames(partition, 'expired'), ['may', 'old', 'young-plan']);
  assert.equal(changed, 3);
  assert.equal(
    read(partition, (view) => view.node(view.nodeId('old'))?.expired),
    NOW,
  );
  assert.equal(run(expireNodes(partition, { now: NOW, ttl: 7 * DAY })).changed, 0);
});

test('retention: many nodes expire over several steps', () => {
  const partition = newPartition(...Array.from({ length: 450 }, (_, index) => facts(`n${index}`, daysAgo(30))));
  const { changed, steps } = run(expireNodes(partition, { now: NOW, ttl: 7 * DAY }));
  assert.equal(changed, 450);
  assert.ok(steps > 1);
});

test('retention: a node that comes back while its reports are being deleted stays, with what it sent', () => {
  const reports = Array.from({ length: 250 }, (_, index) => report('back', daysAgo(30 + index / 1000)));
  const partition = newPartition(...reports, deactivate('back', daysAgo(20)), deactivate('gone', daysAgo(20)));
  const sweep = purgeNodes(partition, { now: NOW, ttl: 14 * DAY, limit: 0 });
  assert.equal(sweep.step().done, false);
  apply(partition, report('back', daysAgo(0)), facts('back', daysAgo(0), { values: { a: 1 } }));
  assert.equal(run(sweep).changed, 1);
  assert.deepEqual(certnames(partition, 'active'), ['back']);
  const left = read(partition, (view) => {
    const id = view.nodeId('back');
    const latest = view.node(id)?.latestReport?.reportId ?? 0;
    return { facts: view.facts.list(id).length, latest: view.reports.get(latest)?.producerTimestamp };
  });
  assert.deepEqual(left, { facts: 2, latest: NOW });
  assert.deepEqual(certnames(partition, 'all'), ['back']);
});

test('retention: nodes inactive for long enough are deleted, at most as many as asked for', () => {
  const partition = newPartition(
    ...[1, 2, 3, 4, 5].map((index) => deactivate(`gone${index}`, daysAgo(20))),
    deactivate('lately', daysAgo(14)),
    facts('active', daysAgo(100)),
  );
  const purge = (limit: number): number => run(purgeNodes(partition, { now: NOW, ttl: 14 * DAY, limit })).changed;
  assert.equal(purge(2), 2);
  assert.deepEqual(certnames(partition, 'all'), ['active', 'gone3', 'gone4', 'gone5', 'lately']);
  assert.equal(purge(0), 3);
  assert.deepEqual(certnames(partition, 'all'), ['active', 'lately']);
  assert.equal(purge(0), 0);
});

test('retention: many inactive nodes go several in a step, one with many reports over several', () => {
  const gone = Array.from({ length: 120 }, (_, index) => `gone${String(index).padStart(3, '0')}`);
  const reports = Array.from({ length: 350 }, (_, index) => report(gone[60]!, daysAgo(30 + index / 1000)));
  const partition = newPartition(...reports, ...gone.map((certname) => deactivate(certname, daysAgo(20))));
  const { report_node: table } = partition.tables;
  const { getKeys } = table;
  let looked = 0;
  table.getKeys = (options) =>
    getKeys.call(table, options).map((key) => {
      looked++;
      return key;
    });
  const sweep = purgeNodes(partition, { now: NOW, ttl: 14 * DAY, limit: 0 });
  const changes: number[] = [];
  for (let done = false; !done; ) {
    const result = sweep.step();
    changes.push(result.changed);
    ({ done } = result);
  }
  assert.equal(
    changes.reduce((sum, changed) => sum + changed, 0),
    120,
  );
  assert.ok(changes.length < 25, `${changes}`);
  assert.ok(Math.max(...changes) < 50, `${changes}`);
  assert.ok(looked < 2 * 350, `${looked} reports were looked at`);
  assert.deepEqual(certnames(partition, 'all'), []);
  assert.equal(partition.counts().reports, 0);
});

test('retention: the limit of a purge is for all of its steps together', () => {
  const partition = newPartition(...Array.from({ length: 25 }, (_, index) => deactivate(`gone${index}`, daysAgo(20))));
  const { changed, steps } = run(purgeNodes(partition, { now: NOW, ttl: 14 * DAY, limit: 15 }));
  assert.equal(changed, 15);
  assert.ok(steps > 1);
  assert.equal(partition.counts().nodes, 10);
});

test('retention: a deleted node leaves nothing, and older data is taken again', () => {
  const resources = [reportResource({ events: [event()] })];
  const reports = Array.from({ length: 250 }, (_, index) =>
    report('c', at(index), { configuration_version: `${index}`, resources }),
  );
  const partition = newPartition(
    facts('c', at(5), { values: { a: { b: 1 } }, package_inventory: [['p', '1', 'apt']] }),
    submit('replace catalog', catalogPayload({ producer_timestamp: at(5) })),
    submit('replace catalog inputs', { certname: 'c', catalog_uuid: '1'.repeat(32), inputs: [['h', 'x']] }),
    ...reports,
    facts('other', at(5), { values: { a: { b: 1 } } }),
  );
  const { changed, steps } = run(deleteNode(partition, 'c'));
  assert.equal(changed, 1);
  assert.ok(steps > 1);
  assert.deepEqual(partition.counts(), {
    nodes: 1,
    catalogs: 0,
    factsets: 1,
    resources: 0,
    facts: 1,
    packages: 0,
    reports: 0,
    events: 0,
  });
  const rows = ['inputs', 'catalog_memo', 'factset_memo', 'resource_known'] as const;
  assert.deepEqual(
    rows.map((table) => partition.tables[table].getCount()),
    [0, 0, 1, 0],
    'the factset of the other node has one',
  );
  assert.deepEqual(
    rowProblems(partition, () => true),
    [],
  );
  assert.deepEqual(run(deleteNode(partition, 'c')), { changed: 0, steps: 1 });
  apply(partition, facts('c', at(1)));
  assert.deepEqual(certnames(partition, 'all'), ['c', 'other']);
});

// ---- reports and events

test('retention: the oldest expired day of reports goes, latest reports stay', () => {
  const partition = newPartition(
    report('a', daysAgo(40)),
    report('a', daysAgo(39.5)),
    report('a', daysAgo(39)),
    report('a', daysAgo(2)),
    report('b', daysAgo(60)),
    report('b', daysAgo(59), { type: 'plan' }),
    report('c', daysAgo(100)),
  );
  const kept = firstKeptDay(NOW, 14 * DAY);
  const times = (): number[] =>
    read(partition, (view) => [...view.reports.byTime({})].map(({ time }) => Math.round((NOW - time) / DAY)));
  const sweep = (): number | null | undefined => {
    const day = dayFoundBy(oldestReportDay(partition, kept));
    if (typeof day === 'number') run(purgeReportDay(partition, day));
    return day;
  };
  assert.equal(sweep(), dayOf(NOW - 59 * DAY));
  assert.deepEqual(times(), [100, 60, 40, 40, 39, 2]);
  assert.equal(sweep(), dayOf(NOW - 40 * DAY));
  assert.deepEqual(times(), [100, 60, 39, 2]);
  assert.equal(sweep(), dayOf(NOW - 39 * DAY));
  assert.equal(sweep(), null);
  assert.deepEqual(times(), [100, 60, 2]);
});

test('retention: a day of many reports is gone through once', () => {
  const old = daysAgo(40);
  const later = new Date(NOW - 40 * DAY + 1000).toISOString();
  const kept = Array.from({ length: 50 }, (_, i) => report(`kept${i}`, old));
  const gone = Array.from({ length: 250 }, (_, i) => report('busy', later, { configuration_version: `v${i}` }));
  const partition = newPartition(...kept, ...gone, report('busy', daysAgo(1)));
  const { snapshot } = partition;
  const looked: number[] = [];
  let opened = 0;
  partition.snapshot = () => {
    const view = snapshot.call(partition);
    const { byTime, get } = view.reports;
    view.reports.byTime = function* (range) {
      for (const report of byTime.call(view.reports, range)) {
        looked.push(report.id);
        yield report;
      }
    };
    view.reports.get = (id) => {
      opened++;
      return get.call(view.reports, id);
    };
    return view;
  };
  try {
    const { changed, steps } = run(purgeReportDay(partition, dayOf(NOW - 40 * DAY)));
    assert.equal(changed, 250);
    // The next step begins with what the last one ended before.
    assert.equal(looked.length, 300 + steps - 1);
  } finally {
    partition.snapshot = snapshot;
  }
  assert.equal(new Set(looked).size, 300);
  assert.equal(opened, 0);
  assert.equal(
    read(partition, (view) => [...view.reports.byTime({})].length),
    51,
  );
});

test('retention: a day is kept until it has expired as a whole', () => {
  const partition = newPartition(report('a', '2036-05-18T00:00:00.000Z'), report('a', daysAgo(0)));
  const at18 = Date.parse('2036-05-18T00:00:00.000Z');
  const oldest = (now: number) => dayFoundBy(oldestReportDay(partition, firstKeptDay(now, 14 * DAY)));
  assert.equal(oldest(at18 + 14 * DAY + DAY - 1), null);
  assert.equal(oldest(at18 + 15 * DAY), dayOf(at18));
});

test('retention: events go by their own day, those of latest reports stay', () => {
  const withEvents = (...days: number[]): Fields => ({
    resources: [
      reportResource({ events: days.map((days) => event({ timestamp: daysAgo(days), message: `${days}` })) }),
    ],
  });
  const partition = newPartition(
    report('a', daysAgo(10), withEvents(30, 14)),
    report('a', daysAgo(9), withEvents(29, 30, 1)),
    report('a', daysAgo(8), withEvents(50)),
  );
  const kept = firstKeptDay(NOW, 14 * DAY);
  const oldest = () => dayFoundBy(oldestEventDay(partition, kept));
  assert.equal(oldest(), dayOf(NOW - 30 * DAY));
  assert.equal(run(purgeEventDay(partition, dayOf(NOW - 30 * DAY))).changed, 2);
  assert.equal(oldest(), dayOf(NOW - 29 * DAY));
  assert.equal(run(purgeEventDay(partition, dayOf(NOW - 29 * DAY))).changed, 1);
  assert.equal(oldest(), null);
  assert.equal(partition.counts().events, 3);
  assert.equal(partition.counts().reports, 3);
});

test('retention: the events of many reports go in several steps', () => {
  const resources = [reportResource({ events: [event({ timestamp: daysAgo(30) })] })];
  const partition = newPartition(
    ...Array.from({ length: 250 }, (_, index) => report('a', daysAgo(30 - index / 1000), { resources })),
    report('a', daysAgo(1)),
  );
  const { changed, steps } = run(purgeEventDay(partition, dayOf(NOW - 30 * DAY)));
  assert.deepEqual([changed, partition.counts().events], [250, 0]);
  assert.ok(steps > 1);
});

test('retention: events before 1970 go day by day, and the report says of when those are that stay', () => {
  const times = ['1969-12-28', '1969-12-29', '1969-12-30', '1970-01-01', '1970-01-04'].map(Date.parse);
  const withEvents = (of: readonly number[]): Fields => ({
    resources: [reportResource({ events: of.map((time) => event({ timestamp: new Date(time).toISOString() })) })],
  });
  const partition = newPartition(
    report('a', daysAgo(10), withEvents(times)),
    report('b', daysAgo(10), withEvents(times.slice(0, 2))),
    report('a', daysAgo(1)),
    report('b', daysAgo(1)),
  );
  const ranges = (): number[][] =>
    read(partition, (view) => {
      const found: number[][] = [];
      for (const { id } of view.reports.byTime({})) {
        const { eventCount, eventTimeMin, eventTimeMax } = view.reports.get(id)!;
        if (eventCount > 0) found.push([eventTimeMin, eventTimeMax]);
      }
      return found;
    });
  const left = [...times];
  assert.deepEqual(ranges(), [
    [left[0], left[4]],
    [left[0], left[1]],
  ]);
  while (left.length > 0) {
    const day = dayFoundBy(oldestEventDay(partition, firstKeptDay(NOW, 14 * DAY)));
    assert.equal(day, dayOf(left.shift()!));
    run(purgeEventDay(partition, day!));
    const expected = left.length > 0 ? [[left[0], left.at(-1)]] : [];
    // Of the other report one event was left after the first day.
    if (left.length === 4) expected.push([left[0], left[0]]);
    assert.deepEqual(ranges(), expected);
  }
});

// ---- unused rows

test('retention: environments that nothing names go', () => {
  const partition = newPartition(
    facts('a', at(1), { environment: 'of-facts' }),
    report('a', at(1), { environment: 'of-old-report' }),
    report('a', at(2), { environment: 'of-latest' }),
    submit('replace catalog', catalogPayload({ certname: 'b', environment: 'of-catalog' })),
    facts('c', at(1), { environment: 'gone' }),
    facts('c', at(2), { environment: null }),
  );
  const names = (): string[] => read(partition, (view) => view.environments().sort());
  assert.ok(names().includes('gone'));
  assert.equal(run(gcCatalogs(partition)).changed, 1);
  assert.deepEqual(names(), ['of-catalog', 'of-facts', 'of-latest', 'of-old-report']);
  assert.equal(run(gcCatalogs(partition)).changed, 0);
});

test('retention: environments and events of reports are not looked for in all of them', () => {
  // The last one is no node's latest.
  const reports = Array.from({ length: LOOKED_AT_MAX + 1 }, (_, i) =>
    report('a', daysAgo(60 + i / 1e6), { environment: i < LOOKED_AT_MAX ? 'of-many' : 'of-one', resources: [] }),
  );
  const resources = [reportResource({ events: [event({ timestamp: daysAgo(61) })] })];
  const partition = newPartition(...reports, report('a', daysAgo(62), { resources }));
  const gone = facts('c', at(1), { environment: 'gone' });
  apply(partition, gone, facts('c', at(2), { environment: null }));
  const steps = { changed: 1, steps: 2 };
  assert.deepEqual(run(gcCatalogs(partition)), steps);
  const left = ['of-many', 'of-one', 'production'];
  assert.deepEqual(
    read(partition, (view) => view.environments().sort()),
    left,
  );
  const day = dayOf(NOW - 61 * DAY);
  assert.deepEqual(oldestEventDay(partition, firstKeptDay(NOW, 14 * DAY)).step(), { changed: 0, done: true, day });
  assert.deepEqual(run(purgeEventDay(partition, day)), { changed: 1, steps: 1 });
});

test('retention: an environment of one report among many stays that came before their kinds were counted', () => {
  // The last one is the first of the next step, and no node's latest.
  const reports = Array.from({ length: LOOKED_AT_MAX + 1 }, (_, i) =>
    report('a', daysAgo(60 + i / 1e6), { environment: i < LOOKED_AT_MAX ? 'of-many' : 'of-one' }),
  );
  const partition = newPartition(...reports);
  const { reportTimes: _, marksSince: __, ...older } = partition.readState({});
  partition.tables.state.putSync(STATE, encodeState(older as never));
  partition.tables.report_kind.clearSync();
  assert.equal(run(gcCatalogs(partition)).changed, 0);
  assert.deepEqual(
    read(partition, (view) => view.environments().sort()),
    ['of-many', 'of-one'],
  );
});

test('retention: an environment that comes back into use during the sweep stays', () => {
  const partition = newPartition(
    facts('a', at(1), { environment: 'back' }),
    facts('a', at(2), { environment: null }),
    report('a', at(1), { environment: 'kept' }),
  );
  const sweep = gcCatalogs(partition);
  assert.deepEqual(sweep.step(), { changed: 0, done: false });
  apply(partition, facts('a', at(3), { environment: 'back' }));
  assert.equal(run(sweep).changed, 0);
  assert.deepEqual(
    read(partition, (view) => view.environments().sort()),
    ['back', 'kept'],
  );
});

test('retention: fact paths that no fact has go', () => {
  const partition = newPartition(
    facts('a', at(1), { values: { gone: { x: 1 }, kept: { y: [1, null] }, number: 'text' } }),
    facts('a', at(2), { values: { kept: { y: [1, null] }, number: 1e10 } }),
  );
  const paths = (): string[] =>
    read(partition, (view) => [...new Set([...view.factPaths()].map(({ path }) => path.join('.')))].sort());
  assert.deepEqual(paths(), ['gone', 'gone.x', 'kept', 'kept.y.0', 'kept.y.1', 'number']);
  run(gcFactPaths(partition));
  assert.deepEqual(paths(), ['kept', 'kept.y.0', 'kept.y.1', 'number']);
  assert.equal(run(gcFactPaths(partition)).changed, 0);
});

test('retention: ids of fact names that no fact has go; who remembers them knows, and one that comes back is found', () => {
  const long = 'n'.repeat(700);
  const partition = newPartition(
    facts('a', at(1), { values: { gone: 1, kept: 'x', '': 0, [long]: 1 } }),
    facts('b', at(1), { values: { kept: 'y' } }),
  );
  const reader = openPartition(partition.dir, { readOnly: true });
  opened.push(reader);
  const names = ['gone', 'kept', '', long];
  const idsOf = (view: View): number[] => names.map((name) => view.nameId(name));
  const found = (view: View, certname: string): (string | undefined)[] =>
    idsOf(view).map((id) => {
      const list = [...view.facts.list(view.nodeId(certname))];
      const at = list.findIndex((nameId, index) => index % 2 === 0 && nameId === id);
      return at < 0 ? undefined : view.facts.body(list[at + 1]!).value;
    });
  const before = read(reader, idsOf);
  assert.equal(new Set(before).size, 4);
  const early = reader.snapshot();
  apply(partition, facts('a', at(2), { values: { kept: 'x' } }));
  assert.deepEqual(read(reader, idsOf), before, 'until the sweep');
  run(gcFactPaths(partition));
  assert.deepEqual(read(reader, idsOf), [0, before[1], 0, 0]);
  assert.deepEqual(read(partition, idsOf), [0, before[1], 0, 0]);
  apply(partition, facts('b', at(2), { values: { gone: 2, [long]: 3 } }));
  const again = read(reader, idsOf);
  assert.ok(again[0]! > Math.max(...before) && again[3]! > Math.max(...before), 'never given again');
  assert.deepEqual(read(partition, idsOf), again);
  assert.deepEqual(
    read(reader, (view) => found(view, 'b')),
    ['2', undefined, undefined, '3'],
  );
  assert.deepEqual(idsOf(early), before, 'an older snapshot has what it had');
  assert.deepEqual(found(early, 'a'), ['1', '"x"', '0', '1']);
  early.close();
  assert.deepEqual(read(reader, idsOf), again);
});

test('retention: a sweep of names that is taken back leaves what is known right', () => {
  const partition = newPartition(facts('a', at(1), { values: { one: 1, two: 2 } }));
  const idsOf = (view: View): number[] => ['one', 'two'].map((name) => view.nameId(name));
  const before = read(partition, idsOf);
  assert.throws(
    () =>
      partition.write((batch) => {
        batch.removeFactNames([Buffer.from('one')]);
        assert.notEqual(batch.nameId('one'), before[0]);
        throw new Error('taken back');
      }),
    /taken back/,
  );
  assert.deepEqual(read(partition, idsOf), before);
  apply(partition, facts('b', at(1), { values: { two: 2, three: 3 } }));
  assert.deepEqual(read(partition, idsOf), before);
});

test('retention: a step looks at so many paths, not facts', () => {
  const deep = (salt: number): object => Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, salt]));
  const values = Object.fromEntries([1, 2, 3, 4, 5].map((salt) => [`fact${salt}`, deep(salt)]));
  const partition = newPartition(facts('a', at(1), { values }));
  const sweep = gcFactPaths(partition);
  let steps = 1;
  while (!sweep.step().done) steps++;
  // Two facts a step, and then the registry in steps of 5,000.
  assert.ok(steps >= 3 + 4, `${steps} steps`);
});

test('retention: very many fact paths go over several steps, those that come back meanwhile stay', () => {
  const list = Array.from({ length: 12_000 }, (_, index) => index);
  const partition = newPartition(facts('a', at(1), { values: { list } }), facts('a', at(2), { values: { other: 1 } }));
  const count = (): number => read(partition, (view) => [...view.factPaths()].length);
  const sweep = gcFactPaths(partition);
  let changed = 0;
  let steps = 0;
  for (let done = false; !done; steps++) {
    const result = sweep.step();
    ({ done } = result);
    changed += result.changed;
    assert.ok(result.changed <= 5_000);
    if (steps === 0) apply(partition, facts('a', at(3), { values: { list, other: 1 } }));
  }
  assert.ok(steps >= 3);
  assert.ok(changed < 12_001);
  assert.equal(count(), 12_002);
  apply(partition, facts('a', at(4), { values: { other: 1 } }));
  assert.equal(run(gcFactPaths(partition)).changed, 12_001);
  assert.equal(count(), 1);
});

test('retention: facts that get ids anew while the registry of paths is looked through keep their paths', () => {
  const some = (from: number, count: number): Record<string, unknown> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${from + i}`, { deep: from + i }]));
  const partition = newPartitionOf({ itemRange: 64 });
  const paths = (): Set<string> =>
    read(partition, (view) => new Set([...view.factPaths()].map(({ path }) => path.join('.'))));
  const round = (): number => read(partition, (view) => view.itemRound('fact'));
  // More than a step looks at.
  apply(partition, facts('old', daysAgo(30), { values: some(0, 6000) }));
  for (const left of [900, 500, 100]) {
    const before = round();
    const { tables } = partition;
    const state = partition.readState({});
    const nextItem = { ...state.nextItem, fact: 50_000 - left };
    const rounds = { ...state.rounds, fact: { number: before, end: 50_000, limit: 50_000 } };
    tables.state.putSync(STATE, encodeState({ ...state, nextItem, rounds }));
    const sweep = gcFactPaths(partition);
    const came: Record<string, unknown> = {};
    for (let steps = 0; ; steps++) {
      assert.ok(steps < 100);
      const { done } = sweep.step();
      if (done) break;
      Object.assign(came, some(1e6 * left + steps * 200, 200));
      apply(partition, facts('new', new Date(NOW - left * 1e6 + steps).toISOString(), { values: came }));
    }
    assert.equal(round(), before + 1, `${left}`);
    const found = paths();
    for (const name of Object.keys(came)) assert.ok(found.has(name) && found.has(`${name}.deep`), name);
    assert.deepEqual(
      rowProblems(partition, () => true),
      [],
    );
  }
});

test('retention: reports whose far events went are found by the times of their runs', () => {
  const producer = Date.parse(daysAgo(20));
  const iso = (ms: number): string => new Date(ms).toISOString();
  // A clock was set during the run.
  const partition = newPartition(
    report('a', iso(producer), {
      start_time: iso(producer - 40 * 60_000),
      end_time: iso(producer - 1000),
      resources: [reportResource({ events: [event({ timestamp: iso(producer - 2 * DAY) })] })],
    }),
    report('a', daysAgo(1), { start_time: daysAgo(1), end_time: daysAgo(1) }),
  );
  const known = (): TimeSpan => read(partition, (view) => view.state.reportTimes.run);
  assert.deepEqual(known(), { earliest: 0, latest: 0 });
  assert.equal(run(purgeEventDay(partition, dayOf(producer - 2 * DAY))).changed, 1);
  assert.deepEqual(known(), { earliest: -40 * 60_000, latest: 0 });
  assert.deepEqual(
    rowProblems(partition, () => true),
    [],
  );
});

test('retention: the search for the oldest day looks at a bounded number of latest reports in a step', () => {
  const kept = Array.from({ length: LOOKED_AT_MAX + 10 }, (_, i) => report(`n${i}`, daysAgo(60)));
  const partition = newPartition(...kept, report('a', daysAgo(50)), report('a', daysAgo(2)));
  const sweep = oldestReportDay(partition, firstKeptDay(NOW, 14 * DAY));
  assert.deepEqual(sweep.step(), { changed: 0, done: false, day: null });
  assert.deepEqual(sweep.step(), { changed: 0, done: true, day: dayOf(NOW - 50 * DAY) });
});
