import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRing, type RingPlace, RingReader, RingWriter } from '../../workers/answer-ring.ts';
import { Random, testSeed } from '../support/random.ts';

const SIZE = 1 << 20;

const filled = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value & 0xff);

test('answer ring: what is put comes out as it was, over many rounds, and no room is told', () => {
  const random = new Random(testSeed('answer-ring'));
  const shared = newRing();
  const writer = new RingWriter(shared);
  const reader = new RingReader(shared);
  const waiting: { place: RingPlace; value: number }[] = [];
  let refused = 0;
  let taken = 0;
  const takeOne = (): void => {
    const { place, value } = waiting.shift()!;
    assert.deepEqual(Buffer.compare(reader.take(place), filled(place.length, value)), 0, `number ${value}`);
    taken += place.length;
  };
  for (let value = 1; value <= 2000; value++) {
    const length = random.below(10) === 0 ? random.below(SIZE + 2) : random.below(140_000);
    const held = waiting.reduce((sum, { place }) => sum + place.length, 0);
    const place = writer.put(filled(length, value));
    if (place === null) {
      refused++;
      // Bytes lie in one piece, so what is left before the end may be lost.
      assert.ok(held > SIZE / 2 || length > SIZE / 4, `${length} bytes refused beside ${held}`);
    } else waiting.push({ place, value });
    while (waiting.length > 0 && random.below(place === null ? 2 : 3) === 0) takeOne();
  }
  while (waiting.length > 0) takeOne();
  assert.ok(refused > 50, `${refused} refused`);
  assert.ok(taken > 20 * SIZE, `${taken} bytes taken`);
});

test('answer ring: what is taken does not change when its room is used again', () => {
  const shared = newRing();
  const writer = new RingWriter(shared);
  const reader = new RingReader(shared);
  const first = reader.take(writer.put(filled(SIZE, 1))!);
  const second = reader.take(writer.put(filled(SIZE, 2))!);
  assert.equal(Buffer.compare(first, filled(SIZE, 1)), 0);
  assert.equal(Buffer.compare(second, filled(SIZE, 2)), 0);
});

test('answer ring: the count of bytes may go beyond 32 bits', () => {
  const shared = newRing();
  const writer = new RingWriter(shared);
  const reader = new RingReader(shared);
  const bytes = filled(SIZE - 1, 7);
  for (let round = 0; round < 5000; round++) {
    const place = writer.put(bytes);
    assert.notEqual(place, null, `round ${round}`);
    if (round % 1000 === 999) assert.equal(Buffer.compare(reader.take(place!), bytes), 0);
    else new Int32Array(shared, 0, 1)[0] = (place!.at + place!.length) | 0; // as if it had been taken
  }
});
