// Rows of what nodes have in lists (resources, facts, edges, packages): node by node, or item by item.

import type { DictionaryView } from '../../../store/items/dictionary-view.ts';
import { Ids } from '../../../store/items/ids.ts';
import type { NodeSet } from '../../../store/items/node-set.ts';
import type { ItemId } from '../../../store/records/records.ts';
import type { Predicate } from '../filter/filter.ts';
import { TRUE } from '../filter/truth.ts';
import type { ItemStates } from '../row/item-states.ts';
import type { Matched, Row } from '../row/row.ts';
import { type Cursor, END, PAUSE, ROW, type Step, WORK_PER_STEP } from './cursor.ts';
import { type ItemMatcher, NOTHING } from './item-matcher.ts';

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
        if (this.#matcher.isTickDue) break;
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

const NONE_YET = { matched: NOTHING, nodes: 0 };

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
      if (this.#matcher.isTickDue) break;
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

  /** Moves to the next matching item and leaves the nodes alone: for counting. Nothing matched: there is none yet. */
  nextItem(): { matched: readonly Matched[]; nodes: number } | null {
    for (let work = 0; this.#at < this.#items.length; work++) {
      if (work === WORK_PER_STEP || (work > 0 && this.#matcher.isTickDue)) return NONE_YET;
      const item = this.#items[this.#at++]!;
      const matched = this.#matcher.matchOnce(item, false);
      if (matched.length === 0) continue;
      return { matched, nodes: this.#dictionary.countNodes(item, this.#nodes) };
    }
    return null;
  }
}
