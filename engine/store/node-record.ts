// Node records as they are stored: a `fields.ts` record. Ingest has them whole (`encodeNode`, `decodeNode`); queries read
// single fields (`StoredNode`). A field is added at the end, never moved.

import { encodeFields, Fields, quoted } from './fields.ts';
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

/** Places of the texts. */
export const NODE_TEXT = {
  certname: 0,
  /** Like all Booleans here: JSON true, false or null. */
  expiresFacts: 1,
  factsEnvironment: 2,
  factsProducer: 3,
  factsHash: 4,
  catalogVersion: 5,
  catalogEnvironment: 6,
  catalogTransactionUuid: 7,
  catalogUuid: 8,
  catalogCodeId: 9,
  catalogJobId: 10,
  catalogProducer: 11,
  catalogHash: 12,
  reportHash: 13,
  reportEnvironment: 14,
  reportStatus: 15,
  reportNoop: 16,
  reportNoopPending: 17,
  reportCorrectiveChange: 18,
  reportCachedCatalogStatus: 19,
  reportJobId: 20,
  inputsCatalogUuid: 21,
  inputsHash: 22,
} as const;

const SHAPE = { numbers: 11, texts: 23 } as const;

export function encodeNode(node: NodeRecord): Buffer {
  const { factset, catalog, latestReport: report, inputs } = node;
  return encodeFields(
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
      quoted(node.certname),
      String(node.expiresFacts),
      quoted(factset?.environment ?? null),
      quoted(factset?.producer ?? null),
      quoted(factset?.hash ?? null),
      quoted(catalog?.version ?? null),
      quoted(catalog?.environment ?? null),
      quoted(catalog?.transactionUuid ?? null),
      quoted(catalog?.catalogUuid ?? null),
      quoted(catalog?.codeId ?? null),
      quoted(catalog?.jobId ?? null),
      quoted(catalog?.producer ?? null),
      quoted(catalog?.hash ?? null),
      quoted(report?.hash ?? null),
      quoted(report?.environment ?? null),
      quoted(report?.status ?? null),
      String(report?.noop ?? null),
      String(report?.noopPending ?? null),
      String(report?.correctiveChange ?? null),
      quoted(report?.cachedCatalogStatus ?? null),
      quoted(report?.jobId ?? null),
      quoted(inputs?.catalogUuid ?? null),
      quoted(inputs?.hash ?? null),
    ],
  );
}

export class StoredNode extends Fields {
  constructor() {
    super(SHAPE);
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
