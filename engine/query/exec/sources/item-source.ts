// Rows that are pairs of a node and a shared item: how their items are found in each partition, which of them pass, and the cursors over
// them, from the items or from the nodes' lists. A part of `Source` (source.ts), for entities of the shape `item` only.

import type { DictionaryView } from '../../../store/items/dictionary-view.ts';
import type { Mark } from '../../../store/items/item-signatures.ts';
import { NodeSet } from '../../../store/items/node-set.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';
import { ClassedTest, type ItemSieve, isClassed } from '../filter/classed.ts';
import type { Predicate } from '../filter/filter.ts';
import { marksOf } from '../filter/parameters.ts';
import { SignedTest } from '../filter/signed.ts';
import type { CompiledSelection } from '../plan/compiled-selection.ts';
import { foundItems, isExact, itemsOf } from '../plan/item-paths.ts';
import { type ItemPlan, planItems, rowsOfPlan } from '../plan/item-plan.ts';
import { both, reachTest } from '../plan/reach.ts';
import type { Reach } from '../plan/selection.ts';
import { dictionaryOf } from '../row/entities.ts';
import { ItemStates } from '../row/item-states.ts';
import type { Row } from '../row/row.ts';
import type { Cursor } from './cursor.ts';
import { type Either, ListCursor, PostingsCursor } from './item-cursors.ts';
import { ItemMatcher, type ItemTest } from './item-matcher.ts';

/** Fewer rows are looked at as they are: what classes they are of is not asked. */
const CLASSED_MIN = 4096;

interface ItemTests {
  /** What classes decide. */
  readonly classed: Predicate | null;
  /** What signatures tell of the other conditions: of each list an item has to have one mark. */
  readonly marks: readonly (readonly Mark[])[];
  /** What is to be tested of an item that is read. */
  readonly rest: Predicate | null;
}

function sievesOf({ classed, marks }: ItemTests, dictionary: DictionaryView<unknown>, row: Row): readonly ItemSieve[] {
  const sieves: ItemSieve[] = [];
  if (classed !== null) sieves.push(new ClassedTest(dictionary, row, classed));
  const signatures = marks.length === 0 ? null : dictionary.signatures();
  if (signatures !== null) sieves.push(new SignedTest(dictionary, signatures, marks));
  return sieves;
}

/** The items of a selection's rows; the same for all partitions. */
export class ItemSource {
  /** Whose rows these are. */
  readonly selected: CompiledSelection;
  readonly #reach: Reach | null;
  readonly #plans: ItemPlan[] = [];
  #knownTests: ItemTests | null = null;

  constructor(selected: CompiledSelection) {
    this.selected = selected;
    this.#reach = selected.selection.reach ?? null;
  }

  dictionary(view: View): DictionaryView<unknown> {
    return dictionaryOf(this.selected.entity, view);
  }

  /** Rows of these nodes, in the way that takes least. */
  open(row: Row, nodes: NodeSet, either: Either | null): Cursor {
    const plan = this.plan(row, nodes);
    this.selected.plans[row.part] = { nodes: plan.nodes, items: plan, reports: null };
    if (plan.drive === 'nodes') {
      const passing = this.#reach?.items == null ? null : this.rowsOf(row, plan);
      return this.openList(row, nodes.toArray(), this.matcher(row, passing), either);
    }
    const matcher = this.#matcherOfItems(row, plan, null);
    const items = this.ids(row, plan);
    const dictionary = this.dictionary(row.view);
    return new PostingsCursor({ row, items, dictionary, matcher, nodes, residual: this.selected.mixed, either });
  }

  /** Whether the items of the plan's index are those that pass, so that none needs a test. */
  isExact({ path }: ItemPlan): boolean {
    if (path === null || this.selected.subs !== null || this.#reach?.test != null) return false;
    return this.#reach?.items != null || isExact(path, this.filters);
  }

  /** Whether the plan's items are known to be those that pass, though their sub-rows may have to be looked at. */
  areKnown(plan: ItemPlan): boolean {
    return this.isExact(plan) || this.#reach?.items != null;
  }

  /** How many rows a node has of each item, where those that pass are known. */
  rowsOf(row: Row, plan: ItemPlan): ItemStates {
    const counts = new ItemStates(this.dictionary(row.view).end, Uint32Array);
    const reached = this.#reach?.items?.[row.part];
    if (reached === undefined) for (const item of this.ids(row, plan)) counts.set(item, 1);
    else for (let i = 0; i < reached.ids.length; i++) counts.set(reached.ids[i]!, reached.rows[i]!);
    return counts;
  }

  /** For the items that the plan's index gives. */
  #matcherOfItems(row: Row, plan: ItemPlan, isWanted: ItemTest | null): ItemMatcher {
    return this.#matcher(row, null, !this.isExact(plan), isWanted);
  }

  /** How items are found on the row's partition: decided once. */
  plan(row: Row, nodes: NodeSet): ItemPlan {
    let plan = this.#plans[row.part];
    if (plan === undefined) {
      const reached = this.#reach?.items?.[row.part];
      const found = reached === undefined ? null : foundItems(reached.ids);
      plan = planItems(this.selected.entity, this.filters, nodes.count(), row.view, this.selected.ctx.regex, found);
      this.#plans[row.part] = plan;
    }
    return plan;
  }

  /** Conditions on the item, its sub-rows included. */
  get filters(): readonly Filter[] {
    return [...this.selected.split.item, ...this.selected.split.sub];
  }

  /** Items that can pass: those of the plan's index, or all. */
  ids({ view }: Row, plan: ItemPlan): Uint32Array {
    return plan.path === null ? this.dictionary(view).ids() : itemsOf(plan.path, this.selected.entity, view);
  }

  /** Decides for the row's partition which items pass. `passing`: they are known already. */
  matcher(row: Row, passing: ItemStates | null = null, isWanted: ItemTest | null = null): ItemMatcher {
    return this.#matcher(row, passing, passing === null, isWanted);
  }

  /** `isAsked`: whether the conditions on items are not decided yet. */
  #matcher(row: Row, passing: ItemStates | null, isAsked: boolean, isWanted: ItemTest | null = null): ItemMatcher {
    const dictionary = this.dictionary(row.view);
    const tests = isAsked && this.#looksAtMany(row) ? this.#itemTests : null;
    const item = !isAsked ? null : tests === null ? this.selected.item : tests.rest;
    const sieves = tests === null ? [] : sievesOf(tests, dictionary, row);
    return new ItemMatcher({
      ctx: this.selected.ctx,
      row,
      dictionary,
      subs: this.selected.subs,
      sieves,
      item,
      sub: this.selected.sub,
      isWanted,
      passing,
    });
  }

  /** Whether so many rows are looked at that classes of items are known by them, or are worth getting to know. */
  #looksAtMany({ part, view }: Row): boolean {
    const plan = this.#plans[part];
    return plan !== undefined && rowsOfPlan(this.selected.entity, plan, view) >= CLASSED_MIN;
  }

  /** Conditions on items, for many of them. */
  get #itemTests(): ItemTests {
    if (this.#knownTests === null) {
      const { shared } = this;
      const byClass = this.selected.split.item.filter((filter) => isClassed(filter, this.selected.scope, shared));
      const classed = this.selected.compiled(byClass);
      const others = this.selected.split.item.filter((filter) => !byClass.includes(filter));
      const marks = others.flatMap((filter) => {
        const some = marksOf(filter, this.selected.ctx.regex);
        return some === null ? [] : [some];
      });
      this.#knownTests = {
        classed,
        marks,
        rest: classed === null ? this.selected.item : this.#withReach(this.selected.compiled(others)),
      };
    }
    return this.#knownTests;
  }

  /** A condition on items with what the selection reaches, unless that is asked of their sub-rows. */
  #withReach(item: Predicate | null): Predicate | null {
    return this.selected.subs === null ? both(item, reachTest(this.#reach)) : item;
  }

  /** Places of the fields of items that take few values. */
  get shared(): readonly number[] {
    return this.dictionary(this.selected.ctx.view(this.selected.parts[0] ?? 0)).shared;
  }

  /** The same, of items of the plan's index only. */
  matcherWithin(row: Row, plan: ItemPlan): ItemMatcher {
    if (plan.path === null) return this.matcher(row);
    const within = new ItemStates(this.dictionary(row.view).end);
    for (const item of this.ids(row, plan)) within.set(item, 1);
    return this.#matcher(row, within, !this.isExact(plan));
  }

  /** The nodes that have one of the plan's items that pass. Where the index tells which those are, their bodies are not read. */
  *nodesWith(row: Row, plan: ItemPlan): Generator<undefined, NodeSet> {
    const dictionary = this.dictionary(row.view);
    const matcher = this.areKnown(plan) ? null : this.#matcherOfItems(row, plan, null);
    const found = new NodeSet(row.view.maxNodeId + 1);
    for (const item of this.ids(row, plan)) {
      if (matcher === null || matcher.matchOnce(item, false).length > 0) dictionary.addNodes(item, found);
      if (this.selected.ctx.tick()) yield;
    }
    return found;
  }

  /** Rows of these nodes, through their lists. */
  openList(row: Row, ids: Uint32Array, matcher: ItemMatcher, either: Either | null): ListCursor {
    return new ListCursor({
      row,
      ids,
      dictionary: this.dictionary(row.view),
      matcher,
      residual: this.selected.mixed,
      either,
    });
  }

  /** A cursor over items whatever the plan says, for counting. */
  openPostings(row: Row, nodes: NodeSet, isWanted: ItemTest | null): PostingsCursor {
    const plan = { ...this.plan(row, nodes), drive: 'items' as const };
    this.selected.plans[row.part] = { ...this.selected.plans[row.part], nodes: plan.nodes, items: plan, reports: null };
    const matcher = this.#matcherOfItems(row, plan, isWanted);
    const items = this.ids(row, plan);
    const dictionary = this.dictionary(row.view);
    return new PostingsCursor({ row, items, dictionary, matcher, nodes, residual: null, either: null });
  }
}
