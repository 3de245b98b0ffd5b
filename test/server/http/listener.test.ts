import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { BodyPieces } from '../../../server/http/body-pieces.ts';
import { BodyTooLarge, type BodyWriter, type Exchange, type Mount } from '../../../server/http/exchange.ts';
import { collect } from '../../support/collect.ts';
import { atEnd } from '../../support/endings.ts';
import { RawClient } from '../../support/raw-client.ts';
import { pause, until } from '../../support/waiting.ts';
import { ask, listen } from '../support/http.ts';

const text = (body: string, status = 200) => ({ status, contentType: 'text/plain;charset=utf-8', body });

/** Answers with the size of the body. */
const sizes = (max = 1 << 20): Mount => ({
  prefix: '/size',
  handler: async (exchange) => exchange.reply(text(String((await exchange.body(max)).byteLength))),
});

const hello: Mount = { prefix: '/hello', handler: (exchange) => exchange.reply(text('hello')) };

test('listener: answers a request and reports it once', async (t) => {
  const listener = await listen(t, [hello]);
  const answer = await ask(listener.port, '/hello?a=1', { headers: { 'user-agent': 'tester', referer: 'x' } });
  assert.equal(answer.status, 200);
  assert.equal(answer.text, 'hello');
  assert.equal(answer.headers['content-type'], 'text/plain;charset=utf-8');
  assert.equal(answer.headers['content-length'], '5');
  assert.equal(answer.headers['vary'], 'Accept-Encoding, User-Agent');
  await until('record', () => listener.records.length === 1);
  const record = listener.records[0];
  assert.equal(record?.path, '/hello');
  assert.equal(record?.queryString, 'a=1');
  assert.equal(record?.userAgent, 'tester');
  assert.equal(record?.referer, 'x');
  assert.equal(record?.bytes, 5);
  assert.equal(record?.completed, true);
  assert.equal(record?.remoteAddress, '127.0.0.1');
});

test('listener: the body belongs to the handler alone, so that it can be transferred', async (t) => {
  const transferred: number[] = [];
  const mount: Mount = {
    prefix: '/take',
    handler: async (exchange) => {
      const body = await exchange.body(1000);
      assert.equal(body.byteOffset, 0);
      assert.equal(body.buffer.byteLength, body.byteLength);
      transferred.push(structuredClone(body.buffer, { transfer: [body.buffer as ArrayBuffer] }).byteLength);
      exchange.reply(text('ok'));
    },
  };
  const listener = await listen(t, [mount]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  atEnd(t, () => agent.destroy());
  for (const body of ['a', 'bc', '']) {
    assert.equal((await ask(listener.port, '/take', { method: 'POST', body, agent })).status, 200);
  }
  assert.deepEqual(transferred, [1, 2, 0]);
});

test('listener: a body larger than allowed is read to its end before it is refused', async (t) => {
  const listener = await listen(t, [sizes(1000)]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  atEnd(t, () => agent.destroy());
  const declared = await ask(listener.port, '/size', { method: 'POST', body: Buffer.alloc(500_000), agent });
  assert.equal(declared.status, 413);
  const chunked = await ask(listener.port, '/size', {
    method: 'POST',
    headers: { 'transfer-encoding': 'chunked' },
    body: Buffer.alloc(1001),
    agent,
  });
  assert.equal(chunked.status, 413);
  const exact = await ask(listener.port, '/size', { method: 'POST', body: Buffer.alloc(1000), agent });
  assert.equal(exact.text, '1000');
  assert.equal(listener.connectionCount, 1);
});

test('listener: a body too long to be thrown away is answered before its end, and cut off when it does not end', async (t) => {
  const drainBytesMax = 100_000;
  const listener = await listen(t, [sizes(1000), hello], { limits: { drainBytesMax } });
  const isAnswered = (received: string) => received.startsWith('HTTP/1.1 ') && received.includes('\r\n\r\n');
  const chunk = `${drainBytesMax.toString(16)}\r\n${'x'.repeat(drainBytesMax)}\r\n`;
  for (const [path, status] of [
    ['/size', 413],
    ['/hello', 200],
  ] as const) {
    // Declared: at once. A client that sends all of it first gets its answer, too.
    const declared = await RawClient.open(listener.port);
    declared.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${drainBytesMax * 1.5}\r\n\r\n`);
    assert.match(await declared.until(isAnswered), new RegExp(`^HTTP/1.1 ${status} `));
    declared.send(Buffer.alloc(drainBytesMax * 1.5));
    declared.received = '';
    declared.send('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(await declared.until(isAnswered), /^HTTP\/1.1 200 /);
    declared.close();
    // In chunks: when so much has come. Who goes on is cut off.
    const chunked = await RawClient.open(listener.port);
    chunked.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
    chunked.send(`${chunk}1\r\nx\r\n`);
    assert.match(await chunked.until(isAnswered), new RegExp(`^HTTP/1.1 ${status} `));
    assert.equal(chunked.isClosed, false);
    chunked.send(chunk + chunk);
    await until('end of the connection', () => chunked.isClosed);
  }
});

test('listener: what a body in tiny chunks takes is its bytes, which come whole and in order', async (t) => {
  const echo: Mount = {
    prefix: '/echo',
    handler: async (exchange) => exchange.reply({ ...text(''), body: await exchange.body(1 << 20) }),
  };
  const listener = await listen(t, [echo]);
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
  const parts: Buffer[] = [];
  // One byte each, now and then one that is large.
  for (let at = 0, count = 0; at < bytes.length; count++) {
    const part = bytes.subarray(at, (at += count % 5_000 === 4_999 ? 9_000 : 1));
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  const client = await RawClient.open(listener.port);
  client.send('POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
  client.send(Buffer.concat(parts));
  client.send('0\r\n\r\n');
  assert.ok((await client.closed()).endsWith(bytes.toString('latin1')));

  const pieces = new BodyPieces();
  collect();
  const before = process.memoryUsage();
  const packets = Buffer.alloc(1_000_000, 'x');
  for (let at = 0; at < packets.length; at++) pieces.add(new Uint8Array(packets.buffer, packets.byteOffset + at, 1));
  collect();
  const after = process.memoryUsage();
  const taken = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers - packets.length;
  assert.ok(taken < 2 * packets.length, `a million bytes take ${taken}`);
  assert.deepEqual(Buffer.from(pieces.join()), packets);
});

test('listener: connections beyond the bound are closed, those that there are go on', async (t) => {
  let refused = 0;
  const limits = { connectionsMax: 2 };
  const listener = await listen(t, [hello], { limits, onFull: () => refused++ });
  const clients = await Promise.all([1, 2].map(() => RawClient.open(listener.port)));
  await until('two connections', () => listener.connectionCount === 2);
  const third = await RawClient.open(listener.port);
  assert.equal(await third.closed(), '');
  assert.equal(refused, 1);
  for (const client of clients) {
    client.send('GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(await client.closed(), /hello$/);
  }
  assert.equal((await ask(listener.port, '/hello')).text, 'hello');
});

test('listener: headers beyond a number are not left out', async (t) => {
  const listener = await listen(t, [sizes()]);
  const client = await RawClient.open(listener.port);
  const many = Array.from({ length: 3000 }, (_, index) => `X-${index}: 1\r\n`).join('');
  client.send(`POST /size HTTP/1.1\r\nHost: x\r\n${many}Connection: close\r\nContent-Length: 3\r\n\r\nabc`);
  assert.match(await client.closed(), /^HTTP\/1.1 200 [\s\S]*\r\n\r\n3$/);
});

test('listener: a client that comes by IPv4 has its own address on a listener that speaks IPv6', async (t) => {
  const listener = await listen(t, [hello], { at: { host: '::', port: 0 } });
  await ask(listener.port, '/hello');
  await until('record', () => listener.records[0]?.remoteAddress === '127.0.0.1');
});

test('listener: a body nobody asked for is read before the answer goes out', async (t) => {
  const listener = await listen(t, [hello]);
  const client = await RawClient.open(listener.port);
  atEnd(t, () => client.close());
  client.send('POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc');
  await until('request', () => listener.requestCount === 1);
  assert.equal(client.received, '');
  client.send('def');
  assert.match(await client.until((received) => received.endsWith('hello')), /^HTTP\/1\.1 200/);
});

test('listener: bodies in several pieces, in chunks and after 100-continue', async (t) => {
  const listener = await listen(t, [sizes()]);
  const client = await RawClient.open(listener.port);
  atEnd(t, () => client.close());
  client.send('POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
  await until('request', () => listener.requestCount === 1);
  client.send('4\r\ndefg\r\n0\r\n\r\n');
  await client.until((received) => received.endsWith('\r\n\r\n7'));
  client.received = '';
  client.send('POST /size HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  await client.until((received) => received.startsWith('HTTP/1.1 100 Continue\r\n\r\n'));
  client.send('ab');
  await client.until((received) => received.endsWith('\r\n\r\n2'));
});

test('listener: a request may arrive byte by byte', async (t) => {
  const listener = await listen(t, [hello]);
  const client = await RawClient.open(listener.port);
  atEnd(t, () => client.close());
  for (const byte of 'GET /hello?x=1 HTTP/1.1\r\nHost: x\r\n\r\n') {
    client.send(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await client.until((received) => received.endsWith('hello'));
});

test('listener: request lines up to the limit are taken, longer heads are refused', async (t) => {
  const listener = await listen(t, [
    { prefix: '/length', handler: (e) => e.reply(text(String(e.queryString.length))) },
  ]);
  assert.equal((await ask(listener.port, `/length?${'q'.repeat(200_000)}`)).text, '200000');
  const client = await RawClient.open(listener.port);
  client.send(`GET /length?${'q'.repeat(300_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  assert.match(await client.closed(), /^HTTP\/1\.1 431 /);
});

test('listener: requests sent ahead are answered in order, one at a time', async (t) => {
  let active = 0;
  let activeMax = 0;
  const slow: Mount = {
    prefix: '/slow',
    handler: async (exchange) => {
      activeMax = Math.max(activeMax, ++active);
      await new Promise((resolve) => setTimeout(resolve, 2));
      const body = await exchange.body(100);
      active--;
      exchange.reply(text(`[${exchange.queryString}:${body.byteLength}]`));
    },
  };
  const listener = await listen(t, [slow]);
  const client = await RawClient.open(listener.port);
  atEnd(t, () => client.close());
  let all = '';
  for (let index = 0; index < 50; index++) {
    all +=
      index % 3 === 0
        ? `POST /slow?${index} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody`
        : `GET /slow?${index} HTTP/1.1\r\nHost: x\r\n\r\n`;
  }
  client.send(all);
  await client.until((received) => received.endsWith('[49:0]'));
  const order = [...client.received.matchAll(/\[(\d+):\d\]/g)].map((match) => Number(match[1]));
  assert.deepEqual(
    order,
    Array.from({ length: 50 }, (_, index) => index),
  );
  assert.equal(activeMax, 1);
});

test('listener: a client that has sent as much ahead as it may is read from again when there is room', async (t) => {
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const held: Mount = {
    prefix: '/held',
    handler: async (exchange) => {
      await gate;
      exchange.reply(text(`[${exchange.queryString}]`));
    },
  };
  const listener = await listen(t, [held], { limits: { pipelineMax: 3 } });
  const client = await RawClient.open(listener.port);
  atEnd(t, () => client.close());
  const send = (from: number, count: number): void => {
    for (let i = from; i < from + count; i++) client.send(`GET /held?${i} HTTP/1.1\r\nHost: x\r\n\r\n`);
  };
  send(0, 4);
  await until('the first request', () => listener.requestCount === 1);
  await pause(50);
  send(4, 10);
  await pause(50);
  go();
  await client.until((received) => received.endsWith('[13]'));
});

test('listener: a client that sends very many requests ahead is cut off', async (t) => {
  const held: Mount = { prefix: '/held', handler: (exchange) => until('the client is gone', () => exchange.aborted) };
  const listener = await listen(t, [held], { limits: { pipelineMax: 3, pipelineCut: 30 } });
  const sent = async (count: number): Promise<RawClient> => {
    const client = await RawClient.open(listener.port);
    client.send('GET /held HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count));
    return client;
  };
  const patient = await sent(31);
  assert.equal(await (await sent(32)).closed(), '');
  await until('nothing is left of it', () => listener.connectionCount === 1 && listener.requestCount === 1);
  assert.equal(patient.isClosed, false);
  patient.close();
});

test('listener: what a client that has gone had sent ahead is not begun with', async (t) => {
  let begun = 0;
  const held: Mount = {
    prefix: '/held',
    handler: async (exchange) => {
      begun++;
      await until('the client is gone', () => exchange.aborted);
    },
  };
  const listener = await listen(t, [held, hello]);
  const client = await RawClient.open(listener.port);
  client.send('GET /held HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5));
  await until('the first request', () => begun === 1);
  client.socket.resetAndDestroy();
  await until('nothing is left of it', () => listener.requestCount === 0 && listener.connectionCount === 0);
  await ask(listener.port, '/hello');
  assert.equal(begun, 1);
});

test('listener: a handler does not wait for room on a connection that is gone', async (t) => {
  let over = 0;
  const full: Mount = {
    prefix: '/full',
    handler: async (exchange) => {
      const writer = exchange.stream({ status: 200, contentType: null });
      while (writer.write(Buffer.alloc(1 << 20)));
      await until('the client is gone', () => exchange.aborted);
      await writer.drained();
      over++;
    },
  };
  const listener = await listen(t, [full]);
  const client = await RawClient.open(listener.port, { flowing: false });
  client.send('GET /full HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('request', () => listener.requestCount === 1);
  client.socket.resetAndDestroy();
  await until('it goes on', () => over === 1);
});

test('listener: connections are kept or closed as the client asks, HTTP/1.0 included', async (t) => {
  const listener = await listen(t, [hello]);
  const kept = await RawClient.open(listener.port);
  atEnd(t, () => kept.close());
  kept.send('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
  await kept.until((received) => received.endsWith('hello'));
  kept.send('GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const all = await kept.closed();
  assert.equal(all.split('hello').length, 3);
  assert.match(all, /Connection: close/i);
  const old = await RawClient.open(listener.port);
  old.send('GET /hello HTTP/1.0\r\n\r\n');
  assert.match(await old.closed(), /^HTTP\/1\.1 200 [\s\S]*hello$/);
});

test('listener: HEAD gets the head of the answer, with its length', async (t) => {
  const streamed: Mount = {
    prefix: '/stream',
    handler: (exchange) => {
      const writer = exchange.stream({ status: 200, contentType: 'text/plain;charset=utf-8' });
      writer.write(Buffer.from('never seen'));
      writer.end();
    },
  };
  const listener = await listen(t, [hello, streamed]);
  for (const [path, length] of [
    ['/hello', true],
    ['/stream', false],
  ] as const) {
    const client = await RawClient.open(listener.port);
    client.send(`HEAD ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const received = await client.closed();
    assert.match(received, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n$/);
    assert.equal(received.includes('Content-Length: 5\r\n'), length);
    assert.equal(/content-length/i.test(received), length);
  }
});

test('listener: what is no HTTP is refused with a 400 and cut off', async (t) => {
  const listener = await listen(t, [hello]);
  for (const bad of [
    'hello there\r\n\r\n',
    'GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
  ]) {
    const client = await RawClient.open(listener.port);
    client.send(bad);
    const received = await client.closed();
    assert.match(received, /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.ok(received.endsWith('<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>'));
  }
});

test('listener: garbage behind requests is not taken for their answers, nor does it keep them from coming', async (t) => {
  const late: Mount = {
    prefix: '/late',
    handler: async (exchange) => {
      await pause(50);
      exchange.reply({ status: 200, contentType: null, headers: [], body: exchange.path });
    },
  };
  const listener = await listen(t, [late]);
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const post = (size: number): string => `POST /late/c HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\nbody`;
  for (const [sent, paths] of [
    [`${get('/late/a')}garbage\r\n\r\n`, ['/late/a']],
    [`${get('/late/a')}${get('/late/b')}garbage\r\n\r\n`, ['/late/a', '/late/b']],
    [`${get('/late/a')}${get('/late/b?ü')}`, ['/late/a']],
    // It is longer than it says.
    [post(2), ['/late/c']],
    // Of these no more comes.
    [`${get('/late/a')}POST /late/d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n`, ['/late/a']],
    [
      `${get('/late/a')}${get('/late/b')}POST /late/d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-\r\n`,
      ['/late/a', '/late/b'],
    ],
  ] as const) {
    const client = await RawClient.open(listener.port);
    client.send(sent);
    const received = await client.closed();
    const answers = paths.map((path) => `HTTP/1\\.1 200 OK\\r\\n(?:.+\\r\\n)+\\r\\n${path}`).join('');
    assert.match(received, new RegExp(`^${answers}HTTP/1\\.1 400 Bad Request\\r\\n`));
    assert.ok(received.endsWith('<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>'));
  }
  await until('end of the requests', () => listener.requestCount === 0);
});

test('listener: a body that comes too slowly behind a request is cut off when that has been answered', async (t) => {
  const late: Mount = {
    prefix: '/late',
    handler: async (exchange) => {
      await pause(1500);
      exchange.reply({ status: 200, contentType: null, headers: [], body: 'late' });
    },
  };
  const sized: Mount = {
    prefix: '/sized',
    handler: async (exchange) => {
      const { length } = await exchange.body(1000);
      exchange.reply({ status: 200, contentType: null, headers: [], body: `${length}` });
    },
  };
  const listener = await listen(t, [late, sized], { limits: { headMs: 400, requestMs: 800, stallMs: 5000 } });
  const client = await RawClient.open(listener.port);
  client.send('GET /late HTTP/1.1\r\nHost: x\r\n\r\nPOST /sized HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n');
  const drops = setInterval(() => client.socket.write('x'), 200);
  const started = performance.now();
  const received = await client.closed();
  clearInterval(drops);
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nlateHTTP\/1\.1 408 Request Timeout\r\n/);
  assert.ok(performance.now() - started < 4500);
});

test('listener: a client that goes while a request behind its first one is broken ends both', async (t) => {
  // As queries do, which end when nobody waits for them.
  const query: Mount = { prefix: '/never', handler: (exchange) => new Promise((resolve) => exchange.onAbort(resolve)) };
  const listener = await listen(t, [query]);
  const client = await RawClient.open(listener.port);
  client.send('GET /never HTTP/1.1\r\nHost: x\r\n\r\ngarbage\r\n\r\n');
  await until('the request', () => listener.requestCount === 1);
  assert.equal(client.received.toString(), '');
  client.socket.destroy();
  await until('end of the request', () => listener.requestCount === 0);
});

test('listener: a header that would split the answer is a 500, not a second header', async (t) => {
  const listener = await listen(t, [
    {
      prefix: '/split',
      handler: (exchange) =>
        exchange.reply({ status: 200, contentType: null, headers: [['X-A', 'b\r\nSet-Cookie: c']], body: 'x' }),
    },
  ]);
  const answer = await ask(listener.port, '/split');
  assert.equal(answer.status, 500);
  assert.equal(answer.headers['set-cookie'], undefined);
  assert.equal(listener.errors.length, 1);
});

test('listener: a failing handler is answered with its message, and told to the log', async (t) => {
  const listener = await listen(t, [
    {
      prefix: '/throws',
      handler: () => {
        throw new Error('sync');
      },
    },
    {
      prefix: '/rejects',
      handler: async () => {
        await Promise.resolve();
        throw new Error('async');
      },
    },
    {
      prefix: '/late',
      handler: async (exchange) => {
        const writer = exchange.stream({ status: 200, contentType: 'text/plain' });
        writer.write(Buffer.from('part'));
        throw new Error('late');
      },
    },
  ]);
  assert.deepEqual(
    [(await ask(listener.port, '/throws')).status, (await ask(listener.port, '/throws')).text],
    [500, 'sync'],
  );
  assert.equal((await ask(listener.port, '/rejects')).text, 'async');
  await assert.rejects(ask(listener.port, '/late'));
  assert.equal(listener.errors.length, 4);
});

test('listener: only what is large and asked for is compressed', async (t) => {
  const body = 'abcdefghij'.repeat(1000);
  const larger = 'ä€𝄞'.repeat(10_000);
  const listener = await listen(t, [
    { prefix: '/large', handler: (e) => e.reply(text(body)) },
    { prefix: '/larger', handler: (e) => e.reply(text(larger)) },
    { prefix: '/error', handler: (e) => e.reply(text(body, 404)) },
    { prefix: '/image', handler: (e) => e.reply({ status: 200, contentType: 'image/png', body }) },
    hello,
  ]);
  const headers = { 'accept-encoding': 'gzip;q=1.0,deflate;q=0.6,identity;q=0.3' };
  // At once, and in another thread.
  for (const [path, plain] of [
    ['/large', body],
    ['/larger', larger],
  ] as const) {
    const zipped = await ask(listener.port, path, { headers });
    assert.equal(zipped.headers['content-encoding'], 'gzip', path);
    assert.equal(zipped.headers['content-length'], String(zipped.bytes.byteLength));
    assert.equal(gunzipSync(zipped.bytes).toString(), plain);
  }
  assert.equal((await ask(listener.port, '/large')).text, body);
  assert.equal((await ask(listener.port, '/large', { headers: { 'accept-encoding': 'gzip;q=0' } })).text, body);
  for (const path of ['/hello', '/error', '/image']) {
    assert.equal((await ask(listener.port, path, { headers })).headers['content-encoding'], undefined, path);
  }
  assert.equal((await ask(listener.port, '/error', { headers })).headers['vary'], undefined);
});

/** Writes `count` chunks as fast as the client takes them. */
const stream = (count: number, chunk: Uint8Array, seen: { writer?: BodyWriter; written: number }): Mount => ({
  prefix: '/stream',
  handler: async (exchange) => {
    const writer = exchange.stream({ status: 200, contentType: 'application/json;charset=utf-8' });
    seen.writer = writer;
    for (let index = 0; index < count && !exchange.aborted; index++) {
      seen.written += chunk.byteLength;
      if (!writer.write(chunk)) await writer.drained();
    }
    writer.end();
  },
});

test('listener: streamed answers arrive whole, plain and compressed', async (t) => {
  const chunk = Buffer.from('0123456789abcdef'.repeat(4096));
  const listener = await listen(t, [stream(100, chunk, { written: 0 })]);
  const plain = await ask(listener.port, '/stream');
  assert.equal(plain.headers['transfer-encoding'], 'chunked');
  assert.equal(plain.bytes.byteLength, 100 * chunk.byteLength);
  const zipped = await ask(listener.port, '/stream', { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.ok(gunzipSync(zipped.bytes).equals(plain.bytes));
  await until('records', () => listener.records.length === 2);
  assert.equal(listener.records[0]?.bytes, plain.bytes.byteLength);
  assert.equal(listener.records[1]?.bytes, zipped.bytes.byteLength);
});

for (const coding of ['identity', 'gzip']) {
  test(`listener: a reader that stops holds back the writer, ${coding}`, async (t) => {
    const chunk = randomBytes(64 * 1024);
    const seen = { written: 0 };
    const listener = await listen(t, [stream(100_000, chunk, seen)]);
    const socket = connect({ host: '127.0.0.1', port: listener.port });
    atEnd(t, () => {
      socket.destroy();
    });
    await once(socket, 'connect');
    socket.write(`GET /stream HTTP/1.1\r\nHost: x\r\nAccept-Encoding: ${coding}\r\n\r\n`);
    await once(socket, 'readable');
    let before = -1;
    // The buffers of two kernels and of the listener fill up; then nothing moves any more.
    while (seen.written !== before) {
      before = seen.written;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.ok(seen.written < 32 * 1024 * 1024, `${seen.written} bytes were taken`);
    socket.destroy();
    await until('the end of the request', () => listener.records.length === 1);
    assert.equal(listener.records[0]?.completed, false);
    assert.equal(listener.requestCount, 0);
  });
}

test('listener: a client that takes nothing for too long is cut off', async (t) => {
  const seen = { written: 0 };
  const listener = await listen(t, [stream(100_000, Buffer.alloc(64 * 1024), seen)], { limits: { stallMs: 200 } });
  const socket = connect({ host: '127.0.0.1', port: listener.port });
  atEnd(t, () => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('the cut', () => listener.records.length === 1);
  assert.equal(listener.records[0]?.completed, false);
});

test('listener: a slow reader gets everything as long as it keeps reading', async (t) => {
  const seen = { written: 0 };
  const listener = await listen(t, [stream(160, Buffer.alloc(64 * 1024, 'x'), seen)], { limits: { stallMs: 700 } });
  const socket = connect({ host: '127.0.0.1', port: listener.port });
  await once(socket, 'connect');
  socket.write('GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  let size = 0;
  let sincePause = 0;
  for await (const chunk of socket) {
    size += (chunk as Buffer).byteLength;
    sincePause += (chunk as Buffer).byteLength;
    if (sincePause > 512 * 1024) {
      sincePause = 0;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  assert.ok(size > 160 * 64 * 1024);
});

test('listener: a client that stops sending its body is cut off; one that leaves is noticed', async (t) => {
  const begin = async ({ port }: { readonly port: number }): Promise<RawClient> => {
    const client = await RawClient.open(port);
    client.send('POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
    return client;
  };
  const [impatient, patient] = [await listen(t, [sizes()], { limits: { stallMs: 150 } }), await listen(t, [sizes()])];
  await (await begin(impatient)).closed();
  const leaving = await begin(patient);
  await until('request', () => patient.requestCount === 1);
  leaving.close();
  for (const listener of [impatient, patient]) {
    await until('record', () => listener.records.length === 1);
    const { status, completed } = listener.records[0]!;
    assert.deepEqual([status, completed, listener.errors], [0, false, []]);
  }
});

test('listener: who asks late whether the client has left is told', async (t) => {
  let told = 0;
  const late: Mount = {
    prefix: '/late',
    handler: async (exchange: Exchange) => {
      await until('it has left', () => exchange.aborted);
      exchange.onAbort(() => told++);
    },
  };
  const listener = await listen(t, [late]);
  const client = await RawClient.open(listener.port);
  client.send('GET /late HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('request', () => listener.requestCount === 1);
  client.socket.resetAndDestroy();
  await until('it was told', () => told === 1);
});

for (const at of ['its own address', 'accepted connections']) {
  test(`listener: a client that never finishes its head is cut off (${at})`, async (t) => {
    const limits = { headMs: 200, stallMs: 5000 };
    const listener = await listen(t, [hello], at === 'its own address' ? { limits } : { limits, at: 'accept' });
    const gate = createServer((socket) =>
      listener.accept(socket, { name: null, address: '', extensions: () => null }),
    ).listen(0, '127.0.0.1');
    await once(gate, 'listening');
    atEnd(t, async () => {
      gate.close();
    });
    const client = await RawClient.open(listener.port === 0 ? (gate.address() as AddressInfo).port : listener.port);
    client.send('GET /hello HTTP/1.1\r\nHost: x\r\n');
    const drip = setInterval(() => client.send('X: y\r\n'), 50);
    assert.match(await client.closed(), /^HTTP\/1\.1 408 /);
    clearInterval(drip);
  });
}

test('listener: a request that trickles in for too long is cut off', async (t) => {
  const listener = await listen(t, [sizes()], { limits: { headMs: 200, requestMs: 400, stallMs: 5000 } });
  const client = await RawClient.open(listener.port);
  client.send('POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n');
  const drip = setInterval(() => client.send('z'), 50);
  assert.match(await client.closed(), /^HTTP\/1\.1 408 /);
  clearInterval(drip);
  await until('record', () => listener.records[0]?.completed === false);
});

test('listener: a working handler may take longer than any time-out of the connection', async (t) => {
  const listener = await listen(
    t,
    [
      {
        prefix: '/long',
        handler: async (exchange) => {
          await exchange.body(100);
          await new Promise((resolve) => setTimeout(resolve, 800));
          exchange.reply(text('done'));
        },
      },
    ],
    { limits: { stallMs: 300, idleMs: 300, headMs: 300 } },
  );
  assert.equal((await ask(listener.port, '/long', { method: 'POST', body: 'abc' })).text, 'done');
});

test('listener: a handler may take its time between the parts of an answer, also when the client had to catch up', async (t) => {
  const pausing: Mount = {
    prefix: '/pausing',
    handler: async (exchange) => {
      const writer = exchange.stream({ status: 200, contentType: null });
      for (let i = 0; i < 2; i++) {
        assert.equal(writer.write(Buffer.alloc(4 << 20)), false);
        await writer.drained();
        await pause(1600);
      }
      writer.end();
    },
  };
  const listener = await listen(t, [pausing], { limits: { stallMs: 700 } });
  assert.equal((await ask(listener.port, '/pausing')).bytes.byteLength, 8 << 20);
});

test('listener: an idle connection is closed', async (t) => {
  const listener = await listen(t, [hello], { limits: { idleMs: 150 } });
  const client = await RawClient.open(listener.port);
  client.send('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.ok((await client.closed()).endsWith('hello'));
});

test('listener: bodies beyond the common budget are refused with 503 until others are answered', async (t) => {
  const release: (() => void)[] = [];
  const holder: Mount = {
    prefix: '/hold',
    handler: async (exchange: Exchange) => {
      const body = await exchange.body(1000);
      await new Promise<void>((resolve) => release.push(resolve));
      exchange.reply(text(String(body.byteLength)));
    },
  };
  let refused: unknown = null;
  const refusing: Mount = {
    prefix: '/refuse',
    handler: async (exchange: Exchange) => {
      await exchange.body(1000).catch((error: unknown) => (refused = error));
    },
  };
  const listener = await listen(t, [holder, refusing], { limits: { bodiesBytesMax: 1000 } });
  const first = ask(listener.port, '/hold', { method: 'POST', body: 'x'.repeat(800) });
  await until('first body', () => release.length === 1);
  const second = await ask(listener.port, '/hold', { method: 'POST', body: 'x'.repeat(300) });
  assert.equal(second.status, 503);
  assert.equal(second.headers['retry-after'], '1');
  release[0]?.();
  assert.equal((await first).text, '800');
  const third = ask(listener.port, '/hold', { method: 'POST', body: 'x'.repeat(900) });
  await until('third body', () => release.length === 2);
  release[1]?.();
  assert.equal((await third).text, '900');
  // What was kept of a body that turns out to be too large is given back at once, though more of it may come.
  const endless = await RawClient.open(listener.port);
  endless.send('POST /refuse HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  for (const letter of ['a', 'b']) endless.send(`258\r\n${letter.repeat(600)}\r\n`);
  await until('refusal', () => refused instanceof BodyTooLarge);
  const fourth = ask(listener.port, '/hold', { method: 'POST', body: 'x'.repeat(900) });
  await until('fourth body', () => release.length === 3);
  release[2]?.();
  assert.equal((await fourth).text, '900');
  endless.socket.destroy();
  // And once only.
  await until('its end', () => listener.requestCount === 0);
  const fifth = ask(listener.port, '/hold', { method: 'POST', body: 'x'.repeat(900) });
  await until('fifth body', () => release.length === 4);
  assert.equal((await ask(listener.port, '/hold', { method: 'POST', body: 'x'.repeat(300) })).status, 503);
  release[3]?.();
  assert.equal((await fifth).text, '900');
});

test('listener: where there is no room for a body, those that arrive slowly are given up', async (t) => {
  const listener = await listen(t, [sizes(1000)], { limits: { bodiesBytesMax: 1000, slowBodyMs: 20_000 } });
  const slow = await RawClient.open(listener.port);
  atEnd(t, () => slow.close());
  slow.send(`POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n${'x'.repeat(800)}`);
  await until('the slow one', () => listener.requestCount === 1);
  const send = async () => (await ask(listener.port, '/size', { method: 'POST', body: 'x'.repeat(300) })).status;
  assert.equal(await send(), 503);
  const { now } = performance;
  t.mock.method(performance, 'now', () => now.call(performance) + 20_000);
  assert.deepEqual([await send(), await send()], [200, 200]);
  assert.equal(slow.received, '');
  slow.send('x'.repeat(100));
  assert.equal(await slow.status(), 503);
  assert.equal(await send(), 200);
});

test('listener: parts that wait for the end of a body are free when its client leaves before', async (t) => {
  let freed = 0;
  const writers: BodyWriter[] = [];
  const early: Mount = {
    prefix: '/early',
    handler: (exchange) => {
      const writer = exchange.stream({ status: 200, contentType: 'text/plain' });
      for (let part = 0; part < 2; part++) writer.write(Buffer.from('part'), () => freed++);
      writers.push(writer);
    },
  };
  const listener = await listen(t, [early]);
  const client = await RawClient.open(listener.port);
  client.send('POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nbegun');
  await until('parts', () => writers.length === 1);
  assert.equal(freed, 0);
  const drained = writers[0]?.drained();
  client.close();
  await drained;
  assert.equal(freed, 2);
});

test('listener: stopping lets running requests finish and closes the rest', async (t) => {
  let go = (): void => {};
  const waiting: Mount = {
    prefix: '/wait',
    handler: async (exchange) => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      exchange.reply(text('finished'));
    },
  };
  const listener = await listen(t, [waiting, hello]);
  const idle = await RawClient.open(listener.port);
  idle.send('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
  await idle.until((received) => received.endsWith('hello'));
  const answer = ask(listener.port, '/wait', { agent: new Agent({ keepAlive: true }) });
  await until('request', () => listener.requestCount === 1);
  const stopped = listener.stop(2000);
  await idle.closed();
  await assert.rejects(ask(listener.port, '/hello'));
  go();
  assert.equal((await answer).text, 'finished');
  assert.equal((await answer).headers['connection'], 'close');
  assert.equal(await stopped, 0);
  assert.equal(listener.connectionCount, 0);
});

test('listener: stopping cuts what does not finish in time', async (t) => {
  const listener = await listen(t, [{ prefix: '/never', handler: () => new Promise<void>(() => {}) }]);
  const answer = ask(listener.port, '/never');
  answer.catch(() => {});
  await until('request', () => listener.requestCount === 1);
  assert.equal(await listener.stop(50), 1);
  await assert.rejects(answer);
});
