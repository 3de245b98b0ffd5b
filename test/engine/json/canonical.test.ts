import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalK, canonicalS, compareK, javaDouble, quote } from '../../../engine/json/canonical.ts';
import { JsonError, parseJson } from '../../../engine/json/parse.ts';
import { storedText } from '../../../engine/json/stored.ts';

test('canonical: doubles are spelled as Java spells them', () => {
  const cases: [number, string][] = [
    [100, '100.0'],
    [0.001, '0.001'],
    [9999999, '9999999.0'],
    [1e7, '1.0E7'],
    [12345678.9, '1.23456789E7'],
    [1e10, '1.0E10'],
    [0.0009999, '9.999E-4'],
    [1e-5, '1.0E-5'],
    [Number.MAX_VALUE, '1.7976931348623157E308'],
    [5e-324, '4.9E-324'],
    [1e-323, '9.9E-324'],
    [2e-323, '2.0E-323'],
    [-0, '-0.0'],
    [0, '0.0'],
    [-1.5, '-1.5'],
    [Number.POSITIVE_INFINITY, '"Infinity"'],
    [Number.NEGATIVE_INFINITY, '"-Infinity"'],
  ];
  for (const [value, text] of cases) assert.equal(javaDouble(value), text);
});

test('canonical: the spelling of a double reads back as the same double', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.ok(Object.is(Number(javaDouble(value)), value));
      const stored = storedText(parseJson(`[${javaDouble(value)}]`)).slice(1, -1);
      assert.equal(Number(stored) + 0, value + 0);
      assert.doesNotMatch(stored, /[eE]/);
    }),
    { numRuns: 3000 },
  );
});

test('canonical: strings keep everything but quotes, backslashes and control characters', () => {
  assert.equal(quote('a"b\\c/\u007f\u2028é'), '"a\\"b\\\\c/\u007f\u2028é"');
  assert.equal(quote('\b\t\n\f\r\u0000\u001f\u000b'), '"\\b\\t\\n\\f\\r\\u0000\\u001F\\u000B"');
  assert.equal(quote('\\u001f'), '"\\\\u001f"');
  assert.equal(quote('\\\u001f'), '"\\\\\\u001F"');
});

test('canonical: order K puts keys with a slash last, order S does not', () => {
  const value = parseJson('{"b":1,"a":2,"/x":3,"a/b":4,"/":5,"/etc":{"z":1,"/a":2}}');
  assert.equal(canonicalK(value), '{"/":5,"a":2,"b":1,"/etc":{"z":1,"/a":2},"/x":3,"a/b":4}');
  assert.equal(canonicalS(value), '{"/":5,"/etc":{"/a":2,"z":1},"/x":3,"a":2,"a/b":4,"b":1}');
  assert.ok(compareK('a/b', 'b') > 0);
  assert.ok(compareK('a/b', 'a/c') < 0);
});

test('canonical: many keys sort like few', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 6 }), { maxLength: 60 }), (keys) => {
      const object = Object.fromEntries(keys.map((key) => [key, 1]));
      const sorted = Object.keys(object).sort();
      assert.equal(canonicalS(object), `{${sorted.map((key) => `${quote(key)}:1`).join(',')}}`);
    }),
  );
});

test('canonical: integers of any size print all their digits', () => {
  assert.equal(
    canonicalK(parseJson('[12345678901234567890123,-9007199254740993,9007199254740991]')),
    '[12345678901234567890123,-9007199254740993,9007199254740991]',
  );
});

test('canonical: what is nested too deeply is refused, counting what encloses it', () => {
  const nested = parseJson('['.repeat(999) + ']'.repeat(999));
  canonicalK(nested);
  canonicalK(nested, 1);
  assert.throws(() => canonicalK(nested, 2), JsonError);
  assert.throws(() => storedText(nested, 2), JsonError);
});
