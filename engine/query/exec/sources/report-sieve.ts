// Reports that cannot have rows are told from what the partition keeps of all of them side by side (store/reports/report-marks.ts,
// report-moments.ts and report-statuses.ts), so that they are not read. What is left still has to be tested.

import type { NodeSet } from '../../../store/items/node-set.ts';
import { EVENT_CODE } from '../../../store/records/event-record.ts';
import type { ReportId } from '../../../store/records/records.ts';
import { type IdRange, ReportIds, type ReportView } from '../../../store/report-view.ts';
import { BLOCK_REPORTS, blockOf, placeIn } from '../../../store/reports/report-blocks.ts';
import { KIND_PLACES, KindMarks } from '../../../store/reports/report-kinds.ts';
import {
  type EventMark,
  MARKED_TEXTS,
  type MarkBlock,
  markOfEventText,
  markOfText,
} from '../../../store/reports/report-marks.ts';
import { BETWEEN, type Moment, type MomentBlock } from '../../../store/reports/report-moments.ts';
import { eventsOfStatus, STATUSES, type StatusBlock } from '../../../store/reports/report-statuses.ts';
import type { KnownZones } from '../../../store/reports/report-zones.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';
import { isClassed, readsOnly } from '../filter/classed.ts';
import { accessFor, type CompileScope, compileFilter, conjunction, type Predicate } from '../filter/filter.ts';
import { TRUE } from '../filter/truth.ts';
import { rangeOf } from '../plan/report-plan.ts';
import type { Row } from '../row/row.ts';
import { COST_FOUND, COST_ORDERED, COST_SIFTED, NO_REPORT, passing } from './report-ids.ts';

/** What nodes, kinds, marks, times and statuses tell of a selection's conditions; the same for all partitions. */
export interface SieveTests {
  /** Conditions that kinds decide. */
  readonly kind: Predicate | null;
  /** Conditions that an event's status decides. */
  readonly status: Predicate | null;
  /** By field, one of which the report has to have: a place in MARKED_TEXTS, and marks. */
  readonly texts: readonly { readonly field: number; readonly marks: readonly number[] }[];
  /** Of each list one has to be covered. */
  readonly events: readonly (readonly EventMark[])[];
  /** All of these times have to be within these bounds: epoch ms, inclusive. */
  readonly times: readonly { readonly moment: Moment; readonly from: number; readonly to: number }[];
  /**
   * Whether nothing else is asked: a report passes if it is a row, or has some, and only then. That is so where kinds are told apart and the
   * report's times and statuses are told, and, if times of events are asked for, where all of its events are within them.
   */
  readonly isExact: boolean;
}

/** `filters`: conditions on reports and on their events. */
export function sieveTests(filters: readonly Filter[], scope: CompileScope): SieveTests {
  const byKind = filters.filter((filter) => isClassed(filter, scope, KIND_PLACES));
  const texts: { field: number; marks: number[] }[] = [];
  const events: EventMark[][] = [];
  for (const filter of filters) {
    const wanted = textsOf(filter);
    if (wanted === null) continue;
    const { column, stored, level } = accessFor(scope, wanted.field);
    const field = level === 'item' && stored !== undefined ? MARKED_TEXTS.indexOf(stored.place) : -1;
    if (field >= 0) texts.push({ field, marks: wanted.texts.map(markOfText) });
    if (column !== undefined) events.push(wanted.texts.map((text) => markOfEventText(column, text)));
  }
  const times = filters.map((filter) => timeTestOf(filter, scope)).filter((test) => test !== null);
  const byStatus = filters.filter((filter) => readsOnly(filter, scope, ({ column }) => column === EVENT_CODE.status));
  return {
    kind: compiledAll(byKind, scope),
    status: compiledAll(byStatus, scope),
    texts,
    events,
    times,
    isExact: byKind.length + times.length + byStatus.length === filters.length,
  };
}

const compiledAll = (filters: readonly Filter[], scope: CompileScope): Predicate | null =>
  filters.length === 0 ? null : conjunction(filters.map((filter) => compileFilter(filter, scope)));

/** null: it is no condition on a time that is kept. */
export function timeTestOf(filter: Filter, { traits }: CompileScope): SieveTests['times'][number] | null {
  const range = rangeOf(filter);
  const moment = range === null ? undefined : traits.times[range.field];
  if (moment === undefined) return null;
  return { moment, from: range!.from ?? Number.NEGATIVE_INFINITY, to: range!.to ?? Number.POSITIVE_INFINITY };
}

/** More texts are not looked for one by one. */
const TEXTS_MAX = 16;

/** The texts of which the condition wants one; null: it wants something else. */
function textsOf(filter: Filter): { readonly field: string; readonly texts: readonly string[] } | null {
  if (filter.kind !== 'eq' && filter.kind !== 'in') return null;
  const values = filter.kind === 'eq' ? [filter.value] : filter.values;
  const texts = values.filter((value) => typeof value === 'string');
  return texts.length === values.length && texts.length <= TEXTS_MAX ? { field: filter.field, texts } : null;
}

/** More of the nodes wanted are not told apart here: one in so many is left out. */
const FEW_OTHERS = 8;

/** Whether many nodes are not among these. */
const leavesMany = (nodes: NodeSet, { counts }: View): boolean =>
  (counts.nodes - nodes.count()) * FEW_OTHERS > counts.nodes;

/** What passes, of one partition. */
interface Wanted {
  /** null: reports of any node. */
  readonly nodes: NodeSet | null;
  /** Of kinds that do not pass. */
  readonly failing: KindMarks;
  /** Numbers of the statuses of which one is wanted; null: that does not matter. */
  readonly statuses: readonly number[] | null;
}

/** Those of one partition. */
export class ReportSieve {
  readonly #reports: Pick<ReportView, 'marks' | 'moments' | 'statuses'>;
  readonly #wanted: Wanted;
  readonly #tests: SieveTests;
  /** null: it does not matter, or it is not known, when reports were, and which statuses their events have. */
  #zones: KnownZones | null = null;
  /** How many reports of all pass, whatever times are asked for; null: that was not asked for. */
  #among: number | null = null;
  /** Places of the reports of a block that are left. */
  readonly #places = new Uint8Array(BLOCK_REPORTS);

  private constructor(reports: Pick<ReportView, 'marks' | 'moments' | 'statuses'>, wanted: Wanted, tests: SieveTests) {
    this.#reports = reports;
    this.#wanted = wanted;
    this.#tests = tests;
  }

  /** `nodes`: those that reports may be of. null: it would let nearly all pass. */
  static of(row: Row, nodes: NodeSet | null, tests: SieveTests): ReportSieve | null {
    const { view } = row;
    const wanted = wantedOf(row, nodes !== null && leavesMany(nodes, view) ? nodes : null, tests);
    const { texts, events, times } = tests;
    const isAny = wanted.nodes === null && wanted.statuses === null && wanted.failing.length === 0;
    if (isAny && texts.length + events.length + times.length === 0) return null;
    return new ReportSieve(view.reports, wanted, tests);
  }

  /**
   * One that passes only reports that are rows, or have some, and those whose times or statuses are not told. `nodes`: those that reports may be
   * of; null: any. null: something else is asked, or kinds are not told apart.
   */
  static exact(row: Row, nodes: NodeSet | null, tests: SieveTests): ReportSieve | null {
    const { reports } = row.view;
    if (!tests.isExact || !reports.areToldApart) return null;
    return new ReportSieve(reports, wantedOf(row, nodes, tests), tests);
  }

  /** From here on it passes over whole blocks without reports of the times, or events of the statuses, that are asked for. `zones`: of its partition. */
  know(zones: KnownZones): void {
    if (this.#tests.times.length > 0 || this.#wanted.statuses !== null) this.#zones = zones;
  }

  /** Numbers of the statuses that events may have; null: any. */
  get statuses(): readonly number[] | null {
    return this.#wanted.statuses;
  }

  passes(id: ReportId): boolean {
    if (id < this.#reports.marks.since) return true;
    if (!this.#isWithin(blockOf(id))) return false;
    this.#places[0] = placeIn(id);
    return this.#sift(blockOf(id), 1) === 1;
  }

  /** Of one that is exact: whether it passes nearly all reports of the times that are asked for. */
  passesMost(view: View): boolean {
    const { nodes, failing } = this.#wanted;
    return failing.length === 0 && (nodes === null || !leavesMany(nodes, view));
  }

  /** How many of the range are in blocks that may have some of those that are asked for; null: that is not known. */
  countWithin({ first, end }: IdRange): number | null {
    if (this.#zones === null) return null;
    let blocks = 0;
    for (let number = blockOf(first); number * BLOCK_REPORTS < end; number++) if (this.#isWithin(number)) blocks++;
    return blocks * BLOCK_REPORTS;
  }

  /** Whether the block may have reports of the times, and events of the statuses, that are asked for. */
  #isWithin(number: number): boolean {
    const zones = this.#zones;
    if (zones === null) return true;
    const { times } = this.#tests;
    const { statuses } = this.#wanted;
    if (statuses !== null && !zones.hasStatus(statuses, number)) return false;
    for (let i = 0; i < times.length; i++) {
      const { moment, from, to } = times[i]!;
      if (zones.greatest(moment, number) < from || zones.least(moment, number) > to) return false;
    }
    return true;
  }

  /** Of so many places in the block, those that pass are left: how many. */
  #sift(number: number, count: number): number {
    const places = this.#places;
    const { nodes, failing, statuses } = this.#wanted;
    const { texts, events, times } = this.#tests;
    const marks = this.#reports.marks.at(number);
    // What most of the others are told by comes first.
    let some = count;
    for (let i = 0; i < texts.length; i++) some = marks.siftByText(texts[i]!.field, texts[i]!.marks, places, some);
    let left = 0;
    for (let i = 0; i < some; i++) {
      const place = places[i]!;
      const node = marks.node(place);
      if (node === 0 || nodes?.has(node) === false) continue;
      if (failing.indexOf(marks.kind(place)) >= 0) continue;
      places[left++] = place;
    }
    for (let i = 0; i < events.length; i++) left = kept(places, left, (place) => hasOne(marks, place, events[i]!));
    if (statuses !== null && left > 0) {
      const counted = this.#reports.statuses.at(number);
      left = kept(places, left, (place) => !counted.has(place) || hasSome(counted, place, statuses));
    }
    if (left === 0 || times.length === 0) return left;
    const moments = this.#reports.moments.at(number);
    for (let i = 0; i < times.length; i++) {
      const { moment, from, to } = times[i]!;
      const { least, greatest } = BETWEEN[moment];
      left = kept(
        places,
        left,
        (place) => !moments.has(place) || (greatest(moments, place) >= from && least(moments, place) <= to),
      );
    }
    return left;
  }

  /** Whether so few reports pass that they are found sooner among all than, in an order of times or of nodes, as many of them as that. */
  leavesFew(rows: number, view: View): boolean {
    const range = view.reports.idRange;
    const all = range.end - range.first;
    if (all < ALL_MIN) return false;
    const among = this.among(range);
    const few = this.#tests.times.length === 0 ? among : this.#estimate(range);
    // Who walks in an order of times meets those of the times that are asked for first.
    const walked = Math.min(1, rows / among) * all;
    return (this.countWithin(range) ?? all) * COST_SIFTED + few * COST_ORDERED < walked * COST_FOUND;
  }

  /** How many of all reports, which are in that range, pass, whatever times are asked for. */
  among(range: IdRange): number {
    const untimed = this.#tests.times.length === 0 ? this : this.#withoutTimes();
    this.#among ??= untimed.#estimate(range);
    return this.#among;
  }

  /** How many reports of the range pass, told from some blocks of them. */
  #estimate({ first, end }: IdRange): number {
    const all = end - first;
    const step = Math.max(BLOCK_REPORTS, Math.floor(all / SAMPLED_BLOCKS));
    let passing = 0;
    let looked = 0;
    for (let id = first; id < end; id += step) {
      passing += id < this.#reports.marks.since ? 1 : this.#siftBlock(id, end);
      looked += id < this.#reports.marks.since ? 1 : Math.min(end - id, BLOCK_REPORTS - placeIn(id));
    }
    return (Math.max(passing, 1 / 2) * all) / looked;
  }

  #withoutTimes(): ReportSieve {
    return new ReportSieve(this.#reports, this.#wanted, { ...this.#tests, times: [] });
  }

  /** Those of the reports that pass. Between them NO_REPORT now and then. */
  filter(ids: Iterable<ReportId>): Iterable<ReportId> {
    return ids instanceof ReportIds ? this.#withinAll(ids) : passing(ids, (id) => this.passes(id));
  }

  *#withinAll(ids: ReportIds): Generator<ReportId, void, undefined> {
    for (const range of ids.ranges()) yield* this.within(range);
  }

  /** The same for all numbers of a range: block by block. */
  *within({ first, end }: IdRange): Generator<ReportId, void, undefined> {
    const { since } = this.#reports.marks;
    let id = first;
    for (; id < Math.min(since, end); id++) yield id;
    const found = new Uint32Array(BLOCK_REPORTS);
    for (let blocks = 1; id < end; blocks++) {
      const left = this.#siftBlock(id, end);
      const base = blockOf(id) * BLOCK_REPORTS;
      // Others may be asked for before these have been taken.
      for (let i = 0; i < left; i++) found[i] = base + this.#places[i]!;
      for (let i = 0; i < left; i++) yield found[i]!;
      if (blocks % BLOCKS_PER_STEP === 0) yield NO_REPORT;
      id = base + BLOCK_REPORTS;
    }
  }

  /** Of the ids from `id` on that are below `end`, as far as the block goes: how many pass. */
  #siftBlock(id: ReportId, end: ReportId): number {
    if (!this.#isWithin(blockOf(id))) return 0;
    const first = placeIn(id);
    const count = Math.min(end - id, BLOCK_REPORTS - first);
    for (let i = 0; i < count; i++) this.#places[i] = first + i;
    return this.#sift(blockOf(id), count);
  }

  /**
   * Calls with each of the reports that pass: its blocks, its place in them and its id. Where times are asked for, those of which none are told are
   * among them, and where statuses are, those of which these are not told. Stops behind each block, for who wants to rest.
   */
  *each(ids: ReportIds, take: TakeReport): Generator<undefined, void> {
    for (const { first, end } of ids.ranges()) {
      for (let id = first; id < end; id = (blockOf(id) + 1) * BLOCK_REPORTS) {
        this.take(id, end, take);
        yield;
      }
    }
  }

  /** The same for the ids from `id` on that are below `end`, as far as the block goes. */
  take(id: ReportId, end: ReportId, take: TakeReport): void {
    const left = this.#siftBlock(id, end);
    if (left === 0) return;
    const number = blockOf(id);
    const [marks, moments] = [this.#reports.marks.at(number), this.#reports.moments.at(number)];
    for (let i = 0; i < left; i++) {
      const place = this.#places[i]!;
      take(marks, moments, place, number * BLOCK_REPORTS + place);
    }
  }
}

export type TakeReport = (marks: MarkBlock, moments: MomentBlock, place: number, id: ReportId) => void;

/** So many blocks that are passed over take as long as some reports that are looked at. */
const BLOCKS_PER_STEP = 32;

/** Fewer reports are not worth the question. */
const ALL_MIN = 512;
/** From so many blocks the share of those that pass is told. */
const SAMPLED_BLOCKS = 16;

function hasOne(marks: MarkBlock, place: number, some: readonly EventMark[]): boolean {
  for (let i = 0; i < some.length; i++) if (marks.hasEvents(place, some[i]!)) return true;
  return false;
}

function hasSome(counted: StatusBlock, place: number, statuses: readonly number[]): boolean {
  for (let i = 0; i < statuses.length; i++) if (counted.count(statuses[i]!, place) > 0) return true;
  return false;
}

/** Puts those of the first places that pass first: how many there are. */
function kept(places: Uint8Array, count: number, passes: (place: number) => boolean): number {
  let left = 0;
  for (let i = 0; i < count; i++) {
    const place = places[i]!;
    if (passes(place)) places[left++] = place;
  }
  return left;
}

const wantedOf = (row: Row, nodes: NodeSet | null, tests: SieveTests): Wanted => ({
  nodes,
  failing: new KindMarks(failingKinds(tests.kind, row)),
  statuses: tests.status === null ? null : passingStatuses(tests.status, row),
});

/** Numbers of the statuses that pass. */
function passingStatuses(test: Predicate, row: Row): readonly number[] {
  const eventsOf = eventsOfStatus();
  return STATUSES.flatMap((_, status) => {
    row.sub = eventsOf(status);
    return test.test(row) === TRUE ? [status] : [];
  });
}

/** Marks of which no kind can pass. */
function failingKinds(test: Predicate | null, row: Row): readonly number[] {
  if (test === null) return [];
  const verdicts = new Map<number, boolean>();
  for (const { mark, report } of row.view.reports.kindsOfMarked()) {
    row.body = report;
    verdicts.set(mark, verdicts.get(mark) === true || test.test(row) === TRUE);
  }
  return [...verdicts].flatMap(([mark, passes]) => (passes ? [] : [mark]));
}
