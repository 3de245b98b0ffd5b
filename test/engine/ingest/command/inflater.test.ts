// Decompression into memory that is used again, by Node's zlib and by the system's libdeflate: the same bytes as the public way
// gives, and the same refusals.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { crc32 } from '../../../../engine/crc32.ts';
import { payloadBytes } from '../../../../engine/ingest/command/body.ts';
import { CommandFailure } from '../../../../engine/ingest/command/errors.ts';
import { type BodyInflater, Inflater, PayloadMemory } from '../../../../engine/ingest/command/inflater.ts';
import { libdeflate } from '../../../../workers/system/libdeflate.ts';

const SIZE_MAX = 50 << 20;
const inflaters: Readonly<Record<string, BodyInflater | null>> = { zlib: new Inflater(), libdeflate: libdeflate() };

/** The payload, or the kind of its refusal. */
function outcome(body: Buffer, sizeMax: number, given: BodyInflater | null): Buffer | string {
  try {
    return Buffer.from(payloadBytes(body, true, sizeMax, given));
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    return `${error.kind}: ${error.message}`;
  }
}

test('inflater: memory for large payloads is the same as long as they come, and not kept afterwards', async () => {
  const MB = 1 << 20;
  const memory = new PayloadMemory(200);
  const small = memory.room(1000) as Buffer;
  const large = memory.room(30 * MB) as Buffer;
  assert.ok(large.length > 30 * MB);
  assert.notEqual(large, small);
  assert.equal(memory.room(25 * MB), large);
  assert.equal(memory.room(2000), small);
  const larger = memory.room(60 * MB) as Buffer;
  assert.ok(larger.length > 60 * MB);
  assert.equal(memory.room(2 * MB), larger);
  assert.equal(memory.room(65 * MB), null);
  await sleep(400);
  assert.notEqual(memory.room(2 * MB), larger);
  assert.equal(memory.room(2000), small);
});

for (const [name, given] of Object.entries(inflaters)) {
  const skip = given === null && `${name} or koffi is not installed`;
  const inflater = given as BodyInflater;

  const same = (body: Buffer, sizeMax = SIZE_MAX): Buffer | string => {
    const found = outcome(body, sizeMax, given);
    assert.deepEqual(found, outcome(body, sizeMax, null));
    return found;
  };

  test(`inflater: ${name}: bodies of any size, one after the other`, { skip }, () => {
    for (const size of [0, 1, 100, 70_000, 3, 131_072, 131_073, 900_000, 5, 1 << 20, (1 << 20) + 1, 3 << 20, 2]) {
      for (const payload of [Buffer.alloc(size, 'ab'), randomBytes(size)]) {
        for (const level of [0, 1, 9]) assert.deepEqual(same(gzipSync(payload, { level })), payload, `${size} bytes`);
      }
    }
  });

  test(`inflater: ${name}: the next body takes the memory of the one before`, { skip }, () => {
    const first = inflater.inflate(gzipSync('first'), 5);
    assert.equal(first?.toString(), 'first');
    assert.equal(inflater.inflate(gzipSync('other'), 5)?.toString(), 'other');
    assert.equal(first?.toString(), 'other');
  });

  test(`inflater: ${name}: what is not one whole member of the size it says is left to the public way`, {
    skip,
  }, () => {
    const body = gzipSync('some text, some text');
    assert.ok(inflater.inflate(body, 20));
    assert.equal(inflater.inflate(body, 19), null);
    assert.equal(inflater.inflate(body, 21), null);
    assert.equal(inflater.inflate(body.subarray(0, -1), 20), null);
    assert.equal(inflater.inflate(Buffer.from('no gzip at all, however long'), 20), null);
    // After each failure the next body is as good as ever.
    assert.equal(inflater.inflate(body, 20)?.toString(), 'some text, some text');
  });

  test(`inflater: ${name}: the optional parts of a header, right and wrong`, { skip }, () => {
    const text = Buffer.from('facts, facts, facts');
    const plain = gzipSync(text);
    const [head, data] = [plain.subarray(0, 10), plain.subarray(10)];
    const withFlags = (flags: number, more: Buffer): Buffer => {
      const start = Buffer.concat([head, more]);
      start[3] = flags;
      return start;
    };
    const [TEXT, CHECKSUM, EXTRA, NAME, COMMENT, RESERVED] = [1, 2, 4, 8, 16, 32] as const;
    for (const start of [
      withFlags(TEXT, Buffer.alloc(0)),
      withFlags(NAME, Buffer.from('name\0')),
      withFlags(COMMENT, Buffer.from('comment\0')),
      withFlags(EXTRA | NAME | COMMENT, Buffer.from([3, 0, 1, 2, 3, 97, 0, 98, 0])),
    ]) {
      assert.deepEqual(same(Buffer.concat([start, data])), text);
      assert.deepEqual(inflater.inflate(Buffer.concat([start, data]), text.length), text);
      const checked = Buffer.concat([start, Buffer.alloc(2)]);
      checked[3]! |= CHECKSUM;
      checked.writeUInt16LE(crc32(checked.subarray(0, -2)) & 0xffff, checked.length - 2);
      assert.deepEqual(same(Buffer.concat([checked, data])), text);
      checked[checked.length - 1]! ^= 1;
      same(Buffer.concat([checked, data]));
      assert.equal(inflater.inflate(Buffer.concat([checked, data]), text.length), null);
    }
    for (let flag = RESERVED as number; flag < 256; flag *= 2) {
      const body = Buffer.concat([withFlags(flag, Buffer.alloc(0)), data]);
      same(body);
      assert.equal(inflater.inflate(body, text.length), null);
    }
  });

  test(`inflater: ${name}: damaged, cut off, joined and oversized bodies are told as without it`, { skip }, () => {
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
}
