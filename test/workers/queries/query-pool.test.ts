import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { QueryPlan } from '../../../engine/query/exec/explain.ts';
import type { QueryRequest, QuerySettings } from '../../../engine/query/request.ts';
import { dataFileOf, partitionDir } from '../../../engine/store/file/layout.ts';
import { openPartition } from '../../../engine/store/partition.ts';
import { silentLog } from '../../../workers/log.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import { ThreadQueryPool } from '../../../workers/queries/query-pool.ts';
import { type QueryPoolOptions, queryPoolLimits } from '../../../workers/queries/query-pool-options.ts';
import { startRing } from '../../../workers/ring/start-ring.ts';
import { threadScript } from '../../../workers/system/thread-script.ts';
import type { AnswerHead, QueryHandle, QueryPool } from '../../../workers/types.ts';
import { replaceCatalog, resourcesOf, submissionOf } from '../../support/commands.ts';
import { engineSettings } from '../../support/engine-settings.ts';
import { nodeArgs } from '../../support/programs.ts';
import { querySettings } from '../../support/query-settings.ts';
import { pause, until, withTimeout } from '../../support/waiting.ts';

const NODES = 40;
/** Of the one catalog, of node n0. */
const OWN_RESOURCES = 500;
const dir = mkdtempSync(join(tmpdir(), 'muster-query-'));
/** Milliseconds, for tests: longer than a slice of work takes on a busy machine. What is slow is looked for twice as often. */
const hangMax = 1000;
const stub = threadScript('stub-query', import.meta.url);

function factsOf(node: number): string {
  const values: Record<string, unknown> = { kernel: 'Linux', number: node };
  for (let i = 0; i < 200; i++) values[`fact_${i}`] = `${'v'.repeat(100)} ${node} ${i}`;
  const time = new Date(1_700_000_000_000 + node).toISOString();
  const payload = { certname: `n${node}`, environment: 'production', producer: 'p', producer_timestamp: time, values };
  return JSON.stringify(payload);
}

before(async () => {
  const ring = await startRing({ dir, engine: engineSettings, partitions: 4, threads: 2 });
  const outcomes = Array.from({ length: NODES }, async (_, node) => {
    const command = { command: 'replace facts', version: 5, certname: `n${node}`, payload: factsOf(node) };
    const { outcome } = await ring.submit(submissionOf(command), true);
    return outcome;
  });
  const command = replaceCatalog('n0', 1, 1_700_000_000_000, OWN_RESOURCES);
  const catalog = await ring.submit(submissionOf(command), true);
  const settled = [...(await Promise.all(outcomes)), await catalog.outcome];
  for (const outcome of settled) assert.equal(outcome?.kind, 'processed', JSON.stringify(outcome));
  await ring.stop();
});
after(() => rmSync(dir, { recursive: true, force: true }));

function openPool(options: Partial<QueryPoolOptions>): ThreadQueryPool {
  const pool = new ThreadQueryPool({ dir, threads: 2, ...options });
  pool.open();
  return pool;
}

async function withPool(
  options: Partial<QueryPoolOptions>,
  use: (pool: ThreadQueryPool) => Promise<void>,
): Promise<void> {
  const pool = openPool(options);
  try {
    await use(pool);
  } finally {
    await pool.stop();
  }
}

const request = (path: string, query?: unknown): QueryRequest => ({
  method: 'GET',
  path,
  api: 'query',
  queryString: query === undefined ? '' : `query=${encodeURIComponent(JSON.stringify(query))}`,
  body: null,
});

const settings = (rest: Partial<QuerySettings> = {}): QuerySettings => ({ ...querySettings, now: Date.now(), ...rest });

interface Answer {
  readonly head: AnswerHead | null;
  readonly text: string;
  /** How it ended; null while it has not. */
  readonly end: 'end' | string | null;
}

interface Client extends Answer {
  readonly handle: QueryHandle;
  readonly chunks: number;
  readonly finished: Promise<Answer>;
  /** What the pool said when nothing was left of the query. */
  readonly left: readonly (QueryPlan | null)[];
}

/** A client that takes everything at once, or only what the test grants it. */
function ask(pool: QueryPool, what: QueryRequest, how: { grants?: boolean; settings?: QuerySettings } = {}): Client {
  const client = { head: null as AnswerHead | null, text: '', end: null as string | null, chunks: 0 };
  let finish: (answer: Answer) => void;
  const finished = new Promise<Answer>((resolve) => {
    finish = resolve;
  });
  const left: (QueryPlan | null)[] = [];
  const handle = pool.run(what, how.settings ?? settings(), {
    onHead: (head) => {
      assert.equal(client.head, null, 'one head');
      client.head = head;
      if (head.body !== null)
        client.text += typeof head.body === 'string' ? head.body : Buffer.from(head.body).toString();
    },
    onChunk: (chunk, free) => {
      assert.equal(client.end, null, 'no chunk after the end');
      client.text += Buffer.from(chunk).toString();
      free?.();
      client.chunks++;
      if (how.grants !== false) handle.grant(chunk.byteLength);
    },
    onEnd: () => {
      client.end = 'end';
      finish(client);
    },
    onAbort: (text) => {
      client.end = text;
      finish(client);
    },
    onLeft: (plan) => left.push(plan),
  });
  return Object.assign(client, { handle, finished, left });
}

test('query pool: a short answer comes whole with its head', async () => {
  await withPool({}, async (pool) => {
    const { head, text, end } = await ask(pool, request('/nodes/n3')).finished;
    assert.equal(head?.status, 200);
    assert.equal(end, 'end');
    assert.equal(JSON.parse(text).certname, 'n3');
    await until('both threads are up', () => pool.stats().up === 2);
    assert.deepEqual(pool.stats(), { threads: 2, up: 2, running: 0, parked: 0, waiting: 0 });
  });
});

test("query pool: a longer answer comes whole too, as bytes that are the receiver's", async () => {
  await withPool({}, async (pool) => {
    const { head, text, end } = await ask(pool, request('/nodes/n3/facts')).finished;
    assert.equal(head?.status, 200);
    assert.equal(end, 'end');
    assert.ok(head.body instanceof Uint8Array);
    assert.equal(head.body.byteLength, head.body.buffer.byteLength);
    assert.equal(JSON.parse(text).length, 202);
    await until('nothing is left of it', () => pool.stats().running === 0);
  });
});

test('query pool: a still longer one that was made in one go is read where it lies, and says how long it is', async () => {
  await withPool({}, async (pool) => {
    // Again and again: the memory between the threads would be used up soon.
    for (let round = 0; round < 50; round++) {
      const client = ask(pool, request('/catalogs/n0'));
      const { head, text, end } = await client.finished;
      assert.equal(end, 'end');
      assert.equal(JSON.parse(text).resources.data.length, resourcesOf('n0', 1, OWN_RESOURCES).length);
      assert.equal(head?.body, null);
      assert.equal(head.size, Buffer.byteLength(text));
      assert.ok(client.chunks > 1);
    }
    await until('nothing is left of them', () => pool.stats().running === 0);
  });
});

test('query pool: what was on its way to clients that left is used again for the next ones', async () => {
  const limits = { windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    for (let round = 0; round < 20; round++) {
      // More of the answer is on its way when the first part has come.
      await new Promise<void>((resolve) => {
        const handle = pool.run(request('/facts'), settings(), {
          onHead: () => {},
          onChunk: (_, free) => {
            free?.();
            handle.cancel();
          },
          onEnd: () => {},
          onAbort: () => {},
          onLeft: () => resolve(),
        });
      });
    }
    const { head } = await ask(pool, request('/catalogs/n0')).finished;
    assert.equal(head?.body, null, 'it is read where it lies');
  });
});

test('query pool: errors of the query are answers', async () => {
  await withPool({}, async (pool) => {
    const { head, text } = await ask(pool, request('/nodes', ['=', 'nonsense', 1])).finished;
    assert.equal(head?.status, 400);
    assert.match(text, /nonsense/);
  });
});

test('query pool: a long answer streams in chunks and is complete', async () => {
  await withPool({ limits: { chunkSize: 16 << 10 } }, async (pool) => {
    const client = ask(pool, request('/facts'));
    const { head, text, end } = await client.finished;
    assert.equal(head?.body, null);
    assert.equal(end, 'end');
    assert.equal(JSON.parse(text).length, NODES * 202);
    assert.ok(client.chunks > 10);
  });
});

test('query pool: many clients side by side each get their own rows', async () => {
  await withPool({ limits: { perThread: 3 } }, async (pool) => {
    const clients = Array.from({ length: 60 }, (_, i) => ask(pool, request(`/nodes/n${i % NODES}/facts`)));
    for (let i = 0; i < clients.length; i++) {
      const { text } = await clients[i]!.finished;
      const rows = JSON.parse(text) as { certname: string }[];
      assert.equal(rows.length, 202);
      assert.ok(rows.every((row) => row.certname === `n${i % NODES}`));
    }
  });
});

test('query pool: a client that takes nothing gets its window and no more, and others are not slowed', async () => {
  const limits = { windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const slow = ask(pool, request('/facts'), { grants: false });
    await until('the window is full', () => slow.text.length >= limits.windowSize);
    const quick = await ask(pool, request('/facts')).finished;
    assert.equal(JSON.parse(quick.text).length, NODES * 202);
    await pause(50);
    assert.ok(slow.text.length <= limits.windowSize + limits.chunkSize + 2000, `${slow.text.length}`);
    assert.equal(slow.end, null);
    slow.handle.grant(1e9);
    const { text } = await slow.finished;
    assert.equal(text, quick.text);
  });
});

test('query pool: cancelling stops the work, and nothing is told any more', async () => {
  const limits = { windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const waiting = ask(pool, request('/facts'), { grants: false });
    await until('the window is full', () => waiting.text.length >= limits.windowSize);
    const early = ask(pool, request('/facts'));
    early.handle.cancel();
    waiting.handle.cancel();
    await until('both are gone', () => pool.stats().running === 0);
    const { chunks } = waiting;
    waiting.handle.grant(1e6);
    await pause(20);
    assert.equal(early.head, null);
    assert.equal(waiting.chunks, chunks);
    assert.equal(waiting.end, null);
  });
});

test('query pool: a client that takes nothing for too long is ended', async () => {
  const limits = { windowSize: 64 << 10, chunkSize: 16 << 10, stallMax: 100 };
  await withPool({ limits }, async (pool) => {
    const { end, head } = await ask(pool, request('/facts'), { grants: false }).finished;
    assert.equal(head?.status, 200);
    assert.match(end ?? '', /took nothing for too long/);
  });
});

test('query pool: a client for whom the store has to grow is ended, one that keeps up is not', async () => {
  const limits = { windowSize: 64 << 10, chunkSize: 16 << 10, growthMax: 1 << 20 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const slow = ask(pool, request('/facts'), { grants: false });
    await until('the window is full', () => slow.text.length >= limits.windowSize);
    await pause(50);
    // Far more than there was, and nothing that a query sees.
    const partition = openPartition(partitionDir(dir, 0));
    const size = statSync(dataFileOf(partition.dir)).size;
    partition.write((batch) => batch.putRetry(10 ** 9, Buffer.alloc(32 << 20)));
    assert.ok(statSync(dataFileOf(partition.dir)).size > size + (30 << 20));
    const quick = await ask(pool, request('/facts')).finished;
    assert.equal(quick.end, 'end');
    const { end } = await slow.finished;
    // It may be looked at while it grows.
    const grown = Number(/client is too slow: the store has grown by (\d+) bytes/.exec(end ?? '')?.[1]);
    assert.ok(grown > limits.growthMax, `${end}`);
    partition.write((batch) => batch.removeRetry(10 ** 9));
    await partition.close();
  });
});

test('query pool: the deadline ends an answer whose client is slow', async () => {
  const limits = { windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    await ask(pool, request('/facts')).finished;
    const { end } = await ask(pool, request('/facts'), {
      grants: false,
      settings: settings({ timeoutDefault: 500 }),
    }).finished;
    assert.match(end ?? '', /exceeded timeout/);
  });
});

test("query pool: the machine's clock, set while a query is on its way to its thread, ends it neither early nor late", async (t) => {
  const HOUR = 3_600_000;
  const { now } = Date;
  await withPool({}, async (pool) => {
    // Of this thread only: to the query's the clock has been set since.
    const clock = t.mock.method(Date, 'now', () => now() - HOUR);
    const ahead = await ask(pool, request('/nodes/n3'), { settings: settings({ timeoutDefault: 60_000 }) }).finished;
    assert.equal(ahead.head?.status, 200, ahead.text);
    clock.mock.mockImplementation(() => now() + HOUR);
    const back = await ask(pool, request('/nodes/n4'), { settings: settings({ timeoutDefault: 0.001 }) }).finished;
    assert.deepEqual([back.head?.status, back.text], [500, 'Query exceeded timeout']);
  });
});

test('query pool: queries that wait for their clients keep no places from others', async () => {
  const limits = { perThread: 2, openMax: 20, windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const slow = Array.from({ length: 20 }, () => ask(pool, request('/facts'), { grants: false }));
    await until('all wait for their clients', () => pool.stats().parked === 20);
    assert.equal(pool.stats().waiting, 0);
    assert.equal(pool.busyQueries, 0);
    // All that may be open are: the next one waits until one of them has gone.
    const point = ask(pool, request('/nodes/n1'));
    await pause(50);
    assert.equal(pool.stats().waiting, 1);
    assert.equal(pool.busyQueries, 1);
    slow[0]!.handle.cancel();
    assert.equal((await point.finished).head?.status, 200);
    // Going on, all of them, with two places.
    const rest = slow.slice(1);
    for (const { handle } of rest) handle.grant(1e9);
    const texts = await Promise.all(rest.map(async ({ finished }) => (await finished).text));
    assert.equal(JSON.parse(texts[0]!).length, NODES * 202);
    for (const text of texts) assert.equal(text, texts[0]);
    await until('nothing is left', () => pool.stats().running === 0);
    assert.equal(pool.stats().parked, 0);
  });
});

test('query pool: the slowest clients are ended when all that may be open are and others wait, not before', async () => {
  const limits = { openMax: 3, perThread: 1, windowSize: 64 << 10, chunkSize: 16 << 10, slowMin: 300, hangMax };
  await withPool({ threads: 1, limits }, async (pool) => {
    await ask(pool, request('/nodes/n1')).finished;
    const slow = Array.from({ length: 3 }, () => ask(pool, request('/facts'), { grants: false }));
    await until('all wait for their clients', () => pool.stats().parked === 3);
    await pause(400);
    assert.deepEqual(
      slow.map(({ end }) => end),
      [null, null, null],
    );
    for (const { handle } of [slow[0]!, slow[2]!]) {
      handle.grant(64 << 10);
      await until('it waits again', () => pool.stats().parked === 3);
    }
    assert.equal((await ask(pool, request('/nodes/n1')).finished).head?.status, 200);
    assert.match(slow[1]!.end ?? '', /too slow: other queries wait/);
    for (const { handle } of slow) handle.grant(1e9);
    for (const { finished } of [slow[0]!, slow[2]!]) {
      assert.equal(JSON.parse((await finished).text).length, NODES * 202);
    }
    await until('nothing is left', () => pool.stats().running === 0);
    assert.equal(pool.stats().parked, 0);
  });
});

test('query pool: queries whose clients have left wait no more', async () => {
  const limits = { openMax: 1, perThread: 1, waitingMax: 2, windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits: { ...limits, slowMin: 0, hangMax } }, async (pool) => {
    const slow = ask(pool, request('/facts'), { grants: false });
    for (const { handle, left } of [1, 2].map(() => ask(pool, request('/nodes/n1')))) {
      handle.cancel();
      assert.equal(left.length, 1);
    }
    assert.equal(pool.stats().waiting, 0);
    // Nobody waits, so the slow one may go on.
    await until('it waits for its client', () => pool.stats().parked === 1);
    await pause(hangMax);
    assert.equal(slow.end, null);
    slow.handle.cancel();
    const next = [ask(pool, request('/nodes/n1')), ask(pool, request('/nodes/n2'))];
    for (const { finished } of next) assert.equal((await finished).head?.status, 200);
  });
});

test('query pool: a thread that waits for the store to be opened is not taken for hung, however long that takes', async () => {
  const lines: string[] = [];
  const log = { ...silentLog, error: (line: string) => void lines.push(line) };
  const pool = new ThreadQueryPool({ dir, threads: 1, log, limits: { hangMax } });
  try {
    await until('the thread is there', () => pool.stats().up === 1);
    const args = [...nodeArgs('write-lock-child', import.meta.url), partitionDir(dir, 0), String(3 * hangMax)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    pool.open();
    await withTimeout(pool.ready, 10_000, 'the store is open');
    assert.equal((await ask(pool, request('/nodes/n1')).finished).head?.status, 200);
  } finally {
    await pool.stop();
  }
  assert.deepEqual(lines, []);
  // Its lock has not gone with a thread.
  const partition = openPartition(partitionDir(dir, 0));
  partition.write(() => undefined);
  await partition.close();
});

test('query pool: the more queries are open the less each is ahead of its client', async () => {
  const limits = { windowSize: 256 << 10, windowsMax: 512 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const slow: Client[] = [];
    for (let i = 0; i < 16; i++) {
      slow.push(ask(pool, request('/facts'), { grants: false }));
      await until('it waits for its client', () => pool.stats().parked === i + 1);
    }
    const ahead = slow.map(({ text }) => text.length);
    const rest = limits.chunkSize + 2000;
    for (let i = 0; i < ahead.length; i++) {
      const window = Math.min(limits.windowSize, limits.windowsMax / (i + 1));
      assert.ok(ahead[i]! >= window && ahead[i]! <= window + rest, `query ${i}: ${ahead[i]}`);
    }
    for (const { handle } of slow) handle.grant(1e9);
    for (const { finished } of slow) assert.equal((await finished).end, 'end');
  });
});

test('query pool: queries wait for a place in turn, and beyond the line they are refused', async () => {
  const limits = { perThread: 1, openMax: 1, waitingMax: 2, windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const first = ask(pool, request('/facts'), { grants: false });
    const second = ask(pool, request('/nodes/n1'));
    const third = ask(pool, request('/nodes/n2'));
    const fourth = await ask(pool, request('/nodes/n3')).finished;
    assert.equal(fourth.head?.status, 503);
    assert.match(fourth.text, /Too many queries/);
    const { parked, up: _up, ...rest } = pool.stats();
    assert.deepEqual(rest, { threads: 1, running: 1, waiting: 2 });
    assert.ok(parked <= 1);
    second.handle.cancel();
    first.handle.cancel();
    assert.equal((await third.finished).head?.status, 200);
    assert.equal(second.head, null);
  });
});

test("query pool: the server's own questions stand in no line with clients, and wait when no more may be open", async () => {
  const limits = { perThread: 1, openMax: 2, waitingMax: 1, windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, script: stub, limits }, async (pool) => {
    const busy = ask(pool, request('/long'));
    const waiting = ask(pool, request('/long'));
    assert.equal((await ask(pool, request('/fine')).finished).head?.status, 503);
    assert.equal((await ask(pool.own, request('/fine')).finished).head?.status, 200);
    const second = ask(pool.own, request('/long'));
    const third = ask(pool.own, request('/fine'));
    const cancelled = ask(pool.own, request('/fine'));
    assert.equal(pool.stats().waiting, 3);
    cancelled.handle.cancel();
    assert.equal(pool.stats().waiting, 2);
    second.handle.cancel();
    assert.equal((await third.finished).head?.status, 200);
    waiting.handle.cancel();
    busy.handle.cancel();
  });
});

test('query pool: a thread that dies takes its queries with it and no others', async () => {
  const limits = { windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const streaming = ask(pool, request('/facts'), { grants: false });
    await until('the window is full', () => streaming.text.length >= limits.windowSize);
    void pool.killThread();
    assert.match((await streaming.finished).end ?? '', /unexpected error/);
    for (let i = 0; i < 5; i++) {
      const { head } = await ask(pool, request('/nodes/n3')).finished;
      assert.equal(head?.status, 200);
    }
  });
});

test('query pool: a query that ends its thread or hangs gets a 500, the next one an answer', async () => {
  await withPool({ threads: 1, script: stub, limits: { hangMax } }, async (pool) => {
    for (const path of ['/exit', '/throw', '/hang', '/exit', '/hang']) {
      const { head } = await ask(pool, request(path)).finished;
      assert.equal(head?.status, 500, path);
      const next = await ask(pool, request('/fine')).finished;
      assert.equal(next.head?.status, 200, `after ${path}`);
    }
  });
});

test('query pool: queries side by side go to all threads, one after the other to the one with the lowest number', async () => {
  await withPool({ threads: 3, script: stub }, async (pool) => {
    const threadOf = async (path: string): Promise<number> => Number((await ask(pool, request(path)).finished).text);
    let threads = new Set<number>();
    for (let round = 0; threads.size < 3 && round < 100; round++) {
      threads = new Set(await Promise.all(['/wait', '/wait', '/wait'].map(threadOf)));
    }
    assert.equal(threads.size, 3);
    const first = Math.min(...threads);
    for (let i = 0; i < 5; i++) assert.equal(await threadOf('/fine'), first);
    assert.equal(await threadOf('/first'), first);
  });
});

test('query pool: the first thread comes up alone, the others once the store is there; one that dies is replaced', async () => {
  const pool = new ThreadQueryPool({ dir, threads: 3, script: stub });
  try {
    await until('the first one is there', () => pool.stats().up === 1);
    assert.equal(pool.stats().threads, 1);
    const early = await ask(pool, request('/fine')).finished;
    assert.deepEqual([early.head?.status, early.text], [503, 'the server is starting']);
    pool.open();
    await until('the others are there', () => pool.stats().up === 3);
    for (const left of [2, 1]) {
      assert.equal((await ask(pool, request('/exit')).finished).head?.status, 500, `${left} left`);
      await until('another one has come', () => pool.stats().up === 3 && pool.stats().threads === 3);
    }
    const alive = new Set<string>();
    await until('all three answer', async () => {
      const clients = ['/wait', '/wait', '/wait'].map((path) => ask(pool, request(path)));
      for (const { finished } of clients) alive.add((await finished).text);
      return alive.size === 3;
    });
    assert.equal(pool.stats().up, 3, 'those that died are not counted');
  } finally {
    await pool.stop();
  }
});

test('query pool: threads are told of queries that are at work, not of those that wait for their clients', async () => {
  await withPool({ threads: 1, script: stub }, async (pool) => {
    const running = async (): Promise<string> => (await ask(pool, request('/running')).finished).text;
    assert.equal(await running(), '1');
    const working = ask(pool, request('/wait'));
    assert.equal(await running(), '2');
    await working.finished;
    for (const end of [
      ({ handle }: Client) => handle.cancel(),
      ({ handle }: Client) => handle.grant(queryPoolLimits.windowSize),
    ]) {
      const slow = ask(pool, request('/window'), { grants: false });
      await until('it waits for its client', () => pool.stats().parked === 1);
      assert.equal(await running(), '1');
      end(slow);
      await until('nothing is left', () => pool.stats().running === 0);
      assert.equal(await running(), '1');
    }
  });
});

test('query pool: a slow query leaves its plan behind, however it ends, a quick one none', async () => {
  const limits = { windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const slow = settings({ now: Date.now() - 10_000, planAfter: 5000, timeoutDefault: 0 });
    const gone = async (client: Client): Promise<QueryPlan | null> => {
      await until('nothing is left of the query', () => client.left.length > 0);
      await pause(5);
      assert.equal(client.left.length, 1, 'told once');
      return client.left[0]!;
    };
    for (const path of ['/nodes', '/facts']) {
      const whole = ask(pool, request(path), { settings: slow });
      await whole.finished;
      const { Plan: plan } = (await gone(whole))!;
      assert.equal(plan!['Relation Name'], path.slice(1));
      assert.equal(plan!['Actual Rows'], (JSON.parse(whole.text) as unknown[]).length);
    }
    const left = ask(pool, request('/facts'), { settings: slow, grants: false });
    await until('the window is full', () => left.text.length >= limits.windowSize);
    left.handle.cancel();
    const { Plan: plan } = (await gone(left))!;
    assert.ok(plan!['Actual Rows'] > 0 && plan!['Actual Rows'] < NODES * 202);
    assert.equal(await gone(ask(pool, request('/nodes'), { settings: { ...slow, now: Date.now() } })), null);
    assert.equal(await gone(ask(pool, request('/nodes'), { settings: { ...slow, planAfter: 0 } })), null);
  });
});

test('query pool: every query leaves, also one that is refused, waits in vain or loses its thread', async () => {
  const limits = { perThread: 1, openMax: 1, waitingMax: 1, windowSize: 64 << 10, chunkSize: 16 << 10 };
  await withPool({ threads: 1, limits }, async (pool) => {
    const running = ask(pool, request('/facts'), { grants: false });
    const waiting = ask(pool, request('/nodes/n1'));
    const refused = ask(pool, request('/nodes/n2'));
    await refused.finished;
    await until('the window is full', () => running.text.length >= limits.windowSize);
    waiting.handle.cancel();
    void pool.killThread();
    await until('all have left', () => [running, waiting, refused].every(({ left }) => left.length === 1));
    await running.finished;
    // A thread that is ended while it opens the store would take the process with it: wait for the new one.
    assert.equal((await ask(pool, request('/nodes/n3')).finished).head?.status, 200);
  });
});

test('query pool: planning, executing and streaming are measured', async () => {
  const metrics = new MetricsRegistry();
  await withPool({ metrics }, async (pool) => {
    const { plan, execute, stream } = metrics.stages;
    const counts = () => [plan.count, execute.count, stream.count];
    const left = async (client: Client) => {
      await client.finished;
      await until('the query has left', () => client.left.length === 1);
    };
    await left(ask(pool, request('/nodes')));
    assert.deepEqual(counts(), [1, 1, 0]);
    // Wrong before there is anything to execute.
    await left(ask(pool, request('/nodes', ['nonsense'])));
    assert.deepEqual(counts(), [2, 1, 0]);
    const began = performance.now();
    await left(ask(pool, request('/facts')));
    assert.deepEqual(counts(), [3, 2, 1]);
    assert.ok(plan.sum > 0 && execute.sum > 0 && stream.sum > 0);
    assert.ok(stream.sum < performance.now() - began);
  });
});

test('query pool: stopping lets answers finish and refuses new ones', async () => {
  const pool = openPool({ threads: 1 });
  const running = ask(pool, request('/facts'));
  const stopped = pool.stop();
  const late = ask(pool, request('/nodes/n1'));
  assert.equal((await late.finished).head?.status, 503);
  assert.equal(JSON.parse((await running.finished).text).length, NODES * 202);
  await stopped;
});

test('query pool: stopping waits for what runs, not for what waits', async () => {
  const pool = openPool({ threads: 1, limits: { perThread: 1, openMax: 1 } });
  await ask(pool, request('/nodes/n1')).finished;
  const running = ask(pool, request('/facts'));
  const waiting = [ask(pool, request('/nodes/n1')), ask(pool.own, request('/nodes/n2'))];
  const stopped = pool.stop();
  for (const { finished, left } of waiting) {
    const { head, text } = await finished;
    assert.deepEqual([head?.status, text, left], [503, 'The server is shutting down', [null]]);
  }
  assert.equal((await running.finished).end, 'end');
  await stopped;
});
