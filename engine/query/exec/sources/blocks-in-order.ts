// Blocks of reports in the order of a time, as far as it is known between which times they are (store/reports/report-zones.ts): a page in that order
// needs those that come first.

import { nthOf } from '../../../nth.ts';
import type { ReportId } from '../../../store/records/records.ts';
import type { IdRange } from '../../../store/report-view.ts';
import { BLOCK_REPORTS, blockOf } from '../../../store/reports/report-blocks.ts';
import type { Moment } from '../../../store/reports/report-moments.ts';
import type { ReportZones } from '../../../store/reports/report-zones.ts';
import type { Behind } from '../order/behind.ts';
import { NO_REPORT } from './report-ids.ts';
import type { ReportSieve, TakeReport } from './report-sieve.ts';

export interface BlockOrder {
  readonly moment: Moment;
  readonly descending: boolean;
}

/** So many blocks are put in order first, and each time so many times as many. */
export const BLOCKS_FIRST = 8;
export const BLOCKS_MORE = 4;

/** The blocks of one partition. Of two of them the one with the greater score comes first. */
class BlocksInOrder {
  /** By place of a block: what none of its reports is before. */
  readonly scores: Float64Array;
  readonly #range: IdRange;

  constructor(range: IdRange, zones: ReportZones, { moment, descending }: BlockOrder) {
    const { first, end } = range;
    this.#range = range;
    this.scores = new Float64Array(end > first ? blockOf(end - 1) - blockOf(first) + 1 : 0);
    for (let i = 0; i < this.scores.length; i++) {
      const number = blockOf(first) + i;
      this.scores[i] = descending ? zones.greatest(moment, number) : -zones.least(moment, number);
    }
  }

  /** The ids of that block. */
  at(place: number): IdRange {
    const number = blockOf(this.#range.first) + place;
    const end = Math.min(this.#range.end, (number + 1) * BLOCK_REPORTS);
    return { first: Math.max(this.#range.first, number * BLOCK_REPORTS), end };
  }
}

/** With what tells their reports. */
export class SiftedBlocks extends BlocksInOrder {
  readonly #sieve: ReportSieve;

  constructor(range: IdRange, zones: ReportZones, order: BlockOrder, sieve: ReportSieve) {
    super(range, zones, order);
    this.#sieve = sieve;
  }

  /** Calls with those of the block's reports that pass. */
  take(place: number, take: TakeReport): void {
    const { first, end } = this.at(place);
    this.#sieve.take(first, end, take);
  }
}

/** Places by their scores, the greatest first: some at a time, as mostly few are asked for. */
function* placesDown(scores: Float64Array): Generator<number, void, undefined> {
  const room = scores.slice();
  let above = Number.NaN;
  for (let wanted = BLOCKS_FIRST; ; wanted *= BLOCKS_MORE) {
    const isLast = wanted >= scores.length;
    const down = isLast ? Number.NEGATIVE_INFINITY : atOnce(nthOf(room, scores.length - wanted, () => false));
    const places: number[] = [];
    for (let i = 0; i < scores.length; i++) {
      const score = scores[i]!;
      if (score >= down && (Number.isNaN(above) || score < above)) places.push(i);
    }
    yield* places.sort((a, b) => scores[b]! - scores[a]! || b - a);
    if (isLast) return;
    above = down;
  }
}

function atOnce<T>(work: Generator<undefined, T>): T {
  const { done, value } = work.next();
  if (!done) throw new Error('there was a pause');
  return value;
}

/**
 * The reports of blocks in that order, without blocks that are behind the page as far as that is filled, and without reports that the sieve does
 * not pass. Between blocks NO_REPORT.
 */
export function* idsInOrder(
  range: IdRange,
  zones: ReportZones,
  order: BlockOrder,
  sieve: ReportSieve | null,
  behind: Behind,
): Generator<ReportId, void, undefined> {
  const blocks = new BlocksInOrder(range, zones, order);
  for (const place of placesDown(blocks.scores)) {
    const score = blocks.scores[place]!;
    if (behind.hasValue(order.descending ? score : -score)) return;
    const { first, end } = blocks.at(place);
    if (sieve === null) for (let id = first; id < end; id++) yield id;
    else yield* sieve.within({ first, end });
    yield NO_REPORT;
  }
}
