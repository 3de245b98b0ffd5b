// What a partition stores about a node and a report, as the rest of the engine sees it. Times are epoch milliseconds;
// `null` is "not there". JSON texts are *stored texts* (compact, keys by length then bytes, numbers in decimal spelling;
// see engine/json), so they can be copied into an answer as they are.

/** Ids are numbers local to one partition, never reused while anything refers to them. */
export type NodeId = number;
export type ItemId = number;
export type ReportId = number;

interface FactsetHeader {
  environment: string | null;
  producer: string | null;
  producerTimestamp: number;
  timestamp: number;
  hash: string;
}

interface CatalogHeader {
  version: string;
  environment: string | null;
  transactionUuid: string | null;
  catalogUuid: string | null;
  codeId: string | null;
  jobId: string | null;
  producer: string | null;
  producerTimestamp: number;
  timestamp: number;
  hash: string;
}

/** What the nodes entity shows of a node's latest agent report. */
export interface LatestReport {
  reportId: ReportId;
  hash: string;
  environment: string | null;
  status: string | null;
  noop: boolean | null;
  noopPending: boolean | null;
  correctiveChange: boolean | null;
  cachedCatalogStatus: string | null;
  jobId: string | null;
  endTime: number;
  producerTimestamp: number;
}

interface InputsHeader {
  catalogUuid: string;
  producerTimestamp: number;
  hash: string;
}

export interface NodeRecord {
  certname: string;
  deactivated: number | null;
  expired: number | null;
  /** null: never configured (facts expire). */
  expiresFacts: boolean | null;
  expiresFactsUpdated: number | null;
  factset: FactsetHeader | null;
  catalog: CatalogHeader | null;
  latestReport: LatestReport | null;
  inputs: InputsHeader | null;
}

export const isInactive = (node: NodeRecord): boolean => node.deactivated !== null || node.expired !== null;

/** A node of which nothing has come yet. */
export const emptyNode = (certname: string): NodeRecord => ({
  certname,
  deactivated: null,
  expired: null,
  expiresFacts: null,
  expiresFactsUpdated: null,
  factset: null,
  catalog: null,
  latestReport: null,
  inputs: null,
});

export interface ReportRecord {
  nodeId: NodeId;
  certname: string;
  hash: string;
  type: string; // AGENT_REPORT or 'plan'
  puppetVersion: string;
  reportFormat: number;
  configurationVersion: string;
  startTime: number;
  endTime: number;
  producerTimestamp: number;
  receiveTime: number;
  producer: string | null;
  environment: string | null;
  status: string | null;
  noop: boolean | null;
  noopPending: boolean | null;
  correctiveChange: boolean | null;
  transactionUuid: string | null;
  catalogUuid: string | null;
  codeId: string | null;
  cachedCatalogStatus: string | null;
  jobId: string | null;
  /** Number of stored events and the range of their timestamps (0 and 0,0 without events). */
  eventCount: number;
  eventTimeMin: number;
  eventTimeMax: number;
}

/** One resource event, derived at ingest (spec/commands.md 5). Values are canonical JSON texts. */
export interface EventRecord {
  status: string;
  timestamp: number;
  resourceType: string;
  resourceTitle: string;
  property: string | null;
  name: string | null;
  newValue: string;
  oldValue: string;
  message: string | null;
  file: string | null;
  line: number | null;
  containmentPath: readonly string[] | null;
  containingClass: string | null;
  correctiveChange: boolean | null;
}

/** The shared part of a resource: what does not name the node. Equal bodies are stored once per partition. */
export interface ResourceBody {
  type: string;
  title: string;
  /** 40 hex digits: SHA-1 identity of type, title and parameters. */
  hash: string;
  /** In PuppetDB's set order, without the node's own certname. */
  tags: readonly string[];
  /** The node's certname is a tag too (a catalog of a `node 'x' {}` block tags everything so): kept apart, so that the body
   *  does not differ from node to node. `engine/store/records/own-tag.ts` puts it back. */
  ownTag: boolean;
  exported: boolean;
  file: string | null;
  line: number | null;
  /** Stored JSON text of the parameters object. */
  parameters: string;
}

/** One top-level fact: name and stored JSON text of its value. */
export interface FactBody {
  name: string;
  value: string;
}

/** All edges of a catalog that start at one resource. */
export interface EdgeBody {
  sourceType: string;
  sourceTitle: string;
  targets: readonly EdgeTarget[];
}
export interface EdgeTarget {
  relationship: string;
  targetType: string;
  targetTitle: string;
}

export interface PackageBody {
  name: string;
  version: string;
  provider: string;
}

/** Dictionaries of shared bodies. */
export type DictionaryName = 'resource' | 'fact' | 'edge' | 'package';

/** Kinds of things whose coming and going is counted. */
export type Registered = DictionaryName | 'environment' | 'producer' | 'fact_path' | 'fact_name';
/** The same, and nodes, of which their own counters tell. */
export type Counted = Registered | 'node';
