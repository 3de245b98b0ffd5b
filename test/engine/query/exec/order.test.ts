// Rows in order: the first of them, or all of them, without holding the thread while very many are sorted.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Float } from '../../../../engine/json/value.ts';
import { AllRows } from '../../../../engine/query/exec/all-rows.ts';
import { ExecContext } from '../../../../engine/query/exec/context.ts';
import { compareByTypes, TopEntries } from '../../../../engine/query/exec/order.ts';
import type { Locator } from '../../../../engine/query/exec/row.ts';
import { Random, testSeed } from '../../../support/random.ts';
import { contextOptions } from '../request/fleet.ts';

const compare = compareByTypes(['N', 'S'], [false, true]);

/** From where, up to where. */
const PAGES: readonly (readonly [number, number | null])[] = [
  [0, null],
  [7, null],
  [0, 0],
  [0, 1],
  [0, 5000],
  [1, 65],
  [4990, 5000],
  [20_000, 29_000],
  [40_000, 40_001],
];

describe('entries in order', () => {
  it('are the same however many there are: equal ones as they came', () => {
    const random = new Random(testSeed('order'));
    for (const length of [0, 1, 4096, 4097, 8192, 30_001]) {
      for (const [from, max] of PAGES) {
        const top = new TopEntries<number>(compare, from, max);
        const all = Array.from({ length }, (_, place) => ({
          place,
          keys: [random.pick([1, 2, 3, null]), random.pick(['a', 'b', null])],
        }));
        for (const { keys, place } of all) top.add(keys, () => place);
        const work = top.sorted(() => true);
        let pauses = 0;
        let step = work.next();
        for (; !step.done; step = work.next()) pauses++;
        const expected = all
          .sort((a, b) => compare(a.keys, b.keys) || a.place - b.place)
          .slice(from, max ?? length)
          .map(({ place }) => place);
        assert.deepEqual(
          step.value.map(({ place }) => place),
          expected,
        );
        if (expected.length > 8192) assert.ok(pauses > expected.length / 4096, `${pauses} pauses`);
      }
    }
  });
});

describe('all rows in order', () => {
  const terms = [
    { field: 'line', descending: true },
    { field: 'title', descending: false },
    { field: 'value', descending: true },
  ];
  const types = ['N', 'S', 'V'] as const;
  const byTerms = compareByTypes(
    types,
    terms.map(({ descending }) => descending),
  );
  const values = [null, 1, new Float(1), 2, '1', 'a', true, [1], [1, 2], { a: 1 }, { a: null }];
  const placeOf = (row: number): Locator => ({
    part: row & 1,
    node: row,
    item: row * 2,
    sub: row % 3,
    spot: row % 7 === 0 ? row : null,
  });

  it('they are those that the keys say, equal ones as they came', () => {
    const random = new Random(testSeed('all rows'));
    for (const length of [0, 1, 4097, 20_001]) {
      const ctx = new ExecContext([], contextOptions);
      const rows = new AllRows(terms, types, ctx);
      const all = Array.from({ length }, (_, row) => ({
        row,
        keys: [random.pick([null, 1, 2, 3.5]), random.pick(['x', 'y\u{1f600}', null]), random.pick(values)],
      }));
      for (const { row, keys } of all) rows.add(keys, () => placeOf(row));
      assert.equal(rows.size, length);
      const from = length === 4097 ? 100 : 0;
      const work = rows.sorted(from, () => true);
      let pauses = 0;
      let step = work.next();
      for (; !step.done; step = work.next()) pauses++;
      const expected = all.sort((a, b) => byTerms(a.keys, b.keys) || a.row - b.row).slice(from);
      assert.deepEqual(
        [...step.value],
        expected.map(({ row }) => placeOf(row)),
      );
      assert.ok(pauses >= length / 4096);
    }
  });

  it('more than there is room for are refused, and the room is given back', () => {
    const orderRoom = { left: 10 << 20 };
    const ctx = new ExecContext([], { ...contextOptions, orderRoom });
    const rows = new AllRows(terms, types, ctx);
    const fill = (): void => {
      for (let row = 0; row < 1e6; row++) rows.add([row, `title ${row}`, null], () => placeOf(row));
    };
    assert.throws(
      fill,
      /^QueryError: To put its rows in order the query needs more than the 10 MiB there are; give it a limit$/,
    );
    assert.ok(rows.size > 20_000 && rows.size < 200_000, `${rows.size} rows`);
    ctx.close();
    assert.equal(orderRoom.left, 10 << 20);
  });
});
