// The times of reports that come first in the order of a time. Blocks of reports lie between known times (store/reports/report-zones.ts), so that only
// those are read that may have some of these.

import { nthInTurns } from '../../../nth.ts';
import { BETWEEN } from '../../../store/reports/report-moments.ts';
import { type BlockOrder, type BlocksInOrder, blocksDown } from './blocks-in-order.ts';
import type { ReportSieve, TakeReport } from './report-sieve.ts';

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

/** The reports of one partition, and what passes those that are rows. */
export interface SiftedBlocks {
  readonly blocks: BlocksInOrder;
  readonly sieve: ReportSieve;
}

/** Times of the reports that pass, at least of those that come first. null: of some of them no time is told. */
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
  const { scores, at } = joined(partitions);
  for (const { places, left } of blocksDown(scores)) {
    for (const place of places) {
      const { blocks, sieve, from } = at(place);
      const { first, end } = blocks.at(place - from);
      sieve.take(first, end, take);
      if (!areTold) {
        turns.hold(-found.byteLength);
        return null;
      }
      if (tick()) yield;
    }
    const times = found.all;
    if (times.length < rows) continue;
    const last = yield* nthInTurns(times, descending ? times.length - rows : rows - 1, tick);
    if ((descending ? last : -last) >= left) return { times, areAll: left === Number.NEGATIVE_INFINITY };
  }
  return { times: found.all, areAll: true };
}

/** The blocks of all partitions as those of one. */
function joined(partitions: readonly SiftedBlocks[]): {
  readonly scores: Float64Array;
  /** Whose block is at that place, and where its first one is. */
  at(place: number): SiftedBlocks & { readonly from: number };
} {
  const scores = new Float64Array(partitions.reduce((sum, { blocks }) => sum + blocks.scores.length, 0));
  let end = 0;
  const parts = partitions.map((part) => {
    const from = end;
    scores.set(part.blocks.scores, from);
    end += part.blocks.scores.length;
    return { ...part, from };
  });
  return { scores, at: (place) => parts.findLast(({ from }) => from <= place)! };
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

  get byteLength(): number {
    return this.#room.byteLength;
  }

  /** Those that there are, until there are more. */
  get all(): Float64Array {
    return this.#room.subarray(0, this.#length);
  }
}
