// The two sides of a row that groups read: its node, and the rest. What is equal in all that is read is one side, and remembered.

import { PairNumbers } from '../../../pair-numbers.ts';
import type { Access } from '../row/access.ts';
import type { Hold } from '../row/room.ts';
import type { Row } from '../row/row.ts';
import type { Accumulator } from './accumulators.ts';
import { argumentOf, type Key, numberOfKeys, pairNumbersFor } from './group-keys.ts';

/** Numbers of what a group shows and is ordered by; 0 where it is the other side that has it. */
export interface Numbers {
  /** By column: of its text, + 1. */
  readonly texts: readonly number[];
  /** By field: of its key, + 1. */
  readonly values: readonly number[];
}

/** Rows' node, or the rest of them, as far as groups read it. */
export interface Side extends Numbers {
  /** Equal for those that are equal in what is grouped by. */
  readonly key: number;
  /** Equal for those that are equal in all that is read, counted from 0. */
  readonly number: number;
  /** By column, of all sides; null where the other side has it. */
  readonly accumulators: readonly (Accumulator | null)[];
}

/** What a grouping says of its sides of one kind. */
interface SidesOptions {
  readonly keys: readonly Key[];
  /** What else tells them apart, by its text: what functions read, and what is shown where equal keys may be spelled differently. */
  readonly args: readonly Access[];
  /** Of a row whose keys have been looked at right before. */
  readonly numbersOf: (row: Row) => Numbers;
  readonly hold: Hold;
  readonly accumulators: () => readonly (Accumulator | null)[];
}

/** Sides of one kind, as many as are remembered. */
export class Sides {
  readonly #options: SidesOptions;
  readonly #combined: readonly PairNumbers[];
  #accumulators: readonly (Accumulator | null)[] = [];
  #args: readonly Key[] = [];
  /** Bytes. */
  #argsHeld = 0;
  #withArgs: readonly PairNumbers[] = [];
  #all: Side[] = [];
  #byNumber: (Side | undefined)[] = [];

  constructor(options: SidesOptions) {
    this.#options = options;
    this.#combined = pairNumbersFor(options.keys);
    this.forget();
  }

  /** What is read of the rows. */
  get reads(): readonly Access[] {
    const { keys, args } = this.#options;
    return [...keys.map(({ access }) => access), ...args];
  }

  /** How many are remembered: their numbers are below it. */
  get size(): number {
    return this.#all.length;
  }

  at(number: number): Side {
    return this.#all[number]!;
  }

  of(row: Row): Side {
    const key = numberOfKeys(this.#options.keys, this.#combined, row);
    let number = key;
    for (let i = 0; i < this.#args.length; i++) number = this.#withArgs[i]!.of(number, this.#args[i]!.of(row));
    return (this.#byNumber[number] ??= this.#made(row, key));
  }

  #made(row: Row, key: number): Side {
    const { texts, values } = this.#options.numbersOf(row);
    const number = this.#all.length;
    const side: Side = { texts, values, key, number, accumulators: this.#accumulators };
    for (const accumulator of side.accumulators) accumulator?.add(number, row, 1);
    this.#all.push(side);
    return side;
  }

  /** Remembers none of them any more: numbers begin again, keys stay what they were. */
  forget(): void {
    const { args, accumulators, hold } = this.#options;
    hold(-this.#argsHeld);
    this.#argsHeld = 0;
    const holdArgs: Hold = (bytes) => {
      hold(bytes);
      this.#argsHeld += bytes;
    };
    this.#args = args.map((access) => argumentOf(access, holdArgs));
    this.#withArgs = args.map(() => new PairNumbers());
    this.#accumulators = accumulators();
    this.#all = [];
    this.#byNumber = [];
  }
}
