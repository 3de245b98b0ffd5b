// A random fleet, twice: its commands go through the engine into real partitions, and into the model's memory. Values come from
// small pools, so that nodes share what they have and conditions meet something; the pools hold every kind of value that the
// rules treat in a way of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IngestSettings, QueuedCommand } from '../../../../engine/ingest/command/types.ts';
import { printJson } from '../../../../engine/json/print.ts';
import { Float, type JsonObject, type JsonValue } from '../../../../engine/json/value.ts';
import { deleteNode } from '../../../../engine/retention/nodes.ts';
import { slotOf } from '../../../../engine/store/file/store-info.ts';
import { openPartition, type Partition } from '../../../../engine/store/partition.ts';
import { Random } from '../../../../perf/lib/random.ts';
import { applyBatch, queuedOf } from '../../../support/apply.ts';
import type {
  Catalog,
  Edge,
  Facts,
  Inputs,
  Report,
  ReportEvent,
  ReportResource,
  Resource,
  WorldOptions,
} from './world.ts';
import { World } from './world.ts';

export interface FleetOptions extends WorldOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly partitions: number;
  /** How often each node's data is sent; later ones replace most of it. */
  readonly rounds: number;
}

export interface Fleet {
  readonly partitions: readonly Partition[];
  readonly world: World;
  close(): Promise<void>;
}

const DAY = 86_400_000;
/** The moment of all queries. */
export const NOW = Date.UTC(2026, 10, 21);
/** Horizon of `node_state = inactive`: some nodes have been inactive for longer. */
export const PURGE_TTL = 14 * DAY;

// ---- pools ----

const ENVIRONMENTS = ['production', 'qa', 'dev_2', null];
const PRODUCERS = ['ps1.example.com', 'ps2.example.com', null];
const UUIDS = ['8aa0ab9a-6e11-4bd0-aa7d-e07af3ae37ac', '00000000-0000-4000-8000-000000000001', null];
const float = (value: number): Float => new Float(value);

const FACTS: Readonly<Record<string, readonly JsonValue[]>> = {
  kernel: ['Linux', 'linux', 'FreeBSD', 'Linux'],
  uptime_seconds: [0, 1000, 2000, 86_400, null, '5'],
  is_virtual: [true, false],
  load: [0.5, 1.5, float(2), 10.25],
  mixed: [5, '5', float(5), true, null, [], {}, [1, 'a'], { a: 1 }, 'five'],
  os: [
    { family: 'Debian', name: 'Debian', release: { major: '12', minor: '5' } },
    { family: 'Debian', name: 'Ubuntu', release: { major: '24' } },
    { family: 'FreeBSD', release: { major: '13' } },
    { release: null },
    'unknown',
  ],
  arr: [['a', 'b', { c: [1, 2, 3] }], [], [[1], 2], ['b', 'a'], 'a', { 0: 'zero' }, [{ c: 3 }, { c: '3' }]],
  h: [{ 5: 'five', x: null, y: 1, 'z.w': 2 }, { y: float(1) }, {}, { x: { y: { z: 'deep' } } }],
  'dot.ted': ['dv', 1],
  1: ['one', 1],
  'sp ace': ['sv'],
  'arr[0]': ['literal'],
  '': ['nameless'],
  UPPER: ['Upper', 'UPPER'],
  big: [9_007_199_254_740_993n, 9_007_199_254_740_992n, 12_345_678_901_234_567_890n, -9_007_199_254_740_993n, 5],
  flt: [float(1), 1, 0.1, float(1e10), 1e-7, float(-3), -0.25],
  text: ['', 'a\nb', 'it\'s "q" \\ end', 'héllo ☃', '😀', '\uff61', 'z', 'Z', '10', '9'],
  empty: [[], {}, null, ''],
};
const TRUSTED_ROLES = ['web', 'db', null];

const TYPES = ['File', 'User', 'Package', 'Service', 'Class'];
const TITLES = ['/etc/hosts', '/tmp/x', 'main', 'Bob', 'nginx', 'a[b]', ''];
const TAGS = ['file', 'class', 'node', 'apache', 'web::server', 'x1'];
const FILES = ['/etc/puppet/site.pp', '/etc/puppet/init.pp', null];
const PARAMETERS: Readonly<Record<string, readonly JsonValue[]>> = {
  ensure: ['present', 'absent', 'Present', true],
  mode: ['0644', '0600', 644],
  num: [5, '5', float(5), 5.5, null, [5]],
  list: [[1, 'two'], ['two', 1], [], [[1]]],
  hash: [{ k: 'v', 'd.k': 3 }, { k: { k: 'v' } }, {}],
  owner: [null, 'root'],
  UPPER: ['x'],
};
const RELATIONSHIPS = ['contains', 'before', 'required-by', 'notifies', 'subscription-of'];
const STATUSES = ['changed', 'unchanged', 'failed', null];
const EVENT_VALUES: readonly JsonValue[] = [
  'present',
  'absent',
  null,
  5,
  float(5),
  { b: 1, a: [2] },
  ['x', null],
  true,
  '',
];
const CLASSES = [['Stage[main]', 'Foo', 'File[/x]'], ['Stage[main]', 'File[/x]'], ['Bar', ''], null];
const PACKAGES: readonly (readonly [string, string, string])[] = [
  ['pkga', '1.0', 'apt'],
  ['pkga', '1.1', 'apt'],
  ['pkgb', '2.0', 'apt'],
  ['gemx', '0.1', 'gem'],
];

// ---- values ----

/** Any JSON of a few levels. */
function randomJson(random: Random, depth: number): JsonValue {
  const kind = random.below(depth > 0 ? 8 : 6);
  if (kind < 5) return random.pick<JsonValue>(['a', 'b', '5', 5, float(5), 7, true, null, 0.5]);
  if (kind === 5) return random.pick<JsonValue>([[], {}]);
  if (kind === 6) return Array.from({ length: random.between(1, 3) }, () => randomJson(random, depth - 1));
  return Object.fromEntries(
    Array.from({ length: random.between(1, 3) }, () => [
      random.pick(['a', 'b', '0', 'x y']),
      randomJson(random, depth - 1),
    ]),
  );
}

const some = <T>(random: Random, list: readonly T[], chance: number): T[] => list.filter(() => random.unit() < chance);

function randomValues(random: Random, certname: string): JsonObject {
  const values: Record<string, JsonValue> = {};
  for (const name of some(random, Object.keys(FACTS), 0.6)) values[name] = random.pick(FACTS[name]!);
  if (random.unit() < 0.3) values['random'] = randomJson(random, 3);
  if (random.unit() < 0.9) {
    const extensions = { pp_role: random.pick(TRUSTED_ROLES) };
    values['trusted'] = { certname, authenticated: 'remote', ...(random.unit() < 0.7 ? { extensions } : {}) };
  }
  return values;
}

function randomParameters(random: Random): JsonObject {
  const parameters: Record<string, JsonValue> = {};
  for (const name of some(random, Object.keys(PARAMETERS), 0.4)) parameters[name] = random.pick(PARAMETERS[name]!);
  return parameters;
}

function randomResources(random: Random): Resource[] {
  const resources = new Map<string, Resource>();
  for (let left = random.between(0, 9); left > 0; left--) {
    const type = random.pick(TYPES);
    const title = random.pick(TITLES);
    // Parameters mostly follow from the title, so that nodes have equal resources.
    const source = random.unit() < 0.8 ? new Random(title.length, type.length, random.below(2)) : random;
    resources.set(`${type} ${title}`, {
      type,
      title,
      tags: some(source, TAGS, 0.4),
      exported: source.unit() < 0.25,
      file: source.pick(FILES),
      line: source.pick([1, 3, 10, 10, null]),
      parameters: randomParameters(source),
    });
  }
  return [...resources.values()];
}

function randomEdges(random: Random, resources: readonly Resource[]): Edge[] {
  if (resources.length === 0) return [];
  const edges = new Map<string, Edge>();
  for (let left = random.between(0, 8); left > 0; left--) {
    const source = random.pick(resources);
    const target = random.pick(resources);
    const edge = {
      relationship: random.pick(RELATIONSHIPS),
      source: { type: source.type, title: source.title },
      target: { type: target.type, title: target.title },
    };
    edges.set(JSON.stringify(edge), edge);
  }
  return [...edges.values()];
}

function randomEvents(random: Random, at: number): ReportEvent[] {
  return some(random, ['ensure', 'mode', 'content', null, 'ensure', 'mode'], 0.35).map((property) => ({
    status: random.pick(['success', 'failure', 'noop', 'success']),
    timestamp: at + random.below(3) * 250,
    property,
    name: random.pick(['changed', null]),
    new_value: random.pick(EVENT_VALUES),
    old_value: random.pick(EVENT_VALUES),
    message: random.pick(['it changed', 'it failed', null]),
    corrective_change: random.pick([true, false, null]),
  }));
}

function randomReportResources(random: Random, at: number): ReportResource[] {
  const titles = some(random, TITLES.slice(0, 4), 0.4);
  return titles.map((title) => {
    const skipped = random.unit() < 0.2;
    return {
      skipped,
      timestamp: at,
      resource_type: random.pick(TYPES),
      resource_title: title,
      file: random.pick(FILES),
      line: random.pick([1, 10, null]),
      containment_path: random.pick(CLASSES),
      corrective_change: random.pick([true, false]),
      events: skipped ? [] : randomEvents(random, at),
    };
  });
}

// ---- commands ----

type Unhashed<T> = Omit<T, 'hash'>;
type Done = (hash: string) => void;
interface Addressed {
  readonly certname: string;
  readonly received: number;
}

const INGEST: IngestSettings = {
  now: NOW,
  resourceEventsTtl: 3650 * DAY,
  factsBlocklist: [],
  factsBlocklistType: 'literal',
  decompressedMax: 1e8,
};

/** Sends commands to the engine and tells the model. */
class Sender {
  readonly partitions: readonly Partition[];
  readonly world: World;
  #seq = 0;
  #pending: { readonly queued: QueuedCommand; readonly done: Done }[] = [];

  constructor(partitions: readonly Partition[], world: World) {
    this.partitions = partitions;
    this.world = world;
  }

  partitionOf(certname: string): Partition {
    return this.partitions[slotOf(certname, this.partitions.length)]!;
  }

  /** Queues a command; `done` gets the identity of what was stored. */
  #queue(command: string, version: number, { certname, received }: Addressed, payload: JsonValue, done: Done): void {
    const seq = ++this.#seq;
    const queued = queuedOf(seq, Buffer.from(printJson(payload)), { command, version, certname, received });
    this.#pending.push({ queued, done });
  }

  /** Applies what is queued, a batch for each partition. */
  flush(): void {
    for (const partition of this.partitions) {
      const own = this.#pending.filter(({ queued }) => this.partitionOf(queued.envelope.certname) === partition);
      const outcomes = applyBatch(
        partition,
        own.map(({ queued }) => queued),
        INGEST,
      );
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.kind !== 'processed') throw new Error(JSON.stringify(outcome));
        own[index]!.done(outcome.hash ?? '');
      }
    }
    this.#pending = [];
  }

  facts(sent: Unhashed<Facts>): void {
    const { received: _, producer_timestamp, ...payload } = sent;
    const whole = { ...payload, producer_timestamp: iso(producer_timestamp) };
    this.#queue('replace facts', 5, sent, whole, (hash) => this.world.facts({ ...sent, hash }));
  }

  catalog(sent: Unhashed<Catalog>): void {
    const { received: _, ...payload } = sent;
    const given = { ...payload, producer_timestamp: iso(sent.producer_timestamp) };
    const whole = unlessNull(given, ['environment', 'job_id', 'transaction_uuid']);
    this.#queue('replace catalog', 9, sent, whole, (hash) => this.world.catalog({ ...sent, hash }));
  }

  report(sent: Unhashed<Report>): void {
    const { received: _, ...payload } = sent;
    const given = {
      ...payload,
      start_time: iso(sent.start_time),
      end_time: iso(sent.end_time),
      producer_timestamp: iso(sent.producer_timestamp),
      resources: sent.resources.map((resource) => ({
        ...resource,
        timestamp: iso(resource.timestamp),
        events: resource.events.map((event) => unlessNull({ ...event, timestamp: iso(event.timestamp) }, ['name'])),
      })),
    };
    const whole = unlessNull(given, ['job_id']);
    this.#queue('store report', 8, sent, whole, (hash) => this.world.report({ ...sent, hash }));
  }

  inputs(sent: Unhashed<Inputs>): void {
    const { received: _, producer_timestamp, ...payload } = sent;
    const whole = { ...payload, producer_timestamp: iso(producer_timestamp) };
    this.#queue('replace catalog inputs', 1, sent, whole, (hash) => this.world.inputs({ ...sent, hash }));
  }

  expiration(certname: string, expire: boolean, at: number): void {
    const payload = { certname, expire: { facts: expire }, producer_timestamp: iso(at) };
    const done = (): void => this.world.expiration(certname, expire, at);
    this.#queue('configure expiration', 1, { certname, received: at }, payload, done);
  }

  deactivate(certname: string, at: number): void {
    const payload = { certname, producer_timestamp: iso(at) };
    const done = (): void => this.world.deactivate(certname, at);
    this.#queue('deactivate node', 3, { certname, received: at }, payload, done);
  }

  expire(certname: string, at: number): void {
    this.partitionOf(certname).write((batch) => {
      const id = batch.view.nodeId(certname);
      batch.putNode(id, { ...batch.node(id)!, expired: at });
    });
    this.world.expire(certname, at);
  }

  remove(certname: string): void {
    const sweep = deleteNode(this.partitionOf(certname), certname);
    while (!sweep.step().done);
    this.world.remove(certname);
  }
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** These keys are sent with a text or not at all. */
function unlessNull(payload: object, keys: readonly string[]): JsonObject {
  const entries = Object.entries(payload).filter(([key, value]) => value !== null || !keys.includes(key));
  return Object.fromEntries(entries) as JsonObject;
}

/** One node's run: facts, catalog, reports, inputs, each with some chance. */
function sendRun(sender: Sender, random: Random, certname: string, round: number): void {
  const at = NOW - 10 * DAY + round * DAY + random.below(1000) * 60_000;
  const received = at + 1000 + random.below(5000);
  const environment = random.pick(ENVIRONMENTS);
  const producer = random.pick(PRODUCERS);
  const sent = { certname, producer_timestamp: at, received };
  if (random.unit() < 0.85) {
    const values = randomValues(random, certname);
    sender.facts({ ...sent, environment, producer, values, package_inventory: some(random, PACKAGES, 0.3) });
  }
  if (random.unit() < 0.75) {
    const resources = randomResources(random);
    const edges = randomEdges(random, resources);
    sender.catalog({
      ...sent,
      version: `v${random.below(3)}`,
      environment,
      transaction_uuid: random.pick(UUIDS),
      catalog_uuid: random.pick(UUIDS),
      code_id: random.pick(['code-1', null]),
      job_id: random.pick(['job-1', null]),
      producer,
      resources,
      edges,
    });
  }
  for (let left = random.between(0, 2); left > 0; left--) sendReport(sender, random, certname, at + left * 3_600_000);
  if (random.unit() < 0.3) {
    const inputs = some(
      random,
      [
        ['hiera', 'port'],
        ['hiera', 'vhost'],
        ['fn', 'lookup'],
      ] as const,
      0.6,
    );
    if (inputs.length > 0) sender.inputs({ ...sent, catalog_uuid: UUIDS[random.below(2)]!, inputs });
  }
  if (random.unit() < 0.2) sender.expiration(certname, random.unit() < 0.5, at + 5);
}

function sendReport(sender: Sender, random: Random, certname: string, at: number): void {
  sender.report({
    certname,
    producer_timestamp: at,
    received: at + 500,
    type: random.unit() < 0.2 ? 'plan' : 'agent',
    puppet_version: random.pick(['7.12.0', '8.8.1']),
    report_format: random.pick([10, 12]),
    configuration_version: random.pick(['cv1', 'cv2']),
    start_time: at - 20_000,
    end_time: at - 10_000 + random.below(3) * 500,
    producer: random.pick(PRODUCERS),
    environment: random.pick(ENVIRONMENTS) ?? 'test',
    status: random.pick(STATUSES),
    noop: random.pick([true, false, null]),
    noop_pending: random.pick([true, false, null]),
    corrective_change: random.pick([true, false, null]),
    transaction_uuid: UUIDS[0]!,
    catalog_uuid: random.pick(UUIDS),
    code_id: random.pick(['code-1', null]),
    cached_catalog_status: random.pick(['not_used', 'on_failure', null]),
    job_id: random.pick(['job-1', null]),
    metrics: [{ category: 'time', name: 'total', value: random.pick([float(1), 0.25, 7]) }],
    logs:
      random.unit() < 0.5
        ? []
        : [{ file: null, line: 3, tags: ['notice'], time: iso(at), level: 'notice', source: 'Puppet', message: 'ok' }],
    resources: randomReportResources(random, at - 15_000),
  });
}

/** Builds the fleet in a temporary directory. */
export function buildFleet({ seed, nodes, partitions: count, rounds, edition }: FleetOptions): Fleet {
  const dir = mkdtempSync(join(tmpdir(), 'muster-model-'));
  const partitions = Array.from({ length: count }, (_, slot) => openPartition(join(dir, String(slot))));
  const world = new World({ edition });
  const sender = new Sender(partitions, world);
  const random = new Random(seed, nodes);
  const certnames = Array.from({ length: nodes }, (_, i) => `${random.pick(['web', 'db', 'Ü'])}${i}.example.com`);
  for (let round = 0; round < rounds; round++) {
    for (const certname of certnames) if (round === 0 || random.unit() < 0.5) sendRun(sender, random, certname, round);
    sender.flush();
  }
  for (const certname of certnames) {
    if (!world.nodes.has(certname)) continue;
    const chance = random.unit();
    if (chance < 0.06) sender.deactivate(certname, NOW - random.below(3) * DAY);
    else if (chance < 0.12) sender.expire(certname, NOW - random.pick([1, 20]) * DAY);
    else if (chance < 0.17) sender.remove(certname);
  }
  sender.deactivate('ghost.example.com', NOW - DAY);
  sender.deactivate('old.example.com', NOW - 30 * DAY);
  sender.flush();
  return {
    partitions,
    world,
    async close() {
      await Promise.all(partitions.map((partition) => partition.close()));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
