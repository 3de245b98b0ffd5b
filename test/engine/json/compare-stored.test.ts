// How stored texts compare with values: where they tell it is what the values themselves tell, and they tell it wherever kinds or plain texts
// decide.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { compareJson } from '../../../engine/json/compare.ts';
import { comparedWith, compareStoredValue } from '../../../engine/json/compare-stored.ts';
import { parseJson } from '../../../engine/json/parse.ts';
import { storedText } from '../../../engine/json/stored.ts';
import { type JsonValue, kindOf } from '../../../engine/json/value.ts';
import { testSeed } from '../../support/random.ts';

const seed = testSeed('compare-stored');

/** Also such as are written with escapes. */
const texts = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'ab',
    'a"',
    'a\\',
    'a\n',
    'é',
    '\u2028',
    '\ud83d\ude00',
    '\uffff',
    '\ud83d',
    '\u007f',
    'null',
  ),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const values: fc.Arbitrary<JsonValue> = fc.oneof(
  texts,
  fc.constantFrom<JsonValue>(null, true, false, [], {}, [null], ['a'], { a: [] }, 0, -1, 1.5, 10n ** 30n),
);

const told = (text: string, value: JsonValue, isNullLast = false): number => {
  const bytes = Buffer.from(`,${text},`);
  return compareStoredValue(bytes, 1, bytes.length - 1, comparedWith(value, isNullLast));
};

const isPlain = (value: JsonValue): boolean =>
  typeof value === 'string' && JSON.stringify(value).length === value.length + 2;

it('what they tell is the order of values', () => {
  fc.assert(
    fc.property(values, values, (sent, other) => {
      // What is stored of a text need not be what was sent.
      const [a, b] = [sent, other].map((value) => parseJson(storedText(value))) as [JsonValue, JsonValue];
      const sign = told(storedText(a), b);
      const expected = Math.sign(compareJson(a, b));
      if (!Number.isNaN(sign)) assert.equal(Math.sign(sign), expected);
      if (kindOf(a) !== kindOf(b) || (isPlain(a) && isPlain(b))) assert.equal(Math.sign(sign), expected);
    }),
    { seed, numRuns: 5000 },
  );
});

it('null comes behind all others where it is to', () => {
  for (const value of ['a', 1, true, [], {}]) {
    assert.ok(told('null', value, true) > 0);
    assert.ok(told(storedText(value), null, true) < 0);
  }
  assert.equal(told('null', null, true), 0);
});

it('an escape may stand for what is wanted there, and for what lies before it', () => {
  assert.ok(Number.isNaN(told('"a\\u0062"', 'ab')));
  assert.ok(told('"a\\u0062"', 'a') > 0);
  assert.ok(told('"a\\u0062"', 'b') < 0);
});
