// Simulated hosts of `perf -- benchmark`: what changes of their documents really changes, and what they send is well-formed.

import assert from 'node:assert/strict';
import { once, setMaxListeners } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { program } from '../../perf/benchmark.ts';
import { Client } from '../../perf/lib/client.ts';
import type { Command } from '../../perf/lib/fleet.ts';
import { Given, UsageError } from '../../perf/lib/options.ts';
import { Random } from '../../perf/lib/random.ts';
import { Turns } from '../../perf/lib/turns.ts';
import { hostOptionsFor, hostsFor, modeOf } from '../../perf/population/arguments.ts';
import { atOtherTimes, type Graph, withChangedLeaves, withChangedResources } from '../../perf/population/changes.ts';
import { Host, type HostOptions, type Step } from '../../perf/population/host.ts';
import { isObject, type Json, type JsonObject, objectsOf } from '../../perf/population/json.ts';
import { Meter } from '../../perf/population/meter.ts';
import { gapMs, sendOn, sendRuns } from '../../perf/population/sending.ts';

const random = (...keys: number[]): Random => new Random(1, ...keys);
const fileOf = (
  i: number,
  parameters: JsonObject = { ensure: 'file', mode: '0644', backup: false, uid: i },
): JsonObject => ({
  type: 'File',
  title: `/etc/${i}`,
  tags: ['file'],
  exported: i % 2 === 0,
  parameters,
});
const graph: Graph = {
  resources: Array.from({ length: 20 }, (_, i) => fileOf(i)),
  edges: Array.from({ length: 19 }, (_, i) => ({
    source: { type: 'File', title: '/etc/0' },
    target: { type: 'File', title: `/etc/${i + 1}` },
    relationship: 'contains',
  })),
};
const nameOf = (value: Json | undefined): string => (isObject(value) ? `${value['type']}[${value['title']}]` : '');

test('changes: each one makes another catalog, whose resources differ and whose edges have both ends', () => {
  for (const withEdges of [false, true]) {
    let last = graph;
    for (let i = 0; i < 300; i++) {
      const next = withChangedResources(last, 1, withEdges, random(i));
      assert.notDeepEqual(next.resources, last.resources, `${i}`);
      const names = next.resources.map(nameOf);
      assert.equal(new Set(names).size, names.length, `${i}`);
      if (withEdges) {
        for (const { source, target } of next.edges) {
          assert.ok(names.includes(nameOf(source)) && names.includes(nameOf(target)), `${i}`);
        }
        for (const resource of graph.resources) assert.ok(names.includes(nameOf(resource)), `${i}`);
      }
      last = next;
    }
    assert.equal(graph.resources.length, 20, 'the sample stays as it was');
  }
});

test('changes: blobs stay, so does the last resource, and what has no value to change gets one', () => {
  const blob = fileOf(0, { content: 'x'.repeat(10_000) });
  let changed: Graph = { resources: [blob], edges: [] };
  for (let i = 0; i < 30; i++) {
    const next = withChangedResources(changed, 1, false, random(i));
    assert.equal(next.resources.length, 1);
    const { content } = next.resources[0]!['parameters'] as { readonly content: string };
    assert.equal(content.length, 10_000);
    assert.notDeepEqual(next, changed);
    changed = next;
  }
  let last: Graph = { resources: [fileOf(1, { require: ['File[x]'], alias: 'one' })], edges: [] };
  for (let i = 0; i < 30; i++) {
    const next = withChangedResources(last, 1, false, random(i));
    assert.ok(next.resources.length > 0);
    assert.notDeepEqual(next, last);
    const aliases = next.resources
      .map(({ parameters }) => (parameters as JsonObject)['alias'])
      .filter((alias) => alias);
    assert.ok(aliases.length <= 1);
    last = next;
  }
});

test('changes: so many leaves of facts take another value of their kind', () => {
  const values: Json = { a: 'text', b: { c: [1, 2.5, true, null], d: 'x' }, e: [] };
  assert.equal(withChangedLeaves(values, 0, random()), values);
  const changed = withChangedLeaves(values, 1, random()) as { a: string; b: { c: Json[]; d: string }; e: Json[] };
  assert.ok(changed.a.length === 4 && changed.a !== 'text' && changed.b.d !== 'x');
  const [whole, fraction, flag, nothing] = changed.b.c;
  assert.ok(Number.isInteger(whole) && whole !== 1);
  assert.ok(typeof fraction === 'number' && !Number.isInteger(fraction) && fraction !== 2.5);
  assert.deepEqual([flag, nothing, changed.e], [false, null, []]);
  const many: Json = Array.from({ length: 10_000 }, (_, i) => i);
  const differing = (withChangedLeaves(many, 0.1, random(2)) as number[]).filter((value, i) => value !== i).length;
  assert.ok(differing > 800 && differing < 1200, String(differing));
});

test('changes: resources of reports and their events get times of the run', () => {
  const stamp = Date.UTC(2026, 0, 2);
  const [one] = atOtherTimes(
    [{ timestamp: 'x', resource_type: 'File', events: [{ timestamp: 'y', status: 'success' }] }],
    stamp,
    random(),
  );
  for (const { timestamp } of [one!, ...objectsOf(one!['events'])]) {
    const time = Date.parse(timestamp as string);
    assert.ok(time >= stamp && time < stamp + 300_000, String(timestamp));
  }
});

const options: HostOptions = {
  seed: 1,
  samples: {
    facts: [{ certname: 'sample', values: { kernel: 'Linux', n: 1 }, environment: 'production' }],
    catalog: [{ certname: 'sample', version: '1', ...graph }],
    report: [{ certname: 'sample', status: 'changed', resources: [{ timestamp: 'x', events: [{ timestamp: 'y' }] }] }],
  },
  catalogChanges: [{ chance: 1, by: 1 }],
  factsChanges: [{ chance: 1, by: 1 }],
  withEdges: false,
  queries: { chance: 1, count: 2 },
};
const commandsOf = (steps: Iterable<Step>): Command[] =>
  [...steps].flatMap((step) => ('command' in step ? [step.command] : []));

test('hosts: a run sends facts, queries, catalog, report, with ids of its own; the same again for the same seed', () => {
  const host = new Host(7, options);
  const steps = [...host.run(1000)];
  assert.deepEqual(
    steps.map((step) => ('command' in step ? step.command.kind : 'query')),
    ['facts', 'query', 'query', 'catalog', 'report'],
  );
  const first = commandsOf(steps).map(({ payload }) => JSON.parse(payload) as JsonObject);
  for (const { certname, producer_timestamp } of first) {
    assert.deepEqual([certname, producer_timestamp], ['host-7', '1970-01-01T00:00:01.000Z']);
  }
  const runs = Array.from({ length: 20 }, () => commandsOf(host.run(2000)).map(({ payload }) => JSON.parse(payload)));
  assert.equal(new Set(runs.flat().map(({ producer }) => producer)).size, 4);
  assert.ok(runs.some(([facts, catalog]) => facts.producer !== catalog.producer));
  const [, catalog, report] = first;
  assert.deepEqual(catalog!['edges'], []);
  assert.equal(catalog!['transaction_uuid'], report!['transaction_uuid']);
  assert.deepEqual(commandsOf(new Host(7, options).run(1000)), commandsOf(steps));

  const second = commandsOf(host.run(2000)).map(({ payload }) => JSON.parse(payload) as JsonObject);
  assert.notDeepEqual(second[0]!['values'], first[0]!['values']);
  assert.notDeepEqual(second[1]!['resources'], first[1]!['resources']);
  assert.notEqual(second[1]!['catalog_uuid'], first[1]!['catalog_uuid']);
  assert.notEqual(second[2]!['configuration_version'], first[2]!['configuration_version']);

  const still = new Host(7, { ...options, catalogChanges: [], factsChanges: [] });
  const [one, other] = [commandsOf(still.run(1000)), commandsOf(still.run(2000))].map((commands) =>
    commands.map(({ payload }) => JSON.parse(payload) as JsonObject),
  );
  assert.deepEqual(other![0]!['values'], one![0]!['values']);
  assert.deepEqual(other![1]!['resources'], one![1]!['resources']);
  assert.equal(other![1]!['catalog_uuid'], one![1]!['catalog_uuid']);
});

test('hosts: queries are about what the host exports, and about any of its facts', () => {
  const values: Json = { os: { cpus: [{ count: 4 }] }, 'odd.name': 1, none: null };
  const samples = { ...options.samples, facts: [{ values }] };
  const asked = (catalog: readonly JsonObject[]): Set<string> => {
    const host = new Host(1, { ...options, samples: { ...samples, catalog }, catalogChanges: [], factsChanges: [] });
    const steps = Array.from({ length: 40 }, () => [...host.run(1000)]).flat();
    return new Set(steps.flatMap((step) => ('query' in step ? [JSON.stringify(step.query.query)] : [])));
  };
  const files = [...graph.resources, { type: 'Exec', title: 'x', tags: ['exec'], exported: false }];
  const byFact = '["extract",["certname"],["=","facts.os.cpus[0].count",4]]';
  const byType = '["and",["=","type","File"],["=","exported",true]]';
  const byTag = byType.replace(/]$/, ',["=","tag","file"]]');
  assert.deepEqual(asked([{ resources: files }]), new Set([byTag, byType, byFact]));
  assert.ok(asked([{ resources: files.slice(-1) }]).has(byFact));
});

interface Taken {
  readonly certname: string;
  readonly kind: string;
  readonly time: string;
  /** Monotonic ms at which it came. */
  readonly at: number;
}

/** A server that takes everything, after so many ms, with what it was sent: certname and time of each command, nothing of queries. */
async function taker(afterMs = 0): Promise<{
  client: Client;
  turns: Turns;
  taken: Taken[];
  close(): void;
}> {
  const taken: Taken[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', () => {
        const at = performance.now();
        const { pathname, searchParams } = new URL(request.url ?? '', 'http://any');
        setTimeout(() => response.end('{"uuid":""}'), afterMs);
        if (pathname !== '/pdb/cmd/v1') {
          taken.push({ certname: '', kind: 'query', time: '', at });
          return;
        }
        const { certname, producer_timestamp: time } = JSON.parse(gunzipSync(Buffer.concat(parts)).toString());
        assert.ok(searchParams.get('certname') === certname);
        taken.push({ certname, kind: searchParams.get('command') ?? '', time, at });
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Client({ url, identity: null }, CONNECTIONS);
  return {
    client,
    turns: new Turns(CONNECTIONS),
    taken,
    close: () => {
      client.close();
      server.close();
    },
  };
}

const CONNECTIONS = 8;
/** A seed with which the first pause is the shortest. */
const SOON = 1;
const quiet: HostOptions = { ...options, queries: { chance: 0, count: 0 } };
const hostsOf = (count: number): Host[] => Array.from({ length: count }, (_, i) => new Host(i, quiet));

test('sending: each host sends so many runs, in order, whose times lie within the span', async () => {
  const server = await taker();
  const { client, turns, taken } = server;
  const meter = new Meter(3);
  const ending = new AbortController().signal;
  const [count, end, span] = [5, 1_000_000, 500_000];
  await sendRuns({ client, turns, meter, hosts: hostsOf(7), ending, seed: 1 }, { count, senders: 16, end, span });
  server.close();
  meter.stop();
  assert.equal(meter.errors, 0);
  assert.equal(meter.commands, 7 * 5 * 3);
  const times = taken.map(({ time }) => Date.parse(time));
  assert.ok(times.every((time) => time > end - span && time <= end));
  assert.equal(Math.max(...times), end);
  for (let i = 0; i < 7; i++) {
    const own = taken.filter(({ certname }) => certname === `host-${i}`);
    assert.equal(own.length, 15);
    assert.deepEqual(
      own.map(({ time }) => Date.parse(time)),
      own.map(({ time }) => Date.parse(time)).sort((a, b) => a - b),
    );
    assert.deepEqual(
      own.slice(0, 3).map(({ kind }) => kind),
      ['replace_facts', 'replace_catalog', 'store_report'],
    );
  }
});

test('sending: hosts begin one after the other over an interval, and rest when they are told to end', async () => {
  const server = await taker();
  const { client, turns, taken } = server;
  const meter = new Meter(3);
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const done = sendOn({ client, turns, meter, hosts: hostsOf(10), ending: ending.signal, seed: 1 }, 200);
  while (taken.length < 10) await new Promise((resolve) => setTimeout(resolve, 5));
  // Whoever would begin a second run is still in the first: pauses take half a second at least.
  await new Promise((resolve) => setTimeout(resolve, 60));
  ending.abort();
  const left = await done;
  server.close();
  meter.stop();
  assert.equal(new Set(taken.slice(0, 10).map(({ certname }) => certname)).size, 10);
  assert.ok(left > 0);
});

test('sending: who is late sends on, ends when told to, and waits only for what is on its way then', async () => {
  const server = await taker(200);
  const { client, turns, taken } = server;
  const meter = new Meter(3);
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  // More hosts an interval than can begin in it.
  const done = sendOn({ client, turns, meter, hosts: hostsOf(400), ending: ending.signal, seed: 1 }, 1);
  while (taken.length < 2 * CONNECTIONS) await new Promise((resolve) => setTimeout(resolve, 5));
  ending.abort();
  await done;
  server.close();
  meter.stop();
  assert.equal(meter.errors, 0);
  assert.equal(meter.commands, taken.length);
  assert.ok(taken.length <= 3 * CONNECTIONS, String(taken.length));
});

test('sending: a pause comes behind each command, none behind queries', async () => {
  const server = await taker();
  const { client, turns, taken } = server;
  const meter = new Meter(3);
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const hosts = [new Host(0, options)];
  const done = sendOn({ client, turns, meter, hosts, ending: ending.signal, seed: SOON }, 1e6);
  while (taken.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
  ending.abort();
  await done;
  server.close();
  meter.stop();
  assert.deepEqual(
    taken.map(({ kind }) => kind),
    ['replace_facts', 'query', 'query', 'replace_catalog'],
  );
  const [facts, first, second, catalog] = taken.map(({ at }) => at) as [number, number, number, number];
  assert.ok(first - facts >= 490 && catalog - second < first - facts, taken.map(({ at }) => at).join());
});

test('sending: pauses are about five seconds, within bounds', () => {
  const stream = random(5);
  const gaps = Array.from({ length: 5000 }, () => gapMs(stream));
  assert.ok(Math.min(...gaps) === 500 && Math.max(...gaps) <= 15_000);
  const mean = gaps.reduce((total, gap) => total + gap, 0) / gaps.length;
  assert.ok(mean > 4800 && mean < 5400, String(mean));
});

test('arguments: what is missing, contradicts itself or is no number is named', () => {
  const cases: readonly (readonly [args: string, message: RegExp])[] = [
    ['--numhosts 5', /^must specify --nummsgs, --runinterval, or --querier\.$/],
    ['--nummsgs 5', /^must specify --numhosts\.$/],
    ['--small --rand-facts 60:1 --rand-facts 50:1', /^--rand-facts percentages cannot sum to more than 100%\.$/],
    ['--small --rand-catalogs 10', /^--rand-catalogs takes PCT:COUNT, both above 0, not '10'$/],
    ['--small --rand-catalogs 10:0.5', /whole number of resources/],
    ['--small --rand-perc 10 --rand-facts 5:1', /^--rand-perc stands for/],
    ['--small --end-commands-in soon', /takes a period such as 90s, 5m, 12h or 2d, not 'soon'/],
    ['--small --querier console', /--url or --data/],
    [
      '--small --querier cars --url u',
      /unrecognized --querier category 'cars': there are console, compiler, inventory/,
    ],
    ['--small --querier 0:console --url u', /takes CATEGORY or N:CATEGORY/],
    ['--querier console --runinterval 1 --url u', /^--nummsgs, --runinterval, and --querier are mutually exclusive\.$/],
    ['--small --facts /nowhere', /ENOENT.*'\/nowhere'/],
    ['--small --archive /nowhere', /^--archive \/nowhere: /],
    ['--small --archive a --facts b', /^--archive is incompatible with --facts, --catalogs, --reports$/],
  ];
  for (const [args, message] of cases) {
    const given = new Given(program.options, args.split(' '));
    const isGiven = (): unknown => (modeOf(given).name === 'querier' ? null : hostsFor(given, hostOptionsFor(given)));
    assert.throws(isGiven, (error: Error) => error instanceof UsageError && message.test(error.message), args);
  }
  assert.deepEqual(
    modeOf(new Given(program.options, ['--numhosts', '1', '--nummsgs', '4', '--end-commands-in', '2h'])),
    {
      name: 'nummsgs',
      count: 4,
      endIn: 7_200_000,
      span: 7_200_000,
    },
  );
  const whole = ['33:1', '56:1', '11:1'].flatMap((change) => ['--rand-catalogs', change]);
  assert.deepEqual(
    hostOptionsFor(new Given(program.options, ['--small', ...whole])).catalogChanges.map(({ chance }) => chance),
    [0.33, 0.56, 0.11],
  );
  const perc = hostOptionsFor(new Given(program.options, ['--small', '--rand-perc', '20']));
  assert.deepEqual(perc.catalogChanges, [{ chance: 0.2, by: 1 }]);
  assert.deepEqual(perc.factsChanges, [{ chance: 0.2, by: 0.1 }]);
});
