// Cursors: they move a row over everything a plan selects on one partition. Pull, not push: `next` does a bounded amount of
// work and says whether there is a row, the end, or nothing yet (so that the caller can yield between calls).

import type { DictionaryView } from '../../store/dictionary.ts';
import type { NodeSet } from '../../store/node-set.ts';
import type { ItemId, NodeId, ReportId, ReportRecord } from '../../store/records.ts';
import type { Predicate } from './filter.ts';
import type { Row } from './row.ts';
import { TRUE } from './truth.ts';

export const END = 0;
export const ROW = 1;
export const PAUSE = 2;
export type Step = 0 | 1 | 2;

/** A sub-row that passed its filter, with room for the output's rendered text of it. */
export interface Matched {
  readonly index: number;
  readonly sub: unknown;
  texts: string[] | null;
}

export interface Cursor {
  next(): Step;
}

const WORK_PER_STEP = 256;
const MEMO_MAX = 30_000;
const NOTHING: readonly Matched[] = [];

/** Sub-rows of an entity's row; null when the entity has none (the item itself is the row). */
export type SubRows = ((row: Row) => readonly unknown[]) | null;

/** Decides once per item which of its sub-rows pass the filters that do not look at the node. */
export class ItemMatcher {
  readonly #dictionary: DictionaryView<unknown>;
  readonly #row: Row;
  readonly #subs: SubRows;
  readonly #item: Predicate | null;
  readonly #sub: Predicate | null;
  readonly #memo = new Map<ItemId, readonly Matched[]>();

  constructor(
    dictionary: DictionaryView<unknown>,
    row: Row,
    subs: SubRows,
    item: Predicate | null,
    sub: Predicate | null,
  ) {
    this.#dictionary = dictionary;
    this.#row = row;
    this.#subs = subs;
    this.#item = item;
    this.#sub = sub;
  }

  /** Leaves the row's body set to the item's. */
  match(id: ItemId): readonly Matched[] {
    let matched = this.#memo.get(id);
    const row = this.#row;
    row.itemId = id;
    if (matched !== undefined) {
      if (matched.length > 0) row.body = this.#dictionary.body(id);
      return matched;
    }
    row.body = this.#dictionary.body(id);
    matched = this.#test();
    if (this.#memo.size >= MEMO_MAX) this.#memo.clear();
    this.#memo.set(id, matched);
    return matched;
  }

  #test(): readonly Matched[] {
    const row = this.#row;
    if (this.#item !== null && this.#item.test(row) !== TRUE) return NOTHING;
    if (this.#subs === null) return [{ index: 0, sub: null, texts: null }];
    const subs = this.#subs(row);
    const out: Matched[] = [];
    for (let i = 0; i < subs.length; i++) {
      row.sub = subs[i];
      if (this.#sub === null || this.#sub.test(row) === TRUE) out.push({ index: i, sub: subs[i], texts: null });
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
  #list: readonly unknown[] = [];
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
        row.sub = this.#list[this.#subAt++];
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

/** Rows of item entities, node by node through the nodes' lists. */
export class ListCursor implements Cursor {
  readonly #row: Row;
  readonly #ids: Uint32Array;
  readonly #dictionary: DictionaryView<unknown>;
  readonly #matcher: ItemMatcher;
  readonly #residual: Predicate | null;
  #at = 0;
  #list: Uint32Array = new Uint32Array(0);
  #listAt = 0;
  #matched: readonly Matched[] = NOTHING;
  #matchedAt = 0;

  constructor(
    row: Row,
    ids: Uint32Array,
    dictionary: DictionaryView<unknown>,
    matcher: ItemMatcher,
    residual: Predicate | null,
  ) {
    this.#row = row;
    this.#ids = ids;
    this.#dictionary = dictionary;
    this.#matcher = matcher;
    this.#residual = residual;
  }

  next(): Step {
    const row = this.#row;
    const stride = this.#dictionary.stride;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      if (this.#matchedAt < this.#matched.length) {
        const matched = this.#matched[this.#matchedAt++]!;
        row.sub = matched.sub;
        row.subIndex = matched.index;
        row.matched = matched;
        if (this.#residual === null || this.#residual.test(row) === TRUE) return ROW;
        continue;
      }
      if (this.#listAt < this.#list.length) {
        const item = this.#list[this.#listAt + stride - 1]!;
        this.#listAt += stride;
        this.#matched = this.#matcher.match(item);
        this.#matchedAt = 0;
        continue;
      }
      if (this.#at >= this.#ids.length) return END;
      row.nodeId = this.#ids[this.#at++]!;
      this.#list = this.#dictionary.list(row.nodeId);
      this.#listAt = 0;
    }
    return PAUSE;
  }
}

/** Rows of item entities, item by item through the postings. */
export class PostingsCursor implements Cursor {
  readonly #row: Row;
  readonly #items: Uint32Array;
  readonly #dictionary: DictionaryView<unknown>;
  readonly #matcher: ItemMatcher;
  readonly #nodes: NodeSet;
  readonly #residual: Predicate | null;
  #at = 0;
  #ids: Uint32Array = new Uint32Array(0);
  #idAt = 0;
  #matched: readonly Matched[] = NOTHING;
  #matchedAt = 0;

  constructor(
    row: Row,
    items: Uint32Array,
    dictionary: DictionaryView<unknown>,
    matcher: ItemMatcher,
    nodes: NodeSet,
    residual: Predicate | null,
  ) {
    this.#row = row;
    this.#items = items;
    this.#dictionary = dictionary;
    this.#matcher = matcher;
    this.#nodes = nodes;
    this.#residual = residual;
  }

  next(): Step {
    const row = this.#row;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      if (this.#matchedAt < this.#matched.length) {
        const matched = this.#matched[this.#matchedAt++]!;
        row.sub = matched.sub;
        row.subIndex = matched.index;
        row.matched = matched;
        if (this.#residual === null || this.#residual.test(row) === TRUE) return ROW;
        continue;
      }
      if (this.#idAt < this.#ids.length) {
        row.nodeId = this.#ids[this.#idAt++]!;
        this.#matchedAt = 0;
        continue;
      }
      if (this.#at >= this.#items.length) return END;
      const item = this.#items[this.#at++]!;
      this.#matched = this.#matcher.match(item);
      this.#matchedAt = this.#matched.length; // the first node sets it back
      if (this.#matched.length === 0) continue;
      this.#ids = this.#dictionary.nodes(item).intersect(this.#nodes).toArray();
      this.#idAt = 0;
    }
    return PAUSE;
  }

  /** Moves to the next matching item and leaves the nodes alone: for counting. */
  nextItem(): { matched: readonly Matched[]; nodes: number } | null {
    while (this.#at < this.#items.length) {
      const item = this.#items[this.#at++]!;
      const matched = this.#matcher.match(item);
      if (matched.length === 0) continue;
      return { matched, nodes: this.#dictionary.nodes(item).intersect(this.#nodes).count() };
    }
    return null;
  }
}

/** Rows of reports, or of their sub-rows. */
export class ReportCursor implements Cursor {
  readonly #row: Row;
  readonly #ids: Iterator<ReportId>;
  readonly #nodes: NodeSet | null;
  readonly #report: Predicate | null;
  readonly #subs: SubRows;
  readonly #sub: Predicate | null;
  readonly #skip: ((report: ReportRecord) => boolean) | null;
  #list: readonly unknown[] = [];
  #subAt = 0;

  constructor(
    row: Row,
    ids: Iterable<ReportId>,
    nodes: NodeSet | null,
    report: Predicate | null,
    subs: SubRows,
    sub: Predicate | null,
    skip: ((report: ReportRecord) => boolean) | null,
  ) {
    this.#row = row;
    this.#ids = ids[Symbol.iterator]();
    this.#nodes = nodes;
    this.#report = report;
    this.#subs = subs;
    this.#sub = sub;
    this.#skip = skip;
  }

  next(): Step {
    const row = this.#row;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      if (this.#subAt < this.#list.length) {
        row.subIndex = this.#subAt;
        row.sub = this.#list[this.#subAt++];
        if (this.#sub === null || this.#sub.test(row) === TRUE) return ROW;
        continue;
      }
      const { done, value } = this.#ids.next();
      if (done) return END;
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

  #open(id: ReportId): boolean {
    const row = this.#row;
    const record = row.view.report(id);
    if (record === undefined) return false;
    if (this.#nodes !== null && !this.#nodes.has(record.nodeId)) return false;
    if (this.#skip?.(record)) return false;
    row.nodeId = record.nodeId as NodeId;
    row.itemId = id;
    row.body = record;
    row.matched = null;
    return this.#report === null || this.#report.test(row) === TRUE;
  }
}

/** Records that were collected before: names, packages, paths. */
export class RecordCursor implements Cursor {
  readonly #row: Row;
  readonly #records: readonly unknown[];
  readonly #test: Predicate | null;
  #at = 0;

  constructor(row: Row, records: readonly unknown[], test: Predicate | null) {
    this.#row = row;
    this.#records = records;
    this.#test = test;
  }

  next(): Step {
    const row = this.#row;
    for (let work = 0; work < WORK_PER_STEP; work++) {
      if (this.#at >= this.#records.length) return END;
      row.itemId = this.#at;
      row.body = this.#records[this.#at++];
      row.matched = null;
      if (this.#test === null || this.#test.test(row) === TRUE) return ROW;
    }
    return PAUSE;
  }
}
