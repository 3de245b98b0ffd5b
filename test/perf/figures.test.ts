import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { digestOf } from '../../perf/lib/digest.ts';
import { median, quantile, show, spread, sum, table, waitsOf } from '../../perf/lib/figures.ts';
import { Fleet } from '../../perf/lib/fleet.ts';
import { History } from '../../perf/lib/load.ts';
import { summarizePlan } from '../../perf/lib/plan-text.ts';
import { MemoryWatch, Processes } from '../../perf/lib/processes.ts';
import { summarize } from '../../perf/lib/profile.ts';
import { atRest } from '../../perf/lib/rest.ts';
import { RowCounter } from '../../perf/lib/row-counter.ts';

test('figures: medians, quantiles and spreads', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(quantile([5, 1, 4, 2, 3], 0.8), 4);
  assert.equal(quantile([1], 0.99), 1);
  assert.ok(Number.isNaN(median([])));
  assert.equal(spread([2, 1, 3]), '2.00 (1.00-3.00)');
  assert.equal(show(Number.NaN), '-');
  assert.equal(waitsOf(Array.from({ length: 300_000 }, (_, i) => i)).worst, 299_999);
  assert.equal(table(['a', 'b'], [['x', '1']]), '| a   |   b |\n|-----|----:|\n| x   |   1 |');
});

test('digest: order of rows, keys and items does not count; a value does; the clock of the server does not', () => {
  const one = digestOf([
    { a: 1, b: ['x', 'y'] },
    { a: 2, receive_time: 'now' },
  ]);
  assert.deepEqual(
    digestOf([
      { a: 2, receive_time: 'later' },
      { b: ['y', 'x'], a: 1 },
    ]),
    one,
  );
  assert.notEqual(digestOf([{ a: 1, b: ['x', 'y'] }, { a: 3 }]).digest, one.digest);
  const metric = (timestamp: number, value: number) => digestOf({ request: {}, value, timestamp, status: 200 }).digest;
  assert.equal(metric(1, 20), metric(2, 20));
  assert.notEqual(metric(1, 20), metric(1, 21));
  assert.notEqual(digestOf([{ timestamp: 1 }]).digest, digestOf([{ timestamp: 2 }]).digest);
  assert.notEqual(digestOf([{ a: 1 }]).digest, digestOf([{ a: 1 }, { a: 1 }]).digest);
});

test('row counter: rows across chunks, brackets and quotes in texts', () => {
  const text = Buffer.from('[{"a":"]}\\"["},{"b":[1,{"c":[]}]} , {}]');
  for (let cut = 0; cut <= text.length; cut++) {
    const rows: string[] = [];
    const counter = new RowCounter((row) => rows.push(row));
    counter.push(text.subarray(0, cut));
    assert.equal(counter.complete, cut === 0 || cut === text.length);
    counter.push(text.subarray(cut));
    assert.equal(counter.rows, 3);
    assert.ok(counter.complete);
    assert.deepEqual(rows, ['{"a":"]}\\"["}', '{"b":[1,{"c":[]}]}', '{}']);
  }
});

test('processes: what is not known is no figure', () => {
  const nobody = new Processes([]);
  const watch = new MemoryWatch(nobody, 1000);
  assert.deepEqual(
    [nobody.cpuMs(), nobody.memory(), nobody.peakResident(), watch.stop()],
    [Number.NaN, { pss: Number.NaN, anonymous: Number.NaN }, Number.NaN, { pss: Number.NaN, anonymous: Number.NaN }],
  );
});

test('processes: what children took counts for the process, and for none of its threads', () => {
  const processes = new Processes([process.pid]);
  const ofThreads = (): number => sum([...processes.threadCpuMs().values()]);
  const others = (): number => processes.cpuMs() - ofThreads();
  const before = others();
  execFileSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 200_000);']);
  assert.ok(others() - before >= 100, `${before} ms, then ${others()} ms`);
});

test('rest: a server has come to it when it has done nothing for so long', async () => {
  /** Seconds until it rests whose processor takes so many ms in each quarter of a second. */
  const restOf = (taken: readonly number[], known = true): Promise<number | null> => {
    let looks = 0;
    let cpu = 0;
    return atRest(
      {
        known,
        cpuMs: () => cpu,
      },
      {
        restMs: 1000,
        mostMs: 5000,
        clock: () => looks * 250,
        pause: async () => {
          cpu += taken[looks++] ?? 0;
        },
      },
    );
  };
  assert.equal(await restOf([]), 1);
  assert.equal(await restOf([250, 10, 10, 20, 10]), 2);
  assert.equal(await restOf(new Array(99).fill(10)), 1);
  assert.equal(await restOf(new Array(99).fill(20)), null);
  assert.equal(await restOf([], false), Number.NaN);
});

test('plan text: drives that partitions agree on are named once', () => {
  const inner = { 'Node Type': 'Node Scan', Subqueries: [{ 'Node Type': 'Item Scan' }] };
  const plan = (partitions: object[]) =>
    JSON.stringify([
      { 'query plan': [{ Plan: { 'Node Type': 'Item Scan', Partitions: partitions, Subqueries: [inner] } }] },
    ]);
  const byType = { drive: 'items', index: 'type' };
  assert.equal(summarizePlan(plan([byType, byType])), 'item scan, items by type, 2 subqueries');
  assert.equal(
    summarizePlan(plan([byType, { drive: 'nodes', index: null }, byType])),
    'item scan, items by type (2), nodes (1), 2 subqueries',
  );
  assert.equal(summarizePlan('Seq Scan'), '-');
  assert.equal(summarizePlan('[{"query plan":[{"Plan":{}}]}]'), '-');
});

test('profile: own time by folder and function, idle time left out', () => {
  const frame = (id: number, functionName: string, url: string) => ({
    id,
    callFrame: { functionName, url, lineNumber: 1 },
  });
  const summary = summarize({
    nodes: [
      frame(1, '(idle)', ''),
      frame(2, 'apply', 'file:///x/dist/engine/apply.js'),
      frame(3, 'put', 'file:///x/node_modules/lmdb/write.js'),
      frame(4, '(garbage collector)', ''),
    ],
    samples: [1, 2, 3, 2, 4],
    timeDeltas: [9000, 2000, 1000, 3000, 500],
  });
  assert.equal(summary.busyMs, 6.5);
  assert.deepEqual(summary.areas, [
    ['engine', 5],
    ['package lmdb', 1],
    ['(garbage collector)', 0.5],
  ]);
  assert.equal(summary.functions[0]![0], 'apply engine/apply.js:2');
});

test('fleet: as many resources as asked for, and as much of a document changes as is said', () => {
  interface Payload {
    readonly resources: readonly { readonly type: string; readonly title: string }[];
    readonly values: Readonly<Record<string, unknown>>;
    readonly package_inventory: readonly (readonly string[])[];
  }
  for (const [resourcesMin, resourcesMax] of [
    [5, 20],
    [40, 120],
    [200, 300],
  ] as const) {
    const history = new History(new Fleet({ resourcesMin, resourcesMax }));
    const shares = { resources: [0, 0], facts: [0, 0], packages: [0, 0] };
    const sizes: number[] = [];
    for (let node = 0; node < 60; node++) {
      const [before, after] = (['first', 'changed'] as const).map((run) => {
        const [facts, catalog] = history.commands(run, node).map(({ payload }) => JSON.parse(payload) as Payload);
        return {
          facts: Object.entries(facts!.values),
          packages: facts!.package_inventory,
          resources: catalog!.resources,
        };
      });
      sizes.push(before!.resources.length - 1); // its Sshkey comes on top
      for (const kind of ['resources', 'facts', 'packages'] as const) {
        const known = new Set(before![kind].map((item) => JSON.stringify(item)));
        shares[kind][0]! += after![kind].filter((item) => !known.has(JSON.stringify(item))).length;
        shares[kind][1]! += after![kind].length;
      }
    }
    assert.deepEqual([Math.min(...sizes), Math.max(...sizes)], [resourcesMin, resourcesMax]);
    for (const [kind, [changed, all]] of Object.entries(shares)) {
      // What the nodes of a role share changes with all of them: few draws in small catalogs.
      const [low, high] = kind === 'resources' && resourcesMax < 200 ? [0.02, 0.09] : [0.04, 0.06];
      const share = changed! / all!;
      assert.ok(share > low && share < high, `${resourcesMin}-${resourcesMax} ${kind}: ${share}`);
    }
  }
});

test('history: an unchanged run is the run before with other times and ids', () => {
  const history = new History(new Fleet({ resourcesMin: 20, resourcesMax: 30 }));
  const [before, after] = [history.commands('changed', 3), history.commands('unchanged', 3)];
  const content = (payload: string) => {
    const { producer_timestamp, version, transaction_uuid, catalog_uuid, ...rest } = JSON.parse(payload) as Record<
      string,
      unknown
    >;
    return { meta: { producer_timestamp, version, transaction_uuid, catalog_uuid }, rest };
  };
  assert.deepEqual(
    after.map(({ kind }) => kind),
    ['facts', 'catalog', 'report'],
  );
  for (const i of [0, 1]) {
    const [a, b] = [content(before[i]!.payload), content(after[i]!.payload)];
    assert.deepEqual(b.rest, a.rest);
    assert.notEqual(b.meta.producer_timestamp, a.meta.producer_timestamp);
  }
  const [catalog, report] = [content(after[1]!.payload).meta, content(after[2]!.payload).meta];
  assert.equal(catalog.transaction_uuid, report.transaction_uuid);
  assert.notEqual(catalog.transaction_uuid, content(before[1]!.payload).meta.transaction_uuid);
});
