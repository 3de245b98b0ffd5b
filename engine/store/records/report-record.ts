// Report records as they are stored: a `fields.ts` record. Ingest and retention have them whole (`encodeReport`,
// `decodeReport`); queries read single fields (`StoredReport`). A field is added at the end, never moved.

import { encodeFields, Fields, fieldsShape, placesOf, quoted, quotedTime } from './fields.ts';
import type { ReportRecord } from './records.ts';

export const REPORT_NUMBER = {
  nodeId: 0,
  reportFormat: 1,
  startTime: 2,
  endTime: 3,
  producerTimestamp: 4,
  receiveTime: 5,
  eventCount: 6,
  eventTimeMin: 7,
  eventTimeMax: 8,
} as const;

/** Texts by name, with the keys of those that a row of the reports entity shows side by side. */
const TEXTS = {
  catalogUuid: '',
  /** Times are there as texts too. */
  receiveTime: 'receive_time',
  producer: 'producer',
  hash: 'hash',
  transactionUuid: 'transaction_uuid',
  puppetVersion: 'puppet_version',
  /** Booleans are JSON true, false or null. */
  noop: 'noop',
  reportFormat: '',
  startTime: 'start_time',
  producerTimestamp: 'producer_timestamp',
  type: 'type',
  cachedCatalogStatus: 'cached_catalog_status',
  endTime: 'end_time',
  status: '',
  configurationVersion: 'configuration_version',
  environment: 'environment',
  codeId: 'code_id',
  noopPending: 'noop_pending',
  certname: 'certname',
  correctiveChange: '',
  jobId: '',
} as const;

/** Places of the texts. */
export const REPORT_TEXT = placesOf(TEXTS);
export const REPORT_SHAPE = fieldsShape(9, Object.values(TEXTS));

export function encodeReport(report: ReportRecord): Buffer {
  return encodeFields(
    REPORT_SHAPE,
    0,
    [
      report.nodeId,
      report.reportFormat,
      report.startTime,
      report.endTime,
      report.producerTimestamp,
      report.receiveTime,
      report.eventCount,
      report.eventTimeMin,
      report.eventTimeMax,
    ],
    [
      quoted(report.catalogUuid),
      quotedTime(report.receiveTime),
      quoted(report.producer),
      quoted(report.hash),
      quoted(report.transactionUuid),
      quoted(report.puppetVersion),
      String(report.noop),
      String(report.reportFormat),
      quotedTime(report.startTime),
      quotedTime(report.producerTimestamp),
      quoted(report.type),
      quoted(report.cachedCatalogStatus),
      quotedTime(report.endTime),
      quoted(report.status),
      quoted(report.configurationVersion),
      quoted(report.environment),
      quoted(report.codeId),
      String(report.noopPending),
      quoted(report.certname),
      String(report.correctiveChange),
      quoted(report.jobId),
    ],
  );
}

export class StoredReport extends Fields {
  constructor() {
    super(REPORT_SHAPE);
  }

  get nodeId(): number {
    return this.number(REPORT_NUMBER.nodeId) as number;
  }

  get certname(): string {
    return this.string(REPORT_TEXT.certname) as string;
  }

  get hash(): string {
    return this.string(REPORT_TEXT.hash) as string;
  }

  get eventCount(): number {
    return this.number(REPORT_NUMBER.eventCount) as number;
  }
}

const NUMBER = REPORT_NUMBER;
const TEXT = REPORT_TEXT;

export function decodeReport(bytes: Buffer): ReportRecord {
  const report = new StoredReport();
  report.load(bytes);
  return {
    nodeId: report.nodeId,
    certname: report.certname,
    hash: report.hash,
    type: report.string(TEXT.type) as string,
    puppetVersion: report.string(TEXT.puppetVersion) as string,
    reportFormat: report.number(NUMBER.reportFormat) as number,
    configurationVersion: report.string(TEXT.configurationVersion) as string,
    startTime: report.number(NUMBER.startTime) as number,
    endTime: report.number(NUMBER.endTime) as number,
    producerTimestamp: report.number(NUMBER.producerTimestamp) as number,
    receiveTime: report.number(NUMBER.receiveTime) as number,
    producer: report.string(TEXT.producer),
    environment: report.string(TEXT.environment),
    status: report.string(TEXT.status),
    noop: report.boolean(TEXT.noop),
    noopPending: report.boolean(TEXT.noopPending),
    correctiveChange: report.boolean(TEXT.correctiveChange),
    transactionUuid: report.string(TEXT.transactionUuid),
    catalogUuid: report.string(TEXT.catalogUuid),
    codeId: report.string(TEXT.codeId),
    cachedCatalogStatus: report.string(TEXT.cachedCatalogStatus),
    jobId: report.string(TEXT.jobId),
    eventCount: report.eventCount,
    eventTimeMin: report.number(NUMBER.eventTimeMin) as number,
    eventTimeMax: report.number(NUMBER.eventTimeMax) as number,
  };
}
