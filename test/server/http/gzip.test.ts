// Compressed answers, whole and in parts, by Node's zlib and by the system's ISA-L: what comes out is what went in, parts are let go
// once each, and both sides push back.

import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { type Compressor, type GzipWriter, WAITING_MAX } from '../../../server/http/gzip/compressor.ts';
import { isal } from '../../../server/http/gzip/isal.ts';
import { zlib } from '../../../server/http/gzip/zlib.ts';
import { until } from '../../support/waiting.ts';

const compressors: Readonly<Record<string, Compressor | null>> = { zlib, 'ISA-L': isal() };

const ROW = '{"certname":"node-17.example.com","name":"kernel","value":"Linux","environment":"production"},\n';

/** Rows with something of their own each, or bytes that nothing compresses. */
const rows = (size: number): Buffer => {
  const text: string[] = [];
  for (let length = 0; length < size; length += ROW.length) text.push(ROW.replace('17', String(randomInt(10, 99))));
  return Buffer.from(text.join('')).subarray(0, size);
};
const KINDS = { rows, noise: (size: number): Buffer => randomBytes(size) };

interface Collected {
  readonly writer: GzipWriter;
  readonly chunks: Uint8Array[];
  /** What comes out, decompressed; rejects with what went wrong. */
  readonly whole: Promise<Buffer>;
  /** Resolves when there is room again. */
  room(): Promise<void>;
}

/** `takes`: whether the wire takes more after a chunk. */
function collect(compressor: Compressor, takes: () => boolean = () => true): Collected {
  const chunks: Uint8Array[] = [];
  let wake = (): void => {};
  let writer!: GzipWriter;
  const whole = new Promise<Buffer>((resolve, reject) => {
    writer = compressor.writer({
      chunk: (chunk) => {
        chunks.push(chunk);
        return takes();
      },
      room: () => wake(),
      end: () => resolve(gunzipSync(Buffer.concat(chunks))),
      failed: reject,
    });
  });
  const room = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  return { writer, chunks, whole, room };
}

/** Gives the body in parts of these sizes, in turn, as fast as the writer takes them; resolves with how often each part was let go. */
async function give({ writer, room }: Collected, body: Buffer, sizes: readonly number[]): Promise<number[]> {
  const freed: number[] = [];
  for (let at = 0, i = 0; at < body.length; i++) {
    const size = sizes[i % sizes.length]!;
    // The memory is used again at once, as slots of answers are.
    const part = Buffer.from(new SharedArrayBuffer(size + 8), 8).fill(0);
    const length = body.copy(part, 0, at, at + size);
    freed.push(0);
    const free = (): void => {
      freed[i]!++;
      part.fill(0xff);
    };
    at += length;
    if (!writer.write(part.subarray(0, length), free) && at < body.length) await room();
  }
  writer.end();
  return freed;
}

for (const [name, given] of Object.entries(compressors)) {
  const skip = given === null && `${name} or koffi is not installed`;
  const compressor = given as Compressor;

  test(`gzip: ${name}: whole bodies of any size, one after the other`, { skip }, () => {
    const { atOnceMax } = compressor;
    for (const size of [0, 1, 20, 1024, 5, 9999, 70_000, atOnceMax - 1, 3, atOnceMax]) {
      for (const [kind, make] of Object.entries(KINDS)) {
        const body = make(size);
        const compressed = compressor.atOnce(body);
        assert.deepEqual(gunzipSync(compressed), body, `${size} bytes of ${kind}`);
        if (kind === 'rows' && size > 1000) assert.ok(compressed.length < size / 4, `${compressed.length} of ${size}`);
      }
    }
    const text = '"größer"\u{1f642}'.repeat(1000);
    assert.equal(gunzipSync(compressor.atOnce(text)).toString(), text);
  });

  test(`gzip: ${name}: what it returns stays when the next one comes`, { skip }, () => {
    const bodies = Array.from({ length: 20 }, (_, i) => rows(500 * i));
    const compressed = bodies.map((body) => compressor.atOnce(body));
    for (const [i, body] of bodies.entries()) assert.deepEqual(gunzipSync(compressed[i]!), body);
  });

  test(`gzip: ${name}: parts of any size, each let go once`, { skip }, async () => {
    for (const [kind, make] of Object.entries(KINDS)) {
      for (const sizes of [[1], [131_072], [5, 70_000, 1, 300_000], [1_500_000]]) {
        const body = make(sizes[0] === 1 ? 3000 : 3_000_001);
        const collected = collect(compressor);
        const freed = await give(collected, body, sizes);
        assert.ok(body.equals(await collected.whole), `parts of ${sizes} bytes of ${kind}`);
        assert.ok(freed.every((times) => times === 1));
        collected.writer.destroy();
      }
    }
    const empty = collect(compressor);
    empty.writer.end();
    assert.equal((await empty.whole).length, 0);
  });

  test(`gzip: ${name}: the beginning comes out before there is more`, { skip }, async () => {
    const collected = collect(compressor);
    const [first, rest] = [rows(500), rows(5000)];
    collected.writer.write(first);
    await until('the beginning is out', () => collected.chunks.length > 0);
    collected.writer.write(rest);
    collected.writer.end();
    assert.deepEqual(await collected.whole, Buffer.concat([first, rest]));
  });

  test(`gzip: ${name}: a hundred at once`, { skip, timeout: 60_000 }, async () => {
    const bodies = Array.from({ length: 100 }, (_, i) => rows(400_000 + i));
    const all = bodies.map(async (body) => {
      const collected = collect(compressor);
      await give(collected, body, [randomInt(1000, 200_000)]);
      assert.ok(body.equals(await collected.whole));
    });
    await Promise.all(all);
  });

  test(`gzip: ${name}: while the wire is full little is compressed, and the producer waits`, { skip }, async () => {
    let isFull = true;
    const collected = collect(compressor, () => !isFull);
    const { writer, chunks } = collected;
    const part = randomBytes(100_000);
    await until('some is out', () => {
      writer.write(part);
      return chunks.length > 0;
    });
    const length = (): number => chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const before = length();
    assert.ok(before > 0);
    for (let more = 0; more < 30; more++) assert.equal(writer.write(part), false);
    await sleep(100);
    assert.ok(length() - before <= WAITING_MAX, `${length()} bytes, ${before} before`);
    isFull = false;
    writer.end();
    for (let turn = 0; turn < 3; turn++) {
      writer.resume();
      await nextTurn();
    }
    const whole = await collected.whole;
    assert.equal(whole.length % part.length, 0);
    for (let at = 0; at < whole.length; at += part.length) assert.ok(part.equals(whole.subarray(at, at + part.length)));
  });

  test(`gzip: ${name}: destroyed in the middle it lets go of all parts, and others go on`, { skip }, async () => {
    for (let round = 0; round < 30; round++) {
      const left = collect(compressor);
      const freed = [0, 0, 0, 0];
      for (const i of freed.keys()) {
        left.writer.write(rows(100_000), () => {
          freed[i]!++;
        });
      }
      if (round % 3 === 1) await nextTurn();
      if (round % 3 === 2) await sleep(1);
      left.writer.destroy();
      const chunks = left.chunks.length;
      const body = rows(200_000);
      const next = collect(compressor);
      await give(next, body, [50_000]);
      assert.ok(body.equals(await next.whole));
      await until('all parts are let go', () => !freed.includes(0));
      assert.deepEqual(freed, [1, 1, 1, 1], `round ${round}`);
      assert.equal(left.chunks.length, chunks);
    }
  });
}
