import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { createDashboardMounts } from '../../../server/ops/dashboard.ts';
import { BeanServer } from '../../../server/ops/metrics/bean-server.ts';
import { createCatalogue } from '../../../server/ops/metrics/catalogue.ts';
import { ProcessBeans } from '../../../server/ops/metrics/process-beans.ts';
import { ProcessFigures } from '../../../server/ops/metrics/process-figures.ts';
import { RegistryBeans } from '../../../server/ops/metrics/registry-beans.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import { request } from './support.ts';

function dashboard() {
  const registry = new MetricsRegistry();
  createCatalogue(registry);
  const sources = [new RegistryBeans(registry), new ProcessBeans(new ProcessFigures(5000))];
  const mounts = createDashboardMounts(new BeanServer(sources, Date.now));
  return { registry, mounts };
}

test('dashboard: meters come in order, with scaled values, and null where there is nothing', async () => {
  const { registry, mounts } = dashboard();
  registry.gauge('population', 'num-active-nodes', async () => 12);
  registry.gauge('population', 'num-resources', async () => {
    throw new Error('not now');
  });
  registry.timer('mq', 'global.processing-time').update(250);
  registry.counter('dlo', 'global.filesize').set(77);
  const { status, text } = await request(mounts, '/pdb/dashboard/data');
  const meters = JSON.parse(text);
  assert.equal(status, 200);
  assert.deepEqual(
    meters.map(({ description }: { description: string }) => description),
    [
      'JVM Heap',
      'Active Nodes',
      'Inactive Nodes',
      'Resources',
      'Resource duplication',
      'Catalog duplication',
      'Command Queue',
      'Command Processing',
      'Command Processing',
      'Processed',
      'Retried',
      'Discarded',
      'Rejected',
      'Enqueueing',
      'Command Persistence',
      'Collection Queries',
      'DB Compaction',
      'DLO Size on Disk',
      'Discarded Messages',
    ],
  );
  const { value: heap, id, ...rest } = meters[0];
  assert.ok(heap > 0);
  assert.match(id, /^[0-9a-f]{8}$/);
  assert.deepEqual(rest, {
    description: 'JVM Heap',
    addendum: 'bytes',
    mbean: 'java.lang:type=Memory',
    format: '.3s',
  });
  assert.deepEqual([meters[1].value, meters[2].value, meters[3].value, meters[17].value], [12, null, null, 77]);
  assert.deepEqual([meters[7].value, meters[7].clampToZero], [0.25, 0.001]);
  assert.equal(new Set(meters.map((meter: { id: string }) => meter.id)).size, meters.length);
});

test('dashboard: the page is there while the server starts and names nothing outside its folder', async () => {
  const { mounts } = dashboard();
  const { status, type, text } = await request(mounts, '/pdb/dashboard/index.html?width=100');
  assert.deepEqual([status, type], [200, 'text/html;charset=utf-8']);
  assert.doesNotMatch(text.replaceAll('http://www.w3.org/2000/svg', ''), /https?:|["'(]\/[a-z]/);
  assert.equal(mounts.find(({ prefix }) => prefix.endsWith('index.html'))?.whileStarting, true);
  for (const path of ['/pdb/dashboard', '/pdb/dashboard/', '/pdb/dashboard/index.html/x']) {
    assert.equal((await request(mounts, path)).text, 'Not Found', path);
  }
});

test('dashboard: numbers are written in the notations of the meters', async () => {
  const { mounts } = dashboard();
  const { text } = await request(mounts, '/pdb/dashboard/index.html');
  const script = /<script>(.*)<\/script>/s.exec(text)?.[1] ?? '';
  const start = script.indexOf('const prefixes');
  const context = createContext({});
  runInContext(script.slice(start, script.indexOf('function element')), context);
  const cases: readonly (readonly [number | null, string, string])[] = [
    [null, '', '–'],
    [12345, '', '12345'],
    [0.5, '.1%', '50.0%'],
    [1234567, '.3s', '1.23M'],
    [0.0123, '.3s', '12.3m'],
    [0, '.3s', '0'],
    [1500, 's', '1.5k'],
    [7, 's', '7'],
    [123, '.2s', '120'],
    [99.9, '.2s', '100'],
    [999_600_000, '.3s', '1.00G'],
    [999_999.9, 's', '1M'],
    [1000, '.3s', '1.00k'],
    [0.000999, '.2s', '1.0m'],
  ];
  for (const [value, notation, expected] of cases) {
    assert.equal(runInContext(`format(${value}, ${JSON.stringify(notation)})`, context), expected);
  }
});
