// The real Puppet against a started server: two hosts send facts, catalogs and reports over HTTPS with client certificates,
// collect each other's exported resources and query during compilation; then what was stored is read through the query
// interface. `puppet apply` does the work of compile server and agent in one process, with the terminus of both.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Certificates, makeCertificates, opensslMissing } from '../server/tls/certificates.ts';
import { Endings } from '../support/endings.ts';
import type { Ended } from '../support/programs.ts';
import { TestServer } from '../support/server.ts';
import { packagesMissing } from './support/packages.ts';
import { PuppetHost, puppetPackages } from './support/puppet.ts';

const skip = opensslMissing() || (await packagesMissing(puppetPackages));

/** Exit statuses of a run with --detailed-exitcodes; they add up. */
const nothingChanged = 0;
const changed = 2;
const failed = 4;

interface Node {
  readonly certname: string;
  readonly deactivated: string | null;
  readonly latest_report_hash: string;
  readonly latest_report_status: string;
  readonly latest_report_noop: boolean;
  readonly latest_report_noop_pending: boolean;
  readonly [name: string]: unknown;
}

interface Event {
  readonly resource_type: string;
  readonly resource_title: string;
  readonly status: string;
  readonly [name: string]: unknown;
}

interface Catalog {
  readonly catalog_uuid: string;
  readonly version: string;
  readonly producer: string;
  readonly environment: string;
  readonly hash: string;
  readonly edges: { readonly data: readonly Record<string, string>[] };
}

interface Resource {
  readonly certname: string;
  readonly title: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly tags: readonly string[];
  readonly [name: string]: unknown;
}

describe('Puppet', { skip, concurrency: false }, () => {
  let folder: string;
  let certificates: Certificates;
  let server: TestServer;
  let web1: PuppetHost;
  let web2: PuppetHost;
  const endings = new Endings();

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'muster-puppet-'));
    certificates = makeCertificates();
    for (const made of [folder, certificates.folder]) {
      endings.after(() => rmSync(made, { recursive: true, force: true }));
    }
    for (const name of ['web1', 'web2']) certificates.renew(name, `${name}.example.com`);
    const allowlist = join(folder, 'allowlist');
    writeFileSync(allowlist, 'web1.example.com\nweb2.example.com\nrevoked.example.com\n');
    server = TestServer.prepare(endings, {
      args: [
        ['--https', 'localhost:0'],
        ['--ssl-cert', certificates.path('server', 'pem')],
        ['--ssl-key', certificates.path('server', 'key')],
        ['--ssl-ca-cert', certificates.ca],
        ['--ssl-crl-path', certificates.crl],
        ['--certificate-allowlist', allowlist],
      ].flat(),
    });
    await server.start();
    web1 = host('web1', [url()]);
    // The first address is dead: Puppet goes on to the next.
    web2 = host('web2', ['https://localhost:1', url()]);
  });

  after(() => endings.run());

  const url = () => `https://localhost:${server.httpsPort}`;

  function host(name: string, serverUrls: readonly string[]): PuppetHost {
    const certname = `${name}.example.com`;
    return new PuppetHost({ folder: join(folder, name), certname, certificates, certificate: name, serverUrls });
  }

  /** A run, until all that it sent is stored. */
  async function apply(
    host: PuppetHost,
    args: readonly string[] = [],
    env: Record<string, string> = {},
  ): Promise<Ended> {
    const run = await host.apply(args, env);
    await server.drained();
    return run;
  }

  async function node(certname: string): Promise<Node> {
    const answer = await server.ask(`/pdb/query/v4/nodes/${certname}`);
    return JSON.parse(answer.text) as Node;
  }

  async function latestReport(certname: string): Promise<Record<string, unknown>> {
    const latest = ['and', ['=', 'certname', certname], ['=', 'latest_report?', true]];
    const [report] = await server.query('reports', latest);
    assert.ok(report, `a report of ${certname}`);
    return report;
  }

  const latestEvents = (certname: string) =>
    server.query<Event>('events', ['and', ['=', 'certname', certname], ['=', 'latest_report?', true]]);

  test('the first run of a node stores facts, catalog and report', async () => {
    ended(await apply(web1), changed);
    const stored = await node('web1.example.com');
    assert.equal(stored.latest_report_status, 'changed');
    for (const name of ['facts_environment', 'catalog_environment', 'report_environment']) {
      assert.equal(stored[name], 'production');
    }
    for (const name of ['facts_timestamp', 'catalog_timestamp', 'report_timestamp']) {
      assert.ok(Math.abs(Date.parse(String(stored[name])) - Date.now()) < 60_000, `${name}: ${stored[name]}`);
    }
    const [counted] = await server.query('producers', null);
    assert.deepEqual(counted, { name: 'web1.example.com' });
    assert.deepEqual(await deadLetters(), []);
  });

  async function deadLetters(): Promise<string[]> {
    return server.logLines().flatMap(({ msg }) => (/discard|fatal/i.test(msg) ? [msg] : []));
  }

  test('facts arrive with their types, whatever makes numbers lose them', async () => {
    const answer = await server.ask('/pdb/query/v4/nodes/web1.example.com/facts/muster');
    assert.match(answer.text, /"whole_float" ?: ?1\.0,/);
    assert.match(answer.text, /"beyond_double" ?: ?9007199254740993\b/);
    const [fact] = JSON.parse(answer.text) as [{ value: Record<string, unknown>; environment: string }];
    assert.equal(fact.environment, 'production');
    assert.equal(fact.value['text'], 'Grüße, κόσμε \u{1F680}');
    assert.deepEqual(fact.value['list'], [1, 'two', { three: 3.5 }]);
    assert.deepEqual(fact.value['empty'], { list: [], map: {} });

    const [inventory] = await server.query<{ facts: Record<string, unknown>; trusted: Record<string, unknown> }>(
      'inventory',
      ['=', 'facts.muster.target', web1.target],
    );
    assert.equal(inventory?.facts['kernel'], 'Linux');
    assert.equal(inventory?.facts['clientcert'], 'web1.example.com');
    assert.equal(inventory?.trusted['authenticated'], 'local');
    assert.equal(Object.hasOwn(inventory?.facts ?? {}, '_puppet_inventory_1'), false);
  });

  test('the package inventory arrives beside the facts', async () => {
    const rows = await server.query('package-inventory', ['=', 'certname', 'web1.example.com']);
    assert.deepEqual(rows, [
      { certname: 'web1.example.com', package_name: 'bash', version: '5.2.15-2+b7', provider: 'apt' },
      { certname: 'web1.example.com', package_name: 'openssl', version: '3.0.15-1', provider: 'apt' },
    ]);
  });

  test('the catalog arrives with parameters, tags, all kinds of edges, and without what is sensitive', async () => {
    const answer = await server.ask('/pdb/query/v4/catalogs/web1.example.com');
    const catalog = JSON.parse(answer.text) as Catalog;
    assert.equal(catalog.version, 'release-42');
    assert.equal(catalog.producer, 'web1.example.com');
    assert.equal(catalog.environment, 'production');
    assert.doesNotMatch(answer.text, /hunter2/);
    assert.match(answer.text, /"weight" ?: ?1\.0,/);

    const file = (name: string) => ['File', join(web1.target, name).replace(/\/$/, '')].join(' ');
    const edges = catalog.edges.data.map(
      (edge) =>
        `${edge['source_type']} ${edge['source_title']} ${edge['relationship']} ${edge['target_type']} ${edge['target_title']}`,
    );
    for (const edge of [
      `${file('')} required-by ${file('motd')}`,
      `${file('motd')} before ${file('secret')}`,
      `${file('motd')} notifies Exec reload`,
      `${file('secret')} subscription-of Exec reload`,
      `Class Profile::Web contains ${file('motd')}`,
      'Stage main contains Class Profile::Web',
    ]) {
      assert.ok(edges.includes(edge), `${edge}, not in\n${edges.join('\n')}`);
    }

    const [motd] = await server.query<Resource>('resources', [
      'and',
      ['=', 'certname', 'web1.example.com'],
      ['=', 'tag', 'colour:blau'],
    ]);
    assert.equal(motd?.title, join(web1.target, 'motd'));
    assert.equal(motd?.parameters['content'], 'Willkommen, bienvenue, καλώς ήρθατε\n');
    assert.equal(motd?.['exported'], false);
    assert.match(String(motd?.['file']), /modules\/profile\/manifests\/web\.pp$/);
    assert.equal(motd?.['line'], 15);
  });

  test('the report arrives with events, logs and metrics, and names its catalog', async () => {
    const report = await latestReport('web1.example.com');
    const [{ catalog_uuid }] = (await server.query('catalogs')) as [{ catalog_uuid: string }];
    assert.equal(report['catalog_uuid'], catalog_uuid);
    assert.equal(report['hash'], (await node('web1.example.com')).latest_report_hash);
    assert.equal(report['status'], 'changed');
    assert.equal(report['type'], 'agent');
    assert.equal(report['cached_catalog_status'], 'not_used');
    assert.equal(report['configuration_version'], 'release-42');

    const events = await latestEvents('web1.example.com');
    const motd = events.find(({ resource_title: title }) => title === join(web1.target, 'motd'));
    assert.equal(motd?.status, 'success');
    assert.equal(motd?.['property'], 'ensure');
    assert.equal(motd?.['old_value'], 'absent');
    assert.equal(motd?.['new_value'], 'file');
    assert.equal(motd?.['name'], 'file_created');
    assert.equal(motd?.['containing_class'], 'Profile::Web');
    assert.deepEqual(motd?.['containment_path'], ['Stage[main]', 'Profile::Web', `File[${join(web1.target, 'motd')}]`]);
    assert.ok(events.some(({ resource_type: type, ...event }) => type === 'Exec' && event['name'] === 'refresh'));

    const part = async (name: string) =>
      JSON.parse((await server.ask(`/pdb/query/v4/reports/${report['hash']}/${name}`)).text) as Record<
        string,
        unknown
      >[];
    const logs = await part('logs');
    assert.match(String(logs.at(-1)?.['message']), /^Applied catalog in /);
    const metrics = await part('metrics');
    const total = metrics.find(({ category, name }) => category === 'events' && name === 'total');
    assert.equal(total?.['value'], events.length);
  });

  test('a run without changes stores the same catalog and an unchanged report', async () => {
    // The first run asked while its own facts were being stored, and may not have seen its node; the second does.
    const second = await apply(web1);
    assert.ok(second.status === nothingChanged || second.status === changed, second.err);
    const [catalog] = await server.query<Catalog>('catalogs');
    ended(await apply(web1), nothingChanged);
    const [again] = await server.query<Catalog>('catalogs');
    assert.equal(again?.hash, catalog?.hash);
    assert.notEqual(again?.catalog_uuid, catalog?.catalog_uuid);
    assert.equal((await node('web1.example.com')).latest_report_status, 'unchanged');
    assert.deepEqual(await latestEvents('web1.example.com'), []);
    assert.equal((await server.query('reports')).length, 3);
  });

  test('collectors find what other nodes export, by tag, title and parameter; past a dead server', async () => {
    const first = ended(await apply(web2), changed);
    assert.match(first.err, /Error connecting to localhost on 1 at route https:\/\/localhost:1\/pdb\/query\/v4/);
    assert.match(first.err, /Failing over to the next PuppetDB server_url/);
    assert.equal(web2.file('peers/web1.example.com-web'), 'web1.example.com:8080 1.0 web,größer\n');
    assert.throws(() => web2.file('peers/web1.example.com-admin'), { code: 'ENOENT' });
    const [collected] = await server.query<Resource>('resources', [
      'and',
      ['=', 'certname', 'web2.example.com'],
      ['=', 'type', 'Profile::Peer'],
      ['=', 'exported', false],
      ['=', ['parameter', 'certname'], 'web1.example.com'],
    ]);
    assert.deepEqual(collected?.parameters, {
      certname: 'web1.example.com',
      port: 8080,
      weight: 1,
      labels: ['web', 'größer'],
      tag: 'balanced',
    });
    ended(await apply(web1), changed);
    assert.equal(web1.file('peers/web2.example.com-web'), 'web2.example.com:8080 1.0 web,größer\n');
  });

  test('puppetdb_query answers PQL and AST during compilation', () => {
    assert.equal(web1.file('seen'), 'node web1.example.com\nnode web2.example.com\nLinux 2');
  });

  test('a failing resource is stored as a failure, and what depends on it as skipped', async () => {
    const run = await apply(web2, [], { MUSTER_BROKEN: 'yes' });
    assert.ok(run.status === failed || run.status === failed + changed, run.err);
    assert.equal((await node('web2.example.com')).latest_report_status, 'failed');
    const events = await latestEvents('web2.example.com');
    const of = (title: string) => events.find((event) => event.resource_title === title);
    assert.equal(of('broken')?.status, 'failure');
    assert.match(String(of('broken')?.['message']), /returned 1 instead of one of \[0\]/);
    assert.equal(of(join(web2.target, 'never'))?.status, 'skipped');
    const counts = await server.query('event-counts', ['=', 'latest_report?', true], { summarize_by: 'certname' });
    const own = counts.find(({ subject }) => (subject as { title: string }).title === 'web2.example.com');
    assert.equal(own?.['failures'], 1);
    assert.equal(own?.['skips'], 1);
  });

  test('puppet reads back the facts that it stored', async () => {
    const { out } = ended(await web1.puppet(['facts', 'find', 'web1.example.com', '--terminus', 'puppetdb']), 0);
    const found = JSON.parse(out) as { name: string; values: Record<string, unknown> };
    const [stored] = await server.query<{ facts: { data: { name: string; value: unknown }[] } }>('factsets', [
      '=',
      'certname',
      'web1.example.com',
    ]);
    assert.equal(found.name, 'web1.example.com');
    assert.deepEqual(found.values, Object.fromEntries(stored!.facts.data.map(({ name, value }) => [name, value])));
  });

  test('puppet node status tells what is known; a deactivated node is gone for the others', async () => {
    const active = ended(await web1.puppet(['node', 'status', 'web2.example.com', 'nosuch.example.com']), 0);
    assert.match(active.out, /Currently active\nLast catalog: 20\S+Z\nLast facts: 20\S+Z/);
    assert.match(active.err, /Failed to find '\/pdb\/query\/v4\/nodes\/nosuch\.example\.com'/);

    const { out } = ended(await web1.puppet(['node', 'deactivate', 'web2.example.com']), 0);
    assert.match(out, /^Submitted 'deactivate node' for web2\.example\.com with UUID [0-9a-f-]{36}$/m);
    await server.drained();
    assert.notEqual((await node('web2.example.com')).deactivated, null);
    assert.deepEqual(
      (await server.query('nodes')).map(({ certname }) => certname),
      ['web1.example.com'],
    );
    const gone = ended(await web1.puppet(['node', 'status', 'web2.example.com']), 0);
    assert.match(gone.out, /^Deactivated at 20\S+Z$/m);

    // Its exported resources are gone with it: the others' runs compile without them.
    ended(await apply(web1), changed);
    assert.equal(web1.file('seen'), 'node web1.example.com\nLinux 1');
    const peers = ['and', ['=', 'certname', 'web1.example.com'], ['=', 'type', 'Profile::Peer']];
    assert.deepEqual((await server.query<Resource>('resources', peers)).map(({ title }) => title).sort(), [
      'web1.example.com-admin',
      'web1.example.com-web',
    ]);
  });

  test('a run with --noop is stored as one, with what would have been done; it brings a deactivated node back', async () => {
    rmSync(join(web2.target, 'motd'));
    ended(await apply(web2, ['--noop']), nothingChanged);
    assert.equal((await node('web2.example.com')).deactivated, null);
    const { latest_report_noop: noop, latest_report_noop_pending: pending } = await node('web2.example.com');
    assert.deepEqual([noop, pending], [true, true]);
    const events = await latestEvents('web2.example.com');
    const motd = events.find(({ resource_title: title }) => title === join(web2.target, 'motd'));
    assert.equal(motd?.status, 'noop');
    assert.equal(motd?.['new_value'], 'file');
  });

  test('hosts without a good certificate, and those that are not on the allowlist, get nothing', async () => {
    const refused: readonly (readonly [name: string, certname: string, why: RegExp])[] = [
      ['unlisted', 'unlisted.example.com', /\[403 Forbidden\] Permission denied: The client certificate name unlisted/],
      ['revoked', 'revoked.example.com', /certificate revoked|Failed to execute '\/pdb\/query\/v4\/nodes/],
    ];
    for (const [certificate, certname, why] of refused) {
      const at = { folder: join(folder, certificate), certname, certificates, certificate };
      const stranger = new PuppetHost({ ...at, serverUrls: [url()] });
      const { out, err } = await stranger.puppet(['node', 'status', 'web1.example.com']);
      assert.match(err, why);
      assert.doesNotMatch(out, /Currently active/);
    }
    assert.equal((await server.query('nodes')).length, 2);
    assert.match(readFileSync(join(folder, 'allowlist'), 'utf8'), /revoked/);
  });

  test('the server had nothing to complain about', () => {
    const complaints = server.logLines().filter(({ level }) => level === 'error' || level === 'fatal');
    assert.deepEqual(complaints, []);
  });
});

function ended(run: Ended, status: number): Ended {
  assert.equal(run.status, status, `${run.timedOut ? 'it hung\n' : ''}${run.out}\n${run.err.slice(-4000)}`);
  return run;
}
