// The model's memory: what each command says of a node, as plain objects, and from them the rows of every entity. No store, no
// ids, no sharing: a row is an object with its fields. Only texts that are an identity (hashes) come from outside.
//
// Commands of a node are given in the order of their producer times, so the newest is simply the last.

import { resourceHash, tagOrder } from '../../../../engine/ingest/command/hashes.ts';
import { canonicalK } from '../../../../engine/json/canonical.ts';
import { parseJson } from '../../../../engine/json/parse.ts';
import { storedText } from '../../../../engine/json/stored.ts';
import { Float, isArray, isObject, type JsonObject, type JsonValue } from '../../../../engine/json/value.ts';
import type { EntityName } from '../../../../schemas/entities.ts';

export type Cell = JsonValue;
/** Fields by name; times are epoch ms, paths lists, documents JSON. */
export interface ModelRow {
  readonly cells: Readonly<Record<string, Cell>>;
  /** The node it belongs to; null for what belongs to none. */
  readonly node: ModelNode | null;
}

export interface ModelNode {
  readonly certname: string;
  deactivated: number | null;
  expired: number | null;
  expiresFacts: boolean | null;
  expiresFactsUpdated: number | null;
  factset: Facts | null;
  catalog: Catalog | null;
  inputs: Inputs | null;
  reports: Report[];
}

interface Sent {
  readonly certname: string;
  readonly producer_timestamp: number;
  /** Time of receipt. */
  readonly received: number;
  readonly hash: string;
}
export interface Facts extends Sent {
  readonly environment: string | null;
  readonly producer: string | null;
  readonly values: JsonObject;
  readonly package_inventory: readonly (readonly [string, string, string])[];
}
export interface Resource {
  readonly type: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly exported: boolean;
  readonly file: string | null;
  readonly line: number | null;
  readonly parameters: JsonObject;
}
export interface Edge {
  readonly relationship: string;
  readonly source: { readonly type: string; readonly title: string };
  readonly target: { readonly type: string; readonly title: string };
}
export interface Catalog extends Sent {
  readonly version: string;
  readonly environment: string | null;
  readonly transaction_uuid: string | null;
  readonly catalog_uuid: string | null;
  readonly code_id: string | null;
  readonly job_id: string | null;
  readonly producer: string | null;
  readonly resources: readonly Resource[];
  readonly edges: readonly Edge[];
}
export interface ReportEvent {
  readonly status: string;
  readonly timestamp: number;
  readonly property: string | null;
  readonly name: string | null;
  readonly new_value: JsonValue;
  readonly old_value: JsonValue;
  readonly message: string | null;
  readonly corrective_change: boolean | null;
}
export interface ReportResource {
  readonly skipped: boolean;
  readonly timestamp: number;
  readonly resource_type: string;
  readonly resource_title: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly containment_path: readonly string[] | null;
  readonly corrective_change: boolean | null;
  readonly events: readonly ReportEvent[];
}
export interface Report extends Sent {
  readonly type: 'agent' | 'plan';
  readonly puppet_version: string;
  readonly report_format: number;
  readonly configuration_version: string;
  readonly start_time: number;
  readonly end_time: number;
  readonly producer: string | null;
  readonly environment: string | null;
  readonly status: string | null;
  readonly noop: boolean | null;
  readonly noop_pending: boolean | null;
  readonly corrective_change: boolean | null;
  readonly transaction_uuid: string | null;
  readonly catalog_uuid: string | null;
  readonly code_id: string | null;
  readonly cached_catalog_status: string | null;
  readonly job_id: string | null;
  readonly metrics: readonly JsonObject[];
  readonly logs: readonly JsonObject[];
  readonly resources: readonly ReportResource[];
}
export interface Inputs extends Sent {
  readonly catalog_uuid: string;
  readonly inputs: readonly (readonly [string, string])[];
}

/** A value as it comes back from storage. */
const stored = (value: JsonValue): JsonValue => parseJson(storedText(value));

export type Path = readonly (string | number)[];

/** A path as one text: indexes bare, keys of digits (and the empty one) quoted. Keys with the separator are not generated. */
export const encoded = (path: Path): string =>
  path.map((e) => (typeof e === 'number' ? String(e) : /^\d*$/.test(e) ? `"${e}"` : e)).join('#~');

/** Every scalar inside a value with its path. */
function leavesOf(path: Path, value: JsonValue): { path: Path; value: JsonValue }[] {
  if (isArray(value)) return value.flatMap((element, index) => leavesOf([...path, index], element));
  if (isObject(value)) return Object.keys(value).flatMap((key) => leavesOf([...path, key], value[key]!));
  return [{ path, value }];
}

function leafType(value: JsonValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value;
  return value instanceof Float || !Number.isInteger(Number(value)) ? 'float' : 'integer';
}

export interface WorldOptions {
  readonly edition: 'community' | 'enterprise';
}

export class World {
  readonly nodes = new Map<string, ModelNode>();
  readonly edition: WorldOptions['edition'];
  /** Names and paths are remembered when nothing has them any more, until they are collected. */
  readonly #environments = new Set<string>();
  readonly #producers = new Set<string>();
  readonly #paths = new Map<string, { readonly type: string; readonly path: Path }>();
  readonly #rows = new Map<EntityName, readonly ModelRow[]>();

  constructor({ edition }: WorldOptions) {
    this.edition = edition;
  }

  // ---- commands ----

  facts(sent: Facts): void {
    this.#node(sent.certname).factset = { ...sent, values: stored(sent.values) as JsonObject };
    this.#names(sent);
    for (const [name, value] of Object.entries(sent.values)) {
      const isFull = isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
      if (isFull) this.#path('json', [name]);
      for (const leaf of leavesOf([name], value)) this.#path(leafType(leaf.value), leaf.path);
    }
  }

  catalog(sent: Catalog): void {
    this.#node(sent.certname).catalog = sent;
    this.#names(sent);
  }

  report(sent: Report): void {
    this.#node(sent.certname).reports.push(sent);
    this.#names(sent);
  }

  inputs(sent: Inputs): void {
    const inputs = [...sent.inputs].sort((a, b) => (a.join('\n') < b.join('\n') ? -1 : 1));
    this.#node(sent.certname).inputs = { ...sent, inputs };
  }

  expiration(certname: string, expire: boolean, at: number): void {
    const node = this.#node(certname);
    node.expiresFacts = expire;
    node.expiresFactsUpdated = at;
  }

  deactivate(certname: string, at: number): void {
    this.#node(certname).deactivated = at;
  }

  expire(certname: string, at: number): void {
    this.#node(certname).expired = at;
  }

  remove(certname: string): void {
    this.nodes.delete(certname);
  }

  #node(certname: string): ModelNode {
    let node = this.nodes.get(certname);
    if (node === undefined) {
      node = {
        certname,
        deactivated: null,
        expired: null,
        expiresFacts: null,
        expiresFactsUpdated: null,
        factset: null,
        catalog: null,
        inputs: null,
        reports: [],
      };
      this.nodes.set(certname, node);
    }
    return node;
  }

  #names({ environment, producer }: { environment: string | null; producer: string | null }): void {
    if (environment !== null) this.#environments.add(environment);
    if (producer !== null) this.#producers.add(producer);
  }

  #path(type: string, path: Path): void {
    this.#paths.set(JSON.stringify([type, path]), { type, path });
  }

  // ---- rows ----

  /** Paths that `match()` looks at: leaves, and the names of facts that hold something. */
  pathsForMatch(): readonly Path[] {
    const paths = new Map([...this.#paths.values()].map(({ path }) => [JSON.stringify(path), path]));
    return [...paths.values()];
  }

  /** All rows of an entity. The world must not change any more. */
  rows(entity: EntityName): readonly ModelRow[] {
    let rows = this.#rows.get(entity);
    if (rows === undefined) this.#rows.set(entity, (rows = this.#make(entity)));
    return rows;
  }

  #make(entity: EntityName): ModelRow[] {
    switch (entity) {
      case 'environments':
        return [...this.#environments].map((name) => free({ name }));
      case 'producers':
        return [...this.#producers].map((name) => free({ name }));
      case 'fact_names':
        return distinct([...this.#paths.values()].map(({ path }) => free({ name: path[0]! })));
      case 'fact_paths':
        return [...this.#paths.values()]
          .filter(({ type }) => type !== 'json')
          .map(({ type, path }) => free({ type, path: encoded(path), name: path[0]!, depth: path.length - 1 }));
      case 'packages':
        return distinct(
          this.rows('package_inventory').map(({ cells }) => {
            const { certname: _, ...rest } = cells;
            return free(rest);
          }),
        );
      case 'resource_params':
        return distinct(this.rows('resources').flatMap(({ cells }) => parameterRows(cells)));
      default:
        return [...this.nodes.values()].flatMap((node) => OF_NODE[entity](node, this.edition));
    }
  }
}

const free = (cells: Record<string, Cell>): ModelRow => ({ cells, node: null });

function distinct(rows: readonly ModelRow[]): ModelRow[] {
  return [...new Map(rows.map((row) => [JSON.stringify(row.cells), row])).values()];
}

function parameterRows(cells: Readonly<Record<string, Cell>>): ModelRow[] {
  return Object.entries(cells['parameters'] as JsonObject).map(([name, value]) =>
    free({ res_param_resource: cells['resource']!, res_param_name: name, res_param_value: canonicalK(value) }),
  );
}

type Edition = WorldOptions['edition'];
type NodeRows = (node: ModelNode, edition: Edition) => ModelRow[];
type PerNode = Exclude<
  EntityName,
  'environments' | 'producers' | 'fact_names' | 'fact_paths' | 'packages' | 'resource_params'
>;

const href = (path: string): string => `/pdb/query/v4${path}`;
const orNull = <T extends JsonValue>(list: readonly T[]): JsonValue => (list.length === 0 ? null : list);

function latestReport(node: ModelNode): Report | null {
  let latest: Report | null = null;
  for (const report of node.reports) {
    if (report.type === 'agent' && (latest === null || report.producer_timestamp > latest.producer_timestamp)) {
      latest = report;
    }
  }
  return latest;
}

const corrective = (value: boolean | null, edition: Edition): boolean | null =>
  edition === 'enterprise' ? value : null;

const nodeRow: NodeRows = (node, edition) => {
  const { certname, deactivated, expired, factset, catalog } = node;
  const latest = latestReport(node);
  const cells = {
    certname,
    deactivated,
    expired,
    facts_environment: factset?.environment ?? null,
    catalog_timestamp: catalog?.received ?? null,
    facts_timestamp: factset?.received ?? null,
    report_timestamp: latest?.end_time ?? null,
    latest_report_hash: latest?.hash ?? null,
    latest_report_noop: latest?.noop ?? null,
    latest_report_noop_pending: latest?.noop_pending ?? null,
    latest_report_status: latest?.status ?? null,
    latest_report_corrective_change: corrective(latest?.corrective_change ?? null, edition),
    latest_report_job_id: latest?.job_id ?? null,
    cached_catalog_status: latest?.cached_catalog_status ?? null,
    catalog_environment: catalog?.environment ?? null,
    report_environment: latest?.environment ?? null,
    expires_facts: node.expiresFacts ?? true,
    expires_facts_updated: node.expiresFactsUpdated,
  };
  return [{ cells, node }];
};

const certnameRow: NodeRows = (node) => [{ cells: { certname: node.certname }, node }];

function factRows(node: ModelNode): ModelRow[] {
  const { certname, factset } = node;
  if (factset === null) return [];
  const { environment } = factset;
  return Object.entries(factset.values).map(([name, value]) => ({
    cells: { certname, environment, name, value },
    node,
  }));
}

/** Events of a report; those that agree in what identifies them are one. */
function eventsOf(report: Report, edition: Edition): Record<string, Cell>[] {
  const all = new Map<string, Record<string, Cell>>();
  for (const event of allEvents(report, edition)) {
    const { containment_path: _p, containing_class: _c, corrective_change: _x, ...identity } = event;
    const key = JSON.stringify(Object.entries(identity).sort());
    if (!all.has(key)) all.set(key, event);
  }
  return [...all.values()];
}

function allEvents(report: Report, edition: Edition): Record<string, Cell>[] {
  return report.resources.flatMap((resource) => {
    const shared = {
      resource_type: resource.resource_type,
      resource_title: resource.resource_title,
      file: resource.file,
      line: resource.line,
      containment_path: resource.containment_path,
      containing_class: (resource.containment_path ?? []).filter((e) => e !== '' && !e.includes('[')).at(-1) ?? null,
    };
    const nothing = { property: null, name: null, new_value: 'null', old_value: 'null', message: null };
    if (resource.skipped) {
      const change = corrective(false, edition);
      return [{ ...shared, ...nothing, status: 'skipped', timestamp: resource.timestamp, corrective_change: change }];
    }
    return resource.events.map((event) => ({
      ...shared,
      status: event.status,
      timestamp: event.timestamp,
      property: event.property,
      name: event.name,
      // Compared as texts.
      new_value: canonicalK(event.new_value),
      old_value: canonicalK(event.old_value),
      message: event.message,
      corrective_change: corrective(event.corrective_change, edition),
    }));
  });
}

/** `2026-11-19T10:10:06.25+00:00`: the second format of times. */
const eventTime = (ms: number): string => new Date(ms).toISOString().replace(/\.?0*Z$/, '+00:00');

function resourceEvents(report: Report, edition: Edition): JsonValue {
  const data = eventsOf(report, edition).map((event) => ({
    ...event,
    timestamp: eventTime(event['timestamp'] as number),
    new_value: parseJson(event['new_value'] as string),
    old_value: parseJson(event['old_value'] as string),
  }));
  return { data: orNull(data as unknown as JsonValue[]), href: href(`/reports/${report.hash}/events`) };
}

const shownTime = (ms: number): string => new Date(ms).toISOString();

/** Of the enterprise edition: all resources, changed or not, as the agent sent them. */
function reportResources({ resources, hash }: Report): JsonValue {
  const data = resources.map(({ timestamp, events, ...rest }) => ({
    ...rest,
    timestamp: shownTime(timestamp),
    // A name that is null was not sent.
    events: events.map(({ name, ...event }) => ({
      ...event,
      ...(name !== null && { name }),
      timestamp: shownTime(event.timestamp),
    })),
  }));
  return { data: data as unknown as JsonValue[], href: href(`/reports/${hash}/resources`) };
}

const reportRows: NodeRows = (node, edition) => {
  const latest = latestReport(node);
  return node.reports.map((report) => ({
    cells: {
      hash: report.hash,
      certname: report.certname,
      noop_pending: report.noop_pending,
      puppet_version: report.puppet_version,
      report_format: report.report_format,
      configuration_version: report.configuration_version,
      start_time: report.start_time,
      end_time: report.end_time,
      producer_timestamp: report.producer_timestamp,
      receive_time: report.received,
      producer: report.producer,
      corrective_change: corrective(report.corrective_change, edition),
      transaction_uuid: report.transaction_uuid,
      catalog_uuid: report.catalog_uuid,
      noop: report.noop,
      code_id: report.code_id,
      job_id: report.job_id,
      cached_catalog_status: report.cached_catalog_status,
      environment: report.environment,
      status: report.status,
      type: report.type,
      'latest_report?': report === latest,
      metrics: { data: report.metrics, href: href(`/reports/${report.hash}/metrics`) },
      logs: { data: report.logs, href: href(`/reports/${report.hash}/logs`) },
      resource_events: resourceEvents(report, edition),
      ...(edition === 'enterprise' && { resources: reportResources(report) }),
    },
    node,
  }));
};

const eventRows: NodeRows = (node, edition) => {
  const latest = latestReport(node);
  return node.reports.flatMap((report) =>
    eventsOf(report, edition).map((event) => ({
      cells: {
        ...event,
        certname: report.certname,
        report: report.hash,
        configuration_version: report.configuration_version,
        environment: report.environment,
        run_start_time: report.start_time,
        run_end_time: report.end_time,
        report_receive_time: report.received,
        'latest_report?': report === latest,
      },
      node,
    })),
  );
};

function latestRows(node: ModelNode, field: 'latest_report_hash' | 'latest_report_id'): ModelRow[] {
  const latest = latestReport(node);
  return latest === null ? [] : [{ cells: { [field]: latest.hash }, node }];
}

function resourceCells(resource: Resource): Record<string, Cell> {
  const { type, title, exported, file, line, parameters } = resource;
  // Their order shows when resources are ordered by them.
  const tags = tagOrder(resource.tags);
  const text = (value: string): string => JSON.stringify(value);
  const hash = resourceHash(text(type), text(title), canonicalK(parameters));
  return { resource: hash, type, title, tags, exported, file, line, parameters: stored(parameters) };
}

const edgeCells = ({ relationship, source, target }: Edge): Record<string, Cell> => ({
  relationship,
  source_type: source.type,
  source_title: source.title,
  target_type: target.type,
  target_title: target.title,
});

const catalogRows: NodeRows = (node) => {
  const { catalog, certname } = node;
  if (catalog === null) return [];
  const resources = catalog.resources.map(resourceCells);
  const edges = catalog.edges.map(edgeCells);
  const cells = {
    certname,
    version: catalog.version,
    hash: catalog.hash,
    transaction_uuid: catalog.transaction_uuid,
    catalog_uuid: catalog.catalog_uuid,
    code_id: catalog.code_id,
    job_id: catalog.job_id,
    environment: catalog.environment,
    producer_timestamp: catalog.producer_timestamp,
    producer: catalog.producer,
    resources: { data: orNull(resources), href: href(`/catalogs/${certname}/resources`) },
    edges: { data: orNull(edges), href: href(`/catalogs/${certname}/edges`) },
  };
  return [{ cells, node }];
};

const factsetRows: NodeRows = (node) => {
  const { factset, certname } = node;
  if (factset === null) return [];
  const cells = {
    certname,
    timestamp: factset.received,
    hash: factset.hash,
    producer_timestamp: factset.producer_timestamp,
    producer: factset.producer,
    environment: factset.environment,
    facts: {
      data: Object.entries(factset.values).map(([name, value]) => ({ name, value })),
      href: href(`/factsets/${certname}/facts`),
    },
    package_inventory: factset.package_inventory,
  };
  return [{ cells, node }];
};

const inventoryRows: NodeRows = (node) => {
  const { factset, certname } = node;
  if (factset === null) return [];
  const { environment, received, values } = factset;
  const trusted = values['trusted'] ?? null;
  return [{ cells: { certname, timestamp: received, environment, facts: values, trusted }, node }];
};

const inputRows: NodeRows = (node) => {
  const { inputs, certname } = node;
  if (inputs === null) return [];
  const { producer_timestamp, catalog_uuid } = inputs;
  return [{ cells: { certname, producer_timestamp, catalog_uuid, inputs: inputs.inputs }, node }];
};

const OF_NODE: Record<PerNode, NodeRows> = {
  nodes: nodeRow,
  facts: factRows,
  factsets: factsetRows,
  fact_contents: (node) =>
    factRows(node).flatMap(({ cells }) =>
      leavesOf([cells['name'] as string], cells['value']!).map(({ path, value }) => ({
        cells: { ...cells, path, value },
        node,
      })),
    ),
  inventory: inventoryRows,
  resources: (node) =>
    (node.catalog?.resources ?? []).map((resource) => ({
      cells: { certname: node.certname, environment: node.catalog!.environment, ...resourceCells(resource) },
      node,
    })),
  edges: (node) =>
    (node.catalog?.edges ?? []).map((edge) => ({ cells: { certname: node.certname, ...edgeCells(edge) }, node })),
  catalogs: catalogRows,
  catalog_inputs: inputRows,
  catalog_input_contents: (node) =>
    inputRows(node, 'community').flatMap(({ cells: { inputs, ...cells } }) =>
      (inputs as [string, string][]).map(([type, name]) => ({ cells: { ...cells, name, type }, node })),
    ),
  package_inventory: (node) =>
    (node.factset?.package_inventory ?? []).map(([package_name, version, provider]) => ({
      cells: { certname: node.certname, package_name, version, provider },
      node,
    })),
  reports: reportRows,
  events: eventRows,
  latest_report: (node) => latestRows(node, 'latest_report_hash'),
  latest_report_id: (node) => latestRows(node, 'latest_report_id'),
  inactive_nodes: certnameRow,
  not_active_nodes: (node) =>
    node.deactivated !== null || node.expired !== null ? certnameRow(node, 'community') : [],
};
