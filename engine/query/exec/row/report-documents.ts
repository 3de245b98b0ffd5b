// Columns that hold a list of a report, expanded: its events, logs, metrics and resources. All of them are made from what lies in one value
// of the store, which is read once for each report.

import { type ByteWriter, pieceOf } from '../../../bytes.ts';
import { CLOSE_LIST, CLOSE_MAP, COMMA, OPEN_LIST, QUOTE } from '../../../json/ascii.ts';
import { parseJson } from '../../../json/parse.ts';
import { storedText } from '../../../json/stored.ts';
import { Scratch } from '../../../store/file/lmdb.ts';
import { EVENT_CODE, EVENT_VALUE, type StoredEvents } from '../../../store/records/event-record.ts';
import type { TextRecord } from '../../../store/records/fields.ts';
import type { ReportId } from '../../../store/records/records.ts';
import { packedStart, type ReportListName, writeReportList } from '../../../store/records/report-lists.ts';
import { REPORT_TEXT, type StoredReport } from '../../../store/records/report-record.ts';
import { type EventForm, eventsInKernel } from '../../../store/records/unpack-kernel.ts';
import type { View } from '../../../store/view.ts';
import { datePrefix, formatEventTime } from '../../../time.ts';
import { DATA, href, NULL } from './documents.ts';

const LOWER_A = 0x61;
const LOWER_Z = 0x7a;

/** An event's members in their order: the text before each, and where it comes from. */
const MEMBERS = [
  ['{"status":', 'coded', EVENT_CODE.status],
  [',"timestamp":"', 'time', 0],
  ['","resource_type":', 'coded', EVENT_CODE.resourceType],
  [',"resource_title":', 'coded', EVENT_CODE.resourceTitle],
  [',"property":', 'coded', EVENT_CODE.property],
  [',"corrective_change":', 'corrective', EVENT_CODE.correctiveChange],
  [',"new_value":', 'value', EVENT_VALUE.newValue],
  [',"old_value":', 'value', EVENT_VALUE.oldValue],
  [',"message":', 'shown', EVENT_VALUE.message],
  [',"file":', 'shown', EVENT_VALUE.file],
  [',"line":', 'shown', EVENT_VALUE.line],
  [',"containment_path":', 'shown', EVENT_VALUE.containmentPath],
  [',"containing_class":', 'coded', EVENT_CODE.containingClass],
  [',"name":', 'coded', EVENT_CODE.name],
] as const;
const WRITTEN_MEMBERS = MEMBERS.map(([before, kind, place]) => ({ before: pieceOf(before), kind, place }));

const FORM: EventForm = {
  leads: MEMBERS.map(([before]) => before),
  date: datePrefix,
  value: (text) => storedText(parseJson(text)),
};

/** The report that a document is made of, as a row shows it. */
interface DocumentReport {
  readonly reportId: ReportId;
  readonly report: StoredReport;
  /** Its events, to be opened by the caller. */
  readonly events: StoredEvents;
}

export class ReportDocuments {
  readonly #view: View;
  readonly #scratch = new Scratch();
  #lists: Buffer | null = null;
  /** Whose lists these are. */
  #listsOf: ReportId = 0;

  constructor(view: View) {
    this.#view = view;
  }

  /** The lists of a report; null: they do not lie in one value. */
  #of(report: ReportId): Buffer | null {
    if (this.#listsOf !== report) {
      const found = this.#view.reports.reportLists(report);
      this.#lists = found === undefined ? null : this.#scratch.copy(found).subarray(0, found.length);
      this.#listsOf = report;
    }
    return this.#lists;
  }

  /** A list of the row's report. */
  part(row: DocumentReport, name: ReportListName, out: ByteWriter): void {
    out.piece(DATA);
    const lists = this.#of(row.reportId);
    const isThere =
      lists === null ? this.#view.reports.writeList(row.reportId, name, out) : writeReportList(lists, name, out);
    if (!isThere) out.piece(NULL);
    href(out, row.report, REPORT_TEXT.hash, 'reports/', `/${name}`);
  }

  /** The events of the row's report. `corrective`: the edition shows corrective changes. */
  events(row: DocumentReport, corrective: boolean, out: ByteWriter): void {
    out.piece(DATA);
    if (!this.#eventsFromLists(row.reportId, corrective, out)) {
      row.events.open(row.reportId);
      writeEvents(row.events, corrective, out);
    }
    href(out, row.report, REPORT_TEXT.hash, 'reports/', '/events');
  }

  #eventsFromLists(report: ReportId, corrective: boolean, out: ByteWriter): boolean {
    const lists = this.#of(report);
    if (lists === null) return false;
    const columns = this.#view.reports.eventColumns(report);
    return columns !== undefined && writeEventsFromLists(columns, lists, corrective, out);
  }
}

/** False, and nothing: there are no events, what is shown of them does not lie in the lists, or there is no WebAssembly. */
export function writeEventsFromLists(columns: Buffer, lists: Buffer, corrective: boolean, out: ByteWriter): boolean {
  const resources = packedStart(lists, 'resources');
  return resources !== null && eventsInKernel(FORM, columns, lists, resources, corrective, out);
}

/** Events of any report. */
export function writeEvents(events: StoredEvents, corrective: boolean, out: ByteWriter): void {
  if (events.length === 0) {
    out.piece(NULL);
    return;
  }
  for (let i = 0; i < events.length; i++) {
    out.byte(i === 0 ? OPEN_LIST : COMMA);
    writeEvent(events.at(i), corrective, out);
  }
  out.byte(CLOSE_LIST);
}

function writeEvent(event: StoredEvents, corrective: boolean, out: ByteWriter): void {
  const { values } = event;
  for (const { before, kind, place } of WRITTEN_MEMBERS) {
    out.piece(before);
    if (kind === 'coded') event.writeCoded(place, out);
    else if (kind === 'shown') values.write(place, out);
    else if (kind === 'value') writeEventValue(values, place, out);
    else if (kind === 'time') out.text(formatEventTime(event.timestamp));
    else if (corrective) event.writeCoded(place, out);
    else out.piece(NULL);
  }
  out.byte(CLOSE_MAP);
}

/** Events keep the text of a value; inside a report it is spelled as stored values are. Strings, and words, are the same in both. */
function writeEventValue(values: TextRecord, place: number, out: ByteWriter): void {
  const first = values.bytes[values.startOf(place)]!;
  if (first === QUOTE || (first >= LOWER_A && first <= LOWER_Z)) values.write(place, out);
  else out.text(FORM.value(values.text(place)));
}
