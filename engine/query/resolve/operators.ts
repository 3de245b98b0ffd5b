// The operators of the query language and what may be asked about them: which are comparisons, which are known at all.

import type { JsonValue } from '../../json/value.ts';
import type { CompareOp } from '../tree.ts';
import { isSelect } from './scope.ts';

export type ComparisonOp = '=' | CompareOp | '~' | '~>';

const COMPARISONS: ReadonlySet<string> = new Set(['=', '<', '>', '<=', '>=', '~', '~>']);
const INEQUALITIES: ReadonlySet<string> = new Set(['<', '>', '<=', '>=']);
const STRUCTURE: ReadonlySet<string> = new Set([
  'from',
  'in',
  'extract',
  'subquery',
  'and',
  'or',
  'not',
  'function',
  'group_by',
  'null?',
]);

export const AGGREGATES: ReadonlySet<string> = new Set(['sum', 'avg', 'min', 'max', 'count']);
/** All that a column can be a call of. */
export const FUNCTIONS: ReadonlySet<string> = new Set([...AGGREGATES, 'to_string', 'jsonb_typeof']);

export const isComparison = (op: unknown): op is ComparisonOp => typeof op === 'string' && COMPARISONS.has(op);
export const isInequality = (op: unknown): op is CompareOp => typeof op === 'string' && INEQUALITIES.has(op);
export const isOperator = (op: unknown): boolean =>
  typeof op === 'string' && (STRUCTURE.has(op) || COMPARISONS.has(op) || isSelect(op));

/** The operator in lower case if that makes it a known one, else as it is. */
export function normalOperator(op: JsonValue | undefined): string | null {
  if (typeof op !== 'string') return null;
  const lower = op.toLowerCase();
  return isOperator(lower) ? lower : op;
}

/** JSON `false` and `null` are false, all else is true. */
export const isTruthy = (value: JsonValue | undefined): boolean =>
  value !== false && value !== null && value !== undefined;

export const isPaging = (clause: JsonValue | undefined): clause is readonly JsonValue[] =>
  Array.isArray(clause) && (clause[0] === 'limit' || clause[0] === 'offset' || clause[0] === 'order_by');

export const isGroupBy = (clause: JsonValue | undefined): clause is readonly JsonValue[] =>
  Array.isArray(clause) && clause[0] === 'group_by';
