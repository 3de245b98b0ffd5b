// Elements by their text: whatever is remembered, and whatever came behind it last time, a list gives the values that a
// parser of the whole gives, and a text that is no list gives none.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ElementKernel } from '../../../../engine/ingest/known/element-kernel.ts';
import { ElementMemo, OWN_NAME, type ReadElement } from '../../../../engine/ingest/known/elements.ts';

const readText = (element: string): ReadElement<unknown> | null => {
  try {
    return { value: JSON.parse(element), bytes: element.length };
  } catch {
    return null;
  }
};

const read = (kernel: ElementKernel): ReadElement<unknown> | null => readText(kernel.text());

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
        assert.deepEqual(memo.values(Buffer.from(text), read), JSON.parse(text));
      }
    }),
  );
});

test('elements: a text that is no list is refused, whatever is remembered', () => {
  const memo = new ElementMemo<unknown>(1_000_000);
  const seen = ['[1,"a",[1,2],{"a":1}]', '[12,1]', '["a,b"]'];
  for (const known of [...seen, ...seen]) memo.values(Buffer.from(known), read);
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
  for (const text of broken.filter((one) => one !== '{1}'))
    assert.equal(memo.values(Buffer.from(text), read), null, text);
});

test('elements: only the white space of JSON may surround elements, whatever is remembered', () => {
  const memo = new ElementMemo<unknown>(1_000_000);
  for (let code = 0; code <= 0x20; code++) {
    const blank = String.fromCharCode(code);
    for (const text of [`[${blank}]`, `[${blank}1,2]`, `[1${blank},2]`, `[1,${blank}2]`, `[1,2${blank}]`]) {
      const isWhite = ' \n\r\t'.includes(blank);
      for (let time = 0; time < 3; time++) {
        memo.values(Buffer.from('[1,2]'), read);
        assert.deepEqual(memo.values(Buffer.from(text), read), isWhite ? JSON.parse(text) : null, JSON.stringify(text));
      }
    }
  }
});

test('elements: what came behind an element last time is found without being asked for', () => {
  const memo = new ElementMemo<unknown>(1_000_000);
  const asked: string[] = [];
  const counting = (kernel: ElementKernel): ReadElement<unknown> | null => {
    asked.push(kernel.text());
    return read(kernel);
  };
  const shared = Array.from({ length: 50 }, (_, index) => `{"shared":${index}}`);
  memo.values(Buffer.from(`[${shared.join()}]`), counting);
  memo.values(Buffer.from(`[${shared.join()}]`), counting);
  assert.equal(asked.length, 100);
  // One of its own, one left out, one at another place.
  const other = [...shared.slice(0, 10), '{"own":1}', ...shared.slice(11, 30), shared[40], ...shared.slice(30)];
  assert.deepEqual(memo.values(Buffer.from(`[${other.join()}]`), counting), JSON.parse(`[${other.join()}]`));
  assert.deepEqual(asked.slice(100), ['{"own":1}']);
});

test('elements: what comes once is not remembered, what comes again is', () => {
  const memo = new ElementMemo<unknown>(1_000_000);
  const asked: [string, boolean][] = [];
  const counting = (kernel: ElementKernel, isKept: boolean): ReadElement<unknown> | null => {
    asked.push([kernel.text(), isKept]);
    return read(kernel);
  };
  for (let list = 1; list <= 4; list++) {
    const text = `[{"own":${list}},{"shared":1},{"shared":2}]`;
    assert.deepEqual(memo.values(Buffer.from(text), counting), JSON.parse(text));
  }
  const shared = (isKept: boolean): [string, boolean][] => [
    ['{"shared":1}', isKept],
    ['{"shared":2}', isKept],
  ];
  const first: [string, boolean][] = [['{"own":1}', false], ...shared(false)];
  const second: [string, boolean][] = [['{"own":2}', false], ...shared(true)];
  assert.deepEqual(asked, [...first, ...second, ['{"own":3}', false], ['{"own":4}', false]]);
});

test('elements: the certname is left out of texts, of whichever node they were remembered', () => {
  // The beginnings of one another, of one size, with characters that JSON escapes, longer than eight bytes and shorter.
  const certnames = ['a', 'ab', 'node-1', 'node-2', 'node-1.example.com', 'say "x"', 'é', 'x'.repeat(600)];
  const literals = certnames.map((certname) => JSON.stringify(certname));
  const string = fc.oneof(fc.constantFrom(...literals), fc.constantFrom('"b"', '""', '"\\"a\\""', '"\\\\"'));
  const element = fc.oneof(
    string,
    fc.tuple(string, string, string).map(([key, one, other]) => `{${key}: [${one},${other}],"last":${key}}`),
    fc.tuple(string, string).map(([one, other]) => `["common",${one},1,${other}]`),
  );
  const list = fc.tuple(fc.constantFrom(...certnames), fc.array(element, { maxLength: 8 }));
  fc.assert(
    fc.property(fc.array(list, { maxLength: 12 }), (lists) => {
      const memo = new ElementMemo<string>(100_000);
      for (const [certname, texts] of [...lists, ...lists, ...lists]) {
        const counts: number[] = [];
        const values = memo.values(
          Buffer.from(`[${texts.join()}]`),
          (kernel) => {
            const text = kernel.text();
            counts.push(text.split(OWN_NAME).length - 1 - kernel.names);
            return { value: text, bytes: 1 };
          },
          certname,
        );
        assert.deepEqual(
          values,
          texts.map((text) => withoutName(text, JSON.stringify(certname))),
        );
        assert.ok(counts.every((difference) => difference === 0));
      }
    }),
    { numRuns: 500 },
  );
});

test('elements: a certname without characters stands in the texts, which are never longer than the list', () => {
  const list = Array.from({ length: 4000 }, (_, index) => ({
    type: 'File',
    title: `${index}`,
    tags: ['file'],
    exported: false,
    parameters: { list: Array.from({ length: 9 }, () => '') },
  }));
  // What is written of one resource must not lie where the texts of others are.
  const reading = (kernel: ElementKernel): ReadElement<unknown> | null => {
    assert.notEqual(kernel.resource(), null);
    return read(kernel);
  };
  const memo = new ElementMemo<unknown>(10_000_000);
  for (let time = 0; time < 3; time++)
    assert.deepEqual(memo.values(Buffer.from(JSON.stringify(list)), reading, ''), list);
});

/** The literal replaced where it is a whole string. */
const withoutName = (text: string, literal: string): string =>
  text.replace(/"(?:[^"\\]|\\.)*"/g, (string) => (string === literal ? OWN_NAME : string));

test('elements: lists of any size, of elements of any size, are read', () => {
  const memo = new ElementMemo<unknown>(1_000_000);
  const certname = 'node-1.example.com';
  for (const count of [1, 5000, 100_000]) {
    for (const size of [0, 40, 4000].filter((size) => size * count <= 4_000_000)) {
      const list = Array.from({ length: count }, (_, index) => ({
        index,
        is: certname,
        text: 'é'.repeat(index % (size + 1)),
      }));
      const text = JSON.stringify(list);
      for (let time = 0; time < 3; time++) {
        const values = memo.values(
          Buffer.from(text),
          (kernel) => readText(kernel.text().replaceAll(OWN_NAME, JSON.stringify(certname))),
          certname,
        );
        assert.deepEqual(values, list);
      }
    }
  }
  // Longer than what is looked at at a time: then it is for a parser of the whole.
  assert.equal(memo.values(Buffer.from(JSON.stringify(['x'.repeat(200_000)])), read), null);
  assert.deepEqual(memo.values(Buffer.from('[1]'), read), [1]);
});

test('elements: what comes to nothing leaves nothing wrong behind', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.array(elements, { maxLength: 6 }), fc.constantFrom('', '', ',', ',x', ',}', ',"'))),
      (lists) => {
        const memo = new ElementMemo<unknown>(3000);
        for (const [list, end] of [...lists, ...lists, ...lists]) {
          const text = `[${list.join()}${end}]`;
          const values = memo.values(Buffer.from(text), read);
          let expected: unknown = null;
          try {
            expected = JSON.parse(text);
          } catch {
            // No list.
          }
          assert.deepEqual(values, expected);
        }
      },
    ),
  );
});
