// Reports that cannot have rows are told from what the partition keeps of all of them side by side (store/reports/report-marks.ts), so that they
// are not read. What is left still has to be tested.

import type { NodeSet } from '../../../store/items/node-set.ts';
import type { ReportId } from '../../../store/records/records.ts';
import { KIND_PLACES } from '../../../store/reports/report-kinds.ts';
import {
  type EventMark,
  MARKED_TEXTS,
  markOfEventText,
  markOfText,
  type ReportMarks,
} from '../../../store/reports/report-marks.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';
import { isClassed } from '../filter/classed.ts';
import { accessFor, type CompileScope, compileFilter, conjunction, type Predicate } from '../filter/filter.ts';
import { TRUE } from '../filter/truth.ts';
import type { Row } from '../row/row.ts';
import { COST_FOUND, NO_REPORT, PASSED_PER_STEP } from './report-ids.ts';

/** What the marks of reports tell of a selection's conditions; the same for all partitions. */
export interface MarkTests {
  /** Conditions that kinds decide. */
  readonly kind: Predicate | null;
  /** By field, one of which the report has to have: a place in MARKED_TEXTS, and marks. */
  readonly texts: readonly { readonly field: number; readonly marks: ReadonlySet<number> }[];
  /** Of each list one has to be covered. */
  readonly events: readonly (readonly EventMark[])[];
}

/** `filters`: conditions on reports and on their events. */
export function markTests(filters: readonly Filter[], scope: CompileScope): MarkTests {
  const byKind = filters.filter((filter) => isClassed(filter, scope, KIND_PLACES));
  const texts: { field: number; marks: Set<number> }[] = [];
  const events: EventMark[][] = [];
  for (const filter of filters) {
    const wanted = textsOf(filter);
    if (wanted === null) continue;
    const { column, stored, level } = accessFor(scope, wanted.field);
    const field = level === 'item' && stored !== undefined ? MARKED_TEXTS.indexOf(stored.place) : -1;
    if (field >= 0) texts.push({ field, marks: new Set(wanted.texts.map(markOfText)) });
    if (column !== undefined) events.push(wanted.texts.map((text) => markOfEventText(column, text)));
  }
  const kind = byKind.length === 0 ? null : conjunction(byKind.map((filter) => compileFilter(filter, scope)));
  return { kind, texts, events };
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

/** Those of one partition. */
export class ReportSieve {
  readonly #marks: ReportMarks;
  readonly #nodes: NodeSet | null;
  /** By mark of a kind; null: kinds do not matter. */
  readonly #kinds: ReadonlyMap<number, boolean> | null;
  readonly #tests: MarkTests;

  private constructor(
    marks: ReportMarks,
    nodes: NodeSet | null,
    kinds: ReadonlyMap<number, boolean> | null,
    tests: MarkTests,
  ) {
    this.#marks = marks;
    this.#nodes = nodes;
    this.#kinds = kinds;
    this.#tests = tests;
  }

  /** `nodes`: those that reports may be of. null: it would let nearly all pass. */
  static of(row: Row, nodes: NodeSet | null, tests: MarkTests): ReportSieve | null {
    const { view } = row;
    const others = nodes === null ? 0 : view.counts.nodes - nodes.count();
    const wanted = others * FEW_OTHERS > view.counts.nodes ? nodes : null;
    const kinds = tests.kind === null ? null : verdictsOn(tests.kind, row);
    if (wanted === null && kinds === null && tests.texts.length + tests.events.length === 0) return null;
    return new ReportSieve(view.reports.marks, wanted, kinds, tests);
  }

  passes(id: ReportId): boolean {
    const marks = this.#marks;
    if (id < marks.since) return true;
    const node = marks.open(id);
    if (node === 0 || this.#nodes?.has(node) === false) return false;
    if (this.#kinds?.get(marks.kind) === false) return false;
    const { texts, events } = this.#tests;
    for (let i = 0; i < texts.length; i++) if (!texts[i]!.marks.has(marks.text(texts[i]!.field))) return false;
    for (let i = 0; i < events.length; i++) if (!hasOne(marks, events[i]!)) return false;
    return true;
  }

  /** Whether so few reports pass that they are found sooner among all than, in an order of times or of nodes, as many of them as that. */
  leavesFew(rows: number, view: View): boolean {
    const { first, end } = view.reports.idRange;
    const all = end - first;
    if (all < ALL_MIN) return false;
    let passing = 0;
    for (let i = 0; i < SAMPLES; i++) if (this.passes(first + Math.floor((i * all) / SAMPLES))) passing++;
    const few = (Math.max(passing, 1 / 2) * all) / SAMPLES;
    const walked = Math.min(1, rows / few) * all;
    return all * COST_PASSED_OVER + few * COST_OPENED < walked * COST_FOUND;
  }

  /** Between those that pass NO_REPORT now and then. */
  *filter(ids: Iterable<ReportId>): Generator<ReportId, void, undefined> {
    let looked = 0;
    for (const id of ids) {
      if (this.passes(id)) yield id;
      else if (++looked % PASSED_PER_STEP === 0) yield NO_REPORT;
    }
  }
}

/** Fewer reports are not worth the question. */
const ALL_MIN = 512;
/** Reports from which the share of those that pass is told. */
const SAMPLES = 256;
/** Microseconds, measured: a report told from its mark, and what is done of one that is left and put in order. */
const COST_PASSED_OVER = 0.05;
const COST_OPENED = 3;

function hasOne(marks: ReportMarks, some: readonly EventMark[]): boolean {
  for (let i = 0; i < some.length; i++) if (marks.hasEvents(some[i]!)) return true;
  return false;
}

/** By mark, whether a report of a kind that has it can pass; null: it can of any. */
function verdictsOn(test: Predicate, row: Row): ReadonlyMap<number, boolean> | null {
  const verdicts = new Map<number, boolean>();
  for (const { mark, report } of row.view.reports.kindsOfMarked()) {
    row.body = report;
    verdicts.set(mark, verdicts.get(mark) === true || test.test(row) === TRUE);
  }
  return [...verdicts.values()].every((passes) => passes) ? null : verdicts;
}
