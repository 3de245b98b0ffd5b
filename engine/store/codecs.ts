// Record codecs. Node and report records are positional msgpack arrays (a field's place is its name, so records stay small
// and decode fast); bodies are JSON texts, so that answers can copy from them. A field is added at the end, never moved.

import { Packr } from 'msgpackr';
import type {
  CatalogHeader,
  EdgeBody,
  EventRecord,
  FactBody,
  FactsetHeader,
  InputsHeader,
  LatestReport,
  NodeRecord,
  PackageBody,
  ReportRecord,
  ResourceBody,
} from './records.ts';

const packr = new Packr({ useRecords: false, int64AsType: 'number' });
const pack = (value: unknown): Buffer => packr.pack(value);
const unpack = (bytes: Uint8Array): unknown[] => packr.unpack(bytes) as unknown[];

/** Positional codec of a flat record: `names` in stored order. */
function positional<T extends object>(names: readonly (keyof T)[]) {
  return {
    toArray(value: T | null): unknown[] | null {
      if (value === null) return null;
      const out = new Array<unknown>(names.length);
      for (let i = 0; i < names.length; i++) out[i] = value[names[i]!];
      return out;
    },
    fromArray(array: unknown[] | null | undefined): T | null {
      if (array === null || array === undefined) return null;
      const out = {} as T;
      for (let i = 0; i < names.length; i++) out[names[i]!] = (array[i] ?? null) as T[keyof T];
      return out;
    },
  };
}

const factset = positional<FactsetHeader>(['environment', 'producer', 'producerTimestamp', 'timestamp', 'hash']);
const catalog = positional<CatalogHeader>([
  'version',
  'environment',
  'transactionUuid',
  'catalogUuid',
  'codeId',
  'jobId',
  'producer',
  'producerTimestamp',
  'timestamp',
  'hash',
]);
const latest = positional<LatestReport>([
  'reportId',
  'hash',
  'environment',
  'status',
  'noop',
  'noopPending',
  'correctiveChange',
  'cachedCatalogStatus',
  'jobId',
  'endTime',
  'producerTimestamp',
]);
const inputs = positional<InputsHeader>(['catalogUuid', 'producerTimestamp', 'hash']);
const report = positional<ReportRecord>([
  'nodeId',
  'certname',
  'hash',
  'type',
  'puppetVersion',
  'reportFormat',
  'configurationVersion',
  'startTime',
  'endTime',
  'producerTimestamp',
  'receiveTime',
  'producer',
  'environment',
  'status',
  'noop',
  'noopPending',
  'correctiveChange',
  'transactionUuid',
  'catalogUuid',
  'codeId',
  'cachedCatalogStatus',
  'jobId',
  'eventCount',
  'eventTimeMin',
  'eventTimeMax',
]);
const event = positional<EventRecord>([
  'status',
  'timestamp',
  'resourceType',
  'resourceTitle',
  'property',
  'name',
  'newValue',
  'oldValue',
  'message',
  'file',
  'line',
  'containmentPath',
  'containingClass',
  'correctiveChange',
]);

export function encodeNode(node: NodeRecord): Buffer {
  return pack([
    node.certname,
    node.deactivated,
    node.expired,
    node.expiresFacts,
    node.expiresFactsUpdated,
    factset.toArray(node.factset),
    catalog.toArray(node.catalog),
    latest.toArray(node.latestReport),
    inputs.toArray(node.inputs),
  ]);
}

export function decodeNode(bytes: Uint8Array): NodeRecord {
  const a = unpack(bytes);
  return {
    certname: a[0] as string,
    deactivated: a[1] as number | null,
    expired: a[2] as number | null,
    expiresFacts: a[3] as boolean | null,
    expiresFactsUpdated: a[4] as number | null,
    factset: factset.fromArray(a[5] as unknown[] | null),
    catalog: catalog.fromArray(a[6] as unknown[] | null),
    latestReport: latest.fromArray(a[7] as unknown[] | null),
    inputs: inputs.fromArray(a[8] as unknown[] | null),
  };
}

export const encodeReport = (record: ReportRecord): Buffer => pack(report.toArray(record));
export const decodeReport = (bytes: Uint8Array): ReportRecord => report.fromArray(unpack(bytes)) as ReportRecord;

export const encodeEvents = (events: readonly EventRecord[]): Buffer => pack(events.map((e) => event.toArray(e)));
export const decodeEvents = (bytes: Uint8Array): EventRecord[] =>
  (unpack(bytes) as unknown[][]).map((a) => event.fromArray(a) as EventRecord);

export const encodeState = (state: object): Buffer => pack(state);
export const decodeState = (bytes: Uint8Array): Record<string, unknown> =>
  packr.unpack(bytes) as Record<string, unknown>;

/** Header as a JSON array (its last element only for `ownTag`), a line feed, the parameters' stored text. */
export function encodeResource(body: ResourceBody): string {
  return `${JSON.stringify([body.type, body.title, body.hash, body.tags, body.exported, body.file, body.line, ...(body.ownTag ? [1] : [])])}\n${body.parameters}`;
}
export function decodeResource(text: string): ResourceBody {
  const end = text.indexOf('\n'); // JSON.stringify never leaves a raw line feed
  const [type, title, hash, tags, exported, file, line, own] = JSON.parse(text.slice(0, end)) as [
    string,
    string,
    string,
    string[],
    boolean,
    string | null,
    number | null,
    1?,
  ];
  return { type, title, hash, tags, ownTag: own === 1, exported, file, line, parameters: text.slice(end + 1) };
}

/** Name, as JSON text, a line feed, the value's stored text. */
export const encodeFact = (body: FactBody): string => `${JSON.stringify(body.name)}\n${body.value}`;
export function decodeFact(text: string): FactBody {
  const end = text.indexOf('\n');
  return { name: JSON.parse(text.slice(0, end)) as string, value: text.slice(end + 1) };
}

export function encodeEdge(body: EdgeBody): string {
  return JSON.stringify([
    body.sourceType,
    body.sourceTitle,
    body.targets.map((t) => [t.relationship, t.targetType, t.targetTitle]),
  ]);
}
export function decodeEdge(text: string): EdgeBody {
  const [sourceType, sourceTitle, targets] = JSON.parse(text) as [string, string, [string, string, string][]];
  return {
    sourceType,
    sourceTitle,
    targets: targets.map(([relationship, targetType, targetTitle]) => ({ relationship, targetType, targetTitle })),
  };
}

export const encodePackage = (body: PackageBody): string => JSON.stringify([body.name, body.version, body.provider]);
export function decodePackage(text: string): PackageBody {
  const [name, version, provider] = JSON.parse(text) as [string, string, string];
  return { name, version, provider };
}
