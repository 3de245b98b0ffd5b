// Node records as they are stored: a `fields.ts` record. Ingest has them whole (`encodeNode`, `decodeNode`); queries read
// single fields (`StoredNode`). A field is added at the end, never moved.

import { encodeFields, Fields, fieldsShape, placesOf, quoted, quotedTime } from './fields.ts';
import type { NodeRecord } from './records.ts';

/** Places of the numbers: times, epoch ms, and the id of the latest report. */
export const NODE_NUMBER = {
  deactivated: 0,
  expired: 1,
  expiresFactsUpdated: 2,
  /** Null: no factset. */
  factsTimestamp: 3,
  factsProducerTimestamp: 4,
  /** Null: no catalog. */
  catalogTimestamp: 5,
  catalogProducerTimestamp: 6,
  /** Null: no report. */
  reportId: 7,
  reportEndTime: 8,
  reportProducerTimestamp: 9,
  /** Null: no inputs. */
  inputsProducerTimestamp: 10,
} as const;

/** Texts by name, with the keys of those that a row of the nodes entity shows side by side. */
const TEXTS = {
  /** Times are there as texts too. */
  deactivated: '',
  reportHash: 'latest_report_hash',
  factsEnvironment: 'facts_environment',
  reportCachedCatalogStatus: 'cached_catalog_status',
  reportEnvironment: 'report_environment',
  catalogEnvironment: '',
  factsTimestamp: 'facts_timestamp',
  /** Booleans are JSON true, false or null. */
  reportNoop: 'latest_report_noop',
  expired: 'expired',
  reportNoopPending: 'latest_report_noop_pending',
  reportTimestamp: 'report_timestamp',
  certname: 'certname',
  catalogTimestamp: 'catalog_timestamp',
  reportJobId: 'latest_report_job_id',
  reportStatus: 'latest_report_status',
  reportCorrectiveChange: '',
  expiresFacts: '',
  factsProducer: '',
  factsHash: '',
  catalogVersion: '',
  catalogTransactionUuid: '',
  catalogUuid: '',
  catalogCodeId: '',
  catalogJobId: '',
  catalogProducer: '',
  catalogHash: '',
  inputsCatalogUuid: '',
  inputsHash: '',
} as const;

/** Places of the texts. */
export const NODE_TEXT = placesOf(TEXTS);
export const NODE_SHAPE = fieldsShape(11, Object.values(TEXTS));

export function encodeNode(node: NodeRecord): Buffer {
  const { factset, catalog, latestReport: report, inputs } = node;
  return encodeFields(
    NODE_SHAPE,
    0,
    [
      node.deactivated,
      node.expired,
      node.expiresFactsUpdated,
      factset?.timestamp ?? null,
      factset?.producerTimestamp ?? null,
      catalog?.timestamp ?? null,
      catalog?.producerTimestamp ?? null,
      report?.reportId ?? null,
      report?.endTime ?? null,
      report?.producerTimestamp ?? null,
      inputs?.producerTimestamp ?? null,
    ],
    [
      quotedTime(node.deactivated),
      quoted(report?.hash ?? null),
      quoted(factset?.environment ?? null),
      quoted(report?.cachedCatalogStatus ?? null),
      quoted(report?.environment ?? null),
      quoted(catalog?.environment ?? null),
      quotedTime(factset?.timestamp ?? null),
      String(report?.noop ?? null),
      quotedTime(node.expired),
      String(report?.noopPending ?? null),
      quotedTime(report?.endTime ?? null),
      quoted(node.certname),
      quotedTime(catalog?.timestamp ?? null),
      quoted(report?.jobId ?? null),
      quoted(report?.status ?? null),
      String(report?.correctiveChange ?? null),
      String(node.expiresFacts),
      quoted(factset?.producer ?? null),
      quoted(factset?.hash ?? null),
      quoted(catalog?.version ?? null),
      quoted(catalog?.transactionUuid ?? null),
      quoted(catalog?.catalogUuid ?? null),
      quoted(catalog?.codeId ?? null),
      quoted(catalog?.jobId ?? null),
      quoted(catalog?.producer ?? null),
      quoted(catalog?.hash ?? null),
      quoted(inputs?.catalogUuid ?? null),
      quoted(inputs?.hash ?? null),
    ],
  );
}

export class StoredNode extends Fields {
  constructor() {
    super(NODE_SHAPE);
  }

  get certname(): string {
    return this.string(NODE_TEXT.certname) as string;
  }
}

const NUMBER = NODE_NUMBER;
const TEXT = NODE_TEXT;

export function decodeNode(bytes: Buffer): NodeRecord {
  const node = new StoredNode();
  node.load(bytes);
  const factsTime = node.number(NUMBER.factsTimestamp);
  const catalogTime = node.number(NUMBER.catalogTimestamp);
  const reportId = node.number(NUMBER.reportId);
  const inputsTime = node.number(NUMBER.inputsProducerTimestamp);
  return {
    certname: node.certname,
    deactivated: node.number(NUMBER.deactivated),
    expired: node.number(NUMBER.expired),
    expiresFacts: node.boolean(TEXT.expiresFacts),
    expiresFactsUpdated: node.number(NUMBER.expiresFactsUpdated),
    factset:
      factsTime === null
        ? null
        : {
            environment: node.string(TEXT.factsEnvironment),
            producer: node.string(TEXT.factsProducer),
            producerTimestamp: node.number(NUMBER.factsProducerTimestamp) as number,
            timestamp: factsTime,
            hash: node.string(TEXT.factsHash) as string,
          },
    catalog:
      catalogTime === null
        ? null
        : {
            version: node.string(TEXT.catalogVersion) as string,
            environment: node.string(TEXT.catalogEnvironment),
            transactionUuid: node.string(TEXT.catalogTransactionUuid),
            catalogUuid: node.string(TEXT.catalogUuid),
            codeId: node.string(TEXT.catalogCodeId),
            jobId: node.string(TEXT.catalogJobId),
            producer: node.string(TEXT.catalogProducer),
            producerTimestamp: node.number(NUMBER.catalogProducerTimestamp) as number,
            timestamp: catalogTime,
            hash: node.string(TEXT.catalogHash) as string,
          },
    latestReport:
      reportId === null
        ? null
        : {
            reportId,
            hash: node.string(TEXT.reportHash) as string,
            environment: node.string(TEXT.reportEnvironment),
            status: node.string(TEXT.reportStatus),
            noop: node.boolean(TEXT.reportNoop),
            noopPending: node.boolean(TEXT.reportNoopPending),
            correctiveChange: node.boolean(TEXT.reportCorrectiveChange),
            cachedCatalogStatus: node.string(TEXT.reportCachedCatalogStatus),
            jobId: node.string(TEXT.reportJobId),
            endTime: node.number(NUMBER.reportEndTime) as number,
            producerTimestamp: node.number(NUMBER.reportProducerTimestamp) as number,
          },
    inputs:
      inputsTime === null
        ? null
        : {
            catalogUuid: node.string(TEXT.inputsCatalogUuid) as string,
            producerTimestamp: inputsTime,
            hash: node.string(TEXT.inputsHash) as string,
          },
  };
}
