import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeHeld, encodeHeld, type HeldCommand } from '../../../workers/actor/held-command.ts';
import { collect } from '../../support/collect.ts';
import { until } from '../../support/waiting.ts';

const held = (body: Uint8Array): HeldCommand => ({
  envelope: {
    uuid: '00000000-0000-4000-8000-000000000000',
    command: 'replace facts',
    version: 5,
    certname: 'a',
    received: 1_700_000_000_000,
    producerTimestamp: null,
    gzip: true,
    size: 7,
  },
  body,
  attempts: [{ time: 1_700_000_000_001, text: 'why' }],
  state: 'waiting',
  certname: 'b',
});

test('held commands are read as they were written, with bodies of any size', () => {
  for (const size of [0, 1, 255, 256, 65_535, 65_536, 1 << 20]) {
    const command = held(new Uint8Array(size).map((_, i) => i % 251));
    assert.deepEqual(decodeHeld(encodeHeld(command)), command, `${size} bytes`);
  }
});

test('held commands: nothing is kept of the memory that a large one took', async () => {
  const taken = (): number => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const before = taken();
  encodeHeld(held(new Uint8Array(32 << 20)));
  const { buffer } = encodeHeld(held(new Uint8Array(10)));
  assert.ok(buffer.byteLength < 1 << 20, `${buffer.byteLength} bytes`);
  // V8 frees buffers beside the thread.
  await until('it has gone', () => taken() - before < 1 << 20);
});
