// Records of a report and of an event, for tests that do not mind what they say.

import type { EventRecord, ReportRecord } from '../../../engine/store/records/records.ts';

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

const EVENT: EventRecord = {
  status: 'success',
  timestamp: 1,
  resourceType: 'File',
  resourceTitle: '/etc/motd',
  property: 'content',
  name: null,
  newValue: '"a"',
  oldValue: '"b"',
  message: null,
  file: null,
  line: null,
  containmentPath: null,
  containingClass: null,
  correctiveChange: null,
};

/** An event that is null wherever that is usual, `changes` apart. */
export const eventRecord = (changes: Partial<EventRecord> = {}): EventRecord => ({ ...EVENT, ...changes });
