// Events that are counted by their own texts are counted by WebAssembly, all others one by one: both must give the same counts of
// the same subjects in the same order, whatever the events are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counting } from '../../../../../engine/query/exec/count/event-counting.ts';
import { eventKernel } from '../../../../../engine/query/exec/count/event-kernel.ts';
import { COUNT, type EventTally } from '../../../../../engine/query/exec/count/event-tally.ts';
import type { Row } from '../../../../../engine/query/exec/row/row.ts';
import type { EventCountsTree } from '../../../../../engine/query/tree.ts';
import { encodeEvents, StoredEvents } from '../../../../../engine/store/records/event-record.ts';
import type { EventRecord } from '../../../../../engine/store/records/records.ts';
import { textsOfOneHash } from '../../../../support/one-hash.ts';
import { processorTime } from '../../../../support/processor-time.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { eventRecord } from '../../../store/report-records.ts';

type SummarizeBy = 'resource' | 'containing_class';

const EVENT = eventRecord({ timestamp: 1_764_400_000_000, name: 'content_changed' });

/** Events from `from` on, so many of the report of that number. `part`: 0 when nothing else is said. */
interface Run {
  readonly part?: number;
  readonly report: number;
  readonly from: number;
  readonly count: number;
}

/** A row that stands at reports' events as that of a query does, as far as counting looks. */
function rowOver(reports: readonly (readonly EventRecord[])[]): { readonly row: Row; at(run: Run): void } {
  const columns = reports.map((events) => encodeEvents(events).columns);
  const events = new StoredEvents({
    eventColumns: (report) => columns[report - 1],
    eventValues: () => undefined,
    reportLists: () => undefined,
  });
  const record = { bytes: Buffer.from('"a"'), startOf: () => 0, endOf: () => 3, text: () => '"a"' };
  const row = { part: 0, itemId: 0, subIndex: 0, sub: events, report: { record } };
  return {
    row: row as unknown as Row,
    at({ part = 0, report, from }) {
      // As if the same report were another one in each partition.
      if (row.itemId !== report || row.part !== part) events.open(((report + part - 1) % columns.length) + 1);
      row.part = part;
      row.itemId = report;
      row.subIndex = from;
    },
  };
}

function counted(tally: EventTally, reports: readonly (readonly EventRecord[])[], runs: readonly Run[]): unknown {
  const { row, at } = rowOver(reports);
  for (const run of runs) {
    at(run);
    tally.add(row, run.count - 1);
  }
  const subjects = tally.take();
  return Array.from({ length: subjects.length }, (_, subject) => ({
    texts: subjects.texts(subject),
    counts: Object.values(COUNT).map((kind) => subjects.count(subject, kind)),
  }));
}

const wholeOf = (reports: readonly (readonly EventRecord[])[]): readonly Run[] =>
  reports.map(({ length }, i) => ({ report: i + 1, from: 0, count: length }));

const oneByOne = (summarizeBy: SummarizeBy): Counting =>
  new Counting({ summarizeBy, countBy: 'resource' } as EventCountsTree, true);

function agree(
  summarizeBy: SummarizeBy,
  reports: readonly (readonly EventRecord[])[],
  runs = wholeOf(reports),
): unknown {
  const kernel = eventKernel(summarizeBy);
  assert.ok(kernel !== null);
  const found = counted(kernel, reports, runs);
  assert.deepEqual(found, counted(oneByOne(summarizeBy), reports, runs));
  return found;
}

test('what an event counts for: its status, and whether its change is corrective', () => {
  const events = [
    { ...EVENT, correctiveChange: true },
    { ...EVENT, correctiveChange: false },
    EVENT,
    { ...EVENT, status: 'noop', correctiveChange: true },
    { ...EVENT, status: 'failure', correctiveChange: true },
    { ...EVENT, status: 'skipped' },
    { ...EVENT, status: 'strange' },
    { ...EVENT, status: 'true', resourceTitle: 'true' },
  ];
  assert.deepEqual(agree('resource', [events]), [
    { texts: ['"File"', '"/etc/motd"'], counts: [1, 3, 1, 1, 2, 1, 0, 1] },
    { texts: ['"File"', '"true"'], counts: [0, 0, 0, 0, 0, 0, 0, 0] },
  ]);
  assert.deepEqual(agree('containing_class', [events]), [{ texts: ['null'], counts: [1, 3, 1, 1, 2, 1, 0, 1] }]);
});

test('subjects are told apart by both texts, in all reports', () => {
  const of = (resourceType: string, resourceTitle: string): EventRecord => ({ ...EVENT, resourceType, resourceTitle });
  const reports = [
    [of('A', 'x'), of('B', 'x'), of('A', 'A')],
    [of('A', 'B'), of('B', 'A'), of('B', 'x'), of('A', 'x'), of('A', 'x')],
  ];
  assert.deepEqual(
    (agree('resource', reports) as { texts: string[]; counts: number[] }[]).map(({ texts, counts }) => [
      texts.join(' '),
      counts[COUNT.successes],
    ]),
    [
      ['"A" "x"', 3],
      ['"B" "x"', 2],
      ['"A" "A"', 1],
      ['"A" "B"', 1],
      ['"B" "A"', 1],
    ],
  );
});

test('more texts of a report than a short code can tell apart, and more subjects than there was room for', () => {
  const events = Array.from({ length: 70_000 }, (_, n) => ({ ...EVENT, resourceTitle: `title ${n}` }));
  agree('resource', [events.slice(0, 10), events, events.slice(60_000)]);
});

test('texts that were chosen for their hash take no longer than others', () => {
  const chosen = textsOfOneHash(6000);
  const others = chosen.map((text) => [...text].reverse().join(''));
  const timeOf = (titles: readonly string[]): number => {
    const { row, at } = rowOver([titles.map((resourceTitle) => ({ ...EVENT, resourceTitle }))]);
    at({ report: 1, from: 0, count: titles.length });
    const kernel = eventKernel('resource')!;
    const spent = processorTime();
    kernel.add(row, titles.length - 1);
    const taken = spent();
    assert.equal(kernel.take().length, titles.length);
    return taken;
  };
  const [ofChosen, ofOthers] = [timeOf(chosen), timeOf(others)];
  assert.ok(ofChosen < 5 * ofOthers + 50, `${ofChosen} ms, of others ${ofOthers} ms`);
});

test('reports of other partitions may have the same ids', () => {
  const reports = [
    [EVENT, EVENT],
    [{ ...EVENT, status: 'failure' }, EVENT],
  ];
  const runs = [0, 1, 0].map((part) => ({ part, report: 1, from: 0, count: 2 }));
  assert.deepEqual(agree('resource', reports, runs), [
    { texts: ['"File"', '"/etc/motd"'], counts: [1, 5, 0, 0, 5, 0, 0, 0] },
  ]);
});

test('any events, also some of each report only, and the same report again', () => {
  const random = new Random(testSeed('events counted in WebAssembly'));
  const words = [
    '',
    'a',
    'b',
    'é😀',
    'say "x"\n',
    'null',
    'true',
    ...Array.from({ length: 25 }, (_, n) => 'x'.repeat(n + 5)),
  ];
  for (let round = 0; round < 60; round++) {
    const titles = Array.from(
      { length: 1 + random.below(400) },
      (_, n) => `${random.pick(words)}${random.chance(0.5) ? n : ''}`,
    );
    const reports = Array.from({ length: 1 + random.below(12) }, () =>
      Array.from({ length: 1 + random.below(200) }, () => ({
        ...EVENT,
        status: random.pick(['success', 'failure', 'noop', 'skipped', 'strange']),
        resourceType: random.pick(words),
        resourceTitle: random.pick(titles),
        containingClass: random.chance(0.2) ? null : random.pick(titles),
        correctiveChange: random.pick([true, false, null]),
      })),
    );
    const runs = Array.from({ length: random.below(30) }, () => {
      const report = random.below(reports.length);
      const { length } = reports[report]!;
      const from = random.below(length);
      return { report: report + 1, from, count: random.between(1, length - from) };
    });
    for (const summarizeBy of ['resource', 'containing_class'] as const) {
      agree(summarizeBy, reports);
      agree(summarizeBy, reports, runs);
    }
  }
});

test('two queries that count at once do not meet', () => {
  const [one, other] = [eventKernel('resource')!, eventKernel('resource')!];
  const mine = rowOver([[EVENT, EVENT]]);
  const theirs = rowOver([[{ ...EVENT, status: 'failure' }, EVENT]]);
  for (const from of [0, 1]) {
    mine.at({ report: 1, from, count: 1 });
    theirs.at({ report: 1, from, count: 1 });
    one.add(mine.row, 0);
    other.add(theirs.row, 0);
  }
  const [first, second] = [one.take(), other.take()];
  assert.deepEqual([first.length, first.count(0, COUNT.successes), first.count(0, COUNT.failures)], [1, 2, 0]);
  assert.deepEqual([second.length, second.count(0, COUNT.successes), second.count(0, COUNT.failures)], [1, 1, 1]);
});

test('nodes are not among the texts of events', () => {
  assert.equal(eventKernel('certname'), null);
});

test('columns that are not what they should be are no cause to count anything', () => {
  const whole = encodeEvents([EVENT, { ...EVENT, resourceTitle: 'other' }]).columns;
  const rowOf = (columns: Buffer): Row =>
    ({ part: 0, itemId: 1, subIndex: 0, sub: { columns, size: columns.length } }) as unknown as Row;
  const [events, texts, ends] = [1, 5, 9 + 2 * 8 + 7 * 2 * 2 + 4];
  for (const [at, flipped] of [
    [events, 0xffff00],
    [texts, 0xffff00],
    [ends, 0xffff00],
    // Products with these are what they were, in 32 bits.
    [events, 1 << 31],
    [texts, 1 << 30],
    [texts, 1 << 31],
  ] as const) {
    const damaged = Buffer.from(whole);
    damaged.writeUInt32LE((damaged.readUInt32LE(at) ^ flipped) >>> 0, at);
    assert.throws(() => eventKernel('resource')!.add(rowOf(damaged), 1), { name: 'RuntimeError' }, `${at} ${flipped}`);
  }
  const many = Array.from({ length: 3_000 }, (_, n) => ({ ...EVENT, resourceTitle: `title ${n}` }));
  agree('resource', [many, [EVENT]]);
});
