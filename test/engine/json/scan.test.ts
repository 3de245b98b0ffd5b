import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elementAt, endOfString, endOfValue, keyOf, memberAt } from '../../../engine/json/scan.ts';

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value), 'utf8');

const VALUES: readonly unknown[] = [
  null,
  true,
  -1.5e30,
  '',
  'a "quoted" \\ text, with ] and }',
  'Línux ☃',
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
