// The events of a report from the bytes of its `resources`, without values in between: they are put down as the store keeps them
// (store/records/event-record.ts) in the pass that reads the list (stored-list.ts). They are those of events.ts.
//
// Only what is stored as it was sent is taken: one value that is not (a list, a decimal, a string with unusual escapes), and
// events.ts makes them from values. What is only shown of an event is not stored once more: it is whole in the packed
// resources, and the events say where.

import type { EVENT_CODE, EVENT_VALUE } from '../../../store/records/event-record.ts';

/** Keys of the maps that a column comes from. The event of a skipped resource has all from the resource; null: nothing there. */
export interface EventSource {
  readonly event: string | null;
  readonly resource: string | null;
}

export interface EventSources {
  /** The Boolean that makes an event of the resource itself. */
  readonly skipped: string;
  /** The list of the others. */
  readonly list: string;
  readonly codes: Readonly<Record<keyof typeof EVENT_CODE, EventSource>>;
  readonly values: Readonly<Record<keyof typeof EVENT_VALUE, EventSource>>;
  readonly time: EventSource;
}

const ofEvent = (event: string): EventSource => ({ event, resource: null });
const ofResource = (resource: string): EventSource => ({ event: null, resource });
const ofBoth = (key: string): EventSource => ({ event: key, resource: key });

export const EVENT_SOURCES: EventSources = {
  skipped: 'skipped',
  list: 'events',
  codes: {
    // Of a skipped resource: skipped.
    status: ofEvent('status'),
    resourceType: ofResource('resource_type'),
    resourceTitle: ofResource('resource_title'),
    property: ofEvent('property'),
    name: ofEvent('name'),
    // Of the containment path.
    containingClass: { event: null, resource: null },
    // Of a skipped resource: false.
    correctiveChange: ofEvent('corrective_change'),
  },
  values: {
    newValue: ofEvent('new_value'),
    oldValue: ofEvent('old_value'),
    message: ofEvent('message'),
    file: ofResource('file'),
    line: ofResource('line'),
    containmentPath: ofResource('containment_path'),
  },
  time: ofBoth('timestamp'),
};
