// Commands for a partition that has given out nearly all ids of nodes, reports or fact names.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { QueuedCommand } from '../../../engine/ingest/command/types.ts';
import { openPartition, type Partition } from '../../../engine/store/partition.ts';
import { encodeState, STATE, type State } from '../../../engine/store/state.ts';
import { applyBatch } from '../../support/apply.ts';
import { at, factsPayload, reportPayload, SETTINGS, submit } from './support.ts';

const dir = mkdtempSync(join(tmpdir(), 'ids-left-'));
const opened: Partition[] = [];
after(async () => {
  for (const partition of opened) await partition.close();
  rmSync(dir, { recursive: true });
});

/** A partition with these ids to be given out next. */
function partitionAt(next: Partial<State>): Partition {
  const partition = openPartition(join(dir, `p${opened.length}`));
  opened.push(partition);
  partition.tables.state.putSync(STATE, encodeState({ ...partition.readState({}), ...next }));
  return partition;
}

/** What became of the commands, which are one batch; of what failed, why. */
const outcomes = (partition: Partition, ...commands: QueuedCommand[]): string[] =>
  applyBatch(partition, commands, SETTINGS).map((outcome) =>
    outcome.kind === 'processed' ? outcome.detail : outcome.kind === 'failed' ? outcome.error : outcome.kind,
  );

const report = (certname: string, minute: number): QueuedCommand =>
  submit('store report', reportPayload({ certname, producer_timestamp: at(minute) }));
const facts = (certname: string, minute: number, values: object): QueuedCommand =>
  submit('replace facts', factsPayload({ certname, producer_timestamp: at(minute), values }));
const deactivate = (certname: string, minute: number): QueuedCommand =>
  submit('deactivate node', { certname, producer_timestamp: at(minute) });

const LAST = 2 ** 32 - 2;
const refused = (things: string): string =>
  `The partition can take no more ${things}: it numbers them up to 4294967294, and gives no number twice.`;

test('ids left: a report without an id is refused before anything is written, and what is beside it is stored', () => {
  const partition = partitionAt({ nextReport: LAST });
  const first = report('a', 1);
  assert.deepEqual(outcomes(partition, first, report('b', 2), facts('c', 1, { x: 1 }), first), [
    'stored',
    refused('reports'),
    'stored',
    'duplicate',
  ]);
  const view = partition.snapshot();
  assert.deepEqual([...view.reports.ofNode(view.nodeId('a'))], [LAST]);
  assert.equal(view.nodeId('b'), 0);
  assert.equal(view.counts.reports, 1);
  assert.equal(view.state.nextReport, LAST + 1);
  view.close();
  assert.throws(() => partition.write((batch) => batch.reports.add({ ...reportOf(partition) }, null, NO_LISTS)), {
    message: refused('reports'),
  });
});

const NO_LISTS = { logs: null, metrics: null, resources: null };
function reportOf(partition: Partition) {
  const view = partition.snapshot();
  try {
    return view.reports.get(LAST)!;
  } finally {
    view.close();
  }
}

test('ids left: a new node without an id is refused, whatever comes of it; those that are there go on', () => {
  const partition = partitionAt({ nextNode: LAST });
  assert.deepEqual(outcomes(partition, facts('a', 1, { x: 1 })), ['stored']);
  assert.deepEqual(
    outcomes(
      partition,
      facts('b', 1, { y: 1 }),
      report('b', 1),
      deactivate('b', 1),
      report('a', 1),
      facts('a', 2, { x: 2 }),
      deactivate('a', 3),
    ),
    [refused('nodes'), refused('nodes'), refused('nodes'), 'stored', 'stored', 'stored'],
  );
  const view = partition.snapshot();
  assert.deepEqual([view.nodeId('a'), view.nodeId('b'), view.nameId('y')], [LAST, 0, 0]);
  assert.deepEqual([view.counts.nodes, view.counts.reports], [1, 1]);
  assert.deepEqual([...view.reports.ofNode(LAST)], [1]);
  view.close();
});

test('ids left: facts with more new names than there are ids are refused as a whole', () => {
  const partition = partitionAt({ nextName: LAST - 1 });
  assert.deepEqual(
    outcomes(
      partition,
      facts('a', 1, { x: 1 }),
      facts('b', 1, { x: 1, y: 1, z: 1 }),
      facts('c', 1, { x: 2, y: 1 }),
      facts('c', 2, { x: 3, y: 3 }),
      facts('c', 3, { z: 1 }),
    ),
    ['stored', refused('fact names'), 'stored', 'stored', refused('fact names')],
  );
  const view = partition.snapshot();
  assert.deepEqual([view.nameId('x'), view.nameId('y'), view.nameId('z'), view.nodeId('b')], [LAST - 1, LAST, 0, 0]);
  view.close();
});
