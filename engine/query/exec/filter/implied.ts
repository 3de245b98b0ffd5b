// What the result of a subquery, or a long list of alternatives, implies for single fields. A tuple that is among a few has in each field
// one of a few texts: as a condition of its own that is looked up in an index, or told from the nodes, where the tuple as a whole is not.

import type { EntityName } from '../../../../schemas/entities.ts';
import type { Filter } from '../../tree.ts';
import { traitsOf } from '../row/entities.ts';
import { ALTERNATIVES_MIN, commonTexts } from './alternatives.ts';
import { typeOf } from './filter.ts';
import type { ValueSet } from './value-set.ts';

type InQuery = Extract<Filter, { kind: 'in-query' }>;
type InList = Extract<Filter, { kind: 'in' }>;

/** Of more tuples nothing is derived: so many texts often hold most items, which are read sooner in the order in which they lie. */
const TUPLES_MAX = 100;

/** So many pairs of a type and a title for each tuple are looked up; when there are more, titles alone tell more. */
const PAIRS_PER_TUPLE = 2;

/** Conditions that are true wherever the subquery's is. They may differ from it where it is unknown or false, which selects no row. */
export function impliedBy(filter: InQuery, set: ValueSet, entity: EntityName): readonly Filter[] {
  // Nodes are a set already.
  if (set.nodes !== null) return [];
  // No tuple without a null: it is true for none.
  if (set.keys.size === 0) return [{ kind: 'const', value: false }];
  if (set.keys.size > TUPLES_MAX) return [];
  const served = filter.fields.filter((field) => isServed(entity, field));
  return listsOf(
    new Map(served.map((field) => [field, set.textsAt(filter.fields.indexOf(field), filter.fields.length)])),
    set.keys.size,
  );
}

/** The same for alternatives that all compare the same field, each with texts of its own. */
export function impliedByAlternatives(args: readonly Filter[], entity: EntityName): readonly Filter[] {
  if (args.length < ALTERNATIVES_MIN) return [];
  return listsOf(
    commonTexts(args, (field) => isServed(entity, field)),
    args.length,
  );
}

/** `tuples`: how many there are. */
function listsOf(lists: ReadonlyMap<string, ReadonlySet<string>>, tuples: number): readonly Filter[] {
  const sizeOf = (field: string): number => lists.get(field)?.size ?? 0;
  const tooMany = sizeOf('type') * sizeOf('title') > tuples * PAIRS_PER_TUPLE;
  return [...lists]
    .filter(([field]) => !(tooMany && field === 'type'))
    .map(([field, texts]): InList => ({ kind: 'in', field, values: [...texts], implied: true }));
}

/** Only texts are compared as a list of texts compares them. */
const isServed = (entity: EntityName, field: string): boolean =>
  (field === 'certname' || traitsOf(entity).foundBy.includes(field)) && typeOf(entity, field) === 'S';
