// What `muster check` tells of copies that do not fit what they are copies of, of memos that nobody can use,
// and of resources by what nobody can know them.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { partitionDir } from '../../../engine/store/layout.ts';
import { openPartition, type Partition } from '../../../engine/store/partition.ts';
import { decodeState, encodeState, STATE } from '../../../engine/store/state.ts';
import { openStoreInfo } from '../../../engine/store/store-info.ts';
import type { MemoKind } from '../../../engine/store/tables.ts';
import { checkStore } from '../../support/check-store.ts';

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** A store with a node that has a fact, and what is to be done to it; what the check tells then. */
async function problemsAfter(change: (partition: Partition, node: number) => void): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'muster-check-'));
  dirs.push(dir);
  openStoreInfo(dir, { partitions: 1 });
  const partition = openPartition(partitionDir(dir, 0));
  const node = partition.write((batch) => {
    const id = batch.createNode('a.example.com');
    const item = batch.facts.intern({ name: 'kernel', value: '"Linux"' }).id;
    batch.setFacts(id, Uint32Array.from([batch.nameId('kernel'), item]));
    const factset = { environment: null, producer: null, producerTimestamp: 1, timestamp: 1, hash: 'a'.repeat(40) };
    batch.putNode(id, { ...batch.node(id)!, factset });
    return id;
  });
  change(partition, node);
  await partition.flush();
  await partition.close();
  return checkStore(dir);
}

/** The same with the node's copies changed. */
const problemsWith = (change: (copies: Buffer) => Buffer): Promise<string[]> =>
  problemsAfter((partition, node) => {
    const table = partition.facts.tables.copy!;
    table.putSync(node, change(Buffer.from(table.get(node) as Buffer)));
  });

test('check: copies that fit are sound', async () => {
  assert.deepEqual(await problemsWith((copy) => copy), []);
});

test('check: a copy that differs from its body, of a fact that the node does not have, or cut off, is told', async () => {
  const differs = await problemsWith((copy) => {
    copy[copy.length - 2]! ^= 1;
    return copy;
  });
  assert.deepEqual(differs, ['partition 0: fact item 1: its copy for node 1 differs']);
  const foreign = await problemsWith((copy) => {
    copy.writeUInt32LE(7, 0);
    return copy;
  });
  assert.deepEqual(foreign, ['partition 0: fact item 7 is copied for node 1, which does not have it']);
  const cut = await problemsWith((copy) => copy.subarray(0, copy.length - 1));
  assert.equal(cut.length, 1);
  assert.match(cut[0]!, /^partition 0: it cannot be read: a copy has no end/);
});

test('check: a memo of a node without what it is a memo of, or that cannot be read, is told', async () => {
  const memo = `${'a'.repeat(40)} ${'b'.repeat(40)} values 12 package_inventory 2`;
  const put = (kind: MemoKind, text: string) => (partition: Partition, node: number) =>
    partition.write((batch) => batch.setMemo(kind, node, text));
  assert.deepEqual(await problemsAfter(put('factset', memo)), []);
  assert.deepEqual(await problemsAfter(put('catalog', memo)), ['partition 0: catalog memo of node 1, which has none']);
  assert.deepEqual(await problemsAfter((partition) => put('factset', memo)(partition, 5)), [
    'partition 0: factset memo of node 5, which has none',
  ]);
  assert.deepEqual(await problemsAfter(put('factset', memo.slice(1))), [
    'partition 0: factset memo of node 1 cannot be read',
  ]);
  const ofParts = memo.replace(/\d+$/, (size) => `${size}:${'c'.repeat(32)}`);
  assert.deepEqual(await problemsAfter(put('factset', ofParts)), []);
  assert.deepEqual(await problemsAfter(put('factset', ofParts.slice(0, -1))), [
    'partition 0: factset memo of node 1 cannot be read',
  ]);
});

test('check: what is known of resources that the node does not have, or cannot be found, is told', async () => {
  const body = { type: 'File', hash: 'b'.repeat(40), tags: [], ownTag: false, exported: false, file: null, line: null };
  const withResources = (change: (known: Buffer) => Buffer) =>
    problemsAfter((partition, node) => {
      partition.write((batch) => {
        const items = ['/a', '/b'].map((title) => batch.resources.intern({ ...body, title, parameters: '{}' }).id);
        const known = items.map((item) => ({ digest: String(9 - item).repeat(16), item, flags: 0 }));
        batch.setResources(node, Uint32Array.from(items), known);
        const times = { producerTimestamp: 1, timestamp: 1 };
        const texts = {
          environment: null,
          transactionUuid: null,
          catalogUuid: null,
          codeId: null,
          jobId: null,
          producer: null,
        };
        const catalog = { version: '1', ...texts, ...times, hash: 'c'.repeat(40) };
        batch.putNode(node, { ...batch.node(node)!, catalog });
      });
      const table = partition.tables.resource_known;
      table.putSync(node, change(Buffer.from(table.get(node) as Buffer)));
    });
  assert.deepEqual(await withResources((known) => known), []);
  assert.deepEqual(await withResources((known) => known.fill(9, 16, 17)), [
    'partition 0: resource item 9 is known for node 1, which does not have it',
  ]);
  const [first, second] = [0, 21] as const;
  assert.deepEqual(
    await withResources((known) => Buffer.concat([known.subarray(second), known.subarray(first, second)])),
    ['partition 0: what is known of the resources of node 1 is not in order'],
  );
  assert.deepEqual(await withResources((known) => known.subarray(0, 30)), [
    'partition 0: what is known of the resources of node 1 cannot be read',
  ]);
});

test('check: items of very large ids are in their indexes', async () => {
  const problems = await problemsAfter((partition) => {
    const { state } = partition.tables;
    const now = decodeState(Buffer.from(state.get(STATE) as Buffer));
    now.nextItem['fact'] = 2 ** 31 + 5;
    now.rounds['fact'] = { number: 0, end: 1, limit: 2 ** 32 - 1 };
    state.putSync(STATE, encodeState(now));
    partition.write((batch) => {
      const id = batch.view.nodeId('a.example.com');
      const item = batch.facts.intern({ name: 'kernel', value: '"Other"' }).id;
      assert.equal(item, 2 ** 31 + 5);
      batch.setFacts(id, Uint32Array.from([batch.nameId('kernel'), item]));
    });
  });
  assert.deepEqual(problems, []);
});

test('check: an item whose id would be given out again is told', async () => {
  const problems = await problemsAfter((partition) => {
    const { state } = partition.tables;
    const now = decodeState(Buffer.from(state.get(STATE) as Buffer));
    now.nextItem['fact'] = 1;
    state.putSync(STATE, encodeState(now));
  });
  assert.ok(problems.length > 0);
  for (const problem of problems)
    assert.match(problem, /^partition 0: fact item \d+ has an id that is still to be given out$/);
});
