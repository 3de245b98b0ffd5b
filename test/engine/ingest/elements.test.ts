// Elements by their text: whatever is remembered, and whatever came behind it last time, a list gives the values that a
// parser of the whole gives, and a text that is no list gives none.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ElementMemo, type ReadElement } from '../../../engine/ingest/elements.ts';

const read = (element: string): ReadElement<unknown> | null => {
  try {
    return { value: JSON.parse(element), bytes: element.length };
  } catch {
    return null;
  }
};

/** Elements that are the beginning of one another, or hold what separates elements. */
const elements = fc.oneof(
  fc.constantFrom(
    '1',
    '12',
    '1.5',
    '""',
    '"a"',
    '"a,b"',
    '"a\\"]"',
    '"\\\\"',
    '[]',
    '[1]',
    '[1,2]',
    '{}',
    '{"a":[1]}',
    'null',
  ),
  fc.json({ maxDepth: 2 }),
);
const blanks = fc.constantFrom('', '', '', ' ', '\n  ');

test('elements: values are those of a parser, list after list', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.tuple(blanks, elements, blanks)), { maxLength: 20 }), (lists) => {
      // Small enough to forget, large enough to remember something.
      const memo = new ElementMemo<unknown>(3000);
      // Each list three times: the second time it is remembered, the third time it goes on as expected.
      for (const list of lists.flatMap((one) => [one, one, one])) {
        const text = `[${list.map((parts) => parts.join('')).join(',')}]`;
        assert.deepEqual(memo.values(text, read), JSON.parse(text));
      }
    }),
  );
});

test('elements: a text that is no list is refused, whatever is remembered', () => {
  const memo = new ElementMemo<unknown>(1_000_000);
  const seen = ['[1,"a",[1,2],{"a":1}]', '[12,1]', '["a,b"]'];
  for (const known of [...seen, ...seen]) memo.values(known, read);
  const broken = [
    '',
    '[',
    ']',
    '1',
    '[1',
    '1]',
    '[1,]',
    '[,1]',
    '[1,,2]',
    '[1 2]',
    '[1],[2]',
    '[1,2],[1,2]',
    '["a]',
    '["a"b]',
    '[{"a":1]}]',
    '{1}',
    '[1}',
    '[a]',
  ];
  for (const text of broken.filter((one) => one !== '{1}')) assert.equal(memo.values(text, read), null, text);
});

test('elements: what came behind an element last time is found without being asked for', () => {
  const memo = new ElementMemo<unknown>(1_000_000);
  const asked: string[] = [];
  const counting = (element: string): ReadElement<unknown> | null => {
    asked.push(element);
    return read(element);
  };
  const shared = Array.from({ length: 50 }, (_, index) => `{"shared":${index}}`);
  memo.values(`[${shared.join()}]`, counting);
  memo.values(`[${shared.join()}]`, counting);
  assert.equal(asked.length, 100);
  // One of its own, one left out, one at another place.
  const other = [...shared.slice(0, 10), '{"own":1}', ...shared.slice(11, 30), shared[40], ...shared.slice(30)];
  assert.deepEqual(memo.values(`[${other.join()}]`, counting), JSON.parse(`[${other.join()}]`));
  assert.deepEqual(asked.slice(100), ['{"own":1}']);
});

test('elements: what comes once is not remembered, what comes again is', () => {
  const memo = new ElementMemo<unknown>(1_000_000);
  const asked: [string, boolean][] = [];
  const counting = (element: string, isKept: boolean): ReadElement<unknown> | null => {
    asked.push([element, isKept]);
    return read(element);
  };
  for (let list = 1; list <= 4; list++) {
    const text = `[{"own":${list}},{"shared":1},{"shared":2}]`;
    assert.deepEqual(memo.values(text, counting), JSON.parse(text));
  }
  const shared = (isKept: boolean): [string, boolean][] => [
    ['{"shared":1}', isKept],
    ['{"shared":2}', isKept],
  ];
  const first: [string, boolean][] = [['{"own":1}', false], ...shared(false)];
  const second: [string, boolean][] = [['{"own":2}', false], ...shared(true)];
  assert.deepEqual(asked, [...first, ...second, ['{"own":3}', false], ['{"own":4}', false]]);
});
