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

test('freed memory: returned after a burst that left gaps behind', { skip }, async (t) => {
  const stop = returnFreedMemory();
  assert.ok(stop !== null);
  t.after(stop);
  // Too small to be mapped one by one; those that stay keep the library from giving back the rest by itself.
  let blocks: (Buffer | null)[] = Array.from({ length: 3000 }, () => Buffer.allocUnsafeSlow(60_000).fill(1));
  const atMost = own();
  blocks = blocks.map((block, i) => (i % 10 === 0 ? block : null));
  collect();
  for (let tries = 1; own() > atMost - 100 * MiB && tries <= 80; tries++) {
    await sleep(100);
    // A single collection may keep what one that was on its way had marked.
    if (tries % 10 === 0) collect();
  }
  assert.ok(own() <= atMost - 100 * MiB, `${atMost} bytes before, ${own()} after`);
  assert.equal(blocks[10]![59_999], 1);
});
