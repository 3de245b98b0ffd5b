// What a real PuppetDB answers to queries like the recorded ones, Muster answers too, and in the same order where one is asked for.
// Its version here is 7.12, and where 8.8 differs (docs/compatibility.md) nothing is compared. PuppetDB and PostgreSQL come from Debian's
// packages and take minutes, so this runs with MUSTER_INTEGRATION=1 only. MUSTER_VARIATIONS says how many queries each test asks (20,000
// take 90 seconds), MUSTER_SEED which.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Answer, Client, differences, load, parseJSON, readLines, stringifyJSON } from '../conformance/replay.mjs';
import { Endings } from '../support/endings.ts';
import { Random, testNumber, testSeed } from '../support/random.ts';
import { TestServer } from '../support/server.ts';
import { OrderedQueries, type OrderedQuery } from './support/ordered-queries.ts';
import { packagesMissing } from './support/packages.ts';
import { type PuppetDb, puppetdbPackages, puppetdbPackagesUsed, startPuppetDb } from './support/puppetdb.ts';
import { VariedPql } from './support/varied-pql.ts';
import { VariedQueries, type VariedQuery } from './support/varied-queries.ts';
import { VariedRequests } from './support/varied-requests.ts';

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
  /"not".*"(facts|trusted|parameters)[."]|"latest_report\?".*(false|"not")|("not"|false).*"latest_report\?"/,
  // Compared with what is no truth value.
  /\["(=|<|>|<=|>=|~)","latest_report\?",(?!true|false)/,
  // Over values that are no numbers.
  /"function","(avg|sum|min|max)","value"/,
  // The same in PQL.
  /!.*\b(facts|trusted|parameters)\.|latest_report\?.*(false|!)|!.*latest_report\?/,
  /latest_report\?(?!"|\s*=\s*true)/,
];
/**
 * What both versions take for something else: a list of values for a clause, what is no text for a direction, columns without a filter,
 * a condition that they remove where a truth value belongs.
 */
const MISREAD: readonly RegExp[] = [
  /"array",\["([=<>~]|[<>]=|~>|in|null\?|not|and|or|extract|function|group_by|subquery|from|select_\w+)"/,
  /"=","path",\["([=<>~]|[<>]=|~>)"/,
  /"array",\[[^\]]*"(new|old)_value"/,
  /"order_by",\[\["\w+",[^"]/,
  /"extract",[^\]]*\],\["select_\w+"\]/,
  /"null\?",\["\w+"\],\["=","(node_state|type)","any"\]/,
];
/** Both versions drop a join that counts (docs/compatibility.md). */
const DROPPED_JOIN = /package.inventory.*"node_state","any"/;
/** It shows the edges of all nodes. */
const OTHER_PATHS = /^\/pdb\/query\/v4\/catalogs\/[^/]+\/edges$/;
/** Mistakes that 7.12 overlooks, or sees where 8.8 sees none; and where it fails inside (docs/compatibility.md). */
const OTHER_ERRORS =
  /^This query must be of the form|^Invalid = clause|^AST validation failed|^Can't extract unknown 'nodes' field 'name'|^No matching clause: :puppetlabs.puppetdb.query-eng.parse/;

/** Where 8.8 says the same in other words, or names another entity. */
const OTHER_TEXTS =
  /^Your (initial query must be|`from` query accepts)|^AST validation failed|^Can't extract unknown 'nodes' field/;
/** Of fields that are asked for nothing it fails inside, later. */
const TOLD_OF_NULL = /"null\?".*\n.* is not a queryable object/;
/** What there is to choose from, in an order of its own, and longer in 8.8; what PQL was expected instead. */
const LISTED =
  /(?<=(?:Acceptable fields|Known queryable objects|Supported columns) are ).*|(?<=^PQL parse error .*\n\n.*\n *\^\n\n).*/s;

describe('queries beside a real PuppetDB', { skip, concurrency: false }, () => {
  let puppetdb: PuppetDb;
  let clients: readonly [theirs: Client, ours: Client];
  const endings = new Endings();

  before(async () => {
    puppetdb = await startPuppetDb(endings, RETENTION);
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

  /** Asks both servers `COUNT` queries. `compare` is shown the rows of both where they have any; `isTold`: refusals are compared, too. */
  async function ask<Q extends VariedQuery>(
    t: TestContext,
    next: () => Q,
    compare: Compare<Q>,
    isTold = true,
  ): Promise<void> {
    const different: string[] = [];
    let [asked, compared] = [0, 0];
    const asker = async (): Promise<void> => {
      while (asked++ < COUNT) {
        const query = next();
        const [theirs, ours] = await Promise.all(clients.map((client) => client.send(query)));
        const difference = differenceOf(query, theirs!, ours!, compare, isTold);
        if (difference === null) continue;
        compared++;
        if (difference !== '') different.push(`${query.path} ${stringifyJSON(query.params)}\n  ${difference}`);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, asker));
    t.diagnostic(`${COUNT} queries, ${compared} of them compared`);
    assert.deepEqual(different, []);
    assert.ok(compared > COUNT / 2, 'enough of them could be compared');
  }

  test('like the recorded ones get the same rows, or are refused alike', async (t) => {
    const queries = new VariedQueries(new Random(testSeed('queries')));
    await ask(t, () => queries.next(), sameRows);
  });

  // What is wrong with them is not compared: it is often more than one thing.
  test('in requests that were changed anywhere get the same rows, or are refused by both', async (t) => {
    const requests = new VariedRequests(new Random(testSeed('queries')));
    await ask(t, () => requests.next(), sameRows, false);
  });

  test('in PQL like the recorded ones get the same rows, or are refused alike', async (t) => {
    const queries = new VariedPql(new Random(testSeed('queries')));
    await ask(t, () => queries.next(), sameRows);
  });

  test('that order get rows in the same order, and the same count of all', async (t) => {
    const random = new Random(testSeed('queries'));
    const queries = new OrderedQueries(random, new VariedQueries(random));
    await ask(t, () => queries.next(), sameOrder);
  });
});

/** What is different, or nothing, between the rows of two answers to a query. */
type Compare<Q> = (
  query: Q,
  rows: readonly [theirs: unknown, ours: unknown],
  answers: readonly [Answer, Answer],
) => string;

function sameRows(query: VariedQuery, [theirs, ours]: readonly [unknown, unknown]): string {
  // Which rows a page has is open where their order is.
  if (/\b(limit|offset)\b/.test(stringifyJSON(query.params)) && Array.isArray(theirs) && Array.isArray(ours)) {
    return theirs.length === ours.length ? '' : `${theirs.length} rows there, ${ours.length} here`;
  }
  return differences(theirs, ours, { asSet: true, max: 3 }).join('\n  ');
}

function sameOrder(query: OrderedQuery, rows: readonly [unknown, unknown], answers: readonly [Answer, Answer]): string {
  const [theirs, ours] = answers.map(({ headers }) => headers['x-records']);
  if (theirs !== ours) return `${theirs} rows in all there, ${ours} here`;
  // Rows that are alike in what they are ordered by may come in any order.
  const [expected, actual] = rows.map((one) => (one as Row[]).map((row) => query.keys.map((key) => row[key])));
  return differences(expected, actual, { asSet: false, max: 3 }).join('\n  ');
}

type Row = Readonly<Record<string, unknown>>;

/** Empty: there is none; null: there is nothing to compare. */
function differenceOf<Q extends VariedQuery>(
  query: Q,
  theirs: Answer,
  ours: Answer,
  compare: Compare<Q>,
  isTold: boolean,
): string | null {
  if (ours.status >= 500) return `status ${ours.status}: ${ours.text}`;
  // PuppetDB failed inside.
  if (theirs.status >= 500) return null;
  const text = stringifyJSON(query.params);
  if (OTHER_PATHS.test(query.path) || DROPPED_JOIN.test(`${query.path} ${text}`)) return null;
  if ([...OTHER_IN_8, ...MISREAD].some((pattern) => pattern.test(text))) return null;
  // 7.12 leads to its dashboard.
  if (theirs.status === 302 && ours.status === 404) return '';
  if (theirs.status !== ours.status) {
    const refusal = theirs.status === 200 ? ours.text : theirs.text;
    return OTHER_ERRORS.test(refusal) ? null : `status ${theirs.status} there, ${ours.status} here: ${refusal}`;
  }
  if (theirs.status !== 200) return isTold ? refusalDifference(text, theirs.text, ours.text) : '';
  const rows = rowsOf(theirs.text);
  return rows === null ? null : compare(query, [rows, rowsOf(ours.text)], [theirs, ours]);
}

function refusalDifference(query: string, theirs: string, ours: string): string {
  const [expected, actual] = [theirs, ours].map((text) => text.replace(LISTED, ''));
  const isKnown = OTHER_TEXTS.test(theirs) || TOLD_OF_NULL.test(`${query}\n${ours}`);
  return expected === actual || isKnown ? '' : `refused there: ${theirs}\n  here: ${ours}`;
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
