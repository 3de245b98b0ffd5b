// The record of a report, for tests that do not mind what it says.

import type { ReportRecord } from '../../../engine/store/records/records.ts';

const RECORD: ReportRecord = {
  nodeId: 3,
  certname: 'a',
  hash: 'a'.repeat(40),
  type: 'agent',
  puppetVersion: '8.0',
  reportFormat: 12,
  configurationVersion: '1',
  startTime: 1,
  endTime: 2,
  producerTimestamp: 3,
  receiveTime: 4,
  producer: null,
  environment: 'production',
  status: 'unchanged',
  noop: false,
  noopPending: false,
  correctiveChange: null,
  transactionUuid: null,
  catalogUuid: null,
  codeId: null,
  cachedCatalogStatus: null,
  jobId: null,
  eventCount: 0,
  eventTimeMin: 0,
  eventTimeMax: 0,
};

/** A report without events that is null wherever that is usual, `changes` apart. */
export const reportRecord = (changes: Partial<ReportRecord> = {}): ReportRecord => ({ ...RECORD, ...changes });
