// The nodes that have some items: what passes is found item by item, with a look at the clock at each, whether it passes or not.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ExecContext } from '../../../../../engine/query/exec/plan/context.ts';
import { Row } from '../../../../../engine/query/exec/row/row.ts';
import type { Filter } from '../../../../../engine/query/tree.ts';
import { NODES_WITH_CATALOG } from '../../../../../engine/store/records/tables.ts';
import { catalog, contextOptions, type Fleet, newFleet } from '../../request/fleet.ts';
import { sourceOf } from '../source-of.ts';

const OWN = 10;

let fleet: Fleet;
before(() => {
  fleet = newFleet(undefined, 1);
  for (const name of ['a', 'b']) {
    const resources = Array.from({ length: OWN }, (_, i) => ({
      type: 'File',
      title: `${name}${i}`,
      exported: false,
      tags: [],
      file: `/${name}.pp`,
      line: i,
      parameters: {},
    }));
    fleet.apply('replace catalog', 9, { ...catalog(name), edges: [], resources });
  }
});
after(() => fleet.close());

const ofType: Filter = { kind: 'eq', field: 'type', value: 'File', nullSafe: false };
const inFile = (pattern: string): Filter => ({ kind: 'regex', field: 'file', pattern, nullIsFalse: true });

it('a query pauses among items that pass and among those that do not', () => {
  for (const [pattern, nodes] of [
    ['.', ['a', 'b']],
    ['a', ['a']],
    ['none', []],
  ] as const) {
    const ctx = new ExecContext(fleet.partitions, { ...contextOptions, slice: 0 });
    try {
      const source = sourceOf({ entity: 'resources', filter: { kind: 'and', args: [ofType, inFile(pattern)] } }, ctx);
      const row = new Row(ctx.view(0), 0);
      const plan = source.items.plan(row, row.view.set(NODES_WITH_CATALOG));
      const work = source.items.nodesWith(row, plan);
      let pauses = 0;
      let step = work.next();
      for (; !step.done; step = work.next()) pauses++;
      assert.deepEqual(
        nodes.map((name) => row.view.nodeId(name)),
        [...step.value.toArray()],
      );
      assert.equal(pauses, 2 * OWN, pattern);
    } finally {
      ctx.close();
    }
  }
});
