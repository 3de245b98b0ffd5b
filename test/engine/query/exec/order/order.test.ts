// Rows in order: the first of them, or all of them, without holding the thread while very many are sorted.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Float } from '../../../../../engine/json/value.ts';
import { AllRows } from '../../../../../engine/query/exec/order/all-rows.ts';
import { type Compare, compareIn, orderOf, TopEntries } from '../../../../../engine/query/exec/order/order.ts';
import { ExecContext } from '../../../../../engine/query/exec/plan/context.ts';
import type { Value } from '../../../../../engine/query/exec/row/access.ts';
import type { Locator } from '../../../../../engine/query/exec/row/row.ts';
import type { FieldType } from '../../../../../schemas/entities.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { ask, contextOptions, facts, newFleet } from '../../request/fleet.ts';

const compareByTypes = (types: readonly FieldType[], descending: readonly boolean[]): Compare =>
  compareIn(types.map((type, i) => orderOf(type, descending[i]!)));
const compare = compareByTypes(['N', 'S'], [false, true]);

/** From the first to the last; equal ones in a list. The database's null is the last, that of a JSON document has its place. */
const ASCENDING: Readonly<Partial<Record<FieldType, readonly (readonly Value[])[]>>> = {
  N: [[-1], [2, 2n], [3.5], [10], [2n ** 60n], [null]],
  T: [[0], [1_700_000_000_000], [null]],
  B: [[false], [true], [null]],
  S: [[''], ['10'], ['2'], ['y\uffff'], ['y\u{1f600}'], [null]],
  V: [[[]], [null], ['1'], ['a'], [1, new Float(1)], [2], [false], [true], [[9]], [[1, 2]], [{}], [{ a: 1 }]],
  A: [[[]], [['a']], [['a', 'b']], [['b']], [null]],
  PA: [[['a']], [['a', 1]], [['a', 10]], [['a', 2]], [['b']], [null]],
  PE: [['a'], ['a#~1'], ['b'], [null]],
};

/** Of zero none. */
const signOf = (compared: number): number => Math.sign(compared) + 0;

/** Of the values of facts. */
const VALUES_ASCENDING = ['[]', 'null', '"x"', '1', '2', 'true', '[2]', '{}'];

describe('values in order', () => {
  for (const type of Object.keys(ASCENDING) as FieldType[]) {
    it(`of the type ${type}, and the other way round`, () => {
      const places = ASCENDING[type]!;
      for (const [i, xs] of places.entries()) {
        for (const [j, ys] of places.entries()) {
          for (const x of xs) {
            for (const y of ys) {
              assert.equal(signOf(orderOf(type, false)(x, y)), signOf(i - j), `${x} ${y}`);
              assert.equal(signOf(orderOf(type, true)(x, y)), signOf(j - i), `${x} ${y} descending`);
            }
          }
        }
      }
    });
  }

  it('null is among the values of facts, also where a page is full', async () => {
    const fleet = newFleet();
    const rank = (value: unknown): number => VALUES_ASCENDING.indexOf(JSON.stringify(value));
    const shown = (path: string, query: Record<string, string>): unknown[] =>
      (JSON.parse(ask(fleet, { path, query }).text) as { value: unknown }[]).map(({ value }) => value);
    try {
      fleet.apply('replace facts', 5, facts('a.example.com', { a: {}, b: [2], c: null, d: true, e: 'x', f: 1, g: [] }));
      fleet.apply('replace facts', 5, facts('b.example.com', { h: [2], i: null, j: [] }));
      for (const path of ['/facts', '/fact-contents']) {
        const all = shown(path, {}).sort((x, y) => rank(x) - rank(y));
        for (let limit = 1; limit <= all.length; limit++) {
          for (const order of ['asc', 'desc']) {
            const page = shown(path, { order_by: JSON.stringify([{ field: 'value', order }]), limit: `${limit}` });
            assert.deepEqual(
              page,
              (order === 'asc' ? all : all.toReversed()).slice(0, limit),
              `${path} ${order} ${limit}`,
            );
          }
        }
      }
    } finally {
      await fleet.close();
    }
  });
});
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

it('the first entries are known as soon as there are so many, whatever comes later', () => {
  for (const end of [1, 2, 65, 200]) {
    // A step that has nothing in common with a prime goes through all numbers below it.
    for (const step of [1, 7, 389, 1511, 2002]) {
      const top = new TopEntries<number>(compareByTypes(['N'], [false]), 0, end);
      for (let i = 0; i < 2003; i++) {
        const key = (i * step) % 2003;
        top.add([key], () => key);
        if (i + 1 < end) assert.equal(top.last, null);
        else assert.ok((top.last![0] as number) >= end - 1);
        assert.equal(top.size, Math.min(i + 1, end));
      }
      const { value } = top.sorted(() => false).next();
      assert.deepEqual(
        (value as { place: number }[]).map(({ place }) => place),
        [...Array(end).keys()],
        `${step}`,
      );
    }
  }
});

const ALL = { from: 0, end: Number.POSITIVE_INFINITY };

describe('all rows in order', () => {
  const VALUES: Readonly<Partial<Record<FieldType, readonly Value[]>>> = {
    N: [null, 1, 2, 3.5, -1, 2n ** 60n],
    T: [null, 0, 1_700_000_000_000],
    B: [null, true, false],
    S: ['x', 'y\u{1f600}', 'y\uffff', '', null],
    V: [null, 1, new Float(1), 2, '1', 'a', true, [1], [1, 2], { a: 1 }, { a: null }],
    A: [null, [], ['a'], ['a', 'b'], ['b']],
    PA: [['a'], ['a', 1], ['a', 10], ['b'], null],
  };
  const types = Object.keys(VALUES) as FieldType[];
  const random = new Random(testSeed('all rows'));
  const placeOf = (row: number): Locator => ({
    part: row & 1,
    node: (row * 7919) % 1000,
    item: row * 2,
    sub: row % 3,
    spot: row % 7 === 0 ? row : null,
  });

  it('they are those that the keys say, equal ones as they came or by their places', () => {
    for (const length of [0, 1, 4096, 4097, 20_001]) {
      for (const placed of [null, 'item', 'report'] as const) {
        const used = [random.pick(types), random.pick(types)];
        const terms = used.map((type) => ({ field: type, descending: random.below(2) === 1 }));
        const compare = compareByTypes(
          used,
          terms.map(({ descending }) => descending),
        );
        const byPlace = (a: Locator, b: Locator): number =>
          placed === null
            ? 0
            : a.part - b.part || (placed === 'report' ? 0 : a.node - b.node) || a.item - b.item || a.sub - b.sub;
        const all = Array.from({ length }, (_, row) => ({
          row,
          place: placeOf(row),
          keys: used.map((type) => random.pick(VALUES[type]!)),
        }));
        const expected = [...all].sort((a, b) => compare(a.keys, b.keys) || byPlace(a.place, b.place) || a.row - b.row);
        // The keys that rows come with end with their places, as in pages.
        const whole = (a: readonly Value[], b: readonly Value[]): number =>
          compare(a, b) || byPlace(all[Number(a[2])]!.place, all[Number(b[2])]!.place);
        const from = length === 4097 ? 100 : 0;
        const end = length === 20_001 ? 15_000 : Number.POSITIVE_INFINITY;
        const rows = new AllRows(
          { terms, types: used, ordering: { compare: whole }, placed, from, end },
          new ExecContext([], contextOptions),
        );
        for (const { row, keys } of all) rows.add([...keys, row], () => placeOf(row));
        assert.equal(rows.size, length);
        const work = rows.sorted(() => true);
        let pauses = 0;
        let step = work.next();
        for (; !step.done; step = work.next()) pauses++;
        assert.deepEqual(
          [...step.value],
          expected.slice(from, end).map(({ place }) => place),
          `${length} by ${used} ${placed}`,
        );
        assert.ok(pauses >= length / 4096);
      }
    }
  });

  it('more than there is room for are refused, and the room is given back', () => {
    const room = { left: 10 << 20 };
    const ctx = new ExecContext([], { ...contextOptions, room });
    const terms = [
      { field: 'line', descending: true },
      { field: 'title', descending: false },
    ];
    const made = () =>
      new AllRows({ terms, types: ['N', 'S'], ordering: { compare: () => 0 }, placed: null, ...ALL }, ctx);
    const rows = made();
    const fill = (): void => {
      for (let row = 0; row < 1e6; row++) rows.add([row, `title ${row}`], () => placeOf(row));
    };
    const refusal =
      /^QueryError: To put its rows in order the query needs more than the 10 MiB there are; give it a limit, or a smaller offset$/;
    assert.throws(fill, refusal);
    assert.ok(rows.size > 20_000 && rows.size < 200_000, `${rows.size} rows`);
    ctx.close();
    assert.equal(room.left, 10 << 20);
  });

  it('few rows with long keys count, too', () => {
    const room = { left: 1 << 20 };
    const ctx = new ExecContext([], { ...contextOptions, room });
    const long = 'x'.repeat(100_000);
    for (const [type, value] of [
      ['S', long],
      ['J', { long }],
    ] as const) {
      const terms = [{ field: type, descending: false }];
      const rows = new AllRows({ terms, types: [type], ordering: { compare: () => 0 }, placed: null, ...ALL }, ctx);
      const fill = (): void => {
        for (let row = 0; row < 100; row++)
          rows.add([typeof value === 'string' ? `${row}${value}` : { ...value, row }], () => placeOf(row));
      };
      assert.throws(fill, /^QueryError: To put its rows in order/, type);
    }
    ctx.close();
    ctx.close();
    assert.equal(room.left, 1 << 20);
  });

  it('once they are in order their keys take no room any more', () => {
    const room = { left: 100 << 20 };
    const ctx = new ExecContext([], { ...contextOptions, room });
    const options = { terms: [{ field: 'title', descending: false }], types: ['S'] as const, placed: null, ...ALL };
    const rows = new AllRows({ ...options, ordering: { compare: () => 0 } }, ctx);
    for (let row = 0; row < 50_000; row++) rows.add([`title ${row}`], () => ({ ...placeOf(row), spot: null }));
    const { left } = room;
    const work = rows.sorted(() => false);
    assert.ok(work.next().done);
    assert.ok(room.left > left + 50_000 * 100, `${room.left - left}`);
    ctx.close();
    assert.equal(room.left, 100 << 20);
  });
});
