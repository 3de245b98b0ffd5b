// The routes of the query API as data: which paths exist, what is checked in which order, what they select and which
// filters they add (spec/query.md 1.5.4, 1.6, 1.7). Matching, reading parameters and answering happen elsewhere; a new
// route is a new row here.

import type { EntityName } from './entities.ts';

/** Parameter names a route accepts. The order of names has no meaning. */
export type ParamSet =
  | 'root'
  | 'typical'
  | 'plain'
  | 'events'
  | 'event-counts'
  | 'aggregate-event-counts'
  | 'state-overview';

const GLOBAL = [
  'optimize_drop_unused_joins',
  'include_facts_expiration',
  'include_package_inventory',
  'explain',
  'origin',
  'timeout',
] as const;
const PAGING = ['query', 'limit', 'offset', 'order_by', 'include_total'] as const;
const DISTINCT = ['distinct_resources', 'distinct_start_time', 'distinct_end_time'] as const;
const TYPICAL = [...GLOBAL, ...PAGING, 'pretty'] as const;

interface ParamRule {
  readonly optional: readonly string[];
  readonly required: readonly string[];
  /** false: only the URL is looked at, whatever the method is; bodies are ignored. */
  readonly query: boolean;
}

export const paramSets: Readonly<Record<ParamSet, ParamRule>> = {
  root: { optional: [...TYPICAL, 'ast_only'], required: ['query'], query: true },
  typical: { optional: TYPICAL, required: [], query: true },
  plain: { optional: [...GLOBAL, 'pretty'], required: [], query: false },
  events: { optional: [...TYPICAL, ...DISTINCT], required: [], query: true },
  'event-counts': {
    optional: [...TYPICAL, ...DISTINCT, 'counts_filter', 'count_by'],
    required: ['summarize_by'],
    query: true,
  },
  'aggregate-event-counts': {
    optional: [...GLOBAL, 'query', ...DISTINCT, 'counts_filter', 'count_by'],
    required: ['summarize_by'],
    query: true,
  },
  'state-overview': {
    optional: [...GLOBAL, 'pretty'],
    required: ['unresponsive_threshold'],
    query: false,
  },
};

/** Things whose absence makes a route answer 404. */
export type ParentKind = 'node' | 'catalog' | 'factset' | 'environment' | 'producer' | 'report';

export type Check =
  | { readonly kind: 'params'; readonly set: ParamSet }
  | { readonly kind: 'parent'; readonly of: ParentKind; readonly param: string };

/** Filters in the order they are wrapped around the client's query: `["=", field, <path parameter>]`. */
export type RouteFilter = 'active' | { readonly field: string; readonly param: string };

export type RouteAnswer =
  /** Entity and body are in the query itself. */
  | { readonly kind: 'root' }
  | { readonly kind: 'rows'; readonly entity: EntityName; readonly filters: readonly RouteFilter[] }
  /** Names as a list of texts, sorted unless the client orders. */
  | { readonly kind: 'names'; readonly entity: 'fact_names' }
  /** One object or 404; the client's query is parsed and ignored. */
  | {
      readonly kind: 'single';
      readonly entity: EntityName;
      readonly of: ParentKind;
      readonly field: string;
      readonly param: string;
    }
  | { readonly kind: 'report-part'; readonly part: 'logs' | 'metrics' | 'resources'; readonly param: string }
  | { readonly kind: 'event-counts' }
  | { readonly kind: 'aggregate-event-counts' }
  | { readonly kind: 'resource-graphs' }
  | { readonly kind: 'state-overview' }
  | { readonly kind: 'report-sizes'; readonly part: 'logs' | 'metrics' };

/** `internal`: what the server asks itself, and nobody else can. */
export type QueryApi = 'query' | 'ext' | 'internal';

export interface QueryRoute {
  readonly api: QueryApi;
  /**
   * Path below the API's base. `:name` is a wide parameter (A-Z a-z 0-9 _ . ~ : - and percent codes, possibly empty),
   * `.name` a narrow one (A-Z a-z 0-9 _ . -, not empty, no percent codes).
   */
  readonly path: string;
  readonly checks: readonly Check[];
  readonly answer: RouteAnswer;
  /** Only there in the enterprise edition. */
  readonly enterprise: boolean;
}

const params = (set: ParamSet): Check => ({ kind: 'params', set });
const parent = (of: ParentKind, param: string = of): Check => ({ kind: 'parent', of, param });
const equal = (field: string, param: string): RouteFilter => ({ field, param });

const TYPICAL_PARAMS = params('typical');
const ACTIVE: RouteFilter = 'active';
const OF_NODE = equal('certname', 'node');

function route(path: string, answer: RouteAnswer, checks: readonly Check[] = [TYPICAL_PARAMS]): QueryRoute {
  return { api: 'query', path, checks, answer, enterprise: false };
}

function rows(entity: EntityName, ...filters: readonly RouteFilter[]): RouteAnswer {
  return { kind: 'rows', entity, filters };
}

function single(entity: EntityName, of: ParentKind, field: string, param: string = of): RouteAnswer {
  return { kind: 'single', entity, of, field, param };
}

/** `/facts`, `/facts/<name>`, `/facts/<name>/<value>` below a base that may add a filter of its own. */
function factRoutes(base: string, checks: readonly Check[], ...outer: readonly RouteFilter[]): QueryRoute[] {
  const name = equal('name', 'fact');
  return [
    route(`${base}/facts`, rows('facts', ...outer, ACTIVE), checks),
    route(`${base}/facts/:fact`, rows('facts', ...outer, ACTIVE, name), checks),
    route(`${base}/facts/:fact/:value`, rows('facts', ...outer, ACTIVE, equal('value', 'value'), name), checks),
  ];
}

function resourceRoutes(base: string, checks: readonly Check[], ...outer: readonly RouteFilter[]): QueryRoute[] {
  const type = equal('type', 'type');
  return [
    route(`${base}/resources`, rows('resources', ...outer, ACTIVE), checks),
    route(`${base}/resources/:type`, rows('resources', ...outer, ACTIVE, type), checks),
    route(`${base}/resources/:type/:title`, rows('resources', ...outer, ACTIVE, type, equal('title', 'title')), checks),
  ];
}

/** `/reports` and what hangs below one report; `outer` is what the base adds and checks. */
function reportRoutes(
  base: string,
  outer: { readonly checks: readonly Check[]; readonly filters: readonly RouteFilter[] },
): QueryRoute[] {
  const { checks, filters } = outer;
  // The report itself is looked up before the parameters of `/events` on the plain route, after them below a parent.
  const eventChecks =
    checks.length === 0
      ? [parent('report', 'hash'), params('events')]
      : [...checks, TYPICAL_PARAMS, parent('report', 'hash')];
  // Below a parent a part is under what guards all reports there, besides its own check.
  const partChecks = checks.length === 0 ? [] : [...checks, TYPICAL_PARAMS];
  const part = (name: 'logs' | 'metrics' | 'resources'): QueryRoute =>
    route(`${base}/reports/.hash/${name}`, { kind: 'report-part', part: name, param: 'hash' }, [
      ...partChecks,
      params('plain'),
      parent('report', 'hash'),
    ]);
  return [
    route(`${base}/reports`, rows('reports', ...filters), [...checks, TYPICAL_PARAMS]),
    route(`${base}/reports/.hash/events`, rows('events', ...filters, equal('report', 'hash')), eventChecks),
    part('logs'),
    part('metrics'),
    { ...part('resources'), enterprise: true },
  ];
}

const NODE = [TYPICAL_PARAMS, parent('node')];
const CATALOG = [TYPICAL_PARAMS, parent('catalog', 'node')];
const FACTSET = [TYPICAL_PARAMS, parent('factset', 'node')];
const ENVIRONMENT = [parent('environment'), TYPICAL_PARAMS];
const PRODUCER = [parent('producer'), TYPICAL_PARAMS];
const OF_ENVIRONMENT = equal('environment', 'environment');
const OF_PRODUCER = equal('producer', 'producer');

export const queryRoutes: readonly QueryRoute[] = [
  route('', { kind: 'root' }, [params('root')]),

  ...factRoutes('', [TYPICAL_PARAMS]),
  route('/fact-names', { kind: 'names', entity: 'fact_names' }),
  route('/fact-paths', rows('fact_paths')),
  route('/fact-contents', rows('fact_contents', ACTIVE)),
  route('/factsets', rows('factsets', ACTIVE)),
  route('/factsets/.node', single('factsets', 'factset', 'certname', 'node')),
  // The factset, not its facts: what PuppetDB answers, whatever the path promises.
  route('/factsets/.node/facts', rows('factsets', OF_NODE), FACTSET),
  route('/inventory', rows('inventory', ACTIVE)),

  route('/nodes', rows('nodes', ACTIVE)),
  route('/nodes/:node', single('nodes', 'node', 'certname')),
  ...factRoutes('/nodes/:node', NODE, OF_NODE),
  ...resourceRoutes('/nodes/:node', NODE, OF_NODE),

  ...resourceRoutes('', [TYPICAL_PARAMS]),
  route('/edges', rows('edges', ACTIVE)),
  route('/catalogs', rows('catalogs')),
  route('/catalogs/:node', single('catalogs', 'catalog', 'certname', 'node')),
  // The interface promises the edges of this catalog, whatever the state of its node.
  route('/catalogs/:node/edges', rows('edges', OF_NODE), CATALOG),
  ...resourceRoutes('/catalogs/:node', CATALOG, OF_NODE),
  route('/catalog-inputs', rows('catalog_inputs', ACTIVE)),
  route('/catalog-input-contents', rows('catalog_input_contents', ACTIVE)),

  route('/environments', rows('environments')),
  route('/environments/:environment', single('environments', 'environment', 'name'), [params('plain')]),
  ...factRoutes('/environments/:environment', ENVIRONMENT, OF_ENVIRONMENT),
  ...resourceRoutes('/environments/:environment', ENVIRONMENT, OF_ENVIRONMENT),
  ...reportRoutes('/environments/:environment', { checks: [parent('environment')], filters: [OF_ENVIRONMENT] }),
  route('/environments/:environment/events', rows('events', OF_ENVIRONMENT), [parent('environment'), params('events')]),

  route('/producers', rows('producers')),
  route('/producers/:producer', single('producers', 'producer', 'name'), [params('plain')]),
  route('/producers/:producer/catalogs', rows('catalogs', OF_PRODUCER), PRODUCER),
  route('/producers/:producer/catalogs/:node', single('catalogs', 'catalog', 'certname', 'node'), PRODUCER),
  // Edges and resources have no producer: the filter is refused, as in PuppetDB.
  route('/producers/:producer/catalogs/:node/edges', rows('edges', OF_PRODUCER, ACTIVE), [
    ...PRODUCER,
    parent('catalog', 'node'),
  ]),
  ...resourceRoutes(
    '/producers/:producer/catalogs/:node',
    [...PRODUCER, parent('catalog', 'node')],
    OF_PRODUCER,
    OF_NODE,
  ),
  route('/producers/:producer/factsets', rows('factsets', OF_PRODUCER, ACTIVE), PRODUCER),
  route('/producers/:producer/factsets/.node', single('factsets', 'factset', 'certname', 'node'), PRODUCER),
  route('/producers/:producer/factsets/.node/facts', rows('factsets', OF_PRODUCER, OF_NODE), [
    ...PRODUCER,
    parent('factset', 'node'),
  ]),
  ...reportRoutes('/producers/:producer', { checks: [parent('producer')], filters: [OF_PRODUCER] }),

  route('/packages', rows('packages')),
  route('/package-inventory', rows('package_inventory', ACTIVE)),
  route('/package-inventory/.node', rows('package_inventory', OF_NODE)),

  ...reportRoutes('', { checks: [], filters: [] }),
  route('/events', rows('events'), [params('events')]),
  route('/event-counts', { kind: 'event-counts' }, [params('event-counts')]),
  route('/aggregate-event-counts', { kind: 'aggregate-event-counts' }, [params('aggregate-event-counts')]),

  {
    api: 'ext',
    path: '/resource-graphs',
    checks: [TYPICAL_PARAMS],
    answer: { kind: 'resource-graphs' },
    enterprise: true,
  },
  {
    api: 'ext',
    path: '/state-overview',
    checks: [params('state-overview')],
    answer: { kind: 'state-overview' },
    enterprise: true,
  },

  ...(['logs', 'metrics'] as const).map(
    (part): QueryRoute => ({
      api: 'internal',
      path: `/report-sizes/${part}`,
      checks: [params('plain')],
      answer: { kind: 'report-sizes', part },
      enterprise: false,
    }),
  ),
];
