// Parameters of all resources, which a store has millions of: a query that looks through them gives way to others meanwhile.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { END, PAUSE, ROW } from '../../../../engine/query/exec/sources/cursor.ts';
import { Places, TreeRows } from '../../../../engine/query/exec/sources/rows.ts';
import { collect } from '../../../support/collect.ts';
import { catalog, contextOptions, type Fleet, newFleet } from '../request/fleet.ts';
import { sourceOf } from './source-of.ts';

const RESOURCES = 3000;

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  const resources = Array.from({ length: RESOURCES }, (_, i) => ({
    type: 'File',
    title: `/${i}`,
    exported: false,
    tags: [],
    parameters: i % 1000 === 0 ? { ensure: 'present', rare: i } : { ensure: 'present' },
  }));
  fleet.apply('replace catalog', 9, { ...catalog('n'), edges: [], resources });
});
after(() => fleet.close());

const named = (value: string) => ({ kind: 'eq', field: 'res_param_name', value, nullSafe: false }) as const;

it('parameters of resources are found a few at a time', () => {
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    const rows = new TreeRows(sourceOf({ entity: 'resource_params', filter: named('rare') }, ctx));
    const steps = { [ROW]: 0, [PAUSE]: 0 };
    for (let step = rows.next(); step !== END; step = rows.next()) steps[step]++;
    assert.equal(steps[ROW], 3);
    assert.ok(steps[PAUSE] > 10, `${steps[PAUSE]} pauses`);
  } finally {
    ctx.close();
  }
});

it('what tells them apart takes room, which is given back', () => {
  const room = { left: RESOURCES * 50 };
  const looked = (): void => {
    const ctx = new ExecContext(fleet.partitions, { ...contextOptions, room });
    try {
      const rows = new TreeRows(sourceOf({ entity: 'resource_params', filter: named('rare') }, ctx));
      while (rows.next() !== END);
    } finally {
      ctx.close();
    }
  };
  assert.throws(looked, /^QueryError: For what its subquery finds the query needs more than the 0 MiB there are/);
  assert.equal(room.left, RESOURCES * 50);
  room.left = 1 << 20;
  looked();
  assert.equal(room.left, 1 << 20);
});

it('those that were rows are not held, unless somebody keeps their places', async () => {
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    const source = sourceOf({ entity: 'resource_params', filter: named('ensure') }, ctx);
    const rows = new TreeRows(source);
    const next = (): object => {
      while (rows.next() !== ROW);
      return rows.row.body as object;
    };
    const left = new WeakRef(next());
    const kept = structuredClone(next());
    const place = rows.locator();
    next();
    await nextTurn();
    collect();
    assert.equal(left.deref(), undefined);
    assert.deepEqual(new Places(source).at(place).body, kept);
  } finally {
    ctx.close();
  }
});
