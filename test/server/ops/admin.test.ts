import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MaintenanceUnavailable } from '../../../workers/types.ts';
import { adminMounts, request } from './support.ts';

function admin() {
  const { ring, registry, mounts } = adminMounts();
  const post = (body: string, headers = {}) => request(mounts, '/pdb/admin/v1/cmd', { method: 'POST', body, headers });
  const send = async (body: unknown) => {
    const { status, type, text } = await post(JSON.stringify(body));
    assert.equal(type, 'application/json;charset=utf-8');
    return [status, JSON.parse(text)];
  };
  return { ring, registry, mounts, post, send };
}

const clean = (payload: unknown) => ({ command: 'clean', version: 1, payload });

test('admin: clean runs its steps in a fixed order', async () => {
  const { ring, send } = admin();
  assert.deepEqual(await send(clean(['other', 'purge_reports', 'gc_packages', 'expire_nodes', 'other'])), [
    200,
    { ok: true },
  ]);
  assert.deepEqual(
    ring.steps.map((step) => step.kind),
    ['expire_nodes', 'purge_reports', 'gc_packages', 'gc_catalogs', 'gc_fact_paths'],
  );
});

test('admin: an empty list, or null, is everything', async () => {
  for (const payload of [[], null]) {
    const { ring, send } = admin();
    assert.deepEqual(await send(clean(payload)), [200, { ok: true }]);
    assert.equal(ring.steps.length, 9);
    assert.deepEqual(ring.steps[1], { kind: 'purge_nodes', batchLimit: 0 });
  }
});

test('admin: the last mention of purge_nodes decides on its limit', async () => {
  const limited = ['purge_nodes', { batch_limit: 2 }];
  const cases: readonly (readonly [unknown[], unknown])[] = [
    [[limited], [{ kind: 'purge_nodes', batchLimit: 2 }]],
    [[limited, 'purge_nodes'], [{ kind: 'purge_nodes', batchLimit: 0 }]],
    [['purge_nodes', limited], [{ kind: 'purge_nodes', batchLimit: 2 }]],
    // At most none.
    [[['purge_nodes', { batch_limit: 0 }]], []],
    // Passes validation, fails when carried out, and is answered like success.
    [[['purge_nodes', { batch_limit: -1 }]], []],
  ];
  for (const [payload, steps] of cases) {
    const { ring, send } = admin();
    assert.deepEqual(await send(clean(payload)), [200, { ok: true }]);
    assert.deepEqual(ring.steps, steps);
  }
});

test('admin: a failing step does not keep the others from running', async () => {
  const { ring, send } = admin();
  ring.onMaintain = (step) => {
    if (step.kind === 'expire_nodes') throw new Error('disk gone');
  };
  assert.deepEqual(await send(clean(['expire_nodes', 'gc_packages'])), [200, { ok: true }]);
  assert.equal(ring.steps.length, 2);
});

test('admin: clean while another one runs is a conflict', async () => {
  const { ring, registry, send } = admin();
  let finish = () => {};
  ring.onMaintain = () => new Promise((resolve) => (finish = resolve));
  const first = send(clean(['purge_reports', 'expire_nodes']));
  await new Promise((resolve) => setImmediate(resolve));
  const cleaning = () => (registry.get('admin', 'cleaning') as { value?: unknown }).value;
  assert.equal(cleaning(), 'expiring-nodes purging-reports');
  assert.deepEqual(await send(clean([])), [
    409,
    { kind: 'conflict', msg: 'Another cleanup is already in progress', details: null },
  ]);
  ring.onMaintain = () => {};
  finish();
  assert.deepEqual(await first, [200, { ok: true }]);
  assert.equal(cleaning(), '');
  assert.deepEqual(await send(clean(['other'])), [200, { ok: true }]);
});

test('admin: delete names what it deleted', async () => {
  const { ring, post } = admin();
  const { status, text } = await post('{"command":"delete","version":1,"payload":{"certname":""}}');
  assert.deepEqual([status, text], [200, '{\n  "deleted" : ""\n}']);
  assert.deepEqual(ring.steps, [{ kind: 'delete', certname: '' }]);
});

test('admin: a store that cannot be written now is a reason to come again, anything else is none', async () => {
  const { ring, post } = admin();
  const body = JSON.stringify({ command: 'delete', version: 1, payload: { certname: 'a' } });
  ring.onMaintain = () => {
    throw new MaintenanceUnavailable('partition 1: No space left on device');
  };
  const { status, text, headers } = await post(body);
  assert.equal(status, 503);
  assert.match(text, /partition 1: No space left on device/);
  assert.equal(headers.get('retry-after'), '5');
  ring.onMaintain = () => {
    throw new Error('unexpected');
  };
  await assert.rejects(post(body), /unexpected/);
});

test('admin: refusals repeat the body as a string literal', async () => {
  const { ring, post } = admin();
  const nil = [
    '{"command":"clean","version":1,"payload":["scrub"]}',
    '{"command":"clean","version":1,"payload":["other","more"]}',
    '{"command":"clean","version":1,"payload":"expire_nodes"}',
    '{"command":"clean","version":1}',
    '{"command":"clean","version":1,"payloads":[]}',
    '{"command":"clean","version":2,"payload":[]}',
    '{"command":"clean","version":"1","payload":[]}',
    '{"command":"clean","version":1.0,"payload":[]}',
    '{"command":"clean","version":1e0,"payload":[]}',
    '{"command":"clean","version":1,"payload":[["purge_nodes",{"batch_limit":5.0}]]}',
    '{"command":"clean","version":1,"payload":[],"certname":"x"}',
    '{"command":"clean","version":1,"payload":[["purge_nodes",{"batch_limit":"5"}]]}',
    '{"command":"clean","version":1,"payload":[["purge_nodes",{}]]}',
    '{"command":"clean","version":1,"payload":[["purge_nodes",{"batch_limit":5,"limit":5}]]}',
    '{"command":"clean","version":1,"payload":[["expire_nodes",{"batch_limit":5}]]}',
    '{"command":"clean","version":1,"payload":[["purge_nodes"]]}',
    '{"command":"delete","version":1,"payload":"web1"}',
    '{"command":"delete","version":1,"payload":{}}',
    '{"command":"delete","version":1,"payload":{"certname":null}}',
    '{"command":"delete","version":1,"payload":{"certname":"x","force":true}}',
    '{"command":"delete","version":3,"payload":{"certname":"x"}}',
    '{"command":"delete","version":1.0,"payload":{"certname":"x"}}',
  ];
  const noCommand = ['[]', 'null', '"clean"', '{}', '', '{ "command" : "nope",  "version":1 }', '{"a\\n":\n\t1}'];
  const literal = (body: string) => JSON.stringify(body);
  for (const body of [...nil, ...noCommand]) {
    const { status, text } = await post(body);
    const reason = nil.includes(body) ? 'nil' : "Valid commands types are: 'clean' and 'delete'";
    assert.deepEqual([status, JSON.parse(text)], [400, { error: `Invalid command ${literal(body)}: ${reason}` }]);
  }
  assert.deepEqual(ring.steps, []);
});

test('admin: what is not JSON is refused, a form is an empty command', async () => {
  const { post } = admin();
  const marked = await post(`\ufeff${JSON.stringify(clean([]))}`);
  assert.equal(marked.status, 400);
  const broken = await post('clean up, please');
  assert.equal(broken.status, 400);
  assert.match(JSON.parse(broken.text).error, /^Invalid command "clean up, please": ./);
  const form = await post('{"command":"clean"}', {
    'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8',
  });
  assert.equal(JSON.parse(form.text).error, "Invalid command \"\": Valid commands types are: 'clean' and 'delete'");
});

test('admin: other methods and paths are unknown', async () => {
  const { mounts } = admin();
  for (const [method, path] of [
    ['GET', '/v1/cmd'],
    ['PUT', '/v1/cmd'],
    ['GET', '/v1'],
    ['GET', '/v1/nothing'],
    ['POST', '/v2/cmd'],
  ] as const) {
    const { status, type, text } = await request(mounts, `/pdb/admin${path}`, { method });
    assert.deepEqual([status, type, text], [404, 'text/html;charset=utf-8', 'Not Found']);
  }
});

test('admin: the queue is told in figures named like its metrics', async () => {
  const { registry, mounts } = admin();
  registry.counter('mq', 'global.depth').set(9);
  registry.counter('mq', 'global.awaiting-retry').set(2);
  for (const bytes of [10, 20, 30]) registry.histogram('mq', 'global.size').update(bytes);
  registry.meter('mq', 'global.discarded').mark();
  const { status, text } = await request(mounts, '/pdb/admin/v1/queue');
  assert.deepEqual([status, JSON.parse(text)], [200, { depth: 9, 'awaiting-retry': 2, size: 3, discarded: 1 }]);
  assert.equal((await request(mounts, '/pdb/admin/v1/queue', { method: 'POST', body: '{}' })).status, 404);
});
