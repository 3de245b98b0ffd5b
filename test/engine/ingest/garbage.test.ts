// What a command leaves behind is gone with the next young collection. What is dead and in V8's old generation is not, and keeps alive all
// that it refers to until a full collection: with Node 20, hidden classes of objects that are written with a getter, or copied by spread
// syntax, were so.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { Inflater } from '../../../engine/ingest/command/inflater.ts';
import { openPartition } from '../../../engine/store/partition.ts';
import { applyBatch } from '../../support/apply.ts';
import { collect } from '../../support/collect.ts';
import { at, event, reportPayload, reportResource, SETTINGS, submit } from './support.ts';

// As the server has it (workers/system/v8.ts).
setFlagsFromString('--no-allocation-site-pretenuring');

const WARM_UP = 3000;
const MEASURED = 4000;
const BATCH = 20;
/** Of the old generation's growth, in bytes a report: with Node 20 some 2,000 with either the getter or the copies. */
const GROWTH_MAX = 700;

const settings = { ...SETTINGS, inflater: new Inflater() };

const oldGeneration = (): number =>
  getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')?.space_used_size ?? Number.NaN;

test('reports that are stored leave next to nothing in the old generation', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'garbage-'));
  const partition = openPartition(dir);
  t.after(async () => {
    await partition.close();
    rmSync(dir, { recursive: true });
  });
  const apply = (from: number, count: number): void => {
    for (let batch = from; batch < from + count; batch += BATCH) {
      const commands = Array.from({ length: BATCH }, (_, index) => {
        const minute = batch + index;
        const payload = reportPayload({
          certname: `node-${minute % 100}`,
          producer_timestamp: at(minute),
          start_time: at(minute),
          end_time: at(minute),
          resources: [reportResource({ events: [event({ message: `message ${minute}` })] })],
        });
        return submit('store report', payload, { gzip: true });
      });
      for (const outcome of applyBatch(partition, commands, settings)) assert.equal(outcome.kind, 'processed');
    }
  };
  apply(0, WARM_UP);
  collect();
  const before = oldGeneration();
  apply(WARM_UP, MEASURED);
  const growth = (oldGeneration() - before) / MEASURED;
  t.diagnostic(`${Math.round(growth)} bytes a report`);
  assert.ok(growth < GROWTH_MAX, `${Math.round(growth)} bytes a report`);
});
