import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueryError } from '../../../engine/query/errors.ts';
import { parseJsonBody, parseJsonQuery, parseJsonValue } from '../../../engine/query/json-text.ts';

function refusal(text: string): string {
  try {
    parseJsonQuery(text, 1000);
  } catch (error) {
    assert.ok(error instanceof QueryError, String(error));
    return error.message;
  }
  return assert.fail('was accepted');
}

const VALUE = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')";
const source = (line: number, column: number): string => `[Source: (StringReader); line: ${line}, column: ${column}]`;
const illegal = (code: number): string =>
  `Illegal character ((CTRL-CHAR, code ${code})): only regular white space (\\r, \\n, \\t) is allowed between tokens`;

const AFTER_MINUS = 'expected digit (0-9) to follow minus sign, for valid numeric value';
const PLUS =
  'JSON spec does not allow numbers to have plus signs: enable `JsonReadFeature.ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS` to allow';
const POINT = 'Decimal point not followed by a digit';
const EXPONENT = 'Exponent indicator not followed by a digit';
const SEPARATED = 'Expected space separating root-level values';
const COMMENT =
  "maybe a (non-standard) comment? (not recognized as one since Feature 'ALLOW_COMMENTS' not enabled for parser)";
const nonStandard = (word: string): string =>
  `Non-standard token '${word}': enable \`JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS\` to allow`;
const inNumber = (found: string, what: string): string =>
  `Unexpected character ('${found}' (code ${found.charCodeAt(0)})) in numeric value: ${what}`;

describe('JSON texts of queries', () => {
  it('a blank text holds no query', () => {
    assert.equal(parseJsonQuery(' \n', 1000), undefined);
    assert.equal(parseJsonBody('', 1000), undefined);
  });

  it('one query only', () => {
    assert.equal(
      refusal('["=","certname","a"]["x"]'),
      'Only one query may be sent in a request. Found JSON (["x"]) after the query ["=" "certname" "a"]',
    );
    assert.equal(
      refusal('{"a":1} {"b":[{"c\\n":null}]}'),
      'Only one query may be sent in a request. Found JSON ({"b" [{"c\\n" nil}]}) after the query {"a" 1}',
    );
    assert.equal(
      refusal('"a\\n" "b"'),
      'Only one query may be sent in a request. Found JSON ("b") after the query a\n',
    );
    assert.match(refusal('["a"] ["b'), /^Json parse error/);
  });

  it('a number that is too long is told as that', () => {
    assert.match(refusal(`["=", "value", ${'1'.repeat(1001)}]`), /number longer than 1000 characters at offset 15$/);
  });

  it('raw control characters in strings are fine', () => {
    assert.deepEqual(parseJsonQuery('["a\nb\tc"]', 1000), ['a\nb\tc']);
  });

  const cases: readonly (readonly [string, number, number, string])[] = [
    [
      '["=", "certname"',
      1,
      17,
      'Unexpected end-of-input: expected close marker for Array (start marker at [Source: (StringReader); line: 1, column: 1])',
    ],
    ['["=", "certname]', 1, 17, 'Unexpected end-of-input: was expecting closing quote for a string value'],
    ['["=" "a"]', 1, 7, `Unexpected character ('"' (code 34)): was expecting comma to separate Array entries`],
    [
      "['=']",
      1,
      3,
      `Unexpected character (''' (code 39)): expected a valid value (JSON String, Number, Array, Object or token 'null', 'true' or 'false')`,
    ],
    [
      '[abc]',
      1,
      5,
      "Unrecognized token 'abc': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')",
    ],
    [
      '["=",\n"certname",\n]',
      3,
      2,
      `Unexpected character (']' (code 93)): expected a valid value (JSON String, Number, Array, Object or token 'null', 'true' or 'false')`,
    ],
    ['[}', 1, 3, `Unexpected close marker '}': expected ']' (for Array starting at ${source(1, 1)})`],
    ['[{"a": 1]', 1, 10, `Unexpected close marker ']': expected '}' (for Object starting at ${source(1, 2)})`],
    ['[\n [1}', 2, 5, `Unexpected close marker '}': expected ']' (for Array starting at ${source(2, 2)})`],
    ['[]]', 1, 4, `Unexpected close marker ']': expected '}' (for root starting at ${source(1, 0)})`],
    ['[1,}', 1, 5, `Unexpected character ('}' (code 125)): expected a value`],
    ['{"a" 1}', 1, 7, `Unexpected character ('1' (code 49)): was expecting a colon to separate field name and value`],
    ['{a: 1}', 1, 3, `Unexpected character ('a' (code 97)): was expecting double-quote to start field name`],
    ['["\\d"]', 1, 5, "Unrecognized character escape 'd' (code 100)"],
    ['["\\☃"]', 1, 5, "Unrecognized character escape '☃' (code 9731 / 0x2603)"],
    ['[☃]', 1, 3, `Unexpected character ('☃' (code 9731 / 0x2603)): expected a valid value ${VALUE}`],
    ['[\u00a0]', 1, 3, `Unexpected character ('\u00a0' (code 160)): expected a valid value ${VALUE}`],
    ['[\u0301]', 1, 3, `Unexpected character ('\u0301' (code 769 / 0x301)): expected a valid value ${VALUE}`],
    ['[😀]', 1, 3, `Unexpected character ('?' (code 55357 / 0xd83d)): expected a valid value ${VALUE}`],
    ['[\x7f]', 1, 3, `Unexpected character ((CTRL-CHAR, code 127)): expected a valid value ${VALUE}`],
    ['[true☃]', 1, 7, "Unexpected character ('☃' (code 9731 / 0x2603)): was expecting comma to separate Array entries"],
    ['[a☃]', 1, 3, `Unrecognized token 'a': was expecting ${VALUE}`],
    ['[é\u0301٣]', 1, 5, `Unrecognized token 'é\u0301٣': was expecting ${VALUE}`],
    ['[\f]', 1, 3, illegal(12)],
    ['{"a":\v1}', 1, 7, illegal(11)],
    ['\v["a"]', 1, 2, illegal(11)],
    ['["a"]\f', 1, 7, illegal(12)],
    ['\f', 1, 2, illegal(12)],
    ['{"limi', 1, 7, 'Unexpected end-of-input in field name'],
    ['{"a":"b', 1, 8, 'Unexpected end-of-input: was expecting closing quote for a string value'],
    ...['{"a"', '{"a":', '{"a":1,'].map(
      (text) => [text, 1, text.length + 1, 'Unexpected end-of-input within/between Object entries'] as const,
    ),
    ['["a",', 1, 6, 'Unexpected end-of-input within/between Array entries'],
    // Lines within strings do not count.
    ['["\n","\\x"]', 1, 9, "Unrecognized character escape 'x' (code 120)"],
    ['["\n\n",\n"\\"",\n\n  x]', 4, 4, `Unrecognized token 'x': was expecting ${VALUE}`],
    ['["\n",\n[1}', 2, 4, `Unexpected close marker '}': expected ']' (for Array starting at ${source(2, 1)})`],
    ['["a\\\n"]', 1, 6, 'Unrecognized character escape (CTRL-CHAR, code 10)'],
    ...[']', ' ]', '\n]', 'a]', '-1]'].map((rest) => {
      const found = rest.charAt(0);
      const shown = found === '\n' ? '(CTRL-CHAR, code 10)' : `'${found}' (code ${found.charCodeAt(0)})`;
      return [`[-${rest}`, 1, 4, `Unexpected character (${shown}) in numeric value: ${AFTER_MINUS}`] as const;
    }),
    ['[-', 1, 3, 'Unexpected end-of-inputNo digit following minus sign'],
    ['[-.5]', 1, 4, `Unexpected character ('.' (code 46)): expected a valid value ${VALUE}`],
    ['[+1]', 1, 4, `Unexpected character ('+' (code 43)) in numeric value: ${PLUS}`],
    ['+', 1, 2, 'Unexpected end-of-input in a Number value'],
    ['[-INF]', 1, 6, nonStandard('-INF')],
    ['{"a":+Infinity}', 1, 15, nonStandard('+Infinity')],
    ['[NaN]', 1, 5, nonStandard('NaN')],
    ['[INF]', 1, 5, `Unrecognized token 'INF': was expecting ${VALUE}`],
    ['[-Infx]', 1, 7, `Unrecognized token '-Infx': was expecting ${VALUE}`],
    ...(
      [
        ['10.]', 5],
        ['-12.x]', 6],
        ['0.]', 5],
        ['-0.]', 6],
      ] as const
    ).map(([number, column]) => [`[${number}`, 1, column, inNumber(number.at(-2) === 'x' ? 'x' : ']', POINT)] as const),
    ['[10.', 1, 5, inNumber('.', POINT)],
    ...(
      [
        ['1e]', 4],
        ['12.5e+]', 5],
        ['-1E-]', 5],
        ['0e]', 5],
        ['0.5e+]', 8],
      ] as const
    ).map(([number, column]) => [`[${number}`, 1, column, inNumber(']', EXPONENT)] as const),
    ['[1e+', 1, 5, 'Unexpected end-of-inputexpected a digit for number exponent'],
    ['[1.\n]', 1, 4, `Unexpected character ((CTRL-CHAR, code 10)) in numeric value: ${POINT}`],
    ...[',', '"', 'a', '-', '/'].map(
      (next) =>
        [`1${next}`, 1, 3, `Unexpected character ('${next}' (code ${next.charCodeAt(0)})): ${SEPARATED}`] as const,
    ),
    ['[1] 1.5.5', 1, 9, `Unexpected character ('.' (code 46)): ${SEPARATED}`],
    ...['[/* a */ 1]', '[1 // a\n]', '{/**/"a":1}'].map(
      (text) => [text, 1, text.indexOf('/') + 2, `Unexpected character ('/' (code 47)): ${COMMENT}`] as const,
    ),
    [`[${'a'.repeat(255)}]`, 1, 257, `Unrecognized token '${'a'.repeat(255)}': was expecting ${VALUE}`],
    [`[${'a'.repeat(300)}]`, 1, 258, `Unrecognized token '${'a'.repeat(256)}...': was expecting ${VALUE}`],
  ];
  for (const [text, line, column, reason] of cases) {
    it(`${JSON.stringify(text)} is refused at line ${line}, column ${column}`, () => {
      const [head, , source, caret, , ...rest] = refusal(text).split('\n');
      assert.equal(head, `Json parse error at line ${line}, column ${column}:`);
      assert.equal(source, text.split('\n')[line - 1]);
      assert.equal(caret, `${' '.repeat(Math.max(column - 2, 0))}^`);
      assert.equal(rest.join('\n'), reason);
    });
  }

  it('a parameter is refused in the words of the library alone', () => {
    assert.throws(() => parseJsonValue('[">",\n"successes" 1]', 1000), {
      status: 400,
      message: `Unexpected character ('1' (code 49)): was expecting comma to separate Array entries\n at ${source(2, 14)}`,
    });
    assert.deepEqual(parseJsonValue('[1] x', 1000), [1]);
  });

  it('deep nesting is an error, not a crash', () => {
    assert.equal(
      refusal(`\n ${'['.repeat(100_000)}`),
      'Json parse error at line 2, column 1,002: nesting deeper than 1000 at offset 1002',
    );
  });
});
