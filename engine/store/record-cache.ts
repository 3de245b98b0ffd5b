// What a thread keeps for its next queries, within a budget that all its partitions share: decoded records here, stored ones in
// kept-bytes.ts.

import { Generations } from './generations.ts';
import { ClassBudget } from './item-classes.ts';
import { KeptLists } from './kept-lists.ts';
import type { ItemId } from './records.ts';

/** Bytes that all of it may take. */
const RECORDS_BYTES_MAX = 16 * 1024 * 1024;
/** What a kept record takes beside its bytes. */
const RECORD_OVERHEAD = 400;

/**
 * What is kept of a store as one thread sees it: in two generations, of which the older one goes when the younger one has used up
 * its half of the budget.
 */
export class RecordBudget {
  /** What is known of items by class has a bound of its own. */
  readonly classes = new ClassBudget();
  /** So have lists of all that there is of a kind. */
  readonly lists = new KeptLists();
  readonly #caches: { turn(): void }[] = [];
  #used = 0;
  /** Of the older generation. */
  #usedBefore = 0;

  join(cache: { turn(): void }): void {
    this.#caches.push(cache);
  }

  use(bytes: number): void {
    this.#used += bytes;
    if (this.#used <= RECORDS_BYTES_MAX / 2) return;
    this.#turn(this.#used - bytes);
    this.#used = bytes;
  }

  /** Forgets all of it. Returns its bytes. */
  forget(): number {
    const bytes = this.#used + this.#usedBefore;
    this.#turn(this.#used);
    this.#turn(0);
    this.#used = 0;
    return bytes;
  }

  #turn(used: number): void {
    this.#usedBefore = used;
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

  delete(id: ItemId): void {
    this.#kept.delete(id);
  }

  clear(): void {
    this.#kept.clear();
  }
}
