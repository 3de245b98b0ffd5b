// What a server holds, as its query interface shows it, in a form in which two servers can be compared: rows in an order of
// their own, members that tell when something was received left out, numbers with their spelling (1.0 is not 1).

import assert from 'node:assert/strict';
import { canonicalS } from '../../../engine/json/canonical.ts';
import { parseJson } from '../../../engine/json/parse.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../../engine/json/value.ts';

interface Route {
  readonly path: string;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Members that differ from server to server: when it received something, and what its version adds. */
  readonly without?: readonly string[];
}

/** Everything that an archive carries. */
const routes: readonly Route[] = [
  // The times of nodes are times of receipt, but for that of the report.
  { path: 'nodes', without: ['facts_timestamp', 'catalog_timestamp'] },
  { path: 'facts' },
  { path: 'fact-names' },
  { path: 'fact-paths' },
  { path: 'fact-contents' },
  { path: 'factsets', without: ['timestamp'] },
  { path: 'inventory', without: ['timestamp'] },
  { path: 'resources' },
  { path: 'edges' },
  { path: 'catalogs' },
  { path: 'catalog-inputs' },
  { path: 'reports', without: ['receive_time'] },
  { path: 'events', without: ['report_receive_time'] },
  { path: 'event-counts', parameters: { summarize_by: 'resource' } },
  { path: 'aggregate-event-counts', parameters: { summarize_by: 'certname,resource,containing_class' } },
  { path: 'environments' },
  { path: 'producers' },
];

/** What it does not carry: packages, and nodes that are not active. */
const furtherRoutes: readonly Route[] = [
  { path: 'packages' },
  { path: 'package-inventory' },
  {
    path: 'nodes',
    parameters: { query: '["=","node_state","any"]' },
    without: ['facts_timestamp', 'catalog_timestamp'],
  },
  { path: 'catalogs', parameters: { query: '["=","node_state","any"]' } },
  { path: 'factsets', parameters: { query: '["=","node_state","any"]' }, without: ['timestamp'] },
  { path: 'resources', parameters: { query: '["=","node_state","inactive"]' } },
  { path: 'reports', parameters: { query: '["=","latest_report?",true]' }, without: ['receive_time'] },
  { path: 'events', parameters: { query: '["=","latest_report?",true]' }, without: ['report_receive_time'] },
];

/** Texts of the rows, by route and parameters. */
export type Contents = ReadonlyMap<string, readonly string[]>;

export interface ContentsOptions {
  /** Archives have no package inventories, which are part of what a factset's hash is made of. */
  readonly factsetHashes: boolean;
  /** Of some data PuppetDB's answers break off: such a route is left out. */
  readonly mayBreakOff?: boolean;
  /** With packages, and with nodes that are not active. */
  readonly packagesAndStates?: boolean;
}

export async function contentsOf(url: string, options: ContentsOptions): Promise<Contents> {
  const contents = new Map<string, readonly string[]>();
  const asked = options.packagesAndStates === true ? [...routes, ...furtherRoutes] : routes;
  for (const { path, parameters = {}, without: surplus = [] } of asked) {
    const without = path === 'factsets' && !options.factsetHashes ? [...surplus, 'hash'] : surplus;
    // A connection for each: PuppetDB closes the one whose answer it broke off, and the next request would meet that.
    const headers = { connection: 'close' };
    const asking = new URLSearchParams(parameters);
    const target = asking.size === 0 ? path : `${path}?${asking}`;
    const answer = await fetch(`${url}/pdb/query/v4/${target}`, { headers });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${path} of ${url}: ${text.slice(0, 500)}`);
    const rows = rowsOf(text);
    if (rows === null && options.mayBreakOff === true) continue;
    assert.ok(rows !== null, `${path} of ${url} is no list: …${text.slice(-500)}`);
    contents.set(target, rows.map((row) => canonicalS(comparable(row, new Set(without)))).sort());
  }
  return contents;
}

/** null: the answer broke off. */
function rowsOf(text: string): readonly JsonValue[] | null {
  try {
    const rows = parseJson(text);
    return isArray(rows) ? rows : null;
  } catch {
    return null;
  }
}

/** Says for the first rows that differ how they do. */
export function assertSameContents(actual: Contents, expected: Contents): void {
  for (const [path, rows] of expected) {
    const others = actual.get(path) ?? [];
    const [wanted, found] = [new Set(rows), new Set(others)];
    const missing = rows.filter((row) => !found.has(row));
    const surplus = others.filter((row) => !wanted.has(row));
    if (missing.length === 0 && surplus.length === 0 && rows.length === others.length) continue;
    const counts = `${path}: ${rows.length} rows expected, ${others.length} there, ${missing.length} not the same`;
    assert.deepEqual(parsed(surplus[0]), parsed(missing[0]), counts);
    assert.fail(counts);
  }
}

const parsed = (row: string | undefined): unknown => (row === undefined ? null : JSON.parse(row));

/** Lists that PuppetDB keeps as sets, in the order of their members' texts. */
const setNames = new Set(['data', 'tags', 'inputs']);

function comparable(value: JsonValue, without: ReadonlySet<string>): JsonValue {
  if (!isObject(value)) return value;
  const plain: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value as JsonObject)) {
    if (without.has(name)) continue;
    if (isArray(member) && setNames.has(name)) plain[name] = sorted(member.map((each) => comparable(each, noNames)));
    else plain[name] = comparable(member, noNames);
  }
  return plain;
}

const noNames: ReadonlySet<string> = new Set();

function sorted(values: readonly JsonValue[]): JsonValue[] {
  const texts = new Map(values.map((value) => [value, canonicalS(value)]));
  return [...values].sort((a, b) => (texts.get(a)! < texts.get(b)! ? -1 : 1));
}
