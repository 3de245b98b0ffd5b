// Conditions on parameters of resources: they hold where they would if the parameters were parsed, and parse no parameters. What they
// are true for has their marks in its signature.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { canonicalK } from '../../../../../engine/json/canonical.ts';
import { parseJson } from '../../../../../engine/json/parse.ts';
import { storedText } from '../../../../../engine/json/stored.ts';
import type { JsonObject, JsonValue } from '../../../../../engine/json/value.ts';
import { firstKeyTest, type JsonFilter } from '../../../../../engine/query/exec/filter/json-filter.ts';
import { dottedParameterTest, marksOf, parameterTest } from '../../../../../engine/query/exec/filter/parameters.ts';
import { FALSE, TRUE, type Truth, truthOf } from '../../../../../engine/query/exec/filter/truth.ts';
import type { Row } from '../../../../../engine/query/exec/row/row.ts';
import { compileRegex } from '../../../../../engine/query/regex/regex.ts';
import type { Filter } from '../../../../../engine/query/tree.ts';
import { Mark } from '../../../../../engine/store/items/item-signatures.ts';
import { signParameters } from '../../../../../engine/store/items/parameter-marks.ts';
import { encodeResource, StoredResource } from '../../../../../engine/store/records/bodies.ts';
import { testSeed } from '../../../../support/random.ts';

const seed = testSeed('parameters');

type ParameterFilter = Extract<Filter, { kind: 'parameter' }>;

/** The parameters in front of other bytes, as they lie among other bodies. */
function rowOf(parameters: string): { row: Row; resource: StoredResource } {
  const bytes = encodeResource({
    type: 'File',
    title: 't',
    hash: 'h',
    tags: [],
    ownTag: false,
    exported: false,
    file: null,
    line: null,
    parameters,
  });
  const resource = new StoredResource();
  resource.load(Buffer.concat([Buffer.from('xx'), bytes, Buffer.from('"},{"a":"b"}')]), 2);
  return { row: { body: resource } as unknown as Row, resource };
}

const names = ['a', 'b', 'ensure', 'x"y', 'é', '', '\ud800', '\ufffd', 'a longer name'];
const stored = names.filter((name) => name !== '\ud800');
const { value: values } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(
      null,
      false,
      true,
      12,
      1.5,
      1e10,
      'x',
      'xy',
      'é',
      '"',
      '\\',
      'a\nb',
      '',
      '\ufffd',
      12345678901234567890n,
    ),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...stored, 'c/d'), tie('value'), { maxKeys: 3 }),
  ) as fc.Arbitrary<JsonValue>,
}));
const parameters = fc.dictionary(fc.constantFrom(...stored), values, { maxKeys: 5 });
const settings = { seed, numRuns: 3000 };

function equals({ name, text, others = [] }: ParameterFilter, all: JsonObject): boolean {
  return Object.hasOwn(all, name) && [text, ...others].includes(canonicalK(all[name]!));
}

test('equality holds as it does for the parsed value, of one text and of several', () => {
  const texts = fc.array(fc.oneof(values, fc.constant('\ud800')), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(parameters, fc.constantFrom(...names), texts, fc.boolean(), (all, name, wanted, isThere) => {
      const { row } = rowOf(storedText(all));
      const read = parseJson(storedText(all)) as JsonObject;
      const own = isThere && Object.hasOwn(read, name) ? [canonicalK(read[name]!)] : [];
      const [text, ...others] = [...own, ...wanted.map((value) => canonicalK(value))];
      const filter: ParameterFilter = { kind: 'parameter', op: '=', name, text: text!, others };
      for (const one of [filter, { ...filter, others: [] }])
        assert.equal(parameterTest(one, compileRegex)(row), truthOf(equals(one, read)));
    }),
    settings,
  );
});

test('a value is equal to itself however it is stored', () => {
  for (const text of ['1e10', '-0.0', '[1e10]', '{"b":[-0.0,"x"],"a":{"c":1.5e300}}', '[12345678.5]', '"a\\u0000b"']) {
    const value = parseJson(text);
    const filter: ParameterFilter = { kind: 'parameter', op: '=', name: 'a', text: canonicalK(value) };
    const { row } = rowOf(storedText({ a: value }));
    assert.equal(parameterTest(filter, compileRegex)(row), TRUE, text);
    assert.equal(parameterTest({ ...filter, text: '[1.5]', others: [filter.text] }, compileRegex)(row), TRUE, text);
  }
});

test('what is too deep, or too long, to be stored is equal to nothing', () => {
  for (const text of [`${'['.repeat(1500)}${']'.repeat(1500)}`, `[${Array(900_000).fill('1.0E308').join(',')}]`]) {
    const filter: ParameterFilter = { kind: 'parameter', op: '=', name: 'a', text };
    assert.equal(parameterTest(filter, compileRegex)(rowOf('{"a":[1]}').row), FALSE);
  }
});

test('a regular expression for the name and one for the text', () => {
  const patterns = fc.constantFrom('.', '^.$', 'x', '"', 'é', '^e', '1', '^"x"$', '^$');
  fc.assert(
    fc.property(parameters, patterns, patterns, (all, name, text) => {
      const { row } = rowOf(storedText(all));
      const read = Object.entries(parseJson(storedText(all)) as JsonObject);
      const wanted = read.some(
        ([key, value]) => compileRegex(name).test(key) && compileRegex(text).test(canonicalK(value)),
      );
      const filter: ParameterFilter = { kind: 'parameter', op: '~', name, text };
      assert.equal(parameterTest(filter, compileRegex)(row), truthOf(wanted));
    }),
    settings,
  );
});

test('a dotted parameter is found as in the parsed value', () => {
  const ops = fc.constantFrom<JsonFilter['op']>('=', '~', 'null?', '>');
  fc.assert(
    fc.property(
      parameters,
      fc.array(fc.constantFrom(...names, '0'), { minLength: 1, maxLength: 3 }),
      ops,
      (all, path, op) => {
        const { row } = rowOf(storedText(all));
        const parts = path.map((name) => ({ kind: 'name', name, quoted: false }) as const);
        const value = { '=': 'x', '~': 'x', 'null?': true, '>': 3 }[op as string] as JsonValue;
        const filter: JsonFilter = { kind: 'json', op, root: 'parameters', parts, value };
        const read = parseJson(storedText(all)) as JsonObject;
        const { first, missing, path: rest, judge } = firstKeyTest(filter, compileRegex);
        const wanted = Object.hasOwn(read, first) ? judge(rest.find(read[first]!)) : missing;
        assert.equal(dottedParameterTest(filter, compileRegex)(row), wanted);
      },
    ),
    settings,
  );
});

function signatureOf(resource: StoredResource): Mark {
  const mark = new Mark();
  signParameters(resource, mark);
  return mark;
}

/** Conditions that are true for a parameter of these, for some of its values, and for others. */
function conditionsOn(read: JsonObject, name: string, value: JsonValue): Filter[] {
  const texts = [read[name] ?? value, value, null].map((one) => canonicalK(one));
  const [text, ...others] = texts as [string, ...string[]];
  const parameter: ParameterFilter = { kind: 'parameter', op: '=', name, text };
  const parts = [{ kind: 'name', name, quoted: false } as const];
  const dotted = (op: JsonFilter['op'], wanted: JsonValue, below: JsonFilter['parts'] = []): JsonFilter => ({
    kind: 'json',
    op,
    root: 'parameters',
    parts: [...parts, ...below],
    value: wanted,
  });
  return [
    parameter,
    { ...parameter, others },
    { ...parameter, others: Array.from({ length: 20 }, (_, i) => `"${i}"`) },
    { ...parameter, op: '~', text: '.' },
    dotted('=', read[name] ?? value),
    dotted('=', 'x', [{ kind: 'name', name: 'a', quoted: false }]),
    dotted('null?', false),
    dotted('~', '.'),
    dotted('<', 100),
    { kind: 'or', args: [dotted('=', value), parameter] },
    { kind: 'or', args: [parameter, { kind: 'not', arg: parameter }] },
    { kind: 'not', arg: parameter },
    { kind: 'and', args: [{ kind: 'not', arg: dotted('=', 'x') }, parameter] },
  ];
}

test('what a condition is true for has one of its marks', () => {
  let marked = 0;
  fc.assert(
    fc.property(parameters, fc.constantFrom(...names), values, (all, name, value) => {
      const { row, resource } = rowOf(storedText(all));
      const read = parseJson(storedText(all)) as JsonObject;
      for (const filter of conditionsOn(read, name, value)) {
        const marks = marksOf(filter, compileRegex);
        if (marks === null || truthOfAny(filter, row) !== TRUE) continue;
        marked++;
        const signature = signatureOf(resource);
        assert.ok(
          marks.some((mark) => signature.covers(mark)),
          inspect(filter, { depth: null }),
        );
      }
    }),
    settings,
  );
  assert.ok(marked > 3000, `${marked} true conditions with marks`);
});

function truthOfAny(filter: Filter, row: Row): Truth {
  switch (filter.kind) {
    case 'parameter':
      return parameterTest(filter, compileRegex)(row);
    case 'json':
      return dottedParameterTest(filter, compileRegex)(row);
    case 'or':
      return truthOf(filter.args.some((arg) => truthOfAny(arg, row) === TRUE));
    case 'and':
      return truthOf(filter.args.every((arg) => truthOfAny(arg, row) === TRUE));
    case 'not':
      return truthOf(truthOfAny(filter.arg, row) !== TRUE);
    default:
      return assert.fail(filter.kind);
  }
}

test('most of what a condition is not true for lacks them', () => {
  const { resource } = rowOf(
    storedText({ ensure: 'present', owner: 'root', mode: '0644', source: 'puppet:///a/b', backup: false }),
  );
  const signature = signatureOf(resource);
  const parameter = (name: string, text: string): ParameterFilter => ({ kind: 'parameter', op: '=', name, text });
  const covered = (filter: Filter): boolean => marksOf(filter, compileRegex)!.some((mark) => signature.covers(mark));
  const wrong = (filters: Filter[]): number => filters.filter(covered).length;
  assert.ok(covered(parameter('ensure', '"present"')) && covered(parameter('backup', 'false')));
  const other = Array.from({ length: 200 }, (_, i) => `other${i}`);
  assert.ok(wrong(other.map((text) => parameter('ensure', JSON.stringify(text)))) < 40);
  assert.ok(wrong(other.map((name) => parameter(name, '"present"'))) < 20);
  assert.ok(wrong(other.map((name) => parameter(name, '1'))) < 80);
  const long = 'x'.repeat(100);
  assert.equal(wrong([parameter('ensure', `"${long}y"`), parameter('ensure', 'true')]), 0);
});

test('parameters are not parsed for a condition on one', (t) => {
  const { row, resource } = rowOf(storedText({ ensure: 'running', list: [1, { a: 'b' }] }));
  const parsed = t.mock.getter(resource, 'parameters', () => assert.fail('parsed'));
  const parameter = (op: '=' | '~', name: string, text: string): ParameterFilter => ({
    kind: 'parameter',
    op,
    name,
    text,
  });
  const dotted = (...path: string[]): JsonFilter => ({
    kind: 'json',
    op: '=',
    root: 'parameters',
    parts: path.map((name) => ({ kind: 'name', name, quoted: false })),
    value: 'running',
  });
  assert.equal(parameterTest(parameter('=', 'ensure', '"running"'), compileRegex)(row), truthOf(true));
  assert.equal(parameterTest(parameter('=', 'ensure', '"stopped"'), compileRegex)(row), FALSE);
  assert.equal(parameterTest(parameter('=', 'list', '[1,{"a":"b"}]'), compileRegex)(row), truthOf(true));
  assert.equal(parameterTest(parameter('~', '^ens', 'runn'), compileRegex)(row), truthOf(true));
  assert.equal(dottedParameterTest(dotted('ensure'), compileRegex)(row), truthOf(true));
  assert.equal(dottedParameterTest(dotted('list', 'ensure'), compileRegex)(row), FALSE);
  assert.equal(parsed.mock.callCount(), 0);
});

test('resources without parameters pass no condition on one', () => {
  for (const text of ['null', '{}']) {
    const { row } = rowOf(text);
    assert.equal(parameterTest({ kind: 'parameter', op: '=', name: 'a', text: 'null' }, compileRegex)(row), FALSE);
    assert.equal(parameterTest({ kind: 'parameter', op: '~', name: '.', text: '.' }, compileRegex)(row), FALSE);
  }
});
