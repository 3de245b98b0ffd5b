import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Settings } from '../../../schemas/config.ts';
import { queryRoutes } from '../../../schemas/query-routes.ts';
import { type Listener, startListener } from '../../../server/http/listener.ts';
import { adminRoutes } from '../../../server/ops/admin-mounts.ts';
import { tarFile } from '../../../server/ops/archive/tar.ts';
import { createHttpRecorder, prefixesOf } from '../../../server/ops/metrics/http-recorder.ts';
import { createOps, type Ops } from '../../../server/ops/ops.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import { FakeRing } from '../../support/fake-ring.ts';
import { silentLogs } from '../../support/logs.ts';
import { querySettings } from '../../support/query-settings.ts';
import { until } from '../../support/waiting.ts';
import { FakePool, noSchedule } from './support.ts';

const DAY = 86_400_000;

const settings = {
  ...noSchedule,
  data: tmpdir(),
  cpuInterval: 1000,
  queryThreads: 2,
  actorThreads: 1,
  metrics: true,
  metricsV1: false,
  statusLogInterval: null,
  decompressedMax: 1_000_000,
  archiveMax: 1_000_000,
} as Settings;

interface Running {
  readonly ring: FakeRing;
  readonly pool: FakePool;
  readonly ownPool: FakePool;
  /** What was logged, in order. */
  readonly lines: string[];
  readonly port: number;
  readonly registry: MetricsRegistry;
  readonly ops: Ops;
  readonly get: (path: string, init?: RequestInit) => Promise<Response>;
}

/** A line is its text, behind it the fields that it has. */
function logs(tell: (line: string) => void) {
  const at = (first: string | object, text?: string): void =>
    tell(text === undefined ? String(first) : `${text} ${JSON.stringify(first)}`);
  return { info: at, warn: at, error: at };
}

async function withServer(body: (running: Running) => Promise<void>, clock = Date.now): Promise<void> {
  const ring = new FakeRing();
  const answer = () => ({ text: '[{"count":3}]', headers: [['X-Records', '2']] as [string, string][] });
  const [pool, ownPool] = [new FakePool(answer), new FakePool(answer)];
  const lines: string[] = [];
  const told = (text: string): void => void lines.push(text);
  const registry = new MetricsRegistry();
  const ops = createOps({
    ring,
    pool,
    ownPool,
    busyQueries: () => 0,
    registry,
    settings,
    querySettings: () => querySettings,
    clock,
    random: () => 0,
    uuid: () => 'uuid',
    log: Object.assign(silentLogs().area('maintenance'), logs(told)),
    storeLog: Object.assign(silentLogs().area('store'), logs(told)),
    version: '8.8.1',
    phase: () => 'running',
  });
  const listener: Listener = await startListener({
    at: { host: '127.0.0.1', port: 0 },
    kind: 'http',
    mounts: ops.mounts,
    isStarting: () => false,
    onRequest: createHttpRecorder(registry),
    onError: (error) => assert.fail(String(error)),
  });
  ops.start();
  try {
    const get: Running['get'] = (path, init) => fetch(`http://127.0.0.1:${listener.port}${path}`, init);
    await body({ ring, pool, ownPool, lines, port: listener.port, registry, ops, get });
  } finally {
    await listener.stop(1000);
    await ops.stop();
  }
}

test('ops: over a real socket, status, metrics, dashboard and administration answer', async () => {
  await withServer(async ({ ring, registry, get }) => {
    assert.equal(await (await get('/status/v1/simple')).text(), 'running');
    // Counted while the ring is opened, when who asks for its depth is still told of none.
    registry.counter('mq', 'global.depth').inc(9);
    const depth = '/metrics/v2/read/puppetlabs.puppetdb.mq%3Aname%3Dglobal.depth';
    const scraped = await (await get('/metrics/prometheus')).text();
    assert.match(scraped, /^muster_mq_depth 9$/m);
    assert.match(scraped, /^muster_data_free_bytes [1-9]/m);
    const named = (kind: string) =>
      [...scraped.matchAll(new RegExp(`^# ${kind} (muster_\\S+) `, 'gm'))].map(([, n]) => n);
    assert.deepEqual(named('HELP'), named('TYPE'));
    assert.equal((await get('/pdb/dashboard/data')).status, 200);
    assert.equal(((await (await get(depth)).json()) as { value: { Count: number } }).value.Count, 9);
    const escaped = '/metrics/v2/read/puppetlabs.puppetdb.http%3Aname%3D!/pdb!/cmd!/v1.service-time/Count';
    assert.equal(((await (await get(escaped)).json()) as { value: number }).value, 0);
    assert.equal((await get('/pdb/dashboard/index.html')).status, 200);
    const body = '{"command":"clean","version":1,"payload":["gc_packages"]}';
    const clean = await get('/pdb/admin/v1/cmd', { method: 'POST', body });
    assert.equal(await clean.text(), '{\n  "ok" : true\n}');
    assert.deepEqual(ring.steps, [{ kind: 'gc_packages' }]);
  });
});

test('ops: an archive goes out and comes in over a real socket', async () => {
  await withServer(async ({ ring, pool, get }) => {
    pool.answer = ({ path, body }) => {
      const isNames = path === '/nodes' && !body?.includes('expires_facts_updated');
      if (isNames) return { text: '[{"certname":"a"},{"certname":"b"}]' };
      const facts = ['a', 'b'].map((certname) => ({
        certname,
        environment: null,
        producer_timestamp: 't',
        producer: null,
        facts: { data: [] },
      }));
      return { text: path === '/factsets' ? JSON.stringify(facts) : '[]' };
    };
    const exported = await (await get('/pdb/admin/v1/archive')).arrayBuffer();
    const form = new FormData();
    form.append('archive', new Blob([exported]), 'export.tgz');
    const imported = await get('/pdb/admin/v1/archive', { method: 'POST', body: form });
    assert.deepEqual([imported.status, await imported.json()], [200, { ok: true }]);
    assert.deepEqual(
      ring.submissions.map(({ envelope }) => envelope.certname),
      ['a', 'b'],
    );
  });
});

test('ops: the log tells of an archive whose client leaves, with what was done so far', async () => {
  await withServer(async ({ ring, pool, lines, port, get }) => {
    // One row of facts, and no more of it.
    const row = { certname: 'a', environment: null, producer_timestamp: 't', producer: null, facts: { data: [] } };
    pool.answer = ({ path, body }) => {
      if (path === '/factsets') return { text: `[${JSON.stringify(row)},`, hangs: true };
      const isNames = path === '/nodes' && !body?.includes('expires_facts_updated');
      return { text: isNames ? '[{"certname":"a"}]' : '[]' };
    };
    const leaving = new AbortController();
    const exported = await get('/pdb/admin/v1/archive', { signal: leaving.signal });
    await until('facts are asked for', () => pool.requests.some(({ path }) => path === '/factsets'));
    leaving.abort();
    await exported.arrayBuffer().catch(() => {});
    await until('the export has ended', () => lines.some((line) => line.startsWith('Export broken off: the client')));
    assert.match(lines.at(-1)!, /^Export broken off: the client has left \{"rows":[01],"bytes":\d+\}$/);

    const form = new FormData();
    const archive = [
      ...tarFile('puppetdb-bak/export-metadata.json', Buffer.from('{"command_versions":{}}'), 0),
      ...tarFile('puppetdb-bak/facts/a.json', Buffer.from('{}'), 0),
      ...tarFile('puppetdb-bak/facts/b.json', randomBytes(200_000), 0),
    ];
    form.append('archive', new Blob([gzipSync(Buffer.concat(archive))]), 'export.tgz');
    const sent = new Request('http://x/', { method: 'POST', body: form });
    const body = Buffer.from(await sent.arrayBuffer());
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /pdb/admin/v1/archive HTTP/1.1\r\nHost: x\r\nContent-Type: ${sent.headers.get('content-type')}\r\n` +
        `Content-Length: ${body.byteLength}\r\n\r\n`,
    );
    socket.write(body.subarray(0, 150_000));
    await until('the first command is queued', () => ring.submissions.length === 1);
    socket.destroy();
    await until('the import has ended', () => lines.some((line) => line.startsWith('Import broken off')));
    assert.equal(lines.at(-1), 'Import broken off: the client has left {"commands":1}');
  });
});

test('ops: population comes from queries and is kept for a while', async () => {
  await withServer(async ({ ownPool: pool, get }) => {
    const value = async (name: string) => {
      const answer = await get(`/metrics/v2/read/puppetlabs.puppetdb.population:name=${name}/Value`);
      return ((await answer.json()) as { value: number }).value;
    };
    assert.deepEqual([await value('num-nodes'), await value('num-active-nodes')], [3, 3]);
    assert.equal(pool.requests.length, 1);
    assert.equal(await value('avg-resources-per-node'), 1);
    assert.equal(await value('pct-resource-dupes'), 1 / 3);
  });
});

test("ops: neither the status nor the population depend on the line of clients' queries", async () => {
  await withServer(async ({ pool, get }) => {
    pool.answer = () => ({ status: 503, text: 'Too many queries are waiting. Try again later.' });
    assert.equal(await (await get('/status/v1/simple')).text(), 'running');
    const nodes = await get('/metrics/v2/read/puppetlabs.puppetdb.population:name=num-nodes/Value');
    assert.equal(((await nodes.json()) as { value: number }).value, 3);
  });
});

test('ops: the status says error when the store cannot be read or written, and the log why', async () => {
  await withServer(async ({ ring, ownPool: pool, lines, get }) => {
    const good = pool.answer;
    pool.answer = () => ({ status: 500, text: 'down' });
    const first = await get('/status/v1/services');
    assert.equal(first.status, 503);
    const body = (await first.json()) as { 'puppetdb-status': { state: string; status: Record<string, unknown> } };
    assert.equal(body['puppetdb-status'].state, 'error');
    assert.equal(body['puppetdb-status'].status['read_db_up?'], false);
    const why = 'the store cannot be read, the status is error: query /environments failed with status 500: down';
    await until('it is asked again', async () => (await get('/status/v1/simple')) && pool.requests.length > 1);
    assert.deepEqual(lines, [why]);
    pool.answer = good;
    await until('it can be read again', async () => (await get('/status/v1/simple')).status === 200);
    assert.deepEqual(lines, [why, 'the store can be read again']);
    ring.healthy = false;
    assert.equal(await (await get('/status/v1/simple')).text(), 'error');
  });
});

test('ops: the health is asked for again also when the clock has been set back', async () => {
  let shift = 0;
  await withServer(
    async ({ ownPool: pool, get }) => {
      const state = async () => (await get('/status/v1/simple')).text();
      assert.equal(await state(), 'running');
      shift = -DAY;
      pool.answer = () => ({ status: 500, text: 'down' });
      await until('the status says error', async () => (await state()) === 'error');
    },
    () => Date.now() + shift,
  );
});

test('http metrics: every path of administration, and the first step of every query, has its own', () => {
  const paths = [
    ...Object.keys(adminRoutes).map((path) => `/pdb/admin${path}`),
    ...queryRoutes
      .filter(({ api, path }) => api !== 'internal' && path !== '')
      .map(({ api, path }) => (api === 'ext' ? '/pdb/ext/v1/' : '/pdb/query/v4/') + path.split('/')[1]),
  ];
  for (const path of paths) assert.equal(prefixesOf(path).at(-1), path);
});

test('http metrics: every known leading part of a path is timed, the rest is folded into it', async () => {
  assert.deepEqual(prefixesOf('/pdb/query/v4/facts/kernel/Linux'), [
    '/pdb',
    '/pdb/query',
    '/pdb/query/v4',
    '/pdb/query/v4/facts',
  ]);
  assert.deepEqual(prefixesOf('/pdb/cmd/v1'), ['/pdb', '/pdb/cmd', '/pdb/cmd/v1']);
  assert.deepEqual(prefixesOf('/metrics/v2/read/java.lang:type=Memory'), ['/metrics', '/metrics/v2']);
  assert.deepEqual(prefixesOf('/status/v1/simple'), []);
  const registry = new MetricsRegistry();
  const record = createHttpRecorder(registry);
  const one = { path: '/pdb/cmd/v1', status: 200, elapsedMs: 5 } as Parameters<typeof record>[0];
  record(one);
  record({ ...one, status: 0 });
  record({ ...one, path: '/pdb/query/v4/nodes/x' });
  assert.equal(registry.timer('http', '/pdb.service-time').count, 3);
  assert.equal(registry.meter('http', '/pdb.200').count, 2);
  assert.equal(registry.meter('http', '/pdb/cmd/v1').count, 1);
  assert.equal(registry.get('http', '/pdb/query/v4/nodes/x.200'), undefined);
});
