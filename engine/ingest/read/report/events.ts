// Resource events of a report (spec/commands.md 5): one per event of a resource that was not skipped, one made up
// for a skipped resource, none for an unchanged one. Events that agree in all fields of 4.9 are one event, the first.

import { canonicalK } from '../../../json/canonical.ts';
import type { JsonObject, JsonValue } from '../../../json/value.ts';
import type { EventRecord } from '../../../store/records/records.ts';
import type { Columns } from '../../command/columns.ts';
import { strictTime } from '../../command/validate.ts';
import { describeSpec } from '../catalog/read-resource.ts';

/** How many containers of the payload enclose an event's value: report, resources, resource, events, event. */
const VALUE_DEPTH = 5;

/**
 * Events of the report's `resources` (which conform to the wire table), in order. What a column does not take is noted in
 * `columns`.
 */
export function deriveEvents(resources: readonly JsonValue[], columns: Columns): EventRecord[] {
  const events: EventRecord[] = [];
  const seen = new Set<string>();
  let repeated = 0;
  for (let index = 0; index < resources.length; index++) {
    const resource = resources[index] as JsonObject;
    const skipped = resource['skipped'] as boolean;
    const own = (resource['events'] ?? []) as readonly JsonObject[];
    if (!skipped && own.length === 0) continue;
    columns.about(resource, describeResource);
    const shared = sharedFields(resource, columns);
    repeated += sizeOf(shared) * Math.max(1, own.length);
    if (repeated > REPEATED_MAX) {
      columns.refuse(
        'its events repeat too much text: each has the title, the file and the containment path of its resource.',
      );
      return events;
    }
    if (skipped) {
      addDistinct(events, seen, skippedEvent(shared, time(resource)));
      continue;
    }
    for (let at = 0; at < own.length; at++)
      addDistinct(events, seen, plainEvent(shared, own[at] as JsonObject, columns));
  }
  columns.aboutAll();
  return events;
}

/** What the events of a report may have of their resources, in bytes: some thousand events with long titles have a hundredth of it. */
const REPEATED_MAX = 64 << 20;
/** What an element of a path takes beside its text. */
const ELEMENT_SIZE = 3;

function sizeOf({ resourceTitle, file, containmentPath }: SharedFields): number {
  let size = resourceTitle.length + (file?.length ?? 0);
  for (const element of containmentPath ?? []) size += element.length + ELEMENT_SIZE;
  return size;
}

const describeResource = (resource: JsonObject): string =>
  `Resource ${describeSpec(resource['resource_type'] ?? null, resource['resource_title'] ?? null)}`;

interface SharedFields {
  readonly resourceType: string;
  readonly resourceTitle: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly containmentPath: readonly string[] | null;
  readonly containingClass: string | null;
}

function sharedFields(resource: JsonObject, columns: Columns): SharedFields {
  const path = resource['containment_path'] as readonly string[] | null;
  if (path !== null) for (const element of path) columns.text(element, 'containment_path');
  return {
    resourceType: columns.text(resource['resource_type'] as string, 'resource_type'),
    resourceTitle: columns.text(resource['resource_title'] as string, 'resource_title'),
    file: columns.textOrNull(resource['file'] as string | null, 'file'),
    line: columns.integer(resource['line'] as JsonValue, 'line'),
    containmentPath: path,
    containingClass: containingClass(path),
  };
}

function skippedEvent(shared: SharedFields, timestamp: number): EventRecord {
  return {
    status: 'skipped',
    timestamp,
    resourceType: shared.resourceType,
    resourceTitle: shared.resourceTitle,
    property: null,
    name: null,
    newValue: 'null',
    oldValue: 'null',
    message: null,
    file: shared.file,
    line: shared.line,
    containmentPath: shared.containmentPath,
    containingClass: shared.containingClass,
    correctiveChange: false,
  };
}

function plainEvent(shared: SharedFields, event: JsonObject, columns: Columns): EventRecord {
  return {
    status: columns.text(event['status'] as string, 'status'),
    timestamp: time(event),
    resourceType: shared.resourceType,
    resourceTitle: shared.resourceTitle,
    property: columns.textOrNull(event['property'] as string | null, 'property'),
    name: columns.textOrNull((event['name'] ?? null) as string | null, 'name'),
    newValue: eventValue(event['new_value'] as JsonValue),
    oldValue: eventValue(event['old_value'] as JsonValue),
    message: columns.textOrNull(event['message'] as string | null, 'message'),
    file: shared.file,
    line: shared.line,
    containmentPath: shared.containmentPath,
    containingClass: shared.containingClass,
    correctiveChange: event['corrective_change'] as boolean | null,
  };
}

const time = (object: JsonObject): number => strictTime(object['timestamp'] as string) as number;

/** NUL is replaced in a plain string only; inside lists and maps it stays. */
function eventValue(value: JsonValue): string {
  if (typeof value === 'string' && value.includes('\u0000')) return canonicalK(value.replaceAll('\u0000', '\ufffd'));
  return canonicalK(value, VALUE_DEPTH);
}

/** The innermost class: the last element of the path that is not empty and names no resource (`Type[title]`). */
function containingClass(path: readonly string[] | null): string | null {
  if (path === null) return null;
  for (let index = path.length - 1; index >= 0; index--) {
    const element = path[index] as string;
    if (element !== '' && !element.includes('[')) return element;
  }
  return null;
}

// The fields of 4.9 without the report. No stored text contains NUL (columns refuse it), so it separates them safely.
function addDistinct(events: EventRecord[], seen: Set<string>, event: EventRecord): void {
  const identity =
    `${event.timestamp}\u0000${event.line}\u0000${event.status}\u0000${event.resourceType}\u0000${event.resourceTitle}` +
    `\u0000${mark(event.property)}\u0000${mark(event.name)}\u0000${mark(event.file)}\u0000${mark(event.message)}` +
    `\u0000${event.newValue}\u0000${event.oldValue}`;
  if (seen.has(identity)) return;
  seen.add(identity);
  events.push(event);
}

const mark = (text: string | null): string => (text === null ? '-' : `+${text}`);
