// Which rows come behind a page that is full: their other keys need not be made.

import type { StoredEvents } from '../../store/event-record.ts';
import type { QueryTree } from '../tree.ts';
import type { Access, Value } from './access.ts';
import { CodedTest, judgeOf } from './coded.ts';
import { accessFor } from './filter.ts';
import { ItemStates } from './item-states.ts';
import type { Ordering } from './order.ts';
import type { Row } from './row.ts';
import type { Source } from './source.ts';
import { TRUE, truthOf } from './truth.ts';

/**
 * Rows that are behind a full page by the first term: of those of shared items that is found out once an item, of events in order of a
 * coded column once a text. What is behind stays there, as the page's rows only make way for earlier ones.
 */
export class Behind {
  readonly #ordering: Ordering;
  readonly #source: Source;
  readonly #first: Access | null;
  readonly #isByItem: boolean;
  readonly #byCode: CodedTest | null;
  /** By partition: items that are behind. */
  readonly #items: ItemStates[] = [];
  #last: readonly Value[] | null = null;

  constructor(ordering: Ordering, { orderBy: [term] }: QueryTree, source: Source) {
    this.#ordering = ordering;
    this.#source = source;
    this.#first = term === undefined ? null : accessFor(source.scope, term.field);
    this.#isByItem = source.shape === 'item' && this.#first?.level === 'item';
    const column = this.#first?.column;
    const judge = judgeOf(
      (value) => truthOf(this.#isBehind(value)),
      (verdict) => verdict === TRUE,
    );
    this.#byCode = column === undefined ? null : new CodedTest(column, judge);
  }

  /** `last`: keys of the last row of the page; null while it has room. */
  has(row: Row, last: readonly Value[] | null): boolean {
    this.#last = last;
    if (last === null || this.#first === null) return false;
    if (this.#byCode !== null) return this.#byCode.of(row.sub as StoredEvents) === TRUE;
    if (!this.#isByItem) return this.#isBehind(this.#first.value(row));
    const items = (this.#items[row.part] ??= new ItemStates(this.#source.dictionary(row.view).end));
    if (items.get(row.itemId) !== 0) return true;
    const isBehind = this.#isBehind(this.#first.value(row));
    if (isBehind) items.set(row.itemId, 1);
    return isBehind;
  }

  #isBehind(value: Value): boolean {
    return this.#last !== null && this.#ordering.isBehind(value, this.#last);
  }
}
