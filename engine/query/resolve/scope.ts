// What the clauses of one level of a query may name: an entity's fields as this request sees them, in the two orders that
// messages use. A subquery over an unknown entity has a scope without fields, which is what makes its error texts.

import { type Entity, type EntityName, entityOf, type Field, findEntity } from '../../../schemas/entities.ts';
import { rulesOf } from './entities.ts';
import type { DocumentName } from './path.ts';

export interface ScopeOptions {
  readonly includeFactsExpiration?: boolean;
  readonly includePackageInventory?: boolean;
  readonly vocabulary?: 'neutral' | 'puppetdb';
  readonly edition?: 'community' | 'enterprise';
}

export interface Scope {
  readonly entity: Entity | null;
  /** Name in messages; `null` for an unknown entity. */
  readonly alias: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Names in the tables' order, as clients know them. */
  readonly queryable: readonly string[];
  readonly queryableSorted: readonly string[];
  readonly projectable: readonly string[];
  /** JSON fields whose members can be addressed. */
  readonly roots: readonly DocumentName[];
  /** A field's name as clients know it. */
  shown(name: string): string;
}

/** What no entity's name stands for. */
export const scopeOfNothing: Scope = {
  entity: null,
  alias: 'null',
  fields: new Map(),
  queryable: [],
  queryableSorted: [],
  projectable: [],
  roots: [],
  shown: (name) => name,
};

const SCOPES = new Map<string, Scope>();

function build(entity: Entity, options: ScopeOptions): Scope {
  const fields = entity.fields.filter(
    (field) =>
      field.requires === null ||
      (field.requires === 'include_facts_expiration' && options.includeFactsExpiration === true) ||
      (field.requires === 'include_package_inventory' && options.includePackageInventory === true) ||
      (field.requires === 'enterprise' && options.edition === 'enterprise'),
  );
  const byName = new Map(fields.map((field) => [field.name, field]));
  const neutralNames = new Map<string, string>();
  const { aliases, roots } = rulesOf(entity.name);
  for (const [alias, name] of Object.entries(aliases)) {
    const field = byName.get(name);
    if (!field) continue;
    byName.set(alias, field);
    if (options.vocabulary === 'neutral') neutralNames.set(name, alias);
  }
  const shown = (name: string): string => neutralNames.get(name) ?? name;
  const queryable = fields.filter((field) => field.queryable).map((field) => shown(field.name));
  return {
    entity,
    alias: entity.alias,
    fields: byName,
    queryable,
    queryableSorted: [...queryable].sort(),
    projectable: fields.filter((field) => field.projectable).map((field) => shown(field.name)),
    roots,
    shown,
  };
}

/** The scope of a top-level query over the entity. */
export function scopeOf(name: EntityName, options: ScopeOptions = {}): Scope {
  const { includeFactsExpiration, includePackageInventory, vocabulary, edition } = options;
  const key = `${name} ${includeFactsExpiration === true} ${includePackageInventory === true} ${vocabulary} ${edition}`;
  let scope = SCOPES.get(key);
  if (!scope) {
    scope = build(entityOf(name), options);
    SCOPES.set(key, scope);
  }
  return scope;
}

/** A scope of fields of several others, under its own name: for rows that are put together from several entities. */
export function scopeWith(alias: string, parts: readonly (readonly [scope: Scope, names: readonly string[]])[]): Scope {
  const fields = parts.flatMap(([scope, names]) =>
    names.map((name) => [name, fieldNamed(scope, name) as Field] as const),
  );
  const names = fields.map(([name]) => name);
  return {
    ...scopeOfNothing,
    alias,
    fields: new Map(fields),
    queryable: names,
    queryableSorted: [...names].sort(),
    projectable: names,
  };
}

const SELECT_PREFIX = 'select_';

function selectable(name: string): Entity | null {
  if (!name.startsWith(SELECT_PREFIX)) return null;
  const rest = name.slice(SELECT_PREFIX.length);
  if (rest === 'fact_names' || rest === 'resource_params') return null;
  return findEntity(rest === 'params' ? 'resource_params' : rest) ?? null;
}

/** `select_facts` and its like: the operators that begin a subquery. */
export const isSelect = (name: unknown): name is string => typeof name === 'string' && selectable(name) !== null;

/** The scope of a subquery over the entity: it has no request parameters. */
export const innerScopeOf = (name: EntityName, { vocabulary }: ScopeOptions): Scope =>
  scopeOf(name, vocabulary ? { vocabulary } : {});

/** The scope inside `[name, filter]`; unknown names give the scope without fields. */
export function scopeOfSelect(name: string, options: ScopeOptions): Scope {
  const entity = selectable(name);
  return entity ? innerScopeOf(entity.name, options) : scopeOfNothing;
}

export const fieldNamed = (scope: Scope, name: string): Field | undefined => scope.fields.get(name);
