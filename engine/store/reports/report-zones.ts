// Between which times the reports of a block are, and which statuses their events have. So blocks without any that are asked for are not read, and
// those that come first in the order of a time are found. A thread keeps this for its next queries, some bytes a block, and only of blocks that no
// report joins any more: then it stays true for later snapshots, as reports that go, and events that are dropped, only leave it wider than need be.

import { BLOCK_REPORTS, blockOf } from './report-blocks.ts';
import type { MarkBlock, ReportMarks } from './report-marks.ts';
import { BETWEEN, type Moment, type MomentBlock, type ReportMoments } from './report-moments.ts';
import { type ReportStatuses, STATUSES, type StatusBlock } from './report-statuses.ts';

const MOMENTS = Object.keys(BETWEEN) as readonly Moment[];
/** Numbers a block: the least and the greatest of each moment, and a bit for each status. */
const NUMBERS = MOMENTS.length * 2 + 1;
const STATUS = MOMENTS.length * 2;
/** Instead of bits: the statuses of some events are not known, or have no number. */
const ANY_STATUS = -1;
const PLACE: Readonly<Record<Moment, number>> = Object.fromEntries(
  MOMENTS.map((moment, i) => [moment, i * 2]),
) as Record<Moment, number>;
const FIRST_BLOCKS = 64;

/** What is read of a partition's reports. */
interface Blocks {
  readonly marks: ReportMarks;
  readonly moments: ReportMoments;
  readonly statuses: ReportStatuses;
  readonly idRange: { readonly first: number; readonly end: number };
}

/**
 * What is known at one snapshot, asked by the number of a block. One of which nothing is known may be between any times, and have any statuses.
 * Those that were not full in the snapshot stay so, though other queries of the thread get to know them: of these some of its reports may be gone.
 */
export class KnownZones {
  readonly #zones: ReportZones;
  readonly #end: number;

  /** `end`: the block behind the last one that was full. */
  constructor(zones: ReportZones, end: number) {
    this.#zones = zones;
    this.#end = end;
  }

  least(moment: Moment, number: number): number {
    return number < this.#end ? this.#zones.least(moment, number) : Number.NEGATIVE_INFINITY;
  }

  greatest(moment: Moment, number: number): number {
    return number < this.#end ? this.#zones.greatest(moment, number) : Number.POSITIVE_INFINITY;
  }

  /** Whether events of the block may have one of these statuses, by their numbers, or one that has no number. */
  hasStatus(statuses: readonly number[], number: number): boolean {
    return number >= this.#end || this.#zones.hasStatus(statuses, number);
  }
}

/** What a thread knows of a partition. Asked by way of `catchUp`. */
export class ReportZones {
  /** The first block that is known, and the one behind the last. */
  #first = 0;
  #end = 0;
  #bounds = new Float64Array(FIRST_BLOCKS * NUMBERS);
  /** How many reports had been changed or had gone when the last block was read. */
  #asOf = 0;

  /**
   * Reads the blocks that are not known yet, as far as they are full. `gone`: how many reports had been changed or had gone by the snapshot.
   * `tick` says when to yield. Returns what is known; null where it is not true of the snapshot, as what is read of a later one may lack what
   * has gone since.
   */
  *catchUp(
    { marks, moments, statuses, idRange }: Blocks,
    gone: number,
    tick: () => boolean,
  ): Generator<undefined, KnownZones | null> {
    const first = blockOf(Math.min(idRange.first, idRange.end));
    const end = Math.floor(idRange.end / BLOCK_REPORTS);
    this.#begin(first);
    while (this.#end < end) {
      const number = this.#end;
      const isKnown = Math.max(number * BLOCK_REPORTS, idRange.first) >= marks.since;
      this.#asOf = Math.max(this.#asOf, gone);
      this.#add(isKnown ? marks.at(number) : null, moments.at(number), statuses.at(number));
      if (tick()) yield;
    }
    return gone >= this.#asOf ? new KnownZones(this, end) : null;
  }

  least(moment: Moment, number: number): number {
    return this.#has(number) ? this.#bounds[this.#at(number) + PLACE[moment]]! : Number.NEGATIVE_INFINITY;
  }

  greatest(moment: Moment, number: number): number {
    return this.#has(number) ? this.#bounds[this.#at(number) + PLACE[moment] + 1]! : Number.POSITIVE_INFINITY;
  }

  hasStatus(statuses: readonly number[], number: number): boolean {
    const bits = this.#has(number) ? this.#bounds[this.#at(number) + STATUS]! : ANY_STATUS;
    if (bits === ANY_STATUS) return true;
    for (let i = 0; i < statuses.length; i++) if ((bits & (1 << statuses[i]!)) !== 0) return true;
    return false;
  }

  #has(number: number): boolean {
    return number >= this.#first && number < this.#end;
  }

  #at(number: number): number {
    return (number - this.#first) * NUMBERS;
  }

  /** Blocks before the first one have gone: they are forgotten once they are most of those that are known. */
  #begin(first: number): void {
    if (first - this.#first <= this.#end - first) return;
    const left = Math.max(0, this.#end - first);
    this.#bounds = this.#bounds.slice(this.#at(this.#end - left), this.#at(this.#end));
    this.#first = first;
    this.#end = first + left;
  }

  /** Of the next block. `marks`: null: of some of its reports nothing is known. */
  #add(marks: MarkBlock | null, moments: MomentBlock, statuses: StatusBlock): void {
    const at = this.#at(this.#end++);
    if (at + NUMBERS > this.#bounds.length) {
      const longer = new Float64Array(Math.max(FIRST_BLOCKS * NUMBERS, at * 2));
      longer.set(this.#bounds);
      this.#bounds = longer;
    }
    const bounds = this.#bounds.subarray(at, at + NUMBERS);
    for (let i = 0; i < STATUS; i++) bounds[i] = i % 2 === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    if (marks !== null && isAllTold(marks, moments)) {
      for (const [i, moment] of MOMENTS.entries()) span(moment, marks, moments, bounds, i * 2);
    } else for (let i = 0; i < STATUS; i++) bounds[i] = -bounds[i]!;
    bounds[STATUS] = marks !== null && isAllTold(marks, statuses) ? statusesOf(marks, statuses) : ANY_STATUS;
  }
}

function isAllTold(marks: MarkBlock, told: Pick<MomentBlock | StatusBlock, 'has'>): boolean {
  for (let place = 0; place < BLOCK_REPORTS; place++) if (marks.node(place) !== 0 && !told.has(place)) return false;
  return true;
}

/** A bit for each that events have. */
function statusesOf(marks: MarkBlock, statuses: StatusBlock): number {
  let bits = 0;
  for (let place = 0; place < BLOCK_REPORTS; place++) {
    if (marks.node(place) === 0) continue;
    for (let status = 0; status < STATUSES.length; status++) if (statuses.count(status, place) > 0) bits |= 1 << status;
  }
  return bits;
}

/** Widens the two numbers from `at` on. */
function span(moment: Moment, marks: MarkBlock, moments: MomentBlock, bounds: Float64Array, at: number): void {
  const { least, greatest } = BETWEEN[moment];
  for (let place = 0; place < BLOCK_REPORTS; place++) {
    if (marks.node(place) === 0) continue;
    const [low, high] = [least(moments, place), greatest(moments, place)];
    if (low < bounds[at]!) bounds[at] = low;
    if (high > bounds[at + 1]!) bounds[at + 1] = high;
  }
}
