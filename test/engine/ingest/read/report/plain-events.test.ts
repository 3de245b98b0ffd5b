// Events from bytes: they are those that are made from values, and what is only shown of them is found in the packed resources.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteWriter } from '../../../../../engine/bytes.ts';
import type { ReportCommand } from '../../../../../engine/ingest/command/commands.ts';
import { decodeCommand } from '../../../../../engine/ingest/decode.ts';
import { writeEvents, writeEventsFromLists } from '../../../../../engine/query/exec/row/report-documents.ts';
import { decodeEvents, encodeEvents, StoredEvents } from '../../../../../engine/store/records/event-record.ts';
import { encodeReportLists, REPORT_LISTS, writeReportList } from '../../../../../engine/store/records/report-lists.ts';
import { textsOfOneHash } from '../../../../support/one-hash.ts';
import { processorTime } from '../../../../support/processor-time.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { event, reportPayload, reportResource, SETTINGS, submit } from '../../support.ts';

const contentsOf = (payload: object | Buffer) =>
  (decodeCommand(submit('store report', payload), SETTINGS, null) as ReportCommand).contents();

/** Whether the events were made from bytes; if so, they must be those made from values. */
function isPlain(payload: object | Buffer): boolean {
  const { plainEvents, lists, ...contents } = contentsOf(payload);
  const events = contents.events();
  const stored = encodeReportLists(lists);
  for (const name of REPORT_LISTS) assert.deepEqual(listIn(stored, name), listSent(payload, name));
  if (plainEvents === null) return false;
  const times = events.map(({ timestamp }) => timestamp);
  const { encoded, ...range } = plainEvents;
  assert.deepEqual(range, {
    count: events.length,
    timeMin: events.length === 0 ? 0 : Math.min(...times),
    timeMax: events.length === 0 ? 0 : Math.max(...times),
  });
  assert.equal(encoded === null, events.length === 0);
  if (encoded === null) return true;
  const { columns } = encodeEvents(events);
  assert.deepEqual(encoded.columns.subarray(0, columns.length), columns);
  assert.equal(encoded.values, null);
  const source = { eventColumns: () => encoded.columns, eventValues: () => undefined, reportLists: () => stored };
  assert.deepEqual(decodeEvents(source, 1), events);
  const read = new StoredEvents(source);
  read.open(1);
  for (const corrective of [true, false]) {
    const [fromLists, oneByOne] = [new ByteWriter(0), new ByteWriter(0)];
    assert.ok(writeEventsFromLists(encoded.columns, stored, corrective, fromLists));
    writeEvents(read, corrective, oneByOne);
    assert.equal(fromLists.toString(), oneByOne.toString());
  }
  return true;
}

function listIn(stored: Buffer, name: (typeof REPORT_LISTS)[number]): unknown {
  const out = new ByteWriter(0);
  return writeReportList(stored, name, out) ? JSON.parse(out.toString()) : null;
}

function listSent(payload: object | Buffer, name: string): unknown {
  const sent = Buffer.isBuffer(payload) ? JSON.parse(payload.toString('utf8')) : payload;
  return JSON.parse(JSON.stringify(sent[name]).replaceAll('\\u0000', '\ufffd'));
}

// Few different values, so that events agree in some or all of them.
const text = fc.constantFrom('', 'a', 'b', 'é😀', 'null', 'say "x"\n\t\\', 'C[a]');
const textOrNull = fc.oneof(text, fc.constant(null));
const flag = fc.constantFrom(true, false, null);
const time = fc.constantFrom(
  '2036-01-10T14:00:00.500Z',
  '2036-01-10T14:00:00.5Z',
  '2036-01-10T16:00:00.5+02:00',
  '2036-01-10T14:00:01Z',
  '2036-02-29T23:59:59.010Z',
  '1969-12-31T23:59:59.999Z',
);
const value = fc.oneof(
  { weight: 20, arbitrary: textOrNull },
  fc.constantFrom(1, -7, true, 0.5, [1], { a: null }, '\u001b', 'a\u0000'),
);
const anyEvent = fc.record(
  {
    status: fc.constantFrom('success', 'failure'),
    timestamp: time,
    property: textOrNull,
    name: textOrNull,
    new_value: value,
    old_value: value,
    message: textOrNull,
    corrective_change: flag,
  },
  { requiredKeys: ['status', 'timestamp', 'property', 'new_value', 'old_value', 'message', 'corrective_change'] },
);
const anyResource = fc.record({
  skipped: fc.constantFrom(false, false, false, true),
  timestamp: time,
  resource_type: fc.constantFrom('File', 'Class'),
  resource_title: text,
  file: textOrNull,
  line: fc.constantFrom(null, 1, 22, 999999999, 1000000000, -1),
  containment_path: fc.oneof(
    fc.constant(null),
    fc.array(fc.constantFrom('', 'Stage[main]', 'Apache', 'a "b"', '[', 'x[1]'), { maxLength: 3 }),
  ),
  corrective_change: flag,
  events: fc.oneof({ weight: 8, arbitrary: fc.array(anyEvent, { maxLength: 6 }) }, fc.constant(null)),
});

test('plain events: from bytes as from values', () => {
  let count = 0;
  fc.assert(
    fc.property(fc.array(anyResource, { maxLength: 5 }), (resources) => {
      if (isPlain(reportPayload({ resources }))) count++;
    }),
    { numRuns: 2000 },
  );
  assert.ok(count > 400, `${count} of 2000 reports were plain`);
});

test('plain events: many of them, with texts of any size', () => {
  const resources = Array.from({ length: 400 }, (_, index) =>
    reportResource({
      resource_title: `title ${index}`,
      containment_path: ['Stage[main]', `Class ${index % 7}`, `File[${index}]`],
      events: [event({ message: 'm'.repeat(index * 300) }), event({ message: 'same' }), event({ message: 'same' })],
    }),
  );
  assert.equal(isPlain(reportPayload({ resources })), true);
  assert.equal(contentsOf(reportPayload({ resources })).plainEvents?.count, 800);
});

test('plain events: more different texts than fit into codes of two bytes, and thousands of events of one instant', () => {
  const resources = Array.from({ length: 700 }, (_, index) =>
    reportResource({
      resource_title: `title ${index}`,
      events: Array.from({ length: 100 }, (_, at) => event({ name: `${index}.${at}`, message: `${at % 90}` })),
    }),
  );
  assert.equal(isPlain(reportPayload({ resources })), true);
  assert.equal(contentsOf(reportPayload({ resources })).plainEvents?.count, 70_000);
});

test('plain events: thousands of one resource and instant that differ in their messages only', () => {
  const count = 20_000;
  const events = Array.from({ length: count }, (_, at) =>
    event({ message: `changed ${String(at).padStart(6, '0')} in it` }),
  );
  const payload = reportPayload({ resources: [reportResource({ events: [...events, ...events] })] });
  const spent = processorTime();
  assert.equal(contentsOf(payload).plainEvents?.count, count);
  assert.ok(spent() < 5000, 'in time that grows with their number');
});

test('plain events: texts that were chosen for their hash take no longer than others', () => {
  const chosen = textsOfOneHash(12_000);
  const others = chosen.map((text) => [...text].reverse().join(''));
  const timeOf = (names: readonly string[]): number => {
    const resources = [reportResource({ events: names.map((name) => event({ name })) })];
    const payload = Buffer.from(JSON.stringify(reportPayload({ resources })));
    const spent = processorTime();
    assert.equal(contentsOf(payload).plainEvents?.count, names.length);
    return spent();
  };
  timeOf(others);
  const [ofChosen, ofOthers] = [timeOf(chosen), timeOf(others)];
  assert.ok(ofChosen < 5 * ofOthers + 100, `${ofChosen} ms, of others ${ofOthers} ms`);
});

test('plain events: as short as they can be', () => {
  const short = { status: '', timestamp: '2036-01-10T14:00:00Z', property: null, new_value: null, old_value: null };
  const events = Array.from({ length: 3000 }, (_, at) => ({ ...short, message: `${at}`, corrective_change: null }));
  assert.equal(isPlain(reportPayload({ resources: [reportResource({ events })] })), true);
});

test('plain events: escapes that others write too are plain, unusual ones are not', () => {
  const payload = (message: string): Buffer => {
    const resources = [reportResource({ events: [event({ message: 'MESSAGE' })] })];
    return Buffer.from(JSON.stringify(reportPayload({ resources })).replace('MESSAGE', message));
  };
  for (const message of ['\\"\\\\\\b\\f\\n\\r\\t', '\\\\u0041', 'é', '\u007f'])
    assert.equal(isPlain(payload(message)), true, message);
  for (const message of ['\\/', '\\u0041', '\\u001b', '\\ud83d\\ude00'])
    assert.equal(isPlain(payload(message)), false, message);
});

test('plain events: of damaged columns and lists some text is made, or none', () => {
  const resources = Array.from({ length: 20 }, (_, index) =>
    reportResource({ resource_title: `title ${index}`, events: [event({ message: `${index}`, new_value: index })] }),
  );
  const { plainEvents, lists } = contentsOf(reportPayload({ resources }));
  const encoded = Buffer.from(encodeReportLists(lists));
  const { columns } = plainEvents!.encoded!;
  const random = new Random(testSeed('damaged events'));
  const out = new ByteWriter(0);
  const damaged = (bytes: Buffer): Buffer => {
    const copy = Buffer.from(bytes);
    for (let i = random.below(4); i > 0; i--) copy[random.below(copy.length)] = random.below(256);
    return copy.subarray(0, random.below(10) === 0 ? random.below(copy.length) : copy.length);
  };
  let written = 0;
  for (let round = 0; round < 20_000; round++) {
    out.length = 0;
    try {
      if (writeEventsFromLists(damaged(columns), damaged(encoded), true, out)) written++;
      else assert.equal(out.length, 0);
    } catch (error) {
      // What should be a value and is none, or lists without their head: told in words, and nothing outside of its memory was touched.
      assert.match(String(error), /^(JsonError|RangeError \[ERR_)/);
    }
  }
  assert.ok(written > 1000, `${written}`);
});
