// Pages in the order of a time, of so many reports that blocks of them are put in order by the times they lie between: whatever else is asked,
// the pages are those that sorting all rows gives, and few reports are read for them.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { encodeEvents, eventRange } from '../../../../../engine/store/records/event-record.ts';
import { View } from '../../../../../engine/store/view.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { eventRecord, reportRecord } from '../../../store/report-records.ts';
import { ask, type Fleet, NOW, newFleet } from '../../request/fleet.ts';
import { openedBy } from '../opened-reports.ts';

const REPORTS = 4000;
const NODES = 40;
const random = new Random(testSeed('blocks-in-order'));

type Shown = Readonly<Record<string, string | null>>;
type Entity = 'reports' | 'events';

let fleet: Fleet;
let made = 0;
/** By certname. */
const ids = new Map<string, number>();

/** They come nearly in the order of their times, but for a few that come much later. */
function addReports(count: number): void {
  const [partition] = fleet.partitions;
  partition!.write((batch) => {
    for (let i = ids.size; i < NODES; i++) ids.set(`n${i}`, batch.createNode(`n${i}`));
    for (let i = 0; i < count; i++) {
      const serial = made++;
      const isOdd = random.chance(0.002);
      const at = NOW - 1e9 + serial * 60_000 - random.below(isOdd ? 1e9 : 600_000);
      const start = at - random.below(isOdd ? 4e9 : 300_000);
      const events = Array.from({ length: random.chance(0.3) ? random.between(1, 3) : 0 }, (_, n) =>
        eventRecord({
          timestamp: start + random.below(200_000),
          status: random.pick(['success', 'success', 'success', 'success', 'failure']),
          resourceTitle: `${random.pick(['a', 'b', 'c'])}${random.below(30)}`,
          newValue: `"${serial}.${n}"`,
        }),
      );
      const certname = `n${random.below(NODES)}`;
      const record = reportRecord({
        nodeId: ids.get(certname)!,
        certname,
        hash: serial.toString(16).padStart(40, '0'),
        status: random.pick(['changed', 'unchanged', 'unchanged', 'unchanged', 'failed']),
        configurationVersion: `${random.below(20)}`,
        startTime: start,
        endTime: at,
        producerTimestamp: at,
        receiveTime: at + random.below(5000),
        ...eventRange(events),
      });
      const encoded = events.length > 0 ? encodeEvents(events) : null;
      batch.reports.add(record, encoded, { logs: null, metrics: null, resources: null });
    }
  });
}

function shown(entity: Entity, query: Record<string, string>): readonly Shown[] {
  const { head, text } = ask(fleet, { path: `/${entity}`, query });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as Shown[];
}

const CONDITIONS: Readonly<
  Record<Entity, readonly (readonly [clause: readonly unknown[], test: (row: Shown) => boolean])[]>
> = {
  reports: [
    [['~', 'configuration_version', '^1?3$'], (row) => /^1?3$/.test(row['configuration_version']!)],
    [['=', 'configuration_version', '7'], (row) => row['configuration_version'] === '7'],
    [
      ['and', ['=', 'status', 'failed'], ['=', 'configuration_version', '7']],
      (row) => row['status'] === 'failed' && row['configuration_version'] === '7',
    ],
    [['=', 'status', 'failed'], (row) => row['status'] === 'failed'],
    [['~', 'certname', '^n1'], (row) => row['certname']!.startsWith('n1')],
    [['=', 'transaction_uuid', '00000000-1111-4222-8333-000000000000'], () => false],
  ],
  events: [
    [['=', 'status', 'failure'], (row) => row['status'] === 'failure'],
    [['~', 'resource_title', '^a1'], (row) => row['resource_title']!.startsWith('a1')],
    [['=', 'resource_title', 'b7'], (row) => row['resource_title'] === 'b7'],
    [
      ['and', ['~', 'certname', '^n1'], ['=', 'status', 'failure']],
      (row) => row['certname']!.startsWith('n1') && row['status'] === 'failure',
    ],
    [['~', 'certname', '.'], () => true],
  ],
};
const TIMES: Readonly<Record<Entity, readonly string[]>> = {
  reports: ['producer_timestamp', 'start_time', 'end_time', 'receive_time'],
  events: ['timestamp', 'run_start_time', 'run_end_time', 'report_receive_time'],
};

function compare(count: number): void {
  for (const entity of ['reports', 'events'] as const) {
    const everything = shown(entity, {});
    for (let i = 0; i < count; i++) {
      const [asked, passes] = random.pick(CONDITIONS[entity]);
      const [field, other] = [random.pick(TIMES[entity]), random.pick(TIMES[entity])];
      const bound = random.pick(everything)[other]!;
      const isBound = random.chance(0.3);
      const clause = isBound ? ['and', asked, ['>=', other, bound]] : asked;
      const order = random.pick(['asc', 'desc']);
      const [limit, offset] = [random.between(1, 30), random.pick([0, 0, 10, 200])];
      const page = {
        query: JSON.stringify(clause),
        order_by: JSON.stringify([{ field, order }]),
        limit: `${limit}`,
        offset: `${offset}`,
      };
      const times = everything
        .filter((row) => passes(row) && (!isBound || row[other]! >= bound))
        .map((row) => row[field]!)
        .toSorted();
      if (order === 'desc') times.reverse();
      const found = shown(entity, page);
      assert.deepEqual(
        found.map((row) => row[field]),
        times.slice(offset, offset + limit),
        `${entity} ${JSON.stringify(page)}`,
      );
      assert.ok(found.every(passes));
    }
  }
}

before(() => {
  fleet = newFleet(() => NOW, 1);
  addReports(REPORTS);
});
after(() => fleet.close());

it('pages are those of all rows sorted', () => compare(60));

it('few reports are read for those that come first', () => {
  const asked: readonly (readonly [entity: Entity, clause: readonly unknown[], order: string, most: number])[] = [
    ['events', ['=', 'status', 'failure'], '[{"field":"timestamp","order":"desc"}]', 400],
    ['events', ['=', 'resource_title', 'b7'], '[{"field":"timestamp","order":"asc"}]', 400],
    ['reports', ['=', 'configuration_version', '7'], '[{"field":"end_time","order":"desc"}]', 200],
    ['reports', ['=', 'status', 'failed'], '[{"field":"start_time","order":"desc"}]', 200],
    ['reports', ['~', 'certname', '^n1'], '[{"field":"receive_time","order":"asc"}]', 200],
  ];
  for (const [entity, clause, order, most] of asked) {
    const page = { query: JSON.stringify(clause), order_by: order, limit: '10' };
    const read = openedBy(() => assert.equal(shown(entity, page).length, 10));
    assert.ok(read <= most, `${entity} ${JSON.stringify(page)}: ${read} of ${REPORTS} read`);
  }
});

it('also when reports have gone, and more have come', () => {
  const [partition] = fleet.partitions;
  const view = new View(partition!, undefined);
  const gone = [...view.reports.ids()].filter(() => random.chance(0.3));
  partition!.write((batch) => {
    for (const id of gone) batch.reports.delete(id);
  });
  addReports(500);
  compare(40);
});
