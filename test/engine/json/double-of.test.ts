// The nearest double of a decimal text, as `Number` finds it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doubleOf } from '../../../engine/json/double-of.ts';
import { Random, testSeed } from '../../support/random.ts';

function check(text: string): void {
  const bytes = Buffer.from(`[${text}]`);
  const value = doubleOf(bytes, 1, bytes.length - 1);
  assert.ok(Object.is(value, Number(text)), `${text}: ${value}, not ${Number(text)}`);
}

test('doubles: of texts of every length, and of the texts of doubles', () => {
  const random = new Random(testSeed('doubles'));
  const digits = (count: number): string => Array.from({ length: count }, () => random.below(10)).join('');
  for (let round = 0; round < 50_000; round++) {
    const text = digits(random.between(1, 20));
    const point = random.below(text.length + 1);
    check(`${text.slice(0, point) || '0'}.${text.slice(point) || '0'}`);
    check(`-0.${'0'.repeat(random.below(26))}${text}`);
    const value = random.unit() * 10 ** random.between(-5, 15);
    if (!String(value).includes('e')) check(String(value));
  }
});

test('doubles: in the middle between two, and next to it', () => {
  const random = new Random(testSeed('doubles'));
  for (let round = 0; round < 20_000; round++) {
    // An odd number of 54 bits over a power of two lies in the middle, and has as many decimals as that power.
    const decimals = random.between(1, 4);
    const middle = 2n ** 53n + 2n * BigInt(random.below(2 ** 32)) + 1n;
    const text = String(middle * 5n ** BigInt(decimals));
    const at = text.length - decimals;
    check(`${text.slice(0, at)}.${text.slice(at)}`);
    // Of numbers below, seventeen digits come as near to it as they can.
    const part =
      (Number(middle >> 1n) / 2 ** 53 + Number((middle >> 1n) + 1n) / 2 ** 53) / 2 + 2 ** -random.between(3, 9);
    check(part.toFixed(17));
    check(part.toFixed(16));
  }
  for (const text of ['0.0', '-0.0', '0.1', '9007199254740993.0', '0.30000000000000004', '99999999999999999.9'])
    check(text);
});
