import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import type { Mount } from '../../../server/http/exchange.ts';
import { atEnd } from '../../support/endings.ts';
import { RawClient } from '../../support/raw-client.ts';
import { ask, listen } from '../support/http.ts';

const named = (prefix: string, whileStarting = false): Mount => ({
  prefix,
  whileStarting,
  handler: (exchange) =>
    exchange.reply({ status: 200, contentType: 'text/plain', body: `${prefix}|${exchange.clientName}` }),
});

test('dispatch: the longest prefix that ends at a slash wins', async (t) => {
  const listener = await listen(t, [named('/pdb'), named('/pdb/cmd'), named('/status/v1')]);
  const at = async (path: string): Promise<string> => (await ask(listener.port, path)).text.split('|')[0] ?? '';
  assert.equal(await at('/pdb/cmd/v1'), '/pdb/cmd');
  assert.equal(await at('/pdb/cmd'), '/pdb/cmd');
  assert.equal(await at('/pdb/cmdx'), '/pdb');
  assert.equal(await at('/pdb/cmd?x=/pdb'), '/pdb/cmd');
  assert.equal(await at('/status/v1/simple'), '/status/v1');
});

test('dispatch: a path without a mount gets the page of the web server, with nothing in it to run', async (t) => {
  const listener = await listen(t, [named('/pdb')]);
  const client = await RawClient.open(listener.port);
  client.send('GET /<script>?x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const received = await client.closed();
  assert.match(received, /^HTTP\/1\.1 404 Not Found\r\nContent-Type: text\/html;charset=iso-8859-1\r\n/);
  assert.match(received, /Cache-Control: must-revalidate,no-cache,no-store\r\n/);
  assert.match(received, /<tr><th>URI:<\/th><td>\/&lt;script&gt;<\/td><\/tr>/);
});

test('dispatch: a malformed escape in the path is refused before anything else', async (t) => {
  const listener = await listen(t, [named('/pdb')], { isStarting: () => true });
  const answer = await ask(listener.port, '/pdb/query/v4/nodes/%zz');
  assert.equal(answer.status, 400);
  assert.equal(answer.headers['content-type'], 'text/html;charset=iso-8859-1');
  assert.equal(answer.text, '<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>');
  assert.equal((await ask(listener.port, '/other/%4')).status, 400);
});

test('dispatch: while the server starts, /pdb answers 503 without a type, the rest as always', async (t) => {
  let isStarting = true;
  const mounts = [named('/pdb'), named('/pdb/dashboard', true), named('/status')];
  const listener = await listen(t, mounts, { isStarting: () => isStarting });
  const down = await ask(listener.port, '/pdb/cmd/v1', { method: 'POST', body: 'x'.repeat(100_000) });
  assert.equal(down.status, 503);
  assert.equal(down.text, 'PuppetDB is currently down. Try again later.');
  assert.equal(down.headers['content-type'], undefined);
  assert.equal((await ask(listener.port, '/status')).status, 200);
  assert.equal((await ask(listener.port, '/pdb/dashboard/index.html')).status, 200);
  isStarting = false;
  assert.equal((await ask(listener.port, '/pdb')).status, 200);
});

test('dispatch: every form of request target is understood', async (t) => {
  const seen: string[] = [];
  const listener = await listen(t, [
    {
      prefix: '',
      handler: (exchange) => {
        seen.push(`${exchange.base} ${exchange.path} ${exchange.queryString}`);
        exchange.reply({ status: 204, contentType: null, body: null });
      },
    },
  ]);
  const client = await RawClient.open(listener.port);
  client.send('GET http://other:1/a%20b?c HTTP/1.1\r\nHost: h:2\r\n\r\n');
  client.send('OPTIONS * HTTP/1.1\r\nHost: h:2\r\nConnection: close\r\n\r\n');
  const received = await client.closed();
  assert.equal(received.split('HTTP/1.1 204').length, 3);
  assert.ok(!/content-length|transfer-encoding/i.test(received));
  assert.deepEqual(seen, ['http://h:2 /a%20b c', 'http://h:2 /* ']);
});

test('dispatch: the allowlist decides on accepted connections below /pdb, before the maintenance gate', async (t) => {
  const listener = await listen(t, [named('/pdb'), named('/status')], {
    at: 'accept',
    kind: 'https',
    isStarting: () => true,
    refuseClient: ({ clientName: name }) => (name === 'friend' ? null : `no ${name}`),
  });
  const names = ['friend', 'stranger', null];
  const gate = createServer((socket) => {
    listener.accept(socket, { name: names.shift() ?? null, address: '192.0.2.1', extensions: () => null });
  }).listen(0, '127.0.0.1');
  atEnd(t, async () => {
    gate.close();
  });
  await once(gate, 'listening');
  const { port } = gate.address() as { port: number };
  const get = (path: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString();
      });
      socket.on('close', () => resolve(text));
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Client: y\r\nConnection: close\r\n\r\n`);
    });
  assert.match(await get('/pdb/query'), /^HTTP\/1\.1 503 /);
  assert.match(await get('/pdb/query'), /^HTTP\/1\.1 403 [\s\S]*no stranger$/);
  assert.match(await get('/status'), /^HTTP\/1\.1 200 [\s\S]*\/status\|null$/);
  assert.deepEqual(
    listener.records.map(({ clientName, remoteAddress, listener: by }) => [clientName, remoteAddress, by]),
    [
      ['friend', '192.0.2.1', 'https'],
      ['stranger', '192.0.2.1', 'https'],
      [null, '192.0.2.1', 'https'],
    ],
  );
});

test('dispatch: two mounts at one place are an error at start', async (t) => {
  await assert.rejects(listen(t, [named('/pdb'), named('/pdb')]), /two mounts/);
});
