// Lists of all that the partitions of a thread have of a kind, kept for the next queries until something of the kind comes or
// goes anywhere. For kinds that change seldom though commands come all the time: names, fact paths, packages.

import type { Registered } from './records.ts';

/** Longer ones are made anew: entries of a kept one may take some hundred bytes each. */
const LENGTH_MAX = 20_000;

/** A partition's snapshot: how often things of a kind had come or gone. */
interface Changes {
  changes(kind: Registered): number;
}

interface Kept {
  /** By partition. */
  readonly changes: readonly number[];
  readonly list: readonly unknown[];
}

export class KeptLists {
  readonly #kept = new Map<string, Kept>();

  /**
   * The list of that name, which depends on nothing but the things of the kind that the views have. Not to be changed by who
   * gets it.
   */
  of<T>(name: string, kind: Registered, views: readonly Changes[], make: () => readonly T[]): readonly T[] {
    const changes = views.map((view) => view.changes(kind));
    const kept = this.#kept.get(name);
    if (kept !== undefined && changes.every((count, part) => count === kept.changes[part])) {
      return kept.list as readonly T[];
    }
    const list = make();
    if (list.length <= LENGTH_MAX) this.#kept.set(name, { changes, list });
    else this.#kept.delete(name);
    return list;
  }
}
