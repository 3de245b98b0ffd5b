// event-counts and aggregate-event-counts (spec/query.md 6.2, 6.3): events fold into counts per subject.

import { ByteNumbers } from '../../byte-numbers.ts';
import { PairNumbers } from '../../pair-numbers.ts';
import { EVENT_CODE, type StoredEvents } from '../../store/event-record.ts';
import type { TextRecord } from '../../store/fields.ts';
import { REPORT_TEXT } from '../../store/report-record.ts';
import type { ExecuteOptions, RowSink } from '../sink.ts';
import { type CountField, countFields, type EventCountsTree } from '../tree.ts';
import type { Value } from './access.ts';
import { CodedNumbers } from './coded.ts';
import type { ExecContext } from './context.ts';
import { END, ROW } from './cursor.ts';
import { openDistinct } from './distinct.ts';
import { compareByTypes, TopEntries } from './order.ts';
import type { Row } from './row.ts';
import { type Rows, TreeRows } from './rows.ts';
import { Source } from './source.ts';
import { prepareFilter } from './subquery.ts';

/** By the places of COUNT. */
type Counts = number[];

interface Subject {
  /** Number of the first text where there are two, else 0. */
  readonly first: number;
  /** JSON texts of what it is, in the order of SUBJECT_FIELDS. */
  readonly texts: readonly string[];
  readonly counts: Counts;
  /** Its place among the subjects. */
  readonly number: number;
}

/** Where each count is. */
const COUNT: Readonly<Record<CountField, number>> = {
  failures: 0,
  successes: 1,
  noops: 2,
  skips: 3,
  intentional_successes: 4,
  corrective_successes: 5,
  intentional_noops: 6,
  corrective_noops: 7,
};
const { certname: CERTNAME } = REPORT_TEXT;
const noCounts = (): Counts => [0, 0, 0, 0, 0, 0, 0, 0];

/** The counts that an event adds to: to the first, and to one of the others where changes are told apart. */
interface Added {
  readonly whole: number;
  readonly intentional: number;
  readonly corrective: number;
}
const added = (whole: CountField, intentional = whole, corrective = whole): Added => ({
  whole: COUNT[whole],
  intentional: COUNT[intentional],
  corrective: COUNT[corrective],
});

/** By an event's status, which may be any text. */
const STATUS: ReadonlyMap<string, Added> = new Map([
  ['failure', added('failures')],
  ['skipped', added('skips')],
  ['success', added('successes', 'intentional_successes', 'corrective_successes')],
  ['noop', added('noops', 'intentional_noops', 'corrective_noops')],
]);

/** What is told apart of an event's change where events count once per kind of it. */
const CHANGES: readonly (boolean | null)[] = [null, false, true];

/** What was counted of subjects and nodes: a bit for each status and kind of change, which are few. */
class Counted {
  readonly #pairs = new PairNumbers();
  /** By the number of a pair. */
  #bits = new Uint16Array(256);

  /** Whether the events of that node, status and change are the first of the subject's. */
  isFirst(subject: number, node: number, { whole }: Added, change: number): boolean {
    const pair = this.#pairs.of(subject, node);
    if (pair >= this.#bits.length) {
      const bits = new Uint16Array(this.#bits.length * 2);
      bits.set(this.#bits);
      this.#bits = bits;
    }
    const bit = 1 << (whole * CHANGES.length + change);
    if ((this.#bits[pair]! & bit) !== 0) return false;
    this.#bits[pair]! |= bit;
    return true;
  }
}

const SUBJECT_FIELDS = {
  certname: ['certname'],
  resource: ['resource_type', 'resource_title'],
  containing_class: ['containing_class'],
} as const;

/** Coded columns that make a subject; none where it is the node. */
const SUBJECT_CODES = {
  certname: [],
  resource: [EVENT_CODE.resourceType, EVENT_CODE.resourceTitle],
  containing_class: [EVENT_CODE.containingClass],
} as const;

/**
 * Folds events into the counts of their subjects, report by report. Within a report equal texts have equal codes, so that a
 * text's number and a status are looked up once per report and code.
 */
class Counting {
  readonly #tree: EventCountsTree;
  readonly #enterprise: boolean;
  readonly #columns: readonly number[];
  readonly subjects: Subject[] = [];
  readonly #numbers = new CodedNumbers();
  /** By the number of the last text: its subjects, one for each first text. Few titles have several types. */
  readonly #known: Subject[][] = [];
  /** count_by certname: what each node has counted for already; null: each event counts. */
  readonly #counted: Counted | null;
  readonly #nodes = new ByteNumbers();
  /** The report whose events are counted, and its partition. */
  #report = 0;
  #part = -1;
  #record: TextRecord | null = null;
  /** Number of its node's certname. */
  #node = 0;
  #status: (Added | null | undefined)[] = [];
  /** By code of a status, of the events being counted: how many, and how many of them are corrective changes. */
  #events = new Uint32Array(256);
  #corrective = new Uint32Array(256);
  readonly #met: number[] = [];

  constructor(tree: EventCountsTree, enterprise: boolean) {
    this.#tree = tree;
    this.#enterprise = enterprise;
    this.#columns = SUBJECT_CODES[tree.summarizeBy];
    this.#counted = tree.countBy === 'certname' ? new Counted() : null;
  }

  /** Counts the row's event and so many behind it. */
  add(row: Row, rest: number): void {
    const events = row.sub as StoredEvents;
    if (row.itemId !== this.#report || row.part !== this.#part) this.#begin(row);
    const from = row.subIndex;
    const to = from + rest + 1;
    if (this.#columns.length === 0 && this.#counted === null) {
      this.#addAll(events, from, to);
      return;
    }
    const [column, other] = this.#columns;
    let subject: Subject | null = null;
    // The events of a resource lie side by side: they have its codes.
    let code = -1;
    let otherCode = -1;
    for (let index = from; index < to; index++) {
      events.at(index);
      const next = column === undefined ? 0 : events.code(column);
      const otherNext = other === undefined ? 0 : events.code(other);
      if (subject === null || next !== code || otherNext !== otherCode) subject = this.#subject(events);
      code = next;
      otherCode = otherNext;
      this.#addOne(subject, events);
    }
  }

  #begin(row: Row): void {
    const events = row.sub as StoredEvents;
    this.#report = row.itemId;
    this.#part = row.part;
    this.#record = row.report.record;
    this.#node = this.#nodes.of(this.#record.bytes, this.#record.startOf(CERTNAME), this.#record.endOf(CERTNAME));
    const { textCount } = events;
    if (textCount > this.#events.length) {
      this.#events = new Uint32Array(textCount * 2);
      this.#corrective = new Uint32Array(textCount * 2);
    }
    this.#status = [];
  }

  #addOne({ counts, number }: Subject, events: StoredEvents): void {
    const fields = this.#addedBy(events.code(EVENT_CODE.status), events);
    if (fields === null) return;
    if (this.#counted?.isFirst(number, this.#node, fields, this.#changeOf(events)) === false) return;
    counts[fields.whole]!++;
    if (fields.intentional === fields.whole) return;
    counts[events.coded(EVENT_CODE.correctiveChange) === true ? fields.corrective : fields.intentional]!++;
  }

  /** Events of one subject, which is the report's node. */
  #addAll(events: StoredEvents, from: number, to: number): void {
    const { counts } = this.#subject(events);
    const met = this.#met;
    let change = -1;
    let isCorrective = false;
    for (let index = from; index < to; index++) {
      const status = events.codeAt(EVENT_CODE.status, index);
      if (this.#events[status]!++ === 0) met.push(status);
      const code = events.codeAt(EVENT_CODE.correctiveChange, index);
      if (code !== change) {
        change = code;
        isCorrective = events.valueOf(code) === true;
      }
      if (isCorrective) this.#corrective[status]!++;
    }
    for (let i = 0; i < met.length; i++) {
      const status = met[i]!;
      const count = this.#events[status]!;
      const corrective = this.#corrective[status]!;
      this.#events[status] = 0;
      this.#corrective[status] = 0;
      const fields = this.#addedBy(status, events);
      if (fields === null) continue;
      counts[fields.whole]! += count;
      if (fields.intentional === fields.whole) continue;
      counts[fields.corrective]! += corrective;
      counts[fields.intentional]! += count - corrective;
    }
    met.length = 0;
  }

  /** Of each node an event counts once per status, and kind of change, where that is told apart. */
  #changeOf(events: StoredEvents): number {
    return this.#enterprise ? CHANGES.indexOf(events.coded(EVENT_CODE.correctiveChange) as boolean | null) : 0;
  }

  /** What events with a status of that code add to; null: to nothing. */
  #addedBy(status: number, events: StoredEvents): Added | null {
    let fields = this.#status[status];
    if (fields === undefined) {
      fields = STATUS.get(events.valueOf(status) as string) ?? null;
      this.#status[status] = fields;
    }
    return fields;
  }

  /** Of the present event. */
  #subject(events: StoredEvents): Subject {
    const columns = this.#columns;
    const last =
      columns.length === 0 ? this.#node : this.#numbers.of(events, events.code(columns[columns.length - 1]!));
    const first = columns.length === 2 ? this.#numbers.of(events, events.code(columns[0]!)) : 0;
    let group = this.#known[last];
    if (group === undefined) {
      group = [];
      // Numbers in between are those of first texts, which may never be last ones.
      for (let number = this.#known.length; number < last; number++) this.#known.push([]);
      this.#known[last] = group;
    }
    for (let i = 0; i < group.length; i++) if (group[i]!.first === first) return group[i]!;
    const subject: Subject = { first, texts: this.#texts(events), counts: noCounts(), number: this.subjects.length };
    this.subjects.push(subject);
    group.push(subject);
    return subject;
  }

  #texts(events: StoredEvents): readonly string[] {
    if (this.#tree.summarizeBy === 'certname') return [this.#record!.text(CERTNAME)];
    return this.#columns.map((column) => events.textOf(events.code(column)));
  }
}

function* subjectsOf(tree: EventCountsTree, ctx: ExecContext): Generator<undefined, Subject[]> {
  const counting = new Counting(tree, ctx.options.edition === 'enterprise');
  const { events } = tree;
  const trace = ctx.trace.begin(events);
  const group = trace.step('group');
  const filter = yield* prepareFilter(events.filter, events, ctx);
  const rows: Rows =
    events.distinct === null
      ? new TreeRows(new Source({ entity: 'events', filter }, ctx, trace))
      : yield* openDistinct({ ...events, filter }, ctx, trace);
  let taken = 0;
  for (let step = rows.next(); step !== END; step = rows.next()) {
    if (step === ROW) {
      ctx.trace.turn(group);
      const rest = rows.takeRest(TICK_EVENTS);
      counting.add(rows.row, rest);
      ctx.trace.turn(rows.scan);
      taken += rest + 1;
      if (taken < TICK_EVENTS) continue;
      taken = 0;
    }
    if (ctx.tick()) yield;
  }
  group.rows = counting.subjects.length;
  ctx.trace.end(trace);
  const passes = countsTest(tree);
  return counting.subjects.filter((s) => passes(s.counts));
}

const COMPARE = {
  '=': (a: number, b: number) => a === b,
  '<': (a: number, b: number) => a < b,
  '<=': (a: number, b: number) => a <= b,
  '>': (a: number, b: number) => a > b,
  '>=': (a: number, b: number) => a >= b,
};

function countsTest({ countsFilter }: EventCountsTree): (counts: Counts) => boolean {
  if (countsFilter === null) return () => true;
  const { op, field, value } = countsFilter;
  return value === null ? () => false : (counts) => COMPARE[op](counts[COUNT[field]]!, value);
}

/** Rows, and events, between two looks at the clock. */
const TICK_EVENTS = 4096;

const shown = (ctx: ExecContext): readonly CountField[] => countFields(ctx.options.edition);

const subjectJson = ({ texts }: Subject): string =>
  texts.length === 2 ? `{"type":${texts[0]},"title":${texts[1]}}` : `{"title":${texts[0]}}`;

export function* executeEventCounts(
  tree: EventCountsTree,
  ctx: ExecContext,
  sink: RowSink,
  options: ExecuteOptions = {},
): Generator<undefined, void> {
  let subjects = yield* subjectsOf(tree, ctx);
  options.onTotal?.(subjects.length);
  if (tree.orderBy.length > 0) {
    const types = tree.orderBy.map(({ field }) => (field in COUNT ? 'N' : 'S') as 'N' | 'S');
    const top = new TopEntries<Subject>(
      compareByTypes(
        types,
        tree.orderBy.map((t) => t.descending),
      ),
      0,
      null,
    );
    const names: readonly string[] = SUBJECT_FIELDS[tree.summarizeBy];
    for (const s of subjects) {
      const keys = tree.orderBy.map(({ field }): Value => {
        const text = s.texts[names.indexOf(field)];
        return text === undefined
          ? (s.counts[COUNT[field as CountField]] ?? null)
          : (JSON.parse(text) as string | null);
      });
      top.add(keys, () => s);
      if (ctx.tickRow()) yield;
    }
    subjects = (yield* top.sorted(() => ctx.tick())).map((e) => e.place);
  }
  const end = tree.limit === null ? subjects.length : Math.min(subjects.length, tree.offset + tree.limit);
  const fields = shown(ctx);
  for (let i = tree.offset; i < end; i++) {
    const { counts } = subjects[i]!;
    let row = '{';
    for (const field of fields) row += `"${field}":${counts[COUNT[field]]},`;
    sink.row(`${row}"subject_type":"${tree.summarizeBy}","subject":${subjectJson(subjects[i]!)}}`);
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
    const subjects = yield* subjectsOf(tree, ctx);
    const fields = shown(ctx).map(
      (field) => `"${field}":${subjects.filter((s) => s.counts[COUNT[field]]! > 0).length}`,
    );
    sink.row(`{"summarize_by":"${tree.summarizeBy}",${fields.join(',')},"total":${subjects.length}}`);
    if (sink.full) yield;
  }
}
