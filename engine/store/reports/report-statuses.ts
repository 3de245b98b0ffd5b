// How many events of each status a partition's reports have, side by side, so that events are counted by their status, and reports without one of a
// status are passed over, without opening any. 16 bits a status. Nothing is told of a report that has more of one, or one with another status, nor of
// those that came before this was kept.

import type { ReadOptions } from '../file/lmdb.ts';
import { EVENT_CODE, encodeEvents, StoredEvents, textCounts } from '../records/event-record.ts';
import { quoted } from '../records/fields.ts';
import type { ReportId } from '../records/records.ts';
import {
  BLOCK_REPORTS,
  BlockReader,
  type BlockTable,
  BlockWriter,
  blockOf,
  placeIn,
  ReportBlock,
} from './report-blocks.ts';

/** By number. Events of others are not told. */
export const STATUSES = ['success', 'failure', 'noop', 'skipped'] as const;

/** By JSON text of a status: its number. */
const NUMBERS: ReadonlyMap<string, number> = new Map(STATUSES.map((status, number) => [quoted(status), number]));
const BLOCK_BYTES = BLOCK_REPORTS * STATUSES.length * 2;
/** The first count has 1 more: 0 there means that nothing is told. */
const TOLD = 1;
const MOST = 0xffff - TOLD;

/** By number of a status; null: they are not told. */
type Counts = readonly number[] | null;

const NO_EVENTS: Counts = STATUSES.map(() => 0);

/** Of events with these columns; null: there are none. */
function countsOf(columns: Buffer | null): Counts {
  if (columns === null) return NO_EVENTS;
  const counts = STATUSES.map(() => 0);
  for (const { text, count } of textCounts(columns, EVENT_CODE.status)) {
    const number = NUMBERS.get(text);
    if (number === undefined || count > MOST) return null;
    counts[number] = count;
  }
  return counts;
}

/** How many events of each status the reports of a block have. */
export class StatusBlock extends ReportBlock {
  readonly bytes = Buffer.alloc(BLOCK_BYTES);
  /** By status: by place. */
  readonly #counts = new Uint16Array(this.bytes.buffer, this.bytes.byteOffset, BLOCK_REPORTS * STATUSES.length);

  /** Whether the report's are told. */
  has(place: number): boolean {
    return this.#counts[place] !== 0;
  }

  /** How many events of that status the report has; it is told. */
  count(status: number, place: number): number {
    return this.#counts[status * BLOCK_REPORTS + place]! - (status === 0 ? TOLD : 0);
  }

  /** `columns`: of the report's events, null where there are none. */
  set(place: number, columns: Buffer | null): void {
    const counts = countsOf(columns);
    if (counts === null) this.clear(place);
    else
      for (let status = 0; status < STATUSES.length; status++)
        this.#counts[status * BLOCK_REPORTS + place] = counts[status]! + (status === 0 ? TOLD : 0);
  }

  clear(place: number): void {
    this.#counts[place] = 0;
  }
}

const newBlock = (): StatusBlock => new StatusBlock();

/** The counts of one partition's reports, for its writer. */
export class StatusWriter extends BlockWriter<StatusBlock> {
  constructor() {
    super(newBlock);
  }

  /** `columns`: of the report's events, null where there are none. */
  set(table: BlockTable, id: ReportId, columns: Buffer | null): void {
    this.of(table, id).set(placeIn(id), columns);
  }
}

/** The counts of one partition's reports at a snapshot. */
export class ReportStatuses extends BlockReader<StatusBlock> {
  constructor(table: BlockTable, options: ReadOptions) {
    super(newBlock, table, options);
  }

  /** Whether what is told of a report that is there is so. `columns`: of its events, null where there are none. */
  isRight(id: ReportId, columns: Buffer | null): boolean {
    const block = this.at(blockOf(id));
    const place = placeIn(id);
    if (!block.has(place)) return true;
    return countsOf(columns)?.every((count, status) => block.count(status, place) === count) ?? false;
  }
}

/**
 * Gives a function that makes, for the number of a status, events of which there is one: it has that status and nothing else, and is the present
 * one. They last until the next call.
 */
export function eventsOfStatus(): (status: number) => StoredEvents {
  let present = ONE_OF_EACH[0]!;
  const events = new StoredEvents({
    eventColumns: () => present.columns,
    eventValues: () => present.values ?? undefined,
    reportLists: () => undefined,
  });
  /** No report has such a number. */
  let number = 0;
  return (status) => {
    present = ONE_OF_EACH[status]!;
    events.open(--number);
    return events;
  };
}

const NOTHING_ELSE = {
  timestamp: 0,
  resourceType: '',
  resourceTitle: '',
  property: null,
  name: null,
  newValue: 'null',
  oldValue: 'null',
  message: null,
  file: null,
  line: null,
  containmentPath: null,
  containingClass: null,
  correctiveChange: null,
};

/** By number of a status. */
const ONE_OF_EACH = STATUSES.map((status) => encodeEvents([{ ...NOTHING_ELSE, status }]));
