// Memory that answers are put together in: who has it, and that nobody else does meanwhile.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ByteWriter, pieceOf, SpareMemory } from '../../engine/bytes.ts';
import { Random, testSeed } from '../support/random.ts';

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

describe('what is written', () => {
  it('is what was given, of whatever size, from whatever place, in whatever order', () => {
    const random = new Random(testSeed('bytes'));
    const letters = (count: number): string =>
      Array.from({ length: count }, () => String.fromCharCode(33 + random.below(90))).join('');
    // Some are parts of larger memory, and what is read as a word must not be read beyond the end of any.
    const sources = [0, 1, 3, 4, 5, 95, 96, 97, 200, 4000].map((size) => {
      const whole = Buffer.from(letters(size + 10));
      return random.below(2) === 0 ? whole.subarray(3, 3 + size) : Buffer.from(whole.subarray(3, 3 + size));
    });
    const pieces = [0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 100].map((size) => letters(size));
    for (let round = 0; round < 300; round++) {
      const writer = new ByteWriter(0);
      let expected = '';
      for (let i = random.below(60); i >= 0; i--) {
        const source = random.pick(sources);
        const start = random.below(source.length + 1);
        const end = start + random.below(Math.min(random.pick([8, 100, 5000]), source.length - start) + 1);
        const text = random.pick(pieces);
        switch (random.below(5)) {
          case 0:
            writer.piece(pieceOf(text));
            expected += text;
            break;
          case 1:
            writer.put(source);
            expected += source.toString('latin1');
            break;
          case 2:
            writer.text(text);
            expected += text;
            break;
          default:
            writer.part(source, start, end);
            expected += source.toString('latin1', start, end);
        }
      }
      assert.equal(writer.toString(), expected);
      assert.equal(writer.take().toString(), expected);
      writer.piece(pieceOf('é'));
      assert.equal(writer.toString(), 'é');
    }
  });
});
