import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EntityName } from '../../../../schemas/entities.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { entity, entityError, keys } from './support.ts';

describe('projection', () => {
  it('projection: rows without one have the documented columns in the documented order', () => {
    assert.equal(keys(entity('facts', 'null')), 'certname environment name value');
    assert.equal(
      keys(entity('resources', 'null')),
      'tags file type title line resource environment certname parameters exported',
    );
    assert.equal(
      keys(entity('nodes', 'null', { includeFactsExpiration: true })),
      'deactivated latest_report_hash expires_facts facts_environment cached_catalog_status report_environment latest_report_corrective_change catalog_environment facts_timestamp latest_report_noop expires_facts_updated expired latest_report_noop_pending report_timestamp certname catalog_timestamp latest_report_job_id latest_report_status',
    );
    assert.equal(
      keys(entity('factsets', 'null')),
      'timestamp facts certname hash producer_timestamp producer environment',
    );
    assert.match(keys(entity('factsets', 'null', { includePackageInventory: true })), /package_inventory/);
    assert.equal(keys(entity('facts', '["extract",[]]')), 'certname environment name value');
  });

  it('projection: a repeated grouping key is one key', () => {
    const groups = (keys: unknown[]) =>
      entity(
        'reports',
        JSON.stringify([
          'extract',
          ['status', 'hash', ['function', 'to_string', 'end_time', 'YY']],
          ['group_by', ...keys],
        ]),
      ).groupBy;
    const mask = ['function', 'to_string'];
    const once = groups(['status', mask, 'hash']);
    assert.equal(once?.length, 3);
    assert.deepEqual(groups(['status', mask, 'status', 'hash', mask, ...Array(100_000).fill('hash')]), once);
  });

  it('projection: very many functions and grouping keys take no longer than their number says', () => {
    const call = (fn: string) => Array(30_000).fill(['function', fn]);
    const query = JSON.stringify(['extract', call('count'), ['group_by', ...call('to_string')]]);
    const spent = processorTime();
    assert.equal(entityError('nodes', query), 'ERROR: column "to_string" does not exist');
    assert.ok(spent() < 3000, `${spent()} ms`);
  });

  it('projection: functions come first and repeated columns get suffixes', () => {
    const query = '["extract",["certname",["function","count"],["function","count","status"]],["group_by","certname"]]';
    assert.equal(keys(entity('reports', query)), 'count count_2 certname');
    assert.equal(
      keys(entity('nodes', '["extract",["certname","certname","certname"]]')),
      'certname certname_2 certname_3',
    );
  });

  it('projection: rows of nine and more columns are in the fixed order', () => {
    const query =
      '["extract",["certname","hash","status","noop","environment","type","producer","end_time","code_id"]]';
    assert.equal(
      keys(entity('reports', query)),
      'producer hash noop type end_time status environment code_id certname',
    );
  });

  it('projection: members of documents keep the text they were asked for by', () => {
    const tree = entity('inventory', '["extract",["facts.os.\\"a.b\\"","trusted.x"]]');
    assert.deepEqual(tree.columns, [
      {
        kind: 'field',
        key: 'facts.os."a.b"',
        ref: {
          kind: 'path',
          root: 'facts',
          parts: [
            { kind: 'name', name: 'os', quoted: false },
            { kind: 'name', name: 'a.b', quoted: true },
          ],
        },
      },
      {
        kind: 'field',
        key: 'trusted.x',
        ref: {
          kind: 'path',
          root: 'facts',
          parts: [
            { kind: 'name', name: 'trusted', quoted: false },
            { kind: 'name', name: 'x', quoted: false },
          ],
        },
      },
    ]);
  });

  it('projection: functions of numbers leave out the facts that are none, unless there are groups', () => {
    const filterOf = (on: EntityName, columns: string): string =>
      JSON.stringify(entity(on, `["extract",${columns}]`).filter);
    const numbers = JSON.stringify({ kind: 'jsonb-typeof', field: 'value', type: 'number' });
    assert.equal(filterOf('facts', '[["function","sum","value"]]'), numbers);
    assert.equal(filterOf('facts', '[["function","count"],["function","max","name"]]'), numbers);
    assert.equal(filterOf('facts', '[["function","count"]]'), 'null');
    assert.equal(filterOf('facts', '[["function","sum","value"],"name"],["group_by","name"]'), 'null');
    assert.equal(filterOf('fact_contents', '[["function","sum","value"]]'), 'null');
  });

  it('projection: a name may have 63 characters', () => {
    const name = (length: number): string => `facts.${'a'.repeat(length - 6)}`;
    assert.equal(keys(entity('inventory', `["extract",["${name(63)}"]]`)), name(63));
    assert.match(entityError('inventory', `["extract",["${name(64)}"]]`), /^Projected field name '64' exceeds /);
  });

  it('projection: the least and the greatest of lists of texts', () => {
    assert.equal(keys(entity('resources', '["extract",[["function","min","tags"]]]')), 'min');
    assert.equal(keys(entity('events', '["extract",[["function","max","containment_path"]]]')), 'max');
  });

  it('projection: keys are in lower case', () => {
    assert.equal(keys(entity('inventory', '["extract",["facts.h.A B.t"]]')), 'facts.h.a b.t');
  });

  it('projection: of columns that agree in lower case the last is shown, in the place of the first', () => {
    for (const [names, shown] of [
      [['x', 'X', 'y'], 'facts.x=X facts.y=y'],
      [['X', 'x', 'X'], 'facts.x=x facts.x_2=X'],
      [['X', 'x', 'X', 'x'], 'facts.x=x facts.x_2=x'],
      // Those that are left are few enough to be in the order of the request.
      [['b', 'B', 'a', 'A', 'd', 'D', 'c', 'C', 'e'], 'facts.b=B facts.a=A facts.d=D facts.c=C facts.e=e'],
    ] as const) {
      const { columns } = entity('inventory', JSON.stringify(['extract', names.map((name) => `facts.${name}`)]));
      const found = columns.map((column) => {
        assert.ok(column.kind === 'field' && column.ref.kind === 'path');
        const [part] = column.ref.parts;
        return `${column.key}=${part?.kind === 'name' ? part.name : ''}`;
      });
      assert.equal(found.join(' '), shown);
    }
    const grouped = (names: string): string =>
      `["extract",[["function","count"],"facts.x","facts.X"],["group_by",${names}]]`;
    assert.equal(keys(entity('inventory', grouped('"facts.x","facts.X"'))), 'count facts.x');
    assert.match(entityError('inventory', grouped('"facts.X"')), /must appear in the GROUP BY clause/);
  });

  it('projection: keys end after 63 bytes, and are told apart by what is left', () => {
    const long = `facts.${'ü'.repeat(28)}`;
    assert.equal(keys(entity('inventory', `["extract",["${long}a","${long}"]]`)), `${long}a ${long}`);
    assert.equal(keys(entity('inventory', `["extract",["${long}ü","${long}€"]]`)), `${long} ${long}_2`);
  });

  it('projection: the version field of reports has two names', () => {
    const puppet = entity('reports', '["extract",["puppet_version","cm_version"]]');
    assert.equal(keys(puppet), 'puppet_version cm_version');
    for (const column of puppet.columns)
      assert.deepEqual(column.kind === 'field' && column.ref, { kind: 'field', field: 'puppet_version' });
    assert.match(keys(entity('reports', 'null', { vocabulary: 'neutral' })), /transaction_uuid cm_version noop/);
    assert.match(
      entityError('reports', '["=","zz",1]', { vocabulary: 'neutral' }),
      /'certname', 'cm_version', 'code_id'/,
    );
  });
});

describe('functions', () => {
  it('functions: to_string carries its mask and groups by its column', () => {
    const query =
      '["extract",[["function","to_string","end_time","YYYY"],["function","count"]],["group_by",["function","to_string","end_time","YYYY"]]]';
    const tree = entity('reports', query);
    assert.deepEqual(tree.columns[0], {
      kind: 'to_string',
      key: 'to_string',
      ref: { kind: 'field', field: 'end_time' },
      mask: 'YYYY',
    });
    assert.deepEqual(tree.groupBy, [{ kind: 'column', column: 0 }]);
  });

  it('functions: a call that is grouped by is its name, which may be that of a field', () => {
    const groups = (key: string): unknown =>
      entity('resources', `["extract",[["function","count"],"line"],["group_by",${key}]]`).groupBy;
    for (const key of ['["function","line"]', '["function","line","to_string","999"]'])
      assert.deepEqual(groups(key), groups('"line"'), key);
    const member = (key: string): unknown =>
      entity('inventory', `["extract",[["function","count"],"facts.os.family"],["group_by",${key}]]`).groupBy;
    assert.deepEqual(member('["function","facts.os.family"]'), member('"facts.os.family"'));
    assert.equal(
      entityError('resources', '["extract",[["function","count"]],["group_by",["function","zz"]]]'),
      '"zz" is niether a valid column name nor function name',
    );
  });

  it('functions: a mask has a bound', () => {
    const query = (length: number): string =>
      `["extract",[["function","to_string","end_time","${'Y'.repeat(length)}"]]]`;
    assert.equal(keys(entity('reports', query(1000))), 'to_string');
    assert.equal(entityError('reports', query(1001)), 'The mask of a to_string is longer than 1000 characters');
  });

  it('functions: masks of several to_string calls are handed out in reverse', () => {
    const calls = ['YYYY', 'MM', 'DD'].map((mask) => `["function","to_string","end_time","${mask}"]`);
    const { columns } = entity('reports', `["extract",[${calls}]]`);
    assert.deepEqual(
      columns.map((column) => column.kind === 'to_string' && [column.key, column.mask]),
      [
        ['to_string', 'DD'],
        ['to_string_2', 'MM'],
        ['to_string_3', 'YYYY'],
      ],
    );
  });

  it('functions: counting a name that is no field counts nulls', () => {
    assert.deepEqual(entity('nodes', '["extract",[["function","count","bogus"]]]').columns, [
      { kind: 'aggregate', key: 'count', fn: 'count', ref: null, absent: true },
    ]);
  });

  it('functions: numeric functions leave other values out of a facts query', () => {
    const query = '["extract",[["function","max","value"]],["=","name","a"]]';
    assert.deepEqual(entity('facts', query).filter, {
      kind: 'and',
      args: [
        { kind: 'jsonb-typeof', field: 'value', type: 'number' },
        { kind: 'eq', field: 'name', value: 'a', nullSafe: false },
      ],
    });
    assert.equal(entity('fact_contents', query).filter?.kind, 'eq');
  });

  it('functions: what is no field is a column of nulls, members of documents and pseudo fields too', () => {
    for (const [name, field] of [
      ['nodes', 'bogus'],
      ['inventory', 'facts.kernel'],
      ['resources', 'tag'],
    ] as const) {
      const columns = (call: string) => entity(name, `["extract",[["function","${call}","${field}"]]]`).columns;
      for (const fn of ['count', 'min', 'max']) {
        assert.deepEqual(columns(fn), [{ kind: 'aggregate', key: fn, fn, ref: null, absent: true }]);
      }
      assert.deepEqual(columns('jsonb_typeof'), [{ kind: 'null', key: 'jsonb_typeof' }]);
      for (const fn of ['sum', 'avg']) {
        assert.match(entityError(name, `["extract",[["function","${fn}","${field}"]]]`), /^ERROR: function/);
      }
    }
    // A column of nulls needs no group.
    entity('facts', '["extract",[["function","jsonb_typeof","zz"],["function","count"],"name"],["group_by","name"]]');
  });

  it('functions: fields that a function has no answer for are refused', () => {
    for (const call of [
      '"sum","certname"',
      '"max","latest_report_noop"',
      '"avg"',
      '"to_string","certname","Y"',
      '"to_string","report_timestamp"',
      '"count","a","b"',
      '"jsonb_typeof","certname"',
    ]) {
      assert.match(entityError('nodes', `["extract",[["function",${call}]]]`), /^ERROR: function/, call);
    }
  });
});

describe('grouping', () => {
  it('grouping: a member of a document is grouped by as it is projected', () => {
    const tree = entity('inventory', '["extract",["facts.a",["function","count"]],["group_by","facts.a"]]');
    assert.deepEqual(tree.groupBy, [
      { kind: 'ref', ref: { kind: 'path', root: 'facts', parts: [{ kind: 'name', name: 'a', quoted: false }] } },
    ]);
    assert.match(
      entityError('inventory', '["extract",[["function","count"]],["group_by","facts.a"]]'),
      /column "facts.a" does not exist/,
    );
  });

  it('grouping: parts of a document that is grouped by as a whole are columns of the groups', () => {
    const grouped = (name: EntityName, columns: readonly string[], ...keys: string[]) =>
      [name, JSON.stringify(['extract', [['function', 'count'], ...columns], ['group_by', ...keys]])] as const;
    for (const [name, query] of [
      grouped('resources', ['parameters.ensure', 'parameters'], 'parameters'),
      grouped('inventory', ['facts.kernel', 'certname'], 'facts', 'certname'),
      grouped('inventory', ['trusted', 'trusted.a', 'facts.os.name'], 'facts'),
    ]) {
      assert.notEqual(entity(name, query).groupBy, null, query);
    }
    for (const [name, query] of [
      grouped('inventory', ['facts'], 'trusted'),
      grouped('inventory', ['facts.kernel'], 'certname'),
      grouped('resources', ['parameters'], 'parameters.ensure'),
    ]) {
      assert.match(entityError(name, query), /must appear in the GROUP BY|does not exist/, query);
    }
  });

  it('grouping: groups are only ordered by what they are grouped by', () => {
    const query = '["extract",[["function","count"],"status"],["group_by","status"]]';
    assert.equal(entity('reports', query, { orderBy: [{ field: 'status' }] }).orderBy.length, 1);
    assert.match(entityError('reports', query, { orderBy: [{ field: 'certname' }] }), /must appear in the GROUP BY/);
    assert.match(
      entityError('reports', '["extract",[["function","count"]]]', { orderBy: [{ field: 'certname' }] }),
      /must appear/,
    );
  });

  it('grouping: an empty list of keys and a group of aggregates are refused', () => {
    assert.match(entityError('resources', '["extract",[["function","count"]],["group_by"]]'), /group_by/);
    assert.match(
      entityError('resources', '["extract",[["function","count"]],["group_by","count"]]'),
      /not allowed in GROUP BY/,
    );
  });

  it('grouping: by very many members, in a time that grows as their number does', () => {
    const members = Array.from({ length: 20_000 }, (_, i) => `facts.f${i}`);
    const query = JSON.stringify(['extract', [['function', 'count'], ...members], ['group_by', ...members]]);
    const spent = processorTime();
    assert.equal(entity('inventory', query).groupBy?.length, members.length);
    // Each compared with each other takes minutes.
    assert.ok(spent() < 20_000);
  });
});
