// What `muster check` tells of copies that do not fit what they are copies of.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkStore } from '../../../engine/store/check.ts';
import { openPartition } from '../../../engine/store/partition.ts';
import { openStoreInfo, partitionDir } from '../../../engine/store/store-info.ts';

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** A store with a node that has a fact, and what is to be done to its copies; what the check tells then. */
async function problemsAfter(change: (copy: Buffer) => Buffer): Promise<string[]> {
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
  const table = partition.facts.tables.copy!;
  const before = Buffer.from(table.get(node) as Buffer);
  const changed = change(Buffer.from(before));
  if (!changed.equals(before)) table.putSync(node, changed);
  await partition.flush();
  await partition.close();
  return checkStore(dir);
}

test('check: copies that fit are sound', async () => {
  assert.deepEqual(await problemsAfter((copy) => copy), []);
});

test('check: a copy that differs from its body, of a fact that the node does not have, or cut off, is told', async () => {
  const differs = await problemsAfter((copy) => {
    copy[copy.length - 2]! ^= 1;
    return copy;
  });
  assert.deepEqual(differs, ['partition 0: fact item 1: its copy for node 1 differs']);
  const foreign = await problemsAfter((copy) => {
    copy.writeUInt32LE(7, 0);
    return copy;
  });
  assert.deepEqual(foreign, ['partition 0: fact item 7 is copied for node 1, which does not have it']);
  const cut = await problemsAfter((copy) => copy.subarray(0, copy.length - 1));
  assert.equal(cut.length, 1);
  assert.match(cut[0]!, /^partition 0: it cannot be read: a copy has no end/);
});
