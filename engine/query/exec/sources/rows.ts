// The rows of a selection one at a time, as whoever counts, groups or orders them reads them, and again at places that were kept.

import type { Step as TraceStep } from '../plan/trace.ts';
import { type Locator, Row } from '../row/row.ts';
import { type Cursor, END, PAUSE, ROW, type Step } from './cursor.ts';
import type { RowsWanted, Source } from './source.ts';

/** Rows one at a time. `next` says whether `row` is one, or that they are over, or nothing yet. */
export interface Rows {
  readonly source: Source;
  readonly row: Row;
  /** The step that they are counted in. */
  readonly scan: TraceStep;
  next(): Step;
  /** Skips up to so many sub-rows behind the present row, as far as all of them are rows: how many. */
  takeRest(max: number): number;
  /** Where the present one is. */
  locator(): Locator;
}

/** All rows of a selection, partition by partition. */
export class TreeRows implements Rows {
  readonly source: Source;
  row: Row;
  /** The step that the present partition's rows are counted in. */
  scan: TraceStep;
  readonly #wanted: RowsWanted;
  readonly #parts: readonly number[];
  /** Index of the present one of the partitions. */
  #at = 0;
  #opening: Generator<undefined, Cursor> | null = null;
  #cursor: Cursor | null = null;

  constructor(source: Source, wanted: RowsWanted = {}) {
    this.source = source;
    this.#wanted = wanted;
    // One is looked at in any case: it says what there is to say of a selection without rows.
    this.#parts = source.shape === 'global' || source.parts.length === 0 ? [0] : source.parts;
    const part = this.#parts[0]!;
    this.row = new Row(source.ctx.view(part), part);
    this.scan = source.trace.partition(part).scan;
    source.ctx.trace.enter(this.scan);
    this.#opening = source.open(this.row, wanted);
  }

  next(): Step {
    if (this.#cursor === null) {
      if (this.#opening === null) return END;
      const { done, value } = this.#opening.next();
      if (!done) return PAUSE;
      this.#cursor = value;
    }
    const step = this.#cursor.next();
    if (step === ROW) this.scan.rows++;
    if (step !== END) return step;
    this.#cursor = null;
    const part = this.#parts[++this.#at];
    if (part === undefined) {
      this.#opening = null;
      return END;
    }
    const { ctx, trace } = this.source;
    this.row = new Row(ctx.view(part), part);
    this.scan = trace.partition(part).scan;
    ctx.trace.enter(this.scan);
    this.#opening = this.source.open(this.row, this.#wanted);
    return PAUSE;
  }

  takeRest(max: number): number {
    const count = this.#cursor?.takeRest?.(max) ?? 0;
    this.scan.rows += count;
    return count;
  }

  locator(): Locator {
    return this.source.locator(this.row);
  }
}

/** One row per partition, put at places that were kept. */
export class Places {
  readonly #source: Source;
  readonly #rows = new Map<number, Row>();

  constructor(source: Source) {
    this.#source = source;
  }

  at(place: Locator): Row {
    let row = this.#rows.get(place.part);
    if (row === undefined) this.#rows.set(place.part, (row = new Row(this.#source.ctx.view(place.part), place.part)));
    this.#source.seek(row, place);
    return row;
  }
}
