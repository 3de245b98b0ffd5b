// Conditions on nodes may be very many, such as the paths that a `match()` finds: they give way between one another.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openContext } from '../../../../engine/query/exec/execute.ts';
import { scopeOf } from '../../../../engine/query/exec/filter.ts';
import { evaluateNodes } from '../../../../engine/query/exec/node-filter.ts';
import { Row } from '../../../../engine/query/exec/row.ts';
import type { Filter } from '../../../../engine/query/tree.ts';
import { NODES_ALL } from '../../../../engine/store/tables.ts';
import { contextOptions, facts, newFleet } from '../request/fleet.ts';

it('conditions on nodes give way between one another', async () => {
  const fleet = newFleet();
  for (let i = 0; i < 100; i++) fleet.apply('replace facts', 5, facts(`n${i}`, { kernel: 'Linux' }));
  const ctx = openContext(fleet.partitions, { ...contextOptions, slice: 0 });
  try {
    const named = (name: string): Filter => ({ kind: 'eq', field: 'certname', value: name, nullSafe: false });
    const args = Array.from({ length: 50 }, (_, i) => named(`n${i}`));
    for (const kind of ['and', 'or'] as const) {
      const found = ctx.views.map((view, part) => {
        const work = evaluateNodes({ kind, args }, view.set(NODES_ALL), new Row(view, part), scopeOf(ctx, 'nodes'));
        let pauses = 0;
        for (;;) {
          const { done, value } = work.next();
          if (done) {
            assert.equal(pauses, args.length);
            return value.yes.count();
          }
          pauses++;
        }
      });
      assert.equal(
        found.reduce((sum, count) => sum + count),
        kind === 'or' ? args.length : 0,
      );
    }
  } finally {
    ctx.close();
    await fleet.close();
  }
});
