import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Float } from '../../../../engine/json/value.ts';
import { DecimalSum } from '../../../../engine/query/format/decimal.ts';
import { Decimal } from '../../../../engine/query/format/decimal-value.ts';
import { testSeed } from '../../../support/random.ts';

const seed = testSeed('decimal');

type Num = number | bigint | Float;
const sumOf = (...values: Num[]): DecimalSum => {
  const sum = new DecimalSum();
  for (const value of values) sum.add(value);
  return sum;
};

describe('decimals that texts spell', () => {
  it('have at most so many digits as numeric has', () => {
    for (const [text, isNumber] of [
      ['9'.repeat(131_072), true],
      ['9'.repeat(131_073), false],
      [`0.${'9'.repeat(16_383)}`, true],
      [`0.${'9'.repeat(16_384)}`, false],
      ['1e16383', true],
      ['1e16384', false],
    ] as const) {
      assert.equal(Decimal.parse(text) !== null, isNumber, text.slice(0, 10));
    }
  });
});

describe('decimal sums', () => {
  it('keep integers exact at any size', () => {
    assert.equal(sumOf().sum(), '0');
    assert.equal(sumOf(1, 2, -5).sum(), '-2');
    assert.equal(sumOf(9007199254740991, 9007199254740991).sum(), '18014398509481982');
    assert.equal(sumOf(12345678901234567890123n, 1).sum(), '12345678901234567890124');
  });

  it('keep the longest fraction that went in', () => {
    assert.equal(sumOf(new Float(1), 2).sum(), '3.0');
    assert.equal(sumOf(0.1, 0.2).sum(), '0.3');
    assert.equal(sumOf(1.25, 1.5).sum(), '2.75');
    assert.equal(sumOf(0.5, 0.25, 0.25).sum(), '1.00');
    assert.equal(sumOf(1e-7, new Float(1e20)).sum(), '100000000000000000000.00000010');
    assert.equal(sumOf(-0.5, 0.25).sum(), '-0.25');
  });

  it('count a value as often as its weight', () => {
    const sum = new DecimalSum();
    sum.add(2.5, 4);
    sum.add(9007199254740991, 3);
    assert.equal(sum.sum(), '27021597764222983.0');
  });

  it('are the same whatever the order', () => {
    const value = fc.oneof(
      fc.maxSafeInteger(),
      fc.bigInt(),
      fc.integer().map((n) => new Float(n)),
    );
    fc.assert(
      fc.property(fc.array(value), fc.array(value), (a, b) => {
        const whole = sumOf(...a, ...b);
        const turned = sumOf(...b, ...a);
        assert.equal(turned.sum(), whole.sum());
        const count = a.length + b.length;
        if (count > 0) assert.equal(turned.avg(count), whole.avg(count));
      }),
      { seed, numRuns: 300 },
    );
  });
});

describe('decimal averages', () => {
  const cases: [Num, number, string][] = [
    [23, 3, '7.6666666666666667'],
    [3000, 2, '1500.0000000000000000'],
    [2.5, 3, '0.83333333333333333333'],
    [1, 3, '0.33333333333333333333'],
    [2, 3, '0.66666666666666666667'],
    [-2, 3, '-0.66666666666666666667'],
    [10000, 3, '3333.3333333333333333'],
    [100000, 3, '33333.333333333333'],
    [0, 7, '0.00000000000000000000'],
    [5, 1, '5.0000000000000000'],
    [1, 1, '1.00000000000000000000'],
    [0.0005, 1, '0.00050000000000000000'],
    [12345678901234567890n, 1, '12345678901234567890'],
  ];
  for (const [value, count, text] of cases) {
    it(`of ${value instanceof Float ? value.value : value} over ${count} is ${text}`, () => {
      assert.equal(sumOf(value).avg(count), text);
    });
  }
});

it('a sum added to another one so many times is that of all its numbers', () => {
  const value = fc.oneof(
    fc.integer(),
    fc.bigInt(),
    fc.tuple(fc.integer(), fc.nat(999)).map(([whole, part]) => Decimal.parse(`${whole}.${part}`)!),
  );
  fc.assert(
    fc.property(fc.array(value), fc.array(value), fc.integer({ min: 1, max: 5 }), (first, second, times) => {
      const [sum, part, all] = [new DecimalSum(), new DecimalSum(), new DecimalSum()];
      for (const one of first) {
        sum.add(one);
        all.add(one);
      }
      for (const one of second) {
        part.add(one);
        all.add(one, times);
      }
      sum.addSum(part, times);
      assert.equal(sum.sum(), all.sum());
    }),
    { seed },
  );
});
