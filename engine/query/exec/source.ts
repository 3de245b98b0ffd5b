// From a tree to rows: for each partition the plan is made, the nodes are determined, and the matching cursor is opened.
// `TreeRows` (rows.ts) strings the partitions together.

import type { EntityName } from '../../../schemas/entities.ts';
import { FACT, type StoredEdge, type StoredFact } from '../../store/bodies.ts';
import type { DictionaryView } from '../../store/dictionary.ts';
import type { StoredEvents } from '../../store/event-record.ts';
import type { Mark } from '../../store/item-signatures.ts';
import type { NodeSet } from '../../store/node-set.ts';
import type { NodeId, ReportId } from '../../store/records.ts';
import type { View } from '../../store/view.ts';
import { type ElementTests, elementTests, exactTests, leavesAlong } from '../paths.ts';
import type { CompileRegex } from '../regex/regex.ts';
import type { Filter } from '../tree.ts';
import type { GlobalRecord } from './access.ts';
import type { Behind } from './behind.ts';
import { ClassedTest, type ItemSieve, isClassed } from './classed.ts';
import { all, type SplitFilter, splitFilter } from './conditions.ts';
import type { ExecContext } from './context.ts';
import {
  type Cursor,
  type Either,
  ItemMatcher,
  ListCursor,
  NodeCursor,
  PostingsCursor,
  RecordCursor,
  ReportCursor,
  type SubList,
  type SubRows,
} from './cursor.ts';
import { eitherOf } from './either.ts';
import { dictionaryOf, type Shape, type SubRow, type Traits } from './entities.ts';
import { type CompileScope, compileFilter, conjunction, type Predicate, SUB, scopeOf } from './filter.ts';
import type { FoldPlan } from './fold.ts';
import { recordsOf } from './global-records.ts';
import { foundItems, isExact, itemsOf } from './item-paths.ts';
import { type ItemPlan, planItems, rowsOfPlan } from './item-plan.ts';
import { ItemStates } from './item-states.ts';
import { Leaf, LeafPaths, type LeafPlace } from './leaf.ts';
import { evaluateNodes } from './node-filter.ts';
import { marksOf } from './parameters.ts';
import {
  areFew,
  areFewWithin,
  areMany,
  latestOf,
  reportIds,
  skipByTime,
  usefulTimes,
  withEvents,
} from './report-ids.ts';
import { asksForLatest, type ReportPath, reportPath, type TimeOrder } from './report-plan.ts';
import { type MarkTests, markTests, ReportSieve } from './report-sieve.ts';
import type { Locator, Row } from './row.ts';
import { SignedTest } from './signed.ts';
import { SelectionTrace } from './trace.ts';
import { truthOf } from './truth.ts';

/** What is selected: the part of a tree that decides which rows there are. */
export interface Selection {
  readonly entity: EntityName;
  readonly filter: Filter | null;
  /** Of reports: what they should come in, as far as that is no more work. */
  readonly order?: TimeOrder | null;
  readonly reach?: Reach | null;
  /** Of reports: they come node by node, of each node the last one first. `among`: by partition, the nodes that pass, where they are known. */
  readonly byNode?: { readonly among: readonly NodeSet[] | null };
}

/** Which of the rows that pass the filter may be on a page (narrowing.ts). */
interface Reach {
  /** By partition, ascending: the items of these rows. All of them pass the conditions on items. null: any. */
  readonly items: readonly Uint32Array[] | null;
  /** Of the items, or of their sub-rows where they have some: those that it is true for. null: all. */
  readonly test: ((row: Row) => boolean) | null;
}

/** In what order nodes are visited (walk.ts): of their names, of other fields, or in which they lie. */
export type WalkOrder = 'certname' | 'terms' | 'place';

/** What was decided for one partition. */
export interface PartitionPlan {
  readonly nodes: number | null;
  readonly items: ItemPlan | null;
  readonly reports: ReportPath | null;
  /** How rows are counted, where they are counted by item. */
  readonly fold?: FoldPlan;
  /** Rows come in order because the nodes are visited in order. */
  readonly walk?: WalkOrder;
}

/** The leaves of a fact that the conditions can leave: all of them, or those of one path or pattern of paths. */
function leavesOf(filters: readonly Filter[], regex: CompileRegex): (row: Row) => readonly Leaf[] {
  const tests = pathTests(filters, regex);
  const paths = new LeafPaths();
  return (row) => {
    const { name, record } = row.body as StoredFact;
    const { bytes } = record;
    const out: Leaf[] = [];
    const text = { bytes, start: valueStart(row), end: record.endOf(FACT.value) };
    leavesAlong(tests, name, text, (path, start, end) => {
      out.push(new Leaf(paths.of(out.length, path), bytes, start, end));
    });
    return out;
  };
}

/** Where the value of the row's fact begins in its bytes. */
const valueStart = (row: Row): number => (row.body as StoredFact).record.startOf(FACT.value);

function leafAt(row: Row, { path, start, end }: LeafPlace): Leaf {
  const from = valueStart(row);
  return new Leaf(path, (row.body as StoredFact).record.bytes, from + start, from + end);
}

function pathTests(filters: readonly Filter[], regex: CompileRegex): ElementTests | null {
  for (const filter of filters) {
    if (filter.kind === 'path-match') return elementTests(filter.pattern, regex);
    if (filter.kind === 'path-eq' && filter.paths.length === 1) return exactTests(filter.paths[0]!);
  }
  return null;
}

const inputsOf = (row: Row): readonly { type: string; name: string }[] =>
  (JSON.parse(row.view.inputs(row.nodeId) ?? '[]') as [string, string][]).map(([type, name]) => ({ type, name }));

function eventsOf({ events, itemId }: Row): StoredEvents {
  if (events.report !== itemId) events.open(itemId);
  return events;
}

/** Sub-rows of a kind. */
interface SubKind {
  /** `filters`: conditions that sub-rows have to pass; those that fail one of them may be left out. */
  readonly make: (filters: readonly Filter[], regex: CompileRegex) => (row: Row) => SubList;
  /** Where finding one by its number means a look at all those before it: what is kept of the row's, and the one that it is of. */
  readonly spots?: { readonly of: (row: Row) => unknown; readonly at: (row: Row, spot: unknown) => unknown };
}

const SUBS: Readonly<Record<SubRow, SubKind>> = {
  leaf: {
    make: leavesOf,
    spots: {
      of: (row) => (row.sub as Leaf).placeFrom(valueStart(row)),
      at: (row, spot) => leafAt(row, spot as LeafPlace),
    },
  },
  target: { make: () => (row) => (row.body as StoredEdge).targets },
  event: { make: () => eventsOf },
  input: { make: () => inputsOf, spots: { of: (row) => row.sub, at: (_, spot) => spot } },
};

/** Partitions of the certnames that the conditions leave; all of them when they name none. */
function partsOf(filters: readonly Filter[], ctx: ExecContext): readonly number[] {
  const all = Array.from({ length: ctx.parts }, (_, part) => part);
  return filters.reduce((parts, filter) => {
    const named = certnamesOf(filter);
    if (named === null) return parts;
    const wanted = new Set(named.map((certname) => ctx.partOf(certname)));
    return parts.filter((part) => wanted.has(part));
  }, all);
}

function certnamesOf(filter: Filter): readonly string[] | null {
  if (filter.kind === 'eq' && filter.field === 'certname') return [String(filter.value)];
  if (filter.kind === 'in' && filter.field === 'certname') return filter.values.map(String);
  return null;
}

function reachTest(reach: Reach | null): Predicate | null {
  const test = reach?.test ?? null;
  return test === null ? null : { deps: SUB, test: (row) => truthOf(test(row)) };
}

const both = (a: Predicate | null, b: Predicate | null): Predicate | null =>
  a === null || b === null ? (a ?? b) : conjunction([a, b]);

/** Fewer rows are looked at as they are: what classes they are of is not asked. */
const CLASSED_MIN = 4096;

interface ItemTests {
  /** Those that classes decide. */
  readonly classed: Predicate | null;
  /** Those that they do not, each in part, as an item has to have one of the marks of each list. */
  readonly marks: readonly (readonly Mark[])[];
  readonly rest: Predicate | null;
}

function sievesOf({ classed, marks }: ItemTests, dictionary: DictionaryView<unknown>, row: Row): readonly ItemSieve[] {
  const sieves: ItemSieve[] = [];
  if (classed !== null) sieves.push(new ClassedTest(dictionary, row, classed));
  const signatures = marks.length === 0 ? null : dictionary.signatures();
  if (signatures !== null) sieves.push(new SignedTest(dictionary, signatures, marks));
  return sieves;
}

/** Everything needed to open cursors for a selection; the same for all partitions. */
export class Source {
  readonly selection: Selection;
  readonly entity: EntityName;
  readonly scope: CompileScope;
  readonly split: SplitFilter;
  readonly item: Predicate | null;
  readonly sub: Predicate | null;
  readonly mixed: Predicate | null;
  readonly residual: Predicate | null;
  readonly subs: SubRows;
  /** Partitions that can have rows, ascending. */
  readonly parts: readonly number[];
  readonly plans: PartitionPlan[] = [];
  readonly trace: SelectionTrace;
  readonly #subKind: SubKind | null;
  readonly #order: TimeOrder | null;
  readonly #reach: Reach | null;
  /** Of a global entity: those that were rows since the last cursor was opened. */
  #records: GlobalRecord[] = [];
  readonly #nodes: NodeSet[] = [];
  readonly #eithers: (Either | null)[] = [];
  readonly #itemPlans: ItemPlan[] = [];
  #knownTests: ItemTests | null = null;
  #markTests: MarkTests | null = null;

  /** `trace`: where the work on the selection is written down. */
  constructor(selection: Selection, ctx: ExecContext, trace = new SelectionTrace(null, null, null)) {
    this.selection = selection;
    this.entity = selection.entity;
    this.#order = selection.order ?? null;
    this.#reach = selection.reach ?? null;
    this.trace = trace;
    trace.source = this;
    this.scope = scopeOf(ctx, selection.entity);
    const { implied, sub: kind } = this.scope.traits;
    this.#subKind = kind === null ? null : SUBS[kind];
    const filters = [implied, selection.filter].filter((f) => f !== null);
    this.split = splitFilter(all(filters), this.scope);
    const item = this.#compiled(this.split.item);
    const sub = this.#compiled(this.split.sub);
    const reaches = reachTest(this.#reach);
    const hasSubs = kind !== null;
    this.item = hasSubs ? item : both(item, reaches);
    this.sub = hasSubs ? both(sub, reaches) : sub;
    this.mixed = this.#compiled(this.split.mixed);
    this.residual = this.#compiled([...this.split.item, ...this.split.sub, ...this.split.mixed]);
    this.subs = this.#subKind?.make(this.split.sub, ctx.regex) ?? null;
    this.parts = partsOf(this.split.node, ctx);
    // Snapshots that are needed are taken together.
    if (this.parts.length === ctx.parts) void ctx.views;
  }

  /** Those of the rows that pass one more condition, which does not look at the node, and are within reach. null: no more than that. */
  within(filter: Filter | null, reach: Reach | null): Source {
    const { selection, ctx, trace } = this;
    const filters = [selection.filter, filter].filter((f) => f !== null);
    const source = new Source({ ...selection, filter: all(filters), reach }, ctx, trace);
    this.#nodes.forEach((nodes, part) => {
      source.#nodes[part] = nodes;
    });
    return source;
  }

  get ctx(): ExecContext {
    return this.scope.ctx;
  }

  get shape(): Shape {
    return this.traits.shape;
  }

  get traits(): Traits {
    return this.scope.traits;
  }

  /** true when rows are decided by the item alone, so that they can be counted item by item. */
  get countable(): boolean {
    return this.shape === 'item' && this.mixed === null;
  }

  /** Whether rows are what reports have several of. */
  get isWithinReports(): boolean {
    return this.shape === 'report' && this.subs !== null;
  }

  /** true when each node of the set is a row, and there are no others. */
  get isPlainNodes(): boolean {
    return this.shape === 'node' && this.residual === null && this.subs === null;
  }

  /** Whether a page of the rows is found by the producer times of reports, so that those behind it are not looked at. */
  get isTimed(): boolean {
    const clock = this.#order?.clock ?? null;
    if (clock === null) return this.#order !== null;
    return this.parts.every((part) => usefulTimes(this.ctx.view(part), clock) !== null);
  }

  /** Nodes the selection can have rows of: determined once a partition, not to be changed. */
  *nodes(row: Row): Generator<undefined, NodeSet> {
    const known = this.#nodes[row.part] ?? this.selection.byNode?.among?.[row.part];
    if (known !== undefined) return known;
    const step = this.trace.nodes(row.part);
    const before = this.ctx.trace.enter(step);
    const base = this.base(row.view);
    const filter = all(this.split.node);
    const nodes = filter === null ? base : (yield* evaluateNodes(filter, base, row, this.scope)).yes;
    step.rows = nodes.count();
    this.ctx.trace.enter(before);
    this.#nodes[row.part] = nodes;
    return nodes;
  }

  /** Nodes that have rows of the entity when nothing is asked of them. */
  base(view: View): NodeSet {
    return view.set(this.traits.base);
  }

  /** `behind`: rows that it tells need not come. */
  *open(row: Row, behind: Behind | null = null): Generator<undefined, Cursor> {
    switch (this.shape) {
      case 'node':
        return new NodeCursor(row, (yield* this.nodes(row)).toArray(), this.subs, this.residual);
      case 'item':
        return this.#openItems(row, yield* this.nodes(row), yield* this.either(row));
      case 'report':
        return yield* this.#openReports(row, behind);
      case 'global':
        return this.#openRecords(row);
    }
  }

  #whole(): Predicate | null {
    return this.#compiled([...this.split.node, ...this.split.item, ...this.split.sub, ...this.split.mixed]);
  }

  #compiled(parts: readonly Filter[]): Predicate | null {
    const filter = all(parts);
    return filter === null ? null : compileFilter(filter, this.scope);
  }

  dictionary(view: View): DictionaryView<unknown> {
    return dictionaryOf(this.entity, view);
  }

  /** Which rows the conditions on node and item together leave to be looked at: determined once a partition. null: all. */
  *either(row: Row): Generator<undefined, Either | null> {
    const { mixed } = this.split;
    if (mixed.length === 0) return null;
    const known = this.#eithers[row.part];
    if (known !== undefined) return known;
    const either = yield* eitherOf(mixed, yield* this.nodes(row), row, this);
    this.#eithers[row.part] = either;
    return either;
  }

  #openItems(row: Row, nodes: NodeSet, either: Either | null): Cursor {
    const plan = this.itemPlan(row, nodes);
    this.plans[row.part] = { nodes: plan.nodes, items: plan, reports: null };
    if (plan.drive === 'nodes') {
      const passing = this.#reach?.items == null ? null : this.rowsOfItems(row, plan);
      return this.openList(row, nodes.toArray(), this.matcher(row, passing), either);
    }
    const matcher = this.#matcherOfItems(row, plan);
    const items = this.items(row, plan);
    const dictionary = this.dictionary(row.view);
    return new PostingsCursor({ row, items, dictionary, matcher, nodes, residual: this.mixed, either });
  }

  /** Whether the items of the plan's index are those that pass, so that none needs a test. */
  isExact({ path }: ItemPlan): boolean {
    if (path === null || this.subs !== null || this.#reach?.test != null) return false;
    return this.#reach?.items != null || isExact(path, this.itemFilters);
  }

  /** Whether the plan's items are known to be those that pass, though their sub-rows may have to be looked at. */
  areKnown(plan: ItemPlan): boolean {
    return this.isExact(plan) || this.#reach?.items != null;
  }

  /** How many rows a node has of each item, where those that pass are known. */
  rowsOfItems(row: Row, plan: ItemPlan): ItemStates {
    const counts = new ItemStates(this.dictionary(row.view).end, Uint32Array);
    const matcher = this.subs === null ? null : this.matcher(row);
    for (const item of this.items(row, plan)) {
      counts.set(item, matcher === null ? 1 : matcher.matchOnce(item, false).length);
    }
    return counts;
  }

  /** For the items that the plan's index gives. */
  #matcherOfItems(row: Row, plan: ItemPlan): ItemMatcher {
    return this.#matcher(row, null, !this.isExact(plan));
  }

  /** How items are found on the row's partition: decided once. */
  itemPlan(row: Row, nodes: NodeSet): ItemPlan {
    let plan = this.#itemPlans[row.part];
    if (plan === undefined) {
      const items = this.#reach?.items?.[row.part];
      const found = items === undefined ? null : foundItems(items);
      plan = planItems(this.entity, this.itemFilters, nodes.count(), row.view, this.ctx.regex, found);
      this.#itemPlans[row.part] = plan;
    }
    return plan;
  }

  /** Conditions on the item, its sub-rows included. */
  get itemFilters(): readonly Filter[] {
    return [...this.split.item, ...this.split.sub];
  }

  /** Items that can pass: those of the plan's index, or all. */
  items({ view }: Row, plan: ItemPlan): Uint32Array {
    return plan.path === null ? this.dictionary(view).ids() : itemsOf(plan.path, this.entity, view);
  }

  /** Decides for the row's partition which items pass. `passing`: they are known already. */
  matcher(row: Row, passing: ItemStates | null = null): ItemMatcher {
    return this.#matcher(row, passing, passing === null);
  }

  /** `isAsked`: whether the conditions on items are not decided yet. */
  #matcher(row: Row, passing: ItemStates | null, isAsked: boolean): ItemMatcher {
    const dictionary = this.dictionary(row.view);
    const tests = isAsked && this.#looksAtMany(row) ? this.#itemTests : null;
    const item = !isAsked ? null : tests === null ? this.item : tests.rest;
    const sieves = tests === null ? [] : sievesOf(tests, dictionary, row);
    return new ItemMatcher({ row, dictionary, subs: this.subs, sieves, item, sub: this.sub, passing });
  }

  /** Whether so many rows are looked at that classes of items are known by them, or are worth getting to know. */
  #looksAtMany({ part, view }: Row): boolean {
    const plan = this.#itemPlans[part];
    return plan !== undefined && rowsOfPlan(this.entity, plan, view) >= CLASSED_MIN;
  }

  /** Conditions on items, for many of them. */
  get #itemTests(): ItemTests {
    if (this.#knownTests === null) {
      const { shared } = this;
      const byClass = this.split.item.filter((filter) => isClassed(filter, this.scope, shared));
      const classed = this.#compiled(byClass);
      const others = this.split.item.filter((filter) => !byClass.includes(filter));
      const marks = others.flatMap((filter) => {
        const some = marksOf(filter, this.ctx.regex);
        return some === null ? [] : [some];
      });
      this.#knownTests = {
        classed,
        marks,
        rest: classed === null ? this.item : this.#withReach(this.#compiled(others)),
      };
    }
    return this.#knownTests;
  }

  /** A condition on items with what the selection reaches, unless that is asked of their sub-rows. */
  #withReach(item: Predicate | null): Predicate | null {
    return this.subs === null ? both(item, reachTest(this.#reach)) : item;
  }

  /** Places of the fields of items that take few values. */
  get shared(): readonly number[] {
    return this.dictionary(this.ctx.view(this.parts[0] ?? 0)).shared;
  }

  /** The same, of items of the plan's index only. */
  matcherWithin(row: Row, plan: ItemPlan): ItemMatcher {
    if (plan.path === null) return this.matcher(row);
    const within = new ItemStates(this.dictionary(row.view).end);
    for (const item of this.items(row, plan)) within.set(item, 1);
    return this.#matcher(row, within, !this.isExact(plan));
  }

  /** Rows of these nodes, through their lists. */
  openList(row: Row, ids: Uint32Array, matcher: ItemMatcher, either: Either | null): ListCursor {
    return new ListCursor({ row, ids, dictionary: this.dictionary(row.view), matcher, residual: this.mixed, either });
  }

  /** A cursor over items whatever the plan says, for counting and for sets of nodes. */
  openPostings(row: Row, nodes: NodeSet): PostingsCursor {
    const plan = { ...this.itemPlan(row, nodes), drive: 'items' as const };
    this.plans[row.part] = { ...this.plans[row.part], nodes: plan.nodes, items: plan, reports: null };
    const matcher = this.#matcherOfItems(row, plan);
    const items = this.items(row, plan);
    const dictionary = this.dictionary(row.view);
    return new PostingsCursor({ row, items, dictionary, matcher, nodes, residual: null, either: null });
  }

  *#openReports(row: Row, behind: Behind | null): Generator<undefined, Cursor> {
    const { view } = row;
    const isByNode = this.selection.byNode !== undefined;
    const filtered = this.split.node.length > 0 || isByNode;
    const nodes = filtered ? yield* this.nodes(row) : null;
    const narrow = nodes !== null && areFew(nodes, view);
    const pathIn = (order: TimeOrder | null): ReportPath =>
      reportPath(this.entity, [...this.split.item, ...this.split.sub], {
        narrow,
        isByNode,
        order,
        times: (clock) => usefulTimes(view, clock),
        areFew: (times) => areFewWithin(times, this.entity, view),
      });
    let path = pathIn(behind === null ? null : this.#order);
    const sieve = !narrow && areMany(path) ? ReportSieve.of(row, nodes, this.markTests) : null;
    if (path.kind === 'time' && path.order !== undefined && sieve?.leavesFew(path.order.rows, view) === true)
      path = pathIn(null);
    this.plans[row.part] = { nodes: nodes?.count() ?? null, items: null, reports: path };
    const all = reportIds(path, nodes, row, behind);
    const ids = this.isWithinReports ? withEvents(all, path, row) : all;
    const open = this.#reportCursors(row, path);
    return open(sieve === null ? ids : sieve.filter(ids), nodes, behind);
  }

  /** What the marks of reports tell of the conditions on them and on their events. */
  get markTests(): MarkTests {
    this.#markTests ??= markTests([...this.split.item, ...this.split.sub], this.scope);
    return this.#markTests;
  }

  /** Opens rows of such reports. What their conditions ask is made once for all cursors. */
  #reportCursors(
    row: Row,
    path: ReportPath,
  ): (ids: Iterable<ReportId>, nodes: NodeSet | null, behind: Behind | null) => ReportCursor {
    const report = this.#reportTest(path);
    const sub = this.#subTest();
    const skip = this.isWithinReports ? skipByTime(this.split.sub, path) : null;
    const { subs } = this;
    return (ids, nodes, behind) => new ReportCursor({ row, ids, nodes, report, sub, subs, skip, behind });
  }

  /** Of reports and events: whether no condition leads to the reports sooner than their nodes do. */
  get readsByNode(): boolean {
    const { kind } = this.#pathByNode;
    return kind === 'nodes' || kind === 'latest';
  }

  get #pathByNode(): ReportPath {
    return reportPath(this.entity, this.split.item, {
      narrow: true,
      isByNode: false,
      order: null,
      times: () => null,
      areFew: () => false,
    });
  }

  /** Opens the rows of a node's reports, as they came. */
  reportsByNode(row: Row): (node: NodeId) => ReportCursor {
    const path = this.#pathByNode;
    const open = this.#reportCursors(row, path);
    const idsOf = (node: NodeId): Iterable<ReportId> =>
      path.kind === 'latest' ? latestOf(node, row) : row.view.reportIdsOfNode(node);
    return (node) => open(idsOf(node), null, null);
  }

  /** How many rows the node's reports have; null where they have to be looked at. */
  countByNode(row: Row, node: NodeId): number | null {
    if (this.split.item.length + this.split.sub.length + this.split.mixed.length > 0) return null;
    const ids = row.view.reportIdsOfNode(node);
    if (this.subs === null) return ids.length;
    let count = 0;
    for (const id of ids) if (row.openReport(id)) count += row.report.eventCount;
    return count;
  }

  /** What the path does not say of the reports. */
  #reportTest(path: ReportPath): Predicate | null {
    const rest = path.kind === 'latest' ? this.split.item.filter((filter) => !asksForLatest(filter)) : this.split.item;
    return rest.length === this.split.item.length ? this.item : this.#compiled(rest);
  }

  #subTest(): Predicate | null {
    return this.#compiled([...this.split.sub, ...this.split.mixed]);
  }

  /** Over all partitions. */
  #openRecords(row: Row): Cursor {
    this.#records = [];
    const all = row.part === 0 ? recordsOf(this.entity, this.ctx.views) : [];
    return new RecordCursor(row, all, this.#whole(), this.#records);
  }

  /** Where the row is. */
  locator(row: Row): Locator {
    const spot = this.#subKind?.spots?.of(row) ?? null;
    return { part: row.part, node: row.nodeId, item: row.itemId, sub: row.subIndex, spot };
  }

  /** Puts a row that nothing else moves at a place that one was at before (same snapshot). */
  seek(row: Row, at: Locator): void {
    if (row.body === null || row.itemId !== at.item) this.#seekItem(row, at.item);
    row.nodeId = at.node;
    row.matched = null;
    row.subIndex = at.sub;
    row.sub = this.#subAt(row, at);
  }

  #seekItem(row: Row, item: number): void {
    row.itemId = item;
    switch (this.shape) {
      case 'item':
        row.body = this.dictionary(row.view).record(item);
        break;
      case 'report':
        row.openReport(item);
        break;
      case 'global':
        row.body = this.#records[item];
        break;
      case 'node':
        break;
    }
  }

  #subAt(row: Row, { sub, spot }: Locator): unknown {
    const spots = this.#subKind?.spots;
    if (spots !== undefined) return spots.at(row, spot);
    return this.subs === null ? null : this.subs(row).at(sub);
  }
}
