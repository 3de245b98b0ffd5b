// Cursors: they move a row over everything a plan selects on one partition. Pull, not push: `next` does a bounded amount of
// work and says whether there is a row, the end, or nothing yet (so that the caller can yield between calls).

import type { Predicate } from '../filter/filter.ts';
import { TRUE } from '../filter/truth.ts';
import type { Row, SubList, SubRows } from '../row/row.ts';

export const END = 0;
export const ROW = 1;
export const PAUSE = 2;
export type Step = 0 | 1 | 2;

export interface Cursor {
  next(): Step;
  /** Skips up to so many sub-rows behind the present one, as far as all of them are rows: how many. */
  takeRest?(max: number): number;
  /** Passes over the sub-rows behind the present one. */
  leaveItem?(): void;
}

/** What is done between two looks at the clock. */
export const WORK_PER_STEP = 256;
export const NO_SUBS: SubList = [];

/** Rows of node entities. */
export class NodeCursor implements Cursor {
  readonly #row: Row;
  readonly #ids: Uint32Array;
  readonly #subs: SubRows;
  readonly #residual: Predicate | null;
  #at = 0;
  #list: SubList = NO_SUBS;
  #subAt = 0;

  constructor(row: Row, ids: Uint32Array, subs: SubRows, residual: Predicate | null) {
    this.#row = row;
    this.#ids = ids;
    this.#subs = subs;
    this.#residual = residual;
  }

  next(): Step {
    const row = this.#row;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      if (this.#subAt < this.#list.length) {
        row.subIndex = this.#subAt;
        row.sub = this.#list.at(this.#subAt++);
      } else {
        if (this.#at >= this.#ids.length) return END;
        row.nodeId = this.#ids[this.#at++]!;
        row.matched = null;
        if (this.#subs !== null) {
          this.#list = this.#subs(row);
          this.#subAt = 0;
          continue;
        }
      }
      if (this.#residual === null || this.#residual.test(row) === TRUE) return ROW;
    }
    return PAUSE;
  }
}

/** Records of all partitions: names, packages, paths. Null among them: none was found yet. A row's item is its number. */
export class RecordCursor implements Cursor {
  readonly #row: Row;
  readonly #all: Iterator<object | null>;
  readonly #test: Predicate | null;
  #rows = 0;

  constructor(row: Row, all: Iterable<object | null>, test: Predicate | null) {
    this.#row = row;
    this.#all = all[Symbol.iterator]();
    this.#test = test;
  }

  next(): Step {
    const row = this.#row;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      const { done, value } = this.#all.next();
      if (done) return END;
      if (value === null) continue;
      row.itemId = this.#rows;
      row.body = value;
      row.matched = null;
      if (this.#test !== null && this.#test.test(row) !== TRUE) continue;
      this.#rows++;
      return ROW;
    }
    return PAUSE;
  }
}
