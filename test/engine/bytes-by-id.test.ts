// What is kept by small numbers comes out as it went in, whatever comes meanwhile.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteWriter } from '../../engine/bytes.ts';
import { BytesById } from '../../engine/bytes-by-id.ts';
import { NumbersById } from '../../engine/store/items/numbers-by-id.ts';
import { Random, testSeed } from '../support/random.ts';

const written = (kept: BytesById, id: number): string => {
  const answer = new ByteWriter(0);
  answer.text('>');
  kept.write(id, answer);
  answer.text('<');
  return answer.toString();
};

test('bytes are kept by their ids, those of arrays and those of answers, until others take their place', () => {
  const seed = testSeed('bytes by id');
  const random = new Random(seed);
  const kept = new BytesById();
  const model = new Map<number, string>();
  const answer = new ByteWriter(0);
  for (let step = 0; step < 5000; step++) {
    const id = random.below(random.below(2) === 0 ? 40 : 5000);
    const text = 'abcdefgh'[step % 8]!.repeat(random.below(8) === 0 ? random.below(3000) : random.below(130));
    const [before, behind] = ['x'.repeat(random.below(9)), 'y'.repeat(random.below(9))];
    const bytes = Buffer.from(before + text + behind);
    const [start, end] = [before.length, before.length + text.length];
    if (random.below(10) === 0) {
      kept.delete(id);
      model.delete(id);
    } else if (random.below(2) === 0) {
      kept.keep(id, bytes, start, end);
      model.set(id, text);
    } else {
      const from = answer.length;
      answer.put(bytes);
      kept.keepWritten(id, answer, from + start, from + end);
      if (answer.length > 50_000) answer.length = 0;
      model.set(id, text);
    }
  }
  for (let id = 0; id < 5000; id++) {
    const text = model.get(id);
    assert.equal(kept.startOf(id) > 0, text !== undefined, `seed ${seed}, id ${id}`);
    if (text !== undefined) assert.equal(written(kept, id), `>${text}<`, `seed ${seed}, id ${id}`);
  }
});

test('nothing at all can be kept, which is not the same as not to be kept', () => {
  const kept = new BytesById();
  assert.equal(kept.startOf(7), 0);
  kept.keep(7, new Uint8Array(0), 0, 0);
  assert.ok(kept.startOf(7) > 0);
  assert.equal(kept.endOf(7), kept.startOf(7));
  assert.equal(written(kept, 7), '><');
  assert.equal(kept.startOf(8), 0);
});

test('one takes over what another keeps', () => {
  const [one, other] = [new BytesById(), new BytesById()];
  const texts = ['', 'short', 'long '.repeat(100)];
  for (const [id, text] of texts.entries()) one.keep(id, Buffer.from(text), 0, text.length);
  for (const id of [2, 0, 1]) other.keepOf(id, one);
  one.keep(1, Buffer.from('changed'), 0, 7);
  for (const [id, text] of texts.entries()) assert.equal(written(other, id), `>${text}<`);
  assert.equal(other.startOf(3), 0);
});

test('numbers are kept by the ids of nodes, 0 among them', () => {
  const numbers = new NumbersById();
  for (const id of [0, 1, 255, 256, 100_000]) assert.equal(numbers.get(id), undefined);
  numbers.set(1, 0);
  numbers.set(255, -1.5);
  numbers.set(256, 2 ** 35);
  assert.deepEqual(
    [0, 1, 2, 255, 256, 257].map((id) => numbers.get(id)),
    [undefined, 0, undefined, -1.5, 2 ** 35, undefined],
  );
});
