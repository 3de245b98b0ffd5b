import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Exchange } from '../../../server/http/exchange.ts';
import type { Logger } from '../../../server/log.ts';
import { createAnonymizer } from '../../../server/ops/archive/anonymizer.ts';
import { answerExport } from '../../../server/ops/archive/export.ts';
import { boundaryOf, fieldContents } from '../../../server/ops/archive/multipart.ts';
import { anonymizationProfiles } from '../../../server/ops/archive/profiles.ts';
import { readTar, tarEnd, tarFile } from '../../../server/ops/archive/tar.ts';
import { SubmissionRefused } from '../../../workers/types.ts';
import { silentLogs } from '../../support/logs.ts';
import { processorTime } from '../../support/processor-time.ts';
import { querySettings } from '../../support/query-settings.ts';
import { until } from '../../support/waiting.ts';
import { adminMounts, FakePool, request } from './support.ts';

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

const tarOf = (files: Readonly<Record<string, string>>): Buffer => {
  const parts: Uint8Array[] = [];
  for (const [name, text] of Object.entries(files)) parts.push(...tarFile(name, Buffer.from(text), 1_800_000_000));
  return Buffer.concat([...parts, tarEnd()]);
};

async function untar(bytes: Uint8Array, chunk = 700): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const entry of readTar(inChunks(bytes, chunk))) {
    if (entry.isFile) files[entry.name] = Buffer.from(await entry.contents(1e6)).toString();
  }
  return files;
}

test('tar: what is written is read back, long and foreign names included, in chunks of any size', async () => {
  const files = {
    'a.json': '{}',
    empty: '',
    [`${'long/'.repeat(60)}end.json`]: 'x'.repeat(511),
    'ünï/日本.json': 'y'.repeat(512),
    'last.json': 'z'.repeat(1025),
  };
  const archive = tarOf(files);
  for (const chunk of [1, 100, 512, 4096, archive.byteLength]) assert.deepEqual(await untar(archive, chunk), files);
});

test('tar: a name is as long as a certname may be', async () => {
  const files = { [`${'n'.repeat(1 << 20)}.json`]: '{}', after: '' };
  assert.deepEqual(await untar(tarOf(files), 65_536), files);
  const lengths = Array.from({ length: 1100 }, (_, index) => index);
  const ofAnyLength = Object.fromEntries(
    ['é', 'e'].flatMap((first) => lengths.map((length) => [first + 'n'.repeat(length), ''])),
  );
  assert.deepEqual(await untar(tarOf(ofAnyLength), 65_536), ofAnyLength);
});

test('tar: names split over the header, GNU long names and entries that are no files are understood', async () => {
  const header = Buffer.from(tarOf({ n: 'content' }).subarray(0, 1024));
  const patched = (change: (block: Buffer) => void, contents: Buffer): Buffer => {
    const block = Buffer.from(header.subarray(0, 512));
    change(block);
    block.fill(0x20, 148, 156);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return Buffer.concat([block, contents]);
  };
  const contents = header.subarray(512);
  const archive = Buffer.concat([
    patched((block) => block.write('puppetdb-bak/facts', 345), contents),
    patched(
      (block) => {
        block.write('L', 156);
        block.write('00000000005\0', 124);
      },
      Buffer.concat([Buffer.from('other'), Buffer.alloc(507)]),
    ),
    patched(() => {}, contents),
    patched((block) => {
      block.write('5', 156);
      block.write('00000000000\0', 124);
    }, Buffer.alloc(0)),
    tarEnd(),
  ]);
  assert.deepEqual(await untar(archive), { 'puppetdb-bak/facts/n': 'content', other: 'content' });
});

test('tar: entries that are not asked for are skipped, damage is noticed', async () => {
  const archive = tarOf({ a: 'x'.repeat(2000), b: 'y' });
  const namesIn = async (bytes: Uint8Array): Promise<string[]> => {
    const names: string[] = [];
    for await (const entry of readTar(inChunks(bytes, 300))) names.push(entry.name);
    return names;
  };
  assert.deepEqual(await namesIn(archive), ['a', 'b']);
  await assert.rejects(untar(archive.subarray(0, 1000)), {
    name: 'BadArchive',
    message: 'The archive ends within an entry',
  });
  const unsized = Buffer.concat([...entryOf('x', 'h', Buffer.from('10 size=a\n')), archive]);
  for (const read of [untar, namesIn])
    await assert.rejects(read(unsized), { message: 'An entry of the archive has no valid size' });
  await assert.rejects(untar(Buffer.alloc(600, 65)), { name: 'BadArchive', message: 'Input is not in the tar format' });
  for await (const entry of readTar(inChunks(archive, 300))) {
    await assert.rejects(entry.contents(1999), { message: "Archive entry 'a' is larger than 1999 bytes" });
    break;
  }
});

/** An entry of another type than files are. */
function entryOf(type: string, name: string, contents: Uint8Array): Uint8Array[] {
  const [header, ...rest] = [...tarFile(name, contents, 0)] as [Uint8Array, ...Uint8Array[]];
  const block = Buffer.from(header);
  block.write(type, 156);
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return [block, ...rest];
}

test('tar: what extended headers say beside names and sizes costs an entry nothing', async () => {
  const extended = (type: string, records: string): Uint8Array[] => entryOf(type, 'h', Buffer.from(records));
  const many = (first: number): string =>
    Array.from({ length: 5000 }, (_, index) => `10 ${(first + index).toString(36).padStart(5, '0')}=\n`).join('');
  const entry = [...tarFile('a', Buffer.from('x'), 0)];
  const names: string[] = [];
  const spent = processorTime();
  const archive = Buffer.concat([
    ...[0, 5000, 10_000, 15_000].flatMap((first) => extended('g', many(first))),
    ...extended('g', '12 path=all\n'),
    ...Array.from({ length: 1000 }, () => entry).flat(),
    ...extended('x', '12 path=one\n'),
    ...entry,
    ...extended('x', '7 path\n'),
    ...entry,
    // A size that is said of all counts, too.
    ...extended('g', '9 size=1\n'),
    ...tarFile('sized', Buffer.alloc(0), 0),
    Buffer.alloc(512, 'x'),
    tarEnd(),
  ]);
  for await (const { name } of readTar(inChunks(archive, 65_536))) names.push(name);
  assert.ok(spent() < 5000, `${spent()} ms`);
  assert.deepEqual(names.slice(-4), ['all', 'one', 'all', 'all']);
  assert.equal(names.length, 1003);
});

const form = (field: string, contents: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from('--b0\r\nContent-Disposition: form-data; name="note"\r\n\r\nnothing\r\n'),
    Buffer.from(`--b0\r\nContent-Disposition: form-data; name="${field}"; filename="x.tgz"\r\n\r\n`),
    contents,
    Buffer.from('\r\n--b0--\r\n'),
  ]);

test('form: the contents of a field come out whole, whatever the chunks, boundary look-alikes included', async () => {
  for (const text of ['', 'plain', '\r\n--b', 'a\r\n--b1\r\n\r\n', '\r\n\r\n--\r\n', 'x'.repeat(100)]) {
    const body = form('archive', Buffer.from(text));
    for (const size of [1, 2, 3, 7, 50, body.byteLength]) {
      const parts: Uint8Array[] = [];
      for await (const part of fieldContents(inChunks(body, size), 'b0', 'archive')) parts.push(Buffer.from(part));
      assert.equal(Buffer.concat(parts).toString(), text, `${JSON.stringify(text)} in chunks of ${size}`);
    }
  }
});

test('form: a missing field and a body that ends early are refused', async () => {
  const drain = async (body: Uint8Array) => {
    for await (const _ of fieldContents(inChunks(body, 10), 'b0', 'archive'));
  };
  await assert.rejects(drain(form('file', Buffer.from('x'))), { message: "The form has no field named 'archive'" });
  const cut = form('archive', Buffer.from('x'.repeat(50))).subarray(0, -30);
  await assert.rejects(drain(cut), { message: 'The multipart/form-data body is incomplete' });
  // Nor one whose name does not end, however it could be taken apart.
  const endless = `--b0\r\nContent-Disposition: form-data; name="${'\\a'.repeat(1000)}\r\n\r\nx\r\n--b0--\r\n`;
  await assert.rejects(drain(Buffer.from(endless)), { message: "The form has no field named 'archive'" });
  const long = 'x'.repeat(17 << 10);
  await assert.rejects(drain(Buffer.from(`--b0\r\nX: ${long}`)), { message: 'A part of the form has too long a head' });
  await assert.rejects(drain(Buffer.from(`--b0${long}`)), { message: 'The multipart/form-data body is malformed' });
  assert.equal(boundaryOf('multipart/form-data; charset=x; boundary="a b"'), 'a b');
  assert.equal(boundaryOf('application/json'), null);
});

function archive(answer?: FakePool['answer']) {
  const { mounts, ring, pool } = adminMounts({ clock: () => Date.parse('2026-11-21T00:41:07.240Z') }, answer);
  const post = async (contents: Uint8Array, field = 'archive', type = 'multipart/form-data; boundary=b0') => {
    const headers = { 'Content-Type': type };
    const { status, text } = await request(mounts, '/pdb/admin/v1/archive', { body: form(field, contents), headers });
    return [status, JSON.parse(text)];
  };
  return { ring, pool, mounts, post };
}

const time = '2026-11-20T00:00:00.000Z';
/** SHA-1 of the time as JSON text, quotes included. */
const timeHash = '7de891d335b61573dd9f4cc6376a68ff7fa06442';

const rows: Readonly<Record<string, readonly unknown[]>> = {
  '/catalogs': [
    {
      catalog_uuid: 'u',
      producer: 'p.example',
      hash: 'h',
      transaction_uuid: 't',
      producer_timestamp: time,
      environment: 'production',
      code_id: null,
      version: '1',
      certname: 'a.example',
      job_id: null,
      resources: {
        href: '/x',
        data: [
          {
            resource: 'r',
            type: 'File',
            title: '/etc/x',
            tags: ['file', 'a.example'],
            exported: false,
            file: null,
            line: null,
            parameters: { password: 's3cret', ensure: 'file', require: 'Class[Main]' },
          },
        ],
      },
      edges: {
        href: '/x',
        data: [
          {
            source_type: 'Class',
            source_title: 'Main',
            target_type: 'File',
            target_title: '/etc/x',
            relationship: 'contains',
          },
        ],
      },
    },
  ],
  '/factsets': [
    {
      certname: 'a.example',
      environment: 'production',
      hash: 'h',
      timestamp: time,
      producer: null,
      producer_timestamp: time,
      facts: {
        href: '/x',
        data: [
          { name: 'db_password', value: 'x' },
          { name: 'mem', value: { size: 7 } },
        ],
      },
    },
  ],
  '/catalog-inputs': [
    { certname: 'a.example', producer_timestamp: time, catalog_uuid: 'u', inputs: [['hiera', 'x::y']] },
  ],
};
const event = (title: string, status: string, message: string) => ({
  status,
  timestamp: '2026-11-19T23:58:20+00:00',
  resource_type: 'File',
  resource_title: title,
  property: 'ensure',
  corrective_change: null,
  new_value: 'file',
  old_value: 'absent',
  message,
  file: null,
  line: null,
  containment_path: ['Stage[main]'],
  containing_class: null,
  name: null,
});
const report = {
  certname: 'a.example',
  hash: 'h',
  receive_time: time,
  puppet_version: '8.4.0',
  type: 'plan',
  producer_timestamp: time,
  environment: 'production',
  metrics: { href: '/x', data: [{ category: 'time', name: 'file', value: 1.0 }] },
  logs: { href: '/x', data: [] },
  resource_events: {
    href: '/x',
    data: [event('/a', 'success', 'm1'), event('/b', 'skipped', 'm2'), event('/a', 'failure', 'm3')],
  },
};

const answers: FakePool['answer'] = ({ path, body }) => {
  const { include_facts_expiration: expiration } = JSON.parse(body ?? '{}');
  if (path === '/nodes' && expiration !== true) return { text: '[{"certname":"a.example"}]' };
  if (path === '/nodes') {
    return { text: JSON.stringify([{ certname: 'a.example', expires_facts: false, expires_facts_updated: time }]) };
  }
  // A number whose spelling must survive.
  if (path === '/reports') return { text: JSON.stringify([report]).replace('"value":1', '"value":1.0') };
  return { text: JSON.stringify(rows[path]) };
};

async function exported(query = '') {
  const { mounts, pool, ...rest } = archive(answers);
  const answer = await request(mounts, `/pdb/admin/v1/archive${query}`);
  return { ...rest, mounts, pool, answer, files: await untar(gunzipSync(answer.bytes)) };
}

test('export: the archive holds metadata first and then the payloads of every kind', async () => {
  const { answer, files } = await exported();
  assert.deepEqual([answer.status, answer.type], [200, 'application/octet-stream; charset=utf-8']);
  assert.equal(
    answer.headers.get('content-disposition'),
    'attachment; filename=puppetdb-export-2026-11-21T00:41:07.240Z.tgz',
  );
  assert.deepEqual(Object.keys(files), [
    'puppetdb-bak/export-metadata.json',
    `puppetdb-bak/configure_expiration/a.example-${timeHash}.json`,
    `puppetdb-bak/catalogs/a.example-${timeHash}.json`,
    `puppetdb-bak/reports/a.example-${timeHash}.json`,
    'puppetdb-bak/facts/a.example.json',
    `puppetdb-bak/catalog_inputs/a.example-${timeHash}.json`,
  ]);
  const [metadata, expiration, catalog, , facts, inputs] = Object.values(files).map((text) => JSON.parse(text));
  assert.deepEqual(metadata, {
    timestamp: '2026-11-21T00:41:07.240Z',
    command_versions: {
      configure_expiration: 1,
      replace_catalog: 9,
      store_report: 8,
      replace_facts: 5,
      replace_catalog_inputs: 1,
    },
  });
  assert.deepEqual(expiration, { certname: 'a.example', expire: { facts: false }, producer_timestamp: time });
  assert.deepEqual(
    [catalog.hash, catalog.job_id, catalog.resources],
    [
      undefined,
      null,
      [
        {
          type: 'File',
          title: '/etc/x',
          tags: ['file', 'a.example'],
          exported: false,
          parameters: { password: 's3cret', ensure: 'file', require: 'Class[Main]' },
        },
      ],
    ],
  );
  assert.deepEqual(catalog.edges, [
    {
      source: { type: 'Class', title: 'Main' },
      target: { type: 'File', title: '/etc/x' },
      relationship: 'contains',
    },
  ]);
  assert.deepEqual(facts, {
    certname: 'a.example',
    environment: 'production',
    producer_timestamp: time,
    producer: null,
    values: { db_password: 'x', mem: { size: 7 } },
  });
  assert.deepEqual(inputs, rows['/catalog-inputs']?.[0]);
});

test('export: metrics and logs that a report does not have are null', async () => {
  const bare = { ...report, metrics: { href: '/x', data: null }, logs: { href: '/x', data: null } };
  const { mounts } = archive((question) =>
    question.path === '/reports' ? { text: JSON.stringify([bare]) } : answers(question),
  );
  const { bytes } = await request(mounts, '/pdb/admin/v1/archive');
  const text = (await untar(gunzipSync(bytes)))[`puppetdb-bak/reports/a.example-${timeHash}.json`]!;
  const { metrics, logs } = JSON.parse(text);
  assert.deepEqual([metrics, logs], [null, null]);
});

test("export: a report's resources are put together from its events, numbers keep their spelling", async () => {
  const { files } = await exported();
  const text = files[`puppetdb-bak/reports/a.example-${timeHash}.json`]!;
  assert.match(text, /"value" : 1\.0\n/);
  const { hash, receive_time, resource_events, resources, metrics, logs, type } = JSON.parse(text);
  assert.deepEqual([hash, receive_time, resource_events, logs, type], [undefined, undefined, undefined, [], 'plan']);
  assert.deepEqual(metrics, [{ category: 'time', name: 'file', value: 1 }]);
  const head = {
    file: null,
    line: null,
    timestamp: '2026-11-19T23:58:20+00:00',
    resource_type: 'File',
    containment_path: ['Stage[main]'],
    corrective_change: null,
  };
  const kept = (status: string, message: string) => ({
    status,
    timestamp: '2026-11-19T23:58:20+00:00',
    property: 'ensure',
    corrective_change: null,
    new_value: 'file',
    old_value: 'absent',
    message,
    name: null,
  });
  assert.deepEqual(resources, [
    { ...head, resource_title: '/a', skipped: false, events: [kept('success', 'm1'), kept('failure', 'm3')] },
    { ...head, resource_title: '/b', skipped: true, events: [kept('skipped', 'm2')] },
  ]);
});

test('export: the resources that a report comes with are exported as they are', async () => {
  const resources = [{ resource_type: 'File', resource_title: '/unchanged', skipped: false, line: 7, events: [] }];
  const whole = { ...report, resources: { href: '/x', data: resources } };
  const { mounts } = archive((question) =>
    question.path === '/reports' ? { text: JSON.stringify([whole]) } : answers(question),
  );
  const { bytes } = await request(mounts, '/pdb/admin/v1/archive');
  const text = (await untar(gunzipSync(bytes)))[`puppetdb-bak/reports/a.example-${timeHash}.json`]!;
  assert.deepEqual(JSON.parse(text).resources, resources);
});

test('export: a payload that is short as it was sent is no long file, however deeply it nests', async () => {
  const deep = `${'{"a":'.repeat(900)}1${'}'.repeat(900)}`;
  const value = `[${Array(20).fill(deep).join()}]`;
  const [factset] = rows['/factsets']!;
  const { mounts } = archive((question) =>
    question.path === '/factsets'
      ? { text: JSON.stringify([factset]).replace('{"size":7}', value) }
      : answers(question),
  );
  const { bytes } = await request(mounts, '/pdb/admin/v1/archive');
  const text = (await untar(gunzipSync(bytes)))['puppetdb-bak/facts/a.example.json']!;
  assert.ok(text.includes(`"mem":${value}`));
});

test('export: an unknown profile is told in the log', async () => {
  const told: unknown[] = [];
  const log = Object.assign(Object.create(silentLogs().area('maintenance')) as Logger, {
    warn: (fields: unknown) => told.push(fields),
  });
  const { mounts } = adminMounts({ log }, answers);
  for (const profile of ['extreme', 'none', 'low']) {
    await request(mounts, `/pdb/admin/v1/archive?anonymization_profile=${profile}`);
  }
  assert.deepEqual(told, [{ profile: 'extreme' }]);
});

test('export: an unknown profile anonymises nothing', async () => {
  const [plain, unknown] = [await exported(), await exported('?anonymization_profile=extreme')];
  assert.deepEqual(unknown.files, plain.files);
});

test('export: full replaces names and values consistently, and what is left can be imported', async () => {
  const { files } = await exported('?anonymization_profile=full');
  const all = Object.values(files).join('\n') + Object.keys(files).join('\n');
  for (const word of ['a.example', 's3cret', '/etc/x', 'db_password', 'x::y', 'production', '"m1"', 'File[']) {
    assert.ok(!all.includes(word), word);
  }
  const payloads = Object.values(files).map((text) => JSON.parse(text));
  const [, expiration, catalog, , facts] = payloads;
  assert.equal(expiration.certname, catalog.certname);
  assert.equal(facts.certname, catalog.certname);
  assert.equal(catalog.edges[0].target.title, catalog.resources[0].title);
  assert.equal(catalog.edges[0].target.type, catalog.resources[0].type);
  const { type, title } = catalog.edges[0].source;
  assert.equal(catalog.resources[0].parameters.require, `${type}[${title}]`);
  assert.equal(catalog.resources[0].tags[0], catalog.resources[0].type.toLowerCase());
  assert.match(catalog.resources[0].tags[0], /^[a-z]+$/);
});

test('export: low and moderate keep what their rules keep', async () => {
  const low = Object.values((await exported('?anonymization_profile=low')).files).map((text) => JSON.parse(text));
  assert.notEqual(low[2].certname, 'a.example');
  const { password, ensure, ...others } = low[2].resources[0].parameters;
  assert.notEqual(password, 's3cret');
  assert.equal(typeof ensure, 'string');
  assert.notEqual(ensure, 'file');
  assert.deepEqual(others, { require: 'Class[Main]' });
  assert.equal(low[4].values.mem.size, 7);
  assert.notEqual(low[4].values.db_password, 'x');
  const moderate = Object.values((await exported('?anonymization_profile=moderate')).files).map((text) =>
    JSON.parse(text),
  );
  const [resource] = moderate[2].resources;
  assert.deepEqual([resource.type, resource.parameters.ensure], ['File', 'file']);
  assert.notEqual(resource.title, '/etc/x');
  assert.notEqual(resource.parameters.password, 's3cret');
});

test('export: low hides what is named like a secret, wherever it lies', () => {
  const anonymizer = createAnonymizer(anonymizationProfiles.get('low')!);
  const values = {
    plain: ['shown', { at: 'shown', API_Key: 'hidden' }],
    nested: { PassWord: 'hidden', list: [[{ token_secret: ['hidden'] }]], size: 'shown' },
    secrets: { id: 'hidden', hidden: { of: 'hidden' }, more: [{ hidden: 'hidden' }] },
    db_private: { pem: 'hidden' },
  };
  const facts = JSON.stringify(anonymizer('facts', { certname: 'a', values }));
  assert.doesNotMatch(facts, /hidden/);
  assert.equal(facts.match(/shown/g)?.length, 3);
  const parameters = { options: { db: 'hidden', list: [{ token: 'hidden' }] }, env: ['API_KEY=hidden'] };
  const resources = [{ type: 'File', title: 't', parameters }];
  assert.doesNotMatch(JSON.stringify(anonymizer('catalogs', { certname: 'a', resources })), /hidden/);
  const events = [{ property: 'config', new_value: { password: 'hidden' }, old_value: 'hidden', message: 'shown' }];
  const report = { certname: 'a', resources: [{ resource_type: 'File', resource_title: 't', events }] };
  assert.doesNotMatch(JSON.stringify(anonymizer('reports', report)), /hidden/);
});

test('export: a long value is replaced by one as long, in time that grows with its size', () => {
  const anonymizer = createAnonymizer(anonymizationProfiles.get('full')!);
  const shown = (value: string): string =>
    Object.values(anonymizer('facts', { certname: 'a', values: { key: value } })['values'] as object)[0];
  const long = 'k'.repeat(1 << 20);
  const spent = processorTime();
  const first = shown(long);
  assert.ok(spent() < 10_000);
  assert.equal(first.length, long.length);
  assert.equal(shown(long), first);
  assert.notEqual(shown(`${long.slice(1)}l`), first);
});

test('export: sources of logs are replaced word by word, whatever brackets are left open, in time that grows with their size', () => {
  const shown = (source: string, profile = 'full'): string => {
    const anonymizer = createAnonymizer(anonymizationProfiles.get(profile)!);
    const log = { message: 'm', source, tags: [], file: null, line: null };
    return (anonymizer('reports', { certname: 'a', logs: [log] })['logs'] as (typeof log)[])[0]!.source;
  };
  assert.match(shown('/Stage[main]/File[/etc/motd]'), /^\/[A-Z]\w+[^/]+\/[A-Z]\w+[^/]+$/);
  assert.doesNotMatch(shown('Exec[4711'), /4711/);
  const open = '['.repeat(1 << 17);
  const spent = processorTime();
  assert.equal(shown(open, 'low'), open);
  assert.ok(spent() < 2000);
});

test('export: nodes are asked for in batches and a failing query cuts the archive short', async () => {
  const names = Array.from({ length: 250 }, (_, index) => ({ certname: `n${index}` }));
  const { mounts, pool } = archive(({ path, body }) => {
    const isNames = path === '/nodes' && !body?.includes('expires_facts_updated');
    return { text: isNames ? JSON.stringify(names) : '[]' };
  });
  const { bytes } = await request(mounts, '/pdb/admin/v1/archive');
  assert.deepEqual(Object.keys(await untar(gunzipSync(bytes))), ['puppetdb-bak/export-metadata.json']);
  const asked = (wanted: string) => pool.requests.filter(({ path }) => path === wanted);
  assert.equal(asked('/catalogs').length, 3);
  assert.ok(
    asked('/reports').every(({ body }) => body?.includes('["null?","type",false]')),
    'for those of plans, too',
  );
  assert.ok(pool.settings.every((settings) => settings.timeoutMax === 0));
  pool.answer = () => ({ status: 500, text: 'broken' });
  await assert.rejects(request(mounts, '/pdb/admin/v1/archive'), { message: 'answer cut short' });
});

test('export: files that are on their way from the thread when the client leaves do no harm', async () => {
  const names = Array.from({ length: 60 }, (_, index) => ({ certname: `n${index}` }));
  // Enough work for the thread to be what the export waits for.
  const data = Array.from({ length: 3000 }, (_, index) => ({ name: `fact${index}`, value: randomUUID() }));
  const pool = new FakePool(({ path, body }) => {
    if (path === '/nodes') return { text: body?.includes('expires_facts_updated') ? '[]' : JSON.stringify(names) };
    if (path !== '/factsets') return { text: '[]' };
    return {
      text: JSON.stringify(names.map((name) => ({ ...rows['/factsets']![0]!, ...name, facts: { href: '/x', data } }))),
    };
  });
  // A row or two at a time.
  pool.partBytes = 1 << 18;
  pool.creditMax = 1 << 20;
  let leave = (): void => {};
  let aborted = false;
  let bytes = 0;
  const leaveLate = (): void => {
    // Time for the thread to be through with all that it has, so that it comes at once.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    aborted = true;
    leave();
  };
  const exchange = {
    queryString: '',
    get aborted() {
      return aborted;
    },
    onAbort: (callback: () => void) => void (leave = callback),
    stream: () => ({
      write: (chunk: Uint8Array) => {
        bytes += chunk.byteLength;
        if (!aborted && bytes >= 100_000) setTimeout(leaveLate, 5);
        return true;
      },
      drained: async () => {},
      end: () => assert.fail('the export is complete'),
      abort: () => {},
    }),
  } as unknown as Exchange;
  const log = silentLogs().area('maintenance');
  await answerExport(exchange, { asker: { pool, querySettings: () => querySettings }, clock: Date.now, log });
  assert.ok(aborted);
  // What came too late for the export.
  await pause(300);
});

test('import: what was exported is submitted again, in the order of the archive', async () => {
  const { answer, files, ring, post } = await exported();
  assert.deepEqual(await post(answer.bytes), [200, { ok: true }]);
  assert.deepEqual(
    ring.submissions.map(({ envelope: { command, version, certname, producerTimestamp, gzip, size } }) => [
      command,
      version,
      certname,
      producerTimestamp,
      gzip,
      size,
    ]),
    [
      ['configure expiration', 1],
      ['replace catalog', 9],
      ['store report', 8],
      ['replace facts', 5],
      ['replace catalog inputs', 1],
    ].map(([command, version]) => [command, version, 'a.example', null, false, null]),
  );
  assert.equal(Buffer.from(ring.submissions[1]!.body).toString(), Object.values(files)[2]);
  // The ring takes the memory: it must not be shared with anything.
  for (const { body } of ring.submissions) assert.equal(body.buffer.byteLength, body.byteLength);
  assert.equal(new Set(ring.submissions.map(({ envelope }) => envelope.uuid)).size, 5);
});

const metadata = (versions: unknown = { replace_facts: 4 }) => ({
  'puppetdb-bak/export-metadata.json': JSON.stringify({ command_versions: versions }),
});

test('import: versions come from the metadata, unknown entries are skipped', async () => {
  const { ring, post } = archive();
  const files = {
    README: 'hello',
    ...metadata(),
    'puppetdb-bak/unknown/x.json': '{}',
    'puppetdb-bak/catalogs/no-hash.json': '{}',
    'puppetdb-bak/facts/a-b.json': '{"a":1}',
    'puppetdb-bak/facts/folder/c.json': '{}',
  };
  // So are folders and links that are called like commands.
  const others = ['2', '5'].flatMap((type) => entryOf(type, 'puppetdb-bak/facts/other.json', Buffer.alloc(0)));
  const ended = Buffer.concat([tarOf(files).subarray(0, -tarEnd().length), ...others, tarEnd()]);
  assert.deepEqual(await post(gzipSync(ended)), [200, { ok: true }]);
  assert.deepEqual(
    ring.submissions.map(({ envelope: { certname, version } }) => [certname, version]),
    [
      ['a-b', 4],
      ['folder/c', 4],
    ],
  );
});

test('import: a file that is not JSON is for the actor to refuse, and the rest is imported', async () => {
  const { ring, post } = archive();
  const files = {
    ...metadata(),
    'puppetdb-bak/facts/a.json': '{"a":',
    'puppetdb-bak/facts/b.json': '',
    'puppetdb-bak/facts/c.json': '{}',
  };
  assert.deepEqual(await post(gzipSync(tarOf(files))), [200, { ok: true }]);
  assert.deepEqual(
    ring.submissions.map(({ envelope: { certname } }) => certname),
    ['a', 'b', 'c'],
  );
});

test('import: bad archives are refused with a reason, and what was queued before is told', async () => {
  const { ring, post } = archive();
  const refuses = async (contents: Uint8Array, error: string, ...form: [string?, string?]) =>
    assert.deepEqual(await post(contents, ...form), [400, { error, msg: error }]);
  const facts = { 'puppetdb-bak/facts/a.json': '{}' };
  const good = gzipSync(tarOf({ ...metadata(), ...facts }));
  await refuses(good, "The form has no field named 'archive'", 'file');
  await refuses(
    good,
    "An archive is imported as the file field 'archive' of multipart/form-data",
    'archive',
    'application/json',
  );
  await refuses(tarOf(metadata()), 'Input is not in the .gz format');
  await refuses(
    gzipSync(tarOf({ ...facts, ...metadata() })),
    "The archive has 'puppetdb-bak/facts/a.json' before its metadata file 'puppetdb-bak/export-metadata.json', which must be " +
      'the first: pack it again in that order',
  );
  await refuses(gzipSync(Buffer.alloc(2000, 66)), 'Input is not in the tar format');
  await refuses(
    gzipSync(tarOf(facts)),
    "Unable to find export metadata file 'puppetdb-bak/export-metadata.json' in archive",
  );
  for (const text of ['{', `\ufeff${JSON.stringify({ command_versions: {} })}`]) {
    await refuses(
      gzipSync(tarOf({ 'puppetdb-bak/export-metadata.json': text })),
      "The metadata file 'puppetdb-bak/export-metadata.json' is not JSON",
    );
  }
  await refuses(
    gzipSync(tarOf({ 'puppetdb-bak/export-metadata.json': '{}' })),
    "The metadata file 'puppetdb-bak/export-metadata.json' has no command_versions",
  );
  for (const version of ['1e400', '-1', '0', '1.5', '4294967296', '"5"', 'true']) {
    const text = `{"command_versions": {"replace_facts": ${version}}}`;
    await refuses(
      gzipSync(tarOf({ 'puppetdb-bak/export-metadata.json': text, ...facts })),
      'The archive names no valid version of replace_facts',
    );
  }
  await refuses(gzipSync(tarOf({ ...metadata(), '../x': '' })), "The archive has an entry with the unsafe name '../x'");
  await refuses(
    gzipSync(tarOf({ ...metadata(), [`puppetdb-bak/facts/${'n'.repeat(1 << 20)}.json`]: '{}' })),
    'The archive has an entry of a certname of 1048576 characters, which is too long',
  );
  assert.deepEqual(ring.submissions, []);
  await refuses(
    gzipSync(tarOf({ ...metadata(), ...facts, 'puppetdb-bak/facts/big.json': 'x'.repeat(100_001) })),
    "Archive entry 'puppetdb-bak/facts/big.json' is larger than 100000 bytes, the decompressed-max-size of this server (1 commands before it were queued)",
  );
  // Whether the entries before the damage got into the queue is a matter of timing.
  const [status, { error }] = await post(good.subarray(0, -20));
  assert.equal(status, 400);
  assert.match(error, /^The archive is damaged: unexpected end of file/);
});

test('import: what follows the end of the tar is read, and a gzip that is cut or changed behind it is damaged', async () => {
  const { ring, post } = archive();
  const tar = tarOf({ ...metadata(), 'puppetdb-bak/facts/a.json': '{}' });
  for (const zeros of [0, 20_000, 32_768, 1 << 20]) {
    assert.equal((await post(gzipSync(Buffer.concat([tar, Buffer.alloc(zeros)]))))[0], 200, `${zeros} zeros`);
  }
  assert.equal(ring.submissions.length, 4);
  const good = gzipSync(tar);
  for (const zeros of [1, 500, 500_000]) {
    const padded = Buffer.concat([good, Buffer.alloc(zeros)]);
    assert.deepEqual(await post(padded), [200, { ok: true }], `${zeros} zeros behind the gzip`);
  }
  assert.equal(ring.submissions.length, 7);
  const changed = Buffer.from(good);
  changed[good.length - 6]! ^= 1;
  for (const bad of [good.subarray(0, -4), changed, Buffer.concat([good, gzipSync('x').subarray(0, -3)])]) {
    const [status, { error }] = await post(bad);
    assert.equal(status, 400);
    assert.match(error, /^The archive is damaged: /);
  }
  const empty = await post(Buffer.alloc(0));
  assert.equal(empty[1].error, 'Input is not in the .gz format');
});

test('import: an archive that unpacks beyond reason is refused', async () => {
  const { post } = archive();
  const bomb = gzipSync(tarOf({ 'puppetdb-bak/other': 'x'.repeat(50 * 1024 * 1024) }), { level: 9 });
  const [status, { error }] = await post(bomb);
  assert.deepEqual([status, error], [400, 'The archive unpacks to more than 300 times its size, commands not counted']);
});

test('import: commands may unpack to any number of times the size of the archive', async () => {
  const { ring, post } = archive();
  const facts = Array.from({ length: 400 }, (_, i) => [`puppetdb-bak/facts/n${i}.json`, ' '.repeat(100_000)]);
  const packed = gzipSync(tarOf({ ...metadata(), ...Object.fromEntries(facts) }), { level: 9 });
  assert.ok(packed.length * 300 + 16 * 1024 * 1024 < 400 * 100_000);
  assert.deepEqual(await post(packed), [200, { ok: true }]);
  assert.equal(ring.submissions.length, 400);
});

test('import: names of nodes that would be paths, or have line ends, are names', async () => {
  const { ring, post } = archive();
  const names = ['x/../y', '../../z', '/r', 'a\nb', '..'];
  const files = names.flatMap((name) => [
    [`puppetdb-bak/facts/${name}.json`, '{}'],
    [`puppetdb-bak/reports/${name}-${'0'.repeat(40)}.json`, '{}'],
  ]);
  assert.deepEqual(await post(gzipSync(tarOf({ ...metadata(), ...Object.fromEntries(files) }))), [200, { ok: true }]);
  assert.deepEqual(
    ring.submissions.map(({ envelope }) => envelope.certname),
    names.flatMap((name) => [name, name]),
  );
});

test('import: a full queue is waited for, a stopping one is not', async () => {
  const { ring, post } = archive();
  let refusals = 2;
  ring.onSubmit = () => {
    if (refusals-- > 0) throw new SubmissionRefused('full', 'queue is full', 0.01);
  };
  const contents = gzipSync(tarOf({ ...metadata(), 'puppetdb-bak/facts/a.json': '{}' }));
  assert.deepEqual(await post(contents), [200, { ok: true }]);
  assert.equal(ring.submissions.length, 1);
  ring.onSubmit = () => {
    throw new SubmissionRefused('stopping', 'going down', 5);
  };
  assert.deepEqual(await post(contents), [503, { error: 'going down', msg: 'going down' }]);
});

test('import: the log tells now and then how far it is, also while the clock is set back', async (t) => {
  const told: unknown[] = [];
  const log = Object.assign(Object.create(silentLogs().area('maintenance')) as Logger, {
    info: (_fields: unknown, text: string) => told.push(text),
  });
  let time = Date.now();
  let passed = performance.now();
  t.mock.method(performance, 'now', () => (passed += 6000));
  const { mounts } = adminMounts({ log, clock: () => (time -= 1000) });
  const contents = gzipSync(tarOf({ ...metadata(), 'puppetdb-bak/facts/a.json': randomBytes(4000).toString('hex') }));
  const headers = { 'Content-Type': 'multipart/form-data; boundary=b0' };
  const { status } = await request(mounts, '/pdb/admin/v1/archive', { body: form('archive', contents), headers });
  assert.equal(status, 200);
  assert.ok(told.length > 1);
  assert.deepEqual(told.slice(0, -1), Array(told.length - 1).fill('Importing an archive'));
  assert.equal(told.at(-1), 'Finished importing an archive');
});

test('import: a refused one may come again in a while, but not to a server that stops', async () => {
  const { ring, mounts } = archive();
  const body = form('archive', gzipSync(tarOf({ ...metadata(), 'puppetdb-bak/facts/a.json': '{}' })));
  const headers = { 'Content-Type': 'multipart/form-data; boundary=b0' };
  for (const [reason, seconds, told] of [
    ['unavailable', 4.2, '5'],
    ['unavailable', 0, '1'],
    ['stopping', 5, undefined],
  ] as const) {
    ring.refusal = new SubmissionRefused(reason, 'no', seconds);
    const refused = await request(mounts, '/pdb/admin/v1/archive', { body, headers });
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, told]);
  }
});

test('import: a refusal in the middle tells how many commands were queued before it', async () => {
  const { ring, post } = archive();
  ring.onSubmit = () => {
    if (ring.submissions.length === 3) throw new SubmissionRefused('stopping', 'going down', 5);
  };
  const files = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`puppetdb-bak/facts/n${i}.json`, '{}']));
  const answer = await post(gzipSync(tarOf({ ...metadata(), ...files })));
  const error = 'going down (3 commands before it were queued)';
  assert.deepEqual(answer, [503, { error, msg: error }]);
});

test('archives: so many imports, and so many exports, are at work at the same time', async () => {
  const { ring, pool, mounts, post } = archive();
  const going: (() => void)[] = [];
  ring.onSubmit = () => new Promise((resolve) => going.push(resolve));
  const one = gzipSync(tarOf({ ...metadata(), 'puppetdb-bak/facts/n.json': '{}' }));
  const imports = Array.from({ length: 4 }, () => post(one));
  await until('they wait for the queue', () => going.length === 4);
  const [status, body] = await post(one);
  assert.deepEqual([status, body.error.startsWith('there are 4 of these at work')], [503, true]);
  pool.answer = () => ({ text: '[', hangs: true });
  for (let n = 0; n < 4; n++) void request(mounts, '/pdb/admin/v1/archive');
  await until('they wait for answers', () => pool.requests.length === 4);
  const refused = await request(mounts, '/pdb/admin/v1/archive');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '30']);
  for (const go of going) go();
  for (const answer of await Promise.all(imports)) assert.equal(answer[0], 200);
  ring.onSubmit = () => {};
  assert.equal((await post(one))[0], 200);
});

test('import: once a command could not be queued no further ones are', async () => {
  const { ring, post } = archive();
  let asked = 0;
  ring.onSubmit = () => {
    if (++asked === 3) throw new SubmissionRefused('unavailable', 'no room', 5);
  };
  const files = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`puppetdb-bak/facts/n${i}.json`, '{}']));
  assert.equal((await post(gzipSync(tarOf({ ...metadata(), ...files }))))[0], 503);
  assert.ok(asked < 100, `${asked} were submitted`);
});

test('import: no more commands are under way than the bound allows', async () => {
  const { ring, post } = archive();
  let under = 0;
  let most = 0;
  ring.onSubmit = async () => {
    most = Math.max(most, ++under);
    await new Promise((resolve) => setTimeout(resolve, 1));
    under--;
  };
  const files = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [`puppetdb-bak/facts/n${index}.json`, '{}']),
  );
  assert.deepEqual(await post(gzipSync(tarOf({ ...metadata(), ...files }))), [200, { ok: true }]);
  assert.equal(ring.submissions.length, 300);
  assert.ok(most > 1 && most <= 64, `${most} at a time`);
});

test('summary: every member is there, figures come from queries', async () => {
  const { mounts } = archive(({ api, path, body }) => {
    const { query, include_total: total } = JSON.parse(body ?? '{}');
    const text = JSON.stringify(query ?? null);
    if (total === true) return { text: '[{"count":1}]', headers: [['X-Records', '6']] };
    if (text.includes('group_by')) return { text: '[{"count":1},{"count":3}]' };
    if (api === 'internal') return { text: path === '/report-sizes/metrics' ? '[9,null,5]' : '[null]' };
    if (path === '/fact-paths') return { text: '[{"path":["a"]},{"path":["a","b"]},{"path":["c","d"]}]' };
    return { text: text.includes('count') ? '[{"count":5}]' : '[]' };
  });
  const { status, text } = await request(mounts, '/pdb/admin/v1/summary-stats', { method: 'PUT' });
  const stats = JSON.parse(text);
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(stats).sort(), [
    'database_usage',
    'fact_path_counts_by_depth',
    'file_resources_per_catalog',
    'file_resources_per_catalog_with_source',
    'index_usage',
    'node_activity',
    'num_distinct_edges_source_target',
    'num_resources_per_file',
    'num_resources_per_node',
    'report_log_size_dist',
    'report_metric_size_dist',
    'table_usage',
    'version',
  ]);
  assert.deepEqual(stats.node_activity, [{ count: 5, active: true }]);
  assert.deepEqual(stats.fact_path_counts_by_depth, [
    { depth: 0, count: 1 },
    { depth: 1, count: 2 },
  ]);
  assert.deepEqual(stats.num_distinct_edges_source_target, [{ count: 6 }]);
  const [{ quantiles }] = stats.num_resources_per_node;
  assert.deepEqual([quantiles.length, quantiles[0], quantiles[10], quantiles[20]], [21, 1, 2, 3]);
  const [{ quantiles: sizes }] = stats.report_metric_size_dist;
  assert.deepEqual([sizes[0], sizes[10], sizes[20]], [5, 7, 9]);
  assert.deepEqual(stats.report_log_size_dist, [{ quantiles: null }]);
});
