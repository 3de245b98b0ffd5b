// Input that means harm, or would if somebody trusted it: the server answers everything in time with a status that says what
// is wrong, its log shows nothing that nobody expected, and the data of a node that is not meant stay as they are.
//
//   npm run fuzz         the long run: ten minutes; MUSTER_FUZZ_SECONDS=... for another time
//   MUSTER_SEED=...      the same inputs again

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { checkQuiet } from '../simulation/checks.ts';
import { checkStore } from '../support/check-store.ts';
import { replaceCatalog, replaceFacts, storeReport, timeText } from '../support/commands.ts';
import { testNumber, testSeed } from '../support/random.ts';
import { RawClient } from '../support/raw-client.ts';
import { type Answer, type Ask, TestServer } from '../support/server.ts';
import { pause, until } from '../support/waiting.ts';

import {
  adminBody,
  archiveForm,
  astText,
  fittingAst,
  type HostileCommand,
  hostileCommand,
  metricsBody,
  metricsTarget,
  pqlText,
  prototypeNames,
  queryTarget,
  rawRequest,
} from './generators.ts';

const DAY = 86_400_000;
const WITNESS = 'witness.example.com';
/** Longest time one answer may take. What is allowed is a second; the rest is for busy machines. */
const HANG_MS = 5000;
/** Longest time that one request may hold up others; again with room for busy machines. */
const HELD_UP_MS = 2500;
const JSON_HEADERS = { 'Content-Type': 'application/json' };

/** A node whose data nobody touches, as every route shows them. */
async function witness(server: TestServer): Promise<string> {
  const filter = ['=', 'certname', WITNESS];
  const paths = ['nodes', 'facts', 'factsets', 'catalogs', 'resources', 'edges', 'reports', 'events', 'inventory'];
  const answers = await Promise.all(paths.map((path) => server.query(path, filter)));
  return JSON.stringify(answers);
}

async function addWitness(server: TestServer): Promise<string> {
  const time = Date.now() - DAY;
  await server.apply(replaceFacts(WITNESS, 11, time));
  await server.apply(replaceCatalog(WITNESS, 11, time));
  await server.apply(storeReport(WITNESS, 11, time));
  const text = await witness(server);
  assert.ok(text.length > 5000);
  return text;
}

/** How many answers of each status there were since this was last emptied. */
const statuses = new Map<number, number>();
let slowest = { ms: 0, path: '', body: '' };

/** A request within the time; fails on what only a defect would answer. */
async function ask(server: TestServer, path: string, options: Ask = {}): Promise<Answer> {
  const start = performance.now();
  const answer = await server.ask(path, { timeout: HANG_MS, ...options });
  const ms = performance.now() - start;
  if (ms > slowest.ms) slowest = { ms, path, body: String(options.body ?? '') };
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  assert.ok(answer.status < 500 || answer.status === 503, `${answer.status} ${answer.text.slice(0, 1000)}`);
  return answer;
}

const post = (
  server: TestServer,
  path: string,
  body: string | Uint8Array,
  headers: Ask['headers'] = {},
): Promise<Answer> => ask(server, path, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body });

/** Submits and waits until the command has been processed or refused. */
async function submit(
  server: TestServer,
  { command, version, certname, body }: HostileCommand,
  headers: Ask['headers'] = {},
): Promise<Answer> {
  const parameters = new URLSearchParams({
    command: command.replaceAll(' ', '_'),
    version: String(version),
    certname,
    secondsToWaitForCompletion: '4',
  });
  const answer = await post(server, `/pdb/cmd/v1?${parameters}`, body, headers);
  assert.ok([200, 400, 413, 503].includes(answer.status), `${answer.status} ${answer.text}`);
  if (answer.status === 503) {
    const { processed, timed_out: late } = JSON.parse(answer.text) as Record<string, unknown>;
    assert.deepEqual({ processed, late }, { processed: true, late: false }, answer.text);
  }
  return answer;
}

const facts = (certname: string, values: string, time = Date.now() - DAY): HostileCommand => ({
  command: 'replace facts',
  version: 5,
  certname,
  body: Buffer.from(
    `{"certname":${JSON.stringify(certname)},"environment":"production","producer":"x","producer_timestamp":"${timeText(time)}","values":${values}}`,
  ),
});

test('hostile: fuzzed requests, queries, commands and metrics', async (t) => {
  const seconds = testNumber('MUSTER_FUZZ_SECONDS', 0);
  const server = await TestServer.start(t, {
    // Retries of what cannot be unpacked are not waited for.
    args: ['--regex-budget', '1s', '--query-timeout-default', '3', '--log-level', 'warn'],
  });
  const before = await addWitness(server);
  const until = Date.now() + seconds * 1000;
  let seed = testSeed('hostile');
  let inputs = 0;

  /** Tries some inputs, shrinks what fails, and looks at the witness afterwards. */
  const fuzz = async <T>(
    name: string,
    inputsMax: number,
    arbitrary: fc.Arbitrary<T>,
    one: (input: T) => Promise<void>,
  ): Promise<void> => {
    await t.test(`fuzz: ${name}`, async (t) => {
      statuses.clear();
      slowest = { ms: 0, path: '', body: '' };
      const property = fc.asyncProperty(arbitrary, async (input) => {
        inputs++;
        await one(input);
        assert.ok(server.running, 'the server is gone');
      });
      await fc.assert(property, { seed, numRuns: inputsMax, endOnFailure: seconds > 0, includeErrorInReport: true });
      t.diagnostic(
        `${[...statuses].map(([status, count]) => `${count} x ${status}`).join(', ')}; the slowest answer took ` +
          `${Math.round(slowest.ms)} ms: ${`${slowest.path} ${slowest.body}`.slice(0, 300)}`,
      );
      assert.equal(await witness(server), before, 'another node has changed');
      checkQuiet(server, /moved to the dead letters/);
    });
  };

  do {
    await fuzz('bytes that are nearly HTTP', 150, rawRequest, async (bytes) => {
      const client = await RawClient.open(server.port);
      client.send(bytes);
      client.socket.end();
      const received = await client.closed(HANG_MS);
      client.close();
      if (received === '') return;
      assert.match(received, /^HTTP\/1\.1 [1-4]\d\d |^HTTP\/1\.1 (501|503|505) /, received.slice(0, 500));
      const head = received.slice(0, received.indexOf('\r\n\r\n'));
      assert.doesNotMatch(head, /^x-injected:/im);
    });
    await fuzz('targets of the query API', 300, queryTarget, async (target) => {
      await ask(server, target);
    });
    await fuzz(
      'queries as JSON',
      400,
      fc.tuple(fc.constantFrom('', 'nodes', 'facts', 'resources', 'events', 'reports'), astText),
      async ([route, text]) => {
        await post(server, `/pdb/query/v4${route === '' ? '' : `/${route}`}`, `{"query":${text}}`);
      },
    );
    await fuzz('queries that are nearly right', 400, fittingAst, async (text) => {
      await post(server, '/pdb/query/v4', `{"query":${text}}`);
    });
    await fuzz('queries as text', 300, pqlText, async (text) => {
      await post(server, '/pdb/query/v4', JSON.stringify({ query: text }));
    });
    await fuzz('commands', 300, hostileCommand, async (command) => {
      if (command.certname === WITNESS) return;
      await submit(server, command);
    });
    await fuzz('commands in one body', 80, hostileCommand, async ({ command, version, body }) => {
      const head = Buffer.from(`{"command":${JSON.stringify(command)},"version":${version},"payload":`);
      const answer = await post(server, '/pdb/cmd/v1', Buffer.concat([head, body, Buffer.from('}')]));
      assert.ok([200, 400].includes(answer.status), `${answer.status} ${answer.text}`);
    });
    await fuzz(
      'packed commands, damaged',
      100,
      fc.tuple(hostileCommand, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat()),
      async ([command, share, at]) => {
        const packed = gzipSync(command.body);
        const body = Uint8Array.from(packed.subarray(0, Math.ceil(packed.length * share)));
        if (at % 3 === 0 && body.length > 0) body[at % body.length]! ^= 1 << (at % 8);
        await submit(server, { ...command, body }, { 'Content-Encoding': 'gzip' });
      },
    );
    await fuzz('targets of the metrics', 200, metricsTarget, async (target) => {
      await ask(server, target);
    });
    await fuzz('bodies of the metrics', 200, metricsBody, async (body) => {
      await post(server, '/metrics/v2', body);
    });
    await fuzz('administration', 100, adminBody, async (body) => {
      await post(server, '/pdb/admin/v1/cmd', body);
    });
    const around = readdirSync(dirname(server.dir)).sort();
    await fuzz('archives', 150, archiveForm, async (body) => {
      const headers = { 'Content-Type': 'multipart/form-data; boundary=fuzz' };
      const answer = await post(server, '/pdb/admin/v1/archive', body, headers);
      assert.ok([200, 400].includes(answer.status), `${answer.status} ${answer.text}`);
    });
    assert.deepEqual(readdirSync(dirname(server.dir)).sort(), around, 'something was unpacked');
    assert.equal(existsSync('/tmp/muster-fuzz') || existsSync('/tmp/muster-fuzz.json'), false);
    seed++;
  } while (Date.now() < until);

  t.diagnostic(`${inputs} inputs`);
  // What waits for another attempt waits for an hour: only the rest must be done.
  assert.equal(await server.stop(), 0);
  await server.start();
  assert.equal(await witness(server), before);
  assert.equal(await server.stop(), 0);
  const problems = (await checkStore(server.dir)).filter((text) => !/commands wait for another attempt/.test(text));
  assert.deepEqual(problems, []);
});

test('hostile: names of prototypes are names of facts, parameters and tags like any other', async (t) => {
  const server = await TestServer.start(t);
  const before = await addWitness(server);
  const certname = 'proto.example.com';
  const members = prototypeNames.map(
    (name) => `${JSON.stringify(name)}:{"of":${JSON.stringify(name)},"__proto__":[1]}`,
  );
  const values = `{${members.join(',')}}`;
  assert.equal((await submit(server, facts(certname, values))).status, 200);
  const parameters = `{${prototypeNames.map((name) => `${JSON.stringify(name)}:"a ${name}"`).join(',')}}`;
  const time = timeText(Date.now() - DAY);
  const catalog = `{"certname":"${certname}","version":"1","environment":"constructor","transaction_uuid":null,"catalog_uuid":null,
    "code_id":null,"job_id":null,"producer":"__proto__","producer_timestamp":"${time}","edges":[],"resources":[
    {"type":"Proto","title":"__proto__","exported":false,"file":null,"line":null,"tags":["__proto__","constructor","tostring"],"parameters":${parameters}}]}`;
  const body = Buffer.from(catalog);
  assert.equal((await submit(server, { command: 'replace catalog', version: 9, certname, body })).status, 200);

  const text = async (route: string, query: unknown): Promise<string> => {
    const answer = await post(server, `/pdb/query/v4${route}`, JSON.stringify({ query }));
    assert.equal(answer.status, 200, answer.text);
    return answer.text;
  };
  for (const name of prototypeNames) {
    const value = `{"of":"${name}","__proto__":[1]}`;
    const own = ['=', 'certname', certname];
    const rows = await text('/facts', ['extract', ['name', 'value'], ['and', own, ['=', 'name', name]]]);
    assert.ok(rows.includes(value), `fact ${name}: ${rows}`);
    assert.equal((JSON.parse(rows) as unknown[]).length, 1, rows);
    assert.equal(await text('/facts', ['and', ['=', 'certname', WITNESS], ['=', 'name', name]]), '[]');
    const dotted = await text('/inventory', ['extract', ['certname'], ['=', `facts.${name}.of`, name]]);
    assert.deepEqual(JSON.parse(dotted), [{ certname }], `inventory by facts.${name}.of`);
    const found = await text('/resources', ['extract', ['title'], ['=', ['parameter', name], `a ${name}`]]);
    assert.deepEqual(JSON.parse(found), [{ title: '__proto__' }], `resources by parameter ${name}`);
    const contents = await text('/fact-contents', ['extract', ['value'], ['and', own, ['=', 'path', [name, 'of']]]]);
    assert.deepEqual(JSON.parse(contents), [{ value: name }], `fact contents of ${name}`);
    assert.equal(await text('/resources', ['and', ['=', 'certname', WITNESS], ['=', 'tag', name]]), '[]');
  }
  const tagged = await text('/resources', ['extract', ['title', 'tags'], ['=', 'tag', '__proto__']]);
  assert.equal((JSON.parse(tagged) as unknown[]).length, 1);
  const whole = await text('/resources', ['=', 'certname', certname]);
  for (const name of prototypeNames) assert.ok(whole.includes(`"${name}":"a ${name}"`), `${name}: ${whole}`);
  // Statuses of events are any text too, and none of these is one that is counted.
  const report = storeReport(certname, 7, Date.now() - DAY);
  const counted = async (): Promise<unknown> =>
    JSON.parse(
      (await ask(server, `/pdb/query/v4/event-counts?summarize_by=certname&query=["=","certname","${certname}"]`)).text,
    );
  for (const [i, name] of prototypeNames.entries()) {
    const payload = report.payload
      .replaceAll('"status":"success"', `"status":"${name}"`)
      .replace('"configuration_version":"7"', `"configuration_version":"${i}"`);
    assert.ok(payload.includes(`"status":"${name}"`));
    await server.apply({ ...report, payload });
    const rows = await server.query('events', ['and', ['=', 'certname', certname], ['=', 'status', name]]);
    assert.ok(rows.length > 0, `events of status ${name}`);
  }
  assert.deepEqual(await counted(), [
    { failures: 0, skips: 0, successes: 0, noops: 0, subject_type: 'certname', subject: { title: certname } },
  ]);
  // Fields, routes, parameters and beans of such names do not exist.
  for (const name of prototypeNames) {
    for (const [route, query] of [
      ['/nodes', ['=', name, 'x']],
      ['/nodes', ['extract', [name]]],
      ['/nodes', [name, 'certname', 'x']],
      ['/nodes', ['extract', [['function', name]]]],
      ['', ['from', name]],
      ['', `${name} { }`],
      ['/events', ['in', 'certname', ['extract', 'certname', [name, ['=', 'certname', 'x']]]]],
    ] as const) {
      const answer = await post(server, `/pdb/query/v4${route}`, JSON.stringify({ query }));
      assert.equal(answer.status, 400, `${route} ${JSON.stringify(query)}: ${answer.status} ${answer.text}`);
    }
    const distinct = new URLSearchParams({
      query: JSON.stringify(['in', 'certname', ['extract', 'certname', [name, ['=', 'certname', 'x']]]]),
      distinct_resources: 'true',
      distinct_start_time: '0',
      distinct_end_time: '1',
    });
    assert.equal((await ask(server, `/pdb/query/v4/events?${distinct}`)).status, 400);
    assert.equal((await ask(server, `/pdb/query/v4/${name}`)).status, 404);
    assert.equal((await ask(server, `/pdb/query/v4/nodes?${name}=1`)).status, 400);
    assert.equal((await ask(server, `/status/v1/services/${name}`)).status, 404);
    assert.equal(
      (await ask(server, `/pdb/cmd/v1?command=${name}&version=1&certname=x`, { method: 'POST' })).status,
      400,
    );
  }
  assert.equal(await witness(server), before);
  checkQuiet(server);
});

test('hostile: certnames are names and never paths', async (t) => {
  const server = await TestServer.start(t);
  const before = await addWitness(server);
  const outside = (): string[] => readdirSync(dirname(server.dir)).sort();
  const around = outside();
  const certnames = [
    '/etc/passwd',
    '../../outside',
    '..',
    '.',
    'a/../../b',
    'a\\..\\b',
    'with\nnewline',
    'with\r\nX-Injected: 1',
    'space and ünïcode 😀',
    '%2e%2e%2f',
    'x'.repeat(2000),
    '__proto__',
  ];
  for (const certname of certnames) {
    assert.equal((await submit(server, facts(certname, '{"a":1}'))).status, 200, certname);
    // A command that is given up ends in a file that is named after the certname.
    const bad = await submit(server, { ...facts(certname, '{}'), body: Buffer.from('{"certname": 1') });
    assert.equal(bad.status, 503);
    const answer = await ask(server, `/pdb/query/v4/nodes/${encodeURIComponent(certname)}`);
    if (answer.status === 200) assert.equal((JSON.parse(answer.text) as { certname: string }).certname, certname);
    const rows = await server.query<{ certname: string }>('facts', ['=', 'certname', certname]);
    assert.deepEqual(
      rows.map((row) => row.certname),
      [certname],
    );
  }
  // What no text of the reference's database can hold is refused, and stays refused.
  for (const certname of ['nul\u0000', '\u0000']) await submit(server, facts(certname, '{"a":1}'));
  const letters = join(server.dir, 'discarded', 'replace_facts');
  // They are written after the answers.
  const written = (): string[] => readdirSync(letters).filter((name) => !name.startsWith('.'));
  await until('letters and their causes', () => existsSync(letters) && written().length >= certnames.length * 2);
  for (const name of readdirSync(letters)) assert.ok(!/[/\\\u0000]/.test(name) && name !== '..', name);
  assert.deepEqual(outside(), around, 'files beside the data directory');
  assert.ok(!existsSync('/outside'));
  assert.equal(await witness(server), before);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await checkStore(server.dir), []);
});

test('hostile: archives cannot name files, and what is no archive is refused', async (t) => {
  const server = await TestServer.start(t);
  const before = await addWitness(server);
  const around = readdirSync(dirname(server.dir)).sort();
  const send = (archive: Uint8Array): Promise<Answer> => {
    const head = '--b\r\nContent-Disposition: form-data; name="archive"; filename="../../x.tgz"\r\n\r\n';
    const body = Buffer.concat([Buffer.from(head), archive, Buffer.from('\r\n--b--\r\n')]);
    return post(server, '/pdb/admin/v1/archive', body, { 'Content-Type': 'multipart/form-data; boundary=b' });
  };
  const command = (certname: string): string =>
    JSON.stringify({
      ...(JSON.parse(replaceFacts(certname, 1, Date.now() - DAY).payload) as object),
      values: { a: 1 },
    });
  const traversal = tar([
    [
      'puppetdb-bak/export-metadata.json',
      '{"timestamp":"2020-01-01T00:00:00Z","command_versions":{"replace_facts":5}}',
    ],
    ['../../../outside.json', command('outside')],
    ['/etc/outside.json', command('outside')],
    ['puppetdb-bak/facts/../../../../outside.json', command('outside')],
    ['puppetdb-bak/facts/inside.json', command('inside')],
  ]);
  const answers = [
    await send(gzipSync(traversal)),
    await send(traversal),
    await send(Buffer.from('not an archive')),
    await send(gzipSync(Buffer.alloc(0))),
    await send(gzipSync(traversal).subarray(0, 200)),
    await send(gzipSync(Buffer.alloc(300 << 20))),
    await send(gzipSync(Buffer.alloc(100_000, 0x61))),
  ];
  for (const answer of answers) assert.ok([200, 400, 413].includes(answer.status), `${answer.status} ${answer.text}`);
  t.diagnostic(
    answers.map((answer) => `${answer.status} ${answer.text.replace(/\s+/g, ' ').slice(0, 100)}`).join('; '),
  );
  await server.drained();
  assert.deepEqual(readdirSync(dirname(server.dir)).sort(), around);
  assert.ok(!existsSync('/etc/outside.json'));
  assert.ok(server.privateMiB() < 500, `${server.privateMiB()} MiB`);
  assert.equal(await witness(server), before);
});

/** A tar archive of files with these names, whatever they are. */
function tar(files: readonly (readonly [name: string, text: string])[]): Buffer {
  const blocks: Buffer[] = [];
  for (const [name, text] of files) {
    const header = Buffer.alloc(512);
    header.write(name, 0, 100);
    header.write('0000644\0', 100);
    header.write('0000000\0', 108);
    header.write('0000000\0', 116);
    header.write(`${Buffer.byteLength(text).toString(8).padStart(11, '0')}\0`, 124);
    header.write('00000000000\0', 136);
    header.write('        ', 148);
    header.write('0', 156);
    header.write('ustar\0', 257);
    header.write('00', 263);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const body = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
    body.write(text);
    blocks.push(header, body);
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

test('hostile: limits on size and depth hold, with little memory and clear answers', async (t) => {
  const server = await TestServer.start(t, {
    args: ['--decompressed-max-size', '8M', '--request-body-max-size', '2M', '--query-body-max-size', '64K'],
  });
  const before = await addWitness(server);
  const start = server.privateMiB();
  const given = async (command: HostileCommand, headers: Ask['headers'], reason: RegExp): Promise<void> => {
    const answer = await submit(server, command, headers);
    assert.equal(answer.status, 503, answer.text);
    assert.match(answer.text, reason);
  };
  const gzip = { 'Content-Encoding': 'gzip' };

  await t.test('bombs: bodies that unpack to more than the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(256 << 20, ' '));
    const nested = gzipSync(gzipSync(Buffer.alloc(64 << 20)));
    for (let i = 0; i < 6; i++) await given({ ...facts('bomb', '{}'), body: bomb }, gzip, /large|size|8388608/i);
    await submit(server, { ...facts('bomb', '{}'), body: nested }, gzip);
    assert.ok(server.residentMiB(true) < start + 400, `${server.residentMiB(true)} MiB at most, ${start} before`);
  });

  await t.test('oversize: bodies beyond the limit get 413, however they come', async () => {
    const body = Buffer.alloc(3 << 20, ' ');
    const path = '/pdb/cmd/v1?command=replace_facts&version=5&certname=big';
    assert.equal((await post(server, path, body)).status, 413);
    assert.equal(
      (await post(server, '/pdb/query/v4/nodes', JSON.stringify({ query: 'x'.repeat(70_000) }))).status,
      413,
    );
    const chunked = await RawClient.open(server.port);
    chunked.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (let i = 0; i < 3; i++) chunked.send(`100000\r\n${'x'.repeat(0x100000)}\r\n`);
    chunked.send('0\r\n\r\n');
    assert.equal(await chunked.status(), 413);
    chunked.close();
    const long = await RawClient.open(server.port);
    long.send(`GET /pdb/query/v4/nodes?query=${'x'.repeat(400_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.ok([414, 431, null].includes(await long.status()), long.received.slice(0, 200));
    long.close();
    const many = await RawClient.open(server.port);
    many.send(`GET / HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(20_000)}\r\n`);
    assert.ok((await many.status()) !== 500);
    many.close();
  });

  await t.test('depth: JSON and queries nested too deeply', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    assert.ok([200, 503].includes((await submit(server, facts('deep', `{"a":${deep}}`))).status));
    const moderate = `${'['.repeat(500)}${']'.repeat(500)}`;
    assert.equal((await submit(server, facts('moderate', `{"a":${moderate}}`))).status, 200);
    for (const depth of [900, 1100, 5000]) {
      const query = `${'["not",'.repeat(depth)}["=","certname","x"]${']'.repeat(depth)}`;
      const answer = await post(server, '/pdb/query/v4/nodes', `{"query":${query}}`);
      assert.ok([200, 400].includes(answer.status), `depth ${depth}: ${answer.status} ${answer.text}`);
    }
    for (const text of [`nodes { ${'('.repeat(20_000)}`, `nodes { ${'!'.repeat(20_000)} certname = "x" }`]) {
      assert.equal((await post(server, '/pdb/query/v4', JSON.stringify({ query: text }))).status, 400);
    }
    const wide = JSON.stringify(['or', ...Array.from({ length: 1500 }, (_, i) => ['=', 'certname', `n${i}`])]);
    assert.equal((await post(server, '/pdb/query/v4/nodes', `{"query":${wide}}`)).status, 200);
  });

  await t.test('numbers: beyond every type', async () => {
    for (const number of ['1e400', '-1e400', '1e-400', '9'.repeat(400), `0.${'1'.repeat(400)}`, '1e999999999']) {
      const answer = await submit(server, facts('numbers', `{"n":${number}}`));
      assert.ok([200, 503].includes(answer.status), `${number}: ${answer.text}`);
      const query = `["and",["=","certname","numbers"],[">","value",${number}]]`;
      const asked = await post(server, '/pdb/query/v4/facts', `{"query":${query}}`);
      assert.ok([200, 400].includes(asked.status), `${number}: ${asked.status} ${asked.text}`);
    }
    const limits = [
      'limit=1e400',
      'limit=99999999999999999999',
      'offset=99999999999999999999',
      'limit=-1',
      'timeout=1e400',
    ];
    for (const parameter of limits) {
      const { status } = await ask(server, `/pdb/query/v4/nodes?${parameter}`);
      assert.ok([200, 400].includes(status), `${parameter}: ${status}`);
    }
  });

  await t.test('bytes: invalid UTF-8, bodies that are cut, bodies that are no gzip', async () => {
    const whole = facts('bytes', '{"a":"xyz"}').body;
    const invalid = Buffer.from(whole);
    invalid[invalid.indexOf('xyz')] = 0xff;
    const answer = await submit(server, { ...facts('bytes', '{}'), body: invalid });
    assert.ok([200, 503].includes(answer.status));
    const packed = gzipSync(whole);
    for (const body of [packed.subarray(0, packed.length - 8), packed.subarray(0, 5), Buffer.alloc(0), whole]) {
      await given({ ...facts('bytes', '{}'), body }, gzip, /./);
    }
    await given({ ...facts('bytes', '{}'), body: Buffer.alloc(0) }, {}, /./);
    await given({ ...facts('bytes', '{}'), body: whole.subarray(0, 20) }, {}, /./);
    const broken = await post(server, '/pdb/query/v4/nodes', Buffer.from([0x7b, 0x22, 0xff, 0xfe]));
    assert.equal(broken.status, 400);
  });

  await t.test('regular expressions that run away are stopped', async () => {
    await submit(server, facts('regex', `{"long":"${'a'.repeat(5000)}"}`));
    for (const regex of [
      '(a*)*b',
      '(a|aa)+$b',
      '(.*)(.*)(.*)(.*)(.*)\\1\\2x',
      '((a{1,100}){1,100}){1,100}',
      `(${'a?'.repeat(60)}){60}b`,
    ]) {
      const start = performance.now();
      const query = ['and', ['=', 'certname', 'regex'], ['~', 'value', regex]];
      const answer = await server.ask('/pdb/query/v4/facts', {
        method: 'POST',
        headers: JSON_HEADERS,
        body: JSON.stringify({ query }),
        timeout: 40_000,
      });
      assert.ok([200, 400, 500].includes(answer.status), `${regex}: ${answer.status} ${answer.text}`);
      const ms = performance.now() - start;
      assert.ok(ms < HANG_MS, `${regex} took ${Math.round(ms)} ms: ${answer.status} ${answer.text}`);
    }
  });

  assert.equal(await witness(server), before);
  checkQuiet(server, /moved to the dead letters/);
  const letters = join(server.dir, 'discarded', 'replace_facts');
  for (const name of readdirSync(letters).filter((name) => name.endsWith('_err.txt'))) {
    assert.doesNotMatch(readFileSync(join(letters, name), 'utf8'), /TypeError|RangeError|undefined/, name);
  }
});

test('hostile: requests that are long in one place or another hold up nobody', async (t) => {
  const server = await TestServer.start(t);
  const n = 200_000;
  const facts5 = 'command=replace_facts&version=5&certname=x';
  const list = (item: string, count: number): string => `[${Array(count).fill(item).join(',')}]`;
  const body = (values: string): string =>
    `{"command":"replace facts","version":5,"payload":{"certname":"x","values":${values}}}`;
  /** Head lines without the host, and a body. */
  const attacks: Readonly<Record<string, readonly [line: string, headers?: readonly string[], body?: string]>> = {
    'many codings': ['GET /pdb/query/v4/nodes', [`Accept-Encoding: ${', '.repeat(n / 2)}`]],
    'a long weight': ['GET /pdb/query/v4/nodes', [`Accept-Encoding: gzip;q=${'1'.repeat(n)}x`]],
    'many types': ['GET /pdb/query/v4/nodes', [`Accept: ${'a/b;q=0.1 ,'.repeat(n / 12)}`]],
    'a type of blanks': ['GET /pdb/query/v4/nodes', [`Accept: a${' '.repeat(n)}x`]],
    'parameters of a type': ['POST /pdb/query/v4/nodes', [`Content-Type: application/json${' ;'.repeat(n / 2)}`], '{}'],
    'a boundary of quotes': [
      'POST /pdb/admin/v1/archive',
      [`Content-Type: multipart/form-data; boundary=${'"'.repeat(n)}`],
      '{}',
    ],
    'parts that are none': [
      'POST /pdb/admin/v1/archive',
      ['Content-Type: multipart/form-data; boundary=b'],
      `--b\r\nContent-Disposition: form-data; name="archive"\r\n\r\n${'\r\n--'.repeat(1_000_000)}`,
    ],
    'a head of a part without end': [
      'POST /pdb/admin/v1/archive',
      ['Content-Type: multipart/form-data; boundary=b'],
      `--b\r\n${'A: b\r\n'.repeat(300_000)}`,
    ],
    'one name often': [`GET /pdb/query/v4/nodes?${'limit=1&'.repeat(n / 8)}`],
    'one name often, of a command': [`POST /pdb/cmd/v1?${facts5}&${'x=1&'.repeat(n / 4)}`, [], '{}'],
    'many names': [`GET /pdb/query/v4/nodes?${Array.from({ length: 25_000 }, (_, i) => `a${i}`).join('&')}`],
    'a long version': [`POST /pdb/cmd/v1?command=replace_facts&version=${'1'.repeat(n)}&certname=x`, [], '{}'],
    'a long time to wait': [`POST /pdb/cmd/v1?${facts5}&secondsToWaitForCompletion=${'1'.repeat(n)}x`, [], '{}'],
    'a long timestamp': [
      `POST /pdb/cmd/v1?${facts5}&producer-timestamp=2020-01-01T00:00:00.${'1'.repeat(n)}x`,
      [],
      '{}',
    ],
    'many slashes': [`GET /pdb/query/v4${'/'.repeat(n)}`],
    'many escapes': [`GET /pdb/query/v4/nodes/${'%41'.repeat(n / 3)}`],
    'escapes of metrics': [`GET /metrics/v2/read/${'!'.repeat(n)}`],
    'steps of metrics': [`GET /metrics/v2/read/${'a/'.repeat(n / 2)}`],
    'properties of a bean': [`GET /metrics/v2/read/a:${Array.from({ length: 15_000 }, (_, i) => `k${i}=v`).join(',')}`],
    'wildcards of beans': [`GET /metrics/v2/search/*:name=${'*a'.repeat(n / 2)}`],
    'lists of beans': ['POST /metrics/v2', [], list('{"type":"list"}', 1000)],
    'beans by patterns': ['POST /metrics/v2', [], list('{"type":"read","mbean":"*:*"}', 1000)],
    'more than may be asked for': ['POST /metrics/v2', [], list('{"type":"version"}', 40_000)],
    'a deep administration': ['POST /pdb/admin/v1/cmd', [], '['.repeat(500_000)],
    'a large command in one body': ['POST /pdb/cmd/v1', [], body(list('{"a":1.0}', 1_000_000))],
    'a body of many keys': ['POST /pdb/cmd/v1', [], `{${Array.from({ length: n }, (_, i) => `"k${i}":1`).join(',')}}`],
    'a query of many parts': ['POST /pdb/query/v4/nodes', [], `{"query":${list('"x"', 1_000_000)}}`],
  };
  let running = true;
  let longest = 0;
  const bystander = (async () => {
    while (running) {
      const start = performance.now();
      await server.ask('/pdb/meta/v1/version');
      longest = Math.max(longest, performance.now() - start);
      await pause(5);
    }
  })();
  const texts: string[] = [];
  for (const [name, [line, headers = [], text = null]] of Object.entries(attacks)) {
    longest = 0;
    const length = text === null ? [] : [`Content-Length: ${Buffer.byteLength(text)}`];
    const head = [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', ...length, ...headers].join('\r\n');
    const client = await RawClient.open(server.port);
    client.send(`${head}\r\n\r\n${text ?? ''}`);
    const status = await client.status(20_000);
    client.close();
    texts.push(`${name}: ${status}, ${Math.round(longest)} ms`);
    assert.ok(status === null || status < 500, `${name}: ${status}`);
    assert.ok(longest < HELD_UP_MS, `${name}: somebody else waited for ${Math.round(longest)} ms`);
  }
  running = false;
  await bystander;
  t.diagnostic(texts.join('; '));
  assert.ok(server.privateMiB() < 600, `${server.privateMiB()} MiB`);
});

test('hostile: an answer is what was asked for, byte for byte, whatever is around it', async (t) => {
  // Two requests in one packet, a body that looks like a request, and a cut one after them: nothing gets mixed up.
  const server = await TestServer.start(t);
  await addWitness(server);
  const smuggled = 'GET /pdb/query/v4/nodes/smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
  const requests = [
    'GET /pdb/meta/v1/version HTTP/1.1\r\nHost: x\r\n\r\n',
    `POST /pdb/query/v4/nodes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    `GET /pdb/query/v4/nodes/${WITNESS}/facts/version HTTP/1.1\r\nHost: x\r\n\r\n`,
    'GET /pdb/meta/v1/server-time HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  ];
  const client = await RawClient.open(server.port);
  client.send(requests.join(''));
  const received = await client.closed(HANG_MS);
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
  assert.deepEqual(statuses, [200, 400, 200, 200], received);
  assert.match(received, /"version" : "8/);
  assert.match(received, /server_time/);
});
