// Events with distinct_resources: of each resource property of a node only the most recent event within the times
// (spec/query.md 6.1). The filter runs after that, except for what `before` says, and for conditions on what events are told apart by:
// these leave a property's events all or none, so that they may as well run first.
//
// Events come node by node, what arrived last first. Most of the earlier ones are then no news, and nothing is kept but those of one
// node that may still be rows.

import { PairNumbers } from '../../pair-numbers.ts';
import type { NodeSet } from '../../store/items/node-set.ts';
import { EVENT_CODE, type StoredEvents } from '../../store/records/event-record.ts';
import type { ReportId } from '../../store/records/records.ts';
import type { Filter, QueryTree } from '../tree.ts';
import { conjuncts } from './filter/alternatives.ts';
import { CodedNumbers } from './filter/coded.ts';
import { all, conditionsOf } from './filter/conditions.ts';
import { compileFilter, type Predicate } from './filter/filter.ts';
import { fieldsReadByAll } from './filter/reads.ts';
import { TRUE } from './filter/truth.ts';
import type { ExecContext } from './plan/context.ts';
import type { Selection } from './plan/selection.ts';
import type { SelectionTrace, Step as TraceStep } from './plan/trace.ts';
import type { Locator, Row } from './row/row.ts';
import { END, PAUSE, ROW, type Step, WORK_PER_STEP } from './sources/cursor.ts';
import { nodesOf } from './sources/nodes-of.ts';
import { Places, type Rows, TreeRows } from './sources/rows.ts';
import { Source } from './sources/source.ts';
import { prepareFilter } from './subquery.ts';

/** What events are told apart by. */
const KEY_FIELDS: readonly string[] = ['certname', 'resource_type', 'resource_title', 'property', 'name'];

/** Whether the condition says the same of all events that are not told apart. */
const isOnKey = (filter: Filter): boolean =>
  fieldsReadByAll([filter])?.every((field) => KEY_FIELDS.includes(field)) === true;

/** The distinct events that pass the tree's filter, which has been prepared. */
export function* openDistinct(
  tree: QueryTree,
  ctx: ExecContext,
  trace: SelectionTrace,
): Generator<undefined, DistinctRows> {
  const { start, end, before } = tree.distinct!;
  const early = yield* prepareFilter(before, tree, ctx);
  const filters = conditionsOf(tree.filter);
  const within: readonly Filter[] = [
    { kind: 'order', field: 'timestamp', op: '>=', value: start },
    { kind: 'order', field: 'timestamp', op: '<=', value: end },
    ...(early === null ? [] : conjuncts(early)),
    ...filters.filter(isOnKey),
  ];
  const late = all(filters.filter((filter) => !isOnKey(filter)));
  const among = late === null ? null : yield* nodesWith([...within, late], ctx, trace);
  const selection: Selection = { entity: 'events', filter: all(within), byNode: { among } };
  return new DistinctRows(new Source(selection, ctx, trace), late);
}

/** By partition, the nodes that have such an event at all: no others can have one that is the most recent. */
function* nodesWith(
  filters: readonly Filter[],
  ctx: ExecContext,
  trace: SelectionTrace,
): Generator<undefined, readonly NodeSet[]> {
  const nodes = yield* nodesOf(new Source({ entity: 'events', filter: all(filters) }, ctx, trace));
  trace.rewind();
  return nodes;
}

/** So many kinds of events are told apart at a time before their texts are forgotten. */
const KEYS_MAX = 1 << 16;

/** Numbers what events are told apart by, apart from the node: equal for equal ones until `clear`. */
class EventKeys {
  readonly #texts = new CodedNumbers();
  #resources = new PairNumbers();
  #properties = new PairNumbers();
  #keys = new PairNumbers();

  get isFull(): boolean {
    return this.#keys.size >= KEYS_MAX || this.#texts.size >= KEYS_MAX;
  }

  clear(): void {
    this.#texts.clear();
    this.#resources = new PairNumbers();
    this.#properties = new PairNumbers();
    this.#keys = new PairNumbers();
  }

  /** Of the present event. */
  of(events: StoredEvents): number {
    const type = this.#text(EVENT_CODE.resourceType, events);
    const title = this.#text(EVENT_CODE.resourceTitle, events);
    const property = this.#text(EVENT_CODE.property, events);
    const name = this.#text(EVENT_CODE.name, events);
    return this.#keys.of(this.#resources.of(type, title), this.#properties.of(property, name));
  }

  #text(column: number, events: StoredEvents): number {
    return this.#texts.of(events, events.code(column));
  }
}

/** Events of one node, in the order in which they came. */
class NodeEvents {
  readonly keys: number[] = [];
  readonly times: number[] = [];
  readonly reports: ReportId[] = [];
  readonly places: number[] = [];
  part = 0;
  node = 0;

  get length(): number {
    return this.keys.length;
  }

  begin({ part, nodeId }: Row): void {
    this.part = part;
    this.node = nodeId;
    this.#cut(0);
  }

  add(key: number, time: number, { itemId, subIndex }: Row): void {
    this.keys.push(key);
    this.times.push(time);
    this.reports.push(itemId);
    this.places.push(subIndex);
  }

  /** Keeps those of the most recent time of their key. */
  keepLatest(latest: readonly number[]): void {
    let kept = 0;
    for (let i = 0; i < this.keys.length; i++) {
      const key = this.keys[i]!;
      if (this.times[i]! < latest[key]!) continue;
      this.keys[kept] = key;
      this.times[kept] = this.times[i]!;
      this.reports[kept] = this.reports[i]!;
      this.places[kept] = this.places[i]!;
      kept++;
    }
    this.#cut(kept);
  }

  #cut(length: number): void {
    this.keys.length = length;
    this.times.length = length;
    this.reports.length = length;
    this.places.length = length;
  }
}

/** So many events of a node are kept before those that are out of date are looked for. */
const KEPT_MIN = 1024;

class DistinctRows implements Rows {
  readonly source: Source;
  row: Row;
  readonly #rows: TreeRows;
  readonly #places: Places;
  readonly #step: TraceStep;
  readonly #test: Predicate | null;
  readonly #keys = new EventKeys();
  /** By key: the node, by its number here, that has met it last, and the time of its most recent event. */
  readonly #nodes: number[] = [];
  readonly #latest: number[] = [];
  #node = 0;
  /** Of the node that is being looked at. */
  #kept = new NodeEvents();
  #keptMax = KEPT_MIN;
  /** Of the one before: rows, from `#at` on. */
  #found = new NodeEvents();
  #at = 0;
  /** Of the present row. */
  #place: Locator | null = null;
  #isOver = false;

  /** `late`: what rows have to pass beside the source's filter. */
  constructor(source: Source, late: Filter | null) {
    this.source = source;
    this.#test = late === null ? null : compileFilter(late, source.scope);
    this.#step = source.trace.step('distinct');
    this.#places = new Places(source);
    this.#rows = new TreeRows(source);
    this.row = this.#rows.row;
  }

  get scan(): TraceStep {
    return this.#rows.scan;
  }

  next(): Step {
    for (let work = 0; this.#at === this.#found.length; work++) {
      if (this.#isOver) return END;
      if (work === WORK_PER_STEP) return PAUSE;
      const step = this.#rows.next();
      if (step === PAUSE) return PAUSE;
      this.#isOver = step === END;
      if (step === END) this.#turn();
      else this.#take(this.#rows.row);
    }
    const { part, node, reports, places } = this.#found;
    this.#place = { part, node, item: reports[this.#at]!, sub: places[this.#at]!, spot: null };
    this.row = this.#places.at(this.#place);
    this.#at++;
    this.#step.rows++;
    return ROW;
  }

  /** Each is a row by itself. */
  takeRest(): number {
    return 0;
  }

  locator(): Locator {
    return this.#place!;
  }

  #take(row: Row): void {
    const { trace } = this.source.ctx;
    trace.turn(this.#step);
    if (this.#node === 0 || row.nodeId !== this.#kept.node || row.part !== this.#kept.part) this.#begin(row);
    const events = row.sub as StoredEvents;
    const { timestamp } = events;
    const key = this.#keys.of(events);
    const isKnown = this.#nodes[key] === this.#node;
    if (!isKnown || timestamp >= this.#latest[key]!) {
      this.#nodes[key] = this.#node;
      this.#latest[key] = timestamp;
      if (this.#test === null || this.#test.test(row) === TRUE) this.#kept.add(key, timestamp, row);
      if (this.#kept.length === this.#keptMax) {
        this.#kept.keepLatest(this.#latest);
        this.#keptMax = Math.max(KEPT_MIN, this.#kept.length * 2);
      }
    }
    trace.turn(this.scan);
  }

  /** A node's events begin. */
  #begin(row: Row): void {
    this.#turn();
    // What was noted by the keys that come again is of other nodes.
    if (this.#keys.isFull) this.#keys.clear();
    this.#node++;
    this.#kept.begin(row);
    this.#keptMax = KEPT_MIN;
  }

  /** What was kept of a node are rows now. */
  #turn(): void {
    this.#kept.keepLatest(this.#latest);
    [this.#found, this.#kept] = [this.#kept, this.#found];
    this.#at = 0;
  }
}
