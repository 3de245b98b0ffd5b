// Blocks of reports in the order of a time, as far as it is known between which times they are (store/reports/report-zones.ts): a page in that order
// needs those that come first.

import { nthOf } from '../../../nth.ts';
import type { ReportId } from '../../../store/records/records.ts';
import type { IdRange } from '../../../store/report-view.ts';
import { BLOCK_REPORTS, blockOf } from '../../../store/reports/report-blocks.ts';
import type { Moment } from '../../../store/reports/report-moments.ts';
import type { KnownZones } from '../../../store/reports/report-zones.ts';
import type { Behind } from '../order/behind.ts';
import { NO_REPORT } from './report-ids.ts';
import type { ReportSieve } from './report-sieve.ts';

export interface BlockOrder {
  readonly moment: Moment;
  readonly descending: boolean;
}

/** So many blocks are put in order first, and each time so many times as many. */
const BLOCKS_FIRST = 8;
const BLOCKS_MORE = 4;

/** The blocks of one partition. Of two of them the one with the greater score comes first. */
export class BlocksInOrder {
  /** By place of a block: what none of its reports is before. */
  readonly scores: Float64Array;
  readonly #range: IdRange;

  constructor(range: IdRange, zones: KnownZones, { moment, descending }: BlockOrder) {
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

interface NextBlocks {
  /** As they lie. */
  readonly places: number[];
  /** The greatest score of the blocks that are left. */
  readonly left: number;
}

/** Places of blocks by their scores, the greatest first: some at a time, as mostly few are asked for. */
export function* blocksDown(scores: Float64Array): Generator<NextBlocks, void, undefined> {
  const room = scores.slice();
  /** The least score that there was; NaN: there was none. */
  let above = Number.NaN;
  for (let wanted = BLOCKS_FIRST; !(above === Number.NEGATIVE_INFINITY); wanted *= BLOCKS_MORE) {
    const down = wanted >= scores.length ? Number.NEGATIVE_INFINITY : nthOf(room, scores.length - wanted);
    const places: number[] = [];
    let left = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < scores.length; i++) {
      const score = scores[i]!;
      if (score < down) left = Math.max(left, score);
      else if (Number.isNaN(above) || score < above) places.push(i);
    }
    yield { places, left };
    above = down;
  }
}

/**
 * The reports of blocks in that order, without blocks that are behind the page as far as that is filled, and without reports that the sieve does
 * not pass. Between blocks NO_REPORT.
 */
export function* idsInOrder(
  range: IdRange,
  zones: KnownZones,
  order: BlockOrder,
  sieve: ReportSieve | null,
  behind: Behind,
): Generator<ReportId, void, undefined> {
  const blocks = new BlocksInOrder(range, zones, order);
  const { scores } = blocks;
  for (const { places } of blocksDown(scores)) {
    for (const place of places.sort((a, b) => scores[b]! - scores[a]! || b - a)) {
      const score = scores[place]!;
      if (behind.hasValue(order.descending ? score : -score)) return;
      const { first, end } = blocks.at(place);
      if (sieve === null) for (let id = first; id < end; id++) yield id;
      else yield* sieve.within({ first, end });
      yield NO_REPORT;
    }
  }
}
