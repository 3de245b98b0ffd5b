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
    ['{"a" 1}', 1, 7, `Unexpected character ('1' (code 49)): was expecting a colon to separate field name and value`],
    ['{a: 1}', 1, 3, `Unexpected character ('a' (code 97)): was expecting double-quote to start field name`],
    ['["\\d"]', 1, 5, "Unrecognized character escape 'd' (code 100)"],
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
