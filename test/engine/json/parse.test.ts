import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  JSON_LIMITS,
  JsonError,
  type JsonProblem,
  parseJson,
  parseJsonPrefix,
  walkMembers,
} from '../../../engine/json/parse.ts';
import { printJson } from '../../../engine/json/print.ts';
import { Float, type JsonValue } from '../../../engine/json/value.ts';
import { collect } from '../../support/collect.ts';
import { processorTime } from '../../support/processor-time.ts';

// The exact parser alone, whatever the fast path would say.
const exact = (text: string): JsonValue => parseJsonPrefix(text).value;

/** What a walk gives, and how many turns it left to others. */
function walk(...args: Parameters<typeof walkMembers>): { end: number; turns: number } {
  const walking = walkMembers(...args);
  for (let turns = 0; ; turns++) {
    const { done, value } = walking.next();
    if (done) return { end: value, turns };
  }
}

function problemOf(text: string): JsonProblem {
  try {
    parseJson(text);
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error));
    return error.problem;
  }
  assert.fail(`accepted: ${text}`);
}

test('parse: integers and doubles stay apart', () => {
  const value = parseJson(
    '[1,1.0,-0,-0.0,1e3,12345678901234567890123,1.5,1e400,10e-1,9007199254740993]',
  ) as JsonValue[];
  assert.equal(value[0], 1);
  assert.deepEqual(value[1], new Float(1));
  assert.ok(Object.is(value[2], 0));
  assert.ok(Object.is((value[3] as Float).value, -0));
  assert.deepEqual(value[4], new Float(1000));
  assert.equal(value[5], 12345678901234567890123n);
  assert.equal(value[6], 1.5);
  assert.deepEqual(value[7], new Float(Number.POSITIVE_INFINITY));
  assert.deepEqual(value[8], new Float(1));
  assert.equal(value[9], 9007199254740993n);
});

test('parse: fractions that round to an integer are doubles', () => {
  for (const token of [
    '123456789.0000000001',
    '0.99999999999999999999',
    '999999999999999.99999',
    '4503599627370497.5',
  ]) {
    assert.deepEqual(parseJson(`{"a":${token}}`), exact(`{"a":${token}}`), token);
  }
});

test('parse: where a number stands does not matter', () => {
  const numbers = [
    '1.0',
    '-0',
    '1e3',
    '-12E1',
    '1234567890123456',
    '12345678901234567890',
    '1234567890.5',
    '0.0000001',
  ];
  for (const number of numbers) {
    for (const blank of ['', ' ', '\n', '\t\t', '\r\n ']) {
      const texts = [`[${blank}${number}]`, `[1,${blank}${number}${blank},2]`, `{"a":${blank}${number}${blank}}`];
      texts.push(`[[${blank}${number}],"1.0,",{"b":"x,5.0]","c"${blank}:${blank}${number}}]`);
      for (const text of texts) assert.deepEqual(parseJson(text), exact(text), text);
    }
  }
});

test('parse: the fast path and the exact parser agree on every token', () => {
  const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,20})$/);
  const fraction = fc.stringMatching(/^[0-9]{0,22}$/);
  const exponent = fc.constantFrom('', '', 'e5', 'E-3', 'e-05', 'e+2', 'e-400', 'e308', 'e-1');
  const token = fc
    .tuple(fc.constantFrom('', '-'), digits, fraction, exponent)
    .map(([sign, whole, part, power]) => `${sign}${whole}${part === '' ? '' : `.${part}`}${power}`);
  const text = fc.oneof(
    token,
    fc.string({ unit: 'binary' }).map((string) => JSON.stringify(string)),
  );
  const document = fc
    .array(fc.tuple(text, fc.constantFrom(',', ' ,', ', ', '\n,')), { minLength: 1, maxLength: 8 })
    .map((parts) => `[${parts.map(([part, comma]) => part + comma).join('')}null]`);
  fc.assert(
    fc.property(document, (json) => {
      assert.deepEqual(parseJson(json), exact(json));
    }),
    { numRuns: 2000 },
  );
});

test('parse: any JSON.stringify output comes back', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = JSON.stringify(value);
      assert.equal(printJson(parseJson(text)), printJson(exact(text)));
    }),
    { numRuns: 1000 },
  );
});

test('parse: raw control characters, trailing text and duplicate keys are accepted', () => {
  assert.deepEqual(parseJson('{"a":"x\ny\tz","a":2} trailing'), { a: 2 });
  assert.deepEqual(parseJson('["x\ny\u0000"] ]'), ['x\ny\u0000']);
  assert.deepEqual(parseJson(' 5 6'), 5);
});

test('parse: __proto__ is a key like any other', () => {
  for (const value of [parseJson('{"__proto__":{"a":1}}'), exact('{"__proto__":{"a":1}}')]) {
    assert.deepEqual(Object.keys(value as object), ['__proto__']);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  }
});

// V8 from 12.8 on takes an escaped key for one that it has seen in that place (nodejs/node issue 63785).
test('parse: an escaped key is its own, whatever was read before', () => {
  const keys = ['\\', '"', '\n', '\u0001', '/', 'a', 'a\\', 'a"', 'a\\b'];
  for (const before of keys) {
    for (const key of keys) {
      for (const first of [{}, { '': '' }, { x: '\\' }]) {
        for (const space of [0, 1]) {
          parseJson(JSON.stringify([{ ...first, [before]: 1 }], null, space));
          const value = parseJson(JSON.stringify([{ ...first, [key]: 2 }], null, space));
          assert.deepEqual(value, [{ ...first, [key]: 2 }]);
        }
      }
      const spelled = `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}`;
      assert.deepEqual(Object.keys(parseJson(`{"":0,"${spelled}":1}`) as object), ['', key.charAt(0)]);
    }
  }
});

test('parse: lone surrogates become question marks, pairs stay', () => {
  assert.deepEqual(parseJson('["a\\ud800b","\\udc00","\\ud83d\\ude00","\\ud83d\\ud83d\\ude00"]'), [
    'a?b',
    '?',
    '😀',
    '?😀',
  ]);
  assert.deepEqual(parseJson('["\\\\ud83d\\ude00"]'), ['\\ud83d?']);
  assert.deepEqual(parseJson('["\\uD83D\\uDE00"]'), ['😀']);
  assert.deepEqual(parseJson('["\\udc00\\udc01","\\udc00\\ud83d\\ude00"]'), ['??', '?😀']);
});

test('parse: the errors say what is wrong and where', () => {
  const cases: [string, JsonProblem][] = [
    ['', 'end-of-input'],
    ['[1,', 'end-of-input'],
    ['{"a"', 'end-of-input'],
    ['"abc', 'end-of-input'],
    ['[1', 'end-of-input'],
    ['\ufeff{}', 'unexpected-character'],
    ['[☃]', 'unexpected-character'],
    ['[true☃]', 'unexpected-character'],
    ['[é]', 'unknown-token'],
    ['[trueé]', 'unknown-token'],
    ['{"a', 'end-of-input'],
    ['[NaN]', 'unknown-token'],
    ['[nul]', 'unknown-token'],
    ['[Infinity]', 'unknown-token'],
    ['/* */1', 'unexpected-character'],
    ["['a']", 'unexpected-character'],
    ['[1,]', 'unexpected-character'],
    ['{"a":1,}', 'unexpected-character'],
    ['{a:1}', 'unexpected-character'],
    ['{"a" 1}', 'unexpected-character'],
    ['[1 2]', 'unexpected-character'],
    ['1a', 'unexpected-character'],
    ['[01]', 'bad-number'],
    ['[1.]', 'bad-number'],
    ['[-]', 'bad-number'],
    ['[1e]', 'bad-number'],
    ['["\\x"]', 'bad-escape'],
    ['["\\u12g4"]', 'bad-escape'],
    [`[${'1'.repeat(1001)}]`, 'number-too-long'],
  ];
  for (const [text, problem] of cases) assert.equal(problemOf(text), problem, text);
  assert.deepEqual(parseJson(`[${'1'.repeat(1000)}]`), [BigInt('1'.repeat(1000))]);
  try {
    parseJson('{"a": [1, x]}');
    assert.fail('accepted');
  } catch (error) {
    assert.ok(error instanceof JsonError);
    assert.equal(error.offset, 10);
    assert.equal(error.found, 'x');
    assert.deepEqual(error.container, { kind: 'array', offset: 6 });
  }
});

test('parse: nesting ends at the limit', () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  parseJson(deep(JSON_LIMITS.depth));
  assert.equal(problemOf(deep(JSON_LIMITS.depth + 1)), 'too-deep');
  assert.equal(problemOf(`${'{"a":'.repeat(1001)}1${'}'.repeat(1001)}`), 'too-deep');
});

test('parse: values are counted where there can be more than are taken', () => {
  const few = { ...JSON_LIMITS, stringLength: 10, values: 5 };
  const problemWith = (text: string): string | null => {
    try {
      parseJson(text, few);
      return null;
    } catch (error) {
      return (error as JsonError).problem;
    }
  };
  for (const text of ['[1,[2,[3]]]', '{"a":{"b":[1,2]}}', '[1,2,{"a":3}]', '   [1,2,3,4]   '])
    assert.equal(problemWith(text), null, text);
  for (const text of [
    '[1,[2,[3,4]]]',
    '{"a":{"b":[1,2,3,4]}}',
    '[1,2,{"a":3,"b":4,"c":5}]',
    `[${'[1],'.repeat(1000)}1]`,
  ])
    assert.equal(problemWith(text), 'too-many-values', text);
  assert.equal(problemOf(`[${'[1],'.repeat(6_000_000)}1]`), 'too-many-values');
});

test('parse: a text within is no longer than it may be, however it is written', () => {
  const short = { ...JSON_LIMITS, stringLength: 4 };
  for (const text of ['["abcd"]', '["ab\\u0063\\n"]', '{"\\u0061bcd":"😀😀"}'])
    assert.deepEqual(parseJson(text, short), JSON.parse(text));
  for (const text of ['["abcde"]', '["abc\\u0064\\n"]', '{"\\u0061bcde":1}', '["😀😀a"]'])
    assert.throws(() => parseJson(text, short), { problem: 'string-too-long' }, text);
});

test('parse: a text within that is too long is told before its end, and one of very many escapes takes no more than it is long', () => {
  const short = { ...JSON_LIMITS, stringLength: 4 };
  for (const text of ['["abcdef', '["a\\n\\n\\n\\n\\n', '["abc\\n\\u0064\\n'])
    assert.throws(() => parseJson(text, short), { problem: 'string-too-long' }, text);
  assert.throws(() => parseJson('["abcd', short), { problem: 'end-of-input' });
  const count = 1_000_000;
  const text = `["${'\\n'.repeat(count)}"]`;
  collect();
  const before = process.memoryUsage().heapUsed;
  const [value] = exact(text) as string[];
  collect();
  const kept = process.memoryUsage().heapUsed - before;
  assert.ok(kept < 5 << 20, `${kept} bytes`);
  assert.equal(value, '\n'.repeat(count));
  // What is passed over is checked all the same.
  for (const bad of ['"\\x"', '"\\ud83d\\u00"', '{"a\\q":1}', '"\\'])
    assert.throws(() => walk(`{"a":[${bad}]}`, 0, () => 0), JsonError, bad);
  assert.deepEqual(walk(`{"a":["\\u0041\\n",{"\\ud83d":1}]}`, 0, () => 0).turns, 0);
});

test('parse: whoever bounds the nesting by himself still does not get more than a stack has room for', () => {
  const unbounded = { ...JSON_LIMITS, depth: Number.POSITIVE_INFINITY };
  for (const text of [
    '['.repeat(1_000_000),
    '{"a":'.repeat(1_000_000),
    `${'['.repeat(100_000)}1.0${']'.repeat(100_000)}`,
  ]) {
    assert.throws(
      () => parseJson(text, unbounded),
      (error) => error instanceof JsonError && error.problem === 'too-deep',
    );
  }
});

test('parse: a prefix ends behind its value', () => {
  const text = ' [1, "a"]x';
  assert.deepEqual(parseJsonPrefix(text), { value: [1, 'a'], end: 9 });
  assert.deepEqual(parseJsonPrefix('1 2', 1), { value: 2, end: 3 });
});

test('walk: members are told with the places of their values, and may be read on the way', () => {
  const text = ' {"a": [1, {"b": 2}], "c" :{"__proto__": 3} ,"a":"x"}tail';
  const seen: [string, number, string][] = [];
  const { end } = walk(text, 0, (name, start) => {
    const read = parseJsonPrefix(text, start);
    seen.push([name, start, text.slice(start, read.end)]);
    return name === 'c' ? read.end : 0;
  });
  assert.equal(text.slice(end), 'tail');
  assert.deepEqual(seen, [
    ['a', text.indexOf('[1'), '[1, {"b": 2}]'],
    ['c', text.indexOf('{"__'), '{"__proto__": 3}'],
    ['a', text.indexOf('"x'), '"x"'],
  ]);
  assert.equal(walk('[{}]', 0, () => 0).end, -1);
});

test('walk: a member can be walked in its turn', () => {
  const text = '{"a":{"b":[1],"c":{}},"d":{"e":2}}';
  const seen: string[] = [];
  const visit: Parameters<typeof walkMembers>[2] = (name, start) => {
    seen.push(name);
    return name === 'a' ? walkMembers(text, start, visit) : 0;
  };
  assert.equal(walk(text, 0, visit).end, text.length);
  assert.deepEqual(seen, ['a', 'b', 'c', 'd']);
});

test('walk: however the text is made, others have a turn every 64 K units', () => {
  const n = 100_000;
  for (const text of [
    `{"a":[${'[],'.repeat(n)}1]}`,
    `{"a":{${'"k":{"x":[1,"y"]},'.repeat(n)}"l":null}}`,
    `{${'"k":1,'.repeat(n)}"l":[[[${'{},'.repeat(n)}0]]]}`,
  ]) {
    const { end, turns } = walk(text, 0, () => 0);
    assert.equal(end, text.length);
    assert.ok(turns >= Math.floor(text.length / (1 << 16)) - 1, `${turns} turns in ${text.length} units`);
  }
});

test('walk: what is passed over is accepted and refused exactly as what is parsed', () => {
  const outcome = (read: () => number): number | string => {
    try {
      return read();
    } catch (error) {
      assert.ok(error instanceof JsonError, String(error));
      return `${error.message} ${error.expected} ${JSON.stringify(error.container)}`;
    }
  };
  const edit = fc.tuple(
    fc.nat(),
    fc.nat({ max: 3 }),
    fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '1', ' ', 'x'),
  );
  const texts = fc.tuple(fc.json(), fc.array(edit, { maxLength: 3 })).map(([json, edits]) => {
    let text = `{"a":${json}}`;
    for (const [at, remove, insert] of edits) {
      const place = at % (text.length + 1);
      text = text.slice(0, place) + insert + text.slice(place + remove);
    }
    return text;
  });
  fc.assert(
    fc.property(texts, (text) => {
      const walked = outcome(() => walk(text, 0, () => 0).end);
      const parsed = outcome(() => parseJsonPrefix(text).end);
      if (walked !== -1) assert.equal(walked, parsed, text);
    }),
    { numRuns: 3000 },
  );
});

test('parse: hostile texts take linear time', () => {
  for (const text of [
    `["${'\\u0041'.repeat(200_000)}"]`,
    `[${'1.0,'.repeat(300_000)}1]`,
    `["${'1234567890123456 '.repeat(60_000)}"]`,
    `["${'e1'.repeat(500_000)}"]`,
    `["${'-'.repeat(1_000_000)}0,"]`,
    `["${'.0'.repeat(500_000)}"]`,
  ]) {
    const spent = processorTime();
    parseJson(text);
    assert.ok(spent() < 3000, `${text.slice(0, 20)} took ${spent()} ms`);
  }
});
