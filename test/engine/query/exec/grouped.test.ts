// How groups go out: those of one node before the next node's rows are looked at, in any order, in pages, and only as many as there is room
// for. What ordered subqueries keep has the same bound.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { JsonValue } from '../../../../engine/json/value.ts';
import { execute } from '../../../../engine/query/exec/execute.ts';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { resolveEntity } from '../../../../engine/query/resolve/resolve.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { catalog, contextOptions, type Fleet, facts, newFleet } from '../request/fleet.ts';

const NODES = 40;
const RESOURCES = 25;

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  for (let node = 0; node < NODES; node++) {
    const resources = Array.from({ length: RESOURCES }, (_, i) => ({
      type: ['File', 'Exec', 'User'][i % 3]!,
      title: `${i} of ${i % 2 === 0 ? 'all' : node}`,
      exported: i % 5 === 0,
      tags: [],
      file: null,
      line: i % 4 === 0 ? null : (i * node) % 11,
      parameters: {},
    }));
    fleet.apply('replace catalog', 9, { ...catalog(`n${node}.example.com`), edges: [], resources });
  }
});
after(() => fleet.close());

interface Asked {
  readonly order?: readonly (readonly [string, 'asc' | 'desc'])[];
  readonly limit?: number;
  readonly offset?: number;
  readonly keptMax?: number;
  readonly room?: { left: number };
  readonly onTotal?: (total: number) => void;
}

/** Opens a query of resources; `rows`: what has come so far. */
function opened(ast: JsonValue, { order = [], limit, offset, keptMax, room, onTotal }: Asked = {}) {
  const ctx = new ExecContext(fleet.partitions, { ...contextOptions, keptMax, room });
  const tree = resolveEntity('resources', ast, {
    edition: 'community',
    orderBy: order.map(([field, direction]) => ({ field, order: direction })),
    ...(limit !== undefined && { limit }),
    ...(offset !== undefined && { offset }),
  });
  const rows: string[] = [];
  const sink = { row: (text: unknown) => rows.push(String(text)), full: false };
  return { ctx, rows, sink, steps: execute(tree, ctx, sink, { ...(onTotal && { onTotal }) }) };
}

function answer(ast: JsonValue, asked: Asked = {}): string[] {
  const { ctx, rows, steps } = opened(ast, asked);
  try {
    for (const _ of steps);
  } finally {
    ctx.close();
  }
  return rows;
}

const grouped = (...by: readonly string[]) => ['extract', [...by, ['function', 'count']], ['group_by', ...by]];

describe('groups of one node', () => {
  it('go out before the next node is looked at', () => {
    const { ctx, rows, sink, steps } = opened(grouped('certname', 'title'));
    sink.full = true;
    const lengths: number[] = [];
    let scanned = 0;
    for (const _ of steps) {
      if (rows.length === lengths.at(-1)) continue;
      lengths.push(rows.length);
      scanned = ctx.trace.selections[0]!.partitions.reduce((sum, { scan }) => sum + scan.rows, 0);
      assert.ok(scanned < rows.length + RESOURCES, `${scanned} rows for ${rows.length} groups`);
    }
    ctx.close();
    assert.equal(rows.length, NODES * RESOURCES);
    assert.ok(lengths.length >= rows.length - 1);
  });

  it('are looked at no further than a page reaches, and pages make up all', () => {
    const all = answer(grouped('certname', 'title'));
    const seen: string[] = [];
    for (let offset = 0; offset <= all.length; offset += 60)
      seen.push(...answer(grouped('certname', 'title'), { limit: 60, offset }));
    assert.deepEqual(seen, all);
    // One more than the first node has.
    assert.deepEqual(answer(grouped('certname', 'title'), { limit: RESOURCES + 1 }), all.slice(0, RESOURCES + 1));
    const { ctx, steps } = opened(grouped('certname', 'title'), { limit: 10 });
    for (const _ of steps);
    assert.equal(
      ctx.trace.selections[0]!.partitions.reduce((sum, { scan }) => sum + scan.rows, 0),
      RESOURCES,
    );
    ctx.close();
  });
});

it('all groups are counted, of which the page may be few', () => {
  for (const order of [[], [['certname', 'asc']]] as const) {
    for (const by of [['certname', 'title'], ['certname'], ['type']]) {
      if (order.length > 0 && !by.includes('certname')) continue;
      const all = answer(grouped(...by), { order });
      const totals: number[] = [];
      const page = answer(grouped(...by), { order, limit: 3, offset: 1, onTotal: (total) => totals.push(total) });
      assert.deepEqual(page, all.slice(1, 4));
      assert.deepEqual(totals, [all.length], by.join());
    }
  }
});

it('groups in any order are those of its pages', () => {
  for (const by of [
    ['certname', 'title'],
    ['type', 'line'],
    ['line', 'exported', 'title'],
    ['certname', 'line'],
  ]) {
    for (const direction of ['asc', 'desc'] as const) {
      const order = by.toReversed().map((field, i) => [field, i === 0 ? direction : 'asc'] as const);
      const all = answer(grouped(...by), { order });
      const seen: string[] = [];
      for (let offset = 0; offset <= all.length; offset += 37)
        seen.push(...answer(grouped(...by), { order, limit: 37, offset }));
      assert.deepEqual(seen, all, JSON.stringify(order));
      assert.deepEqual([...all].sort(), answer(grouped(...by)).sort());
      assert.deepEqual(answer(grouped(...by), { order, offset: 5 }), all.slice(5));
    }
  }
});

it('an order by what is not grouped by is refused, whether there are groups or not', () => {
  for (const filter of [
    ['=', 'exported', true],
    ['=', 'title', 'none'],
  ]) {
    const ast: JsonValue = ['extract', ['type', ['function', 'count']], filter, ['group_by', 'type']];
    for (const page of [{}, { limit: 5 }]) {
      assert.throws(
        () => answer(ast, { order: [['title', 'asc']], ...page }),
        /column "title" must appear in the GROUP BY clause/,
      );
    }
  }
});

it('groups by very many fields, each of which is shown', () => {
  const fields = Array.from({ length: 2000 }, (_, i) => `parameters.p${i}`);
  const spent = processorTime();
  const [row, ...others] = answer([
    'extract',
    [...fields, ['function', 'count']],
    ['group_by', ...fields.toReversed()],
  ]);
  const taken = spent();
  assert.equal(others.length, 0);
  assert.equal((JSON.parse(row!) as { count: number }).count, NODES * RESOURCES);
  // Some tenths of a second; each field compared with each other one was ten.
  assert.ok(taken < 5000, `${taken} ms`);
});

describe('what is kept has a bound', () => {
  it('of groups, with the reason, and the room is given back', () => {
    for (const by of [['title'], ['title', 'line'], ['type', 'certname', 'title']]) {
      const room = { left: 4000 };
      const order = [['title', 'asc']] as const;
      assert.throws(
        () => answer(grouped(...by), { room, order }),
        /^QueryError: To group its rows the query needs more than the 0 MiB there are; group by less, or let a filter leave fewer rows$/,
      );
      assert.equal(room.left, 4000);
      room.left = 1 << 20;
      assert.ok(answer(grouped(...by), { room, order }).length > RESOURCES);
      assert.equal(room.left, 1 << 20);
    }
  });

  it('of what functions have read and is forgotten, no more', async () => {
    const many = newFleet();
    const values = Object.fromEntries(Array.from({ length: 140_000 }, (_, i) => [`f${i}`, i]));
    many.apply('replace facts', 5, facts('one', values));
    const room = { left: 24 << 20 };
    const ctx = new ExecContext(many.partitions, { ...contextOptions, room });
    const ast: JsonValue = ['extract', ['environment', ['function', 'max', 'value']], ['group_by', 'environment']];
    const rows: string[] = [];
    const work = execute(resolveEntity('facts', ast, { edition: 'community' }), ctx, {
      row: (text) => rows.push(String(text)),
      full: false,
    });
    let least = room.left;
    for (const _ of work) least = Math.min(least, room.left);
    assert.deepEqual(rows, ['{"max":139999,"environment":"production"}']);
    // As many sides as are remembered are told apart twice over, and what the first ones held has been given back.
    assert.ok(room.left > (24 << 20) - 65_536 * 90, `${room.left}`);
    ctx.close();
    assert.equal(room.left, 24 << 20);
    await many.close();
  });

  it('of groups of one node, by what one node has', () => {
    const room = { left: 16_000 };
    assert.equal(answer(grouped('certname', 'type', 'exported'), { room }).length, NODES * 6);
  });

  const among = (fields: string[]) => [
    'in',
    fields,
    ['extract', fields, ['select_resources', ['=', 'exported', false]]],
  ];
  const inOrder = (fields: string[], limit: number) => [
    'in',
    fields,
    [
      'from',
      'resources',
      ['extract', fields, ['=', 'exported', false]],
      ['order_by', ['line', 'title']],
      ['limit', limit],
    ],
  ];

  it('of what a subquery finds', () => {
    const room = { left: 4000 };
    assert.throws(
      () => answer(among(['certname', 'title']), { room }),
      /^QueryError: For what its subquery finds the query needs more than the 0 MiB there are; let a filter leave fewer rows of that$/,
    );
    assert.equal(room.left, 4000);
  });

  it('of the rows of an ordered one, which are the same whatever they are made of', () => {
    const fields = ['certname', 'title'];
    for (const limit of [1, 10, 333, 10_000]) {
      const found = answer(inOrder(fields, limit));
      assert.ok(found.length > 0);
      assert.deepEqual(answer(inOrder(fields, limit), { keptMax: 9 }), found, `${limit}`);
    }
    assert.deepEqual(answer(inOrder(fields, 10_000)), answer(among(fields)));
    const room = { left: 4000 };
    assert.throws(
      () => answer(inOrder(fields, 10_000), { room, keptMax: 9 }),
      /^QueryError: (To put its rows in order|For what its subquery finds) the query needs more/,
    );
    assert.equal(room.left, 4000);
  });
});
