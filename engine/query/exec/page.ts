// A page of rows that are put in order: of those that may be on it places are kept, and what is behind it is not looked at. What is read
// of a place is read again once the page is known.

import { pageEnd, type QueryTree } from '../tree.ts';
import { AllRows } from './order/all-rows.ts';
import { Behind } from './order/behind.ts';
import { type Ordering, TopEntries, typesOf, withPlaces } from './order/order.ts';
import type { Shape } from './row/entities.ts';
import type { Locator } from './row/row.ts';
import { END, ROW } from './sources/cursor.ts';
import type { Rows } from './sources/rows.ts';
import type { Source } from './sources/source.ts';

/** Pages that end further behind are made of numbers of all rows, which mostly are smaller than the keys of so many. */
const KEPT_MAX = 500_000;

interface PageOptions {
  /** How many of the rows that come lie before the page. */
  readonly offset: number;
  /** As which shape rows that are equal in all terms come by their places; null: they come as they are found. */
  readonly placed: Shape | null;
}

/** Takes rows in, and gives the places of those on the page. Both throw QueryError when there is no room for what is kept of them. */
export class Page {
  readonly tree: QueryTree;
  readonly #ordering: Ordering;
  readonly #top: TopEntries<Locator> | AllRows;
  readonly #source: Source;
  #behind: Behind | null = null;

  constructor(tree: QueryTree, byTerms: Ordering, source: Source, { offset, placed }: PageOptions) {
    const { ctx, scope } = source;
    const ordering = placed === null ? byTerms : withPlaces(byTerms, placed);
    this.#source = source;
    this.tree = tree;
    this.#ordering = ordering;
    const end = pageEnd({ limit: tree.limit, offset });
    const terms = tree.orderBy;
    this.#top =
      end > (ctx.options.keptMax ?? KEPT_MAX)
        ? new AllRows({ terms, types: typesOf(terms, scope), ordering, placed, from: offset, end }, ctx)
        : new TopEntries(ordering.compare, offset, end);
  }

  /** What need not be looked at, as it comes behind the page as far as that is filled. */
  get behind(): Behind {
    this.#behind ??= new Behind(this.#ordering, this.tree, this.#source, this.#top);
    return this.#behind;
  }

  /** Takes rows in until so many have come, or all: how many did. */
  *take(rows: Rows, wanted: number): Generator<undefined, number> {
    const { ctx, trace } = this.#source;
    const { behind } = this;
    const top = this.#top;
    const ordering = this.#ordering;
    const order = trace.step('order');
    let count = 0;
    for (let step = rows.next(); step !== END; step = rows.next()) {
      if (step === ROW) {
        count++;
        ctx.trace.turn(order);
        if (!behind.has(rows.row)) top.add(ordering.keys(rows.row), () => rows.locator());
        ctx.trace.turn(rows.scan);
      }
      if (count >= wanted) break;
      if (ctx.tickStep(step === ROW)) yield;
    }
    ctx.trace.enter(order);
    order.rows += top.size;
    return count;
  }

  /** Where the rows of the page are, in order; this has none afterwards. Very many take long: `tick` says when to yield. */
  *places(tick: () => boolean): Generator<undefined, Iterable<Locator>> {
    if (this.#top instanceof TopEntries) return (yield* this.#top.sorted(tick)).map(({ place }) => place);
    return yield* this.#top.sorted(tick);
  }
}
