// Functions of fact values: a text that spells a number counts as that number, other values are left out.

import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { TextRecord } from '../../../../../engine/store/records/fields.ts';
import { ask, catalog, type Fleet, facts, newFleet, report } from '../../request/fleet.ts';

const SPELLED = ['120', ' 7 ', '1e3', '-0.50', '+.25'];
const NO_NUMBERS = ['', 'five', '0x10', 'NaN', '1 2', true, [1], {}];

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  [...SPELLED, ...NO_NUMBERS, null, 3].forEach((mixed, i) => {
    fleet.apply('replace facts', 5, facts(`n${i}`, { mixed }));
  });
  fleet.apply('replace facts', 5, facts('single', { num_string: '120', text: 'x' }));
});
after(() => fleet.close());

/** The answer's text: it shows the digits of numbers. */
function answered(path: string, columns: unknown, name: string, ...rest: unknown[]): string {
  const query = JSON.stringify(['extract', columns, ['=', 'name', name], ...rest]);
  const { head, text } = ask(fleet, { path, query: { query } });
  assert.equal(head.status, 200, text);
  return text;
}
const fn = (name: string) => ['function', name, 'value'];
const FUNCTIONS = ['sum', 'min', 'max', 'avg'].map(fn);
const BY_NAME = ['group_by', 'name'];

describe('functions of fact values: texts that spell numbers', () => {
  it('count in fact contents', () => {
    assert.equal(answered('/fact-contents', [fn('sum')], 'num_string'), '[{"sum":120}]');
    assert.equal(
      answered('/fact-contents', [fn('sum'), fn('min'), fn('max')], 'mixed'),
      '[{"sum":1130.75,"min":-0.50,"max":1000}]',
    );
  });

  it('count in groups, also in those of facts', () => {
    for (const path of ['/fact-contents', '/facts']) {
      const columns = [...FUNCTIONS, 'name'];
      assert.equal(
        answered(path, columns, 'num_string', BY_NAME),
        '[{"sum":120,"min":120,"max":120,"avg":120.0000000000000000,"name":"num_string"}]',
      );
      assert.equal(answered(path, [fn('sum'), 'name'], 'text', BY_NAME), '[{"sum":null,"name":"text"}]');
    }
  });

  it('do not count in facts without groups, where only numbers are looked at', () => {
    assert.equal(answered('/facts', [fn('sum')], 'num_string'), '[{"sum":null}]');
    assert.equal(
      answered('/facts', [...FUNCTIONS, ['function', 'count']], 'mixed'),
      '[{"sum":3,"min":3,"max":3,"avg":3.0000000000000000,"count":1}]',
    );
  });

  it('in groups of facts, values that do not count are rows all the same', () => {
    const columns = [['function', 'count'], fn('sum'), 'name'];
    const count = SPELLED.length + NO_NUMBERS.length + 2;
    assert.equal(answered('/facts', columns, 'mixed', BY_NAME), `[{"count":${count},"sum":1129.75,"name":"mixed"}]`);
  });
});

describe('groups', () => {
  const NODES = 40;
  let many: Fleet;
  before(() => {
    many = newFleet();
    for (let i = 0; i < NODES; i++) {
      const own = facts(`many${i}`, { name: `n${i}`, shared: 'a', spelled: 1, missing: i % 2 === 0 ? null : 'x' });
      // Equal numbers, of which each node has its own spelling.
      const written = JSON.stringify(own).replace('"spelled":1', i % 2 === 0 ? '"spelled":1.0' : '"spelled":1');
      many.apply('replace facts', 5, own, written);
    }
  });
  after(() => many.close());

  const ofMany = (query: unknown, more: Record<string, string> = {}): string => {
    const { head, text } = ask(many, { path: '/facts', query: { query: JSON.stringify(query), ...more } });
    assert.equal(head.status, 200, text);
    return text;
  };
  const grouped = (by: readonly string[], filter: unknown): unknown => [
    'extract',
    [...by, ['function', 'count']],
    filter,
    ['group_by', ...by],
  ];

  it('show the spelling that their own rows have, also where other groups have an equal value', () => {
    const byNode = ofMany(grouped(['certname', 'value'], ['=', 'name', 'spelled']));
    assert.equal(byNode.split('"value":1.0').length - 1, NODES / 2);
    assert.equal(byNode.split('"value":1}').length - 1, NODES / 2);
    assert.match(ofMany(grouped(['value'], ['=', 'name', 'spelled'])), /^\[\{"count":40,"value":1(\.0)?\}\]$/);
  });

  it('come in the order of what they are grouped by, missing values and pages included', () => {
    const order = (...terms: unknown[]) => ({ order_by: JSON.stringify(terms) });
    const query = grouped(['value', 'certname'], ['in', 'name', ['array', ['missing', 'shared']]]);
    const rows = JSON.parse(ofMany(query)) as { certname: string; value: string | null }[];
    const byValue = order({ field: 'value', order: 'desc' }, { field: 'certname' });
    const expected = rows.toSorted(
      (a, b) =>
        Number(b.value !== null) - Number(a.value !== null) ||
        (b.value ?? '').localeCompare(a.value ?? '') ||
        (a.certname < b.certname ? -1 : 1),
    );
    assert.deepEqual(JSON.parse(ofMany(query, byValue)), expected);
    assert.deepEqual(JSON.parse(ofMany(query, { ...byValue, limit: '7', offset: '30' })), expected.slice(30, 37));
  });

  it('have a text made once, however many of them show it', () => {
    const write = mock.method(TextRecord.prototype, 'write');
    try {
      const rows = JSON.parse(ofMany(grouped(['certname', 'name'], ['~', 'name', '.']))) as unknown[];
      assert.equal(rows.length, NODES * 4);
      assert.equal(write.mock.callCount(), NODES + 4);
    } finally {
      write.mock.restore();
    }
  });
});

describe('functions and groups of what is seldom asked for', () => {
  it('of what is no field nothing is counted, nothing is the least', () => {
    const columns = ['count', 'min', 'max'].map((name) => ['function', name, 'zz']);
    assert.equal(answered('/facts', columns, 'mixed'), '[{"count":0,"min":null,"max":null}]');
  });

  it('names of columns are written as JSON', () => {
    const member = 'facts."num_string"';
    const query = JSON.stringify(['extract', [['function', 'count'], member], ['group_by', member]]);
    const { text } = ask(fleet, { path: '/inventory', query: { query } });
    const groups = JSON.parse(text) as Record<string, unknown>[];
    assert.deepEqual(
      groups.map((group) => `${group['count']} ${group[member]}`),
      [`${SPELLED.length + NO_NUMBERS.length + 2} null`, '1 120'],
    );
  });
});

describe('functions of what is written in several ways', () => {
  let some: Fleet;
  before(() => {
    some = newFleet();
    for (let i = 0; i < 6; i++) {
      const certname = `n${i}`;
      const values = { spelled: 'one', turned: 'other', os: i === 0 ? { x: null } : { list: ['a', { b: 1 }] } };
      // Equal numbers: each node spells one of the facts as others spell the other one.
      const [one, other] = i % 2 === 0 ? ['1', '1.0'] : ['1.0', '1'];
      const written = JSON.stringify(facts(certname, values)).replace('"one"', one).replace('"other"', other);
      some.apply('replace facts', 5, facts(certname, values), written);
      const whole = catalog(certname);
      const [first] = whole.resources;
      const resources = [{ ...first!, file: '/site.pp', line: i === 0 ? 30 : 10 }];
      some.apply('replace catalog', 9, { ...whole, edges: [], resources });
      some.apply('store report', 8, report(certname));
    }
  });
  after(() => some.close());

  const rows = (path: string, columns: unknown, ...rest: unknown[]): string => {
    const query = JSON.stringify(['extract', columns, ...rest]);
    const { head, text } = ask(some, { path, query: { query } });
    assert.equal(head.status, 200, text);
    return text;
  };
  const fnOf = (name: string, field: string) => ['function', name, field];

  it('an average counts each row of what nodes share', () => {
    assert.equal(
      rows('/resources', [fnOf('avg', 'line'), fnOf('sum', 'line')]),
      '[{"avg":13.3333333333333333,"sum":80}]',
    );
  });

  it('equal numbers keep the digits that each of them has', () => {
    for (const path of ['/facts', '/fact-contents']) {
      for (const name of ['spelled', 'turned']) {
        const found = rows(path, [fn('sum'), 'environment'], ['=', 'name', name], ['group_by', 'environment']);
        assert.equal(found, '[{"sum":6.0,"environment":"production"}]', `${path} ${name}`);
      }
    }
  });

  it('the greatest path has texts only, values of events are those that are stored', () => {
    assert.equal(rows('/fact-contents', [fnOf('max', 'path')], ['=', 'name', 'os']), '[{"max":["os","x"]}]');
    const inList = ['and', ['=', 'name', 'os'], ['=', 'certname', 'n1']];
    assert.equal(rows('/fact-contents', [fnOf('max', 'path')], inList), '[{"max":["os","list","1","b"]}]');
    assert.equal(
      rows('/events', [fnOf('max', 'new_value'), fnOf('min', 'message')]),
      '[{"max":"\\"0644\\"","min":"changed"}]',
    );
  });

  it('a member that is null is another one than a member that is missing', () => {
    const found = rows('/inventory', [['function', 'count'], 'facts.os.x'], ['group_by', 'facts.os.x']);
    const counts = (JSON.parse(found) as { count: number }[]).map(({ count }) => count);
    assert.deepEqual(counts.sort(), [1, 5]);
  });
});

describe('functions and groups of tags', () => {
  it('a tag that is the name of the node tells its resources apart from those of others', async () => {
    const tagged = newFleet();
    const rows = (columns: unknown, ...rest: unknown[]): unknown => {
      const query = JSON.stringify(['extract', columns, ['~', 'title', ''], ...rest]);
      return JSON.parse(ask(tagged, { path: '/resources', query: { query } }).text);
    };
    try {
      for (const certname of ['a', 'b', 'c']) {
        const whole = catalog(certname);
        const [own, shared] = whole.resources;
        const resources = [{ ...own!, tags: [certname], file: '/site.pp' }, shared!];
        tagged.apply('replace catalog', 9, { ...whole, resources });
      }
      const groups = rows([['function', 'count'], 'tags'], ['group_by', 'tags']) as { count: number; tags: string[] }[];
      const told = groups.map(({ count, tags }) => `${count} ${tags}`).sort();
      assert.deepEqual(told, ['1 a', '1 b', '1 c', '3 file']);
      assert.deepEqual(rows([['function', 'min', 'tags']]), [{ min: ['a'] }]);
      // What is null is not counted.
      assert.deepEqual(rows([['function', 'count', 'file']]), [{ count: 3 }]);
      assert.deepEqual(rows([['function', 'max', 'tags']]), [{ max: ['file'] }]);
      const byNode = rows([['function', 'min', 'tags'], 'certname'], ['group_by', 'certname']) as { min: string[] }[];
      assert.deepEqual(byNode.map(({ min }) => `${min}`).sort(), ['a', 'b', 'c']);
    } finally {
      await tagged.close();
    }
  });
});
