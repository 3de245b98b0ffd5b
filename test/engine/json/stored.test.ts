import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson } from '../../../engine/json/parse.ts';
import { prettyJson, prettyText } from '../../../engine/json/pretty.ts';
import { printJson } from '../../../engine/json/print.ts';
import { compareStored, storedText } from '../../../engine/json/stored.ts';

const stored = (text: string): string => storedText(parseJson(text));

test('stored: doubles become plain decimals', () => {
  const cases: [string, string][] = [
    ['[1e10]', '[10000000000]'],
    ['[1e3]', '[1000.0]'],
    ['[1.50]', '[1.5]'],
    ['[1e-7]', '[0.00000010]'],
    ['[1.5e-7]', '[0.00000015]'],
    ['[-0.0]', '[0.0]'],
    ['[-0]', '[0]'],
    ['[1e7]', '[10000000]'],
    ['[12345678.9]', '[12345678.9]'],
    ['[123456789.0]', '[123456789]'],
    ['[1e20]', '[100000000000000000000]'],
    ['[-2.5e-4]', '[-0.00025]'],
    ['[1.0]', '[1.0]'],
    ['[12345678901234567890123]', '[12345678901234567890123]'],
    ['[1e400]', '["Infinity"]'],
  ];
  for (const [text, expected] of cases) assert.equal(stored(text), expected, text);
});

test('stored: keys come shorter first, then in byte order', () => {
  assert.equal(stored('{"bb":1,"a":2,"é":3,"zz":4,"":5}'), '{"":5,"a":2,"bb":1,"zz":4,"é":3}');
  assert.equal(stored('{"\uffff":1,"\ud83d\ude00":2}'), '{"\uffff":1,"😀":2}');
});

test('stored: key order is that of the UTF-8 bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      const [bytesA, bytesB] = [Buffer.from(a), Buffer.from(b)];
      const expected = bytesA.length - bytesB.length || Buffer.compare(bytesA, bytesB);
      assert.equal(Math.sign(compareStored(a, b)), Math.sign(expected));
    }),
  );
});

test('stored: NUL in strings and nested keys becomes the replacement character', () => {
  assert.equal(stored('{"a\\u0000b":["x\\u0000y"]}'), '{"a\ufffdb":["x\ufffdy"]}');
});

test('stored: keys with NUL stand where the replacement character puts them, once', () => {
  assert.equal(stored('{"\\u0000":1,"ab":2,"b":3}'), '{"b":3,"ab":2,"\ufffd":1}');
  for (const text of ['{"\\u0000":[1],"\\ufffd":[2]}', '{"\\ufffd":[2],"\\u0000":[1]}']) {
    assert.equal(stored(text), '{"\ufffd":[2]}', text);
  }
  assert.equal(stored('{"__proto__":1,"\\u0000":{"\\u0000":1}}'), '{"\ufffd":{"\ufffd":1},"__proto__":1}');
  const levels = 200;
  const nested = (key: string): string => `${'{"a":'.repeat(levels)}1${`,"${key}":2}`.repeat(levels)}`;
  assert.equal(stored(nested('bb\\u0000')), nested('bb\ufffd'));
});

test('stored: a stored text is stable', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const once = stored(JSON.stringify([value]));
      assert.equal(stored(once), once);
    }),
  );
});

test('pretty: objects indent, arrays stay on their line', () => {
  assert.equal(prettyText('[]'), '[ ]');
  assert.equal(prettyText('{ }'), '{ }');
  assert.equal(prettyText('[1,"two",[true]]'), '[ 1, "two", [ true ] ]');
  assert.equal(prettyText('[{"a":1,"b":{}},{"c":[]}]'), '[ {\n  "a" : 1,\n  "b" : { }\n}, {\n  "c" : [ ]\n} ]');
  assert.equal(
    prettyText('{"a":{"b":[{"c":null}]}}'),
    '{\n  "a" : {\n    "b" : [ {\n      "c" : null\n    } ]\n  }\n}',
  );
  assert.equal(prettyText('{"a":"x\\"{,:}"}'), '{\n  "a" : "x\\"{,:}"\n}');
  assert.equal(prettyText('1.0'), '1.0');
});

test('pretty: the form holds the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const compact = printJson(parseJson(JSON.stringify([value])));
      const pretty = prettyJson(parseJson(compact));
      assert.equal(printJson(parseJson(pretty)), compact);
      assert.equal(prettyText(pretty), pretty);
    }),
  );
});
