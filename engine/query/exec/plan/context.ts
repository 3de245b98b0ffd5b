// What one query holds while it runs: a snapshot of every partition that it may read, its deadline, its clock, and the results of subqueries
// that were evaluated already. Created per query, closed with it.

import { TooLong } from '../../../bytes.ts';
import { slotOf } from '../../../store/file/store-info.ts';
import type { Partition } from '../../../store/partition.ts';
import type { View } from '../../../store/view.ts';
import { QueryError } from '../../errors.ts';
import { budgetOf, type StepBudget } from '../../regex/budget.ts';
import { type CheckRegex, type CompileRegex, checkRegex, compileRegex, type Matcher } from '../../regex/regex.ts';
import type { Filter } from '../../tree.ts';
import type { ValueSet } from '../filter/value-set.ts';
import { KEEPING, type Keeping, type Room } from '../row/room.ts';
import { Trace } from './trace.ts';

export interface ContextOptions {
  /** Epoch ms when the query began: `now` of its rules. */
  readonly now: number;
  /** Epoch ms clock for deadlines and time slices. */
  readonly clock: () => number;
  /** Monotonic milliseconds with fractions, for the times of steps. Default: `clock`. */
  readonly stopwatch?: (() => number) | undefined;
  /** Epoch ms after which the query ends with an error; Infinity for none. Known only once the parameters have been read. */
  readonly deadline: () => number;
  /** Milliseconds: horizon of `node_state = inactive`; 0: no horizon. */
  readonly nodePurgeTtl: number;
  /** Milliseconds' worth of regular expressions; Infinity for no bound. */
  readonly regexBudget: number;
  readonly edition: 'community' | 'enterprise';
  /** true once the client is gone. */
  readonly cancelled: () => boolean;
  /** Milliseconds of work after which `tick` asks to yield. */
  readonly slice: number;
  /** Places of a page's last row up to which rows are kept one by one; default: half a million. */
  readonly keptMax?: number | undefined;
  /** Bytes for what queries keep that grows with their rows (`hold`), those of the thread all together; absent: any. */
  readonly room?: Room | undefined;
  /** Bytes of an item that may be looked at: there is no pause in the middle of one. Absent: any. */
  readonly itemMax?: number | undefined;
}

/** Thrown when the client is gone: nobody reads the answer. */
export class Cancelled extends Error {
  constructor() {
    super('cancelled');
    this.name = 'Cancelled';
  }
}

const TICK_ROWS = 64;
/** So much of a long item is as much work as a row. More than most items have: small queries are to look at the clock as seldom as they did. */
const ROW_BYTES = 2048;

export class ExecContext {
  readonly #partitions: readonly Partition[];
  readonly #views: View[] = [];
  #isWhole = false;
  readonly options: ContextOptions;
  readonly subqueries = new Map<Filter, ValueSet>();
  readonly trace: Trace;
  readonly #matchers = new Map<string, Matcher>();
  readonly #regexBudget: StepBudget;
  readonly #itemMax: number;
  #sliceEnd: number;
  /** Until the next look at the clock. */
  #rowsLeft = TICK_ROWS;
  /** Bytes. */
  #held = 0;
  #closed = false;

  constructor(partitions: readonly Partition[], options: ContextOptions) {
    this.#partitions = partitions;
    this.options = options;
    this.#itemMax = options.itemMax ?? Number.POSITIVE_INFINITY;
    this.#sliceEnd = options.clock() + options.slice;
    this.#regexBudget = budgetOf(options.regexBudget, () => this.#look());
    this.trace = new Trace(options.stopwatch ?? options.clock);
  }

  /** Snapshots of all partitions: those that are not there yet are taken together. */
  get views(): readonly View[] {
    if (!this.#isWhole) {
      for (let part = 0; part < this.parts; part++) this.view(part);
      this.#isWhole = true;
    }
    return this.#views;
  }

  /** The snapshot of one partition: a query about one node takes no other. */
  view(part: number): View {
    return (this.#views[part] ??= this.#partitions[part]!.snapshot());
  }

  /** The partition that a certname belongs to. */
  partOf(certname: string): number {
    return slotOf(certname, this.#partitions.length);
  }

  get parts(): number {
    return this.#partitions.length;
  }

  /** A matcher of the query's own: made once, and its work counts against the query's budget. Throws like compileRegex. */
  readonly regex: CompileRegex = (pattern) => {
    let matcher = this.#matchers.get(pattern);
    if (matcher === undefined) {
      this.#regexBudget.reads(pattern);
      matcher = compileRegex(pattern, { budget: this.#regexBudget });
      this.#matchers.set(pattern, matcher);
    }
    return matcher;
  };

  /** Throws QueryError for a pattern that no matcher can be made of. That counts against the query's budget, too. */
  readonly checkRegex: CheckRegex = (pattern) => {
    this.#regexBudget.reads(pattern);
    checkRegex(pattern);
  };

  /** Checks deadline and cancellation; true when the slice is used up and the caller should yield. */
  tick(): boolean {
    this.#rowsLeft = TICK_ROWS;
    if (this.options.cancelled()) throw new Cancelled();
    const now = this.options.clock();
    if (now > this.options.deadline()) throw new QueryError(500, 'Query exceeded timeout');
    return now >= this.#sliceEnd;
  }

  /** The same in the middle of a row, where nobody can yield: a slice that is used up ends with that row. */
  #look(): void {
    const left = this.#rowsLeft;
    this.#rowsLeft = this.tick() ? 0 : left;
  }

  /** The same for every row of many: looks at the clock once in so many rows. */
  tickRow(): boolean {
    return --this.#rowsLeft <= 0 && this.tick();
  }

  /** An item of so many bytes is looked at: the next look at the clock comes the sooner. Throws TooLong. */
  lookedAt(bytes: number): void {
    if (bytes > this.#itemMax) throw new TooLong(this.#itemMax);
    this.#rowsLeft -= Math.floor(bytes / ROW_BYTES);
  }

  /** The same for so many sub-rows of one. */
  foundSubs(count: number): void {
    this.#rowsLeft -= count;
  }

  /** Whether it is time for a look: `next` of a cursor comes back for it. */
  get isTickDue(): boolean {
    return this.#rowsLeft <= 0;
  }

  /** After one step of rows that are looked for: of a row that was found, or of a pause. */
  tickStep(isRow: boolean): boolean {
    return isRow ? this.tickRow() : this.tick();
  }

  /** A new slice begins: call before resuming. */
  resume(): void {
    this.#sliceEnd = this.options.clock() + this.options.slice;
    this.trace.resume();
  }

  /** The slice is over and the thread is given up: call after yielding. */
  pause(): void {
    this.trace.pause();
  }

  /** Takes so many bytes until the query is closed, or, below 0, gives them back. Throws QueryError when there is no room for them. */
  hold(bytes: number, keeping: Keeping): void {
    const { room } = this.options;
    if (room === undefined) return;
    if (room.left < bytes) {
      const { purpose, remedy } = KEEPING[keeping];
      const mib = Math.floor((this.#held + room.left) / (1 << 20));
      throw new QueryError(500, `${purpose} the query needs more than the ${mib} MiB there are; ${remedy}`);
    }
    room.left -= bytes;
    this.#held += bytes;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.options.room !== undefined) this.options.room.left += this.#held;
    for (const view of this.#views) view?.close(); // some may not have been taken
  }

  /** Whether there is a node of that name, active or not. */
  hasNode(certname: string): boolean {
    return this.view(this.partOf(certname)).nodeId(certname) !== 0;
  }
}
