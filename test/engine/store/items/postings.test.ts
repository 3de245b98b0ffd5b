import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { idOfTimeKey, timeKey, timeOfKey } from '../../../../engine/store/file/keys.ts';
import { chunkIds } from '../../../../engine/store/items/chunk.ts';
import { Bitmaps, ChunkSet } from '../../../../engine/store/items/chunk-set.ts';
import { PostingsWriter, postingIds } from '../../../../engine/store/items/postings.ts';
import { openPartition } from '../../../../engine/store/partition.ts';
import { atEnd } from '../../../support/endings.ts';
import { Random, testSeed } from '../../../support/random.ts';

const source = new Random(testSeed('postings'));
const random = (end: number): number => source.below(end);
const ascending = (numbers: Iterable<number>): number[] => [...numbers].sort((a, b) => a - b);

const LIST = 1;
const BITMAP = 2;

function idsOf(value: Uint8Array | null): number[] {
  const ids: number[] = [];
  if (value !== null) chunkIds(value, 0, ids);
  return ids;
}

test('postings: a chunk holds what was added and not removed, whatever form it is kept in', () => {
  for (let round = 0; round < 300; round++) {
    // Few and many ids, near to one another and far apart.
    const span = [8, 64, 130, 700, 2048][round % 5]!;
    const expected = new Set<number>();
    const bitmaps = new Bitmaps();
    let chunk = new ChunkSet(undefined, bitmaps);
    for (let step = random(300); step > 0; step--) {
      const id = random(span);
      if (random(3) === 0) {
        chunk.remove(id);
        expected.delete(id);
      } else {
        chunk.add(id);
        expected.add(id);
      }
      // Stored and read again in the middle.
      if (random(40) === 0) chunk = new ChunkSet(chunk.encode() ?? undefined, bitmaps);
    }
    const value = chunk.encode();
    assert.deepEqual(idsOf(value), ascending(expected));
    if (value === null) continue;
    // The shorter form, as docs/storage-format.md has it.
    const lastByte = Math.max(...expected) >>> 3;
    const isBitmap = expected.size > 64 || lastByte + 1 <= expected.size * 2;
    assert.equal(value[0], isBitmap ? BITMAP : LIST);
    assert.equal(value.length, 1 + (isBitmap ? lastByte + 1 : expected.size * 2));
  }
});

test('postings: of two forms of one size a chunk takes the bitmap', () => {
  const chunk = new ChunkSet(undefined, new Bitmaps());
  for (let id = 8; id < 128; id += 17) chunk.add(id);
  const value = chunk.encode();
  assert.equal(idsOf(value).length, 8);
  assert.deepEqual([value?.[0], value?.length], [BITMAP, 17]);
});

test('postings: batches leave what their changes add up to, and say which ids have nothing left', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-postings-'));
  atEnd(t, () => rmSync(dir, { recursive: true, force: true }));
  const partition = openPartition(dir);
  atEnd(t, () => partition.close());
  const table = partition.tables.node_set;
  const maxNode = 9000; // more chunks than are looked for one by one
  const expected = new Map<number, Set<number>>();
  let next = 100;
  for (let round = 0; round < 60; round++) {
    const stored = [...expected.keys()];
    const shrunk = new Set<number>();
    const unused: number[] = [];
    const gone = partition.write(() => {
      const writer = new PostingsWriter(table, () => maxNode);
      for (let step = random(120); step > 0; step--) {
        const kind = random(6);
        let id = stored[random(stored.length)] ?? 0;
        if (kind === 0 || id === 0) {
          id = next++;
          writer.begin(id);
          expected.set(id, new Set());
          stored.push(id);
          if (random(4) === 0) {
            unused.push(id);
            stored.pop();
            continue;
          }
        }
        const nodes = expected.get(id)!;
        const node = nodes.size > 0 && kind > 3 ? ([...nodes][random(nodes.size)] as number) : 1 + random(maxNode);
        if (kind > 3) {
          writer.remove(id, node);
          nodes.delete(node);
          shrunk.add(id);
        } else {
          writer.add(id, node);
          nodes.add(node);
        }
      }
      return writer.flush();
    });
    const empty = [...shrunk].filter((id) => expected.get(id)!.size === 0);
    for (const id of gone) assert.equal(expected.get(id)!.size, 0, `id ${id} has nodes`);
    for (const id of [...empty, ...unused]) assert.ok(gone.includes(id), `id ${id} has none`);
    for (const id of gone) expected.delete(id);
    for (const [id, nodes] of expected) assert.deepEqual([...postingIds(table, id, {})], ascending(nodes));
  }
});

test('keys: times order as numbers do, and come back', () => {
  const times = [-8.64e15, -62_135_596_800_000, -4_294_967_297, -4_294_967_296, -1, 0, 1, 2 ** 32, 1.7e12, 8.64e15];
  for (let i = 0; i < 500; i++) times.push(random(2 ** 31) * 4096 - 2 ** 42);
  const keys = times.map((time) => timeKey(time, 7));
  times.forEach((time, i) => {
    assert.equal(timeOfKey(keys[i]!), time);
    assert.equal(idOfTimeKey(keys[i]!), 7);
    assert.equal(keys[i]!.readBigUInt64BE(0), BigInt(time) + (1n << 60n));
  });
});
