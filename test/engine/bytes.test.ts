// Memory that answers are put together in: who has it, and that nobody else does meanwhile.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ByteWriter, SpareMemory } from '../../engine/bytes.ts';

describe('spare memory', () => {
  it('is lent again once it has come back, the piece that came last first', () => {
    const spare = new SpareMemory(4, 1000);
    const [one, two] = [spare.take(100), spare.take(100)];
    assert.notEqual(one, two);
    spare.give(one);
    spare.give(two);
    assert.equal(spare.take(50), two);
    assert.equal(spare.take(50), one);
    assert.notEqual(spare.take(50), one);
  });

  it('is never smaller than asked for', () => {
    const spare = new SpareMemory(4, 1000);
    spare.give(Buffer.alloc(100));
    assert.ok(spare.take(101).length >= 101);
    assert.equal(spare.take(100).length, 100);
  });

  it('keeps so many pieces, the larger ones, and none that is too large', () => {
    const spare = new SpareMemory(2, 1000);
    const pieces = [100, 300, 200, 1001].map((size) => Buffer.alloc(size));
    for (const piece of pieces) spare.give(piece);
    assert.equal(spare.take(1), pieces[2]);
    assert.equal(spare.take(1), pieces[1]);
    const another: Buffer = spare.take(1);
    assert.ok(pieces.every((piece) => piece !== another));
  });
});

describe('a writer with spare memory', () => {
  it('gives back what it has grown out of, and at its end what it has', () => {
    const spare = new SpareMemory(4, 1 << 20);
    const writer = new ByteWriter(0, spare);
    const first = writer.bytes;
    writer.put(new Uint8Array(first.length));
    writer.byte(1);
    const second = writer.bytes;
    assert.notEqual(second, first);
    assert.equal(spare.take(1), first);
    writer.release();
    assert.equal(spare.take(1), second);
  });

  it('writes as before after its end, to memory of its own', () => {
    const spare = new SpareMemory(4, 1 << 20);
    const writer = new ByteWriter(0, spare);
    writer.release();
    const others = spare.take(1).fill(0);
    writer.text('abc');
    assert.equal(writer.toString(), 'abc');
    assert.ok(others.every((byte) => byte === 0));
  });

  it('keeps large memory that can be lent again, and drops larger', () => {
    for (const [sizeMax, isKept] of [
      [1 << 20, true],
      [1 << 16, false],
    ] as const) {
      const writer = new ByteWriter(1000, new SpareMemory(4, sizeMax));
      writer.put(new Uint8Array(100_000));
      const { bytes } = writer;
      assert.equal(writer.take().length, 100_000);
      assert.equal(writer.bytes === bytes, isKept);
    }
  });
});
