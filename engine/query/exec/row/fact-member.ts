// One fact of each row's node, and what a path leads to inside it. Most facts of a name are the same item on many nodes: what is
// found in one of those is kept from its second use on.

import type { JsonValue } from '../../../json/value.ts';
import type { ItemId } from '../../../store/records/records.ts';
import { KeptItems } from './item-states.ts';
import type { Row } from './row.ts';
import type { ValuePath } from './value-path.ts';

/** Finds the fact of one name. */
export class FactFinder {
  readonly #name: string;
  /** Where it was among the last node's facts: nodes that are alike have it at the same place. */
  #at = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** The row's node's item, 0 when it has none. */
  item(row: Row): ItemId {
    const nameId = row.view.nameId(this.#name);
    if (nameId === 0) return 0;
    const { length, values } = row.factList;
    const last = this.#at;
    if (last < length && values[last] === nameId) return values[last + 1]!;
    for (let i = 0; i < length; i += 2) {
      if (values[i] !== nameId) continue;
      this.#at = i;
      return values[i + 1]!;
    }
    return 0;
  }
}

/** A scalar, or that nothing is there. */
interface Found {
  readonly value: JsonValue | undefined;
}

/** What a path leads to inside the facts of one name. Lives as long as its query. */
export class FactMember {
  readonly #finder: FactFinder;
  readonly #path: ValuePath;
  readonly #onRead: (bytes: number) => void;
  /** By partition. */
  readonly #kept: (KeptItems<Found> | undefined)[] = [];

  /** `onRead`: told the bytes of each fact that is read. */
  constructor(name: string, path: ValuePath, onRead: (bytes: number) => void) {
    this.#finder = new FactFinder(name);
    this.#path = path;
    this.#onRead = onRead;
  }

  /** The row's node's item, 0 when it has none. */
  item(row: Row): ItemId {
    return this.#finder.item(row);
  }

  /** What is there in that item; undefined: nothing. */
  find(row: Row, item: ItemId): JsonValue | undefined {
    const kept = (this.#kept[row.part] ??= new KeptItems(row.view.facts.end));
    const known = kept.get(item);
    if (known !== undefined) return known.value;
    const fact = row.factReader.read(item);
    this.#onRead(fact.record.size);
    const value = this.#path.findInFact(fact);
    if (kept.meets(item) && (typeof value !== 'object' || value === null)) kept.keep(item, { value });
    return value;
  }
}
