// What comes behind a page that is full need not be made: rows, events by the code of the first term, reports with all of their events.

import type { StoredEvents } from '../../../store/records/event-record.ts';
import type { ReportId } from '../../../store/records/records.ts';
import type { QueryTree } from '../../tree.ts';
import { CodedTest, judgeOf, type Seek } from '../filter/coded.ts';
import { accessFor } from '../filter/filter.ts';
import { FALSE, truthOf } from '../filter/truth.ts';
import type { CompiledSelection } from '../plan/compiled-selection.ts';
import type { Value } from '../row/access.ts';
import { dictionaryOf } from '../row/entities.ts';
import { ItemStates } from '../row/item-states.ts';
import type { Row } from '../row/row.ts';
import { type Bounds, type Ordering, TermOrder } from './order.ts';

/** What is kept of the rows so far. */
interface Kept {
  /** Keys of the last one of as many as are kept; null while there is room. */
  readonly last: readonly Value[] | null;
}

/**
 * Tells what is behind the page that is being filled. That stays there, as the page's rows only make way for earlier ones: of shared items
 * it is found out once an item, of texts in a coded column of events once a text.
 */
export class Behind {
  /** Of reports with sub-rows: what tells the order in which they are looked at; null: they come as they lie. */
  readonly bounds: Bounds | null;
  /** Of events that come as they lie: where the first one is that the code of the first term does not put behind the page. */
  readonly seek: Seek | null;
  /** Of reports: whether nothing but their places puts them in order. */
  readonly isByPlace: boolean;
  readonly #ordering: Ordering;
  readonly #selected: CompiledSelection;
  readonly #top: Kept;
  readonly #first: TermOrder | null;
  /** The keys whose first value that compares with. */
  #compared: readonly Value[] | null = null;
  readonly #isByItem: boolean;
  /** By partition: items that are behind. */
  readonly #items: ItemStates[] = [];

  constructor(ordering: Ordering, { orderBy }: QueryTree, selected: CompiledSelection, top: Kept) {
    this.#ordering = ordering;
    this.#selected = selected;
    this.#top = top;
    const [term] = orderBy;
    const first = term === undefined ? null : accessFor(selected.scope, term.field);
    this.#first = term === undefined ? null : new TermOrder(term, selected.scope);
    this.isByPlace = term === undefined && selected.shape === 'report' && !selected.isWithinReports;
    this.#isByItem = selected.shape === 'item' && first?.level === 'item';
    this.bounds = selected.isWithinReports ? ordering.bounds : null;
    const column = first?.column;
    // Of equal rows those that come later are behind.
    const isReached = (c: number): boolean => (orderBy.length === 1 ? c < 0 : c <= 0);
    const judge = judgeOf(
      (value) => truthOf(this.#top.last === null || isReached(ordering.compareFirst(value, this.#top.last))),
      (verdict) => verdict === FALSE,
    );
    const coded = column === undefined ? null : new CodedTest(column, judge);
    this.seek = coded === null ? null : (events, from, to) => this.#seekBy(coded, events, from, to);
  }

  has(row: Row): boolean {
    const { last } = this.#top;
    if (last === null || this.#first === null) return false;
    if (this.#compared !== last) {
      this.#compared = last;
      this.#first.wanted = last[0]!;
    }
    if (!this.#isByItem) {
      const told = this.#first.compare(row);
      return told > 0 || (told === 0 && this.#ordering.compareRest(row, last) >= 0);
    }
    const items = (this.#items[row.part] ??= new ItemStates(dictionaryOf(this.#selected.entity, row.view).end));
    if (items.get(row.itemId) !== 0) return true;
    const isBehind = this.#first.compare(row) > 0;
    if (isBehind) items.set(row.itemId, 1);
    return isBehind;
  }

  /** Whether the report of that id is, as nothing but its place tells (`withPlaces`). */
  hasPlace(part: number, id: ReportId): boolean {
    const { last } = this.#top;
    if (last === null) return false;
    const [lastPart, , lastId] = last as readonly number[];
    return part > lastPart! || (part === lastPart && id > lastId!);
  }

  /** Whether rows with that value of the first term are. */
  hasValue(first: Value): boolean {
    const { last } = this.#top;
    return last !== null && this.#ordering.compareFirst(first, last) > 0;
  }

  /** Whether all rows of a report with these bounds are. */
  hasReport(keys: readonly Value[]): boolean {
    const { last } = this.#top;
    return last !== null && this.bounds!.compare(keys, last) > 0;
  }

  #seekBy(coded: CodedTest, events: StoredEvents, from: number, to: number): number {
    return this.#top.last === null ? from : coded.seek(events, from, to);
  }
}
