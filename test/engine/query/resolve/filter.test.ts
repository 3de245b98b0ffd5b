import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Float } from '../../../../engine/json/value.ts';
import type { Filter, PathPart } from '../../../../engine/query/tree.ts';
import type { EntityName } from '../../../../schemas/entities.ts';
import { entity, filter, json, root } from './support.ts';

const name = (text: string): PathPart => ({ kind: 'name', name: text, quoted: false });
const quoted = (text: string): PathPart => ({ kind: 'name', name: text, quoted: true });
const eq = (field: string, value: string | number | boolean): Filter => ({ kind: 'eq', field, value, nullSafe: false });
const isNull = (field: string): Filter => ({ kind: 'null', field });
const not = (arg: Filter): Filter => ({ kind: 'not', arg });
const FALSE: Filter = { kind: 'const', value: false };
const TRUE: Filter = { kind: 'const', value: true };
const UNKNOWN: Filter = { kind: 'const', value: null };

const CASES: readonly [EntityName, string, Filter | null][] = [
  ['nodes', '["=","certname","a"]', eq('certname', 'a')],
  ['nodes', '["=","latest_report_noop",true]', eq('latest_report_noop', true)],
  ['nodes', '["=","report_timestamp","1970-01-01T00:00:01Z"]', eq('report_timestamp', 1000)],
  ['nodes', '[">=","report_timestamp",0]', { kind: 'order', field: 'report_timestamp', op: '>=', value: 0 }],
  ['nodes', '["=","certname",null]', isNull('certname')],
  ['nodes', '["null?","certname",false]', not(isNull('certname'))],
  ['nodes', '["null?","certname","false"]', isNull('certname')],
  ['nodes', '["~","certname","^a"]', { kind: 'regex', field: 'certname', pattern: '^a', nullIsFalse: true }],
  [
    'nodes',
    '["in","certname",["array",["a",5,true,1.5,null]]]',
    { kind: 'in', field: 'certname', values: ['a', '5', 'true', '1.5', ''] },
  ],
  ['nodes', '["in","certname",["array",{"a":1}]]', { kind: 'in', field: 'certname', values: ['[":a" 1]'] }],
  ['nodes', '["in",["certname"],["array",[]]]', { kind: 'in', field: 'certname', values: [] }],
  ['nodes', '["in","expired",["array",["1970-01-01"]]]', { kind: 'in', field: 'expired', values: [0] }],
  [
    'nodes',
    '["in","expired",["array",["x"]]]',
    { kind: 'or', args: [{ kind: 'in', field: 'expired', values: [] }, UNKNOWN] },
  ],
  [
    'nodes',
    '["in","expired",["array",["1970-01-01",null]]]',
    { kind: 'or', args: [{ kind: 'in', field: 'expired', values: [0] }, UNKNOWN] },
  ],
  // node state
  ['nodes', '["=","node_state","Active"]', { kind: 'node-state', state: 'active' }],
  ['nodes', '["=",["node","active"],0]', { kind: 'node-state', state: 'active' }],
  ['nodes', '["=",["node","active"],null]', { kind: 'node-state', state: 'inactive' }],
  ['nodes', '["=","node_state","any"]', null],
  [
    'nodes',
    '["or",["=",["node","active"],false],["=",["node","active"],true]]',
    {
      kind: 'or',
      args: [
        { kind: 'node-state', state: 'inactive' },
        { kind: 'node-state', state: 'active' },
      ],
    },
  ],
  ['nodes', '["not",["and",["or",["=","node_state","any"]]]]', null],
  [
    'nodes',
    '["and",["not",["=","node_state","any"]],["=","certname","a"]]',
    { kind: 'and', args: [eq('certname', 'a')] },
  ],
  // numbers and Booleans
  ['resources', '["=","line",10.0]', eq('line', 10)],
  ['resources', '["=","line",10.5]', eq('line', 10.5)],
  ['resources', '["=","exported",false]', eq('exported', false)],
  // arrays and tags
  ['resources', '["=","tags","A"]', { kind: 'member', field: 'tags', value: 'A' }],
  ['resources', '["=","tag","A"]', { kind: 'member', field: 'tags', value: 'a' }],
  ['resources', '["~","tag","^\\\\D"]', { kind: 'regex', field: 'tags', pattern: '^\\d', nullIsFalse: true }],
  ['resources', '["=","tags",5]', { kind: 'member', field: 'tags', value: '5' }],
  ['resources', '["=","tags",5.0]', { kind: 'member', field: 'tags', value: '5' }],
  ['resources', '["null?","tag",true]', FALSE],
  ['resources', '["=","type","any"]', null],
  ['resources', '["=","type","Any"]', eq('type', 'Any')],
  // parameters
  [
    'resources',
    '["=",["parameter","a"],{"z":1,"b":[1.0]}]',
    { kind: 'parameter', op: '=', name: 'a', text: '{"b":[1.0],"z":1}' },
  ],
  ['resources', '["~",["parameter","a"],"x.*"]', { kind: 'parameter', op: '~', name: 'a', text: '"x.*"' }],
  ['resources', '["=",["parameter","a"],null]', { kind: 'parameter', op: '=', name: 'a', text: 'null' }],
  ['resources', '["=",["parameter",null],true]', { kind: 'const', value: false }],
  ['resources', '["~",["parameter",null],"x"]', { kind: 'const', value: false }],
  // facts
  ['facts', '["=","value",5]', { kind: 'value-in', field: 'value', values: [5] }],
  ['facts', '["=","value",{"a":[]}]', { kind: 'value-in', field: 'value', values: [{ a: [] }] }],
  ['facts', '["=","value",null]', isNull('value')],
  ['facts', '["<","value",5.0]', { kind: 'value-order', field: 'value', op: '<', value: new Float(5) }],
  ['facts', '["~","value","5"]', { kind: 'regex', field: 'value', pattern: '5', nullIsFalse: false }],
  ['facts', '["in","value",["array",[5,"5"]]]', { kind: 'value-in', field: 'value', values: [5, '5'] }],
  [
    'facts',
    '["=",["function","jsonb_typeof","value"],"number"]',
    { kind: 'jsonb-typeof', field: 'value', type: 'number' },
  ],
  [
    'resources',
    '["=",["function","jsonb_typeof","parameters"],"object"]',
    { kind: 'jsonb-typeof', field: 'parameters', type: 'object' },
  ],
  // paths
  ['fact_contents', '["=","path",["a",1]]', { kind: 'path-eq', field: 'path', paths: [['a', 1]] }],
  [
    'fact_contents',
    '["=","path",["a",9007199254740993]]',
    { kind: 'path-eq', field: 'path', paths: [['a', 9007199254740992]] },
  ],
  [
    'fact_contents',
    '["in","path",["array",[["a"],["b",0]]]]',
    { kind: 'path-eq', field: 'path', paths: [['a'], ['b', 0]] },
  ],
  ['fact_contents', '["~>","path",["a.*",1,"5"]]', { kind: 'path-match', field: 'path', pattern: ['a.*', 1, '5'] }],
  ['fact_contents', '["~>","path",[]]', FALSE],
  [
    'fact_paths',
    '["~>","path",["a.*",1,"5"]]',
    { kind: 'regex', field: 'path', pattern: '^a(?:(?:(?!#~).)+|.?)#~1#~"5"$', nullIsFalse: true },
  ],
  ['fact_paths', '["=","path",["a",1.0,0]]', { kind: 'eq', field: 'path', value: 'a#~1.0#~0', nullSafe: false }],
  [
    'fact_paths',
    '["in","path",["array",[["a",1.0],["a",0.5],["a",1]]]]',
    { kind: 'in', field: 'path', values: ['a#~1.0', 'a#~0.5', 'a#~1'] },
  ],
  ['fact_paths', '["~>","path",["a",1.0]]', { kind: 'regex', field: 'path', pattern: '^a#~1.0$', nullIsFalse: true }],
  [
    'fact_paths',
    '["~>","path",["a.+","b.{2,3}","c#~d"]]',
    { kind: 'regex', field: 'path', pattern: '^a(?:(?!#~).)+#~b(?:(?!#~).){2,3}#~c\\#\\~d$', nullIsFalse: true },
  ],
  // JSON documents
  [
    'inventory',
    '["=","facts.os.\\"a.b\\"",{}]',
    { kind: 'json', op: '=', root: 'facts', parts: [name('os'), quoted('a.b')], value: {} },
  ],
  ['inventory', '["=","facts",{}]', { kind: 'json', op: '=', root: 'facts', parts: [], value: {} }],
  ['inventory', '["=","facts",null]', { kind: 'json', op: '=', root: 'facts', parts: [], value: null }],
  ['inventory', '["=","facts.a",null]', { kind: 'json', op: '=', root: 'facts', parts: [name('a')], value: null }],
  ['inventory', '["<","trusted",5]', { kind: 'json', op: '<', root: 'facts', parts: [name('trusted')], value: 5 }],
  [
    'inventory',
    '["~","trusted.x[2]",5.0]',
    {
      kind: 'json',
      op: '~',
      root: 'facts',
      parts: [name('trusted'), { kind: 'indexed', name: 'x', index: 2 }],
      value: json('5.0'),
    },
  ],
  [
    'inventory',
    '["~","facts.a",["b",1]]',
    { kind: 'json', op: '~', root: 'facts', parts: [name('a')], value: ['b', 1] },
  ],
  [
    'inventory',
    '["null?","facts.arr[9].x",false]',
    { kind: 'json', op: 'null?', root: 'facts', parts: [name('arr'), name('x')], value: false },
  ],
  [
    'inventory',
    '["null?","facts.match(\\"a\\")",true]',
    { kind: 'json', op: 'null?', root: 'facts', parts: [name('match("a")')], value: true },
  ],
  [
    'inventory',
    '[">","facts.a.match(\\"b.*\\").c",1]',
    {
      kind: 'json',
      op: '>',
      root: 'facts',
      parts: [name('a'), { kind: 'match', pattern: 'b.*' }, name('c')],
      value: 1,
    },
  ],
  [
    'inventory',
    '["=","facts.a","x\\u0000"]',
    { kind: 'json', op: '=', root: 'facts', parts: [name('a')], value: 'x\ufffd' },
  ],
  [
    'inventory',
    '["=","facts.a",{"x\\u0000":["y\\u0000"]}]',
    { kind: 'json', op: '=', root: 'facts', parts: [name('a')], value: { 'x\ufffd': ['y\ufffd'] } },
  ],
  ['facts', '["in","value",["array",["a\\u0000"]]]', { kind: 'value-in', field: 'value', values: ['a\ufffd'] }],
  [
    'resources',
    '["=","parameters.a-b",null]',
    { kind: 'json', op: 'null?', root: 'parameters', parts: [name('a-b')], value: true },
  ],
  [
    'resources',
    '["=","parameters.match(\\"a\\")",1]',
    { kind: 'json', op: '=', root: 'parameters', parts: [name('match("a")')], value: 1 },
  ],
  [
    'resources',
    '["=","parameters.match(\\"(\\")",1]',
    { kind: 'json', op: '=', root: 'parameters', parts: [name('match("(")')], value: 1 },
  ],
  // a pattern that is null
  ['facts', '["~","value",null]', { kind: 'const', value: null }],
  ['inventory', '["~","facts.a",null]', UNKNOWN],
  ['resources', '["~","tags",null]', FALSE],
  ['fact_contents', '["~>","path",null]', FALSE],
  [
    'resources',
    '["~","file",null]',
    {
      kind: 'and',
      args: [
        { kind: 'const', value: null },
        { kind: 'not', arg: { kind: 'null', field: 'file' } },
      ],
    },
  ],
  // events and reports
  ['events', '["=","new_value",{"b":1,"a":null}]', eq('new_value', '{"a":null,"b":1}')],
  ['events', '["=","old_value",null]', eq('old_value', 'null')],
  ['events', '["~","new_value","a.*"]', { kind: 'regex', field: 'new_value', pattern: '"a.*"', nullIsFalse: true }],
  ['events', '["null?","new_value",false]', FALSE],
  ['events', '["null?","old_value",true]', FALSE],
  ['events', '["=","latest_report?",true]', eq('latest_report?', true)],
  ['events', '["=","latest_report?",null]', FALSE],
  ['events', '["null?","latest_report?",false]', TRUE],
  ['reports', '["and",["null?","logs",true],["=","type","any"]]', { kind: 'and', args: [FALSE] }],
  ['reports', '["=","cm_version","8"]', { kind: 'and', args: [eq('puppet_version', '8'), eq('type', 'agent')] }],
];

describe('filters', () => {
  for (const [on, query, expected] of CASES) {
    it(`filters: ${on} ${query}`, () => assert.deepEqual(filter(on, query), expected));
  }
});

function subquery(on: EntityName, query: string): Extract<Filter, { kind: 'in-query' }> {
  const found = filter(on, query);
  assert.ok(found?.kind === 'in-query');
  return found;
}

describe('match', () => {
  it('match: below trusted the answer stays open for nodes without that document', () => {
    const found = filter('inventory', '["=","trusted.match(\\"a\\")","x"]');
    const trusted: Filter = { kind: 'json', op: 'null?', root: 'facts', parts: [name('trusted')], value: true };
    assert.deepEqual(found, {
      kind: 'or',
      args: [
        { kind: 'json', op: '=', root: 'facts', parts: [name('trusted'), { kind: 'match', pattern: 'a' }], value: 'x' },
        { kind: 'and', args: [trusted, not(trusted)] },
      ],
    });
  });
});

describe('subqueries', () => {
  it('subqueries: a condition on a fact reads its name as a path of the inventory', () => {
    const { fields, columns, query } = subquery('nodes', '["<",["fact","os.major"],5]');
    assert.deepEqual(
      { fields, columns, entity: query.entity },
      { fields: ['certname'], columns: ['certname'], entity: 'inventory' },
    );
    assert.deepEqual(query.filter, {
      kind: 'json',
      op: '<',
      root: 'facts',
      parts: [name('os'), name('major')],
      value: 5,
    });
  });

  it('subqueries: a fact among values is looked for by its literal name', () => {
    const { query } = subquery('nodes', '["in",["fact","a.b"],["array",["x"]]]');
    assert.equal(query.entity, 'facts');
    assert.deepEqual(query.filter, {
      kind: 'and',
      args: [eq('name', 'a.b'), { kind: 'value-in', field: 'value', values: ['x'] }],
    });
  });

  it('subqueries: name and value of a fact move to the inventory only in the one documented form', () => {
    const on = (columns: string, condition: string, form = 'select', field = 'certname'): string => {
      const source =
        form === 'select'
          ? `["extract",${columns},["select_facts",${condition}]]`
          : `["from","facts",["extract",${columns},${condition}]]`;
      return subquery('nodes', `["in","${field}",${source}]`).query.entity;
    };
    const condition = '["and",["=","name","a"],["<","value",5]]';
    assert.equal(on('"certname"', condition), 'inventory');
    assert.equal(on('"certname"', '["and",["=","name","a"],["null?","value",true]]'), 'inventory');
    assert.equal(on('"environment"', condition, 'select', 'facts_environment'), 'inventory');
    const typed = (field: string): string =>
      `["and",["=","name","a"],["and",["=",["function","jsonb_typeof","${field}"],"number"],["<","value",5]]]`;
    assert.equal(on('"certname"', typed('value')), 'inventory');
    const type = '["=",["function","jsonb_typeof","value"],"number"]';
    const twice = typed('value').replace('["<","value",5]', `["and",${type},["<","value",5]]`);
    assert.equal(on('"certname"', twice), 'facts');
    assert.equal(on('["certname"]', condition), 'facts');
    assert.equal(on('"certname"', condition, 'from'), 'facts');
    assert.equal(on('"certname"', '["and",["<","value",5],["=","name","a"]]'), 'facts');
    assert.equal(on('"certname"', '["and",["~","name","a"],["<","value",5]]'), 'facts');
    assert.equal(on('"certname"', '["and",["=","name","a"],["in","value",["array",[5]]]]'), 'facts');
    assert.equal(on('"certname"', '["and",["=","name","a"],["=","value",[5]]]'), 'facts');
    assert.equal(on('"certname"', '["and",["=","name","a"],["<","value",5],["=","environment","x"]]'), 'facts');
  });

  it('subqueries: implicit relations tie the columns of the table', () => {
    const relation = (on: EntityName, inner: string, field: string): string => {
      const tree = entity(on, `["subquery","${inner}",["null?","${field}",false]]`, { addAgentReportFilter: false });
      assert.ok(tree.filter?.kind === 'in-query');
      return `${tree.filter.fields} -> ${tree.filter.columns}`;
    };
    assert.equal(relation('nodes', 'facts', 'name'), 'certname -> certname');
    assert.equal(relation('facts', 'fact_contents', 'name'), 'certname,name -> certname,name');
    assert.equal(relation('fact_paths', 'fact_contents', 'name'), 'path -> path');
    assert.equal(relation('reports', 'events', 'status'), 'hash -> report');
    assert.equal(relation('reports', 'producers', 'name'), 'producer -> name');
    assert.equal(relation('environments', 'catalogs', 'version'), 'name -> environment');
  });

  it('subqueries: columns have the names that they are stored by, and numbers are compared whatever their size', () => {
    const on = (name: EntityName, query: string): string => {
      const tree = entity(name, query, { addAgentReportFilter: false });
      assert.ok(tree.filter?.kind === 'in-query');
      return `${tree.filter.fields} in ${tree.filter.columns}`;
    };
    assert.equal(
      on('reports', '["in","cm_version",["extract","cm_version",["select_reports"]]]'),
      'puppet_version in puppet_version',
    );
    assert.equal(
      on('resources', '["in","line",["extract","report_format",["select_reports"]]]'),
      'line in report_format',
    );
  });

  it('subqueries: surplus columns are dropped and paging stays inside', () => {
    const { columns, query } = subquery(
      'nodes',
      '["in","certname",["from","facts",["extract",["certname","name"],["=","name","a"]],["order_by",["name",["certname","desc"]]],["limit",0],["offset",2]]]',
    );
    assert.deepEqual(columns, ['certname']);
    assert.deepEqual(query.orderBy, [
      { field: 'name', descending: false },
      { field: 'certname', descending: true },
    ]);
    assert.deepEqual([query.limit, query.offset], [0, 2]);
  });

  it('subqueries: columns belong to the inner entity also without a filter', () => {
    assert.equal(
      subquery('nodes', '["in","catalog_environment",["extract","name",["select_environments"]]]').query.filter,
      null,
    );
  });
});

describe('defaults', () => {
  const agent = eq('type', 'agent');

  it('defaults: reports without a word about their type are agent reports', () => {
    assert.deepEqual(entity('reports', '[]').filter, agent);
    assert.deepEqual(filter('reports', '["=","status","x"]'), { kind: 'and', args: [eq('status', 'x'), agent] });
    assert.deepEqual(filter('reports', '["~","type","."]'), {
      kind: 'regex',
      field: 'type',
      pattern: '.',
      nullIsFalse: true,
    });
    for (const extract of ['"certname"', '[["function","count"],"status"],["group_by","status"]']) {
      assert.deepEqual(filter('reports', `["extract",${extract}]`), agent);
    }
    assert.deepEqual(filter('reports', '["null?","type",false]'), not(isNull('type')));
    assert.equal(filter('reports', '["in","type",["array",["plan"]]]')?.kind, 'in');
    assert.equal(filter('reports', '["in","certname",["array",["a"]]]')?.kind, 'and');
    assert.equal(filter('reports', '["in","type",["extract","type",["select_reports"]]]')?.kind, 'and');
    assert.deepEqual(filter('reports', '["or",["=","type","any"],["=","status","x"]]'), {
      kind: 'or',
      args: [eq('status', 'x')],
    });
  });

  it('defaults: subqueries over reports get the filter, each for itself', () => {
    const inner = subquery('nodes', '["subquery","reports",["=","status","x"]]');
    assert.deepEqual(inner.query.filter, { kind: 'and', args: [eq('status', 'x'), agent] });
    assert.deepEqual(
      subquery('nodes', '["in","certname",["extract","certname",["select_reports"]]]').query.filter,
      agent,
    );
    assert.deepEqual(
      subquery('nodes', '["in","certname",["from","reports",["extract","certname"]]]').query.filter,
      agent,
    );
    assert.equal(subquery('nodes', '["subquery","reports",["=","type","any"]]').query.filter, null);
  });

  it('defaults: the report filter can be switched off', () => {
    assert.equal(entity('reports', '[]', { addAgentReportFilter: false }).filter, null);
  });

  it('defaults: active nodes are asked for unless node_state is mentioned anywhere', () => {
    const active: Filter = { kind: 'node-state', state: 'active' };
    const nodes = (...clauses: string[]) =>
      root(`["from","nodes"${clauses.map((clause) => `,${clause}`).join('')}]`).filter;
    assert.deepEqual(nodes(), active);
    assert.deepEqual(nodes('["extract","certname"]'), active);
    assert.deepEqual(nodes('["extract","certname",null]'), active);
    for (const none of ['null', 'false']) {
      assert.deepEqual(nodes(`["extract","certname",${none},["group_by","certname"]]`), active);
    }
    assert.deepEqual(nodes('["extract",[["function","count"],"certname"],["group_by","certname"]]'), active);
    assert.deepEqual(nodes('["=","certname","a"]'), { kind: 'and', args: [eq('certname', 'a'), active] });
    assert.equal(nodes('["subquery","facts",["not",["=","node_state","any"]]]')?.kind, 'in-query');
    assert.deepEqual(nodes('["null?","deactivated",false]'), {
      kind: 'and',
      args: [not(isNull('deactivated')), active],
    });
  });

  it('defaults: route filters nest around the query in their order', () => {
    const routeFilters = [
      ['=', 'name', 'kernel'],
      ['=', 'certname', 'a'],
    ];
    assert.deepEqual(entity('facts', 'null', { routeFilters }).filter, {
      kind: 'and',
      args: [eq('name', 'kernel'), eq('certname', 'a')],
    });
    const tree = entity('facts', '["extract","value",["=","environment","e"]]', { routeFilters });
    assert.deepEqual(tree.filter, {
      kind: 'and',
      args: [{ kind: 'and', args: [eq('environment', 'e'), eq('name', 'kernel')] }, eq('certname', 'a')],
    });
  });
});
