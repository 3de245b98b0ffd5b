// The lists of a report by their bytes: whatever is read in one pass is what the way over values stores, and what does not
// conform is not read.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteWriter } from '../../../../../engine/bytes.ts';
import { conforms } from '../../../../../engine/ingest/command/validate.ts';
import { StoredList, shapeOf } from '../../../../../engine/ingest/read/report/stored-list.ts';
import { parseJsonDocument } from '../../../../../engine/json/parse.ts';
import { storedText } from '../../../../../engine/json/stored.ts';
import type { JsonValue } from '../../../../../engine/json/value.ts';
import { ListUnpacker } from '../../../../../engine/store/records/packed-list.ts';
import {
  ANY,
  BOOLEAN,
  INTEGER,
  listOf,
  NUMBER,
  nullable,
  objectOf,
  optional,
  required,
  STRING,
  TIME,
  type WireTable,
} from '../../../../../schemas/commands/format.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { catalogPayload, factsPayload, reportPayload, reportResource, resource, SETTINGS } from '../../support.ts';

const INNER: WireTable = {
  closed: true,
  fields: [required('status', STRING), nullable('new_value', ANY), optional('é', TIME)],
};
const TABLE: WireTable = {
  closed: true,
  fields: [
    required('message', STRING),
    nullable('line', INTEGER),
    optional('value', NUMBER),
    nullable('tags', listOf(STRING)),
    optional('time', TIME),
    optional('ok', BOOLEAN),
    optional('events', listOf(objectOf(INNER))),
  ],
};
const WHOLE: WireTable = { closed: true, fields: [required('list', listOf(objectOf(TABLE)))] };
const REPORT = reportPayload({
  logs: [
    { file: null, line: null, level: 'notice', message: 'm', source: 's', tags: [], time: '2026-11-20T00:00:00.000Z' },
  ],
  resources: [reportResource({ skipped: true })],
});
const reader = new StoredList(TABLE, 1);
const unpacker = new ListUnpacker(shapeOf(TABLE));

/** The text of what is read of a list; null when it is not. */
function read(text: string): string | null {
  const bytes = reader.read(Buffer.from(text, 'utf8'));
  if (bytes === null) return null;
  const out = new ByteWriter(0);
  assert.equal(unpacker.write(bytes, 0, bytes.length, out), bytes.length);
  return out.toString();
}

/** What the way over values stores; null when the list does not conform. */
function expected(text: string): string | null {
  let list: JsonValue;
  try {
    list = parseJsonDocument(text);
  } catch {
    return null;
  }
  return conforms(WHOLE, { list }) ? storedText(list, 1) : null;
}

const string = fc.oneof(
  fc.string().map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '""',
    '"a\\/b"',
    '"\\u00e9"',
    '"\\ud83d"',
    '"\\n\\"\\\\"',
    '"é"',
    '"😀"',
    '"a\tb"',
    '"\\x"',
    '"\u007f"',
  ),
);
const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom(
    '0',
    '-0',
    '0.0',
    '-0.0',
    '1.50',
    '01',
    '1.',
    '.5',
    '1e3',
    '1E-2',
    '12345678901234567890',
    '0.1234567890123456789',
    '5.0',
    '0.99999999999999999999',
    '-',
  ),
);
const time = fc.constantFrom(
  '"2026-11-21T23:15:39.301Z"',
  '"2026-11-21T23:15:39+01:00"',
  '"soon"',
  '"2026-11-21T23:15:39.301\\u005a"',
);
const any = fc.oneof(
  string,
  number,
  fc.constantFrom('null', 'true', 'false', 'nul', '{}', '[]', '[1,{"b":2,"a":[1.0]}]', '{"a" : 1}', '[1,', '{"a":"]"}'),
  fc.json(),
);
const blank = fc.constantFrom('', '', '', ' ', '\n');

/** A map's text: members in any order, some missing, twice or unknown. */
const mapOf = (members: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.shuffledSubarray(Object.keys(members), { minLength: Object.keys(members).length - 2 }),
      fc.record(members),
      blank,
      fc.integer({ min: 0, max: 60 }),
    )
    .map(([keys, values, space, odd]) => {
      const texts = keys.map((key) => `${JSON.stringify(key)}${space}:${space}${values[key]}`);
      if (odd === 0) texts.push(texts[0] ?? '"x":1');
      if (odd === 1) texts.push('"unknown":1');
      return `{${space}${texts.join(`${space},`)}${space}}`;
    });
const listOfTexts = (of: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<string> =>
  fc.tuple(fc.array(of, { maxLength }), blank).map(([texts, space]) => `[${texts.join(`,${space}`)}]`);
const inner = mapOf({ status: string, new_value: any, é: time });
const map = mapOf({
  message: string,
  line: fc.oneof(fc.constant('null'), number),
  value: number,
  tags: fc.oneof(fc.constant('null'), listOfTexts(string, 3)),
  time,
  ok: fc.constantFrom('true', 'false', 'null', 'tru'),
  events: listOfTexts(inner, 3),
});

test('stored list: what is read in one pass is what the way over values stores', () => {
  let count = 0;
  fc.assert(
    fc.property(listOfTexts(map, 3), (text) => {
      const stored = read(text);
      if (stored === null) return;
      count++;
      assert.equal(stored, expected(text));
      // What the way over values makes is packed as well.
      assert.equal(read(stored), stored);
    }),
    { numRuns: 3000 },
  );
  assert.ok(count > 100, `${count} of 3000 lists were read`);
});

test('stored list: the plain form is read, in any order of keys', () => {
  const element = {
    value: 0.25,
    message: 'a "b"\n',
    line: 7,
    tags: ['x', 'y'],
    time: '2026-11-21T23:15:39.301Z',
    ok: true,
  };
  const events = [
    { new_value: { b: [1, 2.5], a: null }, status: 'ok' },
    { status: 'x', new_value: 'text' },
  ];
  const backwards = Object.fromEntries(Object.entries({ ...element, events: [] }).reverse());
  for (const list of [[], [element], [element, { ...element, events }, backwards]]) {
    const text = JSON.stringify(list);
    assert.equal(read(text), expected(text));
  }
});

test('stored list: what is no such list is not read', () => {
  const good = '{"message":"m","line":1,"tags":[]}';
  assert.ok(read(`[${good}]`));
  for (const text of [
    '',
    '[',
    '[]]',
    `[${good}`,
    `[${good},]`,
    `[${good}]x`,
    `${good}`,
    '[null]',
    '[{}]',
    '[{"message":"m"}]',
    '[{"message":1,"line":1,"tags":[]}]',
    `[${good.replace('1', '1.5')}]`,
    `[${good.replace('"m"', 'null')}]`,
  ]) {
    assert.equal(read(text), null, text);
  }
});

test('stored list: values that repeat or begin alike, of any length', () => {
  const long = 'x'.repeat(300);
  const message = ['a', 'a', 'ab', 'b', '', '', long, long, `${long}y`, 'é', 'è', '\u001b[0m', '\n', '\n', long];
  const list = message.map((text, index) => ({
    message: text,
    line: index % 3 === 0 ? null : 1,
    value: [0.1, 0.1, 1e-7, 12345678.5, 2, 2.5][index % 6],
    tags: index % 2 === 0 ? ['x'] : [],
    events: Array.from({ length: index % 4 }, (_, at) => ({ status: `s${at}`, new_value: at === 1 ? long : [at / 4] })),
  }));
  const text = JSON.stringify(list);
  assert.equal(read(text), expected(text));
  const repeated = JSON.stringify(Array.from({ length: 100 }, () => ({ message: 'again', line: 12345, tags: ['x'] })));
  assert.equal(reader.read(Buffer.from(repeated))?.length, 27 + 99 * 7 + 1);
});

test('stored list: fields that stay the same, come and go, side by side and apart', () => {
  const random = new Random(testSeed('lists'));
  const few = {
    message: [
      '"a"',
      '"a longer one, which is copied otherwise than the short ones are, because it has more bytes than they"',
    ],
    line: ['null', '7'],
    value: ['0.25', '12.345678901234567', '3'],
    tags: ['["x"]', '[]', 'null'],
    time: ['"2026-11-01T00:00:00.000Z"'],
    ok: ['true', 'false'],
    events: [
      '[]',
      '[{"status":"ok","new_value":null},{"status":"ok","new_value":1}]',
      '[{"status":"ok","new_value":"b"}]',
    ],
  };
  for (let round = 0; round < 500; round++) {
    const leavesOut = random.below(4);
    const maps = Array.from({ length: random.below(12) }, () => {
      const fields = Object.entries(few)
        .filter(([key]) => key === 'message' || key === 'line' || key === 'tags' || random.below(4) >= leavesOut)
        .map(([key, values]) => `"${key}":${random.pick(values)}`);
      return `{${fields.join()}}`;
    });
    const text = `[${maps.join()}]`;
    const stored = expected(text);
    assert.notEqual(stored, null, text);
    assert.equal(read(text), stored);
  }
});

test('stored list: lists of any size, one after the other', () => {
  for (const count of [1, 3000, 2, 60_000, 40_000, 3]) {
    const maps = Array.from({ length: count }, (_, index) => ({
      message: `message ${index}`,
      line: index,
      value: index / 8,
      tags: [],
      events: [{ status: 'é', new_value: index % 2 === 0 ? { at: [index] } : `${index}` }],
    }));
    const text = JSON.stringify(maps);
    assert.equal(read(text), expected(text));
  }
});

test('stored list: values that take more room than the payload leaves are not read', () => {
  const of = (count: number): string => `[{"message":"m","line":1,"tags":[],"events":[${inners(count)}]}]`;
  const inners = (count: number): string =>
    Array.from({ length: count }, () => '{"status":"s","new_value":1e300}').join();
  assert.equal(read(of(1)), expected(of(1)));
  assert.equal(read(of(1000)), null);
  assert.equal(read(of(2)), expected(of(2)));
});

test('stored list: where there is no WebAssembly nothing is read, and commands are made from values', () => {
  const url = (path: string): string => JSON.stringify(new URL(`../../../../../engine/${path}`, import.meta.url).href);
  const script = `
    const { decodeCommand } = await import(${url('ingest/decode.ts')});
    const [commands, settings] = JSON.parse(process.argv[1]);
    const stored = { memo: () => undefined, resources: () => null };
    const decoded = commands.map(([name, version, payload]) => decodeCommand({ seq: 1, body: Buffer.from(JSON.stringify(payload)),
      envelope: { command: name, version, certname: 'a', producerTimestamp: null, received: 0, gzip: false } }, settings, stored));
    const { lists, events } = decoded[0].contents();
    console.log(JSON.stringify({ hashes: decoded.map(({ hash }) => hash), logs: lists.logs, events: events().length,
      facts: decoded[1].contents().facts.map(({ name, value }) => [name, value]),
      resources: decoded[2].contents(() => 0).resources.map(({ body }) => body), wasm: typeof WebAssembly }));`;
  const commands = [
    ['store report', 8, REPORT],
    ['replace facts', 5, factsPayload({ values: { os: { family: 'Debian' }, uptime: 1.5 } })],
    ['replace catalog', 9, catalogPayload({ resources: [resource({})] })],
  ];
  const run = (...flags: string[]): Record<string, unknown> => {
    const args = [
      ...flags,
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      script,
      JSON.stringify([commands, SETTINGS]),
    ];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Record<string, unknown>;
  };
  const usual = run();
  const without = run('--jitless');
  assert.equal(usual['wasm'], 'object');
  assert.equal((usual['logs'] as { form: string }).form, 'packed');
  assert.deepEqual(without, {
    ...usual,
    logs: { form: 'text', text: storedText(REPORT['logs'] as JsonValue) },
    wasm: 'undefined',
  });
});

test('stored list: lists of maps in maps in maps are refused when the reader is made', () => {
  const deep: WireTable = { closed: true, fields: [required('list', listOf(objectOf(TABLE)))] };
  assert.throws(() => new StoredList(deep, 1).read(Buffer.from('[]')), /lists of maps inside/);
});

test('packed list: one that is cut off anywhere is told, whatever comes behind it in memory', () => {
  const long = 'x'.repeat(300);
  const maps = ['a', 'a', long, 'ab'].map((message, index) => ({
    message,
    line: index % 2 === 0 ? null : 1,
    value: index + 0.5,
    tags: [],
    events: [{ status: 's', new_value: long }],
  }));
  const packed = Buffer.from(reader.read(Buffer.from(JSON.stringify(maps))) as Buffer);
  for (let end = 0; end < packed.length; end++) {
    const alone = Buffer.from(packed.subarray(0, end));
    for (const bytes of [packed, alone])
      assert.throws(() => unpacker.write(bytes, 0, end, new ByteWriter(0)), `${end}`);
  }
});

test('stored list: any character at any place of a string', () => {
  const of = (message: string): string => `[{"message":${message},"line":1,"tags":[]}]`;
  for (let code = 0; code < 0x300; code++) {
    const character = String.fromCharCode(code);
    for (let before = 0; before < 9; before++) {
      for (const after of [0, 1, 7]) {
        const inner = 'x'.repeat(before) + character + 'é'.repeat(after);
        for (const text of [of(`"${inner}"`), of(JSON.stringify(inner))]) {
          const stored = read(text);
          if (stored !== null) assert.equal(stored, expected(text), text);
          else assert.ok(code < 0x20 || character === '"' || character === '\\', text);
        }
      }
    }
  }
});
