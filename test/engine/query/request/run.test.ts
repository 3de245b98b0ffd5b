import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { expireNodes } from '../../../../engine/retention/nodes.ts';
import { type Asked, ask, catalog, type Fleet, facts, NOW, newFleet, type Reply, report } from './fleet.ts';

let fleet: Fleet;
let agentReport: string;
let planReport: string;

before(() => {
  fleet = newFleet();
  for (let n = 0; n < 300; n++) {
    fleet.apply(
      'replace facts',
      5,
      facts(`n${String(n).padStart(3, '0')}`, { kernel: 'Línux ☃', n, os: { major: 12 } }),
    );
  }
  fleet.apply('replace facts', 5, facts('gone', { kernel: 'BSD' }, 'test'));
  fleet.apply('deactivate node', 3, { certname: 'gone', producer_timestamp: '2026-11-20T12:00:00Z' });
  fleet.apply('replace catalog', 9, catalog('n000'));
  agentReport = fleet.apply('store report', 8, report('n000')) ?? '';
  planReport = fleet.apply('store report', 8, report('n001', { type: 'plan', environment: 'test' })) ?? '';
});
after(() => fleet.close());

const json = (asked: Asked): unknown => {
  const reply = ask(fleet, asked);
  assert.equal(reply.head.status, 200, reply.text);
  assert.equal(reply.head.contentType, 'application/json;charset=utf-8');
  return JSON.parse(reply.text);
};
const refused = (reply: Reply, status: number, text: string | RegExp): void => {
  assert.equal(reply.head.status, status, reply.text);
  assert.equal(reply.head.contentType, 'text/plain;charset=utf-8');
  if (typeof text === 'string') assert.equal(reply.text, text);
  else assert.match(reply.text, text);
};
const select = (columns: unknown, filter: unknown): string => JSON.stringify(['extract', columns, filter]);

describe('answers: where work that nobody can divide is bounded', () => {
  const long = 'x'.repeat(40_000);
  const catalogOf = (count: number) => ({
    ...catalog('n000'),
    edges: [],
    resources: Array.from({ length: count }, (_, i) => ({
      type: 'File',
      title: `${i} ${long.slice(0, 400)}`,
      exported: false,
      tags: [],
      file: null,
      line: null,
      parameters: {},
    })),
  });
  const bounded = (asked: Asked): Reply =>
    ask(own, { ...asked, store: { undivided: { itemMax: 20_000, writtenMax: 300_000 } } });
  const own = newFleet();
  after(() => own.close());
  own.apply('replace facts', 5, facts('a', { long, short: 'x' }));
  own.apply('replace catalog', 9, catalogOf(3000));

  it('a larger item, or document, ends the query, wherever it is met', () => {
    const isX = (name: string) => ['and', ['=', 'name', name], ['~', 'value', '^x']];
    for (const [path, filter] of [
      ['/facts', isX('long')],
      ['/fact-contents', isX('long')],
      ['/nodes', ['~', ['fact', 'long'], '^x']],
      ['/inventory', ['~', 'facts.long', '^x']],
    ] as const)
      refused(bounded({ path, query: { query: select(['certname'], filter) } }), 500, /longer than 20000 bytes$/);
    refused(bounded({ path: '/catalogs/n000' }), 500, /longer than 300000 bytes$/);
    refused(bounded({ path: '/catalogs/n000', query: { pretty: 'true' } }), 500, /longer than 300000 bytes$/);
    assert.equal(
      JSON.parse(bounded({ path: '/facts', query: { query: select(['name'], isX('short')) } }).text).length,
      1,
    );
  });
  it('an answer of many rows is as long as it is', () => {
    const { head, text } = bounded({ path: '/catalogs/n000/resources' });
    assert.equal(head.status, 200, text);
    assert.equal((JSON.parse(text) as unknown[]).length, 3000);
  });
});

describe('answers: the name of one fact is a path', () => {
  const named = (op: string, name: string, value: string): Asked => ({
    path: '/nodes',
    query: { query: select(['certname'], [op, ['fact', name], value]) },
  });
  it('but match() in it is not expanded', () => {
    assert.ok((json(named('=', 'kernel', 'Línux ☃')) as unknown[]).length > 0);
    assert.deepEqual(json(named('=', 'match("kern.*")', 'Línux ☃')), []);
    const text = 'No matching clause: :puppetlabs.puppetdb.query-eng.parse/match-field-part';
    refused(ask(fleet, named('~', 'match("kern.*")', 'Lin')), 400, text);
    const inFacts = (op: string) =>
      select(
        ['certname'],
        [
          'in',
          'certname',
          [
            'extract',
            'certname',
            ['select_facts', ['and', ['=', 'name', 'match("kern.*")'], [op, 'value', 'Línux ☃']]],
          ],
        ],
      );
    assert.deepEqual(json({ path: '/nodes', query: { query: inFacts('=') } }), []);
    refused(ask(fleet, { path: '/nodes', query: { query: inFacts('~') } }), 400, text);
  });
  it('digits are the key of a map where another part has an index', () => {
    const own = newFleet();
    own.apply('replace facts', 5, facts('a', { disks: [{ sizes: [1], map: { 0: 1 } }] }));
    const found = (field: string) =>
      (
        JSON.parse(
          ask({ ...own }, { path: '/inventory', query: { query: select(['certname'], ['=', field, 1]) } }).text,
        ) as unknown[]
      ).length;
    assert.equal(found('facts.disks[0].sizes.0'), 0);
    assert.equal(found('facts.disks[0].map.0'), 1);
    assert.equal(found('facts.disks.0.sizes.0'), 1);
    return own.close();
  });
});

describe('answers: documents as members of a subquery', () => {
  it('are compared as values, numbers of any size among them', async () => {
    const own = newFleet();
    try {
      own.apply('replace facts', 5, facts('big', { trusted: { a: { x: 1, y: 2 } }, n: 1 }));
      // Printed as an integer of 21 digits.
      own.apply('replace facts', 5, facts('exact', { n: 1e20 }));
      const query = JSON.stringify(['in', 'facts', ['extract', 'facts', ['select_inventory', ['~', 'certname', '.']]]]);
      const reply = ask(own, { path: '/inventory', query: { query } });
      assert.equal(reply.head.status, 200, reply.text);
      assert.equal((JSON.parse(reply.text) as unknown[]).length, 2);
    } finally {
      await own.close();
    }
  });
});

describe('answers: paths that are found', () => {
  it('one alone takes the values that a field takes, several take any', () => {
    const asked = (op: string, pattern: string, value: unknown): Reply => {
      const query = JSON.stringify([op, `facts.match("${pattern}")`, value]);
      return ask(fleet, { path: '/inventory', query: { query, limit: '1' } });
    };
    for (const op of ['~', '>', '<=']) {
      for (const value of [{ a: 1 }, ['a', 1.5], [[]]]) {
        refused(asked(op, '^kernel$', value), 400, `Invalid ${op} clause`);
        assert.equal(asked(op, '^(kernel|n)$', value).head.status, 200);
      }
      assert.equal(asked(op, '^kernel$', ['a', 1]).head.status, 200);
    }
    assert.equal(asked('=', '^kernel$', { a: 1 }).head.status, 200);
    refused(asked('>', '^nothing$', { a: 1 }), 400, /^No implementation of method/);
  });
});

describe('answers: conditions on what is null, or of another kind', () => {
  const own = newFleet();
  after(() => own.close());
  own.apply('replace facts', 5, facts('a', { nothing: null, map: { x: 1 }, text: 'a text', number: 7, low: -7 }));
  own.apply('replace facts', 5, facts('b', {}));
  own.apply('store report', 8, report('a'));
  for (const certname of ['a', 'b']) {
    const { resources, ...rest } = catalog(certname);
    const named = { ...resources[0]!, tags: ['file', certname] };
    own.apply('replace catalog', 9, { ...rest, edges: [], resources: [named, resources[1]] });
  }
  const shown = (path: string, column: string, filter: unknown): unknown[] => {
    const { head, text } = ask(own, { path, query: { query: select([column], filter) } });
    assert.equal(head.status, 200, text);
    return (JSON.parse(text) as Record<string, unknown>[]).map((row) => row[column]).sort();
  };

  it('values of facts: of a text that null has nothing is known, and numbers are compared with numbers', () => {
    assert.deepEqual(shown('/facts', 'name', ['~', 'value', 'x']), ['map', 'text']);
    assert.deepEqual(shown('/facts', 'name', ['not', ['~', 'value', 'x']]), ['low', 'number']);
    assert.deepEqual(shown('/facts', 'name', ['>', 'value', 0]), ['number']);
    assert.deepEqual(shown('/facts', 'name', ['<=', 'value', 0]), ['low']);
    assert.deepEqual(shown('/facts', 'name', ['not', ['<=', 'value', 0]]), ['map', 'nothing', 'number', 'text']);
  });

  it('a path that is missing has no element that matches', () => {
    assert.deepEqual(shown('/events', 'property', ['~', 'containment_path', 'x']), []);
    assert.deepEqual(shown('/events', 'property', ['not', ['~', 'containment_path', 'x']]), ['mode']);
  });

  it('a tag may be the name of the node', () => {
    assert.deepEqual(shown('/resources', 'certname', ['=', 'tag', 'a']), ['a']);
    assert.deepEqual(shown('/resources', 'certname', ['=', 'tag', 'file']), ['a', 'a', 'b', 'b']);
    assert.deepEqual(shown('/resources', 'title', ['and', ['=', 'certname', 'b'], ['not', ['=', 'tag', 'b']]]), [
      '/etc/motd',
    ]);
  });

  it('among nothing is nothing, what is null neither', () => {
    for (const field of ['report_timestamp', 'latest_report_hash', 'certname']) {
      assert.deepEqual(shown('/nodes', 'certname', ['in', field, ['array', []]]), []);
      assert.deepEqual(shown('/nodes', 'certname', ['not', ['in', field, ['array', []]]]), ['a', 'b']);
    }
  });
});

describe('answers: fact values among those of a list', () => {
  it('are found by value, whatever the length of the list', async () => {
    const own = newFleet();
    const values = [5, 5.5, 1e20, '5', '', true, false, null, [], {}, [1, 'a'], { b: 1, a: [2] }, 9007199254740992, -1];
    try {
      own.apply('replace facts', 5, facts('n', Object.fromEntries(values.map((value, i) => [`f${i}`, value]))));
      const found = (texts: readonly string[]): string[] => {
        const query = `["in","value",["array",[${texts.join()}]]]`;
        const rows = JSON.parse(ask(own, { path: '/facts', query: { query } }).text) as { name: string }[];
        return rows.map(({ name }) => name).sort();
      };
      const wanted = [
        '5.0',
        '"5"',
        '100000000000000000000',
        'true',
        'null',
        '[]',
        '[1,"a"]',
        '[1.0,"a"]',
        '{"a":[2.0],"b":1}',
      ];
      wanted.push('9007199254740993', '-1.0', '"a"', '[2]');
      const expected = [...new Set(wanted.flatMap((text) => found(['"none"', text])))].sort();
      assert.equal(expected.length, 9);
      for (const length of [0, 10, 3000]) {
        const others = Array.from({ length }, (_, i) => String(i + 1000));
        assert.deepEqual(found([...wanted, ...others]), expected);
      }
    } finally {
      await own.close();
    }
  });
});

describe('answers: fact values compared with columns that count as texts', () => {
  it('as what these are in JSON', async () => {
    const own = newFleet();
    try {
      const when = '2026-11-20T12:00:00.5+00:00';
      own.apply('replace facts', 5, facts('a', { yes: true, no: false, text: 'false', when }));
      own.apply('replace catalog', 9, catalog('a'));
      own.apply('store report', 8, report('a'));
      own.apply('replace facts', 5, facts('gone', {}));
      own.apply('deactivate node', 3, { certname: 'gone', producer_timestamp: '2026-11-20T12:00:00.500Z' });
      const found = (entity: string, column: string, filter: unknown): unknown => {
        const query = JSON.stringify(['in', 'value', ['from', entity, ['extract', [column], filter]]]);
        const reply = ask(own, { path: '/facts', query: { query } });
        assert.equal(reply.head.status, 200, reply.text);
        return (JSON.parse(reply.text) as { name: string }[]).map(({ name }) => name);
      };
      assert.deepEqual(found('resources', 'exported', ['=', 'type', 'File']), ['no']);
      assert.deepEqual(found('reports', 'corrective_change', ['=', 'certname', 'a']), []);
      assert.deepEqual(found('nodes', 'deactivated', ['=', 'node_state', 'inactive']), ['when']);
    } finally {
      await own.close();
    }
  });
});

describe('answers: inactive nodes', () => {
  it('count until the moment from which they may be deleted', async () => {
    const own = newFleet();
    try {
      const day = 86_400_000;
      for (const [certname, ms] of [
        ['just', NOW - day],
        ['still', NOW - day + 1],
        ['long', NOW - day - 1],
      ] as const) {
        own.apply('deactivate node', 3, { certname, producer_timestamp: new Date(ms).toISOString() });
      }
      const found = (nodePurgeTtl: number): unknown => {
        const query = JSON.stringify(['extract', 'certname', ['=', 'node_state', 'inactive']]);
        const reply = ask(own, { path: '/nodes', query: { query }, settings: { nodePurgeTtl } });
        return (JSON.parse(reply.text) as { certname: string }[]).map(({ certname }) => certname).sort();
      };
      assert.deepEqual(found(day), ['still']);
      assert.deepEqual(found(0), ['just', 'long', 'still']);
    } finally {
      await own.close();
    }
  });

  it('are those that were deactivated or fell silent, also beside a condition on something else', async () => {
    const own = newFleet();
    try {
      for (const certname of ['a', 'left', 'silent']) own.apply('replace catalog', 9, catalog(certname));
      own.apply('deactivate node', 3, { certname: 'left', producer_timestamp: new Date(NOW).toISOString() });
      own.apply('replace facts', 5, { ...facts('a', {}), producer_timestamp: new Date(NOW).toISOString() });
      for (const partition of own.partitions) expireNodes(partition, { now: NOW, ttl: 3_600_000 }).step();
      const titled = (name: string): unknown => ['=', 'title', `/etc/${name}`];
      const found = (...either: readonly unknown[]): unknown => {
        const query = select(['certname', 'title'], ['and', ['=', 'node_state', 'any'], ['or', ...either]]);
        const { head, text } = ask(own, { path: '/resources', query: { query } });
        assert.equal(head.status, 200, text);
        return (JSON.parse(text) as { certname: string; title: string }[])
          .map(({ certname, title }) => `${certname} ${title}`)
          .sort();
      };
      const motd = ['a /etc/motd', 'left /etc/motd', 'silent /etc/motd'];
      const [active, inactive] = ['active', 'inactive'].map((state) => ['=', 'node_state', state]);
      assert.deepEqual(found(active, titled('motd')), ['a /etc/hosts', ...motd]);
      assert.deepEqual(found(inactive, titled('motd')), [...motd, 'left /etc/hosts', 'silent /etc/hosts'].sort());
      const both = found(['and', active, titled('hosts')], ['and', inactive, titled('motd')]);
      assert.deepEqual(both, ['a /etc/hosts', 'left /etc/motd', 'silent /etc/motd']);
    } finally {
      await own.close();
    }
  });
});

describe('answers: values of any size', () => {
  it('more than lmdb copies (16 MB) in a fact, a parameter and a list of a report', async () => {
    const own = newFleet();
    try {
      const text = (letter: string): string => letter.repeat(17 << 20);
      own.apply('replace facts', 5, facts('big', { kernel: 'Linux', large: text('f') }));
      const { resources, ...rest } = catalog('big');
      const large = { ...resources[0]!, parameters: { content: text('p') } };
      own.apply('replace catalog', 9, { ...rest, resources: [large, resources[1]] });
      // Lines that are alike are not stored again.
      const logs = Array.from({ length: 1100 }, (_, line) => ({
        file: null,
        line,
        level: 'notice',
        message: String.fromCharCode(0x61 + (line % 26)).repeat(16 << 10),
        source: 'Puppet',
        tags: [],
        time: '2026-11-20T00:00:00.000Z',
      }));
      const hash = own.apply('store report', 8, report('big', { logs }));
      const get = (asked: Asked): string => {
        const reply = ask(own, asked);
        assert.equal(reply.head.status, 200, reply.text.slice(0, 200));
        return reply.text;
      };
      const [fact] = JSON.parse(get({ path: '/facts/large' })) as { value: string }[];
      assert.equal(fact?.value, text('f'));
      const found = JSON.parse(get({ path: '/resources/File/%2Fetc%2Fhosts' })) as [
        { parameters: { content: string } },
      ];
      assert.equal(found[0].parameters.content, text('p'));
      const ofCatalog = JSON.parse(get({ path: '/catalogs/big/resources' })) as { parameters: { content?: string } }[];
      assert.ok(ofCatalog.some(({ parameters }) => parameters.content === text('p')));
      assert.deepEqual(JSON.parse(get({ path: `/reports/${hash}/logs` })), logs);
      const inventory = JSON.parse(get({ path: '/inventory' })) as { facts: { large: string } }[];
      assert.equal(inventory[0]?.facts.large, text('f'));
    } finally {
      await own.close();
    }
  });
});

describe('answers: values that nest deeper than stored ones can', () => {
  const settings = { queryDepthMax: 5000 };
  const value = `${'['.repeat(1001)}1${']'.repeat(1001)}`;
  const distinct = { distinct_resources: 'true', distinct_start_time: '2000', distinct_end_time: '2100' };
  for (const asked of [
    { path: '/resources', query: { query: `["=",["parameter","ensure"],${value}]` } },
    { path: '/resources', query: { query: `["~",["parameter","ensure"],${value}]` } },
    { path: '/events', query: { query: `["=","new_value",${value}]` } },
    { path: '/events', query: { query: `["=","new_value",${value}]`, ...distinct } },
  ]) {
    it(`are refused: ${asked.path}${asked.query.query.slice(0, 20)}`, () => {
      refused(
        ask(fleet, { ...asked, settings }),
        400,
        'A value in the query is nested too deeply: the limit is 1000 levels',
      );
    });
  }

  it('are found nowhere', () => {
    assert.deepEqual(json({ path: '/facts', query: { query: `["=","value",${value}]` }, settings }), []);
  });
});

describe('answers: what the server asks itself', () => {
  it('sizes of a list in all reports are numbers, and no client can ask for them', () => {
    for (const part of ['logs', 'metrics']) {
      const path = `/report-sizes/${part}`;
      const sizes = json({ api: 'internal', path, body: {} }) as number[];
      assert.equal(sizes.length, 2);
      for (const size of sizes) assert.ok(size > 0 && size < 1000, `${size}`);
      for (const api of ['query', 'ext'] as const) assert.equal(ask(fleet, { api, path }).head.status, 404);
    }
    assert.equal(ask(fleet, { api: 'internal', path: '/nodes' }).head.status, 404);
  });
});

describe('answers: lists', () => {
  it('a short one comes whole with its head', () => {
    const reply = ask(fleet, { path: '/facts/kernel', query: { query: '["=","certname","n007"]' } });
    assert.equal(reply.head.body, '[{"certname":"n007","environment":"production","name":"kernel","value":"Línux ☃"}]');
    assert.deepEqual(reply.chunks, []);
    assert.equal(ask(fleet, { path: '/facts/nope' }).text, '[]');
  });

  it('the bytes of one last until it is closed, whatever is asked meanwhile', () => {
    const long = { path: '/facts', query: { query: '["~","certname","n"]' } };
    const first = ask(fleet, long);
    const bytes = first.head.body as Uint8Array;
    assert.ok(bytes.length > 10_000);
    const second = ask(fleet, { path: '/facts', query: { query: '["=","name","n"]', pretty: 'true' } });
    assert.notEqual(second.text, first.text);
    assert.equal(Buffer.from(bytes).toString(), first.text);
    first.run.close();
    second.run.close();
    assert.equal(ask(fleet, long).text, first.text);
  });

  it('a long one comes in parts of about the wanted size that make up the same text', () => {
    const query = {
      query: '["extract",["certname","value"],["=","name","kernel"]]',
      order_by: '[{"field":"certname"}]',
    };
    const whole = ask(fleet, { path: '/facts', query, bytesMax: 1e6 });
    const parts = ask(fleet, { path: '/facts', query, bytesMax: 2000 });
    assert.equal(parts.head.body, null);
    assert.equal(parts.text, whole.text);
    assert.ok(parts.chunks.length >= 5);
    for (const size of parts.chunks) assert.ok(size < 4000);
  });

  it('pretty is Jackson’s form', () => {
    const asked: Asked = {
      path: '/nodes/n007/facts',
      query: { pretty: 'true', query: select(['name'], ['=', 'name', 'n']) },
    };
    assert.equal(ask(fleet, asked).text, '[ {\n  "name" : "n"\n} ]');
    assert.equal(ask(fleet, { path: '/facts/nope', query: { pretty: 'true' } }).text, '[ ]');
    assert.equal(ask(fleet, { path: '/facts/nope', settings: { prettyPrint: true } }).text, '[ ]');
    const off: Asked = { path: '/facts/nope', query: { pretty: 'false' }, settings: { prettyPrint: true } };
    assert.equal(ask(fleet, off).text, '[]');
  });

  it('what becomes hundreds of times as long comes in parts, too, one row or several', async () => {
    const own = newFleet();
    try {
      let deep: unknown = 1;
      for (let depth = 0; depth < 300; depth++) deep = { a: deep };
      for (const certname of ['a', 'b']) own.apply('replace facts', 5, facts(certname, { deep, list: [deep, deep] }));
      const paths = ['/factsets', '/facts/deep', '/factsets/a', '/inventory'];
      for (const path of paths) {
        const query = { pretty: 'true' };
        const whole = ask(own, { path, query, bytesMax: 1e9 });
        const parts = ask(own, { path, query, bytesMax: 10_000 });
        assert.equal(parts.text, whole.text, path);
        const compact = JSON.stringify(JSON.parse(whole.text));
        assert.ok(whole.text.length > 50 * compact.length, `${whole.text.length}, ${compact.length} bytes`);
        if (path === '/factsets/a') continue;
        assert.equal(parts.head.body, null);
        assert.ok(parts.chunks.length >= 10, `${parts.chunks.length} parts`);
        for (const size of parts.chunks) assert.ok(size < 50_000, `${size} bytes`);
      }
      own.apply('replace facts', 5, facts('a', { lists: Array.from({ length: 20 }, () => deep) }));
      const one = ask(own, { path: '/factsets/a', bytesMax: 10_000 });
      assert.equal((JSON.parse(one.text) as { certname: string }).certname, 'a');
      assert.ok(one.chunks.length > 1, 'one thing, however long');
      for (const size of one.chunks) assert.ok(size < 2 << 20, `${size} bytes`);
      const ast = ['from', 'inventory', ['=', 'facts.lists', Array.from({ length: 20 }, () => deep)]];
      const echo = ask(own, { path: '', query: { query: JSON.stringify(ast), ast_only: 'true' }, bytesMax: 10_000 });
      assert.deepEqual(JSON.parse(echo.text), ast);
      assert.ok(echo.chunks.length > 1, 'the query itself');
    } finally {
      await own.close();
    }
  });

  it('include_total adds X-Records, which ignores paging', () => {
    const reply = ask(fleet, { path: '/nodes', query: { limit: '2', offset: '5', include_total: 'true' } });
    assert.deepEqual(reply.head.headers, [['X-Records', '300']]);
    assert.equal((JSON.parse(reply.text) as unknown[]).length, 2);
    assert.deepEqual(ask(fleet, { path: '/nodes', query: { limit: '2' } }).head.headers, []);
    const streamed = ask(fleet, { path: '/facts', query: { include_total: 'true' }, bytesMax: 500 });
    assert.deepEqual(streamed.head.headers, [['X-Records', '900']]);
  });

  it('fact names are texts, whatever the projection', () => {
    assert.deepEqual(json({ path: '/fact-names' }), ['kernel', 'n', 'os']);
    assert.deepEqual(json({ path: '/fact-names', query: { query: select(['name'], ['~', 'name', 'k']) } }), ['kernel']);
    assert.deepEqual(
      json({ path: '/fact-names', query: { order_by: '[{"field":"name","order":"desc"}]', limit: '1' } }),
      ['os'],
    );
  });

  it('the root takes PQL and AST, in a URL and in a body', () => {
    const rows = [{ certname: 'n007' }];
    const ast = ['from', 'nodes', ['extract', ['certname'], ['=', 'certname', 'n007']]];
    assert.deepEqual(json({ query: { query: 'nodes[certname]{certname = "n007"}' } }), rows);
    assert.deepEqual(json({ query: { query: ` ${JSON.stringify(ast)}` } }), rows);
    assert.deepEqual(json({ body: { query: ast } }), rows);
    refused(ask(fleet, { body: {} }), 400, 'This query must be of the form ["from", <entity>, (<optional-query>)].');
  });

  it('routes add their filters; active nodes only unless the query says otherwise', () => {
    assert.deepEqual(json({ path: '/nodes/gone/facts' }), []);
    const query = { query: '["=","node_state","any"]' };
    assert.deepEqual(json({ path: '/environments/test/facts/kernel/BSD', query }), [
      { certname: 'gone', environment: 'test', name: 'kernel', value: 'BSD' },
    ]);
    assert.deepEqual(
      json({ path: '/catalogs/n000/edges', query: { query: '["extract",["source_title","target_title"]]' } }),
      [{ source_title: '/etc/hosts', target_title: '/etc/motd' }],
    );
    assert.equal((json({ path: `/reports/${agentReport}/events` }) as unknown[]).length, 1);
    assert.deepEqual(json({ path: `/environments/test/reports/${agentReport}/events` }), []);
  });
});

describe('answers: one thing', () => {
  it('is always pretty and ignores query and paging, which are parsed all the same', () => {
    const text = '{\n  "name" : "production"\n}';
    assert.equal(ask(fleet, { path: '/environments/production' }).text, text);
    assert.equal(ask(fleet, { path: '/environments/production', method: 'PUT' }).text, text);
    const node = json({
      path: '/nodes/gone',
      query: { query: '["=","bogus",1]', limit: '1', order_by: '[{"field":"x"}]' },
    });
    assert.equal((node as { certname: string }).certname, 'gone');
    refused(ask(fleet, { path: '/nodes/gone', query: { query: '[' } }), 400, /^Json parse error/);
  });

  it('a POST for one thing says all in its body, unlike one for a list', () => {
    const expiration = (path: string, body: object): boolean =>
      'expires_facts' in ([json({ path, query: { include_facts_expiration: 'true' }, body })].flat()[0] as object);
    assert.ok(!expiration('/nodes/n007', {}));
    assert.ok(expiration('/nodes/n007', { include_facts_expiration: true }));
    assert.ok(expiration('/nodes', { query: ['=', 'certname', 'n007'] }));
  });

  it('that is not there is a 404 with its name', () => {
    for (const [path, what] of [
      ['/nodes/', 'node '],
      ['/nodes/nope/facts', 'node nope'],
      ['/catalogs/n001', 'catalog n001'],
      ['/factsets/nope/facts', 'factset nope'],
      ['/environments/a%20b', 'environment a b'],
      ['/producers/nope/catalogs', 'producer nope'],
      [`/reports/${'a'.repeat(40)}/logs`, `report ${'a'.repeat(40)}`],
      [`/reports/${agentReport.toUpperCase()}/events`, `report ${agentReport.toUpperCase()}`],
    ] as const) {
      const reply = ask(fleet, { path });
      assert.equal(reply.head.status, 404, path);
      assert.equal(reply.head.contentType, 'application/json;charset=utf-8');
      assert.equal(reply.text, `{\n  "error" : "No information is known about ${what}"\n}`);
    }
    const unknown = ask(fleet, { path: '/bogus' });
    assert.deepEqual([unknown.head.status, unknown.text], [404, 'Not Found']);
  });

  it('parents come before or after the method check, as the route says', () => {
    assert.equal(ask(fleet, { path: '/environments/nope/facts', method: 'PUT' }).head.status, 404);
    refused(
      ask(fleet, { path: '/nodes/nope/facts', method: 'PUT' }),
      400,
      'PuppetDB queries must be made via GET/POST',
    );
  });

  it('logs and metrics below a parent are asked for like the reports there, and take no more than elsewhere', () => {
    for (const part of ['logs', 'metrics']) {
      const below = `reports/${agentReport}/${part}`;
      for (const [request, text] of [
        [{ method: 'PUT' }, 'PuppetDB queries must be made via GET/POST'],
        [{ query: { limit: 'x' } }, "Illegal value 'x' for :limit; expected a positive non-zero integer."],
        [{ query: { limit: '1' } }, "Unsupported query parameter 'limit'"],
        [{ query: { explain: 'x' } }, "Illegal value 'x' for :explain; expected `analyze`."],
        [{ body: { bogus: 1 } }, "Unsupported query parameter 'bogus'"],
      ] as const) {
        for (const parent of ['environments/production', 'producers/ps1.example.com']) {
          refused(ask(fleet, { path: `/${parent}/${below}`, ...request }), 400, text);
        }
      }
      assert.equal(ask(fleet, { path: `/environments/nope/${below}`, method: 'PUT' }).head.status, 404);
      assert.equal(ask(fleet, { path: `/environments/production/${below}`, body: { limit: 1 } }).head.status, 200);
      assert.equal(ask(fleet, { path: `/${below}`, method: 'PUT' }).head.status, 200);
    }
  });

  it('logs and metrics of plan reports are null', () => {
    assert.deepEqual(json({ path: `/reports/${agentReport}/metrics` }), [
      { category: 'resources', name: 'total', value: 2 },
    ]);
    assert.equal(json({ path: `/reports/${planReport}/metrics` }), null);
    assert.deepEqual(json({ path: `/environments/production/reports/${agentReport}/logs` }), []);
    refused(
      ask(fleet, { path: `/reports/${agentReport}/logs`, query: { query: '["=","a","b"]' } }),
      400,
      "Unsupported query parameter 'query'",
    );
  });
});

describe('answers: PQL', () => {
  it('has integers that are long ones, and refusals tell of them as such', () => {
    const of = (query: string): string => ask(fleet, { query: { query } }).text;
    for (const value of ['5', '-5', '5000000000', '9000000000000000000']) {
      assert.equal(of(`nodes{certname = ${value}}`), 'ERROR: operator does not exist: text = bigint');
    }
    assert.equal(of('nodes{certname = 5.5}'), 'ERROR: operator does not exist: text = double precision');
    assert.equal(of('nodes{latest_report_noop in [5]}'), 'ERROR: operator does not exist: boolean = text');
    assert.equal(of('fact_contents{path = 5}'), "Don't know how to create ISeq from: java.lang.Long");
    assert.equal(of('["from","nodes",["=","certname",5]]'), 'ERROR: operator does not exist: text = integer');
    assert.equal(
      of('["from","fact_contents",["=","path",5]]'),
      "Don't know how to create ISeq from: java.lang.Integer",
    );
  });
});

describe('answers: functions', () => {
  it('to_string of fact values: any number, texts that spell one, null for all else', async () => {
    const own = newFleet();
    const values = { big: 1e30, half: 0.5, spelled: '7.25', word: 'Linux', nothing: null, list: [1] };
    own.apply('replace facts', 5, facts('n1', values));
    const reply = ask(own, {
      path: '/facts',
      query: {
        query: '["extract",["name",["function","to_string","value","FM999999999999999999999999999999990.09"]]]',
      },
    });
    assert.equal(reply.head.status, 200, reply.text);
    const rows = JSON.parse(reply.text) as { name: string; to_string: string | null }[];
    assert.deepEqual(Object.fromEntries(rows.map(({ name, to_string: shown }) => [name, shown])), {
      big: '1000000000000000000000000000000.0',
      half: '0.5',
      spelled: '7.25',
      word: null,
      nothing: null,
      list: null,
    });
    await own.close();
  });

  it('of documents that are missing there is no type, and parameters are what resources have of their own', async () => {
    const own = newFleet();
    try {
      own.apply('replace facts', 5, facts('n1', { trusted: { a: 1 } }));
      own.apply('replace facts', 5, facts('n2', {}));
      const [resource] = catalog('n1').resources;
      const resources = [
        { ...resource!, title: 'a', line: 25, parameters: { toString: 'own' } as Record<string, string> },
        { ...resource!, title: 'b', line: 35, parameters: { mode: '0644' } },
      ];
      own.apply('replace catalog', 9, { ...catalog('n1'), edges: [], resources });
      const rows = (path: string, columns: readonly unknown[]): unknown[] =>
        JSON.parse(ask(own, { path, query: { query: select(columns, ['~', 'certname', '']) } }).text);
      const types = rows('/inventory', ['certname', ['function', 'jsonb_typeof', 'trusted']]) as { certname: string }[];
      assert.deepEqual(
        types.sort((a, b) => (a.certname < b.certname ? -1 : 1)),
        [
          { jsonb_typeof: 'object', certname: 'n1' },
          { jsonb_typeof: null, certname: 'n2' },
        ],
      );
      const members = rows('/resources', ['title', 'parameters.toString', 'parameters.constructor']);
      assert.deepEqual(members, [
        { title: 'a', 'parameters.tostring': 'own', 'parameters.constructor': null },
        { title: 'b', 'parameters.tostring': null, 'parameters.constructor': null },
      ]);
      // Of a column of integers digits are rounded as a double's are.
      const lines = rows('/resources', ['title', ['function', 'to_string', 'line', '9EEEE']]);
      assert.deepEqual(lines, [
        { to_string: ' 2e+01', title: 'a' },
        { to_string: ' 4e+01', title: 'b' },
      ]);
    } finally {
      await own.close();
    }
  });

  it('the least and greatest of facts: of numbers alone, but of all facts where certnames are grouped', async () => {
    const own = newFleet();
    own.apply('replace facts', 5, facts('n1', { kernel: 'Linux', n: 7 }));
    own.apply('replace facts', 5, facts('n2', { kernel: 'BSD' }));
    const rows = (query: string) => JSON.parse(ask(own, { path: '', query: { query } }).text);
    assert.deepEqual(rows('facts[max(name), count()]{}'), [{ max: 'n', count: 1 }]);
    const groups = rows('facts[certname, max(name)]{group by certname}') as { certname: string }[];
    assert.deepEqual(
      groups.sort((a, b) => (a.certname < b.certname ? -1 : 1)),
      [
        { max: 'n', certname: 'n1' },
        { max: 'kernel', certname: 'n2' },
      ],
    );
    const values = rows('facts[certname, max(value)]{group by certname}') as { certname: string }[];
    assert.deepEqual(
      values.sort((a, b) => (a.certname < b.certname ? -1 : 1)),
      [
        { max: 7, certname: 'n1' },
        { max: null, certname: 'n2' },
      ],
    );
    await own.close();
  });

  it('a factset without packages has a null in their place, which is shown as an empty list', async () => {
    const own = newFleet();
    own.apply('replace facts', 5, facts('bare', { a: 1 }));
    own.apply('replace facts', 5, { ...facts('full', { a: 1 }), package_inventory: [['vim', '9', 'apt']] });
    for (const [isNull, certname, shown] of [
      [true, 'bare', []],
      [false, 'full', [['vim', '9', 'apt']]],
    ] as const) {
      const query = JSON.stringify(['null?', 'package_inventory', isNull]);
      const { text } = ask(own, { path: '/factsets', query: { query, include_package_inventory: 'true' } });
      const rows = JSON.parse(text) as { certname: string; package_inventory: unknown }[];
      assert.deepEqual(
        rows.map((row) => [row.certname, row.package_inventory]),
        [[certname, shown]],
      );
    }
    await own.close();
  });

  it('a group for null in a document, another for what is not there', async () => {
    const own = newFleet();
    for (const [name, values] of [
      ['n1', { h: { x: null } }],
      ['n2', { h: {} }],
      ['n3', { h: { x: null } }],
      ['n4', {}],
      ['n5', { h: { x: 'null' } }],
    ] as const) {
      own.apply('replace facts', 5, facts(name, values));
    }
    const query = '["extract",[["function","count"],"facts.h.x"],["group_by","facts.h.x"]]';
    const rows = JSON.parse(ask(own, { path: '/inventory', query: { query } }).text) as { count: number }[];
    assert.deepEqual(rows.map((row) => JSON.stringify(row)).sort(), [
      '{"count":1,"facts.h.x":"null"}',
      '{"count":2,"facts.h.x":null}',
      '{"count":2,"facts.h.x":null}',
    ]);
    await own.close();
  });

  it('a null pattern matches nothing, and its negation what has no value', async () => {
    const own = newFleet();
    own.apply('replace facts', 5, { ...facts('n1', { a: 1 }), environment: 'production' });
    own.apply('replace facts', 5, { ...facts('n2', { a: 1 }), environment: null });
    const certnames = (query: string) =>
      (JSON.parse(ask(own, { path: '/factsets', query: { query } }).text) as { certname: string }[]).map(
        ({ certname }) => certname,
      );
    assert.deepEqual(certnames('["~","environment",null]'), []);
    assert.deepEqual(certnames('["not",["~","environment",null]]'), ['n2']);
    await own.close();
  });

  it('the least path is told as it is stored, its indexes as texts', async () => {
    const own = newFleet();
    own.apply('replace facts', 5, facts('n1', { list: [[true]] }));
    const query = '["extract",[["function","min","path"]]]';
    assert.deepEqual(JSON.parse(ask(own, { path: '/fact-contents', query: { query } }).text), [
      { min: ['list', '0', '0'] },
    ]);
    await own.close();
  });

  it('the least and the greatest event value is told as its JSON text, as PuppetDB keeps it', () => {
    const query = '["extract",[["function","max","new_value"],["function","min","new_value"]]]';
    const [row] = json({ path: '/events', query: { query } }) as [{ max: string; min: string }];
    assert.deepEqual(
      [JSON.parse(row.max), JSON.parse(row.min)].map((v) => typeof v),
      ['string', 'string'],
    );
  });
});

describe('answers: the query instead of its rows', () => {
  it('ast_only gives the AST without the default filters, pretty, and checks it', () => {
    const reply = ask(fleet, { query: { query: 'nodes{certname = "a"}', ast_only: 'true', include_total: 'true' } });
    assert.equal(reply.text, '[ "from", "nodes", [ "=", "certname", "a" ] ]');
    assert.deepEqual(reply.head.headers, []);
    refused(
      ask(fleet, { query: { query: 'nodes{bogus = 1}', ast_only: 'true' } }),
      400,
      /^'bogus' is not a queryable object/,
    );
  });

  it('ast_only looks for what match() stands for, as running the query would', () => {
    const of = (field: string): Reply => {
      const inner = ['extract', ['certname'], ['select_inventory', ['=', field, 'x']]];
      const query = ['from', 'nodes', ['and', ['~', 'certname', '.'], ['in', ['certname'], inner]]];
      return ask(fleet, { query: { query: JSON.stringify(query), ast_only: 'true' } });
    };
    assert.equal(of('facts.match("kern.*")').head.status, 200);
    refused(of('facts.match("nope_at_all")'), 400, /^No implementation of method: :-plan->sql/);
  });

  it('explain gives a plan in an envelope', () => {
    const query = { query: 'nodes{certname ~ "n00"}', explain: 'analyze', include_total: 'true' };
    const reply = ask(fleet, { query });
    assert.equal((JSON.parse(reply.text) as [{ 'query plan': [unknown] }])[0]['query plan'].length, 1);
    assert.deepEqual(reply.head.headers, [['X-Records', '10']]);
  });

  it('explain of one thing is one object, where the route takes queries', () => {
    for (const path of ['/nodes/n007', '/factsets/n007', '/nodes/nope']) {
      const reply = ask(fleet, { path, query: { explain: 'analyze' } });
      assert.match(reply.text, /^\{\n {2}"query plan" : \[ \{/, path);
    }
    for (const explain of ['analyze', 'plan']) {
      assert.deepEqual(json({ path: '/environments/production', query: { explain } }), { name: 'production' });
    }
  });
});

describe('answers: event counts', () => {
  it('per subject and in sum', () => {
    assert.deepEqual(json({ path: '/event-counts', query: { summarize_by: 'resource', include_total: 'true' } }), [
      {
        failures: 0,
        skips: 0,
        successes: 2,
        noops: 0,
        subject_type: 'resource',
        subject: { type: 'File', title: '/etc/hosts' },
      },
    ]);
    assert.deepEqual(json({ path: '/aggregate-event-counts', query: { summarize_by: 'certname,resource' } }), [
      { summarize_by: 'certname', failures: 0, skips: 0, successes: 2, noops: 0, total: 2 },
      { summarize_by: 'resource', failures: 0, skips: 0, successes: 1, noops: 0, total: 1 },
    ]);
    const classFirst = { summarize_by: 'containing_class,certname' };
    const order = (query: Record<string, string>) =>
      (json({ path: '/aggregate-event-counts', query }) as { summarize_by: string }[]).map((row) => row.summarize_by);
    assert.deepEqual(order(classFirst), ['certname', 'containing_class']);
    const distinct = {
      distinct_resources: 'true',
      distinct_start_time: '2026-01-01T00:00:00Z',
      distinct_end_time: '2026-12-01T00:00:00Z',
    };
    assert.deepEqual(order({ ...classFirst, ...distinct }), ['containing_class', 'certname']);
    refused(ask(fleet, { path: '/event-counts' }), 400, "Missing required query parameter 'summarize_by'");
  });
});

describe('answers: time-outs, cancellation, defects', () => {
  const streamed: Asked = { path: '/facts', bytesMax: 500 };

  it('a deadline before the first row is a 500, one behind it breaks the answer off', () => {
    const late = () => NOW + 700_000;
    refused(ask(fleet, { ...streamed, store: { clock: late } }), 500, 'Query exceeded timeout');
    refused(
      ask(fleet, { ...streamed, query: { origin: 'me "x"', timeout: '5' }, store: { clock: () => NOW + 6000 } }),
      500,
      'Query from "me \\"x\\"" exceeded timeout',
    );
    let now = NOW;
    const reply = ask(fleet, {
      ...streamed,
      store: { clock: () => now },
      after: (run) => {
        if (run.head !== null) now = NOW + 700_000;
      },
    });
    assert.equal(reply.head.status, 200);
    assert.equal(reply.run.aborted, 'Query exceeded timeout');
    assert.equal(reply.run.failure, null);
  });

  it('the shorter of the wish and the maximum counts; zero is none', () => {
    const at = (seconds: number) => ({ clock: () => NOW + seconds * 1000 });
    const status = (asked: Asked) => ask(fleet, { ...streamed, ...asked }).head.status;
    assert.equal(status({ query: { timeout: '5' }, store: at(4) }), 200);
    assert.equal(status({ query: { timeout: '0' }, store: at(1e6) }), 200);
    assert.equal(status({ query: { timeout: '0' }, store: at(11), settings: { timeoutMax: 10_000 } }), 500);
    const sync = { timeout: '0', origin: 'puppet:puppetdb-sync-batch' };
    assert.equal(status({ query: sync, store: at(11), settings: { timeoutMax: 10_000 } }), 200);
    assert.equal(status({ store: at(1e6), settings: { timeoutDefault: 0 } }), 200);
    assert.equal(status({ body: { timeout: 0 }, store: at(0) }), 500);
  });

  it('a client that is gone ends the work', () => {
    const { run } = ask(fleet, { ...streamed, store: { cancelled: () => true } });
    assert.equal(run.done, true);
    assert.equal(run.failure, null);
  });

  it('closing early gives everything back, at any time', () => {
    const { run } = ask(fleet, { ...streamed, after: (r) => r.head !== null && r.close() });
    assert.equal(run.done, true);
    assert.equal(run.step(), null);
    run.close();
  });

  it('what nobody expected is a 500 and is told to the log', () => {
    const broken = { clock: () => NOW, partitions: [{} as never] };
    const { head, run } = ask(fleet, { ...streamed, store: broken });
    assert.deepEqual([head.status, head.body], [500, 'An unexpected error occurred']);
    assert.ok(run.failure instanceof TypeError);
  });

  it('nesting beyond any stack is the client’s mistake', () => {
    const deep = `${'["not",'.repeat(9000)}["=","certname","x"]${']'.repeat(9000)}`;
    const reply = ask(fleet, { path: '/nodes', query: { query: deep }, settings: { queryDepthMax: 100_000 } });
    assert.ok(reply.head.status === 400 || reply.head.status === 200, reply.text);
    assert.equal(reply.run.failure, null);
    assert.equal(ask(fleet, { path: '/nodes', query: { query: deep } }).head.status, 400);
  });
});

describe('answers: enterprise edition', () => {
  const enterprise = { settings: { edition: 'enterprise' } } as const;

  it('community knows nothing of its routes', () => {
    assert.equal(ask(fleet, { api: 'ext', path: '/state-overview' }).head.status, 404);
    assert.equal(ask(fleet, { path: `/reports/${agentReport}/resources` }).head.status, 404);
  });

  it('state overview counts active nodes by the state of their reports', () => {
    const overview = (query: Record<string, string>) =>
      ask(fleet, { ...enterprise, api: 'ext', path: '/state-overview', query });
    const zero = { unresponsive: 0, unreported: 299, noop: 0, failed: 0, unchanged: 0, changed: 0 };
    assert.deepEqual(JSON.parse(overview({ unresponsive_threshold: '3600' }).text), { ...zero, changed: 1 });
    assert.deepEqual(JSON.parse(overview({ unresponsive_threshold: '0' }).text), { ...zero, unresponsive: 1 });
    refused(overview({}), 400, "Missing required query parameter 'unresponsive_threshold'");
    refused(overview({ unresponsive_threshold: '-1' }), 400, /unresponsive_threshold/);
    refused(overview({ unresponsive_threshold: '1', query: '[]' }), 400, "Unsupported query parameter 'query'");
  });

  it('state overview goes by the status and the mode of the latest report', () => {
    const own = newFleet();
    const state = (reported: Record<string, unknown>): string => {
      own.apply('store report', 8, report('one', { ...reported, configuration_version: JSON.stringify(reported) }));
      const query = { unresponsive_threshold: '3600' };
      const { text } = ask(own, { ...enterprise, api: 'ext', path: '/state-overview', query });
      const counts = Object.entries(JSON.parse(text) as Record<string, number>).filter(([, count]) => count > 0);
      assert.deepEqual(
        counts.map(([, count]) => count),
        [1],
      );
      return counts[0]![0];
    };
    const at = (second: number) => `2026-11-20T00:01:0${second}.000Z`;
    assert.equal(state({ status: 'failed', noop: true, producer_timestamp: at(0) }), 'failed');
    assert.equal(state({ status: 'changed', noop: true, producer_timestamp: at(1) }), 'noop');
    assert.equal(state({ status: 'noop', noop: false, producer_timestamp: at(2) }), 'noop');
    assert.equal(state({ status: 'changed', noop: false, producer_timestamp: at(3) }), 'changed');
    assert.equal(state({ status: 'unchanged', noop: null, producer_timestamp: at(4) }), 'unchanged');
    assert.equal(state({ status: null, noop: null, producer_timestamp: at(5) }), 'unchanged');
    return own.close();
  });

  it('resource graphs join a catalog with the report of its run', () => {
    const graphs = (query: Record<string, string>) =>
      JSON.parse(ask(fleet, { ...enterprise, api: 'ext', path: '/resource-graphs', query }).text) as Record<
        string,
        unknown
      >[];
    const [graph, ...others] = graphs({});
    assert.equal(others.length, 0);
    const { resources, edges, ...plain } = graph as { resources: Record<string, unknown>[]; edges: unknown };
    assert.deepEqual(plain, {
      certname: 'n000',
      environment: 'production',
      catalog_uuid: null,
      transaction_uuid: '8aa0ab9a-6e11-4bd0-aa7d-e07af3ae37ac',
      code_id: null,
      producer_timestamp: '2026-11-20T00:00:00.000Z',
      status: 'changed',
      noop: false,
    });
    assert.deepEqual(edges, [
      {
        source_type: 'File',
        source_title: '/etc/hosts',
        target_type: 'File',
        target_title: '/etc/motd',
        relationship: 'before',
      },
    ]);
    const byTitle = new Map(resources.map((r) => [r['title'], r]));
    assert.deepEqual(byTitle.get('/etc/hosts')?.['events'], [
      {
        timestamp: '2026-11-20T00:00:30.000Z',
        property: 'mode',
        new_value: '0644',
        old_value: '0600',
        status: 'success',
        message: 'changed',
      },
    ]);
    const { resource, ...quiet } = byTitle.get('/etc/motd') as Record<string, unknown>;
    assert.match(String(resource), /^[0-9a-f]{40}$/);
    assert.deepEqual(quiet, {
      type: 'File',
      title: '/etc/motd',
      tags: ['file'],
      exported: false,
      file: null,
      line: null,
      parameters: { mode: '0644' },
      skipped: false,
      events: [],
    });
    const count = (filter: unknown) => graphs({ query: JSON.stringify(filter) }).length;
    assert.equal(count(['and', ['=', 'status', 'changed'], ['=', 'certname', 'n000']]), 1);
    assert.equal(count(['=', 'status', 'failed']), 0);
    assert.equal(count(['null?', 'status', true]), 0);
    assert.equal(count(['not', ['=', 'noop', true]]), 1);
    assert.equal(graphs({ order_by: '[{"field":"status"},{"field":"noop","order":"desc"}]', limit: '5' }).length, 1);
  });

  it('resource graphs: what a filter may name are their own fields', () => {
    const asked = (filter: unknown) =>
      ask(fleet, { ...enterprise, api: 'ext', path: '/resource-graphs', query: { query: JSON.stringify(filter) } });
    const known =
      "Known queryable objects are 'catalog_uuid', 'certname', 'code_id', 'environment', 'noop', 'producer_timestamp', 'status', and 'transaction_uuid'";
    for (const field of ['nonsense', 'hash', 'version', 'producer']) {
      refused(asked(['=', field, 'x']), 400, `'${field}' is not a queryable object for resource-graphs. ${known}`);
    }
    refused(
      asked(['and', ['=', 'status', 'changed'], ['not', ['~', 'edges', 'x']]]),
      400,
      /'edges' is not a queryable/,
    );
    for (const filter of [
      ['=', 'node_state', 'any'],
      ['subquery', 'nodes', ['=', 'certname', 'n000']],
      ['in', 'certname', ['extract', 'certname', ['select_nodes', ['=', 'certname', 'n000']]]],
      ['=', ['node', 'active'], true],
    ]) {
      assert.equal(JSON.parse(asked(filter).text).length, 1, JSON.stringify(filter));
    }
  });

  it('resource graphs have the status of the latest report, also of a cached catalog; without one null, equal to nothing', async () => {
    const own = newFleet();
    try {
      for (const certname of ['changed', 'cached', 'unreported']) own.apply('replace catalog', 9, catalog(certname));
      own.apply('store report', 8, report('changed', { transaction_uuid: null }));
      own.apply('store report', 8, report('cached'));
      const time = '2026-11-20T23:00:00.000Z';
      const later = { producer_timestamp: time, end_time: time, status: 'failed' };
      const transaction_uuid = '22222222-1111-1111-1111-0000000000ee';
      own.apply(
        'store report',
        8,
        report('cached', { ...later, transaction_uuid, cached_catalog_status: 'on_failure' }),
      );
      for (const certname of ['older', 'plain']) {
        own.apply('replace catalog', 9, { ...catalog(certname), transaction_uuid: null });
      }
      const found = (filter: unknown): string => {
        const query = { query: JSON.stringify(filter), order_by: '[{"field":"certname"}]' };
        const graphs = JSON.parse(ask(own, { ...enterprise, api: 'ext', path: '/resource-graphs', query }).text);
        return graphs.map(({ certname }: Record<string, unknown>) => certname).join(' ');
      };
      const others = 'older plain unreported';
      assert.equal(found(['=', 'status', 'changed']), 'changed');
      assert.equal(found(['not', ['=', 'status', 'failed']]), 'changed');
      assert.equal(found(['not', ['not', ['~', 'status', 'chan']]]), 'changed');
      assert.equal(found(['not', ['or', ['=', 'status', 'failed'], ['=', 'noop', true]]]), 'changed');
      assert.equal(
        found(['not', ['and', ['=', 'status', 'failed'], ['=', 'certname', 'older']]]),
        'cached changed plain unreported',
      );
      assert.equal(found(['not', ['=', 'status', 'changed']]), 'cached');
      for (const isNull of [
        ['null?', 'status', true],
        ['=', 'noop', null],
        ['not', ['null?', 'status', false]],
      ]) {
        assert.equal(found(isNull), others);
        assert.equal(found(['not', isNull]), 'cached changed');
      }
    } finally {
      await own.close();
    }
  });

  it('resource graphs have the edges of the catalog, whatever parameters look like', async () => {
    const own = newFleet();
    try {
      const whole = catalog('n000');
      const parameters = { edges: { data: ['none'], href: '' }, resources: { data: [] } };
      const resources = (whole['resources'] as Record<string, unknown>[]).map((r) => ({ ...r, parameters }));
      own.apply('replace catalog', 9, { ...whole, resources });
      const [graph] = JSON.parse(ask(own, { ...enterprise, api: 'ext', path: '/resource-graphs' }).text);
      assert.deepEqual(
        graph.edges.map((edge: Record<string, unknown>) => edge['relationship']),
        ['before'],
      );
      assert.deepEqual(graph.resources[0].parameters, parameters);
    } finally {
      await own.close();
    }
  });

  it('resources of a report are what the agent said', () => {
    const resources = json({ ...enterprise, path: `/reports/${agentReport}/resources` }) as {
      resource_title: string;
    }[];
    assert.deepEqual(
      resources.map((r) => r.resource_title),
      ['/etc/hosts'],
    );
    const query = JSON.stringify(['=', 'hash', agentReport]);
    const reports = (asked: object) =>
      json({ path: '/reports', query: { query }, ...asked }) as Record<string, unknown>[];
    const href = `/pdb/query/v4/reports/${agentReport}/resources`;
    assert.deepEqual(reports(enterprise)[0]?.['resources'], { data: resources, href });
    assert.equal('resources' in (reports({})[0] as object), false);
  });
});

describe('answers: vocabulary', () => {
  it('the version field of reports has a neutral name on demand', () => {
    const names = (vocabulary: 'neutral' | 'puppetdb') =>
      Object.keys((json({ path: '/reports', settings: { vocabulary } }) as [object])[0]);
    assert.ok(names('neutral').includes('cm_version'));
    assert.ok(!names('neutral').includes('puppet_version'));
    assert.ok(names('puppetdb').includes('puppet_version'));
  });
});
