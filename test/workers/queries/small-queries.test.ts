import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { QueryRequest } from '../../../engine/query/request.ts';
import { silentLog } from '../../../workers/log.ts';
import { ThreadQueryPool } from '../../../workers/queries/query-pool.ts';
import {
  QueryShape,
  SmallQueries,
  type SmallQueriesOptions,
  shapeTextOf,
} from '../../../workers/queries/small-queries.ts';
import { startRing } from '../../../workers/ring/start-ring.ts';
import type { AnswerHead } from '../../../workers/types.ts';
import { replaceCatalog, replaceFacts, resourcesOf, submissionOf } from '../../support/commands.ts';
import { engineSettings } from '../../support/engine-settings.ts';
import { querySettings } from '../../support/query-settings.ts';
import type { ClientCommand } from '../../support/server.ts';
import { pause } from '../../support/waiting.ts';

const dir = mkdtempSync(join(tmpdir(), 'muster-small-'));
/** Of node n0's own, whose answer streams; the others have two. */
const MANY = 3000;
/** As many as threads want before they warm up. */
const NODES = 24;
const TIME = 1_700_000_000_000;
/** Characters of a fact of n0's own. */
const LONG = 150_000;

/** The same command with a fact `long` of so many characters. */
function withLong(command: ClientCommand, length: number): ClientCommand {
  const payload = JSON.parse(String(command.payload)) as { values: Record<string, unknown> };
  payload.values['long'] = 'a'.repeat(length);
  return { ...command, payload: JSON.stringify(payload) };
}

before(async () => {
  const ring = await startRing({ dir, engine: engineSettings, partitions: 2, threads: 1 });
  const commands = Array.from({ length: NODES }, (_, node) => [
    replaceCatalog(`n${node}`, 1, TIME, node === 0 ? MANY : 2),
    withLong(replaceFacts(`n${node}`, 1, TIME), node === 0 ? LONG : 1000),
  ]).flat();
  const accepted = await Promise.all(commands.map((command) => ring.submit(submissionOf(command), true)));
  for (const { outcome } of accepted) assert.equal((await outcome)?.kind, 'processed');
  await ring.stop();
});
after(() => rmSync(dir, { recursive: true, force: true }));

const get = (path: string, query?: unknown): QueryRequest => ({
  method: 'GET',
  path,
  api: 'query',
  queryString: query === undefined ? '' : `query=${encodeURIComponent(JSON.stringify(query))}`,
  body: null,
});

const settings = () => ({ ...querySettings, now: Date.now() });

async function withSmall(
  use: (small: SmallQueries) => Promise<void>,
  options: Partial<SmallQueriesOptions> = {},
): Promise<void> {
  const defaults = { dir, chunkSize: 128 << 10, isPressing: () => false, log: silentLog };
  const small = new SmallQueries({ ...defaults, ...options });
  try {
    await use(small);
  } finally {
    await small.close();
  }
}

test('small queries: names with digits make no shape of their own, all else does', () => {
  const shape = (path: string, query?: unknown) => shapeTextOf(get(path, query));
  assert.equal(shape('/nodes/web-1.example.com'), shape('/nodes/db-22.example.com'));
  assert.equal(shape('/nodes', ['=', 'certname', 'n1']), shape('/nodes', ['=', 'certname', 'n20']));
  assert.notEqual(shape('/nodes', ['=', 'certname', 'n1']), shape('/nodes', ['<', 'certname', 'n1']));
  assert.notEqual(shape('/facts', ['=', 'name', 'kernel']), shape('/facts', ['=', 'name', 'os']));
  assert.notEqual(shape('/fact-names'), shape('/fact-paths'));
  const posted: QueryRequest = { ...get('/nodes'), method: 'POST', body: '{"query":["=","certname","n1"]}' };
  assert.notEqual(shapeTextOf(posted), shapeTextOf({ ...posted, body: '{"query":["=","environment","n1"]}' }));
  assert.equal(shapeTextOf(posted), shapeTextOf({ ...posted, body: '{"query":["=","certname","n2"]}' }));
});

test('small queries: long texts and broken ones are left to query threads', () => {
  assert.equal(shapeTextOf(get('/nodes', ['in', 'certname', ['array', Array(300).fill('n1')]])), null);
  assert.equal(shapeTextOf({ ...get('/nodes'), queryString: 'query=%E0%A4' }), null);
});

test('small queries: a shape is small when a query thread had little to do for it, and until it fails', () => {
  const shape = new QueryShape();
  assert.equal(shape.isSmall, false);
  shape.took(20, true);
  assert.equal(shape.isSmall, false);
  shape.took(0.3, true);
  assert.equal(shape.isSmall, true);
  // What another thread took of the processor.
  shape.took(20, true);
  assert.equal(shape.isSmall, true);
  shape.took(0.3, false);
  assert.equal(shape.isSmall, false, 'an answer that streams is none');
  shape.took(0.3, true);
  for (const waits of [1, 2, 4]) {
    shape.tried(false);
    for (let i = 0; i < waits; i++) {
      assert.equal(shape.isSmall, false);
      shape.took(0.3, true);
    }
    assert.equal(shape.isSmall, true);
  }
  shape.tried(true);
  shape.tried(false);
  for (let i = 0; i < 4; i++) shape.took(0.3, true);
  assert.equal(shape.isSmall, true, 'one that was small makes up for one that was not');
});

test('small queries: what was small once and takes long ever since is forgotten', () => {
  const shape = new QueryShape();
  shape.took(2, true);
  for (let i = 0; i < 4; i++) shape.took(50, true);
  assert.equal(shape.isSmall, true);
  shape.took(50, true);
  assert.equal(shape.isSmall, false);
});

test('small queries: answers are whole; a query that is not small has none, nor has one that is wrong', () =>
  withSmall(async (small) => {
    assert.ok(small.takes(0));
    /** Code that is not compiled yet may take longer than a small query may. */
    const answer = async (request: QueryRequest): Promise<AnswerHead> => {
      for (let tries = 0; tries < 100; tries++) {
        const result = small.answer(request, new QueryShape(), settings());
        if (result?.answer != null) return result.answer.head;
        await nextTurn();
      }
      return assert.fail(`${request.path} is never small`);
    };
    const { status, body } = await answer(get('/nodes/n1/resources'));
    assert.equal(status, 200);
    assert.equal(JSON.parse(Buffer.from(body ?? '').toString()).length, resourcesOf('n1', 1, 2).length);
    const none = await answer(get('/nodes', ['~', 'certname', '^x']));
    assert.equal(Buffer.from(none.body ?? '').toString(), '[]');
    // Back references take steps, here more than this thread gives them.
    const costly = get('/resources', ['~', 'title', String.raw`((\w|/)+)+\1\1\1\1x`]);
    for (const request of [get('/nodes/nobody'), get('/nodes', ['=', 'nothing', 1]), costly]) {
      for (let tries = 0; tries < 3; tries++)
        assert.equal(small.answer(request, new QueryShape(), settings()), null, request.path);
    }
    // What nobody can divide is not begun with, however little is asked of it.
    const ofLong = (node: string) =>
      get('/facts', ['extract', 'name', ['and', ['=', 'certname', node], ['~', 'value', '^aa']]]);
    assert.equal(Buffer.from((await answer(ofLong('n1'))).body ?? '').toString(), '[{"name":"long"}]');
    for (let tries = 0; tries < 5; tries++)
      assert.equal(small.answer(ofLong('n0'), new QueryShape(), settings()), null);
    const shape = new QueryShape();
    shape.took(1, true);
    assert.equal(small.answer(get('/nodes/n0/resources'), shape, settings()), null);
    assert.equal(shape.isSmall, false);
  }));

test('small queries: work that goes on for long ends here, also for who may take longer than others', async () => {
  const request = get('/nodes', ['~', 'certname', '^x']);
  const unbounded = { ...request, queryString: `${request.queryString}&origin=puppet:puppetdb-sync-batch` };
  let now = 0;
  let isPassing = false;
  const clock = () => (isPassing ? (now += 20) : now);
  const isAnswered = (small: SmallQueries) => small.answer(unbounded, new QueryShape(), settings()) !== null;
  await withSmall(
    async (small) => {
      let tries = 0;
      while (!isAnswered(small) && tries < 100) {
        tries++;
        await nextTurn();
      }
      assert.ok(tries < 100, 'as long as no time passes');
      isPassing = true;
      for (let i = 0; i < 10; i++) assert.ok(!isAnswered(small));
    },
    { clock },
  );
});

test('small queries: one in a turn of the event loop, none for a while when several come at a time', async () => {
  let now = 5000;
  await withSmall(
    async (small) => {
      assert.equal(small.takes(0), true);
      await nextTurn();
      assert.equal(small.takes(0), true);
      assert.equal(small.takes(0), false, 'the second one of a turn');
      await nextTurn();
      assert.equal(small.takes(0), false, 'several came');
      now += 100;
      assert.equal(small.takes(0), true);
      await nextTurn();
      assert.equal(small.takes(1), false, 'another one is at work');
    },
    { clock: () => now },
  );
});

test('small queries: the store is not opened while commands are applied, and none is taken without it', async () => {
  let isPressing = true;
  await withSmall(
    async (small) => {
      assert.equal(small.takes(0), false);
      isPressing = false;
      assert.equal(small.takes(0), true);
      isPressing = true;
      await nextTurn();
      assert.equal(small.takes(0), true, 'it is open');
    },
    { isPressing: () => isPressing },
  );
  const nowhere = new SmallQueries({
    dir: '/dev/null/nowhere',
    chunkSize: 1,
    isPressing: () => false,
    log: silentLog,
  });
  assert.equal(nowhere.takes(0), false);
  await nowhere.close();
});

test('small queries: a pool that has warmed up answers at once what was small, and sees what was applied since', async () => {
  const ring = await startRing({ dir, engine: engineSettings, threads: 1 });
  const pool = new ThreadQueryPool({ dir, threads: 1 });
  try {
    pool.open();
    await pool.warmedUp;
    const ask = (certname: string) => {
      const client = { text: '', ended: false, left: 0, finished: Promise.resolve() };
      client.finished = new Promise((resolve) => {
        pool.run(get(`/nodes/${certname}/resources`), settings(), {
          onHead: ({ body }) => {
            client.text += body === null ? '' : Buffer.from(body).toString();
          },
          onChunk: (chunk, free) => {
            client.text += Buffer.from(chunk).toString();
            free?.();
          },
          onEnd: () => {
            client.ended = true;
          },
          onAbort: (text) => assert.fail(text),
          onLeft: () => {
            client.left++;
            resolve();
          },
        });
        assert.equal(client.text, '', 'nothing is told from inside run');
      });
      return client;
    };
    const answeredAtOnce = async (): Promise<string> => {
      for (const deadline = performance.now() + 30_000; performance.now() < deadline; ) {
        const client = ask('n1');
        await Promise.resolve();
        const { ended } = client;
        await client.finished;
        assert.equal(client.left, 1);
        assert.equal(client.ended, true);
        if (ended) return client.text;
        await pause(5);
      }
      return assert.fail('never answered at once');
    };
    const before = JSON.parse(await answeredAtOnce());
    assert.equal(before.length, resourcesOf('n1', 1, 2).length);
    const larger = await ring.submit(submissionOf(replaceCatalog('n1', 2, TIME + 1000, 5)), true);
    assert.equal((await larger.outcome)?.kind, 'processed');
    assert.equal(JSON.parse(await answeredAtOnce()).length, resourcesOf('n1', 2, 5).length);
    // Of the same shape, and not small: a query thread answers, and all of it.
    const many = ask('n0');
    await many.finished;
    assert.equal(JSON.parse(many.text).length, resourcesOf('n0', 1, MANY).length);
  } finally {
    await pool.stop();
    await ring.stop();
  }
});
