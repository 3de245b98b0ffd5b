// Ids of fact names that a thread has looked up. Names that no fact has any more go (retention/unused.ts) and get another id when they come
// again, so what is remembered holds for snapshots that have seen as many removals.

const NAMES_MAX = 100_000;

export class NameIds {
  /** Times that names had been removed by then. */
  readonly removals: number;
  readonly #ids = new Map<string, number>();

  constructor(removals: number) {
    this.removals = removals;
  }

  get(name: string): number | undefined {
    return this.#ids.get(name);
  }

  keep(name: string, id: number): void {
    if (this.#ids.size < NAMES_MAX) this.#ids.set(name, id);
  }
}
