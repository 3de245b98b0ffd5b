// Which sub-rows of an item pass what is asked of the item alone: decided once for all of its nodes.

import type { DictionaryView, RecordReader } from '../../../store/items/dictionary-view.ts';
import type { Fields } from '../../../store/records/fields.ts';
import type { ItemId } from '../../../store/records/records.ts';
import type { ItemSieve } from '../filter/classed.ts';
import type { Predicate } from '../filter/filter.ts';
import { TRUE } from '../filter/truth.ts';
import type { ExecContext } from '../plan/context.ts';
import { ItemStates } from '../row/item-states.ts';
import type { Room } from '../row/room.ts';
import type { Matched, Row, SubRows } from '../row/row.ts';

export const NOTHING: readonly Matched[] = [];
/** The item itself as the only sub-row, for items that will not be seen again. */
const ONCE: readonly Matched[] = [{ index: 0, sub: null, texts: null, room: null }];

/** Memory that a partition's kept records and texts may take. */
const ROOM = 4 << 20;
/** For texts that live no longer than their item is the present one. */
const UNBOUNDED: Room = { left: Number.POSITIVE_INFINITY };
/** What a kept item takes beside its bytes. */
const KEPT_OVERHEAD = 500;

/** What the matcher knows of an item. */
const FAILS = 1;
const SEEN = 2;
const KEPT = 3;

interface Kept {
  readonly record: Fields;
  readonly matched: readonly Matched[];
}

/** Whether an item is looked at any further; its row has its body, and no node. */
export type ItemTest = (row: Row) => boolean;

interface MatcherOptions {
  readonly ctx: ExecContext;
  readonly row: Row;
  readonly dictionary: DictionaryView<unknown>;
  readonly subs: SubRows;
  /** What is asked of an item before it is read. */
  readonly sieves: readonly ItemSieve[];
  /** What items have to pass, and what their sub-rows. */
  readonly item: Predicate | null;
  readonly sub: Predicate | null;
  /** What is asked of items beside that, and may be answered otherwise another time: nothing is remembered of it (`matchOnce`). */
  readonly isWanted: ItemTest | null;
  /** Not 0 for the items that can pass at all, where an index has told that; null: any. */
  readonly passing: ItemStates | null;
}

/** Decides once per item which of its sub-rows pass the filters that do not look at the node. */
export class ItemMatcher {
  readonly #ctx: ExecContext;
  readonly #dictionary: DictionaryView<unknown>;
  readonly #reader: RecordReader<Fields>;
  readonly #row: Row;
  readonly #subs: SubRows;
  readonly #sieves: readonly ItemSieve[];
  readonly #item: Predicate | null;
  readonly #sub: Predicate | null;
  readonly #isWanted: ItemTest | null;
  readonly #passing: ItemStates | null;
  readonly #states: ItemStates;
  readonly #kept = new Map<ItemId, Kept>();
  readonly #room: Room = { left: ROOM };

  constructor({ ctx, row, dictionary, subs, sieves, item, sub, isWanted, passing }: MatcherOptions) {
    this.#ctx = ctx;
    this.#dictionary = dictionary;
    this.#sieves = sieves;
    this.#isWanted = isWanted;
    this.#passing = passing;
    this.#reader = dictionary.reader();
    this.#row = row;
    this.#subs = subs;
    this.#item = item;
    this.#sub = sub;
    this.#states = new ItemStates(dictionary.end);
  }

  /** Whether enough was looked at for a look at the clock. */
  get isTickDue(): boolean {
    return this.#ctx.isTickDue;
  }

  /** Whether every item passes with itself as the row. */
  get isOpen(): boolean {
    const isAsked = this.#sieves.length > 0 || this.#item !== null || this.#isWanted !== null;
    return !isAsked && this.#subs === null && this.#passing === null;
  }

  /**
   * For walks that meet shared items again and again: what is met a second time is kept. Leaves the row's body set to the
   * item's, until the next call.
   */
  match(id: ItemId): readonly Matched[] {
    if (this.#passing !== null && this.#passing.get(id) === 0) return NOTHING;
    const state = this.#states.get(id);
    const row = this.#row;
    if (state === FAILS) return NOTHING;
    row.itemId = id;
    if (state === KEPT) {
      const { record, matched } = this.#kept.get(id)!;
      row.body = record;
      return matched;
    }
    if (state === SEEN && this.#room.left > 0) return this.#keep(id);
    if (state !== SEEN && !this.#sifted(id)) {
      this.#states.set(id, FAILS);
      return NOTHING;
    }
    const matched = this.#test(this.#reader.read(id), null);
    this.#states.set(id, matched.length === 0 ? FAILS : SEEN);
    return matched;
  }

  #sifted(id: ItemId): boolean {
    for (const sieve of this.#sieves) if (!sieve.passes(id)) return false;
    return true;
  }

  #keep(id: ItemId): readonly Matched[] {
    const body = this.#dictionary.record(id);
    const matched = this.#test(body, this.#room);
    this.#room.left -= KEPT_OVERHEAD + body.record.size;
    this.#states.set(id, KEPT);
    this.#kept.set(id, { record: body, matched });
    return matched;
  }

  /** For walks that meet each item once, and then rows of several of its nodes if `isShared`. */
  matchOnce(id: ItemId, isShared: boolean): readonly Matched[] {
    if (!this.#sifted(id)) return NOTHING;
    this.#row.itemId = id;
    return this.#test(this.#reader.read(id), isShared ? UNBOUNDED : null);
  }

  #test(body: Fields, room: Room | null): readonly Matched[] {
    const row = this.#row;
    row.body = body;
    this.#ctx.lookedAt(body.record.size);
    if (this.#item !== null && this.#item.test(row) !== TRUE) return NOTHING;
    if (this.#isWanted?.(row) === false) return NOTHING;
    if (this.#subs === null) return room === null ? ONCE : [{ index: 0, sub: null, texts: null, room }];
    const subs = this.#subs(row);
    this.#ctx.foundSubs(subs.length);
    const out: Matched[] = [];
    for (let index = 0; index < subs.length; index++) {
      const sub = subs.at(index);
      row.sub = sub;
      if (this.#sub === null || this.#sub.test(row) === TRUE) out.push({ index, sub, texts: null, room });
    }
    return out;
  }
}
