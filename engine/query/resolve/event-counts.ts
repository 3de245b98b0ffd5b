// event-counts and aggregate-event-counts: their parameters and the filter over counts (spec/query.md 6.2, 6.3).

import { printAlone, printClojure, textOf } from '../../clojure.ts';
import { doubleOfNumber, isArray, isNumber, type JsonValue } from '../../json/value.ts';
import { badQuery } from '../errors.ts';
import type { CountField, CountsFilter, EventCountsTree } from '../tree.ts';
import { noOperator, storageMismatch } from './messages.ts';
import { isInequality } from './operators.ts';
import { columnsNamed, type OrderColumns } from './order-by.ts';

export interface EventCountsParameters {
  readonly summarizeBy: string;
  readonly countBy?: string | null | undefined;
  /** Already parsed. */
  readonly countsFilter?: JsonValue | undefined;
  readonly query?: JsonValue | undefined;
}

type SummarizeBy = EventCountsTree['summarizeBy'];
type CountBy = EventCountsTree['countBy'];

const SUBJECT_COLUMNS: Record<SummarizeBy, readonly string[]> = {
  certname: ['certname'],
  resource: ['resource_type', 'resource_title'],
  containing_class: ['containing_class'],
};

export function parseSummarizeBy(value: string): SummarizeBy {
  if (!Object.hasOwn(SUBJECT_COLUMNS, value)) throw badQuery(`Unsupported value for 'summarize_by': '${value}'`);
  return value as SummarizeBy;
}

export function parseCountBy(value: string | null | undefined): CountBy {
  const found = value ?? 'resource';
  if (found !== 'resource' && found !== 'certname') throw badQuery(`Unsupported value for 'count_by': '${found}'`);
  return found;
}

/** Items between commas; empty ones at the end are dropped. At least one is left, or it is an error. */
export function parseSummaries(value: string): readonly string[] {
  const items = value.split(',');
  while (items.length > 1 && items[items.length - 1] === '') items.pop();
  if (items.length === 1 && items[0] === '' && value !== '')
    throw badQuery(`Unsupported value for 'summarize_by': '${value}'`);
  return items;
}

export const countColumns = (fields: readonly CountField[], summarizeBy: SummarizeBy): OrderColumns =>
  columnsNamed([...fields, ...SUBJECT_COLUMNS[summarizeBy]]);

/** One comparison `[op, field, number]`; null, or an empty list, is none. */
export function parseCountsFilter(value: JsonValue | undefined, fields: readonly CountField[]): CountsFilter | null {
  if (value === undefined || value === null) return null;
  if (!isArray(value)) throw badQuery(`Illegal value '${printAlone(value)}' for :counts_filter; expected an array.`);
  if (value.length === 0) return null;
  const sent = value[0] ?? false;
  if (sent === false)
    throw badQuery(`${printClojure(value)} is not well-formed: queries must contain at least one operator`);
  const op = textOf(sent).toLowerCase();
  if (op !== '=' && !isInequality(op)) {
    throw badQuery(`${printClojure(value)} is not well-formed: query operator '${textOf(sent)}' is unknown`);
  }
  if (value.length !== 3) throw badQuery(`${op} requires exactly two arguments, but ${value.length - 1} were supplied`);
  const [, shown, number] = value as [JsonValue, JsonValue, JsonValue];
  const name = op === '=' ? textOf(shown).replaceAll('-', '_') : textOf(shown);
  const field = fields.find((candidate) => candidate === name);
  if (!field) {
    throw badQuery(
      op === '='
        ? `${printAlone(shown)} is not a queryable object for event counts`
        : `${op} operator does not support object '${printAlone(shown)}' for event counts`,
    );
  }
  return { op, field, value: countOf(op, number) };
}

function countOf(op: string, value: JsonValue): number | null {
  if (value === null) return null;
  if (isNumber(value)) return doubleOfNumber(value);
  if (typeof value === 'string') throw noOperator('bigint', op, 'character varying');
  throw storageMismatch({ type: 'N', store: 'bigint', varying: false }, op, value);
}
