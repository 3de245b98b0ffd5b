// Reports counted, and grouped, without a look at them. A partition knows how many it has of each kind (store/report-kinds.ts); where nodes
// matter too, reports are counted by node and kind, both of which lie side by side (store/report-marks.ts).

import { PairNumbers } from '../../pair-numbers.ts';
import type { NodeSet } from '../../store/node-set.ts';
import type { NodeId } from '../../store/records.ts';
import { certnamesWith, KIND_PLACES, type ReportKind } from '../../store/report-kinds.ts';
import { REPORT_TEXT } from '../../store/report-record.ts';
import { NODES_ALL } from '../../store/tables.ts';
import type { Access } from './access.ts';
import { areShared, isClassed } from './classed.ts';
import { Row } from './row.ts';
import type { Source } from './source.ts';
import { TRUE } from './truth.ts';

/** What is counted in one partition. */
interface Part {
  readonly row: Row;
  /** Kinds that pass the selection's conditions. */
  readonly kinds: readonly ReportKind[];
  /** Nodes whose reports are counted, and the others. null: all are. */
  readonly nodes: { readonly wanted: NodeSet; readonly others: NodeSet } | null;
}

/** More nodes that are left out are not looked at by themselves: one in so many. */
const FEW_NODES = 8;
/** Reports of fewer nodes are looked at sooner than the marks of all: one in so many. */
const FEW_WANTED = 64;
/** Marks looked at between two looks at the time. */
const TICK_MARKS = 1024;

/** How many rows the selection has; null: they have to be looked at. */
export function* countReports(source: Source): Generator<undefined, number | null> {
  let total = 0;
  const isCounted = yield* foldReports(source, [], (_, weight) => {
    total += weight;
  });
  return isCounted ? total : null;
}

/**
 * Gives rows with what `reads` read, and how many rows each of them stands for. false, and nothing: the rows have to be looked at.
 */
export function* foldReports(
  source: Source,
  reads: readonly Access[],
  visit: (row: Row, weight: number) => void,
): Generator<undefined, boolean> {
  const ofNode = reads.filter(isOfNode);
  const ofKind = reads.filter((read) => !isOfNode(read));
  if (source.entity !== 'reports' || !areShared(ofKind, KIND_PLACES)) return false;
  const parts = yield* partsOf(source);
  if (parts === null) return false;
  const ways = parts.map((part) => wayOf(part, ofNode.length > 0, reads.length > 0));
  if (ways.includes(null)) return false;
  for (const [i, part] of parts.entries()) {
    begin(source, part);
    const tell = (count: number): void => {
      source.trace.partition(part.row.part).scan.rows += count;
      visit(part.row, count);
    };
    if (ways[i] === 'kinds') byKinds(part, tell);
    else if (ways[i] === 'marks') yield* byMarks(source, part, ofNode.length > 0, tell);
    else tell(yield* countWithout(source, part));
  }
  return true;
}

/** Whether the reports of a node have it in common. */
const isOfNode = ({ level, stored }: Access): boolean => level === 'node' || stored?.place === REPORT_TEXT.certname;

/**
 * How a partition's reports are counted: by kind, all but those of the nodes that are left out, or by their marks. null: they have to be
 * looked at. `byNode`, `byKind`: what is to be told apart.
 */
function wayOf({ row, nodes }: Part, byNode: boolean, byKind: boolean): 'kinds' | 'without' | 'marks' | null {
  const { view } = row;
  if (!byNode && nodes === null) return 'kinds';
  if (!byNode && !byKind && nodes!.others.count() * FEW_NODES <= view.counts.nodes) return 'without';
  if (nodes !== null && nodes.wanted.count() * FEW_WANTED <= view.counts.nodes) return null;
  const marks = view.kindsOfMarked().map(({ mark }) => mark);
  return view.areReportsMarked && new Set(marks).size === marks.length ? 'marks' : null;
}

function begin({ ctx, split, trace, plans }: Source, { row, nodes }: Part): void {
  ctx.trace.enter(trace.partition(row.part).scan);
  const count = split.node.length === 0 ? null : (nodes?.wanted ?? row.view.set(NODES_ALL)).count();
  plans[row.part] = { nodes: count, items: null, reports: { kind: 'counted' } };
}

/** By partition; null: something is asked for that kinds do not tell, or there are reports that are not in them. */
function* partsOf(source: Source): Generator<undefined, readonly Part[] | null> {
  const { ctx, split, scope, item } = source;
  if (split.sub.length + split.mixed.length > 0) return null;
  if (!split.item.every((filter) => isClassed(filter, scope, KIND_PLACES))) return null;
  const parts: Part[] = [];
  for (const number of source.parts) {
    const view = ctx.view(number);
    const all = view.reportKinds();
    if (all === null) return null;
    const row = new Row(view, number);
    const wanted = split.node.length === 0 ? null : yield* source.nodes(row);
    const others = wanted === null ? null : view.set(NODES_ALL).copy().subtract(wanted);
    const nodes = wanted === null || others!.count() === 0 ? null : { wanted, others: others! };
    const kinds = all.filter(({ report }) => {
      row.body = report;
      return item === null || item.test(row) === TRUE;
    });
    parts.push({ row, kinds, nodes });
  }
  return parts;
}

function byKinds({ row, kinds }: Part, tell: (count: number) => void): void {
  for (const { count, report } of kinds) {
    row.body = report;
    tell(count);
  }
}

/** All reports of these kinds, but for those of the nodes that are left out, which are looked at. */
function* countWithout({ ctx, item }: Source, { row, kinds, nodes }: Part): Generator<undefined, number> {
  let count = 0;
  for (const kind of kinds) count += kind.count;
  for (const node of nodes!.others.toArray()) {
    for (const id of row.view.reportIdsOfNode(node)) {
      if (row.openReport(id) && (item === null || item.test(row) === TRUE)) count--;
    }
    if (ctx.tick()) yield;
  }
  return count;
}

/** By kind, and by node too where that is asked for. */
function* byMarks(
  { ctx }: Source,
  part: Part,
  byNode: boolean,
  tell: (count: number) => void,
): Generator<undefined, void> {
  const { row, kinds, nodes } = part;
  const marks = row.view.reportMarks;
  const places = new Map(kinds.map(({ mark }, place) => [mark, place]));
  const pairs = new PairNumbers();
  /** By number of a pair: where it was met first, and how many there are. */
  const firsts: { readonly node: NodeId; readonly place: number }[] = [];
  const counts: number[] = [];
  let looked = 0;
  for (const id of row.view.reportIds()) {
    if (++looked % TICK_MARKS === 0 && ctx.tick()) yield;
    const node = marks.open(id);
    if (node === 0 || nodes?.wanted.has(node) === false) continue;
    const place = places.get(marks.kind);
    if (place === undefined) continue;
    const number = pairs.of(byNode ? node : 0, place);
    if (number === counts.length) {
      firsts.push({ node, place });
      counts.push(0);
    }
    counts[number]!++;
  }
  const named = byNode ? kinds.map(({ report }) => certnamesWith(report)) : null;
  for (const [number, { node, place }] of firsts.entries()) {
    row.nodeId = node;
    row.body = named === null ? kinds[place]!.report : named[place]!(row.certname);
    tell(counts[number]!);
    if (number % TICK_MARKS === 0 && ctx.tick()) yield;
  }
}
