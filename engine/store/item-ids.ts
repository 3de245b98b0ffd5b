// The ids of items. A dictionary gives them out ascending, and each at most once a round. Where a round has come to the end of its range
// and most of the ids in it are of items that went, the next round begins at 1 and gives out those that were free when it began; else the
// range grows. So numbers by item take room for a few times as many as there are, or were when the round began, however many came and went;
// and an id is of one body only in all snapshots of a round: what threads keep by ids is good until the next one.

import type { Database } from 'lmdb';
import { entryCount, fast, type ReadOptions } from './file/lmdb.ts';
import type { ItemId } from './records/records.ts';
import { ID_END, type ItemRound, type State } from './state.ts';

/** A range has so many ids at least, */
const RANGE_MIN = 1 << 20;
/** and so many times as many as there are items when it is chosen. */
const RANGE_SHARE = 4;

const FIRST_ROUND: ItemRound = { number: 0, end: 1, limit: RANGE_MIN };

const roundOf = ({ rounds }: Readonly<State>, name: string): ItemRound => rounds[name] ?? FIRST_ROUND;

/** Ids of the dictionary's items are below it. */
export const itemsEnd = (state: Readonly<State>, name: string): ItemId =>
  Math.max(roundOf(state, name).end, state.nextItem[name] ?? 1);

/** Where it lies, in the table of the state, which ids were taken when the round began: a bit each, from the lowest of the first byte on. */
const takenKey = (name: string): Buffer => Buffer.from(`taken_${name}`);

/** The round of the dictionary that the state is in: while it is the same, an id is of the same body. */
export const itemRound = (state: Readonly<State>, name: string): number => roundOf(state, name).number;

/** Which ids are still to be given out in the dictionary's round: no item of that state has one of them. */
export function isToComeAt(
  state: Readonly<State>,
  name: string,
  table: Database<Buffer, Buffer>,
  options: ReadOptions,
): (id: ItemId) => boolean {
  const next = state.nextItem[name] ?? 1;
  const taken = itemRound(state, name) === 0 ? NONE_TAKEN : takenIn(table, name, options);
  return (id) => id >= next && !isTaken(taken, id);
}

const NONE_TAKEN = new Uint8Array(0);

/** Of rounds but the first. */
function takenIn(table: Database<Buffer, Buffer>, name: string, options: ReadOptions): Uint8Array {
  const stored = fast(table, takenKey(name), options);
  if (stored === undefined) throw new Error(`it is not known which ids of ${name} items were taken`);
  return Uint8Array.from(stored);
}

const isTaken = (taken: Uint8Array, id: ItemId): boolean => ((taken[id >>> 3] ?? 0) & (1 << (id & 7))) !== 0;

/** Of the one writer of a partition. */
export class ItemIds {
  readonly #rangeMin: number;
  readonly #first: ItemRound;
  readonly #state: Database<Buffer, Buffer>;
  /** By dictionary: what was taken when its round began, as far as that was asked for. */
  readonly #taken = new Map<string, Uint8Array>();

  /** `rangeMin`: instead of `RANGE_MIN`. */
  constructor(state: Database<Buffer, Buffer>, rangeMin: number | undefined) {
    this.#state = state;
    this.#rangeMin = rangeMin ?? RANGE_MIN;
    this.#first = { ...FIRST_ROUND, limit: this.#rangeMin };
  }

  /** A new id for the dictionary whose bodies these are. Changes the state. */
  next(state: State, name: string, bodies: Database<Buffer, ItemId>): ItemId {
    let { number, end, limit } = state.rounds[name] ?? this.#first;
    let id = state.nextItem[name] ?? 1;
    for (;;) {
      if (number > 0) id = firstFree(this.#takenOf(name), id);
      if (id < limit) break;
      const range = Math.min(ID_END, Math.max(this.#rangeMin, entryCount(bodies) * RANGE_SHARE));
      if (range <= limit) {
        end = this.#take(name, bodies);
        number++;
        id = 1;
      }
      limit = range;
      state.rounds = { ...state.rounds, [name]: { number, end, limit } };
    }
    state.nextItem[name] = id + 1;
    return id;
  }

  /** A round begins: the ids of the items that there are. Returns what they are below. */
  #take(name: string, bodies: Database<Buffer, ItemId>): ItemId {
    let end: ItemId = 1;
    for (const id of bodies.getKeys({ reverse: true, limit: 1 })) end = id + 1;
    const taken = new Uint8Array((end + 7) >>> 3);
    for (const id of bodies.getKeys({})) taken[id >>> 3]! |= 1 << (id & 7);
    this.#state.putSync(takenKey(name), Buffer.from(taken.buffer));
    this.#taken.set(name, taken);
    return end;
  }

  #takenOf(name: string): Uint8Array {
    let taken = this.#taken.get(name);
    if (taken === undefined) this.#taken.set(name, (taken = takenIn(this.#state, name, {})));
    return taken;
  }

  /** After a transaction that was given up. */
  forget(): void {
    this.#taken.clear();
  }
}

const ALL_TAKEN = 0xff;

/** The first id from there on that is not taken. */
function firstFree(taken: Uint8Array, from: ItemId): ItemId {
  let id = from;
  for (;;) {
    if (taken[id >>> 3] === ALL_TAKEN && (id & 7) === 0) id += 8;
    else if (isTaken(taken, id)) id++;
    else return id;
  }
}
