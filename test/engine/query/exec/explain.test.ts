// Plans with rows and times: what `explain=analyze` answers and what the log gets of slow queries. The watch of these tests
// goes on by one at every look, so that times can be added up exactly.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { QueryPlan, SelectionPlan } from '../../../../engine/query/exec/explain.ts';
import { ask, catalog, type Fleet, facts, NOW, newFleet, planOf, report } from '../request/fleet.ts';

const NODES = 90;
let fleet: Fleet;
before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES; i++) {
    const certname = `n${i}.example.com`;
    fleet.apply('replace facts', 5, facts(certname, { kernel: i % 3 === 0 ? 'Linux' : 'FreeBSD', serial: i }));
    fleet.apply('replace catalog', 9, catalog(certname));
    const time = new Date(NOW - 100_000 + i * 1000).toISOString();
    fleet.apply('store report', 8, report(certname, { producer_timestamp: time }));
  }
});
after(() => fleet.close());

function watch(): () => number {
  let looks = 0;
  return () => ++looks;
}

const explained = (query: Record<string, string>, path = ''): QueryPlan =>
  planOf(fleet, { path, query, store: { stopwatch: watch() } });

const planned = (query: string): SelectionPlan => explained({ query }).Plan!;
const step = (plan: SelectionPlan, name: string) => plan.Steps.find((s) => s.step === name);
const names = (plan: SelectionPlan): string[] => plan.Steps.map((s) => s.step);

describe('explain: steps', () => {
  it('rows as they come: nodes, scan, output', () => {
    const plan = planned('nodes{}');
    assert.deepEqual(names(plan), ['nodes', 'scan', 'output']);
    for (const { step, ...rows } of plan.Steps) {
      assert.ok(rows.ms > 0, step);
      assert.equal(rows['actual rows'], NODES);
      assert.equal(rows['estimated rows'], NODES);
    }
    assert.equal(plan['Node Type'], 'Node Scan');
    assert.equal(plan['Actual Rows'], NODES);
  });
  it('rows in order: all are scanned, the heap keeps those that are wanted', () => {
    const plan = planned('facts{ name = "serial" order by value limit 4 offset 2 }');
    assert.deepEqual(names(plan), ['nodes', 'scan', 'order', 'output']);
    assert.deepEqual(
      plan.Steps.map((s) => s['actual rows']),
      [NODES, NODES, 6, 4],
    );
    assert.deepEqual(
      plan.Steps.map((s) => s['estimated rows']),
      [NODES, NODES, 6, 4],
    );
  });
  it('rows in the order of certnames: the nodes are visited in order, the page ends the scan', () => {
    for (const query of [
      'facts{ name = "serial" order by certname limit 4 offset 2 }',
      'facts{ name = "serial" order by certname desc, value limit 4 offset 2 }',
      'nodes{ order by certname limit 4 offset 2 }',
    ]) {
      const plan = planned(query);
      assert.deepEqual(names(plan), ['nodes', 'scan', 'output'], query);
      assert.deepEqual(
        plan.Steps.map((s) => s['actual rows']),
        [NODES, 6, 4],
        query,
      );
      for (const partition of plan.Partitions) assert.equal(partition.walk, 'certname');
    }
  });
  it('counts: by entries where nothing of the items is asked, by class where their fields take few values', () => {
    const counted = (query: string) => planned(query).Partitions.map((partition) => partition.counted);
    for (const plan of counted('facts[count()]{}')) assert.deepEqual(plan, { weights: 'total', by: 'class' });
    for (const plan of counted('facts[name, count()]{ group by name }'))
      assert.deepEqual(plan, { weights: 'lists', by: 'class' });
    for (const plan of counted('facts[value, count()]{ group by value }'))
      assert.deepEqual(plan, { weights: 'lists', by: 'item' });
    for (const plan of counted('facts[value, count()]{ name = "kernel" group by value }'))
      assert.deepEqual(plan, { weights: 'postings', by: 'item' });
  });
  it('a limit without order ends the scan', () => {
    const plan = planned('facts{ name = "serial" limit 4 }');
    assert.equal(step(plan, 'scan')!['actual rows'], 4);
    assert.equal(plan['Estimated Rows'], 4);
  });
  it('groups: how many there will be is not known, one without group_by', () => {
    const plan = planned('facts[value, count()]{ name = "kernel" group by value }');
    assert.deepEqual(names(plan), ['nodes', 'scan', 'group', 'output']);
    assert.deepEqual(
      plan.Steps.map((s) => s['actual rows']),
      [NODES, NODES, 2, 2],
    );
    assert.equal(plan['Estimated Rows'], null);
    assert.equal(planned('facts[count()]{ name = "kernel" }')['Estimated Rows'], 1);
  });
  it('event counts and distinct events have their steps', () => {
    const counts = explained({ summarize_by: 'resource' }, '/event-counts').Plan!;
    assert.deepEqual(names(counts), ['scan', 'group']);
    assert.equal(step(counts, 'scan')!['actual rows'], NODES);
    assert.equal(counts['Actual Rows'], 1);
    assert.equal(counts['Estimated Rows'], null);
    const times = { distinct_start_time: '2026-01-01T00:00:00Z', distinct_end_time: '2027-01-01T00:00:00Z' };
    const distinct = explained({ distinct_resources: 'true', ...times }, '/events').Plan!;
    assert.deepEqual(names(distinct), ['nodes', 'scan', 'distinct', 'output']);
    assert.equal(step(distinct, 'distinct')!['actual rows'], NODES);
    const page = explained({ distinct_resources: 'true', ...times, order_by: '[{"field":"timestamp"}]' }, '/events')
      .Plan!;
    assert.deepEqual(names(page), ['nodes', 'scan', 'distinct', 'order', 'output']);
  });
  it('rows that are counted before they are shown are told once', () => {
    const plan = explained({ query: 'facts{ name = "serial" }', include_total: 'true' }).Plan!;
    assert.equal(step(plan, 'scan')!['actual rows'], NODES);
  });
});

describe('explain: subqueries', () => {
  const query = 'facts[value]{ name = "serial" and certname in inventory[certname]{ facts.kernel = "Linux" } }';
  it('stand in the query that uses them, with steps of their own', () => {
    const plan = planned(query);
    assert.deepEqual(names(plan), ['subqueries', 'nodes', 'scan', 'output']);
    const [inner] = plan.Subqueries;
    assert.equal(plan.Subqueries.length, 1);
    assert.equal(inner!['Relation Name'], 'inventory');
    assert.deepEqual(inner!.Compared, ['certname']);
    assert.equal(inner!['Actual Rows'], NODES / 3);
    assert.equal(inner!['Estimated Rows'], NODES / 3);
  });
  it('their result is what the outer query expects', () => {
    const nodes = step(planned(query), 'nodes')!;
    assert.equal(nodes['actual rows'], NODES / 3);
    assert.equal(nodes['estimated rows'], NODES / 3);
  });
  it('nest', () => {
    const inner = 'certname in nodes[certname]{ certname in reports[certname]{ status = "changed" } }';
    const plan = planned(`resources{ ${inner} }`);
    assert.equal(plan.Subqueries[0]!.Subqueries[0]!['Relation Name'], 'reports');
    assert.equal(plan.Subqueries.length, 1);
  });
  it('of very many some are left out, and that is said', () => {
    const one = 'certname in nodes[certname]{ certname = "n1.example.com" }';
    const plan = explained({ query: `nodes{ ${Array.from({ length: 150 }, () => one).join(' or ')} }` });
    assert.equal(plan.Plan!.Subqueries.length + 1, 100);
    assert.equal(plan['Subqueries Omitted'], 51);
  });
});

describe('explain: partitions', () => {
  it('that are not read have no part; the steps are there all the same', () => {
    const one = planned('facts{ certname = "n5.example.com" and name = "serial" }');
    assert.ok(one.Partitions.length <= 2);
    assert.equal(one['Actual Rows'], 1);
    const none = planned('facts{ certname = "nobody" }');
    assert.deepEqual(names(none).slice(-2), ['scan', 'output']);
    assert.equal(none['Actual Rows'], 0);
  });
  it('each tells its way, its rows and its time; the steps are their sums', () => {
    const plan = planned('resources{ type = "File" }');
    assert.equal(plan.Partitions.length, 2);
    for (const [i, part] of plan.Partitions.entries()) {
      assert.equal(part.partition, i);
      assert.ok(part.drive === 'items' || part.drive === 'nodes');
      assert.equal(part.index, 'type');
      assert.ok(part.scan.ms > 0 && part.nodes!.ms > 0);
    }
    const sum = (of: (part: SelectionPlan['Partitions'][number]) => number): number =>
      plan.Partitions.reduce((total, part) => total + of(part), 0);
    const { ms, 'actual rows': rows, 'estimated rows': estimate } = step(plan, 'scan')!;
    assert.equal(
      sum((p) => p.scan.ms),
      ms,
    );
    assert.equal(
      sum((p) => p.scan['actual rows']),
      rows,
    );
    assert.equal(
      sum((p) => p.scan['estimated rows']!),
      estimate,
    );
    assert.equal(rows, estimate);
  });
  it('reports tell how they were found', () => {
    const ways = planned('reports{ latest_report? = true }').Partitions.map((p) => p.reports);
    assert.deepEqual(ways, ['latest', 'latest']);
  });
});

describe('explain: time', () => {
  it('the steps add up to the execution, nothing is counted twice', () => {
    const query =
      'facts{ name = "serial" and certname in inventory[certname]{ facts.kernel = "Linux" } order by value }';
    const plan = explained({ query });
    const timeOf = (p: SelectionPlan): number =>
      p.Steps.reduce((sum, { ms }) => sum + ms, 0) + p.Subqueries.reduce((sum, inner) => sum + timeOf(inner), 0);
    // A selection without subqueries has a moment of preparation that no step shows.
    const slack = 2;
    assert.ok(Math.abs(plan['Execution Time'] - timeOf(plan.Plan!)) <= slack);
    assert.ok(plan['Planning Time'] > 0);
  });
  it('while the client takes nothing the watch stands still', () => {
    let ms = 0;
    const { run } = ask(fleet, {
      query: { query: 'nodes{}' },
      bytesMax: 500,
      settings: { planAfter: 1 },
      store: { clock: () => NOW + 10, stopwatch: () => ms },
      after: () => {
        ms += 1000;
      },
    });
    assert.ok(ms > 5000, 'the answer was taken in many pieces');
    assert.equal(run.plan!['Execution Time'], 0);
  });
});

describe('plans of slow queries', () => {
  const slow = (after: number, more: Parameters<typeof ask>[1] = {}) =>
    ask(fleet, {
      query: { query: 'facts{ name = "serial" order by value }' },
      settings: { planAfter: after },
      store: { clock: () => NOW + 2500, stopwatch: watch() },
      ...more,
    }).run.plan;

  it('are kept for those that took long, and for no others', () => {
    assert.equal(slow(0), null);
    assert.equal(slow(2501), null);
    const plan = slow(2500)!;
    assert.deepEqual(names(plan.Plan!), ['nodes', 'scan', 'order', 'output']);
    assert.equal(plan.Plan!['Actual Rows'], NODES);
    assert.equal(plan.Plan!.Partitions[0]!.index, 'name');
  });
  it('look at the clock per partition, not per row', () => {
    let looks = 0;
    slow(1, {
      query: { query: 'facts{ name = "serial" order by value }' },
      settings: { planAfter: 1 },
      store: { clock: () => NOW + 10, stopwatch: () => ++looks },
    });
    assert.ok(looks < 40, `${looks} looks for ${NODES} rows`);
  });
  it('tell of a query that was ended by its deadline what it had done', () => {
    let now = NOW;
    const { run, head } = ask(fleet, {
      query: { query: 'resources{ certname in nodes[certname]{} }', timeout: '5' },
      settings: { planAfter: 3000 },
      store: { clock: () => (now += 1000), stopwatch: () => now },
    });
    assert.equal(head.status, 500);
    assert.equal(run.plan!.Plan!['Relation Name'], 'resources');
    assert.ok(run.plan!['Execution Time'] > 0);
  });
});
