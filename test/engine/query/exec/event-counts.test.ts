// Counted by certname, a node's events of a subject count once per status, and once per kind of change in the enterprise edition,
// however its reports lie among those of others. Other statuses than the four count for nothing.

import assert from 'node:assert/strict';
import { after, before, it, mock } from 'node:test';
import { ask, type Fleet, newFleet, report } from '../request/fleet.ts';

type Edition = 'community' | 'enterprise';

/** A round of reports: of each node one, so that a node's reports do not come one after the other. */
const ROUNDS: readonly (readonly (readonly [status: string, corrective: boolean | null])[])[] = [
  [
    ['success', true],
    ['success', false],
    ['success', true],
    ['noop', null],
    ['strange', true],
  ],
  [
    ['success', false],
    ['success', null],
    ['failure', false],
    ['skipped', null],
    ['skipped', true],
  ],
  [
    ['failure', false],
    ['noop', true],
    ['noop', null],
    ['strange', false],
    ['success', true],
  ],
];
const NODES = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}.example.com`);
const TITLES = ['/etc/hosts', '/etc/motd'];

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  ROUNDS.forEach((events, round) => {
    for (const certname of NODES) fleet.apply('store report', 8, reportOf(certname, events, round));
  });
});
after(() => fleet.close());

function reportOf(certname: string, events: (typeof ROUNDS)[number], round: number) {
  const whole = report(certname, { configuration_version: `${round}` });
  const [resource] = whole.resources;
  const resources = TITLES.flatMap((resource_title) =>
    events.map(([status, corrective_change], i) => ({
      ...resource,
      resource_title,
      corrective_change,
      events: [{ ...resource!.events[0], property: `p${i}`, status, corrective_change }],
    })),
  );
  return { ...whole, resources };
}

function counted(edition: Edition, summarizeBy: string, filter?: readonly unknown[]): Record<string, unknown>[] {
  const query = { summarize_by: summarizeBy, count_by: 'certname', ...(filter && { query: JSON.stringify(filter) }) };
  const { head, text } = ask(fleet, { path: '/event-counts', query, settings: { edition } });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as Record<string, unknown>[];
}

/** What one node adds to the counts of a subject. */
const ONCE: Readonly<Record<Edition, Readonly<Record<string, number>>>> = {
  community: { failures: 1, successes: 1, noops: 1, skips: 1 },
  // Success was corrective, was not, and did not say; a noop did not say, and was.
  enterprise: {
    failures: 1,
    skips: 2,
    intentional_successes: 2,
    corrective_successes: 1,
    intentional_noops: 1,
    corrective_noops: 1,
  },
};

for (const edition of ['community', 'enterprise'] as const) {
  const times = (nodes: number): Record<string, number> =>
    Object.fromEntries(Object.entries(ONCE[edition]).map(([field, count]) => [field, count * nodes]));
  const countsOf = (row: Record<string, unknown>): unknown =>
    Object.fromEntries(Object.keys(ONCE[edition]).map((field) => [field, row[field]]));

  it(`each node counts once for a resource, in whichever of its reports: ${edition}`, () => {
    const rows = counted(edition, 'resource');
    assert.deepEqual(rows.map(({ subject }) => (subject as { title: string }).title).sort(), TITLES);
    for (const row of rows) assert.deepEqual(countsOf(row), times(NODES.length));
  });

  it(`a node counts once for itself: ${edition}`, () => {
    const rows = counted(edition, 'certname');
    assert.deepEqual(rows.map(({ subject }) => (subject as { title: string }).title).sort(), NODES);
    for (const row of rows) assert.deepEqual(countsOf(row), times(1));
  });

  it(`each node counts once where the events have no class: ${edition}`, () => {
    const rows = counted(edition, 'containing_class', ['in', 'certname', ['array', NODES.slice(0, 2)]]);
    assert.deepEqual(rows.map(countsOf), [times(2)]);
  });
}

it('a filter of counts decides which subjects there are; nothing is more than null', async () => {
  const some = newFleet();
  const countsOf = (counts_filter: string): unknown => {
    const query = { summarize_by: 'certname', counts_filter, order_by: '[{"field":"certname"}]', limit: '1' };
    const { head, text } = ask(some, { path: '/event-counts', query: { ...query, include_total: 'true' } });
    const names = (JSON.parse(text) as { subject: { title: string } }[]).map(({ subject }) => subject.title);
    return [names, head.headers.find(([name]) => name === 'X-Records')?.[1]];
  };
  try {
    for (const [i, certname] of NODES.entries()) {
      const events = Array.from({ length: i + 1 }, () => ['success', null] as const);
      some.apply('store report', 8, reportOf(certname, events, i));
    }
    assert.deepEqual(countsOf('[">","successes",4]'), [['c.example.com'], '3']);
    assert.deepEqual(countsOf('[">=","successes",4]'), [['b.example.com'], '4']);
    assert.deepEqual(countsOf('[">","failures",0]'), [[], '0']);
    assert.deepEqual(countsOf('[">=","failures",null]'), [[], '0']);
  } finally {
    await some.close();
  }
});

it('summaries come as they were asked for, that of classes last unless events are distinct; they count subjects', () => {
  const summaries = (query: Record<string, string>): unknown => {
    const { text } = ask(fleet, { path: '/aggregate-event-counts', query });
    return (JSON.parse(text) as Record<string, unknown>[]).map(
      ({ summarize_by, successes, failures, total }) => `${summarize_by} ${successes} ${failures} ${total}`,
    );
  };
  const summarize_by = 'containing_class,resource,certname';
  const [classes, resources, nodes] = ['containing_class 1 1 1', 'resource 2 2 2', 'certname 5 5 5'];
  assert.deepEqual(summaries({ summarize_by }), [resources, nodes, classes]);
  const distinct = {
    distinct_resources: 'true',
    distinct_start_time: '2026-01-01T00:00:00Z',
    distinct_end_time: '2027-01-01T00:00:00Z',
  };
  assert.deepEqual(summaries({ summarize_by, ...distinct }), [classes, resources, nodes]);
  const query = '["=","status","success"]';
  assert.deepEqual(summaries({ summarize_by: 'certname', query }), ['certname 5 0 5']);
});

it('more than a thousand resources are told apart, also those whose titles have several types', () => {
  const many = newFleet();
  const types = ['File', 'Exec', 'Service'];
  const reportOfAll = (certname: string, status: string, every: number) => {
    const whole = report(certname, {});
    const [resource] = whole.resources;
    const resources = Array.from({ length: 400 }, (_, i) => i)
      .filter((i) => i % every === 0)
      .flatMap((i) =>
        types.map((resource_type) => ({
          ...resource,
          resource_type,
          resource_title: `title ${i}`,
          events: [{ ...resource!.events[0], status, corrective_change: false }],
        })),
      );
    return { ...whole, resources };
  };
  try {
    many.apply('store report', 8, reportOfAll('a.example.com', 'success', 1));
    many.apply('store report', 8, reportOfAll('b.example.com', 'failure', 2));
    many.apply('store report', 8, reportOfAll('c.example.com', 'noop', 5));
    const { text } = ask(many, { path: '/event-counts', query: { summarize_by: 'resource' } });
    const rows = (JSON.parse(text) as Record<string, unknown>[]).map(
      ({ subject, successes, failures, noops, skips }) => {
        const { type, title } = subject as { type: string; title: string };
        return `${title} ${type}: ${successes} ${failures} ${noops} ${skips}`;
      },
    );
    const expected = Array.from({ length: 400 }, (_, i) =>
      types.map((type) => `title ${i} ${type}: 1 ${Number(i % 2 === 0)} ${Number(i % 5 === 0)} 0`),
    ).flat();
    assert.deepEqual(rows.sort(), expected.sort());
  } finally {
    many.close();
  }
});

it('pages in an order are those of all subjects in order; of subjects behind them no names are made', async () => {
  const many = newFleet();
  const SUBJECTS = 300;
  const rowsOf = (query: Record<string, string>): { readonly successes: number; readonly subject: unknown }[] => {
    const { head, text } = ask(many, { path: '/event-counts', query: { summarize_by: 'resource', ...query } });
    assert.equal(head.status, 200, text);
    return JSON.parse(text) as { successes: number; subject: unknown }[];
  };
  try {
    // Half of the resources have a second event.
    const whole = report('a.example.com');
    const [resource] = whole.resources;
    const event = resource!.events[0];
    const resources = Array.from({ length: SUBJECTS }, (_, i) => ({
      ...resource,
      resource_title: `title ${(i * 7) % SUBJECTS}`,
      events: [event, ...(i % 2 === 0 ? [{ ...event, property: 'second' }] : [])],
    }));
    many.apply('store report', 8, { ...whole, resources });
    const order_by = '[{"field":"successes","order":"desc"},{"field":"resource_title"}]';
    const all = rowsOf({ order_by });
    assert.equal(all.length, SUBJECTS);
    assert.deepEqual(
      all.map(({ successes }) => successes),
      Array.from({ length: SUBJECTS }, (_, i) => (i < SUBJECTS / 2 ? 2 : 1)),
    );
    for (const [limit, offset] of [
      [10, 0],
      [40, 130],
      [10, SUBJECTS - 3],
      [10, SUBJECTS + 1],
    ] as const) {
      const page = { order_by, limit: `${limit}`, offset: `${offset}` };
      assert.deepEqual(rowsOf(page), all.slice(offset, offset + limit));
      assert.deepEqual(rowsOf({ limit: `${limit}`, offset: `${offset}` }), rowsOf({}).slice(offset, offset + limit));
    }
    const parse = mock.method(JSON, 'parse');
    try {
      rowsOf({ order_by, limit: '5' });
      assert.ok(parse.mock.callCount() < SUBJECTS - 20, `${parse.mock.callCount()} made`);
    } finally {
      parse.mock.restore();
    }
  } finally {
    await many.close();
  }
});

it('subjects are counted as long as there is room for them, which is given back', () => {
  for (const count_by of ['resource', 'certname']) {
    const counted = (room: { left: number }) =>
      ask(fleet, { path: '/event-counts', query: { summarize_by: 'resource', count_by }, store: { room } });
    const [little, enough] = [{ left: 4000 }, { left: 4 << 20 }];
    const refused = counted(little);
    assert.equal(refused.head.status, 500);
    assert.equal(
      refused.text,
      'To count its events the query needs more than the 0 MiB there are; let a filter leave fewer of them',
    );
    assert.equal(little.left, 4000);
    assert.equal(counted(enough).head.status, 200);
    assert.equal(enough.left, 4 << 20);
  }
});
