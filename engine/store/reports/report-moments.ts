// The times of a partition's reports side by side, so that reports are put in order, told apart and counted by them without their records:
//
//   producer, receive          48 bits: milliseconds, counted from so early that 0 is no time
//   start, end                 32 bits: milliseconds from the producer's time
//   first and last event       the same; where there are no events the last one is before the first
//
// Nothing is told of a report with a time that does not fit, nor of those that came before this was kept: the producer's time is 0, as where there is
// no report.

import type { ReadOptions } from '../file/lmdb.ts';
import type { ReportId, ReportRecord } from '../records/records.ts';
import {
  BLOCK_REPORTS,
  BlockReader,
  type BlockTable,
  BlockWriter,
  blockOf,
  placeIn,
  ReportBlock,
} from './report-blocks.ts';

type Times = Pick<
  ReportRecord,
  'startTime' | 'endTime' | 'producerTimestamp' | 'receiveTime' | 'eventCount' | 'eventTimeMin' | 'eventTimeMax'
>;

/** What is added to epoch milliseconds: the year -260 is 0. */
const EARLIEST = 2 ** 46;
const TWO_32 = 2 ** 32;
const LATEST = 2 ** 48 - 1 - EARLIEST;
const FARTHEST = 2 ** 31 - 1;
/** Numbers of 32 bits a report. */
const WORDS = 6;
const BLOCK_BYTES = BLOCK_REPORTS * (WORDS * 4 + 2 * 2);

const isTime = (ms: number): boolean => ms > -EARLIEST && ms <= LATEST;
const isNear = (ms: number): boolean => ms >= -FARTHEST && ms <= FARTHEST;

/** A time of reports, or one of their events', of which it is known between which two they are. */
export type Moment = 'producer' | 'receive' | 'start' | 'end' | 'event';

/** Times of the reports of a block. */
export class MomentBlock extends ReportBlock {
  readonly bytes = Buffer.alloc(BLOCK_BYTES);
  /** By place: the low halves of the producer's times, and of the times of receipt. */
  readonly #low = new Uint32Array(this.bytes.buffer, this.bytes.byteOffset, BLOCK_REPORTS * 2);
  /** By place: starts, then ends, first events, last events. */
  readonly #near = new Int32Array(this.bytes.buffer, this.bytes.byteOffset + this.#low.byteLength, BLOCK_REPORTS * 4);
  /** By place: the high halves. */
  readonly #high = new Uint16Array(
    this.bytes.buffer,
    this.bytes.byteOffset + this.#low.byteLength + this.#near.byteLength,
    BLOCK_REPORTS * 2,
  );

  /** Whether its times are told. */
  has(place: number): boolean {
    return this.#low[place] !== 0 || this.#high[place] !== 0;
  }

  producer(place: number): number {
    return this.#high[place]! * TWO_32 + this.#low[place]! - EARLIEST;
  }

  receive(place: number): number {
    return this.producer(BLOCK_REPORTS + place);
  }

  start(place: number): number {
    return this.producer(place) + this.#near[place]!;
  }

  end(place: number): number {
    return this.producer(place) + this.#near[BLOCK_REPORTS + place]!;
  }

  firstEvent(place: number): number {
    return this.producer(place) + this.#near[BLOCK_REPORTS * 2 + place]!;
  }

  lastEvent(place: number): number {
    return this.producer(place) + this.#near[BLOCK_REPORTS * 3 + place]!;
  }

  set(place: number, report: Times): void {
    const { producerTimestamp: producer, receiveTime } = report;
    const hasEvents = report.eventCount > 0;
    const near = [
      report.startTime - producer,
      report.endTime - producer,
      hasEvents ? report.eventTimeMin - producer : FARTHEST,
      hasEvents ? report.eventTimeMax - producer : -FARTHEST,
    ];
    if (!isTime(producer) || !isTime(receiveTime) || !near.every(isNear)) {
      this.clear(place);
      return;
    }
    this.#setTime(place, producer);
    this.#setTime(BLOCK_REPORTS + place, receiveTime);
    for (let i = 0; i < near.length; i++) this.#near[BLOCK_REPORTS * i + place] = near[i]!;
  }

  clear(place: number): void {
    this.#low[place] = 0;
    this.#high[place] = 0;
  }

  #setTime(at: number, ms: number): void {
    this.#high[at] = Math.floor((ms + EARLIEST) / TWO_32);
    this.#low[at] = (ms + EARLIEST) % TWO_32;
  }
}

/** Epoch ms, of a report in a block of which times are told. */
type TimeOf = (block: MomentBlock, place: number) => number;

/** Between which two times a report's is: both are that time itself, except where it is its events'. */
export const BETWEEN: Readonly<Record<Moment, { readonly least: TimeOf; readonly greatest: TimeOf }>> = {
  producer: exact((block, place) => block.producer(place)),
  receive: exact((block, place) => block.receive(place)),
  start: exact((block, place) => block.start(place)),
  end: exact((block, place) => block.end(place)),
  event: { least: (block, place) => block.firstEvent(place), greatest: (block, place) => block.lastEvent(place) },
};

function exact(timeOf: TimeOf): { readonly least: TimeOf; readonly greatest: TimeOf } {
  return { least: timeOf, greatest: timeOf };
}

const newBlock = (): MomentBlock => new MomentBlock();

/** The times of one partition's reports, for its writer. */
export class MomentWriter extends BlockWriter<MomentBlock> {
  constructor() {
    super(newBlock);
  }

  set(table: BlockTable, id: ReportId, report: Times): void {
    this.of(table, id).set(placeIn(id), report);
  }
}

/** The times of one partition's reports at a snapshot. */
export class ReportMoments extends BlockReader<MomentBlock> {
  constructor(table: BlockTable, options: ReadOptions) {
    super(newBlock, table, options);
  }

  /** Whether what is told of a report that is there is so. */
  isRight(id: ReportId, report: Times): boolean {
    const block = this.at(blockOf(id));
    if (!block.has(placeIn(id))) return true;
    const right = newBlock();
    right.bytes.set(block.bytes);
    right.set(placeIn(id), report);
    return right.bytes.equals(block.bytes);
  }
}
