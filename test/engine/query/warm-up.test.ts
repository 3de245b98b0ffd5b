// Warming up: every query is a good one, over a store with data they find something, and the work is bounded.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { openRequest } from '../../../engine/query/request/run.ts';
import { type Sample, sampleOf, WarmUp, warmUpRequests } from '../../../engine/query/warm-up.ts';
import { heldSnapshots, nextTurn } from '../store/readers.ts';
import { catalog, type Fleet, facts, NOW, newFleet, report, settings } from './request/fleet.ts';

let fleet: Fleet;
let sample: Sample;

before(() => {
  fleet = newFleet();
  assert.equal(sampleOf(fleet.partitions), null, 'nothing to ask of an empty store');
  for (let i = 0; i < 24; i++) {
    const certname = `n${i}.example.com`;
    fleet.apply('replace facts', 5, facts(certname, { kernel: 'Linux', networking: { ip: `10.0.0.${i}` } }));
    fleet.apply('replace catalog', 9, catalog(certname));
    fleet.apply('store report', 8, report(certname));
  }
  sample = sampleOf(fleet.partitions)!;
});
after(() => fleet.close());

it('a sample is a node with everything', () => {
  assert.match(sample.certname, /^n\d+\.example\.com$/);
  assert.match(sample.report!, /^[0-9a-f]{40}$/);
});

it('every request is answered well', () => {
  const store = { partitions: fleet.partitions, clock: () => NOW };
  for (const request of warmUpRequests(sample)) {
    const query = openRequest(request, store, settings);
    while (!query.done) query.step();
    assert.equal(
      query.head?.status,
      200,
      `${request.path}?${decodeURIComponent(request.queryString)}: ${query.head?.body}`,
    );
    assert.equal(query.failure, null);
  }
});

it('the work ends when its time is spent, and each query when its own is', () => {
  let looks = 0;
  const store = { partitions: fleet.partitions, clock: () => NOW, stopwatch: () => looks++ };
  const work = new WarmUp(store, sample, 500);
  let steps = 1;
  while (work.step()) steps++;
  assert.ok(steps > 10, `${steps} steps`);
  assert.ok(steps < 500, `${steps} steps`);
});

it('while clients ask, the query at hand is given up with what it holds', async () => {
  let looks = 0;
  const store = { partitions: fleet.partitions, clock: () => looks++, stopwatch: () => 0.001 * looks++ };
  const work = new WarmUp(store, sample, 500);
  for (let round = 0; round < 60; round++) {
    assert.ok(work.step());
    work.rest();
    await nextTurn();
    for (const partition of fleet.partitions) assert.equal(heldSnapshots(partition), 0);
  }
});

it('a query that is left at any step, or has its page full, holds no snapshot any more', async () => {
  // So many nodes that a page of them goes along the index of certnames.
  for (let i = 0; i < 60; i++) fleet.apply('replace facts', 5, facts(`m${i}.example.com`, { kernel: 'Linux' }));
  const pages = [
    { path: '/nodes', queryString: 'limit=2&order_by=[{"field":"certname"}]' },
    { path: '/facts', queryString: 'limit=2&order_by=[{"field":"certname","order":"desc"}]' },
    { path: '/reports', queryString: 'limit=1&order_by=[{"field":"producer_timestamp"}]' },
    { path: '/fact-paths', queryString: 'limit=1' },
  ].map((page) => ({ method: 'GET', api: 'query' as const, body: null, ...page }));
  for (const request of [...warmUpRequests(sample), ...pages]) {
    for (let steps = 0, done = false; !done; steps++) {
      // A slice is over whenever the time is looked at.
      let looks = 0;
      const store = { partitions: fleet.partitions, clock: () => NOW, stopwatch: () => 1000 * looks++ };
      const query = openRequest(request, store, settings);
      for (let step = 0; step < steps && !query.done; step++) query.step(1);
      ({ done } = query);
      query.close();
      if (steps > 8) steps *= 2;
    }
    await nextTurn();
    for (const partition of fleet.partitions) assert.equal(heldSnapshots(partition), 0, request.path);
  }
});

it('nodes without a catalog are looked at in small number', () => {
  for (let i = 0; i < 200; i++) fleet.apply('replace facts', 5, facts(`a${i}.example.com`, { kernel: 'Linux' }));
  assert.equal(sampleOf(fleet.partitions), null);
});
