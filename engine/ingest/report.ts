// store report: from a payload that conforms to the wire table to a ReportCommand.

import type { WireTable, WireType } from '../../schemas/commands/format.ts';
import { STORE_REPORT } from '../../schemas/commands/report.ts';
import { canonicalK } from '../json/canonical.ts';
import { storedText } from '../json/stored.ts';
import type { JsonObject, JsonValue } from '../json/value.ts';
import { formatTime } from '../time.ts';
import { Columns } from './columns.ts';
import type { ReportCommand } from './commands.ts';
import { deriveEvents } from './events.ts';
import { reportHash } from './hashes.ts';
import { StoredList } from './stored-list.ts';
import { strictTime } from './validate.ts';

/** The lists of a report, which are stored as they are. */
export const REPORT_LISTS = ['logs', 'metrics', 'resources'] as const;
export type ReportLists = Readonly<Record<(typeof REPORT_LISTS)[number], Buffer | null>>;

/** How many containers of the payload enclose its lists. */
const LIST_DEPTH = 1;

const tableOf = (name: string): WireTable => {
  const type = STORE_REPORT.table?.fields.find((field) => field.name === name)?.type as WireType & { kind: 'list' };
  return (type.of as WireType & { kind: 'object' }).table;
};

/** Readers of the lists' bytes. */
export const LIST_READERS = {
  logs: new StoredList(tableOf('logs'), LIST_DEPTH),
  metrics: new StoredList(tableOf('metrics'), LIST_DEPTH),
  resources: new StoredList(tableOf('resources'), LIST_DEPTH),
};

/**
 * `lists`: the stored texts of the lists, when they are known; then the payload needs only `resources`. Throws JsonError when
 * an event's value is nested too deeply.
 */
export function decodeReport(payload: JsonObject, received: number, lists: ReportLists | null = null): ReportCommand {
  const columns = new Columns();
  const text = (key: string): string => columns.text(payload[key] as string, key);
  const textOrNull = (key: string): string | null => columns.textOrNull((payload[key] ?? null) as string | null, key);
  const time = (key: string): number => strictTime(payload[key] as string) as number;
  const flag = (key: string): boolean | null => payload[key] as boolean | null;
  const startTime = time('start_time');
  const endTime = time('end_time');
  const producerTimestamp = time('producer_timestamp');
  const certname = text('certname');
  const puppetVersion = text('puppet_version');
  const configurationVersion = text('configuration_version');
  const transactionUuid = (payload['transaction_uuid'] ?? null) as string | null;
  const reportFormat = columns.integer(payload['report_format'] as JsonValue, 'report_format');
  const fields = {
    certname,
    producerTimestamp,
    type: (payload['type'] ?? 'agent') as string,
    puppetVersion,
    reportFormat: reportFormat ?? 0,
    configurationVersion,
    startTime,
    endTime,
    producer: textOrNull('producer'),
    environment: text('environment'),
    status: textOrNull('status'),
    noop: flag('noop'),
    noopPending: flag('noop_pending'),
    correctiveChange: flag('corrective_change'),
    transactionUuid: columns.uuid(transactionUuid, 'transaction_uuid'),
    catalogUuid: columns.uuid((payload['catalog_uuid'] ?? null) as string | null, 'catalog_uuid'),
    codeId: textOrNull('code_id'),
    cachedCatalogStatus: textOrNull('cached_catalog_status'),
    jobId: textOrNull('job_id'),
  };
  const events = deriveEvents((payload['resources'] ?? []) as readonly JsonValue[], columns);
  return {
    kind: 'report',
    ...fields,
    received,
    refusal: columns.refusal,
    hash: reportHash({
      certname,
      configurationVersion,
      endTime: formatTime(endTime),
      producerTimestamp: formatTime(producerTimestamp),
      puppetVersion,
      reportFormat: canonicalK(payload['report_format'] as JsonValue),
      startTime: formatTime(startTime),
      transactionUuid,
    }),
    contents: () => ({
      events,
      ...(lists ?? {
        logs: listText(payload['logs'] as JsonValue),
        metrics: listText(payload['metrics'] as JsonValue),
        resources: listText(payload['resources'] as JsonValue),
      }),
    }),
  };
}

const listText = (list: JsonValue): Buffer | null =>
  list === null ? null : Buffer.from(storedText(list, LIST_DEPTH), 'utf8');
