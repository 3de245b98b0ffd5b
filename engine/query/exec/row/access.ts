// How each field of each entity is read from a row: its value for filters and ordering, and its JSON text for answers. One
// row a field; `level` says what the field depends on, so that filters run once a node or once an item where they can.

import type { EntityName } from '../../../../schemas/entities.ts';
import { ByteWriter, bytesOf } from '../../../bytes.ts';
import type { Compared } from '../../../json/compare-stored.ts';
import { parseJson } from '../../../json/parse.ts';
import { storedText } from '../../../json/stored.ts';
import type { JsonValue } from '../../../json/value.ts';
import {
  EDGE,
  EDGE_SHAPE,
  FACT,
  FACT_SHAPE,
  PACKAGE,
  PACKAGE_SHAPE,
  RESOURCE,
  RESOURCE_SHAPE,
  type StoredFact,
  type StoredResource,
  type StoredTarget,
  TARGET,
} from '../../../store/records/bodies.ts';
import { EVENT_CODE, EVENT_VALUE, EVENT_VALUE_SHAPE, type StoredEvents } from '../../../store/records/event-record.ts';
import {
  type Fields,
  type FieldsShape,
  quoted,
  quotedTime,
  type TextRecord,
  type WantedText,
} from '../../../store/records/fields.ts';
import { NODE_NUMBER, NODE_SHAPE, NODE_TEXT } from '../../../store/records/node-record.ts';
import { withOwnTag } from '../../../store/records/own-tag.ts';
import { REPORT_NUMBER, REPORT_SHAPE, REPORT_TEXT } from '../../../store/records/report-record.ts';
import { decodePath } from '../../paths.ts';
import { writeBoolean, writeTags } from './documents.ts';
import { FactFinder } from './fact-member.ts';
import type { Leaf } from './leaf.ts';
import type { Row } from './row.ts';

/** node: certname and what is stored per node. item: the shared body, or the report. sub: one of its sub-rows.
 *  row: node and item together. */
export type Level = 'node' | 'item' | 'sub' | 'row';
export type Value = JsonValue | readonly string[];

export interface Access {
  readonly level: Level;
  /** Text, number (epoch ms for times), Boolean, null; parsed JSON for values and documents; lists for arrays. */
  value(row: Row): Value;
  /** Appends the JSON text. */
  write(row: Row, out: ByteWriter): void;
  /** Where the JSON text lies, for fields that are kept as such. */
  readonly stored?: StoredPlace;
  /** Of such fields: true where equal values are equal texts (of JSON documents 1 and 1.0 are equal, and two texts). */
  readonly isPlain?: boolean;
  /** It is null in every row. */
  readonly isNothing?: true;
  /** Of fields whose value is a text: whether it is that one, without making it; null: there is none. */
  equals?(row: Row, wanted: WantedText): boolean | null;
  /** How the value compares with that one, without making it; not a number where what is stored does not tell. */
  compare?(row: Row, wanted: Compared): number;
  /** Of events: the coded column that the field is. */
  readonly column?: number;
  /** Of events: what none of the row's report is below, or above; known before they are looked at. */
  readonly bound?: { readonly least: (row: Row) => Value; readonly greatest: (row: Row) => Value };
  /** Of reports: what of the field is kept of all of them side by side (report-glance.ts), its value or also its text. Absent: nothing. */
  readonly kept?: 'value' | 'whole';
  /** Of texts that are made of a time: how, where all times of an hour have the same text. */
  readonly hourly?: Hourly;
}

export interface Hourly {
  readonly mask: string;
  /** The field that is the time, and how it is read: epoch ms. */
  readonly field: string;
  time(row: Row): Value;
  text(ms: number): string | null;
}

export interface StoredPlace {
  readonly shape: FieldsShape;
  of(row: Row): TextRecord;
  readonly place: number;
}

export interface EntityAccess {
  readonly fields: Readonly<Record<string, Access>>;
  /** Cheaper ways to show a field than to look at what it depends on for filters. */
  readonly shown?: Readonly<Record<string, Access>>;
}

// ------------------------------------------------------------------ kinds of fields

interface Of {
  readonly shape: FieldsShape;
  of(row: Row): TextRecord;
}
const ofBody = (shape: FieldsShape): Of => ({ shape, of: (row) => (row.body as Fields).record });
const ofNode: Of = { shape: NODE_SHAPE, of: (row) => row.node.record };
const ofResource = ofBody(RESOURCE_SHAPE);
const ofFact = ofBody(FACT_SHAPE);
const ofEdge = ofBody(EDGE_SHAPE);
const ofPackage = ofBody(PACKAGE_SHAPE);
const ofReport = ofBody(REPORT_SHAPE);
const ofValues: Of = { shape: EVENT_VALUE_SHAPE, of: (row) => (row.sub as StoredEvents).values };

const NULL = bytesOf('null');

const writeTime = (ms: number | null, out: ByteWriter): void => out.text(quotedTime(ms));

/** A stored text field: a JSON string or null. */
const text = (level: Level, { shape, of }: Of, place: number): Access => ({
  level,
  value: (row) => of(row).string(place),
  write: (row, out) => of(row).write(place, out),
  stored: { shape, of, place },
  isPlain: true,
  equals: (row, wanted) => of(row).equals(place, wanted),
  compare: (row, wanted) => of(row).compare(place, wanted),
});
/** A stored field that is true, false or null. */
const boolean = (level: Level, { shape, of }: Of, place: number): Access => ({
  level,
  value: (row) => of(row).boolean(place),
  write: (row, out) => of(row).write(place, out),
  stored: { shape, of, place },
  isPlain: true,
});
/** A stored field of any JSON. */
const json = (level: Level, { shape, of }: Of, place: number): Access => ({
  level,
  value: (row) => parseJson(of(row).text(place)),
  compare: (row, wanted) => of(row).compare(place, wanted),
  write: (row, out) => of(row).write(place, out),
  stored: { shape, of, place },
});
/** A stored time, epoch ms. */
const time = (level: Level, { of }: Of, place: number): Access => ({
  level,
  value: (row) => of(row).number(place),
  write: (row, out) => writeTime(of(row).number(place), out),
});
/** A stored number, or time, that is there as a text too. */
const shownNumber = (level: Level, { shape, of }: Of, number: number, place: number): Access => ({
  level,
  value: (row) => of(row).number(number),
  write: (row, out) => of(row).write(place, out),
  stored: { shape, of, place },
});

/** A field that is null in this edition. */
const nothing = (level: Level): Access => ({
  level,
  value: () => null,
  write: (_, out) => out.put(NULL),
  isNothing: true,
});

/** A text that is made. */
const madeText = (level: Level, get: (row: Row) => string | null): Access => ({
  level,
  value: get,
  write: (row, out) => out.text(quoted(get(row))),
});
const madeScalar = (level: Level, get: (row: Row) => number | boolean | null): Access => ({
  level,
  value: get,
  write: (row, out) => out.text(String(get(row))),
});
/** A document that is put together for its row. */
const document = (level: Level, write: (row: Row, out: ByteWriter) => void): Access => ({
  level,
  value: (row) => parseJson(textOf({ write }, row)),
  write,
});

/** Whether a glance at a report has what is read: the value of the field, or, where `asText`, its JSON text too. */
export const isKept = ({ level, kept: how }: Access, asText: boolean): boolean =>
  level === 'node' || how === 'whole' || (how === 'value' && !asText);

let scratch: ByteWriter | null = new ByteWriter(1024);
const SCRATCH_MAX = 1 << 20;

/** JSON text of a field. */
export function textOf(access: Pick<Access, 'write'>, row: Row): string {
  const out = scratch ?? new ByteWriter(1024);
  scratch = null; // a field may ask for another one's text
  out.length = 0;
  access.write(row, out);
  const made = out.toString();
  // The memory of a large document does not stay.
  scratch = out.bytes.length > SCRATCH_MAX ? null : out;
  return made;
}

// ------------------------------------------------------------------ sub-rows that are no stored records

interface InputPair {
  readonly type: string;
  readonly name: string;
}
export interface GlobalRecord {
  readonly [field: string]: Value;
}

const ofSub =
  <S>(get: (sub: S) => string | null) =>
  (row: Row) =>
    get(row.sub as S);

// ------------------------------------------------------------------ the tables

const certname: Access = {
  ...text('node', ofNode, NODE_TEXT.certname),
  value: (row) => row.certname,
  equals: (row, { text: wanted }) => row.certname === wanted,
};
const factsEnvironment = text('node', ofNode, NODE_TEXT.factsEnvironment);
const catalogEnvironment = text('node', ofNode, NODE_TEXT.catalogEnvironment);
const factsTimestamp = shownNumber('node', ofNode, NODE_NUMBER.factsTimestamp, NODE_TEXT.factsTimestamp);

const nodes: Record<string, Access> = {
  certname,
  deactivated: shownNumber('node', ofNode, NODE_NUMBER.deactivated, NODE_TEXT.deactivated),
  expired: shownNumber('node', ofNode, NODE_NUMBER.expired, NODE_TEXT.expired),
  facts_environment: factsEnvironment,
  catalog_timestamp: shownNumber('node', ofNode, NODE_NUMBER.catalogTimestamp, NODE_TEXT.catalogTimestamp),
  facts_timestamp: factsTimestamp,
  report_timestamp: shownNumber('node', ofNode, NODE_NUMBER.reportEndTime, NODE_TEXT.reportTimestamp),
  latest_report_hash: text('node', ofNode, NODE_TEXT.reportHash),
  latest_report_noop: boolean('node', ofNode, NODE_TEXT.reportNoop),
  latest_report_noop_pending: boolean('node', ofNode, NODE_TEXT.reportNoopPending),
  latest_report_status: text('node', ofNode, NODE_TEXT.reportStatus),
  latest_report_job_id: text('node', ofNode, NODE_TEXT.reportJobId),
  cached_catalog_status: text('node', ofNode, NODE_TEXT.reportCachedCatalogStatus),
  catalog_environment: catalogEnvironment,
  report_environment: text('node', ofNode, NODE_TEXT.reportEnvironment),
  expires_facts: {
    level: 'node',
    value: (row) => row.node.boolean(NODE_TEXT.expiresFacts) ?? true,
    write: (row, out) => writeBoolean(row.node.boolean(NODE_TEXT.expiresFacts) ?? true, out),
  },
  expires_facts_updated: time('node', ofNode, NODE_NUMBER.expiresFactsUpdated),
};

const facts: Record<string, Access> = {
  certname,
  environment: factsEnvironment,
  name: text('item', ofFact, FACT.name),
  value: { ...json('item', ofFact, FACT.value), value: (row) => (row.body as StoredFact).value },
};

const factContents: Record<string, Access> = {
  certname,
  environment: factsEnvironment,
  name: facts['name']!,
  path: {
    level: 'sub',
    value: (row) => (row.sub as Leaf).path.elements as JsonValue,
    write: (row, out) => out.put((row.sub as Leaf).path.text),
  },
  value: {
    level: 'sub',
    value: (row) => (row.sub as Leaf).value,
    compare: (row, wanted) => (row.sub as Leaf).compare(wanted),
    write: (row, out) => (row.sub as Leaf).write(out),
  },
};

const packages = document('node', (row, out) => row.documents.packages(row, out));
/** Without packages the column is null, though an empty list is shown. */
const packageInventory: Access = {
  ...packages,
  value: (row) => (row.documents.hasPackages(row) ? packages.value(row) : null),
};

const factsets: Record<string, Access> = {
  certname,
  timestamp: factsTimestamp,
  hash: text('node', ofNode, NODE_TEXT.factsHash),
  producer_timestamp: time('node', ofNode, NODE_NUMBER.factsProducerTimestamp),
  producer: text('node', ofNode, NODE_TEXT.factsProducer),
  environment: factsEnvironment,
  facts: document('node', (row, out) => row.documents.factset(row, out)),
  package_inventory: packageInventory,
};

const trusted = new FactFinder('trusted');

const inventory: Record<string, Access> = {
  certname,
  timestamp: factsTimestamp,
  environment: factsEnvironment,
  facts: document('node', (row, out) => row.documents.facts(row, out)),
  trusted: document('node', (row, out) => {
    const item = trusted.item(row);
    if (item === 0) out.put(NULL);
    else row.factReader.read(item).write(FACT.value, out);
  }),
};

/** Depends on the node where its certname is among the tags. */
const resourceTags: Access = {
  level: 'row',
  value(row) {
    const resource = row.body as StoredResource;
    return resource.ownTag ? withOwnTag(resource, row.certname) : resource.tags;
  },
  write: (row, out) => writeTags(row.body as StoredResource, row, out),
};
const resources: Record<string, Access> = {
  certname,
  environment: catalogEnvironment,
  resource: text('item', ofResource, RESOURCE.hash),
  type: text('item', ofResource, RESOURCE.type),
  title: text('item', ofResource, RESOURCE.title),
  tags: resourceTags,
  tag: resourceTags,
  exported: boolean('item', ofResource, RESOURCE.exported),
  file: text('item', ofResource, RESOURCE.file),
  line: json('item', ofResource, RESOURCE.line),
  parameters: {
    ...json('item', ofResource, RESOURCE.parameters),
    value: (row) => (row.body as StoredResource).parameters,
  },
};

const ofTarget = (place: number): Access => ({
  level: 'sub',
  value: (row) => (row.sub as StoredTarget).string(place),
  equals: (row, wanted) => (row.sub as StoredTarget).equals(place, wanted),
  compare: (row, wanted) => (row.sub as StoredTarget).compare(place, wanted),
  write: (row, out) => (row.sub as StoredTarget).write(place, out),
});
const edges: Record<string, Access> = {
  certname,
  relationship: ofTarget(TARGET.relationship),
  source_title: text('item', ofEdge, EDGE.sourceTitle),
  source_type: text('item', ofEdge, EDGE.sourceType),
  target_title: ofTarget(TARGET.title),
  target_type: ofTarget(TARGET.type),
};

const catalogs: Record<string, Access> = {
  certname,
  version: text('node', ofNode, NODE_TEXT.catalogVersion),
  hash: text('node', ofNode, NODE_TEXT.catalogHash),
  transaction_uuid: text('node', ofNode, NODE_TEXT.catalogTransactionUuid),
  catalog_uuid: text('node', ofNode, NODE_TEXT.catalogUuid),
  code_id: text('node', ofNode, NODE_TEXT.catalogCodeId),
  job_id: text('node', ofNode, NODE_TEXT.catalogJobId),
  environment: catalogEnvironment,
  producer_timestamp: time('node', ofNode, NODE_NUMBER.catalogProducerTimestamp),
  producer: text('node', ofNode, NODE_TEXT.catalogProducer),
  resources: document('node', (row, out) => row.documents.resources(row, out)),
  edges: document('node', (row, out) => row.documents.edges(row, out)),
};

const inputTime = time('node', ofNode, NODE_NUMBER.inputsProducerTimestamp);
const inputUuid = text('node', ofNode, NODE_TEXT.inputsCatalogUuid);
const inputsOf = (row: Row): string => row.view.inputs(row.nodeId) ?? '[]';
const catalogInputs: Record<string, Access> = {
  certname,
  producer_timestamp: inputTime,
  catalog_uuid: inputUuid,
  inputs: {
    level: 'node',
    value: (row) => (JSON.parse(inputsOf(row)) as string[][]).flat(),
    write: (row, out) => out.text(inputsOf(row)),
  },
};
const catalogInputContents: Record<string, Access> = {
  certname,
  producer_timestamp: inputTime,
  catalog_uuid: inputUuid,
  name: madeText(
    'sub',
    ofSub((input: InputPair) => input.name),
  ),
  type: madeText(
    'sub',
    ofSub((input: InputPair) => input.type),
  ),
};

/** All of it is kept side by side; or its value only. */
const kept = (access: Access): Access => ({ ...access, kept: 'whole' });
const valueKept = (access: Access): Access => ({ ...access, kept: 'value' });

const reportCertname = kept(text('item', ofReport, REPORT_TEXT.certname));
const isLatest = kept(madeScalar('item', (row) => row.isLatest));
/** Fields that tell the kind of a report (store/reports/report-kinds.ts). */
const ofKind = {
  text: (place: number) => kept(text('item', ofReport, place)),
  boolean: (place: number) => kept(boolean('item', ofReport, place)),
};

const reports = (corrective: boolean): Record<string, Access> => ({
  certname,
  hash: text('item', ofReport, REPORT_TEXT.hash),
  noop_pending: ofKind.boolean(REPORT_TEXT.noopPending),
  puppet_version: text('item', ofReport, REPORT_TEXT.puppetVersion),
  report_format: shownNumber('item', ofReport, REPORT_NUMBER.reportFormat, REPORT_TEXT.reportFormat),
  configuration_version: text('item', ofReport, REPORT_TEXT.configurationVersion),
  start_time: valueKept(shownNumber('item', ofReport, REPORT_NUMBER.startTime, REPORT_TEXT.startTime)),
  end_time: valueKept(shownNumber('item', ofReport, REPORT_NUMBER.endTime, REPORT_TEXT.endTime)),
  producer_timestamp: valueKept(
    shownNumber('item', ofReport, REPORT_NUMBER.producerTimestamp, REPORT_TEXT.producerTimestamp),
  ),
  receive_time: valueKept(shownNumber('item', ofReport, REPORT_NUMBER.receiveTime, REPORT_TEXT.receiveTime)),
  producer: ofKind.text(REPORT_TEXT.producer),
  corrective_change: corrective ? ofKind.boolean(REPORT_TEXT.correctiveChange) : kept(nothing('item')),
  transaction_uuid: text('item', ofReport, REPORT_TEXT.transactionUuid),
  catalog_uuid: text('item', ofReport, REPORT_TEXT.catalogUuid),
  noop: ofKind.boolean(REPORT_TEXT.noop),
  code_id: text('item', ofReport, REPORT_TEXT.codeId),
  job_id: text('item', ofReport, REPORT_TEXT.jobId),
  cached_catalog_status: ofKind.text(REPORT_TEXT.cachedCatalogStatus),
  environment: ofKind.text(REPORT_TEXT.environment),
  status: ofKind.text(REPORT_TEXT.status),
  type: ofKind.text(REPORT_TEXT.type),
  'latest_report?': isLatest,
  latest_report_hash: text('item', ofReport, REPORT_TEXT.hash),
  latest_report_id: kept(madeScalar('item', (row) => row.reportId)),
  metrics: document('item', (row, out) => row.reportDocuments.part(row, 'metrics', out)),
  logs: document('item', (row, out) => row.reportDocuments.part(row, 'logs', out)),
  resource_events: document('item', (row, out) => row.reportDocuments.events(row, corrective, out)),
  resources: document('item', (row, out) => row.reportDocuments.part(row, 'resources', out)),
});

const eventsOf = (row: Row): StoredEvents => row.sub as StoredEvents;
/** A coded column of the row's event. */
const coded = (column: number): Access => ({
  level: 'sub',
  column,
  value: (row) => eventsOf(row).coded(column),
  write: (row, out) => eventsOf(row).writeCoded(column, out),
});
/** Compared as JSON text, shown as JSON. */
const eventValue = (place: number): Access => ({
  level: 'sub',
  value: (row) => eventsOf(row).values.text(place),
  write: (row, out) => eventsOf(row).values.write(place, out),
});
const events = (corrective: boolean): Record<string, Access> => ({
  certname,
  report: text('item', ofReport, REPORT_TEXT.hash),
  configuration_version: text('item', ofReport, REPORT_TEXT.configurationVersion),
  environment: text('item', ofReport, REPORT_TEXT.environment),
  run_start_time: shownNumber('item', ofReport, REPORT_NUMBER.startTime, REPORT_TEXT.startTime),
  run_end_time: shownNumber('item', ofReport, REPORT_NUMBER.endTime, REPORT_TEXT.endTime),
  report_receive_time: shownNumber('item', ofReport, REPORT_NUMBER.receiveTime, REPORT_TEXT.receiveTime),
  'latest_report?': isLatest,
  status: coded(EVENT_CODE.status),
  timestamp: {
    level: 'sub',
    value: (row) => eventsOf(row).timestamp,
    write: (row, out) => writeTime(eventsOf(row).timestamp, out),
    bound: {
      least: (row) => row.report.number(REPORT_NUMBER.eventTimeMin),
      greatest: (row) => row.report.number(REPORT_NUMBER.eventTimeMax),
    },
  },
  resource_type: coded(EVENT_CODE.resourceType),
  resource_title: coded(EVENT_CODE.resourceTitle),
  property: coded(EVENT_CODE.property),
  name: coded(EVENT_CODE.name),
  new_value: eventValue(EVENT_VALUE.newValue),
  old_value: eventValue(EVENT_VALUE.oldValue),
  message: text('sub', ofValues, EVENT_VALUE.message),
  file: text('sub', ofValues, EVENT_VALUE.file),
  line: json('sub', ofValues, EVENT_VALUE.line),
  containment_path: json('sub', ofValues, EVENT_VALUE.containmentPath),
  containing_class: coded(EVENT_CODE.containingClass),
  corrective_change: corrective ? coded(EVENT_CODE.correctiveChange) : nothing('sub'),
});

const packageFields: Record<string, Access> = {
  package_name: text('item', ofPackage, PACKAGE.name),
  version: text('item', ofPackage, PACKAGE.version),
  provider: text('item', ofPackage, PACKAGE.provider),
};

/** Fields of records that are made once per query (names, paths): the record has the value itself. */
const globals = (names: readonly string[]): Record<string, Access> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      {
        level: 'item' as const,
        value: (row: Row) => (row.body as GlobalRecord)[name] ?? null,
        write: (row: Row, out: ByteWriter) =>
          out.text(jsonText(((row.body as GlobalRecord)[name] ?? null) as JsonValue)),
      },
    ]),
  );

const encodedPathOf = (row: Row): string => (row.body as GlobalRecord)['path'] as string;
const factPaths: Record<string, Access> = {
  ...globals(['type', 'name', 'depth']),
  path: {
    level: 'item',
    value: encodedPathOf,
    write: (row, out) => out.text(JSON.stringify(decodePath(encodedPathOf(row)))),
  },
};

const tables = (corrective: boolean): Readonly<Record<EntityName, EntityAccess>> => ({
  nodes: {
    fields: {
      ...nodes,
      latest_report_corrective_change: corrective
        ? boolean('node', ofNode, NODE_TEXT.reportCorrectiveChange)
        : nothing('node'),
    },
  },
  facts: { fields: facts },
  factsets: { fields: factsets },
  fact_contents: { fields: factContents },
  inventory: { fields: inventory },
  resources: { fields: resources },
  edges: { fields: edges },
  catalogs: { fields: catalogs },
  catalog_inputs: { fields: catalogInputs },
  catalog_input_contents: { fields: catalogInputContents },
  package_inventory: { fields: { certname, ...packageFields } },
  reports: { fields: reports(corrective), shown: { certname: reportCertname } },
  events: { fields: events(corrective), shown: { certname: reportCertname } },
  latest_report: { fields: reports(corrective) },
  latest_report_id: { fields: reports(corrective) },
  inactive_nodes: { fields: { certname } },
  not_active_nodes: { fields: { certname } },
  environments: { fields: globals(['name']) },
  producers: { fields: globals(['name']) },
  packages: { fields: globals(['package_name', 'version', 'provider']) },
  fact_names: { fields: globals(['name']) },
  fact_paths: { fields: factPaths },
  resource_params: { fields: globals(['res_param_resource', 'res_param_name', 'res_param_value']) },
});

const COMMUNITY = tables(false);
const ENTERPRISE = tables(true);

export const accessOf = (entity: EntityName, edition: 'community' | 'enterprise'): EntityAccess =>
  (edition === 'enterprise' ? ENTERPRISE : COMMUNITY)[entity];

/** JSON text of a parsed value, in stored spelling. */
export function jsonText(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value === 'boolean') return String(value);
  return storedText(value);
}
