import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalK } from '../../../engine/json/canonical.ts';
import { canonicalOfStored } from '../../../engine/json/canonical-of-stored.ts';
import { parseJson } from '../../../engine/json/parse.ts';
import { storedText } from '../../../engine/json/stored.ts';

/** What the way by a value gives. */
const byValue = (stored: string): string => canonicalK(parseJson(stored));

test('canonical of stored: keys in their other order, decimals in their other spelling, at any depth', () => {
  const cases: [string, string][] = [
    ['{}', '{}'],
    ['[]', '[]'],
    ['null', 'null'],
    ['"a\\"b,}]"', '"a\\"b,}]"'],
    ['{"b":1,"aa":2}', '{"aa":2,"b":1}'],
    ['{"a/b":1,"bb":{"z":[true,0.00010],"yy":[]}}', '{"bb":{"yy":[],"z":[true,1.0E-4]},"a/b":1}'],
    ['[1.5,"x",{"k":12345678.9}]', '[1.5,"x",{"k":1.23456789E7}]'],
    ['{"\\\\":1,"ab":"\\\\"}', '{"\\\\":1,"ab":"\\\\"}'],
    ['[[],{},"",[{"b":[],"aa":{}}]]', '[[],{},"",[{"aa":{},"b":[]}]]'],
  ];
  for (const [stored, canonical] of cases) {
    assert.equal(canonicalOfStored(stored), canonical);
    assert.equal(byValue(stored), canonical);
  }
});

test('canonical of stored: the same as by way of a value', () => {
  const key = fc.oneof(fc.string({ unit: 'binary', maxLength: 4 }), fc.constantFrom('a/b', 'a', '/', 'b/', '"', '\\'));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.double({ noNaN: true }),
      fc.integer(),
      fc.constantFrom(null, true, false, 1e10, 1e-7, '\\', '"', ',', '}', ']'),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(key, tie('value'), { maxKeys: 40 }),
    ),
  }));
  fc.assert(
    fc.property(value, (any) => {
      const stored = storedText(parseJson(JSON.stringify(any)));
      assert.equal(canonicalOfStored(stored), byValue(stored));
    }),
    { numRuns: 500 },
  );
});

test('canonical of stored: what is cut off ends in an error', () => {
  for (const text of ['', '{', '{"a"', '{"a":', '{"a":1', '[', '[1', '[1,', '"a', '{"a":"b']) {
    assert.throws(() => {
      // A number at the end cannot be told from a whole one.
      if (canonicalOfStored(text) === text) throw new SyntaxError('whole');
    }, SyntaxError);
  }
});
