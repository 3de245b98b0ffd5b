// How many reports of each kind (report-kinds.ts) a partition has of each quarter of an hour of their producers' times, so that reports within
// given times are counted without a look at each of them. A period's record has the mark and the count of each kind.

import type { Database } from 'lmdb';
import { FIRST_TIME_KEY, LAST_TIME_KEY, timeKey, timeOfKey } from '../file/keys.ts';
import { fast, type ReadOptions } from '../file/lmdb.ts';

/** Milliseconds. */
export const PERIOD_MS = 900_000;

/** Epoch ms at which the period begins that has this time. */
export const periodOf = (time: number): number => Math.floor(time / PERIOD_MS) * PERIOD_MS;

type PeriodTable = Database<Buffer, Buffer>;

/** The time at which it begins; a key like those of times. */
const keyOf = (period: number): Buffer => timeKey(period, 0);

const ENTRY = 8;

/** Counts by kinds' marks. */
function decode(bytes: Uint8Array | undefined): Map<number, number> {
  const counts = new Map<number, number>();
  if (bytes === undefined) return counts;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.byteLength; at += ENTRY)
    counts.set(view.getUint32(at, true), view.getUint32(at + 4, true));
  return counts;
}

function encode(counts: ReadonlyMap<number, number>): Buffer {
  const bytes = Buffer.allocUnsafe(counts.size * ENTRY);
  let at = 0;
  for (const [mark, count] of counts) {
    at = bytes.writeUInt32LE(mark, at);
    at = bytes.writeUInt32LE(count, at);
  }
  return bytes;
}

/** The counts of one partition, for its writer. */
export class PeriodCounts {
  /** By period and mark, what the transaction changes. */
  readonly #changes = new Map<number, Map<number, number>>();

  /** What an earlier transaction changed, and took back, is forgotten. */
  begin(): void {
    this.#changes.clear();
  }

  /** One more, or one less, of the kind with that mark at that producer's time. */
  add(time: number, mark: number, by: 1 | -1): void {
    const period = periodOf(time);
    let changes = this.#changes.get(period);
    if (changes === undefined) this.#changes.set(period, (changes = new Map()));
    changes.set(mark, (changes.get(mark) ?? 0) + by);
  }

  flush(table: PeriodTable): void {
    for (const [period, changes] of this.#changes) {
      const key = keyOf(period);
      const counts = decode(fast(table, key));
      for (const [mark, by] of changes) {
        const count = (counts.get(mark) ?? 0) + by;
        if (count > 0) counts.set(mark, count);
        else counts.delete(mark);
      }
      if (counts.size === 0) table.removeSync(key);
      else table.putSync(key, encode(counts));
    }
  }
}

export interface ReportPeriod {
  /** Epoch ms. */
  readonly start: number;
  /** By mark of a kind. */
  readonly counts: ReadonlyMap<number, number>;
}

/** Those that have reports of times within, in their order. Bounds are epoch ms, inclusive; null: there is none. */
export function* readPeriods(
  table: PeriodTable,
  from: number | null,
  to: number | null,
  options: ReadOptions,
): Generator<ReportPeriod, void, undefined> {
  const start = from === null ? FIRST_TIME_KEY : keyOf(periodOf(from));
  const end = to === null ? LAST_TIME_KEY : keyOf(to + 1);
  for (const { key, value } of table.getRange({ start, end, ...options }))
    yield { start: timeOfKey(key), counts: decode(value) };
}
