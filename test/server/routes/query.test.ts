import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { createExtHandler, createQueryHandler } from '../../../server/routes/query.ts';
import { atEnd } from '../../support/endings.ts';
import { processorTime } from '../../support/processor-time.ts';
import { querySettings } from '../../support/query-settings.ts';
import { RawClient } from '../../support/raw-client.ts';
import { until } from '../../support/waiting.ts';
import { ask, listen } from '../support/http.ts';
import { jsonHead, ScriptedPool, type ScriptedRun } from './scripted-pool.ts';

const empty = (run: ScriptedRun): void => run.handlers.onHead(jsonHead('[]'));

async function start(
  t: TestContext,
  play: (run: ScriptedRun) => void = empty,
  edition: 'community' | 'enterprise' = 'community',
) {
  const pool = new ScriptedPool(play);
  const deps = { pool, settings: () => ({ ...querySettings, edition }), bodyMax: 1000, now: () => 42 };
  const listener = await listen(t, [
    { prefix: '/pdb/query', handler: createQueryHandler(deps) },
    { prefix: '/pdb/ext', handler: createExtHandler(deps) },
  ]);
  return { pool, listener, port: listener.port };
}

test('query: the raw request goes to the pool', async (t) => {
  const { pool, port } = await start(t);
  const answer = await ask(port, '/pdb/query/v4/facts/a%20b?query=%5B%5D&limit=%zz');
  assert.equal(answer.text, '[]');
  assert.equal(answer.headers['content-type'], 'application/json;charset=utf-8');
  assert.deepEqual(pool.runs[0]?.request, {
    method: 'GET',
    path: '/facts/a%20b',
    api: 'query',
    queryString: 'query=%5B%5D&limit=%zz',
    body: null,
  });
  assert.equal(pool.runs[0]?.settings.now, 42);
  await ask(port, '/pdb/query/v4', { method: 'PUT', body: 'ignored' });
  assert.deepEqual(pool.runs[1]?.request, { method: 'PUT', path: '', api: 'query', queryString: '', body: null });
});

test('query: bodies are read where they mean something', async (t) => {
  const { pool, port } = await start(t);
  const form = 'application/x-www-form-urlencoded; charset=UTF-8';
  await ask(port, '/pdb/query/v4', { method: 'POST', body: '\uFEFF{"query":"ñ"}' });
  await ask(port, '/pdb/query/v4', { headers: { 'content-type': form, 'content-length': '3' }, body: 'a=b' });
  await ask(port, '/pdb/query/v4', { headers: { 'content-type': form } });
  await ask(port, '/pdb/query/v4', { headers: { 'content-type': 'text/plain', 'content-length': '3' }, body: 'a=b' });
  await ask(port, '/pdb/query/v4', { method: 'POST' });
  assert.deepEqual(
    pool.runs.map(({ request }) => request.body),
    ['\uFEFF{"query":"ñ"}', 'a=b', null, null, ''],
  );
  assert.equal((await ask(port, '/pdb/query/v4', { method: 'POST', body: 'x'.repeat(1001) })).status, 413);
});

test('query: a content type of much white space holds nobody up', async (t) => {
  const { port } = await start(t);
  const headers = { 'content-type': `a${' '.repeat(60_000)}b` };
  const spent = processorTime();
  assert.equal((await ask(port, '/pdb/query/v3', { method: 'POST', headers, body: 'x' })).status, 404);
  const ms = spent();
  assert.ok(ms < 2000, `${Math.round(ms)} ms`);
});

test('query: content is negotiated before the path is looked at', async (t) => {
  const { pool, port } = await start(t);
  const type = await ask(port, '/pdb/query/v9', {
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=x' },
    body: 'x',
  });
  assert.equal(type.status, 415);
  assert.equal(
    type.text,
    '{"kind":"unsupported-type","msg":"content-type text/plain is not a supported type for request of type :post at /pdb/query/v9"}',
  );
  // What is no media type says nothing, and white space around the parts of one counts for nothing.
  for (const type of ['garbage', 'application/', 'application/json, text/plain', ' Application / JSON ;x']) {
    const sent = await ask(port, '/pdb/query/v3', { method: 'POST', headers: { 'content-type': type }, body: 'x' });
    assert.equal(sent.status, 404, type);
  }
  for (const accept of ['', 'text/html', 'application/json;q=0.9', 'APPLICATION/JSON', 'text/html,*/*;q=0.8']) {
    assert.equal((await ask(port, '/pdb/query/v3/nodes', { headers: { accept } })).status, 406, accept);
  }
  assert.equal(
    (await ask(port, '/pdb/query/v4', { headers: { accept: 'application/xml,application/*' } })).status,
    200,
  );
  assert.equal(
    (await ask(port, '/pdb/query/v4', { method: 'PUT', headers: { 'content-type': 'text/plain' } })).status,
    200,
  );
  assert.equal(pool.runs.length, 2);
});

test('query: retired versions say so, other paths are unknown', async (t) => {
  const { port } = await start(t);
  for (const version of ['v1', 'v2', 'v3']) {
    const answer = await ask(port, `/pdb/query/${version}/nodes`, { method: 'POST' });
    assert.equal(answer.status, 404);
    assert.equal(answer.headers['content-type'], 'text/plain;charset=utf-8');
    assert.equal(answer.text, `The ${version} API has been retired; please use v4`);
  }
  for (const path of [
    '/pdb/query',
    '/pdb/query/v5/nodes',
    '/pdb/query/v4x',
    '/pdb/query/v10',
    '/pdb/ext/v1/state-overview',
  ]) {
    const answer = await ask(port, path);
    assert.deepEqual([answer.status, answer.text], [404, 'Not Found'], path);
  }
});

test('query: the extension exists in the enterprise edition', async (t) => {
  const { pool, port } = await start(t, empty, 'enterprise');
  assert.equal((await ask(port, '/pdb/ext/v1/state-overview?unresponsive_threshold=5')).status, 200);
  assert.equal(pool.runs[0]?.request.api, 'ext');
  assert.equal(pool.runs[0]?.request.path, '/state-overview');
  assert.equal((await ask(port, '/pdb/ext/v2')).status, 404);
});

test('query: the version of replication must be ours', async (t) => {
  const { port } = await start(t);
  const sync = async (version: string) => {
    const { status, text } = await ask(port, '/pdb/query/v4/nodes', { headers: { 'x-pdb-sync-ver': version } });
    return [status, text];
  };
  assert.deepEqual(await sync('x'), [400, 'The x-pdb-sync-ver header: x cannot be converted to an int.']);
  assert.deepEqual(await sync('3'), [409, 'PDB sync request version 3 too new for this server (expected 2).']);
  assert.deepEqual(await sync('2'), [200, '[]']);
});

test('query: headers of the answer come through; HEAD has no body', async (t) => {
  const { listener, port } = await start(t, (run) => {
    run.handlers.onHead({ ...jsonHead(null), headers: [['X-Records', '3']] });
    run.handlers.onChunk(Buffer.from('[1,'));
    run.handlers.onChunk(Buffer.from('2]'));
    run.handlers.onEnd();
  });
  const answer = await ask(port, '/pdb/query/v4/nodes');
  assert.equal(answer.headers['x-records'], '3');
  assert.equal(answer.text, '[1,2]');
  const head = await ask(port, '/pdb/query/v4/nodes', { method: 'HEAD' });
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  await until('end', () => listener.requestCount === 0);
});

test('query: credit comes back as the client reads', async (t) => {
  const CREDIT = 256 * 1024;
  const chunk = Buffer.alloc(32 * 1024, 'x');
  const total = 2000 * chunk.length;
  let aheadMax = 0;
  const { pool, listener, port } = await start(t, (run) => {
    let sent = 0;
    run.handlers.onHead(jsonHead(null));
    const pump = (): void => {
      while (sent < total && sent - run.granted + chunk.length <= CREDIT && run.cancelled === 0) {
        sent += chunk.length;
        run.handlers.onChunk(chunk);
        aheadMax = Math.max(aheadMax, sent - run.granted);
      }
      if (sent === total && run.granted === total) run.handlers.onEnd();
      else if (run.cancelled === 0) setImmediate(pump);
    };
    pump();
  });
  const answer = await ask(port, '/pdb/query/v4/facts');
  assert.equal(answer.bytes.length, total);
  assert.ok(aheadMax <= CREDIT);

  const socket = connect({ host: '127.0.0.1', port });
  atEnd(t, () => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.write('GET /pdb/query/v4/facts HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'readable');
  const run = (): ScriptedRun => pool.runs[1] as ScriptedRun;
  let before = -1;
  while (run().granted !== before) {
    before = run().granted;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok(before < total, 'an unread answer stops');
  socket.destroy();
  await until('cancellation', () => run().cancelled === 1);
  await until('end of the request', () => listener.requestCount === 0);
});

test('query: an answer that is cut short shows why and breaks off', async (t) => {
  const { listener, port } = await start(t, (run) => {
    run.handlers.onHead(jsonHead(null));
    run.handlers.onChunk(Buffer.from('[{"a":1}'));
    run.handlers.onAbort('PDBQuery:1: exceeded timeout');
  });
  const client = await RawClient.open(port);
  client.send('GET /pdb/query/v4/nodes HTTP/1.1\r\nHost: x\r\n\r\n');
  const received = await client.closed();
  assert.match(received, /^HTTP\/1\.1 200 OK/);
  assert.match(received, /\[\{"a":1\}[\s\S]*PDBQuery:1: exceeded timeout/);
  assert.ok(!received.endsWith('0\r\n\r\n'), 'not complete');
  await until('record', () => listener.records[0]?.completed === false);
});

test('query: a compressed answer that is cut short shows all that was sent and why', async (t) => {
  const rows = Array.from({ length: 3000 }, (_, i) => `{"a":${i}}`).join(',');
  const { listener, port } = await start(t, (run) => {
    run.handlers.onHead(jsonHead(null));
    run.handlers.onChunk(Buffer.from(`[${rows}`));
    run.handlers.onAbort('PDBQuery:1: exceeded timeout');
  });
  const request = get({ port, path: '/pdb/query/v4/nodes', headers: { 'accept-encoding': 'gzip' }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  await assert.rejects(once(response, 'end'), /aborted/);
  assert.equal(gunzipSync(Buffer.concat(chunks)).toString(), `[${rows}PDBQuery:1: exceeded timeout`);
  await until('record', () => listener.records[0]?.completed === false);
});

test('query: a client that leaves while nothing has come yet stops the work', async (t) => {
  const { pool, port, listener } = await start(t, () => {});
  const client = await RawClient.open(port);
  client.send('GET /pdb/query/v4/nodes HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('run', () => pool.runs.length === 1);
  client.close();
  await until('cancellation', () => pool.runs[0]?.cancelled === 1);
  // What was on its way meanwhile is of no use to anyone.
  pool.runs[0]?.handlers.onHead(jsonHead(null));
  pool.runs[0]?.handlers.onChunk(Buffer.from('x'));
  pool.runs[0]?.handlers.onEnd();
  assert.deepEqual(listener.errors, []);
});

/** Memory that is used again as soon as it is free: whoever reads it later reads something else. */
class Lender {
  lent = 0;
  free = 0;

  /** Half of what it has may be kept by those that read late. */
  send(run: ScriptedRun, value: number, size: number): void {
    const chunk = Buffer.from(new SharedArrayBuffer(size)).fill(value);
    let isFree = false;
    this.lent++;
    const free = (): void => {
      assert.equal(isFree, false, 'freed once');
      isFree = true;
      this.free++;
      chunk.fill(0);
    };
    run.handlers.onChunk(chunk, free, this.lent - this.free > 8);
  }
}

for (const coding of ['identity', 'gzip'] as const) {
  test(`query: shared memory is read before it is free (${coding})`, async (t) => {
    const SIZE = 100_000;
    const COUNT = 200;
    const WINDOW = 1 << 20;
    const lender = new Lender();
    const { port } = await start(t, (run) => {
      run.handlers.onHead(jsonHead(null));
      const pump = (): void => {
        while (lender.lent < COUNT && lender.lent * SIZE - run.granted < WINDOW)
          lender.send(run, lender.lent + 1, SIZE);
        if (lender.lent < COUNT) setImmediate(pump);
        else run.handlers.onEnd();
      };
      pump();
    });
    const { bytes, headers } = await ask(port, '/pdb/query/v4/facts', { headers: { 'accept-encoding': coding } });
    assert.equal(headers['content-encoding'], coding === 'gzip' ? 'gzip' : undefined);
    const body = coding === 'gzip' ? gunzipSync(bytes) : bytes;
    assert.equal(body.length, COUNT * SIZE);
    for (let index = 0; index < COUNT; index++) {
      const expected = Buffer.alloc(SIZE, index + 1);
      assert.equal(Buffer.compare(body.subarray(index * SIZE, (index + 1) * SIZE), expected), 0, `chunk ${index}`);
    }
    await until('all free', () => lender.free === COUNT);
  });
}

test('query: a client that does not read keeps little of the shared memory, what comes then is copied, and none when it is gone', async (t) => {
  const lender = new Lender();
  const { pool, port } = await start(t, (run) => {
    run.handlers.onHead(jsonHead(null));
    const pump = (): void => {
      if (run.cancelled > 0) return;
      if (lender.lent * 32_768 - run.granted < 1 << 20) lender.send(run, 1, 32_768);
      setImmediate(pump);
    };
    pump();
  });
  const client = await RawClient.open(port);
  client.socket.pause();
  client.send('GET /pdb/query/v4/facts HTTP/1.1\r\nHost: x\r\n\r\n');
  let before = -1;
  while (lender.lent === 0 || lender.lent !== before) {
    before = lender.lent;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const kept = lender.lent - lender.free;
  assert.ok(kept >= 1 && kept <= 10, `${kept} of ${lender.lent} kept`);
  client.close();
  await until('all free', () => pool.runs[0]?.cancelled === 1 && lender.free === lender.lent);
});

test('query: an answer in parts whose size is known says it, unless it is compressed', async (t) => {
  const lender = new Lender();
  const { port } = await start(t, (run) => {
    run.handlers.onHead({ ...jsonHead(null), size: 300_000 });
    for (const value of [1, 2, 3]) lender.send(run, value, 100_000);
    run.handlers.onEnd();
  });
  const expected = Buffer.concat([1, 2, 3].map((value) => Buffer.alloc(100_000, value)));
  const path = '/pdb/query/v4/catalogs/n1';
  const plain = await ask(port, path);
  assert.equal(plain.headers['content-length'], '300000');
  assert.equal(plain.headers['transfer-encoding'], undefined);
  assert.ok(plain.bytes.equals(expected));
  const packed = await ask(port, path, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(packed.headers['content-length'], undefined);
  assert.ok(gunzipSync(packed.bytes).equals(expected));
  const head = await ask(port, path, { method: 'HEAD' });
  assert.deepEqual([head.headers['content-length'], head.text], ['300000', '']);
  await until('all free', () => lender.free === lender.lent);
});

test('query: an answer to HEAD gives shared memory back at once', async (t) => {
  const lender = new Lender();
  const { port } = await start(t, (run) => {
    run.handlers.onHead(jsonHead(null));
    for (let count = 0; count < 5; count++) lender.send(run, 1, 1000);
    assert.equal(lender.free, 5);
    run.handlers.onEnd();
  });
  assert.equal((await ask(port, '/pdb/query/v4/facts', { method: 'HEAD' })).text, '');
});
