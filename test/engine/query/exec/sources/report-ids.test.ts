// Of reports that are passed over in great numbers it is told now and then that none was found yet, whichever way they are found: a query
// that passes over millions gives way to others meanwhile.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ExecContext } from '../../../../../engine/query/exec/plan/context.ts';
import type { ReportPath } from '../../../../../engine/query/exec/plan/report-plan.ts';
import { Row } from '../../../../../engine/query/exec/row/row.ts';
import { NO_REPORT, reportIds, withEvents } from '../../../../../engine/query/exec/sources/report-ids.ts';
import { ReportSieve } from '../../../../../engine/query/exec/sources/report-sieve.ts';
import { NODES_ALL } from '../../../../../engine/store/records/tables.ts';
import { contextOptions, type Fleet, facts, newFleet, report } from '../../request/fleet.ts';

const MANY = 10_000;
const NODES = 300;
const BY_TIME: ReportPath = { kind: 'time', from: null, to: null };

let fleet: Fleet;
let ctx: ExecContext;
let row: Row;
let hash: string;
before(() => {
  fleet = newFleet(undefined, 1);
  for (let i = 0; i < NODES; i++) fleet.apply('replace facts', 5, facts(`n${i}.example.com`, {}));
  hash = fleet.apply('store report', 8, report('n9.example.com'))!;
  fleet.apply('store report', 8, report('n9.example.com', { configuration_version: 'other', resources: [] }));
  ctx = new ExecContext(fleet.partitions, contextOptions);
  row = new Row(ctx.view(0), 0);
});
after(async () => {
  ctx.close();
  await fleet.close();
});

/** Ids of reports, of which the store has two. */
function* many(): Generator<number> {
  for (let id = 1; id <= MANY; id++) yield id;
}

const idOf = (): number => row.view.reports.idOf(hash);

/** Asserts that these are the reports, with so many pauses at least. */
function assertPauses(ids: Iterable<number>, reports: readonly number[], pausesMin: number): void {
  const all = [...ids];
  assert.deepEqual(
    all.filter((id) => id !== NO_REPORT),
    reports,
  );
  assert.ok(all.length - reports.length >= pausesMin, `${all.length - reports.length} pauses`);
}

describe('between reports that are passed over there are pauses', () => {
  it('without events', () => {
    assertPauses(withEvents(many(), BY_TIME, row), [idOf()], 9);
  });

  it('that marks tell, also where another one has made pauses', () => {
    const tests = { kind: null, status: null, texts: [{ field: 0, marks: [] }], events: [], times: [], isExact: false };
    const sieve = ReportSieve.of(row, null, tests)!;
    assertPauses(sieve.filter(many()), [], 9);
    assertPauses(sieve.filter(withEvents(many(), BY_TIME, row)), [], 9);
  });

  it('of nodes that have none', () => {
    const ids = reportIds({ kind: 'nodes' }, row.view.set(NODES_ALL), row, null);
    assertPauses(ids, [...row.view.reports.ids()], 4);
  });

  it('of hashes that there are not', () => {
    const hashes = Array.from({ length: 100 }, (_, i) => String(i).padStart(40, '0'));
    assertPauses(reportIds({ kind: 'hash', hashes: [...hashes, hash] }, null, row, null), [idOf()], 9);
  });
});
