// The result of an `in` subquery: the set of its tuples, ready for membership tests with SQL's rules for null.

import type { FieldType } from '../../../schemas/entities.ts';
import { identityText, textForm } from '../../json/compare.ts';
import { Float, type JsonValue } from '../../json/value.ts';
import type { NodeSet } from '../../store/node-set.ts';
import { encodePath, type Path } from '../paths.ts';
import type { Value } from './access.ts';
import { FALSE, TRUE, type Truth, UNKNOWN } from './truth.ts';

/** A comparable key of a value seen as the outer field's type; null for null. Values the type cannot hold give a key that nothing has. */
export function keyOf(value: Value, inner: FieldType, outer: FieldType): string | null {
  if (value === null && inner !== 'V') return null;
  if (outer === 'V') return identityText(inner === 'V' ? (value as JsonValue) : jsonOf(value));
  if (inner === 'V') return outer === 'N' ? numberKey(value as JsonValue) : textForm(value as JsonValue);
  // The paths of fact_paths come as encoded texts already.
  if (inner === 'PA') return encodePath(value as unknown as Path);
  if (inner === 'J' || inner === 'X' || inner === 'A') return identityText(value as JsonValue);
  return value instanceof Float ? String(value.value) : String(value);
}

/** What counts as a text, as JSON: truth values stay such, and times are written as PostgreSQL writes them there. */
function jsonOf(value: Value): JsonValue {
  if (typeof value !== 'number') return typeof value === 'boolean' ? value : String(value);
  const time = new Date(value).toISOString().slice(0, -1);
  return `${time.replace(/\.?0+$/, '')}+00:00`;
}

/** A fact value as a number column would hold it: 10.0 and "10" are 10. Texts that are no number equal nothing. */
function numberKey(value: JsonValue): string | null {
  const text = textForm(value);
  return text === null || text.trim() === '' || Number.isNaN(Number(text)) ? text : String(Number(text));
}

export class ValueSet {
  /** Certnames as nodes, per partition; null when the tuple is not the certname alone. */
  nodes: NodeSet[] | null = null;
  readonly keys = new Set<string>();
  /** Tuples with a null in them. */
  readonly withNull: (readonly (string | null)[])[] = [];
  rows = 0;

  add(tuple: readonly (string | null)[]): void {
    this.rows++;
    if (tuple.includes(null)) {
      if (tuple.length > 1 || this.withNull.length === 0) this.withNull.push(tuple);
    } else this.keys.add(tuple.length === 1 ? tuple[0]! : tupleKey(tuple as readonly string[]));
  }

  has(tuple: readonly (string | null)[]): Truth {
    if (this.rows === 0) return FALSE;
    if (tuple.includes(null)) return this.#couldMatch(tuple) ? UNKNOWN : FALSE;
    if (this.keys.has(tuple.length === 1 ? tuple[0]! : tupleKey(tuple as readonly string[]))) return TRUE;
    return this.withNull.some((row) => compatible(row, tuple)) ? UNKNOWN : FALSE;
  }

  #couldMatch(tuple: readonly (string | null)[]): boolean {
    if (tuple.length === 1) return true;
    if (this.withNull.some((row) => compatible(row, tuple))) return true;
    for (const key of this.keys) if (compatible(JSON.parse(key) as string[], tuple)) return true;
    return false;
  }
}

const tupleKey = (tuple: readonly string[]): string => JSON.stringify(tuple);
const compatible = (a: readonly (string | null)[], b: readonly (string | null)[]): boolean =>
  a.every((x, i) => x === null || b[i] === null || b[i] === undefined || x === b[i]);
