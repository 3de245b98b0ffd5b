import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ByteWriter } from '../../../engine/bytes.ts';
import { crc32 } from '../../../engine/crc32.ts';
import type {
  CatalogCommand,
  DecodedCommand,
  FactsCommand,
  FactsContents,
  InputsCommand,
  ReportCommand,
} from '../../../engine/ingest/command/commands.ts';
import { CommandFailure, type FailureKind } from '../../../engine/ingest/command/errors.ts';
import type { QueuedCommand } from '../../../engine/ingest/command/types.ts';
import { decodeCommand } from '../../../engine/ingest/decode.ts';
import { parseJson } from '../../../engine/json/parse.ts';
import { encodeReportLists, type ReportListName, writeReportList } from '../../../engine/store/records/report-lists.ts';
import {
  at,
  catalogPayload,
  event,
  factsPayload,
  Memory,
  RECEIVED,
  reportPayload,
  reportResource,
  resource,
  SETTINGS,
  submit,
} from './support.ts';

const decode = (command: QueuedCommand): DecodedCommand => decodeCommand(command, SETTINGS, null);
const facts = (command: QueuedCommand): FactsCommand => decode(command) as FactsCommand;
const catalog = (command: QueuedCommand): CatalogCommand => decode(command) as CatalogCommand;
const report = (command: QueuedCommand): ReportCommand => decode(command) as ReportCommand;

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return null;
}

/** Text of a report's list as it is read from the store. */
function listText(command: ReportCommand, name: ReportListName): string | null {
  const out = new ByteWriter(0);
  if (!writeReportList(encodeReportLists(command.contents().lists), name, out)) return null;
  const bytes = out.take();
  assert.ok(isUtf8(bytes));
  return bytes.toString();
}

function failure(command: QueuedCommand, settings = SETTINGS): CommandFailure {
  try {
    decodeCommand(command, settings, null);
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    return error;
  }
  assert.fail('decoded');
}

function refused(command: QueuedCommand, kind: FailureKind, text: RegExp): void {
  const error = failure(command);
  assert.equal(error.kind, kind, error.message);
  assert.match(error.message, text);
}

// ---- bytes and JSON

test('decode: a gzip body is read up to the end of its first member', () => {
  const first = gzipSync(JSON.stringify(factsPayload({ values: { a: 1 } })));
  // With all that a header may have: an extra field, a name, a comment and a checksum.
  const header = Buffer.from('\x1f\x8b\x08\x1e\0\0\0\0\0\x03\x02\0\0xname\0comment\0', 'latin1');
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc32(header) & 0xffff);
  for (const member of [first, Buffer.concat([header, checksum, first.subarray(10)])])
    for (const rest of [gzipSync('{}'), Buffer.from('garbage'), Buffer.alloc(7), Buffer.alloc(0)]) {
      const command = submit('replace facts', Buffer.concat([member, rest]), { gzip: true });
      assert.deepEqual(facts(command).contents().facts, [{ name: 'a', value: '1', json: 1 }]);
    }
  refused(
    submit('replace facts', Buffer.concat([gzipSync(''), first]), { gzip: true }),
    'invalid',
    /\(not \(map\? nil\)\)/,
  );
});

test('decode: what is labelled gzip and is not may be tried again, damaged gzip may not', () => {
  const good = gzipSync(JSON.stringify(factsPayload()));
  const notGzip = failure(submit('replace facts', Buffer.from('{}'), { gzip: true }));
  assert.deepEqual([notGzip.kind, notGzip.retryable], ['not-gzip', true]);
  assert.equal(failure(submit('replace facts', Buffer.alloc(0), { gzip: true })).kind, 'not-gzip');
  const cutOff = failure(submit('replace facts', good.subarray(0, good.length - 9), { gzip: true }));
  assert.deepEqual([cutOff.kind, cutOff.retryable], ['unreadable', false]);
  const damaged = Buffer.from(good);
  damaged[damaged.length - 6]! ^= 1;
  assert.equal(failure(submit('replace facts', damaged, { gzip: true })).kind, 'unreadable');
});

test('decode: a body may not be larger than the limit, nor inflate beyond it', () => {
  const payload = Buffer.from(JSON.stringify(factsPayload()));
  for (const command of [
    submit('replace facts', payload),
    submit('replace facts', gzipSync(payload), { gzip: true }),
  ]) {
    assert.equal(decodeCommand(command, { ...SETTINGS, decompressedMax: payload.length }, null).kind, 'facts');
    assert.equal(failure(command, { ...SETTINGS, decompressedMax: payload.length - 1 }).kind, 'too-large');
  }
  const large = submit('replace facts', Buffer.alloc(1_000_001, ' '));
  assert.equal(failure(large, { ...SETTINGS, decompressedMax: 1_000_000 }).kind, 'too-large');
  const bomb = gzipSync(Buffer.alloc(5_000_000, ' '));
  const command = submit('replace facts', bomb, { gzip: true });
  assert.equal(failure(command, { ...SETTINGS, decompressedMax: 1_000_000 }).kind, 'too-large');
  // What follows the first member is not looked at, however large it is.
  const followed = submit('replace facts', Buffer.concat([gzipSync(payload), bomb]), { gzip: true });
  assert.equal(decodeCommand(followed, { ...SETTINGS, decompressedMax: 1_000_000 }, null).kind, 'facts');
  const lying = Buffer.from(bomb);
  lying.writeUInt32LE(10, lying.length - 4);
  assert.equal(failure(submit('replace facts', lying, { gzip: true })).kind, 'unreadable');
});

test('decode: invalid UTF-8 becomes replacement characters, an empty body the payload null', () => {
  const text = JSON.stringify(factsPayload({ values: { a: 'X' } }));
  const bytes = Buffer.from(text);
  bytes[bytes.indexOf('X')] = 0xff;
  assert.equal(facts(submit('replace facts', bytes)).contents().facts[0]?.value, '"\ufffd"');
  const log = { level: 'info', message: 'aXb', source: 'S', tags: null, time: at(1), file: null, line: null };
  const logs = Buffer.from(JSON.stringify(reportPayload({ logs: [log] })));
  logs[logs.indexOf('X')] = 0xff;
  assert.match(listText(report(submit('store report', logs)), 'logs') ?? '', /"message":"a\ufffdb"/);
  refused(submit('replace facts', ''), 'invalid', /^Invalid replace facts command: \(not \(map\? nil\)\)/);
  refused(submit('replace facts', '{"certname":'), 'unreadable', /not JSON/);
  refused(submit('replace facts', '\ufeff{}'), 'unreadable', /not JSON/);
});

test('decode: of two facts of one name the last one counts', () => {
  const text = JSON.stringify(factsPayload({ values: { a: 1, c: 2 } })).replace('"c":2', '"b":true,"a":3');
  for (const way of [decode, (command: QueuedCommand) => new Memory().decode(command)]) {
    const { facts: found } = (way(submit('replace facts', text)) as FactsCommand).contents();
    assert.deepEqual(
      found.map(({ name, value }) => [name, value]),
      [
        ['a', '3'],
        ['b', 'true'],
      ],
    );
  }
});

test('decode: what would be too long when its decimals are spelled out is refused for good', () => {
  // 309 digits each: 5 MB of JSON that take 271 MB.
  const list = `[${'1e308,'.repeat(878_000)}1]`;
  const tooLong = /^The payload cannot be stored: a value takes more than 268435456 characters as it is stored$/;
  const memory = new Memory();
  for (const [way, command, payload] of [
    [decode, 'replace facts', factsPayload({ values: { a: 'LIST' } })],
    [
      (queued: QueuedCommand) => memory.decode(queued),
      'replace catalog',
      catalogPayload({ resources: [resource({ parameters: { a: 'LIST' } })] }),
    ],
  ] as const) {
    const queued = submit(command, JSON.stringify(payload).replace('"LIST"', list));
    const error = thrownBy(() => (way(queued) as CatalogCommand | FactsCommand).contents(() => 0));
    assert.ok(error instanceof CommandFailure, String(error));
    assert.match(error.message, tooLong);
    assert.equal(error.retryable, false);
  }
});

test('decode: what is nested deeply where it does not belong is told as anything else', () => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  for (const [command, payload] of [
    ['replace facts', factsPayload({ package_inventory: 'DEEP' })],
    ['replace facts', factsPayload({ package_inventory: ['DEEP'] })],
    ['replace facts', factsPayload({ environment: 'DEEP' })],
    ['replace facts', factsPayload({ producer_timestamp: 'DEEP' })],
    ['replace facts', 'DEEP'],
    ['replace catalog', catalogPayload({ edges: ['DEEP'] })],
    ['replace catalog', catalogPayload({ resources: [resource({ tags: 'DEEP' })] })],
    ['store report', reportPayload({ logs: ['DEEP'] })],
    ['deactivate node', { certname: 'DEEP', producer_timestamp: at(0) }],
    ['configure expiration', { certname: 'c', producer_timestamp: at(0), expire: 'DEEP' }],
  ] as const) {
    const error = failure(submit(command, JSON.stringify(payload).replace('"DEEP"', deep)));
    assert.equal(error.validation, true, error.message.slice(0, 100));
    assert.ok(error.message.length < 5000, String(error.message.length));
  }
});

test('decode: nesting is bounded wherever it is', () => {
  const deep = `${'['.repeat(999)}${']'.repeat(999)}`;
  const shallow = `${'['.repeat(900)}${']'.repeat(900)}`;
  for (const [command, payload] of [
    ['replace facts', factsPayload({ values: { a: 'DEEP' } })],
    ['replace catalog', catalogPayload({ resources: [resource({ parameters: { a: 'DEEP' } })] })],
    ['replace catalog', catalogPayload({ resources: [resource({ kind: 'DEEP' })] })],
    ['store report', reportPayload({ resources: [reportResource({ events: [event({ new_value: 'DEEP' })] })] })],
  ] as const) {
    const text = JSON.stringify(payload);
    decode(submit(command, text.replace('"DEEP"', shallow)));
    refused(submit(command, text.replace('"DEEP"', deep)), 'unreadable', /deeper than 1000/);
  }
  // What is dropped is bounded as well.
  for (const [command, payload] of [
    ['replace facts', factsPayload({ timestamp: 'DEEP' })],
    ['replace catalog', catalogPayload({ unknown: 'DEEP' })],
  ] as const) {
    const text = JSON.stringify(payload);
    for (const way of [decode, (queued: QueuedCommand) => new Memory().decode(queued)]) {
      way(submit(command, text.replace('"DEEP"', deep)));
      const error = thrownBy(() => way(submit(command, text.replace('"DEEP"', `[${deep}]`))));
      assert.match((error as Error).message, /deeper than 1000/);
    }
  }
});

// ---- catalogs

test('decode: the worked catalogs (4.4)', () => {
  const first = catalogPayload({
    certname: 'c0.cat',
    edges: [
      { source: { type: 'Class', title: 'Main' }, target: { type: 'File', title: '/a' }, relationship: 'contains' },
    ],
    resources: [
      resource({ tags: ['main', 'class'], file: '/f.pp', line: 1 }),
      resource({
        type: 'File',
        title: '/a',
        tags: ['file'],
        file: '/f.pp',
        line: 2,
        parameters: { ensure: 'present' },
      }),
    ],
  });
  assert.equal(catalog(submit('replace catalog', first)).hash, '07aa003802b1f10f32b359cd697b79d996a15ff6');
  const second = catalogPayload({
    certname: 'n2.example',
    resources: [
      resource({ type: 'Stage', title: 'main', tags: ['stage'], parameters: { name: 'main', alias: ['main'] } }),
    ],
  });
  assert.equal(catalog(submit('replace catalog', second)).hash, 'c7bd9eac2281ef20ef43d800407a668eca910f80');
  const exec = { type: 'Exec', title: '/b' };
  const file = { type: 'File', title: '/b' };
  const foo = { type: 'Class', title: 'Foo' };
  const third = catalogPayload({
    certname: 'n3.example',
    edges: [
      { source: foo, target: file, relationship: 'contains' },
      { source: file, target: exec, relationship: 'required-by' },
      { source: foo, target: file, relationship: 'contains' },
      { source: file, target: exec, relationship: 'before' },
    ],
    resources: [
      resource({ ...foo, tags: ['class', 'foo'] }),
      resource({
        ...file,
        tags: ['a', 'b', 'class', 'file', 'foo'],
        file: null,
        line: null,
        parameters: { tag: ['a', 'b'], ensure: 'file' },
      }),
      resource({ ...exec, exported: true, tags: [], file: '/m.pp', line: 7, parameters: { timeout: 0.5 } }),
    ],
  });
  const decoded = catalog(submit('replace catalog', third));
  assert.equal(decoded.hash, 'a0c3a79d8e1f394522bdaa000bfb3a6c4e2cff39');
  const { resources, edges } = decoded.contents(() => 0);
  assert.deepEqual(
    resources.map(({ title, body }) => [title, body?.hash]),
    [
      ['/b', 'ec26216223967e69d839f4f778bebb200c6d9e5b'],
      ['/b', '8ea76549d336559d090e08b3c56fc52f92843359'],
      ['Foo', 'ba66a4113b0451266834e5225e6e27b20142d5d8'],
    ],
  );
  assert.deepEqual(
    edges().map(({ body }) => body),
    [
      {
        sourceType: 'File',
        sourceTitle: '/b',
        targets: [
          { relationship: 'before', targetType: 'Exec', targetTitle: '/b' },
          { relationship: 'required-by', targetType: 'Exec', targetTitle: '/b' },
        ],
      },
      {
        sourceType: 'Class',
        sourceTitle: 'Foo',
        targets: [{ relationship: 'contains', targetType: 'File', targetTitle: '/b' }],
      },
    ],
  );
});

test('decode: what the catalog hash does not see', () => {
  const a = { type: 'Notify', title: 'a' };
  const b = { type: 'Notify', title: 'b' };
  const edge = { source: a, target: b, relationship: 'before' };
  const base = { resources: [resource(a), resource(b)], edges: [edge] };
  const hash = (fields: object): string =>
    catalog(submit('replace catalog', catalogPayload({ ...base, ...fields }))).hash;
  assert.equal(hash({ resources: [resource(b), resource(a)] }), hash({}));
  assert.equal(hash({ edges: [edge, edge] }), hash({}));
  assert.equal(hash({ version: '2', environment: null, job_id: '7', unknown: 1 }), hash({}));
  assert.equal(hash({ resources: [resource({ ...a, kind: 'k', aliases: [] }), resource(b)] }), hash({}));
  assert.notEqual(hash({ resources: [resource({ ...a, line: null }), resource(b)] }), hash({}));
  assert.notEqual(hash({ edges: [{ ...edge, extra: 1 }] }), hash({}));
  assert.equal(hash({ edges: [{ ...edge, extra: 1 }, edge] }), hash({ edges: [edge, { ...edge, extra: 1 }] }));
  const both = catalog(submit('replace catalog', catalogPayload({ ...base, edges: [edge, { ...edge, extra: 1 }] })));
  assert.equal(both.contents(() => 0).edges()[0]?.body.targets.length, 1);
});

test('decode: catalogs that are refused', () => {
  const a = { type: 'File', title: '/a' };
  const nope = { type: 'File', title: '/nope' };
  const edge = (fields: object): object => ({
    resources: [resource(a)],
    edges: [{ source: a, target: a, relationship: 'before', ...fields }],
  });
  const cases: [object, RegExp][] = [
    [{ resources: [resource(), resource()] }, /Duplicate resource: \{:type "Class", :title "Main"\}/],
    [{ resources: [resource({ tags: ['File'] })] }, /has an invalid tag 'File'\. Tags must match the pattern/],
    [{ resources: [resource({ tags: ['-x'] })] }, /invalid tag/],
    [{ resources: [resource({ tags: [5] })] }, /invalid tag/],
    [{ resources: [resource({ tags: null })] }, /:tags/],
    [{ resources: [5] }, /not \(map\? 5\)/],
    [{ resources: {} }, /:resources \(not \(sequential\?/],
    [{ edges: null }, /:edges/],
    [{ edges: { a: 1 } }, /:edges \(not \(sequential\?/],
    [
      edge({ target: nope }),
      /refers to resource '\{:type "File", :title "\/nope"\}', which doesnt exist in the catalog\./,
    ],
    [edge({ source: { ...a, x: 1 } }), /refers to resource '\{.*"x": ?1\}', which doesnt exist/],
    [edge({ source: null }), /which doesnt exist/],
    [edge({ relationship: 'foo' }), /has invalid relationship type ':foo'/],
    [edge({ relationship: undefined }), /invalid relationship type/],
    [{ version: 5 }, /\{:version \(not \(instance\? java\.lang\.String 5\)\)\}/],
    [{ producer_timestamp: 'soon' }, /:producer_timestamp/],
  ];
  for (const [fields, text] of cases) {
    refused(submit('replace catalog', catalogPayload(fields as never)), 'invalid', text);
  }
  refused(submit('replace catalog', catalogPayload(), { version: 99 }), 'invalid', /Unknown catalog version '99'$/);
  catalog(
    submit(
      'replace catalog',
      catalogPayload({ edges: {}, resources: [resource({ tags: ['ñ', '日本', '9z', '_x'] })] }),
    ),
  );
});

test('decode: a tag is none, whichever tags came before', () => {
  const tagged = (tag: string): QueuedCommand =>
    submit('replace catalog', catalogPayload({ resources: [resource({ tags: [tag] })] }));
  // Letters, and the characters that end in the same byte.
  for (const [letter, other] of ['ń/D', '丢/"', '乜/\\', 'ſ/\x7f', 'ġ/!'].map((pair) => pair.split('/'))) {
    assert.deepEqual(catalog(tagged(letter!)).contents(() => 0).resources[0]?.body?.tags, [letter]);
    refused(tagged(other!), 'invalid', /invalid tag/);
  }
});

test('decode: catalogs that are valid and cannot be stored', () => {
  const refusal = (fields: object): string | null => {
    const command = catalog(submit('replace catalog', catalogPayload(fields as never)));
    return command.refusal ?? command.contents(() => 0).refusal;
  };
  assert.equal(refusal({}), null);
  assert.match(refusal({ transaction_uuid: '' }) ?? '', /transaction_uuid is not a UUID/);
  assert.match(refusal({ catalog_uuid: 'abc' }) ?? '', /catalog_uuid is not a UUID/);
  assert.match(refusal({ environment: 'a\u0000' }) ?? '', /environment contains a NUL/);
  for (const [fields, why] of [
    [{ title: 'a\u0000b' }, 'title contains a NUL character, which cannot be stored.'],
    [{ type: null }, 'type is missing.'],
    [{ title: [] }, 'title is no text.'],
    [{ title: false }, 'title is no text.'],
    [{ exported: undefined }, 'exported is missing, or no Boolean.'],
    [{ file: [] }, 'file is no text.'],
    [{ file: {} }, 'file is no text.'],
    [{ line: 'x' }, 'line is not an integer.'],
    [{ parameters: 'x' }, 'parameters are no map.'],
    [{ parameters: ['a'] }, 'parameters are no map.'],
    [{ parameters: false }, 'parameters are no map.'],
    [{ line: 3_000_000_000 }, 'line is out of range for a 32-bit integer.'],
    [{ parameters: { 'a\u0000': 1 } }, 'parameter name "a\\u0000" contains a NUL character, which cannot be stored.'],
  ] as const) {
    // Of several, the one that is no good is named.
    const told = refusal({
      resources: [resource({ title: 'good' }), resource({ type: 'File', title: '/a', ...fields })],
    });
    const title = 'title' in fields ? fields.title : '/a';
    const named = `Resource {:type ${'type' in fields ? 'nil' : '"File"'}, :title ${JSON.stringify(title)}}: ${why}`;
    assert.equal(told, named, JSON.stringify(fields));
  }
  assert.notEqual(refusal({ resources: [resource({ title: 5 }), resource({ title: '5' })] }), null);
  const enormous = JSON.stringify(catalogPayload({ resources: [resource({ parameters: 'NUMBER' as never })] }));
  const { refusal: why } = catalog(submit('replace catalog', enormous.replace('"NUMBER"', '1e21'))).contents(() => 0);
  assert.match(why ?? '', /^Resource \{:type "\w+", :title "[^"]+"\}: parameters are no map\.$/);
});

test('decode: what is empty passes for an empty list or map, a scalar file for its text', () => {
  const body = (fields: object) => {
    const command = catalog(submit('replace catalog', catalogPayload({ resources: [resource(fields as never)] })));
    const { resources, refusal } = command.contents(() => 0);
    assert.equal(refusal, null, JSON.stringify(fields));
    return resources[0]?.body;
  };
  for (const tags of ['', {}, []]) assert.deepEqual(body({ tags })?.tags, []);
  for (const parameters of [undefined, null, '', [], {}]) assert.equal(body({ parameters })?.parameters, '{}');
  assert.deepEqual(
    [5, 1.5, true, false].map((file) => body({ file })?.file),
    ['5', '1.5', 'true', 'false'],
  );
  const endless = JSON.stringify(catalogPayload({ resources: [resource({ title: 'NUMBER' })] }));
  const { resources } = catalog(submit('replace catalog', endless.replace('"NUMBER"', '-1e400'))).contents(() => 0);
  assert.equal(resources[0]?.title, '-Infinity');
});

test('decode: resources are stored in column form', () => {
  const text = JSON.stringify(
    catalogPayload({
      transaction_uuid: '{68B08E2A-EEB14322-B241-BFDF151D294B}',
      resources: [
        resource({
          type: 'notify',
          title: 'TITLE',
          line: 2.5,
          file: undefined,
          parameters: { 'b/c': 1, a: 'x\u0000y', n: 'NUMBER' },
        }),
      ],
    }),
  );
  const decoded = catalog(submit('replace catalog', text.replace('"TITLE"', '5').replace('"NUMBER"', '1e10')));
  assert.equal(decoded.transactionUuid, '68b08e2a-eeb1-4322-b241-bfdf151d294b');
  const [only] = decoded.contents(() => 0).resources;
  assert.equal(only?.title, '5');
  assert.equal(only?.body?.line, 2);
  assert.equal(only?.body?.file, null);
  assert.equal(only?.fileGiven, false);
  assert.equal(only?.body?.parameters, '{"a":"x\ufffdy","n":10000000000,"b/c":1}');
});

// ---- versions

test('decode: old catalogs become new ones', () => {
  const {
    producer: _,
    catalog_uuid: __,
    code_id: ___,
    ...oldest
  } = catalogPayload({
    transaction_uuid: '68b08e2a-eeb1-4322-b241-bfdf151d294b',
  });
  const seven = catalog(submit('replace catalog', { ...oldest, code_id: 'k', producer: 'p' }, { version: 7 }));
  assert.deepEqual([seven.catalogUuid, seven.codeId, seven.producer], [seven.transactionUuid, 'k', null]);
  const six = catalog(submit('replace catalog', { ...oldest, code_id: 'k' }, { version: 6 }));
  assert.deepEqual([six.catalogUuid, six.codeId], [six.transactionUuid, null]);
  const { certname, transaction_uuid, producer_timestamp, ...rest } = oldest;
  const dashed = { ...rest, name: certname, 'transaction-uuid': transaction_uuid, api_version: 1 };
  const five = catalog(
    submit('replace catalog', { ...dashed, 'producer-timestamp': producer_timestamp }, { version: 5, certname: 'c' }),
  );
  assert.deepEqual([five.certname, five.hash, five.producerTimestamp], ['c', six.hash, six.producerTimestamp]);
  const four = catalog(submit('replace catalog', dashed, { version: 4, certname: 'c' }));
  assert.equal(four.producerTimestamp, RECEIVED);
  for (const sent of [producer_timestamp, null, 'x']) {
    const timed = submit('replace catalog', { ...dashed, 'producer-timestamp': sent }, { version: 4, certname: 'c' });
    assert.equal(catalog(timed).producerTimestamp, RECEIVED);
  }
  refused(submit('replace catalog', dashed, { version: 3 }), 'invalid', /Unknown catalog version '3'/);
});

test('decode: old facts become new ones', () => {
  const { producer: _, ...payload } = factsPayload({ values: { a: '1' } });
  assert.equal(facts(submit('replace facts', { ...payload, producer: 'p' }, { version: 4 })).producer, null);
  const { certname, producer_timestamp, ...rest } = payload;
  const three = facts(
    submit('replace facts', { ...rest, name: certname, 'producer-timestamp': producer_timestamp }, { version: 3 }),
  );
  assert.equal(three.certname, 'c');
  assert.equal(three.producerTimestamp, Date.parse(at(0)));
  // What is called as today already keeps its name.
  assert.equal(facts(submit('replace facts', payload, { version: 3 })).certname, 'c');
  assert.equal(facts(submit('replace facts', { ...rest, name: 'c' }, { version: 2 })).producerTimestamp, RECEIVED);
  refused(submit('replace facts', { ...payload, name: 'c' }, { version: 5 }), 'invalid', /:name disallowed-key/);
  refused(submit('replace facts', payload, { version: 1 }), 'unsupported-version', /version 1/);
  const future = failure(submit('replace facts', factsPayload(), { version: 6 }));
  assert.equal(future.message, 'Unsupported command replace facts version 6');
  assert.deepEqual([future.validation, future.retryable], [false, false]);
  refused(submit('replace facts', payload, { version: 6 }), 'invalid', /:producer missing-required-key/);
});

test('decode: old reports become new ones', () => {
  const flat = {
    status: 'success',
    timestamp: at(1),
    property: 'ensure',
    new_value: 'present',
    old_value: 'absent',
    message: null,
    resource_type: 'File',
    resource_title: '/a',
    file: '/f.pp',
    line: 4,
    containment_path: ['Foo'],
  };
  const {
    producer: _,
    noop_pending: __,
    corrective_change: ___,
    catalog_uuid: ____,
    code_id: _____,
    cached_catalog_status: ______,
    resources: _______,
    ...head
  } = reportPayload({ transaction_uuid: '68b08e2a-eeb1-4322-b241-bfdf151d294b' });
  const events = [
    flat,
    { ...flat, property: 'mode' },
    { ...flat, status: 'skipped' },
    { ...flat, resource_title: '/b' },
  ];
  const five = report(submit('store report', { ...head, resource_events: events }, { version: 5 }));
  assert.deepEqual(
    five
      .contents()
      .events()
      .map(({ resourceTitle, property, status }) => [resourceTitle, property, status]),
    [
      ['/a', 'ensure', 'success'],
      ['/a', 'mode', 'success'],
      ['/a', null, 'skipped'],
      ['/b', 'ensure', 'success'],
    ],
  );
  assert.equal(five.catalogUuid, five.transactionUuid);
  // What is missing is that also beside events that have null there.
  for (const name of ['file', 'line', 'containment_path', 'timestamp'] as const) {
    const { [name]: _given, ...lacking } = flat;
    const both = { ...head, resource_events: [{ ...flat, [name]: null }, lacking] };
    for (const sent of [both, { ...head, resource_events: [lacking] }])
      refused(submit('store report', sent, { version: 5 }), 'invalid', new RegExp(`:${name} missing-required-key`));
  }
  const { start_time, end_time, producer_timestamp, puppet_version, report_format, configuration_version, ...others } =
    head;
  const { transaction_uuid, noop: ________, ...plain } = others;
  const four = report(
    submit(
      'store report',
      {
        ...plain,
        'transaction-uuid': transaction_uuid,
        'start-time': start_time,
        'end-time': end_time,
        'puppet-version': puppet_version,
        'report-format': report_format,
        'configuration-version': configuration_version,
        'resource-events': [{ ...flat, 'new-value': 1 }].map(({ new_value: _new, ...dashed }) => dashed),
      },
      { version: 4 },
    ),
  );
  assert.equal(four.producerTimestamp, RECEIVED);
  assert.deepEqual([listText(four, 'logs'), listText(four, 'metrics')], [null, null]);
  assert.equal(four.contents().events()[0]?.newValue, '1');
  assert.ok(producer_timestamp);
});

test('decode: in old reports what is empty passes for an empty list, in new ones a list is asked for', () => {
  const { resources: _, ...head } = reportPayload();
  const { events: __, corrective_change: ___, ...bare } = reportResource();
  const { noop_pending: ____, corrective_change: _____, producer: ______, ...old } = head;
  for (const none of [undefined, null, '', {}, []]) {
    const seven = report(submit('store report', { ...old, resources: none }, { version: 7 }));
    assert.equal(listText(seven, 'resources'), '[]');
    const without = report(submit('store report', { ...old, resources: [{ ...bare, events: none }] }, { version: 7 }));
    assert.deepEqual(without.contents().events(), []);
    const five = report(submit('store report', { ...old, resource_events: none }, { version: 5 }));
    assert.equal(listText(five, 'resources'), '[]');
  }
  for (const wrong of [false, 5, 'x', { a: 1 }]) {
    refused(submit('store report', { ...old, resources: wrong }, { version: 7 }), 'invalid', /:resources/);
    refused(submit('store report', { ...old, resource_events: wrong }, { version: 5 }), 'invalid', /:resources/);
  }
  for (const none of [undefined, '', {}])
    refused(submit('store report', { ...head, resources: none }), 'invalid', /:resources/);
});

test('decode: a deactivation of versions 1 and 2 is a bare certname', () => {
  const two = decode(submit('deactivate node', '"web1"', { version: 2 }));
  assert.deepEqual(two, { kind: 'deactivate', certname: 'web1', producerTimestamp: RECEIVED });
  assert.equal(decode(submit('deactivate node', '"\\"web1\\""', { version: 1 })).certname, 'web1');
  refused(submit('deactivate node', '"web1"', { version: 1 }), 'invalid', /not \(map\? nil\)/);
  refused(submit('deactivate node', '"web1"'), 'invalid', /^Invaliddeactivate nodecommand: \(not \(map\? "web1"\)\)/);
});

// ---- facts

test('decode: facts are hashed without blocked ones', () => {
  const payload = factsPayload({
    values: { a: 1, b: { c: 2, d: { e: 3 } }, 'b.c': 4, networking: { ip: '::1', interfaces: { lo: {} } } },
  });
  const names = (list: string[], type: 'literal' | 'regex'): string => {
    const settings = { ...SETTINGS, factsBlocklist: list, factsBlocklistType: type };
    const decoded = decodeCommand(submit('replace facts', payload), settings, null) as FactsCommand;
    return decoded
      .contents()
      .facts.map(({ name, value }) => `${name}=${value}`)
      .join(' ');
  };
  assert.equal(names(['a', 'b.c'], 'literal'), 'b={"d":{"e":3}} networking={"ip":"::1","interfaces":{"lo":{}}}');
  assert.equal(names(['networking.interfaces', 'b', 'b.c'], 'literal'), 'a=1 networking={"ip":"::1"}');
  assert.equal(names(['b.*', 'networking'], 'regex'), 'a=1');
  assert.equal(names(['(?i)B\\.D\\.E', 'networking\\..*', 'b[.]c'], 'regex'), 'a=1 b={"d":{}} networking={}');
  // Patterns that ask for no dot are of names only.
  const all = 'a=1 b={"c":2,"d":{"e":3}} networking={"ip":"::1","interfaces":{"lo":{}}}';
  assert.equal(names(['b.c', '.*ip', 'e'], 'regex'), all);
  const blocked = decodeCommand(
    submit('replace facts', factsPayload({ values: { a: 1, x: 2 } })),
    { ...SETTINGS, factsBlocklist: ['x'] },
    null,
  ) as FactsCommand;
  assert.equal(blocked.hash, facts(submit('replace facts', factsPayload({ values: { a: 1 } }))).hash);
});

test('decode: a fact name with NUL cannot be stored, a value with NUL can', () => {
  assert.match(facts(submit('replace facts', factsPayload({ values: { 'a\u0000': 1 } }))).refusal ?? '', /NUL/);
  assert.match(
    facts(submit('replace facts', factsPayload({ values: { a: [{ 'b\u0000': 1 }] } }))).refusal ?? '',
    /NUL/,
  );
  const decoded = facts(
    submit('replace facts', factsPayload({ certname: 'f20.fct', environment: 'prod', values: { nul: 'a\u0000b' } })),
  );
  assert.equal(decoded.refusal, null);
  assert.equal(decoded.hash, '84d649164813b940cfd9a040d20e10d86485fe7f');
  assert.equal(decoded.contents().facts[0]?.value, '"a\ufffdb"');
});

test('decode: any spelling of numbers in facts survives', () => {
  const text = JSON.stringify(factsPayload({ certname: 'n2.example', environment: null, values: 'VALUES' })).replace(
    '"VALUES"',
    '{"up":1.0,"os":{"release":{"major":"12"},"family":"Debian"},"neg":-0.0,"Zed":null,"a/b":"s","a":[1,{"k":"v"}]}',
  );
  const decoded = facts(submit('replace facts', text));
  assert.equal(decoded.hash, 'e2f6c86c0dc8f770c213bb302ebc1455d2ad2f54');
  assert.deepEqual(
    decoded.contents().facts.map(({ name, value }) => [name, value]),
    [
      ['a', '[1,{"k":"v"}]'],
      ['os', '{"family":"Debian","release":{"major":"12"}}'],
      ['up', '1.0'],
      ['Zed', 'null'],
      ['a/b', '"s"'],
      ['neg', '0.0'],
    ],
  );
});

// ---- reports

test('decode: the worked reports (4.6)', () => {
  const payload = reportPayload({
    certname: 'n2.example',
    configuration_version: 'cv',
    start_time: '2024-01-01T00:00:00.123456+02:00',
    end_time: '2024-01-01T00:00:01.000Z',
    producer_timestamp: '2024-01-01T00:00:02.000Z',
  });
  assert.equal(report(submit('store report', payload)).hash, '2a3e67b23d758aa70ef98dd0ce705eb917f25e84');
});

test('decode: events follow from resources', () => {
  const skipped = reportResource({
    skipped: true,
    resource_title: '/s',
    timestamp: at(5),
    corrective_change: true,
    events: [event()],
  });
  const unchanged = reportResource({ resource_title: '/u' });
  const changed = reportResource({
    containment_path: ['Stage[main]', 'Foo', '', 'Bar::Baz', 'File[/a]'],
    file: '/f.pp',
    line: 3,
    events: [
      event({ name: 'file_created', new_value: { b: 1, a: [true] }, old_value: 'x\u0000y' }),
      event({ name: 'file_created', new_value: { a: [true], b: 1 }, old_value: 'x\ufffdy', corrective_change: true }),
      event({ new_value: null }),
    ],
  });
  const payload = reportPayload({
    resources: [skipped, unchanged, changed, reportResource({ containment_path: null })],
  });
  const events = report(submit('store report', payload)).contents().events();
  assert.deepEqual(
    events.map(({ status, resourceTitle, newValue, oldValue, name }) => [
      status,
      resourceTitle,
      newValue,
      oldValue,
      name,
    ]),
    [
      ['skipped', '/s', 'null', 'null', null],
      ['success', '/a', '{"a":[true],"b":1}', '"x\ufffdy"', 'file_created'],
      ['success', '/a', 'null', '"absent"', null],
    ],
  );
  assert.equal(events[0]?.timestamp, Date.parse(at(5)));
  // Nothing is corrected by what was skipped, whatever its resource says.
  assert.deepEqual(
    events.map(({ correctiveChange }) => correctiveChange),
    [false, null, null],
  );
  assert.equal(events[1]?.containingClass, 'Bar::Baz');
  assert.deepEqual([events[1]?.file, events[1]?.line], ['/f.pp', 3]);
});

test('decode: logs and metrics are kept as sent, in stored form', () => {
  const log = {
    file: null,
    line: null,
    level: 'notice',
    message: 'a\u0000b',
    source: 'S',
    tags: null,
    time: '2036-01-10T14:00:00.5+02:00',
  };
  const payload = reportPayload({
    logs: [log],
    metrics: [{ category: 'time', name: 'total', value: 0.5 }],
    resources: null,
  });
  const decoded = report(submit('store report', payload));
  assert.equal(
    listText(decoded, 'logs'),
    '[{"file":null,"line":null,"tags":null,"time":"2036-01-10T14:00:00.5+02:00","level":"notice","source":"S","message":"a\ufffdb"}]',
  );
  assert.equal(listText(decoded, 'metrics'), '[{"name":"total","value":0.5,"category":"time"}]');
  assert.equal(listText(decoded, 'resources'), null);
});

test('decode: reports are closed at every depth', () => {
  const cases: [object, RegExp][] = [
    [{ extra: 1 }, /:extra disallowed-key/],
    [{ environment: null }, /:environment \(not \(instance\? java\.lang\.String nil\)\)/],
    [{ type: null }, /:type \(not \(#\{"agent" "plan"\} nil\)\)/],
    [{ type: 'apply' }, /:type/],
    [{ report_format: 12.5 }, /:report_format \(not \(integer\? 12\.5\)\)/],
    [{ start_time: '2024-01-01' }, /:start_time \(not \(matches-some-precondition\? "2024-01-01"\)\)/],
    [{ resources: [reportResource({ tags: [] })] }, /:resources \[\{:tags disallowed-key\}\]/],
    [
      { resources: [reportResource(), reportResource({ events: [event({ status: undefined })] })] },
      /\[nil \{:events \[\{:status missing-required-key\}\]\}\]/,
    ],
    [{ metrics: [{ category: 'a', name: 'b', value: '1' }] }, /:metrics/],
    [{ logs: [{}] }, /:logs/],
  ];
  for (const [fields, text] of cases) {
    const error = failure(submit('store report', reportPayload(fields as never)));
    assert.match(error.message, /^Invalidstore reportcommand: \{/);
    assert.match(error.message, text);
  }
});

test('decode: report formats have 16 bits', () => {
  const refusal = (format: number | string): string | null =>
    report(submit('store report', JSON.stringify(reportPayload({ report_format: 0 })).replace('":0', `":${format}`)))
      .refusal;
  assert.equal(refusal(32_767), null);
  assert.equal(refusal(-32_768), null);
  for (const format of [32_768, -32_769, '12345678901234567890'])
    assert.equal(refusal(format), 'report_format is out of range for a 16-bit integer.');
});

// ---- inputs

test('decode: inputs are distinct and sorted', () => {
  const uuid = '11111111-1111-1111-1111-111111111111';
  const inputs = (fields: object): InputsCommand =>
    decode(
      submit('replace catalog inputs', { certname: 'n6.l', catalog_uuid: uuid, producer_timestamp: at(0), ...fields }),
    ) as InputsCommand;
  const decoded = inputs({
    inputs: [
      ['b', 'y'],
      ['a', 'z'],
      ['a', 'b'],
      ['a', 'b'],
    ],
    unknown: 1,
  });
  assert.equal(decoded.inputs?.text, '[["a","b"],["a","z"],["b","y"]]');
  assert.equal(decoded.inputs?.hash, '5959c85331e9cb11979599ae68c76f1cedd7ff52');
  assert.match(inputs({ inputs: [['a', 'b']], catalog_uuid: 'x' }).refusal ?? '', /catalog_uuid is not a UUID/);
  for (const odd of [['a'], ['a', 'b', 'c'], []])
    assert.match(inputs({ inputs: [odd] }).refusal ?? '', /it is no pair/);
  for (const nothing of [[], null, undefined, {}, '']) assert.equal(inputs({ inputs: nothing }).inputs, null);
  assert.equal(inputs({ inputs: [], catalog_uuid: 'x', producer_timestamp: 'soon' }).inputs, null);
  for (const nothing of ['null', '']) {
    assert.equal((decode(submit('replace catalog inputs', nothing)) as InputsCommand).inputs, null);
  }
  for (const fields of [
    { inputs: [['a', 5]] },
    { inputs: ['ab'] },
    { inputs: 5 },
    { inputs: [['a', 'b']], catalog_uuid: null },
    { inputs: [['a', 'b']], producer_timestamp: 'soon' },
    { inputs: [['a', 'b']], certname: undefined },
  ]) {
    const error = failure(submit('replace catalog inputs', { certname: 'c', catalog_uuid: uuid, ...fields }));
    assert.deepEqual([error.kind, error.retryable, error.validation], ['not-storable', true, false]);
  }
});

// ---- memos

/** What is remembered with facts and packages is no part of the result. */
const withoutMemos = (contents: FactsContents): object => ({
  facts: contents.facts.map(({ ref: _, json, ...fact }) => ({ ...fact, json: json ?? parseJson(fact.value) })),
  packages: contents.packages.map(({ canonical: _, ref: __, ...body }) => body),
});

/** By what a resource is known again is no part of the result either. */
function withoutKnown(command: CatalogCommand): object {
  const { resources, edges, ...contents } = command.contents(() => 0);
  return { ...contents, edges: edges(), resources: resources.map(({ known: _, ...one }) => one) };
}

test('decode: parts whose bytes are known are not parsed again, and nothing else changes', () => {
  const memos = new Memory();
  const payloads = [
    catalogPayload({ certname: 'm', job_id: '1' }),
    catalogPayload({ certname: 'm', job_id: '2', producer_timestamp: at(3) }),
    catalogPayload({ certname: 'm', resources: [resource({ title: 'Other' })] }),
    catalogPayload({ certname: 'm', resources: [resource({ title: 'Other' })], edges: {} }),
    catalogPayload({ certname: 'n', resources: [resource({ title: 'Other' })] }),
  ];
  for (const payload of payloads) {
    const command = submit('replace catalog', payload, { certname: 'm' });
    const known = memos.decode(command) as CatalogCommand;
    const plain = catalog(command);
    assert.deepEqual({ ...known, memo: null, edgesOf: null, contents: null }, { ...plain, contents: null });
    assert.deepEqual(withoutKnown(known), withoutKnown(plain));
  }
  for (const payload of [
    factsPayload({ certname: 'm', values: { a: 1 } }),
    factsPayload({ certname: 'm', values: { a: 1 }, producer: 'p' }),
    factsPayload({ certname: 'm', values: { a: 1 }, environment: 'other' }),
    factsPayload({ certname: 'm', values: { a: 1 }, package_inventory: [['p', '1', 'apt']] }),
    factsPayload({ certname: 'm', values: { a: 1 }, package_inventory: null }),
    factsPayload({ certname: 'm', values: { a: 1 } }),
  ]) {
    const command = submit('replace facts', payload);
    const known = memos.decode(command) as FactsCommand;
    assert.deepEqual({ ...known, memo: null, contents: null }, { ...facts(command), contents: null });
    assert.deepEqual(withoutMemos(known.contents()), withoutMemos(facts(command).contents()));
  }
});

test('decode: parts are found in any order, longer or much shorter than last time, and beside values that read like their keys', () => {
  const memos = new Memory();
  const pad = (length: number) => ({ filler: 'x'.repeat(length), text: '"edges":[{"resources":[', key: ',"edges":' });
  const sizes = [10, 9000, 9100, 20, 5000, 1];
  const orders = [
    ['certname', 'version', 'resources', 'edges', 'rest'],
    ['edges', 'rest', 'resources', 'certname', 'version'],
    ['resources', 'certname', 'edges', 'version', 'rest'],
  ];
  for (let round = 0; round < sizes.length * 2; round++) {
    const list = [
      resource({ type: 'File', title: '/a', parameters: pad(sizes[round % sizes.length] as number) }),
      resource({ type: 'File', title: '/b' }),
    ];
    const edge = {
      source: { type: 'File', title: '/a' },
      target: { type: 'File', title: '/b' },
      relationship: 'before',
    };
    const { certname, version, resources, edges, ...rest } = catalogPayload({ resources: list, edges: [edge] });
    const fields: Record<string, object> = {
      certname: { certname },
      version: { version },
      resources: { resources },
      edges: { edges },
      rest: { ...rest, code_id: `round ${round}, "resources":[` },
    };
    const payload = Object.assign({}, ...(orders[round % orders.length] as string[]).map((name) => fields[name]));
    const command = submit('replace catalog', payload);
    const fast = memos.decode(command) as CatalogCommand;
    const whole = catalog(command);
    assert.equal(fast.hash, whole.hash);
    assert.equal(fast.codeId, whole.codeId);
    const bodies = (one: CatalogCommand) => one.contents(() => 0).resources.map(({ body }) => body);
    assert.deepEqual(bodies(fast), bodies(whole));
  }
});

test('decode: parts are read wherever there are blanks around their keys', () => {
  const text = JSON.stringify(factsPayload({ values: { a: 1 }, package_inventory: [['p', '1', 'apt']] }));
  for (const key of ['"values"', '"package_inventory"']) {
    for (const spelled of [`${key} :`, `${key}: `, ` ${key}:`, `${key}\n\t:`]) {
      const memos = new Memory();
      const command = submit('replace facts', text.replace(`${key}:`, spelled));
      for (let time = 0; time < 2; time++) {
        const known = memos.decode(command) as FactsCommand;
        assert.equal(known.hash, facts(command).hash, spelled);
        assert.deepEqual(withoutMemos(known.contents()), withoutMemos(facts(command).contents()), spelled);
      }
    }
  }
});

test('decode: facts are in the order of stored keys, known or not', () => {
  for (const names of [
    ['bb', 'a', 'ab', 'c'],
    ['bb', 'é', 'a', 'ab', '\ue000\ue000', '\u{1f600}z', '\u{1f600}\ue000'],
  ]) {
    const command = submit(
      'replace facts',
      factsPayload({ values: Object.fromEntries(names.map((name) => [name, 1])) }),
    );
    for (let time = 0; time < 3; time++) {
      const known = new Memory().decode(command) as FactsCommand;
      assert.deepEqual(withoutMemos(known.contents()), withoutMemos(facts(command).contents()));
    }
  }
});

test('decode: a list of packages that many nodes have gives the hash and the packages that it gives by itself', () => {
  const lists = [
    [
      ['b', '2', 'apt'],
      ['a', '1', 'apt'],
      ['b', '2', 'apt'],
      ['a', '1', 'gem'],
    ],
    [
      ['a', '1', 'apt'],
      ['b', '2', 'apt'],
    ],
    [['\u00e9', '1', 'apt']],
    [],
  ];
  for (const node of ['one', 'two', 'three', 'n\u00f6rd']) {
    for (const package_inventory of lists) {
      for (const values of [{ a: node }, { a: 'x', b: { c: 'z\u00fc' } }, {}]) {
        const command = submit('replace facts', factsPayload({ certname: node, values, package_inventory }));
        const known = new Memory().decode(command) as FactsCommand;
        assert.equal(known.hash, facts(command).hash);
        assert.deepEqual(withoutMemos(known.contents()), withoutMemos(facts(command).contents()));
      }
    }
  }
  const broken = '{"certname":"c","environment":"e","producer":null,"producer_timestamp":"2036-05-30T12:00:00.000Z",';
  const wrong = submit('replace facts', `${broken}"values":{},"package_inventory":[["a","1"]]}`);
  for (const _ of [1, 2, 3]) assert.throws(() => new Memory().decode(wrong), CommandFailure);
});

test('decode: known parts are those of the certname, under whichever key an old version has it', () => {
  const memos = new Memory();
  for (const name of ['m', 'n', 'm']) {
    const { certname: _, ...rest } = catalogPayload({ name });
    const old = submit('replace catalog', rest, { version: 5, certname: 'm' });
    assert.equal((memos.decode(old) as CatalogCommand).hash, catalog(old).hash);
    const { certname: __, producer_timestamp, producer, ...values } = factsPayload({ name, values: { a: 1 } });
    const facts3 = submit('replace facts', { ...values, 'producer-timestamp': at(0) }, { version: 3, certname: 'm' });
    assert.equal((memos.decode(facts3) as FactsCommand).hash, facts(facts3).hash);
  }
});

test('decode: a known part does not hide what is wrong with the rest', () => {
  const memos = new Memory();
  memos.decode(submit('replace catalog', catalogPayload()));
  const wrong = submit('replace catalog', catalogPayload({ version: 5 }));
  assert.throws(() => memos.decode(wrong), /:version/);
  const future = submit('replace catalog', catalogPayload(), { version: 10 });
  assert.throws(() => memos.decode(future), /Unknown catalog version '10'/);
  const blocked = { ...SETTINGS, factsBlocklist: ['a'] };
  const payload = factsPayload({ values: { a: 1, b: 2 } });
  const all = memos.decode(submit('replace facts', payload)) as FactsCommand;
  const some = memos.decode(submit('replace facts', payload), blocked) as FactsCommand;
  assert.notEqual(all.hash, some.hash);
});

test('decode: numbers of any size in the place of names are refused as what they are', () => {
  const plain = JSON.stringify(factsPayload({ values: { a: 1 }, environment: 'E', certname: 'C' }));
  for (const number of ['12345678901234567890123', '1.0', '-0.0', '1e400', '5']) {
    for (const [key, name] of [
      ['environment', 'E'],
      ['certname', 'C'],
    ] as const) {
      const memos = new Memory();
      const command = submit('replace facts', plain.replace(`"${name}"`, number));
      for (let time = 0; time < 2; time++) {
        assert.throws(() => memos.decode(command), {
          name: CommandFailure.name,
          message: new RegExp(`:${key} `),
        });
      }
    }
  }
});

test('decode: a part of the wrong kind is refused, known parts or not', () => {
  const wrong: [Parameters<typeof submit>[0], object, RegExp][] = [
    ['replace facts', factsPayload({ values: { a: 1 }, package_inventory: {} as never }), /:package_inventory/],
    ['replace facts', factsPayload({ values: [] as never }), /:values/],
    ['replace catalog', catalogPayload({ resources: {} as never }), /:resources/],
  ];
  for (const [command, payload, text] of wrong) {
    const memos = new Memory();
    for (let time = 0; time < 2; time++) assert.throws(() => memos.decode(submit(command, payload as never)), text);
  }
  new Memory().decode(submit('replace catalog', catalogPayload({ edges: {} as never })));
});

test('decode: of several mistakes, and of parts that are there twice, parts tell what the whole payload does', () => {
  const outcome = (way: (command: QueuedCommand) => unknown, command: QueuedCommand): string => {
    try {
      return (way(command) as CatalogCommand | FactsCommand).hash;
    } catch (error) {
      return (error as Error).message;
    }
  };
  // More than is read at a time.
  const filler = 'x'.repeat(200_000);
  const bad = [resource({ title: 'Bad', tags: ['No Tag'] }), resource({ parameters: { filler } })];
  const { resources: _, ...catalogRest } = catalogPayload();
  const catalogText = JSON.stringify(catalogRest).slice(0, -1);
  const good = JSON.stringify([resource()]);
  const deep = `${'['.repeat(1000)}${']'.repeat(1000)}`;
  const { values: __, ...factsRest } = factsPayload();
  const factsText = JSON.stringify(factsRest).slice(0, -1);
  for (const [command, text] of [
    ['replace catalog', `${catalogText},"resources":${JSON.stringify(bad)},"resources":${good}}`],
    ['replace catalog', `${catalogText},"resources":${JSON.stringify([...bad, 'TRUE']).replace('"TRUE"', 'trae')}}`],
    ['replace catalog', `${catalogText},"resources":${JSON.stringify(bad)},"certname":[]}`],
    ['replace facts', `${factsText},"values":{"deep":${deep},"filler":"${filler}"},"values":{"a":1}}`],
  ] as const) {
    const queued = submit(command, text);
    assert.equal(
      outcome((one) => new Memory().decode(one), queued),
      outcome(decode, queued),
      text.slice(-80),
    );
  }
});

test('decode: place-holders cannot be forged', () => {
  const memos = new Memory();
  const base = JSON.stringify(factsPayload({ values: { a: 1 } }));
  const first = memos.decode(submit('replace facts', base)) as FactsCommand;
  const texts = [
    base.replace('}}', '},"values":"@0"}'),
    base.replace('}}', '},"values":"\\u00400"}'),
    base.replace('}}', '},"values":{"b":2}}'),
    base.replace('"producer":null', '"producer":"\\"values\\":{}"'),
    base.replace('"producer":null', '"producer":"@0"'),
  ];
  for (const text of texts) {
    const command = submit('replace facts', text);
    let plain: FactsCommand | string;
    try {
      plain = facts(command);
    } catch (error) {
      plain = (error as Error).message;
    }
    if (typeof plain === 'string') assert.throws(() => memos.decode(command), { message: plain });
    else assert.equal((memos.decode(command) as FactsCommand).hash, plain.hash);
  }
  assert.equal((memos.decode(submit('replace facts', base)) as FactsCommand).hash, first.hash);
});

test('decode: elements known from other nodes give the same hashes and bodies, the own certname wherever it stands', () => {
  const title = (i: number): string => `/etc/${i}, "quoted] \\ }`;
  for (const round of [0, 1]) {
    for (const certname of ['one.example.com', 'two.example.com', '"odd\\name"', 'class']) {
      const own = /^[a-z.]+$/.test(certname) ? [certname] : [];
      const payload = catalogPayload({
        certname,
        resources: [
          resource({ type: 'File', title: title(1), tags: ['file', ...own, 'class', 'a'] }),
          resource({
            type: 'File',
            title: title(2),
            tags: own,
            parameters: { host: certname, list: [certname, { [certname]: 1.0 }] },
          }),
          resource({ type: 'File', title: title(3 + round), tags: ['b'], parameters: { say: `x ${certname} y` } }),
          resource({ type: 'File', title: certname, tags: ['node', ...own] }),
        ],
        edges: [
          {
            source: { type: 'File', title: title(1) },
            target: { type: 'File', title: certname },
            relationship: 'before',
          },
          {
            source: { type: 'File', title: title(1) },
            target: { type: 'File', title: title(2) },
            relationship: 'contains',
          },
        ],
      });
      const command = submit('replace catalog', payload, { certname });
      const known = new Memory().decode(command) as CatalogCommand;
      const plain = catalog(command);
      assert.equal(known.hash, plain.hash);
      assert.deepEqual(withoutKnown(known), withoutKnown(plain));
    }
  }
});
