// The indented form against a printer that walks the value: they say the same, whatever the text looks like.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { ByteWriter } from '../../../engine/bytes.ts';
import { PrettyText, prettyBytes, prettyText } from '../../../engine/json/pretty.ts';
import type { JsonValue } from '../../../engine/json/value.ts';

function expected(value: unknown, depth = 0): string {
  if (Array.isArray(value)) {
    return value.length === 0 ? '[ ]' : `[ ${value.map((element) => expected(element, depth)).join(', ')} ]`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return '{ }';
  const inner = '  '.repeat(depth + 1);
  const lines = entries.map(([key, member]) => `${inner}${JSON.stringify(key)} : ${expected(member, depth + 1)}`);
  return `{\n${lines.join(',\n')}\n${'  '.repeat(depth)}}`;
}

it('any value: the same as printed from the value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, ' ', '\t'), (value, space) => {
      assert.equal(prettyText(JSON.stringify(value, null, space)), expected(JSON.parse(JSON.stringify(value))));
    }),
    { numRuns: 2000 },
  );
});

it('in parts of any size, from the middle of a text: the same', () => {
  const long = fc.string({
    minLength: 15_000,
    maxLength: 40_000,
    unit: fc.constantFrom('a', '"', '\\', '\n', 'é', '😀'),
  });
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 6 }),
    fc.array(long, { maxLength: 3 }),
    fc.dictionary(long, fc.double()),
  );
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 50_000 }), fc.nat(3), (given, max, before) => {
      const json = JSON.stringify(given);
      const source = Buffer.from(`${'"'.repeat(before)}${json}]`);
      const text = new PrettyText(source, before, source.length - 1);
      const out = new ByteWriter(0);
      const parts: Buffer[] = [];
      for (let isWhole = false; !isWhole; ) {
        isWhole = text.write(out, max);
        assert.ok(isWhole || out.length >= max);
        assert.ok(out.length < max + 20_000, `${out.length} bytes in a part of ${max}`);
        parts.push(Buffer.from(out.take()));
      }
      assert.equal(Buffer.concat(parts).toString(), expected(JSON.parse(json)));
    }),
    { numRuns: 300 },
  );
});

it('texts with punctuation, quotes, backslashes and other scripts stay as they are', () => {
  const value = { '{"a":[1]}': '\\", [', 'grüße ☃ 😀': ['\\', '"', ':', ',', '', ' '], n: [1.5e300, -0.1, true, null] };
  assert.equal(prettyText(JSON.stringify(value)), expected(value));
});

it('spelling of numbers stays', () => {
  assert.equal(prettyText('[1.0,1e5,-0,100000000000000000000000]'), '[ 1.0, 1e5, -0, 100000000000000000000000 ]');
});

it('what is deeply nested is indented whole', () => {
  let deep: unknown = 1;
  for (let i = 0; i < 60; i++) deep = { a: deep };
  assert.equal(prettyText(JSON.stringify(deep)), expected(deep));
});

it('what would be longer than it may be stays compact', () => {
  const value = { a: [1, { b: 'x' }], c: {} };
  const pretty = expected(value);
  assert.equal(Buffer.from(prettyBytes(value, pretty.length)).toString(), pretty);
  assert.equal(Buffer.from(prettyBytes(value, pretty.length - 1)).toString(), JSON.stringify(value));
  let deep: unknown = 1;
  for (let i = 0; i < 900; i++) deep = { a: deep };
  const list = Array.from({ length: 100 }, () => deep) as JsonValue;
  assert.equal(Buffer.from(prettyBytes(list, 1e6)).toString(), JSON.stringify(list));
});
