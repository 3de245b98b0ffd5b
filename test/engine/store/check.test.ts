// What `muster check` tells of copies that do not fit what they are copies of, and of memos that nobody can use.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkStore } from '../../../engine/store/check.ts';
import { type MemoKind, openPartition, type Partition } from '../../../engine/store/partition.ts';
import { openStoreInfo, partitionDir } from '../../../engine/store/store-info.ts';

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
});
