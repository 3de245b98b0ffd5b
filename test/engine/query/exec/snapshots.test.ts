// A query sees all that it reads as it was at one moment, whatever commands are applied while it is answered.

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { slotOf } from '../../../../engine/store/file/store-info.ts';
import { ask, type Fleet, facts, newFleet } from '../request/fleet.ts';

const PARTITIONS = 3;

/** One in each partition. */
const certnames = Array.from({ length: PARTITIONS }, (_, slot) => {
  for (let n = 0; ; n++) if (slotOf(`n${n}`, PARTITIONS) === slot) return `n${n}`;
});

const fleets: Fleet[] = [];
let fleet: Fleet;

/** More than are looked at in one go. */
const FACTS = 100;

function send(round: number): void {
  const values = Object.fromEntries(Array.from({ length: FACTS }, (_, n) => [`fact${n}`, round]));
  for (const certname of certnames) fleet.apply('replace facts', 5, facts(certname, values));
}

function begin(): void {
  fleet = newFleet(undefined, PARTITIONS);
  fleets.push(fleet);
  send(0);
}
after(() => Promise.all(fleets.map((one) => one.close())));

type Rows = readonly { readonly value: number }[];

/** All are as they were when the query began. */
function assertOfOneMoment(rows: Rows): void {
  assert.ok(rows.length > 0);
  assert.deepEqual([...new Set(rows.map(({ value }) => value))], [0]);
}

/** The rows of an answer that gives up the thread whenever it may, while each node sends again what changed. */
function rowsMeanwhile(query: unknown): Rows {
  let round = 0;
  const { head, text } = ask(fleet, {
    path: '/facts',
    query: { query: JSON.stringify(query) },
    bytesMax: 1,
    store: { slice: 0 },
    after: () => {
      if (round < 10) send(++round);
    },
  });
  assert.equal(head.status, 200, text);
  assert.ok(round > 0);
  return JSON.parse(text);
}

it('of some of the partitions', () => {
  begin();
  const rows = rowsMeanwhile(['in', 'certname', ['array', certnames.slice(1)]]);
  assert.equal(rows.length, (PARTITIONS - 1) * FACTS);
  assertOfOneMoment(rows);
});

it('of other partitions than a subquery reads', () => {
  const [first] = certnames;
  const namesWith = (filter: unknown): unknown => ['in', 'name', ['extract', 'name', ['select_facts', filter]]];
  const ofFirst = namesWith(['=', 'certname', first]);
  for (const query of [
    ofFirst,
    ['and', ofFirst, namesWith(['and', ['=', 'certname', certnames[1]], ['=', 'value', 0]])],
  ]) {
    begin();
    assertOfOneMoment(rowsMeanwhile(query));
  }
});
