// What a thread keeps for its next queries, within a budget that all its partitions share: decoded records here, stored ones in
// kept-bytes.ts.

import type { Fields } from '../records/fields.ts';
import type { ItemId } from '../records/records.ts';
import { GenerationRoom, Generations } from './generations.ts';
import { ClassBudget } from './item-classes.ts';
import { KeptLists } from './kept-lists.ts';

/** Bytes that all of it may take, where nobody says how many. */
const RECORDS_BYTES_MAX = 16 << 20;
/** What a kept record takes beside its bytes. */
const RECORD_OVERHEAD = 400;

/** What is kept of a store as one thread sees it, in generations that begin together in all caches. */
export class RecordBudget {
  readonly #room: GenerationRoom;
  /** What is known of items by class has a bound of its own. */
  readonly classes: ClassBudget;
  /** So have lists of all that there is of a kind. */
  readonly lists = new KeptLists();
  readonly #caches: { turn(): void }[] = [];

  /** `bytesMax`: of both generations. `classesMax`: bytes of what is known of items by class. */
  constructor(bytesMax: number = RECORDS_BYTES_MAX, classesMax?: number) {
    this.classes = new ClassBudget(classesMax);
    this.#room = new GenerationRoom(bytesMax);
  }

  join(cache: { turn(): void }): void {
    this.#caches.push(cache);
  }

  /** For what is about to be kept in the younger generation; it may be the turn of the next one. */
  use(bytes: number): void {
    if (this.#room.use(bytes)) this.#turnCaches();
  }

  /** For what is about to move to the younger generation. False: it stays where it is. */
  move(bytes: number): boolean {
    return this.#room.move(bytes);
  }

  /** Forgets all of it. Returns its bytes. */
  forget(): number {
    const bytes = this.#room.used;
    for (let generation = 0; generation < 2; generation++) {
      this.#room.turn();
      this.#turnCaches();
    }
    return bytes;
  }

  #turnCaches(): void {
    for (const cache of this.#caches) cache.turn();
  }
}

/** Records of one dictionary, by item, which stay as they are. */
export class RecordCache<R extends Fields> extends Generations<R, ItemId> {
  readonly #budget: RecordBudget;

  constructor(budget: RecordBudget) {
    super();
    this.#budget = budget;
    budget.join(this);
  }

  protected mayMove(record: R): boolean {
    return this.#budget.move(sizeOf(record));
  }

  override set(id: ItemId, record: R): void {
    this.#budget.use(sizeOf(record));
    super.set(id, record);
  }
}

const sizeOf = ({ record }: Fields): number => record.size + RECORD_OVERHEAD;
