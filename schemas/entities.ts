// The field tables: one row a field. They decide which names a query may use, with which operators, in which order fields
// appear in answers and messages. From spec/query.md 2.5 and Appendix A. A new field or entity is a new row here.

/** Engine type: decides which operators a field takes (spec/query.md 3.3). */
export type FieldType =
  | 'S' // text
  | 'B' // Boolean
  | 'N' // number
  | 'T' // timestamp
  | 'A' // text array
  | 'PA' // path array
  | 'PE' // encoded path
  | 'V' // JSON scalar value (fact value)
  | 'J' // queryable JSON document
  | 'X'; // opaque JSON

/** Stored type where it differs from what the engine type suggests: decides which comparisons are storage errors. */
type StoreType = 'text' | 'boolean' | 'integer' | 'smallint' | 'timestamp' | 'text[]' | 'jsonb' | 'bigint';

/** Type of reports of agents' runs: queries about reports mean these unless they name another one. */
export const AGENT_REPORT = 'agent';

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly store: StoreType;
  /** The texts are stored as `character varying`, which only messages tell. */
  readonly varying: boolean;
  /** A condition may name it, and rows can be ordered by it. */
  readonly queryable: boolean;
  readonly projectable: boolean;
  /** Only there with this request parameter, or in that edition. */
  readonly requires: 'include_facts_expiration' | 'include_package_inventory' | 'enterprise' | null;
}

export type EntityName =
  | 'nodes'
  | 'facts'
  | 'factsets'
  | 'fact_contents'
  | 'fact_paths'
  | 'fact_names'
  | 'inventory'
  | 'resources'
  | 'edges'
  | 'catalogs'
  | 'catalog_inputs'
  | 'catalog_input_contents'
  | 'reports'
  | 'events'
  | 'environments'
  | 'producers'
  | 'packages'
  | 'package_inventory'
  // pseudo entities, only inside subqueries
  | 'resource_params'
  | 'latest_report'
  | 'latest_report_id'
  | 'inactive_nodes'
  | 'not_active_nodes';

export interface Entity {
  readonly name: EntityName;
  /** Name in error messages. */
  readonly alias: string;
  /** Fields in PuppetDB's internal order (Appendix A): the order of names in messages. */
  readonly fields: readonly Field[];
  /** Default output columns, in the order of spec/query.md 2.5 (rows of more than 8 columns use `globalKeyOrder`). */
  readonly defaultColumns: readonly string[];
  /** Rows belong to a node: the active-node filter can be applied. */
  readonly hasCertname: boolean;
  /** Not queryable at top level. */
  readonly pseudo: boolean;
}

const STORE: Record<FieldType, StoreType> = {
  S: 'text',
  B: 'boolean',
  N: 'integer',
  T: 'timestamp',
  A: 'text[]',
  PA: 'text[]',
  PE: 'text',
  V: 'jsonb',
  J: 'jsonb',
  X: 'jsonb',
};

interface FieldOptions {
  store?: StoreType;
  varying?: boolean;
  /** q: queryable only; p: projectable only. */
  only?: 'q' | 'p';
  requires?: Field['requires'];
}

function field(name: string, type: FieldType, options: FieldOptions = {}): Field {
  return {
    name,
    type,
    store: options.store ?? STORE[type],
    varying: options.varying ?? false,
    queryable: options.only !== 'p',
    projectable: options.only !== 'q',
    requires: options.requires ?? null,
  };
}

function entity(
  name: EntityName,
  fields: readonly Field[],
  defaultColumns: string,
  options: { alias?: string; pseudo?: boolean } = {},
): Entity {
  return {
    name,
    alias: options.alias ?? name,
    fields,
    defaultColumns: defaultColumns.split(' '),
    hasCertname: fields.some((f) => f.name === 'certname'),
    pseudo: options.pseudo ?? false,
  };
}

const texts = (names: string): Field[] => names.split(' ').map((name) => field(name, 'S'));

const ENTITIES: readonly Entity[] = [
  entity(
    'nodes',
    [
      field('latest_report_corrective_change', 'B'),
      field('deactivated', 'S', { store: 'timestamp' }),
      field('expired', 'T'),
      field('report_environment', 'S'),
      field('certname', 'S'),
      field('expires_facts', 'B', { requires: 'include_facts_expiration' }),
      field('facts_timestamp', 'T'),
      field('facts_environment', 'S'),
      field('cached_catalog_status', 'S'),
      field('latest_report_status', 'S'),
      field('latest_report_hash', 'S'),
      field('catalog_timestamp', 'T'),
      field('latest_report_noop_pending', 'B'),
      field('report_timestamp', 'T'),
      field('latest_report_noop', 'B'),
      field('expires_facts_updated', 'T', { requires: 'include_facts_expiration' }),
      field('catalog_environment', 'S'),
      field('latest_report_job_id', 'S'),
    ],
    'deactivated latest_report_hash expires_facts facts_environment cached_catalog_status report_environment latest_report_corrective_change catalog_environment facts_timestamp latest_report_noop expires_facts_updated expired latest_report_noop_pending report_timestamp certname catalog_timestamp latest_report_job_id latest_report_status',
  ),
  entity('facts', [...texts('certname environment name'), field('value', 'V')], 'certname environment name value'),
  entity(
    'factsets',
    [
      field('timestamp', 'T'),
      field('facts', 'J'),
      ...texts('certname hash'),
      field('producer_timestamp', 'T'),
      ...texts('producer environment'),
      field('package_inventory', 'A', { only: 'p', requires: 'include_package_inventory' }),
    ],
    'timestamp facts certname hash producer_timestamp producer environment package_inventory',
  ),
  entity(
    'fact_contents',
    [...texts('certname environment'), field('path', 'PA'), field('name', 'S'), field('value', 'V')],
    'certname environment path name value',
    { alias: 'fact_nodes' },
  ),
  entity(
    'fact_paths',
    [
      field('type', 'S', { varying: true }),
      field('path', 'PE'),
      field('name', 'S', { varying: true }),
      field('depth', 'N', { only: 'q' }),
    ],
    'type path name',
  ),
  entity('fact_names', [field('name', 'S', { varying: true })], 'name'),
  entity(
    'inventory',
    [
      field('certname', 'S'),
      field('timestamp', 'T'),
      field('environment', 'S'),
      field('facts', 'J'),
      field('trusted', 'J'),
    ],
    'certname timestamp environment facts trusted',
  ),
  entity(
    'resources',
    [
      ...texts('resource certname'),
      field('tags', 'A'),
      field('tag', 'A', { only: 'q' }),
      field('exported', 'S', { store: 'boolean' }),
      field('line', 'N'),
      ...texts('title type environment file'),
      field('parameters', 'J'),
    ],
    'tags file type title line resource environment certname parameters exported',
  ),
  entity(
    'edges',
    texts('certname relationship source_title source_type target_title target_type'),
    'certname relationship source_title source_type target_title target_type',
  ),
  entity(
    'catalogs',
    [
      ...texts('code_id certname hash transaction_uuid job_id producer catalog_uuid environment'),
      field('edges', 'X', { only: 'p' }),
      field('version', 'S'),
      field('producer_timestamp', 'T'),
      field('resources', 'X', { only: 'p' }),
    ],
    'catalog_uuid producer hash transaction_uuid producer_timestamp environment code_id version resources certname edges job_id',
  ),
  entity(
    'catalog_inputs',
    [field('certname', 'S'), field('producer_timestamp', 'T'), field('catalog_uuid', 'S'), field('inputs', 'A')],
    'certname producer_timestamp catalog_uuid inputs',
  ),
  entity(
    'catalog_input_contents',
    [field('certname', 'S'), field('producer_timestamp', 'T'), ...texts('catalog_uuid name type')],
    'certname producer_timestamp catalog_uuid name type',
  ),
  entity(
    'reports',
    [
      field('receive_time', 'T'),
      field('corrective_change', 'S', { store: 'boolean' }),
      field('code_id', 'S'),
      field('noop', 'B'),
      ...texts(
        'certname puppet_version hash cached_catalog_status transaction_uuid configuration_version status job_id producer catalog_uuid',
      ),
      field('logs', 'X', { only: 'p' }),
      field('noop_pending', 'B'),
      field('end_time', 'T'),
      ...texts('type environment'),
      field('latest_report?', 'S', { only: 'q', store: 'boolean' }),
      field('start_time', 'T'),
      field('resource_events', 'X', { only: 'p' }),
      field('resources', 'X', { only: 'p', requires: 'enterprise' }),
      field('metrics', 'X', { only: 'p' }),
      field('producer_timestamp', 'T'),
      field('report_format', 'N', { store: 'smallint' }),
    ],
    'catalog_uuid receive_time producer hash transaction_uuid puppet_version noop corrective_change logs report_format start_time producer_timestamp type cached_catalog_status end_time resource_events status configuration_version environment code_id resources noop_pending certname metrics job_id',
  ),
  entity(
    'events',
    [
      ...texts('message old_value'),
      field('report_receive_time', 'T'),
      field('corrective_change', 'B'),
      field('containment_path', 'A'),
      field('certname', 'S'),
      field('timestamp', 'T'),
      field('run_end_time', 'T'),
      ...texts('name configuration_version new_value resource_title status property resource_type'),
      field('line', 'N'),
      ...texts('environment containing_class'),
      field('run_start_time', 'T'),
      field('latest_report?', 'B', { only: 'q' }),
      ...texts('file report'),
    ],
    'new_value report corrective_change run_start_time property name file old_value containing_class line resource_type status configuration_version resource_title environment timestamp run_end_time report_receive_time containment_path certname message',
  ),
  entity('environments', texts('name'), 'name'),
  entity('producers', texts('name'), 'name'),
  entity('packages', texts('package_name version provider'), 'package_name version provider'),
  entity(
    'package_inventory',
    texts('certname package_name version provider'),
    'certname package_name version provider',
  ),
  entity(
    'resource_params',
    texts('res_param_resource res_param_name res_param_value'),
    'res_param_resource res_param_name res_param_value',
    { pseudo: true },
  ),
  entity('latest_report', texts('latest_report_hash'), 'latest_report_hash', { pseudo: true }),
  entity('latest_report_id', [field('latest_report_id', 'N')], 'latest_report_id', { pseudo: true }),
  entity('inactive_nodes', texts('certname'), 'certname', { pseudo: true }),
  entity('not_active_nodes', texts('certname'), 'certname', { pseudo: true }),
];

const BY_NAME: ReadonlyMap<string, Entity> = new Map(ENTITIES.map((e) => [e.name, e]));
const FIELDS: ReadonlyMap<string, ReadonlyMap<string, Field>> = new Map(
  ENTITIES.map((e) => [e.name, new Map(e.fields.map((f) => [f.name, f]))]),
);

/** The entity of that exact name (underscores), pseudo entities included. */
export const findEntity = (name: string): Entity | undefined => BY_NAME.get(name);

/** The entity's table row; the name is known to exist. */
export function entityOf(name: EntityName): Entity {
  const found = BY_NAME.get(name);
  if (!found) throw new Error(`no entity ${name}`);
  return found;
}

export const fieldOf = (entity: EntityName, name: string): Field | undefined => FIELDS.get(entity)?.get(name);

export const entityNames = (): readonly EntityName[] => ENTITIES.map((e) => e.name);

/** Order of keys in rows of nine and more columns (spec/query.md 2.4). */
export const globalKeyOrder: readonly string[] =
  'path new_value tags corrective_noops package_inventory min source_title deactivated package_name report catalog_uuid receive_time producer hash transaction_uuid puppet_version noop latest_report? corrective_change noops logs run_start_time property name intentional_noops report_format latest_report_hash value expires_facts file summarize_by trusted start_time relationship producer_timestamp type old_value skips facts_environment cached_catalog_status report_environment latest_report_corrective_change title source_type path_types end_time successes containing_class total inputs catalog_environment resource_events facts_timestamp line resource_type status latest_report_noop max configuration_version resource count resource_title expires_facts_updated expired target_title target_type subject_type avg depth environment latest_report_noop_pending tag code_id facts version to_string report_timestamp timestamp run_end_time resources report_receive_time failures noop_pending containment_path certname parameters provider catalog_timestamp latest_report_job_id subject exported edges metrics sum latest_report_status jsonb_typeof job_id message corrective_successes intentional_successes'.split(
    ' ',
  );
