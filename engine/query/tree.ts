// The checked query: what `resolve` makes of an AST once every name, operator and value has been checked against the field
// tables, and what the planner and the executor work on. Plain immutable data; nothing in it needs another look at the AST.

import type { EntityName } from '../../schemas/entities.ts';
import type { JsonValue } from '../json/value.ts';

export interface QueryTree {
  readonly entity: EntityName;
  /** Output columns in output order (functions first, as PuppetDB does). */
  readonly columns: readonly Column[];
  readonly filter: Filter | null;
  /** null: no grouping clause. Aggregate functions without a clause make one group of everything. */
  readonly groupBy: readonly GroupKey[] | null;
  readonly orderBy: readonly OrderTerm[];
  readonly limit: number | null;
  readonly offset: number;
  /** Events only: spec/query.md 6.1. Times are inclusive epoch ms. `before` is applied before grouping. */
  readonly distinct: { readonly start: number; readonly end: number; readonly before: Filter | null } | null;
}

/** Where the page ends, behind its last row, counted from the first row of all; infinite without a limit. */
export const pageEnd = ({ limit, offset }: Pick<QueryTree, 'limit' | 'offset'>): number =>
  limit === null ? Number.POSITIVE_INFINITY : offset + limit;

export type FieldRef =
  | { readonly kind: 'field'; readonly field: string }
  | { readonly kind: 'path'; readonly root: PathRoot; readonly parts: readonly PathPart[] };
/** Equal for references to the same. */
export const nameOfRef = (ref: FieldRef): string => JSON.stringify(ref);
/** Documents that paths lead into; what is `trusted` is a fact. */
export type PathRoot = 'facts' | 'parameters';
/** `quoted`: as it was written, which references are told apart by (`nameOfRef`), and nothing else. */
export type PathPart =
  | { readonly kind: 'name'; readonly name: string; readonly quoted: boolean }
  | { readonly kind: 'indexed'; readonly name: string; readonly index: number }
  | { readonly kind: 'match'; readonly pattern: string };

export type AggregateName = 'count' | 'sum' | 'avg' | 'min' | 'max';
export type Column =
  | { readonly kind: 'field'; readonly key: string; readonly ref: FieldRef }
  /** ref null: the rows are counted. absent: the name is no field, it is taken for a column of nulls (count is 0). */
  | {
      readonly kind: 'aggregate';
      readonly key: string;
      readonly fn: AggregateName;
      readonly ref: FieldRef | null;
      readonly absent?: true;
    }
  | { readonly kind: 'to_string'; readonly key: string; readonly ref: FieldRef; readonly mask: string }
  | { readonly kind: 'jsonb_typeof'; readonly key: string; readonly ref: FieldRef }
  /** A function of a name that is no field: null in every row. */
  | { readonly kind: 'null'; readonly key: string };

export type GroupKey =
  | { readonly kind: 'ref'; readonly ref: FieldRef }
  | { readonly kind: 'column' /** index into `columns` */; readonly column: number };

export interface OrderTerm {
  readonly field: string;
  readonly descending: boolean;
}

export type CompareOp = '<' | '<=' | '>' | '>=';

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly args: readonly Filter[] }
  | { readonly kind: 'not'; readonly arg: Filter }
  /** A filter whose value is known: true, false, or null for unknown. */
  | { readonly kind: 'const'; readonly value: boolean | null }
  /** `=` on a column of text, Boolean, number or time (epoch ms). nullSafe (distinct mode): false instead of unknown on null. */
  | {
      readonly kind: 'eq';
      readonly field: string;
      readonly value: string | boolean | number;
      readonly nullSafe: boolean;
    }
  /** `<` family on a number or time column. */
  | { readonly kind: 'order'; readonly field: string; readonly op: CompareOp; readonly value: number }
  /** PostgreSQL regular expression on a text column, any element of a text array, the text form of a value, an encoded path.
   *  nullIsFalse: false on null (the usual rule for text); else unknown. */
  | { readonly kind: 'regex'; readonly field: string; readonly pattern: string; readonly nullIsFalse: boolean }
  /** A text array contains the text. */
  | { readonly kind: 'member'; readonly field: string; readonly value: string }
  /** Whole path equals (text array column `path`). An empty list matches nothing. */
  | { readonly kind: 'path-eq'; readonly field: string; readonly paths: readonly (readonly (string | number)[])[] }
  | { readonly kind: 'path-match'; readonly field: string; readonly pattern: readonly (string | number)[] }
  /** `in` array on text or time columns. Empty: false. `implied`: by another condition, so that it leaves no fewer rows. */
  | {
      readonly kind: 'in';
      readonly field: string;
      readonly values: readonly (string | number)[];
      readonly implied?: true;
    }
  /** Is null (JSON null for fact values). Never unknown. */
  | { readonly kind: 'null'; readonly field: string }
  /** Typed equality of a fact value with any of the values (JSON equality for structures). Never unknown. */
  | { readonly kind: 'value-in'; readonly field: string; readonly values: readonly JsonValue[] }
  /** Fact value is a number and compares so. Never unknown. */
  | { readonly kind: 'value-order'; readonly field: string; readonly op: CompareOp; readonly value: JsonValue }
  /** Operators on a dotted field; parts may be empty for the whole document. spec/query.md 3.3, 3.4, 3.9.
   *  `null?`: the value is true where null is asked for, else false; no part has an index. */
  | {
      readonly kind: 'json';
      readonly op: '=' | CompareOp | '~' | 'null?';
      readonly root: PathRoot;
      readonly parts: readonly PathPart[];
      readonly value: JsonValue;
    }
  /** `["=" | "~", ["parameter", name], v]`: text is the JSON text (or the pattern over JSON texts). `others`: texts that it may be as well. */
  | {
      readonly kind: 'parameter';
      readonly op: '=' | '~';
      readonly name: string;
      readonly text: string;
      readonly others?: readonly string[];
    }
  | { readonly kind: 'jsonb-typeof'; readonly field: string; readonly type: string }
  /** Field tuple is among the rows of the subquery, columns paired by position. */
  | {
      readonly kind: 'in-query';
      readonly fields: readonly string[];
      readonly columns: readonly string[];
      readonly query: QueryTree;
    }
  /** certname is not among / is among the nodes with `deactivated` or `expired` set (inactive: within the purge horizon). */
  | { readonly kind: 'node-state'; readonly state: 'active' | 'inactive' };

/** event-counts and aggregate-event-counts: spec/query.md 6.2, 6.3. */
export interface EventCountsTree {
  /** The events that are counted: columns are ignored. */
  readonly events: QueryTree;
  readonly summarizeBy: 'certname' | 'resource' | 'containing_class';
  readonly countBy: 'resource' | 'certname';
  readonly countsFilter: CountsFilter | null;
  readonly orderBy: readonly OrderTerm[];
  readonly limit: number | null;
  readonly offset: number;
}
export interface CountsFilter {
  readonly op: '=' | CompareOp;
  readonly field: CountField;
  /** null (`= null`): no row passes. */
  readonly value: number | null;
}
export type CountField =
  | 'failures'
  | 'successes'
  | 'noops'
  | 'skips'
  | 'intentional_successes'
  | 'corrective_successes'
  | 'intentional_noops'
  | 'corrective_noops';

const COUNTS_COMMUNITY: readonly CountField[] = ['failures', 'skips', 'successes', 'noops'];
const COUNTS_ENTERPRISE: readonly CountField[] = [
  'failures',
  'skips',
  'intentional_successes',
  'corrective_successes',
  'intentional_noops',
  'corrective_noops',
];

/** The counts of a row of event counts, in the order in which answers and messages have them. */
export const countFields = (edition: 'community' | 'enterprise' | undefined): readonly CountField[] =>
  edition === 'enterprise' ? COUNTS_ENTERPRISE : COUNTS_COMMUNITY;
