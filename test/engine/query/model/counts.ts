// The model of event counts: the events that pass, sorted into piles by subject, the piles counted.

import type { JsonObject } from '../../../../engine/json/value.ts';
import type { CountField, CountsFilter, EventCountsTree } from '../../../../engine/query/tree.ts';
import { comparator, type Moment, type Result, type ResultRow, select } from './evaluate.ts';
import type { Cell, ModelRow, World } from './world.ts';

interface Pile {
  readonly subject: Readonly<Record<string, Cell>>;
  readonly events: ModelRow[];
}

const SUBJECT: Record<EventCountsTree['summarizeBy'], readonly string[]> = {
  certname: ['certname'],
  resource: ['resource_type', 'resource_title'],
  containing_class: ['containing_class'],
};

function pilesOf({ summarizeBy }: EventCountsTree, events: readonly ModelRow[]): Pile[] {
  const piles = new Map<string, Pile>();
  for (const event of events) {
    const subject = Object.fromEntries(SUBJECT[summarizeBy].map((field) => [field, event.cells[field]!]));
    const key = JSON.stringify(subject);
    const pile = piles.get(key) ?? { subject, events: [] };
    piles.set(key, pile);
    pile.events.push(event);
  }
  return [...piles.values()];
}

/** Counted by certname, events of a node that agree in status (and in being corrective) count once. */
function countedEvents({ countBy }: EventCountsTree, { events }: Pile): readonly ModelRow[] {
  if (countBy === 'resource') return events;
  const key = ({ cells }: ModelRow): string =>
    JSON.stringify([cells['certname'], cells['status'], cells['corrective_change']]);
  return [...new Map(events.map((event) => [key(event), event])).values()];
}

type Counts = Partial<Record<CountField, number>>;

function countsOf(events: readonly ModelRow[], edition: World['edition']): Counts {
  const count = (status: string, isCorrective?: boolean): number =>
    events.filter(
      ({ cells }) =>
        cells['status'] === status &&
        (isCorrective === undefined || (cells['corrective_change'] === true) === isCorrective),
    ).length;
  const common = { failures: count('failure'), skips: count('skipped') };
  if (edition === 'community') return { ...common, successes: count('success'), noops: count('noop') };
  return {
    ...common,
    intentional_successes: count('success', false),
    corrective_successes: count('success', true),
    intentional_noops: count('noop', false),
    corrective_noops: count('noop', true),
  };
}

function passes(filter: CountsFilter | null, counts: Counts): boolean {
  if (filter === null) return true;
  const count = counts[filter.field]!;
  const { value } = filter;
  if (value === null) return false;
  switch (filter.op) {
    case '=':
      return count === value;
    case '<':
      return count < value;
    case '<=':
      return count <= value;
    case '>':
      return count > value;
    case '>=':
      return count >= value;
  }
}

interface Counted {
  readonly subject: Readonly<Record<string, Cell>>;
  readonly counts: Counts;
}

function counted(tree: EventCountsTree, world: World, moment: Moment): Counted[] {
  return pilesOf(tree, select(tree.events, world, moment))
    .map((pile) => ({ subject: pile.subject, counts: countsOf(countedEvents(tree, pile), world.edition) }))
    .filter(({ counts }) => passes(tree.countsFilter, counts));
}

function shownSubject(tree: EventCountsTree, subject: Counted['subject']): JsonObject {
  if (tree.summarizeBy !== 'resource') return { title: subject[tree.summarizeBy]! };
  return { type: subject['resource_type']!, title: subject['resource_title']! };
}

/** Rows of event-counts. */
export function evaluateCounts(tree: EventCountsTree, world: World, moment: Moment): Result {
  const rows = counted(tree, world, moment).map(({ subject, counts }): ResultRow => {
    const all: Readonly<Record<string, Cell>> = { ...subject, ...(counts as Record<string, number>) };
    return {
      shown: { ...counts, subject_type: tree.summarizeBy, subject: shownSubject(tree, subject) } as JsonObject,
      keys: tree.orderBy.map(({ field }) => all[field]!),
    };
  });
  // Counts compare as numbers and subjects as texts, whatever the name means elsewhere.
  const compare = comparator('events', tree.orderBy);
  return {
    rows: rows.sort((a, b) => compare(a.keys, b.keys)),
    selected: rows.length,
    tied: (a, b) => compare(a.keys, b.keys) === 0,
  };
}

/** The row of aggregate-event-counts for one summary: how many subjects have each kind of event. */
export function evaluateAggregate(tree: EventCountsTree, world: World, moment: Moment): JsonObject {
  const subjects = counted(tree, world, moment);
  const row: Record<string, Cell> = { summarize_by: tree.summarizeBy };
  for (const field of Object.keys(countsOf([], world.edition)) as CountField[]) {
    row[field] = subjects.filter(({ counts }) => counts[field]! > 0).length;
  }
  row['total'] = subjects.length;
  return row;
}
