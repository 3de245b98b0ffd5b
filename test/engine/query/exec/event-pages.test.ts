// Pages of events in order: what reports say of all of their events together decides which of them are looked at, and the pages are
// those that sorting all events would give. Times of events lie anywhere, also outside of their report's start and end.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Random, testSeed } from '../../../support/random.ts';
import { ask, type Fleet, NOW, newFleet, planOf, report } from '../request/fleet.ts';

/** More than are put in order at a time, in each partition. */
const REPORTS = 1300;
const EVENTS_EACH = 3;
const random = new Random(testSeed('event-pages'));

type Shown = Record<string, unknown>;
type Order = readonly (readonly [field: string, direction: 'asc' | 'desc'])[];

let fleet: Fleet;
let all: readonly Shown[];

const time = (minutes: number): string => new Date(NOW - random.below(minutes) * 60_000).toISOString();

before(() => {
  fleet = newFleet();
  const [resource] = report('a').resources;
  for (let i = 0; i < REPORTS; i++) {
    const resources = Array.from({ length: EVENTS_EACH }, (_, n) => ({
      ...resource,
      resource_type: random.pick(['File', 'Exec', 'Package', 'Service']),
      resource_title: `${random.below(20)}`,
      events: [
        {
          ...resource!.events[0],
          status: random.pick(['success', 'failure']),
          property: random.pick([null, 'mode', 'ensure']),
          timestamp: time(400),
          new_value: `${i}.${n}`,
        },
      ],
    }));
    const changes = {
      configuration_version: `${i}`,
      environment: random.pick(['production', 'staging']),
      start_time: time(60),
      end_time: time(60),
      producer_timestamp: time(300),
      resources,
    };
    fleet.apply('store report', 8, report(`n${random.below(200)}.example.com`, changes));
  }
  all = shown({});
  assert.equal(all.length, REPORTS * EVENTS_EACH);
});
after(() => fleet.close());

function shown(query: Record<string, string>): Shown[] {
  const { head, text } = ask(fleet, { path: '/events', query });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as Shown[];
}

const orderBy = (order: Order): string =>
  JSON.stringify(order.map(([field, direction]) => ({ field, order: direction })));

const TIMES = new Set(['timestamp', 'run_start_time', 'run_end_time', 'report_receive_time']);
const placeOf = (field: string, value: unknown): string | number =>
  TIMES.has(field) ? Date.parse(value as string) : ((value as string | null) ?? '\uffff');

function inOrder(events: readonly Shown[], order: Order): Shown[] {
  return [...events].sort((a, b) => {
    for (const [field, direction] of order) {
      const x = placeOf(field, a[field]);
      const y = placeOf(field, b[field]);
      if (x !== y) return (x < y ? -1 : 1) * (direction === 'asc' ? 1 : -1);
    }
    return 0;
  });
}

const FIRST = ['timestamp', 'run_start_time', 'run_end_time', 'certname', 'report', 'environment', 'resource_type'];
const orders: readonly Order[] = [
  ...FIRST.flatMap((field): Order[] => [[[field, 'asc']], [[field, 'desc']]]),
  ...FIRST.slice(1).flatMap((field): Order[] => [
    [
      [field, 'asc'],
      ['timestamp', 'desc'],
    ],
    [
      [field, 'desc'],
      ['resource_title', 'asc'],
      ['timestamp', 'asc'],
    ],
  ]),
  [
    ['environment', 'desc'],
    ['certname', 'asc'],
    ['run_start_time', 'desc'],
    ['timestamp', 'desc'],
  ],
  [
    ['timestamp', 'desc'],
    ['certname', 'asc'],
  ],
  [
    ['property', 'desc'],
    ['status', 'asc'],
    ['timestamp', 'desc'],
  ],
];

const CONDITIONS: readonly (readonly [query: readonly unknown[], test: (event: Shown) => boolean])[] = [
  [['~', 'certname', ''], () => true],
  [['=', 'status', 'failure'], ({ status }) => status === 'failure'],
  [['~', 'certname', '^n1\\.'], ({ certname }) => certname === 'n1.example.com'],
  [
    ['and', ['=', 'environment', 'staging'], ['=', 'resource_type', 'Exec']],
    ({ environment, resource_type: type }) => environment === 'staging' && type === 'Exec',
  ],
];

describe('pages of events in order', () => {
  it('are those of all events sorted, whatever the order, the condition and the total', () => {
    for (const order of orders) {
      for (const [query, test] of CONDITIONS) {
        const sorted = inOrder(all.filter(test), order);
        const fields = order.map(([field]) => field);
        const keys = (events: readonly Shown[]) => events.map((event) => fields.map((field) => event[field]));
        for (const [limit, offset] of [
          [5, 0],
          [7, 40],
          [300, 3],
        ] as const) {
          const asked = {
            query: JSON.stringify(query),
            order_by: orderBy(order),
            limit: `${limit}`,
            offset: `${offset}`,
          };
          const page = shown({ ...asked, ...(random.chance(0.5) ? { include_total: 'true' } : {}) });
          assert.deepEqual(keys(page), keys(sorted.slice(offset, offset + limit)), JSON.stringify(asked));
        }
      }
    }
  });

  it('one after the other have every event once, also of equal ones and with a total now and then', () => {
    const [query] = CONDITIONS[3]!;
    const count = all.filter(CONDITIONS[3]![1]).length;
    for (const order of orders) {
      const seen: unknown[] = [];
      for (let offset = 0; offset < count; offset += 60) {
        const page = { query: JSON.stringify(query), order_by: orderBy(order), limit: '60', offset: `${offset}` };
        seen.push(...shown(offset % 120 === 0 ? { ...page, include_total: 'true' } : page).map((e) => e['new_value']));
      }
      assert.equal(seen.length, count);
      assert.equal(new Set(seen).size, count, JSON.stringify(order));
    }
  });

  it('tell how many events there are without them', () => {
    const asked = { query: '["=", "status", "failure"]', order_by: orderBy([['timestamp', 'desc']]), limit: '1' };
    const { head } = ask(fleet, { path: '/events', query: { ...asked, include_total: 'true' } });
    assert.deepEqual(head.headers, [['X-Records', `${all.filter(({ status }) => status === 'failure').length}`]]);
  });

  it('do not look at reports that are behind', () => {
    const scanned = (order: Order): number => {
      const query = { order_by: orderBy(order), limit: '5' };
      return planOf(fleet, { path: '/events', query }).Plan!.Steps.find(({ step }) => step === 'scan')!['actual rows']!;
    };
    for (const order of [
      [['timestamp', 'desc']],
      [['timestamp', 'asc']],
      [
        ['report', 'asc'],
        ['timestamp', 'desc'],
      ],
      [
        ['certname', 'asc'],
        ['timestamp', 'desc'],
      ],
      [
        ['environment', 'desc'],
        ['timestamp', 'asc'],
      ],
      [['environment', 'desc']],
      [
        ['certname', 'desc'],
        ['report', 'asc'],
        ['resource_title', 'asc'],
      ],
    ] as const) {
      const looked = scanned(order);
      assert.ok(looked * 5 < all.length, `${looked} of ${all.length}: ${JSON.stringify(order)}`);
    }
    // Nothing is known of a report's messages.
    assert.equal(scanned([['message', 'asc']]), all.length);
  });

  it('do not look at events whose code is behind', () => {
    const scan = (order: Order): number => {
      const query = { order_by: orderBy(order), limit: '5' };
      return planOf(fleet, { path: '/events', query }).Plan!.Steps.find(({ step }) => step === 'scan')!['actual rows']!;
    };
    const least = all.filter(({ resource_type: type }) => type === 'Exec').length;
    assert.ok(
      scan([
        ['resource_type', 'asc'],
        ['resource_title', 'asc'],
      ]) <
        least * 1.2,
    );
    assert.ok(scan([['resource_type', 'asc']]) < 100);
  });
});
