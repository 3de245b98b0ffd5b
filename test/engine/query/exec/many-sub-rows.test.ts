// Items with thousands of sub-rows: rows in order cost what they cost in any order, and the deadline holds while they are put
// in order and written.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { execute } from '../../../../engine/query/exec/execute.ts';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { resolveEntity } from '../../../../engine/query/resolve/resolve.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { type Asked, ask, contextOptions, type Fleet, facts, NOW, newFleet } from '../request/fleet.ts';

const LEAVES = 6000;
const OWNERS = 3;
/** Many times what an answer takes, and a part of what it took when every row looked at all leaves of its fact: 20 s. */
const TIME_MAX = 4000;

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  const numbers = Array.from({ length: LEAVES }, (_, n) => n);
  fleet.apply('replace facts', 5, facts('list', { big: numbers }));
  fleet.apply('replace facts', 5, facts('objects', { big: numbers.slice(0, 1000).map((a) => ({ a, b: a, c: [a] })) }));
  const wide = (owner: number) => ({ wide: numbers.slice(0, 2000).map((n) => n * OWNERS + owner) });
  for (let owner = 0; owner < OWNERS; owner++) fleet.apply('replace facts', 5, facts(`owner${owner}`, wide(owner)));
  fleet.apply('replace catalog inputs', 1, {
    certname: 'inputs',
    producer_timestamp: '2026-11-20T00:00:00.000Z',
    catalog_uuid: '8aa0ab9a-6e11-4bd0-aa7d-e07af3ae37ac',
    inputs: numbers.map((n) => ['hiera', `key${n}`]),
  });
});
after(() => fleet.close());

function rowsOf(asked: Asked): readonly Record<string, unknown>[] {
  const spent = processorTime();
  const reply = ask(fleet, asked);
  const taken = spent();
  assert.equal(reply.head.status, 200, reply.text);
  assert.ok(taken < TIME_MAX, `${JSON.stringify(asked.query)} took ${Math.round(taken)} ms`);
  return JSON.parse(reply.text) as Record<string, unknown>[];
}

const inOrder = (path: string, filter: unknown, ...fields: string[]) =>
  rowsOf({
    path,
    query: { query: JSON.stringify(filter), order_by: JSON.stringify(fields.map((field) => ({ field }))) },
  });

describe('rows in order: many sub-rows of an item', () => {
  it('leaves of one fact by certname: each with its own path and value', () => {
    const rows = inOrder('/fact-contents', ['=', 'certname', 'list'], 'certname');
    const expected = Array.from({ length: LEAVES }, (_, n) => ['big', n, n]);
    assert.deepEqual(
      rows.map(({ path, value }) => [...(path as unknown[]), value]),
      expected,
    );
  });

  it('leaves of nested values, by path', () => {
    const rows = inOrder('/fact-contents', ['=', 'certname', 'objects'], 'path');
    assert.equal(rows.length, 3000);
    for (const { path, value } of rows) assert.equal((path as unknown[])[1], value);
  });

  it('leaves of several facts, taken by turns', () => {
    const rows = inOrder('/fact-contents', ['=', 'name', 'wide'], 'value');
    assert.deepEqual(
      rows.map(({ value }) => value),
      Array.from({ length: rows.length }, (_, n) => n),
    );
    rows.forEach(({ certname, path }, n) => {
      assert.deepEqual([certname, path], [`owner${n % OWNERS}`, ['wide', Math.floor(n / OWNERS)]]);
    });
  });

  it('those that a filter leaves', () => {
    const query = ['and', ['=', 'path', ['wide', 7]], ['~', 'certname', 'owner']];
    const rows = inOrder('/fact-contents', query, 'value');
    assert.deepEqual(
      rows.map(({ value }) => value),
      [21, 22, 23],
    );
  });

  it('inputs of a catalog', () => {
    const rows = inOrder('/catalog-input-contents', ['=', 'certname', 'inputs'], 'name');
    const names = rows.map(({ name }) => name as string);
    assert.equal(names.length, LEAVES);
    assert.deepEqual(names, [...names].sort());
  });
});

describe('rows in order: the deadline', () => {
  /** How many rows are written of a query whose time is over after 100 of them. */
  function rowsWhenLate(order: string): number {
    let now = NOW;
    let rows = 0;
    const options = { ...contextOptions, clock: () => now, deadline: () => NOW + 1000, slice: 50 };
    const row = (): void => {
      if (++rows === 100) now += 2000;
    };
    const tree = resolveEntity('fact_contents', ['=', 'certname', 'list'], {
      edition: 'community',
      orderBy: [{ field: order, order: 'asc' }],
    });
    const ctx = new ExecContext(fleet.partitions, options);
    try {
      const work = execute(tree, ctx, { row, full: false });
      assert.throws(() => {
        while (!work.next().done);
      }, /Query exceeded timeout/);
    } finally {
      ctx.close();
    }
    return rows;
  }

  for (const order of ['certname', 'path']) {
    it(`by ${order}: the answer ends soon after it`, () => {
      assert.ok(rowsWhenLate(order) < 300);
    });
  }
});
