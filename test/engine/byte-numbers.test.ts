// Numbers for texts in bytes: the same for equal texts, wherever they lie, and others for others; a Map says what is equal.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ByteNumbers } from '../../engine/byte-numbers.ts';
import { processorTime } from '../support/processor-time.ts';

it('texts in bytes: numbered as a map of strings numbers them', () => {
  const numbers = new ByteNumbers();
  const expected = new Map<string, number>();
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  for (let round = 0; round < 20_000; round++) {
    const text = `${'é'.repeat(random(3))}${random(4000).toString(36)}${'x'.repeat(random(4) * 20)}`;
    const before = ' '.repeat(random(5));
    const bytes = Buffer.from(`${before}${text}?`, 'utf8');
    // Whether a guess is right, wrong or missing changes nothing.
    const guess = [-1, random(numbers.size + 1) - 1, expected.get(text) ?? -1][random(3)]!;
    const number = numbers.of(bytes, before.length, bytes.length - 1, guess);
    if (!expected.has(text)) expected.set(text, expected.size);
    assert.equal(number, expected.get(text), text);
  }
  assert.equal(numbers.size, expected.size);
  assert.equal(numbers.of(Buffer.alloc(0), 0, 0), expected.get('') ?? expected.size);
});

it('texts in bytes: have their numbers and their bytes until they are forgotten', () => {
  const numbers = new ByteNumbers();
  for (const count of [3, 20_000, 2, 0, 5]) {
    const texts = Array.from({ length: count }, (_, number) => `text ${number} of ${count}`);
    for (const text of texts) numbers.of(Buffer.from(text), 0, text.length);
    for (const [number, text] of texts.entries()) assert.equal(numbers.of(Buffer.from(text), 0, text.length), number);
    assert.equal(numbers.size, count);
    assert.equal(numbers.byteCount, texts.join('').length);
    numbers.clear();
    assert.equal(numbers.size, 0);
    assert.equal(numbers.byteCount, 0);
  }
});

/** Of two words, the second of which takes back what the first does: they have one hash under a seed of 0. */
const textOfOneHash = (number: number): Buffer => {
  const text = Buffer.alloc(8);
  text.writeInt32LE(number, 0);
  const product = Math.imul(number ^ text.length, 0x1b873593);
  text.writeInt32LE(product ^ (product >>> 15), 4);
  return text;
};

it('texts in bytes: those that were chosen for their hash take no longer than others', () => {
  const chosen = Array.from({ length: 10_000 }, (_, number) => textOfOneHash(number));
  const others = chosen.map((text) => Buffer.from(text).reverse());
  const timeOf = (texts: readonly Buffer[]): number => {
    const numbers = new ByteNumbers();
    const spent = processorTime();
    for (const text of texts) numbers.of(text, 0, text.length);
    assert.equal(numbers.size, texts.length);
    return spent();
  };
  timeOf(others);
  const [ofChosen, ofOthers] = [timeOf(chosen), timeOf(others)];
  assert.ok(ofChosen < 5 * ofOthers + 50, `${ofChosen} ms, of others ${ofOthers} ms`);
});
