// How many reports a partition has of each kind: of those that are equal in the fields that take few values. So reports are counted, and
// grouped by these fields, without a look at each of them. A kind is stored as a report that has nothing but these fields.

import type { Database } from 'lmdb';
import { digest16 } from '../file/keys.ts';
import { fast, type ReadOptions } from '../file/lmdb.ts';
import type { ReportRecord } from '../records/records.ts';
import { decodeReport, encodeReport, REPORT_TEXT, StoredReport } from '../records/report-record.ts';
import type { Moment } from './report-moments.ts';

const KIND_FIELDS = [
  'type',
  'status',
  'environment',
  'producer',
  'noop',
  'noopPending',
  'correctiveChange',
  'cachedCatalogStatus',
] as const satisfies readonly (keyof ReportRecord & keyof typeof REPORT_TEXT)[];

type Kind = Pick<ReportRecord, (typeof KIND_FIELDS)[number]>;

/** Places of the fields that kinds have. */
export const KIND_PLACES: readonly number[] = KIND_FIELDS.map((field) => REPORT_TEXT[field]);

const NOTHING_ELSE: Omit<ReportRecord, keyof Kind> = {
  nodeId: 0,
  certname: '',
  hash: '',
  puppetVersion: '',
  reportFormat: 0,
  configurationVersion: '',
  startTime: 0,
  endTime: 0,
  producerTimestamp: 0,
  receiveTime: 0,
  transactionUuid: null,
  catalogUuid: null,
  codeId: null,
  jobId: null,
  eventCount: 0,
  eventTimeMin: 0,
  eventTimeMax: 0,
};

function encodeKind(report: Kind): Buffer {
  const { type, status, environment, producer, noop, noopPending, correctiveChange, cachedCatalogStatus } = report;
  const kind: Kind = { type, status, environment, producer, noop, noopPending, correctiveChange, cachedCatalogStatus };
  return encodeReport({ ...NOTHING_ELSE, ...kind });
}

/** Equal for reports of one kind. */
export const kindText = (report: Kind): string => JSON.stringify(KIND_FIELDS.map((field) => report[field]));

/** A kind as it is stored. */
interface StoredKind {
  /** Begins with its mark. */
  readonly key: Buffer;
  /** Has room for the count before the record. */
  readonly value: Buffer;
}

/** What tells a kind from most others, of the key under which it is stored. */
const markOf = (key: Buffer): number => key.readUInt32LE(0);

export const markOfKind = (report: Kind): number => markOf(digest16(encodeKind(report)));

/** Kinds that are remembered. */
const KNOWN_MAX = 4096;
const COUNT_SIZE = 4;

/** The counts of one partition, for its writer. */
export class KindCounts {
  readonly #known = new Map<string, StoredKind>();
  /** By kind, what the transaction changes. */
  readonly #changes = new Map<StoredKind, number>();

  /** What an earlier transaction changed, and took back, is forgotten. */
  begin(): void {
    this.#changes.clear();
    if (this.#known.size > KNOWN_MAX) this.#known.clear();
  }

  /** One more, or one less, of the report's kind. Returns its mark. */
  add(report: Kind, by: 1 | -1): number {
    const text = kindText(report);
    let kind = this.#known.get(text);
    if (kind === undefined) {
      const bytes = encodeKind(report);
      kind = { key: digest16(bytes), value: Buffer.concat([Buffer.alloc(COUNT_SIZE), bytes]) };
      this.#known.set(text, kind);
    }
    this.#changes.set(kind, (this.#changes.get(kind) ?? 0) + by);
    return markOf(kind.key);
  }

  flush(table: Database<Buffer, Buffer>): void {
    for (const [{ key, value }, by] of this.#changes) {
      if (by === 0) continue;
      const count = (fast(table, key)?.readUInt32LE(0) ?? 0) + by;
      value.writeUInt32LE(Math.max(0, count), 0);
      if (count <= 0) table.removeSync(key);
      else table.putSync(key, value);
    }
  }
}

/** More are found faster in a map. */
const FEW_MARKS = 16;

/** Finds marks of kinds, of which there mostly are few. */
export class KindMarks {
  readonly #marks: Uint32Array;
  readonly #places: ReadonlyMap<number, number> | null;

  constructor(marks: readonly number[]) {
    this.#marks = Uint32Array.from(marks);
    this.#places = marks.length > FEW_MARKS ? new Map(marks.map((mark, place) => [mark, place])) : null;
  }

  get length(): number {
    return this.#marks.length;
  }

  /** The mark's place; -1: it is not among them. */
  indexOf(mark: number): number {
    // A number of 32 bits is put on the heap to be looked for in a map.
    if (this.#places !== null) return this.#places.get(mark) ?? -1;
    const marks = this.#marks;
    for (let place = 0; place < marks.length; place++) if (marks[place] === mark) return place;
    return -1;
  }
}

export interface ReportKind {
  /** Another kind may have the same. */
  readonly mark: number;
  readonly count: number;
  /** Has the fields at KIND_PLACES; the others mean nothing. */
  readonly report: StoredReport;
}

/** Times that reports have one of each. */
export const TIME_NAMES = {
  producer: 'producerTimestamp',
  receive: 'receiveTime',
  start: 'startTime',
  end: 'endTime',
} as const satisfies Partial<Record<Moment, keyof ReportRecord>>;
export type OwnMoment = keyof typeof TIME_NAMES;
export type ReportTimes = Pick<ReportRecord, (typeof TIME_NAMES)[OwnMoment]>;

/** Gives a function that makes reports of that kind with some more fields, which must be the same ones at each call. */
export function reportsOf(
  kind: StoredReport,
): (more: Partial<ReportTimes & Pick<ReportRecord, 'certname'>>) => StoredReport {
  const record = decodeReport(kind.record.bytes);
  return (more) => {
    const report = new StoredReport();
    report.load(encodeReport(Object.assign(record, more)));
    return report;
  };
}

export function readKinds(table: Database<Buffer, Buffer>, options: ReadOptions): ReportKind[] {
  const kinds: ReportKind[] = [];
  for (const { key, value } of table.getRange({ ...options })) {
    const report = new StoredReport();
    report.load(Buffer.from(value.subarray(COUNT_SIZE)));
    kinds.push({ mark: markOf(key), count: value.readUInt32LE(0), report });
  }
  return kinds;
}
