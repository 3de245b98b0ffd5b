import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Filter } from '../../../../engine/query/tree.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { entity, errorOf, json, root } from './support.ts';

const COLUMNS = "Supported columns are 'certname', 'environment', 'name', 'value'";

describe('order_by parameter', () => {
  const order = (value: string) => entity('facts', 'null', { orderBy: json(value) }).orderBy;

  it('order_by: directions in any case, ascending by default, the first mention counts', () => {
    assert.deepEqual(order('[{"field":"name","order":"DESC"},{"field":"certname","order":null},{"field":"name"}]'), [
      { field: 'name', descending: true },
      { field: 'certname', descending: false },
    ]);
    for (const empty of ['null', '[]', '{}', '""']) assert.deepEqual(order(empty), []);
  });

  const ERRORS: readonly [string, string][] = [
    ['"x"', "Illegal value 'x' for :order_by; expected an array of maps."],
    ['{"field":"name"}', `Illegal value '{:field "name"}' for :order_by; expected an array of maps.`],
    ['["name"]', `Illegal value '["name"]' for :order_by; expected an array of maps.`],
    ['5', "Don't know how to create ISeq from: java.lang.Integer"],
    ['[{"order":"up"},{"field":"name","x":1}]', `Illegal value '{:field "name", :x 1}' in :order_by; unknown key 'x'.`],
    ['[{"order":"asc"}]', `Illegal value '{:order "asc"}' in :order_by; missing required key field.`],
    [
      '[{"field":"name","order":"up"}]',
      `Illegal value '{:field "name", :order "up"}' in :order_by; 'order' must be either 'asc' or 'desc'`,
    ],
    ['[{"field":"zz"}]', `Unrecognized column 'zz' specified in :order_by; ${COLUMNS}`],
    ['[{"field":"facts.a"}]', `Unrecognized column 'facts.a' specified in :order_by; ${COLUMNS}`],
  ];
  for (const [value, text] of ERRORS) {
    it(`order_by: ${value} is refused with its text`, () =>
      assert.equal(
        errorOf(() => order(value)),
        text,
      ));
  }

  it('order_by: is checked before the query', () => {
    assert.match(
      errorOf(() => entity('facts', '["=","zz",1]', { orderBy: [{ field: 'yy' }] })),
      /^Unrecognized column 'yy'/,
    );
  });

  it('order_by: fact names are sorted unless asked otherwise', () => {
    assert.deepEqual(entity('fact_names', 'null').orderBy, [{ field: 'name', descending: false }]);
    assert.deepEqual(entity('fact_names', 'null', { orderBy: [{ field: 'name', order: 'desc' }] }).orderBy, [
      { field: 'name', descending: true },
    ]);
  });
});

describe('paging clauses', () => {
  it('paging: a clause may be the whole query of a route that adds nothing to it', () => {
    const options = { routeFilters: [] };
    assert.equal(entity('environments', '["limit",1]', options).limit, 1);
    assert.equal(entity('environments', '["limit",1]', { ...options, limit: 3 }).limit, 3);
    assert.equal(entity('catalogs', '["offset",2]').offset, 2);
    assert.deepEqual(entity('environments', '["order_by",[["name","desc"]]]').orderBy, [
      { field: 'name', descending: true },
    ]);
    assert.equal(
      errorOf(() => entity('environments', '["limit"]')),
      "Received 'limit' clause without an argument",
    );
    assert.match(
      errorOf(() => entity('packages', '["order_by",["certname"]]')),
      /^Unrecognized column 'certname'/,
    );
    // There is such a column, which nothing can be asked of.
    assert.match(
      errorOf(() => entity('catalogs', '["order_by",["edges"]]')),
      /^Unrecognized column 'edges'/,
    );
    assert.match(
      errorOf(() => entity('nodes', '["limit",1]', { routeFilters: [json('["=","node_state","active"]')] })),
      /^No implementation of method/,
    );
  });

  it('paging: clauses in any order, and parameters win item by item', () => {
    const query = '["from","nodes",["limit",3],["order_by",["certname",["expired","desc"]]],["offset",1]]';
    const tree = root(query);
    assert.deepEqual([tree.limit, tree.offset, tree.orderBy.length], [3, 1, 2]);
    const other = root(query, { limit: 9, orderBy: [{ field: 'deactivated' }] });
    assert.deepEqual([other.limit, other.offset, other.orderBy], [9, 1, [{ field: 'deactivated', descending: false }]]);
  });

  it('paging: clauses that do not count are not looked at', () => {
    for (const value of ['-1', '"x"', '1.5', '[[]]', '{}', '9223372036854775808']) {
      const query = `["from","nodes",["limit",${value}],["order_by",${value}],["offset",${value}]]`;
      const tree = root(query, { limit: 9, offset: 0, orderBy: [] });
      assert.deepEqual([tree.limit, tree.offset, tree.orderBy], [9, 0, []]);
    }
    const other = { limit: 9, offset: 0, orderBy: [] };
    assert.equal(
      errorOf(() => root('["from","nodes",["limit"]]', other)),
      "Received 'limit' clause without an argument",
    );
    assert.equal(
      errorOf(() => root('["from","nodes",["offset",1],["offset",2]]', other)),
      "Multiple 'offset' clauses are not permitted",
    );
  });

  it('paging: an order of nothing is none', () => {
    for (const value of ['[]', '{}', '""'])
      assert.deepEqual(root(`["from","nodes",["order_by",${value}]]`).orderBy, []);
  });

  it('paging: counts are those of 64 bits', () => {
    for (const count of ['9007199254740992', '9223372036854775807']) {
      const tree = root(`["from","nodes",["limit",${count}],["offset",${count}]]`);
      assert.deepEqual([tree.limit, tree.offset], [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);
    }
  });

  const ERRORS: readonly [string, string | RegExp][] = [
    ['["limit",9223372036854775808]', /^Illegal value '9,223,372,036,854,775,808' for :limit/],
    ['["limit",1],["limit",2]', "Multiple 'limit' clauses are not permitted"],
    ['["limit"]', "Received 'limit' clause without an argument"],
    ['["offset",null]', "Received 'offset' clause without an argument"],
    ['["limit",false]', "Received 'limit' clause without an argument"],
    [
      '["order_by",["zz"]]',
      /^Unrecognized column 'zz' specified in :order_by; Supported columns are 'latest_report_corrective_change', 'deactivated'/,
    ],
    ['["limit",0]', /^Illegal value '0' for :limit/],
    ['["limit","3"]', /^Illegal value '3' for :limit/],
    ['["limit",1.5]', /^Illegal value '1.5' for :limit/],
    ['["offset",-1]', /^Illegal value '-1' for :offset/],
    ['["order_by",-1]', "Don't know how to create ISeq from: java.lang.Integer"],
    ['["order_by","certname"]', /order_by/],
    ['["order_by",[["certname"]]]', /order_by/],
    ['["order_by",[["certname","DESC"]]]', /order_by/],
  ];
  for (const [clauses, text] of ERRORS) {
    it(`paging: ${clauses} is refused`, () => {
      const message = errorOf(() => root(`["from","nodes",${clauses}]`));
      if (typeof text === 'string') assert.equal(message, text);
      else assert.match(message, text);
    });
  }
});

describe('paging clauses of a subquery', () => {
  const inner = (...clauses: unknown[]): Filter | null =>
    entity('nodes', JSON.stringify(['in', 'certname', ['from', 'nodes', ['extract', 'certname'], ...clauses]])).filter;

  it('paging: counts may be texts, and a limit zero', () => {
    for (const [limit, offset] of [
      [2, 1],
      ['2', '1'],
      [' +2 ', '01'],
      ['2', '00000000000000000000001'],
    ]) {
      const filter = inner(['limit', limit], ['offset', offset]);
      assert.ok(filter?.kind === 'in-query');
      assert.deepEqual([filter.query.limit, filter.query.offset], [2, 1]);
    }
    const none = inner(['limit', '0']);
    assert.ok(none?.kind === 'in-query' && none.query.limit === 0);
  });

  it('paging: a text of very many digits is refused without making a number of it', () => {
    const spent = processorTime();
    errorOf(() => inner(['limit', '9'.repeat(8_000_000)]));
    assert.ok(spent() < 1000, `${spent()} ms`);
  });

  it('paging: other texts are refused', () => {
    for (const text of ['', '-1', '1.5', '1e3', 'x', '9223372036854775808']) {
      assert.match(
        errorOf(() => inner(['limit', text])),
        /^Illegal value '.*' for :limit/,
      );
      assert.match(
        errorOf(() => inner(['offset', text])),
        /^Illegal value '.*' for :offset/,
      );
    }
  });

  it('paging: what only the database refuses is told last, and not of the AST alone', () => {
    const query = (...clause: unknown[]): string =>
      JSON.stringify(['from', 'nodes', ['in', 'certname', ['from', 'nodes', ['extract', 'certname'], clause]]]);
    for (const clause of [
      ['limit', -1],
      ['limit', 'x'],
      ['offset', {}],
      ['order_by', ['zz']],
      ['order_by', 'certname'],
    ]) {
      errorOf(() => root(query(...clause)));
      root(query(...clause), { astOnly: true });
      const both = `["from","nodes",["and",${JSON.stringify(JSON.parse(query(...clause))[2])},["=","zz",1]]]`;
      assert.match(
        errorOf(() => root(both)),
        /^'zz' is not a queryable object/,
      );
    }
    for (const clause of [['limit'], ['order_by', 5]]) errorOf(() => root(query(...clause), { astOnly: true }));
    const tooLarge = '["from","nodes",["limit",9223372036854775808]]';
    errorOf(() => root(tooLarge));
    root(tooLarge, { astOnly: true });
    const byTag = '["from","resources",["=","type",5],["order_by",["tag"]]]';
    assert.match(
      errorOf(() => root(byTag)),
      /^ERROR: operator does not exist/,
    );
    root(byTag, { astOnly: true, orderBy: [{ field: 'tag' }] });
    assert.match(
      errorOf(() => root(tooLarge.replace(/]$/, ',["offset",-1]]'), { astOnly: true })),
      /^Illegal value '-1' for :offset/,
    );
    assert.match(
      errorOf(() => root(tooLarge, { astOnly: true, orderBy: [{ field: 'zz' }] })),
      /^Unrecognized column 'zz'/,
    );
  });
});

describe('root', () => {
  it('root: entity names take dashes and underscores', () => {
    assert.equal(root('["from","fact-contents"]').entity, 'fact_contents');
    assert.equal(root('["from","catalog_inputs"]').entity, 'catalog_inputs');
  });

  it('root: active nodes by default, except where there are none or only the AST is wanted', () => {
    assert.deepEqual(root('["from","catalogs"]').filter, { kind: 'node-state', state: 'active' });
    for (const name of ['fact_paths', 'fact-paths', 'environments', 'packages', 'producers', 'fact_names']) {
      assert.equal(root(`["from","${name}"]`).filter, null, name);
    }
    assert.equal(root('["from","nodes"]', { astOnly: true }).filter, null);
  });

  const FORM = 'This query must be of the form ["from", <entity>, (<optional-query>)].';
  const BODY = '`from` only accepts a query as an optional second argument.';
  const ERRORS: readonly [string, string][] = [
    ['null', FORM],
    ['[]', FORM],
    ['["from"]', FORM],
    ['["from",5]', FORM],
    ['["=","certname","a"]', FORM],
    ['["from","nodes",["~","certname","a"],["group_by","certname"]]', FORM],
    ['["from","nodes",["limit",1],["~","certname","a"]]', FORM],
    ['["from","environments",["~","name","a"],["bogus",1]]', FORM],
    ['["from","environments",null]', BODY],
    ['["from","environments","x"]', BODY],
    ['["from","bogus-thing"]', "Invalid entity 'bogus_thing' in query"],
    ['["from","Nodes"]', "Invalid entity 'Nodes' in query"],
    ['["from","resource_params"]', "Invalid entity 'resource_params' in query"],
    ['["from","event_counts"]', "Invalid entity 'event_counts' in query"],
    ['["from","nodes",[]]', '[] is not well-formed: queries must contain at least one operator'],
  ];
  for (const [query, text] of ERRORS) {
    it(`root: ${query} is refused with its text`, () =>
      assert.equal(
        errorOf(() => root(query)),
        text,
      ));
  }

  it('root: a missing body is no filter', () => {
    assert.equal(root('["from","environments",[]]').filter, null);
    assert.deepEqual(root('["from","nodes",null]').filter, { kind: 'node-state', state: 'active' });
  });
});
