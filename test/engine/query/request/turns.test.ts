// Whatever is asked, a query looks up from its rows again and again: a client that is gone, a deadline and other queries'
// turns must not wait for the last of them. Counted are looks, not milliseconds.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Asked, ask, catalog, type Fleet, facts, newFleet, report } from './fleet.ts';

const FACTS = 3000;
const RESOURCES = 3000;
const REPORTS = 400;
const EVENTS_A_REPORT = 8;
const EVENTS = REPORTS * EVENTS_A_REPORT;
/** Rows between two looks, at most. */
const ROWS_A_LOOK = 64;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  fleet.apply('replace facts', 5, facts('a', Object.fromEntries(numbers(FACTS).map((n) => [`fact${n}`, `value${n}`]))));
  const { resources, ...rest } = catalog('a');
  const many = numbers(RESOURCES).map((n) => ({ ...resources[0], title: `title${n}` }));
  fleet.apply('replace catalog', 9, { ...rest, edges: [], resources: many });
  for (const n of numbers(REPORTS)) fleet.apply('store report', 8, reportNumber(n));
});
after(() => fleet.close());

function reportNumber(number: number): ReturnType<typeof report> {
  const { resources } = report('a');
  const events = numbers(EVENTS_A_REPORT).map((n) => ({ ...resources[0], resource_title: `title${number} ${n}` }));
  return report('a', { configuration_version: `cv${number}`, resources: events });
}

function looksOf(asked: Asked): number {
  let looks = 0;
  const cancelled = (): boolean => {
    looks++;
    return false;
  };
  const { head, text } = ask(fleet, { ...asked, store: { cancelled } });
  assert.equal(head.status, 200, text);
  return looks;
}

const query = (ast: unknown): { query: string } => ({ query: JSON.stringify(ast) });
const ordered = (field: string): { order_by: string } => ({ order_by: JSON.stringify([{ field }]) });
const total = { limit: '1', include_total: 'true' };

const CASES: readonly [rows: number, asked: Asked][] = [
  [REPORTS, { path: '/reports' }],
  [REPORTS, { path: '/reports', query: { ...total, ...query(['~', 'configuration_version', 'cv']) } }],
  [REPORTS, { path: '/reports', query: { limit: '1', ...ordered('configuration_version') } }],
  // Counted report by report.
  [REPORTS, { path: '/events', query: total }],
  [REPORTS, { path: '/events', query: query(['extract', [['function', 'count']], ['~', 'resource_title', 'x']]) }],
  [EVENTS, { path: '/event-counts', query: { summarize_by: 'resource', limit: '1', ...ordered('failures') } }],
  [FACTS, { path: '/facts', query: { ...total, ...query(['or', ['~', 'name', 'fact'], ['=', 'certname', 'x']]) } }],
  [FACTS, { path: '/facts', query: { limit: '1', ...ordered('value') } }],
  [
    FACTS,
    {
      path: '/facts',
      query: {
        limit: '1',
        ...ordered('value'),
        ...query([
          'extract',
          ['name', 'value', ['function', 'count']],
          ['~', 'name', ''],
          ['group_by', 'name', 'value'],
        ]),
      },
    },
  ],
  [RESOURCES, { path: '/resources', query: { ...total, ...query(['or', ['~', 'title', 't'], ['=', 'type', 'X']]) } }],
  [RESOURCES, { path: '/resources', query: { limit: '1', ...ordered('title') } }],
  // In one row, each with what a report says of it.
  [RESOURCES, { api: 'ext', path: '/resource-graphs', settings: { edition: 'enterprise' } }],
];

describe('turns: a query looks up every so many rows', () => {
  for (const [rows, asked] of CASES) {
    it(`${asked.path} ${JSON.stringify(asked.query ?? {})}`, () => {
      const looks = looksOf(asked);
      assert.ok(looks >= Math.floor(rows / ROWS_A_LOOK) - 1, `${looks} looks at ${rows} rows`);
    });
  }

  it('and every so many characters of regular expressions, where they are checked and where they are compiled', () => {
    const patterns = numbers(20).map((n) => ['~', 'title', `${n}[ab]${'x'.repeat(3000)}`]);
    const looks = looksOf({ path: '/resources', query: query(['and', ['=', 'certname', 'x'], ['or', ...patterns]]) });
    assert.ok(looks >= 40, `${looks} looks`);
  });
});
