// Filters that depend on the node alone, evaluated a set at a time: for a set of candidate nodes, which of them the filter is
// true for and which unknown. Set operations answer states, certnames, subqueries and dotted facts; the rest looks at the
// records of the candidates that are still left, so cheap conditions go first.

import { storedText } from '../../../json/stored.ts';
import { FACT_BY_NAME } from '../../../store/items/dictionaries.ts';
import { NodeSet } from '../../../store/items/node-set.ts';
import { NODES_INACTIVE } from '../../../store/records/tables.ts';
import type { Matcher } from '../../regex/regex.ts';
import type { Filter } from '../../tree.ts';
import type { Row } from '../row/row.ts';
import { type CompileScope, compileFilter, NODE } from './filter.ts';
import { type FirstKeyTest, firstKeyTest, type JsonFilter } from './json-filter.ts';
import { TRUE, UNKNOWN } from './truth.ts';

interface Truths {
  /** Candidates the filter is true for. */
  readonly yes: NodeSet;
  /** Candidates it is unknown for. */
  readonly unknown: NodeSet;
}

/** Up to this many candidates a look at each node's own facts, or name, is cheaper than all values of a fact name, or an index. */
const FEW = 32;

/** A look at a node's own fact takes as long as so many values of a fact name. */
const COST_OWN_FACT = 2;

/** A certname from the index takes as long as those of so many records, which come in the order of their ids. */
const COST_INDEXED = 3;

const none = (): NodeSet => new NodeSet(0);

/** A generator so that a long evaluation can be interrupted: yields now and then, returns the truths. */
export function* evaluateNodes(
  filter: Filter,
  candidates: NodeSet,
  row: Row,
  scope: CompileScope,
): Generator<undefined, Truths> {
  switch (filter.kind) {
    case 'and':
      return yield* conjunction(filter.args, candidates, row, scope);
    case 'or':
      return yield* disjunction(filter.args, candidates, row, scope);
    case 'not': {
      const inner = yield* evaluateNodes(filter.arg, candidates, row, scope);
      return { yes: candidates.copy().subtract(inner.yes).subtract(inner.unknown), unknown: inner.unknown };
    }
    case 'const':
      return {
        yes: filter.value === true ? candidates.copy() : none(),
        unknown: filter.value === null ? candidates.copy() : none(),
      };
    case 'node-state':
      if (filter.state === 'active')
        return { yes: candidates.copy().subtract(row.view.set(NODES_INACTIVE)), unknown: none() };
      return yield* byRecord(filter, candidates.copy().intersect(row.view.set(NODES_INACTIVE)), row, scope);
    case 'eq':
      if (filter.field === 'certname')
        return { yes: byName([filter.value as string], candidates, row), unknown: none() };
      break;
    case 'in':
      if (filter.field === 'certname')
        return { yes: byName(filter.values as string[], candidates, row), unknown: none() };
      break;
    case 'regex':
      if (filter.field === 'certname') {
        const matcher = scope.ctx.regex(filter.pattern);
        if (isNarrow(matcher.prefix, candidates, row)) return yield* byPrefix(matcher, candidates, row, scope);
      }
      break;
    case 'in-query': {
      const nodes = scope.ctx.subqueries.get(filter)?.nodes;
      if (nodes) return { yes: nodes[row.part]!.copy().intersect(candidates), unknown: none() };
      break;
    }
    case 'json':
      if (filter.root !== 'parameters' && filter.parts.length > 0 && candidates.count() > FEW) {
        const test = firstKeyTest(filter, scope.ctx.regex);
        if (!hasMoreValues(test, candidates, row)) return yield* byFact(test, candidates, row, scope);
      }
      break;
    default:
  }
  return yield* byRecord(filter, candidates, row, scope);
}

function byName(names: readonly string[], candidates: NodeSet, row: Row): NodeSet {
  const yes = new NodeSet(row.view.maxNodeId + 1);
  for (const name of names) {
    const id = row.view.nodeId(name);
    if (id !== 0 && candidates.has(id)) yes.add(id);
  }
  return yes;
}

/** Whether so few certnames begin with the text that finding them in their index is cheaper than a look at each candidate. */
function isNarrow(prefix: string, candidates: NodeSet, { view }: Row): boolean {
  const count = candidates.count();
  return prefix !== '' && count > FEW && view.countByPrefix(prefix) * COST_INDEXED < count;
}

/** Only certnames that begin as those which match do, from the index of certnames. */
function* byPrefix(matcher: Matcher, candidates: NodeSet, row: Row, scope: CompileScope): Generator<undefined, Truths> {
  const yes = new NodeSet(row.view.maxNodeId + 1);
  for (const { name, node } of row.view.nodesByPrefix(matcher.prefix)) {
    if (scope.ctx.tickRow()) yield;
    if (candidates.has(node) && matcher.test(name.toString('utf8'))) yes.add(node);
  }
  return { yes, unknown: none() };
}

/** Whether the fact has so many values that a look at each candidate's own is cheaper. */
function hasMoreValues({ first, equals }: FirstKeyTest, candidates: NodeSet, { view }: Row): boolean {
  const max = candidates.count() * COST_OWN_FACT;
  return equals === null && view.facts.estimate(FACT_BY_NAME, [first], max) > max;
}

/** All values of the fact's name, each tested once, its nodes taken from the postings. */
function* byFact(
  { first, missing, path, judge, equals }: FirstKeyTest,
  candidates: NodeSet,
  row: Row,
  scope: CompileScope,
): Generator<undefined, Truths> {
  const { view } = row;
  const yes = new NodeSet(view.maxNodeId + 1);
  const unknown = new NodeSet(view.maxNodeId + 1);
  if (equals !== null) {
    const item = view.facts.find({ name: first, value: storedText(equals) });
    if (item !== 0) view.facts.addNodes(item, yes);
    return { yes: yes.intersect(candidates), unknown };
  }
  const having = missing === UNKNOWN ? new NodeSet(view.maxNodeId + 1) : null;
  const items = view.facts.lookup(FACT_BY_NAME, [first]);
  const reader = view.facts.reader();
  for (let i = 0; i < items.length; i++) {
    if (scope.ctx.tickRow()) yield;
    const item = items[i]!;
    const fact = reader.read(item);
    scope.ctx.lookedAt(fact.record.size);
    if (fact.name !== first) continue; // a long name shares its key with another
    const truth = judge(path.findInFact(fact));
    if (truth === TRUE) view.facts.addNodes(item, yes);
    else if (truth === UNKNOWN) view.facts.addNodes(item, unknown);
    if (having !== null) view.facts.addNodes(item, having);
  }
  if (having !== null) unknown.union(candidates.copy().subtract(having));
  return { yes: yes.intersect(candidates), unknown: unknown.intersect(candidates) };
}

/** Tests each candidate's row. */
function* byRecord(filter: Filter, candidates: NodeSet, row: Row, scope: CompileScope): Generator<undefined, Truths> {
  const { deps, test } = compileFilter(filter, scope);
  if ((deps & ~NODE) !== 0) throw new Error('not a filter on nodes');
  const yes = new NodeSet(row.view.maxNodeId + 1);
  const unknown = new NodeSet(row.view.maxNodeId + 1);
  const ids = candidates.toArray();
  for (let i = 0; i < ids.length; i++) {
    if (scope.ctx.tickRow()) yield;
    row.nodeId = ids[i]!;
    const truth = test(row);
    if (truth === TRUE) yes.add(row.nodeId);
    else if (truth === UNKNOWN) unknown.add(row.nodeId);
  }
  return { yes, unknown };
}

function* conjunction(
  args: readonly Filter[],
  candidates: NodeSet,
  row: Row,
  scope: CompileScope,
): Generator<undefined, Truths> {
  const yes = candidates.copy();
  let possible = candidates.copy();
  for (const arg of inOrderOfCost(args)) {
    if (scope.ctx.tick()) yield;
    const truths = yield* evaluateNodes(arg, possible, row, scope);
    yes.intersect(truths.yes);
    possible = possible.intersect(truths.yes.copy().union(truths.unknown));
  }
  return { yes, unknown: possible.subtract(yes) };
}

function* disjunction(
  args: readonly Filter[],
  candidates: NodeSet,
  row: Row,
  scope: CompileScope,
): Generator<undefined, Truths> {
  const yes = new NodeSet(row.view.maxNodeId + 1);
  const unknown = new NodeSet(row.view.maxNodeId + 1);
  const open = candidates.copy();
  for (const arg of inOrderOfCost(args)) {
    if (scope.ctx.tick()) yield;
    const truths = yield* evaluateNodes(arg, open, row, scope);
    yes.union(truths.yes);
    unknown.union(truths.unknown);
    open.subtract(truths.yes);
  }
  return { yes, unknown: unknown.subtract(yes) };
}

const inOrderOfCost = (args: readonly Filter[]): Filter[] => [...args].sort((a, b) => cost(a) - cost(b));

function cost(filter: Filter): number {
  switch (filter.kind) {
    case 'const':
      return 0;
    case 'eq':
    case 'in':
      return filter.field === 'certname' ? 1 : 6;
    case 'node-state':
      return filter.state === 'active' ? 2 : 3;
    case 'in-query':
      return filter.fields.length === 1 && filter.fields[0] === 'certname' ? 3 : 7;
    case 'json':
      return costOfFact(filter);
    case 'and':
    case 'or':
      return Math.max(...filter.args.map(cost));
    case 'not':
      return cost(filter.arg);
    default:
      return 6;
  }
}

/** A fact's text is in an index; one value leaves fewer candidates than a comparison. */
function costOfFact({ op, parts, value }: JsonFilter): number {
  if (op !== '=') return 5;
  return parts.length === 1 && typeof value === 'string' ? 3 : 4;
}
