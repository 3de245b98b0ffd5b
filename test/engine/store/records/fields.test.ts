// Stored records: what was encoded is read back field by field, whatever the texts are and however long.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteWriter, bytesOf } from '../../../../engine/bytes.ts';
import { decodeEvents, encodeEvents, StoredEvents } from '../../../../engine/store/records/event-record.ts';
import { encodeFields, fieldsShape, quoted, TextRecord, wantedText } from '../../../../engine/store/records/fields.ts';
import { decodeNode, encodeNode } from '../../../../engine/store/records/node-record.ts';
import type { EventRecord, NodeRecord } from '../../../../engine/store/records/records.ts';
import { decodeReport, encodeReport } from '../../../../engine/store/records/report-record.ts';
import { reportRecord } from '../report-records.ts';

const numbers = fc.oneof(fc.constant(null), fc.maxSafeInteger());
const strings = fc.oneof(fc.constant(null), fc.string({ unit: 'binary' }));

test('fields: numbers and texts come back as they were, at any place of a buffer', () => {
  fc.assert(
    fc.property(fc.array(numbers), fc.array(strings, { minLength: 1 }), fc.nat(20), (some, texts, start) => {
      const shape = fieldsShape(
        some.length,
        texts.map((_, i) => (i % 2 === 0 ? '' : `key "${i}`)),
      );
      const encoded = encodeFields(shape, 5, some, texts.map(quoted));
      const bytes = Buffer.concat([Buffer.alloc(start, 0xff), encoded, Buffer.from('behind')]);
      const fields = new TextRecord(shape);
      fields.load(bytes, start);
      assert.equal(fields.flags, 5);
      assert.equal(fields.size, encoded.length);
      some.forEach((number, i) => {
        assert.equal(fields.number(i), number === null ? null : number + 0);
      });
      texts.forEach((text, i) => {
        assert.equal(fields.text(i), quoted(text));
        assert.equal(fields.string(i), text);
      });
      const out = new ByteWriter(0);
      fields.writeSpan(0, texts.length - 1, out);
      const members = texts.map((text, i) => `${i % 2 === 0 ? '' : `,${JSON.stringify(`key "${i}`)}:`}${quoted(text)}`);
      assert.equal(out.toString(), members.join(''));
    }),
  );
});

test('fields: a text is compared as it stands, however it is written', () => {
  const shape = fieldsShape(0, ['a', 'b']);
  const texts = [
    '',
    'a',
    'ab',
    'b',
    'é',
    'e\u0301',
    'a"b',
    'a\\b',
    'a\\',
    'line\n',
    '\u2028',
    '\ud800',
    '\ufffd',
    '😀',
    'null',
    '/',
  ];
  const spellings = (text: string): string[] => [
    JSON.stringify(text),
    // Every unit as an escape, and what may be escaped.
    `"${[...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`,
    JSON.stringify(text).replaceAll('/', '\\/'),
  ];
  const record = new TextRecord(shape);
  for (const text of texts) {
    for (const spelling of spellings(text)) {
      record.load(encodeFields(shape, 0, [], ['"before"', spelling]));
      for (const wanted of texts) {
        assert.equal(
          record.equals(1, wantedText(wanted)),
          text === wanted,
          `${spelling} and ${JSON.stringify(wanted)}`,
        );
      }
    }
  }
  record.load(encodeFields(shape, 0, [], ['"before"', 'null']));
  assert.equal(record.equals(1, wantedText('null')), null);
});

test('fields: records beyond 64 KB have wide ends', () => {
  const long = JSON.stringify('ü'.repeat(50_000));
  const shape = fieldsShape(1, ['', 'long', '']);
  const fields = new TextRecord(shape);
  fields.load(encodeFields(shape, 127, [-1], ['"a"', long, 'true']));
  assert.deepEqual([fields.flags, fields.number(0), fields.text(0), fields.text(1)], [127, -1, '"a"', long]);
  assert.equal(fields.boolean(2), true);
});

test('fields: what is no safe integer is refused', () => {
  for (const number of [0.5, Number.NaN, 2 ** 53])
    assert.throws(() => encodeFields(fieldsShape(1, ['']), 0, [number], ['1']), /no integer/);
});

const node: NodeRecord = {
  certname: 'ä"\\.example.com',
  deactivated: null,
  expired: -5,
  expiresFacts: false,
  expiresFactsUpdated: 8_640_000_000_000_000,
  factset: null,
  catalog: {
    version: '',
    environment: null,
    transactionUuid: 't',
    catalogUuid: 'c',
    codeId: null,
    jobId: null,
    producer: 'p',
    producerTimestamp: 0,
    timestamp: 1,
    hash: 'h',
  },
  latestReport: {
    reportId: 4_000_000_000,
    hash: 'r',
    environment: 'production',
    status: 'changed',
    noop: null,
    noopPending: true,
    correctiveChange: false,
    cachedCatalogStatus: null,
    jobId: null,
    endTime: 7,
    producerTimestamp: 8,
  },
  inputs: { catalogUuid: 'u', producerTimestamp: 2, hash: 'i' },
};

test('node records: with and without their parts', () => {
  assert.deepEqual(decodeNode(encodeNode(node)), node);
  const bare = { ...node, factset: null, catalog: null, latestReport: null, inputs: null, expiresFacts: null };
  assert.deepEqual(decodeNode(encodeNode(bare)), bare);
  const factset = { environment: null, producer: null, producerTimestamp: 1, timestamp: 2, hash: 'f' };
  assert.deepEqual(decodeNode(encodeNode({ ...bare, factset })), { ...bare, factset });
});

test('report records come back whole', () => {
  const report = reportRecord({
    type: 'plan',
    configurationVersion: '\u2028',
    startTime: -1,
    environment: null,
    status: null,
    noopPending: null,
    correctiveChange: true,
  });
  assert.deepEqual(decodeReport(encodeReport(report)), report);
});

const event = (n: number, extra: Partial<EventRecord> = {}): EventRecord => ({
  status: n % 2 === 0 ? 'success' : 'noop',
  timestamp: 1_600_000_000_000 + n,
  resourceType: 'File',
  resourceTitle: `/tmp/${n}`,
  property: n % 3 === 0 ? null : 'ensure',
  name: null,
  newValue: '{"a":[1,2.0]}',
  oldValue: 'null',
  message: 'zwölf',
  file: null,
  line: n === 0 ? null : n,
  containmentPath: n === 1 ? null : ['Stage[main]', 'Class[A]'],
  containingClass: 'A',
  correctiveChange: n === 2 ? null : n % 2 === 0,
  ...extra,
});

const sourceOf = (events: readonly EventRecord[]) => {
  const { columns, values } = encodeEvents(events);
  return { eventColumns: () => columns, eventValues: () => values ?? undefined, reportLists: () => undefined };
};

test('events: columns and values make the events again', () => {
  const events = Array.from({ length: 20 }, (_, n) => event(n));
  const source = sourceOf(events);
  assert.deepEqual(decodeEvents(source, 1), events);
  const none = { eventColumns: () => undefined, eventValues: () => undefined, reportLists: () => undefined };
  assert.deepEqual(decodeEvents(none, 1), []);
  const stored = new StoredEvents(source);
  stored.open(1);
  // In any order, not only forwards.
  for (const n of [19, 0, 7, 7, 3]) {
    assert.equal(stored.at(n).timestamp, events[n]!.timestamp);
    assert.equal(stored.values.string(2), 'zwölf');
  }
});

test('events: more different texts than a short code can tell apart', () => {
  const events = Array.from({ length: 70_000 }, (_, n) => event(n));
  const decoded = decodeEvents(sourceOf(events), 1);
  for (const n of [0, 1, 2, 40_000, 69_999]) assert.deepEqual(decoded[n], events[n]);
});

test('byte writer: texts and parts in their order, chunks last until the next text', () => {
  const out = new ByteWriter(10);
  let wanted = '';
  const taken: Buffer[] = [];
  const source = bytesOf('0123456789'.repeat(1000));
  for (let n = 0; n < 2000; n++) {
    const text = `${'é'.repeat(n % 40)}|${n}`;
    out.text(text);
    out.byte(0x2c);
    out.part(source, n, n + (n % 100));
    wanted += `${text},${'0123456789'.repeat(1000).slice(n, n + (n % 100))}`;
    if (n % 300 === 0) taken.push(Buffer.from(out.take()));
  }
  taken.push(Buffer.from(out.take()));
  assert.equal(Buffer.concat(taken).toString(), wanted);
  assert.equal(out.length, 0);
});
