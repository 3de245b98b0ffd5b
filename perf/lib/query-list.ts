// The queries that are timed: every entity and every way to get at it that dashboards, exported resources, PQL users and
// exports use. `cost` says what the time should follow:
//
//   flat   one node, one report, one thing: the same however many nodes there are
//   rows   an index leads to the rows: as many as there are of them
//   scan   every node or every item has to be looked at, or is the answer
//
// {certname} and {report} are filled in: a node, and the first report of that node.

import { certnameOf } from './fleet.ts';

type QueryCost = 'flat' | 'rows' | 'scan';

export interface TimedQuery {
  readonly name: string;
  readonly cost: QueryCost;
  readonly path: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** A dump: the answer grows with the store and is measured by its MB/s; few repetitions. */
  readonly dump?: boolean;
}

const v4 = '/pdb/query/v4';
const at = (
  name: string,
  cost: QueryCost,
  route: string,
  query: unknown = null,
  more: Readonly<Record<string, unknown>> = {},
): TimedQuery => ({ name, cost, path: `${v4}/${route}`, params: { ...(query === null ? {} : { query }), ...more } });
const pql = (name: string, cost: QueryCost, query: string): TimedQuery => ({ name, cost, path: v4, params: { query } });
const other = (name: string, path: string): TimedQuery => ({ name, cost: 'flat', path });
const dump = (name: string, route: string): TimedQuery => ({ name, cost: 'scan', path: `${v4}/${route}`, dump: true });

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

export const timedQueries: readonly TimedQuery[] = [
  // Nodes
  at('node by name', 'flat', 'nodes/{certname}'),
  at('nodes: all', 'scan', 'nodes'),
  at('nodes: page with total', 'scan', 'nodes', null, {
    order_by: [{ field: 'certname' }],
    limit: '50',
    offset: '500',
    include_total: 'true',
  }),
  at('nodes: certname by regexp', 'flat', 'nodes', ['~', 'certname', '^node-000[0-4]']),
  at('nodes: three by name', 'flat', 'nodes', ['in', 'certname', ['array', [1, 77, 199].map(certnameOf)]]),
  at('nodes: by two facts', 'rows', 'nodes', [
    'and',
    ['=', ['fact', 'kernel'], 'Linux'],
    ['=', ['fact', 'role'], 'web'],
  ]),
  at('nodes: by latest status', 'rows', 'nodes', ['=', 'latest_report_status', 'changed']),
  at('nodes: with a resource, select', 'rows', 'nodes', [
    'in',
    'certname',
    ['extract', 'certname', ['select_resources', ['and', ['=', 'type', 'Class'], ['=', 'title', 'Ssh']]]],
  ]),
  at('nodes: with a resource, subquery', 'rows', 'nodes', [
    'subquery',
    'resources',
    ['and', ['=', 'type', 'User'], ['=', 'title', 'user14']],
  ]),
  at('facts of one node', 'flat', 'nodes/{certname}/facts'),

  // Resources
  at('resources: of one node', 'flat', 'nodes/{certname}/resources'),
  at('resources: one node, one type', 'flat', 'resources', [
    'and',
    ['=', 'certname', '{certname}'],
    ['=', 'type', 'File'],
  ]),
  at('resources: by type', 'rows', 'resources', ['=', 'type', 'Package']),
  at('resources: by type and title', 'rows', 'resources/User/user14'),
  at('resources: one node has it', 'flat', 'resources/Sshkey/{certname}'),
  at('resources: one of forty', 'rows', 'resources', [
    'or',
    ...numbers(40).map((n) => ['and', ['=', 'type', 'User'], ['=', 'title', `user${n}`]]),
  ]),
  at('resources: by type and tag', 'rows', 'resources', ['and', ['=', 'type', 'Exec'], ['=', 'tag', 'monitoring']]),
  at('resources: by parameter', 'rows', 'resources', [
    'and',
    ['=', 'type', 'Service'],
    ['=', ['parameter', 'ensure'], 'running'],
  ]),
  at('resources: title by regexp', 'rows', 'resources', [
    'and',
    ['=', 'type', 'File'],
    ['~', 'title', '/ntp/.*2\\.conf$'],
  ]),
  at('resources: page with total', 'scan', 'resources', ['=', 'type', 'File'], {
    order_by: [{ field: 'certname' }, { field: 'title' }],
    limit: '100',
    offset: '200',
    include_total: 'true',
  }),
  at('resources: four hundred pairs of a node and a title', 'flat', 'resources', [
    'or',
    ...numbers(400).map((n) => ['and', ['=', 'certname', certnameOf(n)], ['=', 'title', certnameOf(n)]]),
  ]),
  at('resources: exported, of others', 'rows', 'resources', [
    'and',
    ['=', 'type', 'Sshkey'],
    ['=', 'exported', true],
    ['not', ['=', 'certname', '{certname}']],
  ]),
  at('resources: count by type', 'scan', 'resources', [
    'extract',
    [['function', 'count'], 'type'],
    ['~', 'certname', '.*'],
    ['group_by', 'type'],
  ]),
  pql('resources: count', 'scan', 'resources[count()]{}'),
  pql(
    'resources: class on an OS',
    'rows',
    'resources[certname, title]{ type = "Class" and title = "Ssh" and certname in inventory[certname]{ facts.os.name = "Rocky" } }',
  ),

  // Catalogs
  at('catalog of one node', 'flat', 'catalogs/{certname}'),
  at('edges of one node', 'flat', 'edges', ['=', 'certname', '{certname}']),

  // Facts
  at('facts: by name', 'rows', 'facts/role'),
  at('facts: by name, structured', 'rows', 'facts/networking'),
  at('facts: by name and value', 'rows', 'facts/role/db'),
  at('facts: of forty names', 'rows', 'facts', [
    'or',
    ...['role', 'kernel'].map((name) => ['=', 'name', name]),
    ...numbers(38).map((n) => ['=', 'name', `no_such_fact_${n}`]),
  ]),
  at('facts: one node has the value', 'flat', 'facts', ['and', ['=', 'name', 'ipaddress'], ['=', 'value', '10.0.0.7']]),
  at('facts: count by value', 'rows', 'facts', [
    'extract',
    [['function', 'count'], 'value'],
    ['=', 'name', 'datacenter'],
    ['group_by', 'value'],
  ]),
  pql(
    'facts: a page',
    'rows',
    'facts[certname, name, value]{ name = "ipaddress" order by certname limit 100 offset 50 }',
  ),
  at('fact names', 'flat', 'fact-names'),
  at('fact paths', 'flat', 'fact-paths'),
  at('fact contents: by path', 'rows', 'fact-contents', ['=', 'path', ['networking', 'ip']]),
  at('fact contents: path by regexp', 'rows', 'fact-contents', [
    '~>',
    'path',
    ['networking', 'interfaces', 'eth[01]', 'ip'],
  ]),
  at('factset of one node', 'flat', 'factsets/{certname}'),

  // Inventory
  at('inventory: by dotted facts', 'rows', 'inventory', [
    'extract',
    ['certname', 'environment'],
    ['and', ['=', 'facts.role', 'db'], ['=', 'facts.os.family', 'Debian']],
  ]),
  at('inventory: by a trusted fact', 'rows', 'inventory', [
    'extract',
    ['certname', 'facts.networking.ip'],
    ['=', 'trusted.extensions.pp_datacenter', 'fra2'],
  ]),
  at('inventory: comparison', 'rows', 'inventory', ['extract', ['certname'], ['>', 'facts.processors.count', 8]]),
  pql('inventory: group by a fact', 'scan', 'inventory[facts.os.family, count()]{ group by facts.os.family }'),
  pql(
    'nodes: by an inventory subquery',
    'rows',
    'nodes[certname, report_timestamp]{ inventory { facts.role = "web" and facts.datacenter = "ams1" } order by certname }',
  ),

  // Reports and events
  at('report by hash', 'flat', 'reports', ['=', 'hash', '{report}']),
  at('report: logs', 'flat', 'reports/{report}/logs'),
  at('report: metrics', 'flat', 'reports/{report}/metrics'),
  at('report: events', 'flat', 'events', ['=', 'report', '{report}']),
  at('reports: of one node', 'flat', 'reports', ['=', 'certname', '{certname}'], {
    order_by: [{ field: 'end_time', order: 'desc' }],
    limit: '10',
  }),
  at('reports: latest by status', 'rows', 'reports', [
    'extract',
    ['certname', 'hash', 'status', 'end_time'],
    ['and', ['=', 'latest_report?', true], ['=', 'status', 'changed']],
  ]),
  pql(
    'reports: newest with a status',
    'rows',
    'reports[certname, status, end_time]{ latest_report? = true and status in ["failed", "changed"] order by end_time desc limit 50 }',
  ),
  at('reports: page of latest, in full', 'scan', 'reports', ['=', 'latest_report?', true], {
    order_by: [{ field: 'end_time', order: 'desc' }],
    limit: '20',
  }),
  at('reports: by day and status', 'rows', 'reports', [
    'extract',
    ['status', ['function', 'to_string', 'start_time', 'YYYY-MM-DD'], ['function', 'count']],
    ['group_by', 'status', ['function', 'to_string', 'start_time', 'YYYY-MM-DD']],
  ]),
  at('events: latest, of a type', 'rows', 'events', [
    'and',
    ['=', 'latest_report?', true],
    ['=', 'resource_type', 'File'],
  ]),
  at('event counts by node', 'rows', 'event-counts', ['=', 'latest_report?', true], { summarize_by: 'certname' }),
  at('event counts by resource', 'rows', 'event-counts', ['=', 'latest_report?', true], { summarize_by: 'resource' }),
  at('aggregate event counts', 'rows', 'aggregate-event-counts', ['=', 'latest_report?', true], {
    summarize_by: 'certname',
  }),

  // Packages and the rest
  at('packages of one node', 'flat', 'package-inventory/{certname}'),
  at('packages: all', 'flat', 'packages'),
  pql(
    'package inventory: count by name',
    'scan',
    'package_inventory[package_name, count()]{ package_name ~ "-1[0-9]$" group by package_name }',
  ),
  at('environments', 'flat', 'environments'),
  at('producers', 'flat', 'producers'),
  pql('nodes: count by status', 'scan', 'nodes[count(), latest_report_status]{ group by latest_report_status }'),
  other('version', '/pdb/meta/v1/version'),
  other('population metric', '/metrics/v2/read/puppetlabs.puppetdb.population:name=num-nodes'),
  other('status', '/status/v1/services'),

  // Dumps
  dump('dump: inventory', 'inventory'),
  dump('dump: factsets', 'factsets'),
  dump('dump: facts', 'facts'),
  { ...at('dump: catalogs of 100 nodes', 'flat', 'catalogs', ['~', 'certname', '^node-000']), dump: true },
  dump('dump: reports', 'reports'),
  dump('dump: resources', 'resources'),
  {
    ...at(
      'dump: resources in order, without a limit',
      'scan',
      'resources',
      ['extract', ['certname', 'type', 'title']],
      {
        order_by: [{ field: 'line' }, { field: 'title' }, { field: 'type' }, { field: 'certname' }],
      },
    ),
    dump: true,
  },
  {
    ...pql(
      'dump: resources counted by node and title',
      'scan',
      'resources[certname, title, count()]{ group by certname, title }',
    ),
    dump: true,
  },
  {
    ...pql(
      'dump: resources among the pairs of a subquery',
      'scan',
      'resources[certname, title]{ [certname, title] in resources[certname, title]{ title ~ "." } }',
    ),
    dump: true,
  },
];
