// Sub-rows (`SubRow`, entities.ts): how those of each kind are made, and found again.

import { FACT, type StoredEdge, type StoredFact } from '../../../store/records/bodies.ts';
import type { StoredEvents } from '../../../store/records/event-record.ts';
import { type ElementTests, elementTests, exactTests, leavesAlong } from '../../paths.ts';
import type { CompileRegex } from '../../regex/regex.ts';
import type { Filter } from '../../tree.ts';
import type { SubRow } from './entities.ts';
import { Leaf, LeafPaths, type LeafPlace } from './leaf.ts';
import type { Row, SubList } from './row.ts';

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
export interface SubKind {
  /** `filters`: conditions that sub-rows have to pass; those that fail one of them may be left out. */
  readonly make: (filters: readonly Filter[], regex: CompileRegex) => (row: Row) => SubList;
  /** Where finding one by its number means a look at all those before it: what is kept of the row's, and the one that it is of. */
  readonly spots?: { readonly of: (row: Row) => unknown; readonly at: (row: Row, spot: unknown) => unknown };
}

/** By kind; all of them. */
export const SUB_KINDS: Readonly<Record<SubRow, SubKind>> = {
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
