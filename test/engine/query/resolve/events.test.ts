import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveAggregateEventCounts, resolveEventCounts } from '../../../../engine/query/resolve/resolve.ts';
import type { Filter } from '../../../../engine/query/tree.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { entity, errorOf, json, keys } from './support.ts';

const distinct = { start: 0, end: 1000 };
const events = (query: string) => entity('events', query, { distinct });
const latest: Filter = { kind: 'eq', field: 'latest_report?', value: true, nullSafe: false };

describe('distinct events', () => {
  it('distinct: rows look as always and times are handed on', () => {
    const tree = events('[]');
    assert.deepEqual([tree.filter, tree.distinct], [null, { ...distinct, before: null }]);
    assert.equal(keys(tree), keys(entity('events', '[]')));
  });

  it('distinct: comparisons of fields that may be empty never leave the answer open', () => {
    assert.deepEqual(events('["=","property","mode"]').filter, {
      kind: 'eq',
      field: 'property',
      value: 'mode',
      nullSafe: true,
    });
    assert.deepEqual(events('["=","property",null]').filter, { kind: 'null', field: 'property' });
    assert.deepEqual(events('["~","file","x"]').filter, {
      kind: 'regex',
      field: 'file',
      pattern: 'x',
      nullIsFalse: true,
    });
    assert.deepEqual(events('["~","environment","x"]').filter, {
      kind: 'regex',
      field: 'environment',
      pattern: 'x',
      nullIsFalse: false,
    });
    assert.deepEqual(events('["=","new_value",[1]]').filter, {
      kind: 'eq',
      field: 'new_value',
      value: '[1]',
      nullSafe: true,
    });
  });

  it('distinct: a pattern that is null matches nothing, as elsewhere', () => {
    for (const field of ['file', 'message', 'property', 'containing_class']) {
      const { filter } = events(`["~","${field}",null]`);
      assert.deepEqual(filter, {
        kind: 'and',
        args: [
          { kind: 'const', value: null },
          { kind: 'not', arg: { kind: 'null', field } },
        ],
      });
      assert.deepEqual(filter, entity('events', `["~","${field}",null]`).filter);
    }
    for (const field of ['certname', 'environment', 'status']) {
      assert.deepEqual(events(`["~","${field}",null]`).filter, { kind: 'const', value: null });
    }
    assert.throws(() => events('["~","line",null]'), /operator does not exist: integer ~ unknown/);
    assert.throws(() => events('["~","file",1]'), /operator does not exist: text ~ integer/);
  });

  it('distinct: an integer field is compared with numbers of any kind, and with nothing else', () => {
    for (const [number, value] of [
      ['10', 10],
      ['10.0', 10],
      ['1e1', 10],
      ['10.5', 10.5],
      ['12345678901234567890', 1.2345678901234567e19],
    ] as const) {
      const expected = { kind: 'eq', field: 'line', value, nullSafe: true };
      assert.deepEqual(events(`["=","line",${number}]`).filter, expected, number);
    }
    for (const other of ['"10"', 'true']) {
      assert.throws(() => events(`["=","line",${other}]`), /operator does not exist: integer = /, other);
    }
  });

  it('distinct: operators in any case, fields with dashes', () => {
    assert.deepEqual(events('["AND",["=","resource-type","File"],["NOT",["<","timestamp",5]]]').filter, {
      kind: 'and',
      args: [
        { kind: 'eq', field: 'resource_type', value: 'File', nullSafe: false },
        { kind: 'not', arg: { kind: 'order', field: 'timestamp', op: '<', value: 5 } },
      ],
    });
  });

  it('distinct: only a bare test of the latest report narrows the events beforehand', () => {
    assert.deepEqual(events('["=","latest_report?",true]').distinct?.before, latest);
    assert.deepEqual(events('["not",["=","latest_report?",true]]').distinct?.before, latest);
    assert.equal(events('["and",["=","latest_report?",true]]').distinct?.before, null);
  });

  it('distinct: subqueries over resources and facts', () => {
    const found = events('["in","certname",["extract","certname",["select_resources",["=","tag","A"]]]]').filter;
    assert.ok(found?.kind === 'in-query');
    assert.equal(found.query.entity, 'resources');
    assert.deepEqual(found.query.filter, { kind: 'member', field: 'tags', value: 'a' });
  });

  describe('distinct: comparisons inside a subquery', () => {
    const inner = (select: string, condition: string) => {
      const found = events(`["in","certname",["extract","certname",["${select}",${condition}]]]`).filter;
      assert.ok(found?.kind === 'in-query');
      return found.query.filter;
    };
    const unknown: Filter = { kind: 'const', value: null };

    for (const [select, fields] of [
      ['select_facts', 'certname environment name value'],
      ['select_resources', 'certname environment catalog resource type title tag tags exported file line'],
    ] as const) {
      for (const field of fields.split(' ')) {
        it(`distinct: nothing is equal to null, ${field} of ${select}`, () => {
          assert.deepEqual(inner(select, `["=","${field}",null]`), unknown);
          assert.deepEqual(inner(select, `["not",["=","${field}",null]]`), { kind: 'not', arg: unknown });
        });
      }
    }

    it('distinct: a type that is called any is a type', () => {
      assert.deepEqual(inner('select_resources', '["=","type","any"]'), {
        kind: 'eq',
        field: 'type',
        value: 'any',
        nullSafe: false,
      });
    });

    it('distinct: patterns of tags are left as they are', () => {
      const pattern = (text: string): Filter => ({ kind: 'regex', field: 'tags', pattern: text, nullIsFalse: true });
      assert.deepEqual(inner('select_resources', '["~","tag","^\\\\D+$"]'), pattern('^\\D+$'));
      assert.deepEqual(inner('select_resources', '["~","tag","WEB"]'), pattern('WEB'));
      assert.deepEqual(inner('select_resources', '["~","tag",null]'), { kind: 'const', value: false });
    });

    it("distinct: a catalog is known by its hash, as the node's", () => {
      const found = inner('select_resources', '["=","catalog","ab"]');
      assert.ok(found?.kind === 'in-query');
      assert.deepEqual([found.fields, found.columns, found.query.entity], [['certname'], ['certname'], 'catalogs']);
      assert.deepEqual(found.query.filter, { kind: 'eq', field: 'hash', value: 'ab', nullSafe: false });
    });

    it('distinct: parameters and states are asked as everywhere', () => {
      assert.deepEqual(inner('select_resources', '["=",["parameter","ensure"],"present"]'), {
        kind: 'parameter',
        op: '=',
        name: 'ensure',
        text: '"present"',
      });
      const active: Filter = { kind: 'node-state', state: 'active' };
      assert.deepEqual(inner('select_facts', '["=",["node","active"],true]'), active);
      assert.deepEqual(inner('select_resources', '["=",["node","active"],true]'), active);
    });

    it('distinct: values of facts are ordered by numbers, which texts may spell', () => {
      for (const five of ['5', '"5"', '" 5"']) {
        const expected = { kind: 'value-order', field: 'value', op: '>', value: 5 };
        assert.deepEqual(inner('select_facts', `[">","value",${five}]`), expected, five);
      }
    });

    const INNER_ERRORS: readonly [string, string, string][] = [
      ['select_facts', '[">","name",5]', 'name is not a queryable object for facts'],
      ['select_facts', '[">","name","x"]', 'Value x must be a number for > comparison.'],
      ['select_facts', '["<=","value",null]', 'Value null must be a number for <= comparison.'],
      ['select_facts', '["<","value",""]', 'Value  must be a number for < comparison.'],
      [
        'select_facts',
        '[">","name"]',
        'Wrong number of args (2) passed to: puppetlabs.puppetdb.query/compile-fact-inequality',
      ],
      [
        'select_resources',
        '["~","type","a","b"]',
        'Wrong number of args (4) passed to: puppetlabs.puppetdb.query/compile-resource-regexp',
      ],
      ['select_facts', '["~","zz","x"]', 'zz is not a valid version 4 operand for regexp comparison'],
      [
        'select_facts',
        '["=",["node","zz"],true]',
        '["node" "zz"] is not a queryable object for version 4 of the facts query api',
      ],
      [
        'select_resources',
        '["=",["fact","kernel"],"x"]',
        `'["fact" "kernel"]' is not a queryable object for resources in the version 4 API`,
      ],
      [
        'select_resources',
        '["=",["parameter",null],"x"]',
        `'["parameter" nil]' is not a queryable object for resources in the version 4 API`,
      ],
      [
        'select_resources',
        '["~","catalog","x"]',
        "'catalog' cannot be the target of a regexp match for version 4 of the resources API",
      ],
      ['select_resources', '["=","catalog",5]', 'ERROR: operator does not exist: text = integer'],
    ];
    for (const [select, condition, text] of INNER_ERRORS) {
      it(`distinct: ${condition} inside ${select} is refused with its text`, () =>
        assert.equal(
          errorOf(() => inner(select, condition)),
          text,
        ));
    }
  });

  it('distinct: ordering knows hash as another name of report', () => {
    const tree = entity('events', '[]', { distinct, orderBy: [{ field: 'hash' }] });
    assert.deepEqual(tree.orderBy, [{ field: 'report', descending: false }]);
    assert.match(
      errorOf(() => entity('events', '[]', { distinct, orderBy: [{ field: 'zz' }] })),
      /^Unrecognized column 'zz'/,
    );
  });

  const ERRORS: readonly [string, string][] = [
    ['["=","zz","x"]', "'zz' is not a queryable object for version 4 of the resource events API"],
    [
      '["~","configuration_version","x"]',
      "'configuration_version' is not a queryable object for version 4 of the resource events API",
    ],
    ['["<","line",5]', "< operator does not support object 'line' for resource events"],
    ['["<","timestamp","x"]', "'x' is not a valid timestamp value"],
    ['["=","certname"]', '= requires exactly two arguments, but 1 were supplied'],
    ['["~","certname","a","b"]', '~ requires exactly two arguments, but 3 were supplied'],
    ['[">","timestamp"]', '> requires exactly two arguments, but 1 were supplied'],
    ['["null?","property",true]', `["null?" "property" true] is not well-formed: query operator 'null?' is unknown`],
    ['["Bogus","a"]', `["Bogus" "a"] is not well-formed: query operator 'Bogus' is unknown`],
    ['[null]', '[nil] is not well-formed: queries must contain at least one operator'],
    ['["and",[null,{"a":[null]}]]', '[nil {:a [nil]}] is not well-formed: queries must contain at least one operator'],
    ['["in","zz"]', 'Wrong number of args (4) passed to: puppetlabs.puppetdb.query/compile-in'],
    [
      '["in","certname",["extract","zz"]]',
      'Wrong number of args (3) passed to: puppetlabs.puppetdb.query/compile-extract',
    ],
    ['["extract"]', 'Wrong number of args (2) passed to: puppetlabs.puppetdb.query/compile-extract'],
    [
      '["in","certname",["extract","zz",["select_facts"]]]',
      'Wrong number of args (1) passed to: puppetlabs.puppetdb.query/fact-query->sql',
    ],
    [
      '["in","certname",["extract","certname",["select_resources",["=","type","x"],5]]]',
      'Wrong number of args (3) passed to: puppetlabs.puppetdb.query/resource-query->sql',
    ],
    ['["in","certname",["extract","certname",[]]]', "The argument to extract must be a select operator, not 'null'"],
    ['["and"]', 'and requires at least one term'],
    ['["or"]', 'or requires at least one term'],
    ['["not"]', "'not' takes exactly one argument, but 0 were supplied"],
    ['["in","certname",["array",["x"]]]', "The subquery argument of 'in' must be an 'extract', not 'array'"],
    ['["extract",["certname"],["=","certname","x"]]', "The argument to extract must be a select operator, not '='"],
    [
      '["in","zz",["extract","certname",["select_facts",["=","name","x"]]]]',
      "Can't match on unknown event field 'zz' for 'in'. Acceptable fields are: certname, configuration_version, containing_class, containment_path, end_time, environment, file, hash, line, message, name, new_value, old_value, property, receive_time, resource_title, resource_type, start_time, status, timestamp",
    ],
    [
      '["in","certname",["extract","zz",["select_facts",["=","name","x"]]]]',
      "Cant extract unknown {0} field '{1}'. Acceptable fields are: {2}",
    ],
    [
      '["=","run-start-time","x"]',
      "'run_start_time' is not a queryable object for version 4 of the resource events API",
    ],
    ['["~","foo-bar","x"]', "'foo_bar' is not a queryable object for version 4 of the resource events API"],
  ];
  for (const [query, text] of ERRORS) {
    it(`distinct: ${query} is refused with its text`, () =>
      assert.equal(
        errorOf(() => events(query)),
        text,
      ));
  }
});

describe('event counts', () => {
  const counts = (filter: string, edition: 'community' | 'enterprise' = 'community') =>
    resolveEventCounts({ summarizeBy: 'certname', countsFilter: json(filter) }, { edition });

  it('event counts: defaults and order', () => {
    const tree = resolveEventCounts(
      { summarizeBy: 'resource', query: json('["=","status","x"]') },
      { orderBy: [{ field: 'resource_title' }, { field: 'noops', order: 'desc' }], limit: 2 },
    );
    assert.equal(tree.countBy, 'resource');
    assert.deepEqual(tree.events.filter, { kind: 'eq', field: 'status', value: 'x', nullSafe: false });
    assert.deepEqual(
      [tree.orderBy.map((term) => term.field), tree.limit, tree.offset],
      [['resource_title', 'noops'], 2, 0],
    );
  });

  it('event counts: an unknown operator is no filter', () => {
    assert.equal(resolveEventCounts({ summarizeBy: 'certname', query: json('["bogus","x"]') }).events.filter, null);
    assert.equal(resolveEventCounts({ summarizeBy: 'certname', query: json('["from","events"]') }).events.filter, null);
  });

  it('event counts: a query of another form is refused', () => {
    for (const query of ['["extract",["certname"]]', '["from","events",["=","status","failure"]]']) {
      assert.throws(
        () => resolveEventCounts({ summarizeBy: 'certname', query: json(query) }),
        /is not possible on event/,
      );
    }
  });

  it('event counts: one comparison of one count', () => {
    assert.deepEqual(counts('[">","failures",0]').countsFilter, { op: '>', field: 'failures', value: 0 });
    assert.deepEqual(counts('["=","noops",null]').countsFilter, { op: '=', field: 'noops', value: null });
    assert.equal(counts('[]').countsFilter, null);
    assert.deepEqual(counts('["<=","corrective_noops",1.5]', 'enterprise').countsFilter, {
      op: '<=',
      field: 'corrective_noops',
      value: 1.5,
    });
  });

  const ERRORS: readonly [string, string][] = [
    ['[">","zz",0]', "> operator does not support object 'zz' for event counts"],
    ['["=","zz",0]', 'zz is not a queryable object for event counts'],
    ['["=","corrective_noops",0]', 'corrective_noops is not a queryable object for event counts'],
    ['["=","failures"]', '= requires exactly two arguments, but 1 were supplied'],
    ['[null,"failures",0]', '[nil "failures" 0] is not well-formed: queries must contain at least one operator'],
    ['[false]', '[false] is not well-formed: queries must contain at least one operator'],
    ['["~","failures","x"]', `["~" "failures" "x"] is not well-formed: query operator '~' is unknown`],
    ['["=","failures","1"]', 'ERROR: operator does not exist: bigint = character varying'],
  ];
  for (const [filter, text] of ERRORS) {
    it(`event counts: ${filter} is refused with its text`, () =>
      assert.equal(
        errorOf(() => counts(filter)),
        text,
      ));
  }

  it('event counts: parameters are checked', () => {
    assert.equal(
      errorOf(() => resolveEventCounts({ summarizeBy: 'x' })),
      "Unsupported value for 'summarize_by': 'x'",
    );
    assert.equal(
      errorOf(() => resolveEventCounts({ summarizeBy: 'certname', countBy: 'x' })),
      "Unsupported value for 'count_by': 'x'",
    );
    assert.equal(
      errorOf(() => resolveEventCounts({ summarizeBy: 'certname' }, { orderBy: [{ field: 'zz' }] })),
      "Unrecognized column 'zz' specified in :order_by; Supported columns are 'failures', 'skips', 'successes', 'noops', 'certname'",
    );
  });

  it('aggregate event counts: one tree for each summary, in order, repeats repeated', () => {
    const trees = resolveAggregateEventCounts({ summarizeBy: 'resource,certname,resource,,' });
    assert.deepEqual(
      trees.map((tree) => tree.summarizeBy),
      ['resource', 'certname', 'resource'],
    );
    assert.equal(
      errorOf(() => resolveAggregateEventCounts({ summarizeBy: 'certname, resource' })),
      "Unsupported value for 'summarize_by': ' resource'",
    );
    assert.equal(
      errorOf(() => resolveAggregateEventCounts({ summarizeBy: '' })),
      "Unsupported value for 'summarize_by': ''",
    );
  });

  it('aggregate event counts: a query is resolved once for each kind of summary', () => {
    const query = json(JSON.stringify(['or', ...Array.from({ length: 200 }, (_, i) => ['=', 'certname', `n${i}`])]));
    const spent = processorTime();
    const summaries = ['resource', ...Array<string>(30_000).fill('certname')];
    const trees = resolveAggregateEventCounts({ summarizeBy: summaries.join(','), query });
    assert.deepEqual(
      trees.map((tree) => tree.summarizeBy),
      summaries,
    );
    assert.ok(spent() < 3000, `${spent()} ms`);
  });

  it('aggregate event counts: what the older language refuses comes before what the database would refuse', () => {
    for (const [query, text] of [
      [['~', 'corrective_change', 'x'], /^'corrective_change' is not a queryable object for version 4/],
      [['in', 'line', ['array', [7]]], /^The subquery argument of 'in' must be an 'extract', not 'array'$/],
      [['=', 'status', 5], /^ERROR: /],
    ] as const) {
      assert.match(
        errorOf(() => resolveAggregateEventCounts({ summarizeBy: 'resource', query })),
        text,
      );
    }
  });

  it('aggregate event counts: the query must be of the older language too', () => {
    const query = json('["in","certname",["array",["x"]]]');
    assert.equal(
      errorOf(() => resolveAggregateEventCounts({ summarizeBy: 'resource', query })),
      "The subquery argument of 'in' must be an 'extract', not 'array'",
    );
  });
});
