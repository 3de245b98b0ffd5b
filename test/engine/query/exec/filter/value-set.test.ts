// Membership in the tuples of a subquery, with SQL's rules for null.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Float } from '../../../../../engine/json/value.ts';
import { FALSE, TRUE, type Truth, UNKNOWN } from '../../../../../engine/query/exec/filter/truth.ts';
import { keyOf, ValueSet } from '../../../../../engine/query/exec/filter/value-set.ts';
import { processorTime } from '../../../../support/processor-time.ts';
import { Random, testSeed } from '../../../../support/random.ts';

type Tuple = readonly (string | null)[];

function setOf(tuples: readonly Tuple[]): ValueSet {
  const set = new ValueSet(() => {});
  for (const tuple of tuples) set.add(tuple);
  return set;
}

/** Row by row: a row that differs is not it, one that is equal is, and one that differs in nulls only may be. */
function plainly(tuples: readonly Tuple[], wanted: Tuple): Truth {
  let truth: Truth = FALSE;
  for (const tuple of tuples) {
    const pairs = tuple.map((text, i) => [text, wanted[i]!] as const);
    if (pairs.some(([a, b]) => a !== null && b !== null && a !== b)) continue;
    if (pairs.every(([a, b]) => a !== null && b !== null)) return TRUE;
    truth = UNKNOWN;
  }
  return truth;
}

it('fact values compared with a number are what they spell, and other spellings of other languages are none', () => {
  const keyOfLine = (line: number): string | null => keyOf(line, 'N', 'N');
  for (const value of [16, 16n, new Float(16), '16', ' 16.00 ', '+16', '1.6e1', '160E-1']) {
    assert.equal(keyOf(value, 'V', 'N'), keyOfLine(16), String(value));
  }
  for (const value of [
    '0x10',
    '0b10000',
    '0o20',
    '16.00000000000000000001',
    16.5,
    '',
    ' ',
    '16 17',
    true,
    null,
    [16],
  ]) {
    for (const line of [0, 1, 16]) assert.notEqual(keyOf(value, 'V', 'N'), keyOfLine(line), String(value));
  }
  assert.equal(keyOf('-0.0', 'V', 'N'), keyOfLine(0));
});

describe('tuples of a subquery', () => {
  it('have these texts in a column, as far as no column is null', () => {
    const set = setOf([
      ['a', '["x"]'],
      ['b', '["x"]'],
      ['c', null],
    ]);
    assert.deepEqual([...set.textsAt(0, 2)], ['a', 'b']);
    assert.deepEqual([...set.textsAt(1, 2)], ['["x"]']);
    assert.deepEqual([...setOf([['["x"]'], [null]]).textsAt(0, 1)], ['["x"]']);
  });
  it('answer as looking at each of them does', () => {
    const random = new Random(testSeed('value-set'));
    const texts = ['a', 'b', '', '["a"]', null];
    for (let round = 0; round < 300; round++) {
      const width = random.between(1, 3);
      const tuple = (): Tuple => Array.from({ length: width }, () => random.pick(texts));
      const tuples = Array.from({ length: random.below(6) }, tuple);
      const set = setOf(tuples);
      for (let i = 0; i < 10; i++) {
        const wanted = tuple();
        assert.equal(set.has(wanted), plainly(tuples, wanted), JSON.stringify({ tuples, wanted }));
      }
    }
  });

  it('with nulls are found as fast as the others', () => {
    const COUNT = 50_000;
    const titles = Array.from({ length: COUNT }, (_, i) => `t${i}`);
    const set = setOf(
      titles.flatMap((title): Tuple[] => [
        [title, '/site.pp'],
        [`other ${title}`, null],
      ]),
    );
    const spent = processorTime();
    for (const title of titles) {
      assert.equal(set.has([title, null]), UNKNOWN);
      assert.equal(set.has([`no ${title}`, null]), FALSE);
      assert.equal(set.has([`other ${title}`, '/site.pp']), UNKNOWN);
    }
    // A look at each tuple for each of them takes minutes.
    assert.ok(spent() < 20_000);
  });
});
