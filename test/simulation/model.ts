// What a fleet's store must hold, kept in plain maps beside the server. Every command that was sent is remembered with
// whether it was acknowledged; after a crash the state that is found must be one that the acknowledged commands and some
// of the others lead to, and from then on it is what counts.

import assert from 'node:assert/strict';
import { eventsOf, factsOf, resourcesOf } from '../support/commands.ts';

export type Kind = 'facts' | 'catalog' | 'report' | 'deactivate';

export interface Sent {
  readonly kind: Kind;
  readonly version: number;
  /** Producer timestamp, epoch ms. */
  readonly time: number;
  acknowledged: boolean;
}

/** What one node shows. Reports in order of their versions. */
export interface NodeState {
  readonly facts: number | null;
  readonly catalog: number | null;
  /** Epoch ms. */
  readonly deactivated: number | null;
  readonly reports: readonly number[];
}

interface Known extends NodeState {
  readonly factsTime: number;
  readonly catalogTime: number;
  readonly reportTime: number;
}

const EMPTY: Known = {
  facts: null,
  catalog: null,
  deactivated: null,
  reports: [],
  factsTime: Number.NEGATIVE_INFINITY,
  catalogTime: Number.NEGATIVE_INFINITY,
  reportTime: Number.NEGATIVE_INFINITY,
};

/** More unanswered commands of one node than this would make the comparison worthless. */
const UNKNOWN_MAX = 6;

/** The rules for these commands (spec/commands.md): older data is ignored, newer data brings an inactive node back. */
function apply(state: Known, { kind, version, time }: Sent): Known {
  if (kind === 'deactivate') {
    const isStale = Math.max(state.factsTime, state.catalogTime, state.reportTime) > time;
    if (isStale || (state.deactivated !== null && state.deactivated >= time)) return state;
    return { ...state, deactivated: time };
  }
  const isNewer = state.deactivated !== null && state.deactivated < time;
  const next = isNewer ? { ...state, deactivated: null } : state;
  if (kind === 'facts') return time < state.factsTime ? next : { ...next, facts: version, factsTime: time };
  if (kind === 'catalog') return time < state.catalogTime ? next : { ...next, catalog: version, catalogTime: time };
  if (next.reports.includes(version)) return next;
  const reports = [...next.reports, version].sort((a, b) => a - b);
  return { ...next, reports, reportTime: Math.max(next.reportTime, time) };
}

const shown = ({ facts, catalog, deactivated, reports }: NodeState): string =>
  JSON.stringify([facts, catalog, deactivated, reports]);

export class NodeModel {
  readonly certname: string;
  #base: Known = EMPTY;
  #sent: Sent[] = [];

  constructor(certname: string) {
    this.certname = certname;
  }

  /** To be called before the command goes out. */
  send(kind: Kind, version: number, time: number): Sent {
    const sent: Sent = { kind, version, time, acknowledged: false };
    this.#sent.push(sent);
    return sent;
  }

  /** Commands that may or may not have been stored. */
  get unknown(): readonly Sent[] {
    return this.#sent.filter((sent) => !sent.acknowledged);
  }

  /** Takes what was found as the truth if it may be; throws otherwise. Returns the unanswered commands it forgets. */
  settle(found: NodeState): Sent[] {
    const { unknown } = this;
    assert.ok(unknown.length <= UNKNOWN_MAX, `${this.certname}: ${unknown.length} commands without an answer`);
    const possible: Known[] = [];
    for (let mask = 0; mask < 1 << unknown.length; mask++) {
      let state = this.#base;
      for (const sent of this.#sent) {
        if (sent.acknowledged || (mask & (1 << unknown.indexOf(sent))) !== 0) state = apply(state, sent);
      }
      possible.push(state);
    }
    const match = possible.find((state) => shown(state) === shown(found));
    if (match === undefined) {
      const texts = [...new Set(possible.map(shown))].join(' or ');
      const history = this.#sent.map((one) => `${one.kind} ${one.version}${one.acknowledged ? '' : ' (unanswered)'}`);
      assert.fail(`${this.certname} shows ${shown(found)}, should ${texts}; sent since: ${history.join(', ')}`);
    }
    this.#base = match;
    this.#sent = [];
    return [...unknown];
  }
}

interface Row {
  readonly certname: string;
}
interface NodeRow extends Row {
  readonly deactivated: string | null;
}
interface FactRow extends Row {
  readonly name: string;
  readonly value: unknown;
}
interface CatalogRow extends Row {
  readonly version: string;
}
interface ResourceRow extends Row {
  readonly type: string;
  readonly title: string;
  readonly exported: boolean;
  readonly tags: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}
interface ReportRow extends Row {
  readonly hash: string;
  readonly configuration_version: string;
}
interface EventRow extends Row {
  readonly report: string;
  readonly new_value: string;
}
type EdgeRow = Row & Readonly<Record<'source_title' | 'target_type' | 'target_title', string>>;

/** Everything the server lists, inactive nodes included. */
export interface Listing {
  readonly nodes: readonly NodeRow[];
  readonly facts: readonly FactRow[];
  readonly catalogs: readonly CatalogRow[];
  readonly resources: readonly ResourceRow[];
  readonly edges: readonly EdgeRow[];
  readonly reports: readonly ReportRow[];
  readonly events: readonly EventRow[];
}

const ANY = ['=', 'node_state', 'any'];

/** Whatever answers queries. */
export interface Asked {
  query<Row>(route: string, query?: unknown): Promise<Row[]>;
}

export async function listAll(server: Asked): Promise<Listing> {
  const columns = (fields: readonly string[]): unknown => ['extract', fields, ANY];
  const [nodes, facts, catalogs, resources, edges, reports, events] = await Promise.all([
    server.query<NodeRow>('nodes', ANY),
    server.query<FactRow>('facts', ANY),
    server.query<CatalogRow>('catalogs', columns(['certname', 'version'])),
    server.query<ResourceRow>('resources', ANY),
    server.query<EdgeRow>('edges', ANY),
    server.query<ReportRow>('reports', columns(['certname', 'hash', 'configuration_version'])),
    server.query<EventRow>('events', ANY),
  ]);
  return { nodes, facts, catalogs, resources, edges, reports, events };
}

/** Rows by certname. */
function byCertname<R extends Row>(rows: readonly R[]): Map<string, R[]> {
  const groups = new Map<string, R[]>();
  for (const row of rows) {
    const group = groups.get(row.certname);
    if (group === undefined) groups.set(row.certname, [row]);
    else group.push(row);
  }
  return groups;
}

const order = (rows: readonly { readonly type: string; readonly title: string }[]): unknown[] =>
  [...rows].sort((a, b) => (`${a.type} ${a.title}` < `${b.type} ${b.title}` ? -1 : 1));

/**
 * The state of each node as the listing shows it. Fails where a node's rows are not those of one version: a catalog with
 * resources or edges of another, a factset that is mixed, a report without its events.
 */
export function statesOf(listing: Listing): Map<string, NodeState> {
  const facts = byCertname(listing.facts);
  const catalogs = byCertname(listing.catalogs);
  const resources = byCertname(listing.resources);
  const edges = byCertname(listing.edges);
  const reports = byCertname(listing.reports);
  const events = new Map<string, number>();
  for (const { report } of listing.events) events.set(report, (events.get(report) ?? 0) + 1);
  const states = new Map<string, NodeState>();
  for (const { certname, deactivated } of listing.nodes) {
    const version = catalogOf(certname, catalogs.get(certname) ?? []);
    checkCatalog(certname, version, resources.get(certname) ?? [], edges.get(certname) ?? []);
    states.set(certname, {
      facts: checkFacts(certname, facts.get(certname) ?? []),
      catalog: version,
      deactivated: deactivated === null ? null : Date.parse(deactivated),
      reports: checkReports(certname, reports.get(certname) ?? [], events),
    });
  }
  for (const groups of [facts, catalogs, resources, edges, reports]) {
    for (const certname of groups.keys()) assert.ok(states.has(certname), `rows of ${certname}, which is no node`);
  }
  return states;
}

function catalogOf(certname: string, rows: readonly CatalogRow[]): number | null {
  assert.ok(rows.length <= 1, `${certname} has ${rows.length} catalogs`);
  return rows[0] === undefined ? null : Number(rows[0].version);
}

function checkCatalog(
  certname: string,
  version: number | null,
  resources: readonly ResourceRow[],
  edges: readonly EdgeRow[],
): void {
  const expected = version === null ? [] : resourcesOf(certname, version);
  const found = resources.map(({ type, title, exported, tags, parameters }) => {
    return { type, title, exported, tags: [...tags].sort(), parameters };
  });
  const wanted = expected.map((resource) => ({ ...resource, tags: [...resource.tags].sort() }));
  assert.deepEqual(order(found), order(wanted), `${certname}: resources of catalog ${version}`);
  const targets = edges.map((edge) => `${edge.target_type}[${edge.target_title}]`).sort();
  const wantedTargets = expected.slice(1).map(({ type, title }) => `${type}[${title}]`);
  assert.deepEqual(targets, wantedTargets.sort(), `${certname}: edges of catalog ${version}`);
}

function checkFacts(certname: string, rows: readonly FactRow[]): number | null {
  if (rows.length === 0) return null;
  const found = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  assert.equal(rows.length, Object.keys(found).length, `${certname} has a fact twice`);
  const version = found['version'] as number;
  assert.deepEqual(found, factsOf(certname, version), `${certname}: facts of version ${version}`);
  return version;
}

function checkReports(certname: string, rows: readonly ReportRow[], events: ReadonlyMap<string, number>): number[] {
  const versions = rows.map((row) => Number(row.configuration_version)).sort((a, b) => a - b);
  assert.equal(new Set(versions).size, versions.length, `${certname} has a report twice: ${versions}`);
  for (const { hash, configuration_version } of rows) {
    const count = events.get(hash) ?? 0;
    assert.equal(
      count,
      eventsOf(Number(configuration_version)),
      `${certname}: events of report ${configuration_version}`,
    );
  }
  return versions;
}
