// Times of reports side by side: what is told of a report is so, to the millisecond, and nothing is told of one with a time that does not fit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_REPORTS } from '../../../engine/store/reports/report-blocks.ts';
import { BETWEEN, MomentBlock } from '../../../engine/store/reports/report-moments.ts';
import { reportRecord } from './report-records.ts';

const NEAR = 2 ** 31 - 1;
const NOW = Date.parse('2026-11-20T10:00:00.123Z');

function told(changes: Parameters<typeof reportRecord>[0], place = 5): Record<string, number> | null {
  const block = new MomentBlock();
  block.set(
    place,
    reportRecord({ startTime: NOW, endTime: NOW, producerTimestamp: NOW, receiveTime: NOW, ...changes }),
  );
  if (!block.has(place)) return null;
  return {
    producer: block.producer(place),
    receive: block.receive(place),
    start: block.start(place),
    end: block.end(place),
    firstEvent: block.firstEvent(place),
    lastEvent: block.lastEvent(place),
  };
}

test('moments: times come back as they were, the earliest and latest ones that fit included', () => {
  for (const producerTimestamp of [NOW, 0, -1, 1, -(2 ** 46) + 1, 2 ** 48 - 1 - 2 ** 46, 2 ** 32, -(2 ** 32)]) {
    const near = { startTime: producerTimestamp - NEAR, endTime: producerTimestamp + NEAR };
    const events = { eventCount: 2, eventTimeMin: producerTimestamp - 3, eventTimeMax: producerTimestamp + 4 };
    for (const receiveTime of [0, producerTimestamp, NOW + 1]) {
      assert.deepEqual(told({ producerTimestamp, receiveTime, ...near, ...events }), {
        producer: producerTimestamp,
        receive: receiveTime,
        start: near.startTime,
        end: near.endTime,
        firstEvent: events.eventTimeMin,
        lastEvent: events.eventTimeMax,
      });
    }
  }
});

test('moments: nothing is told of a report with a time that does not fit', () => {
  const events = { eventCount: 1, eventTimeMin: NOW, eventTimeMax: NOW };
  const odd = [
    { startTime: NOW - NEAR - 1 },
    { endTime: NOW + NEAR + 1 },
    { ...events, eventTimeMin: NOW - NEAR - 1 },
    { ...events, eventTimeMax: NOW + NEAR + 1 },
    { receiveTime: -(2 ** 46) },
    { receiveTime: 2 ** 48 - 2 ** 46 },
    { producerTimestamp: -(2 ** 46), startTime: -(2 ** 46), endTime: -(2 ** 46) },
  ];
  for (const changes of odd) assert.equal(told(changes), null, JSON.stringify(changes));
});

test('moments: the last event of a report without any is before all times, and the first behind them', () => {
  const { firstEvent, lastEvent } = told({})!;
  assert.ok(firstEvent! > lastEvent!);
  const block = new MomentBlock();
  block.set(0, reportRecord({ producerTimestamp: NOW, startTime: NOW, endTime: NOW, receiveTime: NOW }));
  assert.ok(BETWEEN.event.greatest(block, 0) < NOW && BETWEEN.event.least(block, 0) > NOW);
});

test('moments: reports of a block do not touch each other, and what is cleared is told no more', () => {
  const block = new MomentBlock();
  assert.ok(block.isEmpty);
  for (let place = 0; place < BLOCK_REPORTS; place++) {
    const producerTimestamp = NOW + place * 1000;
    const others = {
      startTime: producerTimestamp - place,
      endTime: producerTimestamp + place,
      receiveTime: NOW - place,
    };
    block.set(place, reportRecord({ producerTimestamp, ...others }));
  }
  block.clear(7);
  for (let place = 0; place < BLOCK_REPORTS; place++) {
    assert.equal(block.has(place), place !== 7);
    if (place === 7) continue;
    const { producer, receive, start, end } = BETWEEN;
    const times = [producer, start, end, receive].map(({ least }) => least(block, place));
    const at = NOW + place * 1000;
    assert.deepEqual(times, [at, at - place, at + place, NOW - place]);
    block.clear(place);
  }
  assert.ok(block.isEmpty);
});
