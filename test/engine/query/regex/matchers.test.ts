import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { QueryError } from '../../../../engine/query/errors.ts';
import { compileRegex, type Matcher, type MatcherKind } from '../../../../engine/query/regex/regex.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { Random, testNumber, testSeed } from '../../../support/random.ts';

const seed = testSeed('matchers');

const ATOMS = ['a', 'b', 'ab', '.', '[ab]', '[^a]', '\\w', '\\W', '[^\\s-]', '-', '\\n', 'é', '🎉', '[[:alpha:]é]'];
const PLACES = ['^', '$', '\\A', '\\Z', '\\y', '\\Y', '\\m', '\\M'];
const QUANTIFIERS = ['*', '+', '?', '{2}', '{1,2}', '{0,3}', '{2,}', '*?', '+?'];

/** Patterns in which everything may follow everything. */
const { pattern } = fc.letrec<{ pattern: string; item: string }>((tie) => ({
  pattern: fc
    .array(fc.array(tie('item'), { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((branches) => branches.map((items) => items.join('')).join('|')),
  item: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...ATOMS),
    fc.constantFrom(...PLACES),
    fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom(...QUANTIFIERS)).map(([atom, q]) => `(?:${atom})${q}`),
    fc.tuple(tie('pattern'), fc.constantFrom('', ...QUANTIFIERS)).map(([inner, q]) => `(${inner})${q}`),
    fc.tuple(fc.constantFrom('?=', '?!', '?<=', '?<!'), tie('pattern')).map(([kind, inner]) => `(${kind}${inner})`),
  ),
}));
const option = fc.constantFrom('', '', '(?n)', '(?p)', '(?w)', '(?i)');
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'A', '-', ' ', '\n', 'é', '🎉'), maxLength: 12 });

/** null: not a regular expression. */
function matcherOf(source: string, kind: MatcherKind | undefined): Matcher | null {
  try {
    return compileRegex(source, kind === undefined ? {} : { kind });
  } catch (error) {
    assert.ok(error instanceof QueryError);
    return null;
  }
}

/** null: not a regular expression, or the text would cost too much. */
function answer(matcher: Matcher | null, subject: string): boolean | null {
  try {
    return matcher?.test(subject) ?? null;
  } catch (error) {
    assert.ok(error instanceof QueryError);
    return null;
  }
}

describe('the ways of matching', () => {
  it('agree with the JavaScript engine on every pattern', () => {
    fc.assert(
      fc.property(option, pattern, fc.array(text, { minLength: 1, maxLength: 4 }), (prefix, body, subjects) => {
        const source = prefix + body;
        // Halves of characters confuse the JavaScript engine where a pattern looks around: the linear one decides there.
        const usesHalves = /\(\?[=!<]|\\[yYmM]/.test(body);
        const [native, linear, chosen, backtrack] = [
          matcherOf(source, 'native'),
          matcherOf(source, 'linear'),
          matcherOf(source, undefined),
          matcherOf(source, 'backtrack'),
        ];
        for (const subject of subjects) {
          const reference = usesHalves && subject.includes('🎉') ? linear : native;
          const expected = answer(reference, subject);
          const message = `${source} ${JSON.stringify(subject)}`;
          assert.equal(answer(linear, subject), expected, `linear ${message}`);
          assert.equal(answer(chosen, subject), expected, `chosen ${message}`);
          if (expected === true) assert.ok(subject.startsWith(chosen!.prefix), `prefix of ${message}`);
          const backtracked = answer(backtrack, subject);
          if (backtracked !== null) assert.equal(backtracked, expected, `backtrack ${message}`);
        }
      }),
      { seed, numRuns: testNumber('MUSTER_RUNS', 600) },
    );
  });

  it('agree with the JavaScript engine on back references to groups that took part', () => {
    const body = fc.constantFrom('(a|b)', '(a*)', '(.)', '([ab]+)', '(a|ab)', '(.{2})');
    const middle = fc.constantFrom('', 'b', '.*', '-?', 'a{0,2}', '[^-]');
    fc.assert(
      fc.property(body, middle, fc.constantFrom('', '+', '{2}'), text, (group, between, quantifier, subject) => {
        const source = `${group}${between}\\1${quantifier}$`;
        assert.equal(compileRegex(source).kind, 'backtrack');
        assert.equal(compileRegex(source).test(subject), new RegExp(source, 'us').test(subject), source);
      }),
      { seed, numRuns: 2000 },
    );
  });

  it('never fail but with a query error, whatever the pattern', () => {
    const piece = fc.constantFrom(...'()[]{}|*+?.^$\\-:=!<>#,123abdwxyAZ'.split(''), '[:', ':]', '(?', '***', '{1,');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), text, (pieces, subject) => {
        answer(matcherOf(pieces.join(''), undefined), subject);
      }),
      { seed, numRuns: 5000 },
    );
  });
});

describe('the choice between them', () => {
  const kinds: [string, MatcherKind][] = [
    ['foo', 'literal'],
    ['^foo$', 'literal'],
    ['foo.*bar', 'literal'],
    ['^(.*)[.](.*)$', 'literal'],
    ['^node-000[0-4]', 'native'],
    ['\\.example\\.com$', 'literal'],
    ['web|db|app', 'native'],
    ['^[a-z]+[0-9]*$', 'native'],
    ['([0-9]+\\.){3}[0-9]+', 'native'],
    ['(ab|cd)+$', 'native'],
    ['(a+)+$', 'linear'],
    ['(a|a)*$', 'linear'],
    ['(a|b?)*c', 'linear'],
    ['(x?){40}x{40}', 'linear'],
    ['(.)\\1', 'backtrack'],
  ];
  for (const [source, kind] of kinds) {
    it(`takes ${source} for ${kind}`, () => {
      assert.equal(compileRegex(source).kind, kind);
    });
  }
});

describe('plain texts', () => {
  it('are found in time that grows with the text, however they repeat themselves', () => {
    const spent = processorTime();
    const half = 'a'.repeat(4000);
    const matcher = compileRegex(`${half}b${half}`);
    assert.equal(matcher.kind, 'literal');
    const text = 'a'.repeat(500_000);
    assert.equal(matcher.test(text), false);
    assert.equal(matcher.test(`${text}b${half}`), true);
    assert.equal(compileRegex(`${half}b.*${half}a$`).test(`${text}b${text}`), true);
    assert.ok(spent() < 1000, `${spent()} ms`);
  });
  it('are found where they are', () => {
    const random = new Random(seed);
    const letters = (length: number): string =>
      Array.from({ length }, () => (random.below(8) < 7 ? 'a' : 'b')).join('');
    for (let count = 0; count < 6; count++) {
      const text = letters(7 + count).repeat(500) + letters(300);
      const at = random.below(text.length - 600);
      const piece = text.slice(at, at + 300);
      const other = `${piece.slice(0, 280)}${piece[280] === 'a' ? 'b' : 'a'}`;
      for (const wanted of [piece, other]) {
        assert.equal(compileRegex(wanted).test(text), text.includes(wanted), `${wanted} ${text}`);
        const isBehind = text.indexOf(wanted, text.indexOf(piece) + 300) >= 0;
        assert.equal(compileRegex(`${piece}.*${wanted}`).test(text), isBehind, `${piece} ${wanted} ${text}`);
      }
    }
  });
});

describe('what all that matches begins with', () => {
  const prefixes: [string, string][] = [
    ['^node-000[0-4]', 'node-000'],
    ['^web$', 'web'],
    ['^web\\.db.*$', 'web.db'],
    ['^ab*', 'a'],
    ['^ab+c', 'ab'],
    ['^ab{2}c', 'ab'],
    ['^(?:ab)+c', ''],
    ['^é🎉[0-9](x)\\1', 'é🎉'],
    ['^ab|cd', ''],
    ['^(?:ab|cd)', ''],
    ['(?i)^ab1', ''],
    ['(?n)^ab', ''],
    ['^', ''],
    ['^.*ab', ''],
    ['ab', ''],
    ['^a(?=b)b', 'a'],
    ['^\\ud83dx', ''],
  ];
  for (const [source, prefix] of prefixes) {
    it(`of ${source} is '${prefix}'`, () => {
      assert.equal(compileRegex(source).prefix, prefix);
    });
  }
});

describe('patterns made to run away', () => {
  const long = 'a'.repeat(200_000);
  const cases: [string, string, boolean][] = [
    ['(a+)+$', `${long}b`, false],
    ['(a|a)*$', `${long}b`, true],
    ['^(a|a)*$', `${long}b`, false],
    ['(a*)*b', long, false],
    ['a.*a.*a.*b', long, false],
    ['[a-z]*[a-z]*[a-z]*[0-9]', long, false],
    ['a[^b]*b', long, false],
    ['(?=.*a.*b)c', long, false],
    ['(?<=a+)b', long, false],
    ['\\m\\w*-', long, false],
    ['(x?){60}x{60}$', 'x'.repeat(59), false],
  ];
  for (const [source, subject, expected] of cases) {
    it(`${source} is decided in time linear in the text`, { timeout: 10_000 }, () => {
      assert.equal(compileRegex(source).test(subject), expected);
    });
  }

  it('with back references end in an error', { timeout: 10_000 }, () => {
    const matcher = compileRegex('^(a*)*(a*)*\\1\\2b$');
    assert.throws(() => matcher.test('a'.repeat(60)), /regular expression is too complex/);
    assert.equal(compileRegex('(.)\\1$').test(`${'ab'.repeat(200_000)}b`), true);
  });

  it('that are huge and meet a huge text end in an error, or in an answer', { timeout: 20_000 }, () => {
    const source = '((a?){100}){100}b\\y';
    assert.equal(compileRegex(source).kind, 'linear');
    assert.ok([null, false].includes(answer(matcherOf(source, undefined), 'a'.repeat(100_000))));
  });
});
