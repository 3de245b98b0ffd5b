import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HTTP_LIMITS, type HttpLimits } from '../../../server/http/limits.ts';
import { NodeServer } from '../../../server/http/node-server.ts';
import type { Wire } from '../../../server/http/wire.ts';
import { atEnd } from '../../support/endings.ts';
import { RawClient } from '../../support/raw-client.ts';
import { until } from '../../support/waiting.ts';

async function listening(
  t: TestContext,
  onWire: (wire: Wire) => void,
  limits: Partial<HttpLimits> = {},
): Promise<number> {
  const server = new NodeServer('http', { ...HTTP_LIMITS, ...limits }, onWire);
  const port = await server.listen('127.0.0.1', 0);
  atEnd(t, () => {
    server.stopListening();
    server.destroyConnections();
  });
  return port;
}

test('wire: a query string may have bytes beyond ASCII, a path may not', async (t) => {
  const port = await listening(t, (wire) => {
    const text = `${wire.path} ${wire.queryString} ${wire.header('x-name')} `;
    const body: Buffer[] = [];
    const answer = (): void => {
      const all = text + Buffer.concat(body).toString();
      wire.send({ status: 200, headers: [] }, all, all.length);
    };
    if (wire.hasBody) wire.readBody({ chunk: (chunk) => body.push(Buffer.from(chunk)), end: answer }, false);
    else answer();
  });
  const answered = async (...sent: string[]): Promise<string> => {
    const client = await RawClient.open(port);
    for (const text of sent) {
      client.send(text);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await client.closed();
    return client.received.toString();
  };
  const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: x\r\nX-Name: n\r\n\r\n`;
  assert.match(
    await answered(get('/a%20b?q=ünî☃&r=?')),
    /^HTTP\/1.1 200 .*Connection: close\r\n.*\r\n\/a%20b q=%c3%bcn%c3%ae%e2%98%83&r=\? n /s,
  );
  // Also behind one that was answered, with a body, and when the head arrives in two pieces.
  assert.match(await answered(get('/first'), get('/b?ü')), /\/first {2}n .* 200 .*\/b %c3%bc n /s);
  const post = 'POST /p?ä=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n';
  assert.match(await answered(post, '\r\nbo', 'dy!!'), / 200 .*\/p %c3%a4=1 {2}body!!/s);
  assert.match(await answered('GET /q?ä=', '1 HTTP/1.1\r\nHost: x\r\n\r\n'), / 200 .*\/q %c3%a4=1 /s);
  for (const target of ['/ü', '/ü?a', `/x?${'?'.repeat(10_000)} ü`, 'ü', '/x?a b']) {
    assert.match(await answered(get(target)), /^HTTP\/1.1 400 /, target);
  }
});

test('wire: bytes of a body are no request, whatever is refused behind them', async (t) => {
  const paths: string[] = [];
  const port = await listening(t, (wire) => {
    paths.push(wire.path);
    wire.send({ status: 200, headers: [] }, 'early', 5);
  });
  const hidden = 'GET /hidden?ü HTTP/1.1\r\nHost: x\r\n\r\n';
  for (const expect of ['', 'Expect: x\r\n']) {
    const client = await RawClient.open(port);
    client.send(`POST /first HTTP/1.1\r\nHost: x\r\n${expect}Content-Length: ${Buffer.byteLength(hidden)}\r\n\r\n`);
    await client.status();
    client.send(`${hidden}GET /second?ü HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.match(await client.closed(), expect === '' ? / 200 .* 400 /s : / 417 .* 400 /s);
  }
  assert.deepEqual(paths, ['/first']);
});

test('wire: an answer to a query with bytes beyond ASCII may take longer than a head', async (t) => {
  const headMs = 400;
  const answer = (wire: Wire): void => wire.send({ status: 200, headers: [] }, 'late', 4);
  const port = await listening(t, (wire) => setTimeout(answer, headMs * 3, wire), { headMs });
  const client = await RawClient.open(port);
  client.send('GET /?ü HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.match(await client.closed(), /^HTTP\/1.1 200 .*late$/s);
});

test('wire: bytes that a broken connection never takes are free when it is over', async (t) => {
  let freed = 0;
  let isGone = false;
  const play = (wire: Wire): void => {
    wire.gone = () => {
      isGone = true;
    };
    wire.start({ status: 200, headers: [] });
    wire.destroy();
    // Node drops these without a word.
    wire.write(Buffer.alloc(1000), () => freed++);
    wire.write(Buffer.alloc(1000), () => freed++);
  };
  const port = await listening(t, play);
  const client = await RawClient.open(port);
  client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await client.closed();
  await until('gone', () => isGone);
  await until('free', () => freed === 2);
});

test('wire: a client that closes its side behind the request is answered, unless the answer needs it to stay', async (t) => {
  const gone: string[] = [];
  const port = await listening(t, (wire) => {
    const answer = (): void => wire.send({ status: 200, headers: [] }, wire.path, wire.path.length);
    wire.gone = () => gone.push(wire.path);
    if (wire.path.startsWith('/dear')) wire.needClient();
    if (wire.hasBody) wire.readBody({ chunk: () => {}, end: () => setTimeout(answer, 30) }, false);
    else setTimeout(answer, 30);
  });
  const answered = async (sent: string): Promise<string> => {
    const client = await RawClient.open(port);
    client.socket.end(sent);
    return client.closed();
  };
  assert.match(await answered('GET /a HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200 .*\r\n\/a$/s);
  assert.match(
    await answered('POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'),
    /^HTTP\/1.1 200 .*\r\n\/b$/s,
  );
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  assert.match(await answered(get('/c') + get('/d')), / 200 .*\r\n\/cHTTP\/1.1 200 .*\r\n\/d$/s);
  assert.deepEqual(gone, []);
  assert.equal(await answered(get('/dear')), '');
  assert.match(await answered(get('/e') + get('/dearer')), /^HTTP\/1.1 200 .*\r\n\/e$/s);
  await until('gone', () => gone.length > 0);
  assert.equal(gone[0], '/dear');
  // A request that stops in the middle is none.
  assert.match(await answered('POST /f HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{'), /^(HTTP\/1.1 400 .*)?$/s);
});
