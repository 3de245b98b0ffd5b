// Bodies that are taken in parts: what the client may send ahead, and how they end.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { BodyTooLarge, ClientGone, type Mount } from '../../../server/http/exchange.ts';
import { PartQueue } from '../../../server/http/part-queue.ts';
import { atEnd } from '../../support/endings.ts';
import { RawClient } from '../../support/raw-client.ts';
import { pause, until } from '../../support/waiting.ts';
import { ask, listen } from '../support/http.ts';

const text = (body: string, status = 200) => ({ status, contentType: 'text/plain;charset=utf-8', body });
const MIB = 1024 * 1024;
/** What the operating system's sockets and node's buffers may hold beside ours. */
const systemBytesMax = 24 * MIB;

/** Counts the body, part by part; waits before each one until `gate` lets it. */
function counter(gate: () => Promise<void> = async () => {}, max = Number.POSITIVE_INFINITY) {
  const seen = { bytes: 0, error: null as unknown, why: '' };
  const mount: Mount = {
    prefix: '/count',
    handler: async (exchange) => {
      try {
        for await (const part of exchange.bodyStream(max)) {
          await gate();
          seen.bytes += part.byteLength;
        }
      } catch (error) {
        seen.error = error;
        seen.why = exchange.whyAborted;
        throw error;
      }
      exchange.reply(text(String(seen.bytes)));
    },
  };
  return { mount, seen };
}

test('body in parts: arrives whole, with and without a length, and empty', async (t) => {
  const body = Buffer.alloc(3 * MIB + 1, 'x');
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
    const { mount } = counter();
    const listener = await listen(t, [mount]);
    assert.equal((await ask(listener.port, '/count', { method: 'POST', body, headers })).text, String(body.byteLength));
  }
  const { mount } = counter();
  const listener = await listen(t, [mount]);
  assert.equal((await ask(listener.port, '/count', { method: 'POST', body: '' })).text, '0');
});

test('body in parts: the client waits for the handler, and no time-out runs meanwhile', async (t) => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { mount, seen } = counter(() => opened);
  const listener = await listen(t, [mount], { limits: { stallMs: 500, requestMs: 500, headMs: 500 } });
  const outgoing = request({ port: listener.port, path: '/count', method: 'POST', agent: false });
  const answer = new Promise<number>((resolve, reject) => {
    outgoing.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject);
  });
  const part = Buffer.alloc(MIB);
  const total = 100;
  let sent = 0;
  const send = async () => {
    while (sent < total) {
      const hasRoom = outgoing.write(part);
      sent++;
      if (!hasRoom) await new Promise((resolve) => outgoing.once('drain', resolve));
    }
    outgoing.end();
  };
  const sending = send();
  // Longer than every time-out, and the client cannot go on by itself.
  await new Promise((resolve) => setTimeout(resolve, 800));
  const held = sent;
  assert.ok(held * MIB < systemBytesMax, `${held} MiB were sent ahead`);
  assert.equal(seen.bytes, 0);
  open();
  await sending;
  assert.equal(await answer, 200);
  assert.equal(seen.bytes, total * MIB);
});

test('body in parts: a slow client may take longer than other requests, a silent one is cut off', async (t) => {
  const { mount, seen } = counter();
  const limits = { stallMs: 50, stallLongMs: 1000, requestMs: 200, headMs: 200 };
  const listener = await listen(t, [mount], { limits });
  const client = await RawClient.open(listener.port);
  atEnd(t, () => client.close());
  client.send('POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n');
  for (let index = 0; index < 10; index++) {
    client.send('x'.repeat(50));
    await new Promise((resolve) => setTimeout(resolve, 80));
  }
  assert.equal(client.isClosed, false);
  const silent = performance.now();
  await client.closed();
  assert.ok(performance.now() - silent > 100);
  await until('end of the body', () => seen.error !== null);
  assert.ok(seen.error instanceof ClientGone);
  assert.equal(seen.bytes, 500);
  assert.equal(seen.why, 'the client has sent nothing for 1 s');
  assert.equal(client.received, '');
});

test('body in parts: a client that is held up is not at fault, one that is silent when it may go on is', async (t) => {
  for (const missing of [0, 10]) {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { mount, seen } = counter(() => opened);
    const limits = { bodyBufferBytes: 1000, stallLongMs: 800 };
    const listener = await listen(t, [mount], { limits });
    const client = await RawClient.open(listener.port);
    atEnd(t, () => client.close());
    client.send(`POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: ${50_000 + missing}\r\n\r\n`);
    client.send('x'.repeat(50_000));
    await pause(1800);
    assert.equal(client.isClosed, false);
    open();
    if (missing === 0) assert.match(await client.until((received) => received.endsWith('50000')), /^HTTP\/1\.1 200/);
    else {
      await client.closed();
      await until('end of the body', () => seen.error !== null);
      assert.equal(seen.why, 'the client has sent nothing for 0.8 s');
    }
  }
});

test('body in parts: who does not take the answer has no more time for that than others', async (t) => {
  const answering = (prefix: string, takesAll: boolean): Mount => ({
    prefix,
    handler: async (exchange) => {
      for await (const _ of exchange.bodyStream(1000)) if (!takesAll) break;
      const writer = exchange.stream({ status: 200, contentType: null });
      const chunk = new Uint8Array(65_536);
      while (!exchange.aborted) if (!writer.write(chunk)) await writer.drained();
    },
  });
  const mounts = [answering('/behind', true), answering('/early', false)];
  const limits = { stallMs: 1000, stallLongMs: 120_000, drainBytesMax: 1000 };
  const chunk = (size: number): string => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
  for (const [path, head, bodies] of [
    ['/behind', 'Content-Length: 1', ['x']],
    // Too long to be read to its end before the answer.
    ['/early', 'Transfer-Encoding: chunked', [chunk(600), chunk(900)]],
  ] as const) {
    const listener = await listen(t, mounts, { limits });
    const client = await RawClient.open(listener.port, { flowing: false });
    atEnd(t, () => client.close());
    client.send(`POST ${path} HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
    for (const body of bodies) {
      client.send(body);
      await pause(50);
    }
    await until('it is cut off', () => listener.records.length === 1);
    assert.deepEqual([listener.records[0]!.status, listener.records[0]!.completed], [200, false], path);
  }
});

test('body in parts: one beyond its limit is refused, declared or not, after it was read', async (t) => {
  const { mount, seen } = counter(undefined, MIB);
  const listener = await listen(t, [mount]);
  const body = Buffer.alloc(2 * MIB);
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
    const answer = await ask(listener.port, '/count', { method: 'POST', body, headers });
    assert.deepEqual([answer.status, answer.text], [413, `Request body is larger than ${MIB} bytes`]);
    assert.ok(seen.error instanceof BodyTooLarge);
  }
});

test('body in parts: what a handler leaves is read before its answer, the connection stays good', async (t) => {
  const first: Mount = {
    prefix: '/first',
    handler: async (exchange) => {
      for await (const part of exchange.bodyStream(10 * MIB)) {
        exchange.reply(text(`${part.byteLength > 0}`));
        return;
      }
    },
  };
  const listener = await listen(t, [first], { limits: { drainBytesMax: 1000 } });
  const client = await RawClient.open(listener.port);
  atEnd(t, () => client.close());
  for (let index = 0; index < 2; index++) {
    client.received = '';
    client.send(`POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: ${5 * MIB}\r\n\r\n`);
    client.send(Buffer.alloc(MIB));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(client.received, '', 'an answer before the end of the body');
    client.send(Buffer.alloc(4 * MIB));
    assert.match(await client.until((received) => received.endsWith('true')), /^HTTP\/1\.1 200/);
  }
});

test('body in parts: a client that was held up is let go on when the handler leaves', async (t) => {
  const late: Mount = {
    prefix: '/late',
    handler: async (exchange) => {
      for await (const part of exchange.bodyStream(10 * MIB)) {
        // So much comes meanwhile that the client is held up.
        await new Promise((resolve) => setTimeout(resolve, 50));
        exchange.reply(text(`${part.byteLength > 0}`));
        return;
      }
    },
  };
  const listener = await listen(t, [late], { limits: { bodyBufferBytes: 1000 } });
  const body = Buffer.alloc(5 * MIB);
  assert.equal((await ask(listener.port, '/late', { method: 'POST', body })).text, 'true');
});

test('body in parts: a client that leaves while the handler works ends the body', async (t) => {
  let begun = 0;
  const { mount, seen } = counter(async () => {
    begun++;
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
  const listener = await listen(t, [mount]);
  const client = await RawClient.open(listener.port);
  client.send(`POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: ${50 * MIB}\r\n\r\n`);
  client.send(Buffer.alloc(2 * MIB));
  await until('first part', () => begun > 0);
  client.close();
  await until('end of the body', () => seen.error !== null);
  assert.ok(seen.error instanceof ClientGone);
  await until('end of the connection', () => listener.requestCount === 0 && listener.connectionCount === 0);
  assert.deepEqual(listener.errors, []);
});

test('part queue: its source pauses where it is full, and goes on once when what was there is taken or dropped', async () => {
  const calls: string[] = [];
  const source = { pause: () => void calls.push('pause'), resume: () => void calls.push('resume') };
  const part = new Uint8Array(512);
  const full = (): PartQueue => {
    const queue = new PartQueue(source, 4096);
    // What a part takes beside its bytes counts, too.
    for (let i = 1; i <= 6; i++) {
      queue.put(part);
      assert.equal(calls.length, i < 4 ? 0 : 1, `${i} parts`);
    }
    return queue;
  };
  const taken = full();
  const reader = taken.read();
  for (let i = 0; i < 6; i++) assert.equal((await reader.next()).value, part);
  taken.put(part);
  assert.equal((await reader.next()).value, part);
  assert.deepEqual(calls.splice(0), ['pause', 'resume']);
  taken.put(part);
  taken.end();
  assert.equal((await reader.next()).value, part);
  assert.equal((await reader.next()).done, true);
  const left = full();
  left.drop();
  for (let i = 0; i < 20; i++) left.put(part);
  assert.deepEqual(calls.splice(0), ['pause', 'resume']);
  assert.equal((await left.read().next()).done, true);
  const failed = full();
  const rest = failed.read();
  await rest.next();
  failed.fail(new Error('gone'));
  failed.fail(new Error('later'));
  await assert.rejects(rest.next(), /gone/);
  assert.deepEqual(calls, ['pause', 'resume']);
});
