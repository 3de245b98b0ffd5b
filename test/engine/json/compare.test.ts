import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  compareJson,
  compareNumbers,
  compareText,
  containsJson,
  equalJson,
  identityText,
  textForm,
} from '../../../engine/json/compare.ts';
import { storedText } from '../../../engine/json/stored.ts';
import { Float, type JsonValue, kindOf } from '../../../engine/json/value.ts';
import { testSeed } from '../../support/random.ts';

const seed = testSeed('compare');

const toDouble = (d: number): number | Float => (Number.isInteger(d) || !Number.isFinite(d) ? new Float(d) : d);
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, false, [], {}, '', 'a', 0, 1, new Float(1), new Float(-0), 1e-7),
    fc.string({ unit: 'grapheme' }),
    fc.maxSafeInteger(),
    fc.bigInt().filter((n) => n > 2n ** 53n || n < -(2n ** 53n)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(toDouble),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'ab', '1', '10', 'é'), tie('json'), { maxKeys: 3 }),
  ),
}));

describe('json order', () => {
  it('ranks kinds: empty array, null, string, number, Boolean, array, object', () => {
    const ascending: JsonValue[] = [
      [],
      null,
      '',
      'a',
      -(10n ** 30n),
      -1,
      new Float(-0.0),
      0.5,
      1,
      1e22,
      10n ** 30n,
      false,
      true,
      [null],
      [[]],
      [{}],
      ['a', 'b'],
      [1, 'a'],
      {},
      { aa: 0 },
      { b: 0 },
      { a: 1, b: 1 },
    ];
    for (let i = 0; i < ascending.length; i++) {
      for (let j = 0; j < ascending.length; j++) {
        const order = compareJson(ascending[i] as JsonValue, ascending[j] as JsonValue);
        assert.equal(Math.sign(order), Math.sign(i - j), `${i} ${j}`);
      }
    }
  });

  it('orders an empty array inside a structure as an array', () => {
    assert.ok(compareJson([[]], [true]) > 0);
    assert.ok(compareJson([[]], [null]) > 0);
    assert.ok(compareJson([], null) < 0);
  });

  it('compares objects pairwise in stored order, keys by byte length first', () => {
    assert.ok(compareJson({ b: 1, aa: 2 }, { b: 1, aa: 3 }) < 0);
    assert.ok(compareJson({ b: 9, aa: 0 }, { c: 0, aa: 0 }) < 0);
    assert.ok(compareJson({ zz: 0, é: 0 }, { zz: 0, é: 1 }) < 0);
  });

  it('is a total order that agrees with equality', () => {
    fc.assert(
      fc.property(json, json, json, (a, b, c) => {
        assert.equal(Math.sign(compareJson(a, b)), -Math.sign(compareJson(b, a)) + 0);
        assert.equal(compareJson(a, b) === 0, equalJson(a, b));
        assert.equal(identityText(a) === identityText(b), equalJson(a, b));
        if (compareJson(a, b) <= 0 && compareJson(b, c) <= 0) assert.ok(compareJson(a, c) <= 0);
        assert.ok(equalJson(a, a));
        assert.ok(containsJson(a, a));
      }),
      { seed, numRuns: 3000 },
    );
  });
});

describe('text order', () => {
  it('is the order of the UTF-8 bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        assert.equal(Math.sign(compareText(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
      { seed, numRuns: 2000 },
    );
    assert.ok(compareText('\u{1f600}', '\uffee') > 0);
  });
});

describe('numbers', () => {
  it('spell doubles as the store does', () => {
    const spellings: [JsonValue, string][] = [
      [new Float(1), '1.0'],
      [new Float(1000), '1000.0'],
      [new Float(9999999), '9999999.0'],
      [new Float(1e7), '10000000'],
      [new Float(1e10), '10000000000'],
      [new Float(1e20), '100000000000000000000'],
      [new Float(1.5e25), '15000000000000000000000000'],
      [new Float(-1e23), '-100000000000000000000000'],
      [new Float(-0), '0.0'],
      [12345678.5, '12345678.5'],
      [1.5, '1.5'],
      [0.001, '0.001'],
      [0.0001, '0.00010'],
      [0.00015, '0.00015'],
      [1e-7, '0.00000010'],
      [-1.25e-9, '-0.00000000125'],
      [5, '5'],
      [12345678901234567890123n, '12345678901234567890123'],
    ];
    for (const [value, text] of spellings) assert.equal(storedText(value as number), text);
  });

  it('compare by decimal value, never through rounding', () => {
    assert.equal(compareNumbers(1, new Float(1)), 0);
    assert.ok(compareNumbers(9007199254740993n, new Float(9007199254740992)) > 0);
    assert.equal(compareNumbers(10n ** 23n, new Float(1e23)), 0);
    assert.ok(compareNumbers(10n ** 23n + 1n, new Float(1e23)) > 0);
    assert.ok(compareNumbers(-(10n ** 400n), new Float(-1e308)) < 0);
    assert.ok(compareNumbers(9007199254740993n, new Float(1e17)) < 0);
    assert.ok(compareNumbers(-9007199254740993n, new Float(-1e17)) > 0);
    assert.ok(compareNumbers(10n ** 400n, new Float(Number.POSITIVE_INFINITY)) < 0);
    assert.ok(compareNumbers(-(10n ** 20n), 0.5) < 0);
  });
});

describe('containment', () => {
  const cases: [JsonValue, JsonValue, boolean][] = [
    [5, new Float(5), true],
    [5, '5', false],
    [null, null, true],
    [{ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 } }, true],
    [{ a: 1 }, {}, true],
    [{ a: null }, { a: null }, true],
    [{}, { a: null }, false],
    [['a', 'b', 'a'], ['b', 'b', 'a'], true],
    [['a'], [], true],
    [[], ['a'], false],
    [['a'], 'a', false],
    [[['a', 'b']], [['b']], true],
    [[{ a: 1, b: 2 }], [{ b: 2 }, { a: 1 }], true],
    [{ a: ['x'] }, { a: 'x' }, false],
    [[1, 2], { '0': 1 }, false],
    [{}, [], false],
  ];
  for (const [left, right, expected] of cases) {
    it(`${JSON.stringify(left)} ${expected ? 'contains' : 'does not contain'} ${textForm(right) ?? 'null'}`, () => {
      assert.equal(containsJson(left, right), expected);
    });
  }

  it('looks only at own keys', () => {
    assert.equal(containsJson({}, { toString: 1 }), false);
    assert.equal(equalJson(JSON.parse('{"__proto__": 1}'), {}), false);
    assert.equal(containsJson(JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}')), true);
  });
});

describe('text form', () => {
  it('is the raw text of strings, the stored spelling of numbers, and nothing for null', () => {
    assert.equal(textForm('a"b'), 'a"b');
    assert.equal(textForm(new Float(1)), '1.0');
    assert.equal(textForm(true), 'true');
    assert.equal(textForm(null), null);
  });

  it('spaces structures after commas and colons and lists keys in stored order', () => {
    assert.equal(
      textForm({ release: { major: '13' }, family: 'FreeBSD' }),
      '{"family": "FreeBSD", "release": {"major": "13"}}',
    );
    assert.equal(textForm(['a', 'b', { c: [1, 2, new Float(3)] }, null]), '["a", "b", {"c": [1, 2, 3.0]}, null]');
    assert.equal(textForm({ '10': 1, '9': [], b: {} }), '{"9": [], "b": {}, "10": 1}');
    assert.equal(textForm(['"\\\n\u0001é\u007f']), '["\\"\\\\\\n\\u0001é\u007f"]');
  });

  it('names kinds as jsonb_typeof does', () => {
    const values: JsonValue[] = [null, true, 1, 2n ** 60n, new Float(1), 'x', [], {}];
    const kinds = 'null boolean number number number string array object'.split(' ');
    assert.deepEqual(values.map(kindOf), kinds);
  });
});
