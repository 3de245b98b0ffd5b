import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { batchSize } from '../../../engine/ingest/apply.ts';
import type { ApplyOutcome, IngestSettings, QueuedCommand } from '../../../engine/ingest/command/types.ts';
import { openPartition, type Partition } from '../../../engine/store/partition.ts';
import type { NodeRecord } from '../../../engine/store/records/records.ts';
import type { View } from '../../../engine/store/view.ts';
import { applyBatch } from '../../support/apply.ts';
import {
  at,
  catalogPayload,
  event,
  type Fields,
  factsPayload,
  RECEIVED,
  reportPayload,
  reportResource,
  resource,
  SETTINGS,
  submit,
} from './support.ts';

const dir = mkdtempSync(join(tmpdir(), 'apply-'));
const opened: Partition[] = [];
after(async () => {
  for (const partition of opened) await partition.close();
  rmSync(dir, { recursive: true });
});

class Store {
  readonly partition: Partition;

  constructor() {
    this.partition = openPartition(join(dir, `p${opened.length}`));
    opened.push(this.partition);
  }

  /** Applies commands as one batch; gives back `detail` or the failure's class of each. */
  apply(...commands: QueuedCommand[]): string[] {
    return this.outcomes(commands).map((outcome) =>
      outcome.kind === 'processed'
        ? outcome.detail
        : outcome.kind === 'reroute'
          ? `to ${outcome.certname}`
          : outcome.exception,
    );
  }

  outcomes(commands: QueuedCommand[], settings: IngestSettings = SETTINGS): ApplyOutcome[] {
    return applyBatch(this.partition, commands, settings);
  }

  read<T>(look: (view: View) => T): T {
    const view = this.partition.snapshot();
    try {
      return look(view);
    } finally {
      view.close();
    }
  }

  node(certname = 'c'): NodeRecord | undefined {
    return this.read((view) => view.node(view.nodeId(certname)));
  }

  facts(certname = 'c'): Record<string, string> {
    return this.read((view) => {
      const list = view.facts.list(view.nodeId(certname));
      const entries: [string, string][] = [];
      for (let index = 1; index < list.length; index += 2) {
        const { name, value } = view.facts.body(list[index] as number);
        assert.equal(list[index - 1], view.nameId(name));
        entries.push([name, value]);
      }
      return Object.fromEntries(entries);
    });
  }

  packages(certname = 'c'): string[] {
    return this.read((view) =>
      [...view.packages.list(view.nodeId(certname))].map((id) => Object.values(view.packages.body(id)).join(' ')),
    );
  }

  resources(certname = 'c') {
    return this.read((view) => [...view.resources.list(view.nodeId(certname))].map((id) => view.resources.body(id)));
  }

  edges(certname = 'c') {
    return this.read((view) => [...view.edges.list(view.nodeId(certname))].map((id) => view.edges.body(id)));
  }

  reports(certname = 'c') {
    return this.read((view) => {
      const latest = view.node(view.nodeId(certname))?.latestReport?.reportId;
      return [...view.reports.ofNode(view.nodeId(certname))].map((id) => ({
        ...view.reports.get(id),
        isLatest: id === latest,
        events: view.reports.events(id),
      }));
    });
  }

  get state(): 'active' | 'inactive' | 'unknown' {
    const node = this.node();
    if (node === undefined) return 'unknown';
    return node.deactivated === null && node.expired === null ? 'active' : 'inactive';
  }
}

const facts = (minute: number, fields: Fields = {}): QueuedCommand =>
  submit('replace facts', factsPayload({ producer_timestamp: at(minute), ...fields }));
const catalog = (minute: number, fields: Fields = {}): QueuedCommand =>
  submit('replace catalog', catalogPayload({ producer_timestamp: at(minute), ...fields }));
const report = (minute: number, fields: Fields = {}): QueuedCommand =>
  submit(
    'store report',
    reportPayload({ producer_timestamp: at(minute), configuration_version: `${minute}`, ...fields }),
  );
const deactivate = (minute: number): QueuedCommand =>
  submit('deactivate node', { certname: 'c', producer_timestamp: at(minute) });
const expiration = (minute: number, expire: boolean): QueuedCommand =>
  submit('configure expiration', { certname: 'c', expire: { facts: expire }, producer_timestamp: at(minute) });
const inputs = (minute: number, list: unknown, fields: Fields = {}): QueuedCommand =>
  submit('replace catalog inputs', {
    certname: 'c',
    catalog_uuid: '11111111-1111-1111-1111-111111111111',
    inputs: list,
    producer_timestamp: at(minute),
    ...fields,
  });

// ---- facts

test('apply: facts of the same time replace, older ones do not', () => {
  const store = new Store();
  assert.deepEqual(store.apply(facts(5, { values: { a: 1, b: 2 } })), ['stored']);
  assert.deepEqual(store.apply(facts(5, { values: { a: 2 }, environment: null })), ['stored']);
  assert.deepEqual(store.facts(), { a: '2' });
  assert.deepEqual(store.apply(facts(4, { values: { a: 3 } })), ['stale']);
  assert.deepEqual(store.facts(), { a: '2' });
  const { factset } = store.node() as NodeRecord;
  assert.deepEqual(
    [factset?.environment, factset?.producerTimestamp, factset?.timestamp],
    [null, Date.parse(at(5)), RECEIVED],
  );
});

test('apply: equal facts change only the header', () => {
  const store = new Store();
  store.apply(facts(1, { values: { a: 1 }, producer: 'one' }));
  const [outcome] = store.outcomes([facts(2, { values: { a: 1 }, producer: 'two' })]);
  assert.ok(outcome?.kind === 'processed' && outcome.unchanged === true);
  assert.deepEqual(store.facts(), { a: '1' });
  assert.equal(store.node()?.factset?.producer, 'two');
  assert.deepEqual(store.read((view) => view.producers()).sort(), ['one', 'two']);
});

test('apply: the package set is exactly what the last facts said', () => {
  const store = new Store();
  const two = [
    ['b', '1', 'apt'],
    ['a', '1', 'apt'],
    ['b', '1', 'apt'],
  ];
  store.apply(facts(1, { package_inventory: two }));
  // In the order they were sent, which is the order factsets show them in.
  assert.deepEqual(store.packages(), ['b 1 apt', 'a 1 apt']);
  store.apply(facts(2, { package_inventory: [['c', '2', 'gem']] }));
  assert.deepEqual(store.packages(), ['c 2 gem']);
  for (const none of [undefined, null, []]) {
    store.apply(facts(3, { package_inventory: two }), facts(4, { package_inventory: none }));
    assert.deepEqual(store.packages(), []);
  }
});

test('apply: leaves are not taken that are so many and nested so deeply that their paths would fill the store', () => {
  const store = new Store();
  const nested = (depth: number, leaves: number): unknown => {
    let value: unknown = Array(leaves).fill(0);
    for (let level = 1; level < depth; level++) value = [value];
    return value;
  };
  assert.deepEqual(store.apply(facts(0, { values: { kept: 'a' } })), ['stored']);
  const [outcome] = store.outcomes([facts(1, { values: { tower: nested(900, 90_000) } })]);
  assert.ok(outcome?.kind === 'failed');
  assert.match(outcome.error, /^fact "tower": the paths of its leaves take too many bytes/);
  assert.deepEqual(store.facts(), { kept: '"a"' });
  assert.deepEqual(store.apply(facts(1, { values: { list: nested(1, 200_000), tower: nested(900, 100) } })), [
    'stored',
  ]);
  const [flat] = store.outcomes([facts(2, { values: { list: nested(1, 3_000_000) } })]);
  assert.ok(flat?.kind === 'failed');
  const names = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`${index}`, 0]));
  assert.deepEqual(store.outcomes([facts(2, { values: { ['n'.repeat(8_000)]: names } })])[0]?.kind, 'failed');
  assert.deepEqual(store.apply(facts(2, { values: { [`${'n'.repeat(8_000)}`]: 1, names } })), ['stored']);
});

test('apply: the paths of new facts are registered', () => {
  const store = new Store();
  store.apply(facts(1, { values: { a: { b: [1.5, null, {}] }, e: [], t: true } }));
  assert.deepEqual(
    store.read((view) => [...view.factPaths()].map(({ type, path }) => `${path.join('.')} ${type}`)).sort(),
    ['a json', 'a.b.0 float', 'a.b.1 null', 't boolean'],
  );
});

// ---- catalogs

test('apply: catalogs of the same time replace, older ones do not', () => {
  const store = new Store();
  store.apply(catalog(5, { version: 'a' }));
  const first = store.node()?.catalog;
  store.apply(catalog(5, { version: 'b' }));
  assert.deepEqual({ ...store.node()?.catalog, version: 'a' }, first);
  assert.deepEqual(store.apply(catalog(4, { version: 'c' })), ['stale']);
  assert.equal(store.node()?.catalog?.version, 'b');
});

test('apply: resources and edges become those of the catalog', () => {
  const store = new Store();
  const a = { type: 'File', title: '/a' };
  const b = { type: 'File', title: '/b' };
  store.apply(
    catalog(1, {
      resources: [resource(a), resource(b)],
      edges: [{ source: a, target: b, relationship: 'before' }],
    }),
  );
  assert.deepEqual(
    store.resources().map(({ title }) => title),
    ['/a', '/b'],
  );
  assert.equal(store.edges().length, 1);
  store.apply(catalog(2, { resources: [resource({ ...b, parameters: { x: 1 } })] }));
  assert.deepEqual(
    store.resources().map(({ title, parameters }) => [title, parameters]),
    [['/b', '{"x":1}']],
  );
  assert.deepEqual(store.edges(), []);
  assert.deepEqual(store.partition.counts().resources, 1);
});

test('apply: an absent file or line keeps the stored one, null clears it', () => {
  const store = new Store();
  const file = { type: 'File', title: '/a', file: '/one.pp', line: 5 };
  store.apply(catalog(1, { resources: [resource(file), resource()] }));
  const stored = (): unknown[] => {
    const found = store.resources().find(({ title }) => title === '/a');
    return [found?.file, found?.line];
  };
  store.apply(catalog(2, { resources: [resource({ type: 'File', title: '/a' })] }));
  assert.deepEqual(stored(), ['/one.pp', 5]);
  store.apply(catalog(3, { resources: [resource({ type: 'File', title: '/a', line: null })] }));
  assert.deepEqual(stored(), ['/one.pp', null]);
  store.apply(catalog(4, { resources: [resource({ type: 'File', title: '/a', file: null, parameters: { x: 1 } })] }));
  assert.deepEqual(stored(), [null, null]);
  store.apply(catalog(5, { resources: [] }), catalog(6, { resources: [resource({ type: 'File', title: '/a' })] }));
  assert.deepEqual(stored(), [null, null]);
  // Also where another node has it without them, and sent it so often that it is known.
  store.apply(catalog(7, { resources: [resource(file)] }));
  for (const version of ['1', '2', '3']) {
    const resources = [resource({ type: 'File', title: '/a' }), resource({ title: version })];
    store.apply(catalog(7, { certname: 'd', resources }));
  }
  store.apply(catalog(8, { resources: [resource({ type: 'File', title: '/a' })] }));
  assert.deepEqual(stored(), ['/one.pp', 5]);
});

test('apply: bodies are shared by nodes and go with the last one', () => {
  const store = new Store();
  const mine = { certname: 'd', resources: [resource({ title: 'Shared' })] };
  store.apply(catalog(1, { resources: [resource({ title: 'Shared' })] }), catalog(1, mine));
  assert.equal(
    store.read((view) => view.resources.ids().length),
    1,
  );
  store.apply(catalog(2, { resources: [] }));
  assert.equal(
    store.read((view) => view.resources.ids().length),
    1,
  );
  store.apply(catalog(2, { ...mine, resources: [] }));
  assert.equal(
    store.read((view) => view.resources.ids().length),
    0,
  );
});

// ---- reports

test('apply: the newest agent report is the latest, an equally new one is not', () => {
  const store = new Store();
  store.apply(report(10), report(10, { configuration_version: 'other' }), report(5), report(20, { type: 'plan' }));
  const reports = store.reports();
  assert.deepEqual(
    reports.map(({ isLatest }) => isLatest),
    [true, false, false, false],
  );
  store.apply(report(11, { status: 'failed', end_time: at(12) }));
  const latest = store.node()?.latestReport;
  assert.deepEqual([latest?.status, latest?.endTime], ['failed', Date.parse(at(12))]);
});

test('apply: a report with the same identity is a duplicate whatever else it says', () => {
  const store = new Store();
  assert.deepEqual(store.apply(report(1), report(1, { status: 'changed', environment: 'other', type: 'plan' })), [
    'stored',
    'duplicate',
  ]);
  assert.deepEqual(store.apply(report(1, { transaction_uuid: null, logs: null })), ['duplicate']);
  assert.equal(store.reports().length, 1);
});

test('apply: events past their time are not stored', () => {
  const store = new Store();
  const old = new Date(RECEIVED - SETTINGS.resourceEventsTtl).toISOString();
  const young = new Date(RECEIVED - SETTINGS.resourceEventsTtl + 1).toISOString();
  const resources = [reportResource({ events: [event({ timestamp: old }), event({ timestamp: young })] })];
  store.apply(report(1, { resources }));
  const [stored] = store.reports();
  assert.deepEqual(
    stored?.events.map(({ timestamp }) => timestamp),
    [Date.parse(young)],
  );
  assert.deepEqual(
    [stored?.eventCount, stored?.eventTimeMin, stored?.eventTimeMax],
    [1, Date.parse(young), Date.parse(young)],
  );
  store.outcomes([report(2, { resources })], { ...SETTINGS, resourceEventsTtl: 0 });
  assert.deepEqual(store.reports()[1]?.events, []);
});

test('apply: events that repeat too much of their resource are refused as a whole, however they were read', () => {
  const store = new Store();
  const title = 'x'.repeat(200_000);
  const many = (fields: Fields) => Array.from({ length: 400 }, (_, i) => event({ property: `p${i}`, ...fields }));
  const young = new Date(RECEIVED).toISOString();
  const old = new Date(RECEIVED - SETTINGS.resourceEventsTtl).toISOString();
  const of = (minute: number, fields: Fields) =>
    store.outcomes([
      report(minute, { resources: [reportResource({ resource_title: title, events: many(fields) })] }),
    ])[0];
  // Bytes are not repeated, values are: where one is no plain text, and where events are past their time.
  assert.equal(of(1, { timestamp: young })?.kind, 'processed');
  for (const fields of [{ timestamp: young, new_value: { a: [1, 2.5] } }, { timestamp: old }]) {
    const outcome = of(2, fields);
    assert.ok(outcome?.kind === 'failed');
    assert.match(outcome.error, /its events repeat too much text/);
  }
  assert.deepEqual(
    store.reports().map(({ eventCount }) => eventCount),
    [400],
  );
});

// ---- nodes

test('apply: strictly newer data reactivates, and equal times keep a node inactive', () => {
  const store = new Store();
  store.apply(deactivate(10));
  assert.equal(store.state, 'inactive');
  store.apply(facts(9));
  assert.equal(store.state, 'inactive');
  assert.ok(store.node()?.factset);
  store.apply(facts(10));
  assert.equal(store.state, 'inactive');
  store.apply(facts(11));
  assert.equal(store.state, 'active');
});

test('apply: a deactivation older than the data is stale, one of the same time is not', () => {
  const store = new Store();
  store.apply(facts(10), catalog(20), report(30), report(90, { type: 'plan' }), inputs(80, [['h', 'x']]));
  assert.deepEqual(store.apply(deactivate(29)), ['stale']);
  assert.equal(store.state, 'active');
  assert.deepEqual(store.apply(deactivate(30)), ['stored']);
  assert.equal(store.node()?.deactivated, Date.parse(at(30)));
  store.apply(deactivate(50), deactivate(40));
  assert.equal(store.node()?.deactivated, Date.parse(at(50)));
  store.apply(report(60, { type: 'plan' }));
  assert.equal(store.state, 'active');
});

test('apply: stale and duplicate commands reactivate as well', () => {
  const store = new Store();
  store.apply(inputs(40, [['h', 'x']]), deactivate(30));
  assert.equal(store.state, 'inactive');
  assert.deepEqual(store.apply(inputs(35, [['h', 'y']])), ['stale']);
  assert.equal(store.state, 'active');
  const plan = { type: 'plan', configuration_version: 'p' };
  store.apply(report(50, plan), deactivate(45));
  assert.deepEqual(store.apply(report(50, plan)), ['duplicate']);
  assert.equal(store.state, 'active');
});

test('apply: an expired node comes back with data newer than its expiry only', () => {
  const store = new Store();
  store.apply(facts(1));
  const expire = (deactivated: string | null, expired: string): void => {
    store.partition.write((batch) => {
      const id = batch.view.nodeId('c');
      const times = {
        deactivated: deactivated === null ? null : Date.parse(deactivated),
        expired: Date.parse(expired),
      };
      batch.putNode(id, { ...(batch.node(id) as NodeRecord), ...times });
    });
  };
  expire(null, at(10));
  store.apply(facts(10));
  assert.equal(store.state, 'inactive');
  expire(at(5), at(20));
  store.apply(facts(15));
  assert.equal(store.state, 'inactive');
  store.apply(facts(21));
  assert.deepEqual([store.node()?.deactivated, store.node()?.expired], [null, null]);
  // Of two times that one is equal says nothing.
  for (const [deactivated, expired] of [
    [at(30), at(25)],
    [at(25), at(30)],
  ] as const) {
    expire(deactivated, expired);
    store.apply(facts(30));
    assert.deepEqual([store.node()?.deactivated, store.node()?.expired], [null, null]);
  }
});

test('apply: expiration settings move with strictly newer times only', () => {
  const store = new Store();
  const set = (): unknown => store.node()?.expiresFacts;
  store.apply(expiration(10, false));
  assert.equal(set(), false);
  store.apply(expiration(9, true));
  assert.equal(set(), false);
  store.apply(expiration(10, true));
  assert.equal(set(), false);
  assert.deepEqual(store.apply(expiration(11, true)), ['stored']);
  assert.equal(set(), true);
  assert.equal(store.node()?.expiresFactsUpdated, Date.parse(at(11)));
});

test('apply: inputs of an equal time are stale, empty ones change nothing', () => {
  const store = new Store();
  const stored = (): string | null => store.read((view) => view.inputs(view.nodeId('c')));
  assert.deepEqual(store.apply(inputs(0, [])), ['stored']);
  assert.equal(store.state, 'unknown');
  store.apply(inputs(0, [['h', 'x']]));
  assert.deepEqual(store.apply(inputs(0, [['h', 'y']])), ['stale']);
  store.apply(inputs(1, []));
  assert.equal(stored(), '[["h","x"]]');
  store.apply(inputs(2, [['h', 'y']]));
  assert.equal(stored(), '[["h","y"]]');
  store.apply(inputs(3, [['h', 'y']], { catalog_uuid: '22222222222222222222222222222222' }));
  assert.equal(store.node()?.inputs?.catalogUuid, '22222222-2222-2222-2222-222222222222');
});

test('apply: of older inputs neither the UUID nor the length of a pair matters', () => {
  const store = new Store();
  const odd = (minute: number): QueuedCommand[] => [
    inputs(minute, [['h', 'x']], { catalog_uuid: 'none' }),
    inputs(minute, [['h']]),
    inputs(minute, [['h', 5]]),
    inputs(minute, 5),
  ];
  assert.deepEqual(store.apply(...odd(1)), Array(4).fill('NotStorable'));
  store.apply(inputs(2, [['h', 'x']]));
  assert.deepEqual(store.apply(...odd(1)), ['stale', 'stale', 'NotStorable', 'NotStorable']);
  assert.deepEqual(store.apply(...odd(3)), Array(4).fill('NotStorable'));
});

// ---- batches

test('apply: a failing command leaves nothing behind and does not disturb its neighbours', () => {
  const store = new Store();
  const commands = [
    facts(1, { values: { a: 1 } }),
    facts(2, { values: { 'x\u0000': 1 } }),
    submit('replace facts', factsPayload({ certname: 'new', environment: 'e\u0000' })),
    submit('replace facts', factsPayload({ certname: 'new', nonsense: 1 })),
    submit('store report', reportPayload({ certname: 'new', transaction_uuid: 'abc' })),
    submit('store report', reportPayload({ certname: 'new', report_format: 40_000 })),
    submit('replace catalog', catalogPayload({ certname: 'new', resources: [resource({ exported: null })] })),
    submit('replace catalog', catalogPayload({ certname: 'new', transaction_uuid: 'abc' })),
    facts(3, { values: { b: 1 } }),
  ];
  assert.deepEqual(store.apply(...commands), [
    'stored',
    'NotStorable',
    'NotStorable',
    'InvalidPayload',
    'NotStorable',
    'NotStorable',
    'NotStorable',
    'NotStorable',
    'stored',
  ]);
  assert.deepEqual(store.facts(), { b: '1' });
  assert.equal(store.node('new'), undefined);
  assert.equal(store.partition.counts().nodes, 1);
  assert.equal(store.partition.position, commands[commands.length - 1]?.seq);
});

test('apply: a stale command passes whatever it holds', () => {
  const store = new Store();
  store.apply(facts(5), catalog(5), report(5), inputs(5, [['h', 'x']]));
  assert.deepEqual(
    store.apply(
      facts(4, { values: { 'x\u0000': 1 } }),
      catalog(4, { transaction_uuid: 'abc' }),
      report(5, { catalog_uuid: 'abc' }),
      inputs(5, [['h', 'y']], { catalog_uuid: 'abc' }),
    ),
    ['stale', 'stale', 'duplicate', 'stale'],
  );
  assert.notEqual(store.apply(inputs(6, [['h', 'y']], { catalog_uuid: 'abc' }))[0], 'stored');
});

test('apply: the room a batch asks for is that of its payloads, and of no more than the largest command may have', () => {
  const plain = facts(1);
  const packed = submit('replace facts', factsPayload({ values: { a: 'x'.repeat(1000) } }), { gzip: true });
  const size = batchSize([plain, packed], SETTINGS);
  assert.ok(size > plain.body.length + 1000 && size < plain.body.length + 1500, `${size}`);
  const lying = Uint8Array.from([...packed.body.slice(0, -4), 0xff, 0xff, 0xff, 0xff]);
  const many = Array.from({ length: 500 }, () => ({ ...packed, body: lying }));
  assert.equal(batchSize(many, SETTINGS), SETTINGS.decompressedMax);
});

test('apply: data goes where the payload says', () => {
  const store = new Store();
  const command = submit('replace facts', factsPayload({ certname: 'payload' }), { certname: 'envelope' });
  assert.deepEqual(store.apply(command), ['stored']);
  assert.ok(store.node('payload'));
  assert.equal(store.node('envelope'), undefined);
  const owns = (certname: string): boolean => certname === 'c';
  const settings = { ...SETTINGS, owns };
  assert.deepEqual(
    store.outcomes([command, facts(1)], settings).map(({ kind }) => kind),
    ['reroute', 'processed'],
  );
  assert.deepEqual(store.outcomes([command], settings), [{ kind: 'reroute', seq: command.seq, certname: 'payload' }]);
});

test('apply: a defect takes the whole batch with it, and the next try starts clean', () => {
  const store = new Store();
  const commands = [facts(1, { values: { a: 1 } }), catalog(1)];
  const { putNode } = store.partition as unknown as { putNode?: unknown };
  assert.equal(putNode, undefined);
  assert.throws(() =>
    store.partition.write((batch) => {
      batch.createNode('ghost');
      throw new Error('defect');
    }),
  );
  assert.deepEqual(store.apply(...commands), ['stored', 'stored']);
  assert.equal(store.partition.counts().nodes, 1);
});
