// Conditions on fields of items that take few values are decided once a class (store/items/item-classes.ts), that is for all items that are
// equal in these fields. Items that fail are not read.

import type { DictionaryView, RecordReader } from '../../../store/items/dictionary-view.ts';
import type { ItemClasses } from '../../../store/items/item-classes.ts';
import type { Fields } from '../../../store/records/fields.ts';
import type { ItemId } from '../../../store/records/records.ts';
import type { Filter } from '../../tree.ts';
import type { Access } from '../row/access.ts';
import type { Row } from '../row/row.ts';
import { accessFor, type CompileScope, type Predicate } from './filter.ts';
import { fieldsReadByAll } from './reads.ts';
import { TRUE } from './truth.ts';

/** Whether all of these are fields of items that take few values. `shared`: the places of such fields. */
export const areShared = (reads: readonly Access[], shared: readonly number[]): boolean =>
  reads.every(({ level, stored }) => level === 'item' && stored !== undefined && shared.includes(stored.place));

/** Whether the condition reads nothing but fields, of which there is one at least, and `is` holds for each. */
export function readsOnly(filter: Filter, scope: CompileScope, is: (access: Access) => boolean): boolean {
  const fields = fieldsReadByAll([filter]);
  return fields !== null && fields.length > 0 && fields.every((field) => is(accessFor(scope, field)));
}

/** Whether the condition reads nothing but fields of items that take few values. `shared`: the places of such fields. */
export const isClassed = (filter: Filter, scope: CompileScope, shared: readonly number[]): boolean =>
  readsOnly(filter, scope, (access) => areShared([access], shared));

/** Tells items that do not pass from what the thread keeps of them, so that they are not read. */
export interface ItemSieve {
  passes(item: ItemId): boolean;
}

/** Such conditions on the items of one partition. */
export class ClassedTest implements ItemSieve {
  readonly #classes: ItemClasses;
  readonly #reader: RecordReader<Fields>;
  readonly #row: Row;
  readonly #test: Predicate;
  readonly #verdicts = new Map<number, boolean>();

  constructor(dictionary: DictionaryView<unknown>, row: Row, test: Predicate) {
    this.#classes = dictionary.classes();
    this.#reader = dictionary.reader();
    this.#row = row;
    this.#test = test;
  }

  passes(item: ItemId): boolean {
    const number = this.#classes.of(item, this.#reader);
    let passes = this.#verdicts.get(number);
    if (passes === undefined) this.#verdicts.set(number, (passes = this.#find(item)));
    return passes;
  }

  #find(item: ItemId): boolean {
    const row = this.#row;
    row.itemId = item;
    row.body = this.#reader.glance(item);
    return this.#test.test(row) === TRUE;
  }
}
