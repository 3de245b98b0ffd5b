// Records that a thread keeps for its next queries: each snapshot sees its own, whatever came before it and comes after it.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Batch } from '../../../engine/store/batch.ts';
import { Scratch } from '../../../engine/store/file/lmdb.ts';
import { BroughtIn, KeptBytes, QUERY_ROOM } from '../../../engine/store/items/kept-bytes.ts';
import { RecordBudget } from '../../../engine/store/items/record-cache.ts';
import { openPartition, type Partition } from '../../../engine/store/partition.ts';
import { PACKAGE, StoredPackage } from '../../../engine/store/records/bodies.ts';
import { decodeNode, NODE_TEXT, StoredNode } from '../../../engine/store/records/node-record.ts';
import type { NodeId } from '../../../engine/store/records/records.ts';
import { StoredReport } from '../../../engine/store/records/report-record.ts';
import { TOLD_MAX, withRewritten } from '../../../engine/store/rewritten.ts';
import type { View } from '../../../engine/store/view.ts';
import { Random } from '../../support/random.ts';
import { nextTurn } from './readers.ts';
import { reportRecord } from './report-records.ts';

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});
function fresh(): Partition {
  const dir = mkdtempSync(join(tmpdir(), 'muster-rewritten-'));
  dirs.push(dir);
  return openPartition(dir);
}

const change = (batch: Batch, id: NodeId, code: string): void => {
  const node = batch.node(id)!;
  batch.putNode(id, { ...node, inputs: { catalogUuid: 'u', producerTimestamp: 1, hash: code } });
};
const scratch = new Scratch();
function hashOf(view: View, id: NodeId): string | null | undefined {
  const node = new StoredNode();
  return view.readNode(id, node, scratch) ? node.string(NODE_TEXT.inputsHash) : undefined;
}
async function snapshot(partition: Partition): Promise<View> {
  await nextTurn();
  return partition.snapshot();
}

test('each of many snapshots that are open together sees the nodes as they were when it began', async () => {
  const partition = fresh();
  const random = new Random(7);
  const NODES = 400;
  partition.write((b) => {
    for (let i = 0; i < NODES; i++) b.createNode(`n${i}`);
  });
  const open: View[] = [];
  for (let round = 0; round < 60; round++) {
    // Few, many, more than a commit tells of, or none.
    const count = [3, 40, TOLD_MAX + 20, 0][round % 4]!;
    for (let commit = 0; commit <= round % 3; commit++) {
      partition.write((b) => {
        for (let i = 0; i < count; i++) {
          const id = random.between(1, NODES);
          if (b.node(id) === undefined) continue;
          if (random.unit() < 0.01) b.deleteNode(id);
          else change(b, id, `${round}-${commit}-${i}`);
        }
      });
    }
    open.push(await snapshot(partition));
    if (open.length > 4) open.splice(random.below(5), 1)[0]!.close();
    for (const view of open) {
      for (let id = 1; id <= NODES; id++) {
        assert.equal(hashOf(view, id), nodeAt(view, id)?.inputs?.hash ?? (nodeAt(view, id) ? null : undefined));
      }
    }
  }
  for (const view of open) view.close();
  await partition.close();
});

/** Read from the store, whatever is kept. */
function nodeAt(view: View, id: NodeId) {
  const bytes = view.partition.tables.node.get(id, view.options as { transaction: never });
  return bytes === undefined ? undefined : decodeNode(bytes);
}

test('a change of one node leaves the others kept', async () => {
  const partition = fresh();
  partition.write((b) => {
    for (let i = 0; i < 50; i++) b.createNode(`n${i}`);
  });
  const first = await snapshot(partition);
  for (let id = 1; id <= 50; id++) hashOf(first, id);
  first.close();
  partition.write((b) => change(b, 7, 'new'));
  const second = await snapshot(partition);
  const kept = partition.kept.node;
  const had = Array.from({ length: 50 }, (_, i) => kept.load(i + 1, new StoredNode()));
  assert.deepEqual(
    had.flatMap((is, i) => (is ? [] : [i + 1])),
    [7],
  );
  assert.equal(hashOf(second, 7), 'new');
  second.close();
  await partition.close();
});

test('a change that was not committed is seen by nobody', async () => {
  const partition = fresh();
  partition.write((b) => {
    b.createNode('n');
    change(b, 1, 'old');
  });
  const before = await snapshot(partition);
  assert.equal(hashOf(before, 1), 'old');
  before.close();
  assert.throws(() =>
    partition.write((b) => {
      change(b, 1, 'new');
      throw new Error('no');
    }),
  );
  const behind = await snapshot(partition);
  assert.equal(hashOf(behind, 1), 'old');
  behind.close();
  await partition.close();
});

const NO_LISTS = { metrics: null, logs: null, resources: null };

test('reports whose events go, and reports that go', async () => {
  const partition = fresh();
  const ids: number[] = [];
  partition.write((b) => {
    const nodeId = b.createNode('n');
    for (const hash of ['a', 'b', 'c']) {
      const record = reportRecord({ nodeId, hash: hash.repeat(40), eventCount: 1 });
      ids.push(b.reports.add(record, null, NO_LISTS));
    }
  });
  const countOf = (view: View, id: number): number | null => {
    const stored = new StoredReport();
    return view.reports.read(id, stored, scratch) ? view.reports.get(id)!.eventCount - stored.eventCount : null;
  };
  const first = await snapshot(partition);
  for (const id of ids) assert.equal(countOf(first, id), 0);
  partition.write((b) => {
    b.reports.setEvents(ids[1]!, []);
    b.reports.delete(ids[2]!);
  });
  const second = await snapshot(partition);
  for (const view of [second, first, second]) assert.equal(countOf(view, ids[1]!), 0);
  assert.equal(second.reports.get(ids[1]!)!.eventCount, 0);
  assert.equal(first.reports.get(ids[1]!)!.eventCount, 1);
  assert.equal(countOf(second, ids[2]!), null);
  assert.equal(countOf(first, ids[2]!), 0);
  first.close();
  second.close();
  await partition.close();
});

test('bodies are kept for snapshots, not within a transaction, nor for a snapshot that others have followed', async () => {
  const partition = fresh();
  const read = (view: View, item: number): string | null => view.packages.reader().read(item).string(PACKAGE.name);
  const isKept = (item: number): boolean => partition.packages.bodies.load(item, new StoredPackage());
  const [a, b] = partition.write((batch) => {
    const items = ['a', 'b'].map((name) => batch.packages.intern({ name, version: '1', provider: 'apt' }).id);
    batch.setPackages(batch.createNode('n'), Uint32Array.from(items));
    for (const item of items) read(batch.view, item);
    return items as [number, number];
  });
  assert.deepEqual([isKept(a), isKept(b)], [false, false]);
  const first = await snapshot(partition);
  assert.equal(read(first, a), 'a');
  assert.deepEqual([isKept(a), isKept(b)], [true, false]);
  partition.write((batch) => change(batch, 1, 'new'));
  const second = await snapshot(partition);
  assert.equal(read(first, b), 'b');
  assert.equal(isKept(b), false);
  assert.equal(read(second, b), 'b');
  assert.equal(isKept(b), true);
  first.close();
  second.close();
  await partition.close();
});

test('the word of what changed last has no more than its bound, the newest last', () => {
  const first = withRewritten(undefined, [1, 2]);
  assert.deepEqual([...new Uint32Array(Uint8Array.from(first).buffer)], [1, 2]);
  const second = withRewritten(
    first,
    Array.from({ length: TOLD_MAX - 1 }, (_, i) => 100 + i),
  );
  const told = [...new Uint32Array(Uint8Array.from(second).buffer)];
  assert.equal(told.length, TOLD_MAX);
  assert.deepEqual([told[0], told.at(-1)], [2, 100 + TOLD_MAX - 2]);
});

/** Reads texts. */
class Reader {
  text = '';
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  size = 0;
  load(bytes: Buffer, start: number): void {
    this.#bytes = bytes;
    this.#start = start;
  }
  read(size: number): string {
    return this.#bytes.toString('latin1', this.#start, this.#start + size);
  }
}

test('kept bytes stay where their readers see them, while more come and after they have gone', () => {
  const kept = new KeptBytes(new RecordBudget());
  const reader = new Reader();
  kept.keep(3, Buffer.from('three'), reader);
  const other = new Reader();
  for (let id = 4; id < 5000; id++) kept.keep(id, Buffer.from(`record ${id}`), other);
  assert.equal(reader.read(5), 'three');
  assert.equal(kept.load(3, other), true);
  kept.delete(3);
  assert.equal(kept.load(3, other), false);
  kept.keep(3, Buffer.from('THREE'), other);
  assert.equal(reader.read(5), 'three');
  assert.equal(other.read(5), 'THREE');
  kept.clear();
  for (let id = 0; id < 5000; id++) assert.equal(kept.load(id, other), false);
});

test('what is used comes along into the next generation, the rest goes in time', () => {
  const kept = new KeptBytes(new RecordBudget());
  const reader = new Reader();
  kept.keep(1, Buffer.from('used'), reader);
  kept.keep(2, Buffer.from('left'), reader);
  const large = Buffer.alloc(1 << 20);
  for (let id = 100; id < 140; id++) {
    kept.keep(id, large, reader);
    assert.equal(kept.load(1, reader), true);
    assert.equal(reader.read(4), 'used');
  }
  assert.equal(kept.load(2, reader), false);
  assert.equal(kept.load(100, reader), false);
  assert.equal(kept.load(139, reader), true);
});

/** Looks at so many records of 2 KB, as one query after another does. Returns how many were not kept. */
function looked(kept: KeptBytes, count: number, looks: number): number {
  const reader = new Reader();
  const record = Buffer.alloc(2000);
  let missed = 0;
  for (let look = 0; look < looks; look++) {
    const broughtIn = new BroughtIn();
    missed = 0;
    for (let id = 1; id <= count; id++) {
      if (kept.load(id, reader)) continue;
      missed++;
      broughtIn.add(kept, id, record, reader);
    }
  }
  return missed;
}

test('who looks at the same again and again finds all that fits into both generations, and a part of what does not', () => {
  const MiB = 1 << 20;
  const fits = looked(new KeptBytes(new RecordBudget(12 * MiB)), 4500, 15);
  assert.equal(fits, 0, '9 MB');
  const missed = looked(new KeptBytes(new RecordBudget(12 * MiB)), 10_000, 60);
  assert.ok(missed > 4000 && missed < 8000, `${missed} of 10,000 are not kept`);
});

test('a thread gives up all that it keeps, told in bytes', () => {
  const budget = new RecordBudget();
  const [one, two] = [new KeptBytes(budget), new KeptBytes(budget)];
  const reader = new Reader();
  const large = Buffer.alloc(1 << 20);
  // Some of it is in the older generation by then.
  for (let id = 1; id <= 10; id++) one.keep(id, large, reader);
  two.keep(1, Buffer.from('small'), reader);
  assert.ok(budget.forget() > 10 << 20);
  for (let id = 1; id <= 10; id++) assert.equal(one.load(id, reader), false);
  assert.equal(two.load(1, reader), false);
  assert.equal(budget.forget(), 0);
  one.keep(1, Buffer.from('again'), reader);
  assert.equal(one.load(1, reader), true);
  assert.equal(reader.read(5), 'again');
});

test('a query that looks at everything brings in a part of it', async () => {
  const partition = fresh();
  const name = 'x'.repeat(1000);
  const NODES = 2000;
  partition.write((b) => {
    for (let i = 0; i < NODES; i++) b.createNode(`${name}${i}`);
  });
  const view = await snapshot(partition);
  for (let id = 1; id <= NODES; id++) assert.equal(hashOf(view, id), null);
  const kept = partition.kept.node;
  let count = 0;
  for (let id = 1; id <= NODES; id++) count += Number(kept.load(id, new StoredNode()));
  assert.ok(count > QUERY_ROOM / 2000 && count < QUERY_ROOM / 1000, `${count} are kept`);
  view.close();
  await partition.close();
});
