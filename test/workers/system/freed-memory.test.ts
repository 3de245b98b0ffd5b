// What the C library keeps of freed memory is given back once the process has grown.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { returnFreedMemory } from '../../../workers/system/freed-memory.ts';
import { nativeFunction } from '../../../workers/system/native.ts';
import { pageSize, residentMemory } from '../../../workers/system/process-memory.ts';
import { collect } from '../../support/collect.ts';

const trim = nativeFunction('int malloc_trim(size_t pad)');
const skip =
  pageSize() === null
    ? 'no /proc here'
    : trim === null
      ? 'no glibc, or koffi is not installed for this platform'
      : false;
const MiB = 1 << 20;

const own = (): number => residentMemory(pageSize()!).own;

/** A burst, too small to be mapped one by one; those that stay keep the library from giving back the rest by itself. */
const burst = (count: number): (Buffer | null)[] =>
  Array.from({ length: count }, () => Buffer.allocUnsafeSlow(60_000).fill(1));

/** All but every tenth go. */
function thin(blocks: (Buffer | null)[]): void {
  for (let i = 0; i < blocks.length; i++) if (i % 10 !== 0) blocks[i] = null;
  collect();
}

/** Nothing is left of what the test before had: a burst that takes it again would be no growth. */
async function calm(): Promise<void> {
  for (let turns = 1; turns <= 3; turns++) {
    await sleep(50);
    collect();
  }
  trim!(0);
}

/** Memory is returned from now on, until the test ends. */
async function returning(t: TestContext, isBusy: () => boolean): Promise<void> {
  await calm();
  const stop = returnFreedMemory(isBusy);
  assert.ok(stop !== null);
  t.after(stop);
}

/** Waits until the process has so much less of its own than it had at most. */
async function shrinks(atMost: number, by: number): Promise<void> {
  const size = atMost - by;
  for (let tries = 1; own() > size && tries <= 150; tries++) {
    await sleep(100);
    // A single collection may keep what one that was on its way had marked.
    if (tries % 10 === 0) collect();
  }
  assert.ok(own() <= size, `${atMost} bytes before, ${own()} after`);
}

// The second is freed after some looks, while all was in use.
for (const [name, heldMs] of [
  ['returned after a burst that left gaps behind', 0],
  ['returned, too, when it is freed a while after the process has grown', 3500],
] as const) {
  test(`freed memory: ${name}`, { skip }, async (t) => {
    await returning(t, () => false);
    const blocks = burst(3000);
    if (heldMs > 0) await sleep(heldMs);
    const atMost = own();
    thin(blocks);
    await shrinks(atMost, 100 * MiB);
    assert.equal(blocks[10]![59_999], 1);
  });
}

test('freed memory: at work only when there is much of it', { skip }, async (t) => {
  let isBusy = true;
  await returning(t, () => isBusy);
  const few = burst(1500);
  const atMost = own();
  thin(few);
  await sleep(3500);
  assert.ok(own() > atMost - 20 * MiB, `${atMost} bytes before, ${own()} after`);
  isBusy = false;
  await shrinks(atMost, 50 * MiB);
  isBusy = true;
  const many = burst(4000);
  const manyAtMost = own();
  thin(many);
  await shrinks(manyAtMost, 150 * MiB);
  for (const blocks of [few, many]) assert.equal(blocks[10]![59_999], 1);
});
