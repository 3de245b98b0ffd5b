// Between which times blocks of reports are: never narrower than the reports that a snapshot has, whatever goes and comes, and not known of a
// snapshot from before something went that is missing in what was read.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openPartition, type Partition } from '../../../engine/store/partition.ts';
import { encodeEvents, eventRange } from '../../../engine/store/records/event-record.ts';
import { BLOCK_REPORTS, blockOf } from '../../../engine/store/reports/report-blocks.ts';
import type { Moment } from '../../../engine/store/reports/report-moments.ts';
import { STATUSES } from '../../../engine/store/reports/report-statuses.ts';
import type { KnownZones } from '../../../engine/store/reports/report-zones.ts';
import type { View } from '../../../engine/store/view.ts';
import { Random, testSeed } from '../../support/random.ts';
import { nextTurn } from './readers.ts';
import { eventRecord, reportRecord } from './report-records.ts';

const dir = mkdtempSync(join(tmpdir(), 'muster-report-zones-'));
after(() => rmSync(dir, { recursive: true, force: true }));

const NO_LISTS = { metrics: null, logs: null, resources: null };
const NOW = Date.parse('2026-11-20T10:00:00Z');
const random = new Random(testSeed('report-zones'));
let made = 0;

function partitionOf(name: string): Partition {
  const partition = openPartition(join(dir, name));
  partition.write((batch) => batch.createNode('n'));
  return partition;
}

function add(
  partition: Partition,
  count: number,
  changes: { readonly startTime?: number } = {},
  statuses: readonly string[] = [],
): void {
  const events = statuses.map((status) => eventRecord({ status, timestamp: NOW }));
  const encoded = events.length === 0 ? null : encodeEvents(events);
  partition.write((batch) => {
    for (let i = 0; i < count; i++) {
      const at = NOW + made++ * 1000;
      const times = {
        startTime: at - random.below(60_000),
        endTime: at + random.below(60_000),
        receiveTime: at + random.below(9),
      };
      const hash = made.toString(16).padStart(40, '0');
      const record = reportRecord({
        nodeId: 1,
        hash,
        producerTimestamp: at,
        ...times,
        ...changes,
        ...eventRange(events),
      });
      batch.reports.add(record, encoded, NO_LISTS);
    }
  });
}

const remove = (partition: Partition, ids: Iterable<number>): void =>
  partition.write((batch) => {
    for (const id of ids) batch.reports.delete(id);
  });

/** To the end, with pauses. */
function ran<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
const zonesOf = (view: View): KnownZones | null => ran(view.reports.zones(() => true));

const TIMES = { producer: 'producerTimestamp', receive: 'receiveTime', start: 'startTime', end: 'endTime' } as const;

/** Each report is between the times of its block; returns of how many blocks no time is left out. */
function covers(view: View, zones: KnownZones): number {
  const open = new Set<number>();
  for (const id of view.reports.ids()) {
    const record = view.reports.get(id);
    if (record === undefined) continue;
    for (const [moment, field] of Object.entries(TIMES)) {
      const [least, greatest] = [
        zones.least(moment as Moment, blockOf(id)),
        zones.greatest(moment as Moment, blockOf(id)),
      ];
      assert.ok(least <= record[field] && record[field] <= greatest, `${field} of report ${id}`);
      if (least === Number.NEGATIVE_INFINITY && greatest === Number.POSITIVE_INFINITY) open.add(blockOf(id));
    }
  }
  return open.size;
}

test('zones: of full blocks times are left out; what comes and goes afterwards is between them', async () => {
  const partition = partitionOf('growing');
  for (const count of [BLOCK_REPORTS * 3 + 10, 5, BLOCK_REPORTS * 4, BLOCK_REPORTS * 70]) {
    add(partition, count);
    await nextTurn();
    const view = partition.snapshot();
    assert.equal(covers(view, zonesOf(view)!), 1, 'the block that is not full');
    view.close();
    const { first } = view.reports.idRange;
    remove(
      partition,
      [...Array(BLOCK_REPORTS + 3).keys()].map((i) => first + i),
    );
    await nextTurn();
    const later = partition.snapshot();
    covers(later, zonesOf(later)!);
    later.close();
  }
  // Of most blocks nothing is left.
  const view = partition.snapshot();
  const ids = [...view.reports.ids()];
  view.close();
  remove(partition, ids.slice(0, -BLOCK_REPORTS * 3));
  await nextTurn();
  const last = partition.snapshot();
  const zones = zonesOf(last)!;
  assert.equal(covers(last, zones), 1);
  assert.equal(zones.least('start', blockOf(ids[0]!)), Number.NEGATIVE_INFINITY, 'is forgotten');
  last.close();
  await partition.close();
});

test('zones: a block that is full only for later queries tells an earlier one nothing', async () => {
  const partition = partitionOf('side-by-side');
  add(partition, BLOCK_REPORTS + 10);
  await nextTurn();
  const earlier = partition.snapshot();
  const zones = zonesOf(earlier)!;
  const ids = [...earlier.reports.ids()];
  add(partition, BLOCK_REPORTS);
  remove(partition, ids.slice(-10));
  await nextTurn();
  const later = partition.snapshot();
  assert.equal(covers(later, zonesOf(later)!), 1);
  assert.equal(covers(earlier, zones), 1);
  assert.ok(zones.hasStatus([0], blockOf(ids.at(-1)!)));
  earlier.close();
  later.close();
  await partition.close();
});

test('zones: the events of a block are between its first and its last one, and where there are none no time is', async () => {
  const partition = partitionOf('events');
  add(partition, BLOCK_REPORTS * 2);
  await nextTurn();
  const view = partition.snapshot();
  const zones = zonesOf(view)!;
  for (const block of [0, 1]) assert.ok(zones.greatest('event', block) < NOW && zones.least('event', block) > NOW);
  view.close();
  await partition.close();
});

test('zones: a block has the statuses of its events, and any where those of a report are not told', async () => {
  const partition = partitionOf('statuses');
  const blocks = [[], ['success'], ['noop', 'failure'], ['strange'], ['skipped']];
  for (const statuses of blocks) {
    add(partition, BLOCK_REPORTS - 1);
    add(partition, 1, {}, statuses);
  }
  add(partition, 1);
  await nextTurn();
  const view = partition.snapshot();
  const zones = zonesOf(view)!;
  const numberOf = (status: string): number => STATUSES.indexOf(status as (typeof STATUSES)[number]);
  // Ids begin with 1, so that the last report of each is in the next block.
  for (const [i, statuses] of blocks.entries()) {
    const present = STATUSES.filter((_, number) => zones.hasStatus([number], i + 1));
    const isOpen = statuses.includes('strange') || i + 1 === blocks.length;
    assert.deepEqual(present, isOpen ? STATUSES : STATUSES.filter((status) => statuses.includes(status)), `${i}`);
    assert.equal(zones.hasStatus([], i + 1), isOpen, `${i}`);
  }
  assert.ok(zones.hasStatus([numberOf('skipped'), numberOf('noop')], 3));
  assert.ok(!zones.hasStatus([numberOf('skipped'), numberOf('success')], 3));
  view.close();
  await partition.close();
});

test('zones: a block with a report whose times are not told leaves out no time', async () => {
  const partition = partitionOf('untold');
  add(partition, BLOCK_REPORTS);
  add(partition, 1, { startTime: NOW - 2 ** 40 });
  add(partition, BLOCK_REPORTS * 2);
  await nextTurn();
  const view = partition.snapshot();
  assert.equal(covers(view, zonesOf(view)!), 2, 'that one, and the one that is not full');
  view.close();
  await partition.close();
});

test('zones: what a later snapshot knows is not taken for what an earlier one has', async () => {
  const partition = partitionOf('snapshots');
  add(partition, BLOCK_REPORTS * 3);
  await nextTurn();
  const earlier = partition.snapshot();
  remove(partition, [1, 2, 3]);
  await nextTurn();
  const later = partition.snapshot();
  assert.ok(zonesOf(later) !== null);
  assert.equal(zonesOf(earlier), null);
  earlier.close();
  // What an earlier one has read is wide enough for later ones.
  add(partition, BLOCK_REPORTS);
  await nextTurn();
  const last = partition.snapshot();
  remove(partition, [4]);
  covers(last, zonesOf(last)!);
  await nextTurn();
  const after = partition.snapshot();
  covers(after, zonesOf(after)!);
  for (const view of [later, last, after]) view.close();
  await partition.close();
});
