// Rows counted by what they have in the first terms of an order: which of these values a page reaches, and how many rows lie before it.

import type { OrderTerm } from '../../tree.ts';
import { accessFor, type CompileScope } from '../filter/filter.ts';
import type { Access, Value } from '../row/access.ts';
import type { Row } from '../row/row.ts';
import { type Compare, inOrder, orderingOf, RUN, TermOrder } from './order.ts';

/** How many more than are wanted are taken in, at least, before those that are too many are found. */
const ROOM = 64;

/** Rows that are equal in the terms. */
export class Share {
  readonly keys: readonly Value[];
  weight: number;
  /** Partition and item of each item that these rows are of, as often as a node has rows of it; null: they are of classes of items. */
  places: number[] | null;

  constructor(keys: readonly Value[], weight: number, places: number[] | null) {
    this.keys = keys;
    this.weight = weight;
    this.places = places;
  }

  /** Takes in what is equal. */
  join({ weight, places }: Share): void {
    this.weight += weight;
    if (this.places === null || places === null) this.places = null;
    else for (let i = 0; i < places.length; i++) this.places.push(places[i]!);
  }
}

/** The shares that hold the first so many rows in order, and those that are equal to the last of them. */
export class Shares {
  readonly #first: TermOrder;
  /** Of keys. */
  readonly compare: Compare;
  readonly #wanted: number;
  readonly #tick: () => boolean;
  /** What is needed of those before the last cut, in order, and those that came since then. */
  #kept: Share[] = [];
  #came: Share[] = [];
  /** Of what is behind them nothing is needed; null while all are. */
  #last: readonly Value[] | null = null;
  /** More that came are not left as they are. */
  #max: number;

  /** `tick` says when to yield. */
  constructor(terms: readonly OrderTerm[], scope: CompileScope, wanted: number, tick: () => boolean) {
    this.#first = new TermOrder(terms[0]!, scope);
    this.compare = orderingOf(terms, scope).compare;
    this.#wanted = wanted;
    this.#tick = tick;
    this.#max = Math.min(wanted + ROOM, RUN);
  }

  /** Whether none of the rows that have what that one has in the first term is needed. */
  isBehind(row: Row): boolean {
    return this.#last !== null && this.#first.compare(row) > 0;
  }

  /** Whether rows with these keys are needed: only those are to be added. */
  needs(keys: readonly Value[]): boolean {
    return this.#last === null || this.compare(keys, this.#last) <= 0;
  }

  /** Returns what is to be done before the next one. */
  add(share: Share): Generator<undefined, void> | undefined {
    return this.#came.push(share) > this.#max ? this.#cut() : undefined;
  }

  /** Those that are needed, in order; no two are equal. */
  *inOrder(): Generator<undefined, readonly Share[]> {
    yield* this.#cut();
    return this.#kept;
  }

  /** Forgets what is not needed, and puts together what is equal. */
  *#cut(): Generator<undefined, void> {
    const { compare } = this;
    const kept: Share[] = [];
    let last: Share | null = null;
    /** Of those before the last one. */
    let rows = 0;
    let looked = 0;
    for (const share of yield* this.#merged()) {
      if (++looked % RUN === 0 && this.#tick()) yield;
      if (last !== null && compare(share.keys, last.keys) === 0) {
        last.join(share);
        continue;
      }
      rows += last?.weight ?? 0;
      if (rows >= this.#wanted) break;
      last = share;
      kept.push(share);
    }
    if (last !== null && rows + last.weight >= this.#wanted && last.keys !== this.#last) {
      this.#last = last.keys;
      this.#first.wanted = last.keys[0]!;
    }
    this.#kept = kept;
    this.#came = [];
    this.#max = Math.min(this.#wanted + ROOM, Math.max(RUN, kept.length));
  }

  /** Those that are kept with those that came since then, in order. */
  *#merged(): Generator<undefined, readonly Share[]> {
    const kept = this.#kept;
    const came = yield* this.#sorted(this.#came);
    const merged: Share[] = [];
    let left = 0;
    let right = 0;
    while (left < kept.length || right < came.length) {
      const isLeft =
        right === came.length || (left < kept.length && this.compare(kept[left]!.keys, came[right]!.keys) <= 0);
      merged.push(isLeft ? kept[left++]! : came[right++]!);
      if (merged.length % RUN === 0 && this.#tick()) yield;
    }
    return merged;
  }

  *#sorted(shares: Share[]): Generator<undefined, readonly Share[]> {
    const order = (a: Share, b: Share): number => this.compare(a.keys, b.keys);
    if (shares.length <= RUN) return shares.sort(order);
    const places = yield* inOrder(shares.length, (a, b) => order(shares[a]!, shares[b]!), this.#tick);
    return Array.from(places, (place) => shares[place]!);
  }
}

/** How to read the terms that an order begins with, as far as they are of the kind that `isCounted` tells. */
export function leadingTerms(
  orderBy: readonly OrderTerm[],
  scope: CompileScope,
  isCounted: (access: Access) => boolean,
): readonly Access[] {
  const all = orderBy.map(({ field }) => accessFor(scope, field));
  const end = all.findIndex((access) => !isCounted(access));
  return end < 0 ? all : all.slice(0, end);
}

/** Those of the shares in order that do not lie before the page, and how many rows do. */
export function reachedBy(
  shares: readonly Share[],
  offset: number,
): { readonly before: number; readonly reached: readonly Share[] } {
  let before = 0;
  let at = 0;
  while (at < shares.length && before + shares[at]!.weight <= offset) before += shares[at++]!.weight;
  return { before, reached: shares.slice(at) };
}
