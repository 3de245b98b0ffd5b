import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { CommandOutcome } from '../../../engine/ingest/command/types.ts';
import { type CommandSettings, createCommandHandler } from '../../../server/routes/commands.ts';
import { SubmissionRefused } from '../../../workers/types.ts';
import { FakeRing } from '../../support/fake-ring.ts';
import { RawClient } from '../../support/raw-client.ts';
import { until } from '../../support/waiting.ts';
import { type Ask, ask, listen } from '../support/http.ts';

const UUID = '11111111-2222-4333-8444-555555555555';
const FACTS = '/pdb/cmd/v1?command=replace_facts&version=5&certname=a.example';

async function start(t: TestContext, settings: Partial<CommandSettings> = {}) {
  const ring = new FakeRing();
  const handler = createCommandHandler({
    ring,
    settings: {
      rejectLarge: false,
      sizeMax: 100,
      bodyMax: 1 << 20,
      verifyChecksum: false,
      decompressedMax: 1 << 20,
      ...settings,
    },
    now: () => 1_700_000_000_000,
    uuid: () => UUID,
  });
  const listener = await listen(t, [{ prefix: '/pdb/cmd', handler }]);
  const post = (path: string, options: Ask = {}) => ask(listener.port, path, { method: 'POST', ...options });
  return { ring, listener, post };
}

test('commands: a command goes to the ring as it came, and is answered with its uuid', async (t) => {
  const { ring, post } = await start(t);
  const body = '{"certname": "a.example",  "x": 1.0}';
  const answer = await post(`${FACTS}&producer-timestamp=2036-01-10T12:05:00.000Z`, {
    body,
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-uncompressed-length': '36' },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['content-type'], 'application/json;charset=utf-8');
  assert.equal(answer.headers['vary'], 'Accept-Encoding, User-Agent');
  assert.equal(answer.text, `{\n  "uuid" : "${UUID}"\n}`);
  assert.deepEqual(ring.submissions[0]?.envelope, {
    command: 'replace facts',
    version: 5,
    certname: 'a.example',
    producerTimestamp: Date.UTC(2036, 0, 10, 12, 5),
    gzip: false,
    uuid: UUID,
    received: 1_700_000_000_000,
    size: 36,
  });
  assert.equal(ring.text(), body);
  assert.deepEqual(ring.waits, [false]);
});

test('commands: a compressed body stays compressed', async (t) => {
  const { ring, post } = await start(t);
  const body = gzipSync('{"certname":"a"}');
  const headers = { 'content-encoding': 'GZIP', connection: 'close', 'x-uncompressed-length': 'many' };
  const answer = await post(FACTS, { body, headers });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['connection'], 'close');
  assert.equal(ring.submissions[0]?.envelope.gzip, true);
  assert.equal(ring.submissions[0]?.envelope.size, null);
  assert.ok(Buffer.from(ring.submissions[0]?.body ?? []).equals(body));
});

test('commands: the one-body form gives the payload as it was written', async (t) => {
  const { ring, post } = await start(t);
  const payload = '{"certname": "ñ", "values": {"a": 1.0, "b": 1e2}}';
  const answer = await post('/pdb/cmd/v1?other=1', {
    body: `{"command":"replace facts","version":4,"payload":${payload}}`,
  });
  assert.equal(answer.status, 200);
  assert.equal(ring.submissions[0]?.envelope.certname, 'ñ');
  assert.equal(ring.submissions[0]?.envelope.version, 4);
  assert.equal(ring.text(), payload);
});

test('commands: the one-body form is not unpacked', async (t) => {
  const { post } = await start(t);
  const body = gzipSync('{"command":"replace facts","version":4,"payload":{"certname":"a"}}');
  const answer = await post('/pdb/cmd/v1', { body, headers: { 'content-encoding': 'gzip' } });
  assert.equal(answer.status, 400);
  assert.match(JSON.parse(answer.text).error, /^Command nil for certname nil is invalid\./);
});

test('commands: an invalid envelope is an indented 400', async (t) => {
  const { ring, post } = await start(t);
  const answer = await post('/pdb/cmd/v1?command=replace_facts&version=5', { body: '{}' });
  assert.equal(answer.status, 400);
  assert.equal(answer.headers['content-type'], 'application/json;charset=utf-8');
  assert.equal(answer.headers['vary'], undefined);
  assert.equal(
    answer.text,
    '{\n  "error" : "Command \\"replace facts\\" for certname nil is invalid. ' +
      'Command is missing required parameters: certname."\n}',
  );
  assert.equal(ring.submissions.length, 0);
});

test('commands: coding, type and accepted types are checked in this order', async (t) => {
  const { post, ring } = await start(t);
  const bad = { 'content-encoding': 'deflate', 'content-type': 'text/plain', accept: 'text/html' };
  const coding = await post(FACTS, { headers: bad, body: 'x' });
  assert.equal(coding.status, 415);
  assert.equal(coding.headers['content-type'], 'text/plain;charset=utf-8');
  assert.equal(coding.text, 'content encoding deflate not supported');
  const type = await post(FACTS, { headers: { ...bad, 'content-encoding': 'identity' }, body: 'x' });
  assert.equal(type.status, 415);
  assert.equal(
    type.text,
    '{"kind":"unsupported-type","msg":"content-type text/plain is not a supported type for request of type :post at /pdb/cmd/v1"}',
  );
  const accept = await post(FACTS, { headers: { accept: 'text/html,application/json;q=0.5' }, body: 'x' });
  assert.equal(accept.status, 406);
  assert.equal(accept.text, '{"kind":"not-acceptable","msg":"accept header must include application/json"}');
  for (const headers of [
    { 'content-type': 'APPLICATION/JSON', accept: 'text/html, application/*' },
    { accept: '*/*' },
    { accept: 'application/json' },
  ]) {
    assert.equal((await post(FACTS, { headers, body: '{}' })).status, 200);
  }
  for (const coding of ['IDENTITY', 'gzip, identity', 'x-gzip']) {
    assert.equal((await post(FACTS, { headers: { 'content-encoding': coding }, body: 'x' })).status, 415, coding);
  }
  assert.equal(ring.submissions.length, 3);
});

test('commands: other methods are taken too, PUT with its type', async (t) => {
  const { listener } = await start(t);
  const put = await ask(listener.port, FACTS, { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: '{}' });
  assert.equal(put.status, 415);
  assert.match(put.text, /of type :put at/);
  assert.equal((await ask(listener.port, FACTS, { method: 'PUT', body: '{}' })).status, 200);
  assert.equal((await ask(listener.port, FACTS)).status, 200);
  assert.equal((await ask(listener.port, '/pdb/cmd/v1', { method: 'DELETE' })).status, 400);
});

test('commands: another path is not found, unless the envelope is wrong already', async (t) => {
  const { post } = await start(t);
  for (const path of ['/pdb/cmd', '/pdb/cmd/v2', '/pdb/cmd/v1/', '/pdb/cmd/v1/facts']) {
    const answer = await post(FACTS.replace('/pdb/cmd/v1', path), { body: '{}' });
    assert.equal(answer.status, 404, path);
    assert.equal(answer.headers['content-type'], 'text/html;charset=utf-8');
    assert.equal(answer.text, 'Not Found');
  }
  assert.equal((await post('/pdb/cmd/v9?command=replace_facts&version=x&certname=a', { body: '{}' })).status, 400);
  const old = '{"command":"replace facts","version":5,"payload":{"certname":"a"}}';
  assert.equal((await post('/pdb/cmd', { body: old })).status, 404);
});

test('commands: a body beyond what any may have is told with that bound, whether rejection is on or not', async (t) => {
  for (const rejectLarge of [false, true]) {
    const { post } = await start(t, { rejectLarge, sizeMax: 1000, bodyMax: 200 });
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      const { status, text } = await post(FACTS, { body: 'x'.repeat(201), headers });
      assert.deepEqual([status, text], [413, 'Request body is larger than 200 bytes']);
    }
  }
});

test('commands: with rejection on, the declared size decides first, then the bytes that come', async (t) => {
  const { ring, post } = await start(t, { rejectLarge: true, sizeMax: 100 });
  const declared = await post('/pdb/cmd/v1?command=bogus', { body: 'x', headers: { 'x-uncompressed-length': '101' } });
  assert.equal(declared.status, 413);
  assert.equal(declared.text, 'Command rejected due to size exceeding max-command-size');
  const chunked = { 'transfer-encoding': 'chunked' };
  const read = await post(FACTS, { body: 'x'.repeat(101), headers: chunked });
  assert.equal(read.status, 413);
  assert.equal(read.text, 'Command size exceeds max-command-size');
  assert.equal((await post(FACTS, { body: 'x'.repeat(101), headers: { 'x-uncompressed-length': '5' } })).status, 413);
  assert.equal((await post(FACTS, { body: 'x'.repeat(100), headers: chunked })).status, 200);
  assert.equal((await post(FACTS, { body: 'x'.repeat(100), headers: { 'x-uncompressed-length': '100' } })).status, 200);
  // A payload within a body counts twice its characters.
  for (const [length, status] of [
    [51, 413],
    [50, 200],
  ] as const) {
    const payload = `{"certname":"a"${' '.repeat(length - 16)}}`;
    const body = `{"command":"replace facts","version":5,"payload":${payload}}`;
    assert.equal((await post('/pdb/cmd/v1', { body, headers: chunked })).status, status);
  }
  assert.equal(ring.submissions.length, 3);
});

test('commands: without rejection only the bound of all bodies holds', async (t) => {
  const { post } = await start(t, { rejectLarge: false, sizeMax: 10, bodyMax: 1000 });
  assert.equal((await post(FACTS, { body: 'x'.repeat(1000) })).status, 200);
  assert.equal((await post(FACTS, { body: 'x'.repeat(1001) })).status, 413);
});

const WAIT = `${FACTS}&secondsToWaitForCompletion=30`;

test('commands: a client that waits learns that its command was processed', async (t) => {
  const { ring, post } = await start(t);
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const answer = await post(WAIT, { body: '{}' });
  assert.equal(answer.status, 200);
  assert.equal(answer.text, `{\n  "uuid" : "${UUID}",\n  "processed" : true,\n  "timed_out" : false\n}`);
  assert.equal(timers(), before, 'nothing is left of the wait');
  assert.deepEqual(ring.waits, [true]);
  await post(`${FACTS}&secondsToWaitForCompletion=0`, { body: '{}' });
  assert.deepEqual(ring.waits, [true, false]);
});

test('commands: a client that waits is told of a failure at once', async (t) => {
  const { ring, post } = await start(t);
  ring.outcome = Promise.resolve({
    kind: 'failed',
    seq: 1,
    retryable: false,
    validation: true,
    error: 'it is "bad"',
    exception: 'CommandError',
    stack: ['one', 'two'],
  });
  const answer = await post(WAIT, { body: '{}' });
  assert.equal(answer.status, 503);
  assert.equal(
    answer.text,
    `{\n  "uuid" : "${UUID}",\n  "processed" : true,\n  "timed_out" : false,\n  "error" : "it is \\"bad\\"",\n` +
      '  "exception" : "CommandError",\n  "stack_trace" : [ "one", "two" ]\n}',
  );
});

test('commands: a wait ends with its time, or with its client', async (t) => {
  const { ring, listener, post } = await start(t);
  ring.outcome = new Promise<CommandOutcome>(() => {});
  const answer = await post(`${FACTS}&secondsToWaitForCompletion=0.05`, { body: '{}' });
  assert.equal(answer.status, 503);
  assert.deepEqual(JSON.parse(answer.text), { uuid: UUID, processed: false, timed_out: true });
  const client = await RawClient.open(listener.port);
  client.send(`POST ${WAIT} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
  await until('submission', () => ring.submissions.length === 2);
  client.close();
  await until('end of the request', () => listener.requestCount === 0);
  assert.deepEqual(listener.errors, []);
});

test('commands: a ring that is full or starting over asks to come back, one that stops does not', async (t) => {
  const { ring, post } = await start(t);
  ring.refusal = new SubmissionRefused('full', 'the queue is full', 4.2);
  const full = await post(FACTS, { body: '{}' });
  assert.equal(full.status, 503);
  assert.equal(full.headers['retry-after'], '5');
  assert.deepEqual(JSON.parse(full.text), { error: 'the queue is full' });
  ring.refusal = new SubmissionRefused('stopping', 'shutting down', 10);
  const stopping = await post(FACTS, { body: '{}' });
  assert.equal(stopping.status, 503);
  assert.equal(stopping.headers['retry-after'], undefined);
});

test('commands: a checksum is verified only where that is asked for', async (t) => {
  const body = '{"certname":"a"}';
  const sha = createHash('sha1').update(body).digest('hex');
  const lax = await start(t);
  assert.equal((await lax.post(`${FACTS}&checksum=${'0'.repeat(40)}`, { body })).status, 200);
  const strict = await start(t, { verifyChecksum: true });
  const headers = { 'content-encoding': 'gzip' };
  assert.equal((await strict.post(`${FACTS}&checksum=${sha}`, { body })).status, 200);
  assert.equal(
    (await strict.post(`${FACTS}&checksum=${sha.toUpperCase()}`, { body: gzipSync(body), headers })).status,
    200,
  );
  assert.equal((await strict.post(FACTS, { body })).status, 200);
  const wrong = await strict.post(`${FACTS}&checksum=${'0'.repeat(40)}`, { body });
  assert.equal(wrong.status, 400);
  assert.match(JSON.parse(wrong.text).error, /^Checksum 0{40} does not match the payload/);
  assert.equal((await strict.post(`${FACTS}&checksum=${sha}`, { body: 'no gzip', headers })).status, 400);
  const narrow = await start(t, { verifyChecksum: true, decompressedMax: body.length });
  assert.equal((await narrow.post(`${FACTS}&checksum=${sha}`, { body: gzipSync(body), headers })).status, 200);
  // Nor is more unpacked than a command may be.
  const large = await strict.post(`${FACTS}&checksum=${sha}`, { body: gzipSync(Buffer.alloc(4 << 20)), headers });
  assert.equal(large.status, 400);
  assert.match(large.text, /The payload unpacks to more than 1048576 bytes/);
  const twice = await strict.post(`${FACTS}&checksum=bad&checksum=worse`, { body });
  assert.match(JSON.parse(twice.text).error, /^Checksum \["bad" "worse"\] does not match the payload/);
  const envelope = { command: 'replace facts', version: 5, certname: 'a', payload: { certname: 'a' } };
  const number = await strict.post('/pdb/cmd/v1', { body: JSON.stringify({ ...envelope, checksum: 7 }) });
  assert.match(JSON.parse(number.text).error, /^Checksum 7 does not match the payload/);
  assert.equal(
    (await strict.post('/pdb/cmd/v1', { body: JSON.stringify({ ...envelope, checksum: null }) })).status,
    200,
  );
});

test('commands: a client that leaves in the middle of its body leaves nothing behind', async (t) => {
  const { ring, listener } = await start(t);
  const client = await RawClient.open(listener.port);
  client.send(`POST ${FACTS} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"certname"`);
  await until('request', () => listener.requestCount === 1);
  client.close();
  await until('end of the request', () => listener.requestCount === 0);
  assert.equal(ring.submissions.length, 0);
  assert.deepEqual(listener.errors, []);
});
