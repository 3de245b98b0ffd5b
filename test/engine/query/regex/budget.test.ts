// The budget that the patterns of one query share.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { QueryError } from '../../../../engine/query/errors.ts';
import { budgetOf, StepBudget } from '../../../../engine/query/regex/budget.ts';
import { checkRegex, compileRegex, type MatcherKind } from '../../../../engine/query/regex/regex.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { Random, testSeed } from '../../../support/random.ts';
import { ask, type Fleet, facts, newFleet, settings } from '../request/fleet.ts';

const isUsedUp = (error: unknown): boolean =>
  error instanceof QueryError && error.status === 400 && /regex-budget/.test(error.message);

/** Tests the same text again and again; the number of tests that the budget was enough for. */
function testsWithin(pattern: string, text: string, ms: number, kind?: MatcherKind): number {
  const matcher = compileRegex(pattern, { budget: budgetOf(ms), ...(kind === undefined ? {} : { kind }) });
  for (let tests = 0; tests < 20_000; tests++) {
    try {
      matcher.test(text);
    } catch (error) {
      assert.ok(isUsedUp(error), String(error));
      return tests;
    }
  }
  return Number.POSITIVE_INFINITY;
}

describe('regex: budget', () => {
  const backReferences = '^(a*)(a*)\\1b$';
  it('back references cost their steps, text after text', () => {
    const few = testsWithin(backReferences, 'a'.repeat(12), 1);
    const more = testsWithin(backReferences, 'a'.repeat(12), 10);
    assert.ok(few > 0 && few < more && more < Number.POSITIVE_INFINITY, `${few}, ${more}`);
    assert.ok(Math.abs(more / few - 10) < 2, `ten times as much lasts ten times as long: ${few}, ${more}`);
  });
  it('a text is given up where they are used up', () => {
    const budget = budgetOf(1);
    const { left } = budget;
    const matcher = compileRegex('(\\w)\\1\\1q', { budget });
    assert.throws(() => matcher.test('ab'.repeat(100_000)), isUsedUp);
    assert.ok(budget.left > -left / 2, `${-budget.left} steps too many`);
  });
  it('so do word edges and look-around, where they are followed one by one', () => {
    for (const pattern of ['(\\y\\w+\\y ?)+x', '(?=.*a)(?=.*b)(.+)+x']) {
      const tests = testsWithin(pattern, 'ab '.repeat(200), 10, 'linear');
      assert.ok(tests > 0 && tests < 1000, `${pattern}: ${tests}`);
    }
  });
  it('an automaton costs what is built of it, not what is read with it', () => {
    assert.equal(testsWithin('(a|b)*c(a|b)', 'ab'.repeat(500), 1, 'linear'), Number.POSITIVE_INFINITY);
  });
  it('plain texts and plain patterns cost nothing', () => {
    for (const pattern of ['abc', '^ab.*c$', 'a[bc]+d']) {
      assert.equal(testsWithin(pattern, 'xabbbd', 0.001), Number.POSITIVE_INFINITY, pattern);
    }
  });
  it('patterns that share a budget use it up together', () => {
    const budget = budgetOf(1);
    const [one, other] = [compileRegex(backReferences, { budget }), compileRegex('^(a*)\\1(a*)c$', { budget })];
    const text = 'a'.repeat(12);
    const until = (limit: number): number => {
      for (let tests = 0; tests < limit; tests++) {
        try {
          one.test(text);
          other.test(text);
        } catch {
          return tests;
        }
      }
      return limit;
    };
    assert.ok(until(10_000) < testsWithin(backReferences, text, 1));
  });
});

describe('regex: budget of a query', () => {
  let fleet: Fleet;
  before(() => {
    fleet = newFleet();
    for (let i = 0; i < 20; i++) {
      const values = { [`${'a'.repeat(60)}${i}`]: `${'a'.repeat(60)}${i}`, os: { ['a'.repeat(50)]: 1 } };
      fleet.apply('replace facts', 5, facts(`n${i}`, values));
    }
  });
  after(() => fleet.close());

  const COSTLY = '(a*)(a*)(a*)\\\\1b';
  const QUERIES: readonly [string, string][] = [
    ['a value', `facts{ value ~ "${COSTLY}" }`],
    ['a name, to find the index entries', `facts{ name ~ "${COSTLY}" }`],
    ['a path', `fact_contents{ path ~> ["os", "${COSTLY}"] }`],
    ['a stored path', `fact_paths{ path ~> ["os", "${COSTLY}"] }`],
    ['a dotted fact', `inventory{ facts.os ~ "${COSTLY}" }`],
    ['a pattern among the keys', `["from","inventory",["=","facts.match(\\"${COSTLY}\\")",1]]`],
    ['a subquery', `nodes{ certname in facts[certname]{ value ~ "${COSTLY}" } }`],
  ];
  for (const [what, query] of QUERIES) {
    it(`bounds ${what}`, () => {
      const { head, text } = ask(fleet, { query: { query }, settings: { regexBudget: 1 } });
      assert.deepEqual([head.status, /regex-budget/.test(text)], [400, true], text);
      // With more to spend it is answered, or one text alone is too much.
      const generous = ask(fleet, { query: { query }, settings: { regexBudget: settings.regexBudget } });
      assert.doesNotMatch(generous.text, /regex-budget/);
    });
  }
  it('is used to read patterns, too, whatever they are matched with', () => {
    const asked = { query: { query: `nodes{ certname = "x" and certname ~ "${'x'.repeat(300)}" }` } };
    const { head, text } = ask(fleet, { ...asked, settings: { regexBudget: 1 } });
    assert.deepEqual([head.status, /regex-budget/.test(text)], [400, true], text);
    assert.equal(ask(fleet, { ...asked, settings: { regexBudget: 4 } }).head.status, 200);
  });
  it('is each query’s own', () => {
    const query = 'facts{ value ~ "^(a)\\\\1" }';
    for (let i = 0; i < 200; i++) {
      assert.equal(ask(fleet, { query: { query }, settings: { regexBudget: 1 } }).head.status, 200);
    }
  });
});

describe('regex: slices', () => {
  it('end behind no more rows where patterns look at the clock themselves', async () => {
    const fleet = newFleet(undefined, 1);
    for (let i = 0; i < 150; i++) fleet.apply('replace facts', 5, facts(`n${i}`, { a: i }));
    const stepsOf = (pattern: string): number => {
      let steps = 0;
      const query = JSON.stringify(['~', 'certname', pattern]);
      const after = () => void steps++;
      assert.equal(ask(fleet, { path: '/nodes', query: { query }, store: { slice: 0 }, after }).head.status, 200);
      return steps;
    };
    const [plain, costly] = [stepsOf('[mn]x'), stepsOf('(n|m).*(a|b).*(c|d)x')];
    await fleet.close();
    assert.ok(plain > 2 && costly >= plain, `${plain}, ${costly}`);
  });
});

describe('regex: texts that demand very many states', () => {
  // Which of the last characters were an `a` is a state of its own each time.
  const pattern = 'a(a|b){12}c';
  const random = new Random(testSeed('regex states'));
  const text = Array.from({ length: 30_000 }, () => random.pick(['a', 'b'])).join('');
  it('are decided by following the pattern, with the same answer', () => {
    const matcher = compileRegex(pattern, { kind: 'linear' });
    const native = new RegExp(pattern);
    for (const one of [text, `${text}a${'b'.repeat(12)}c`, `${text}a${'b'.repeat(11)}c`, 'a', `a${'a'.repeat(12)}c`]) {
      assert.equal(matcher.test(one), native.test(one));
    }
  });
  it('cost no more than they take', () => {
    // As many steps as in a fifth of a second, twenty times what is measured.
    assert.ok(testsWithin(pattern, text, 200, 'linear') > 1);
  });
  it('cost no more where each of them waits for very many instructions', () => {
    const words = Array.from({ length: 13_900 }, (_, i) => `qz${i.toString(36).padStart(3, '0')}`);
    const long = compileRegex(`${words.join('|')}|a[ab]{30}c`, { kind: 'linear', budget: new StepBudget(150_000_000) });
    assert.equal(long.test(`${text.slice(0, 1500)}a${'b'.repeat(30)}`), false);
    assert.equal(long.test(`${text.slice(0, 20)}a${'b'.repeat(30)}c`), true);
    assert.equal(long.test('xqz7ps'), true);
  });
  it('one text cannot keep a thread busy', () => {
    const matcher = compileRegex('((a|b)*a(a|b){250}){3}c', { kind: 'linear' });
    const spent = processorTime();
    assert.throws(() => matcher.test(text.repeat(10)), /too complex/);
    assert.ok(spent() < 20_000, `${spent()} ms`);
  });
  it('nor can a pattern that is too long', () => {
    assert.throws(() => compileRegex('x'.repeat(100_001)), /too complex/);
    assert.equal(compileRegex('x'.repeat(100_000)).test('y'), false);
  });
});

describe('regex: long patterns', () => {
  /** So many characters, each two beyond the one before: no two are neighbours. */
  const apart = (first: number, count: number): string =>
    Array.from({ length: count }, (_, i) => String.fromCodePoint(first + i * 2)).join('');
  const TEXT = '\u9fff';
  const cases: readonly (readonly [what: string, pattern: string, text: string])[] = [
    ['ranges of letters that overlap, in any case', `(?i)[${'\u0100-\uffff'.repeat(30_000)}]`, 'x'],
    ['a class that is named very often', `[${'[:alpha:]'.repeat(11_000)}]`, '-'],
    ['very many branches of a loop', `(${[...apart(0x4e00, 6000)].join('|')})*x`, TEXT],
    // Word edges keep texts with surrogate pairs from the JavaScript engine.
    ['very many ranges, for each character of a text', `[${apart(0x4e00, 10_000)}]x\\y`, `${TEXT.repeat(500_000)}🎉`],
  ];
  for (const [what, pattern, text] of cases) {
    it(`take no longer than their length says: ${what}`, () => {
      const spent = processorTime();
      assert.equal(compileRegex(pattern).test(text), false);
      assert.ok(spent() < 3000, `${spent()} ms`);
    });
  }
  it('are read in little time: many that repeat their characters', () => {
    const pattern = 'xyz'.repeat(33_000);
    const spent = processorTime();
    for (let i = 0; i < 10; i++) checkRegex(pattern);
    assert.ok(spent() < 6000, `${spent()} ms`);
  });
  it('cost what they take: groups that a loop forgets', () => {
    const groups = Array.from({ length: 2000 }, (_, i) => i + 1);
    const budget = new StepBudget(1e9);
    const matcher = compileRegex(`(?:x|z${groups.map((group) => `()\\${group}`).join('')})*y`, { budget });
    assert.equal(matcher.test('x'.repeat(40)), false);
    // From each of forty places on, a loop over what is behind it.
    assert.ok(1e9 - budget.left > groups.length * 40 * 20, `${1e9 - budget.left} steps`);
  });
});

describe('regex: what the JavaScript engine is asked', () => {
  it('is bounded by the characters that it looks at, not by the ways to match', () => {
    for (const [pattern, length] of [
      ['[^!]{0,63}([^!]{255}){100}!', 4000],
      ['[^!]{0,255}([^!]{255}){12}!', 4090],
      ['[^#]*[^#]{255}[^#]{255}#', 2000],
    ] as const) {
      const spent = processorTime();
      assert.equal(compileRegex(pattern).test('x'.repeat(length)), false, pattern);
      assert.ok(spent() < 2000, `${pattern}: ${spent()} ms`);
    }
  });
  it('is nothing that it takes long to compile', () => {
    for (const pattern of [`${'\\w'.repeat(6000)}x`, `${'[[:alpha:]]'.repeat(500)}x`, '\\w'.repeat(49_000)]) {
      assert.equal(compileRegex(pattern).kind, 'linear', pattern.slice(0, 20));
      assert.equal(compileRegex(pattern).test('x'), false);
    }
    assert.equal(compileRegex('^\\w+-[[:alpha:]]+[0-9]{2}').kind, 'native');
  });
  it('is looked after: a query that is not wanted any more ends in the middle of a text, or between two', () => {
    const over = new Error('over');
    const costly = (kind?: MatcherKind) => {
      let looks = 0;
      const budget = budgetOf(60_000, () => {
        if (++looks === 3) throw over;
      });
      return compileRegex('\\y(\\w+\\s?)*([^!]{255}){60}!', { budget, ...(kind === undefined ? {} : { kind }) });
    };
    assert.throws(() => costly('linear').test('x'.repeat(9000)), over);
    let texts = 0;
    const many = compileRegex('a[bc]+.*d[0-9]*x', {
      budget: budgetOf(60_000, () => {
        throw over;
      }),
    });
    assert.equal(many.kind, 'native');
    assert.throws(() => {
      for (; texts < 1000; texts++) many.test('abcab');
    }, over);
    assert.ok(texts < 20, `${texts}`);
  });
});

it('regex: what is checked is what is compiled', () => {
  for (const pattern of [
    '(',
    'a{2,1}',
    '[b',
    'x'.repeat(100_001),
    '(((a{250}){250}){250})',
    '(a)\\2',
    '\\w{100}{100}{100}',
  ]) {
    let told = '';
    try {
      compileRegex(pattern);
    } catch (error) {
      told = (error as Error).message;
    }
    assert.notEqual(told, '', pattern.slice(0, 30));
    assert.throws(() => checkRegex(pattern), { message: told }, pattern.slice(0, 30));
  }
  for (const pattern of ['abc', '^a.*$', '(a)\\1', 'x'.repeat(100_000), '\\mweb\\M']) checkRegex(pattern);
});
