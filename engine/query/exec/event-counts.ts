// event-counts and aggregate-event-counts (spec/query.md 6.2, 6.3): events fold into counts per subject.

import type { ExecuteOptions, RowSink } from '../sink.ts';
import { type CountField, countFields, type EventCountsTree, pageEnd } from '../tree.ts';
import { Counting } from './count/event-counting.ts';
import { eventKernel } from './count/event-kernel.ts';
import { foldEvents } from './count/event-statuses.ts';
import { COUNT, type EventTally, type Subjects } from './count/event-tally.ts';
import { openDistinct } from './distinct.ts';
import { accessFor } from './filter/filter.ts';
import { HOLDS } from './filter/truth.ts';
import { compareIn, orderOf, TopEntries } from './order/order.ts';
import type { ExecContext } from './plan/context.ts';
import type { Step } from './plan/trace.ts';
import type { Value } from './row/access.ts';
import { END, ROW } from './sources/cursor.ts';
import { type Rows, TreeRows } from './sources/rows.ts';
import { Source } from './sources/source.ts';
import { prepareFilter } from './subquery.ts';

const SUBJECT_FIELDS = {
  certname: ['certname'],
  resource: ['resource_type', 'resource_title'],
  containing_class: ['containing_class'],
} as const;

interface Passing {
  readonly all: Subjects;
  /** Those that pass, in the order in which they were met. */
  readonly numbers: readonly number[];
}

const isEnterprise = ({ options }: ExecContext): boolean => options.edition === 'enterprise';

const tallyFor = (tree: EventCountsTree, ctx: ExecContext): EventTally =>
  (tree.countBy === 'resource' ? eventKernel(tree.summarizeBy) : null) ?? new Counting(tree, isEnterprise(ctx));

/** By what is kept of all reports; null: the events have to be looked at. */
function* countedTogether(tree: EventCountsTree, source: Source): Generator<undefined, Subjects | null> {
  const { ctx, scope } = source;
  // Corrective changes are not told apart there.
  if (tree.summarizeBy !== 'certname' || tree.countBy !== 'resource' || isEnterprise(ctx)) return null;
  const tally = new Counting(tree, false);
  const reads = ['certname', 'status'].map((field) => accessFor(scope, field));
  const isCounted = yield* foldEvents(source, reads, (row, weight) => tally.addEqual(row, weight));
  return isCounted ? tally.take() : null;
}

function* countedEach(tree: EventCountsTree, rows: Rows, group: Step): Generator<undefined, Subjects> {
  const { ctx } = rows.source;
  const tally = tallyFor(tree, ctx);
  let taken = 0;
  let held = 0;
  for (let step = rows.next(); step !== END; step = rows.next()) {
    if (step === ROW) {
      ctx.trace.turn(group);
      const rest = rows.takeRest(TICK_EVENTS);
      tally.add(rows.row, rest);
      ctx.trace.turn(rows.scan);
      taken += rest + 1;
      if (taken < TICK_EVENTS) continue;
      taken = 0;
    }
    const { bytes } = tally;
    if (bytes > held) ctx.hold(bytes - held, 'counts');
    held = Math.max(held, bytes);
    if (ctx.tick()) yield;
  }
  return tally.take();
}

function* subjectsOf(tree: EventCountsTree, ctx: ExecContext): Generator<undefined, Passing> {
  const { events } = tree;
  const trace = ctx.trace.begin(events);
  const group = trace.step('group');
  const filter = yield* prepareFilter(events.filter, events, ctx);
  const source = events.distinct === null ? new Source({ entity: 'events', filter }, ctx, trace) : null;
  let subjects = source === null ? null : yield* countedTogether(tree, source);
  if (subjects === null) {
    const rows = source === null ? yield* openDistinct({ ...events, filter }, ctx, trace) : new TreeRows(source);
    subjects = yield* countedEach(tree, rows, group);
  }
  group.rows = subjects.length;
  ctx.trace.end(trace);
  const passes = countsTest(tree);
  const numbers: number[] = [];
  for (let subject = 0; subject < subjects.length; subject++) if (passes(subjects, subject)) numbers.push(subject);
  return { all: subjects, numbers };
}

function countsTest({ countsFilter }: EventCountsTree): (subjects: Subjects, subject: number) => boolean {
  if (countsFilter === null) return () => true;
  const { op, field, value } = countsFilter;
  return value === null ? () => false : (subjects, subject) => HOLDS[op](subjects.count(subject, COUNT[field]), value);
}

/** Rows, and events, between two looks at the clock. */
const TICK_EVENTS = 4096;

const shown = (ctx: ExecContext): readonly CountField[] => countFields(ctx.options.edition);

const subjectJson = (texts: readonly string[]): string =>
  texts.length === 2 ? `{"type":${texts[0]},"title":${texts[1]}}` : `{"title":${texts[0]}}`;

/** Those of the subjects that are on the page, in order. */
function* firstInOrder(
  { orderBy, summarizeBy, offset, limit }: EventCountsTree,
  all: Subjects,
  subjects: readonly number[],
  ctx: ExecContext,
): Generator<undefined, readonly number[]> {
  const orders = orderBy.map(({ field, descending }) => orderOf(field in COUNT ? 'N' : 'S', descending));
  const names: readonly string[] = SUBJECT_FIELDS[summarizeBy];
  const keyOf = (subject: number, field: string): Value => {
    const name = names.indexOf(field);
    if (name >= 0) return JSON.parse(all.texts(subject)[name]!) as string | null;
    return field in COUNT ? all.count(subject, COUNT[field as CountField]) : null;
  };
  const top = new TopEntries<number>(compareIn(orders), offset, pageEnd({ offset, limit }));
  for (const subject of subjects) {
    const first = keyOf(subject, orderBy[0]!.field);
    const isBehind = top.last !== null && orders[0]!(first, top.last[0]!) > 0;
    if (!isBehind) top.add([first, ...orderBy.slice(1).map(({ field }) => keyOf(subject, field))], () => subject);
    if (ctx.tickRow()) yield;
  }
  return (yield* top.sorted(() => ctx.tick())).map(({ place }) => place);
}

export function* executeEventCounts(
  tree: EventCountsTree,
  ctx: ExecContext,
  sink: RowSink,
  options: ExecuteOptions = {},
): Generator<undefined, void> {
  const { all, numbers } = yield* subjectsOf(tree, ctx);
  options.onTotal?.(numbers.length);
  const [from, end] = [tree.offset, pageEnd(tree)];
  const subjects = tree.orderBy.length === 0 ? numbers.slice(from, end) : yield* firstInOrder(tree, all, numbers, ctx);
  const fields = shown(ctx);
  for (const subject of subjects) {
    let row = '{';
    for (const field of fields) row += `"${field}":${all.count(subject, COUNT[field])},`;
    sink.row(`${row}"subject_type":"${tree.summarizeBy}","subject":${subjectJson(all.texts(subject))}}`);
    if (sink.full || ctx.tickRow()) yield;
  }
}

/** The order asked for, except that PuppetDB was seen to answer the summary by containing class last, of events that are not distinct. */
function inAnswerOrder(trees: readonly EventCountsTree[]): readonly EventCountsTree[] {
  const isClass = ({ summarizeBy, events }: EventCountsTree): number =>
    Number(summarizeBy === 'containing_class' && events.distinct === null);
  return [...trees].sort((x, y) => isClass(x) - isClass(y));
}

/** One row per tree: how many subjects have each kind of event. */
export function* executeAggregate(
  trees: readonly EventCountsTree[],
  ctx: ExecContext,
  sink: RowSink,
): Generator<undefined, void> {
  for (const tree of inAnswerOrder(trees)) {
    const { all, numbers } = yield* subjectsOf(tree, ctx);
    const fields = shown(ctx).map(
      (field) => `"${field}":${numbers.filter((subject) => all.count(subject, COUNT[field]) > 0).length}`,
    );
    sink.row(`{"summarize_by":"${tree.summarizeBy}",${fields.join(',')},"total":${numbers.length}}`);
    if (sink.full) yield;
  }
}
