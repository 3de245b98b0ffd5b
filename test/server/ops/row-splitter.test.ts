import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RowSplitter } from '../../../server/ops/questions/row-splitter.ts';

/** The rows of the text, which comes in parts that end there. */
function rowsOf(text: string, places: readonly number[] = []): string[] {
  const bytes = Buffer.from(text);
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  const splitter = new RowSplitter();
  const rows: string[] = [];
  let at = 0;
  for (const end of ends) {
    rows.push(...splitter.push(Uint8Array.from(bytes.subarray(at, end))));
    at = end;
  }
  splitter.end();
  return rows;
}

test('row splitter: any list cut anywhere gives its elements', () => {
  const cuts = fc.array(fc.nat(), { maxLength: 20 });
  const element = fc.oneof(fc.json(), fc.json({ stringUnit: 'binary' }));
  fc.assert(
    fc.property(fc.array(element, { maxLength: 8 }), cuts, fc.boolean(), (elements, places, spaced) => {
      const values = elements.map((text) => JSON.parse(text));
      const text = JSON.stringify(values, null, spaced ? 2 : 0);
      assert.deepEqual(
        rowsOf(text, places).map((row) => JSON.parse(row)),
        values,
      );
    }),
  );
});

test('row splitter: brackets, quotes and commas of strings are their own, wherever they are cut', () => {
  const values = ['],[', '{"a":"\\"}', '\\', 'x\\\\"', '日本,ü"', 'long enough for words of four bytes, "and" more\\'];
  const text = JSON.stringify([{ values, [values[1]!]: values }, ...values]);
  for (let first = 0; first < Buffer.byteLength(text); first++) {
    const rows = rowsOf(text, [first, first + 1, first + 7]).map((row) => JSON.parse(row));
    assert.deepEqual(rows, [{ values, [values[1]!]: values }, ...values]);
  }
});

test('row splitter: an empty list has no rows, and one without its end is an error', () => {
  assert.deepEqual([rowsOf('[]'), rowsOf('[ ]', [1])], [[], []]);
  for (const text of ['', '[', '[1', '[1,2', '["]']) assert.throws(() => rowsOf(text), /no.* a complete JSON array/);
});
