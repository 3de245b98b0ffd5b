// Warming up: every query is a good one, over a store with data they find something, and the work is bounded.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { openRequest } from '../../../engine/query/request/run.ts';
import { type Sample, sampleOf, warmUp, warmUpRequests } from '../../../engine/query/warm-up.ts';
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
  let asked = 0;
  for (const _ of warmUp(store, sample, 500)) asked++;
  assert.ok(asked > 10, `${asked} queries`);
  assert.ok(asked < 500, `${asked} queries`);
});
