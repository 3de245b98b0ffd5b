// What the C library keeps of freed memory is given back once the process has grown.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { returnFreedMemory } from '../../workers/freed-memory.ts';
import { pageSize, residentMemory } from '../../workers/mapped-memory.ts';
import { nativeFunction } from '../../workers/native.ts';

const skip =
  pageSize() === null
    ? 'no /proc here'
    : nativeFunction('int malloc_trim(size_t pad)') === null
      ? 'no glibc, or koffi is not installed for this platform'
      : false;
const MiB = 1 << 20;

const own = (): number => residentMemory(pageSize()!).own;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** A burst, too small to be mapped one by one; those that stay keep the library from giving back the rest by itself. */
const burst = (): (Buffer | null)[] => Array.from({ length: 3000 }, () => Buffer.allocUnsafeSlow(60_000).fill(1));
const kept = (blocks: readonly (Buffer | null)[]): (Buffer | null)[] =>
  blocks.map((block, i) => (i % 10 === 0 ? block : null));

/** Waits until the process has less than that of its own. */
async function shrinksTo(size: number): Promise<boolean> {
  for (let tries = 1; own() > size && tries <= 150; tries++) {
    await sleep(100);
    // A single collection may keep what one that was on its way had marked.
    if (tries % 10 === 0) collect();
  }
  return own() <= size;
}

test('freed memory: returned after a burst that left gaps behind', { skip }, async (t) => {
  const stop = returnFreedMemory();
  assert.ok(stop !== null);
  t.after(stop);
  let blocks = burst();
  const atMost = own();
  blocks = kept(blocks);
  collect();
  assert.ok(await shrinksTo(atMost - 100 * MiB), `${atMost} bytes before, ${own()} after`);
  assert.equal(blocks[10]![59_999], 1);
});

test('freed memory: returned, too, when it is freed a while after the process has grown', { skip }, async (t) => {
  const stop = returnFreedMemory();
  assert.ok(stop !== null);
  t.after(stop);
  let blocks = burst();
  // Two looks, while all is in use.
  await sleep(2500);
  const atMost = own();
  blocks = kept(blocks);
  collect();
  assert.ok(await shrinksTo(atMost - 100 * MiB), `${atMost} bytes before, ${own()} after`);
  assert.equal(blocks[10]![59_999], 1);
});
