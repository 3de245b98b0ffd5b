// Events of each status, counted side by side: what is told of a report is so, and nothing is told of one with more of a status than fit, or with one
// that is none of the four.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeEvents } from '../../../engine/store/records/event-record.ts';
import { BLOCK_REPORTS } from '../../../engine/store/reports/report-blocks.ts';
import { eventsOfStatus, STATUSES, StatusBlock } from '../../../engine/store/reports/report-statuses.ts';
import { eventRecord } from './report-records.ts';

const MOST = 2 ** 16 - 2;

const columnsOf = (...statuses: readonly string[]): Buffer =>
  encodeEvents(statuses.map((status, i) => eventRecord({ status, resourceTitle: `t${i % 3}` }))).columns;

/** By status; null: nothing is told. */
function told(columns: Buffer | null, block = new StatusBlock(), place = 5): readonly number[] | null {
  block.set(place, columns);
  return block.has(place) ? STATUSES.map((_, status) => block.count(status, place)) : null;
}

const many = (count: number, status: string): readonly string[] => new Array<string>(count).fill(status);

test('statuses: so many events of each as there are', () => {
  assert.deepEqual(told(null), [0, 0, 0, 0]);
  assert.deepEqual(told(columnsOf('noop')), [0, 0, 1, 0]);
  assert.deepEqual(told(columnsOf('skipped', 'success', 'failure', 'success', 'skipped', 'skipped')), [2, 1, 0, 3]);
  assert.deepEqual(told(columnsOf(...many(MOST, 'success'), 'failure')), [MOST, 1, 0, 0]);
  assert.deepEqual(told(columnsOf(...many(MOST, 'skipped'))), [0, 0, 0, MOST]);
});

test('statuses: nothing is told of more than fit, or of others', () => {
  assert.equal(told(columnsOf(...many(MOST + 1, 'success'))), null);
  assert.equal(told(columnsOf(...many(MOST + 1, 'noop'), 'success')), null);
  for (const status of ['strange', 'Success', '', '"success"', 'null'])
    assert.equal(told(columnsOf('success', status)), null);
});

test('statuses: reports of a block do not touch each other, and of one that has become untold, or is cleared, nothing is told', () => {
  const block = new StatusBlock();
  assert.ok(block.isEmpty);
  for (let place = 0; place < BLOCK_REPORTS; place++)
    told(columnsOf(...many(place + 1, STATUSES[place % 4]!)), block, place);
  assert.equal(told(columnsOf('strange'), block, 6), null);
  block.clear(7);
  for (let place = 0; place < BLOCK_REPORTS; place++) {
    assert.equal(block.has(place), place !== 6 && place !== 7);
    if (!block.has(place)) continue;
    const counts = STATUSES.map((_, status) => block.count(status, place));
    assert.deepEqual(
      counts,
      STATUSES.map((_, status) => (status === place % 4 ? place + 1 : 0)),
    );
    block.clear(place);
  }
  assert.ok(block.isEmpty);
  assert.deepEqual(told(null, block, 7), [0, 0, 0, 0]);
});

test('statuses: events made of one have that status, and a number of their own', () => {
  const eventsOf = eventsOfStatus();
  const reports = new Set<number>();
  for (const [number, status] of [...STATUSES.entries(), ...STATUSES.entries()]) {
    const events = eventsOf(number);
    assert.equal(events.length, 1);
    assert.equal(events.coded(0), status);
    reports.add(events.report);
  }
  assert.equal(reports.size, STATUSES.length * 2);
  assert.ok([...reports].every((report) => report < 0));
});
