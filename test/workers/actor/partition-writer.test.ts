// How a partition is made durable, and how its work is tried again while the store fails.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FromActor } from '../../../workers/actor/messages.ts';
import type { PartitionHost } from '../../../workers/actor/partition-host.ts';
import { PartitionWriter } from '../../../workers/actor/partition-writer.ts';
import { until } from '../../support/waiting.ts';

const times = { retryDelay: 1, flushDelay: 1, stallMin: 1, stallMax: 5 };

/** A writer whose store is at `host.position`. Each flush waits until it is told how it ends: null, or why it fails. */
function newWriter() {
  const told: string[] = [];
  const ends: ((error: Error | null) => void)[] = [];
  const host = {
    position: 1,
    writeHeld: () => {},
    flush: () =>
      new Promise<void>((resolve, reject) => {
        ends.push((error) => (error === null ? resolve() : reject(error)));
      }),
  };
  const post = (message: FromActor): void => {
    if (message.kind === 'flushed') told.push(`flushed ${message.position}`);
    if (message.kind === 'trouble') told.push(message.text ?? 'well');
  };
  const writer = new PartitionWriter({ slot: 0, host: host as unknown as PartitionHost, times, post });
  const flushing = (count: number): Promise<void> => until(`flush ${count}`, () => ends.length === count);
  return { writer, host, told, ends, flushing };
}

test('partition writer: a flush that fails is told once and tried again, until it succeeds', async () => {
  const { writer, told, ends, flushing } = newWriter();
  writer.flushSoon();
  for (let count = 1; count <= 3; count++) {
    await flushing(count);
    ends[count - 1]!(new Error('EIO'));
  }
  await flushing(4);
  assert.equal(writer.trouble, 'flush failed: EIO');
  ends[3]!(null);
  await until('it is well', () => writer.trouble === null);
  assert.deepEqual(told, ['flush failed: EIO', 'flushed 1', 'well']);
});

test('partition writer: a position that cannot be read is told as a flush that fails, and read again', async () => {
  const { writer, host, told, ends, flushing } = newWriter();
  Object.defineProperty(host, 'position', {
    get: () => {
      throw new Error('MDB_CORRUPTED');
    },
    configurable: true,
  });
  writer.flushSoon();
  await until('it is told', () => told.length > 0);
  Object.defineProperty(host, 'position', { value: 2 });
  await flushing(1);
  ends[0]!(null);
  await until('it is well', () => writer.trouble === null);
  assert.deepEqual(told, ['flush failed: MDB_CORRUPTED', 'flushed 2', 'well']);
});

test('partition writer: what is committed during a flush is none of it, and is flushed by the next one', async () => {
  const { writer, host, told, ends, flushing } = newWriter();
  writer.flushSoon(0);
  await flushing(1);
  host.position = 2;
  writer.flushSoon(0);
  // Its time comes while the first one is under way.
  await new Promise((resolve) => setTimeout(resolve, 20));
  ends[0]!(null);
  await flushing(2);
  assert.deepEqual(told, ['flushed 1']);
  // Maintenance, and what becomes of held commands, move no position.
  writer.flushSoon(0);
  await new Promise((resolve) => setTimeout(resolve, 20));
  ends[1]!(null);
  await flushing(3);
  ends[2]!(null);
  await until('all is flushed', () => told.length === 3);
  assert.deepEqual(told, ['flushed 1', 'flushed 2', 'flushed 2']);
});

test('partition writer: what a write throws is its own fault where an empty one succeeds, else it is tried again', async () => {
  const { writer, host, told } = newWriter();
  let failures = 3;
  const write = (): string => {
    if (failures-- > 0) throw new Error('odd');
    return 'written';
  };
  await assert.rejects(writer.whileWritable(write), /odd/);
  assert.deepEqual(told, []);
  host.writeHeld = () => {
    throw new Error('odd, too');
  };
  assert.equal(await writer.whileWritable(write), 'written');
  assert.deepEqual(told, ['odd', 'well']);
  // Less may fit, which the caller knows how to write.
  const full = (): never => {
    throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
  };
  await assert.rejects(writer.whileWritable(full, true), /no room/);
  assert.equal(writer.trouble, null);
  await writer.beginStop();
});

test('partition writer: a stop ends pauses, waits for the flush that is under way, and makes the rest durable', async () => {
  const { writer, host, told, ends, flushing } = newWriter();
  const failing = writer.whileWritable(() => {
    throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
  });
  writer.flushSoon(0);
  await flushing(1);
  const pause = writer.pause(1e6);
  await writer.beginStop();
  assert.equal(await failing, null);
  await pause;
  await writer.pause(1e6);
  host.position = 2;
  const stopped = writer.stop();
  await new Promise(setImmediate);
  assert.equal(ends.length, 1, 'one at a time');
  ends[0]!(null);
  await flushing(2);
  ends[1]!(null);
  await stopped;
  assert.deepEqual(told, ['no room', 'flushed 1', 'flushed 2']);
  // Nothing is begun any more.
  writer.flushSoon(0);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(ends.length, 2);
});
