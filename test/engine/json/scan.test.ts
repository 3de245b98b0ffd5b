import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elementAt, endOfString, endOfValue, keyOf, memberAt } from '../../../engine/json/scan.ts';
import { storedText } from '../../../engine/json/stored.ts';
import type { JsonValue } from '../../../engine/json/value.ts';

const bytesOf = (value: unknown): Buffer => Buffer.from(storedText(value as JsonValue), 'utf8');

const VALUES: readonly unknown[] = [
  null,
  true,
  -1.5e30,
  '',
  'a "quoted" \\ text, with ] and }',
  'Línux ☃',
  ...[60, 61, 62, 63, 64, 65].flatMap((size) => [`${'x'.repeat(size)}"\\`, `${'x'.repeat(size)}\\\\"\\\\`.repeat(3)]),
  [],
  {},
  [1, [2, { a: ']' }], 'x'],
  { a: 1, 'b"c': { d: [{}] }, '': 'empty', é: 2, '\n': 3, __proto__x: 4 },
];

test('a value ends where its text does, whatever follows', () => {
  for (const value of VALUES) {
    const text = bytesOf(value);
    for (const tail of ['', ',1', ']', '}']) {
      const all = Buffer.concat([text, Buffer.from(tail)]);
      assert.equal(endOfValue(all, 0, all.length), text.length, `${text} before ${tail}`);
    }
    if (typeof value === 'string') assert.equal(endOfString(text, 0, text.length), text.length);
  }
});

test('a member is found by its key, escaped or not, and no other', () => {
  for (const value of VALUES) {
    const bytes = bytesOf([value, 'behind']).subarray(1);
    const end = endOfValue(bytes, 0, bytes.length);
    const members = value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
    for (const [key, member] of members) {
      const at = memberAt(bytes, 0, end, keyOf(key));
      assert.deepEqual(JSON.parse(bytes.toString('utf8', at, endOfValue(bytes, at, end))), member);
    }
    for (const key of ['no', 'A', 'b', 'd', 'behind', '\\n']) {
      if (!members.some(([name]) => name === key)) assert.equal(memberAt(bytes, 0, end, keyOf(key)), -1, key);
    }
  }
});

test('keys behind the one that is looked for, which are longer, are not looked at', () => {
  const bytes = bytesOf({ aa: 1, b: 2, é: 3, 'x"': 4, long: 5 });
  const end = bytes.length;
  const reads = new Set<number>();
  const seen = new Proxy(bytes, {
    get(target, place) {
      if (typeof place === 'string') reads.add(Number(place));
      return Reflect.get(target, place, target);
    },
  });
  assert.equal(memberAt(seen, 0, end, keyOf('c')), -1);
  assert.ok(Math.max(...reads) < bytes.indexOf('x'), 'none behind the first that is longer');
  // Keys of which the bytes do not tell the length are passed over.
  assert.ok(memberAt(bytes, 0, end, keyOf('x"')) > 0);
});

test('an element is found by its index, in lists only', () => {
  for (const value of VALUES) {
    const bytes = bytesOf([value, 'behind']).subarray(1);
    const end = endOfValue(bytes, 0, bytes.length);
    const list = Array.isArray(value) ? value : [];
    for (let index = 0; index < 5; index++) {
      const at = elementAt(bytes, 0, end, index);
      if (index >= list.length) assert.equal(at, -1);
      else assert.deepEqual(JSON.parse(bytes.toString('utf8', at, endOfValue(bytes, at, end))), list[index]);
    }
  }
});
