// The lists of a report as they are stored, all in one value.
//
//   u32 end of the logs | u32 end of the metrics (both counted from the value's start) | logs | metrics | resources
//   a list   nothing     the report has null there
//            0           packed (packed-list.ts)
//            1           the JSON text in raw deflate, for what cannot be packed

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { ByteWriter } from '../../bytes.ts';
import type { ListShape } from './list-shape.ts';
import { ListUnpacker } from './packed-list.ts';

const NO_LISTS: ListShape['lists'] = {};

/** What the lists' maps look like. Never changed: a new shape needs a form of its own, in the byte before the list. */
export const REPORT_LIST_SHAPES = {
  logs: { keys: ['file', 'line', 'tags', 'time', 'level', 'source', 'message'], lists: NO_LISTS },
  metrics: { keys: ['name', 'value', 'category'], lists: NO_LISTS },
  resources: {
    keys: [
      'file',
      'line',
      'events',
      'skipped',
      'timestamp',
      'resource_type',
      'resource_title',
      'containment_path',
      'corrective_change',
    ],
    lists: {
      events: {
        keys: ['name', 'status', 'message', 'property', 'new_value', 'old_value', 'timestamp', 'corrective_change'],
        lists: NO_LISTS,
      },
    },
  },
} as const satisfies Record<string, ListShape>;

export type ReportListName = keyof typeof REPORT_LIST_SHAPES;
export const REPORT_LISTS = ['logs', 'metrics', 'resources'] as const satisfies readonly ReportListName[];

/** A list in its stored form, null for null. */
export type StoredReportList =
  | { readonly form: 'packed'; readonly bytes: Uint8Array }
  | { readonly form: 'text'; readonly text: string }
  | null;

export type ReportLists = Readonly<Record<ReportListName, StoredReportList>>;

/** The ends of all lists but the last. */
const HEAD = (REPORT_LISTS.length - 1) * 4;
const PACKED = 0;
const DEFLATED = 1;

/** Memory that values are put together in: a new buffer for each makes V8 look through its heap for old ones more often. */
let memory = Buffer.allocUnsafeSlow(64 << 10);
const MEMORY_MAX = 1 << 20;

function memoryOf(size: number): Buffer {
  if (size > MEMORY_MAX) return Buffer.allocUnsafeSlow(size);
  if (size > memory.length) memory = Buffer.allocUnsafeSlow(Math.min(size * 2, MEMORY_MAX));
  return memory.subarray(0, size);
}

/** The value lasts until the next one is encoded. */
export function encodeReportLists(lists: ReportLists): Buffer {
  const parts = REPORT_LISTS.map((name) => encodeList(lists[name]));
  let size = HEAD;
  for (const part of parts) if (part !== null) size += 1 + part.bytes.length;
  const out = memoryOf(size);
  let at = HEAD;
  for (const [index, part] of parts.entries()) {
    if (part !== null) {
      out[at] = part.form;
      out.set(part.bytes, at + 1);
      at += 1 + part.bytes.length;
    }
    if (index < REPORT_LISTS.length - 1) out.writeUInt32LE(at, index * 4);
  }
  return out;
}

function encodeList(list: StoredReportList): { form: number; bytes: Uint8Array } | null {
  if (list === null) return null;
  if (list.form === 'packed') return { form: PACKED, bytes: list.bytes };
  return { form: DEFLATED, bytes: deflateRawSync(list.text, { level: 1 }) };
}

const UNPACKERS = {
  logs: new ListUnpacker(REPORT_LIST_SHAPES.logs),
  metrics: new ListUnpacker(REPORT_LIST_SHAPES.metrics),
  resources: new ListUnpacker(REPORT_LIST_SHAPES.resources),
};

const startOf = (bytes: Buffer, index: number): number => (index === 0 ? HEAD : bytes.readUInt32LE((index - 1) * 4));

const endOf = (bytes: Buffer, index: number): number =>
  index === REPORT_LISTS.length - 1 ? bytes.length : bytes.readUInt32LE(index * 4);

/** Where a list that is packed begins; null: it is not. */
export function packedStart(bytes: Buffer, name: ReportListName): number | null {
  const start = startOf(bytes, REPORT_LISTS.indexOf(name));
  return start < bytes.length && bytes[start] === PACKED ? start + 1 : null;
}

/** Bytes that a list takes; null when it is null. `bytes` end with the value. */
export function storedSize(bytes: Buffer, name: ReportListName): number | null {
  const index = REPORT_LISTS.indexOf(name);
  return endOf(bytes, index) - startOf(bytes, index) || null;
}

/** Appends the stored JSON text of a list; false, and nothing, when it is null. `bytes` end with the value. */
export function writeReportList(bytes: Buffer, name: ReportListName, out: ByteWriter): boolean {
  const index = REPORT_LISTS.indexOf(name);
  const start = startOf(bytes, index);
  const end = endOf(bytes, index);
  if (start === end) return false;
  if (bytes[start] === PACKED) UNPACKERS[name].write(bytes, start + 1, end, out);
  else out.put(inflateRawSync(bytes.subarray(start + 1, end)));
  return true;
}
