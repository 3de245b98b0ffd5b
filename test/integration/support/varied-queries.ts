// Queries like those of the conformance cases: of each, clauses, fields and values are exchanged for others that cases about the same
// entity have, negated, or joined with others.

import { fileURLToPath } from 'node:url';
import { areas, type RecordedCase, readLines } from '../../conformance/replay.mjs';
import type { Random } from '../../support/random.ts';

export interface VariedQuery {
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** What the conformance cases ask. */
export function* recordedRequests(): Generator<RecordedCase['request']> {
  for (const { file } of areas(CASES, 'cases')) {
    for (const { request } of readLines(file) as RecordedCase[]) yield request;
  }
}

/** What clauses and values an entity's cases have. */
interface Pool {
  readonly clauses: Clause[];
  readonly leaves: unknown[];
}

type Clause = unknown[];

const CASES = fileURLToPath(new URL('../../conformance', import.meta.url));
const OPERATORS = new Set(['=', '<', '>', '<=', '>=', '~', '~>', 'in', 'null?', 'not', 'and', 'or', 'subquery']);
const COMPARISONS = ['=', '<', '>', '<=', '>=', '~'];
const CHANGES_MAX = 3;

const isClause = (value: unknown): value is Clause => Array.isArray(value) && OPERATORS.has(value[0] as string);

/** Both kinds of numbers: JavaScript's, and those that keep their spelling. */
const copyOf = (value: unknown): unknown => (Array.isArray(value) ? value.map(copyOf) : value);

/** Every place of a list inside the value at which `wanted` stands. */
export function* placesOf(
  value: unknown,
  wanted: (value: unknown, index: number) => boolean,
): Generator<[unknown[], number]> {
  if (!Array.isArray(value)) return;
  for (const [index, member] of value.entries()) {
    if (wanted(member, index)) yield [value, index];
    yield* placesOf(member, wanted);
  }
}

export class VariedQueries {
  readonly #random: Random;
  readonly #cases: { readonly query: VariedQuery; readonly pool: Pool }[] = [];
  /** By the last part of the path. */
  readonly #pools = new Map<string, Pool>();

  constructor(random: Random) {
    this.#random = random;
    for (const { path, params, method = 'GET' } of recordedRequests()) {
      const query = params?.['query'];
      if (method !== 'GET' || params === undefined || !Array.isArray(query)) continue;
      const entity = (query[0] === 'from' ? String(query[1]) : path.slice(path.lastIndexOf('/') + 1)).replaceAll(
        '-',
        '_',
      );
      const pool: Pool = this.#pools.get(entity) ?? { clauses: [], leaves: [] };
      this.#pools.set(entity, pool);
      this.#cases.push({ query: { path, params }, pool });
      const around: unknown[] = [query];
      for (const [list, index] of placesOf(around, isClause)) pool.clauses.push(list[index] as Clause);
      for (const [list, index] of placesOf(around, (value) => !Array.isArray(value))) pool.leaves.push(list[index]);
    }
  }

  /** A clause that cases about the entity have; null where there are none. */
  clauseOf(entity: string): unknown {
    const clauses = this.#pools.get(entity)?.clauses ?? [];
    return clauses.length === 0 ? null : copyOf(this.#random.pick(clauses));
  }

  next(): VariedQuery {
    const random = this.#random;
    const { query, pool } = random.pick(this.#cases);
    const around = [copyOf(query.params['query'])];
    for (let changes = random.between(1, CHANGES_MAX); changes > 0; changes--) this.#change(around, pool);
    return { path: query.path, params: { ...query.params, query: around[0] } };
  }

  #change(around: unknown[], { clauses, leaves }: Pool): void {
    const random = this.#random;
    const places = [...placesOf(around, isClause)];
    if (places.length === 0) return;
    const [list, index] = random.pick(places);
    const clause = list[index] as Clause;
    const another = (): Clause => copyOf(random.pick(clauses)) as Clause;
    switch (random.below(4)) {
      case 0:
        list[index] = another();
        break;
      case 1:
        list[index] = ['not', clause];
        break;
      case 2:
        list[index] = [random.pick(['and', 'or']), clause, another()];
        break;
      default: {
        const values = [...placesOf(clause, (value, place) => place > 0 && !Array.isArray(value))];
        if (values.length > 0) {
          const [within, place] = random.pick(values);
          within[place] = random.pick(leaves);
        }
        if (COMPARISONS.includes(clause[0] as string) && random.chance(0.4)) clause[0] = random.pick(COMPARISONS);
      }
    }
  }
}
