// Decompression into memory that is used again: the same bytes as the public way gives, and the same refusals.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { payloadBytes } from '../../../engine/ingest/body.ts';
import { CommandFailure } from '../../../engine/ingest/errors.ts';
import { Inflater } from '../../../engine/ingest/inflater.ts';

const SIZE_MAX = 50 << 20;
const inflater = new Inflater();

/** The payload, or the kind of its refusal. */
function outcome(body: Buffer, sizeMax: number, given: Inflater | null): Buffer | string {
  try {
    return Buffer.from(payloadBytes(body, true, sizeMax, given));
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    return `${error.kind}: ${error.message}`;
  }
}

const same = (body: Buffer, sizeMax = SIZE_MAX): Buffer | string => {
  const found = outcome(body, sizeMax, inflater);
  assert.deepEqual(found, outcome(body, sizeMax, null));
  return found;
};

test('inflater: bodies of any size, one after the other', () => {
  for (const size of [0, 1, 100, 70_000, 3, 131_072, 131_073, 900_000, 5, 1 << 20, (1 << 20) + 1, 3 << 20, 2]) {
    for (const payload of [Buffer.alloc(size, 'ab'), randomBytes(size)]) {
      for (const level of [0, 1, 9]) assert.deepEqual(same(gzipSync(payload, { level })), payload, `${size} bytes`);
    }
  }
});

test('inflater: the next body takes the memory of the one before', () => {
  const first = inflater.inflate(gzipSync('first'), 5);
  assert.equal(first?.toString(), 'first');
  assert.equal(inflater.inflate(gzipSync('other'), 5)?.toString(), 'other');
  assert.equal(first?.toString(), 'other');
});

test('inflater: what is not one whole member of the size it says is left to the public way', () => {
  const body = gzipSync('some text, some text');
  assert.ok(inflater.inflate(body, 20));
  assert.equal(inflater.inflate(body, 19), null);
  assert.equal(inflater.inflate(body, 21), null);
  assert.equal(inflater.inflate(body.subarray(0, -1), 20), null);
  assert.equal(inflater.inflate(Buffer.from('no gzip at all, however long'), 20), null);
  // After each failure the next body is as good as ever.
  assert.equal(inflater.inflate(body, 20)?.toString(), 'some text, some text');
});

test('inflater: damaged, cut off, joined and oversized bodies are told as without it', () => {
  const text = Buffer.from('{"certname":"a"}'.repeat(2000));
  const body = gzipSync(text);
  const damaged = (at: number): Buffer => {
    const copy = Buffer.from(body);
    copy[at]! ^= 0x5a;
    return copy;
  };
  for (let at = 0; at < body.length; at++) same(damaged(at));
  for (let size = 0; size < body.length; size++) same(body.subarray(0, size));
  for (const rest of [Buffer.from([0]), Buffer.alloc(9), Buffer.from('x'), body, gzipSync(''), gzipSync('b')]) {
    same(Buffer.concat([body, rest]));
    same(Buffer.concat([gzipSync(''), body, rest]));
  }
  assert.match(same(body, text.length - 1) as string, /^too-large/);
  assert.deepEqual(same(body, text.length), text);
  assert.deepEqual(same(body), gunzipSync(body));
});
