// The text of a double, as `decimalText` spells it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeDouble } from '../../../engine/json/double-text.ts';
import { decimalText } from '../../../engine/json/stored.ts';
import { Random, testSeed } from '../../support/random.ts';

const memory = Buffer.alloc(512, '#');
function textOf(value: number): string {
  const end = writeDouble(value, memory, 3);
  return memory.toString('latin1', 3, end);
}

function assertSame(value: number): void {
  assert.equal(textOf(value), decimalText(value));
}

test('double-text: what is well known', () => {
  const cases: readonly [number, string][] = [
    [0.1, '0.1'],
    [0.30000000000000004, '0.30000000000000004'],
    [22.742744088172913, '22.742744088172913'],
    [-0.018877983093261719, '-0.01887798309326172'],
    [0.001, '0.001'],
    [0.0009999999999999998, '0.0009999999999999998'],
    [9999999.999999998, '9999999.999999998'],
    [1.5, '1.5'],
    [0.5, '0.5'],
    [2, '2.0'],
    [0, '0.0'],
    [1e-7, '0.00000010'],
    [1e21, '1000000000000000000000'],
    [-123456.78, '-123456.78'],
    [Number.POSITIVE_INFINITY, '"Infinity"'],
  ];
  for (const [value, text] of cases) assert.equal(textOf(value), text);
});

test('double-text: as decimalText for doubles of all sizes', () => {
  const powers = Array.from({ length: 14 }, (_, i) => 10 ** (i - 5));
  const random = new Random(testSeed('doubles'));
  for (let round = 0; round < 20_000; round++) {
    const fraction = random.unit();
    for (const power of powers) assertSame(fraction * power);
    assertSame(-fraction);
  }
});

test('double-text: as decimalText for short decimals, and for their neighbours', () => {
  const double = new Float64Array(1);
  const bits = new BigInt64Array(double.buffer);
  const random = new Random(testSeed('doubles'));
  for (let round = 0; round < 40_000; round++) {
    double[0] = Number((random.unit() * 10 ** random.below(8)).toFixed(random.below(17)));
    for (const step of [0n, 1n, -2n, 3n]) {
      bits[0]! += step;
      assertSame(double[0]!);
    }
  }
});

test('double-text: as decimalText for powers of two and of ten, and for their neighbours', () => {
  const double = new Float64Array(1);
  const bits = new BigInt64Array(double.buffer);
  for (let power = -14; power < 26; power++) {
    for (const base of [2, 10]) {
      for (const times of [1, 3, 5, 7, 9, 999, 1 / 3]) {
        double[0] = times * base ** power;
        bits[0]! -= 20n;
        for (let i = 0; i < 40; i++) {
          assertSame(double[0]!);
          bits[0]! += 1n;
        }
      }
    }
  }
});
