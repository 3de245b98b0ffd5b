// The error texts of the query language in one place (spec/query.md 7). Spelling, including lost apostrophes and typing
// mistakes, is what clients of PuppetDB receive. Where PuppetDB answers 500 because its storage engine refuses a query, the
// same first line is sent with 400: the mistake is in the query, not in the server.

import type { Field } from '../../../schemas/entities.ts';
import { javaClass, printAlone, printClojure } from '../../clojure.ts';
import { isInteger, type JsonValue, kindOf } from '../../json/value.ts';
import { badQuery, LateRefusal, type QueryError, StoreRefusal } from '../errors.ts';

/** `'a'`; `'a' and 'b'`; `'a', 'b', and 'c'`. */
function quotedList(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  if (quoted.length <= 2) return quoted.join(' and ');
  return `${quoted.slice(0, -1).join(', ')}, and ${quoted[quoted.length - 1]}`;
}

export const notQueryable = (field: string, alias: string, sorted: readonly string[]): string =>
  sorted.length === 0
    ? `'${field}' is not a queryable object for ${alias}. Entity ${alias} has no queryable objects`
    : `'${field}' is not a queryable object for ${alias}. Known queryable objects are ${quotedList(sorted)}`;

export function unknownFields(
  action: "Can't extract" | "Can't match on",
  alias: string,
  fields: readonly string[],
  accepted: readonly string[],
): string {
  const noun = fields.length > 1 ? 'fields' : 'field';
  const context = action === "Can't match on" ? " for 'in'" : '';
  return `${action} unknown '${alias}' ${noun} ${quotedList(fields)}${context}. Acceptable fields are ${quotedList(accepted)}`;
}

export const invalidExtractClause = (clause: JsonValue): string =>
  `${printClojure(clause)} is not a valid expression for "extract"`;

export const unsupportedSubquery = (name: string, known: string | null): string =>
  known === null ? `Unsupported subquery \`${name}\`` : `Unsupported subquery \`${name}\` - did you mean \`${known}\`?`;

/** A clause the compiler knows nothing of, inside `and`, `or`, `not` or as the source of `in`. */
export const noImplementation = (): LateRefusal =>
  new LateRefusal(
    "No implementation of method: :-plan->sql of protocol: #'puppetlabs.puppetdb.query-eng.engine/SQLGen found for class: nil",
  );

/** Rows without columns on the right side of `in`. */
export const tooFewColumns = (): StoreRefusal => new StoreRefusal('ERROR: subquery has too few columns');

export const astValidation = (clause: JsonValue, query: JsonValue): QueryError =>
  badQuery(
    'AST validation failed, but was successfully converted to SQL. Please file a PuppetDB ticket at ' +
      `https://tickets.puppetlabs.com \nUnrecognized AST clause ${printClojure(clause)} in AST query ${printClojure(query)}`,
  );

export const fromForm = (): QueryError =>
  badQuery('This query must be of the form ["from", <entity>, (<optional-query>)].');
export const fromBody = (): QueryError => badQuery('`from` only accepts a query as an optional second argument.');
export const invalidEntity = (name: string): QueryError => badQuery(`Invalid entity '${name}' in query`);

export const arity = (op: string): QueryError => badQuery(`${op} requires exactly two arguments`);
export const invalidClause = (op: string): QueryError => badQuery(`Invalid ${op} clause`);
/** A list of values for something that is no field. */
export const invalidArrayClause = (): LateRefusal => new LateRefusal('Invalid in clause');
export const noArguments = (op: 'and' | 'or'): QueryError =>
  badQuery(`'${op}' takes at least one argument, but none were supplied`);
export const notArity = (count: number): QueryError =>
  badQuery(`'not' takes exactly one argument, but ${count} were supplied`);
export const emptyClause = (): QueryError =>
  badQuery('[] is not well-formed: queries must contain at least one operator');
export const noRelationship = (entity: JsonValue): QueryError =>
  badQuery(`No implicit relationship for entity '${printAlone(entity)}'`);

export const noInequality = (field: string): QueryError =>
  badQuery(`Query operators >,>=,<,<= are not allowed on field ${field}`);
export const noPathRegex = (field: JsonValue): QueryError =>
  badQuery(`Query operator ~> is not allowed on field ${printAlone(field)}`);
export const notNumeric = (value: JsonValue, field: string): QueryError =>
  badQuery(`Argument "${printAlone(value)}" is incompatible with numeric field "${field}".`);
export const incompatible = (value: JsonValue, op: string): QueryError =>
  badQuery(`Argument "${printAlone(value)}" and operator "${op}" have incompatible types.`);
export const notTimestamp = (value: JsonValue): QueryError =>
  typeof value === 'string' || value === null
    ? badQuery(`'${printAlone(value)}' is not a valid timestamp value`)
    : badQuery(
        `No implementation of method: :to-date-time of protocol: #'clj-time.coerce/ICoerce found for class: ${javaClass(value)}`,
      );
export const notAllowedOnValue = (op: string, value: JsonValue): QueryError =>
  badQuery(`Operator '${op}' not allowed on value '${printAlone(value)}'`);
export const BAD_PATH_ELEMENT = 'Path array element wasnt string or integer in {0}';
export const arrayNeedsVector = (): QueryError => badQuery('Operator array requires a vector argument');
export const arrayOnArray = (): QueryError => badQuery('Operator in...array is not supported on array types');
export const arrayOfOneType = (): QueryError => badQuery('All values in array must be the same type.');
export const badMatchPart = (kind: 'match' | 'indexed'): QueryError =>
  badQuery(`No matching clause: :puppetlabs.puppetdb.query-eng.parse/${kind}-field-part`);
export const noMatchingClause = (value: string): QueryError => badQuery(`No matching clause: ${value}`);
/** A number or a Boolean in the place of a list. */
export const noSequence = (value: JsonValue): QueryError =>
  badQuery(`Don't know how to create ISeq from: ${javaClass(value)}`);
/** The same where only the writing of the SQL finds it. */
export const lateNoSequence = (value: JsonValue): LateRefusal =>
  new LateRefusal(noSequence(value).message, isInteger(value) ? noSequence(LONG).message : undefined);

// ---- what the storage engine of the reference refuses ----

/** PostgreSQL's names of the stored types. */
const COLUMN_TYPES: Record<Field['store'], string> = {
  text: 'text',
  boolean: 'boolean',
  integer: 'integer',
  smallint: 'smallint',
  bigint: 'bigint',
  timestamp: 'timestamp with time zone',
  'text[]': 'text[]',
  jsonb: 'jsonb',
};

/** What messages tell of a field that is compared. */
type Stored = Pick<Field, 'type' | 'store' | 'varying'>;

export const columnType = (field: Stored): string => (field.varying ? 'character varying' : COLUMN_TYPES[field.store]);

const VALUE_TYPES: Readonly<Record<string, string>> = {
  'java.lang.Boolean': 'boolean',
  'java.lang.Integer': 'integer',
  'java.lang.Long': 'bigint',
  'java.math.BigInteger': 'numeric',
  'java.lang.Double': 'double precision',
};

/** An integer that Java reads as a long, as it does all integers of PQL. */
const LONG = 2 ** 31;

/** Of a text, a number, a Boolean or null. */
const valueType = (value: JsonValue): string =>
  typeof value === 'string' || value === null ? 'character varying' : (VALUE_TYPES[javaClass(value)] as string);

export function noOperator(column: string, op: string, value: string, inPql = value): QueryError {
  const message = (type: string): string => `ERROR: operator does not exist: ${column} ${op} ${type}`;
  return new StoreRefusal(message(value), 'analysis', message(inPql));
}

/** Lists and objects cannot be sent as parameters at all. */
const parameterType = (value: JsonValue): string =>
  ['array', 'object'].includes(kindOf(value)) ? 'unknown' : valueType(value);

/**
 * `to_string` is `to_char` there. Fact values come to functions as numbers, and a name that means nothing (`undefined`) as a text that has no type
 * yet; null stands for no field at all.
 */
function functionCall(fn: string, field: Stored | null | undefined, parameters: readonly JsonValue[]): string {
  const types = parameters.map(parameterType);
  if (field !== null) types.unshift(!field ? 'unknown' : field.type === 'V' ? 'numeric' : columnType(field));
  return `ERROR: function ${fn === 'to_string' ? 'to_char' : fn}(${types.join(', ')})`;
}

export const noFunction = (
  fn: string,
  field: Stored | null | undefined,
  parameters: readonly JsonValue[],
): QueryError => new StoreRefusal(`${functionCall(fn, field, parameters)} does not exist`);

/** There are several functions of that name for such parameters, and a name that means nothing decides for none of them. */
export const ambiguousFunction = (fn: string, parameters: readonly JsonValue[]): QueryError =>
  new StoreRefusal(`${functionCall(fn, undefined, parameters)} is not unique`);

/** The type that a value is compared with: patterns meet the elements of an array, and the text of a fact value. */
const comparedType = (field: Stored, op: string): string =>
  op === '~' && (field.type === 'A' || field.type === 'V') ? 'text' : columnType(field);

/** A value that the column's stored type cannot be compared with. */
export function storageMismatch(field: Stored, op: string, value: JsonValue): QueryError {
  switch (kindOf(value)) {
    case 'array':
      return new StoreRefusal(
        "Can't infer the SQL type to use for an instance of clojure.lang.PersistentVector.",
        'sending',
      );
    case 'object':
      return new StoreRefusal('No hstore extension installed.', 'sending');
    default: {
      const type = op === '~' && value === null ? 'unknown' : valueType(value);
      return noOperator(comparedType(field, op), op, type, isInteger(value) ? valueType(LONG) : type);
    }
  }
}

/** Fact values come as their texts. */
export const columnMismatch = (outer: Stored, inner: Stored): QueryError =>
  noOperator(columnType(outer), '=', inner.type === 'V' ? 'text' : columnType(inner));
export const arrayMismatch = (field: Stored): QueryError => noOperator(columnType(field), '=', 'text');
