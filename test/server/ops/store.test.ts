// The operational side over a real store in this thread: what it asks is understood, and an archive carries everything over
// to another store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { openRequest } from '../../../engine/query/request/run.ts';
import { readTar } from '../../../server/ops/archive/tar.ts';
import { registerGauges } from '../../../server/ops/metrics/gauges.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import type { QueryPool } from '../../../workers/types.ts';
import { catalog, type Fleet, facts, NOW, newFleet, report, settings } from '../../engine/query/request/fleet.ts';
import { FakeRing } from '../../support/fake-ring.ts';
import { adminMounts, request } from './support.ts';

/** Answers in this thread, in parts of some hundred bytes, as far as the credit goes. */
function poolOf(fleet: Fleet): QueryPool {
  const creditMax = 4096;
  return {
    run: (asked, querySettings, handlers) => {
      const run = openRequest(asked, { partitions: fleet.partitions, clock: () => NOW }, querySettings);
      let credit = creditMax;
      let isHeadSent = false;
      let isOver = false;
      const pump = (): void => {
        while (!isOver && credit > 0) {
          const chunk = run.step(300);
          if (run.head !== null && !isHeadSent) {
            isHeadSent = true;
            handlers.onHead(run.head);
          }
          if (chunk !== null) {
            credit -= chunk.byteLength;
            handlers.onChunk(Uint8Array.from(chunk));
          }
          if (!run.done) continue;
          isOver = true;
          if (run.aborted === null) handlers.onEnd();
          else handlers.onAbort(run.aborted);
        }
      };
      setImmediate(pump);
      return {
        grant: (bytes) => {
          credit += bytes;
          setImmediate(pump);
        },
        cancel: () => {
          isOver = true;
          run.close();
        },
      };
    },
  };
}

const names = [
  'a.example',
  'b_c.example',
  'very-long-name-that-does-not-fit-into-the-plain-header-of-an-archive.example.com',
];

function fill(fleet: Fleet): void {
  for (const [index, name] of names.entries()) {
    fleet.apply('replace facts', 5, facts(name, { index, nested: { list: [1, 'two', null] }, ünï: 'çödé' }));
    fleet.apply('replace catalog', 9, catalog(name));
    fleet.apply('store report', 8, report(name));
    const plan = { type: 'plan', producer_timestamp: '2026-11-20T00:05:00.000Z', resources: [] };
    fleet.apply('store report', 8, report(name, plan));
  }
  const at = '2026-11-20T01:00:00.000Z';
  fleet.apply('configure expiration', 1, { certname: names[0]!, expire: { facts: false }, producer_timestamp: at });
  fleet.apply('replace catalog inputs', 1, {
    certname: names[1]!,
    catalog_uuid: '8ff34739-82d8-42d8-92d8-82d82d82d82b',
    producer_timestamp: at,
    inputs: [['hiera', 'x']],
  });
  fleet.apply('replace facts', 5, facts('gone.example', { a: 1 }));
  fleet.apply('deactivate node', 3, { certname: 'gone.example', producer_timestamp: at });
}

async function exported(fleet: Fleet): Promise<{ bytes: Uint8Array; files: Map<string, string> }> {
  const asker = { pool: poolOf(fleet), querySettings: () => settings };
  const { mounts } = adminMounts({ asker });
  const { bytes } = await request(mounts, '/pdb/admin/v1/archive');
  async function* source() {
    yield gunzipSync(bytes);
  }
  const files = new Map<string, string>();
  for await (const entry of readTar(source())) {
    if (!entry.name.endsWith('metadata.json')) files.set(entry.name, Buffer.from(await entry.contents(1e6)).toString());
  }
  return { bytes, files };
}

test('archive: what is imported into an empty store exports the same again', async () => {
  const [first, second] = [newFleet(), newFleet()];
  try {
    fill(first);
    const { bytes, files } = await exported(first);
    assert.equal(files.size, 3 * 4 + 2);
    assert.ok(![...files.keys()].some((name) => name.includes('gone.example')));
    const ring = new FakeRing();
    ring.onSubmit = ({ envelope: { command, version, certname }, body }) => {
      const payload = JSON.parse(Buffer.from(body).toString());
      assert.equal(payload.certname, certname);
      second.apply(command, version, payload);
    };
    const { mounts } = adminMounts({ ring });
    const form = Buffer.concat([
      Buffer.from('--b0\r\nContent-Disposition: form-data; name="archive"; filename="x"\r\n\r\n'),
      bytes,
      Buffer.from('\r\n--b0--'),
    ]);
    const headers = { 'Content-Type': 'multipart/form-data; boundary=b0' };
    const imported = await request(mounts, '/pdb/admin/v1/archive', { body: form, headers });
    assert.deepEqual([imported.status, imported.text], [200, '{\n  "ok" : true\n}']);
    const again = await exported(second);
    assert.deepEqual([...again.files].sort(), [...files].sort());
  } finally {
    await first.close();
    await second.close();
  }
});

test('population and summary: every question is understood by the store', async () => {
  const fleet = newFleet();
  try {
    fill(fleet);
    // Inactive for longer than node-purge-ttl, and not deleted yet.
    fleet.apply('deactivate node', 3, { certname: 'old.example', producer_timestamp: '2025-01-01T00:00:00.000Z' });
    const asker = { pool: poolOf(fleet), querySettings: () => ({ ...settings, nodePurgeTtl: 14 * 86_400_000 }) };
    const registry = new MetricsRegistry();
    const threads = { queryThreads: 2, actorThreads: 1 };
    const ring = new FakeRing();
    let busyQueries = 0;
    registerGauges({ registry, asker, ring, busyQueries: () => busyQueries, clock: () => NOW, settings: threads });
    const connections = (pool: string) =>
      ['Max', 'Active', 'Idle', 'Pending'].map(
        (item) => (registry.get('database', `${pool}.pool.${item}Connections`) as { value?: unknown }).value,
      );
    const writers = () => connections('PDBWritePool');
    assert.deepEqual(connections('PDBReadPool'), [2, 0, 2, 0]);
    busyQueries = 5;
    assert.deepEqual(connections('PDBReadPool'), [2, 2, 0, 3]);
    // What waits for its next attempt needs no writer.
    ring.depth = 20;
    assert.deepEqual(writers(), [1, 0, 1, 0]);
    ring.busyPartitions = 3;
    assert.deepEqual(writers(), [1, 1, 0, 2]);
    const value = async (name: string) => (registry.get('population', name) as { value?: unknown }).value;
    assert.deepEqual([await value('num-nodes'), await value('num-active-nodes')], [3, 3]);
    assert.equal(await value('num-inactive-nodes'), 2);
    assert.equal(await value('num-resources'), 6);
    assert.equal(await value('avg-resources-per-node'), 6 / 5);
    assert.equal(await value('pct-resource-dupes'), 4 / 6);
    const { mounts } = adminMounts({ asker });
    const stats = JSON.parse((await request(mounts, '/pdb/admin/v1/summary-stats')).text);
    assert.deepEqual(stats.node_activity, [
      { count: 3, active: true },
      { count: 2, active: false },
    ]);
    assert.equal(stats.num_resources_per_node[0].quantiles[10], 2);
    assert.deepEqual(stats.num_resources_per_file, [{ quantiles: null }]);
    assert.deepEqual(stats.file_resources_per_catalog_with_source, [{ quantiles: null }]);
    assert.deepEqual(stats.num_distinct_edges_source_target, [{ count: 1 }]);
    for (const part of ['metric', 'log']) {
      const { quantiles } = stats[`report_${part}_size_dist`][0];
      assert.equal(quantiles.length, 21);
      assert.ok(
        quantiles.every((size: number) => size > 0 && size < 1000),
        quantiles.join(),
      );
    }
    assert.ok(stats.fact_path_counts_by_depth.length > 1);
    assert.ok(Object.entries(stats).every(([name, rows]) => name === 'index_usage' || (rows as unknown[]).length > 0));
  } finally {
    await fleet.close();
  }
});
