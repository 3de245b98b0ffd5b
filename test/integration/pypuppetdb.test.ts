// Debian's pypuppetdb reads a generated fleet: everything that the library can ask for, over HTTPS with a client
// certificate. One Python process does all the reading (pypuppetdb-reads.py); here is what has to have come back.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Certificates, makeCertificates, opensslMissing } from '../server/tls/certificates.ts';
import { Endings } from '../support/endings.ts';
import { outputOf } from '../support/programs.ts';
import { TestServer } from '../support/server.ts';
import { packagesMissing } from './support/packages.ts';

const skip = opensslMissing() || (await packagesMissing(['python3-pypuppetdb']));

const fill = fileURLToPath(new URL('../../dist/perf/fill.js', import.meta.url));
const reads = fileURLToPath(new URL('./pypuppetdb-reads.py', import.meta.url));
/** The one that Debian's packages are for. */
const python = '/usr/bin/python3';
const nodeCount = 20;
const runCount = 2;

type Reading = { readonly value: unknown } | { readonly error: string };

describe('pypuppetdb', { skip, concurrency: false }, () => {
  let certificates: Certificates;
  let readings: Readonly<Record<string, Reading>>;
  let server: TestServer;
  const endings = new Endings();

  before(async () => {
    certificates = makeCertificates();
    endings.after(() => rmSync(certificates.folder, { recursive: true, force: true }));
    const settings = {
      https: 'localhost:0',
      'ssl-cert': certificates.path('server', 'pem'),
      'ssl-key': certificates.path('server', 'key'),
      'ssl-ca-cert': certificates.ca,
      // The fleet's runs took place at times of their own.
      'node-ttl': '0s',
      'report-ttl': '3650d',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    server = await TestServer.start(endings, { args: [...args, '--metrics-v1'] });
    const fleet = ['--url', server.url, '--nodes', String(nodeCount), '--runs', String(runCount), '--quiet'];
    await outputOf(process.execPath, [fill, ...fleet], { maxMs: 60_000 });
    const { cert, key } = { cert: certificates.path('right', 'pem'), key: certificates.path('right', 'key') };
    const ports = [server.port, server.httpsPort].map(String);
    const text = await outputOf(python, [reads, ...ports, certificates.ca, cert, key], { maxMs: 60_000 });
    readings = JSON.parse(text) as Record<string, Reading>;
  });

  after(() => endings.run());

  /** What a reading got, as the type that the library promises. */
  function value<T>(name: string): T {
    const reading = readings[name];
    assert.ok(reading, `no reading "${name}"`);
    if ('error' in reading) assert.fail(`${name}: ${reading.error}`);
    return reading.value as T;
  }

  const names = Array.from({ length: nodeCount }, (_, index) => `node-${String(index).padStart(5, '0')}.example.com`);
  const first = <T>(rows: readonly (readonly [T, ...unknown[]])[]): T[] => rows.map(([cell]) => cell);

  test('no reading raises', () => {
    const raised = Object.entries(readings).filter(([, reading]) => 'error' in reading);
    assert.deepEqual(raised, []);
    assert.ok(Object.keys(readings).length > 50);
  });

  test('nodes', () => {
    type NodeRow = readonly [string, false, false, string, string, string];
    const nodes = value<NodeRow[]>('nodes');
    assert.deepEqual(first(nodes).sort(), names);
    for (const [, deactivated, expired, environment, report, status] of nodes) {
      assert.deepEqual([deactivated, expired, status], [false, false, 'not_used']);
      assert.match(environment, /^(production|staging)$/);
      assert.match(report, /^[0-9a-f]{40}$/);
    }
    assert.equal(value('nodes have times'), true);
    assert.deepEqual(value('a node that is not there'), ['HTTPError', 404]);
    assert.equal(value('the same over cleartext'), nodeCount);
  });

  test('nodes with the status of their latest report and its events', () => {
    type StatusRow = readonly [string, string, { successes: number | 'some' } | null];
    const counted = value<StatusRow[]>('nodes with status');
    const latest = value<{ subject: { title: string }; successes: number }[]>('event counts of latest reports');
    const changed = counted.filter(([, status]) => status === 'changed');
    assert.ok(changed.length > 0 && changed.length < nodeCount, `${changed.length} changed`);
    assert.deepEqual(first(changed).sort(), latest.map(({ subject }) => subject.title).sort());
    for (const [name, status, events] of counted) {
      const own = latest.find(({ subject }) => subject.title === name);
      assert.equal(events?.successes ?? 0, own?.successes ?? 0);
      assert.equal(status, own === undefined ? 'unchanged' : 'changed');
    }
    const uncounted = value<StatusRow[]>('nodes with status, without numbers');
    assert.deepEqual(
      uncounted.map(([name, status]) => [name, status]).sort(),
      counted.map(([name, status]) => [name, status]).sort(),
    );
  });

  test('facts, factsets and what structured facts are made of', () => {
    const factsets = value<[string, number, string][]>('factsets');
    assert.deepEqual(first(factsets).sort(), names);
    assert.equal(
      value('facts'),
      factsets.reduce((sum, [, count]) => sum + count, 0),
    );
    const kernels = value<[string, string, string, string][]>('facts by name');
    assert.deepEqual(first(kernels), names);
    assert.ok(kernels.every(([, name, kernel]) => name === 'kernel' && kernel === 'Linux'));
    assert.deepEqual(value<string[]>('facts by name and value').sort(), names);
    assert.deepEqual(value('a page of facts with the total'), [names.slice(-5, -2).reverse(), nodeCount]);
    const families = value<string[]>('structured facts');
    assert.equal(families.length, nodeCount);
    assert.ok(value<string[]>('fact names').includes('kernel'));
    assert.deepEqual(value('fact paths'), [{ type: 'string', path: ['os', 'family'], name: 'os' }]);
    const contents = value<{ value: string }[]>('fact contents');
    assert.deepEqual(contents.map(({ value: family }) => family).sort(), [...families].sort());
    assert.equal(value("inventory by a fact's path"), families.filter((family) => family === 'Debian').length);
    const inventory = value<[string, string, string, boolean][]>('inventory');
    assert.deepEqual(first(inventory).sort(), names);
    assert.ok(inventory.every(([, kernel, , hasTime]) => kernel === 'Linux' && hasTime));
  });

  test('catalogs with their resources and edges resolved', () => {
    const catalogs = value<[string, number, number, string][]>('catalogs');
    assert.deepEqual(first(catalogs).sort(), names);
    assert.equal(
      value('resources'),
      catalogs.reduce((sum, [, resources]) => sum + resources, 0),
    );
    const own = catalogs.find(([name]) => name === names[0])!;
    assert.deepEqual(value('one catalog'), [names[0], 'Stage', true, own[2]]);
    const fields = ['certname', 'relationship', 'source_title', 'source_type', 'target_title', 'target_type'];
    assert.deepEqual(value('edges'), [own[2], fields]);
    assert.deepEqual(value('resources by type'), [['Sshkey', true], nodeCount]);
    assert.deepEqual(value('a resource by type and title'), [1, true, true]);
    const node = value<Record<string, unknown>>('one node, and what it has');
    assert.deepEqual([node['name'], node['kernel'], node['same']], [names[0], 'Linux', true]);
    assert.deepEqual([node['resources'], node['reports']], [own[1], runCount]);
  });

  test('reports, events and their counts', () => {
    const reports = value<[string, string, boolean, boolean][]>('reports');
    assert.equal(reports.length, nodeCount * runCount);
    assert.ok(reports.every(([, , tookTime, hasMetrics]) => tookTime && hasMetrics));
    const [hashLength, eventCount, hasLogs] = value<[number, number, boolean]>('the newest report and its events');
    assert.equal(hashLength, 40);
    assert.ok(eventCount > 0 && hasLogs);
    const [statuses, total] = value<[[string, boolean], number]>('events');
    assert.deepEqual(statuses, ['success', false]);
    assert.ok(total > nodeCount);
    const counts = value<Record<string, number>>('event counts');
    assert.equal(counts['certname by resource'], nodeCount);
    assert.ok(Object.values(counts).every((count) => count > 0));
    assert.equal(value('event counts with a filter'), nodeCount);
    const [aggregate] = value<{ successes: number; total: number }[]>('aggregate event counts');
    assert.deepEqual([aggregate?.successes, aggregate?.total], [nodeCount, nodeCount]);
    const kinds = value<{ summarize_by: string }[]>('aggregate event counts of all kinds');
    assert.deepEqual(kinds.map((kind) => kind.summarize_by).sort(), ['certname', 'containing_class', 'resource']);
  });

  test("queries of the library's own making, and PQL", () => {
    assert.deepEqual(value('environments'), [{ name: 'production' }, { name: 'staging' }]);
    assert.deepEqual(value('PQL'), [{ count: nodeCount }]);
    assert.deepEqual(value('PQL by POST'), [{ certname: names[0] }, { certname: names[1] }]);
    assert.deepEqual(
      value('from, with order and limit'),
      names
        .slice(-3, -1)
        .reverse()
        .map((certname) => ({ certname })),
    );
    assert.deepEqual(value('subqueries'), names);
    const [asked, found] = value<[string[], string[]]>('an array of names');
    assert.deepEqual(asked, found);
    assert.equal(value('comparisons, and, or, not'), nodeCount);
    const [files] = value<{ type: string; count: number }[]>('query operators');
    assert.equal(files?.type, 'File');
    const [lines] = value<Record<'avg' | 'sum' | 'min' | 'max' | 'count', number>[]>('functions');
    assert.equal(lines?.count, files?.count);
    assert.ok(Math.abs(lines!.avg - lines!.sum / lines!.count) < 1e-9);
    assert.ok(lines!.min <= lines!.avg && lines!.avg <= lines!.max);
    const years = value<{ count: number }[]>('times as text');
    assert.equal(
      years.reduce((sum, { count }) => sum + count, 0),
      nodeCount * runCount,
    );
  });

  test('metrics of both protocol versions', () => {
    const domains = value<Record<string, number>>('list of metrics');
    for (const domain of ['puppetlabs.puppetdb.mq', 'puppetlabs.puppetdb.storage', 'java.lang']) {
      assert.ok((domains[domain] ?? 0) > 0, domain);
    }
    assert.deepEqual(value('every metric of the list'), []);
    assert.deepEqual(value('a metric'), ['Value']);
    assert.deepEqual(value('a metric, version 1'), ['Value']);
    assert.equal(value('population of nodes'), nodeCount);
    assert.equal(value('memory'), true);
    assert.equal(value('a metric that is not there'), 'DoesNotComputeError');
    assert.equal(value('list of metrics, version 1'), true);
    assert.deepEqual(value('version of the metrics protocol'), ['request', 'status', 'timestamp', 'value']);
    assert.ok(value<string[]>('metrics by pattern').includes('puppetlabs.puppetdb.population:name=num-nodes'));
  });

  test('time, version and status', () => {
    assert.equal(value('server time'), true);
    assert.match(value<string>('current version'), /^\d+\.\d+\.\d+/);
    const status = value<{ state: string; status: Record<string, unknown> }>('status');
    assert.equal(status.state, 'running');
    assert.equal(status.status['maintenance_mode?'], false);
  });

  test('commands, with the checksum that the library sends, which is not that of the body', async () => {
    assert.deepEqual(value('commands'), [['uuid'], ['uuid']]);
    await server.drained();
    const active = (await server.query<{ certname: string }>('nodes')).map(({ certname }) => certname);
    assert.ok(active.includes('py.example.com'));
    assert.ok(!active.includes(names[0]!));
  });

  test('the server had nothing to complain about', () => {
    const complaints = server.logLines().filter(({ level }) => level === 'error' || level === 'fatal');
    assert.deepEqual(complaints, []);
  });
});
