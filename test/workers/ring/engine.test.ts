// The ring and the query pool with the real engine: that what the threads promise holds for real commands.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { backup } from '../../../engine/backup/make.ts';
import { restore } from '../../../engine/backup/restore.ts';
import type { Envelope } from '../../../engine/inbox/envelope.ts';
import type { CommandOutcome } from '../../../engine/ingest/command/types.ts';
import { slotOf } from '../../../engine/store/file/store-info.ts';
import { Partition } from '../../../engine/store/partition.ts';
import { withoutLeftovers } from '../../../server/leftovers.ts';
import type { EngineSettings } from '../../../workers/actor/engine-host.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import type { Ring } from '../../../workers/ring/ring.ts';
import { startRing } from '../../../workers/ring/start-ring.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { atEnd } from '../../support/endings.ts';
import { engineSettings } from '../../support/engine-settings.ts';
import { ofPartitions } from '../../support/partitions.ts';
import { pause, until } from '../../support/waiting.ts';

const PARTITIONS = 4;
const DAY = 86_400_000;

async function start(
  t: TestContext,
  dir: string,
  engine: Partial<EngineSettings> = {},
  onExpired?: (certname: string) => void,
): Promise<{ ring: Ring; metrics: MetricsRegistry }> {
  const metrics = new MetricsRegistry();
  const ring = await startRing({
    dir,
    partitions: PARTITIONS,
    threads: 2,
    metrics,
    ...(onExpired !== undefined && { onExpired }),
    times: { flushDelay: 20, retryDelay: 50 },
    engine: { ...engineSettings, ...engine },
  });
  atEnd(t, () => ring.stop());
  return { ring, metrics };
}

async function send(
  ring: Ring,
  command: string,
  version: number,
  payload: object | Uint8Array,
  rest: Partial<Envelope> = {},
): Promise<CommandOutcome> {
  const named = payload instanceof Uint8Array ? 'n' : (payload as { certname: string }).certname;
  const body = payload instanceof Uint8Array ? payload : new Uint8Array(Buffer.from(JSON.stringify(payload)));
  const { outcome } = await ring.submit(
    {
      envelope: {
        uuid: randomUUID(),
        command,
        version,
        certname: named,
        received: Date.now(),
        producerTimestamp: null,
        gzip: false,
        size: null,
        ...rest,
      },
      body,
    },
    true,
  );
  return (await outcome)!;
}

const facts = (certname: string, values: object = { kernel: 'Linux' }, time = Date.now()): object => ({
  certname,
  environment: 'production',
  producer: 'p',
  producer_timestamp: new Date(time).toISOString(),
  values,
});

const report = (certname: string, time: number): object => {
  const instant = new Date(time).toISOString();
  return {
    certname,
    puppet_version: '8.0.0',
    report_format: 12,
    configuration_version: '1',
    start_time: instant,
    end_time: instant,
    producer_timestamp: instant,
    producer: 'p',
    environment: 'production',
    transaction_uuid: randomUUID(),
    catalog_uuid: randomUUID(),
    code_id: null,
    job_id: null,
    cached_catalog_status: 'not_used',
    noop: false,
    noop_pending: false,
    corrective_change: false,
    status: 'unchanged',
    type: 'agent',
    metrics: [],
    logs: [],
    resources: [],
  };
};

const certnameIn = (slot: number): string => {
  for (let i = 0; ; i++) if (slotOf(`n${i}`, PARTITIONS) === slot) return `n${i}`;
};

/** Nodes of each partition, inactive ones too. */
const nodesOf = (dir: string): Promise<number[]> => ofPartitions(dir, (partition) => partition.counts().nodes);

test('engine: actors warm up in folders of their own, which are gone afterwards; none of it is data, and commands end it', async (t) => {
  const dir = temporaryDirectory();
  const scratch = (): string[] => readdirSync(dir).filter((name) => name.startsWith('scratch-'));
  // A process that was killed had more threads.
  mkdirSync(join(dir, 'scratch-007', 'partition-000'), { recursive: true });
  const { ring } = await start(t, dir);
  assert.equal(existsSync(join(dir, 'scratch-007')), false);
  await until('two actors warm up', () => scratch().length === 2);
  const outcome = send(ring, 'replace facts', 5, facts('one'));
  await until('the actor that has something to do ends it, the other one goes on', () => scratch().length === 1);
  assert.equal((await outcome).kind, 'processed');
  await until('nothing is left', () => scratch().length === 0);
  const nodes = await nodesOf(dir);
  assert.equal(
    nodes.reduce((sum, count) => sum + count),
    1,
  );
});

test('engine: commands are stored, and figures told', async (t) => {
  const dir = temporaryDirectory();
  const { ring, metrics } = await start(t, dir);
  for (let i = 0; i < 20; i++) {
    const outcome = await send(ring, 'replace facts', 5, facts(`n${i}`));
    assert.ok(outcome.kind === 'processed' && outcome.detail === 'stored' && outcome.hash?.length === 40);
  }
  assert.equal(ring.healthy, true);
  assert.equal(
    (await nodesOf(dir)).reduce((sum, nodes) => sum + nodes),
    20,
  );
  assert.equal(metrics.timer('mq', 'global.command-parse-time').count, 20);
  assert.equal(metrics.timer('mq', 'replace facts.5.processing-time').count, 20);
});

test('engine: what cannot be decoded goes to the dead letters with its reason', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir);
  for (const payload of [Buffer.from('{"certname": '), Buffer.from('{"certname":"n"}'), Buffer.from([0xff, 0xfe])]) {
    const outcome = await send(ring, 'replace facts', 5, new Uint8Array(payload));
    assert.ok(outcome.kind === 'failed' && !outcome.retryable && outcome.validation, JSON.stringify(outcome));
  }
  await until('discarded', () => ring.depth === 0);
  const folder = join(dir, 'discarded', 'replace_facts');
  const causes = readdirSync(folder).filter((name) => name.endsWith('_err.txt'));
  assert.equal(causes.length, 3);
  for (const cause of causes) {
    assert.match(readFileSync(join(folder, cause), 'utf8'), /^Attempt 1 @ \d{4}-\d\d-\d\dT[\d:.]+Z\n\S.+\n$/);
  }
});

test('engine: a body that is not gzip but says so is tried again, and given up in the end', async (t) => {
  const { ring, metrics } = await start(t, temporaryDirectory());
  const outcome = await send(ring, 'replace facts', 5, new Uint8Array(Buffer.from('{}')), { gzip: true });
  assert.ok(outcome.kind === 'failed' && outcome.retryable);
  await until('given up', () => ring.depth === 0);
  assert.equal(metrics.meter('mq', 'global.retried').count, 6);
  assert.equal(metrics.meter('mq', 'global.discarded').count, 1);
});

test('engine: data go to the partition of the certname in the payload', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir);
  const named = certnameIn(0);
  const real = certnameIn(2);
  const body = new Uint8Array(gzipSync(JSON.stringify(facts(real))));
  const outcome = await send(ring, 'replace facts', 5, body, { certname: named, gzip: true });
  assert.ok(outcome.kind === 'processed' && outcome.certname === real);
  await until('depth 0', () => ring.depth === 0);
  await ring.stop();
  assert.deepEqual(await nodesOf(dir), [0, 0, 1, 0]);
});

test('engine: a purge of reports takes the oldest expired day of the whole store', async (t) => {
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir, { reportTtl: 5 * DAY });
  const now = Date.now();
  for (const [slot, days] of [
    [0, [30, 20, 0]],
    [1, [20, 10, 0]],
    [3, [30, 0]],
  ] as const) {
    for (const age of days) await send(ring, 'store report', 8, report(certnameIn(slot), now - age * DAY));
  }
  const reports = (): Promise<number[]> => ofPartitions(dir, (partition) => partition.counts().reports);
  assert.deepEqual(await reports(), [3, 3, 0, 2]);
  assert.equal(await ring.maintain({ kind: 'purge_reports' }), 2);
  assert.deepEqual(await reports(), [2, 3, 0, 1]);
  assert.equal(await ring.maintain({ kind: 'purge_reports' }), 2);
  assert.deepEqual(await reports(), [1, 2, 0, 1]);
  assert.equal(await ring.maintain({ kind: 'purge_reports' }), 1);
  assert.equal(await ring.maintain({ kind: 'purge_reports' }), 0);
  assert.equal(await ring.maintain({ kind: 'purge_resource_events' }), 0);
});

test('engine: nodes expire, are purged within the limit, and are deleted by name', async (t) => {
  const expired: string[] = [];
  const dir = temporaryDirectory();
  const { ring } = await start(t, dir, { nodeTtl: DAY, nodePurgeTtl: 0 }, (certname) => {
    expired.push(certname);
  });
  const old = Date.now() - 3 * DAY;
  for (let i = 0; i < 12; i++) await send(ring, 'replace facts', 5, facts(`n${i}`, {}, i < 6 ? old : Date.now()));
  assert.equal(await ring.maintain({ kind: 'expire_nodes' }), 6);
  assert.deepEqual(expired.sort(), ['n0', 'n1', 'n2', 'n3', 'n4', 'n5']);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(await ring.maintain({ kind: 'purge_nodes', batchLimit: 4 }), 4);
  assert.equal(await ring.maintain({ kind: 'purge_nodes', batchLimit: 0 }), 2);
  assert.equal(await ring.maintain({ kind: 'delete', certname: 'n7' }), 1);
  assert.equal(await ring.maintain({ kind: 'delete', certname: 'unknown' }), 0);
  for (const kind of ['gc_packages', 'gc_catalogs', 'gc_fact_paths'] as const) await ring.maintain({ kind });
  assert.equal(
    (await nodesOf(dir)).reduce((sum, nodes) => sum + nodes),
    5,
  );
});

const catalog = (certname: string, titles: readonly string[], content = 'x'): object => ({
  certname,
  version: '1',
  environment: 'production',
  producer: 'p',
  producer_timestamp: new Date().toISOString(),
  transaction_uuid: null,
  catalog_uuid: null,
  code_id: null,
  job_id: null,
  resources: titles.map((title) => ({
    type: 'File',
    title,
    exported: false,
    tags: ['file'],
    file: null,
    line: null,
    parameters: { content: title === '/changes' ? content : 'same' },
  })),
  edges: [],
});

test('parts of commands are measured: stages, and the timers of the storage', async (t) => {
  const { ring, metrics } = await start(t, temporaryDirectory());
  const titles = ['/a', '/b', '/changes'];
  for (const payload of [
    catalog('n', titles),
    catalog('n', titles),
    // One resource is another, one is new.
    catalog('n', [...titles, '/new'], 'y'),
    // One is gone.
    catalog('n', ['/b', '/changes', '/new'], 'y'),
  ]) {
    assert.equal((await send(ring, 'replace catalog', 9, payload)).kind, 'processed');
  }
  for (const size of [1, 2]) {
    assert.equal((await send(ring, 'replace facts', 5, facts('n', { size }))).kind, 'processed');
  }
  assert.equal((await send(ring, 'replace facts', 5, new Uint8Array(Buffer.from('{')))).kind, 'failed');

  const count = (name: string): number => (metrics.get('storage', name) as { count?: number } | undefined)?.count ?? 0;
  assert.deepEqual(
    {
      'catalog-hash': count('catalog-hash'),
      'resource-hashes': count('resource-hashes'),
      'add-resources': count('add-resources'),
      'add-edges': count('add-edges'),
      'new-catalog-time': count('new-catalog-time'),
      'catalog-hash-match-time': count('catalog-hash-match-time'),
      'catalog-hash-miss-time': count('catalog-hash-miss-time'),
      'replace-catalog-time': count('replace-catalog-time'),
      'new-fact-time': count('new-fact-time'),
      'replace-facts-time': count('replace-facts-time'),
      'catalog-volitilty': count('catalog-volitilty'),
    },
    {
      // The one that is byte for byte the last is known without hashing, but for its time.
      'catalog-hash': 3,
      'resource-hashes': 3,
      'add-resources': 3,
      'add-edges': 3,
      'new-catalog-time': 1,
      'catalog-hash-match-time': 1,
      'catalog-hash-miss-time': 2,
      'replace-catalog-time': 4,
      'new-fact-time': 1,
      'replace-facts-time': 2,
      'catalog-volitilty': 2,
    },
  );
  const { min, max } = metrics.histogram('storage', 'catalog-volitilty').snapshot();
  assert.deepEqual([min, max], [1, 2]);

  const { queue, parse, apply, commit } = metrics.stages;
  assert.deepEqual([queue.count, parse.count, apply.count], [7, 7, 6]);
  assert.ok(commit.count >= 1 && commit.count <= 7);
  assert.equal(metrics.timer('mq', 'global.command-parse-time').count, 7);
  const spent = metrics.timer('mq', 'global.processing-time').snapshot();
  assert.ok(Math.abs((parse.sum + apply.sum) / 7 - spent.mean) < spent.max + 1);
});

test('a command that moves between partitions while they are copied is in the backup', async (t) => {
  const dir = temporaryDirectory();
  const data = join(dir, 'data');
  let go: () => void = () => {};
  const ring = await startRing({
    dir: data,
    engine: engineSettings,
    partitions: 2,
    threads: 1,
    times: { flushDelay: 20 },
    actorsAfter: new Promise((resolve) => {
      go = resolve;
    }),
  });
  atEnd(t, () => ring.stop());
  const named = (slot: number): string => {
    for (let i = 0; ; i++) if (slotOf(`n${i}`, 2) === slot) return `n${i}`;
  };
  const outcome = send(ring, 'replace facts', 5, facts(named(0)), { certname: named(1) });
  const { backupTo } = Partition.prototype;
  t.after(() => {
    Partition.prototype.backupTo = backupTo;
  });
  let copied = 0;
  Partition.prototype.backupTo = async function (to) {
    // The one that it goes to is copied by now.
    if (copied++ === 1) {
      go();
      assert.equal((await outcome).kind, 'processed');
      await pause(500);
    }
    await backupTo.call(this, to);
  };
  const target = join(dir, 'copy');
  await backup({ data, target, now: Date.now, withoutLeftovers, onProgress: () => {} });
  assert.equal(copied, 2);
  const nodes = (of: string) => ofPartitions(of, (partition) => partition.counts().nodes);
  const restored = join(dir, 'restored');
  await restore({ source: target, data: restored, withoutLeftovers });
  const again = await startRing({ dir: restored, engine: engineSettings, threads: 1, times: { flushDelay: 20 } });
  atEnd(t, () => again.stop());
  await until('it is applied again', async () => (await nodes(restored))[0] === 1);
  // Where it came from forgets it soon after the backup.
  const held = async () => (await ofPartitions(data, (partition) => partition.retrySeqs())).flat();
  await until('it is forgotten', async () => (await held()).length === 0);
  assert.deepEqual(await nodes(data), [1, 0]);
});
