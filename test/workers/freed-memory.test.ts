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
const burst = (count: number): (Buffer | null)[] =>
  Array.from({ length: count }, () => Buffer.allocUnsafeSlow(60_000).fill(1));
/** All but every tenth go. */
function thin(blocks: (Buffer | null)[]): void {
  for (let i = 0; i < blocks.length; i++) if (i % 10 !== 0) blocks[i] = null;
  collect();
}

/** Nothing is left of what the test before had: a burst that takes it again would be no growth. */
async function calm(): Promise<void> {
  const trim = nativeFunction('int malloc_trim(size_t pad)')!;
  for (let turns = 1; turns <= 3; turns++) {
    await sleep(50);
    collect();
  }
  trim(0);
}

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
  await calm();
  const stop = returnFreedMemory(() => false);
  assert.ok(stop !== null);
  t.after(stop);
  const blocks = burst(3000);
  const atMost = own();
  thin(blocks);
  assert.ok(await shrinksTo(atMost - 100 * MiB), `${atMost} bytes before, ${own()} after`);
  assert.equal(blocks[10]![59_999], 1);
});

test('freed memory: returned, too, when it is freed a while after the process has grown', { skip }, async (t) => {
  await calm();
  const stop = returnFreedMemory(() => false);
  assert.ok(stop !== null);
  t.after(stop);
  const blocks = burst(3000);
  // Some looks, while all is in use.
  await sleep(3500);
  const atMost = own();
  thin(blocks);
  assert.ok(await shrinksTo(atMost - 100 * MiB), `${atMost} bytes before, ${own()} after`);
  assert.equal(blocks[10]![59_999], 1);
});

test('freed memory: at work only when there is much of it', { skip }, async (t) => {
  await calm();
  let isBusy = true;
  const stop = returnFreedMemory(() => isBusy);
  assert.ok(stop !== null);
  t.after(stop);
  const few = burst(1500);
  const atMost = own();
  thin(few);
  await sleep(3500);
  assert.ok(own() > atMost - 20 * MiB, `${atMost} bytes before, ${own()} after`);
  isBusy = false;
  assert.ok(await shrinksTo(atMost - 50 * MiB), `${atMost} bytes before, ${own()} after`);
  isBusy = true;
  const many = burst(4000);
  const manyAtMost = own();
  thin(many);
  assert.ok(await shrinksTo(manyAtMost - 150 * MiB), `${manyAtMost} bytes before, ${own()} after`);
  for (const blocks of [few, many]) assert.equal(blocks[10]![59_999], 1);
});
