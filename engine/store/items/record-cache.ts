// What a thread keeps for its next queries, within a budget that all its partitions share: decoded records here, stored ones in
// kept-bytes.ts.

import type { ItemId } from '../records/records.ts';
import { Generations } from './generations.ts';
import { ClassBudget } from './item-classes.ts';
import { KeptLists } from './kept-lists.ts';

/** Bytes that all of it may take, where nobody says how many. */
const RECORDS_BYTES_MAX = 16 << 20;
/** So much of a generation is for what moves into it. */
const MOVED_SHARE = 1 / 6;
/** What a kept record takes beside its bytes. */
const RECORD_OVERHEAD = 400;

/**
 * What is kept of a store as one thread sees it: in two generations, of which the older one goes when the younger one has used up
 * its half of the budget. What is used of the older one moves to the younger one, but not so much that this alone makes the next
 * one begin: queries that look at more than fits would go on moving all of it, and find none.
 */
export class RecordBudget {
  readonly #movedMax: number;
  readonly #broughtMax: number;
  /** What is known of items by class has a bound of its own. */
  readonly classes: ClassBudget;
  /** So have lists of all that there is of a kind. */
  readonly lists = new KeptLists();
  readonly #caches: { turn(): void }[] = [];
  /** Bytes of the younger generation. */
  #brought = 0;
  #moved = 0;
  /** Of the older generation. */
  #usedBefore = 0;

  /** `bytesMax`: of both generations. `classesMax`: bytes of what is known of items by class. */
  constructor(bytesMax: number = RECORDS_BYTES_MAX, classesMax?: number) {
    this.classes = new ClassBudget(classesMax);
    this.#movedMax = (bytesMax / 2) * MOVED_SHARE;
    this.#broughtMax = bytesMax / 2 - this.#movedMax;
  }

  join(cache: { turn(): void }): void {
    this.#caches.push(cache);
  }

  /** For what is about to be kept in the younger generation; it may be the turn of the next one. */
  use(bytes: number): void {
    if (this.#brought + bytes > this.#broughtMax) this.#turn();
    this.#brought += bytes;
  }

  /** For what is about to move to the younger generation. False: it stays where it is. */
  move(bytes: number): boolean {
    if (this.#moved + bytes > this.#movedMax) return false;
    this.#moved += bytes;
    return true;
  }

  /** Forgets all of it. Returns its bytes. */
  forget(): number {
    const bytes = this.#brought + this.#moved + this.#usedBefore;
    this.#turn();
    this.#turn();
    return bytes;
  }

  #turn(): void {
    this.#usedBefore = this.#brought + this.#moved;
    this.#brought = 0;
    this.#moved = 0;
    for (const cache of this.#caches) cache.turn();
  }
}

/** Those of one dictionary. */
export class RecordCache<R> {
  readonly #budget: RecordBudget;
  /** The budget of all caches bounds it. */
  readonly #kept = new Generations<R>(Number.POSITIVE_INFINITY);

  constructor(budget: RecordBudget) {
    this.#budget = budget;
    budget.join(this.#kept);
  }

  get(id: ItemId): R | undefined {
    return this.#kept.get(id);
  }

  set(id: ItemId, record: R, bytes: number): void {
    this.#budget.use(bytes + RECORD_OVERHEAD);
    this.#kept.set(id, record, 0);
  }

  clear(): void {
    this.#kept.clear();
  }
}
