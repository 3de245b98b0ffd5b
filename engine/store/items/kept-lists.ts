// Lists of all that the partitions of a thread have of a kind, kept for the next queries until something of the kind comes or
// goes anywhere. For kinds that change seldom though commands come all the time: names, fact paths, packages.

import type { Counted } from '../records/records.ts';

/** Longer ones are made anew: entries of a kept one may take some hundred bytes each. */
export const KEPT_LENGTH_MAX = 20_000;

/** A partition's snapshot: how often things of a kind had come or gone. */
interface Changes {
  changes(kind: Counted): number;
}

interface Kept {
  /** By partition. */
  readonly changes: readonly number[];
  readonly list: readonly unknown[];
}

export class KeptLists {
  readonly #kept = new Map<string, Kept>();

  /**
   * The list of that name if it is kept and nothing of the kind, on which alone it depends, has come or gone since. Not to be changed by
   * who gets it.
   */
  get<T>(name: string, kind: Counted, views: readonly Changes[]): readonly T[] | null {
    const kept = this.#kept.get(name);
    const isSame = kept?.changes.every((count, part) => views[part]!.changes(kind) === count);
    return isSame === true ? (kept!.list as readonly T[]) : null;
  }

  /** Keeps the list, unless it is too long. */
  keep(name: string, kind: Counted, views: readonly Changes[], list: readonly unknown[]): void {
    if (list.length > KEPT_LENGTH_MAX) this.#kept.delete(name);
    else this.#kept.set(name, { changes: views.map((view) => view.changes(kind)), list });
  }
}
