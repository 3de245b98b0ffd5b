import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessFigures } from '../../../server/ops/metrics/process-figures.ts';
import { createStatusMounts, type StoreHealth } from '../../../server/ops/status.ts';
import { request } from './support.ts';

const healthy: StoreHealth = { starting: false, stopping: false, queueDepth: 4, readable: true, writable: true };

function status(health: () => Promise<StoreHealth> = async () => healthy) {
  const figures = new ProcessFigures(5000);
  const mounts = createStatusMounts({ version: '8.8.1', health, figures, maintenance: () => ({ jobs: [] }) });
  return {
    get: async (path: string) => {
      const { status: code, type, text } = await request(mounts, `/status/v1${path}`);
      return { code, type, text, body: type?.startsWith('application/json') ? JSON.parse(text) : null };
    },
  };
}

const store = {
  service_version: '8.8.1',
  service_status_version: 1,
  detail_level: 'info',
  state: 'running',
  status: {
    'maintenance_mode?': false,
    queue_depth: 4,
    'read_db_up?': true,
    'write_db_up?': true,
    'write_dbs_up?': true,
    write_db: { default: { 'up?': true } },
  },
  active_alerts: [],
};

test('status: two services are listed, compactly', async () => {
  const { code, type, text, body } = await status().get('/services');
  assert.deepEqual([code, type], [200, 'application/json;charset=utf-8']);
  assert.deepEqual(body, { 'puppetdb-status': store, 'status-service': { ...store, status: {} } });
  assert.ok(text.includes('"state":"running"'));
});

test('status: one service names itself and can be asked for its only version', async () => {
  const { get } = status();
  const named = { ...store, service_name: 'puppetdb-status' };
  assert.deepEqual((await get('/services/puppetdb-status')).body, named);
  assert.deepEqual((await get('/services/puppetdb-status?service_status_version=1')).body, named);
  const { body } = await get('/services/puppetdb-status?level=critical&timeout=5');
  assert.equal(body.detail_level, 'critical');
});

test('status: at level debug the process tells its figures', async () => {
  const { body } = await status().get('/services/status-service?level=debug');
  const figures = body.status.experimental['jvm-metrics'];
  assert.deepEqual(Object.keys(figures).sort(), [
    'cpu-usage',
    'file-descriptors',
    'gc-cpu-usage',
    'gc-stats',
    'heap-memory',
    'memory-pools',
    'nio-buffer-pools',
    'non-heap-memory',
    'start-time-ms',
    'threading',
    'up-time-ms',
  ]);
  assert.deepEqual(Object.keys(figures['heap-memory']).sort(), ['committed', 'init', 'max', 'used']);
  assert.ok(figures['heap-memory'].used > 1_000_000);
  assert.ok(Math.abs(figures['start-time-ms'] + figures['up-time-ms'] - Date.now()) < 5000);
});

test('status: bad parameters are refused with kind and message', async () => {
  const { get } = status();
  const refusals: readonly (readonly [string, string, string])[] = [
    ['/services?level=all', 'data-invalid', 'Invalid level: :all'],
    ['/services?timeout=0', 'data-invalid', 'Invalid timeout. Timeout must be greater than zero but was 0'],
    ['/services?timeout=x', 'data-invalid', 'Invalid timeout. Should be an integer but was x'],
    ['/services?timeout&level=info', 'data-invalid', 'Invalid timeout. Should be an integer but was '],
    [
      '/services/status-service?service_status_version=x',
      'data-invalid',
      'Invalid service_status_version. Should be an integer but was x',
    ],
    [
      '/services/puppetdb-status?service_status_version=9',
      'service-status-version-not-found',
      'No status function with version 9 found for service puppetdb-status',
    ],
  ];
  for (const [path, kind, msg] of refusals) {
    const { code, body } = await get(path);
    assert.deepEqual([code, body], [400, { kind, msg }], path);
  }
  const unknown = await get('/services/nosuch');
  assert.deepEqual(
    [unknown.code, unknown.body],
    [404, { kind: 'service-not-found', msg: 'No status information found for service nosuch' }],
  );
});

test('status: the simple form is the bare word', async () => {
  const { get } = status();
  const { code, type, text } = await get('/simple');
  assert.deepEqual([code, type, text], [200, 'text/plain;charset=utf-8', 'running']);
  assert.equal((await get('/simple/status-service')).text, 'running');
  const unknown = await get('/simple/nosuch');
  assert.deepEqual([unknown.code, unknown.text], [404, 'not found: nosuch']);
});

test('status: the simple form knows no level, and tells what is wrong as text', async () => {
  const { get } = status();
  for (const path of ['/simple?level=bogus', '/simple/puppetdb-status?level=bogus']) {
    assert.deepEqual([(await get(path)).code, (await get(path)).text], [200, 'running'], path);
  }
  const { code, type, text } = await get('/simple?timeout=0');
  assert.deepEqual([code, type], [400, 'text/plain;charset=utf-8']);
  assert.equal(text, 'Invalid timeout. Timeout must be greater than zero but was 0');
});

test('status: a service that is not there goes before what else is wrong; names are compared as sent', async () => {
  const { get } = status();
  for (const query of ['level=bogus', 'timeout=x', 'service_status_version=x']) {
    assert.equal((await get(`/services/nosuch?${query}`)).code, 404, query);
    assert.equal((await get(`/simple/nosuch?${query}`)).text, 'not found: nosuch', query);
  }
  assert.equal((await get('/services/puppetdb%2Dstatus')).code, 404);
});

test('status: parameters are those of a form, once each, and numbers have 32 bits', async () => {
  const { get } = status();
  for (const query of ['level', 'level=info&level=bogus', 'level=%69nfo&timeout=%2B5', 'timeout=2147483647']) {
    const { code, body } = await get(`/services/puppetdb-status?${query}`);
    assert.deepEqual([code, body.detail_level], [200, 'info'], query);
  }
  const large = await get('/services?timeout=2147483648');
  assert.deepEqual([large.code, large.body.msg], [400, 'Invalid timeout. Should be an integer but was 2147483648']);
});

test('status: the whole is as bad as its worst part, with 503 unless it runs', async () => {
  const cases: readonly (readonly [Partial<StoreHealth>, string])[] = [
    [{ starting: true }, 'starting'],
    [{ stopping: true }, 'stopping'],
    [{ readable: false }, 'error'],
    [{ writable: false }, 'error'],
  ];
  for (const [change, state] of cases) {
    const { get } = status(async () => ({ ...healthy, ...change }));
    const simple = await get('/simple');
    assert.deepEqual([simple.code, simple.text], [503, state]);
    const { code, body } = await get('/services');
    assert.deepEqual([code, body['puppetdb-status'].state, body['status-service'].state], [503, state, 'running']);
  }
});

test('status: a check that fails or hangs is unknown, and says why', async () => {
  const failing = status(() => Promise.reject(new Error('nobody there')));
  const failed = await failing.get('/services/puppetdb-status');
  assert.deepEqual([failed.code, failed.body.state], [503, 'unknown']);
  assert.equal(failed.body.status, 'Status check for puppetdb-status threw an exception: Error: nobody there');
  const hanging = status(() => new Promise(() => {}));
  const late = await hanging.get('/services/puppetdb-status?timeout=1');
  assert.deepEqual([late.body.state, late.body.status], ['unknown', 'Status check timed out after 1 seconds']);
  // No timer could wait for so long.
  const slow = status(() => new Promise((resolve) => setTimeout(resolve, 50, healthy)));
  assert.equal((await slow.get('/services/puppetdb-status?timeout=2147483647')).body.state, 'running');
});

test('status: maintenance can be asked for but is not listed', async () => {
  const { get } = status();
  assert.deepEqual((await get('/services/maintenance')).body.status, { jobs: [] });
});

test('status: other paths are unknown to the web server', async () => {
  for (const path of [
    '',
    '/',
    '/nothing',
    '/services/a/b',
    '/services/',
    '/simple/',
    '/services/puppetdb-status/',
    '/simple/a/b',
  ]) {
    const { code, type } = await status().get(path);
    assert.deepEqual([code, type], [404, 'text/html;charset=iso-8859-1'], path);
  }
});
