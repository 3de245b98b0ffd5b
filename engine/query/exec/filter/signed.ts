// Conditions that ask for one of the very many things that items have, such as a parameter with its value: items whose signatures lack its bits
// are not read (store/items/item-signatures.ts). Those that are left still have to be tested.

import type { DictionaryView, RecordReader } from '../../../store/items/dictionary-view.ts';
import type { ItemSignatures, Mark } from '../../../store/items/item-signatures.ts';
import type { Fields } from '../../../store/records/fields.ts';
import type { ItemId } from '../../../store/records/records.ts';
import type { ItemSieve } from './classed.ts';

/** The items of one partition that have, of each list of marks, one at least. */
export class SignedTest implements ItemSieve {
  readonly #signatures: ItemSignatures;
  readonly #reader: RecordReader<Fields>;
  readonly #wanted: readonly (readonly Mark[])[];

  constructor(dictionary: DictionaryView<unknown>, signatures: ItemSignatures, wanted: readonly (readonly Mark[])[]) {
    this.#signatures = signatures;
    this.#reader = dictionary.reader();
    this.#wanted = wanted;
  }

  passes(item: ItemId): boolean {
    const signature = this.#signatures.of(item, this.#reader);
    for (const marks of this.#wanted) if (!coversOne(signature, marks)) return false;
    return true;
  }
}

function coversOne(signature: Mark, marks: readonly Mark[]): boolean {
  for (const mark of marks) if (signature.covers(mark)) return true;
  return false;
}
