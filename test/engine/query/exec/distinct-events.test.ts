// distinct_resources: of each property of a node's resources the events of the most recent time, in whatever order they came; and
// conditions that cannot change which these are spare the look at others.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { slotOf } from '../../../../engine/store/file/store-info.ts';
import { Random, testSeed } from '../../../support/random.ts';
import { ask, type Fleet, NOW, newFleet, planOf, report } from '../request/fleet.ts';

const random = new Random(testSeed('distinct-events'));
const NODES = 12;
const REPORTS_EACH = 6;

type Shown = Record<string, unknown>;
type Clause = readonly unknown[];

let fleet: Fleet;
let all: readonly Shown[];

const [resource] = report('a').resources;
const event = (type: string, title: string, changes: Record<string, unknown>) => ({
  ...resource,
  resource_type: type,
  resource_title: title,
  events: [{ ...resource!.events[0], ...changes }],
});
const minutesAgo = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString();

before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES * REPORTS_EACH; i++) {
    const resources = Array.from({ length: random.below(30) }, () =>
      event(random.pick(['File', 'Exec']), random.pick(['a', 'b', 'c', 'File']), {
        status: random.pick(['success', 'success', 'success', 'failure']),
        property: random.pick([null, 'mode', 'ensure']),
        name: random.pick([null, 'mode']),
        message: `${i}`,
        // Few, so that several are the most recent.
        timestamp: minutesAgo(random.below(12)),
      }),
    );
    const certname = `n${i % NODES}.example.com`;
    fleet.apply('store report', 8, report(certname, { configuration_version: `${i}`, resources }));
  }
  all = answer<Shown>('/events', null, {});
});
after(() => fleet.close());

const times = (from: number, to: number): Record<string, string> => ({
  distinct_resources: 'true',
  distinct_start_time: minutesAgo(from),
  distinct_end_time: minutesAgo(to),
});

function answer<T>(path: string, clause: Clause | null, more: Record<string, string>, of = fleet): T[] {
  const query = { ...(clause === null ? {} : { query: JSON.stringify(clause) }), ...more };
  const { head, text } = ask(of, { path, query });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as T[];
}

const KEY = ['certname', 'resource_type', 'resource_title', 'property', 'name'];
const timeOf = (shown: Shown): number => Date.parse(shown['timestamp'] as string);

/** What looking at each event gives. */
function newest(events: readonly Shown[], from: number, to: number): Shown[] {
  const latest = new Map<string, number>();
  const keyOf = (shown: Shown): string => JSON.stringify(KEY.map((field) => shown[field]));
  const within = events.filter((it) => timeOf(it) >= NOW - from * 60_000 && timeOf(it) <= NOW - to * 60_000);
  for (const it of within) latest.set(keyOf(it), Math.max(latest.get(keyOf(it)) ?? 0, timeOf(it)));
  return within.filter((it) => timeOf(it) === latest.get(keyOf(it)));
}

const sorted = (events: readonly Shown[]): string[] => events.map((it) => JSON.stringify(it)).sort();

const CONDITIONS: readonly (readonly [Clause, (shown: Shown) => boolean])[] = [
  [['~', 'certname', ''], () => true],
  [['=', 'certname', 'n3.example.com'], ({ certname }) => certname === 'n3.example.com'],
  [['not', ['=', 'property', 'mode']], ({ property }) => property !== 'mode'],
  [['=', 'resource_type', 'File'], ({ resource_type: type }) => type === 'File'],
  [['=', 'status', 'failure'], ({ status }) => status === 'failure'],
  [
    ['and', ['=', 'resource_type', 'File'], ['=', 'status', 'failure'], ['~', 'certname', '[1-5]\\.']],
    ({ resource_type: type, status, certname }) =>
      type === 'File' && status === 'failure' && /[1-5]\./.test(certname as string),
  ],
  [
    ['or', ['=', 'resource_title', 'a'], ['=', 'status', 'failure']],
    ({ resource_title: title, status }) => title === 'a' || status === 'failure',
  ],
  [['<', 'timestamp', minutesAgo(5)], (shown) => timeOf(shown) < NOW - 5 * 60_000],
  [['~', 'message', '7$'], ({ message }) => (message as string).endsWith('7')],
];
const SPANS = [
  [100, 0],
  [9, 4],
  [0, 0],
] as const;

describe('distinct events', () => {
  it('are those that looking at each event gives', () => {
    for (const [from, to] of SPANS) {
      for (const [clause, test] of CONDITIONS) {
        const wanted = newest(all, from, to).filter(test);
        assert.deepEqual(sorted(answer('/events', clause, times(from, to))), sorted(wanted), JSON.stringify(clause));
      }
    }
  });

  it('are those of the latest reports where nothing else is asked for', () => {
    const clause = ['=', 'latest_report?', true];
    const latest = answer<Shown>('/events', clause, {});
    const also = ['and', clause, ['~', 'certname', '']];
    for (const [from, to] of SPANS) {
      assert.deepEqual(sorted(answer('/events', clause, times(from, to))), sorted(newest(latest, from, to)));
      const reports = new Set(latest.map(({ report }) => report));
      const wanted = newest(all, from, to).filter(({ report }) => reports.has(report));
      assert.deepEqual(sorted(answer('/events', also, times(from, to))), sorted(wanted));
    }
  });

  it('are counted and put in order', () => {
    for (const [clause, test] of CONDITIONS) {
      const wanted = newest(all, 9, 0).filter(test);
      const order = {
        order_by: '[{"field":"timestamp","order":"desc"},{"field":"certname"}]',
        limit: '5',
        offset: '2',
      };
      const page = answer<Shown>('/events', clause, { ...times(9, 0), ...order });
      const inOrder = wanted
        .map((it) => [timeOf(it), it['certname'] as string] as const)
        .sort((a, b) => b[0] - a[0] || (a[1] < b[1] ? -1 : Number(a[1] > b[1])));
      assert.deepEqual(
        page.map((it) => [timeOf(it), it['certname']]),
        inOrder.slice(2, 7),
      );
      const counted = answer<Shown>('/event-counts', clause, { ...times(9, 0), summarize_by: 'resource' });
      const failures = counted.reduce((sum, row) => sum + (row['failures'] as number), 0);
      assert.equal(failures, wanted.filter(({ status }) => status === 'failure').length);
    }
  });

  it('a page that is not in order ends when it is full', () => {
    const rows = answer<Shown>('/events', null, { ...times(100, 0), limit: '3' });
    assert.equal(rows.length, 3);
    assert.ok(scanned(null, { limit: '3' }) * 2 < all.length);
  });

  it('of other nodes, and of what is told apart by what is asked for, no event is looked at', () => {
    const ofNode = all.filter(({ certname }) => certname === 'n3.example.com').length;
    assert.equal(scanned(['=', 'certname', 'n3.example.com']), ofNode);
    const files = all.filter(({ resource_type: type }) => type === 'File').length;
    assert.equal(scanned(['=', 'resource_type', 'File']), files);
    const failing = new Set(all.filter(({ message }) => message === '7').map(({ certname }) => certname));
    assert.equal(scanned(['=', 'message', '7']), all.filter(({ certname }) => failing.has(certname)).length);
  });
});

function scanned(clause: Clause | null, more: Record<string, string> = {}): number {
  const query = { ...(clause === null ? {} : { query: JSON.stringify(clause) }), ...times(100, 0), ...more };
  return planOf(fleet, { path: '/events', query }).Plan!.Steps.find(({ step }) => step === 'scan')!['actual rows']!;
}

describe('distinct events that are many', () => {
  it('nodes of several partitions are others, whatever their numbers there', async () => {
    const two = newFleet();
    const names = Array.from({ length: 20 }, (_, i) => `n${i}.example.com`);
    const [first, second] = [0, 1].map((slot) => names.find((name) => slotOf(name, 2) === slot)!);
    for (const [i, certname] of [first!, second!].entries()) {
      const resources = [event('File', 'a', { timestamp: minutesAgo(i + 1) })];
      two.apply('store report', 8, report(certname, { resources }));
    }
    const rows = answer<Shown>('/events', null, times(100, 0), two);
    await two.close();
    assert.deepEqual(rows.map(({ certname }) => certname).sort(), [first, second].sort());
  });

  it('what came last may be the oldest', async () => {
    const many = newFleet();
    const EVENTS = 300;
    const REPORTS = 12;
    for (let i = 0; i < REPORTS; i++) {
      const resources = Array.from({ length: EVENTS }, (_, n) =>
        event('File', `${n}`, { timestamp: minutesAgo(i + 1), message: `${i}` }),
      );
      many.apply('store report', 8, report('n.example.com', { configuration_version: `${i}`, resources }));
    }
    const rows = answer<Shown>('/events', null, times(100, 0), many);
    await many.close();
    assert.equal(rows.length, EVENTS);
    assert.ok(rows.every(({ message }) => message === '0'));
  });

  it('texts are forgotten between nodes when there are too many', async () => {
    const many = newFleet();
    const EVENTS = 24_000;
    const NODES_MANY = 4;
    for (let i = 0; i < NODES_MANY; i++) {
      for (const minutes of [2, 1]) {
        const resources = Array.from({ length: minutes === 2 ? 10 : EVENTS }, (_, n) =>
          event('File', `${i}.${n}`, { timestamp: minutesAgo(minutes) }),
        );
        many.apply('store report', 8, report(`n${i}.example.com`, { configuration_version: `${minutes}`, resources }));
      }
    }
    const [row] = answer<Shown>('/aggregate-event-counts', null, { ...times(100, 0), summarize_by: 'resource' }, many);
    const rows = answer<Shown>('/events', ['~', 'resource_title', '\\.[0-9]$'], times(100, 0), many);
    await many.close();
    assert.equal(row!['total'], EVENTS * NODES_MANY);
    assert.equal(rows.length, 10 * NODES_MANY);
    assert.ok(rows.every((it) => timeOf(it) === NOW - 60_000));
  });
});
