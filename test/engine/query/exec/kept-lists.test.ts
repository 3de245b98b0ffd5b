// Lists of names, paths and packages are kept from query to query: they must change when something comes or goes, in any
// partition, and only then.

import assert from 'node:assert/strict';
import { after, before, it, mock } from 'node:test';
import { recordsOf } from '../../../../engine/query/exec/row/global-records.ts';
import { deleteNode } from '../../../../engine/retention/nodes.ts';
import { gcCatalogs, gcFactPaths } from '../../../../engine/retention/unused.ts';
import { KeptLists } from '../../../../engine/store/items/kept-lists.ts';
import { ask, type Fleet, facts, newFleet } from '../request/fleet.ts';

let fleet: Fleet;
before(() => {
  fleet = newFleet();
});
after(() => fleet.close());

const KINDS = ['/environments', '/producers', '/fact-names', '/fact-paths', '/packages'];
const lists = (): Record<string, string> =>
  Object.fromEntries(KINDS.map((path) => [path, JSON.stringify(JSON.parse(ask(fleet, { path }).text))]));
const differing = (a: Record<string, string>, b: Record<string, string>): string[] =>
  KINDS.filter((path) => a[path] !== b[path]);

const send = (certname: string, values: Record<string, unknown>, packages: string[][], environment = 'production') =>
  fleet.apply('replace facts', 5, { ...facts(certname, values, environment), package_inventory: packages });

it('what comes or goes anywhere is seen by the next query, and nothing else changes', () => {
  // Enough nodes for each partition to have some.
  const names = Array.from({ length: 8 }, (_, i) => `n${i}.example.com`);
  for (const name of names) send(name, { kernel: 'Linux' }, [['bash', '5', 'apt']]);
  let seen = lists();
  assert.deepEqual(lists(), seen);
  for (const name of names) {
    const step = (paths: readonly string[], change: () => void): void => {
      change();
      const now = lists();
      assert.deepEqual(differing(seen, now), paths, name);
      assert.deepEqual(lists(), now);
      seen = now;
    };
    const own = name.slice(0, 2);
    step([], () => send(name, { kernel: `Linux of ${own}` }, [['bash', '5', 'apt']]));
    step(['/packages'], () => send(name, { kernel: 'Linux' }, [[own, '1', 'apt']]));
    step(['/packages'], () => send(name, { kernel: 'Linux' }, [['bash', '5', 'apt']]));
    step(['/fact-names', '/fact-paths'], () => send(name, { kernel: 'Linux', [own]: 1 }, [['bash', '5', 'apt']]));
    step(['/fact-paths'], () => send(name, { kernel: 'Linux', [own]: 'one' }, [['bash', '5', 'apt']]));
    step(['/environments'], () => send(name, { kernel: 'Linux' }, [['bash', '5', 'apt']], own));
    step([], () => send(name, { kernel: 'Linux' }, [['bash', '5', 'apt']]));
    step(['/environments', '/fact-names', '/fact-paths'], () => {
      for (const partition of fleet.partitions) {
        for (const sweep of [gcCatalogs(partition), gcFactPaths(partition)]) while (!sweep.step().done);
      }
    });
  }
});

it('a list is kept for a state of the partitions, and not when it is long', () => {
  const kept = new KeptLists();
  const state = [1, 1];
  const views = state.map((_, part) => ({ changes: () => state[part]! }));
  const list = [1, 2];
  assert.equal(kept.get('list', 'package', views), null);
  kept.keep('list', 'package', views, list);
  assert.equal(kept.get('list', 'package', views), list);
  state[1] = 2;
  assert.equal(kept.get('list', 'package', views), null);
  kept.keep('list', 'package', views, list);
  state[0] = 2;
  assert.equal(kept.get('list', 'package', views), null);
  kept.keep('list', 'package', views, Array(30_000));
  assert.equal(kept.get('list', 'package', views), null);
});

it('records are found one after the other, and kept once all have been asked for', () => {
  const small = newFleet();
  try {
    const values = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`name${i}`, { value: i }]));
    small.apply('replace facts', 5, facts('n.example.com', values));
    const views = small.partitions.map((partition) => partition.snapshot());
    const tables = small.partitions.map(({ tables }) => tables.fact_path as unknown as { getBinaryFast(): unknown });
    for (const entity of ['fact_paths', 'fact_names'] as const) {
      const reads = tables.map((table) => mock.method(table, 'getBinaryFast'));
      const [first] = recordsOf(entity, views, () => {});
      assert.ok(first === null || typeof first!['name'] === 'string');
      const count = reads.reduce((sum, { mock: { calls } }) => sum + calls.length, 0);
      // Names are those of the paths, which are kept by then.
      if (entity === 'fact_names') assert.equal(count, 0);
      else assert.ok(count > 0 && count < 10, `${count} paths are read for the first one`);
      for (const read of reads) read.mock.restore();
      assert.equal(views[0]!.partition.lists.get(entity, 'fact_path', views), null);
      const all = [...recordsOf(entity, views, () => {})].filter((record) => record !== null);
      assert.deepEqual(views[0]!.partition.lists.get(entity, 'fact_path', views), all);
      assert.equal(new Set(all.map((record) => record['name'])).size, 300);
    }
    for (const view of views) view.close();
  } finally {
    small.close();
  }
});

it('the order of certnames is kept until a node comes or goes', async () => {
  const kept = newFleet();
  try {
    const names = Array.from({ length: 60 }, (_, i) => `h${(i * 37) % 60}.example.com`);
    const apply = (name: string): void => void kept.apply('replace facts', 5, facts(name, { kernel: 'Linux' }));
    const page = (params: Record<string, string>): string[] =>
      (JSON.parse(ask(kept, { path: '/nodes', query: params }).text) as { certname: string }[]).map(
        (node) => node.certname,
      );
    const ascending = { order_by: '[{"field":"certname"}]' };
    const descending = { order_by: '[{"field":"certname","order":"desc"}]' };
    const isKept = (): boolean => {
      const views = kept.partitions.map((partition) => partition.snapshot());
      const list = kept.partitions[0]!.lists.get('nodes by certname', 'node', views);
      for (const view of views) view.close();
      return list !== null;
    };
    const check = (): void => {
      const sorted = [...names].sort();
      // The first time it is merged, then made, then looked up.
      for (let time = 0; time < 3; time++) {
        assert.deepEqual(page(ascending), sorted);
        assert.deepEqual(page(descending), [...sorted].reverse());
        assert.deepEqual(page({ ...ascending, limit: '7', offset: '20' }), sorted.slice(20, 27));
        assert.deepEqual(
          page({ ...ascending, query: '["~","certname","[13579]\\\\."]' }),
          sorted.filter((name) => /[13579]\./.test(name)),
        );
      }
    };
    for (const name of names) apply(name);
    check();
    assert.equal(isKept(), true);
    names.push('a.example.com');
    apply('a.example.com');
    check();
    // What is stored of nodes that are there already is no reason to make it anew.
    apply('h3.example.com');
    assert.deepEqual(page(ascending), [...names].sort());
    // One goes, another one comes.
    for (const partition of kept.partitions) {
      const sweep = deleteNode(partition, 'h3.example.com');
      while (!sweep.step().done);
    }
    names.splice(names.indexOf('h3.example.com'), 1);
    check();
    names.push('h61.example.com');
    apply('h61.example.com');
    check();
  } finally {
    await kept.close();
  }
});
