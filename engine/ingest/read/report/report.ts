// store report: from a payload that conforms to the wire table to a ReportCommand.

import { isUtf8 } from 'node:buffer';
import type { WireTable, WireType } from '../../../../schemas/commands/format.ts';
import { STORE_REPORT } from '../../../../schemas/commands/report.ts';
import { AGENT_REPORT } from '../../../../schemas/entities.ts';
import { textOf } from '../../../bytes.ts';
import type { Fingerprints } from '../../../fingerprint.ts';
import { canonicalK } from '../../../json/canonical.ts';
import { parseJsonDocument } from '../../../json/parse.ts';
import { storedText } from '../../../json/stored.ts';
import type { JsonObject, JsonValue } from '../../../json/value.ts';
import {
  REPORT_LIST_SHAPES,
  type ReportListName,
  type ReportLists,
  type StoredReportList,
} from '../../../store/records/report-lists.ts';
import { formatTime } from '../../../time.ts';
import { Columns } from '../../command/columns.ts';
import type { PlainEvents, ReportCommand } from '../../command/commands.ts';
import { assertStorable, blamingPayload } from '../../command/errors.ts';
import { reportHash } from '../../command/hashes.ts';
import { conforms, strictTime } from '../../command/validate.ts';
import { type PartKind, type PartKinds, restOf, splitPayload, withoutParts } from '../../known/spans.ts';
import { type CommandReader, UNBOUNDED_DEPTH } from '../command-reader.ts';
import { deriveEvents } from './events.ts';
import { EVENT_SOURCES } from './plain-events.ts';
import { ListSource, StoredList, shapeOf } from './stored-list.ts';

/** How many containers of the payload enclose its lists. */
const LIST_DEPTH = 1;

/** Readers of the lists' bytes. */
export const LIST_READERS: Readonly<Record<ReportListName, StoredList>> = {
  logs: readerOf('logs'),
  metrics: readerOf('metrics'),
  resources: readerOf('resources'),
};

/** What is packed must be what the store unpacks: a change of the wire table shows here. */
function readerOf(name: ReportListName): StoredList {
  const type = STORE_REPORT.table?.fields.find((field) => field.name === name)?.type as WireType & { kind: 'list' };
  const { table } = type.of as WireType & { kind: 'object' };
  if (JSON.stringify(shapeOf(table)) !== JSON.stringify(REPORT_LIST_SHAPES[name]))
    throw new Error(`the shape of a report's ${name} is not the one that is stored`);
  return new StoredList(table, LIST_DEPTH, name === 'resources' ? EVENT_SOURCES : null);
}

/** What is known of a report's lists from their bytes. */
interface KnownLists {
  readonly lists: ReportLists;
  /** null: the events must be made from the resources' values. */
  readonly events: PlainEvents | null;
  /** Values of `resources`, which the payload need not have then. */
  readonly resources: () => readonly JsonValue[];
}

/** `known`: then the payload needs no lists. Throws JsonError when an event's value is nested too deeply. */
function decodeReport(payload: JsonObject, received: number, known: KnownLists | null = null): ReportCommand {
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
  const reportFormat = columns.integer(payload['report_format'] as JsonValue, 'report_format', 16);
  const fields = {
    certname,
    producerTimestamp,
    type: (payload['type'] ?? AGENT_REPORT) as string,
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
  const resources = known?.resources ?? (() => (payload['resources'] ?? []) as readonly JsonValue[]);
  const plainEvents = known?.events ?? null;
  let events = plainEvents === null ? deriveEvents(resources(), columns) : null;
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
      events: () => {
        events ??= blamingPayload(() => deriveEvents(resources(), columns));
        // What is only found now: that all of them are not to be kept as values.
        assertStorable(columns.refusal);
        return events;
      },
      plainEvents,
      lists: known?.lists ?? blamingPayload(() => listsOf(payload)),
    }),
  };
}

const PARTS: PartKinds & Readonly<Record<ReportListName, PartKind>> = {
  logs: 'list',
  metrics: 'list',
  resources: 'list',
};
const PART_COUNT = Object.keys(PARTS).length;

const NOTHING = Buffer.alloc(0);

/** From the bytes, with the lists apart: of these only `resources` is parsed, and only where its events need it. Null when that is not possible. */
function decodeReportBytes(payload: Buffer, received: number, fingerprints: Fingerprints): ReportCommand | null {
  if (!isUtf8(payload)) return null;
  const source = new ListSource(payload);
  const endOf = (key: string, start: number): number => source.read(LIST_READERS[key as ReportListName], start);
  const split = splitPayload(payload, PARTS, fingerprints, { endOf });
  if (split === null || split.parts.length < PART_COUNT) return null;
  const rest = restOf(split);
  if (rest === null) return null;
  const header = withoutParts(rest, split.parts);
  if (!conforms(STORE_REPORT.table as WireTable, header)) return null;
  const lists: { -readonly [K in keyof ReportLists]: ReportLists[K] } = { logs: null, metrics: null, resources: null };
  let resources: Buffer = NOTHING;
  for (const { key, bytes } of split.parts) {
    lists[key as ReportListName] = { form: 'packed', bytes: LIST_READERS[key as ReportListName].packed };
    if (key === 'resources') resources = bytes;
  }
  const values = (): JsonValue[] => parseJsonDocument(textOf(resources), UNBOUNDED_DEPTH) as JsonValue[];
  return decodeReport(header, received, { lists, events: LIST_READERS.resources.events, resources: values });
}

export const REPORT_READER: CommandReader<ReportCommand> = {
  format: STORE_REPORT,
  limits: UNBOUNDED_DEPTH,
  read: (payload, received) => decodeReport(payload as JsonObject, received),
  readBytes: decodeReportBytes,
  parts: null,
};

const listsOf = (payload: JsonObject): ReportLists => ({
  logs: listOf(payload, 'logs'),
  metrics: listOf(payload, 'metrics'),
  resources: listOf(payload, 'resources'),
});

function listOf(payload: JsonObject, name: ReportListName): StoredReportList {
  const list = payload[name] as JsonValue;
  if (list === null) return null;
  const text = storedText(list, LIST_DEPTH);
  const bytes = LIST_READERS[name].read(Buffer.from(text, 'utf8'));
  return bytes === null ? { form: 'text', text } : { form: 'packed', bytes };
}
