// store report on a partition (spec/commands.md 3.4).

import type { Batch } from '../../store/batch.ts';
import { type EventRange, encodeEvents, eventRange } from '../../store/records/event-record.ts';
import type { LatestReport, NodeId, NodeRecord, ReportRecord } from '../../store/records/records.ts';
import type { ReportCommand, ReportContents } from '../command/commands.ts';
import { assertStorable } from '../command/errors.ts';
import type { Applied, IngestSettings } from '../command/types.ts';
import { activate, recordOf } from './activation.ts';

export function applyReport(batch: Batch, command: ReportCommand, settings: IngestSettings): Applied {
  const { certname, producerTimestamp, hash, puppetVersion: agentVersion } = command;
  // The hash covers the certname: a report of another partition never has it.
  const isDuplicate = batch.view.reports.idOf(hash) !== 0;
  if (isDuplicate) {
    activate(batch, certname, producerTimestamp);
    return { detail: 'duplicate', hash, unchanged: true, agentVersion };
  }
  assertStorable(command.refusal ?? batch.refusal('report', 1));
  const contents = command.contents();
  const { encoded, range } = storedEvents(contents, settings);
  const nodeId = activate(batch, certname, producerTimestamp);
  const reportId = batch.reports.add(reportRecord(command, nodeId, range), encoded, contents.lists);
  batch.addEnvironment(command.environment);
  batch.addProducer(command.producer);
  const node = recordOf(batch, nodeId);
  if (becomesLatest(node, command)) {
    batch.putNode(nodeId, { ...node, latestReport: latestReport(command, reportId) });
  }
  return { detail: 'stored', hash, unchanged: false, agentVersion };
}

/** A plan report never is the latest; an agent report is when it is strictly newer than the present one. */
const becomesLatest = (node: NodeRecord, { type, producerTimestamp }: ReportCommand): boolean =>
  type !== 'plan' && (node.latestReport === null || producerTimestamp > node.latestReport.producerTimestamp);

/** The events as they are stored, and what the report's record says of them. Those that are past their time are not stored. */
function storedEvents(contents: ReportContents, settings: IngestSettings) {
  const { plainEvents: plain } = contents;
  const horizon = settings.resourceEventsTtl === 0 ? Infinity : settings.now - settings.resourceEventsTtl;
  if (plain !== null && (plain.count === 0 || plain.timeMin > horizon)) {
    const { count, timeMin, timeMax, encoded } = plain;
    return { encoded, range: { eventCount: count, eventTimeMin: timeMin, eventTimeMax: timeMax } };
  }
  const events = contents.events().filter(({ timestamp }) => timestamp > horizon);
  return { encoded: events.length === 0 ? null : encodeEvents(events), range: eventRange(events) };
}

/** Written out: of each copy by spread syntax V8 would keep a hidden class until the next full collection. */
function reportRecord(command: ReportCommand, nodeId: NodeId, events: EventRange): ReportRecord {
  return {
    certname: command.certname,
    hash: command.hash,
    type: command.type,
    puppetVersion: command.puppetVersion,
    reportFormat: command.reportFormat,
    configurationVersion: command.configurationVersion,
    startTime: command.startTime,
    endTime: command.endTime,
    producerTimestamp: command.producerTimestamp,
    receiveTime: command.received,
    producer: command.producer,
    environment: command.environment,
    status: command.status,
    noop: command.noop,
    noopPending: command.noopPending,
    correctiveChange: command.correctiveChange,
    transactionUuid: command.transactionUuid,
    catalogUuid: command.catalogUuid,
    codeId: command.codeId,
    cachedCatalogStatus: command.cachedCatalogStatus,
    jobId: command.jobId,
    nodeId,
    eventCount: events.eventCount,
    eventTimeMin: events.eventTimeMin,
    eventTimeMax: events.eventTimeMax,
  };
}

const latestReport = (command: ReportCommand, reportId: number): LatestReport => ({
  reportId,
  hash: command.hash,
  environment: command.environment,
  status: command.status,
  noop: command.noop,
  noopPending: command.noopPending,
  correctiveChange: command.correctiveChange,
  cachedCatalogStatus: command.cachedCatalogStatus,
  jobId: command.jobId,
  endTime: command.endTime,
  producerTimestamp: command.producerTimestamp,
});
