// What the checks of a query know of each entity beside its fields: documents whose members can be addressed, second names of fields, the
// order that rows come in by themselves, and implicit relations: which entities a `["subquery", E, filter]` may name, with the columns that
// tie the rows together (spec/query.md 3.8). Data only; a new relation is a new row.

import type { EntityName } from '../../../schemas/entities.ts';
import type { OrderTerm } from '../tree.ts';
import type { DocumentName } from './path.ts';

/** The rows belong together whose columns are equal, paired by position. */
interface Relation {
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

const NODE_DATA = byCertname();

/** An entity as the checks of queries see it. */
interface Rules {
  /** JSON fields whose members can be addressed. */
  readonly roots: readonly DocumentName[];
  /** Second names of fields: the same data under a neutral name. */
  readonly aliases: Readonly<Record<string, string>>;
  /** By name of the inner entity. */
  readonly relations: RelationTable;
  /** What rows come in unless something else is asked for. */
  readonly orderBy: readonly OrderTerm[];
}

const PLAIN: Rules = { roots: [], aliases: {}, relations: new Map(), orderBy: [] };
const rules = (relations: RelationTable, more: Partial<Rules> = {}): Rules => ({ ...PLAIN, relations, ...more });

/** Others have nothing of that kind. */
const RULES: Partial<Record<EntityName, Rules>> = {
  nodes: rules(NODE_DATA),
  edges: rules(NODE_DATA),
  catalog_inputs: rules(NODE_DATA),
  catalog_input_contents: rules(NODE_DATA),
  package_inventory: rules(NODE_DATA),
  inventory: rules(NODE_DATA, { roots: ['facts', 'trusted'] }),
  facts: rules(byCertname(OF_ENVIRONMENT, ['fact_contents', same('certname', 'name')])),
  fact_contents: rules(byCertname(OF_ENVIRONMENT, ['facts', same('certname', 'name')])),
  factsets: rules(byCertname(OF_ENVIRONMENT, OF_PRODUCER)),
  catalogs: rules(byCertname(OF_ENVIRONMENT, OF_PRODUCER)),
  reports: rules(byCertname(OF_ENVIRONMENT, OF_PRODUCER, ['events', between('hash', 'report')]), {
    aliases: { cm_version: 'puppet_version' },
  }),
  events: rules(byCertname(OF_ENVIRONMENT, ['reports', between('report', 'hash')])),
  resources: rules(table(['nodes', same('certname')], ['catalogs', same('certname')], OF_ENVIRONMENT), {
    roots: ['parameters'],
  }),
  fact_paths: rules(table(['facts', same('name')], ['fact_contents', same('path')])),
  fact_names: rules(PLAIN.relations, { orderBy: [{ field: 'name', descending: false }] }),
  environments: rules(
    byName('environment', 'inventory factsets catalogs reports facts fact_contents events resources'),
  ),
  producers: rules(byName('producer', 'factsets catalogs reports')),
};

/** The entity's row. */
export const rulesOf = (entity: EntityName): Rules => RULES[entity] ?? PLAIN;

/** What ties rows of the inner entity to those of the outer one; undefined: nothing does. */
export const relationBetween = (outer: EntityName, inner: string): Relation | undefined =>
  rulesOf(outer).relations.get(inner);
