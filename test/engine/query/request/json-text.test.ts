import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueryError } from '../../../../engine/query/errors.ts';
import { parseJsonBody, parseJsonQuery } from '../../../../engine/query/request/json-text.ts';

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
    assert.match(refusal('["a"] ["b'), /^Json parse error/);
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

  it('deep nesting is an error, not a crash', () => {
    assert.match(refusal('['.repeat(100_000)), /^Json parse error/);
  });
});
