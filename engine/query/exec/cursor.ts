// Cursors: they move a row over everything a plan selects on one partition. Pull, not push: `next` does a bounded amount of
// work and says whether there is a row, the end, or nothing yet (so that the caller can yield between calls).

import type { DictionaryView, RecordReader } from '../../store/dictionary.ts';
import type { StoredEvents } from '../../store/event-record.ts';
import type { Fields } from '../../store/fields.ts';
import { Ids } from '../../store/ids.ts';
import type { NodeSet } from '../../store/node-set.ts';
import type { ItemId, ReportId } from '../../store/records.ts';
import type { StoredReport } from '../../store/report-record.ts';
import type { Value } from './access.ts';
import type { Behind } from './behind.ts';
import type { ItemSieve } from './classed.ts';
import { type Seek, seekAll } from './coded.ts';
import type { Predicate } from './filter.ts';
import { ItemStates } from './item-states.ts';
import type { Room } from './room.ts';
import type { Matched, Row, SubList, SubRows } from './row.ts';
import { TRUE } from './truth.ts';

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
/** So many events are sought through at a time, which is so much of that work. */
const SOUGHT_MAX = 64;
const WORK_OF_SEEK = 8;
const NOTHING: readonly Matched[] = [];
/** The item itself as the only sub-row, for items that will not be seen again. */
const ONCE: readonly Matched[] = [{ index: 0, sub: null, texts: null, room: null }];

const NO_SUBS: SubList = [];

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

interface MatcherOptions {
  readonly row: Row;
  readonly dictionary: DictionaryView<unknown>;
  readonly subs: SubRows;
  /** What is asked of an item before it is read. */
  readonly sieves: readonly ItemSieve[];
  /** What items have to pass, and what their sub-rows. */
  readonly item: Predicate | null;
  readonly sub: Predicate | null;
  /** Not 0 for the items that can pass at all, where an index has told that; null: any. */
  readonly passing: ItemStates | null;
}

/** Decides once per item which of its sub-rows pass the filters that do not look at the node. */
export class ItemMatcher {
  readonly #dictionary: DictionaryView<unknown>;
  readonly #reader: RecordReader<Fields>;
  readonly #row: Row;
  readonly #subs: SubRows;
  readonly #sieves: readonly ItemSieve[];
  readonly #item: Predicate | null;
  readonly #sub: Predicate | null;
  readonly #passing: ItemStates | null;
  readonly #states: ItemStates;
  readonly #kept = new Map<ItemId, Kept>();
  readonly #room: Room = { left: ROOM };

  constructor({ row, dictionary, subs, sieves, item, sub, passing }: MatcherOptions) {
    this.#dictionary = dictionary;
    this.#sieves = sieves;
    this.#passing = passing;
    this.#reader = dictionary.reader();
    this.#row = row;
    this.#subs = subs;
    this.#item = item;
    this.#sub = sub;
    this.#states = new ItemStates(dictionary.end);
  }

  /** Whether every item passes with itself as the row. */
  get isOpen(): boolean {
    return this.#sieves.length === 0 && this.#item === null && this.#subs === null && this.#passing === null;
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
    row.body = this.#reader.read(id);
    const matched = this.#test(null);
    this.#states.set(id, matched.length === 0 ? FAILS : SEEN);
    return matched;
  }

  #sifted(id: ItemId): boolean {
    for (const sieve of this.#sieves) if (!sieve.passes(id)) return false;
    return true;
  }

  #keep(id: ItemId): readonly Matched[] {
    const row = this.#row;
    const body = this.#dictionary.record(id);
    row.body = body;
    const matched = this.#test(this.#room);
    this.#room.left -= KEPT_OVERHEAD + body.record.size;
    this.#states.set(id, KEPT);
    this.#kept.set(id, { record: body, matched });
    return matched;
  }

  /** For walks that meet each item once, and then rows of several of its nodes if `isShared`. */
  matchOnce(id: ItemId, isShared: boolean): readonly Matched[] {
    const row = this.#row;
    if (!this.#sifted(id)) return NOTHING;
    row.itemId = id;
    row.body = this.#reader.read(id);
    return this.#test(isShared ? UNBOUNDED : null);
  }

  #test(room: Room | null): readonly Matched[] {
    const row = this.#row;
    if (this.#item !== null && this.#item.test(row) !== TRUE) return NOTHING;
    if (this.#subs === null) return room === null ? ONCE : [{ index: 0, sub: null, texts: null, room }];
    const subs = this.#subs(row);
    const out: Matched[] = [];
    for (let index = 0; index < subs.length; index++) {
      const sub = subs.at(index);
      row.sub = sub;
      if (this.#sub === null || this.#sub.test(row) === TRUE) out.push({ index, sub, texts: null, room });
    }
    return out;
  }
}

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

/** Where rows can be: of these nodes all of them, of others those of these items (not 0). */
export interface Either {
  readonly nodes: NodeSet;
  readonly items: ItemStates;
}

/** Puts the row at a sub-row of its item that passes by itself: whether it passes with the node, too. */
function isRow(row: Row, matched: Matched, residual: Predicate | null): boolean {
  row.sub = matched.sub;
  row.subIndex = matched.index;
  row.matched = matched;
  return residual === null || residual.test(row) === TRUE;
}

/** What both cursors over items work with. */
interface ItemCursorOptions {
  readonly row: Row;
  readonly dictionary: DictionaryView<unknown>;
  readonly matcher: ItemMatcher;
  /** What rows have to pass that looks at the node and the item. */
  readonly residual: Predicate | null;
  /** null: rows can be anywhere. */
  readonly either: Either | null;
}

interface ListOptions extends ItemCursorOptions {
  /** The nodes, in the order in which they are visited. */
  readonly ids: Uint32Array;
}

/** Rows of item entities, node by node through the nodes' lists. */
export class ListCursor implements Cursor {
  readonly #row: Row;
  readonly #ids: Uint32Array;
  readonly #dictionary: DictionaryView<unknown>;
  readonly #matcher: ItemMatcher;
  readonly #residual: Predicate | null;
  readonly #either: Either | null;
  /** Items of the present node's list that can have rows; null: all. */
  #only: ItemStates | null = null;
  readonly #list = new Ids();
  #at = 0;
  #listAt = 0;
  #matched: readonly Matched[] = NOTHING;
  #matchedAt = 0;

  constructor({ row, ids, dictionary, matcher, residual, either }: ListOptions) {
    this.#row = row;
    this.#ids = ids;
    this.#dictionary = dictionary;
    this.#matcher = matcher;
    this.#residual = residual;
    this.#either = either;
  }

  next(): Step {
    const row = this.#row;
    const list = this.#list;
    const stride = this.#dictionary.stride;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      if (this.#matchedAt < this.#matched.length) {
        if (isRow(row, this.#matched[this.#matchedAt++]!, this.#residual)) return ROW;
        continue;
      }
      if (this.#listAt < list.length) {
        const item = list.values[this.#listAt + stride - 1]!;
        this.#listAt += stride;
        if (this.#only !== null && this.#only.get(item) === 0) continue;
        this.#matched = this.#matcher.match(item);
        this.#matchedAt = 0;
        continue;
      }
      if (this.#at >= this.#ids.length) return END;
      row.nodeId = this.#ids[this.#at++]!;
      this.#dictionary.readList(row.nodeId, list);
      this.#listAt = 0;
      const either = this.#either;
      this.#only = either === null || either.nodes.has(row.nodeId) ? null : either.items;
    }
    return PAUSE;
  }
}

interface PostingsOptions extends ItemCursorOptions {
  /** The items that can pass. */
  readonly items: Uint32Array;
  /** The nodes whose rows are wanted. */
  readonly nodes: NodeSet;
}

/** Rows of item entities, item by item through the postings. */
export class PostingsCursor implements Cursor {
  readonly #row: Row;
  readonly #items: Uint32Array;
  readonly #dictionary: DictionaryView<unknown>;
  readonly #matcher: ItemMatcher;
  readonly #nodes: NodeSet;
  readonly #residual: Predicate | null;
  readonly #either: Either | null;
  readonly #ids = new Ids();
  #at = 0;
  #idAt = 0;
  #matched: readonly Matched[] = NOTHING;
  #matchedAt = 0;

  constructor({ row, items, dictionary, matcher, nodes, residual, either }: PostingsOptions) {
    this.#row = row;
    this.#either = either;
    this.#items = items;
    this.#dictionary = dictionary;
    this.#matcher = matcher;
    this.#nodes = nodes;
    this.#residual = residual;
  }

  next(): Step {
    const row = this.#row;
    const ids = this.#ids;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      if (this.#matchedAt < this.#matched.length) {
        if (isRow(row, this.#matched[this.#matchedAt++]!, this.#residual)) return ROW;
        continue;
      }
      if (this.#idAt < ids.length) {
        row.nodeId = ids.values[this.#idAt++]!;
        this.#matchedAt = 0;
        continue;
      }
      if (this.#at >= this.#items.length) return END;
      this.#open(this.#items[this.#at++]!);
    }
    return PAUSE;
  }

  #open(item: ItemId): void {
    const ids = this.#ids;
    // A filter that most items fail spares the reading of their postings.
    const isFiltered = !this.#matcher.isOpen;
    const either = this.#either;
    const nodes = either === null || either.items.get(item) !== 0 ? this.#nodes : either.nodes;
    if (isFiltered) this.#matched = this.#matcher.matchOnce(item, true);
    if (isFiltered && this.#matched.length === 0) {
      ids.length = 0;
      return;
    }
    this.#dictionary.readNodes(item, nodes, ids);
    if (!isFiltered && ids.length > 0) this.#matched = this.#matcher.matchOnce(item, ids.length > 1);
    else if (ids.length === 1) for (const matched of this.#matched) matched.room = null;
    this.#idAt = 0;
    this.#matchedAt = this.#matched.length; // the first node sets it back
  }

  /** Moves to the next matching item and leaves the nodes alone: for counting. */
  nextItem(): { matched: readonly Matched[]; nodes: number } | null {
    while (this.#at < this.#items.length) {
      const item = this.#items[this.#at++]!;
      const matched = this.#matcher.matchOnce(item, false);
      if (matched.length === 0) continue;
      return { matched, nodes: this.#dictionary.countNodes(item, this.#nodes) };
    }
    return null;
  }
}

/** What reports come as where none was found yet. */
export const NO_REPORT: ReportId = 0;
/** So many reports are put in order at a time. */
const BATCH_FIRST = 256;
const BATCH_MAX = 1 << 13;

/** A report with what is known of its rows. */
interface Bounded {
  readonly id: ReportId;
  readonly keys: readonly Value[];
}

interface ReportOptions {
  readonly row: Row;
  /** The reports to look at; NO_REPORT among them where none was found yet. */
  readonly ids: Iterable<ReportId>;
  /** The nodes whose reports are wanted; null: all. */
  readonly nodes: NodeSet | null;
  /** What reports have to pass by themselves, and what rows have to pass beside that. */
  readonly report: Predicate | null;
  readonly sub: Predicate | null;
  readonly subs: SubRows;
  /** true for reports that need not be looked at any further. */
  readonly skip: ((report: StoredReport) => boolean) | null;
  /** Rows that it tells need not come. */
  readonly behind: Behind | null;
}

/** Rows of reports, or of their sub-rows. */
export class ReportCursor implements Cursor {
  readonly #row: Row;
  readonly #ids: Iterator<ReportId>;
  readonly #nodes: NodeSet | null;
  readonly #report: Predicate | null;
  readonly #subs: SubRows;
  /** What `#seek` does not tell of sub-rows. */
  readonly #sub: Predicate | null;
  readonly #skip: ((report: StoredReport) => boolean) | null;
  /** Of events: where the codes tell which of them can be rows. */
  readonly #seek: Seek | null;
  /** Whether nothing is asked of reports, so that the codes of their events are looked at before them. */
  readonly #isSubFirst: boolean;
  #list: SubList = NO_SUBS;
  #subAt = 0;

  constructor({ row, ids, nodes, report, sub, subs, skip, behind }: ReportOptions) {
    this.#row = row;
    this.#ids = behind?.bounds ? this.#inOrder(ids, behind) : ids[Symbol.iterator]();
    this.#nodes = nodes;
    this.#report = report;
    this.#subs = subs;
    this.#sub = sub?.isExact === true ? null : sub;
    this.#skip = skip;
    const seeks = [sub?.seek, behind?.seek].filter((seek) => seek !== undefined && seek !== null);
    this.#seek = seeks.length === 0 ? null : seekAll(seeks);
    this.#isSubFirst = this.#seek !== null && nodes === null && report === null && skip === null;
  }

  next(): Step {
    const row = this.#row;
    const cost = this.#seek === null ? 1 : WORK_OF_SEEK;
    for (let work = 0; work < WORK_PER_STEP; work += cost) {
      if (this.#subAt < this.#list.length) {
        if (!this.#seekOn()) continue;
        row.subIndex = this.#subAt;
        row.sub = this.#list.at(this.#subAt++);
        if (this.#sub === null || this.#sub.test(row) === TRUE) return ROW;
        continue;
      }
      const { done, value } = this.#ids.next();
      if (done) return END;
      if (value === NO_REPORT) return PAUSE;
      if (!this.#open(value)) continue;
      if (this.#subs === null) {
        if (this.#sub === null || this.#sub.test(row) === TRUE) return ROW;
        continue;
      }
      this.#list = this.#subs(row);
      this.#subAt = 0;
    }
    return PAUSE;
  }

  takeRest(max: number): number {
    if (this.#sub !== null) return 0;
    const first = this.#subAt;
    const end = Math.min(first + max, this.#list.length);
    if (this.#seek === null) this.#subAt = end;
    else while (this.#subAt < end && this.#isSought(this.#subAt)) this.#subAt++;
    return this.#subAt - first;
  }

  leaveItem(): void {
    this.#subAt = this.#list.length;
  }

  #open(id: ReportId): boolean {
    return !(this.#isSubFirst && !this.#canHaveRows(id)) && this.#openRecord(id);
  }

  #openRecord(id: ReportId): boolean {
    const row = this.#row;
    if (!row.openReport(id)) return false;
    if (this.#nodes !== null && !this.#nodes.has(row.nodeId)) return false;
    if (this.#skip?.(row.report)) return false;
    return this.#report === null || this.#report.test(row) === TRUE;
  }

  /**
   * The reports that can have rows, in the order of what is known of their rows together, without those that are behind the page: some
   * at a time, first few of them, as most of the others are behind a page that is full. Between them NO_REPORT.
   */
  *#inOrder(ids: Iterable<ReportId>, behind: Behind): Generator<ReportId, void, undefined> {
    const { compare, keys } = behind.bounds!;
    const byKeys = (a: Bounded, b: Bounded): number => compare(a.keys, b.keys);
    let batch: Bounded[] = [];
    let size = BATCH_FIRST;
    let looked = 0;
    const sorted = function* () {
      // Equal ones stay in the order in which they lie.
      for (const bounded of batch.sort(byKeys)) {
        if (behind.hasReport(bounded.keys)) return;
        yield bounded.id;
      }
    };
    for (const id of ids) {
      if (id === NO_REPORT || ++looked % WORK_PER_STEP === 0) yield NO_REPORT;
      if (id !== NO_REPORT && this.#openRecord(id)) {
        const known = keys(this.#row);
        if (behind.hasReport(known)) continue;
        batch.push({ id, keys: known });
      }
      // Those that are few may fill the page nevertheless.
      const isFull = batch.length === size;
      if (!isFull && id !== NO_REPORT) continue;
      yield* sorted();
      batch = [];
      if (isFull) size = Math.min(size * 2, BATCH_MAX);
    }
    yield* sorted();
  }

  #canHaveRows(id: ReportId): boolean {
    this.#row.itemId = id;
    const events = this.#subs!(this.#row) as StoredEvents;
    const to = Math.min(events.length, SOUGHT_MAX);
    return this.#seek!(events, 0, to) < to || to < events.length;
  }

  /** Goes to the next sub-row that can be a row; false when it was not found yet. */
  #seekOn(): boolean {
    if (this.#seek === null) return true;
    const to = Math.min(this.#list.length, this.#subAt + SOUGHT_MAX);
    this.#subAt = this.#seek(this.#list as StoredEvents, this.#subAt, to);
    return this.#subAt < to;
  }

  #isSought(index: number): boolean {
    return this.#seek!(this.#list as StoredEvents, index, index + 1) === index;
  }
}

/** Records of all partitions: names, packages, paths. Null among them: none was found yet. */
export class RecordCursor<T> implements Cursor {
  readonly #row: Row;
  readonly #all: Iterator<T | null>;
  readonly #test: Predicate | null;
  readonly #rows: T[];

  /** `rows`: gets those that are rows; a row's item is its place there. */
  constructor(row: Row, all: Iterable<T | null>, test: Predicate | null, rows: T[]) {
    this.#row = row;
    this.#all = all[Symbol.iterator]();
    this.#test = test;
    this.#rows = rows;
  }

  next(): Step {
    const row = this.#row;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      const { done, value } = this.#all.next();
      if (done) return END;
      if (value === null) continue;
      row.itemId = this.#rows.length;
      row.body = value;
      row.matched = null;
      if (this.#test !== null && this.#test.test(row) !== TRUE) continue;
      this.#rows.push(value);
      return ROW;
    }
    return PAUSE;
  }
}
