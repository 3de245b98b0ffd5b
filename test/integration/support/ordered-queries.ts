// Queries that order: any fields of an entity that can be ordered by, with clauses that its conformance cases have, a page or not,
// as parameters or as clauses of the query.

import { type Entity, entityNames, entityOf, type Field } from '../../../schemas/entities.ts';
import type { Random } from '../../support/random.ts';
import type { VariedQueries, VariedQuery } from './varied-queries.ts';

export interface OrderedQuery extends VariedQuery {
  /** The fields that it orders by. */
  readonly keys: readonly string[];
}

const KEYS_MAX = 3;
const LIMIT_MAX = 12;
const OFFSET_MAX = 9;

/** Times of receipt differ between two servers; about which reports are the latest, 7.12 and 8.8 differ. */
const isComparable = ({ name }: Field, entity: Entity): boolean =>
  name !== 'latest_report?' &&
  !name.includes('receive_time') &&
  (entity.name === 'events' || !/^(facts_|catalog_)?timestamp$/.test(name));

export class OrderedQueries {
  readonly #random: Random;
  readonly #varied: VariedQueries;
  readonly #entities: readonly { readonly entity: Entity; readonly fields: readonly string[] }[];

  constructor(random: Random, varied: VariedQueries) {
    this.#random = random;
    this.#varied = varied;
    this.#entities = entityNames()
      .map(entityOf)
      .filter(({ pseudo }) => !pseudo)
      .map((entity) => ({
        entity,
        fields: entity.fields
          .filter((field) => field.queryable && field.projectable && field.requires === null)
          .filter((field) => isComparable(field, entity))
          .map(({ name }) => name),
      }))
      .filter(({ fields }) => fields.length > 0);
  }

  next(): OrderedQuery {
    const random = this.#random;
    const { entity, fields } = random.pick(this.#entities);
    const order = Array.from({ length: random.between(1, KEYS_MAX) }, () => ({
      field: random.pick(fields),
      order: random.pick(['asc', 'desc', 'DESC']),
    }));
    const keys = order.map(({ field }) => field);
    const shown = [...new Set([...keys, ...fields.filter(() => random.chance(0.2))])];
    const clause = random.chance(0.5) ? this.#varied.clauseOf(entity.name) : null;
    const query = random.chance(0.25) ? clause : ['extract', shown, ...(clause === null ? [] : [clause])];
    const limit = random.chance(0.5) ? random.between(1, LIMIT_MAX) : null;
    const offset = random.chance(0.4) ? random.between(0, OFFSET_MAX) : null;
    if (random.chance(0.4)) {
      const whole = [
        'from',
        entity.name,
        ...(query === null ? [] : [query]),
        ['order_by', order.map((one) => [one.field, one.order])],
        ...(limit === null ? [] : [['limit', limit]]),
        ...(offset === null ? [] : [['offset', offset]]),
      ];
      return { path: '/pdb/query/v4', params: { query: whole }, keys };
    }
    const params: Record<string, unknown> = { order_by: order };
    if (query !== null) params['query'] = query;
    if (limit !== null) params['limit'] = String(limit);
    if (offset !== null) params['offset'] = String(offset);
    if (random.chance(0.2)) params['include_total'] = 'true';
    return { path: `/pdb/query/v4/${entity.name.replaceAll('_', '-')}`, params, keys };
  }
}
