// The queries that have begun and not ended, each at a place of its own. Not a Map: V8 gives a Map that changes with every query a new table
// now and then, and an abandoned table in the old generation keeps all later ones alive, with the queries in them, until the next full
// collection.

/** At its place it is found by its id, until it leaves. */
export interface Placed {
  /** Given with its place; another one each time, so that it also tells apart the queries that have had the same place. */
  id: number;
  /** Its place, from 0, and that of its cancel flag; -1: it has none. */
  flag: number;
}

export class RunningQueries<Q extends Placed> {
  readonly #places: (Q | null)[];
  readonly #free: number[] = [];
  #turn = 0;
  #size = 0;

  constructor(places: number) {
    this.#places = new Array<Q | null>(places).fill(null);
    for (let flag = places - 1; flag >= 0; flag--) this.#free.push(flag);
  }

  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#free.length === 0;
  }

  /** Gives the query a place and an id; there must be room. */
  add(query: Q): void {
    const flag = this.#free.pop();
    if (flag === undefined) throw new Error('all places are taken');
    query.flag = flag;
    query.id = ++this.#turn * this.#places.length + flag;
    this.#places[flag] = query;
    this.#size++;
  }

  get(id: number): Q | undefined {
    const query = this.#places[id % this.#places.length];
    return query?.id === id ? query : undefined;
  }

  /** Takes the query's place away; false: it had none. */
  delete(query: Q): boolean {
    const { flag } = query;
    if (flag < 0) return false;
    query.flag = -1;
    this.#places[flag] = null;
    this.#free.push(flag);
    this.#size--;
    return true;
  }

  /** Those that there are now, whatever comes or goes meanwhile. */
  all(): Q[] {
    return this.#places.filter((query) => query !== null);
  }
}
