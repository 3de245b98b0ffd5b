// Readers beside writers: every answer shows whole commands, of one moment; a processed command is in the next answer; what
// one reader sees never goes back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkStore } from '../support/check-store.ts';
import {
  eventsOf,
  factsOf,
  replaceCatalog,
  replaceFacts,
  resourcesOf,
  sharedTitles,
  storeReport,
} from '../support/commands.ts';
import { Random, testNumber, testSeed } from '../support/random.ts';
import { TestServer } from '../support/server.ts';
import { checkQuiet } from './checks.ts';

const DAY = 86_400_000;
const NODES = Array.from({ length: 12 }, (_, i) => `node-${i}.example.com`);

interface Resource {
  readonly certname: string;
  readonly type: string;
  readonly title: string;
  readonly parameters: { readonly version?: number; readonly count?: number };
}
interface Related<T> {
  readonly data: readonly T[];
}
interface Catalog {
  readonly certname: string;
  readonly version: string;
  readonly resources: Related<Resource>;
  readonly edges: Related<unknown>;
}
interface Fact {
  readonly certname: string;
  readonly name: string;
  readonly value: unknown;
}

/** Fails unless the rows are all resources of one version of the node's catalog; returns the version. */
function wholeCatalog(certname: string, rows: readonly Resource[]): number {
  const version = rows.find((row) => row.parameters.version !== undefined)?.parameters.version;
  assert.ok(version !== undefined, `${certname}: ${rows.length} resources and none of its own`);
  const name = ({ type, title, parameters }: Pick<Resource, 'type' | 'title' | 'parameters'>): string =>
    `${type}[${title}] ${JSON.stringify(parameters.version)}`;
  assert.deepEqual(rows.map(name).sort(), resourcesOf(certname, version).map(name).sort(), `${certname}: ${version}`);
  return version;
}

function grouped<R extends { readonly certname: string }>(rows: readonly R[]): Map<string, R[]> {
  const groups = new Map<string, R[]>();
  for (const row of rows) {
    const group = groups.get(row.certname);
    if (group === undefined) groups.set(row.certname, [row]);
    else group.push(row);
  }
  return groups;
}

type Reader = (server: TestServer, random: Random, seen: Seen) => Promise<void>;

/** The newest version a reader has seen of each node's documents. */
class Seen {
  readonly #versions = new Map<string, number>();

  note(what: string, certname: string, version: number): void {
    const key = `${what} ${certname}`;
    const before = this.#versions.get(key) ?? 0;
    assert.ok(version >= before, `${key} went back from version ${before} to ${version}`);
    this.#versions.set(key, version);
  }
}

const readers: Readonly<Record<string, Reader>> = {
  'resources of a node': async (server, random, seen) => {
    const certname = random.pick(NODES);
    const rows = await server.query<Resource>('resources', ['=', 'certname', certname]);
    if (rows.length > 0) seen.note('catalog', certname, wholeCatalog(certname, rows));
  },
  'all resources': async (server, _, seen) => {
    for (const [certname, rows] of grouped(await server.query<Resource>('resources'))) {
      seen.note('catalog', certname, wholeCatalog(certname, rows));
    }
  },
  'counted resources': async (server) => {
    const rows = await server.query<{ certname: string; count: number }>('resources', [
      'extract',
      ['certname', ['function', 'count']],
      ['~', 'certname', '^node'],
      ['group_by', 'certname'],
    ]);
    for (const { certname, count } of rows) {
      // Versions repeat their sizes; a torn catalog hardly ever has one of them.
      assert.ok(sizes.has(count), `${certname} has ${count} resources, which no version has`);
    }
  },
  'catalogs with all in them': async (server, _, seen) => {
    for (const { certname, version, resources, edges } of await server.query<Catalog>('catalogs')) {
      const rows = resources.data.map((row) => ({ ...row, certname }));
      assert.equal(wholeCatalog(certname, rows), Number(version), `${certname}: header and resources`);
      assert.equal(edges.data.length, rows.length - 1, `${certname}: edges of version ${version}`);
      seen.note('catalog', certname, Number(version));
    }
  },
  'resources through a subquery on the header': async (server, random) => {
    const certname = random.pick(NODES);
    const [header] = await server.query<{ version: string }>('catalogs', [
      'extract',
      ['version'],
      ['=', 'certname', certname],
    ]);
    if (header === undefined) return;
    const rows = await server.query<Resource>('resources', [
      'and',
      ['=', 'certname', certname],
      ['in', 'certname', ['from', 'catalogs', ['extract', 'certname', ['=', 'version', header.version]]]],
    ]);
    // The catalog may have been replaced in between; then there is nothing, and never a part.
    if (rows.length > 0) assert.equal(wholeCatalog(certname, rows), Number(header.version));
  },
  'a shared resource and the nodes that have it': async (server, random) => {
    const title = `shared-${random.below(12)}`;
    const rows = await server.query<{ certname: string; version: string }>('catalogs', [
      'extract',
      ['certname', 'version'],
      [
        'in',
        'certname',
        ['from', 'resources', ['extract', 'certname', ['and', ['=', 'type', 'Package'], ['=', 'title', title]]]],
      ],
    ]);
    for (const { certname, version } of rows) {
      assert.ok(sharedTitles(Number(version)).includes(title), `${certname} of version ${version} has ${title}`);
    }
  },
  'facts of all nodes': async (server, _, seen) => {
    for (const [certname, rows] of grouped(await server.query<Fact>('facts'))) {
      const found = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
      const version = found['version'] as number;
      assert.deepEqual(found, factsOf(certname, version), `${certname}: facts of version ${version}`);
      seen.note('facts', certname, version);
    }
  },
  inventory: async (server, _, seen) => {
    for (const { certname, facts } of await server.query<{ certname: string; facts: { version: number } }>(
      'inventory',
    )) {
      assert.deepEqual(facts, factsOf(certname, facts.version));
      seen.note('facts', certname, facts.version);
    }
  },
  'reports with their events': async (server, random) => {
    const rows = await server.query<{ configuration_version: string; resource_events: { data: unknown[] | null } }>(
      'reports',
      ['=', 'certname', random.pick(NODES)],
      { order_by: [{ field: 'producer_timestamp', order: 'desc' }], limit: 20 },
    );
    for (const { configuration_version: version, resource_events: events } of rows) {
      assert.equal(events.data?.length ?? 0, eventsOf(Number(version)), `events of report ${version}`);
    }
  },
};

const sizes = new Set(Array.from({ length: 51 }, (_, version) => resourcesOf('x', version).length));

test('concurrency: every answer during ingest shows whole commands', async (t) => {
  const seconds = testNumber('MUSTER_SECONDS', 6);
  const random = new Random(testSeed('concurrency'));
  const server = await TestServer.start(t, { args: ['--query-threads', '2'] });
  const start = Date.now() - DAY;
  const end = Date.now() + seconds * 1000;
  let version = 0;
  const write = async (certnames: readonly string[], own: Random): Promise<void> => {
    while (Date.now() < end) {
      const next = ++version;
      const make = own.pick([replaceCatalog, replaceCatalog, replaceFacts, storeReport]);
      const answer = await server.submit(make(own.pick(certnames), next, start + next), {
        wait: own.chance(0.3) ? 20 : 0,
      });
      assert.ok(answer.acknowledged, answer.text);
    }
  };
  const answers = new Map<string, number>();
  const read = async (name: string, reader: Reader, own: Random): Promise<void> => {
    const seen = new Seen();
    for (; Date.now() < end; answers.set(name, (answers.get(name) ?? 0) + 1)) await reader(server, own, seen);
  };
  await Promise.all([
    ...[0, 1, 2].map((writer) =>
      write(
        NODES.filter((_, i) => i % 3 === writer),
        random.fork(),
      ),
    ),
    ...Object.entries(readers).map(([name, reader]) => read(name, reader, random.fork())),
  ]);
  t.diagnostic(`${version} commands; answers: ${[...answers].map(([name, count]) => `${count} ${name}`).join(', ')}`);
  for (const name of Object.keys(readers)) assert.ok((answers.get(name) ?? 0) > 2, `${name}: too few answers`);
  checkQuiet(server);
  await server.stop();
  assert.deepEqual(await checkStore(server.dir), []);
});

test('concurrency: a processed command is in every answer that is asked for afterwards', async (t) => {
  const rounds = testNumber('MUSTER_ROUNDS', 60);
  const server = await TestServer.start(t, { args: ['--query-threads', '2'] });
  const start = Date.now() - DAY;
  const client = async (certname: string): Promise<void> => {
    for (let round = 1; round <= rounds; round++) {
      await server.apply(replaceFacts(certname, round, start + round));
      const [fact] = await server.query<Fact>('facts', ['and', ['=', 'certname', certname], ['=', 'name', 'version']]);
      assert.equal(fact?.value, round, certname);
      if (round % 8 !== 0) continue;
      await server.apply(replaceCatalog(certname, round, start + round));
      const rows = await server.query<Resource>('resources', ['=', 'certname', certname]);
      assert.equal(wholeCatalog(certname, rows), round);
    }
  };
  // Long answers at the same time, so that no thread is ever without an open snapshot.
  let running = true;
  const reading = (async () => {
    while (running) await server.query('resources');
  })();
  // A thread that has been idle, and threads that are busy.
  await client('alone');
  await Promise.all(NODES.slice(0, 6).map(client));
  running = false;
  await reading;
  checkQuiet(server);
});
