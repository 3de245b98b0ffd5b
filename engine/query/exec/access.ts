// How each field of each entity is read from a row: its value for filters and ordering, and its JSON text for answers. One
// row a field; `level` says what the field depends on, so that filters run once a node or once an item where they can.

import type { EntityName } from '../../../schemas/entities.ts';
import { parseJson } from '../../json/parse.ts';
import { storedText } from '../../json/stored.ts';
import type { JsonValue } from '../../json/value.ts';
import { tagsJson, tagsOf } from '../../store/own-tag.ts';
import type {
  EdgeBody,
  EdgeTarget,
  EventRecord,
  FactBody,
  NodeRecord,
  PackageBody,
  ReportRecord,
  ResourceBody,
} from '../../store/records.ts';
import { formatEventTime, formatTime } from '../../time.ts';
import { encodePath } from '../paths.ts';
import type { Row } from './row.ts';

/** node: certname and what is stored per node. item: the shared body, or the report. sub: one of its sub-rows.
 *  row: node and item together. */
export type Level = 'node' | 'item' | 'sub' | 'row';
export type Value = JsonValue | readonly string[];

export interface Access {
  readonly level: Level;
  /** Text, number (epoch ms for times), Boolean, null; parsed JSON for values and documents; lists for arrays. */
  value(row: Row): Value;
  json(row: Row): string;
}

type Shape = 'node' | 'item' | 'report' | 'global';
export interface EntityAccess {
  readonly shape: Shape;
  readonly fields: Readonly<Record<string, Access>>;
}

const quote = (text: string | null): string => (text === null ? 'null' : JSON.stringify(text));
const quoteTime = (ms: number | null): string => (ms === null ? 'null' : `"${formatTime(ms)}"`);

const text = (level: Level, get: (row: Row) => string | null): Access => ({
  level,
  value: get,
  json: (row) => quote(get(row)),
});
const scalar = (level: Level, get: (row: Row) => number | boolean | null): Access => ({
  level,
  value: get,
  json: (row) => String(get(row)),
});
const time = (level: Level, get: (row: Row) => number | null): Access => ({
  level,
  value: get,
  json: (row) => quoteTime(get(row)),
});
const list = (level: Level, get: (row: Row) => readonly string[] | null): Access => ({
  level,
  value: get,
  json: (row) => JSON.stringify(get(row)),
});
/** Stored JSON text. */
const stored = (level: Level, get: (row: Row) => string): Access => ({
  level,
  value: (row) => parseJson(get(row)),
  json: get,
});

const ofNode =
  <T>(get: (node: NodeRecord) => T) =>
  (row: Row) =>
    get(row.node);
const ofBody =
  <B, T>(get: (body: B) => T) =>
  (row: Row) =>
    get(row.body as B);
const ofSub =
  <S, T>(get: (sub: S) => T) =>
  (row: Row) =>
    get(row.sub as S);

// ------------------------------------------------------------------ parsed values, kept with the shared body

interface ParsedFact extends FactBody {
  parsed?: JsonValue;
}
interface ParsedResource extends ResourceBody {
  parsedParameters?: JsonValue;
}

export function factValue(body: FactBody): JsonValue {
  const fact = body as ParsedFact;
  if (fact.parsed === undefined) fact.parsed = parseJson(fact.value);
  return fact.parsed;
}

export function parametersOf(body: ResourceBody): JsonValue {
  const resource = body as ParsedResource;
  if (resource.parsedParameters === undefined) resource.parsedParameters = parseJson(resource.parameters);
  return resource.parsedParameters;
}

// ------------------------------------------------------------------ documents that are assembled from items

export interface Leaf {
  readonly path: readonly (string | number)[];
  readonly value: JsonValue;
}
export interface InputPair {
  readonly type: string;
  readonly name: string;
}
export interface ResourceParam {
  readonly resource: string;
  readonly name: string;
  /** Canonical JSON text of the value. */
  readonly value: string;
}
export interface GlobalRecord {
  readonly [field: string]: Value;
}

/** `"name":value` of each fact of the row's node. */
function eachFact(row: Row, visit: (body: FactBody) => void): void {
  const pairs = row.view.facts.list(row.nodeId);
  for (let i = 1; i < pairs.length; i += 2) visit(row.view.facts.body(pairs[i]!));
}

function factsDocument(row: Row): string {
  const parts: string[] = [];
  eachFact(row, (fact) => parts.push(`${JSON.stringify(fact.name)}:${fact.value}`));
  return `{${parts.join(',')}}`;
}

function factsData(row: Row): string {
  const parts: string[] = [];
  eachFact(row, (fact) => parts.push(`{"name":${JSON.stringify(fact.name)},"value":${fact.value}}`));
  const data = parts.length === 0 ? 'null' : `[${parts.join(',')}]`;
  return `{"data":${data},"href":${href(`/factsets/${row.node.certname}/facts`)}}`;
}

/** The fact of that name of the row's node, undefined when it has none. */
export function factOf(row: Row, name: string): FactBody | undefined {
  const nameId = row.view.nameId(name);
  if (nameId === 0) return undefined;
  const pairs = row.view.facts.list(row.nodeId);
  for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === nameId) return row.view.facts.body(pairs[i + 1]!);
  return undefined;
}

const trustedText = (row: Row): string => factOf(row, 'trusted')?.value ?? 'null';

const href = (path: string): string => JSON.stringify(`/pdb/query/v4${path}`);

function packageList(row: Row): string {
  const parts: string[] = [];
  for (const item of row.view.packages.list(row.nodeId)) {
    const { name, version, provider } = row.view.packages.body(item);
    parts.push(JSON.stringify([name, version, provider]));
  }
  return `[${parts.join(',')}]`;
}

function catalogResources(row: Row): string {
  const parts: string[] = [];
  for (const item of row.view.resources.list(row.nodeId)) {
    const r = row.view.resources.body(item);
    parts.push(
      `{"resource":"${r.hash}","type":${JSON.stringify(r.type)},"title":${JSON.stringify(r.title)},"tags":${tagsJson(r, row.node.certname)},"exported":${r.exported},"file":${quote(r.file)},"line":${r.line},"parameters":${r.parameters}}`,
    );
  }
  const data = parts.length === 0 ? 'null' : `[${parts.join(',')}]`;
  return `{"data":${data},"href":${href(`/catalogs/${row.node.certname}/resources`)}}`;
}

function catalogEdges(row: Row): string {
  const parts: string[] = [];
  for (const item of row.view.edges.list(row.nodeId)) {
    const { sourceType, sourceTitle, targets } = row.view.edges.body(item);
    const source = `{"source_type":${JSON.stringify(sourceType)},"source_title":${JSON.stringify(sourceTitle)}`;
    for (const t of targets) {
      parts.push(
        `${source},"target_type":${JSON.stringify(t.targetType)},"target_title":${JSON.stringify(t.targetTitle)},"relationship":${JSON.stringify(t.relationship)}}`,
      );
    }
  }
  const data = parts.length === 0 ? 'null' : `[${parts.join(',')}]`;
  return `{"data":${data},"href":${href(`/catalogs/${row.node.certname}/edges`)}}`;
}

const part = (name: 'logs' | 'metrics') => (row: Row) =>
  `{"data":${row.view.reportPart(row.reportId, name) ?? 'null'},"href":${href(`/reports/${row.report.hash}/${name}`)}}`;

function reportEvents(row: Row, corrective: boolean): string {
  const parts: string[] = [];
  for (const e of row.view.events(row.reportId)) {
    parts.push(
      `{"status":${quote(e.status)},"timestamp":"${formatEventTime(e.timestamp)}","resource_type":${quote(e.resourceType)},"resource_title":${quote(e.resourceTitle)},"property":${quote(e.property)},"corrective_change":${corrective ? e.correctiveChange : null},"new_value":${e.newValue},"old_value":${e.oldValue},"message":${quote(e.message)},"file":${quote(e.file)},"line":${e.line},"containment_path":${JSON.stringify(e.containmentPath)},"containing_class":${quote(e.containingClass)},"name":${quote(e.name)}}`,
    );
  }
  const data = parts.length === 0 ? 'null' : `[${parts.join(',')}]`;
  return `{"data":${data},"href":${href(`/reports/${row.report.hash}/events`)}}`;
}

/** Whether the report is its node's latest agent report. */
const isLatest = (row: Row): boolean =>
  row.nodeRecord((row.body as ReportRecord).nodeId).latestReport?.reportId === row.reportId;

// ------------------------------------------------------------------ the tables

const certname = text(
  'node',
  ofNode((n) => n.certname),
);
const factsEnvironment = text(
  'node',
  ofNode((n) => n.factset?.environment ?? null),
);

const nodes: Record<string, Access> = {
  certname,
  deactivated: time(
    'node',
    ofNode((n) => n.deactivated),
  ),
  expired: time(
    'node',
    ofNode((n) => n.expired),
  ),
  facts_environment: factsEnvironment,
  catalog_timestamp: time(
    'node',
    ofNode((n) => n.catalog?.timestamp ?? null),
  ),
  facts_timestamp: time(
    'node',
    ofNode((n) => n.factset?.timestamp ?? null),
  ),
  report_timestamp: time(
    'node',
    ofNode((n) => n.latestReport?.endTime ?? null),
  ),
  latest_report_hash: text(
    'node',
    ofNode((n) => n.latestReport?.hash ?? null),
  ),
  latest_report_noop: scalar(
    'node',
    ofNode((n) => n.latestReport?.noop ?? null),
  ),
  latest_report_noop_pending: scalar(
    'node',
    ofNode((n) => n.latestReport?.noopPending ?? null),
  ),
  latest_report_status: text(
    'node',
    ofNode((n) => n.latestReport?.status ?? null),
  ),
  latest_report_job_id: text(
    'node',
    ofNode((n) => n.latestReport?.jobId ?? null),
  ),
  cached_catalog_status: text(
    'node',
    ofNode((n) => n.latestReport?.cachedCatalogStatus ?? null),
  ),
  catalog_environment: text(
    'node',
    ofNode((n) => n.catalog?.environment ?? null),
  ),
  report_environment: text(
    'node',
    ofNode((n) => n.latestReport?.environment ?? null),
  ),
  expires_facts: scalar(
    'node',
    ofNode((n) => n.expiresFacts ?? true),
  ),
  expires_facts_updated: time(
    'node',
    ofNode((n) => n.expiresFactsUpdated),
  ),
};

const facts: Record<string, Access> = {
  certname,
  environment: factsEnvironment,
  name: text(
    'item',
    ofBody((b: FactBody) => b.name),
  ),
  value: { level: 'item', value: ofBody(factValue), json: ofBody((b: FactBody) => b.value) },
};

const factContents: Record<string, Access> = {
  certname,
  environment: factsEnvironment,
  name: facts['name']!,
  path: {
    level: 'sub',
    value: ofSub((leaf: Leaf) => leaf.path as JsonValue),
    json: ofSub((leaf: Leaf) => JSON.stringify(leaf.path)),
  },
  value: {
    level: 'sub',
    value: ofSub((leaf: Leaf) => leaf.value),
    json: ofSub((leaf: Leaf) => storedJson(leaf.value)),
  },
};

const factsets: Record<string, Access> = {
  certname,
  timestamp: time(
    'node',
    ofNode((n) => n.factset?.timestamp ?? null),
  ),
  hash: text(
    'node',
    ofNode((n) => n.factset?.hash ?? null),
  ),
  producer_timestamp: time(
    'node',
    ofNode((n) => n.factset?.producerTimestamp ?? null),
  ),
  producer: text(
    'node',
    ofNode((n) => n.factset?.producer ?? null),
  ),
  environment: factsEnvironment,
  facts: stored('node', factsData),
  package_inventory: stored('node', packageList),
};

const inventory: Record<string, Access> = {
  certname,
  timestamp: factsets['timestamp']!,
  environment: factsEnvironment,
  facts: stored('node', factsDocument),
  trusted: stored('node', trustedText),
};

/** Depends on the node where its certname is among the tags. */
const resourceTags: Access = {
  level: 'row',
  value: (row) => tagsOf(row.body as ResourceBody, row.node.certname),
  json: (row) => tagsJson(row.body as ResourceBody, row.node.certname),
};
const resources: Record<string, Access> = {
  certname,
  environment: text(
    'node',
    ofNode((n) => n.catalog?.environment ?? null),
  ),
  resource: text(
    'item',
    ofBody((b: ResourceBody) => b.hash),
  ),
  type: text(
    'item',
    ofBody((b: ResourceBody) => b.type),
  ),
  title: text(
    'item',
    ofBody((b: ResourceBody) => b.title),
  ),
  tags: resourceTags,
  tag: resourceTags,
  exported: scalar(
    'item',
    ofBody((b: ResourceBody) => b.exported),
  ),
  file: text(
    'item',
    ofBody((b: ResourceBody) => b.file),
  ),
  line: scalar(
    'item',
    ofBody((b: ResourceBody) => b.line),
  ),
  parameters: { level: 'item', value: ofBody(parametersOf), json: ofBody((b: ResourceBody) => b.parameters) },
};

const edges: Record<string, Access> = {
  certname,
  relationship: text(
    'sub',
    ofSub((t: EdgeTarget) => t.relationship),
  ),
  source_title: text(
    'item',
    ofBody((b: EdgeBody) => b.sourceTitle),
  ),
  source_type: text(
    'item',
    ofBody((b: EdgeBody) => b.sourceType),
  ),
  target_title: text(
    'sub',
    ofSub((t: EdgeTarget) => t.targetTitle),
  ),
  target_type: text(
    'sub',
    ofSub((t: EdgeTarget) => t.targetType),
  ),
};

const catalogs: Record<string, Access> = {
  certname,
  version: text(
    'node',
    ofNode((n) => n.catalog?.version ?? null),
  ),
  hash: text(
    'node',
    ofNode((n) => n.catalog?.hash ?? null),
  ),
  transaction_uuid: text(
    'node',
    ofNode((n) => n.catalog?.transactionUuid ?? null),
  ),
  catalog_uuid: text(
    'node',
    ofNode((n) => n.catalog?.catalogUuid ?? null),
  ),
  code_id: text(
    'node',
    ofNode((n) => n.catalog?.codeId ?? null),
  ),
  job_id: text(
    'node',
    ofNode((n) => n.catalog?.jobId ?? null),
  ),
  environment: text(
    'node',
    ofNode((n) => n.catalog?.environment ?? null),
  ),
  producer_timestamp: time(
    'node',
    ofNode((n) => n.catalog?.producerTimestamp ?? null),
  ),
  producer: text(
    'node',
    ofNode((n) => n.catalog?.producer ?? null),
  ),
  resources: stored('node', catalogResources),
  edges: stored('node', catalogEdges),
};

const inputTime = time(
  'node',
  ofNode((n) => n.inputs?.producerTimestamp ?? null),
);
const inputUuid = text(
  'node',
  ofNode((n) => n.inputs?.catalogUuid ?? null),
);
const catalogInputs: Record<string, Access> = {
  certname,
  producer_timestamp: inputTime,
  catalog_uuid: inputUuid,
  inputs: {
    level: 'node',
    value: (row) => (JSON.parse(row.view.inputs(row.nodeId) ?? '[]') as string[][]).flat(),
    json: (row) => row.view.inputs(row.nodeId) ?? '[]',
  },
};
const catalogInputContents: Record<string, Access> = {
  certname,
  producer_timestamp: inputTime,
  catalog_uuid: inputUuid,
  name: text(
    'sub',
    ofSub((i: InputPair) => i.name),
  ),
  type: text(
    'sub',
    ofSub((i: InputPair) => i.type),
  ),
};

const ofReport =
  <T>(get: (report: ReportRecord) => T) =>
  (row: Row) =>
    get(row.body as ReportRecord);

const reports = (corrective: boolean): Record<string, Access> => ({
  certname,
  hash: text(
    'item',
    ofReport((r) => r.hash),
  ),
  noop_pending: scalar(
    'item',
    ofReport((r) => r.noopPending),
  ),
  puppet_version: text(
    'item',
    ofReport((r) => r.puppetVersion),
  ),
  report_format: scalar(
    'item',
    ofReport((r) => r.reportFormat),
  ),
  configuration_version: text(
    'item',
    ofReport((r) => r.configurationVersion),
  ),
  start_time: time(
    'item',
    ofReport((r) => r.startTime),
  ),
  end_time: time(
    'item',
    ofReport((r) => r.endTime),
  ),
  producer_timestamp: time(
    'item',
    ofReport((r) => r.producerTimestamp),
  ),
  receive_time: time(
    'item',
    ofReport((r) => r.receiveTime),
  ),
  producer: text(
    'item',
    ofReport((r) => r.producer),
  ),
  corrective_change: scalar('item', corrective ? ofReport((r) => r.correctiveChange) : () => null),
  transaction_uuid: text(
    'item',
    ofReport((r) => r.transactionUuid),
  ),
  catalog_uuid: text(
    'item',
    ofReport((r) => r.catalogUuid),
  ),
  noop: scalar(
    'item',
    ofReport((r) => r.noop),
  ),
  code_id: text(
    'item',
    ofReport((r) => r.codeId),
  ),
  job_id: text(
    'item',
    ofReport((r) => r.jobId),
  ),
  cached_catalog_status: text(
    'item',
    ofReport((r) => r.cachedCatalogStatus),
  ),
  environment: text(
    'item',
    ofReport((r) => r.environment),
  ),
  status: text(
    'item',
    ofReport((r) => r.status),
  ),
  type: text(
    'item',
    ofReport((r) => r.type),
  ),
  'latest_report?': scalar('item', isLatest),
  latest_report_hash: text(
    'item',
    ofReport((r) => r.hash),
  ),
  latest_report_id: scalar('item', (row) => row.reportId),
  metrics: stored('item', part('metrics')),
  logs: stored('item', part('logs')),
  resource_events: stored('item', (row) => reportEvents(row, corrective)),
});

const ofEvent =
  <T>(get: (event: EventRecord) => T) =>
  (row: Row) =>
    get(row.sub as EventRecord);
/** Compared as JSON text, shown as JSON. */
const eventValue = (get: (event: EventRecord) => string): Access => ({
  level: 'sub',
  value: ofEvent(get),
  json: ofEvent(get),
});
const events = (corrective: boolean): Record<string, Access> => ({
  certname,
  report: text(
    'item',
    ofReport((r) => r.hash),
  ),
  configuration_version: text(
    'item',
    ofReport((r) => r.configurationVersion),
  ),
  environment: text(
    'item',
    ofReport((r) => r.environment),
  ),
  run_start_time: time(
    'item',
    ofReport((r) => r.startTime),
  ),
  run_end_time: time(
    'item',
    ofReport((r) => r.endTime),
  ),
  report_receive_time: time(
    'item',
    ofReport((r) => r.receiveTime),
  ),
  'latest_report?': scalar('item', isLatest),
  status: text(
    'sub',
    ofEvent((e) => e.status),
  ),
  timestamp: time(
    'sub',
    ofEvent((e) => e.timestamp),
  ),
  resource_type: text(
    'sub',
    ofEvent((e) => e.resourceType),
  ),
  resource_title: text(
    'sub',
    ofEvent((e) => e.resourceTitle),
  ),
  property: text(
    'sub',
    ofEvent((e) => e.property),
  ),
  name: text(
    'sub',
    ofEvent((e) => e.name),
  ),
  new_value: eventValue((e) => e.newValue),
  old_value: eventValue((e) => e.oldValue),
  message: text(
    'sub',
    ofEvent((e) => e.message),
  ),
  file: text(
    'sub',
    ofEvent((e) => e.file),
  ),
  line: scalar(
    'sub',
    ofEvent((e) => e.line),
  ),
  containment_path: list(
    'sub',
    ofEvent((e) => e.containmentPath),
  ),
  containing_class: text(
    'sub',
    ofEvent((e) => e.containingClass),
  ),
  corrective_change: scalar('sub', corrective ? ofEvent((e) => e.correctiveChange) : () => null),
});

const packageFields: Record<string, Access> = {
  package_name: text(
    'item',
    ofBody((b: PackageBody) => b.name),
  ),
  version: text(
    'item',
    ofBody((b: PackageBody) => b.version),
  ),
  provider: text(
    'item',
    ofBody((b: PackageBody) => b.provider),
  ),
};

/** Fields of records that are made once per query (names, paths): the record has the value itself. */
const globals = (names: readonly string[]): Record<string, Access> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      {
        level: 'item' as const,
        value: (row: Row) => (row.body as GlobalRecord)[name] ?? null,
        json: (row: Row) => storedJson(((row.body as GlobalRecord)[name] ?? null) as JsonValue),
      },
    ]),
  );

const pathOf = (row: Row): (string | number)[] => (row.body as GlobalRecord)['path'] as (string | number)[];
const factPaths: Record<string, Access> = {
  ...globals(['type', 'name', 'depth']),
  path: {
    level: 'item',
    value: (row) => encodePath(pathOf(row)),
    // PuppetDB decodes its stored text, which leaves the empty key as a pair of quotes.
    json: (row) => JSON.stringify(pathOf(row).map((element) => (element === '' ? '""' : element))),
  },
};

const nodeAccess = (fields: Record<string, Access>): EntityAccess => ({ shape: 'node', fields });
const itemAccess = (fields: Record<string, Access>): EntityAccess => ({ shape: 'item', fields });

const tables = (corrective: boolean): Readonly<Record<EntityName, EntityAccess>> => ({
  nodes: nodeAccess({
    ...nodes,
    latest_report_corrective_change: scalar(
      'node',
      corrective ? ofNode((n) => n.latestReport?.correctiveChange ?? null) : () => null,
    ),
  }),
  facts: itemAccess(facts),
  factsets: nodeAccess(factsets),
  fact_contents: itemAccess(factContents),
  inventory: nodeAccess(inventory),
  resources: itemAccess(resources),
  edges: itemAccess(edges),
  catalogs: nodeAccess(catalogs),
  catalog_inputs: nodeAccess(catalogInputs),
  catalog_input_contents: nodeAccess(catalogInputContents),
  package_inventory: itemAccess({ certname, ...packageFields }),
  reports: { shape: 'report', fields: reports(corrective) },
  events: { shape: 'report', fields: events(corrective) },
  latest_report: { shape: 'report', fields: reports(corrective) },
  latest_report_id: { shape: 'report', fields: reports(corrective) },
  inactive_nodes: nodeAccess({ certname }),
  not_active_nodes: nodeAccess({ certname }),
  environments: { shape: 'global', fields: globals(['name']) },
  producers: { shape: 'global', fields: globals(['name']) },
  packages: { shape: 'global', fields: globals(['package_name', 'version', 'provider']) },
  fact_names: { shape: 'global', fields: globals(['name']) },
  fact_paths: { shape: 'global', fields: factPaths },
  resource_params: {
    shape: 'global',
    fields: globals(['res_param_resource', 'res_param_name', 'res_param_value']),
  },
});

const COMMUNITY = tables(false);
const ENTERPRISE = tables(true);

export const accessOf = (entity: EntityName, edition: 'community' | 'enterprise'): EntityAccess =>
  (edition === 'enterprise' ? ENTERPRISE : COMMUNITY)[entity];

/** JSON text of a parsed value, in stored spelling. */
function storedJson(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value === 'boolean') return String(value);
  return storedText(value);
}
