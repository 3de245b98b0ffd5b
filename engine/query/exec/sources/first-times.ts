// The times of reports that come first in the order of a time. Blocks of reports lie between known times (store/reports/report-zones.ts), so that only
// those are read that may have some of these.

import { nthOf } from '../../../nth.ts';
import { BETWEEN } from '../../../store/reports/report-moments.ts';
import { BLOCKS_FIRST, BLOCKS_MORE, type BlockOrder, type SiftedBlocks } from './blocks-in-order.ts';
import type { TakeReport } from './report-sieve.ts';

export interface TimesWanted extends BlockOrder {
  /** How many rows lead to the end of the page. */
  readonly rows: number;
  /** They are so few that the index of times leads to them sooner where nearly all reports pass. */
  readonly areFew: boolean;
}

const TIMES_FIRST = 1024;

export interface FirstTimes {
  /** In no order. */
  readonly times: Float64Array;
  /** Whether there are no others. */
  readonly areAll: boolean;
}

/** What is told of time, and of memory for the times, which its caller gives back. */
interface Turns {
  tick(): boolean;
  hold(bytes: number): void;
}

/** Times of reports that pass, at least of those that come first. null: some of which no time is told are among them. */
export function* firstTimes(
  partitions: readonly SiftedBlocks[],
  { moment, descending, rows }: TimesWanted,
  turns: Turns,
): Generator<undefined, FirstTimes | null> {
  const tick = (): boolean => turns.tick();
  const { least: timeOf } = BETWEEN[moment];
  const found = new Floats((bytes) => turns.hold(bytes));
  let areTold = true;
  const take: TakeReport = (_, moments, place) => {
    if (moments.has(place)) found.push(timeOf(moments, place));
    else areTold = false;
  };
  const scores = joined(partitions.map((blocks) => blocks.scores));
  /** The least score that has been read; NaN: none was. */
  let above = Number.NaN;
  for (let wanted = BLOCKS_FIRST; ; wanted *= BLOCKS_MORE) {
    const isLast = wanted >= scores.length;
    const down = isLast ? Number.NEGATIVE_INFINITY : yield* nthOf(scores, scores.length - wanted, tick);
    // Of the blocks that are not read.
    let next = Number.NEGATIVE_INFINITY;
    for (const blocks of partitions) {
      for (let i = 0; i < blocks.scores.length; i++) {
        const score = blocks.scores[i]!;
        if (score < down) next = Math.max(next, score);
        else if (Number.isNaN(above) || score < above) {
          blocks.take(i, take);
          if (tick()) yield;
        }
      }
    }
    if (!areTold) return null;
    const times = found.all;
    if (isLast) return { times, areAll: true };
    above = down;
    if (times.length < rows) continue;
    const last = yield* nthOf(times, descending ? times.length - rows : rows - 1, tick);
    if ((descending ? last : -last) >= next) return { times, areAll: false };
  }
}

function joined(lists: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(lists.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}

/** Numbers that become more. */
class Floats {
  readonly #hold: (bytes: number) => void;
  #room = new Float64Array(0);
  #length = 0;

  constructor(hold: (bytes: number) => void) {
    this.#hold = hold;
  }

  push(number: number): void {
    if (this.#length === this.#room.length) {
      const longer = new Float64Array(Math.max(TIMES_FIRST, this.#length * 2));
      this.#hold(longer.byteLength - this.#room.byteLength);
      longer.set(this.#room);
      this.#room = longer;
    }
    this.#room[this.#length++] = number;
  }

  /** Those that there are, until there are more. */
  get all(): Float64Array {
    return this.#room.subarray(0, this.#length);
  }
}
