// Implicit relations: which entities a `["subquery", E, filter]` may name, and the columns that tie the rows together
// (spec/query.md 3.8). Data only; a new relation is a new row.

import type { EntityName } from '../../../schemas/entities.ts';

export interface Relation {
  readonly local: readonly string[];
  readonly foreign: readonly string[];
}

type RelationTable = ReadonlyMap<string, Relation>;

const same = (...columns: string[]): Relation => ({ local: columns, foreign: columns });
const between = (local: string, foreign: string): Relation => ({ local: [local], foreign: [foreign] });

const BY_CERTNAME: readonly [string, Relation][] = [
  'nodes',
  'facts',
  'factsets',
  'fact_contents',
  'catalogs',
  'catalog_inputs',
  'catalog_input_contents',
  'edges',
  'resources',
  'reports',
  'events',
  'inventory',
].map((entity) => [entity, same('certname')]);

const OF_ENVIRONMENT: [string, Relation] = ['environments', between('environment', 'name')];
const OF_PRODUCER: [string, Relation] = ['producers', between('producer', 'name')];

const table = (...rows: [string, Relation][]): RelationTable => new Map(rows);
const byCertname = (...rows: [string, Relation][]): RelationTable => new Map([...BY_CERTNAME, ...rows]);
const byName = (foreign: string, entities: string): RelationTable =>
  new Map(entities.split(' ').map((entity) => [entity, between('name', foreign)]));

const NONE: RelationTable = new Map();
const NODE_DATA = byCertname();

const RELATIONS: Partial<Record<EntityName, RelationTable>> = {
  nodes: NODE_DATA,
  edges: NODE_DATA,
  catalog_inputs: NODE_DATA,
  catalog_input_contents: NODE_DATA,
  package_inventory: NODE_DATA,
  inventory: NODE_DATA,
  facts: byCertname(OF_ENVIRONMENT, ['fact_contents', same('certname', 'name')]),
  fact_contents: byCertname(OF_ENVIRONMENT, ['facts', same('certname', 'name')]),
  factsets: byCertname(OF_ENVIRONMENT, OF_PRODUCER),
  catalogs: byCertname(OF_ENVIRONMENT, OF_PRODUCER),
  reports: byCertname(OF_ENVIRONMENT, OF_PRODUCER, ['events', between('hash', 'report')]),
  events: byCertname(OF_ENVIRONMENT, ['reports', between('report', 'hash')]),
  resources: table(['nodes', same('certname')], ['catalogs', same('certname')], OF_ENVIRONMENT),
  fact_paths: table(['facts', same('name')], ['fact_contents', same('path')]),
  environments: byName('environment', 'inventory factsets catalogs reports facts fact_contents events resources'),
  producers: byName('producer', 'factsets catalogs reports'),
};

export const relationBetween = (outer: EntityName, inner: string): Relation | undefined =>
  (RELATIONS[outer] ?? NONE).get(inner);
