// Parameters of all resources, which a store has millions of: a query that looks through them gives way to others meanwhile.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { END, PAUSE, ROW } from '../../../../engine/query/exec/sources/cursor.ts';
import { TreeRows } from '../../../../engine/query/exec/sources/rows.ts';
import { Source } from '../../../../engine/query/exec/sources/source.ts';
import { catalog, contextOptions, newFleet } from '../request/fleet.ts';

const RESOURCES = 3000;

it('parameters of resources are found a few at a time', async () => {
  const fleet = newFleet();
  const resources = Array.from({ length: RESOURCES }, (_, i) => ({
    type: 'File',
    title: `/${i}`,
    exported: false,
    tags: [],
    parameters: i % 1000 === 0 ? { ensure: 'present', rare: i } : { ensure: 'present' },
  }));
  fleet.apply('replace catalog', 9, { ...catalog('n'), edges: [], resources });
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    const filter = { kind: 'eq', field: 'res_param_name', value: 'rare', nullSafe: false } as const;
    const rows = new TreeRows(new Source({ entity: 'resource_params', filter }, ctx));
    const steps = { [ROW]: 0, [PAUSE]: 0 };
    for (let step = rows.next(); step !== END; step = rows.next()) steps[step]++;
    assert.equal(steps[ROW], 3);
    assert.ok(steps[PAUSE] > 10, `${steps[PAUSE]} pauses`);
  } finally {
    ctx.close();
    await fleet.close();
  }
});
