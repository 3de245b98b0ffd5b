import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { javaPattern } from '../../engine/java-pattern.ts';
import { processorTime } from '../support/processor-time.ts';

// Rows are what Java 17 says of them.
const WHOLE: readonly (readonly [pattern: string, matched: readonly string[], others: readonly string[]])[] = [
  ['\\p{Alnum}+-secret', ['db1-secret'], ['-secret', 'db1-secre', 'p{Alnum}-secret', 'é-secret']],
  ['[\\p{Upper}_]+', ['A', '_', 'ABC'], ['a', 'É']],
  ['\\P{Alpha}+', ['9', '\n', 'é', '\u{1f600}'], ['a', '1a']],
  ['[^\\p{Digit}]+', ['a b'], ['a1']],
  ['[\\P{Alpha}x]+', ['x1', '\u3000'], ['a']],
  ['\\h+x', ['  x', '\u3000x'], ['x', '\nx']],
  ['[\\h,]+', [' ,\t'], ['a']],
  ['\\H+', ['ab'], ['a b']],
  ['\\v', ['\n', '\u2028', '\u000b'], ['v', '\t']],
  ['\\s', [' ', '\u000b'], ['\u00a0', '\u3000']],
  ['\\S+', ['a\u00a0'], ['a b']],
  ['\\pL+', ['é', 'ab'], ['1']],
  ['\\Qa.b\\E', ['a.b'], ['aXb']],
  ['x\\Q*', ['x*'], ['xx']],
  ['[a\\Q-\\Ez]', ['a', '-', 'z'], ['m']],
  ['[]a]+', [']a'], ['[']],
  ['[^]a]+', ['['], [']']],
  ['\\u0041\\x{42}\\0103', ['ABC'], ['abc', 'u0041']],
  ['(?i)\\p{Lower}+', ['AbC'], ['1']],
  ['\\e\\a', ['\u001b\u0007'], ['ea']],
  ['a\\-b\\_', ['a-b_'], ['a\\-b\\_']],
  ['(?!keep)secret\\-\\p{Digit}', ['secret-1'], ['secret-a']],
  ['(?!x)a|b', ['a', 'b'], ['ax', 'xb', 'ab']],
  ['(a|b)\\1', ['aa'], ['ab']],
  ['(?!b)\\x{3}\\x41', ['\u0003A'], ['xxxA']],
  ['[{,(?P]+', ['(?P{,'], ['a']],
  ['\\\\p', ['\\p'], ['p']],
  ['[a&b]', ['&'], ['&&']],
];

describe('patterns that are written for Java', () => {
  for (const [pattern, matched, others] of WHOLE) {
    test(pattern, () => {
      const { matches } = javaPattern(pattern);
      for (const text of matched) assert.equal(matches(text), true, JSON.stringify(text));
      for (const text of others) assert.equal(matches(text), false, JSON.stringify(text));
    });
  }

  test('a part of a text is found, too', () => {
    assert.equal(javaPattern('\\p{Digit}$').finds('web1'), true);
    assert.equal(javaPattern('^\\p{Digit}').finds('web1'), false);
    assert.equal(javaPattern('(?=w)\\p{Alpha}').finds('a web'), true);
  });

  test('what would mean something else here is refused, and named', () => {
    const refused: readonly (readonly [pattern: string, part: RegExp])[] = [
      ['[a-z&&[^q]]', /&& in a class/],
      ['[a-d[m-p]]', /a class of characters within another/],
      ['\\p{javaLowerCase}', /\\p is not understood/],
      ['(?=a)\\p{IsAlphabetic}', /\\p is not understood/],
      ['\\p{constructor}', /\\p is not understood/],
      ['a\\R', /\\R is not understood/],
      ['a\\Z', /\\Z is not understood/],
      ['(?U)\\w+', /\(\?U\) is not understood/],
      ['(?iu:a)', /\(\?iu: is not understood/],
      ['(?P<n>a)', /\(\?P is not understood/],
      ['a{,3}', /\{, is not understood/],
      ['\\-\\1', /\\1 is not understood/],
      ['\\-(?=a)\\k', /\\k is not understood/],
      ['a++', /a\+\+/],
      ['(', /\(/],
    ];
    for (const [pattern, part] of refused) assert.throws(() => javaPattern(pattern), part, pattern);
  });

  test('a long text does not take long', () => {
    const spent = processorTime();
    assert.equal(javaPattern('(a+)+b').matches('a'.repeat(5000)), false);
    assert.ok(spent() < 2000);
  });
});
