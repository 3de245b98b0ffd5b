import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueryError } from '../../../../engine/query/errors.ts';
import { compileRegex, type MatcherKind } from '../../../../engine/query/regex/regex.ts';

/** Every way of matching that can do the pattern. */
function kindsFor(pattern: string): (MatcherKind | undefined)[] {
  const chosen = compileRegex(pattern).kind;
  return chosen === 'backtrack' ? [undefined] : [undefined, 'native', 'linear', 'backtrack'];
}

// pattern, texts that match, texts that do not
const VECTORS: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['', ['', 'a'], []],
  ['^', ['', 'a'], []],
  ['^$', [''], ['a', '\n']],
  ['web', ['web', 'a web b'], ['WEB', 'we b']],
  ['^web', ['web1'], [' web', '\nweb']],
  ['com$', ['x.com'], ['com\n', 'com ']],
  ['foo.*bar', ['foobar', 'foo\nbar'], ['barfoo']],
  ['c.d', ['c\nd', 'c🎉d'], ['cd', 'c12d']],
  ['^.{2}$', ['ab', '🎉é'], ['🎉', 'abc']],
  ['^.{2,}x', ['abx', '🎉🎉🎉xy'], ['x', 'ax', '🎉x']],
  ['x.{2,}$', ['xab', 'axabc'], ['x', 'xa']],
  ['UPPER|MiXed', ['UPPER', 'a MiXed'], ['upper']],
  ['a|', ['', 'b'], []],
  ['()', [''], []],
  ['(|a)b', ['b', 'ab'], ['a']],
  // options and prefixes
  ['(?i)^upper|^mixed', ['UPPER', 'MiXed'], ['x']],
  ['(?i)ä[β-δ]', ['ÄΓ', 'äγ'], ['äa']],
  ['(?i)[^a]', ['b'], ['A', 'a']],
  // Other cases of one character, also where Unicode has several for them.
  ['(?i)^ᾀ$', ['ᾀ', 'ᾈ'], ['α']],
  ['(?i)^[ᾳ]$', ['ᾳ', 'ᾼ'], ['Α']],
  ['(?i)^İ$', ['İ', 'i'], ['I', 'ı']],
  ['(?i)^(ῳ)\\1$', ['ῳῼ', 'ῼῳ'], ['ῳω']],
  ['(?i)[[:lower:]]', ['A', 'é'], ['1']],
  ['(?c)a', ['a'], ['A']],
  ['(?ic)a', ['a'], ['A']],
  ['(?n)c$', ['abc\nd'], ['c d']],
  ['(?n)^w', ['a\nw'], ['aw']],
  ['(?n)c.d', ['cxd'], ['c\nd']],
  ['(?n)[^x]', ['a'], ['\n', 'x']],
  ['(?n)\\D', ['\n'], ['1']],
  ['(?m)^d', ['c\nd'], ['cd']],
  ['(?w)^d', ['c\nd'], []],
  ['(?w)c.d', ['c\nd'], []],
  ['(?p)c.d', ['cxd'], ['c\nd']],
  ['(?p)^d', ['d'], ['c\nd']],
  ['(?s)c.d', ['c\nd'], []],
  ['(?q).e', ['x.e'], ['ae']],
  ['(?q)(', ['('], ['x']],
  ['(?qx)a b#', ['a b#'], ['ab', 'a b']],
  ['(?x) e x # end', ['ex'], ['e x']],
  ['(?x)a\\ b[ ]c', ['a b c'], ['abc']],
  ['(?x)a # comment\n b', ['ab'], ['a']],
  ['(?x)a {2}', ['aa'], ['a']],
  ['(?x)a{ 2 }', ['aa'], ['a']],
  ['(?x)a\u00a0b\u2003c', ['a\u00a0bc'], ['abc']],
  ['(?xt) a', [' a'], ['a']],
  ['***=a.b', ['a.b'], ['axb']],
  ['***:[we]', ['w'], ['x']],
  ['***:(?i)w', ['W'], ['x']],
  ['(?e)a)', ['a)'], ['a']],
  ['(?e)^(a|b)c$', ['ac', 'bc'], ['a', 'c']],
  ['(?e)\\d', ['d'], ['1']],
  ['(?e)^[\\d]$', ['d', '\\'], ['1']],
  ['(?b)a\\{2\\}(b|c)*d$', ['aa(b|c)d', 'aa(b|cd'], ['aad']],
  ['(?b)\\(a\\)\\1', ['aa'], ['a']],
  ['(?b)a\\0', ['a0'], ['aa']],
  ['(?bx)^a $ ', ['a'], ['a$', 'ab']],
  ['(?b)*a^b$c', ['*a^b$c'], ['ab']],
  ['(?b)^*a', ['*a'], ['a', '^*a', 'b*a']],
  ['(?bn)^*a', ['*a', 'b\n*a'], ['b\na']],
  ['(?bx)^ *a', ['*a'], ['a', 'b*a']],
  ['(?b)^**a', ['a', '**a'], ['ba']],
  ['(?b)\\(^*a\\)', ['*a'], ['a', 'b*a']],
  ['(?b)\\(^a$\\)', ['a'], ['ab']],
  ['(?b)a+?', ['a+?'], ['a']],
  ['(?b)\\<a\\>', ['b a c'], ['ba']],
  // escapes
  ['\\.', ['a.b'], ['ab']],
  ['\\\\', ['a\\b'], ['ab']],
  ['\\B', ['a\\b'], ['ab']],
  ['\\b', ['a\bb'], ['a b']],
  ['\\a\\e\\f\\n\\r\\t\\v', ['\x07\x1b\f\n\r\t\v'], ['aefnrtv']],
  ['\\cA\\cz', ['\x01\x1a'], ['Az']],
  ['\\055', ['a-b'], ['ab']],
  ['\\0551', ['-1'], ['1']],
  ['\\477', ["'7"], ['7', "'"]],
  ['\\0011', ['\x011'], ['\t']],
  ['\\x41\\u00e9\\U0001f389', ['Aé🎉'], ['A']],
  ['\\x0000041', ['A'], ['4']],
  // Characters beyond Unicode's last are in no text.
  ['a|\\x110000', ['a'], ['b', '\u{10ffff}']],
  ['a|[\\x1F600A\\U7ffffffe]', ['a'], ['b', '\u{10ffff}']],
  ['^[^\\x110000]$', ['a', '\u{10ffff}'], ['']],
  ['^[\\U0001f600-\\x1F600A]$', ['😀', '\u{10ffff}'], ['a']],
  ['\\d\\D', ['1a'], ['11', '१a']],
  ['\\w', ['é', '東', '_', '9', '१'], ['-', ' ', '½', '\u0301']],
  ['\\W', ['-', '½'], ['é', '_']],
  ['\\s', [' ', '\t', '\n', '\u3000', '\u2028'], ['a', '\u00a0', '\u202f', '\u0085']],
  ['\\S', ['\u00a0'], [' ']],
  ['\\-\\é\\ ', ['-é '], ['é']],
  ['\\A[wec]', ['web'], ['xw']],
  ['e\\Z', ['ae'], ['ea', 'e\n']],
  ['(?n)a\\Z', ['a'], ['a\nb']],
  // word edges
  ['\\yexample\\y', ['an example.', 'example'], ['examples', 'éexample']],
  ['\\Yb', ['ab'], ['b']],
  ['\\mex', ['an ex'], ['hex', '_ex']],
  ['le\\M', ['le.'], ['let', 'leé']],
  ['[[:<:]]com[[:>:]]', ['x com.'], ['com1', 'xcom']],
  // brackets
  ['[.]', ['.'], ['a']],
  ['[]]', [']'], ['[']],
  ['[^]]', ['a'], [']']],
  ['[]-a]', ['`', ']'], ['b']],
  ['[a-]', ['a', '-'], ['b']],
  ['[-a]', ['-', 'a'], ['b']],
  ['[a\\]b]', [']', 'b'], ['\\']],
  ['[a\\-z]', ['-', 'z'], ['b']],
  ['[\\d]0', ['10'], ['a0']],
  ['[\\w.]', ['é', '.'], ['-']],
  ['[^\\W_]', ['a'], ['_', '-']],
  ['[\\x00-\\x7f]', ['a'], ['é']],
  ['[^\\x00-\\x7f]', ['é'], ['a']],
  ['[ü東]', ['東'], ['u']],
  ['[[:alpha:]]+ý$', ['žlutý'], ['1ý']],
  ['^[[:alnum:][:space:]]+$', ['a 1'], ['a-1']],
  ['[[:upper:]]', ['É', 'ǅ'], ['é', '1']],
  ['[[:lower:]]', ['é', 'ß', 'ǅ'], ['É', 'ᾈ', 'ῼ']],
  ['[[:punct:]]', ['!', '_', '…', '\u00a0'], ['a', ' ', '\t']],
  // PostgreSQL lists these two itself, whatever the C library says.
  ['[[:cntrl:]]', ['\t', '\x7f', '\x9f'], ['a', ' ', '\u2028', '\u2029']],
  ['[[:blank:]]', [' ', '\t'], ['\n', '\u00a0', '\u1680', '\u2003', '\u3000']],
  ['[[:digit:]]', ['1'], ['१', 'a']],
  ['[[:xdigit:]]', ['F'], ['g']],
  ['[[:graph:]]', ['a', '!'], [' ', '\n']],
  ['[[:print:]]', ['a', ' '], ['\n', '\u2029']],
  ['[[:ascii:]]', ['a'], ['é']],
  ['[[:word:]]', ['_', 'é'], ['-']],
  ['[[.a.]]0', ['a0'], ['b0']],
  ['[[.hyphen.][.space.]]', ['-', ' '], ['h']],
  ['[[.a.]-[.c.]]', ['b'], ['d', '-']],
  ['[[=e=]]', ['e'], ['é', '=']],
  ['[+--]', [','], ['.']],
  ['[a[b]', ['[', 'b'], ['c']],
  // quantifiers
  ['a{2}', ['aa'], ['a', 'aba']],
  ['^a{2,}$', ['aa', 'aaaa'], ['a']],
  ['^a{1,2}$', ['a', 'aa'], ['', 'aaa']],
  ['^a{0}b$', ['b'], ['ab']],
  ['a{,2}', ['a{,2}'], ['aa']],
  ['{', ['{'], ['a']],
  ['a{x', ['a{x'], ['a']],
  ['^a*?$', ['', 'aa'], ['b']],
  ['^a+?a??a{1,2}?$', ['aa', 'aaaa'], ['a']],
  ['^(ab|a)(bc|c)*$', ['abbc', 'abc', 'a'], ['abb']],
  ['^(a?){3}b$', ['aab', 'b'], ['aaaab']],
  ['^(a*)*b$', ['aaab', 'b'], ['ac']],
  ['^(a|ab)(c|bcd)(d*)$', ['abcd'], ['abd']],
  // look-around
  ['(?=w)web|(?=e)edge', ['web', 'edge'], ['w']],
  ['(?!w)^.', ['a'], ['w']],
  ['(?<=b)0', ['b0'], ['0', 'a0']],
  ['(?<!b)0', ['0', 'a0'], ['b0']],
  ['(?=.*\\d)(?=.*[ae])', ['a1', '1a'], ['a', '1']],
  ['^(?!.*\\d)', ['abc'], ['a1']],
  ['(?<=a.*b)c', ['axxbc', 'abxbc'], ['bc']],
  ['(?<=(?<!x)a)b', ['ab'], ['xab']],
  ['(?=a(?!b))', ['ac'], ['ab']],
  ['(?<=^🎉)a', ['🎉a'], ['a']],
  // comments
  ['(?#comment)web|(?#x)edge', ['web', 'edge'], ['comment']],
  ['a(?#', ['a'], ['b']],
  // back references
  ['(.)\\1', ['abba'], ['abc']],
  ['^(a+)b\\1$', ['aabaa'], ['aaba']],
  ['(?i)(a)\\1', ['aA'], ['ab']],
  ['^(?:(a)|b)\\1$', ['aa'], ['b', 'bb']],
  ['^(?:(a)|b)*\\1$', ['baa'], ['ab', 'aba']],
  ['(a){0}b|c\\1', ['b'], ['c']],
  ['^(?:(a)|b)\\1*$', ['a', 'aaa'], ['b']],
  ['^(?:(a)|b)\\1?$', ['a', 'aa'], ['b']],
  ['^(?:(a)|b)\\1{0,2}$', ['a', 'aaa'], ['b', 'aaaa']],
  ['^(?:(a)|b)\\1{0}$', ['a', 'b'], ['aa']],
  ['^(?:(a)|b)(?:\\1)*$', ['a', 'aaa', 'b'], ['ba']],
  ['^(?:(a)|b)(?:\\1c)*$', ['a', 'aac', 'b'], ['bac']],
  ['(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\\10', ['abcdefghijj'], ['abcdefghija']],
  ['(a)\\12', ['a\n'], ['aa2']],
  ['(a(b))\\2\\1', ['abbab'], ['abab']],
  ['^(.*)(?=x)\\1x', ['x', 'xa'], ['aax']],
];

describe('regular expressions', () => {
  for (const [pattern, matching, others] of VECTORS) {
    it(`${JSON.stringify(pattern)} means what it means to PostgreSQL`, () => {
      for (const kind of kindsFor(pattern)) {
        const matcher = compileRegex(pattern, kind === undefined ? {} : { kind });
        for (const text of matching) assert.equal(matcher.test(text), true, `${kind}: ${JSON.stringify(text)}`);
        for (const text of others) assert.equal(matcher.test(text), false, `${kind}: ${JSON.stringify(text)}`);
      }
    });
  }
});

const REFUSALS: Readonly<Record<string, readonly string[]>> = {
  'quantifier operand invalid': [
    '?',
    '*a',
    '+',
    '{2}',
    'a**',
    'a++',
    'a{2}{3}',
    '(?e)a*?',
    '(?e)(?:a)',
    '^*',
    'a|*',
    '(*a)',
    '(?=a)*',
    '\\y+',
    '(?<n>a)',
    '(?>a)',
    '(?',
    '(?<',
    '***',
    '***x',
    'x(?i)a',
    '(?i)UNDER|(?i)x',
  ],
  'invalid embedded option': ['(?P<n>a)', '(?i:UPPER)', '(?z)a', '(?i', '(?ü)', '(?iü)', '(?日)'],
  'invalid regexp (reg version 0.8)': ['***?a'],
  'parentheses () not balanced': ['(', 'a)', '(a', '((a)', '(?:a', '(?=a', ')', '(?b)a\\)'],
  'brackets [] not balanced': ['[', '[a', '[]', '[^', '[[:alpha', '[[', '[a-', '[a-[.b', '[ab[=', '[[.'],
  'braces {} not balanced': ['a{2', 'a{2,', '(?b)a\\{2'],
  'invalid repetition count(s)': ['a{256}', 'a{3,2}', 'a{1,2,3}', 'a{1x}', 'a{1,x}', '(?b)a\\{2}'],
  'invalid character range': ['[z-a]', '[z-a[.', '[z-a[:alpha', '[a-c-e]', '[\\d-z]', '[a-\\d]', '[a-[:alpha:]]'],
  'invalid character class': ['[[:bogus:]]', '[[::]]', '[[:Alpha:]]'],
  'invalid collating element': ['[[.nope.]]', '[[==]]'],
  'invalid escape \\ sequence': [
    '\\',
    '\\q',
    '\\N',
    '\\R',
    '\\pL',
    '\\u12',
    '\\U1234567',
    '\\x',
    '\\xg',
    '\\x7fffffff',
    '\\U80000000',
    '\\c',
    '[\\y]',
    '[\\A]',
    '[\\1]',
    '[\\',
  ],
  'invalid backreference number': ['\\1', '(a)\\2', '(a\\1)', '(a)(?=\\1)', '(?=(a))\\1', '\\8'],
  'regular expression is too complex': ['(((a{255}){255}){255})', `${'('.repeat(2000)}${')'.repeat(2000)}`],
};

describe('invalid regular expressions', () => {
  for (const [reason, patterns] of Object.entries(REFUSALS)) {
    for (const pattern of patterns) {
      it(`${JSON.stringify(pattern.slice(0, 40))}: ${reason}`, () => {
        assert.throws(
          () => compileRegex(pattern),
          (error) =>
            error instanceof QueryError &&
            error.status === 400 &&
            error.message === `ERROR: invalid regular expression: ${reason}`,
        );
      });
    }
  }
});
