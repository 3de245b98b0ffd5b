import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Logger } from '../../../server/log.ts';
import { MaintenanceScheduler } from '../../../server/ops/maintenance.ts';
import { CLEAN_TOKENS, type MaintenanceSettings } from '../../../server/ops/maintenance-steps.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import { MaintenanceStopped } from '../../../workers/types.ts';
import { FakeRing } from '../../support/fake-ring.ts';
import { silentLogs } from '../../support/logs.ts';
import { noSchedule } from './support.ts';

const minute = 60_000;

function scheduler(
  settings: Partial<MaintenanceSettings>,
  log = silentLogs().area('maintenance'),
  random = (): number => 0,
  clock = Date.now,
) {
  const ring = new FakeRing();
  const registry = new MetricsRegistry();
  const merged = { ...noSchedule, gcInterval: minute, ...settings };
  const maintenance = new MaintenanceScheduler({
    ring,
    registry,
    settings: merged,
    clock,
    random,
    log,
  });
  return { ring, registry, maintenance, kinds: () => ring.steps.map((step) => step.kind) };
}

/** Lets promises that are ready run. */
async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) await Promise.resolve();
}

async function withTimers(body: (pass: (ms: number) => Promise<void>) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  try {
    await body(async (ms) => {
      mock.timers.tick(ms);
      await settle();
    });
  } finally {
    mock.timers.reset();
  }
}

test('maintenance: a job first runs after one interval and then that long after its end', async () => {
  await withTimers(async (pass) => {
    const { ring, maintenance, kinds } = scheduler({ gcIntervalExpireNodes: minute });
    let finish = () => {};
    maintenance.start();
    await pass(minute - 1);
    assert.deepEqual(kinds(), []);
    ring.onMaintain = () => new Promise((resolve) => (finish = resolve));
    await pass(1);
    assert.deepEqual(kinds(), ['expire_nodes']);
    await pass(10 * minute);
    assert.equal(kinds().length, 1);
    finish();
    await settle();
    await pass(minute - 1);
    assert.equal(kinds().length, 1);
    await pass(1);
    assert.equal(kinds().length, 2);
    finish();
    await maintenance.stop();
  });
});

test('maintenance: every sweep has its interval, reports and events go together, purging has its limit', async () => {
  await withTimers(async (pass) => {
    const { ring, maintenance } = scheduler({
      gcIntervalPurgeNodes: minute,
      gcIntervalPurgeReports: 2 * minute,
      gcIntervalFactPaths: 3 * minute,
    });
    maintenance.start();
    await pass(minute);
    await pass(minute);
    await pass(minute);
    assert.deepEqual(ring.steps, [
      { kind: 'purge_nodes', batchLimit: 25 },
      { kind: 'purge_reports' },
      { kind: 'purge_resource_events' },
      { kind: 'purge_nodes', batchLimit: 25 },
      { kind: 'gc_fact_paths' },
      { kind: 'purge_nodes', batchLimit: 25 },
    ]);
    await maintenance.stop();
  });
});

test('maintenance: runs are spread by a tenth of their interval, and by a minute at most', async () => {
  await withTimers(async (pass) => {
    const settings = { gcIntervalPackages: minute, gcIntervalCatalogs: 60 * minute };
    const { maintenance, kinds } = scheduler(settings, undefined, () => 1);
    maintenance.start();
    const { jobs } = maintenance.state() as { jobs: { name: string; next_run: string }[] };
    assert.deepEqual(
      jobs.map(({ name, next_run }) => [name, Date.parse(next_run) - Date.now()]),
      [
        ['packages', 1.1 * minute],
        ['catalogs', 61 * minute],
      ],
    );
    await pass(1.1 * minute - 1);
    assert.deepEqual(kinds(), []);
    await pass(1);
    assert.deepEqual(kinds(), ['gc_packages']);
    await maintenance.stop();
  });
});

test('maintenance: how long a run took does not depend on a clock that is set meanwhile', async () => {
  await withTimers(async (pass) => {
    let now = 1_000_000;
    const { ring, maintenance } = scheduler({ gcIntervalPackages: minute }, undefined, undefined, () => now);
    ring.onMaintain = () => void (now -= 60 * minute);
    maintenance.start();
    await pass(minute);
    const { jobs } = maintenance.state() as { jobs: { last_run: string; last_duration_ms: number }[] };
    assert.equal(jobs[0]!.last_run, new Date(1_000_000).toISOString());
    assert.ok(jobs[0]!.last_duration_ms >= 0, `${jobs[0]!.last_duration_ms} ms`);
    await maintenance.stop();
  });
});

test('maintenance: a limit of none in the settings is no limit, one of none in a request lets no node be deleted', async () => {
  await withTimers(async (pass) => {
    const { ring, maintenance } = scheduler({ nodePurgeBatch: 0, gcIntervalPurgeNodes: minute });
    maintenance.start();
    await pass(minute);
    const tokens = new Set(['purge_nodes'] as const);
    for (const batchLimit of [0, 7, null]) assert.deepEqual(await maintenance.clean({ tokens, batchLimit }), []);
    assert.deepEqual(await maintenance.clean({ tokens, batchLimit: -1 }), ['purge_nodes']);
    assert.deepEqual(
      ring.steps.map((step) => 'batchLimit' in step && step.batchLimit),
      [0, 7, 0],
    );
    await maintenance.stop();
  });
});

test('maintenance: nothing is scheduled when switched off, and no expiry or purge without a time to live', async () => {
  await withTimers(async (pass) => {
    for (const settings of [
      { gcInterval: 0, gcIntervalExpireNodes: minute },
      { nodeTtl: 0, gcIntervalExpireNodes: minute },
      { nodePurgeTtl: 0, gcIntervalPurgeNodes: minute },
    ]) {
      const { maintenance, kinds } = scheduler(settings);
      maintenance.start();
      await pass(10 * minute);
      assert.deepEqual(kinds(), []);
      assert.deepEqual((maintenance.state() as { jobs: unknown }).jobs, []);
      await maintenance.stop();
    }
  });
});

test('maintenance: intervals longer than a timer can hold are waited for', async () => {
  await withTimers(async (pass) => {
    const month = 30 * 24 * 60 * minute;
    const { maintenance, kinds } = scheduler({ gcIntervalPackages: month });
    maintenance.start();
    await pass(2 ** 31 - 1);
    assert.deepEqual(kinds(), []);
    await pass(month - (2 ** 31 - 1));
    assert.deepEqual(kinds(), ['gc_packages']);
    await maintenance.stop();
  });
});

test('maintenance: a scheduled run waits for a manual one, a manual one does not wait', async () => {
  await withTimers(async (pass) => {
    const { ring, maintenance, kinds } = scheduler({ gcIntervalPackages: minute });
    let finish = () => {};
    maintenance.start();
    ring.onMaintain = () => new Promise((resolve) => (finish = resolve));
    const manual = maintenance.clean({ tokens: new Set(['gc_catalogs']), batchLimit: null });
    await pass(minute);
    assert.deepEqual(kinds(), ['gc_catalogs']);
    assert.equal(await maintenance.clean({ tokens: new Set(['other']), batchLimit: null }), null);
    finish();
    assert.deepEqual(await manual, []);
    await settle();
    assert.deepEqual(kinds(), ['gc_catalogs', 'gc_packages']);
    finish();
    await maintenance.stop();
  });
});

test('maintenance: stop breaks off the running step, which is no failure, and lets no other begin', async () => {
  const { ring, maintenance, kinds } = scheduler({});
  ring.onMaintain = () => new Promise(() => {});
  const running = maintenance.clean({ tokens: new Set(['expire_nodes', 'gc_packages']), batchLimit: null });
  const refused = assert.rejects(running, MaintenanceStopped);
  await settle();
  await maintenance.stop();
  const { failures, cleaning } = maintenance.state() as { failures: number; cleaning: string };
  assert.deepEqual([failures, cleaning], [0, ''], 'it has ended');
  await refused;
  assert.deepEqual(kinds(), ['expire_nodes']);
});

test('maintenance: nodes that are never to be deleted are not deleted by a clean either', async () => {
  const { maintenance, kinds } = scheduler({ nodePurgeTtl: 0 });
  assert.deepEqual(await maintenance.clean({ tokens: new Set(['purge_nodes', 'gc_packages']), batchLimit: null }), []);
  assert.deepEqual(kinds(), ['gc_packages']);
});

/** A scheduler, and the lines that it logs. */
function toldScheduler(settings: Partial<MaintenanceSettings>) {
  const told: string[] = [];
  const tell = (...args: unknown[]) => void told.push(String(args.at(-1)));
  const log: Logger = Object.assign(Object.create(silentLogs().area('maintenance')) as Logger, {
    info: tell,
    error: tell,
  });
  return { ...scheduler(settings, log), told };
}

test('maintenance: the log tells when each step begins and ends, and the age that counts', async () => {
  const { ring, maintenance, told } = toldScheduler({ nodeTtl: 3_600_000, nodePurgeTtl: 0 });
  ring.onMaintain = (step) => {
    if (step.kind === 'gc_packages') throw new Error('disk gone');
  };
  await maintenance.clean({ tokens: new Set(CLEAN_TOKENS), batchLimit: null });
  const titles = [
    'sweep of stale nodes (threshold: 1 hour)',
    'purge deactivated and expired nodes (threshold: 0 seconds)',
    'sweep of stale reports (threshold: 14 days) and resource events (threshold: 36 hours)',
    'gc packages',
    'database garbage collection',
    'sweep of stale catalog data',
    'sweep of unused fact paths',
  ];
  const ended = (title: string) => (title === 'gc packages' ? `${title} failed` : `Finished ${title}`);
  assert.deepEqual(
    told,
    titles.flatMap((title) => [`Starting ${title}`, ended(title)]),
  );
});

test('maintenance: reports and events that are purged together are one step to the log, two that can fail', async () => {
  const { ring, maintenance, told, registry } = toldScheduler({});
  let failing = 'purge_reports';
  ring.onMaintain = (step) => {
    if (step.kind === failing) throw new Error('disk gone');
  };
  const both = new Set(['purge_reports', 'purge_resource_events'] as const);
  const title = 'sweep of stale reports (threshold: 14 days) and resource events (threshold: 36 hours)';
  for (failing of ['purge_reports', 'purge_resource_events']) {
    assert.deepEqual(await maintenance.clean({ tokens: both, batchLimit: null }), [failing]);
    assert.deepEqual(told.splice(0), [`Starting ${title}`, `${title} failed`]);
  }
  assert.equal(registry.counter('admin', 'report-purges').count, 2);
  assert.equal(registry.timer('admin', 'resource-events-purge-time').count, 2);
  failing = '';
  await maintenance.clean({ tokens: new Set(['purge_resource_events', 'gc_packages']), batchLimit: null });
  const alone = ['gc packages', 'sweep of stale resource events (threshold: 36 hours)'];
  assert.deepEqual(
    told,
    alone.flatMap((name) => [`Starting ${name}`, `Finished ${name}`]),
  );
});

test('maintenance: runs are counted and timed, failures remembered', async () => {
  const { ring, registry, maintenance } = scheduler({});
  ring.onMaintain = (step) => {
    if (step.kind === 'gc_packages') throw new Error('disk gone');
  };
  const failed = await maintenance.clean({ tokens: new Set(['gc_packages', 'gc_catalogs']), batchLimit: null });
  assert.deepEqual(failed, ['gc_packages']);
  assert.equal(registry.counter('admin', 'package-gcs').count, 1);
  assert.equal(registry.timer('admin', 'catalog-gc-time').count, 1);
  assert.equal(registry.timer('storage', 'gc-catalogs-time').count, 1);
  assert.equal(registry.timer('storage', 'gc-time').count, 1);
  const state = maintenance.state() as { failures: number; last_failure: string; cleaning: string };
  assert.deepEqual([state.failures, state.last_failure, state.cleaning], [1, 'disk gone', '']);
});
