// The right side of `in`: checks that the columns on both sides can be compared, and builds the subquery's own tree
// (spec/query.md 3.7). Columns are paired by position; surplus inner columns are dropped. Its filter is made by
// whoever asks for it (filter.ts), as a filter may have subqueries.

import type { Entity, Field } from '../../../schemas/entities.ts';
import { printClojure } from '../../clojure.ts';
import type { JsonValue } from '../../json/value.ts';
import { badQuery } from '../errors.ts';
import type { Column, Filter, QueryTree } from '../tree.ts';
import type { Source } from './clause.ts';
import { columnMismatch, notQueryable, tooFewColumns, unknownFields } from './messages.ts';
import { clausePaging, pagingArguments } from './order-by.ts';
import { fieldNamed, type Scope } from './scope.ts';

/** Fields whose values are compared as they are. */
function comparable(outer: Field, inner: Field): boolean {
  if (outer.type === 'V' || inner.type === 'V') {
    // A fact value meets whatever counts as a text as JSON, or texts as its text, and numbers as a number.
    if (outer.type === 'V') return inner.type === 'V' || inner.type === 'S';
    return outer.type === 'N' || (outer.type === 'S' && outer.store === 'text');
  }
  if (isPath(outer) && isPath(inner)) return true;
  if (outer.type === 'N' && inner.type === 'N') return true;
  return outer.store === inner.store && isPath(outer) === isPath(inner);
}

const isPath = (field: Field): boolean => field.type === 'PA' || field.type === 'PE';

/** A source without its filter. */
type SourceRows = Omit<Source, 'filter'>;

/** What is known of it before its filter is. Throws QueryError where it has no rows at all. */
export function checkSource({ scope, columns }: SourceRows): Entity {
  if (!scope.entity) throw badQuery(unknownFields("Can't extract", scope.alias, columns.map(String), []));
  return scope.entity;
}

/** `filter`: the subquery's own. Throws QueryError for columns that cannot be compared. */
export function resolveSource(
  scope: Scope,
  fields: readonly string[],
  source: SourceRows,
  filter: Filter | null,
): Filter {
  const inner = source.scope;
  const entity = checkSource(source);
  const columns: Column[] = [];
  for (let index = 0; index < fields.length; index += 1) {
    const name = fields[index] as string;
    const outer = fieldNamed(scope, name);
    if (!outer) throw badQuery(notQueryable(name, scope.alias, scope.queryableSorted));
    const column = source.columns[index];
    if (column === undefined) throw tooFewColumns();
    const field = innerField(inner, column);
    if (!comparable(outer, field)) throw columnMismatch(outer, field);
    columns.push({ kind: 'field', key: field.name, ref: { kind: 'field', field: field.name } });
  }
  const query: QueryTree = {
    entity: entity.name,
    columns,
    filter,
    groupBy: null,
    ...clausePaging(inner, pagingArguments(source.paging), { isInner: true }),
    distinct: null,
  };
  return {
    kind: 'in-query',
    fields: fields.map((name) => (fieldNamed(scope, name) as Field).name),
    columns: columns.map((column) => column.key),
    query,
  };
}

function innerField(scope: Scope, column: JsonValue): Field {
  const field = typeof column === 'string' ? fieldNamed(scope, column) : undefined;
  if (!field?.queryable) throw badQuery(`${printClojure(column)} cannot be a column of an 'in' subquery`);
  return field;
}
