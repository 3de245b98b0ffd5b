// The readers for the file formats: what they take, what they refuse and where they say it was.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseHocon } from '../../../server/config/hocon.ts';
import { parseIni, parseProperties } from '../../../server/config/ini.ts';
import { FormatError, plainValue } from '../../../server/config/tree.ts';

const ini = (text: string) => plainValue(parseIni(text, 'x.ini'));
const hocon = (text: string) => plainValue(parseHocon(text, 'x.conf'));

/** Substitutions are written with an @ here. */
const substituted = (text: string, environment = {}) =>
  plainValue(parseHocon(text.replaceAll('@{', '$' + '{'), 'x.conf', environment));

function refusal(read: () => unknown): { line: number; message: string } {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof FormatError, String(error));
    return { line: error.place.line, message: error.message };
  }
  assert.fail('was read');
}

describe('ini', () => {
  test('sections, comments, both separators, quotes and blanks', () => {
    const text = [
      '\ufeff# comment',
      '; comment',
      '[ database ]',
      'subname = //localhost:5432/puppetdb?ssl=true',
      '  node-ttl=14d  ',
      'report-ttl : 30d',
      'name = "a b"',
      'empty =',
      '',
      '[jetty]',
      'ciphers = a, b # not a comment',
    ];
    assert.deepEqual(ini(text.join('\r\n')), {
      database: {
        subname: '//localhost:5432/puppetdb?ssl=true',
        'node-ttl': '14d',
        'report-ttl': '30d',
        name: 'a b',
        empty: '',
      },
      jetty: { ciphers: 'a, b # not a comment' },
    });
  });

  test('quotes are taken off when they are a pair around the whole value', () => {
    const text = String.raw`[a]
      one = 'it is "so"'
      escaped = "a \"b\" c"
      list = "a", "b"
      words = 'a' or 'b'
      lone = "`;
    assert.deepEqual(ini(text), {
      a: { one: 'it is "so"', escaped: 'a "b" c', list: '"a", "b"', words: "'a' or 'b'", lone: '"' },
    });
  });

  test('a section may be opened twice, a key may not be given twice', () => {
    assert.deepEqual(ini('[a]\nx=1\n[b]\ny=2\n[a]\nz=3'), { a: { x: '1', z: '3' }, b: { y: '2' } });
    const { line, message } = refusal(() => ini('[a]\nx = 1\n\nx = 2'));
    assert.equal(line, 4);
    assert.match(message, /^Duplicate configuration entry: \[:a :x\]/);
  });

  // What the libraries of PuppetDB 7.12 make of the same texts.
  test('letter case does not tell names apart', () => {
    assert.deepEqual(ini('[Database]\nNode-TTL = 90d\n[DATABASE]\nname = Ab'), {
      database: { 'node-ttl': '90d', name: 'Ab' },
    });
    assert.match(refusal(() => ini('[a]\nx = 1\nX = 2')).message, /^Duplicate configuration entry: \[:a :x\]/);
  });

  test('a backslash makes characters stand for themselves, and continues lines', () => {
    const text = String.raw`[a]
      regex = ^secret\\d+$, net\\.pw
      tab = a\tb \u0041\u00e9 \q
      path = C:\\temp\\new
      pair = ends in one \\
      key\=with\:signs = 1
      long = one, \

        two, \
      # three
      after = 2`;
    assert.deepEqual(ini(text), {
      a: {
        regex: String.raw`^secret\d+$, net\.pw`,
        tab: 'a\tb Aé q',
        path: String.raw`C:\temp\new`,
        pair: 'ends in one \\',
        'key=with:signs': '1',
        long: 'one, two, # three',
        after: '2',
      },
    });
    assert.match(refusal(() => ini('[a]\nx = \\u12')).message, /four hexadecimal digits/);
    const open = refusal(() => ini('[a]\nx = 1 \\\n\n'));
    assert.equal(open.line, 2);
    assert.match(open.message, /the file ends there/);
  });

  test('values may name others', () => {
    const text = `[a]
      x = one
      same = <@{x}>
      other = @{b/z}-@{a/same}
      unknown = @{nope} @{a/nope}
      home = @{@env/HOME} @{@env/NOPE}
      [b]
      z = 3`;
    assert.deepEqual(plainValue(parseIni(text.replaceAll('@{', '$' + '{'), 'x.ini', { HOME: '/h' })), {
      a: {
        x: 'one',
        same: '<one>',
        other: '3-<one>',
        unknown: '$' + '{nope} $' + '{a/nope}',
        home: '/h $' + '{@env/NOPE}',
      },
      b: { z: '3' },
    });
    const self = refusal(() => ini('[a]\n\nx = 1$' + '{y}\ny = $' + '{a/x}'));
    assert.match(self.message, /stands for itself/);
    const grown = Array.from({ length: 40 }, (_, i) => `x${i + 1} = $` + `{x${i}}$` + `{x${i}}`).join('\n');
    assert.match(refusal(() => ini(`[a]\nx0 = 0123456789\n${grown}`)).message, /too long/);
  });

  test('malformed lines are refused with their line', () => {
    assert.deepEqual(refusal(() => ini('[a]\nx = 1\nnonsense')).line, 3);
    assert.deepEqual(refusal(() => ini('\nx = 1')).line, 2);
    assert.deepEqual(refusal(() => ini('[a\nx = 1')).line, 1);
    assert.match(refusal(() => ini('[]\nx = 1')).message, /without a name/);
  });

  test('properties: both signs begin a comment, a semicolon does not', () => {
    const text = '! comment\n  # comment\n;a.b = 1\nc.d = 2';
    assert.deepEqual(plainValue(parseProperties(text, 'x.properties')), { ';a': { b: '1' }, c: { d: '2' } });
  });

  test('properties: backslashes, and letter case tells names apart', () => {
    const text = 'a.b = one, \\\n   two\na.B = x\\ty\n';
    assert.deepEqual(plainValue(parseProperties(text, 'x.properties')), { a: { b: 'one, two', B: 'x\ty' } });
  });

  test('properties: dotted keys', () => {
    const text = '# c\ndatabase.node-ttl=1d\nmetrics.metrics-webservice.jolokia.enabled=false\n';
    assert.deepEqual(plainValue(parseProperties(text, 'x.properties')), {
      database: { 'node-ttl': '1d' },
      metrics: { 'metrics-webservice': { jolokia: { enabled: 'false' } } },
    });
  });
});

describe('hocon', () => {
  test('the forms that PuppetDB files use', () => {
    const text = `
      # shipped metrics.conf
      metrics: {
        server-id: localhost
        reporters.jmx.enabled = true // trailing comment
        metrics-webservice: {
          jolokia: { enabled: false, servlet-init-params { policyLocation: "file:///etc/x.xml" } }
        }
      }
      authorization {
        version: 1,
        rules: [
          { match-request: { path: "/status/v1/services", type: path, method: [get, "post"] }
            allow-unauthenticated: true
            sort-order: 500 }
          { name = "a \\"quoted\\" name", allow: "*" },
        ]
      }`;
    assert.deepEqual(hocon(text), {
      metrics: {
        'server-id': 'localhost',
        reporters: { jmx: { enabled: true } },
        'metrics-webservice': {
          jolokia: { enabled: false, 'servlet-init-params': { policyLocation: 'file:///etc/x.xml' } },
        },
      },
      authorization: {
        version: 1,
        rules: [
          {
            'match-request': { path: '/status/v1/services', type: 'path', method: ['get', 'post'] },
            'allow-unauthenticated': true,
            'sort-order': 500,
          },
          { name: 'a "quoted" name', allow: '*' },
        ],
      },
    });
  });

  test('JSON is HOCON', () => {
    const value = { a: [1, -2.5, 1e3, true, null, 'x\u0041\n'], 'b.c': { d: {} }, e: [] };
    assert.deepEqual(hocon(JSON.stringify(value, null, 2)), value);
    assert.deepEqual(hocon(JSON.stringify(value)), value);
  });

  test('unquoted text keeps its inner blanks, numbers and words only count when they stand alone', () => {
    assert.deepEqual(hocon('a = one two  \nb = 10 s\nc = 10\nd = truely\ne = "x" y\nf = 0x1'), {
      a: 'one two',
      b: '10 s',
      c: 10,
      d: 'truely',
      e: 'x y',
      f: '0x1',
    });
  });

  test('later objects are merged, later values replace', () => {
    assert.deepEqual(hocon('a.b = 1\na { c = 2 }\na.b = 3\nd = 1\nd { e = 2 }'), { a: { b: 3, c: 2 }, d: { e: 2 } });
  });

  test('quoted parts of dotted keys and triple quotes', () => {
    assert.deepEqual(hocon('"a.b".c = """x "y"\nz"""'), { 'a.b': { c: 'x "y"\nz' } });
    assert.deepEqual(hocon('a = """"x"""""\nb = 1'), { a: '"x""', b: 1 });
  });

  test('an object may begin on a line below its key', () => {
    assert.deepEqual(hocon('a\n{ x = 1 }\nb # why\n\n{\n y = 2 }'), { a: { x: 1 }, b: { y: 2 } });
    assert.equal(refusal(() => hocon('a\nb = 1')).line, 1);
  });

  test('what is not supported is refused by name', () => {
    assert.match(refusal(() => hocon('include "other.conf"')).message, /include/);
    assert.match(refusal(() => hocon('a += 1')).message, /\+=/);
  });

  test('substitutions stand for values of the file, else for the environment', () => {
    const environment = { HOST: 'db', PORT: '5432', EMPTY: '', a: 'not the file’s' };
    const read = (text: string) => substituted(text, environment);
    assert.deepEqual(read('x = @{a.b}\na.b = 7'), { x: 7, a: { b: 7 } });
    assert.deepEqual(read('x = @{HOST}'), { x: 'db' });
    assert.deepEqual(read('x = "//"@{HOST}":"@{PORT}/p db  # why'), { x: '//db:5432/p db' });
    assert.deepEqual(read('x = the @{HOST} one \ny = @{EMPTY}'), { x: 'the db one', y: '' });
    assert.deepEqual(read('x = ["@{HOST}", @{HOST}, @{?NONE}]'), { x: [`$${'{HOST}'}`, 'db'] });
    assert.deepEqual(read('a = mine\nx = @{a}'), { a: 'mine', x: 'mine' });
    assert.deepEqual(read('x = @{y}, y = @{z}, z = true'), { x: true, y: true, z: true });
    assert.deepEqual(read('x = @{"q.r"}, "q.r" = 1'), { x: 1, 'q.r': 1 });
  });

  test('a substitution that may stand for nothing leaves what was there', () => {
    assert.deepEqual(substituted('x = 1\nx = @{?NONE}\ny = @{?NONE}\nz = a@{?NONE}b'), { x: 1, z: 'ab' });
    assert.deepEqual(substituted('x { a = 1 }\nx = @{?NONE}'), { x: { a: 1 } });
  });

  test('a substitution by its own name means what was there before', () => {
    assert.deepEqual(substituted('x = a\nx = @{x}b\nx = @{x}c'), { x: 'abc' });
    assert.deepEqual(substituted('x = @{x}":/y"', { x: '/z' }), { x: '/z:/y' });
  });

  test('substitutions that stand for nothing, or for no value, are refused by name and place', () => {
    const refused: [string, number, RegExp][] = [
      ['\nx = @{NONE}', 2, /^\$\{NONE\} is set neither/],
      ['x = @{y}\ny = @{x}', 2, /^\$\{x\} is set neither/],
      ['x = @{y}\ny { a = 1 }', 1, /^\$\{y\} stands for an object/],
      ['x = @{y}\ny = [1]', 1, /^\$\{y\} stands for a list/],
      ['y = @{x}\ny { a = 1 }', 2, /cannot be merged into a substitution/],
      ['y = @{x}\ny.a = 1', 2, /cannot be merged into a substitution/],
      ['x = @{y', 1, /closing brace/],
      ['x = @{}', 1, /expected a key/],
    ];
    for (const [text, line, message] of refused) {
      const found = refusal(() => substituted(text));
      assert.equal(found.line, line, text);
      assert.match(found.message, message, text);
    }
    const chain = Array.from({ length: 5000 }, (_, i) => `a${i} = @{a${i + 1}}`).join('\n');
    assert.match(refusal(() => substituted(`${chain}\na5000 = 1`)).message, /lead to each other/);
    const doubled = Array.from({ length: 60 }, (_, i) => `a${i} = @{a${i + 1}}@{a${i + 1}}`).join('\n');
    assert.match(refusal(() => substituted(`${doubled}\na60 = x`)).message, /a text of more than/);
    assert.match(refusal(() => substituted('x = @{__proto__}')).message, /is set neither/);
    assert.match(refusal(() => substituted('x = @{constructor}')).message, /is set neither/);
  });

  test('many values of one key are no harm', () => {
    assert.deepEqual(substituted(`x = 1\n${'x = @{?NONE}\n'.repeat(50_000)}`), { x: 1 });
  });

  test('broken texts end with a place', () => {
    const broken: [string, number][] = [
      ['a {\n b = 1\n', 3],
      ['a = [1,\n2', 2],
      ['a = "x\n', 1],
      ['a\nb = 1', 1],
      ['a = 1 }', 1],
      ['\n{ a = 1 } x', 2],
      ['a = }', 1],
      ['.a = 1', 1],
      ['a = """x', 1],
      ['[1, 2]', 1],
      ['a = "\\q"', 1],
      ['{"a": 1 "b": 2}', 1],
      ['a { b = 1 } c = 2', 1],
      ['a = [[1] [2]]', 1],
    ];
    for (const [text, line] of broken) assert.equal(refusal(() => hocon(text)).line, line, text);
    assert.match(refusal(() => hocon('a = "x\n"')).message, /without its closing quote/);
    assert.match(refusal(() => hocon('a { b = 1 } c = 2')).message, /expected a comma, a new line, found `c`/);
  });

  test('depth is bounded', () => {
    assert.match(refusal(() => hocon(`a = ${'['.repeat(5000)}`)).message, /nested deeper/);
    assert.match(refusal(() => hocon(`${'a.'.repeat(5000)}b = 1`)).message, /nested deeper/);
    assert.match(refusal(() => parseProperties(`${'a.'.repeat(5000)}b = 1`, 'x')).message, /nested deeper/);
    // Side by side there may be any number.
    assert.deepEqual(hocon(`a = [${'{},'.repeat(200)}]`), { a: Array.from({ length: 200 }, () => ({})) });
  });
});
