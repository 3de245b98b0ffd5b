// What the batches of an index leave, beside a model: items that are the only ones of their texts, items that share them, removals, keys
// that several texts have.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { indexPrefix, prefixEnd } from '../../../../engine/store/file/keys.ts';
import { CHUNK_BITS, chunkIds } from '../../../../engine/store/items/chunk.ts';
import { IndexChunks } from '../../../../engine/store/items/index-chunks.ts';
import { openPartition } from '../../../../engine/store/partition.ts';
import { atEnd } from '../../../support/endings.ts';
import { Random, testSeed } from '../../../support/random.ts';

const source = new Random(testSeed('index-chunks'));
const random = (end: number): number => source.below(end);

/** Entries of tag 1 have two texts, of tag 2 one, of tag 4 none. The half characters have one key, as neither has UTF-8. */
const TEXTS = ['a', 'b', 'ab', '', 'ü', 'a'.repeat(600), 'half \ud800', 'half \udbff', 'é'.repeat(300)];
const text = (): string => TEXTS[random(TEXTS.length)]!;
const entry = (): readonly [number, readonly string[]] => {
  const tag = [1, 2, 4][random(3)]!;
  return [tag, tag === 1 ? [text(), text()] : tag === 2 ? [text()] : []];
};

test('index chunks: batches leave what their changes add up to', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-index-'));
  atEnd(t, () => rmSync(dir, { recursive: true, force: true }));
  const partition = openPartition(dir);
  atEnd(t, () => partition.close());
  // Of the same shape, and used by nobody here.
  const table = partition.tables.node_set;
  const expected = new Map<string, { readonly prefix: Buffer; readonly items: Set<number> }>();
  for (let round = 0; round < 80; round++) {
    partition.write(() => {
      const index = new IndexChunks(table);
      for (let step = random(60); step > 0; step--) {
        const [tag, texts] = entry();
        const prefix = indexPrefix(tag, texts);
        const name = prefix.toString('latin1');
        let known = expected.get(name);
        if (known === undefined) expected.set(name, (known = { prefix, items: new Set() }));
        // In three chunks.
        const item = 1 + random(3 << CHUNK_BITS);
        const [old] = known.items;
        if (old !== undefined && random(3) === 0) {
          index.remove(tag, texts, old);
          known.items.delete(old);
        } else {
          index.add(tag, texts, item);
          if (random(5) === 0) index.add(tag, texts, item);
          known.items.add(item);
        }
      }
      index.flush();
    });
    for (const { prefix, items } of expected.values()) {
      const stored: number[] = [];
      for (const { key, value } of table.getRange({ start: prefix, end: prefixEnd(prefix) })) {
        // Others may begin alike: a text that is empty, or goes on.
        if (key.length === prefix.length + 4) chunkIds(value, key.readUInt32BE(prefix.length) << CHUNK_BITS, stored);
      }
      assert.deepEqual(
        stored,
        [...items].sort((a, b) => a - b),
      );
    }
  }
});
