// Report records as they are stored: a `fields.ts` record. Ingest and retention have them whole (`encodeReport`,
// `decodeReport`); queries read single fields (`StoredReport`). A field is added at the end, never moved.

import { encodeFields, Fields, quoted } from './fields.ts';
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

export const REPORT_TEXT = {
  certname: 0,
  hash: 1,
  type: 2,
  puppetVersion: 3,
  configurationVersion: 4,
  producer: 5,
  environment: 6,
  status: 7,
  /** Like all Booleans here: JSON true, false or null. */
  noop: 8,
  noopPending: 9,
  correctiveChange: 10,
  transactionUuid: 11,
  catalogUuid: 12,
  codeId: 13,
  cachedCatalogStatus: 14,
  jobId: 15,
} as const;

const SHAPE = { numbers: 9, texts: 16 } as const;

export function encodeReport(report: ReportRecord): Buffer {
  return encodeFields(
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
      quoted(report.certname),
      quoted(report.hash),
      quoted(report.type),
      quoted(report.puppetVersion),
      quoted(report.configurationVersion),
      quoted(report.producer),
      quoted(report.environment),
      quoted(report.status),
      String(report.noop),
      String(report.noopPending),
      String(report.correctiveChange),
      quoted(report.transactionUuid),
      quoted(report.catalogUuid),
      quoted(report.codeId),
      quoted(report.cachedCatalogStatus),
      quoted(report.jobId),
    ],
  );
}

export class StoredReport extends Fields {
  constructor() {
    super(SHAPE);
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
