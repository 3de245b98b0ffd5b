// Ids of reports: every report is among them once, in the order of arrival, however many have gone, and numbers that have none are few.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openPartition } from '../../../engine/store/partition.ts';
import { Random, testSeed } from '../../support/random.ts';
import { nextTurn } from './readers.ts';
import { reportRecord } from './report-records.ts';

const dir = mkdtempSync(join(tmpdir(), 'muster-report-ids-'));
after(() => rmSync(dir, { recursive: true, force: true }));

const REPORTS = 1500;
const NO_LISTS = { metrics: null, logs: null, resources: null };

test('ids of reports, with none gone until all are', async () => {
  const partition = openPartition(dir);
  const random = new Random(testSeed('report-ids'));
  const seen = async (): Promise<{ ids: number[]; reports: number[] }> => {
    await nextTurn();
    const view = partition.snapshot();
    const ids = [...view.reports.ids()];
    const reports = ids.filter((id) => view.reports.get(id) !== undefined);
    view.close();
    return { ids, reports };
  };
  assert.deepEqual((await seen()).ids, []);
  let left = partition.write((batch) => {
    const nodeId = batch.createNode('n');
    return Array.from({ length: REPORTS }, (_, i) =>
      batch.reports.add(reportRecord({ nodeId, hash: i.toString(16).padStart(40, '0') }), null, NO_LISTS),
    );
  });
  // The oldest go, then some, then most, then all.
  for (const isLeft of [() => true, (id: number) => id > 100, () => random.below(4) > 0, () => random.below(4) === 0]) {
    const gone = left.filter((id) => !isLeft(id));
    left = left.filter((id) => !gone.includes(id));
    partition.write((batch) => {
      for (const id of gone) batch.reports.delete(id);
    });
    const { ids, reports } = await seen();
    assert.deepEqual(reports, left);
    assert.ok(ids.length <= 2 * left.length, `${ids.length} numbers for ${left.length} reports`);
  }
  partition.write((batch) => {
    for (const id of left) batch.reports.delete(id);
  });
  assert.deepEqual((await seen()).ids, []);
  await partition.close();
});
