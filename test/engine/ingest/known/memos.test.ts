// What is remembered of payloads: in the store, for whoever opens it next, as long as the node is there.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { Fingerprints, newKey } from '../../../../engine/fingerprint.ts';
import { prepare } from '../../../../engine/ingest/apply.ts';
import type { CatalogCommand, FactsCommand } from '../../../../engine/ingest/command/commands.ts';
import type { QueuedCommand } from '../../../../engine/ingest/command/types.ts';
import { memoOf } from '../../../../engine/ingest/known/spans.ts';
import { deleteNode } from '../../../../engine/retention/nodes.ts';
import { openPartition, type Partition } from '../../../../engine/store/partition.ts';
import { applyBatch } from '../../../support/apply.ts';
import { at, catalogPayload, factsPayload, resource, SETTINGS, submit } from '../support.ts';

const dir = mkdtempSync(join(tmpdir(), 'memos-'));
after(() => rmSync(dir, { recursive: true }));

const settings = { ...SETTINGS, fingerprints: new Fingerprints(newKey()) };

/** Whether the payload is taken for the node's last one, from its bytes alone. */
function isKnown(partition: Partition, command: QueuedCommand, by = settings): boolean {
  const prepared = partition.write((batch) => prepare(batch, command, by));
  assert.equal(prepared.kind, 'decoded');
  return ((prepared as { command: unknown }).command as CatalogCommand | FactsCommand).memo === null;
}

const catalogOf = (title: string, minute: number) =>
  submit(
    'replace catalog',
    catalogPayload({ certname: 'm', resources: [resource({ title })], producer_timestamp: at(minute) }),
  );
const factsOf = (value: string, minute: number) =>
  submit('replace facts', factsPayload({ certname: 'm', values: { a: value }, producer_timestamp: at(minute) }));

test('memos: payloads are known again after the store was closed, under the same key only', async () => {
  const path = join(dir, 'again');
  let partition = openPartition(path);
  applyBatch(partition, [catalogOf('x', 1), factsOf('x', 1)], settings);
  await partition.close();
  partition = openPartition(path);
  for (const command of [catalogOf('x', 2), factsOf('x', 2)]) {
    assert.equal(isKnown(partition, command), true);
    assert.equal(isKnown(partition, command, { ...settings, fingerprints: new Fingerprints(newKey()) }), false);
    assert.equal(
      isKnown(partition, command, { ...settings, factsBlocklist: ['b'] }),
      command.envelope.command !== 'replace facts',
    );
  }
  for (const command of [catalogOf('y', 2), factsOf('y', 2)]) assert.equal(isKnown(partition, command), false);
  const outcomes = applyBatch(partition, [catalogOf('x', 3), factsOf('x', 3)], settings);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.kind === 'processed' && outcome.unchanged),
    [true, true],
  );
  await partition.close();
});

test('memos: what was not stored is not remembered, and nothing is of a node that went', async () => {
  const partition = openPartition(join(dir, 'gone'));
  applyBatch(partition, [catalogOf('new', 5), catalogOf('old', 1)], settings);
  assert.equal(isKnown(partition, catalogOf('new', 6)), true);
  assert.equal(isKnown(partition, catalogOf('old', 6)), false);
  const failing = (): never =>
    partition.write((batch) => {
      batch.setMemo('catalog', batch.view.nodeId('m'), 'nothing');
      throw new Error('aborted');
    });
  assert.throws(failing, /aborted/);
  assert.equal(isKnown(partition, catalogOf('new', 6)), true);
  const sweep = deleteNode(partition, 'm');
  while (!sweep.step().done);
  assert.equal(isKnown(partition, catalogOf('new', 7)), false);
  for (const name of ['catalog_memo', 'factset_memo'] as const)
    assert.deepEqual([...partition.tables[name].getKeys()], []);
  await partition.close();
});

test('memos: edges that were sent as the same bytes are those of the stored catalog, whatever came between', async () => {
  const knowing = openPartition(join(dir, 'edges'));
  const plain = openPartition(join(dir, 'no-edges'));
  const titles = ['a', 'b', 'c', 'd'];
  const edge = (source: string, target: string, relationship = 'contains') => ({
    source: { type: 'File', title: source },
    target: { type: 'File', title: target },
    relationship,
  });
  const edgeLists = [
    [],
    [edge('a', 'b')],
    [edge('a', 'b'), edge('b', 'c', 'before')],
    [edge('a', 'b'), edge('a', 'd')],
    [edge('a', 'b'), edge('a', 'd', 'none')],
  ];
  const edgesOf = (partition: Partition): object[] => {
    const view = partition.snapshot();
    try {
      return [...view.edges.list(view.nodeId('m'))].map((group) => view.edges.body(group));
    } finally {
      view.close();
    }
  };
  const command = fc.record({
    /** Without one of them edges may name what is not there. */
    resources: fc.subarray(titles, { minLength: 3 }),
    revision: fc.nat(2),
    edges: fc.nat(edgeLists.length - 1),
    /** Nothing is remembered of a payload whose key is spelled with an escape. */
    isOdd: fc.nat(4).map((n) => n === 0),
    isOld: fc.nat(6).map((n) => n === 0),
  });
  // Some whose edges stay as they are while the rest changes, whatever else comes.
  const usual = Array.from({ length: 12 }, (_, i) => ({
    resources: titles,
    revision: i % 2,
    edges: 2,
    isOdd: false,
    isOld: false,
  }));
  let minute = 0;
  let isSame = 0;
  fc.assert(
    fc.property(fc.array(command, { minLength: 3, maxLength: 12 }), (commands) => {
      for (const { resources, revision, edges, isOdd, isOld } of commands) {
        const payload = JSON.stringify(
          catalogPayload({
            certname: 'm',
            resources: resources.map((title) => resource({ type: 'File', title, parameters: { revision } })),
            edges: edgeLists[edges],
            producer_timestamp: at(isOld ? minute - 1 : ++minute),
          }),
        );
        const sent = submit('replace catalog', isOdd ? payload.replace('"edges"', '"edg\\u0065s"') : payload, {
          certname: 'm',
        });
        const before = knowing.write((batch) => batch.view.node(batch.view.nodeId('m'))?.catalog?.hash ?? null);
        const prepared = knowing.write((batch) => prepare(batch, sent, settings)) as { command?: CatalogCommand };
        if (before !== null && prepared.command?.edgesOf === before) isSame++;
        const unknowing = { ...SETTINGS, fingerprints: new Fingerprints(newKey()) };
        assert.deepEqual(applyBatch(knowing, [sent], settings), applyBatch(plain, [sent], unknowing));
        assert.deepEqual(edgesOf(knowing), edgesOf(plain));
      }
    }),
    { numRuns: 40, examples: [[usual]] },
  );
  assert.ok(isSame > 8, `${isSame} were known`);
  await knowing.close();
  await plain.close();
});

test('memos: one that says nothing of single parts, as older ones do, is read', () => {
  const { parts, fingerprint, hash } = memoOf('f1 h1 resources 12 edges 2');
  assert.deepEqual([fingerprint, hash], ['f1', 'h1']);
  assert.deepEqual(Object.fromEntries(parts), {
    resources: { size: 12, fingerprint: null },
    edges: { size: 2, fingerprint: null },
  });
});
