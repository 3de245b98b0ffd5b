// Requests like those of the conformance cases, changed anywhere: columns, functions, groups and clauses of the query, parameters, parts
// of the path. Members of the query are dropped, doubled, moved, or exchanged for others of their kind; parameters are dropped,
// or taken from other requests. Much of it is broken.

import type { Random } from '../../support/random.ts';
import { placesOf, recordedRequests, type VariedQuery } from './varied-queries.ts';

const CHANGES_MAX = 3;
/** Parameters that 7.12 lacks, or whose answers are others there (docs/compatibility.md). */
const OTHER_IN_7: ReadonlySet<string> = new Set(['timeout', 'ast_only', 'explain']);

/** What the requests to one path (without the names in it) have. */
interface Pool {
  readonly members: Map<string, unknown[]>;
}

const copyOf = (value: unknown): unknown => (Array.isArray(value) ? value.map(copyOf) : value);

const CLAUSE = /^([=<>~].*|and|or|not|in|null\?|extract|select_\w+|subquery|from)$/;
const MODIFIER = /^(function|group_by|order_by|limit|offset)$/;

/** A name for values that may stand for each other. */
function kindOf(value: unknown): string {
  if (!Array.isArray(value)) return value === null ? 'null' : typeof value;
  const [head] = value;
  if (typeof head !== 'string') return 'list';
  if (CLAUSE.test(head)) return 'clause';
  return MODIFIER.test(head) ? head : 'list';
}

const everywhere = (): boolean => true;

export class VariedRequests {
  readonly #random: Random;
  readonly #cases: { readonly query: VariedQuery; readonly pool: Pool }[] = [];
  readonly #pools = new Map<string, Pool>();
  /** Values that each parameter has. */
  readonly #values = new Map<string, unknown[]>();
  readonly #segments: string[] = [];

  constructor(random: Random) {
    this.#random = random;
    for (const { path, params = {}, method = 'GET' } of recordedRequests()) {
      if (method !== 'GET' || !path.startsWith('/pdb/query/v4') || path.includes('?')) continue;
      if (Object.keys(params).some((name) => OTHER_IN_7.has(name))) continue;
      const query = params['query'];
      const entity = Array.isArray(query) && query[0] === 'from' ? String(query[1]) : (path.split('/')[4] ?? '');
      const pool = this.#poolOf(entity.replaceAll('_', '-'));
      this.#cases.push({ query: { path, params }, pool });
      this.#segments.push(...path.split('/').slice(4));
      for (const [name, value] of Object.entries(params)) {
        if (OTHER_IN_7.has(name)) continue;
        if (!this.#values.has(name)) this.#values.set(name, []);
        this.#values.get(name)!.push(value);
      }
      for (const [list, index] of placesOf([query], everywhere)) {
        const member = list[index];
        const kind = kindOf(member);
        if (!pool.members.has(kind)) pool.members.set(kind, []);
        pool.members.get(kind)!.push(member);
      }
    }
  }

  #poolOf(entity: string): Pool {
    let pool = this.#pools.get(entity);
    if (pool === undefined) this.#pools.set(entity, (pool = { members: new Map() }));
    return pool;
  }

  next(): VariedQuery {
    const random = this.#random;
    const { query, pool } = random.pick(this.#cases);
    const params: Record<string, unknown> = { ...query.params };
    let { path } = query;
    for (let changes = random.between(1, CHANGES_MAX); changes > 0; changes--) {
      if (random.chance(0.05)) path = this.#otherPath(path);
      else if (random.chance(0.2)) this.#changeParameters(params);
      else if (Array.isArray(params['query'])) params['query'] = this.#changed(params['query'], pool);
    }
    return { path, params };
  }

  #otherPath(path: string): string {
    const random = this.#random;
    const parts = path.split('/');
    if (random.chance(0.3)) parts.push(random.pick(this.#segments));
    else parts[random.between(4, Math.max(4, parts.length - 1))] = random.pick(this.#segments);
    return parts.join('/');
  }

  #changeParameters(params: Record<string, unknown>): void {
    const random = this.#random;
    const names = Object.keys(params).filter((name) => name !== 'query');
    if (names.length > 0 && random.chance(0.3)) {
      delete params[random.pick(names)];
      return;
    }
    const name = names.length > 0 && random.chance(0.5) ? random.pick(names) : random.pick([...this.#values.keys()]);
    params[name] = random.pick(this.#values.get(name)!);
  }

  #changed(query: unknown[], { members }: Pool): unknown {
    const random = this.#random;
    const around = [copyOf(query)];
    const [list, index] = random.pick([...placesOf(around, everywhere)]);
    const member = list[index];
    const another = (): unknown => {
      const kind = random.chance(0.9) ? kindOf(member) : random.pick([...members.keys()]);
      return copyOf(random.pick(members.get(kind) ?? [null]));
    };
    switch (random.below(6)) {
      case 0:
        if (list !== around) list.splice(index, 1);
        break;
      case 1:
        if (list !== around) list.splice(index, 0, copyOf(random.chance(0.3) ? another() : member));
        break;
      case 2: {
        const other = random.below(list.length);
        [list[index], list[other]] = [list[other], member];
        break;
      }
      default:
        list[index] = another();
    }
    return around[0];
  }
}
