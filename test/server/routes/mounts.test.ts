import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMounts } from '../../../server/routes/mounts.ts';
import { FakeRing } from '../../support/fake-ring.ts';
import { querySettings } from '../../support/query-settings.ts';
import { ask, listen } from '../support/http.ts';
import { ScriptedPool } from './scripted-pool.ts';

async function start(t: TestContext) {
  const state = { isStarting: false };
  const mounts = createMounts({
    ring: new FakeRing(),
    pool: new ScriptedPool(() => {}),
    querySettings: () => querySettings,
    queryBodyMax: 1000,
    commands: { rejectLarge: false, sizeMax: 1000, bodyMax: 1000, verifyChecksum: false, decompressedMax: 1000 },
    version: '8.8.1',
    isStarting: () => state.isStarting,
    now: () => Date.UTC(2026, 10, 21, 0, 22, 49, 818),
    uuid: () => 'u',
  });
  const listener = await listen(t, mounts, { isStarting: () => state.isStarting });
  return {
    state,
    at: (path: string, method = 'GET', headers = {}) => ask(listener.port, path, { method, headers }),
    listener,
  };
}

test('root: leads to the dashboard once the server has started', async (t) => {
  const { state, at } = await start(t);
  const root = await at('/');
  assert.equal(root.status, 302);
  assert.equal(root.headers['location'], '/pdb/dashboard/index.html');
  assert.equal(root.text, '');
  state.isStarting = true;
  assert.equal((await at('/')).status, 404);
  assert.equal((await at('/pdb')).status, 503);
});

test('root: /pdb leads there with the address the client used', async (t) => {
  const { at } = await start(t);
  const headers = { host: 'inventory.example:80' };
  for (const path of ['/pdb', '/pdb/', '/pdb?a=1']) {
    const { headers: answer } = await at(path, 'GET', headers);
    assert.equal(answer['location'], 'http://inventory.example:80/pdb/dashboard/index.html', path);
  }
  assert.equal((await at('/pdb', 'POST', headers)).status, 404);
});

test('root: unknown paths below /pdb and outside of it', async (t) => {
  const { at } = await start(t);
  for (const [path, method] of [
    ['/pdb/nothing', 'GET'],
    ['/pdb/nothing', 'POST'],
    ['/pdb/ext/v1/resource-graphs', 'GET'],
  ] as const) {
    const answer = await at(path, method);
    assert.deepEqual(
      [answer.status, answer.headers['content-type'], answer.text],
      [404, 'text/html;charset=utf-8', 'Not Found'],
    );
  }
  const outside = await at('/nothing');
  assert.equal(outside.status, 404);
  assert.match(outside.text, /HTTP ERROR 404 Not Found/);
  for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    const bare = await at('/nothing', method);
    assert.deepEqual([bare.status, bare.headers['content-type'], bare.text], [404, undefined, ''], method);
  }
});

test('meta: version and time, by any method', async (t) => {
  const { at } = await start(t);
  const version = await at('/pdb/meta/v1/version', 'POST');
  assert.equal(version.text, '{\n  "version" : "8.8.1"\n}');
  assert.equal(version.headers['content-type'], 'application/json;charset=utf-8');
  assert.equal((await at('/pdb/meta/v1/version', 'HEAD')).status, 200);
  assert.deepEqual(JSON.parse((await at('/pdb/meta/v1/server-time')).text), {
    server_time: '2026-11-21T00:22:49.818Z',
  });
  assert.deepEqual(JSON.parse((await at('/pdb/meta/v1/version/latest')).text), {
    newer: false,
    version: '8.8.1',
    link: null,
  });
});

test('meta: refuses parameters, other types and unknown paths', async (t) => {
  const { at } = await start(t);
  const parameter = await at('/pdb/meta/v1/version?foo=1&bar=2');
  assert.deepEqual([parameter.status, parameter.text], [400, "Unsupported query parameter 'foo'"]);
  // Without any `=` there are no parameters.
  assert.equal((await at('/pdb/meta/v1/version?foo')).status, 200);
  assert.equal((await at('/pdb/meta/v1/version?foo&bar=1')).text, "Unsupported query parameter 'foo'");
  // Of several the one that is first in PuppetDB's set.
  assert.equal((await at('/pdb/meta/v1/version?bar=1&foo=1')).text, "Unsupported query parameter 'foo'");
  assert.equal((await at('/pdb/meta/v1/version', 'GET', { accept: 'text/plain' })).status, 406);
  for (const path of ['/pdb/meta/v1', '/pdb/meta/v1/nothing', '/pdb/meta/v2/version', '/pdb/meta/v1/toString']) {
    assert.deepEqual([(await at(path)).status, (await at(path)).text], [404, 'Not Found'], path);
    // Parameters are refused first, then what the client takes, then the path; what is sent may be anything.
    assert.equal((await at(path, 'GET', { accept: 'text/plain' })).status, 406, path);
    const all = await at(`${path}?foo=1`, 'GET', { accept: 'text/plain' });
    assert.deepEqual([all.status, all.text], [400, "Unsupported query parameter 'foo'"], path);
  }
  assert.equal((await at('/pdb/meta/v1/version', 'POST', { 'content-type': 'text/plain' })).status, 200);
});
