// What a real PuppetDB answers to queries like the recorded ones, Muster answers too. Its version here is 7.12, and where 8.8 differs
// (docs/compatibility.md) nothing is compared. PuppetDB and PostgreSQL come from Debian's packages and take minutes, so this runs with
// MUSTER_INTEGRATION=1 only. MUSTER_VARIATIONS says how many queries are asked (20,000 take 90 seconds), MUSTER_SEED which.

import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Answer, Client, differences, load, parseJSON, readLines, stringifyJSON } from '../conformance/replay.mjs';
import { Endings } from '../support/endings.ts';
import { Random, testNumber, testSeed } from '../support/random.ts';
import { TestServer } from '../support/server.ts';
import { packagesMissing } from './support/packages.ts';
import { type PuppetDb, puppetdbPackages, puppetdbPackagesUsed, startPuppetDb } from './support/puppetdb.ts';
import { VariedQueries, type VariedQuery } from './support/varied-queries.ts';

const skip = await packagesMissing(puppetdbPackagesUsed, { large: true, install: puppetdbPackages });

const COUNT = testNumber('MUSTER_VARIATIONS', 3000);
const CONNECTIONS = 6;
const corpus = fileURLToPath(new URL('../conformance/corpus.ndjson', import.meta.url));
/** Nothing of the corpus may expire, or be purged. */
const RETENTION = {
  'node-purge-ttl': '3650d',
  'report-ttl': '3650d',
  'resource-events-ttl': '3650d',
  'gc-interval': '0',
};

/** Where the answer of 7.12 is no measure: 8.8 gives another one. */
const OTHER_IN_8: readonly RegExp[] = [
  /"not".*"(facts|trusted|parameters)\.|"latest_report\?".*(false|"not")|("not"|false).*"latest_report\?"/,
  // Compared with what is no truth value.
  /\["(=|<|>|<=|>=|~)","latest_report\?",(?!true|false)/,
  // Over values that are no numbers.
  /"function","(avg|sum|min|max)","value"/,
];
/** What both versions take for something else: a list of values for a clause, a number for a direction. */
const MISREAD: readonly RegExp[] = [/"array",\[[^\]]*"(new|old)_value"/, /"order_by",\[\["\w+",\d/];
/** It shows the edges of all nodes. */
const OTHER_PATHS = /^\/pdb\/query\/v4\/catalogs\/[^/]+\/edges$/;
/** Mistakes that 7.12 overlooks, or sees where 8.8 sees none. */
const OTHER_ERRORS = /^AST validation failed|^Can't extract unknown 'nodes' field 'name'/;

describe('queries beside a real PuppetDB', { skip, concurrency: false }, () => {
  let puppetdb: PuppetDb;
  let clients: readonly [theirs: Client, ours: Client];
  const endings = new Endings();

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-queries-'));
    endings.after(() => rmSync(folder, { recursive: true, force: true }));
    // PostgreSQL runs as somebody else.
    chmodSync(folder, 0o755);
    puppetdb = await startPuppetDb(folder, RETENTION);
    endings.after(() => puppetdb.stop());
    const args = Object.entries({ 'node-ttl': '0s', ...RETENTION }).flatMap(([name, value]) => [`--${name}`, value]);
    const muster = await TestServer.start(endings, { args });
    const options = { concurrency: CONNECTIONS };
    clients = [new Client(puppetdb.url, options), new Client(muster.url, options)];
    endings.after(() => {
      for (const client of clients) client.close();
    });
    for (const client of clients) assert.deepEqual(await load(client, readLines(corpus), 'puppetlabs.puppetdb'), []);
  });

  after(() => endings.run());

  test('like the recorded ones get the same rows, or are refused alike', async (t) => {
    const queries = new VariedQueries(new Random(testSeed('queries')));
    const different: string[] = [];
    let [asked, compared] = [0, 0];
    const asker = async (): Promise<void> => {
      while (asked++ < COUNT) {
        const query = queries.next();
        const [theirs, ours] = await Promise.all(clients.map((client) => client.send(query)));
        const difference = differenceOf(query, theirs!, ours!);
        if (difference === null) continue;
        compared++;
        if (difference !== '') different.push(`${query.path} ${stringifyJSON(query.params)}\n  ${difference}`);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, asker));
    t.diagnostic(`${COUNT} queries, ${compared} of them compared`);
    assert.deepEqual(different, []);
    assert.ok(compared > COUNT / 2, 'enough of them could be compared');
  });
});

/** Empty: there is none; null: there is nothing to compare. */
function differenceOf(query: VariedQuery, theirs: Answer, ours: Answer): string | null {
  if (ours.status >= 500) return `status ${ours.status}: ${ours.text}`;
  // PuppetDB failed inside.
  if (theirs.status >= 500) return null;
  const text = stringifyJSON(query.params);
  if (OTHER_PATHS.test(query.path) || [...OTHER_IN_8, ...MISREAD].some((pattern) => pattern.test(text))) return null;
  if (theirs.status !== ours.status) {
    const refusal = theirs.status === 200 ? ours.text : theirs.text;
    return OTHER_ERRORS.test(refusal) ? null : `status ${theirs.status} there, ${ours.status} here: ${refusal}`;
  }
  if (theirs.status !== 200) return '';
  const rows = rowsOf(theirs.text);
  if (rows === null) return null;
  const [expected, actual] = [rows, rowsOf(ours.text)];
  // Which rows a page has is open where their order is.
  if (/"limit"|"offset"/.test(text) && Array.isArray(expected) && Array.isArray(actual)) {
    return expected.length === actual.length ? '' : `${expected.length} rows there, ${actual.length} here`;
  }
  return differences(expected, actual, { asSet: true, max: 3 }).join('\n  ');
}

const HOUR_MS = 3_600_000;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** Without times of receipt, which differ. null: the answer broke off. */
function rowsOf(text: string): unknown {
  try {
    return parseJSON(text.replace(TIME, (time) => (Date.parse(time) > Date.now() - HOUR_MS ? 'now' : time)));
  } catch {
    return null;
  }
}
