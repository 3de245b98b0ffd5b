// More than the server can take, and clients that behave badly: memory stays bounded, refusals say when to come back, and
// those who behave do not notice. Bounds on time are wide, since tests run on busy machines; bounds on memory are not.

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Fleet } from '../../perf/lib/fleet.ts';
import { replaceFacts, timeText } from '../support/commands.ts';
import { atEnd } from '../support/endings.ts';
import { testNumber } from '../support/random.ts';
import { RawClient } from '../support/raw-client.ts';
import { askPort, TestServer } from '../support/server.ts';
import { pause, until } from '../support/waiting.ts';
import { checkQuiet } from './checks.ts';

const DAY = 86_400_000;
/** How long one quick request may take while others misbehave. */
const QUICK_MS = 3000;

interface Prepared {
  readonly path: string;
  readonly body: Buffer;
  readonly certname: string;
  /** Producer timestamp, epoch ms. */
  readonly time: number;
}

/** Catalogs of two runs in which everything changes: no two in a row are alike. */
function catalogs(nodes: number): Prepared[] {
  const fleet = new Fleet({ change: 1, start: Date.now() - DAY });
  const prepared: Prepared[] = [];
  for (const run of [0, 1]) {
    for (let node = 0; node < nodes; node++) {
      for (const command of fleet.run(node, run)) {
        if (command.kind !== 'catalog') continue;
        const { certname, producerTimestamp } = command;
        const parameters = new URLSearchParams({
          command: command.command,
          version: String(command.version),
          certname,
          'producer-timestamp': producerTimestamp,
        });
        const body = gzipSync(command.payload, { level: 1 });
        prepared.push({ path: `/pdb/cmd/v1?${parameters}`, body, certname, time: Date.parse(producerTimestamp) });
      }
    }
  }
  return prepared;
}

/** Asks something small again and again; the times it took, in milliseconds. */
class Bystander {
  readonly times: number[] = [];
  readonly #server: TestServer;
  #running = true;
  readonly #done: Promise<void>;

  constructor(server: TestServer) {
    this.#server = server;
    this.#done = this.#run();
  }

  async #run(): Promise<void> {
    while (this.#running) {
      const start = performance.now();
      const answer = await this.#server.ask('/pdb/query/v4/nodes?limit=1');
      this.times.push(performance.now() - start);
      assert.equal(answer.status, 200, answer.text);
      await pause(10);
    }
  }

  /** The slowest answer. */
  async stop(): Promise<number> {
    this.#running = false;
    await this.#done;
    return Math.max(...this.times);
  }
}

test('overload: beyond the limit submissions get 503 and a time to come back; memory is bounded, recovery at once', async (t) => {
  const seconds = testNumber('MUSTER_SECONDS', 4);
  const server = await TestServer.start(t, { args: ['--max-enqueued', '100', '--command-threads', '1'] });
  const prepared = catalogs(40);
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  atEnd(t, async () => agent.destroy());
  const newest = new Map<string, number>();
  const statuses = new Map<number, number>();
  const bystander = new Bystander(server);
  const end = Date.now() + seconds * 1000;
  let next = 0;
  let memory = 0;
  const send = async (): Promise<void> => {
    while (Date.now() < end) {
      const { path, body, certname, time } = prepared[next++ % prepared.length]!;
      const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
      const answer = await askPort(server.port, path, { method: 'POST', headers, body, agent });
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      memory = Math.max(memory, server.privateMiB());
      if (answer.status === 200) {
        newest.set(certname, Math.max(newest.get(certname) ?? 0, time));
      } else {
        assert.equal(answer.status, 503, answer.text);
        assert.match(answer.text, /waiting to be processed/);
        assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/);
      }
    }
  };
  await Promise.all(Array.from({ length: 32 }, send));
  const slowest = await bystander.stop();
  const stopped = Date.now();
  await until('a submission is taken', async () => {
    return (await server.submit(replaceFacts('late', 1, Date.now() - DAY))).acknowledged;
  });
  const taken = Date.now() - stopped;
  await server.drained();
  const texts = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ');
  t.diagnostic(`${texts}; ${Math.round(memory)} MiB; slowest query ${Math.round(slowest)} ms; taken after ${taken} ms`);
  assert.ok((statuses.get(503) ?? 0) > 0, 'it was not too much');
  assert.ok((statuses.get(200) ?? 0) >= 100, 'too few were taken');
  assert.ok(memory < 500, `${memory} MiB`);
  assert.ok(slowest < QUICK_MS, `a small query took ${slowest} ms`);
  const rows = await server.query<{ certname: string; producer_timestamp: string }>('catalogs', [
    'extract',
    ['certname', 'producer_timestamp'],
    ['~', 'certname', '.'],
  ]);
  const found = Object.fromEntries(rows.map((row) => [row.certname, row.producer_timestamp]));
  assert.deepEqual(found, Object.fromEntries([...newest].map(([certname, time]) => [certname, timeText(time)])));
  checkQuiet(server);
});

test('overload: more queries than may wait get 503 at once, the others their answers', async (t) => {
  const server = await TestServer.start(t, {
    args: ['--query-threads', '1', '--max-waiting-queries', '5', '--regex-budget', '2s'],
  });
  const values = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`long_${i}`, 'a'.repeat(3000)]));
  const facts = replaceFacts('a', 1, Date.now() - DAY);
  const payload = { ...(JSON.parse(facts.payload) as object), values };
  await server.apply({ ...facts, payload: JSON.stringify(payload) });
  // Each takes its slices in turn with 31 others.
  const query = encodeURIComponent(JSON.stringify(['~', 'value', '(a*)(a*)(a*)\\1\\2\\3b']));
  const answers = await Promise.all(
    Array.from({ length: 120 }, () => askPort(server.port, `/pdb/query/v4/facts?query=${query}`)),
  );
  const refused = answers.filter(({ status }) => status === 503);
  assert.ok(refused.length > 0 && refused.length < 120, `${refused.length} of 120 were refused`);
  for (const { text } of refused) assert.match(text, /Too many queries are waiting/);
  for (const { status, text } of answers) assert.ok([200, 400, 503].includes(status), `${status} ${text}`);
  assert.equal((await server.ask('/pdb/query/v4/nodes')).status, 200);
});

test('overload: clients that are slow, idle, gone or cut off harm no others', async (t) => {
  const server = await TestServer.start(t, { args: ['--query-threads', '2'] });
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  atEnd(t, async () => agent.destroy());
  for (const { path, body } of catalogs(40).slice(0, 40)) {
    const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
    const answer = await askPort(server.port, path, { method: 'POST', headers, body, agent });
    assert.equal(answer.status, 200, answer.text);
  }
  await server.drained();
  const whole = await stream(server);
  assert.ok(whole.bytes > 8 << 20, `${whole.bytes} bytes are not enough for this test`);
  const before = server.privateMiB();

  /** Runs `harm` while somebody asks small things, then compares. */
  const besides = async (t: TestContext, harm: () => Promise<void>, memoryMax: number): Promise<void> => {
    const bystander = new Bystander(server);
    await harm();
    const slowest = await bystander.stop();
    const memory = server.privateMiB() - before;
    t.diagnostic(
      `${bystander.times.length} small queries, the slowest ${Math.round(slowest)} ms; ${Math.round(memory)} MiB more`,
    );
    assert.ok(bystander.times.length > 5);
    assert.ok(slowest < QUICK_MS, `a small query took ${slowest} ms`);
    assert.ok(memory < memoryMax, `${memory} MiB more than before`);
  };

  await t.test('slow readers: eight at 100 KB/s hold little memory, and a fast one is not slowed', async (t) => {
    await besides(
      t,
      async () => {
        const readers = await Promise.all(Array.from({ length: 8 }, () => slowReader(server.port)));
        await pause(1500);
        const fast = await stream(server);
        assert.equal(fast.bytes, whole.bytes);
        assert.ok(fast.ms < whole.ms * 4 + 2000, `${fast.ms} ms, ${whole.ms} ms without the others`);
        for (const reader of readers) {
          assert.equal(reader.client.isClosed, false);
          assert.ok(reader.client.receivedBytes > 50_000, `${reader.client.receivedBytes} bytes in 1.5 s`);
          reader.close();
        }
      },
      150,
    );
  });

  await t.test('slow senders: heads and bodies a byte at a time', async (t) => {
    await besides(
      t,
      async () => {
        const clients = await Promise.all(Array.from({ length: 60 }, () => RawClient.open(server.port)));
        const head = 'GET /pdb/query/v4/nodes?limit=1 HTTP/1.1\r\nHost: x\r\n\r\n';
        const body = `POST /pdb/cmd/v1?command=replace_facts&version=5&certname=slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n`;
        for (let i = 0; i < clients.length; i += 2) clients[i]!.send(body);
        for (let at = 0; at < 30; at++) {
          for (const [i, client] of clients.entries()) client.send(i % 2 === 0 ? 'x' : head.slice(at, at + 1));
          await pause(50);
        }
        // Those whose request is complete now get their answer.
        for (let i = 1; i < clients.length; i += 2) clients[i]!.send(head.slice(30));
        for (let i = 1; i < clients.length; i += 2) assert.equal(await clients[i]!.status(), 200);
        for (const client of clients) client.close();
      },
      100,
    );
    assert.deepEqual(await server.query('nodes', ['=', 'certname', 'slow']), []);
  });

  await t.test('requests cut in the middle leave nothing behind', async (t) => {
    await besides(
      t,
      async () => {
        for (let round = 0; round < 5; round++) {
          const clients = await Promise.all(Array.from({ length: 40 }, () => RawClient.open(server.port)));
          clients.forEach((client, i) => {
            const text = JSON.stringify({ certname: `cut-${i}`, values: { filler: 'x'.repeat(20_000) } });
            const head = `POST /pdb/cmd/v1?command=replace_facts&version=5&certname=cut-${i} HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n`;
            const message = head + text;
            client.send(message.slice(0, Math.floor((message.length * (i + 1)) / 42)));
          });
          await pause(50);
          for (const client of clients) client.close();
        }
      },
      100,
    );
    assert.deepEqual(await server.query('nodes', ['~', 'certname', '^cut']), []);
    assert.equal(await server.depth(), 0);
  });

  await t.test('idle connections: 2,000 of them cost little and are served when they speak', async (t) => {
    await besides(
      t,
      async () => {
        const clients: RawClient[] = [];
        for (let i = 0; i < 40; i++) {
          clients.push(...(await Promise.all(Array.from({ length: 50 }, () => RawClient.open(server.port)))));
        }
        await pause(500);
        const speaking = clients.filter((_, i) => i % 50 === 0);
        for (const client of speaking) client.send('GET /pdb/meta/v1/version HTTP/1.1\r\nHost: x\r\n\r\n');
        for (const client of speaking) assert.equal(await client.status(), 200);
        for (const client of clients) client.close();
      },
      100,
    );
  });

  await t.test('a client that leaves takes its work with it', async (t) => {
    const query = ['extract', [['function', 'count']], ['~', 'title', '(.*)(.*)(.*)\\1\\2\\3x']];
    const path = `/pdb/query/v4/resources?query=${encodeURIComponent(JSON.stringify(query))}`;
    const client = await RawClient.open(server.port);
    client.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await pause(300);
    const [start, startedAt] = [server.cpuMs(), Date.now()];
    await pause(1000);
    const busy = (server.cpuMs() - start) / (Date.now() - startedAt);
    assert.equal(client.received, '', 'the query was too quick for this test');
    client.close();
    await pause(700);
    const [left, leftAt] = [server.cpuMs(), Date.now()];
    await pause(1000);
    const idle = (server.cpuMs() - left) / (Date.now() - leftAt);
    t.diagnostic(`${busy.toFixed(2)} processors busy before, ${idle.toFixed(2)} after`);
    assert.ok(idle < busy / 3, `${busy} processors before it left, ${idle} after`);
  });

  checkQuiet(server);
  assert.equal(await server.stop(), 0);
});

/** Reads all resources as fast as they come. */
async function stream(server: TestServer): Promise<{ bytes: number; ms: number }> {
  const start = performance.now();
  const client = await RawClient.open(server.port, { keep: false });
  client.send('GET /pdb/query/v4/resources HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await client.closed(60_000);
  return { bytes: client.receivedBytes, ms: performance.now() - start };
}

async function slowReader(port: number): Promise<{ client: RawClient; close(): void }> {
  const client = await RawClient.open(port, { keep: false, flowing: false });
  client.send('GET /pdb/query/v4/resources HTTP/1.1\r\nHost: x\r\n\r\n');
  const reading = client.readSlowly(100_000);
  return {
    client,
    close: () => {
      reading.stop();
      client.close();
    },
  };
}
