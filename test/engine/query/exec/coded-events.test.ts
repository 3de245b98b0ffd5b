// Conditions on the coded columns of events, and on their texts without codes: whatever is asked, and however conditions are put together, the rows are those that
// looking at each event gives, in the same order; and a text is looked at once per report, not once per event.

import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { StoredEvents } from '../../../../engine/store/records/event-record.ts';
import { TextRecord } from '../../../../engine/store/records/fields.ts';
import { Random, testNumber, testSeed } from '../../../support/random.ts';
import { type Asked, ask, type Fleet, newFleet, report } from '../request/fleet.ts';

const REPORTS = 40;
const CONDITIONS = testNumber('MUSTER_MODEL_RUNS', 300);
const random = new Random(testSeed('coded-events'));

type Shown = Record<string, unknown>;
type Clause = readonly unknown[];

/** The same texts in several columns, and such that JSON spells otherwise. */
const TEXTS = ['File', 'Exec', 'mode', 'null', 'true', 'a"b', 'tab\tbed', 'ünïcode', 'back\\slash', '', 'File/File'];
const CLASSES = [null, ['Stage[main]', 'Base', 'File[x]'], ['Stage[main]', 'Web::Server', 'File[y]']];
const PATTERNS = ['^F', 'e$', '.', '^$', '"', 'nothing like it', '[ïü]', 'File|mode'];
/** Texts that are only shown of events: they have no codes. */
const SHOWN = ['message', 'file'] as const;
const FIELDS = ['resource_type', 'resource_title', 'property', 'name', 'containing_class', 'status'] as const;

let fleet: Fleet;
let all: readonly Shown[];

function resourceOf(type: string, title: string) {
  const [resource] = report('a').resources;
  const events = Array.from({ length: random.between(1, 4) }, (_, n) => ({
    ...resource!.events[0],
    status: random.pick(['success', 'success', 'failure', 'noop', 'skipped']),
    property: random.pick([null, ...TEXTS.filter((text) => text !== '')]),
    name: random.pick([null, 'changed', 'File']),
    message: random.pick([null, ...TEXTS, 'message 1', 'message 2']),
    timestamp: `2026-11-20T00:00:${10 + random.below(40)}.000Z`,
    new_value: n,
    corrective_change: random.pick([true, false]),
  }));
  return {
    ...resource,
    resource_type: type,
    resource_title: title,
    containment_path: random.pick(CLASSES),
    file: random.pick([null, ...TEXTS]),
    line: random.pick([null, 1, 2, 30]),
    events,
  };
}

const asked = (path: string, query: Clause, more: Record<string, string> = {}): Asked => ({
  path,
  query: { query: JSON.stringify(query), ...more },
  settings: { edition: 'enterprise' },
});

function answer<T>(path: string, query: Clause, more?: Record<string, string>): T[] {
  const { head, text } = ask(fleet, asked(path, query, more));
  assert.equal(head.status, 200, `${JSON.stringify(query)}: ${text}`);
  return JSON.parse(text) as T[];
}
const shown = (query: Clause, more?: Record<string, string>): Shown[] => answer('/events', query, more);

before(() => {
  fleet = newFleet();
  for (let i = 0; i < REPORTS; i++) {
    const texts = random.chance(0.5) ? TEXTS : TEXTS.slice(0, 3);
    const resources = Array.from({ length: random.chance(0.1) ? 70 : random.below(8) }, (_, n) =>
      resourceOf(random.pick(texts) || 'Other', `${random.pick(texts)}${n % 2 === 0 ? '' : n}`),
    );
    fleet.apply('store report', 8, report(`n${i % 15}.example.com`, { configuration_version: `${i}`, resources }));
  }
  all = shown(['~', 'certname', '']);
  assert.ok(all.length > 100);
});
after(() => fleet.close());

// ------------------------------------------------------------------ what each event says; null: unknown

type Verdict = boolean | null;

const unlessNull =
  (test: (value: unknown, wanted: unknown) => boolean) =>
  (value: unknown, wanted: unknown): Verdict =>
    value === null ? null : test(value, wanted);

const LEAVES: Readonly<Record<string, (value: unknown, wanted: unknown) => Verdict>> = {
  '=': unlessNull((value, wanted) => (Array.isArray(value) ? value.includes(wanted) : value === wanted)),
  in: unlessNull((value, wanted) => ((wanted as unknown[])[1] as unknown[]).includes(value)),
  '~': (value, wanted) =>
    value !== null && [value].flat().some((text) => new RegExp(wanted as string).test(text as string)),
  'null?': (value, wanted) => (value === null) === wanted,
  '>': unlessNull((value, wanted) =>
    typeof value === 'number' ? value > (wanted as number) : Date.parse(value as string) > Date.parse(wanted as string),
  ),
};

function verdictOf([op, ...args]: Clause, event: Shown): Verdict {
  if (op === 'not') {
    const inner = verdictOf(args[0] as Clause, event);
    return inner === null ? null : !inner;
  }
  if (op === 'and' || op === 'or') {
    const verdicts = args.map((arg) => verdictOf(arg as Clause, event));
    const decisive = op === 'or';
    return verdicts.includes(decisive) ? decisive : verdicts.includes(null) ? null : !decisive;
  }
  return LEAVES[op as string]!(event[args[0] as string], args[1]);
}

const passing = (clause: Clause): Shown[] => all.filter((event) => verdictOf(clause, event) === true);

// ------------------------------------------------------------------ random conditions

const someTexts = (count: number): string[] =>
  Array.from({ length: count }, () => random.pick([...TEXTS, 'Base', 'success', 'failure', 'elsewhere']));

const ON_CODES: readonly (() => Clause)[] = [
  () => ['=', random.pick(FIELDS), someTexts(1)[0]],
  () => ['~', random.pick(FIELDS), random.pick(PATTERNS)],
  () => ['in', random.pick(FIELDS), ['array', someTexts(random.between(1, 7))]],
  () => ['null?', random.pick(['property', 'containing_class', 'name']), random.chance(0.5)],
  () => ['=', 'corrective_change', random.chance(0.5)],
];
const OTHERS: readonly (() => Clause)[] = [
  () => ['>', 'timestamp', `2026-11-20T00:00:${10 + random.below(40)}.000Z`],
  () => ['=', random.pick(SHOWN), someTexts(1)[0]],
  () => ['~', random.pick([...SHOWN, 'containment_path']), random.pick(PATTERNS)],
  () => ['in', random.pick(SHOWN), ['array', someTexts(random.between(1, 7))]],
  () => ['null?', random.pick([...SHOWN, 'containment_path', 'line']), random.chance(0.5)],
  () => [random.pick(['=', '>']), 'line', random.pick([1, 2, 30, 99])],
  () => ['=', 'containment_path', random.pick(['Base', 'Stage[main]', 'elsewhere'])],
  () => ['~', 'certname', random.pick(['^n1', 'n7', '5'])],
];

function someClause(depth: number): Clause {
  const kind = depth === 0 ? 0 : random.below(4);
  if (kind === 1) return ['not', someClause(depth - 1)];
  if (kind > 1) {
    const args = Array.from({ length: random.between(1, 3) }, () => someClause(depth - 1));
    return [kind === 2 ? 'and' : 'or', ...args];
  }
  return random.pick(random.chance(0.7) ? ON_CODES : OTHERS)();
}

function* pages() {
  for (const field of FIELDS) {
    for (const order of ['asc', 'desc']) {
      for (const [limit, offset] of [
        [1, 0],
        [5, 2],
        [30, 0],
        [5000, 10],
      ] as const) {
        yield { field, order, limit, offset };
      }
    }
  }
}

describe('conditions on coded columns of events', () => {
  it('have the rows that looking at each event gives, in the same order', () => {
    for (let i = 0; i < CONDITIONS; i++) {
      const clause = someClause(random.below(4));
      assert.deepEqual(shown(clause), passing(clause), JSON.stringify(clause));
    }
  });

  it('count and group the same events', () => {
    for (let i = 0; i < 60; i++) {
      const clause = someClause(2);
      const expected = passing(clause);
      const [{ count } = { count: 0 }] = answer<{ count: number }>('/events', [
        'extract',
        [['function', 'count']],
        clause,
      ]);
      assert.equal(count, expected.length, JSON.stringify(clause));
      const counted = answer<Record<string, number>>('/event-counts', clause, { summarize_by: 'certname' });
      const failures = expected.filter(({ status }) => status === 'failure').length;
      assert.equal(
        counted.reduce((sum, row) => sum + row['failures']!, 0),
        failures,
        JSON.stringify(clause),
      );
    }
  });

  it('groups of any fields are those that looking at each event gives', () => {
    const fields = [...FIELDS, 'corrective_change', 'certname', 'report', 'timestamp', 'message', 'line', 'new_value'];
    for (let i = 0; i < 80; i++) {
      const clause = someClause(1);
      const by = [...new Set(Array.from({ length: random.between(1, 4) }, () => random.pick(fields)))];
      const groups = answer<Shown>('/events', ['extract', [...by, ['function', 'count']], clause, ['group_by', ...by]]);
      const expected = new Map<string, number>();
      for (const event of passing(clause)) {
        const key = JSON.stringify(by.map((field) => event[field]));
        expected.set(key, (expected.get(key) ?? 0) + 1);
      }
      const counted = groups.map((row): [string, number] => [
        JSON.stringify(by.map((field) => row[field])),
        row['count'] as number,
      ]);
      assert.deepEqual(counted.sort(), [...expected].sort(), `${JSON.stringify(clause)} by ${by.join(', ')}`);
    }
  });

  it('choose the nodes that have such an event, and no others', () => {
    for (let i = 0; i < 60; i++) {
      const clause = someClause(2);
      const rows = answer<{ certname: string }>('/nodes', ['extract', 'certname', ['subquery', 'events', clause]]);
      const expected = new Set(passing(clause).map(({ certname }) => certname));
      assert.deepEqual(rows.map(({ certname }) => certname).sort(), [...expected].sort(), JSON.stringify(clause));
    }
  });

  it('leave pages in order as they are', () => {
    for (const { field, order, limit, offset } of pages()) {
      const clause = someClause(1);
      const asked = { order_by: JSON.stringify([{ field, order }]) };
      const page = shown(clause, { ...asked, limit: `${limit}`, offset: `${offset}` });
      assert.deepEqual(page, shown(clause, asked).slice(offset, offset + limit), `${JSON.stringify(clause)} ${field}`);
    }
  });

  it('compare with the texts of a subquery', () => {
    const types = ['extract', 'resource_type', ['select_events', ['=', 'status', 'failure']]];
    const failed = new Set(passing(['=', 'status', 'failure']).map((event) => event['resource_type']));
    for (const field of ['resource_type', 'property']) {
      const expected = all.filter((event) => event[field] !== null && failed.has(event[field]));
      assert.deepEqual(shown(['in', field, types]), expected);
    }
  });

  it('hold for the newest events of a resource, too', () => {
    const times = { distinct_resources: 'true', distinct_start_time: '2026-11-19', distinct_end_time: '2026-11-21' };
    const newest = shown(['~', 'certname', ''], times);
    for (const clause of [
      ['=', 'resource_type', 'File'],
      ['~', 'resource_title', '[1-3]$'],
      ['and', ['=', 'status', 'success'], ['not', ['=', 'resource_type', 'mode']]],
      ['or', ['=', 'status', 'failure'], ['~', 'containing_class', 'Web']],
    ]) {
      const expected = newest.filter((event) => verdictOf(clause, event) === true);
      assert.deepEqual(shown(clause, times), expected, JSON.stringify(clause));
    }
  });
});

describe('conditions on coded columns of events: work', () => {
  const EVENTS = 400;
  const REPORTS_LONG = 5;
  let long: Fleet;
  before(() => {
    long = newFleet();
    const [resource] = report('a').resources;
    const types = ['File', 'Exec', 'Package', 'Service'];
    for (let i = 0; i < REPORTS_LONG; i++) {
      const resources = Array.from({ length: EVENTS }, (_, n) => ({
        ...resource,
        resource_type: types[n % types.length],
        resource_title: `title ${n}`,
      }));
      long.apply('store report', 8, report('long.example.com', { configuration_version: `${i}`, resources }));
    }
  });
  after(() => long.close());

  /** How often the query calls that method of events. */
  function calls(method: 'equals' | 'numberOf' | 'textOf' | 'at', clause: Clause): number {
    const counted = mock.method(StoredEvents.prototype, method);
    try {
      const { head, text } = ask(long, asked('/events', ['extract', [['function', 'count']], clause]));
      assert.equal(head.status, 200, text);
      return counted.mock.callCount();
    } finally {
      counted.mock.restore();
    }
  }

  it('an equal text is looked for among the codes of a column, not among the events', () => {
    for (const clause of [
      ['=', 'resource_type', 'Exec'],
      ['not', ['=', 'resource_type', 'Exec']],
      ['in', 'resource_type', ['array', ['Exec']]],
      ['and', ['=', 'resource_type', 'Exec'], ['~', 'certname', 'long']],
    ]) {
      assert.equal(calls('equals', clause), 4 * REPORTS_LONG, JSON.stringify(clause));
    }
  });

  it('another test is made once per text, in whatever reports it is', () => {
    for (const clause of [
      ['~', 'resource_type', 'c$'],
      ['not', ['~', 'resource_type', 'c$']],
      ['in', 'resource_type', ['array', ['a', 'b', 'c', 'd', 'Exec']]],
    ]) {
      assert.equal(calls('numberOf', clause), 4 * REPORTS_LONG, JSON.stringify(clause));
      assert.ok(calls('textOf', clause) <= 4 * 2, JSON.stringify(clause));
    }
  });

  it('no event is looked at of a report without such a text', () => {
    for (const clause of [
      ['=', 'resource_type', 'Nothing'],
      ['and', ['~', 'resource_title', '^title'], ['=', 'resource_type', 'Nothing']],
      ['or', ['=', 'resource_type', 'Nothing'], ['in', 'property', ['array', ['none', 'neither']]]],
      ['not', ['or', ['~', 'resource_type', '.'], ['=', 'resource_title', 'title 1']]],
      ['and', ['=', 'resource_type', 'File'], ['=', 'resource_title', 'title 1']],
    ]) {
      assert.equal(calls('at', clause), 0, JSON.stringify(clause));
    }
  });

  it('of others those that can pass', () => {
    assert.equal(calls('at', ['=', 'resource_title', 'title 7']), REPORTS_LONG);
    const either = ['or', ['=', 'resource_title', 'title 7'], ['=', 'resource_title', 'title 300']];
    assert.equal(calls('at', either), 2 * REPORTS_LONG);
    assert.equal(calls('at', ['and', ['=', 'resource_title', 'title 7'], ['=', 'message', 'x']]), REPORTS_LONG);
  });

  it('what has no codes is tested once per text, in whatever reports it is', () => {
    const text = mock.method(TextRecord.prototype, 'text');
    try {
      ask(long, asked('/events', ['extract', [['function', 'count']], ['=', 'containment_path', 'nothing']]));
      assert.equal(text.mock.callCount(), 1);
    } finally {
      text.mock.restore();
    }
  });

  it('one event is enough to tell that a node has some', () => {
    const query = ['subquery', 'events', ['=', 'status', 'success']];
    const at = mock.method(StoredEvents.prototype, 'at');
    try {
      ask(long, asked('/nodes', query));
      assert.equal(at.mock.callCount(), REPORTS_LONG);
    } finally {
      at.mock.restore();
    }
  });
});
