// What a filter reads of a row: the fields it names.

import type { Filter } from '../../tree.ts';

/** The fields, or null when the filter reads more than fields (documents, parameters, states). */
function fieldsRead(filter: Filter): readonly string[] | null {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return fieldsReadByAll(filter.args);
    case 'not':
      return fieldsRead(filter.arg);
    case 'const':
      return [];
    case 'json':
    case 'parameter':
    case 'node-state':
      return null;
    case 'in-query':
      return filter.fields;
    default:
      return [filter.field];
  }
}

export function fieldsReadByAll(filters: readonly Filter[]): readonly string[] | null {
  const all: string[] = [];
  for (const filter of filters) {
    const fields = fieldsRead(filter);
    if (fields === null) return null;
    all.push(...fields);
  }
  return all;
}
