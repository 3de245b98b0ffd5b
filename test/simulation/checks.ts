// What must hold of a server whatever happened to it: indexed queries agree with full listings, counters with rows, and
// its log shows no command applied twice and no error that nobody expected.

import assert from 'node:assert/strict';
import type { Random } from '../support/random.ts';
import type { TestServer } from '../support/server.ts';
import type { Asked, Listing } from './model.ts';

const ANY = ['=', 'node_state', 'any'];
const anyAnd = (...filters: readonly unknown[]): unknown => ['and', ANY, ...filters];

/** Asks through indexes for samples of what the listing holds, and compares with a filter over the listing. */
export async function checkIndexes(server: Asked, listing: Listing, random: Random, samples = 6): Promise<void> {
  const { resources, facts, reports, events } = listing;
  for (let i = 0; i < samples && resources.length > 0; i++) {
    const { type, title } = random.pick(resources);
    await same(
      server,
      ['resources', anyAnd(['=', 'type', type], ['=', 'title', title])],
      resources.filter((row) => row.type === type && row.title === title),
    );
    const tag = random.pick(random.pick(resources).tags);
    await same(
      server,
      ['resources', anyAnd(['=', 'tag', tag])],
      resources.filter((row) => row.tags.includes(tag)),
    );
    const { version } = random.pick(resources).parameters;
    await same(
      server,
      ['resources', anyAnd(['=', ['parameter', 'version'], version ?? 'none'])],
      resources.filter((row) => row.parameters['version'] === (version ?? 'none')),
    );
  }
  await same(
    server,
    ['resources', anyAnd(['=', 'exported', true])],
    resources.filter((row) => row.exported),
  );
  for (let i = 0; i < samples && facts.length > 0; i++) {
    const { name, value } = random.pick(facts.filter((fact) => typeof fact.value !== 'object'));
    await same(
      server,
      ['facts', anyAnd(['=', 'name', name], ['=', 'value', value])],
      facts.filter((row) => row.name === name && row.value === value),
    );
  }
  for (let i = 0; i < samples && reports.length > 0; i++) {
    const { certname, hash } = random.pick(reports);
    await count(
      server,
      'reports',
      ['=', 'certname', certname],
      reports.filter((row) => row.certname === certname).length,
    );
    await count(server, 'reports', anyAnd(['=', 'hash', hash]), 1);
    await count(server, 'events', anyAnd(['=', 'report', hash]), events.filter((row) => row.report === hash).length);
  }
  const active = listing.nodes.filter((node) => node.deactivated === null).map((node) => node.certname);
  const shown = await server.query<{ certname: string }>('nodes');
  assert.deepEqual(shown.map((node) => node.certname).sort(), active.sort(), 'active nodes');
}

interface Named {
  readonly certname: string;
}

async function same(
  server: Asked,
  [route, query]: readonly [string, unknown],
  wanted: readonly Named[],
): Promise<void> {
  const found = await server.query<Named>(route, query);
  const texts = (rows: readonly Named[]): string[] => rows.map((row) => JSON.stringify(row)).sort();
  assert.deepEqual(texts(found), texts(wanted), `${route} ${JSON.stringify(query)}`);
}

async function count(server: Asked, route: string, query: unknown, wanted: number): Promise<void> {
  const [row] = await server.query<{ count: number }>(route, ['extract', [['function', 'count']], query]);
  assert.equal(row?.count, wanted, `${route} ${JSON.stringify(query)}`);
}

/** Counters that the store keeps equal the rows that queries show. */
export async function checkCounters(server: TestServer, listing: Listing): Promise<void> {
  const answer = await server.ask('/pdb/admin/v1/summary-stats');
  assert.equal(answer.status, 200, answer.text);
  const stats = JSON.parse(answer.text) as { table_usage: { relname: string; n_live_tup: number }[] };
  const counted = Object.fromEntries(stats.table_usage.map(({ relname, n_live_tup }) => [relname, n_live_tup]));
  const withFacts = new Set(listing.facts.map((row) => row.certname));
  assert.deepEqual(
    counted,
    {
      certnames: listing.nodes.length,
      catalogs: listing.catalogs.length,
      catalog_resources: listing.resources.length,
      factsets: withFacts.size,
      reports: listing.reports.length,
    },
    'summary-stats',
  );
  for (const [route, rows] of Object.entries(listing) as [string, readonly unknown[]][]) {
    await count(server, route, ANY, rows.length);
  }
}

const PROCESSED = /^\[(\d+)-\d+(?:-\d+)?\] \[\d+ ms\] '([^']+)' command/;

/** No command was applied twice, over all starts of the server. Returns how many were applied since `from`. */
export function checkAppliedOnce(server: TestServer, from = 0): number {
  const seen = new Set<string>();
  const lines = server.logLines();
  let since = 0;
  for (let i = 0; i < lines.length; i++) {
    const match = lines[i]?.area === 'command' ? PROCESSED.exec(lines[i]!.msg) : null;
    if (match === null) continue;
    assert.ok(!seen.has(match[1]!), `command ${match[1]} was applied twice: ${lines[i]!.msg}`);
    seen.add(match[1]!);
    if (i >= from) since++;
  }
  return since;
}

/** The log has no line of these levels but those that are expected; and nothing reached standard error past the log. */
export function checkQuiet(server: TestServer, expected: RegExp | null = null): void {
  for (const line of server.logLines()) {
    if (line.level !== 'error' && line.level !== 'fatal') continue;
    if (expected?.test(line.msg)) continue;
    assert.fail(`the log says: ${JSON.stringify(line).slice(0, 2000)}`);
  }
  const other = server.output.split('\n').filter((text) => text !== '' && !text.startsWith('{'));
  assert.deepEqual(other, [], 'standard error');
}
