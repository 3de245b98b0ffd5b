// The front end's requests to itself: they reach the routes as clients' do, make way for those, and end.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Exchange, Mount } from '../../../server/http/exchange.ts';
import { type FrontEndWarmUp, warmUpFrontEnd } from '../../../server/http/warm-up.ts';
import { replaceCatalog, replaceFacts } from '../../support/commands.ts';
import { TestServer } from '../../support/server.ts';
import { until } from '../../support/waiting.ts';

const TEXT = { status: 200, contentType: 'text/plain', body: 'x' } as const;

/** Warms up with one handler for everything. */
const warmUp = (handler: Mount['handler'], rest: Partial<FrontEndWarmUp> = {}): Promise<number> =>
  warmUpFrontEnd({
    mounts: [{ prefix: '', handler }],
    limits: {},
    isQuiet: () => true,
    signal: new AbortController().signal,
    budgetMs: 50,
    ...rest,
  });

test('warm-up: requests of all forms come one after the other, whole, until the time is used up', async () => {
  const seen = new Set<string>();
  let open = 0;
  let most = 0;
  const answer = async (exchange: Exchange): Promise<void> => {
    most = Math.max(most, ++open);
    const body = exchange.method === 'POST' ? Buffer.from(await exchange.body(1000)).toString() : '';
    seen.add(`${exchange.method} ${exchange.path} ${exchange.queryString} ${body}`);
    assert.equal(exchange.header('accept'), 'application/json');
    open--;
    if (exchange.queryString !== '') return exchange.reply(TEXT);
    const writer = exchange.stream({ status: 200, contentType: 'text/plain' });
    for (let i = 0; i < 10; i++) if (!writer.write(new Uint8Array(100_000))) await writer.drained();
    writer.end();
  };
  const answered = await warmUp(answer, { budgetMs: 1000 });
  assert.ok(answered >= seen.size, `${answered} answered`);
  assert.equal(most, 1);
  assert.ok(seen.size >= 5, [...seen].join('\n'));
  assert.ok(seen.has('POST /pdb/query/v4/nodes  {"query":["=","certname","none"]}'), [...seen].join('\n'));
  assert.ok([...seen].every((one) => /^(GET|POST) \/pdb\//.test(one) && !one.includes('undefined')));
});

test('warm-up: while clients wait nothing is asked; a signal ends it, also in the middle of a request', async () => {
  let count = 0;
  const handler = (exchange: Exchange): void => {
    count++;
    exchange.reply(TEXT);
  };
  let isQuiet = false;
  const ending = new AbortController();
  const busy = warmUp(handler, { isQuiet: () => isQuiet, signal: ending.signal, budgetMs: 60_000 });
  await delay(100);
  assert.equal(count, 0);
  isQuiet = true;
  await until('requests come', () => count > 20);
  ending.abort();
  assert.ok((await busy) >= 20);

  const other = new AbortController();
  let isAsked = false;
  const stuck = warmUp(
    () => {
      isAsked = true;
    },
    { signal: other.signal },
  );
  await until('a request came', () => isAsked);
  other.abort();
  assert.equal(await stuck, 1);
  assert.equal(await warmUp(handler, { signal: AbortSignal.abort() }), 0);
});

test('warm-up: routes that fail end nothing', async () => {
  let count = 0;
  const answered = await warmUp(() => {
    count++;
    throw new Error('of no use');
  });
  assert.ok(count > 1 && answered >= count - 1, `${count} asked, ${answered} answered`);
});

/** Fewer than it asks itself, more than it waits for. */
const FEW = 4;

test('warm-up: a server with data asks itself, and neither metrics nor the query log know', async (t) => {
  const server = TestServer.prepare(t, {
    args: ['--partitions', '2', '--log-level', 'debug', '--log-queries'],
  });
  await server.start();
  const time = Date.now() - 86_400_000;
  for (let i = 0; i < 24; i++) {
    await server.submit(replaceFacts(`node-${i}`, i + 1, time));
    await server.submit(replaceCatalog(`node-${i}`, i + 1, time));
  }
  await server.drained();
  assert.equal(await server.stop(), 0);
  await server.start();
  const lines = (text: string) => server.logLines().filter(({ msg }) => msg === text) as { requests?: number }[];
  await until('it has warmed up', () => lines('warmed up').length > 0, 60_000);
  // In the time that it has, which a busy machine shares with others.
  assert.ok(lines('warmed up')[0]!.requests! > FEW, JSON.stringify(lines('warmed up')));
  const read = async (name: string): Promise<{ status: number; value?: { Count: number } }> =>
    JSON.parse((await server.ask(`/metrics/v2/read/${encodeURIComponent(`puppetlabs.puppetdb.${name}`)}`)).text);
  const queries = async () => (await read('database:name=PDBReadPool.pool.Usage')).value?.Count;
  const requests = async () => (await read('http:name=!/pdb!/query!/v4!/nodes.service-time')).value?.Count;
  const known = async () => [(await queries()) ?? 0, (await requests()) ?? 0, lines('query').length] as const;
  const before = await known();
  // The server itself waits for a query or two before it calls itself ready.
  assert.ok(before[0] < FEW && before[1] === 0 && before[2] < FEW, String(before));
  await server.query('nodes');
  const after = before.map((count) => count + 1).join();
  await until('a client is known to all three', async () => String(await known()) === after);
});
